# SPDX-License-Identifier: MIT
"""Which answer of a session is shown with which statement."""
import json

from conftest import wait_for
from native import credential, psql
from pgwire import Wire, message, text

SCRIPT = """SELECT 'one';
SELECT 'two';
BEGIN;
SELECT 'four';
COMMIT;
SELECT 1/0;
CREATE TEMP TABLE seven (a int);
COPY seven FROM STDIN;
8
\\.
SELECT 'nine' \\; SELECT 'nine again';
SELECT 'ten';
"""
TAGS = [(1, "SELECT 1"), (2, "SELECT 1"), (3, "BEGIN"), (4, "SELECT 1"), (5, "COMMIT"),
        (7, "CREATE TABLE"), (8, "COPY 1"), (9, "SELECT 1"), (9, "SELECT 1"), (10, "SELECT 1")]


def events_of(admin, name):
    def done():
        found = admin.get(f"/sessions?connection={name}").json["data"]
        return found[0] if found and found[0]["status"] == "done" else None
    session = wait_for(done, what="the session's end")
    answer = admin.get(f"/sessions/{session['id']}/download?extension=jsonl")
    assert answer.status == 200, answer
    return [json.loads(line) for line in answer.body.splitlines()]


def of(events, kind, member):
    return [(event["statement"], event[member]) for event in events if event["type"] == kind]


def test_what_psql_asked(admin, target):
    name = target.connection(admin)
    psql(credential(admin, name), SCRIPT, "-v", "ON_ERROR_STOP=0")
    events = events_of(admin, name)
    opened = events[0]["session"]
    assert (opened["connection"], opened["status"], opened["guardrails_info"]) == (name, "open", [])
    assert [number for number, _text in of(events, "statement", "text")] == list(range(1, 11))
    assert of(events, "row", "values") == [
        (1, ["one"]), (2, ["two"]), (4, ["four"]), (9, ["nine"]), (9, ["nine again"]),
        (10, ["ten"])]
    assert of(events, "done", "tag") == TAGS
    assert of(events, "error", "code") == [(6, "22012")]
    assert of(events, "copy", "data")[0][0] == 8


def parse(name, query):
    return message(b"P", text(name, query) + b"\0\0")


def run(name=""):
    return (message(b"B", text("", name) + b"\0\0\0\0\0\0") +
            message(b"E", text("") + b"\0\0\0\0"))


def test_what_a_pipeline_asked(admin, target):
    """Batches that do not wait for one another; an error ends its own alone."""
    name = target.connection(admin)
    sync = message(b"S")
    with Wire(credential(admin, name)) as wire:
        wire.send(parse("", "SELECT 'one'"), run(), parse("", "SELECT 1/0"), run(),
                  parse("", "SELECT 'three'"), run(), sync, parse("", "SELECT 'four'"), run(), sync,
                  message(b"Q", text("SELECT 'five'; SELECT 'and five'")),
                  message(b"Q", text("SELECT 'six'")))
        for _ in range(4):
            while wire.read()[0] != b"Z":
                pass
        for number in "ab":  # statements that are only prepared and described
            wire.send(parse(number, f"SELECT '{number}' AS {number}"),
                      message(b"D", b"S" + text(number)), sync)
            wire.until_ready()
        wire.send(run("b"), sync)
        wire.until_ready()
        wire.send(run("a"), sync)
        wire.until_ready()
        wire.ask("SELECT 'nine'")
    events = events_of(admin, name)
    assert of(events, "row", "values") == [
        (1, ["one"]), (4, ["four"]), (5, ["five"]), (5, ["and five"]), (6, ["six"]), (7, ["b"]),
        (8, ["a"]), (9, ["nine"])]
    assert of(events, "error", "code") == [(2, "22012")]
    assert [event["statement"] for event in events if event["type"] == "skipped"] == [3]
    assert dict(of(events, "columns", "columns")) | {7: ["b"], 8: ["a"]} == \
        dict(of(events, "columns", "columns"))


def test_what_was_asked_amid_the_answers_to_several_statements(admin, target):
    """The server sends what it has when there is much of it: the client has read the first answer
    and sends the next query while the server still works on the ones before."""
    name = target.connection(admin)
    much = "SELECT length(repeat('x', 30000)), repeat('x', 30000)"
    with Wire(credential(admin, name)) as wire:
        for number, last in enumerate(["SELECT 'four'", "SELECT 1/0; SELECT 'never'"]):
            wire.send(message(b"Q", text(f"SELECT 'one;'; {much}; SELECT pg_sleep(0.7); {last}")))
            while wire.read()[0] != b"C":
                pass
            wire.send(message(b"Q", text(f"SELECT 'next {number}'")),
                      message(b"Q", text("BEGIN; SELECT 'more'; COMMIT")))
            for _ in range(3):
                while wire.read()[0] != b"Z":
                    pass
        wire.ask("SELECT 'last'; ;")
        wire.ask("SELECT 'very last'")
    events = events_of(admin, name)
    one = "SELECT 1"
    assert of(events, "done", "tag") == [
        (1, one), (1, one), (1, one), (1, one), (2, one), (3, "BEGIN"), (3, one), (3, "COMMIT"),
        (4, one), (4, one), (4, one), (5, one), (6, "BEGIN"), (6, one), (6, "COMMIT"), (7, one),
        (8, one)]
    assert of(events, "error", "code") == [(4, "22012")]
    rows = [(number, values[0]) for number, values in of(events, "row", "values")]
    assert rows == [
        (1, "one;"), (1, "30000"), (1, ""), (1, "four"), (2, "next 0"), (3, "more"),
        (4, "one;"), (4, "30000"), (4, ""), (5, "next 1"), (6, "more"), (7, "last"),
        (8, "very last")]
