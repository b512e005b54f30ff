# SPDX-License-Identifier: MIT
"""MySQL and MariaDB through the gateway: real clients beside the same ones directly, the recording,
KILL, TLS, an agent elsewhere, and what happens when a side goes away or breaks the rules."""
import ctypes
import hashlib
import json
import os
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time

import MySQLdb
import MySQLdb.cursors
import pymysql
import pytest

from agent import Agent, make_agent, wait_connected
from api import b64, register, unique
from conftest import BINARY, PATIENCE, Gateway, wait_for
from mariadb import (TARGET_PASSWORD, MariadbServer, MysqlTarget, connect, mariadb, mariadb_command,
                     mysql_address)
from native import credential, revoke
from store import new_organization
from test_tls import make_certificate



@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("mysql-certificate"), "gateway")


@pytest.fixture(scope="module")
def server_files(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("mysql-server-certificate"), "target")


@pytest.fixture(scope="module")
def server(server_files):
    server = MariadbServer(server_files, "--plugin-load-add=auth_ed25519")
    yield server
    server.remove()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, files):
    gateway = Gateway(tmp_path_factory.mktemp("mysql"), "--tls-cert", files[0], "--tls-key", files[1],
                      "--workers", "2", "--shutdown-seconds", "1")
    yield gateway
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module")
def admin(gateway):
    return register(gateway)


@pytest.fixture(scope="module")
def target(server):
    return MysqlTarget(server)


@pytest.fixture(scope="module")
def elsewhere(admin, files, tmp_path_factory):
    made = make_agent(admin)
    agent = Agent(tmp_path_factory.mktemp("mysql-agent"), "--token", made["token"], "--ca-file",
                  files[0])
    wait_connected(admin, made, agent)
    yield made["id"]
    assert agent.stop() == 0, agent.text()


@pytest.fixture(scope="module")
def made(admin, target):
    return credential(admin, target.connection(admin))


def session_of(admin, name, status="done", count=1):
    def found():
        rows = [row for row in admin.get("/sessions?limit=100").json["data"]
                if row["connection"] == name and row["status"] == status]
        return rows[0] if len(rows) >= count else None
    return wait_for(found, what=f"the session of {name}")


def export(gateway, session_id, form="jsonl"):
    done = subprocess.run([BINARY, "recording", "export", session_id, "--format", form, "--data-dir",
                           gateway.data], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def events(gateway, session_id):
    return [json.loads(line) for line in export(gateway, session_id).splitlines()]


# Compression ----------------------------------------------------------------------------------------

class Zstandard:
    """A client's socket behind its sign-in: packets of zstd, by the library itself."""

    def __init__(self, sock):
        self.library = ctypes.CDLL("libzstd.so.1")
        self.library.ZSTD_compress.restype = self.library.ZSTD_decompress.restype = ctypes.c_size_t
        self.sock, self.file, self.plain = sock, sock.makefile("rb"), b""

    def call(self, function, size, data, *more):
        out = ctypes.create_string_buffer(size)
        count = function(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)), *more)
        assert count <= size, count
        return out.raw[:count]

    def sendall(self, data):
        for at in range(0, len(data), 1 << 20):
            part = data[at:at + (1 << 20)]
            packed = self.call(self.library.ZSTD_compress, 2 * len(part) + 1000, part, 3)
            self.sock.sendall(struct.pack("<I", len(packed) | at >> 20 << 24) + struct.pack("<I", len(part))[:3] + packed)

    def read(self, size):
        while len(self.plain) < size:
            head = self.file.read(7)
            if len(head) < 7:
                return b""
            packed = self.file.read(int.from_bytes(head[:3], "little"))
            length = int.from_bytes(head[4:], "little")
            self.plain += self.call(self.library.ZSTD_decompress, length, packed) if length else packed
        given, self.plain = self.plain[:size], self.plain[size:]
        return given

    def settimeout(self, seconds):
        self.sock.settimeout(seconds)

    def close(self):
        self.file.close()
        self.sock.close()


def zstandard(made):
    conn = connect(made, client_flag=0x04000000, autocommit=True)
    conn._sock = conn._rfile = Zstandard(conn._sock)
    return conn


def zlib(made):
    given = mysql_address(made)
    return MySQLdb.connect(host=given["host"], port=given["port"], user=given["user"],
                           passwd=given["password"], compress=True)


@pytest.mark.parametrize("how", [zlib, zstandard])
def test_who_asks_for_compression_gets_it(admin, gateway, target, how):
    name = target.connection(admin)
    conn = how(credential(admin, name))
    cursor = conn.cursor()
    for statement, wanted in [
            ("SELECT 1", ((1,),)), ("SELECT REPEAT('y', 3000000)", (("y" * 3000000,),)),
            (f"SELECT LENGTH('{'z' * 3000000}')", ((3000000,),)),
            ("SELECT COUNT(*), SUM(LENGTH(MD5(seq))) FROM seq_1_to_100000", ((100000, 3200000),))]:
        cursor.execute(statement)
        assert cursor.fetchall() == wanted, statement[:60]
    cursor.execute("SELECT MD5(seq) FROM seq_1_to_30000")
    assert len(set(cursor.fetchall())) == 30000
    cursor.execute("SHOW SESSION STATUS LIKE 'Compression'")
    assert cursor.fetchall() == (("Compression", "OFF"),)  # between the gateway and the target
    conn.close()
    told = export(gateway, session_of(admin, name)["id"])
    assert "SELECT MD5(seq) FROM seq_1_to_30000" in told


