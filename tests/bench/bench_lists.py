# SPDX-License-Identifier: MIT
"""The lists behind the pages of the console, on both stores: latencies of each with a million
sessions, a hundred thousand connections and a million audit entries (--size 10: ten times as many),
and what writing costs beside an empty store. With --beside, another build beside it."""
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from conftest import PostgresServer  # noqa: E402

from caller import Caller, resource, role  # noqa: E402
from servers import Gateway  # noqa: E402

SESSIONS, CONNECTIONS, ENTRIES = 1_000_000, 100_000, 1_000_000
USERS = 1000
START = 1_700_000_000_000_000  # of the first session; one each second
ROUNDS = 300
WRITES = 300

NUMBERS = {
    "sqlite": "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) "
              "SELECT i FROM n) numbers",
    "postgres": "generate_series(1::bigint, {count}) numbers(i)",
}
PADDED = {"sqlite": "printf('%08d', {number})", "postgres": "lpad(({number})::text, 8, '0')"}

# The first connection was made through the API; the others are copies of it.
FILL = """
INSERT INTO connection (id, organization_id, name, resource_id, type, subtype, document,
has_reviewers, needs_metadata, secret_view, created_at, updated_at)
SELECT 'c' || {number}, c.organization_id, (CASE i % 3 WHEN 0 THEN 'orders-' WHEN 1 THEN 'billing-'
ELSE 'stock-' END) || {number}, c.resource_id, c.type, c.subtype, c.document, c.has_reviewers,
c.needs_metadata, c.secret_view, c.created_at, c.updated_at
FROM {connections} CROSS JOIN connection c WHERE c.name = 'first-0';
UPDATE organization SET connection_count = (SELECT count(*) FROM connection);
INSERT INTO session (id, organization_id, connection_id, connection_name, connection_type,
connection_subtype, user_id, user_email, user_name, identity_type, verb, status, client_ip,
application_name, started_at, ended_at, end_reason, guardrails_info, guardrails_count)
SELECT 's' || {number}, o.id, 'c' || {of_connection}, (CASE (i * 7919 % {connection_count}) % 3
WHEN 0 THEN 'orders-' WHEN 1 THEN 'billing-' ELSE 'stock-' END) || {of_connection}, 'database',
CASE WHEN i % 5000 = 0 THEN 'mysql' ELSE 'postgres' END, 'u' || (i * 31 % {users}),
'person' || (i * 31 % {users}) || '@example.com', 'Person ' || (i * 31 % {users}), 'user',
'connect', CASE WHEN i % 10000 = 0 THEN 'open' ELSE 'done' END, '192.0.2.7', 'psql',
{start} + i * 1000000, {start} + i * 1000000 + 500000, 'client',
CASE WHEN i % 2000 = 0 THEN '{{"rule_name":"no write without where"}}' ELSE '' END,
CASE WHEN i % 2000 = 0 THEN 1 ELSE 0 END
FROM {sessions} CROSS JOIN organization o;
INSERT INTO audit_entry (organization_id, number, id, created_at, actor_subject, actor_email,
actor_name, resource_type, action, http_method, http_status, http_path, client_ip, payload, outcome,
error_message, previous_hash, hash)
SELECT o.id, m.last + i, 'a' || {number}, {start} + i * 1000000, 'u' || (i * 31 % {users}),
'person' || (i * 31 % {users}) || '@example.com', 'Person', CASE i % 500 WHEN 0 THEN 'guardrails'
ELSE 'connections' END, CASE i % 1000 WHEN 0 THEN 'delete' ELSE 'update' END, 'PUT',
200, '/api/connections/orders-' || {number}, '192.0.2.7', '{{}}', CASE i % 3000 WHEN 0 THEN 0 ELSE 1
END, '', '', 'none' FROM {entries} CROSS JOIN organization o
CROSS JOIN (SELECT max(number) AS last FROM audit_entry) m;
"""
GRAMS = """
INSERT INTO connection_gram (organization_id, gram, name)
WITH RECURSIVE place (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM place WHERE n < 100)
SELECT DISTINCT t.organization_id, substr(t.words, CAST(p.n AS INTEGER), 3), t.name
FROM (SELECT c.organization_id, c.name,
lower(c.name || ' ' || c.type || ' ' || c.subtype || ' ' || r.name) AS words
FROM connection c JOIN resource r ON r.id = c.resource_id WHERE c.id LIKE 'c0%') t
JOIN place p ON p.n <= length(t.words) - 2 ORDER BY 1, 2, 3;
"""


