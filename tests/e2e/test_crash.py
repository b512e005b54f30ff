# SPDX-License-Identifier: MIT
"""kill -9 in the middle of a stream of PUTs, again and again: each resource is as it was before a
PUT or as it is after it, what was acknowledged is there, the log has it, the counts are true."""
import hashlib
import http.client
import json
import random
import re
import sqlite3
import subprocess
import threading
import time

import pytest

from api import Api, KeptApi, b64, register, resource, role
from conftest import IS_SANITIZED, PATIENCE, wait_for
from plan import HAS_MANY

ROUNDS = 200 if HAS_MANY else 12
SLOWNESS = 5 if IS_SANITIZED else 1  # of what is killed
WRITERS = 4
SHARED = "crash-shared"


class Stream:
    """One resource and who writes it: version after version, each with another name, other
    variables and other roles, of which one stays and is changed."""

    def __init__(self, number):
        self.number = number
        self.version = 0  # the last one that was acknowledged, or found
        self.sent = 0

    def name(self, version):
        return f"crash-{self.number}.{version % 3}"

    def body(self, version):
        command = {"command": ["version", str(version)]}
        stem = f"crash.{self.number}"
        return resource(
            self.name(version),
            env_vars={"VERSION": str(version), f"ONLY_{version}": "x",
                      "envvar:COPY": b64(f"version {version}")},
            roles=[role(f"{stem}.v{version}.a", **command), role(f"{stem}.v{version}.b", **command),
                   role(f"{stem}.kept", attributes=[f"version-{version}"], **command,
                        secret={"envvar:DB": b64(f"db{version}")})])

    def put_next(self, api):
        self.sent = self.version + 1
        answer = api.put(f"/resources/{self.name(self.version)}?prune_roles=true",
                         self.body(self.sent))
        assert answer.status == 200, answer
        self.version = self.sent

    def check(self, found):
        """'found' is all of one version: the acknowledged one, or the one that was under way."""
        version = int(found["env_vars"]["VERSION"])
        assert self.version <= version <= self.sent, (self.version, version, self.sent)
        body = self.body(version)
        assert found["name"] == body["name"]
        assert found["env_vars"] == body["env_vars"]
        roles = {r["name"]: r for r in found["roles"]}
        assert set(roles) == {r["name"] for r in body["roles"]}
        for wanted in body["roles"]:
            assert roles[wanted["name"]]["command"] == wanted["command"]
            assert roles[wanted["name"]]["attributes"] == wanted.get("attributes", [])
        assert roles[f"crash.{self.number}.kept"]["default_database"] == f"db{version}"
        self.version = version


def shared_body(writer, turn):
    return resource(SHARED, env_vars={"BY": f"{writer}.{turn}"},
                    roles=[role(f"shared.{writer}.{turn}"),
                           role("shared.kept", command=["by", f"{writer}.{turn}"])])


class Shared:
    """One resource that all writers replace: whose version it is cannot be told, but it is one."""

    def __init__(self):
        self.turn = 0
        self.acknowledged = 0
        self.lock = threading.Lock()

    def put(self, api, writer):
        with self.lock:
            self.turn += 1
            turn = self.turn
        answer = api.put(f"/resources/{SHARED}?prune_roles=true", shared_body(writer, turn))
        assert answer.status == 200, answer
        with self.lock:
            self.acknowledged += 1

    def check(self, found, entries):
        if not found["roles"]:
            assert self.acknowledged == 0 and found["env_vars"] == {}
            return
        wanted = shared_body(*found["env_vars"]["BY"].split("."))
        roles = {r["name"]: r["command"] for r in found["roles"]}
        assert found["env_vars"] == wanted["env_vars"]
        assert set(roles) == {r["name"] for r in wanted["roles"]}
        assert roles["shared.kept"] == wanted["roles"][1]["command"]
        assert self.acknowledged <= len(entries) <= self.turn
        last = entries[-1]["request_payload_redacted"]
        assert last["roles"] == [r["name"] for r in wanted["roles"]]


def write_until_killed(gateway, token, stream, shared, problems):
    api = KeptApi(Api(gateway, token))
    try:
        while True:
            stream.put_next(api)
            shared.put(api, stream.number)
    except (OSError, http.client.HTTPException):
        pass  # killed
    except AssertionError as problem:
        problems.append(problem)


def all_of(api, path):
    rows, page = [], 1
    while True:
        answer = api.get(f"{path}?page={page}&page_size=10").json
        rows += answer["data"]
        if len(answer["data"]) < 10:
            assert answer["pages"]["total"] == len(rows)
            return rows
        page += 1


def check_log(api):
    """The entries of a log in which each is sealed by the one before."""
    previous, entries = "", []
    for line in api.get("/audit/logs/export").body.splitlines():
        content, found, seal = line.rpartition(b',"hash":"')
        entry = json.loads(line)
        assert found and entry["hash"] == seal[:64].decode()
        assert entry["hash"] == hashlib.sha256(content + b"}").hexdigest()
        assert entry["previous_hash"] == previous
        previous = entry["hash"]
        entries.append(entry)
        assert entry["number"] == len(entries)
    assert api.get("/audit/logs?page_size=1").json["pages"]["total"] == len(entries)
    return entries


