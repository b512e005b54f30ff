# SPDX-License-Identifier: MIT
"""Sessions of real clients, through the gateway, at a real PostgreSQL server."""
import concurrent.futures
import json
import os
import re
import socket
import struct
import subprocess
import threading

import pytest

from api import register, unique
from conftest import IS_SANITIZED, PATIENCE, wait_for
from native import address, credential, psql, sql
from pgwire import Refused, Wire, message, rows_of, text


@pytest.fixture(scope="module")
def made(quick, target):
    return credential(quick, target.connection(quick))


def peak_kib(gateway):
    with open(f"/proc/{gateway.process.pid}/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read()).group(1))


def url(made, **parameters):
    given = address(made)
    words = " ".join(f"{key}={value}" for key, value in parameters.items())
    return f"host={given['host']} port={given['port']} user={given['user']} " \
           f"password={given['password']} dbname={given['dbname']} {words}"


def test_psql_reaches_a_database_whose_password_it_does_not_know(admin, target):
    made = credential(admin, target.connection(admin))
    assert psql(made, "SELECT current_user, 1 + 1").stdout == f"{target.user}|2\n"


def test_a_wrong_password_is_refused(admin, target):
    made = credential(admin, target.connection(admin))
    made["connection_credentials"]["password"] = "x" * 43
    done = psql(made, "SELECT 1", check=False)
    assert done.returncode == 2 and "password authentication failed" in done.stderr


def test_the_session_is_listed_while_it_is_there_and_when_it_is_over(admin, target):
    name = target.connection(admin)
    made = credential(admin, name)

    def listed():
        [one] = admin.get(f"/sessions?connection={name}").json["data"]
        return one

    with Wire(made, application_name="the \x01 name \u00e9") as wire:
        wire.ask("SELECT 1")
        one = listed()
        assert (one["status"], one["verb"], one["application_name"], one["client_ip"]) == \
            ("open", "connect", "the ? name \u00e9", "127.0.0.1")
        wire.send(message(b"X"))
        assert wire.conn.recv(1) == b""
    one = wait_for(lambda: listed()["status"] == "done" and listed(), what="the end")
    assert one["end_date"] is not None and one["bytes_in"] > 0 and one["bytes_out"] > 0
    actions = [entry["action"] for entry in
               admin.get("/audit/logs?resource_type=sessions").json["data"]]
    assert {"connect", "disconnect"} <= set(actions)


def test_parameters_and_the_key_are_handed_on(made, target):
    with Wire(made, application_name="here", DateStyle="SQL, DMY") as wire:
        assert wire.parameters["server_version"] == sql(target.server, "SHOW server_version")
        assert wire.parameters["application_name"] == "here"
        assert wire.parameters["DateStyle"] == "SQL, DMY"
        assert len(wire.key) == 8
        assert wire.ask("SET application_name = 'there'") == []
        assert wire.parameters["application_name"] == "there"
        assert wire.ask("SHOW datestyle") == [("SQL, DMY",)]


def test_options_of_the_start_reach_the_server(made):
    done = psql(made, "SHOW work_mem", PGOPTIONS="-c work_mem=77kB")
    assert done.stdout == "77kB\n"


@pytest.mark.parametrize("asked, expected", [
    (None, "postgres"), ("template1", "template1"), ("<user>", "postgres")])
def test_the_database_is_the_clients_or_the_connections(made, asked, expected):
    with Wire(made, is_begun=False) as wire:
        wire.database = wire.user if asked == "<user>" else asked
        wire.begin()
        assert wire.ask("SELECT current_database()") == [(expected,)]


def test_without_a_database_anywhere_it_is_the_targets(quick, target):
    name = target.connection(quick, target.secret(DB=None))
    sql(target.server, f"CREATE DATABASE {target.user}")
    with Wire(credential(quick, name), is_begun=False) as wire:
        wire.database = None
        wire.begin()
        assert wire.ask("SELECT current_database()") == [(target.user,)]


EVERYTHING = """
import io, json, sys, threading
import psycopg
from psycopg import sql
dsn = sys.argv[1]
found = {}
with psycopg.connect(dsn, autocommit=True) as conn:
    conn.execute("CREATE TEMP TABLE t (n int, b bytea, s text)")
    with conn.cursor() as cur:
        cur.executemany("INSERT INTO t VALUES (%s, %s, %s)",
                        [(i, bytes([i]) * i, f"\\u00e9{i}") for i in range(100)])
        found["rows"] = cur.execute("SELECT count(*), sum(length(b)) FROM t").fetchone()
    with conn.pipeline() as pipeline:
        cursors = [conn.execute("SELECT %s::int * 2", [i]) for i in range(500)]
        found["pipeline"] = sum(c.fetchone()[0] for c in cursors)
    with conn.cursor() as cur:
        with cur.copy("COPY t (n, s) FROM STDIN") as copy:
            for i in range(20000):
                copy.write_row((1000 + i, "line"))
        with cur.copy("COPY t (n, s) TO STDOUT") as copy:
            found["copied"] = sum(1 for _ in copy.rows())
        with cur.copy("COPY (SELECT n FROM t) TO STDOUT (FORMAT binary)") as copy:
            found["binary"] = sum(len(part) for part in copy) > 20000
    try:
        with conn.cursor() as cur, cur.copy("COPY t (n) FROM STDIN") as copy:
            copy.write("not a number\\n")
    except psycopg.errors.InvalidTextRepresentation:
        found["bad copy"] = conn.execute("SELECT 1").fetchone()[0]
    with conn.transaction():
        with conn.cursor(name="portal") as cur:
            cur.itersize = 7
            cur.execute("SELECT n FROM t WHERE n < 100 ORDER BY n")
            found["cursor"] = [row[0] for row in cur] == list(range(100))
        lob = conn.execute("SELECT lo_from_bytea(0, %s)", [b"x" * 300000]).fetchone()[0]
        found["object"] = len(conn.execute("SELECT lo_get(%s)", [lob]).fetchone()[0])
        conn.execute("SELECT lo_unlink(%s)", [lob])
    for i in range(20):
        found["prepared"] = conn.execute("SELECT %s::text", ["p"], prepare=True).fetchone()[0]
    try:
        conn.execute("SELECT 1/0")
    except psycopg.errors.DivisionByZero as error:
        found["error"] = error.sqlstate
    try:
        with conn.transaction():
            conn.execute("SELECT broken")
    except psycopg.errors.UndefinedColumn:
        found["after"] = conn.info.transaction_status.name
    notices = []
    conn.add_notice_handler(lambda n: notices.append(n.message_primary))
    conn.execute("DO $$ BEGIN RAISE NOTICE 'heard'; END $$")
    found["notice"] = notices
    conn.execute("LISTEN bell")
    with psycopg.connect(dsn, autocommit=True) as other:
        other.execute("SELECT pg_notify('bell', 'rings')")
    found["notify"] = [n.payload for n in conn.notifies(timeout=20, stop_after=1)]
    big = conn.execute("SELECT repeat('x', 20000000)").fetchone()[0]
    found["big"] = len(big)
    found["echo"] = conn.execute("SELECT length(%s)", [big]).fetchone()[0]
    cur = conn.cursor()
    found["stream"] = sum(1 for _ in cur.stream("SELECT generate_series(1, 50000)"))
    found["batch"] = [len(conn.execute("SELECT 1; SELECT 2; SELECT 3").fetchall())]
print(json.dumps(found))
"""


@pytest.mark.parametrize("sslmode", ["disable"])
def test_all_that_a_driver_does(made, tools, sslmode):
    done = subprocess.run([f"{tools}/python", "-c", EVERYTHING, url(made, sslmode=sslmode)],
                          capture_output=True, text=True, timeout=8 * PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "rows": [100, 4950], "pipeline": 249500, "copied": 20100, "binary": True, "bad copy": 1,
        "cursor": True, "object": 300000, "prepared": "p", "error": "22012", "after": "IDLE",
        "notice": ["heard"], "notify": ["rings"], "big": 20000000, "echo": 20000000,
        "stream": 50000, "batch": [1]}


def test_extended_messages_by_hand(made):
    with Wire(made) as wire:
        wire.send(
            message(b"P", text("s", "SELECT generate_series(1, $1::int)") + b"\0\0"),
            message(b"B", text("p", "s") + struct.pack("!HHIcH", 0, 1, 1, b"9", 0)),
            message(b"D", b"P" + text("p")),
            message(b"E", text("p") + struct.pack("!I", 4)),
            message(b"E", text("p") + struct.pack("!I", 0)), message(b"C", b"P" + text("p")),
            message(b"H"), message(b"S"))
        found = wire.until_ready()
        assert [kind for kind, _ in found] == \
            [b"1", b"2", b"T"] + 4 * [b"D"] + [b"s"] + 5 * [b"D"] + [b"C", b"3"]
        assert rows_of(found) == [(str(i),) for i in range(1, 10)]
        # After an error all is skipped up to the Sync; the next one is as good as new.
        wire.send(message(b"P", text("", "SELECT broken") + b"\0\0"),
                  message(b"E", text("") + struct.pack("!I", 0)), message(b"S"),
                  message(b"Q", text("SELECT 5")))
        with pytest.raises(Refused, match="42703"):
            wire.until_ready()
        assert rows_of(wire.until_ready()) == [("5",)]
        # The function call of old.
        oid = int(wire.ask("SELECT 'int4abs(int4)'::regprocedure::oid")[0][0])
        wire.send(message(b"F", struct.pack("!IHHHIiH", oid, 1, 1, 1, 4, -7, 1)))
        assert (b"V", struct.pack("!Ii", 4, 7)) in wire.until_ready()


def test_ten_thousand_queries_at_once(made):
    with Wire(made) as wire:
        count = 10000
        sender = threading.Thread(target=wire.send, args=(count * message(b"Q", text("SELECT 1")),))
        sender.start()
        for _ in range(count):
            assert rows_of(wire.until_ready()) == [("1",)]
        sender.join()


def test_a_client_that_ends_first_is_still_answered(made):
    with Wire(made) as wire:
        wire.send(message(b"Q", text("SELECT pg_sleep(0.3), repeat('x', 5000000)")))
        wire.conn.shutdown(socket.SHUT_WR)
        [(_, value)] = rows_of(wire.until_ready())
        assert len(value) == 5000000
        assert wire.conn.recv(1) == b""


@pytest.mark.parametrize("direction", ["down", "up", "copy"])
def test_a_hundred_megabytes_pass_in_constant_memory(start, target, direction):
    admin = register(start("--workers", 1))
    made = credential(admin, target.connection(admin))
    size = 10 ** 8
    with Wire(made) as wire:
        wire.ask("CREATE TEMP TABLE big (v text)")
        before = peak_kib(admin.gateway)
        if direction == "down":
            wire.send(message(b"Q", text(f"SELECT repeat('x', {size})")))
            [(value,)] = rows_of(wire.until_ready())
            assert len(value) == size
        elif direction == "up":
            wire.send(message(b"Q", b"SELECT length('" + size * b"y" + b"')\0"))
            assert rows_of(wire.until_ready()) == [(str(size),)]
        else:
            wire.send(message(b"Q", text("COPY big FROM STDIN")))
            assert wire.expect()[0] == b"G"
            for _ in range(100):
                wire.send(message(b"d", (size // 100 - 1) * b"z" + b"\n"))
            wire.send(message(b"c"))
            assert (b"C", text("COPY 100")) in wire.until_ready()
        assert IS_SANITIZED or peak_kib(admin.gateway) - before < 12 * 1024


def test_pgbench_runs_all_its_protocols(made, target):
    given = address(made)
    env = {**os.environ, "PGPASSWORD": given["password"]}
    database = unique("bench").replace("-", "_")  # its tables have the same names everywhere
    sql(target.server, f"CREATE DATABASE {database} OWNER {target.user}")
    where = ["-h", given["host"], "-p", given["port"], "-U", given["user"], database]
    subprocess.run(["pgbench", "-i", "-q", *where], env=env, check=True, timeout=4 * PATIENCE,
                   capture_output=True)
    for protocol in "simple", "extended", "prepared":
        done = subprocess.run(["pgbench", "-n", "-M", protocol, "-c", "8", "-j", "2", "-t", "50",
                               *where], env=env, check=False, timeout=4 * PATIENCE,
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "number of transactions actually processed: 400/400" in done.stdout, done.stdout


def test_a_storm_of_connections(admin, target):
    made = credential(admin, target.connection(admin))
    given = address(made)
    done = subprocess.run(
        ["pgbench", "-n", "-C", "-c", "16", "-j", "2", "-t", "20", "-f", "/dev/stdin",
         "-h", given["host"], "-p", given["port"], "-U", given["user"], given["dbname"]],
        env={**os.environ, "PGPASSWORD": given["password"]}, timeout=8 * PATIENCE, check=False,
        input="SELECT 1;\n", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "number of transactions actually processed: 320/320" in done.stdout, done.stdout


def test_what_the_target_refuses_is_said_without_its_secrets(quick, target):
    for secret, words in (
            (target.secret(PORT="1"), "the target cannot be reached"),
            (target.secret(DB="nowhere"), 'database "nowhere" does not exist'),
            (target.secret(PORT="x"), "'envvar:PORT' of the connection is not a port"),
            (target.secret(HOST=None), "the connection has no 'envvar:HOST'"),
            (target.secret(SSLMODE="allow"), "'envvar:SSLMODE' of the connection must be"),
            (target.secret(SSLMODE="require"), "")):
        done = psql(credential(quick, target.connection(quick, secret)), "SELECT 1", check=False)
        assert done.returncode == 2 and words in done.stderr, done.stderr
        assert "127.0.0.1\", port" not in done.stderr.split("FATAL")[-1]
        assert "only the gateway" not in done.stderr


def test_a_secret_that_cannot_be_had_lets_nobody_in_however_many_ask(quick, target):
    secret = {**target.secret(), "envvar:PASS": "_envjson:NOWHERE:password"}
    made = credential(quick, target.connection(quick, secret))

    def told(_):
        with pytest.raises(Refused) as refused:
            Wire(made)
        return str(refused.value)

    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        assert set(pool.map(told, range(500))) == {
            "FATAL 57P03: the gateway cannot open the session now"}


def test_the_gateway_takes_ipv6(start, target):
    admin = register(start("--postgres-listen", "[::1]:0"))
    name = target.connection(admin)
    made = credential(admin, name)
    assert address(made)["host"] == "::1"
    assert psql(made, "SELECT 1").stdout == "1\n"
    [one] = admin.get(f"/sessions?connection={name}").json["data"]
    assert one["client_ip"] == "::1"


def test_connections_are_kept_alive(made):
    """Of the sockets that the gateway holds, as the kernel shows their timers."""
    with Wire(made) as wire:
        wire.ask("SELECT 1")
        port, peer = address(made)["port"], wire.conn.getsockname()[1]
        wait_for(lambda: "timer:(keepalive" in subprocess.run(
            ["ss", "-tnoH", "state", "established", f"( sport = :{port} and dport = :{peer} )"],
            capture_output=True, text=True, check=True).stdout, what="the timer")
