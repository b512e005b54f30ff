# SPDX-License-Identifier: MIT
"""Masking of sessions of real clients at a real PostgreSQL server."""
import concurrent.futures
import re
import struct
import subprocess
import time

import pytest

from agent import Agent, make_agent, wait_connected
from api import register, unique
from conftest import BINARY, IS_SANITIZED, PATIENCE, wait_for
from native import Target, credential, psql, sql
from pgwire import Refused, Wire, fields_of, message, rows_of, text
from store import Store

MAIL, CARD, IBAN = "ann.lee@example.com", "4111111111111111", "DE89370400440532013000"
PII = [{"name": "PII", "entity_types": ["EMAIL_ADDRESS", "CREDIT_CARD", "IBAN_CODE"]}]
FOUND = {"supported_entity_types": PII}
ROWS = 200_000


@pytest.fixture(scope="module")
def table(target):
    name = unique("people").replace("-", "_")
    sql(target.server, f"""
        CREATE TABLE {name} (id int PRIMARY KEY, name text, email text, card text, note text,
                             data jsonb, salary numeric, born date, secret text);
        INSERT INTO {name} VALUES
            (1, 'Ann', '{MAIL}', '{CARD}', 'pay to {IBAN} today',
             '{{"mail": "{MAIL}", "n": 1}}', 5000, '1980-02-03', 'tell nobody'),
            (2, 'Bob', NULL, NULL, 'nothing here', NULL, NULL, NULL, NULL);
        CREATE VIEW {name}_view AS SELECT id, name, secret AS hidden, length(secret) FROM {name};
        GRANT ALL ON {name}, {name}_view TO {target.user}""")
    yield name
    sql(target.server, f"DROP TABLE {name} CASCADE")


def masked(api, target, *rules, **members):
    name = target.connection(api, **members)
    connection_id = api.get(f"/connections/{name}").json["id"]
    made = []
    for rule in rules:
        answer = api.post("/datamasking-rules",
                          {"name": unique("rule"), "connection_ids": [connection_id], **rule})
        assert answer.status == 201, answer
        made.append(answer.json)
    return {**credential(api, name), "rules": made, "connection_id": connection_id}


def column(name, **strategy):
    return {"columns": [{"name": name, **({"strategy": strategy} if strategy else {})}]}


def run(made, statement, **options):
    return psql(made, statement, **options).stdout


def binary(statement, *formats, describe=False):
    """The messages of one extended query."""
    bind = text("", "") + struct.pack("!HHH", 0, 0, len(formats))
    bind += b"".join(struct.pack("!H", one) for one in formats)
    return [message(b"P", text("", statement) + struct.pack("!H", 0)), message(b"B", bind),
            *([message(b"D", b"P" + text(""))] if describe else []),
            message(b"E", text("") + bytes(4))]


def kinds(messages):
    return "".join(kind.decode() for kind, _ in messages)


# What is found -----------------------------------------------------------------------------------

def test_what_is_found_in_text_and_json_is_masked(quick, target, table):
    made = masked(quick, target, FOUND)
    told = run(made, f"SELECT * FROM {table} ORDER BY id")
    assert told == ("1|Ann|[EMAIL_ADDRESS]|[CREDIT_CARD]|pay to [IBAN_CODE] today|"
                    '{"n": 1, "mail": "[EMAIL_ADDRESS]"}|5000|1980-02-03|tell nobody\n'
                    "2|Bob||||||||\n".replace("||||||||", "|||nothing here||||"))


def test_rows_without_anything_pass_byte_for_byte(quick, target):
    made = masked(quick, target, FOUND)
    plain = credential(quick, target.connection(quick))
    asked = ("SELECT n, repeat(chr(960), n), NULL, '', ARRAY[n, NULL], ROW(n, 'x,\"y')::text, "
             "jsonb_build_object('n', n), n::float8 / 3 FROM generate_series(1, 300) n")
    with Wire(made) as one, Wire(plain) as other:
        for wire in (one, other):
            wire.send(message(b"Q", text(asked)), *binary(asked, 1, describe=True), message(b"S"))
        assert one.until_ready() == other.until_ready()
        assert one.until_ready() == other.until_ready()


