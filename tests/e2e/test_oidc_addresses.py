# SPDX-License-Identifier: MIT
"""Whose an address is, and which roles a provider gives: where nobody vouches, nobody has them."""
import pytest

from api import PASSWORD, Api, register, unique
from oidc import SECRET_ENV, Site, arguments_for, new_site
from store import new_organization


def refused(done):
    assert done.status == 302 and done.error == "sign_in_refused" and done.token is None, done
    return True


def user_of(api):
    return api.get("/userinfo").json


@pytest.mark.parametrize("word", [False, None, "no", 0, "true", [True]])
def test_what_is_not_verified_is_nobodys(site, word):
    email = f"{unique('wanted')}@example.com"
    squatter = site.provider.person(email=email.upper(), email_verified=word)
    early = user_of(site.enter(squatter))
    assert (early["email"], early["verified"]) == (email.upper(), False)
    assert site.user(email)["id"] == early["id"]  # while there is nobody else
    owner = user_of(site.enter(site.provider.person(email=email)))
    assert owner["id"] != early["id"] and owner["verified"] is True
    assert site.user(email)["id"] == owner["id"]
    assert user_of(site.enter(squatter))["id"] == early["id"]
    assert site.user(early["id"])["verified"] is False and site.user(email)["id"] == owner["id"]
    assert refused(site.sign_in(site.provider.person(email=email, email_verified=word)))


def test_an_admin_invites_who_really_has_it(site):
    person = site.provider.person(email_verified=False)
    email = f"{person}@example.com"
    squatter = user_of(site.enter(person))
    answer = site.admin.post("/users", {"email": email, "groups": ["dev"]})
    assert answer.status == 201 and answer.json["verified"] is True, answer
    owner = user_of(site.enter(site.provider.person(email=email)))
    assert owner["id"] == answer.json["id"] != squatter["id"] and owner["groups"] == ["dev"]


def test_several_who_say_so(site):
    email = f"{unique('wanted')}@example.com"
    ids = [user_of(site.enter(site.provider.person(email=email, email_verified=False)))["id"]
           for _ in range(2)]
    for answer in (site.admin.get(f"/users/{email}"), site.admin.delete(f"/users/{email}"),
                   site.admin.put(f"/users/{email}", {"email": email, "groups": ["admin"]})):
        assert answer.status == 400 and "by its id" in answer.message, answer
    for user_id in ids:
        assert site.user(user_id)["email"] == email
        assert site.admin.delete(f"/users/{user_id}").status == 204


def test_the_word_of_each_sign_in_counts(site):
    person = site.provider.person(email_verified=False)
    email = f"{person}@example.com"
    for word, expected in ((False, False), (True, True), (None, True), (False, False),
                           (None, False), (True, True)):
        site.provider.person(person, email=email, email_verified=word)
        assert user_of(site.enter(person))["verified"] is expected, word
    # To another's address, by nobody's word but one's own.
    other = site.provider.person()
    site.enter(other)
    for word in True, False:
        site.provider.person(person, email=f"{other}@example.com", email_verified=word)
        assert user_of(site.enter(person))["email"] == email
    site.provider.person(person, email=f"new-{email}", email_verified=False)
    me = user_of(site.enter(person))
    assert (me["email"], me["verified"]) == (f"new-{email}", False)
    site.enter(site.provider.person(email=email))  # free again


def test_an_operator_who_says_so(tmp_path, provider):
    site = new_site(tmp_path, provider, "--oidc-trust-email", "on")
    try:
        for word, expected in ((None, True), (False, False), ("no", False), (True, True)):
            person = provider.person(email_verified=word)
            assert user_of(site.enter(person))["verified"] is expected, word
        provider.spoil(claims={"email": None, "preferred_username": f"{unique('x')}@example.com"})
        provider.set(userinfo={"email": None})
        assert user_of(site.enter(provider.person()))["verified"] is False
    finally:
        assert site.gateway.stop() == 0


def put_provider(site, **members):
    body = {"auth_method": "oidc", "oidc_config": {
        "issuer_url": site.provider.issuer, "client_id": "gatehouse", **members}}
    answer = site.admin.put("/serverconfig/auth", body)
    assert answer.status == 200, answer
    return answer.json["oidc_config"]["trust_email"]


