# SPDX-License-Identifier: MIT
"""People and programs sign in through a provider: the second one, of another make than the first.

It signs with ES256, names itself in the answer to the browser (RFC 9207), publishes keys without a
'use', and its access tokens are JWTs (RFC 9068) whose audience is what the client asked for.
"""
import base64
import hashlib
import secrets
import urllib.parse

import pytest

from api import Api, setup_code, unique
from second_provider import SCOPES, Browser, Page, SecondProvider, claims_of

AUDIENCE = "https://gatehouse.example/api"
LOOPBACK = "http://127.0.0.1:45123/callback"


@pytest.fixture(scope="module")
def provider(tmp_path_factory):
    server = SecondProvider(tmp_path_factory.mktemp("provider"))
    yield server
    server.stop()


class Site:
    """A gateway and its client at the provider. The first to sign in becomes the admin."""

    def __init__(self, start, provider, *arguments, is_public=False, scopes=SCOPES, **options):
        self.provider = provider
        self.client_id = unique("gatehouse")
        secret = None if is_public else secrets.token_urlsafe(24)
        env = {} if secret is None else {"GATEHOUSE_OIDC_CLIENT_SECRET": secret}
        self.gateway = start("--oidc-issuer", provider.issuer, "--oidc-client-id", self.client_id,
                             "--oidc-audience", AUDIENCE, "--oidc-scopes", scopes, *arguments,
                             env=env, **options)
        self.public_url = self.gateway.url("")
        self.callback = self.gateway.url("/api/callback")
        provider.add_client(self.client_id, [self.callback], secret)
        self.root = self.by_console(self.person(["admin"]),
                                    setup_code=setup_code(self.gateway))

    def person(self, groups=(), verified=True):
        """The name of a fresh user of the provider; the address is the name's."""
        name = unique("person")
        self.provider.add_user(name, f"{name}@example.com", groups, verified)
        return name

    def login_url(self, browser, **query):
        page = browser.open(self.gateway.url("/api/login?" + urllib.parse.urlencode(query)))
        assert page.status == 200, page
        return page.json["login_url"]

    def finish(self, browser, name, **query):
        """The gateway's answer to the provider's."""
        back = self.provider.sign_in(browser, self.login_url(browser, **query), name,
                                     self.callback)
        assert isinstance(back, str), back
        return browser.open(back)

    def by_console(self, name, browser=None, **query):
        """As the console does: the token stays in a cookie."""
        browser = browser or Browser()
        page = self.finish(browser, name, **query)
        assert page.status == 302 and "error" not in page.headers["Location"], page
        return Api(self.gateway, browser.cookie("gatehouse_token").value)

    def by_command(self, name, browser=None, redirect=LOOPBACK):
        """As a command does, which has no cookies: the browser that it opens brings the token."""
        browser = browser or Browser()
        url = self.login_url(Browser(), redirect=redirect)
        back = self.provider.sign_in(browser, url, name, redirect)
        assert isinstance(back, str), back
        token = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(back).query))["token"]
        return Api(self.gateway, token)

    def user(self, email):
        answer = self.root.get(f"/users/{email}")
        assert answer.status == 200, answer
        return answer.json


@pytest.fixture
def site(start, provider):
    return Site(start, provider)


def has_cookie(browser, site):
    page = browser.open(site.gateway.url("/api/userinfo"))
    return page.json if page.status == 200 else None


def provider_token(provider, name, resource=AUDIENCE, redirect="http://127.0.0.1:9/another"):
    """An access token for the API that another client of the provider was given for the user."""
    client = unique("another")
    provider.add_client(client, [redirect], None, resource)
    verifier = secrets.token_urlsafe(48)
    digest = hashlib.sha256(verifier.encode()).digest()
    asked = {"response_type": "code", "client_id": client, "redirect_uri": redirect,
             "scope": "openid email", "state": "s", "nonce": "n", "resource": resource,
             "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
             "code_challenge_method": "S256"}
    back = provider.sign_in(Browser(), f"{provider.issuer}/auth?{urllib.parse.urlencode(asked)}",
                            name, redirect)
    assert isinstance(back, str), back
    code = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(back).query))["code"]
    return provider.token({"grant_type": "authorization_code", "code": code,
                           "redirect_uri": redirect, "code_verifier": verifier}, client)


