# SPDX-License-Identifier: MIT
"""Clients that fall silent before the gateway knows who they are: each is waited for as long as it
says, all at the same time, while somebody else works."""
import socket
import ssl
import threading
import time

import pytest

from api import register
from conftest import IS_SANITIZED, Gateway
from native import Target, credential, psql
from pgwire import SSL_REQUEST, Wire, fields_of, message, startup, text
from test_tls import make_certificate

AUTHENTICATION = 30  # LIMIT_FRONT_AUTHENTICATION_MS
HANDSHAKE = 10  # LIMIT_TLS_HANDSHAKE_MS
TARGET = 30  # LIMIT_GATE_OPEN_MS
EARLY, LATE = 0.5, 8 if IS_SANITIZED else 3
ASK_TLS = (8).to_bytes(4, "big") + SSL_REQUEST.to_bytes(4, "big")
TIMEOUT = ("57014", "canceling authentication due to timeout")


def hello():
    """The bytes that begin a handshake."""
    context = ssl.create_default_context()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
    return outgoing.read()


def encrypt(conn, protocols=()):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if protocols:
        context.set_alpn_protocols(protocols)
    return context.wrap_socket(conn)


class Silent(threading.Thread):
    """Does its part, then nothing more, until the gateway has closed the connection."""

    def __init__(self, name, port, act, seconds, words=None):
        super().__init__(name=name)
        self.port, self.act, self.seconds, self.words = port, act, seconds, words
        self.error = self.took = None
        self.received = b""
        self.start()

    def run(self):
        begin = time.monotonic()
        try:
            conn = socket.create_connection(("127.0.0.1", self.port), timeout=AUTHENTICATION + 30)
            conn = self.act(conn) or conn
            with conn:
                while part := conn.recv(65536):
                    self.received += part
        except (ConnectionError, ssl.SSLEOFError):
            pass
        except (OSError, AssertionError) as error:
            self.error = error
        self.took = time.monotonic() - begin

    def check(self):
        assert self.error is None, (self.name, self.error)
        assert self.seconds - EARLY <= self.took <= self.seconds + LATE, (self.name, self.took)
        last = self.received
        while len(last) > 5 and last[:1] != b"E":  # what was said before
            last = last[1 + int.from_bytes(last[1:5], "big"):]
        found = fields_of(last[5:]) if last[:1] == b"E" else {}
        words = (found["C"], found["M"]) if found else None
        assert words == self.words, (self.name, self.received)


def sends(*parts):
    def act(conn):
        for part in parts:
            conn.sendall(part)
    return act


def after_request(then):
    def act(conn):
        conn.sendall(ASK_TLS)
        assert conn.recv(1) == b"S"
        return then(conn)
    return act


def starts(user, half=False):
    def act(conn):
        conn.sendall(startup(user, "x")[:-9 if half else None])
        if not half:
            assert conn.recv(1) == b"R"  # which is then not whole: it is looked at no more
            conn.recv(65536)
    return act


def begins_proof(user):
    def act(conn):
        starts(user)(conn)
        first = b"n,,n=,r=bm9uY2U"
        conn.sendall(message(b"p", text("SCRAM-SHA-256") + len(first).to_bytes(4, "big") + first))
        assert conn.recv(1) == b"R"
        conn.recv(65536)
    return act


def half_answers(user):
    def act(conn):
        starts(user)(conn)
        conn.sendall(b"p\0\0\1\0SCRAM")
    return act


def trickles(user):
    """A byte every second: the whole of it has to come in time."""
    def act(conn):
        for byte in startup(user, "x" * 60):
            conn.sendall(bytes([byte]))
            time.sleep(1)
    return act


def over_tls(then):
    def act(conn):
        encrypted = encrypt(conn)
        then(encrypted)
        return encrypted
    return after_request(act)


def directly(conn):
    return encrypt(conn, ["postgresql"])


def silent_clients(port, http_port, user):
    front = {
        "nothing": sends(), "half a request for TLS": sends(ASK_TLS[:5]),
        "TLS, and nothing": after_request(sends()),
        "TLS, and half a hello": after_request(sends(hello()[:100])),
        "TLS at once, and half a hello": sends(hello()[:100]),
        "TLS, and no startup": over_tls(sends()),
        "TLS at once, and no startup": directly,
        "half a startup": starts(user, half=True), "a startup byte by byte": trickles(user),
        "half a startup over TLS": over_tls(starts(user, half=True)),
    }
    asked = {
        "no answer": starts(user), "no answer of a stranger": starts("nobody"),
        "no proof": begins_proof(user), "no proof of a stranger": begins_proof("nobody"),
        "no answer over TLS": over_tls(starts(user)), "half an answer": half_answers(user),
    }
    return [*(Silent(name, port, act, AUTHENTICATION) for name, act in front.items()),
            *(Silent(name, port, act, AUTHENTICATION, TIMEOUT) for name, act in asked.items()),
            Silent("HTTP: half a hello", http_port, sends(hello()[:100]), HANDSHAKE)]


@pytest.fixture
def mute():
    """A target that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def test_silence_is_waited_out_and_delays_nobody(tmp_path, postgres, mute):
    target = Target(postgres)
    certificate, key = make_certificate(tmp_path, "gateway")
    gateway = Gateway(tmp_path / "gateway", "--tls-cert", certificate, "--tls-key", key)
    try:
        admin = register(gateway)
        made = credential(admin, target.connection(admin))
        lost = credential(admin, target.connection(admin, target.secret(
            PORT=str(mute.getsockname()[1]), SSLMODE="disable")))
        port = int(made["connection_credentials"]["port"])
        silent = silent_clients(port, gateway.port, made["connection_credentials"]["username"])
        waiting = Lost(lost)
        longest = questions = 0
        with Wire(made) as open_before:
            while any(client.is_alive() for client in [*silent, waiting]):
                begin = time.monotonic()
                assert open_before.ask("SELECT 1") == [("1",)]
                assert psql(made, "SELECT 2").stdout == "2\n"
                longest = max(longest, time.monotonic() - begin)
                questions += 1
                time.sleep(0.5)
        for client in [*silent, waiting]:
            client.check()
        assert questions > 15 and longest < LATE, (questions, longest)
    finally:
        assert gateway.stop() == 0, gateway.text()


class Lost(threading.Thread):
    """A client whose target says nothing: it is told so."""

    def __init__(self, made):
        super().__init__()
        self.made, self.done, self.took = made, None, None
        self.start()

    def run(self):
        begin = time.monotonic()
        self.done = psql(self.made, "SELECT 1", check=False, PGSSLMODE="require")
        self.took = time.monotonic() - begin

    def check(self):
        assert self.done.returncode == 2, self.done
        assert "FATAL:  the target was not ready in time" in self.done.stderr, self.done
        assert TARGET - EARLY <= self.took <= TARGET + LATE, (self.took, self.done.stderr)
