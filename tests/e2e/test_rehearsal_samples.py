# SPDX-License-Identifier: MIT
"""Rows that a rehearsed statement wrote, before and after: shown while it waits, to those who could
read them, masked as they would read them, and nowhere else."""
import contextlib
import pathlib

import pytest

from api import unique
from conftest import Gateway, wait_for
from native import OwnDatabase, psql
from people import TRUSTED, House
from pgwire import Refused, Wire, message, text
from test_held import Floor, bound
from test_rehearsals import REHEARSED
from test_reviews import decide

SECRET = "hidden-word-7781"


@pytest.fixture(scope="module")
def floor(tmp_path_factory, postgres):
    gateway = Gateway(tmp_path_factory.mktemp("samples"), *TRUSTED, "--held-locked-seconds", "120")
    shop = OwnDatabase(postgres, f"""
        CREATE TYPE mood AS ENUM ('calm', 'cross');
        CREATE TYPE pair AS (email text, note text);
        CREATE TABLE people (id int, "place ""x" text, email text, mail text, since date,
            mood mood, two pair, more jsonb, bytes bytea, story text,
            PRIMARY KEY (id, "place ""x"));
        INSERT INTO people SELECT i, 'p', '{SECRET}', 'a' || i || '@example.com', '2020-01-02'::date,
            'calm'::mood, '({SECRET},n)'::pair, '{{"n": 1}}'::jsonb, '{SECRET}'::bytea, repeat('s', i * 900)
            FROM generate_series(1, 40) i;
        CREATE TABLE keyless (a int, b text);
        INSERT INTO keyless SELECT i, 'b' || i FROM generate_series(1, 30) i;
        CREATE TABLE traces (what text);
        CREATE FUNCTION traced() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN INSERT INTO traces VALUES (new.email); RETURN NULL; END';
        CREATE TRIGGER tracing AFTER UPDATE OF since ON people FOR EACH ROW
            EXECUTE FUNCTION traced();
        CREATE VIEW shown AS SELECT id, email AS alias, mood FROM people;
        CREATE TABLE parts (id int PRIMARY KEY, email text) PARTITION BY RANGE (id);
        CREATE TABLE part_one PARTITION OF parts FOR VALUES FROM (0) TO (100);
        INSERT INTO parts SELECT i, '{SECRET}' FROM generate_series(1, 3) i;
        CREATE TABLE private (id int PRIMARY KEY, b text);
        INSERT INTO private VALUES (1, 'x'), (2, 'y');
        ALTER TABLE private ENABLE ROW LEVEL SECURITY;
        CREATE UNLOGGED TABLE large (id int PRIMARY KEY, b text);
        ALTER TABLE large ALTER b SET STORAGE plain;
        INSERT INTO large SELECT i, repeat('x', 7500) FROM generate_series(1, 18000) i;
        CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree);
        INSERT INTO tree VALUES (1, NULL), (2, 1), (3, 2);""")
    yield Floor(House(gateway), shop)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@contextlib.contextmanager
def rehearsed(floor, made, *messages):
    """The statement waits while the body runs; then it is denied."""
    with Wire(made) as wire:
        wire.send(*messages)
        asked = floor.pending(made)
        yield asked
        decide(floor.bob, asked, "REJECTED", reason="not these")
        with pytest.raises(Refused):
            wire.until_ready()


def query(statement):
    return message(b"Q", text(statement))


def sample(caller, asked, status=200):
    answer = caller.get(f"/reviews/{asked['review_id']}/sample")
    assert answer.status == status, answer
    return answer.json


def values(table, cells):
    return None if cells is None else dict(zip(table["columns"],
                                               [cell["value"] for cell in cells]))


def table_of(floor, asked, name="people"):
    found = sample(floor.bob, asked)
    assert found["is_available"], found
    return next(table for table in found["tables"] if table["table"] == name)


def mask(floor, made, **members):
    body = {"name": unique("rule"), "connection_names": [made["connection_name"]], **members}
    answer = floor.admin.post("/datamasking-rules", body)
    assert answer.status == 201, answer


