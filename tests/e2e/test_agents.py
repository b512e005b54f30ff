# SPDX-License-Identifier: MIT
"""Agents: the gateway's own, and others that a secret is made for, which is shown once."""
import base64
import hashlib
import re
import time
import uuid
from urllib.parse import parse_qs, urlsplit

import pytest

from api import EMBEDDED_AGENT, Api, connection, register, resource, role, unique
from store import Store, new_organization

REPORTED = {"hostname": "box-7", "platform": "linux/amd64", "machine_id": "5f0c",
            "kernel_version": "6.1.0", "version": "1.133.1", "go_version": "none",
            "compiler": "gcc 12"}
METADATA = {"hostname": "box-7", "platform": "linux/amd64", "machine-id": "5f0c",
            "kernel-version": "6.1.0", "version": "1.133.1", "go-version": "none",
            "compiler": "gcc 12"}
COPIES = {"hostname": "box-7", "machine_id": "5f0c", "kernel_version": "6.1.0",
          "version": "1.133.1", "goversion": "none", "compiler": "gcc 12",
          "platform": "linux/amd64"}
NOTHING = dict.fromkeys(COPIES, "")


@pytest.fixture
def boss(admin):
    boss = new_organization(admin)
    boss.home = boss.get("/userinfo").json["org_id"]
    return boss


@pytest.fixture
def store(admin):
    return Store(admin.gateway)


def make(admin, name=None, **members):
    answer = admin.post("/agents", {"name": name or unique("agent"), **members})
    assert answer.status == 201, answer
    return answer.json


def secret_of(made):
    return urlsplit(made["token"]).password


def report(store, made, **columns):
    """What the agent's link will write."""
    columns = {**REPORTED, "last_seen_at": 1_700_000_000_000_000, **columns}
    for column, value in columns.items():
        store.ask(f"UPDATE agent SET {column} = ? WHERE id = ?", value, made["id"])


def test_an_agent_is_created_read_and_deleted(admin):
    made = make(admin)
    assert made == {"id": str(uuid.UUID(made["id"])), "name": made["name"], "mode": "standard",
                    "token": made["token"]}
    path = f"/agents/{made['name']}"
    read = admin.get(path)
    assert read.status == 200 and read.json == {
        "id": made["id"], "token": "", "name": made["name"], "mode": "standard",
        "status": "DISCONNECTED", "metadata": {}, **NOTHING,
        "created_by": admin.get("/userinfo").json["email"], "last_seen_at": None,
        "created_at": read.json["created_at"]}
    assert admin.get(f"/agents/{made['id']}").json == read.json
    assert read.json in admin.get("/agents").json
    answer = admin.delete(path)
    assert answer.status == 204 and answer.body == b""
    for name in made["name"], made["id"], unique("never"):
        for answer in admin.get(f"/agents/{name}"), admin.delete(f"/agents/{name}"):
            assert answer.status == 404 and name in answer.message
    assert made["id"] not in [agent["id"] for agent in admin.get("/agents").json]
    other = make(admin)
    assert admin.delete(f"/agents/{other['id']}").status == 204


@pytest.mark.parametrize("mode", ["standard", "embedded"])
def test_the_token_is_an_address_with_a_secret(admin, mode):
    made = make(admin, mode=mode)
    url = urlsplit(made["token"])
    gateway = admin.gateway
    assert (url.scheme, url.username) == (gateway.scheme, made["name"])
    assert (url.hostname, url.port, url.path) == ("127.0.0.1", gateway.port, "")
    assert parse_qs(url.query) == {"mode": [mode]} and made["mode"] == mode
    assert re.fullmatch(r"gha_[A-Za-z0-9_-]{43}", url.password)
    assert len(base64.urlsafe_b64decode(url.password[4:] + "=")) == 32
    assert secret_of(make(admin)) != url.password


