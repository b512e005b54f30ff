# SPDX-License-Identifier: MIT
"""Attributes: labels that bind connections to groups and rules."""
import pytest

from api import EMBEDDED_AGENT, connection, unique
from store import Store, new_organization

BOUND = ["connection_names", "access_request_rule_names", "guardrail_rule_names",
         "datamasking_rule_names"]


@pytest.fixture
def store(admin):
    return Store(admin.gateway)


def make(admin, **members):
    answer = admin.post("/attributes", {"name": unique("attribute"), **members})
    assert answer.status == 201, answer
    return answer.json


def test_an_attribute_is_created_read_replaced_and_deleted(admin):
    made = make(admin, description="för alle")
    assert made == {"id": made["id"], "org_id": EMBEDDED_AGENT, "name": made["name"],
                    "description": "för alle", "managed_by": None, "connection_names": [],
                    "access_request_rule_names": [], "guardrail_rule_names": [],
                    "datamasking_rule_names": [], "access_control_group_names": [],
                    "created_at": made["created_at"]}
    path = f"/attributes/{made['name']}"
    assert admin.get(path).json == made
    assert admin.put(path, made).json == made
    name = unique("renamed")
    renamed = admin.put(path, {"name": name})
    assert renamed.status == 200
    assert renamed.json == {**made, "name": name, "description": renamed.json["description"]}
    assert not renamed.json["description"]
    assert admin.get(path).status == admin.put(path, made).status == 404
    answer = admin.delete(f"/attributes/{name}")
    assert answer.status == 204 and answer.body == b""
    assert admin.delete(f"/attributes/{name}").status == 404


def test_names_are_unique_and_checked(admin):
    one, two = make(admin), make(admin)
    assert admin.post("/attributes", {"name": one["name"]}).status == 409
    assert admin.put(f"/attributes/{one['name']}", two).status == 409
    for name in "", "a" * 256, "a/b", ".", "..", "a\nb", None, 1:
        answer = admin.post("/attributes", {"name": name})
        assert answer.status == 400 and "'name'" in answer.message
    assert admin.post("/attributes", {}).status == 400
    odd = "Größe: 100 % & mehr?"
    made = make(admin, name=odd)
    assert admin.get("/attributes/Gr%C3%B6%C3%9Fe%3A%20100%20%25%20%26%20mehr%3F").json == made


def test_what_it_binds_can_be_read_from_both_sides(admin, store):
    one = admin.post("/connections", connection()).json["name"]
    two = admin.post("/connections", connection(attributes=[unique("other")])).json["name"]
    rules = {kind: unique(kind) for kind in ("guardrail", "masking", "access_command",
                                             "access_jit")}
    for kind, name in rules.items():
        store.add_rule(EMBEDDED_AGENT, kind, name=name)
    admin.key("ops")
    members = {"connection_names": sorted([one, two]), "access_control_group_names": ["ops"],
               "guardrail_rule_names": [rules["guardrail"]],
               "datamasking_rule_names": [rules["masking"]],
               "access_request_rule_names": sorted([rules["access_command"],
                                                    rules["access_jit"]])}
    made = make(admin, **members)
    assert {key: made[key] for key in members} == members
    assert made["name"] in admin.get(f"/connections/{two}").json["attributes"]
    assert len(admin.get(f"/connections/{two}").json["attributes"]) == 2
    read = admin.get(f"/connections/{one}").json
    assert read["attributes"] == [made["name"]] and read["effective_features"]["guardrails"]
    path = f"/attributes/{made['name']}"
    less = admin.put(path, {"name": made["name"], "connection_names": [two]}).json
    assert less["connection_names"] == [two] and less["guardrail_rule_names"] == []
    assert admin.get(f"/connections/{one}").json["attributes"] == []
    assert admin.delete(f"/connections/{two}").status == 204
    assert admin.get(path).json["connection_names"] == []
    assert admin.delete(path).status == 204


@pytest.mark.parametrize("member", [*BOUND, "access_control_group_names"])
def test_what_it_names_must_exist(admin, member):
    made = make(admin)
    for answer in (admin.post("/attributes", {"name": unique("a"), member: ["nothing"]}),
                   admin.put(f"/attributes/{made['name']}", {**made, member: ["nothing"]})):
        assert answer.status == 400 and member in answer.message, answer
    assert admin.get(f"/attributes/{made['name']}").json == made


def test_a_connection_makes_replaces_and_leaves_attributes(admin):
    names = sorted(unique("attribute") for _ in range(3))
    made = admin.post("/connections", connection(attributes=[names[1], names[0], names[0]])).json
    path = f"/connections/{made['name']}"
    assert made["attributes"] == names[:2]
    assert admin.get(f"/attributes/{names[0]}").json["connection_names"] == [made["name"]]
    assert admin.patch(path, {"tags": []}).json["attributes"] == names[:2]
    assert admin.patch(path, {"attributes": names[2:]}).json["attributes"] == names[2:]
    assert admin.put(path, {**made, "attributes": names}).json["attributes"] == names
    without = {key: value for key, value in made.items() if key != "attributes"}
    assert admin.put(path, without).json["attributes"] == []
    assert admin.get(f"/attributes/{names[0]}").json["connection_names"] == []


def test_a_managed_attribute_is_detached_but_not_changed(admin, store):
    managed, own = make(admin), make(admin)
    store.ask("UPDATE attribute SET managed_by = 'gatehouse' WHERE id = ?", managed["id"])
    path = f"/attributes/{managed['name']}"
    assert admin.get(path).json["managed_by"] == "gatehouse"
    for answer in admin.put(path, managed), admin.delete(path):
        assert answer.status == 400 and "managed by gatehouse" in answer.message
    both = sorted([managed["name"], own["name"]])
    made = admin.post("/connections", connection(attributes=both)).json
    assert made["attributes"] == both and made["managed_attributes"] == [managed["name"]]
    answer = admin.patch(f"/connections/{made['name']}", {"attributes": [own["name"]]}).json
    assert answer["attributes"] == [own["name"]] and answer["managed_attributes"] == []
    assert admin.post("/attributes", {"name": unique("a"), "managed_by": "me"}
                      ).json["managed_by"] is None


def test_the_list_is_searched_and_paged(admin):
    boss = new_organization(admin)
    for name in "gamma", "Alpha", "beta", "50%":
        make(boss, name=name)
    for query, names in {"": ["50%", "Alpha", "beta", "gamma"], "search=ALPH": ["Alpha"],
                         "search=%25": ["50%"], "search=_": [], "page_size=2": ["50%", "Alpha"],
                         "page_size=2&page=2": ["beta", "gamma"], "page=9": []}.items():
        answer = boss.get(f"/attributes?{query}").json
        assert [a["name"] for a in answer["data"]] == names, query
        total = 4 if "search" not in query else len(names)
        assert answer["pages"]["total"] == total
    assert boss.get("/attributes?page=0").status == 400
