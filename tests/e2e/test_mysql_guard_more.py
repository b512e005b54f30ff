# SPDX-License-Identifier: MIT
"""More ways around guard rails in MySQL's own tricks, at MariaDB and, at full length, at MySQL 9: versions
in comments, modes and character sets that change amid a text, conditions without a column, statements from
texts and variables, blocks, events, tables that are changed in other words, commands that are no SQL; and
texts that are put together by chance from what may begin and end a string, a comment or a statement. Rows
of 'kept' stay as they are."""
import contextlib
import random
import struct

import pymysql
import pytest
from pymysql.constants import CLIENT, COMMAND

import mysql_nine
from mariadb import TARGET_PASSWORD, MariadbServer, MysqlTarget, connect
from test_mysql import Raw
from test_mysql_guard import RULES, Prepared, admin, gateway, guarded, run_text  # noqa: F401 (fixtures)
from test_tls import make_certificate

GONE = "DELETE FROM kept"

# What is true, and has no column in it.
TRUE = [
    "TRUE", "NOT FALSE", "!0", "~0", "-1", "(((1)))", "0x1", "b'1'", "N'1'", "1 IS NOT UNKNOWN", "1 <=> 1", "1 XOR 0",
    "1 DIV 1", "5 MOD 3", "1 LIKE 1", "1 REGEXP 1", "1 SOUNDS LIKE 1", "1 NOT IN (2, 3)", "1 BETWEEN 0 AND 2",
    "1 = ANY (SELECT 1)", "1 <> ALL (SELECT 2)", "EXISTS (SELECT * FROM other)", "CURRENT_USER IS NOT NULL",
    "CURRENT_DATE > '2000-01-01'", "CURRENT_TIME IS NOT NULL", "CURRENT_TIMESTAMP > 0", "LOCALTIME IS NOT NULL",
    "LOCALTIMESTAMP", "UTC_DATE", "UTC_TIME IS NOT NULL", "UTC_TIMESTAMP", "CURRENT_ROLE IS NULL", "USER() LIKE '%'",
    "CAST('1' AS CHAR CHARACTER SET latin1)", "CONVERT(1, SIGNED)", "CONVERT('1' USING latin1)",
    "EXTRACT(YEAR FROM NOW())", "TIMESTAMPDIFF(DAY, '2000-01-01', NOW())", "GET_FORMAT(DATE, 'USA') > ''",
    "TRIM(BOTH ' ' FROM ' 1 ')", "TRIM(LEADING FROM '1')", "CHAR(49 USING latin1)", "WEIGHT_STRING('a' AS CHAR(1)) > ''",
    "'1' COLLATE utf8mb4_bin", "_utf8mb4'1' COLLATE utf8mb4_bin", "NOW() < NOW() + INTERVAL 1 DAY",
    "DATE_ADD(NOW(), INTERVAL '1 1' DAY_HOUR) > 0", "@@autocommit", "@@session.autocommit", "@@global.port",
    "POSITION('a' IN 'a')", "SUBSTRING('1' FROM 1 FOR 1)", "IF(1, 'id', 0) = 'id'", "CASE 'id' WHEN 'id' THEN 1 END",
    "{ts '2000-01-01 00:00:00'}", "{d '2000-01-01'}", "{fn NOW()}", "TIMESTAMP '2000-01-01 00:00:00'",
    "TIME '00:00:01' > 0", "INTERVAL(1, 0)", "BINARY '1'", "JSON_VALUE('1', '$')", "ROW(1, 2) = ROW(1, 2)",
    "'id'", "'1id'", "1 /* id */", "1 -- id\n", "1 # id\n", "1 /*! */", "(1, 2) IN ((1, 2))", "@id := 1",
    "RAND(3) < 2", "UUID() > ''", "CONNECTION_ID()", "BENCHMARK(1, 1) = 0", "JSON_CONTAINS('[1]', '1')", "POW(1, 1)",
    "1 IN (1) ORDER BY id LIMIT 100", "1 LIMIT 100", "ISNULL(NULL)", "STRCMP('a', 'b')", "LENGTH('id')", "DATABASE() > ''",
]

