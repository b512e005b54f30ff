# SPDX-License-Identifier: MIT
"""Starts the real gateway, and the servers it talks to, on private ports and folders."""
import functools
import glob
import http.client
import json
import os
import pwd
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

import pytest

from api import register
from installed import one_at_a_time
from plan import (ROOT, programs, pytest_collection_modifyitems, pytest_configure,  # noqa: F401
                  pytest_runtest_makereport, pytest_runtest_protocol, pytest_runtest_setup)

BINARY = os.path.abspath(os.environ.get("GATEHOUSE_BINARY", os.path.join(ROOT, "build/gatehouse")))
HTTP_TEST_SERVER = os.path.join(
    os.environ.get("GATEHOUSE_TEST_PROGRAMS", os.path.join(ROOT, "build/test/tests/support")),
    "http_test_server")
# Sanitizers make everything slower and start helpers that the sandbox refuses.
IS_SANITIZED = "GATEHOUSE_SANITIZED" in os.environ
PATIENCE = 40 if IS_SANITIZED else 15


def wait_for(condition, seconds=PATIENCE, what="condition"):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"{what} did not come within {seconds} s")


def lasting_port():
    """A free port that no outgoing connection is given while its server is stopped."""
    while True:
        port = random.randrange(15000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self.path)


class Program:
    """A server under test: started, watched, stopped by its process id."""

    def __init__(self, arguments, env, output):
        self.output = output
        with open(output, "ab") as out:
            self.process = subprocess.Popen(arguments, env=env, stdout=out, stderr=out,
                                            stdin=subprocess.DEVNULL)
        programs.append(self)

    def text(self):
        with open(self.output, "rb") as out:
            return out.read().decode("utf-8", "replace")

    def is_alive(self):
        return self.process.poll() is None

    def resident_kib(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self, seconds=PATIENCE):
        if self.is_alive():
            self.process.terminate()
        return self.process.wait(seconds)

    def kill(self):
        if self.is_alive():
            self.process.kill()
        self.process.wait()


class Gateway(Program):
    def __init__(self, folder, *arguments, env=None, wait=True):
        self.folder = str(folder)
        self.data = os.path.join(self.folder, "data")
        os.makedirs(self.folder, exist_ok=True)
        flags = ["serve", "--data-dir", self.data, "--listen", "127.0.0.1:0",
                 "--postgres-listen", "127.0.0.1:0", "--mysql-listen", "127.0.0.1:0", "--ssh-listen",
                 "127.0.0.1:0"]
        if IS_SANITIZED:
            flags += ["--sandbox", "off"]
        full_env = {k: v for k, v in os.environ.items() if not k.startswith("GATEHOUSE_")}
        full_env.update(env or {})
        output = os.path.join(self.folder, f"output-{time.monotonic_ns()}.txt")
        super().__init__([BINARY, *flags, *map(str, arguments)], full_env, output)
        self.port = None
        self.scheme = None
        if wait:
            self.wait_ready()

    def wait_ready(self):
        def ready():
            assert self.is_alive(), self.text()
            return re.search(r"(https?)://[^/\s]*:(\d+)/", self.text())
        found = wait_for(ready, what="the gateway's start")
        self.scheme, self.port = found.group(1), int(found.group(2))

    def url(self, path="/"):
        return f"{self.scheme}://127.0.0.1:{self.port}{path}"

    @functools.cached_property
    def admin(self):
        """Its first admin, who is registered when somebody asks for him."""
        return register(self)

    def http(self):
        if self.scheme == "https":  # whose certificate it is, is for the tests of TLS
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE,
                                               context=ssl._create_unverified_context())
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def get(self, path, headers=None, method="GET", body=None, timeout=PATIENCE):
        conn = self.http()
        conn.timeout = timeout
        try:
            conn.request(method, path, body=body, headers=headers or {})
            response = conn.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            conn.close()

    def get_json(self, path, **options):
        status, headers, body = self.get(path, **options)
        return status, json.loads(body)

    def control(self, method, path, value=None):
        conn = UnixConnection(os.path.join(self.data, "control.sock"))
        try:
            conn.request(method, path, body=None if value is None else json.dumps(value))
            response = conn.getresponse()
            return response.status, json.loads(response.read() or b"null")
        finally:
            conn.close()

    def connect(self):
        conn = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return conn


