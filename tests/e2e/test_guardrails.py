# SPDX-License-Identifier: MIT
"""Guard rails as the API keeps them: what is stored, what is refused, what they are bound to."""
import uuid

import pytest

from api import EMBEDDED_AGENT, connection, unique
from store import Store, new_organization

NOWHERE = "00000000-0000-7000-8000-00000000dead"
WORDS = {"type": "deny_words_list", "words": ["DROP TABLE", "Geheimnis"], "name": "no drops",
         "message": "ask the team that owns the table"}
PATTERN = {"type": "pattern_match", "pattern_regex": r"(?i)\bsalary\b"}
SQL = {"type": "sql", "operations": ["update", "delete"], "without_where": True,
       "relations": [{"name": "shop.*", "access": "write"}], "unknown": "block",
       "groups": ["interns"], "except_groups": ["leads"], "action": "warn", "name": "with where"}
MORE_SQL = {"type": "sql", "functions": ["pg_read_*"], "multi_statement": True, "action": "observe"}
ROWS = {"type": "sql", "operations": ["update"], "max_rows": 100}
BUDGET = {"type": "read_budget", "rows": 1000, "bytes": 10 ** 12, "per": "hour", "action": "warn",
          "groups": ["interns"], "name": "no bulk reads", "message": "ask for an export"}


@pytest.fixture
def boss(admin):
    boss = new_organization(admin)
    boss.home = boss.get("/userinfo").json["org_id"]
    return boss


def make(api, **members):
    answer = api.post("/guardrails", {"name": unique("rail"), **members})
    assert answer.status == 201, answer
    return answer.json


def add_connection(api, **members):
    home = getattr(api, "home", EMBEDDED_AGENT)
    answer = api.post("/connections", connection(agent_id=home, **members))
    assert answer.status == 201, answer
    return answer.json


def add_attribute(api, **members):
    answer = api.post("/attributes", {"name": unique("attribute"), **members})
    assert answer.status == 201, answer
    return answer.json["name"]


def audited(api, noun="guardrails"):
    entries = api.get("/audit/logs?page_size=100").json["data"]
    return [entry for entry in entries if entry["resource_type"] == noun]


def test_a_guard_rail_is_created_read_replaced_and_deleted(admin):
    connections = sorted(add_connection(admin)["id"] for _ in range(3))
    attributes = sorted(add_attribute(admin) for _ in range(3))
    made = make(admin, description="för alle",
                input={"rules": [WORDS, PATTERN, SQL, MORE_SQL, ROWS]},
                output={"rules": [PATTERN, BUDGET]}, connection_ids=connections[1::-1],
                attributes=attributes[1::-1])
    assert made == {"id": made["id"], "name": made["name"], "description": "för alle",
                    "enabled": True, "managed_by": None, "rulepack": None,
                    "input": {"rules": [WORDS, PATTERN, SQL, MORE_SQL, ROWS]},
                    "output": {"rules": [PATTERN, BUDGET]}, "connection_ids": connections[:2],
                    "attributes": attributes[:2], "created_at": made["created_at"],
                    "updated_at": made["created_at"]}
    path = f"/guardrails/{made['id']}"
    assert admin.get(path).json == admin.get(f"/guardrails/{made['name']}").json == made
    same = admin.put(path, made)
    assert same.status == 200
    assert same.json == {**made, "updated_at": same.json["updated_at"]}
    name = unique("renamed")
    replaced = admin.put(path, {"name": name, "input": {"rules": [PATTERN]},
                                "connection_ids": connections[2:], "attributes": attributes[2:]})
    assert replaced.status == 200
    assert replaced.json == {**made, "name": name, "description": "", "output": None,
                             "input": {"rules": [PATTERN]}, "connection_ids": connections[2:],
                             "attributes": attributes[2:],
                             "updated_at": replaced.json["updated_at"]}
    assert replaced.json["updated_at"] > made["updated_at"]
    assert admin.get(path).json == replaced.json
    bare = admin.put(path, {"name": name}).json
    assert bare["connection_ids"] == [] and bare["attributes"] == [] and bare["input"] is None
    answer = admin.delete(path)
    assert answer.status == 204 and answer.body == b""
    for method, body in (("GET", None), ("PUT", {"name": "x"}), ("DELETE", None)):
        answer = admin.call(method, path, body)
        assert answer.status == 404 and answer.message == f"there is no guard rail '{made['id']}'"


