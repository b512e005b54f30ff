# SPDX-License-Identifier: MIT
"""Ways around guard rails that others have been found to leave open, each by the simple and by the
extended protocol, at a real server: the statement never arrives, and the connection goes on."""
import struct

import pytest

from api import unique
from native import OwnDatabase, credential, psql
from pgwire import Refused, Wire, message, rows_of, text

DELETED = "DELETE FROM kept"

# What all of them come to: a DELETE of every row of 'kept', or worse.
WAYS = {
    "plain": DELETED,
    "case": "dElEtE fRoM kept",
    "comment inside": "DELETE/**/FROM/* WHERE id = 1 */kept",
    "nested comment": "/* /* */ SELECT 1; */ DELETE FROM kept -- WHERE id = 1",
    "line comment": "DELETE -- SELECT\nFROM\tkept\r\n",
    "quoted name": 'DELETE FROM "kept"',
    "unicode name": "DELETE FROM U&\"k\\0065pt\"",
    "schema": "DELETE FROM public.kept",
    "only": "DELETE FROM ONLY kept",
    "where in a string": "DELETE FROM kept RETURNING 'WHERE id = 1'",
    "where in a CTE only": "WITH w AS (SELECT id FROM kept WHERE id = 1) DELETE FROM kept",
    "using": "DELETE FROM kept USING kept AS other",
    "modifying CTE": "WITH gone AS (DELETE FROM kept RETURNING *) SELECT count(*) FROM gone",
    "modifying CTE, second":
        "WITH a AS (SELECT 1), gone AS MATERIALIZED (DELETE FROM kept RETURNING id) SELECT * FROM a",
    "update in a CTE": "WITH up AS (UPDATE kept SET name = 'x' RETURNING id) SELECT * FROM up",
    "explain analyze": "EXPLAIN ANALYZE DELETE FROM kept",
    "explain options": "EXPLAIN (COSTS off, ANALYZE true) DELETE FROM kept",
    "copy of a delete": "COPY (DELETE FROM kept RETURNING *) TO STDOUT",
    "do": "DO $$ BEGIN DELETE FROM kept; END $$",
    "do, tagged": "DO LANGUAGE plpgsql $a$ BEGIN EXECUTE 'DELETE FROM kept'; END $a$",
    "call": "CALL wipe()",
    "prepare": "PREPARE gone AS DELETE FROM kept",
    "truncate": "TRUNCATE kept",
    "truncate, long": "TRUNCATE TABLE ONLY public.kept RESTART IDENTITY CASCADE",
    "drop": "DROP TABLE kept",
    "drop owned": "DROP OWNED BY CURRENT_USER",
    "declare": "DECLARE c CURSOR FOR WITH d AS (DELETE FROM kept RETURNING 1) SELECT 1",
    "create as": "CREATE TABLE other AS WITH d AS (DELETE FROM kept RETURNING *) SELECT * FROM d",
    "rule": "CREATE RULE r AS ON INSERT TO kept DO INSTEAD DELETE FROM kept",
    "dollar quotes around a quote": "SELECT $q$'$q$; DELETE FROM kept; SELECT $q$'$q$",
    "escape string": "SELECT E'\\''; DELETE FROM kept; --'",
    "behind another": "SELECT 1; DELETE FROM kept",
    "before another": "DELETE FROM kept; SELECT 1",
    "behind empty ones": ";;; ; DELETE FROM kept ;",
    "behind begin": "BEGIN; DELETE FROM kept; COMMIT",
}
# New in PostgreSQL 15.
MERGE = ("MERGE INTO kept k USING (SELECT 1 AS id) s ON true WHEN MATCHED THEN DELETE")
MANY = {"dollar quotes around a quote", "escape string", "behind another", "before another",
        "behind empty ones", "behind begin"}

