# SPDX-License-Identifier: MIT
"""Strangers who connect and say nothing take nothing from those who are in, nor from other
addresses."""
import contextlib
import os
import resource
import select
import socket
import threading
import time

import pytest

from api import register
from conftest import PATIENCE, wait_for
from native import address, credential
from pgwire import Refused, Wire
from store import Store

LIMIT = 256
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
