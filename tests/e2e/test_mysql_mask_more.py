# SPDX-License-Identifier: MIT
"""More ways to a masked value, at MariaDB and, at full length, at MySQL 9: names that a server makes up,
set operations, views, types, joins, windows, variables, sequences, triggers, errors and warnings, what a
server shows of itself, old versions of rows, texts that are read in another way."""
import json
import struct
import time

import pymysql
import pytest
from pymysql.constants import CLIENT

import mysql_nine
from mariadb import TARGET_PASSWORD, MariadbServer, MysqlTarget, connect
from test_mysql_mask import (MARKS, NUMBER, SECRET, admin, fill, gateway,  # noqa: F401 (fixtures)
                             masked, prepared_rows, text_rows, tried)
from test_tls import make_certificate

# Of the number, in other systems and in its bytes; and most of the word.
MORE_MARKS = (*MARKS, "WmFuemliYX", "845FED", "41057755", "100001000101111111101101", "Zanziba", "anzibar",
              "867530", struct.pack("<d", float(NUMBER)).hex().upper())
COLUMNS = ["pay.card", "pay.salary", "versioned.card", "odd.bits", "odd.place", "odd.doc", "odd.raw", "odd.n"]

WAYS = {}


def way(name, *statements):
    assert name not in WAYS, name
    WAYS[name] = "; ".join(statements)


# set operations whose columns are called by a literal or parentheses
for literal, name in [
        ("(x)", "x"), ("((x))", "x"), ("+x", "x"), ("(other.x)", "x"), ("'a' 'b'", "ab"), ("('a')", "a"), ("(('a' 'b'))", "ab"),
        ("(2)", "2"), ("+2", "2"), ("N'a'", "a"), ("(_utf8mb4'a')", "a"), ("_latin1'a' 'b'", "ab"), ("(TRUE)", "TRUE"),
        ("+(x)", "x"), ("(NULL)", "NULL"), ("ALL(x)", "x"), ("DISTINCT (x)", "x"), ("SQL_NO_CACHE (x)", "x"), ("'a'\n'b'", "ab"),
        ("'a'/**/'b'", "ab"), ("\"a\" 'b'", "ab"), ("(- 2)", "- 2"), ("(other . x)", "x"), ("({database}.other.x)", "x")]:
    way(f"called by {literal}", f"SELECT 1, `{name}` FROM (SELECT {literal} FROM other UNION SELECT card FROM pay) d")
way("named in a cte", "WITH a AS (SELECT (x) FROM other UNION SELECT card FROM pay) SELECT 1, 2, x FROM a")
way("named in a recursive cte", "WITH RECURSIVE a AS (SELECT 1 AS n, (x) FROM other UNION ALL SELECT n + 1, card FROM pay JOIN a ON n < 2) SELECT 1, 2, 3, x FROM a")
way("named by except", "SELECT 1, x FROM (SELECT (x) FROM other UNION SELECT card FROM pay EXCEPT SELECT 'q') d")
way("named in intersect", "SELECT 1, CONCAT(x, '') FROM ((SELECT (x) FROM other) UNION (SELECT card FROM pay)) d")
way("shifted", "SELECT 1, 2, 3, x FROM (SELECT id, x FROM other UNION SELECT id, card FROM pay) d")
way("shifted twice", "SELECT 1, 2, q FROM (SELECT 0, x AS q FROM (SELECT x FROM other UNION SELECT card FROM pay) a) b")
way("deep union", "SELECT 1, x FROM (SELECT x FROM (SELECT x FROM (SELECT x FROM other UNION ALL SELECT card FROM pay) a) b) c")
way("union of unions", "SELECT 1, x FROM ((SELECT x FROM other UNION SELECT note FROM pay) UNION (SELECT note FROM pay UNION SELECT card FROM pay)) d")
way("union, order", "SELECT 1, x FROM (SELECT x FROM other UNION SELECT card FROM pay ORDER BY 1 DESC LIMIT 3) d")
way("union with group", "SELECT 1, GROUP_CONCAT(x) FROM (SELECT x FROM other UNION SELECT card FROM pay) d GROUP BY 1")
way("union, right join", "SELECT 1, d.x FROM other o RIGHT JOIN (SELECT x FROM other UNION SELECT card FROM pay) d ON 1")
way("in cte joined", "WITH a AS (SELECT id, note FROM pay), b AS (SELECT id, card AS z FROM pay) SELECT a.note, b.z FROM a JOIN b USING (id)")
way("cte used twice", "WITH a AS (SELECT card AS z FROM pay) SELECT p.z, q.z FROM a p, a q")
way("cte in a subquery", "SELECT (WITH a AS (SELECT card AS z FROM pay) SELECT MAX(z) FROM a) AS note")
way("cte named as a column", "WITH note AS (SELECT card AS n FROM pay) SELECT note.n FROM note")
way("cte shadows in an inner query", "WITH other AS (SELECT 1 AS x) SELECT x FROM (WITH other AS (SELECT card AS x FROM pay) SELECT x FROM other) d")
way("cycle", "WITH RECURSIVE a(n, z) AS (SELECT id, card FROM pay UNION SELECT n, z FROM a WHERE n > 9) CYCLE n RESTRICT SELECT 5, z FROM a")
# views
for view, column in [("reversed", "note"), ("hidden_in", "note"), ("counted", "id"), ("renamed", "b"), ("over_view", "note"),
                     ("with_cte", "note"), ("grouped", "note")]:
    way(f"view {view}", f"SELECT {column} FROM {view}")
    way(f"view {view}, computed", f"SELECT CONCAT({column}, '') AS q FROM {view} v")