def test_the_list_is_an_array_with_the_last_name_first(boss):
    assert boss.get("/guardrails").json == []
    one = add_connection(boss)["id"]
    team = add_attribute(boss)
    made = [make(boss, name=name, attributes=[team], connection_ids=[one] if name == "b" else [])
            for name in ("b", "c", "a", "B")]
    listed = boss.get("/guardrails").json
    assert [rail["name"] for rail in listed] == ["c", "b", "a", "B"]
    assert sorted(listed, key=lambda rail: rail["id"]) == sorted(made, key=lambda rail: rail["id"])


def test_names_are_unique_and_checked(admin):
    one, two = make(admin), make(admin)
    answer = admin.post("/guardrails", {"name": one["name"]})
    assert answer.status == 409 and answer.message == \
        f"a guard rail '{one['name']}' already exists"
    assert admin.put(f"/guardrails/{one['id']}", {"name": two["name"]}).status == 409
    for name in "", "a" * 255, "a/b", "..", "a\nb", None, 1:
        answer = admin.post("/guardrails", {"name": name})
        assert answer.status == 400 and "'name'" in answer.message
    assert admin.post("/guardrails", {}).message == "'name' is required"


def rules(*entries, side="input"):
    return {side: {"rules": list(entries)}}


REFUSED = [
    (rules({**BUDGET}), "'input.rules[0].type' is about what comes back: 'read_budget' belongs to "
                        "'output.rules'"),
    (rules(PATTERN, {**BUDGET, "rows": None, "bytes": None}, side="output"),
     "'output.rules[1]' must have 'rows' or 'bytes'"),
    (rules({**BUDGET, "per": None}, side="output"),
     "'output.rules[0].per' must be 'session' or 'hour'"),
    (rules({**BUDGET, "rows": 0}, side="output"), "'output.rules[0].rows'"),
    (rules({**BUDGET, "bytes": 10 ** 13}, side="output"), "'output.rules[0].bytes'"),
    (rules({**PATTERN, "rows": 5}, side="output"),
     "'output.rules[0].rows' does not belong to a rule of type 'pattern_match'"),
    (rules(PATTERN, {"type": "regex"}), "'input.rules[1].type' must be one of"),
    (rules({}), "'input.rules[0].type' is required"),
    (rules("x"), "'input.rules[0]'"),
    ({"input": []}, "'input'"),
    ({"output": {"rules": {}}}, "'output.rules'"),
    (rules({"type": "deny_words_list"}), "'input.rules[0].words' must not be empty"),
    (rules({"type": "deny_words_list", "words": []}), "'input.rules[0].words' must not be empty"),
    (rules({"type": "deny_words_list", "words": ["a", ""]}),
     "'input.rules[0].words[1]' must not be empty"),
    (rules({"type": "deny_words_list", "words": ["a", 5]}), "'input.rules[0].words[1]'"),
    (rules({"type": "pattern_match", "pattern_regex": ""}),
     "'input.rules[0].pattern_regex' must not be empty"),
    (rules(PATTERN, {"type": "pattern_match", "pattern_regex": "a(b"}),
     "'input.rules[1].pattern_regex'"),
    (rules({"type": "pattern_match", "pattern_regex": "(?=look)ahead"}),
     "'input.rules[0].pattern_regex'"),
    (rules({"type": "pattern_match", "pattern_regex": "[z-a]"}, side="output"),
     "'output.rules[0].pattern_regex'"),
    (rules({"type": "pattern_match", "words": ["a"]}), "'input.rules[0].words' does not belong"),
    (rules({"type": "deny_words_list", "words": ["a"], "operations": ["drop"]}),
     "'input.rules[0].operations' does not belong"),
    (rules({"type": "sql"}), "'input.rules[0]' must have a condition"),
    (rules({"type": "sql", "operations": ["select", "explode"]}),
     "'input.rules[0].operations[1]' must be one of"),
    (rules({"type": "sql", "operations": ["drop"]}, side="output"), "'output.rules[0].type'"),
    (rules({"type": "sql", "relations": [{"access": "read"}]}),
     "'input.rules[0].relations[0].name' is required"),
    (rules({"type": "sql", "relations": [{"name": "a.b.c"}]}),
     "'input.rules[0].relations[0].name'"),
    (rules({"type": "sql", "relations": [{"name": "a", "access": "execute"}]}),
     "'input.rules[0].relations[0].access' must be one of"),
    (rules({"type": "sql", "functions": ["a..b"]}), "'input.rules[0].functions[0]'"),
    (rules({"type": "sql", "max_rows": 0}), "'input.rules[0].max_rows'"),
    (rules({"type": "sql", "operations": ["select"], "max_rows": 5}),
     "'input.rules[0].max_rows' is for"),
    (rules({"type": "sql", "operations": ["insert"], "without_where": True}),
     "'input.rules[0].without_where' is for"),
    (rules({**PATTERN, "action": "redact"}), "'input.rules[0].action' must be one of"),
    (rules({**SQL, "unknown": "perhaps"}), "'input.rules[0].unknown' must be one of"),
    ({"connection_ids": ["x"]}, "'connection_ids[0]' must be a UUID"),
    ({"connection_ids": [NOWHERE]}, f"'connection_ids[0]': there is no connection '{NOWHERE}'"),
    ({"attributes": ["nothing"]}, "'attributes[0]': there is no attribute 'nothing'"),
]


