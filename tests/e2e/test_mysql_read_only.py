# SPDX-License-Identifier: MIT
"""A rule's read_only on MariaDB: the server itself refuses to write, whatever a statement calls, and
nothing that a client says brings the session out of it; what the server lets pass all the same, our
analysis stops. It is told to allow what it does not know, so that it is the server's refusal which
is seen."""
import contextlib
import struct

import pymysql
import pytest

from api import register, unique
from conftest import Gateway, wait_for
from mariadb import MariadbServer, MysqlTarget, mariadb
from native import credential
from test_mysql_guard import BLOCKED, RUNS, Prepared, connected, run_text
from test_tls import make_certificate

READ_ONLY = 1792
RULE = {"type": "sql", "name": "reading only", "read_only": True, "unknown": "allow",
        "message": "nothing is written here"}
MARK = "INSERT INTO marks VALUES (1)"

# What writes by what a text does not tell: the server refuses.
HIDDEN = [
    "SELECT mark()", "SELECT 1 FROM things WHERE mark() = 1", "SELECT id FROM things ORDER BY mark()",
    "SELECT * FROM marked", "SELECT (SELECT mark())", "SELECT mark_myisam()", "VALUES (mark())",
    "SELECT leave(), mark()", "SELECT leave_once(), mark()", "SELECT CONCAT(leave(), mark())",
    "SELECT lift()", "SET @x = mark()", "SELECT nested()",
    "WITH w AS (SELECT mark() AS m) SELECT * FROM w",
    "SELECT mark() UNION SELECT 1", "SELECT * FROM (SELECT mark()) AS d",
    "SELECT IF(leave(), mark(), 0)", "ANALYZE SELECT mark()", "SHOW TABLES WHERE mark() = 1",
]
# What asks for more than reading, or what the server would let pass: stopped by the text.
TOLD = [
    MARK, "REPLACE INTO things VALUES (1, 'x')", "UPDATE things SET name = 'x' WHERE id = 1",
    "DELETE FROM marks WHERE id = 5", "TRUNCATE marks", "DROP TABLE marks", "CREATE TABLE more (a INT)",
    "ALTER TABLE marks ADD COLUMN b INT", "RENAME TABLE marks TO gone", "CREATE VIEW v2 AS SELECT 1",
    "CREATE INDEX i ON things (name)", "CREATE TEMPORARY TABLE t (a INT)", "INSERT INTO old VALUES (1)",
    "SELECT NEXTVAL(numbers)", "SELECT NEXT VALUE FOR numbers", "SELECT SETVAL(numbers, 50)",
    "ANALYZE TABLE marks", "OPTIMIZE TABLE marks", "REPAIR TABLE marks", "CHECK TABLE marks",
    "FLUSH TABLES", "FLUSH TABLES WITH READ LOCK", "LOCK TABLES marks READ", "LOCK TABLES marks WRITE",
    "SET PASSWORD = PASSWORD('x')", "GRANT SELECT ON *.* TO x", "CREATE USER x", "SET GLOBAL max_connections = 5",
    "LOAD DATA INFILE '/etc/hostname' INTO TABLE marks", "LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE marks",
    "SELECT 1 INTO OUTFILE '/tmp/never-made-of-gatehouse'", "SELECT 1 INTO DUMPFILE '/tmp/never-made-of-gatehouse'",
    "CALL walks()", "CALL marking", "DO mark()", "HANDLER marks OPEN; INSERT INTO marks VALUES (1)",
    "SET SESSION TRANSACTION READ WRITE", "SET TRANSACTION READ WRITE", "set transaction read/**/write",
    "SET SESSION tx_read_only = 0", "SET tx_read_only = OFF", "SET @@tx_read_only = 0", "SET @@session.tx_read_only = 0",
    "SET @@session.`tx_read_only` = 0", "SET LOCAL tx_read_only = 0", "SET SESSION transaction_read_only = 0",
    "SET @a = 1, SESSION tx_read_only = 0", "SET SESSION tx_read_only = DEFAULT", "/*! SET tx_read_only = 0 */",
    "SET /*!50000 SESSION tx_read_only */ = 0", "SET /*M! tx_read_only = 0 */", "SET SESSION TRANSACTION /*!READ*/ WRITE",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE",
    "START TRANSACTION READ WRITE", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ WRITE",
    "SET STATEMENT tx_read_only = 0 FOR INSERT INTO marks VALUES (1)", "SET STATEMENT tx_read_only = 0 FOR SELECT mark()",
    "SET STATEMENT sort_buffer_size = 20000 FOR SET STATEMENT tx_read_only = 0 FOR SELECT mark()",
    "BEGIN NOT ATOMIC SET SESSION tx_read_only = 0; INSERT INTO marks VALUES (1); END",
    "EXECUTE IMMEDIATE 'SET SESSION tx_read_only = 0'", "EXECUTE IMMEDIATE CONCAT('INSERT INTO ma', 'rks VALUES (1)')",
    "EXECUTE IMMEDIATE CONCAT('BEGIN NOT ATOMIC SET SESSION tx_read_only = 0; INSERT INTO marks VALUES (1); END')",
    "PREPARE s FROM 'SET SESSION tx_read_only = 0'", "PREPARE s FROM CONCAT('INSERT INTO ma', 'rks VALUES (1)')",
    "EXECUTE s", "IF 1 THEN SET SESSION tx_read_only = 0; INSERT INTO marks VALUES (1); END IF",
    "SELECT 1; INSERT INTO marks VALUES (1)", "COMMIT; INSERT INTO marks VALUES (1)",
    "SELECT leave(); SELECT mark()", "SELECT leave_once(); SELECT mark()", "SELECT * FROM leaving; SELECT mark()",
    "BEGIN; SELECT leave(); COMMIT; SELECT mark()", "XA START 'a'; INSERT INTO marks VALUES (1)", "XA PREPARE 'a'",
    "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT 1", "INSTALL SONAME 'x'", "RESET QUERY CACHE", "SHUTDOWN",
    "INSERT INTO marks SELECT 1 FROM things RETURNING id", "WITH w AS (SELECT 1 AS i) DELETE FROM marks WHERE id IN (SELECT i FROM w)",
    "SELECT * FROM things FOR UPDATE", "SELECT * FROM things LIMIT 1 FOR UPDATE", "SELECT 1 FROM things LOCK IN SHARE MODE",
    "EXPLAIN INSERT INTO marks VALUES (1)", "ANALYZE UPDATE things SET name = 'y' WHERE id = 1", "BACKUP STAGE START", "SET DEFAULT ROLE NONE",
]
READS = [
    "SELECT 1", "SELECT * FROM things", "SHOW TABLES", "SHOW VARIABLES LIKE 'tx_read%'", "DESCRIBE things",
    "EXPLAIN SELECT * FROM things", "SET @a = 5", "SELECT @a := @a + 1",
    "SELECT * FROM plain", "SELECT pure(2)", "BEGIN", "SELECT COUNT(*) FROM marks", "COMMIT", "ROLLBACK",
    "START TRANSACTION READ ONLY", "SELECT id FROM things", "COMMIT AND CHAIN", "SELECT id FROM things", "ROLLBACK AND NO CHAIN",
    "SET autocommit = 0", "SELECT * FROM things", "COMMIT", "SET autocommit = 1", "SELECT GET_LOCK('mine', 0)", "SELECT RELEASE_LOCK('mine')",
    "SET NAMES utf8mb4", "SET SESSION sort_buffer_size = 100000", "SAVEPOINT a", "SELECT SLEEP(0)", "CHECKSUM TABLE things",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "SET SESSION TRANSACTION READ ONLY", "HANDLER things OPEN",
    "HANDLER things READ FIRST", "HANDLER things CLOSE", "WITH w AS (SELECT * FROM things) SELECT * FROM w",
    "UNLOCK TABLES", "SELECT LAST_INSERT_ID(7)", "SELECT 1; SELECT * FROM things", "SELECT id FROM things LIMIT 1 INTO @x",
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = MariadbServer(make_certificate(tmp_path_factory.mktemp("read-only-server"), "target"))
    yield server
    server.remove()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("mysql-read-only"), "--shutdown-seconds", "1")
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
        CREATE TABLE marks (id INT); CREATE TABLE old (id INT) ENGINE=MyISAM;
        CREATE TABLE things (id INT PRIMARY KEY, name VARCHAR(20)); INSERT INTO things VALUES (1, 'one'), (2, 'two');
        CREATE SEQUENCE numbers; CREATE VIEW plain AS SELECT * FROM things;
        DELIMITER //
        CREATE FUNCTION mark() RETURNS INT BEGIN INSERT INTO marks VALUES (1); RETURN 1; END //
        CREATE FUNCTION mark_myisam() RETURNS INT BEGIN INSERT INTO old VALUES (1); RETURN 1; END //
        CREATE FUNCTION nested() RETURNS INT BEGIN RETURN mark(); END //
        CREATE FUNCTION lift() RETURNS INT BEGIN SET STATEMENT tx_read_only = 0 FOR INSERT INTO marks VALUES (2); RETURN 1; END //
        CREATE FUNCTION leave_() RETURNS INT BEGIN SET SESSION tx_read_only = 0; RETURN 1; END //
        CREATE FUNCTION leave_once() RETURNS INT BEGIN SET @@tx_read_only = 0; RETURN 1; END //
        CREATE FUNCTION pure(a INT) RETURNS INT DETERMINISTIC RETURN a * 2 //
        CREATE PROCEDURE walks() BEGIN SET SESSION tx_read_only = 0; COMMIT; INSERT INTO marks VALUES (6); END //
        CREATE PROCEDURE marking() INSERT INTO marks VALUES (7) //
        DELIMITER ;
        CREATE VIEW marked AS SELECT mark() AS m; CREATE VIEW leaving AS SELECT leave_() AS l;
        GRANT ALL ON *.* TO {target.user}@'%';""")
    target.marks = lambda: server.sql(f"SELECT COUNT(*) FROM {target.database}.marks; "
                                      f"SELECT COUNT(*) FROM {target.database}.old").split()
    return target


def ways(texts):
    return [way.replace("leave()", "leave_()") for way in texts]


def ruled(admin, shop, rules):
    name = shop.connection(admin)
    found = admin.get(f"/connections/{name}").json
    made = credential(admin, name)

    def rule():
        answer = admin.post("/guardrails", {"name": unique("rail"), "input": {"rules": rules},
                                            "connection_ids": [found["id"]]})
        assert answer.status == 201, answer
        return answer.json["id"]
    return made, rule


@pytest.fixture(scope="module")
def made(admin, shop):
    made, rule = ruled(admin, shop, [RULE])
    rule()
    return made


def number_of(run, conn, statement):
    try:
        run(conn, statement)
    except pymysql.MySQLError as error:
        return error.args[0]
    return 0


def is_read_only(conn):
    with conn.cursor() as cursor:
        cursor.execute("SELECT @@tx_read_only")
        return cursor.fetchall() == ((1,),)


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("form", ["alone", "within"])
def test_what_a_text_does_not_tell_is_refused_by_the_server(made, shop, run, form):
    passed = []
    for way in ways(HIDDEN):
        with connected(made) as conn:
            if form == "within":
                run_text(conn, "BEGIN")
            found = number_of(run, conn, way)
            passed += [(way, found)] if found not in (READ_ONLY, 1295, 1064, 1615) else []
            number_of(run_text, conn, "COMMIT")
            passed += [way + ": then"] if number_of(run, conn, "SELECT mark()") != READ_ONLY else []
            passed += [way + ": left"] if not is_read_only(conn) else []
    assert not passed, passed
    assert shop.marks() == ["0", "0"]


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_what_asks_for_more_is_refused(made, shop, run):
    passed = []
    with connected(made, local_infile=True) as conn:
        for way in ways(TOLD):
            found = number_of(run, conn, way)
            passed += [(way, found)] if found not in (BLOCKED, READ_ONLY) else []
        assert is_read_only(conn)
    assert not passed, passed
    assert shop.marks() == ["0", "0"]


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_whoever_reads_is_not_in_its_way(made, run):
    wrong = []
    with connected(made) as conn:
        for way in READS:
            found = number_of(run, conn, way)
            wrong += [(way, found)] if found not in ((0,) if run is run_text else (0, 1295, 1064)) else []
        assert is_read_only(conn)
    assert not wrong, wrong


def test_nothing_leads_out_step_by_step(made, shop):
    """What may run changes the setting, and the next command finds it as it has to be."""
    steps = [["SELECT leave_()"], ["SELECT leave_once()"], ["SELECT * FROM leaving"],
             ["BEGIN", "SELECT leave_()", "COMMIT"], ["BEGIN", "SELECT leave_()", "BEGIN"],
             ["BEGIN", "SELECT * FROM leaving", "COMMIT AND CHAIN"], ["SET autocommit = 0", "SELECT leave_()", "COMMIT"],
             ["SET autocommit = 0", "SELECT leave_once()"], ["SET @x = leave_()"], ["SET SESSION TRANSACTION READ ONLY", "SELECT leave_once()"],
             ["START TRANSACTION READ ONLY", "SELECT leave_()", "ROLLBACK"], ["XA START 'r'", "SELECT leave_()", "XA END 'r'", "XA ROLLBACK 'r'"]]
    wrong = []
    for run in RUNS.values():
        for way in steps:
            with connected(made) as conn:
                prepared = Prepared(conn)
                for step in way:
                    number_of(run, conn, step)
                found = number_of(run, conn, "SELECT mark()")
                wrong += [(way, found)] if found != READ_ONLY else []
                with contextlib.suppress(pymysql.MySQLError):
                    prepared.run("SELECT mark()")
    with connected(made) as conn:
        number_of(run_text, conn, "SELECT leave_()")
        conn._execute_command(0x1f, b"")  # COM_RESET_CONNECTION
        conn._read_packet()
        wrong += [] if number_of(run_text, conn, "SELECT mark()") == READ_ONLY else ["reset"]
        conn._execute_command(0x1b, struct.pack("<H", 0))  # COM_SET_OPTION: several statements
        conn._read_packet()
        wrong += [] if number_of(run_text, conn, "SELECT 1; SELECT mark()") == READ_ONLY else ["option"]
    assert not wrong, wrong
    assert shop.marks() == ["0", "0"]


def test_pipelined_commands_find_it_too(made, shop):
    packets = [struct.pack("<I", len(text) + 1) + b"\x03" + text for text in
               (b"SELECT leave_()", b"SELECT mark()", b"SELECT 'on'")]
    with connected(made) as conn:
        conn._sock.sendall(b"".join(packets))
        told = []
        for _ in packets:
            conn._next_seq_id = 1
            try:
                conn._read_query_result()
                told.append(conn._result.rows)
            except pymysql.MySQLError as error:
                told.append(error.args[0])
        assert told == [((1,),), READ_ONLY, (("on",),)]
    assert shop.marks() == ["0", "0"]


def test_open_sessions_follow_the_rule_as_it_comes_and_goes(admin, server, shop):
    made, rule = ruled(admin, shop, [{**RULE, "unknown": "block"}])
    place = f"{shop.database}.came"
    server.sql(f"CREATE TABLE {place} (id INT)")
    with connected(made) as conn, connected(made) as within:
        run_text(conn, "INSERT INTO came VALUES (1)")
        run_text(within, "BEGIN")
        run_text(within, "INSERT INTO came VALUES (2)")
        rail = rule()
        wait_for(lambda: number_of(run_text, conn, "DELETE FROM old WHERE id = 99") == BLOCKED,
                 what="the rule in the session")
        assert is_read_only(conn)
        for way in "SELECT 1", "BEGIN", "SELECT * FROM came":
            wait_for(lambda: number_of(run_text, within, way) == BLOCKED, what="the rule")
            assert number_of(run_text, within, way) == BLOCKED, way
        run_text(within, "COMMIT")
        assert is_read_only(within)
        assert admin.delete(f"/guardrails/{rail}").status in (200, 204)
        for one in conn, within:
            wait_for(lambda: number_of(run_text, one, "DELETE FROM old WHERE id = 99") == 0, what="its end")
            run_text(one, "INSERT INTO came VALUES (4)")
            assert not is_read_only(one)
    assert server.sql(f"SELECT COUNT(*) FROM {place}") == "4"


def test_what_it_can_is_told(admin, shop):
    name = shop.connection(admin)
    rails = admin.get(f"/connections/{name}/controls").json
    assert '"read_only": "enforced"' in str(rails).replace("'", '"'), rails
    answer = admin.post("/rulepacks/read-only/attach", {"connection_names": [name]})
    assert answer.status == 200, answer
    done = mariadb(credential(admin, name), "SELECT COUNT(*) FROM things;\nSHOW WARNINGS;\nINSERT INTO marks VALUES (1);\n",
                   shop.database, "--force", check=False)
    assert "2" in done.stdout and "reading only" in done.stderr, (done.stdout, done.stderr)
    assert shop.marks() == ["0", "0"]