def test_the_secret_is_kept_as_a_hash_and_never_shown_again(admin, store):
    made = make(admin)
    secret = secret_of(made)
    kept = store.blob("SELECT token_hash FROM agent WHERE id = ?", made["id"])
    assert kept == hashlib.sha256(secret.encode()).digest()
    [row] = store.ask("SELECT * FROM agent WHERE id = ?", made["id"])
    assert secret not in str(row)
    for path in "/agents", f"/agents/{made['name']}", "/audit/logs", "/audit/logs/export":
        text = admin.get(path).body.decode()
        assert made["name"] in text and secret not in text and secret[4:] not in text
    assert secret not in admin.gateway.text()


def test_it_is_no_credential_of_the_api(admin):
    made = make(admin)
    for token in secret_of(made), made["token"]:
        assert Api(admin.gateway, token).get("/userinfo").status == 401
        answer = Api(admin.gateway).get("/userinfo", headers={"Api-Key": token})
        assert answer.status == 401


@pytest.mark.parametrize("body,named", [
    ({}, "'name' is required"), ({"name": None}, "'name'"), ({"name": "ab"}, "'name'"),
    ({"name": "a" * 255}, "'name'"), ({"name": "a b c"}, "'name'"), ({"name": "-abc"}, "'name'"),
    ({"name": "a--b"}, "'name'"), ({"name": "a@b:c"}, "'name'"), ({"name": "früh"}, "'name'"),
    ({"name": "good", "mode": "multi-connection"}, "'mode'"),
    ({"name": "good", "mode": "Standard"}, "'mode'"), ({"name": "good", "mode": 1}, "'mode'")])
def test_names_and_modes_are_checked(boss, body, named):
    answer = boss.post("/agents", body)
    assert answer.status == 400 and named in answer.message
    assert len(boss.get("/agents").json) == 1


def test_what_is_read_only_is_not_taken(admin):
    made = make(admin, id=EMBEDDED_AGENT, status="CONNECTED", token="gha_mine", hostname="x",
                metadata={"hostname": "x"}, created_by="somebody", last_seen_at="2024-01-01")
    read = admin.get(f"/agents/{made['name']}").json
    assert made["id"] != EMBEDDED_AGENT and secret_of(made) != "gha_mine"
    assert read["status"] == "DISCONNECTED" and read["metadata"] == {} and read["hostname"] == ""
    assert read["created_by"] != "somebody" and read["last_seen_at"] is None


def test_a_name_is_taken_once_in_an_organization(admin, boss):
    made = make(admin)
    answer = admin.post("/agents", {"name": made["name"], "mode": "embedded"})
    assert answer.status == 409 and made["name"] in answer.message
    assert admin.get(f"/agents/{made['name']}").json["mode"] == "standard"
    theirs = make(boss, made["name"])
    assert theirs["id"] != made["id"]
    assert admin.delete(f"/agents/{made['name']}").status == 204
    assert boss.get(f"/agents/{theirs['name']}").json["id"] == theirs["id"]
    again = make(admin, made["name"])
    assert again["id"] not in (made["id"], theirs["id"])
    assert secret_of(again) != secret_of(made)


def test_every_organization_has_a_local_agent(admin, boss):
    for caller, home in (admin, EMBEDDED_AGENT), (boss, boss.home):
        local = caller.get("/agents/local").json
        assert local == {"id": home, "token": "", "name": "local", "mode": "embedded",
                         "status": "CONNECTED", "metadata": {}, **NOTHING, "created_by": "",
                         "created_at": local["created_at"], "last_seen_at": None}
        assert local in caller.get("/agents").json
        assert caller.post("/agents", {"name": "local"}).status == 409
        for path in "/agents/local", f"/agents/{home}", "/agents/local?force=true":
            answer = caller.delete(path)
            assert answer.status == 400 and "'local'" in answer.message
        assert caller.get("/agents/local").json == local
    assert boss.get("/agents").json == [boss.get("/agents/local").json]


def test_the_list_is_ordered_by_name(boss):
    names = ["zebra", "Zebra", "a-1", "a.1", "b_c", "mule"]
    for name in names:
        make(boss, name)
    assert [agent["name"] for agent in boss.get("/agents").json] == sorted([*names, "local"])


