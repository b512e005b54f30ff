# SPDX-License-Identifier: MIT
"""What asyncpg does: a line of JSON for each check of README.md."""
import asyncio
import datetime
import json
import os
import ssl

import asyncpg

CHANNEL = os.environ["CHANNEL"]
LARGE = "x" * 10485760
TRUST = ssl.create_default_context(cafile=os.environ["PGSSLROOTCERT"])


def say(name, ok, detail):
    print(json.dumps({"check": name, "ok": ok, "detail": detail}, ensure_ascii=False), flush=True)


async def check(name, run):
    try:
        say(name, True, await asyncio.wait_for(run, 30))
    except Exception as error:
        say(name, False, f"{type(error).__name__}: {error}"[:300])


async def dial():
    return await asyncpg.connect(ssl=TRUST, timeout=20)


async def connect():
    conn = await asyncpg.connect(ssl=False, timeout=20)
    version = await conn.fetchval("SHOW server_version_num")
    settings = conn.get_settings()
    await conn.close()
    assert version == os.environ["SERVER_VERSION"]
    return f"{version} {settings.server_encoding} {settings.TimeZone}"


async def tls():
    conn = await dial()
    found = conn._transport.get_extra_info("ssl_object").version()
    await conn.close()
    return found


async def simple(conn):
    return await conn.execute("SELECT 1; CREATE TEMP TABLE simple (id int); SELECT 2")


async def text(conn):
    """Of types without a codec of its own asyncpg reads and writes the text."""
    await conn.set_type_codec("numeric", schema="pg_catalog", encoder=str, decoder=str,
                              format="text")
    found = [await conn.fetchval("SELECT $1::numeric + 1", f"{i}.50") for i in range(3)]
    await conn.reset_type_codec("numeric", schema="pg_catalog")
    assert found == ["1.50", "2.50", "3.50"]
    return found


async def binary(conn):
    statement = await conn.prepare("SELECT $1::int8, $2::text, $3::float8, $4::bytea")
    rows = [tuple(await statement.fetchrow(7, "é", 1.5, b"\0\xff")) for _ in range(3)]
    assert rows == [(7, "é", 1.5, b"\0\xff")] * 3
    return repr(rows)


async def pipeline(conn):
    await conn.execute("CREATE TEMP TABLE batch (id int)")
    await conn.executemany("INSERT INTO batch VALUES ($1)", [(i,) for i in range(500)])
    try:
        await conn.executemany("INSERT INTO batch VALUES (1 / $1::int)", [(1,), (0,), (2,)])
    except asyncpg.PostgresError as error:
        return error.sqlstate, await conn.fetchval("SELECT count(*) FROM batch")


async def transaction(conn):
    states = []
    await conn.execute("CREATE TEMP TABLE rolled (id int)")
    await conn.execute("BEGIN")
    await conn.execute("INSERT INTO rolled VALUES (1)")
    for query in "SELECT 1/0", "SELECT 1":
        try:
            await conn.fetchval(query)
        except asyncpg.PostgresError as error:
            states.append(error.sqlstate)
    states.append(conn.is_in_transaction())
    await conn.execute("ROLLBACK")
    states.append(await conn.fetchval("SELECT count(*) FROM rolled"))
    assert states == ["22012", "25P02", True, 0], states
    return states


async def copy(conn):
    await conn.execute("CREATE TEMP TABLE copied (id int, name text)")
    into = await conn.copy_records_to_table("copied", records=[
        (i, None if i % 2 else f"é{i}") for i in range(1000)])
    size = 0

    async def count(part):
        nonlocal size
        size += len(part)
    out = await conn.copy_from_query("SELECT * FROM copied", output=count, format="csv")
    return into, out, size, await conn.fetchval("SELECT sum(id) FROM copied")


async def cursor(conn):
    total = 0
    async with conn.transaction():
        async for row in conn.cursor("SELECT generate_series(1, 1000)", prefetch=100):
            total += row[0]
    assert total == 500500
    return total


async def large(conn):
    found = await conn.fetchval("SELECT $1::text || 'y'", LARGE)
    assert found == LARGE + "y"
    return len(found)


async def values(conn):
    moment = datetime.datetime(2024, 2, 29, 10, 34, 56, 789000, tzinfo=datetime.timezone.utc)
    sent = (None, [1, None, 3], '{"a": [1, "é"]}', moment, "žluťoučký 🐎")
    found = tuple(await conn.fetchrow(
        "SELECT $1::text, $2::int[], $3::jsonb, $4::timestamptz, $5::text", *sent))
    assert found == sent, found
    return [*found[:3], found[3].isoformat(), found[4]]


async def notify(conn):
    heard = asyncio.get_running_loop().create_future()
    await conn.add_listener(CHANNEL, lambda *about: heard.set_result(about[3]))
    other = await dial()
    await other.execute("SELECT pg_notify($1, 'été')", CHANNEL)
    await other.close()
    found = await asyncio.wait_for(heard, 20)
    await conn.reset()
    assert found == "été"
    return found


async def cancel(conn):
    """A time-out: asyncpg asks the server to cancel and waits for its answer."""
    try:
        await conn.execute("SELECT pg_sleep(30)", timeout=0.3)
    except asyncio.TimeoutError:
        return await asyncio.wait_for(conn.fetchval("SELECT 'after'"), 15)


async def notice(conn):
    found = []
    conn.add_log_listener(lambda _, message: found.append([message.severity, message.message]))
    await conn.execute("DO $$ BEGIN RAISE NOTICE 'über'; END $$")
    await asyncio.sleep(0)
    assert found == [["NOTICE", "über"]]
    return found


async def pool():
    async def work(pool):
        return sum([await pool.fetchval("SELECT $1::int", i) for i in range(20)])
    async with asyncpg.create_pool(ssl=TRUST, min_size=10, max_size=10) as many:
        total = sum(await asyncio.gather(*[work(many) for _ in range(10)]))
    assert total == 1900
    return total


async def reconnect(conn):
    async with asyncpg.create_pool(ssl=TRUST, min_size=1, max_size=1) as one:
        pid = await one.fetchval("SELECT pg_backend_pid()")
        await conn.fetchval("SELECT pg_terminate_backend($1, 5000)", pid)
        await asyncio.sleep(0.3)  # for the pool to see the end
        again = await one.fetchval("SELECT pg_backend_pid() <> $1", pid)
    assert again
    doomed = await dial()
    try:
        await doomed.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    except asyncpg.PostgresError as error:
        return error.sqlstate, error.message, again


async def main():
    await check("connect", connect())
    await check("tls", tls())
    say("channel-binding", None, "asyncpg has none")
    conn = await dial()
    for name, run in [("simple", simple), ("text", text), ("binary", binary),
                      ("pipeline", pipeline), ("transaction", transaction), ("copy", copy),
                      ("cursor", cursor), ("large", large), ("values", values),
                      ("notify", notify), ("cancel", cancel), ("notice", notice)]:
        await check(name, run(conn))
    await check("pool", pool())
    await check("reconnect", reconnect(conn))
    await conn.close()


asyncio.run(main())
