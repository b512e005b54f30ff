# SPDX-License-Identifier: MIT
"""Terminals on a connection's command: real shells and full-screen programs, over a WebSocket."""
import json
import os
import re
import threading
import time

import pytest

from agent import Agent, make_agent, wait_connected
from api import PASSWORD, b64, login, register, unique
from conftest import Gateway, wait_for
from store import Store
from test_commands import Place, away, here, place, processes  # noqa: F401 (fixtures)
from test_tls import make_certificate
from websocket import BINARY, CLOSE, PING, TEXT, H2Socket, Refused, Terminal

SHELL = ("bash", "--norc", "-i")


@pytest.fixture
def shell(place):  # noqa: F811
    name = place.connection(*SHELL, secret={"envvar:TOKEN": b64("s3cret value")})
    terminal = Terminal(place.admin, name, term="xterm").opened()
    terminal.place, terminal.name = place, name
    terminal.until("$ ")
    yield terminal
    terminal.close()


def ended(admin, session):
    def look():
        found = admin.get(f"/sessions/{session}").json
        return found if found["status"] == "done" else None
    return wait_for(look, what="the session's end")


def cast_of(admin, session):
    """The head, and the events of asciicast."""
    text = admin.get(f"/sessions/{session}/download?extension=cast").body.decode()
    head, *events = [json.loads(line) for line in text.splitlines()]
    return head, events


def typed(events):
    return "".join(text for _, kind, text in events if kind == "i")


def refused(api, name, headers=None, **query):
    with pytest.raises(Refused) as caught:
        Terminal(api, name, headers, **query)
    return caught.value.status, caught.value.message


# What one is for ---------------------------------------------------------------------------------

def test_a_shell(shell):
    shell.type("stty size; echo $TERM $TOKEN; tty\r")
    said = shell.until("/dev/pts/")
    assert "30 100" in said and "xterm s3cret value" in said
    shell.resize(120, 50)
    shell.type("stty size\r")
    shell.until("50 120")
    shell.type("sleep 100\r")
    wait_for(lambda: processes("sleep 100"), what="the program")
    shell.type("\x03")
    shell.until("^C")
    shell.until("$ ")
    shell.type("echo code $?\r")
    shell.until("code 130")
    shell.type("sleep 4721 &\rexit 7\r")
    done, code = shell.ended()
    assert (done["end"], done["code"], code) == ("exited", 7, 1000), done
    wait_for(lambda: processes("sleep 4721") == [], what="the end of what it left")
    admin = shell.place.admin
    session = ended(admin, shell.session)
    assert (session["verb"], session["connection"]) == ("connect", shell.name)
    wait_for(lambda: Store(admin.gateway).ask(f"SELECT id FROM credential WHERE id = "
                                              f"'{shell.session}'") == [], what="its credential's end")


def test_full_screen_programs(shell):
    shell.type("seq 1 500 > lines; less lines\r")
    shell.until("lines\x1b[")
    shell.type("G")
    shell.until("500")
    shell.type("q")
    shell.until("$ ")
    shell.type("vim -u NONE notes\r")
    shell.until("notes\"")
    shell.type("ihällo\x1b:wq\r")
    shell.until("$ ")
    shell.type("cat notes\r")
    shell.until("hällo")
    assert any("\x1b[" in text for _, _, text in cast_of(shell.place.admin, shell.session)[1])