def test_an_agent_is_connected_as_long_as_its_link_says(boss, store):
    made, other = make(boss, "linked"), make(boss, "other")
    assert boss.post("/connections", connection("one", agent_id=made["id"])).status == 201

    def seen():
        status = boss.get("/agents/linked").json["status"]
        assert [a["status"] for a in boss.get("/agents").json if a["name"] == "linked"] == [status]
        return status, boss.get("/connections/one").json["status"]

    def names(query):
        return [agent["name"] for agent in boss.get(f"/agents?status={query}").json]

    assert seen() == ("DISCONNECTED", "offline")
    assert names("CONNECTED") == ["local"] and names("DISCONNECTED") == ["linked", "other"]
    report(store, made, connected_until=int((time.time() + 600) * 1e6))
    assert seen() == ("CONNECTED", "online")
    assert names("CONNECTED") == ["linked", "local"] and names("DISCONNECTED") == ["other"]
    assert names("") == ["linked", "local", other["name"]]
    report(store, made, connected_until=int((time.time() - 1) * 1e6))
    assert seen() == ("DISCONNECTED", "offline")


@pytest.mark.parametrize("status", ["connected", "online", "CONNECTED,DISCONNECTED", "%20", "1"])
def test_another_status_is_refused(admin, status):
    answer = admin.get(f"/agents?status={status}")
    assert answer.status == 400 and "'status'" in answer.message


def test_the_machine_is_shown_to_admins_and_auditors_alone(boss, store):
    made = make(boss, "reporting")
    report(store, made)
    for caller in boss, boss.key("auditor"):
        read = caller.get("/agents/reporting").json
        assert read["metadata"] == METADATA and COPIES.items() <= read.items()
        assert read["last_seen_at"] == "2023-11-14T22:13:20.000000Z" and read["created_by"]
        assert read in caller.get("/agents").json
    report(store, made, hostname="", compiler="")
    assert boss.get("/agents/reporting").json["metadata"] == {
        key: value for key, value in METADATA.items() if key not in ("hostname", "compiler")}
    member = boss.key("dev")
    assert member.get("/agents/reporting").status == member.get("/agents").status == 403
    for caller in member, boss.key("auditor"):
        assert caller.post("/agents", {"name": "mine"}).status == 403
        assert caller.delete("/agents/reporting?force=true").status == 403


def test_an_agent_in_use_is_not_deleted(boss):
    made = make(boss, "used")
    path = "/agents/used"
    boss.post("/resources", resource("box", agent_id=made["id"], roles=[role("follows"),
                                                                        role("follows.2")]))
    boss.post("/connections", connection("pins", agent_id=made["id"], resource_name="box"))
    boss.post("/resources", resource("elsewhere", roles=[role("moved", agent_id=made["id"])]))
    before = boss.get("/resources").json, boss.get(path).json
    for query in "", "?force=false":
        answer = boss.delete(path + query)
        assert answer.status == 400, answer
        assert "resources: 1" in answer.message and "connections: 4" in answer.message
    assert boss.delete(path + "?force=x").status == 400
    assert (boss.get("/resources").json, boss.get(path).json) == before
    for name in "box", "elsewhere":
        assert boss.delete(f"/resources/{name}?cascade=true").status == 204
    assert boss.delete(path).status == 204