# Several in one session, each text by itself; bytes are a command of the protocol.
SESSIONS = {
    "nested comment in code": ["/*!50000 /* x */ DELETE FROM kept */"],
    "nested comment in code that is left out": ["/*!99999 /* */ SELECT 1 */ DELETE FROM kept"],
    "nested twice": ["/*!50000 /*!50000 DELETE */ FROM kept */", "/*! /*! /*! DELETE FROM kept */ */ */"],
    "nested, later inside": ["/*!50000 DELETE /*!99999 FROM nothing */ FROM kept */"],
    "nested, code inside of what is left out": ["/*!99999 /*!50000 SELECT */ 1 */ DELETE FROM kept"],
    "six digits": ["/*!050000 DELETE FROM kept */", "/*!100000 DELETE FROM kept */", "/*!110000 DELETE FROM kept */"],
    "six digits of MySQL": ["/*!080000 DELETE FROM kept */", "/*!090000 DELETE FROM kept */", "/*!090700 DELETE FROM kept */"],
    "seven digits": ["/*!0500001 DELETE FROM kept */", "/*!5000011 SELECT 1*/; DELETE FROM kept"],
    "a letter behind": ["/*!50000x */ DELETE FROM kept", "/*!5000 0 DELETE FROM kept */"],
    "M with spaces": ["/*M !100000 DELETE FROM kept */", "/* M!100000 DELETE FROM kept */"],
    "M for later ones": ["/*M!999999 WHERE id = 1 */ DELETE FROM kept", "DELETE FROM kept /*M!999999 WHERE id = 1 */"],
    "M and MySQL's": ["DELETE FROM kept /*M!100000 */ /*!80000 WHERE id = 1 */ /*!100000 */"],
    "WHERE for a version each": ["DELETE FROM kept /*!50700 WHERE id = 1 */", "DELETE FROM kept /*!50799 WHERE id = 1 */",
                                 "DELETE FROM kept /*!99998 WHERE id = 1 */", "DELETE FROM kept /*!101000 WHERE id = 1 */"],
    "hint": ["DELETE /*+ SET_VAR(sql_mode='ANSI_QUOTES') */ FROM kept", "/*+ x */ DELETE FROM kept", "DELETE /*+ ' */ FROM kept -- '"],
    "hint that ends twice": ["DELETE /*+ /* */ FROM kept", "SELECT /*+ */ */ 1; DELETE FROM kept"],
    "star and slash apart": ["/* * / */ DELETE FROM kept", "/***/DELETE FROM kept/**/", "/*/ */ DELETE FROM kept", "/*/*/ DELETE FROM kept"],
    "a comment and a line": ["-- /*\nDELETE FROM kept -- */", "# /*\nDELETE FROM kept # */", "--\tx\nDELETE FROM kept"],
    "a line without an end": ["SELECT 1 -- x\rDELETE FROM kept", "--\r\nDELETE FROM kept", "#\nDELETE FROM kept"],
    "a line in code": ["/*!50000 # x */\nDELETE FROM kept */", "/*!50000 -- x */ SELECT\nDELETE FROM kept */"],
    "a quote in a comment": ["SELECT 1 # '\n; DELETE FROM kept # '", "SELECT 1 -- \"\n; DELETE FROM kept -- \"", "SELECT 1 /* ` */; DELETE FROM kept /* ` */"],
    "a comment in a quote": ["SELECT '/*'; DELETE FROM kept; SELECT '*/'", "SELECT `/*` FROM (SELECT 1 `/*`) d; DELETE FROM kept; SELECT '*/'"],
    "a backslash at the end": ["SELECT '\\\\'; DELETE FROM kept; SELECT '\\\\'", "SELECT '\\'\\\\'; DELETE FROM kept -- '"],
    "a backslash in backticks": ["SELECT 1 AS `\\`; DELETE FROM kept; SELECT 1 AS `\\`"],
    "two backticks": ["SELECT 1 AS ```; DELETE FROM kept; SELECT 1 AS ```", "SELECT 1 AS ````; DELETE FROM kept"],
    "modes amid a text": ["SET sql_mode = 'ANSI_QUOTES'; SELECT 1 AS \"'\"; DELETE FROM kept; SELECT 1 AS \"'\""],
    "modes back and forth": ["SET sql_mode = 'NO_BACKSLASH_ESCAPES'; SET sql_mode = ''; SELECT '\\'; DELETE FROM kept; -- '; DELETE FROM kept"],
    "modes by a variable": ["SET @m = 'NO_BACKSLASH_ESCAPES'", "SET sql_mode = @m; SELECT '\\'; DELETE FROM kept; -- '"],
    "modes by another variable": ["SET sql_mode = @@global.sql_mode", "SET @@SESSION . sql_mode = 'ANSI_QUOTES', @x = \"'\"; DELETE FROM kept; -- \"'\""],
    "modes by many settings": ["SET autocommit = 1, sql_mode = 'NO_BACKSLASH_ESCAPES', @x = 1; SELECT '\\'; DELETE FROM kept; -- '"],
    "modes by code in a comment": ["/*!40101 SET sql_mode = 'NO_BACKSLASH_ESCAPES' */; SELECT '\\'; DELETE FROM kept; -- '"],
    "modes by EXECUTE": ["EXECUTE IMMEDIATE 'SET sql_mode = ''ANSI_QUOTES'''", "DELETE FROM \"kept\""],
    "modes that are many": ["SET sql_mode = 'TRADITIONAL,ANSI'", "DELETE FROM \"kept\" WHERE \"kept\" > ''", "DELETE FROM \"kept\""],
    "pipes": ["SET sql_mode = 'PIPES_AS_CONCAT'", "DELETE FROM kept WHERE '' || '1'"],
    "spaces before parentheses": ["SET sql_mode = 'IGNORE_SPACE'", "SELECT wiping (), `wiping` (1), COUNT (*) FROM kept", "DO wiping ()"],
    "gbk": ["SET NAMES gbk", b"\x03SELECT '\xbf\\'; DELETE FROM kept; -- '", b"\x03SELECT '\xbf\x27; DELETE FROM kept; -- '"],
    "gbk in a name": ["SET NAMES gbk", b"\x03SELECT 1 AS `\xbf\x60; DELETE FROM kept; -- `"],
    "gbk amid a text": [b"\x03SET NAMES gbk; SELECT '\xbf\\'; DELETE FROM kept; -- '"],
    "sjis": ["SET NAMES sjis", b"\x03SELECT '\x83\\'; DELETE FROM kept; -- '"],
    "cp932": ["SET NAMES cp932", b"\x03SELECT '\x83\\'; DELETE FROM kept; -- '"],
    "big5": ["SET NAMES big5", b"\x03SELECT '\xa5\\'; DELETE FROM kept; -- '"],
    "gb18030": ["SET NAMES gb18030", b"\x03SELECT '\xbf\\'; DELETE FROM kept; -- '"],
    "by CHARACTER SET": ["SET CHARACTER SET sjis", b"\x03SELECT '\x83\\'; DELETE FROM kept; -- '"],
    "by a variable of a name": ["SET @@session.character_set_client = 'gbk'", b"\x03SELECT '\xbf\\'; DELETE FROM kept; -- '"],
    "by a number": ["SET character_set_client = 28", b"\x03SELECT '\xbf\\'; DELETE FROM kept; -- '"],
    "utf8 that is cut": [b"\x03SELECT '\xe2\x82'; DELETE FROM kept; -- '", b"\x03SELECT '\xc3'; DELETE FROM kept; -- '"],
    "back by a reset": ["SET NAMES gbk", b"\x1f", b"\x03SELECT '\xbf\\'; DELETE FROM kept; -- '"],
    "a character set that is none": ["SET NAMES ucs2", b"\x03\0D\0E\0L\0E\0T\0E\0 \0F\0R\0O\0M\0 \0k\0e\0p\0t"],
    "introducers": ["SELECT _gbk'\\'; DELETE FROM kept; -- '", b"\x03SELECT _sjis'\x83\\'; DELETE FROM kept; -- '", "SELECT _binary'\\\\'; DELETE FROM kept; -- '"],
    "from a variable": ["SET @q = CONCAT('DELETE FROM ', 'kept')", "PREPARE a FROM @q", "EXECUTE a", "EXECUTE IMMEDIATE @q"],
    "from a variable by a SELECT": ["SELECT 'DELETE FROM kept' INTO @q", "PREPARE `a` FROM @`q`", "EXECUTE `a`"],
    "from a variable of a value": ["SELECT CONCAT('DEL', 'ETE FROM kept') INTO @q FROM other LIMIT 1", "PREPARE a FROM @'q'", "EXECUTE a"],
    "from an expression": ["PREPARE a FROM REVERSE('tpek MORF ETELED')", "EXECUTE a", "EXECUTE IMMEDIATE REPLACE('DELXTE FROM kept', 'X', 'E')"],
    "from a conversion": ["EXECUTE IMMEDIATE CONVERT(0x44454C4554452046524F4D206B657074 USING utf8)", "EXECUTE IMMEDIATE UNHEX('44454C4554452046524F4D206B657074')"],
    "from a text in a text": ["EXECUTE IMMEDIATE 'EXECUTE IMMEDIATE ''DELETE FROM kept'''", "PREPARE a FROM 'EXECUTE IMMEDIATE ''DELETE FROM kept'''", "EXECUTE a"],
    "from a text with values": ["EXECUTE IMMEDIATE 'DELETE FROM kept WHERE ? = ?' USING 1, 1", "EXECUTE IMMEDIATE 'DELETE FROM kept LIMIT ?' USING 99"],
    "from a text by another way": ["PREPARE a FROM 'SELECT 1'", "DROP PREPARE a; PREPARE a FROM 'DELETE FROM kept'; EXECUTE a", "DEALLOCATE PREPARE a"],
    "prepared, then a mode": ["PREPARE a FROM 'SELECT ''\\\\''; -- '''", "SET sql_mode = 'NO_BACKSLASH_ESCAPES'", "EXECUTE a"],
    "blocks": ["BEGIN NOT ATOMIC BEGIN DELETE FROM kept; END; END", "a: BEGIN NOT ATOMIC DELETE FROM kept; END a", "`a`: LOOP DELETE FROM kept; LEAVE `a`; END LOOP"],
    "blocks with conditions": ["IF 0 THEN SELECT 1; ELSEIF 1 THEN DELETE FROM kept; END IF", "CASE 1 WHEN 1 THEN DELETE FROM kept; END CASE", "CASE WHEN 0 THEN SELECT 1; ELSE DELETE FROM kept; END CASE"],
    "blocks with cursors": ["FOR r IN (SELECT 1 AS a) DO DELETE FROM kept; END FOR", "FOR i IN REVERSE 1..1 DO DELETE FROM kept; END FOR"],
    "blocks with handlers": ["BEGIN NOT ATOMIC DECLARE EXIT HANDLER FOR NOT FOUND DELETE FROM kept; SIGNAL SQLSTATE '02000'; END"],
    "blocks that make texts": ["BEGIN NOT ATOMIC SET @q = 'DELETE FROM kept'; EXECUTE IMMEDIATE @q; END"],
    "blocks behind others": ["SELECT 1; BEGIN NOT ATOMIC DELETE FROM kept; END", "START TRANSACTION; REPEAT DELETE FROM kept; UNTIL 1 END REPEAT; COMMIT"],
    "ORACLE": ["SET sql_mode = ORACLE", "BEGIN DELETE FROM kept; END", "<<a>> BEGIN DELETE FROM kept; END", "DECLARE x INT; BEGIN DELETE FROM kept; END"],
    "events": ["CREATE EVENT a ON SCHEDULE EVERY 1 SECOND DO DELETE FROM kept", "CREATE OR REPLACE EVENT a ON SCHEDULE AT NOW() ON COMPLETION PRESERVE DO BEGIN DELETE FROM kept; END",
               "CREATE DEFINER = CURRENT_USER EVENT IF NOT EXISTS b ON SCHEDULE EVERY '1:1' MINUTE_SECOND STARTS NOW() ENABLE COMMENT 'DO SELECT 1' DO TRUNCATE kept"],
    "an event that does another thing": ["CREATE EVENT c ON SCHEDULE AT NOW() + INTERVAL 1 DAY DO SELECT 1", "ALTER EVENT c ON SCHEDULE AT NOW() DO DELETE FROM kept", "ALTER EVENT c RENAME TO d DO DELETE FROM kept"],
    "triggers": ["CREATE OR REPLACE TRIGGER a BEFORE UPDATE ON other FOR EACH ROW FOLLOWS b DELETE FROM kept", "CREATE TRIGGER IF NOT EXISTS a AFTER UPDATE ON other FOR EACH ROW BEGIN DELETE FROM kept; END", "UPDATE other SET id = id WHERE id = 1"],
    "procedures": ["CREATE PROCEDURE a() MODIFIES SQL DATA SQL SECURITY INVOKER DELETE FROM kept", "CREATE OR REPLACE PROCEDURE a(IN x INT) IF x THEN DELETE FROM kept; END IF", "CALL a()", "CALL a(1)", "CALL `a`"],
    "functions": ["CREATE FUNCTION IF NOT EXISTS a() RETURNS INT DETERMINISTIC BEGIN DELETE FROM kept; RETURN 1; END", "SELECT a()", "VALUES (a())", "SET @x = a()", "SELECT 1 ORDER BY a()"],
    "functions anywhere": ["SELECT wiping() FROM other GROUP BY wiping()", "SELECT 1 LIMIT 1 OFFSET 0 PROCEDURE wiping()", "SELECT id FROM other HAVING wiping()", "INSERT INTO other SET id = wiping()",
                           "DELETE FROM other WHERE id = 55 AND wiping()", "SELECT (SELECT wiping())", "SELECT * FROM (SELECT wiping() AS a) d", "WITH a AS (SELECT wiping() AS b) SELECT b FROM a"],
    "functions with comments": ["SELECT wiping/**/()", "SELECT {database}/**/./**/wiping()", "SELECT /*! wiping */ ()", "SELECT `{database}`.wiping()", "SELECT\nwiping\n(\n)"],
    "functions in defaults": ["CREATE TEMPORARY TABLE z (a INT DEFAULT (wiping()))", "INSERT INTO z VALUES ()", "CREATE TABLE y (a INT AS (wiping()))"],
    "functions in settings": ["SET sort_buffer_size = wiping()", "SET STATEMENT sort_buffer_size = wiping() FOR SELECT 1", "KILL QUERY wiping()", "CALL nothing(wiping())", "EXECUTE IMMEDIATE 'SELECT ?' USING wiping()"],
    "tables in other words": ["DROP TABLE kept WAIT 1", "DROP TABLE IF EXISTS kept NOWAIT", "TRUNCATE TABLE kept NOWAIT", "RENAME TABLE IF EXISTS kept TO gone", "RENAME TABLE kept WAIT 1 TO gone"],
    "tables in other words, altered": ["ALTER TABLE kept RENAME AS gone", "ALTER TABLE kept RENAME = gone", "ALTER TABLE IF EXISTS kept WAIT 1 DROP COLUMN name", "ALTER ONLINE TABLE kept DROP name", "ALTER TABLE kept ORDER BY id, RENAME gone"],
    "tables in other kinds of words": ["DROP VIEW kept", "DROP SEQUENCE kept", "CREATE OR REPLACE SEQUENCE kept", "ALTER SEQUENCE kept RESTART", "CREATE OR REPLACE VIEW kept AS SELECT 1", "CREATE OR REPLACE TEMPORARY TABLE kept (a INT)"],
    "tables by their columns": ["ALTER TABLE kept ADD COLUMN a INT, DROP COLUMN name", "ALTER TABLE kept CHANGE name name2 INT", "ALTER TABLE kept MODIFY COLUMN name VARCHAR(1)", "ALTER TABLE kept ALTER name SET DEFAULT 'x', DROP COLUMN name"],
    "tables by their partitions": ["ALTER TABLE kept PARTITION BY HASH (id) PARTITIONS 2", "ALTER TABLE kept REMOVE PARTITIONING", "ALTER TABLE kept TRUNCATE PARTITION p0, p1", "ALTER TABLE other EXCHANGE PARTITION p0 WITH TABLE kept WITHOUT VALIDATION"],
    "tables by cascading": ["CREATE TABLE parent (id INT PRIMARY KEY)", "ALTER TABLE kept ADD FOREIGN KEY (id) REFERENCES parent (id) ON DELETE CASCADE", "CREATE TRIGGER q AFTER INSERT ON parent FOR EACH ROW DELETE FROM kept"],
    "tables by others": ["CREATE TABLE m (id INT, name VARCHAR(40)) ENGINE=MRG_MyISAM UNION=(kept) INSERT_METHOD=LAST", "ALTER TABLE other ENGINE=MRG_MyISAM, UNION=(kept)", "CREATE TABLE f ENGINE=FEDERATED CONNECTION='mysql://x/y/kept'"],
    "views": ["CREATE VIEW v9 AS SELECT * FROM kept", "DELETE FROM v9", "UPDATE v9 SET name = 'x'", "TRUNCATE v9"],
    "targets by aliases": ["DELETE a FROM kept a, other b", "DELETE b FROM other a, kept b", "DELETE a.*, b.* FROM kept a JOIN other b ON 1", "DELETE FROM a, b USING kept a JOIN other b", "DELETE other FROM kept AS other", "DELETE {database}.a FROM {database}.kept a"],
    "targets in joins": ["UPDATE (kept) SET name = 'x'", "UPDATE (kept, other) SET name = 'x'", "UPDATE ((kept JOIN other)) SET name = 'x'", "UPDATE other LEFT JOIN kept ON 1 SET name = 'x'", "UPDATE other, LATERAL (SELECT 1) d, kept SET name = 'x'"],
    "targets behind a CTE": ["WITH RECURSIVE a AS (SELECT 1 i UNION ALL SELECT i + 1 FROM a WHERE i < 9) UPDATE kept, a SET name = 'x'", "WITH kept AS (SELECT 1) DELETE k FROM {database}.kept k"],
    "replaced": ["REPLACE kept VALUES (1, 'x'), (2, 'y')", "REPLACE DELAYED INTO kept SELECT 1, 'x'", "REPLACE LOW_PRIORITY kept SET id = 1", "REPLACE INTO {database}.kept () VALUES ()", "REPLACE INTO kept PARTITION (p0) VALUES (1, 'x')"],
    "loaded": ["LOAD DATA LOCAL INFILE '/dev/null' REPLACE INTO TABLE kept", "LOAD DATA LOW_PRIORITY LOCAL INFILE '/dev/null' INTO TABLE kept FIELDS TERMINATED BY ',' (id, name)", "LOAD XML LOCAL INFILE '/dev/null' REPLACE INTO TABLE kept ROWS IDENTIFIED BY '<r>'"],
    "in a transaction": ["XA BEGIN 'a'; DELETE FROM kept; XA END 'a'; XA COMMIT 'a' ONE PHASE", "SET autocommit = 0; DELETE FROM kept; COMMIT AND CHAIN", "START TRANSACTION WITH CONSISTENT SNAPSHOT; DELETE FROM kept; COMMIT RELEASE"],
    "analyzed": ["ANALYZE FORMAT=JSON DELETE FROM kept", "EXPLAIN ANALYZE FORMAT=TREE DELETE FROM kept", "DESC ANALYZE UPDATE kept SET name = 'x'", "ANALYZE REPLACE INTO kept VALUES (1, 'x')", "ANALYZE TRUNCATE kept"],
    "SET STATEMENT": ["SET STATEMENT sql_mode = 'ANSI_QUOTES' FOR DELETE FROM \"kept\"", "SET STATEMENT sort_buffer_size = 20000, max_statement_time = 1 FOR BEGIN NOT ATOMIC DELETE FROM kept; END",
                      "SET STATEMENT max_statement_time = (SELECT 1) FOR EXECUTE IMMEDIATE 'DELETE FROM kept'", "SET STATEMENT max_statement_time = 1 FOR CALL wipe()"],
    "many words": ["SELECT 1;" * 3000 + GONE, "(" * 400 + "SELECT 1" + ")" * 400 + ";" + GONE, "SELECT " + "1," * 5000 + "1; " + GONE, " " * 70000 + GONE, "/*" + "*" * 70000 + "/" + GONE],
    "many tables": ["DELETE kept FROM kept, " + ", ".join(f"other o{i}" for i in range(59)), "SELECT * FROM " + ", ".join(f"t{i}" for i in range(300)) + "; " + GONE],
    "bytes around": [f"\x00{GONE}", f"{GONE}\x00", f"\ufeff{GONE}", f"\x1a{GONE}", f"\x0c{GONE}\x0b", f"\u2028{GONE}", f"\xa0{GONE}", f"SELECT 1;\x00{GONE}"],
    "a database's name": [b"\x02{database}\0; DELETE FROM kept", b"\x02`{database}`", "DELETE FROM kept", b"\x02mysql", "DELETE FROM {database}.kept"],
    "by database": ["CREATE DATABASE IF NOT EXISTS zz9", "DROP DATABASE IF EXISTS {database}", b"\x06{database}", "ALTER DATABASE {database} CHARACTER SET latin1", "DROP SCHEMA `{database}`"],
    "as another user": [b"\x11root\0\0mysql\0", b"\x11root\0\x14aaaaaaaaaaaaaaaaaaaa{database}\0\x21\0mysql_native_password\0", GONE],
    "several statements switched on": [b"\x1b\0\0", f"SELECT 1; {GONE}", b"\x1b\1\0", f"SELECT 1; {GONE}", b"\x1b\2\0", f"SELECT 1; {GONE}"],
    "bulk": [b"\xfa\1\0\0\0\x80\0\0\xfd\0", b"\xfa\xff\xff\xff\xff\0\0", GONE],
    "the last that was prepared": [b"\x16SELECT 1", b"\x16DELETE FROM kept", b"\x17\xff\xff\xff\xff\0\1\0\0\0", b"\x17\1\0\0\0\0\1\0\0\0", b"\x17\2\0\0\0\0\1\0\0\0"],
    "prepared, several": [b"\x16SELECT 1; DELETE FROM kept", b"\x17\xff\xff\xff\xff\0\1\0\0\0", b"\x16/*! DELETE FROM kept */", b"\x17\xff\xff\xff\xff\0\1\0\0\0"],
    "prepared, a mode between": [b"\x16SELECT '\\'; DELETE FROM kept; -- '", "SET sql_mode = 'NO_BACKSLASH_ESCAPES'", b"\x17\xff\xff\xff\xff\0\1\0\0\0"],
    "prepared of SQL": [b"\x16PREPARE a FROM 'DELETE FROM kept'", b"\x17\xff\xff\xff\xff\0\1\0\0\0", "EXECUTE a", b"\x16EXECUTE IMMEDIATE 'DELETE FROM kept'", b"\x17\xff\xff\xff\xff\0\1\0\0\0"],
}
for number in (*range(0x20, 0x30), *range(0x60, 0x63), *range(0xf0, 0x100), 0x00, 0x0b, 0x0f, 0x10, 0x12, 0x13, 0x14, 0x15, 0x1d, 0x1e):
    SESSIONS[f"command {number:02x}"] = [bytes([number]) + GONE.encode()]

