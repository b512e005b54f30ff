# SPDX-License-Identifier: MIT
"""The way of a sign-in through an OpenID Connect provider, and who may not walk it."""
import concurrent.futures
import html
import re
import time
import urllib.parse as urls

import pytest

from api import Api, register, unique
from oidc import (CLI, SECRET_ENV, Browser, SignIn, Site, arguments_for, decode, form_of,
                  query_of)


def is_bad_state(hop):
    assert hop.status == 400, hop
    assert set(hop.json) == {"message"} and hop.json["message"], hop
    assert hop.location is None and hop.cookie("gatehouse_token") is None
    return True


def test_the_console(site):
    person = site.provider.person(picture="https://example.com/me.png")
    browser = Browser(person)
    done = site.sign_in(person, browser, redirect=f"{site.url}/connections")
    begun, asked, *_ = done.hops
    assert begun.status == 200 and set(begun.json) == {"login_url"}
    bound = begun.cookie("gatehouse_login")
    assert len(bound["value"]) >= 20
    assert {name: bound[name] for name in ("httponly", "samesite", "path", "max-age")} == {
        "httponly": "", "samesite": "Lax", "path": "/api/", "max-age": "600"}
    assert asked.url.startswith(f"{site.provider.issuer}/auth?")
    sent = query_of(asked.url)
    assert sent["response_type"] == "code" and sent["client_id"] == "gatehouse"
    assert sent["redirect_uri"] == f"{site.url}/api/callback"
    assert sent["scope"].split(" ") == ["openid", "profile", "email"]
    assert sent["code_challenge_method"] == "S256"
    assert re.fullmatch(r"[\w-]{43}", sent["code_challenge"])
    assert len({sent["state"], sent["nonce"], sent["code_challenge"], bound["value"]}) == 4
    assert min(len(sent["state"]), len(sent["nonce"])) >= 22
    assert set(sent) == {"response_type", "client_id", "redirect_uri", "scope", "state", "nonce",
                         "code_challenge", "code_challenge_method"}
    assert query_of(done.callback.url)["state"] == sent["state"]
    assert done.status == 302 and done.location == f"{site.url}/connections"
    cookie = done.callback.cookie("gatehouse_token")
    assert cookie["httponly"] == "" and cookie["samesite"] == "Lax"
    assert int(cookie["max-age"]) == 12 * 3600
    me = browser.open(f"{site.url}/api/userinfo")
    assert me.status == 200, me
    assert me.json["email"] == f"{person}@example.com" and me.json["name"] == f"Name of {person}"
    assert me.json["is_admin"] is False
    header, claims = decode(done.token)
    assert header["alg"] == "EdDSA" and claims["exp"] - claims["iat"] == 12 * 3600
    assert claims["iss"] != site.provider.issuer
    exchange = site.provider.last_token_request()
    assert exchange["basic"] and not exchange["secret_in_body"] and exchange["verifier"] >= 43


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_the_command_line(site, host):
    person = site.provider.person()
    redirect = f"http://{host}:{35870 + len(host)}/callback"
    program, browser = Browser(), Browser(person)
    begun = site.begin(program, redirect=redirect)
    assert begun.status == 200 and set(begun.json) == {"login_url"}
    assert begun.all("Set-Cookie") == []
    login_url = begun.json["login_url"]
    assert login_url.startswith(f"{site.url}/api/login/start?state=")
    page = browser.open(login_url)
    assert page.status == 200 and site.provider.count("auth") == 0
    bound = page.cookie("gatehouse_login")
    assert {name: bound[name] for name in ("httponly", "samesite", "path", "max-age")} == {
        "httponly": "", "samesite": "Lax", "path": "/api/", "max-age": "600"}
    started = browser.click(*form_of(page))
    assert started.status == 303 and started.location.startswith(f"{site.provider.issuer}/auth?")
    assert is_bad_state(Browser().open(login_url))  # once
    hops = browser.follow(started.location,
                          stop=lambda url: url.startswith(f"{site.url}/api/callback"))
    done = SignIn(hops, browser.open(hops[-1].location))
    assert done.status == 302 and set(done.query) == {"token"}, done
    assert done.location.split("?")[0] == redirect
    assert done.callback.cookie("gatehouse_token") is None
    header, claims = decode(done.token)
    assert header["alg"] == "EdDSA" and claims["exp"] - claims["iat"] == 12 * 3600
    me = site.who(done.token)
    assert me.status == 200 and me.json["email"] == f"{person}@example.com"
    assert Browser().open(f"{site.url}/api/userinfo").status == 401


