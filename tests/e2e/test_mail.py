# SPDX-License-Identifier: MIT
"""Notifications by e-mail, through a real mail server: with TLS and an account, or not at all."""
import json
import os
import random
import subprocess
import time

import pytest

from api import Api, connection, register, unique
from conftest import BINARY, PATIENCE, Gateway, wait_for
from mail_server import (FROM, HERE, PASSWORD, USER, BadServer, MailServer, free_port,
                         make_certificate)
from store import Store

PUBLIC = "https://gate.example.com"


def settings(port, ca, **more):
    given = {"smtp-host": HERE, "smtp-port": port, "smtp-from": FROM, "smtp-user": USER,
             "smtp-ca-file": ca, "notify-networks": HERE, **more}
    return [f"--{name}={value}" for name, value in given.items() if value is not None]


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("papers"))


@pytest.fixture(scope="module")
def server(papers):
    made = MailServer(*papers[1:])
    yield made
    made.close()


class Office:
    def __init__(self, folder, *arguments, **options):
        self.folder, self.arguments, self.options = folder, arguments, options
        self.gateway = Gateway(folder, *arguments, "--public-url", PUBLIC, "--allowed-hosts",
                               "127.0.0.1", **options)
        self.admin = register(self.gateway)

    def again(self, *arguments, env=None):
        """The same gateway, with other settings, or after a kill."""
        self.gateway = Gateway(self.folder, *(arguments or self.arguments), "--public-url", PUBLIC,
                               "--allowed-hosts", "127.0.0.1",
                               **({"env": env} if env else self.options))
        self.admin = Api(self.gateway, self.admin.token)

    def sink(self, *addresses, events=("review.requested",), **members):
        answer = self.admin.post("/notifications/sinks", {
            "name": unique("mail"), "type": "email", "events": list(events),
            "addresses": list(addresses), **members})
        assert answer.status == 201, answer
        return answer.json

    def connection(self, name=None):
        name = name or unique("asked")
        assert self.admin.post("/connections", connection(name)).status == 201
        assert self.admin.post("/access-requests/rules", {
            "name": unique("rule"), "access_type": "command", "connection_names": [name],
            "reviewers_groups": ["admin"]}).status == 201
        return name

    def ask(self, name, script="drop table t"):
        answer = self.admin.post("/sessions", {"connection": name, "script": script})
        assert answer.status == 200 and answer.json["has_review"], answer
        return answer.json["review_id"]

    def deliveries(self, sink):
        return self.admin.get(f"/notifications/deliveries?sink={sink['name']}").json["data"]

    def try_out(self, sink):
        answer = self.admin.post(f"/notifications/sinks/{sink['name']}/test")
        assert answer.status == 200, answer
        return answer.json


@pytest.fixture(scope="module")
def office(tmp_path_factory, server, papers):
    folder = tmp_path_factory.mktemp("office")
    secret = folder / "password"
    secret.write_text(PASSWORD + "\n")
    os.chmod(secret, 0o600)
    made = Office(folder, *settings(server.port, papers[0], **{"smtp-password-file": secret}))
    yield made
    assert made.gateway.stop() == 0, made.gateway.text()
    assert PASSWORD not in made.gateway.text()


def address(word):
    return f"{unique(word)}@example.com"


def test_a_mail_says_in_plain_words_what_happened(office, server):
    ann, bob, wordy = address("ann"), address("bob"), address("wordy")
    sink, other = office.sink(ann, bob), office.sink(wordy, statement_size=1000)
    name = office.connection()
    script = "select 'grüße'\n.\nQUIT\r\nRCPT TO:<x@y>\n-- " + "long " * 100
    review = office.ask(name, script)
    [mail] = wait_for(lambda: server.to(ann), what="the mail")
    assert server.to(bob) == [mail] and mail["To"] == f"{ann}, {bob}"
    assert mail["From"] == f"Gatehouse <{FROM}>"
    assert mail["Subject"] == f"root@example.com asks for a script on '{name}'"
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail.get_content_type() == "text/plain"
    text = mail.get_content()
    assert text.startswith(mail["Subject"] + ".\r\n") and "grüße" not in text
    assert f"{PUBLIC}/reviews/" in text and sink["name"] in text
    [long] = wait_for(lambda: server.to(wordy), what="the other mail")
    assert long["Message-ID"] == mail["Message-ID"]  # the same event
    assert " ".join(script.split()) in " ".join(long.get_content().split()).replace("  ", " ")
    assert server.signed_in[-1] == (USER, PASSWORD)
    [delivery] = wait_for(lambda: [d for d in office.deliveries(sink) if d["state"] != "pending"],
                          what="its end")
    assert (delivery["state"], delivery["tries"], delivery["last_error"]) == ("delivered", 1, None)
    assert review not in mail["Subject"] and len(server.tried) == len(set(server.tried))
    assert sink["address"] == f"{ann}, {bob}" and sink["addresses"] == [ann, bob]
    assert "secret" not in sink and "url" not in sink
    assert office.admin.get(f"/notifications/sinks/{other['name']}").json["addresses"] == [wordy]