way("view in a cte", "WITH a AS (SELECT * FROM renamed) SELECT b FROM a")
way("view in a union", "SELECT x FROM other UNION SELECT b FROM renamed")
way("view in a scalar", "SELECT (SELECT MAX(b) FROM renamed)")
way("view, natural", "SELECT * FROM renamed NATURAL JOIN (SELECT id AS a FROM pay) d")
way("view inserted into", "INSERT INTO filtered (id, note) VALUES (9, 'q')")
way("view updated", "UPDATE renamed r, other o SET o.x = r.b")
way("view in another schema's name", "SELECT b FROM `{database}` . `renamed`")
way("view by handler", "HANDLER renamed OPEN", "HANDLER renamed READ FIRST")
way("view explained", "EXPLAIN EXTENDED SELECT * FROM renamed", "SHOW WARNINGS")
way("view shown", "SHOW CREATE VIEW renamed", "SELECT b FROM renamed")
way("view checked", "CHECK TABLE renamed", "CHECKSUM TABLE renamed EXTENDED")
# types
for e in ["bits", "bits + 0", "HEX(bits)", "OCT(bits)", "BIN(bits)", "place", "ST_AsText(place)", "ST_AsWKB(place)",
          "ST_X(place)", "HEX(place)", "doc", "doc->'$.a'", "JSON_VALUE(doc, '$.a')", "JSON_UNQUOTE(doc->'$.a')",
          "JSON_PRETTY(doc)", "raw", "TO_BASE64(raw)", "n", "CAST(n AS INT)", "n DIV 1", "FORMAT(n, 2)", "TRUNCATE(n, 0)",
          "ROUND(n)", "LPAD(raw, 60, 'q')", "EXPORT_SET(bits, '1', '0', '', 24)", "MAKE_SET(1, raw)", "INET_NTOA(n)",
          "SEC_TO_TIME(n)", "FROM_UNIXTIME(n)", "COMPRESS(raw)", "UNCOMPRESS(COMPRESS(raw))", "CONVERT(raw USING ucs2)",
          "AES_DECRYPT(AES_ENCRYPT(raw, 'a'), 'a')", "CONVERT(raw USING utf32)", "raw COLLATE binary",
          "CHAR(ORD(raw), ORD(MID(raw, 2)), ORD(MID(raw, 3)), ORD(MID(raw, 4)), ORD(MID(raw, 5)), ORD(MID(raw, 6)), ORD(MID(raw, 7)))"]:
    way(f"type {e}", f"SELECT {e} AS y FROM odd")
    way(f"type {e}, derived", f"SELECT q FROM (SELECT {e} AS q FROM odd) d")
