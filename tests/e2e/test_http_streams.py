# SPDX-License-Identifier: MIT
"""Streamed answers, upgrades, slow handlers and shutdown, on a server made for these tests; all of
it again with sockets that move few bytes, pretend to be full, or break."""
import http.client
import re
import signal
import socket
import subprocess
import time

import pytest
from conftest import HTTP_TEST_SERVER, PATIENCE, Program, receive_all, wait_for


class TestServer(Program):
    __test__ = False

    def __init__(self, folder, *arguments):
        super().__init__([HTTP_TEST_SERVER, *arguments], None, str(folder / "output.txt"))
        found = wait_for(lambda: re.search(r"port (\d+)", self.text()), what="the test server")
        self.port = int(found.group(1))

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def request(self, method, path, body=None):
        conn = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        conn.request(method, path, body)
        response = conn.getresponse()
        data = response.read()
        conn.close()
        return response.status, data


@pytest.fixture(scope="module", params=[None, "short", "again", "short,again"])
def server(request, tmp_path_factory):
    arguments = [request.param] if request.param else []
    server = TestServer(tmp_path_factory.mktemp("server"), *arguments)
    yield server
    assert server.is_alive(), server.text()
    assert server.stop() == 0, server.text()


def expected(parts, size):
    return b"".join(bytes([97 + i % 26]) * size for i in range(parts))


def test_a_body_comes_back(server):
    body = bytes(range(256)) * 300
    assert server.request("POST", "/echo", body) == (200, body)


def test_a_handler_streams_from_the_pool(server):
    assert server.request("GET", "/stream/50/1000") == (200, expected(50, 1000))


def test_http_1_0_gets_a_stream_that_ends_with_the_connection(server):
    with server.connect() as conn:
        conn.sendall(b"GET /stream/3/10 HTTP/1.0\r\n\r\n")
        head, _, body = receive_all(conn).partition(b"\r\n\r\n")
        assert body == expected(3, 10) and b"chunked" not in head


