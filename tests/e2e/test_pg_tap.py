# SPDX-License-Identifier: MIT
"""Real clients and a real server with a tap in between: what is recorded of their sessions, and
what a client hears when the target goes away. All of it also with each piece held for a while, as
when recordings are synced to a disk first, and with clients that encrypt."""
import base64
import collections
import hashlib
import hmac
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

import pytest
from conftest import (
    HTTP_TEST_SERVER,
    IS_SANITIZED,
    PATIENCE,
    PostgresServer,
    Program,
    lasting_port,
    wait_for,
)

PROXY = os.path.join(os.path.dirname(HTTP_TEST_SERVER), "pg_tap_proxy")
MIB = 1024 * 1024
GONE = "FATAL:  the target has closed the connection"

Message = collections.namedtuple("Message", "side type request body")
Count = collections.namedtuple("Count", "side request rows row_bytes is_cut")


def rows_in(data):
    while data:
        size = struct.unpack("!I", data[1:5])[0]
        yield data[5:1 + size]
        data = data[1 + size:]


class Session:
    """What was recorded of one, put together again."""

    def __init__(self, lines):
        self.items = []
        self.end = None
        begun = {}
        for line in lines:
            side = line["side"]
            request = line.get("request")
            body = bytes.fromhex(line.get("bytes", ""))
            if line["kind"] == "end":
                self.end = line
            elif line["kind"] == "count":
                self.items.append(Count(side, request, line["rows"], line["row_bytes"],
                                        line["is_cut"]))
            elif line["kind"] == "rows":
                self.items += [Message(side, line["type"], request, row) for row in rows_in(body)]
            else:
                assert (line["kind"] == "more") == (side in begun)
                begun[side] = begun.get(side, b"") + body
                if line["is_last"]:
                    assert len(begun[side]) == line["size"]
                    self.items.append(Message(side, line["type"], request, begun.pop(side)))
        self.unfinished = begun

    def text(self):
        """Such as "Q> T D # C": the types, those of the client marked."""
        return " ".join(("#" if isinstance(item, Count) else item.type) +
                        (">" if item.side == "client" else "") for item in self.items)

    def bodies(self, side, kind):
        return [item.body for item in self.items
                if isinstance(item, Message) and (item.side, item.type) == (side, kind)]

    def counts(self, side="target"):
        return [item for item in self.items if isinstance(item, Count) and item.side == side]

    def queries(self):
        return [body[:-1].decode() for body in self.bodies("client", "Q")]


class Proxy(Program):
    def __init__(self, folder, port, row_limit, *options):
        os.makedirs(folder, exist_ok=True)
        self.sslmode = "require" if len(options) > 1 else "disable"
        super().__init__([PROXY, str(port), str(row_limit), *map(str, options)], dict(os.environ),
                         os.path.join(folder, f"proxy-{time.monotonic_ns()}.txt"))
        found = wait_for(lambda: re.search(r"^port (\d+)$", self.text(), re.MULTILINE),
                         what="the proxy")
        self.port = int(found.group(1))

    def lines(self):
        return [json.loads(line) for line in self.text().splitlines() if line.startswith("{")]

    def session(self, number):
        """That one, when it is over."""
        wait_for(lambda: f'"session":{number},"kind":"end"' in self.text(), what="its end")
        return Session([line for line in self.lines() if line["session"] == number])

    def dsn(self):
        return (f"host=127.0.0.1 port={self.port} user=shop dbname=postgres "
                f"sslmode={self.sslmode}")

    def start(self, *command):
        env = {**os.environ, "PGPASSWORD": "password", "LC_ALL": "C"}
        return subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def run(self, *command, stdin="", code=0):
        process = self.start(*command)
        out, err = process.communicate(stdin, timeout=4 * PATIENCE)
        assert process.returncode == code, out + err
        return out + err

    def psql(self, *queries, stdin="", code=0):
        commands = [word for query in queries for word in ("-c", query)]
        return self.run("psql", "-XAtq", self.dsn(), *commands, stdin=stdin, code=code)

    def python(self, tools, script):
        return self.run(f"{tools}/python", "-c", f"""
import psycopg, time
conn = psycopg.connect({self.dsn()!r}, autocommit=True)
{script}
conn.close()
""")


