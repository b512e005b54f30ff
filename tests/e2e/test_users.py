# SPDX-License-Identifier: MIT
"""People as admins manage them: a change touches what it names and nothing else."""
import pytest

from api import PASSWORD, Api, login, unique
from store import new_organization


@pytest.fixture
def boss(admin):
    return new_organization(admin)


def make(boss, **members):
    answer = boss.post("/users", {"email": f"{unique('user')}@example.com", "name": "Ann",
                                  "slack_id": "U1", "picture": "https://example.com/a.png",
                                  "groups": ["dev", "ops"], "status": "active", **members})
    assert answer.status == 201, answer
    return answer.json


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_what_is_not_named_stays(boss, method):
    user = make(boss)
    path = f"/users/{user['id']}"
    required = {"email": user["email"]} if method == "PUT" else {}
    for change in ({}, {"name": "Bob"}, {"groups": ["dev"]}, {"groups": None}, {"picture": ""},
                   {"slack_id": "U2"}, {"name": None}, {"status": "inactive"}, {"status": None},
                   {"groups": []}, {"name": "Cy", "status": "active", "groups": ["x"]}):
        for name, value in change.items():
            if value is not None:
                user[name] = value
            elif method == "PATCH" and name != "status":  # null takes away, as in merge patches
                user[name] = [] if name == "groups" else ""
        answer = boss.call(method, path, {**required, **change})
        assert answer.status == 200 and answer.json == user, (change, answer)
        assert boss.get(path).json == user


def test_a_patch_needs_nothing(boss):
    user = make(boss)
    path = f"/users/{user['email']}"
    assert boss.put(path, {}).status == 400
    assert boss.patch(path, {"email": user["email"].upper()}).json == user
    answer = boss.patch(path, {"email": "other@example.com"})
    assert answer.status == 400 and "'email' cannot change" in answer.message
    for body in {"groups": "dev"}, {"status": "gone"}, {"name": "a\nb"}, {"password": "short"}, []:
        assert boss.patch(path, body).status == 400, body
    assert boss.get(path).json == user
    assert boss.patch("/users/nobody@example.com", {}).status == 404


def test_a_patched_password_signs_in_and_signs_out(boss):
    user = make(boss, password=PASSWORD)
    before = login(boss.gateway, user["email"])
    new = "another lamp under eight rivers"
    assert boss.patch(f"/users/{user['id']}", {"password": new}).json == user
    assert before.get("/userinfo").status == 401
    assert login(boss.gateway, user["email"], new).get("/userinfo").status == 200
    assert Api(boss.gateway).post("/localauth/login", {
        "email": user["email"], "password": PASSWORD}).status == 401


def test_the_last_admin_stays_one(admin):
    boss = new_organization(admin)
    [root] = [user for user in boss.get("/users").json if "admin" in user["groups"]]
    for change in {"groups": []}, {"groups": ["dev"]}, {"status": "inactive"}:
        for method in "PUT", "PATCH":
            answer = boss.call(method, f"/users/{root['id']}", {"email": root["email"], **change})
            assert answer.status == 400 and "last active admin" in answer.message
    assert boss.patch(f"/users/{root['id']}", {"name": "Root"}).json["groups"] == ["admin"]


def test_members_list_neither_people_nor_agents(boss):
    user = make(boss, password=PASSWORD)
    member, auditor = login(boss.gateway, user["email"]), boss.key("auditor")
    for path in ("/users", f"/users/{user['id']}", "/users/nobody", "/agents", "/agents/local",
                 "/agents/nobody"):
        answer = member.get(path)
        assert answer.status == 403 and "admin or an auditor" in answer.message
        assert auditor.get(path).status in (200, 404)
    assert member.get("/userinfo").json["email"] == user["email"]


def test_each_change_is_in_the_audit_log(boss):
    user = make(boss)
    boss.patch(f"/users/{user['id']}", {"name": "Bob"})
    entry = boss.get("/audit/logs?resource_type=users").json["data"][0]
    assert (entry["action"], entry["http_method"], entry["http_status"]) == ("update", "PATCH", 200)
    assert entry["request_payload_redacted"] == {"email": user["email"], "name": "Bob",
                                                 "status": "active", "groups": ["dev", "ops"]}
