# SPDX-License-Identifier: MIT
"""A second OpenID provider, Debian's glewlwyd, so that signing in is tested with more than one.

It runs in a folder of its own on a port of its own, set up over its administration API. Its pages
are scripts, so Browser does what they do: keep cookies, follow redirects, send the forms as JSON.
"""
import base64
import http.cookiejar
import json
import os
import re
import secrets
import sqlite3
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from conftest import PATIENCE, Program, lasting_port, wait_for

PROGRAM = "/usr/bin/glewlwyd"
TABLES = "/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3"
CONFIGURATION = """
port={port}
bind_address="127.0.0.1"
external_url="{url}"
api_prefix="api"
login_url="login.html"
static_files_path="/usr/share/glewlwyd/webapp/"
static_files_mime_types = ({{ extension = ".html" mime_type = "text/html" compress = 0 }})
log_mode="console"
log_level="WARNING"
cookie_secure=0
cookie_same_site="lax"
session_key="GLEWLWYD2_SESSION_ID"
hash_algorithm="SHA512"
user_module_path="/usr/lib/glewlwyd/user"
user_middleware_module_path="{folder}/none"
client_module_path="/usr/lib/glewlwyd/client"
user_auth_scheme_module_path="/usr/lib/glewlwyd/scheme"
plugin_module_path="/usr/lib/glewlwyd/plugin"
database = {{ type = "sqlite3" path = "{database}" }}
"""
SCOPES = "openid profile email groups"


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Page:
    def __init__(self, url, answer):
        self.url, self.status, self.headers = url, answer.status, answer.headers
        self.body = answer.read()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def query(self):
        return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.url).query,
                                           keep_blank_values=True))

    def __repr__(self):
        return f"<{self.status} {self.url} {self.headers.get('Location')} {self.body[:300]!r}>"


class Browser:
    """A cookie jar that goes from page to page; each person has one."""

    def __init__(self):
        self.jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), _NoRedirects,
            urllib.request.HTTPCookieProcessor(self.jar))

    def open(self, url, method="GET", value=None, headers=None):
        request = urllib.request.Request(url, method=method, headers=headers or {})
        if value is not None:
            request.data = json.dumps(value).encode()
            request.add_header("Content-Type", "application/json")
        try:
            return Page(url, self.opener.open(request, timeout=PATIENCE))
        except urllib.error.HTTPError as answer:
            with answer:
                return Page(url, answer)

    def follow(self, url, until):
        """Opens url and goes on for as long as it is sent on, up to an address of `until`, which
        is not opened: → that address, or the page where the way ended."""
        for _ in range(10):
            if url.startswith(until):
                return url
            page = self.open(url)
            if page.status == 200 and url.split("?")[0].endswith("/api/login/start"):
                page = self._click(page)
            if page.status not in (301, 302, 303, 307):
                return page
            url = urllib.parse.urljoin(url, page.headers["Location"])
        raise AssertionError(f"more than ten redirects, the last to {url}")

    def _click(self, page):
        """The one form of the page that asks whether a program may sign in."""
        fields = re.findall(r'name="(state|consent)" value="([^"]*)"', page.body.decode())
        request = urllib.request.Request(page.url.split("?")[0],
                                         data=urllib.parse.urlencode(fields).encode())
        try:
            return Page(page.url, self.opener.open(request, timeout=PATIENCE))
        except urllib.error.HTTPError as answer:
            with answer:
                return Page(page.url, answer)

    def cookie(self, name):
        return next((cookie for cookie in self.jar if cookie.name == name), None)


