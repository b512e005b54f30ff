# SPDX-License-Identifier: MIT
"""An agent of the first version, as bytes, and a gateway of it: what they say must be understood
for ever. These stay as they are; a new version adds its own."""
import socket
import threading
from urllib.parse import urlsplit

import pytest

from agent import AT_ONCE, Agent, make_agent, status_of, wait_disconnected
from api import connection
from conftest import wait_for

REQUEST = ("GET /api/agent-link HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\n"
           "Upgrade: gatehouse-link/1\r\nAuthorization: Bearer {secret}\r\n"
           "Gatehouse-Agent: {name}\r\nGatehouse-Link: 0\r\n\r\n")
ANSWER = (b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
          b"Upgrade: gatehouse-link/1\r\n\r\n")
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
AGENT_HELLO = (b'{"protocol":1,"version":"0.1.0","kinds":["/postgres"],"machine":{"hostname":'
               b'"box-7","platform":"linux/x86_64","machine_id":"5f0c","kernel_version":"6.1.0",'
               b'"compiler":"12.2.0"}}')
GATEWAY_HELLO = (b'{"protocol":1,"version":"0.1.0","node":"0199-n1","agent":"far","links":1,'
                 b'"nodes":[{"id":"0199-n1","url":"http://127.0.0.1:1"}]}')
DATA, HEADERS, SETTINGS, PING = 0, 1, 4, 6
END_HEADERS, ACK = 4, 1
# :method POST, :scheme http, :authority agent, :path /hello, in HPACK without Huffman.
ASKS_HELLO = b"\x83\x86\x41\x05agent\x44\x06/hello"
ACCEPTED = b"\x88"


def frame(kind, flags, stream, payload=b""):
    return (len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") +
            payload)


def message(text):
    return len(text).to_bytes(4, "big") + text


class Peer:
    """Frames over a socket."""

    def __init__(self, conn):
        self.conn, self.bytes = conn, b""
        conn.settimeout(10)

    def need(self, size):
        while len(self.bytes) < size:
            part = self.conn.recv(65536)
            assert part, "the link ended"
            self.bytes += part

    def take(self, size):
        self.need(size)
        taken, self.bytes = self.bytes[:size], self.bytes[size:]
        return taken

    def take_head(self):
        while b"\r\n\r\n" not in self.bytes:
            self.need(len(self.bytes) + 1)
        head, _, self.bytes = self.bytes.partition(b"\r\n\r\n")
        return head + b"\r\n\r\n"

    def take_frame(self):
        head = self.take(9)
        size = int.from_bytes(head[:3], "big")
        return head[3], head[4], int.from_bytes(head[5:9], "big"), self.take(size)

    def take_message(self, stream):
        """What came on this stream: headers, and the first piece of its DATA."""
        headers, data = b"", b""
        while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
            kind, flags, at, payload = self.take_frame()
            if at == stream and kind == HEADERS:
                headers = payload
            elif at == stream and kind == DATA:
                data += payload
            elif kind == SETTINGS and not flags & ACK:
                self.conn.sendall(frame(SETTINGS, ACK, 0))
            elif kind == PING and not flags & ACK:
                self.conn.sendall(frame(PING, ACK, 0, payload))
        return headers, data[4:]


