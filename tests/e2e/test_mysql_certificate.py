# SPDX-License-Identifier: MIT
"""A gateway whose certificate nobody vouches for proves to clients of MariaDB that it is its own, as
servers from 11.4 on do: by the hash of the password's hash. Clients let 127.0.0.1 pass without, so
all of this is at another address of this machine."""
import hashlib
import re
import ssl
import struct
import subprocess

import pytest

import mariadb_newer
from api import register
from conftest import PATIENCE, Gateway
from mariadb import MariadbServer, MysqlTarget, mysql_address
from native import credential
from test_mysql import Raw
from test_tls import make_certificate

HERE = "127.0.0.2"
CAPABILITIES = 0x00ffaa8d & ~0x4000 & ~8
NATIVE, SHA2 = b"mysql_native_password\0", b"caching_sha2_password\0"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = MariadbServer(make_certificate(tmp_path_factory.mktemp("target-certificate"), "target"))
    yield server
    server.remove()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("certificate"), "gateway")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, files):
    gateway = Gateway(tmp_path_factory.mktemp("gateway"), "--tls-cert", files[0], "--tls-key", files[1],
                      "--mysql-listen", f"{HERE}:0")
    yield gateway
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module")
def made(gateway, server):
    admin = register(gateway)
    made = credential(admin, MysqlTarget(server).connection(admin))
    made["connection_credentials"]["hostname"] = HERE
    return made


class Encrypted(Raw):
    """A client behind TLS, in any method, that keeps the certificate it was shown."""

    def __init__(self, made, plugin, has_tls=True, answers_at_once=False):
        super().__init__(made, switch=False)
        given = mysql_address(made)
        at = self.greeting.index(b"\0", 1) + 5
        self.nonce = self.greeting[at:at + 8] + self.greeting[at + 27:at + 39]
        self.greeted = self.greeting[at + 40:]
        sequence = 1
        capabilities = CAPABILITIES if has_tls else CAPABILITIES & ~0x800
        head = struct.pack("<IIB23x", capabilities, 1 << 24, 45)
        if has_tls:
            self.send(head, sequence)
            self.sock = ssl._create_unverified_context().wrap_socket(self.sock)
            self.certificate = self.sock.getpeercert(binary_form=True)
            sequence += 1
        proof = self.prove(plugin) if answers_at_once else b""
        self.send(head + given["user"].encode() + b"\0" + bytes([len(proof)]) + proof + plugin, sequence)
        self.first = self.read()
        if not answers_at_once:
            assert self.first.startswith(b"\xfe" + plugin), self.first
            self.nonce = self.first[-21:-1]
            self.send(self.prove(plugin), sequence + 2)
            self.first = self.read()
        if self.first == b"\x01\x03":
            self.first = self.read()

    def prove(self, plugin):
        if plugin == NATIVE:
            return self.native(self.nonce)
        once = hashlib.sha256(self.secret.encode()).digest()
        mixed = hashlib.sha256(hashlib.sha256(once).digest() + self.nonce).digest()
        return bytes(a ^ b for a, b in zip(once, mixed))

    def expected(self, certificate):
        kept = hashlib.sha1(hashlib.sha1(self.secret.encode()).digest()).digest()
        told = kept + self.nonce + hashlib.sha256(certificate).digest()
        return b"\x01" + hashlib.sha256(told).hexdigest().upper().encode()

    def info(self):
        """What the OK says behind its numbers; session tracking puts its length before it."""
        assert self.first[:1] == b"\0", self.first
        return self.first[8:8 + self.first[7]] if len(self.first) > 7 else b""


def der_of(path):
    return ssl.PEM_cert_to_DER_cert(open(path, encoding="ascii").read())


def test_the_certificate_is_proved(made, files, tmp_path):
    for answers_at_once in (True, False):
        client = Encrypted(made, NATIVE, answers_at_once=answers_at_once)
        assert client.greeted.startswith(NATIVE)
        assert client.certificate == der_of(files[0])
        assert client.info() == client.expected(client.certificate)
        # Somebody in between would show another one.
        assert client.info() != client.expected(der_of(make_certificate(tmp_path, "other")[0]))
        assert client.ask(b"\x0e")[0][0] == 0
    again = Encrypted(made, NATIVE)
    assert again.info() != client.info()  # other random bytes


def test_nothing_is_said_where_nothing_can_be_proved(made):
    assert Encrypted(made, NATIVE, has_tls=False).info() == b""
    for answers_at_once in (True, False):
        assert Encrypted(made, SHA2, answers_at_once=answers_at_once).info() == b""
    made = {"connection_credentials": {**made["connection_credentials"], "password": "wrong"}}
    wrong = Encrypted(made, NATIVE).first
    assert wrong[0] == 0xff and b"\x01" not in wrong[9:], wrong


def newer(made, password, *arguments):
    given = mysql_address(made)
    # It verifies nothing where the password does not stand here.
    return subprocess.run(
        mariadb_newer.client("-h", HERE, "-P", str(given["port"]), "-u", given["user"],
                             f"-p{password}", *arguments, "-e", "\\s; SELECT 'through'"),
        text=True, capture_output=True, timeout=4 * PATIENCE,
        check=False)


def test_a_newer_client_takes_it(made):
    password = mysql_address(made)["password"]
    done = newer(made, password)
    assert done.returncode == 0 and "through" in done.stdout, done.stderr
    assert re.search(r"SSL:\s+Cipher in use is TLS", done.stdout), done.stdout
    done = newer(made, "wrong")
    assert done.returncode == 1 and "1045" in done.stderr, done.stderr
    # Another method has no such proof, and the client says so.
    done = newer(made, password, "--default-auth=caching_sha2_password")
    assert done.returncode == 1 and "2026" in done.stderr, done.stderr
