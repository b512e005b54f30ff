# SPDX-License-Identifier: MIT
"""Organizations know nothing of each other: by no name, no id, no route."""
import re
import uuid

import pytest

from api import (PASSWORD, Api, b64, connection, described_routes, login, resource, role)
from store import Store, new_organization

TABLES = ["resource", "connection", "tag", "attribute", "rule", "user_account", "user_group",
          "group_member", "api_key", "connection_access", "attribute_access", "agent",
          "service_account", "machine_identity", "credential", "session", "masking_key", "review",
          "notification_sink", "notification_event", "notification_delivery", "ssh_key",
          "saved_query", "ssh_authority"]


class Full:
    """An organization with one of everything, all of the same names in each."""

    def __init__(self, admin, word):
        self.boss = boss = new_organization(admin)
        self.word = word
        self.store = Store(admin.gateway)
        self.home = home = boss.get("/userinfo").json["org_id"]
        self.rule = self.store.add_rule(home, "guardrail", name=f"rule-{word}")
        self.template = str(uuid.uuid4())
        self.store.ask("INSERT INTO issue_template (id, organization_id, name) VALUES (?, ?, 'x')",
                       self.template, home)
        answers = [
            boss.post("/users/groups", {"name": f"group-{word}"}),
            boss.post("/resources", resource(
                f"box-{word}", agent_id=home, env_vars={"A": f"value-{word}"},
                roles=[role(f"role-{word}", secret={"envvar:DB": b64(f"db-{word}")})])),
            boss.post("/connections", connection(
                f"connection-{word}", agent_id=home, connection_tags={"team": f"tag-{word}"},
                guardrail_rules=[self.rule], attributes=[f"attribute-{word}"])),
            boss.put(f"/connections/role-{word}/access", {"groups": [f"group-{word}"]}),
            boss.post("/users", {"email": f"{word}@example.com", "password": PASSWORD,
                                 "groups": [f"group-{word}"]}),
            boss.post("/api-keys", {"name": f"key-{word}", "groups": [f"group-{word}"]}),
            boss.post("/serviceaccounts", {"subject": f"client-{word}", "status": "active",
                                           "groups": [f"group-{word}"]}),
            boss.post("/machineidentities", {
                "name": f"machine-{word}", "connection_names": [f"role-{word}"],
                "attributes": [f"attribute-{word}"]}),
            boss.post("/agents", {"name": f"agent-{word}"}),
            boss.post(f"/connections/connection-{word}/credentials", {}),
            boss.post("/datamasking-rules", {
                "name": f"masking-{word}", "columns": [{"name": "a.b"}],
                "attributes": [f"attribute-{word}"]}),
            boss.post("/access-requests/rules", {
                "name": f"access-{word}", "access_type": "command",
                "connection_names": [f"connection-{word}"],
                "reviewers_groups": [f"group-{word}"]}),
            boss.post("/sessions", {"connection": f"connection-{word}", "script": "x"}),
            boss.post("/notifications/sinks", {
                "name": f"sink-{word}", "type": "slack", "url": "https://hooks.example.com/x",
                "events": ["agent.gone"]})]
        assert all(answer.status in (200, 201) for answer in answers), answers
        self.session = self.store.add_session(
            home, connection_name=f"connection-{word}", user_id=boss.get("/userinfo").json["id"])
        self.delivery = self.add_delivery(answers[13].json["id"])
        self.ssh_key = self.add_ssh_key(answers[4].json["id"])
        self.names = {
            "sinks": [f"sink-{word}", answers[13].json["id"]],
            "deliveries": [self.delivery],
            "ssh-keys": [self.ssh_key],
            "ssh-authorities": [self.add_ssh_authority()],
            "saved-queries": [self.add_saved_query(answers[2].json["id"])],
            "credentials": [answers[9].json["id"]],
            "datamasking-rules": [answers[10].json["id"]],
            "sessions": [self.session],
            "resources": [f"box-{word}", answers[1].json["id"]],
            "connections": [f"role-{word}", f"connection-{word}", answers[2].json["id"],
                            answers[1].json["roles"][0]["id"]],
            "attributes": [f"attribute-{word}"],
            "groups": [f"group-{word}"],
            "users": [f"{word}@example.com", answers[4].json["id"]],
            "api-keys": [f"key-{word}", answers[5].json["id"]],
            "serviceaccounts": [f"client-{word}", answers[6].json["id"]],
            "machineidentities": [f"machine-{word}", answers[7].json["id"]],
            "agents": [f"agent-{word}", answers[8].json["id"], home],
            "guardrails": [f"rule-{word}", self.rule],
            "access-requests": [f"access-{word}"],
            "reviews": [answers[12].json["review_id"], answers[12].json["session_id"]],
        }

    def add_delivery(self, sink):
        """One that was given up."""
        event, delivery = str(uuid.uuid4()), str(uuid.uuid4())
        self.store.ask("INSERT INTO notification_event VALUES (?, ?, 'agent.gone', '', "
                       "'gone', '', '', 1)", event, self.home)
        self.store.ask("INSERT INTO notification_delivery VALUES (?, ?, ?, ?, 'dead', 1, ?, '', 0, "
                       "500, 'no', 1, 1, '', '')", delivery, self.home, event, sink, 4 * 10**15)
        return delivery

    def add_ssh_key(self, user):
        key = str(uuid.uuid4())
        self.store.ask("INSERT INTO ssh_key VALUES (?, ?, ?, 'x', 'ssh-ed25519', 256, '', '', ?, 1, 0)",
                       key, self.home, user, key)
        return key

    def add_ssh_authority(self):
        authority = str(uuid.uuid4())
        self.store.ask("INSERT INTO ssh_authority VALUES (?, ?, 'x', '', 'the same in each', 1)", authority, self.home)
        return authority

    def add_saved_query(self, connection):
        """One that is shared; keys, as this admin is one, save none."""
        query = str(uuid.uuid4())
        self.store.ask("INSERT INTO saved_query VALUES (?, ?, ?, NULL, ?, 'x', 1, 1, 1)",
                       query, self.home, connection, f"query-{self.word}")
        return query

    def rows(self):
        found = {}
        for table in TABLES:
            found[table] = sorted(self.store.ask(
                f"SELECT * FROM {table} WHERE organization_id = ?", self.home))
        for row in found["api_key"]:
            del row[10:]  # when it was last used
        return found