def script(engine, size, has_grams):
    def numbers(count):
        return NUMBERS[engine].format(count=int(count * size))
    count = int(CONNECTIONS * size)
    text = FILL.format(
        number=PADDED[engine].format(number="i"), users=USERS, start=START, connection_count=count,
        of_connection=PADDED[engine].format(number=f"i * 7919 % {count} + 1"),
        connections=numbers(CONNECTIONS), sessions=numbers(SESSIONS), entries=numbers(ENTRIES))
    return text + (GRAMS if has_grams else "")


def fill_sqlite(path, size):
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA cache_size = -800000")
        has_grams = bool(database.execute(
            "SELECT 1 FROM sqlite_master WHERE name = 'connection_gram'").fetchall())
        database.executescript("BEGIN;" + script("sqlite", size, has_grams) + "COMMIT;")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def fill_postgres(url, size):
    def psql(*arguments, **more):
        return subprocess.run(["psql", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", url, *arguments],
                              text=True, check=True, **more)
    has_grams = psql("-c", "SELECT to_regclass('connection_gram') IS NOT NULL",
                     capture_output=True).stdout.strip() == "t"
    psql(input="BEGIN; SET LOCAL synchronous_commit = off;" + script("postgres", size, has_grams) +
         "COMMIT; VACUUM ANALYZE;")


def lists(size, chosen):
    """(title, what is asked of this build, of one without cursors), with a value at each call."""
    sessions, connections, entries = (int(n * size) for n in (SESSIONS, CONNECTIONS, ENTRIES))

    def name():
        number = chosen.randrange(1, connections)
        return f"{('orders', 'billing', 'stock')[number % 3]}-{number:08d}"

    def person():
        return f"person{chosen.randrange(USERS)}@example.com"

    def day():
        from_s = START // 1_000_000 + chosen.randrange(sessions)
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(from_s))

    def place():
        return f"{START + chosen.randrange(sessions) * 1_000_000}.s"

    at, one = "/sessions?limit=50&cursor=", "/sessions?limit=50"
    book = "/audit/logs?page_size=50"
    return [
        ("sessions, newest", lambda: at, lambda: one),
        ("sessions, somewhere in the middle", lambda: at + place(), None),
        ("sessions of a connection", lambda: f"{at}&connection={name()}",
         lambda: f"{one}&connection={name()}"),
        ("sessions of a person", lambda: f"{at}&user={person()}", lambda: f"{one}&user={person()}"),
        ("sessions of a person on a connection",
         lambda: f"{at}&user={person()}&connection={name()}",
         lambda: f"{one}&user={person()}&connection={name()}"),
        ("sessions that are open", lambda: f"{at}&status=open", None),
        ("sessions of a protocol", lambda: f"{at}&subtype=mysql", None),
        ("sessions in which a rule was met", lambda: f"{at}&has_hit=true", None),
        ("sessions since a time", lambda: f"{at}&start_date={day()}",
         lambda: f"{one}&start_date={day()}"),
        ("sessions by a text", lambda: f"{at}&search={name()}", None),
        ("connections, from the start", lambda: "/connections?cursor=", lambda: "/connections"),
        ("connections by a text that one has",
         lambda: f"/connections?cursor=&search={name()[3:]}", lambda: f"/connections?search={name()[3:]}"),
        ("connections by a text that many have",
         lambda: "/connections?cursor=&search=orders", lambda: "/connections?search=orders"),
        ("audit log, newest", lambda: f"{book}&cursor=", lambda: book),
        ("audit log, a page in its depth",
         lambda: f"{book}&page={chosen.randrange(1, entries // 50)}", None),
        ("audit log of a person", lambda: f"{book}&cursor=&actor={person()}",
         lambda: f"{book}&actor_email={person()}"),
        ("audit log by action", lambda: f"{book}&cursor=&action=delete",
         lambda: f"{book}&action=delete"),
        ("audit log by kind", lambda: f"{book}&cursor=&resource_type=guardrails",
         lambda: f"{book}&resource_type=guardrails"),
        ("audit log, what was refused", lambda: f"{book}&cursor=&outcome=false",
         lambda: f"{book}&outcome=false"),
        ("audit log since a time", lambda: f"{book}&cursor=&created_after={day()}",
         lambda: f"{book}&created_after={day()}"),
        ("audit log by a part of a path",
         lambda: f"{book}&cursor=&http_path=orders-{chosen.randrange(1, entries):08d}",
         lambda: f"{book}&http_path=orders-{chosen.randrange(1, entries):08d}"),
    ]


