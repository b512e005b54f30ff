# SPDX-License-Identifier: MIT
"""Forwards of ports through a connection: what it allows, what it does not, what is on record, and
the end."""
import os
import socket
import subprocess
import threading
import time

import pytest

from agent import Agent, make_agent, wait_connected
from api import b64, unique
from conftest import PATIENCE, Gateway, wait_for
from native import credential, revoke
from sshd import Client, Sshd, connection, free_port


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("ssh-forward"), "--shutdown-seconds", "1")
    yield gateway
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module")
def admin(gateway):
    return gateway.admin


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Sshd(tmp_path_factory.mktemp("sshd"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def elsewhere(admin, tmp_path_factory):
    made = make_agent(admin)
    agent = Agent(tmp_path_factory.mktemp("ssh-agent"), "--token", made["token"])
    wait_connected(admin, made, agent)
    yield made["id"]
    assert agent.stop() == 0, agent.text()


class Echo:
    """Says what it hears; to 'flood' it says zeros until nobody listens."""

    def __init__(self):
        self.server = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                client = self.server.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    @staticmethod
    def serve(client):
        try:
            while data := client.recv(65536):
                if data == b"flood":
                    while True:
                        client.sendall(b"\0" * 65536)
                client.sendall(data)
            client.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        client.close()


@pytest.fixture(scope="module")
def echo():
    echo = Echo()
    yield echo
    echo.server.close()


def client_for(gateway, admin, server, folder, forward, agent_id=None):
    made = credential(admin, connection(admin, server.secret(FORWARD=forward), agent_id))
    client = Client(gateway, made, folder)
    client.made = made
    return client


def through(client, host, port, data=b"there and back"):
    return client.ssh(options=("-W", f"{host}:{port}"), input=data)


class Local:
    """ssh -L, for as long as it lasts."""

    def __init__(self, client, *flags):
        self.port = free_port()
        flags = [flag.replace("PORT", str(self.port)) for flag in flags]
        self.process = subprocess.Popen(client.command(options=("-N", *flags)), env=client.env,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        def listens():
            assert self.process.poll() is None, self.process.communicate()
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port)) == 0
        wait_for(listens, what="ssh -L")

    def connect(self):
        made = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        made.settimeout(PATIENCE)
        return made

    def stop(self):
        self.process.kill()
        self.process.communicate()


def session_of(admin, name):
    def found():
        rows = [row for row in admin.get("/sessions?limit=100").json["data"]
                if row["connection"] == name and row["status"] == "done"]
        return rows[0] if rows else None
    return wait_for(found, what=f"the session of {name}")


@pytest.mark.parametrize("place", ["here", "elsewhere"])
def test_what_is_allowed_passes_and_is_on_record(gateway, admin, server, echo, tmp_path, request, place):
    agent_id = request.getfixturevalue("elsewhere") if place == "elsewhere" else None
    client = client_for(gateway, admin, server, tmp_path, f"127.0.0.1:{echo.port}", agent_id)
    data = os.urandom(300000)
    done = through(client, "127.0.0.1", echo.port, data)
    assert done.stdout == data and done.returncode == 0, done.stderr
    row = session_of(admin, client.name)
    shown = admin.get(f"/sessions/{row['id']}?expand=event_stream&event_stream=utf8").body.decode()
    assert f"tunnel to 127.0.0.1:{echo.port}" in shown, shown
    assert ": 300000 bytes sent, 300000 received" in shown, shown


def test_what_is_not_allowed_does_not(gateway, admin, server, echo, tmp_path):
    port = str(echo.port)
    for forward, host in [(None, "127.0.0.1"), ("", "127.0.0.1"), (f"localhost:{port}", "127.0.0.1"),
                          (f"127.0.0.1:{echo.port + 1}", "127.0.0.1"), (f"127.0.0.1:{port}", "127.1"),
                          (f"127.0.0.1:{port}", "localhost"), (f"127.0.0.1:{port}", "127.0.0.1."),
                          (f"127.0.0.1:{port}", "0"), ("127.0.0.*:22", "127.0.0.1")]:
        client = client_for(gateway, admin, server, tmp_path / unique("c"), forward)
        done = through(client, host, port)
        assert done.returncode != 0 and done.stdout == b"", (forward, done)
        if forward:
            row = session_of(admin, client.name)
            shown = admin.get(f"/sessions/{row['id']}?expand=event_stream&event_stream=utf8").body.decode()
            assert "allows no forward" in shown, shown


def test_patterns(gateway, admin, server, echo, tmp_path):
    for forward in ["*:*", f"10.0.0.0:1, 127.*:{echo.port}", f"LOCALHOST:1\n127.0.0.1:{echo.port - 1}-{echo.port + 1}"]:
        client = client_for(gateway, admin, server, tmp_path / unique("c"), forward)
        assert through(client, "127.0.0.1", echo.port).stdout == b"there and back"
    for forward in ["127.0.0.1", "127.0.0.1:0", "127.0.0.1:70000", "127.0.0.1:2-1", "::1:22", ":22", "a/b:1", "[::1:22"]:
        answer = admin.post("/connections", {
            "name": unique("host"), "type": "application", "subtype": "ssh", "secret": server.secret(FORWARD=forward),
            "agent_id": admin.get("/userinfo").json["org_id"], "access_mode_connect": "enabled",
            "access_mode_exec": "enabled", "access_mode_runbooks": "enabled", "access_schema": "disabled"})
        assert answer.status == 400 and "FORWARD" in answer.message, (forward, answer)
    kept = connection(admin, server.secret(FORWARD="*:*"))
    answer = admin.patch(f"/connections/{kept}", {"secret": {"envvar:FORWARD": b64("nowhere")}})
    assert answer.status == 400 and "FORWARD" in answer.message, answer


def test_nobody_listens_there(gateway, admin, server, echo, tmp_path):
    client = client_for(gateway, admin, server, tmp_path, "*:*")
    done = through(client, "127.0.0.1", free_port())
    assert done.returncode != 0 and done.stdout == b"", done
    assert through(client, "127.0.0.1", echo.port).stdout == b"there and back"


def test_a_stalled_forward_delays_no_other_and_kill_ends_all(gateway, admin, server, echo, tmp_path):
    client = client_for(gateway, admin, server, tmp_path, f"127.0.0.1:{echo.port}")
    local = Local(client, "-L", f"PORT:127.0.0.1:{echo.port}")
    try:
        stalled = local.connect()
        stalled.sendall(b"flood")
        assert stalled.recv(100).startswith(b"\0")
        time.sleep(0.5)  # until nothing of it moves any more
        others = [local.connect() for _ in range(20)]
        for other in others:
            other.sendall(b"still here")
        for other in others:
            assert other.recv(100) == b"still here"
            other.shutdown(socket.SHUT_WR)
            assert other.recv(100) == b""  # the other half is ended likewise
            other.close()
        staying = local.connect()
        staying.sendall(b"on")
        assert staying.recv(100) == b"on"
        [row] = [row for row in admin.get("/sessions?limit=100").json["data"] if row["connection"] == client.name]
        assert admin.post(f"/sessions/{row['id']}/kill").status in (200, 204)
        assert local.process.wait(PATIENCE) == 255
        try:
            assert staying.recv(100) == b""
        except ConnectionResetError:
            pass
    finally:
        local.stop()


def test_channels_have_an_end(gateway, admin, server, echo, tmp_path):
    client = client_for(gateway, admin, server, tmp_path, f"127.0.0.1:{echo.port}")
    local = Local(client, "-L", f"PORT:127.0.0.1:{echo.port}")
    try:
        many = [local.connect() for _ in range(100)]
        said = 0
        for one in many:
            try:
                one.sendall(b"x")
                said += len(one.recv(1))
            except OSError:
                pass
        assert 32 <= said <= 64, said
        for one in many:
            one.close()

        def opens():
            try:
                with local.connect() as one:
                    one.sendall(b"again")
                    return one.recv(10) == b"again"
            except OSError:
                return False  # all are taken still
        wait_for(opens, what="a channel that is free")
    finally:
        local.stop()


def test_a_dynamic_forward_and_a_jump(gateway, admin, server, echo, tmp_path):
    client = client_for(gateway, admin, server, tmp_path, f"127.0.0.1:{server.port} 127.0.0.1:{echo.port}")
    local = Local(client, "-D", "PORT")
    try:
        with local.connect() as made:  # SOCKS 5, without a password, to an address
            made.sendall(b"\x05\x01\x00")
            assert made.recv(2) == b"\x05\x00"
            made.sendall(b"\x05\x01\x00\x01\x7f\x00\x00\x01" + echo.port.to_bytes(2, "big"))
            assert made.recv(10)[:2] == b"\x05\x00"
            made.sendall(b"by socks")
            assert made.recv(100) == b"by socks"
    finally:
        local.stop()
    proxy = " ".join(client.command(options=("-W", "%h:%p")))
    done = subprocess.run(["ssh", "-F", "/dev/null", "-o", f"ProxyCommand={proxy}", "-p", str(server.port), "-i",
                           server.user_key, "-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=no", "-o",
                           f"UserKnownHostsFile={tmp_path}/k", "-o", "LogLevel=ERROR", f"{server.user}@127.0.0.1",
                           "echo behind; exit 4"], env=client.env, capture_output=True, timeout=2 * PATIENCE,
                          check=False, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (4, b"behind\n"), done


class Back:
    """ssh -R: what connects to the port at the server comes to 'to' of the client's machine."""

    def __init__(self, client, port, to):
        self.port = port
        self.process = subprocess.Popen(
            client.command("echo listening; cat", options=("-o", "ExitOnForwardFailure=yes", "-R", f"{port}:{to}")),
            env=client.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.line = self.process.stdout.readline()

    def connect(self):
        made = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        made.settimeout(PATIENCE)
        return made

    def stop(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)


def back_client(gateway, admin, server, folder, allowed, **more):
    agent_id = more.pop("agent_id", None)
    name = connection(admin, server.secret(FORWARD_BACK=allowed, **more), agent_id)
    return Client(gateway, credential(admin, name), folder)


@pytest.mark.parametrize("place", ["here", "elsewhere"])
def test_forwards_back_where_they_are_allowed(gateway, admin, server, echo, tmp_path, request, place):
    agent_id = request.getfixturevalue("elsewhere") if place == "elsewhere" else None
    port = free_port()
    client = back_client(gateway, admin, server, tmp_path, f"localhost:{port}-{port + 1}", agent_id=agent_id)
    back = Back(client, port, f"127.0.0.1:{echo.port}")
    assert back.line == b"listening\n", back.process.communicate()
    data = os.urandom(300000)
    stalled = back.connect()
    stalled.sendall(b"flood")
    assert stalled.recv(100).startswith(b"\0")
    others = [back.connect() for _ in range(5)]
    for other in others:
        with other:
            threading.Thread(target=other.sendall, args=(data,), daemon=True).start()
            got = b""
            while len(got) < len(data):
                got += other.recv(65536)
            assert got == data
    stalled.close()
    back.stop()
    with socket.socket() as probe:
        wait_for(lambda: probe.connect_ex(("127.0.0.1", port)) != 0, what="the end of the listener")
    row = session_of(admin, client.name)
    shown = admin.get(f"/sessions/{row['id']}?expand=event_stream&event_stream=utf8").body.decode()
    assert f"forward back from localhost:{port} at the server" in shown, shown
    assert shown.count(f"tunnel to the client of localhost:{port} from") == 6, shown
    assert shown.count(": 300000 bytes sent, 300000 received") == 5, shown


@pytest.fixture(scope="module")
def unwilling(tmp_path_factory):
    server = Sshd(tmp_path_factory.mktemp("sshd-unwilling"), "AllowTcpForwarding local")
    yield server
    server.stop()


def test_forwards_back_that_are_not_allowed(gateway, admin, server, unwilling, echo, tmp_path):
    port = free_port()
    for allowed, asked, more in [(None, port, {"FORWARD": "*:*"}), (f"localhost:{port + 1}", port, {}),
                                 (f"127.0.0.1:{port}", port, {}), (f"localhost:{port}", f"0.0.0.0:{port}", {}),
                                 ("*:*", 0, {}), ("*:*", f"*:{port}", {}),
                                 ("*:*", port, {"of": unwilling})]:
        client = back_client(gateway, admin, more.pop("of", server), tmp_path / unique("c"), allowed, **more)
        done = client.ssh("true", options=("-o", "ExitOnForwardFailure=yes", "-R", f"{asked}:127.0.0.1:{echo.port}"))
        assert done.returncode == 255, (allowed, asked, done)
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", port)) != 0
        row = session_of(admin, client.name)
        shown = admin.get(f"/sessions/{row['id']}?expand=event_stream&event_stream=utf8").body.decode()
        assert "forwards back from" in shown, shown
        done = client.ssh("echo goes on", options=("-R", f"{asked}:127.0.0.1:{echo.port}"))
        assert done.stdout == b"goes on\n", done
    answer = admin.patch(f"/connections/{client.name}", {"secret": {"envvar:FORWARD_BACK": b64("8080")}})
    assert answer.status == 400 and "FORWARD_BACK" in answer.message, answer


def test_many_forwards_back_at_once(gateway, admin, server, echo, tmp_path):
    client = back_client(gateway, admin, server, tmp_path, "localhost:*")
    ports = [free_port() for _ in range(20)]
    flags = [flag for port in ports for flag in ("-R", f"{port}:127.0.0.1:{echo.port}")]
    process = client.start("echo on; cat", options=tuple(flags))
    assert process.stdout.readline() == b"on\n"
    said = 0
    for port in ports:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as one:
                one.sendall(b"x")
                said += len(one.recv(1))
        except OSError:
            pass
    assert said == 16, said
    process.communicate(timeout=PATIENCE)


def test_the_end_of_a_credential_ends_forwards(gateway, admin, server, echo, tmp_path):
    client = client_for(gateway, admin, server, tmp_path, f"127.0.0.1:{echo.port}")
    local = Local(client, "-L", f"PORT:127.0.0.1:{echo.port}")
    try:
        with local.connect() as made:
            made.sendall(b"on")
            assert made.recv(100) == b"on"
            revoke(admin, client.made)
            assert local.process.wait(PATIENCE) == 255
    finally:
        local.stop()
