# SPDX-License-Identifier: MIT
"""Agents elsewhere keep a link to the gateway, and who is connected is known at once."""
import os
import re
import signal
import socket
import subprocess
import threading
import time
from urllib.parse import urlsplit

import h2.config
import h2.connection
import h2.errors
import h2.events
import pytest

from agent import (AT_ONCE, DEAD_SECONDS, Agent, make_agent, status_of, wait_connected,
                   wait_disconnected)
from api import Api, connection, register, resource, setup_code
from conftest import BINARY, lasting_port, wait_for

SECRET = re.compile(r"gha_[\w-]{43}")


@pytest.fixture
def run(tmp_path):
    """run("--token", …) → an Agent that ends with the test."""
    started = []

    def run_one(*arguments, **options):
        agent = Agent(str(tmp_path), *arguments, **options)
        started.append(agent)
        return agent

    yield run_one
    for agent in started:
        if agent.is_alive():
            agent.signal(signal.SIGCONT)
            assert agent.stop() == 0, agent.text()
        assert not SECRET.search(agent.text())


@pytest.mark.quiet
def test_an_agent_is_connected_while_it_has_a_link(admin, run):
    made = make_agent(admin)
    assert status_of(admin, made) == "DISCONNECTED"
    agent = run("--token", made["token"])
    wait_connected(admin, made, agent, 1 + AT_ONCE)
    read = admin.get(f"/agents/{made['name']}").json
    assert read["hostname"] == socket.gethostname() and read["last_seen_at"]
    assert read["metadata"]["kernel-version"] == os.uname().release
    assert read["platform"] == f"linux/{os.uname().machine}" and read["version"]
    assert made["name"] in [one["name"] for one in admin.get("/agents?status=CONNECTED").json]
    wait_for(lambda: "linked to the gateway" in agent.text())
    began = time.monotonic()
    assert agent.stop() == 0
    wait_disconnected(admin, made, AT_ONCE)
    assert time.monotonic() - began < 1 + AT_ONCE
    assert admin.get(f"/agents/{made['name']}").json["hostname"] == socket.gethostname()


def test_an_agent_has_a_link_on_every_worker(start, run, tmp_path):
    gateway = start("--workers", "3", folder=tmp_path / "g")
    admin = register(gateway)
    made = make_agent(admin)
    agents = [run("--token", made["token"]) for _ in range(2)]
    wait_for(lambda: gateway.text().count("an agent has a link") == 6)
    wait_connected(admin, made, agents[0])
    agents[0].kill()
    wait_for(lambda: gateway.text().count("the link of an agent is over") == 3)
    assert status_of(admin, made) == "CONNECTED"
    assert admin.delete(f"/agents/{made['name']}").status == 204
    wait_for(lambda: gateway.text().count("the link of an agent is over") == 6,
             AT_ONCE)
    wait_for(lambda: "does not know this token" in agents[1].text(), 3 + AT_ONCE)
    other = make_agent(admin)
    agent = run("--token", other["token"])
    wait_for(lambda: gateway.text().count("an agent has a link") == 9)
    assert agent.stop() == 0
    wait_disconnected(admin, other, AT_ONCE)
    again = run("--token", other["token"])
    wait_for(lambda: gateway.text().count("an agent has a link") == 12)
    began = time.monotonic()
    assert gateway.stop() == 0 and time.monotonic() - began < 5
    assert again.is_alive()


@pytest.mark.quiet
def test_links_that_come_while_the_gateway_stops_are_let_go(start, run, tmp_path):
    """Some are on their way from one worker to another then."""
    for pause in (0, 0.02, 0.05, 0.1, 0.15):
        gateway = start("--workers", "4", folder=tmp_path / f"g{pause}")
        made = make_agent(register(gateway))
        agents = [run("--token", made["token"]) for _ in range(6)]
        time.sleep(pause)
        assert gateway.stop() == 0, gateway.text()
        for agent in agents:
            agent.kill()


def test_connections_follow_their_agent(admin, run):
    made = make_agent(admin)
    home = admin.post("/resources", resource(agent_id=made["id"])).json
    bound = admin.post("/connections", connection(resource_name=home["name"],
                                                  agent_id=made["id"]))
    assert bound.status == 201, bound
    path = f"/connections/{bound.json['name']}"
    assert admin.get(path).json["status"] == "offline"
    agent = run("--token", made["token"])
    wait_connected(admin, made, agent)
    assert admin.get(path).json["status"] == "online"
    agent.kill()
    wait_for(lambda: admin.get(path).json["status"] == "offline", 3)


