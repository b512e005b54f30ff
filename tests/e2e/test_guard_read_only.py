# SPDX-License-Identifier: MIT
"""A rule's read_only: the server itself refuses to write, whatever runs there, and nothing that a
client says brings the session out of it. Our own analysis is told to allow what it does not know,
so that it is the server's refusal which is seen."""
import struct
import threading

import pytest

from api import unique
from native import OwnDatabase, credential, sql
from pgwire import Refused, Wire, cancel, message, rows_of, text

RULE = {"type": "sql", "name": "reading only", "read_only": True, "unknown": "allow",
        "message": "nothing is written here"}
MARK = "INSERT INTO marks VALUES (1)"
OFF = "set_config('default_transaction_read_only', 'off', false)"


def parse(statement, name=""):
    return message(b"P", text(name, statement) + struct.pack("!H", 0))


def bind(name="", portal=""):
    return message(b"B", text(portal, name) + struct.pack("!HHH", 0, 0, 0))


def execute(portal=""):
    return message(b"E", text(portal) + struct.pack("!I", 0))


def steps(*statements):
    return b"".join(parse(statement) + bind() + execute() for statement in statements)


SYNC = message(b"S")


def query(statement):
    return message(b"Q", text(statement))


@pytest.fixture(scope="module")
def shop(postgres):
    target = OwnDatabase(postgres, f"""
        CREATE TABLE marks (id int);
        CREATE TABLE things (id int PRIMARY KEY, name text);
        INSERT INTO things VALUES (1, 'one'), (2, 'two');
        CREATE SEQUENCE numbers;
        CREATE FUNCTION mark() RETURNS int LANGUAGE sql AS 'INSERT INTO marks VALUES (1) RETURNING id';
        CREATE FUNCTION leave() RETURNS text LANGUAGE sql AS $$ SELECT {OFF} $$;
        CREATE FUNCTION lift() RETURNS int LANGUAGE plpgsql SET transaction_read_only = off
          AS $$ BEGIN INSERT INTO marks VALUES (2); RETURN 2; END $$;
        CREATE FUNCTION lift_inside() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
          PERFORM set_config('transaction_read_only', 'off', true);
          BEGIN SET LOCAL transaction_read_only = off; EXCEPTION WHEN OTHERS THEN NULL; END;
          INSERT INTO marks VALUES (3); RETURN 3; END $$;
        CREATE FUNCTION pretend() RETURNS int LANGUAGE plpgsql IMMUTABLE
          AS $$ BEGIN PERFORM mark(); RETURN 4; END $$;
        CREATE FUNCTION lower(int) RETURNS int LANGUAGE sql AS 'SELECT mark()';
        CREATE FUNCTION adds(int, int) RETURNS int LANGUAGE sql AS 'SELECT mark()';
        CREATE OPERATOR @+ (FUNCTION = adds, LEFTARG = int, RIGHTARG = int);
        CREATE TYPE pair AS (a int, b int);
        CREATE FUNCTION to_pair(int) RETURNS pair LANGUAGE sql AS 'SELECT ROW(mark(), 1)::pair';
        CREATE CAST (int AS pair) WITH FUNCTION to_pair(int);
        CREATE FUNCTION good(int) RETURNS boolean LANGUAGE plpgsql
          AS $$ BEGIN INSERT INTO marks VALUES (5); RETURN true; END $$;
        CREATE DOMAIN checked AS int CHECK (good(VALUE));
        CREATE VIEW marked AS SELECT mark();
        CREATE PROCEDURE walks() LANGUAGE plpgsql AS $$ BEGIN
          PERFORM {OFF}; COMMIT; INSERT INTO marks VALUES (6); END $$;
        """)
    target.marks = lambda: target.ask("SELECT count(*) FROM marks")
    return target


def ruled(gateway, shop, rules):
    name = shop.connection(gateway.admin)
    found = gateway.admin.get(f"/connections/{name}").json
    made = credential(gateway.admin, name)
    return made, lambda: gateway.admin.post("/guardrails", {
        "name": unique("rail"), "input": {"rules": rules}, "connection_ids": [found["id"]]})


@pytest.fixture(scope="module")
def made(gateway, shop):
    made, rule = ruled(gateway, shop, [RULE])
    answer = rule()
    assert answer.status == 201, answer
    return made


