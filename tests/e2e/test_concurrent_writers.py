# SPDX-License-Identifier: MIT
"""Many writers at once, on PostgreSQL through two gateways: each change is whole, one of them wins,
and the counts stay true."""
import os
import threading

import pytest

from api import Api, KeptApi, connection, register, resource, role, unique

WRITERS = 8


@pytest.fixture
def admins(start, store_url):
    """The same admin, at each of two gateways that share a store and its keys; an embedded store
    belongs to one gateway."""
    first = start("--database-url", store_url)
    if store_url.startswith("sqlite:"):
        admin = register(first)
        return [admin, admin]
    keys = os.path.join(first.data, "master.key")
    second = start("--database-url", store_url, "--master-key-file", keys)
    admin = register(first)
    return [admin, Api(second, admin.token)]


def together(admins, work, count=WRITERS):
    """Runs work(api, index) in so many threads at once, half at each gateway; its answers."""
    barrier = threading.Barrier(count)
    answers = [None] * count

    def run(index):
        api = KeptApi(admins[index % 2])
        api.get("/userinfo")  # connected
        barrier.wait()
        answers[index] = work(api, index)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert None not in answers
    return answers


def statuses(answers):
    return sorted(answer.status for answer in answers)


def all_of(api, path):
    """All pages of a list, which must have as many rows as it says."""
    rows, page = [], 1
    while True:
        answer = api.get(f"{path}?page={page}&page_size=7").json
        rows += answer["data"]
        if len(answer["data"]) < 7:
            assert answer["pages"]["total"] == len(rows)
            return rows
        page += 1


def check_counts(admins):
    for admin in admins:
        resources, connections = all_of(admin, "/resources"), all_of(admin, "/connections")
        assert len({r["name"] for r in resources}) == len(resources)
        assert len({c["name"] for c in connections}) == len(connections)
        assert sum(len(r["roles"]) for r in resources) == len(connections)
        for listed in resources:
            assert admin.get(f"/resources?name={listed['name']}").json["pages"]["total"] == 1


def test_of_many_that_rename_to_one_name_one_wins(admins):
    for _ in range(5):
        old, new = [unique("old") for _ in range(WRITERS)], unique("new")
        for name in old:
            assert admins[0].post("/resources", resource(name, roles=[role()])).status == 201
        answers = together(admins, lambda api, i: api.put(f"/resources/{old[i]}", resource(new)))
        assert statuses(answers) == [200] + [400] * (WRITERS - 1), answers
        assert all("'name'" in a.message for a in answers if a.status == 400)
        [winner] = [old[i] for i, a in enumerate(answers) if a.status == 200]
        left = {r["name"] for r in all_of(admins[0], "/resources")}
        assert new in left and winner not in left and set(old) - {winner} <= left
        check_counts(admins)


def test_of_many_that_create_one_name_one_wins(admins):
    for _ in range(5):
        name = unique("created")
        answers = together(admins, lambda api, i: api.post(
            "/resources", resource(name, env_vars={"BY": str(i)}, roles=[role(f"{name}.{i}")])))
        assert statuses(answers) == [201] + [409] * (WRITERS - 1), answers
        [winner] = [i for i, a in enumerate(answers) if a.status == 201]
        stored = admins[0].get(f"/resources/{name}").json
        assert stored["env_vars"] == {"BY": str(winner)}
        assert [r["name"] for r in stored["roles"]] == [f"{name}.{winner}"]
    check_counts(admins)


def test_of_many_that_create_one_connection_one_wins(admins):
    """Each names another resource, which comes into being with the connection only."""
    name = unique("connection")
    answers = together(admins, lambda api, i: api.post(
        "/connections", connection(name, resource_name=f"{name}.of.{i}")))
    assert statuses(answers) == [201] + [409] * (WRITERS - 1), answers
    assert len([r for r in all_of(admins[0], "/resources") if r["name"].startswith(name)]) == 1
    check_counts(admins)


@pytest.mark.parametrize("path,name_of,rest", [
    ("/serviceaccounts", "subject", {"status": "active", "groups": ["made-by-all"]}),
    ("/machineidentities", "name", {}), ("/agents", "name", {})])
def test_of_many_that_create_one_machine_one_wins(admins, path, name_of, rest):
    for _ in range(5):
        name = unique("machine")
        answers = together(admins, lambda api, i: api.post(path, {name_of: name, **rest}))
        assert statuses(answers) == [201] + [409] * (WRITERS - 1), answers
        [winner] = [answer.json["id"] for answer in answers if answer.status == 201]
        for admin in admins:
            assert [one["id"] for one in admin.get(path).json if one[name_of] == name] == [winner]
            assert admin.get(f"{path}/{name}").json["id"] == winner


def test_of_many_that_rename_to_one_machine_one_wins(admins):
    old, new = [unique("old") for _ in range(WRITERS)], unique("new")
    for name in old:
        assert admins[0].post("/machineidentities", {"name": name}).status == 201
    answers = together(admins, lambda api, i: api.put(f"/machineidentities/{old[i]}",
                                                      {"name": new}))
    assert statuses(answers) == [200] + [409] * (WRITERS - 1), answers
    [winner] = [old[i] for i, a in enumerate(answers) if a.status == 200]
    names = {one["name"] for one in admins[1].get("/machineidentities").json}
    assert names == {new, *old} - {winner}


