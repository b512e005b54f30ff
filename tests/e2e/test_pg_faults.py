# SPDX-License-Identifier: MIT
"""What goes wrong, and what each side is told: targets that stop, vanish or talk nonsense, networks
that are cut, clients that are slow, silent or gone, and sockets that misbehave."""
import itertools
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from api import register
from conftest import IS_SANITIZED, PATIENCE, Gateway, PostgresServer, wait_for
from native import Target, address, credential, psql, revoke, sql
from plan import HAS_MANY
from pgwire import Refused, Wire, message, rows_of, startup, text
from store import Store
from test_pg_recording import at
from test_pg_sessions import peak_kib

RESTARTS = 20 if HAS_MANY else 1
STOPS = 20 if HAS_MANY else 1
AT_ONCE = 5 if IS_SANITIZED else 1.5


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("quick"), "--workers", 2)
    yield register(gateway)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module")
def made(quick, target):
    return credential(quick, target.connection(quick))


@pytest.fixture
def other_server(tmp_path_factory):
    folder = tempfile.mkdtemp(prefix="gatehouse-postgres-")
    server = PostgresServer(folder)
    yield server
    server.process.send_signal(signal.SIGCONT)
    if server.process.poll() is None:
        server.stop()
    shutil.rmtree(folder)


@pytest.fixture
def elsewhere(quick, other_server):
    """A credential for a server that a test may harm."""
    return credential(quick, Target(other_server).connection(quick))


def last_reason(admin, made):
    def read():
        rows = Store(admin.gateway).ask(
            "SELECT status, end_reason FROM session WHERE connection_name = ? "
            "ORDER BY started_at DESC, id DESC LIMIT 1", made["connection_name"])
        return rows != [] and rows[0][0] == "done" and rows[0][1]
    return wait_for(read, what="the end of the session")


# Targets


def test_a_target_that_is_stopped_says_so_itself(quick, made, elsewhere, other_server):
    with Wire(made) as stays:
        for _ in range(RESTARTS):
            with Wire(elsewhere) as idle, Wire(elsewhere) as busy:
                busy.send(message(b"Q", text("SELECT 1, pg_sleep(60)")))
                time.sleep(0.2)
                other_server.process.send_signal(signal.SIGINT)
                for wire in idle, busy:
                    fatal = wire.fatal()
                    assert (fatal["S"], fatal["C"]) == ("FATAL", "57P01"), fatal
                    assert "administrator command" in fatal["M"]
                assert stays.ask("SELECT 1") == [("1",)]
            other_server.process.wait(PATIENCE)
            assert last_reason(quick, elsewhere) == "the target ended it"
            done = psql(elsewhere, "SELECT 1", check=False)
            assert done.returncode == 2 and "FATAL:  the target cannot be reached" in done.stderr
            other_server.start()
            assert psql(elsewhere, "SELECT 1").stdout == "1\n"


def test_a_target_that_is_killed_is_lost_in_words(quick, made, elsewhere):
    with Wire(elsewhere) as wire, Wire(made) as stays:
        [(pid,)] = wire.ask("SELECT pg_backend_pid()")
        wire.send(message(b"Q", text("SELECT pg_sleep(60)")))
        time.sleep(0.2)
        os.kill(int(pid), signal.SIGKILL)
        fatal = wire.fatal()
        assert (fatal["S"], fatal["C"]) == ("FATAL", "08006"), fatal
        assert fatal["M"] == "the connection to the target was lost"
        assert stays.ask("SELECT 1") == [("1",)]
    assert last_reason(quick, elsewhere) == "the connection to the target was lost"
    wait_for(lambda: psql(elsewhere, "SELECT 1", check=False).stdout == "1\n", what="its recovery")


def test_a_target_that_stands_still_disturbs_nobody_else(made, elsewhere, other_server):
    with Wire(elsewhere) as wire:
        [(pid,)] = wire.ask("SELECT pg_backend_pid()")
        os.kill(int(pid), signal.SIGSTOP)
        other_server.process.send_signal(signal.SIGSTOP)
        try:
            wire.send(message(b"Q", text("SELECT 'still here'")))
            with Wire(elsewhere, is_begun=False) as waiting:
                waiting.send(startup(waiting.user))
                waiting.expect()
                waiting.prove()
                for _ in range(20):
                    began = time.monotonic()
                    with Wire(made) as other:
                        assert other.ask("SELECT 1") == [("1",)]
                    assert time.monotonic() - began < AT_ONCE
        finally:
            other_server.process.send_signal(signal.SIGCONT)
            os.kill(int(pid), signal.SIGCONT)
        assert rows_of(wire.until_ready()) == [("still here",)]