def message(kind, body=b""):
    return kind + struct.pack("!I", len(body) + 4) + body


def read_all(raw):
    parts = []
    while True:
        part = raw.recv(65536)
        if not part:
            return b"".join(parts)
        parts.append(part)


def sign_in(proxy):
    """A client of our own, which says what it likes from there on."""
    raw = socket.create_connection(("127.0.0.1", proxy.port), timeout=PATIENCE)
    start = b"\0\3\0\0user\0shop\0database\0postgres\0\0"
    raw.sendall(struct.pack("!I", len(start) + 4) + start)

    def take(prefix_size):
        head = raw.recv(5, socket.MSG_WAITALL)
        body = raw.recv(struct.unpack("!I", head[1:])[0] - 4, socket.MSG_WAITALL)
        return head[:1], body[prefix_size:]
    take(4)
    bare = b"n=,r=client"
    initial = b"n,," + bare
    raw.sendall(message(b"p", b"SCRAM-SHA-256\0" + struct.pack("!I", len(initial)) + initial))
    _, first = take(4)
    fields = dict(part.split(b"=", 1) for part in first.split(b","))
    salted = hashlib.pbkdf2_hmac("sha256", b"password", base64.b64decode(fields[b"s"]),
                                 int(fields[b"i"]))
    client = hmac.digest(salted, b"Client Key", "sha256")
    last = b"c=biws,r=" + fields[b"r"]
    signature = hmac.digest(hashlib.sha256(client).digest(), bare + b"," + first + b"," + last,
                            "sha256")
    proof = bytes(a ^ b for a, b in zip(client, signature))
    raw.sendall(message(b"p", last + b",p=" + base64.b64encode(proof)))
    while take(0)[0] != b"Z":
        pass
    return raw


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificate")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    "/CN=127.0.0.1", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
                   check=True, capture_output=True)
    return folder / "cert.pem", folder / "key.pem"


@pytest.fixture(params=["at_once", "held", "encrypted"])
def open_proxy(request, tmp_path, certificate):
    """Starts a proxy to the server at a port."""
    options = {"at_once": ["at_once"], "held": ["held"], "encrypted": ["at_once", *certificate]}
    proxies = []

    def start(port, row_limit=MIB):
        proxies.append(Proxy(str(tmp_path), port, row_limit, *options[request.param]))
        return proxies[-1]
    yield start
    for proxy in proxies:
        assert proxy.is_alive(), proxy.text()[-4000:]
        proxy.kill()


@pytest.fixture
def proxy(open_proxy, postgres):
    return open_proxy(postgres.port)


def test_simple_queries(proxy):
    out = proxy.psql("select 'two', 2 union all select 'three', 3",
                     "set application_name = 'tapped'", "begin", "select 1/0", "rollback")
    assert out.startswith("two|2\nthree|3\n")
    session = proxy.session(1)
    assert session.queries()[0] == "select 'two', 2 union all select 'three', 3"
    assert session.text() == "Q> T D D # C Z Q> C S Z Q> C Z Q> E Z Q> C Z X>"
    first, second = session.bodies("target", "D")
    assert first == b"\0\2\0\0\0\3two\0\0\0\0012" and b"three" in second
    assert session.counts() == [Count("target", 0, 2, 2 * 5 + len(first) + len(second), False)]
    assert session.bodies("target", "C")[0] == b"SELECT 2\0"
    assert b"division by zero" in session.bodies("target", "E")[0]
    assert session.bodies("target", "Z") == [b"I", b"I", b"T", b"E", b"I"]
    assert session.end["side"] == "target"
    assert session.end["is_idle"] and session.end["is_terminated"]
    assert session.end["statements"] == 4 and session.end["errors"] == 1


