# SPDX-License-Identifier: MIT
"""The store is lost, full, shared, newer, killed: nothing acknowledged is lost, and it comes back."""
import http.client
import json
import os
import re
import random
import sqlite3
import subprocess
import threading
import time

import pytest
from conftest import PATIENCE, Gateway, UnixConnection, wait_for
from plan import HAS_MANY

KILLS = 200 if HAS_MANY else 25
LOSSES = 10 if HAS_MANY else 1
FULL_DISKS = 5 if HAS_MANY else 1


def names(gateway):
    status, answer = gateway.control("GET", "/control/organizations")
    assert status == 200, answer
    return {organization["name"] for organization in answer["data"]}


def create(gateway, name):
    return gateway.control("POST", "/control/organizations", {"name": name})


def test_what_is_written_is_read_again_after_a_restart(start, store_url, tmp_path):
    arguments = ["--database-url", store_url, "--master-key-file", tmp_path / "key"]
    gateway = start(*arguments)
    assert create(gateway, "büro ☕")[0] == 201
    status, answer = create(gateway, "büro ☕")
    assert (status, answer) == (409, {"message": "organization 'büro ☕' already exists"})
    assert gateway.stop() == 0
    gateway = start(*arguments)
    assert names(gateway) == {"default", "büro ☕"}
    if store_url.startswith("sqlite:"):
        second = start(*arguments, wait=False)  # an embedded store belongs to one gateway
        assert second.process.wait(PATIENCE) == 1
        assert "--database-url: another gateway uses" in second.text()
    assert gateway.stop() == 0
    stranger = start("--database-url", store_url, wait=False)
    assert stranger.process.wait(PATIENCE) == 1
    assert "--master-key-file: " in stranger.text() and "lacks the key" in stranger.text()


@pytest.mark.parametrize("body,says", [
    (b"", "ends too early"), (b"{", "JSON"), (b"[]", "object"), (b'{"name":5}', "'name'"), (b"{}", "'name'"),
    (b'{"name":"a","name":"b"}', "JSON"), (b'{"name":"a"} x', "JSON"), (b'{"name":""}', "'name'"),
    (b'{"name":"\xff"}', "JSON"), (b'{"name":"a\\u0000"}', "JSON"), (b'{"name":" a"}', "'name'"),
    (b'{"name":"' + b"x" * 101 + b'"}', "'name'"), (b'{"name":"a\\nb"}', "'name'"),
    (b"[" * 2000, "JSON"),
])
def test_wrong_input_is_400_with_the_member(gateway, body, says):
    conn = UnixConnection(os.path.join(gateway.data, "control.sock"))
    conn.request("POST", "/control/organizations", body)
    response = conn.getresponse()
    message = json.loads(response.read())["message"]
    assert response.status == 400 and says.lower() in message.lower()
    assert names(gateway) == {"default"}


def test_only_its_own_user_may_open_the_control_socket(gateway):
    assert os.stat(os.path.join(gateway.data, "control.sock")).st_mode & 0o777 == 0o600
    assert os.stat(gateway.data).st_mode & 0o777 == 0o700


def test_ten_gateways_may_start_on_one_new_store_at_once(start, postgres, tmp_path):
    url = postgres.create(f"ten_{os.getpid()}_{time.monotonic_ns()}")
    arguments = ["--database-url", url, "--master-key-file", tmp_path / "key"]
    gateways = [start(*arguments, wait=False) for _ in range(10)]
    for gateway in gateways:
        gateway.wait_ready()
        assert names(gateway) == {"default"}


def test_a_newer_store_is_refused(start, store_url, tmp_path):
    start("--database-url", store_url).stop()
    sql = "INSERT INTO schema_migration VALUES (9999, 'future', 0)"
    if store_url.startswith("sqlite:"):
        with sqlite3.connect(store_url[7:]) as database:
            database.execute(sql)
    else:
        subprocess.run(["psql", "-q", store_url, "-c", sql], check=True)
    gateway = start("--database-url", store_url, wait=False)
    assert gateway.process.wait(PATIENCE) == 1
    assert "version 9999" in gateway.text() and "newer gatehouse" in gateway.text()


def test_a_file_that_is_no_store_is_refused(start, tmp_path):
    (tmp_path / "store.db").write_text("this is not a database, but a text that is long enough " * 50)
    gateway = start("--database-url", f"sqlite:{tmp_path}/store.db", wait=False)
    assert gateway.process.wait(PATIENCE) == 1
    assert "damaged or not a store" in gateway.text()