def test_a_forced_deletion_leaves_what_used_it(boss, store):
    gone, other = make(boss, "gone"), make(boss, "other")
    boss.post("/resources", resource("box", agent_id=gone["id"], roles=[
        role("follows"), role("pins-other", agent_id=other["id"]),
        role("pins-local", agent_id=boss.home)]))
    boss.post("/resources", resource("others", agent_id=other["id"], roles=[
        role("moved", agent_id=gone["id"]), role("stays")]))
    boss.post("/resources", resource("apart", agent_id=boss.home, roles=[role("not-touched")]))
    agents = {"follows": boss.home, "pins-other": other["id"], "pins-local": boss.home,
              "moved": other["id"], "stays": other["id"], "not-touched": boss.home}
    tags = {path: boss.get(path).headers["ETag"] for path in (
        "/resources/box", "/resources/others", "/resources/apart",
        *(f"/connections/{name}" for name in agents))}
    assert boss.delete("/agents/gone?force=true").status == 204
    assert boss.get("/agents/gone").status == 404
    assert boss.get("/resources/box").json["agent_id"] == boss.home
    assert boss.get("/resources/others").json["agent_id"] == other["id"]
    assert {name: boss.get(f"/connections/{name}").json["agent_id"] for name in agents} == agents
    assert boss.get("/connections/follows").json["status"] == "online"
    assert store.ask("SELECT count(*) FROM connection WHERE agent_id = ?", gone["id"]) == [["0"]]
    # What reads differently now has another tag, and nothing else has.
    changed = {path for path, tag in tags.items() if boss.get(path).headers["ETag"] != tag}
    assert changed == {"/resources/box", "/resources/others", "/connections/follows",
                       "/connections/moved"}
    # They follow from now on.
    body = resource("others", agent_id=boss.home)
    assert boss.put("/resources/others", body).status == 200
    assert boss.get("/connections/moved").json["agent_id"] == boss.home


def test_force_is_not_needed_for_what_nothing_uses(boss):
    make(boss, "one")
    make(boss, "two")
    before = boss.get("/resources").json
    assert boss.delete("/agents/one").status == boss.delete("/agents/two?force=true").status == 204
    assert boss.get("/resources").json == before


def test_each_change_is_in_the_audit_log(boss):
    made = make(boss, "noted")
    boss.post("/agents", {"name": "noted"})
    boss.post("/resources", resource("box", agent_id=made["id"], roles=[role("one")]))
    boss.delete("/agents/noted")
    boss.delete("/agents/noted?force=true")
    boss.delete("/agents/noted")
    boss.delete("/agents/local")
    entries = boss.get("/audit/logs?resource_type=agents").json["data"]
    assert [(e["action"], e["http_status"]) for e in entries[::-1]] == [
        ("create", 201), ("create", 409), ("delete", 400), ("delete", 204), ("delete", 404),
        ("delete", 400)]
    shown = {"name": "noted", "mode": "standard"}
    assert [e["request_payload_redacted"] for e in entries[::-1]] == [
        shown, None, None, {**shown, "force": True, "resources": 1, "connections": 1}, None, None]
    assert secret_of(made) not in str(entries)


def test_another_organizations_agents_are_not_there(admin, boss):
    theirs, mine = make(boss), make(admin)
    for name in theirs["name"], theirs["id"], boss.home:
        assert admin.get(f"/agents/{name}").status == 404
        assert admin.delete(f"/agents/{name}?force=true").status == 404
    assert {mine["id"], EMBEDDED_AGENT}.isdisjoint(a["id"] for a in boss.get("/agents").json)
    answer = admin.post("/resources", resource(agent_id=theirs["id"]))
    assert answer.status == 400 and "there is no agent" in answer.message


@pytest.mark.parametrize("given,address", [
    ("https://gate.example", "https://{}@gate.example:443?mode=standard"),
    ("http://gate.example/", "http://{}@gate.example:80?mode=standard"),
    ("HTTPS://gate.example:8443", "https://{}@gate.example:8443?mode=standard"),
    ("https://[2001:db8::7]:8443/under", "https://{}@[2001:db8::7]:8443?mode=standard")])
def test_the_address_is_the_public_one(start, given, address):
    made = make(register(start("--public-url", given)), "far-away")
    assert made["token"] == address.format(f"far-away:{secret_of(made)}")


def test_without_a_known_address_it_is_the_one_that_was_asked(start):
    admin = register(start("--listen", "0.0.0.0:0", "--allowed-hosts", "gate.example"))
    port = admin.gateway.port
    for host, shown in ((f"gate.example:{port}", f"gate.example:{port}"),
                        ("gate.example", "gate.example:80"), ("[::1]:90", "[::1]:90")):
        answer = admin.post("/agents", {"name": unique("agent")}, headers={"Host": host})
        assert answer.status == 201, answer
        assert answer.json["token"].split("@")[1] == f"{shown}?mode=standard"
