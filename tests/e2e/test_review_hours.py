# SPDX-License-Identifier: MIT
"""Approvals for some hours of the day, by the clocks of a time zone."""
import datetime
import zoneinfo

import pytest

from api import Api
from conftest import IS_SANITIZED, wait_for
from native import Session, psql
from people import TRUSTED, House
from test_clocks import FAKETIME, Clock
from test_reviews import Crew, decide

ZONE = "Asia/Kolkata"


@pytest.fixture(scope="module")
def crew(house, target):
    return Crew(house, target)


def hours(start, end, zone=ZONE):
    """From so many minutes from now until so many, by the zone's clocks."""
    now = datetime.datetime.now(zoneinfo.ZoneInfo(zone))
    times = {name: (now + datetime.timedelta(minutes=minutes)).strftime("%H:%M")
             for name, minutes in (("start_time", start), ("end_time", end))}
    return {"type": "time_range", "configuration": {**times, "time_zone": zone}}


def test_a_script_runs_in_its_hours_alone(crew):
    name = crew.connection()
    crew.rule(name)
    asked = crew.ask(name)
    shown = decide(crew.bob, asked, time_window=hours(120, 240))
    assert shown["status"] == "APPROVED" and shown["time_window"] == hours(120, 240)
    refused = crew.ann.post(f"/sessions/{asked['session_id']}/exec")
    assert refused.status == 409 and ZONE in refused.message and ", from 20" in refused.message
    assert crew.state(asked) == "APPROVED"  # not used up
    asked = crew.ask(name)
    decide(crew.bob, asked, time_window=hours(-60, 60))
    assert crew.run(asked)["output_status"] == "success"
    wait_for(lambda: crew.state(asked) == "EXECUTED", what="its end")
    for plain in crew.ask(name), crew.ask(name):
        shown = decide(crew.bob, plain)
        assert (shown["time_window"], shown["time_windows"]) == (None, [])


def test_the_hours_of_all_who_approve_hold(crew):
    name = crew.connection()
    crew.rule(name, reviewers_groups=["dba", "sec"], min_approvals=2)
    asked = crew.ask(name)
    assert decide(crew.bob, asked, time_window=hours(-60, 60))["status"] == "PENDING"
    shown = decide(crew.cid, asked, time_window=hours(30, 240, "UTC"))
    assert shown["status"] == "APPROVED" and len(shown["time_windows"]) == 2
    crew.run(asked, status=409)
    asked = crew.ask(name)
    decide(crew.bob, asked, time_window=hours(-60, 60))
    answer = crew.cid.put(f"/reviews/{asked['review_id']}", {
        "status": "APPROVED", "time_window": hours(61, 120)})
    assert answer.status == 400 and "before its hours begin" in answer.message, answer
    assert crew.state(asked) == "PENDING"
    # The hours of the first are held against the grant when it begins, not before.
    access = crew.jit(name, access_duration_seconds=600)
    assert decide(crew.bob, access, time_window=hours(120, 240))["status"] == "PENDING"
    answer = crew.cid.put(f"/reviews/{access['review_id']}", {"status": "APPROVED"})
    assert answer.status == 400 and "before its hours begin" in answer.message, answer
    assert crew.state(access) == "PENDING"


def test_access_is_had_in_its_hours_alone(crew):
    name = crew.connection()
    crew.rule(name)
    access = crew.jit(name, access_duration_seconds=4 * 3600)
    decide(crew.bob, access, time_window=hours(120, 240))
    refused = crew.jit(name, status=403)
    assert "cannot be used now" in refused["message"] and ZONE in refused["message"]
    assert crew.state(access) == "APPROVED"
    short = crew.connection()
    crew.rule(short)
    access = crew.jit(short, access_duration_seconds=600)
    answer = crew.bob.put(f"/reviews/{access['review_id']}", {
        "status": "APPROVED", "time_window": hours(120, 240)})
    assert answer.status == 400 and "before its hours begin" in answer.message, answer
    decide(crew.bob, access, time_window=hours(-60, 60))
    assert psql(crew.jit(short, status=201), "SELECT 1").stdout == "1\n"


