# SPDX-License-Identifier: MIT
"""The lists behind the pages: none looks at more rows than its bounds, on either store; they go on
by a cursor, past what was made meanwhile; what they do not know they refuse."""
import os
import random
import re
import shutil
import sqlite3
import sys
import tempfile

import pytest

from api import unique
from conftest import Gateway, PostgresServer, wait_for
from store import Store, new_organization

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
import bench_lists  # noqa: E402
from caller import resource, role  # noqa: E402

SIZE = 0.04  # 40,000 sessions and entries, 4,000 connections: more than any bound
LOOKED = 2000
COUNTED = 10_000
# Lists that stay short: what people write down, not what happens. Reviews are looked at elsewhere.
SHORT = {"/api/resources", "/api/reviews", "/api/attributes", "/api/access-requests/rules",
         "/api/notifications/deliveries", "/api/users", "/api/saved-queries"}
EXPLAIN = ["session_preload_libraries=auto_explain", "auto_explain.log_min_duration=0",
           "auto_explain.log_analyze=on", "auto_explain.log_timing=off",
           "jit=off", "max_parallel_workers_per_gather=0"]


@pytest.fixture(scope="module")
def server():
    folder = tempfile.mkdtemp(prefix="gatehouse-lists-")
    made = PostgresServer(folder, *(word for one in EXPLAIN for word in ("-c", one)))
    yield made
    made.stop()
    shutil.rmtree(folder, ignore_errors=True)


def home(caller):
    return caller.get("/userinfo").json["org_id"]


def started(folder, *arguments):
    gateway = Gateway(folder, *arguments)
    made = gateway.admin.post("/resources", resource("first", agent_id=home(gateway.admin),
                                                     roles=[role("first-0")]))
    assert made.status == 201, made
    return gateway


@pytest.fixture(scope="module")
def shared(server, tmp_path_factory):
    url = server.create("lists")
    gateway = started(tmp_path_factory.mktemp("shared"), "--database-url", url)
    bench_lists.fill_postgres(url, SIZE)
    yield gateway
    gateway.stop()


@pytest.fixture(scope="module")
def embedded(tmp_path_factory):
    gateway = started(tmp_path_factory.mktemp("embedded"))
    bench_lists.fill_sqlite(os.path.join(gateway.data, "gatehouse.db"), SIZE)
    yield gateway
    gateway.stop()


def plans(server, ask):
    """{SQL: plan} of what the gateway asks the store in it; a plan is written when its transaction
    ends, which is behind the answer."""
    path = os.path.join(server.folder, "log")
    begun = os.path.getsize(path)
    ask()

    def found():
        with open(path, encoding="utf-8") as log:
            log.seek(begun)
            text = log.read()
        seen = dict(re.findall(r"plan:\n\tQuery Text: (.*?)\n((?:\t.*\n)+)", text))
        return seen if len([sql for sql in seen if " session " in sql]) > 10 else None

    return wait_for(found, what="plans of lists")


def looked_at(plan):
    """The most rows that one step of it took up."""
    most = 0
    for line in plan.splitlines():
        step = re.search(r"actual rows=(\d+) loops=(\d+)", line)
        removed = re.search(r"Rows Removed by (?:Join )?Filter: (\d+)", line)
        if step:
            most = max(most, int(step.group(1)) * int(step.group(2)))
        if removed:
            most = max(most, int(removed.group(1)))
    return most


def lists():
    return [(title, new()) for title, new, _ in bench_lists.lists(SIZE, random.Random(5))]


def test_no_list_looks_at_all_there_is(server, shared, embedded):
    store, wrong = Store(embedded), []

    def ask():
        for _, path in lists():
            answer = shared.admin.get(path)
            assert answer.status == 200, answer

    asked = plans(server, ask)
    for sql, plan in asked.items():
        if looked_at(plan) > COUNTED + LOOKED:
            wrong.append(f"{looked_at(plan)} rows: {sql}\n{plan}")
    database = sqlite3.connect(store.path)
    for sql in sorted(asked):
        if not re.search(r"\b(session|connection|connection_gram|audit_entry)\b", sql):
            continue
        plan = [row[3] for row in database.execute(
            "EXPLAIN QUERY PLAN " + re.sub(r"\$(\d+)", r"?\1", sql),
            ["1"] * max(map(int, re.findall(r"\$(\d+)", sql))))]
        wrong += [f"SQLite: {step}: {sql}" for step in plan
                  if re.match(r"SCAN (session|connection\w*|audit_entry|[cw])\b", step)
                  or ("TEMP B-TREE FOR ORDER BY" in step)]
    database.close()
    assert not wrong, "\n".join(wrong)


