# SPDX-License-Identifier: MIT
"""Connections of subtype tcp: any bytes, to whom they belong known, counted and recorded; through the
embedded agent and one elsewhere."""
import os
import select
import socket
import ssl
import subprocess
import threading
import time

import pytest

from agent import Agent, make_agent, wait_connected
from api import b64, register, unique
from conftest import BINARY, PATIENCE, Gateway, wait_for
from native import Target, credential, revoke
from test_tls import make_certificate

MUCH = 8 << 20


class Echo:
    """Says back what it hears, until the other side has ended; with TLS if it has a certificate."""

    def __init__(self, files=None):
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.context = None
        if files:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*files)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                conn, _ = self.listening.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(conn,), daemon=True).start()

    def serve(self, conn):
        try:
            conn = self.context.wrap_socket(conn, server_side=True) if self.context else conn
            while data := conn.recv(65536):
                conn.sendall(data)
            conn.close()
        except OSError:
            pass


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("tcp-certificate"), "tcp")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, files):
    gateway = Gateway(tmp_path_factory.mktemp("tcp"), "--tls-cert", files[0], "--tls-key", files[1],
                      "--tcp-listen", "127.0.0.1:0", "--shutdown-seconds", "1")
    yield gateway
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module")
def admin(gateway):
    return register(gateway)


@pytest.fixture(scope="module")
def echo():
    return Echo()


@pytest.fixture(scope="module")
def elsewhere(gateway, admin, files, tmp_path_factory):
    made = make_agent(admin)
    agent = Agent(tmp_path_factory.mktemp("tcp-agent"), "--token", made["token"], "--ca-file", files[0])
    wait_connected(admin, made, agent)
    yield made["id"]
    assert agent.stop() == 0, agent.text()


def connection(admin, port, agent_id=None, name=None, secret=None, **members):
    name = name or unique("tcp")
    answer = admin.post("/connections", {
        "name": name, "type": "application", "subtype": "tcp",
        "agent_id": agent_id or admin.get("/userinfo").json["org_id"],
        "secret": {"envvar:HOST": b64("127.0.0.1"), "envvar:PORT": b64(str(port)), **(secret or {})},
        "access_mode_connect": "enabled", "access_mode_exec": "enabled",
        "access_mode_runbooks": "enabled", "access_schema": "disabled", **members})
    assert answer.status == 201, answer
    return name


def tcp_port(gateway):
    return int(gateway.text().partition("tcp_port=")[2].split(" ")[0])


def dial(gateway, server_name=None):
    context = ssl._create_unverified_context()
    raw = socket.create_connection(("127.0.0.1", tcp_port(gateway)), timeout=PATIENCE)
    return context.wrap_socket(raw, server_hostname=server_name)


def line_of(conn):
    line = b""
    while not line.endswith(b"\n"):
        byte = conn.recv(1)
        if not byte:
            break
        line += byte
    return line


def enter(gateway, made):
    """In by the name that TLS knows."""
    conn = dial(gateway, made["connection_name"])
    conn.sendall(f"GATEHOUSE {made['connection_credentials']['password']}\n".encode())
    assert line_of(conn) == b"GATEHOUSE OK\n"
    return conn


def ask(conn, text):
    conn.sendall(text)
    got = b""
    while len(got) < len(text):
        part = conn.recv(65536)
        assert part, got[:100]
        got += part
    return got


def echoed(conn, data):
    """Sends while it reads: in one thread, since a TLS connection of this library is for one."""
    conn.setblocking(False)
    rest, count, deadline = memoryview(data), 0, time.monotonic() + PATIENCE
    while count < len(data):
        select.select([conn], [conn] if rest else [], [], 1)
        assert time.monotonic() < deadline, f"{count} of {len(data)} bytes came back"
        try:
            rest = rest[conn.send(rest[:1 << 16]):] if rest else rest
        except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
            pass
        try:
            part = conn.recv(1 << 16)
            assert part, f"it ended after {count} of {len(data)} bytes"
            count += len(part)
        except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
            pass
    conn.settimeout(PATIENCE)
    return count


