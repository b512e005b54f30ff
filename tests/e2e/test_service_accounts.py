# SPDX-License-Identifier: MIT
"""Service accounts: clients of an identity provider, and the groups that they call as."""
from urllib.parse import quote

import pytest

from api import EMBEDDED_AGENT, unique
from store import Store, new_organization


@pytest.fixture
def boss(admin):
    return new_organization(admin)


def make(admin, **members):
    body = {"subject": unique("client"), "status": "active", **members}
    answer = admin.post("/serviceaccounts", body)
    assert answer.status == 201, answer
    return answer.json


def path_of(account):
    return "/serviceaccounts/" + quote(account["subject"], safe="")


def test_an_account_is_created_read_replaced_and_deleted(admin):
    made = make(admin, name="Nightly jobs", groups=["ops", "dev"])
    assert made == {"id": made["id"], "org_id": EMBEDDED_AGENT, "subject": made["subject"],
                    "issuer": "", "name": "Nightly jobs", "status": "active", "groups": ["dev", "ops"],
                    "created_at": made["created_at"], "updated_at": made["created_at"]}
    path = path_of(made)
    assert admin.get(path).json == admin.get(f"/serviceaccounts/{made['id']}").json == made
    changed = admin.put(path, {"subject": made["subject"], "name": "Jobs", "status": "inactive",
                               "groups": ["ops"]})
    assert changed.status == 200
    assert changed.json == {**made, "name": "Jobs", "status": "inactive", "groups": ["ops"],
                            "updated_at": changed.json["updated_at"]}
    assert changed.json["updated_at"] > made["updated_at"]
    assert admin.get(path).json == changed.json
    answer = admin.delete(path)
    assert answer.status == 204 and answer.body == b""
    for answer in (admin.get(path), admin.put(path, {"status": "active"}), admin.delete(path)):
        assert answer.status == 404 and made["subject"] in answer.message


def test_it_can_be_addressed_by_id(admin):
    made = make(admin)
    path = f"/serviceaccounts/{made['id']}"
    assert admin.put(path, {"status": "inactive"}).json["status"] == "inactive"
    assert admin.put(path, {"status": "active", "subject": made["id"]}).status == 400
    assert admin.delete(path).status == 204
    assert admin.get(path).status == admin.get(path_of(made)).status == 404


def test_the_list_is_ordered_by_subject(boss):
    answer = boss.get("/serviceaccounts")
    assert (answer.status, answer.json) == (200, [])
    made = {subject: make(boss, subject=subject, groups=groups) for subject, groups in (
        ("b", ["y", "x"]), ("a", []), ("B", ["z"]), ("c/d", ["x"]), ("é", []))}
    listed = boss.get("/serviceaccounts").json
    assert [account["subject"] for account in listed] == ["B", "a", "b", "c/d", "é"]
    assert listed == [made[account["subject"]] for account in listed]
    assert [account["groups"] for account in listed] == [["z"], [], ["x", "y"], ["x"], []]
    assert boss.key("auditor").get("/serviceaccounts").json == listed


def test_subject_and_status_are_needed(admin):
    subject = unique("client")
    for body, named in (({"status": "active"}, "'subject' is required"),
                        ({"subject": "", "status": "active"}, "'subject'"),
                        ({"subject": None, "status": "active"}, "'subject'"),
                        ({"subject": subject}, "'status' is required"),
                        ({"subject": subject, "status": ""}, "'status'"),
                        ({"subject": subject, "status": None}, "'status'"),
                        ({"subject": subject, "status": "invited"}, "'active', 'inactive'"),
                        ({"subject": subject, "status": "Active"}, "'status'")):
        answer = admin.post("/serviceaccounts", body)
        assert answer.status == 400 and named in answer.message, answer
    made = make(admin, subject=subject)
    assert made["name"] == "" and made["groups"] == []
    for status in "", None, "invited":
        answer = admin.put(path_of(made), {"status": status})
        assert answer.status == 400 and "'status'" in answer.message
    assert admin.put(path_of(made), {}).status == 400
    assert admin.get(path_of(made)).json == made


def test_a_subject_is_taken_once_in_an_organization(admin, boss):
    made = make(admin)
    answer = admin.post("/serviceaccounts", {"subject": made["subject"], "status": "inactive"})
    assert answer.status == 409 and made["subject"] in answer.message
    upper = make(admin, subject=made["subject"].upper())  # subjects compare by their bytes
    assert upper["id"] != made["id"]
    theirs = make(boss, subject=made["subject"])
    assert theirs["id"] != made["id"] and theirs["org_id"] != made["org_id"]


def test_the_subject_never_changes(admin):
    made = make(admin)
    path = path_of(made)
    for subject in made["subject"] + "x", made["subject"].upper(), made["id"]:
        answer = admin.put(path, {"subject": subject, "status": "active", "name": "new"})
        assert answer.status == 400 and "'subject' cannot change" in answer.message
    assert admin.get(path).json == made
    for same in {"subject": made["subject"]}, {"subject": None}, {"subject": ""}, {}:
        answer = admin.put(path, {**same, "status": "active"})
        assert answer.status == 200 and answer.json["subject"] == made["subject"]


