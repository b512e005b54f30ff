# SPDX-License-Identifier: MIT
"""Sessions whose target only an agent in another process reaches."""
import base64
import concurrent.futures
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import pytest

from agent import Agent, make_agent, wait_connected
from api import register, setup_code, unique
from conftest import IS_SANITIZED, PATIENCE, PostgresServer, lasting_port, wait_for
from native import TARGET_PASSWORD, Target, address, credential, psql, sql
from plan import HAS_MANY
from test_agent_link import certificate, secure  # noqa: F401

ROWS = 100_000 if IS_SANITIZED else 1_000_000
WORKERS = 3
KILLS = 50 if HAS_MANY else 1
ROUNDS = 8  # the kernel gives connections to the workers as it likes


@pytest.fixture(scope="module")
def strict():
    """On a server that has room for many, and asks for passwords."""
    place = tempfile.mkdtemp(prefix="gatehouse-postgres-")
    server = PostgresServer(place, "-c", "max_connections=260")
    user = Target(server)
    with open(f"{server.data}/pg_hba.conf", "w") as out:
        out.write("host all postgres 127.0.0.1/32 trust\n"
                  "host all all 127.0.0.1/32 scram-sha-256\n")
    server.run("pg_ctl", "reload", "-D", server.data)
    yield user
    server.stop()
    shutil.rmtree(place)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tmp_path_factory.mktemp("agent"))


@pytest.fixture(scope="module")
def far(admin, folder):
    """An agent of its own, and what the API says of it."""
    made = make_agent(admin)
    agent = Agent(folder, "--token", made["token"],
                  env={"ONLY_HERE": json.dumps({"password": TARGET_PASSWORD})})
    wait_connected(admin, made, agent)
    yield made
    assert agent.stop() == 0, agent.text()


@pytest.fixture
def run(folder):
    """run(made) → an agent that ends with the test."""
    started = []

    def run_one(made, *arguments):
        agent = Agent(folder, "--token", made["token"], *arguments)
        started.append(agent)
        return agent

    yield run_one
    for agent in started:
        if agent.is_alive():
            assert agent.stop() == 0, agent.text()


def linked(admin, run):
    """A new agent with its links."""
    made = make_agent(admin)
    agent = run(made)
    wait_connected(admin, made, agent)
    return made, agent


