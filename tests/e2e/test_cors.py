# SPDX-License-Identifier: MIT
"""Which pages of other origins may use the API in a browser: --cors-origins."""
import http.client
import re
import subprocess

import pytest

from api import PASSWORD, Api, register, resource, unique
from conftest import PATIENCE, Gateway
from test_tls import make_certificate

APP = "https://app.example"
OTHER = "http://localhost:3000"
BODY = {"email": "root@example.com", "password": PASSWORD}
ALLOWED_HEADERS = "Authorization, Api-Key, Organization, Content-Type, If-Match, If-None-Match"


@pytest.fixture(scope="module")
def open_(tmp_path_factory):
    """The admin of a gateway that lists two origins."""
    gateway = Gateway(tmp_path_factory.mktemp("open"), "--cors-origins", f"{APP}, {OTHER}")
    yield register(gateway)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("closed"))
    yield register(gateway)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


def cors_headers(headers):
    return {name: value for name, value in headers.items()
            if name.lower().startswith("access-control-")}


def of_page(origin, site="cross-site", **more):
    """What a browser adds for a page of this origin."""
    return {"Origin": origin, "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "cors", **more}


@pytest.mark.parametrize("origin", [APP, OTHER])
def test_a_listed_origin_may_read_answers(open_, origin):
    for path, status in (("/userinfo", 200), ("/resources/none", 404), ("/none", 404),
                         ("/openapi.json", 200), ("/healthz", 200), ("/resources/%zz", 400)):
        answer = open_.get(path, headers=of_page(origin))
        assert answer.status == status
        assert cors_headers(answer.headers) == {
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Expose-Headers": "Token, ETag, Retry-After"}
        assert answer.headers["Vary"].split(", ")[-1] == "Origin"


@pytest.mark.parametrize("origin", [
    None, "", "null", "*", "https://APP.example", "HTTPS://app.example", "https://app.example:443",
    "https://app.example/", "https://app.example:8443", "http://app.example",
    "https://app.example.evil.example", "https://evilapp.example",
    "https://evil.example/app.example", "https://sub.app.example", "https://app.exampl",
    "https://app.example, http://localhost:3000",
    "https://app.example https://evil.example", "https://app.example%00", "https://app.example.",
    "https://user@app.example", "https://app.example#", "http://localhost:30000",
    "http://localhost", "http://127.0.0.1:3000", "app.example", "//app.example"])
def test_no_other_origin_may(open_, origin):
    headers = {} if origin is None else of_page(origin)
    for path in ("/userinfo", "/none"):
        answer = open_.get(path, headers=headers)
        assert answer.status in (200, 404)
        assert cors_headers(answer.headers) == {}
        assert answer.headers["Vary"].split(", ")[-1] == "Origin"
    preflight = open_.call("OPTIONS", "/resources",
                           headers={**headers, "Access-Control-Request-Method": "POST"})
    assert preflight.status == 204 and cors_headers(preflight.headers) == {}


def test_two_origins_are_none(open_):
    conn = http.client.HTTPConnection("127.0.0.1", open_.gateway.port, timeout=PATIENCE)
    conn.putrequest("GET", "/api/healthz")
    for origin in (APP, APP):
        conn.putheader("Origin", origin)
    conn.endheaders()
    response = conn.getresponse()
    assert response.status == 200 and cors_headers(dict(response.getheaders())) == {}
    conn.close()


def test_it_is_for_the_api_alone(open_):
    for path in ("/", "/metrics", "/robots.txt", "/none", "/apis", "/api"):
        _, headers, _ = open_.gateway.get(path, headers=of_page(APP))
        assert cors_headers(headers) == {} and "Origin" not in headers.get("Vary", "")


@pytest.mark.parametrize("path,methods", [
    ("/resources", {"GET", "HEAD", "POST"}), ("/resources/x", {"GET", "HEAD", "PUT", "DELETE"}),
    ("/localauth/login", {"POST"}), ("/healthz", {"GET", "HEAD"})])
def test_a_preflight_is_told_the_methods_of_the_path(open_, path, methods):
    anybody = Api(open_.gateway)  # browsers send no credentials with it
    answer = anybody.call("OPTIONS", path, headers=of_page(
        APP, **{"Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "authorization,content-type"}))
    assert (answer.status, answer.body) == (204, b"")
    allowed = answer.headers["Access-Control-Allow-Methods"]
    assert set(allowed.split(", ")) == methods and allowed == answer.headers["Allow"]
    assert cors_headers(answer.headers) == {
        "Access-Control-Allow-Origin": APP, "Access-Control-Allow-Methods": allowed,
        "Access-Control-Allow-Headers": ALLOWED_HEADERS, "Access-Control-Max-Age": "600",
        "Access-Control-Expose-Headers": "Token, ETag, Retry-After"}


def test_a_preflight_of_a_path_that_does_not_exist_is_404(open_):
    answer = open_.call("OPTIONS", "/none", headers=of_page(
        APP, **{"Access-Control-Request-Method": "GET"}))
    assert answer.status == 404
    assert "Access-Control-Allow-Methods" not in answer.headers


def test_options_without_a_wanted_method_is_no_preflight(open_):
    answer = open_.call("OPTIONS", "/resources", headers=of_page(APP))
    assert answer.status == 204 and "Access-Control-Allow-Methods" not in answer.headers
    assert answer.headers["Access-Control-Allow-Origin"] == APP


def test_a_page_signs_in_and_works_with_its_token(open_):
    page = Api(open_.gateway)
    answer = page.post("/localauth/login", BODY, headers=of_page(APP))
    assert answer.status == 200 and answer.headers["Cache-Control"] == "no-store"
    assert "Token" in answer.headers["Access-Control-Expose-Headers"]
    page.token = answer.headers["Token"]
    created = page.post("/resources", resource(), headers=of_page(APP))
    assert created.status == 201, created
    found = page.get(f"/resources/{created.json['name']}", headers=of_page(APP))
    assert found.headers["ETag"] and found.headers["Access-Control-Allow-Origin"] == APP
    for _ in range(8):
        assert page.post("/resources", resource()).status == 201
    large = page.get("/resources", headers=of_page(APP, **{"Accept-Encoding": "gzip"}))
    assert large.headers["Content-Encoding"] == "gzip"
    assert large.headers["Vary"] == "Accept-Encoding, Origin"


@pytest.mark.parametrize("origin", [
    "https://evil.example", "null", "https://app.example.evil.example", "https://APP.example"])
def test_pages_of_others_sign_nobody_in(open_, origin):
    answer = Api(open_.gateway).post("/localauth/login", BODY, headers=of_page(origin))
    assert answer.status == 403 and cors_headers(answer.headers) == {}


def test_refusals_can_be_read_by_the_page(open_):
    page = Api(open_.gateway)
    refused = [page.get("/userinfo", headers=of_page(APP)),
               page.post("/localauth/login", {**BODY, "password": "x"}, headers=of_page(APP)),
               page.call("PATCH", "/resources", headers=of_page(APP)),
               open_.post("/resources", b"{" * 3_000_000, headers=of_page(APP))]
    assert [answer.status for answer in refused] == [401, 401, 405, 413]
    for answer in refused:
        assert answer.headers["Access-Control-Allow-Origin"] == APP, answer


def test_a_streamed_answer_can_be_read_by_the_page(open_):
    answer = open_.get("/audit/logs/export", headers=of_page(APP))
    assert answer.status == 200 and answer.headers["Access-Control-Allow-Origin"] == APP
    assert answer.body.count(b"\n") > 0


def test_a_cookie_still_changes_nothing_from_another_site(open_):
    cookie = Api(open_.gateway).post("/localauth/login", BODY).headers["Set-Cookie"].split(";")[0]
    for origin, site in ((APP, "cross-site"), (APP, "same-site"), (OTHER, "cross-site")):
        answer = Api(open_.gateway).post("/users/groups", {"name": unique("group")},
                                         headers=of_page(origin, site, Cookie=cookie))
        assert answer.status == 403
        assert "Access-Control-Allow-Credentials" not in answer.headers


def test_a_listed_page_registers_with_the_code_only(start):
    gateway = start("--cors-origins", APP)
    api = Api(gateway)
    assert api.post("/localauth/register", BODY, headers=of_page(APP)).status == 403
    code = re.search(r"setup_code=(\S+)", gateway.text()).group(1)
    answer = api.post("/localauth/register", {**BODY, "setup_code": code}, headers=of_page(APP))
    assert answer.status == 201


def test_off_there_is_no_such_header_anywhere(closed):
    for method, path in (("GET", "/userinfo"), ("GET", "/none"), ("OPTIONS", "/resources"),
                         ("PATCH", "/resources"), ("POST", "/localauth/login")):
        answer = closed.call(method, path, headers=of_page(
            APP, **{"Access-Control-Request-Method": "GET"}))
        assert cors_headers(answer.headers) == {} and "Origin" not in answer.headers.get("Vary", "")
    options = closed.call("OPTIONS", "/healthz", headers=of_page(APP))
    assert (options.status, options.headers["Allow"]) == (204, "GET, HEAD")


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_it_is_the_same_over_both_versions(start, tmp_path, version):
    cert, key = make_certificate(tmp_path, "first")
    gateway = start("--tls-cert", cert, "--tls-key", key, "--cors-origins", APP)

    def curl(*arguments):
        return subprocess.run(
            ["curl", "-sS", "-i", "--cacert", cert, version, *arguments,
             f"https://127.0.0.1:{gateway.port}/api/healthz"], capture_output=True, text=True,
            check=True, timeout=30).stdout.lower()

    assert f"access-control-allow-origin: {APP}\n" in curl("-H", f"Origin: {APP}").replace("\r", "")
    preflight = curl("-X", "OPTIONS", "-H", f"Origin: {APP}",
                     "-H", "Access-Control-Request-Method: GET")
    assert " 204" in preflight and "access-control-max-age: 600" in preflight
    assert "access-control" not in curl("-H", "Origin: https://evil.example")


@pytest.mark.parametrize("value,why", [
    ("*", "every site"), (f"{APP},*", "every site"), ("null", "anybody's"),
    ("app.example", "https://HOST"), (f"{APP}/", "without a path"), (f"{APP}:443", "the port 443"),
    ("https://App.example", "lower case"), ("http://app.example", "https:// is expected"),
    (f"{APP};{OTHER}", "with commas between")])
def test_a_wrong_value_stops_the_start(start, value, why):
    gateway = start("--cors-origins", value, wait=False)
    assert gateway.process.wait(PATIENCE) != 0
    assert f"--cors-origins (GATEHOUSE_CORS_ORIGINS): '{value}': " in gateway.text()
    assert why in gateway.text()