def test_each_list_of_the_api_is_looked_at_here(embedded):
    described = embedded.admin.get("/openapi.json").json["paths"]
    found = {path for path, methods in described.items() if "{" not in path
             and any(one["name"] in ("page", "limit") for one in
                     methods.get("get", {}).get("parameters", []))}
    watched = {"/api" + path.split("?")[0] for _, path in lists()}
    found = {path if path.startswith("/api") else "/api" + path for path in found}
    assert watched <= found and found - watched <= SHORT, found - watched


def walk(caller, path, size_word="page_size", size=100):
    """All pages by cursor."""
    found, cursor, count = [], "", 0
    while cursor is not None:
        answer = caller.get(f"{path}{'&' if '?' in path else '?'}cursor={cursor}&{size_word}={size}")
        assert answer.status == 200, answer
        found += answer.json["data"]
        cursor, count = answer.json["next_cursor"], count + 1
        assert count < 1000
    return found, count


@pytest.mark.parametrize("kind", ["embedded", "shared"])
def test_a_walk_finds_each_once(kind, request):
    gateway = request.getfixturevalue(kind)
    admin, store = gateway.admin, Store(gateway)

    def rows(sql):
        return [row[0] for row in store.ask(sql)]

    person = "person7@example.com"
    for path, sql in {
            f"/sessions?user={person}":
                f"SELECT id FROM session WHERE user_email = '{person}' ORDER BY started_at DESC",
            "/sessions?has_hit=true&user=u0":
                "SELECT id FROM session WHERE guardrails_count > 0 AND user_id = 'u0' "
                "ORDER BY started_at DESC",
            "/sessions?rule=no%20write%20without%20where&subtype=mysql":
                "SELECT id FROM session WHERE guardrails_count > 0 AND connection_subtype = 'mysql' "
                "ORDER BY started_at DESC",
            "/sessions?search=PERSON999%40":
                "SELECT id FROM session WHERE user_email = 'person999@example.com' "
                "ORDER BY started_at DESC",
            "/connections?search=-0000012": "SELECT name FROM connection WHERE name LIKE '%-0000012%' "
                                            "ORDER BY name",
            "/connections?search=g-00000": "SELECT name FROM connection WHERE name LIKE '%g-00000%' "
                                           "ORDER BY name",
            "/connections?search=ER": "SELECT name FROM connection WHERE name LIKE '%er%' OR "
                                      "subtype LIKE '%er%' ORDER BY name",
            "/connections?search=nothing-such": "SELECT name FROM connection WHERE name = 'none'",
            "/audit/logs?action=delete&resource_type=guardrails":
                "SELECT id FROM audit_entry WHERE action = 'delete' AND resource_type = 'guardrails' "
                "ORDER BY number DESC",
            "/audit/logs?http_path=orders-0000071":
                "SELECT id FROM audit_entry WHERE http_path LIKE '%orders-0000071%' "
                "ORDER BY number DESC"}.items():
        found, count = walk(admin, path, "limit" if "/sessions" in path else "page_size")
        wanted = rows(sql)
        got = [one["name" if "/connections" in path else "id"] for one in found]
        assert got == wanted, (path, len(got), len(wanted), count)


