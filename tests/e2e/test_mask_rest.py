# SPDX-License-Identifier: MIT
"""A session with a column rule passes as one without rules while what it says is known to reach
nothing masked (src/protocol/postgres/pg_filter_rest.c): what ends that, and when it must not be."""
import concurrent.futures
import struct
import time

import pytest

from api import unique
from native import OwnDatabase, credential
from pgwire import Wire, message, text

SECRET = "Okapi-2210-ladder"
PLACE = f"""
    CREATE TABLE plain AS SELECT i AS id, 'note ' || i AS note FROM generate_series(1, 9) i;
    CREATE TABLE hidden AS SELECT i AS id, '{SECRET}'::text AS secret FROM generate_series(1, 9) i;
    CREATE TABLE later AS SELECT 1 AS id, '{SECRET}'::text AS word;
    CREATE TABLE copied (id int, word text);
    CREATE TABLE t1 AS SELECT 'open' AS secret; CREATE TABLE t2 AS SELECT '{SECRET}'::text AS secret;
    CREATE VIEW turned AS SELECT note AS word FROM plain;
    CREATE FUNCTION tell() RETURNS void LANGUAGE sql AS $$ SELECT pg_notify('way', 'called') $$"""
QUIET = "select note from plain where id = 3 and note <> 'a'"


@pytest.fixture(scope="module")
def database(postgres):
    return OwnDatabase(postgres, PLACE)


@pytest.fixture
def made(quick, database):
    name = database.connection(quick)
    connection_id = quick.get(f"/connections/{name}").json["id"]
    answer = quick.post("/datamasking-rules", {
        "name": unique("rule"), "connection_ids": [connection_id],
        "columns": [{"name": "hidden.secret"}, {"name": "t2.secret"}]})
    assert answer.status == 201, answer
    found = credential(quick, name)
    return found, connection_id


def simple(statement):
    return [message(b"Q", text(statement))]


def prepare(name, statement):
    return [message(b"P", text(name, statement) + struct.pack("!H", 0))]


def run(name, portal="", rows=0):
    return [message(b"B", text(portal, name) + bytes(6)), message(b"D", b"P" + text(portal)),
            message(b"E", text(portal) + struct.pack("!I", rows))]


def extended(statement):
    return [*prepare("", statement), *run(""), message(b"S")]


def said(wire, *messages):
    """All that comes up to ReadyForQuery."""
    wire.send(*messages)
    return come(wire)


def come(wire):
    came = b""
    while True:
        kind, body = wire.read()
        came += kind + body
        if kind == b"Z":
            return came


def rest(wire, form=simple):
    """From the second of its like on the session is at rest."""
    for number in 3, 4, 5:
        came = said(wire, *form(QUIET.replace("3", str(number)).replace("'a'", f"'b{number}'")))
        assert f"note {number}".encode() in came, came


BEHIND = [
    "select secret from hidden where id = 3 and secret <> 'a'",
    "select note from plain where id = 3 and note <> 'a' union all select secret from hidden",
    "select note from plain where id = 3 and note <> ''||'a' or exists (select secret from hidden)",
    "select note as \"'\", secret from plain, hidden where note <> 'a'",
    "select note from plain where id = 3 and note <> 'a' -- '\nunion select secret from hidden --'",
    "select note from plain where id = 3 and note <> $$a$$ union select secret from hidden",
    "select note from plain where id = 3 and note <> E'\\'' union select secret from hidden --'",
    "select note from plain where id = 3 and note <> 'a'; select secret from hidden",
    "select note from plain where id = (select max(length(secret)) from hidden) or note <> 'a'",
    "copy hidden to stdout", "table hidden", "explain analyze select * from hidden where secret = 'x'",
    "do $$ begin raise notice '%', (select secret from hidden limit 1); end $$",
    "select secret::int from hidden", "with q as (select secret w from hidden) select w from q",
    "insert into copied select id, secret from hidden", "select * from hidden for update",
    "delete from hidden where false returning secret; select secret from hidden",
    "declare c cursor with hold for select secret from hidden; fetch all from c",
]


