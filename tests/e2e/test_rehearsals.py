# SPDX-License-Identifier: MIT
"""Statements that run, and are committed when people have approved what they did: what is shown,
what becomes of it, and what is refused because it could not be taken back."""
import concurrent.futures
import time

import pytest

from conftest import Gateway, wait_for
from native import OwnDatabase, psql
from people import TRUSTED, House
from pgwire import Refused, Wire, cancel, message, text
from test_held import Floor, bound, meanwhile, run_bound
from test_reviews import decide

LOCKED_S = 6
REHEARSED = {"type": "sql", "name": "changes are rehearsed", "action": "rehearse",
             "operations": ["insert", "update", "delete", "merge"]}
AGAIN = {"type": "sql", "name": "drops are rehearsed", "action": "rehearse",
         "operations": ["drop", "truncate", "select"]}


@pytest.fixture(scope="module")
def floor(tmp_path_factory, postgres):
    gateway = Gateway(tmp_path_factory.mktemp("rehearsals"), *TRUSTED, "--held-locked-seconds",
                      str(LOCKED_S))
    shop = OwnDatabase(postgres, """
        CREATE TABLE buyers (id int PRIMARY KEY, name text);
        CREATE TABLE orders (id int PRIMARY KEY, total int CHECK (total >= 0),
            buyer int REFERENCES buyers ON DELETE CASCADE);
        CREATE TABLE traces (what text);
        CREATE FUNCTION traced() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN INSERT INTO traces VALUES (tg_op); RETURN NULL; END';
        CREATE TRIGGER tracing AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION traced();
        CREATE TABLE late (id int, other int REFERENCES buyers DEFERRABLE INITIALLY DEFERRED);
        INSERT INTO buyers SELECT i, 'buyer ' || i FROM generate_series(1, 20) i;
        INSERT INTO orders SELECT i, i, i FROM generate_series(1, 20) i;
        CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1';""")
    yield Floor(House(gateway), shop)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


def shown(floor, asked):
    review = floor.bob.get(f"/reviews/{asked['review_id']}").json
    return review, review["held"]["found"]["rehearsal"]


def test_what_it_did_is_shown_and_committed(floor):
    made = floor.open(REHEARSED)
    with meanwhile(psql, made, "update orders set total = total + 100 where id <= 3") as done:
        asked = floor.pending(made)
        review, rehearsal = shown(floor, asked)
        assert floor.target.ask("select count(*) from orders where total > 100") == "0"
        decide(floor.bob, asked)
        done = done.result()
    assert done.stdout.strip() == "UPDATE 3" and "has run" in done.stderr, done
    assert floor.target.ask("select count(*) from orders where total > 100") == "3"
    assert review["type"] == "held" and rehearsal["rows"] == 3
    effects = rehearsal["effects"]
    assert effects["tables"] == [
        {"table": "public.orders", "inserted": 0, "updated": 3, "deleted": 0},
        {"table": "public.traces", "inserted": 3, "updated": 0, "deleted": 0}]
    assert effects["triggers"] == [
        {"table": "public.orders", "name": "tracing", "function": "traced"}]
    assert {"table": "public.orders", "name": "orders_total_check", "kind": "check"} in \
        effects["constraints"]
    assert {"relation": "public.orders", "mode": "RowExclusiveLock", "count": 1} in effects["locks"]
    assert review["held"]["found"]["holds_locks"] is True
    floor.is_state(asked, "EXECUTED")
    floor.target.ask("update orders set total = id; delete from traces")


def test_cascades_count_and_a_denial_takes_all_back(floor):
    made = floor.open(REHEARSED)
    with Wire(made) as wire:
        for batch in (bound("delete from buyers where id > $1", "15"),
                      (message(b"Q", text("delete from buyers where id > 15")),)):
            wire.send(*batch)
            asked = floor.pending(made)
            _review, rehearsal = shown(floor, asked)
            assert rehearsal["rows"] == 5
            assert rehearsal["effects"]["tables"] == [
                {"table": "public.buyers", "inserted": 0, "updated": 0, "deleted": 5},
                {"table": "public.orders", "inserted": 0, "updated": 0, "deleted": 5}]
            decide(floor.bob, asked, "REJECTED", reason="not these")
            with pytest.raises(Refused) as refused:
                wire.until_ready()
            assert refused.value.fields["C"] == "42501" and "not these" in str(refused.value)
            assert floor.left("buyers") == 20 and floor.left("orders") == 20
            # The session goes on, and no transaction is open.
            assert wire.ask("select 1")
            assert floor.state(asked) == "REJECTED"