def test_a_killed_agent_is_offline_at_once(admin, run):
    made = make_agent(admin)
    agent = run("--token", made["token"])
    wait_connected(admin, made, agent)
    agent.kill()
    wait_disconnected(admin, made, AT_ONCE)
    again = run("--token", made["token"])
    wait_connected(admin, made, again, 1 + AT_ONCE)


def test_a_frozen_agent_is_noticed(admin, run):
    made = make_agent(admin)
    agent = run("--token", made["token"])
    wait_connected(admin, made, agent)
    agent.signal(signal.SIGSTOP)
    began = time.monotonic()
    time.sleep(5)
    assert status_of(admin, made) == "CONNECTED"
    wait_disconnected(admin, made, DEAD_SECONDS)
    assert time.monotonic() - began < DEAD_SECONDS + 1
    agent.signal(signal.SIGCONT)
    wait_connected(admin, made, agent, 10)


def test_two_agents_of_one_token_are_one(admin, run):
    made = make_agent(admin)
    first = run("--token", made["token"])
    wait_connected(admin, made, first)
    second = run("--token", made["token"])
    wait_for(lambda: "linked to the gateway" in second.text())
    first.kill()
    time.sleep(1)
    assert status_of(admin, made) == "CONNECTED"
    second.kill()
    wait_disconnected(admin, made, AT_ONCE)


def test_a_wrong_token_is_told(admin, run):
    made = make_agent(admin)
    wrong = made["token"].replace(urlsplit(made["token"]).password, "gha_" + "x" * 43)
    agent = run("--token", wrong)
    wait_for(lambda: "does not know this token" in agent.text())
    assert agent.is_alive() and status_of(admin, made) == "DISCONNECTED"
    other = make_agent(admin)
    mixed = made["token"].replace(made["name"], other["name"])
    agent = run("--token", mixed)
    wait_for(lambda: "does not know this token" in agent.text())


def test_a_deleted_agent_loses_its_link_at_once(admin, run):
    made = make_agent(admin)
    agent = run("--token", made["token"])
    wait_connected(admin, made, agent)
    wait_for(lambda: "linked to the gateway" in agent.text())
    assert admin.delete(f"/agents/{made['name']}").status == 204
    wait_for(lambda: "the link to the gateway is over" in agent.text(), 2)
    wait_for(lambda: "does not know this token" in agent.text(), 5)


def test_the_secret_and_the_url_may_be_given_apart(admin, run):
    made = make_agent(admin)
    url = urlsplit(made["token"])
    agent = run(env={"GATEHOUSE_TOKEN": url.password,
                     "GATEHOUSE_GATEWAY": f"http://localhost:{url.port}/"})
    wait_connected(admin, made, agent)


def agent_exits(*arguments, env=None):
    plain = {k: v for k, v in os.environ.items() if not k.startswith("GATEHOUSE_")}
    return subprocess.run([BINARY, "agent", *arguments], env={**plain, **(env or {})},
                          capture_output=True, text=True, timeout=20)


@pytest.mark.parametrize("arguments,named", [
    ([], "--token"), (["--token", "gha_x"], "--gateway"),
    (["--token", "http://a:gha_x@gateway.example.com:8009?mode=standard"], "--allow-plain"),
    (["--token", "gha_x", "--gateway", "http://10.0.0.1"], "--allow-plain"),
    (["--token", "http://a@127.0.0.1"], "--token"),
    (["--token", "gha_x", "--gateway", "ftp://x"], "--gateway"),
    (["--token", "gha_x", "--gateway", "https://x", "--ca-file", "/nothing"], "--ca-file"),
    (["--token", "gha_x", "--listen", "127.0.0.1:1"], "--listen")])
def test_settings_are_checked(arguments, named):
    ended = agent_exits(*arguments)
    assert ended.returncode != 0 and named in ended.stderr and "gha_x" not in ended.stderr


def test_plain_may_be_allowed(run):
    agent = run("--token", "gha_x", "--gateway", "http://198.51.100.1:1", "--allow-plain", "on")
    wait_for(lambda: "the agent runs" in agent.text())
    assert agent.is_alive()


# TLS ---------------------------------------------------------------------------------------------

