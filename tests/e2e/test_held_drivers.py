# SPDX-License-Identifier: MIT
"""Drivers with all their settings as they come, whose statement is held for ten minutes: the table
in docs/reviews.md is what this prints."""
import concurrent.futures
import os
import subprocess
import time

import pytest

from conftest import Gateway, wait_for
from driver_matrix import is_there, node_folder, source
from installed import made, maven_jar, run
from native import OwnDatabase, address
from people import TRUSTED, House
from plan import IS_LONG
from test_held import Floor
from test_reviews import decide

HELD_S = int(os.environ.get("GATEHOUSE_HELD_SECONDS", "600"))
DRIVERS = "psql", "libpq", "psycopg", "asyncpg", "pgjdbc", "node-postgres", "pgx"
pytestmark = pytest.mark.skipif(not IS_LONG, reason="it waits for ten minutes")


def compiled(name, file, make):
    return made(f"drivers/held-{name}", [source(f"held/{file}")], make)


def command(driver, tools, statement, number):
    """The program of a driver that runs the statement with a value at its end."""
    arguments = [statement, str(number)]
    if driver == "psql":
        return ["psql", "-X", "-A", "-c", f"{statement}{number}"]
    if driver == "libpq":
        folder = compiled(driver, "held.c", lambda folder: run(
            "gcc", f"-I{run('pg_config', '--includedir').strip()}", source("held/held.c"), "-lpq",
            "-o", os.path.join(folder, "held")))
        return [os.path.join(folder, "held"), *arguments]
    if driver == "pgjdbc":
        jar = maven_jar("drivers/jar", source("maven.txt"))
        folder = compiled(driver, "Held.java", lambda folder: run(
            "javac", "-cp", jar, "-d", folder, source("held/Held.java")))
        return ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", f"{folder}:{jar}",
                "Held", *arguments]
    if driver == "pgx":
        folder = compiled(driver, "held.go", lambda folder: run(
            "go", "build", "-mod=readonly", "-o", os.path.join(folder, "held"), "held/held.go",
            cwd=source("")))
        return [os.path.join(folder, "held"), *arguments]
    if driver == "node-postgres":
        return ["node", source("held/held.mjs"), *arguments]
    return [os.path.join(tools, "python"), source(f"held/with_{driver}.py"), *arguments]


def run_held(program, credential):
    place = address(credential)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    env.update({"PGHOST": place["host"], "PGPORT": str(place["port"]), "PGUSER": place["user"],
                "PGPASSWORD": place["password"], "PGDATABASE": place["dbname"],
                "NODE_FOLDER": node_folder()})
    began = time.monotonic()
    done = subprocess.run(program, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=HELD_S + 300, check=False)
    return done.returncode, (done.stdout + done.stderr).strip(), time.monotonic() - began


def test_they_wait_ten_minutes(tmp_path, postgres, tools):
    drivers = [name for name in DRIVERS if name != "pgx" or is_there("pgx")]
    gateway = Gateway(tmp_path, *TRUSTED, "--held-locked-seconds", str(HELD_S + 600))
    floor = Floor(House(gateway), OwnDatabase(postgres, "SELECT 1"))
    credential, table = floor.open(), floor.table()
    programs = {name: command(name, tools, f"delete from {table} where a = ", number + 1)
                for number, name in enumerate(drivers)}
    with concurrent.futures.ThreadPoolExecutor(len(drivers)) as pool:
        runs = {name: pool.submit(run_held, program, credential)
                for name, program in programs.items()}
        wait_for(lambda: len(floor.reviews(credential, "PENDING")) +
                 sum(run.done() for run in runs.values()) == len(drivers), what="all to be held")
        time.sleep(HELD_S)
        early = {name for name, run in runs.items() if run.done()}
        for review in floor.reviews(credential, "PENDING"):
            decide(floor.bob, {"review_id": review["id"]})
        results = {name: run.result() for name, run in runs.items()}
    for name, (code, output, seconds) in results.items():
        print(f"{name}: {seconds:.0f} s, {code}, {output[:300]!r}")
    assert not early and all(code == 0 for code, _, _ in results.values()), results
    assert floor.left(table) == 10 - len(drivers)
    assert gateway.stop() == 0, gateway.text()