def test_changed_rows_are_shown_before_and_after(floor):
    made = floor.open(REHEARSED)
    update = "update people set mood = 'cross', story = 'now' where id in (1, 2, 30)"
    with rehearsed(floor, made, query(update)) as asked:
        table = table_of(floor, asked)
        assert (table["updated"], table["why_not"], table["why_no_before"]) == (3, "", "")
        # Composites and bytes are none of the types that are shown.
        assert table["columns"] == ["id", 'place "x', "email", "mail", "since", "mood", "more",
                                    "story"] and table["hidden_columns"] == 2
        assert [row["change"] for row in table["rows"]] == ["update"] * 3
        pairs = {values(table, row["after"])["id"]:
                 (values(table, row["before"]), values(table, row["after"]))
                 for row in table["rows"]}
        before, after = pairs["1"]
        assert (before["mood"], after["mood"], after["story"]) == ("calm", "cross", "now")
        assert (before["story"], before["since"]) == ("s" * 900, "2020-01-02")
        at = table["columns"].index("story")
        state = {values(table, row["after"])["id"]: row["before"][at] for row in table["rows"]}
        assert state["30"] == {"value": None, "state": "too_long"}
        assert any(entry["action"] == "sample" for entry in floor.log(asked))


def test_new_and_deleted_rows_have_one_side(floor):
    made = floor.open(REHEARSED)
    with rehearsed(floor, made, *bound("insert into keyless select $1::int, 'new'", "77")) as asked:
        table = table_of(floor, asked, "keyless")
        row, = table["rows"]
        assert (row["change"], row["before"]) == ("insert", None)
        assert values(table, row["after"]) == {"a": "77", "b": "new"}
    with rehearsed(floor, made, query("delete from keyless where a > 2")) as asked:
        table = table_of(floor, asked, "keyless")
        assert table["deleted"] == 28 and len(table["rows"]) == 20
        assert {(row["change"], row["after"] is None) for row in table["rows"]} == {
            ("delete", True)}
        assert all(int(values(table, row["before"])["a"]) > 2 for row in table["rows"])
    with rehearsed(floor, made, query("merge into people p using keyless k on p.id = k.a when "
                                      "matched and p.id < 3 then update set mood = 'cross' when "
                                      "matched then delete")) as asked:
        table = table_of(floor, asked)
        assert "which ones were deleted" in table["why_no_before"]
        assert {row["change"] for row in table["rows"]} == {"update"}
        assert all(row["before"] is not None for row in table["rows"])


def test_what_cannot_be_had_is_said(floor):
    made = floor.open(REHEARSED)
    with rehearsed(floor, made, query("update keyless set b = 'c' where a = 1")) as asked:
        table = table_of(floor, asked, "keyless")
        assert "no primary key" in table["why_no_before"]
        assert table["rows"][0]["before"] is None and table["rows"][0]["change"] == "update"
        assert values(table, table["rows"][0]["after"]) == {"a": "1", "b": "c"}
    with rehearsed(floor, made, query("update people set id = id + 1000 where id = 1")) as asked:
        row, = table_of(floor, asked)["rows"]  # nobody knows what it was by its key
        assert row["before"] is None and row["after"][0]["value"] == "1001"
    for statement, name, why in (
            ("delete from private where id = 1", "private", "policies"),
            ("update large set b = 'short' where id = 1", "large", "128 MiB")):
        with rehearsed(floor, made, query(statement)) as asked:
            table = table_of(floor, asked, name)
            assert why in table["why_not"] and table["rows"] == [], table
    with rehearsed(floor, made, query("delete from people where id > 1000")) as asked:
        found = sample(floor.bob, asked)
        assert found["is_available"] and found["tables"] == [] and not found["why_not"], found


def test_values_are_masked_whatever_they_are_reached_by(floor):
    made = floor.open(REHEARSED)
    mask(floor, made, columns=[{"name": "people.email"}, {"name": "parts.email"}],
         supported_entity_types=[{"name": "MAILS", "entity_types": ["EMAIL_ADDRESS"]}])
    for statement in ("update shown set mood = 'cross' where id = 3",
                      "update people as alias set mood = 'cross' where id = 3",
                      "update people set since = since + 1 where id = 3",
                      "delete from people where id = 3"):
        with rehearsed(floor, made, query(statement)) as asked:
            table = table_of(floor, asked)
            row, = table["rows"]
            for side in "before", "after":
                shown = values(table, row[side])
                if shown is not None:
                    assert SECRET not in str(shown) and "a3@example" not in str(shown), shown
                    assert shown["mail"] == "[EMAIL_ADDRESS]" and shown["since"][:6] == "2020-0"
            states = [cell["state"] for cell in row["before"]]
            assert states[2:4] == ["masked", "masked"] and states[0] == "shown"
    # A part has another name than the table that the rule is about.
    with rehearsed(floor, made, query("update parts set id = id + 10 where id = 1")) as asked:
        table = table_of(floor, asked, "part_one")
        assert table["rows"] and SECRET not in str(table["rows"])
    # A rule about a view is one about what it shows.
    seen = floor.open(REHEARSED)
    mask(floor, seen, columns=[{"name": "shown.alias"}])
    with rehearsed(floor, seen, query("update people set mood = 'cross' where id = 4")) as asked:
        row, = table_of(floor, asked)["rows"]
        through = psql(seen, "select email from people where id = 4").stdout.strip()
        assert [cell["value"] for cell in row["before"]][2] == through
    # Neither the review nor the store has the rows.
    with rehearsed(floor, made, query("update people set mood = 'cross' where id = 4")) as asked:
        assert SECRET not in str(floor.admin.get(f"/reviews/{asked['review_id']}").json)
        for found in pathlib.Path(floor.house.gateway.data).rglob("*.db*"):
            assert SECRET.encode() not in found.read_bytes(), found


