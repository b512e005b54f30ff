# SPDX-License-Identifier: MIT
"""Statements that are held in an open session until people have decided: what is shown, what waits,
what reaches the target, and how often."""
import concurrent.futures
import contextlib
import json
import subprocess
import time

import pytest

from api import Api, unique
from conftest import PATIENCE, Gateway, wait_for
from native import OwnDatabase, address, credential, psql
from people import TRUSTED, House
from pgwire import Refused, Wire, cancel, message, rows_of, text
from test_guard_bypass import MANY, RULES, WAYS, extended, run_extended, run_simple
from test_reviews import Crew, decide
from test_two_gateways import at

LOCKED_S = 2
SETTINGS = [*TRUSTED, "--held-locked-seconds", str(LOCKED_S)]
DOUBT = {"type": "sql", "name": "deletes are looked at", "operations": ["delete"],
         "action": "review", "message": "say why"}


class Floor(Crew):
    """Connections of ann's whose deletes bob reviews."""

    def __init__(self, house, target):
        super().__init__(house, target)
        self.made = 0

    def open(self, *rules, reviewed=True, caller=None, **members):
        name = self.connection(**members)
        found = self.admin.get(f"/connections/{name}").json
        if reviewed:
            self.rule(name, access_type="command")
        answer = self.admin.post("/guardrails", {
            "name": unique("rail"), "input": {"rules": list(rules) or [DOUBT]},
            "connection_ids": [found["id"]]})
        assert answer.status == 201, answer
        return credential(caller or self.ann, name)

    def table(self):
        self.made += 1
        name = f"held_{self.made}"
        self.target.ask(f"create table {name} (a int, b text); grant all on {name} to "
                        f"{self.target.user}; insert into {name} select i, 'b' || i from "
                        f"generate_series(1, 10) i")
        return name

    def left(self, table):
        return int(self.target.ask(f"select count(*) from {table}"))

    def reviews(self, made, state="", caller=None):
        answer = (caller or self.bob).get(
            f"/reviews?connection={made['connection_name']}&status={state}")
        assert answer.status == 200, answer
        return answer.json["data"]

    def pending(self, made):
        """The one that waits, as asked for in other tests of reviews."""
        one, = wait_for(lambda: self.reviews(made, "PENDING"), what="a review")
        return {"review_id": one["id"]}

    def is_state(self, asked, state):
        wait_for(lambda: self.state(asked) == state, what=state)


@pytest.fixture(scope="module")
def floor(tmp_path_factory, postgres):
    gateway = Gateway(tmp_path_factory.mktemp("held"), *SETTINGS)
    shop = OwnDatabase(postgres, """
        CREATE TABLE kept (id int PRIMARY KEY, name text);
        INSERT INTO kept SELECT i, 'name ' || i FROM generate_series(1, 10) i;
        CREATE PROCEDURE wipe() LANGUAGE sql AS 'DELETE FROM kept';""")
    yield Floor(House(gateway), shop)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@contextlib.contextmanager
def meanwhile(call, *arguments):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        yield pool.submit(call, *arguments)


def bound(statement, *values):
    """A batch of the extended protocol with these values, as text."""
    parts = [struct_of(value) for value in values]
    return (message(b"P", text("", statement) + bytes(2)),
            message(b"B", text("", "") + bytes(2) + len(values).to_bytes(2, "big") +
                    b"".join(parts) + bytes(2)),
            message(b"E", text("") + bytes(4)), message(b"S"))


def struct_of(value):
    body = value.encode()
    return len(body).to_bytes(4, "big") + body


def run_bound(wire, statement, *values):
    wire.send(*bound(statement, *values))
    return rows_of(wire.until_ready())


# What waits, and what is shown ----------------------------------------------------------------------

def test_what_is_approved_runs_once_as_it_came(floor):
    made, table = floor.open(), floor.table()
    with meanwhile(psql, made, f"delete from {table} where a < 4; select 'on';") as done:
        asked = floor.pending(made)
        assert floor.left(table) == 10 and not done.done()
        shown = floor.bob.get(f"/reviews/{asked['review_id']}").json
        decide(floor.bob, asked)
        done = done.result()
    assert shown["type"] == "held" and shown["script"] == f"delete from {table} where a < 4;"
    held = shown["held"]
    assert held["approved_for"] == {"database": floor.target.database, "backslash_escapes": False,
                                    "parameters": []}
    assert held["analysis"] == {"statements": 1, "operations": ["delete"], "reads": [table],
                                "writes": [table], "without_where": False, "is_unknown": False}
    assert held["found"]["holds_locks"] is False
    assert [one["rule"] for one in held["found"]["findings"]] == [DOUBT["name"]]
    assert done.stdout.split() == ["DELETE", "3", "on"] and floor.left(table) == 7
    assert "waits to be reviewed" in done.stderr and shown["review_url"] in done.stderr
    floor.is_state(asked, "EXECUTED")
    session = held["found"]["session"]
    assert floor.state({"review_id": session}) == "EXECUTED"
    assert {entry["action"] for entry in floor.log(asked)} == {"request_review", "approve",
                                                              "run_held"}
    wait_for(lambda: '"review"' in json.dumps(
        floor.admin.get(f"/sessions/{session}").json["guardrails_info"]), what="its findings")


