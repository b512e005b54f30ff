# SPDX-License-Identifier: MIT
"""Connections: what they inherit, what they are tied to and what makes them immutable."""
import uuid

import pytest

from api import EMBEDDED_AGENT, b64, connection, resource, role, unique
from store import Store, new_organization

REQUIRED = ["access_mode_connect", "access_mode_exec", "access_mode_runbooks", "access_schema",
            "agent_id", "name", "type"]
ARRAYS = ["command", "attributes", "managed_attributes", "tags", "guardrail_rules", "reviewers",
          "mandatory_metadata_fields", "force_approve_groups", "redact_types"]


@pytest.fixture
def store(admin):
    return Store(admin.gateway)


def make(admin, **members):
    answer = admin.post("/connections", connection(**members))
    assert answer.status == 201, answer
    return answer.json


def add_agent(store):
    agent_id = str(uuid.uuid4())
    store.ask("INSERT INTO agent (id, organization_id, name, created_at) VALUES (?, ?, ?, 1)",
              agent_id, EMBEDDED_AGENT, unique("agent"))
    return agent_id


def own_agent(store, name):
    return store.ask("SELECT agent_id FROM connection WHERE name = ?", name)[0][0]


def test_a_connection_is_answered_whole(admin):
    made = make(admin)
    assert made == {
        "id": made["id"], "name": made["name"], "resource_name": made["name"], "type": "database",
        "subtype": "postgres", "agent_id": EMBEDDED_AGENT, "status": "online", "command":
        made["command"], "secret": {}, "secrets_updated_at": None, "default_database": "",
        "access_mode_connect": "enabled", "access_mode_exec": "enabled",
        "access_mode_runbooks": "enabled", "access_schema": "enabled", "access_max_duration": 0,
        "attributes": [], "managed_attributes": [], "managed_by": "", "connection_tags": {},
        "tags": [], "guardrail_rules": [], "jira_issue_template_id": "",
        "mandatory_metadata_fields": [], "min_review_approvals": 0, "reviewers": [],
        "force_approve_groups": [], "redact_enabled": False, "redact_types": [],
        "mcp_oauth_granted": False, "effective_features": {
            "access_request": {"command": False, "jit": False, "legacy_reviewers": False},
            "ai_session_analyzer": False, "data_masking": False, "guardrails": False,
            "jira_templates": False, "mandatory_metadata": False}}
    assert made["command"][0] == "psql"
    assert admin.get(f"/connections/{made['id']}").json == made
    [listed] = admin.get(f"/connections?name={made['name']}").json["data"]
    assert listed == {**made, "effective_features": None}
    [nested] = admin.get(f"/resources/{made['name']}").json["roles"]
    assert nested == made


@pytest.mark.parametrize("member", REQUIRED)
def test_a_required_member_is_required(admin, member):
    body = connection()
    del body[member]
    answer = admin.post("/connections", body)
    assert answer.status == 400 and f"'{member}'" in answer.message
    assert admin.post("/connections", {**body, member: None}).status == 400
    assert admin.post("/connections", {**body, member: ""}).status == 400
    made = make(admin)
    without = {key: value for key, value in made.items() if key != member}
    assert admin.put(f"/connections/{made['name']}", without).status == 400


@pytest.mark.parametrize("member", ARRAYS)
def test_an_array_is_never_null(admin, member):
    made = make(admin)
    answer = admin.patch(f"/connections/{made['name']}", {member: None})
    assert answer.status == 200 and isinstance(answer.json[member], list)
    answer = admin.put(f"/connections/{made['name']}", {**made, member: None})
    assert answer.status == 200 and isinstance(answer.json[member], list)


def test_a_name_is_unique_and_immutable(admin):
    made = make(admin)
    assert admin.post("/connections", connection(made["name"])).status == 409
    assert admin.post("/resources", resource(roles=[role(made["name"])])).status == 409
    for write in admin.put, admin.patch:
        answer = write(f"/connections/{made['name']}", {**made, "name": unique("other")})
        assert answer.status == 400 and "'name'" in answer.message
    assert admin.get(f"/connections/{made['name']}").json == made