# joins
way("natural join tells", "SELECT card FROM keyed NATURAL JOIN pay")
way("using, right", "SELECT card FROM keyed RIGHT JOIN pay USING (card)")
way("using, left", "SELECT card FROM pay LEFT JOIN keyed USING (card)")
way("using, star", "SELECT * FROM keyed RIGHT JOIN pay USING (card)")
way("using, qualified", "SELECT keyed.card, pay.card FROM keyed JOIN pay USING (card)")
way("using, coalesced", "SELECT COALESCE(card, '') FROM keyed RIGHT JOIN pay USING (card)")
way("natural right", "SELECT * FROM keyed NATURAL RIGHT JOIN pay")
way("natural, three", "SELECT * FROM keyed NATURAL RIGHT JOIN pay NATURAL LEFT JOIN other")
way("equality carries it over", "SELECT keyed.card, MIN(keyed.card) FROM keyed JOIN pay ON keyed.card = pay.card GROUP BY pay.card")
way("equality by where", "SELECT k.card FROM keyed k, pay p WHERE k.card = p.card ORDER BY p.card")
way("odbc join", "SELECT card FROM { OJ keyed RIGHT OUTER JOIN pay USING (card) }")
way("odbc, derived", "SELECT x FROM { OJ (SELECT card AS x FROM pay) other LEFT JOIN keyed ON 1 }")
way("odbc function", "SELECT {fn UCASE(card)} FROM pay")
way("nested joins", "SELECT q.z FROM (other o JOIN ((SELECT card AS z FROM pay) q JOIN keyed k)) ")
way("lateral", "SELECT d.z FROM pay p, LATERAL (SELECT p.card AS z) d")
way("values row", "SELECT * FROM (VALUES ROW((SELECT MAX(card) FROM pay))) v")
way("values", "SELECT * FROM (VALUES ((SELECT MAX(card) FROM pay)), ('a')) v")
way("values, union", "VALUES ('a') UNION SELECT card FROM pay")
way("table in a union", "(TABLE pay) UNION (TABLE pay)")
# positions, aliases
way("alias in having", "SELECT note AS q FROM pay HAVING q = (SELECT MAX(card) FROM pay) OR 1")
way("alias hides", "SELECT p.card note, p.note card FROM pay p")
way("alias chain", "SELECT a AS b FROM (SELECT b AS a FROM (SELECT a AS b FROM (SELECT card AS a FROM pay) x) y) z")
way("alias as a keyword", "SELECT `select` FROM (SELECT card AS `select` FROM pay) d")
way("alias as a function", "SELECT count FROM (SELECT card AS count FROM pay) d")
way("alias as a string", "SELECT d.q FROM (SELECT card 'q' FROM pay) d")
way("alias in double quotes", "SELECT d.q FROM (SELECT card AS \"q\" FROM pay) d")
way("alias in hex", "SELECT d.q FROM (SELECT card AS 'Q' FROM pay) d")
way("alias with a dot", "SELECT d.`pay.note` FROM (SELECT card AS `pay.note` FROM pay) d")
way("alias of the table", "SELECT note.card FROM pay AS note")
way("alias of the table, star", "SELECT note.* FROM pay AS note")
way("alias as a star", "SELECT `*` FROM (SELECT card AS `*` FROM pay) d")
way("group by position", "SELECT card, 1 FROM pay GROUP BY 1")
way("rollup of it", "SELECT COALESCE(card, 'all') AS note, COUNT(*) FROM pay GROUP BY card WITH ROLLUP")
way("distinct of two", "SELECT DISTINCT card note, salary id FROM pay")
way("row constructor", "SELECT (SELECT card FROM pay WHERE (id, note) = (1, 'first')) AS id")
way("exists with a union", "SELECT IF(EXISTS (SELECT id, x FROM other INTERSECT SELECT id, card FROM pay), 1, (SELECT MIN(card) FROM pay))")
way("subquery in a limit of rows", "SELECT id, (SELECT card FROM pay q WHERE q.id = pay.id LIMIT 1) FROM pay LIMIT 3")
way("in order by", "SELECT id FROM pay ORDER BY EXTRACTVALUE(1, CONCAT('~', card))")
# windows
way("window frame", "SELECT MAX(card) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS note FROM pay")
way("window of a window", "SELECT q FROM (SELECT LAG(card, 1, 'x') OVER w AS q FROM pay WINDOW w AS (ORDER BY id)) d")
way("window by name, inherited", "SELECT LEAD(card) OVER (w ORDER BY id) AS q FROM pay WINDOW w AS (PARTITION BY 1)")
way("string_agg", "SELECT GROUP_CONCAT(DISTINCT card, salary ORDER BY 1 SEPARATOR 0x7c) FROM pay")
way("json group", "SELECT JSON_ARRAYAGG(card ORDER BY id LIMIT 2) FROM pay")
# variables, sequences, procedures, triggers
way("into two", "SELECT note, card INTO @note, @a FROM pay WHERE id = 1", "SELECT @a")
way("variable in a limit", "SELECT @a := MAX(card) FROM pay", "SELECT @a + 0", "SHOW WARNINGS")
way("variable by a set function", "SET @a = (SELECT GROUP_CONCAT(card) FROM pay)", "SELECT @a")
way("variable by do", "DO @a := (SELECT MAX(card) FROM pay)", "SELECT @a")
way("variable in a load", "SELECT @a := x FROM other WHERE x = (SELECT @a := MAX(card) FROM pay)", "SELECT @a")
way("identity", "SELECT LAST_INSERT_ID(MAX(salary)) FROM pay", "SELECT @@identity, @@last_insert_id")
way("seed", "SET rand_seed1 = (SELECT MAX(salary) FROM pay)", "SELECT @@rand_seed1")
way("timestamp", "SET timestamp = (SELECT MIN(salary) FROM pay)", "SELECT UNIX_TIMESTAMP(), @@timestamp")
way("insert_id", "SET insert_id = (SELECT MIN(salary) FROM pay)", "SELECT @@insert_id")
way("sequence set", "CREATE OR REPLACE SEQUENCE sq2 START (SELECT MAX(salary) FROM pay)", "SELECT NEXTVAL(sq2)")
way("sequence by setval", "SELECT SETVAL(sq3, salary) FROM pay", "SELECT LASTVAL(sq3)")
way("sequence altered", "ALTER SEQUENCE sq3 RESTART (SELECT MAX(salary) FROM pay)")
way("default of a sequence", "CREATE TABLE zz1 (id BIGINT DEFAULT (SELECT MAX(salary) FROM pay))", "INSERT INTO zz1 () VALUES ()", "SELECT * FROM zz1")
way("trigger that exists not", "CREATE TRIGGER tr9 AFTER DELETE ON pay FOR EACH ROW INSERT INTO other VALUES (5, OLD.card)")
way("generated, stored", "ALTER TABLE pay ADD COLUMN gg VARCHAR(60) AS (REVERSE(card)) STORED", "SELECT gg FROM pay")
way("default to it", "ALTER TABLE pay ADD COLUMN gh VARCHAR(60) DEFAULT (CONCAT(card, ''))")
way("invisible", "ALTER TABLE pay MODIFY card VARCHAR(60) INVISIBLE", "SELECT card FROM pay")
way("like and exchange", "CREATE TABLE zz2 LIKE pay", "ALTER TABLE parted EXCHANGE PARTITION p0 WITH TABLE zz2")
way("create with select", "CREATE TABLE zz3 (q VARCHAR(60)) SELECT card AS q FROM pay", "SELECT q FROM zz3")
way("create ignoring", "CREATE TABLE IF NOT EXISTS zz4 IGNORE SELECT * FROM pay", "SELECT * FROM zz4")
way("create replacing", "CREATE TEMPORARY TABLE zz5 (PRIMARY KEY (id)) REPLACE SELECT id, card q FROM pay", "SELECT q FROM zz5")
way("create with cte", "CREATE TABLE zz6 WITH c AS (SELECT card q FROM pay) SELECT q FROM c", "SELECT q FROM zz6")
way("create union", "CREATE TABLE zz7 SELECT x FROM other UNION SELECT card FROM pay", "SELECT x FROM zz7")
way("insert with cte", "INSERT INTO other (x) WITH c AS (SELECT card q FROM pay) SELECT q FROM c")
way("insert select union", "INSERT INTO other SELECT id, note FROM pay UNION SELECT id, card FROM pay")
way("insert set", "INSERT INTO other SET id = 7, x = (SELECT card FROM pay LIMIT 1)")
way("insert delayed", "INSERT HIGH_PRIORITY IGNORE INTO other SELECT 3, p.card FROM pay p")
way("insert natural", "INSERT INTO other (x) SELECT z FROM (SELECT note z FROM pay) a NATURAL JOIN (SELECT note z, card FROM pay) b")
way("insert on duplicate, another's", "INSERT INTO pay (id, note) SELECT id, card FROM (SELECT 1 id, MAX(card) card FROM pay) q ON DUPLICATE KEY UPDATE note = q.card")
way("insert, values of", "INSERT INTO pay (id, card) VALUES (1, 'x') ON DUPLICATE KEY UPDATE note = CONCAT(VALUES(card), card)")
way("replace set", "REPLACE INTO pay SET id = 1, card = 'q', note = (SELECT card FROM (SELECT card FROM pay WHERE id = 1) z)")
way("update swapped", "UPDATE pay SET card = note, note = card")
way("update by join using", "UPDATE other JOIN pay USING (id) SET x = CONCAT(card, '')")
way("update, cte", "WITH c AS (SELECT id, card q FROM pay) UPDATE other JOIN c USING (id) SET x = q")
way("update derived", "UPDATE other o JOIN (SELECT id, card q FROM pay) d ON d.id = o.id SET o.x = d.q")
way("update, order", "UPDATE pay SET note = card ORDER BY id LIMIT 1")
way("delete returning star", "DELETE FROM pay WHERE id = 3 RETURNING *")
way("delete returning, aliased", "DELETE FROM pay WHERE id = 3 RETURNING card AS note, salary + 0 AS id")
way("replace returning", "REPLACE INTO other VALUES (1, 'one') RETURNING (SELECT GROUP_CONCAT(card) FROM pay) AS x")
way("insert returning star", "INSERT INTO pay (id, card, salary) VALUES (88, 'Zanzibar', 8675309) RETURNING *")
# errors and warnings
way("duplicate by insert", "INSERT INTO pay SELECT id + 50, card, note, salary FROM (SELECT * FROM pay) q")
way("duplicate, ignored", "INSERT IGNORE INTO pay (id, card) SELECT 60, card FROM (SELECT MAX(card) card FROM pay) q", "SHOW WARNINGS")
way("duplicate by alter", "ALTER TABLE odd ADD UNIQUE (raw(3))", "SHOW WARNINGS")
way("warnings, limited", "SELECT card + 0 FROM pay", "SHOW WARNINGS LIMIT 1, 1")
way("warnings, counted", "SELECT card + 0 FROM pay", "SHOW COUNT(*) WARNINGS", "SELECT @@warning_count")
way("errors of a cast", "SELECT CAST(card AS UNSIGNED), CAST(card AS DECIMAL(5)) FROM pay", "SHOW WARNINGS")
way("warnings of a date", "SELECT STR_TO_DATE(card, '%Y'), DATE(card), TIMEDIFF(card, '1') FROM pay", "SHOW WARNINGS")
way("warnings of JSON", "SELECT JSON_EXTRACT(card, '$'), JSON_VALID(card) FROM pay", "SHOW WARNINGS")
way("warnings of a regexp", "SELECT 'a' RLIKE CONCAT('[', card) FROM pay", "SHOW ERRORS")
way("warnings of name_const", "SELECT NAME_CONST(card, 1) FROM pay", "SHOW WARNINGS")
way("warnings of division", "SELECT 1 / (card = 'x') FROM pay", "SHOW WARNINGS")
way("warnings where nothing is read", "SELECT id FROM pay WHERE card + 0 = 5", "SHOW WARNINGS")
way("warnings in an update", "UPDATE pay SET note = 'n' WHERE card = 0", "SHOW WARNINGS")
way("error in group_concat", "SET group_concat_max_len = 5", "SELECT GROUP_CONCAT(card) FROM pay", "SHOW WARNINGS")
way("signal", "SIGNAL SQLSTATE '01000' SET MESSAGE_TEXT = (SELECT MAX(card) FROM pay)", "SHOW WARNINGS")
way("resignal", "RESIGNAL SET MESSAGE_TEXT = 'x'")
way("diagnostics, counted", "SELECT card + 0 FROM pay", "GET DIAGNOSTICS @n = NUMBER", "GET CURRENT DIAGNOSTICS CONDITION 1 @a = MESSAGE_TEXT", "SELECT @a")
way("error by geometry", "SELECT ST_GeomFromText(card), ST_GeomFromGeoJSON(card) FROM pay")
way("error by uuid", "SELECT BIN_TO_UUID(card), UUID_TO_BIN(card) FROM pay")
way("error by overflow", "SELECT CAST(9223372036854775807 AS SIGNED) + salary, ~0 + salary, salary * 1e308 * 1e308 FROM pay")
way("error by cot", "SELECT COT(salary - salary), EXP(salary), POW(10, salary) FROM pay")
way("error by month", "SELECT PERIOD_ADD(salary, 1), MAKEDATE(salary, salary), CONVERT_TZ(card, card, card) FROM pay", "SHOW WARNINGS")
way("error in xml", "SELECT UPDATEXML(CONCAT('<a>', card), '/a', '<b/>') FROM pay", "SHOW WARNINGS")
# what the server shows
way("explain to a table", "EXPLAIN FORMAT=JSON SELECT * FROM pay WHERE card > (SELECT MIN(card) FROM pay)")
way("analyze statement", "ANALYZE SELECT * FROM pay WHERE card > 'Z'")
way("show explain, json", "SHOW EXPLAIN FORMAT=JSON FOR 1")
way("show analyze", "SHOW ANALYZE FORMAT=JSON FOR 1")
way("schema, statistics", "SELECT * FROM information_schema.INDEX_STATISTICS")
way("schema, column statistics", "SELECT * FROM information_schema.COLUMN_STATISTICS")
way("schema, user variables", "SET @a = 1", "SELECT * FROM information_schema.USER_VARIABLES")
way("schema, trace", "SELECT * FROM information_schema.OPTIMIZER_TRACE")
way("schema, profiling", "SET profiling = 1", "SELECT card FROM pay", "SHOW PROFILE")
way("schema, processlist, aliased", "SELECT i.INFO FROM information_schema.`PROCESSLIST` i, pay")
way("schema by use", "USE information_schema", "SELECT INFO FROM PROCESSLIST")
way("schema, innodb metrics", "SELECT * FROM information_schema.INNODB_SYS_TABLESTATS")
way("sys, statement", "SELECT * FROM sys.statement_analysis")
way("sys, processlist", "SELECT * FROM sys.processlist, pay")
way("show binary log", "SHOW BINLOG EVENTS LIMIT 5")
way("show relay log", "SHOW RELAYLOG EVENTS")
way("show open tables", "SHOW OPEN TABLES WHERE (SELECT EXTRACTVALUE(1, CONCAT('~', MAX(card))) FROM pay)")
way("show columns where", "SHOW COLUMNS FROM pay WHERE EXTRACTVALUE(1, CONCAT('~', (SELECT MAX(card) FROM pay)))")
way("show full columns like", "SHOW FULL COLUMNS FROM pay LIKE (SELECT MAX(card) FROM pay)")
way("show index where", "SHOW INDEX FROM pay WHERE (SELECT MAX(card) FROM pay) = 1")
way("help with a query", "HELP (SELECT MAX(card) FROM pay)")
way("kill by a query", "KILL QUERY (SELECT MIN(salary) FROM pay)")
way("handler, where", "HANDLER pay OPEN AS k", "HANDLER k READ `PRIMARY` = (1) WHERE card > ''")
way("handler with comments", "HANDLER/**/pay/**/OPEN", "HANDLER pay READ NEXT LIMIT 3")
way("checksum", "CHECKSUM TABLE pay EXTENDED")
way("procedure analyse", "SELECT card, salary FROM pay PROCEDURE ANALYSE (10, 2000)")
way("outfile", "SELECT * INTO OUTFILE 'x9' FIELDS TERMINATED BY ',' FROM pay")
way("outfile, a variable", "SELECT card FROM pay INTO OUTFILE 'x8' LINES TERMINATED BY '\\n'")
way("load local with set", "LOAD DATA LOCAL INFILE '/dev/null' INTO TABLE other (id, @q) SET x = (SELECT MAX(card) FROM pay)")
way("load xml", "LOAD XML LOCAL INFILE '/dev/null' INTO TABLE other SET x = (SELECT MAX(card) FROM pay)")
# versions
for clause in ("ALL", "AS OF NOW(6)", "BETWEEN '2000-01-01' AND '2100-01-01'", "FROM '2000-01-01' TO '2100-01-01' AS o"):
    way(f"versioned {clause}", f"SELECT card FROM versioned FOR SYSTEM_TIME {clause}")
