# SPDX-License-Identifier: MIT
"""Backups of a gateway that runs and is written to, and what comes back of them; a new master key
that the service can still read."""
import os
import shutil
import stat
import subprocess
import tempfile
import threading

import pytest

from api import b64, register, resource
from conftest import BINARY, Gateway
from native import credential, psql


def command(*arguments):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True)


@pytest.fixture(scope="module")
def saved(tmp_path_factory, target):
    """A backup that was made while sessions ran and resources were made."""
    folder = tmp_path_factory.mktemp("backup")
    gateway = Gateway(folder / "one")
    boss = register(gateway)
    made = credential(boss, target.connection(boss))
    psql(made, "SELECT 'before the backup'")
    names, stop = [], threading.Event()

    def write():
        while not stop.is_set():
            body = resource(env_vars={"envvar:A": b64("kept")})
            assert boss.post("/resources", body).status == 201
            names.append(body["name"])

    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    try:
        while len(names) < 40:
            pass
        before = list(names)
        answer = command("backup", folder / "copy", "--data-dir", gateway.data)
        assert answer.returncode == 0, answer.stderr
        written = len(names) - len(before)
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    session = boss.get("/sessions").json["data"][0]["id"]
    yield folder, gateway, boss, before, session, written
    assert gateway.stop() == 0


def test_a_backup_of_a_gateway_that_is_written_to_comes_back(saved, tmp_path):
    folder, _, boss, before, session, written = saved
    assert written > 0, "nothing was written meanwhile"
    copy = folder / "copy"
    assert sorted(os.listdir(copy)) == ["SHA256SUMS", "gatehouse.db", "master.key", "recordings"]
    subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=copy, check=True)
    for name in os.listdir(copy):
        assert stat.S_IMODE(os.stat(copy / name).st_mode) & 0o077 == 0, name
    answer = command("restore", copy, "--data-dir", tmp_path / "data")
    assert answer.returncode == 0 and "each as it was" in answer.stdout, answer.stderr
    assert command("recording", "verify", session, "--data-dir", tmp_path / "data").returncode == 0
    again = Gateway(tmp_path)
    boss = type(boss)(again, boss.token)
    for name in before:
        answer = boss.get(f"/resources/{name}")
        assert answer.status == 200 and answer.json["env_vars"] == {"envvar:A": b64("kept")}
    assert boss.get(f"/sessions/{session}/verify").json["recording_status"] == "whole"
    assert again.stop() == 0
    answer = command("audit", "verify", "--data-dir", tmp_path / "data")
    assert answer.returncode == 0, answer.stderr


def test_nothing_is_written_over(saved, tmp_path):
    folder, gateway, *_ = saved
    for arguments, says in (
            (["backup", folder / "copy", "--data-dir", gateway.data], "is there already"),
            (["restore", folder / "copy", "--data-dir", gateway.data], "is there already"),
            (["backup", tmp_path / "x", "--data-dir", tmp_path / "none"], "there is no store"),
            (["backup", tmp_path / "x", "--database-url", "postgres://127.0.0.1:1/x"], "pg_dump"),
            (["backup"], "FOLDER"), (["restore", "--data-dir", tmp_path], "FOLDER"),
            (["restore", tmp_path / "none"], "is no backup")):
        answer = command(*arguments)
        assert answer.returncode != 0 and says in answer.stderr, (arguments, answer.stderr)
    for name in "gatehouse.db", "master.key":
        (tmp_path / name).mkdir()
        (tmp_path / name / name).write_text("mine")
        answer = command("restore", folder / "copy", "--data-dir", tmp_path / name)
        assert answer.returncode != 0 and f"{name}' is there already" in answer.stderr
        assert os.listdir(tmp_path / name) == [name]


def edit(path, change):
    with open(path, "r+b") as file:
        change(file)


