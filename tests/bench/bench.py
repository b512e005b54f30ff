#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Gatehouse beside nginx, in one run on one machine: prints a Markdown table of ratios.

Throughput is compared per CPU second of the server (user + system, all its processes), because the
load generator shares the processors: what a server does not use, wrk takes. Every figure is the
median of several short rounds, the two servers taking turns.

usage: bench.py BINARY [--rounds N] [--seconds N]
"""
import argparse
import http.client
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

CONNECTIONS = 64
TICKS = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_port(port):
    for _ in range(500):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.01)
    sys.exit(f"nothing listens on port {port}")


def family(pid):
    children = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout
    return [pid, *map(int, children.split())]


def cpu_seconds(pid):
    total = 0
    for member in family(pid):
        with open(f"/proc/{member}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def resident_mib(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) / 1024


class Certificate:
    def __init__(self, folder):
        self.cert, self.key = f"{folder}/cert.pem", f"{folder}/key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                        "-keyout", self.key, "-out", self.cert, "-subj", "/CN=localhost"],
                       check=True, stderr=subprocess.DEVNULL)


class Gateway:
    def __init__(self, binary, folder, *arguments, store=None):
        self.folder = folder
        self.output = open(f"{folder}/output.txt", "w+b")
        command = [binary, "serve", "--data-dir", f"{folder}/data", "--listen", "127.0.0.1:0"]
        command += ["--database-url", store] if store else []
        self.started = time.monotonic()
        self.process = subprocess.Popen([*command, *arguments], stdout=self.output,
                                        stderr=self.output, stdin=subprocess.DEVNULL)
        self.pid = self.process.pid
        self.port = self.wait_port()

    def wait_port(self):
        while self.process.poll() is None:
            text = open(self.output.name, "rb").read().decode("utf-8", "replace")
            found = re.search(r"https?://[^/\s]*:(\d+)/", text)
            if found:
                return int(found.group(1))
            time.sleep(0.001)
        sys.exit("the gateway did not start: " + open(self.output.name).read())

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


class Nginx:
    def __init__(self, folder, bodies, certificate=None):
        """bodies: path → body, each answered by 'return 200'."""
        self.port = free_port()
        tls = ""
        listen = f"listen 127.0.0.1:{self.port} reuseport;"
        if certificate:
            listen = f"listen 127.0.0.1:{self.port} ssl reuseport;"
            tls = f"ssl_certificate {certificate.cert}; ssl_certificate_key {certificate.key};"
        routes = "".join(f"location = {path} {{ return 200 '{body}'; }}\n"
                         for path, body in bodies.items())
        config = f"{folder}/nginx.conf"
        with open(config, "w") as out:
            out.write(f"""
worker_processes 2; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off; server_tokens off; keepalive_requests 100000000; keepalive_timeout 75;
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; default_type application/json;
  server {{ {listen} {tls} {routes} }}
}}""")
        self.process = subprocess.Popen(["nginx", "-c", config, "-p", folder],
                                        stderr=subprocess.DEVNULL)
        self.pid = self.process.pid
        wait_port(self.port)

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


def wrk(url, seconds):
    """Requests answered, and the 99th percentile in ms."""
    out = subprocess.run(["wrk", "-t2", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", url],
                         capture_output=True, text=True, check=True).stdout
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", out)
    if bad or "Socket errors" in out:
        sys.exit(f"{url}: wrk saw errors\n{out}")
    count = int(re.search(r"(\d+) requests in", out).group(1))
    return count


def per_cpu_second(server, url, seconds):
    before = cpu_seconds(server.pid)
    count = wrk(url, seconds)
    return count / max(cpu_seconds(server.pid) - before, 1e-3), count / seconds


def compare(ours, our_url, theirs, their_url, rounds, seconds):
    pairs = []
    for _ in range(rounds):
        ours_cpu, ours_rate = per_cpu_second(ours, our_url, seconds)
        theirs_cpu, theirs_rate = per_cpu_second(theirs, their_url, seconds)
        pairs.append((ours_cpu / theirs_cpu, ours_rate / theirs_rate, ours_rate, theirs_rate))
    return [statistics.median(column) for column in zip(*pairs)]


def fetch(gateway, path):
    conn = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=10)
    conn.request("GET", path)
    body = conn.getresponse().read().decode()
    conn.close()
    return body


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
    gateway = Gateway(binary, tempfile.mkdtemp(dir=folder))
    fetch(gateway, "/api/healthz")
    before = resident_mib(gateway.pid)
    conns = []
    for _ in range(10000):
        conn = socket.create_connection(("127.0.0.1", gateway.port))
        conn.sendall(b"GET /robots.txt HTTP/1.1\r\nHost: a\r\n\r\n")
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
            conn.sendall(b"GET /robots.txt HTTP/1.1\r\nHost: a\r\n\r\n")
            conn.recv(4096)
            times.append(time.perf_counter() - start)
    return sorted(times)[int(len(times) * 0.99)] * 1000


def slow_clients(binary, folder, rounds):
    gateway = Gateway(binary, tempfile.mkdtemp(dir=folder))
    slow = [socket.create_connection(("127.0.0.1", gateway.port)) for _ in range(500)]
    head = b"GET /robots.txt HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 1000
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="gatehouse-bench-")
    try:
        rows = throughput(options.binary, folder, options.rounds, options.seconds)
        rows += start_up(options.binary, folder)
        rows += idle_connections(options.binary, folder)
        rows += slow_clients(options.binary, folder, options.rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("| measured | Gatehouse | beside it | ratio | wanted |\n|---|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
