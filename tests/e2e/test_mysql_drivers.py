# SPDX-License-Identifier: MIT
"""Drivers of MySQL and MariaDB find through the gateway what they find at the server itself. At full
length all of them do, and docs/drivers.md says what was found; else those that are soon there."""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

import mariadb_newer
from api import register
from conftest import PATIENCE, ROOT, Gateway
from driver_matrix import check_page
from installed import made, maven_jar, node_packages, run
from mariadb import TARGET_PASSWORD, MariadbServer, MysqlTarget, mysql_address
from native import credential
from plan import IS_LONG
from test_tls import make_certificate

SOURCE = os.path.join(ROOT, "tests/e2e/mysql_drivers")
SOON = ["mariadb", "PyMySQL", "mysqlclient"]
MIN_CHECKS = 20
TABLE = """
SET NAMES utf8mb4;
CREATE TABLE things (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(100), price DECIMAL(10,2),
  made DATETIME(6), day DATE, took TIME(3), data BLOB, ratio DOUBLE, big BIGINT UNSIGNED, small TINYINT,
  bits BIT(9), doc JSON, kind ENUM('a','b'), f FLOAT);
INSERT INTO things VALUES
 (1, 'bolt', 12.50, '2024-02-29 12:34:56.789012', '1999-12-31', '101:02:03.004', x'00ff27', 0.1,
  18446744073709551615, -128, b'101010101', '{"a": [1, "x"]}', 'b', 1.5),
 (2, 'naïve ☃ 𝄞', NULL, NULL, '2000-01-01', '00:00:00', '', -1e300, 0, 127, NULL, NULL, 'a', -0.25);
DELIMITER //
CREATE PROCEDURE twice(n INT) BEGIN SELECT n AS one; SELECT 2 * n AS two, 'x' AS three; END //
"""
# Results with a column of JSON: servers tell these drivers so by MariaDB's extended metadata, which
# the gateway does not offer, and they make objects of it; through the gateway it is text.
JSON = ["text 2", "text 11", "binary 2", "binary 11"]
KNOWN = {"mysql2": JSON, "mariadb (Node)": JSON, "MariaDB Connector/J": ["text 2", "binary 2"]}


def source(name):
    return os.path.join(SOURCE, name)


def node_folder():
    return node_packages("mysql-drivers/node", SOURCE)


def compiled_go(_tools):
    def make(folder):
        run("go", "build", "-mod=readonly", "-o", os.path.join(folder, "driver"), ".", cwd=SOURCE)
    sources = [source(name) for name in ("main.go", "go.mod", "go.sum")]
    return [os.path.join(made("mysql-drivers/go", sources, make), "driver")]


def compiled_java(name):
    jar = maven_jar(f"mysql-drivers/{name}-jar", source(f"{name}-maven.txt"))

    def make(folder):
        run("javac", "-encoding", "UTF-8", "-d", folder, source("Jdbc.java"))
    folder = made("mysql-drivers/java", [source("Jdbc.java")], make)
    return ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Duser.timezone=UTC", "-cp",
            f"{folder}:{jar}", "Jdbc", name]


def python(name, *client, tools=None):
    program = sys.executable if tools is None else os.path.join(tools, "python")
    return [program, source("with_python.py"), name, *client]


DRIVERS = {
    "mariadb": lambda _tools: python("mariadb", "mariadb", "--no-defaults"),
    "PyMySQL": lambda _tools: python("pymysql"),
    "mysqlclient": lambda _tools: python("MySQLdb"),
    "mariadb 11.8": lambda _tools: python("mariadb", *mariadb_newer.client()),
    "mysql-connector-python": lambda tools: python("mysql.connector.pure", tools=tools),
    "mysql2": lambda _tools: ["node", source("node.mjs"), "mysql2"],
    "mariadb (Node)": lambda _tools: ["node", source("node.mjs"), "mariadb"],
    "go-sql-driver": compiled_go,
    "MariaDB Connector/J": lambda _tools: compiled_java("mariadb"),
    "MySQL Connector/J": lambda _tools: compiled_java("mysql"),
}


def is_there(driver):
    if driver != "go-sql-driver":
        return True
    if shutil.which("go") is None:
        return False
    with open(source("go.mod"), encoding="ascii") as file:
        wanted = re.search(r"^go (\d+)\.(\d+)", file.read(), re.MULTILINE)
    found = re.search(r"go(\d+)\.(\d+)", run("go", "version"))
    return [int(n) for n in found.groups()] >= [int(n) for n in wanted.groups()]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("certificate"), "localhost")


@pytest.fixture(scope="module")
def server(files):
    server = MariadbServer(files)
    yield server
    server.remove()


@pytest.fixture(scope="module")
def boss(files, tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("gateway"), "--tls-cert", files[0], "--tls-key", files[1],
                      "--mysql-greeting", "mariadb")
    yield register(gateway)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


