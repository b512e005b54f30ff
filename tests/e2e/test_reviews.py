# SPDX-License-Identifier: MIT
"""What others must approve: who may, what an approval is for, how long it lasts, and that a script
runs once, whatever happens between."""
import concurrent.futures
import hashlib
import time

import pytest

from api import Api, b64, connection, unique
from conftest import IS_SANITIZED, Gateway, wait_for
from native import Session, credential, psql, sql
from people import TRUSTED, House
from plan import HAS_MANY
from store import new_organization
from test_clocks import DAY, FAKETIME, Clock

GROUPS = "dba", "sec", "boss", "dev"


class Crew:
    """A gateway with people: ann asks, bob and cid review, both is in two groups, eve may force."""

    def __init__(self, house, target):
        self.house, self.admin, self.target = house, house.admin, target
        for group in GROUPS:
            self.admin.post("/users/groups", {"name": group})
        self.email = {}
        for name, groups in {"ann": ["dev", "dba", "sec", "boss"], "bob": ["dba"], "cid": ["sec"],
                             "both": ["dba", "sec"], "eve": ["boss"]}.items():
            self.email[name] = house.person(*groups)
            setattr(self, name, house.enter(self.email[name]))

    def connection(self, **members):
        return self.target.connection(self.admin, **members)

    def rule(self, *connections, **members):
        body = {"name": unique("rule"), "access_type": "jit_command",
                "connection_names": list(connections), "reviewers_groups": ["dba"], **members}
        answer = self.admin.post("/access-requests/rules", body)
        assert answer.status == 201, answer
        return answer.json

    def ask(self, name, script="select 1 as n", caller=None, **members):
        answer = (caller or self.ann).post("/sessions", {"connection": name, "script": script,
                                                         **members})
        assert answer.status == 200 and answer.json["has_review"], answer
        return answer.json

    def jit(self, name, caller=None, status=202, **members):
        answer = (caller or self.ann).post(f"/connections/{name}/credentials", members)
        assert answer.status == status, answer
        return answer.json

    def run(self, asked, caller=None, status=200):
        answer = (caller or self.ann).post(f"/sessions/{asked['session_id']}/exec")
        assert answer.status == status, answer
        return answer.json

    def state(self, asked, caller=None):
        return (caller or self.admin).get(f"/reviews/{asked['review_id']}").json["status"]

    def log(self, asked):
        return [entry for entry in self.house.log()
                if (entry["request_payload_redacted"] or {}).get("review_id") == asked["review_id"]]

    def table(self):
        name = unique("t").replace("-", "_")
        sql(self.target.server, f"create table {name} (a int); "
                                f"grant all on {name} to {self.target.user}")
        return name

    def count(self, table):
        return int(sql(self.target.server, f"select count(*) from {table}"))


def decide(caller, asked, status="APPROVED", expect=200, **members):
    answer = caller.put(f"/reviews/{asked['review_id']}", {"status": status, **members})
    assert answer.status == expect, answer
    return answer.json


@pytest.fixture(scope="module")
def crew(house, target):
    return Crew(house, target)


# Rules --------------------------------------------------------------------------------------------

def test_rules_are_kept_and_checked(crew):
    admin, name = crew.admin, crew.connection()
    attribute = unique("attribute")
    assert admin.post("/attributes", {"name": attribute}).status == 201
    made = crew.rule(name, attributes=[attribute], min_approvals=2, force_approval_groups=["boss"],
                     skip_review_groups=["sec"], access_max_duration=600, description="why")
    path = f"/access-requests/rules/{made['name']}"
    assert admin.get(path).json == made and made["connection_names"] == [name]
    assert made["attributes"] == [attribute] and made["min_approvals"] == 2
    listed = admin.get("/access-requests/rules?page_size=100").json
    assert made in listed["data"] and listed["pages"]["total"] == len(listed["data"])
    assert admin.get(f"/attributes/{attribute}").json["access_request_rule_names"] == [made["name"]]
    features = admin.get(f"/connections/{name}").json["effective_features"]["access_request"]
    assert features == {"command": True, "jit": True, "legacy_reviewers": False}
    good = {"name": made["name"], "access_type": "jit", "reviewers_groups": ["dba"]}
    changed = admin.put(path, {**good, "access_fixed_duration": 300, "connection_names": [name]})
    assert changed.status == 200 and changed.json["created_at"] == made["created_at"], changed
    shown = admin.get(f"/connections/{name}").json
    assert shown["jit_access_duration_sec"] == 300
    assert shown["effective_features"]["access_request"]["command"] is False
    for members, words in (
            ({"reviewers_groups": []}, "reviewers_groups"), ({"access_type": "x"}, "access_type"),
            ({"reviewers_groups": ["nobody's"]}, "no group 'nobody's'"),
            ({"connection_names": ["none"]}, "'none'"), ({"attributes": ["none"]}, "'none'"),
            ({"min_approvals": 0}, "min_approvals"),
            ({"min_approvals": 1, "all_groups_must_approve": True}, "min_approvals"),
            ({"skip_review_groups": ["dev"], "approval_required_groups": ["sec"]}, "skip_review"),
            ({"access_max_duration": 1, "access_fixed_duration": 1}, "exclude"),
            ({"access_type": "command", "access_max_duration": 1}, "access_max_duration")):
        answer = admin.put(path, {**good, **members})
        assert answer.status == 400 and words in answer.message, answer
    answer = admin.post("/access-requests/rules", {**good, "access_type": "command"})
    assert answer.status == 409, answer  # one list of names for all types
    # The group is held while a rule names it.
    held = unique("held")
    admin.post("/users/groups", {"name": held})
    assert admin.put(path, {**good, "reviewers_groups": [held]}).status == 200
    assert admin.delete(f"/users/groups/{held}").status == 409
    assert admin.delete(path).status == 204 and admin.get(path).status == 404
    assert admin.delete(f"/users/groups/{held}").status == 204
    entries = [entry["action"] for entry in crew.house.log()
               if entry["resource_type"] == "access_request_rules" and entry["outcome"]]
    assert {"create", "update", "delete"} <= set(entries)