def test_a_script_runs_by_itself_when_its_hours_come(crew):
    """Approved outside of them it waits, and needs nobody; once, whoever asks meanwhile."""
    table, names = crew.table(), [crew.connection() for _ in range(2)]
    asked = []
    for number, name in enumerate(names):
        crew.rule(name)
        one = crew.ask(name, f"insert into {table} values ({number})", run_when_approved=True)
        shown = decide(crew.bob, one, time_window=hours(120, 240))
        assert shown["status"] == "APPROVED" and shown["runs_when_approved"] is True
        asked.append(one)
    refused = crew.ann.post(f"/sessions/{asked[0]['session_id']}/exec")
    assert refused.status == 409 and ZONE in refused.message, refused
    # It becomes that hour for the first; the second waits on.
    store = crew.house.store
    start, end = (hours(120, 240)["configuration"][key] for key in ("start_time", "end_time"))
    now, then = (hours(-60, 60)["configuration"][key] for key in ("start_time", "end_time"))
    past = int(store.ask("SELECT updated_at FROM review WHERE id = ?", asked[1]["review_id"])[0][0])
    for one in asked:
        store.ask("UPDATE review SET updated_at = ? WHERE id = ?", past - 6 * 10**6,
                  one["review_id"])
    store.ask("UPDATE review SET time_windows = replace(replace(time_windows, ?, ?), ?, ?) "
              "WHERE id = ?", start, now, end, then, asked[0]["review_id"])
    wait_for(lambda: crew.state(asked[0]) == "EXECUTED", what="the script's own run")
    assert crew.count(table) == 1
    crew.run(asked[0], status=409)
    entry, = [entry for entry in crew.log(asked[0]) if entry["action"] == "execute"
              and entry["outcome"]]
    assert entry["actor_name"] == "gateway"
    assert crew.state(asked[1]) == "APPROVED"


def test_mistakes_are_told(crew):
    name = crew.connection()
    crew.rule(name)
    asked = crew.ask(name)
    good = {"start_time": "09:00", "end_time": "18:00"}
    for window, words in (
            ({}, "time_range"), ({"type": "time_range"}, "configuration"),
            ({"type": "weekdays", "configuration": good}, "time_range"),
            ({"type": "time_range", "configuration": {**good, "end_time": "9:00"}}, "18:00"),
            ({"type": "time_range", "configuration": {**good, "end_time": "09:00"}}, "18:00"),
            ({"type": "time_range", "configuration": {**good, "start_time": "24:00"}}, "18:00"),
            ({"type": "time_range", "configuration": {**good, "end_time": None}}, "18:00"),
            *(({"type": "time_range", "configuration": {**good, "time_zone": zone}}, "time zone")
              for zone in ("Mars/Olympus", "../../../etc/passwd", "/etc/localtime", "Europe",
                           "Europe/", "Europe//Berlin", "zone.tab", "right/UTC", "Europe/Berlin "))):
        answer = crew.bob.put(f"/reviews/{asked['review_id']}", {"status": "APPROVED",
                                                                 "time_window": window})
        assert answer.status == 400 and words in answer.message, (window, answer)
    answer = crew.bob.put(f"/reviews/{asked['review_id']}", {"status": "REJECTED",
                                                             "time_window": hours(-60, 60)})
    assert answer.status == 400 and "approving" in answer.message
    assert crew.state(asked) == "PENDING"


@pytest.mark.skipif(IS_SANITIZED, reason="sanitizers want to be loaded first")
def test_sessions_end_with_the_hours(start, target, tmp_path):
    """And come again the next day: the grant goes on."""
    if not FAKETIME:
        pytest.skip("there is no libfaketime")
    clock = Clock(tmp_path)
    crew = Crew(House(start("--sandbox", "off", *TRUSTED, env=clock.env)), target)
    name = crew.connection()
    crew.rule(name)
    access = crew.jit(name, access_duration_seconds=2 * 86400)
    decide(crew.bob, access, time_window=hours(-60, 120))
    place = crew.jit(name, status=201)
    session = Session(place["connection_credentials"])
    assert session.ask("SELECT 1") == "1"
    clock.set(f"+{119 * 60}")
    assert session.ask("SELECT 2") == "2"
    clock.set(f"+{121 * 60}")
    session.wait_for_end(5)
    refused = psql(place, "SELECT 1", check=False)
    assert refused.returncode == 2 and ZONE in refused.stderr, refused.stderr
    clock.set(f"+{23 * 3600 + 1800}")
    assert wait_for(lambda: psql(place, "SELECT 1", check=False).stdout == "1\n", what="next day")
    root = Api(crew.house.gateway, crew.house.sign_in("root@example.com").headers["Token"])
    shown = root.get(f"/reviews/{access['review_id']}")
    assert shown.json["status"] == "PROCESSING", shown
