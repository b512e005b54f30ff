# SPDX-License-Identifier: MIT
"""A port of one's own machine for MySQL and for TCP, over the gateway's HTTPS port; real clients."""
import json
import os
import signal
import socket
import subprocess
import sys

import pymysql
import pytest

from api import PASSWORD, login, register, unique
from command_line import Person
from conftest import PATIENCE, Gateway, lasting_port, receive_all, wait_for
from mariadb import MariadbServer, MysqlTarget
from test_tcp import Echo
from test_tcp import connection as tcp_connection
from test_tls import make_certificate


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("connect-certificate"), "gateway")


@pytest.fixture(scope="module")
def admin(tmp_path_factory, files):
    gateway = Gateway(tmp_path_factory.mktemp("connect"), "--tls-cert", files[0], "--tls-key",
                      files[1], "--tcp-listen", "127.0.0.1:0", "--mysql-tls", "required",
                      "--shutdown-seconds", "1", "--listen", f"127.0.0.1:{lasting_port()}")
    yield register(gateway)
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module")
def me(admin, files, tmp_path_factory):
    return Person(tmp_path_factory.mktemp("me"), admin, ["--ca-file", files[0]])


@pytest.fixture(scope="module")
def mysql(files):
    server = MariadbServer(files)
    yield MysqlTarget(server)
    server.remove()


@pytest.fixture(scope="module")
def echo():
    return Echo()


class Connected:
    def __init__(self, person, *arguments, command="connect"):
        self.process = person.start(command, *arguments, "--output", "json")
        line = self.process.stdout.readline()
        assert line, self.process.communicate()
        self.given = json.loads(line)
        self.port = int(self.given["port"])

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err


def mysql_open(given, **changed):
    given = {**given, **changed}
    return pymysql.connect(host=given["host"], port=int(given["port"]), user=given["user"],
                           password=given["password"], database=given["database"],
                           connect_timeout=2 * PATIENCE)


def value(connection, text):
    with connection.cursor() as cursor:
        cursor.execute(text)
        return cursor.fetchone()[0]


def test_clients_of_mysql_come_over_https(me, admin, mysql):
    name = mysql.connection(admin)
    connected = Connected(me, name)
    assert connected.given["url"].startswith(f"mysql://{name}:")
    assert connected.given["jdbc"].startswith("jdbc:mysql://127.0.0.1:")
    assert "psql" not in connected.given
    with mysql_open(connected.given) as one, mysql_open(connected.given) as other:
        assert value(one, "select 1") == 1 and value(other, "select database()") == mysql.database
        assert value(one, "select length(repeat('x', 3000000))") == 3000000
        assert len(value(one, "select repeat('x', 3000000)")) == 3000000
    with pytest.raises(pymysql.err.OperationalError):
        mysql_open(connected.given, password="wrong")
    done = subprocess.run(["bash", "-c", connected.given["mariadb"] + " -N -e 'select 6 * 7'"],
                          capture_output=True, text=True, check=False, timeout=2 * PATIENCE)
    assert done.stdout == "42\n", done
    row = me.json("sessions", "list", "--connection", name, "--limit", "1")[0]
    assert row["verb"] == "connect" and row["client_ip"] == "127.0.0.1"
    assert connected.end()[0] == 0


