# SPDX-License-Identifier: MIT
"""Results of any size over the API, page by page: the target waits for who reads."""
import time

import pytest

from api import unique
from conftest import IS_SANITIZED, PATIENCE, wait_for
from native import sql

HOLD_SECONDS = 60


@pytest.fixture(scope="module")
def name(quick, target):
    return target.connection(quick)


def begin(api, name, script, status=200, **query):
    text = "&".join(f"{key}={value}" for key, value in {"results": "pages", **query}.items())
    answer = api.post(f"/sessions?{text}", {"connection": name, "script": script})
    assert answer.status == status, answer
    return answer.json


def follow(api, page, status=200):
    answer = api.get(page["next"].removeprefix("/api"))
    assert answer.status == status, answer
    return answer.json


def read_all(api, page):
    pages = [page]
    while pages[-1]["next"]:
        pages.append(follow(api, pages[-1]))
    return pages


def running(target, word):
    return int(sql(target.server, "select count(*) from pg_stat_activity where state = 'active' "
                   f"and usename = '{target.user}' and query like '%{word}%'"))


@pytest.fixture(scope="module")
def forgotten(quick, target, name):
    """Begun first and never read on: what comes of it is looked at last."""
    table = unique("never").replace("-", "_")
    page = begin(quick, name, f"select generate_series(1, 900000) as waits; "
                              f"create table {table} as select 1")
    return page, table, time.monotonic()


def test_pages(quick, target, name, forgotten):
    pages = read_all(quick, begin(quick, name, "select generate_series(1, 2500) as n, null as o; "
                                               "select 'behind it' as b", results="pages"))
    assert [page["output_status"] for page in pages] == ["running", "running", "success"]
    assert [page["exit_code"] for page in pages] == [-2, -2, 0]
    assert [len(page["statements"][0]["rows"]) for page in pages] == [1000, 1000, 500]
    assert [page["statements"][0]["continued"] for page in pages] == [False, True, True]
    rows = [row for page in pages for row in page["statements"][0]["rows"]]
    assert rows == [[n, None] for n in range(1, 2501)]
    assert all(page["statements"][0]["columns"] == [
        {"name": "n", "type": "integer"}, {"name": "o", "type": "text"}] for page in pages)
    last, behind = pages[-1]["statements"]
    assert (last["command"], last["rows_affected"]) == ("SELECT 2500", 2500)
    assert behind["rows"] == [["behind it"]] and not behind["continued"]
    assert not any(page["truncated"] for page in pages)
    whole = begin(quick, name, "select 1 as n")
    assert whole["next"] is None and whole["statements"][0]["rows"] == [[1]]


def test_a_page_can_be_asked_for_again(quick, target, name):
    first = begin(quick, name, "select generate_series(1, 7) as n", page_size=3)
    second = follow(quick, first)
    assert follow(quick, first)["statements"] == second["statements"]
    third = follow(quick, second)
    again = follow(quick, second)
    assert third["next"] is None and again["statements"] == third["statements"]
    path = first["next"].removeprefix("/api")[:-1]
    for page, words in [("1", "page 1 is not here"), ("4", "none follows"), ("0", "number"),
                        ("x", "number"), ("99999999999999999999", "number")]:
        answer = quick.get(path + page)
        assert answer.status == 404 and words in answer.message, answer


def test_only_who_began_it_reads_it(quick, target):
    group = unique("group")
    one, other = quick.key(group), quick.key(group)
    page = begin(one, target.connection(quick), "select generate_series(1, 2001)")
    path = page["next"].removeprefix("/api")
    for caller in other, quick:
        answer = caller.get(path)
        assert answer.status == 404 and "holds no pages" in answer.message, answer
    assert len(read_all(one, page)) == 3


