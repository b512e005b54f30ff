# SPDX-License-Identifier: MIT
"""Invited people: the link that an admin gets for them, what it is good for, and when it ends."""
import concurrent.futures
import hashlib
import urllib.parse

import pytest

from api import PASSWORD, Api, setup_code, unique
from oidc import SECRET_ENV, Site, arguments_for
from people import House, new_address, totp
from store import new_organization

OTHER = "nine kettles beside a wall"


def invite(admin, email=None, **members):
    """(the address, what the answer says)"""
    email = email or f"{unique('guest')}@example.com"
    answer = admin.post("/users", {"email": email, **members})
    assert answer.status == 201, answer
    return email, answer.json


def token_of(user):
    parts = urllib.parse.urlsplit(user["invitation_url"])
    assert parts.path == "/invitation" and not parts.query
    return urllib.parse.parse_qs(parts.fragment)["token"][0]


def look(house, token):
    return Api(house.gateway).post("/localauth/invitation", {"token": token},
                                   headers={"X-Forwarded-For": new_address()})


def accept(house, token, password=PASSWORD, **members):
    return Api(house.gateway).post(
        "/localauth/invitation/accept", {"token": token, "password": password, **members},
        headers={"X-Forwarded-For": new_address()})


def is_over(answer):
    assert answer.status == 403 and "ask an admin for a new one" in answer.message, answer
    assert "Token" not in answer.headers and "Set-Cookie" not in answer.headers
    return True


def test_an_invited_person_chooses_a_password_once(house):
    house.mark()
    email, user = invite(house.admin, groups=["dev"], name="Guest")
    assert user["status"] == "invited" and user["invitation_expires_at"] > "2026"
    assert user["invitation_url"].startswith(house.gateway.url("/invitation#token=ghi_"))
    token = token_of(user)
    assert look(house, token).json == {"email": email, "name": "Guest", "organization": "default",
                                       "expires_at": user["invitation_expires_at"]}
    assert house.sign_in(email).status == 401, "nobody has a password yet"
    weak = accept(house, token, "short")
    assert weak.status == 400 and "password" in weak.message
    answer = accept(house, token, name="Her own")
    assert answer.status == 200 and answer.json == {"second_factor_required": False}
    assert answer.headers["Cache-Control"] == "no-store"
    me = Api(house.gateway, answer.headers["Token"]).get("/userinfo").json
    assert (me["email"], me["name"], me["groups"]) == (email, "Her own", ["dev"])
    assert house.enter(email)
    shown = house.admin.get(f"/users/{email}").json
    assert shown["status"] == "active" and "invitation_expires_at" not in shown
    assert is_over(accept(house, token, OTHER)) and is_over(look(house, token))
    assert house.sign_in(email, OTHER).status == 401
    entries = house.entries(token, PASSWORD)
    assert ("users", "create", 201, "root@example.com") in entries
    assert ("sign_in", "accept_invitation", 200, email) in entries


def test_what_is_kept_opens_nothing(house):
    _, user = invite(house.admin)
    token = token_of(user)
    digest = hashlib.sha256(token.encode())
    assert house.store.blob("SELECT hash FROM invitation WHERE user_id = ?",
                            user["id"]) == digest.digest()
    for wrong in (digest.hexdigest(), token[:-1], token + "x", "ghi_", token.swapcase(), user["id"], "x"):
        assert is_over(look(house, wrong)) and is_over(accept(house, wrong))
    for bad in "", "x" * 129, 7, None, ["x"]:
        assert look(house, bad).status == 400
    # It is no credential, neither here nor for a provider to see.
    assert Api(house.gateway, token).get("/userinfo").status == 401
    assert Api(house.gateway).get("/userinfo", headers={"Api-Key": token}).status == 401
    listed = house.admin.get("/users").body.decode() + house.admin.get(f"/users/{user['id']}"
                                                                       ).body.decode()
    assert "ghi_" not in listed and "invitation_expires_at" in listed
    assert token not in house.gateway.text()


@pytest.mark.parametrize("end", ["replaced", "withdrawn", "expired", "inactive", "active",
                                 "password", "deleted", "invited later"])
def test_it_ends_with_what_it_is_for(house, end):
    email, user = invite(house.admin)
    token, path = token_of(user), f"/users/{email}"
    admin = house.admin
    if end == "replaced":
        again = admin.post(f"{path}/invitation")
        assert again.status == 201 and token_of(again.json) != token
        assert look(house, token_of(again.json)).status == 200
    elif end == "withdrawn":
        assert admin.delete(f"{path}/invitation").status == 204
        assert admin.delete(f"{path}/invitation").status == 404
    elif end == "expired":
        house.store.ask("UPDATE invitation SET expires_at = expires_at - ? WHERE user_id = ?",
                        7 * 86400 * 1000000, user["id"])
    elif end == "password":
        assert admin.patch(path, {"password": OTHER}).status == 200
    elif end == "deleted":
        assert admin.delete(path).status == 204
    elif end == "invited later":
        for status in "inactive", "invited":
            assert admin.patch(path, {"status": status}).status == 200
    else:
        assert admin.patch(path, {"status": end}).status == 200
    assert is_over(look(house, token)) and is_over(accept(house, token))