def test_what_is_rejected_is_an_error_that_says_by_whom(floor):
    made, table = floor.open(), floor.table()
    with Wire(made) as wire:
        for block in False, True:
            if block:
                wire.ask("begin")
            with meanwhile(wire.ask, f"delete from {table}") as done:
                decide(floor.bob, floor.pending(made), "REJECTED", reason="not today")
                with pytest.raises(Refused) as refused:
                    done.result()
            fields = refused.value.fields
            assert fields["C"] == "42501" and floor.email["bob"] in fields["M"], fields
            assert "not today" in fields["M"] and wire.status == (b"E" if block else b"I")
        with pytest.raises(Refused, match="25P02"):
            wire.ask("select 1")
        wire.ask("rollback")
        assert wire.ask("select 1") == [("1",)]
    assert floor.left(table) == 10


def test_others_wait_behind_it_in_their_order(floor):
    made, table = floor.open(), floor.table()
    with Wire(made) as wire:
        wire.send(message(b"Q", text("select 1")), *extended(f"delete from {table} where a = 1"),
                  message(b"Q", text(f"select count(*) from {table}")))
        assert rows_of(wire.until_ready()) == [("1",)]
        asked = floor.pending(made)
        assert floor.bob.get(f"/reviews/{asked['review_id']}").json["held"]["found"]["holds_locks"]
        decide(floor.bob, asked)
        wire.until_ready()
        assert rows_of(wire.until_ready()) == [("9",)]


def test_an_approval_is_for_those_values_and_once(floor):
    made, table = floor.open(), floor.table()
    statement = f"delete from {table} where a = $1::int"
    with Wire(made) as wire:  # gives up, and goes
        with meanwhile(run_bound, wire, statement, "7") as done:
            asked = floor.pending(made)
            cancel(made, wire)
            with pytest.raises(Refused, match="57014"):
                done.result()
        assert floor.left(table) == 10 and wire.ask("select 1") == [("1",)]
    shown = floor.bob.get(f"/reviews/{asked['review_id']}").json
    assert shown["held"]["approved_for"]["parameters"] == [{"value": "7"}]
    decide(floor.bob, asked)
    with Wire(made) as wire:
        with meanwhile(run_bound, wire, statement, "8") as done:  # other values
            decide(floor.bob, floor.pending(made), "REJECTED")
            with pytest.raises(Refused, match="42501"):
                done.result()
        assert run_bound(wire, statement, "7") == [] and floor.left(table) == 9
        floor.is_state(asked, "EXECUTED")
        with meanwhile(run_bound, wire, statement, "7") as done:  # once more
            again = floor.pending(made)
            assert again != asked
            decide(floor.bob, again, "REJECTED")
            with pytest.raises(Refused, match="42501"):
                done.result()
    assert floor.left(table) == 9


def test_inside_a_transaction_it_waits_less(floor):
    made, table = floor.open(), floor.table()
    with Wire(made) as wire:
        wire.ask("begin")
        began = time.monotonic()
        with meanwhile(wire.ask, f"delete from {table} where a = 2") as done:
            asked = floor.pending(made)
            with pytest.raises(Refused, match="42501") as refused:
                done.result()
        assert time.monotonic() - began >= LOCKED_S and wire.status == b"E"
        assert f"within {LOCKED_S} seconds" in refused.value.fields["M"], refused.value.fields
        wire.ask("rollback")
        decide(floor.bob, asked)  # it may still be
        wire.ask("begin")
        wire.ask(f"delete from {table} where a = 2")
        wire.ask("commit")
    assert floor.left(table) == 9


def test_a_client_that_goes_takes_it_with_it(floor):
    made, table = floor.open(), floor.table()
    with Wire(made) as wire:
        wire.send(message(b"Q", text(f"delete from {table}")))
        asked = floor.pending(made)
        session = floor.bob.get(f"/reviews/{asked['review_id']}").json["held"]["found"]["session"]
    wait_for(lambda: floor.admin.get(f"/sessions/{session}").json["status"] == "done", what="its end")
    assert floor.state(asked) == "PENDING"
    decide(floor.bob, asked)
    time.sleep(1)
    assert floor.state(asked) == "APPROVED" and floor.left(table) == 10


