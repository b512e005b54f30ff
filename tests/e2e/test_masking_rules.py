# SPDX-License-Identifier: MIT
"""Masking rules: how they are written, what they reach, and what is refused or warned of."""
import os
import re
import uuid

import pytest

from api import connection, unique
from store import Store, new_organization

TYPES = [{"name": "PII", "entity_types": ["EMAIL_ADDRESS", "CREDIT_CARD"]}]
WHOLE = {
    "description": "what auditors ask for",
    "supported_entity_types": TYPES, "score_threshold": 0.6,
    "custom_entity_types": [{"name": "STAFF", "regex": "E[0-9]{6}", "deny_list": ["tiger"],
                             "score": 0.85}],
    "columns": [{"name": "public.people.*", "strategy": {"type": "partial", "keep_last": 2}},
                {"name": "salary"}],
    "strategy": {"type": "redact", "replacement": "***"}, "on_unexaminable": "refuse",
    "refuse_predicates": True}


@pytest.fixture(scope="module")
def boss(admin):
    return new_organization(admin)


@pytest.fixture(scope="module")
def home(boss):
    return boss.get("/userinfo").json["org_id"]


@pytest.fixture(scope="module")
def store(boss):
    return Store(boss.gateway)


def make(boss, **members):
    body = {"name": unique("rule"), "supported_entity_types": TYPES, **members}
    answer = boss.post("/datamasking-rules", body)
    assert answer.status == 201, answer
    return answer.json


def connect(boss, home, **members):
    answer = boss.post("/connections", connection(agent_id=home, **members))
    assert answer.status == 201, answer
    return answer.json


def links_of(boss, name):
    answer = boss.get(f"/connections/{name}/datamasking-rules")
    assert answer.status == 200, answer
    return answer.json


def is_masked(boss, name):
    return boss.get(f"/connections/{name}").json["effective_features"]["data_masking"]


def test_a_rule_is_created_read_replaced_and_deleted(boss, home):
    box = connect(boss, home, attributes=[unique("pci")])
    members = {**WHOLE, "connection_ids": [box["id"]], "attributes": box["attributes"]}
    made = make(boss, **members)
    assert made == {**members, "id": made["id"], "managed_by": None, "name": made["name"],
                    "updated_at": made["updated_at"]}
    path = f"/datamasking-rules/{made['id']}"
    assert boss.get(path).json == made
    assert made in boss.get("/datamasking-rules").json
    again = boss.put(path, made)
    assert again.status == 200 and {**again.json, "updated_at": 0} == {**made, "updated_at": 0}
    less = boss.put(path, {"name": made["name"], "columns": [{"name": "salary"}]}).json
    assert less["description"] == "" and less["connection_ids"] == less["attributes"] == []
    assert less["supported_entity_types"] == less["custom_entity_types"] == []
    assert less["columns"] == [{"name": "salary"}]
    assert less["score_threshold"] is less["strategy"] is less["on_unexaminable"] is None
    assert less["updated_at"] >= made["updated_at"]
    gone = boss.delete(path)
    assert gone.status == 204 and gone.body == b""
    assert boss.get(path).status == boss.put(path, made).status == boss.delete(path).status == 404


def test_they_are_listed_by_name(boss):
    names = [make(boss, name=f"{word}-{unique('rule')}")["name"] for word in ("z", "m", "a")]
    listed = [rule["name"] for rule in boss.get("/datamasking-rules").json]
    assert listed == sorted(listed) and set(names) <= set(listed)


def test_a_name_is_given_once_and_stays(boss):
    one, two = make(boss), make(boss)
    assert boss.post("/datamasking-rules", one).status == 409
    answer = boss.put(f"/datamasking-rules/{one['id']}", {**one, "name": two["name"]})
    assert answer.status == 400 and "'name' is immutable" in answer.message