def test_values_of_the_extended_protocol(proxy, tools):
    assert proxy.python(tools, """
for number in range(7):
    print(conn.execute("select %s::text || %s", ["secret", number]).fetchone()[0])
cursor = conn.cursor(binary=True)
cursor.execute("select %b::bytea", [b"\\0\\1\\2binary"])
""").split() == [f"secret{number}" for number in range(7)]
    session = proxy.session(1)
    assert [b"select $1::text || $2" in body for body in session.bodies("client", "P")].count(True)
    for number in range(7):
        assert any(b"secret" in body for body in session.bodies("client", "B"))
        assert any(f"secret{number}".encode() in body for body in session.bodies("target", "D"))
    assert any(b"\0\1\2binary" in body for body in session.bodies("client", "B"))
    # Each answer says whose it is: rows and their completion answer an Execute.
    executed = [item.request for item in session.items
                if isinstance(item, Message) and item.side == "client" and item.type == "E"]
    assert [count.request for count in session.counts()] == executed


def test_an_error_in_a_pipeline(proxy, tools):
    assert "division by zero" in proxy.python(tools, """
try:
    with conn.pipeline():
        conn.execute("select 'first'")
        conn.execute("select 1/%s", [0])
        conn.execute("select 'never'")
except psycopg.Error as error:
    print(error)
print(conn.execute("select 'after'").fetchone())
""")
    session = proxy.session(1)
    assert session.end["errors"] == 1 and session.end["is_idle"]
    rows = b" ".join(session.bodies("target", "D"))
    assert b"first" in rows and b"never" not in rows and b"after" in rows
    asked = [item for item in session.items if isinstance(item, Message) and item.type == "P"]
    assert any(b"never" in item.body for item in asked)


def test_a_copy_in_both_directions(proxy):
    lines = "".join(f"{number}\tline {number}\n" for number in range(1000))
    proxy.psql("drop table if exists copied; create table copied (a int, b text)",
               r"\copy copied from stdin", stdin=lines)
    session = proxy.session(1)
    assert b"".join(session.bodies("client", "d")).decode() == lines
    count, = session.counts("client")
    assert count.row_bytes == len(lines) + 5 * count.rows and not count.is_cut
    assert proxy.psql(r"\copy copied to stdout") == lines
    session = proxy.session(2)
    assert b"".join(session.bodies("target", "d")).decode() == lines
    assert session.counts()[0].rows == 1000
    assert "invalid input syntax" in proxy.psql(r"\copy copied from stdin", stdin="x\n", code=1)
    session = proxy.session(3)
    assert session.text() in ("Q> G d> #> E Z X>", "Q> G d> E #> Z X>", "Q> G d> E Z #> X>")
    assert session.end["is_idle"]


def test_a_cursor(proxy):
    proxy.psql("begin; declare c cursor for select generate_series(1, 10); fetch 3 from c; "
               "fetch 100 from c; close c; commit")
    session = proxy.session(1)
    assert [count.rows for count in session.counts()] == [3, 7]
    assert session.end["statements"] == 6


def test_notices_and_parameters(proxy):
    assert "so it is" in proxy.psql("do $$ begin raise notice 'so it is'; end $$",
                                    "set timezone = 'Asia/Tokyo'")
    session = proxy.session(1)
    assert b"so it is" in session.bodies("target", "N")[0]
    assert session.bodies("target", "S") == [b"TimeZone\0Asia/Tokyo\0"]


def test_notifications_come_to_who_listens(proxy, tools):
    assert proxy.python(tools, f"""
conn.execute("listen news")
other = psycopg.connect({proxy.dsn()!r}, autocommit=True)
other.execute("notify news, 'good ones'")
other.close()
print(next(conn.notifies(timeout={PATIENCE})).payload)
""").strip() == "good ones"
    session = proxy.session(1)
    assert session.bodies("target", "A")[0].endswith(b"news\0good ones\0")


def test_function_calls_of_large_objects(proxy, tmp_path):
    source, result = tmp_path / "source", tmp_path / "result"
    source.write_bytes(os.urandom(300000))
    number = proxy.psql(rf"\lo_import {source}", r"\echo :LASTOID").split()[-1]
    proxy.psql(rf"\lo_export {number} {result}", rf"\lo_unlink {number}")
    assert result.read_bytes() == source.read_bytes()
    session = proxy.session(1)
    # What lowrite() is given is behind 22 bytes of a call, and before 2.
    written = b"".join(body[22:-2] for body in session.bodies("client", "F") if len(body) > 1000)
    assert written == source.read_bytes()
    assert len(session.bodies("target", "V")) == len(session.bodies("client", "F"))
    assert session.end["is_idle"]


