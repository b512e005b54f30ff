# SPDX-License-Identifier: MIT
"""Tokens of the provider: which id tokens sign in, and which access tokens the API takes."""
import concurrent.futures
import time

import pytest

from api import Api, register, resource, role, unique
from conftest import wait_for
from oidc import CLI, SECRET_ENV, Browser, RelyingParty, Site, arguments_for, decode, new_site
from oidc import Provider as ProviderProgram


def is_turned_away(site, person, is_broken=False):
    """A broken answer may as well count as no answer."""
    before = len(site.admin.get("/users").json)
    done = site.sign_in(person)
    assert done.token is None, done
    assert (done.status, done.error) == (302, "sign_in_refused") or (
        is_broken and done.status == 503), done
    assert len(site.admin.get("/users").json) == before
    return True


@pytest.mark.parametrize("alg", ["RS256", "PS256", "ES256", "EdDSA"])
def test_algorithms(quick_site, alg):
    site = quick_site
    site.provider.set(client={"id_token_signed_response_alg": alg})
    person = site.provider.person()
    assert site.enter(person).get("/userinfo").status == 200
    token = RelyingParty(site.provider).jwt(person)
    assert decode(token)[0]["alg"] == alg
    assert site.who(token).status == 200
    site.provider.spoil(sign="damaged")
    assert is_turned_away(site, site.provider.person())
    head, body, signature = token.split(".")
    changed = ("A" if signature[5] != "A" else "B").join((signature[:5], signature[6:]))
    assert site.who(f"{head}.{body}.{changed}").status == 401


SPOILT = {
    "another audience": {"claims": {"aud": "other"}},
    "an audience like ours": {"claims": {"aud": "gatehouse2"}},
    "an audience in capitals": {"claims": {"aud": "Gatehouse"}},
    "no audience": {"claims": {"aud": None}},
    "an empty audience": {"claims": {"aud": []}},
    "audiences without ours": {"claims": {"aud": ["a", "b"]}},
    "an audience that is no text": {"claims": {"aud": {"gatehouse": True}}},
    "ours as part of a text": {"claims": {"aud": "gatehouse other"}},
    "authorized for another": {"claims": {"aud": ["gatehouse", "other"], "azp": "other"}},
    "another issuer": {"claims": {"iss": "https://other.example"}},
    "an issuer with a slash": {"claims": {"iss": "{issuer}/"}},
    "no issuer": {"claims": {"iss": None}},
    "another nonce": {"claims": {"nonce": "other"}},
    "no nonce": {"claims": {"nonce": None}},
    "an empty nonce": {"claims": {"nonce": ""}},
    "a nonce that is no text": {"claims": {"nonce": True}},
    "expired": {"claims": {"exp": 1}},
    "expired by its own clock": {"claims": {"exp": "{past}"}},
    "no expiry": {"claims": {"exp": None}},
    "an expiry that is no number": {"claims": {"exp": "never"}},
    "not valid yet": {"claims": {"nbf": "{future}"}},
    "no subject": {"claims": {"sub": None}},
    "an empty subject": {"claims": {"sub": ""}},
    "a subject that is no text": {"claims": {"sub": 7}},
    "alg none": {"header": {"alg": "none"}, "sign": "none"},
    "alg None": {"header": {"alg": "None"}, "sign": "none"},
    "alg NONE": {"header": {"alg": "NONE"}, "sign": "none"},
    "no alg": {"header": {"alg": None}, "sign": "none"},
    "no signature": {"sign": "none"},
    "HS256 with the client secret": {"header": {"alg": "HS256"}, "sign": "secret"},
    "HS256 with the public key": {"header": {"alg": "HS256"}, "sign": "public-key"},
    "HS256 without a kid": {"header": {"alg": "HS256", "kid": None}, "sign": "secret"},
    "a key in the token": {"header": {"jwk": True}, "sign": "stranger"},
    "a key in the token, no kid": {"header": {"jwk": True, "kid": None}, "sign": "stranger"},
    "keys at an address": {"header": {"jku": "{issuer}/stranger"}, "sign": "stranger"},
    "keys at an address, their kid": {
        "header": {"jku": "{issuer}/stranger", "kid": "rsa-0"}, "sign": "stranger"},
    "a certificate at an address": {"header": {"x5u": "{issuer}/stranger"}, "sign": "stranger"},
    "another's key": {"sign": "stranger"},
    "a damaged signature": {"sign": "damaged"},
    "a critical header we know not": {"header": {"crit": ["exp"], "exp": 1}},
    "the wrong key for its kid": {"header": {"alg": "PS256", "kid": "ec-1"}},
    "an algorithm for another key": {"header": {"alg": "ES256"}},
    "no id token": {"text": ""},
    "no token at all": {"text": "x"},
    "two dots": {"text": ".."},
    "three dots": {"text": "e30.e30.e30.e30"},
    "no header": {"text": ".e30.e30"},
    "not base64": {"text": "!.!.!"},
    "not JSON": {"text": "eA.eA.eA"},
    "a header that is a list": {"text": "W10.e30.eA"},
}