def test_it_ends_while_the_password_is_computed(house):
    """Of many at once one is taken, and it is that one's password that counts."""
    email, user = invite(house.admin)
    passwords = [f"{number} rivers under the old lamp" for number in range(6)]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda word: accept(house, token_of(user), word), passwords))
    taken = [word for word, answer in zip(passwords, answers) if answer.status == 200]
    assert len(taken) == 1 and {answer.status for answer in answers} <= {200, 403, 429}
    assert house.enter(email, taken[0])


def test_only_who_is_invited_gets_a_link(house):
    active = house.person("dev")
    _, by_word = invite(house.admin, status="active")
    _, with_password = invite(house.admin, status="invited", password=PASSWORD)
    assert not [user for user in (by_word, with_password) if "invitation_url" in user]
    answer = house.admin.post(f"/users/{active}/invitation")
    assert answer.status == 409 and "'invited'" in answer.message, answer
    assert house.admin.delete(f"/users/{active}/invitation").status == 404
    assert house.admin.post("/users/nobody@example.com/invitation").status == 404
    # An admin of another organization has no say, nor a link for its people.
    _, user = invite(house.admin)
    boss = new_organization(house.admin)
    for name in user["id"], user["email"]:
        assert boss.post(f"/users/{name}/invitation").status == 404
        assert boss.delete(f"/users/{name}/invitation").status == 404
    email, theirs = invite(boss, user["email"])
    seen = look(house, token_of(theirs)).json
    assert seen["organization"] == boss.get("/userinfo").json["org_name"]
    assert accept(house, token_of(theirs)).status == 200
    assert look(house, token_of(user)).status == 200, "the other person of this address"


def test_a_second_factor_is_asked_for_as_ever(house):
    """Who is invited again comes in by the link alone no more than by a password alone."""
    email = house.person()
    person = house.enter(email)
    secret = person.post("/localauth/second-factor").json["secret"]
    assert person.post("/localauth/second-factor/confirm", {"code": totp(secret)}).status == 200
    assert house.admin.patch(f"/users/{email}", {"status": "invited"}).status == 200
    token = token_of(house.admin.post(f"/users/{email}/invitation").json)
    answer = accept(house, token, OTHER)
    assert answer.status == 200 and answer.json == {"second_factor_required": True}
    assert "Token" not in answer.headers and "Set-Cookie" not in answer.headers
    asked = house.sign_in(email, OTHER)
    assert asked.status == 401 and asked.json["second_factor_required"] is True


def test_pages_of_others_cannot_use_it(house):
    _, user = invite(house.admin)
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        for path in "", "/accept":
            answer = Api(house.gateway).post(
                f"/localauth/invitation{path}", {"token": token_of(user), "password": PASSWORD},
                headers=headers)
            assert answer.status == 403 and "own pages" in answer.message
    assert look(house, token_of(user)).status == 200


def test_who_tries_many_is_held(house):
    def knock(number):
        return Api(house.gateway).post("/localauth/invitation", {"token": f"ghi_{number}"},
                                       headers={"X-Forwarded-For": "203.0.113.77"}).status
    statuses = set()
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        for _ in range(20):  # a slow machine needs some rounds until it is too often
            statuses.update(pool.map(knock, range(150)))
            if 429 in statuses:
                break
    assert statuses == {403, 429}


def test_a_provider_takes_an_invited_person_in(site):
    """The link's page leads there; what the provider says makes the account active and ends it."""
    house = House(site.gateway, site.admin)
    person = site.provider.person()
    _, user = invite(site.admin, f"{person}@example.com", groups=["dev"])
    token = token_of(user)
    assert look(house, token).status == 200
    assert site.enter(person).get("/userinfo").json["id"] == user["id"]
    assert is_over(accept(house, token))
    boss = new_organization(site.admin)
    other = site.provider.person()
    _, theirs = invite(boss, f"{other}@example.com")
    name = look(house, token_of(theirs)).json["organization"]
    assert site.enter(other, organization=name).get("/userinfo").json["id"] == theirs["id"]
    assert is_over(look(house, token_of(theirs)))


def test_passwords_that_are_off_are_off_here_too(start, provider):
    gateway = start(*arguments_for(provider), "--local-auth", "off", env=SECRET_ENV)
    site = Site(gateway, provider)
    site.admin = site.enter(provider.person(), setup_code=setup_code(gateway))
    person = provider.person()
    _, user = invite(site.admin, f"{person}@example.com")
    house = House(gateway, site.admin)
    assert look(house, token_of(user)).status == 200
    answer = accept(house, token_of(user))
    assert answer.status == 403 and "passwords are off" in answer.message
    assert site.enter(person).get("/userinfo").json["id"] == user["id"]