@pytest.mark.parametrize("strategy, expected", [
    ({"type": "redact"}, r"\[EMAIL_ADDRESS\]"), ({"type": "redact", "replacement": "-"}, "-"),
    ({"type": "partial", "keep_last": 4}, r"\*\*\*\.\*\*\*@\*{6}e\.com"),
    ({"type": "hash"}, "[0-9a-f]{16}"), ({"type": "null"}, "")])
def test_strategies(quick, target, table, strategy, expected):
    made = masked(quick, target, {**FOUND, "strategy": strategy})
    first = run(made, f"SELECT email FROM {table} WHERE id = 1").rstrip("\n")
    assert re.fullmatch(expected, first), first
    assert run(made, f"SELECT email FROM {table} WHERE id = 1").rstrip("\n") == first


def test_a_hash_is_the_same_on_all_connections_of_an_organization(quick, target, table):
    rule = column("email", type="hash")
    told = {run(masked(quick, target, rule), f"SELECT email FROM {table} WHERE id = 1")
            for _ in range(2)}
    assert len(told) == 1 and re.fullmatch("[0-9a-f]{16}\n", told.pop())


# Columns -----------------------------------------------------------------------------------------

def test_columns_go_by_their_origin(quick, target, table):
    made = masked(quick, target, column(f"public.{table}.secret"))
    assert run(made, f"SELECT secret AS x, name AS secret2, id FROM {table} ORDER BY id") == (
        "[REDACTED]|Ann|1\n|Bob|2\n")
    # Of a view that uses a masked column all is masked that is not just another column.
    assert run(made, f"SELECT hidden, name FROM {table}_view LIMIT 2") == (
        "[REDACTED]|Ann\n|Bob\n")
    assert run(made, f"SELECT length FROM {table}_view LIMIT 1") == "\n"
    assert run(made, "SELECT 'x' AS plain, 1 AS n") == "x|1\n"
    run(made, f"CREATE TABLE {table}_other AS SELECT 'mine' AS secret")
    assert run(made, f"SELECT secret FROM {table}_other") == "mine\n"
    made = masked(quick, target, column("salary"), column("born", type="null"))
    assert run(made, f"SELECT salary, born, name FROM {table} ORDER BY id") == "||Ann\n||Bob\n"


def test_a_column_is_masked_without_anybody_describing_it(quick, target, table):
    made = masked(quick, target, column(f"{table}.secret"))
    with Wire(made) as wire:
        wire.send(message(b"P", text("s", f"SELECT secret, id FROM {table} ORDER BY id") +
                          struct.pack("!H", 0)), message(b"S"))
        assert kinds(wire.until_ready()) == "1"
        for formats in ((), (1,), (0, 1)):
            wire.send(message(b"B", text("", "s") + struct.pack("!HHH", 0, 0, len(formats)) +
                              b"".join(struct.pack("!H", one) for one in formats)),
                      message(b"E", text("") + bytes(4)), message(b"S"))
            told = wire.until_ready()
            assert kinds(told) == "2DDC", told
            assert b"[REDACTED]" in told[1][1] and b"nobody" not in told[1][1]
            assert told[2][1].startswith(b"\0\x02\xff\xff\xff\xff")


def test_binary_values_are_masked(quick, target, table):
    made = masked(quick, target, FOUND)
    with Wire(made) as wire:
        wire.send(*binary(f"SELECT email, id, data FROM {table} ORDER BY id", 1, describe=True),
                  message(b"S"))
        told = wire.until_ready()
    assert kinds(told) == "12TDDC"
    row = b"".join(body for kind, body in told if kind == b"D")
    assert b"example.com" not in row and row.count(b"[EMAIL_ADDRESS]") == 2
    assert b'\x01{"n": 1, "mail": "[EMAIL_ADDRESS]"}' in row