def filled(value, site):
    known = {"{past}": int(time.time()) - 120, "{future}": int(time.time()) + 120}
    if isinstance(value, dict):
        return {name: filled(member, site) for name, member in value.items()}
    if isinstance(value, str):
        return known.get(value, value.replace("{issuer}", site.provider.issuer))
    return value


@pytest.mark.parametrize("what", SPOILT)
def test_an_id_token_that_does_not_count(quick_site, what):
    site = quick_site
    site.provider.spoil(**filled(SPOILT[what], site))
    assert is_turned_away(site, site.provider.person(), is_broken="text" in SPOILT[what])
    assert site.provider.count("stranger") == 0  # no key is fetched from where a token says
    site.provider.set(id_token=None)
    site.enter(site.provider.person())  # and all is well as soon as tokens are


@pytest.mark.parametrize("wish", [
    {"claims": {"aud": ["gatehouse"]}}, {"claims": {"aud": ["other", "gatehouse"],
                                                    "azp": "gatehouse"}},
    {"claims": {"extra": {"deep": [{"er": "\u00e4" * 100}]}}},
    {"claims": {"iat": 1}}, {"claims": {"exp": 33000000000}}, {"header": {"typ": "JWT"}},
    {"claims": {"exp": "{soon}"}}])
def test_an_id_token_that_counts(quick_site, wish):
    wish = {name: {key: time.time() + 60.5 if value == "{soon}" else value
                   for key, value in part.items()} for name, part in wish.items()}
    quick_site.provider.spoil(**wish)
    quick_site.enter(quick_site.provider.person())


@pytest.mark.parametrize("subject", ["auth0|b/c d", "Größe\u2028", "'; --", "x" * 255])
def test_a_subject_is_any_text(quick_site, subject):
    email = f"{unique('x')}@example.com"
    person = quick_site.provider.person(subject, email=email)
    if not subject.isascii():  # no header of the browser has such: the token alone says so
        person = quick_site.provider.person(email=email, groups=[])
        quick_site.provider.spoil(claims={"sub": subject})
    assert quick_site.enter(person).get("/userinfo").json["email"] == email


@pytest.mark.parametrize("seconds", [30, -30])
def test_a_clock_that_differs_a_little(quick_site, seconds):
    site, person = quick_site, quick_site.provider.person()
    site.provider.set(id_token_seconds=20)
    site.provider.clock(seconds)
    site.enter(person)


def test_a_clock_far_behind(quick_site):
    quick_site.provider.set(id_token_seconds=20)
    quick_site.provider.clock(-120)
    assert is_turned_away(quick_site, quick_site.provider.person())


def test_a_clock_far_ahead(quick_site):
    quick_site.provider.clock(120)
    assert is_turned_away(quick_site, quick_site.provider.person())


