# SPDX-License-Identifier: MIT
"""Who one becomes by signing in through an OpenID Connect provider, and who is turned away."""
import concurrent.futures
import json
import re

import pytest

from api import PASSWORD, Api, login, unique
from oidc import CLI, SECRET_ENV, Browser, Site, arguments_for, query_of
from store import Store, new_organization

FROM_AFAR = {"X-Forwarded-For": "192.0.2.1"}


def is_refused(done, redirect=None):
    assert done.status == 302 and done.error == "sign_in_refused", done
    assert done.query["error_description"] and done.token is None, done
    assert redirect is None or done.location.startswith(redirect)
    return True


def invite(site, email, *groups, password=None):
    body = {"email": email, "groups": list(groups)}
    answer = site.admin.post("/users", {**body, "password": password} if password else body)
    assert answer.status == 201, answer
    return answer.json


def row_of(site, user_id):
    [row] = site.store.ask(
        "SELECT issuer, subject, email, status FROM user_account WHERE id = ?", user_id)
    return row


def groups_of(site, person):
    return sorted(site.user(f"{person}@example.com")["groups"])


def count_users(site):
    return len(site.admin.get("/users").json)


def test_a_new_person(site):
    person = site.provider.person(picture="https://example.com/a.png")
    before = count_users(site)
    me = site.enter(person).get("/userinfo").json
    user = site.user(f"{person}@example.com")
    assert user["status"] == "active" and user["groups"] == me["groups"] == []
    assert user["role"] == "standard" and user["name"] == f"Name of {person}"
    assert user["picture"] == "https://example.com/a.png"
    assert row_of(site, user["id"]) == [site.provider.issuer, person, f"{person}@example.com",
                                      "active"]
    assert me["org_id"] == site.admin.get("/userinfo").json["org_id"]
    site.enter(person)
    assert site.id_of(person) == user["id"] and count_users(site) == before + 1


def test_local_accounts_have_no_issuer(site):
    assert row_of(site, site.user("root@example.com")["id"])[0] == ""


def test_what_is_known_of_a_person_is_refreshed(site):
    person = site.provider.person(picture="https://example.com/a.png")
    site.enter(person)
    user_id = site.id_of(person)
    site.provider.person(person, email=f"new-{person}@example.com", name="New Name",
                         picture="https://example.com/b.png")
    site.enter(person)
    user = site.user(f"new-{person}@example.com")
    assert user["id"] == user_id and user["name"] == "New Name"
    assert user["picture"] == "https://example.com/b.png"
    assert site.user(f"{person}@example.com") is None
    site.provider.person(person, name=None, email=f"new-{person}@example.com")
    site.enter(person)
    assert site.user(f"new-{person}@example.com")["name"] != ""


def test_an_address_that_another_has_is_left(site):
    one, other = site.provider.person(), site.provider.person()
    site.enter(one)
    site.enter(other)
    one_id, other_id = site.id_of(one), site.id_of(other)
    site.provider.person(other, email=f"{one.upper()}@example.com", name="Other Name")
    site.enter(other)
    assert site.user(f"{other}@example.com")["name"] == "Other Name"
    assert (site.id_of(one), site.id_of(other)) == (one_id, other_id)


def test_the_subject_is_who_one_is(site):
    """Not the address: somebody else with it is somebody else."""
    one = site.provider.person()
    site.enter(one)
    user_id, before = site.id_of(one), count_users(site)
    for verified in True, False, None:
        thief = site.provider.person(email=f"{one}@example.com", email_verified=verified)
        assert is_refused(site.sign_in(thief))
    assert row_of(site, user_id)[1] == one and count_users(site) == before


def test_an_issuer_is_part_of_who_one_is(site):
    """The same subject of another provider, as after a change of the provider."""
    person = site.provider.person()
    site.enter(person)
    site.store.ask("UPDATE user_account SET issuer = 'https://other.example' WHERE id = ?",
                   site.id_of(person))
    assert is_refused(site.sign_in(person))


