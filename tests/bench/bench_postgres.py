# SPDX-License-Identifier: MIT
"""PostgreSQL through the gateway, recorded, beside pgbouncer (session mode), haproxy (TCP) and no
one in between: all at the same server, taking turns in one run."""
import ctypes
import json
import os
import pwd
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from api import EMBEDDED_AGENT, b64  # noqa: E402
from conftest import PostgresServer  # noqa: E402

from caller import Caller, role  # noqa: E402
from servers import Certificate, Gateway, free_port, resident_mib, wait_port  # noqa: E402

USER, PASSWORD = "bench", "the target's own"
BULK_ROWS = 3_000_000
IDLE = 1000
MANY_ROWS = 100_000_000
WIDE_ROWS, WIDE_SIZE = 40_000, 30_000  # rows that cost client and server little but the copying


class Place:
    """Where a client connects to, and as whom."""

    def __init__(self, port, user=USER, password=PASSWORD, database="bench"):
        self.port, self.user, self.password, self.database = port, user, password, database

    def run(self, program, *arguments, stdout=subprocess.PIPE):
        env = {**os.environ, "PGPASSWORD": self.password, "PGSSLMODE": "disable"}
        done = subprocess.run(
            [program, "-h", "127.0.0.1", "-p", str(self.port), "-U", self.user, *arguments,
             self.database], env=env, stdout=stdout, stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            sys.exit(f"{program} {arguments}: {done.stderr.decode()}")
        return done.stdout

    def pgbench(self, clients, seconds, *arguments):
        """Transactions a second, and the mean of how long one took, in µs."""
        out = self.run("pgbench", "-n", "-S", "-c", str(clients), "-j", str(min(clients, 2)),
                       "-T", str(seconds), *arguments).decode()
        latency = float(re.search(r"latency average = ([\d.]+) ms", out).group(1))
        return float(re.search(r"tps = ([\d.]+)", out).group(1)), latency * 1000

    def copy_seconds(self, query, form="text"):
        start = time.monotonic()
        self.run("psql", "-X", "-q", "-c", f"COPY ({query}) TO STDOUT (FORMAT {form})",
                 stdout=subprocess.DEVNULL)
        return time.monotonic() - start


def as_postgres(command):
    if os.getuid() != 0:
        return command
    user = pwd.getpwnam("postgres")
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups",
            *command]


class Beside:
    """pgbouncer and haproxy before the same server."""

    def __init__(self, folder, server):
        self.bouncer_port, self.haproxy_port = free_port(), free_port()
        os.makedirs(folder)
        with open(f"{folder}/users.txt", "w") as out:
            out.write(f'"{USER}" "{PASSWORD}"\n')
        with open(f"{folder}/pgbouncer.ini", "w") as out:
            out.write(f"""[databases]
bench = host=127.0.0.1 port={server.port} dbname=bench
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {self.bouncer_port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/users.txt
pool_mode = session
max_client_conn = 5000
default_pool_size = 1000
logfile = {folder}/pgbouncer.log
""")
        with open(f"{folder}/haproxy.cfg", "w") as out:
            out.write(f"""global
  maxconn 5000
defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
listen pg
  bind 127.0.0.1:{self.haproxy_port}
  server one 127.0.0.1:{server.port}
""")
        if os.getuid() == 0:
            for path in ("", "/users.txt", "/pgbouncer.ini"):
                shutil.chown(folder + path, "postgres")
        self.processes = [
            subprocess.Popen(as_postgres(["pgbouncer", "-q", f"{folder}/pgbouncer.ini"]),
                             stderr=subprocess.DEVNULL),
            subprocess.Popen(["haproxy", "-db", "-f", f"{folder}/haproxy.cfg"],
                             stderr=subprocess.DEVNULL)]
        wait_port(self.bouncer_port)
        wait_port(self.haproxy_port)

    def stop(self):
        for process in self.processes:
            process.terminate()
            process.wait(20)