def test_the_command_line_compresses_and_what_is_broken_ends(made):
    done = mariadb(made, "\\s\nSELECT REPEAT('y', 1000000);", "--compress")
    assert "Compressed" in done.stdout and "y" * 1000000 in done.stdout
    conn = zstandard(made)
    conn._sock.sock.sendall(b"\x05\0\0\0\x40\0\0wrong")
    assert conn._sock.file.read(1) == b""
    conn.close()
    with connect(made) as other:  # nobody else noticed
        other.ping()


# Clients, beside the same ones directly -----------------------------------------------------------

TABLE = """
CREATE OR REPLACE TABLE things (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(100), price DECIMAL(10,2),
  made DATETIME(6), day DATE, took TIME(3), data BLOB, ratio DOUBLE, big BIGINT UNSIGNED, small TINYINT,
  bits BIT(9), doc JSON, kind ENUM('a','b'), f FLOAT);
INSERT INTO things VALUES
 (1, 'bolt', 12.50, '2024-02-29 12:34:56.789012', '1999-12-31', '-101:02:03.004', x'00ff27', 0.1,
  18446744073709551615, -128, b'101010101', '{"a": [1, "x"]}', 'b', 1.5),
 (2, 'naïve ☃ 𝄞', NULL, NULL, '0000-00-00', '00:00:00', '', -1e300, 0, 127, NULL, NULL, 'a', -0.25);
"""
READS = [
    "SELECT * FROM things ORDER BY id", "SELECT 1", "SELECT NULL, '', 'x'", "SELECT REPEAT('y', 70000)",
    "SELECT id FROM things WHERE id < 0", "SELECT COUNT(*), MAX(price) FROM things",
    "SELECT seq FROM seq_1_to_5000", "SHOW DATABASES LIKE 'db_%'", "SHOW TABLES",
    "SELECT @@version_comment", "DO 1", "SET @a = 5", "SELECT @a", "BEGIN", "ROLLBACK",
    "SELECT x'00ff', _latin1'\\xe9'", "SELECT id AS `a b`, name AS '' FROM things LIMIT 1",
    "EXPLAIN SELECT * FROM things", "SELECT * FROM missing", "SELEC 1", "INSERT INTO things(id) VALUES (1)",
    "SELECT SLEEP(0)", "SHOW WARNINGS", "SELECT CAST('x' AS INT)", "SHOW WARNINGS",
]


def answers_of_pymysql(conn):
    cursor = conn.cursor()
    for statement in READS:
        try:
            count = cursor.execute(statement)
            rows = cursor.fetchall()
            yield count, rows, cursor.description, cursor.lastrowid, conn.get_proto_info()
        except pymysql.MySQLError as error:
            yield repr(error)
    cursor.execute("SELECT 1; SELECT 2, 3; DO 0; SELECT 4")
    more = [cursor.fetchall()]
    while cursor.nextset():
        more.append(cursor.fetchall())
    yield more
    conn.ping(reconnect=False)
    yield conn.character_set_name(), conn.get_autocommit()
    conn.select_db("information_schema")
    cursor.execute("SELECT DATABASE()")
    yield cursor.fetchall()


def answers_of_mysqldb(conn):
    """libmariadb, with its own way of reading results row by row."""
    for kind in (MySQLdb.cursors.Cursor, MySQLdb.cursors.SSCursor):
        cursor = conn.cursor(kind)
        for statement in READS:
            try:
                cursor.execute(statement)
                yield cursor.fetchall(), cursor.description
            except MySQLdb.Error as error:
                yield repr(error)
            cursor.close()
            cursor = conn.cursor(kind)
    yield conn.character_set_name(), conn.stat()[:6], conn.get_autocommit()


@pytest.mark.parametrize("way", ["plain", "tls", "elsewhere"])
def test_pymysql_sees_what_it_sees_directly(gateway, admin, target, files, request, way):
    agent_id = request.getfixturevalue("elsewhere") if way == "elsewhere" else None
    members = {"agent_id": agent_id} if agent_id else {}
    made = credential(admin, target.connection(admin, **members))
    assert made["connection_credentials"]["connection_string"].startswith("mysql://")
    mariadb(made, TABLE)
    options = {"charset": "utf8mb4", "client_flag": pymysql.constants.CLIENT.MULTI_STATEMENTS}
    with target.direct(**options) as direct:
        expected = list(answers_of_pymysql(direct))
    tls = {"ssl": {"ca": files[0], "check_hostname": False}} if way == "tls" else {}
    with connect(made, **options, **tls) as conn:
        assert (conn._sock.cipher() is not None if way == "tls" else True)
        got = list(answers_of_pymysql(conn))
    assert len(got) == len(expected) >= 20
    for one, other in zip(got, expected):
        assert one == other