def popen(made, text, *arguments, **options):
    given = address(made)
    process = subprocess.Popen(
        ["psql", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=verbose", "-h",
         given["host"], "-p", given["port"], "-U", given["user"], *arguments, given["dbname"]],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PGPASSWORD": given["password"]}, **options)
    process.stdin.write(text)
    process.stdin.close()
    process.stdin = None
    return process


def is_busy(target, what):
    return sql(target.server, f"SELECT count(*) FROM pg_stat_activity WHERE query LIKE '{what}%' "
                              f"AND state = 'active' AND usename = '{target.user}'") != "0"


# Ways in -----------------------------------------------------------------------------------------

def test_psql_reaches_a_database_that_the_agent_reaches(admin, target, far):
    made = credential(admin, target.connection(admin, agent_id=far["id"]))
    for _ in range(ROUNDS):
        assert psql(made, "SELECT current_user, 1 + 1").stdout == f"{target.user}|2\n"


def test_an_agent_is_on_every_worker(start, run, target, tmp_path):
    gateway = start("--workers", str(WORKERS), folder=tmp_path / "g")
    admin = register(gateway)
    made, _ = linked(admin, run)
    wait_for(lambda: gateway.text().count("an agent has a link") == WORKERS)
    name = credential(admin, target.connection(admin, agent_id=made["id"]))
    for _ in range(2 * ROUNDS):
        assert psql(name, "SELECT 7").stdout == "7\n"


def test_a_secret_may_be_the_agents_own(admin, target, far):
    secret = {**target.secret(), "envvar:PASS": "_envjson:ONLY_HERE:password"}
    made = credential(admin, target.connection(admin, secret=secret, agent_id=far["id"]))
    assert psql(made, "SELECT current_user").stdout == f"{target.user}\n"
    here = credential(admin, target.connection(admin, secret=secret))
    assert psql(here, "SELECT 1", check=False).returncode == 2
    secret["envvar:PASS"] = "_envjson:NOWHERE:password"
    made = credential(admin, target.connection(admin, secret=secret, agent_id=far["id"]))
    done = psql(made, "SELECT 1", check=False)
    assert done.returncode == 2 and "the agent cannot open the session" in done.stderr
    assert "ONLY_HERE" not in done.stderr and "NOWHERE" not in done.stderr


def without_place(text):
    """An error of libpq without where it connected to."""
    return re.sub(r"^.*?FATAL:", "FATAL:", text, flags=re.S)


@pytest.mark.parametrize("changed", [{"PASS": "wrong"}, {"PORT": "1"}, {"DB": "no such database"},
                                     {"USER": "nobody"}, {"HOST": "no-such-host.invalid"}])
def test_errors_are_those_of_the_agent_inside(admin, strict, far, changed):
    target = strict
    secret = target.secret(**changed)
    inside = psql(credential(admin, target.connection(admin, secret=secret)), "SELECT 1",
                  check=False)
    outside = psql(credential(admin, target.connection(admin, secret=secret, agent_id=far["id"])),
                   "SELECT 1", check=False)
    assert inside.returncode == outside.returncode == 2
    assert without_place(outside.stderr) == without_place(inside.stderr)
    assert "FATAL:" in outside.stderr


def test_parameters_reach_the_target(admin, target, far):
    made = credential(admin, target.connection(admin, agent_id=far["id"]))
    done = psql(made, "SHOW application_name; SHOW work_mem; SHOW client_encoding",
                PGAPPNAME="grüße", PGOPTIONS="-c work_mem=123kB", PGCLIENTENCODING="LATIN1")
    # The server itself keeps ASCII alone of a name.
    assert re.fullmatch(r"gr\S+e\n123kB\nLATIN1\n", done.stdout)


# What goes on ------------------------------------------------------------------------------------

def test_a_query_is_cancelled(admin, target, far):
    made = credential(admin, target.connection(admin, agent_id=far["id"]))
    for _ in range(3):
        process = popen(made, "SELECT 'far away', pg_sleep(60)")
        wait_for(lambda: is_busy(target, "SELECT ''far away''"))
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
        assert "57014" in errors and time.monotonic() - began < 5
    assert not is_busy(target, "SELECT ''far away''")


def test_a_million_rows_both_ways(admin, target, far, postgres):
    made = credential(admin, target.connection(admin, agent_id=far["id"]))
    query = (f"COPY (SELECT i, md5(i::text), repeat('x', i % 50 + 1) FROM "
             f"generate_series(1, {ROWS}) i) TO STDOUT")
    direct = sql(postgres, query)
    assert psql(made, query).stdout.strip() == direct
    table = unique("far").replace("-", "_")
    psql(made, f"CREATE TABLE {table} (i int, a text, b text)")
    given = address(made)
    done = subprocess.run(
        ["psql", "-X", "-q", "-h", given["host"], "-p", given["port"], "-U", given["user"], "-c",
         f"COPY {table} FROM STDIN", given["dbname"]], input=direct + "\n", text=True, check=False,
        env={**os.environ, "PGPASSWORD": given["password"]}, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert sql(postgres, f"COPY (SELECT * FROM {table} ORDER BY i) TO STDOUT") == direct
    psql(made, f"DROP TABLE {table}")


@pytest.mark.quiet
def test_who_does_not_read_delays_nobody(admin, target, far):
    made = credential(admin, target.connection(admin, agent_id=far["id"]))
    stalled = [popen(made, "SELECT repeat('y', 1000000) FROM generate_series(1, 200)")
               for _ in range(4)]
    try:
        wait_for(lambda: is_busy(target, "SELECT repeat(''y''"))
        for process in stalled:
            process.send_signal(signal.SIGSTOP)
        time.sleep(1)
        for _ in range(ROUNDS):
            began = time.monotonic()
            assert psql(made, "SELECT 1").stdout == "1\n"
            assert time.monotonic() - began < (10 if IS_SANITIZED else 2)
        for process in stalled:
            process.send_signal(signal.SIGCONT)
        for process in stalled:
            out, errors = process.communicate(timeout=4 * PATIENCE)
            assert process.returncode == 0 and len(out) == 200 * 1000001, errors
    finally:
        for process in stalled:
            process.kill()


def test_two_hundred_at_once(admin, far, strict):
    made = credential(admin, strict.connection(admin, agent_id=far["id"]))
    with concurrent.futures.ThreadPoolExecutor(200) as pool:
        done = list(pool.map(
            lambda i: psql(made, f"SELECT {i} FROM pg_sleep(2)", check=False), range(200)))
    assert [one.stdout for one in done] == [f"{i}\n" for i in range(200)], \
        {one.stderr for one in done}


# Ends --------------------------------------------------------------------------------------------

def test_an_agent_that_is_killed_ends_its_sessions_in_words(admin, target, run):
    made, agent = linked(admin, run)
    given = credential(admin, target.connection(admin, agent_id=made["id"]))
    for _ in range(KILLS):
        sessions = [popen(given, "SELECT 'killed', pg_sleep(60)") for _ in range(4)]
        wait_for(lambda: is_busy(target, "SELECT ''killed''"))
        time.sleep(1)
        agent.kill()
        for session in sessions:
            _, errors = session.communicate(timeout=PATIENCE)
            assert session.returncode == 2 and "FATAL:  08006" in errors, errors
        done = psql(given, "SELECT 1", "-v", "VERBOSITY=verbose", check=False)
        assert done.returncode == 2 and "agent is not connected to this gateway" in done.stderr
        sql(target.server, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                           f"usename = '{target.user}'")  # who sleeps notices nothing
        agent = run(made)
        wait_connected(admin, made, agent)
    for _ in range(ROUNDS):
        assert psql(given, "SELECT 1").stdout == "1\n"


def test_an_agent_without_a_link_is_told(admin, target):
    made = make_agent(admin)
    given = address(credential(admin, target.connection(admin, agent_id=made["id"])))
    script = ("import ctypes, sys\n"
              "pq = ctypes.CDLL('libpq.so.5')\n"
              "pq.PQconnectdb.restype = ctypes.c_void_p\n"
              "pq.PQerrorMessage.restype = ctypes.c_char_p\n"
              "conn = ctypes.c_void_p(pq.PQconnectdb(sys.argv[1].encode()))\n"
              "print(pq.PQerrorMessage(conn).decode())\n")
    info = " ".join(f"{key}={value}" for key, value in given.items())
    done = subprocess.run(["python3", "-c", script, info], capture_output=True, text=True,
                          timeout=PATIENCE, check=True)
    assert "the connection's agent is not connected to this gateway" in done.stdout
    with socket.create_connection((given["host"], int(given["port"]))) as conn:
        assert raw_sqlstate(conn, given) == "08001"


def raw_sqlstate(conn, given):
    """Signs in by SCRAM with libpq's rules left out: what the SQLSTATE of the end is."""
    import hashlib
    import hmac
    stream = conn.makefile("rb")

    def message():
        kind = stream.read(1)
        return kind, stream.read(int.from_bytes(stream.read(4), "big") - 4)

    def send(kind, body):
        conn.sendall(kind + (len(body) + 4).to_bytes(4, "big") + body)

    start = f"user\0{given['user']}\0database\0{given['dbname']}\0\0".encode()
    send(b"", (196608).to_bytes(4, "big") + start)
    assert message()[0] == b"R"
    first = "n=,r=abcdefghijklmnopqrstuvwx"
    hello = f"n,,{first}".encode()
    send(b"p", b"SCRAM-SHA-256\0" + len(hello).to_bytes(4, "big") + hello)
    server = message()[1][4:].decode()
    parts = dict(part.split("=", 1) for part in server.split(","))
    salted = hashlib.pbkdf2_hmac("sha256", given["password"].encode(),
                                 base64.b64decode(parts["s"]), int(parts["i"]))
    key = hmac.digest(salted, b"Client Key", "sha256")
    bare = f"c=biws,r={parts['r']}"
    proof = hmac.digest(hashlib.sha256(key).digest(), f"{first},{server},{bare}".encode(), "sha256")
    last = f"{bare},p={base64.b64encode(bytes(a ^ b for a, b in zip(key, proof))).decode()}"
    send(b"p", last.encode())
    while True:
        kind, body = message()
        if kind == b"E":
            return next(field[1:] for field in body.decode().split("\0") if field[:1] == "C")


def test_a_deleted_agent_ends_its_sessions(admin, target, run):
    made, _ = linked(admin, run)
    name = target.connection(admin, agent_id=made["id"])
    sessions = [popen(credential(admin, name), "SELECT 'deleted', pg_sleep(60)") for _ in range(4)]
    wait_for(lambda: is_busy(target, "SELECT ''deleted''"))
    time.sleep(1)
    assert admin.delete(f"/agents/{made['name']}?force=true").status == 204
    for session in sessions:
        _, errors = session.communicate(timeout=PATIENCE)
        assert session.returncode == 2 and "FATAL:" in errors, errors


def test_an_agent_that_stops_lets_sessions_finish(admin, target, run):
    made, agent = linked(admin, run)
    given = credential(admin, target.connection(admin, agent_id=made["id"]))
    session = popen(given, "SELECT 'last words' FROM pg_sleep(3)")
    wait_for(lambda: is_busy(target, "SELECT ''last words''"))
    agent.signal(signal.SIGTERM)
    out, errors = session.communicate(timeout=PATIENCE)
    assert out == "last words\n", errors
    wait_for(lambda: not agent.is_alive())


def test_an_agent_that_stops_does_not_wait_for_ever(admin, target, run):
    made = make_agent(admin)
    agent = run(made, "--shutdown-seconds", "1")
    wait_connected(admin, made, agent)
    given = credential(admin, target.connection(admin, agent_id=made["id"]))
    sessions = [popen(given, "SELECT 'too long', pg_sleep(60)") for _ in range(4)]
    wait_for(lambda: is_busy(target, "SELECT ''too long''"))
    time.sleep(1)
    began = time.monotonic()
    assert agent.stop() == 0, agent.text()
    assert time.monotonic() - began < 5
    for session in sessions:
        _, errors = session.communicate(timeout=PATIENCE)
        assert session.returncode == 2 and "08006" in errors, errors


def test_the_gateway_stops_with_sessions_of_agents(start, run, target, tmp_path):
    gateway = start("--shutdown-seconds", "1", "--workers", "2", folder=tmp_path / "g")
    admin = register(gateway)
    made, _ = linked(admin, run)
    given = credential(admin, target.connection(admin, agent_id=made["id"]))
    sessions = [popen(given, "SELECT 'stopping', pg_sleep(60)") for _ in range(4)]
    wait_for(lambda: is_busy(target, "SELECT ''stopping''"))
    time.sleep(1)
    assert gateway.stop() == 0
    for session in sessions:
        _, errors = session.communicate(timeout=PATIENCE)
        assert session.returncode == 2 and "57P01" in errors, errors


# Links that come and go --------------------------------------------------------------------------

def test_links_end_and_come_back_each_on_its_own(start, run, target, tmp_path):
    """A proxy between the two cuts one link at a time; sessions wait for that of their worker."""
    port = lasting_port()
    gateway = start("--workers", str(WORKERS), "--public-url", f"http://127.0.0.1:{port}",
                    folder=tmp_path / "g")
    relay = Relay(port, gateway.port)
    try:
        admin = register(gateway)
        made = make_agent(admin)
        agent = run({"token": made["token"].replace(f":{gateway.port}", f":{port}")})
        wait_connected(admin, made, agent)
        given = credential(admin, target.connection(admin, agent_id=made["id"]))
        wait_for(lambda: len(relay.pairs) == WORKERS)
        for _ in range(WORKERS):
            relay.cut()
            for _ in range(ROUNDS):
                assert psql(given, "SELECT 3").stdout == "3\n"
            wait_for(lambda: len(relay.pairs) == WORKERS)
            assert admin.get(f"/agents/{made['id']}").json["status"] == "CONNECTED"
    finally:
        relay.close()


class Relay:
    """Bytes both ways, in pairs that can be cut, the oldest first."""

    def __init__(self, port, to):
        self.to, self.pairs = to, []
        self.listening = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                near, _ = self.listening.accept()
            except OSError:
                return
            pair = (near, socket.create_connection(("127.0.0.1", self.to)))
            self.pairs.append(pair)
            for a, b in (pair, pair[::-1]):
                threading.Thread(target=self.carry, args=(pair, a, b), daemon=True).start()

    def carry(self, pair, a, b):
        try:
            while part := a.recv(65536):
                b.sendall(part)
        except OSError:
            pass
        for conn in pair:
            try:
                conn.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        if pair in self.pairs:
            self.pairs.remove(pair)

    def cut(self):
        for conn in self.pairs.pop(0):
            try:
                conn.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listening.close()
        while self.pairs:
            self.cut()


# TLS ---------------------------------------------------------------------------------------------

def test_over_tls(start, run, target, certificate):  # noqa: F811
    gateway = start("--workers", str(WORKERS), "--tls-cert", certificate / "cert.pem", "--tls-key",
                    certificate / "key.pem")
    call = secure(gateway)
    answer, _ = call("POST", "/localauth/register",
                     {"email": "admin@example.com", "password": "correct horse 9 battery",
                      "setup_code": setup_code(gateway)})
    token = answer.getheader("Token")
    _, made = call("POST", "/agents", {"name": "far"}, token)
    agent = run(made, "--ca-file", certificate / "ca.pem")
    wait_for(lambda: gateway.text().count("an agent has a link") == WORKERS, 5, agent.text())
    body = {"name": "shop", "type": "database", "subtype": "postgres", "agent_id": made["id"],
            "secret": target.secret(), "access_mode_connect": "enabled",
            "access_mode_exec": "enabled", "access_mode_runbooks": "enabled",
            "access_schema": "enabled"}
    assert call("POST", "/connections", body, token)[0].status == 201
    _, given = call("POST", "/connections/shop/credentials", {}, token)
    for _ in range(ROUNDS):
        assert psql(given, "SELECT 5", PGSSLMODE="require").stdout == "5\n"
    rows = psql(given, "COPY (SELECT generate_series(1, 300000)) TO STDOUT").stdout
    assert rows == "".join(f"{i}\n" for i in range(1, 300001))
