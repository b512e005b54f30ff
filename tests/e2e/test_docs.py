# SPDX-License-Identifier: MIT
"""Every block of README.md and docs/ that can be typed is typed by a test; of each other one stands
here why not. A new block belongs to one of both, else the first test fails.

What is marked 'sh' is typed by test_day_one.py in one shell, README.md by test_readme.py,
packaging/README.md by test_systemd.py; all else here, with the names of examples replaced."""
import glob
import json
import os
import re
import shutil
import subprocess

import pytest

import test_day_one
from api import register
from conftest import BINARY, PATIENCE, ROOT, Gateway, Program, lasting_port
from native import OwnDatabase, credential
from oidc import CLIENT_SECRET, RelyingParty, Site, decode
from test_tcp import Echo, tcp_port
from test_tcp import connection as tcp_connection
from test_tls import make_certificate

HERE = "https://gatehouse.example.com"

# How a block begins, and why nobody types it.
NOT_TYPED = {
    "README.md": {"psql, an IDE, an app": "a drawing", "name      |            e": "an answer",
                  "name      |      email": "an answer"},
    "docs/agent-protocol.md": {
        "GET /api/agent-link": "a protocol: test_old_agent.py holds it", '{"protocol":1,"version':
        "a protocol", '{"variables":{"envva': "a protocol", '{"version":196608,"t': "a protocol",
        '{"message":"…","sqls': "a protocol"},
    "docs/agents.md": {"install -m 755 gateh": "test_systemd.py installs the same units"},
    "docs/command-line.md": {"gatehouse login http": "asks a person: test_command_line.py is one"},
    "docs/execution.md": {'{"name": "cluster", "': "test_commands.py makes such connections"},
    "docs/guardrails.md": {"ERROR:  blocked by g": "an answer"},
    "docs/operations.md": {"install -m 644 gateh": "test_restart.py keeps sockets as systemd does; "
                                                   "test_day_one.py verifies the unit"},
    "docs/native-clients.md": {"// JDBC; Application": "its URL is read by test_day_one.py; "
                                                       "drivers/ has JDBC itself"},
    "docs/secrets.md": {'{ "Version": "2012-1': "a policy of AWS", 'path "secret/data/pr':
                        "a policy of Vault"},
    "docs/tcp.md": {"GATEHOUSE <secret>": "a protocol: test_tcp.py speaks it"},
    "docs/sign-in/auth0.md": {"exports.onExecutePos": "runs at the provider",
                              "curl -d grant_type=c": "asks the provider"},
    "docs/sign-in/entra-id.md": {'"optionalClaims": { ': "a setting of the provider",
                                 "az account get-acces": "the provider's program",
                                 "curl -d grant_type=c": "asks the provider"},
    "docs/sign-in/google.md": {"gcloud auth print-id": "the provider's program"},
    "docs/sign-in/keycloak.md": {"curl -d grant_type=c": "asks the provider"},
    "docs/sign-in/okta.md": {"(appuser != null) ? ": "a setting of the provider",
                             "curl -u CLIENT_ID:SE": "asks the provider"},
}


def pages():
    found = glob.glob(os.path.join(ROOT, "docs/**/*.md"), recursive=True)
    return sorted(["README.md", "packaging/README.md",
                   *(os.path.relpath(path, ROOT) for path in found)])


def blocks_of(page):
    """[(language, text without the indentation of a list)]"""
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        found = re.findall(r"^( *)```(\w*)\n(.*?)^ *```$", file.read(), re.S | re.M)
    return [(language, re.sub(f"^{indent}", "", text, flags=re.M))
            for indent, language, text in found]


def why_not(page, text):
    start = " ".join(text.split())[:20]
    return [reason for begin, reason in NOT_TYPED.get(page, {}).items()
            if start.startswith(" ".join(begin.split())[:20])]


def typed_elsewhere(page, language):
    return (page in ("README.md", "packaging/README.md") or
            language == "sh" and page in [f"docs/{name}.md" for name in test_day_one.PAGES])


def typed_here(page):
    """The blocks of a page that this file runs."""
    return [text for language, text in blocks_of(page)
            if not typed_elsewhere(page, language) and not why_not(page, text)]


def kind_of(text):
    for kind, mark in (("serve", "gatehouse serve"), ("tcp", "gatehouse tcp"),
                       ("trial", "gatehouse guard test"), ("rule", '{"type":'),
                       ("python", "psycopg.connect"), ("token", "$ACCESS_TOKEN"),
                       ("curl", "curl "), ("api", "api "), ("person", "gatehouse ")):
        if mark in text:
            return kind
    return None


