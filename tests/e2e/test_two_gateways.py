# SPDX-License-Identifier: MIT
"""Two gateways on one PostgreSQL store: what is done at one is true at the other, an agent links to
both, and what only one of them has is asked of it."""
import base64
import copy
import http.client
import os
import re
import time

import pytest

from agent import Agent, make_agent, wait_connected
from api import Api, register
from conftest import PATIENCE, Gateway, wait_for
from native import credential, psql, revoke
from pgwire import Refused, Wire, cancel, message, text
from test_pg_cancel import sleeping
from test_read_budget import budgeted, rule

EMAIL = "root@example.com"


class Pair:
    def __init__(self, folder, url):
        self.arguments = ["--database-url", url, "--master-key-file", os.path.join(folder, "key"),
                          "--workers", "2", "--shutdown-seconds", "2"]
        self.folder = folder
        self.first, self.second = self.start("first"), self.start("second")
        self.admin = register(self.first, EMAIL)
        self.other = Api(self.second, self.admin.token)

    def start(self, name, *arguments):
        return Gateway(os.path.join(self.folder, name), *self.arguments, *arguments)


@pytest.fixture(scope="module")
def pair(tmp_path_factory, postgres):
    made = Pair(str(tmp_path_factory.mktemp("pair")), postgres.create(f"pair_{time.monotonic_ns()}"))
    yield made
    for gateway in made.first, made.second:
        assert gateway.is_alive(), gateway.text()
        assert gateway.stop() == 0, gateway.text()


def at(made, gateway, protocol="postgres"):
    """The credential as a client of that gateway uses it."""
    there = copy.deepcopy(made)
    port = re.search(rf"{protocol}_port=(\d+)", gateway.text()).group(1)
    there["connection_credentials"]["port"] = port
    return there


def run(wire, sql):
    wire.send(message(b"Q", text(sql)))


def ended(wire, within=3):
    """How a session ends, and after how long."""
    began = time.monotonic()
    told = wire.fatal()
    assert time.monotonic() - began < within, told
    return told


def sessions(api, connection):
    return api.get(f"/sessions?connection={connection}").json["data"]


def test_an_agent_learns_all_gateways_and_links_to_each(pair, target, tmp_path):
    made = make_agent(pair.admin)
    agent = Agent(str(tmp_path), "--token", made["token"])
    wait_connected(pair.admin, made, agent)
    name = target.connection(pair.admin, agent_id=made["id"])
    key = credential(pair.admin, name)
    for gateway in pair.first, pair.second:
        wait_for(lambda: psql(at(key, gateway), "SELECT 1", check=False).stdout == "1\n",
                 what="a session through it")
    # One more comes later, and goes.
    third = pair.start("third")
    wait_for(lambda: f"127.0.0.1:{third.port}" in agent.text(), what="the third gateway's link")
    wait_for(lambda: psql(at(key, third), "SELECT 1", check=False).stdout == "1\n",
             what="a session through the third")
    assert third.stop() == 0, third.text()
    for gateway in pair.first, pair.second:
        assert psql(at(key, gateway), "SELECT 1").stdout == "1\n"
    assert agent.stop() == 0, agent.text()


def test_a_session_elsewhere_is_ended_and_cancelled(pair, target):
    name = target.connection(pair.admin)
    made = credential(pair.admin, name)
    here, there = at(made, pair.first), at(made, pair.second)
    with Wire(there) as wire:
        # A request to cancel that comes to the other gateway.
        run(wire, "SELECT pg_sleep(60)")
        wait_for(lambda: sleeping(target) == 1, what="the query")
        took = cancel(here, wire)
        with pytest.raises(Refused, match="57014"):
            wire.until_ready()
        assert took < 3, took
        assert wire.ask("SELECT 1") == [("1",)]
        # A key that nobody has.
        assert cancel(here, wire, key=bytes(8)) < 6
        assert wire.ask("SELECT 1") == [("1",)]
        [session] = [s for s in sessions(pair.admin, name) if s["status"] == "open"]
        run(wire, "SELECT pg_sleep(60)")
        assert pair.admin.post(f"/sessions/{session['id']}/kill").status == 204
        told = ended(wire)
        assert told["C"] == "57P01" and EMAIL in told["M"], told


def test_what_is_revoked_at_one_ends_at_the_other(pair, target):
    name = target.connection(pair.admin)
    made = credential(pair.admin, name)
    with Wire(at(made, pair.second)) as wire:
        wire.ask("SELECT 1")
        revoke(pair.admin, made)
        assert ended(wire)["C"] == "57P01"
    with pytest.raises(Refused):
        Wire(at(made, pair.second))


