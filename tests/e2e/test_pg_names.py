# SPDX-License-Identifier: MIT
"""Names of statements and portals mean to guard rails and masking what they mean to the server."""
import struct

import pytest

from api import unique
from native import TARGET_PASSWORD, sql
from pgwire import Wire, message, rows_of, text
from test_pg_guard import ROWS, count, guarded, kinds, until_ready
from test_pg_mask import column, masked

LONG = "n" * 63
SYNC = message(b"S")


def parse(name, statement):
    return message(b"P", text(name, statement) + struct.pack("!H", 0))


def bind(portal, name):
    return message(b"B", text(portal, name) + struct.pack("!HHH", 0, 0, 0))


def execute(portal):
    return message(b"E", text(portal) + bytes(4))


def close(kind, name):
    return message(b"C", kind + text(name))


def run(wire, name):
    """Of a statement, by a portal without a name."""
    wire.send(bind("", name), execute(""), SYNC)
    return kinds(until_ready(wire))


def direct(target):
    return {"connection_credentials": {
        "hostname": "127.0.0.1", "port": target.server.port, "username": target.user,
        "password": TARGET_PASSWORD, "database_name": "postgres"}}


@pytest.fixture
def table(target):
    name = unique("named").replace("-", "_")
    sql(target.server, f"CREATE TABLE {name} AS SELECT n, 'top secret'::text AS secret "
                       f"FROM generate_series(1, 20) n; GRANT ALL ON {name} TO {target.user}")
    yield name
    sql(target.server, f"DROP TABLE IF EXISTS {name}")


def test_a_server_cuts_names_of_messages_amid_characters_and_of_sql_between_them(target):
    with Wire(direct(target), client_encoding="UTF8") as wire:
        wire.send(parse(LONG + "1", "SELECT 1"), SYNC)
        assert kinds(until_ready(wire)) == "1 Z:I"
        assert run(wire, LONG + "2") == "2 D C:SELECT 1 Z:I"
        half = "n" * 62 + "é"
        wire.send(message(b"Q", text(f'PREPARE "{half}" AS SELECT 2')))
        until_ready(wire)
        assert run(wire, "n" * 62) == "2 D C:SELECT 1 Z:I"
        assert run(wire, half) == "E:26000 Z:I"
        wire.send(close(b"S", LONG + "3"), SYNC)
        until_ready(wire)
        assert run(wire, LONG) == "E:26000 Z:I"


@pytest.mark.parametrize("other", ["2", "é"])
def test_a_long_name_does_not_carry_a_statement_past_max_rows(quick, target, table, other):
    with Wire(guarded(quick, target, ROWS), client_encoding="UTF8") as wire:
        wire.send(parse(LONG + "1", "SELECT 1"), SYNC, close(b"S", LONG + other),
                  parse(LONG + other, f"DELETE FROM {table}"), SYNC)
        assert kinds(until_ready(wire, 2)) == "1 Z:I 3 1 Z:I"
        assert run(wire, LONG + "1") == "2 E:42501 Z:I"
        wire.send(bind(LONG + "a", LONG), execute(LONG + "b"), SYNC)
        assert kinds(until_ready(wire)) == "2 E:42501 Z:I"
        wire.send(message(b"Q", text(f'EXECUTE "{LONG}xyz"')))
        assert kinds(until_ready(wire)) == "N E:42501 Z:I"  # that the name was cut
        wire.send(message(b"Q", text(f"DEALLOCATE {LONG}")), parse("p" * 80, "SELECT 1"), SYNC)
        assert kinds(until_ready(wire, 2)) == "C:DEALLOCATE Z:I 1 Z:I"
        assert run(wire, "p" * 70) == "2 D C:SELECT 1 Z:I"
    assert count(target, table) == 20


def test_names_beyond_ascii_are_those_of_the_server_or_refused(quick, target, table):
    made = guarded(quick, target, ROWS)
    delete = f"DELETE FROM {table}"
    with Wire(made, client_encoding="UTF8") as wire:
        wire.send(parse("é" * 40, delete), SYNC, message(b"Q", text(f"PREPARE été AS {delete}")))
        assert kinds(until_ready(wire, 2)) == "1 Z:I C:PREPARE Z:I"
        assert run(wire, "é" * 30) == "E:42501 Z:I"  # not known
        assert run(wire, "é" * 31 + "è" * 9) == "2 E:42501 Z:I"  # which begin with the same byte
        assert run(wire, "été") == "2 E:42501 Z:I"
        wire.send(parse("", "SET client_encoding = LATIN1"), bind("", ""), execute(""),
                  bind("", "été"), execute(""), SYNC)
        assert kinds(until_ready(wire)) == "1 2 C:SET E:42602 Z:I"
        wire.ask("SET client_encoding = LATIN1")
        assert run(wire, "été") == "E:42602 Z:I"
        wire.send(message(b"Q", "EXECUTE été".encode("latin1") + b"\0"))
        assert kinds(until_ready(wire)) == "E:42602 Z:I"
        assert wire.ask("SELECT 'é'") == [("é",)]
    assert count(target, table) == 20


def once(name, statement):
    """Prepared by a message, and run by the portal of that name."""
    return [parse(name, statement), bind(name, name), execute(name)]


EXECUTES = {
    "bound before": lambda again: [parse("e", "EXECUTE s"), bind("p", "e"), *again, execute("p")],
    "bound behind": lambda again: [parse("e", "EXECUTE s"), *again, bind("p", "e"), execute("p")],
    "unnamed": lambda again: [parse("", "EXECUTE s"), *again, bind("", ""), execute("")],
    "flushed": lambda again: [parse("e", "EXECUTE s"), message(b"H"), bind("p", "e"),
                              message(b"H"), *again, message(b"H"), execute("p")],
    "by a message": lambda again: [bind("", "s"), execute(""), *again, bind("", "s"), execute("")],
    "explained": lambda again: [*again, *once("x", "EXPLAIN ANALYZE EXECUTE s")],
    "as a query": lambda again: [*again, message(b"Q", text("EXECUTE s"))],
    "behind a failure": lambda again: [*once("x", "SELECT 1 / 0"), SYNC, *again,
                                       *once("y", "EXECUTE s")],
}


@pytest.mark.parametrize("way", EXECUTES)
def test_an_execute_of_what_was_prepared_anew_in_the_batch_is_judged_again(quick, target, table,
                                                                           way):
    again = [*once("d", "DEALLOCATE s"), *once("r", f"PREPARE s AS DELETE FROM {table}")]
    with Wire(guarded(quick, target, ROWS)) as wire:
        wire.ask("PREPARE s AS SELECT 1")
        wire.send(*EXECUTES[way](again), SYNC, message(b"Q", text("SELECT 'end'")))
        told = ""
        while "end" not in told:
            kind, body = wire.read()
            told += kinds([(kind, body)]) + (" end" if b"end" in body else " ")
        assert "E:42501" in told and "DELETE" not in told, told
    assert count(target, table) == 20


def test_long_names_are_masked_and_not_refused(quick, target, table):
    with Wire(masked(quick, target, column(f"public.{table}.secret"))) as wire:
        name = "s" * 90
        wire.send(parse(name + "1", f"SELECT secret FROM {table} WHERE n = 1"),
                  bind("p" * 90, name + "2"), execute("p" * 63), SYNC)
        assert rows_of(until_ready(wire)) == [("[REDACTED]",)]
