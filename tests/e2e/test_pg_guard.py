# SPDX-License-Identifier: MIT
"""Guard rails on sessions of real clients at a real PostgreSQL server."""
import struct
import time

import pytest

from api import unique
from conftest import PATIENCE, wait_for
from native import Session, credential, psql, sql
from pgwire import Wire, message, text

NO_WHERE = {"type": "sql", "name": "with where", "operations": ["update", "delete"],
            "without_where": True, "message": "say which rows"}
NO_DROP = {"type": "deny_words_list", "name": "words", "words": ["geheim"]}
WARNED = {"type": "sql", "name": "look", "operations": ["truncate"], "action": "warn"}
OBSERVED = {"type": "sql", "name": "seen", "operations": ["create"], "action": "observe"}
ROWS = {"type": "sql", "name": "few", "operations": ["insert", "update", "delete"], "max_rows": 5}


@pytest.fixture
def table(target):
    name = unique("guarded").replace("-", "_")
    sql(target.server, f"CREATE TABLE {name} AS SELECT n, n AS m FROM generate_series(1, 20) n; "
                       f"GRANT ALL ON {name} TO {target.user}")
    yield name
    sql(target.server, f"DROP TABLE IF EXISTS {name}")


def guarded(api, target, *rules):
    name = target.connection(api)
    connection_id = api.get(f"/connections/{name}").json["id"]
    answer = api.post("/guardrails", {"name": unique("rail"), "input": {"rules": list(rules)},
                                      "connection_ids": [connection_id]})
    assert answer.status == 201, answer
    made = credential(api, name)
    made["rail"] = answer.json
    return made


def count(target, table):
    return int(sql(target.server, f"SELECT count(*) FROM {table}"))


def extended(statement, *values):
    bind = text("", "") + struct.pack("!HH", 0, len(values))
    for value in values:
        bind += struct.pack("!i", len(value)) + value.encode()
    return [message(b"P", text("", statement) + struct.pack("!H", 0)),
            message(b"B", bind + struct.pack("!H", 0)), message(b"E", text("") + bytes(4))]


def kinds(messages):
    """A letter each, with the SQLSTATE of errors, tags and the transaction's state."""
    told = []
    for kind, body in messages:
        if kind == b"E":
            fields = dict((field[:1], field[1:]) for field in body.split(b"\0") if field)
            told.append("E:" + fields[b"C"].decode())
        elif kind in b"CZ":
            told.append(f"{kind.decode()}:{body.rstrip(bytes(1)).decode()}")
        else:
            told.append(kind.decode())
    return " ".join(told)


def until_ready(wire, times=1):
    messages = []
    while times > 0:
        kind, body = wire.read()
        messages.append((kind, body))
        times -= kind == b"Z"
    return messages


def test_what_is_blocked_never_arrives(quick, target, table):
    made = guarded(quick, target, NO_WHERE, NO_DROP)
    done = psql(made, f"DELETE FROM {table}", check=False)
    assert done.returncode == 3
    assert "blocked by guard rail" in done.stderr and "say which rows" in done.stderr
    assert "HINT" in done.stderr
    hidden = psql(made, "SELECT 'geheim'", check=False, PGOPTIONS="")
    assert hidden.returncode == 3 and "geheim" not in hidden.stderr.split("LINE")[0]
    assert count(target, table) == 20
    assert psql(made, f"DELETE FROM {table} WHERE n = 1; SELECT 1").stdout.endswith("1\n")
    assert count(target, table) == 19


@pytest.mark.parametrize("statement", [
    "DELETE FROM {}", "delete/**/from{}", "WITH d AS (DELETE FROM {} RETURNING *) SELECT 1",
    "EXPLAIN ANALYZE DELETE FROM {}", "PREPARE x AS DELETE FROM {}", "SELECT 1; DELETE FROM {}",
    "DO $$ BEGIN DELETE FROM {}; END $$", "DELETE FROM {} -- WHERE n = 1",
    "COPY (DELETE FROM {} RETURNING *) TO STDOUT", "DELETE FROM {} WHERE true",
])
def test_other_ways_to_say_it(quick, target, table, statement):
    made = guarded(quick, target, NO_WHERE)
    name = " " + table if "from{" in statement else table
    ways_out = "WHERE true" in statement  # a WHERE that holds for all rows is one
    text_of = statement.format(name)
    with Wire(made) as wire:
        wire.send(message(b"Q", text(text_of)))
        told = kinds(until_ready(wire))
        assert ways_out or told == "E:42501 Z:I", told
        wire.send(*extended(text_of), message(b"S"))
        told = kinds(until_ready(wire))
        assert ways_out or told in ("E:42501 Z:I", "E:42601 Z:I"), told
        wire.send(message(b"Q", text("SELECT 1")))
        assert kinds(until_ready(wire)) == "T D C:SELECT 1 Z:I"
    assert ways_out or count(target, table) == 20