def test_a_head_request_streams_nothing(server):
    with server.connect() as conn:
        conn.sendall(b"HEAD /stream/3/10 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert receive_all(conn).endswith(b"\r\n\r\n")


def test_a_stream_that_fails_is_seen_to_be_broken(server):
    with server.connect() as conn:
        conn.sendall(b"GET /broken HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = receive_all(conn)
        assert b"the first part" in answer and not answer.endswith(b"0\r\n\r\n")


def test_events_stream_from_the_worker(server):
    status, body = server.request("GET", "/events/20")
    assert status == 200
    assert re.findall(rb"data: (\d+)", body) == [b"%d" % i for i in range(20, 0, -1)]


def test_an_upgrade_hands_over_the_bytes_behind_the_request(server):
    with server.connect() as conn:
        conn.sendall(b"GET /upgrade HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n"
                     b"Upgrade: echo\r\n\r\nearly")
        received = b""
        while not received.endswith(b"early"):
            received += conn.recv(4096)
        assert received.startswith(b"HTTP/1.1 101 ")
        conn.sendall(b"late")
        received = b""
        while len(received) < 4:
            received += conn.recv(4096)
        assert received == b"late"


def test_our_own_faults_are_not_told(server):
    status, body = server.request("GET", "/fail")
    assert status == 500 and b"secret" not in body
    reference = re.search(rb"reference ([0-9a-f]{16})", body).group(1).decode()
    assert re.search(reference + ".*the secret cause", server.text())


def test_a_client_that_leaves_stops_the_stream(server):
    for _ in range(5):
        with server.connect() as conn:
            conn.sendall(b"GET /stream/1000000/10000 HTTP/1.1\r\nHost: a\r\n\r\n")
            conn.recv(100)
    # Eight pool threads: if one still wrote to a client that left, these would wait for it.
    for _ in range(16):
        assert server.request("GET", "/slow/1")[0] == 200


def test_a_slow_reader_holds_back_the_stream_and_not_the_memory(tmp_path):
    server = TestServer(tmp_path)
    with server.connect() as conn:
        conn.sendall(b"GET /stream/20000/10000 HTTP/1.1\r\nHost: a\r\n\r\n")
        conn.recv(100)
        before = server.resident_kib()
        time.sleep(0.5)
        assert server.resident_kib() < before + 1024
        received = 0
        while received < 200_000_000:
            part = conn.recv(1_000_000)
            assert part
            received += len(part)
        assert server.resident_kib() < before + 4096
    assert server.stop() == 0


@pytest.mark.quiet
@pytest.mark.parametrize("request_part,answer,seconds", [
    (b"", b"", 0.4),
    (b"GET /slow/1 HTTP/1.1\r\nHost: a\r\n", b" 408 ", 0.4),
    (b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc", b" 408 ", 0.6),
    (b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc", b" 408 ", 0.6),
    (b"GET /slow/1 HTTP/1.1\r\nHost: a\r\n\r\n", b" 200 ", 0.9),
])
def test_every_phase_has_its_deadline(tmp_path, request_part, answer, seconds):
    server = TestServer(tmp_path)
    with server.connect() as conn:
        start = time.monotonic()
        conn.sendall(request_part)
        received = receive_all(conn)
        assert seconds - 0.05 < time.monotonic() - start < seconds + 1.5
        assert answer in received and received.count(b"HTTP/1.1 ") == (1 if answer else 0)
    assert server.stop() == 0


def test_a_client_that_takes_nothing_is_cut(tmp_path):
    server = TestServer(tmp_path)
    with server.connect() as conn:
        conn.sendall(b"GET /stream/100000/10000 HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(1.5)
        received = len(receive_all(conn))
        assert received < 100_000_000
    assert server.request("GET", "/slow/1")[0] == 200
    assert server.stop() == 0


def test_a_handler_may_take_longer_than_any_deadline(tmp_path):
    server = TestServer(tmp_path)
    assert server.request("GET", "/slow/1500")[0] == 200
    assert server.stop() == 0


def test_what_the_pool_cannot_hold_is_told_to_come_again(tmp_path):
    server = TestServer(tmp_path)
    conns = [server.connect() for _ in range(60)]
    for conn in conns:
        conn.sendall(b"GET /slow/300 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    answers = [receive_all(conn) for conn in conns]
    refused = [answer for answer in answers if b" 503 " in answer]
    assert 30 <= len(refused) < 60 and all(b"Retry-After: 1" in answer for answer in refused)
    assert sum(b" 200 OK" in answer for answer in answers) == 60 - len(refused)
    assert server.request("GET", "/slow/1")[0] == 200
    assert server.stop() == 0


def test_shutdown_waits_for_answers_being_given(tmp_path):
    server = TestServer(tmp_path)
    with server.connect() as idle, server.connect() as busy:
        busy.sendall(b"GET /slow/700 HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(0.2)
        server.signal(signal.SIGTERM)
        assert idle.recv(10) == b""
        answer = receive_all(busy)
        assert b"200 OK" in answer and b"Connection: close" in answer
    assert server.process.wait(PATIENCE) == 0


def test_shutdown_cuts_what_does_not_end(tmp_path):
    server = TestServer(tmp_path)
    with server.connect() as conn:
        conn.sendall(b"GET /stream/1000000/10000 HTTP/1.1\r\nHost: a\r\n\r\n")
        conn.recv(100)
        start = time.monotonic()
        server.signal(signal.SIGTERM)
        assert server.process.wait(PATIENCE) == 0
        assert time.monotonic() - start < 6


@pytest.mark.parametrize("call", [3, 5, 8, 13, 21, 34])
def test_a_connection_that_breaks_anywhere_harms_no_other(tmp_path, call):
    server = TestServer(tmp_path, f"fail:{call}")
    for _ in range(30):
        try:
            server.request("POST", "/echo", b"x" * 10000)
        except (OSError, http.client.HTTPException):
            pass
    assert server.request("GET", "/events/3")[0] == 200
    assert server.stop() == 0, server.text()
