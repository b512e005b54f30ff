# SPDX-License-Identifier: MIT
"""Who sees which resources and connections. Each test has an organization of its own, since its
setting 'default_access' changes what all members of an organization see."""
import os

import pytest

from api import Api, b64, resource, role, unique
from conftest import ROOT
from store import Store, new_organization

ENV_VARS = {"envvar:HOST": b64("10.0.0.5"), "REGION": "eu"}


@pytest.fixture
def fresh(admin):
    return new_organization(admin)


@pytest.fixture
def boss(fresh):
    """Of an organization where what no rule names is for nobody."""
    default(fresh, "nobody")
    return fresh


def default(boss, access):
    value = {"default_access": access}
    answer = boss.put("/orgs/default-access", value)
    assert answer.status == 200 and answer.json == value, answer
    assert boss.key("auditor").get("/orgs/default-access").json == value


def make(boss, *role_names, name=None, **members):
    body = resource(name, env_vars=ENV_VARS, roles=[
        role(role_name, secret={"envvar:DB": b64("orders"), "envvar:PASS": b64("hunter2")})
        for role_name in role_names], **members)
    answer = boss.post("/resources", body)
    assert answer.status == 201, answer
    return body["name"]


def allow(boss, name, *groups):
    answer = boss.put(f"/connections/{name}/access", {"groups": list(groups)})
    assert answer.status == 200 and sorted(answer.json["groups"]) == sorted(groups), answer


def seen(caller):
    """What both lists show, after checks that their totals and the single reads agree."""
    resources = caller.get("/resources").json
    connections = caller.get("/connections").json
    assert resources["pages"]["total"] == len(resources["data"])
    assert connections["pages"]["total"] == len(connections["data"])
    nested = [r["name"] for one in resources["data"] for r in one["roles"]]
    assert sorted(nested) == sorted(c["name"] for c in connections["data"])
    for one in resources["data"]:
        assert [r["name"] for r in caller.get(f"/resources/{one['name']}").json["roles"]] == \
            [r["name"] for r in one["roles"]]
    return {one["name"]: sorted(r["name"] for r in one["roles"]) for one in resources["data"]}


def assert_hidden(caller, folder, *names):
    """Like what does not exist, to the letter."""
    nothing = unique("nothing")
    for name in names:
        hidden, missing = caller.get(f"{folder}/{name}"), caller.get(f"{folder}/{nothing}")
        assert hidden.status == missing.status == 404
        assert hidden.body == missing.body.replace(nothing.encode(), name.encode())
        assert set(hidden.headers) == set(missing.headers)


def test_members_use_what_no_rule_names_unless_it_is_set_otherwise(fresh):
    body, bare = make(fresh, "one", "two"), make(fresh)
    dev, ops = fresh.key("dev"), fresh.key("ops")
    everything = {body: ["one", "two"], bare: []}
    assert fresh.get("/orgs/default-access").json == {"default_access": "members"}
    assert seen(dev) == seen(ops) == seen(fresh.key()) == everything
    allow(fresh, "one", "dev")  # closes this one, and nothing else
    assert (seen(dev), seen(ops)) == (everything, {body: ["two"], bare: []})
    assert_hidden(ops, "/connections", "one")
    attribute = {"name": "red", "connection_names": ["two"], "access_control_group_names": ["ops"]}
    assert fresh.post("/attributes", attribute).status == 201
    assert (seen(dev), seen(ops)) == ({body: ["one"], bare: []}, {body: ["two"], bare: []})
    assert seen(fresh.key()) == {bare: []}
    assert seen(fresh) == seen(fresh.key("auditor")) == everything
    default(fresh, "nobody")
    assert (seen(dev), seen(ops)) == ({body: ["one"]}, {body: ["two"]})
    assert seen(fresh.key()) == {}


def test_the_end_of_a_rule_opens_nothing_else(boss):
    body = make(boss, "one", "two", "three")
    dev, ops = boss.key("dev"), boss.key("ops")
    allow(boss, "one", "dev")
    attribute = {"name": "red", "connection_names": ["two"], "access_control_group_names": ["dev"]}
    assert boss.post("/attributes", attribute).status == 201
    assert (seen(dev), seen(ops)) == ({body: ["one", "two"]}, {})
    assert boss.delete("/attributes/red").status == 204
    assert (seen(dev), seen(ops)) == ({body: ["one"]}, {})
    assert boss.delete("/connections/one").status == 204
    assert seen(dev) == seen(ops) == {}
    assert_hidden(dev, "/connections", "two", "three")
    for name in "two", "three":
        assert dev.post(f"/connections/{name}/credentials", {}).status == 404
    allow(boss, "two", "ops")
    allow(boss, "two")
    assert seen(dev) == seen(ops) == {}


