# SPDX-License-Identifier: MIT
"""Many sessions of MySQL that do nothing cost little memory each, clients that say nothing are sent
away, and packets that are huge or wrong end one session and take no memory of others'."""
import os
import resource
import selectors
import socket
import struct
import threading
import time

import pytest

from api import register
from conftest import IS_SANITIZED, PATIENCE, Gateway, wait_for
from mariadb import MysqlTarget, mysql_address
from native import credential
from plan import HAS_MANY
from test_mysql import Raw, fake_greeting, packet

WARM = 50
KIB_MAX = 32
DESCRIPTORS = 60000  # a session has three, and a quarter is kept from who has not signed in
OK = b"\0\0\0\2\0\0\0"


class ManyTargets(threading.Thread):
    """A server of MySQL that lets everybody in and answers whatever it is asked with OK."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.port = self.listening.getsockname()[1]
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listening, selectors.EVENT_READ)
        self.start()

    def run(self):
        signed_in = set()
        while True:
            for key, _ in self.selector.select():
                conn = key.fileobj
                if conn is self.listening:
                    conn = conn.accept()[0]
                    conn.sendall(fake_greeting())
                    self.selector.register(conn, selectors.EVENT_READ)
                    continue
                try:
                    said = conn.recv(65536)
                    if said:
                        conn.sendall(packet(1 if conn in signed_in else 2, OK))
                        signed_in.add(conn)
                except OSError:
                    said = b""
                if not said:
                    self.selector.unregister(conn)
                    signed_in.discard(conn)
                    conn.close()


class Server:
    """As MysqlTarget wants one."""

    def __init__(self):
        self.port = ManyTargets().port

    def sql(self, _text):
        return ""


@pytest.fixture(scope="module")
def limits():
    """As many descriptors as 10,000 sessions need, where they may be had; how many sessions fit into
    what there is."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(DESCRIPTORS, before[0]), max(DESCRIPTORS, before[1])))
    except (ValueError, PermissionError):
        pass
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    yield min(10000, most // 5) if HAS_MANY else 1000
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[0], resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


@pytest.fixture(scope="module")
def boss(limits, tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("gateway"), "--workers", 1)
    yield register(gateway)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module")
def made(boss):
    return credential(boss, MysqlTarget(Server()).connection(boss))


def descriptors(boss):
    return len(os.listdir(f"/proc/{boss.gateway.process.pid}/fd"))


@pytest.mark.skipif(IS_SANITIZED, reason="their memory is the sanitizer's")
def test_an_idle_session_is_small(boss, made, limits):
    raws = [Raw(made) for _ in range(WARM)]
    try:
        before = boss.gateway.resident_kib()
        start = time.monotonic()
        raws += [Raw(made) for _ in range(limits)]
        opened = time.monotonic() - start
        for raw in raws:
            assert raw.first[0] == 0, raw.first
            assert raw.ask(b"\x0e")[0][0] == 0  # COM_PING
        each = (boss.gateway.resident_kib() - before) / limits
        print(f"{limits} sessions, {opened:.0f} s to open: {each:.1f} KiB each")
        assert each < KIB_MAX
    finally:
        for raw in raws:
            raw.sock.close()
    wait_for(lambda: descriptors(boss) < WARM, seconds=8 * PATIENCE, what="the end of all of them")


def ends(sock, seconds=PATIENCE):
    sock.settimeout(seconds)
    try:
        while sock.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return True


def test_huge_and_wrong_packets_take_no_memory(boss, made):
    given = mysql_address(made)
    before = boss.gateway.resident_kib()
    huge = b"\xff\xff\xff\1" + bytes(1 << 20)  # one that would be 16 MiB, before anybody is known
    for said in (huge, packet(1, os.urandom(90000)), struct.pack("<I", 0xffffff) * 1000):
        with socket.create_connection((given["host"], given["port"]), timeout=PATIENCE) as conn:
            try:
                conn.sendall(said)
            except OSError:
                pass
            assert ends(conn)
    raws = [Raw(made) for _ in range(20)]
    for raw in raws:  # the beginning of a statement of 16 MiB, whose end never comes
        raw.sock.sendall(b"\xff\xff\xff\0\x03SELECT '" + b"x" * 300000)
    time.sleep(1)
    assert boss.gateway.resident_kib() - before < 20 * 1024
    for raw in raws:
        raw.sock.close()
    again = Raw(made)
    assert again.ask(b"\x0e")[0][0] == 0
    again.sock.close()


@pytest.mark.skipif(not HAS_MANY, reason="it waits for half a minute")
def test_silent_clients_are_sent_away(boss, made):
    """Each after the same time, which is the gateway's; meanwhile others come in."""
    given = mysql_address(made)
    silent = [socket.create_connection((given["host"], given["port"])) for _ in range(50)]
    slow = socket.create_connection((given["host"], given["port"]))
    slow.sendall(b"\x20\0\0\1\x8d")
    assert Raw(made).first[0] == 0
    start = time.monotonic()
    for conn in [*silent, slow]:
        assert ends(conn, 90)
        conn.close()
    assert time.monotonic() - start < 90
