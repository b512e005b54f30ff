# SPDX-License-Identifier: MIT
"""The console's pages in a real browser: registration, sign-in, and what stands around the app."""
import json
import re
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from api import PASSWORD, Api, login, register, resource, role, setup_code
from conftest import wait_for

EMAIL = "root@example.com"
MARKUP = "<img src=x onerror=window.injected=1>"


@pytest.fixture
def page(browser):
    """A window without cookies; the policy must have had nothing to forbid in it."""
    page = browser.page()
    yield page
    page.run("1")
    page.close()
    assert page.complaints == []


@pytest.fixture(scope="module")
def kept_page(browser):
    page = browser.page()
    yield page
    page.close()


@pytest.fixture
def shared_page(kept_page):
    """The same for several tests; nobody is signed in."""
    kept_page.forget()
    yield kept_page
    kept_page.run("1")
    assert kept_page.complaints == []


@pytest.fixture(scope="module")
def admin(gateway):
    return register(gateway)


def printed_link(gateway):
    return re.search(r"  (http://\S+/register#setup_code=\S+)\n", gateway.text()).group(1)


def sign_in(page, gateway, path="/sign-in", password=PASSWORD):
    page.open(gateway.url(path))
    page.fill("#email", EMAIL)
    page.fill("#password", password)
    page.press_enter()


def until_at(page, url):
    page.until(f"location.href === {json.dumps(url)} && document.readyState === 'complete'")


def until_error(page, part):
    page.until(f"document.querySelector('#alert')?.innerText.includes({json.dumps(part)})")


# Registration ------------------------------------------------------------------------------------

def test_the_printed_link_creates_the_first_admin(start, page):
    gateway = start()
    page.open(printed_link(gateway))
    page.fill("#email", "Ada@example.com")
    page.fill("#name", "Ada")
    page.fill("#password", "short")
    page.click("#register-form .main")
    page.until_shown("#password-error")
    assert page.text("#password-error").startswith("Password is too short: use ")
    assert page.run("document.activeElement.id") == "password"
    assert page.run("document.activeElement.ariaInvalid") == "true"
    page.fill("#password", "1111111111111")
    page.press_enter()
    page.until("document.querySelector('#password-error')?.innerText.includes('repeats')")
    page.click("#toggle")
    page.fill("#password", PASSWORD)
    assert page.run("password.type") == "text" and page.text("#toggle").startswith("Hide")
    page.press_enter()
    until_at(page, gateway.url("/"))
    page.until("document.body.innerText.includes('No connections yet')")
    page.click("[data-person]")
    page.until_shown("#who")
    assert page.text("#who") == "Ada@example.com"
    assert page.run("document.cookie") == ""
    assert page.run("(async () => (await cookieStore.getAll()).length)()") == 0
    page.open(gateway.url("/account"))
    page.until_shown("#me")
    assert page.text("#me-name") == "Ada" and page.text("#me-groups") == "admin"
    assert page.text("#me-role") == "Admin, organization default"
    page.click("[data-person]")
    page.click("#sign-out")
    until_at(page, gateway.url("/sign-in"))
    assert page.run("fetch('api/userinfo').then((r) => r.status)") == 401


def test_every_way_of_a_fresh_gateway_leads_to_the_registration(start, page):
    gateway = start()
    page.open(gateway.url("/"))
    until_at(page, gateway.url("/register"))
    page.until_shown("#register-form")
    page.until_shown("#setup_code")


def test_the_link_carries_the_code(start, page):
    """Without it the code is asked for."""
    gateway = start()
    page.open(gateway.url("/register"))
    page.fill("#email", EMAIL)
    page.fill("#password", PASSWORD)
    page.press_enter()
    until_error(page, "setup_code")
    page.until_shown("#setup_code")
    page.open("about:blank")
    page.open(printed_link(gateway))
    page.until("document.querySelector('#setup-code-field')?.hidden")
    page.fill("#email", EMAIL)
    page.fill("#password", PASSWORD)
    page.press_enter()
    until_at(page, gateway.url("/"))


