# SPDX-License-Identifier: MIT
"""What a guard rail would have stopped: recordings of real sessions, judged afterwards."""
import json
import os
import subprocess
import time

import pytest

from api import unique
from conftest import BINARY, PATIENCE
from native import Target, credential, psql
from pgwire import Refused, Wire
from store import Store

NO_WHERE = {"type": "sql", "operations": ["update", "delete"], "without_where": True,
            "name": "with WHERE"}
SECRET_WORD = "hush"


class Trials:
    """Two people on two connections, and what they did."""

    def __init__(self, admin, postgres):
        self.admin = admin
        self.target = Target(postgres)
        self.one, self.two = (self.target.connection(admin) for _ in range(2))
        self.ann, self.bob = admin.key("writers"), admin.key("readers")
        for name in self.one, self.two:
            admin.put(f"/connections/{name}/access", {"groups": ["writers", "readers"]})
        table = unique("trial").replace("-", "_")
        ann = credential(self.ann, self.one)
        psql(ann, f"CREATE TABLE {table} (id int); INSERT INTO {table} SELECT "
                  f"generate_series(1, 50);")
        psql(ann, f"DELETE FROM {table} WHERE id = 1;\nDELETE FROM {table} WHERE id > 40;\n"
                  f"BEGIN;\nDELETE FROM {table};\nROLLBACK;\n")
        psql(ann, f"SELECT '{SECRET_WORD}' AS a;\n"
                  f"PREPARE p AS UPDATE {table} SET id = 1;\n")
        psql(credential(self.bob, self.two), f"/* DELETE FROM {table} */ SELECT 'DELETE FROM x';\n"
                                             f"EXPLAIN DELETE FROM {table};", check=False)
        self.table = table

    def id_of(self, name):
        return self.admin.get(f"/connections/{name}").json["id"]

    def rail(self, *rules, **members):
        answer = self.admin.post("/guardrails", {"name": unique("rail"),
                                                 "input": {"rules": list(rules)}, **members})
        assert answer.status == 201, answer
        return answer.json

    def test(self, rail, **body):
        answer = self.admin.post(f"/guardrails/{rail['id']}/test", body)
        assert answer.status == 200, answer
        assert answer.json["is_complete"] and "missed" not in answer.json, answer
        return answer.json


@pytest.fixture(scope="module")
def trials(admin, postgres):
    return Trials(admin, postgres)


def test_it_tells_what_would_have_been_stopped_by_whom_and_where(trials):
    told = trials.test(trials.rail(NO_WHERE))
    assert told["days"] == 7 and told["statements"] >= 8
    assert told["matched"] == told["blocked"] == 2
    [tally] = told["by"]
    assert tally["connection"] == trials.one and tally["count"] == tally["blocked"] == 2
    assert sorted(example["statement"] for example in tally["examples"]) == [
        f"DELETE FROM {trials.table};", f"PREPARE p AS UPDATE {trials.table} SET id = 1;"]
    for example in tally["examples"]:
        session = trials.admin.get(f"/sessions/{example['session_id']}").json
        assert session["connection"] == trials.one


def test_only_the_connections_that_it_acts_on_are_read(trials):
    everything = trials.rail({"type": "pattern_match", "pattern_regex": "(?s)."},
                            connection_ids=[trials.id_of(trials.two)])
    told = trials.test(everything)
    assert [tally["connection"] for tally in told["by"]] == [trials.two]
    team = unique("team")
    trials.admin.post("/attributes", {"name": team, "connection_names": [trials.one]})
    both = trials.admin.put(f"/guardrails/{everything['id']}", {
        **everything, "attributes": [team]}).json
    assert {tally["connection"] for tally in trials.test(both)["by"]} == {trials.one, trials.two}
    trials.admin.put(f"/attributes/{team}", {"name": team})
    nowhere = trials.rail(NO_WHERE)
    trials.admin.put(f"/attributes/{team}", {"name": team,
                                            "guardrail_rule_names": [nowhere["name"]]})
    assert trials.test(nowhere)["sessions"] == 0


def test_a_guard_rail_that_is_not_saved_is_tried_in_its_place(trials):
    rail = trials.rail(NO_WHERE)
    wanted = {"name": "draft", "input": {"rules": [
        {"type": "deny_words_list", "words": [SECRET_WORD.upper()], "action": "observe"}]}}
    told = trials.test(rail, days=90, rule=wanted)
    assert (told["matched"], told["blocked"], told["days"]) == (1, 0, 90)
    assert trials.test(rail, rule={**wanted, "connection_ids": [trials.id_of(trials.two)]}
                      )["matched"] == 0
    assert trials.admin.get(f"/guardrails/{rail['id']}").json == rail
    assert trials.test(rail, rule=None)["matched"] == 2