# What none of it is, however much it looks like it.
HARMLESS = [
    "SELECT 'DELETE FROM kept'",
    "SELECT 1 AS delete",
    "SELECT 1 \"drop\"",
    "SELECT has_table_privilege('kept', 'DELETE') AS delete, 2 AS update",
    "SELECT $$ DELETE FROM kept $$",
    "SELECT E'it\\'s; DELETE FROM kept'",
    "/* DELETE FROM kept */ SELECT 1",
    "SELECT 1 -- ; DELETE FROM kept",
    "SELECT name FROM kept WHERE name = 'truncate' ORDER BY id",
    "SELECT * FROM kept FOR KEY SHARE",
    "TABLE kept",
    "VALUES (1), (2)",
    "SHOW server_version",
    "EXPLAIN SELECT * FROM kept",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT * FROM n",
]

RULES = [
    {"type": "sql", "name": "writes stay small", "operations": ["delete", "update", "merge"],
     "without_where": True, "message": "say which rows"},
    {"type": "sql", "name": "tables stay", "operations": ["truncate", "drop", "create", "merge"]},
    {"type": "sql", "name": "no code", "operations": ["do", "call"]},
]


# Salaries are not to be read, by those who write either.
READS = [
    "SELECT * FROM hr.pay", "UPDATE hr.pay SET a = a + 1", "DELETE FROM hr.pay WHERE a > 1",
    "UPDATE hr.pay SET a = 1 RETURNING b", "INSERT INTO hr.pay VALUES (1) RETURNING *",
    "INSERT INTO hr.pay VALUES (1) ON CONFLICT (a) DO NOTHING",
    "INSERT INTO public.kept SELECT a, b FROM hr.pay",
    "UPDATE public.kept SET name = (SELECT max(b) FROM hr.pay) WHERE id = 1",
    "DELETE FROM public.kept USING hr.pay p WHERE p.a = id", "CREATE INDEX ON hr.pay (b)",
    "CREATE UNIQUE INDEX ON hr.pay (length(b))", "ALTER TABLE hr.pay ADD CHECK (a < 5)",
    "ALTER TABLE hr.pay ALTER b TYPE int USING length(b)",
    "ALTER TABLE hr.pay SET SCHEMA public", "ALTER TABLE hr.pay RENAME TO x",
    "ALTER SCHEMA hr RENAME TO x", "CREATE TABLE c (a int REFERENCES hr.pay)",
    "ALTER TABLE public.kept ADD FOREIGN KEY (id) REFERENCES hr.pay", "CREATE TABLE c (LIKE hr.pay)",
    "CREATE TABLE c () INHERITS (hr.pay)", "CREATE TABLE c AS TABLE hr.pay",
    "CREATE MATERIALIZED VIEW m AS TABLE hr.pay", "CREATE VIEW v AS TABLE hr.pay",
    "CREATE PUBLICATION p FOR TABLE hr.pay WHERE (a > 1)", "CREATE PUBLICATION p FOR ALL TABLES",
    "CREATE PUBLICATION p FOR TABLES IN SCHEMA hr", "CREATE POLICY p ON hr.pay USING (a = 1)",
    "CREATE STATISTICS s ON a, b FROM hr.pay", "ANALYZE hr.pay", "REINDEX TABLE hr.pay",
    "CREATE RULE r AS ON INSERT TO public.kept DO ALSO SELECT * FROM hr.pay",
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT a FROM hr.pay; END",
    "COPY hr.pay TO STDOUT", "COPY (SELECT * FROM hr.pay) TO STDOUT", "LOCK hr.pay",
    "DECLARE c CURSOR FOR SELECT * FROM hr.pay", "EXPLAIN ANALYZE SELECT * FROM hr.pay",
    "PREPARE p AS SELECT * FROM hr.pay", "SELECT " + "(" * 2001 + "SELECT a FROM hr.pay" + ")" * 2001,
    "SELECT * FROM public.kept LIMIT (SELECT a FROM hr.pay LIMIT 1)",
]
NO_READS = ["UPDATE hr.pay SET b = 'y'", "INSERT INTO hr.pay VALUES (7, 'z')",
            "SELECT count(*) FROM public.kept", "UPDATE public.kept SET name = name WHERE id = 1"]