# Who and where ----------------------------------------------------------------------------------

def test_nobody_to_ask_is_said(floor):
    made, table = floor.open(reviewed=False), floor.table()
    done = psql(made, f"delete from {table}", check=False)
    assert "nobody is named who could review it" in done.stderr and floor.left(table) == 10


def test_what_cannot_be_held_is_refused_when_it_is_saved(floor):
    words = {"type": "deny_words_list", "words": ["secret"], "action": "review"}
    name = unique("command")
    answer = floor.admin.post("/connections", {
        "name": name, "type": "application", "subtype": "", "command": ["bash"],
        "agent_id": floor.admin.get("/userinfo").json["org_id"], "secret": {},
        "access_mode_connect": "disabled", "access_mode_exec": "enabled",
        "access_mode_runbooks": "enabled", "access_schema": "disabled"})
    assert answer.status == 201, answer
    found = answer.json["id"]
    for rail, why in (({"input": {"rules": [words]}, "connection_ids": [found]}, "'review'"),
                      ({"output": {"rules": [words]}}, "cannot be held"),
                      ({"input": {"rules": [{"type": "sql", "max_rows": 1, "action": "review"}]}},
                       "whose action is 'block'"),
                      ({"input": {"rules": [{"type": "sql", "read_only": True,
                                             "action": "review"}]}}, "whose action is 'block'")):
        answer = floor.admin.post("/guardrails", {"name": unique("rail"), **rail})
        assert answer.status == 400 and why in answer.message, answer


def test_a_script_that_was_reviewed_is_not_held_again(floor):
    made, table = floor.open(), floor.table()
    asked = floor.ask(made["connection_name"], f"delete from {table} where a = 3")
    decide(floor.bob, asked)
    assert floor.run(asked)["output_status"] == "success" and floor.left(table) == 9
    name = floor.open(reviewed=False)["connection_name"]
    answer = floor.ann.post("/sessions", {"connection": name, "script": f"delete from {table}"})
    assert answer.json["output_status"] == "failed", answer
    assert "nobody is named" in answer.json["output"] and floor.left(table) == 9


# Ways around ------------------------------------------------------------------------------------

def test_no_way_around_it_gets_through(floor):
    """Held, or refused in words: each way that a rule which blocks would block."""
    made = floor.open(*[{**rule, "action": "review"} for rule in RULES])
    count = "SELECT count(*) FROM kept WHERE name LIKE 'name %'"
    seen = set()
    with Wire(made) as wire:
        for way, run in [(way, run) for way in WAYS for run in (run_simple, run_extended)
                         if run is run_simple or way not in MANY]:
            with meanwhile(run, wire, WAYS[way]) as done:
                while not done.done():
                    if wire.notices:
                        cancel(made, wire)
                        break
                    time.sleep(0.005)
                with pytest.raises(Refused) as refused:
                    done.result()
            code = refused.value.fields["C"]
            seen.add(code)
            # What the server does not understand errs where it is parsed, while the Bind waits.
            assert code in ("57014", "42501") or run is run_extended, (way, refused.value)
            assert code != "42501" or not wire.notices, (way, run, refused.value)
            assert wire.status == b"I" and floor.target.ask(count) == "10", way
            assert wire.ask("SELECT 1") == [("1",)]  # and what is still on its way is read
            wire.notices.clear()
        # A name that the protocol knows, and SQL executes.
        wire.send(message(b"P", text("s", "DELETE FROM kept") + bytes(2)), message(b"S"))
        wire.until_ready()
        for run in run_simple, run_extended:
            with pytest.raises(Refused, match="42501"):
                run(wire, "EXECUTE s")
        assert wire.ask("SELECT 1") == [("1",)]
    assert {"57014", "42501"} <= seen and floor.target.ask(count) == "10"


# Drivers ----------------------------------------------------------------------------------------

PSYCOPG = """
import sys, psycopg
with psycopg.connect(sys.argv[1], autocommit=True) as conn:
    conn.add_notice_handler(lambda notice: print(notice.message_primary))
    print(conn.execute(f"delete from {sys.argv[2]} where a = %s", [4]).rowcount)
    try:
        conn.execute(f"delete from {sys.argv[2]} where a = %s", [5])
    except psycopg.errors.InsufficientPrivilege as error:
        print("refused", error.diag.message_primary)
    print(conn.execute("select 1").fetchone())
"""
ASYNCPG = """
import asyncio, sys, asyncpg
async def main():
    conn = await asyncpg.connect(sys.argv[1])
    print(await conn.execute(f"delete from {sys.argv[2]} where a = $1", 4))
    try:
        await conn.execute(f"delete from {sys.argv[2]} where a = $1", 5)
    except asyncpg.InsufficientPrivilegeError as error:
        print("refused", error)
    print(await conn.fetchval("select 1"))
    await conn.close()
asyncio.run(main())
"""