@pytest.fixture(scope="module")
def two(admin):
    return Full(admin, "first"), Full(admin, "theirs")


def calls_by_name(other):
    """Every route with a name in its path; {} stands for it."""
    email = f"{other.word}@example.com"
    routes = {
        "resources": [("GET", "/resources/{}", None), ("PUT", "/resources/{}", resource("box")),
                      ("DELETE", "/resources/{}?cascade=true", None)],
        "connections": [("GET", "/connections/{}", None), ("PUT", "/connections/{}", connection()),
                        ("PATCH", "/connections/{}", {"tags": []}),
                        ("DELETE", "/connections/{}", None),
                        ("GET", "/connections/{}/access", None),
                        ("PUT", "/connections/{}/access", {"groups": []}),
                        ("GET", "/connections/{}/test", None),
                        ("PUT", "/connections/{}/host-key", {"fingerprint": "SHA256:" + 43 * "a"}),
                        ("GET", "/connections/{}/databases", None),
                        ("GET", "/connections/{}/controls", None),
                        ("GET", "/connections/{}/tables", None),
                        ("GET", "/connections/{}/columns?table=t", None),
                        ("GET", "/connections/{}/datamasking-rules", None),
                        ("PUT", "/connections/{}/datamasking-rules", []),
                        ("POST", "/connections/{}/credentials", {}),
                        ("GET", "/connections/{}/credentials", None),
                        ("GET", "/connections/{}/tunnel", None),
                        ("GET", "/connections/{}/terminal", None),
                        ("POST", "/connections/{}/terminal", {})],
        "credentials": [("POST", "/connections/{}/credentials/{}/revoke", None)],
        "sessions": [("GET", "/sessions/{}", None), ("POST", "/sessions/{}/kill", None),
                     ("PATCH", "/sessions/{}/metadata", {"metadata": {}}),
                     ("GET", "/sessions/{}?expand=event_stream", None),
                     ("GET", "/sessions/{}/stream", None), ("GET", "/sessions/{}/verify", None),
                     ("GET", "/sessions/{}/result", None), ("POST", "/sessions/{}/exec", None),
                     ("PUT", "/sessions/{}/review", {"status": "APPROVED"}),
                     ("GET", "/sessions/{}/pages/{}", None),
                     ("GET", "/sessions/{}/download", None)],
        "datamasking-rules": [("GET", "/datamasking-rules/{}", None),
                              ("PUT", "/datamasking-rules/{}", {
                                  "name": "x", "columns": [{"name": "a"}]}),
                              ("DELETE", "/datamasking-rules/{}", None)],
        "attributes": [("GET", "/attributes/{}", None), ("PUT", "/attributes/{}", {"name": "x"}),
                       ("DELETE", "/attributes/{}", None)],
        "groups": [("DELETE", "/users/groups/{}", None)],
        "users": [("GET", "/users/{}", None), ("PUT", "/users/{}", {"email": email}),
                  ("PATCH", "/users/{}", {"name": "x"}),
                  ("DELETE", "/users/{}", None), ("DELETE", "/users/{}/second-factor", None),
                  ("POST", "/users/{}/invitation", None),
                  ("DELETE", "/users/{}/invitation", None), ("GET", "/users/{}/ssh-keys", None),
                  ("DELETE", "/users/{}/ssh-keys/{}", None)],
        "saved-queries": [("GET", "/saved-queries/{}", None),
                          ("PUT", "/saved-queries/{}", {
                              "name": "x", "connection": f"role-{other.word}", "script": "x"}),
                          ("DELETE", "/saved-queries/{}", None)],
        "ssh-keys": [("DELETE", "/users/me/ssh-keys/{}", None)],
        "ssh-authorities": [("DELETE", "/ssh/authorities/{}", None)],
        "api-keys": [("GET", "/api-keys/{}", None), ("PUT", "/api-keys/{}", {"name": "x"}),
                     ("DELETE", "/api-keys/{}", None), ("POST", "/api-keys/{}/reactivate", None)],
        "serviceaccounts": [("GET", "/serviceaccounts/{}", None),
                            ("PUT", "/serviceaccounts/{}", {"status": "inactive"}),
                            ("DELETE", "/serviceaccounts/{}", None)],
        "machineidentities": [("GET", "/machineidentities/{}", None),
                              ("PUT", "/machineidentities/{}", {"name": "x"}),
                              ("DELETE", "/machineidentities/{}", None),
                              ("GET", "/machineidentities/{}/credentials", None),
                              ("POST", "/machineidentities/{}/credentials/{}/rotate", None)],
        "access-requests": [("GET", "/access-requests/rules/{}", None),
                            ("PUT", "/access-requests/rules/{}", {
                                "name": f"access-{other.word}", "access_type": "jit",
                                "reviewers_groups": ["admin"]}),
                            ("DELETE", "/access-requests/rules/{}", None)],
        "reviews": [("GET", "/reviews/{}", None), ("GET", "/reviews/{}/script", None),
                    ("GET", "/reviews/{}/estimate", None),
                    ("GET", "/reviews/{}/sample", None),
                    ("POST", "/reviews/{}/opened", {"link": "x"}),
                    ("PUT", "/reviews/{}", {"status": "APPROVED"}),
                    ("POST", "/reviews/{}/comments", {"comment": "x"})],
        "sinks": [("GET", "/notifications/sinks/{}", None),
                  ("PUT", "/notifications/sinks/{}", {
                      "name": "x", "type": "slack", "events": ["agent.gone"]}),
                  ("DELETE", "/notifications/sinks/{}", None),
                  ("POST", "/notifications/sinks/{}/test", None),
                  ("POST", "/notifications/sinks/{}/secret", None),
                  ("POST", "/notifications/sinks/{}/replay", None)],
        "deliveries": [("GET", "/notifications/deliveries/{}", None),
                       ("POST", "/notifications/deliveries/{}/replay", None)],
        "guardrails": [("GET", "/guardrails/{}", None), ("PUT", "/guardrails/{}", {"name": "x"}),
                       ("DELETE", "/guardrails/{}", None),
                       ("POST", "/guardrails/{}/test", {})],
        "agents": [("GET", "/agents/{}", None), ("DELETE", "/agents/{}", None),
                   ("DELETE", "/agents/{}?force=true", None)],
    }
    return [(name, *call) for noun, names in other.names.items() for name in names
            for call in routes[noun]]