STATE = "it's <b>mine</b>&state=x#\u00e4"


def test_what_a_program_sent_comes_back(site):
    """With the token and with a refusal, as it was: by this it knows its own sign-in."""
    for person, expected in ((site.provider.person(), "token"), (None, "error")):
        done = site.sign_in(person, Browser(person), redirect=CLI, state=STATE)
        assert done.location.startswith(f"{CLI}?") and expected in done.query, done
        assert done.query["state"] == STATE, done
    done = site.sign_in(site.provider.person(), redirect=f"{site.url}/x", state="y")
    assert done.location == f"{site.url}/x"  # pages have no need of it


def test_the_page_says_what_asks(site):
    """Nothing goes on before the click, which is for the page's own form in its own browser."""
    name = "<script>alert(1)</script> & \"co\" 'x'"
    begun = site.begin(Browser(headers={"X-Forwarded-For": "192.0.2.1"}), redirect=CLI,
                       program=name, state="s")
    person = site.provider.person()
    browser = Browser(person)
    page = browser.open(begun.json["login_url"])
    text = page.body.decode()
    assert page.status == 200 and page.header("Content-Type").startswith("text/html")
    assert name in html.unescape(text)
    assert "<script" not in text and CLI.split("/")[2] in text and "127.0.0.1" in text
    policy = page.header("Content-Security-Policy")
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert page.header("X-Frame-Options") == "DENY"
    assert page.header("Cache-Control") == "no-store"
    where, body = form_of(page)
    fields = dict(urls.parse_qsl(body))
    other = Browser(person)
    other.open(begun.json["login_url"])  # has a page, and a consent, of its own
    plain = {"Content-Type": "application/x-www-form-urlencoded"}
    for caller, sent, headers in (
            (Browser(person), body, {}), (other, body, {}),
            (browser, urls.urlencode({"state": fields["state"]}), {}),
            (browser, urls.urlencode({**fields, "consent": "x" * 43}), {}),
            (browser, urls.urlencode({**fields, "state": "x" * 43}), {}),
            (browser, "", {}), (browser, "%ff=%00", {})):
        assert is_bad_state(caller.open(where, "POST", sent, {**plain, **headers}))
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"},
                    {"Origin": "null"}):
        answer = browser.open(where, "POST", body, {**plain, **headers})
        assert answer.status == 403, answer
    assert site.provider.count("auth") == 0
    hop = browser.click(where, body)
    assert hop.status == 303 and is_bad_state(browser.click(where, body))
    assert is_bad_state(other.open(begun.json["login_url"]))


@pytest.mark.parametrize("redirect", ["{url}/", CLI])
def test_no_cache_keeps_it(quick_site, redirect):
    """RFC 6749, 5.1, of answers with tokens: a state, a cookie or a token stands in each."""
    done = quick_site.sign_in(quick_site.provider.person(),
                              redirect=redirect.format(url=quick_site.url))
    own = [hop for hop in (*done.hops, done.callback) if hop.url.startswith(quick_site.url)]
    assert {hop.header("Cache-Control") for hop in own} == {"no-store"}, own


def test_only_the_browser_that_started_comes_back(site):
    """A sign-in that a program began ends in the browser that opened its address."""
    person = site.provider.person()
    begun = site.begin(Browser(), redirect=CLI)
    browser = Browser(person)
    hops = browser.follow(begun.json["login_url"],
                          stop=lambda url: url.startswith(f"{site.url}/api/callback"))
    assert is_bad_state(Browser(person).open(hops[-1].location))


def test_where_it_leads(quick_site):
    site = quick_site
    for redirect, expected in (
            (None, site.url), (site.url, site.url), (f"{site.url}/", f"{site.url}/"),
            (f"{site.url}/a/b?c=d&e=%2F", f"{site.url}/a/b?c=d&e=%2F"),
            (f"{site.url}?a=b", f"{site.url}?a=b")):
        done = site.sign_in(site.provider.person(), **({"redirect": redirect} if redirect else {}))
        assert done.status == 302 and done.token, done
        assert done.location.rstrip("/") == expected.rstrip("/"), done


