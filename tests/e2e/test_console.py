# SPDX-License-Identifier: MIT
"""The files of the console as they are sent: policies, nonces, what may be kept."""
import os
import re
import subprocess
from urllib.parse import urljoin

import pytest

from conftest import PATIENCE, ROOT

PAGES = ["/", "/account", "/device", "/index.html", "/invitation", "/register", "/sessions/1/2",
         "/sign-in", "/sign-in?to=%2F"]
FILES = ["/favicon.svg", "/robots.txt"]
FIRST_LOAD_MAX = 300 * 1024  # compressed


def ask(gateway, path, headers=None, **options):
    status, got, body = gateway.get(path, headers=headers, **options)
    return status, {name.lower(): value for name, value in got.items()}, body


def policy_of(headers):
    parts = (part.split() for part in headers["content-security-policy"].split(";"))
    return {name: sources for name, *sources in parts}


@pytest.mark.parametrize("path", PAGES)
def test_each_answer_of_a_page_has_its_own_nonce(gateway, path):
    nonces = set()
    for _ in range(20):
        status, headers, body = ask(gateway, path)
        assert status == 200 and headers["content-type"] == "text/html; charset=utf-8"
        policy = policy_of(headers)
        nonce = re.fullmatch(r"'nonce-([A-Za-z0-9+/]{22}==)'", policy["style-src"][0])[1]
        assert policy["script-src"] == [f"'nonce-{nonce}'", "'strict-dynamic'"]
        marked = re.findall(r'<(script|link|style)\b[^>]*\bnonce="([^"]*)"', body.decode())
        assert set(marked) == {("link", nonce), ("script", nonce)}
        assert b"{{" not in body and b"style=" not in body and b" on" not in re.sub(
            rb">[^<]*<", b"><", body)
        nonces.add(nonce)
    assert len(nonces) == 20


@pytest.mark.parametrize("path", PAGES)
def test_a_page_can_do_nothing_but_its_own_work(gateway, path):
    _, headers, _ = ask(gateway, path)
    policy = policy_of(headers)
    del policy["script-src"], policy["style-src"]
    assert policy == {
        "default-src": ["'none'"], "img-src": ["'self'", "data:"], "connect-src": ["'self'"],
        "font-src": ["'self'"], "base-uri": ["'none'"], "form-action": ["'self'"],
        "frame-ancestors": ["'none'"], "require-trusted-types-for": ["'script'"]}
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["x-frame-options"] == "DENY"
    assert "camera=()" in headers["permissions-policy"]


@pytest.mark.parametrize("path", PAGES)
def test_nobody_keeps_a_page(gateway, path):
    _, headers, body = ask(gateway, path, {"If-None-Match": "*"})
    assert headers["cache-control"] == "no-store" and "etag" not in headers and body


def test_a_page_is_too_small_to_be_compressed(gateway):
    status, headers, page = ask(gateway, "/sign-in", {"Accept-Encoding": "gzip, br"})
    assert status == 200 and "content-encoding" not in headers and len(page) < 1024
    assert policy_of(headers)["style-src"][0][7:-1] in page.decode()


def test_a_head_of_a_page_has_no_body(gateway):
    status, headers, body = ask(gateway, "/sign-in", method="HEAD")
    assert (status, body) == (200, b"") and int(headers["content-length"]) > 500


@pytest.mark.parametrize("path", FILES)
def test_files_beside_the_pages_are_asked_for_again(gateway, path):
    status, headers, body = ask(gateway, path)
    assert status == 200 and headers["cache-control"] == "no-cache" and body
    assert headers["cross-origin-resource-policy"] == "same-origin"
    status, again, body = ask(gateway, path, {"If-None-Match": headers["etag"]})
    assert (status, body, again["etag"]) == (304, b"", headers["etag"])


def loaded_first(gateway, path):
    """Addresses of what the app's page loads, as a browser at that path makes them."""
    page = ask(gateway, path)[2].decode()
    links = re.findall(r'<(?:script|link)\b[^>]*\b(?:src|href)="([^"]+)"', page)
    return [urljoin(f"http://gateway/under{path}", link).removeprefix("http://gateway/under")
            for link in links]


@pytest.mark.parametrize("path", ["/", "/account", "/sessions/1", "/connect/a/b/c/d/e/f/g"])
def test_the_app_finds_its_files_from_wherever_its_page_is(gateway, path):
    """Also where the console stands below a path of the public URL."""
    addresses = loaded_first(gateway, path)
    assert "/favicon.svg" in addresses
    assert [address for address in addresses if address.startswith("/assets/")]
    for address in addresses:
        assert ask(gateway, address)[0] == 200


def test_the_app_is_small_and_kept_for_ever(gateway):
    size = 0
    for address in loaded_first(gateway, "/"):
        status, headers, body = ask(gateway, address, {"Accept-Encoding": "gzip, br"})
        assert status == 200
        size += len(body)
        if address.startswith("/assets/"):
            assert headers["cache-control"] == "public, max-age=31536000, immutable"
            assert headers["content-encoding"] == "br"
    assert 50 * 1024 < size < FIRST_LOAD_MAX


@pytest.mark.parametrize("path", ["/sessions" + "/" * 20, "/sql" + "/a" * 2000])
def test_a_page_grows_by_no_address(gateway, path):
    status, _, body = ask(gateway, path)
    assert status == 200 and len(body) < 4096


@pytest.mark.parametrize("path", ["/nothing", "/register/", "/sign-in/more", "/static/index.html",
                                  "/console", "/sqlx", "/assets", "/assets/", "/.html", "/..", "/sign-in%00", "/sign-in.htm"])
def test_other_paths_are_not_there(gateway, path):
    assert ask(gateway, path)[0] in (400, 404)


def test_the_console_has_the_types_of_the_api(gateway):
    """Made anew by the line that web/api-types.mjs names, they are those that it is built with."""
    folder = os.path.join(ROOT, "web")
    made = subprocess.run(["node", "api-types.mjs", gateway.url("/")], cwd=folder, check=True,
                          stdout=subprocess.PIPE, text=True, timeout=PATIENCE)
    with open(os.path.join(folder, "src/shared/api/schema.ts"), encoding="utf-8") as file:
        assert made.stdout == file.read(), "make web/src/shared/api/schema.ts anew"


@pytest.mark.parametrize("path", ["/", "/sign-in", "/register"])
def test_a_form_sent_without_scripts_is_refused(gateway, path):
    status, headers, _ = ask(gateway, path, method="POST", body="password=x")
    assert status == 405 and headers["allow"] == "GET, HEAD"