def test_who_sees_and_writes_rules(crew):
    rule = crew.rule()
    foreigner = new_organization(crew.admin)
    path = f"/access-requests/rules/{rule['name']}"
    auditor = crew.admin.key("auditor")
    assert auditor.get(path).status == 200 and auditor.delete(path).status == 403
    assert crew.ann.get(path).status == crew.ann.get("/access-requests/rules").status == 403
    assert foreigner.get(path).status == foreigner.delete(path).status == 404
    assert foreigner.get("/access-requests/rules").json["data"] == []
    assert crew.admin.delete(path).status == 204


def test_rules_that_overlap_add_up(crew):
    name = crew.connection(reviewers=["sec"], min_review_approvals=1, access_max_duration=700)
    one = crew.rule(name, access_max_duration=900, min_approvals=2, reviewers_groups=["dba"])
    other = crew.rule(name, access_max_duration=500, reviewers_groups=["boss"])
    not_hers = crew.rule(name, approval_required_groups=["sec"], reviewers_groups=["boss"])
    answer = crew.bob.post(f"/connections/{name}/credentials", {"access_duration_seconds": 501})
    assert answer.status == 400 and "500" in answer.message
    asked = crew.jit(name, crew.bob, access_duration_seconds=500)
    needs = crew.bob.get(f"/reviews/{asked['review_id']}").json["requirements"]
    assert [(need["access_request_rule_name"], need["min_approvals"]) for need in needs] == [
        (None, 1)] + sorted([(one["name"], 2), (other["name"], 1)])
    assert not_hers["name"] not in str(needs)
    acting = crew.bob.get(f"/connections/{name}/controls").json["access_requests"]
    assert acting == {"jit": needs, "command": needs}
    for rule in one, other, not_hers:
        crew.admin.delete(f"/access-requests/rules/{rule['name']}")


# Who decides --------------------------------------------------------------------------------------

def test_people_are_counted_not_groups(crew):
    name = crew.connection()
    crew.rule(name, reviewers_groups=["dba", "sec", "boss"], min_approvals=2)
    asked = crew.ask(name)
    shown = decide(crew.both, asked)  # is in two of the groups
    assert shown["status"] == "PENDING" and len(shown["decisions"]) == 1
    again = decide(crew.both, asked)
    assert again["decisions"] == shown["decisions"] and again["status"] == "PENDING"
    decide(crew.both, asked, "REJECTED", expect=400)
    assert decide(crew.bob, asked)["status"] == "APPROVED"
    decide(crew.cid, asked, expect=400)  # which is not lost in silence
    assert len(crew.admin.get(f"/reviews/{asked['review_id']}").json["decisions"]) == 2
    assert crew.run(asked)["output"] == "n\n1\nSELECT 1\n"


def test_all_groups_want_somebody_each(crew):
    name = crew.connection(reviewers=["dba", "sec"])  # min_review_approvals is 0
    asked = crew.ask(name)
    assert decide(crew.both, asked)["status"] == "PENDING"
    assert decide(crew.cid, asked)["status"] == "APPROVED"


def test_a_group_more_than_enough_is_enough(crew):
    name = crew.connection()
    crew.rule(name, reviewers_groups=["dba", "sec"], min_approvals=1)
    assert decide(crew.both, crew.ask(name))["status"] == "APPROVED"


def test_nobody_decides_on_his_own(crew):
    name = crew.connection()
    crew.rule(name, force_approval_groups=["boss"])
    asked = crew.ask(name)  # ann is in all of the groups
    for members in {}, {"force_review": True, "reason": "it burns"}:
        answer = crew.ann.put(f"/reviews/{asked['review_id']}", {"status": "APPROVED", **members})
        assert answer.status == 400 and "himself" in answer.message
    # Nor by a key that he made: the admin's key asks, and the admin himself approves.
    key = crew.admin.key("dev")
    boss = crew.admin
    by_key = crew.ask(name, caller=key)
    answer = boss.put(f"/reviews/{by_key['review_id']}", {"status": "APPROVED"})
    assert answer.status == 400 and "himself" in answer.message
    # Nor by one that his key made, whatever its name; but another's key is not his.
    second = Api(boss.gateway, boss.post("/api-keys", {
        "name": crew.email["bob"], "groups": ["admin", "dev"]}).json["key"]).key("dev")
    by_second = crew.ask(name, caller=second)
    answer = boss.put(f"/reviews/{by_second['review_id']}", {"status": "APPROVED"})
    assert answer.status == 400 and "himself" in answer.message
    assert decide(crew.bob, by_second)["status"] == "APPROVED"
    # And keys decide nothing.
    decide(crew.admin.key("dba"), asked, expect=403)
    assert crew.state(asked) == crew.state(by_key) == "PENDING"
    assert decide(crew.ann, asked, "REJECTED")["status"] == "CANCELLED"
    decide(crew.bob, asked, expect=400)


def test_an_admin_is_no_reviewer_but_may_reject(crew):
    name = crew.connection()
    crew.rule(name)
    asked = crew.ask(name)
    answer = crew.admin.put(f"/reviews/{asked['review_id']}", {"status": "approved"})
    assert answer.status == 403 and "groups" in answer.message
    assert crew.state(asked) == "PENDING"
    shown = decide(crew.admin, asked, "rejected", rejection_reason="not today")
    assert (shown["status"], shown["rejection_reason"]) == ("REJECTED", "not today")
    crew.run(asked, status=409)


