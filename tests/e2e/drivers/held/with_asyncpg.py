# SPDX-License-Identifier: MIT
"""Runs the statement in the arguments with a value, with all settings as asyncpg has them."""
import asyncio
import sys

import asyncpg


async def main():
    conn = await asyncpg.connect()
    print((await conn.execute(sys.argv[1] + "$1", int(sys.argv[2]))).split()[-1])
    await conn.close()

asyncio.run(main())
