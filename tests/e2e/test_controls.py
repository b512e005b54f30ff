# SPDX-License-Identifier: MIT
"""Each word of GET /connections/{}/controls, by doing it: for every protocol, control and way to the
target, what is 'enforced' holds, what is 'impossible' is refused when it is saved, and everybody who
may see a connection is told the same. A control or a protocol that the API has and this file has
not fails the last test."""
import re
import struct
import subprocess

import pytest

from agent import Agent, make_agent, wait_connected
from api import register, unique
from conftest import BINARY, Gateway, wait_for
from native import Target, credential, sql
from pgwire import Refused, Wire, message, text
from store import new_organization
from test_tcp import Echo, ask, enter
from test_tcp import connection as tcp_connection
from test_tls import make_certificate

MAIL = "ann.lee@example.com"
MASKED = "[EMAIL_ADDRESS]"
WORD = "geheim"
PLACES = "here", "elsewhere"

# What this file proves, by protocol.
WORDS = {
    "postgres": {"structural": "enforced", "text": "enforced", "output": "enforced", "read_only": "enforced",
                 "row_limits": "enforced", "read_budgets": "enforced", "masking": "enforced",
                 "held_statements": "enforced", "rehearsed_statements": "enforced",
                 "recording": "enforced", "review": "enforced"},
    "tcp": {"structural": "impossible", "text": "impossible", "output": "impossible",
            "read_only": "impossible", "row_limits": "impossible", "read_budgets": "impossible",
            "masking": "impossible", "held_statements": "impossible",
            "rehearsed_statements": "impossible", "recording": "enforced", "review": "enforced"},
    # Its recording is proven in test_mysql.py, its guard rails in test_mysql_guard.py, masking in
    # test_mysql_mask.py, budgets and rules for output in test_mysql_reading.py, the others in
    # test_mysql_read_only.py, test_mysql_limit.py and test_mysql_held.py.
    "mysql": {"structural": "enforced", "text": "enforced", "output": "enforced", "read_only": "enforced",
              "row_limits": "enforced", "read_budgets": "enforced", "masking": "enforced",
              "held_statements": "enforced", "rehearsed_statements": "impossible",
              "recording": "enforced", "review": "enforced"},
    # Its sessions are those of test_ssh.py, its rules are proven in test_ssh_rules.py,
    # test_ssh_masking.py and test_ssh_held.py.
    "ssh": {**dict.fromkeys(("structural", "row_limits", "read_budgets", "rehearsed_statements"), "impossible"),
            **dict.fromkeys(("text", "output", "read_only", "masking", "held_statements", "recording",
                             "review"), "enforced")},
    # No native client reaches these yet; scripts do, as the input of the connection's command.
    "mssql": {**dict.fromkeys(("structural", "read_only", "row_limits", "read_budgets", "masking",
                               "held_statements", "rehearsed_statements"), "impossible"), "text": "enforced",
              "output": "enforced", "recording": "enforced", "review": "enforced"},
}


def flat(controls):
    """{control: word}, as the API says it."""
    rails = controls.pop("guardrails")
    assert set(controls.pop("access_requests")) == {"jit", "command"}
    terminal = controls.pop("terminal")  # test_terminals.py proves its words
    assert terminal is None or terminal["note"] == "recorded, not filtered"
    shell = controls.pop("shell")  # test_ssh_rules.py does
    assert shell is None or \
        shell["guardrails"] == shell["input"] == shell["output"] == "observed"
    return {**rails, **controls}


