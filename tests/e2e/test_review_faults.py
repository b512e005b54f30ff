# SPDX-License-Identifier: MIT
"""Faults that other gateways' reviews are known to have, each of which is a test that fails where
it is there. Most are of files of their own; the last column says which.

| fault | test |
|---|---|
| one person in two groups is two approvals | test_reviews::test_people_are_counted_not_groups |
| more approvals than wanted leave it pending | test_reviews::test_a_group_more_than_enough_is_enough |
| an admin approves what he asked for himself | test_an_admin_does_not_approve_his_own |
| an admin who is no reviewer is told 200, and nothing changes | test_reviews::test_an_admin_is_no_reviewer_but_may_reject |
| an approval of what is approved makes it longer | test_a_second_approval_makes_nothing_longer |
| two approvals in the same instant: one is lost | test_two_in_the_same_instant_both_count, on both stores |
| those who need not ask are asked, or the other way round | test_reviews::test_durations_and_who_need_not_ask |
| forcing needs no reason and looks like any other approval | test_reviews::test_emergency_access_is_loud |
| hours over midnight have their evening alone; hours are not looked at everywhere | unit time_window_test, test_review_hours |
| mistakes of a client are 500: unknown status, not there, a script revoked, hours set twice | test_reviews::test_client_mistakes_are_no_faults_of_ours, test_hours_set_twice_are_no_fault_of_ours |
| what nobody decides on waits for ever | test_reviews::test_what_waits_too_long_expires, test_notifications |
| an approval of access lets a script run | test_approved_access_runs_no_script |
| an approval of a script opens access | test_an_approved_script_opens_no_access |
| each session has the whole time anew | test_reviews::test_access_is_there_for_its_time_and_no_longer |
| what is revoked goes on | test_reviews::test_what_ends_access_ends_it_at_once |
| more time than the rule has is granted | test_reviews::test_rules_that_overlap_add_up |
| a connection's own reviewers, without a rule: 500 | test_reviewers_of_a_connection_are_enough |
| a session is there before the decision, and stays when it was refused | test_what_was_refused_leaves_no_session |
| the first rule that is found is the one that acts | test_reviews::test_rules_that_overlap_add_up |
| changes of rules are not in the audit log | test_reviews::test_rules_are_kept_and_checked |
| all reviews in one list without pages | test_reviews::test_lists |
| a hook that hangs holds up who asks | test_notifications |
"""
import concurrent.futures
import time

import pytest

from conftest import Gateway
from native import Session, psql
from people import TRUSTED, House
from plan import HAS_MANY
from test_review_hours import hours
from test_reviews import Crew, decide


@pytest.fixture(scope="module")
def crew(house, target):
    return Crew(house, target)


def test_an_admin_does_not_approve_his_own(crew):
    email = crew.house.person("admin", "dba", "boss")
    boss = crew.house.enter(email)
    assert boss.get("/userinfo").json["is_admin"] is True
    name = crew.connection()
    crew.rule(name, force_approval_groups=["boss"])
    script, access = crew.ask(name, caller=boss), crew.jit(name, boss)
    for asked in script, access:
        for members in {}, {"force_review": True, "reason": "it burns"}:
            answer = boss.put(f"/reviews/{asked['review_id']}", {"status": "APPROVED", **members})
            assert answer.status == 400 and "himself" in answer.message, answer
        assert crew.state(asked) == "PENDING"
    crew.run(script, boss, status=409)
    assert crew.jit(name, boss)["review_id"] == access["review_id"]


def test_a_second_approval_makes_nothing_longer(crew):
    name = crew.connection()
    crew.rule(name, min_approvals=1, force_approval_groups=["boss"])
    script, access = crew.ask(name), crew.jit(name, access_duration_seconds=600)
    for asked in script, access:
        shown = decide(crew.bob, asked)
        time.sleep(0.01)
        assert decide(crew.bob, asked)["revoke_at"] == shown["revoke_at"]
        decide(crew.both, asked, expect=400)  # by another one it is no decision any more
        decide(crew.eve, asked, expect=400, force_review=True, reason="more time")
        now = crew.admin.get(f"/reviews/{asked['review_id']}").json
        for member in "revoke_at", "decisions", "status", "updated_at":
            assert now[member] == shown[member], member
    used = crew.jit(name, status=201)  # nor one that is in use
    assert decide(crew.bob, access)["revoke_at"] == used["expire_at"] == shown["revoke_at"]
    decide(crew.both, access, expect=400)
    assert crew.jit(name, status=201)["expire_at"] == used["expire_at"]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_two_in_the_same_instant_both_count(kind, request, tmp_path, target):
    arguments = list(TRUSTED)
    if kind == "postgres":
        server = request.getfixturevalue("postgres")
        arguments += ["--database-url", server.create(f"instant_{time.monotonic_ns()}")]
    gateway = Gateway(tmp_path, *arguments)
    crew = Crew(House(gateway), target)
    name = crew.connection()
    crew.rule(name, reviewers_groups=["dba", "sec"], min_approvals=3)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for _ in range(40 if HAS_MANY else 5):
            asked = crew.ask(name)
            states = [shown["status"] for shown in
                      pool.map(lambda who: decide(who, asked), (crew.bob, crew.cid, crew.both))]
            assert sorted(states) == ["APPROVED", "PENDING", "PENDING"]
            assert len(crew.admin.get(f"/reviews/{asked['review_id']}").json["decisions"]) == 3
            # One says yes and one says no: one of the two holds, and the other is told.
            torn = crew.ask(name)
            answers = list(pool.map(lambda call: call[0].put(
                f"/reviews/{torn['review_id']}", {"status": call[1]}),
                ((crew.bob, "REJECTED"), (crew.cid, "REJECTED"))))
            assert sorted(answer.status for answer in answers) == [200, 400]
            assert crew.state(torn) == "REJECTED"
    assert gateway.stop() == 0, gateway.text()


