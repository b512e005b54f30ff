# SPDX-License-Identifier: MIT
"""Read budgets of guard rails, on sessions of real clients at a real PostgreSQL server."""
import struct
import time

import pytest

from agent import Agent, make_agent, wait_connected
from api import login, register, unique
from conftest import PATIENCE, Gateway, wait_for
from native import Session, credential, psql, sql
from pgwire import Wire, fields_of, message, text

MANY = "SELECT generate_series(1, {})"  # one by one, not all at first
SPENT = "the read budget of {} is spent"


def rule(per="session", **members):
    return {"type": "read_budget", "name": "enough", "message": "ask for an export", "per": per,
            **members}


def rail(api, connection_id, *rules, **members):
    answer = api.post("/guardrails", {"name": unique("rail"), "output": {"rules": list(rules)},
                                      "connection_ids": [connection_id], **members})
    assert answer.status == 201, answer
    return answer.json


def budgeted(api, target, *rules, **members):
    name = target.connection(api, **members)
    connection_id = api.get(f"/connections/{name}").json["id"]
    made_rail = rail(api, connection_id, *rules)
    made = credential(api, name)
    made["rail"] = made_rail
    return made


def extended(statement, max_rows=0, portal=""):
    return [message(b"P", text("", statement) + struct.pack("!H", 0)),
            message(b"B", text(portal, "") + struct.pack("!HHH", 0, 0, 0)),
            message(b"E", text(portal) + struct.pack("!i", max_rows))]


def query(statement):
    return message(b"Q", text(statement))


SYNC = message(b"S")


def until_ready(wire, times=1):
    messages = []
    while times > 0:
        kind, body = wire.read()
        messages.append((kind, body))
        times -= kind == b"Z"
    return messages


def kinds(messages):
    """A letter each, with the SQLSTATE of errors, tags, the transaction's state, and how many rows
    there are in a run."""
    told = []
    for kind, body in messages:
        letter = kind.decode()
        if kind == b"E":
            told.append("E:" + fields_of(body)["C"])
        elif kind in b"CZ":
            told.append(f"{letter}:{body.rstrip(bytes(1)).decode()}")
        elif kind in b"Dd" and told and told[-1].split("*")[0] == letter:
            told[-1] = f"{letter}*{int(told[-1].split('*')[1]) + 1}"
        else:
            told.append(f"{letter}*1" if kind in b"Dd" else letter)
    return " ".join(told)


def told(wire, *messages, times=1):
    wire.send(*messages)
    return kinds(until_ready(wire, times))


def errors(messages):
    return [fields_of(body) for kind, body in messages if kind == b"E"]


def test_a_large_select_ends_at_the_limit(quick, target):
    made = budgeted(quick, target, rule(rows=1000))
    done = psql(made, MANY.format(1000000), "-v", "FETCH_COUNT=0", check=False)
    assert done.returncode == 3 and done.stdout == ""
    assert f"blocked by guard rail '{made['rail']['name']}', rule 'enough': ask for" in done.stderr
    assert f"DETAIL:  {SPENT.format('1000 rows for a session')}" in done.stderr
    assert "HINT:  A new session has a budget of its own." in done.stderr


@pytest.mark.parametrize("say", [lambda s: [query(s)], lambda s: [*extended(s), SYNC]])
def test_the_connection_stays_usable(quick, target, say):
    made = budgeted(quick, target, rule(rows=1000))
    with Wire(made) as wire:
        begin = time.monotonic()
        answer = told(wire, *say(MANY.format(100000000)))
        assert answer in ("T D*1000 E:53400 Z:I", "1 2 D*1000 E:53400 Z:I")
        assert time.monotonic() - begin < PATIENCE / 2
        assert told(wire, query("SET search_path TO public")) == "C:SET Z:I"
        assert told(wire, *extended("SET search_path TO public"), SYNC) == "1 2 C:SET Z:I"
        wire.send(*say("SELECT 1"))
        messages = until_ready(wire)
        assert kinds(messages) in ("E:53400 Z:I", "1 2 E:53400 Z:I")
        assert errors(messages)[0]["D"] == SPENT.format("1000 rows for a session")
        assert told(wire, query("BEGIN")) == "C:BEGIN Z:T"
        assert told(wire, query("SELECT 1")) == "E:53400 Z:E"
        assert told(wire, query("ROLLBACK")) == "C:ROLLBACK Z:I"
    with Wire(made) as wire:
        assert told(wire, query(MANY.format(1000))) == "T D*1000 C:SELECT 1000 Z:I"
        assert told(wire, query("SELECT 1")) == "E:53400 Z:I"


# Ways to read ------------------------------------------------------------------------------------