def ends_of(sent):
    """How many ReadyForQuery answer these messages."""
    count, at = 0, 0
    while at < len(sent):
        count += sent[at:at + 1] in (b"Q", b"S", b"F")
        at += 1 + struct.unpack("!I", sent[at + 1:at + 5])[0]
    return count


def answers(wire, *messages):
    """The SQLSTATEs of the errors, of messages each of which is answered before the next is sent."""
    codes = []
    for sent in messages:
        wire.send(sent)
        for _ in range(ends_of(sent)):
            try:
                wire.until_ready()
            except Refused as refused:
                codes.append(refused.fields["C"])
    return codes


def attack(made, *messages):
    """A session of its own, which then still has to be one that reads."""
    with Wire(made) as wire:
        codes = answers(wire, *messages)
        answers(wire, query("ROLLBACK"))
        assert answers(wire, query(MARK)) == ["42501"]
        wire.send(query("SELECT current_setting('transaction_read_only')"))
        assert rows_of(wire.until_ready()) == [("on",)], messages
        return codes


# What writes by what a text does not tell: the server refuses.
HIDDEN = [
    "SELECT mark()", "SELECT lift()", "SELECT lift_inside()", "SELECT pretend()", "SELECT lower(1)",
    "SELECT 1 @+ 1", "SELECT 1::pair", "SELECT '7'::checked", "TABLE marked",
    "SELECT nextval('numbers')", "SELECT setval('numbers', 7)", "SELECT * FROM things FOR UPDATE",
    "SELECT * FROM things FOR KEY SHARE", "SELECT lo_create(4711)", "SELECT lo_from_bytea(0, 'x')",
    "EXPLAIN ANALYZE SELECT mark()", "COPY (SELECT mark()) TO STDOUT",
    "DECLARE c CURSOR WITH HOLD FOR SELECT mark()", "VALUES (mark())",
    "SELECT query_to_xml('SELECT mark()', true, false, '')",
    "SELECT id FROM things WHERE mark() = 1", "SELECT id FROM things ORDER BY mark()",
    "SELECT set_config('transaction_read_only', 'off', false)",
    "SELECT set_config('transaction_read_only', 'off', true), mark()",
]


@pytest.mark.parametrize("form", ["simple", "extended", "within"])
def test_what_a_text_does_not_tell_is_refused_by_the_server(made, shop, form):
    passed = []
    with Wire(made) as wire:
        for way in HIDDEN:
            sent = query(way) if form != "extended" else steps(way) + SYNC
            if form == "within":
                answers(wire, query("BEGIN"))
            codes = answers(wire, sent) + answers(wire, query("COMMIT"))
            passed += [] if codes and codes[0] in ("25006", "25001", "42501") else [(way, codes)]
    large = {"SELECT lo_create(4711)", "SELECT lo_from_bytea(0, 'x')"}  # not before PostgreSQL 16
    assert not [way for way in passed if way[0] not in large], passed
    assert shop.marks() == "0"


# What asks for more than reading is blocked for its words.
WORDS = [
    "SET transaction_read_only = off", "SET LOCAL transaction_read_only TO 'off'",
    "SET SESSION transaction_read_only = 0", "set \"transaction_READ_only\" to false",
    "SET U&\"transaction\\005fread_only\" = off", "SET default_transaction_read_only = off",
    "SET default_transaction_read_only TO DEFAULT", "SET/**/default_transaction_read_only/**/=/**/no",
    "RESET default_transaction_read_only", "RESET transaction_read_only",
    "SET TRANSACTION READ WRITE", "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ WRITE",
    "SET TRANSACTION READ ONLY, READ WRITE", "SET LOCAL TRANSACTION READ WRITE",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE", "BEGIN READ WRITE",
    "BEGIN TRANSACTION READ\nWRITE", "START TRANSACTION READ WRITE",
    "START TRANSACTION ISOLATION LEVEL REPEATABLE READ READ /* */ WRITE",
    "begin work isolation level serializable, read write, deferrable",
    "CREATE TEMP TABLE t (i int)", "SELECT 1 AS a INTO TEMP t", "NOTIFY somebody",
    "SELECT pg_notify('somebody', '')", "LOCK TABLE things", "LOCK things IN ROW SHARE MODE",
    "LOCK things IN ACCESS EXCLUSIVE MODE NOWAIT", "PREPARE TRANSACTION 'x'", "COMMIT PREPARED 'x'",
    "ROLLBACK PREPARED 'x'", "COPY things TO '/tmp/x'", "COPY (SELECT 1) TO PROGRAM 'true'",
    "COPY marks FROM STDIN", "VACUUM things", "ANALYZE things", "CHECKPOINT", "LOAD 'auto_explain'",
    "ALTER ROLE CURRENT_USER SET default_transaction_read_only = off",
    "ALTER SYSTEM SET default_transaction_read_only = off", "REINDEX TABLE things",
    "REFRESH MATERIALIZED VIEW m", "CLUSTER", "DO $$ BEGIN END $$", "CALL walks()",
    "SECURITY LABEL ON TABLE things IS 'x'", "EXPLAIN ANALYZE INSERT INTO marks VALUES (1)",
    "PREPARE p AS INSERT INTO marks VALUES (1)", "MERGE INTO marks USING things ON true WHEN "
    "MATCHED THEN DELETE", "WITH w AS (INSERT INTO marks VALUES (1) RETURNING 1) SELECT * FROM w",
]


