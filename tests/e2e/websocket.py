# SPDX-License-Identifier: MIT
"""A WebSocket, the client's end, by hand: what a test wants to break it can break."""
import base64
import hashlib
import json
import os
import re
import socket
import ssl
import time
import urllib.parse

import h2.config
import h2.connection
import h2.events
import h2.settings

from conftest import PATIENCE

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Refused(Exception):
    """The gateway has answered otherwise."""

    def __init__(self, head, body):
        super().__init__(head + body)
        self.status = int(head.split()[1])
        self.message = json.loads(body)["message"] if body.startswith("{") else body


class H2Socket:
    """A stream of HTTP/2 that an extended CONNECT (RFC 8441) made, as a socket."""

    def __init__(self, gateway, path, headers, protocol="websocket"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        self.socket = context.wrap_socket(
            socket.create_connection(("127.0.0.1", gateway.port), PATIENCE))
        self.conn = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self.conn.initiate_connection()
        self.bytes, self.status, self.has_ended, self.reset = b"", None, False, None
        while not self.conn.remote_settings.get(h2.settings.SettingCodes.ENABLE_CONNECT_PROTOCOL):
            self.pump()
        self.stream = self.conn.get_next_available_stream_id()
        self.conn.send_headers(self.stream, [
            (":method", "CONNECT"), (":protocol", protocol), (":scheme", "https"),
            (":path", path), (":authority", f"127.0.0.1:{gateway.port}"),
            *((name.lower(), value) for name, value in headers.items())])
        while self.status is None:
            self.pump()

    def pump(self):
        self.socket.sendall(self.conn.data_to_send())
        got = self.socket.recv(1 << 16)
        self.has_ended = self.has_ended or not got
        for event in self.conn.receive_data(got):
            if isinstance(event, h2.events.ResponseReceived):
                self.status = int(dict(event.headers)[":status"])
            elif isinstance(event, h2.events.DataReceived):
                self.bytes += event.data
                self.conn.acknowledge_received_data(event.flow_controlled_length, self.stream)
            elif isinstance(event, h2.events.StreamReset):
                self.has_ended, self.reset = True, event.error_code
            elif isinstance(event, h2.events.StreamEnded):
                self.has_ended = True
        self.socket.sendall(self.conn.data_to_send())

    def recv(self, size):
        while not self.bytes and not self.has_ended:
            self.pump()
        got, self.bytes = self.bytes[:size], self.bytes[size:]
        return got

    def sendall(self, data):
        while data:
            room = min(self.conn.local_flow_control_window(self.stream),
                       self.conn.max_outbound_frame_size)
            if room == 0:
                self.pump()
                continue
            self.conn.send_data(self.stream, data[:room])
            data = data[room:]
            self.socket.sendall(self.conn.data_to_send())

    def settimeout(self, seconds):
        self.socket.settimeout(seconds)

    def close(self):
        self.socket.close()


class WebSocket:
    def __init__(self, gateway, path, headers=None, is_h2=False):
        if is_h2:
            self.bytes = b""
            self.socket = H2Socket(gateway, path, {"sec-websocket-version": "13", **headers})
            assert self.socket.status == 200, self.socket.status
            return
        self.key = base64.b64encode(os.urandom(16)).decode()
        wanted = {"Host": f"127.0.0.1:{gateway.port}", "Connection": "keep-alive, Upgrade",
                  "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
                  "Sec-WebSocket-Key": self.key, **(headers or {})}
        self.socket = socket.create_connection(("127.0.0.1", gateway.port), PATIENCE)
        lines = [f"{name}: {value}" for name, value in wanted.items() if value is not None]
        self.socket.sendall("\r\n".join([f"GET {path} HTTP/1.1", *lines, "", ""]).encode())
        self.bytes = b""
        while b"\r\n\r\n" not in self.bytes:
            self.receive()
        head, self.bytes = self.bytes.split(b"\r\n\r\n", 1)
        self.head = head.decode()
        if not self.head.startswith("HTTP/1.1 101 "):
            size = int(re.search(r"(?i)content-length: (\d+)", self.head)[1])
            while len(self.bytes) < size:
                self.receive()
            raise Refused(self.head, self.bytes.decode())
        accept = base64.b64encode(hashlib.sha1((self.key + GUID).encode()).digest()).decode()
        assert f"Sec-WebSocket-Accept: {accept}" in self.head, self.head

    def receive(self):
        got = self.socket.recv(1 << 16)
        if not got:
            raise EOFError(self.bytes)
        self.bytes += got

    def send_raw(self, data):
        self.socket.sendall(data)

    def send(self, kind, payload, is_last=True):
        mask = os.urandom(4)
        size = len(payload)
        head = bytes([(0x80 if is_last else 0) | kind])
        head += bytes([0x80 | size]) if size < 126 else (
            bytes([0x80 | 126]) + size.to_bytes(2, "big") if size < 65536 else
            bytes([0x80 | 127]) + size.to_bytes(8, "big"))
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
        self.send_raw(head + mask + masked)

    def frame(self):
        """(kind, payload), of a server: whole, and not masked."""
        while True:
            if len(self.bytes) >= 2:
                first, size = self.bytes[0], self.bytes[1]
                assert first & 0xf0 == 0x80 and size & 0x80 == 0
                start = {126: 4, 127: 10}.get(size, 2)
                if start > 2:
                    size = int.from_bytes(self.bytes[2:start], "big")
                if len(self.bytes) >= max(start, 2) + size and len(self.bytes) >= start:
                    payload = self.bytes[start:start + size]
                    self.bytes = self.bytes[start + size:]
                    return first & 15, payload
            self.receive()

    def close(self):
        self.socket.close()


class Terminal(WebSocket):
    """What is shown, as text that grows."""

    def __init__(self, api, name, headers=None, is_h2=False, **query):
        query = {"columns": 100, "rows": 30, **query}
        headers = {"Authorization": f"Bearer {api.token}"} if headers is None else headers
        super().__init__(api.gateway, f"/api/connections/{name}/terminal?"
                         f"{urllib.parse.urlencode(query)}", headers, is_h2)
        self.shown = b""
        self.exit = self.session = self.code = None
        self.pongs = []

    def step(self):
        kind, payload = self.frame()
        if kind == BINARY:
            self.shown += payload
        elif kind == TEXT:
            told = json.loads(payload)
            if told["type"] == "open":
                self.session = told["session_id"]
            else:
                assert told["type"] == "exit", told
                self.exit = told
        elif kind == PONG:
            self.pongs.append(payload)
        elif kind == CLOSE:
            self.code = int.from_bytes(payload[:2], "big")

    def opened(self):
        while self.session is None and self.code is None:
            self.step()
        assert self.session is not None, self.exit
        return self

    def until(self, wanted, seconds=PATIENCE):
        """What was shown up to and with it, and it is seen no more."""
        wanted = wanted.encode() if isinstance(wanted, str) else wanted
        end = time.monotonic() + seconds
        while wanted not in self.shown:
            assert time.monotonic() < end and self.code is None, (wanted, self.shown, self.exit)
            self.socket.settimeout(max(0.1, end - time.monotonic()))
            try:
                self.step()
            except TimeoutError:
                continue
        before, self.shown = self.shown.split(wanted, 1)
        return (before + wanted).decode(errors="replace")

    def type(self, text):
        self.send(BINARY, text.encode() if isinstance(text, str) else text)

    def resize(self, columns, rows):
        self.send(TEXT, json.dumps({"type": "resize", "columns": columns, "rows": rows}).encode())

    def ended(self, seconds=PATIENCE):
        """(the exit that was told, the code of the close)"""
        self.socket.settimeout(seconds)
        try:
            while self.code is None:
                self.step()
        except EOFError:
            pass
        self.close()
        return self.exit, self.code
