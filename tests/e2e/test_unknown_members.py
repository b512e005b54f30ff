# SPDX-License-Identifier: MIT
"""What a request says and nothing here knows is refused by its path, with the name that was meant;
what is known and does nothing is told in 'warnings'."""
import json
import re

import pytest

from api import connection, resource, role, unique

GUARD = {"type": "sql", "operations": ["delete"], "without_where": True}
MASK = {"name": "mask", "columns": [{"name": "public.people.email"}],
        "custom_entity_types": [{"name": "EMP", "regex": "E[0-9]+", "score": 0.8}],
        "supported_entity_types": [{"name": "PII", "entity_types": ["EMAIL_ADDRESS"]}]}


def rail(**changes):
    return {"name": "rail", "input": {"rules": [{**GUARD, **changes}]}}


# method, path, body, what the refusal says
UNKNOWN = [
    ("POST", "/guardrails", {**rail(), "connections": []},
     "'connections': did you mean 'connection_ids'?"),
    ("POST", "/guardrails", rail(without_were=True),
     "'input.rules[0].without_were': did you mean 'without_where'?"),
    ("POST", "/guardrails", rail(actoin="warn"),
     "'input.rules[0].actoin': did you mean 'action'?"),
    ("POST", "/guardrails", rail(regex="x"),
     "'input.rules[0].regex': did you mean 'pattern_regex'?"),
    ("POST", "/guardrails", rail(relations=[{"name": "a", "acess": "read"}]),
     "'input.rules[0].relations[0].acess': did you mean 'access'?"),
    ("POST", "/guardrails", {"name": "rail", "input": {"rule": []}},
     "'input.rule': did you mean 'rules'?"),
    ("POST", "/guardrails", {"name": "rail", "zzzzzzzz": 1}, "'zzzzzzzz' is not known here"),
    ("POST", "/guardrails", {"name": "rail", "Input": {}}, "'Input': did you mean 'input'?"),
    ("POST", "/guardrails", {"name": "rail", "": 1}, "'' is not known here"),
    ("POST", "/guardrails", {"name": "rail", "x" * 5000: 1}, "'xxxx"),
    ("PUT", "/guardrails/none", {**rail(), "disabled": True}, "'disabled' is not known here"),
    ("POST", "/guardrails/none/test", {"rules": GUARD}, "'rules': did you mean 'rule'?"),
    ("POST", "/datamasking-rules", {**MASK, "colums": []}, "'colums': did you mean 'columns'?"),
    ("POST", "/datamasking-rules", {**MASK, "columns": [{"name": "a.b", "stratgy": {}}]},
     "'columns[0].stratgy': did you mean 'strategy'?"),
    ("POST", "/datamasking-rules", {**MASK, "strategy": {"type": "redact", "keep_las": 1}},
     "'strategy.keep_las': did you mean 'keep_last'?"),
    ("PUT", "/connections/none/datamasking-rules", [{"rule_id": "x", "satus": "active"}],
     "'[0].satus': did you mean 'status'?"),
    ("POST", "/rulepacks/pci/attach", {"connections": ["x"]},
     "'connections': did you mean 'connection_ids'?"),
    ("POST", "/resources", {**resource(), "env": {}}, "'env' is not known here"),
    ("POST", "/resources", {**resource(), "envvars": {}}, "'envvars': did you mean 'env_vars'?"),
    ("POST", "/resources", resource(roles=[role(), role(secrets={})]),
     "'roles[1].secrets': did you mean 'secret'?"),
    ("PUT", "/resources/none", {**resource(), "role": []}, "'role': did you mean 'roles'?"),
    ("POST", "/connections", connection(secrets={}), "'secrets': did you mean 'secret'?"),
    ("PATCH", "/connections/none", {"reviewer": []}, "'reviewer': did you mean 'reviewers'?"),
    ("PUT", "/connections/none/access", {"group": []}, "'group': did you mean 'groups'?"),
    ("POST", "/attributes", {"name": "a", "guardrail_rules": []}, "did you mean"),
    ("POST", "/machineidentities", {"name": "a", "conection_names": []},
     "'conection_names': did you mean 'connection_names'?"),
    ("POST", "/serviceaccounts", {"subject": "a", "status": "active", "gruops": []},
     "'gruops': did you mean 'groups'?"),
    ("POST", "/agents", {"name": "an-agent", "mod": "standard"}, "'mod': did you mean 'mode'?"),
    ("POST", "/users", {"email": "a@b.example", "group": []}, "'group': did you mean 'groups'?"),
    ("POST", "/users/groups", {"name": "a", "nme": 1}, "'nme': did you mean 'name'?"),
    ("POST", "/api-keys", {"name": "a", "expire_at": None},
     "'expire_at': did you mean 'expires_at'?"),
    ("PUT", "/orgs/hide-role-info", {"hide_role_info": True, "hide": 1},
     "'hide': did you mean 'hide_role_info'?"),
    ("PUT", "/serverconfig/auth", {"auth_method": "local", "oidc": {}},
     "'oidc': did you mean 'oidc_config'?"),
    ("PUT", "/serverconfig/auth", {"auth_method": "oidc", "oidc_config": {"issuer": "x"}},
     "'oidc_config.issuer': did you mean 'issuer_url'?"),
    ("POST", "/localauth/login", {"email": "a@b.example", "pasword": "x"},
     "'pasword': did you mean 'password'?"),
    ("PATCH", "/sessions/none/metadata", {"meta": {}}, "'meta': did you mean 'metadata'?"),
]


@pytest.mark.parametrize("method, path, body, message", UNKNOWN,
                         ids=[f"{row[0]} {row[1]} {row[3][:40]}" for row in UNKNOWN])
