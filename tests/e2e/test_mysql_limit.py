# SPDX-License-Identifier: MIT
"""max_rows on MariaDB: a statement that changes more is rolled back and refused, as text and
prepared, by itself and within the client's own transaction; what cannot be counted, or not be rolled
back, is refused before it runs."""
import contextlib
import struct
import threading

import pymysql
import pytest
from pymysql.constants import COMMAND

from api import register, unique
from conftest import Gateway, wait_for
from mariadb import MariadbServer, MysqlTarget, connect, mariadb
from native import credential
from test_mysql_guard import BLOCKED, RUNS, connected, run_text
from test_mysql_read_only import number_of
from test_tls import make_certificate

RULE = {"type": "sql", "name": "few at a time", "max_rows": 3, "unknown": "block", "safe_functions": ["*"],
        "message": "take fewer"}

OVER = [
    "DELETE FROM kept", "DELETE FROM kept WHERE id > 2", "UPDATE kept SET name = 'x'",
    "UPDATE kept SET name = CONCAT(name, 'x') WHERE id < 9", "DELETE FROM kept ORDER BY id LIMIT 4",
    "INSERT INTO kept SELECT id + 100, name FROM kept", "INSERT INTO kept VALUES (91, ''), (92, ''), (93, ''), (94, '')",
    "REPLACE INTO kept SELECT id, 'r' FROM kept", "INSERT INTO kept SELECT id, name FROM kept ON DUPLICATE KEY UPDATE kept.name = 'd'",
    "DELETE kept FROM kept JOIN other USING (id)", "UPDATE kept JOIN other USING (id) SET kept.name = 'j', other.a = 9",
    "INSERT IGNORE INTO kept SELECT id + 200, name FROM kept", "DELETE QUICK FROM kept", "DELETE FROM parts",
    "SET STATEMENT sort_buffer_size = 20000 FOR DELETE FROM kept", "/*! DELETE */ FROM kept", "DELETE FROM kept /*!99999 LIMIT 1 */",
    "DELETE FROM kept WHERE id > 0 -- WHERE id = 1",
]
UNDER = [
    "INSERT INTO kept VALUES (50, 'new')", "UPDATE kept SET name = 'changed' WHERE id = 50",
    "DELETE FROM kept WHERE id = 50", "DELETE FROM kept WHERE id = 777", "REPLACE INTO kept VALUES (51, 'r')",
    "DELETE FROM kept WHERE id IN (51, 52)", "UPDATE kept SET name = name WHERE id < 9 LIMIT 3",
    "SELECT * FROM kept", "CREATE TEMPORARY TABLE IF NOT EXISTS mine (a INT)", "INSERT INTO mine VALUES (1)",
    "DELETE FROM mine",
]
UNCOUNTED = [
    "TRUNCATE kept", "DELETE FROM old WHERE id = 1", "INSERT INTO old VALUES (5)", "UPDATE aria SET id = 1",
    "INSERT INTO heap VALUES (1)", "DELETE FROM seen WHERE id = 1", "UPDATE kept JOIN old USING (id) SET kept.name = 'a', old.id = 3",
    "LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE kept", "LOAD DATA INFILE '/etc/hostname' INTO TABLE kept",
    "EXECUTE IMMEDIATE 'DELETE FROM kept'", "CALL wipe()", "DELETE FROM kept WHERE id = 1 RETURNING id",
    "ANALYZE DELETE FROM kept", "BEGIN NOT ATOMIC DELETE FROM kept; END", "DELETE o FROM old o",
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = MariadbServer(make_certificate(tmp_path_factory.mktemp("limit-server"), "target"))
    yield server
    server.remove()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("mysql-limit"), "--shutdown-seconds", "1")
    yield gateway
    assert gateway.is_alive(), gateway.text()
    assert gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module")
def admin(gateway):
    return register(gateway)


