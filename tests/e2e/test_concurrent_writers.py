# SPDX-License-Identifier: MIT
"""Many who write the same thing at once: one state comes out, and it is one that somebody wrote."""
from concurrent.futures import ThreadPoolExecutor

from api import resource, role, unique

WRITERS = 16


def together(work):
    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(work, range(WRITERS)))


def test_of_many_who_rename_to_one_name_one_wins(admin):
    sources = [unique("source") for _ in range(WRITERS)]
    for name in sources:
        assert admin.post("/resources", resource(name, roles=[role()])).status == 201
    total = admin.get("/resources").json["pages"]["total"]
    wanted = unique("wanted")
    answers = together(lambda i: admin.put(f"/resources/{sources[i]}", resource(wanted)))
    assert sorted(a.status for a in answers) == [200] + [400] * (WRITERS - 1), answers
    assert all(wanted in a.message for a in answers if a.status == 400)
    [winner] = [a.json["id"] for a in answers if a.status == 200]
    assert admin.get(f"/resources/{wanted}").json["id"] == winner
    assert sum(admin.get(f"/resources/{name}").status == 404 for name in sources) == 1
    assert admin.get("/resources").json["pages"]["total"] == total


def test_of_many_who_create_one_name_one_wins(admin):
    body = resource()
    answers = together(lambda i: admin.post("/resources", {**body, "roles": [role()]}))
    assert sorted(a.status for a in answers) == [201] + [409] * (WRITERS - 1), answers
    [winner] = [a.json["roles"] for a in answers if a.status == 201]
    assert admin.get(f"/resources/{body['name']}").json["roles"] == winner
    found = admin.get(f"/resources?name={body['name']}").json
    assert found["pages"]["total"] == len(found["data"]) == 1


def test_one_role_name_goes_to_one_resource(admin):
    names, wanted = [unique("resource") for _ in range(WRITERS)], role()
    for name in names:
        admin.post("/resources", resource(name))
    answers = together(lambda i: admin.put(f"/resources/{names[i]}",
                                           resource(names[i], roles=[wanted])))
    assert sorted(a.status for a in answers) == [200] + [400] * (WRITERS - 1), answers
    holders = [name for name in names if admin.get(f"/resources/{name}").json["roles"]]
    assert len(holders) == 1


def test_many_who_replace_one_resource_leave_no_mix(admin):
    name = unique("contested")
    admin.post("/resources", resource(name))
    names = [[unique("role") for _ in range(3)] for _ in range(WRITERS)]

    def replace(i):
        body = resource(name, env_vars={"WRITER": str(i)}, roles=[role(n) for n in names[i]])
        return admin.put(f"/resources/{name}?prune_roles=true", body)

    answers = together(replace)
    assert {a.status for a in answers} == {200}, answers
    last = admin.get(f"/resources/{name}").json
    writer = int(last["env_vars"]["WRITER"])
    assert [r["name"] for r in last["roles"]] == sorted(names[writer])
    connections = admin.get("/connections?page_size=100&resource_name=" + name).json
    assert connections["pages"]["total"] == 3


def test_of_many_with_one_etag_one_wins(admin):
    body = resource()
    tag = admin.post("/resources", body).headers["ETag"]
    answers = together(lambda i: admin.put(f"/resources/{body['name']}", body,
                                           headers={"If-Match": tag}))
    assert sorted(a.status for a in answers) == [200] + [412] * (WRITERS - 1), answers