def test_bytes_are_those_of_the_rows(quick, target):
    made = budgeted(quick, target, rule(bytes=1000))
    with Wire(made) as wire:
        # Two bytes for the number of columns, four for a length, and 100.
        wire.send(query("SELECT repeat('x', 100) FROM generate_series(1, 20)"))
        messages = until_ready(wire)
        assert kinds(messages) == "T D*9 E:53400 Z:I"
        assert sum(len(body) for kind, body in messages if kind == b"D") == 9 * 106
        # 46 are left, which would be enough for this one: it is over all the same.
        assert told(wire, query("SELECT 1")) == "E:53400 Z:I"


def test_a_row_that_is_larger_than_the_buffers(quick, target):
    made = budgeted(quick, target, rule(bytes=5000000))
    with Wire(made) as wire:
        wire.send(query("SELECT repeat('x', 3000000) FROM generate_series(1, 3)"))
        messages = until_ready(wire)
        assert kinds(messages) == "T D*1 E:53400 Z:I"
        assert len(messages[1][1]) == 3000006


@pytest.mark.parametrize("how", ["", "WITH (FORMAT binary)", "WITH (FORMAT csv, HEADER)"])
@pytest.mark.parametrize("what", ["{}", "(SELECT * FROM {})"])
def test_a_copy_ends_in_the_middle(quick, target, what, how):
    table = unique("copied").replace("-", "_")
    sql(target.server, f"CREATE TABLE {table} AS SELECT generate_series(1, 500000) n; "
                       f"GRANT ALL ON {table} TO {target.user}")
    made = budgeted(quick, target, rule(rows=700))
    copy = f"COPY {what.format(table)} TO STDOUT {how}"
    with Wire(made) as wire:
        assert told(wire, query(copy)) == "H d*700 E:53400 Z:I"
        again = told(wire, *extended(copy), SYNC)
        assert again in ("1 2 E:53400 Z:I", "1 2 H E:53400 Z:I")
        copied = message(b"d", b"1\n") + message(b"c")
        assert told(wire, query(f"COPY {table} FROM STDIN"), copied) == "G C:COPY 1 Z:I"
    sql(target.server, f"DROP TABLE {table}")


def test_cursors_and_portals_read_in_parts(quick, target):
    made = budgeted(quick, target, rule(rows=25))
    with Wire(made) as wire:
        assert told(wire, query(f"BEGIN; DECLARE c CURSOR FOR {MANY.format(100)}")) == \
            "C:BEGIN C:DECLARE CURSOR Z:T"
        assert told(wire, query("FETCH 10 FROM c")) == "T D*10 C:FETCH 10 Z:T"
        more = message(b"E", text("p") + struct.pack("!i", 5))
        assert told(wire, *extended(MANY.format(100), 5, "p"), more, SYNC) == \
            "1 2 D*5 s D*5 s Z:T"
        # The server may have done it before it hears that it shall not.
        answer = told(wire, query("FETCH 10 FROM c"))
        assert answer in ("T D*5 E:53400 Z:T", "T D*5 E:53400 Z:E")
        wire.send(query("CLOSE c"))
        until_ready(wire)
        assert told(wire, query("ROLLBACK")) == "C:ROLLBACK Z:I"
        assert told(wire, query("BEGIN")) == "C:BEGIN Z:T"
        assert told(wire, query(f"DECLARE c CURSOR FOR {MANY.format(9)}")) == \
            "C:DECLARE CURSOR Z:T"
        assert told(wire, query("FETCH 10 FROM c")) == "E:53400 Z:E"


def test_several_statements_and_pipelines(quick, target):
    made = budgeted(quick, target, rule(rows=10))
    with Wire(made) as wire:
        wire.send(query("SELECT 1; SELECT 2"), *extended(MANY.format(6)), SYNC,
                  *extended(MANY.format(1000000)), *extended("SET search_path TO public"), SYNC,
                  *extended("SET search_path TO public"), SYNC)
        assert kinds(until_ready(wire, 4)) == (
            "T D*1 C:SELECT 1 T D*1 C:SELECT 1 Z:I 1 2 D*6 C:SELECT 6 Z:I 1 2 D*2 E:53400 Z:I "
            "1 2 C:SET Z:I")
        assert told(wire, query("SELECT 1; SELECT 2")) == "E:53400 Z:I"


def test_a_large_result_in_a_block_fails_the_block_or_says_so(quick, target):
    made = budgeted(quick, target, rule(rows=10))
    with Wire(made) as wire:
        assert told(wire, query("BEGIN")) == "C:BEGIN Z:T"
        assert told(wire, query(MANY.format(100000000))) == "T D*10 E:53400 Z:E"
        assert told(wire, query("SET search_path TO public")) == "E:25P02 Z:E"
        assert told(wire, query("ROLLBACK")) == "C:ROLLBACK Z:I"