def test_hints_are_passed_on(quick_site):
    begun = quick_site.begin(Browser(), prompt="login", screen_hint="signup")
    sent = query_of(begun.json["login_url"])
    assert sent["prompt"] == "login" and sent["screen_hint"] == "signup"
    begun = quick_site.begin(Browser(), prompt="a b&c=d", screen_hint="x\r\ny")
    if begun.status == 200:  # in its place, whatever it is
        sent = query_of(begun.json["login_url"])
        assert sent["prompt"] == "a b&c=d" and "c" not in sent
    else:
        assert begun.status == 400


BAD_REDIRECTS = [
    "https://evil.example/", "http://evil.example/callback", "//evil.example/", "/\\evil.example",
    "\\\\evil.example", "/relative", "relative", "?x", "#x", "javascript:alert(1)",
    "data:text/html,x", "file:///etc/passwd", "ftp://127.0.0.1:3587/callback",
    "https://127.0.0.1:3587/callback", "http://127.0.0.1:3587", "http://127.0.0.1:3587/",
    "http://127.0.0.1/callback", "http://[::1]/callback", "http://127.0.0.1:0/callback",
    "http://127.0.0.1:3587/callback/", "http://127.0.0.1:3587/callbackx",
    "http://127.0.0.1:3587/Callback", "http://127.0.0.1:3587/x/../callback",
    "http://127.0.0.1:3587/callback/../x", "http://127.0.0.1:3587//callback",
    "http://127.0.0.1:3587/%63allback", "http://127.0.0.1:3587/callback;x",
    "http://127.0.0.1:3587/callback#x", "http://127.0.0.1:3587/callback?a=b", "http://user@127.0.0.1:3587/callback",
    "http://user:word@127.0.0.1:3587/callback", "http://:@127.0.0.1:3587/callback",
    "http://@127.0.0.1:3587/callback", "http://127.0.0.1:3587@evil.example/callback",
    "http://evil.example#@127.0.0.1:3587/callback", "http://evil.example\\@127.0.0.1:3587/callback",
    "http://127.0.0.1.evil.example:3587/callback", "http://localhost.evil.example:3587/callback",
    "http://evil.localhost:3587/callback", "http://127.0.0.2:3587/callback",
    "http://0.0.0.0:3587/callback", "http://2130706433:3587/callback", "http://127.1:3587/callback",
    "http://0x7f.0.0.1:3587/callback", "http://0177.0.0.1:3587/callback",
    "http://[::ffff:127.0.0.1]:3587/callback", "http://[::]:3587/callback",
    "http://[::1:3587/callback", "http://[::1]3587/callback", "http://::1:3587/callback",
    "http://[::1%25lo]:3587/callback", "http://127.0.0.1:99999/callback",
    "http://127.0.0.1:/callback", "http://127.0.0.1:-1/callback", "http://127.0.0.1:+1/callback",
    "http://127.0.0.1:3587x/callback", "http://127.0.0.1: 3587/callback",
    "http://127.0.0.1:3587 /callback", "http:127.0.0.1:3587/callback",
    "http:/127.0.0.1:3587/callback", "http:///127.0.0.1:3587/callback",
    "http:\\\\127.0.0.1:3587\\callback", " http://127.0.0.1:3587/callback",
    "http://127.0.0.1:3587/callback\r\nSet-Cookie: x=y", "http://127.0.0.1:3587/callback\t",
    "http://127.0.0.1:3587/callback\0", "http://127.0.0.1:3587/callback?a\r\nb",
    "{url}.evil.example/", "{url}@evil.example/", "{url}:80@evil.example/", "{url}1/", "{url}x",
    "{url}\\evil.example", "{url}\r\nSet-Cookie: x=y", "{url}/\r\nSet-Cookie: x=y", "{url}/\0",
    "{url}/?a=\n", " {url}/", "\t{url}/", "x{url}/", "https://127.0.0.1:{port}/",
    "http://localhost:{port}/", "http://127.0.0.1:{other_port}/", "http://127.0.0.1/",
    "http://user@127.0.0.1:{port}/", "http://127.0.0.1:0{port}0/", "//127.0.0.1:{port}/",
    "http://127.0.0.1:{port}.evil.example/", "http://127。0。0。1:3587/callback"]


