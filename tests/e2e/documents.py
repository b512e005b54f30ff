# SPDX-License-Identifier: MIT
"""The blocks of README.md and docs/: which test types them, and a shell to type them in.

What is marked 'sh' is typed by test_day_one.py in one shell, README.md by test_readme.py,
packaging/README.md by test_day_one.py; all else by test_docs.py, with the names of examples
replaced."""
import glob
import os
import re
import subprocess

from api import register
from conftest import BINARY, PATIENCE, ROOT, Gateway, Program
from native import OwnDatabase
from test_tls import make_certificate

ONE_SHELL = "connections", "native-clients", "agents", "operations"
HERE = "https://gatehouse.example.com"

# How a block begins, and why nobody types it.
NOT_TYPED = {
    "README.md": {"psql, an IDE, an app": "a drawing", "name      |            e": "an answer",
                  "name      |      email": "an answer"},
    "docs/agent-protocol.md": {
        "GET /api/agent-link": "a protocol: test_old_agent.py holds it", '{"protocol":1,"version':
        "a protocol", '{"variables":{"envva': "a protocol", '{"version":196608,"t': "a protocol",
        '{"message":"…","sqls': "a protocol"},
    "docs/agents.md": {"install -m 755 gateh": "test_day_one.py installs the same units"},
    "docs/command-line.md": {"gatehouse login http": "asks a person: test_command_line.py is one",
                             "kind: connection name": "test_apply.py applies such files"},
    "docs/execution.md": {'{"name": "cluster", "': "test_commands.py makes such connections"},
    "docs/guardrails.md": {"ERROR:  blocked by g": "an answer"},
    "docs/mysql.md": {"ERROR 1227 (42000): ": "an answer"},
    "docs/notifications.md": {'{"type": "review.requ': "test_notifications.py reads them"},
    "docs/reviews.md": {"NOTICE:  the statement w": "an answer"},
    "docs/operations.md": {"install -m 644 gateh": "test_restart.py keeps sockets as systemd does; "
                                                   "test_day_one.py verifies the unit"},
    "docs/native-clients.md": {"// JDBC; Application": "its URL is read by test_day_one.py; "
                                                       "drivers/ has JDBC itself"},
    "docs/secrets.md": {'{ "Version": "2012-1': "a policy of AWS", 'path "secret/data/pr':
                        "a policy of Vault"},
    "docs/terminals.md": {"gatehouse connect cl": "test_connect_terminal.py sits before one",
                          '{"type": "resize", "': "test_terminals.py sends it",
                          '{"type": "open", "se': "test_terminals.py reads them"},
    "docs/ssh.md": {"ssh -p 12222 orders@": "asks for a password: test_ssh.py gives one",
                    "ssh -p 12222 -L 5432": "stays: test_ssh_forward.py has one"},
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
            language == "sh" and page in [f"docs/{name}.md" for name in ONE_SHELL])


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


class Place:
    """A gateway of which the pages can say what they like, and a shell beside it."""

    def __init__(self, folder, server):
        self.folder = folder
        folder.mkdir(exist_ok=True)
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