def latencies_ms(admin, make, rounds):
    times = []
    for _ in range(rounds):
        path = make()
        start = time.perf_counter()
        admin.call("GET", path)
        times.append((time.perf_counter() - start) * 1000)
    return sorted(times)


def write_ms(admin, prefix):
    """The median of making a resource with a connection, with the entry in the audit log."""
    times = []
    for number in range(WRITES):
        start = time.perf_counter()
        admin.create(resource(f"{prefix}-{number}", roles=[role(f"{prefix}-{number}")]))
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def shown(times):
    return f"p50 {statistics.median(times):.2f} ms, p99 {times[int(len(times) * 0.99)]:.2f} ms"


def measure_binary(options, folder, binary, arguments, fill, is_beside):
    """{title: latencies}, and what writing takes before and after."""
    gateway = Gateway(binary, folder, *arguments)
    try:
        admin = Caller.register(gateway)
        admin.create(resource("first", roles=[role("first-0")]))
        write_ms(admin, "warm")
        empty = write_ms(admin, "empty")
        begun = time.perf_counter()
        fill()
        admin = Caller(admin.port, admin.key)  # the other has been idle for too long
        print(f"filled in {time.perf_counter() - begun:.0f} s", file=sys.stderr)
        found = {}
        for title, new, old in lists(options.size, random.Random(4)):
            make = old if is_beside else new
            if make is not None:
                latencies_ms(admin, make, 5)
                found[title] = latencies_ms(admin, make, 30 if is_beside else ROUNDS)
        return found, empty, write_ms(admin, "full")
    finally:
        gateway.stop()


def measure_store(options, title, make):
    found, empty, full = measure_binary(options, *make(options.binary), False)
    beside = {}
    if options.beside:
        beside = measure_binary(options, *make(options.beside), True)[0]
    rows = [(f"{name}, {title}", shown(times), shown(beside[name]) if name in beside else "", "",
             "p99 ≤ 20 ms") for name, times in found.items()]
    return [*rows, (f"a connection is made, {title}", f"{full:.2f} ms", f"empty: {empty:.2f} ms",
                    f"{full / empty:.2f}", "≤ 1.2")]


def measure(options, folder):
    os.chmod(folder, 0o755)

    def embedded(binary):
        own = tempfile.mkdtemp(dir=folder)
        return own, binary, [], lambda: fill_sqlite(f"{own}/data/gatehouse.db", options.size)

    rows = measure_store(options, "SQLite", embedded)
    server = PostgresServer(tempfile.mkdtemp(dir=folder))

    def shared(binary):
        url = server.create(f"bench{random.randrange(10**9)}")
        return (tempfile.mkdtemp(dir=folder), binary, ["--database-url", url],
                lambda: fill_postgres(url, options.size))

    try:
        return rows + measure_store(options, "PostgreSQL", shared)
    finally:
        server.stop()
