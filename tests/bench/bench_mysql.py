# SPDX-License-Identifier: MIT
"""MySQL's protocol through the gateway, recorded, and under guard rails and masking, beside haproxy
(TCP) and no one in between: all at the same MariaDB, taking turns in one run."""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from api import EMBEDDED_AGENT, b64  # noqa: E402
from mariadb import MariadbServer  # noqa: E402

from bench_postgres import take_turns  # noqa: E402
from caller import Caller, role  # noqa: E402
from servers import Certificate, Gateway, free_port, wait_port  # noqa: E402

USER, PASSWORD = "bench", "the targets own"
BULK_ROWS = 3_000_000
RAILS = [{"type": "sql", "operations": ["delete", "update"], "without_where": True},
         {"type": "sql", "operations": ["drop", "truncate"]}]


class Place:
    """Where a client connects to, and as whom."""

    def __init__(self, port, user=USER, password=PASSWORD):
        self.arguments = ["--no-defaults", "--skip-ssl", "-h", "127.0.0.1", "-P", str(port),
                          "-u", user, f"-p{password}"]

    def run(self, program, *arguments, stdout=subprocess.PIPE):
        done = subprocess.run([program, *self.arguments, *arguments], stdout=stdout,
                              stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            sys.exit(f"{program} {arguments}: {done.stderr.decode()}")
        return done.stdout

    def slap(self, clients, count):
        """Point selects a second."""
        out = self.run("mariadb-slap", f"--concurrency={clients}", f"--number-of-queries={count}",
                       "--create-schema=bench", "--delimiter=;", "--no-drop",
                       "--query=SELECT c FROM points WHERE id = 4711").decode()
        return count / float(re.search(r"Average number of seconds[^:]*: ([\d.]+)", out).group(1))

    def dump_seconds(self):
        start = time.monotonic()
        self.run("mariadb", "--quick", "--batch", "bench", "-e", "SELECT * FROM bulk",
                 stdout=subprocess.DEVNULL)
        return time.monotonic() - start


class Haproxy:
    def __init__(self, folder, port):
        self.port = free_port()
        with open(f"{folder}/haproxy-mysql.cfg", "w") as out:
            out.write(f"""global
  maxconn 5000
defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
listen mysql
  bind 127.0.0.1:{self.port}
  server one 127.0.0.1:{port}
""")
        self.process = subprocess.Popen(["haproxy", "-db", "-f", f"{folder}/haproxy-mysql.cfg"],
                                        stderr=subprocess.DEVNULL)
        wait_port(self.port)

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


def through_gateway(admin, server, name):
    secret = {"HOST": "127.0.0.1", "PORT": str(server.port), "USER": USER, "PASS": PASSWORD,
              "DB": "bench", "SSLMODE": "disable"}
    body = role(name, subtype="mysql", agent_id=EMBEDDED_AGENT, access_mode_connect="enabled",
                access_mode_exec="enabled", access_mode_runbooks="enabled", access_schema="enabled",
                secret={f"envvar:{key}": b64(value) for key, value in secret.items()})
    admin.call("POST", "/connections", body)
    given = json.loads(admin.call("POST", f"/connections/{name}/credentials", {})[1])[
        "connection_credentials"]
    return Place(given["port"], given["username"], given["password"])


def guard(admin, name):
    own = json.loads(admin.call("GET", f"/connections/{name}")[1])["id"]
    admin.call("POST", "/guardrails", {"name": "bench", "connection_ids": [own],
                                       "input": {"rules": RAILS}})
    admin.call("POST", "/datamasking-rules", {
        "name": "bench", "connection_ids": [own],
        "supported_entity_types": [{"name": "PII", "entity_types": ["EMAIL_ADDRESS", "CREDIT_CARD"]}]})


def fill(server):
    server.sql(f"""CREATE DATABASE bench; CREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}';
        GRANT ALL ON bench.* TO {USER}@'%'; USE bench;
        CREATE TABLE points (id INT PRIMARY KEY, c CHAR(120));
        INSERT INTO points SELECT seq, REPEAT(MD5(seq), 3) FROM seq_1_to_10000;
        CREATE TABLE bulk ENGINE=MyISAM AS SELECT seq AS a, seq * 7 % 100003 AS b, MD5(seq) AS c,
            CONCAT('customer ', seq) AS d FROM seq_1_to_{BULK_ROWS}""")


def measure(options, folder):
    os.chmod(folder, 0o755)
    certificate = Certificate(folder)
    server = MariadbServer((certificate.cert, certificate.key))
    haproxy = Haproxy(folder, server.port)
    gateway = Gateway(options.binary, tempfile.mkdtemp(dir=folder), "--mysql-listen", "127.0.0.1:0",
                      "--mysql-greeting", "mariadb")
    try:
        fill(server)
        admin = Caller.register(gateway)
        places = {"direct": Place(server.port), "haproxy": Place(haproxy.port),
                  "recorded": through_gateway(admin, server, "recorded"),
                  "guarded": through_gateway(admin, server, "guarded")}
        guard(admin, "guarded")
        times = take_turns(places, options.rounds,
                           lambda place: 1e6 / place.slap(1, 2000 * options.seconds))
        rates = take_turns(places, options.rounds,
                           lambda place: place.slap(16, 8000 * options.seconds))
        bulk = take_turns(places, options.rounds, Place.dump_seconds)
        theirs = times["haproxy"] - times["direct"]
        rows = []
        for name, words, many, dump in (("recorded", "recorded", "≥ 0.9", "≥ 0.9"),
                                        ("guarded", "with rails and masking", "≥ 0.85", "≥ 0.7")):
            ours = times[name] - times["direct"]
            rows += [(f"MySQL, added to a query, {words}, 1 client ({times['direct']:.0f} µs direct)",
                      f"{ours:.1f} µs", f"haproxy {theirs:.1f} µs", f"{ours / theirs:.2f}",
                      "≤ 1.3" if name == "recorded" else ""),
                     (f"MySQL, queries, {words}, 16 clients ({rates['direct']:,.0f}/s direct)",
                      f"{rates[name]:,.0f}/s", f"haproxy {rates['haproxy']:,.0f}/s",
                      f"{rates[name] / rates['haproxy']:.2f}", many),
                     (f"MySQL, {BULK_ROWS:,} rows, {words}", f"{bulk[name]:.2f} s",
                      f"haproxy {bulk['haproxy']:.2f} s, direct {bulk['direct']:.2f} s",
                      f"{bulk['haproxy'] / bulk[name]:.2f}", dump)]
        return rows
    finally:
        gateway.stop()
        haproxy.stop()
        server.remove()
