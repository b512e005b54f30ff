# SPDX-License-Identifier: MIT
"""Reports: what was masked in sessions, added up by connection, by person, by day."""
import time

import pytest

from store import Store, new_organization

DAY = 86400 * 1000000
METRICS = ('{"data_masking":{"info_types":{"EMAIL_ADDRESS":5,"CREDIT_CARD":1},'
           '"total_redact_count":6,"transformed_bytes":66,"err_count":0}}')
GUARDED = ('{"rule_name":"no-drop","rule":{"type":"deny_words_list"},"direction":"input",'
           '"action":"block","message":"ask first"}')


def today(days=0):
    return time.strftime("%Y-%m-%d", time.gmtime(time.time() - days * 86400))


@pytest.fixture(scope="module")
def boss(admin):
    return new_organization(admin)


@pytest.fixture(scope="module")
def sessions(boss):
    """Of now, of 40 days ago, and one that goes on."""
    store, home = Store(boss.gateway), boss.get("/userinfo").json["org_id"]
    now = int(time.time() * 1000000)
    made = [store.add_session(home, connection_name="db", user_email="ann@x", started_at=now,
                              status="done", ended_at=now, metrics=METRICS,
                              guardrails_info=f"{GUARDED},{GUARDED}", guardrails_count=5),
            store.add_session(home, connection_name="old", user_email="bob@x", verb="exec",
                              started_at=now - 40 * DAY, status="done", ended_at=now),
            store.add_session(home, connection_name="db", user_email="ann@x", started_at=now)]
    for session, name, count, size in ((made[0], "EMAIL_ADDRESS", 5, 50),
                                       (made[0], "CREDIT_CARD", 1, 16),
                                       (made[1], "EMAIL_ADDRESS", 7, 70)):
        store.ask("INSERT INTO session_masking (session_id, info_type, redact_count, "
                  "transformed_bytes) VALUES (?, ?, ?, ?)", session, name, count, size)
    return made


def report(caller, query=""):
    answer = caller.get("/reports/sessions" + query)
    assert answer.status == 200, answer
    assert set(answer.json) == {"items", "has_more", "total_redact_count",
                                "total_transformed_bytes"}
    return answer.json


def item(resource, info_type, count, size):
    return {"resource": resource, "info_type": info_type, "redact_total": count,
            "transformed_bytes": size}


def test_a_session_says_what_was_masked_and_which_rules_it_met(boss, sessions):
    done = boss.get(f"/sessions/{sessions[0]}").json
    assert done["metrics"] == {"data_masking": {
        "info_types": {"EMAIL_ADDRESS": 5, "CREDIT_CARD": 1}, "total_redact_count": 6,
        "transformed_bytes": 66, "err_count": 0}}
    assert done["guardrails_info"] == [{
        "rule_name": "no-drop", "rule": {"type": "deny_words_list"}, "direction": "input",
        "action": "block", "message": "ask first"}] * 2
    assert done["guardrails_count"] == 5
    goes_on = boss.get(f"/sessions/{sessions[2]}").json
    assert goes_on["metrics"] is None and goes_on["guardrails_info"] == []
    listed = {one["id"]: one for one in boss.get("/sessions").json["data"]}
    assert listed[sessions[0]] == done and listed[sessions[2]] == goes_on


def test_it_is_by_connection_when_nothing_is_said(boss, sessions):
    wanted = [item("db", "EMAIL_ADDRESS", 5, 50), item("db", "CREDIT_CARD", 1, 16)]
    for query in "", "?group_by=connection", f"?start_date={today()}&end_date={today()}":
        found = report(boss, query)
        assert found["items"] == wanted and found["has_more"] is False
        assert (found["total_redact_count"], found["total_transformed_bytes"]) == (6, 66)


@pytest.mark.parametrize("group, names", [
    ("connection", ["old", "db", "db"]), ("connection_type", ["database", "database"]),
    ("user_email", ["bob@x", "ann@x", "ann@x"]), ("id", [1, 0, 0])])
def test_groups(boss, sessions, group, names):
    found = report(boss, f"?group_by={group}&start_date={today(60)}")
    names = [sessions[name] if isinstance(name, int) else name for name in names]
    assert [one["resource"] for one in found["items"]] == names
    assert (found["total_redact_count"], found["total_transformed_bytes"]) == (13, 136)
    assert sum(one["redact_total"] for one in found["items"]) == 13


@pytest.mark.parametrize("query, total", [
    ("&connection_name=db", 6), ("&connection_name=d%25", 0), ("&user_email=bob@x", 7),
    ("&verb=exec", 7), ("&verb=connect", 6), ("&id=nothing", 0)])
def test_filters(boss, sessions, query, total):
    assert report(boss, f"?start_date={today(60)}{query}")["total_redact_count"] == total


def test_of_one_session(boss, sessions):
    found = report(boss, f"?group_by=id&id={sessions[1]}&start_date={today(60)}")
    assert found["items"] == [item(sessions[1], "EMAIL_ADDRESS", 7, 70)]


@pytest.mark.parametrize("query, named", [
    ("start_date=2024-05-02&end_date=2024-05-01", "end_date"),
    ("start_date=2024-01-01&end_date=2024-04-30", "120 days"),
    ("start_date=2024-05-01T00:00:00Z", "start_date"), ("end_date=2024-02-30", "end_date"),
    ("end_date=1-1-1", "end_date"), ("group_by=user", "group_by"), ("verb=kill", "verb")])
def test_what_cannot_be_asked(boss, query, named):
    answer = boss.get(f"/reports/sessions?{query}")
    assert answer.status == 400 and named in answer.message, answer


def test_120_days_can_be_asked_and_nothing_of_others_comes(admin, boss, sessions):
    assert report(boss, "?start_date=2024-01-01&end_date=2024-04-29")["items"] == []
    assert report(boss.key("auditor"))["total_redact_count"] == 6
    assert boss.key("dev").get("/reports/sessions").status == 403
    assert report(new_organization(admin), f"?start_date={today(60)}&id={sessions[1]}") == {
        "items": [], "has_more": False, "total_redact_count": 0, "total_transformed_bytes": 0}