def test_a_prepared_statement_and_a_cursor(quick, target, table):
    made = masked(quick, target, FOUND, column(f"{table}.secret"))
    told = run(made, f"PREPARE p AS SELECT secret, email FROM {table} WHERE id = $1;"
                     f"EXECUTE p(1); BEGIN; DECLARE c CURSOR FOR SELECT email, secret FROM {table} "
                     "ORDER BY id; FETCH 1 FROM c; FETCH 1 FROM c; COMMIT;")
    assert "example.com" not in told and "nobody" not in told, told
    assert told.splitlines()[1] == "[REDACTED]|[EMAIL_ADDRESS]"
    with Wire(made) as wire:
        asked = f"SELECT email FROM generate_series(1, 5), {table} WHERE id = 1"
        wire.send(*binary(asked)[:2],
                  message(b"E", text("") + struct.pack("!I", 2)),
                  message(b"E", text("") + struct.pack("!I", 2)),
                  message(b"E", text("") + struct.pack("!I", 2)), message(b"S"))
        told = wire.until_ready()
        assert kinds(told) == "12DDsDDsDC"
        assert set(rows_of(told)) == {("[EMAIL_ADDRESS]",)}


def test_what_is_returned_by_a_write(quick, target, table):
    made = masked(quick, target, FOUND, column("secret"))
    told = run(made, f"UPDATE {table} SET name = name RETURNING id, email, secret", check=True)
    assert "[EMAIL_ADDRESS]|[REDACTED]" in told and "example.com" not in told


def test_predicates_are_refused_where_the_rule_says_so(quick, target, table):
    made = masked(quick, target, {**column(f"{table}.secret"), "refuse_predicates": True})
    assert run(made, f"SELECT secret FROM {table} WHERE id = 1") == "[REDACTED]\n"
    for statement in (f"SELECT id FROM {table} WHERE secret LIKE 't%'",
                      f"SELECT id FROM {table} ORDER BY secret",
                      f"SELECT upper(secret) FROM {table}"):
        done = psql(made, statement, "-v", "VERBOSITY=verbose", check=False)
        assert done.returncode == 3 and "42501" in done.stderr, (statement, done)
        with Wire(made) as wire:
            wire.send(*binary(statement, describe=True), message(b"S"))
            with pytest.raises(Refused) as refused:
                wire.until_ready()
            assert refused.value.fields["C"] == "42501"
            assert wire.ask("SELECT 1") == [("1",)]


# Other ways out ----------------------------------------------------------------------------------

@pytest.mark.parametrize("options", ["", "WITH (FORMAT csv, HEADER)", "WITH (FORMAT binary)"])
def test_copies_are_masked(quick, target, table, options):
    made = masked(quick, target, FOUND, column(f"{table}.secret"))
    with Wire(made) as wire:
        wire.send(message(b"Q", text(f"COPY (SELECT email, id, secret FROM {table} ORDER BY id) "
                                     f"TO STDOUT {options}")))
        told = wire.until_ready()
        data = b"".join(body for kind, body in told if kind == b"d")
        assert kinds(told).startswith("Hd") and kinds(told).endswith("cC")
        assert b"example" not in data and b"nobody" not in data
        wire.send(message(b"Q", text(f"COPY {table} (name, email, data, secret) TO STDOUT "
                                     f"{options}")))
        data = b"".join(body for kind, body in wire.until_ready() if kind == b"d")
        assert b"example" not in data and b"nobody" not in data and b"Ann" in data
        assert data.count(b"[EMAIL_ADDRESS]") == 2 and data.count(b"[REDACTED]") == 1


def copied(wire, table, options=""):
    wire.send(message(b"Q", text(f"COPY {table} TO STDOUT {options}")))
    return b"".join(body for kind, body in wire.until_ready() if kind == b"d")