def test_a_client_of_mysql_is_run(me, admin, mysql):
    name = mysql.connection(admin)
    with open(os.path.join(me.home, ".my.cnf"), "w", encoding="ascii") as file:
        file.write("[client]\nhost=192.0.2.1\nuser=somebody\npassword=wrong\n"
                   "[mysql]\nskip-column-names\n")
    done = me.done("connect", name, "--", "mariadb", "-e", "select 41 + 1, database()")
    assert done.stdout == f"42\t{mysql.database}\n", done
    assert me.done("connect", name, "--", "mariadb", "-e", "select nothing").returncode == 1
    assert "CREATE TABLE" not in me.run("connect", name, "--", "mariadb-dump", "--no-tablespaces",
                                        mysql.database)
    os.unlink(os.path.join(me.home, ".my.cnf"))
    script = ("cat \"$MYSQL_HOME/my.cnf\"; stat -c mode=%a \"$MYSQL_HOME/my.cnf\"; env; "
              "mariadb -N -e 'select 7'; tr '\\0' ' ' </proc/$PPID/cmdline; exit 9")
    done = me.done("connect", name, "--", "bash", "-c", script, MYSQL_PWD="x",
                   MYSQL_UNIX_PORT="/nowhere")
    assert done.returncode == 9, done
    lines = done.stdout.splitlines()
    assert "mode=600" in lines and "7" in lines and "MYSQL_HOST=127.0.0.1" in lines
    secret = next(line for line in lines if line.startswith("password=")).split('"')[1]
    assert secret not in lines[-1], "in no argument"
    assert not [line for line in lines if secret in line and not line.startswith("password=")]
    assert not [line for line in lines if line.startswith(("MYSQL_PWD", "MYSQL_UNIX_PORT"))]
    assert not [path for path in me.files() if path.endswith("my.cnf")]
    folder = os.path.join(me.home, ".local/state/gatehouse")
    assert not [entry.name for entry in os.scandir(folder) if entry.is_dir()]


def test_what_show_prints_fits_the_protocol(me, admin, mysql, echo):
    name = mysql.connection(admin)
    assert me.run("show", name, "--url").startswith("mysql://")
    assert "sslMode=REQUIRED" in me.run("show", name, "--jdbc")
    assert "export MYSQL_PWD=" in me.run("show", name, "--env")
    assert "--psql makes no sense" in me.refused(2, "show", name, "--psql")
    tcp = tcp_connection(admin, echo.port)
    assert "--url makes no sense" in me.refused(2, "show", tcp, "--url")


def say(port, words):
    with socket.create_connection(("127.0.0.1", port), timeout=2 * PATIENCE) as client:
        client.sendall(words)
        client.shutdown(socket.SHUT_WR)
        return receive_all(client)


def test_bytes_of_tcp_are_carried(me, admin, echo):
    name = tcp_connection(admin, echo.port)
    connected = Connected(me, name)
    assert set(connected.given) == {"host", "port"}
    much = os.urandom(3 << 20)
    with socket.create_connection(("127.0.0.1", connected.port), timeout=2 * PATIENCE) as client:
        client.sendall(b"there")
        assert client.recv(5) == b"there"
        received = bytearray()
        for start in range(0, len(much), 1 << 16):
            client.sendall(much[start:start + (1 << 16)])
            while len(received) < start:
                received += client.recv(1 << 16)
        while len(received) < len(much):
            received += client.recv(1 << 16)
        assert received == much
    row = me.json("sessions", "list", "--connection", name, "--limit", "1")[0]
    assert row["verb"] == "connect"
    script = "import os, socket; s = socket.create_connection((os.environ['GATEHOUSE_HOST'], " \
             "int(os.environ['GATEHOUSE_PORT']))); s.sendall(b'x'); print(s.recv(1)); exit(5)"
    done = me.done("connect", name, "--", sys.executable, "-c", script)
    assert done.returncode == 5 and done.stdout == "b'x'\n", done
    assert connected.end()[0] == 0


@pytest.mark.skipif(os.getuid() != 0, reason="it takes root to be somebody else")
def test_a_port_of_tcp_is_for_its_owner(me, admin, echo):
    connected = Connected(me, tcp_connection(admin, echo.port))
    script = f"import socket; s = socket.create_connection(('127.0.0.1', {connected.port})); " \
             "s.sendall(b'x'); print(s.recv(1))"
    done = subprocess.run([sys.executable, "-c", script], user="nobody", capture_output=True,
                          text=True, check=False, timeout=2 * PATIENCE, cwd="/")
    assert done.stdout == "b''\n" or "ConnectionReset" in done.stderr, done
    client = socket.create_connection(("127.0.0.1", connected.port))
    client.sendall(b"said by one who is gone")
    client.close()
    code, _, err = connected.end()
    assert code == 0 and "another user's" in err, err


def test_a_target_of_tcp_that_is_not_there_is_said(me, admin):
    connected = Connected(me, tcp_connection(admin, lasting_port()))
    with socket.create_connection(("127.0.0.1", connected.port), timeout=4 * PATIENCE) as client:
        assert client.recv(100) == b""
    code, _, err = connected.end()
    assert code == 0 and "turned away: the target" in err, err