def test_a_pipeline_is_answered_in_order(quick, target, table):
    made = guarded(quick, target, NO_WHERE)
    with Wire(made) as wire:
        wire.send(*extended(f"INSERT INTO {table} VALUES (100, 1)"), message(b"S"),
                  *extended(f"INSERT INTO {table} VALUES (101, 1)"),
                  *extended(f"DELETE FROM {table}"), *extended("SELECT 1"), message(b"S"),
                  *extended("SELECT 2"), message(b"S"), message(b"Q", text(f"DELETE FROM {table}")),
                  message(b"Q", text("SELECT 3")))
        assert kinds(until_ready(wire, 5)) == (
            "1 2 C:INSERT 0 1 Z:I 1 2 C:INSERT 0 1 E:42501 Z:I 1 2 D C:SELECT 1 Z:I "
            "E:42501 Z:I T D C:SELECT 1 Z:I")
    assert count(target, table) == 21


def test_a_transaction_block_fails_as_by_any_error(quick, target, table):
    made = guarded(quick, target, NO_WHERE)
    with Wire(made) as wire:
        wire.send(message(b"Q", text(f"BEGIN; INSERT INTO {table} VALUES (1, 1)")))
        assert kinds(until_ready(wire)) == "C:BEGIN C:INSERT 0 1 Z:T"
        wire.send(message(b"Q", text(f"DELETE FROM {table}")),
                  message(b"Q", text("SELECT 1")), message(b"Q", text("COMMIT")))
        assert kinds(until_ready(wire, 3)) == "E:42501 Z:E E:25P02 Z:E C:ROLLBACK Z:I"
    assert count(target, table) == 20


def test_a_flush_is_answered_without_a_sync(quick, target, table):
    made = guarded(quick, target, NO_WHERE)
    with Wire(made) as wire:
        wire.send(*extended("SELECT 1"), *extended(f"DELETE FROM {table}"), message(b"H"))
        told = [wire.read() for _ in range(5)]
        assert kinds(told) == "1 2 D C:SELECT 1 E:42501"
        wire.send(message(b"S"))
        assert kinds(until_ready(wire)) == "Z:I"


def test_a_copy_goes_on_behind_it(quick, target, table):
    made = guarded(quick, target, NO_WHERE)
    with Wire(made) as wire:
        wire.send(message(b"Q", text(f"DELETE FROM {table}")),
                  message(b"Q", text(f"COPY {table} FROM STDIN")),
                  message(b"d", b"50\t1\n"), message(b"d", b"51\t1\n"), message(b"c"))
        assert kinds(until_ready(wire, 2)) == "E:42501 Z:I G C:COPY 2 Z:I"
    assert count(target, table) == 22


def test_values_of_parameters_are_looked_at(quick, target):
    made = guarded(quick, target, NO_DROP)
    with Wire(made) as wire:
        wire.send(*extended("SELECT $1::text", "geheim"), message(b"S"),
                  *extended("SELECT $1::text", "offen"), message(b"S"))
        assert kinds(until_ready(wire, 2)) == "1 E:42501 Z:I 1 2 D C:SELECT 1 Z:I"


def test_warnings_and_what_is_only_observed(quick, target, table):
    made = guarded(quick, target, WARNED, OBSERVED)
    done = psql(made, f"CREATE TEMP TABLE seen (n int); TRUNCATE {table}")
    assert "noticed by guard rail" in done.stderr and "'look'" in done.stderr
    assert "'seen'" not in done.stderr
    assert count(target, table) == 0