# All rows at once, or a number of them that nobody counts.
BULK = [
    "TRUNCATE kept", "DELETE FROM kept WHERE true", "DELETE FROM kept WHERE 1 = 1",
    "DELETE FROM kept WHERE now() > '2000-01-01'", "UPDATE kept SET name = 'x' WHERE NOT false",
    "DELETE FROM kept WHERE (SELECT true)", "DELETE FROM kept WHERE 'a' <> 'b' RETURNING id",
    "MERGE INTO kept k USING (SELECT 1 AS x) s ON true WHEN MATCHED THEN DELETE",
    "ALTER TABLE kept ALTER name TYPE text USING 'x'", "ALTER TABLE kept ALTER name TYPE int USING 0",
    "COPY kept FROM STDIN", "TRUNCATE TABLE ONLY kept CASCADE",
]

# Each calls what reads a file of the server; none looks like a call of it.
CALLS = [
    "SELECT ('/etc/hostname'::text).pg_read_file", "SELECT (n).pg_read_file FROM (VALUES ('x')) v (n)",
    "SELECT (ARRAY['/etc/hostname'])[1].pg_read_file", "SELECT treat('/etc/hostname' AS pg_read_file)",
    "SELECT pg_catalog.\"pg_read_file\"('/etc/hostname')", "SELECT * FROM pg_read_file('/etc/hostname')",
    "CREATE OPERATOR #! (FUNCTION = pg_read_file, RIGHTARG = text)",
    "CREATE AGGREGATE f (text) (SFUNC = pg_read_file, STYPE = text)",
    "SELECT cube(1)", "SELECT name, cube(1) FROM kept GROUP BY name", "SELECT rollup(1)",
    "SELECT substring(1)", "SELECT overlay(1, 2)", "SELECT json_scalar(1)",
    "SELECT information_schema.zap()", "SELECT * FROM substring(1) AS x",
    "SELECT name FROM kept GROUP BY name HAVING cube(1) > 1",
]
NO_CALLS = ["SELECT substring(name FROM 1 FOR 2) FROM kept",
            "SELECT name FROM kept GROUP BY CUBE (name)", "SELECT (k).name FROM kept k",
            "SELECT overlay(name PLACING 'x' FROM 1) FROM kept",
            "SELECT name FROM kept GROUP BY GROUPING SETS (ROLLUP (name), ())"]

# What is done to everything is done to salaries.
CASCADES = [
    "DROP SCHEMA hr", "DROP SCHEMA hr CASCADE", "GRANT SELECT ON ALL TABLES IN SCHEMA hr TO PUBLIC",
    "REVOKE ALL ON ALL TABLES IN SCHEMA public, hr FROM PUBLIC", "ALTER SCHEMA hr RENAME TO x",
    "DROP OWNED BY CURRENT_USER", "REASSIGN OWNED BY CURRENT_USER TO CURRENT_USER",
    "DROP TABLE public.kept CASCADE", "TRUNCATE public.kept CASCADE", "REINDEX SCHEMA hr", "VACUUM",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA hr GRANT SELECT ON TABLES TO PUBLIC",
]


def extended(text_of_statement, kind=b"P"):
    assert kind == b"P"
    return (message(b"P", text("", text_of_statement) + struct.pack("!H", 0)),
            message(b"B", text("", "") + struct.pack("!HHH", 0, 0, 0)),
            message(b"D", b"P" + text("")),
            message(b"E", text("") + struct.pack("!I", 0)),
            message(b"S"))


def run_simple(wire, statement):
    wire.send(message(b"Q", text(statement)))
    return rows_of(wire.until_ready())


def run_extended(wire, statement):
    wire.send(*extended(statement))
    return rows_of(wire.until_ready())


RUNS = {"simple": run_simple, "extended": run_extended}