def test_client_mistakes_are_no_faults_of_ours(crew):
    name = crew.connection()
    crew.rule(name)
    asked = crew.ask(name)
    path = f"/reviews/{asked['review_id']}"
    for body, words in (({}, "status"), ({"status": "MAYBE"}, "status"), ({"status": 1}, "status"),
                        ({"status": "REVOKED"}, "PENDING"),
                        ({"status": "APPROVED", "force_review": True}, "reason"),
                        ({"status": "REJECTED", "force_review": True, "reason": "x"}, "approving"),
                        ({"status": "APPROVED", "x": 1}, "'x'")):
        answer = crew.bob.put(path, body)
        assert answer.status == 400 and words in answer.message, answer
    assert crew.bob.put(f"/reviews/{unique('x')}", {"status": "APPROVED"}).status == 404
    assert crew.bob.put(f"/sessions/{unique('x')}/review", {"status": "APPROVED"}).status == 404
    decide(crew.cid, asked, expect=404)  # of no group with a say: it is not there
    decide(crew.bob, asked, "CANCELLED", expect=403)
    answer = crew.bob.put(f"/sessions/{asked['session_id']}/review", {"status": "APPROVED"})
    assert answer.status == 200 and answer.json["status"] == "APPROVED"
    assert decide(crew.bob, asked)["status"] == "APPROVED"  # again, which changes nothing
    assert decide(crew.bob, asked, "REVOKED")["status"] == "REVOKED"  # of a script, too
    crew.run(asked, status=409)


def test_emergency_access_is_loud(crew):
    name = crew.connection()
    crew.rule(name, min_approvals=2, force_approval_groups=["boss"])
    asked = crew.ask(name)
    decide(crew.bob, asked, force_review=True, reason="x", expect=403)
    for nothing in "", " \t\n", "\u00a0", "\u200b\u2060", "\u3000", "\u00ad", "\u2800":
        decide(crew.eve, asked, force_review=True, reason=nothing, expect=400)
    shown = decide(crew.eve, asked, force_review=True, reason="the shop is down")
    assert shown["status"] == "APPROVED" and shown["forced_review"] is True
    entry = [e for e in crew.log(asked) if e["action"] == "force_approve"]
    assert len(entry) == 1 and entry[0]["request_payload_redacted"]["emergency"] is True
    assert entry[0]["request_payload_redacted"]["reason"] == "the shop is down"
    kind, = [e for e in crew.log(asked) if e["action"] == "emergency_access_used"]
    assert kind["request_payload_redacted"] == {
        "severity": "critical", "review_id": asked["review_id"], "connection": name,
        "requester": crew.email["ann"], "reason": "the shop is down"}
    assert kind["actor_email"] == crew.email["eve"] and kind["outcome"] is True
    plain = crew.ask(name)
    listed = crew.admin.get(f"/reviews?connection={name}&emergency=true").json["data"]
    assert [(one["id"], one["forced_review"]) for one in listed] == [(asked["review_id"], True)]
    both = crew.admin.get(f"/reviews?connection={name}").json["data"]
    assert {one["id"]: one["forced_review"] for one in both} == {
        asked["review_id"]: True, plain["review_id"]: False}
    assert "emergency access" in crew.house.gateway.text()
    assert crew.run(asked)["output_status"] == "success"


def test_a_reviewer_who_left_does_not_count(crew):
    name, group = crew.connection(), unique("late")
    crew.admin.post("/users/groups", {"name": group})
    email = crew.house.person("dba", group)
    gone = crew.house.enter(email)
    crew.rule(name, reviewers_groups=["dba"], min_approvals=2)
    asked = crew.ask(name)
    decide(gone, asked)
    crew.house.put(email, groups=[group], name="x", status="active")
    assert decide(crew.bob, asked)["status"] == "PENDING"
    assert decide(crew.both, asked)["status"] == "APPROVED"
    asked = crew.ask(name)
    decide(gone, asked, expect=404)
    # Two at the same instant: both count, and the third is told that it is over.
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda who: who.put(f"/reviews/{asked['review_id']}",
                                                    {"status": "APPROVED"}), (crew.bob, crew.both)))
    assert [answer.status for answer in answers] == [200, 200]
    shown = crew.admin.get(f"/reviews/{asked['review_id']}").json
    assert shown["status"] == "APPROVED" and len(shown["decisions"]) == 2


# Lists --------------------------------------------------------------------------------------------

def test_lists(crew):
    name = crew.connection()
    crew.rule(name)
    asked, others = crew.ask(name), crew.ask(name, caller=crew.cid)
    decide(crew.bob, others, "REJECTED")

    def ids(caller, query):
        answer = caller.get(f"/reviews?connection={name}&{query}")
        assert answer.status == 200, answer
        return [one["id"] for one in answer.json["data"]]

    both = [others["review_id"], asked["review_id"]]
    assert ids(crew.admin, "") == ids(crew.bob, "") == both
    assert ids(crew.cid, "") == [others["review_id"]] and ids(crew.eve, "") == []
    assert ids(crew.bob, "to_decide=true") == [asked["review_id"]]
    assert ids(crew.ann, "to_decide=true") == [] and ids(crew.ann, "mine=true") == [both[1]]
    assert ids(crew.admin, "status=REJECTED") == [both[0]]
    assert ids(crew.admin, f"requester={crew.email['cid']}") == [both[0]]
    assert ids(crew.admin, "start_date=2999-01-01") == [] == ids(crew.admin, "end_date=1999-01-01")
    page = crew.admin.get(f"/reviews?connection={name}&page_size=1&page=2").json
    assert page["pages"] == {"page": 2, "size": 1, "total": 2}
    assert [one["id"] for one in page["data"]] == [both[1]] and "script" not in page["data"][0]
    assert crew.admin.get("/reviews?status=NONE").status == 400
    foreigner = new_organization(crew.admin)
    assert foreigner.get("/reviews").json["data"] == []
    for path in "", "/script":
        assert foreigner.get(f"/reviews/{both[0]}{path}").status == 404
    assert foreigner.put(f"/reviews/{both[1]}", {"status": "REJECTED"}).status == 404
    assert foreigner.post(f"/sessions/{asked['session_id']}/exec").status == 404
    shown = crew.ann.get(f"/reviews/{asked['session_id']}").json
    assert shown["id"] == both[1] and shown["session"] == asked["session_id"]
    assert shown["review_groups_data"] == [{"group": "dba", "status": "PENDING", "reviewed_by": None,
                                            "review_date": None, "forced_review": False}]
    assert crew.ann.post(f"/reviews/{both[1]}/comments", {"comment": "hello"}).status == 201
    told = crew.bob.post(f"/reviews/{both[1]}/comments", {"comment": "what for?"})
    assert [one["comment"] for one in told.json["comments"]] == ["hello", "what for?"]
    assert crew.eve.post(f"/reviews/{both[1]}/comments", {"comment": "me too"}).status == 404
    assert crew.bob.post(f"/reviews/{both[1]}/comments", {"comment": ""}).status == 400