class PostgresServer:
    """A private PostgreSQL: its own folder, its own port, programs from Debian's package, or from
    a folder that has the server's at least."""

    def __init__(self, folder, *arguments, programs=None):
        self.folder = str(folder)
        self.arguments = arguments
        self.data = os.path.join(self.folder, "pg")
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda p: int(p.split("/")[4]))
        self.debian = found[-1]
        self.programs = programs or self.debian
        os.makedirs(self.folder, exist_ok=True)
        os.chmod(self.folder, 0o755)
        self.port = lasting_port()
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres")
        self.run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-N",
                 "-E", "UTF8", "--locale=C.UTF-8")
        self.start()

    def command(self, name, *arguments):
        as_user = []
        if os.getuid() == 0:
            user = pwd.getpwnam("postgres")
            as_user = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}",
                       "--clear-groups"]
        program = os.path.join(self.programs, name)
        if not os.path.exists(program):
            program = os.path.join(self.debian, name)
        return [*as_user, program, *arguments]

    def run(self, name, *arguments):
        subprocess.run(self.command(name, *arguments), check=True, cwd="/",
                       stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)

    def start(self):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(
                self.command("postgres", "-D", self.data, "-p", str(self.port), "-h", "127.0.0.1",
                             "-k", self.folder, "-c", "max_connections=200",
                             "-c", "fsync=off",  # the machine does not fail, servers do
                             *self.arguments),
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd="/")
        wait_for(lambda: subprocess.run(
            self.command("pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)),
            cwd="/").returncode == 0, what="PostgreSQL")

    def stop(self, how=signal.SIGINT):
        self.process.send_signal(how)
        self.process.wait(4 * PATIENCE)

    def create(self, name):
        self.run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", name)
        return f"postgres://postgres@127.0.0.1:{self.port}/{name}"


@pytest.fixture(scope="session")
def postgres():
    """In a folder of its own: those of pytest are closed to others whenever it starts anew."""
    folder = tempfile.mkdtemp(prefix="gatehouse-postgres-")
    server = PostgresServer(folder)
    yield server
    server.stop(signal.SIGQUIT)  # nobody needs what it would still write
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def browser():
    """One for all files of this process; a page has cookies of its own."""
    from browser import Browser
    browser = Browser()
    yield browser
    browser.stop()


@pytest.fixture(scope="session")
def one_provider(tmp_path_factory):
    from oidc import Provider
    provider = Provider(str(tmp_path_factory.mktemp("provider")))
    yield provider
    assert provider.is_alive(), provider.text()
    provider.stop()


@pytest.fixture
def provider(one_provider):
    """An OpenID Connect provider as it is at first, but for its keys and who it knows."""
    one_provider.do("reset")
    return one_provider


@pytest.fixture(scope="session")
def tools():
    """The bin folder of an environment with the testing programs of requirements.txt."""
    folder = os.path.join(ROOT, "build", "venv")
    requirements = os.path.join(ROOT, "tests/e2e/requirements.txt")
    wanted = open(requirements).read()
    stamp = os.path.join(folder, "installed.txt")
    with one_at_a_time(folder):
        if not os.path.exists(stamp) or open(stamp).read() != wanted:
            subprocess.run(["/usr/bin/python3", "-m", "venv", folder], check=True)
            subprocess.run([f"{folder}/bin/pip", "install", "-q", "-r", requirements],
                           check=True)
            with open(stamp, "w") as out:
                out.write(wanted)
    return os.path.join(folder, "bin")


def site_in(folder, provider, *arguments):
    from oidc import new_site
    site = new_site(folder, provider, *arguments)
    yield site
    assert site.gateway.is_alive(), site.gateway.text()
    assert site.gateway.stop() == 0, site.gateway.text()


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def site_of_stores(request, tmp_path_factory, one_provider):
    arguments = []
    if request.param == "postgres":
        server = request.getfixturevalue("postgres")
        arguments = ["--database-url", server.create(f"oidc_{time.monotonic_ns()}")]
    yield from site_in(tmp_path_factory.mktemp("oidc"), one_provider, *arguments)


@pytest.fixture
def site(site_of_stores, provider):
    """A gateway that signs in at the provider and has an admin; on both stores."""
    return site_of_stores


@pytest.fixture(scope="module")
def site_of_file(tmp_path_factory, one_provider):
    yield from site_in(tmp_path_factory.mktemp("oidc"), one_provider)


@pytest.fixture
def quick_site(site_of_file, provider):
    """The same on SQLite alone, for what the store has no part in."""
    return site_of_file


@pytest.fixture
def start(tmp_path):
    """start("--flag", "value") → a Gateway that ends with the test."""
    started = []

    def start_one(*arguments, folder=None, **options):
        gateway = Gateway(folder or tmp_path / f"gateway{len(started)}", *arguments, **options)
        started.append(gateway)
        return gateway

    yield start_one
    codes = [gateway.stop() for gateway in started if gateway.is_alive() and gateway.port]
    for gateway in started:
        gateway.kill()
    assert not any(codes), [gateway.text() for gateway in started]  # leaks show at the end


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    """One gateway for the tests of a file that do not disturb it; it must survive them all."""
    gateway = Gateway(tmp_path_factory.mktemp("gateway"))
    yield gateway
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module")
def quick(gateway):
    """Its first admin, on SQLite alone: for what the store has no part in."""
    return register(gateway)


@pytest.fixture(scope="module")
def target(postgres):
    from native import Target
    return Target(postgres)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def admin(request, tmp_path_factory):
    """The first admin of a gateway of this file, on both stores."""
    folder = tmp_path_factory.mktemp("api")
    arguments = []
    if request.param == "postgres":
        server = request.getfixturevalue("postgres")
        arguments = ["--database-url", server.create(f"api_{time.monotonic_ns()}")]
    gateway = Gateway(folder, *arguments)
    yield register(gateway)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def house(request, tmp_path_factory):
    """A gateway behind a proxy, and its people, on both stores."""
    from people import TRUSTED, House
    arguments = []
    if request.param == "postgres":
        server = request.getfixturevalue("postgres")
        arguments = ["--database-url", server.create(f"house_{time.monotonic_ns()}")]
    gateway = Gateway(tmp_path_factory.mktemp("house"), *TRUSTED, *arguments)
    yield House(gateway)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request, tmp_path):
    """The same test on both stores."""
    if request.param == "sqlite":
        return f"sqlite:{tmp_path}/store.db"
    server = request.getfixturevalue("postgres")
    name = "test_" + re.sub(r"\W", "_", f"{tmp_path.name}_{time.monotonic_ns()}").lower()[-40:]
    return server.create(name)


def receive_all(conn):
    """Everything until the other side closes."""
    received = b""
    while True:
        try:
            part = conn.recv(65536)
        except ConnectionResetError:
            return received
        if not part:
            return received
        received += part