def test_with_values_what_was_seen_is_committed(floor):
    made = floor.open(REHEARSED)
    with Wire(made) as wire:
        wire.send(*bound("insert into late values ($1, $2)", "7", "3"))
        asked = floor.pending(made)
        review, rehearsal = shown(floor, asked)
        assert [one["value"] for one in review["held"]["approved_for"]["parameters"]] == ["7", "3"]
        assert rehearsal["rows"] == 1
        decide(floor.bob, asked)
        wire.until_ready()
        assert floor.left("late") == 1
        # What waits for the end of a transaction is known before people are asked.
        for send in (bound("insert into late values ($1, 99)", "8"),
                     (message(b"Q", text("insert into late values (8, 99)")),)):
            wire.send(*send)
            with pytest.raises(Refused) as refused:
                wire.until_ready()
            assert refused.value.fields["C"] == "23503"
        assert floor.reviews(made, "PENDING") == [] and floor.left("late") == 1
        assert wire.ask("select 1")


def test_an_approval_is_for_that_execution_alone(floor):
    made, table = floor.open(REHEARSED), floor.table()
    statement = f"delete from {table} where a = 1"
    with Wire(made) as wire:
        wire.send(message(b"Q", text(statement)))
        asked = floor.pending(made)
    floor.is_state(asked, "CANCELLED")  # its client went
    assert floor.left(table) == 10
    decide(floor.bob, asked, expect=400)
    with Wire(made) as wire:
        wire.send(message(b"Q", text(statement)))
        again = floor.pending(made)
        assert again != asked
        cancel(made, wire)
        with pytest.raises(Refused) as refused:
            wire.until_ready()
        assert refused.value.fields["C"] == "57014"
        floor.is_state(again, "CANCELLED")
        assert floor.left(table) == 10 and wire.ask("select 1")
        # The one who asked approves nothing.
        wire.send(message(b"Q", text(statement)))
        third = floor.pending(made)
        assert floor.ann.put(f"/reviews/{third['review_id']}",
                             {"status": "APPROVED"}).status in (400, 403)
        began = time.monotonic()
        with pytest.raises(Refused) as refused:
            wire.until_ready()
        assert "within" in str(refused.value) and time.monotonic() - began < LOCKED_S + 5
    wait_for(lambda: floor.state(third) in ("CANCELLED", "EXPIRED"), what="its end")
    decide(floor.bob, third, expect=400)
    assert floor.left(table) == 10
    log = {entry["action"] for entry in floor.log(again)}
    assert {"request_review", "cancel"} <= log and "run_held" not in log


@pytest.mark.parametrize("statement", (
    "drop table buyers", "truncate orders", "select count(*) from orders",
    "delete from orders; delete from buyers", "delete from orders where id = mine()",
    "with gone as (delete from orders returning *) insert into traces select 'x' from gone"))
def test_what_cannot_be_taken_back_is_refused_in_words(floor, statement):
    made = floor.open(REHEARSED, AGAIN)
    with Wire(made) as wire, pytest.raises(Refused) as refused:
        wire.ask(statement)
    assert refused.value.fields["C"] == "42501" and "rehearsal" in str(refused.value)
    assert floor.reviews(made) == [] and floor.left("orders") == 20


def test_a_transaction_of_the_clients_is_not_ended_by_us(floor):
    made = floor.open(REHEARSED)
    with Wire(made) as wire:
        wire.ask("begin")
        for run in (lambda: wire.ask("delete from orders"),
                    lambda: run_bound(wire, "delete from orders where id > $1", "1")):
            with pytest.raises(Refused) as refused:
                run()
            assert refused.value.fields["C"] in ("42501", "25P02")
        wire.ask("rollback")
        # Two in a batch share a transaction.
        wire.send(*bound("select $1::text", "1")[:3], *bound("delete from orders where id > $1", "1"))
        with pytest.raises(Refused) as refused:
            wire.until_ready()
        assert refused.value.fields["C"] == "42501"
        wire.send(*bound("delete from orders where id > $1", "1")[:3],
                  *bound("select $1::text", "1"))
        with pytest.raises(Refused) as refused:
            wire.until_ready()
        assert refused.value.fields["C"] == "42501"
    assert floor.reviews(made) == [] and floor.left("orders") == 20


def test_it_waits_for_locks_for_a_while_only(floor):
    made, table = floor.open(REHEARSED), floor.table()
    with meanwhile(floor.target.ask, f"begin; lock table {table}; select pg_sleep(8)"):
        wait_for(lambda: floor.target.ask(
            "select count(*) from pg_locks where mode = 'AccessExclusiveLock' and "
            f"relation = '{table}'::regclass") == "1", what="the lock")
        with Wire(made) as wire, pytest.raises(Refused) as refused:
            wire.ask(f"delete from {table}")
        assert refused.value.fields["C"] == "55P03"
    assert floor.reviews(made) == []


