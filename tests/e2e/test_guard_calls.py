# SPDX-License-Identifier: MIT
"""Calls by identity: what bears a name of the database's own and is somebody else's, and what runs
functions without calling any, is unknown to rules that rest on it. Asked of a real server's
catalog; the statement never arrives."""
import pytest

from api import unique
from native import OwnDatabase, credential, sql
from pgwire import Refused, Wire, message, rows_of, text
from test_guard_bypass import extended, run_extended, run_simple

RULE = {"type": "sql", "name": "no deletes", "operations": ["delete"]}

# Each runs a function that writes a mark, and none says so.
STRANGE = [
    "SELECT lower(1)", "SELECT lower(id) FROM plain", "SELECT * FROM lower(1)",
    "SELECT id FROM plain WHERE lower(id) = 1", "SELECT id FROM plain ORDER BY lower(id)",
    "SELECT (id).lower FROM plain", "SELECT lower('A')", "SELECT p.abs FROM plain p", "SELECT (p).abs FROM plain p",
    "SELECT evil.upper('x')", "SELECT upper('x')", "SELECT count(1, 2)",
    "SELECT substring(1)", "SELECT cube(1)", "SELECT round(1, 2, 3)", "SELECT coalesce(lower(1), 2)",
    "SELECT 1 @+ 1", "SELECT 1 OPERATOR(public.@+) 1", "SELECT id FROM plain WHERE id @+ 1 > 0",
    "SELECT 1::pair", "SELECT CAST(1 AS pair)", "SELECT '7'::checked", "SELECT checked '7'",
    "SELECT CAST('7' AS public.checked)", "SELECT ARRAY['7']::checked[]",
    "TABLE marked", "SELECT * FROM marked", "SELECT * FROM deeper", "TABLE evil.farther",
    "SELECT id FROM plain WHERE id IN (SELECT a FROM deeper)",
    "WITH w AS (SELECT * FROM marked) SELECT * FROM w", "COPY (TABLE marked) TO STDOUT",
    "EXPLAIN ANALYZE SELECT * FROM marked", "DECLARE c CURSOR FOR TABLE marked",
    "PREPARE p AS SELECT lower(1)", "INSERT INTO defaults VALUES (DEFAULT)",
    "INSERT INTO defaults DEFAULT VALUES", "INSERT INTO triggered VALUES (1)",
    "UPDATE triggered SET id = 2 WHERE id = 1", "INSERT INTO checks VALUES (1)",
    "INSERT INTO ruled VALUES (1)", "SELECT * FROM private", "UPDATE parts SET id = 1 WHERE id = 2",
    "INSERT INTO deeper VALUES (1)", "SELECT * FROM nowhere",
    "MERGE INTO triggered t USING plain p ON t.id = p.id WHEN MATCHED THEN UPDATE SET id = 1",
    "COPY triggered FROM STDIN", "SELECT id::text::checked FROM plain",
]

# Ordinary ones, of an application and of people.
PLAIN = [
    "SELECT 1", "SELECT initcap('A'), count(*) FROM plain",
    "SELECT p.id, p.name FROM plain p JOIN kept k USING (id) WHERE p.id = 1 AND k.name LIKE 'a%'",
    "INSERT INTO plain VALUES (2, 'b')", "UPDATE plain SET name = 'c' WHERE id = 2",
    "SELECT now(), 1 + 2, 'a' || 'b', '1'::int, CAST('2020-01-01' AS date)",
    "SELECT relname FROM pg_catalog.pg_class WHERE oid = 'plain'::regclass",
    "SELECT table_name FROM information_schema.tables LIMIT 1", "SELECT * FROM seen",
    "SELECT mood FROM moods WHERE mood = 'glad'::mood", "CREATE TABLE fresh (i int DEFAULT 1)",
    "INSERT INTO fresh VALUES (2)", "SELECT * FROM fresh", "CREATE TEMP TABLE mine AS SELECT 1 AS a",
    "SELECT max(name), min(id), sum(id) FROM plain GROUP BY id HAVING count(*) > 0",
    "SELECT jsonb_build_object('a', id) -> 'a' FROM plain", "SET search_path = public",
    "BEGIN", "CREATE TABLE made_here (i int)", "INSERT INTO made_here VALUES (1)", "COMMIT",
    "TABLE made_here",
]


