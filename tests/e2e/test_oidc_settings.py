# SPDX-License-Identifier: MIT
"""How sign-ins through a provider are set up: flags, and /serverconfig/auth in their place."""
import glob
import json
import os
import subprocess

import pytest

from api import PASSWORD, Api, login, register, setup_code, unique
from conftest import BINARY, lasting_port, wait_for
from oidc import (CLI, CLIENT_SECRET, SECRET_ENV, Browser, Provider, RelyingParty, Site,
                  arguments_for, query_of)
from store import Store, new_organization

PATH = "/serverconfig/auth"


def wanted(provider, auth_method="oidc", provider_name="Example", **changes):
    """The body of a PUT."""
    oidc = {"issuer_url": provider.issuer, "client_id": "gatehouse",
            "client_secret": CLIENT_SECRET, "scopes": ["openid", "profile", "email"],
            "audience": "", "groups_claim": "groups", **changes}
    return {"auth_method": auth_method, "provider_name": provider_name, "saml_config": None,
            "oidc_config": {name: value for name, value in oidc.items() if value is not None}}


@pytest.fixture
def plain(start, provider):
    """A gateway with an admin, and without a provider."""
    gateway = start()
    return Site(gateway, provider, register(gateway))


def sent_no_secret(provider):
    sent = provider.last_token_request()
    return (sent["status"] == 200 and not sent["basic"] and not sent["secret_in_body"]
            and sent["client_id_in_body"] and sent["verifier"] >= 43)


# --- flags ---

def test_without_a_provider(plain):
    for query in "", f"?redirect={CLI}", "?redirect=x":
        assert Api(plain.gateway).get(f"/login{query}").status in (400, 403)
    answer = Api(plain.gateway).get("/login")
    assert answer.status == 403 and answer.message
    info = Api(plain.gateway).get("/publicserverinfo").json
    assert info["auth_method"] == "local"
    assert plain.admin.get("/serverinfo").json["auth_method"] == "local"
    answer = Browser().open(f"{plain.url}/api/callback?state=x&code=y")
    assert answer.status in (400, 403), answer


def test_with_a_provider(quick_site):
    assert Api(quick_site.gateway).get("/publicserverinfo").json["auth_method"] == "oidc"
    info = quick_site.admin.get("/serverinfo").json
    assert info["auth_method"] == "oidc" and isinstance(info["idp_provider_name"], str)
    assert CLIENT_SECRET not in json.dumps(info)


def test_a_public_client(start, provider):
    site = Site(start(*arguments_for(provider, "public")), provider)
    assert site.sign_in(provider.person(), setup_code=setup_code(site.gateway)).token
    assert sent_no_secret(provider)
    assert site.who(RelyingParty(provider, "public").jwt(provider.person(), "public")).status == 401


def test_a_client_that_posts_its_secret(start, provider):
    provider.set(auth_methods=["client_secret_post", "none"])
    site = Site(start(*arguments_for(provider), env=SECRET_ENV), provider)
    assert site.sign_in(provider.person(), setup_code=setup_code(site.gateway)).token
    exchange = provider.last_token_request()
    assert exchange["secret_in_body"] and not exchange["basic"]


def test_the_secret_as_a_flag(start, provider):
    site = Site(start(*arguments_for(provider), "--oidc-client-secret", CLIENT_SECRET), provider)
    assert site.sign_in(provider.person(), setup_code=setup_code(site.gateway)).token
    assert CLIENT_SECRET not in site.gateway.text()


def test_all_from_the_environment(start, provider):
    site = Site(start(env={**SECRET_ENV, "GATEHOUSE_OIDC_ISSUER": provider.issuer,
                           "GATEHOUSE_OIDC_CLIENT_ID": "gatehouse",
                           "GATEHOUSE_OIDC_SCOPES": "openid,email",
                           "GATEHOUSE_OIDC_GROUPS_CLAIM": "roles",
                           "GATEHOUSE_OIDC_AUDIENCE": "api"}), provider)
    begun = site.begin(Browser())
    assert query_of(begun.json["login_url"])["scope"] == "openid email"
    person = provider.person()
    done = site.sign_in(person, setup_code=setup_code(site.gateway))
    assert done.token and site.who(RelyingParty(provider).jwt(person, "api")).status == 200


@pytest.mark.parametrize("scopes,expected", [
    ("openid email profile", "openid email profile"), ("openid,email", "openid email"),
    ("openid, email", "openid email"), ("openid  offline_access", "openid offline_access")])