def test_a_second_registration_is_explained(gateway, admin, page):
    page.open(gateway.url("/register#setup_code=x"))
    page.until_shown("#done")
    assert not page.run("document.querySelector('#register-form').checkVisibility()")
    page.click("#done a")
    until_at(page, gateway.url("/sign-in"))


def test_the_link_is_printed_while_nobody_is_registered(start):
    gateway = start("--public-url", "https://gate.example/under/")
    assert f"  Local    {gateway.url('/')}\n" in gateway.text()
    assert "  Open     https://gate.example/under/\n" in gateway.text()
    assert re.search(r"  https://gate\.example/under/register#setup_code=\S{20}\n", gateway.text())
    register(gateway)
    assert gateway.stop() == 0
    again = start(folder=gateway.folder)
    assert f"  Open     {again.url('/')}\n" in again.text()
    assert "setup_code" not in again.text().split("stopping")[-1]


# Signing in --------------------------------------------------------------------------------------

def test_a_wrong_password_is_refused_and_the_right_one_is_not(gateway, admin, page):
    sign_in(page, gateway, password="something else")
    until_error(page, "Access denied: wrong address or password")
    assert page.run("document.activeElement.id") == "password"
    assert "something" not in page.run("location.href")
    page.fill("#password", PASSWORD)
    page.click("#password-form .main")
    until_at(page, gateway.url("/"))
    page.until_shown("#main")
    assert page.run("document.cookie") == ""


def test_the_wanted_page_is_kept(gateway, admin, page):
    page.open(gateway.url("/?a=1&b=%20#c"))
    page.until("location.pathname === '/sign-in'")
    assert parse_qs(page.run("location.search")[1:]) == {"to": ["/?a=1&b=%20#c"]}
    page.until_shown("#email")
    page.fill("#email", EMAIL)
    page.fill("#password", PASSWORD)
    page.press_enter()
    until_at(page, gateway.url("/?a=1&b=%20#c"))


@pytest.mark.parametrize("to", [
    "//evil.example", "/\\evil.example", "\\\\evil.example", "/\t/evil.example", "///evil.example",
    "javascript:alert(1)", "/\n/evil.example", "https://evil.example/", "data:text/html,x",
    "http:x", "", "evil.example", "//127.0.0.1/", "//["])
def test_no_other_place_can_be_wanted(gateway, admin, shared_page, to):
    sign_in(shared_page, gateway, "/sign-in?to=" + quote(to, safe=""))
    until_at(shared_page, gateway.url("/"))


@pytest.mark.parametrize("to", ["/.//evil.example", "/..//evil.example", "/x/..//evil.example"])
def test_a_path_that_becomes_a_host_stays_a_path(gateway, admin, shared_page, to):
    sign_in(shared_page, gateway, "/sign-in?to=" + quote(to, safe=""))
    until_at(shared_page, gateway.url("//evil.example"))


def test_what_a_failed_sign_in_left_is_shown_as_text(gateway, admin, page):
    page.open(gateway.url("/?error=access_denied&error_description=" + quote(MARKUP)))
    until_error(page, "The sign-in failed: " + MARKUP)
    assert page.run("window.injected === undefined && document.querySelector('main img') === null")
    assert parse_qs(page.run("location.search")[1:])["to"] == ["/"]


def test_without_the_gateway_one_is_told_so(start, page):
    gateway = start()
    register(gateway)
    page.open(gateway.url("/sign-in"))
    page.fill("#email", EMAIL)
    assert gateway.stop() == 0
    page.fill("#password", PASSWORD)
    page.press_enter()
    until_error(page, "The gateway cannot be reached")


def test_too_many_attempts_wait(gateway, admin, page):
    page.stub("/api/localauth/login", lambda _: (429, {"message": "slow"}, {"Retry-After": "2"}))
    sign_in(page, gateway)
    until_error(page, "You can try again in 2 s.")
    assert page.text("#password-form .main").startswith("Wait ")
    page.until("document.querySelector('#password-form .main').innerText === 'Sign in'")
    assert page.text("#alert") == ""


