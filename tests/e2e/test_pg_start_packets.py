# SPDX-License-Identifier: MIT
"""Start packets that no client sends, to the gateway and to a real server: both answer the same, in
kind, or close without a word; and what the newer protocol allows."""
import socket
import struct

import pytest

from conftest import PATIENCE
from native import address, credential
from pgwire import (CANCEL, SSL_REQUEST, Refused, Wire, fields_of, message, rows_of, startup,
                    text)

GSSENC_REQUEST = 80877104


def packet(code, body=b"", size=None):
    return struct.pack("!II", len(body) + 8 if size is None else size, code) + body


PAIRS = text("user", "x", "database", "x")
V3 = 3 << 16

# Each ends: by an error, or by being closed at once.
BAD = {
    "of no length": struct.pack("!I", 0),
    "of four bytes": struct.pack("!I", 4),
    "of seven bytes": struct.pack("!I", 7) + bytes(3),
    "of a negative length": struct.pack("!II", 0xffffffff, V3),
    "that is too long": packet(V3, PAIRS + b"\0", 10005),
    "of a length that nobody has": packet(V3, PAIRS, 0x7fffffff),
    "like a request of HTTP": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "without its last byte": packet(V3, PAIRS),
    "with bytes behind its end": packet(V3, PAIRS + b"\0rest"),
    "without a value": packet(V3, text("user")),
    "without a user": packet(V3, text("database", "x") + b"\0"),
    "without anything": packet(V3, b"\0"),
    "without even the end": packet(V3),
    "of version 1": packet(1 << 16, PAIRS + b"\0"),
    "of version 2": packet(2 << 16, PAIRS + b"\0"),
    "of version 4": packet(4 << 16, PAIRS + b"\0"),
    "of version 1234.1": packet((1234 << 16) + 1),
    "TLS asked for twice": packet(SSL_REQUEST) + packet(SSL_REQUEST),
    "a cancel request without a key": packet(CANCEL),
    "a cancel request that is too short": packet(CANCEL, bytes(7)),
    "a cancel request that is much too long": packet(CANCEL, bytes(4 + 300)),
}


def answers(port, raw):
    """What comes before the end: letters of requests, and the SQLSTATE of an error."""
    found = b""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as conn:
        for at, part in enumerate(split(raw)):
            conn.sendall(part)
            if at < len(split(raw)) - 1:
                found += conn.recv(1)
        conn.shutdown(socket.SHUT_WR)
        try:
            while part := conn.recv(65536):
                found += part
        except ConnectionResetError:
            pass
    letters = found[:len(split(raw)) - 1]
    found = found[len(letters):]
    if found[:1] in (b"N", b"S") and len(found) == 1:
        return letters + found, ""
    if found[:1] == b"E" and found[1:6] == b"FATAL":
        return letters, "version 2"
    return letters, fields_of(found[5:])["C"] if found else "closed"


def split(raw):
    """A request for encryption is answered before the next is sent."""
    if raw[4:8] in (struct.pack("!I", SSL_REQUEST), struct.pack("!I", GSSENC_REQUEST)) and \
            raw[:4] == struct.pack("!I", 8) and len(raw) > 8:
        return [raw[:8], raw[8:]]
    return [raw]


@pytest.fixture(scope="module")
def made(quick, target):
    return credential(quick, target.connection(quick))


def test_bad_start_packets_end_as_at_a_server(made, target):
    port = int(address(made)["port"])
    differ = {}
    for what, raw in BAD.items():
        expected, found = answers(target.server.port, raw), answers(port, raw)
        if found != expected:
            differ[what] = (expected, found)
    assert not differ, "\n".join(f"{what}: {pair}" for what, pair in differ.items())


@pytest.mark.parametrize("version, negotiated, key_size", [
    ((3, 0), None, 4), ((3, 2), None, 32), ((3, 9), (3, 2), 32)])
def test_the_protocol_version_is_negotiated(made, version, negotiated, key_size):
    """3.2 has longer keys; of what is newer the newest known one is spoken, and said to be."""
    options = {"_pq_.unknown": "1"} if negotiated else {}
    wire = Wire(made, is_begun=False)
    with wire:
        wire.send(startup(wire.user, wire.database, version, **options))
        kind, body = wire.expect()
        if negotiated:
            assert kind == b"v"
            assert body == struct.pack("!HHI", *negotiated, 1) + b"_pq_.unknown\0"
            kind, body = wire.expect()
        assert kind == b"R"
        wire.prove()
        wire.until_ready()
        assert len(wire.key) == 4 + key_size
        assert wire.ask("SELECT 1") == [("1",)]


def test_what_is_sent_after_the_end_is_ignored(made, target):
    """As at a server: the connection is closed in peace, and nobody is told of an error."""
    for port, key in ((target.server.port, None), (None, made)):
        with Wire(key or made) if key else direct(target, port) as wire:
            wire.send(message(b"X"), message(b"X"), message(b"Q", text("SELECT 1")), b"\xff" * 9)
            assert wire.fatal() == {}


def direct(target, port):
    given = {"host": "127.0.0.1", "port": port, "user": "postgres", "password": "x",
             "dbname": "postgres"}
    return Wire({"connection_credentials": {"hostname": given["host"], "port": given["port"],
                                            "username": given["user"],
                                            "password": given["password"],
                                            "database_name": given["dbname"]}})


@pytest.mark.parametrize("count", [65535, 65536])
def test_the_limit_of_parameters_is_the_protocols(made, count):
    """One more is an error of that statement, and the session goes on."""
    many = count % 65536
    with Wire(made) as wire:
        items = ",".join(f"${number + 1}" for number in range(count))
        sql = f"SELECT cardinality(ARRAY[{items}]::int[])"
        values = struct.pack("!i", 1) + b"1"
        wire.send(message(b"P", text("", sql) + struct.pack("!H", 0)),
                  message(b"B", text("", "") + struct.pack("!HH", 0, many) + values * many +
                          struct.pack("!H", 0)),
                  message(b"E", text("") + struct.pack("!i", 0)), message(b"S"))
        if count < 65536:
            assert rows_of(wire.until_ready()) == [(str(count),)]
        else:
            with pytest.raises(Refused):
                wire.until_ready()
        assert wire.ask("SELECT 1") == [("1",)]


def test_a_description_of_more_parameters_than_its_count_can_say_passes(made, target):
    """A server counts to 65,535 in it and sends the type of each: what was prepared so can never be
    bound, which is an error of that statement."""
    items = ",".join(f"${number + 1}" for number in range(65536))
    prepare = message(b"P", text("many", f"SELECT cardinality(ARRAY[{items}]::int[])") + bytes(2))
    bind = message(b"B", text("", "many") + bytes(6))
    described, refused = [], []
    for wire in (direct(target, target.server.port), Wire(made)):
        with wire:
            wire.send(prepare, message(b"D", b"S" + text("many")), message(b"S"))
            described.append(wire.until_ready())
            wire.send(bind, message(b"E", text("") + bytes(4)), message(b"S"))
            with pytest.raises(Refused) as error:
                wire.until_ready()
            refused.append(error.value.fields["C"])
            assert wire.ask("SELECT 1") == [("1",)]
    assert described[0] == described[1]
    assert [len(body) for kind, body in described[0] if kind == b"t"] == [2 + 4 * 65536]
    assert refused == ["08P01", "08P01"]
