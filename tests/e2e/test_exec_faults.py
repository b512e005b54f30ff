# SPDX-License-Identifier: MIT
"""What happens under scripts, terminals and ports while they are used: the disk is full, a token ends,
more is written than may be. Each ends in words, and with all that passed on record. (The others of
their faults are in test_execution_faults, test_commands, test_terminals and test_old_agent.)"""
import json
import os
import subprocess

import pytest

from api import EMBEDDED_AGENT, PASSWORD, login, register, unique
from command_line import Person
from conftest import PATIENCE, wait_for
from disks import disk  # noqa: F401, a fixture
from native import sql
from test_commands import Place, processes
from websocket import Terminal

IS_LONG = os.environ.get("GATEHOUSE_LONG_TESTS") == "1"
STATEMENT = "select md5(random()::text) from generate_series(1, 10000) a, generate_series(1, 10000) b"
NOISE = "base64 /dev/urandom"


def test_a_full_disk_ends_what_is_executed(start, target, tmp_path, disk):  # noqa: F811
    small = disk(tmp_path / "gateway" / "data" / "recordings", "16m", "ext4")
    gateway = start(folder=tmp_path / "gateway")
    place = Place(register(gateway), EMBEDDED_AGENT)
    command, shell = place.connection("sh"), place.connection("bash", "--norc", "-i")
    rows = target.connection(place.admin, recording_row_limit=1 << 30)
    terminal = Terminal(place.admin, shell).opened()
    terminal.until("$ ")

    def begin(name, script):
        answer = place.admin.post("/sessions?wait_ms=0", {"connection": name, "script": script})
        assert answer.status == 202, answer
        return answer.json
    running = [begin(command, f"{NOISE}; sleep 8321"), begin(rows, STATEMENT)]
    terminal.type(f"{NOISE}\r")
    small.fill()
    told, _ = terminal.ended(6 * PATIENCE)
    assert "cannot be recorded" in told["message"], told
    for done in running:
        wait_for(lambda: place.admin.get(f"/sessions/{done['session_id']}").status == 200,
                 what="the session")
        session = place.ended(done)
        assert "cannot be recorded" in session["end_reason"], session
    wait_for(lambda: not processes("sleep 8321"), what="the command's end")
    wait_for(lambda: sql(target.server, "select count(*) from pg_stat_activity where state = "
                         f"'active' and usename = '{target.user}'") == "0", what="the statement's end")
    done = place.run(command, "echo passed")  # what is kept for recordings may just hold it
    assert ("passed" in done["output"]) == ("passed" in place.result(done)), done
    assert done["output_status"] == ("success" if "passed" in done["output"] else "failed"), done
    small.empty()
    wait_for(lambda: place.run(command, "echo passed")["output"] == "passed\n",
             what="room for recordings")


def test_a_token_that_ends_in_the_middle_of_connect(quick, target, tmp_path):
    email = unique("ann") + "@example.com"
    assert quick.post("/users", {"email": email, "password": PASSWORD, "groups": []}).status == 201
    ann = login(quick.gateway, email)
    person = Person(tmp_path, ann)
    name = target.connection(quick)
    process = person.start("connect", name, "--output", "json")
    given = json.loads(process.stdout.readline())
    ask = ["psql", "-XAt", "-h", given["host"], "-p", str(given["port"]), "-U", given["user"], "-c",
           "select 'carried'", given["database"]]

    def asked():
        return subprocess.run(ask, env={**os.environ, "PGPASSWORD": given["password"]}, text=True,
                              capture_output=True, timeout=2 * PATIENCE, check=False)
    assert asked().stdout == "carried\n"
    assert ann.post("/logout").status in (200, 204)
    refused = asked()
    assert refused.returncode == 2 and "carried" not in refused.stdout, refused
    assert process.poll() is None
    process.terminate()
    _, said = process.communicate(timeout=PATIENCE)
    assert "turned away" in said and "gatehouse login" in said, said
    rows = quick.get(f"/sessions?connection={name}").json["data"]
    assert len([row for row in rows if row["connection"] == name]) == 1, rows


@pytest.mark.skipif(not IS_LONG, reason="GATEHOUSE_LONG_TESTS=1 writes the 10 GB")
def test_ten_gigabytes_of_output(quick):
    """It takes two of them."""
    place = Place(quick, EMBEDDED_AGENT)
    answer = quick.post("/sessions?wait_ms=0", {
        "connection": place.connection("sh"),
        "script": "yes 'more than may be' | head -c 10000000000; sleep 8322"})
    path = f"/sessions/{answer.json['session_id']}"  # where it is in a moment
    session = wait_for(lambda: (row := quick.get(path).json).get("status") == "done" and row,
                       seconds=600, what="its end")
    assert session["bytes_out"] < 2.1 * 2 ** 30, session
    wait_for(lambda: not processes("sleep 8322"), what="the command's end")
    assert place.shell("echo still here")["output"] == "still here\n"