@pytest.mark.parametrize("form", ["simple", "extended", "within"])
def test_what_asks_for_more_is_blocked(made, shop, form):
    passed = []
    with Wire(made) as wire:
        for way in WORDS:
            if form == "within":
                answers(wire, query("BEGIN"))
            codes = answers(wire, query(way) if form != "extended" else steps(way) + SYNC)
            passed += [] if codes == ["42501"] else [(way, codes)]
            answers(wire, query("ROLLBACK"))
    assert not passed, passed
    assert shop.marks() == "0"


LEAVES = {
    "a default that a function changed": (query("SELECT leave()"), query("SELECT mark()")),
    "in the same batch": (steps("SELECT leave()", "SELECT mark()") + SYNC,),
    "behind a Sync that nobody waited for": (steps("SELECT leave()") + SYNC + steps("SELECT mark()")
                                             + SYNC,),
    "two queries at once": (query("SELECT leave()") + query("SELECT mark()"),),
    "behind a COMMIT in the same text": (query("SELECT leave(); COMMIT; SELECT mark()"),),
    "behind a ROLLBACK in the same text":
        (query(f"SELECT {OFF}; COMMIT; ROLLBACK; SELECT mark()"),),
    "behind a BEGIN and a COMMIT": (query("BEGIN; SELECT leave(); COMMIT; BEGIN; SELECT mark(); END"),),
    "behind a COMMIT in the same batch":
        (steps("SELECT leave()", "COMMIT", "SELECT mark()") + SYNC,),
    "behind a COMMIT of a block in the same batch":
        (steps("BEGIN", "SELECT leave()", "COMMIT", "BEGIN", "SELECT mark()", "COMMIT") + SYNC,),
    "behind DISCARD ALL in the same batch":
        (steps("SELECT leave()", "DISCARD ALL", "SELECT mark()") + SYNC,),
    "behind DISCARD ALL": (query("DISCARD ALL"), query("SELECT mark()")),
    "behind RESET ALL": (query("RESET ALL"), steps("SELECT mark()") + SYNC),
    "behind RESET ALL in the same batch": (steps("RESET ALL", "COMMIT", "SELECT mark()") + SYNC,),
    "by a chain": (query("BEGIN"), query("SELECT leave()"), query("COMMIT AND CHAIN"),
                   query("SELECT mark()")),
    "by a chain in one text": (query("BEGIN; SELECT leave(); COMMIT AND CHAIN; SELECT mark()"),),
    "by no chain": (query("BEGIN; SELECT leave(); COMMIT AND NO CHAIN; SELECT mark()"),),
    "in a subtransaction": (query("BEGIN"), query("SAVEPOINT a"), query("SELECT lift_inside()"),
                            query("ROLLBACK TO a"), query("SELECT mark()")),
    "behind a savepoint": (query("BEGIN"), query("SAVEPOINT a"), query("ROLLBACK TO a"),
                           query("SELECT set_config('transaction_read_only', 'off', false)")),
    "a procedure that commits": (query("CALL walks()"),),
    "a procedure in a batch": (steps("CALL walks()") + SYNC,),
    "a block that commits": (query(f"DO $$ BEGIN PERFORM {OFF}; COMMIT; "
                                   "INSERT INTO marks VALUES (7); END $$"),),
    "a prepared statement from before": (query("PREPARE p AS SELECT leave()"), query("EXECUTE p"),
                                         query("EXECUTE p; COMMIT; SELECT mark()")),
    "a cursor": (query("BEGIN"), query("DECLARE c CURSOR FOR SELECT leave() UNION ALL SELECT "
                                       "mark()::text"), query("FETCH ALL FROM c")),
    "a cursor with hold": (query("DECLARE c CURSOR WITH HOLD FOR SELECT leave()"),
                           query("FETCH ALL FROM c; COMMIT; SELECT mark()")),
    "a named statement": (parse("SELECT leave()", "a") + parse("SELECT mark()", "b") + SYNC,
                          bind("a") + execute() + SYNC + bind("b") + execute() + SYNC),
    "a portal of its own": (query("BEGIN"), parse("SELECT mark()", "m") + bind("m", "p") + SYNC,
                            execute("p") + SYNC),
    "a flush between": (steps("SELECT leave()") + message(b"H") + steps("COMMIT") + message(b"H") +
                        steps("SELECT mark()") + SYNC,),
    "a query in an open batch": (steps("SELECT leave()", "COMMIT") + query("SELECT mark()"), SYNC),
    "a describe first": (parse("SELECT mark()", "d") + message(b"D", b"S" + text("d")) + SYNC,
                         bind("d") + execute() + SYNC),
    "an isolation level": (query("BEGIN ISOLATION LEVEL SERIALIZABLE"), query("SELECT mark()")),
    "a function call": (message(b"F", struct.pack("!IHHH", 715, 0, 0, 0)), ),
}