def test_grants_are_whole_while_what_they_name_comes_and_goes(admins):
    """A grant and the deletion of what it names, at once: the one or the other is first."""
    for turn in range(10):
        name, machine = unique("granted"), unique("machine")
        assert admins[0].post("/connections", connection(name)).status == 201
        body = {"name": machine, "connection_names": [name]}
        answers = together(admins, lambda api, i: api.delete(f"/connections/{name}")
                           if i == turn % 2 else api.post("/machineidentities", body), 2)
        granted, deleted = answers[1 - turn % 2], answers[turn % 2]
        assert deleted.status == 204 and granted.status in (201, 400), answers
        read = admins[1].get(f"/machineidentities/{machine}")
        assert read.status == (200 if granted.status == 201 else 404)
        assert read.status == 404 or read.json["connection_names"] == []


def test_an_agent_goes_while_others_take_it(admins):
    """Forced: whoever comes first, nothing is left that names an agent which is not there."""
    for turn in range(10):
        agent, name = unique("agent"), unique("taking")
        made = admins[0].post("/agents", {"name": agent})
        body = resource(name, agent_id=made.json["id"], roles=[role()])
        answers = together(admins, lambda api, i: api.delete(f"/agents/{agent}?force=true")
                           if i == turn % 2 else api.post("/resources", body), 2)
        taken, deleted = answers[1 - turn % 2], answers[turn % 2]
        assert deleted.status == 204 and taken.status in (201, 400), answers
        read = admins[1].get(f"/resources/{name}")
        assert read.status == (200 if taken.status == 201 else 404)
        if read.status == 200:
            local = admins[1].get("/agents/local").json["id"]
            assert {read.json["agent_id"], read.json["roles"][0]["agent_id"]} == {local}


def test_of_many_that_add_one_role_one_wins(admins):
    """A role belongs to one resource, whoever comes first."""
    name = unique("wanted")
    names = [unique("resource") for _ in range(WRITERS)]
    for each in names:
        assert admins[0].post("/resources", resource(each)).status == 201
    answers = together(admins, lambda api, i: api.put(
        f"/resources/{names[i]}", resource(names[i], env_vars={"BY": str(i)}, roles=[role(name)])))
    assert statuses(answers) == [200] + [400] * (WRITERS - 1), answers
    for i, each in enumerate(names):
        stored = admins[1].get(f"/resources/{each}").json
        won = answers[i].status == 200
        assert [r["name"] for r in stored["roles"]] == ([name] if won else [])
        assert stored["env_vars"] == ({"BY": str(i)} if won else {})
    check_counts(admins)


def test_a_resource_that_many_replace_is_as_one_of_them_said(admins):
    name = unique("replaced")
    assert admins[0].post("/resources", resource(name)).status == 201

    def sent(i):
        roles = [role(f"{name}.{i}.{j}", command=["run", str(i)]) for j in range(3)]
        shared = role(f"{name}.shared", command=["run", str(i)], attributes=[f"by-{i}"])
        return resource(name, env_vars={"BY": str(i), f"ONLY_{i}": "x"}, roles=roles + [shared])

    for _ in range(5):
        answers = together(admins, lambda api, i: api.put(
            f"/resources/{name}?prune_roles=true", sent(i)))
        assert statuses(answers) == [200] * WRITERS, answers
        for i, answer in enumerate(answers):  # each was answered what it wrote itself
            assert answer.json["env_vars"] == sent(i)["env_vars"]
            written = {r["name"] for r in sent(i)["roles"]}
            assert {r["name"] for r in answer.json["roles"]} == written
        stored = admins[0].get(f"/resources/{name}").json
        wanted = sent(int(stored["env_vars"]["BY"]))
        assert stored["env_vars"] == wanted["env_vars"]
        roles = {r["name"]: r for r in stored["roles"]}
        assert set(roles) == {r["name"] for r in wanted["roles"]}
        assert all(r["command"] == wanted["roles"][0]["command"] for r in roles.values())
        assert roles[f"{name}.shared"]["attributes"] == wanted["roles"][-1]["attributes"]
        check_counts(admins)


def test_of_many_with_one_etag_one_wins(admins):
    name = unique("tagged")
    assert admins[0].post("/resources", resource(name)).status == 201
    tag = admins[0].get(f"/resources/{name}").headers["ETag"]
    answers = together(admins, lambda api, i: api.put(
        f"/resources/{name}", resource(name, env_vars={"BY": str(i)}), headers={"If-Match": tag}))
    assert statuses(answers) == [200] + [412] * (WRITERS - 1), answers


def test_counts_stay_true_while_many_create_and_delete(admins):
    def work(api, i):
        for turn in range(6):
            name = unique(f"counted-{i}")
            answer = api.post("/resources", resource(name, roles=[role(), role()]))
            assert answer.status == 201, answer
            answer = api.put(f"/resources/{name}?prune_roles=true", resource(name, roles=[role()]))
            assert answer.status == 200, answer
            if turn % 2 == 0:
                assert api.delete(f"/resources/{name}").status == 400
                answer = api.delete(f"/resources/{name}?cascade=true")
                assert answer.status == 204, answer
        return answer

    together(admins, work)
    check_counts(admins)
    assert len(all_of(admins[1], "/resources")) == WRITERS * 3


def test_each_change_is_one_entry_of_an_unbroken_log(admins):
    before = admins[0].get("/audit/logs").json["pages"]["total"]
    together(admins, lambda api, i: [api.post("/users/groups", {"name": unique("group")})
                                     for _ in range(5)])
    lines = [line for line in admins[1].get("/audit/logs/export").body.splitlines() if line]
    assert len(lines) == before + WRITERS * 5 + 1  # and the export itself