@pytest.mark.parametrize(("members", "message"), REFUSED)
def test_what_is_wrong_is_named_and_nothing_is_stored(admin, members, message):
    made = make(admin, **rules(WORDS))
    name = unique("wrong")
    for answer in (admin.post("/guardrails", {"name": name, **members}),
                   admin.put(f"/guardrails/{made['id']}", {"name": name, **members})):
        assert answer.status == 400 and answer.message.startswith(message), answer
    assert admin.get(f"/guardrails/{made['id']}").json == made
    assert admin.get(f"/guardrails/{name}").status == 404


def test_connections_and_guard_rails_name_the_same_links(admin):
    one, two = add_connection(admin), add_connection(admin)
    rail, other = make(admin, connection_ids=[one["id"]]), make(admin)
    at = f"/connections/{one['name']}"
    assert admin.get(at).json["guardrail_rules"] == [rail["id"]]
    assert admin.get(at).json["effective_features"]["guardrails"] is True
    assert admin.get(f"/connections/{two['name']}").json["guardrail_rules"] == []
    both = sorted([rail["id"], other["id"]])
    assert admin.patch(at, {"guardrail_rules": both}).json["guardrail_rules"] == both
    assert admin.get(f"/guardrails/{other['id']}").json["connection_ids"] == [one["id"]]
    admin.patch(at, {"guardrail_rules": []})
    for made in rail, other:
        assert admin.get(f"/guardrails/{made['id']}").json["connection_ids"] == []
    third = add_connection(admin, guardrail_rules=[rail["id"]])
    assert admin.get(f"/guardrails/{rail['id']}").json["connection_ids"] == [third["id"]]
    assert admin.delete(f"/connections/{third['name']}").status == 204
    assert admin.get(f"/guardrails/{rail['id']}").json["connection_ids"] == []
    admin.put(f"/guardrails/{rail['id']}", {"name": rail["name"], "connection_ids": [two["id"]]})
    assert admin.delete(f"/guardrails/{rail['id']}").status == 204
    assert admin.get(f"/connections/{two['name']}").json["guardrail_rules"] == []


def test_ids_of_connections_are_taken_in_either_case(admin):
    one = add_connection(admin)["id"]
    assert make(admin, connection_ids=[one.upper()])["connection_ids"] == [one]


def test_attributes_name_guard_rails_and_the_other_way_round(admin):
    team = add_attribute(admin)
    one = add_connection(admin, attributes=[team])["name"]
    rail = make(admin, attributes=[team])
    assert admin.get(f"/attributes/{team}").json["guardrail_rule_names"] == [rail["name"]]
    read = admin.get(f"/connections/{one}").json
    assert read["guardrail_rules"] == [] and read["effective_features"]["guardrails"] is True
    admin.put(f"/attributes/{team}", {"name": team})
    assert admin.get(f"/guardrails/{rail['id']}").json["attributes"] == []
    renamed = unique("renamed")
    admin.put(f"/attributes/{team}", {"name": renamed, "guardrail_rule_names": [rail["name"]]})
    assert admin.get(f"/guardrails/{rail['id']}").json["attributes"] == [renamed]
    assert admin.delete(f"/attributes/{renamed}").status == 204
    assert admin.get(f"/guardrails/{rail['id']}").json["attributes"] == []


def test_one_that_is_switched_off_stays_and_does_nothing(boss):
    place = add_connection(boss)
    made = make(boss, input={"rules": [WORDS]}, connection_ids=[place["id"]])
    path = f"/guardrails/{made['id']}"
    assert made["enabled"] is True

    def acts():
        return boss.get(f"/connections/{place['name']}").json["effective_features"]["guardrails"]

    body = {"name": made["name"], "input": {"rules": [WORDS]}, "connection_ids": [place["id"]]}
    assert acts()
    off = boss.put(path, {**body, "enabled": False})
    assert off.status == 200 and off.json["enabled"] is False and not acts()
    assert boss.get(path).json["enabled"] is False
    assert [one["enabled"] for one in boss.get("/guardrails").json] == [False]
    assert place["id"] in boss.get(path).json["connection_ids"]
    for key, status in (("auditor", 403), ("dev", 403)):
        assert boss.key(key).put(path, {**body, "enabled": True}).status == status
    assert not acts()
    payload = audited(boss)[2]["request_payload_redacted"]
    assert payload["before"]["enabled"] is True and payload["after"]["enabled"] is False
    assert boss.put(path, {**body, "enabled": "no"}).status == 400
    assert boss.put(path, body).json["enabled"] is True and acts()