def test_thousands_wait(crew):
    name = crew.connection()
    crew.rule(name)
    asked = crew.ask(name, caller=crew.cid)
    columns = ("organization_id, kind, state, connection_id, connection_name, connection_subtype, "
               "member_id, member_email, member_name, need, sealed, script_size, metadata, "
               "duration_sec, runs_at_once, reason, is_forced, created_at, updated_at, "
               "pending_until, granted_until, run_id, run_by, claimed_at, begun_at, run_count, "
               "client_ip")
    store = crew.house.store
    store.ask("INSERT INTO review (id, session_id, " + columns + ") WITH RECURSIVE n (i) AS "
              "(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT 'many-' || i, "
              "'session-' || i, " + columns + " FROM review, n WHERE id = ?", asked["review_id"])
    store.ask("INSERT INTO review_group (review_id, group_name) SELECT id, 'dba' FROM review "
              "WHERE id LIKE 'many-%'")
    begun = time.monotonic()
    for query in "to_decide=true", "page=100&status=PENDING", f"connection={name}&page=50":
        answer = crew.bob.get(f"/reviews?page_size=50&{query}")
        assert answer.status == 200 and answer.json["pages"]["total"] >= 5001, answer
        assert len(answer.json["data"]) == 50
    assert time.monotonic() - begun < 5
    assert decide(crew.bob, asked)["status"] == "APPROVED"
    store.ask("DELETE FROM review WHERE id LIKE 'many-%'")


def test_a_long_script_is_shown_cut(crew):
    name = crew.connection()
    crew.rule(name)
    script = "select 1 -- " + "é" * 5_000_000
    asked = crew.ask(name, script)
    answer = crew.bob.get(f"/reviews/{asked['review_id']}")
    shown = answer.json
    assert shown["script_truncated"] and len(answer.body) < 200000
    assert script.startswith(shown["script"]) and len(shown["script"].encode()) >= 65535
    assert shown["script_size"] == len(script.encode())
    assert shown["script_sha256"] == hashlib.sha256(script.encode()).hexdigest()
    whole = crew.bob.get(f"/reviews/{asked['review_id']}/script")
    assert whole.body.decode() == script
    answer = crew.ann.post("/sessions", {"connection": name, "script": "x" * 17_000_000})
    assert answer.status == 413 and "others must approve" in answer.message, answer
    decide(crew.bob, asked, "REJECTED")


def check_described(schemas, schema, value, where="review"):
    """Exactly the members that the description has, at any depth, and each of its kind."""
    if value is None:
        assert {"type": "null"} in schema.get("anyOf", []) or "null" in schema["type"], where
        return
    for either in schema.get("anyOf", []) + schema.get("allOf", []):
        if "$ref" in either:
            schema = schemas[either["$ref"].split("/")[-1]]
    if "$ref" in schema:
        schema = schemas[schema["$ref"].split("/")[-1]]
    kinds = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    assert type(value) in [kinds[name] for name in names if name != "null"], (where, value)
    assert value in schema.get("enum", [value]), (where, value)
    if isinstance(value, list):
        for one in value:
            check_described(schemas, schema["items"], one, where + "[]")
    elif isinstance(value, dict) and "properties" in schema:
        assert set(schema["required"]) <= set(value) <= set(schema["properties"]), (
            where, set(value) ^ set(schema["properties"]))
        for name, member in value.items():
            check_described(schemas, schema["properties"][name], member, f"{where}.{name}")


def test_what_is_answered_is_what_is_described(crew):
    document = crew.admin.get("/openapi.json").json
    schemas, paths = document["components"]["schemas"], document["paths"]

    def check(method, path, status, value):
        content = paths[path][method]["responses"][str(status)]["content"]
        check_described(schemas, content["application/json"]["schema"], value, path)

    name = crew.connection(reviewers=["sec"], min_review_approvals=1)
    crew.rule(name, min_approvals=1, force_approval_groups=["boss"])
    script = crew.ask(name, "delete from pg_class", metadata={"ticket": "T-1"})
    access = crew.jit(name)
    path = f"/reviews/{script['review_id']}"
    hours = {"type": "time_range", "configuration": {
        "start_time": "00:00", "end_time": "23:59", "time_zone": "UTC"}}
    check("post", "/reviews/{id}/comments", 201,
          crew.bob.post(path + "/comments", {"comment": "why?"}).json)
    check("put", "/reviews/{id}", 200, decide(crew.bob, script, time_window=hours))
    answer = crew.cid.put(f"/sessions/{script['session_id']}/review", {"status": "APPROVED"})
    check("put", "/sessions/{id}/review", 200, answer.json)
    assert answer.json["status"] == "APPROVED"
    for one in script, access:
        check("get", "/reviews/{id}", 200, crew.bob.get(f"/reviews/{one['review_id']}").json)
    check("get", "/reviews", 200, crew.bob.get(f"/reviews?connection={name}").json)
    for one in script, access:
        estimate = crew.bob.get(f"/reviews/{one['review_id']}/estimate").json
        check("get", "/reviews/{id}/estimate", 200, estimate)
        sample = crew.bob.get(f"/reviews/{one['review_id']}/sample").json
        assert sample["why_not"].startswith("there are no rows of it")
        check("get", "/reviews/{id}/sample", 200, sample)
    check("get", "/access-requests/rules", 200, crew.admin.get("/access-requests/rules").json)