@pytest.mark.parametrize("change, named", [
    ({"supported_entity_types": []}, "nothing to mask"),
    ({"supported_entity_types": [{"name": "PII", "entity_types": []}]},
     "'supported_entity_types[0].entity_types'"),
    ({"supported_entity_types": [*TYPES, {"name": "B", "entity_types": ["IP_ADDRESS", "PERSON"]}]},
     "'supported_entity_types[1].entity_types[1]' is of no known type"),
    ({"supported_entity_types": [{"name": "pii", "entity_types": ["URL"]}]},
     "'supported_entity_types[0].name'"),
    ({"score_threshold": 1.01}, "'score_threshold'"), ({"score_threshold": -0.1}, "'score_thresh"),
    ({"score_threshold": "high"}, "'score_threshold'"),
    ({"score_threshold": 0.123}, "'score_threshold'"),
    ({"custom_entity_types": [{"name": "A", "score": 0.9}]}, "'custom_entity_types[0]'"),
    ({"custom_entity_types": [{"name": "A", "regex": "x"}]}, "'custom_entity_types[0].score'"),
    ({"custom_entity_types": [{"name": "A", "regex": "x", "score": 0.2}]},
     "'custom_entity_types[0].score'"),
    ({"custom_entity_types": [{"name": "A", "regex": "(a", "score": 0.9}]},
     "'custom_entity_types[0].regex'"),
    ({"custom_entity_types": [{"name": "A", "regex": r"(a)\1", "score": 0.9}]},
     "'custom_entity_types[0].regex'"),
    ({"custom_entity_types": [{"name": "A", "regex": "b", "score": 0.9},
                              {"name": "B", "regex": "(?=a)b", "score": 0.9}]},
     "'custom_entity_types[1].regex'"),
    ({"columns": [{"name": "a.b.c.d"}]}, "'columns[0].name'"),
    ({"columns": [{"name": "a", "strategy": {"type": "encrypt"}}]}, "'columns[0].strategy.type'"),
    ({"strategy": {"type": "hash", "keep_last": 4}}, "'strategy.keep_last'"),
    ({"strategy": {"type": "partial", "keep_last": -1}}, "'strategy.keep_last'"),
    ({"strategy": {"type": "redact", "replacement": "a\"b"}}, "'strategy.replacement'"),
    ({"on_unexaminable": "pass"}, "'on_unexaminable'"),
    ({"refuse_predicates": "yes"}, "'refuse_predicates'"),
    ({"connection_ids": ["box"]}, "'connection_ids[0]'"),
    ({"connection_ids": [str(uuid.uuid4())]}, "'connection_ids[0]': there is no connection"),
    ({"attributes": ["nothing"]}, "'attributes[0]': there is no attribute"),
    ({"name": ""}, "'name'"), ({"name": None}, "'name'")])
def test_what_is_refused(boss, change, named):
    before = boss.get("/datamasking-rules").json
    rule = make(boss)
    answers = [boss.put(f"/datamasking-rules/{rule['id']}", {**rule, **change}),
               boss.post("/datamasking-rules", {"name": unique("rule"),
                                                "supported_entity_types": TYPES, **change})]
    for answer in answers:
        assert answer.status == 400 and named in answer.message, answer
    assert boss.delete(f"/datamasking-rules/{rule['id']}").status == 204
    assert boss.get("/datamasking-rules").json == before


def test_what_is_named_twice_is_refused(boss, home):
    box = connect(boss, home, attributes=[unique("pci")])
    for member, names in ("connection_ids", [box["id"]]), ("attributes", box["attributes"]):
        answer = boss.post("/datamasking-rules", {
            "name": unique("rule"), "supported_entity_types": TYPES, member: names * 2})
        assert answer.status == 400 and f"'{member}[1]'" in answer.message


def test_a_managed_rule_is_not_changed(boss, store):
    rule = make(boss)
    store.ask("UPDATE rule SET managed_by = 'gatehouse' WHERE id = ?", rule["id"])
    path = f"/datamasking-rules/{rule['id']}"
    assert boss.get(path).json["managed_by"] == "gatehouse"
    for answer in boss.put(path, rule), boss.delete(path):
        assert answer.status == 400 and "managed by gatehouse" in answer.message