def test_an_admin_who_says_so(start, provider):
    site = Site(start(*arguments_for(provider), env=SECRET_ENV), provider)
    site.admin = register(site.gateway)
    for members, trusts in (({}, False), ({"trust_email": True}, True),
                            ({"trust_email": None}, False)):
        assert put_provider(site, **members) is trusts
        person = provider.person(email_verified=None)
        assert user_of(site.enter(person))["verified"] is trusts


# --- other organizations ---

def named_organization(site):
    boss = new_organization(site.admin)
    return boss, boss.get("/userinfo").json["org_name"]


def test_one_address_in_many_organizations(site):
    """Each has its own password; none is kept out, or locked out, by the others'."""
    email, members = f"{unique('shared')}@example.com", []
    for number in range(4):
        boss, name = named_organization(site)
        assert boss.post("/users", {"email": email, "password": f"{PASSWORD} {number}"}
                         ).status == 201
        members.append((name, f"{PASSWORD} {number}"))
    for name, password in members:
        for named in {}, {"organization": name}:
            answer = Api(site.gateway).post("/localauth/login", {
                "email": email, "password": password, **named})
            assert answer.status == 200, answer
            me = Api(site.gateway, answer.headers["Token"]).get("/userinfo").json
            assert me["org_name"] == name
    wrong = {"email": email, "password": members[0][1], "organization": members[1][0]}
    assert Api(site.gateway).post("/localauth/login", wrong).status == 401
    for _ in range(7):  # one of them forgets his password, and is not the others' trouble
        Api(site.gateway).post("/localauth/login", wrong)
    assert Api(site.gateway).post("/localauth/login", wrong).status == 429
    for name, password in members[:1] + members[2:]:
        for named in {}, {"organization": name}:
            assert Api(site.gateway).post("/localauth/login", {
                "email": email, "password": password, **named}).status == 200


def test_a_local_account_elsewhere_keeps_nobody_out(site):
    person = site.provider.person()
    boss, _ = named_organization(site)
    assert boss.post("/users", {"email": f"{person}@example.com", "password": PASSWORD,
                                "groups": ["admin"]}).status == 201
    me = user_of(site.enter(person))
    assert me["org_name"] == "default" and me["is_admin"] is False


def test_roles_count_where_the_provider_is_trusted_for_them(site):
    boss, name = named_organization(site)
    path = "/orgs/provider-roles"
    assert site.admin.get(path).json == {"trusts_provider_roles": True}
    assert boss.get(path).json == {"trusts_provider_roles": False}
    person = site.provider.person(groups=["admin", "auditor", "dev"])
    email = f"{person}@example.com"
    assert boss.post("/users", {"email": email, "groups": []}).status == 201
    for _ in range(2):
        me = user_of(site.enter(person, organization=name))
        assert me["org_name"] == name and me["groups"] == ["dev"] and not me["is_admin"]
    user_id = boss.get(f"/users/{email}").json["id"]
    assert boss.put(f"/users/{user_id}", {"email": email, "groups": ["admin"]}).status == 200
    for groups in ["dev"], [], ["auditor"]:
        site.provider.person(person, groups=groups)
        me = user_of(site.enter(person, organization=name))
        assert me["is_admin"] and set(me["groups"]) == {"admin", *groups} - {"auditor"}, groups
    assert boss.put(path, {"trusts_provider_roles": True}).json == {"trusts_provider_roles": True}
    assert site.admin.get(path).json == {"trusts_provider_roles": True}
    site.provider.person(person, groups=["auditor"])
    assert user_of(site.enter(person, organization=name))["groups"] == ["auditor"]
    site.provider.person(person, groups=["admin"])
    assert user_of(site.enter(person, organization=name))["is_admin"]
    assert boss.put(path, {"trusts_provider_roles": False}).status == 200
    entry = boss.get("/audit/logs?resource_type=orgs").json["data"][0]
    assert entry["request_payload_redacted"] == {"trusts_provider_roles": False}
