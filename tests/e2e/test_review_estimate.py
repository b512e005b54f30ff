# SPDX-License-Identifier: MIT
"""What reviewers are told of a statement before it runs: what its text says, and what the target's
planner expects of it, which is never asked of what could act when it is planned."""
import pytest

from conftest import Gateway
from native import OwnDatabase
from people import House
from pgwire import Wire, message, text
from store import new_organization
from test_held import SETTINGS, Floor, bound
from test_reviews import decide

ANY = {"type": "sql", "name": "all", "operations": ["delete", "update", "insert", "select"],
       "action": "review"}


@pytest.fixture(scope="module")
def floor(tmp_path_factory, postgres):
    gateway = Gateway(tmp_path_factory.mktemp("estimates"), *SETTINGS)
    shop = OwnDatabase(postgres, """
        CREATE TABLE orders (id int PRIMARY KEY, buyer text, total int);
        INSERT INTO orders SELECT i, 'buyer ' || i, i FROM generate_series(1, 5000) i;
        ANALYZE orders;
        CREATE TABLE traces (what text);
        CREATE FUNCTION writes() RETURNS void LANGUAGE sql AS
            'INSERT INTO traces VALUES (''ran'')';
        CREATE FUNCTION acts(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
            'BEGIN PERFORM writes(); RETURN $1; END';
        CREATE VIEW calling AS SELECT * FROM orders WHERE id = acts(1);
        CREATE TYPE pair AS (a int, b int);
        CREATE FUNCTION meets(pair, int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS
            'BEGIN PERFORM writes(); RETURN true; END';
        CREATE OPERATOR === (LEFTARG = pair, RIGHTARG = int, PROCEDURE = meets);
        CREATE DOMAIN even AS int CHECK (acts(VALUE) % 2 = 0);""")
    yield Floor(House(gateway), shop)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


def estimate(caller, asked, status=200):
    answer = caller.get(f"/reviews/{asked['review_id']}/estimate")
    assert answer.status == status, answer
    return answer.json


def test_the_planner_is_asked_with_the_values_and_nothing_runs(floor):
    made = floor.open(ANY)
    half = (2500).to_bytes(4, "big")
    binary = (message(b"P", text("", "delete from orders where id <= $1") + b"\0\1\0\0\0\x17"),
              message(b"B", text("", "") + b"\0\1\0\1\0\1\0\0\0\4" + half + b"\0\0"),
              message(b"E", text("") + bytes(4)), message(b"S"))
    for batch in bound("update orders set total = 0 where id <= $1", "2500"), binary:
        with Wire(made) as wire:
            wire.send(*batch)
            asked = floor.pending(made)
            found = estimate(floor.bob, asked)
            assert found["is_available"] and found["writes"] and found["why_not"] == "", found
            assert 2000 < found["rows"] < 3000 and found["cost"] > 0
            step = found["steps"][0]
            assert (step["node"], step["relation"]) == ("ModifyTable", "orders")
            assert step["operation"] in ("Update", "Delete") and step["depth"] == 0
            assert [one["depth"] for one in found["steps"][1:]] and "buyer" not in str(found)
            decide(floor.bob, asked, "REJECTED", reason="no")
    assert floor.left("orders") == 5000
    assert any(entry["action"] == "estimate" for entry in floor.log(asked))


def test_a_script_has_both(floor):
    name = floor.connection()
    floor.rule(name)
    asked = floor.ask(name, "select buyer from orders where total > 4000;")
    shown = floor.bob.get(f"/reviews/{asked['review_id']}").json
    assert shown["analysis"] == {"statements": 1, "operations": ["select"], "reads": ["orders"],
                                 "writes": [], "without_where": False, "is_unknown": False}
    found = estimate(floor.bob, asked)
    assert found["is_available"] and not found["writes"] and 900 < found["rows"] < 1100
    # Who asked sees it, too; who does not see the review sees nothing.
    assert estimate(floor.ann, asked)["is_available"]
    estimate(floor.cid, asked, 404)
    estimate(new_organization(floor.admin), asked, 404)


@pytest.mark.parametrize("statement", (
    "select * from orders where id = acts(1)",
    "select * from calling",
    "delete from orders where id = acts(1)",
    "select (1, 2)::pair === 1",
    "select 3::even",
    "select lo_import('/etc/passwd')",
    "select 1; select 2",
    "explain analyze delete from orders",
    "create table more (a int)",
    "call nothing()",
    "do $$begin delete from orders; end$$",
    "copy orders to stdout",
    "with gone as (delete from orders returning id) select acts(id) from gone",
    "select 1 where not",
))
def test_what_could_act_is_not_asked(floor, statement):
    name = floor.connection()
    floor.rule(name)
    found = estimate(floor.bob, floor.ask(name, statement))
    assert not found["is_available"] and found["why_not"] and found["steps"] == [], found
    assert floor.left("traces") == 0 and floor.left("orders") == 5000


def test_the_fixture_would_act(floor):
    """Planning alone runs what is said to be immutable: without the rules above it would."""
    before = floor.left("traces")
    floor.target.ask("explain select * from orders where id = acts(1)")
    assert floor.left("traces") > before
    floor.target.ask("delete from traces")


def test_what_changed_since_is_not_asked(floor):
    name = floor.connection()
    floor.rule(name)
    asked = floor.ask(name, "select 1")
    assert estimate(floor.bob, asked)["is_available"]
    floor.rule(name, min_approvals=2)
    found = estimate(floor.bob, asked)
    assert not found["is_available"] and "changed" in found["why_not"]


def test_other_targets_say_that_they_are_not_asked(floor):
    name = floor.connection()
    floor.rule(name)
    asked = floor.jit(name)
    found = estimate(floor.bob, {"review_id": asked["review_id"]})
    assert not found["is_available"] and "access" in found["why_not"]
    answer = floor.bob.call("HEAD", f"/reviews/{asked['review_id']}/estimate")
    assert answer.status == 400, answer