way("versioned, computed", "SELECT CONCAT(card), ROW_START FROM versioned FOR SYSTEM_TIME ALL")
way("versioned by a setting", "SET system_versioning_asof = '2100-01-01'", "SELECT CONCAT(card, '') FROM versioned")
# texts read in another way
way("sql_mode in one text", "SET sql_mode = 'ANSI_QUOTES'", "SELECT CONCAT(\"card\") AS \"note\" FROM \"pay\"")
way("sql_mode by prefix", "SET STATEMENT sql_mode = 'ANSI_QUOTES' FOR SELECT \"card\" FROM \"pay\"")
way("pipes", "SET sql_mode = 'PIPES_AS_CONCAT'", "SELECT '' || card AS note FROM pay")
way("ignore_space", "SET sql_mode = 'IGNORE_SPACE'", "SELECT MAX (card) AS note FROM pay")
way("no_backslash in a string", "SET sql_mode = 'NO_BACKSLASH_ESCAPES'", "SELECT '\\', card AS note FROM pay")
way("charset introducer", "SELECT CONCAT(_binary '', card) AS note FROM pay")
way("introducer of sjis", "SELECT _sjis'\\', card AS note FROM pay -- '")
way("names sjis", "SET NAMES sjis", "SELECT card AS note FROM pay")
way("names utf16 for results", "SET character_set_results = utf32", "SELECT CONCAT(card) FROM pay")
way("names binary", "SET NAMES binary", "SELECT CONCAT(card, '') FROM pay")
way("versioned comment amid", "SELECT /*!100000 CONCAT( */ card /*!100000 ) */ AS note FROM pay")
way("comment for others", "SELECT note /*!80000 , card */ FROM pay")
way("comment, two of them", "SELECT note /*M!100100 , card */ /*!999999 , id */ FROM pay")
way("line comment ends", "SELECT note -- \n , CONCAT(card) FROM pay")
way("hash comment ends", "SELECT note # x\n , CONCAT(card) AS q FROM pay")
way("dash that is none", "SELECT 1--1, CONCAT(card) AS q FROM pay")
way("string over lines", "SELECT 'a\nb', CONCAT(card) AS 'q' FROM pay")
way("semicolon in a name", "SELECT CONCAT(card) AS `a;b` FROM pay")
way("trailing semicolons", "SELECT CONCAT(card) AS q FROM pay;;")
way("national string", "SELECT N'x', CONCAT(N'', card) AS q FROM pay")
way("multi with a derived", "SELECT x FROM other", "SELECT x FROM (SELECT card AS x FROM pay) other")
way("multi, origins of another", "SELECT x, id FROM other", "SELECT other.x FROM pay, (SELECT card AS x FROM pay) other")
way("prepare by parts", "PREPARE q FROM 'SELECT ca''rd'")
way("execute immediate using", "EXECUTE IMMEDIATE 'SELECT card FROM pay WHERE id = ?' USING 1")
way("compound", "BEGIN NOT ATOMIC FOR r IN (SELECT card FROM pay) DO SELECT r.card; END FOR; END")
way("if", "IF (SELECT MAX(card) FROM pay) > 'a' THEN SELECT card FROM pay; END IF")
way("for statement", "SET STATEMENT optimizer_switch = 'derived_merge=off' FOR SELECT q FROM (SELECT card q FROM pay) d")
way("derived, no merge", "SET optimizer_switch = 'derived_merge=off'", "SELECT x FROM (SELECT card AS x FROM pay) other")
way("derived, materialized", "SET optimizer_switch = 'derived_merge=off,derived_with_keys=on'", "SELECT o.x FROM other k JOIN (SELECT card AS x FROM pay) o ON 1")
way("temporary that shadows", "CREATE TEMPORARY TABLE pay (id INT, card VARCHAR(60))", "SELECT card FROM pay", "DROP TEMPORARY TABLE pay", "SELECT CONCAT(card) FROM pay")
way("renamed away by another's name", "RENAME TABLE other TO other0, pay TO other, other0 TO pay", "SELECT card FROM other")
way("renamed column", "ALTER TABLE pay RENAME COLUMN card TO note9", "SELECT note9 FROM pay")
way("moved to another database", "RENAME TABLE pay TO information_schema.pay")
way("bulk union", "SELECT * FROM (SELECT 1 AS a UNION ALL SELECT card FROM pay) AS t(b)")
way("table alias columns", "SELECT b FROM (SELECT card FROM pay) AS t(b)")
way("xml names", "SELECT q FROM (SELECT EXTRACTVALUE(CONCAT('<q>', card, '</q>'), '/q') AS q FROM pay) d")
way("if null of both", "SELECT IFNULL(NULL, card) note, NULLIF(card, '') id FROM pay")
way("between", "SELECT id BETWEEN 1 AND 2 n, card BETWEEN 'Z' AND 'a' m, GREATEST(card, 'A') q FROM pay")
way("interval alias", "SELECT DATE_ADD('2000-01-01', INTERVAL salary SECOND) day FROM pay")
way("member", "SELECT JSON_CONTAINS(JSON_ARRAY(card), '1') q, JSON_SEARCH(JSON_ARRAY(card), 'one', 'Zan%', NULL, '$') r, JSON_MERGE_PATCH('{}', JSON_OBJECT('k', card)) s FROM pay")


