# SPDX-License-Identifier: MIT
"""Test suites of MySQL's drivers: no test fails through the gateway that does not fail at the server,
without rules and with rules that cannot be about what the suites do. A short run has a few of PyMySQL's alone."""
import glob
import json
import os
import re
import shutil
import tarfile

import pytest

from api import register
from conftest import IS_SANITIZED, Gateway
from installed import made, run
from mariadb import TARGET_PASSWORD, MariadbServer, MysqlTarget, mysql_address
from native import credential
from plan import IS_LONG
from suites import SOURCE, Missing, environment, go_module, output_of, results_of_xml, run_go
from test_suites import COLUMNS, ENTITIES, failed, masking, observing
from test_tls import make_certificate

# What fails through the gateway alone, and why: docs/mysql.md says it.
KNOWN = {"PyMySQL": {
    "pymysql.tests.test_connection.TestAuthentication.test_plugin": "it looks up how the target's user signs in",
    "pymysql.tests.test_connection.TestConnection.test_connection_gone_away":
        "it wants a connection that the target ended to be closed without a word",
    "pymysql.tests.test_issues.TestNewIssues.test_issue_36": "it wants the target's number of its connection"}}
BY_RULES = {"PyMySQL": {
    "pymysql.tests.test_connection.TestConnection.test_largedata": "it sends a statement longer than what rules look at"}}
# A rule for columns refuses procedures and the server's own tables, which PyMySQL's tests use.
RULES = {"no rule": None, "a preset": observing, "entities": masking(ENTITIES)}
MORE_RULES = {"a column that is not there": masking(COLUMNS)}
SAMPLE = ["pymysql/tests/test_basic.py", "pymysql/tests/test_nextset.py", "pymysql/tests/test_SSCursor.py"]
DATABASES = ["test1", "test2", "gotest"]


def make_pymysql(tools):
    """The driver with its tests, of the last version that was published with them."""
    pinned = os.path.join(SOURCE, "pymysql.txt")

    def make(folder):
        run(os.path.join(tools, "pip"), "download", "-q", "--no-deps", "--no-binary", "PyMySQL", "--require-hashes",
            "--dest", folder, "-r", pinned)
        [archive] = glob.glob(os.path.join(glob.escape(folder), "*.tar.gz"))
        with tarfile.open(archive) as files:
            [top] = {member.name.partition("/")[0] for member in files}
            files.extractall(folder, [member for member in files if re.match(r"[^/]+/pymysql/", member.name)])
        os.rename(os.path.join(folder, top, "pymysql"), os.path.join(folder, "pymysql"))
        os.rmdir(os.path.join(folder, top))
        os.remove(archive)
    return tools, made("suites/pymysql", [pinned], make)


def run_pymysql(where, place, work):
    tools, folder = where
    shutil.copytree(os.path.join(folder, "pymysql"), os.path.join(work, "pymysql"))
    plain = {"host": place["host"], "port": place["port"], "user": place["user"], "passwd": place["password"]}
    with open(os.path.join(work, "pymysql/tests/databases.json"), "w", encoding="ascii") as file:
        json.dump([{**plain, "db": "test1", "use_unicode": True, "local_infile": True}, {**plain, "db": "test2"}], file)
    report = os.path.join(work, "report.xml")
    text = output_of([os.path.join(tools, "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}",
                      *(["pymysql/tests"] if IS_LONG else SAMPLE)], work, environment(place, PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=work))
    assert os.path.exists(report), text[-2000:]
    return results_of_xml(report), text


def go_driver():
    with open(os.path.join(SOURCE, "../mysql_drivers/go.sum"), encoding="ascii") as file:
        [(path, version, wanted)] = re.findall(r"^(\S+/go-sql-driver/mysql) (v[\d.]+) (\S+)$", file.read(), re.M)
    return path, version, wanted


def run_go_driver(folder, place, work):
    return run_go({"mysql.test": "."}, MYSQL_TEST_USER="{user}", MYSQL_TEST_PASS="{password}", MYSQL_TEST_PROT="tcp",
                  MYSQL_TEST_ADDR="{host}:{port}", MYSQL_TEST_DBNAME="gotest", MYSQL_TEST_CONCURRENT="1")(folder, place, None, work)


SUITES = {"PyMySQL": (make_pymysql, run_pymysql),
          "go-sql-driver": (go_module("go-sql-driver", go_driver, ["."]), run_go_driver)}
RUNS = [(name, rule) for name in SUITES for rule in RULES] + [("go-sql-driver", rule) for rule in MORE_RULES]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = MariadbServer(make_certificate(tmp_path_factory.mktemp("mysql-suites"), "localhost"))
    yield server
    server.remove()


@pytest.fixture(scope="module")
def admin(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("gateway"), "--mysql-greeting", "mariadb")
    yield register(gateway)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


def target_of(server):
    """New databases for each run, whose user may do what the suites do."""
    target = MysqlTarget(server)
    server.sql("".join(f"DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name} CHARACTER SET utf8mb4;" for name in DATABASES)
               + f"GRANT ALL ON *.* TO {target.user}@'%' WITH GRANT OPTION")
    return target


def run_suite(name, tools, place, work):
    make, run_it = SUITES[name]
    try:
        where = make(tools)
    except (Missing, OSError, AssertionError) as problem:
        pytest.skip(f"the tests of {name} cannot be had: {problem}")
    os.makedirs(work)
    return run_it(where, place, work)


@pytest.fixture(scope="module")
def directly(tools, server, tmp_path_factory):
    """directly(name) → what a suite finds at the server; each is run once."""
    kept = {}

    def found(name):
        if name not in kept:
            user = target_of(server).user
            place = {"host": "127.0.0.1", "port": server.port, "user": user, "password": TARGET_PASSWORD, "dbname": "test1"}
            kept[name] = run_suite(name, tools, place, str(tmp_path_factory.mktemp("direct") / "work"))[0]
        return kept[name]
    return found


@pytest.mark.parametrize("name, rule", RUNS if IS_LONG else [("PyMySQL", "no rule")])
@pytest.mark.skipif(IS_SANITIZED, reason="their own deadlines are for programs at full speed")
def test_nothing_fails_through_the_gateway_alone(admin, tools, server, directly, tmp_path, name, rule):
    at_server = directly(name)
    passed = set(at_server) - failed(at_server)
    assert len(passed) > 0.85 * len(at_server), sorted(failed(at_server))
    target = target_of(server)
    connection = target.connection(admin, target.secret(DB="test1"))
    make_rule = {**RULES, **MORE_RULES}[rule]
    if make_rule is not None:
        answer = make_rule(admin, admin.get(f"/connections/{connection}").json["id"])
        assert answer.status == 201, answer
    place = {**mysql_address(credential(admin, connection)), "dbname": "test1"}
    through, said = run_suite(name, tools, place, str(tmp_path / "work"))
    alone = {test for test in passed if not through.get(test, False)} - KNOWN.get(name, {}).keys()
    alone -= BY_RULES.get(name, {}).keys() if make_rule is not None else set()
    print(f"{name}, {rule}: {len(through)} tests, {len(failed(through))} fail, {len(failed(at_server))} directly; "
          f"alone: {sorted(alone)}", flush=True)
    assert not alone, (sorted(alone), said[-6000:])