def test_auditors_read_and_members_do_neither(admin):
    rail = make(admin, **rules(WORDS))
    auditor, member = admin.key("auditor"), admin.key("some-group")
    assert auditor.get(f"/guardrails/{rail['id']}").json == rail
    assert rail in auditor.get("/guardrails").json
    for caller in auditor, member:
        assert caller.post("/guardrails", {"name": unique("rail")}).status == 403
        assert caller.put(f"/guardrails/{rail['id']}", rail).status == 403
        assert caller.delete(f"/guardrails/{rail['id']}").status == 403
        assert caller.post("/rulepacks/read-only/attach", {"connection_names": ["x"]}).status == 403
    assert member.get("/guardrails").status == member.get("/rulepacks").status == 403
    assert admin.get(f"/guardrails/{rail['id']}").json == rail


def test_every_change_is_on_record_with_what_was_before(boss):
    rail = make(boss, **rules(WORDS))
    boss.put(f"/guardrails/{rail['id']}", {"name": rail["name"], **rules(PATTERN)})
    boss.put(f"/guardrails/{rail['id']}", {"name": rail["name"], **rules({"type": "sql"})})
    boss.delete(f"/guardrails/{rail['id']}")
    deleted, refused, updated, created = audited(boss)
    assert [entry["action"] for entry in (created, updated, refused, deleted)] == \
        ["create", "update", "update", "delete"]
    assert [entry["http_status"] for entry in (created, updated, refused, deleted)] == \
        [201, 200, 400, 204]
    assert created["request_payload_redacted"]["after"]["input"] == {"rules": [WORDS]}
    assert "before" not in created["request_payload_redacted"]
    assert updated["request_payload_redacted"]["before"]["input"] == {"rules": [WORDS]}
    assert updated["request_payload_redacted"]["after"]["input"] == {"rules": [PATTERN]}
    assert deleted["request_payload_redacted"]["before"]["input"] == {"rules": [PATTERN]}
    assert "after" not in deleted["request_payload_redacted"]


def test_what_another_version_left_in_the_store_can_be_read(boss):
    rule = Store(boss.gateway).add_rule(boss.home, "guardrail", name="bare")
    [read] = boss.get("/guardrails").json
    assert read["id"] == rule and read["input"] is None and read["description"] == ""


# Rulepacks --------------------------------------------------------------------------------------

PACKS = ["agent-safe", "mysql-no-unbounded-write", "mysql-read-only", "no-destructive-ddl",
         "no-unbounded-write", "pci", "personal-data", "read-only", "secrets"]


def test_the_packs_are_listed_with_what_they_hold(boss):
    listed = boss.get("/rulepacks").json
    assert [pack["name"] for pack in listed] == PACKS
    for pack in listed:
        assert boss.get(f"/rulepacks/{pack['name']}").json == pack
        assert pack["title"] and pack["description"] and pack["connection_ids"] == []
        answer = boss.post("/guardrails", pack["guardrail"])
        assert answer.status == 201, answer
    answer = boss.get("/rulepacks/nothing")
    assert answer.status == 404 and answer.message == "there is no rulepack 'nothing'"


def masked_by(boss, pack):
    """The ids of the connections that the pack's masking rule is tied to."""
    rows = Store(boss.gateway).ask(
        "SELECT l.connection_id FROM connection_rule l JOIN rule u ON u.id = l.rule_id "
        "WHERE u.kind = 'masking' AND u.managed_by = 'gatehouse' AND l.is_active = 1 "
        "AND u.organization_id = ? AND u.rulepack = ? ORDER BY 1", boss.home, pack)
    return [row[0] for row in rows]


