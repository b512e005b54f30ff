# SPDX-License-Identifier: MIT
"""Recordings that a kill or a full disk left open are closed, and their sessions are listed: the
store, the API and 'gatehouse recording verify' say the same of each."""
import os
import random
import subprocess
import threading
import time

import pytest

from api import register
from conftest import BINARY, IS_SANITIZED, PATIENCE, wait_for
from disks import disk  # noqa: F401, a fixture
from native import credential, psql
from pgwire import Refused, Wire
from plan import HAS_MANY
from store import Store
from test_pg_recording import at

KILLS = 200 if HAS_MANY else 3 if IS_SANITIZED else 20
FULL_DISKS = 5 if HAS_MANY else 1
DAYS = 7
NOISE = "SELECT string_agg(md5(random()::text), '') FROM generate_series(1, 100)"


def recordings(gateway):
    """id → the path of its file"""
    return {name[:-len(".ghr")]: os.path.join(path, name) for path, _, names in
            os.walk(os.path.join(gateway.data, "recordings")) for name in names
            if name.endswith(".ghr")}


def is_closed(path):
    """False for what is gone, too: a recording that holds nothing is removed while we look."""
    try:
        with open(path, "rb") as file:
            return file.read()[-8:] == b"ghrecend"
    except FileNotFoundError:
        return False


def verified(gateway, ids):
    """id → what 'recording verify' says of it: one line each."""
    done = subprocess.run([BINARY, "recording", "verify", *ids, "--data-dir", gateway.data],
                          capture_output=True, text=True, check=False, timeout=8 * PATIENCE)
    return {line.partition(":")[0]: line.partition(": ")[2] for line in done.stdout.splitlines()}


def status_of(admin, session_id):
    answer = admin.get(f"/sessions/{session_id}/verify")
    assert answer.status == 200, answer
    return answer.json["recording_status"]


class Opener(threading.Thread):
    """Opens sessions, one after the other, until the gateway is gone."""

    def __init__(self, made):
        super().__init__()
        self.made = made
        self.start()

    def run(self):
        try:
            while True:
                with Wire(self.made) as wire:
                    wire.ask("SELECT 1")
        except (OSError, EOFError, Refused):
            pass