def test_what_is_not_sent_stays_but_for_the_status(admin):
    made = make(admin, name="Jobs", groups=["dev"])
    path = path_of(made)
    for body in ({}, {"name": ""}, {"name": None}, {"groups": None}):
        answer = admin.put(path, {"status": "inactive", **body}).json
        assert (answer["name"], answer["groups"]) == ("Jobs", ["dev"]), body
    answer = admin.put(path, {"status": "active", "groups": []}).json
    assert (answer["name"], answer["groups"]) == ("Jobs", [])
    answer = admin.put(path, {"status": "active", "name": "Other"}).json
    assert (answer["name"], answer["groups"]) == ("Other", [])


def test_groups_come_and_go(boss):
    made = make(boss, groups=["new", "new", "admin"])
    assert made["groups"] == ["admin", "new"]
    assert boss.get("/users/groups").json == ["admin", "new"]
    assert boss.delete("/users/groups/new").status == 204
    assert boss.get(path_of(made)).json["groups"] == ["admin"]
    for groups, named in ((["a/b"], "groups[0]"), (["a", ""], "groups[1]"), ([1], "groups[0]"),
                          (["a" * 181], "groups[0]"), ([f"g{i}" for i in range(201)], "groups"),
                          ("dev", "groups")):
        for answer in (boss.post("/serviceaccounts", {"subject": "x", "status": "active",
                                                      "groups": groups}),
                       boss.put(path_of(made), {"status": "active", "groups": groups})):
            assert answer.status == 400 and f"'{named}'" in answer.message, answer
    many = sorted(f"g{i}" for i in range(200))
    assert boss.put(path_of(made), {"status": "active", "groups": many}).json["groups"] == many


def test_an_account_leaves_no_membership_behind(admin):
    store = Store(admin.gateway)
    made, other = make(admin, groups=["dev", "ops"]), make(admin, groups=["dev"])
    members = "SELECT group_name FROM group_member WHERE member_id = ? ORDER BY group_name"
    assert store.ask(members, made["id"]) == [["dev"], ["ops"]]
    assert admin.delete(path_of(made)).status == 204
    assert store.ask(members, made["id"]) == []
    assert store.ask(members, other["id"]) == [["dev"]]
    again = make(admin, subject=made["subject"])
    assert again["id"] != made["id"] and again["groups"] == []


@pytest.mark.parametrize("subject", [
    "system:serviceaccount:jobs:nightly", "repo:owner/name:ref:refs/heads/main", "id@clients",
    "spiffe://example.com/jobs", "Größe 100 % & mehr?", "a" * 255, "é" * 127])
def test_subjects_are_what_providers_call_their_clients(admin, subject):
    made = make(admin, subject=subject)
    assert admin.get(path_of(made)).json == made
    assert admin.delete(path_of(made)).status == 204


@pytest.mark.parametrize("subject", ["a" * 256, "é" * 128, "a\nb", "a\x00b", 1, ["a"]])
def test_other_subjects_are_refused(admin, subject):
    answer = admin.post("/serviceaccounts", {"subject": subject, "status": "active"})
    assert answer.status == 400 and "'subject'" in answer.message


def test_another_organizations_accounts_are_not_there(admin, boss):
    theirs, mine = make(boss, groups=["dev"]), make(admin)
    for name in theirs["subject"], theirs["id"]:
        path = f"/serviceaccounts/{name}"
        for answer in (admin.get(path), admin.put(path, {"status": "inactive", "groups": []}),
                       admin.delete(path)):
            assert answer.status == 404
    assert theirs["id"] not in [account["id"] for account in admin.get("/serviceaccounts").json]
    assert boss.get("/serviceaccounts").json == [theirs]
    # The same subject in both: each changes its own.
    ours = make(boss, subject=mine["subject"], name="theirs")
    assert admin.put(path_of(mine), {"status": "inactive", "name": "mine"}).status == 200
    assert boss.get(path_of(ours)).json == ours
    assert admin.delete(path_of(mine)).status == 204
    assert boss.get(path_of(ours)).json == ours


def test_only_admins_change_and_members_see_nothing(boss):
    made = make(boss, groups=["dev"])
    calls = [("POST", "/serviceaccounts", {"subject": "x", "status": "active"}),
             ("PUT", path_of(made), {"status": "inactive"}), ("DELETE", path_of(made), None)]
    member, auditor = boss.key("dev"), boss.key("auditor")
    for path in "/serviceaccounts", path_of(made):
        assert member.get(path).status == 403 and auditor.get(path).status == 200
    for caller in member, auditor:
        assert {caller.call(*call).status for call in calls} == {403}
    assert boss.get("/serviceaccounts").json == [made]


def test_each_change_is_in_the_audit_log(boss):
    made = make(boss, name="Jobs", groups=["admin"])
    boss.put(path_of(made), {"status": "inactive"})
    boss.delete(path_of(made))
    entries = boss.get("/audit/logs?resource_type=service_accounts").json["data"]
    assert [(e["action"], e["http_status"]) for e in entries] == \
        [("delete", 204), ("update", 200), ("create", 201)]
    shown = {"subject": made["subject"], "issuer": "", "name": "Jobs", "status": "active", "groups": ["admin"]}
    payloads = [e["request_payload_redacted"] for e in entries]
    assert payloads == [{**shown, "status": "inactive"}, {**shown, "status": "inactive"}, shown]
