# SPDX-License-Identifier: MIT
"""Who may call what: every route of the description, as everybody. A new route is to be added."""
import glob
import os
import re

import pytest

from api import (PASSWORD, Api, b64, connection, described_routes, login, resource, role, setup_code,
                 unique)
from native import credential, psql
from pgwire import Wire, cancel
from store import new_organization

ANYONE, MEMBER, READER, ADMIN = "anyone", "member", "reader", "admin"
AGENT = "agent"  # nobody else

ROUTES = {
    "GET /healthz": ANYONE,
    "GET /publicserverinfo": ANYONE,
    "GET /openapi.json": ANYONE,
    "POST /localauth/register": ANYONE,
    "POST /localauth/login": ANYONE,
    "POST /localauth/invitation": ANYONE,
    "POST /localauth/invitation/accept": ANYONE,
    "GET /login": ANYONE,
    "GET /login/start": ANYONE,
    "POST /login/start": ANYONE,
    "GET /callback": ANYONE,
    "POST /device/authorize": ANYONE,
    "POST /device/token": ANYONE,
    "GET /device": MEMBER,
    "POST /device": MEMBER,
    "PUT /localauth/password": MEMBER,
    "GET /localauth/second-factor": MEMBER,
    "POST /localauth/second-factor": MEMBER,
    "POST /localauth/second-factor/confirm": MEMBER,
    "POST /localauth/second-factor/recovery-codes": MEMBER,
    "POST /localauth/second-factor/remove": MEMBER,
    "GET /serverconfig/auth": ADMIN,
    "PUT /serverconfig/auth": ADMIN,
    "GET /serverinfo": MEMBER,
    "POST /logout": MEMBER,
    "GET /resources": MEMBER,
    "POST /resources": ADMIN,
    "GET /resources/{name}": MEMBER,
    "PUT /resources/{name}": ADMIN,
    "DELETE /resources/{name}": ADMIN,
    "GET /connections": MEMBER,
    "POST /connections": ADMIN,
    "GET /connections/{nameOrID}": MEMBER,
    "PUT /connections/{nameOrID}": ADMIN,
    "PATCH /connections/{nameOrID}": ADMIN,
    "DELETE /connections/{nameOrID}": ADMIN,
    "GET /connections/{nameOrID}/access": READER,
    "PUT /connections/{nameOrID}/access": ADMIN,
    "GET /connections/{nameOrID}/test": MEMBER,
    "PUT /connections/{nameOrID}/host-key": ADMIN,
    "GET /connections/{nameOrID}/databases": MEMBER,
    "GET /connections/{nameOrID}/controls": MEMBER,
    "GET /connections/{nameOrID}/tables": MEMBER,
    "GET /connections/{nameOrID}/columns": MEMBER,
    "GET /connection-tags": MEMBER,
    "POST /connections/{nameOrID}/credentials": MEMBER,
    "GET /connections/{nameOrID}/credentials": MEMBER,
    "GET /connections/{nameOrID}/tunnel": MEMBER,
    "GET /connections/{nameOrID}/terminal": MEMBER,
    "POST /connections/{nameOrID}/terminal": MEMBER,
    "POST /connections/{nameOrID}/credentials/{credentialID}/revoke": MEMBER,
    "GET /connection-credentials": MEMBER,
    "GET /sessions": MEMBER,
    "POST /sessions": MEMBER,
    "GET /sessions/{id}": MEMBER,
    "GET /sessions/{id}/pages/{page}": MEMBER,
    "GET /sessions/{id}/result": MEMBER,
    "POST /sessions/{id}/kill": MEMBER,
    "PATCH /sessions/{id}/metadata": MEMBER,
    "GET /sessions/{id}/stream": MEMBER,
    "GET /sessions/{id}/download": MEMBER,
    "GET /sessions/{id}/verify": MEMBER,
    "POST /sessions/{id}/exec": MEMBER,
    "PUT /sessions/{id}/review": MEMBER,
    "GET /reviews": MEMBER,
    "GET /reviews/{id}": MEMBER,
    "GET /reviews/{id}/script": MEMBER,
    "GET /reviews/{id}/estimate": MEMBER,
    "GET /reviews/{id}/sample": MEMBER,
    "POST /reviews/{id}/opened": MEMBER,
    "PUT /reviews/{id}": MEMBER,
    "POST /reviews/{id}/comments": MEMBER,
    "GET /access-requests/rules": READER,
    "POST /access-requests/rules": ADMIN,
    "GET /access-requests/rules/{name}": READER,
    "PUT /access-requests/rules/{name}": ADMIN,
    "DELETE /access-requests/rules/{name}": ADMIN,
    "GET /notifications/sinks": ADMIN,
    "POST /notifications/sinks": ADMIN,
    "GET /notifications/sinks/{name}": ADMIN,
    "PUT /notifications/sinks/{name}": ADMIN,
    "DELETE /notifications/sinks/{name}": ADMIN,
    "POST /notifications/sinks/{name}/test": ADMIN,
    "POST /notifications/sinks/{name}/secret": ADMIN,
    "POST /notifications/sinks/{name}/replay": ADMIN,
    "GET /notifications/deliveries": ADMIN,
    "GET /notifications/deliveries/{id}": ADMIN,
    "POST /notifications/deliveries/{id}/replay": ADMIN,
    "GET /datamasking-rules": READER,
    "POST /datamasking-rules": ADMIN,
    "POST /datamasking-trials": ADMIN,
    "GET /datamasking-rules/{id}": READER,
    "PUT /datamasking-rules/{id}": ADMIN,
    "DELETE /datamasking-rules/{id}": ADMIN,
    "GET /datamasking-entity-types": READER,
    "GET /connections/{nameOrID}/datamasking-rules": READER,
    "PUT /connections/{nameOrID}/datamasking-rules": ADMIN,
    "GET /reports/sessions": READER,
    "GET /attributes": MEMBER,
    "POST /attributes": ADMIN,
    "GET /attributes/{name}": READER,
    "PUT /attributes/{name}": ADMIN,
    "DELETE /attributes/{name}": ADMIN,
    "GET /guardrails": READER,
    "POST /guardrails": ADMIN,
    "GET /guardrails/{nameOrID}": READER,
    "PUT /guardrails/{nameOrID}": ADMIN,
    "DELETE /guardrails/{nameOrID}": ADMIN,
    "POST /guardrail-trials": ADMIN,
    "POST /guardrails/{nameOrID}/test": ADMIN,
    "GET /rulepacks": READER,
    "GET /rulepacks/{name}": READER,
    "POST /rulepacks/{name}/attach": ADMIN,
    "POST /rulepacks/{name}/detach": ADMIN,
    "GET /agents": READER,
    "POST /agents": ADMIN,
    "GET /agents/{nameOrID}": READER,
    "DELETE /agents/{nameOrID}": ADMIN,
    "GET /agent-link": AGENT,
    "GET /users": READER,
    "POST /users": ADMIN,
    "POST /apply": ADMIN,
    "GET /users/groups": MEMBER,
    "POST /users/groups": ADMIN,
    "DELETE /users/groups/{name}": ADMIN,
    "GET /users/{emailOrID}": READER,
    "PUT /users/{emailOrID}": ADMIN,
    "PATCH /users/{emailOrID}": ADMIN,
    "DELETE /users/{emailOrID}": ADMIN,
    "DELETE /users/{emailOrID}/second-factor": ADMIN,
    "POST /users/{emailOrID}/invitation": ADMIN,
    "DELETE /users/{emailOrID}/invitation": ADMIN,
    "GET /audit/logs/verify": READER,
    "GET /saved-queries": MEMBER,
    "POST /saved-queries": MEMBER,
    "GET /saved-queries/{id}": MEMBER,
    "PUT /saved-queries/{id}": MEMBER,
    "DELETE /saved-queries/{id}": MEMBER,
    "GET /users/me/ssh-keys": MEMBER,
    "POST /users/me/ssh-keys": MEMBER,
    "DELETE /users/me/ssh-keys/{id}": MEMBER,
    "GET /users/{emailOrID}/ssh-keys": READER,
    "DELETE /users/{emailOrID}/ssh-keys/{id}": ADMIN,
    "GET /ssh": MEMBER,
    "POST /ssh/certificates": MEMBER,
    "GET /ssh/authorities": READER,
    "POST /ssh/authorities": ADMIN,
    "DELETE /ssh/authorities/{id}": ADMIN,
    "GET /userinfo": MEMBER,
    "GET /metrics": ADMIN,
    "GET /api-keys": ADMIN,
    "POST /api-keys": ADMIN,
    "GET /api-keys/{nameOrID}": ADMIN,
    "PUT /api-keys/{nameOrID}": ADMIN,
    "DELETE /api-keys/{nameOrID}": ADMIN,
    "POST /api-keys/{nameOrID}/reactivate": ADMIN,
    "GET /serviceaccounts": READER,
    "POST /serviceaccounts": ADMIN,
    "GET /serviceaccounts/{subjectOrID}": READER,
    "PUT /serviceaccounts/{subjectOrID}": ADMIN,
    "DELETE /serviceaccounts/{subjectOrID}": ADMIN,
    "GET /machineidentities": READER,
    "POST /machineidentities": ADMIN,
    "GET /machineidentities/{nameOrID}": READER,
    "PUT /machineidentities/{nameOrID}": ADMIN,
    "DELETE /machineidentities/{nameOrID}": ADMIN,
    "GET /machineidentities/{nameOrID}/credentials": READER,
    "POST /machineidentities/{nameOrID}/credentials/{connectionNameOrID}/rotate": ADMIN,
    "GET /orgs/hide-role-info": ADMIN,
    "PUT /orgs/hide-role-info": ADMIN,
    "GET /orgs/default-access": READER,
    "PUT /orgs/default-access": ADMIN,
    "GET /orgs/provider-roles": ADMIN,
    "PUT /orgs/provider-roles": ADMIN,
    "GET /audit/logs": READER,
    "GET /audit/logs/export": READER,
}

