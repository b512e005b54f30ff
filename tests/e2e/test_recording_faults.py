# SPDX-License-Identifier: MIT
"""What may become of recordings under running sessions: one is cut, the disk fails or is full. A
session whose recording is hurt ends in words; nobody else's does, and the process lives."""
import os
import subprocess
import time

import pytest

from api import register
from conftest import BINARY, PATIENCE, wait_for
from disks import disk  # noqa: F401, a fixture
from native import credential, psql
from pgwire import Refused, Wire
from store import Store

NOISE = "SELECT string_agg(md5(random()::text), '') FROM generate_series(1, 100)"  # 3,200 bytes: one piece


def files(gateway):
    return {os.path.join(path, name) for path, _, names in
            os.walk(os.path.join(gateway.data, "recordings")) for name in names}


def verify(gateway, session_id):
    return subprocess.run([BINARY, "recording", "verify", session_id, "--data-dir", gateway.data],
                          capture_output=True, text=True, check=False, timeout=4 * PATIENCE)


def asks_until_refused(wire, seconds=PATIENCE):
    end = time.monotonic() + seconds
    with pytest.raises((Refused, EOFError)) as caught:
        while time.monotonic() < end:
            wire.ask(NOISE)
    return caught.value


def open_sessions(gateway, made, count):
    """[(client, the file of its recording)]"""
    opened = []
    for _ in range(count):
        before = files(gateway)
        wire = Wire(made)
        [path] = files(gateway) - before
        opened.append((wire, path))
    return opened


def busy_on_a_disk(start, target, folder, disk, mode, *of):  # noqa: F811
    """The disk of the recordings, the admin, a credential, and four clients that have asked."""
    small = disk(folder / "gateway" / "data" / "recordings", *of)
    admin = register(start("--recording", mode, folder=folder / "gateway"))
    made = credential(admin, target.connection(admin))
    wires = [Wire(made) for _ in range(4)]
    for wire in wires:
        wire.ask(NOISE)
    return small, admin, made, wires


@pytest.mark.parametrize("mode", ["standard", "strict"])
def test_a_recording_that_is_cut_ends_its_session_alone(start, target, mode):
    gateway = start("--recording", mode)
    admin = register(gateway)
    made = credential(admin, target.connection(admin))
    harms = [lambda path: os.truncate(path, 0), lambda path: os.truncate(path, 700), os.unlink,
             lambda path: None]
    opened = open_sessions(gateway, made, 2 * len(harms))
    for number, (wire, path) in enumerate(opened):
        for _ in range(1 + 40 * (number % 2)):  # little, and more than what is written at once
            wire.ask(NOISE)
        harms[number // 2](path)
    for number, (wire, path) in enumerate(opened[:-2]):
        refused = asks_until_refused(wire)
        assert isinstance(refused, Refused) and "58030" in str(refused), (number, refused)
    for wire, _ in opened[-2:]:
        wire.ask(NOISE)
        wire.conn.close()
    assert psql(made, "SELECT 1").stdout == "1\n" and gateway.is_alive()
    rows = wait_for(lambda: (found := Store(gateway).ask(
        "SELECT id, recording_error FROM session WHERE status = 'done'"))[len(opened):] and found,
        what="the ends")
    errors = dict(rows)
    for number, (_, path) in enumerate(opened):
        session_id = os.path.basename(path)[:-len(".ghr")]
        is_hurt = number < len(opened) - 2
        assert ("was cut or removed" in errors[session_id]) == is_hurt, (number, errors)
        assert (verify(gateway, session_id).returncode != 0) == is_hurt


@pytest.mark.parametrize("mode", ["standard", "strict"])
def test_a_disk_that_fails_ends_sessions_in_words(start, target, tmp_path, disk, mode):  # noqa: F811
    small, admin, made, wires = busy_on_a_disk(start, target, tmp_path, disk, mode, "32m", "ext4")
    gateway = admin.gateway
    small.fail()
    for wire in wires[:2]:
        assert "58030" in str(asks_until_refused(wire))
    done = psql(made, "SELECT 1", check=False)
    assert done.returncode == 2 and "the session cannot be recorded" in done.stderr, done.stderr
    for wire in wires[2:]:
        wire.conn.close()
    rows = wait_for(lambda: (found := Store(gateway).ask(
        "SELECT end_reason, recording_error FROM session WHERE status = 'done'"))[3:] and found,
        what="the ends")
    assert len(rows) == 4 and all("cannot be recorded" in error for _, error in rows), rows
    assert admin.get("/sessions").status == 200 and gateway.is_alive()


@pytest.mark.parametrize("mode", ["standard", "strict"])
def test_a_full_disk_that_copies_on_write(start, target, tmp_path, disk, mode):  # noqa: F811
    """What is written over takes new place there, too: none is kept by writing to it before."""
    small, admin, made, wires = busy_on_a_disk(start, target, tmp_path, disk, mode, "120m", "btrfs")
    gateway = admin.gateway
    small.fill()
    for wire in wires[:3]:
        assert "58030" in str(asks_until_refused(wire))
    assert gateway.is_alive() and admin.get("/sessions").status == 200
    small.empty()
    wait_for(lambda: psql(made, "SELECT 1", check=False).stdout == "1\n", what="new sessions")
    wires[3].conn.close()
