# SPDX-License-Identifier: MIT
"""What people and programs are told, and in which form: pages, logs, errors, hints."""
import json
import os
import re
import subprocess

import pytest

from api import register
from conftest import BINARY, ROOT, Gateway, wait_for
from native import credential, psql
from test_pg_tls import certificates  # noqa: F401, a fixture


def test_a_browser_gets_a_page_where_there_is_nothing(quick):
    page = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    for path in "/nothing", "/a/b/c", "/nothing.html", "/%3Cscript%3E":
        status, headers, body = quick.gateway.get(path, headers=page)
        assert status == 404 and headers["Content-Type"].startswith("text/html"), (path, headers)
        assert b"/assets/entry-" in body and b"{{nonce" not in body  # test_console_pages.py reads it
        assert "nonce-" in headers["Content-Security-Policy"]
        status, headers, body = quick.gateway.get(path, headers={"Accept": "*/*"})
        assert status == 404 and "there is nothing at" in json.loads(body)["message"]
    for path in "/api", "/api/nothing", "/api/resources/x":
        status, headers, body = quick.gateway.get(path, headers=page)
        assert status in (401, 404) and headers["Content-Type"] == "application/json", path
    status, headers, body = quick.gateway.get("/nothing", method="HEAD", headers=page)
    assert status == 404 and body == b"" and headers["Content-Type"].startswith("text/html")
    assert quick.gateway.get("/not-found", headers=page)[0] in (200, 404)


def test_errors_are_escaped_once(quick, start):
    answer = quick.post("/attributes", {'a"b\\c\n': 1})
    assert answer.message == "'a\"b\\c\\n' is not known here", answer.message
    assert b"""'a\\"b\\\\c\\\\n'""" in answer.body
    done = subprocess.run([BINARY, "serve", "--log-level", 'a"b'], capture_output=True, text=True)
    assert "'a\"b'" in done.stderr, done.stderr


def test_a_log_in_json_is_nothing_else(tmp_path):
    env = {k: v for k, v in os.environ.items() if not k.startswith("GATEHOUSE_")}
    for arguments in (["serve", "--log-format", "json", "--listen", "x"],
                      ["serve", "--log-format=json", "--no-such", "x"],
                      ["serve", "--log-format", "json", "--data-dir", "/proc/none"],
                      ["agent", "--log-format", "json", "--token", "x"]):
        done = subprocess.run([BINARY, *arguments], env=env, capture_output=True, text=True)
        assert done.returncode != 0 and done.stdout == ""
        lines = [json.loads(line) for line in done.stderr.splitlines()]
        assert lines and lines[-1]["level"] == "error", done.stderr
    gateway = Gateway(tmp_path, env={"GATEHOUSE_LOG_FORMAT": "json"})
    said = [json.loads(line) for line in gateway.text().splitlines()]
    command = next(line["first_admin"] for line in said if line.get("first_admin"))
    assert command.startswith("gatehouse setup-code --data-dir ")
    shown = subprocess.run([BINARY, *command.split()[1:]], cwd=tmp_path, env=env,
                           capture_output=True, text=True, check=True)
    code = re.search(r"[\w-]{20}", shown.stdout).group()
    assert code not in gateway.text(), "a log has the code"
    assert gateway.stop() == 0
    assert all(json.loads(line)["level"] for line in gateway.text().splitlines())


