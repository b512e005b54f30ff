# SPDX-License-Identifier: MIT
"""Read budgets of guard rails, on sessions of real clients at a real PostgreSQL server."""
import struct
import time

import pytest

from api import register, unique
from conftest import PATIENCE, Gateway, wait_for
from native import Session, Target, credential, psql, sql
from pgwire import Wire, fields_of, message, text

MANY = "SELECT generate_series(1, {})"  # one by one, not all at first
SPENT = "the read budget of {} is spent"


@pytest.fixture(scope="module")
def target(postgres):
    return Target(postgres)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("budget"))
    yield register(gateway)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


def rule(per="session", **members):
    return {"type": "read_budget", "name": "enough", "message": "ask for an export", "per": per,
            **members}


def rail(api, connection_id, *rules, **members):
    answer = api.post("/guardrails", {"name": unique("rail"), "output": {"rules": list(rules)},
                                      "connection_ids": [connection_id], **members})
    assert answer.status == 201, answer
    return answer.json


def budgeted(api, target, *rules, **members):
    name = target.connection(api, **members)
    connection_id = api.get(f"/connections/{name}").json["id"]
    made_rail = rail(api, connection_id, *rules)
    made = credential(api, name)
    made["rail"] = made_rail
    return made


def extended(statement, max_rows=0, portal=""):
    return [message(b"P", text("", statement) + struct.pack("!H", 0)),
            message(b"B", text(portal, "") + struct.pack("!HHH", 0, 0, 0)),
            message(b"E", text(portal) + struct.pack("!i", max_rows))]


def query(statement):
    return message(b"Q", text(statement))


SYNC = message(b"S")


def until_ready(wire, times=1):
    messages = []
    while times > 0:
        kind, body = wire.read()
        messages.append((kind, body))
        times -= kind == b"Z"
    return messages


def kinds(messages):
    """A letter each, with the SQLSTATE of errors, tags, the transaction's state, and how many rows
    there are in a run."""
    told = []
    for kind, body in messages:
        letter = kind.decode()
        if kind == b"E":
            told.append("E:" + fields_of(body)["C"])
        elif kind in b"CZ":
            told.append(f"{letter}:{body.rstrip(bytes(1)).decode()}")
        elif kind in b"Dd" and told and told[-1].split("*")[0] == letter:
            told[-1] = f"{letter}*{int(told[-1].split('*')[1]) + 1}"
        else:
            told.append(f"{letter}*1" if kind in b"Dd" else letter)
    return " ".join(told)


def told(wire, *messages, times=1):
    wire.send(*messages)
    return kinds(until_ready(wire, times))


def errors(messages):
    return [fields_of(body) for kind, body in messages if kind == b"E"]


def test_a_large_select_ends_at_the_limit(quick, target):
    made = budgeted(quick, target, rule(rows=1000))
    done = psql(made, MANY.format(1000000), "-v", "FETCH_COUNT=0", check=False)
    assert done.returncode == 3 and done.stdout == ""
    assert f"blocked by guard rail '{made['rail']['name']}', rule 'enough': ask for" in done.stderr
    assert f"DETAIL:  {SPENT.format('1000 rows for a session')}" in done.stderr
    assert "HINT:  A new session has a budget of its own." in done.stderr


@pytest.mark.parametrize("say", [lambda s: [query(s)], lambda s: [*extended(s), SYNC]])
def test_the_connection_stays_usable(quick, target, say):
    made = budgeted(quick, target, rule(rows=1000))
    with Wire(made) as wire:
        begin = time.monotonic()
        answer = told(wire, *say(MANY.format(100000000)))
        assert answer in ("T D*1000 E:53400 Z:I", "1 2 D*1000 E:53400 Z:I")
        assert time.monotonic() - begin < PATIENCE / 2
        assert told(wire, query("SET search_path TO public")) == "C:SET Z:I"
        assert told(wire, *extended("SET search_path TO public"), SYNC) == "1 2 C:SET Z:I"
        wire.send(*say("SELECT 1"))
        messages = until_ready(wire)
        assert kinds(messages) in ("E:53400 Z:I", "1 2 E:53400 Z:I")
        assert errors(messages)[0]["D"] == SPENT.format("1000 rows for a session")
        assert told(wire, query("BEGIN")) == "C:BEGIN Z:T"
        assert told(wire, query("SELECT 1")) == "E:53400 Z:E"
        assert told(wire, query("ROLLBACK")) == "C:ROLLBACK Z:I"
    with Wire(made) as wire:
        assert told(wire, query(MANY.format(1000))) == "T D*1000 C:SELECT 1000 Z:I"
        assert told(wire, query("SELECT 1")) == "E:53400 Z:I"