def test_a_connection_is_masked_by_its_own_rules_and_its_attributes(boss, home):
    one, two = connect(boss, home), connect(boss, home, attributes=[unique("pci")])
    rule = make(boss, connection_ids=[one["id"]])
    assert is_masked(boss, one["name"]) and not is_masked(boss, two["name"])
    path = f"/datamasking-rules/{rule['id']}"
    assert boss.put(path, {**rule, "attributes": two["attributes"]}).status == 200
    assert is_masked(boss, two["name"]) and links_of(boss, two["name"]) == []
    attribute = boss.get(f"/attributes/{two['attributes'][0]}").json
    assert attribute["datamasking_rule_names"] == [rule["name"]]
    assert boss.delete(path).status == 204
    assert not is_masked(boss, one["name"]) and not is_masked(boss, two["name"])
    assert boss.get(f"/connections/{one['name']}").status == 200


def test_rules_are_tied_to_a_connection_active_or_not(boss, home):
    box, first, second = connect(boss, home), make(boss), make(boss)
    path = f"/connections/{box['id']}/datamasking-rules"
    sent = [{"rule_id": first["id"], "status": "active"},
            {"rule_id": second["id"], "status": "inactive"}]
    answer = boss.put(path, sent)
    assert answer.status == 200
    by_rule = {link["rule_id"]: link for link in answer.json}
    assert len({link["id"] for link in answer.json}) == 2
    assert by_rule == {one["rule_id"]: {**one, "id": by_rule[one["rule_id"]]["id"],
                                        "connection_id": box["id"]} for one in sent}
    assert boss.get(path).json == links_of(boss, box["name"]) == answer.json
    assert is_masked(boss, box["name"])
    assert boss.get(f"/datamasking-rules/{second['id']}").json["connection_ids"] == [box["id"]]
    # Replacing a rule leaves a link that was put out of force as it is.
    rule = boss.get(f"/datamasking-rules/{second['id']}").json
    assert boss.put(f"/datamasking-rules/{second['id']}", rule).status == 200
    assert boss.get(path).json == answer.json
    assert boss.put(path, sent[1:]).status == 200 and not is_masked(boss, box["name"])
    assert boss.put(path, []).json == links_of(boss, box["name"]) == []
    assert boss.get(f"/datamasking-rules/{first['id']}").json["connection_ids"] == []


@pytest.mark.parametrize("body, named", [
    ({}, "the document must be an array"), ([5], "[0]"), ([{}], "'[0].rule_id'"),
    ([{"rule_id": "x", "status": "active"}], "'[0].rule_id'"),
    ([{"rule_id": str(uuid.uuid4())}], "'[0].status'"),
    ([{"rule_id": str(uuid.uuid4()), "status": "paused"}], "'[0].status'"),
    ([{"rule_id": str(uuid.uuid4()), "status": "active"}], "'[0].rule_id': there is no"),
    ([{"rule_id": str(uuid.uuid4()), "status": "active"}] * 1001, "1000")])
def test_what_cannot_be_tied(boss, home, body, named):
    rule = make(boss)
    box = connect(boss, home)
    kept = boss.put(f"/connections/{box['name']}/datamasking-rules",
                    [{"rule_id": rule["id"], "status": "active"}]).json
    answer = boss.put(f"/connections/{box['name']}/datamasking-rules", body)
    assert answer.status == 400 and named in answer.message, answer
    twice = [{"rule_id": rule["id"], "status": "active"}] * 2
    answer = boss.put(f"/connections/{box['name']}/datamasking-rules", twice)
    assert answer.status == 400 and "named twice" in answer.message
    assert links_of(boss, box["name"]) == kept
    assert boss.get("/connections/nothing/datamasking-rules").status == 404
    assert boss.put("/connections/nothing/datamasking-rules", []).status == 404


