# SPDX-License-Identifier: MIT
"""The commands that people use, against a real gateway and a real PostgreSQL."""
import http.server
import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import threading
import time

import pytest

from api import Api, PASSWORD, connection, login, unique
from command_line import Person
from conftest import BINARY, PATIENCE, Gateway, lasting_port, receive_all, wait_for
from native import credential
from people import TRUSTED
from test_tls import make_certificate


@pytest.fixture(scope="module")
def name(admin, target):
    return target.connection(admin, connection_tags={"team": "shop"})


@pytest.fixture(scope="module")
def me(admin, tmp_path_factory):
    return Person(tmp_path_factory.mktemp("me"), admin)


def member(admin, *groups):
    email = unique("ann") + "@example.com"
    answer = admin.post("/users", {"email": email, "password": PASSWORD, "groups": list(groups)})
    assert answer.status == 201, answer
    return login(admin.gateway, email)


# Signing in --------------------------------------------------------------------------------------

def test_a_token_is_kept_for_its_owner_alone(admin, tmp_path):
    one = Person(tmp_path / "one")
    assert "gatehouse login" in one.refused(5, "list")
    assert "https" in one.refused(2, "login", "http://gate.example.com", "--token-stdin", text="x")
    assert "does not take" in one.refused(5, "login", admin.gateway.url(""), "--token-stdin",
                                          text="nonsense\n")
    assert one.files() == {}
    other = Api(admin.gateway, login(admin.gateway, admin.get("/userinfo").json["email"]).token)
    one = Person(tmp_path / "one", other, ["--context", "work"])
    assert one.files() == {".config/gatehouse/contexts.json": 0o600,
                           ".local/state/gatehouse/work.token": 0o600}
    with open(os.path.join(one.home, ".config/gatehouse/contexts.json"), encoding="utf-8") as file:
        assert other.token not in file.read()
    state = one.json("status")
    assert state["context"] == "work" and state["token_expires_at"] > "2"
    assert state["user"]["email"] == "root@example.com"
    assert re.search("^signed in as +root@example.com$", one.run("status"), re.M)
    assert "signed out" in one.run("logout")
    assert other.get("/userinfo").status == 401, "the token was revoked"
    assert list(one.files()) == [".config/gatehouse/contexts.json"]
    assert "gatehouse login" in one.refused(5, "status")