@pytest.mark.parametrize("options", ["", "WITH (FORMAT csv, HEADER)", "WITH (FORMAT binary)"])
def test_copies_of_whole_tables_are_masked_by_their_columns(quick, target, table, options):
    with Wire(masked(quick, target, FOUND, column(f"{table}.secret"))) as wire:
        for name in (table, f"public.{table}", f'"public"."{table}"'):
            data = copied(wire, name, options)
            assert b"example" not in data and b"nobody" not in data and b"Ann" in data, name
            assert data.count(b"[REDACTED]") == 1 and data.count(b"[EMAIL_ADDRESS]") == 2, name


def test_copies_go_by_what_the_catalog_says_of_their_table(quick, target, table):
    name = f"{table}_made"
    with Wire(masked(quick, target, column(f"{name}.secret"))) as wire:
        wire.ask(f"CREATE TABLE {name} AS SELECT id, name, secret FROM {table}")
        assert copied(wire, name) == b"1\tAnn\t[REDACTED]\n2\tBob\t\\N\n"
        wire.ask("BEGIN")
        assert copied(wire, name) == b"1\tAnn\t[REDACTED]\n2\tBob\t\\N\n"
        with pytest.raises(Refused) as refused:
            wire.ask(f"ALTER TABLE {name} RENAME secret TO other")
        assert refused.value.fields["C"] == "42501"
        wire.ask("ROLLBACK")
        # What the transaction did to the table is not known to others.
        wire.ask("BEGIN")
        wire.ask(f"ALTER TABLE {name} ADD more int")
        assert copied(wire, name).count(b"[REDACTED]") == 5
        wire.ask("ROLLBACK")
        # Another of its name: which of the two it is is not clear.
        wire.ask(f"CREATE TEMP TABLE {name} (secret text, id int, name text)")
        wire.ask(f"INSERT INTO {name} VALUES ('mine', 1, 'Ann')")
        assert b"mine" not in copied(wire, name)
        wire.ask(f"DROP TABLE pg_temp.{name}")
        assert copied(wire, name) == b"1\tAnn\t[REDACTED]\n2\tBob\t\\N\n"
        wire.ask(f"DROP TABLE {name}")


def test_messages_of_the_server_are_masked(quick, target, table):
    made = masked(quick, target, FOUND)
    other = Wire(credential(quick, target.connection(quick)))
    with Wire(made) as wire, other:
        wire.ask("LISTEN news")
        with pytest.raises(Refused) as refused:
            wire.ask(f"SELECT '{MAIL}'::int")
        assert "example" not in str(refused.value) and refused.value.fields["C"] == "22P02"
        wire.ask(f"DO $$ BEGIN RAISE NOTICE 'to {MAIL}'; END $$")
        assert wire.notices[-1]["M"] == "to [EMAIL_ADDRESS]"
        other.ask(f"NOTIFY news, 'from {MAIL}'")
        kind, body = wire.read()
        assert kind == b"A" and body.endswith(b"from [EMAIL_ADDRESS]\0"), body
        with pytest.raises(Refused) as refused:
            wire.ask(f"DO $$ BEGIN RAISE EXCEPTION 'to {MAIL}' USING detail = '{CARD}'; END $$")
        assert refused.value.fields["M"] == "to [EMAIL_ADDRESS]"
        assert refused.value.fields["D"] == "[CREDIT_CARD]"


def test_guard_rails_speak_as_ever(quick, target):
    made = masked(quick, target, FOUND)
    answer = quick.post("/guardrails", {
        "name": unique("rail"), "connection_ids": [made["connection_id"]],
        "input": {"rules": [{"type": "deny_words_list", "name": "words", "words": ["geheim"],
                             "message": f"ask {MAIL}"}]}})
    assert answer.status == 201, answer
    with Wire(made) as wire:
        with pytest.raises(Refused) as refused:
            wire.ask("SELECT 'geheim'")
        assert f"ask {MAIL}" in refused.value.fields["M"]
        assert wire.ask(f"SELECT '{MAIL}'") == [("[EMAIL_ADDRESS]",)]


# Guard rails on output ---------------------------------------------------------------------------

