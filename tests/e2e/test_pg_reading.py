# SPDX-License-Identifier: MIT
"""Guard rails read a statement as the server will, whenever a setting changes how that is."""
import pytest

from api import register, unique
from conftest import Gateway, wait_for
from native import credential, sql
from pgwire import Wire, message, text
from test_pg_guard import ROWS, count, extended, guarded, kinds, until_ready

FLUSH, SYNC = message(b"H"), message(b"S")


@pytest.fixture
def table(target):
    name = unique("read").replace("-", "_")
    sql(target.server, f"CREATE TABLE {name} AS SELECT generate_series(1, 20) AS n; "
                       f"GRANT ALL ON {name} TO {target.user}")
    yield name
    sql(target.server, f"DROP TABLE {name}")


def rule_for(table):
    return {"type": "sql", "relations": [{"name": f"public.{table}", "access": "read"}]}


def hidden(table):
    """It reads the table where a backslash quotes, and two strings elsewhere."""
    return fr"SELECT '\', ' FROM {table} --'"


def asked(wire, statement):
    wire.send(message(b"Q", text(statement)))
    return kinds(until_ready(wire))


def test_a_setting_that_a_batch_has_changed_and_nobody_told(quick, target, table):
    """Servers since 14 tell at the end of a batch."""
    with Wire(guarded(quick, target, rule_for(table))) as wire:
        assert asked(wire, hidden(table)) == "T D C:SELECT 1 Z:I"
        wire.send(*extended("SET standard_conforming_strings = off"), FLUSH)
        assert [wire.read()[0] for _ in range(3)] == [b"1", b"2", b"C"]
        wire.send(*extended(hidden(table)), SYNC)
        assert kinds(until_ready(wire)) == "E:42501 Z:I"
        assert asked(wire, hidden(table)) == "T D C:SELECT 1 Z:I"  # the SET was rolled back
        assert asked(wire, "SET standard_conforming_strings = off") == "C:SET S Z:I"
        assert asked(wire, hidden(table)) == "E:42501 Z:I"


def test_what_is_prepared_behind_a_setting_is_certain_or_refused(quick, target, table):
    with Wire(guarded(quick, target, ROWS)) as wire:
        delete = f"DELETE FROM {table}"
        hide = fr"SELECT '\'; DEALLOCATE kept; PREPARE kept AS {delete} --'"
        assert asked(wire, "SET standard_conforming_strings = off") == "C:SET S Z:I"
        assert asked(wire, "PREPARE kept AS SELECT 1") == "C:PREPARE Z:I"
        wire.send(message(b"Q", text("SET standard_conforming_strings = on")),
                  message(b"Q", text(hide)), message(b"Q", text("EXECUTE kept")))
        assert kinds(until_ready(wire, 3)) == "C:SET S Z:I E:42501 Z:I T D C:SELECT 1 Z:I"
        wire.send(*extended("SET standard_conforming_strings = off"), *extended(hide), SYNC)
        assert kinds(until_ready(wire)) == "1 2 C:SET E:42601 Z:I"
    assert count(target, table) == 20


def test_a_statement_is_read_as_when_it_was_prepared(quick, target, table):
    with Wire(guarded(quick, target, {**rule_for(table), "unknown": "block"})) as wire:
        assert asked(wire, "SET standard_conforming_strings = off") == "C:SET S Z:I"
        assert asked(wire, r"PREPARE kept AS SELECT '\' , '") == "N C:PREPARE Z:I"
        assert asked(wire, "SET standard_conforming_strings = on") == "C:SET S Z:I"
        assert asked(wire, "EXECUTE kept") == "T D C:SELECT 1 Z:I"


@pytest.fixture
def boss(tmp_path):
    gateway = Gateway(tmp_path, "--fault", "short")
    yield register(gateway)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


def test_what_came_in_pieces_is_known_to_rules_that_come_later(boss, target, table):
    name = target.connection(boss)
    with Wire(credential(boss, name)) as wire:
        for value in "on", "off", "on", "off":
            assert asked(wire, f"SET standard_conforming_strings = {value}").startswith("C:SET")
        answer = boss.post("/guardrails", {
            "name": unique("rail"), "input": {"rules": [rule_for(table)]},
            "connection_ids": [boss.get(f"/connections/{name}").json["id"]]})
        assert answer.status == 201, answer
        wait_for(lambda: asked(wire, f"SELECT n FROM {table}") == "E:42501 Z:I", what="the rule")
        assert asked(wire, hidden(table)) == "E:42501 Z:I"
