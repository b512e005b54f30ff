# SPDX-License-Identifier: MIT
"""Sessions as they are read: by whom, in which order, by what."""
import uuid

import pytest

from api import PASSWORD, login, unique
from store import Store, new_organization

SECOND = 1000000
DAY = 86400 * SECOND


@pytest.fixture(scope="module")
def boss(admin):
    return new_organization(admin)


@pytest.fixture(scope="module")
def person(boss):
    email = f"{unique('person')}@example.com"
    made = boss.post("/users", {"email": email, "password": PASSWORD, "groups": []})
    assert made.status == 201, made
    caller = login(boss.gateway, email)
    caller.id, caller.email = made.json["id"], email
    return caller


@pytest.fixture(scope="module")
def sessions(boss, person):
    """Five, a day apart: the even ones are the person's."""
    store, home = Store(boss.gateway), boss.get("/userinfo").json["org_id"]
    return [store.add_session(
        home, started_at=(i + 1) * DAY, connection_name=f"db-{i // 2}",
        connection_type="database" if i < 4 else "custom", client_ip="192.0.2.7",
        application_name="psql", **({"user_id": person.id, "user_email": person.email}
                                    if i % 2 == 0 else {})) for i in range(5)]


def found(caller, query=""):
    answer = caller.get("/sessions" + query)
    assert answer.status == 200, answer
    assert set(answer.json) == {"data", "total", "total_is_capped", "has_next_page"}
    return [one["id"] for one in answer.json["data"]]


def test_everybody_sees_his_own_the_newest_first(boss, person, sessions):
    assert found(boss) == found(boss.key("auditor")) == sessions[::-1]
    assert found(person) == sessions[::-2]
    assert found(boss.key("dev")) == []


def test_one_is_there_for_who_may_see_it(boss, person, sessions):
    for one in sessions:
        assert boss.get(f"/sessions/{one}").status == 200
        assert person.get(f"/sessions/{one}").status == (200 if one in sessions[::2] else 404)
    hidden = person.get(f"/sessions/{sessions[1]}")
    nothing = str(uuid.uuid4())
    assert hidden.message == \
        person.get(f"/sessions/{nothing}").message.replace(nothing, sessions[1])


def test_what_one_says(boss, person, sessions):
    session = boss.get(f"/sessions/{sessions[0]}").json
    expected = {"id": sessions[0], "connection": "db-0", "type": "database",
                "connection_subtype": "postgres", "user_id": person.id, "user": person.email,
                "identity_type": "user", "verb": "connect", "status": "open",
                "client_ip": "192.0.2.7", "application_name": "psql", "end_date": None,
                "start_date": "1970-01-02T00:00:00.000000Z", "bytes_in": 0, "bytes_out": 0,
                "metadata": {}}
    assert {key: session[key] for key in expected} == expected


@pytest.mark.parametrize("query, wanted", [
    ("?connection=db-0", (1, 0)), ("?connection=db", ()), ("?connection=db-%25", ()),
    ("?type=custom", (4,)), ("?start_date=1970-01-04", (4, 3, 2)),
    ("?end_date=1970-01-03T00:00:00Z", (1, 0)),
    ("?start_date=1970-01-03&end_date=1970-01-04", (2, 1)), ("?limit=2", (4, 3)),
    ("?limit=2&offset=3", (1, 0)), ("?offset=5", ()), ("?limit=1&offset=4", (0,)),
    ("?user=x@example.com", (3, 1)), ("?user=%27%20OR%201=1--", ())])
def test_they_are_found(boss, sessions, query, wanted):
    assert found(boss, query) == [sessions[i] for i in wanted]


def test_of_a_person(boss, person, sessions):
    for name in person.email, person.id:
        assert found(boss, f"?user={name}") == sessions[::-2]
        assert found(person, f"?user={name}") == sessions[::-2]
    assert found(person, "?user=x@example.com") == []


def test_totals_and_further_pages(boss, person, sessions):
    for caller, total in (boss, len(sessions)), (person, 3):
        for offset in range(5):
            answer = caller.get(f"/sessions?limit=2&offset={offset}").json
            assert answer["total"] == total and answer["total_is_capped"] is False
            assert answer["has_next_page"] is (offset + 2 < total)


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "offset=-1", "offset=10001",
                                   "start_date=yesterday", "end_date=2024-13-01"])
def test_what_cannot_be_asked(boss, query):
    answer = boss.get(f"/sessions?{query}")
    assert answer.status == 400 and query.split("=")[0] in answer.message


def test_one_whose_recording_is_not_here(boss, person, sessions):
    for caller in boss, person:
        for path in "/stream", "/download", "/verify", "?expand=event_stream":
            answer = caller.get(f"/sessions/{sessions[0]}{path}")
            assert answer.status == 404 and "is not on this gateway" in answer.message


def test_one_that_another_gateway_has_is_asked_to_end(boss, sessions):
    store = Store(boss.gateway)
    assert boss.post(f"/sessions/{sessions[3]}/kill").status == 204
    [[asked]] = store.ask("SELECT end_asked FROM session WHERE id = ?", sessions[3])
    assert asked.startswith("the session was ended by ")
    store.ask("UPDATE session SET status = 'done', ended_at = 5 WHERE id = ?", sessions[3])
    assert boss.post(f"/sessions/{sessions[3]}/kill").status == 409
