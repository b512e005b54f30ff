# SPDX-License-Identifier: MIT
"""Test suites of other people: where they come from, and what each of their tests says when it is
run at a place, at a server or through the gateway."""
import collections
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import xml.etree.ElementTree as xml

from conftest import ROOT
from debian_source import debian_package, debian_source
from installed import made, run

SOURCE = os.path.join(ROOT, "tests/e2e/suites")
SECONDS_MAX = 3600
# What fails through the gateway alone, and why: docs/drivers.md shows it. Five tests at most.
KNOWN = {
    "psycopg2": {
        "tests.test_connection.TestConnectionInfo.test_user":
            "it compares the name that was signed in with, which is the connection's, with what "
            "the server calls the user, which is the target's"},
    "asyncpg": {
        "tests.test_execute.TestExecuteMany.test_executemany_server_failure_during_writes":
            "it wants an error to be there before 4 MB are written; the buffers of two connections "
            "in the place of one's may take them all, on a busy machine"},
    "pgx": {
        "pgx.TestConnect":
            "it wants the server to call the user what was signed in with, which is the "
            "connection's name",
        "pgconn.TestConnectProtocolVersion32":
            "it tells by the server's version whether protocol 3.2 was agreed upon; the gateway "
            "speaks it in front of older servers, too"},
}
LIB_PQ = ("github.com/lib/pq", "v1.10.9", "h1:YXG7RB+JIjhP29X+OtkiDnYaXQwpS4JEWq7dtCCRUEw=")

JDBC_SHA256 = "4537ba157c6eab9022d0a48bb6e6ca5a736ced8cc7121e1276322fb104dd3718"

Suite = collections.namedtuple("Suite", "make run sample setup database")


class Missing(Exception):
    """What a suite needs is not to be had here."""


def environment(place, **more):
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return {**plain, "PGHOST": place["host"], "PGPORT": str(place["port"]), "PGUSER": place["user"],
            "PGPASSWORD": place["password"], "PGDATABASE": place["dbname"], "PGSSLMODE": "disable",
            "PGCONNECT_TIMEOUT": "60", **more}


def output_of(command, folder, env):
    """What it prints, however it ends."""
    done = subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, text=True,
                          errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=SECONDS_MAX, check=False)
    return done.stdout


def results_of_xml(path):
    """Of a report as JUnit writes it."""
    found = {}
    for case in xml.parse(path).getroot().iter("testcase"):
        state = {child.tag for child in case}
        if "skipped" not in state:
            found[f"{case.get('classname')}.{case.get('name')}"] = not state & {"failure", "error"}
    return found


# PostgreSQL's own ---------------------------------------------------------------------------------

def server_version():
    """The package of the server that is installed, with its version."""
    major = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda p: int(p.split("/")[4]))[-1]
    package = f"postgresql-{major.split('/')[4]}"
    return package, run("dpkg-query", "-W", "-f", "${Version}", package)


def compiled(folder, tree, development, major):
    """The runners, and the library of functions that the tests load into the server."""
    with open(os.path.join(folder, "pg_config_paths.h"), "w", encoding="ascii") as file:
        file.write(f'#define PGBINDIR "/usr/lib/postgresql/{major}/bin"\n'
                   f'#define PKGLIBDIR "/usr/lib/postgresql/{major}/lib"\n'
                   '#define LIBDIR "/usr/lib"\n#define PGSHAREDIR "/usr/share"\n')
    headers = os.path.join(development, "usr/include/postgresql")
    libraries = os.path.join(development, f"usr/lib/postgresql/{major}/lib")
    regress, isolation = (os.path.join(tree, "src/test", name) for name in ("regress", "isolation"))
    flags = ["-O1", "-w", f"-I{folder}", f"-I{headers}/{major}/server", f"-I{headers}/internal",
             f"-I{headers}", "-I/usr/include/postgresql", "-I/usr/include/postgresql/internal",
             f"-I{tree}/src/include", f"-I{regress}"]
    program = ["-DFRONTEND", '-DHOST_TUPLE="x86_64-pc-linux-gnu"', '-DSHELLPROG="/bin/sh"',
               '-DDLSUFFIX=".so"']
    link = [f"-L{libraries}", "-lpq", "-lpgcommon", "-lpgport", "-lm"]
    for name, files in {
            "pg_regress": [f"{regress}/pg_regress.c", f"{regress}/pg_regress_main.c"],
            "pg_isolation_regress": [f"{regress}/pg_regress.c", f"{isolation}/isolation_main.c"],
            "isolationtester": [f"{isolation}/isolationtester.c", f"{isolation}/specparse.c"]
            }.items():
        run("gcc", *flags, *program, *files, *link, "-o", os.path.join(folder, name))
    run("gcc", *flags, "-fPIC", "-shared", f"{regress}/regress.c", "-o",
        os.path.join(folder, "regress.so"))