def test_the_provider_can_do_what_the_tests_need(provider):
    """Without a gateway: its discovery, keys, sign-in, claims and access tokens."""
    discovery = Browser().open(f"{provider.issuer}/.well-known/openid-configuration").json
    assert discovery["issuer"] == provider.issuer
    assert discovery["code_challenge_methods_supported"] == ["S256"]
    [key] = Browser().open(discovery["jwks_uri"]).json["keys"]
    assert (key["kty"], key["crv"], key["alg"]) == ("EC", "P-256", "ES256")

    name = unique("person")
    provider.add_user(name, f"{name}@example.com", ["developers", "admin"])
    tokens = provider_token(provider, name)
    claims = claims_of(tokens["id_token"])
    assert (claims["iss"], claims["nonce"]) == (provider.issuer, "n")
    assert (claims["email"], claims["email_verified"]) == (f"{name}@example.com", True)
    assert "groups" not in claims  # its scope was not asked for
    access = claims_of(tokens["access_token"])
    assert (access["aud"], access["sub"]) == (AUDIENCE, claims["sub"])


def test_a_browser_signs_in_and_is_known_by_its_cookie(site):
    name, browser = site.person(["developers"]), Browser()
    page = site.finish(browser, name)
    assert page.status == 302 and page.headers["Location"].rstrip("/") == site.public_url, page
    cookie = browser.cookie("gatehouse_token")
    assert cookie.has_nonstandard_attr("HttpOnly")
    assert cookie.get_nonstandard_attr("SameSite").lower() == "lax"
    who = has_cookie(browser, site)
    assert who["email"] == f"{name}@example.com" and who["status"] == "active"
    assert who["groups"] == ["developers"] and who["is_admin"] is False
    assert who["name"] == f"{name} of the second provider"
    assert has_cookie(Browser(), site) is None


def test_a_command_is_given_a_token_on_its_port(site):
    name = site.person(["developers"])
    caller = site.by_command(name)
    who = caller.get("/userinfo").json
    assert (who["email"], who["groups"]) == (f"{name}@example.com", ["developers"])


def test_the_first_to_sign_in_is_the_admin(site):
    assert site.root.get("/userinfo").json["is_admin"] is True
    assert site.root.get("/users").status == 200


def test_the_redirects_query_is_kept(site):
    name = site.person()
    page = site.finish(Browser(), name, redirect=site.public_url + "/roles?tab=mine")
    assert page.status == 302 and page.headers["Location"] == site.public_url + "/roles?tab=mine"


def test_signing_in_again_is_the_same_user(site):
    name, browser = site.person(), Browser()
    first = site.by_console(name, browser).get("/userinfo").json
    assert site.by_console(name, browser).get("/userinfo").json == first  # still known there
    assert site.by_console(name).get("/userinfo").json == first  # another browser
    assert site.by_command(name).get("/userinfo").json == first
    assert [name in user["email"] for user in site.root.get("/users").json].count(True) == 1


def test_address_and_groups_follow_the_provider(site):
    name = site.person(["developers", "on-call"])
    who = site.by_console(name).get("/userinfo").json
    assert sorted(who["groups"]) == ["developers", "on-call"]
    before = site.user(f"{name}@example.com")
    site.provider.change_user(name, f"renamed-{name}@example.com", ["developers"])
    who = site.by_console(name).get("/userinfo").json
    assert who["email"] == f"renamed-{name}@example.com" and who["groups"] == ["developers"]
    assert site.user(who["email"])["id"] == before["id"]


def test_groups_of_the_gateway_stay_when_the_provider_names_none(start, provider):
    site = Site(start, provider, scopes="openid profile email")
    assert site.root.get("/userinfo").json["is_admin"] is True  # as the first
    name = site.person(["never-sent"])
    site.by_console(name)
    assert site.root.post("/users/groups", {"name": "auditors-of-may"}).status == 201
    user = site.user(f"{name}@example.com")
    user["groups"] = ["auditors-of-may"]
    assert site.root.put(f"/users/{user['id']}", user).status == 200
    assert site.by_console(name).get("/userinfo").json["groups"] == ["auditors-of-may"]


@pytest.mark.parametrize("verified", [True, False])
def test_an_invited_user_is_linked_by_a_verified_address_alone(site, verified):
    name = site.person(verified=verified)
    invited = site.root.post("/users", {"email": f"{name}@example.com", "name": name,
                                        "status": "invited", "groups": []})
    assert invited.status == 201, invited
    browser = Browser()
    page = site.finish(browser, name)
    user = site.user(invited.json["id"])
    if verified:
        assert has_cookie(browser, site)["email"] == user["email"]
        assert user["status"] == "active"
    else:
        assert page.status == 302 and "error=sign_in_refused" in page.headers["Location"], page
        assert has_cookie(browser, site) is None and user["status"] == "invited"


def test_an_inactive_user_is_refused_at_once(site):
    name, browser = site.person(), Browser()
    caller = site.by_console(name, browser)
    user = site.user(f"{name}@example.com")
    assert site.root.put(f"/users/{user['id']}", {**user, "status": "inactive"}).status == 200
    assert caller.get("/userinfo").status == 401
    page = site.finish(browser, name)
    assert page.status == 302 and "error=sign_in_refused" in page.headers["Location"], page


