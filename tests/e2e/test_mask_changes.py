# SPDX-License-Identifier: MIT
"""A column rule about a table that is not there, while sessions change the catalog: whoever makes
the table, by whatever words, tells nobody what is in it; and what has nothing to do with it comes
back as it is."""
import concurrent.futures
import struct
import threading
import time

from api import unique
from native import OwnDatabase, credential
from pgwire import Wire, message, text

SECRET = "Walrus-4417-teapot"
CREATE = f"create table vault.cards as select '{SECRET}'::text as number"
DROP = "drop table vault.cards"


def words(*statements):
    """Words of a block that puts them together while it runs."""
    return "".join("execute " + "||".join(f"$q${part}$q$" for part in parts_of(statement)) + "; "
                   for statement in statements)


def parts_of(statement):
    return [statement[i:i + 3] for i in range(0, len(statement), 3)]


def dynamic(*statements):
    return f"do $do$ begin {words(*statements)} end $do$"


STAY = "perform pg_sleep(0.3);"
# What one session says, or several that begin one after the other; a second of pause between.
ATTACKS = {
    "by its name": [[CREATE, DROP]],
    "in a block that builds words": [[dynamic(CREATE), dynamic(DROP)]],
    "and ends it in one that commits on its way": [
        [f"do $do$ begin {words(CREATE)} commit; {STAY} {words(DROP)} "
         "commit; end $do$"]],
    "in a procedure": [["call make_and_drop()"]],
    "in a procedure that is given the words": [[
        f"call run($q${CREATE}$q$)", f"call run($q${DROP}$q$)"]],
    "in a transaction": [["begin", CREATE, "commit", "begin", DROP, "commit"]],
    "several at once": [[f"{CREATE}; select pg_sleep(0.3); {DROP}"],
                        [f"begin; {CREATE}; commit; select pg_sleep(0.3); {DROP}"]],
    "by moving it there": [["alter table store.cards set schema vault",
                            "alter table vault.cards set schema store"]],
    "by another name of the table": [["alter table vault.letters rename to cards",
                                      "alter table vault.cards rename to letters"]],
    "by another name of the schema": [[
        "alter schema vault rename to away", "alter schema store rename to vault",
        "alter schema vault rename to store", "alter schema away rename to vault"]],
    "by another name of the column": [[
        "alter table vault.letters rename to cards", "alter table vault.cards rename note to plain",
        "alter table vault.cards rename number to note",
        "alter table vault.cards rename note to number",
        "alter table vault.cards rename plain to note",
        "alter table vault.cards rename to letters"]],
    "by a search path": [["set search_path to vault", CREATE.replace("vault.", ""),
                          DROP.replace("vault.", "")]],
    "while a block that drops it runs": [
        [f"do $do$ begin perform pg_sleep(0.5); {words(DROP)} exception when others then "
         "end $do$"], [dynamic(CREATE), "select pg_sleep(0.5)", DROP]],
    "with a view in one block": [[
        dynamic(CREATE, "create or replace view shown as select number as note from vault.cards"),
        dynamic("create or replace view shown as select note from plain", DROP)]],
    "and takes it back": [["begin", CREATE, "rollback"], ["begin", dynamic(CREATE), "rollback"]],
}


MAKING = threading.Lock()
PLACE = f"""
    CREATE SCHEMA vault; CREATE SCHEMA store;
    CREATE TABLE plain AS SELECT 'as it is'::text AS note;
    CREATE VIEW shown AS SELECT note FROM plain;
    CREATE VIEW placed AS SELECT ctid, tableoid::regclass AS name FROM plain;
    CREATE TABLE store.cards AS SELECT '{SECRET}'::text AS number;
    CREATE TABLE vault.letters AS SELECT '{SECRET}'::text AS number, ''::text AS note;
    CREATE FUNCTION peek() RETURNS text LANGUAGE plpgsql AS $$
      DECLARE found text := 'nothing'; last timestamptz := clock_timestamp() + '1.3 s';
      BEGIN
        WHILE clock_timestamp() < last LOOP
          BEGIN
            EXECUTE 'SELECT number FROM vau' || 'lt.car' || 'ds' INTO found;
            EXIT;
          EXCEPTION WHEN OTHERS THEN PERFORM pg_sleep(0.002);
          END;
        END LOOP;
        PERFORM pg_sleep(0.7);
        RETURN found;
      END $$;
    CREATE PROCEDURE run(words text) LANGUAGE plpgsql AS $$ BEGIN EXECUTE words; END $$;
    CREATE PROCEDURE make_and_drop() LANGUAGE plpgsql AS $$ BEGIN
      EXECUTE '{CREATE.replace("'", "''").replace("cards", "car'||'ds")}'; COMMIT;
      PERFORM pg_sleep(0.3); EXECUTE '{DROP.replace("cards", "car'||'ds")}'; COMMIT; END $$"""


