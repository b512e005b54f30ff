# SPDX-License-Identifier: MIT
"""A client that sends Flush gets what the server has said, whatever rules look at it."""
import os
import subprocess

import pytest

from api import unique
from native import address, credential, sql

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
