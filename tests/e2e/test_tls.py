# SPDX-License-Identifier: MIT
"""HTTPS and HTTP/2, with curl, a frame-level client, and certificates that change."""
import json
import os
import re
import signal
import socket
import ssl
import struct
import subprocess

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import pytest
from conftest import PATIENCE, Gateway, receive_all, wait_for


def make_certificate(folder, name):
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-keyout", key, "-out",
                    cert, "-subj", f"/CN={name}", "-addext",
                    "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                   check=True, stderr=subprocess.DEVNULL)
    return cert, key


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    folder = tmp_path_factory.mktemp("secure")
    cert, key = make_certificate(folder, "first")
    gateway = Gateway(folder, "--tls-cert", str(cert), "--tls-key", str(key))
    gateway.cert = cert
    yield gateway
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


def curl(gateway, *arguments, path="/api/healthz"):
    result = subprocess.run(["curl", "-sS", "--cacert", gateway.cert, "-w",
                             "\n%{http_code} %{http_version}", *arguments, gateway.url(path)],
                            capture_output=True, text=True, timeout=30)
    assert result.returncode == 0, result.stderr
    body, _, last = result.stdout.rpartition("\n")
    return body, last


def test_https_speaks_both_versions(secure):
    assert curl(secure, "--http1.1") == ('{"liveness":"OK"}', "200 1.1")
    assert curl(secure, "--http2") == ('{"liveness":"OK"}', "200 2")


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_errors_and_files_are_the_same_over_tls(secure, version, tmp_path):
    (tmp_path / "large").write_bytes(b"x" * 2_000_000)
    body, last = curl(secure, version, path="/api/nothing")
    assert last.startswith("404") and "message" in json.loads(body)
    assert curl(secure, version, "-X", "DELETE")[1].startswith("405")
    assert curl(secure, version, "-I")[1].startswith("200")
    assert curl(secure, version, "--data-binary", f"@{tmp_path}/large")[1].startswith("413")
    assert "Gatehouse" in curl(secure, version, path="/")[0]
    assert curl(secure, version, path="/" + "a" * 9000)[1].startswith("414")
    assert curl(secure, version, "-H", "X: " + "a" * 40000)[1][:3] in ("431", "000")


def test_old_versions_of_tls_are_refused(secure):
    for version in ("-tls1", "-tls1_1"):
        result = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{secure.port}",
                                 version, "-cipher", "ALL:@SECLEVEL=0"],
                                stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert result.returncode != 0 and "alert protocol version" in result.stderr


def test_plain_http_on_the_tls_port_is_closed(secure):
    with secure.connect() as conn:
        conn.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200" not in conn.recv(4096)
    assert curl(secure)[1].startswith("200")


def served_name(gateway):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", gateway.port), PATIENCE) as conn:
        with context.wrap_socket(conn) as tls:
            der = tls.getpeercert(binary_form=True)
    return re.search(rb"first|second", der).group().decode()


def test_sighup_reads_the_certificate_again(start, tmp_path):
    cert, key = make_certificate(tmp_path, "first")
    gateway = start("--tls-cert", str(cert), "--tls-key", str(key))
    assert served_name(gateway) == "first"
    second, second_key = make_certificate(tmp_path, "second")
    cert.write_bytes(b"broken")
    gateway.signal(signal.SIGHUP)
    wait_for(lambda: "the old certificate stays" in gateway.text(), what="the refusal")
    assert served_name(gateway) == "first"
    # As tools that renew certificates do it: a new file takes the old one's place.
    os.replace(second, cert)
    os.replace(second_key, key)
    gateway.signal(signal.SIGHUP)
    wait_for(lambda: served_name(gateway) == "second", what="the new certificate")


def open_postgres(gateway, is_direct, *protocols):
    """TLS to the door of PostgreSQL, asked for as libpq does by default or with direct TLS."""
    port = re.search(r"postgres_port=(\d+)", gateway.text()).group(1)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(protocols)
    conn = socket.create_connection(("127.0.0.1", int(port)), PATIENCE)
    if not is_direct:
        conn.sendall(struct.pack("!II", 8, 80877103))
        assert conn.recv(1) == b"S"
    return context.wrap_socket(conn)


@pytest.mark.parametrize("is_direct", [False, True])
def test_postgres_is_what_its_door_speaks(start, tmp_path, is_direct):
    """Clients since PostgreSQL 17 name the protocol, and go away without an answer to that."""
    cert, key = make_certificate(tmp_path, "first")
    gateway = start("--tls-cert", str(cert), "--tls-key", str(key))
    with open_postgres(gateway, is_direct, "postgresql") as tls:
        assert tls.selected_alpn_protocol() == "postgresql"
        tls.sendall(struct.pack("!II", 8, 80877103))
        # behind a request it is taken for a version, as servers have it
        words = b"encryption was asked for" if is_direct else b"frontend protocol 1234.5679"
        assert words in receive_all(tls)
    with pytest.raises(ssl.SSLError, match="no application protocol"):
        open_postgres(gateway, is_direct, "h2")
    for new, old in zip(make_certificate(tmp_path, "second"), (cert, key), strict=True):
        os.replace(new, old)

    def shows_the_second():
        with open_postgres(gateway, is_direct, "postgresql") as tls:
            return b"second" in tls.getpeercert(binary_form=True)
    assert not shows_the_second()
    gateway.signal(signal.SIGHUP)
    wait_for(shows_the_second, what="the new certificate")