FAKETIME = os.path.dirname(glob.glob("/usr/lib/*/faketime/libfaketime.so.1")[0])

# These need an identity provider, which there is none of here.
LOGIN = {"/login", "/login/start", "/callback"}
# For people, which keys are not; and what may ask for TLS.
PEOPLE = {"/device", "/connections/{nameOrID}/tunnel", "/connections/{nameOrID}/terminal"}

MAY_CALL = {
    ANYONE: {"nobody", "stranger", "member", "auditor", "admin"},
    MEMBER: {"member", "auditor", "admin"},
    READER: {"auditor", "admin"},
    ADMIN: {"admin"},
    AGENT: set(),
}


def person(admin, *groups):
    email = f"{unique('person')}@example.com"
    answer = admin.post("/users", {"email": email, "password": PASSWORD, "groups": list(groups)})
    assert answer.status == 201, answer
    return email, login(admin.gateway, email)


@pytest.fixture(scope="module")
def callers(admin):
    """By what they may do: [(who exactly, caller)]."""
    def revoked_key(*groups):
        key = admin.key(*groups)
        name = key.get("/userinfo").json["name"]
        assert admin.delete(f"/api-keys/{name}").status == 204
        return key

    def signed_out(*groups):
        _, caller = person(admin, *groups)
        assert caller.post("/logout").status == 204
        return caller

    def with_status(status):
        email, caller = person(admin, "admin")
        assert admin.put(f"/users/{email}", {"email": email, "status": status,
                                             "groups": ["admin"]}).status == 200
        return caller

    def deleted():
        email, caller = person(admin, "admin")
        assert admin.delete(f"/users/{email}").status == 204
        return caller

    _, changed = person(admin, "admin")
    head, payload, signature = changed.token.split(".")
    gateway = admin.gateway
    return {
        "nobody": [("no credential", Api(gateway))],
        "stranger": [("a revoked key", revoked_key("admin")),
                     ("a signed-out admin", signed_out("admin")),
                     ("an inactive admin", with_status("inactive")),
                     ("an invited admin", with_status("invited")),
                     ("a deleted admin", deleted()),
                     ("a changed token", Api(gateway, f"{head}.{payload}.A{signature[1:]}"[:-1])),
                     ("a token without signature", Api(gateway, f"{head}.{payload}.")),
                     ("a wrong key", Api(gateway, admin.key("admin").token[:-1] + "_")),
                     ("an empty token", Api(gateway, ""))],
        "member": [("a key without groups", admin.key()), ("a key", admin.key("dev")),
                   ("a person", person(admin, "dev")[1]),
                   ("a person of groups like it", person(admin, "Admin", "admins", "Auditor")[1])],
        "auditor": [("an auditing key", admin.key("auditor")),
                    ("an auditor", person(admin, "auditor", "dev")[1])],
        "admin": [("an admin's key", admin.key("admin")), ("an admin", person(admin, "admin")[1]),
                  ("an auditing admin", admin.key("admin", "auditor"))],
    }