@pytest.fixture(scope="module")
def shop(postgres):
    """A target with a database of its own, so that 'kept' is nobody else's."""
    target = OwnDatabase(postgres, """
        CREATE TABLE kept (id int PRIMARY KEY, name text);
        INSERT INTO kept SELECT i, 'name ' || i FROM generate_series(1, 10) i;
        CREATE PROCEDURE wipe() LANGUAGE sql AS 'DELETE FROM kept';
        CREATE SCHEMA hr; CREATE TABLE hr.pay (a int PRIMARY KEY, b text);
        INSERT INTO hr.pay VALUES (1, 'x');""")
    target.count = lambda: target.ask("SELECT count(*) FROM kept WHERE name LIKE 'name %'")
    return target


def guarded(gateway, shop, rules, direction="input"):
    name = shop.connection(gateway.admin)
    found = gateway.admin.get(f"/connections/{name}").json
    answer = gateway.admin.post("/guardrails", {
        "name": unique("rail"), direction: {"rules": rules}, "connection_ids": [found["id"]]})
    assert answer.status == 201, answer
    return credential(gateway.admin, name)


@pytest.fixture(scope="module")
def made(gateway, shop):
    return guarded(gateway, shop, RULES)


@pytest.fixture(scope="module", params=RUNS)
def run(request):
    return RUNS[request.param]


@pytest.fixture(scope="module")
def wire(made):
    """One connection for all: it goes on whatever was refused."""
    with Wire(made) as wire:
        yield wire


@pytest.mark.parametrize("way", [*WAYS, "merge"])
def test_it_does_not_get_through(wire, shop, run, way):
    if run is run_extended and way in MANY:
        pytest.skip("one statement only")
    with pytest.raises(Refused) as refused:
        run(wire, MERGE if way == "merge" else WAYS[way])
    assert refused.value.fields["C"] == "42501", refused.value
    assert "DELETE FROM" not in refused.value.fields["M"]
    assert wire.status == b"I"
    assert shop.count() == "10"
    assert run(wire, "SELECT 1") == [("1",)]


@pytest.mark.parametrize("statement", HARMLESS)
def test_what_looks_like_it_passes(wire, run, statement):
    run(wire, statement)


def test_the_rule_and_its_words_are_told(wire):
    with pytest.raises(Refused) as refused:
        run_simple(wire, DELETED)
    fields = refused.value.fields
    told = " ".join(fields.get(name, "") for name in "MDH")
    assert "writes stay small" in told and "say which rows" in told, fields


def test_with_a_where_it_is_allowed(wire, run, shop):
    assert run(wire, "DELETE FROM kept WHERE id = 11") == []
    assert run(wire, "WITH d AS (DELETE FROM kept WHERE id = 11 RETURNING *) SELECT * FROM d") == []
    assert shop.count() == "10"


RULES_OF = {
    "reads": ({"relations": [{"name": "hr.*", "access": "read"}]}, READS, NO_READS),
    "without where": ({"operations": ["delete", "update"], "without_where": True}, BULK[:-2],
                      ["DELETE FROM kept WHERE id = 77", "SELECT 1"]),
    "rows": ({"max_rows": 10}, ["TRUNCATE kept", "COPY kept FROM STDIN", *BULK[8:]],
             ["UPDATE kept SET name = name WHERE id = 1"]),
    "calls": ({"functions": ["pg_read_file", "cube", "rollup", "substring", "overlay", "json_scalar",
                             "information_schema.zap"]}, CALLS, NO_CALLS),
    "unknown calls": ({"operations": ["insert"]}, CALLS[:6] + CALLS[8:11] + CALLS[14:15], NO_CALLS),
    "cascades": ({"relations": [{"name": "hr.*", "access": "write"}], "safe_functions": ["*"]},
                 CASCADES, ["SELECT * FROM hr.pay", "COMMENT ON TABLE public.kept IS 'x'"]),
}