def test_scopes(start, provider, scopes, expected):
    site = Site(start(*arguments_for(provider), "--oidc-scopes", scopes, env=SECRET_ENV), provider)
    assert query_of(site.begin(Browser()).json["login_url"])["scope"] == expected


@pytest.mark.parametrize("claim", ["roles", "urn:example:groups"])
def test_the_claim_of_groups(start, provider, claim):
    site = Site(start(*arguments_for(provider), "--oidc-groups-claim", claim, env=SECRET_ENV),
                provider)
    person = provider.person(groups=["wrong"], **{claim: ["right"]})
    me = site.enter(person, setup_code=setup_code(site.gateway)).get("/userinfo").json
    assert "right" in me["groups"] and "wrong" not in me["groups"]


def test_names_of_the_groups_of_admins(start, provider):
    site = Site(start(*arguments_for(provider), "--admin-group", "boss", "--auditor-group",
                      "looker", env=SECRET_ENV), provider)
    admin = provider.person(groups=["boss"])
    browser = Browser(admin, {"X-Forwarded-For": "192.0.2.1"})
    assert site.who(site.sign_in(admin, browser, setup_code=setup_code(site.gateway)).token).json[
        "is_admin"] is True
    reader = site.enter(provider.person(groups=["looker", "admin"]))
    assert reader.get("/audit/logs").status == 200 and reader.get("/api-keys").status == 403


def test_a_public_url(start, provider):
    """People reach it by another name: redirects, the callback and the cookie follow that."""
    port = lasting_port()
    provider.set(redirect_uris=["https://gatehouse.example/base/api/callback",
                                "https://gatehouse.example/api/callback"])
    site = Site(start(*arguments_for(provider), "--listen", f"127.0.0.1:{port}",
                      "--public-url", "https://gatehouse.example", env=SECRET_ENV), provider)
    for redirect in site.url, "http://gatehouse.example/", "https://gatehouse.example:444/":
        assert site.begin(Browser(), redirect=redirect).status == 400, redirect
    begun = site.begin(Browser(), redirect="https://gatehouse.example/connections?a=b")
    assert begun.status == 200
    sent = query_of(begun.json["login_url"])
    assert sent["redirect_uri"] == "https://gatehouse.example/api/callback"
    assert site.begin(Browser(), redirect=CLI).json["login_url"].startswith(
        "https://gatehouse.example/api/login/start?state=")


def test_cookies_of_an_https_address_stay_on_https(start, provider):
    """Also where a proxy in front speaks TLS."""
    site = Site(start(*arguments_for(provider), "--public-url", "https://gatehouse.example",
                      env=SECRET_ENV), provider)
    assert "secure" in site.begin(Browser()).cookie("gatehouse_login")