def test_the_table_is_complete(admin):
    assert set(ROUTES) == set(described_routes(admin.gateway))


@pytest.mark.parametrize("route", ROUTES)
def test_who_may_call(admin, callers, route):
    method, path = route.split(" ")
    path = re.sub(r"\{\w+\}", "nothing-of-this-name", path)
    for kind, list_of_callers in callers.items():
        for who, caller in list_of_callers:
            if path == "/logout" and kind in MAY_CALL[MEMBER]:
                caller = admin.key()  # it would not come back
            answer = caller.call(method, path)
            if kind in MAY_CALL[ROUTES[route]]:
                # An empty body and a name that is not there: refused, but not for who calls.
                may_be = (403,) if path in LOGIN else (200, 201, 400, 404)
                may_be = (400, 403, 404) if path in PEOPLE else may_be
                assert answer.status in may_be, (who, answer)
                continue
            is_nobody = kind in ("nobody", "stranger") or ROUTES[route] == AGENT
            expected = 401 if is_nobody else 403
            assert answer.status == expected, (who, answer)
            assert set(answer.json) == {"message"}
            assert answer.message.startswith("access denied"), answer
            assert ("WWW-Authenticate" in answer.headers) == (expected == 401)
            assert answer.headers["Cache-Control"] == "no-store"
            if method == "GET":
                head = caller.call("HEAD", path)
                assert (head.status, head.body) == (expected, b"")


