# SPDX-License-Identifier: MIT
"""What the benchmarks start, drive and read: the gateway, nginx, wrk, processor time."""
import http.client
import os
import re
import socket
import statistics
import subprocess
import sys
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
        command = [binary, "serve", "--data-dir", f"{folder}/data", "--listen", "127.0.0.1:0",
                   "--postgres-listen", "off", "--mysql-listen", "off", "--ssh-listen", "off"]
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

    def setup_code(self):
        """It is printed after the address."""
        while self.process.poll() is None:
            text = open(self.output.name, "rb").read().decode("utf-8", "replace")
            found = re.search(r"#setup_code=(\S+)\n", text)
            if found:
                return found.group(1)
            time.sleep(0.001)
        sys.exit("the gateway ended: " + open(self.output.name).read())

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


class Nginx:
    def __init__(self, folder, bodies, certificate=None, files=None):
        """bodies: path → body, each answered by 'return 200'; files: path → bytes, from a file."""
        for path, content in (files or {}).items():
            os.makedirs(f"{folder}/html", exist_ok=True)
            with open(f"{folder}/html{path}", "wb") as out:
                out.write(content)
        self.port = free_port()
        tls = ""
        listen = f"listen 127.0.0.1:{self.port} reuseport;"
        if certificate:
            listen = f"listen 127.0.0.1:{self.port} ssl reuseport;"
            tls = f"ssl_certificate {certificate.cert}; ssl_certificate_key {certificate.key};"
        routes = "".join(f"location = {path} {{ return 200 '{body}'; }}\n"
                         for path, body in bodies.items())
        user = "user root;" if os.getuid() == 0 else ""  # to read what only root may
        config = f"{folder}/nginx.conf"
        with open(config, "w") as out:
            out.write(f"""
{user} worker_processes 2; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off; server_tokens off; keepalive_requests 100000000; keepalive_timeout 75;
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; default_type application/json;
  open_file_cache max=100; sendfile on; tcp_nopush on;
  server {{ {listen} {tls} root {folder}/html; {routes} }}
}}""")
        self.process = subprocess.Popen(["nginx", "-c", config, "-p", folder],
                                        stderr=subprocess.DEVNULL)
        self.pid = self.process.pid
        wait_port(self.port)

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


def wrk(url, seconds, *arguments):
    """Requests answered."""
    out = subprocess.run(["wrk", "-t2", f"-c{CONNECTIONS}", f"-d{seconds}s", *arguments, url],
                         capture_output=True, text=True, check=True).stdout
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", out)
    if bad or "Socket errors" in out:
        sys.exit(f"{url}: wrk saw errors\n{out}")
    count = int(re.search(r"(\d+) requests in", out).group(1))
    return count


def per_cpu_second(server, url, seconds, *arguments):
    before = cpu_seconds(server.pid)
    count = wrk(url, seconds, *arguments)
    return count / max(cpu_seconds(server.pid) - before, 1e-3), count / seconds


def compare(ours, our_url, theirs, their_url, rounds, seconds, *our_arguments):
    pairs = []
    for _ in range(rounds):
        ours_cpu, ours_rate = per_cpu_second(ours, our_url, seconds, *our_arguments)
        theirs_cpu, theirs_rate = per_cpu_second(theirs, their_url, seconds)
        pairs.append((ours_cpu / theirs_cpu, ours_rate / theirs_rate, ours_rate, theirs_rate))
    return [statistics.median(column) for column in zip(*pairs)]


def fetch(gateway, path):
    conn = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=10)
    conn.request("GET", path)
    body = conn.getresponse().read().decode()
    conn.close()
    return body