def test_names_of_others_cannot_add_to_the_head(office, server):
    ann = address("ann")
    office.sink(ann)
    name = office.connection()
    Store(office.gateway).ask(
        "UPDATE user_account SET email = ? WHERE email = 'root@example.com'",
        "röot\r\nBcc: eve@example.com\r\n\r\nhello =?UTF-8?Q?x?= " + "ü" * 300)
    try:
        office.ask(name)
        [mail] = wait_for(lambda: server.to(ann), what="the mail")
    finally:
        Store(office.gateway).ask("UPDATE user_account SET email = 'root@example.com' "
                                  "WHERE email LIKE 'r%'")
    assert mail["Bcc"] is None and mail.get_all("To") == [ann] and not mail.defects
    assert mail["Subject"].startswith("röot  Bcc: eve@example.com")
    assert all(not part.defects for part in mail.walk())
    assert [e.rcpt_tos for e, m in server.mails if m is mail] == [[ann]]


def test_addresses_are_checked_and_kept(office, server):
    admin = office.admin
    ann, bob = address("ann"), address("bob")
    sink = office.sink(ann)
    at = f"/notifications/sinks/{sink['name']}"
    body = {"name": sink["name"], "type": "email", "events": ["agent.gone"]}
    assert admin.put(at, body).json["addresses"] == [ann]
    assert admin.put(at, {**body, "addresses": [ann, bob]}).json["address"] == f"{ann}, {bob}"
    for members, words in (
            ({"addresses": []}, "'addresses'"), ({"addresses": ["ann"]}, "e-mail address"),
            ({"addresses": ["a@b\r\nRCPT TO:<c@d>"]}, "e-mail address"),
            ({"addresses": ["<a@b.example>"]}, "e-mail address"),
            ({"addresses": ["a@b,c@d"]}, "e-mail address"),
            ({"addresses": ["größe@example.com"]}, "e-mail address"),
            ({"addresses": ["a@b.example"] * 21}, "'addresses'"),
            ({"addresses": ["x" * 250 + "@b.example"]}, "'addresses"),
            ({"url": "https://example.com/x"}, "'url'"),
            ({"type": "webhook"}, "'url' is missing"),
            ({"type": "slack", "url": "https://example.com/x", "addresses": [ann]},
             "'addresses'")):
        answer = admin.put(at, {**body, **members})
        assert answer.status == 400 and words in answer.message, (members, answer)
    assert admin.post("/notifications/sinks", {**body, "name": unique("none")}).status == 400
    hook = {**body, "type": "webhook", "url": "https://example.com/x"}
    changed = admin.put(at, hook)
    assert changed.status == 200 and "addresses" not in changed.json
    assert "'addresses' is missing" in admin.put(at, body).message
    tried = admin.put(at, {**body, "addresses": [bob]})
    assert tried.status == 200
    done = office.try_out(sink)
    assert done["delivered"] is True and done["status"] == 250, done
    [mail] = server.to(bob)
    assert "tries the sink" in mail.get_content()
    assert admin.post(f"{at}/secret").status == 400


