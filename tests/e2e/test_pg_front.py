# SPDX-License-Identifier: MIT
"""Real PostgreSQL clients sign in at the front: the name "shop" has the passwords "password 0" to
"password 2", and the session behind it answers each query with the number of the password."""
import concurrent.futures
import os
import re
import resource
import signal
import socket
import ssl
import struct
import subprocess
import time

import pytest

from conftest import HTTP_TEST_SERVER, IS_SANITIZED, PATIENCE, Program, receive_all, wait_for

FRONT = os.path.join(os.path.dirname(HTTP_TEST_SERVER), "pg_front_server")
WRONG = 'FATAL:  password authentication failed for user "{}"'
SSL_REQUEST = struct.pack("!II", 8, 80877103)


class Front(Program):
    def __init__(self, folder, *arguments):
        os.makedirs(folder, exist_ok=True)
        super().__init__([FRONT, *map(str, arguments)], dict(os.environ),
                         os.path.join(folder, f"front-{time.monotonic_ns()}.txt"))
        found = wait_for(lambda: re.search(r"^port (\d+)$", self.text(), re.MULTILINE),
                         what="the front")
        self.port = int(found.group(1))

    def dsn(self, options="", user="shop", database="x"):
        return f"host=127.0.0.1 port={self.port} user={user} dbname={database} {options}"

    def run(self, program, *arguments, password="password 1", **names):
        return subprocess.run(
            [program, *arguments], env={**os.environ, "PGPASSWORD": password,
                                        "PGCONNECT_TIMEOUT": str(PATIENCE), "LC_ALL": "C", **names},
            capture_output=True, check=False, text=True, timeout=4 * PATIENCE,
            stdin=subprocess.DEVNULL)

    def psql(self, options="", user="shop", database="x", **more):
        return self.run("psql", "-XAt", "-c", "select 1", "-c", r"\conninfo",
                        self.dsn(options, user, database), **more)

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificate")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key.pem",
                    "-out", folder / "cert.pem"], check=True, stderr=subprocess.DEVNULL)
    return folder / "cert.pem", folder / "key.pem"


def front_of(tmp_path_factory, *arguments):
    front = Front(str(tmp_path_factory.mktemp("front")), *arguments)
    yield front
    assert front.is_alive(), front.text()
    assert front.stop() == 0, front.text()


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    yield from front_of(tmp_path_factory)


@pytest.fixture(scope="module")
def front(tmp_path_factory, certificate):
    yield from front_of(tmp_path_factory, *certificate)


@pytest.fixture(scope="module")
def strict(tmp_path_factory, certificate):
    yield from front_of(tmp_path_factory, *certificate, "needs-tls")


@pytest.mark.parametrize("options, is_encrypted", [
    ("sslmode=disable", False), ("sslmode=allow", False), ("sslmode=prefer", True),
    ("sslmode=require", True), ("sslmode=require channel_binding=require", True),
    ("sslmode=require channel_binding=disable", True),
    ("sslmode=require ssl_max_protocol_version=TLSv1.2 channel_binding=require", True)])
def test_psql_signs_in(front, options, is_encrypted):
    for number in range(3):
        result = front.psql(options, password=f"password {number}")
        assert result.returncode == 0, result.stderr
        lines = result.stdout.splitlines()
        assert lines[0] == str(number)
        assert ("SSL connection" in result.stdout) == is_encrypted


def test_psql_knows_the_certificate(front, certificate):
    result = front.psql(f"sslmode=verify-full sslrootcert={certificate[0]}")
    assert result.returncode == 0, result.stderr


def test_psql_signs_in_without_tls(plain):
    assert plain.psql("sslmode=prefer").stdout.startswith("1\n")
    result = plain.psql("sslmode=require")
    assert "server does not support SSL, but SSL was required" in result.stderr
    result = plain.psql("channel_binding=require sslmode=disable")
    assert "channel binding required" in result.stderr


@pytest.mark.parametrize("options", ["sslmode=disable", "sslmode=require",
                                     "sslmode=require channel_binding=require"])
def test_a_wrong_password_and_an_unknown_name_read_the_same(front, options):
    for user in ("shop", "nobody"):
        result = front.psql(options, user=user, password="wrong")
        assert result.returncode == 2
        assert WRONG.format(user) in result.stderr
        assert "server closed" not in result.stderr and "reset" not in result.stderr
    wait_for(lambda: "refused nobody" in front.text(), what="the report")


def test_a_client_without_a_password_leaves_in_peace(front):
    result = front.psql("sslmode=disable", password="")
    assert "no password supplied" in result.stderr


