# SPDX-License-Identifier: MIT
"""Scripts over the API: a statement, beside the same one in an open session of psql and one request
of HTTP; and what a command writes, by the gigabyte."""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from api import EMBEDDED_AGENT  # noqa: E402
from conftest import PostgresServer  # noqa: E402

from bench_postgres import Place, fill, through_gateway  # noqa: E402
from caller import Caller, role  # noqa: E402
from servers import Gateway, resident_mib  # noqa: E402

STATEMENTS = 200
GIGABYTE = 1_000_000_000


class OpenSession:
    def __init__(self, place):
        env = {**os.environ, "PGPASSWORD": place.password}
        self.process = subprocess.Popen(
            ["psql", "-X", "-A", "-t", "-q", "-h", "127.0.0.1", "-p", str(place.port), "-U",
             place.user, place.database],
            env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ask()

    def ask(self):
        self.process.stdin.write("select 1;\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "1\n"

    def close(self):
        self.process.stdin.close()
        self.process.wait(20)


def milliseconds(action):
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1000


def statement(admin, place):
    def execute():
        answer = json.loads(admin.call("POST", "/sessions", {"connection": "bench",
                                                             "script": "select 1"})[1])
        assert answer["output_status"] == "success", answer
    session = OpenSession(place)
    ours, theirs = [], []
    for _ in range(STATEMENTS):
        ours.append(milliseconds(execute))
        theirs.append(milliseconds(session.ask) +
                      milliseconds(lambda: admin.call("GET", "/userinfo")))
    session.close()
    ours, theirs = statistics.median(ours), statistics.median(theirs)
    return ("`select 1` over the API, p50", f"{ours:.2f} ms",
            f"{theirs:.2f} ms: an open session of psql and one request", f"{ours / theirs:.2f}",
            "≤ 1.5, ≤ 3 ms")


class Watch:
    """The most memory that a process has meanwhile."""

    def __init__(self, pid):
        self.pid, self.most, self.is_over = pid, 0, False
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self):
        while not self.is_over:
            self.most = max(self.most, resident_mib(self.pid))
            time.sleep(0.05)

    def stop(self):
        self.is_over = True
        self.thread.join()
        return self.most


def output(admin, gateway, rounds):
    admin.call("POST", "/connections", role(
        "tools", type="custom", subtype="tools", agent_id=EMBEDDED_AGENT, command=["sh"],
        access_mode_connect="enabled", access_mode_exec="enabled",
        access_mode_runbooks="enabled", access_schema="enabled"))
    script = f"yes 'a line of output, as a program would write it' | head -c {GIGABYTE}"
    before = resident_mib(gateway.pid)
    watch = Watch(gateway.pid)
    ours, theirs = [], []
    for _ in range(rounds):
        began = time.perf_counter()
        answer = json.loads(admin.call("POST", "/sessions", {"connection": "tools",
                                                             "script": script})[1])
        ours.append(time.perf_counter() - began)
        assert answer["output_status"] == "success", answer
        began = time.perf_counter()
        with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE) as process:
            while process.stdout.read(65536):
                pass
        theirs.append(time.perf_counter() - began)
    most = watch.stop()
    ours, theirs = statistics.median(ours), statistics.median(theirs)
    return ("1 GB of a command's output, recorded", f"{GIGABYTE / 1e6 / ours:.0f} MB/s",
            f"{GIGABYTE / 1e6 / theirs:.0f} MB/s through a pipe",
            f"{most - before:.1f} MiB more at most", "≥ 300 MB/s, constant memory")


def measure(options, folder):
    os.chmod(folder, 0o755)
    server = PostgresServer(f"{folder}/postgres-exec")
    fill(server)
    gateway = Gateway(options.binary, tempfile.mkdtemp(dir=folder), "--postgres-listen",
                      "127.0.0.1:0")
    try:
        admin = Caller.register(gateway)
        place: Place = through_gateway(admin, server)
        return [statement(admin, place), output(admin, gateway, min(options.rounds, 3))]
    finally:
        gateway.stop()
        server.stop()