def test_who_is_refused_is_named_and_the_rest_is_told(office, server):
    ann, gone, full = address("ann"), address("nobody"), address("full")
    bob, grey, picky = address("bob"), address("grey"), address("picky")
    some, none, later = office.sink(ann, gone), office.sink(gone), office.sink(full)
    mixed, refused = office.sink(grey, bob, gone), office.sink(picky)
    office.ask(office.connection())

    def state(sink):
        [delivery] = office.deliveries(sink)
        return delivery
    wait_for(lambda: state(some)["state"] == "delivered", what="the mail")
    assert f"1 of 2 addresses were refused: {gone}: 550 5.1.1" in state(some)["last_error"]
    assert "\x1b" not in state(some)["last_error"] and len(server.to(ann)) == 1
    wait_for(lambda: state(none)["last_error"] and state(later)["last_error"], what="the refusals")
    assert state(none)["state"] == "dead" and "550 5.1.1" in state(none)["last_error"]
    wait_for(lambda: state(refused)["state"] == "dead", what="the refusal of the text")
    assert "554 5.7.1 no such mail" in state(refused)["last_error"]
    wait_for(lambda: state(mixed)["last_error"], what="the first attempt")
    assert state(mixed)["state"] == "pending" and len(server.to(bob)) == 1
    assert f"{grey}: 451 4.7.1 come back later" in state(mixed)["last_error"]
    assert "452 4.2.2 mailbox full" in state(later)["last_error"]
    server.is_hanging = False
    wait_for(lambda: state(later)["state"] == "delivered", what="the second attempt")
    server.is_hanging = True
    assert state(later)["tries"] == 2
    server.is_hanging = False
    wait_for(lambda: state(mixed)["state"] == "delivered", what="the one that was put off")
    server.is_hanging = True
    assert len(server.to(bob)) == 1 and len(server.to(grey)) == 1
    assert server.to(bob)[0]["Message-ID"] == server.to(grey)[0]["Message-ID"]
    assert f"1 of 3 addresses were refused: {gone}: 550" in state(mixed)["last_error"]
    # Sent again, a dead one goes to whom it was refused for, and to nobody who has it.
    at = f"/notifications/deliveries/{state(none)['id']}/replay"
    assert office.admin.post(at).status == 200
    wait_for(lambda: state(none)["state"] == "dead" and state(none)["tries"] == 1,
             what="the second refusal")
    [mail] = server.to(full)
    assert server.tried.count(full) == 2 and mail["Message-ID"]


def test_a_kill_repeats_no_mail_under_another_id(office, server):
    slow, name = address("slow"), office.connection()
    sink = office.sink(slow)
    for round in range(4):
        tried = server.tried.count(slow)
        office.ask(name, f"script {round}")
        wait_for(lambda: server.tried.count(slow) > tried, what="an attempt")
        time.sleep(random.random() * 0.3)  # at whatever moment
        office.gateway.kill()
        server.is_hanging = round < 2
        office.again()
    server.is_hanging = False
    wait_for(lambda: [d["state"] for d in office.deliveries(sink)] == ["delivered"] * 4,
             seconds=4 * PATIENCE, what="all of them")
    server.is_hanging = True
    assert len({mail["Message-ID"] for mail in server.to(slow)}) == 4
    assert {mail["Message-ID"].rpartition("@")[2] for mail in server.to(slow)} == {"example.com>"}


def test_servers_that_are_not_what_they_should_be(tmp_path, server, papers):
    """Nothing is sent without TLS, to somebody else, or to a private address by a name."""
    env = {"GATEHOUSE_SMTP_PASSWORD": PASSWORD}
    plain = MailServer()
    silent, greets = BadServer(), BadServer("220 hello\r\n")
    hangs_up = BadServer("220 hello\r\n", "421 4.3.2 go away\r\n")
    liar = BadServer("220 x\r\n", "250-x\r\n250 STARTTLS\r\n",
                     "220 ready\r\n250 taken before TLS\r\n")
    other = tmp_path / "other"
    other.mkdir()
    stranger = make_certificate(other)[0]
    office = Office(tmp_path / "office", *settings(server.port, papers[0]), env=env)
    ann = address("ann")
    sink = office.sink(ann)

    def told(*words, arguments, given=None):
        office.gateway.stop()
        office.again(*arguments, env=given or env)
        tried = office.try_out(sink)
        assert tried["delivered"] is False, tried
        assert any(word in tried["error"] for word in words), tried
    told("STARTTLS", arguments=settings(plain.port, papers[0]))
    told("certificate", "SSL", arguments=settings(server.port, stranger))
    told("535", "Login", arguments=settings(server.port, papers[0]),
         given={"GATEHOUSE_SMTP_PASSWORD": "wrong"})
    told("530", arguments=settings(server.port, papers[0], **{"smtp-user": None}),
         given={"HOME": "/"})
    told("refused", "connect", arguments=settings(free_port(), papers[0]))
    told("421", arguments=settings(hangs_up.port, papers[0]))
    told("STARTTLS", "SSL", "certificate", "TLS", "Weird",
         arguments=settings(liar.port, papers[0]))
    began = time.monotonic()
    told("timed out", "timeout", arguments=settings(silent.port, papers[0]))
    assert time.monotonic() - began >= 10
    told("private", arguments=settings(server.port, papers[0], **{
        "smtp-host": "localhost", "notify-networks": "10.0.0.0/8"}))
    # Without a server mail sinks are refused, and what waits says why.
    office.gateway.stop()
    nothing = {"HOME": "/"}
    office.again("--notify-networks", HERE, env=nothing)
    assert "--smtp-host" in office.try_out(sink)["error"]
    refused = office.admin.post("/notifications/sinks", {
        "name": unique("mail"), "type": "email", "events": ["agent.gone"],
        "addresses": ["a@example.com"]})
    assert refused.status == 400 and "--smtp-host" in refused.message
    # Where the operator says so, a server of his may do without TLS, and without an account.
    office.gateway.stop()
    office.again(*settings(plain.port, None, **{"smtp-user": None, "smtp-tls": "off"}),
                 env=nothing)
    assert office.try_out(sink)["delivered"] is True and len(plain.mails) == 1
    assert ann not in server.tried and plain.signed_in == []
    assert PASSWORD not in json.dumps(office.admin.get("/notifications/deliveries").json)
    assert office.gateway.stop() == 0
    for made in plain, silent, greets, hangs_up, liar:
        made.close()