@pytest.mark.parametrize("break_it, says", [
    (lambda copy: edit(copy / "gatehouse.db", lambda f: (f.seek(5000), f.write(b"x"))), "changed"),
    (lambda copy: edit(copy / "master.key", lambda f: f.write(b"0000")), "changed"),
    (lambda copy: os.remove(copy / "master.key"), "cannot read"),
    (lambda copy: os.remove(copy / "SHA256SUMS"), "is no backup"),
    (lambda copy: edit(copy / "SHA256SUMS", lambda f: f.truncate(20)), "damaged"),
    (lambda copy: (copy / "SHA256SUMS").open("a").write("0" * 64 + "  recordings/../../x\n"),
     "does not belong"),
    (lambda copy: (copy / "SHA256SUMS").open("a").write("0" * 64 + "  /etc/passwd\n"),
     "does not belong"),
    (lambda copy: (copy / "SHA256SUMS").write_text(""), "is no whole store"),
])
def test_a_damaged_backup_is_refused_before_anything_is_written(saved, tmp_path, break_it, says):
    shutil.copytree(saved[0] / "copy", tmp_path / "copy")
    if says == "is no whole store":
        os.remove(tmp_path / "copy/gatehouse.db")
        (tmp_path / "copy/gatehouse.db").write_text("")
    break_it(tmp_path / "copy")
    answer = command("restore", tmp_path / "copy", "--data-dir", tmp_path / "data")
    assert answer.returncode != 0 and says in answer.stderr, answer.stderr
    assert not os.path.exists(tmp_path / "data")


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_a_new_master_key_is_still_the_services_and_on_record(saved):
    _, gateway, boss, *_ = saved
    key = os.path.join(gateway.data, "master.key")
    os.chown(key, 12345, 54321)
    os.chmod(key, 0o400)
    for words in ("rekey",), ("rekey", "drop-old"):
        answer = command(*words, "--data-dir", gateway.data)
        assert answer.returncode == 0, answer.stderr
        found = os.stat(key)
        assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (12345, 54321, 0o400)
        entry = boss.get("/audit/logs?resource_type=master_key").json["data"][0]
        assert entry["action"] == words[-1].replace("-", "_") and entry["outcome"] is True, entry
        assert entry["actor_name"] == "command line, user 0"
    assert command("audit", "verify", "--data-dir", gateway.data).returncode == 0
    os.chown(key, 0, 0)
    os.chmod(key, 0o600)


def state(folder, besides=()):
    """Every file with its contents, and when it was changed; but those that end so."""
    found = {}
    for path, folders, names in os.walk(folder):
        for name in [name for name in folders + names if not name.endswith(besides)]:
            where = os.path.join(path, name)
            info = os.lstat(where)
            content = open(where, "rb").read() if stat.S_ISREG(info.st_mode) else None
            changed = None if content is None else info.st_mtime_ns
            found[where] = (changed, info.st_uid, info.st_mode, content)
    return found


def test_a_check_changes_nothing(tmp_path, store_url):
    where = [] if store_url.startswith("sqlite:") else ["--database-url", store_url]
    flags = ["--data-dir", tmp_path / "one/data", "--listen", "127.0.0.1:0", "--postgres-listen",
             "127.0.0.1:0", "--mysql-listen", "127.0.0.1:0", "--ssh-listen", "127.0.0.1:0", *where]
    scratch = tempfile.mkdtemp(dir="/tmp")

    def check(besides=()):
        before = state(tmp_path, besides)
        answer = subprocess.run([BINARY, "check", *map(str, flags)], capture_output=True, text=True,
                                env={**os.environ, "TMPDIR": scratch})
        assert state(tmp_path, besides) == before
        assert os.listdir(scratch) == []
        return answer

    (tmp_path / "one").mkdir()
    fresh = check()
    assert fresh.returncode == 0 and "it would start" in fresh.stdout, fresh.stderr
    gateway = Gateway(tmp_path / "one", *where)
    boss = register(gateway)
    assert boss.post("/resources", resource()).status == 201
    # What runs marks in these which parts of the log it reads.
    assert "another gateway uses" in check(("-shm", "-wal")).stderr
    gateway.kill()  # leaves a log of writes behind
    used = check()
    assert used.returncode == 0 and f"data folder  {tmp_path}/one/data" in used.stdout, used.stderr
    if not where:
        os.remove(tmp_path / "one/data/gatehouse.db-wal")
        with open(tmp_path / "one/data/gatehouse.db", "r+b") as file:
            file.write(b"no database at all")
        assert check().returncode == 1
    os.rmdir(scratch)
