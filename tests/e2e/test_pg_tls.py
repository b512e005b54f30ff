# SPDX-License-Identifier: MIT
"""TLS on both sides of a session: clients that ask for it in every way, and targets of every mode."""
import os
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import threading

import pytest

from api import b64, register
from conftest import Gateway, PostgresServer, wait_for
from native import Target, address, credential, psql, sql
from pgwire import SSL_REQUEST, Wire, cancel, message, text
from test_pg_front import direct_context
from test_pg_sessions import EVERYTHING, url
from test_tls import make_certificate


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, stderr=subprocess.DEVNULL)


class Authority:
    def __init__(self, folder, name):
        self.folder, self.cert, self.key = folder, folder / f"{name}.pem", folder / f"{name}.key"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-days", "2", "-keyout", self.key, "-out", self.cert, "-subj", f"/CN={name}")

    def issue(self, name, alternatives=None):
        request, cert, key = (self.folder / f"{name}.{kind}" for kind in ("csr", "crt", "key"))
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                key, "-out", request, "-subj", f"/CN={name}")
        extensions = self.folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={alternatives}" if alternatives else "")
        openssl("x509", "-req", "-in", request, "-CA", self.cert, "-CAkey", self.key,
                "-CAcreateserial", "-days", "2", "-out", cert, "-extfile", extensions)
        return cert, key


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"), "authority")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("stranger"), "stranger")


# Clients


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    return {name: make_certificate(folder, name) for name in ("first", "second")}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("plain"))
    yield register(gateway)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module")
def shown(tmp_path_factory, certificates):
    """The certificate that the gateway shows: what is written there counts from SIGHUP on."""
    folder = tmp_path_factory.mktemp("shown")
    cert, key = folder / "cert.pem", folder / "key.pem"
    shutil.copy(certificates["first"][0], cert)
    shutil.copy(certificates["first"][1], key)
    return cert, key


@pytest.fixture(scope="module")
def secure(tmp_path_factory, plain, shown, postgres):
    """A credential of a gateway with a certificate, made while it had none."""
    target = Target(postgres)
    folder = tmp_path_factory.mktemp("secure")
    gateway = Gateway(folder)
    made = credential(admin := register(gateway), target.connection(admin))
    assert gateway.stop() == 0
    gateway = Gateway(folder, "--tls-cert", shown[0], "--tls-key", shown[1], "--workers", 2)
    made["connection_credentials"]["port"] = \
        gateway.text().partition("postgres_port=")[2].split(" ")[0]
    made["gateway"] = gateway
    yield made
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


ENCRYPTED = "\\conninfo\nSELECT 1\n"


@pytest.mark.parametrize("variables", [
    {"PGSSLMODE": "require"}, {"PGSSLMODE": "verify-full"}, {"PGSSLMODE": "verify-ca"},
    {"PGSSLMODE": "require", "PGCHANNELBINDING": "require"}, {"PGSSLMODE": "prefer"},
    {"PGSSLMODE": "require", "PGSSLMAXPROTOCOLVERSION": "TLSv1.2"}])
def test_psql_over_tls(secure, certificates, variables):
    if variables["PGSSLMODE"].startswith("verify"):
        variables = {**variables, "PGSSLROOTCERT": str(certificates["first"][0])}
    done = psql(secure, ENCRYPTED, **variables)
    assert "SSL connection" in done.stdout and done.stdout.endswith("1\n"), done.stdout


def test_psql_without(secure):
    done = psql(secure, ENCRYPTED, PGSSLMODE="disable")
    assert "SSL connection" not in done.stdout and done.stdout.endswith("1\n")
    done = psql(secure, "SELECT 1", check=False, PGSSLMODE="disable", PGCHANNELBINDING="require")
    assert done.returncode == 2


def test_psql_does_not_trust_another_certificate(secure, certificates):
    done = psql(secure, "SELECT 1", check=False, PGSSLMODE="verify-full",
                PGSSLROOTCERT=str(certificates["second"][0]))
    assert done.returncode == 2 and "certificate verify failed" in done.stderr