def calls_by_body(mine, other):
    """Bodies that name what is the other's."""
    ids = {"agent_id": mine.home}
    yield "POST", "/resources", resource(agent_id=other.home)
    yield "POST", "/resources", resource(**ids, roles=[role(agent_id=other.home)])
    yield "POST", "/resources", resource(agent_id=other.names["agents"][1])
    yield "POST", "/connections", connection(agent_id=other.home)
    yield "POST", "/connections", connection(**ids, guardrail_rules=[other.rule])
    yield "POST", "/connections", connection(**ids, jira_issue_template_id=other.template)
    yield "PATCH", f"/connections/role-{mine.word}", {"agent_id": other.home}
    yield "PATCH", f"/connections/role-{mine.word}", {"guardrail_rules": [other.rule]}
    yield "PUT", f"/connections/role-{mine.word}/access", {"groups": [f"group-{other.word}"]}
    for member, name in (("connection_names", f"role-{other.word}"),
                         ("guardrail_rule_names", f"rule-{other.word}"),
                         ("datamasking_rule_names", f"masking-{other.word}"),
                         ("access_control_group_names", f"group-{other.word}")):
        yield "POST", "/attributes", {"name": "mine", member: [name]}
        yield "PUT", f"/attributes/attribute-{mine.word}", {"name": "mine", member: [name]}
    rule = {"name": "mine", "columns": [{"name": "a"}]}
    own = mine.names["datamasking-rules"][0]
    for member, name in (("connection_ids", other.names["connections"][2]),
                         ("attributes", f"attribute-{other.word}")):
        yield "POST", "/datamasking-rules", {**rule, member: [name]}
        yield "PUT", f"/datamasking-rules/{own}", {
            **rule, "name": f"masking-{mine.word}", member: [name]}
    yield "PUT", f"/connections/role-{mine.word}/datamasking-rules", [
        {"rule_id": other.names["datamasking-rules"][0], "status": "active"}]
    for member, name in (("connection_ids", other.names["connections"][2]),
                         ("attributes", f"attribute-{other.word}")):
        yield "POST", "/guardrails", {"name": "mine", member: [name]}
        yield "PUT", f"/guardrails/rule-{mine.word}", {"name": "mine", member: [name]}
    yield "POST", "/guardrail-trials", {"rule": {"name": "mine",
                                                 "connection_names": [f"role-{other.word}"]}}
    for what in "attach", "detach":
        yield "POST", f"/rulepacks/pci/{what}", {"connection_names": [f"role-{other.word}"]}
        yield "POST", f"/rulepacks/pci/{what}", {"connection_ids": other.names["connections"][2:]}
    for member, name in (("connection_names", f"role-{other.word}"),
                         ("attributes", f"attribute-{other.word}")):
        yield "POST", "/machineidentities", {"name": "mine", member: [name]}
        yield "PUT", f"/machineidentities/machine-{mine.word}", {"name": "mine", member: [name]}


