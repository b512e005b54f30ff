# SPDX-License-Identifier: MIT
"""A million connections in 200,000 resources, on both stores: latencies, and memory."""
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
from servers import Gateway, resident_mib  # noqa: E402

RESOURCES = 200_000
ROLES = 5

# The first resource was made through the API; the others are copies of it.
COPY = """
INSERT INTO resource (id, organization_id, name, type, subtype, agent_id, created_at, updated_at)
SELECT 'r' || {text}, organization_id, 'copy-' || {text}, type, subtype, agent_id, created_at,
updated_at FROM resource, {numbers} WHERE name = 'first';
INSERT INTO connection (id, organization_id, name, resource_id, type, subtype, document,
has_reviewers, needs_metadata, secret_view, created_at, updated_at)
SELECT 'c' || c.name || {text}, c.organization_id, c.name || '-' || {text}, 'r' || {text}, c.type,
c.subtype, c.document, c.has_reviewers, c.needs_metadata, c.secret_view, c.created_at, c.updated_at
FROM connection c, {numbers} WHERE c.resource_id = (SELECT id FROM resource WHERE name = 'first');
UPDATE organization SET resource_count = (SELECT count(*) FROM resource),
connection_count = (SELECT count(*) FROM connection);
"""


def fill_sqlite(path):
    numbers = (f"(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
               f"{RESOURCES - 1}) SELECT i FROM n) numbers")
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA synchronous = OFF")
        database.executescript(COPY.format(text="printf('%06d', numbers.i)", numbers=numbers))


def fill_postgres(url):
    numbers = f"generate_series(1, {RESOURCES - 1}) numbers(i)"
    sql = COPY.format(text="lpad(numbers.i::text, 6, '0')", numbers=numbers) + "VACUUM ANALYZE;"
    subprocess.run(["psql", "-q", "-v", "ON_ERROR_STOP=1", url], input=sql, text=True, check=True)


def latencies_ms(admin, paths):
    times = []
    for path in paths:
        start = time.perf_counter()
        admin.call("GET", path)
        times.append((time.perf_counter() - start) * 1000)
    return sorted(times)


def latency_rows(admin, title):
    chosen = random.Random(4)
    names = [f"/resources/copy-{chosen.randrange(1, RESOURCES):06d}" for _ in range(2000)]
    pages = [f"/resources?page={chosen.randrange(1, RESOURCES // 50 + 1)}" for _ in range(500)]
    latencies_ms(admin, names[:200] + pages[:20])
    one, page = latencies_ms(admin, names), latencies_ms(admin, pages)
    return [(f"GET among 1,000,000 connections, {title}", f"p50 {statistics.median(one):.2f} ms",
             f"p99 {one[int(len(one) * 0.99)]:.2f} ms", "", "p50 < 1 ms"),
            (f"list page among 200,000 resources, {title}",
             f"p99 {page[int(len(page) * 0.99)]:.2f} ms", f"p50 {statistics.median(page):.2f} ms",
             "", "p99 < 10 ms")]


def measure_store(options, folder, title, arguments, fill):
    gateway = Gateway(options.binary, folder, *arguments)
    admin = Caller.register(gateway)
    admin.create(resource("first", roles=[role(f"first-{i}") for i in range(ROLES)]))
    for _ in range(2000):
        admin.call("GET", "/resources")
    small = resident_mib(gateway.pid)
    fill()
    rows = latency_rows(admin, title)
    large = resident_mib(gateway.pid)
    gateway.stop()
    return [*rows, (f"memory with them, {title}", f"{large:.1f} MiB", f"without: {small:.1f} MiB",
                    f"{large / small:.2f}", "does not grow")]


def measure(options, folder):
    own = tempfile.mkdtemp(dir=folder)
    rows = measure_store(options, own, "SQLite", [],
                         lambda: fill_sqlite(f"{own}/data/gatehouse.db"))
    os.chmod(folder, 0o755)
    server = PostgresServer(tempfile.mkdtemp(dir=folder))
    url = server.create("bench")
    try:
        rows += measure_store(options, tempfile.mkdtemp(dir=folder), "PostgreSQL",
                              ["--database-url", url], lambda: fill_postgres(url))
    finally:
        server.stop()
    return rows