class House:
    """One gateway, its admin, both places of an agent, and a table at a target."""

    def __init__(self, folder, server):
        files = make_certificate(folder, "controls")
        self.gateway = Gateway(folder / "gateway", "--tls-cert", files[0], "--tls-key", files[1],
                               "--tcp-listen", "127.0.0.1:0", "--shutdown-seconds", "1")
        self.admin = register(self.gateway)
        made = make_agent(self.admin)
        self.agent = Agent(folder / "agent", "--token", made["token"], "--ca-file", files[0])
        wait_connected(self.admin, made, self.agent)
        self.agents = {"here": self.admin.get("/userinfo").json["org_id"], "elsewhere": made["id"]}
        self.target, self.echo = Target(server), Echo()
        self.foreigner = new_organization(self.admin)
        self.table = unique("held").replace("-", "_")
        sql(server, f"CREATE TABLE {self.table} (n int, mail text); "
                    f"INSERT INTO {self.table} SELECT n, '{MAIL}' FROM generate_series(1, 9) n; "
                    f"GRANT ALL ON {self.table} TO {self.target.user}")

    def connection(self, protocol, place, **members):
        members.setdefault("agent_id", self.agents[place])
        if protocol == "tcp":
            return tcp_connection(self.admin, self.echo.port, **members)
        return self.target.connection(self.admin, subtype=protocol, **members)

    def content(self):
        """What the target has, from behind the gateway."""
        return sql(self.target.server, f"SELECT count(*), min(mail), max(mail) FROM {self.table}")

    def post(self, rule):
        path, body = rule
        return self.admin.post(path, body)

    def stop(self):
        assert self.agent.stop() == 0, self.agent.text()
        assert self.gateway.stop() == 0, self.gateway.text()


@pytest.fixture(scope="module")
def house(tmp_path_factory, postgres):
    house = House(tmp_path_factory.mktemp("controls"), postgres)
    yield house
    house.stop()


# The rules: (where they are saved, how) -----------------------------------------------------------

def rail(side, rule, **bound):
    return "/guardrails", {"name": unique("rail"), side: {"rules": [rule]}, **bound}


RULES = {
    "structural": [lambda **bound: rail("input", {
        "type": "sql", "operations": ["delete", "copy"]}, **bound)],
    "text": [lambda **bound: rail("input", {"type": "deny_words_list", "words": [WORD]}, **bound)],
    "output": [lambda **bound: rail("output", {"type": "pattern_match",
                                               "pattern_regex": "ann\\.lee@"}, **bound)],
    "read_only": [lambda **bound: rail("input", {
        "type": "sql", "read_only": True, "unknown": "allow"}, **bound)],
    "row_limits": [lambda **bound: rail("input", {
        "type": "sql", "operations": ["insert", "update", "delete"], "max_rows": 2}, **bound)],
    "read_budgets": [lambda **bound: rail("output", {
        "type": "read_budget", "per": "session", "rows": 3}, **bound)],
    "held_statements": [lambda **bound: rail("input", {
        "type": "pattern_match", "pattern_regex": "(?i)delete|copy", "action": "review"},
        **bound)],
    # test_rehearsals.py has what it does.
    "rehearsed_statements": [lambda **bound: rail("input", {
        "type": "sql", "operations": ["delete", "copy"], "action": "rehearse"}, **bound)],
    "masking": [lambda **bound: ("/datamasking-rules", {
        "name": unique("rule"), "supported_entity_types": [
            {"name": "PII", "entity_types": ["EMAIL_ADDRESS"]}], **bound})],
}


# The ways of PostgreSQL: what a client gets of one statement --------------------------------------

def simple(wire, statement):
    wire.send(message(b"Q", text(statement)))
    return wire.until_ready()


def extended(wire, statement):
    wire.send(message(b"P", text("", statement) + struct.pack("!H", 0)),
              message(b"B", text("", "") + struct.pack("!HHH", 0, 0, 0)),
              message(b"D", b"P" + text("")), message(b"E", text("") + bytes(4)), message(b"S"))
    return wire.until_ready()


def binary(wire, statement):
    wire.send(message(b"P", text("", statement) + struct.pack("!H", 0)),
              message(b"B", text("", "") + struct.pack("!HHHH", 0, 0, 1, 1)),
              message(b"D", b"P" + text("")), message(b"E", text("") + bytes(4)), message(b"S"))
    return wire.until_ready()