@pytest.mark.parametrize("way", LEAVES)
def test_a_session_cannot_leave(made, shop, way):
    attack(made, *LEAVES[way])
    assert shop.marks() == "0"


def test_the_start_cannot_ask_for_writing(made, shop):
    for options in ("-c default_transaction_read_only=off", "-c transaction_read_only=off",
                    "--default-transaction-read-only=off"):
        with Wire(made, options=options) as wire:
            assert answers(wire, query("SELECT mark()")) == ["25006"]
    with Wire(made, default_transaction_read_only="off") as wire:
        assert answers(wire, query("SELECT mark()")) == ["25006"]
    sql(shop.server, f"ALTER ROLE {shop.user} SET default_transaction_read_only = off")
    with Wire(made) as wire:
        assert answers(wire, steps("SELECT mark()") + SYNC) == ["25006"]
    assert shop.marks() == "0"


def test_what_only_reads_passes(made):
    passes = [
        "SELECT * FROM things", "BEGIN", "SELECT 1", "COMMIT", "BEGIN READ ONLY", "ROLLBACK",
        "START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", "SAVEPOINT a",
        "ROLLBACK TO a; RELEASE a", "COMMIT AND NO CHAIN", "SET transaction_read_only = on",
        "SET default_transaction_read_only TO 'on'", "SET application_name = 'x'", "RESET ALL",
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", "SHOW transaction_read_only",
        "LISTEN somebody", "UNLISTEN *", "SELECT pg_advisory_lock(1), pg_advisory_unlock(1)",
        "BEGIN", "LOCK things IN ACCESS SHARE MODE", "DECLARE c CURSOR FOR SELECT 1",
        "FETCH ALL FROM c", "CLOSE c", "SELECT 2",
        "COMMIT", "COPY things TO STDOUT", "EXPLAIN SELECT 1", "PREPARE q AS SELECT 1", "EXECUTE q",
        "DEALLOCATE q", "BEGIN; SELECT 1; COMMIT", "SELECT 1; SELECT 2", "DISCARD ALL",
        "SELECT current_setting('transaction_read_only')",
    ]
    with Wire(made) as wire:
        for statement in passes:
            assert answers(wire, query(statement)) == [], statement
    with Wire(made) as wire:
        for statement in passes:
            if ";" not in statement:
                assert answers(wire, steps(statement) + SYNC) == [], statement