def test_a_public_client_signs_in_without_a_secret(start, provider):
    site = Site(start, provider, is_public=True)
    name = site.person()
    assert site.by_console(name).get("/userinfo").json["email"] == f"{name}@example.com"


def test_the_answer_of_the_provider_works_once_and_in_its_browser_alone(site):
    name, browser = site.person(), Browser()
    back = site.provider.sign_in(browser, site.login_url(browser), name, site.callback)
    other = Browser().open(back)
    assert other.status == 400 and other.json["message"]
    assert browser.open(back).status == 302
    again = browser.open(back)
    assert again.status == 400 and again.json["message"]


def test_a_wrong_state_or_code_signs_nobody_in(site):
    name, browser = site.person(), Browser()
    back = site.provider.sign_in(browser, site.login_url(browser), name, site.callback)
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(back).query))

    def answer(**changes):
        url = site.callback + "?" + urllib.parse.urlencode({**query, **changes})
        return browser.open(url)

    assert answer(state=query["state"][:-1] + "!").status == 400
    page = answer(code="a-code-that-was-never-given")
    assert page.status == 302 and "error=" in page.headers["Location"], page
    assert has_cookie(browser, site) is None


def test_a_token_of_the_provider_is_known_on_the_api(site):
    name = site.person()
    token = provider_token(site.provider, name)["access_token"]
    assert Api(site.gateway, token).get("/userinfo").status == 401  # nobody here yet
    first = site.by_console(name).get("/userinfo").json
    answer = Api(site.gateway, token).get("/userinfo")
    assert answer.status == 200 and answer.json == first, answer


def test_a_token_for_another_audience_is_not(site):
    name = site.person()
    site.by_console(name)
    for audience in ("https://another.example/api", AUDIENCE + "/more"):
        token = provider_token(site.provider, name, audience)["access_token"]
        assert claims_of(token)["aud"] == audience
        assert Api(site.gateway, token).get("/userinfo").status == 401
    good = provider_token(site.provider, name)
    assert Api(site.gateway, good["access_token"]).get("/userinfo").status == 200
    assert Api(site.gateway, good["id_token"]).get("/userinfo").status == 401
    head, payload, _ = good["access_token"].split(".")
    assert Api(site.gateway, f"{head}.{payload}.{'A' * 86}").get("/userinfo").status == 401


def test_a_program_nobody_knows_is_refused(site):
    """Its token is right, but no service account has this subject."""
    robot = unique("robot")
    site.provider.add_client(robot, [], "secret", AUDIENCE)
    answer = site.provider.token({"grant_type": "client_credentials", "scope": "openid",
                                  "resource": AUDIENCE}, robot, "secret")
    assert claims_of(answer["access_token"])["sub"] == robot
    assert Api(site.gateway, answer["access_token"]).get("/userinfo").status == 401


def test_signed_in_people_go_on_while_the_provider_is_away(start, tmp_path):
    provider = SecondProvider(tmp_path / "provider")
    site = Site(start, provider)
    provider.stop()
    assert site.root.get("/userinfo").status == 200
    page = Browser().open(site.gateway.url("/api/login"))
    if page.status == 200:  # it is known already; the way back then fails
        back = f"{site.callback}?state={urllib.parse.quote(state_of(page))}&code=x"
        assert Browser().open(back).status in (400, 503)
    else:
        assert page.status == 503 and page.json["message"]
    provider.start()
    try:
        name = site.person()
        assert site.by_console(name).get("/userinfo").status == 200
    finally:
        provider.stop()


def state_of(page: Page):
    query = urllib.parse.urlsplit(page.json["login_url"]).query
    return dict(urllib.parse.parse_qsl(query))["state"]


def test_sign_ins_are_in_the_audit_log(site):
    name = site.person()
    site.by_console(name)
    entries = site.root.get("/audit/logs?resource_type=sign_in&page_size=50").json
    mine = [entry for entry in entries["data"] if name in str(entry)]
    assert mine and mine[0]["action"] == "sign_in", entries


def test_an_issuer_in_the_answer_must_be_the_provider(site):
    """RFC 9207: an answer that another provider gave is not ours."""
    name, browser = site.person(), Browser()
    back = site.provider.sign_in(browser, site.login_url(browser), name, site.callback)
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(back).query))
    assert query["iss"] == site.provider.issuer
    query["iss"] = "https://another.example"
    page = browser.open(site.callback + "?" + urllib.parse.urlencode(query))
    assert page.status == 400 or "error=" in page.headers["Location"], page
    assert has_cookie(browser, site) is None