def test_libmariadb_sees_what_it_sees_directly(made, target):
    mariadb(made, TABLE)
    direct = MySQLdb.connect(host="127.0.0.1", port=target.server.port, user=target.user,
                             password=TARGET_PASSWORD, database=target.database, charset="utf8mb4")
    expected = list(answers_of_mysqldb(direct))
    direct.close()
    conn = MySQLdb.connect(**mysql_address(made), charset="utf8mb4")
    got = list(answers_of_mysqldb(conn))
    conn.close()
    assert got == expected and len(got) > 40


def test_command_line_dump_and_load(made, target, tmp_path):
    mariadb(made, TABLE + "CREATE OR REPLACE TABLE copied LIKE things;")
    given = mysql_address(made)
    directly = ["-h", "127.0.0.1", "-P", str(target.server.port), "-u", target.user]
    through = ["-h", given["host"], "-P", str(given["port"]), "-u", given["user"]]
    dumps = []
    for arguments, password in ((directly, TARGET_PASSWORD), (through, given["password"])):
        done = subprocess.run(["mariadb-dump", "--no-defaults", "--skip-dump-date", "--skip-comments",
                               "--hex-blob", *arguments, target.database, "things"], text=True, check=True,
                              stdout=subprocess.PIPE, env={**os.environ, "MYSQL_PWD": password})
        dumps.append(done.stdout)
    assert dumps[0] == dumps[1] and "naïve" in dumps[1]
    mariadb(made, "DROP TABLE things;" + dumps[1])
    assert mariadb(made, "SELECT COUNT(*) FROM things", "-N").stdout.strip() == "2"
    load = tmp_path / "rows.csv"
    load.write_text("".join(f"{i},thing {i}\n" for i in range(10, 20000)))
    mariadb(made, f"LOAD DATA LOCAL INFILE '{load}' INTO TABLE copied FIELDS TERMINATED BY ',' (id, name)",
            "--local-infile=1")
    assert mariadb(made, "SELECT COUNT(*), MAX(id) FROM copied", "-N").stdout.split() == ["19990", "19999"]
    done = mariadb(made, "SELECT * FROM nowhere", check=False)
    assert done.returncode == 1 and "ERROR 1146 (42S02)" in done.stderr


def test_packets_of_many_pieces(made, target):
    size = (17 << 20) + 3
    for conn in (target.direct(), connect(made, max_allowed_packet=64 << 20)):
        with conn:
            cursor = conn.cursor()
            cursor.execute("SELECT LENGTH(%s), MD5(%s)", ("x" * size, "y"))
            assert cursor.fetchall()[0][0] == size
            cursor.execute(f"SELECT REPEAT('ab', {size // 2}), 7")
            value, seven = cursor.fetchall()[0]
            assert len(value) == size // 2 * 2 and value.endswith("ab") and seven == 7
            exact = 0xffffff - 5 - 9  # with its own length and the command a packet of just one piece
            cursor.execute("SELECT '" + "z" * exact + "'")
            assert len(cursor.fetchall()[0][0]) == exact


# Prepared statements ------------------------------------------------------------------------------

class Raw:
    """A client that says what it is told to, in mysql_native_password."""

    def __init__(self, made, capabilities=0x00ffa28d & ~0x4000 & ~8, tls=None, secret=None, switch=True):
        given = mysql_address(made)
        self.sock = socket.create_connection((given["host"], given["port"]), timeout=PATIENCE)
        self.greeting = self.read()
        at = self.greeting.index(b"\0", 1) + 1
        self.number = struct.unpack_from("<I", self.greeting, at)[0]
        self.server_capabilities = (struct.unpack_from("<H", self.greeting, at + 13)[0] |
                                    struct.unpack_from("<H", self.greeting, at + 18)[0] << 16)
        head = struct.pack("<IIB23x", capabilities, 1 << 24, 45)
        self.secret = secret or given["password"]
        if switch:
            self.send(head + given["user"].encode() + b"\0\0" + b"mysql_native_password\0", 1)
            asked = self.read()
            assert asked[0] == 0xfe, asked
            self.send(self.native(asked[-21:-1]), 3)
            self.first = self.read()

    def native(self, nonce):
        once = hashlib.sha1(self.secret.encode()).digest()
        mixed = hashlib.sha1(nonce + hashlib.sha1(once).digest()).digest()
        return bytes(a ^ b for a, b in zip(once, mixed))

    def send(self, body, sequence=0):
        self.sock.sendall(struct.pack("<I", len(body))[:3] + bytes([sequence]) + body)

    def exactly(self, size):
        got = b""
        while len(got) < size:
            part = self.sock.recv(size - len(got))
            if not part:
                raise EOFError(got)
            got += part
        return got

    def read(self):
        head = self.exactly(4)
        self.sequence = head[3]
        self.last = self.exactly(int.from_bytes(head[:3], "little"))
        return self.last

    def ask(self, body, count=1):
        self.send(body)
        return [self.read() for _ in range(count)]

    def prepare(self, text):
        self.send(b"\x16" + text.encode())
        answer = self.read()
        assert answer[0] == 0, answer
        number, columns, parameters = struct.unpack_from("<IHH", answer, 1)
        for _ in range((columns + (columns > 0)) + (parameters + (parameters > 0))):
            self.read()
        return number

    def rows(self):
        """Of a result whose end is EOF: how many packets, and the last."""
        packets = [self.read()]
        ends = 0
        while packets[-1][0] != 0xff and ends < 2:
            packets.append(self.read())
            ends += packets[-1][0] == 0xfe and len(packets[-1]) < 9
        return packets


