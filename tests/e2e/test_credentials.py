# SPDX-License-Identifier: MIT
"""Credentials for native clients: who gets one, for what, for how long, and what is kept of it."""
import base64
import hashlib
import json
from datetime import datetime, timedelta
from urllib.parse import unquote, urlsplit

import pytest

from api import PASSWORD, Api, b64, connection, login, register, unique
from conftest import lasting_port
from store import Store, new_organization


@pytest.fixture
def store(admin):
    return Store(admin.gateway)


def make(admin, **members):
    answer = admin.post("/connections", connection(**members))
    assert answer.status == 201, answer
    return answer.json["name"]


def ask(caller, name, **body):
    answer = caller.post(f"/connections/{name}/credentials", body)
    assert answer.status == 201, answer
    return answer.json


def when(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def person(admin, *groups):
    email = f"{unique('person')}@example.com"
    assert admin.post("/users", {"email": email, "password": PASSWORD,
                                 "groups": list(groups)}).status == 201
    return email, login(admin.gateway, email)


def entries(admin, action):
    found = admin.get(f"/audit/logs?resource_type=connection_credentials&action={action}").json
    return found["data"]


def test_one_says_all_that_a_client_needs(admin):
    name = make(admin, secret={"envvar:DB": b64("pay roll/é")})
    made = ask(admin, name)
    given = made["connection_credentials"]
    assert (made["connection_name"], made["connection_type"], made["connection_subtype"]) == \
        (name, "database", "postgres")
    assert made["session_id"] is None and made["has_review"] is False
    assert made["expire_at"] is None
    assert given["hostname"] == "127.0.0.1" and given["username"] == name
    assert len(base64.urlsafe_b64decode(given["password"] + "=")) == 32
    assert len(given["password"]) == 43
    assert given["database_name"] == "pay roll/é"
    url = urlsplit(given["connection_string"])
    assert (url.scheme, url.hostname, str(url.port)) == ("postgres", "127.0.0.1", given["port"])
    assert (unquote(url.username), url.password) == (name, given["password"])
    assert (unquote(url.path), url.query) == ("/pay roll/é", "sslmode=disable")


def test_the_database_is_postgres_when_none_is_named(admin):
    made = ask(admin, make(admin))
    assert made["connection_credentials"]["database_name"] == "postgres"
    assert "/postgres?" in made["connection_credentials"]["connection_string"]


def test_the_secret_is_shown_once_and_kept_nowhere(admin, store):
    name = make(admin)
    made = ask(admin, name)
    secret = made["connection_credentials"]["password"]
    for answer in (admin.get(f"/connections/{name}/credentials"),
                   admin.get("/connection-credentials"), admin.get("/audit/logs?page_size=100")):
        assert answer.status == 200 and secret not in answer.body.decode()
    current = admin.get(f"/connections/{name}/credentials").json
    assert current["id"] == made["id"] and current["connection_credentials"]["username"] == name
    assert not {"password", "connection_string"} & set(current["connection_credentials"])
    assert store.blob("SELECT hash FROM credential WHERE id = ?", made["id"]) == \
        hashlib.sha256(secret.encode()).digest()
    sealed = store.blob("SELECT verifier FROM credential WHERE id = ?", made["id"])
    assert len(sealed) > 64 and secret.encode() not in sealed
    [row] = store.ask("SELECT * FROM credential WHERE id = ?", made["id"])
    assert secret not in "".join(row)


def test_asking_again_ends_the_one_before(admin, store):
    name = make(admin)
    first, second = ask(admin, name), ask(admin, name)
    assert first["id"] != second["id"]
    assert first["connection_credentials"]["password"] != second["connection_credentials"]["password"]
    assert admin.get(f"/connections/{name}/credentials").json["id"] == second["id"]
    assert store.ask("SELECT id FROM credential WHERE revoked_at = 0 AND connection_id = "
                     "(SELECT id FROM connection WHERE name = ?)", name) == [[second["id"]]]
    other = admin.key("dev")
    third = ask(other, name)
    assert admin.get(f"/connections/{name}/credentials").json["id"] == second["id"]
    assert other.get(f"/connections/{name}/credentials").json["id"] == third["id"]


@pytest.mark.parametrize("most, asked, seconds", [
    (None, None, None), (None, 172800, 172800), (None, 1, 1), (600, None, 600), (600, 60, 60),
    (600, 6000, 600)])
def test_how_long_it_is_good(admin, most, asked, seconds):
    name = make(admin, **({} if most is None else {"access_max_duration": most}))
    made = ask(admin, name, **({} if asked is None else {"access_duration_seconds": asked}))
    if seconds is None:
        assert made["expire_at"] is None
    else:
        assert when(made["expire_at"]) - when(made["created_at"]) == timedelta(seconds=seconds)


@pytest.mark.parametrize("seconds", [0, -1, 172801, "60", 1.5])
def test_other_durations_are_refused(admin, seconds):
    name = make(admin)
    answer = admin.post(f"/connections/{name}/credentials", {"access_duration_seconds": seconds})
    assert answer.status == 400 and "access_duration_seconds" in answer.message


def test_what_must_be_reviewed_is_waited_for(admin, store):
    home = admin.get("/userinfo").json["org_id"]
    admin.post("/users/groups", {"name": "reviewing"})
    jit = make(admin)
    rule = store.add_rule(home, "access_jit", document='{"reviewers_groups": ["reviewing"]}')
    store.ask("INSERT INTO connection_rule (rule_id, connection_id) SELECT ?, id FROM connection "
              "WHERE name = ?", rule, jit)
    for name in make(admin, reviewers=["reviewing"]), jit:
        answer = admin.post(f"/connections/{name}/credentials", {})
        assert answer.status == 202 and "connection_credentials" not in answer.json, answer
        assert admin.get(f"/connections/{name}/credentials").status == 404


def test_what_cannot_be_reached_is_refused_in_words(admin):
    for name, words in (
            (make(admin, subtype="mssql"), "cannot reach yet"),
            (make(admin, access_mode_connect="disabled"), "access_mode_connect")):
        answer = admin.post(f"/connections/{name}/credentials", {})
        assert answer.status == 400 and words in answer.message, answer
        assert admin.get(f"/connections/{name}/credentials").status == 404
    assert admin.post("/connections/nothing/credentials", {}).status == 404


def test_expired_and_revoked_ones_are_not_there(admin, store):
    name = make(admin)
    made = ask(admin, name, access_duration_seconds=600)
    store.ask("UPDATE credential SET expires_at = 1 WHERE id = ?", made["id"])
    assert admin.get(f"/connections/{name}/credentials").status == 404
    made = ask(admin, name)
    assert admin.post(f"/connections/{name}/credentials/{made['id']}/revoke").status == 204
    assert admin.get(f"/connections/{name}/credentials").status == 404
    assert made["id"] not in admin.get("/connection-credentials").body.decode()


def test_whose_it_is(admin):
    name = make(admin)
    _, mine = person(admin)
    _, theirs = person(admin)
    auditor = admin.key("auditor")
    made = ask(mine, name)
    path = f"/connections/{name}/credentials/{made['id']}/revoke"

    def sees(caller):
        return made["id"] in [one["id"] for one in caller.get("/connection-credentials").json]

    assert [sees(caller) for caller in (mine, theirs, auditor, admin)] == [True, False, True, True]
    assert theirs.get(f"/connections/{name}/credentials").status == 404
    assert theirs.post(path).status == 404
    assert auditor.post(path).status == 403
    assert mine.post(path.replace(name, "other")).status == 404
    assert sees(mine)
    assert mine.post(path).status == 204 and not sees(mine)
    made = ask(mine, name)
    assert admin.post(f"/connections/{name}/credentials/{made['id']}/revoke").status == 204
    assert not sees(mine)


def test_only_who_may_use_the_connection_gets_one(admin):
    boss = new_organization(admin)
    home = boss.get("/userinfo").json["org_id"]
    boss.post("/users/groups", {"name": "few"})
    name = make(boss, agent_id=home)
    few, other = boss.key("few"), boss.key("other")
    assert boss.put(f"/connections/{name}/access", {"groups": ["few"]}).status == 200
    made = ask(few, name)
    refused = other.post(f"/connections/{name}/credentials", {})
    missing = other.post("/connections/nothing/credentials", {})
    assert refused.status == missing.status == 404
    assert refused.message == missing.message.replace("nothing", name)
    # Who lost the connection may still end what he has.
    boss.post("/users/groups", {"name": "fewer"})
    assert boss.put(f"/connections/{name}/access", {"groups": ["fewer"]}).status == 200
    assert few.get(f"/connections/{name}/credentials").status == 404
    assert few.post(f"/connections/{name}/credentials/{made['id']}/revoke").status == 204


def test_they_go_with_their_owner_and_their_connection(admin, store):
    name = make(admin)
    email, caller = person(admin)
    key = admin.key("dev")
    ids = [ask(caller, name)["id"], ask(key, name)["id"]]
    kept = ask(admin, name)["id"]
    assert admin.delete(f"/users/{email}").status == 204
    assert admin.delete(f"/api-keys/{key.get('/userinfo').json['name']}").status == 204
    listed = [one["id"] for one in admin.get("/connection-credentials").json]
    assert kept in listed and not set(ids) & set(listed)
    assert admin.delete(f"/connections/{name}").status == 204
    assert store.ask("SELECT id FROM credential WHERE id IN (?, ?, ?)", kept, *ids) == []


def test_the_log_tells_of_them(admin):
    name = make(admin)
    made = ask(admin, name, access_duration_seconds=60)
    assert admin.post(f"/connections/{name}/credentials/{made['id']}/revoke").status == 204
    for action in "create", "revoke":
        payload = entries(admin, action)[0]["request_payload_redacted"]
        assert payload["id"] == made["id"] and payload["connection_name"] == name
        assert payload["expire_at"] == made["expire_at"]
        assert made["connection_credentials"]["password"] not in json.dumps(payload)


def test_without_a_listener_there_are_none(start):
    admin = register(start("--postgres-listen", "off"))
    name = make(admin)
    answer = admin.post(f"/connections/{name}/credentials", {})
    assert answer.status == 400 and "--postgres-listen" in answer.message
    assert admin.get("/connection-credentials").json == []


@pytest.mark.parametrize("host, shown, written", [
    ("", "127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1", "127.0.0.1"), ("[::]", "127.0.0.1",
                                                                            "127.0.0.1"),
    ("[::1]", "::1", "[::1]")])
def test_clients_are_told_an_address_they_can_reach(start, host, shown, written):
    port = lasting_port()
    admin = register(start("--postgres-listen", f"{host}:{port}"))
    given = ask(admin, make(admin))["connection_credentials"]
    assert (given["hostname"], given["port"]) == (shown, str(port))
    assert f"@{written}:{port}/" in given["connection_string"]


def test_nobody_gets_one_without_signing_in(admin):
    name = make(admin)
    assert Api(admin.gateway).post(f"/connections/{name}/credentials", {}).status == 401
