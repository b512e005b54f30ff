# SPDX-License-Identifier: MIT
"""A port of one's own machine for MySQL and for TCP, over the gateway's HTTPS port; real clients."""
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pymysql
import pytest

from api import PASSWORD, login, register, unique
from command_line import Person
from conftest import PATIENCE, Gateway, lasting_port, wait_for
from mariadb import MariadbServer, MysqlTarget
from sshd import Sshd
from sshd import connection as ssh_connection
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
    person = Person(tmp_path_factory.mktemp("me"), admin, ["--ca-file", files[0]])
    person.ca_file = str(files[0])
    return person


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


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    server = Sshd(tmp_path_factory.mktemp("sshd"))
    yield server
    server.stop()


def test_clients_of_ssh_come_over_https(me, admin, host, tmp_path):
    name = ssh_connection(admin, host.secret())
    source = tmp_path / "source"
    source.write_bytes(os.urandom(3 << 20))
    assert me.run("connect", name, "--", "ssh", name, "echo $((6 * 7))") == "42\n"
    assert me.done("connect", name, "--", "ssh", "whatever", "exit 9").returncode == 9
    me.run("connect", name, "--", "scp", "-q", source, f"{name}:{tmp_path}/copied")
    assert (tmp_path / "copied").read_bytes() == source.read_bytes()
    me.run("connect", name, "--", "rsync", "-q", source, f"{name}:{tmp_path}/synced")
    assert (tmp_path / "synced").read_bytes() == source.read_bytes()
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "bare")], check=True)
    me.run("connect", name, "--", "git", "clone", "-q", f"{name}:{tmp_path}/bare", tmp_path / "clone")
    assert (tmp_path / "clone" / ".git").is_dir()
    left = [path for path in me.files() if path.endswith("askpass")]
    assert not left, "the secret's file goes with the command"