def fill(server):
    server.run("psql", "-X", "-q", "-h", "127.0.0.1", "-p", str(server.port), "-U", "postgres",
               "-c", f"CREATE USER {USER} PASSWORD '{PASSWORD.replace(chr(39), chr(39) * 2)}'",
               "-c", f"CREATE DATABASE bench OWNER {USER}")
    server.run("pgbench", "-i", "-q", "-s", "10", "-h", "127.0.0.1", "-p", str(server.port), "-U",
               USER, "bench")
    with open(f"{server.data}/pg_hba.conf", "w") as out:
        out.write("host all postgres 127.0.0.1/32 trust\n"
                  "host all all 127.0.0.1/32 scram-sha-256\n")
    server.run("pg_ctl", "reload", "-D", server.data)


class FarAgent:
    """A gateway with TLS, and an agent in another process that is linked to it."""

    def __init__(self, binary, folder):
        os.makedirs(folder)
        certificate = Certificate(folder)
        self.gateway = Gateway(binary, folder, "--postgres-listen", "127.0.0.1:0", "--tls-cert",
                               certificate.cert, "--tls-key", certificate.key)
        self.admin = Caller.register(self.gateway, True)
        made = json.loads(self.admin.call("POST", "/agents", {"name": "far"})[1])
        self.id = made["id"]
        with open(f"{folder}/agent.txt", "wb") as output:
            self.process = subprocess.Popen(
                [binary, "agent", "--token", made["token"], "--gateway",
                 f"https://localhost:{self.gateway.port}", "--ca-file", certificate.cert],
                stdout=output, stderr=output)
        while json.loads(self.admin.call("GET", "/agents/far")[1])["status"] != "CONNECTED":
            time.sleep(0.1)
        time.sleep(0.5)  # all of its links

    def stop(self):
        self.process.terminate()
        self.process.wait(20)
        self.gateway.stop()


def through_gateway(admin, server, agent_id=EMBEDDED_AGENT, name="bench"):
    secret = {"HOST": "127.0.0.1", "PORT": str(server.port), "USER": USER, "PASS": PASSWORD,
              "DB": "bench", "SSLMODE": "disable"}
    admin.call("POST", "/connections", role(
        name, agent_id=agent_id, access_mode_connect="enabled",
        access_mode_exec="enabled", access_mode_runbooks="enabled", access_schema="enabled",
        secret={f"envvar:{name}": b64(value) for name, value in secret.items()}))
    given = json.loads(admin.call("POST", f"/connections/{name}/credentials", {})[1])[
        "connection_credentials"]
    return Place(given["port"], given["username"], given["password"], given["database_name"])


def take_turns(places, rounds, measure):
    """name → the medians of what is measured."""
    seen = {name: [] for name in places}
    for _ in range(rounds):
        for name, place in places.items():
            seen[name].append(measure(place))
    return {name: statistics.median(values) for name, values in seen.items()}