def test_what_the_server_answers_is_blocked(quick, target):
    name = target.connection(quick)
    connection_id = quick.get(f"/connections/{name}").json["id"]
    rule = {"type": "deny_words_list", "name": "out", "words": ["tiger"], "message": "no tigers"}
    answer = quick.post("/guardrails", {"name": unique("rail"), "output": {"rules": [rule]},
                                        "connection_ids": [connection_id]})
    assert answer.status == 201, answer
    made = credential(quick, name)
    slow = ("SELECT CASE n WHEN 3 THEN 'ti' || 'ger' ELSE repeat('x', 100) END, "
            "CASE WHEN n > 2000 THEN pg_sleep(0.01) END FROM generate_series(1, 10000) n")
    with Wire(made) as wire:
        began = time.monotonic()
        wire.send(message(b"Q", text(slow)))
        told = []
        while not told or told[-1][0] != b"Z":
            told.append(wire.read())
        assert time.monotonic() - began < 60, "it was not cancelled"
        assert re.fullmatch("TD*EZ", kinds(told))
        assert not any(b"tiger" in body for _, body in told[:-2])
        error = fields_of(told[-2][1])
        assert error["D"] == "no tigers" and error["C"] == "42501", error
        assert wire.ask("SELECT 1") == [("1",)]
        wire.send(*binary("SELECT 'ti' || 'ger'"), *binary("SELECT 2"), message(b"S"),
                  message(b"Q", text("SELECT 3")))
        with pytest.raises(Refused):
            wire.until_ready()
        assert rows_of(wire.until_ready()) == [("3",)]
        wire.ask("BEGIN")
        with pytest.raises(Refused):
            wire.ask("SELECT 'ti' || 'ger'")
        assert wire.status in (b"T", b"E")
        wire.ask("ROLLBACK")
    session = ended(quick, made)
    assert [one["direction"] for one in session["guardrails_info"]] == ["output"] * 3
    assert session["guardrails_info"][0]["rule_name"] == "out"
    shown = recorded(quick, session)
    assert "tiger" not in shown.replace("no tigers", "").replace("'ti' || 'ger'", "")


def test_what_is_only_observed_is_told_once_an_answer(quick, target):
    name = target.connection(quick)
    connection_id = quick.get(f"/connections/{name}").json["id"]
    rule = {"type": "deny_words_list", "name": "out", "words": ["tiger"], "action": "observe"}
    answer = quick.post("/guardrails", {"name": unique("rail"), "output": {"rules": [rule]},
                                        "connection_ids": [connection_id]})
    assert answer.status == 201, answer
    made = credential(quick, name)
    with Wire(made) as wire:
        for _ in range(2):
            rows = wire.ask("SELECT 'ti' || 'ger' FROM generate_series(1, 3000)")
            assert rows == [("tiger",)] * 3000
        wire.send(message(b"X"))
    session = ended(quick, made)
    assert [one["action"] for one in session["guardrails_info"]] == ["observe"] * 2


# Sessions ----------------------------------------------------------------------------------------

def sessions_of(api, made):
    answer = api.get(f"/sessions?connection={made['connection_name']}")
    assert answer.status == 200, answer
    return answer.json["data"]


def ended(api, made):
    wait_for(lambda: all(one["status"] == "done" for one in sessions_of(api, made)),
             what="the session's end")
    [session] = sessions_of(api, made)
    return api.get(f"/sessions/{session['id']}").json