def test_prepared_statements_of_both_ages_of_the_protocol(gateway, admin, target):
    mariadb(credential(admin, target.connection(admin)), TABLE)
    made = credential(admin, target.connection(admin))
    raw = Raw(made)  # without DEPRECATE_EOF
    assert raw.first[0] == 0, raw.first
    assert raw.number & 0x40000000
    number = raw.prepare("SELECT id, name, price, made, day, took, data, ratio, big, small, bits, f "
                         "FROM things WHERE id <> ? AND (name = ? OR ? IS NULL) ORDER BY id")
    raw.send(b"\x18" + struct.pack("<IH", number, 1) + b"in ")  # long data
    raw.send(b"\x18" + struct.pack("<IH", number, 1) + b"pieces")
    types = b"\x03\x00\xfd\x00\x06\x00"
    raw.send(b"\x17" + struct.pack("<IBI", number, 0, 1) + b"\x04\x01" + types + struct.pack("<i", -77))
    packets = raw.rows()
    assert len(packets) == 1 + 12 + 1 + 2 + 1 and packets[14][0] == 0
    # a cursor: no rows come until they are fetched
    raw.send(b"\x17" + struct.pack("<IBI", number, 1, 1) + b"\x06\x01" + types +
             struct.pack("<i", -78))
    head = [raw.read() for _ in range(14)]
    assert head[-1][0] == 0xfe and struct.unpack_from("<H", head[-1], 3)[0] & 0x40
    raw.send(b"\x1c" + struct.pack("<II", number, 1))
    fetched = [raw.read(), raw.read()]
    assert fetched[0][0] == 0 and fetched[1][0] == 0xfe
    raw.send(b"\x1c" + struct.pack("<II", number, 5))
    assert [raw.read()[0], raw.read()[0]] == [0, 0xfe]
    assert raw.ask(b"\x1a" + struct.pack("<I", number))[0][0] == 0
    raw.send(b"\x19" + struct.pack("<I", number))  # close is not answered
    assert raw.ask(b"\x0e")[0][0] == 0
    assert raw.ask(b"\x09")[0].startswith(b"Uptime")
    raw.send(b"\x04things\0\0")
    fields = [raw.read()]
    while fields[-1][0] != 0xfe:
        fields.append(raw.read())
    assert len(fields) == 15
    assert raw.ask(b"\x1f")[0][0] == 0  # COM_RESET_CONNECTION
    assert raw.ask(b"\x16SELEC")[0][0] == 0xff
    raw.send(b"\x01")
    raw.sock.close()
    told = events(gateway, session_of(admin, made["connection_name"])["id"])
    text = json.dumps(told, ensure_ascii=False)
    ran = [event for event in told if "FROM things WHERE" in json.dumps(event)]
    assert len(ran) >= 2, told
    assert "-77" in json.dumps(ran[0]) and "(sent in pieces)" in json.dumps(ran[0]), ran[0]
    assert "-78" in text and "in " in text
    for value in ("bolt", "12.50", "2024-02-29 12:34:56.789012", "1999-12-31", "-101:02:03.004000", "0.1",
                  "18446744073709551615", "-128", "naïve ☃ 𝄞", "-0.25", "-1e+300"):
        assert value in text, (value, told)
    assert "SELEC" in text and "1064" in text and "COM_STATISTICS" in text


# The recording ------------------------------------------------------------------------------------