def test_only_those_see_rows_who_could_read_them(floor):
    made = floor.open(REHEARSED)
    name = made["connection_name"]
    out = floor.house.enter(floor.house.person("dba"))
    with rehearsed(floor, made, query("update people set mood = 'cross' where id = 5")) as asked:
        assert sample(out, asked)["is_available"]
        answer = floor.admin.put(f"/connections/{name}/access", {"groups": ["dev", "sec"]})
        assert answer.status == 200, answer
        for caller, why in ((floor.ann, "others than who asked"), (out, "may not use"),
                            (floor.bob, "may not use")):
            found = sample(caller, asked)
            assert why in found["why_not"] and found["tables"] == [], found
            assert not found["is_available"]
        assert sample(floor.both, asked)["is_available"]
        sample(floor.eve, asked, status=404)  # has no say in it
        floor.admin.put(f"/connections/{name}/access", {"groups": []})


@pytest.mark.parametrize("rail, why", (
    ({"output": {"rules": [{"type": "deny_words_list", "words": [SECRET]}]}}, "judges what is read"),
    ({"input": {"rules": [{"type": "sql", "operations": ["select"],
                            "relations": [{"name": "people", "access": "read"}]}]}},
     "keeps you from reading")))
def test_guard_rails_keep_what_they_keep(floor, rail, why):
    made = floor.open(REHEARSED)
    found = floor.admin.get(f"/connections/{made['connection_name']}").json
    answer = floor.admin.post("/guardrails", {"name": unique("rail"), **rail,
                                              "connection_ids": [found["id"]]})
    assert answer.status == 201, answer
    with rehearsed(floor, made, query("update people set mood = 'cross'")) as asked:
        found = sample(floor.bob, asked)
        words = found["why_not"] + "".join(table["why_not"] for table in found["tables"])
        assert why in words and SECRET not in str(found), found


def test_what_is_over_shows_no_rows(floor):
    def kept(asked):
        return int(floor.house.store.ask("SELECT length(sealed) FROM review WHERE id = ?",
                                         asked["review_id"])[0][0])

    made = floor.open(REHEARSED)
    with Wire(made) as wire:
        wire.send(query("update people set mood = 'cross' where id = 6"))
        asked = floor.pending(made)
        assert len(table_of(floor, asked)["rows"]) == 1
        before = kept(asked)
        decide(floor.bob, asked)
        wire.until_ready()
        found = sample(floor.bob, asked)
        assert not found["is_available"] and "nothing was rehearsed" not in found["why_not"]
    first = asked
    with Wire(made) as wire:
        wire.send(query("update people set mood = 'calm' where id = 6"))
        asked = floor.pending(made)
    for one in asked, first:  # nor are they in the store any more
        wait_for(lambda: kept(one) < before - 1000, what="the rows to be forgotten")
    wait_for(lambda: floor.state(asked) == "CANCELLED", what="its end")
    assert not sample(floor.bob, asked)["is_available"]
    assert floor.target.ask("select mood from people where id = 6") == "cross"


def test_the_sessions_own_settings_change_nothing(floor):
    made = floor.open(REHEARSED)
    with Wire(made) as wire:
        for setting in ("set search_path = ''", "set datestyle = 'SQL, DMY'",
                        "set statement_timeout = '5s'"):
            wire.ask(setting)
        wire.send(query("update public.people set story = 'now' where id = 7"))
        asked = floor.pending(made)
        table = table_of(floor, asked)
        assert values(table, table["rows"][0]["after"])["since"] == "2020-01-02"
        assert values(table, table["rows"][0]["before"])["since"] == "2020-01-02"
        decide(floor.bob, asked)
        wire.until_ready()
        assert [row[0] for row in wire.ask("show datestyle")] == ["SQL, DMY"]
        assert [row[0] for row in wire.ask("show statement_timeout")] == ["5s"]