def test_by_name_and_by_id(admin):
    for key in "name", "id":
        made = make(admin)
        path = f"/connections/{made[key]}"
        assert admin.get(path).json == made
        assert admin.put(path, {**made, "tags": ["one"]}).json["tags"] == ["one"]
        assert admin.patch(path, {"tags": ["two"]}).json["tags"] == ["two"]
        assert admin.put(path + "/access", {"groups": []}).status == 200
        answer = admin.delete(path)
        assert answer.status == 204 and answer.body == b""
        assert admin.delete(path).status == admin.get(path).status == 404
        assert admin.get(f"/resources/{made['name']}").json["roles"] == []


def test_the_resource_is_made_kept_and_changed(admin):
    made = make(admin)
    read = admin.get(f"/resources/{made['name']}").json
    assert (read["type"], read["subtype"], read["env_vars"]) == ("database", "postgres", {})
    other = resource()
    admin.post("/resources", other)
    path = f"/connections/{made['name']}"
    without = {key: value for key, value in made.items() if key != "resource_name"}
    assert admin.put(path, without).json["resource_name"] == made["name"]
    moved = admin.patch(path, {"resource_name": other["name"]}).json
    assert moved["resource_name"] == other["name"]
    assert admin.get(f"/resources/{made['name']}").json["roles"] == []
    assert [r["name"] for r in admin.get(f"/resources/{other['name']}").json["roles"]] == \
        [made["name"]]
    fresh = unique("fresh")
    assert admin.put(path, {**moved, "resource_name": fresh}).json["resource_name"] == fresh
    assert admin.get(f"/resources/{fresh}").status == 200


def test_env_vars_are_inherited_not_copied(admin, store):
    body = resource(env_vars={"envvar:DB": b64("inherited"), "envvar:HOST": b64("db")},
                    roles=[role(secret={"envvar:PASS": b64("x")})])
    [made] = admin.post("/resources", body).json["roles"]
    path = f"/connections/{made['name']}"
    rows = "SELECT secret_view, version, updated_at FROM connection WHERE id = ?"
    before = store.ask(rows, made["id"]), store.blob(rows.replace("secret_view, version, "
                       "updated_at", "secret"), made["id"])
    assert made["secret"] == {"envvar:PASS": None} and made["default_database"] == "inherited"
    admin.put(f"/resources/{body['name']}", {**body, "roles": None, "env_vars": {"A": "1"}})
    after = store.ask(rows, made["id"]), store.blob(rows.replace("secret_view, version, "
                      "updated_at", "secret"), made["id"])
    assert after == before
    for write in lambda: admin.patch(path, {"tags": ["x"]}), lambda: admin.put(path, made):
        assert write().json["secret"] == {"envvar:PASS": None}


def test_an_agent_is_inherited_and_followed(admin, store):
    agent = add_agent(store)
    inherits, pins = role(), role(agent_id=agent)
    body = resource(roles=[inherits, pins])
    made = {r["name"]: r for r in admin.post("/resources", body).json["roles"]}
    assert made[inherits["name"]]["agent_id"] == EMBEDDED_AGENT
    assert made[inherits["name"]]["status"] == "online"
    assert made[pins["name"]]["agent_id"] == agent
    assert made[pins["name"]]["status"] == "offline"
    assert own_agent(store, inherits["name"]) == ""
    # Written back with the resource's own, it still inherits.
    path = f"/connections/{inherits['name']}"
    assert admin.put(path, made[inherits["name"]]).status == 200
    assert admin.patch(path, {"tags": ["x"]}).status == 200
    assert own_agent(store, inherits["name"]) == ""
    # And follows, whether the change mentions the role or not.
    for roles in None, [], [{k: v for k, v in inherits.items()}]:
        for target, status in (agent, "offline"), (EMBEDDED_AGENT, "online"):
            answer = admin.put(f"/resources/{body['name']}",
                               {**body, "roles": roles, "agent_id": target})
            assert answer.status == 200, answer
            now = {r["name"]: r for r in answer.json["roles"]}
            assert now[inherits["name"]]["agent_id"] == target, roles
            assert now[inherits["name"]]["status"] == status
            assert now[pins["name"]]["agent_id"] == agent
            assert own_agent(store, inherits["name"]) == ""