TABLES = """CREATE TABLE pay (id INT PRIMARY KEY, card VARCHAR(60), note VARCHAR(60), salary BIGINT, UNIQUE (card));
    CREATE TABLE other (id INT, x VARCHAR(60)); INSERT INTO other VALUES (1, 'one'), (2, 'two');
    CREATE TABLE odd (id INT PRIMARY KEY, bits BIT(24), place GEOMETRY, doc JSON, raw BLOB, n DECIMAL(20,2), y VARCHAR(60));
    INSERT INTO odd VALUES (1, {number}, POINT({number}, 1), JSON_OBJECT('a', '{secret}-1'), '{secret}-1', {number}, 'plain');
    CREATE TABLE keyed (card VARCHAR(60), x VARCHAR(60)); INSERT INTO keyed VALUES ('zAnZiBaR-1', 'guess');
    CREATE TABLE parted (id INT PRIMARY KEY, card VARCHAR(60), note VARCHAR(60), salary BIGINT)
        PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (1000));
    CREATE VIEW reversed AS SELECT id, REVERSE(card) AS note FROM pay;
    CREATE VIEW hidden_in AS SELECT id, CONCAT(note, card) AS note FROM pay;
    CREATE VIEW counted AS SELECT MAX(card) AS id, COUNT(*) AS n FROM pay;
    CREATE VIEW renamed(a, b) AS SELECT id, card FROM pay;
    CREATE VIEW over_view AS SELECT b AS note FROM renamed;
    CREATE VIEW with_cte AS WITH c AS (SELECT card AS note FROM pay) SELECT note FROM c;
    CREATE VIEW grouped AS SELECT GROUP_CONCAT(card) AS note FROM pay GROUP BY id;
    CREATE VIEW filtered AS SELECT id, note FROM pay WHERE card LIKE 'Zan%' WITH CHECK OPTION;
"""
MARIADB_TABLES = """CREATE TABLE versioned (id INT, card VARCHAR(60)) WITH SYSTEM VERSIONING;
    INSERT INTO versioned VALUES (1, '{secret}-v'); UPDATE versioned SET card = 'new';
"""
SERVERS = {"mariadb": (MariadbServer, None, MARIADB_TABLES, 190),
           "mysql": (mysql_nine.MysqlServer, f"IDENTIFIED BY '{TARGET_PASSWORD}'", "", 150)}