@pytest.mark.parametrize("redirect", BAD_REDIRECTS)
def test_a_redirect_to_elsewhere(quick_site, redirect):
    port = quick_site.gateway.port
    redirect = redirect.format(url=quick_site.url, port=port, other_port=port + 1) \
        if "{" in redirect else redirect
    refused = quick_site.begin(Browser(), redirect=redirect)
    assert refused.status == 400, (redirect, refused)
    assert set(refused.json) == {"message"}
    assert refused.all("Set-Cookie") == []


def test_a_redirect_that_is_too_long(quick_site):
    # None of the store's rows are a way to fill it.
    for size in (5000, 60000):
        begun = quick_site.begin(Browser(), redirect=f"{quick_site.url}/{'x' * size}")
        assert begun.status in (200, 400, 414, 431), begun
        assert size < 10000 or begun.status != 200


@pytest.mark.parametrize("query", [
    "", "state=", "code=x", "error=access_denied", "state=unknown&code=x",
    "state=unknown&error=access_denied", "state=%00&code=x", "state=%FF&code=x",
    f"state={'x' * 4000}&code=x", "state=01900000-0000-7000-8000-000000000001&code=x",
    "state='%20OR%201=1--&code=x"])
def test_a_state_that_nobody_gave(quick_site, query):
    assert is_bad_state(Browser().open(f"{quick_site.url}/api/callback?{query}"))
    start = re.sub(r"&?(code|error)=\w+", "", query)
    assert is_bad_state(Browser().open(f"{quick_site.url}/api/login/start?{start}"))


@pytest.mark.parametrize("redirect", ["{url}/", CLI])
def test_a_state_counts_once(site, redirect):
    person, before = site.provider.person(), site.provider.count("token")
    browser = Browser(person)
    address = site.to_callback(browser, redirect=redirect.format(url=site.url))
    first = browser.open(address)
    assert first.status == 302, first
    for _ in range(2):
        assert is_bad_state(browser.open(address))
    assert site.provider.count("token") == before + 1
    assert site.who(SignIn([], first).token).status == 200


def test_of_many_at_once_one_counts(site):
    person = site.provider.person()
    browser = Browser(person)
    address = site.to_callback(browser)
    same = []
    for _ in range(8):
        one = Browser(person)
        one.jar = {origin: dict(jar) for origin, jar in browser.jar.items()}
        same.append(one)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        hops = list(pool.map(lambda one: one.open(address), same))
    assert sorted(hop.status for hop in hops) == [302] + [400] * 7, hops
    assert site.provider.count("token") == 1


def test_many_people_at_once(site):
    people = [site.provider.person() for _ in range(12)]

    def walk(person):
        browser = Browser(person)
        begun = browser.open(f"{site.url}/api/login")
        hops = browser.follow(begun.json["login_url"],
                              stop=lambda url: url.startswith(f"{site.url}/api/callback"))
        done = SignIn(hops, browser.open(hops[-1].location))
        return done.status, done.error, site.who(done.token).json["email"]

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        found = list(pool.map(walk, people))
    assert found == [(302, None, f"{person}@example.com") for person in people]


def test_one_person_in_two_browsers_at_once_is_one_user(site):
    person = site.provider.person()
    ways = []
    for _ in range(4):
        browser = Browser(person)
        ways.append((browser, site.to_callback(browser)))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        hops = list(pool.map(lambda way: way[0].open(way[1]), ways))
    done = [SignIn([], hop) for hop in hops]
    assert [one.status for one in done] == [302] * 4, done
    assert all(one.token for one in done), done
    assert len({site.who(one.token).json["id"] for one in done}) == 1
    assert site.store.ask("SELECT count(*) FROM user_account WHERE subject = ?", person) == [["1"]]