@pytest.mark.parametrize("password", [None, PASSWORD])
def test_who_never_came_through_a_provider_is_linked(site, password):
    person = site.provider.person()
    user = invite(site, f"{person}@Example.com", "dev", password=password)
    assert user["status"] == ("active" if password else "invited")
    me = site.enter(person).get("/userinfo").json
    assert site.id_of(person) == user["id"] and me["groups"] == ["dev"]
    issuer, subject, _, status = row_of(site, user["id"])
    assert (issuer, subject, status) == (site.provider.issuer, person, "active")
    assert is_refused(site.sign_in(site.provider.person(email=f"{person}@example.com")))


@pytest.mark.parametrize("verified", [False, None, "no", 0])
@pytest.mark.parametrize("password", [None, PASSWORD])
def test_an_address_nobody_verified_links_nobody(site, verified, password):
    email = f"{unique('invited')}@example.com"
    user = invite(site, email, "dev", password=password)
    before = count_users(site)
    person = site.provider.person(email=email, email_verified=verified)
    assert is_refused(site.sign_in(person, redirect=CLI), CLI)
    now = site.user(email)
    assert (now["id"], now["status"]) == (user["id"], user["status"])
    assert row_of(site, user["id"])[0] == "" and count_users(site) == before


def test_a_verification_belongs_to_its_address(site):
    """One in the id token says nothing of an address that stands in userinfo alone."""
    email = f"{unique('invited')}@example.com"
    invite(site, email)
    person = site.provider.person(email=email)
    site.provider.set(userinfo={"email_verified": None})
    site.provider.spoil(claims={"email": None})
    assert is_refused(site.sign_in(person))


def test_an_address_nobody_verified_is_enough_for_a_new_person(site):
    person = site.provider.person(email_verified=False)
    assert site.enter(person).get("/userinfo").json["email"] == f"{person}@example.com"


def test_who_is_inactive_is_turned_away(site):
    person = site.provider.person()
    api = site.enter(person)
    email = f"{person}@example.com"
    other = site.enter(person)
    assert site.admin.put(f"/users/{email}", {
        "email": email, "status": "inactive"}).status == 200
    assert api.get("/userinfo").status == 401 and other.get("/userinfo").status == 401
    assert is_refused(site.sign_in(person), site.url)
    assert is_refused(site.sign_in(person, redirect=CLI), CLI)
    assert site.user(email)["status"] == "inactive"
    assert site.admin.put(f"/users/{email}", {"email": email, "status": "active"}).status == 200
    assert site.enter(person).get("/userinfo").status == 200


def test_an_inactive_invitation_is_not_taken_up(site):
    person = site.provider.person()
    email = f"{person}@example.com"
    invite(site, email, password=PASSWORD)
    assert site.admin.put(f"/users/{email}", {
        "email": email, "status": "inactive"}).status == 200
    assert is_refused(site.sign_in(person))
    assert site.user(email)["status"] == "inactive"


@pytest.mark.parametrize("email", [None, "", "no address", "a@b@c", "x" * 400 + "@example.com",
                                   "a\u0000b@example.com", 7, ["a@example.com"]])
def test_an_address_that_is_none(site, email):
    before = count_users(site)
    done = site.sign_in(site.provider.person(email=email))
    assert done.status == 302 and done.error == "sign_in_refused", done
    assert count_users(site) == before


@pytest.mark.parametrize("name", ["", " ", "x" * 5000, "a\u0001b", "\u202e\U0001f600", 7, {"a": 1}])
def test_an_odd_name_is_no_reason(site, name):
    person = site.provider.person(name=name, picture=name)
    assert site.enter(person).get("/userinfo").json["email"] == f"{person}@example.com"


def test_claims_that_only_userinfo_has(site):
    site.provider.set(claims_in_id_token=False)
    person = site.provider.person(groups=["one"])
    me = site.enter(person).get("/userinfo").json
    assert me["email"] == f"{person}@example.com" and me["groups"] == ["one"]