def test_an_inherited_agent_is_not_taken_to_another_resource(admin, store):
    agent = add_agent(store)
    target = resource(agent_id=agent)
    admin.post("/resources", target)
    made = make(admin)
    answer = admin.patch(f"/connections/{made['name']}", {"resource_name": target["name"]})
    assert answer.json["agent_id"] == agent
    assert own_agent(store, made["name"]) == ""
    fresh = admin.patch(f"/connections/{made['name']}", {"resource_name": unique("fresh")}).json
    assert fresh["agent_id"] == admin.get(f"/resources/{fresh['resource_name']}").json["agent_id"]
    assert fresh["agent_id"] == agent and own_agent(store, made["name"]) == ""


def test_an_agent_must_exist(admin):
    nowhere = str(uuid.uuid4())
    made = make(admin)
    for body in {"agent_id": nowhere}, {"agent_id": "not-a-uuid"}:
        for answer in (admin.post("/connections", connection(**body)),
                       admin.patch(f"/connections/{made['name']}", body),
                       admin.put(f"/connections/{made['name']}", {**made, **body}),
                       admin.post("/resources", resource(**body)),
                       admin.post("/resources", resource(roles=[role(**body)]))):
            assert answer.status == 400 and "agent_id'" in answer.message, answer
    upper = admin.patch(f"/connections/{made['name']}", {"agent_id": EMBEDDED_AGENT.upper()})
    assert upper.json["agent_id"] == EMBEDDED_AGENT


def test_a_kind_cannot_change_under_roles(admin):
    body = resource(roles=[role()])
    admin.post("/resources", body)
    path = f"/resources/{body['name']}"
    for change in {"type": "custom"}, {"subtype": "mysql"}, {"subtype": None}:
        answer = admin.put(path, {**body, "roles": None, **change})
        assert answer.status == 400 and "'type'" in answer.message, answer
        assert admin.put(path, {**body, **change, "roles": []}).status == 400
    assert admin.put(path + "?prune_roles=true",
                     {**body, "type": "custom", "subtype": "ssh", "roles": []}).status == 200
    changed = admin.get(path).json
    assert (changed["type"], changed["subtype"], changed["roles"]) == ("custom", "ssh", [])


def test_a_managed_connection_is_immutable(admin, store):
    managed, free = role(), role()
    body = resource(roles=[managed, free])
    admin.post("/resources", body)
    store.ask("UPDATE connection SET managed_by = 'agent' WHERE name = ?", managed["name"])
    path, whole = f"/connections/{managed['name']}", f"/resources/{body['name']}"
    before = admin.get(path).json
    assert before["managed_by"] == "agent"
    refused = [admin.put(path, before), admin.patch(path, {"tags": []}), admin.delete(path),
               admin.put(whole, body), admin.put(whole, {**body, "roles": [managed]}),
               admin.put(whole + "?prune_roles=true", {**body, "roles": [free]}),
               admin.delete(whole + "?cascade=true"), admin.delete(f"/connections/{before['id']}")]
    for answer in refused:
        assert answer.status == 400 and "managed by agent" in answer.message, answer
    assert admin.get(path).json == before
    assert len(admin.get(whole).json["roles"]) == 2
    assert admin.put(whole, {**body, "roles": [free], "env_vars": {"A": "1"}}).status == 200
    [listed] = [c for c in admin.get("/connections?managed_by=agent").json["data"]
                if c["name"] == managed["name"]]
    assert listed["managed_by"] == "agent"
    made = admin.post("/connections", connection(managed_by="me")).json
    assert made["managed_by"] == ""