@pytest.fixture(scope="module", params=SERVERS)
def target(request, tmp_path_factory):
    kind, how, tables, _ = SERVERS[request.param]
    server = kind(make_certificate(tmp_path_factory.mktemp("mysql-mask-more"), "target"))
    target = MysqlTarget(server, how)
    target.shown_at_least = SERVERS[request.param][3]
    server.sql(f"GRANT PROCESS ON *.* TO {target.user}@'%'; USE {target.database};"
               + (TABLES + tables).format(secret=SECRET, number=NUMBER))
    yield target
    server.remove()


@pytest.fixture(scope="module")
def made(admin, target):  # noqa: F811
    return masked(admin, target, columns=[{"name": name} for name in COLUMNS])


@pytest.mark.parametrize("run", [text_rows, prepared_rows])
def test_no_further_way_shows_a_masked_value(made, target, run):
    fill(target)
    lost = {}
    for name, statement in WAYS.items():
        heard = tried(run, made, statement.replace("{database}", target.database))
        if any(mark in heard for mark in MORE_MARKS):
            lost[name] = heard
            fill(target)
    assert not lost, json.dumps(lost, indent=1)


SETTINGS = ["sql_select_limit = 0", "sql_select_limit = 1", "sql_select_limit = 2", "sql_big_selects = 0, max_join_size = 1",
            "sql_auto_is_null = 1", "lock_wait_timeout = 1", "character_set_results = utf32", "collation_connection = utf8mb4_bin",
            "sql_mode = 'PAD_CHAR_TO_FULL_LENGTH'", "sql_mode = 'ONLY_FULL_GROUP_BY,NO_UNSIGNED_SUBTRACTION'", "div_precision_increment = 0",
            "optimizer_switch = 'derived_merge=off'", "autocommit = 0", "group_concat_max_len = 4", "max_sort_length = 8"]