def test_other_protocols_say_that_they_cannot(floor):
    controls = floor.admin.get(f"/connections/{floor.connection()}/controls").json
    assert controls["rehearsed_statements"] == "enforced"
    answer = floor.admin.post("/guardrails", {
        "name": "out", "output": {"rules": [{"type": "deny_words_list", "words": ["x"],
                                             "action": "rehearse"}]}})
    assert answer.status == 400 and "rehearse" in answer.message


def test_a_script_over_the_api_is_reviewed_as_a_whole(floor):
    """Before it runs, and so it is not rehearsed; without reviewers it is refused in words."""
    made, table = floor.open(REHEARSED), floor.table()
    asked = floor.ask(made["connection_name"], f"delete from {table} where a = 3")
    review = floor.bob.get(f"/reviews/{asked['review_id']}").json
    assert review["type"] == "onetime" and review["held"] is None and floor.left(table) == 10
    found = floor.bob.get(f"/reviews/{asked['review_id']}/sample").json
    assert not found["is_available"] and "nothing was rehearsed" in found["why_not"]
    decide(floor.bob, asked)
    assert floor.run(asked)["output_status"] == "success" and floor.left(table) == 9
    name = floor.open(REHEARSED, reviewed=False)["connection_name"]
    answer = floor.ann.post("/sessions", {"connection": name, "script": f"delete from {table}"})
    assert answer.json["output_status"] == "failed", answer
    assert "nobody is named" in answer.json["output"] and floor.left(table) == 9


def test_a_target_that_dies_meanwhile_takes_it_along(floor):
    made, table = floor.open(REHEARSED), floor.table()
    with Wire(made) as wire:
        wire.send(message(b"Q", text(f"delete from {table}")))
        asked = floor.pending(made)
        assert floor.target.ask(
            "select count(pg_terminate_backend(l.pid)) from pg_locks l where l.mode = "
            f"'RowExclusiveLock' and l.relation = '{table}'::regclass") == "1"
        wait_for(lambda: floor.state(asked) == "CANCELLED", what="its end")
        assert wire.fatal()
    decide(floor.bob, asked, expect=400)
    assert not floor.bob.get(f"/reviews/{asked['review_id']}/sample").json["is_available"]
    assert floor.left(table) == 10


def test_of_two_who_decide_at_once_one_does(floor):
    """And what is there is what he decided."""
    made, table = floor.open(REHEARSED), floor.table()
    with Wire(made) as wire, concurrent.futures.ThreadPoolExecutor(3) as pool:
        for number in range(1, 7):
            wire.send(message(b"Q", text(f"delete from {table} where a = {number}")))
            asked = floor.pending(made)
            path = f"/reviews/{asked['review_id']}"
            calls = [pool.submit(floor.bob.put, path, {"status": "APPROVED"}),
                     pool.submit(floor.both.put, path, {"status": "REJECTED"}),
                     pool.submit(floor.bob.get, path + "/sample")]
            approved, rejected, _ = (call.result().status for call in calls)
            assert sorted((approved, rejected)) in ([200, 400], [200, 409]), (approved, rejected)
            try:
                wire.until_ready()
                is_gone = True
            except Refused as refused:
                assert refused.fields["C"] == "42501"
                is_gone = False
            assert is_gone is (approved == 200)
            floor.is_state(asked, "EXECUTED" if is_gone else "REJECTED")
            left = floor.target.ask(f"select count(*) from {table} where a = {number}")
            assert left == ("0" if is_gone else "1")


def test_what_it_did_is_not_what_the_statement_says(floor):
    """What was counted before lies in the session meanwhile, where code could write it anew."""
    oid = floor.target.ask("select 'orders'::regclass::oid")
    made = floor.open(REHEARSED)
    change = ("update orders set total = total where id = 1 and set_config('gatehouse.before', "
              f"'{{\"{oid}\": [0, 1, 0]}}', true) is not null")
    with meanwhile(psql, made, change) as done:
        asked = floor.pending(made)
        _review, rehearsal = shown(floor, asked)
        decide(floor.bob, asked, "REJECTED", reason="seen")
        with pytest.raises(AssertionError, match="seen"):
            done.result()
    assert {"table": "public.orders", "inserted": 0, "updated": 1, "deleted": 0} in \
        rehearsal["effects"]["tables"]