def run_serve(tmp_path, *arguments, **env):
    return subprocess.run(
        [BINARY, "serve", "--data-dir", str(tmp_path / "data"), *arguments],
        env={**os.environ, **env}, capture_output=True, text=True, timeout=20,
        stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("arguments", [
    ["--oidc-issuer", "ftp://example.com", "--oidc-client-id", "x"],
    ["--oidc-issuer", "not an address", "--oidc-client-id", "x"],
    ["--oidc-issuer", "http://127.evil.example", "--oidc-client-id", "x"],
    ["--oidc-issuer", "https://example.com"],
    ["--oidc-issuer", "https://example.com", "--oidc-client-id", "x", "--local-auth", "perhaps"],
    ["--oidc-issuer", "https://example.com", "--oidc-client-id", "x", "--listen", "0.0.0.0:0"]])
def test_settings_that_cannot_be(tmp_path, arguments):
    result = run_serve(tmp_path, *arguments, GATEHOUSE_OIDC_CLIENT_SECRET="never to be shown")
    assert result.returncode != 0
    assert result.stderr.strip() and "never to be shown" not in result.stderr + result.stdout


def test_no_passwords(start, provider):
    gateway = start(*arguments_for(provider), "--local-auth", "off", env=SECRET_ENV)
    site = Site(gateway, provider)
    body = {"email": "a@example.com", "password": PASSWORD}
    assert Api(gateway).post("/localauth/register", body).status in (403, 404)
    admin = site.enter(provider.person(), setup_code=setup_code(gateway))
    assert admin.get("/userinfo").json["is_admin"] is True
    answer = admin.post("/users", body)
    if answer.status == 201:
        assert Api(gateway).post("/localauth/login", body).status in (403, 404)


def test_the_store_has_the_secret_sealed_or_not_at_all(start, provider, tmp_path):
    site = Site(start(), provider)
    site.admin = register(site.gateway)
    assert site.admin.put(PATH, wanted(provider)).status == 200
    assert site.sign_in(provider.person()).token
    for path in glob.glob(f"{site.gateway.data}/**", recursive=True):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                assert CLIENT_SECRET.encode() not in file.read(), path
    assert CLIENT_SECRET not in site.gateway.text()


# --- /serverconfig/auth ---

def test_who_may(site, start):
    member = site.admin.key("dev")
    auditor = site.admin.key("auditor")
    elsewhere = new_organization(site.admin)
    for method in "GET", "PUT":
        assert Api(site.gateway).call(method, PATH).status == 401
        for caller in member, auditor, elsewhere:
            answer = caller.call(method, PATH, wanted(site.provider) if method == "PUT" else None)
            assert answer.status == 403, (method, answer)
    assert site.admin.get(PATH).status == 200


def test_what_the_flags_say_is_shown(site):
    found = site.admin.get(PATH).json
    assert found["auth_method"] == "oidc" and found["saml_config"] is None
    oidc = found["oidc_config"]
    assert oidc["issuer_url"] == site.provider.issuer and oidc["client_id"] == "gatehouse"
    assert oidc["scopes"] == ["openid", "profile", "email"] and oidc["groups_claim"] == "groups"
    assert "client_secret" not in oidc or oidc["client_secret"] in ("", None)
    assert found["admin_role_name"] == "admin" and found["auditor_role_name"] == "auditor"
    assert CLIENT_SECRET not in json.dumps(found)


@pytest.fixture(params=["sqlite", "postgres"])
def blank(request, start, provider):
    arguments = []
    if request.param == "postgres":
        server = request.getfixturevalue("postgres")
        arguments = ["--database-url", server.create(unique("config").replace("-", "_"))]
    gateway = start(*arguments)
    return Site(gateway, provider, register(gateway))


def test_from_passwords_to_a_provider_and_back(blank):
    site = blank
    before = site.admin.get(PATH).json
    assert before["auth_method"] == "local" and before["oidc_config"] is None
    answer = site.admin.put(PATH, wanted(site.provider, provider_name="Example & Sons",
                                         scopes=["openid", "email", "profile", "groups"],
                                         groups_claim="roles", audience="api"))
    assert answer.status == 200, answer
    found = site.admin.get(PATH).json
    assert found == answer.json
    assert found["auth_method"] == "oidc" and found["provider_name"] == "Example & Sons"
    assert {name: found["oidc_config"][name] for name in (
        "issuer_url", "client_id", "scopes", "audience", "groups_claim")} == {
            "issuer_url": site.provider.issuer, "client_id": "gatehouse", "audience": "api",
            "scopes": ["openid", "email", "profile", "groups"], "groups_claim": "roles"}
    assert CLIENT_SECRET not in answer.body.decode()
    assert Api(site.gateway).get("/publicserverinfo").json["auth_method"] == "oidc"
    info = site.admin.get("/serverinfo").json
    assert info["auth_method"] == "oidc" and isinstance(info["idp_provider_name"], str)
    sent = query_of(site.begin(Browser()).json["login_url"])
    assert sent["scope"] == "openid email profile groups"
    person = site.provider.person(roles=["from-roles"], groups=["from-groups"])
    api = site.enter(person)
    assert api.get("/userinfo").json["groups"] == ["from-roles"]
    rp = RelyingParty(site.provider)
    assert site.who(rp.jwt(person, "api")).status == 200
    assert site.who(rp.jwt(person)).status == 401
    # Back: no more sign-ins there; who is signed in stays so; passwords as ever.
    token = rp.jwt(person, "api")
    answer = site.admin.put(PATH, wanted(site.provider, auth_method="local"))
    assert answer.status == 200, answer
    assert Api(site.gateway).get("/login").status == 403
    assert Api(site.gateway).get("/publicserverinfo").json["auth_method"] == "local"
    assert site.who(token).status == 401 and api.get("/userinfo").status == 200
    assert login(site.gateway, "root@example.com").get("/userinfo").status == 200


def test_what_is_stored_goes_before_flags_and_outlives_a_restart(start, provider, tmp_path):
    folder = tmp_path / "kept"
    arguments = ["--oidc-issuer", "https://nowhere.invalid", "--oidc-client-id", "flag"]
    first = start(*arguments, folder=folder, env=SECRET_ENV)
    admin = register(first)
    assert admin.get(PATH).json["oidc_config"]["client_id"] == "flag"
    assert admin.put(PATH, wanted(provider)).status == 200
    assert Site(first, provider).sign_in(provider.person()).token
    assert first.stop() == 0
    second = Site(start(*arguments, folder=folder, env={
        "GATEHOUSE_OIDC_CLIENT_SECRET": "of the flags"}), provider)
    assert second.api(admin.token).get(PATH).json["oidc_config"]["client_id"] == "gatehouse"
    assert second.sign_in(provider.person()).token


def test_the_secret_is_kept_while_the_client_stays(plain):
    site, provider = plain, plain.provider
    assert site.admin.put(PATH, wanted(provider)).status == 200
    for changes in ({"client_secret": None}, {"client_secret": None, "groups_claim": "roles"}):
        assert site.admin.put(PATH, wanted(provider, **changes)).status == 200
        site.enter(provider.person())
        assert provider.last_token_request()["basic"]
    # Another client, or another provider, does not get it.
    answer = site.admin.put(PATH, wanted(provider, client_secret=None, client_id="public"))
    assert answer.status == 200, answer
    site.enter(provider.person())
    assert sent_no_secret(provider)
    answer = site.admin.put(PATH, wanted(provider, client_secret=None))
    assert answer.status == 200 and site.sign_in(provider.person()).token is None


def test_the_secret_does_not_go_to_another_issuer(plain, tmp_path):
    other = Provider(str(tmp_path / "other"))
    try:
        assert plain.admin.put(PATH, wanted(plain.provider)).status == 200
        assert plain.admin.put(PATH, wanted(other, client_secret=None)).status == 200
        done = Site(plain.gateway, other, plain.admin).sign_in(other.person())
        sent = other.last_token_request()
        assert done.token is None and not sent["basic"] and not sent["secret_in_body"]
    finally:
        other.stop()


@pytest.mark.parametrize("fault", [
    {"faults": {"discovery": {"status": 500}}}, {"faults": {"discovery": {"mode": "cut"}}},
    {"faults": {"discovery": {"mode": "garbage"}}}, {"faults": {"discovery": {"mode": "huge"}}},
    {"faults": {"jwks": {"status": 500}}}, {"faults": {"jwks": {"mode": "garbage"}}},
    {"discovery": {"issuer": "https://other.example"}}, {"discovery": {"jwks_uri": None}},
    {"discovery": {"token_endpoint": None}}, {"discovery": {"authorization_endpoint": None}}],
    ids=json.dumps)
def test_the_provider_is_tried_first(plain, fault):
    site = plain
    site.provider.set(**fault)
    before = site.admin.get(PATH).json
    answer = site.admin.put(PATH, wanted(site.provider))
    assert answer.status == 400 and answer.message, answer
    assert CLIENT_SECRET not in answer.body.decode()
    assert site.admin.get(PATH).json == before
    assert Api(site.gateway).get("/login").status == 403
    site.provider.do("reset")
    assert site.admin.put(PATH, wanted(site.provider)).status == 200
    # A failed change of what works changes nothing, either.
    site.provider.set(**fault)
    assert site.admin.put(PATH, wanted(site.provider, groups_claim="other")).status == 400
    site.provider.do("reset")
    assert site.admin.get(PATH).json["oidc_config"]["groups_claim"] == "groups"
    assert site.sign_in(site.provider.person()).token


@pytest.mark.parametrize("issuer", [
    "", "x", "https://", "ftp://127.0.0.1/", "file:///etc/passwd", "http://127.0.0.1:1",
    "http://user:word@127.0.0.1:1", "http://127.0.0.1:1/?a=b", "http://127.0.0.1:1/#a",
    "http://127.0.0.1:99999", "https://nowhere.invalid", "http://127.0.0.1:1/\r\nHost: x", 7, None])
def test_an_issuer_that_is_none(plain, issuer):
    body = wanted(plain.provider)
    body["oidc_config"]["issuer_url"] = issuer
    answer = plain.admin.put(PATH, body)
    assert answer.status == 400 and answer.message, answer
    assert plain.admin.get(PATH).json["auth_method"] == "local"


@pytest.mark.parametrize("change", [
    {"auth_method": "saml"}, {"auth_method": "x"}, {"auth_method": None}, {"auth_method": 7},
    {"oidc_config": None},
    {"oidc_config": 7}, {"oidc_config": []}, {"provider_name": 7}, {"provider_name": "x" * 5000},
    {"admin_role_name": "other"}, {"auditor_role_name": "other"}])
def test_bodies_that_are_wrong(plain, change):
    body = {**wanted(plain.provider), **change}
    answer = plain.admin.put(PATH, body)
    assert answer.status == 400, answer
    assert plain.admin.get(PATH).json["auth_method"] == "local"


@pytest.mark.parametrize("change", [
    {"client_id": ""}, {"client_id": 7}, {"client_id": "a\u0000b"}, {"client_secret": 7},
    {"scopes": "openid"}, {"scopes": [7]}, {"scopes": ["a\u0000b"]}, {"scopes": ["x" * 9000]},
    {"groups_claim": 7}, {"audience": 7}, {"client_id": "x" * 9000}])
def test_providers_that_are_wrong(plain, change):
    answer = plain.admin.put(PATH, wanted(plain.provider, **change))
    assert answer.status == 400, answer
    assert plain.admin.get(PATH).json["auth_method"] == "local"


@pytest.mark.parametrize("scopes", [["email", "profile"], [], None])
def test_openid_is_always_among_the_scopes(plain, scopes):
    """Without it there is no id token."""
    assert plain.admin.put(PATH, wanted(plain.provider, scopes=scopes)).status == 200
    assert "openid" in plain.admin.get(PATH).json["oidc_config"]["scopes"]
    plain.enter(plain.provider.person())


def test_role_names_may_be_sent_back_as_they_were(plain):
    body = {**wanted(plain.provider), "admin_role_name": "admin", "auditor_role_name": "auditor"}
    assert plain.admin.put(PATH, body).status == 200
    found = plain.admin.get(PATH).json
    assert plain.admin.put(PATH, found).status == 200  # what was read, as a page would
    assert plain.sign_in(plain.provider.person()).token  # with the secret that it has


def test_changes_are_in_the_audit_log(plain):
    store = Store(plain.gateway)
    before = plain.admin.get("/audit/logs?page_size=1").json["data"][0]["number"]
    assert plain.admin.put(PATH, wanted(plain.provider)).status == 200
    assert plain.admin.put(PATH, wanted(plain.provider, issuer_url="x")).status == 400
    entries = [entry for entry in plain.admin.get("/audit/logs?page_size=100").json["data"]
               if entry["number"] > before]
    assert [(entry["http_path"], entry["http_status"], entry["outcome"], entry["action"])
            for entry in reversed(entries)] == [
        ("/api/serverconfig/auth", 200, True, "update"),
        ("/api/serverconfig/auth", 400, False, "update")]
    assert CLIENT_SECRET not in json.dumps(entries)
    assert not any(CLIENT_SECRET in value for row in store.ask("SELECT * FROM audit_entry")
                   for value in row)


def test_a_dry_run_asks_the_provider_and_saves_nothing(plain):
    before = plain.admin.get(PATH).json
    first = plain.admin.get("/audit/logs?page_size=1").json["data"][0]["number"]
    tried = plain.admin.put(PATH + "?dry_run=true", wanted(plain.provider, client_id="tried"))
    assert tried.status == 200 and tried.json["oidc_config"]["client_id"] == "tried"
    assert CLIENT_SECRET not in tried.body.decode()
    nowhere = wanted(plain.provider, issuer_url="http://127.0.0.1:1")
    assert plain.admin.put(PATH + "?dry_run=true", nowhere).status == 400
    assert plain.admin.put(PATH + "?dry_run=perhaps", wanted(plain.provider)).status == 400
    assert plain.admin.get(PATH).json == before
    entries = [entry for entry in plain.admin.get("/audit/logs?page_size=100").json["data"]
               if entry["number"] > first]
    assert [(entry["http_status"], entry["action"]) for entry in reversed(entries)][0] == (200, "test")
    assert CLIENT_SECRET not in json.dumps(entries)


def test_two_gateways_over_one_store(start, provider, postgres, tmp_path):
    """What one is told, the other does."""
    url = postgres.create(unique("pair").replace("-", "_"))
    arguments = ["--database-url", url, "--master-key-file", tmp_path / "master.key"]
    one = start(*arguments)
    admin = register(one)
    two = Site(start(*arguments), provider)
    assert Api(two.gateway).get("/login").status == 403
    assert admin.put(PATH, wanted(provider)).status == 200
    wait_for(lambda: Api(two.gateway).get("/login").status == 200, what="the configuration")
    assert two.sign_in(provider.person()).token