def prepared(wire, statement):
    wire.send(message(b"Q", text(f"PREPARE held AS {statement}")))
    wire.until_ready()
    return simple(wire, "EXECUTE held")


def cursor(wire, statement):
    simple(wire, "BEGIN")
    simple(wire, f"DECLARE held CURSOR FOR {statement}")
    return simple(wire, "FETCH ALL FROM held")


def copied(wire, statement):
    return simple(wire, f"COPY ({statement}) TO STDOUT")


def copy_in(wire, statement, data):
    """COPY FROM of these lines, which are there already when it is judged."""
    wire.send(message(b"Q", text(statement)), message(b"d", data), message(b"c"))
    return wire.until_ready()


WRITES = {"simple": simple, "extended": extended, "prepared": prepared, "copy": copied}
READS = {"simple": simple, "extended": extended, "binary": binary, "prepared": prepared,
         "cursor": cursor, "copy": copied}


def bytes_of(messages):
    return b"".join(body for kind, body in messages if kind in b"DdE")


def got(wire, way, statement):
    """(all bytes of rows and errors that the client has seen, was it refused)"""
    try:
        return bytes_of(way(wire, statement)), False
    except (Refused, EOFError) as refusal:
        return repr(getattr(refusal, "fields", refusal)).encode(), True


def wire_with(house, place, *controls):
    """A session on a connection with the rules of these controls alone."""
    name = house.connection("postgres", place)
    own = house.admin.get(f"/connections/{name}").json["id"]
    for rule in (rule for control in controls for rule in RULES.get(control, [])):
        answer = house.post(rule(connection_ids=[own]))
        assert answer.status == 201, (controls, answer)
    return credential(house.admin, name)


# Enforced -----------------------------------------------------------------------------------------

# test_guard_bypass.py and test_guard_read_only.py have the attempts to get past them.
@pytest.mark.parametrize("rule,words", [("structural", b"blocked by guard rail"),
                                        ("read_only", b"")])
@pytest.mark.parametrize("place", PLACES)
def test_statements_that_write_are_stopped(house, place, rule, words):
    made, before = wire_with(house, place, rule), house.content()
    for name, way in WRITES.items():
        with Wire(made) as wire:
            seen, is_refused = got(wire, way, f"DELETE FROM {house.table} RETURNING n")
            assert is_refused and words in seen, name
    with Wire(made) as wire:
        with pytest.raises(Refused):
            copy_in(wire, f"COPY {house.table} FROM STDIN", b"99\tx\n")
        assert wire.ask("SELECT 1") == [("1",)]
    assert house.content() == before


@pytest.mark.parametrize("place", PLACES)
def test_rules_about_words_hold_both_ways(house, place):
    made, before = wire_with(house, place, "text", "output"), house.content()
    for name, way in WRITES.items():
        with Wire(made) as wire:
            assert got(wire, way, f"SELECT '{WORD}' AS said")[1], name
    for name, way in READS.items():
        with Wire(made) as wire:
            seen, _ = got(wire, way, f"SELECT mail FROM {house.table} ORDER BY n")
            assert MAIL.encode() not in seen, name
    with Wire(made) as wire:
        bind = text("", "") + struct.pack("!HHi", 0, 1, len(WORD)) + WORD.encode()
        wire.send(message(b"P", text("", "SELECT $1::text") + struct.pack("!H", 0)),
                  message(b"B", bind + struct.pack("!H", 0)), message(b"E", text("") + bytes(4)),
                  message(b"S"))
        with pytest.raises(Refused):
            wire.until_ready()
    assert house.content() == before


# test_held.py has those whom somebody reviews.
@pytest.mark.parametrize("place", PLACES)
def test_what_nobody_can_review_does_not_run(house, place):
    made, before = wire_with(house, place, "held_statements"), house.content()
    for name, way in WRITES.items():
        with Wire(made) as wire:
            seen, is_refused = got(wire, way, f"DELETE FROM {house.table} RETURNING n")
            assert is_refused and b"review" in seen, (name, seen)
    with Wire(made) as wire:
        with pytest.raises(Refused):
            copy_in(wire, f"COPY {house.table} FROM STDIN", b"99\tx\n")
        assert wire.ask("SELECT 1") == [("1",)]
    assert house.content() == before