def test_native_clients_may_have_to_use_tls(tmp_path, certificates, target):
    cert, key = certificates["first"]
    env = {k: v for k, v in os.environ.items() if not k.startswith("GATEHOUSE_")}
    done = subprocess.run([BINARY, "check", "--postgres-tls", "required"], env=env, cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == 2 and "--tls-cert" in done.stderr, done.stderr
    gateway = Gateway(tmp_path, "--tls-cert", cert, "--tls-key", key, "--postgres-tls", "required")
    boss = register(gateway)
    made = credential(boss, target.connection(boss))
    assert psql(made, "SELECT 1", PGSSLMODE="require").stdout == "1\n"
    refused = psql(made, "SELECT 1", check=False, PGSSLMODE="disable")
    assert refused.returncode == 2 and "takes connections with TLS only" in refused.stderr
    assert gateway.stop() == 0


@pytest.fixture(scope="module")
def guarded(quick, target):
    """The first example of docs/guardrails.md, on a connection of one's own."""
    name = target.connection(quick)
    with open(os.path.join(ROOT, "docs/guardrails.md"), encoding="utf-8") as page:
        body = json.loads(re.search(r"-d '(\{.*?\})'\n```", page.read(), re.S).group(1))
    body.pop("connection_ids", None)
    answer = quick.post("/guardrails", {**body, "connection_names": [name]})
    assert answer.status == 201, answer
    return credential(quick, name)


def test_the_first_example_of_guard_rails_breaks_nothing(guarded):
    for text in ("\\d", "\\l", "\\df", "\\dt *.*", "SELECT version(), current_user;",
                 "BEGIN; CREATE TABLE kept(a int); INSERT INTO kept VALUES (1); "
                 "UPDATE kept SET a = 2 WHERE a = 1; SELECT sum(a) FROM kept; ROLLBACK;",
                 "EXPLAIN SELECT 1;", "SHOW search_path;",
                 "SELECT 1 FROM pg_catalog.pg_class LIMIT 1;", "SELECT pg_backend_pid() > 0;"):
        done = psql(guarded, text, check=False)
        assert done.returncode == 0, (text, done.stderr)
    with open(os.path.join(ROOT, "docs/guardrails.md"), encoding="utf-8") as page:
        assert psql(guarded, "DELETE FROM kept", check=False).stderr in page.read()
    for text in "DELETE FROM kept", "SELECT * FROM hr.salaries", \
            "SELECT * FROM salaries", "SELECT 'xp_cmdshell'":
        done = psql(guarded, text, check=False)
        assert "blocked by guard rail" in done.stderr, (text, done.stderr)


def test_a_refusal_of_masking_speaks_of_masking(quick, target):
    name = target.connection(quick)
    made = credential(quick, name)
    psql(made, "CREATE TABLE people(id int, email text);")
    rule = {"name": "mails", "connection_names": [name], "refuse_predicates": True,
            "columns": [{"name": "public.people.email"}]}
    assert quick.post("/datamasking-rules", rule).status == 201
    done = psql(credential(quick, name), "SELECT id FROM people WHERE email = 'x'", check=False)
    assert "uses a masked column beyond its output" in done.stderr, done.stderr
    assert "Masking rules are set" in done.stderr and "uard rail" not in done.stderr


def test_the_metrics_know_what_was_stopped_masked_and_ended(quick, target):
    def metric(name):
        page = quick.gateway.get("/metrics")[2].decode()
        return int(re.search(rf"^{re.escape(name)} (\d+)$", page, re.M).group(1))

    names = ["gatehouse_session_blocked_total", "gatehouse_session_masked_values_total",
             'gatehouse_sessions_ended_total{outcome="refused"}',
             'gatehouse_sessions_ended_total{outcome="completed"}',
             'gatehouse_sessions_ended_total{outcome="cut"}']
    wait_for(lambda: metric("gatehouse_sessions_open") == 0, what="the end of earlier sessions")
    before = [metric(name) for name in names]
    name = target.connection(quick)
    made = credential(quick, name)
    assert quick.post("/guardrails", {"name": "counted", "connection_names": [name], "input": {
        "rules": [{"type": "deny_words_list", "words": ["never"]}]}}).status == 201
    assert quick.post("/rulepacks/personal-data/attach", {"connection_names": [name]}).status == 200
    psql(made, "SELECT 'never'", check=False)
    assert "[EMAIL_ADDRESS]" in psql(made, "SELECT 'ada@example.com'").stdout
    wrong = {**made, "connection_credentials": {**made["connection_credentials"],
                                                "password": "wrong"}}
    assert psql(wrong, "SELECT 1", check=False).returncode == 2
    def counted():
        return [metric(name) - was for name, was in zip(names, before)]

    wait_for(lambda: sum(counted()) >= 5, what="the counts")
    assert counted() == [1, 1, 1, 2, 0]
    assert metric("gatehouse_agents_connected") == 0
