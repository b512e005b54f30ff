# SPDX-License-Identifier: MIT
"""Saved queries: one's own are nobody else's, shared ones are those of everybody who may use their
connection, and outlive who wrote them."""
import pytest

from api import EMBEDDED_AGENT, PASSWORD, connection, login, unique


@pytest.fixture(scope="module")
def names(admin):
    """(open to everybody, open to nobody but a group)"""
    made = [unique("open"), unique("closed")]
    for name in made:
        answer = admin.post("/connections", connection(name, agent_id=EMBEDDED_AGENT))
        assert answer.status == 201, answer
    group = unique("group")
    assert admin.post("/users/groups", {"name": group}).status == 201
    assert admin.put(f"/connections/{made[1]}/access", {"groups": [group]}).status == 200
    return (*made, group)


def person(admin, *groups):
    email = f"{unique('person')}@example.com"
    answer = admin.post("/users", {"email": email, "password": PASSWORD, "status": "active",
                                           "groups": list(groups)})
    assert answer.status == 201, answer
    return login(admin.gateway, email), email


def saved(caller, connection, **more):
    answer = caller.post("/saved-queries", {"name": unique("query"), "connection": connection,
                                            "script": "SELECT 1", **more})
    assert answer.status == 201, answer
    return answer.json


def ids(caller, path="/saved-queries"):
    return [one["id"] for one in caller.get(f"{path}{'&' if '?' in path else '?'}page_size=100").json["data"]]


def test_own_queries_are_nobody_elses(admin, names):
    (mine, email), (other, _) = person(admin), person(admin)
    made = saved(mine, names[0], name="orders of today", script="SELECT 'é' -- 😀\n")
    assert made["is_own"] is True and made["is_shared"] is False and made["owner"] == email
    assert made["script"] == "SELECT 'é' -- 😀\n" and made["connection"] == names[0]
    path = f"/saved-queries/{made['id']}"
    assert mine.get(path).json == made and ids(mine) == [made["id"]]
    for caller in (other, admin):
        assert made["id"] not in ids(caller)
        assert caller.get(path).status == 404 and caller.delete(path).status == 404
        assert caller.put(path, {"name": "x", "connection": names[0], "script": "x"}).status == 404
    again = mine.post("/saved-queries", {"name": "orders of today", "connection": names[0], "script": "x"})
    assert again.status == 409 and "'orders of today'" in again.message
    assert saved(other, names[0], name="orders of today")["id"] != made["id"]
    assert mine.delete(path).status == 204 and ids(mine) == []


def test_shared_queries_are_found_by_who_may_use_the_connection(admin, names):
    (insider, _), (outsider, _), (writer, _) = person(admin, names[2]), person(admin), person(admin, names[2])
    made = saved(writer, names[1], is_shared=True)
    path = f"/saved-queries/{made['id']}"
    assert made["id"] in ids(insider) and insider.get(path).json == {**made, "is_own": False}
    assert made["id"] not in ids(outsider) and outsider.get(path).status == 404
    assert outsider.post("/saved-queries", {"name": "x", "connection": names[1], "script": "x"}).status == 404
    changed = {"name": "better", "connection": names[1], "script": "SELECT 2", "is_shared": True}
    assert insider.put(path, changed).status == 403 and insider.delete(path).status == 403
    assert writer.put(path, changed).json["script"] == "SELECT 2"
    by_admin = admin.put(path, {**changed, "script": "SELECT 3"})
    assert by_admin.json["script"] == "SELECT 3" and by_admin.json["owner"] == made["owner"]
    assert admin.put(path, {**changed, "is_shared": False}).status == 400
    moved = writer.put(path, {**changed, "connection": names[0]})
    assert moved.json["connection"] == names[0] and outsider.get(path).status == 200
    private = writer.put(path, {**changed, "is_shared": False})
    assert private.json["is_shared"] is False and insider.get(path).status == 404
    assert admin.get(path).status == 404


def test_the_list_is_found_by_connection_and_name(admin, names):
    caller, _ = person(admin, names[2])
    one, two = saved(caller, names[0], name="Weekly 100%"), saved(caller, names[1], name="weekly 100")
    assert ids(caller) == [one["id"], two["id"]]
    assert ids(caller, f"/saved-queries?connection={names[1]}") == [two["id"]]
    assert ids(caller, "/saved-queries?search=WEEKLY") == [one["id"], two["id"]]
    assert ids(caller, "/saved-queries?search=100%25") == [one["id"]]
    page = caller.get("/saved-queries?page=2&page_size=1").json
    assert page["data"][0]["id"] == two["id"] and page["pages"] == {"page": 2, "size": 1, "total": 2}


def test_what_is_shared_outlives_its_writer(admin, names):
    writer, email = person(admin)
    shared, own = saved(writer, names[0], is_shared=True), saved(writer, names[0])
    assert admin.delete(f"/users/{email}").status == 204
    left = admin.get(f"/saved-queries/{shared['id']}").json
    assert left["owner"] is None and left["is_own"] is False
    assert admin.get(f"/saved-queries/{own['id']}").status == 404
    assert admin.delete(f"/saved-queries/{shared['id']}").status == 204


def test_a_connection_takes_its_queries_along(admin):
    name = unique("gone")
    assert admin.post("/connections", connection(name, agent_id=EMBEDDED_AGENT)).status == 201
    made = saved(admin, name, is_shared=True)
    assert admin.delete(f"/connections/{name}").status == 204
    assert admin.get(f"/saved-queries/{made['id']}").status == 404


def test_keys_save_nothing_and_the_audit_log_has_no_text(admin, names):
    refused = admin.key("admin").post("/saved-queries", {"name": "x", "connection": names[0], "script": "x"})
    assert refused.status == 400 and "people" in refused.message
    made = saved(admin, names[0], script="SELECT 'hunter2'", is_shared=True)
    admin.delete(f"/saved-queries/{made['id']}")
    entries = admin.get("/audit/logs?resource_type=saved_queries").json["data"]
    assert [one["action"] for one in entries[:2]] == ["delete", "create"]
    assert made["name"] in str(entries[1]) and "hunter2" not in str(entries)