def make_of_server(folder):
    package, version = server_version()
    major = package.partition("-")[2]
    archive = debian_source(os.path.join(folder, "source"), f"{package}={version}")
    with tarfile.open(archive) as files:
        [top] = {member.name.partition("/")[0] for member in files}
        files.extractall(folder, [member for member in files if re.match(
            r"[^/]+/src/(test/(regress|isolation)|include)/", member.name)])
    development = debian_package(os.path.join(folder, "development"),
                                 f"postgresql-server-dev-{major}={version}")
    tree = os.path.join(folder, top)
    compiled(folder, tree, development, major)
    for name in "regress", "isolation":
        os.rename(os.path.join(tree, "src/test", name), os.path.join(folder, name))
    for name in top, "source", "development":
        shutil.rmtree(os.path.join(folder, name))


def of_server(_tools):
    """Again for each version of the server that is installed."""
    return made(f"suites/postgresql-{server_version()[1]}", [], make_of_server)


def results_of_regress(text):
    found = {}
    for name, word in re.findall(r"^(?:test)?\s+(\S+)\s+\.\.\. (ok|FAILED)\b", text, re.M):
        found[name] = word == "ok"
    for word, name in re.findall(r"^(ok|not ok) \d+\s+[-+] (\S+)", text, re.M):  # from 16 on
        found[name] = word == "ok"
    return found


def run_regress(name, schedule, program):
    def at(folder, place, chosen, work):
        work = os.path.join(work, name)
        shutil.copytree(os.path.join(folder, name), work)
        os.makedirs(os.path.join(work, "results"), exist_ok=True)
        libraries = os.path.join(work, "lib")
        os.makedirs(libraries)
        for library in ("autoinc.so", "refint.so"):
            [found] = glob.glob(f"/usr/lib/postgresql/{server_version()[0][11:]}/lib/{library}")
            shutil.copy(found, libraries)
        shutil.copy(os.path.join(folder, "regress.so"), libraries)
        for path, _, _ in os.walk(work):  # the server writes there, too
            os.chmod(path, 0o777)
        which = [f"--schedule={work}/{schedule}"] if chosen is None else chosen
        text = output_of(
            [os.path.join(folder, program), "--use-existing", f"--dbname={place['dbname']}",
             f"--inputdir={work}", f"--outputdir={work}", f"--dlpath={libraries}",
             f"--bindir=/usr/lib/postgresql/{server_version()[0][11:]}/bin",
             "--max-connections=20", f"--user={place['user']}", *which],
            folder, environment(place))
        found = results_of_regress(text)
        assert found, text[-2000:]
        difference = os.path.join(work, "regression.diffs")
        return found, (open(difference, errors="replace").read()
                       if os.path.exists(difference) else "")
    return at


def regress_setup(database):
    """What the runners set in a database that they make themselves."""
    return "; ".join(f"ALTER DATABASE {database} SET {name} TO {value}" for name, value in {
        "lc_messages": "'C'", "lc_monetary": "'C'", "lc_numeric": "'C'", "lc_time": "'C'",
        "bytea_output": "'hex'", "timezone_abbreviations": "'Default'"}.items())


# Drivers in Python --------------------------------------------------------------------------------

