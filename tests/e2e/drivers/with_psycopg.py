# SPDX-License-Identifier: MIT
"""What psycopg 3 does: a line of JSON for each check of README.md."""
import datetime
import json
import os
import threading
import time

import psycopg
import psycopg_pool

CHANNEL = os.environ["CHANNEL"]
LARGE = "x" * 10485760


def dial(**options):
    return psycopg.connect(**{"sslmode": "verify-full", "connect_timeout": 20, "autocommit": True,
                              **options})


def check(name, run):
    try:
        result = {"check": name, "ok": True, "detail": run()}
    except Exception as error:
        result = {"check": name, "ok": False, "detail": f"{type(error).__name__}: {error}"[:300]}
    print(json.dumps(result, ensure_ascii=False), flush=True)


def connect():
    with dial(sslmode="disable") as conn:
        assert str(conn.info.server_version) == os.environ["SERVER_VERSION"]
        return conn.info.encoding, conn.info.parameter_status("TimeZone")


def tls():
    """Servers since 17 take it without being asked first."""
    ways = ["postgres", "direct"] if int(os.environ["SERVER_VERSION"]) >= 170000 else ["postgres"]
    found = []
    for way in ways:
        with dial(sslnegotiation=way) as conn:
            assert conn.pgconn.ssl_in_use
            found.append([way, conn.execute("SELECT current_user <> ''").fetchone()])
    return found


def channel_binding():
    with dial(channel_binding="require") as conn:
        return conn.execute("SELECT 1").fetchone()


def simple(conn):
    cursor = psycopg.ClientCursor(conn)
    cursor.execute("SELECT 1; SELECT %s, 2", ("a'b",))
    return [result.fetchall() for result in cursor.results()]


def parameters(conn, binary):
    rows = []
    for prepare in False, True, True:
        with conn.cursor(binary=binary) as cursor:
            cursor.execute(f"SELECT %{'b' if binary else 't'}, %s::text, 1.5::float8",
                           (7, "é"), prepare=prepare)
            rows += cursor.fetchall()
    assert rows == [(7, "é", 1.5)] * 3, rows
    return repr(rows)


def pipeline(conn):
    with conn.pipeline():
        cursors = [conn.execute("SELECT %s::int", (i,)) for i in range(50)]
        total = sum(cursor.fetchone()[0] for cursor in cursors)
    assert total == 1225
    try:
        with conn.pipeline():
            conn.execute("SELECT 1")
            conn.execute("SELECT 1/0")
            conn.execute("SELECT 2")
    except psycopg.Error as error:
        return total, error.sqlstate, conn.execute("SELECT 3").fetchone()


def transaction(conn):
    states = []
    conn.execute("CREATE TEMP TABLE rolled (id int)")
    conn.execute("BEGIN")
    conn.execute("INSERT INTO rolled VALUES (1)")
    for query in "SELECT 1/0", "SELECT 1":
        try:
            conn.execute(query)
        except psycopg.Error as error:
            states.append(error.sqlstate)
    states.append(conn.info.transaction_status.name)
    conn.execute("ROLLBACK")
    states.append(conn.execute("SELECT count(*) FROM rolled").fetchone()[0])
    assert states == ["22012", "25P02", "INERROR", 0], states
    return states


def copy(conn):
    conn.execute("CREATE TEMP TABLE copied (id int, name text)")
    with conn.cursor() as cursor:
        with cursor.copy("COPY copied FROM STDIN") as into:
            for i in range(1000):
                into.write_row((i, None if i % 2 else f"é{i}"))
        with cursor.copy("COPY copied TO STDOUT (FORMAT binary)") as out:
            size = sum(len(part) for part in out)
    try:
        with conn.cursor() as cursor, cursor.copy("COPY copied FROM STDIN") as into:
            into.write("no number\tx\n")
    except psycopg.Error as error:
        state = error.sqlstate
    return size, state, conn.execute("SELECT count(*), sum(id), count(name) FROM copied").fetchone()