def test_only_an_admin_says_what_is_open_and_it_is_in_the_log(boss):
    for caller in boss.key("auditor"), boss.key("dev"):
        assert caller.put("/orgs/default-access", {"default_access": "members"}).status == 403
    for bad in ({}, {"default_access": None}, {"default_access": "all"}, {"default_access": True},
                {"default_access": ""}):
        assert boss.put("/orgs/default-access", bad).status == 400, bad
    assert boss.get("/orgs/default-access").json == {"default_access": "nobody"}
    default(boss, "members")
    [entry] = boss.get("/audit/logs?resource_type=orgs&page_size=1").json["data"]
    assert (entry["action"], entry["http_status"]) == ("update", 200)
    assert entry["request_payload_redacted"] == {"default_access": "members"}


def test_a_store_from_before_keeps_what_was_in_force(admin):
    """With a rule, all else was closed to members; without any, all was open."""
    closed, by_attribute, open_to_all = (new_organization(admin) for _ in range(3))
    bodies = [make(boss, "one", "two") for boss in (closed, by_attribute, open_to_all)]
    devs = [boss.key("dev") for boss in (closed, by_attribute, open_to_all)]
    allow(closed, "one", "dev")
    attribute = {"name": "red", "connection_names": ["two"], "access_control_group_names": ["dev"]}
    assert by_attribute.post("/attributes", attribute).status == 201
    with open(os.path.join(ROOT, "src/store/migrations/0014_default_access.sql"),
              encoding="utf-8") as file:
        update = file.read().partition("\nUPDATE")[2]
    Store(admin.gateway).ask("UPDATE" + update)
    for boss in closed, by_attribute, open_to_all:
        boss.key("dev")  # so that what is remembered of callers is asked again
    assert [boss.get("/orgs/default-access").json["default_access"]
            for boss in (closed, by_attribute, open_to_all)] == ["nobody", "nobody", "members"]
    assert [seen(dev) for dev in devs] == [{bodies[0]: ["one"]}, {bodies[1]: ["two"]},
                                           {bodies[2]: ["one", "two"]}]


def test_rules_open_what_they_name_alone(boss):
    open_to_dev, closed, bare = make(boss, "one", "two"), make(boss, "three"), make(boss)
    dev, ops, nobody = boss.key("dev"), boss.key("ops"), boss.key()
    allow(boss, "one", "dev")
    assert seen(dev) == {open_to_dev: ["one"]}
    assert seen(ops) == seen(nobody) == {}
    assert_hidden(dev, "/connections", "two", "three", boss.get("/connections/two").json["id"])
    assert_hidden(dev, "/resources", closed, bare)
    assert_hidden(nobody, "/resources", open_to_dev)
    allow(boss, "three", "ops", "dev")
    assert seen(dev) == {open_to_dev: ["one"], closed: ["three"]}
    assert seen(ops) == {closed: ["three"]}
    allow(boss, "one")
    allow(boss, "three")
    assert seen(dev) == seen(nobody) == {}


def test_an_attribute_opens_what_carries_it(boss):
    body = make(boss, "one", "two")
    dev, ops = boss.key("dev"), boss.key("ops")
    attribute = {"name": "red", "connection_names": ["two"], "access_control_group_names": ["dev"]}
    assert boss.post("/attributes", attribute).status == 201
    assert seen(dev) == {body: ["two"]}
    assert seen(ops) == {}
    assert boss.patch("/connections/one", {"attributes": ["red"]}).status == 200
    assert seen(dev) == {body: ["one", "two"]}
    boss.put("/attributes/red", {**attribute, "access_control_group_names": ["ops"]})
    assert (seen(dev), seen(ops)) == ({}, {body: ["two"]})
    allow(boss, "one", "dev")
    assert (seen(dev), seen(ops)) == ({body: ["one"]}, {body: ["two"]})
    assert boss.delete("/attributes/red").status == 204
    assert (seen(dev), seen(ops)) == ({body: ["one"]}, {})


def test_admins_and_auditors_see_all(boss):
    body, bare = make(boss, "one", "two"), make(boss)
    boss.key("dev")
    allow(boss, "one", "dev")
    everything = {body: ["one", "two"], bare: []}
    assert seen(boss) == seen(boss.key("auditor")) == everything
    assert seen(boss.key("auditor", "dev")) == everything


def test_secrets_are_for_admins_alone(fresh):
    body = make(fresh, "one")
    for caller in fresh.key("auditor"), fresh.key("dev"):
        answers = [caller.get(f"/resources/{body}"), caller.get("/resources"),
                   caller.get("/connections"), caller.get("/connections/one")]
        one, listed = answers[0].json, answers[1].json["data"][0]
        assert one["env_vars"] == listed["env_vars"] == {}
        for connection in (one["roles"][0], listed["roles"][0], answers[2].json["data"][0],
                           answers[3].json):
            assert connection["secret"] == {}
            assert connection["default_database"] == "orders"  # its name is no secret
        for answer in answers:
            assert b64("10.0.0.5").encode() not in answer.body
            assert b64("orders").encode() not in answer.body
    shown = fresh.get(f"/resources/{body}").json
    assert shown["env_vars"] == ENV_VARS
    assert shown["roles"][0]["secret"] == {"envvar:DB": None, "envvar:PASS": None}
    assert shown["roles"][0]["default_database"] == "orders"