def check_all(api, streams, shared):
    found = {r["name"]: r for r in all_of(api, "/resources")}
    connections = all_of(api, "/connections")
    entries = check_log(api)
    updates = [e for e in entries if e["action"] == "update" and e["outcome"]]
    assert len(found) == len(streams) + 1
    for stream in streams:
        pattern = re.compile(rf"crash-{stream.number}\.\d")
        [name] = [name for name in found if pattern.fullmatch(name)]
        stream.check(found[name])
        own = [e for e in updates if pattern.fullmatch(e["http_path"].split("/")[-1])]
        assert len(own) == stream.version  # each version once
    shared.check(found[SHARED], [e for e in updates if e["http_path"].endswith(SHARED)])
    assert sorted(c["name"] for c in connections) == sorted(
        r["name"] for one in found.values() for r in one["roles"])
    return entries


def ask(url, sql):
    return subprocess.run(["psql", "-XAtq", url, "-c", sql], check=True, capture_output=True,
                          text=True).stdout.split()


def wait_for_the_end_of_sessions(url):
    """What a killed gateway had sent to PostgreSQL may still be committed; then no more."""
    if url.startswith("postgres"):
        sql = ("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
               "AND pid <> pg_backend_pid()")
        wait_for(lambda: ask(url, sql) == ["0"], what="the end of the sessions")


class Locked:
    """A table of PostgreSQL that nobody can write to, so that a PUT waits at its first statement
    that would."""

    def __init__(self, url, table):
        self.url = url
        self.session = subprocess.Popen(["psql", "-XAtq", url], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.session.stdin.write(f"BEGIN; LOCK TABLE {table} IN SHARE MODE; SELECT 'locked';\n")
        self.session.stdin.flush()
        assert self.session.stdout.readline() == "locked\n"

    def has_waiting(self):
        sql = ("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
               "AND wait_event_type = 'Lock'")
        return ask(self.url, sql) != ["0"]

    def end(self):
        self.session.communicate("ROLLBACK;\n", timeout=PATIENCE)


def test_kill_9_at_a_statement_of_each_table_leaves_the_old_state(start, postgres, tmp_path):
    url = postgres.create(f"crash_{time.monotonic_ns()}")
    stream, shared, stopped_at = Stream(0), Shared(), []
    gateway = start("--database-url", url, folder=tmp_path / "gateway")
    admin = register(gateway)
    assert admin.post("/resources", stream.body(0)).status == 201
    assert admin.post("/resources", resource(SHARED)).status == 201
    for table in ask(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
        locked, problems, before = Locked(url, table), [], stream.version
        thread = threading.Thread(target=write_until_killed,
                                  args=(gateway, admin.token, stream, shared, problems))
        thread.start()
        wait_for(lambda: locked.has_waiting() or stream.version > before + 3,
                 what=f"a PUT that is done, or waits for {table}")
        is_stopped = locked.has_waiting()
        gateway.kill()
        thread.join(PATIENCE)
        locked.end()
        wait_for_the_end_of_sessions(url)
        gateway = start("--database-url", url, folder=tmp_path / "gateway")
        acknowledged = stream.version
        check_all(Api(gateway, admin.token), [stream], shared)
        if is_stopped:
            stopped_at.append(table)
            assert stream.version == acknowledged and not problems, (table, problems)
    assert {"resource", "connection", "attribute", "connection_attribute",
            "audit_entry"} <= set(stopped_at), stopped_at


@pytest.mark.quiet
def test_kill_9_during_puts_leaves_old_or_new(start, store_url, tmp_path):
    rng = random.Random(11)
    streams, shared = [Stream(number) for number in range(WRITERS)], Shared()
    gateway = start("--database-url", store_url, folder=tmp_path / "gateway")
    admin = register(gateway)
    for stream in streams:
        assert admin.post("/resources", stream.body(0)).status == 201
    assert admin.post("/resources", resource(SHARED)).status == 201
    problems, under_way = [], 0
    for _ in range(ROUNDS):
        threads = [threading.Thread(target=write_until_killed,
                                    args=(gateway, admin.token, stream, shared, problems))
                   for stream in streams]
        before = sum(stream.version for stream in streams)
        enough = before + rng.randint(WRITERS + 1, 3 * WRITERS)  # on a slow machine, too
        for thread in threads:
            thread.start()
        wait_for(lambda: problems or sum(stream.version for stream in streams) >= enough,
                 what="writes to kill it amid")
        time.sleep(SLOWNESS * rng.uniform(0, 0.1))
        gateway.kill()
        for thread in threads:
            thread.join(PATIENCE)
        assert not problems, problems
        wait_for_the_end_of_sessions(store_url)
        gateway = start("--database-url", store_url, folder=tmp_path / "gateway")
        under_way += sum(stream.sent > stream.version for stream in streams)
        check_all(Api(gateway, admin.token), streams, shared)
    assert sum(stream.version for stream in streams) > ROUNDS * WRITERS
    assert under_way > 0  # some were killed in the middle
    assert gateway.stop() == 0
    if store_url.startswith("sqlite:"):
        with sqlite3.connect(store_url[7:]) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert database.execute("PRAGMA foreign_key_check").fetchall() == []