@pytest.mark.parametrize("name", PACKS)
def test_a_pack_is_attached_and_detached_in_one_call(boss, name):
    one, two = add_connection(boss), add_connection(boss)
    ids = sorted([one["id"], two["id"]])
    path = f"/rulepacks/{name}"
    assert boss.post(f"{path}/detach", {"connection_names": [one["name"]]}).status == 200
    assert boss.get("/guardrails").json == []
    for _ in range(2):
        answer = boss.post(f"{path}/attach", {"connection_ids": [one["id"].upper()],
                                              "connection_names": [two["name"]]})
        assert answer.status == 200 and sorted(answer.json["connection_ids"]) == ids, answer
        [rail] = boss.get("/guardrails").json
        assert rail["managed_by"] == "gatehouse" and rail["rulepack"] == name
        assert rail["connection_ids"] == ids
        assert {key: rail[key] for key in answer.json["guardrail"]} == answer.json["guardrail"]
        assert masked_by(boss, name) == (ids if answer.json["masking_rule"] else [])
    assert boss.get(f"/connections/{one['name']}").json["guardrail_rules"] == [rail["id"]]
    for _ in range(2):
        answer = boss.post(f"{path}/detach", {"connection_names": [two["name"]]})
        assert answer.status == 200 and answer.json["connection_ids"] == [one["id"]]
    assert masked_by(boss, name) == ([one["id"]] if answer.json["masking_rule"] else [])
    actions = [entry["action"] for entry in audited(boss, "rulepacks")]
    assert actions == ["detach", "detach", "attach", "attach", "detach"]


def test_what_a_pack_made_is_changed_by_the_pack_alone(boss):
    one = add_connection(boss)
    boss.post("/rulepacks/read-only/attach", {"connection_names": [one["name"]]})
    [rail] = boss.get("/guardrails").json
    path = f"/guardrails/{rail['id']}"
    for answer in boss.put(path, rail), boss.delete(path):
        assert answer.status == 400 and "managed by gatehouse" in answer.message
        assert "rulepack 'read-only'" in answer.message
    store = Store(boss.gateway)
    store.ask("UPDATE rule SET document = '{}' WHERE id = ?", rail["id"])  # of an older gateway
    boss.post("/rulepacks/read-only/attach", {"connection_names": [one["name"]]})
    again = boss.get(path).json
    assert again == {**rail, "updated_at": again["updated_at"]}


def test_a_newer_text_of_a_masking_rule_is_taken_over_and_a_link_put_in_force(boss):
    one = add_connection(boss)
    store = Store(boss.gateway)
    boss.post("/rulepacks/pci/attach", {"connection_names": [one["name"]]})
    [[rule, before]] = store.ask("SELECT id, document FROM rule WHERE kind = 'masking' "
                                 "AND organization_id = ?", boss.home)
    store.ask("UPDATE rule SET document = '{}' WHERE id = ?", rule)  # of an older gateway
    store.ask("UPDATE connection_rule SET is_active = 0 WHERE rule_id = ?", rule)
    assert masked_by(boss, "pci") == []
    boss.post("/rulepacks/pci/attach", {"connection_names": [one["name"]]})
    assert masked_by(boss, "pci") == [one["id"]]
    assert store.ask("SELECT id, document FROM rule WHERE kind = 'masking' "
                     "AND organization_id = ?", boss.home) == [[rule, before]]


def test_what_cannot_be_attached_is_refused_whole(boss, admin):
    one, theirs = add_connection(boss), add_connection(admin)
    path = "/rulepacks/read-only/attach"
    for body, message in (
            ({}, "'connection_ids' or 'connection_names' must name a connection"),
            ({"connection_names": []},
             "'connection_ids' or 'connection_names' must name a connection"),
            ({"connection_names": [one["name"], "nothing"]},
             "'connection_names[1]': there is no connection 'nothing'"),
            ({"connection_ids": [one["id"], NOWHERE]},
             f"'connection_ids[1]': there is no connection '{NOWHERE}'"),
            ({"connection_ids": [theirs["id"]]}, "'connection_ids[0]': there is no connection"),
            ({"connection_ids": ["x"]}, "'connection_ids[0]' must be a UUID")):
        answer = boss.post(path, body)
        assert answer.status == 400 and answer.message.startswith(message), answer
    assert boss.get("/guardrails").json == []
    for path in "/rulepacks/nothing/attach", "/rulepacks/nothing/detach":
        assert boss.post(path, {"connection_names": [one["name"]]}).status == 404
    make(boss, name="read-only")
    answer = boss.post("/rulepacks/read-only/attach", {"connection_names": [one["name"]]})
    assert answer.status == 409 and "'read-only'" in answer.message


def test_an_id_is_not_taken_for_the_name_of_another_connection(boss):
    one = add_connection(boss)
    shadow = add_connection(boss, name=str(uuid.uuid4()))
    answer = boss.post("/rulepacks/pci/attach", {"connection_ids": [shadow["name"]]})
    assert answer.status == 400
    assert boss.post("/rulepacks/pci/attach", {"connection_names": [one["id"]]}).status == 400