def test_what_is_on_record(shell):
    shell.type("read -s -p Pass'word: ' p; echo; echo \"got ${#p}\"\r")
    shell.until("Password: ")
    shell.type("hunter2\r")
    shell.until("got 7")
    shell.until("$ ")
    shell.type("python3 -c 'import getpass; print(len(getpass.getpass()))'\r")
    shell.until("Password: ")
    shell.type("hunter3\r")
    shell.until("7\r\n")
    shell.until("$ ")
    shell.resize(90, 20)
    shell.type("echo späße\r")
    shell.until("späße\r\n")
    shell.type("exit\r")
    shell.ended()
    admin = shell.place.admin
    ended(admin, shell.session)
    head, events = cast_of(admin, shell.session)
    assert (head["version"], head["width"], head["height"]) == (2, 100, 30)
    assert [text for _, kind, text in events if kind == "r"] == ["90x20"]
    assert sum(kind == "m" and "not show" in text for _, kind, text in events) == 2
    assert "echo späße\r" in typed(events) and "getpass" in typed(events)
    shown = "".join(text for _, kind, text in events if kind == "o")
    assert "späße" in shown and "got 7" in shown
    times = [at for at, _, _ in events]
    assert times == sorted(times)
    for extension in "jsonl", "txt", "cast":
        body = admin.get(f"/sessions/{shell.session}/download?extension={extension}").body
        assert b"hunter" not in body, extension
    assert admin.get(f"/sessions/{shell.session}/verify").json["recording_status"] == "whole"


def test_much_is_shown_and_much_is_typed(shell):
    """Nobody reads for a while, and little memory is taken; what was typed at once arrives."""
    shell.type("seq 1 300000; echo the' 'end\r")
    time.sleep(0.5)
    said = shell.until("the end", seconds=30)
    assert "\r\n299999\r\n300000\r\n" in said
    shell.until("$ ")
    shell.type("stty -icanon -echo; echo rea'dy'; wc -c; stty sane\r")
    shell.until("ready")
    shell.type(b"x" * 60000)
    shell.type(b"y" * 60000 + b"\x04")
    shell.type("\x03")
    shell.until("$ ")
    shell.type("stty sane; echo fine\r")
    shell.until("fine\r\n")


# How it ends -------------------------------------------------------------------------------------

def test_kill_kills(shell):
    word = f"47{os.getpid() % 1000}.25"
    shell.type(f"trap '' HUP TERM; setsid sleep {word} & sleep {word}\r")
    wait_for(lambda: len(processes(f"sleep {word}")) == 2, what="the program")
    begun = time.monotonic()
    assert shell.place.admin.post(f"/sessions/{shell.session}/kill").status == 204
    done, code = shell.ended()
    wait_for(lambda: not processes(f"sleep {word}"), what="the program's end")
    assert time.monotonic() - begun < 1.5
    assert (done["end"], code) == ("refused", 1008) and "ended by" in done["message"], done
    assert "ended by" in ended(shell.place.admin, shell.session)["end_reason"]


def test_who_leaves_ends_it(shell):
    word = f"48{os.getpid() % 1000}.25"
    shell.type(f"sleep {word}\r")
    wait_for(lambda: processes(f"sleep {word}"), what="the program")
    shell.close()
    wait_for(lambda: not processes(f"sleep {word}"), what="the program's end")
    assert ended(shell.place.admin, shell.session)["end_reason"].startswith("the client")


def test_nobody_types(place):  # noqa: F811
    terminal = Terminal(place.admin, place.connection("cat"), idle_seconds=1).opened()
    done, _ = terminal.ended()
    assert "nothing was typed or shown" in done["message"], done


def test_what_cannot_be_run(place):  # noqa: F811
    terminal = Terminal(place.admin, place.connection("no-such-program"))
    done, _ = terminal.ended()
    assert (done["end"], done["code"]) == ("not_run", 127), done
    assert "no program of that name" in done["message"]


def test_two_at_once_and_those_who_watch(here):  # noqa: F811
    admin, name = here.admin, here.connection(*SHELL)
    one, two = Terminal(admin, name).opened(), Terminal(admin, name).opened()
    assert one.session != two.session
    one.type("echo first\r")
    two.type("echo second\r")
    one.until("first\r\n")
    two.until("second\r\n")
    email = unique("ann") + "@example.com"
    assert admin.post("/users", {"email": email, "password": PASSWORD}).status == 201
    ann = login(admin.gateway, email)
    assert ann.get(f"/sessions/{one.session}/stream").status == 404
    got = []
    watcher = threading.Thread(target=lambda: got.append(
        admin.get(f"/sessions/{one.session}/stream").body.decode()))
    watcher.start()
    one.type("echo seen; exit\r")
    one.ended()
    watcher.join(20)
    events = [json.loads(line[6:]) for line in got[0].splitlines() if line.startswith("data: {")]
    shown = "".join(event["payload"] for event in events if event.get("type") == "o")
    assert shown and b64("80x24")[:4] and "session_end" in got[0]
    kinds = {event["type"] for event in events if "type" in event}
    assert {"i", "o", "r"} <= kinds, kinds
    two.close()