def cursor(conn):
    with conn.transaction(), conn.cursor("many") as cursor:
        cursor.itersize = 100
        cursor.execute("SELECT generate_series(1, 1000)")
        total = sum(row[0] for row in cursor)
    assert total == 500500
    return total


def large(conn):
    found = conn.execute("SELECT %s::text || 'y'", (LARGE,)).fetchone()[0]
    assert found == LARGE + "y"
    return len(found)


def values(conn):
    moment = datetime.datetime(2024, 2, 29, 10, 34, 56, 789000, tzinfo=datetime.timezone.utc)
    sent = (None, [1, None, 3], psycopg.types.json.Jsonb({"a": [1, "é"]}), moment, "žluťoučký 🐎")
    found = []
    for binary in False, True:
        row = conn.execute("SELECT %s::text, %s::int[], %s::jsonb, %s::timestamptz, %s::text", sent,
                           binary=binary).fetchone()
        assert row[:2] == sent[:2] and row[2] == sent[2].obj and row[3:] == sent[3:], row
        found.append([*row[:3], row[3].isoformat(), row[4]])
    return found


def notify(conn):
    conn.execute(f"LISTEN {CHANNEL}")
    with dial() as other:
        other.execute("SELECT pg_notify(%s, 'été')", (CHANNEL,))
    found = [one.payload for one in conn.notifies(timeout=20, stop_after=1)]
    conn.execute("UNLISTEN *")
    assert found == ["été"]
    return found


def cancel(conn):
    """Also in the newest version of the protocol, whose keys are longer."""
    found = []
    with dial(max_protocol_version="latest") as newest:
        for one in conn, newest:
            threading.Timer(0.3, one.cancel_safe).start()
            started = time.monotonic()
            try:
                one.execute("SELECT pg_sleep(30)")
            except psycopg.errors.QueryCanceled as error:
                assert time.monotonic() - started < 15
                found.append([error.sqlstate, error.diag.message_primary])
            assert one.execute("SELECT 1").fetchone() == (1,)
    assert len(found) == 2
    return found


def notice(conn):
    found = []
    conn.add_notice_handler(lambda diag: found.append([diag.severity, diag.message_primary]))
    conn.execute("DO $$ BEGIN RAISE NOTICE 'über'; END $$")
    assert found == [["NOTICE", "über"]]
    return found


def pool():
    options = {"sslmode": "verify-full", "autocommit": True}
    total, lock = 0, threading.Lock()

    def work(pool):
        nonlocal total
        for i in range(20):
            with pool.connection() as conn:
                found = conn.execute("SELECT %s::int", (i,)).fetchone()[0]
            with lock:
                total += found
    with psycopg_pool.ConnectionPool(min_size=10, kwargs=options, timeout=30) as many:
        many.wait(30)
        threads = [threading.Thread(target=work, args=(many,)) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert total == 1900
    return total


def reconnect(conn):
    options = {"sslmode": "verify-full", "autocommit": True}
    with psycopg_pool.ConnectionPool(min_size=1, max_size=1, kwargs=options, timeout=30,
                                     check=psycopg_pool.ConnectionPool.check_connection) as one:
        with one.connection() as doomed:
            pid = doomed.execute("SELECT pg_backend_pid()").fetchone()[0]
        conn.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
        with one.connection() as fresh:
            again = fresh.execute("SELECT pg_backend_pid() <> %s", (pid,)).fetchone()[0]
    assert again
    with dial() as doomed:
        try:
            doomed.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        except psycopg.Error as error:
            return error.sqlstate, error.diag.message_primary, again


def main():
    check("connect", connect)
    check("tls", tls)
    check("channel-binding", channel_binding)
    conn = dial()
    check("simple", lambda: simple(conn))
    check("text", lambda: parameters(conn, False))
    check("binary", lambda: parameters(conn, True))
    for name, run in [("pipeline", pipeline), ("transaction", transaction), ("copy", copy),
                      ("cursor", cursor), ("large", large), ("values", values),
                      ("notify", notify), ("cancel", cancel), ("notice", notice)]:
        check(name, lambda run=run: run(conn))
    check("pool", pool)
    check("reconnect", lambda: reconnect(conn))


main()