@pytest.mark.parametrize("is_cli", [False, True])
def test_a_state_grows_old(site, is_cli):
    person = site.provider.person()
    browser = Browser(person)
    address = site.to_callback(browser, redirect=CLI if is_cli else site.url)
    [[expires_at]] = site.store.ask(
        "SELECT expires_at FROM login_attempt ORDER BY expires_at DESC LIMIT 1")
    left = int(expires_at) / 1e6 - time.time()
    assert 590 < left <= 600, left
    site.store.ask("UPDATE login_attempt SET expires_at = ?", int((time.time() - 1) * 1e6))
    assert is_bad_state(browser.open(address))
    assert site.provider.count("token") == 0
    begun = site.begin(Browser(), redirect=CLI)
    site.store.ask("UPDATE login_attempt SET expires_at = ?", int((time.time() - 1) * 1e6))
    assert is_bad_state(Browser().open(begun.json["login_url"]))


def test_another_browser(site):
    """The code of one person does not sign in another: the classic cross-site sign-in."""
    attacker = Browser(site.provider.person())
    victim = Browser(site.provider.person())
    address = site.to_callback(attacker)
    assert is_bad_state(victim.open(address))  # no cookie at all
    site.to_callback(victim)
    assert is_bad_state(victim.open(site.to_callback(attacker)))  # a cookie of another sign-in
    assert site.provider.count("token") == 0
    forged = Browser(victim.person)
    for cookie in ("", "x", "gatehouse_login=", query_of(address)["state"]):
        answer = forged.open(site.to_callback(attacker), headers={
            "Cookie": f"gatehouse_login={cookie}"})
        assert is_bad_state(answer)
    assert site.provider.count("token") == 0


def test_a_head_changes_nothing(quick_site):
    site = quick_site
    browser = Browser(site.provider.person())
    address = site.to_callback(browser)
    head = browser.open(address, method="HEAD")
    assert head.cookie("gatehouse_token") is None and head.body == b""
    assert site.provider.count("token") == 0
    done = browser.open(address)
    assert done.status == 302 and done.cookie("gatehouse_token"), done


@pytest.mark.parametrize("redirect", ["{url}/", "{url}/x?a=b", CLI])
def test_the_provider_says_no(site, redirect):
    redirect = redirect.format(url=site.url)
    done = site.sign_in(None, Browser(None), redirect=redirect)
    assert done.status == 302 and done.token is None, done
    assert done.location.startswith(redirect), done
    expected = {"error": "access_denied", "error_description": "the person said no & left"}
    assert done.query == {**query_of(redirect), **expected}
    assert site.provider.count("token") == 0


def test_the_provider_wants_a_person(quick_site):
    done = quick_site.sign_in(None, Browser(None), prompt="none")
    assert done.status == 302 and done.error == "login_required" and done.token is None


def test_a_no_uses_the_state_up(site):
    browser = Browser(None)
    address = site.to_callback(browser)
    assert browser.open(address).status == 302
    assert is_bad_state(browser.open(address))
    state = query_of(address)["state"]
    assert is_bad_state(browser.open(f"{site.url}/api/callback?state={state}&code=x"))


def test_a_no_of_another_browser_leads_nowhere(quick_site):
    address = quick_site.to_callback(Browser(None))
    assert is_bad_state(Browser().open(address))


@pytest.mark.parametrize("error", [
    "x%0d%0aSet-Cookie:%20gatehouse_token=x", "a%26token%3Dx", "%23token=x", "%00", "%ff",
    "%3Cscript%3E", "x" * 3000])
def test_an_error_stays_in_its_place(quick_site, error):
    browser = Browser(quick_site.provider.person())
    state = query_of(quick_site.to_callback(browser, redirect=CLI))["state"]
    answer = browser.open(
        f"{quick_site.url}/api/callback?state={state}&error={error}&error_description={error}")
    assert answer.status in (302, 400), answer
    assert answer.all("Set-Cookie") == [] or answer.cookie("gatehouse_token") is None
    if answer.status == 302:
        assert answer.location.startswith(f"{CLI}?error=")
        assert re.fullmatch(r"[!-~]*", answer.location) and "#" not in answer.location
        assert "<" not in answer.location
        assert set(query_of(answer.location)) <= {"error", "error_description"}


@pytest.mark.parametrize("query", ["", "code=", "code=x", "code=%00", f"code={'x' * 5000}"])
def test_a_code_that_the_provider_did_not_give(site, query):
    browser = Browser(site.provider.person())
    state = query_of(site.to_callback(browser))["state"]
    answer = browser.open(f"{site.url}/api/callback?state={state}&{query}")
    done = SignIn([], answer)
    assert done.token is None and answer.status in (302, 400), answer
    assert answer.status == 400 or done.error, answer