def test_a_login_that_is_not_attached_is_a_warning(admin):
    secret = {"envvar:REMOTE_URL": b64("https://mcp.example.com/mcp")}
    flow = {"type": "custom", "mcp_oauth_flow_id": unique("flow")}
    mcp = {**flow, "subtype": "mcpproxy", "secret": secret}
    made = admin.post("/connections", connection(**mcp))
    assert made.status == 201 and made.json["mcp_oauth_warning"]
    path = f"/connections/{made.json['name']}"
    for answer in (admin.put(path, {**made.json, **flow}), admin.patch(path, flow)):
        assert answer.status == 200 and answer.json["mcp_oauth_warning"]
        assert flow["mcp_oauth_flow_id"] not in answer.body.decode()
    other = admin.post("/connections", connection(mcp_oauth_flow_id="flow"))
    assert other.status == 201 and "mcp_oauth_warning" in other.json
    body = resource(type="custom", subtype="mcpproxy", roles=[role(**mcp), role()])
    created = admin.post("/resources", body)
    assert created.status == 201
    [warning] = created.json["mcp_oauth_warnings"]
    assert set(warning) == {"name", "warning"} and warning["name"] == body["roles"][0]["name"]
    updated = admin.put(f"/resources/{body['name']}", body)
    assert "mcp_oauth_warnings" not in updated.json
    roles = {r["name"]: r for r in updated.json["roles"]}
    assert roles[warning["name"]]["mcp_oauth_warning"]
    assert "mcp_oauth_warning" not in roles[body["roles"][1]["name"]]
    for read in (admin.get(path), admin.get(f"/resources/{body['name']}"),
                 admin.get(f"/connections/{warning['name']}")):
        text = read.body.decode()
        assert "mcp_oauth_flow_id" not in text and "mcp_oauth_warning" not in text
        assert flow["mcp_oauth_flow_id"] not in text
    plain = make(admin)
    assert "mcp_oauth_warning" not in plain


def test_guard_rails_are_named_by_their_ids(admin, store):
    one, two = (store.add_rule(EMBEDDED_AGENT, "guardrail") for _ in range(2))
    masking = store.add_rule(EMBEDDED_AGENT, "masking")
    made = make(admin, guardrail_rules=[two, one, one])
    path = f"/connections/{made['name']}"
    assert made["guardrail_rules"] == sorted([one, two])
    assert made["effective_features"]["guardrails"] is True
    for bad in str(uuid.uuid4()), masking, "not-a-uuid":
        for answer in (admin.patch(path, {"guardrail_rules": [one, bad]}),
                       admin.put(path, {**made, "guardrail_rules": [bad]}),
                       admin.post("/connections", connection(guardrail_rules=[bad]))):
            assert answer.status == 400 and "'guardrail_rules[" in answer.message, answer
    assert admin.get(path).json == made
    assert admin.patch(path, {"tags": []}).json["guardrail_rules"] == sorted([one, two])
    assert admin.patch(path, {"guardrail_rules": [one]}).json["guardrail_rules"] == [one]
    assert admin.put(path, {**made, "guardrail_rules": None}).json["guardrail_rules"] == []


def test_an_issue_template_must_exist(admin, store):
    template = str(uuid.uuid4())
    store.ask("INSERT INTO issue_template (id, organization_id, name) VALUES (?, ?, ?)", template,
              EMBEDDED_AGENT, unique("template"))
    made = make(admin, jira_issue_template_id=template)
    assert made["effective_features"]["jira_templates"] is True
    answer = admin.post("/connections", connection(jira_issue_template_id=str(uuid.uuid4())))
    assert answer.status == 400 and "'jira_issue_template_id'" in answer.message
    cleared = admin.patch(f"/connections/{made['name']}", {"jira_issue_template_id": ""}).json
    assert cleared["jira_issue_template_id"] == ""
    assert cleared["effective_features"]["jira_templates"] is False


FEATURES = {"guardrail": ["guardrails"], "masking": ["data_masking"],
            "analyzer": ["ai_session_analyzer"], "access_command": ["access_request", "command"],
            "access_jit": ["access_request", "jit"]}


def features_of(connection_json):
    features = dict(connection_json["effective_features"])
    features.update({"access_request." + k: v for k, v in features.pop("access_request").items()})
    return {name for name, value in features.items() if value}