@pytest.fixture(scope="module")
def shop(postgres):
    target = OwnDatabase(postgres, """
        CREATE TABLE marks (id int); CREATE TABLE plain (id int, name text);
        CREATE TABLE kept (id int, name text); INSERT INTO plain VALUES (1, 'a');
        CREATE VIEW seen AS SELECT id, lower(name) AS name FROM plain;
        CREATE TYPE mood AS ENUM ('sad', 'glad'); CREATE TABLE moods (mood mood);
        CREATE FUNCTION mark() RETURNS int LANGUAGE sql AS 'INSERT INTO marks VALUES (1) RETURNING id';
        CREATE FUNCTION lower(int) RETURNS int LANGUAGE sql AS 'SELECT mark()';
        CREATE FUNCTION abs(plain) RETURNS int LANGUAGE sql AS 'SELECT mark()';
        CREATE FUNCTION "substring"(int) RETURNS int LANGUAGE sql AS 'SELECT mark()';
        CREATE FUNCTION "cube"(int) RETURNS int LANGUAGE sql AS 'SELECT mark()';
        CREATE FUNCTION count(int, int) RETURNS int LANGUAGE sql AS 'SELECT mark()';
        CREATE FUNCTION round(int, VARIADIC int[]) RETURNS int LANGUAGE sql AS 'SELECT mark()';
        CREATE SCHEMA evil;
        CREATE FUNCTION evil.upper(text) RETURNS text LANGUAGE sql AS 'SELECT mark()::text';
        CREATE FUNCTION adds(int, int) RETURNS int LANGUAGE sql AS 'SELECT mark()';
        CREATE OPERATOR @+ (FUNCTION = adds, LEFTARG = int, RIGHTARG = int);
        CREATE TYPE pair AS (a int, b int);
        CREATE FUNCTION to_pair(int) RETURNS pair LANGUAGE sql AS 'SELECT ROW(mark(), 1)::pair';
        CREATE CAST (int AS pair) WITH FUNCTION to_pair(int);
        CREATE FUNCTION good(int) RETURNS boolean LANGUAGE sql AS 'SELECT mark() > 0';
        CREATE DOMAIN checked AS int CHECK (good(VALUE));
        CREATE VIEW marked AS SELECT mark() AS a; CREATE VIEW deeper AS SELECT a FROM marked;
        CREATE VIEW evil.farther AS SELECT a FROM deeper;
        CREATE TABLE defaults (id int DEFAULT mark()); CREATE TABLE checks (id int CHECK (good(id)));
        CREATE TABLE triggered (id int PRIMARY KEY);
        CREATE FUNCTION fires() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN PERFORM mark(); RETURN NEW; END $$;
        CREATE TRIGGER t BEFORE INSERT OR UPDATE ON triggered FOR EACH ROW EXECUTE FUNCTION fires();
        CREATE TABLE ruled (id int);
        CREATE RULE r AS ON INSERT TO ruled DO ALSO SELECT mark();
        CREATE TABLE private (id int); ALTER TABLE private ENABLE ROW LEVEL SECURITY;
        ALTER TABLE private FORCE ROW LEVEL SECURITY;
        CREATE POLICY p ON private USING (good(id)); INSERT INTO private VALUES (1) ;
        CREATE TABLE parts (id int) PARTITION BY LIST (id);
        CREATE TABLE part PARTITION OF parts FOR VALUES IN (1, 2);
        CREATE TRIGGER t BEFORE UPDATE ON part FOR EACH ROW EXECUTE FUNCTION fires();
        TRUNCATE marks;""")
    target.marks = lambda: target.ask("SELECT count(*) FROM marks")
    return target


def guarded(gateway, shop, rule):
    name = shop.connection(gateway.admin)
    found = gateway.admin.get(f"/connections/{name}").json
    answer = gateway.admin.post("/guardrails", {
        "name": unique("rail"), "input": {"rules": [rule]}, "connection_ids": [found["id"]]})
    assert answer.status == 201, answer
    return credential(gateway.admin, name)


RUNS = {"simple": run_simple, "extended": run_extended}


@pytest.mark.parametrize("form", RUNS)
def test_what_is_somebody_elses_is_unknown(gateway, shop, form):
    passed = []
    with Wire(guarded(gateway, shop, RULE)) as wire:
        run_simple(wire, "SET search_path = evil, public")
        for way in STRANGE:
            try:
                RUNS[form](wire, way)
                passed.append(way)
            except Refused as refused:
                if refused.fields["C"] != "42501" or "guard rail" not in refused.fields["M"]:
                    passed.append(f"{way}: {refused.fields}")
    assert not passed, "\n".join(passed)
    assert shop.marks() == "0"


@pytest.mark.parametrize("form", RUNS)
def test_what_is_the_databases_own_passes(gateway, shop, form):
    stopped = []
    with Wire(guarded(gateway, shop, RULE)) as wire:
        for statement in PLAIN:
            try:
                RUNS[form](wire, statement)
            except Refused as refused:
                stopped.append((statement, refused.fields))
    shop.ask("DROP TABLE IF EXISTS fresh, made_here")
    assert not stopped, "\n".join(map(str, stopped))