def test_a_guard_rail_is_no_masking_rule(boss, home, store):
    box = connect(boss, home)
    guard = store.add_rule(home, "guardrail")
    assert boss.patch(f"/connections/{box['name']}", {"guardrail_rules": [guard]}).status == 200
    path = f"/datamasking-rules/{guard}"
    assert boss.get(path).status == boss.delete(path).status == 404
    assert boss.put(path, {"name": "x", "supported_entity_types": TYPES}).status == 404
    link = [{"rule_id": guard, "status": "active"}]
    assert boss.put(f"/connections/{box['name']}/datamasking-rules", link).status == 400
    assert boss.put(f"/connections/{box['name']}/datamasking-rules", []).status == 200
    assert boss.get(f"/connections/{box['name']}").json["guardrail_rules"] == [guard]
    assert guard not in boss.get("/datamasking-rules").body.decode()


def test_what_cannot_be_masked_is_said(boss, home):
    """A rule may reach what is not masked; it is saved, and says so, also when it is read."""
    raw = connect(boss, home, type="application", subtype="httpproxy", attributes=[unique("shared")])
    rule = make(boss, connection_ids=[raw["id"]])
    [warning] = rule["warnings"]
    assert raw["name"] in warning and "'httpproxy'" in warning and "'postgres'" in warning
    path = f"/datamasking-rules/{rule['id']}"
    assert boss.get(path).json["warnings"] == [warning]
    assert not is_masked(boss, raw["name"])
    assert links_of(boss, raw["name"])[0]["warning"] == warning
    links = boss.put(f"/connections/{raw['name']}/datamasking-rules",
                     [{"rule_id": rule["id"], "status": "inactive"}]).json
    assert "warning" not in links[0] and "warnings" not in boss.get(path).json
    shared = boss.put(path, {**rule, "connection_ids": [], "attributes": raw["attributes"]}).json
    assert shared["warnings"] == [warning]
    odd = make(boss, refuse_predicates=True)
    assert "'refuse_predicates'" in odd["warnings"][0]
    many = [connect(boss, home, type="application", subtype="httpproxy", attributes=raw["attributes"])
            for _ in range(22)]
    warnings = boss.get(path).json["warnings"]
    assert len(many) == 22 and len(warnings) == 21 and warnings[-1].startswith("3 more")


def test_legacy_members_of_a_connection_are_kept_and_mask_nothing(boss, home):
    box = connect(boss, home, redact_enabled=True, redact_types=["EMAIL_ADDRESS"])
    read = boss.get(f"/connections/{box['name']}").json
    assert read["redact_enabled"] is True and read["redact_types"] == ["EMAIL_ADDRESS"]
    assert read["effective_features"]["data_masking"] is False


def test_who_may_do_what(boss, home):
    rule, box = make(boss), connect(boss, home)
    path = f"/datamasking-rules/{rule['id']}"
    links = f"/connections/{box['name']}/datamasking-rules"
    for who, reads in (("auditor", 200), ("dev", 403)):
        caller = boss.key(who)
        for read in "/datamasking-rules", path, links, "/datamasking-entity-types":
            assert caller.get(read).status == reads
        for answer in (caller.post("/datamasking-rules", rule), caller.put(path, rule),
                       caller.delete(path), caller.put(links, [])):
            assert answer.status == 403
    assert boss.get(path).json == rule