def queries(places, options):
    rows = []
    for protocol in "simple", "prepared":
        times = take_turns(places, options.rounds, lambda place: place.pgbench(
            1, options.seconds, "-M", protocol)[1])
        ours, theirs = (times[name] - times["direct"] for name in ("gateway", "pgbouncer"))
        rows.append((f"added to a query, {protocol}, 1 client ({times['direct']:.0f} µs direct)",
                     f"{ours:.1f} µs", f"pgbouncer {theirs:.1f} µs", f"{ours / theirs:.2f}",
                     "≤ 1"))
        added = times["agent"] - times["direct"]
        rows.append((f"added to a query, {protocol}, by an agent elsewhere", f"{added:.1f} µs",
                     f"embedded {ours:.1f} µs", f"{added / ours:.2f}", "≤ 60 µs"))
        rates = take_turns(places, options.rounds, lambda place: place.pgbench(
            16, options.seconds, "-M", protocol)[0])
        rows.append((f"queries, {protocol}, 16 clients ({rates['direct']:,.0f}/s direct)",
                     f"{rates['gateway']:,.0f}/s", f"pgbouncer {rates['pgbouncer']:,.0f}/s",
                     f"{rates['gateway'] / rates['pgbouncer']:.2f}", "≥ 0.97"))
    return rows


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        user, system = stat.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def processor(places, pids, options):
    """What a query of one client costs of the processor in between: as the gateway is, and where it
    always sleeps at once (--busy-wait 0)."""
    def measure_one(name):
        before = processor_seconds(pids[name])
        rate = places[name].pgbench(1, options.seconds)[0]
        return (processor_seconds(pids[name]) - before) * 1e6 / (rate * options.seconds)
    seen = {name: [] for name in pids}
    for _ in range(options.rounds):
        for name in pids:
            seen[name].append(measure_one(name))
    costs = {name: statistics.median(values) for name, values in seen.items()}
    rates = take_turns({name: places[name] for name in pids}, options.rounds,
                       lambda place: place.pgbench(1, options.seconds)[0])
    rows = []
    for name, words in (("gateway", "1 client"), ("asleep", "1 client, --busy-wait 0")):
        rows.append((f"processor time of a query, {words}", f"{costs[name]:.1f} µs",
                     f"pgbouncer {costs['pgbouncer']:.1f} µs",
                     f"{costs[name] / costs['pgbouncer']:.2f}", "≤ 1.3"))
        rows.append((f"queries, {words}", f"{rates[name]:,.0f}/s",
                     f"pgbouncer {rates['pgbouncer']:,.0f}/s",
                     f"{rates[name] / rates['pgbouncer']:.2f}",
                     "≥ 1" if name == "gateway" else ""))
    return rows


def bulk(places, options):
    query = (f"SELECT i AS a, i * 7 % 100003 AS b, md5(i::text) AS c, 'customer ' || i AS d FROM "
             f"generate_series(1, {BULK_ROWS}) i")
    places["direct"].run("psql", "-X", "-q", "-c", f"CREATE TABLE bulk AS {query}")
    places["direct"].copy_seconds("TABLE bulk")
    seconds = take_turns(places, options.rounds, lambda place: place.copy_seconds("TABLE bulk"))
    size = int(places["direct"].run("psql", "-X", "-q", "-A", "-t", "-c", "SELECT sum(length("
               "bulk::text)) FROM bulk")) / 1e6  # about: without separators that COPY has instead
    wide = take_turns(
        {name: places[name] for name in ("direct", "gateway", "agent")}, options.rounds,
        lambda place: WIDE_ROWS * WIDE_SIZE / 1e6 / place.copy_seconds(
            f"SELECT repeat('x', {WIDE_SIZE}) FROM generate_series(1, {WIDE_ROWS})", "binary"))
    return [("COPY of wide rows by an agent elsewhere", f"{wide['agent']:.0f} MB/s",
             f"direct {wide['direct']:.0f} MB/s, embedded {wide['gateway']:.0f} MB/s",
             f"{wide['agent'] / wide['direct']:.2f}", "≥ 500 MB/s"),
            ("COPY of 3 million rows by an agent elsewhere", f"{seconds['agent']:.2f} s",
             f"direct {seconds['direct']:.2f} s, embedded {seconds['gateway']:.2f} s",
             f"{size / seconds['agent']:.0f} MB/s", "as direct"),
            ("COPY of 3 million rows", f"{seconds['gateway']:.2f} s",
             f"haproxy {seconds['haproxy']:.2f} s, direct {seconds['direct']:.2f} s",
             f"{seconds['haproxy'] / seconds['gateway']:.2f}", "≥ 1")]


