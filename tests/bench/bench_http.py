# SPDX-License-Identifier: MIT
"""Files, small answers and connections, beside nginx."""
import os
import socket
import statistics
import tempfile
import threading
import time

from servers import Certificate, Gateway, Nginx, compare, fetch, resident_mib


def throughput(binary, folder, rounds, seconds):
    rows = []
    certificate = Certificate(folder)
    for title, tls in (("HTTP/1.1", None), ("TLS", certificate)):
        arguments = ["--tls-cert", tls.cert, "--tls-key", tls.key] if tls else []
        own = tempfile.mkdtemp(dir=folder)
        plain = Gateway(binary, tempfile.mkdtemp(dir=folder))
        bodies = {path: fetch(plain, path).replace("\n", "\\n")
                  for path in ("/robots.txt", "/api/publicserverinfo")}
        plain.stop()
        gateway = Gateway(binary, own, *arguments)
        nginx = Nginx(tempfile.mkdtemp(dir=folder), bodies, tls)
        scheme = "https" if tls else "http"
        for name, path in (("static", "/robots.txt"), ("stored JSON", "/api/publicserverinfo")):
            ratio, rate, ours, theirs = compare(
                gateway, f"{scheme}://127.0.0.1:{gateway.port}{path}",
                nginx, f"{scheme}://127.0.0.1:{nginx.port}{path}", rounds, seconds)
            rows.append((f"{name} answer, {title}", f"{ours:,.0f}/s", f"{theirs:,.0f}/s",
                         f"{ratio:.2f} per CPU second ({rate:.2f} by the clock)",
                         "≥ 0.9" if name == "static" and not tls else
                         "≥ 0.3" if not tls else ""))
        gateway.stop()
        nginx.stop()
    return rows


def start_up(binary, folder):
    own = tempfile.mkdtemp(dir=folder)
    Gateway(binary, own).stop()
    times = []
    for _ in range(7):
        gateway = Gateway(binary, own)
        fetch(gateway, "/api/healthz")
        times.append((time.monotonic() - gateway.started) * 1000)
        gateway.stop()
    gateway = Gateway(binary, own)
    fetch(gateway, "/api/healthz")
    time.sleep(1)
    idle = resident_mib(gateway.pid)
    gateway.stop()
    size = os.path.getsize(binary) / 1024 / 1024
    return [("start to first answer, existing store", f"{statistics.median(times):.0f} ms", "", "",
             "≤ 50 ms"),
            ("idle memory", f"{idle:.1f} MiB", "", "", "≤ 20 MB"),
            ("binary, stripped", f"{size:.2f} MiB", "", "", "≤ 6 MB")]


def idle_connections(binary, folder):
    gateway = Gateway(binary, tempfile.mkdtemp(dir=folder), "--newcomers-per-address", "1000000")
    fetch(gateway, "/api/healthz")
    before = resident_mib(gateway.pid)
    conns = []
    for _ in range(10000):
        conn = socket.create_connection(("127.0.0.1", gateway.port))
        conn.sendall(b"GET /robots.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
        conns.append(conn)
    for conn in conns:
        conn.recv(4096)
    time.sleep(1)
    after = resident_mib(gateway.pid)
    for conn in conns:
        conn.close()
    gateway.stop()
    return [("10,000 idle keep-alive connections", f"{after:.1f} MiB",
             f"{(after - before) * 1024 / 10000:.2f} KiB each", "", "≤ 150 MB")]


def p99_ms(port, seconds):
    times = []
    with socket.create_connection(("127.0.0.1", port)) as conn:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            start = time.perf_counter()
            conn.sendall(b"GET /robots.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
            conn.recv(4096)
            times.append(time.perf_counter() - start)
    return sorted(times)[int(len(times) * 0.99)] * 1000


def slow_clients(binary, folder, rounds):
    gateway = Gateway(binary, tempfile.mkdtemp(dir=folder))
    slow = [socket.create_connection(("127.0.0.1", gateway.port)) for _ in range(500)]
    head = b"GET /robots.txt HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 1000
    stop = threading.Event()

    def drip():
        for i in range(len(head)):
            for conn in slow:
                try:
                    conn.send(head[i:i + 1])
                except OSError:
                    pass
            if stop.wait(0.5):
                return

    quiet = statistics.median(p99_ms(gateway.port, 1) for _ in range(rounds))
    thread = threading.Thread(target=drip)
    thread.start()
    busy = statistics.median(p99_ms(gateway.port, 1) for _ in range(rounds))
    stop.set()
    thread.join()
    gateway.stop()
    return [("p99 of others beside 500 slow-loris clients", f"{busy:.2f} ms", f"{quiet:.2f} ms alone",
             f"{busy / quiet:.2f}", "≤ 2")]


def measure(options, folder):
    rows = throughput(options.binary, folder, options.rounds, options.seconds)
    rows += start_up(options.binary, folder)
    rows += idle_connections(options.binary, folder)
    return rows + slow_clients(options.binary, folder, options.rounds)
