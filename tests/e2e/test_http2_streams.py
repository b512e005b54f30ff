# SPDX-License-Identifier: MIT
"""Over HTTP/2 what test_http_streams.py asks over HTTP/1.1: the same handlers, another transport."""
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import PATIENCE
from test_http_streams import TestServer, expected
from test_tls import H2Client, make_certificate


@pytest.fixture(scope="module", params=["-", "short", "again", "short,again"])
def server(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    server = TestServer(folder, request.param, *map(str, make_certificate(folder, "test")))
    yield server
    assert server.is_alive(), server.text()
    assert server.stop() == 0, server.text()


@pytest.fixture
def own_server(tmp_path):
    server = TestServer(tmp_path, "-", *map(str, make_certificate(tmp_path, "test")))
    yield server
    assert server.stop() == 0, server.text()


def curl(server, path, *arguments):
    result = subprocess.run(["curl", "-sSk", "--http2", "--max-time", "30", "-w",
                             "\n%{http_code} %{http_version}", *arguments,
                             f"https://127.0.0.1:{server.port}{path}"], capture_output=True)
    body, _, last = result.stdout.rpartition(b"\n")
    return result.returncode, last.decode(), body


def test_a_body_comes_back(server, tmp_path):
    body = bytes(range(256)) * 300
    (tmp_path / "body").write_bytes(body)
    assert curl(server, "/echo", "--data-binary", f"@{tmp_path}/body") == (0, "200 2", body)


def test_a_handler_streams_from_the_pool(server):
    assert curl(server, "/stream/50/1000") == (0, "200 2", expected(50, 1000))


def test_a_head_request_streams_nothing(server):
    code, last, body = curl(server, "/stream/3/10", "-I")
    assert (code, last) == (0, "200 2") and body.startswith(b"HTTP/2 200")


def test_a_stream_that_fails_is_seen_to_be_broken(server):
    code, last, body = curl(server, "/broken")
    assert code != 0 and body in (b"the first part", b"")


def test_events_stream_from_the_worker(server):
    code, last, body = curl(server, "/events/20")
    assert (code, last) == (0, "200 2")
    assert re.findall(rb"data: (\d+)", body) == [b"%d" % i for i in range(20, 0, -1)]


def test_an_upgrade_is_not_possible(server):
    assert curl(server, "/upgrade")[1] == "400 2"


def test_a_client_that_leaves_stops_the_stream(own_server):
    for _ in range(10):
        client = H2Client(own_server)
        client.get("/stream/1000000/10000")
        client.flush()
        client.sock.recv(100)
        client.sock.close()
    for _ in range(16):
        assert curl(own_server, "/slow/1")[:2] == (0, "200 2")


def test_a_stream_that_is_reset_leaves_the_others_alone(own_server):
    client = H2Client(own_server)
    gone, kept = client.get("/stream/1000000/10000"), client.get("/slow/200")
    client.flush()
    time.sleep(0.1)
    client.conn.reset_stream(gone)
    client.flush()
    statuses = client.statuses(2)
    assert statuses[kept] == 200


def test_a_client_that_opens_no_window_is_cut_and_holds_nothing(own_server):
    client = H2Client(own_server)
    client.conn.update_settings({4: 0})  # INITIAL_WINDOW_SIZE
    client.get("/stream/10/100000")
    client.flush()
    before = own_server.resident_kib()
    time.sleep(1.5)
    assert curl(own_server, "/slow/1")[:2] == (0, "200 2")
    assert own_server.resident_kib() < before + 2048


def test_a_connection_that_was_blocked_once_goes_on(own_server):
    """Longer than the write deadline after it: the deadline must have been taken back."""
    code, last, body = curl(own_server, "/stream/400/10000", "--limit-rate", "2M")
    assert (code, last) == (0, "200 2") and len(body) == 4_000_000


def test_shutdown_waits_for_answers_being_given(own_server):
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(curl, own_server, "/slow/700")
        time.sleep(0.3)
        own_server.signal(signal.SIGTERM)
        assert answer.result(PATIENCE) == (0, "200 2", b"{}")
    assert own_server.process.wait(PATIENCE) == 0
