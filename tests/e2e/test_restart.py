# SPDX-License-Identifier: MIT
"""A stop and a restart, as clients meet them: the limit of a stop is the limit, and with sockets that
a service manager keeps nobody is refused meanwhile."""
import fcntl
import os
import signal
import socket
import subprocess
import threading
import time

import pytest

from api import register
from conftest import BINARY, IS_SANITIZED, PATIENCE, Gateway, wait_for
from native import credential
from pgwire import Refused, Wire, message, text

CLIENTS = 16


class Kept:
    """What systemd does for gatehouse.socket: sockets that outlive the processes they are for."""

    def __init__(self, folder):
        self.folder = str(folder)
        self.sockets = [socket.create_server(("127.0.0.1", 0), backlog=4096) for _ in range(2)]
        self.http, self.native = (kept.getsockname()[1] for kept in self.sockets)
        self.starts = 0

    def start(self, *arguments):
        self.starts += 1
        # In their places before the program begins, with its number in the environment.
        high = [fcntl.fcntl(kept.fileno(), fcntl.F_DUPFD, 100) for kept in self.sockets]
        script = "".join(f"exec {3 + i}<&{fd} {fd}<&-; " for i, fd in enumerate(high))
        flags = ["serve", "--data-dir", os.path.join(self.folder, "data"), "--listen",
                 f"127.0.0.1:{self.http}", "--postgres-listen", f"127.0.0.1:{self.native}",
                 "--mysql-listen", "off", "--ssh-listen", "off",
                 *(["--sandbox", "off"] if IS_SANITIZED else []), *arguments]
        env = {k: v for k, v in os.environ.items() if not k.startswith("GATEHOUSE_")}
        output = os.path.join(self.folder, f"output-{self.starts}.txt")
        gateway = Gateway.__new__(Gateway)
        with open(output, "wb") as out:
            gateway.process = subprocess.Popen(
                ["bash", "-c", f'{script} export LISTEN_PID=$$ LISTEN_FDS=2; exec "$@"', "bash",
                 BINARY, *flags], env=env, pass_fds=high, stdout=out, stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL)
        for fd in high:
            os.close(fd)
        gateway.output, gateway.folder = output, self.folder
        gateway.data = os.path.join(self.folder, "data")
        return gateway


@pytest.fixture
def kept(tmp_path):
    made = Kept(tmp_path)
    gateways = []
    start = made.start

    def starting(*arguments):
        gateways.append(start(*arguments))
        return gateways[-1]
    made.start = starting
    yield made
    for gateway in gateways:
        gateway.kill()
    for each in made.sockets:
        each.close()


class Clients:
    """Connect, ask, leave, again and again, until they are told to stop."""

    def __init__(self, made, port):
        self.made, self.port = made, port
        self.is_over = False
        self.done, self.told, self.refused, self.http = 0, 0, [], 0
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=run) for run in
                        [self.native] * (CLIENTS - 4) + [self.web] * 4]
        for thread in self.threads:
            thread.start()

    def native(self):
        while not self.is_over:
            try:
                with Wire(self.made) as wire:
                    wire.ask("SELECT 1")
                with self.lock:
                    self.done += 1
            except Refused as error:
                with self.lock:
                    if error.fields["C"] == "57P01":
                        self.told += 1
                    else:
                        self.refused.append(str(error))
            except (OSError, EOFError) as error:
                with self.lock:
                    self.refused.append(repr(error))

    def web(self):
        while not self.is_over:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as conn:
                    conn.sendall(b"GET /api/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    answer = conn.recv(4096)
                    assert answer.startswith(b"HTTP/1.1 200 "), answer
                with self.lock:
                    self.http += 1
            except (OSError, AssertionError) as error:
                with self.lock:
                    self.refused.append(f"http: {error!r}")

    def end(self):
        self.is_over = True
        for thread in self.threads:
            thread.join(4 * PATIENCE)


@pytest.mark.quiet
def test_nobody_is_refused_in_a_restart(kept, target):
    gateway = kept.start("--shutdown-seconds", "3")
    gateway.wait_ready()
    admin = register(gateway)
    made = credential(admin, target.connection(admin))
    clients = Clients(made, kept.http)
    wait_for(lambda: clients.done > 50, what="clients at work")
    for restart in range(2):
        begun = Wire(made)
        begun.ask("BEGIN")
        idle = Wire(made)
        idle.ask("SELECT 1")
        began = time.monotonic()
        gateway.signal(signal.SIGTERM)
        for wire in idle, begun:
            told = wire.fatal()
            assert told["C"] == "57P01" and "stopping" in told["M"], told
        assert gateway.process.wait(PATIENCE) == 0
        assert 2 < time.monotonic() - began <= 3, "the limit is the limit"
        done, http = clients.done, clients.http
        gateway = kept.start("--shutdown-seconds", "3")
        wait_for(lambda: clients.done > done + 50 and clients.http > http + 5,
                 what="clients at work again")
    clients.end()
    assert not clients.refused, (clients.done, clients.told, clients.refused[:10])
    assert clients.done > 150 and gateway.stop() == 0


@pytest.mark.quiet
def test_clients_that_do_not_read_do_not_lengthen_a_stop(start, target):
    """Idle or in the middle of an answer: they are told, and then not waited for."""
    gateway = start("--shutdown-seconds", "2")
    admin = register(gateway)
    made = credential(admin, target.connection(admin))
    wires = [Wire(made, receive_buffer=4096) for _ in range(6)]
    for wire in wires[:2]:
        wire.ask("BEGIN")
    for wire in wires[2:4]:
        wire.send(message(b"Q", text("SELECT repeat('x', 1000) FROM generate_series(1, 100000)")))
        wire.receive(5)
    began = time.monotonic()
    gateway.signal(signal.SIGTERM)
    assert gateway.process.wait(PATIENCE) == 0, gateway.text()
    assert time.monotonic() - began <= 2
    assert wires[0].fatal()["C"] == "57P01" and wires[5].fatal()["C"] == "57P01"
    assert "the stop takes too long" not in gateway.text()


def test_a_kept_socket_that_no_setting_names_stops_the_start(kept):
    gateway = kept.start("--postgres-listen", "off")
    assert gateway.process.wait(PATIENCE) == 2, gateway.text()
    assert f"keeps a socket at port {kept.native}, where no setting listens" in gateway.text()