def test_what_is_another_organizations_is_not_there(two):
    mine, theirs = two
    before = mine.rows(), theirs.rows()
    for name, method, path, body in calls_by_name(theirs):
        answer = mine.boss.call(method, path.format(name, name), body)
        missing = mine.boss.call(method, path.format("nothing", "nothing"), body)
        assert answer.status == missing.status == 404, (method, path, name, answer)
        assert answer.body == missing.body.replace(b"nothing", name.encode()), (method, path)
    for method, path, body in calls_by_body(mine, theirs):
        answer = mine.boss.call(method, path, body)
        assert answer.status == 400 and "there is no" in answer.message, (method, path, answer)
    assert (mine.rows(), theirs.rows()) == before


def test_the_calls_are_all_routes_with_a_name(admin, two):
    called = {f"{method} {path.partition('?')[0]}" for _, method, path, _ in calls_by_name(two[1])}
    assert called == {re.sub(r"\{\w+\}", "{}", route) for route in described_routes(admin.gateway)
                      if "{" in route and "/rulepacks/" not in route}  # those are everybody's


def test_lists_hold_the_own_alone(admin, two):
    reads = [route.removeprefix("GET ") for route in described_routes(admin.gateway)
             if route.startswith("GET ") and "{" not in route and "openapi" not in route
             and route not in ("GET /agent-link", "GET /device")]  # no people's, and a code's
    assert "/resources" in reads and "/audit/logs" in reads
    for mine, theirs in two, two[::-1]:
        ids = [theirs.home, theirs.rule, *(name for names in theirs.names.values()
                                           for name in names if len(name) == 36)]
        for caller in (mine.boss, mine.boss.key("auditor"), mine.boss.key(f"group-{mine.word}")):
            for path in reads:
                answer = caller.get(path)
                if answer.status == 403 or path.startswith("/audit/logs"):
                    continue
                text = answer.body.decode()
                assert answer.status == 200 and not re.search(rf"\w-{theirs.word}\b", text), path
                assert not any(one in text for one in ids), path
        for path in "/audit/logs?page_size=100", "/audit/logs/export":
            text = mine.boss.get(path).body.decode()
            assert f'"org_id":"{mine.home}"' in text and f'"org_id":"{theirs.home}"' not in text


