# SPDX-License-Identifier: MIT
"""What ends a session, a key or a right, ends it with the next request, at every gateway."""
import datetime
import time

import pytest

from api import PASSWORD, Api, connection, resource, unique
from conftest import Gateway
from people import TRUSTED, WRONG, House

NEW = "seven lamps under a river"


def status(api, path="/userinfo"):
    return api.get(path).status


def change(api, current, new):
    return api.put("/localauth/password", {"current_password": current, "new_password": new})


# One's own password -----------------------------------------------------------------------------

def test_a_changed_password_ends_the_other_sessions(house):
    email = house.person()
    api, other = house.enter(email), house.enter(email)
    house.mark()
    answer = change(api, PASSWORD, NEW)
    assert answer.status == 200 and answer.headers["Cache-Control"] == "no-store", answer
    token = answer.headers["Token"]
    assert token in answer.headers["Set-Cookie"] and "HttpOnly" in answer.headers["Set-Cookie"]
    assert [status(one) for one in (api, other, Api(house.gateway, token))] == [401, 401, 200]
    cookie = {"Cookie": answer.headers["Set-Cookie"].split(";")[0]}
    assert Api(house.gateway).get("/userinfo", headers=cookie).status == 200
    assert house.sign_in(email).status == 401
    assert house.sign_in(email, NEW).status == 200
    assert house.entries(PASSWORD, NEW) == [
        ("sign_in", "change_password", 200, email), ("sign_in", "sign_in", 401, email),
        ("sign_in", "sign_in", 200, email)]


def test_it_takes_the_current_one(house):
    email = house.person()
    api, other = house.enter(email), house.enter(email)
    house.mark()
    for current in WRONG, PASSWORD.upper(), PASSWORD + " ", NEW:
        answer = change(api, current, NEW)
        assert answer.status == 400 and answer.message == "'current_password' is wrong", answer
        assert "Token" not in answer.headers and "Set-Cookie" not in answer.headers
    assert [status(api), status(other)] == [200, 200]
    assert house.sign_in(email).status == 200
    assert house.entries(PASSWORD, NEW, WRONG) == [
        *[("sign_in", "update", 400, email)] * 4, ("sign_in", "sign_in", 200, email)]


def test_guessing_it_waits(house):
    email = house.person()
    api = house.enter(email)
    for _ in range(5):
        assert change(api, WRONG, NEW).status == 400
    assert house.is_held(email, 1, lambda: change(api, PASSWORD, NEW))
    house.later(1, email)
    assert change(api, PASSWORD, NEW).status == 200


@pytest.mark.parametrize("new,says", [
    ("short", "too short"), ("x" * 257, "new_password"), ("", "new_password"),
    ("password123", "first that others"), ("aaaaaaaaaaaa", "repeats"),
    ("abcdefghijkl", "sequence"), (None, "new_password")])
def test_the_new_one_keeps_the_rules(house, new, says):
    email = house.person()
    api = house.enter(email)
    answer = change(api, PASSWORD, new)
    assert answer.status == 400 and says in answer.message, answer
    assert status(api) == 200 and house.sign_in(email).status == 200


def test_it_has_not_the_name_in_it(house):
    email = f"bartholomew{unique('x')}@example.com"
    house.person(email=email)
    answer = change(house.enter(email), PASSWORD, email.split("@")[0] + " 77 lamps")
    assert answer.status == 400 and "the name in your e-mail address" in answer.message, answer


def test_a_rule_that_is_broken_is_no_guess(house):
    email = house.person()
    api = house.enter(email)
    for _ in range(7):
        answer = change(api, PASSWORD, "short")
        assert answer.status == 400 and "too short" in answer.message, answer
    assert house.failures(email) == {}
    assert change(api, PASSWORD, NEW).status == 200


def test_only_who_has_a_password_changes_it(house):
    email = house.person()
    person = house.enter(email)
    house.store.ask("UPDATE user_account SET password_hash = NULL WHERE email = ?", email)
    for caller in house.admin.key("admin"), person:
        answer = change(caller, PASSWORD, NEW)
        assert answer.status == 400 and answer.message == "this account has no password", answer
        assert status(caller) == 200
    assert change(Api(house.gateway), PASSWORD, NEW).status == 401


# By an admin ------------------------------------------------------------------------------------