def test_whom_it_does_not_concern_it_would_not_have_stopped(trials):
    assert trials.test(trials.rail({**NO_WHERE, "groups": ["readers"]}))["matched"] == 0
    assert trials.test(trials.rail({**NO_WHERE, "groups": ["writers"]}))["matched"] == 2
    assert trials.test(trials.rail({**NO_WHERE, "except_groups": ["writers"]}))["matched"] == 0


def test_rows_that_were_written_are_counted(trials):
    few = {"type": "sql", "operations": ["delete"], "max_rows": 5}
    told = trials.test(trials.rail(few))
    assert sorted(example["statement"] for example in told["by"][0]["examples"]) == [
        f"DELETE FROM {trials.table} WHERE id > 40;", f"DELETE FROM {trials.table};"]
    assert trials.test(trials.rail({**few, "max_rows": 100}))["matched"] == 0


def test_what_is_asked_for_wrongly_is_named(trials):
    rail = trials.rail(NO_WHERE)
    path = f"/guardrails/{rail['id']}/test"
    for body, message in (
            ({"days": 0}, "'days'"), ({"days": 91}, "'days'"), ({"days": "x"}, "'days'"),
            ({"rule": []}, "'rule'"), ({"rule": {}}, "'rule.name' is required"),
            ({"rule": {"name": "x", "input": {"rules": [{"type": "sql"}]}}},
             "'rule.input.rules[0]' must have a condition"),
            ({"rule": {"name": "x", "input": {"rules": [
                {"type": "pattern_match", "pattern_regex": "("}]}}},
             "'rule.input.rules[0].pattern_regex'")):
        answer = trials.admin.post(path, body)
        assert answer.status == 400 and answer.message.startswith(message), answer
    assert trials.admin.post("/guardrails/nothing/test", {}).status == 404
    for caller in trials.ann, trials.admin.key("auditor"):
        assert caller.post(path, {}).status == 403


def tried(trials, *rules, **body):
    answer = trials.admin.post("/guardrail-trials", {
        "rule": {"name": "unsaved", "input": {"rules": list(rules)}}, **body})
    assert answer.status == 200, answer
    return answer.json


def test_a_statement_is_judged_by_what_is_not_saved(trials):
    for body, action in (
            ({"statement": "DELETE FROM a"}, "block"),
            ({"statement": "DELETE FROM a WHERE id = 1"}, "pass"),
            ({"statement": "DELETE FROM `a`", "dialect": "mysql"}, "block"),
            ({"statement": "SELECT 1; UPDATE a SET b = 1"}, "block")):
        assert tried(trials, NO_WHERE, **body)["action"] == action, body
    word = {"type": "deny_words_list", "words": [SECRET_WORD], "action": "review",
            "name": "quiet", "message": "not so loud", "except_groups": ["readers"]}
    found = tried(trials, word, statement=f"SELECT '{SECRET_WORD}'", groups=["writers"])
    assert found["action"] == "review" and found["findings"] == [
        {"action": "review", "rule_name": "quiet", "rule_type": "deny_words_list",
         "message": "not so loud"}]
    assert tried(trials, word, statement=f"SELECT '{SECRET_WORD}'", groups=["readers"]) == {
        "action": "pass", "findings": [], "max_rows": None, "is_read_only": False}
    rows = tried(trials, {"type": "sql", "max_rows": 5}, statement="DELETE FROM a WHERE b = 1")
    assert rows["action"] == "pass" and rows["max_rows"] == 5
    assert tried(trials, {"type": "sql", "read_only": True}, statement="SELECT 1")["is_read_only"]
    saved = trials.rail(word)
    answer = trials.admin.post(f"/guardrails/{saved['id']}/test",
                               {"statement": f"SELECT '{SECRET_WORD}'"})
    assert answer.json["action"] == "review", answer


