# SPDX-License-Identifier: MIT
"""What machine identities reach with native clients, and when that ends."""
import json
import time

import pytest

from api import connection, unique
from conftest import wait_for
from native import Session, psql
from store import Store, new_organization


def make(admin, **members):
    answer = admin.post("/machineidentities", {"name": unique("machine"), **members})
    assert answer.status == 201, answer
    return answer.json


def replace(admin, made, **members):
    answer = admin.put(f"/machineidentities/{made['name']}", {"name": made["name"], **members})
    assert answer.status == 200, answer
    return answer.json["new_credentials"]


def rotate(admin, made, name):
    answer = admin.post(f"/machineidentities/{made['name']}/credentials/{name}/rotate")
    assert answer.status == 201, answer
    return answer.json


def works(credential):
    return psql({"connection_credentials": credential}, "SELECT 1", check=False).returncode == 0


def session_of(credential):
    session = Session(credential)
    assert session.ask("SELECT 7") == "7"
    return session


def test_one_is_made_for_each_connection_and_works(admin, target):
    named, carrying, both = (target.connection(admin) for _ in range(3))
    attribute = unique("attribute")
    assert admin.post("/attributes", {"name": attribute, "connection_names": [carrying, both]}
                      ).status == 201
    made = make(admin, connection_names=[named, both], attributes=[attribute])
    given = {one["connection_name"]: one for one in made["credentials"]}
    assert len(made["credentials"]) == 3 and set(given) == {named, carrying, both}
    for name, one in given.items():
        assert (one["connection_type"], one["connection_subtype"]) == ("database", "postgres")
        assert one["username"] == name and one["secret_key"] == one["password"]
        assert one["connection_string"].startswith(f"postgres://{name}:{one['password']}@")
        assert one["expire_at"] is None and one["database_name"] == "postgres"
        assert psql({"connection_credentials": one}, "SELECT current_user").stdout == \
            f"{target.user}\n"


def test_the_session_is_the_machines(admin, target):
    name = target.connection(admin)
    made = make(admin, connection_names=[name])
    psql({"connection_credentials": made["credentials"][0]}, "SELECT 1")
    rows = Store(admin.gateway).ask(
        "SELECT user_id, user_name, user_email, identity_type, connection_name, credential_id "
        "FROM session WHERE user_id = ?", made["id"])
    assert rows == [[made["id"], made["name"], "", "machine", name, made["credentials"][0]["id"]]]


def test_secrets_are_shown_once(admin, target):
    name = target.connection(admin)
    made = make(admin, connection_names=[name])
    [credential] = made["credentials"]
    path = f"/machineidentities/{made['name']}/credentials"
    [listed] = admin.get(path).json
    assert listed == {key: value for key, value in credential.items()
                      if key not in ("password", "secret_key", "connection_string")}
    assert admin.key("auditor").get(path).json == [listed]
    for read in (path, f"/machineidentities/{made['name']}", "/connection-credentials",
                 "/audit/logs?page_size=100"):
        assert credential["password"] not in admin.get(read).body.decode()
    row = [one for one in admin.get("/connection-credentials").json if one["id"] == listed["id"]]
    assert [(one["user_id"], one["user_name"]) for one in row] == [(made["id"], made["name"])]


def test_a_replacement_adds_and_ends(admin, target):
    kept, dropped, added = (target.connection(admin) for _ in range(3))
    made = make(admin, connection_names=[kept, dropped])
    old = {one["connection_name"]: one for one in made["credentials"]}
    live = {name: session_of(one) for name, one in old.items()}
    [new] = replace(admin, made, connection_names=[kept, added])
    assert new["connection_name"] == added and works(new)
    live[dropped].wait_for_end(2)
    assert live[kept].ask("SELECT 8") == "8"
    assert works(old[kept]) and not works(old[dropped])
    # What is granted again is another grant.
    [again] = replace(admin, made, connection_names=[kept, added, dropped])
    assert again["connection_name"] == dropped and works(again) and not works(old[dropped])
    assert replace(admin, made, connection_names=[kept, added, dropped]) == []


def test_rotating_ends_the_one_before(admin, target):
    name = target.connection(admin)
    made = make(admin, connection_names=[name])
    [old] = made["credentials"]
    live = session_of(old)
    new = rotate(admin, made, name)
    assert new["id"] != old["id"] and works(new) and not works(old)
    live.wait_for_end(2)
    assert [one["id"] for one in
            admin.get(f"/machineidentities/{made['id']}/credentials").json] == [new["id"]]
    entry = admin.get("/audit/logs?resource_type=machine_identities&action=rotate").json["data"][0]
    assert entry["request_payload_redacted"] == {
        "name": made["name"], "connection_name": name, "id": new["id"]}
    assert new["password"] not in json.dumps(entry)