class FakeTarget(threading.Thread):
    """Accepts one connection, reads the startup packet, and says what it was told to."""

    def __init__(self, *said, pause=0):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port, self.said, self.pause = self.listener.getsockname()[1], said, pause
        self.start()

    def run(self):
        conn, _ = self.listener.accept()
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if conn.recv(8) == struct.pack("!II", 8, 80877103):
            conn.sendall(b"N")
        conn.recv(10000)
        for part in self.said:
            conn.sendall(part)
            time.sleep(self.pause)
        try:
            while conn.recv(10000):
                pass
        except OSError:
            pass
        conn.close()


READY = message(b"R", b"\0\0\0\0") + message(b"K", b"\0\0\0\1keys") + message(b"Z", b"I")


def error_body(words, severity=b"FATAL", state=b"57P01"):
    return b"S" + severity + b"\0V" + severity + b"\0C" + state + b"\0M" + words + b"\0\0"


NONSENSE = {
    "http": (b"HTTP/1.1 400 Bad Request\r\n\r\n", "08"),
    "text that is none": (message(b"E", error_body(b"\xff\xfe\x01" + 20000 * b"\xc3")), "57P01"),
    "too much": (message(b"R", b"\0\0\0\0") + 3000 * message(b"S", text("a" * 40, "b")), "08"),
    "too long": (b"E\x7f\xff\xff\xff", "08"),
    "too short": (b"R\0\0\0\4", "08"),
}


@pytest.mark.parametrize("what", NONSENSE)
def test_targets_that_talk_nonsense(quick, target, what):
    said, expected = NONSENSE[what]
    fake = FakeTarget(said, pause=0.1)
    name = target.connection(quick, target.secret(PORT=str(fake.port)))
    made = credential(quick, name)
    with Wire(made, is_begun=False) as wire:
        try:
            wire.begin()
        except Refused as error:
            assert error.fields["C"].startswith(expected), error
        else:
            raise AssertionError("it got in")
    assert len(last_reason(quick, made)) <= 500
    assert quick.get(f"/sessions?connection={name}").status == 200


BREAKS = {
    "in pieces": ([bytes([byte]) for byte in message(b"E", error_body(b"it goes"))], "57P01"),
    "no message": ([b"~\0\0\0\4"], "08P01"),
    "half a message": ([b"D\0\0\0"], None),
    "half a message that may come": ([b"N\0\0\0"], None),
    "an answer that nobody asked for": ([message(b"C", b"nobody\0")], "08P01"),
}


@pytest.mark.parametrize("what", BREAKS)
def test_targets_that_break_off(quick, target, what):
    said, is_told = BREAKS[what]
    fake = FakeTarget(READY, *said, pause=0.01)
    made = credential(quick, target.connection(quick, target.secret(PORT=str(fake.port))))
    with Wire(made, is_begun=False) as wire:
        wire.begin()
        time.sleep(0.5)
        wire.conn.shutdown(socket.SHUT_WR)  # at which the fake one closes, if it is still there
        found = b""
        while part := wire.conn.recv(1000):
            found += part
        if is_told is None:
            assert found in (said[0], b""), found  # no words can stand there
        else:
            assert found.count(b"\0VFATAL\0C" + is_told.encode()) == 1, found
            assert found.count(b"FATAL") == 2, found
    assert last_reason(quick, made) != ""
    fake.join(PATIENCE)


# Clients


@pytest.mark.parametrize("sent", [b"~\0\0\0\4", b"Q\xff\xff\xff\xff", b"Q\0\0\0\3", b"p\0\0\0\5x",
                                  b"\x16\x03\x01\x02\0"])
def test_clients_that_talk_nonsense(made, sent):
    with Wire(made) as stays, Wire(made) as wire:
        wire.send(sent)
        fatal = wire.fatal()
        assert (fatal["S"], fatal["C"]) == ("FATAL", "08P01"), fatal
        assert stays.ask("SELECT 1") == [("1",)]


def test_half_a_message_and_silence(made):
    query = message(b"Q", text("SELECT 'whole'"))
    with Wire(made) as half, Wire(made, is_begun=False) as half_startup:
        half.send(query[:9])
        half_startup.send(startup("x")[:7])
        for _ in range(10):
            with Wire(made) as other:
                assert other.ask("SELECT 1") == [("1",)]
        half.send(query[9:])
        assert rows_of(half.until_ready()) == [("whole",)]


def test_two_hundred_silent_clients_delay_nobody(made, quick):
    silent = []
    try:
        for number in range(200):
            wire = Wire(made, is_begun=False)
            wire.send([b"", b"\0\0", startup(wire.user), startup(wire.user)[:-3]][number % 4])
            silent.append(wire)
        for _ in range(20):
            began = time.monotonic()
            with Wire(made) as wire:
                assert wire.ask("SELECT 1") == [("1",)]
            assert time.monotonic() - began < AT_ONCE
    finally:
        for wire in silent:
            wire.conn.close()