def test_the_second_step_asks_for_the_code(gateway, admin, page):
    bodies = []

    def answer(request):
        body = json.loads(request["postData"])
        bodies.append(body)
        if body.get("code") == "123456":
            return 200, {"status": "ok"}
        return 401, {"message": "access denied: the code is wrong" if "code" in body
                     else "a code is needed", "second_factor_required": True}

    page.stub("/api/localauth/login", answer)
    sign_in(page, gateway)
    page.until_shown("#code")
    assert page.text("#alert") == "" and page.run("document.activeElement.id") == "code"
    assert page.run("[code.autocomplete, code.inputMode]") == ["one-time-code", "numeric"]
    page.fill("#code", "000 000")
    page.press_enter()
    until_error(page, "Access denied: the code is wrong")
    page.click("#recovery")
    assert page.text("#code-label") == "Recovery code" and page.run("code.inputMode") == "text"
    page.click("#recovery")
    page.fill("#code", "123 456")
    page.click("#code-form .main")
    page.until("location.search === '?to=%2F'")  # by the first page, which saw no cookie
    assert [body.get("code") for body in bodies] == [None, "000000", "123456"]
    assert all(body["password"] == PASSWORD for body in bodies)


def test_the_second_step_can_be_left(gateway, admin, page):
    page.stub("/api/localauth/login", lambda _: (401, {"second_factor_required": True}))
    sign_in(page, gateway)
    page.click("#back")
    page.until_shown("#password")
    assert page.run("password.value") == "" and page.run("email.value") == EMAIL


def test_a_provider_comes_first_where_there_is_one(gateway, admin, page):
    asked = []

    def answer(request):
        asked.append(urlsplit(request["url"]))
        return 200, {"login_url": gateway.url("/robots.txt?provider")}

    page.stub("/api/publicserverinfo", lambda _: (200, {
        "auth_method": "oidc", "setup_required": False, "idp_provider_name": "okta",
        "provider_name": MARKUP}))
    page.stub("/api/login?", answer)
    page.open(gateway.url("/sign-in?to=%2Fsessions%3Fa%3D1"))
    page.until_shown("#provider")
    assert page.text("#provider button") == f"Sign in with {MARKUP}"
    assert not page.run("password.checkVisibility()")
    page.click("summary")
    page.until_shown("#password")
    page.click("#provider button")
    until_at(page, gateway.url("/robots.txt?provider"))
    assert parse_qs(asked[0].query) == {"redirect": [gateway.url("/sessions?a=1")]}


@pytest.mark.parametrize("status,value", [
    (503, {"message": "the provider cannot be reached"}),
    (200, {"login_url": "javascript:window.injected=1", "message": "the provider is strange"})])
def test_a_provider_that_fails_is_told(gateway, admin, page, status, value):
    page.stub("/api/publicserverinfo", lambda _: (200, {"auth_method": "oidc"}))
    page.stub("/api/login?", lambda _: (status, value))
    page.open(gateway.url("/sign-in"))
    page.click("#provider button")
    until_error(page, "The provider ")
    assert page.run("window.injected === undefined")


# The signed-in page ------------------------------------------------------------------------------

def test_what_others_wrote_is_text(start, page):
    gateway = start()
    body = {"email": EMAIL, "password": PASSWORD, "name": MARKUP,
            "setup_code": setup_code(gateway)}
    assert Api(gateway).post("/localauth/register", body).status == 201
    api = login(gateway, EMAIL)
    assert api.post("/users/groups", {"name": MARKUP}).status == 201
    assert api.patch("/users/" + EMAIL, {"groups": ["admin", MARKUP]}).status == 200
    assert api.post("/resources", resource(MARKUP, roles=[
        {"name": "reader", "type": "database", "subtype": "postgres"}])).status == 201
    sign_in(page, gateway)
    page.until_shown("#resources h2")
    assert page.text("#resources h2") == MARKUP and "reader" in page.text("#resources .connection")
    page.open(gateway.url("/account"))
    page.until_shown("#me-name")
    assert page.text("#me-name") == MARKUP and MARKUP in page.text("#me-groups")
    assert page.run("window.injected === undefined && document.querySelector('main img') === null")