@pytest.mark.parametrize("kind", FEATURES)
@pytest.mark.parametrize("way", ["direct", "attribute"])
def test_a_rule_is_an_effective_feature(admin, store, kind, way):
    body = resource(roles=[role(attributes=[unique("attribute")]), role()])
    made = admin.post("/resources", body).json["roles"]
    [bound] = [r for r in made if r["attributes"]]
    path = f"/connections/{bound['name']}"
    assert features_of(bound) == set()
    rule = store.add_rule(EMBEDDED_AGENT, kind, access_duration_sec=900)
    if way == "direct":
        store.ask("INSERT INTO connection_rule (connection_id, rule_id) VALUES (?, ?)",
                  bound["id"], rule)
    else:
        store.ask("INSERT INTO attribute_rule (attribute_id, rule_id) "
                  "SELECT id, ? FROM attribute WHERE name = ?", rule, bound["attributes"][0])
    expected = {".".join(FEATURES[kind])}
    [nested] = [r for r in admin.get(f"/resources/{body['name']}").json["roles"]
                if r["name"] == bound["name"]]
    [other] = [r for r in admin.get(f"/resources/{body['name']}").json["roles"]
               if r["name"] != bound["name"]]
    for read in nested, admin.get(path).json, admin.patch(path, {"tags": []}).json:
        assert features_of(read) == expected
        assert read.get("jit_access_duration_sec") == (900 if kind == "access_jit" else None)
    assert features_of(other) == set()
    [listed] = admin.get(f"/connections?name={bound['name']}").json["data"]
    assert listed["effective_features"] is None and "jit_access_duration_sec" not in listed
    [listed] = admin.get(f"/resources?name={body['name']}").json["data"]
    assert all(r["effective_features"] is None for r in listed["roles"])
    store.ask("UPDATE rule SET is_active = 0 WHERE id = ?", rule)
    inactive = admin.get(path).json
    assert features_of(inactive) == set() and "jit_access_duration_sec" not in inactive


def test_fields_are_effective_features_and_the_shortest_duration_counts(admin, store):
    made = make(admin, reviewers=["ops"], mandatory_metadata_fields=["ticket"])
    assert features_of(made) == {"access_request.legacy_reviewers", "mandatory_metadata"}
    for seconds in 1800, 600, None, 900:
        rule = store.add_rule(EMBEDDED_AGENT, "access_jit", access_duration_sec=seconds)
        store.ask("INSERT INTO connection_rule (connection_id, rule_id) VALUES (?, ?)",
                  made["id"], rule)
    assert admin.get(f"/connections/{made['name']}").json["jit_access_duration_sec"] == 600


def test_a_switch_hides_inline_values_and_databases(admin):
    boss = new_organization(admin)
    env_vars = {"REGION": "eu", "envvar:HOST": b64("db"), "envvar:KEY": "_aws:prod/db:key"}
    one = role(secret={"envvar:DB": b64("orders"), "envvar:REF": "_aws:a:b"})
    body = resource(env_vars=env_vars, roles=[one])
    assert admin.post("/resources", body).status == 201
    # The gateway's own process resolves no references for an organization that is not listed.
    agent = boss.post("/agents", {"name": unique("agent")}).json["id"]
    assert boss.post("/resources", {**body, "agent_id": agent}).status == 201
    assert boss.get("/orgs/hide-role-info").json == {"hide_role_info": False}
    assert boss.put("/orgs/hide-role-info", {"hide_role_info": True}).json == \
        {"hide_role_info": True}
    hidden = {"REGION": "", "envvar:HOST": "", "envvar:KEY": "_aws:prod/db:key"}
    for _ in range(2):
        read = boss.get(f"/resources/{body['name']}").json
        [listed] = boss.get("/resources").json["data"]
        assert read["env_vars"] == listed["env_vars"] == hidden
        [role_read], [role_listed] = read["roles"], listed["roles"]
        [connection_listed] = boss.get("/connections").json["data"]
        for shown in (role_read, role_listed, connection_listed,
                      boss.get(f"/connections/{one['name']}").json):
            assert shown["default_database"] == ""
            assert shown["secret"] == {"envvar:DB": None, "envvar:REF": "_aws:a:b"}
        # Written back, nothing is lost.
        written = boss.put(f"/resources/{body['name']}", read)
        assert written.status == 200 and written.json["env_vars"] == hidden
    assert boss.put("/orgs/hide-role-info", {"hide_role_info": False}).status == 200
    read = boss.get(f"/resources/{body['name']}").json
    assert read["env_vars"] == env_vars and read["roles"][0]["default_database"] == "orders"
    assert admin.get(f"/resources/{body['name']}").json["env_vars"] == env_vars
    assert boss.put("/orgs/hide-role-info", {}).status == 400


@pytest.mark.parametrize("key", ["a", "A9", "-a", "/a", ".a", "_", "a_", "team/sub.one-two_3",
                                 "a--b", "a" * 64])
def test_a_tag_key_that_is_allowed(admin, key):
    assert make(admin, connection_tags={key: "x"})["connection_tags"] == {key: "x"}