def test_what_is_not_saved_is_tried_on_what_is_on_record(trials):
    found = trials.admin.post("/guardrail-trials", {"rule": {
        "name": "unsaved", "connection_names": [trials.one], "input": {"rules": [NO_WHERE]}}}).json
    assert found["matched"] == 2 and {tally["connection"] for tally in found["by"]} == {trials.one}
    assert "unsaved" not in [rail["name"] for rail in trials.admin.get("/guardrails").json]
    for body, message in (
            ({}, "'rule' is required"), ({"rule": {"name": "x"}, "dialect": "oracle"}, "'dialect'"),
            ({"rule": {"name": "x", "connection_names": ["nothing"]}}, "connection"),
            ({"rule": {"name": "x"}, "statement": "a" * 65537}, "'statement'")):
        answer = trials.admin.post("/guardrail-trials", body)
        assert answer.status in (400, 404) and message in answer.message, answer


def test_each_time_is_in_the_audit_log(trials):
    rail = trials.rail(NO_WHERE)
    trials.test(rail, days=3)
    [entry] = trials.admin.get("/audit/logs?action=test&page_size=1").json["data"]
    assert entry["resource_type"] == "guardrails" and entry["http_status"] == 200
    payload = entry["request_payload_redacted"]
    assert payload["id"] == rail["id"] and payload["days"] == 3 and payload["matched"] == 2
    assert trials.table not in json.dumps(entry)


def test_a_recording_that_is_gone_is_told_of(trials):
    rail = trials.rail(NO_WHERE)
    home = trials.admin.get("/userinfo").json["org_id"]
    lost = Store(trials.admin.gateway).add_session(home, started_at=time.time_ns() // 1000,
                                                   status="done", ended_at=2)
    told = trials.admin.post(f"/guardrails/{rail['id']}/test", {}).json
    Store(trials.admin.gateway).ask("DELETE FROM session WHERE id = ?", lost)
    assert told["matched"] == 2 and told["is_complete"] is False
    assert told["missed"] == "recordings are on another gateway, or were removed"


def guard_test(trials, *arguments):
    return subprocess.run(
        [BINARY, "guard", "test", *arguments, "--data-dir", trials.admin.gateway.data],
        capture_output=True, text=True, check=False, timeout=4 * PATIENCE)


def test_the_operator_asks_on_the_command_line(trials, tmp_path):
    rail = trials.rail(NO_WHERE)
    done = guard_test(trials, rail["name"])
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 of ") and f" on {trials.one}: 2 (2 blocked)" in done.stdout
    assert f"DELETE FROM {trials.table};" in done.stdout
    draft = tmp_path / "draft.json"
    draft.write_text(json.dumps({"name": "x", "input": {"rules": [
        {"type": "deny_words_list", "words": ["no such word"]}]}}))
    done = guard_test(trials, rail["id"], "--days=30", "--rule", str(draft))
    assert done.stdout.startswith("0 of ") and "30 days" in done.stdout, done
    for arguments, message in (
            ((), "the NAME of a guard rail is expected"), (("a", "b"), "one NAME is expected"),
            (("nothing",), "there is no guard rail 'nothing'"),
            ((rail["id"], "--days", "x"), "--days: a number is expected"),
            ((rail["id"], "--days", "91"), "'days'"),
            ((rail["id"], "--rule", "/nowhere"), "'/nowhere'"),
            ((rail["id"], "--other", "x"), "'--other'"),
            ((rail["id"], "--organization", "nowhere"), "nowhere")):
        done = guard_test(trials, *arguments)
        assert done.returncode != 0 and message in done.stderr, (arguments, done)


PACKS = ["no-destructive-ddl", "no-unbounded-write", "pci", "personal-data", "read-only", "secrets"]
SLASH = [r"\d", r"\d+ pg_catalog.pg_class", r"\dt *.*", r"\dt+", r"\di+", r"\dv *.*", r"\ds",
         r"\df+", r"\da", r"\dT+", r"\dn+", r"\du+", r"\dp", r"\ddp", r"\db+", r"\dc", r"\dC",
         r"\dd", r"\dD", r"\dE", r"\des+", r"\deu+", r"\dew+", r"\det+", r"\dF+", r"\dFd", r"\dL",
         r"\dm", r"\do", r"\dO", r"\dP", r"\drds", r"\dRp", r"\dx+", r"\dX", r"\dy", r"\l+",
         r"\sf now", r"\z", r"\conninfo", r"\dconfig", r"\lo_list"]


@pytest.fixture(scope="module")
def tools(trials):
    """A connection on which nothing happened but what tools ask of the catalog."""
    name = trials.target.connection(trials.admin)
    made = credential(trials.admin, name)
    done = psql(made, "\n".join(SLASH) + "\n", "-v", "ON_ERROR_STOP=0")
    assert "ERROR" not in done.stderr.replace("ERROR:  permission denied", ""), done.stderr
    with open(os.path.join(os.path.dirname(__file__), "catalog_queries.sql"),
              encoding="utf-8") as file:
        texts = file.read().split("\n----\n")
    with Wire(made) as wire:
        for text in texts:
            wire.ask(text)
    return name