def session_of(admin, name, status="done"):
    def found():
        rows = [row for row in admin.get("/sessions?limit=100").json["data"]
                if row["connection"] == name and row["status"] == status]
        return rows[0] if rows else None
    return wait_for(found, what=f"the session of {name}")


@pytest.mark.parametrize("place", ["here", "elsewhere"])
def test_bytes_come_through_and_are_counted(gateway, admin, echo, request, place):
    agent_id = request.getfixturevalue("elsewhere") if place == "elsewhere" else None
    made = credential(admin, connection(admin, echo.port, agent_id))
    assert made["connection_credentials"]["connection_string"].startswith("tcp://")
    conn = enter(gateway, made)
    assert ask(conn, b"\x00\xff hello") == b"\x00\xff hello"
    assert echoed(conn, os.urandom(1 << 16) * (MUCH >> 16)) == MUCH
    conn.close()
    row = session_of(admin, made["connection_name"])
    detail = admin.get(f"/sessions/{row['id']}").json
    assert detail["bytes_in"] == detail["bytes_out"] == MUCH + 8, detail
    assert detail["connection_subtype"] == "tcp"


def test_target_with_tls(gateway, admin, tmp_path):
    files = make_certificate(tmp_path, "target")
    server = Echo(files)
    pem = open(files[0], encoding="utf-8").read()
    good = {"envvar:SSLMODE": b64("verify-ca"), "filesystem:SSLROOTCERT": b64(pem)}
    conn = enter(gateway, credential(admin, connection(admin, server.port, secret=good)))
    assert ask(conn, b"inside") == b"inside"
    conn.close()
    made = credential(admin, connection(admin, server.port,
                                        secret={"envvar:SSLMODE": b64("verify-full")}))
    conn = dial(gateway, made["connection_name"])
    conn.sendall(f"GATEHOUSE {made['connection_credentials']['password']}\n".encode())
    assert line_of(conn) == b"GATEHOUSE ERROR the target cannot be reached\n"


def test_what_is_wrong_is_said_in_one_line(gateway, admin, echo):
    made = credential(admin, connection(admin, echo.port))
    name, secret = made["connection_name"], made["connection_credentials"]["password"]
    wrong = b"GATEHOUSE ERROR the connection or the secret is wrong\n"
    for server_name, line, says in [
            (name, b"GATEHOUSE no\n", wrong), ("nobody", f"GATEHOUSE {secret}\n".encode(), wrong),
            (name, f"GATEHOUSE {secret} nobody\n".encode(), wrong),
            (None, f"GATEHOUSE {secret}\n".encode(),
             b"GATEHOUSE ERROR no connection is named, neither by TLS (SNI) nor in the line\n"),
            (name, b"GET / HTTP/1.1\r\n",
             b"GATEHOUSE ERROR the first line must be 'GATEHOUSE' and the secret\n"),
            (name, b"x" * 2000, b"GATEHOUSE ERROR the first line is too long\n")]:
        conn = dial(gateway, server_name)
        conn.sendall(line)
        assert line_of(conn).replace(b"\\'", b"'") == says, line[:60]
        assert conn.recv(1) == b""
    conn = dial(gateway)  # the name in the line is as good
    conn.sendall(f"GATEHOUSE {secret} {name}\r\nand more".encode())
    assert line_of(conn) == b"GATEHOUSE OK\n" and conn.recv(8) == b"and more"
    with socket.create_connection(("127.0.0.1", tcp_port(gateway))) as plain:
        plain.sendall(b"GATEHOUSE x\n")
        plain.settimeout(PATIENCE)
        assert not plain.recv(100).startswith(b"GATEHOUSE")