# What passes, and what differs from it only where numbers and strings would be if one did not look.
ALIKE = [
    ("select secret from t1", "select secret from t2"),
    ('select secret from "t1"', 'select secret from "t2"'),
    ("select note as \"'b\", id from plain where note <> 'a'",
     "select secret as \"'b\", id from hidden where secret <> 'a'"),
    ("select 1 /* ' */, note from plain where note <> 'a'",
     "select 1 /* ' */, secret from hidden where secret <> 'a'"),
    ("select 1 -- '\n, note from plain where note <> 'a'",
     "select 1 -- '\n, secret from hidden where secret <> 'a'"),
    ("select $a1$'$a1$, note from plain where note <> 'a'",
     "select $a1$'$a1$, secret from hidden where secret <> 'a'"),
    ("select $$'$$, note from plain where note <> $$'$$",
     "select $$'$$, secret from hidden where secret <> $$'$$"),
    ("select E'\\'', note from plain where note <> 'a'",
     "select E'\\'', secret from hidden where secret <> 'a'"),
    ("select U&\"\\006eote\" from plain", "select U&\"\\0073ecret\" from hidden"),
    ("select note from plain where id = 1 union select '1'",
     "select note from plain where id = 1 union select secret from hidden where secret <> '1'"),
    ("select 1e1, 1 t1 from plain, t1", "select 1e1, secret t1 from plain, t2"),
]


@pytest.mark.parametrize("form", [simple, extended])
def test_what_only_looks_alike(made, form):
    with Wire(made[0]) as wire:
        for quiet, loud in ALIKE:
            for _ in range(3):
                said(wire, *form(quiet))
            assert SECRET.encode() not in said(wire, *form(loud)), loud


@pytest.mark.parametrize("form", [simple, extended])
def test_what_is_not_of_the_like_is_looked_at(made, form):
    with Wire(made[0]) as wire:
        for statement in BEHIND:
            rest(wire, form)
            came = said(wire, *form(statement))
            assert SECRET.encode() not in came, statement
        rest(wire, form)
        assert b"note 7" in said(wire, *form(QUIET.replace("3", "7")))
        assert b"ERROR" in said(wire, *form(QUIET.replace("3", "3/0")))
        rest(wire, form)


def test_batches_and_names(made):
    with Wire(made[0]) as wire:
        said(wire, *prepare("quiet", "select note from plain where id < 5"), message(b"S"))
        said(wire, *prepare("loud", "select secret from hidden"), message(b"S"))
        for _ in range(3):
            assert b"note 1" in said(wire, *run("quiet"), message(b"S"))
            assert SECRET.encode() not in said(wire, *run("loud"), message(b"S"))
            assert SECRET.encode() not in said(wire, *run("quiet"), *run("loud"), message(b"S"))
            assert b"note 1" in said(wire, *run("quiet"), message(b"S"))
        # The name stands for another one from here on.
        assert b"note 1" in said(wire, *run("quiet"), message(b"S"))
        said(wire, *simple("deallocate quiet"))
        said(wire, *simple("prepare quiet as select secret as note from hidden"))
        assert SECRET.encode() not in said(wire, *run("quiet"), message(b"S"))
        # Portals that go on.
        rest(wire, extended)
        said(wire, *simple("begin"))
        rest(wire, extended)
        came = said(wire, *prepare("", "select note from plain order by id"), *run("", rows=2),
                    message(b"S"))
        assert b"note 2" in came and b"note 3" not in came
        came = said(wire, message(b"E", text("") + bytes(4)), message(b"S"))
        assert b"note 3" in came
        rest(wire, extended)
        came = said(wire, *prepare("", "select secret from hidden"), *run("", "p", rows=2),
                    message(b"S"))
        assert SECRET.encode() not in came
        rest(wire, extended)
        assert SECRET.encode() not in said(wire, message(b"E", text("p") + bytes(4)), message(b"S"))
        assert b"T" == said(wire, *simple("select 1"))[-1:]
        assert b"I" == said(wire, *simple("commit"))[-1:]