def test_a_client_that_does_not_read_holds_up_only_itself(start, target):
    admin = register(start("--workers", 1))
    made = credential(admin, target.connection(admin))
    size = 50 * 10 ** 6
    with Wire(made, receive_buffer=4096) as slow, Wire(made) as fast:
        before = peak_kib(admin.gateway)
        slow.send(message(b"Q", text(f"SELECT repeat('s', {size}) UNION ALL SELECT 'end'")))
        began = time.monotonic()
        for number in range(300):
            assert fast.ask(f"SELECT {number}") == [(str(number),)]
        assert time.monotonic() - began < PATIENCE
        assert IS_SANITIZED or peak_kib(admin.gateway) - before < 8 * 1024
        assert [len(row[0]) for row in rows_of(slow.until_ready())] == [size, 3]


def test_one_that_does_not_read_is_thrown_out_all_the_same(quick, target):
    name = target.connection(quick)
    made = credential(quick, name)
    with Wire(made, receive_buffer=4096) as slow:
        slow.send(message(b"Q", text("SELECT repeat('s', 50000000)")))
        time.sleep(0.5)
        revoke(quick, made)
        wait_for(lambda: sql(target.server, "SELECT count(*) FROM pg_stat_activity WHERE query "
                                            "LIKE '%50000000)%' AND pid <> pg_backend_pid()")
                 == "0", seconds=AT_ONCE, what="the end at the target")
    assert "revoked" in last_reason(quick, made)


def test_clients_that_are_killed_leave_nothing_behind(quick, target):
    name = target.connection(quick)
    made = credential(quick, name)
    given = address(made)
    clients = [subprocess.Popen(
        ["psql", "-X", "-h", given["host"], "-p", given["port"], "-U", given["user"], "-c",
         "SELECT pg_sleep(1)", "-c", "SELECT pg_sleep(1)", given["dbname"]],
        env={**os.environ, "PGPASSWORD": given["password"]}, stdout=subprocess.DEVNULL)
        for _ in range(10)]
    time.sleep(1)
    for client in clients:
        client.kill()
        client.wait()
    wait_for(lambda: all(one["status"] == "done" for one in
                         quick.get(f"/sessions?connection={name}").json["data"]), what="the ends")
    assert sql(target.server, "SELECT count(*) FROM pg_stat_activity WHERE query LIKE "
                              "'%pg_sleep(1)%' AND pid <> pg_backend_pid()") == "0"


def test_a_gateway_that_stood_still_goes_on(start, target):
    admin = register(start())
    made = credential(admin, target.connection(admin))
    with Wire(made) as wire:
        for _ in range(STOPS):
            admin.gateway.signal(signal.SIGSTOP)
            wire.send(message(b"Q", text("SELECT 'later'")))
            time.sleep(1)
            admin.gateway.signal(signal.SIGCONT)
            assert rows_of(wire.until_ready()) == [("later",)]


