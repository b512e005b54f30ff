# SPDX-License-Identifier: MIT
"""A connection whose target is the gateway's own port, by whatever address: it would open itself."""
import os
import socket
import threading

import pytest

from api import register, unique
from conftest import BINARY, IS_SANITIZED, Program, wait_for
from native import Target, credential, psql


def forward(port):
    """A port that leads to another one, as a tunnel or a load balancer would → its number."""
    listener = socket.create_server(("127.0.0.1", 0))

    def carry(source, sink):
        try:
            while part := source.recv(65536):
                sink.sendall(part)
        except OSError:
            pass
        for end in source, sink:
            end.close()

    def serve():
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", port))
            for pair in (near, far), (far, near):
                threading.Thread(target=carry, args=pair, daemon=True).start()
    threading.Thread(target=serve, daemon=True).start()
    return listener


def descriptors(gateway):
    return len(os.listdir(f"/proc/{gateway.process.pid}/fd"))


@pytest.fixture(params=["embedded", "elsewhere"])
def agent(request, start, tmp_path):
    """An admin, and the agent that is to reach the targets."""
    admin = register(start())
    if request.param == "embedded":
        yield admin, admin.get("/userinfo").json["org_id"]
        return
    made = admin.post("/agents", {"name": "far"}).json
    flags = ["--sandbox", "off"] if IS_SANITIZED else []
    env = {key: value for key, value in os.environ.items() if not key.startswith("GATEHOUSE_")}
    program = Program([BINARY, "agent", "--token", made["token"], *flags], env,
                      str(tmp_path / "agent.txt"))
    wait_for(lambda: admin.get("/agents/far").json["status"] == "CONNECTED", what="the agent")
    yield admin, made["id"]
    assert program.stop() == 0, program.text()


def test_a_connection_to_the_gateway_itself_opens_once(agent, postgres):
    admin, agent_id = agent
    target = Target(postgres)
    name = target.connection(admin, name=unique("loop"), agent_id=agent_id)
    made = credential(admin, name)
    port = int(made["connection_credentials"]["port"])
    assert psql(made, "SELECT 'there'").stdout == "there\n"  # it is a target like any other
    before = descriptors(admin.gateway)
    tunnel = forward(port)
    for leads_there in port, tunnel.getsockname()[1]:
        for mode in "disable", "prefer":
            secret = target.secret(PORT=str(leads_there), USER=name, SSLMODE=mode,
                                   PASS=made["connection_credentials"]["password"])
            assert admin.patch(f"/connections/{name}", {"secret": secret}).status == 200
            done = psql(made, "SELECT 1", check=False)
            assert done.returncode == 2 and "FATAL" in done.stderr, done
    tunnel.close()
    assert descriptors(admin.gateway) < before + 20
    assert "lead to itself" in admin.gateway.text()
    sessions = admin.get(f"/sessions?connection={name}").json["data"]
    assert len(sessions) <= 5, len(sessions)  # one for each time that a client came