def test_an_admin_sets_a_new_password(house):
    email = house.person("dev")
    api = house.enter(email)
    root = house.admin.get("/userinfo").json["email"]
    house.mark()
    answer = house.put(email, groups=["dev"], password=NEW)
    assert "password" not in answer.json and NEW not in answer.body.decode()
    assert status(api) == 401
    assert house.sign_in(email).status == 401
    assert status(house.enter(email, NEW)) == 200
    assert house.entries(PASSWORD, NEW)[0] == ("users", "update", 200, root)
    # Without one it stays, and so do the sessions.
    api = house.enter(email, NEW)
    house.put(email, groups=["dev"], name="Another Name")
    assert status(api) == 200 and house.sign_in(email, NEW).status == 200
    refused = house.admin.put(f"/users/{email}", {"email": email, "password": "short"})
    assert refused.status == 400 and status(api) == 200


def test_who_may_not_sign_in_any_more(house):
    for ends in "inactive", "invited", None:
        email = house.person()
        api = house.enter(email)
        assert status(api) == status(api) == 200  # remembered
        if ends is None:
            assert house.admin.delete(f"/users/{email}").status == 204
        else:
            house.put(email, status=ends)
        assert status(api) == 401
        assert house.sign_in(email).status == 401


# Signing out ------------------------------------------------------------------------------------

def test_signing_out_ends_this_session_or_all(house):
    email = house.person()
    one, two, three = [house.enter(email) for _ in range(3)]
    other = house.enter(house.person())
    house.mark()
    assert one.post("/logout").status == 204
    assert [status(api) for api in (one, two, three, other)] == [401, 200, 200, 200]
    answer = two.post("/logout?everywhere=true")
    assert answer.status == 204 and "Max-Age=0" in answer.headers["Set-Cookie"]
    assert [status(api) for api in (one, two, three, other)] == [401, 401, 401, 200]
    assert one.post("/logout").status == 401
    assert status(house.enter(email)) == 200  # a moment later
    assert house.entries() == [*[("sign_in", "sign_out", 204, email)] * 2,
                               ("sign_in", "sign_in", 200, email)]
    key = house.admin.key()
    assert key.post("/logout").status == 400 and status(key) == 200


# At every gateway -------------------------------------------------------------------------------

class Pair:
    """Two gateways on one PostgreSQL; what is changed at the first is asked of the second."""

    def __init__(self, first, second):
        self.house, self.second = House(first), second
        self.boss = Api(second, self.house.admin.token)

    def at(self, api):
        return Api(self.second, api.token)


@pytest.fixture(scope="module")
def pair(tmp_path_factory, postgres):
    folder = tmp_path_factory.mktemp("pair")
    flags = [*TRUSTED, "--database-url", postgres.create(f"pair_{time.monotonic_ns()}"),
             "--master-key-file", folder / "key"]
    gateways = [Gateway(folder / name, *flags) for name in ("first", "second")]
    yield Pair(*gateways)
    assert [gateway.stop() for gateway in gateways] == [0, 0], [g.text() for g in gateways]


def test_a_status_counts_everywhere(pair):
    house = pair.house
    email = house.person()
    there = pair.at(house.enter(email))
    for now, expected in ("inactive", 401), ("active", 200), ("invited", 401), ("active", 200):
        house.put(email, status=now)
        assert [status(there) for _ in range(3)] == [expected] * 3
    assert house.admin.delete(f"/users/{email}").status == 204
    assert status(there) == 401


def test_a_group_counts_everywhere(pair):
    house = pair.house
    email = house.person("dev")
    there = pair.at(house.enter(email))
    for groups, expected in (["admin"], 200), (["auditor"], 403), ([], 403), (["admin"], 200):
        house.put(email, groups=groups)
        assert there.get("/userinfo").json["groups"] == groups
        assert [status(there, "/api-keys") for _ in range(3)] == [expected] * 3
    assert house.admin.post("/users/groups", {"name": "night"}).status == 201
    house.put(email, groups=["admin", "night"])
    assert sorted(there.get("/userinfo").json["groups"]) == ["admin", "night"]
    assert house.admin.delete("/users/groups/night").status == 204
    assert there.get("/userinfo").json["groups"] == ["admin"]


def test_a_key_counts_everywhere(pair):
    house = pair.house
    name = unique("key")
    made = house.admin.post("/api-keys", {"name": name, "groups": ["admin"]}).json
    there = Api(pair.second, made["key"])
    by_header = {"headers": {"Api-Key": made["key"]}}
    assert [status(there, "/api-keys") for _ in range(3)] == [200] * 3
    assert house.admin.put(f"/api-keys/{name}", {"name": name, "groups": ["dev"]}).status == 200
    assert status(there, "/api-keys") == 403
    assert Api(pair.second).get("/userinfo", **by_header).status == 200
    assert house.admin.delete(f"/api-keys/{name}").status == 204
    assert status(there) == Api(pair.second).get("/userinfo", **by_header).status == 401
    assert house.admin.post(f"/api-keys/{name}/reactivate").status == 200
    assert status(there) == Api(pair.second).get("/userinfo", **by_header).status == 200