class SecondProvider:
    """provider.add_client(…), provider.add_user(…), then sign_in() as one of them."""

    def __init__(self, folder):
        self.folder = str(folder)
        os.makedirs(self.folder, exist_ok=True)
        self.port = lasting_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.issuer = f"{self.url}/api/oidc"
        self.database = os.path.join(self.folder, "provider.db")
        self.passwords = {}
        self._make_database()
        os.mkdir(os.path.join(self.folder, "none"))  # every file there would be loaded
        self.configuration = os.path.join(self.folder, "provider.conf")
        with open(self.configuration, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(port=self.port, url=self.url, folder=self.folder,
                                            database=self.database))
        self.start()
        self.admin = Browser()
        self._call("POST", "/auth", {"username": "admin", "password": "password"})
        for name in SCOPES.split()[1:]:
            self._call("POST", "/scope", {"name": name, "display_name": name,
                                          "password_required": True, "password_max_age": 0,
                                          "scheme": {}, "scheme_required": {}})
        self._add_properties()
        self._add_provider()

    def _make_database(self):
        conn = sqlite3.connect(self.database)
        try:
            with open(TABLES, encoding="utf-8") as file:
                conn.executescript("PRAGMA synchronous = OFF; BEGIN;" + file.read() + "COMMIT;")
        finally:
            conn.close()

    def start(self):
        self.program = Program([PROGRAM, f"--config-file={self.configuration}"],
                               dict(os.environ), os.path.join(self.folder, "output.txt"))
        wait_for(self._is_ready, what="the second provider's start")

    def _is_ready(self):
        assert self.program.is_alive(), self.program.text()
        try:
            return Browser().open(f"{self.url}/config").status == 200
        except OSError:
            return False

    def stop(self):
        self.program.stop()

    def _call(self, method, path, value=None):
        page = self.admin.open(f"{self.url}/api{path}", method, value)
        assert page.status == 200, page
        return page

    def _add_properties(self):
        """What a user has beside the name: whether the address was verified, and groups."""
        module = self._call("GET", "/mod/user/database").json
        shape = {"multiple": False, "read": True, "write": True,
                 "profile-read": True, "profile-write": False}
        module["parameters"]["data-format"]["address_verified"] = shape
        module["parameters"]["data-format"]["groups"] = {**shape, "multiple": True}
        self._call("PUT", "/mod/user/database", module)
        self._call("PUT", "/mod/user/database/reset")

    def _add_provider(self):
        key, public_key = signing_key()
        self._call("POST", "/mod/plugin", {
            "module": "oidc", "name": "oidc", "display_name": "oidc", "enabled": True,
            "parameters": {
                "iss": self.issuer, "subject-type": "public", "allowed-scope": SCOPES.split(),
                "jwt-type": "ecdsa", "jwt-key-size": "256", "jwks-show": True,
                "key": key, "cert": public_key,
                "access-token-duration": 3600, "refresh-token-duration": 7200,
                "code-duration": 60, "refresh-token-rolling": False,
                "allow-non-oidc": True, "auth-type-code-enabled": True,
                "auth-type-token-enabled": False, "auth-type-id-token-enabled": True,
                "auth-type-password-enabled": False, "auth-type-client-enabled": True,
                "auth-type-refresh-enabled": True,
                "pkce-allowed": True, "pkce-method-plain-allowed": False, "pkce-required": True,
                "resource-allowed": True, "resource-client-property": "resource",
                "resource-scope": {}, "resource-scope-and-client-property": False,
                "oauth-as-iss-id": True,
                "name-claim": "on-demand", "name-claim-scope": ["profile"],
                "email-claim": "on-demand", "email-claim-scope": ["email"],
                "claims": [
                    {"name": "email_verified", "user-property": "address_verified",
                     "type": "boolean", "boolean-value-true": "yes", "boolean-value-false": "no",
                     "mandatory": False, "on-demand": False, "scope": ["email"]},
                    {"name": "groups", "user-property": "groups", "type": "string",
                     "mandatory": False, "on-demand": False, "scope": ["groups"]}]}})

    def add_client(self, client_id, redirect_uris, secret=None, audience=None):
        """With a secret: a confidential client; with an audience: may ask for tokens for it."""
        client = {"client_id": client_id, "name": client_id, "enabled": True,
                  "redirect_uri": list(redirect_uris), "scope": [],
                  "confidential": secret is not None,
                  "authorization_type": ["code", "refresh_token"],
                  "token_endpoint_auth_method": ["none"]}
        if secret is not None:
            client["client_secret"] = secret
            client["authorization_type"].append("client_credentials")
            client["token_endpoint_auth_method"] = ["client_secret_basic"]
            client["scope"] = ["openid"]
        if audience is not None:
            client["resource"] = [audience]
        self._call("POST", "/client", client)

    def add_user(self, name, email, groups=(), verified=True):
        user = self._user(email, groups, verified)
        user.update(username=name, name=f"{name} of the second provider",
                    password=secrets.token_urlsafe(12), enabled=True, scope=SCOPES.split())
        self._call("POST", "/user", user)
        self.passwords[name] = user["password"]

    def change_user(self, name, email, groups=(), verified=True):
        self._call("PUT", f"/user/{name}", self._user(email, groups, verified))

    @staticmethod
    def _user(email, groups, verified):
        return {"email": email, "groups": list(groups),
                "address_verified": "yes" if verified else "no"}

    def sign_in(self, browser, url, name, until):
        """Walks from url, an address of the authorization endpoint or one that leads there, over
        the provider's pages to the first address of `until`, which is not opened."""
        page = browser.follow(url, until)
        for _ in range(3):
            if isinstance(page, str):
                return page
            assert page.status == 200 and page.url.startswith(f"{self.url}/login.html"), page
            asked = page.query
            if not self._is_signed_in(browser, name):
                answer = browser.open(f"{self.url}/api/auth", "POST",
                                      {"username": name, "password": self.passwords[name]})
                assert answer.status == 200, answer
            answer = browser.open(f"{self.url}/api/auth/grant/{asked['client_id']}", "PUT",
                                  {"scope": asked["scope"]})
            assert answer.status == 200, answer
            back = asked["callback_url"]
            page = browser.follow(back + ("&" if "?" in back else "?") + "g_continue", until)
        return page

    def _is_signed_in(self, browser, name):
        page = browser.open(f"{self.url}/api/profile_list")
        return page.status == 200 and any(one["username"] == name for one in page.json)

    def token(self, fields, client_id, secret=None):
        """What the token endpoint answers."""
        fields = dict(fields)
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if secret is None:
            fields["client_id"] = client_id
        else:
            pair = base64.b64encode(f"{client_id}:{secret}".encode()).decode()
            headers["Authorization"] = f"Basic {pair}"
        request = urllib.request.Request(f"{self.issuer}/token", headers=headers,
                                         data=urllib.parse.urlencode(fields).encode())
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read())


def signing_key():
    """A private key of P-256 and its public one, in PEM. The provider publishes coordinates without
    their leading zeros, which RFC 7518 section 6.2.1.2 forbids: not one of those."""
    def openssl(*arguments, given=None):
        return subprocess.run(["openssl", *arguments], input=given, check=True,
                              capture_output=True).stdout

    while True:
        key = openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout")
        point = openssl("ec", "-pubout", "-outform", "DER", given=key)[-64:]
        if point[0] and point[32]:
            return key.decode(), openssl("ec", "-pubout", given=key).decode()


def claims_of(token):
    """Of a token's payload, unchecked."""
    payload = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
