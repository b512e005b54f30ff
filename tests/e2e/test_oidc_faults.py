# SPDX-License-Identifier: MIT
"""The provider fails, at each step: who is signed in goes on, the rest comes back by itself."""
import concurrent.futures
import json
import time

import pytest

from api import Api, register, setup_code, unique
from conftest import wait_for
from oidc import CLI, SECRET_ENV, Browser, RelyingParty, SignIn, Site, arguments_for

FAULTS = [{"status": 500}, {"status": 503}, {"mode": "cut"}, {"mode": "cut-body"},
          {"mode": "garbage"}, {"mode": "huge"}]
NAMES = [fault.get("mode") or str(fault["status"]) for fault in FAULTS]


def is_unavailable(answer):
    """Of an Answer or a Hop."""
    assert answer.status == 503, answer
    assert set(answer.json) == {"message"} and answer.json["message"], answer
    return True


def no_sign_in(hop):
    assert is_unavailable(hop)
    assert hop.location is None and hop.cookie("gatehouse_token") is None
    return True


def is_nonsense(fault, hop):
    """An answer that is no answer may count as one that refuses."""
    done = SignIn([], hop)
    return (fault == {"mode": "garbage"} and done.error == "sign_in_refused"
            and done.token is None)


@pytest.fixture
def empty_site(start, provider):
    """A gateway that has asked the provider nothing yet."""
    gateway = start(*arguments_for(provider), env=SECRET_ENV)
    return Site(gateway, provider, register(gateway))


@pytest.mark.parametrize("fault", FAULTS, ids=NAMES)
def test_no_discovery(empty_site, fault):
    site = empty_site
    site.provider.fault("discovery", **fault)
    for redirect in site.url, CLI:
        hop = site.begin(Browser(), redirect=redirect)
        assert is_unavailable(hop) and hop.all("Set-Cookie") == []


@pytest.mark.parametrize("document", [
    {"issuer": "https://other.example"}, {"issuer": None}, {"issuer": "{issuer}/x"},
    {"authorization_endpoint": None}, {"token_endpoint": None}, {"jwks_uri": None},
    {"token_endpoint": 7}, {"authorization_endpoint": "javascript:alert(1)"},
    {"token_endpoint": "file:///etc/passwd"}, {"jwks_uri": "gopher://127.0.0.1/"}],
    ids=json.dumps)
def test_a_discovery_that_cannot_be_used(empty_site, document):
    site = empty_site
    site.provider.set(discovery={
        name: value.replace("{issuer}", site.provider.issuer) if isinstance(value, str) else value
        for name, value in document.items()})
    person = site.provider.person()
    begun = site.begin(Browser(person))
    if begun.status == 200:  # what only the callback needs may show there
        assert "jwks_uri" in document or "token_endpoint" in document
        browser = Browser(person)
        assert no_sign_in(browser.open(site.to_callback(browser)))
    else:
        assert is_unavailable(begun)


@pytest.mark.parametrize("fault", FAULTS, ids=NAMES)
def test_no_keys(empty_site, fault):
    site = empty_site
    site.provider.fault("jwks", **fault)
    person = site.provider.person()
    browser = Browser(person)
    begun = site.begin(browser)
    if begun.status == 503:  # it may ask for the keys already
        assert is_unavailable(begun)
    else:
        assert no_sign_in(browser.open(site.to_callback(browser)))
    token = RelyingParty(site.provider).jwt(person)
    assert is_unavailable(site.who(token))


@pytest.mark.parametrize("keys", [{}, {"keys": {}}, {"keys": []}, {"keys": [{}]},
                                  {"keys": [{"kty": "RSA", "n": "!", "e": "AQAB", "kid": "rsa-1"}]},
                                  {"keys": [7, None, "x"]}, [], 7])
def test_keys_that_are_none(empty_site, keys):
    site = empty_site
    site.provider.fault("jwks", status=200, body=keys)
    person = site.provider.person()
    browser = Browser(person)
    begun = site.begin(browser)
    if begun.status == 200:
        hop = browser.open(site.to_callback(browser))
        assert hop.status in (302, 503) and SignIn([], hop).token is None, hop
    assert site.who(RelyingParty(site.provider).jwt(person)).status in (401, 503)


@pytest.mark.parametrize("fault", FAULTS, ids=NAMES)
def test_no_tokens(quick_site, fault):
    site, person = quick_site, quick_site.provider.person()
    for redirect in site.url, CLI:
        browser = Browser(person)
        address = site.to_callback(browser, redirect=redirect)
        site.provider.fault("token", **fault)
        hop = browser.open(address)
        assert is_nonsense(fault, hop) or no_sign_in(hop)
        site.provider.do("reset")
    site.enter(person)


def test_tokens_refused_for_our_own_mistake(start, provider):
    """A wrong secret: the provider is well, and says so."""
    wrong = Site(start(*arguments_for(provider), env={"GATEHOUSE_OIDC_CLIENT_SECRET": "wrong"}),
                 provider)
    done = wrong.sign_in(provider.person())
    assert done.token is None and done.status in (302, 503), done
    assert done.status == 503 or done.error in ("invalid_client", "sign_in_refused")


