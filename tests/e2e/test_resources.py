# SPDX-License-Identifier: MIT
"""The operations of resources, as their description has them."""
from api import EMBEDDED_AGENT, b64, resource, role, unique


def test_what_was_created_is_answered_whole(admin):
    body = resource(env_vars={"envvar:HOST": b64("10.0.0.5"), "REGION": "eu"},
                    roles=[role(secret={"envvar:DB": b64("orders"), "envvar:PASS": b64("x")})])
    created = admin.post("/resources", body)
    assert created.status == 201, created
    read = admin.get(f"/resources/{body['name']}").json
    assert read["env_vars"] == body["env_vars"]
    assert read["agent_id"] == EMBEDDED_AGENT
    assert created.json.pop("mcp_oauth_warnings") == []
    assert "mcp_oauth_warnings" not in read
    [answered] = read["roles"]
    assert answered["secret"] == {"envvar:DB": None, "envvar:PASS": None}
    assert answered["default_database"] == "orders"
    assert answered["effective_features"]["guardrails"] is False
    assert answered["status"] == "online"


def test_a_list_has_data_and_pages(admin):
    kind = unique("kind")
    names = sorted(unique("listed") for _ in range(3))
    for name in reversed(names):
        assert admin.post("/resources", resource(name, type=kind, roles=[role()])).status == 201
    answer = admin.get(f"/resources?type={kind}&page_size=2").json
    assert [r["name"] for r in answer["data"]] == names[:2]
    assert answer["pages"] == {"page": 1, "size": 2, "total": 3}
    assert all(r["roles"][0]["effective_features"] is None for r in answer["data"])
    past = admin.get(f"/resources?type={kind}&page_size=2&page=9").json
    assert past == {"data": [], "pages": {"page": 9, "size": 2, "total": 3}}


def test_put_creates_and_updates_roles_and_leaves_the_others(admin):
    kept, updated, added = role(), role(), role()
    body = resource(roles=[kept, updated])
    admin.post("/resources", body)
    updated["command"] = ["true"]
    answer = admin.put(f"/resources/{body['name']}", {**body, "roles": [updated, added]})
    assert answer.status == 200, answer
    roles = {r["name"]: r for r in answer.json["roles"]}
    assert set(roles) == {kept["name"], updated["name"], added["name"]}
    assert roles[updated["name"]]["command"] == ["true"]
    pruned = admin.put(f"/resources/{body['name']}?prune_roles=true", {**body, "roles": [added]})
    assert [r["name"] for r in pruned.json["roles"]] == [added["name"]]


def test_put_is_all_or_nothing(admin):
    body = resource(roles=[role()])
    admin.post("/resources", body)
    before = admin.get(f"/resources/{body['name']}").json
    foreign = role()
    admin.post("/resources", resource(roles=[foreign]))
    answer = admin.put(f"/resources/{body['name']}",
                       {**body, "name": unique("renamed"), "roles": [role(), foreign]})
    assert answer.status == 400 and foreign["name"] in answer.message
    assert admin.get(f"/resources/{body['name']}").json == before


def test_connections_follow_a_rename(admin):
    body = resource(roles=[role()])
    admin.post("/resources", body)
    name = unique("renamed")
    assert admin.put(f"/resources/{body['name']}", resource(name)).status == 200
    assert admin.get(f"/resources/{body['name']}").status == 404
    [answered] = admin.get(f"/resources/{name}").json["roles"]
    assert answered["resource_name"] == name


def test_a_stale_etag_is_412(admin):
    body = resource()
    tag = admin.post("/resources", body).headers["ETag"]
    path = f"/resources/{body['name']}"
    assert admin.put(path, body, headers={"If-Match": tag}).status == 200
    assert admin.put(path, body, headers={"If-Match": tag}).status == 412
    assert admin.delete(path, headers={"If-Match": tag}).status == 412
    assert admin.put(path, body).status == 200
    assert admin.delete(path, headers={"If-Match": admin.get(path).headers["ETag"]}).status == 204