def test_totals_count_the_own_alone(two):
    for full in two:
        assert full.boss.get("/resources").json["pages"]["total"] == 2
        assert full.boss.get("/connections").json["pages"]["total"] == 2
        assert full.boss.get("/attributes").json["pages"]["total"] == 1
        assert [t["value"] for t in full.boss.get("/connection-tags").json["items"]] == \
            [f"tag-{full.word}"]


def test_the_same_names_can_be_in_each(two):
    for full in two:
        created = full.boss.post("/resources", resource(
            "common", agent_id=full.home, env_vars={"A": full.word}, roles=[
                role("common-role", attributes=["common"], secret={"envvar:DB": b64(full.word)})]))
        assert created.status == 201, created
        assert full.boss.post("/users/groups", {"name": "common"}).status == 201
        assert full.boss.post("/users", {"email": "c@example.com", "password":
                                         f"{PASSWORD} {full.word}"}).status == 201
        assert full.boss.post("/api-keys", {"name": "common"}).status == 201
        assert full.boss.post("/serviceaccounts", {"subject": "common", "status": "active"}
                              ).status == 201
        assert full.boss.post("/machineidentities", {"name": "common", "attributes": ["common"]}
                              ).status == 201
        assert full.boss.post("/agents", {"name": "common"}).status == 201
    for full in two:
        read = full.boss.get("/resources/common").json
        assert read["env_vars"] == {"A": full.word}
        assert read["roles"][0]["default_database"] == full.word
    # A rule of one organization opens nothing in the other, though the groups are called alike.
    mine, theirs = two
    for full in two:
        assert full.boss.put("/orgs/default-access", {"default_access": "nobody"}).status == 200
    mine.boss.put("/connections/common-role/access", {"groups": ["common"]})
    assert [c["name"] for c in mine.boss.key("common").get("/connections").json["data"]] == \
        ["common-role"]
    assert theirs.boss.key("common").get("/connections").json["data"] == []
    assert mine.boss.delete("/resources/common?cascade=true").status == 204
    assert mine.boss.delete("/attributes/common").status == 204
    assert theirs.boss.get("/resources/common").status == 200
    assert theirs.boss.get("/attributes/common").json["connection_names"] == ["common-role"]
    assert mine.boss.get("/machineidentities/common").json["attributes"] == []
    assert theirs.boss.get("/machineidentities/common").json["attributes"] == ["common"]
    theirs.boss.delete("/resources/common?cascade=true")


def test_people_sign_in_to_their_organization(admin, two):
    gateway = admin.gateway
    for full in two:
        email = f"{full.word}@example.com"
        caller = login(gateway, email)
        assert caller.get("/userinfo").json["org_id"] == full.home
        name = caller.get("/userinfo").json["org_name"]
        for other in "default", "nowhere":
            answer = Api(gateway).post("/localauth/login", {
                "email": email, "password": PASSWORD, "organization": other})
            assert answer.status == 401
        answer = Api(gateway).post("/localauth/login", {
            "email": email, "password": PASSWORD, "organization": name})
        assert answer.status == 200


def test_organizations_are_made_through_the_control_socket_alone(admin):
    for method, path in (("GET", "/../control/organizations"), ("POST", "/organizations"),
                         ("GET", "/orgs")):
        assert admin.call(method, path, {"name": "x"} if method == "POST" else None).status == 404
    status, _, _ = admin.gateway.get("/control/organizations", headers={
        "Authorization": f"Bearer {admin.token}"})
    assert status == 404
    for name in "", None, "default", "a" * 300, 1:
        status, answer = admin.gateway.control("POST", "/control/organizations", {"name": name})
        assert status in (400, 409) and set(answer) == {"message"}, name
    status, answer = admin.gateway.control("GET", "/control/organizations")
    assert status == 200 and "default" in [o["name"] for o in answer["data"]]