@pytest.mark.quiet
def test_deleting_it_ends_all(admin, target):
    made = make(admin, connection_names=[target.connection(admin)])
    [credential] = made["credentials"]
    live = session_of(credential)
    assert admin.delete(f"/machineidentities/{made['name']}").status == 204
    start = time.monotonic()
    live.wait_for_end(2)
    assert time.monotonic() - start < 2
    assert not works(credential)
    # One of the same name is another one.
    make(admin, name=made["name"], connection_names=made["connection_names"])
    assert not works(credential)


def test_an_admin_can_end_one(admin, target):
    made = make(admin, connection_names=[target.connection(admin)])
    [credential] = made["credentials"]
    live = session_of(credential)
    path = f"/connections/{credential['connection_name']}/credentials/{credential['id']}/revoke"
    assert admin.key("dev").post(path).status == 404
    assert admin.post(path).status == 204
    live.wait_for_end(2)
    assert not works(credential)


def test_what_loses_the_attribute_is_lost(admin, target):
    attribute = unique("attribute")
    names = [target.connection(admin, attributes=[attribute]) for _ in range(2)]
    made = make(admin, attributes=[attribute])
    given = {one["connection_name"]: one for one in made["credentials"]}
    live = session_of(given[names[0]])
    assert admin.patch(f"/connections/{names[0]}", {"attributes": []}).status == 200
    live.wait_for_end(2)
    assert not works(given[names[0]]) and works(given[names[1]])
    assert admin.delete(f"/attributes/{attribute}").status == 204
    assert not works(given[names[1]])


def test_what_carries_the_attribute_later_needs_a_rotation(admin, target):
    attribute = unique("attribute")
    assert admin.post("/attributes", {"name": attribute}).status == 201
    made = make(admin, attributes=[attribute])
    name = target.connection(admin)
    refused = admin.post(f"/machineidentities/{made['name']}/credentials/{name}/rotate")
    assert refused.status == 404 and name in refused.message
    assert admin.patch(f"/connections/{name}", {"attributes": [attribute]}).status == 200
    assert works(rotate(admin, made, name))


def test_what_cannot_be_reached_is_refused_by_name_alone(admin):
    attribute = unique("attribute")
    assert admin.post("/attributes", {"name": attribute}).status == 201
    for members, word in (({"subtype": "mssql"}, "cannot reach yet"),
                          ({"access_mode_connect": "disabled"}, "access_mode_connect")):
        answer = admin.post("/connections", connection(attributes=[attribute], **members))
        name = answer.json["name"]
        answer = admin.post("/machineidentities", {"name": unique("m"), "connection_names": [name]})
        assert answer.status == 400 and "'connection_names'" in answer.message
        assert word in answer.message and name in answer.message
    made = make(admin, attributes=[attribute])
    assert made["credentials"] == []


def test_rules_of_access_do_not_name_machines(admin, target):
    """Groups may use a connection; a machine is in none, and has its grant."""
    boss = new_organization(admin)
    boss.post("/users/groups", {"name": "few"})
    name = target.connection(boss, agent_id=boss.get("/userinfo").json["org_id"])
    [credential] = make(boss, connection_names=[name])["credentials"]
    assert boss.put(f"/connections/{name}/access", {"groups": ["few"]}).status == 200
    assert works(credential)


def test_the_connection_bounds_how_long(admin, target):
    name = target.connection(admin, access_max_duration=2)
    [credential] = make(admin, connection_names=[name])["credentials"]
    assert credential["expire_at"] is not None
    live = session_of(credential)
    live.wait_for_end(5)
    wait_for(lambda: not works(credential), what="its end")


def test_the_control_socket_has_them_before_anybody_is_registered(start, target):
    gateway = start()
    body = {"name": "shop", "type": "database", "subtype": "postgres", "env_vars": {}, "roles": [
        {"name": "shop", "type": "database", "subtype": "postgres", "secret": target.secret()}]}
    status, made = gateway.control("POST", "/control/resources", body)
    assert status == 201, made
    machine = {"name": "robot", "connection_names": ["shop"]}
    status, made = gateway.control("POST", "/control/machineidentities", machine)
    assert status == 201 and works(made["credentials"][0]), made
    status, listed = gateway.control("GET", "/control/machineidentities/robot/credentials")
    assert status == 200 and [one["id"] for one in listed] == [made["credentials"][0]["id"]]
    for path in ("/control/resources?organization=nothing",
                 "/control/machineidentities?organization=nothing"):
        assert gateway.control("POST", path, body)[0] == 404
    assert gateway.get("/control/machineidentities/robot/credentials")[0] == 404
    assert gateway.control("DELETE", "/control/machineidentities/robot")[0] == 204
    assert not works(made["credentials"][0])
    assert gateway.control("DELETE", "/control/resources/shop?cascade=true")[0] == 204
    rows = Store(gateway).ask("SELECT actor_name, resource_type, action FROM audit_entry "
                              "WHERE resource_type <> 'sessions' ORDER BY created_at")
    assert [tuple(row) for row in rows] == [
        ("control socket", "resources", "create"),
        ("control socket", "machine_identities", "create"),
        ("control socket", "machine_identities", "delete"),
        ("control socket", "resources", "delete")]