PIECES = ["/*", "/*!", "/*!50000 ", "/*!99999 ", "/*!100000", "/*M!", "/*M!100000 ", "/*+", "*/", "--", "-- ", "#", "\n", "'", "\"", "`", "\\",
          GONE, GONE, ";", ";", "SELECT 1", " ", "*", "/", "_gbk", "N", "x", "0", "WHERE id = 77", "(", ")", "BEGIN NOT ATOMIC ", " END", "\0", "a:"]

SERVERS = {"mariadb": (MariadbServer, None),
           "mysql": (mysql_nine.MysqlServer, f"IDENTIFIED BY '{TARGET_PASSWORD}'")}


@pytest.fixture(scope="module", params=SERVERS)
def shop(request, tmp_path_factory):
    kind, how = SERVERS[request.param]
    server = kind(make_certificate(tmp_path_factory.mktemp("guard-more-server"), "target"))
    target = MysqlTarget(server, how)
    rows = ", ".join(f"({i}, 'name {i}')" for i in range(1, 11))
    server.sql(f"""
        SET GLOBAL log_bin_trust_function_creators = 1; USE {target.database};
        CREATE TABLE kept (id INT PRIMARY KEY, name VARCHAR(40)); INSERT INTO kept VALUES {rows};
        CREATE TABLE other (id INT); INSERT INTO other VALUES (1), (2);
        CREATE DEFINER=root@localhost PROCEDURE wipe() DELETE FROM kept;
        DELIMITER //
        CREATE DEFINER=root@localhost FUNCTION wiping() RETURNS INT BEGIN DELETE FROM kept; RETURN 1; END //
        DELIMITER ;""")
    target.look = lambda: server.sql(
        f"SELECT * FROM {target.database}.kept ORDER BY id; SHOW CREATE TABLE {target.database}.kept;"
        "SELECT EVENT_DEFINITION FROM information_schema.EVENTS WHERE EVENT_DEFINITION LIKE '%kept%';"
        f"SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = '{target.database}'")
    yield target
    server.remove()


