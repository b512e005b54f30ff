# SPDX-License-Identifier: MIT
"""Machine identities: what is granted to them by name and by attribute, and nothing else."""
import pytest

from api import connection, resource, role, unique
from store import Store, new_organization


@pytest.fixture
def boss(admin):
    boss = new_organization(admin)
    boss.home = boss.get("/userinfo").json["org_id"]
    return boss


def make(admin, **members):
    answer = admin.post("/machineidentities", {"name": unique("machine"), **members})
    assert answer.status == 201, answer
    made = answer.json
    made.pop("credentials")
    assert "new_credentials" not in made
    return made


def replace(admin, name, **members):
    answer = admin.put(f"/machineidentities/{name}", {"name": name, **members})
    assert answer.status == 200, answer
    replaced = answer.json
    replaced.pop("new_credentials")
    assert "credentials" not in replaced
    return replaced


def add_connection(admin, **members):
    answer = admin.post("/connections", connection(**members))
    assert answer.status == 201, answer
    return answer.json["name"]


def add_attribute(admin, **members):
    answer = admin.post("/attributes", {"name": unique("attribute"), **members})
    assert answer.status == 201, answer
    return answer.json["name"]


def test_an_identity_is_created_read_replaced_and_deleted(admin):
    connections = sorted(add_connection(admin) for _ in range(3))
    attributes = sorted(add_attribute(admin) for _ in range(3))
    made = make(admin, description="för alle", connection_names=connections[1::-1],
                attributes=attributes[1::-1])
    name = made["name"]
    assert made == {"id": made["id"], "name": name, "description": "för alle",
                    "connection_names": connections[:2], "attributes": attributes[:2],
                    "created_at": made["created_at"], "updated_at": made["created_at"]}
    path = f"/machineidentities/{name}"
    assert admin.get(path).json == admin.get(f"/machineidentities/{made['id']}").json == made
    replaced = replace(admin, name, description="other", connection_names=connections[2:],
                       attributes=attributes[2:])
    assert replaced == {**made, "description": "other", "connection_names": connections[2:],
                        "attributes": attributes[2:], "updated_at": replaced["updated_at"]}
    assert replaced["updated_at"] > made["updated_at"]
    assert admin.get(path).json == replaced
    answer = admin.delete(path)
    assert answer.status == 204 and answer.body == b""
    for answer in admin.get(path), admin.put(path, {"name": name}), admin.delete(path):
        assert answer.status == 404 and name in answer.message


def test_a_replacement_replaces_all(admin):
    made = make(admin, description="x", connection_names=[add_connection(admin)],
                attributes=[add_attribute(admin)])
    empty = {"description": "", "connection_names": [], "attributes": []}
    replaced = replace(admin, made["name"])
    assert {key: replaced[key] for key in empty} == empty
    nothing = replace(admin, made["name"], **dict.fromkeys(empty))  # null is as good as absent
    assert {key: nothing[key] for key in empty} == empty
    answer = admin.put(f"/machineidentities/{made['name']}", {"description": "no name"})
    assert answer.status == 400 and "'name' is required" in answer.message


def test_the_list_has_the_newest_first(boss):
    answer = boss.get("/machineidentities")
    assert (answer.status, answer.json) == (200, [])
    names = [add_connection(boss, agent_id=boss.home) for _ in range(3)]
    attribute = add_attribute(boss)
    made = [make(boss, connection_names=names[:i], attributes=[attribute] * (i % 2))
            for i in (0, 2, 1, 0, 3)]
    listed = boss.get("/machineidentities").json
    assert listed == made[::-1]
    assert boss.key("auditor").get("/machineidentities").json == listed
    assert [len(one["connection_names"]) for one in listed] == [3, 0, 1, 2, 0]
    replace(boss, made[0]["name"], description="changed")  # which makes it no newer
    assert [one["id"] for one in boss.get("/machineidentities").json] == \
        [one["id"] for one in made[::-1]]


def test_names_are_unique_and_checked(admin, boss):
    one, two = make(admin), make(admin, description="two")
    answer = admin.post("/machineidentities", {"name": one["name"]})
    assert answer.status == 409 and one["name"] in answer.message
    answer = admin.put(f"/machineidentities/{two['name']}", {"name": one["name"]})
    assert answer.status == 409
    assert admin.get(f"/machineidentities/{two['name']}").json == two
    assert make(boss, name=one["name"])["id"] != one["id"]
    for name in "", "a" * 255, "a/b", ".", "..", "a\nb", None, 1:
        for answer in (admin.post("/machineidentities", {"name": name}),
                       admin.put(f"/machineidentities/{two['name']}", {"name": name})):
            assert answer.status == 400 and "'name'" in answer.message
    odd = make(admin, name="Größe: 100 % & mehr?")
    path = "/machineidentities/Gr%C3%B6%C3%9Fe%3A%20100%20%25%20%26%20mehr%3F"
    assert admin.get(path).json == odd
    assert admin.delete(path).status == 204