def test_all_that_a_driver_does_over_tls(secure, tools):
    done = subprocess.run(
        [f"{tools}/python", "-c", EVERYTHING,
         url(secure, sslmode="require", channel_binding="require")],
        capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and '"big": 20000000' in done.stdout, done.stderr


def test_tls_at_once_as_libpq_17_does(secure):
    with Wire(secure, wrap=direct_context(["postgresql"]).wrap_socket) as wire:
        assert wire.ask("SELECT 'direct'") == [("direct",)]


def asked_for(conn):
    """TLS after the request for it, as all others do."""
    conn.sendall(struct.pack("!II", 8, SSL_REQUEST))
    assert conn.recv(1) == b"S"
    return direct_context([]).wrap_socket(conn)


def test_large_values_over_tls(secure):
    with Wire(secure, wrap=asked_for) as wire:
        [(value,)] = wire.ask("SELECT repeat('t', 30000000)")
        assert len(value) == 30000000
        assert wire.ask(f"SELECT length('{'u' * 10000000}')") == [("10000000",)]
        wire.send(message(b"Q", text("SELECT pg_sleep(30)")))
        threading.Timer(0.5, cancel, args=(secure, wire)).start()
        with pytest.raises(Exception, match="57014"):
            wire.until_ready()


def test_a_new_certificate_at_sighup(secure, certificates, shown):
    def shown_now():
        context = ssl.create_default_context(cafile=certificates["second"][0])
        given = address(secure)
        with socket.create_connection((given["host"], int(given["port"]))) as conn:
            conn.sendall(struct.pack("!II", 8, SSL_REQUEST))
            assert conn.recv(1) == b"S"
            try:
                with context.wrap_socket(conn, server_hostname="localhost"):
                    return True
            except ssl.SSLCertVerificationError:
                return False
    assert not shown_now()
    with Wire(secure, wrap=asked_for) as wire:
        wire.ask("SELECT 1")
        for name in "second", "first":
            shutil.copy(certificates[name][0], shown[0])
            shutil.copy(certificates[name][1], shown[1])
            secure["gateway"].signal(signal.SIGHUP)
            wait_for(lambda: shown_now() == (name == "second"), what="the certificate")
            # With channel binding: of the certificate that is shown now.
            done = psql(secure, "SELECT 1", PGSSLMODE="require", PGCHANNELBINDING="require")
            assert done.stdout == "1\n"
        assert wire.ask("SELECT 'the same'") == [("the same",)]


# Targets


@pytest.fixture(scope="module")
def server(authority):
    """PostgreSQL with TLS: 'trusted' signs in with a certificate, others with a password."""
    folder = tempfile.mkdtemp(prefix="gatehouse-postgres-")
    server = PostgresServer(folder)
    server.stop()
    cert, key = authority.issue("server", "DNS:localhost")
    for source, name in (cert, "server.crt"), (key, "server.key"), (authority.cert, "root.crt"):
        shutil.copy(source, os.path.join(server.data, name))
        os.chmod(os.path.join(server.data, name), 0o600)
        if os.getuid() == 0:
            shutil.chown(os.path.join(server.data, name), "postgres", "postgres")
    with open(os.path.join(server.data, "postgresql.conf"), "a") as out:
        out.write("ssl = on\nssl_ca_file = 'root.crt'\n")
    with open(os.path.join(server.data, "pg_hba.conf"), "w") as out:
        out.write("local all all trust\nhostssl all certain all cert\n"
                  "host all postgres 127.0.0.1/32 trust\nhostssl all all all scram-sha-256\n"
                  "hostnossl all all all scram-sha-256\n")
    server.start()
    yield server
    server.stop()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def target(server):
    return Target(server)


HOW = "SELECT ssl::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()"


def file(path):
    return b64(path.read_text())


@pytest.mark.parametrize("mode, host, trusted, expected", [
    ("disable", "127.0.0.1", None, "false"), (None, "127.0.0.1", None, "true"),
    ("prefer", "127.0.0.1", None, "true"), ("require", "127.0.0.1", None, "true"),
    ("verify-ca", "127.0.0.1", "authority", "true"),
    ("verify-full", "localhost", "authority", "true"),
    ("verify-full", "127.0.0.1", "authority", "certificate"),
    ("require", "127.0.0.1", "authority", "true"),
    ("require", "127.0.0.1", "stranger", "certificate"),
    ("verify-ca", "127.0.0.1", "stranger", "certificate"),
    ("verify-full", "localhost", "stranger", "certificate"),
    ("verify-full", "localhost", None, "certificate")])
def test_how_a_target_is_trusted(plain, target, authority, stranger, mode, host, trusted, expected):
    secret = target.secret(HOST=host, SSLMODE=mode)
    if trusted is not None:
        secret["filesystem:SSLROOTCERT"] = \
            file(authority.cert if trusted == "authority" else stranger.cert)
    made = credential(plain, target.connection(plain, secret))
    done = psql(made, HOW, check=False)
    if expected in ("true", "false"):
        assert done.stdout == expected + "\n", done.stderr
        with Wire(made) as wire:
            wire.send(message(b"Q", text("SELECT pg_sleep(30)")))
            threading.Timer(0.5, cancel, args=(made, wire)).start()
            with pytest.raises(Exception, match="57014"):
                wire.until_ready()
    else:
        assert done.returncode == 2 and "FATAL" in done.stderr, done.stderr
        assert expected in plain.gateway.text().splitlines()[-1]


def test_a_target_that_knows_the_gateway_by_its_certificate(plain, target, authority, stranger):
    sql(target.server, "CREATE USER certain")
    for issuer, good in (authority, True), (stranger, False):
        cert, key = issuer.issue("certain")
        secret = {**target.secret(USER="certain", PASS=None, SSLMODE="verify-full",
                                  HOST="localhost"),
                  "filesystem:SSLROOTCERT": file(authority.cert), "filesystem:SSLCERT": file(cert),
                  "filesystem:SSLKEY": file(key)}
        done = psql(credential(plain, target.connection(plain, secret)), "SELECT current_user",
                    check=False)
        assert (done.stdout == "certain\n") is good, done.stderr


def test_a_target_without_tls(plain, postgres):
    target = Target(postgres)
    for mode, good in ("prefer", True), ("disable", True), ("require", False), \
            ("verify-full", False):
        made = credential(plain, target.connection(plain, target.secret(SSLMODE=mode)))
        done = psql(made, "SELECT 1", check=False)
        assert (done.stdout == "1\n") is good, (mode, done.stderr)
        assert good or "FATAL" in done.stderr


def test_files_that_are_none(plain, target):
    for name in "SSLROOTCERT", "SSLCERT", "SSLKEY":
        secret = {**target.secret(SSLMODE="require"), f"filesystem:{name}": b64("nonsense")}
        done = psql(credential(plain, target.connection(plain, secret)), "SELECT 1", check=False)
        assert done.returncode == 2 and "FATAL" in done.stderr, done.stderr
        assert "nonsense" not in done.stderr