def test_userinfo_of_somebody_else_does_not_count(site):
    """OpenID Connect Core, 5.3.2: its subject must be that of the id token."""
    site.provider.set(claims_in_id_token=False, userinfo={"sub": "somebody", "groups": ["admin"]})
    done = site.sign_in(site.provider.person())
    assert done.token is None or not site.who(done.token).json["is_admin"], done


@pytest.mark.parametrize("claim,expected", [
    (["b", "a"], ["a", "b"]), ("one", ["one"]), ([], []), (["a", "a"], ["a"]), ([""], None),
    (["x" * 5000, "ok"], None), (["a\u0000b", "ok"], None), ([1, "ok"], None), (7, None),
    ({"a": "b"}, None), (["a b", "Größe"], None)])
def test_the_groups_claim(site, claim, expected):
    person = site.provider.person(groups=claim)
    if expected is None:  # whatever it makes of it, it stands
        done = site.sign_in(person)
        assert done.status == 302 and (done.token or done.error == "sign_in_refused"), done
        return
    assert sorted(site.enter(person).get("/userinfo").json["groups"]) == expected
    assert groups_of(site, person) == expected
    names = [group if isinstance(group, str) else group["name"]
             for group in site.admin.get("/users/groups").json]
    assert set(expected) <= set(names)


def test_groups_are_replaced_at_each_sign_in(site):
    person = site.provider.person(groups=["a", "b"])
    api = site.enter(person)
    for claim, expected in ((["b", "c"], ["b", "c"]), (None, ["b", "c"]), ("d", ["d"]),
                            (None, ["d"]), ([], []), (["a"], ["a"])):
        site.provider.person(person, groups=claim)
        site.enter(person)
        assert groups_of(site, person) == expected, claim
        assert sorted(api.get("/userinfo").json["groups"]) == expected  # a token of before, too


def test_groups_given_here_stay_when_there_is_no_claim(site):
    person = site.provider.person()
    site.enter(person)
    email = f"{person}@example.com"
    assert site.admin.put(f"/users/{email}", {"email": email, "groups": ["given"]}).status == 200
    site.enter(person)
    assert groups_of(site, person) == ["given"]
    site.provider.person(person, groups=["claimed"])
    site.enter(person)
    assert groups_of(site, person) == ["claimed"]


def test_a_group_makes_an_admin_and_unmakes_one(site):
    person = site.provider.person(groups=["admin"])
    api = site.enter(person)
    assert api.get("/userinfo").json["is_admin"] is True and api.get("/api-keys").status == 200
    site.provider.person(person, groups=["dev"])
    site.enter(person)
    assert api.get("/api-keys").status == 403  # the first admin is still there
    site.provider.person(person, groups=["auditor"])
    site.enter(person)
    assert api.get("/audit/logs").status == 200 and api.get("/api-keys").status == 403


def test_another_organization(site):
    boss = new_organization(site.admin)
    organization = boss.get("/userinfo").json["org_id"]
    [[name]] = site.store.ask("SELECT name FROM organization WHERE id = ?", organization)
    stranger = site.provider.person()
    assert is_refused(site.sign_in(stranger, organization=name))  # new people: the default only
    email = f"{stranger}@example.com"
    assert boss.get(f"/users/{email}").status == 404
    assert boss.post("/users", {"email": email, "groups": ["dev"]}).status == 201
    there = site.enter(stranger, organization=name).get("/userinfo").json
    assert there["org_id"] == organization and there["groups"] == ["dev"]
    here = site.enter(stranger).get("/userinfo").json  # and somebody else in the default one
    assert here["org_id"] != organization and here["groups"] == []
    again = site.enter(stranger, organization=name).get("/userinfo").json
    assert again["org_id"] == organization and again["groups"] == ["dev"]
    assert boss.get(f"/users/{email}").json["id"] != site.id_of(stranger)