@pytest.fixture
def certificate(tmp_path):
    """An issuer's certificate, and one of this machine with its key."""
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, cwd=tmp_path, capture_output=True)
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem",
            "-subj", "/CN=Test issuer", "-days", "2")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "request.pem",
            "-subj", "/CN=gateway")
    (tmp_path / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    openssl("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-out", "cert.pem", "-days", "2", "-extfile", "names")
    return tmp_path


def secure(gateway):
    import ssl
    import http.client
    import json
    context = ssl._create_unverified_context()

    def call(method, path, value=None, token=None):
        conn = http.client.HTTPSConnection("127.0.0.1", gateway.port, context=context, timeout=15)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        conn.request(method, "/api" + path, None if value is None else json.dumps(value), headers)
        answer = conn.getresponse()
        body = answer.read()
        conn.close()
        return answer, json.loads(body or b"null")
    return call


def test_over_tls(start, run, certificate):
    gateway = start("--tls-cert", certificate / "cert.pem", "--tls-key", certificate / "key.pem")
    call = secure(gateway)
    answer, _ = call("POST", "/localauth/register",
                     {"email": "admin@example.com", "password": "correct horse 9 battery",
                      "setup_code": setup_code(gateway)})
    token = answer.getheader("Token")
    _, made = call("POST", "/agents", {"name": "far"}, token)
    assert made["token"].startswith("https://")
    stranger = run("--token", made["token"])
    wait_for(lambda: "TLS with '127.0.0.1'" in stranger.text())
    agent = run("--token", made["token"], "--ca-file", certificate / "ca.pem")
    wait_for(lambda: call("GET", "/agents/far", None, token)[1]["status"] == "CONNECTED", 5,
             agent.text())
    named = run("--token", made["token"], "--ca-file", certificate / "ca.pem",
                "--gateway", f"https://localhost:{gateway.port}")
    wait_for(lambda: "linked to the gateway" in named.text())
    agent.kill()
    named.kill()
    wait_for(lambda: call("GET", "/agents/far", None, token)[1]["status"] == "DISCONNECTED", 2)


# The gateway goes -----------------------------------------------------------------------------------

def test_agents_come_back_when_the_gateway_does(start, run, tmp_path):
    port = lasting_port()
    flags = ("--listen", f"127.0.0.1:{port}")
    gateway = start(*flags, folder=tmp_path / "g")
    admin = register(gateway)
    made = make_agent(admin)
    agent = run("--token", made["token"])
    wait_connected(admin, made, agent)
    began = time.monotonic()
    assert gateway.stop() == 0
    assert time.monotonic() - began < 5  # it does not wait for links that nobody uses
    wait_for(lambda: "the link to the gateway is over" in agent.text())
    gateway = start(*flags, folder=tmp_path / "g")
    admin = Api(gateway, admin.token)
    wait_connected(admin, made, agent, 15)
    wait_for(lambda: agent.text().count("linked to the gateway") == 2)  # the first of its links
    gateway.kill()
    wait_for(lambda: agent.text().count("the link to the gateway is over") == 2)
    gateway = start(*flags, folder=tmp_path / "g")
    admin = Api(gateway, admin.token)
    wait_connected(admin, made, agent, 15)


def test_who_was_connected_to_a_dead_gateway_is_not_for_long(start, run, tmp_path):
    gateway = start(folder=tmp_path / "g")
    admin = register(gateway)
    made = make_agent(admin)
    agent = run("--token", made["token"])
    wait_connected(admin, made, agent)
    agent.kill()
    gateway.kill()
    gateway = start(folder=tmp_path / "g")
    admin = Api(gateway, admin.token)
    wait_disconnected(admin, made, DEAD_SECONDS + 1)


# What is no agent ---------------------------------------------------------------------------------

def ask(gateway, *headers, rest=b""):
    conn = gateway.connect()
    lines = ["GET /api/agent-link HTTP/1.1", f"Host: 127.0.0.1:{gateway.port}", *headers]
    conn.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + rest)
    return conn


def bearer(made):
    return f"Authorization: Bearer {urlsplit(made['token']).password}"


UPGRADE = ("Connection: Upgrade", "Upgrade: gatehouse-link/1")


def test_others_get_no_link(admin):
    made = make_agent(admin)
    key = admin.key("admin").token
    for headers, status in (((), 401), (UPGRADE, 401), ((*UPGRADE, "Authorization: Bearer x"), 401),
                            ((*UPGRADE, f"Authorization: Bearer {key}"), 401),
                            ((*UPGRADE, bearer(made), "Gatehouse-Agent: another"), 401),
                            ((bearer(made),), 400),
                            (("Connection: Upgrade", "Upgrade: websocket", bearer(made)), 400)):
        with ask(admin.gateway, *headers) as conn:
            assert conn.recv(4096).startswith(f"HTTP/1.1 {status} ".encode()), headers
    with ask(admin.gateway, *UPGRADE, bearer(made)) as conn:
        assert conn.recv(4096).startswith(b"HTTP/1.1 101 ")