def test_much_passes_and_little_is_recorded(open_proxy, postgres):
    proxy = open_proxy(postgres.port, 10000)
    proxy.psql("select 1")
    before = proxy.resident_kib()
    query = "select repeat('x', 1000) from generate_series(1, 100000)"
    out = proxy.run("psql", "-XAtq", "-o", "/dev/null", proxy.dsn(), "-c", query, "-c", "select 1")
    assert out == ""
    session = proxy.session(2)
    first, second = session.counts()
    assert first == Count("target", 0, 100000, 100000 * 1011, True)
    assert second.rows == 1 and not second.is_cut
    assert len(session.bodies("target", "D")) == 9 + 1
    assert IS_SANITIZED or proxy.resident_kib() - before < 4096


def test_a_statement_of_many_megabytes_is_recorded_whole(proxy):
    text = "x" * (8 * MIB)
    before = proxy.resident_kib()
    assert proxy.psql(stdin=f"select length('{text}');") == f"{8 * MIB}\n"
    session = proxy.session(1)
    assert session.queries() == [f"select length('{text}');"]
    assert IS_SANITIZED or proxy.resident_kib() - before < 4096


@pytest.mark.parametrize("protocol", ["simple", "extended", "prepared"])
def test_pgbench(proxy, postgres, protocol):
    postgres.run("pgbench", "-i", "-q", "-h", "127.0.0.1", "-p", str(postgres.port),
                 "-U", "postgres", "postgres")
    out = proxy.run("pgbench", "-n", "-M", protocol, "-c", "4", "-j", "2", "-t", "50", proxy.dsn())
    assert "number of transactions actually processed: 200/200" in out
    wait_for(lambda: proxy.text().count('"kind":"end"') >= 5, what="the sessions' ends")
    ends = [line for line in proxy.lines() if line["kind"] == "end"]
    assert sum(end["statements"] for end in ends) >= 200 * 7
    assert all(end["errors"] == 0 and end["is_idle"] for end in ends)


@pytest.mark.parametrize("asked, answered", [
    (message(b"S"), message(b"Z", b"I")),
    # A server holds these back until a Sync, which comes last: it is read all the same.
    (message(b"P", b"\0\0\0\0"), message(b"1"))])
def test_a_pipeline_that_is_deeper_than_what_may_be_owed(proxy, asked, answered):
    """Nobody reads the answers until all is sent: the client is stopped meanwhile."""
    count = 60000
    raw = sign_in(proxy)
    sender = threading.Thread(target=raw.sendall,
                              args=(asked * count + message(b"S") + message(b"X"),))
    sender.start()
    time.sleep(0.3)
    got = read_all(raw)
    sender.join(PATIENCE)
    raw.close()
    assert got == answered * count + message(b"Z", b"I")
    session = proxy.session(1)
    assert session.end["is_idle"] and session.end["errors"] == 0


def test_a_query_is_cancelled(proxy, tools):
    assert "canceling statement due to user request" in proxy.python(tools, """
import threading
threading.Timer(0.3, conn.cancel).start()
try:
    conn.execute("select pg_sleep(60)")
except psycopg.Error as error:
    print(error)
""")
    assert proxy.session(1).end["is_idle"]


def test_what_breaks_the_protocol_does_not_pass(proxy):
    raw = sign_in(proxy)
    raw.sendall(message(b"Q", b"select 1\0"))
    wait_for(lambda: '"type":"C"' in proxy.text(), what="the answer")
    raw.sendall(message(b"S") + message(b"p", b"password\0"))
    assert b"the session broke the protocol" in read_all(raw)
    raw.close()
    session = proxy.session(1)
    assert session.end["side"] == "client" and session.end["error"] == "malformed input"
    assert b"password" not in b"".join(item.body for item in session.items
                                       if isinstance(item, Message))