def test_an_organization_that_is_not_there(site):
    begun = site.begin(Browser(), organization=unique("none"))
    if begun.status == 200:  # the names of organizations are nobody's business
        done = site.sign_in(site.provider.person(), organization=unique("none"))
        assert done.token is None and (done.status == 400 or is_refused(done)), done
    else:
        assert begun.status in (400, 403, 404), begun


def test_passwords_go_beside_it(site):
    email = f"{unique('local')}@example.com"
    invite(site, email, password=PASSWORD)
    assert login(site.gateway, email).get("/userinfo").json["email"] == email
    person = site.provider.person()
    site.enter(person)
    for word in "", PASSWORD:  # who came through the provider has none
        answer = Api(site.gateway).post("/localauth/login", {
            "email": f"{person}@example.com", "password": word})
        assert answer.status in (400, 401), answer


# --- the audit log ---

def entries_since(site, number):
    entries = site.admin.get("/audit/logs?page_size=100").json["data"]
    return [entry for entry in entries if entry["number"] > number]


def last_entry(site):
    return site.admin.get("/audit/logs?page_size=1").json["data"][0]["number"]


def test_a_sign_in_is_one_entry(site):
    person, before = site.provider.person(groups=["dev"]), last_entry(site)
    done = site.sign_in(person)
    mine = [entry for entry in entries_since(site, before) if entry["resource_type"] == "sign_in"]
    [entry] = mine
    assert entry["action"] == "sign_in" and entry["outcome"] is True and entry["http_status"] == 302
    assert entry["error_message"] == "" and entry["client_ip"] == "127.0.0.1"
    assert entry["http_path"] == "/api/callback" and entry["http_method"] == "GET"
    assert entry["actor_email"] == f"{person}@example.com"
    text = json.dumps(entry)
    for secret in (done.token, *(query_of(done.callback.url)[name] for name in ("code", "state"))):
        assert secret not in text


def test_a_refused_sign_in_is_one_entry(site):
    person = site.provider.person()
    email = f"{person}@example.com"
    site.enter(person)
    site.admin.put(f"/users/{email}", {"email": email, "status": "inactive"})
    before = last_entry(site)
    assert is_refused(site.sign_in(person))
    [entry] = entries_since(site, before)
    assert (entry["resource_type"], entry["action"], entry["outcome"]) == (
        "sign_in", "sign_in", False)
    assert entry["http_status"] >= 300 and entry["error_message"] != ""
    assert entry["http_path"] == "/api/callback"


@pytest.mark.parametrize("wish", [{"claims": {"aud": "other"}}, {"sign": "damaged"}])
def test_a_spoilt_token_is_an_entry(site, wish):
    before = last_entry(site)
    site.provider.spoil(**wish)
    assert is_refused(site.sign_in(site.provider.person()))
    [entry] = entries_since(site, before)
    assert (entry["resource_type"], entry["action"], entry["outcome"]) == (
        "sign_in", "sign_in", False)


def test_the_chain_of_the_log_holds(site):
    site.enter(site.provider.person(name="Zoë \u202e \"quoted\" \\ name"))
    entries = site.admin.get("/audit/logs?page_size=100").json["data"]
    for later, earlier in zip(entries, entries[1:]):
        assert later["previous_hash"] == earlier["hash"]


# --- the first sign-in of a fresh gateway ---

@pytest.fixture
def fresh(start, provider, store_url):
    """A gateway where nobody is yet."""
    gateway = start(*arguments_for(provider), "--database-url", store_url, env=SECRET_ENV)
    site = Site(gateway, provider)
    if store_url.startswith("sqlite:"):
        site.store = Store(gateway)
        site.store.url, site.store.path = None, store_url.removeprefix("sqlite:")
    return site


def setup_code(site):
    return re.search(r"/register#setup_code=(\S+)", site.gateway.text()).group(1)