def test_an_agent_that_dies(away, tmp_path):  # noqa: F811
    made = make_agent(away.admin)
    agent = Agent(tmp_path, "--token", made["token"])
    wait_connected(away.admin, made, agent)
    terminal = Terminal(away.admin, Place(away.admin, made["id"]).connection(*SHELL)).opened()
    terminal.until("$ ")
    terminal.type("sleep 4723\r")
    wait_for(lambda: processes("sleep 4723"), what="the program")
    agent.kill()
    done, _ = terminal.ended(30)
    assert "lost" in done["message"], done
    wait_for(lambda: not processes("sleep 4723"), what="the program's end")


def test_a_gateway_that_is_killed(tmp_path):
    gateway = Gateway(tmp_path)
    admin = register(gateway)
    local = Place(admin, admin.get("/userinfo").json["org_id"])
    terminal = Terminal(admin, local.connection(*SHELL)).opened()
    terminal.until("$ ")
    terminal.type("echo it was' 'said; sleep 4724\r")
    terminal.until("it was said")
    wait_for(lambda: processes("sleep 4724"), what="the program")
    gateway.kill()
    wait_for(lambda: not processes("sleep 4724"), what="the program's end")
    gateway = Gateway(tmp_path)
    admin = type(admin)(gateway, admin.token)
    session = ended(admin, terminal.session)
    assert session["end_reason"] == "the gateway stopped"
    assert "it was said" in "".join(text for _, _, text in cast_of(admin, terminal.session)[1])
    terminal = Terminal(admin, admin.get("/connections").json["data"][0]["name"]).opened()
    terminal.until("$ ")
    begun = time.monotonic()
    assert gateway.stop() == 0, gateway.text()
    done, _ = terminal.ended()
    assert "stopping" in done["message"] and time.monotonic() - begun < 15, done


# Who may -----------------------------------------------------------------------------------------

def test_who_may_open_one(here):  # noqa: F811
    admin, name = here.admin, here.connection(*SHELL)
    bearer = {"Authorization": f"Bearer {admin.token}"}
    cookie = {"Cookie": f"gatehouse_token={admin.token}"}
    own = f"http://127.0.0.1:{admin.gateway.port}"
    assert refused(admin, name, {})[0] == 401
    for origin in None, "null", "http://evil.example.com", own + ".evil.example.com":
        status, message = refused(admin, name, {**cookie, "Origin": origin})
        assert status == 403 and "own pages" in message, (origin, message)
    assert refused(admin, name, {**cookie, "Origin": own, "Sec-Fetch-Site": "cross-site"})[0] == 403
    Terminal(admin, name, {**cookie, "Origin": own}).opened().close()
    assert refused(admin, "nobody-s")[0] == 404
    for headers in ({"Upgrade": "h2c"}, {"Connection": "close"}, {"Sec-WebSocket-Version": "8"},
                    {"Sec-WebSocket-Key": "short"}, {"Sec-WebSocket-Key": None}):
        assert refused(admin, name, {**bearer, **headers})[0] == 400, headers
    for query in ({"columns": 0}, {"rows": 1001}, {"term": "../x"}, {"term": "x" * 65},
                  {"idle_seconds": 1801}, {"metadata": "[]"}, {"metadata": '{"a":1}'}):
        assert refused(admin, name, **query)[0] == 400, query
    for members, words in (({"access_mode_connect": "disabled"}, "access_mode_connect"),
                           ({"mandatory_metadata_fields": ["ticket"]}, "ticket")):
        other = here.connection(*SHELL, **members)
        status, message = refused(admin, other)
        assert status == 400 and words in message, message
    Terminal(admin, other, metadata='{"ticket":"OPS-1"}').opened().close()
    assert "no 'command'" in refused(admin, here.connection())[1]
    entries = admin.get("/audit/logs?page_size=100").json["data"]
    statuses = {entry["http_status"] for entry in entries if entry["action"] == "connect"}
    assert {101, 400, 403} <= statuses