def test_many_come_and_go(made):
    """All at once, some leaving at each step."""
    problems = []

    def visit(number):
        try:
            for turn in range(6):
                step = (number + turn) % 6
                wire = Wire(made, is_begun=False)
                if step > 0:
                    wire.send(startup(wire.user))
                if step > 1:
                    wire.expect()
                if step > 2:
                    wire.prove()
                if step > 3:
                    wire.until_ready()
                    assert wire.ask("SELECT 1") == [("1",)]
                if step > 4:
                    wire.send(message(b"Q", text("SELECT pg_sleep(0.01)")))
                wire.conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                     struct.pack("ii", number % 2, 0))
                wire.conn.close()
        except Exception as error:  # noqa: BLE001, whatever it is
            problems.append(repr(error))

    threads = [threading.Thread(target=visit, args=(number,)) for number in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems[:3]
    with Wire(made) as wire:
        assert wire.ask("SELECT 1") == [("1",)]


# A network that is cut

RELAY = """
import socket, sys, threading
listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
def carry(source, sink):
    try:
        while part := source.recv(65536):
            sink.sendall(part)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass
while True:
    conn, _ = listener.accept()
    server = socket.socket(socket.AF_UNIX)
    server.connect(sys.argv[3])
    for pair in (conn, server), (server, conn):
        threading.Thread(target=carry, args=pair, daemon=True).start()
"""


NUMBERS = itertools.count()


@pytest.fixture
def far_target(target, quick):
    """The same server, as if it were on a machine behind a link: (credential, cut(is_cut))."""
    name = f"gh{next(NUMBERS)}x{os.getpid()}"
    near, far = f"{name}a", f"{name}b"

    def ip(*arguments, inside=False):
        where = ["ip", "netns", "exec", name] if inside else []
        return subprocess.run([*where, "ip", *arguments], check=True, capture_output=True)
    try:
        ip("netns", "add", name)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no network namespaces here")
    relay = None
    try:
        ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", name)
        ip("addr", "add", "198.18.251.1/30", "dev", near)
        ip("link", "set", near, "up")
        ip("addr", "add", "198.18.251.2/30", "dev", far, inside=True)
        ip("link", "set", far, "up", inside=True)
        relay = subprocess.Popen(
            ["ip", "netns", "exec", name, sys.executable, "-c", RELAY, "198.18.251.2", "5432",
             f"{target.server.folder}/.s.PGSQL.{target.server.port}"])
        time.sleep(0.5)

        def cut(is_cut):
            ip("link", "set", far, "down" if is_cut else "up", inside=True)
        secret = target.secret(HOST="198.18.251.2", PORT="5432")
        yield credential(quick, target.connection(quick, secret)), cut
    finally:
        if relay is not None:
            relay.kill()
            relay.wait()
        ip("link", "del", near)
        ip("netns", "del", name)


def test_a_network_that_is_cut_for_a_while_costs_nothing(far_target, made):
    far, cut = far_target
    with Wire(far) as wire, Wire(made) as near:
        assert wire.ask("SELECT 1") == [("1",)]
        cut(True)
        wire.send(message(b"Q", text("SELECT 'got through'")))
        for _ in range(20):
            assert near.ask("SELECT 2") == [("2",)]
        time.sleep(1)
        cut(False)
        wire.conn.settimeout(4 * PATIENCE)
        assert rows_of(wire.until_ready()) == [("got through",)]


def test_whoever_is_locked_out_is_told_though_the_network_is_cut(quick, far_target):
    far, cut = far_target
    with Wire(far) as wire:
        wire.send(message(b"Q", text("SELECT pg_sleep(60)")))
        time.sleep(0.3)
        cut(True)
        began = time.monotonic()
        revoke(quick, far)
        fatal = wire.fatal()
        assert fatal["C"] == "57P01" and time.monotonic() - began < AT_ONCE, fatal
    assert "revoked" in last_reason(quick, far)
    cut(False)


def test_a_target_out_of_reach_is_given_up(quick, far_target, made):
    far, cut = far_target
    cut(True)
    began = time.monotonic()
    done = psql(far, "SELECT 1", check=False)
    assert done.returncode == 2 and "the target cannot be reached" in done.stderr, done.stderr
    assert time.monotonic() - began < 35
    assert psql(made, "SELECT 1").stdout == "1\n"


# Sockets that misbehave


@pytest.fixture(scope="module")
def prepared(tmp_path_factory, target):
    """A data folder with a credential in it."""
    folder = tmp_path_factory.mktemp("prepared")
    gateway = Gateway(folder)
    made = credential(admin := register(gateway), target.connection(admin))
    assert gateway.stop() == 0
    return folder, made


@pytest.mark.parametrize("fault", ["short", "again", "short,again", "short,again,seed:7"])
def test_short_reads_and_writes_change_nothing(start, prepared, fault):
    folder, made = prepared
    gateway = start("--fault", fault, folder=folder)
    here = at(gateway, made)
    script = "SELECT n, md5(n::text) FROM generate_series(1, 300) n;\n" \
             "\\copy (SELECT generate_series(1, 500)) TO STDOUT\nSELECT 1/1, repeat('x', 9999);\n"
    done = psql(here, script)
    lines = done.stdout.splitlines()
    assert len(lines) == 801 and lines[-1] == "1|" + 9999 * "x"
    with Wire(here) as wire, pytest.raises(Refused, match="57P01"):
        wire.ask("SELECT pg_terminate_backend(pg_backend_pid())")
    wait_for(lambda: Store(gateway).ask("SELECT end_reason FROM session WHERE status = 'done' "
                                        "ORDER BY started_at DESC, id DESC LIMIT 1")
             == [["the target ended it"]], what="the reason")


@pytest.mark.parametrize("first", range(1, 41, 10))
def test_the_nth_call_breaks(start, prepared, first):
    folder, made = prepared
    for number in range(first, first + 10):
        gateway = start("--fault", f"fail:{number}", folder=folder)
        here = at(gateway, made)
        outcomes = [psql(here, "SELECT 1;\nSELECT 2;\n", check=False) for _ in range(3)]
        for outcome in outcomes:
            assert outcome.stdout in ("", "1\n", "1\n2\n")
            assert outcome.returncode == 0 or outcome.stderr, outcome
        assert [outcome.stdout for outcome in outcomes].count("1\n2\n") >= 2, outcomes
        assert gateway.stop() == 0, gateway.text()
        assert Store(gateway).ask("SELECT count(*) FROM session WHERE status = 'open'") == [["0"]]