@pytest.mark.parametrize("program", [PSYCOPG, ASYNCPG], ids=["psycopg", "asyncpg"])
def test_drivers_wait(floor, program, tools):
    made, table = floor.open(), floor.table()
    given = address(made)
    dsn = "postgresql://{user}:{password}@{host}:{port}/{dbname}".format(**given)
    with meanwhile(lambda: subprocess.run(
            [f"{tools}/python", "-c", program, dsn, table], text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=4 * PATIENCE)) as done:
        decide(floor.bob, floor.pending(made))
        decide(floor.bob, floor.pending(made), "REJECTED", reason="no")
        done = done.result()
    assert done.returncode == 0 and "refused the statement was rejected" in done.stdout, done.stdout
    assert floor.left(table) == 9


# Between two lives, and two gateways ----------------------------------------------------------------

@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_gateway_that_is_killed_lets_it_through_once_at_most(kind, request, tmp_path, postgres):
    arguments = list(SETTINGS)
    if kind == "postgres":
        arguments += ["--database-url", postgres.create(f"held_{time.monotonic_ns()}")]
    gateway = Gateway(tmp_path, *arguments)
    floor = Floor(House(gateway), OwnDatabase(postgres, "SELECT 1"))
    made, table = floor.open(), floor.table()
    tokens = {who: getattr(floor, who).token for who in ("ann", "bob")}
    for number in range(3):
        statement = f"with gone as (delete from {table} where false) " \
                    f"insert into {table} values ({100 + number})"
        with Wire(made) as wire:
            wire.send(message(b"Q", text(statement)))
            asked = floor.pending(made)
            decide(floor.bob, asked)
            time.sleep(0.2 * number)
            gateway.kill()
        gateway = Gateway(tmp_path, *arguments)
        floor.house.gateway = floor.admin.gateway = gateway
        floor.ann, floor.bob = (Api(gateway, tokens[who]) for who in ("ann", "bob"))
        made = at(made, gateway)
        ran = floor.left(table) - 10 - number
        state = floor.state(asked)
        assert ran == 0 if state == "APPROVED" else state in ("PROCESSING", "EXECUTED"), state
        if state == "APPROVED":
            with Wire(made) as wire:
                wire.ask(statement)
        elif ran == 0:
            floor.target.ask(f"insert into {table} values (0)")  # taken, and lost with the gateway
        assert floor.left(table) == 11 + number
    assert gateway.stop() == 0, gateway.text()


def test_of_two_gateways_one_lets_it_through(tmp_path, postgres):
    url = postgres.create(f"held_{time.monotonic_ns()}")
    key = ["--master-key-file", str(tmp_path / "key")]
    gateways = [Gateway(tmp_path / name, "--database-url", url, *key, *SETTINGS)
                for name in ("one", "two")]
    floor = Floor(House(gateways[0]), OwnDatabase(postgres, "SELECT 1"))
    made, table = floor.open(), floor.table()
    statement = f"with gone as (delete from {table} where false) insert into {table} values (100)"
    with Wire(made) as one, Wire(at(made, gateways[1])) as two, concurrent.futures.ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(wire.ask, statement) for wire in (one, two)]
        wait_for(lambda: one.notices and two.notices, what="both to wait")
        decide(floor.bob, floor.pending(made))
        outcomes = sorted(type(call.exception()).__name__ for call in calls)
        assert outcomes == ["NoneType", "Refused"]
    assert floor.left(table) == 11
    with Wire(made) as wire:  # a gateway that stops waits for nobody
        wire.send(message(b"Q", text(f"delete from {table}")))
        asked = floor.pending(made)
        with meanwhile(gateways[0].stop) as stopped:
            with pytest.raises(Refused, match="42501: the gateway is stopping"):
                wire.until_ready()
            assert wire.fatal()["C"] == "57P01"
            wire.conn.close()
        assert stopped.result() == 0, gateways[0].text()
    assert Api(gateways[1], floor.admin.token).get(
        f"/reviews/{asked['review_id']}").json["status"] == "PENDING"
    assert floor.left(table) == 11 and gateways[1].stop() == 0, gateways[1].text()