def test_in_pieces_and_pipelines(made):
    with Wire(made[0]) as wire:
        rest(wire)
        for byte in simple(QUIET)[0]:
            wire.send(bytes([byte]))
        assert b"note 3" in come(wire)
        rest(wire)
        wire.send(*simple(QUIET), *simple("select secret from hidden"), *simple(QUIET))
        came = come(wire), come(wire), come(wire)
        assert SECRET.encode() not in b"".join(came) and b"note 3" in came[0] and b"note 3" in came[2]
        rest(wire)
        # While its answer comes, another follows.
        for statement, needle in (("select secret from hidden", b"SELECT 9"), (QUIET, b"note 3")):
            slow = "select note, pg_sleep(0.2) from plain where id = 3"
            for _ in range(2):
                said(wire, *simple(slow))
            wire.send(*simple(slow))
            time.sleep(0.05)
            wire.send(*simple(statement))
            assert b"note 3" in come(wire)
            came = come(wire)
            assert needle in came and SECRET.encode() not in came


def test_the_catalog_changes(made, database):
    """By another session, before and while something runs."""
    slow = "select note, pg_sleep(0.4) from plain where id = 3"
    with Wire(made[0]) as wire, Wire(made[0]) as other, \
            concurrent.futures.ThreadPoolExecutor() as pool:
        for form in simple, extended:
            for statement in ("select word from later", slow, "select word from turned",
                              "insert into copied select id, word from later returning word"):
                for _ in range(3):
                    said(wire, *form(statement))
            # What has nothing to do with it comes as it is, though the catalog is another one.
            answer = pool.submit(said, wire, *form(slow))
            time.sleep(0.1)
            said(other, *simple(f"create table {unique('t')} (a int)"))
            assert b"note 3" in answer.result()
            rest(wire, form)
            said(other, *simple("create or replace view turned as select secret as word from hidden"))
            assert SECRET.encode() not in said(wire, *form("select word from turned"))
            rest(wire, form)
            said(other, *simple("create or replace view turned as select note as word from plain"))
            rest(wire, form)


def test_notifications_and_settings(made):
    with Wire(made[0]) as wire, Wire(made[0]) as other:
        rest(wire)
        said(wire, *simple("listen way"))
        rest(wire)
        said(other, *simple(f"notify way, '{SECRET}'"))
        time.sleep(0.3)
        assert SECRET.encode() not in said(wire, *simple(QUIET))
    with Wire(made[0]) as wire:
        rest(wire)
        said(wire, *simple("set standard_conforming_strings = off"))
        assert SECRET.encode() not in said(wire, *simple(
            "select note from plain where note <> 'a\\' union select secret from hidden --'"))
        said(wire, *simple("set client_encoding = 'SJIS'"))
        rest(wire)
        assert SECRET.encode() not in said(wire, *simple("select secret from hidden"))


def test_other_rules(quick, made):
    """They hold from the next statement on, also for a session at rest."""
    found, connection_id = made
    with Wire(found) as wire:
        rest(wire)
        rule = quick.post("/datamasking-rules", {
            "name": unique("rule"), "columns": [{"name": "plain.note"}],
            "connection_ids": [connection_id]})
        assert rule.status == 201, rule
        deadline = time.monotonic() + 20
        while b"note 3" in said(wire, *simple(QUIET)):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        guard = quick.post("/guardrails", {
            "name": unique("rail"), "connection_ids": [connection_id],
            "input": {"rules": [{"type": "deny_words_list", "words": ["wombat"]}]}})
        assert guard.status == 201, guard
        while b"blocked" not in said(wire, *simple("select 'wombat'")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