@pytest.mark.parametrize("route", [r for r, who in ROUTES.items() if who != ANYONE])
def test_a_denial_comes_before_all_else(callers, route):
    """Who may not call learns nothing of names, bodies or parameters."""
    method, path = route.split(" ")
    first = {}
    for kind in "nobody", "stranger", "member":
        if kind in MAY_CALL[ROUTES[route]]:
            continue
        caller = callers[kind][0][1]
        for body, query, name in ((None, "", "x"), (b"{", "", "x"), (b"{}", "?page=x", "x"),
                                  (b"\xff", "?everywhere=x", "%20"), (None, "", "default")):
            answer = caller.call(method, re.sub(r"\{\w+\}", name, path) + query, body)
            assert first.setdefault(kind, answer.body) == answer.body


def test_the_description_says_so(admin):
    operations = described_routes(admin.gateway)
    for route, who in ROUTES.items():
        responses = operations[route]["responses"]
        assert ("401" in responses) == (who != ANYONE or route == "POST /localauth/login"), route
        # A cookie does not count for another site's changes.
        is_denied = who in (READER, ADMIN) or (who == MEMBER and not route.startswith("GET "))
        is_for_own_pages = route.startswith("POST /localauth/") and who == ANYONE
        is_login = route.split(" ")[1] in LOGIN | PEOPLE
        assert ("403" in responses) == (is_denied or is_for_own_pages or is_login), route


def test_one_credential_does_not_make_up_for_another(admin):
    nobody = Api(admin.gateway)
    key = admin.key("admin").token
    assert nobody.get("/userinfo", headers={"Api-Key": key}).status == 200
    assert nobody.get("/userinfo", headers={"Authorization": f"Bearer {key}"}).status == 200
    assert nobody.get("/userinfo", headers={"Authorization": f"bearer {key}"}).status == 200
    for headers in ({"Authorization": f"Basic {key}"}, {"Authorization": key},
                    {"Api-Key": "wrong", "Authorization": f"Bearer {key}"},
                    {"Authorization": "Bearer wrong", "Cookie": f"gatehouse_token={key}"},
                    {"Api-Key": admin.token}, {"Authorization": f"Bearer {key} x"}):
        assert nobody.get("/userinfo", headers=headers).status == 401, headers