@pytest.mark.parametrize("key", ["", "a-", "a/", "a.", "-", "a b", "a:b", "ä", "a\n", "a" * 65])
def test_a_tag_key_that_is_refused(admin, key):
    answer = admin.post("/connections", connection(connection_tags={key: "x"}))
    assert answer.status == 400 and "'connection_tags" in answer.message, answer


@pytest.mark.parametrize("value", ["a", " ", "a b", "a-_/+@:=.z", ".", "9" * 256])
def test_a_tag_value_that_is_allowed(admin, value):
    made = make(admin, connection_tags={"team": value})
    assert made["connection_tags"] == {"team": value}
    assert admin.get(f"/connections/{made['name']}").json == made


@pytest.mark.parametrize("value", ["", "a" * 257, "a\tb", "a\n", "a,b", "a;b", "ü", "a*", None, 1])
def test_a_tag_value_that_is_refused(admin, value):
    answer = admin.post("/connections", connection(connection_tags={"team": value}))
    assert answer.status == 400 and "'connection_tags.team'" in answer.message, answer


def test_tags_are_listed_and_select(admin):
    boss = new_organization(admin)
    one, two, three = (boss.post("/connections", connection(
        agent_id=boss.get("/userinfo").json["org_id"], connection_tags=tags)).json
        for tags in ({"team": "blue", "env": "a=b"}, {"team": "red"}, {}))
    items = boss.get("/connection-tags").json["items"]
    assert [(t["key"], t["value"]) for t in items] == \
        [("env", "a=b"), ("team", "blue"), ("team", "red")]
    assert all(set(t) == {"id", "key", "value", "created_at", "updated_at"} for t in items)

    def selected(selector):
        answer = boss.get(f"/connections?tag_selector={selector}").json
        assert answer["pages"]["total"] == len(answer["data"])
        return {c["name"] for c in answer["data"]}

    assert selected("team") == {one["name"], two["name"]}
    assert selected("team=blue") == {one["name"]}
    assert selected("env=a=b") == selected("env=a%3Db") == {one["name"]}
    assert selected("team=green") == selected("nothing") == selected("TEAM") == set()
    assert boss.get("/connections?tag_selector=a%20b").status == 400
    boss.patch(f"/connections/{two['name']}", {"connection_tags": {"team": "blue"}})
    assert selected("team=blue") == {one["name"], two["name"]} and selected("team=red") == set()
    boss.patch(f"/connections/{one['name']}", {"connection_tags": {}})
    boss.delete(f"/connections/{two['name']}")
    assert boss.get("/connection-tags").json == {"items": []}
    assert boss.get(f"/connections/{three['name']}").json["connection_tags"] == {}


def test_filters_of_the_list(admin, store):
    boss = new_organization(admin)
    home = boss.get("/userinfo").json["org_id"]
    boss.post("/connections", connection("first", agent_id=home, attributes=["red"]))
    boss.post("/connections", connection("second", agent_id=home, type="custom", subtype="ssh",
                                         resource_name="box"))
    for query, names in {
            "": ["first", "second"], "search=FIR": ["first"], "search=box": ["second"],
            "search=ONLINE": ["first", "second"], "search=%25": [], "search=_": [],
            "name=first": ["first"], "name=First": [], "type=custom": ["second"],
            "subtype=ssh": ["second"], "resource_name=box": ["second"], "attribute=red": ["first"],
            f"agent_id={home}": ["first", "second"], "agent_id=" + str(uuid.uuid4()): [],
            "managed_by=me": [], "page_size=1": ["first"], "page_size=1&page=2": ["second"],
            "type=custom&search=first": []}.items():
        answer = boss.get(f"/connections?{query}")
        assert answer.status == 200, query
        assert [c["name"] for c in answer.json["data"]] == names, query
    for query in "page=0", "page_size=101", "page=x", "agent_id=x", "page_size=0":
        assert boss.get(f"/connections?{query}").status == 400, query


def test_what_was_read_moves_to_the_resources_new_agent(admin, store):
    agent = add_agent(store)
    body = resource(roles=[role()])
    admin.post("/resources", body)
    read = admin.get(f"/resources/{body['name']}").json
    answer = admin.put(f"/resources/{body['name']}", {**read, "agent_id": agent})
    assert answer.status == 200, answer
    assert answer.json["roles"][0]["agent_id"] == agent