def test_the_end_of_a_token_counts_everywhere(pair):
    house = pair.house
    email = house.person()
    one, two, three = [house.enter(email) for _ in range(3)]
    there = [pair.at(api) for api in (one, two, three)]
    assert [status(api) for api in there] == [200] * 3
    assert one.post("/logout").status == 204
    assert [status(api) for api in there] == [401, 200, 200]
    changed = change(two, PASSWORD, NEW)
    assert [status(api) for api in there] == [401] * 3
    four = Api(pair.second, changed.headers["Token"])
    assert status(four) == 200
    house.put(email, password=PASSWORD)
    assert status(four) == 401
    five = house.enter(email, gateway=pair.second)
    assert [status(five), status(Api(house.gateway, five.token))] == [200, 200]
    assert five.post("/logout?everywhere=true").status == 204
    assert [status(five), status(Api(house.gateway, five.token))] == [401, 401]


def test_what_one_may_see_counts_everywhere(pair):
    boss = pair.house.admin
    box = boss.post("/resources", resource(env_vars={"A": "value"})).json["name"]
    one, two = [boss.post("/connections", connection()).json["name"] for _ in range(2)]
    email = pair.house.person("dev")
    there = pair.at(pair.house.enter(email))

    def seen():
        names = {row["name"] for row in there.get("/connections").json["data"]}
        return one in names, two in names
    assert seen() == (True, True)
    assert boss.put(f"/connections/{one}/access", {"groups": ["admin"]}).status == 200
    assert seen() == (False, True)
    assert boss.put("/orgs/default-access", {"default_access": "nobody"}).status == 200
    assert seen() == (False, False)
    assert boss.put(f"/connections/{one}/access", {"groups": ["admin", "dev"]}).status == 200
    assert seen() == (True, False)
    assert boss.put(f"/connections/{one}/access", {"groups": []}).status == 200
    assert seen() == (False, False)  # the last rule went, and opens nothing
    assert boss.put("/orgs/default-access", {"default_access": "members"}).status == 200
    assert seen() == (True, True)
    assert boss.put(f"/connections/{two}/access", {"groups": ["admin"]}).status == 200
    assert seen() == (True, False)

    def shown():
        return pair.boss.get(f"/resources/{box}").json["env_vars"]["A"]
    for hides, expected in (False, "value"), (True, ""), (False, "value"):
        assert boss.put("/orgs/hide-role-info", {"hide_role_info": hides}).status == 200
        assert shown() == expected


def test_a_rule_counts_with_the_next_request(house):
    boss = house.admin
    box = boss.post("/resources", resource(env_vars={"A": "value"})).json["name"]
    name = boss.post("/connections", connection()).json["name"]
    member = house.enter(house.person("dev"))
    for groups, expected in ([], 200), (["admin"], 404), (["dev"], 200), (["admin"], 404):
        assert boss.put(f"/connections/{name}/access", {"groups": groups}).status == 200
        assert status(member, f"/connections/{name}") == expected
    assert boss.put(f"/connections/{name}/access", {"groups": []}).status == 200
    for hides, expected in (True, ""), (False, "value"):
        assert boss.put("/orgs/hide-role-info", {"hide_role_info": hides}).status == 200
        assert boss.get(f"/resources/{box}").json["env_vars"]["A"] == expected


# To the moment ----------------------------------------------------------------------------------

def test_a_key_ends_at_its_moment(house):
    ends = time.time() + 1
    written = datetime.datetime.fromtimestamp(ends, datetime.timezone.utc).isoformat()
    made = house.admin.post("/api-keys", {"name": unique("key"), "expires_at": written})
    assert made.status == 201, made
    key = Api(house.gateway, made.json["key"])
    seen = []
    while not seen or seen[-1][0] <= ends + 0.1:
        begun = time.time()
        seen.append((begun, status(key) == 200, time.time()))
    before = [is_good for begun, is_good, done in seen if done < ends - 0.001]
    after = [is_good for begun, is_good, done in seen if begun > ends + 0.001]
    assert len(before) > 10 and all(before)
    assert len(after) > 3 and not any(after)
