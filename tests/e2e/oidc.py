# SPDX-License-Identifier: MIT
"""A real OpenID Connect provider, people with browsers, and a gateway between the two."""
import base64
import hashlib
import http.client
import json
import os
import re
import secrets
import shutil
import time
import urllib.parse as urls

from api import Answer, Api, register, unique
from conftest import PATIENCE, Gateway, Program, lasting_port, wait_for
from installed import node_packages
from store import Store

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "oidc")
CLIENT_SECRET = "a secret that nobody may ever see: %:+/"
CLI = "http://127.0.0.1:3587/callback"


def provider_program():
    """The provider, beside the packages it stands on."""
    folder = node_packages("node", SOURCE)
    return shutil.copy(os.path.join(SOURCE, "provider.mjs"), folder)


class Provider(Program):
    """Stands on a port of its own; all but who signs in is said through its control port."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        env = {name: value for name, value in os.environ.items() if name != "NODE_OPTIONS"}
        super().__init__(["node", provider_program(), str(lasting_port())], env,
                         os.path.join(folder, "provider.txt"))

        def ready():
            assert self.is_alive(), self.text()
            return re.search(r"provider (\S+) control (\d+)", self.text())
        found = wait_for(ready, what="the provider's start")
        self.issuer, self.control_port = found.group(1), int(found.group(2))

    def control(self, method, path, value=None):
        conn = http.client.HTTPConnection("127.0.0.1", self.control_port, timeout=PATIENCE)
        try:
            conn.request(method, f"/control{path}", body=json.dumps(value))
            answer = conn.getresponse()
            text = answer.read().decode()
            assert answer.status == 200, text
            return json.loads(text)
        finally:
            conn.close()

    def person(self, sub=None, **claims):
        """Someone with an address of their own that the provider has seen to be theirs."""
        sub = sub or unique("person")
        claims = {"email": f"{sub}@example.com", "email_verified": True, "name": f"Name of {sub}",
                  **claims}
        self.control("PUT", "/accounts", {"sub": sub, "claims": {
            name: value for name, value in claims.items() if value is not None}})
        return sub

    def set(self, **wanted):
        self.control("POST", "/set", wanted)

    def fault(self, route, **fault):
        self.set(faults={route: fault})

    def spoil(self, **wish):
        """What is wrong with the next id tokens: claims, header, sign, text."""
        self.set(id_token=wish)

    def sign(self, claims, header=None, sign="current"):
        return self.control("POST", "/sign", {"claims": claims, "header": header or {},
                                              "sign": sign})["token"]

    def clock(self, seconds):
        self.control("POST", "/clock", {"seconds": seconds})

    def count(self, route):
        return self.control("GET", "/requests")["count"].get(route, 0)

    def last_token_request(self):
        return self.control("GET", "/requests")["last_token"]

    def do(self, verb):
        """rotate, down, up, reset"""
        self.control("POST", f"/{verb}")


class Hop:
    """One answer on the way: never followed by itself."""

    def __init__(self, url, status, headers, body):
        self.url, self.status, self.headers, self.body = url, status, headers, body

    def all(self, name):
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def header(self, name):
        return next(iter(self.all(name)), None)

    @property
    def location(self):
        value = self.header("Location")
        return None if value is None else urls.urljoin(self.url, value)

    @property
    def json(self):
        return json.loads(self.body)

    def cookie(self, name):
        """{"value": …, "httponly": "", "path": …} of a cookie that is set here, or None."""
        for line in self.all("Set-Cookie"):
            first, *rest = [part.strip() for part in line.split(";")]
            key, _, value = first.partition("=")
            if key == name:
                found = {"value": value}
                for part in rest:
                    attribute, _, text = part.partition("=")
                    found[attribute.lower()] = text
                return found
        return None

    def __repr__(self):
        return f"<{self.status} of {self.url}: {self.location or self.body[:500]!r}>"


def query_of(url):
    return dict(urls.parse_qsl(urls.urlsplit(url).query, keep_blank_values=True))


def origin_of(url):
    parts = urls.urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def form_of(hop):
    """(where, body) of the form of a page that asks, or None."""
    if hop.status != 200 or not (hop.header("Content-Type") or "").startswith("text/html"):
        return None
    text = hop.body.decode()
    action = re.search(r'<form method="post" action="([^"]*)"', text).group(1)
    fields = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', text)
    return urls.urljoin(hop.url, action), urls.urlencode(fields)


class Browser:
    """Someone's browser: cookies by origin and path; each step on the way can be looked at."""

    def __init__(self, person=None, headers=None):
        self.person, self.headers = person, dict(headers or {})
        self.jar = {}

    def cookies_for(self, url):
        path = urls.urlsplit(url).path or "/"
        return {name: value for (name, at), value in self.jar.get(origin_of(url), {}).items()
                if path == at or path.startswith(at.rstrip("/") + "/")}

    def keep(self, hop):
        jar = self.jar.setdefault(origin_of(hop.url), {})
        for line in hop.all("Set-Cookie"):
            name = line.partition("=")[0]
            cookie = hop.cookie(name)
            here = (urls.urlsplit(hop.url).path or "/").rpartition("/")[0] or "/"
            key = (name, cookie.get("path") or here)
            gone = cookie.get("max-age") == "0" or "1970" in cookie.get("expires", "")
            if gone:
                jar.pop(key, None)
            else:
                jar[key] = cookie["value"]

    def open(self, url, method="GET", body=None, headers=None):
        parts = urls.urlsplit(url)
        assert parts.hostname in ("127.0.0.1", "localhost"), url
        sent = {**self.headers, **(headers or {})}
        if self.person is not None:
            sent["X-Person"] = self.person
        cookies = self.cookies_for(url)
        if cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
        conn = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=PATIENCE * 2)
        try:
            conn.request(method, (parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
                         body=body, headers=sent)
            answer = conn.getresponse()
            hop = Hop(url, answer.status, answer.getheaders(), answer.read())
        finally:
            conn.close()
        self.keep(hop)
        return hop

    def follow(self, url, stop):
        """The hops until stop(url) says of where the next one leads that it is not opened."""
        hops = []
        while url is not None and not stop(url):
            assert len(hops) < 20, hops
            hops.append(self.open(url))
            form = form_of(hops[-1])
            if form:
                hops.append(self.click(*form))
            url = hops[-1].location
        return hops

    def click(self, url, body):
        return self.open(url, "POST", body, {"Content-Type": "application/x-www-form-urlencoded",
                                             "Origin": origin_of(url),
                                             "Sec-Fetch-Site": "same-origin"})


class SignIn:
    """How a sign-in ended: where it led, with which token or which error."""

    def __init__(self, hops, callback):
        self.hops, self.callback = hops, callback
        self.status = callback.status
        self.location = callback.location
        self.query = query_of(self.location) if self.location else {}
        self.error = self.query.get("error")
        cookie = callback.cookie("gatehouse_token")
        self.token = cookie["value"] if cookie else self.query.get("token")

    def __repr__(self):
        return f"<sign-in: {self.callback!r}>"


class Site:
    """A gateway that signs people in at a provider."""

    def __init__(self, gateway, provider, admin=None):
        self.gateway, self.provider, self.admin = gateway, provider, admin
        self.url = gateway.url("").rstrip("/")
        self.store = Store(gateway)

    def begin(self, browser, **query):
        """GET /api/login → Hop."""
        return browser.open(f"{self.url}/api/login?{urls.urlencode(query)}")

    def to_callback(self, browser, **query):
        """All the way to the gateway's callback, whose address is returned unopened."""
        begun = self.begin(browser, **query)
        assert begun.status == 200, begun
        hops = browser.follow(begun.json["login_url"],
                              stop=lambda url: url.startswith(f"{self.url}/api/callback"))
        assert hops[-1].location is not None, hops
        self.hops = [begun, *hops]
        return hops[-1].location

    def sign_in(self, person, browser=None, **query):
        browser = browser or Browser(person)
        callback = browser.open(self.to_callback(browser, **query))
        return SignIn(self.hops, callback)

    def enter(self, person, **query):
        """Signs in, which must go well → Api."""
        done = self.sign_in(person, **query)
        assert done.status == 302 and done.error is None and done.token, done
        return Api(self.gateway, done.token)

    def user(self, email):
        answer = self.admin.get(f"/users/{urls.quote(email)}")
        return answer.json if answer.status == 200 else None

    def id_of(self, person):
        return self.user(f"{person}@example.com")["id"]

    def api(self, token):
        return Api(self.gateway, token)

    def who(self, token):
        """What the API says to this access token of the provider → Answer."""
        return Api(self.gateway, token).get("/userinfo")

    def access_claims(self, person, **claims):
        now = int(time.time())
        return {"iss": self.provider.issuer, "aud": "gatehouse", "sub": person, "iat": now,
                "exp": now + 600, "client_id": "gatehouse", "scope": "openid", **claims}


def arguments_for(provider, client_id="gatehouse"):
    return ["--oidc-issuer", provider.issuer, "--oidc-client-id", client_id]


SECRET_ENV = {"GATEHOUSE_OIDC_CLIENT_SECRET": CLIENT_SECRET}


def new_site(folder, provider, *arguments, env=None):
    """With a first admin, who came by password, so that everybody else is a plain person."""
    gateway = Gateway(folder, *arguments_for(provider), *arguments,
                      env=SECRET_ENV if env is None else env)
    return Site(gateway, provider, register(gateway))


def post_form(url, fields, headers=None):
    parts = urls.urlsplit(url)
    conn = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=PATIENCE)
    try:
        conn.request("POST", parts.path, body=urls.urlencode(fields), headers={
            "Content-Type": "application/x-www-form-urlencoded", **(headers or {})})
        answer = conn.getresponse()
        return Answer(answer.status, dict(answer.getheaders()), answer.read())
    finally:
        conn.close()