# Scripts ------------------------------------------------------------------------------------------

def test_a_script_runs_once_by_whoever_asked(crew):
    name, table = crew.connection(), crew.table()
    crew.rule(name, access_type="command")
    assert credential(crew.ann, name)["has_review"] is False  # access is another matter
    asked = crew.ask(name, f"insert into {table} values (1)", metadata={"ticket": "T-1"})
    assert asked["output"].endswith(f"/reviews/{asked['review_id']}")
    assert crew.ann.get(f"/sessions/{asked['session_id']}").status == 404  # none is there before
    crew.run(asked, status=409)
    decide(crew.bob, asked)
    crew.run(asked, crew.bob, status=403)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: crew.ann.post(f"/sessions/{asked['session_id']}/exec"),
                                range(8)))
    assert sorted(answer.status for answer in answers) == [200] + [409] * 7, answers
    assert crew.count(table) == 1
    wait_for(lambda: crew.state(asked) == "EXECUTED", what="the review's end")
    session = crew.ann.get(f"/sessions/{asked['session_id']}").json
    assert session["metadata"] == {"ticket": "T-1"} and session["verb"] == "exec"
    assert session["user"] == crew.email["ann"]
    crew.run(asked, status=409)
    decide(crew.bob, asked, "REVOKED", expect=400)
    assert [entry["action"] for entry in crew.log(asked)][::-1][:2] == ["request_review", "approve"]


def test_a_script_may_run_at_once(crew):
    name, table = crew.connection(), crew.table()
    crew.rule(name)
    asked = crew.ask(name, f"insert into {table} values (1)", run_when_approved=True,
                     labels={"of": "deploy"}, session_batch_id=name, correlation_id="42")
    decide(crew.bob, asked)
    wait_for(lambda: crew.state(asked) == "EXECUTED", what="the review's end")
    assert crew.count(table) == 1
    crew.run(asked, status=409)
    session, = crew.ann.get(f"/sessions?batch_id={name}").json["data"]
    assert (session["id"], session["labels"], session["correlation_id"]) == (
        asked["session_id"], {"of": "deploy"}, "42")


def test_an_approval_is_for_what_it_was_given_for(crew):
    def edit(name, **members):
        assert crew.admin.patch(f"/connections/{name}", members).status == 200

    changes = {
        "the target": lambda name, rule: edit(name, secret=crew.target.secret(DB="template1")),
        "the command": lambda name, rule: edit(name, command=["psql", "-X"]),
        "the connection": lambda name, rule: crew.admin.delete(f"/connections/{name}"),
        "the right to it": lambda name, rule: crew.admin.put(f"/connections/{name}/access",
                                                             {"groups": ["sec"]}),
    }
    for what, change in changes.items():
        for when in "pending", "approved":
            name, table = crew.connection(), crew.table()
            rule = crew.rule(name)
            caller = crew.cid if what != "the right to it" else crew.bob
            decider = crew.bob if what != "the right to it" else crew.both
            asked = crew.ask(name, f"insert into {table} values (1)", caller)
            if when == "approved":
                decide(decider, asked)
            change(name, rule)
            if when == "approved":
                crew.run(asked, caller, status=409)
                assert crew.state(asked) == "REVOKED", what
            else:
                decide(decider, asked, expect=400 if what == "the connection" else 409)
                assert crew.state(asked) == "CANCELLED", what
            crew.run(asked, caller, status=409)
            assert crew.count(table) == 0, what
            if what == "the right to it":
                crew.admin.put(f"/connections/{name}/access", {"groups": []})


def test_a_word_of_the_command_is_no_value(crew):
    """Same bytes in the same order, but of something else."""
    own = crew.admin.get("/userinfo").json["org_id"]
    for value in b64("x"), "x":
        body = connection(type="custom", subtype="tools", agent_id=own, command=["echo"],
                          secret={"envvar:A": b64("x")})
        assert crew.admin.post("/connections", body).status == 201
        crew.rule(body["name"])
        asked = crew.ask(body["name"], "unused", crew.cid)
        decide(crew.bob, asked)
        changed = {"command": ["echo", "envvar:A", value], "secret": {"envvar:A": None}}
        assert crew.admin.patch(f"/connections/{body['name']}", changed).status == 200
        crew.run(asked, crew.cid, status=409)


def test_who_does_not_see_a_review_learns_nothing_of_it(crew):
    name = crew.connection()
    crew.rule(name)
    stranger = crew.house.enter(crew.house.person())
    for asked in crew.jit(name), crew.ask(name):
        session = asked.get("id") or asked["session_id"]
        answers = [stranger.call(method, path.format(id=wanted), body)
                   for wanted in (session, "none")
                   for method, path, body in (
                       ("POST", "/sessions/{id}/exec", None), ("GET", "/reviews/{id}", None),
                       ("PUT", "/reviews/{id}", {"status": "APPROVED"}),
                       ("PUT", "/sessions/{id}/review", {"status": "REJECTED"}),
                       ("GET", "/reviews/{id}/script", None),
                       ("POST", "/reviews/{id}/comments", {"comment": "x"}))]
        assert [answer.status for answer in answers] == [404] * len(answers), answers
        for one, other in zip(answers[:6], answers[6:]):
            assert one.message.replace(session, "none") == other.message


def test_a_rule_that_changes_makes_a_request_void(crew):
    for method, members in (("delete", None), ("put", {"min_approvals": 2}),
                            ("put", {"reviewers_groups": ["dba", "boss"]})):
        name = crew.connection()
        rule = crew.rule(name)
        asked, approved = crew.ask(name), crew.ask(name)
        decide(crew.bob, approved)
        path = f"/access-requests/rules/{rule['name']}"
        if method == "delete":
            assert crew.admin.delete(path).status == 204
        else:
            body = {key: rule[key] for key in ("name", "access_type", "connection_names",
                                               "reviewers_groups")}
            assert crew.admin.put(path, {**body, **members}).status == 200
        answer = crew.bob.put(f"/reviews/{asked['review_id']}", {"status": "APPROVED"})
        assert answer.status == 409 and "rules" in answer.message, answer
        assert crew.state(asked) == "CANCELLED"
        assert crew.run(approved)["output_status"] == "success"  # by the rules of then