@pytest.fixture(scope="module")
def shop(server):
    target = MysqlTarget(server)
    server.sql(f"""
        USE {target.database};
        CREATE TABLE kept (id INT PRIMARY KEY, name VARCHAR(40)); INSERT INTO kept SELECT seq, CONCAT('name ', seq) FROM seq_1_to_10;
        CREATE TABLE other (id INT PRIMARY KEY, a INT); INSERT INTO other SELECT seq, 0 FROM seq_1_to_10;
        CREATE TABLE parts (id INT) PARTITION BY HASH (id) PARTITIONS 3; INSERT INTO parts SELECT seq FROM seq_1_to_10;
        CREATE TABLE old (id INT) ENGINE=MyISAM; INSERT INTO old VALUES (1), (2);
        CREATE TABLE aria (id INT) ENGINE=Aria TRANSACTIONAL=0; INSERT INTO aria VALUES (7);
        CREATE TABLE heap (id INT) ENGINE=MEMORY;
        CREATE VIEW seen AS SELECT * FROM kept;
        CREATE PROCEDURE wipe() DELETE FROM kept;
        GRANT FILE ON *.* TO {target.user};""")
    target.content = lambda: server.sql(f"USE {target.database}; CHECKSUM TABLE kept, other, parts, old, aria, heap;")
    return target


@pytest.fixture(scope="module")
def made(admin, shop):
    return limited(admin, shop, [RULE])


def limited(admin, shop, rules):
    name = shop.connection(admin)
    found = admin.get(f"/connections/{name}").json
    answer = admin.post("/guardrails", {"name": unique("rail"), "input": {"rules": rules},
                                        "connection_ids": [found["id"]]})
    assert answer.status == 201, answer
    return credential(admin, name)


def told(run, conn, statement):
    try:
        run(conn, statement)
    except pymysql.MySQLError as error:
        return error.args
    return (0, "")


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("form", ["alone", "within", "without autocommit"])
def test_too_many_are_rolled_back(made, shop, run, form):
    before, wrong = shop.content(), []
    with connected(made) as conn:
        if form == "without autocommit":
            run_text(conn, "SET autocommit = 0")
        if form == "within":
            run_text(conn, "BEGIN")
            run_text(conn, "INSERT INTO kept VALUES (60, 'of the block')")
        for way in OVER:
            number, words = told(run, conn, way)
            good = number == BLOCKED and "few at a time" in words and "take fewer" in words and "Nothing was changed" in words
            wrong += [] if good else [(way, number, words)]
        if form == "within":
            with conn.cursor() as cursor:
                cursor.execute("SELECT COUNT(*) FROM kept")
                assert cursor.fetchall() == ((11,),), "the client's own work stays"
            run_text(conn, "ROLLBACK")
    assert not wrong, wrong
    assert shop.content() == before


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("form", ["alone", "within"])
def test_few_pass_and_stay(made, shop, run, form):
    wrong, before = [], shop.content()
    with connected(made) as conn:
        if form == "within":
            run_text(conn, "BEGIN")
        for way in UNDER:
            number, words = told(run, conn, way)
            wrong += [(way, number, words)] if number else []
        in_transaction = conn.server_status & 1
        assert bool(in_transaction) == (form == "within")
        run_text(conn, "COMMIT")
    assert not wrong, wrong
    assert shop.content() == before  # what was put in went again


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_what_cannot_be_held_is_refused(made, shop, run):
    wrong, before = [], shop.content()
    with connected(made, local_infile=True) as conn:
        for block in False, True:
            if block:
                run_text(conn, "BEGIN")
            for way in UNCOUNTED:
                number, words = told(run, conn, way)
                wrong += [(way, number, words)] if number != BLOCKED else []
        run_text(conn, "ROLLBACK")
        if run is run_text:
            for way in ("DELETE FROM kept WHERE id = 1; SELECT 1", "SELECT 1; DELETE FROM kept WHERE id = 1",
                        "BEGIN; DELETE FROM kept; COMMIT"):
                wrong += [way] if told(run, conn, way)[0] != BLOCKED else []
        run_text(conn, "LOCK TABLES kept WRITE")
        wrong += ["locked"] if "LOCK TABLES" not in told(run, conn, "DELETE FROM kept WHERE id = 1")[1] else []
        run_text(conn, "UNLOCK TABLES")
        run_text(conn, "DELETE FROM kept WHERE id = 777")
        run_text(conn, "SET sql_select_limit = 0")  # hides nothing from what the gateway asks
        wrong += ["a limit of the session"] if told(run, conn, "DELETE FROM old")[0] != BLOCKED else []
    assert not wrong, wrong
    assert shop.content() == before