def recorded(api, session):
    done = subprocess.run([BINARY, "recording", "show", session["id"], "--data-dir",
                           api.gateway.data], capture_output=True, text=True, check=False,
                          timeout=4 * PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_session_says_what_was_masked_and_its_recording_has_no_more(quick, target, table):
    made = masked(quick, target, FOUND, column(f"{table}.secret"))
    with Wire(made) as wire:
        wire.ask(f"SELECT email, card, secret, note FROM {table}")
        wire.send(message(b"X"))
    session = ended(quick, made)
    masking = session["metrics"]["data_masking"]
    assert masking["info_types"] == {"EMAIL_ADDRESS": 1, "CREDIT_CARD": 1, "IBAN_CODE": 1,
                                     "COLUMN": 1}, masking
    assert masking["total_redact_count"] == 4 and masking["err_count"] == 0
    assert masking["transformed_bytes"] == len(MAIL + CARD + IBAN + "tell nobody")
    shown = recorded(quick, session)
    assert "[EMAIL_ADDRESS]" in shown and "nothing here" in shown
    for clear in (MAIL, CARD, IBAN, "tell nobody"):
        assert clear not in shown


def test_a_rule_that_changes_holds_for_the_next_statement(quick, target, table):
    made = masked(quick, target, FOUND)
    asked = f"SELECT email, card FROM {table} WHERE id = 1"
    with Wire(made) as wire:
        assert wire.ask(asked) == [("[EMAIL_ADDRESS]", "[CREDIT_CARD]")]
        rule = made["rules"][0]
        rule["supported_entity_types"] = [{"name": "P", "entity_types": ["CREDIT_CARD"]}]
        assert quick.put(f"/datamasking-rules/{rule['id']}", rule).status == 200
        wait_for(lambda: wire.ask(asked) == [(MAIL, "[CREDIT_CARD]")])
        assert quick.delete(f"/datamasking-rules/{rule['id']}").status == 204
        wait_for(lambda: wire.ask(asked) == [(MAIL, CARD)])


def test_a_rule_that_comes_later_holds_as_well(quick, target, table):
    name = target.connection(quick)
    connection_id = quick.get(f"/connections/{name}").json["id"]
    made = credential(quick, name)
    asked = f"SELECT email, secret, name FROM {table} WHERE id = 1"
    with Wire(made) as wire:
        wire.send(message(b"P", text("s", asked) + struct.pack("!H", 0)), message(b"S"))
        wire.until_ready()
        assert wire.ask(asked) == [(MAIL, "tell nobody", "Ann")]
        rule = {"name": unique("rule"), "connection_ids": [connection_id], **FOUND,
                **column(f"{table}.secret")}
        assert quick.post("/datamasking-rules", rule).status == 201
        wait_for(lambda: wire.ask(asked) == [("[EMAIL_ADDRESS]", "[REDACTED]", "Ann")])
        wire.send(message(b"B", text("", "s") + bytes(6)), message(b"E", text("") + bytes(4)),
                  message(b"S"))
        [row] = rows_of(wire.until_ready())
        assert row == ("[EMAIL_ADDRESS]", "[REDACTED]", "Ann")  # it is known what it is


def test_a_rule_that_cannot_be_read_keeps_everybody_out(quick, target, table):
    made = masked(quick, target, FOUND)
    Store(quick.gateway).ask("UPDATE rule SET document = '{\"columns\": 3}' WHERE id = ?",
                             made["rules"][0]["id"])
    done = psql(made, f"SELECT email FROM {table}", check=False)
    assert done.returncode == 2 and MAIL not in done.stdout


def test_values_that_come_in_pieces(quick, target):
    made = masked(quick, target, FOUND)
    wide = (f"SELECT repeat('x', 3000000) || ' {MAIL} ' || repeat('y', 300000), n "
            "FROM generate_series(1, 3) n")
    with Wire(made, receive_buffer=4096) as wire:
        wire.conn.settimeout(4 * PATIENCE)
        wire.send(message(b"Q", text(wide)))
        time.sleep(1)
        rows = rows_of(wire.until_ready())
        assert [row[1] for row in rows] == ["1", "2", "3"]
        for row in rows:
            assert row[0] == "x" * 3000000 + " [EMAIL_ADDRESS] " + "y" * 300000
        # More than is examined at once: masked whole.
        wire.send(message(b"Q", text(f"SELECT repeat('x', 9000000) || '{MAIL}', 1")))
        [row] = rows_of(wire.until_ready())
        assert row[1] == "1" and len(row[0] or "") < 100
        assert wire.ask("SELECT 1") == [("1",)]


def test_psql_describes_tables_as_ever(quick, target, table):
    made = masked(quick, target, FOUND, column(f"{table}.secret"))
    plain = credential(quick, target.connection(quick))
    for asked in (f"\\d {table}", "\\dt", "\\du", f"\\d+ {table}_view", "\\l"):
        assert run(made, asked + "\n") == run(plain, asked + "\n")


def test_many_at_once(quick, target, table):
    made = masked(quick, target, FOUND, column(f"{table}.secret"))

    def one(number):
        with Wire(made) as wire:
            for _ in range(20):
                assert wire.ask(f"SELECT email, secret, {number} FROM {table} WHERE id = 1") == [
                    ("[EMAIL_ADDRESS]", "[REDACTED]", str(number))]
        return True

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert all(pool.map(one, range(16)))


def peak(gateway):
    with open(f"/proc/{gateway.process.pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read()).group(1))


def test_many_rows_in_constant_memory(start, target):
    gateway = start()
    api = register(gateway)
    made = masked(api, target, FOUND)
    asked = ("SELECT n, 'user' || n || '@example.com', repeat('x', 100) "
             "FROM generate_series(1, {}) n")
    with Wire(made, receive_buffer=1 << 20) as wire:
        wire.conn.settimeout(4 * PATIENCE)
        wire.ask(asked.format(2000))
        before = peak(gateway)
        wire.send(message(b"Q", text(asked.format(ROWS))))
        count = 0
        began = time.monotonic()
        while True:
            kind, body = wire.read()
            if kind == b"Z":
                break
            if kind == b"D":
                count += 1
                assert b"[EMAIL_ADDRESS]" in body and b"@example" not in body
        print(f"{ROWS / (time.monotonic() - began):.0f} rows/s, {before} → {peak(gateway)} kB")
    assert count == ROWS
    assert IS_SANITIZED or peak(gateway) - before < 16 * 1024


def test_what_nobody_can_be_asked_of_is_masked(quick, postgres, table):
    alone = Target(postgres)
    sql(postgres, f"GRANT ALL ON {table} TO {alone.user}; "
                  f"ALTER USER {alone.user} CONNECTION LIMIT 1")
    made = masked(quick, alone, column(f"public.{table}.secret"))
    with Wire(made) as wire:
        asked = f"SELECT secret AS x, name FROM {table} WHERE id = 1"
        assert wire.ask(asked) == [("[REDACTED]", "[REDACTED]")]
        sql(postgres, f"ALTER USER {alone.user} CONNECTION LIMIT 5")
        assert wire.ask(asked) == [("[REDACTED]", "Ann")]  # asked again


def test_a_session_may_end_while_the_target_is_asked(quick, target, table):
    made = masked(quick, target, column(f"public.{table}.secret"))
    for turn in range(30):
        with Wire(made) as wire:
            wire.send(message(b"Q", text(f"SELECT secret FROM {table}")))
            time.sleep(turn / 1000)
    wait_for(lambda: all(one["status"] == "done" for one in sessions_of(quick, made)),
             what="the sessions' end")


def test_recordings_that_are_waited_for(start, target, table):
    api = register(start("--recording", "strict"))
    made = masked(api, target, FOUND, column(f"public.{table}.secret"))
    with Wire(made) as wire:
        for _ in range(3):
            wire.send(*binary(f"SELECT email, secret AS x, name FROM {table} WHERE id = 1"),
                      message(b"S"), message(b"Q", text("SELECT 1")))
            assert rows_of(wire.until_ready()) == [("[EMAIL_ADDRESS]", "[REDACTED]", "Ann")]
            assert rows_of(wire.until_ready()) == [("1",)]


def test_through_an_agent_elsewhere(admin, target, table, tmp_path):
    known = make_agent(admin)
    agent = Agent(str(tmp_path), "--token", known["token"])
    wait_connected(admin, known, agent)
    made = masked(admin, target, FOUND, column(f"public.{table}.secret"), agent_id=known["id"])
    assert run(made, f"SELECT email, secret AS x, name FROM {table} ORDER BY id") == (
        "[EMAIL_ADDRESS]|[REDACTED]|Ann\n||Bob\n")
    assert agent.stop() == 0, agent.text()