def test_the_first_with_the_code_is_the_admin(fresh):
    person = fresh.provider.person()
    assert Api(fresh.gateway).get("/publicserverinfo").json["setup_required"] is True
    admin = fresh.enter(person, redirect=CLI, setup_code=setup_code(fresh))
    me = admin.get("/userinfo").json
    assert me["is_admin"] is True and "admin" in me["groups"]
    assert Api(fresh.gateway).get("/publicserverinfo").json["setup_required"] is False
    second = fresh.enter(fresh.provider.person())
    assert second.get("/userinfo").json["is_admin"] is False
    # The last active admin keeps the group, whatever is claimed.
    fresh.admin = admin
    for groups in ["dev"], [], "dev":
        fresh.provider.person(person, groups=groups)
        assert fresh.enter(person).get("/userinfo").json["is_admin"] is True, groups
    assert groups_of(fresh, person) == ["admin", "dev"]
    other = fresh.provider.person(groups=["admin"])
    fresh.admin = fresh.enter(other)
    assert fresh.enter(person).get("/userinfo").json["is_admin"] is False
    assert groups_of(fresh, person) == ["dev"]


def test_the_first_needs_the_code_from_here_and_from_afar(fresh):
    person = fresh.provider.person()
    here = fresh.sign_in(person, Browser(person), redirect=fresh.url)
    assert is_refused(here, fresh.url)
    for code in ({}, {"setup_code": "x" * 20}, {"setup_code": ""},
                 {"setup_code": setup_code(fresh)[:-1]}):
        for redirect in fresh.url, CLI:
            browser = Browser(person, FROM_AFAR)
            done = fresh.sign_in(person, browser, redirect=redirect, **code)
            assert is_refused(done, redirect)
    assert fresh.store.ask("SELECT count(*) FROM user_account") == [["0"]]
    done = fresh.sign_in(person, Browser(person, FROM_AFAR), setup_code=setup_code(fresh))
    assert done.token, done
    assert fresh.who(done.token).json["is_admin"] is True
    # From then on everybody may come from everywhere.
    other = fresh.provider.person()
    done = fresh.sign_in(other, Browser(other, FROM_AFAR))
    assert fresh.who(done.token).json["is_admin"] is False
    done = fresh.sign_in(other, Browser(other), setup_code=setup_code(fresh))
    assert fresh.who(done.token).json["is_admin"] is False


def test_the_first_needs_the_code_though_the_provider_calls_him_an_admin(fresh):
    """Who says so is not who started the gateway: anybody may be a member of a group there."""
    for groups in ["dev"], ["Admin"], ["admin"], "admin", []:
        person = fresh.provider.person(groups=groups)
        for headers in None, FROM_AFAR, {"Forwarded": "for=192.0.2.1"}:
            done = fresh.sign_in(person, Browser(person, headers))
            assert is_refused(done) and "gatehouse setup-code" in done.query["error_description"]
    assert fresh.store.ask("SELECT count(*) FROM user_account") == [["0"]]
    person = fresh.provider.person(groups=["admin", "dev"])
    done = fresh.sign_in(person, Browser(person, FROM_AFAR), setup_code=setup_code(fresh))
    assert done.token, done
    me = fresh.who(done.token).json
    assert me["is_admin"] is True and sorted(me["groups"]) == ["admin", "dev"]


def test_of_two_firsts_at_once_one_is_the_admin(fresh):
    ways = []
    for _ in range(4):
        person = fresh.provider.person()
        browser = Browser(person)
        ways.append((browser, fresh.to_callback(browser, setup_code=setup_code(fresh))))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        hops = list(pool.map(lambda way: way[0].open(way[1]), ways))
    tokens = [hop.cookie("gatehouse_token")["value"] for hop in hops]
    found = [fresh.who(token).json["is_admin"] for token in tokens]
    assert sorted(found) == [False, False, False, True]


def test_an_address_is_looked_up_as_it_is_written(site):
    person = site.provider.person(email=f"{unique('o')}+tag'--@example.com")
    me = site.enter(person).get("/userinfo").json
    user = site.user(me["email"])
    assert user["email"] == me["email"] and row_of(site, user["id"])[1] == person