def test_a_code_counts_once(site):
    person = site.provider.person()
    browser = Browser(person)
    used = site.to_callback(browser)
    assert browser.open(used).status == 302
    state = query_of(site.to_callback(browser))["state"]
    code = urls.quote(query_of(used)["code"])
    done = SignIn([], browser.open(f"{site.url}/api/callback?state={state}&code={code}"))
    assert done.status == 302 and done.error and done.token is None, done


def test_a_code_of_another_sign_in(site):
    """Its verifier is another: PKCE holds even where state and cookie are right."""
    one, other = Browser(site.provider.person()), Browser(site.provider.person())
    code = urls.quote(query_of(site.to_callback(one))["code"])
    state = query_of(site.to_callback(other))["state"]
    done = SignIn([], other.open(f"{site.url}/api/callback?state={state}&code={code}"))
    assert done.status == 302 and done.error and done.token is None, done


def without_iss(address):
    query = query_of(address)
    assert query.pop("iss")
    return address.split("?")[0] + "?" + urls.urlencode(query)


def test_an_answer_must_name_its_provider(quick_site):
    """RFC 9207: the provider says that it does so in each of its answers, a no included."""
    site = quick_site
    for person, change in ((site.provider.person(), without_iss),
                           (None, without_iss),
                           (None, lambda address: re.sub("iss=[^&]*", "iss=https%3A%2F%2Fx", address)),
                           (site.provider.person(),
                            lambda address: re.sub("iss=[^&]*", "iss=", address))):
        browser = Browser(person)
        answer = SignIn([], browser.open(change(site.to_callback(browser))))
        assert answer.status == 302 and answer.error == "sign_in_refused", answer
        assert answer.token is None and "no" not in answer.query["error_description"].split(" ")[:2]
    assert site.provider.count("token") == 0


def test_a_provider_that_does_not_name_itself_need_not(start, provider):
    provider.set(discovery={"authorization_response_iss_parameter_supported": None})
    site = Site(start(*arguments_for(provider), env=SECRET_ENV), provider)
    register(site.gateway)
    browser = Browser(provider.person())
    assert SignIn([], browser.open(without_iss(site.to_callback(browser)))).token


def test_signing_out(site):
    api = site.enter(site.provider.person())
    assert api.get("/userinfo").status == 200
    assert api.post("/logout").status == 204
    assert api.get("/userinfo").status == 401


def test_nothing_is_told_without_need(quick_site):
    """Neither codes nor tokens nor secrets stand in the log of the gateway."""
    site = quick_site
    browser = Browser(site.provider.person())
    address = site.to_callback(browser, redirect=CLI)
    done = SignIn([], browser.open(address))
    text = site.gateway.text()
    query = query_of(address)
    for secret in (query["code"], query["state"], done.token, done.token.split(".")[2]):
        assert secret not in text


def test_organization_and_redirect_are_checked_first(quick_site):
    answer = Api(quick_site.gateway).get(f"/login?redirect=x&organization={unique('none')}")
    assert answer.status == 400 and quick_site.provider.count("auth") == 0


def test_forged_callbacks_are_in_the_audit_log(start, provider):
    """The first of an address, the tenth, the hundredth: enough to be seen, too few to fill it."""
    site = Site(start(*arguments_for(provider), env=SECRET_ENV), provider)
    site.admin = register(site.gateway)

    def entries():
        return [one for one in site.admin.get("/audit/logs?page_size=100").json["data"]
                if one["action"] == "authenticate" and one["http_path"] in (
                    "/api/callback", "/api/login/start")]
    before = len(entries())
    browser = Browser()
    site.begin(browser)
    for number in range(12):
        forged = browser.open(f"{site.url}/api/callback?state=forged-{number}&code=stolen")
        assert forged.status == 400, forged
    assert browser.open(f"{site.url}/api/login/start?state=forged").status == 400
    found = entries()
    assert 1 <= len(found) - before <= 3, found
    assert found[0]["resource_type"] == "sign_in" and found[0]["outcome"] is False
    assert "this sign-in is over" in found[0]["error_message"]
    assert "stolen" not in str(found) and found[0]["client_ip"] == "127.0.0.1"