def test_a_lost_database_is_503_and_comes_back(start, postgres):
    gateway = start("--database-url", postgres.create(f"lost_{time.monotonic_ns()}"))
    expected = {"default"}
    for loss in range(LOSSES):
        assert create(gateway, f"before {loss}")[0] == 201
        postgres.stop()
        try:
            status, answer = gateway.get_json("/api/healthz")
            assert (status, answer["liveness"]) == (503, "ERR") and "message" in answer
            status, answer = create(gateway, "during")
            assert status == 503 and "does not answer" in answer["message"]
            assert gateway.get("/")[0] == 200
        finally:
            postgres.start()
        wait_for(lambda: gateway.get("/api/healthz")[0] == 200, what="the store's return")
        assert create(gateway, f"after {loss}")[0] == 201
        expected |= {f"before {loss}", f"after {loss}"}
        assert names(gateway) == expected


@pytest.mark.skipif(os.getuid() != 0, reason="mounting needs root")
def test_a_full_disk_is_503_and_recovers(start, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={2 * FULL_DISKS}m", "tmpfs", str(disk)], check=True)
    try:
        gateway = start("--database-url", f"sqlite:{disk}/store.db")
        created = {"default"}
        for time_full in range(FULL_DISKS):
            ballast = os.open(disk / "ballast", os.O_CREAT | os.O_WRONLY)
            with pytest.raises(OSError):
                while True:
                    os.write(ballast, b"x" * 4096)
            os.close(ballast)
            for i in range(2000):
                name = f"{time_full}.{i} " + "x" * 90
                status, answer = create(gateway, name)
                if status != 201:
                    break
                created.add(name)
            assert status == 503 and "disk" in answer["message"], (status, answer)
            assert gateway.get("/api/healthz")[0] == 200
            os.unlink(disk / "ballast")
            after = f"after {time_full}"
            wait_for(lambda: create(gateway, after)[0] in (201, 409), what="the store's recovery")
            created.add(after)
            assert names(gateway) == created
        assert gateway.stop() == 0
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def write_until_it_dies(gateway, prefix, acknowledged):
    """One client on one connection: what was answered 201 is acknowledged."""
    try:
        conn = UnixConnection(os.path.join(gateway.data, "control.sock"))
        for i in range(100000):
            name = f"{prefix} {i}"
            conn.request("POST", "/control/organizations", json.dumps({"name": name}))
            response = conn.getresponse()
            response.read()
            if response.status == 201:
                acknowledged.append(name)
    except (OSError, http.client.HTTPException):
        return  # killed


def test_kill_9_under_load_loses_no_acknowledged_write(tmp_path):
    rng = random.Random(3)
    written = {"default"}
    for round_number in range(KILLS):
        gateway = Gateway(tmp_path / "gateway")
        lost = written - names(gateway)
        assert not lost, f"round {round_number}: {lost}"
        lists = [[] for _ in range(4)]
        threads = [threading.Thread(target=write_until_it_dies,
                                    args=(gateway, f"{round_number}.{i}", lists[i]))
                   for i in range(4)]
        for thread in threads:
            thread.start()
        enough = rng.randint(3, 20)  # on a slow machine, too
        wait_for(lambda: sum(map(len, lists)) >= enough, what="writes to kill it amid")
        time.sleep(rng.uniform(0, 0.05))
        gateway.kill()
        for thread in threads:
            thread.join(PATIENCE)
        written.update(name for one in lists for name in one)
    assert len(written) > 2 * KILLS
    with sqlite3.connect(tmp_path / "gateway/data/gatehouse.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_writes_that_come_together_share_a_commit(start):
    gateway = start()

    def counted(name):
        page = gateway.get("/metrics")[2].decode()
        return float(re.search(rf"^{name} (\S+)$", page, re.M).group(1))

    writes = counted("gatehouse_store_writes_total")
    threads = []
    for i in range(8):
        def work(prefix=i):
            conn = UnixConnection(os.path.join(gateway.data, "control.sock"))
            for j in range(50):
                conn.request("POST", "/control/organizations", json.dumps({"name": f"{prefix} {j}"}))
                assert conn.getresponse().read()
        threads.append(threading.Thread(target=work))
        threads[-1].start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(names(gateway)) == 401
    assert counted("gatehouse_store_writes_total") - writes == 400
    assert counted("gatehouse_store_commits_total") < 390