def test_an_identity_can_be_renamed(admin):
    made = make(admin, attributes=[add_attribute(admin)])
    name = unique("renamed")
    answer = admin.put(f"/machineidentities/{made['id']}", {**made, "name": name})
    assert answer.status == 200 and answer.json["id"] == made["id"]
    assert admin.get(f"/machineidentities/{made['name']}").status == 404
    renamed = admin.get(f"/machineidentities/{name}").json
    assert renamed == {**made, "name": name, "updated_at": renamed["updated_at"]}
    assert make(admin, name=made["name"])["id"] != made["id"]


@pytest.mark.parametrize("member", ["connection_names", "attributes"])
def test_what_it_names_must_exist(admin, boss, member):
    good = add_connection(admin) if member == "connection_names" else add_attribute(admin)
    theirs = add_connection(boss, agent_id=boss.home, attributes=["their-attribute"])
    theirs = theirs if member == "connection_names" else "their-attribute"
    made = make(admin, **{member: [good]})
    path = f"/machineidentities/{made['name']}"
    for names, index, word in (([good, "nothing"], 1, "nothing"), (["nothing", good], 0, "nothing"),
                               ([good, good], 1, good), ([theirs], 0, theirs)):
        for answer in (admin.post("/machineidentities", {"name": unique("m"), member: names}),
                       admin.put(path, {**made, member: names})):
            assert answer.status == 400, answer
            assert f"'{member}[{index}]'" in answer.message and f"'{word}'" in answer.message
    assert admin.get(path).json == made
    assert admin.get("/attributes/nothing").status == 404  # none was made in passing


def test_grants_follow_what_they_name(admin):
    keep, drop = add_connection(admin), add_connection(admin)
    stays, goes = add_attribute(admin), add_attribute(admin)
    made = make(admin, connection_names=[keep, drop], attributes=[stays, goes])
    other = make(admin, connection_names=[drop], attributes=[goes])

    def grants(one):
        read = admin.get(f"/machineidentities/{one['name']}").json
        return read["connection_names"], read["attributes"]

    assert admin.delete(f"/connections/{drop}").status == 204
    assert (grants(made), grants(other)) == (([keep], sorted([stays, goes])), ([], [goes]))
    assert admin.delete(f"/attributes/{goes}").status == 204
    assert (grants(made), grants(other)) == (([keep], [stays]), ([], []))
    renamed = unique("renamed")
    assert admin.put(f"/attributes/{stays}", {"name": renamed}).status == 200
    assert grants(made) == ([keep], [renamed])
    # A name that comes back is another thing, which nobody has granted.
    add_connection(admin, name=drop)
    add_attribute(admin, name=goes)
    assert (grants(made), grants(other)) == (([keep], [renamed]), ([], []))
    assert admin.patch(f"/connections/{keep}", {"attributes": [renamed]}).status == 200
    assert admin.patch(f"/connections/{keep}", {"attributes": []}).status == 200
    assert grants(made) == ([keep], [renamed])


def test_a_resource_takes_the_grants_of_its_roles_with_it(admin):
    body = resource(roles=[role(), role()])
    assert admin.post("/resources", body).status == 201
    names = sorted(r["name"] for r in body["roles"])
    made = make(admin, connection_names=names)
    body["roles"] = [r for r in body["roles"] if r["name"] == names[0]]
    path = f"/resources/{body['name']}"
    assert admin.put(f"{path}?prune_roles=true", body).status == 200
    assert admin.get(f"/machineidentities/{made['name']}").json["connection_names"] == names[:1]
    assert admin.put(path, {**body, "name": unique("renamed")}).status == 200
    assert admin.get(f"/machineidentities/{made['name']}").json["connection_names"] == names[:1]