def test_what_waits_too_long_expires(crew):
    name, table = crew.connection(), crew.table()
    crew.rule(name)
    pending, approved = (crew.ask(name, f"insert into {table} values (1)") for _ in range(2))
    decide(crew.bob, approved)
    crew.house.store.ask("UPDATE review SET pending_until = 1 WHERE id = ?", pending["review_id"])
    crew.house.store.ask("UPDATE review SET granted_until = 1 WHERE id = ?", approved["review_id"])
    assert crew.state(pending) == crew.state(approved) == "EXPIRED"
    listed = crew.admin.get(f"/reviews?connection={name}&status=EXPIRED").json["data"]
    assert len(listed) == 2
    decide(crew.bob, pending, expect=400)
    crew.run(approved, status=409)
    assert crew.count(table) == 0


def test_one_who_is_inactive_runs_nothing(crew):
    name, table = crew.connection(), crew.table()
    crew.rule(name)
    email = crew.house.person("dev")
    caller = crew.house.enter(email)
    asked, approved = (crew.ask(name, f"insert into {table} values (1)", caller,
                                run_when_approved=True) for _ in range(2))
    crew.house.put(email, groups=["dev"], name="x", status="inactive")
    for one in asked, approved:
        answer = crew.bob.put(f"/reviews/{one['review_id']}", {"status": "APPROVED"})
        assert answer.status == 409 and "not active" in answer.message, answer
    assert crew.count(table) == 0


def test_a_target_that_was_away_does_not_use_it_up(crew):
    name = crew.connection(secret=crew.target.secret(PORT="1"))
    crew.rule(name)
    asked = crew.ask(name)
    decide(crew.bob, asked)
    assert crew.run(asked)["output_status"] == "failed"
    wait_for(lambda: crew.state(asked) == "APPROVED", what="the script to be free again")
    assert crew.run(asked)["output_status"] == "failed"


def test_a_target_that_is_away_is_tried_three_times(crew):
    """By itself, a minute after the last time each; whoever asked may still run it."""
    name = crew.connection(secret=crew.target.secret(PORT="1"))
    crew.rule(name)
    store = crew.house.store

    def approved():
        asked = crew.ask(name, run_when_approved=True)
        decide(crew.bob, asked)
        return asked

    def tries(asked, count):
        def known():
            found = store.ask("SELECT run_count, state FROM review WHERE id = ?",
                              asked["review_id"])[0]
            return (int(found[0]), found[1]) == (count, "APPROVED")
        wait_for(known, what=f"try {count}")

    def a_minute_ago(*those):
        for asked in those:
            store.ask("UPDATE review SET updated_at = updated_at - 61000000 WHERE id = ?",
                      asked["review_id"])

    first, second = approved(), approved()
    tries(second, 1)
    for count in 1, 2, 3:
        tries(first, count)
        a_minute_ago(first)
    a_minute_ago(second)
    tries(second, 2)  # so it was looked
    tries(first, 3)
    assert crew.run(first)["output_status"] == "failed"
    tries(first, 4)


# Access for a time --------------------------------------------------------------------------------

def test_access_is_there_for_its_time_and_no_longer(crew):
    name = crew.connection()
    crew.rule(name, access_type="jit")
    assert crew.ann.post("/sessions", {"connection": name, "script": "select 1"}
                         ).json["has_review"] is False
    asked = crew.jit(name, access_duration_seconds=3, metadata={"reason": "a look at the carts"})
    shown = crew.bob.get(f"/reviews/{asked['review_id']}").json
    assert shown["metadata"] == {"reason": "a look at the carts"}
    assert asked["has_review"] and asked["expire_at"] is None
    assert "connection_credentials" not in asked
    assert crew.jit(name)["review_id"] == asked["review_id"]  # one request, however often
    assert crew.ann.get(f"/connections/{name}/credentials").status == 404
    begun = time.monotonic()
    shown = decide(crew.bob, asked)
    first = crew.jit(name, status=201)
    assert first["expire_at"] == shown["revoke_at"] and first["review_id"] == asked["review_id"]
    assert decide(crew.bob, asked)["revoke_at"] == shown["revoke_at"]  # is not made longer
    one = Session(first["connection_credentials"])
    assert one.ask("SELECT 1") == "1"
    second = crew.jit(name, status=201)  # nor by a new secret
    assert second["expire_at"] == shown["revoke_at"]
    two = Session(second["connection_credentials"])
    assert two.ask("SELECT 2") == "2"
    two.wait_for_end(5)
    assert 2.9 < time.monotonic() - begun < 4.8
    assert psql(second, "SELECT 1", check=False).returncode != 0
    assert crew.state(asked) == "EXPIRED"
    one.wait_for_end(1)
    crew.jit(name)  # what was approved once is asked for anew


def test_what_ends_access_ends_it_at_once(crew):
    group = unique("let-in")
    crew.admin.post("/users/groups", {"name": group})
    email = crew.house.person(group)

    def revoke(asked, name):
        decide(crew.bob, asked, "REVOKED", reason="enough")

    def give_back(asked, name):
        decide(crew.house.enter(email), asked, "REVOKED")

    def edit(asked, name):
        assert crew.admin.patch(f"/connections/{name}", {"secret": crew.target.secret(
            DB="template1")}).status == 200

    def lose_group(asked, name):
        crew.house.put(email, groups=[], name="x", status="active")

    def deactivate(asked, name):
        crew.house.put(email, groups=[group], name="x", status="inactive")

    def delete(asked, name):
        assert crew.admin.delete(f"/connections/{name}").status == 204

    for end in revoke, give_back, edit, lose_group, deactivate, delete:
        crew.house.put(email, groups=[group], name="x", status="active")
        name = crew.connection()
        assert crew.admin.put(f"/connections/{name}/access",
                              {"groups": [group, "dba"]}).status == 200
        crew.rule(name, access_type="jit")
        caller = crew.house.enter(email)
        asked = crew.jit(name, caller)
        decide(crew.bob, asked)
        made = crew.jit(name, caller, status=201)
        sessions = [Session(made["connection_credentials"]) for _ in range(2)]
        assert all(session.ask("SELECT 1") == "1" for session in sessions)
        begun = time.monotonic()
        end(asked, name)
        for session in sessions:
            session.wait_for_end(3)
        assert time.monotonic() - begun < 2.5, end.__name__
        assert psql(made, "SELECT 1", check=False).returncode != 0


