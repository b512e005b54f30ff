# SPDX-License-Identifier: MIT
"""Strangers who connect and say nothing take nothing from those who are in, nor from other
addresses."""
import contextlib
import os
import resource
import select
import selectors
import socket
import struct
import threading
import time

import pytest

from api import register
from conftest import IS_SANITIZED, PATIENCE, wait_for
from native import address, credential
from pgwire import Refused, Wire, message, text
from plan import HAS_MANY
from store import Store

LIMIT = 256
# A session has three, and a quarter is kept from who has not signed in.
CROWD = min(5000, resource.getrlimit(resource.RLIMIT_NOFILE)[1] // 5) if HAS_MANY else 300
STRANGERS = 2000 if HAS_MANY else 120
READY = message(b"R", bytes(4)) + message(b"K", bytes(8)) + message(b"Z", b"I")
ONE_ROW = (message(b"T", b"\0\1" + text("a") + struct.pack("!IHIhiH", 0, 0, 25, -1, -1, 0))
           + message(b"D", struct.pack("!Hi", 1, 1) + b"1") + message(b"C", text("SELECT 1"))
           + message(b"Z", b"I"))
ANSWER = 3200
ASKED = f"SELECT repeat('x', {ANSWER})"
PAUSE = "cannot accept connections for a moment"


@contextlib.contextmanager
def silence(port, count, sources=("127.0.0.1",)):
    """As many connections as the system lets in, from these addresses in turn."""
    conns = []
    try:
        for number in range(count):
            conn = socket.socket()
            conns.append(conn)
            conn.bind((sources[number % len(sources)], 0))
            conn.setblocking(False)
            conn.connect_ex(("127.0.0.1", port))
        yield conns
    finally:
        for conn in conns:
            conn.close()


def held(conns):
    """How many the gateway keeps open: those that it closed can be read to their end."""
    poll = select.poll()
    for conn in conns:
        poll.register(conn, select.POLLIN | select.POLLHUP)
    return len(conns) - len(poll.poll(0))


class Busy(threading.Thread):
    """A session that asks without a pause."""

    def __init__(self, made):
        super().__init__()
        self.wire, self.count, self.problem, self.is_over = Wire(made), 0, None, False
        self.start()

    def run(self):
        try:
            while not self.is_over:
                assert len(self.wire.ask(ASKED)[0][0]) == ANSWER
                self.count += 1
        except Exception as problem:  # noqa: BLE001, whatever it is
            self.problem = problem

    def end(self):
        self.is_over = True
        self.join()
        self.wire.conn.close()


@pytest.fixture
def scarce(start, target):
    """A gateway with few descriptors, and a credential."""
    gateway = start()
    admin = register(gateway)
    made = credential(admin, target.connection(admin))
    resource.prlimit(gateway.process.pid, resource.RLIMIT_NOFILE, (LIMIT, LIMIT))
    return gateway, admin, made


CROWDS = {
    "one address": (700, ["127.0.0.1"]),
    "many addresses": (700, [f"127.0.1.{number}" for number in range(1, 101)]),
}


@pytest.mark.parametrize("where", ["native", "http"])
@pytest.mark.parametrize("crowd", CROWDS)
def test_silent_strangers_end_no_session(scarce, crowd, where):
    gateway, admin, made = scarce
    count, sources = CROWDS[crowd]
    port = int(address(made)["port"]) if where == "native" else gateway.port
    sessions = [Busy(made) for _ in range(8)]
    with silence(port, count, sources):
        time.sleep(2)
        before = [session.count for session in sessions]
        time.sleep(2)
        for session, earlier in zip(sessions, before):
            assert session.problem is None and session.count > earlier, session.problem
        files = len(os.listdir(f"/proc/{gateway.process.pid}/fd"))
        assert files < LIMIT - 40, files
    for session in sessions:
        session.end()
        assert session.problem is None, session.problem
    assert gateway.text().count(PAUSE) <= 1
    with Wire(made) as wire:  # as soon as there are some again
        assert wire.ask("SELECT 1") == [("1",)]
    rows = wait_for(lambda: (found := Store(gateway).ask(
        "SELECT end_reason, recording_error FROM session WHERE status = 'done'"))[8:] and found,
        what="the ends")
    assert all(error == "" for _, error in rows), rows


def test_sessions_that_fill_the_rest_end_none(scarce):
    """Who signs in when there is no place any more is told; who is in goes on."""
    _, _, made = scarce
    sessions, opened, refused = [Busy(made) for _ in range(4)], [], None
    while refused is None:
        try:
            opened.append(Wire(made))
        except (Refused, OSError, EOFError) as problem:
            refused = problem
    assert 30 < len(opened) < LIMIT // 3, len(opened)
    for wire in opened:
        assert wire.ask("SELECT 1") == [("1",)]
    for wire in opened:
        wire.conn.close()
    for session in sessions:
        session.end()
        assert session.problem is None, session.problem


def test_one_address_shuts_no_other_out(start, target):
    gateway = start("--newcomers-per-address", 20)
    admin = register(gateway)
    made = credential(admin, target.connection(admin))
    port = int(address(made)["port"])
    with silence(port, 60, ["127.0.0.2"]) as first, silence(port, 15, ["127.0.0.3"]) as second:
        wait_for(lambda: held(first) == 20, what="the rest's end")
        assert held(second) == 15
        for source in "127.0.0.3", "127.0.0.4":
            with Wire(made, source=source) as wire:
                assert wire.ask("SELECT 1") == [("1",)]

        def gets_in():
            """From the address itself: who has been silent for a while makes room."""
            try:
                with Wire(made, source="127.0.0.2") as wire:
                    return wire.ask("SELECT 1") == [("1",)]
            except (OSError, EOFError, Refused):
                return False
        wait_for(gets_in, what="another from there")
        assert held(second) == 15
    assert gateway.text().count("too many connections of one address have not signed in") == 1


def test_sessions_that_signed_in_count_for_nothing(start, target):
    gateway = start("--newcomers-per-address", 5)
    admin = register(gateway)
    made = credential(admin, target.connection(admin))
    wires = [Wire(made) for _ in range(12)]
    for wire in wires:
        assert wire.ask("SELECT 1") == [("1",)]
        wire.conn.close()
    assert "have not signed in" not in gateway.text()


def test_five_thousand_from_one_address(start, target):
    gateway = start()
    admin = register(gateway)
    made = credential(admin, target.connection(admin))
    port = int(address(made)["port"])
    with silence(port, 5000, ["127.0.0.2"]) as conns:
        began = time.monotonic()
        with Wire(made, source="127.0.0.3") as wire:
            assert wire.ask("SELECT 1") == [("1",)]
        assert time.monotonic() - began < PATIENCE / 3
        wait_for(lambda: held(conns) <= 500, what="the rest's end")


# HTTP ---------------------------------------------------------------------------------------------

TOLD = "too many connections of one address on which nobody is known"
ASK = b"GET /api/publicserverinfo HTTP/1.1\r\nHost: localhost\r\n\r\n"


def web(gateway, source, request=ASK):
    """A connection from that address on which the request was answered, and the answer."""
    conn = socket.socket()
    conn.bind((source, 0))
    conn.settimeout(PATIENCE)
    conn.connect(("127.0.0.1", gateway.port))
    conn.sendall(request)
    return conn, conn.recv(65536)


def asked_as(token):
    return (f"GET /api/userinfo HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {token}\r\n\r\n").encode()


def test_one_address_shuts_no_other_out_of_http(start):
    gateway = start("--newcomers-per-address", 20)
    with silence(gateway.port, 60, ["127.0.0.2"]) as first, \
            silence(gateway.port, 15, ["127.0.0.3"]) as second:
        wait_for(lambda: held(first) == 20, what="the rest's end")
        assert held(second) == 15
        for source in "127.0.0.3", "127.0.0.4":
            conn, answer = web(gateway, source)
            assert answer.startswith(b"HTTP/1.1 200 "), answer
            conn.close()

        def gets_in():
            """From the address itself: who has been silent for a while makes room."""
            try:
                conn, answer = web(gateway, "127.0.0.2")
                conn.close()
                return answer.startswith(b"HTTP/1.1 200 ")
            except OSError:
                return False
        wait_for(gets_in, what="another from there")
        assert held(second) == 15
    assert gateway.text().count(TOLD) == 1


def test_who_is_known_on_a_connection_counts_for_nothing(start):
    """Nor does a wrong token make known, nor an answer that anybody gets; and what is asked over
    and over goes on while others of the address come."""
    gateway = start("--newcomers-per-address", 5)
    admin = register(gateway)
    kept = []
    for _ in range(12):
        conn, answer = web(gateway, "127.0.0.1", asked_as(admin.token))
        assert answer.startswith(b"HTTP/1.1 200 "), answer
        kept.append(conn)
    assert TOLD not in gateway.text()
    for request in ASK, asked_as("wrong"):
        strangers = []
        for _ in range(5):
            conn, answer = web(gateway, "127.0.0.2", request)
            assert answer.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 401 ")), answer
            strangers.append(conn)
        wait_for(lambda: web(gateway, "127.0.0.3")[1], what="an answer")
        # Both workers may have some of them; a worker that has none has none to send away.
        wait_for(lambda: can_ask(gateway, "127.0.0.2"), what="the place of the longest silent")
        assert held(strangers) == 4
        for conn in strangers:
            conn.close()
    for conn in kept:
        conn.sendall(asked_as(admin.token))
        assert conn.recv(65536).startswith(b"HTTP/1.1 200 ")
        conn.close()


def can_ask(gateway, source):
    try:
        conn, answer = web(gateway, source)
        conn.close()
        return answer.startswith(b"HTTP/1.1 200 ")
    except OSError:
        return False


def test_connections_of_a_trusted_proxy_are_of_many(start):
    gateway = start("--newcomers-per-address", 5, "--trusted-proxies", "127.0.0.2")
    conns = [web(gateway, "127.0.0.2") for _ in range(20)]
    assert all(answer.startswith(b"HTTP/1.1 200 ") for _, answer in conns)
    for conn, _ in conns:
        conn.close()
    assert TOLD not in gateway.text()


def test_five_thousand_from_one_address_over_http(start):
    gateway = start()
    admin = register(gateway)
    with silence(gateway.port, 5000, ["127.0.0.2"]) as conns:
        began = time.monotonic()
        conn, answer = web(gateway, "127.0.0.3")
        assert answer.startswith(b"HTTP/1.1 200 ") and time.monotonic() - began < PATIENCE / 3
        conn.close()
        assert admin.get("/userinfo").status == 200
        wait_for(lambda: held(conns) <= 500, what="the rest's end")


class ManyBackends(threading.Thread):
    """A server that holds thousands of sessions: it lets everybody in, and each query has one row."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1000)
        self.port, self.selector = self.listener.getsockname()[1], selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ, self.accept)
        self.start()

    def run(self):
        while True:
            for key, _ in self.selector.select():
                key.data(key.fileobj)

    def accept(self, listener):
        self.selector.register(listener.accept()[0], selectors.EVENT_READ, self.answer)

    def answer(self, conn):
        try:
            said = conn.recv(65536)
            if said == struct.pack("!II", 8, 80877103):
                conn.sendall(b"N")
            elif said and said[:1] != b"X":
                conn.sendall(ONE_ROW if said[:1] == b"Q" else READY)
        except OSError:
            said = b""
        if not said or said[:1] == b"X":
            self.selector.unregister(conn)
            conn.close()


def test_thousands_of_idle_sessions_and_strangers_beside_them(start, target):
    """Each idle session still answers, and who comes gets in, while strangers fill what is left."""
    many = ManyBackends()
    gateway = start("--newcomers-per-address", STRANGERS)
    admin = register(gateway)
    made = credential(admin, target.connection(admin, target.secret(PORT=str(many.port))))
    before, wires = gateway.resident_kib(), []
    try:
        for _ in range(CROWD):
            wires.append(Wire(made))
        each = (gateway.resident_kib() - before) / CROWD
        files = len(os.listdir(f"/proc/{gateway.process.pid}/fd"))
        print(f"{each:.1f} KiB for each of {CROWD} sessions, {files} descriptors")
        assert IS_SANITIZED or not HAS_MANY or each < 32
        with silence(int(address(made)["port"]), STRANGERS, ["127.0.0.2", "127.0.0.3"]):
            with Wire(made) as new:
                assert new.ask("SELECT 1") == [("1",)]
            for wire in wires:
                assert wire.ask("SELECT 1") == [("1",)]
    finally:
        for wire in wires:
            wire.conn.close()
