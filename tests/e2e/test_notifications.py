# SPDX-License-Identifier: MIT
"""People and programs are told what happened: once or, when a gateway was killed, more than once
under the same id; by receivers that work, and in spite of those that do not."""
import base64
import collections
import hashlib
import hmac
import http.server
import json
import random
import re
import signal
import threading
import time

import pytest

from agent import Agent, make_agent, wait_connected
from api import PASSWORD, Api, connection, login, register, unique
from conftest import PATIENCE, Gateway, wait_for
from native import credential
from people import TRUSTED, House
from pgwire import Refused, Wire
from store import Store, new_organization
from test_reviews import Crew, decide

HERE = "127.0.0.2"  # where messages may be sent to
LEASE = 20


class Receiver:
    """What it does stands in the path."""

    def __init__(self, host=HERE):
        self.got = []
        self.keys = {}  # by path: of the signatures
        self.wrong = []
        self.lock = threading.Lock()
        self.is_hanging = True
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.take(self.path, dict(self.headers), body)
                try:
                    outer.answer(self)
                except OSError:
                    pass  # nobody waits for it

            def log_message(self, *words):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, *what):
                pass

        self.server = Server((host, 0), Handler)
        self.host, self.port = host, self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path, host=None):
        return f"http://{host or self.host}:{self.port}{path}"

    def take(self, path, headers, body):
        headers = {name.lower(): value for name, value in headers.items()}
        with self.lock:
            self.got.append((path, headers, body))
        key = self.keys.get(path)
        if key is None:
            return
        signed = b".".join((headers["webhook-id"].encode(),
                            headers["webhook-timestamp"].encode(), body))
        wanted = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        fresh = abs(time.time() - int(headers["webhook-timestamp"])) < 60
        if headers["webhook-signature"] != f"v1,{wanted}" or not fresh:
            self.wrong.append((path, headers))

    def answer(self, request):
        path, trap = request.path.split("?")[0], request.path.partition("?")[2]
        if path.startswith("/hang"):
            wait_for(lambda: not self.is_hanging, seconds=600)
        if path.startswith("/redirect"):
            request.send_response(307)
            request.send_header("Location", f"http://127.0.0.1:{trap}/stolen")
            request.end_headers()
            return
        same = [body for seen, _, body in self.got if seen == request.path]
        status = 410 if path.startswith("/gone") else 200
        if path.startswith("/flaky") and len(same) == 1 or path.startswith("/broken"):
            status = 500
        request.send_response(status)
        if path.startswith("/endless"):
            request.end_headers()
            while True:
                request.wfile.write(bytes(65536))
        request.send_header("Content-Length", "2")
        request.end_headers()
        request.wfile.write(b"ok")

    def at(self, path, type=None):
        """Headers and bodies."""
        with self.lock:
            found = [(headers, json.loads(body)) for seen, headers, body in self.got
                     if seen == path]
        return [one for one in found if type is None or one[1].get("type") == type]

    def close(self):
        self.is_hanging = False
        self.server.shutdown()
        self.server.server_close()


class Office:
    """A gateway that tells, and somebody who asks."""

    def __init__(self, gateway, admin, receiver):
        self.gateway, self.admin, self.receiver = gateway, admin, receiver

    def sink(self, path, events=("review.requested",), **members):
        body = {"name": unique("sink"), "type": "webhook", "events": list(events),
                "url": self.receiver.url(path), **members}
        answer = self.admin.post("/notifications/sinks", body)
        assert answer.status == 201, answer
        if "secret" in answer.json:
            word, key = answer.json["secret"].split("_")
            assert word == "whsec"
            self.receiver.keys[path] = base64.b64decode(key, validate=True)
        return answer.json

    def connection(self):
        name = unique("asked")
        assert self.admin.post("/connections", connection(name)).status == 201
        answer = self.admin.post("/access-requests/rules", {
            "name": unique("rule"), "access_type": "command", "connection_names": [name],
            "reviewers_groups": ["admin"]})
        assert answer.status == 201, answer
        return name

    def ask(self, name, script="drop table t", api=None):
        answer = (api or self.admin).post("/sessions", {"connection": name, "script": script})
        assert answer.status == 200 and answer.json["has_review"], answer
        return answer.json["review_id"]

    def deliveries(self, sink, state=None):
        more = f"&state={state}" if state else ""
        return self.admin.get(
            f"/notifications/deliveries?sink={sink['name']}&page_size=100{more}").json["data"]

    def remove(self, *sinks):
        for sink in sinks:
            assert self.admin.delete(f"/notifications/sinks/{sink['name']}").status == 204