def test_the_policy_stops_markup_that_a_mistake_would_make(gateway, admin, browser):
    page = browser.page()
    sign_in(page, gateway)
    page.until_shown("#main")
    assert page.run(f"try {{ document.body.innerHTML = {json.dumps(MARKUP)} }}"
                    "catch (error) { error.name }") == "TypeError"
    page.run("document.body.append(Object.assign(document.createElement('iframe'),"
             "{src: 'https://evil.example/'})); const made = document.createElement('p');"
             "made.setAttribute('style', 'color: red'); document.body.append(made)")
    assert page.run("getComputedStyle(made).color") != "rgb(255, 0, 0)"
    for forbidden in ("TrustedHTML", "default-src 'none'", "style-src 'nonce-"):
        wait_for(lambda part=forbidden: page.run("true") and any(
            part in text for text in page.complaints), what=forbidden)
    page.close()


def test_long_lists_come_in_parts(start, page):
    gateway = start()
    api = register(gateway)
    for number in range(60):
        name = f"resource-{number:02}"
        assert api.post("/resources", resource(name, roles=[role(name)])).status == 201
    sign_in(page, gateway)
    lines = "document.querySelectorAll('#resources .connection').length"
    page.until(f"{lines} === 50")
    assert page.text("#count") == "50 of 60 connections"
    page.click("#more")
    page.until(f"{lines} === 60")
    assert page.text("#count") == "60 connections" and not page.run("document.querySelector('#more')")
    names = page.run("[...document.querySelectorAll('#resources h2')].map((e) => e.innerText)")
    assert names == [f"resource-{number:02}" for number in range(60)]
    page.fill("#search", "resource-4")
    page.until(f"{lines} === 10")
    page.fill("#search", "nothing like it")
    page.until("document.body.innerText.includes('Nothing has such a name')")


@pytest.mark.parametrize("path", ["/", "/sign-in"])
def test_pages_fit_a_narrow_screen(gateway, admin, browser, path):
    page = browser.page(width=360, height=640)
    admin.post("/resources", resource("x" * 200, roles=[role("y" * 200)]))
    sign_in(page, gateway)
    page.until_shown("#resources .connection")
    page.open(gateway.url(path))
    page.until("document.querySelector('#page')?.checkVisibility()")
    assert page.run("document.documentElement.scrollWidth") <= 360
    assert page.run("[...document.querySelectorAll('input')].filter((input) =>"
                    "input.labels.length === 0 && !input.ariaLabel).length") == 0
    page.close()


# A program without a browser ---------------------------------------------------------------------

def begun_device(gateway, program):
    answer = Api(gateway).post("/device/authorize", f"program={quote(program)}".encode())
    assert answer.status == 200, answer
    return answer.json


def test_a_code_is_compared_and_confirmed(gateway, admin, page):
    begun = begun_device(gateway, MARKUP)
    assert begun["verification_uri"] == gateway.url("/device")
    page.open(begun["verification_uri_complete"])
    page.until("location.pathname === '/sign-in'")
    page.until_shown("#password-form")
    page.fill("#email", EMAIL)
    page.fill("#password", PASSWORD)
    page.press_enter()
    page.until_shown("#ask")
    assert page.text("#shown-code") == begun["user_code"] and page.text("#who") == EMAIL
    assert page.text("#program") == MARKUP and page.text("#from") == "127.0.0.1"
    page.click("#approve-form .main")
    page.until_shown("#done")
    assert "is signed in" in page.text("#done")
    answer = Api(gateway).post("/device/token", (
        "grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code="
        + begun["device_code"]).encode())
    assert Api(gateway, answer.json["access_token"]).get("/userinfo").json["email"] == EMAIL
    page.open(gateway.url("/device"))
    page.until_shown("#code-form")
    page.fill("#user_code", begun["user_code"])
    page.press_enter()
    until_error(page, "No sign-in waits under this code")
    begun = begun_device(gateway, "refused")
    page.fill("#user_code", begun["user_code"].lower())
    page.press_enter()
    page.until_shown("#ask")
    page.click("#refuse-form .main")
    page.until_shown("#done")
    assert "was refused" in page.text("#done")