def test_what_fills_a_page(quick, target, name):
    pages = read_all(quick, begin(quick, name, "select repeat('x', 300000) as t from "
                                               "generate_series(1, 7)"))
    sizes = [len(page["statements"][0]["rows"]) for page in pages]
    assert sizes == [3, 3, 1]
    pages = read_all(quick, begin(quick, name, "select 1; select repeat('é', 900000)"))
    assert sum(len(s["rows"]) for page in pages for s in page["statements"]) == 2
    assert not any(page["truncated"] for page in pages)
    pages = read_all(quick, begin(quick, name, "select repeat('x', 3000000); select 2"))
    assert pages[-1]["truncated"] and pages[-1]["statements"][-1]["rows"] == [[2]]
    pages = read_all(quick, begin(
        quick, name, "copy (select repeat('y', 99), generate_series(1, 30000)) to stdout"))
    text = "".join(page["statements"][0]["text"] for page in pages)
    assert len(pages) > 2 and text.splitlines()[-1] == "y" * 99 + "\t30000"
    assert len(text.splitlines()) == 30000
    for size in "0", "10001", "x":
        answer = quick.post(f"/sessions?results=pages&page_size={size}",
                            {"connection": name, "script": "select 1"})
        assert answer.status == 400 and "page_size" in answer.message, answer


def test_an_error_behind_a_page(quick, name):
    pages = read_all(quick, begin(quick, name, "select 10 / (5 - n) from generate_series(1, 9) "
                                               "as n; select 2", page_size=2))
    error = pages[-1]["statements"][-1]["error"]
    assert error["code"] == "22012" and pages[-1]["output_status"] == "failed"
    assert [row for page in pages for s in page["statements"] for row in s["rows"]] == [
        [2], [3], [5], [10]]


def test_a_hundred_million_rows_take_no_room(quick, target, name):
    page = begin(quick, name, "select generate_series(1, 100000000) as n, repeat('z', 90) as z",
                 page_size=10000)
    before = quick.gateway.resident_kib()
    read = len(page["statements"][0]["rows"])
    for _ in range(20):
        page = follow(quick, page)
        read += len(page["statements"][0]["rows"])
    assert page["statements"][0]["rows"][-1][0] == read > 100000
    # What is freed is kept for a while by sanitizers.
    assert IS_SANITIZED or quick.gateway.resident_kib() < before + 8 * 1024
    assert running(target, "100000000") == 1
    begun = time.monotonic()
    assert quick.post(f"/sessions/{page['session_id']}/kill").status == 204
    wait_for(lambda: running(target, "100000000") == 0, what="the end of the statement")
    assert time.monotonic() - begun < 3
    last = follow(quick, page)
    assert last["output_status"] == "failed" and last["next"] is None, last
    assert last["statements"][0]["rows"] == [] and "ended" in last["output"]


def test_a_page_that_is_not_there_yet(quick, name):
    page = begin(quick, name, "select 1 as a; select 2 as a; select pg_sleep(1.5)", page_size=1)
    begun = time.monotonic()
    page = follow(quick, page)
    assert time.monotonic() - begun > 1 and page["statements"][0]["rows"] == [[2]]
    assert follow(quick, page)["statements"][-1]["rows"] == [[""]]


def test_who_does_not_read_on_ends_it(quick, target, forgotten):
    page, table, begun = forgotten
    if time.monotonic() - begun < HOLD_SECONDS - 5:
        assert running(target, "waits") == 1

    def ended():
        session = quick.get(f"/sessions/{page['session_id']}").json
        return session if session["status"] == "done" else None
    session = wait_for(ended, HOLD_SECONDS + PATIENCE, "the end of what nobody reads")
    assert session["end_reason"] == "the next page of its rows was not asked for in time"
    assert time.monotonic() - begun > HOLD_SECONDS - 1
    answer = quick.get(page["next"].removeprefix("/api"))
    assert answer.status == 404 and "not asked for in time" in answer.message, answer
    assert running(target, "waits") == 0
    assert sql(target.server, f"select to_regclass('{table}') is null") == "t"