def test_ssh_knows_the_gateway_by_what_is_printed(me, admin, host, tmp_path):
    name = ssh_connection(admin, host.secret())
    connected = Connected(me, name)
    assert connected.given["ssh"].startswith("ssh -o 'KnownHostsCommand=/bin/echo [127.0.0.1]:")
    env = dict(os.environ, SSHPASS=connected.given["password"], HOME=str(tmp_path))
    strict = connected.given["ssh"].replace("ssh ", "sshpass -e ssh -F /dev/null -o "
                                            "StrictHostKeyChecking=yes ", 1)
    done = subprocess.run(["sh", "-c", f"{strict} echo there"], env=env, capture_output=True,
                          stdin=subprocess.DEVNULL,
                          text=True, timeout=4 * PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (0, "there\n"), done
    assert connected.end()[0] == 0
    config = tmp_path / "config"
    config.write_text(me.run("show", name, "--ssh-config"))
    secret = config.read_text().splitlines()[0].rpartition(" ")[2]
    done = subprocess.run(["sshpass", "-e", "ssh", "-F", str(config), "-o", "StrictHostKeyChecking=yes",
                           name, "echo", "here"], env={**env, "SSHPASS": secret}, text=True,
                          capture_output=True, timeout=4 * PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (0, "here\n"), done
    assert me.run("show", name, "--ssh").startswith("ssh -o ")


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
        return client.recv(100)


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


def test_values_of_mysql_are_the_same_in_every_sql_mode(me, admin, mysql):
    name = mysql.connection(admin)
    odd = "o'neil \\' or 1=1 -- \"x\" `y` \\"
    for mode in ("", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES", "NO_BACKSLASH_ESCAPES,ANSI_QUOTES"):
        rows = me.json("exec", name, "--param", f"a={odd}", "--param", "b=plain", "-c",
                       f"set sql_mode = '{mode}'; select :'a' as a, :'b' as b, '\\\\' as c")
        value, plain, backslashes = rows[-1]["rows"][0]
        assert (value, plain) == (odd, "plain"), (mode, rows)
        assert len(backslashes) == (2 if "NO_BACKSLASH" in mode else 1), (mode, rows)
    for script in ("select '\\', :'a', '", "select 'it\\'s', :'a'"):
        assert "sql_mode" in me.refused(2, "exec", name, "--param", "a=b", "-c", script)
    assert me.json("exec", name, "-c", "select 'it\\'s' as s")[-1]["rows"] == [["it's"]]


class Counter:
    """Says how much it has heard once the other side has ended, and then a lot."""

    def __init__(self):
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            threading.Thread(target=self.serve, args=self.listening.accept()[:1],
                             daemon=True).start()

    def serve(self, conn):
        heard = 0
        while data := conn.recv(65536):
            heard += len(data)
        time.sleep(0.3)  # there is nothing on its way, in either direction
        conn.sendall(f"{heard}\n".encode() + b"x" * (2 << 20))
        conn.close()


@pytest.mark.parametrize("size", [0, 5, 1 << 20])
def test_an_end_of_one_side_goes_through_to_the_target_and_back(me, admin, size):
    connected = Connected(me, tcp_connection(admin, Counter().port))
    with socket.create_connection(("127.0.0.1", connected.port), timeout=2 * PATIENCE) as client:
        client.sendall(b"a" * size)
        client.shutdown(socket.SHUT_WR)
        received = bytearray()
        while data := client.recv(1 << 16):
            received += data
    assert received == f"{size}\n".encode() + b"x" * (2 << 20)
    code, _, err = connected.end()
    assert code == 0 and "turned away" not in err, err


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


class Ports:
    """What 'up' says of each connection, one line each."""

    def __init__(self, person, *arguments, count=1):
        self.process = person.start("up", *arguments, "--output", "json")
        self.given = []
        for _ in range(count):
            line = self.process.stdout.readline()
            assert line, self.process.communicate()
            self.given.append(json.loads(line))

    end = Connected.end


def psql(given, text, **changed):
    given = {**given, **changed}
    return subprocess.run(
        ["psql", "-X", "-A", "-t", "-c", text, "-h", given["host"], "-p", given["port"], "-U",
         given["user"], given["database"]], env={**os.environ, "PGPASSWORD": given["password"]},
        capture_output=True, text=True, timeout=4 * PATIENCE, check=False)


def credentials(admin, name):
    return [row for row in admin.get("/connection-credentials").json
            if row["connection_name"] == name]


def test_a_port_stays_with_its_password(me, admin, target, mysql, echo, tmp_path):
    names = [target.connection(admin), mysql.connection(admin), tcp_connection(admin, echo.port)]
    ports = Ports(me, *names, count=3)
    first, second, third = ports.given
    service = tmp_path / "service.conf"
    service.write_text("[orders]\n" + "".join(
        f"{key}={first[value]}\n" for key, value in (
            ("host", "host"), ("port", "port"), ("user", "user"), ("password", "password"),
            ("dbname", "database"))))

    def by_service(text):
        return subprocess.run(["psql", "-XAtc", text, "service=orders"], capture_output=True,
                              text=True, check=False, timeout=2 * PATIENCE,
                              env={**me.env, "PGSERVICEFILE": str(service)})
    assert by_service("select 1").stdout == "1\n", by_service("select 1")
    assert "authentication failed" in psql(first, "select 1", password="x" * 43).stderr
    with mysql_open(second) as one:
        assert value(one, "select 2") == 2
    assert say(int(third["port"]), b"three") == b"three"
    native = int(me.run("show", names[0], "--dsn").split("port=")[1].split()[0])
    elsewhere = psql(first, "select 1", port=str(native))
    assert "authentication failed" in elsewhere.stderr, "it counts at this port alone"
    assert "127.0.0.1" in me.refused(1, "up", names[0])
    assert ports.end()[0] == 0
    assert by_service("select 1").returncode != 0
    assert [row["connection_name"] for row in admin.get("/connection-credentials").json
            if row["connection_name"] in names[1:]] == []
    again = Ports(me, count=3)
    assert again.given == [first, second, third], "as they were"
    assert by_service("select 1").stdout == "1\n"
    with mysql_open(second) as one:
        assert value(one, "select 2") == 2
    assert again.end()[0] == 0
    port = lasting_port()
    moved = Ports(me, names[0], "--port", port)
    assert moved.given[0]["port"] == str(port) and moved.given[0]["password"] == first["password"]
    assert moved.end()[0] == 0
    assert "kept for another" in me.refused(2, "up", names[1], "--port", port)
    assert "--port is for one" in me.refused(2, "up", *names, "--port", port)
    assert me.files()[".local/state/gatehouse/ports.json"] == 0o600


def test_credentials_are_renewed_behind_a_port(me, admin, target, tmp_path):
    email = admin.get("/userinfo").json["email"]
    me = Person(tmp_path, login(admin.gateway, email), ["--ca-file", me.ca_file])
    name = target.connection(admin)
    ports = Ports(me, name, "--duration", "8s")
    [given] = ports.given
    [first] = credentials(admin, name)
    slow = subprocess.Popen(
        ["psql", "-XAtc", "select pg_sleep(5.5), 'lasted'", given["url"]], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True)
    wait_for(lambda: me.json("sessions", "list", "--connection", name)[0:1], what="the session")

    def renewed():
        assert psql(given, "select 1").stdout == "1\n"
        found = credentials(admin, name)
        return found if len(found) == 2 else None
    found = wait_for(renewed, what="the second credential")
    assert first["id"] in [row["id"] for row in found]
    assert "lasted" in slow.communicate(timeout=2 * PATIENCE)[0], "the second ends nothing"
    for row in found:
        assert admin.post(f"/connections/{name}/credentials/{row['id']}/revoke").status == 204
    assert psql(given, "select 2").stdout == "2\n", "one that was ended is followed by another"
    me.run("logout")
    assert psql(given, "select 3").returncode != 0
    me.run("login", "--token-stdin", text=login(admin.gateway, email).token)
    assert psql(given, "select 4").stdout == "4\n", "who signs in again goes on"
    code, _, err = ports.end()
    assert code == 0 and "you are not signed in" in err, err


def test_a_tunnel_with_its_own_password_is_for_ones_own_credential(me, admin, target):
    name = target.connection(admin)
    email = unique("eve") + "@example.com"
    assert admin.post("/users", {"email": email, "password": PASSWORD, "groups": []}).status == 201
    eve = login(admin.gateway, email)
    made = admin.post(f"/connections/{name}/credentials", {"keep_others": True}).json
    upgrade = {"Connection": "Upgrade", "Upgrade": "gatehouse-client/1",
               "Gatehouse-Credential": made["id"], "Gatehouse-Password": "p" * 43}
    path = f"/connections/{name}/tunnel"
    assert eve.get(path, headers=upgrade).status == 409
    other = target.connection(admin)
    assert admin.get(f"/connections/{other}/tunnel", headers=upgrade).status == 409
    for wrong in ({"Gatehouse-Password": "p" * 31}, {"Gatehouse-Password": "p" * 129},
                  {"Gatehouse-Password": "p" * 20 + " " + "p" * 20}, {"Gatehouse-Credential": ""},
                  {"Gatehouse-Password": ""}):
        assert admin.get(path, headers={**upgrade, **wrong}).status == 400, wrong
    assert admin.post(f"/connections/{name}/credentials/{made['id']}/revoke").status == 204
    assert admin.get(path, headers=upgrade).status == 409


def test_what_up_keeps_is_held_to_its_form(me, admin, target, tmp_path):
    one = Person(tmp_path, admin, ["--ca-file", me.ca_file])
    assert "which connections" in one.refused(2, "up")
    path = os.path.join(one.home, ".local/state/gatehouse/ports.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"ports": [{"gateway": "x", "connection": "y", "port": 1}]}')
    assert "'ports[0].password'" in one.refused(2, "up", target.connection(admin))