def test_what_the_client_is_told_is_the_statement_s_own(made, shop):
    with connected(made) as conn, conn.cursor() as cursor:
        assert cursor.execute("INSERT INTO kept VALUES (70, 'a'), (71, 'b')") == 2
        assert conn.server_status & 3 == 2
        with pytest.raises(pymysql.MySQLError) as error:
            cursor.execute("INSERT INTO kept VALUES (70, 'again')")
        assert error.value.args[0] == 1062 and "Duplicate" in error.value.args[1]
        cursor.execute("SELECT COUNT(*) FROM kept WHERE id >= 70")
        assert cursor.fetchall() == ((2,),)
        assert cursor.execute("DELETE FROM kept WHERE id >= 70") == 2
        run_text(conn, "CREATE TEMPORARY TABLE counted (id INT AUTO_INCREMENT PRIMARY KEY, a INT)")
        cursor.execute("INSERT INTO counted (a) VALUES (5)")
        assert cursor.lastrowid == 1
        run_text(conn, "SET completion_type = 'RELEASE'")
        run_text(conn, "UPDATE counted SET a = 6 WHERE id = 1")
        run_text(conn, "SET completion_type = 'CHAIN'")
        run_text(conn, "UPDATE counted SET a = 7 WHERE id = 1")
        assert conn.server_status & 1 == 0


def test_what_comes_behind_in_a_pipeline_waits(made, shop):
    """Nothing of the client's stands between the statement and its COMMIT."""
    before = shop.content()
    packets = [struct.pack("<I", len(text) + 1) + b"\x03" + text for text in
               (b"DELETE FROM kept", b"SELECT COUNT(*) FROM kept", b"INSERT INTO kept VALUES (80, '')", b"COMMIT",
                b"DELETE FROM kept WHERE id = 80", b"SELECT 'end'")] + [b"\1\0\0\0\x0e", b"\1\0\0\0\x01"]
    for size in 1 << 20, 1:
        with contextlib.closing(connect(made, autocommit=True)) as conn:
            sent = b"".join(packets)
            for at in range(0, len(sent), size):
                conn._sock.sendall(sent[at:at + size])
            found = []
            for _ in packets[:-1]:
                conn._next_seq_id = 1
                try:
                    conn._read_query_result()
                    found.append(conn._result.rows or conn._result.affected_rows)
                except pymysql.MySQLError as error:
                    found.append(error.args[0])
            assert found == [BLOCKED, ((10,),), 1, 0, 1, (("end",),), 0]
            assert conn._rfile.read(1) == b""
            conn._force_close()
    assert shop.content() == before


def test_a_cancel_amid_it_changes_nothing(made, shop):
    before = shop.content()
    with connected(made) as conn, connected(made) as other:
        failed = []

        def run():
            failed.append(number_of(run_text, conn, "DELETE FROM kept WHERE SLEEP(30) = 0 OR id > 0"))
        thread = threading.Thread(target=run)
        thread.start()
        wait_for(lambda: "SLEEP" in str(shop.server.sql("SHOW FULL PROCESSLIST")), what="the statement")
        run_text(other, f"KILL QUERY {conn.thread_id()}")
        thread.join()
        assert failed == [1317], failed
        run_text(conn, "SELECT 1")
        assert conn.server_status & 3 == 2
    assert shop.content() == before


def test_it_is_on_record(admin, made, shop):
    with connected(made) as conn:
        assert number_of(run_text, conn, "DELETE FROM kept") == BLOCKED
    name = made["connection_name"]
    session = wait_for(lambda: next((row for row in admin.get("/sessions?limit=100").json["data"]
                                     if row["connection"] == name and row["status"] == "done"
                                     and "few at a time" in str(admin.get(f"/sessions/{row['id']}").json["guardrails_info"])),
                                    None), what="the session")
    assert session
    controls = str(admin.get(f"/connections/{name}/controls").json)
    assert "'row_limits': 'enforced'" in controls, controls


def test_the_pack_for_all_databases_acts(admin, shop):
    name = shop.connection(admin)
    answer = admin.post("/rulepacks/no-unbounded-write/attach", {"connection_names": [name]})
    assert answer.status == 200, answer
    before = shop.content()
    done = mariadb(credential(admin, name), "DELETE FROM kept;\nINSERT INTO kept VALUES (99, 'x');\n"
                   "DELETE FROM kept WHERE id = 99;\n", shop.database, "--force", check=False)
    assert done.stderr.count("ERROR") == 1, done.stderr
    assert shop.content() == before