def test_hours_set_twice_are_no_fault_of_ours(crew):
    name = crew.connection()
    crew.rule(name)
    asked = crew.ask(name)
    window = hours(-60, 60)
    shown = decide(crew.bob, asked, time_window=window)
    again = decide(crew.bob, asked, time_window=hours(-120, 120))  # he has decided: nothing changes
    assert again["time_windows"] == shown["time_windows"] == [window]
    decide(crew.both, asked, expect=400, time_window=window)
    decide(crew.bob, asked, "REVOKED", expect=400, time_window=window)
    assert crew.run(asked)["output_status"] == "success"


def test_approved_access_runs_no_script(crew):
    name, table = crew.connection(), crew.table()
    crew.rule(name)
    access = crew.jit(name)
    decide(crew.bob, access)
    script = f"insert into {table} values (1)"
    # Before it is used and while it is.
    for used in False, True:
        if used:
            made = crew.jit(name, status=201)
            assert Session(made["connection_credentials"]).ask("SELECT 1") == "1"
        asked = crew.ask(name, script)
        assert asked["review_id"] != access["review_id"] and crew.state(asked) == "PENDING"
        crew.run(asked, status=409)
        for key in "id", "review_id":
            answer = crew.ann.post(f"/sessions/{access[key]}/exec")
            assert answer.status == 400 and "no script" in answer.message, answer
    assert crew.count(table) == 0 and crew.state(access) == "PROCESSING"
    # Where access is reviewed and scripts are not, and the other way round.
    for kind in "jit", "command":
        other = crew.connection()
        crew.rule(other, access_type=kind)
        run = crew.ann.post("/sessions", {"connection": other, "script": "select 1"})
        assert run.json["has_review"] is (kind == "command")
        crew.jit(other, status=202 if kind == "jit" else 201)


def test_an_approved_script_opens_no_access(crew):
    name = crew.connection()
    crew.rule(name)
    asked = crew.ask(name, "select 1")
    decide(crew.bob, asked)
    access = crew.jit(name)
    assert access["review_id"] != asked["review_id"] and crew.state(access) == "PENDING"
    assert crew.ann.get(f"/connections/{name}/credentials").status == 404


def test_reviewers_of_a_connection_are_enough(crew):
    name = crew.connection(reviewers=["dba"])
    access, script = crew.jit(name), crew.ask(name)
    need, = crew.ann.get(f"/reviews/{access['review_id']}").json["requirements"]
    assert need["access_request_rule_name"] is None and need["reviewers_groups"] == ["dba"]
    decide(crew.bob, access)
    decide(crew.bob, script)
    assert psql(crew.jit(name, status=201), "SELECT 1").stdout == "1\n"
    assert crew.run(script)["output_status"] == "success"


def test_what_was_refused_leaves_no_session(crew):
    name = crew.connection()
    crew.rule(name)
    store = crew.house.store

    here = crew.admin.get(f"/connections/{name}").json["id"]
    asked = [crew.ask(name) for _ in range(4)] + [crew.jit(name)]
    decide(crew.bob, asked[0], "REJECTED")
    decide(crew.ann, asked[1], "CANCELLED")
    store.ask("UPDATE review SET pending_until = 1 WHERE id = ?", asked[2]["review_id"])
    decide(crew.bob, asked[3])
    decide(crew.bob, asked[3], "REVOKED")
    decide(crew.bob, asked[4], "REJECTED", reason="no")
    assert [crew.state(one) for one in asked] == ["REJECTED", "CANCELLED", "EXPIRED", "REVOKED",
                                                  "REJECTED"]
    for one in asked[:4]:
        crew.run(one, status=409)
    for caller in crew.ann, crew.admin:
        assert caller.get(f"/sessions?connection={name}").json["data"] == []
        for one in asked:
            assert caller.get(f"/sessions/{one.get('session_id') or one['id']}").status == 404
    for table in "session", "credential":
        rows = store.ask(f"SELECT count(*) FROM {table} WHERE connection_id = ?", here)
        assert int(rows[0][0]) == 0, table
