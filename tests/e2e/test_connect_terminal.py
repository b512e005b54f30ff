# SPDX-License-Identifier: MIT
"""'gatehouse connect' on a connection that has a terminal: a person's own terminal, for real."""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from api import register
from command_line import Person
from conftest import BINARY, PATIENCE, Gateway, wait_for
from test_commands import Place, processes
from test_tls import make_certificate

SHELL = ("bash", "--norc", "-i")


class Screen:
    """A program on a terminal of its own, which a test types into."""

    def __init__(self, person, *arguments):
        self.near, self.far = pty.openpty()
        self.resize(90, 25)
        self.before = termios.tcgetattr(self.far)
        env = {**person.env, "TERM": "xterm"}
        self.process = subprocess.Popen([BINARY, *arguments], env=env, cwd=person.home,
                                        stdin=self.far, stdout=self.far, stderr=self.far,
                                        start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.shown = b""

    def resize(self, columns, rows):
        fcntl.ioctl(self.near, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def is_as_before(self):
        return termios.tcgetattr(self.far) == self.before

    def type(self, text):
        os.write(self.near, text.encode())

    def read(self, seconds):
        if select.select([self.near], [], [], seconds)[0]:
            self.shown += os.read(self.near, 1 << 16)

    def until(self, wanted):
        end = time.monotonic() + PATIENCE
        while wanted.encode() not in self.shown:
            assert time.monotonic() < end, (wanted, self.shown)
            self.read(0.1)
        before, self.shown = self.shown.split(wanted.encode(), 1)
        return (before + wanted.encode()).decode(errors="replace")

    def ended(self):
        """The exit code; what it said last is in 'shown'."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < end, self.shown
            self.read(0.05)
        self.read(0)
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.near)
        os.close(self.far)


@pytest.fixture(scope="module")
def local(quick):
    return Place(quick, quick.get("/userinfo").json["org_id"])


@pytest.fixture(scope="module")
def me(quick, tmp_path_factory):
    return Person(tmp_path_factory.mktemp("me"), quick)


@pytest.fixture
def screen(local, me):
    screens = []

    def start(*arguments):
        screens.append(Screen(me, "connect", *arguments))
        return screens[-1]
    yield start
    for one in screens:
        one.close()


def test_a_shell(local, screen):
    shell = screen(local.connection(*SHELL))
    shell.until("$ ")
    assert not shell.is_as_before()
    shell.type("stty size; echo $TERM\r")
    assert "25 90" in shell.until("xterm\r\n")
    shell.resize(70, 33)
    shell.until("$ ")
    shell.process.send_signal(signal.SIGWINCH)
    wait_for(lambda: "33 70" in (shell.type("stty size\r"), shell.until("$ "))[1],
             what="the new size")
    shell.type("sleep 4731\r")
    wait_for(lambda: processes("sleep 4731"), what="the program")
    shell.type("\x03")
    wait_for(lambda: not processes("sleep 4731"), what="the program's end")
    shell.until("$ ")
    shell.type("echo a~.b\r")
    shell.until("a~.b\r\n")
    shell.until("$ ")
    shell.type("~~ is here\r")
    shell.until("~ is here")
    shell.until("$ ")
    shell.type("~?")
    shell.until("~.  leave")
    shell.type("exit 7\r")
    assert shell.ended() == 7 and shell.is_as_before()
    assert b"is closed" in shell.shown


def test_full_screen(local, screen):
    shell = screen(local.connection(*SHELL))
    shell.until("$ ")
    shell.type("seq 1 400 > lines; less lines\r")
    shell.until("\r\n24")
    shell.type("G")
    shell.until("400")
    shell.type("q")
    shell.until("$ ")
    shell.type("\x04")
    assert shell.ended() == 0 and shell.is_as_before()


def test_leaving(local, screen):
    name = local.connection(*SHELL)
    shell = screen(name)
    shell.until("$ ")
    shell.type("sleep 4732\r")
    wait_for(lambda: processes("sleep 4732"), what="the program")
    shell.type("\r~.")
    assert shell.ended() == 0 and shell.is_as_before()
    wait_for(lambda: not processes("sleep 4732"), what="the program's end")
    for number in signal.SIGTERM, signal.SIGHUP, signal.SIGSEGV, signal.SIGABRT:
        shell = screen(name)
        shell.until("$ ")
        shell.process.send_signal(number)
        shell.ended()
        assert shell.is_as_before(), number


def test_how_it_is_told(local, screen, me, quick):
    name = local.connection(*SHELL)
    shell = screen(name)
    shell.until("$ ")
    session = [row for row in quick.get("/sessions").json["data"] if row["connection"] == name][0]
    assert quick.post(f"/sessions/{session['id']}/kill").status == 204
    assert shell.ended() == 1 and shell.is_as_before()
    assert b"the session has ended: " in shell.shown and b"ended by" in shell.shown
    seen = me.run("sessions", "follow", session["id"])
    assert "bash-" in seen and "25x90" not in seen and "90x25" not in seen and "\x1b" not in seen
    missing = screen(local.connection("no-such-program"))
    assert missing.ended() == 1 and b"no program of that name" in missing.shown
    ticket = local.connection("cat", mandatory_metadata_fields=["ticket"])
    refused = screen(ticket)
    assert refused.ended() == 2 and b"ticket" in refused.shown and refused.is_as_before()
    cat = screen(ticket, "--metadata", "ticket=OPS-1")
    cat.type("meow\r")
    cat.until("meow\r\nmeow\r\n")
    cat.type("\x04")
    assert cat.ended() == 0
    assert "must be a terminal" in me.refused(2, "connect", name)
    assert "is a terminal" in me.refused(2, "connect", name, "--port", "5000")


def test_it_waits_for_others_and_goes_on(local, screen, quick):
    from api import PASSWORD, login, unique
    name, group = local.connection(*SHELL), unique("dba")
    assert quick.post("/users/groups", {"name": group}).status == 201
    assert quick.post("/access-requests/rules", {
        "name": unique("rule"), "access_type": "jit", "connection_names": [name],
        "reviewers_groups": [group]}).status == 201
    email = unique("boss") + "@example.com"
    assert quick.post("/users", {"email": email, "password": PASSWORD,
                                 "groups": [group]}).status == 201
    boss = login(quick.gateway, email)

    def decided(status):
        review = wait_for(lambda: [row for row in boss.get("/reviews?status=PENDING").json["data"]
                                   if row["connection"] == name], what="the request")[0]
        assert boss.put(f"/reviews/{review['id']}", {"status": status}).status == 200
    left = screen(name, "--duration", "20m")
    left.until("waits for others to approve: http")
    assert left.is_as_before()  # so that Ctrl-C ends it
    left.process.send_signal(signal.SIGINT)
    assert left.ended() != 0 and left.is_as_before()
    turned_down = screen(name, "--duration", "20m")
    turned_down.until("waits for others to approve: http")
    decided("REJECTED")
    assert turned_down.ended() == 5 and b"not approved" in turned_down.shown
    shell = screen(name, "--duration", "20m", "--reason", "a look")
    shell.until("waits for others to approve: http")
    decided("APPROVED")
    shell.until("$ ")
    assert not shell.is_as_before()
    shell.type("exit 3\r")
    assert shell.ended() == 3 and shell.is_as_before()


def test_over_tls(tmp_path):
    """TLS may hold what no poll tells of; and a gateway that stops says so."""
    certificate, key = make_certificate(tmp_path, "cli")[:2]
    gateway = Gateway(tmp_path / "gateway", "--tls-cert", certificate, "--tls-key", key)
    admin = register(gateway)
    name = Place(admin, admin.get("/userinfo").json["org_id"]).connection(*SHELL)
    shell = Screen(Person(tmp_path / "me", admin, ["--ca-file", certificate]), "connect", name)
    shell.until("$ ")
    shell.type("seq 1 30000; echo the' 'end\r")
    assert "\r\n29999\r\n30000\r\n" in shell.until("the end")
    shell.until("$ ")
    gateway.signal(signal.SIGTERM)
    assert shell.ended() == 1 and shell.is_as_before()
    assert b"stopping" in shell.shown, shell.shown
    shell.close()
    assert gateway.stop() == 0, gateway.text()
