# SPDX-License-Identifier: MIT
"""Scripts that are executed over the API: one way with what native clients send."""
import concurrent.futures
import http.client
import json
import time

import pytest

from agent import Agent, make_agent, wait_connected
from api import Api, b64, connection, unique
from conftest import PATIENCE, wait_for
from native import credential, sql


@pytest.fixture(scope="module")
def name(admin, target):
    return target.connection(admin)


def execute(api, name, script, results="text", status=200, **members):
    answer = api.post(f"/sessions?results={results}",
                      {"connection": name, "script": script, **members})
    assert answer.status == status, answer
    return answer.json


def session_of(api, done, status="done"):
    def ended():
        session = api.get(f"/sessions/{done['session_id']}").json
        return session if session["status"] == status else None
    return wait_for(ended, what="the session's end")


def test_text(admin, name):
    done = execute(admin, name, "select 1 as n, 'a\tb' as t, null as none; select 'two'")
    assert done["output"] == "n\tt\tnone\n1\ta\\tb\t\\N\nSELECT 1\n?column?\ntwo\nSELECT 1\n"
    assert (done["output_status"], done["exit_code"], done["truncated"], done["has_review"]) == (
        "success", 0, False, False)
    session = session_of(admin, done)
    assert (session["verb"], session["connection"], session["end_reason"]) == (
        "exec", name, "the client left")
    result = admin.get(f"/sessions/{done['session_id']}/result")
    assert result.status == 200 and "two" in result.body.decode()


def test_json(admin, name):
    done = execute(admin, name, """
        create temporary table t (id int, big bigint, ok bool, price numeric(8,2), note text);
        insert into t values (1, 9007199254740993, true, 1.50, 'x'), (2, 5, false, null, null);
        table t; do $$ begin raise notice 'look'; end $$; copy t to stdout""", results="json")
    create, insert, table, do, copy = done["statements"]
    assert (create["command"], create["rows_affected"]) == ("CREATE TABLE", None)
    assert (insert["command"], insert["rows_affected"]) == ("INSERT 0 2", 2)
    assert [column["type"] for column in table["columns"]] == [
        "integer", "bigint", "boolean", "numeric", "text"]
    assert table["rows"] == [[1, "9007199254740993", True, "1.50", "x"],
                             [2, 5, False, None, None]]
    assert [notice["message"] for notice in do["notices"]] == ["look"]
    assert copy["text"].splitlines() == ["1\t9007199254740993\tt\t1.50\tx", "2\t5\tf\t\\N\t\\N"]
    assert done["output_status"] == "success" and all(s["error"] is None
                                                      for s in done["statements"])


def test_the_first_error_ends_a_script(admin, name, target):
    table = unique("t").replace("-", "_")
    done = execute(admin, name, f"create table {table} (a int); select 1/0; drop table {table}",
                   results="json")
    assert (done["output_status"], done["exit_code"]) == ("failed", 1)
    assert len(done["statements"]) == 2
    error = done["statements"][1]["error"]
    assert (error["code"], error["message"]) == ("22012", "division by zero")
    assert sql(target.server, f"select count(*) from {table}; drop table {table}") == "0"
    done = execute(admin, name, "select nothing_of_the_kind", results="json")
    assert done["statements"][0]["error"]["position"] == 8


def test_odd_scripts(admin, name):
    assert execute(admin, name, "-- nothing\n ;;")["output_status"] == "success"
    for script, code in [("select 'open", "42601"), ("copy pg_class from stdin", "42501"),
                         ("begin; select 1; select 1/0", "22012")]:
        done = execute(admin, name, script, results="json")
        errors = [s["error"]["code"] for s in done["statements"] if s["error"]]
        assert errors == [code], (script, done)
    for body, words in [({"script": "select 1"}, "connection"), ({"connection": name}, "script"),
                        ({"connection": name, "script": ""}, "script"),
                        ({"connection": name, "script": "a\0b"}, "script"),
                        ({"connection": "nobody's", "script": "select 1"}, "nobody's")]:
        answer = admin.post("/sessions", body)
        assert answer.status in (400, 404) and words in answer.json["message"], answer
    done = execute(admin, name, "select 1", jira_fields={"a": "b"})
    assert any("jira_fields" in warning for warning in done["warnings"])