def test_what_a_function_call_gives_counts(quick, target):
    made = budgeted(quick, target, rule(rows=2))
    oid = int(sql(target.server, "SELECT 'int4pl'::regproc::oid"))
    call = message(b"F", struct.pack("!IHHHiiiiH", oid, 1, 1, 2, 4, 3, 4, 4, 1))
    with Wire(made) as wire:
        assert told(wire, call) == "V Z:I"
        assert told(wire, call) == "V Z:I"
        assert told(wire, call) == "E:53400 Z:I"
        assert told(wire, query("SELECT 1")) == "E:53400 Z:I"


# Hours -------------------------------------------------------------------------------------------

def test_an_hour_is_of_the_user_in_all_sessions(quick, target):
    made = budgeted(quick, target, rule("hour", rows=100))
    other = credential(quick.key("support"), made["connection_name"])
    with Wire(made) as one, Wire(made) as two:
        assert told(one, query(MANY.format(60))) == "T D*60 C:SELECT 60 Z:I"
        two.send(query(MANY.format(60)))
        messages = until_ready(two)
        assert kinds(messages) == "T D*40 E:53400 Z:I"
        [error] = errors(messages)
        assert error["D"] == SPENT.format("100 rows in an hour")
        assert error["H"] in [f"Some of it can be read in {n} minutes." for n in (60, 61)]
        assert told(one, query("SELECT 1")) == "E:53400 Z:I"
    # To come again, with other credentials as well, changes nothing.
    again = credential(quick, made["connection_name"])
    assert psql(again, "SELECT 1", check=False).returncode == 3
    assert psql(other, "SELECT 1").stdout == "1\n"
    # Nor does it where he has read nothing.
    free = credential(quick, target.connection(quick))
    assert psql(free, "SELECT 1").stdout == "1\n"


def test_two_at_once_get_no_more_than_one(quick, target):
    made = budgeted(quick, target, rule("hour", rows=100000))
    wires = [Wire(made) for _ in range(6)]
    for wire in wires:
        wire.send(query(MANY.format(1000000)))
    rows = 0
    for wire in wires:
        answer = kinds(until_ready(wire))
        assert answer.endswith("E:53400 Z:I"), answer
        rows += int(answer.split("*")[1].split()[0]) if "*" in answer else 0
        wire.conn.close()
    assert rows == 100000


def test_groups_say_whom_it_concerns(quick, target):
    made = budgeted(quick, target, rule(rows=1, except_groups=["reporting"]))
    free = credential(quick.key("reporting"), made["connection_name"])
    assert psql(free, MANY.format(1000)).stdout.count("\n") == 1000
    assert psql(made, MANY.format(1000), check=False).returncode == 3


def test_a_restart_frees_nobody(tmp_path, target):
    gateway = Gateway(tmp_path)
    api = register(gateway)
    made = budgeted(api, target, rule("hour", rows=100))
    assert psql(made, MANY.format(60)).stdout.count("\n") == 60
    assert gateway.stop() == 0, gateway.text()
    gateway = Gateway(tmp_path)
    made = credential(login(gateway, "root@example.com"), made["connection_name"])
    with Wire(made) as wire:
        assert told(wire, query(MANY.format(30))) == "T D*30 C:SELECT 30 Z:I"
    time.sleep(2.5)  # until it is written
    gateway.kill()
    gateway = Gateway(tmp_path)
    made = credential(login(gateway, "root@example.com"), made["connection_name"])
    with Wire(made) as wire:
        assert told(wire, query(MANY.format(30))) == "T D*10 E:53400 Z:I"
    assert gateway.stop() == 0, gateway.text()


# What is told ------------------------------------------------------------------------------------

def session_of(api, made):
    def done():
        found = api.get(f"/sessions?connection={made['connection_name']}").json["data"]
        return found and found[0]["status"] == "done" and found[0]

    return api.get(f"/sessions/{wait_for(done, what='the end')['id']}").json


def test_a_warning_is_a_notice_and_observing_is_silent(quick, target):
    made = budgeted(quick, target, rule(rows=3, action="warn"),
                    rule(rows=5, action="observe", name="seen"))
    with Wire(made) as wire:
        assert told(wire, query(MANY.format(3))) == "T D*3 C:SELECT 3 Z:I"
        wire.send(query("SELECT 1"))
        messages = until_ready(wire)
        assert kinds(messages) == "T N D*1 C:SELECT 1 Z:I"
        notice = fields_of(messages[1][1])
        assert notice["S"] == "NOTICE" and notice["C"] == "01000"
        assert "noticed by guard rail" in notice["M"] and "'enough': ask for" in notice["M"]
        assert told(wire, query(MANY.format(50))) == "T D*50 C:SELECT 50 Z:I"
    found = session_of(quick, made)["guardrails_info"]
    assert [(one["rule_name"], one["action"], one["direction"], one["rule"]["type"])
            for one in found] == [("enough", "warn", "output", "read_budget"),
                                  ("seen", "observe", "output", "read_budget")]