def test_what_a_session_sets_hides_nothing_from_the_gateway(made, target):
    """What the gateway asks in the session must be answered in full: of which relations are views. It asks
    anew when a second has passed."""
    fill(target)
    conns = {setting: connect(made, client_flag=CLIENT.MULTI_STATEMENTS, charset="utf8mb4", autocommit=True)
             for setting in SETTINGS}
    heard = dict.fromkeys(SETTINGS, "")

    def hear(*texts):
        for setting, conn in conns.items():
            for text in texts:
                try:
                    heard[setting] += repr(text_rows(conn, text.format(setting=setting)))
                except (pymysql.MySQLError, UnicodeDecodeError) as error:
                    heard[setting] += repr(error)
    hear("SET {setting}")
    time.sleep(1.1)
    hear("SELECT b FROM renamed", "SELECT note FROM reversed", "SET sql_select_limit = DEFAULT", "SELECT b FROM renamed",
         "SELECT UPPER(note) FROM hidden_in", "SELECT note FROM with_cte")
    for conn in conns.values():
        conn.close()
    lost = {setting: told for setting, told in heard.items() if any(mark in told for mark in MORE_MARKS)}
    assert not lost, json.dumps(lost, indent=1)


def test_a_role_shows_what_was_not_there(made, target):
    """A view that the user sees by a role alone, right behind a question that did not find it."""
    fill(target)
    target.server.sql(f"""CREATE ROLE seer; CREATE DATABASE hidden; GRANT SELECT ON hidden.* TO seer; GRANT seer TO {target.user}@'%';
        CREATE VIEW hidden.v AS SELECT card AS b FROM {target.database}.pay""")
    conn = connect(made, charset="utf8mb4", autocommit=True)
    text_rows(conn, "SELECT note FROM pay")
    with pytest.raises(pymysql.MySQLError):
        text_rows(conn, "SELECT b FROM hidden.v")
    text_rows(conn, "SELECT note FROM pay")
    text_rows(conn, "SET ROLE seer")
    told = text_rows(conn, "SELECT b FROM hidden.v")
    conn.close()
    assert len(told) == 3 and SECRET not in repr(told), told


def test_these_are_ways_too(target):
    """Directly most of them show it."""
    fill(target)
    shown = 0
    for statement in WAYS.values():
        if any(word in statement for word in ("CREATE", "ALTER", "RENAME")):
            continue
        conn = target.direct(client_flag=CLIENT.MULTI_STATEMENTS, charset="utf8mb4")
        try:
            heard = repr(text_rows(conn, statement.replace("{database}", target.database)))
        except (pymysql.MySQLError, UnicodeDecodeError, ValueError) as error:
            heard = repr(error)
        shown += any(mark in heard for mark in MORE_MARKS)
        conn.rollback()
        conn.close()
    assert shown >= target.shown_at_least, shown