@pytest.fixture(scope="module")
def receiver():
    made = Receiver()
    yield made
    assert made.wrong == []
    made.close()


@pytest.fixture(scope="module")
def office(tmp_path_factory, receiver):
    gateway = Gateway(tmp_path_factory.mktemp("office"), "--notify-networks", HERE,
                      "--public-url", "https://gate.example.com", "--allowed-hosts", "127.0.0.1")
    yield Office(gateway, register(gateway), receiver)
    assert gateway.stop() == 0, gateway.text()


def test_a_webhook_is_signed_and_holds_no_statement(office, receiver):
    path = f"/good/{unique('a')}"
    more = f"/good/{unique('b')}"
    sink, wordy = office.sink(path), office.sink(more, statement_size=9)
    name = office.connection()
    review = office.ask(name, "delete from salaries -- hunter2")
    [(headers, body)] = wait_for(lambda: receiver.at(path), what="the message")
    assert body["type"] == "review.requested" and body["data"]["review_id"] == review
    assert body["data"]["url"].startswith(f"https://gate.example.com/reviews/{review}?link=")
    assert body["data"]["connection"] == name and body["data"]["requester"] == "root@example.com"
    assert "salaries" not in json.dumps(body) and "hunter2" not in json.dumps(body)
    [delivery] = office.deliveries(sink)
    assert delivery["id"] == headers["webhook-id"] and headers["content-type"] == "application/json"
    [(_, body)] = wait_for(lambda: receiver.at(more), what="the other message")
    assert body["data"]["statement"] == "delete fr"
    wait_for(lambda: [d["state"] for d in office.deliveries(sink)] == ["delivered"], what="its end")
    office.remove(sink, wordy)


