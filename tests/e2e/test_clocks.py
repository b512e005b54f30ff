# SPDX-License-Identifier: MIT
"""The machine's clock is set a day on and back while sessions run: they go on, new ones open, all
are on record, and the chain of the audit log stays whole."""
import glob
import os

import pytest

from agent import Agent, make_agent, wait_connected
from api import register
from conftest import IS_SANITIZED, wait_for
from native import credential
from pgwire import Wire
from store import Store
from test_crash import check_log
from test_recording_recovery import recordings, verified

FAKETIME = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
DAY = 24 * 3600


class Clock:
    """The wall clock of the programs that are started with its environment; what counts the time
    that passes is left alone, as by a clock that is set."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "clock")
        self.set("+0")
        self.env = {"LD_PRELOAD": FAKETIME[0], "FAKETIME_TIMESTAMP_FILE": self.path,
                    "FAKETIME_NO_CACHE": "1", "DONT_FAKE_MONOTONIC": "1"}

    def set(self, offset):
        with open(self.path + ".new", "w", encoding="ascii") as file:
            file.write(f"{offset}\n")
        os.replace(self.path + ".new", self.path)


def started(gateway):
    return [int(row[0]) for row in Store(gateway).ask("SELECT started_at FROM session ORDER BY id")]


@pytest.mark.skipif(IS_SANITIZED, reason="sanitizers want to be loaded first")
def test_a_clock_that_is_set_ends_nothing(start, target, tmp_path):
    if not FAKETIME:
        pytest.skip("there is no libfaketime")
    clock = Clock(tmp_path)
    gateway = start("--sandbox", "off", env=clock.env)
    admin = register(gateway).key("admin")  # whose token a day does not end
    made = make_agent(admin)
    agent = Agent(tmp_path / "agent", "--token", made["token"])
    wait_connected(admin, made, agent)
    near = credential(admin, target.connection(admin))
    far = credential(admin, target.connection(admin, agent_id=made["id"]))
    with Wire(near) as one, Wire(far) as other:
        for offset in (f"+{DAY}", "+0", f"-{DAY}", "+0"):
            clock.set(offset)
            for wire in one, other:
                assert wire.ask("SELECT 1") == [("1",)]
            for place in near, far:
                with Wire(place) as new:
                    assert new.ask("SELECT 2") == [("2",)]
            wait_connected(admin, made, agent)
    times = started(gateway)
    assert max(times) - min(times) > 1.9 * DAY * 1e3, "no clock was set"
    wait_for(lambda: Store(gateway).ask("SELECT count(*) FROM session WHERE status = 'done'")
             == [["10"]], what="the ends")
    said = verified(gateway, list(recordings(gateway)))
    assert len(said) == 10 and all(line.startswith("ok;") for line in said.values()), said
    check_log(admin)
    agent.stop()