@pytest.mark.parametrize("place", PLACES)
def test_limits_on_rows_take_back_what_is_more(house, place):
    made, before = wire_with(house, place, "row_limits"), house.content()
    for name, way in WRITES.items():
        for statement in (f"DELETE FROM {house.table} WHERE n > 3 RETURNING n",
                          f"UPDATE {house.table} SET mail = 'x' RETURNING n",
                          f"INSERT INTO {house.table} SELECT 50, 'x' FROM generate_series(1, 3) "
                          "RETURNING n"):
            with Wire(made) as wire:
                assert got(wire, way, statement)[1], (name, statement)
    with Wire(made) as wire:
        with pytest.raises(Refused):
            copy_in(wire, f"COPY {house.table} FROM STDIN", b"99\tx\n" * 3)
    assert house.content() == before
    with Wire(made) as wire:  # as many as it says do pass
        simple(wire, f"UPDATE {house.table} SET mail = mail WHERE n < 3")


@pytest.mark.parametrize("place", PLACES)
def test_budgets_hold_to_the_row(house, place):
    made = wire_with(house, place, "read_budgets")
    statement = f"SELECT 'row ' || n FROM {house.table} ORDER BY n"
    for name, way in READS.items():
        with Wire(made) as wire:
            rows = rows_before_the_end(wire, way, statement)
            assert rows <= 3, (name, rows)


def rows_before_the_end(wire, way, statement):
    """How many rows came, whatever came behind them."""
    seen = []
    read = wire.read

    def noting():
        kind, body = read()
        seen.extend([kind] if kind in (b"D", b"d") else [])
        return kind, body
    wire.read = noting
    _, is_refused = got(wire, way, statement)
    assert is_refused, (way, seen)
    return len(seen)


@pytest.mark.parametrize("place", PLACES)
def test_masks_are_on_whatever_the_way(house, place):
    made = wire_with(house, place, "masking")
    for name, way in READS.items():
        with Wire(made) as wire:
            seen, is_refused = got(wire, way, f"SELECT mail FROM {house.table} ORDER BY n LIMIT 2")
            assert not is_refused and MAIL.encode() not in seen, (name, seen)
            assert MASKED.encode() in seen, (name, seen)
    with Wire(made) as wire:
        seen, is_refused = got(wire, simple, f"SELECT ('{MAIL}' || mail)::int FROM {house.table}")
        assert is_refused and MAIL not in seen.decode(), seen