def basic(client_id, secret=CLIENT_SECRET):
    """RFC 6749, 2.3.1: both are encoded as in a form before they are put together."""
    pair = f"{urls.quote_plus(client_id)}:{urls.quote_plus(secret)}"
    return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}


class RelyingParty:
    """A tiny client of the provider, for access tokens and to try the provider itself."""

    def __init__(self, provider, client_id="gatehouse"):
        self.provider, self.client_id = provider, client_id
        self.redirect_uri = "http://127.0.0.1:9/rp"

    def discovery(self):
        return Browser().open(f"{self.provider.issuer}/.well-known/openid-configuration").json

    def authorize(self, person, **query):
        """→ (the query of the answer, the verifier)"""
        verifier = secrets.token_urlsafe(48)
        challenge = base64.urlsafe_b64encode(
            hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        wanted = {"client_id": self.client_id, "redirect_uri": self.redirect_uri,
                  "response_type": "code", "scope": "openid profile email", "state": "s",
                  "nonce": "n", "code_challenge": challenge, "code_challenge_method": "S256",
                  **query}
        wanted = {name: value for name, value in wanted.items() if value is not None}
        hops = Browser(person).follow(f"{self.provider.issuer}/auth?{urls.urlencode(wanted)}",
                                      stop=lambda url: url.startswith(self.redirect_uri))
        assert hops[-1].location, hops
        return query_of(hops[-1].location), verifier

    def exchange(self, code, verifier, **fields):
        fields = {"grant_type": "authorization_code", "code": code, "code_verifier": verifier,
                  "redirect_uri": self.redirect_uri, **fields}
        headers = {}
        if self.client_id == "public":
            fields["client_id"] = "public"
        else:
            headers = basic(self.client_id)
        return post_form(f"{self.provider.issuer}/token", fields, headers)

    def tokens(self, person, **query):
        answer, verifier = self.authorize(person, **query)
        fields = {"resource": query["resource"]} if "resource" in query else {}
        exchanged = self.exchange(answer["code"], verifier, **fields)
        assert exchanged.status == 200, exchanged
        return exchanged.json

    def opaque(self, person):
        token = self.tokens(person)["access_token"]
        assert "." not in token
        return token

    def jwt(self, person, audience="gatehouse"):
        token = self.tokens(person, resource=f"urn:audience:{audience}")["access_token"]
        assert token.count(".") == 2
        return token

    def machine_jwt(self, client_id="machine", audience="gatehouse"):
        answer = post_form(f"{self.provider.issuer}/token", {
            "grant_type": "client_credentials", "resource": f"urn:audience:{audience}",
            "scope": "api"}, basic(client_id))
        assert answer.status == 200, answer
        return answer.json["access_token"]


def decode(token):
    """(header, payload) of a JWT, unchecked."""
    return tuple(json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
                 for part in token.split(".")[:2])