def test_a_budget_of_an_hour_counts_at_both_together(pair, target):
    made = budgeted(pair.admin, target, rule(rows=1000, per="hour"))
    here, there = at(made, pair.first), at(made, pair.second)
    with Wire(there) as wire:
        assert len(wire.ask("SELECT generate_series(1, 100)")) == 100
        assert len(psql(here, "SELECT generate_series(1, 600)").stdout.split()) == 600
        # What was read there is known here at once, in a new session, and soon in one that runs.
        time.sleep(2.5)
        assert len(wire.ask("SELECT generate_series(1, 300)")) == 300
        with pytest.raises(Refused, match="enough"):
            wire.ask("SELECT 1")
    began = time.monotonic()
    wait_for(lambda: "the read budget of 1000 rows in an hour is spent" in
             psql(here, "SELECT 1", check=False).stderr, what="the first gateway's knowledge")
    assert time.monotonic() - began < 3


def test_a_recording_of_the_other_gateway_is_fetched_from_it(pair, target):
    name = target.connection(pair.admin)
    made = credential(pair.admin, name)
    with Wire(at(made, pair.second)) as wire:
        wire.ask("SELECT 'told there'")
        [session] = sessions(pair.admin, name)
        path = f"/sessions/{session['id']}"
        # While it goes on.
        checked = pair.admin.get(f"{path}/verify").json
        assert checked["recording_status"] == "open", checked
        conn = http.client.HTTPConnection("127.0.0.1", pair.first.port, timeout=PATIENCE)
        conn.request("GET", f"/api{path}/stream",
                     headers={"Authorization": f"Bearer {pair.admin.token}"})
        stream = conn.getresponse()
        assert stream.status == 200, stream.read()
        seen = b""
        while b"told there" not in b"".join(map(decoded, seen.split(b"\n"))):
            seen += stream.readline()
        wire.ask("SELECT 'told later'")
        while b"told later" not in b"".join(map(decoded, seen.split(b"\n"))):
            seen += stream.readline()
        # More than one piece.
        for _ in range(200):
            wire.ask("SELECT string_agg(md5(random()::text), '') FROM generate_series(1, 200)")
    while b"session_end" not in seen:
        seen += stream.readline()
    conn.close()
    wait_for(lambda: pair.admin.get(path).json["status"] == "done", what="the end")
    for api in pair.admin, pair.other:
        checked = api.get(f"{path}/verify").json
        assert checked["recording_status"] == "whole" and checked["size"] > 600_000, checked
    pages = [api.get(f"{path}/download?extension=jsonl").body for api in (pair.admin, pair.other)]
    assert pages[0] == pages[1] and b"told later" in pages[0]


def decoded(line):
    match = re.search(rb'"payload":"([^"]*)"', line)
    return base64.b64decode(match.group(1)) if match else b""


def test_nobody_else_asks_gateways(pair):
    for body in ({"request": ""}, {"request": "AAAA"},
                 {"request": base64.b64encode(os.urandom(200)).decode()}):
        answer = Api(pair.first).post("/node", body)
        assert answer.status == 401 and "no gateway of this store" in answer.message, answer
    assert Api(pair.first).post("/node", {}).status == 400
    assert pair.admin.post("/node", {"request": "AAAA"}).status == 401


def test_one_that_is_gone_is_said_so(pair, target, tmp_path):
    """Killed: its sessions end with it, the agent goes on at the others, its recordings wait."""
    gone = pair.start("gone")
    made = make_agent(pair.admin)
    agent = Agent(str(tmp_path), "--token", made["token"])
    wait_connected(pair.admin, made, agent)
    name = target.connection(pair.admin, agent_id=made["id"])
    key = credential(pair.admin, name)
    wait_for(lambda: psql(at(key, gone), "SELECT 1", check=False).stdout == "1\n",
             what="a session through it")
    path = f"/sessions/{sessions(pair.admin, name)[0]['id']}"
    wait_for(lambda: pair.admin.get(path).json["status"] == "done", what="the end")
    assert pair.admin.get(f"{path}/download").status == 200
    gone.kill()
    answer = pair.admin.get(f"{path}/download")
    assert answer.status == 503, answer  # it is listed still, and does not answer
    assert psql(at(key, pair.second), "SELECT 1").stdout == "1\n"
    again = pair.start("gone")
    wait_for(lambda: pair.admin.get(f"{path}/download").status == 200, what="its recordings")
    assert again.stop() == 0
    answer = pair.admin.get(f"{path}/download")
    assert answer.status in (404, 503), answer
    assert agent.stop() == 0, agent.text()