def test_changes_are_on_record(boss, home):
    box = connect(boss, home)
    rule = make(boss, **{**WHOLE, "connection_ids": [box["id"]]})
    path = f"/datamasking-rules/{rule['id']}"
    assert boss.put(path, rule).status == 200
    assert boss.put(path, {**rule, "score_threshold": 2}).status == 400
    assert boss.put(f"/connections/{box['name']}/datamasking-rules", []).status == 200
    assert boss.delete(path).status == 204
    entries = boss.get("/audit/logs?resource_type=datamasking_rules&page_size=5").json["data"]
    assert [(e["action"], e["http_status"]) for e in entries[::-1]] == [
        ("create", 201), ("update", 200), ("update", 400), ("update", 200), ("delete", 204)]
    payload = entries[-1]["request_payload_redacted"]
    assert payload == {
        "id": rule["id"], "name": rule["name"], "connection_ids": [box["id"]], "attributes": [],
        "entity_types": ["EMAIL_ADDRESS", "CREDIT_CARD"], "custom_entity_types": ["STAFF"],
        "columns": ["public.people.*", "salary"], "refuse_predicates": True}
    assert entries[1]["request_payload_redacted"] == {"name": box["name"], "datamasking_rules": []}
    # The words that are looked for may be secret themselves.
    assert "tiger" not in str(entries) and "E[0-9]" not in str(entries)


def test_the_types_that_are_found(boss):
    types = {one["name"]: one for one in boss.get("/datamasking-entity-types").json}
    assert len(types) >= 60
    assert all(set(one) == {"name", "description", "is_checksum_verified"} and one["description"]
               for one in types.values())
    assert types["CREDIT_CARD"]["is_checksum_verified"] is True
    assert types["EMAIL_ADDRESS"]["is_checksum_verified"] is False
    groups = [{"name": "ALL", "entity_types": list(types)}]
    assert make(boss, supported_entity_types=groups)["supported_entity_types"] == groups


def test_the_types_are_described(boss):
    path = os.path.join(os.path.dirname(__file__), "../../docs/masking.md")
    with open(path, encoding="utf-8") as file:
        rows = re.findall(r"^\| ([A-Z_]+) \| (.+) \| (yes)? ?\|$", file.read(), re.M)
    assert rows == [(one["name"], one["description"], "yes" if one["is_checksum_verified"] else "")
                    for one in boss.get("/datamasking-entity-types").json]


def tried(boss, samples, **rule):
    answer = boss.post("/datamasking-trials", {"rule": {"name": "unsaved", **rule},
                                               "samples": samples})
    assert answer.status == 200, answer
    return answer.json["samples"]


def test_a_rule_is_tried_on_values_before_it_is_saved(boss):
    before = boss.get("/datamasking-rules").json
    values = [{"column": "people.email", "value": "grace@example.com"},
              {"value": "nothing in here"}, {"column": "public.people.salary", "value": "12345"},
              {"column": "salary", "value": "12345"}, {"value": "call E123456"}]
    found = tried(boss, values, supported_entity_types=TYPES, strategy={"type": "partial"},
                  columns=[{"name": "people.salary", "strategy": {"type": "null"}}],
                  custom_entity_types=[{"name": "STAFF", "regex": "E[0-9]{6}", "score": 0.9}])
    assert [one["outcome"] for one in found] == ["changed", "same", "null", "null", "changed"]
    assert found[0]["found"] == ["EMAIL_ADDRESS"] and found[0]["value"].endswith(".com")
    assert found[1] == {"outcome": "same", "value": "nothing in here", "found": []}
    assert found[2]["value"] is None and found[2]["found"] == ["COLUMN"]
    assert found[4]["found"] == ["CUSTOM"] and "E123456" not in found[4]["value"]
    assert tried(boss, [{"value": "at b@c.de"}], supported_entity_types=TYPES)[0]["value"] == (
        "at [EMAIL_ADDRESS]")
    for rule, samples, named in (
            ({"columns": [{"name": "a"}]}, [{"value": "x"}] * 1001, "'samples'"),
            ({}, [{"value": "x"}], "nothing to mask"),
            ({"custom_entity_types": [{"name": "A", "regex": "(", "score": 0.9}]},
             [{"value": "x"}], "'rule.custom_entity_types[0]")):
        answer = boss.post("/datamasking-trials", {"rule": {"name": "x", **rule},
                                                   "samples": samples})
        assert answer.status == 400 and named in answer.message, answer
    assert boss.get("/datamasking-rules").json == before
