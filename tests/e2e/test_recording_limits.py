# SPDX-License-Identifier: MIT
"""How much of its sessions a connection records, and how long that is kept."""
import json
import os

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