def test_an_agent_of_the_first_version_is_connected(admin):
    made = make_agent(admin)
    gateway = admin.gateway
    with gateway.connect() as conn:
        peer = Peer(conn)
        conn.sendall(REQUEST.format(host=f"127.0.0.1:{gateway.port}", name=made["name"],
                                    secret=urlsplit(made["token"]).password).encode())
        assert peer.take_head() == ANSWER
        assert peer.take(len(PREFACE)) == PREFACE
        conn.sendall(frame(SETTINGS, 0, 0))
        _, hello = peer.take_message(1)
        assert b'"protocol":1' in hello and made["name"].encode() in hello
        assert f"http://127.0.0.1:{gateway.port}".encode() in hello
        conn.sendall(frame(HEADERS, END_HEADERS, 1, ACCEPTED) +
                     frame(DATA, 0, 1, message(AGENT_HELLO)))
        wait_for(lambda: status_of(admin, made) == "CONNECTED", 1 + AT_ONCE)
        read = admin.get(f"/agents/{made['name']}").json
        assert read["metadata"] == {
            "hostname": "box-7", "platform": "linux/x86_64", "machine-id": "5f0c",
            "kernel-version": "6.1.0", "compiler": "12.2.0", "version": "0.1.0"}
        body = connection(type="custom", subtype="tools", agent_id=made["id"], command=["sh"])
        assert admin.post("/connections", body).status == 201
        done = admin.post("/sessions", {"connection": body["name"], "script": "echo x"}).json
        assert done["output_status"] == "failed" and (
            "the connection's agent is too old for sessions of commands" in done["output"]), done
    wait_disconnected(admin, made, AT_ONCE)


@pytest.mark.parametrize("hello", [b"{}", b"[]", b'{"protocol":1,"kinds":"x"}', b"\xff", b""])
def test_an_agent_that_answers_nonsense_is_cut(admin, hello):
    made = make_agent(admin)
    with admin.gateway.connect() as conn:
        peer = Peer(conn)
        conn.sendall(REQUEST.format(host="localhost", name=made["name"],
                                    secret=urlsplit(made["token"]).password).encode())
        peer.take_head()
        peer.take(len(PREFACE))
        conn.sendall(frame(SETTINGS, 0, 0))
        peer.take_message(1)
        conn.sendall(frame(HEADERS, END_HEADERS, 1, ACCEPTED) + frame(DATA, 0, 1, message(hello)))
        with pytest.raises((AssertionError, ConnectionResetError)):
            while True:
                peer.take_frame()
    assert status_of(admin, made) == "DISCONNECTED"


@pytest.fixture
def old_gateway():
    """Speaks the first version to whoever connects; yields its port and what it heard."""
    listening = socket.create_server(("127.0.0.1", 0))
    heard = {"links": 0}

    def serve():
        while True:
            try:
                conn, _ = listening.accept()
            except OSError:
                return
            peer = Peer(conn)
            heard["request"] = peer.take_head()
            conn.sendall(ANSWER + PREFACE + frame(SETTINGS, 0, 0) +
                         frame(HEADERS, END_HEADERS, 1, ASKS_HELLO) +
                         frame(DATA, 0, 1, message(GATEWAY_HELLO)))
            heard["status"], heard["hello"] = peer.take_message(1)
            # A kind that this agent will never know.
            conn.sendall(frame(HEADERS, END_HEADERS, 3, ASKS_HELLO[:9] + b"\x44\x06/never") +
                         frame(DATA, 0, 3, message(b"?")))
            heard["unknown"], _ = peer.take_message(3)
            heard["links"] += 1
            heard["conn"] = conn

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listening.getsockname()[1], heard
    listening.close()


def test_a_gateway_of_the_first_version_is_understood(old_gateway, tmp_path):
    port, heard = old_gateway
    agent = Agent(str(tmp_path), "--token", f"http://far:gha_x@127.0.0.1:{port}?mode=standard")
    wait_for(lambda: heard["links"] == 1, what=f"the link ({agent.text()} {heard})")
    assert heard["request"].decode() == REQUEST.format(host=f"127.0.0.1:{port}", name="far",
                                                       secret="gha_x")
    assert heard["status"][:1] == ACCEPTED and heard["hello"].startswith(b'{"protocol":1,')
    assert heard["unknown"][:1] == b"\x8d"  # :status 404
    assert "linked to the gateway" in agent.text()
    heard["conn"].close()
    wait_for(lambda: heard["links"] == 2, 10)
    assert agent.stop() == 0