def test_the_record_holds_what_the_client_saw(quick, target):
    made = budgeted(quick, target, rule(rows=3))
    with Wire(made) as wire:
        assert told(wire, query("SELECT 'row ' || generate_series(1, 1000)")) == \
            "T D*3 E:53400 Z:I"
    session = session_of(quick, made)
    [found] = session["guardrails_info"]
    assert (found["rule_name"], found["action"], found["message"]) == \
        ("enough", "block", "ask for an export")
    shown = quick.get(f"/sessions/{session['id']}/download").body.decode()
    assert "row 3" in shown and "row 4" not in shown
    assert "ask for an export" in shown


def test_a_budget_that_changes_applies_to_the_next_statement(quick, target):
    made = budgeted(quick, target, rule(rows=1000))
    free = credential(quick, target.connection(quick))
    free_id = quick.get(f"/connections/{free['connection_name']}").json["id"]
    put = {"name": made["rail"]["name"],
           "connection_ids": made["rail"]["connection_ids"] + [free_id]}
    with Wire(made) as wire, Wire(free) as late:
        for one in (wire, late):
            assert told(one, query(MANY.format(20))) == "T D*20 C:SELECT 20 Z:I"
        # What was read counts where there was a budget before.
        answer = quick.put(f"/guardrails/{made['rail']['id']}", {
            **put, "output": {"rules": [rule(rows=20)]}})
        assert answer.status == 200, answer
        wait_for(lambda: told(wire, query("SHOW search_path")) == "E:53400 Z:I",
                 what="the smaller budget")

        def is_spent():
            return told(late, query("SELECT 1")) == "E:53400 Z:I"

        for _ in range(200):
            if is_spent():
                break
            time.sleep(0.05)
        assert is_spent()
        assert quick.put(f"/guardrails/{made['rail']['id']}", put).status == 200
        for one in (wire, late):
            wait_for(lambda one=one: told(one, query("SELECT 1")) == "T D*1 C:SELECT 1 Z:I",
                     what="no budget")


def test_masked_rows_are_counted_behind_the_mask(quick, target):
    made = budgeted(quick, target, rule(rows=4))
    answer = quick.post("/datamasking-rules", {
        "name": unique("mask"), "connection_ids": made["rail"]["connection_ids"],
        "supported_entity_types": [{"name": "MAIL", "entity_types": ["EMAIL_ADDRESS"]}]})
    assert answer.status == 201, answer
    with Wire(made) as wire:
        wire.send(query("SELECT n || '@example.com' FROM generate_series(1, 100000) n"))
        messages = until_ready(wire)
        assert kinds(messages) == "T D*4 E:53400 Z:I"
        assert b"@example.com" not in b"".join(body for _, body in messages)


def test_psql_stays_usable(quick, target):
    made = budgeted(quick, target, rule(rows=50))
    session = Session(made["connection_credentials"])
    assert "ask for an export" in session.ask(MANY.format(1000))
    session.process.stdin.write("\\echo still\n")
    session.process.stdin.flush()
    end = time.monotonic() + PATIENCE
    while session.process.stdout.readline().strip() != "still":
        assert time.monotonic() < end
    session.process.kill()
    session.process.communicate()


def test_behind_an_agent_elsewhere(quick, target, tmp_path):
    agent_made = make_agent(quick)
    agent = Agent(str(tmp_path), "--token", agent_made["token"])
    wait_connected(quick, agent_made, agent)
    made = budgeted(quick, target, rule(rows=1000), agent_id=agent_made["id"])
    with Wire(made) as wire:
        assert told(wire, query(MANY.format(100000000))) == "T D*1000 E:53400 Z:I"
        assert told(wire, *extended("SELECT 1"), SYNC) == "1 2 E:53400 Z:I"
        assert told(wire, query("BEGIN; COMMIT")) == "C:BEGIN C:COMMIT Z:I"
    assert agent.stop() == 0, agent.text()


def test_a_trial_says_that_budgets_are_not_tried(quick, target):
    made = budgeted(quick, target, rule(rows=1000))
    answer = quick.post(f"/guardrails/{made['rail']['id']}/test", {})
    assert answer.status == 200, answer
    assert answer.json["missed"] == "read budgets are not tried"
    assert answer.json["is_complete"] is False