@pytest.mark.parametrize("fault", FAULTS, ids=NAMES)
def test_no_userinfo(quick_site, fault):
    """Only where it is needed."""
    site, person = quick_site, quick_site.provider.person(groups=["dev"])
    token = RelyingParty(site.provider).opaque(person)
    other = RelyingParty(site.provider).opaque(person)
    site.enter(person)
    assert site.who(token).status == 200
    site.provider.set(claims_in_id_token=False)
    browser = Browser(person)
    address = site.to_callback(browser)
    site.provider.fault("userinfo", **fault)
    hop = browser.open(address)
    assert is_nonsense(fault, hop) or no_sign_in(hop)
    assert site.user(f"{person}@example.com")["groups"] == ["dev"]
    assert site.who(token).status == 200  # kept for a minute
    answer = site.who(other)
    assert (fault == {"mode": "garbage"} and answer.status == 401) or is_unavailable(answer)
    site.provider.do("reset")
    wait_for(lambda: site.who(other).status == 200, what="the provider")
    site.enter(person)


def test_a_slow_provider_is_waited_for(quick_site):
    site, person = quick_site, quick_site.provider.person()
    site.provider.set(faults={"token": {"mode": "slow", "ms": 1200},
                              "userinfo": {"mode": "slow", "ms": 500}})
    site.enter(person)


@pytest.mark.quiet
def test_slowness_is_not_catching(quick_site):
    """While some wait for the provider, everybody else is served."""
    site = quick_site
    ways = []
    for _ in range(4):
        browser = Browser(site.provider.person())
        ways.append((browser, site.to_callback(browser)))
    site.provider.fault("token", mode="slow", ms=1500)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(browser.open, address) for browser, address in ways]
        time.sleep(0.3)
        begin = time.monotonic()
        for _ in range(10):
            assert site.admin.get("/userinfo").status == 200
            assert site.admin.post("/users/groups", {"name": unique("group")}).status == 201
        took = time.monotonic() - begin
        assert [one.result().status for one in waiting] == [302] * 4
    assert took < 1.2, took


def test_who_is_signed_in_goes_on(start, provider):
    site = Site(start(*arguments_for(provider), env=SECRET_ENV), provider)
    person = provider.person()
    browser = Browser(person)
    done = site.sign_in(person, browser, setup_code=setup_code(site.gateway))
    cli = site.enter(person, redirect=CLI)
    jwt = RelyingParty(provider).jwt(person)
    assert site.who(jwt).status == 200
    second = RelyingParty(provider).jwt(person)
    half_way = Browser(person)
    address = site.to_callback(half_way)
    provider.do("down")
    try:
        for _ in range(3):
            assert cli.get("/userinfo").status == 200
            assert browser.open(f"{site.url}/api/userinfo").status == 200
            assert site.who(jwt).status == 200
        assert site.who(second).status == 200  # its key is known
        assert is_unavailable(site.who("x" * 43))
        assert no_sign_in(half_way.open(address))
        assert site.begin(Browser()).status in (200, 503)
        assert Api(site.gateway).get("/healthz").status == 200
        assert cli.put(f"/users/{person}@example.com", {
            "email": f"{person}@example.com", "groups": ["admin"]}).status == 200
    finally:
        provider.do("up")
    wait_for(lambda: site.begin(Browser()).status == 200, what="the provider")
    assert site.sign_in(person).token and done.token


def test_the_gateway_starts_without_the_provider(start, provider):
    provider.do("down")
    try:
        site = Site(start(*arguments_for(provider), env=SECRET_ENV), provider)
        assert is_unavailable(site.begin(Browser()))
        assert is_unavailable(site.begin(Browser(), redirect=CLI))
        token = ".".join(["eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYS0xIn0", "e30", "A" * 342])
        assert site.who(token).status in (401, 503)
        assert Api(site.gateway).get("/publicserverinfo").json["auth_method"] == "oidc"
        assert Api(site.gateway).post("/localauth/register", {
            "email": "a@example.com", "password": "lamp under seven rivers",
            "setup_code": setup_code(site.gateway)}).status == 201
    finally:
        provider.do("up")
    wait_for(lambda: site.begin(Browser()).status == 200, what="the provider")
    person = provider.person()
    assert site.who(site.enter(person).token).status == 200


def test_keys_come_back(empty_site):
    site = empty_site
    person = site.provider.person()
    token = RelyingParty(site.provider).jwt(person)
    opaque = RelyingParty(site.provider).opaque(person)
    site.provider.set(faults={"jwks": {"status": 500}, "userinfo": {"status": 500}})
    begin = time.monotonic()
    for _ in range(5):
        assert is_unavailable(site.who(token)) and is_unavailable(site.who(opaque))
    assert time.monotonic() - begin < 5
    site.provider.do("reset")
    wait_for(lambda: site.who(token).status == 401, what="the provider")
    site.enter(person)
    assert site.who(token).status == 200 and site.who(opaque).status == 200


@pytest.mark.quiet
def test_a_stop_does_not_wait_for_the_provider(start, provider):
    site = Site(start(*arguments_for(provider), "--shutdown-seconds", "1", env=SECRET_ENV),
                provider)
    browser = Browser(provider.person())
    address = site.to_callback(browser)
    provider.fault("token", mode="slow", ms=2500)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(browser.open, address)
        wait_for(lambda: provider.count("token") == 1, what="the request")
        begin = time.monotonic()
        site.gateway.process.terminate()
        site.gateway.process.wait(30)
        took = time.monotonic() - begin
        assert waiting.exception() is not None or waiting.result().status in (302, 503)
    assert took < 2.2, took