def test_rules_and_reviews_refuse_it(here):  # noqa: F811
    admin, name = here.admin, here.connection(*SHELL)
    controls = admin.get(f"/connections/{name}/controls").json["terminal"]
    assert controls == {"input": "observed", "output": "observed", "guardrails": "impossible",
                        "masking": "impossible", "recording": "enforced", "review": "enforced",
                        "note": "recorded, not filtered"}
    connection_id = admin.get(f"/connections/{name}").json["id"]
    open_before = Terminal(admin, name).opened()
    assert admin.post("/guardrails", {
        "name": unique("words"), "connection_ids": [connection_id],
        "input": {"rules": [{"type": "deny_words_list", "words": ["rm -rf"],
                             "name": "remove"}]}}).status == 201
    done, _ = open_before.ended()
    assert "rules that cannot be held" in done["message"], done
    done, _ = Terminal(admin, name).ended()
    assert "rules that cannot be held" in done["message"], done


def test_others_approve_it_first(here):  # noqa: F811
    admin, name, group = here.admin, here.connection(*SHELL), unique("dba")
    assert admin.post("/users/groups", {"name": group}).status == 201
    assert admin.post("/access-requests/rules", {
        "name": unique("rule"), "access_type": "jit", "connection_names": [name],
        "reviewers_groups": [group]}).status == 201
    email = unique("boss") + "@example.com"
    assert admin.post("/users", {"email": email, "password": PASSWORD,
                                 "groups": [group]}).status == 201
    boss = login(admin.gateway, email)
    assert admin.get(f"/connections/{name}/terminal").status == 400  # no WebSocket: asks nobody
    assert admin.post(f"/connections/{name}/terminal", {"duration_seconds": 0}).status == 400
    assert not [row for row in boss.get("/reviews").json["data"] if row["connection"] == name]
    first, second = (refused(admin, name, duration_seconds=600, metadata='{"ticket": "OPS-1"}')
                     for _ in range(2))
    assert first == second and first[0] == 202 and "others must approve" in first[1], first
    asked = admin.post(f"/connections/{name}/terminal", {"metadata": {"ticket": "OPS-1"}})
    assert asked.status == 202 and asked.json["review_url"].endswith(asked.json["review_id"]), asked
    review, = [row for row in boss.get("/reviews").json["data"] if row["connection"] == name]
    assert (review["status"], review["metadata"]) == ("PENDING", {"ticket": "OPS-1"}), review
    assert review["id"] == asked.json["review_id"]
    assert boss.put(f"/reviews/{review['id']}", {"status": "APPROVED"}).status == 200
    asked = admin.post(f"/connections/{name}/terminal", {})
    assert (asked.status, asked.json["review_id"]) == (200, None), asked
    shells = [Terminal(admin, name, duration_seconds=600).opened() for _ in range(2)]
    for shell_ in shells:
        shell_.until("$ ")
    found = admin.get(f"/sessions/{shells[0].session}").json
    assert found["status"] == "open", found
    assert boss.put(f"/reviews/{review['id']}", {"status": "REVOKED"}).status == 200
    for shell_ in shells:
        shell_.ended()
    assert refused(admin, name)[0] == 202
    again, = [row for row in boss.get("/reviews?status=PENDING").json["data"]
              if row["connection"] == name]
    assert again["id"] != review["id"]


def test_who_is_locked_out_meanwhile(here):  # noqa: F811
    admin, name = here.admin, here.connection(*SHELL)
    email = unique("bob") + "@example.com"
    made = admin.post("/users", {"email": email, "password": PASSWORD}).json
    bob = login(admin.gateway, email)
    terminal = Terminal(bob, name).opened()
    assert bob.post("/logout").status == 204
    done, _ = terminal.ended()
    assert "not signed in" in done["message"], done
    bob = login(admin.gateway, email)
    terminal = Terminal(bob, name).opened()
    answer = admin.put(f"/users/{made['id']}", {**made, "status": "inactive"})
    assert answer.status == 200, answer
    done, code = terminal.ended()
    assert code == 1008, done
    assert refused(bob, name)[0] == 401