def test_tls_is_demanded_in_words(strict):
    result = strict.psql("sslmode=disable")
    assert "FATAL:  this gateway takes connections with TLS only" in result.stderr
    assert "HINT:  Connect with sslmode=require or stronger." in result.stderr
    assert strict.psql("sslmode=allow").stdout.startswith("1\n")


def test_what_the_next_stage_says_reaches_the_client(front):
    result = front.psql("sslmode=require", database="none")
    assert "FATAL:  the target does not answer" in result.stderr
    assert "HINT:  Ask who runs it." in result.stderr


def test_replication_is_refused_in_words(front):
    result = front.run("psql", "-XAt", "-c", "select 1", front.dsn("replication=database"))
    assert "replication does not go through this gateway" in result.stderr


def test_a_cancel_request_arrives(front):
    with front.connect() as conn:
        conn.sendall(struct.pack("!IIII", 16, 80877102, 4711, 0x6b657973))
        assert receive_all(conn) == b""
    wait_for(lambda: "cancel 4711 keys" in front.text(), what="the request")


def direct_context(protocols):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if protocols:
        context.set_alpn_protocols(protocols)
    return context


def startup():
    body = b"user\0shop\0\0"
    return struct.pack("!II", len(body) + 8, 3 << 16) + body


def test_tls_may_begin_without_a_request(front):
    with front.connect() as conn, direct_context(["postgresql"]).wrap_socket(conn) as tls:
        assert tls.selected_alpn_protocol() == "postgresql"
        tls.sendall(startup())
        assert b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0" in tls.recv(1000)
    with front.connect() as conn, direct_context([]).wrap_socket(conn) as tls:
        tls.sendall(startup())
        assert b"direct TLS without the application protocol" in receive_all(tls)


def test_bytes_smuggled_before_tls_end_the_connection(front):
    with front.connect() as conn:
        conn.sendall(SSL_REQUEST + startup())
        answer = receive_all(conn)
        assert answer.startswith(b"E") and b"received unencrypted data" in answer


PSYCOPG = """
import sys, psycopg
with psycopg.connect(sys.argv[1]) as conn:
    cursor = psycopg.ClientCursor(conn)
    conn.autocommit = True
    print(cursor.execute("select 1").fetchone()[0], conn.info.backend_pid)
try:
    psycopg.connect(sys.argv[1], password="wrong")
except psycopg.OperationalError as error:
    print(error)
"""


@pytest.mark.parametrize("options", ["sslmode=disable", "sslmode=require channel_binding=require"])
def test_psycopg_signs_in(front, tools, options):
    result = front.run(f"{tools}/python", "-c", PSYCOPG, front.dsn(options), password="password 2")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("2 4711\n") and WRONG.format("shop") in result.stdout


@pytest.mark.parametrize("options", ["sslmode=disable", "sslmode=require"])
def test_many_sign_ins(front, tmp_path, options):
    script = tmp_path / "query.sql"
    script.write_text("select 1;\n")
    before = front.resident_kib()
    result = front.run("pgbench", "-n", "-C", "-c", "8", "-j", "2", "-t", "50", "-f", str(script),
                       front.dsn(options))
    assert result.returncode == 0, result.stderr
    assert "number of transactions actually processed: 400/400" in result.stdout
    assert IS_SANITIZED or front.resident_kib() - before < 16 * 1024


def test_a_thousand_silent_clients_are_cheap_and_disturb_nobody(front):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    before = front.resident_kib()
    closed = front.text().count("closed ")
    silent = []
    try:
        for number in range(1000):
            conn = front.connect()
            conn.sendall([b"", b"\0\0", startup(), startup()[:-3]][number % 4])
            silent.append(conn)
        result = front.psql("sslmode=require")
        assert result.returncode == 0, result.stderr
        assert IS_SANITIZED or front.resident_kib() - before < 40 * 1024
        begin = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda _: front.psql("sslmode=disable"), range(8)))
        assert all(r.returncode == 0 for r in results)
        assert time.monotonic() - begin < PATIENCE
    finally:
        for conn in silent:
            conn.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    wait_for(lambda: front.text().count("closed ") - closed >= 1000, what="the end of all")


def test_clients_that_are_killed_leave_nothing_behind(front):
    conns = [front.connect() for _ in range(20)]
    for conn in conns:
        conn.sendall(startup())
        conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        conn.close()
    psql = subprocess.Popen(["psql", "-X", front.dsn()], stdin=subprocess.PIPE,
                            stdout=subprocess.DEVNULL,
                            env={**os.environ, "PGPASSWORD": "password 0"})
    time.sleep(0.3)
    psql.send_signal(signal.SIGKILL)
    psql.communicate()
    assert front.psql().returncode == 0