def test_what_programs_say_of_it(admin, name):
    batch, other = unique("batch"), unique("trace")
    said = {"labels": {"pipeline": "nightly", "step": "3"}, "session_batch_id": batch}
    first, second = (execute(admin, name, "select 1", correlation_id=trace, **said)
                     for trace in (other, unique("trace")))
    session = session_of(admin, first)
    assert (session["labels"], session["session_batch_id"], session["correlation_id"]) == (
        said["labels"], batch, other)
    session_of(admin, second)

    def ids(query):
        listed = admin.get(f"/sessions?{query}").json
        return {row["id"] for row in listed["data"]}, listed["total"]
    both = {first["session_id"], second["session_id"]}
    assert ids(f"batch_id={batch}") == (both, 2)
    assert ids(f"batch_id={batch}&correlation_id={other}") == ({first["session_id"]}, 1)
    assert ids(f"correlation_id={other}&status=done") == ({first["session_id"]}, 1)
    assert ids("batch_id=nobodys") == (set(), 0)
    plain = session_of(admin, execute(admin, name, "select 1"))
    assert not {"labels", "session_batch_id", "correlation_id"} & set(plain)
    for members, words in [({"labels": {"a": "x" * 2500}}, "labels"),
                           ({"correlation_id": "tr\u00e4ce"}, "correlation_id"),
                           ({"session_batch_id": "x" * 256}, "session_batch_id"),
                           ({"env_vars": {"envvar:A": "MQ=="}}, "takes statements"),
                           ({"client_args": ["-v"]}, "takes statements")]:
        answer = admin.post("/sessions", {"connection": name, "script": "select 1", **members})
        assert answer.status == 400 and words in answer.json["message"], answer
    assert execute(admin, name, "select 1", env_vars={}, client_args=[])["exit_code"] == 0


def test_that_it_was_asked_for_is_on_record(admin, name):
    """With its session, and by itself where none came of it."""
    def entry(done):
        for row in admin.get("/audit/logs?resource_type=sessions&action=execute").json["data"]:
            if done["session_id"] in json.dumps(row):
                return row
        return None
    good = execute(admin, name, "select 1")
    assert entry(good)["outcome"] and entry(good)["http_status"] == 200
    failed = execute(admin, name, "select 1/0")
    assert entry(failed)
    body = connection(type="database", subtype="postgres", secret={
        "envvar:HOST": b64("127.0.0.1"), "envvar:PORT": b64("1"), "envvar:USER": b64("nobody"),
        "envvar:PASS": "_envjson:NOT_THERE:pass", "envvar:DB": b64("none")})
    assert admin.post("/connections", body).status == 201
    refused = execute(admin, body["name"], "select 1")
    assert refused["output_status"] == "failed" and entry(refused)
    assert admin.get(f"/sessions/{refused['session_id']}").status == 404


def test_what_is_large_is_cut_and_on_record(admin, name):
    done = execute(admin, name, "select generate_series(1, 5000); select 'behind it'",
                   results="json")
    rows, behind = done["statements"]
    assert len(rows["rows"]) == 1000 and rows["truncated"] and done["truncated"]
    assert rows["rows_affected"] == 5000 and behind["rows"] == [["behind it"]]
    session_of(admin, done)
    text = admin.get(f"/sessions/{done['session_id']}/result").body.decode()
    assert "4999" in text and "behind it" in text
    done = execute(admin, name, "select repeat('x', 3000000)", results="json")
    assert done["truncated"] and done["statements"][0]["rows"] == []


def test_rules_are_those_of_native_clients(admin, target):
    name = target.connection(admin)
    connection_id = admin.get(f"/connections/{name}").json["id"]
    answer = admin.post("/guardrails", {
        "name": unique("no-drop"), "connection_ids": [connection_id],
        "input": {"rules": [{"type": "deny_words_list", "words": ["dropped"],
                             "name": "words", "message": "ask somebody"}]}})
    assert answer.status == 201, answer
    answer = admin.post("/datamasking-rules", {
        "name": unique("mail"), "connection_ids": [connection_id],
        "supported_entity_types": [{"name": "PII", "entity_types": ["EMAIL_ADDRESS"]}]})
    assert answer.status == 201, answer
    done = execute(admin, name, "select 'dropped'; select 1", results="json")
    assert (done["output_status"], done["exit_code"]) == ("blocked", 254)
    assert len(done["statements"]) == 1
    assert "ask somebody" in json.dumps(done["statements"][0]["error"])
    assert session_of(admin, done)["guardrails_info"]
    done = execute(admin, name, "select 'ann@example.com' as mail")
    assert "[EMAIL_ADDRESS]" in done["output"] and "ann@" not in done["output"]