def test_a_rule_that_comes_ends_what_nobody_approved(crew):
    name = crew.connection()
    made = credential(crew.ann, name)
    session = Session(made["connection_credentials"])
    assert session.ask("SELECT 1") == "1"
    rule = crew.rule(name)
    session.wait_for_end(3)
    assert psql(made, "SELECT 1", check=False).returncode != 0
    assert crew.admin.delete(f"/access-requests/rules/{rule['name']}").status == 204


def test_durations_and_who_need_not_ask(crew):
    name = crew.connection()
    rule = crew.rule(name, access_type="jit", access_fixed_duration=120,
                     skip_review_groups=["boss"])
    assert crew.jit(name, crew.eve, status=201)["has_review"] is False
    answer = crew.cid.post(f"/connections/{name}/credentials", {"access_duration_seconds": 60})
    assert answer.status == 400 and "120" in answer.message
    asked = crew.jit(name, crew.cid)
    shown = crew.cid.get(f"/reviews/{asked['review_id']}").json
    assert (shown["type"], shown["access_duration"]) == ("jit", 120 * 10**9)
    decide(crew.cid, asked, "CANCELLED")
    assert crew.jit(name, crew.cid)["review_id"] != asked["review_id"]
    answer = crew.admin.post("/machineidentities", {"name": unique("m"),
                                                    "connection_names": [name]})
    assert answer.status == 400 and "reviewed" in answer.message
    crew.admin.delete(f"/access-requests/rules/{rule['name']}")


def test_one_caller_does_not_fill_the_list(crew):
    name = crew.connection()
    crew.rule(name)
    crew.house.store.ask("UPDATE review SET pending_until = 1 WHERE state = 'PENDING'")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: crew.ask(name, caller=crew.eve), range(100)))
    answer = crew.eve.post("/sessions", {"connection": name, "script": "select 1"})
    assert answer.status == 429, answer
    crew.ask(name, caller=crew.cid)