@pytest.fixture(scope="module")
def made(admin, shop):  # noqa: F811
    return guarded(admin, shop, RULES)


def step(run, conn, what):
    """A text, or a command as it stands, whose answer is not looked at."""
    if isinstance(what, str):
        run(conn, what)
        return
    conn._execute_command(what[0], what[1:])
    packet = conn._read_packet()
    if what[0] in (COMMAND.COM_STMT_PREPARE, COMMAND.COM_STMT_EXECUTE, COMMAND.COM_QUERY) and packet.get_all_data()[:1] not in (b"\0", b"\xff"):
        raise pymysql.err.InternalError("its answer is left, and so is the session")


def tried(made, run, steps, database):
    conn = connect(made, client_flag=CLIENT.MULTI_STATEMENTS, autocommit=True, charset="utf8mb4", local_infile=True, read_timeout=20)
    try:
        for what in steps:
            what = what.replace("{database}", database) if isinstance(what, str) else what.replace(b"{database}", database.encode())
            with contextlib.suppress(pymysql.MySQLError, UnicodeError, struct.error, IndexError):
                step(run, conn, what)
    finally:
        with contextlib.suppress(pymysql.MySQLError):
            conn.close()


def all_stay(shop, ways, attempt):
    """Looked at behind every thirty of them."""
    before = shop.look()
    for first in range(0, len(ways), 30):
        for name, way in ways[first:first + 30]:
            attempt(way)
        assert shop.look() == before, [name for name, _ in ways[first:first + 30]]