def test_contexts_and_variables(admin, tmp_path, name):
    one = Person(tmp_path, admin, ["--context", "first"])
    one.run("login", admin.gateway.url("/"), "--token-stdin", "--context", "second",
            text=admin.token)
    assert [c["name"] for c in one.json("context")] == ["first", "second"]
    assert one.json("status")["context"] == "second"
    assert "from now on" in one.run("context", "first")
    assert one.json("status")["context"] == "first"
    assert one.json("status", "--context", "second")["context"] == "second"
    assert "no context 'third'" in one.refused(2, "status", "--context", "third")
    assert "letters" in one.refused(2, "login", admin.gateway.url(""), "--token-stdin",
                                    "--context", "../up", text=admin.token)
    stranger = Person(tmp_path / "stranger")
    found = stranger.run("list", GATEHOUSE_URL=admin.gateway.url(""), GATEHOUSE_TOKEN=admin.token)
    assert name in found
    assert "not signed in" in stranger.refused(5, "list", GATEHOUSE_URL=admin.gateway.url(""))
    path = os.path.join(one.home, ".config/gatehouse/contexts.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"contexts": [{"name": "a", "url": "https://a", "token": "b"}]}')
    assert "'contexts[0].token'" in one.refused(2, "status")


def test_a_code_is_confirmed_elsewhere(admin, tmp_path):
    person = member(admin)
    one = Person(tmp_path)
    process = one.start("login", admin.gateway.url(""))
    said = ""
    while "code  " not in said:
        said += process.stderr.readline()
    code = re.search(r"code  ([BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4})", said).group(1)
    assert f"{admin.gateway.url('')}/device" in said.replace("//device", "/device")
    waiting = person.get(f"/device?user_code={code.lower().replace('-', '')}").json
    assert waiting["user_code"] == code and waiting["program"].startswith("gatehouse on ")
    assert waiting["asked_from"] == "127.0.0.1"
    key = admin.key("developers")
    assert key.post("/device", {"user_code": code, "approve": True}).status == 403
    assert Api(admin.gateway).post("/device", {"user_code": code, "approve": True}).status == 401
    assert person.post("/device", {"user_code": code, "approve": True}).status == 204
    assert person.post("/device", {"user_code": code, "approve": True}).status == 404, "once"
    out, err = process.communicate(timeout=4 * PATIENCE)
    assert process.returncode == 0 and "signed in" in out, err
    assert one.json("status")["user"]["id"] == person.get("/userinfo").json["id"]
    actions = [entry["action"] for entry in admin.get("/audit/logs?page_size=100").json["data"]]
    assert "approve_device" in actions


def form(gateway, path, **values):
    body = "&".join(f"{key}={value}" for key, value in values.items())
    answer = Api(gateway).post(path, body.encode(), headers={
        "Content-Type": "application/x-www-form-urlencoded"})
    return answer


GRANT = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code"


def ask(gateway, begun):
    answer = form(gateway, "/device/token", grant_type=GRANT, client_id="x",
                  device_code=begun["device_code"])
    return answer.status, answer.json.get("error")


def test_codes_as_rfc_8628_has_them(admin):
    gateway = admin.gateway
    begun = form(gateway, "/device/authorize", client_id="x").json
    assert begun["expires_in"] == 600 and begun["interval"] == 5
    assert begun["verification_uri_complete"].endswith("?user_code=" + begun["user_code"])
    assert ask(gateway, begun) == (400, "authorization_pending")
    assert ask(gateway, begun) == (400, "slow_down")
    assert form(gateway, "/device/token", grant_type="password", device_code="x").json[
        "error"] == "unsupported_grant_type"
    assert ask(gateway, {"device_code": "nobody's"}) == (400, "expired_token")
    assert admin.post("/device", {"user_code": begun["user_code"], "approve": False}).status == 204
    assert ask(gateway, begun) == (400, "access_denied")
    assert ask(gateway, begun) == (400, "expired_token"), "once"
    for code in "", "AAAA", "BCDF-GHJKL", "bcdf ghjk", "é" * 8:
        answer = admin.post("/device", {"user_code": code, "approve": True})
        assert answer.status in (400, 404), answer
    begun = form(gateway, "/device/authorize", client_id="x").json
    person = member(admin)
    assert person.post("/device", {"user_code": begun["user_code"], "approve": True}).status == 204
    mail = person.get("/userinfo").json["email"]
    assert admin.patch(f"/users/{mail}", {"status": "inactive"}).status == 200
    assert ask(gateway, begun) == (400, "access_denied"), "who was locked out meanwhile stays out"


class Hostile(http.server.BaseHTTPRequestHandler):
    """A gateway that is none, or was taken over: 'answers' is what it says to each path."""
    answers, seen = {}, []

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.split("?")[0]
        self.seen.append((path, self.headers.get("Authorization")))
        status, body, headers = self.answers.get(path, (404, {"message": "none"}, {}))
        text = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(text)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    do_POST = do_GET

    def log_message(self, *_):
        pass


@pytest.fixture
def hostile():
    """(its URL, what it answers to paths, what it saw)"""
    kind = type("One", (Hostile,), {"answers": {}, "seen": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", kind.answers, kind.seen
        server.shutdown()
        thread.join()


ESCAPE = "\x1b]0;owned\x07\x9b31m\u202e"


def is_plain(*texts):
    return not [text for text in texts for letter in "\x1b\x07\x9b\u202e" if letter in text]


def test_a_gateway_that_is_none_opens_no_programs(hostile, tmp_path):
    """What opens pages opens files and programs, too; what is printed moves no cursor."""
    url, answers, _ = hostile
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/opened\n')
    browser.chmod(0o755)
    one = Person(tmp_path / "home")
    answers["/api/publicserverinfo"] = (200, {"auth_method": "local"}, {})
    good = {"device_code": "x", "user_code": "BCDF-GHJK", "interval": 1, "expires_in": 2,
            "verification_uri": f"{url}/device"}
    for changed in ({"verification_uri": "file:///etc/passwd"}, {"verification_uri": "--help"},
                    {"verification_uri_complete": "vscode://run?x"},
                    {"verification_uri_complete": "javascript:alert(1)"},
                    {"verification_uri": f"{url}/{ESCAPE}"}, {"user_code": "A" + ESCAPE},
                    {"verification_uri_complete": f"{url}/a b"}, {"user_code": "A" * 40},
                    {"interval": 0}, {"expires_in": -9000000000000000000}):
        answers["/api/device/authorize"] = (200, {**good, **changed}, {})
        done = one.done("login", url, BROWSER=str(browser))
        assert done.returncode == 6 and is_plain(done.stderr, done.stdout), (changed, done)
    answers["/api/publicserverinfo"] = (200, {"auth_method": "oidc"}, {})
    for page in "file:///etc/passwd", "-x", "ftp://x/y", f"http://x/{ESCAPE}":
        answers["/api/login"] = (200, {"login_url": page}, {})
        done = one.done("login", url, BROWSER=str(browser))
        assert done.returncode == 6 and is_plain(done.stderr), (page, done)
    assert not (tmp_path / "opened").exists()
    answers["/api/publicserverinfo"] = (200, {"auth_method": "local"}, {})
    answers["/api/device/authorize"] = (200, {**good, "interval": 2 ** 62, "expires_in": 1}, {})
    process = one.start("login", url, BROWSER=str(browser))
    wait_for((tmp_path / "opened").exists, what="the page of a good answer")
    process.send_signal(signal.SIGINT)
    assert "interrupted" in process.communicate(timeout=PATIENCE)[1]


def offered_by_bash(me, line, tmp_path):
    """What bash itself offers for a line that is typed so far."""
    os.makedirs(tmp_path / "bin", exist_ok=True)
    if not (tmp_path / "bin/gatehouse").exists():
        os.symlink(BINARY, tmp_path / "bin/gatehouse")
    words = line.split(" ")
    script = ("source <(gatehouse completion bash)\n"
              f"COMP_WORDS=({' '.join(map(repr, words))}) COMP_CWORD={len(words) - 1}\n"
              "_gatehouse\nprintf '%s\\n' \"${COMPREPLY[@]}\"")
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True,
                          env={**me.env, "PATH": f"{tmp_path}/bin:{me.env['PATH']}"}, check=False)
    assert done.stderr == "", done
    return done.stdout.split()


def test_a_gateway_that_is_none_moves_no_cursor_and_gets_no_token(hostile, admin, tmp_path):
    url, answers, seen = hostile
    one = Person(tmp_path, admin, ["--context", "good"])
    answers["/api/userinfo"] = (200, {"id": "1", "email": ESCAPE}, {})
    said = one.run("login", url, "--token-stdin", "--context", "bad", text="of-the-other")
    assert is_plain(said), said
    made = {"session_id": "s", "output": ESCAPE, "output_status": "failed", "exit_code": 1,
            "statements": [{"columns": [{"name": ESCAPE, "type": "text"}], "rows": [[ESCAPE]],
                            "notices": [{"message": ESCAPE}], "command": ESCAPE}]}
    name = {"name": ESCAPE, "subtype": ESCAPE, "type": ESCAPE}
    answers["/api/connections/x/controls"] = (200, {}, {})
    for path, answer, arguments in (
            ("/api/connections", {"data": [name]}, ["list"]),
            ("/api/connections/x", name, ["show", "x"]), ("/api/connections/x", name, ["why", "x"]),
            ("/api/connections/x", name, ["connect", "x"]),
            ("/api/sessions", made, ["exec", "x", "-c", "y"]),
            ("/api/sessions", {"data": [{"id": ESCAPE, "connection": ESCAPE}]}, ["sessions", "list"]),
            ("/api/sessions/x", {"id": ESCAPE, "user": ESCAPE}, ["sessions", "show", "x"])):
        answers[path] = (200, answer, {})
        done = one.done(*arguments)
        assert is_plain(done.stdout, done.stderr), (arguments, done)
    for status in 400, 403, 404, 409, 500:
        answers["/api/connections/x"] = (status, {"message": ESCAPE}, {})
        assert is_plain(one.done("show", "x").stderr)
    # Where it sends the request on to, nothing comes, and no context has another's token.
    answers["/api/connections/x"] = (302, b"", {"Location": f"{url}/elsewhere"})
    one.done("show", "x")
    assert not [path for path, _ in seen if path == "/elsewhere"]
    assert {token for _, token in seen if token} == {"Bearer of-the-other"}
    one.done("list", "--context", "good")
    assert not [token for _, token in seen if token and admin.token in token]
    # What it calls a credential names no file but one of ours.
    kept_pass = os.path.join(one.home, ".pgpass")
    with open(kept_pass, "w", encoding="utf-8") as file:
        file.write("mine")
    answers["/api/connections/x"] = (200, {"name": "x", "subtype": "postgres"}, {})
    access = {"hostname": "h", "port": "5432", "username": "x", "password": "p"}
    for made, inner in (({"id": "../../../"}, {}), ({"id": "a/b"}, {}), ({"id": "a" * 65}, {}),
                        ({}, {"username": "x\nlocalhost:*:*:*:y"}), ({}, {"password": "p\nq"})):
        answers["/api/connections/x/credentials"] = (201, {
            "id": "1-a", "connection_name": "x", "connection_subtype": "postgres", **made,
            "connection_credentials": {**access, **inner}}, {})
        one.refused(6, "connect", "x", "--", "cat", kept_pass)
        with open(kept_pass, encoding="utf-8") as file:
            assert file.read() == "mine"
    # A login that fails leaves what was there: no new address beside an old token.
    answers["/api/userinfo"] = (401, {"message": "no"}, {})
    one.refused(5, "login", url, "--token-stdin", "--context", "good", text="of-the-other")
    kept = one.json("status", "--context", "good")
    assert kept["url"] == admin.gateway.url("").rstrip("/") and kept["user"]["id"]
    # What a completion makes words of is run by no shell.
    answers["/api/userinfo"] = (200, {"id": "1"}, {})
    names = [f"$(touch {tmp_path}/run-by-tab)", f"`touch {tmp_path}/run-by-tab`", "good-one"]
    answers["/api/connections"] = (200, {"data": [{"name": each} for each in names]}, {})
    assert offered_by_bash(one, "gatehouse exec ", tmp_path) == ["good-one"]
    assert not (tmp_path / "run-by-tab").exists()


def test_one_address_does_not_take_all_codes(start):
    gateway = start(*TRUSTED)

    def codes(address, count):
        return [Api(gateway).post("/device/authorize", b"client_id=x", headers={
            "Content-Type": "application/x-www-form-urlencoded",
            "X-Forwarded-For": address(i)}).status for i in range(count)]
    assert codes(lambda i: "198.18.5.1", 102) == [200] * 100 + [429] * 2
    assert codes(lambda i: f"2001:db8::{i + 1:x}", 102) == [200] * 100 + [429] * 2
    assert codes(lambda i: "198.18.5.2", 1) + codes(lambda i: "2001:db8:1::1", 1) == [200, 200]


def begin(admin, person):
    """A sign-in that the person has confirmed, and whose token is not fetched yet."""
    begun = form(admin.gateway, "/device/authorize", client_id="x").json
    body = {"user_code": begun["user_code"], "approve": True}
    assert person.post("/device", body).status == 204
    return begun


def test_a_code_that_was_confirmed_ends_with_all_sign_ins(admin):
    """Somebody confirmed what he should not have, notices, and ends all he has."""
    new = {"current_password": PASSWORD, "new_password": "stairs behind nine lanterns"}
    for method, path, body in (("POST", "/logout?everywhere=true", None),
                               ("PUT", "/localauth/password", new)):
        person = member(admin)
        begun = begin(admin, person)
        answer = person.call(method, path, body)
        assert answer.status in (200, 204), answer
        assert ask(admin.gateway, begun) == (400, "expired_token")


def test_a_token_of_a_code_makes_no_others(admin):
    """Else one that was stolen is made into new ones for ever, twelve hours each."""
    begun = begin(admin, member(admin))
    answer = form(admin.gateway, "/device/token", grant_type=GRANT, client_id="x",
                  device_code=begun["device_code"])
    lent = Api(admin.gateway, answer.json["access_token"])
    assert lent.get("/userinfo").status == 200
    again = form(admin.gateway, "/device/authorize", client_id="x").json
    answer = lent.post("/device", {"user_code": again["user_code"], "approve": True})
    assert answer.status == 403 and "in a browser" in answer.message, answer
    assert lent.get(f"/device?user_code={again['user_code']}").status == 403
    assert lent.post("/logout").status in (200, 204), "it ends as others do"
    assert lent.get("/userinfo").status == 401


def test_a_browser_ends_at_a_port_of_this_machine(quick_site, tmp_path):
    """The browser is a script that tells where it was sent; the rest is done as a person does it."""
    from oidc import Browser
    page = tmp_path / "page.txt"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nenv >{tmp_path}/env.txt\nprintf %s "$1" >{page}.new\n'
                       f'mv {page}.new {page}\n')
    browser.chmod(0o755)
    one = Person(tmp_path / "home")
    process = one.start("login", quick_site.url, BROWSER=str(browser), GATEHOUSE_TOKEN="not passed")
    wait_for(page.exists, what="the browser")
    assert "GATEHOUSE_TOKEN" not in (tmp_path / "env.txt").read_text()
    person = quick_site.provider.person()
    hops = Browser(person).follow(page.read_text(), stop=lambda url: "/callback?token=" in url)
    there = hops[-1].location
    assert there.startswith("http://127.0.0.1:") and "token=" in there, hops
    port = int(there.split(":")[2].split("/")[0])
    for wrong in ("/callback?token=x&state=y", "/callback", "/favicon.ico", "/" + "x" * 40000):
        with socket.create_connection(("127.0.0.1", port)) as visit:
            try:
                visit.sendall(f"GET {wrong} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                assert b" 404 " in visit.recv(100)
            except ConnectionError:
                assert len(wrong) > 30000
    assert process.poll() is None, "what others send there counts for nothing"
    end = Browser(person).open(there)
    assert end.status == 303 and end.location == quick_site.url + "/"
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and f"as {person}@example.com" in out, err
    assert one.json("status")["user"]["email"] == f"{person}@example.com"
    process = one.start("login", quick_site.url)
    process.stderr.readline()
    process.send_signal(signal.SIGINT)
    assert "interrupted" in process.communicate(timeout=PATIENCE)[1] and process.returncode == 1


# Connections -------------------------------------------------------------------------------------

def test_connections_are_listed_and_shown(me, admin, name, tmp_path):
    assert re.search(rf"^{name} +database +postgres ", me.run("list"), re.M)
    assert name in [c["name"] for c in me.json("list", "--type", "postgres", "--tag", "team=shop")]
    assert name not in me.run("list", "--tag", "team=other")
    assert me.run("list", "--type", "ssh").splitlines()[1:] == []
    assert me.json("show", name)["name"] == name
    shown = me.run("show", name)
    assert re.search(f"^name +{name}$", shown, re.M) and re.search("^reviewers +-$", shown, re.M)
    assert "nobody" in me.refused(5, "show", "nobody's").lower()
    url = me.run("show", name, "--url", "--duration", "5m").strip()
    assert subprocess.run(["psql", "-XAtc", "select 7", url], capture_output=True, text=True,
                          check=True).stdout == "7\n"
    dsn = me.run("show", name, "--dsn").strip()
    assert subprocess.run(["psql", "-XAtc", "select 8", dsn], capture_output=True, text=True,
                          check=True).stdout == "8\n"
    line = me.run("show", name, "--psql").strip()
    env = me.run("show", name, "--env")
    for script in f"{line} -XAtc 'select 9'", f"{env}\npsql -XAtc 'select 9'":
        done = subprocess.run(["bash", "-c", script], env=me.env, capture_output=True, text=True,
                              check=False)
        assert done.stdout == "9\n", done.stderr
    assert me.run("show", name, "--jdbc").startswith("jdbc:postgresql://")
    assert "one of" in me.refused(2, "show", name, "--url", "--env")


def test_older_credentials_stay_good_up_to_a_number(me, admin, name):
    caller = member(admin)
    first = credential(caller, name)
    second = credential(caller, name, keep_others=True)
    mine = {c["id"] for c in caller.get("/connection-credentials").json}
    assert mine == {first["id"], second["id"]}
    for _ in range(6):
        credential(caller, name, keep_others=True)
    answer = caller.post(f"/connections/{name}/credentials", {"keep_others": True})
    assert answer.status == 409 and "8 credentials" in answer.json["message"]
    last = credential(caller, name)
    assert [c["id"] for c in caller.get("/connection-credentials").json] == [last["id"]]


def test_why(me, admin, target, tmp_path):
    name = target.connection(admin)
    group = unique("group")
    assert admin.post("/users/groups", {"name": group}).status == 201
    assert admin.put(f"/connections/{name}/access", {"groups": [group]}).status == 200
    inside, outside = member(admin, group), member(admin)
    said = Person(tmp_path / "in", inside).run("why", name)
    assert group in said and re.search(r"clients +yes", said) and "not for you to read" in said
    assert re.search("^can be enforced +structural, .*recording", said, re.M)
    assert re.search("^impossible +-$", said, re.M) and "null" not in said and "[]" not in said
    words = Person(tmp_path / "out", outside).refused(5, "why", name)
    assert "no such connection, or none of your groups" in words
    assert group in me.json("why", name)["access_groups"]
    assert admin.patch(f"/connections/{name}", {"access_mode_exec": "disabled"}).status == 200
    assert "turned off" in me.json("why", name)["exec"]


def test_another_organization_sees_nothing(admin, name, tmp_path):
    answer = admin.gateway.control("POST", "/control/organizations", {
        "name": unique("other"), "admin": unique("boss") + "@example.org"})[1]
    boss = login(admin.gateway, answer["admin"], answer["password"])
    one = Person(tmp_path, boss)
    assert one.run("list").splitlines()[1:] == [] and one.json("sessions", "list") == []
    for arguments in (["show", name], ["show", name, "--url"], ["why", name], ["connect", name],
                      ["exec", name, "-c", "select 1"]):
        one.refused(5, *arguments)
    mine = admin.get("/sessions?limit=1").json["data"][0]["id"]
    for command in "show", "follow", "kill", "download", "verify":
        one.refused(5, "sessions", command, mine)


# Executing ---------------------------------------------------------------------------------------

def test_scripts_in_all_forms(me, name, tmp_path):
    script = "select 1 as n, 'a|b' as t, null as none, true as yes"
    assert me.run("exec", name, "-c", script) == (
        "n  t    none  yes\n1  a|b        t\n(1 row)\n")
    assert me.run("exec", name, "-o", "csv", text="select 1 as n, 'a,b' as t, null as none, '' as e"
                  ) == 'n,t,none,e\n1,"a,b",,""\n'
    (tmp_path / "script.sql").write_text(script)
    assert me.run("exec", name, "-f", tmp_path / "script.sql", "--output", "markdown") == (
        "| n | t | none | yes |\n| --- | --- | --- | --- |\n| 1 | a\\|b |  | t |\n")
    [found] = json.loads(me.run("exec", name, "-", "--output=json", text=script))
    assert found["rows"] == [[1, "a|b", None, True]] and found["command"] == "SELECT 1"
    assert [c["type"] for c in found["columns"]] == ["integer", "text", "text", "boolean"]
    assert me.json("exec", name, text="do $$ begin raise notice 'look'; end $$")[0]["notices"][0][
        "message"] == "look"


def test_what_takes_long_or_is_much_comes_as_it_is(me, name):
    many = "select g as n, g % 2 = 0 as even, 'x' as t from generate_series(1, 5000) g; select 'end'"
    rows, end = me.json("exec", name, "-c", many)
    assert rows["rows"][0] == [1, False, "x"] and rows["rows"][4999] == [5000, True, "x"]
    assert len(rows["rows"]) == 5000 and end["rows"] == [["end"]]
    assert rows["rows_affected"] == 5000 and rows["columns"][1] == {"name": "even",
                                                                    "type": "boolean"}
    assert me.run("exec", name, "-o", "csv", "-c", many).splitlines()[4999] == "4999,f,x"
    done = me.done("exec", name, "-c", "select repeat('x', 200) from generate_series(1, 20000)")
    assert done.returncode == 1 and "recording_row_limit" in done.stderr and "xx" in done.stdout
    process = me.start("exec", name, "-o", "csv", "-c",
                       "select 'first'; select pg_sleep(20); select 'last'")
    assert [process.stdout.readline() for _ in range(2)] == ["?column?\n", "first\n"]
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    session = re.search(r"the session (\S+) was ended", err).group(1)

    def ended():
        found = me.json("sessions", "show", session)
        return found if found["status"] == "done" else None
    assert "ended by root@example.com" in wait_for(ended, what="the end")["end_reason"]
    began = time.monotonic()
    assert "--timeout" in me.refused(1, "exec", name, "--timeout", "1s", "-c", "select pg_sleep(20)")
    assert time.monotonic() - began < 10


def test_values_for_a_script(me, admin, target, name):
    """Whatever is in a value, it stays one; of a command it is a variable."""
    odd = "o'b\\c\"; drop table x; -- $$ :'b' é"
    rows = me.json("exec", name, "--param", f"a={odd}", "--param", "b=7", "--param", "col=od d\"",
                   "-c", "select :'a' as \"a b\", :'b'::int + 1 as n, 1 as :\"col\"; -- :'a'")
    assert rows[0]["rows"] == [[odd, 8, 1]] and rows[0]["columns"][2]["name"] == 'od d"', rows
    assert "--param b=VALUE" in me.refused(2, "exec", name, "--param", "a=1", "-c",
                                           "select :'a', :'b'")
    assert "no :'a'" in me.refused(2, "exec", name, "--param", "a=1", "-c", "select ':a'")
    for wrong in (["--param", "a"], ["--param", "=1"], ["--param", "a=1", "--param", "a=2"]):
        assert "--param" in me.refused(2, "exec", name, *wrong, "-c", "select :'a'")
    body = connection(type="custom", subtype="tools", command=["sh"], accepted_env_vars=["DAY"])
    assert admin.post("/connections", body).status == 201
    assert me.run("exec", body["name"], "--param", "DAY=a 'b", "-c", 'echo "$DAY"') == "a 'b\n"
    assert "accepted_env_vars" in me.refused(2, "exec", body["name"], "--param", "PAY=1", "-c", "id")


def test_exit_codes(me, admin, target, tmp_path, name):
    assert "22012" in me.done("exec", name, "-c", "select 1/0").stderr
    assert me.done("exec", name, "-c", "select 1; select 1/0; select 2").returncode == 1
    assert me.done("exec", name, "-c", "select pg_sleep(0.6); select 1/0").returncode == 1
    for arguments in (["exec"], ["exec", name, "-c", "select 1", "-f", "x"], ["exec", name, "what"],
                      ["exec", name, "--outptu", "csv"], ["exec", name, "--output", "xml"],
                      ["exec", name, "-c"], ["exec", name, "--timeout", "soon", "-c", "x"],
                      ["exec", name, "-c", ""], ["exec", name, "-f", "/nowhere"],
                      ["exec", name, "-c", "x", "--metadata", "what"], ["connect", name, "--"]):
        me.refused(2, *arguments)
    closed = target.connection(admin)
    connection_id = admin.get(f"/connections/{closed}").json["id"]
    answer = admin.post("/guardrails", {
        "name": unique("no-drop"), "connection_ids": [connection_id],
        "input": {"rules": [{"type": "deny_words_list", "words": ["dropped"], "name": "words",
                             "message": "ask somebody"}]}})
    assert answer.status == 201, answer
    done = me.done("exec", closed, "-c", "select 'dropped'")
    assert done.returncode == 3 and "ask somebody" in done.stderr, done
    done = me.done("exec", closed, "-c", "select pg_sleep(1); select 'dropped'")
    assert done.returncode == 3 and "ask somebody" in done.stderr, done
    assert "nobody" in me.refused(5, "exec", "nobody's", "-c", "select 1")
    assert "not signed in" in me.refused(5, "list", GATEHOUSE_URL=admin.gateway.url(""),
                                         GATEHOUSE_TOKEN="")
    assert "cannot reach the gateway" in me.refused(
        6, "list", GATEHOUSE_URL=f"http://127.0.0.1:{lasting_port()}", GATEHOUSE_TOKEN="x")
    wanting = target.connection(admin, mandatory_metadata_fields=["ticket"])
    assert "ticket" in me.refused(2, "exec", wanting, "-c", "select 1")
    assert me.run("exec", wanting, "-c", "select 1", "--metadata", "ticket=OPS-7")


def test_ctrl_c_in_the_first_moments(me, name):
    """Before the gateway has answered what is to be ended: the statement ends all the same."""
    for delay in (0.02, 0.1, 0.2, 0.3, 0.45):
        process = me.start("exec", name, "-c", f"select pg_sleep(30), '{delay}'")
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
        began = process.returncode == 1 and "interrupted" in err
        assert began or process.returncode == -signal.SIGINT, (delay, process.returncode, err)
    wait_for(lambda: not [row for row in me.json("sessions", "list", "--connection", name)
                          if row["status"] == "open"], what="the end of all of them")


def test_what_waits_for_others_says_so(admin, target, tmp_path):
    ann = member(admin, "admin-not")
    one = Person(tmp_path, ann)
    group = unique("dba")
    assert admin.post("/users/groups", {"name": group}).status == 201
    boss = member(admin, group)
    name = target.connection(admin)

    def rule(kind):
        answer = admin.post("/access-requests/rules", {
            "name": unique("ask"), "access_type": kind, "connection_names": [name],
            "reviewers_groups": [group]})
        assert answer.status == 201, answer
        return answer.json["name"]
    first = rule("jit_command")
    assert "waits for a review" in one.refused(4, "exec", name, "-c", "select 1", "--reason", "why")
    assert ann.get("/reviews?mine=true").json["data"][0]["metadata"] == {"reason": "why"}
    assert "what --reason says" in one.refused(2, "exec", name, "-c", "select 1", "--reason", "a",
                                               "--metadata", "reason=b")
    assert "waits for others" in one.refused(4, "show", name, "--url")
    assert admin.delete(f"/access-requests/rules/{first}").status == 204
    second = rule("jit")
    process = one.start("connect", name, "--reason", "the disk is full", "--metadata", "ticket=OPS-7",
                        "--", "psql", "-XAtc", "select 'after that'")
    said = process.stderr.readline()
    assert "waits for others to approve: http" in said, said
    review = ann.get("/reviews?mine=true&status=PENDING").json["data"][0]
    assert review["metadata"] == {"reason": "the disk is full", "ticket": "OPS-7"}
    assert boss.put(f"/reviews/{review['id']}", {"status": "APPROVED"}).status == 200
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and out == "after that\n", err
    other = target.connection(admin)
    assert admin.put(f"/access-requests/rules/{second}", {
        "name": second, "access_type": "jit", "connection_names": [other],
        "reviewers_groups": [group]}).status == 200
    process = one.start("connect", other)
    assert "waits for others" in process.stderr.readline()
    review = ann.get("/reviews?mine=true&status=PENDING").json["data"][0]
    assert boss.put(f"/reviews/{review['id']}", {"status": "REJECTED"}).status == 200
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 5 and "not approved" in err, err
    process = one.start("up", other)
    assert "waits for others" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 4


# Sessions ----------------------------------------------------------------------------------------

def test_sessions(me, name):
    me.run("exec", name, "-c", "select 'remembered'")
    row = me.json("sessions", "list", "--connection", name, "--limit", "1")[0]
    assert row["verb"] == "exec"
    listed = me.run("sessions", "list")
    assert re.search(row["id"] + r"  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC  ", listed), listed
    one = row["id"]
    wait_for(lambda: me.json("sessions", "show", one)["status"] == "done", what="its end")
    assert "remembered" in me.run("sessions", "download", one)
    assert "remembered" in me.run("sessions", "download", one, "--format", "csv")
    followed = me.run("sessions", "follow", one)
    assert "remembered" in followed and "-- the session has ended: the client left" in followed
    assert me.run("sessions", "verify", one) == "whole\n"
    process = me.start("exec", name, "-c", "select pg_sleep(30)")

    def running():
        found = me.json("sessions", "list", "--connection", name, "--limit", "1")[0]
        return found["id"] if found["status"] == "open" else None
    me.run("sessions", "kill", wait_for(running, what="the session"))
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1 and "ended by root@example.com" in err, err
    me.refused(5, "sessions", "show", "01900000-0000-7000-8000-000000000000")


# Connecting --------------------------------------------------------------------------------------

class Connected:
    def __init__(self, person, *arguments, command="connect"):
        self.process = person.start(command, *arguments, "--output", "json")
        line = self.process.stdout.readline()
        assert line, self.process.communicate()
        self.given = json.loads(line)

    def psql(self, text, **given):
        given = {**self.given, **given}
        return subprocess.run(
            ["psql", "-X", "-A", "-t", "-c", text, "-h", given["host"], "-p", given["port"], "-U",
             given["user"], given["database"]],
            env={**os.environ, "PGPASSWORD": given["password"]}, capture_output=True, text=True,
            timeout=2 * PATIENCE, check=False)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err


def test_a_port_of_this_machine(me, admin, name, target):
    port = lasting_port()
    connected = Connected(me, name, "--port", port)
    assert connected.given["port"] == str(port) and connected.given["host"] == "127.0.0.1"
    assert connected.psql("select 1").stdout == "1\n"
    assert "authentication failed" in connected.psql("select 1", password="wrong").stderr
    long = connected.psql("select repeat('x', 3000000)").stdout
    assert len(long) == 3000001
    row = me.json("sessions", "list", "--connection", name, "--limit", "1")[0]
    assert row["verb"] == "connect" and row["client_ip"] == "127.0.0.1"
    assert "127.0.0.1" in me.refused(1, "connect", name, "--port", port)
    beside = Connected(me, name)
    assert beside.psql("select 2").stdout == "2\n"
    assert connected.psql("select 3").stdout == "3\n", "another credential ends no other"
    others = credential(member(admin), name)["connection_credentials"]
    wrong = beside.psql("select 1", password=others["password"])
    assert "somebody else" in wrong.stderr, wrong
    other = target.connection(admin)
    secret = credential(admin, other)["connection_credentials"]["password"]
    assert beside.psql("select 1", user=other, password=secret).returncode != 0
    ends = [one.end() for one in (connected, beside)]
    assert [end[0] for end in ends] == [0, 0], ends
    secrets = [one.given["password"] for one in (connected, beside)]
    given = {**credential(admin, name, keep_others=True)["connection_credentials"]}
    for secret in secrets:
        done = subprocess.run(
            ["psql", "-XAtc", "select 1", "-h", given["hostname"], "-p", given["port"], "-U", name,
             "postgres"], env={**os.environ, "PGPASSWORD": secret}, capture_output=True, text=True,
            check=False)
        assert "authentication failed" in done.stderr, "they ended with it"


def test_a_client_is_run_and_its_end_is_ours(me, name, tmp_path):
    script = ("env; cat \"$PGPASSFILE\"; stat -c mode=%a \"$PGPASSFILE\"; "
              "psql -XAtc 'select 41 + 1'; exit 7")
    done = me.done("connect", name, "--", "bash", "-c", script, PGPASSWORD="x", PGSERVICE="y",
                   GATEHOUSE_TOKEN=open(os.path.join(
                       me.home, ".local/state/gatehouse", os.listdir(os.path.join(
                           me.home, ".local/state/gatehouse"))[0]), encoding="ascii").read())
    assert done.returncode == 7, done
    lines = done.stdout.splitlines()
    assert "42" in lines and "mode=600" in lines and "PGHOST=127.0.0.1" in lines
    assert not [line for line in lines if line.startswith(("PGPASSWORD", "PGSERVICE", "GATEHOUSE"))]
    assert not [path for path in me.files() if path.endswith("pgpass")]
    assert me.done("connect", name, "--", "psql", "-XAtc", "select 1/0").returncode == 1
    assert me.done("connect", name, "--", "bash", "-c", "kill -9 $$").returncode == 137
    assert "cannot be run" in me.refused(2, "connect", name, "--", "/nowhere")


def test_the_tunnel_is_for_upgrades_of_who_may(me, admin, name, target):
    path = f"/connections/{name}/tunnel"
    assert admin.get(path).status == 400
    upgrade = {"Connection": "Upgrade", "Upgrade": "gatehouse-client/1"}
    assert Api(admin.gateway).get(path, headers=upgrade).status == 401
    assert admin.get("/connections/nobody/tunnel", headers=upgrade).status == 404
    off = target.connection(admin, access_mode_connect="disabled")
    assert admin.get(f"/connections/{off}/tunnel", headers=upgrade).status == 400
    assert "turned off" in me.refused(2, "connect", off)
    with admin.gateway.connect() as early:
        early.sendall((f"GET /api{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {admin.token}"
                       "\r\nConnection: Upgrade\r\nUpgrade: gatehouse-client/1\r\n\r\n"
                       "too early").encode())
        early.settimeout(PATIENCE)
        received = receive_all(early)
        assert received.startswith(b"HTTP/1.1 101 ") and b"SCRAM" not in received
    assert admin.get("/healthz").status == 200


def test_a_restart_in_the_middle(target, tmp_path):
    from api import register
    gateway = Gateway(tmp_path / "gateway", "--listen", f"127.0.0.1:{lasting_port()}")
    admin = register(gateway)
    name = target.connection(admin)
    me = Person(tmp_path / "me", admin)
    connected = Connected(me, name)
    assert connected.psql("select 1").stdout == "1\n"
    stays = Connected(me, name, command="up")
    asked = subprocess.Popen(
        ["psql", "-XAtc", "select pg_sleep(30)", connected.given["url"]],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wait_for(lambda: [row["status"] for row in me.json("sessions", "list")] == ["open", "done"],
             what="the second session, and the first one's end")
    gateway.kill()
    assert asked.communicate(timeout=PATIENCE)[0]
    assert connected.psql("select 1").returncode != 0
    again = Gateway(tmp_path / "gateway", "--listen", f"127.0.0.1:{gateway.port}")
    assert connected.psql("select 2").stdout == "2\n"
    assert stays.psql("select 3").stdout == "3\n" and stays.end()[0] == 0
    _, _, err = connected.end()
    assert "a session has ended" in err and "cannot reach the gateway" in err
    assert again.stop() == 0, again.text()


class Proxy(http.server.BaseHTTPRequestHandler):
    """An HTTP proxy that knows CONNECT alone."""

    def do_CONNECT(self):
        host, port = self.path.rsplit(":", 1)
        self.server.seen.append(self.path)
        with socket.create_connection((host, int(port))) as there:
            self.send_response(200)
            self.end_headers()
            pump = threading.Thread(target=self.carry, args=(there, self.connection), daemon=True)
            pump.start()
            self.carry(self.connection, there)
            pump.join()
        self.close_connection = True

    @staticmethod
    def carry(one, other):
        try:
            while part := one.recv(65536):
                other.sendall(part)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def log_message(self, *_):
        pass


def test_a_private_authority_and_a_proxy(target, tmp_path):
    from api import register
    certificate, key = make_certificate(tmp_path, "cli")[:2]
    gateway = Gateway(tmp_path / "gateway", "--tls-cert", certificate, "--tls-key", key,
                      "--postgres-tls", "required")
    admin = register(gateway)
    name = target.connection(admin)
    stranger = Person(tmp_path / "stranger")
    assert "--ca-file" in stranger.refused(6, "login", gateway.url(""), "--token-stdin",
                                           text=admin.token)
    me = Person(tmp_path / "me", admin, ["--ca-file", certificate])
    assert me.json("list")[0]["name"] == name
    assert "good" in me.run("doctor")
    done = me.done("connect", name, "--", "psql", "-XAtc", "select 5")
    assert done.stdout == "5\n", done
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    server.daemon_threads = True
    server.seen = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    proxy = {"HTTPS_PROXY": f"http://127.0.0.1:{server.server_port}"}
    done = me.done("connect", name, "--", "psql", "-XAtc", "select 6", **proxy)
    assert done.stdout == "6\n" and len(server.seen) >= 3, (done, server.seen)
    server.shutdown()
    assert gateway.stop() == 0, gateway.text()


# Help --------------------------------------------------------------------------------------------

def test_help_manual_and_doctor(me, tmp_path):
    page = me.run("exec", "--help")
    assert "--timeout TIME" in page and "  3  blocked by a rule" in page
    assert me.run("help", "exec") == page and me.run("sessions", "kill", "-h") != page
    assert len(max(page.splitlines(), key=len)) < 100
    manual = tmp_path / "gatehouse.1"
    manual.write_text(me.run("help", "--man"))
    assert ".SH EXIT STATUS" in manual.read_text()
    if subprocess.run(["which", "man"], capture_output=True, check=False).returncode == 0:
        shown = subprocess.run(["man", "--warnings", "-l", str(manual)], capture_output=True,
                               text=True, check=False, env={**me.env, "MANWIDTH": "90"})
        assert "sessions download" in shown.stdout and shown.stderr == ""
    assert "good: answers" in me.run("doctor")
    token = next(path for path in me.files() if path.endswith(".token"))
    os.chmod(os.path.join(me.home, token), 0o644)
    assert "open to others" in me.done("doctor").stdout
    os.chmod(os.path.join(me.home, token), 0o600)


SHELLS = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}


class Shell:
    """A shell of a person at a terminal, that knows how gatehouse is completed."""

    def __init__(self, me, folder, shell):
        os.makedirs(folder / "bin", exist_ok=True)
        if not (folder / "bin/gatehouse").exists():
            os.symlink(BINARY, folder / "bin/gatehouse")
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            SHELLS[shell], stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            cwd=me.home, env={**me.env, "PATH": f"{folder}/bin:{me.env['PATH']}", "TERM": "dumb",
                              "EDITOR": "", "VISUAL": "", "HISTFILE": "/dev/null"})
        os.close(slave)
        self.said = ""
        self.type(f"source <(gatehouse completion {shell}); echo rea''dy\n")
        self.wait("\nready")

    def type(self, text):
        os.write(self.master, text.encode())

    def wait(self, wanted):
        def seen():
            if select.select([self.master], [], [], 0.1)[0]:
                self.said += os.read(self.master, 65536).decode(errors="replace").replace("\r", "")
            return re.search(wanted, self.said)
        found = wait_for(seen, 2 * PATIENCE, f"{wanted!r} of the shell")
        self.said = self.said[found.end():]
        return found

    def complete(self, line):
        """The line after a tab, which is put into quotes and printed."""
        self.type(line + "\t")
        time.sleep(0.3)  # keys that come meanwhile would be taken for more of it
        self.type("\x01echo '<\x05>'\n")
        return self.wait("\n<(.*)>\n").group(1).strip()

    def end(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


def completions(name):
    return [("gatehouse conn", "gatehouse connect"),
            ("gatehouse sessions f", "gatehouse sessions follow"),
            (f"gatehouse exec {name[:-3]}", f"gatehouse exec {name}"),
            (f"gatehouse up {name[:-3]}", f"gatehouse up {name}"),
            (f"gatehouse exec {name} --out", f"gatehouse exec {name} --output"),
            (f"gatehouse exec {name} --output m", f"gatehouse exec {name} --output markdown"),
            (f"gatehouse sessions list --connection {name[:-3]}",
             f"gatehouse sessions list --connection {name}"),
            ("gatehouse completion f", "gatehouse completion fish")]


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_complete(me, name, tmp_path, shell):
    run = Shell(me, tmp_path, shell)
    try:
        for line, whole in completions(name):
            assert run.complete(line) == whole
    finally:
        run.end()


def test_fish_completes(me, name, tmp_path):
    os.symlink(BINARY, tmp_path / "gatehouse")
    lines = "".join(f"echo '<'(complete -C '{line}')'>'\n" for line, _ in completions(name))
    done = subprocess.run(["fish", "--no-config", "-c", "gatehouse completion fish | source\n" + lines],
                          capture_output=True, text=True, check=False, timeout=4 * PATIENCE,
                          env={**me.env, "PATH": f"{tmp_path}:{me.env['PATH']}"})
    found = [line.strip("<>").split("\t")[0] for line in done.stdout.splitlines()]
    assert found == [whole.split()[-1] for _, whole in completions(name)], done
    assert "bash, zsh or fish" in me.refused(2, "completion", "ksh")