# When the target goes away ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def own_server(tmp_path_factory):
    """One that may be killed."""
    folder = tempfile.mkdtemp(prefix="gatehouse-tap-")
    server = PostgresServer(folder)
    yield server
    server.stop()
    shutil.rmtree(folder)


def pid_of(proxy):
    """The server's process, when it runs the query."""
    found = wait_for(lambda: re.findall(r'"type":"D"[^\n]*"bytes":"([0-9a-f]+)"', proxy.text()),
                     what="its process id")
    data = bytes.fromhex(found[0])
    return int(next(rows_in(data) if data[:1] == b"D" else iter([data]))[6:])


def psql_that_sleeps(proxy):
    return proxy.start("psql", "-XAtq", proxy.dsn(), "-c", "select pg_backend_pid()",
                       "-c", "select pg_sleep(60)", "-c", "select 'never'")


def test_the_target_is_killed_in_mid_query(open_proxy, own_server):
    proxy = open_proxy(own_server.port)
    client = psql_that_sleeps(proxy)
    pid = pid_of(proxy)
    wait_for(lambda: b"pg_sleep".hex() in proxy.text(), what="the query")
    os.kill(pid, signal.SIGKILL)
    out, err = client.communicate(timeout=PATIENCE)
    assert GONE in err and "never" not in out
    session = proxy.session(1)
    assert session.end["speaks"] and not session.end["is_idle"]
    assert session.queries()[-1] == "select pg_sleep(60)"
    wait_for(lambda: subprocess.run(
        own_server.command("pg_isready", "-q", "-h", "127.0.0.1", "-p", str(own_server.port)),
        cwd="/", check=False).returncode == 0, what="PostgreSQL again")


def test_a_target_that_says_why_is_not_outtalked(proxy, postgres):
    client = psql_that_sleeps(proxy)
    pid = pid_of(proxy)
    wait_for(lambda: b"pg_sleep".hex() in proxy.text(), what="the query")
    subprocess.run(["psql", "-Xq", "-h", "127.0.0.1", "-p", str(postgres.port), "-U", "postgres",
                    "-c", f"select pg_terminate_backend({pid})"], check=True,
                   stdout=subprocess.DEVNULL)
    _, err = client.communicate(timeout=PATIENCE)
    assert "terminating connection due to administrator command" in err and GONE not in err
    session = proxy.session(1)
    assert not session.end["speaks"] and session.end["errors"] == 1


class Relay:
    """To a server, until it has passed so many bytes of it behind a word; then it breaks off."""

    def __init__(self, port, word, behind):
        self.port, self.word, self.behind = port, word, behind
        self.listener = socket.socket()
        self.own_port = lasting_port()
        self.listener.bind(("127.0.0.1", self.own_port))
        self.listener.listen()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        client, _ = self.listener.accept()
        target = socket.create_connection(("127.0.0.1", self.port))
        threading.Thread(target=self.ask, args=(client, target), daemon=True).start()
        seen = b""
        while self.word not in seen:
            part = target.recv(1024)
            seen += part
            if self.word in seen:
                part = part[:len(part) - len(seen) + seen.index(self.word) + len(self.word) +
                            self.behind]
            client.sendall(part)
        time.sleep(0.2)
        client.shutdown(socket.SHUT_RDWR)
        client.close()

    @staticmethod
    def ask(client, target):
        try:
            while part := client.recv(65536):
                target.sendall(part)
        except OSError:
            pass
        target.close()


@pytest.mark.parametrize("behind, speaks", [
    (0, False), (9, False), (10, True), (12, False), (24, True)])
def test_it_only_speaks_between_two_messages(open_proxy, postgres, behind, speaks):
    relay = Relay(postgres.port, b"a-word", behind)
    proxy = open_proxy(relay.own_port)
    _, err = proxy.start("psql", "-XAt", proxy.dsn(), "-c",
                         "select 'a-w' || 'ord67890', 'x'").communicate(timeout=PATIENCE)
    assert (GONE in err) == speaks
    assert "connection to server was lost" in err
    assert "lost synchronization" not in err
    assert proxy.session(1).end["speaks"] == speaks