def make_place(postgres):
    """A database without vault.cards. One at a time: two GRANTs on a schema at once fail."""
    with MAKING:
        return OwnDatabase(postgres, PLACE)


def masked(quick, database, column):
    name = database.connection(quick)
    connection_id = quick.get(f"/connections/{name}").json["id"]
    answer = quick.post("/datamasking-rules", {"name": unique("rule"), "columns": [{"name": column}],
                                               "connection_ids": [connection_id]})
    assert answer.status == 201, answer
    return credential(quick, name)


def extended(statement):
    return [message(b"P", text("", statement) + struct.pack("!H", 0)),
            message(b"B", text("", "") + bytes(6)), message(b"D", b"P\0"),
            message(b"E", text("") + bytes(4)), message(b"S")]


def simple(statement):
    return [message(b"Q", text(statement))]


def said(wire, form, statement):
    """All that comes up to ReadyForQuery."""
    wire.send(*form(statement))
    came = b""
    while True:
        kind, body = wire.read()
        came += kind + body
        if kind == b"Z":
            return came


def change(made, statements, form):
    with Wire(made) as wire:
        return [said(wire, form, statement) for statement in statements]


def seen(made, form, statements):
    with Wire(made) as wire:
        return b"".join(said(wire, form, statement) for statement in statements)


def attack(reader, writer, sessions, form):
    """What readers got while each session said its own; and that all passes as it is later."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        looks = [pool.submit(seen, reader, simple, ["select peek()"]),
                 pool.submit(seen, reader, extended, ["select peek() || ''"]),
                 pool.submit(seen, reader, simple, ["select 1; select peek(); select peek()"]),
                 pool.submit(seen, reader, simple, ["select note from shown"] * 100),
                 pool.submit(seen, reader, simple, ["copy (select peek()) to stdout"])]
        time.sleep(0.1)
        changes = []
        for statements in sessions:
            changes.append(pool.submit(change, writer, statements, form))
            time.sleep(0.1)
        for one in changes:
            one.result()
        return b"".join(look.result() for look in looks)


def try_one(quick, postgres, how, form, about="vault.cards.number", writer_about=None):
    """Whether the value came, and whether all else comes as it is."""
    database = make_place(postgres)
    made = masked(quick, database, about)
    writer = made if writer_about is None else masked(quick, database, writer_about)
    with Wire(made) as wire:
        assert wire.ask("select note, upper(note) from plain") == [("as it is", "AS IT IS")]
    came = attack(made, writer, ATTACKS[how], form)
    with Wire(made) as wire:
        as_it_is = wire.ask("select note from plain"), wire.ask("select max(note) from plain")
    return SECRET.encode() in came, as_it_is == ([("as it is",)], [("as it is",)])


def try_all(calls):
    with concurrent.futures.ThreadPoolExecutor(7) as pool:
        tries = {name: pool.submit(try_one, *call) for name, call in calls.items()}
        return {name: one.result() for name, one in tries.items()}


def test_who_makes_a_masked_table_tells_nobody(quick, postgres):
    calls = {(how, form.__name__): (quick, postgres, how, form)
             for how in ATTACKS for form in (simple, extended)
             if form is simple or how != "several at once"}
    # A session whose own rule is about something else, which does not know what it does.
    for how in ("by its name", "in a block that builds words", "in a transaction"):
        calls[how, "by others"] = (quick, postgres, how, simple, "vault.cards.number", "a.b.c")
    assert try_all(calls) == dict.fromkeys(calls, (False, True))


def test_the_attempts_would_tell_it(quick, postgres):
    """Where the rule is about something else."""
    hows = ("by its name", "in a block that builds words", "by moving it there")
    found = try_all({how: (quick, postgres, how, simple, "a.b.c") for how in hows})
    assert found == dict.fromkeys(hows, (True, True))