@pytest.mark.parametrize("pack", PACKS)
def test_a_pack_stops_nothing_that_tools_ask_of_the_catalog(trials, tools, pack):
    draft = trials.admin.get(f"/rulepacks/{pack}").json["guardrail"]
    told = trials.test(trials.rail(NO_WHERE), rule={
        **draft, "connection_ids": [trials.id_of(tools)]})
    assert told["statements"] > len(SLASH) and told["by"] == [], told


STOPPED = {
    "read-only": ["INSERT INTO t VALUES (1)", "SELECT 1 INTO u",
                  "WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a",
                  "CREATE TABLE u (a int)", "COPY t FROM STDIN", "DO 'BEGIN END'",
                  "EXPLAIN ANALYZE UPDATE t SET a = 1 WHERE a = 2", "SELECT lo_unlink(1)",
                  "COPY t TO PROGRAM 'cat'", "copy/**/(SELECT 1) to/**/$$/tmp/x$$", "CALL p()",
                  "SELECT setval('s', 1)", "SELECT mine()", "GRANT SELECT ON t TO public",
                  "VACUUM", "REFRESH MATERIALIZED VIEW m", "COMMENT ON TABLE t IS 'x'"],
    "no-destructive-ddl": ["DROP TABLE t", "TRUNCATE t", "DROP OWNED BY a", "DO 'BEGIN END'",
                           "SELECT 1; DROP VIEW v"],
    "no-unbounded-write": ["DELETE FROM t", "UPDATE t SET a = 1", "TRUNCATE t",
                           "/* WHERE */ DELETE FROM ONLY t -- WHERE a",
                           "WITH a AS (UPDATE t SET a = 1 RETURNING a) SELECT * FROM a"],
    "pci": ["SELECT pg_read_file('x')", "SELECT * FROM dblink('a', 'b') AS t(a int)",
            "SELECT query_to_xml('SELECT 1', true, true, '')", "COPY t TO '/tmp/x'"],
    "personal-data": ["SELECT pg_catalog.pg_read_binary_file('x')", "SELECT lo_export(1, 'x')"],
    "secrets": ["SELECT rolpassword FROM pg_authid", "TABLE pg_catalog.pg_shadow",
                'SELECT * FROM "pg_catalog"."pg_authid"', "SELECT pg_read_file('x')"],
}
PASSED = {
    "read-only": ["SELECT now(), count(*), max(a) FROM t", "BEGIN; SELECT 1; COMMIT",
                  "COPY t TO STDOUT", "EXPLAIN SELECT 1", "SHOW all", "SET a.b = 'DROP TABLE t'",
                  "SELECT 'copy it to me', \"delete from\" FROM t"],
    "no-destructive-ddl": ["CREATE TABLE u (a int)", "INSERT INTO t VALUES ('DROP TABLE t')",
                           "SELECT mine()", "DELETE FROM t"],
    "no-unbounded-write": ["DELETE FROM t WHERE a = 1", "INSERT INTO t SELECT * FROM u",
                           "SELECT mine()", "DROP TABLE t"],
    "pci": ["DELETE FROM t", "SELECT mine()", "COPY t TO STDOUT"],
    "personal-data": ["SELECT * FROM people"],
    "secrets": ["SELECT * FROM pg_roles", "SELECT * FROM pg_user"],
}


def recorded(trials, texts):
    """What was sent on a connection of its own, whatever the target thinks of it."""
    name = trials.target.connection(trials.admin)
    with Wire(credential(trials.admin, name)) as wire:
        for text in texts:
            try:
                wire.ask(text)
            except Refused:
                wire.ask("ROLLBACK")
    return name


@pytest.mark.parametrize("pack", PACKS)
def test_a_pack_stops_what_it_says_and_no_more(trials, pack):
    draft = trials.admin.get(f"/rulepacks/{pack}").json["guardrail"]
    rail = trials.rail(NO_WHERE)
    for text in STOPPED[pack] + PASSED[pack]:
        where = trials.id_of(recorded(trials, [text]))
        told = trials.test(rail, rule={**draft, "connection_ids": [where]})
        assert told["blocked"] == (1 if text in STOPPED[pack] else 0), (text, told)
