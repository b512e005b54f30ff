# SPDX-License-Identifier: MIT
"""What a client has seen is on record: when the gateway is killed, when the disk is full, when all
has to be on the disk first."""
import os
import random
import re
import signal
import subprocess
import threading
import time

import pytest

from api import register
from conftest import BINARY, IS_SANITIZED, PATIENCE, receive_all, wait_for
from disks import disk  # noqa: F401, a fixture
from native import address, credential, psql
from pgwire import Refused, Wire, message, text
from store import Store

KILLS = 2 if IS_SANITIZED else 5


def at(gateway, made):
    """The credential, for the port that the gateway has since its last start."""
    port = wait_for(lambda: gateway.text().partition("postgres_port=")[2].split(" ")[0],
                    what="the port")
    return {**made, "connection_credentials": {**made["connection_credentials"], "port": port}}


def recording(gateway, *arguments):
    return subprocess.run([BINARY, "recording", *arguments, "--data-dir", gateway.data],
                          capture_output=True, text=True, check=False, timeout=4 * PATIENCE)


def seen_in(gateway, session_id):
    """The tokens of workers among the rows that were recorded."""
    done = recording(gateway, "export", session_id, "--format", "csv")
    assert done.returncode == 0, done.stderr
    return set(re.findall(r"^seen-[0-9-]+$", done.stdout, re.M))


class Worker(threading.Thread):
    """Asks and notes what it was answered, until the connection ends."""

    def __init__(self, made, number):
        super().__init__()
        self.wire, self.number, self.seen = Wire(made), number, []
        self.start()

    def run(self):
        for turn in range(10 ** 9):
            token = f"seen-{self.number}-{turn}"
            try:
                if turn % 3 == 0:
                    self.wire.send(message(b"P", text("", "SELECT $1::text") + b"\0\0"),
                                   message(b"B", text("", "") + b"\0\0\0\1" +
                                           len(token).to_bytes(4, "big") + token.encode() +
                                           b"\0\0"),
                                   message(b"E", text("") + b"\0\0\0\0"), message(b"S"))
                    self.wire.until_ready()
                else:
                    self.wire.ask(f"SELECT '{token}'")
            except (OSError, EOFError, Refused):
                return
            self.seen.append(token)


@pytest.mark.parametrize("mode", ["standard", "strict"])
def test_kill_9_loses_nothing_that_a_client_has_seen(start, target, tmp_path, mode):
    chance = random.Random(mode)
    gateway = start("--recording", mode, folder=tmp_path / "gateway")
    admin = register(gateway)
    made = credential(admin, target.connection(admin))
    for turn in range(KILLS):
        workers = [Worker(at(gateway, made), f"{turn}-{i}") for i in range(8)]
        wait_for(lambda: all(worker.seen for worker in workers), what="something that was seen")
        time.sleep(chance.uniform(0, 0.5))
        gateway.kill()
        for worker in workers:
            worker.join()
        gateway = start("--recording", mode, folder=tmp_path / "gateway")
        rows = Store(gateway).ask(
            "SELECT id, status, end_reason, recording_head, recording_error, recording_size "
            "FROM session ORDER BY started_at DESC, id DESC LIMIT 8")
        found = set()
        for session_id, status, reason, head, error, size in rows:
            assert (status, reason, error) == ("done", "the gateway stopped", "")
            done = recording(gateway, "verify", session_id)
            assert done.returncode == 0 and head in done.stdout, (done, head)
            assert int(size) > 0
            found |= seen_in(gateway, session_id)
        for worker in workers:
            assert found.issuperset(worker.seen)
    assert psql(at(gateway, made), "SELECT 1").stdout == "1\n"