# --- keys that change ---

@pytest.fixture
def other_provider(tmp_path):
    """One whose keys a test may change."""
    provider = ProviderProgram(str(tmp_path / "provider"))
    yield provider
    assert provider.is_alive(), provider.text()
    provider.stop()


def test_keys_change(start, other_provider):
    provider = other_provider
    site = Site(start(*arguments_for(provider), env=SECRET_ENV), provider)
    register(site.gateway)
    person = provider.person()
    site.enter(person)
    fetched = time.monotonic()
    rp = RelyingParty(provider)
    old = rp.jwt(person)
    for _ in range(5):
        site.enter(person)
        assert site.who(old).status == 200
    assert provider.count("jwks") == 1
    # A storm of tokens of unknown keys is no storm of questions.
    strange = [provider.sign(site.access_claims(person), {"kid": f"unknown-{i}"})
               for i in range(40)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert {answer.status for answer in pool.map(site.who, strange)} == {401}
    assert provider.count("jwks") <= 2
    assert site.who(old).status == 200
    # New keys count at once where the last question is ten seconds old.
    time.sleep(max(0, fetched + 10.5 - time.monotonic()))
    before = provider.count("jwks")
    provider.do("rotate")
    new = rp.jwt(person)
    assert site.who(new).status == 200
    site.enter(person)
    assert site.who(old).status == 401  # its key is gone
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert {answer.status for answer in pool.map(site.who, [old, *strange])} == {401}
    assert site.who(new).status == 200
    assert provider.count("jwks") == before + 1


def test_a_withdrawn_key_ends_with_its_time(start, other_provider):
    """By then nothing is believed by it any more, whether the provider answers or not."""
    provider = other_provider
    provider.set(keys_cache="public, must-revalidate, max-age=2")
    site = Site(start(*arguments_for(provider), env=SECRET_ENV), provider)
    register(site.gateway)
    person = provider.person(groups=["dev"])
    own = site.enter(person)
    rp = RelyingParty(provider)
    tokens = [rp.jwt(person) for _ in range(3)]
    wait_for(lambda: site.who(tokens[0]).status == 200, what="the person")
    provider.do("rotate")
    time.sleep(2.1)
    assert site.who(tokens[0]).status == 401  # though it was found good a moment ago
    assert site.who(tokens[1]).status == 401
    new = rp.jwt(person)
    assert site.who(new).status == 200
    provider.do("rotate")
    provider.set(keys_cache="max-age=2", faults={"jwks": {"status": 500}})
    time.sleep(2.1)
    assert site.who(new).status == 503 and site.who(rp.jwt(person)).status == 503
    assert site.sign_in(person).status == 503
    assert own.get("/userinfo").status == 200
    provider.do("reset")
    wait_for(lambda: site.who(new).status == 401, what="the provider")


@pytest.mark.parametrize("header", ["no-store", "no-cache", "max-age=0", "max-age=-1", "max-age=x",
                                    "max-age=99999999999999999999", "", "private"])
def test_keys_are_kept_a_while_whatever_is_said(start, provider, header):
    """Else each token would be a question."""
    provider.set(keys_cache=header)
    site = Site(start(*arguments_for(provider), env=SECRET_ENV), provider)
    register(site.gateway)
    person = provider.person(groups=["dev"])
    site.enter(person)
    for _ in range(5):
        assert site.who(RelyingParty(provider).jwt(person)).status == 200
    assert provider.count("jwks") == 1


# --- access tokens of the provider ---

@pytest.fixture
def known(quick_site):
    """A person who has signed in before."""
    person = quick_site.provider.person()
    quick_site.enter(person)
    quick_site.provider.do("reset")
    return person


def test_a_jwt(quick_site, known):
    rp = RelyingParty(quick_site.provider)
    token = rp.jwt(known)
    answer = quick_site.who(token)
    assert answer.status == 200 and answer.json["email"] == f"{known}@example.com"
    assert answer.json["is_admin"] is False
    assert Api(quick_site.gateway, token).get("/api-keys").status == 403
    assert quick_site.provider.count("userinfo") == 0
    assert Api(quick_site.gateway).get("/userinfo", headers={
        "Authorization": f"bearer {token}"}).status == 200


def test_a_jwt_for_another_application(quick_site, known):
    rp = RelyingParty(quick_site.provider)
    for audience in "other", "gatehouse2", "GATEHOUSE":
        assert quick_site.who(rp.jwt(known, audience)).status == 401
    assert quick_site.provider.count("userinfo") == 0


ACCESS = {
    "as it should be": ({}, {}, "current", 200),
    "ours among audiences": ({"aud": ["x", "gatehouse"]}, {}, "current", 200),
    "typ at+jwt": ({}, {"typ": "at+jwt"}, "current", 200),
    "just expired": ({"exp": -30}, {}, "current", 200),
    "valid in a moment": ({"nbf": 30}, {}, "current", 200),
    "no kid, and one key fits": ({}, {"kid": None, "alg": "ES256"}, "current", 200),
    "expired": ({"exp": -120}, {}, "current", 401),
    "no expiry": ({"exp": None}, {}, "current", 401),
    "an expiry as text": ({"exp": "33000000000"}, {}, "current", 401),
    "not valid yet": ({"nbf": 120}, {}, "current", 401),
    "another audience": ({"aud": "other"}, {}, "current", 401),
    "no audience": ({"aud": None}, {}, "current", 401),
    "no audiences": ({"aud": []}, {}, "current", 401),
    "audiences of others": ({"aud": ["a", "b"]}, {}, "current", 401),
    "another issuer": ({"iss": "https://other.example"}, {}, "current", 401),
    "no issuer": ({"iss": None}, {}, "current", 401),
    "an unknown subject": ({"sub": "nobody"}, {}, "current", 401),
    "no subject": ({"sub": None}, {}, "current", 401),
    "an empty subject": ({"sub": ""}, {}, "current", 401),
    "a subject as a number": ({"sub": 7}, {}, "current", 401),
    "alg none": ({}, {"alg": "none"}, "none", 401),
    "no signature": ({}, {}, "none", 401),
    "HS256 with the client secret": ({}, {"alg": "HS256"}, "secret", 401),
    "HS256 with the public key": ({}, {"alg": "HS256"}, "public-key", 401),
    "a key in the token": ({}, {"jwk": True}, "stranger", 401),
    "keys at an address": ({}, {"jku": "{issuer}/stranger"}, "stranger", 401),
    "another's key": ({}, {}, "stranger", 401),
    "a damaged signature": ({}, {}, "damaged", 401),
    "a critical header": ({}, {"crit": ["x"], "x": 1}, "current", 401),
}


@pytest.mark.parametrize("what", ACCESS)
def test_what_a_jwt_must_say(quick_site, known, what):
    site = quick_site
    claims, header, how, expected = ACCESS[what]
    now = int(time.time())
    claims = {name: now + value if name in ("exp", "nbf") and isinstance(value, int) else value
              for name, value in claims.items()}
    token = site.provider.sign(site.access_claims(known, **claims), filled(header, site), how)
    answer = site.who(token)
    assert answer.status == expected, answer
    assert expected == 200 or set(answer.json) == {"message"}
    assert site.provider.count("stranger") == 0 and site.provider.count("userinfo") == 0


def test_a_token_cut_short(quick_site, known):
    site = quick_site
    token = RelyingParty(site.provider).jwt(known)
    front = token.rsplit(".", 1)[0]
    for bad in (token[:-1], token[:-10], token + "A", token + ".", token + ".e30", "." + token,
                front, front + ".", token.replace(".", "..", 1)):
        assert site.who(bad).status == 401, bad
    head, body, signature = token.split(".")
    other = site.provider.sign(site.access_claims("somebody")).split(".")[1]
    assert site.who(f"{head}.{other}.{signature}").status == 401
    assert site.provider.count("userinfo") == 0


def test_an_opaque_token(quick_site, known):
    site = quick_site
    token = RelyingParty(site.provider).opaque(known)
    for _ in range(5):
        answer = site.who(token)
        assert answer.status == 200 and answer.json["email"] == f"{known}@example.com"
    assert site.provider.count("userinfo") == 1  # kept for a minute
    for bad in ("x" * 43, token[:-1], token + "x", token.swapcase()):
        assert site.who(bad).status == 401, bad


def test_an_opaque_token_of_a_stranger(quick_site):
    site = quick_site
    token = RelyingParty(site.provider).opaque(site.provider.person())
    for _ in range(3):
        assert site.who(token).status == 401
    before = len(site.admin.get("/users").json)
    assert len(site.admin.get("/users").json) == before


@pytest.mark.parametrize("kind", ["jwt", "opaque"])
def test_who_is_inactive_or_gone_stops_at_once(quick_site, known, kind):
    site, email = quick_site, f"{known}@example.com"
    token = getattr(RelyingParty(site.provider), kind)(known)
    assert site.who(token).status == 200
    assert site.admin.put(f"/users/{email}", {
        "email": email, "status": "inactive"}).status == 200
    assert site.who(token).status == 401
    assert site.admin.put(f"/users/{email}", {"email": email, "status": "active"}).status == 200
    assert site.who(token).status == 200
    assert site.admin.delete(f"/users/{email}").status == 204
    assert site.who(token).status == 401


@pytest.mark.parametrize("kind", ["jwt", "opaque"])
def test_who_never_signed_in_is_nobody(quick_site, kind):
    """An access token makes no user, and takes up no invitation."""
    site = quick_site
    invited = site.provider.person()
    email = f"{invited}@example.com"
    assert site.admin.post("/users", {"email": email}).status == 201
    for person in invited, site.provider.person():
        assert site.who(getattr(RelyingParty(site.provider), kind)(person)).status == 401
    assert site.user(email)["status"] == "invited"


def test_a_local_account_is_not_behind_its_subject(quick_site):
    """A local user's subject belongs to no provider."""
    me = quick_site.admin.get("/userinfo").json
    [[subject]] = quick_site.store.ask("SELECT subject FROM user_account WHERE id = ?", me["id"])
    token = quick_site.provider.sign(quick_site.access_claims(subject))
    assert quick_site.who(token).status == 401


def test_a_token_in_the_cookie_is_ours_alone(quick_site, known):
    token = RelyingParty(quick_site.provider).jwt(known)
    answer = Api(quick_site.gateway).get("/userinfo", headers={
        "Cookie": f"gatehouse_token={token}"})
    assert answer.status == 401


def test_groups_of_an_access_token_change_nothing(quick_site, known):
    site = quick_site
    token = site.provider.sign(site.access_claims(known, groups=["admin"]))
    assert site.who(token).json["is_admin"] is False
    assert site.user(f"{known}@example.com")["groups"] == []


def test_a_service_account(quick_site):
    site = quick_site
    rp = RelyingParty(site.provider)
    answer = site.admin.post("/serviceaccounts", {
        "subject": "machine", "name": "machine", "status": "active", "groups": ["robots"]})
    if answer.status == 404:
        pytest.skip("there are no service accounts yet")
    assert answer.status == 201, answer
    token = rp.machine_jwt()
    found = site.who(token)
    assert found.status == 200 and found.json["groups"] == ["robots"], found
    assert site.who(rp.machine_jwt("other-machine")).status == 401
    assert site.who(rp.machine_jwt(audience="other")).status == 401
    path = f"/serviceaccounts/{answer.json['id']}"
    assert site.admin.put(path, {"subject": "machine", "name": "machine", "status": "inactive",
                                 "groups": ["robots"]}).status == 200
    assert site.who(token).status == 401


def test_another_audience(tmp_path, provider):
    site = new_site(tmp_path, provider, "--oidc-audience", "https://api.example/")
    try:
        person = provider.person()
        site.enter(person)  # id tokens are for the client id, as ever
        rp = RelyingParty(provider)
        assert site.who(rp.jwt(person, "https://api.example/")).status == 200
        assert site.who(rp.jwt(person, "https://api.example")).status == 401
        assert site.who(rp.jwt(person, "gatehouse")).status == 401
        provider.spoil(claims={"aud": "https://api.example/"})
        assert site.sign_in(person).error == "sign_in_refused"
        provider.set(id_token=None)
        id_token = rp.tokens(person)["id_token"]
        assert site.who(id_token).status == 401
    finally:
        assert site.gateway.stop() == 0


def test_what_is_ours_is_never_shown_to_the_provider(quick_site):
    """Sent by mistake, it would be a secret more in the hands of whoever reads the provider's log."""
    site = quick_site
    agent = site.admin.post("/agents", {"name": unique("agent")}).json["token"]
    secret = agent.rpartition("@")[0].rpartition(":")[2] if "://" in agent else agent
    assert secret.startswith("gha_"), agent
    key = site.admin.key("dev").token
    made = site.admin.post("/resources", resource(unique("r"), roles=[role(name := unique("c"))]))
    assert made.status == 201, made
    native = site.admin.post(f"/connections/{name}/credentials", {})
    assert native.status == 201, native
    password = native.json["connection_credentials"]["password"]
    site.provider.do("reset")
    for text in (agent, secret, f'"{secret}"', secret + "x", key + "x", f"ghk_{'x' * 43}",
                 password, f"postgres://db:{password}@localhost/db", "a b", "ä" * 20):
        answer = site.gateway.get("/api/userinfo",
                                  headers={"Authorization": f"Bearer {text}".encode()})
        assert answer[0] == 401, (text, answer)
    assert site.provider.count("userinfo") == 0
    assert site.who("x" * 43).status == 401
    assert site.provider.count("userinfo") == 1  # what may be its own


def test_without_a_provider_no_token_counts(start, provider):
    gateway = start()
    api = Api(gateway, provider.sign({"sub": "x", "aud": "gatehouse", "iss": provider.issuer,
                                      "exp": int(time.time()) + 60}))
    assert api.get("/userinfo").status == 401
    assert Api(gateway, "x" * 43).get("/userinfo").status == 401
    assert provider.count("jwks") == provider.count("userinfo") == 0


def test_the_program_and_the_provider_tokens_do_not_mix(quick_site, known):
    """A token of ours sent to a redirect is ours: the provider's do not leave the gateway."""
    done = quick_site.sign_in(known, Browser(known), redirect=CLI)
    assert decode(done.token)[0]["alg"] == "EdDSA"
    assert decode(done.token)[1]["iss"] != quick_site.provider.issuer


def test_signing_out_with_a_token_of_the_provider_signs_nobody_out(site):
    people = [site.provider.person() for _ in range(2)]
    own = [site.enter(person) for person in people]
    tokens = [RelyingParty(site.provider).jwt(person) for person in people]
    subject = unique("jobs")
    assert site.admin.post("/serviceaccounts", {"subject": subject, "status": "active"}
                           ).status == 201
    tokens.append(site.provider.sign(site.access_claims(subject)))
    for token in tokens:
        answer = Api(site.gateway, token).post("/logout")
        assert answer.status == 400 and "identity provider's" in answer.message, answer
    for token in tokens:
        assert site.who(token).status == 200
    # Everywhere is where tokens of this gateway are.
    assert Api(site.gateway, tokens[0]).post("/logout?everywhere=true").status == 204
    assert [caller.get("/userinfo").status for caller in own] == [401, 200]
    assert [site.who(token).status for token in tokens] == [200, 200, 200]
