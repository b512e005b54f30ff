# SPDX-License-Identifier: MIT
"""A statement that is no SQL is the server's syntax error, word for word and with its place, whatever
rules there are; one that is SQL and refused is refused in our words. Nothing of either runs."""
import struct

import pytest

from api import unique
from native import credential, psql, sql
from pgwire import Refused, Wire, message, text

TYPOS = (
    "selec 1", "delete fro {t} where id=1", "update {t} sett id=1", "delete form {t}", "select 1 +",
    "select * frm {t} where", "insert int {t} values (1)", "updat {t} set id = 1", "truncat {t}",
    "select (1", "select 'abc", 'select "abc', "begin; selec 1; commit", "create tabel {t}(a int)",
    "with x as (select 1 select 1", "explain selec 1", "delete from {t} wher id = 1",
    "copy {t} form stdin", "drop tabel {t}", "select 1;; delet", "foo", "foo bar baz", "vacum",
    "SELECT $$abc", "/* open", "delete from {t} where", "update {t} set id = where secret = 'x'",
    "grant on {t} to", "prepare p as selec 1", "execute nope(", "delete from {t}; )",
    "declare c cursor fr select 1", "select 'äöü', '€' +", "delete from {t} where ä ä ä",
    "alter tabel {t} add x int", "drop table {t} cascde; select 1", "select 1 -- x\n frm {t}",
    "delete from only {t} *", "frobnicate {t}", "do $$ begin end", "create function f() returns int begin atomic select 1; delete from {t}",
)
# What each refuses, that is SQL.
SOUND = ("delete from {t}", "truncate {t}", "drop table {t}", "/* a */ delete from {t}; select 1")


def outcome(wire, *messages):
    wire.send(*messages)
    try:
        wire.until_ready()
    except Refused as refused:
        return refused.fields, wire.status
    return None, wire.status


def simple(statement):
    return [message(b"Q", text(statement))]


def extended(statement):
    return [message(b"P", text("", statement) + struct.pack("!H", 0)),
            message(b"B", text("", "") + bytes(6)), message(b"E", text("") + bytes(4)), message(b"S")]


@pytest.fixture(scope="module")
def table(target):
    name = unique("typos").replace("-", "_")
    sql(target.server, f"CREATE TABLE {name} (id int, secret text); INSERT INTO {name} VALUES (1, 'x');"
                       f"GRANT ALL ON {name} TO {target.user}")
    return name


@pytest.fixture(scope="module")
def made(quick, target, table):
    """Connections with all kinds of rules: name to credential."""
    packs = [pack["name"] for pack in quick.get("/rulepacks").json if not pack["name"].startswith("mysql")]
    kinds = {**{pack: None for pack in packs},
             "unknown": {"rules": [{"type": "sql", "name": "all", "operations": ["update", "delete",
                                                                                "truncate", "drop"],
                                    "unknown": "block", "message": "never"}]},
             "columns": {"columns": [{"name": f"{table}.secret"}], "refuse_predicates": True}}
    found = {}
    for kind, rule in kinds.items():
        name = target.connection(quick)
        connection_id = quick.get(f"/connections/{name}").json["id"]
        if rule is None:
            answer = quick.post(f"/rulepacks/{kind}/attach", {"connection_names": [name]})
        elif "rules" in rule:
            answer = quick.post("/guardrails", {"name": unique("rail"), "input": rule,
                                                "connection_ids": [connection_id]})
        else:
            answer = quick.post("/datamasking-rules", {"name": unique("rule"), **rule,
                                                       "connection_ids": [connection_id]})
        assert answer.status in (200, 201), answer
        found[kind] = credential(quick, name)
    return found


@pytest.mark.parametrize("form", [simple, extended])
def test_a_typo_is_the_servers_syntax_error(quick, target, table, made, form):
    plain = Wire(credential(quick, target.connection(quick)))
    for begins in (False, True):
        for kind, one in made.items():
            with Wire(one) as wire:
                for typo in TYPOS:
                    statement = typo.format(t=table)
                    for each in (plain, wire) if begins else ():
                        each.ask("BEGIN")
                    told = outcome(wire, *form(statement))
                    assert told == outcome(plain, *form(statement)), (kind, statement)
                    assert told[0]["C"] == "42601", (statement, told)
                    for each in (plain, wire) if begins else ():
                        each.ask("ROLLBACK")
    assert plain.ask(f"SELECT count(*) FROM {table}") == [("1",)]


@pytest.mark.parametrize("form", [simple, extended])
def test_what_is_sql_is_refused_in_our_words(target, table, made, form):
    with Wire(made["unknown"]) as wire:
        for statement in SOUND:
            told, status = outcome(wire, *form(statement.format(t=table)))
            assert told["C"] == "42501" and "never" in told["M"] and status == b"I", told
            assert "P" not in told and "multiple" not in str(told)
    assert sql(target.server, f"SELECT count(*) FROM {table}").strip() == "1"


def test_words_are_refused_in_whatever_they_stand(quick, target):
    name = target.connection(quick)
    rule = {"type": "deny_words_list", "name": "words", "words": ["geheim"], "message": "never"}
    answer = quick.post("/guardrails", {
        "name": unique("rail"), "connection_ids": [quick.get(f"/connections/{name}").json["id"]],
        "input": {"rules": [rule]}})
    assert answer.status == 201, answer
    with Wire(credential(quick, name)) as wire:
        told, _ = outcome(wire, *simple("selec geheim"))
        assert told["C"] == "42501" and "never" in told["M"]


def test_psql_points_at_the_place(table, made):
    for one in made.values():
        done = psql(one, f"delete fro {table}\nwhere id = 1", check=False)
        assert 'syntax error at or near "fro"' in done.stderr and "LINE 1: delete fro" in done.stderr, done
        assert "\n               ^" in done.stderr, done.stderr
