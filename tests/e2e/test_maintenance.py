# SPDX-License-Identifier: MIT
"""Commands on the store itself: the audit log's chain, and a new master key."""
import os
import sqlite3
import subprocess

import pytest

from api import b64, login, register, resource, role
from conftest import BINARY


def command(*arguments):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True)


@pytest.fixture
def settings(store_url, tmp_path):
    return ["--database-url", store_url, "--master-key-file", tmp_path / "key"]


def execute(store_url, sql):
    if store_url.startswith("sqlite:"):
        with sqlite3.connect(store_url[7:]) as database:
            database.execute(sql)
    else:
        subprocess.run(["psql", "-q", store_url, "-c", sql], check=True)


def test_a_whole_chain_is_found_whole(start, settings):
    admin = register(start(*settings))
    for _ in range(5):
        admin.post("/resources", resource())
    answer = command("audit", "verify", *settings)
    assert answer.returncode == 0, answer.stderr
    last = admin.get("/audit/logs?page_size=1").json["data"][0]
    assert f"default: {last['number']} entries" in answer.stdout and last["hash"] in answer.stdout
    for query, checked in (("", last["number"]), ("?from=4", last["number"] - 3)):
        seen = admin.get(f"/audit/logs/verify{query}").json
        assert (seen["chain_status"], seen["checked"], seen["hash"], seen["next"]) \
            == ("whole", checked, last["hash"], None)


@pytest.mark.parametrize("sql,says", [
    ("UPDATE audit_entry SET actor_email = 'other@example.com' WHERE number = 3", "entry 3: its content"),
    ("DELETE FROM audit_entry WHERE number = 3", "entry 3: it is missing"),
    ("UPDATE audit_entry SET previous_hash = 'x' WHERE number = 4", "entry 4: it does not follow"),
    ("UPDATE audit_entry SET outcome = 0 WHERE number = 2", "entry 2: its content"),
    ("DELETE FROM audit_entry WHERE number = 1", "entry 1: it is missing"),
])
def test_the_first_break_is_named(start, settings, store_url, sql, says):
    gateway = start(*settings)
    admin = register(gateway)
    for _ in range(5):
        admin.post("/resources", resource())
    gateway.stop()
    execute(store_url, sql)
    answer = command("audit", "verify", *settings)
    assert answer.returncode == 1 and says in answer.stderr
    seen = login(start(*settings), "root@example.com").get("/audit/logs/verify").json
    assert (seen["chain_status"], seen["next"]) == ("broken", None)
    assert f"entry {seen['broken_at']}: {seen['message']}".startswith(says)


def test_a_new_master_key_beside_a_running_gateway(start, settings, tmp_path):
    gateway = start(*settings)
    admin = register(gateway)
    value = b64("before")
    old = resource(env_vars={"envvar:A": value}, roles=[role(secret={"envvar:B": value})])
    admin.post("/resources", old)
    key = (tmp_path / "key").read_text()
    answer = command("rekey", *settings)
    assert answer.returncode == 0 and "3 closed anew" in answer.stdout, answer
    assert (tmp_path / "key").read_text().endswith(key) and len(key) == 65
    assert os.stat(tmp_path / "key").st_mode & 0o777 == 0o600
    assert admin.get(f"/resources/{old['name']}").json["env_vars"] == {"envvar:A": value}
    new = resource(env_vars={"envvar:A": value})
    assert admin.post("/resources", new).status == 201
    answer = command("rekey", "drop-old", *settings)
    assert answer.returncode == 0 and "0 closed anew" in answer.stdout, answer
    assert key not in (tmp_path / "key").read_text()
    done = admin.get("/audit/logs?resource_type=master_key").json["data"]
    assert [(one["action"], one["outcome"]) for one in done] == [("drop_old", True), ("rekey", True)]
    assert done[0]["request_payload_redacted"]["key_id"] in answer.stdout + \
        str(done[1]["request_payload_redacted"])
    assert command("audit", "verify", *settings).returncode == 0
    assert gateway.stop() == 0
    again = start(*settings)
    admin.gateway = again
    for name in (old["name"], new["name"]):
        assert admin.get(f"/resources/{name}").json["env_vars"] == {"envvar:A": value}


def test_commands_make_no_key_of_their_own(settings, tmp_path):
    answer = command("rekey", *settings)
    assert answer.returncode == 2 and "--master-key-file: there is no" in answer.stderr
    assert not (tmp_path / "key").exists()
