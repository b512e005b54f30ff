# SPDX-License-Identifier: MIT
"""A client that sends Flush gets what the server has said, whatever rules look at it."""
import os
import struct
import subprocess

import pytest

from api import unique
from conftest import wait_for
from native import address, credential, sql
from pgwire import Refused, Wire, message, rows_of, text

WRITES = """
import asyncio, os, asyncpg

async def main():
    conn = await asyncpg.connect(ssl=False, timeout=20)
    table = os.environ["TABLE"]
    for statement, *values in [
            (f"INSERT INTO {table} VALUES ($1, $2)", 1, "Ann"),
            (f"UPDATE {table} SET name = $2 WHERE id = $1", 1, "Bob"),
            (f"INSERT INTO {table} VALUES ($1, $2) RETURNING name", 2, "Eve"),
            (f"DELETE FROM {table} WHERE id = $1", 2)]:
        print(await asyncio.wait_for(conn.execute(statement, *values), 10))
    await conn.executemany(f"INSERT INTO {table} VALUES ($1, $2)", [(3, "Kim"), (4, "Lee")])
    print(await conn.fetchval(f"SELECT string_agg(name, ' ' ORDER BY id) FROM {table}"))
    await conn.close()

asyncio.run(asyncio.wait_for(main(), 40))
"""


def rule_of(api, connection_id, kind):
    if kind == "masking":
        path, body = "/datamasking-rules", {"supported_entity_types": [
            {"name": "PII", "entity_types": ["EMAIL_ADDRESS"]}]}
    else:
        path, body = "/guardrails", {"output": {"rules": [
            {"type": "pattern_match", "pattern_regex": "classified"}]}}
    answer = api.post(path, {"name": unique("rule"), "connection_ids": [connection_id], **body})
    assert answer.status == 201, answer


@pytest.mark.parametrize("kind", ["masking", "output"])
def test_asyncpg_writes_with_parameters(quick, target, tools, kind):
    name = target.connection(quick)
    rule_of(quick, quick.get(f"/connections/{name}").json["id"], kind)
    given = address(credential(quick, name))
    table = unique("flushed").replace("-", "_")
    sql(target.server, f"CREATE TABLE {table} (id int, name text); "
                       f"GRANT ALL ON {table} TO {target.user}")
    env = {**os.environ, "PGHOST": given["host"], "PGPORT": str(given["port"]),
           "PGUSER": given["user"], "PGPASSWORD": given["password"],
           "PGDATABASE": given["dbname"], "TABLE": table}
    done = subprocess.run([os.path.join(tools, "python"), "-c", WRITES], env=env, check=False,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines() == ["INSERT 0 1", "UPDATE 1", "INSERT 0 1", "DELETE 1",
                                        "Bob Kim Lee"]
    sql(target.server, f"DROP TABLE {table}")


@pytest.mark.parametrize("kind", [None, "output"])
def test_bytes_behind_a_terminate_are_ignored(quick, target, kind):
    """Of node-postgres come two; some clients say more."""
    name = target.connection(quick)
    if kind is not None:
        rule_of(quick, quick.get(f"/connections/{name}").json["id"], kind)
    made = credential(quick, name)
    with Wire(made) as wire:
        wire.ask("SELECT 1")
        wire.send(message(b"X"), message(b"X"), b"no message")
        assert wire.conn.recv(1) == b""

    def reason():
        sessions = quick.get(f"/sessions?connection={name}").json["data"]
        return sessions[0]["end_date"] and sessions[0].get("end_reason")
    assert wait_for(reason, what="the end") == "the client left"


def test_too_many_parameters_are_an_error_of_that_statement(quick, target):
    """Their number goes round at 65,536."""
    name = target.connection(quick)
    rule_of(quick, quick.get(f"/connections/{name}").json["id"], "output")
    with Wire(credential(quick, name)) as wire:
        for count in 65535, 65536:
            values = struct.pack("!HH", 0, count & 65535) + struct.pack("!i", -1) * count
            names = ", ".join(f"${n}" for n in range(1, count + 1))
            wire.send(message(b"P", text("", f"SELECT cardinality(ARRAY[{names}]::int[])")
                              + bytes(2)),
                      message(b"B", text("", "") + values + bytes(2)),
                      message(b"E", text("") + bytes(4)), message(b"S"))
            if count == 65535:
                assert rows_of(wire.until_ready()) == [("65535",)]
            else:
                with pytest.raises(Refused) as found:
                    wire.until_ready()
                assert found.value.fields["C"] == "08P01"
        assert wire.ask("SELECT 1") == [("1",)]