# The protocol ------------------------------------------------------------------------------------

def test_what_breaks_the_protocol(here):  # noqa: F811
    admin, name = here.admin, here.connection("cat")
    for raw, code in ((b"\x81\x01x", 1002), (b"\xc2\x80abcd", 1002), (b"\x83\x80abcd", 1002),
                      (b"\x89\xfeabcd", 1002), (b"\x80\x80abcd", 1002),
                      (b"\x82\xff" + (1 << 40).to_bytes(8, "big"), 1009),
                      (b"\x81\x82\0\0\0\0\xc3\x28", 1007)):
        terminal = Terminal(admin, name).opened()
        terminal.send_raw(raw)
        assert terminal.ended()[1] == code, raw
    for text in ("{", "[]", '{"type":"x"}', '{"type":"resize"}',
                 '{"type":"resize","columns":0,"rows":1}'):
        terminal = Terminal(admin, name).opened()
        terminal.send(TEXT, text.encode())
        done, code = terminal.ended()
        assert code == 1008 and "resize" in done["message"], (text, done)
    terminal = Terminal(admin, name).opened()
    terminal.send(BINARY, b"he", is_last=False)
    terminal.send(PING, b"are you there")
    terminal.send(0, b"llo\r")
    terminal.until("hello")
    wait_for(lambda: terminal.step() or terminal.pongs, what="a pong") \
        if not terminal.pongs else None
    assert terminal.pongs == [b"are you there"]
    terminal.send(CLOSE, (1001).to_bytes(2, "big") + b"bye")
    done, code = terminal.ended()
    assert done is None and code == 1001
    assert ended(admin, terminal.session)["end_reason"].startswith("the client")
    assert re.match("HTTP/1.1 101", terminal.head)


def test_over_http2(tmp_path):
    """RFC 8441: the same, on a stream of a connection that has others."""
    certificate, key = make_certificate(tmp_path, "h2")
    gateway = Gateway(tmp_path, "--tls-cert", certificate, "--tls-key", key)
    admin = register(gateway)
    local = Place(admin, admin.get("/userinfo").json["org_id"])
    name = local.connection(*SHELL)
    shell = Terminal(admin, name, is_h2=True).opened()
    shell.until("$ ")
    shell.type("seq 1 200000; echo the' 'end\r")
    time.sleep(0.5)
    assert "\r\n199999\r\n200000\r\n" in shell.until("the end", seconds=30)
    shell.resize(70, 20)
    shell.type("stty size; stty -icanon -echo; echo rea'dy'; head -c 200000 | wc -c; stty sane\r")
    shell.until("20 70")
    shell.until("ready")
    for _ in range(4):
        shell.type(b"x" * 50000)
    shell.until("200000")
    shell.type("exit 3\r")
    done, code = shell.ended()
    assert (done["code"], code) == (3, 1000), done
    shell = Terminal(admin, name, is_h2=True).opened()
    shell.close()
    assert ended(admin, shell.session)["end_reason"].startswith("the client")
    bearer = {"authorization": f"Bearer {admin.token}", "sec-websocket-version": "13"}
    path = f"/api/connections/{name}/terminal"
    for headers, where, protocol, status in (
            ({}, path, "websocket", 401), ({**bearer, "sec-websocket-version": "8"}, path,
                                           "websocket", 400),
            (bearer, path, "connect-udp", 400), (bearer, "/api/connections", "websocket", 405),
            (bearer, "/", "websocket", 405), (bearer, path + "?rows=0", "websocket", 400)):
        one = H2Socket(gateway, where, headers, protocol)
        assert one.status == status, (where, protocol, one.status)
        one.close()
    assert gateway.stop() == 0, gateway.text()