def test_an_unknown_member_is_refused(admin, method, path, body, message):
    answer = admin.call(method, path, body)
    assert answer.status == 400 and message in answer.message, answer
    assert len(answer.message) < 500


def test_every_object_of_a_request_is_closed_in_the_description(admin):
    """And the other way round: one more member is refused by each route with a body."""
    described = admin.get("/openapi.json").json
    schemas = described["components"]["schemas"]
    requests = set()
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            if "requestBody" not in operation:
                continue
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            body = [{"zzzzzzzz": 1}] if "items" in schema else {"zzzzzzzz": 1}
            requests.add(re.search(r"schemas/(\w+)", json.dumps(schema)).group(1))
            if path in ("/localauth/register", "/localauth/second-factor/remove"):
                continue  # it is over before the body is looked at
            answer = admin.call(method.upper(), re.sub(r"\{[^}]*\}", "none", path), body)
            known = answer.status in (400, 404, 409), (path, answer)
            assert known[0], known
            if answer.status == 400:
                assert "zzzzzzzz' is not known here" in answer.message, (path, answer)
    assert requests
    for name, schema in schemas.items():
        if name in requests:
            assert schema["additionalProperties"] is False, name


def test_members_that_do_nothing_are_told(admin):
    made = admin.post("/connections", connection(redact_types=["EMAIL_ADDRESS"]))
    assert made.status == 201, made
    assert made.json["warnings"] == [
        "'redact_types' hides nothing: masking rules do (/datamasking-rules)"]
    path = f"/connections/{made.json['name']}"
    quiet = admin.patch(path, {"redact_types": []})
    assert quiet.status == 200 and "warnings" not in quiet.json, quiet
    assert "warnings" not in admin.get(path).json
    config = admin.put("/serverconfig/auth", {
        "auth_method": "local", "rollout_api_key": "xapi-1", "api_key": None,
        "saml_config": {"idp_metadata_url": "https://idp.example"}})
    assert config.status == 200, config
    assert [line.split("'")[1] for line in config.json["warnings"]] == [
        "rollout_api_key", "saml_config"]


def test_roles_go_back_as_they_were_shown(admin):
    body = resource(roles=[role(), role()])
    path = f"/resources/{body['name']}"
    assert admin.post("/resources", body).status == 201
    shown = admin.get(path).json
    again = admin.put(path, shown)
    assert again.status == 200 and "warnings" not in again.json, again
    shown["roles"][1]["access_mode_exec"] = "disabled"
    shown["roles"][1]["tags"] = ["x"]
    answer = admin.put(path, shown)
    assert answer.status == 200 and answer.json["warnings"] == [
        f"'roles[1].{name}' was not changed: PUT or PATCH of the connection itself does that"
        for name in ("access_mode_exec", "tags")], answer


def test_connections_are_named_either_way(admin):
    one, two = (admin.post("/connections", connection()).json for _ in range(2))
    both = {"connection_ids": [one["id"].upper()], "connection_names": [two["name"], one["name"]]}
    ids, names = sorted([one["id"], two["id"]]), sorted([one["name"], two["name"]])
    for path, body, kept, wanted in (
            ("/guardrails", {**rail(), "name": unique("rail")}, "connection_ids", ids),
            ("/datamasking-rules", {**MASK, "name": unique("mask")}, "connection_ids", ids),
            ("/attributes", {"name": unique("attribute")}, "connection_names", names),
            ("/access-requests/rules", {"name": unique("access"), "access_type": "jit",
                                        "reviewers_groups": ["admin"]}, "connection_names", names),
            ("/machineidentities", {"name": unique("robot")}, "connection_names", names)):
        made = admin.post(path, {**body, **both})
        if path == "/machineidentities" and made.status == 400:
            continue  # there is no door for native clients here
        assert made.status == 201 and sorted(made.json[kept]) == wanted, (path, made)
        assert not {"connection_ids", "connection_names"} - {kept} & set(made.json), made
        name = made.json["id"] if path == "/datamasking-rules" else body["name"]
        put = admin.put(f"{path}/{name}", {**body, "connection_names": [two["name"]]})
        assert put.status == 200, put
        assert put.json[kept] == [two["id"] if kept == "connection_ids" else two["name"]], put
        put = admin.put(f"{path}/{name}", {**body, "connection_ids": [one["id"]]})
        assert put.json[kept] == [one["id"] if kept == "connection_ids" else one["name"]], put
        for bad in {"connection_names": ["nothing"]}, {"connection_names": [one["id"]]}, \
                {"connection_ids": ["01900000-0000-7000-8000-00000000dead"]}:
            answer = admin.put(f"{path}/{name}", {**body, **bad})
            assert answer.status == 400 and list(bad)[0] in answer.message, (path, answer)


def test_durations_and_approvals_are_integers(admin):
    made = admin.post("/connections", connection())
    assert (made.json["access_max_duration"], made.json["min_review_approvals"]) == (0, 0)
    path = f"/connections/{made.json['name']}"
    wanted = {"access_max_duration": 60, "min_review_approvals": 2}
    for body, then in ((wanted, (60, 2)), ({}, (60, 2)), ({"access_max_duration": 0}, (0, 2)),
                       ({"access_max_duration": None, "min_review_approvals": None}, (0, 0))):
        answer = admin.patch(path, body)
        assert answer.status == 200, answer
        for shown in answer.json, admin.get(path).json:
            assert (shown["access_max_duration"], shown["min_review_approvals"]) == then
    listed = admin.get("/connections?page_size=100").json["data"]
    assert all(isinstance(row[name], int) for row in listed for name in wanted)
    read = admin.get(path).json
    assert admin.put(path, read).status == 200
