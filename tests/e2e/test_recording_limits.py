# SPDX-License-Identifier: MIT
"""How much of its sessions a connection records, and how long that is kept."""
import contextlib
import json
import os
import sqlite3
import subprocess

import pytest

from api import register
from conftest import wait_for
from native import credential, psql
from store import Store

DAY = 86_400_000_000  # in microseconds
ROWS = "SELECT repeat('x', 100) FROM generate_series(1, 1000)"


def session_of(admin, name):
    def done():
        found = admin.get(f"/sessions?connection={name}").json["data"]
        return found[0] if found and found[0]["status"] == "done" else None
    return wait_for(done, what="the session's end")


def recorded(admin, session):
    answer = admin.get(f"/sessions/{session['id']}/download?extension=jsonl")
    assert answer.status == 200, answer
    return [json.loads(line) for line in answer.body.splitlines()]


def file_of(gateway, session):
    day = session["start_date"][:10].split("-")
    return os.path.join(gateway.data, "recordings", *day, f"{session['id']}.ghr")


@pytest.mark.parametrize("limit, kept", [(None, 1000), (1110, 10), (0, 0)])
def test_a_connection_says_how_many_rows_are_recorded(admin, target, limit, kept):
    members = {} if limit is None else {"recording_row_limit": limit}
    name = target.connection(admin, **members)
    assert admin.get(f"/connections/{name}").json.get("recording_row_limit") == limit
    assert psql(credential(admin, name), ROWS).stdout.count("\n") == 1000
    events = recorded(admin, session_of(admin, name))
    assert sum("x" * 100 in json.dumps(event) for event in events) == kept
    assert any("generate_series" in json.dumps(event) for event in events)


@pytest.mark.parametrize("days", [-1, 36501, "7"])
def test_days_have_bounds(admin, target, days):
    name = target.connection(admin)
    assert admin.patch(f"/connections/{name}", {"recording_days": days}).status == 400


def test_old_recordings_go_each_after_its_own_time(start, target):
    gateway = start("--recording-days", "5")
    admin = register(gateway)
    ages = {"own": ({"recording_days": 2}, 3), "usual": ({}, 6), "young": ({}, 4),
            "for ever": ({"recording_days": 0}, 500), "long": ({"recording_days": 9}, 6)}
    sessions = {}
    for title, (members, _) in ages.items():
        name = target.connection(admin, **members)
        psql(credential(admin, name), "SELECT 1")
        sessions[title] = session_of(admin, name)
        assert os.path.exists(file_of(gateway, sessions[title]))
    gateway.stop()
    store = Store(gateway)
    for title, (_, age) in ages.items():
        store.ask("UPDATE session SET ended_at = ended_at - ? WHERE id = ?", age * DAY,
                  sessions[title]["id"])
    again = start("--recording-days", "5", folder=gateway.folder)
    admin.gateway = again
    gone = {"own", "usual"}

    def is_gone(title):
        return admin.get(f"/sessions/{sessions[title]['id']}").json["recording_removed_at"] is not None
    wait_for(lambda: all(is_gone(title) for title in gone), 20, "the removal of old recordings")
    for title, session in sessions.items():
        assert is_gone(title) == (title in gone), title
        assert os.path.exists(file_of(gateway, session)) == (title not in gone), title
        answer = admin.get(f"/sessions/{session['id']}/download?extension=txt")
        assert answer.status == (404 if title in gone else 200), title


@contextlib.contextmanager
def nobody_else_writes(store):
    """Holds the lock that everyone who writes to the table of sessions needs."""
    if store.url is None:
        conn = sqlite3.connect(store.path, timeout=10, isolation_level=None)
        conn.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            conn.close()
        return
    with subprocess.Popen(["psql", store.url, "-q", "-A", "-t"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as client:
        client.stdin.write("BEGIN; LOCK TABLE session IN SHARE MODE; SELECT 'locked';\n")
        client.stdin.flush()
        assert client.stdout.readline() == "locked\n"
        try:
            yield
        finally:
            client.stdin.close()


def test_a_removal_that_a_kill_cut_in_two_is_ended(start, target, store_url, tmp_path):
    """Each session is left as a kill leaves it at another moment; the first, by a kill."""
    arguments = ["--recording-days", "5", "--master-key-file", tmp_path / "key"]
    if not store_url.startswith("sqlite:"):
        arguments += ["--database-url", store_url]
    gateway = start(*arguments)
    admin = register(gateway)
    ages = {"not noted": 6, "not noted, and kept longer now": 6, "not forgotten": 6,
            "of another gateway": 6, "young": 1}
    sessions = {}
    for title in ages:
        name = target.connection(admin)
        psql(credential(admin, name), "SELECT 1")
        sessions[title] = session_of(admin, name)
    gateway.stop()
    store = Store(gateway)
    for title, age in ages.items():
        store.ask("UPDATE session SET ended_at = ended_at - ? WHERE id = ?", age * DAY,
                  sessions[title]["id"])
    os.unlink(file_of(gateway, sessions["of another gateway"]))
    files = {title: file_of(gateway, sessions[title]) for title in sessions}
    places = {title: files[title].replace(".ghr", ".removed") for title in sessions}
    gone = {"not noted", "not noted, and kept longer now", "not forgotten"}

    gateway = start(*arguments, folder=gateway.folder)
    with nobody_else_writes(store):
        wait_for(lambda: all(os.path.exists(places[title]) for title in gone), 20, "the removal")
        gateway.kill()
        assert not any(os.path.exists(files[title]) for title in gone)
    noted = "SELECT recording_removed_at FROM session WHERE id = ?"
    assert all(store.ask(noted, sessions[title]["id"]) == [["0"]] for title in sessions)

    store.ask("UPDATE session SET recording_days = 0 WHERE id = ?",
              sessions["not noted, and kept longer now"]["id"])
    store.ask("UPDATE session SET recording_removed_at = 7 WHERE id = ?",
              sessions["not forgotten"]["id"])
    start(*arguments, folder=gateway.folder)
    wait_for(lambda: not any(os.path.exists(place) for place in places.values()), 20, "the end")
    for title, session in sessions.items():
        [[at]] = store.ask(noted, session["id"])
        assert (at != "0") == (title in gone), title
        assert os.path.exists(files[title]) == (title == "young"), title
    assert store.ask(noted, sessions["not forgotten"]["id"]) == [["7"]]