def test_only_admins_write(boss):
    body = make(boss, "one")
    request = boss.get(f"/resources/{body}").json
    connection = boss.get("/connections/one").json
    before = request, boss.get("/audit/logs").json["pages"]["total"]
    calls = [("POST", "/resources", resource()), ("PUT", f"/resources/{body}", request),
             ("DELETE", f"/resources/{body}?cascade=true", None),
             ("POST", "/connections", connection), ("PUT", "/connections/one", connection),
             ("PATCH", "/connections/one", {"command": []}), ("DELETE", "/connections/one", None),
             ("PUT", "/connections/one/access", {"groups": []}),
             ("POST", "/attributes", {"name": "red"})]
    for caller in boss.key("auditor"), boss.key("dev"):
        for method, path, value in calls:
            answer = caller.call(method, path, value)
            assert answer.status == 403 and set(answer.json) == {"message"}, (method, path)
    assert boss.get(f"/resources/{body}").json == before[0]


def test_searches_and_filters_count_only_what_is_seen(boss):
    make(boss, "alpha", "beta", name="first")
    make(boss, "gamma", name="second")
    dev = boss.key("dev")
    for name in "alpha", "beta", "gamma":
        boss.patch(f"/connections/{name}", {"connection_tags": {"team": name}})
    allow(boss, "alpha", "dev")
    for query in ("search=a", "type=database", "subtype=postgres", "page_size=1",
                  "tag_selector=team", "resource_name=first"):
        answer = dev.get(f"/connections?{query}").json
        assert [c["name"] for c in answer["data"]] == ["alpha"], query
        assert answer["pages"]["total"] == 1, query
    for query in "search=s", "type=database", "page_size=1":
        answer = dev.get(f"/resources?{query}").json
        assert [r["name"] for r in answer["data"]] == ["first"], query
        assert answer["pages"]["total"] == 1, query
    for query in "search=gamma", "name=gamma", "tag_selector=team=gamma":
        assert dev.get(f"/connections?{query}").json["pages"]["total"] == 0


def test_tags_and_attributes_do_not_tell_of_hidden_connections(boss):
    make(boss, "one", "two")
    dev = boss.key("dev")
    boss.patch("/connections/one", {"connection_tags": {"team": "shown"}, "attributes": ["red"]})
    boss.patch("/connections/two", {"connection_tags": {"team": "hidden"}, "attributes": ["red"]})
    assert dev.get("/connection-tags").json["items"] == []
    allow(boss, "one", "dev")
    assert [t["value"] for t in dev.get("/connection-tags").json["items"]] == ["shown"]
    [attribute] = dev.get("/attributes").json["data"]
    assert attribute["connection_names"] == ["one"]
    for caller in boss, boss.key("auditor"):
        assert len(caller.get("/connection-tags").json["items"]) == 2
        assert caller.get("/attributes/red").json["connection_names"] == ["one", "two"]


def test_a_change_of_groups_counts_at_once(boss):
    body = make(boss, "one")
    key = boss.post("/api-keys", {"name": "mover", "groups": ["dev"]}).json
    caller = Api(boss.gateway, key["key"])
    allow(boss, "one", "dev")
    assert seen(caller) == {body: ["one"]}
    assert boss.put("/api-keys/mover", {"name": "mover", "groups": ["ops"]}).status == 200
    assert seen(caller) == {}


def test_a_group_that_rules_name_stays(boss):
    make(boss, "one")
    boss.post("/users/groups", {"name": "dev"})
    allow(boss, "one", "dev")
    answer = boss.delete("/users/groups/dev")
    assert answer.status == 409 and "'dev'" in answer.message
    boss.put("/connections/one/access", {"groups": []})
    assert boss.delete("/users/groups/dev").status == 204


def test_access_names_groups_that_exist(boss):
    make(boss, "one")
    assert boss.post("/users/groups", {"name": "dev"}).status == 201
    answer = boss.put("/connections/one/access", {"groups": ["dev", "nowhere"]})
    assert answer.status == 400 and "nowhere" in answer.message
    assert boss.get("/connections/one/access").json == {"groups": []}
    assert boss.put("/connections/none/access", {"groups": ["dev"]}).status == 404
    assert boss.put("/connections/one/access", {}).status == 400
    allow(boss, "one", "dev")
    assert boss.get("/connections/one/access").json == {"groups": ["dev"]}
    assert boss.key("auditor").get("/connections/one/access").json == {"groups": ["dev"]}