@pytest.mark.parametrize("kind", ["embedded", "shared"])
def test_totals_say_where_they_end(kind, request):
    admin = request.getfixturevalue(kind).admin
    first = admin.get("/audit/logs?page_size=1").json
    assert first["pages"]["total"] == first["data"][0]["number"]
    deep = admin.get(f"/audit/logs?page_size=10&page={first['pages']['total'] // 10}").json
    assert len(deep["data"]) == 10 and deep["data"][-1]["number"] <= 20
    for path, total in {"/sessions?": COUNTED, "/sessions?user=u1&": 40}.items():
        answer = admin.get(f"{path}cursor=").json
        assert answer["total"] == total and answer["total_is_capped"] is (total == COUNTED)
    part = admin.get("/sessions?cursor=&search=no-such-thing").json
    assert part["data"] == [] and part["has_next_page"] and part["looked_back_to"] is not None
    assert part["total"] == 0 and part["total_is_capped"]
    one = admin.get("/connections?page_size=2&search=orders-00000").json
    assert set(one) == {"data", "pages"} and one["pages"]["total"] > 2


def test_a_cursor_stays_where_it_is_when_more_comes(embedded):
    admin = new_organization(embedded.admin)
    store = Store(embedded)
    made = [store.add_session(home(admin), started_at=i + 1) for i in range(4)]
    first = admin.get("/sessions?cursor=&limit=2").json
    store.add_session(home(admin), started_at=100)
    second = admin.get(f"/sessions?cursor={first['next_cursor']}&limit=2").json
    assert [one["id"] for one in first["data"] + second["data"]] == made[::-1]
    assert second["next_cursor"] is None and second["has_next_page"] is False
    # A cursor of others leads to nothing of theirs.
    foreign = embedded.admin.get("/sessions?cursor=&limit=1").json["next_cursor"]
    assert [one["id"] for one in admin.get(f"/sessions?cursor={foreign}").json["data"]][-4:] == made[::-1]


def test_what_a_list_does_not_know_is_refused(embedded):
    admin = embedded.admin
    for path, word in {"/sessions?usr=x": "usr", "/sessions?limit=1&Connection=x": "Connection",
                       "/audit/logs?actor_mail=x": "actor_mail", "/connections?q=x": "q",
                       "/sessions?cursor=x": "cursor", "/audit/logs?cursor=-1": "cursor",
                       "/connections?cursor=a.b": "cursor", "/sessions?status=closed": "status",
                       "/sessions?has_hit=yes": "has_hit", "/sessions?cursor=&offset=1": "offset",
                       "/audit/logs?cursor=&page=2": "page", "/connections?cursor=&page=1": "page",
                       "/sessions?cursor=99999999999999999999.x": "cursor"}.items():
        answer = admin.get(path)
        assert answer.status == 400 and f"'{word}'" in answer.message, (path, answer)


@pytest.mark.parametrize("kind", ["embedded", "shared"])
def test_others_find_what_they_may_use(kind, request):
    """A member who sees little of much, and nothing of another organization."""
    gateway = request.getfixturevalue(kind)
    admin, group = gateway.admin, unique("few")
    admin.post("/users/groups", {"name": group})
    for name in ("orders-00000003", "billing-00000004"):
        assert admin.put(f"/connections/{name}/access", {"groups": [group]}).status == 200
    member = admin.key(group)
    found = {one["name"] for one in walk(member, "/connections?search=0000000")[0]}
    assert {"orders-00000003", "billing-00000004"} <= found
    other = new_organization(admin)
    assert other.get("/connections?search=orders").json["data"] == []
    assert other.get("/sessions?search=person").json["data"] == []
    assert other.get("/audit/logs?actor=u1").json["pages"]["total"] == 0


def test_a_name_is_found_after_its_resource_has_another(embedded):
    admin, name = embedded.admin, unique("tables")
    body = resource(name, agent_id=home(admin), roles=[role(f"in-{name}")])
    assert admin.post("/resources", body).status == 201
    moved = unique("moved")
    assert admin.put(f"/resources/{name}", {**body, "name": moved}).status == 200
    for search, wanted in {moved: [f"in-{name}"], f"n-{name}": [f"in-{name}"]}.items():
        found = admin.get(f"/connections?cursor=&search={search}").json["data"]
        assert [one["name"] for one in found] == wanted
    assert admin.delete(f"/connections/in-{name}").status == 204
    assert Store(embedded).ask(
        "SELECT count(*) FROM connection_gram WHERE name = ?", f"in-{name}") != [["99"]]
    assert admin.get(f"/connections?cursor=&search={moved}").json["data"] == []