def recorded(house, name):
    """What is on record of the only session of a connection that has ended."""
    def found():
        rows = [row for row in house.admin.get("/sessions?limit=100").json["data"]
                if row["connection"] == name and row["status"] == "done"]
        return rows[0]["id"] if rows else None
    session = wait_for(found, what="the session's end")
    verified = house.admin.get(f"/sessions/{session}/verify")
    assert verified.status == 200, verified
    done = subprocess.run([BINARY, "recording", "export", session, "--format", "jsonl",
                           "--data-dir", house.gateway.data], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("place", PLACES)
def test_all_is_on_record(house, place):
    made = wire_with(house, place, "recording")
    with Wire(made) as wire:
        for name, way in READS.items():
            assert not got(wire, way, f"SELECT '{name}, said'")[1]
            simple(wire, "ROLLBACK")
    told = recorded(house, made["connection_name"])
    for name in READS:
        assert f"{name}, said" in told, name
    name = house.connection("tcp", place, recording_row_limit=10)
    conn = enter(house.gateway, credential(house.admin, name))
    assert ask(conn, b"0123456789") == b"0123456789"
    conn.close()
    assert '"bytes"' in recorded(house, name)


# Impossible ---------------------------------------------------------------------------------------

def attribute_of(admin):
    name = unique("attribute")
    assert admin.post("/attributes", {"name": name}).status == 201
    return name


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("protocol,control", [
    (protocol, control) for protocol in ("tcp", "mysql", "ssh") for control in RULES
    if WORDS[protocol][control] == "impossible"])
def test_what_cannot_be_held_is_not_saved(house, protocol, control, place):
    """Bound when it is made, or later, or by an attribute, or by the connection itself."""
    admin = house.admin
    name = house.connection(protocol, place)
    own = admin.get(f"/connections/{name}").json["id"]
    for rule in RULES[control]:
        refused = [house.post(rule(connection_ids=[own]))]
        free = house.post(rule())
        assert free.status == 201, free
        path, body = rule()
        body["name"] = free.json["name"]
        refused.append(admin.put(f"{path}/{free.json['id']}", {**body, "connection_ids": [own]}))
        attribute = attribute_of(admin)
        carried = house.post(rule(attributes=[attribute]))
        assert carried.status == 201, carried
        refused.append(admin.patch(f"/connections/{name}", {"attributes": [attribute]}))
        if path == "/guardrails":
            refused.append(admin.patch(f"/connections/{name}",
                                       {"guardrail_rules": [free.json["id"]]}))
        else:
            refused.append(admin.put(f"/connections/{name}/datamasking-rules",
                                     [{"rule_id": free.json["id"], "status": "active"}]))
        for number, answer in enumerate(refused):
            assert answer.status == 400 and name in answer.message, (number, answer)
    shown = admin.get(f"/connections/{name}").json
    assert shown["attributes"] == [] and shown["guardrail_rules"] == []
    if protocol == "tcp":
        conn = enter(house.gateway, credential(admin, name))
        assert ask(conn, b"still there") == b"still there"
        conn.close()


@pytest.mark.parametrize("protocol", ["postgres", "mysql", "tcp"])
def test_what_must_be_reviewed_is_reached_by_nobody(house, protocol):
    """Who was in before is out; who asks waits. What is approved: test_reviews.py."""
    name = house.connection(protocol, "here")
    made = credential(house.admin, name)
    assert house.admin.patch(f"/connections/{name}", {"reviewers": ["dev"]}).status == 200
    answer = house.admin.post(f"/connections/{name}/credentials", {})
    assert answer.status == 202 and answer.json["has_review"], answer
    if protocol == "postgres":
        with pytest.raises((Refused, EOFError)):
            with Wire(made) as wire:
                wire.ask("SELECT 1")


# What is told -------------------------------------------------------------------------------------

@pytest.mark.parametrize("protocol", WORDS)
@pytest.mark.parametrize("place", PLACES)
def test_everybody_who_may_see_it_is_told_the_same(house, protocol, place):
    admin, name = house.admin, house.connection(protocol, place)
    own = admin.get(f"/connections/{name}").json["id"]
    group = unique("group")
    assert admin.post("/users/groups", {"name": group}).status == 201
    assert admin.put(f"/connections/{name}/access", {"groups": [group]}).status == 200
    for caller in admin, admin.key("admin"), admin.key("auditor"), admin.key(group):
        for word in name, own:
            answer = caller.get(f"/connections/{word}/controls")
            assert answer.status == 200 and flat(answer.json) == WORDS[protocol], answer
    missing = admin.key("other").get(f"/connections/{unique('x')}/controls")
    for caller in admin.key("other"), house.foreigner:
        assert caller.get(f"/connections/{name}/controls").status == missing.status == 404


def test_all_that_is_told_is_proven_here(house):
    """A new protocol or control comes with its line above, and its proof."""
    listed = subprocess.run([BINARY, "serve", "--help"], capture_output=True, text=True, check=True)
    listeners = set(re.findall(r"--(\w+)-listen\b", listed.stdout))
    assert listeners == {"postgres", "mysql", "ssh", "tcp"}, "a protocol of native clients is new"
    proven = {control for control, word in WORDS["postgres"].items() if word == "enforced"}
    assert proven == set(RULES) | {"recording", "review"}
