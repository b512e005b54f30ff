# SPDX-License-Identifier: MIT
"""What a target's password became is remembered between sessions, but never instead of it: a
password that was changed, here or there, counts at once."""
import shutil
import tempfile

import pytest

from agent import Agent, make_agent, wait_connected
from api import register
from conftest import PostgresServer
from native import TARGET_PASSWORD, Target, credential, psql, sql

TIMES = 6  # more than there are workers: each remembers for itself


@pytest.fixture(scope="module")
def target():
    """On a server that asks for passwords."""
    place = tempfile.mkdtemp(prefix="gatehouse-postgres-")
    server = PostgresServer(place)
    user = Target(server)
    with open(f"{server.data}/pg_hba.conf", "w") as out:
        out.write("host all postgres 127.0.0.1/32 trust\n"
                  "host all all 127.0.0.1/32 scram-sha-256\n")
    server.run("pg_ctl", "reload", "-D", server.data)
    yield user
    server.stop()
    shutil.rmtree(place)


@pytest.fixture(params=["inside", "elsewhere"])
def place(request, start, tmp_path):
    """A gateway of its own, and the agent that reaches the target."""
    gateway = start("--workers", "2", "--postgres-listen", "127.0.0.1:0")
    admin = register(gateway)
    if request.param == "inside":
        yield admin, admin.get("/userinfo").json["org_id"]
        return
    made = make_agent(admin)
    agent = Agent(str(tmp_path / "agent"), "--token", made["token"])
    wait_connected(admin, made, agent)
    yield admin, made["id"]
    assert agent.stop() == 0, agent.text()


def set_password(admin, target, name, agent_id, password):
    done = admin.put(f"/connections/{name}", {
        "name": name, "type": "database", "subtype": "postgres", "agent_id": agent_id,
        "secret": target.secret(PASS=password), "access_mode_connect": "enabled",
        "access_mode_exec": "enabled", "access_mode_runbooks": "enabled",
        "access_schema": "enabled"})
    assert done.status == 200, done


def sign_in(made, is_good):
    for _ in range(TIMES):
        done = psql(made, "SELECT 'here'", check=False)
        if is_good:
            assert (done.returncode, done.stdout) == (0, "here\n"), done.stderr
        else:
            assert done.returncode == 2 and "FATAL" in done.stderr, done


def test_a_password_that_was_changed_counts_at_once(place, target):
    admin, agent_id = place
    name = target.connection(admin, agent_id=agent_id)
    made = credential(admin, name)
    sign_in(made, True)
    set_password(admin, target, name, agent_id, "a wrong one")
    sign_in(made, False)
    set_password(admin, target, name, agent_id, TARGET_PASSWORD)
    sign_in(made, True)
    sql(target.server, f"ALTER USER {target.user} PASSWORD 'a new one'")
    sign_in(made, False)
    set_password(admin, target, name, agent_id, "a new one")
    sign_in(made, True)
    sql(target.server, f"ALTER USER {target.user} PASSWORD '{TARGET_PASSWORD}'")
    sign_in(made, False)


def test_a_password_with_a_new_salt_is_computed_anew(place, target):
    admin, agent_id = place
    made = credential(admin, target.connection(admin, agent_id=agent_id))
    for _ in range(3):
        sign_in(made, True)
        sql(target.server, f"ALTER USER {target.user} PASSWORD '{TARGET_PASSWORD}'")
    sign_in(made, True)
