# SPDX-License-Identifier: MIT
"""The real agent beside a gateway: started with what the API has shown."""
import os
import time

from api import unique
from conftest import BINARY, IS_SANITIZED, Program, wait_for

# A dead peer is noticed within this time, an end that is told long before.
DEAD_SECONDS = 15
AT_ONCE = 8 if IS_SANITIZED else 2


class Agent(Program):
    def __init__(self, folder, *arguments, env=None):
        os.makedirs(folder, exist_ok=True)
        flags = ["--sandbox", "off"] if IS_SANITIZED else []
        full_env = {k: v for k, v in os.environ.items() if not k.startswith("GATEHOUSE_")}
        full_env.update(env or {})
        output = os.path.join(folder, f"agent-{time.monotonic_ns()}.txt")
        super().__init__([BINARY, "agent", *flags, *map(str, arguments)], full_env, output)


def make_agent(admin, name=None):
    """What the API answers: id, name, token."""
    answer = admin.post("/agents", {"name": name or unique("agent")})
    assert answer.status == 201, answer
    return answer.json


def status_of(admin, made):
    return admin.get(f"/agents/{made['id']}").json["status"]


def wait_connected(admin, made, agent, seconds=10):
    wait_for(lambda: status_of(admin, made) == "CONNECTED", seconds,
             f"the agent's link ({agent.text()})")


def wait_disconnected(admin, made, seconds):
    wait_for(lambda: status_of(admin, made) == "DISCONNECTED", seconds, "the agent's end")