def test_every_block_is_typed_or_has_its_reason():
    untyped, seen = [], set()
    for page in pages():
        for language, text in blocks_of(page):
            reasons = why_not(page, text)
            seen.update((page, reason) for reason in reasons)
            if reasons or typed_elsewhere(page, language):
                continue
            if kind_of(text) is None:
                untyped.append((page, text))
    assert untyped == []
    for page, reasons in NOT_TYPED.items():
        assert {(page, reason) for reason in reasons.values()} <= seen, "a block is gone"


class Place:
    """A gateway of which the pages can say what they like, and a shell beside it."""

    def __init__(self, folder, server):
        self.folder = folder
        self.files = make_certificate(folder, "docs")
        self.gateway = Gateway(folder / "gateway", "--tls-cert", self.files[0], "--tls-key",
                               self.files[1], "--tcp-listen", "127.0.0.1:0")
        self.admin = register(self.gateway)
        self.target = OwnDatabase(server, "SELECT 1")  # where no other test has made anything
        for name in "orders-ro", "orders-agent":
            self.target.connection(self.admin, name=name)
        self.own = self.admin.get("/connections/orders-ro").json["id"]
        self.admin.post("/attributes", {"name": "pci"})
        self.admin.post("/users", {"email": "ann@example.com"})
        (folder / "bin").mkdir()
        os.symlink(BINARY, folder / "bin/gatehouse")

    def type(self, text, url=None, **variables):
        text = text.replace(HERE, (url or self.gateway.url("")).rstrip("/"))
        text = re.sub(r'("connection_ids": \[")[^"]+', rf"\g<1>{self.own}", text)
        text = text.replace("curl ", "curl -sS --fail-with-body ", 1)
        api = ("api() { curl -sS --fail-with-body -w '\\n' -H \"Authorization: Bearer $TOKEN\" "
               "\"$@\"; }\n")
        env = {name: value for name, value in os.environ.items()
               if not name.startswith("GATEHOUSE_")}
        env.update(PATH=f"{self.folder}/bin:{env['PATH']}", TOKEN=self.admin.token,
                   CURL_CA_BUNDLE=str(self.files[0]), GATEHOUSE_DATA_DIR=self.gateway.data)
        env.update(variables)
        done = subprocess.run(["bash", "-uc", api + text], env=env,
                              cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=4 * PATIENCE, check=False)
        assert done.returncode == 0, (text, done.stdout, done.stderr)
        return done.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory, postgres):
    place = Place(tmp_path_factory.mktemp("docs"), postgres)
    yield place
    assert place.gateway.stop() == 0, place.gateway.text()


@pytest.mark.parametrize("page", [page for page in pages() if any(
    kind_of(text) in ("curl", "api") for text in typed_here(page))])
def test_calls_are_taken(place, page):
    for text in typed_here(page):
        if kind_of(text) in ("curl", "api"):
            place.type(text)


def test_rules_are_taken_and_tried(place):
    """The fragments of the page on guard rails, and its trial, of the rail that its first block
    makes (which is there when that has run alone, too)."""
    texts = typed_here("docs/guardrails.md")
    [rule] = [text for text in texts if kind_of(text) == "rule" and text.startswith("{")]
    side = {"rules": [json.loads(rule)]}
    made = place.admin.post("/guardrails", {"name": "of-a-fragment", "output": side})
    assert made.status == 201, made
    if "orders" not in place.admin.get("/guardrails").body.decode():
        place.type(texts[0])
    (place.folder / "changed.json").write_text(json.dumps({"name": "orders", "input": {"rules": [
        {"type": "deny_words_list", "words": ["x"]}]}}))
    [trial] = [text for text in texts if kind_of(text) == "trial"]
    assert "0" in place.type(trial)


def test_the_command_for_tcp_is_typed(place):
    [text] = [text for text in typed_here("docs/tcp.md") if kind_of(text) == "tcp"]
    echo = Echo()
    name = tcp_connection(place.admin, echo.port, name="reports")
    secret = credential(place.admin, name)["connection_credentials"]["password"]
    text = text.replace("GATEHOUSE_SECRET=…", f"GATEHOUSE_SECRET='{secret}'")
    text = text.replace("gate.example.com:15000", f"127.0.0.1:{tcp_port(place.gateway)}")
    text = text.replace("issuers.pem", str(place.files[0]))
    assert place.type(f"echo there and back | {text}") == "there and back\n"


