# SPDX-License-Identifier: MIT
"""Commands over SSH that people decide on before the server has them: what waits, what is shown, what
runs, and how often."""
import concurrent.futures
import os

import pytest

from api import unique
from conftest import PATIENCE, Gateway, wait_for
from native import credential
from people import TRUSTED, House
from sshd import Client, Sshd, connection
from test_reviews import Crew, decide

WORD = "deploy"


class Floor(Crew):
    """Commands of ann's that have a certain word are reviewed by bob."""

    def __init__(self, house, server, folder):
        super().__init__(house, None)
        self.server, self.folder = server, folder

    def connection(self, **members):
        return connection(self.admin, self.server.secret(), **members)

    def client(self, *rules):
        name = self.connection()
        self.rule(name, access_type="command")
        found = self.admin.get(f"/connections/{name}").json
        answer = self.admin.post("/guardrails", {
            "name": unique("rail"), "connection_ids": [found["id"]],
            "input": {"rules": [{"type": "deny_words_list", "words": [WORD], "name": "deploys",
                                 "action": "review"}, *rules]}})
        assert answer.status == 201, answer
        return Client(self.house.gateway, credential(self.ann, name), self.folder / name)

    def pending(self, client):
        def look():
            answer = self.bob.get(f"/reviews?connection={client.name}&status=PENDING")
            assert answer.status == 200, answer
            return answer.json["data"]
        one, = wait_for(look, what="a review")
        return {"review_id": one["id"]}


@pytest.fixture(scope="module")
def floor(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("ssh-held"), *TRUSTED)
    server = Sshd(tmp_path_factory.mktemp("sshd"))
    yield Floor(House(gateway), server, tmp_path_factory.mktemp("clients"))
    server.stop()
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


def meanwhile(client, command, **more):
    return concurrent.futures.ThreadPoolExecutor(1).submit(client.ssh, command, **more)


def test_what_is_approved_runs_once_as_it_came(floor, tmp_path):
    client = floor.client()
    command = f"echo {WORD} >> {tmp_path}/ran; cat; exit 5"
    done = meanwhile(client, command, input=b"given" * 20000)
    asked = floor.pending(client)
    assert not done.done() and not (tmp_path / "ran").exists()
    shown = floor.bob.get(f"/reviews/{asked['review_id']}").json
    assert shown["type"] == "held" and shown["script"] == command, shown
    assert [one["rule"] for one in shown["held"]["found"]["findings"]] == ["deploys"], shown
    decide(floor.bob, asked)
    done = done.result(4 * PATIENCE)
    assert done.returncode == 5 and done.stdout == b"given" * 20000, done
    assert b"waits to be reviewed" in done.stderr and shown["review_url"].encode() in done.stderr, done
    assert (tmp_path / "ran").read_text() == f"{WORD}\n"
    wait_for(lambda: floor.state(asked) == "EXECUTED", what="its end")
    again = meanwhile(client, command)
    decide(floor.bob, floor.pending(client), "REJECTED")
    again = again.result(4 * PATIENCE)
    assert again.returncode == 126 and again.stdout == b"", again
    assert (tmp_path / "ran").read_text() == f"{WORD}\n"


def test_other_commands_pass_and_a_stronger_rule_holds(floor, tmp_path):
    client = floor.client({"type": "deny_words_list", "words": ["forbidden"], "name": "never", "action": "block"})
    assert client.ssh("echo in").stdout == b"in\n"
    done = client.ssh(f"{WORD}; forbidden")
    assert done.returncode == 126 and b"never" in done.stderr, done
    control = tmp_path / "control"
    master = ["-o", f"ControlPath={control}"]
    with client.start(options=["-M", "-N", *master]) as process:
        wait_for(lambda: control.exists() or None, what="the shared connection")
        held = meanwhile(client, f"echo {WORD}", options=master)
        asked = floor.pending(client)
        assert client.ssh("echo beside", options=master).stdout == b"beside\n"
        second = client.ssh(f"echo {WORD} too", options=master)
        assert second.returncode == 126 and b"another command" in second.stderr, second
        decide(floor.bob, asked)
        assert held.result(4 * PATIENCE).stdout == f"{WORD}\n".encode()
        process.terminate()


def test_who_leaves_runs_nothing(floor, tmp_path):
    client = floor.client()
    with client.start(f"echo {WORD} > {tmp_path}/ran") as process:
        asked = floor.pending(client)
        process.kill()
    wait_for(lambda: [one for one in floor.admin.get(f"/sessions?connection={client.name}").json["data"]
                      if one["status"] == "done"], what="the session's end")
    floor.bob.put(f"/reviews/{asked['review_id']}", {"status": "APPROVED"})
    assert client.ssh("echo in").stdout == b"in\n"
    assert not os.path.exists(tmp_path / "ran")
    shell = client.ssh(input=f"echo one\necho {WORD}\n".encode())
    assert shell.returncode == 126 and b"two" not in shell.stdout, shell  # a shell's line cannot wait