def run_checks(command, place, certificate):
    """What a driver prints at a place, by check."""
    env = {**os.environ, "DB_HOST": "127.0.0.1", "DB_PORT": str(place["port"]), "DB_USER": place["user"],
           "DB_PASSWORD": place["password"], "DB_NAME": place["database"], "DB_CA": str(certificate),
           "STATEMENTS": source("statements.txt"), "NODE_FOLDER": node_folder() if IS_LONG else ""}
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=12 * PATIENCE, check=False)
    if done.returncode != 0:
        return {"connect": f"it ended: {done.stderr[-2000:]}"}
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    # What names the place is the only difference that may be.
    def plain(found):
        text = json.dumps(found, ensure_ascii=False)
        for name, word in ((place["database"], "DB"), (place["user"], "USER")):
            text = text.replace(name, word)
        return text
    return {line["check"]: plain(line["found"]) for line in lines}


def at_both(driver, boss, server, certificate, tools):
    command = DRIVERS[driver](tools)
    found = []
    for is_through in (False, True):
        target = MysqlTarget(server)
        server.sql(f"USE {target.database}; {TABLE}")
        place = {"port": server.port, "user": target.user, "password": TARGET_PASSWORD}
        if is_through:
            place = mysql_address(credential(boss, target.connection(boss)))
        found.append(run_checks(command, {**place, "database": target.database}, certificate))
    return found


@pytest.fixture(scope="module")
def runs(boss, server, files, request):
    """Of each driver what is found at the server and through the gateway."""
    tools = request.getfixturevalue("tools") if IS_LONG else None
    started = {}
    with concurrent.futures.ThreadPoolExecutor(max_workers=3) as pool:
        for driver in DRIVERS if IS_LONG else SOON:
            if is_there(driver):
                started[driver] = pool.submit(at_both, driver, boss, server, files[0], tools)
    return {driver: run.result() for driver, run in started.items()}


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_driver_finds_no_difference(runs, driver):
    if driver not in runs:
        pytest.skip(f"what {driver} needs is not here" if IS_LONG else "GATEHOUSE_LONG_TESTS=1 runs it")
    direct, through = runs[driver]
    assert len(direct) >= MIN_CHECKS and set(direct) == set(through)
    differing = {check: (direct[check], through[check]) for check in direct
                 if direct[check] != through[check]}
    assert set(differing) == set(KNOWN.get(driver, [])), {check: (one[:600], other[:600])
                                                          for check, (one, other) in differing.items()}


# The page ------------------------------------------------------------------------------------------

GROUPS = ["text", "binary", "parameters", "several", "transaction", "large", "streamed", "kill", "many",
          "ping", "wrong", "database"]
INTRODUCTION = """
Each was run at MariaDB 10.11 and through the gateway, greeting as MariaDB (`--mysql-greeting mariadb`),
by `tests/e2e/test_mysql_drivers.py`, over TLS: %d statements as text and, where the driver can, prepared,
and what is told in [`tests/e2e/mysql_drivers/README.md`](../tests/e2e/mysql_drivers/README.md).

| | checks | %s |
|---|---|%s
"""
WHY = """
✗: the gateway does not offer MariaDB's extended metadata, by which its servers say that a column is JSON.
These drivers make objects of such columns at the server itself, and get their text through the gateway.
Rust's drivers, and a server and a command line of MySQL's own, were not tried.
"""


def versions():
    """Of those from Debian the name alone: the rest changes with each update."""
    found = {"mariadb": "mariadb 10.11", "PyMySQL": "PyMySQL", "mysqlclient": "mysqlclient (libmariadb)"}
    with open(source("package.json"), encoding="ascii") as file:
        wanted = json.load(file)["dependencies"]
    found["mysql2"], found["mariadb (Node)"] = f"mysql2 {wanted['mysql2']}", f"mariadb {wanted['mariadb']} (Node)"
    for name, shown in (("mariadb", "MariaDB Connector/J"), ("mysql", "MySQL Connector/J")):
        with open(source(f"{name}-maven.txt"), encoding="ascii") as file:
            found[shown] = f"{shown} {file.readline().strip().split(':')[2]}"
    with open(source("go.mod"), encoding="ascii") as file:
        found["go-sql-driver"] = "go-sql-driver " + re.search(r"sql-driver/mysql v(\S+)", file.read()).group(1)
    with open(os.path.join(ROOT, "tests/e2e/requirements.txt"), encoding="ascii") as file:
        pin = re.search(r"^mysql-connector-python==(\S+)$", file.read(), re.MULTILINE).group(1)
    found["mysql-connector-python"] = f"mysql-connector-python {pin} (pure)"
    return found


def mark(group, direct, through):
    checks = [check for check in direct if check.split()[0] == group]
    if not checks:
        return "–"
    return "✓" if all(direct[check] == through[check] for check in checks) else "✗"


def test_the_page_says_what_was_found(runs):
    if len(runs) < len(DRIVERS):
        pytest.skip("not all drivers were run")
    known = versions()
    with open(source("statements.txt"), encoding="utf-8") as file:
        count = len(file.read().splitlines())
    text = INTRODUCTION % (count, " | ".join(GROUPS), "---|" * len(GROUPS))
    for driver, (direct, through) in runs.items():
        marks = " | ".join(mark(group, direct, through) for group in GROUPS)
        text += f"| {known.get(driver, driver)} | {len(direct)} | {marks} |\n"
    check_page(text + WHY, is_mysql=True)