# Invitations -------------------------------------------------------------------------------------

def invitation(admin, email):
    answer = admin.post("/users", {"email": email, "name": "Guest"})
    assert answer.status == 201, answer
    return answer.json["invitation_url"]


def test_an_invited_person_chooses_a_password(gateway, admin, page):
    email = "guest@example.com"
    url = invitation(admin, email)
    page.open(url)
    page.until_shown("#invitation-form")
    assert page.text("#whom") == email and not page.run("where.checkVisibility()")
    assert page.run("document.getElementById('name').value") == "Guest"
    assert not page.run("provider.checkVisibility()")
    page.fill("#password", "short")
    page.press_enter()
    page.until_shown("#password-error")
    page.fill("#password", PASSWORD)
    page.press_enter()
    until_at(page, gateway.url("/"))
    page.until_shown("#main")
    assert page.run("fetch('api/userinfo').then((r) => r.json()).then((me) => me.name)") == "Guest"
    page.open(url)
    page.until_shown("#over")
    assert not page.run("document.querySelector('#page').checkVisibility()")
    page.click("#over a")
    page.until("location.pathname === '/' || location.pathname === '/sign-in'")


def test_an_invitation_leads_to_the_provider(gateway, admin, page):
    asked = []

    def answer(request):
        asked.append(urlsplit(request["url"]))
        return 200, {"login_url": gateway.url("/robots.txt?provider")}

    url = invitation(admin, "provided@example.com")
    page.stub("/api/publicserverinfo", lambda _: (200, {
        "auth_method": "oidc", "local_auth": False, "provider_name": MARKUP}))
    page.stub("/api/login?", answer)
    page.open(url)
    page.until_shown("#provider")
    assert page.text("#provider button") == f"Sign in with {MARKUP}"
    assert page.text("#what-next") == "Sign in with this address."
    assert not page.run("document.querySelector('#with-password').checkVisibility()")
    page.click("#provider button")
    until_at(page, gateway.url("/robots.txt?provider"))
    assert parse_qs(asked[0].query) == {"redirect": [gateway.url("/")],
                                        "organization": ["default"]}


@pytest.mark.parametrize("fragment", ["", "#token=", "#token=x", "#token=" + "x" * 200,
                                      "#" + MARKUP])
def test_a_link_that_is_none_says_so(gateway, admin, page, fragment):
    page.open(gateway.url("/invitation" + fragment))
    page.until_shown("#over")
    assert page.run("window.injected === undefined && document.querySelector('main img') === null")


def test_the_first_at_a_provider_gives_the_code_too(start, page):
    """It stands above both ways, and no sign-in begins without it."""
    gateway, asked = start(), []

    def answer(request):
        asked.append(urlsplit(request["url"]))
        return 200, {"login_url": gateway.url("/robots.txt?provider")}

    page.stub("/api/publicserverinfo", lambda _: (200, {
        "auth_method": "oidc", "setup_required": True, "provider_name": "Okta"}))
    page.stub("/api/login?", answer)
    page.open(gateway.url("/register"))
    page.until_shown("#setup_code")
    page.click("#provider button")
    until_error(page, "The set-up code is missing")
    assert page.run("document.activeElement.id") == "setup_code" and not asked
    page.fill("#setup_code", "the code")
    page.click("#provider button")
    until_at(page, gateway.url("/robots.txt?provider"))
    assert parse_qs(asked[0].query)["setup_code"] == ["the code"]