class H2Client:
    def __init__(self, gateway):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        self.sock = context.wrap_socket(
            socket.create_connection(("127.0.0.1", gateway.port), PATIENCE))
        assert self.sock.selected_alpn_protocol() == "h2"
        self.conn = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self.conn.initiate_connection()
        self.flush()

    def flush(self):
        self.sock.sendall(self.conn.data_to_send())

    def get(self, path, method="GET", end=True):
        stream = self.conn.get_next_available_stream_id()
        self.conn.send_headers(stream, [(":method", method), (":path", path), (":scheme", "https"),
                                        (":authority", "localhost")], end_stream=end)
        return stream

    def events(self):
        """Until the server closes."""
        while True:
            try:
                data = self.sock.recv(65536)
            except (ConnectionError, ssl.SSLError):
                return
            if not data:
                return
            for event in self.conn.receive_data(data):
                yield event
            self.flush()

    def statuses(self, count):
        got = {}
        for event in self.events():
            if isinstance(event, h2.events.ResponseReceived):
                got[event.stream_id] = int(dict(event.headers)[":status"])
            if len(got) == count:
                return got
        return got


def test_many_streams_are_answered_on_one_connection(secure):
    client = H2Client(secure)
    paths = ["/api/healthz", "/", "/api/nothing", "/robots.txt"] * 20
    streams = [client.get(path) for path in paths]
    client.flush()
    got = client.statuses(len(streams))
    assert [got[s] for s in streams] == [200, 200, 404, 200] * 20


def test_streams_opened_and_reset_without_end_end_the_connection(secure):
    client = H2Client(secure)
    closed = False
    try:
        for i in range(3000):
            stream = client.get("/api/healthz")
            client.conn.reset_stream(stream)
            if i % 50 == 0:
                client.flush()
        client.flush()
        for event in client.events():
            if isinstance(event, h2.events.ConnectionTerminated):
                closed = True
                break
    except (ConnectionError, ssl.SSLError, h2.exceptions.ProtocolError):
        closed = True
    assert closed
    assert curl(secure)[1].startswith("200")


def test_a_body_over_http2_may_be_refused_while_it_comes(secure):
    client = H2Client(secure)
    stream = client.get("/api/healthz", method="POST", end=False)
    client.flush()
    got = []
    for event in client.events():
        if isinstance(event, h2.events.ResponseReceived):
            got.append(int(dict(event.headers)[":status"]))
        window = min(client.conn.local_flow_control_window(stream), 16384) if not got else 0
        if window:
            client.conn.send_data(stream, b"x" * window)
            client.flush()
        if got:
            break
    assert got == [413]


def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


FLOODS = {
    # A head that never ends (CVE-2024-28182), settings and pings that all want an answer.
    "continuation": frame(1, 0, 1, b"\x82") + frame(9, 0, 1, b"\x40\x01a\x01b") * 50000,
    "settings": frame(4, 0, 0, b"\x00\x03\x00\x00\x00\x64" * 100) * 5000,
    "ping": frame(6, 0, 0, b"12345678") * 200000,
}


@pytest.mark.parametrize("kind", FLOODS)
def test_a_flood_of_frames_ends_the_connection_or_costs_nothing(secure, kind):
    before = secure.resident_kib()
    client = H2Client(secure)
    client.sock.settimeout(5)
    try:
        client.sock.sendall(FLOODS[kind])
        while client.sock.recv(65536):
            pass
    except (OSError, ssl.SSLError):
        pass
    client.sock.close()
    assert curl(secure)[1].startswith("200")
    assert secure.resident_kib() < before + 16384


def test_garbage_after_the_preface_closes_the_connection(secure):
    client = H2Client(secure)
    client.sock.sendall(b"\x00\x00\x05\xff\xff\xff\xff\xff\xff" * 100 + b"\x00" * 5000)
    list(client.events())
    assert curl(secure)[1].startswith("200")


def test_a_stop_finishes_http2_streams(start, tmp_path):
    cert, key = make_certificate(tmp_path, "first")
    gateway = start("--tls-cert", str(cert), "--tls-key", str(key))
    client = H2Client(gateway)
    client.get("/api/healthz")
    client.flush()
    assert list(client.statuses(1).values()) == [200]
    gateway.signal(signal.SIGTERM)
    assert gateway.process.wait(PATIENCE) == 0