def test_too_many_rows_are_taken_back(quick, target, table):
    made = guarded(quick, target, ROWS)
    with Wire(made) as wire:
        wire.send(message(b"Q", text(f"DELETE FROM {table} WHERE n <= 5")))
        assert kinds(until_ready(wire)) == "C:DELETE 5 Z:I"
        wire.send(message(b"Q", text(f"DELETE FROM {table} WHERE n <= 11")))
        assert kinds(until_ready(wire)) == "E:42501 Z:I"
        wire.send(*extended(f"UPDATE {table} SET m = 0 WHERE n > 10"), message(b"S"),
                  *extended(f"UPDATE {table} SET m = 0 WHERE n > 15"), message(b"S"))
        assert kinds(until_ready(wire, 2)) == "1 2 E:42501 Z:I 1 2 C:UPDATE 5 Z:I"
        wire.send(message(b"Q", text("BEGIN")), message(b"Q", text(f"DELETE FROM {table}")),
                  message(b"Q", text("COMMIT")))
        assert kinds(until_ready(wire, 3)) == "C:BEGIN Z:T E:42501 Z:E C:ROLLBACK Z:I"
        wire.send(message(b"Q", text("PREPARE p AS " + f"DELETE FROM {table} WHERE n > $1")),
                  message(b"Q", text("EXECUTE p(18)")), message(b"Q", text("EXECUTE p(0)")))
        told = until_ready(wire, 3)
        assert kinds(told) == "C:PREPARE Z:I C:DELETE 2 Z:I E:42501 Z:I", told
    assert count(target, table) == 13
    assert sql(target.server, f"SELECT count(*) FROM {table} WHERE m = 0") == "3"


def test_a_rule_applies_to_the_next_statement_of_open_sessions(quick, target, table):
    made = guarded(quick, target, OBSERVED)
    bare = target.connection(quick)
    free = credential(quick, bare)
    bare_id = quick.get(f"/connections/{bare}").json["id"]
    with Wire(made) as wire, Wire(free) as late:
        for one in (wire, late):
            one.send(message(b"P", text("kept", f"DELETE FROM {table}") + struct.pack("!H", 0)),
                     message(b"S"))
            assert kinds(until_ready(one)) == "1 Z:I"
        rail = made["rail"]
        answer = quick.put(f"/guardrails/{rail['id']}", {
            "name": rail["name"], "input": {"rules": [NO_WHERE]},
            "connection_ids": rail["connection_ids"] + [bare_id]})
        assert answer.status == 200, answer

        def is_blocked(one):
            one.send(message(b"Q", text(f"EXPLAIN DELETE FROM {table}; DELETE FROM {table} "
                                        "WHERE n < 0; UPDATE pg_class SET relname = relname "
                                        "WHERE false AND true")))
            until_ready(one)
            one.send(message(b"Q", text(f"BEGIN; DELETE FROM {table}; ROLLBACK")))
            told = kinds(until_ready(one))
            return "E:42501" in told

        for one in (wire, late):
            wait_for(lambda one=one: is_blocked(one), what="the rule")
            one.send(message(b"B", text("", "kept") + bytes(6)), message(b"E", text("") + bytes(4)),
                     message(b"S"))
            assert kinds(until_ready(one)) == "E:42501 Z:I"
            one.send(message(b"Q", text("SELECT 1")))
            assert kinds(until_ready(one)) == "T D C:SELECT 1 Z:I"
    assert count(target, table) == 20


def test_the_session_tells_what_was_found(quick, target, table):
    made = guarded(quick, target, NO_WHERE, NO_DROP)
    psql(made, f"DELETE FROM {table}", check=False)
    name = made["connection_name"]

    def done():
        [one] = quick.get(f"/sessions?connection={name}").json["data"]
        return one["status"] == "done" and one

    one = wait_for(done, what="the end")
    full = quick.get(f"/sessions/{one['id']}").json
    [found] = full["guardrails_info"]
    assert (found["rule_name"], found["action"], found["direction"], found["rule"]["type"]) == \
        ("with where", "block", "input", "sql")


def test_psql_stays_usable(quick, target, table):
    made = guarded(quick, target, NO_WHERE)
    session = Session(made["connection_credentials"])
    assert "blocked by guard rail" in session.ask(f"DELETE FROM {table}")
    session.process.stdin.write("SELECT 'still';\n")
    session.process.stdin.flush()
    end = time.monotonic() + PATIENCE
    while session.process.stdout.readline().strip() != "still":
        assert time.monotonic() < end
    session.process.kill()
    session.process.communicate()