def test_the_command_line_is_typed(place, tmp_path):
    """All blocks of the page in one shell, by a person whose home is empty."""
    shutil.copy(place.files[0], place.folder / "ca.pem")
    texts = [text for text in typed_here("docs/command-line.md") if kind_of(text) == "person"]
    said = place.type("set -e\n" + "\n".join(texts), HOME=str(tmp_path), XDG_CONFIG_HOME="",
                      XDG_STATE_HOME="")
    assert "signed in to" in said and "orders-ro" in said and "\n5000\n" in said
    assert "good: answers" in said and "\nwhole\n" in said
    assert "-- the session has ended" in said
    assert "PostgreSQL database dump" in (place.folder / "schema.sql").read_text()


def test_python_connects_as_it_is_told(place, tools):
    [text] = [text for text in typed_here("docs/native-clients.md") if kind_of(text) == "python"]
    given = credential(place.admin, "orders-ro")["connection_credentials"]
    body = "\n".join("    " + line for line in text.splitlines())
    script = ("import asyncio, asyncpg, psycopg, sys\n"
              f"async def main(url):\n{body}\n    print('both')\n"
              "asyncio.run(main(sys.argv[1]))\n")
    done = subprocess.run([os.path.join(tools, "python3"), "-c", script,
                           given["connection_string"].replace("sslmode=prefer", "sslmode=disable")],
                          capture_output=True, text=True, timeout=4 * PATIENCE, check=False)
    assert done.stdout == "both\n", done.stderr


@pytest.mark.parametrize("page", [page for page in pages() if page.startswith("docs/sign-in/")
                                  and any(kind_of(text) == "serve" for text in typed_here(page))])
def test_the_start_for_each_provider_is_one(place, page):
    """Every flag is there and takes what it is given; the provider itself is not asked."""
    for text in typed_here(page):
        if kind_of(text) == "serve":
            text = text.replace("=…", "=a-secret").replace("…", "x")
            text = text.replace("gatehouse serve", "gatehouse check")
            said = place.type(text, url=HERE, GATEHOUSE_LISTEN="127.0.0.1:0",
                              GATEHOUSE_POSTGRES_LISTEN="127.0.0.1:0",
                              GATEHOUSE_MYSQL_LISTEN="127.0.0.1:0",
                              GATEHOUSE_DATA_DIR=str(place.folder / "checked"))
            assert "it would start" in said


class Told(Gateway):
    """A gateway that a block of a page has started."""

    def __init__(self, folder, script, **variables):
        self.folder, self.data = str(folder), os.path.join(str(folder), "data")
        env = {name: value for name, value in os.environ.items()
               if not name.startswith("GATEHOUSE_")}
        env.update(GATEHOUSE_DATA_DIR=self.data, **variables)
        Program.__init__(self, ["bash", "-euc", script], env, str(folder / "output.txt"))
        self.port = self.scheme = None
        self.wait_ready()


def test_the_provider_is_set_up_as_it_is_told(place, provider, tmp_path):
    """The three steps, an invitation, access tokens and a service account, as the page has them."""
    page = typed_here("docs/sign-in/README.md")
    port = lasting_port()
    url = f"http://127.0.0.1:{port}"
    [serve] = [text for text in page if kind_of(text) == "serve"]
    script = serve.replace("…", f"'{CLIENT_SECRET}'").replace(HERE, url)
    script = script.replace("https://id.example.com/realms/staff", provider.issuer)
    script = script.replace("gatehouse serve", f"exec {BINARY} serve")
    gateway = Told(tmp_path, script, GATEHOUSE_LISTEN=f"127.0.0.1:{port}",
                   GATEHOUSE_POSTGRES_LISTEN="127.0.0.1:0", GATEHOUSE_MYSQL_LISTEN="127.0.0.1:0")
    try:
        link = re.search(r"(http://\S+)/register#setup_code=(\S+)", gateway.text())
        assert link.group(1) == url
        site = Site(gateway, provider)
        boss = provider.person()
        admin = site.enter(boss, setup_code=link.group(2))
        assert admin.get("/userinfo").json["is_admin"] is True
        token = RelyingParty(provider).machine_jwt()
        subject = decode(token)[1]["sub"]
        said = []
        for text in page:
            if kind_of(text) in ("api", "token"):
                text = text.replace("SUB OF THE TOKEN", subject)
                access = RelyingParty(provider).jwt(boss)
                said.append(place.type(text, url=url, TOKEN=admin.token, ACCESS_TOKEN=access))
        invited, me, account, shown = said
        assert "/invitation#token=ghi_" in json.loads(invited)["invitation_url"]
        assert json.loads(me)["is_admin"] is True
        assert json.loads(account)["issuer"] == provider.issuer
        assert json.loads(shown)["sub"] == boss
        assert site.who(token).json["name"] == "nightly-report"
    finally:
        assert gateway.stop() == 0, gateway.text()