def test_an_admin_of_one_organization_is_nobody_in_another(admin):
    boss = new_organization(admin)
    email, caller = person(boss, "admin")
    assert caller.get("/userinfo").json["is_admin"] is True
    assert caller.get(f"/users/{email}").status == 200
    assert admin.get(f"/users/{email}").status == 404


def test_an_expired_token_calls_nothing(start, tmp_path):
    """A token of thirteen hours ago: made by a gateway whose clock stands there."""
    env = {"LD_PRELOAD": "libfaketimeMT.so.1", "LD_LIBRARY_PATH": FAKETIME, "FAKETIME": "-13h",
           "DONT_FAKE_MONOTONIC": "1"}
    past = start("--sandbox", "off", folder=tmp_path, env=env)
    token = Api(past).post("/localauth/register", {
        "email": "admin@example.com", "password": PASSWORD,
        "setup_code": setup_code(past)}).headers["Token"]
    assert Api(past, token).get("/userinfo").json["is_admin"] is True
    past.stop()
    gateway = start(folder=tmp_path)
    assert login(gateway, "admin@example.com").get("/userinfo").status == 200
    late = Api(gateway, token)
    for route, who in ROUTES.items():
        method, path = route.split(" ")
        answer = late.call(method, re.sub(r"\{\w+\}", "nothing-of-this-name", path))
        assert answer.status == 401 or who == ANYONE, (route, answer)


# What an agent does in the name of a connection ---------------------------------------------------

AGENT_WORK = ["GET /connections/{}/test", "GET /connections/{}/databases",
              "GET /connections/{}/tables", "GET /connections/{}/columns?table=customers",
              "GET /connections/{}/controls", "GET /connections/{}/datamasking-rules",
              "POST /connections/{}/credentials", "GET /connections/{}/credentials",
              "PATCH /connections/{}", "PUT /connections/{}/access", "DELETE /connections/{}"]

# And in that of a session: what is on record of it, what it does now, its end.
SESSION_WORK = ["GET /sessions/{}", "GET /sessions/{}?expand=event_stream",
                "GET /sessions/{}/stream", "GET /sessions/{}/verify", "GET /sessions/{}/download",
                "GET /sessions/{}/download?extension=txt", "PATCH /sessions/{}/metadata",
                "POST /sessions/{}/kill"]


@pytest.fixture(scope="module")
def reachable(admin, target):
    """A connection of the first organization whose target answers, and its admin's credential."""
    name = target.connection(admin)
    return admin.get(f"/connections/{name}").json, credential(admin, name)


@pytest.fixture(scope="module")
def foreigners(admin):
    """An admin, an auditor and a member of another organization."""
    boss = new_organization(admin)
    return [boss, person(boss, "admin")[1], boss.key("auditor"), boss.key("dev")]


@pytest.mark.parametrize("work", AGENT_WORK)
def test_an_admin_of_another_organization_has_no_agent_work_for_it(reachable, foreigners, work):
    """To the letter as if there were no such connection, by name and by id."""
    (shop, _), nothing = reachable, unique("nothing")
    method, path = work.split(" ")
    body = {"groups": []} if path.endswith("/access") else {} if method != "GET" else None
    for caller in foreigners:
        for name in shop["name"], shop["id"]:
            answer = caller.call(method, path.format(name), body)
            missing = caller.call(method, path.format(nothing), body)
            assert answer.status == missing.status and answer.status in (403, 404), answer
            assert answer.body == missing.body.replace(nothing.encode(), name.encode())


def test_an_admin_of_another_organization_executes_nothing_on_it(reachable, foreigners):
    (shop, _), nothing = reachable, unique("nothing")
    for caller in foreigners:
        missing = caller.post("/sessions", {"connection": nothing, "script": "SELECT 1"})
        assert missing.status == 404, missing
        for name in shop["name"], shop["id"]:
            answer = caller.post("/sessions", {"connection": name, "script": "SELECT 1"})
            assert answer.status == 404, answer
            assert answer.body == missing.body.replace(nothing.encode(), name.encode())