def test_what_was_said_is_on_record(gateway, admin, target):
    made = credential(admin, target.connection(admin, recording_row_limit=20000))
    with connect(made, program_name="the till", client_flag=pymysql.constants.CLIENT.MULTI_STATEMENTS) as conn:
        cursor = conn.cursor()
        cursor.execute("CREATE OR REPLACE TABLE told (id INT, name VARCHAR(50))")
        cursor.execute("INSERT INTO told VALUES (1, 'one'), (2, NULL)")
        conn.commit()
        cursor.execute("SELECT id, name AS label FROM told; SELECT 'second result'")
        assert cursor.nextset()
        cursor.execute("SELECT seq, REPEAT('r', 100) FROM seq_1_to_1000")
        with pytest.raises(pymysql.ProgrammingError):
            cursor.execute("SELECT nothing FROM nowhere")
        conn.select_db(target.database)
    row = session_of(admin, made["connection_name"])
    detail = admin.get(f"/sessions/{row['id']}").json
    assert detail["connection_subtype"] == "mysql" and detail["end_reason"] == "the client left", detail
    told = events(gateway, row["id"])
    text = json.dumps(told)
    for words in ("INSERT INTO told VALUES (1, 'one'), (2, NULL)", "label", "second result", "1146",
                  "COM_INIT_DB " + target.database, "nowhere"):
        assert words in text, (words, told)
    assert '"rows": 1000' in text  # though not all of them are there
    assert text.count("rrrrrrrrrr") < 300 * 10
    assert "id,label\n1,one\n2,\n" in export(gateway, row["id"], "csv")
    assert "INSERT INTO told VALUES" in export(gateway, row["id"], "text")
    done = subprocess.run([BINARY, "recording", "verify", row["id"], "--data-dir", gateway.data],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    answer = admin.get(f"/sessions/{row['id']}/download?format=jsonl")
    assert answer.status in (200, 404), answer


def test_why_it_comes_is_in_the_session(gateway, admin, target):
    name = target.connection(admin, mandatory_metadata_fields=["ticket"])
    made = credential(admin, name)
    given = mysql_address(made)
    with pytest.raises(pymysql.OperationalError) as refused:
        connect(made)
    assert "ticket" in str(refused.value) and "NAME;KEY=VALUE" in str(refused.value)
    with connect({"connection_credentials": {"hostname": given["host"], "port": given["port"],
                                             "username": name + ";ticket=42", "password": given["password"]}}):
        pass
    with connect(made, program_name="till;ticket=43"):
        row = session_of(admin, name, "open")
        assert admin.get(f"/sessions/{row['id']}").json["metadata"] == {"ticket": "43"}
        seen = target.server.sql("SELECT attr_value FROM performance_schema.session_connect_attrs "
                                 "WHERE attr_name = 'program_name' AND attr_value LIKE '%till%'")
        assert seen == "till"


# KILL ---------------------------------------------------------------------------------------------

def running(target, words):
    count = target.server.sql(f"SELECT COUNT(*) FROM information_schema.processlist WHERE INFO LIKE '%{words}%' "
                              f"AND USER = '{target.user}'")
    return int(count)


def test_interrupting_the_command_line_kills_its_statement(made, target):
    words = unique("interrupted").replace("-", "")
    process = subprocess.Popen(mariadb_command(made, "-e", f"SELECT SLEEP(60) AS {words}"), text=True,
                               env={**os.environ, "MYSQL_PWD": mysql_address(made)["password"]},
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: running(target, words), what="the statement")
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert time.monotonic() - start < 10 and running(target, words) == 0, (out, err)
    assert "Query was killed" in err or "1\n" in out or "interrupted" in err, (out, err)


@pytest.mark.parametrize("place", ["here", "elsewhere"])
def test_kill_reaches_exactly_the_session_that_is_meant(gateway, admin, target, request, place):
    agent_id = request.getfixturevalue("elsewhere") if place == "elsewhere" else None
    members = {"agent_id": agent_id} if agent_id else {}
    made = credential(admin, target.connection(admin, **members))
    other = credential(admin, target.connection(admin, **members))
    slow, second, killer, stranger = connect(made), connect(made), connect(made), connect(other)
    results = {}
    numbers = {}
    for name, conn in (("slow", slow), ("second", second)):
        cursor = conn.cursor()
        cursor.execute("SELECT CONNECTION_ID()")
        numbers[name] = cursor.fetchone()[0]  # the target's

    def run(name, conn):
        cursor = conn.cursor()
        try:
            cursor.execute(f"SELECT SLEEP(20) AS {name}")
            results[name] = cursor.fetchall()
        except pymysql.MySQLError as error:
            results[name] = error.args

    threads = [threading.Thread(target=run, args=pair) for pair in (("slow", slow), ("second", second))]
    for thread in threads:
        thread.start()
    wait_for(lambda: running(target, "SELECT SLEEP(20) AS s") == 2, what="both statements")
    for number in slow.thread_id(), numbers["slow"]:
        for words in f"KILL QUERY {number}", f"kill /* {'x' * 300} */ connection {number};":
            with pytest.raises(pymysql.OperationalError) as refused:
                stranger.cursor().execute(words)
            assert refused.value.args[0] == 1094
        with pytest.raises(pymysql.OperationalError) as refused:
            stranger.kill(number)
        assert refused.value.args[0] == 1094
    for words in (f"KILL USER {target.user}", f"KILL QUERY ID {number}", "KILL CONNECTION_ID()",
                  f"KILL {number} + 0", f"KILL {number}; SELECT 1", f"SELECT 1; KILL {number}",
                  f"SELECT 1;/* */ kill/**/QUERY {number}", f"/*!KILL*/ {number} + 0",
                  f"KILL {number} -- {'x' * 700}", "KILL " + " " * 70000 + str(number)):
        with pytest.raises(pymysql.MySQLError) as refused:
            stranger.cursor().execute(words)
        assert refused.value.args[0] == 1235 and "takes KILL alone" in refused.value.args[1], words
    killer.cursor().execute(f"KILL QUERY {slow.thread_id()}")
    threads[0].join(PATIENCE)
    assert results["slow"] in (((1,),), (1317, "Query execution was interrupted")), results
    assert "second" not in results and running(target, "SELECT SLEEP(20) AS second") == 1
    cursor = slow.cursor()
    cursor.execute("SELECT 'still here'")
    assert cursor.fetchall() == (("still here",),)
    killer.cursor().execute(f"KILL {numbers['second']}")  # the connection
    threads[1].join(PATIENCE)
    assert results["second"][0] in (1927, 2013, 1317), results
    wait_for(lambda: running(target, "SELECT SLEEP(20) AS second") == 0, what="its end at the target")
    killer.kill(slow.thread_id())  # COM_PROCESS_KILL
    with pytest.raises(pymysql.MySQLError):
        wait_for(lambda: slow.ping(reconnect=False) and None, what="its end")
    for conn in (slow, second, killer, stranger):
        conn.close() if conn.open else None


@pytest.mark.parametrize("place", ["embedded", "elsewhere"])
def test_a_connection_to_the_gateway_itself_opens_once(admin, target, request, place):
    agent_id = {} if place == "embedded" else {"agent_id": request.getfixturevalue("elsewhere")}
    name = target.connection(admin, **agent_id)
    made = credential(admin, name)
    assert mariadb(made, "SELECT 'there'").stdout == "there\nthere\n"  # a target like any other
    given = mysql_address(made)
    itself = target.secret(PORT=str(given["port"]), USER=name, PASS=given["password"], DB=None)
    assert admin.patch(f"/connections/{name}", {"secret": itself}).status == 200
    before = len(admin.get(f"/sessions?connection={name}").json["data"])
    done = mariadb(made, "SELECT 1", check=False)
    assert done.returncode == 1 and "lead to itself" in done.stderr, done.stderr
    after = len(admin.get(f"/sessions?connection={name}").json["data"])
    assert after - before <= 1, after


def test_a_client_that_goes_takes_its_statement_along(gateway, admin, target):
    made = credential(admin, target.connection(admin))
    for how in ("killed", "revoked", "by an admin"):
        words = "w" + unique("left").replace("-", "")
        process = subprocess.Popen(mariadb_command(made, "-e", f"SELECT SLEEP(60) AS {words}"), text=True,
                                   env={**os.environ, "MYSQL_PWD": mysql_address(made)["password"]},
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for(lambda: running(target, words), what="the statement")
        if how == "killed":
            process.kill()
        elif how == "revoked":
            revoke(admin, made)
            made = credential(admin, made["connection_name"])
        else:
            row = session_of(admin, made["connection_name"], "open")
            assert admin.post(f"/sessions/{row['id']}/kill").status in (200, 202, 204)
        wait_for(lambda: running(target, words) == 0, what=f"its end ({how})")
        process.communicate(timeout=PATIENCE)
        assert process.returncode != 0


# Signing in ---------------------------------------------------------------------------------------

def test_ways_to_sign_in(gateway, admin, made, files):
    given = mysql_address(made)
    assert Raw(made).first[0] == 0  # mysql_native_password
    for secret in ("wrong", ""):
        wrong = Raw(made, secret=secret or "x").first
        assert wrong[0] == 0xff and struct.unpack_from("<H", wrong, 1)[0] == 1045 and b"28000" in wrong
    for change in ({"password": "wrong"}, {"user": "nobody"}, {"password": ""}):
        with pytest.raises(pymysql.OperationalError) as refused:
            pymysql.connect(**{**given, **change})
        assert refused.value.args[0] == 1045
    # The secret itself: under TLS alone.
    capabilities = 0x00ffaa8d & ~0x4000 & ~8
    head = struct.pack("<IIB23x", capabilities, 1 << 24, 45)
    raw = Raw(made, switch=False)
    assert raw.server_capabilities & 0x800
    raw.send(head, 1)
    raw.sock = ssl._create_unverified_context().wrap_socket(raw.sock)
    raw.send(head + given["user"].encode() + b"\0\0" + b"mysql_clear_password\0", 2)
    assert raw.read() == b"\xfemysql_clear_password\0" + raw_scramble(raw)
    raw.send(given["password"].encode() + b"\0", 4)
    assert raw.read()[0] == 0 and raw.ask(b"\x0e")[0][0] == 0
    raw = Raw(made, switch=False)
    raw.send(struct.pack("<IIB23x", capabilities & ~0x800, 1 << 24, 45) + given["user"].encode() + b"\0\0" +
             b"mysql_clear_password\0", 1)
    assert raw.read().startswith(b"\xfecaching_sha2_password\0")  # it is not asked for here
    # What says nothing of plugins is answered by the greeting's own bytes.
    raw = Raw(made, switch=False)
    at = raw.greeting.index(b"\0", 1) + 5
    nonce = raw.greeting[at:at + 8] + raw.greeting[at + 27:at + 39]
    raw.send(struct.pack("<IIB23x", 0x0000a28d & ~8 & ~0x4000, 1 << 24, 45) + given["user"].encode() + b"\0\x14" +
             raw.native(nonce), 1)
    assert raw.read()[0] == 0


def raw_scramble(raw):
    """What the switch's packet ends with, as it was just read."""
    return raw.last[-21:]


def test_what_holds_on_a_connection_is_told(gateway, admin, target):
    name = target.connection(admin)
    controls = admin.get(f"/connections/{name}/controls").json
    assert controls["guardrails"] == {"structural": "enforced", "text": "enforced", "output": "enforced",
                                      "read_only": "enforced"}
    assert controls["masking"] == "enforced" and controls["recording"] == "enforced"


def test_who_gets_what(gateway, admin, target):
    """Of the connection, its credentials and its sessions."""
    name, group = target.connection(admin), unique("group")
    assert admin.post("/users/groups", {"name": group}).status == 201
    assert admin.put(f"/connections/{name}/access", {"groups": [group]}).status == 200
    member, foreigner = admin.key(group), new_organization(admin)
    made = credential(member, name)
    with connect(made) as conn:
        conn.cursor().execute("SELECT 'of the member'")
    row = session_of(admin, name)
    assert admin.key("auditor").get(f"/sessions/{row['id']}").status == 200
    for caller in foreigner, admin.key("other"):
        assert caller.post(f"/connections/{name}/credentials", {}).status == 404
        assert caller.get(f"/sessions/{row['id']}").status in (403, 404)
    others = unique("others")
    assert admin.post("/users/groups", {"name": others}).status == 201
    assert admin.put(f"/connections/{name}/access", {"groups": [others]}).status == 200
    wait_for(lambda: refusal_of(made), what="the end of what the group gave")


def refusal_of(made):
    try:
        connect(made).close()
        return None
    except pymysql.OperationalError as error:
        return error.args[0] == 1045


def test_commands_that_are_not_served_are_refused_in_words(gateway, admin, target):
    made = credential(admin, target.connection(admin))
    raw = Raw(made)
    for command, words in ((b"\x11user\0", b"COM_CHANGE_USER"), (b"\x12" + bytes(10), b"replication"),
                           (b"\x15" + bytes(18), b"replication"), (b"\x1e" + bytes(20), b"replication"),
                           (b"\x20", b"cloned"), (b"\xfa" + bytes(20000), b"does not serve"),
                           (b"\x03KILL 1234567890", b"Unknown thread id"),
                           (b"\x03KILL 1", b"Unknown thread id"), (b"\x16KILL 1", b"takes KILL alone"),
                           (b"\x16 kill query ?", b"takes KILL alone"), (b"\x0c\1", b"takes KILL alone"),
                           (b"\x0c\1\0\0\0", b"Unknown thread id")):
        answer = raw.ask(command)[0]
        assert answer[0] == 0xff and words in answer, answer
        assert raw.ask(b"\x0e")[0][0] == 0
    raw.send(b"\x01")
    raw.sock.close()
    row = session_of(admin, made["connection_name"])
    text = export(gateway, row["id"])
    assert "COM_CHANGE_USER" in text and "COM_REGISTER_SLAVE" in text and "COM_CLONE" in text


# The target ---------------------------------------------------------------------------------------

def test_tls_and_methods_of_the_target(gateway, admin, server, server_files, tmp_path):
    pem = open(server_files[0], encoding="utf-8").read()
    other = open(make_certificate(tmp_path, "other")[0], encoding="utf-8").read()
    required = MysqlTarget(server, requires="REQUIRE SSL")
    signed = MysqlTarget(server, how="IDENTIFIED VIA ed25519 USING PASSWORD('" + TARGET_PASSWORD + "')")

    def cipher(target, **secret):
        files = {key: secret.pop(key) for key in list(secret) if key.startswith("filesystem")}
        files = {key.replace("_", ":"): value for key, value in files.items()}
        made = credential(admin, target.connection(admin, secret={**target.secret(**secret), **files}))
        done = mariadb(made, "SHOW STATUS LIKE 'Ssl_cipher'", "-N", check=False)
        return done.stdout.strip().partition("\t")[2] if done.returncode == 0 else done.stderr

    assert "TLS" in cipher(required)  # prefer
    assert "TLS" in cipher(required, SSLMODE="require")
    assert "TLS" in cipher(required, SSLMODE="verify-ca", filesystem_SSLROOTCERT=b64(pem))
    assert "ERROR" in cipher(required, SSLMODE="verify-ca", filesystem_SSLROOTCERT=b64(other))
    assert "ERROR" in cipher(required, SSLMODE="verify-full")
    assert "ERROR" in cipher(required, SSLMODE="disable")
    assert cipher(signed, SSLMODE="disable") == ""
    assert "TLS" in cipher(signed, SSLMODE="require")
    said = cipher(signed, PASS="not this one")
    assert "stored for it" in said and signed.user not in said and "1045" not in said, said
    said = cipher(signed, DB="nowhere")
    assert "1044" in said and "database" in said and signed.user not in said, said
    assert "cannot be reached" in cipher(signed, PORT="1")


class Fake:
    """A server that says what it was told to and keeps what it hears."""

    def __init__(self, *packets):
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.packets = packets
        self.heard = b""
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                conn, _ = self.listening.accept()
            except OSError:
                return
            conn.settimeout(PATIENCE)
            try:
                for packet in self.packets:
                    conn.sendall(packet)
                    self.heard += conn.recv(65536)
                time.sleep(0.2)
            except OSError:
                pass
            conn.close()


def packet(sequence, body):
    return struct.pack("<I", len(body))[:3] + bytes([sequence]) + body


def fake_greeting(plugin=b"mysql_native_password", capabilities=0x81ffa6ff):
    capabilities &= ~0x800
    return packet(0, b"\x0a5.7.0\0" + struct.pack("<I", 77) + b"abcdefgh\0" +
                  struct.pack("<HBHH", capabilities & 0xffff, 45, 2, capabilities >> 16) + b"\x15" + bytes(10) +
                  b"ijklmnopqrst\0" + plugin + b"\0")


def test_targets_that_break_the_rules(gateway, admin, target, tmp_path):
    ok = packet(2, b"\0\0\0\2\0\0\0")
    secret = tmp_path / "secret"
    secret.write_text("only for its owner")
    asks = packet(1, b"\xfb" + str(secret).encode())
    cases = [
        (b"SSH-2.0-OpenSSH\r\n" * 40, None), (b"\xff\xff\xff\0", None),
        (packet(0, b"\x0a"), None), (fake_greeting(capabilities=0x0000a6ff), "too old"),
        (packet(0, b"\xff\x10\x04Too many connections"), "1040"),
    ]
    for greeting, words in cases:
        fake = Fake(greeting)
        made = credential(admin, target.connection(admin, secret=target.secret(PORT=str(fake.port))))
        done = mariadb(made, "SELECT 1", check=False)
        assert done.returncode != 0 and "ERROR" in done.stderr
        assert words is None or words in done.stderr, done.stderr
    # Files are for who named them.
    for statement, given in ((f"LOAD DATA LOCAL INFILE '{secret}' INTO TABLE t", True), ("SELECT 1", False)):
        fake = Fake(fake_greeting(), ok, asks, b"")
        made = credential(admin, target.connection(admin, secret=target.secret(PORT=str(fake.port))))
        done = mariadb(made, statement, "--local-infile=1", "--skip-reconnect", check=False)
        assert done.returncode != 0
        wait_for(lambda: (b"only for its owner" in fake.heard) == given, what=f"{statement} {fake.heard}")
    # What answers nothing ends the session; so does what is no answer.
    for answer in (packet(1, b"\x02") + packet(2, b"\xfe\0\0\0\0"), packet(1, b"\xff"), packet(1, b"")):
        fake = Fake(fake_greeting(), ok, answer)
        made = credential(admin, target.connection(admin, secret=target.secret(PORT=str(fake.port))))
        with pytest.raises((pymysql.MySQLError, struct.error)):
            connect(made, autocommit=None).cursor().execute("SELECT 1")


def test_the_password_under_the_targets_rsa_key(admin, target):
    """caching_sha2_password in full, where there is no TLS."""
    key = subprocess.run(["openssl", "genrsa", "2048"], check=True, capture_output=True).stdout
    public = subprocess.run(["openssl", "rsa", "-pubout"], input=key, check=True, capture_output=True).stdout
    fake = Fake(fake_greeting(b"caching_sha2_password"), packet(2, b"\x01\x04"), packet(4, b"\x01" + public),
                packet(6, b"\0\0\0\2\0\0\0"))
    made = credential(admin, target.connection(admin, secret=target.secret(PORT=str(fake.port),
                                                                          SSLMODE="disable")))
    with pytest.raises(pymysql.MySQLError):
        connect(made, autocommit=None).cursor().execute("SELECT 1")  # it goes then
    head, _, sealed = fake.heard.partition(packet(3, b"\x02"))
    assert b"caching_sha2_password" in head
    sealed = sealed[4:4 + 256]
    with open("/dev/shm/" + unique("key"), "wb") as file:
        file.write(key)
    try:
        plain = subprocess.run(["openssl", "pkeyutl", "-decrypt", "-inkey", file.name, "-pkeyopt",
                                "rsa_padding_mode:oaep"], input=sealed, check=True, capture_output=True).stdout
    finally:
        os.unlink(file.name)
    nonce = b"abcdefghijklmnopqrst"
    assert bytes(b ^ nonce[i % 20] for i, b in enumerate(plain)) == TARGET_PASSWORD.encode() + b"\0"


# Clients that break the rules ---------------------------------------------------------------------

def test_clients_that_break_the_rules(gateway, made):
    given = mysql_address(made)
    for said in (b"GET / HTTP/1.1\r\n\r\n", b"\xff\xff\xff\x01" + bytes(100), b"\x00\x00\x00\x01",
                 packet(1, bytes(40)), packet(5, bytes(40)), os.urandom(3000),
                 packet(1, struct.pack("<IIB23x", 0x00ffaa8d, 1, 1)) + b"not TLS at all" * 20):
        with socket.create_connection((given["host"], given["port"]), timeout=PATIENCE) as conn:
            conn.sendall(said)
            conn.shutdown(socket.SHUT_WR)
            while conn.recv(65536):
                pass
    for said in (packet(0, b""), b"\x05\0\0\0\x03DO", b"\xff\xff\xff\0\x03" + bytes(1000),
                 packet(0, b"\x03DO 1") + packet(0, b"\x11"), packet(0, b"\x0e") * 600):
        raw = Raw(made)
        raw.sock.sendall(said)
        try:
            raw.sock.shutdown(socket.SHUT_WR)
            while raw.sock.recv(65536):
                pass
        except ConnectionResetError:
            pass
    with connect(made) as conn:
        conn.ping()
    assert gateway.is_alive()


def test_target_gone_and_back(gateway, admin, server, target):
    made = credential(admin, target.connection(admin))
    conn, idle = connect(made), connect(made)
    results = []

    def run():
        try:
            conn.cursor().execute("SELECT SLEEP(30)")
        except pymysql.MySQLError as error:
            results.append(error.args)

    thread = threading.Thread(target=run)
    thread.start()
    wait_for(lambda: running(target, "SELECT SLEEP(30)"), what="the statement")
    server.stop(kill=True)
    thread.join(PATIENCE)
    assert results and results[0][0] in (1927, 2013), results
    with pytest.raises(pymysql.MySQLError):
        idle.cursor().execute("SELECT 1")
    with pytest.raises(pymysql.OperationalError) as refused:
        connect(made)
    assert "cannot be reached" in str(refused.value)
    server.start()
    with connect(made) as again:
        again.ping()