def test_what_is_defined_meanwhile_is_seen(gateway, shop):
    """By this session within a transaction, by another session of the gateway, by anybody when it
    would make a statement pass."""
    makes = "CREATE FUNCTION initcap(int) RETURNS int LANGUAGE sql AS 'SELECT mark()'"
    rule = {**RULE, "safe_functions": ["mark"]}
    made = guarded(gateway, shop, rule)
    with Wire(made) as wire, Wire(made) as other:
        assert run_simple(wire, "SELECT initcap('a')") == [("A",)]
        run_simple(wire, "BEGIN")
        run_simple(wire, makes)
        for run in RUNS.values():
            with pytest.raises(Refused) as refused:
                run(wire, "SELECT initcap(1)")
            assert refused.value.fields["C"] in ("42501", "25P02")
        run_simple(wire, "ROLLBACK")
        wire.send(message(b"P", text("later", "SELECT initcap('b')") + b"\0\0"), message(b"S"))
        wire.until_ready()
        run_simple(other, makes)
        with pytest.raises(Refused) as refused:
            run_simple(wire, "SELECT initcap(1)")
        assert refused.value.fields["C"] == "42501"
        wire.send(message(b"B", text("", "later") + bytes(6)), message(b"E", text("") + bytes(4)),
                  message(b"S"))
        with pytest.raises(Refused) as refused:
            wire.until_ready()
        assert refused.value.fields["C"] == "42501"
        # What another has made, or taken away, is asked about before anything is blocked for it.
        shop.ask(f"SET ROLE {shop.user}; DROP FUNCTION initcap(int); CREATE TABLE late (i int)")
        assert run_simple(wire, "SELECT initcap('a')") == [("A",)]
        assert run_simple(wire, "SELECT count(*) FROM late") == [("0",)]
        shop.ask("DROP TABLE late")
    assert shop.marks() == "0"


def test_event_triggers_run_at_definitions(gateway, shop):
    made = guarded(gateway, shop, RULE)
    with Wire(made) as wire:
        run_simple(wire, "CREATE TABLE calm (i int)")
    shop.ask("""CREATE FUNCTION on_event() RETURNS event_trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM public.mark(); END $$;
        CREATE EVENT TRIGGER e ON ddl_command_end EXECUTE FUNCTION on_event();""")
    try:
        shop.ask("TRUNCATE marks")
        with Wire(made) as wire:
            for run in RUNS.values():
                with pytest.raises(Refused) as refused:
                    run(wire, "CREATE TABLE noisy (i int)")
                assert refused.value.fields["C"] == "42501"
    finally:
        shop.ask("DROP EVENT TRIGGER e; DROP TABLE IF EXISTS calm")
    assert shop.marks() == "0"


def test_what_extensions_bring_is_no_strangers(gateway, shop):
    shop.ask("CREATE EXTENSION citext")
    with Wire(guarded(gateway, shop, RULE)) as wire:
        for statement in ("SELECT max(name) FROM plain WHERE name = 'a'", "SELECT 'a'::citext",
                          "SELECT replace('a', 'b', 'c'), 'a' ~~ 'b'"):
            run_simple(wire, statement)
    shop.ask("DROP EXTENSION citext")


def test_who_cannot_be_asked_says_nothing(gateway, shop):
    """Where the catalog cannot be had, names are nobody's: blocked, and what names nothing passes."""
    rule = {**RULE, "name": "unasked"}
    made = guarded(gateway, shop, rule)
    with Wire(made) as wire:
        sql(shop.server, f"ALTER ROLE {shop.user} CONNECTION LIMIT 1")
        try:
            run_simple(wire, "SELECT 1")
            with pytest.raises(Refused) as refused:
                run_simple(wire, "SELECT initcap('a')")
            assert refused.value.fields["C"] == "42501"
        finally:
            sql(shop.server, f"ALTER ROLE {shop.user} CONNECTION LIMIT -1")
        assert run_simple(wire, "SELECT initcap('a')") == [("A",)]


def test_names_and_columns_are_asked_about_one_after_the_other(gateway, shop):
    """A batch whose first answer needs the catalog for its columns while the second needs it for a
    name."""
    made = guarded(gateway, shop, {**RULE, "name": "beside masking"})
    connection = gateway.admin.get(f"/connections/{made['connection_name']}").json
    answer = gateway.admin.post("/datamasking-rules", {
        "name": unique("mask"), "connection_ids": [connection["id"]],
        "columns": [{"name": "plain.name"}]})
    assert answer.status == 201, answer
    for statement in ("SELECT initcap('a')", "SELECT id FROM kept"):
        with Wire(made) as wire:
            first = [message(b"P", text("", "VALUES (1)") + bytes(2)),
                     message(b"B", text("", "") + bytes(6)), message(b"D", b"P" + text("")),
                     message(b"E", text("") + bytes(4)), message(b"H")]
            wire.send(*first, *extended("SELECT id, name FROM plain")[:-1], message(b"H"),
                      *extended(statement))
            found = rows_of(wire.until_ready())
            assert found[0] == ("1",) and all("a" != row[-1] for row in found[1:2]), found
            assert run_simple(wire, "SELECT id FROM plain WHERE id = 1") == [("1",)]
