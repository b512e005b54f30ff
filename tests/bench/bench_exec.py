# SPDX-License-Identifier: MIT
"""Scripts over the API: a statement, beside the same one in an open session of psql and one request
of HTTP, a thousand at once; a terminal's echo; what a command writes, by the gigabyte; and what
'gatehouse connect' adds to a query and to a COPY."""
import json
import os
import pty
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from api import EMBEDDED_AGENT  # noqa: E402
from conftest import PostgresServer  # noqa: E402
from websocket import Terminal  # noqa: E402

from bench_postgres import Place, fill, take_turns, through_gateway  # noqa: E402
from caller import Caller, role  # noqa: E402
from servers import Gateway, resident_mib  # noqa: E402

STATEMENTS = 200
PAUSE = 0.02
ECHOES = 300
GIGABYTE = 1_000_000_000
AT_ONCE, CALLERS = 1000, 20
COPIED = "select repeat('x', 1000) from generate_series(1, 300000)"


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


def statement(admin, place, pause=0):
    """The next target is signed in to behind each: without a pause that is waited for."""
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
        time.sleep(pause)
    session.close()
    ours, theirs = statistics.median(ours), statistics.median(theirs)
    rate = f", one each {pause * 1000:.0f} ms" if pause else ""
    return (f"`select 1` over the API{rate}, p50", f"{ours:.2f} ms",
            f"{theirs:.2f} ms: an open session of psql and one request", f"{ours / theirs:.2f}",
            "≤ 1.5, ≤ 3 ms")


def echo_times(type_one, read_some):
    """Of keys one by one, each back on the screen before the next."""
    times = []
    for _ in range(ECHOES):
        began = time.perf_counter()
        type_one(b"x")
        seen = read_some()
        while b"x" not in seen:
            seen += read_some()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


class Here:
    """What a terminal of the gateway is opened with."""

    def __init__(self, admin, gateway):
        self.token, self.gateway = admin.key, gateway


def echo(admin, gateway):
    """Of 'cat' on a terminal: the kernel's own echo, carried; beside the same through script(1)."""
    admin.call("POST", "/connections", role(
        "echo", type="custom", subtype="tools", agent_id=EMBEDDED_AGENT, command=["cat"],
        access_mode_connect="enabled", access_mode_exec="disabled",
        access_mode_runbooks="disabled", access_schema="disabled"))
    terminal = Terminal(Here(admin, gateway), "echo").opened()

    def shown():
        terminal.step()
        seen, terminal.shown = terminal.shown, b""
        return seen
    ours = echo_times(terminal.type, shown)
    terminal.close()
    pid, fd = pty.fork()
    if pid == 0:
        os.execlp("script", "script", "-q", "-c", "cat", "/dev/null")
    os.write(fd, b"y\n")
    seen = b""
    while seen.count(b"y") < 2:  # it is told back: script has begun, and nothing is on its way
        seen += os.read(fd, 100)
    theirs = echo_times(lambda key: os.write(fd, key), lambda: os.read(fd, 100))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(fd)
    return ("a terminal's echo, p50", f"{ours:.2f} ms", f"{theirs:.2f} ms: script(1)",
            f"{ours - theirs:.2f} ms more", "≤ 2 ms")


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


def many(admin):
    """All under way at the same time, and each to its end."""
    began = time.perf_counter()

    def begin(count):
        caller = Caller(admin.port, admin.key)
        for _ in range(count):
            caller.call("POST", "/sessions?wait_ms=0", {
                "connection": "bench", "script": "select pg_sleep(10)",
                "session_batch_id": "bench"})
    threads = [threading.Thread(target=begin, args=(AT_ONCE // CALLERS,)) for _ in range(CALLERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    begun = time.perf_counter() - began
    open_most, done = 0, 0
    while done < AT_ONCE:
        look = "/sessions?batch_id=bench&limit=1&status="
        now_open, done = (json.loads(admin.call("GET", look + status)[1])["total"]
                          for status in ("open", "done"))
        open_most = max(open_most, now_open)
        time.sleep(0.1)
    good = 0
    for offset in range(0, AT_ONCE, 100):
        page = json.loads(admin.call(
            "GET", f"/sessions?batch_id=bench&limit=100&offset={offset}")[1])["data"]
        good += sum(row["end_reason"] == "the client left" for row in page)
    return (f"{AT_ONCE:,} executions at once ({open_most} open together)",
            f"{AT_ONCE - good} failed", f"begun at {AT_ONCE / begun:.0f} a second", "", "0 failed")


class Connect:
    """A port of the command line, as long as its child runs."""

    def __init__(self, options, admin, folder):
        env = {**os.environ, "HOME": folder, "GATEHOUSE_URL": f"http://127.0.0.1:{admin.port}",
               "GATEHOUSE_TOKEN": admin.key}
        self.process = subprocess.Popen(
            [options.binary, "connect", "bench", "--", "sh", "-c",
             'echo "$PGPORT $PGUSER $PGDATABASE"; cat "$PGPASSFILE"; echo; exec sleep 1000'],
            env=env, text=True, stdout=subprocess.PIPE)
        port, user, database = self.process.stdout.readline().split()
        password = self.process.stdout.readline().strip().rsplit(":", 1)[1]
        self.place = Place(int(port), user, password, database)

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


def connect(options, admin, server, place, folder):
    opened = Connect(options, admin, folder)
    places = {"direct": Place(server.port), "gateway": place, "connect": opened.place}
    try:
        times = take_turns(places, options.rounds,
                           lambda place: place.pgbench(1, options.seconds)[1])
        copies = take_turns({name: places[name] for name in ("direct", "connect")},
                            options.rounds, lambda place: place.copy_seconds(COPIED))
    finally:
        opened.stop()
    return [("added to a query by `gatehouse connect`",
             f"{times['connect'] - times['gateway']:.1f} µs",
             f"{times['gateway']:.0f} µs at the gateway's own port", "", "≤ 60 µs"),
            ("COPY of 300 MB through `gatehouse connect`", f"{copies['connect']:.2f} s",
             f"{copies['direct']:.2f} s direct", f"{copies['direct'] / copies['connect']:.2f}",
             "≥ 0.8")]


def measure(options, folder):
    os.chmod(folder, 0o755)
    server = PostgresServer(f"{folder}/postgres-exec", "-c",
                            f"max_connections={AT_ONCE + 100}")
    fill(server)
    gateway = Gateway(options.binary, tempfile.mkdtemp(dir=folder), "--postgres-listen",
                      "127.0.0.1:0")
    try:
        admin = Caller.register(gateway)
        place: Place = through_gateway(admin, server)
        return [statement(admin, place), statement(admin, place, PAUSE), many(admin),
                echo(admin, gateway), output(admin, gateway, min(options.rounds, 3)),
                *connect(options, admin, server, place, folder)]
    finally:
        gateway.stop()
        server.stop()