def openings(places, options):
    times = take_turns({name: places[name] for name in ("direct", "gateway", "agent", "pgbouncer")},
                       options.rounds, lambda place: place.pgbench(1, options.seconds, "-C")[1])
    storm = take_turns({name: places[name]
                        for name in ("direct", "gateway", "pgbouncer", "haproxy")}, options.rounds,
                       lambda place: place.pgbench(32, options.seconds, "-C")[0])
    shown = {name: f"{time / 1000:.2f} ms" for name, time in times.items()}
    return [("a session opened (pgbench -C)", shown["gateway"],
             f"direct {shown['direct']}, pgbouncer {shown['pgbouncer']}",
             f"{times['gateway'] / times['direct']:.2f}", "≤ 1.5"),
            ("a session opened by an agent elsewhere", shown["agent"], f"direct {shown['direct']}",
             f"{times['agent'] / times['direct']:.2f}", "≤ 1.5"),
            ("sessions opened, 32 at once", f"{storm['gateway']:,.0f}/s",
             f"direct {storm['direct']:,.0f}/s, pgbouncer {storm['pgbouncer']:,.0f}/s",
             f"{storm['direct'] / storm['gateway']:.2f}", "≤ 1.5"),
            ("sessions opened, 32 at once, beside haproxy", f"{storm['gateway']:,.0f}/s",
             f"haproxy {storm['haproxy']:,.0f}/s", f"{storm['gateway'] / storm['haproxy']:.2f}",
             "≥ 1")]


def idle(gateway, place, sslmode="disable", most="≤ 16 KiB"):
    libpq = ctypes.CDLL("libpq.so.5")
    libpq.PQconnectdb.restype = ctypes.c_void_p
    before = resident_mib(gateway.pid)
    info = (f"host=127.0.0.1 port={place.port} user={place.user} password={place.password} "
            f"dbname={place.database} sslmode={sslmode}")
    conns = [ctypes.c_void_p(libpq.PQconnectdb(info.encode())) for _ in range(IDLE)]
    bad = sum(libpq.PQstatus(conn) != 0 for conn in conns)
    time.sleep(1)
    grown = resident_mib(gateway.pid) - before
    for conn in conns:
        libpq.PQfinish(conn)
    if bad:
        sys.exit(f"{bad} of {IDLE} sessions were refused")
    words = "an idle session" if sslmode == "disable" else "an idle session with TLS"
    return (words, f"{grown * 1024 / IDLE:.1f} KiB", f"{IDLE} sessions",
            f"10,000 would be {grown * 10000 / IDLE:.0f} MiB", most)


def many_rows(gateway, place):
    before = resident_mib(gateway.pid)
    seconds = place.copy_seconds(f"SELECT generate_series(1, {MANY_ROWS})")
    return (f"{MANY_ROWS:,} rows", f"{seconds:.0f} s", f"{before:.0f} MiB before",
            f"{resident_mib(gateway.pid):.0f} MiB after", "constant")


def measure(options, folder):
    os.chmod(folder, 0o755)
    server = PostgresServer(f"{folder}/postgres", "-c", f"max_connections={IDLE + 200}")
    fill(server)
    beside = Beside(f"{folder}/beside", server)
    gateway = Gateway(options.binary, tempfile.mkdtemp(dir=folder), "--postgres-listen",
                      "127.0.0.1:0")
    asleep = Gateway(options.binary, tempfile.mkdtemp(dir=folder), "--postgres-listen",
                     "127.0.0.1:0", "--busy-wait", "0")
    far = FarAgent(options.binary, f"{folder}/far")
    try:
        places = {"direct": Place(server.port), "pgbouncer": Place(beside.bouncer_port),
                  "haproxy": Place(beside.haproxy_port),
                  "gateway": through_gateway(Caller.register(gateway), server),
                  "asleep": through_gateway(Caller.register(asleep), server),
                  "encrypted": through_gateway(far.admin, server, name="encrypted"),
                  "agent": through_gateway(far.admin, server, far.id)}
        pids = {"gateway": gateway.pid, "asleep": asleep.pid,
                "pgbouncer": beside.processes[0].pid}
        shown = {name: place for name, place in places.items()
                 if name not in ("asleep", "encrypted")}
        return [*queries(shown, options), *processor(places, pids, options),
                *bulk(shown, options), *openings(places, options),
                idle(gateway, places["gateway"]),
                idle(far.gateway, places["encrypted"], "require", "≤ 32 KiB"), many_rows(gateway, places["gateway"])]
    finally:
        far.stop()
        asleep.stop()
        gateway.stop()
        beside.stop()
        server.stop()
