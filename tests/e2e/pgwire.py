# SPDX-License-Identifier: MIT
"""PostgreSQL's protocol by hand, for what no ordinary client does: one connection, its sign-in, and
messages one by one."""
import base64
import hashlib
import hmac
import os
import socket
import struct
import time

from conftest import PATIENCE
from native import address

CANCEL, SSL_REQUEST = 80877102, 80877103


class Refused(Exception):
    """An ErrorResponse: error.fields["C"] is its SQLSTATE."""

    def __init__(self, fields):
        super().__init__(f"{fields['S']} {fields['C']}: {fields['M']}")
        self.fields = fields


def fields_of(body):
    return {part[:1].decode(): part[1:].decode("utf-8", "replace")
            for part in body.split(b"\0") if part}


def message(kind, body=b""):
    return kind + struct.pack("!I", len(body) + 4) + body


def text(*values):
    return b"".join(value.encode() + b"\0" for value in values)


def startup(user, database=None, version=(3, 0), **parameters):
    pairs = {"user": user, **({} if database is None else {"database": database}), **parameters}
    body = struct.pack("!HH", *version) + b"".join(text(*pair) for pair in pairs.items()) + b"\0"
    return struct.pack("!I", len(body) + 4) + body


class Wire:
    """A connection that has signed in, unless 'is_begun' says that it has not begun at all."""

    def __init__(self, made, is_begun=True, wrap=None, receive_buffer=None, source=None,
                 **begin):
        given = address(made)
        self.user, self.password = given["user"], given["password"]
        self.database = given["dbname"]
        self.conn = socket.socket()
        if receive_buffer is not None:
            self.conn.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        if source is not None:
            self.conn.bind((source, 0))
        self.conn.settimeout(PATIENCE)
        self.conn.connect((given["host"], int(given["port"])))
        self.conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if wrap is not None:
            self.conn = wrap(self.conn)
        self.parameters, self.key, self.status = {}, None, None
        self.notices = []
        if is_begun:
            self.begin(**begin)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.conn.close()

    def send(self, *messages):
        self.conn.sendall(b"".join(messages))

    def receive(self, size):
        received = bytearray()
        while len(received) < size:
            part = self.conn.recv(min(size - len(received), 1 << 20))
            if not part:
                raise EOFError(f"{bytes(received)!r}")
            received += part
        return bytes(received)

    def read(self):
        kind, size = struct.unpack("!cI", self.receive(5))
        return kind, self.receive(size - 4)

    def begin(self, version=(3, 0), **parameters):
        self.send(startup(self.user, self.database, version, **parameters))
        kind, body = self.expect()
        while kind == b"v":
            kind, body = self.expect()
        if (kind, body) != (b"R", bytes(4)):  # a server that trusts wants no proof
            assert kind == b"R" and body[:4] == b"\0\0\0\x0a", (kind, body)
            self.prove()
        self.until_ready()

    def prove(self):
        nonce = base64.b64encode(os.urandom(18)).decode()
        bare = f"n=,r={nonce}"
        first = b"n,," + bare.encode()
        self.send(message(b"p", text("SCRAM-SHA-256") + struct.pack("!I", len(first)) + first))
        server = self.expect()[1][4:].decode()
        part = dict(item.split("=", 1) for item in server.split(","))
        salted = hashlib.pbkdf2_hmac("sha256", self.password.encode(),
                                     base64.b64decode(part["s"]), int(part["i"]))
        key = hmac.digest(salted, b"Client Key", "sha256")
        final = f"c=biws,r={part['r']}"
        signed = f"{bare},{server},{final}".encode()
        signature = hmac.digest(hashlib.sha256(key).digest(), signed, "sha256")
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature))).decode()
        self.send(message(b"p", f"{final},p={proof}".encode()))

    def expect(self):
        """The next message, which is not an error."""
        kind, body = self.read()
        if kind == b"E":
            raise Refused(fields_of(body))
        return kind, body

    def until_ready(self):
        """All messages up to ReadyForQuery; then the first error, if there was one, is raised."""
        found, error = [], None
        while True:
            kind, body = self.read()
            if kind == b"S":
                name, value = body.split(b"\0")[:2]
                self.parameters[name.decode()] = value.decode()
            elif kind == b"K":
                self.key = body
            elif kind == b"N":
                self.notices.append(fields_of(body))
            elif kind == b"E":
                error = error or Refused(fields_of(body))
                if error.fields["S"] == "FATAL":
                    raise error
            elif kind == b"Z":
                self.status = body
                break
            found.append((kind, body))
        if error is not None:
            raise error
        return found

    def ask(self, sql):
        """The rows of a simple query, all values as text."""
        self.send(message(b"Q", text(sql)))
        return rows_of(self.until_ready())

    def fatal(self):
        """What ends the connection: the fields of the last message, with the end behind it."""
        last = {}
        try:
            while True:
                kind, body = self.read()
                last = fields_of(body) if kind == b"E" else last
        except (EOFError, ConnectionResetError):
            return last

    def cancel_request(self, key=None):
        key = self.key if key is None else key
        return struct.pack("!II", 8 + len(key), CANCEL) + key


def rows_of(messages):
    rows = []
    for kind, body in messages:
        if kind != b"D":
            continue
        count, at, row = struct.unpack("!H", body[:2])[0], 2, []
        for _ in range(count):
            size = struct.unpack("!i", body[at:at + 4])[0]
            row.append(None if size < 0 else body[at + 4:at + 4 + size].decode())
            at += 4 + max(size, 0)
        rows.append(tuple(row))
    return rows


def cancel(made, wire, key=None):
    """Asks on a connection of its own; returns when the gateway has closed that, after how long."""
    began = time.monotonic()
    with Wire(made, is_begun=False) as other:
        other.send(wire.cancel_request(key))
        assert other.conn.recv(1) == b""
    return time.monotonic() - began