def test_a_pipeline_keeps_its_order(made):
    with Wire(made) as wire:
        wire.send(steps("SELECT 'a'") + SYNC, query("SELECT leave()"), steps("SELECT 'b'") + SYNC,
                  query("SELECT 'c'"))
        found = [rows_of(wire.until_ready()) for _ in range(4)]
        assert found == [[("a",)], [("off",)], [("b",)], [("c",)]]
        wire.send(steps("BEGIN", "SELECT 'd'") + SYNC, steps("SELECT 'e'", "COMMIT") + SYNC)
        assert [rows_of(wire.until_ready()) for _ in range(2)] == [[("d",)], [("e",)]]


def test_sessions_that_are_open_are_put_into_it(gateway, shop):
    made, rule = ruled(gateway, shop, [RULE])
    with Wire(made) as idle, Wire(made) as amid:
        assert answers(idle, query("SELECT 1")) == []
        assert answers(amid, query("BEGIN"), query("SELECT 1")) == []
        answer = rule()
        assert answer.status == 201
        wait_for_rules(idle)
        assert answers(idle, query("SELECT mark()")) == ["25006"]
        # What began before may end, and nothing else.
        wait_for_rules(amid)
        for sent in (query("SELECT mark()"), steps("SELECT mark()") + SYNC,
                     query("COMMIT AND CHAIN"), query("COMMIT; SELECT mark()"),
                     query("SAVEPOINT a"), message(b"F", struct.pack("!IHHH", 715, 0, 0, 0))):
            assert answers(amid, sent) == ["25006"], sent
        assert answers(amid, query("ROLLBACK"), query("SELECT mark()")) == ["25006"]
        assert shop.marks() == "0"
        # And what was read only for the rule writes again without it.
        answered = gateway.admin.delete(f"/guardrails/{answer.json['id']}")
        assert answered.status == 204, answered
        wait_for_rules(idle)
        assert answers(idle, query("INSERT INTO marks VALUES (8)")) == []
        shop.ask("TRUNCATE marks")


def wait_for_rules(wire):
    answers(wire, query("SELECT pg_sleep(1.2)"))


def test_others_cancel_nothing_that_matters(made, shop):
    """The statement of ours may be what a cancel meets: then nothing runs by itself."""
    with Wire(made) as wire:
        assert answers(wire, query("SELECT leave()")) == []
        stop = threading.Event()

        def cancel_all():
            while not stop.is_set():
                cancel(made, wire)
        thread = threading.Thread(target=cancel_all)
        thread.start()
        try:
            for _ in range(30):
                answers(wire, query("SELECT leave()"), query("SELECT mark()"))
        finally:
            stop.set()
            thread.join()
    assert shop.marks() == "0"


@pytest.mark.parametrize("pack", ["read-only", "agent-safe"])
def test_presets_hold_by_the_server(gateway, shop, pack):
    made, _ = ruled(gateway, shop, [])
    answer = gateway.admin.post(f"/rulepacks/{pack}/attach", {"connection_names":
                                                              [made["connection_name"]]})
    assert answer.status == 200, answer
    with Wire(made) as wire:
        wire.send(query("SHOW transaction_read_only"))
        assert rows_of(wire.until_ready()) == [("on",)]
        for statement in ("SELECT mark()", "SELECT 1 @+ 1", "TABLE marked", MARK):
            assert answers(wire, query(statement))[0] in ("25006", "42501")
    assert shop.marks() == "0"


def test_what_cannot_be_held_is_not_saved(gateway):
    def save(rule):
        answer = gateway.admin.post("/guardrails", {"name": unique("rail"), "input": {
            "rules": [{"type": "sql", **rule}]}})
        return answer.status, answer.json.get("message", "")
    for others in ({"operations": ["insert"]}, {"max_rows": 3}, {"without_where": True},
                   {"relations": [{"name": "a"}]}, {"functions": ["f"]}, {"multi_statement": True}):
        status, said = save({"read_only": True, **others})
        assert status == 400 and "input.rules[0].read_only" in said, (others, said)
    for action in ("warn", "observe"):
        assert save({"read_only": True, "action": action})[0] == 400
    answer = gateway.admin.post("/guardrails", {"name": unique("rail"), "input": {
        "rules": [{"type": "deny_words_list", "words": ["x"], "read_only": True}]}})
    assert answer.status == 400
    assert save({"read_only": False})[0] == 400