@pytest.mark.parametrize("run", [run_text, lambda conn, text: Prepared(conn).run(text)], ids=["text", "prepared"])
def test_no_session_gets_around(made, shop, run):
    all_stay(shop, list(SESSIONS.items()), lambda steps: tried(made, run, steps, shop.database))


@pytest.mark.parametrize("verb", ["DELETE FROM kept", "UPDATE kept SET name = 'x'"])
def test_no_condition_without_a_column_is_one(made, shop, verb):
    """Each is refused with our words, not by the server."""
    conn = connect(made, client_flag=CLIENT.MULTI_STATEMENTS, autocommit=True, charset="utf8mb4")
    passed = []

    def attempt(condition):
        try:
            run_text(conn, f"{verb} WHERE {condition}")
            passed.append(condition)
        except pymysql.MySQLError as error:
            if "guard rail" not in str(error):
                passed.append(f"{condition}: {error}")
    all_stay(shop, [(condition, condition) for condition in TRUE], attempt)
    conn.close()
    assert not passed, passed


def test_no_text_of_pieces_gets_around(made, shop):
    """By chance, and each time the same."""
    chance = random.Random(19)
    texts = ["".join(chance.choice(PIECES) for _ in range(chance.randint(3, 14))) for _ in range(1200)]
    texts = [text for text in texts if GONE in text]
    conn = connect(made, client_flag=CLIENT.MULTI_STATEMENTS, autocommit=True, charset="utf8mb4")

    def attempt(text):
        with contextlib.suppress(pymysql.MySQLError, UnicodeError):
            run_text(conn, text)
    all_stay(shop, [(text, text) for text in texts], attempt)
    conn.close()


