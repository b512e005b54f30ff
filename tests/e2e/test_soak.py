# SPDX-License-Identifier: MIT
"""An hour of everything at once: sessions that stay and sessions that come and go, with rules and
without, cancels, errors, agents that are killed, and the API beside them. Nothing fails, and the
gateway has at the end hardly more memory than after ten minutes."""
import itertools
import os
import threading
import time

import pytest

from agent import Agent, make_agent, wait_connected, wait_disconnected
from api import Api, register, resource, role, unique
from conftest import IS_SANITIZED, PATIENCE
from native import credential, psql
from pgwire import Refused, Wire, cancel, message, text
from plan import IS_LONG
from test_pg_guard import NO_WHERE, guarded
from test_pg_mask import FOUND, column, masked

SECONDS = int(os.environ.get("GATEHOUSE_SOAK_SECONDS", "3600" if IS_LONG else "4"))
SETTLED = min(600, SECONDS / 2)  # by then what is kept for later is full
GROWTH = 1.1
STATEMENTS = 9000
MEASURE_SECONDS = 10
PAUSE = 0.02 if SECONDS > 60 else 0  # the machine has others to serve
TEXT = "SELECT n, md5(n::text), 'x@example.com' FROM generate_series(1, 200) n"


class Soak:
    """Threads that each do one thing again and again; the first problem of each is kept."""

    def __init__(self):
        self.end = time.monotonic() + SECONDS
        self.problems, self.counts, self.threads = [], {}, []

    def again(self, name, work):
        def run():
            for number in itertools.count():
                if time.monotonic() >= self.end:
                    break
                try:
                    work(number)
                except Exception as problem:  # noqa: BLE001, whatever it is
                    self.problems.append((name, repr(problem)))
                    break
                self.counts[name] = self.counts.get(name, 0) + 1
                time.sleep(PAUSE)
        self.threads.append(threading.Thread(target=run))

    def stays(self, name, made, work):
        """Work in one session from the start to the end."""
        wire = Wire(made)
        self.again(name, lambda number: work(wire, number))

    def run(self, measure):
        for thread in self.threads:
            thread.start()
        measured, began = [], time.monotonic()
        while any(thread.is_alive() for thread in self.threads) and not self.problems:
            measured.append((time.monotonic() - began, measure()))
            time.sleep(min(MEASURE_SECONDS, SECONDS / 4))
        self.end = 0
        for thread in self.threads:
            thread.join()
        assert not self.problems, self.problems
        return measured


def ask_many(wire, number):
    assert wire.ask(f"SELECT {number} AS a{number}") == [(str(number),)]
    assert len(wire.ask(TEXT)) == 200
    if number % 10 == 0:
        with pytest.raises(Refused):
            wire.ask(f"SELECT {number} / 0")


def fill_what_is_kept(made):
    """Statements that were judged are remembered, so many for each worker: all of them, at once."""
    for session in range(4):
        with Wire(made) as wire:
            for start in range(0, STATEMENTS, 100):
                wire.send(*[message(b"Q", text(f"SELECT {number} AS f{session}_{number}"))
                            for number in range(start, start + 100)])
                for _ in range(100):
                    wire.until_ready()


def come_and_go(made):
    def work(number):
        with Wire(made) as wire:
            ask_many(wire, number)
    return work


def cancelled(made, wire):
    wire.send(message(b"Q", text("DO $$ BEGIN RAISE NOTICE 'it runs'; PERFORM pg_sleep(60); "
                                 "END $$")))
    assert wire.read()[0] == b"N"
    cancel(made, wire)
    with pytest.raises(Refused) as told:
        wire.until_ready()
    assert told.value.fields["C"] == "57014"


def copied(made):
    def work(number):
        done = psql(made, "CREATE TEMP TABLE t (a int, b text);\nCOPY t FROM STDIN;\n"
                    + "".join(f"{n}\tx{number}\n" for n in range(300))
                    + "\\.\nSELECT count(*) FROM t;\n", "-q")
        assert done.stdout == "300\n", done
    return work


def api_work(admin, name):
    """What a page of the console and a program that keeps resources ask for."""
    def work(number):
        api = Api(admin.gateway, admin.token)
        for path in ("/sessions?limit=20", "/connections", "/audit/logs?page_size=20"):
            assert api.get(path).status == 200
        body = resource(name, env_vars={"N": str(number)}, roles=[role(f"{name}.role")])
        assert api.put(f"/resources/{name}", body).status == 200
        if number % 20 == 0:
            shown = api.get("/sessions?limit=1&status=done").json["data"]
            for one in shown:
                assert api.get(f"/sessions/{one['id']}").status == 200
    return work


def killed_agents(folder, admin, target):
    """An agent that is killed, comes again, and serves."""
    made = make_agent(admin)
    made_there = credential(admin, target.connection(admin, agent_id=made["id"]))

    def work(_):
        agent = Agent(folder, "--token", made["token"])
        try:
            wait_connected(admin, made, agent, PATIENCE)
            with Wire(made_there) as wire:
                assert wire.ask("SELECT 1") == [("1",)]
        finally:
            agent.kill()
        wait_disconnected(admin, made, PATIENCE)
    return work


@pytest.mark.skipif(IS_SANITIZED, reason="their memory is the sanitizer's")
def test_an_hour_of_everything_keeps_its_memory(start, target, tmp_path):
    gateway = start()
    admin = register(gateway)
    plain = credential(admin, target.connection(admin))
    kinds = {"plain": plain, "guarded": guarded(admin, target, NO_WHERE),
             "entities": masked(admin, target, FOUND),
             "columns": masked(admin, target, column("public.is_not_there.secret"))}
    name = unique("soak")
    assert admin.post("/resources", resource(name)).status == 201
    if SECONDS >= 60:
        for made in kinds.values():
            fill_what_is_kept(made)
    soak = Soak()
    for kind, made in kinds.items():
        soak.stays(f"{kind} stays", made, ask_many)
        soak.again(f"{kind} comes and goes", come_and_go(made))
    soak.stays("cancels", plain, lambda wire, _: cancelled(plain, wire))
    soak.again("copies", copied(plain))
    soak.again("the API", api_work(admin, name))
    soak.again("agents", killed_agents(tmp_path / "agent", admin, target))
    measured = soak.run(gateway.resident_kib)
    print(f"{soak.counts}\n{[(round(at), kib) for at, kib in measured]}")
    assert min(soak.counts.values()) > 0 and len(soak.counts) == 12, soak.counts
    if SECONDS >= 60:
        settled = max(kib for at, kib in measured if at <= SETTLED)
        assert measured[-1][1] <= GROWTH * settled, measured
