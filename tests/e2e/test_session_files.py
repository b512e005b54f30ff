# SPDX-License-Identifier: MIT
"""Secrets that become files: there while a session is, in the gateway's own agent and in one that is
a process elsewhere, and gone after it, whatever its end was."""
import http.server
import json
import os
import stat
import subprocess
import threading
import time

import pytest

from agent import Agent, make_agent, wait_connected
from api import b64, register
from conftest import Gateway, wait_for
from native import Session, Target, credential, psql
from test_pg_tls import HOW, Authority, authority, file, server  # noqa: F401  fixtures


@pytest.fixture(scope="module")
def target(server):  # noqa: F811
    return Target(server)


class Keeper(http.server.ThreadingHTTPServer):
    """Keeps a secret as Vault does, and takes its time while it is told to."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.server.asked.set()
            self.server.may_answer.wait(10)
            body = json.dumps({"data": {"data": self.server.secret}}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.server.answered.set()

        def log_message(self, *arguments):
            pass

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.secret = {}
        self.asked, self.answered, self.may_answer = (threading.Event() for _ in range(3))
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def env(self):
        return {"VAULT_ADDR": f"http://127.0.0.1:{self.server_port}", "VAULT_TOKEN": "token"}


@pytest.fixture(scope="module")
def keeper():
    keeper = Keeper()
    yield keeper
    keeper.shutdown()
    keeper.server_close()


@pytest.fixture(scope="module")
def house(tmp_path_factory, keeper):
    gateway = Gateway(tmp_path_factory.mktemp("house"), "--workers", 1,  # an agent has one link
                      env=keeper.env())
    yield register(gateway)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


class Way:
    """Where sessions run: their folders, and the agent of connections that go there."""

    def __init__(self, folder, agent_id=None, agent=None):
        self.folder, self.agent, self.members = str(folder), agent, {}
        if agent_id:
            self.members["agent_id"] = agent_id

    def sessions(self):
        return os.listdir(self.folder)

    def wait_empty(self):
        wait_for(lambda: self.sessions() == [], what="the end of the files")


@pytest.fixture(scope="module", params=["embedded", "agent"])
def way(request, house, keeper, tmp_path_factory):
    if request.param == "embedded":
        yield Way(os.path.join(house.gateway.data, "session-files"))
        return
    made = make_agent(house)
    folder = tmp_path_factory.mktemp("agent")
    agent = Agent(str(folder), "--token", made["token"], "--files-dir", folder / "files",
                  env=keeper.env())
    wait_connected(house, made, agent)
    yield Way(folder / "files" / "session-files", made["id"], agent)
    assert agent.stop() == 0, agent.text()
    assert os.listdir(folder / "files") == []


def secret_of(target, authority, **changed):  # noqa: F811
    return {**target.secret(SSLMODE="verify-full", HOST="localhost", **changed),
            "filesystem:SSLROOTCERT": file(authority.cert)}


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def close(session):
    session.process.stdin.close()
    session.process.wait(10)
    session.process.stdout.close()


def test_files_are_there_as_long_as_a_session(way, house, target, authority):  # noqa: F811
    made = credential(house, target.connection(house, secret_of(target, authority), **way.members))
    sessions = [Session(made["connection_credentials"]) for _ in range(2)]
    for session in sessions:
        assert session.ask(HOW) == "true"
    assert len(way.sessions()) == 2
    for name in way.sessions():
        folder = os.path.join(way.folder, name)
        path = os.path.join(folder, "SSLROOTCERT")
        assert os.listdir(folder) == ["SSLROOTCERT"]
        assert (mode(way.folder), mode(folder), mode(path)) == (0o700, 0o700, 0o600)
        with open(path, "rb") as out:
            assert out.read() == authority.cert.read_bytes()
    close(sessions[0])
    wait_for(lambda: len(way.sessions()) == 1, what="the end of one session's files")
    assert sessions[1].ask("SELECT 1") == "1"
    close(sessions[1])
    way.wait_empty()


def test_a_session_without_files_makes_nothing(way, house, target):
    before = os.stat(way.folder).st_mtime_ns
    made = credential(house, target.connection(house, **way.members))
    session = Session(made["connection_credentials"])
    assert session.ask("SELECT 1") == "1"
    assert way.sessions() == [] and os.stat(way.folder).st_mtime_ns == before
    close(session)


def test_a_certificate_and_its_key(way, house, target, authority):  # noqa: F811
    cert, key = authority.issue(target.user)
    secret = {**secret_of(target, authority), "filesystem:SSLCERT": file(cert),
              "filesystem:SSLKEY": file(key)}
    made = credential(house, target.connection(house, secret, **way.members))
    session = Session(made["connection_credentials"])
    assert session.ask("SELECT ssl_client_serial IS NOT NULL FROM pg_stat_get_activity("
                       "pg_backend_pid())") == "t"
    [name] = way.sessions()
    with open(os.path.join(way.folder, name, "SSLKEY"), "rb") as out:
        assert out.read() == key.read_bytes()
    close(session)
    way.wait_empty()


def test_a_session_that_is_killed(way, house, target, authority):  # noqa: F811
    made = credential(house, target.connection(house, secret_of(target, authority), **way.members))
    session = Session(made["connection_credentials"])
    assert session.ask("SELECT 1") == "1" and len(way.sessions()) == 1
    [found] = [one for one in house.get("/sessions?limit=5").json["data"]
               if one["connection"] == made["connection_name"]]
    assert house.post(f"/sessions/{found['id']}/kill").status in (200, 204)
    session.wait_for_end(10)
    way.wait_empty()


def refused(made):
    done = psql(made, "SELECT 1", check=False)
    assert done.returncode == 2 and "FATAL" in done.stderr, done.stderr
    return done.stderr


@pytest.mark.parametrize("name", ["SSLROOTCERT", "SSLCERT"])
def test_files_that_hold_no_pem(way, house, target, authority, name):  # noqa: F811
    secret = {**secret_of(target, authority), f"filesystem:{name}": b64("s3cret nonsense")}
    answer = refused(credential(house, target.connection(house, secret, **way.members)))
    told = answer + house.gateway.text()
    assert f"certificate 'filesystem:{name}'" in told and "PEM certificate" in told, told
    assert "s3cret" not in told and way.folder not in told
    way.wait_empty()


def test_a_session_that_never_opens(way, house, target, authority):  # noqa: F811
    for changed in {"PASS": "wrong"}, {"PORT": "1"}:
        secret = secret_of(target, authority, **changed)
        refused(credential(house, target.connection(house, secret, **way.members)))
        way.wait_empty()


def test_variables_do_not_name_files(way, house, target, authority):  # noqa: F811
    secret = target.secret(SSLMODE="verify-ca", SSLROOTCERT=str(authority.cert))
    told = refused(credential(house, target.connection(house, secret, **way.members)))
    told += house.gateway.text()
    assert "'envvar:SSLROOTCERT' of the connection must be 'filesystem:SSLROOTCERT'" in told
    assert way.sessions() == []


def test_a_client_that_goes_while_its_session_is_opened(way, house, target, authority):  # noqa: F811
    made = credential(house, target.connection(house, secret_of(target, authority), **way.members))
    given = made["connection_credentials"]
    for step in range(30):
        client = subprocess.Popen(
            ["psql", "-X", "-h", given["hostname"], "-p", given["port"], "-U", given["username"],
             "-c", "SELECT 1", given["database_name"]], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={**os.environ, "PGPASSWORD": given["password"]})
        time.sleep(0.01 + 0.004 * step)
        client.kill()
        client.wait()
    way.wait_empty()


def test_a_client_that_is_gone_when_its_secrets_come(way, house, keeper, target,
                                                     authority):  # noqa: F811
    secret = {**secret_of(target, authority), "filesystem:SSLROOTCERT": "_vaultkv2:kv/app:ca"}
    given = credential(house, target.connection(house, secret, **way.members))
    keeper.secret = {"ca": authority.cert.read_text()}
    before = os.stat(way.folder).st_mtime_ns
    for event in keeper.asked, keeper.answered, keeper.may_answer:
        event.clear()
    session = Session(given["connection_credentials"])
    assert keeper.asked.wait(10)
    session.process.kill()
    session.process.communicate()
    time.sleep(0.5)
    assert way.sessions() == []
    keeper.may_answer.set()
    assert keeper.answered.wait(10)
    wait_for(lambda: os.stat(way.folder).st_mtime_ns != before, what="the files")
    way.wait_empty()
    session = Session(given["connection_credentials"])
    assert session.ask(HOW) == "true" and len(way.sessions()) == 1
    close(session)
    way.wait_empty()


# What the gateway asks itself


def test_a_test_of_a_connection(house, target, authority):  # noqa: F811
    folder = os.path.join(house.gateway.data, "session-files")
    name = target.connection(house, secret_of(target, authority))
    before = os.stat(folder).st_mtime_ns
    answer = house.get(f"/connections/{name}/test")
    assert answer.status == 200 and answer.json["success"], answer
    assert os.stat(folder).st_mtime_ns != before and os.listdir(folder) == []
    name = target.connection(house, {**secret_of(target, authority),
                                     "filesystem:SSLROOTCERT": b64("s3cret nonsense")})
    answer = house.get(f"/connections/{name}/test")
    assert "'filesystem:SSLROOTCERT' holds no PEM certificate" in str(answer.json), answer
    assert os.listdir(folder) == []


# Ends of processes


def test_a_gateway_that_is_killed_or_drained(start, target, authority, tmp_path):  # noqa: F811
    gateway = start(folder=tmp_path / "one")
    admin = register(gateway)
    made = credential(admin, target.connection(admin, secret_of(target, authority)))
    folder = os.path.join(gateway.data, "session-files")

    def open_session(running):
        made["connection_credentials"]["port"] = \
            running.text().partition("postgres_port=")[2].split(" ")[0]
        session = Session(made["connection_credentials"])
        assert session.ask("SELECT 1") == "1"
        assert len(os.listdir(folder)) == 1
        return session

    session = open_session(gateway)
    gateway.kill()
    assert len(os.listdir(folder)) == 1
    close(session)
    gateway = start(folder=tmp_path / "one")
    assert os.listdir(folder) == []
    session = open_session(gateway)
    assert gateway.stop() == 0
    assert os.listdir(folder) == []
    close(session)


def agent_folder(agent):
    return os.path.join("/dev/shm", f"gatehouse-agent-{agent.process.pid}")


@pytest.fixture
def own(house, tmp_path):
    """own(**environment) → an agent that finds a folder by itself, and what the API says of it."""
    started = []

    def start_one(*arguments, **env):
        made = make_agent(house)
        agent = Agent(str(tmp_path), "--token", made["token"], *arguments,
                      env={"XDG_RUNTIME_DIR": "", "RUNTIME_DIRECTORY": "", **env})
        started.append(agent)
        wait_connected(house, made, agent)
        return made, agent

    yield start_one
    for agent in started:
        if agent.is_alive():
            assert agent.stop() == 0, agent.text()


def test_an_agent_makes_a_folder_in_memory(own, house, target, authority):  # noqa: F811
    made, agent = own()
    folder = agent_folder(agent)
    assert os.listdir(folder) == [] and mode(folder) == 0o700
    secret = secret_of(target, authority)
    given = credential(house, target.connection(house, secret, agent_id=made["id"]))
    session = Session(given["connection_credentials"])
    assert session.ask("SELECT 1") == "1" and len(os.listdir(folder)) == 1
    assert agent.stop() == 0
    assert not os.path.exists(folder)
    close(session)


def test_what_a_killed_agent_left_goes_with_the_next(own, house, target, authority):  # noqa: F811
    made, agent = own()
    folder = agent_folder(agent)
    secret = secret_of(target, authority)
    given = credential(house, target.connection(house, secret, agent_id=made["id"]))
    session = Session(given["connection_credentials"])
    assert session.ask("SELECT 1") == "1"
    agent.kill()
    close(session)
    assert len(os.listdir(folder)) == 1
    _, other = own()
    assert not os.path.exists(folder)
    _, third = own()  # does nothing to one that runs
    assert os.path.exists(agent_folder(other)) and os.path.exists(agent_folder(third))


def test_an_agent_takes_the_folder_it_is_given(own, tmp_path):
    for name, inside in ("RUNTIME_DIRECTORY", "session-files"), ("XDG_RUNTIME_DIR", None):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "of another").write_text("stays")
        _, agent = own(**{name: f"{folder}:/nowhere" if inside else str(folder)})
        inside = inside or f"gatehouse-agent-{agent.process.pid}"
        assert sorted(os.listdir(folder)) == sorted([inside, "of another"])
        assert agent.stop() == 0
        assert os.listdir(folder) == ["of another"]


def test_a_folder_for_files_is_of_one_agent(own, tmp_path):
    own("--files-dir", tmp_path / "files")
    other = Agent(str(tmp_path), "--token", "http://far:gha_x@127.0.0.1:1", "--files-dir",
                  tmp_path / "files")
    assert other.process.wait(10) != 0
    assert "--files-dir (GATEHOUSE_FILES_DIR): " in other.text()
    assert "is used by another process" in other.text()