def test_a_server_that_never_says_goodbye_holds_up_nobody(tmp_path, papers):
    """It has taken the mail by then."""
    last = BadServer("220 x\r\n", "250 x\r\n", "250 sender\r\n", "250 recipient\r\n", "354 go\r\n")

    def talk(connection):
        with connection, connection.makefile("rb") as reader:
            try:
                for line in last.lines[:-1]:
                    connection.sendall(line.encode())
                    reader.readline()
                connection.sendall(b"354 go\r\n")
                while reader.readline() not in (b".\r\n", b""):
                    pass
                connection.sendall(b"250 taken\r\n")
                while reader.readline():
                    pass
            except OSError:
                pass
    last.talk = talk
    office = Office(tmp_path, *settings(last.port, None, **{"smtp-user": None, "smtp-tls": "off"}))
    sink = office.sink(address("ann"))
    began = time.monotonic()
    assert office.try_out(sink)["delivered"] is True
    assert time.monotonic() - began < 10  # curl itself would wait for two minutes
    assert office.gateway.stop() == 0
    last.close()


def test_settings_that_do_not_fit_are_refused(tmp_path, start_refused):
    secret = tmp_path / "password"
    secret.write_text("hunter2\n")
    os.chmod(secret, 0o644)
    good = {"smtp-host": "mail.example.com", "smtp-from": FROM}
    for given, words in (
            ({"smtp-from": FROM}, "--smtp-from needs --smtp-host"),
            ({"smtp-host": "mail.example.com"}, "--smtp-from"),
            ({**good, "smtp-from": "me"}, "--smtp-from"),
            ({**good, "smtp-host": "mail.example.com:25"}, "--smtp-port"),
            ({**good, "smtp-host": "10.0.0.1"}, "--notify-networks"),
            ({**good, "smtp-host": "localhost"}, "--notify-networks"),
            ({**good, "smtp-host": "::1"}, "--notify-networks"),
            ({**good, "smtp-user": "me"}, "both or none"),
            ({**good, "smtp-user": "me", "smtp-password": "hunter2", "smtp-tls": "off"},
             "clear text"),
            ({**good, "smtp-user": "me", "smtp-password-file": secret}, "chmod 600"),
            ({**good, "smtp-user": "me", "smtp-password-file": tmp_path / "none"}, "No such file"),
            ({**good, "smtp-tls": "maybe"}, "starttls|tls|off"),
            ({**good, "smtp-port": "0"}, "--smtp-port")):
        text = start_refused(*(f"--{name}={value}" for name, value in given.items()))
        assert words in text and "hunter2" not in text, (given, text)


@pytest.fixture
def start_refused(tmp_path):
    def run(*arguments):
        done = subprocess.run([BINARY, "serve", "--data-dir", str(tmp_path / "data"), "--listen",
                               "127.0.0.1:0", *arguments], capture_output=True, text=True,
                              timeout=PATIENCE)
        assert done.returncode != 0, done
        return done.stderr + done.stdout
    return run