@pytest.mark.parametrize("kind", RULES_OF)
def test_each_kind_of_rule_meets_all_ways(gateway, shop, kind):
    rule, ways, others = RULES_OF[kind]
    made = guarded(gateway, shop, [{"type": "sql", "name": kind, **rule}])
    passed = []
    with Wire(made) as wire:
        for way in ways:
            for run in RUNS.values():
                try:
                    run(wire, way)
                    passed.append(way)
                except Refused as refused:
                    passed += [] if refused.fields["C"] == "42501" and "guard rail" in \
                        refused.fields["M"] else [f"{refused.fields}: {way}"]
        for other in others:
            for run in RUNS.values():
                run(wire, other.replace("(7,", "(8,") if run is run_extended else other)
    assert not passed, "\n".join(passed)
    assert shop.count() == "10"
    shop.ask("DELETE FROM hr.pay WHERE a > 1; UPDATE hr.pay SET b = 'x'")


def test_a_byte_of_another_encoding_hides_no_reading(gateway, shop):
    made = guarded(gateway, shop, [{"type": "sql", "relations": [{"name": "hr.*", "access": "read"}]}])
    with Wire(made) as wire:
        run_simple(wire, "SET client_encoding = 'LATIN1'")
        for way in b"SELECT b FROM hr.pay WHERE b <> '\xe4'", b"SELECT b AS \"\xe4\" FROM hr.pay":
            wire.send(message(b"Q", way + b"\0"))
            with pytest.raises(Refused) as refused:
                wire.until_ready()
            assert refused.value.fields["C"] == "42501", refused.value
        wire.send(message(b"Q", b"SELECT name FROM public.kept WHERE name = '\xe4'\0"))
        wire.until_ready()
        run_simple(wire, "SET client_encoding = 'SJIS'")
        with pytest.raises(Refused) as refused:
            run_simple(wire, "SELECT b FROM hr.pay")
        assert refused.value.fields["C"] == "42501"


def test_in_a_transaction_what_is_told_of_it_is_true(wire, shop):
    run_simple(wire, "BEGIN")
    run_simple(wire, "INSERT INTO kept VALUES (100, 'other')")
    with pytest.raises(Refused):
        run_simple(wire, DELETED)
    told = wire.status
    assert told in (b"T", b"E")
    if told == b"T":
        assert run_simple(wire, "SELECT count(*) FROM kept") == [("11",)]
    else:
        with pytest.raises(Refused) as refused:
            run_simple(wire, "SELECT 1")
        assert refused.value.fields["C"] == "25P02"
    run_simple(wire, "ROLLBACK")
    assert wire.status == b"I" and shop.count() == "10"


def test_amid_a_pipeline_each_answer_stands_in_its_place(wire, shop):
    one, bad, two = (extended(statement)[:-1] for statement in
                     ("SELECT 'one'", DELETED, "SELECT 'two'"))
    sync = message(b"S")
    wire.send(*one, *bad, *two, sync, *two, sync)
    found = []
    while True:
        kind, body = wire.read()
        found.append((kind, body))
        if kind == b"Z":
            break
    kinds = [kind for kind, _ in found]
    assert rows_of(found) == [("one",)]
    assert kinds.index(b"E") > kinds.index(b"D") and kinds.count(b"E") == 1, kinds
    assert rows_of(wire.until_ready()) == [("two",)]
    assert shop.count() == "10"