def test_what_is_granted_can_still_be_deleted_and_leaves_nothing(admin):
    store = Store(admin.gateway)
    made = make(admin, connection_names=[add_connection(admin)], attributes=[add_attribute(admin)])
    tables = "machine_identity_connection", "machine_identity_attribute"
    rows = [store.ask(f"SELECT machine_identity_id FROM {table} WHERE machine_identity_id = ?",
                      made["id"]) for table in tables]
    assert rows == [[[made["id"]]], [[made["id"]]]]
    assert admin.delete(f"/machineidentities/{made['name']}").status == 204
    assert [store.ask(f"SELECT machine_identity_id FROM {table} WHERE machine_identity_id = ?",
                      made["id"]) for table in tables] == [[], []]
    assert admin.get(f"/connections/{made['connection_names'][0]}").status == 200
    assert admin.get(f"/attributes/{made['attributes'][0]}").status == 200


def test_an_identity_is_a_member_of_nothing(boss):
    assert boss.post("/machineidentities", {"name": "robot", "groups": ["admin"]}).status == 400
    store = Store(boss.gateway)
    before = boss.get("/users/groups").json
    answer = boss.post("/machineidentities", {"name": "robot", "id": "x",
                                              "credentials": [{}], "created_at": "never"})
    assert answer.status == 201 and "groups" not in answer.json
    assert answer.json["credentials"] == [] and answer.json["id"] != "x"
    assert boss.get("/users/groups").json == before
    assert store.ask("SELECT * FROM group_member WHERE member_id = ?", answer.json["id"]) == []


def test_lists_and_texts_are_bounded(admin):
    made = make(admin)
    path = f"/machineidentities/{made['name']}"
    for member, value, named in (
            ("connection_names", [f"c{i}" for i in range(1001)], "connection_names"),
            ("connection_names", ["a" * 255], "connection_names[0]"),
            ("connection_names", [""], "connection_names[0]"),
            ("connection_names", [None], "connection_names[0]"),
            ("connection_names", "abc", "connection_names"),
            ("attributes", [f"a{i}" for i in range(101)], "attributes"),
            ("attributes", ["a" * 256], "attributes[0]"), ("attributes", {}, "attributes"),
            ("description", "a" * 1001, "description"), ("description", "a\nb", "description"),
            ("description", 5, "description")):
        for answer in (admin.post("/machineidentities", {"name": unique("m"), member: value}),
                       admin.put(path, {**made, member: value})):
            assert answer.status == 400 and f"'{named}'" in answer.message, answer
    assert admin.get(path).json == made
    names = sorted(add_attribute(admin) for _ in range(100))
    assert replace(admin, made["name"], attributes=names, description="a" * 1000
                   )["attributes"] == names
    names = sorted(unique("bulk") for _ in range(1000))
    for i in range(0, 1000, 100):
        body = resource(roles=[role(name) for name in names[i:i + 100]])
        assert admin.post("/resources", body).status == 201
    assert replace(admin, made["name"], connection_names=names)["connection_names"] == names


def test_another_organizations_identities_are_not_there(admin, boss):
    theirs = make(boss)
    for name in theirs["name"], theirs["id"]:
        path = f"/machineidentities/{name}"
        for answer in admin.get(path), admin.put(path, {"name": "mine"}), admin.delete(path):
            assert answer.status == 404
    assert theirs["id"] not in [one["id"] for one in admin.get("/machineidentities").json]
    ours = make(admin, name=theirs["name"])
    assert admin.delete(f"/machineidentities/{ours['name']}").status == 204
    assert boss.get("/machineidentities").json == [theirs]


def test_only_admins_change_and_members_see_nothing(boss):
    made = make(boss)
    path = f"/machineidentities/{made['name']}"
    calls = [("POST", "/machineidentities", {"name": "x"}), ("PUT", path, {"name": "x"}),
             ("DELETE", path, None)]
    member, auditor = boss.key("dev"), boss.key("auditor")
    for read in "/machineidentities", path:
        assert member.get(read).status == 403 and auditor.get(read).status == 200
    for caller in member, auditor:
        assert {caller.call(*call).status for call in calls} == {403}
    assert boss.get("/machineidentities").json == [made]


def test_each_change_is_in_the_audit_log(boss):
    names = [add_connection(boss, agent_id=boss.home)]
    made = make(boss, name="robot", connection_names=names)
    replace(boss, "robot", description="x")
    assert boss.delete("/machineidentities/robot").status == 204
    entries = boss.get("/audit/logs?resource_type=machine_identities").json["data"]
    assert [(e["action"], e["http_status"]) for e in entries] == \
        [("delete", 204), ("update", 200), ("create", 201)]
    shown = {"name": "robot", "description": "x", "connection_names": [], "attributes": []}
    payloads = [e["request_payload_redacted"] for e in entries]
    assert payloads == [shown, shown, {**shown, "description": "", "connection_names": names}]
    assert made["connection_names"] == names