QUERY_ATTRIBUTES, OPTIONAL_METADATA = 1 << 27, 1 << 25


def test_what_is_not_offered_is_not_spoken(made, shop):
    """Query attributes, optional and cached metadata: who takes them all the same speaks the plain protocol, and
    a command with attributes in front is a text that begins with their bytes, here as at the target."""
    before = shop.look()
    plain = 0x00ffa28d & ~0x4000 & ~8
    for capabilities in (plain | QUERY_ATTRIBUTES, plain | OPTIONAL_METADATA, (plain | QUERY_ATTRIBUTES | OPTIONAL_METADATA) & ~1):
        raw = Raw(made, capabilities=capabilities)
        assert raw.first[0] == 0 and not raw.server_capabilities & (QUERY_ATTRIBUTES | OPTIONAL_METADATA), raw.first
        assert raw.ask(b"\x03SELECT 1")[0] == b"\1"  # a number of columns, and nothing in front of it
        assert len(raw.rows()) == 4
        for command in (b"\x03\0\1" + GONE.encode(), b"\x03\1\1\0\1\xfd\0\1a\1x" + GONE.encode(), b"\x03\0\1SELECT 1"):
            assert raw.ask(command)[0][0] == 0xff, command
        assert raw.ask(b"\x0e")[0][0] == 0
        raw.sock.close()
    assert shop.look() == before