def test_who_may(admin, target):
    group = unique("group")
    member = admin.key(group)
    name = target.connection(admin, access_mode_exec="disabled")
    answer = member.post("/sessions", {"connection": name, "script": "select 1"})
    assert answer.status == 400 and "access_mode_exec" in answer.message
    name = target.connection(admin, access_mode_connect="disabled",
                             mandatory_metadata_fields=["ticket"])
    answer = member.post("/sessions", {"connection": name, "script": "select 1"})
    assert answer.status == 400 and "'ticket'" in answer.message
    done = execute(member, name, "select 1", metadata={"ticket": "T 1\\2"})
    assert session_of(member, done)["metadata"] == {"ticket": "T 1\\2"}
    reviewed = target.connection(admin, reviewers=[group])
    answer = member.post("/sessions", {"connection": reviewed, "script": "select 1"})
    assert answer.status == 200 and answer.json["has_review"] is True
    assert answer.json["output_status"] == "pending"
    assert Api(admin.gateway).post("/sessions", {"connection": name, "script": "x"}).status == 401


def test_a_credential_of_an_execution_is_nobodys(admin, target):
    name = target.connection(admin)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        running = pool.submit(execute, admin, name, "select pg_sleep(60)", "json")
        session = wait_for(lambda: [row for row in admin.get("/sessions?limit=100").json["data"]
                                    if row["connection"] == name] or None, what="the session")[0]
        listed = admin.get("/connection-credentials").json
        assert not [row for row in listed if row["connection_name"] == name], listed
        credential(admin, name)  # of the same person and connection: it ends nothing
        assert admin.get(f"/sessions/{session['id']}").json["status"] == "open"
        assert admin.post(f"/sessions/{session['id']}/kill").status == 204
        begun = time.monotonic()
        done = running.result(PATIENCE)
        assert time.monotonic() - begun < 5
    assert done["output_status"] == "failed"
    assert done["statements"][0]["error"]["severity"] == "FATAL"
    wait_for(lambda: sql(target.server, "select count(*) from pg_stat_activity where "
                         f"state = 'active' and usename = '{target.user}' and query like "
                         "'%pg_sleep(60)%'") == "0", what="the statement's end at the target")


def test_it_goes_on_without_the_client(admin, target, name):
    table = unique("t").replace("-", "_")
    body = json.dumps({"connection": name,
                       "script": f"select pg_sleep(1); create table {table} as select 7 as a"})
    conn = http.client.HTTPConnection("127.0.0.1", admin.gateway.port, timeout=PATIENCE)
    conn.request("POST", "/api/sessions", body, {"Authorization": f"Bearer {admin.token}"})
    wait_for(lambda: [row for row in admin.get("/sessions").json["data"]
                      if row["connection"] == name and row["status"] == "open"],
             what="the session")
    conn.close()
    wait_for(lambda: sql(target.server, f"select to_regclass('{table}')") == table,
             what="the table of a script that nobody waits for")


def test_who_waits_for_nothing_is_told_at_once(admin, name):
    began = time.monotonic()
    answer = admin.post("/sessions?wait_ms=0", {"connection": name, "script": "select 7 as n"})
    assert (answer.status, answer.json["output_status"], answer.json["exit_code"]) == (
        202, "running", -2)
    assert time.monotonic() - began < 5
    assert session_of(admin, wait_for(lambda: admin.get(
        f"/sessions/{answer.json['session_id']}").status == 200 and answer.json,
        what="the session"))["end_reason"] == "the client left"


def test_many_at_once(admin, name):
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        all_done = pool.map(lambda n: execute(admin, name, f"select {n} as n"), range(128))
    assert [done["output"] for done in all_done] == [f"n\n{n}\nSELECT 1\n" for n in range(128)]


def test_through_an_agent_elsewhere(admin, target, tmp_path):
    made = make_agent(admin)
    agent = Agent(tmp_path, "--token", made["token"])
    wait_connected(admin, made, agent)
    name = target.connection(admin, agent_id=made["id"])
    assert execute(admin, name, "select 3 as n")["output"] == "n\n3\nSELECT 1\n"
    assert agent.stop() == 0, agent.text()


def test_a_target_that_is_away(admin, target):
    name = target.connection(admin, secret=target.secret(PORT="1"))
    done = execute(admin, name, "select 1")
    assert done["output_status"] == "failed" and "cannot be reached" in done["output"]