def test_a_prepared_statement_is_judged_again_when_the_rules_have_changed(gateway, shop):
    made = guarded(gateway, shop, [{"type": "deny_words_list", "words": ["never said"]}])
    connection = gateway.admin.get(f"/connections/{made['connection_name']}").json
    with Wire(made) as wire:
        wire.send(message(b"P", text("later", "DELETE FROM kept") + struct.pack("!H", 0)),
                  message(b"S"))
        wire.until_ready()
        run_simple(wire, "PREPARE by_name AS DELETE FROM kept")
        assert gateway.admin.post("/guardrails", {
            "name": unique("rail"), "input": {"rules": RULES},
            "connection_ids": [connection["id"]]}).status == 201
        wire.wait_for_rules = [run_simple(wire, "SELECT pg_sleep(1)")]
        with pytest.raises(Refused) as refused:
            wire.send(message(b"B", text("", "later") + struct.pack("!HHH", 0, 0, 0)),
                      message(b"E", text("") + struct.pack("!I", 0)), message(b"S"))
            wire.until_ready()
        assert refused.value.fields["C"] == "42501"
        with pytest.raises(Refused) as refused:
            run_simple(wire, "EXECUTE by_name")
        assert refused.value.fields["C"] == "42501"
        assert run_simple(wire, "SELECT 1") == [("1",)]
    assert shop.count() == "10"


def test_a_function_call_message_is_refused_where_functions_are(gateway, shop):
    made = guarded(gateway, shop, [{"type": "sql", "functions": ["lo_*", "pg_read_file", "dblink*"]}])
    with Wire(made) as wire:
        for statement in ("SELECT pg_read_file('/etc/passwd')",
                          "SELECT * FROM pg_catalog.pg_read_file('/etc/passwd')",
                          "SELECT \"lo_export\"(1, '/tmp/x')"):
            for run in RUNS.values():
                with pytest.raises(Refused) as refused:
                    run(wire, statement)
                assert refused.value.fields["C"] == "42501", statement
        call = struct.pack("!IHH", 764, 0, 1) + struct.pack("!iI", 4, 1) + struct.pack("!H", 0)
        wire.send(message(b"F", call))  # lo_creat
        with pytest.raises(Refused) as refused:
            wire.until_ready()
        assert refused.value.fields["C"] == "42501"
        assert run_simple(wire, "SELECT upper('a')") == [("A",)]


def test_too_many_rows_are_taken_back(gateway, shop, run):
    made = guarded(gateway, shop, [{"type": "sql", "operations": ["delete", "update"],
                                    "max_rows": 3, "name": "three at most"}])
    with Wire(made) as wire:
        with pytest.raises(Refused) as refused:
            run(wire, "UPDATE kept SET name = name || '!' WHERE id > 4")
        assert refused.value.fields["C"] == "42501", refused.value
        assert wire.status == b"I"
        assert shop.count() == "10"
        assert shop.ask("SELECT count(*) FROM kept WHERE name LIKE '%!'") == "0"
        run(wire, "UPDATE kept SET name = name || '!' WHERE id > 7")
        assert shop.ask("SELECT count(*) FROM kept WHERE name LIKE '%!'") == "3"
        run(wire, "UPDATE kept SET name = rtrim(name, '!') WHERE id > 7")
        assert wire.status == b"I"


def test_a_warning_is_a_notice_and_the_statement_runs(gateway, shop, run):
    made = guarded(gateway, shop, [{"type": "sql", "operations": ["select"], "relations":
                                    [{"name": "kept", "access": "read"}], "action": "warn",
                                    "name": "watched", "message": "somebody looks"}])
    with Wire(made) as wire:
        assert run(wire, "SELECT count(*) FROM kept") == [("10",)]
        assert any("somebody looks" in " ".join(notice.values()) for notice in wire.notices)


def test_a_reader_is_told_the_same_by_psql(made, shop):
    done = psql(made, "\\set VERBOSITY verbose\nDELETE FROM kept;", check=False)
    assert "42501" in done.stderr and "say which rows" in done.stderr
    assert shop.count() == "10"


def test_it_is_on_record(gateway, made, shop):
    with Wire(made) as wire:
        with pytest.raises(Refused):
            run_simple(wire, "DELETE FROM kept -- for the record")
    sessions = gateway.admin.get(f"/sessions?connection={made['connection_name']}").json["data"]
    found = [session for session in sessions
             if any(info["rule_name"] for info in session.get("guardrails_info") or [])]
    assert found, sessions
    info = found[0]["guardrails_info"][0]
    assert info["direction"] == "input" and "pattern_regex" not in str(info)