def test_an_admin_of_another_organization_has_no_session_work(admin, reachable, foreigners):
    """Of one that is over, and of one that is open, which goes on; nor does a trial of a rule of
    his own read what is on record of others, nor a cancel key of his reach them."""
    _, made = reachable
    secret_word = unique("onlyhere")
    psql(made, f"SELECT '{secret_word}'")
    with Wire(made) as wire:
        assert wire.ask("SELECT 1") == [("1",)]
        ids = [row["id"] for row in admin.get("/sessions?limit=100").json["data"]
               if row["connection"] == made["connection_name"]]
        assert len(ids) >= 2
        for caller in foreigners:
            for work in SESSION_WORK:
                method, path = work.split(" ")
                body = {"metadata": {"a": "b"}} if method == "PATCH" else None
                nothing = "01900000-0000-7000-8000-00000000dead"
                missing = caller.call(method, path.format(nothing), body)
                assert missing.status == 404, (work, missing)
                for session in ids:
                    answer = caller.call(method, path.format(session), body)
                    assert (answer.status, answer.body) == (404, missing.body.replace(
                        nothing.encode(), session.encode())), (work, answer)
        boss = foreigners[0]
        rule = boss.post("/guardrails", {"name": unique("rail"), "input": {"rules": [
            {"type": "deny_words_list", "words": [secret_word]}]}})
        trial = boss.post(f"/guardrails/{rule.json['id']}/test", {})
        assert trial.status == 200 and secret_word not in trial.body.decode()
        assert not [session for session in ids if session in trial.body.decode()]
        key = wire.key[:4] + bytes(len(wire.key) - 4)
        cancel(made, wire, key)
        assert wire.ask("SELECT pg_sleep(0.2)::text || 'done'") == [("done",)]
        assert wire.ask("SELECT 2") == [("2",)]


def test_an_admin_of_another_organization_cannot_use_its_agents(admin, reachable, foreigners):
    """Neither the embedded one nor one elsewhere, for connections and resources of his own."""
    shop, _ = reachable
    far = admin.post("/agents", {"name": unique("far")}).json["id"]
    boss = foreigners[0]
    own = boss.post("/connections", connection(agent_id=boss.get("/userinfo").json["org_id"]))
    assert own.status == 201, own
    name = own.json["name"]
    for agent in shop["agent_id"], far:
        body = connection(agent_id=agent)
        for answer in (boss.post("/connections", body),
                       boss.patch(f"/connections/{name}", {"agent_id": agent}),
                       boss.post("/resources", resource(agent_id=agent)),
                       boss.post("/resources", resource(roles=[role(agent_id=agent)]))):
            assert answer.status == 400 and "agent_id" in answer.message, answer
        assert boss.get(f"/agents/{agent}").status == 404
        assert boss.delete(f"/agents/{agent}").status == 404
    machine = boss.post("/machineidentities", {"name": unique("m"),
                                               "connection_names": [shop["name"]]})
    assert machine.status == 400, machine
    assert boss.post(f"/connections/{name}/credentials", {}).status == 201


def test_an_admin_of_another_organization_cannot_end_or_take_its_credentials(
        admin, reachable, foreigners):
    shop, made = reachable
    boss = foreigners[0]
    for name in shop["name"], shop["id"]:
        assert boss.post(f"/connections/{name}/credentials/{made['id']}/revoke").status == 404
    assert made["id"] not in boss.get("/connection-credentials").body.decode()
    # One of the same name opens what is his own: nobody else's target, and no place of another's.
    twin = connection(shop["name"], agent_id=boss.get("/userinfo").json["org_id"],
                      secret={"envvar:HOST": b64("127.0.0.1"), "envvar:PORT": b64("1"),
                              "envvar:USER": b64("nobody")})
    assert boss.post("/connections", twin).status == 201
    other = credential(boss, shop["name"])
    assert psql(made, "SELECT 'reached'").stdout == "reached\n"
    refused = psql(other, "SELECT 'reached'", check=False)
    assert refused.returncode == 2 and "reached" not in refused.stdout
    assert "root@example.com" not in boss.get("/sessions").body.decode()
    theirs = admin.get(f"/sessions?connection={shop['name']}").json["data"]
    for session in theirs:
        assert boss.get(f"/sessions/{session['id']}").status == 404
        assert boss.post(f"/sessions/{session['id']}/kill").status == 404