@pytest.mark.parametrize("mode", ["standard", "strict"])
def test_pgbench_is_on_record(start, target, mode):
    gateway = start("--recording", mode)
    admin = register(gateway)
    name = target.connection(admin)
    given = address(credential(admin, name))
    done = subprocess.run(
        ["pgbench", "-n", "-M", "prepared", "-c", "4", "-t", "100", "-f", "/dev/stdin",
         "-h", given["host"], "-p", given["port"], "-U", given["user"], given["dbname"]],
        env={**os.environ, "PGPASSWORD": given["password"]}, timeout=8 * PATIENCE, check=False,
        input="SELECT 4711;\n", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wait_for(lambda: all(one["status"] == "done" for one in
                         admin.get(f"/sessions?connection={name}").json["data"]), what="the end")
    count = 0
    for one in admin.get(f"/sessions?connection={name}").json["data"]:
        assert recording(gateway, "verify", one["id"]).returncode == 0
        done = recording(gateway, "export", one["id"], "--format", "csv")
        count += done.stdout.splitlines().count("4711")
    assert count == 400


@pytest.mark.parametrize("mode", ["standard", "strict"])
def test_a_full_disk_ends_sessions_in_words_and_harms_nothing_else(start, target, tmp_path, disk,
                                                                   mode):
    small = disk(tmp_path / "gateway" / "data" / "recordings", "300k")
    gateway = start("--recording", mode, folder=tmp_path / "gateway")
    admin = register(gateway)
    name = target.connection(admin)
    made = credential(admin, name)
    fatals = []
    for turn in range(6):
        wire, last = Wire(made), None
        # Answers to many queries; rows that are a part of what is read at once, or many times that.
        size = [3000, 5000, 150000][turn % 3]
        noise = f"(SELECT string_agg(md5(random()::text), '') FROM generate_series(1, {size // 32}"
        wire.conn.settimeout(PATIENCE)
        try:
            while turn % 3 == 0:
                wire.ask(f"SELECT {noise}))")
            wire.send(message(b"Q", text(
                f"SELECT 'row' || {noise} + 0 * n)) FROM generate_series(1, 2000) n")))
            while True:
                kind, body = wire.read()
                assert kind in (b"T", b"D", b"E"), (kind, body[:50])
                assert kind != b"D" or body[6:9] == b"row"
                last = body.decode() if kind == b"E" else last
        except EOFError:
            pass  # amid a row there is no place for words
        except Refused as error:
            last = str(error)
        fatals.append(last)
        wire.conn.close()
        wait_for(lambda: Store(gateway).ask(
            "SELECT count(*) FROM session WHERE status = 'done'") == [[str(len(fatals))]],
            what="the end of the session")
        for path, _, names in os.walk(small.folder):
            for one in names:
                os.unlink(os.path.join(path, one))
        assert gateway.is_alive(), gateway.text()
    for last in fatals[0], fatals[3]:
        assert "58030" in last and "cannot be recorded" in last
    assert not any(last and "58030" not in last for last in fatals), fatals
    rows = Store(gateway).ask("SELECT end_reason, recording_error FROM session")
    assert len(rows) == 6
    assert all(reason == "the session cannot be recorded" and "disk is full" in error
               for reason, error in rows), rows
    small.fill()
    done = psql(made, "SELECT 1", check=False)
    assert done.returncode == 2 and "the session cannot be recorded" in done.stderr, done.stderr
    small.empty()
    assert psql(made, "SELECT 1").stdout == "1\n"


LARGE = "SELECT string_agg(md5(n::text), '') FROM generate_series(1, 500000) n"


@pytest.mark.parametrize("mode", ["standard", "strict"])
def test_a_full_disk_amid_a_message(start, target, tmp_path, disk, mode):
    """Of the server's: there is no place for words before its end, which cannot come, so the client
    is cut off. Of the client's: it is told. The record says why."""
    small = disk(tmp_path / "gateway" / "data" / "recordings", "3m")
    gateway = start("--recording", mode, folder=tmp_path / "gateway")
    admin = register(gateway)
    made = credential(admin, target.connection(admin, recording_row_limit=64 << 20))

    def check_record(count):
        rows = wait_for(lambda: Store(gateway).ask(
            "SELECT id, end_reason, recording_error FROM session WHERE status = 'done' ORDER BY "
            "started_at")[count - 1:], what="the end")
        session_id, reason, error = rows[0]
        assert reason == "the session cannot be recorded" and "disk is full" in error, rows
        done = recording(gateway, "verify", session_id)
        assert done.returncode == 0, done.stdout
        for path, _, names in os.walk(small.folder):
            for one in names:
                os.unlink(os.path.join(path, one))

    with Wire(made) as wire:
        wire.send(message(b"Q", text(LARGE)))
        while wire.receive(1) != b"D":
            wire.receive(int.from_bytes(wire.receive(4), "big") - 4)
        announced = int.from_bytes(wire.receive(4), "big") - 4
        passed = len(receive_all(wire.conn))
        assert announced == 16_000_006 and 1 << 20 < passed < announced - (1 << 20)
    check_record(1)
    libpq = psql(made, LARGE, check=False)
    assert libpq.returncode == 2 and not libpq.stdout
    assert "server closed the connection unexpectedly" in libpq.stderr, libpq.stderr
    check_record(2)
    with Wire(made) as wire:
        try:
            noise = "".join(random.choices("0123456789abcdef", k=16_000_000))
            wire.send(message(b"Q", text(f"SELECT length('{noise}')")))
        except OSError:
            pass  # it is not read to its end
        assert wire.fatal()["C"] == "58030"
    check_record(3)


def test_a_full_data_folder_is_survived(start, target, tmp_path, disk):
    small = disk(tmp_path / "gateway" / "data", "6m")
    gateway = start(folder=tmp_path / "gateway")
    admin = register(gateway)
    name = target.connection(admin)
    made = credential(admin, name)
    with Wire(made) as wire:
        wire.ask("SELECT 1")
        small.fill()
        with pytest.raises((Refused, EOFError)) as caught:
            for _ in range(10000):
                wire.ask("SELECT md5(random()::text)")
        assert "58030" in str(caught.value)
    done = psql(made, "SELECT 1", check=False)
    assert done.returncode == 2 and "FATAL" in done.stderr, done.stderr
    small.empty()
    wait_for(lambda: psql(made, "SELECT 1", check=False).stdout == "1\n", what="new sessions")
    wait_for(lambda: Store(gateway).ask("SELECT count(*) FROM session WHERE status = 'open'")
             == [["0"]], what="the ends of all")


def test_the_end_says_why(start, target):
    gateway = start()
    admin = register(gateway)
    name = target.connection(admin)
    made = credential(admin, name)

    def reason():
        found = Store(gateway).ask("SELECT status, end_reason FROM session ORDER BY started_at "
                                   "DESC, id DESC LIMIT 1")
        return found[0][1] if found[0][0] == "done" else None

    def ends(expected):
        assert wait_for(reason, what=expected) == expected
    psql(made, "SELECT 1")
    ends("the client left")
    with Wire(made) as wire:
        wire.ask("SELECT 1")
    ends("the client hung up")
    with Wire(made) as wire:
        wire.conn.setsockopt(1, 13, bytes([1, 0, 0, 0, 0, 0, 0, 0]))  # SO_LINGER: a reset
    ends("the client's connection broke")
    with Wire(made) as wire, pytest.raises(Refused, match="57P01"):
        wire.ask("SELECT pg_terminate_backend(pg_backend_pid())")
    ends("the target ended it")
    with Wire(made) as wire:
        wire.send(b"~\0\0\0\4")
        assert wire.fatal()["C"] == "08P01"
    ends("the session breaks the protocol")


def test_a_recording_that_is_gone_does_not_stop_the_next_start(start, target, tmp_path):
    gateway = start(folder=tmp_path / "gateway")
    admin = register(gateway)
    made = credential(admin, target.connection(admin))
    wires = [Wire(made) for _ in range(3)]
    gateway.process.send_signal(signal.SIGKILL)
    gateway.process.wait()
    files = sorted(os.path.join(path, name) for path, _, names in
                   os.walk(os.path.join(gateway.data, "recordings")) for name in names)
    os.unlink(files[0])
    with open(files[1], "r+b") as damaged:
        damaged.write(b"nonsense")
    gateway = start(folder=tmp_path / "gateway")
    assert psql(at(gateway, made), "SELECT 1").stdout == "1\n"
    rows = Store(gateway).ask("SELECT status, recording_error FROM session WHERE end_reason = "
                              "'the gateway stopped'")
    assert sorted(error == "" for _, error in rows) == [False, True], rows
    for wire in wires:
        wire.conn.close()