def python_source(name):
    """The folder with the tests of the source package that NAME.txt pins."""
    pinned = os.path.join(SOURCE, f"{name}.txt")

    def make_with(tools):
        def make(folder):
            run(os.path.join(tools, "pip"), "download", "-q", "--no-deps", "--no-binary", name,
                "--require-hashes", "--dest", folder, "-r", pinned)
            [archive] = glob.glob(os.path.join(glob.escape(folder), "*.tar.gz"))
            with tarfile.open(archive) as files:
                [top] = {member.name.partition("/")[0] for member in files}
                files.extractall(folder, [member for member in files
                                          if re.match(r"[^/]+/tests/", member.name)])
            os.rename(os.path.join(folder, top, "tests"), os.path.join(folder, "tests"))
            shutil.rmtree(os.path.join(folder, top))
            os.remove(archive)
        return make
    return lambda tools: (tools, made(f"suites/{name}", [pinned], make_with(tools)))


def run_python(**variables):
    def at(where, place, chosen, work):
        tools, folder = where
        report = os.path.join(work, "report.xml")
        values = {name: value.format(**place) for name, value in variables.items()}
        text = output_of(
            [os.path.join(tools, "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider",
             "--continue-on-collection-errors",
             f"--junitxml={report}", *(chosen or ["tests"])],
            folder, environment(place, PYTHONDONTWRITEBYTECODE="1", **values))
        assert os.path.exists(report), text[-2000:]
        return results_of_xml(report), text
    return at


# Drivers in Go ------------------------------------------------------------------------------------

def go_module(name, module, packages):
    """The tests of a module, compiled: a program for each of its packages."""
    def make(folder):
        if shutil.which("go") is None:
            raise Missing("there is no Go")
        told = json.loads(run("go", "mod", "download", "-json", f"{path}@{version}"))
        assert told["Sum"] == wanted, told["Sum"]
        tree = os.path.join(folder, "source")
        shutil.copytree(told["Dir"], tree)
        run("chmod", "-R", "u+w", tree)
        os.makedirs(os.path.join(folder, "programs"))
        run("go", "test", "-vet=off", "-mod=mod", "-c", "-o", os.path.join(folder, "programs/"),
            *packages, cwd=tree)
    path, version, wanted = module()
    return lambda _tools: made(f"suites/{name}-{version}", [], make)


def pgx_module():
    folder = os.path.join(ROOT, "tests/e2e/drivers")
    with open(os.path.join(folder, "go.sum"), encoding="ascii") as file:
        [(path, version, wanted)] = re.findall(r"^(\S+/pgx/v5) (v[\d.]+) (\S+)$", file.read(), re.M)
    return path, version, wanted


def run_go(packages, **variables):
    """packages: the program of each package, and its folder."""
    def at(folder, place, chosen, _work):
        values = {name: value.format(**place) for name, value in variables.items()}
        found, texts = {}, []
        for program, path in packages.items():
            text = output_of(
                [os.path.join(folder, "programs", program), "-test.v", "-test.count=1",
                 "-test.timeout=20m", *([f"-test.run={chosen}"] if chosen else [])],
                os.path.join(folder, "source", path), environment(place, **values))
            # What a test prints itself may stand before the line that tells how it went.
            for word, name in re.findall(r"--- (PASS|FAIL): (\S+) \(", text):
                found[f"{program[:-len('.test')]}.{name}"] = word == "PASS"
            texts.append(text)
        assert found, texts
        return found, "\n".join(texts)
    return at


# pgjdbc's ----------------------------------------------------------------------------------------

def make_of_jdbc(folder):
    """The source distribution of the driver that drivers/maven.txt names, with its tests."""
    with open(os.path.join(ROOT, "tests/e2e/drivers/maven.txt"), encoding="ascii") as file:
        artifact = file.readline().strip()
    run("mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}:tar.gz:jdbc-src",
        f"-DoutputDirectory={folder}", cwd=folder)
    [archive] = glob.glob(os.path.join(folder, "*.tar.gz"))
    with open(archive, "rb") as file:
        found = hashlib.sha256(file.read()).hexdigest()
    assert found == JDBC_SHA256, f"{archive} has the SHA-256 {found}"
    with tarfile.open(archive) as files:
        [top] = {member.name.partition("/")[0] for member in files}
        files.extractall(folder)
    os.rename(os.path.join(folder, top), os.path.join(folder, "source"))
    run("mvn", "-q", "-B", "test-compile", cwd=os.path.join(folder, "source"))


def run_jdbc(folder, place, chosen, work):
    tree = os.path.join(work, "pgjdbc")
    shutil.copytree(os.path.join(folder, "source"), tree)
    settings = {"test.url.PGHOST": place["host"], "test.url.PGPORT": place["port"],
                "test.url.PGDBNAME": place["dbname"], "user": place["user"],
                "password": place["password"], "privilegedUser": place["user"],
                "privilegedPassword": place["password"]}
    with open(os.path.join(tree, "build.local.properties"), "w", encoding="ascii") as file:
        file.writelines(f"{name}={value}\n" for name, value in settings.items())
    text = output_of(["mvn", "-q", "-B", "surefire:test", "-Dmaven.test.failure.ignore=true",
                      *([f"-Dtest={chosen}"] if chosen else [])], tree, environment(place))
    found = {}
    for path in glob.glob(os.path.join(tree, "target/surefire-reports/*.xml")):
        found.update(results_of_xml(path))
    assert found, text[-2000:]
    return found, text


URL = "postgres://{user}:{password}@{host}:{port}/{dbname}?sslmode=disable"
PGX_SETUP = "CREATE EXTENSION hstore; CREATE EXTENSION ltree; CREATE DOMAIN uint64 AS numeric(20,0)"
SUITES = {
    "pg_regress": Suite(
        of_server, run_regress("regress", "parallel_schedule", "pg_regress"),
        ["test_setup", "boolean", "create_index", "select", "prepare", "portals", "errors",
         "transactions", "copyselect", "plancache"], regress_setup("regression"), "regression"),
    "isolation": Suite(
        of_server, run_regress("isolation", "isolation_schedule", "pg_isolation_regress"),
        ["simple-write-skew", "insert-conflict-do-nothing", "async-notify"],
        regress_setup("isolation_regression"), "isolation_regression"),
    "psycopg2": Suite(
        python_source("psycopg2"), run_python(
            PSYCOPG2_TESTDB="{dbname}", PSYCOPG2_TESTDB_HOST="{host}",
            PSYCOPG2_TESTDB_PORT="{port}", PSYCOPG2_TESTDB_USER="{user}",
            PSYCOPG2_TESTDB_PASSWORD="{password}"),
        ["tests/test_cursor.py", "tests/test_copy.py", "tests/test_notify.py"],
        "CREATE EXTENSION hstore", "psycopg2_test"),
    "asyncpg": Suite(
        python_source("asyncpg"), run_python(),
        ["tests/test_copy.py", "tests/test_cursor.py", "tests/test_execute.py"], "", "postgres"),
    "pgx": Suite(
        go_module("pgx", pgx_module, [".", "./pgconn", "./pgtype", "./pgxpool", "./stdlib"]),
        run_go({"pgx.test": ".", "pgconn.test": "pgconn", "pgtype.test": "pgtype",
                "pgxpool.test": "pgxpool", "stdlib.test": "stdlib"},
               PGX_TEST_DATABASE=URL, PGX_TEST_TCP_CONN_STRING=URL), None, PGX_SETUP, "pgx_test"),
    "lib/pq": Suite(
        go_module("pq", lambda: LIB_PQ, ["."]), run_go({"pq.test": "."}),
        "^(TestCopy|TestListener|TestNotify|TestExec|TestBind|TestRow|TestError)", "", "pqgotest"),
    "pgjdbc": Suite(lambda _tools: made("suites/pgjdbc", [
        os.path.join(ROOT, "tests/e2e/drivers/maven.txt")], make_of_jdbc), run_jdbc, None,
        "CREATE EXTENSION hstore", "test"),
}