def test_one_caller_does_not_fill_the_disk(crew):
    """Asked for and given up again and again: what is kept has a limit, and long scripts go first."""
    name, store = crew.connection(), crew.house.store
    crew.rule(name)
    greedy = crew.house.enter(crew.house.person("dev"))
    script = "select 1 -- " + "é" * 100_000
    asked = crew.ask(name, script, caller=greedy)
    decide(greedy, asked, "CANCELLED")
    shown = crew.bob.get(f"/reviews/{asked['review_id']}").json
    columns = [row[0] for row in store.ask(
        "SELECT name FROM pragma_table_info('review')" if store.url is None else
        "SELECT column_name FROM information_schema.columns WHERE table_name = 'review'")]
    rest = ", ".join(column for column in columns if column not in ("id", "session_id", "sealed"))
    large = ("zeroblob(134217728)" if store.url is None else
             "convert_to(repeat('x', 134217728), 'UTF8')")
    store.ask(f"INSERT INTO review (id, session_id, sealed, {rest}) SELECT '{name}-0', '{name}-0', "
              f"{large}, {rest} FROM review WHERE id = ?", asked["review_id"])
    for ask in ((lambda: greedy.post("/sessions", {"connection": name, "script": "select 1"})),
                (lambda: greedy.post(f"/connections/{name}/credentials", {}))):
        answer = ask()
        assert answer.status == 429 and "cut after 7 days" in answer.message, answer
    crew.ask(name, caller=crew.cid)
    store.ask(f"DELETE FROM review WHERE id LIKE '{name}-%'")
    # After some days the start and the hash are left.
    days = 24 * 3600 * 10**6
    store.ask("UPDATE review SET updated_at = ? WHERE id = ?",
              time.time_ns() // 1000 - 8 * days, asked["review_id"])
    path = f"/reviews/{asked['review_id']}"
    wait_for(lambda: crew.bob.get(path).json["script_kept"] is False, what="the cut")
    cut = crew.bob.get(path).json
    for member in "script", "script_size", "script_sha256", "script_truncated", "status":
        assert cut[member] == shown[member], member
    size = "SELECT length(sealed) FROM review WHERE id = ?"
    assert int(store.ask(size, asked["review_id"])[0][0]) < 70000
    whole = crew.bob.get(path + "/script")
    assert whole.status == 404 and "7 days" in whole.message
    assert "start" in crew.bob.get(path + "/estimate").json["why_not"]
    # What ran, and what waits, stays whole.
    others = [crew.ask(name, script, caller=greedy) for _ in range(2)]
    decide(crew.bob, others[0])
    crew.run(others[0], greedy)
    wait_for(lambda: crew.state(others[0]) == "EXECUTED", what="its end")
    for one in others:
        store.ask("UPDATE review SET updated_at = ? WHERE id = ?",
                  time.time_ns() // 1000 - 8 * days, one["review_id"])
    time.sleep(2.5)
    for one in others:
        assert crew.bob.get(f"/reviews/{one['review_id']}/script").body.decode() == script
    decide(greedy, others[1], "CANCELLED")


# Races and kills ----------------------------------------------------------------------------------

@pytest.mark.parametrize("rounds", [4 if not HAS_MANY else 40])
def test_races_have_one_outcome(crew, rounds):
    name, table = crew.connection(), crew.table()
    crew.rule(name)
    ran = 0
    for number in range(rounds):
        asked = crew.ask(name, f"insert into {table} values ({number})")
        path = f"/reviews/{asked['review_id']}"
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            calls = [pool.submit(crew.bob.put, path, {"status": "APPROVED"}),
                     pool.submit(crew.both.put, path, {"status": "REJECTED"}),
                     pool.submit(crew.ann.post, f"/sessions/{asked['session_id']}/exec"),
                     pool.submit(crew.ann.put, path, {"status": "CANCELLED"})]
            approved, rejected, done, given_up = [call.result() for call in calls]
        shown = crew.admin.get(path).json
        # Each decision that was taken is there, and no other.
        assert len(shown["decisions"]) == (approved.status == 200) + (rejected.status == 200)
        assert not (approved.status == 200 and rejected.status == 200)
        # What he gives back while it runs may be cut off in the middle.
        before, ran = ran, crew.count(table)
        if done.status == 200 and done.json["output_status"] == "success":
            assert ran == before + 1
        elif done.status != 200:
            assert ran == before, (shown, done, given_up)


def run_until_known(crew, asked):
    """Whoever asked asks again until it is over: (status of the review)."""
    def known():
        state = crew.state(asked)
        if state == "APPROVED":
            crew.ann.post(f"/sessions/{asked['session_id']}/exec")
        elif state == "PROCESSING":
            crew.ann.post(f"/sessions/{asked['session_id']}/exec")
        return crew.state(asked) if crew.state(asked) in ("EXECUTED", "REVOKED") else None
    return wait_for(known, what="the script's end")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_gateway_that_is_killed_runs_a_script_once(kind, request, tmp_path, target):
    """Between the approval and the run, at a moment of chance: it runs once, and is not lost."""
    arguments = list(TRUSTED)
    if kind == "postgres":
        server = request.getfixturevalue("postgres")
        arguments += ["--database-url", server.create(f"kills_{time.monotonic_ns()}")]
    gateway = Gateway(tmp_path, *arguments)
    crew = Crew(House(gateway), target)
    name, table = crew.connection(), crew.table()
    crew.rule(name)
    tokens = {who: getattr(crew, who).token for who in ("ann", "bob")}
    for number in range(200 if HAS_MANY else 4):
        asked = crew.ask(name, f"insert into {table} values ({number})", run_when_approved=True)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            call = pool.submit(crew.bob.put, f"/reviews/{asked['review_id']}",
                               {"status": "APPROVED"})
            time.sleep((number % 25) * 0.002)
            gateway.kill()
            call.exception()
        gateway = Gateway(tmp_path, *arguments)
        crew.house.gateway, crew.admin.gateway = gateway, gateway
        crew.ann, crew.bob = (Api(gateway, tokens[who]) for who in ("ann", "bob"))
        if crew.state(asked) == "PENDING":
            decide(crew.bob, asked)
        assert run_until_known(crew, asked) == "EXECUTED"
        assert crew.count(table) == number + 1, f"round {number}"
    assert gateway.stop() == 0, gateway.text()


@pytest.mark.skipif(IS_SANITIZED, reason="sanitizers want to be loaded first")
def test_a_clock_that_is_set(start, target, tmp_path):
    """A day on, what waits and what was granted is over; back again, it has its time by the clock."""
    if not FAKETIME:
        pytest.skip("there is no libfaketime")
    clock = Clock(tmp_path)
    crew = Crew(House(start("--sandbox", "off", *TRUSTED, env=clock.env)), target)
    name = crew.connection()
    crew.rule(name)
    pending, script = crew.ask(name), crew.ask(name)
    decide(crew.bob, script)
    access = crew.jit(name, access_duration_seconds=3600)
    decide(crew.bob, access)
    session = Session(crew.jit(name, status=201)["connection_credentials"])
    assert session.ask("SELECT 1") == "1"
    clock.set(f"+{DAY + 60}")
    session.wait_for_end(5)
    crew.admin = Api(crew.house.gateway, crew.house.sign_in("root@example.com").headers["Token"])
    ann, bob = (crew.house.enter(crew.email[who]) for who in ("ann", "bob"))
    assert {crew.state(asked) for asked in (pending, script, access)} == {"EXPIRED"}
    decide(bob, pending, expect=400)
    crew.run(script, ann, status=409)
    ahead = crew.ask(name, caller=ann)
    clock.set("+0")
    crew.admin = crew.house.admin
    assert crew.state(ahead) == "PENDING" and crew.state(access) == "PROCESSING"
    decide(crew.bob, ahead)
    clock.set(f"-{DAY}")
    ann, bob = (crew.house.enter(crew.email[who]) for who in ("ann", "bob"))
    behind = crew.ask(name, caller=ann)
    clock.set("+60")
    assert crew.state(behind) == "EXPIRED"
    decide(crew.bob, behind, expect=400)
    assert crew.run(ahead)["output_status"] == "success"


def test_two_gateways_run_a_script_once(tmp_path, postgres, target):
    url = postgres.create(f"pair_{time.monotonic_ns()}")
    key = ["--master-key-file", str(tmp_path / "key")]
    one = Gateway(tmp_path / "one", "--database-url", url, *key, *TRUSTED)
    two = Gateway(tmp_path / "two", "--database-url", url, *key, *TRUSTED)
    crew = Crew(House(one), target)
    name, table = crew.connection(), crew.table()
    crew.rule(name, min_approvals=2)
    there = {who: Api(two, getattr(crew, who).token) for who in ("ann", "both")}
    for number in range(20 if HAS_MANY else 4):
        asked = crew.ask(name, f"insert into {table} values ({number})")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            deciding = [pool.submit(decide, who, asked) for who in (crew.bob, there["both"])]
            assert {"APPROVED"} <= {call.result()["status"] for call in deciding}
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda who: who.post(f"/sessions/{asked['session_id']}/exec"),
                          [crew.ann, there["ann"]] * 3))
        assert run_until_known(crew, asked) == "EXECUTED"
        assert crew.count(table) == number + 1
    for gateway in one, two:
        assert gateway.stop() == 0, gateway.text()