@pytest.mark.parametrize("mode", ["standard", "strict"])
def test_kill_9_while_sessions_open_leaves_none_unlisted(start, target, tmp_path, store_url, mode):
    chance, restored = random.Random(mode), 0
    arguments = ["--recording", mode, "--database-url", store_url]
    gateway = start(*arguments, folder=tmp_path / "gateway")
    admin = register(gateway)
    made = credential(admin, target.connection(admin, recording_days=DAYS))
    for _ in range(KILLS // 2):
        openers = [Opener(at(gateway, made)) for _ in range(6)]
        time.sleep(chance.uniform(0.05, 0.3))
        gateway.kill()
        for opener in openers:
            opener.join()
        before = {row[0] for row in Store(gateway).ask("SELECT id FROM session")}
        restored += len(set(recordings(gateway)) - before)
        gateway = start(*arguments, folder=tmp_path / "gateway")
        wait_for(lambda: all(map(is_closed, recordings(gateway).values())), what="their ends")
        rows = {row[0]: row[1:] for row in Store(gateway).ask(
            "SELECT id, status, recording_head, recording_error, recording_days FROM session")}
        files = recordings(gateway)
        assert set(files) == set(rows)
    said = verified(gateway, list(files))
    for session_id, (status, head, error, days) in rows.items():
        assert (status, error, int(days)) == ("done", "", DAYS)
        assert said[session_id].startswith("ok;") and head in said[session_id], said[session_id]
    assert restored > 0 or KILLS < 200, "no kill met a session that was being opened"
    admin.gateway = gateway
    for session_id in sorted(files)[-20:]:
        assert status_of(admin, session_id) == "whole"


def agree(gateway, admin, ids, is_whole):
    said = verified(gateway, ids) if ids else {}
    for session_id in ids:
        assert said[session_id].startswith("ok;") == is_whole, said[session_id]
        assert status_of(admin, session_id) == ("whole" if is_whole else "damaged")


def fill_page(gateway, wire, path):
    """Asks until the record that closes does not fit into what is left of the file's last page."""
    for number in range(2000):
        wire.ask(f"SELECT repeat('x', {number % 40 + 1})")
        if os.path.getsize(path) % 4096 > 4096 - 60:
            return
    raise AssertionError("the size never fitted")


@pytest.mark.parametrize("mode", ["standard", "strict"])
@pytest.mark.parametrize("is_restarted", [False, True] * FULL_DISKS)
def test_after_a_full_disk_all_say_the_same(start, target, tmp_path, disk, store_url,  # noqa: F811
                                            mode, is_restarted):
    small = disk(tmp_path / "gateway" / "data" / "recordings", "2m")
    arguments = ["--recording", mode, "--database-url", store_url]
    gateway = start(*arguments, folder=tmp_path / "gateway")
    admin = register(gateway)
    made = credential(admin, target.connection(admin))
    wires = []
    for _ in range(4):
        before = set(recordings(gateway))
        wires.append(Wire(made))
        [session_id] = set(recordings(gateway)) - before
        if mode == "standard":  # what is filled ahead is given back at the end, and has room
            fill_page(gateway, wires[-1], recordings(gateway)[session_id])
    small.fill()
    for wire in wires:
        with wire, pytest.raises((Refused, EOFError)):
            while True:
                wire.ask(NOISE)
    ids = list(recordings(gateway))
    wait_for(lambda: Store(gateway).ask("SELECT count(*) FROM session WHERE status = 'done'") ==
             [["4"]], what="the ends")
    left_open = [session_id for session_id, path in recordings(gateway).items()
                 if not is_closed(path)]
    assert mode == "strict" or len(left_open) == 4
    agree(gateway, admin, left_open, is_whole=False)
    if is_restarted:
        gateway.kill()
        gateway = start(*arguments, folder=tmp_path / "gateway")
        admin.gateway = gateway
        agree(gateway, admin, left_open, is_whole=False)
    small.empty()
    wait_for(lambda: all(map(is_closed, recordings(gateway).values())), 2 * PATIENCE, "their ends")
    agree(gateway, admin, ids, is_whole=True)
    rows = Store(gateway).ask("SELECT end_reason, recording_error FROM session")
    assert all(reason == "the session cannot be recorded" and "disk is full" in error
               for reason, error in rows), rows


def test_what_the_store_was_not_told_is_told_later(start, target):
    """It answers, but does not take the session: its client is refused, its recording is there."""
    gateway = start()
    admin = register(gateway)
    made = credential(admin, target.connection(admin, recording_days=DAYS))
    store = Store(gateway)
    store.ask("CREATE TRIGGER refuses BEFORE INSERT ON session "
              "BEGIN SELECT RAISE(ABORT, 'not now'); END")
    assert psql(made, "SELECT 1", check=False).returncode == 2
    [(session_id, path)] = recordings(gateway).items()
    assert not is_closed(path) and store.ask("SELECT id FROM session") == []
    store.ask("DROP TRIGGER refuses")
    wait_for(lambda: is_closed(path), what="its end")
    shown = admin.get(f"/sessions/{session_id}")
    assert shown.status == 200 and shown.json["status"] == "done", shown
    assert shown.json["client_ip"] == "127.0.0.1" and shown.json["start_date"]
    assert store.ask("SELECT recording_days FROM session") == [[str(DAYS)]]
    agree(gateway, admin, [session_id], is_whole=True)
    actions = [row[0] for row in store.ask("SELECT action FROM audit_entry WHERE resource_type = "
                                           "'sessions' ORDER BY created_at")]
    assert actions[:2] == ["connect", "disconnect"], actions


def test_what_was_changed_is_not_put_right(start, target, tmp_path):
    """A recording whose end was cut off, and files that are none, stay what they are."""
    gateway = start(folder=tmp_path / "gateway")
    admin = register(gateway)
    made = credential(admin, target.connection(admin))
    psql(made, "SELECT 1")
    [(session_id, path)] = recordings(gateway).items()
    wait_for(lambda: is_closed(path), what="its end")
    wait_for(lambda: Store(gateway).ask("SELECT status FROM session") == [["done"]], what="the end")
    gateway.kill()
    folder = os.path.dirname(path)
    others = {f"{folder}/{number:08}-0000-4000-8000-000000000000.ghr": content for number, content
              in enumerate([b"", b"short", bytes(70000), b"something else entirely" * 100])}
    for other, content in others.items():
        with open(other, "wb") as out:
            out.write(content)
    with open(path, "r+b") as file:
        file.truncate(os.path.getsize(path) - 90)
    cut = open(path, "rb").read()
    gateway = start(folder=tmp_path / "gateway")
    admin.gateway = gateway
    wait_for(lambda: "a recording that was left open is damaged" in gateway.text(), what="the line")
    wait_for(lambda: gateway.text().count("a recording that holds nothing is removed") == 3,
             what="the removal of what was never begun")
    assert [os.path.exists(other) for other in others] == [False, False, False, True]
    assert open(path, "rb").read() == cut
    agree(gateway, admin, [session_id], is_whole=False)