def test_who_says_no_hello_is_no_agent(admin):
    made = make_agent(admin)
    with ask(admin.gateway, *UPGRADE, bearer(made)) as conn:
        conn.settimeout(DEAD_SECONDS)
        received = b""
        while True:
            part = conn.recv(65536)
            if not part:
                break
            received += part
        assert b"PRI * HTTP/2.0" in received and b"/hello" not in received[:100]
    assert status_of(admin, made) == "DISCONNECTED"


def test_one_that_refuses_the_hello_and_goes_ends_its_link_alone(admin):
    """Both in one piece: the link is over before anybody has heard of the hello."""
    made = make_agent(admin)
    for _ in range(5):
        with ask(admin.gateway, *UPGRADE, bearer(made)) as conn:
            conn.settimeout(5)
            received = b""
            while b"\r\n\r\n" not in received:
                received += conn.recv(4096)
            side = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
            side.initiate_connection()
            conn.sendall(side.data_to_send())
            rest, hello = received.partition(b"\r\n\r\n")[2], None
            while hello is None:
                events = side.receive_data(rest) if rest else []
                hello = next((event.stream_id for event in events
                              if isinstance(event, h2.events.RequestReceived)), None)
                rest = conn.recv(65536) if hello is None else b""
            side.reset_stream(hello, h2.errors.ErrorCodes.REFUSED_STREAM)
            side.close_connection()
            conn.sendall(side.data_to_send())
            try:
                while conn.recv(65536):
                    pass
            except ConnectionResetError:
                pass
    assert admin.get("/healthz").status == 200
    ends = [line for line in admin.gateway.text().splitlines()
            if made["id"] in line and "the link of an agent is over" in line]
    assert len(ends) == 5, ends
    assert status_of(admin, made) == "DISCONNECTED"


@pytest.mark.parametrize("noise", [b"\0" * 100, b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 70000],
                         ids=["zeros", "a request", "ones"])
def test_noise_ends_the_link_alone(admin, noise):
    made = make_agent(admin)
    with ask(admin.gateway, *UPGRADE, bearer(made), rest=noise) as conn:
        conn.settimeout(5)
        try:
            while conn.recv(65536):
                pass
        except ConnectionResetError:
            pass
    assert admin.get("/healthz").status == 200
    assert status_of(admin, made) == "DISCONNECTED"


def test_an_agent_notices_a_frozen_gateway(start, run, tmp_path):
    gateway = start(folder=tmp_path / "g")
    admin = register(gateway)
    made = make_agent(admin)
    agent = run("--token", made["token"])
    wait_connected(admin, made, agent)
    gateway.signal(signal.SIGSTOP)
    wait_for(lambda: "says nothing any more" in agent.text(), DEAD_SECONDS + 1)
    gateway.signal(signal.SIGCONT)
    wait_for(lambda: agent.text().count("linked to the gateway") == 2, 40)
    wait_connected(admin, made, agent)


# A network that is cut: bytes vanish, and nobody hears of it ------------------------------------------

class Network:
    """Carries one connection after the other to a port, until it is cut."""

    def __init__(self, port):
        self.port, self.is_cut = port, False
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.conns = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listening.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.port))
            self.conns += [near, far]
            for one, other in (near, far), (far, near):
                threading.Thread(target=self.carry, args=(one, other), daemon=True).start()

    def carry(self, one, other):
        try:
            while not self.is_cut:
                part = one.recv(65536)
                if self.is_cut:
                    return
                other.sendall(part) if part else other.shutdown(socket.SHUT_WR)
                if not part:
                    return
        except OSError:
            pass

    def close(self):
        for conn in [self.listening, *self.conns]:
            conn.close()


def test_a_cut_network_is_noticed_at_both_ends(admin, run):
    made = make_agent(admin)
    network = Network(admin.gateway.port)
    url = f"http://127.0.0.1:{network.listening.getsockname()[1]}"
    agent = run("--token", made["token"], "--gateway", url)
    wait_connected(admin, made, agent)
    time.sleep(1)
    assert agent.text().count("linked to the gateway") == 1  # it is known by its id
    network.is_cut = True
    began = time.monotonic()
    wait_disconnected(admin, made, DEAD_SECONDS + 1)
    assert time.monotonic() - began > 5
    wait_for(lambda: "says nothing any more" in agent.text(), DEAD_SECONDS)
    network.close()