def test_slack_and_teams_get_text_that_calls_nobody(office, receiver):
    slack = office.sink(f"/good/{unique('slack')}", type="slack", statement_size=100)
    teams = office.sink(f"/good/{unique('teams')}", type="teams", statement_size=100)
    assert "secret" not in slack and "secret" not in teams
    review = office.ask(office.connection(), "select '<!channel> & ```[x](http://evil)'")
    link = rf"https://gate\.example\.com/reviews/{review}\?link=[A-Za-z0-9_-]{{100,400}}"

    def of(word):
        return [json.loads(body) for seen, _, body in receiver.got if f"/{word}-" in seen]
    wait_for(lambda: of("slack") and of("teams"), what="both messages")
    [message], [card] = of("slack"), of("teams")
    assert list(message) == ["text"] and re.search(rf"<{link}\|Open in Gatehouse>", message["text"])
    assert "<!channel>" not in message["text"] and "&lt;!channel&gt; &amp;" in message["text"]
    assert message["text"].count("```") == 2
    [attachment] = card["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    [action] = attachment["content"]["actions"]
    assert re.fullmatch(link, action.pop("url"))
    assert action == {"type": "Action.OpenUrl", "title": "Open in Gatehouse"}
    assert {block["type"] for block in attachment["content"]["body"]} == {"RichTextBlock"}
    office.remove(slack, teams)


def test_receivers_that_do_not_work_hold_up_nobody(office, receiver):
    trap = Receiver("127.0.0.1")
    sinks = {word: office.sink(f"/{word}/{unique('x')}") for word in
             ("good", "hang", "endless", "flaky", "gone", "broken")}
    sinks["redirect"] = office.sink(f"/redirect/{unique('x')}?{trap.port}")
    rebound = unique("rebound")
    sinks["rebound"] = office.sink("/rebound", name=rebound,
                                   url=f"http://localhost:{trap.port}/rebound")
    began = time.monotonic()
    office.ask(office.connection())

    def state(word):
        [delivery] = office.deliveries(sinks[word])
        return delivery
    wait_for(lambda: state("flaky")["state"] == "delivered", what="the second attempt")
    assert state("flaky")["tries"] == 2 and time.monotonic() - began >= 4
    for word in "good", "endless":
        assert (state(word)["state"], state(word)["tries"]) == ("delivered", 1), state(word)
    assert state("gone")["state"] == "dead" and state("gone")["last_status"] == 410
    wait_for(lambda: state("hang")["last_error"], what="the end of patience")
    for word, words in (("broken", "answered 500"), ("redirect", "answered 307"),
                        ("rebound", "private"), ("hang", "Operation timed out")):
        found = state(word)
        assert found["state"] == "pending" and words in found["last_error"], found
        assert found["next_try_at"] and office.admin.get(
            f"/notifications/sinks/{sinks[word]['name']}").json["failing_since"]
    assert trap.got == []
    # While those fail, another event is told at once.
    began = time.monotonic()
    office.ask(office.connection())
    wait_for(lambda: [d["state"] for d in office.deliveries(sinks["good"])] == ["delivered"] * 2,
             what="the next message")
    # What is dead can be sent again, as the same.
    dead = state("gone") if len(office.deliveries(sinks["gone"])) == 1 else office.deliveries(
        sinks["gone"], "dead")[-1]
    office.remove(*(sink for word, sink in sinks.items() if word != "gone"))
    wait_for(lambda: len(office.deliveries(sinks["gone"], "dead")) == 2, what="both dead")
    path = f"/good/{unique('revived')}"
    receiver.keys[path] = next(key for at, key in receiver.keys.items() if at.startswith("/gone"))
    changed = office.admin.put(f"/notifications/sinks/{sinks['gone']['name']}", {
        "name": sinks["gone"]["name"], "type": "webhook", "events": ["review.requested"],
        "url": receiver.url(path)})
    assert changed.status == 200, changed
    again = office.admin.post(f"/notifications/deliveries/{dead['id']}/replay")
    assert again.status == 200 and again.json["state"] == "pending", again
    [(headers, _)] = wait_for(lambda: receiver.at(path), what="it again")
    assert headers["webhook-id"] == dead["id"]
    wait_for(lambda: len(office.deliveries(sinks["gone"], "delivered")) == 1, what="its end")
    assert office.admin.post(f"/notifications/deliveries/{dead['id']}/replay").status == 409
    rest = office.admin.post(f"/notifications/sinks/{sinks['gone']['name']}/replay")
    assert rest.status == 200 and rest.json == {"count": 1}, rest
    wait_for(lambda: len(receiver.at(path)) == 2, what="the other one again")
    office.remove(sinks["gone"])
    trap.close()


def test_sinks_are_kept_tried_and_audited(office, receiver):
    admin, path = office.admin, f"/good/{unique('tried')}?token=hunter2"
    sink = office.sink(path)
    at = f"/notifications/sinks/{sink['name']}"
    shown = admin.get(at).json
    assert "secret" not in shown and "url" not in shown and "hunter2" not in json.dumps(shown)
    assert shown["address"] == f"http://{HERE}:{receiver.port}" and shown["enabled"] is True
    assert shown in admin.get("/notifications/sinks").json
    tried = admin.post(f"{at}/test")
    assert tried.status == 200 and tried.json["delivered"] is True, tried
    [(headers, body)] = receiver.at(path)
    assert body["type"] == "test" and headers["webhook-id"] == tried.json["id"]
    # A new secret ends the old one.
    old = receiver.keys[path]
    changed = admin.post(f"{at}/secret")
    receiver.keys[path] = base64.b64decode(changed.json["secret"].partition("_")[2])
    assert receiver.keys[path] != old
    assert admin.post(f"{at}/test").json["delivered"] is True
    # One that is not enabled is told of nothing; a replacement without a URL leaves it.
    off = {"name": sink["name"], "type": "webhook", "events": ["review.requested"],
           "enabled": False}
    assert admin.put(at, off).json["enabled"] is False
    office.ask(office.connection())
    assert admin.put(at, {**off, "enabled": True}).json["enabled"] is True
    assert admin.post(f"{at}/test").json["delivered"] is True
    assert office.deliveries(sink) == []
    for members, words in (
            ({"url": "http://127.0.0.1/x"}, "private"), ({"url": "http://[::1]/x"}, "private"),
            ({"url": "http://[::ffff:10.0.0.1]/x"}, "private"), ({"url": "ftp://a/x"}, "'url'"),
            ({"url": "https://u:hunter2@a/x"}, "'url'"), ({"url": "https://a/x\\y"}, "'url'"),
            ({"url": "http://169.254.169.254/latest"}, "private"), ({"url": "postgres://a"}, "'url'"),
            ({"events": []}, "'events'"), ({"events": ["x"]}, "'events"), ({"type": "x"}, "'type'")):
        answer = admin.put(at, {**off, **members})
        assert answer.status == 400 and words in answer.message, answer
        assert "hunter2" not in answer.message
    assert admin.post("/notifications/sinks", off).status == 400
    taken = admin.post("/notifications/sinks", {**off, "url": receiver.url("/good")})
    assert taken.status == 409, taken
    office.remove(sink)
    entries = admin.get("/audit/logs?resource_type=notification_sinks&page_size=100").json["data"]
    mine = [e for e in entries if sink["name"] in json.dumps(e["request_payload_redacted"] or {})]
    assert {"create", "test", "rotate_secret", "update", "delete"} <= {e["action"] for e in mine}
    text = json.dumps(entries)
    assert "hunter2" not in text and "whsec" not in text
    assert "hunter2" not in office.gateway.text() and "whsec" not in office.gateway.text()


def test_emergency_access_is_told_to_everybody(tmp_path, receiver, target):
    """Whatever a sink wants to know; but for those that are switched off."""
    gateway = Gateway(tmp_path, *TRUSTED, "--notify-networks", HERE)
    crew = Crew(House(gateway), target)
    office = Office(gateway, crew.admin, receiver)
    paths = [f"/good/{unique(word)}" for word in ("asked", "other", "off")]
    office.sink(paths[0], ["emergency_access.used", "review.requested"])
    office.sink(paths[1], ["agent.gone"])
    office.sink(paths[2], ["emergency_access.used"], enabled=False)
    name = crew.connection()
    crew.rule(name, min_approvals=2, force_approval_groups=["boss"])
    plain, asked = crew.ask(name), crew.ask(name)
    decide(crew.bob, plain)
    decide(crew.eve, asked, expect=400, force_review=True)  # without a reason: nothing is told
    decide(crew.eve, asked, force_review=True, reason="the shop is down")
    for path in paths[:2]:
        [(_, told)] = wait_for(lambda at=path: receiver.at(at, "emergency_access.used"),
                               what="the message")
        data = told["data"]
        assert (data["review_id"], data["used_by"], data["severity"], data["emergency"]) == (
            asked["review_id"], crew.email["eve"], "critical", True)
        assert data["summary"].startswith("Emergency access: ") and "is down" not in json.dumps(told)
    assert [body["type"] for _, body in receiver.at(paths[1])] == ["emergency_access.used"]
    assert receiver.at(paths[2]) == []
    assert gateway.stop() == 0, gateway.text()


def test_decisions_expiries_and_sessions_are_told(office, receiver, target):
    path = f"/good/{unique('all')}"
    admin = office.admin
    events = ["review.requested", "review.decided", "review.expired", "session.opened",
              "session.closed", "guardrail.hit"]
    sink = office.sink(path, events)
    name = office.connection()
    given_up, late = office.ask(name), office.ask(name, "another")
    assert admin.put(f"/reviews/{given_up}", {"status": "CANCELLED"}).status == 200
    Store(office.gateway).ask("UPDATE review SET pending_until = 1 WHERE id = ?", late)

    def told(type, **data):
        return [body for _, body in receiver.at(path, type)
                if all(body["data"][key] == value for key, value in data.items())]
    [decided] = wait_for(lambda: told("review.decided", review_id=given_up), what="the decision")
    assert decided["data"]["status"] == "CANCELLED"
    [expired] = wait_for(lambda: told("review.expired", review_id=late), what="the expiry")
    assert expired["data"]["status"] == "EXPIRED"
    assert admin.get(f"/reviews/{late}").json["status"] == "EXPIRED"
    entries = admin.get("/audit/logs?resource_type=reviews&action=expire").json["data"]
    [entry] = [e for e in entries if e["request_payload_redacted"]["review_id"] == late]
    assert entry["actor_name"] == "gateway" and entry["outcome"] is True
    assert told("review.decided", review_id=late) == []
    # A session, and what it must not do.
    guarded = target.connection(admin)
    answer = admin.post("/guardrails", {
        "name": unique("rail"), "connection_ids": [admin.get(f"/connections/{guarded}").json["id"]],
        "input": {"rules": [{"type": "deny_words_list", "words": ["forbidden"]}]}})
    assert answer.status == 201, answer
    key = credential(admin, guarded)
    with Wire(key) as wire:
        with pytest.raises(Refused):
            wire.ask("select 'forbidden'")
        wait_for(lambda: told("guardrail.hit", connection=guarded), what="the hit, in the session")
        assert told("session.closed", connection=guarded) == []
    wait_for(lambda: told("session.closed", connection=guarded), what="the session's end")
    [opened] = told("session.opened", connection=guarded)
    [hit] = wait_for(lambda: told("guardrail.hit", connection=guarded), what="the hit")
    assert hit["data"]["hits"][0]["action"] == "block"
    assert opened["data"]["url"] == (
        f"https://gate.example.com/sessions/{opened['data']['session_id']}")
    assert "forbidden" not in json.dumps([body for _, body in receiver.at(path)])
    office.remove(sink)


def test_a_sign_in_from_a_new_address_is_told(office, receiver):
    path, email = f"/good/{unique('place')}", f"{unique('ann')}@example.com"
    sink = office.sink(path, ["sign_in.new_address"])
    made = office.admin.post("/users", {"email": email, "password": PASSWORD})
    assert made.status == 201, made
    store = Store(office.gateway)

    def sign_in():
        assert login(office.gateway, email).get("/userinfo").status == 200
    for _ in range(2):  # the first address of all is none that is new
        sign_in()
    assert store.ask("SELECT address FROM sign_in_place WHERE user_id = ?",
                     made.json["id"]) == [["127.0.0.1"]]
    store.ask("UPDATE sign_in_place SET address = '192.0.2.7' WHERE user_id = ?", made.json["id"])
    for _ in range(2):
        sign_in()
    [(_, body)] = wait_for(lambda: receiver.at(path), what="the message")
    assert body["data"]["user"] == email and body["data"]["client_ip"] == "127.0.0.1"
    assert len(office.deliveries(sink)) == 1
    office.remove(sink)


def test_an_agent_that_goes_is_told(receiver, tmp_path):
    gateway = Gateway(tmp_path / "gateway", "--notify-networks", HERE)
    office = Office(gateway, register(gateway), receiver)
    path = f"/good/{unique('agent')}"
    sink, made = office.sink(path, ["agent.gone"]), make_agent(office.admin)
    agent = Agent(str(tmp_path), "--token", made["token"])
    wait_connected(office.admin, made, agent)
    assert agent.stop() == 0, agent.text()
    [(_, body)] = wait_for(lambda: receiver.at(path), what="the message")
    assert body["data"]["agent_id"] == made["id"] and body["data"]["agent"] == made["name"]
    office.remove(sink)
    assert gateway.stop() == 0, gateway.text()


def test_old_reviews_go_with_their_scripts(office):
    store, name = Store(office.gateway), office.connection()
    old, young = office.ask(name, "old"), office.ask(name, "young")
    for review in old, young:
        assert office.admin.put(f"/reviews/{review}", {"status": "CANCELLED"}).status == 200
    year = 365 * 86400 * 10**6
    store.ask("UPDATE review SET updated_at = updated_at - ? WHERE id = ?", year, old)
    wait_for(lambda: office.admin.get(f"/reviews/{old}").status == 404, what="its end")
    assert office.admin.get(f"/reviews/{young}").status == 200


def test_a_killed_gateway_loses_and_repeats_nothing_under_another_id(tmp_path, receiver):
    path = f"/hang/{unique('killed')}"
    folder, arguments = tmp_path / "killed", ("--notify-networks", HERE)
    gateway = Gateway(folder, *arguments)
    office = Office(gateway, register(gateway), receiver)
    office.sink(path)
    name = office.connection()
    reviews, token = [], office.admin.token
    receiver.is_hanging = True
    for round in range(10):
        if round == 5:
            receiver.is_hanging = False
        reviews.append(office.ask(name, f"script {round}"))
        time.sleep(random.random() * 0.7)  # at whatever moment
        gateway.kill()
        gateway = Gateway(folder, *arguments)
        office.admin = Api(gateway, token)

    def ids():
        found = collections.defaultdict(set)
        for headers, body in receiver.at(path):
            found[body["data"]["review_id"]].add(headers["webhook-id"])
        return found

    def states():
        data = office.admin.get("/notifications/deliveries?page_size=100").json["data"]
        return collections.Counter(delivery["state"] for delivery in data)
    wait_for(lambda: states() == {"delivered": 10}, seconds=4 * PATIENCE, what="all of them")
    assert set(ids()) == set(reviews)
    assert all(len(found) == 1 for found in ids().values()), ids()
    assert len({one for found in ids().values() for one in found}) == 10
    assert gateway.stop() == 0, gateway.text()


def test_two_gateways_share_the_work(tmp_path, postgres, receiver):
    path = f"/good/{unique('pair')}"
    arguments = ["--notify-networks", HERE, "--database-url",
                 postgres.create(f"notify_{time.monotonic_ns()}"), "--master-key-file",
                 str(tmp_path / "key"), "--shutdown-seconds", "2"]
    first = Gateway(tmp_path / "first", *arguments)
    second = Gateway(tmp_path / "second", *arguments)
    office = Office(first, register(first), receiver)
    sink, other = office.sink(path), Api(second, office.admin.token)
    name = office.connection()
    reviews = [office.ask(name, f"script {i}", office.admin if i % 2 else other)
               for i in range(20)]
    wait_for(lambda: len(office.deliveries(sink, "delivered")) == 20, what="all of them")
    sent = [headers["webhook-id"] for headers, _ in receiver.at(path)]
    assert len(sent) == len(set(sent)) == 20
    assert {body["data"]["review_id"] for _, body in receiver.at(path)} == set(reviews)
    # One is killed while it sends: the other one sends it when the lease is over.
    receiver.is_hanging = True
    hanging = f"/hang/{unique('pair')}"
    slow = office.sink(hanging)
    first.signal(signal.SIGSTOP)  # so that it is the other one who sends it
    office.ask(name, "the last", other)
    wait_for(lambda: receiver.at(hanging), what="the first attempt")
    second.kill()
    receiver.is_hanging = False
    first.signal(signal.SIGCONT)
    wait_for(lambda: len(office.deliveries(slow, "delivered")) == 1, seconds=LEASE + 2 * PATIENCE,
             what="its end")
    assert len({headers["webhook-id"] for headers, _ in receiver.at(hanging)}) == 1
    assert first.stop() == 0, first.text()


# Links --------------------------------------------------------------------------------------------

def test_a_messages_link_opens_its_review_once(office, receiver):
    """After sign-in, for who sees the review; it decides nothing, and says why it is not good."""
    path = f"/good/{unique('link')}"
    sink, name = office.sink(path), office.connection()
    first, second = office.ask(name), office.ask(name)
    wait_for(lambda: len(receiver.at(path)) == 2, what="both messages")
    links = {body["data"]["review_id"]: body["data"]["url"].split("?link=")[1]
             for _, body in receiver.at(path)}
    stranger = House(office.gateway, office.admin).person(unique("nobody").replace("-", "_"))
    stranger = login(office.gateway, stranger)
    key = office.admin.post("/api-keys", {"name": unique("key"), "groups": ["admin"]})
    key = Api(office.gateway, key.json["key"])
    email = f"{unique('abroad')}@example.com"
    answer = new_organization(office.admin).post("/users", {
        "email": email, "password": PASSWORD, "groups": ["admin"]})
    assert answer.status == 201, answer
    abroad = login(office.gateway, email)

    def opened(review, link, api=None):
        return (api or office.admin).post(f"/reviews/{review}/opened", {"link": link})

    # Whatever asks for the page, a preview of the message as well, uses nothing up.
    for method in "GET", "HEAD":
        office.admin.call(method, f"/reviews/{first}?link={links[first]}")
    for api, status in (stranger, 404), (abroad, 404), (key, 403), (Api(office.gateway), 401):
        assert opened(first, links[first], api).status == status
    for review, link, words in ((first, links[second], "for another review"),
                                (first, links[first][:-4] + "AAAA", "not made here"),
                                (first, "x", "not made here")):
        answer = opened(review, link)
        assert answer.status == 400 and words in answer.message, answer
    answer = opened(first, links[first])
    assert answer.status == 200 and answer.json["status"] == "PENDING", answer
    answer = opened(first, links[first])
    assert answer.status == 409 and "root@example.com" in answer.message, answer
    assert opened(second, links[second]).status == 200
    actions = [entry["action"] for entry in House(office.gateway, office.admin).log()]
    assert actions.count("open_link") >= 2
    office.remove(sink)