def test_a_protocol_takes_only_its_own_connections(gateway, admin, echo, postgres):
    made = credential(admin, Target(postgres).connection(admin))
    conn = dial(gateway, made["connection_name"])
    conn.sendall(f"GATEHOUSE {made['connection_credentials']['password']}\n".encode())
    assert b"is of subtype 'postgres'" in line_of(conn).replace(b"\\'", b"'")
    made = credential(admin, connection(admin, echo.port))
    given = made["connection_credentials"]
    port = gateway.text().partition("postgres_port=")[2].split(" ")[0]
    done = subprocess.run(["psql", "-X", "-h", "127.0.0.1", "-p", port, "-U", given["username"],
                           "postgres", "-c", "SELECT 1"], capture_output=True, text=True,
                          env={**os.environ, "PGPASSWORD": given["password"]}, check=False)
    assert done.returncode != 0 and "is of subtype 'tcp'" in done.stderr


def test_kill_revoke_and_stop_end_it(gateway, admin, echo):
    made = credential(admin, connection(admin, echo.port))
    conn = enter(gateway, made)
    row = session_of(admin, made["connection_name"], "open")
    assert admin.post(f"/sessions/{row['id']}/kill").status in (200, 202, 204)
    start = time.monotonic()
    assert conn.recv(1) == b""
    assert time.monotonic() - start < 5
    made = credential(admin, connection(admin, echo.port))
    conn = enter(gateway, made)
    revoke(admin, made)
    assert conn.recv(1) == b""


def test_bytes_are_recorded_where_the_connection_asks(gateway, admin, echo):
    silent = credential(admin, connection(admin, echo.port))
    asked = credential(admin, connection(admin, echo.port, recording_row_limit=10))
    for made, recorded in [(silent, 0), (asked, 10)]:
        conn = enter(gateway, made)
        ask(conn, b"0123456789abcdef")
        conn.close()
        row = session_of(admin, made["connection_name"])
        done = subprocess.run([BINARY, "recording", "export", row["id"], "--format", "jsonl",
                               "--data-dir", gateway.data], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0, done.stderr
        assert "abcdef" not in done.stdout
        assert (done.stdout.count('"bytes"') > 0) == (recorded > 0), done.stdout


def test_rules_that_it_cannot_hold_are_refused(gateway, admin, echo):
    name = connection(admin, echo.port)
    controls = admin.get(f"/connections/{name}/controls").json
    assert controls["guardrails"] == {"structural": "impossible", "text": "impossible",
                                      "output": "impossible", "read_only": "impossible"}
    assert controls["masking"] == "impossible" and controls["recording"] == "enforced"
    ids = [admin.get(f"/connections/{name}").json["id"]]
    rule = {"name": unique("rail"), "connection_ids": ids,
            "input": {"rules": [{"type": "deny_words_list", "words": ["drop"]}]}}
    answer = admin.post("/guardrails", rule)
    assert answer.status == 400 and name in answer.message, answer
    mask = {"name": unique("mask"), "connection_ids": ids,
            "supported_entity_types": [{"name": "PII", "entity_types": ["EMAIL_ADDRESS"]}]}
    answer = admin.post("/datamasking-rules", mask)
    assert answer.status == 400 and name in answer.message, answer


def test_the_command_is_a_client(gateway, admin, echo, files):
    made = credential(admin, connection(admin, echo.port, name=unique("with_")))
    given = made["connection_credentials"]

    def run(*more, secret=given["password"], text=b"there and back\n"):
        return subprocess.run(
            [BINARY, "tcp", f"127.0.0.1:{tcp_port(gateway)}", made["connection_name"], *more],
            input=text, capture_output=True, check=False, timeout=4 * PATIENCE,
            env={**os.environ, "GATEHOUSE_SECRET": secret})
    done = run("--ca-file", files[0], text=os.urandom(1 << 20))
    assert done.returncode == 0 and len(done.stdout) == 1 << 20, done.stderr
    for done, says in [(run("--ca-file", files[0], secret="wrong"), b"secret is wrong"),
                       (run(), b"certificate"), (run("--nothing"), b"HOST:PORT CONNECTION")]:
        assert done.returncode != 0 and says in done.stderr, done.stderr


def test_it_needs_a_certificate(tmp_path):
    gateway = Gateway(tmp_path, "--tcp-listen", "127.0.0.1:0", wait=False)
    assert gateway.process.wait(PATIENCE) != 0
    assert "--tcp-listen" in gateway.text() and "--tls-cert" in gateway.text()
