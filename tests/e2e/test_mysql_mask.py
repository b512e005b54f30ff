# SPDX-License-Identifier: MIT
"""Masking at MariaDB: ways to a masked value, as text and prepared, none of which shows it; and what
has nothing to do with it passes as it came."""
import json
import random

import pymysql
import pytest
from pymysql.constants import CLIENT

from api import register, unique
from conftest import Gateway, wait_for
from mariadb import MariadbServer, MysqlTarget, connect
from mysql_binary import Prepared
from native import credential
from test_tls import make_certificate

SECRET = "Zanzibar"       # in every card, and in no statement
NUMBER = "8675309"        # every salary has it
MARKS = (SECRET, NUMBER, SECRET.lower(), SECRET.upper(), SECRET[::-1],
         SECRET.encode().hex(), SECRET.encode().hex().upper())

# None of them may show a mark; that they are refused, masked or fail is all one.
LEAKS = {
    "plain": "SELECT card, salary FROM pay",
    "star": "SELECT * FROM pay",
    "alias": "SELECT card AS note, salary AS id FROM pay",
    "table alias": "SELECT o.card AS note FROM pay AS other JOIN pay AS o ON o.id = other.id",
    "alias of another table": "SELECT other.card AS x FROM pay other",
    "database": "SELECT `{database}`.`pay`.`card` FROM `{database}`.`pay`",
    "case": "SELECT CARD, Salary FROM pay",
    "backticks": "SELECT `card` FROM `pay`",
    "code in a comment": "SELECT /*!50000 card */ FROM pay",
    "code in a comment, the table": "SELECT card /*! FROM pay */",
    "code for MariaDB": "SELECT card FROM /*M!100000 pay */",
    "code for later servers": "SELECT note /*!99999 , card */ FROM pay",
    "code for later servers hides it": "SELECT card FROM pay /*!99999 WHERE 1 */",
    "derived": "SELECT * FROM (SELECT card AS x FROM pay) d",
    "derived as another table": "SELECT * FROM (SELECT card AS x FROM pay) other",
    "derived as another table, its columns": "SELECT other.x FROM (SELECT card AS x, id FROM pay) AS other",
    "derived, limit": "SELECT x FROM (SELECT card AS x FROM pay LIMIT 9) other",
    "derived, distinct": "SELECT x FROM (SELECT DISTINCT card AS x FROM pay) other",
    "derived, joined": "SELECT q.x FROM other JOIN (SELECT card AS x FROM pay) q",
    "derived behind a comma": "SELECT q.x FROM other, (SELECT card AS x FROM pay) q",
    "derived in parentheses": "SELECT q.x FROM ((SELECT card AS x FROM pay) q)",
    "lateral values": "SELECT * FROM (VALUES ((SELECT MAX(card) FROM pay))) other",
    "cte": "WITH other AS (SELECT card AS x FROM pay) SELECT x FROM other",
    "cte, columns": "WITH other(id, x) AS (SELECT id, card FROM pay) SELECT x FROM other",
    "cte, recursive": "WITH RECURSIVE other(id, x) AS (SELECT 1, card FROM pay UNION ALL SELECT id + 1, x FROM other WHERE id < 2) SELECT x FROM other",
    "cte of a cte": "WITH a AS (SELECT card FROM pay), other(x) AS (SELECT * FROM a) SELECT x FROM other",
    "union": "SELECT x FROM other UNION SELECT card FROM pay",
    "union all": "SELECT x FROM other UNION ALL SELECT card FROM pay",
    "union first": "SELECT card AS x FROM pay UNION ALL SELECT x FROM other",
    "intersect": "SELECT card FROM pay INTERSECT SELECT card FROM pay",
    "except": "SELECT card FROM pay EXCEPT SELECT x FROM other",
    "scalar subquery": "SELECT (SELECT card FROM pay LIMIT 1) AS x FROM other",
    "subquery of nothing": "SELECT (SELECT MAX(card) FROM pay) AS x",
    "correlated": "SELECT (SELECT p.card) AS x FROM pay p",
    "max": "SELECT MAX(card), MIN(card), MAX(salary), SUM(salary), AVG(salary) FROM pay",
    "concat": "SELECT CONCAT(card, ''), CONCAT_WS('', card) FROM pay",
    "reverse": "SELECT REVERSE(card), LOWER(card), UPPER(card) FROM pay",
    "hex": "SELECT HEX(card), TO_BASE64(card), UNHEX(HEX(card)) FROM pay",
    "substring": "SELECT SUBSTRING(card, 1, 8) FROM pay",
    "cast": "SELECT CAST(card AS BINARY), CONVERT(card USING latin1), CAST(salary AS CHAR) FROM pay",
    "cast to utf16": "SELECT CONVERT(card USING utf16), CONVERT(card USING ucs2) FROM pay",
    "collate": "SELECT card COLLATE utf8mb4_bin, BINARY card FROM pay",
    "case expression": "SELECT CASE WHEN 1 THEN card END, IF(1, card, 1), IFNULL(card, 1), NULLIF(card, 1), COALESCE(card) FROM pay",
    "arithmetic": "SELECT salary + 0, salary * 1, -(-salary), salary DIV 1 FROM pay",
    "group": "SELECT card, COUNT(*) FROM pay GROUP BY card",
    "rollup": "SELECT card FROM pay GROUP BY card WITH ROLLUP",
    "group_concat": "SELECT GROUP_CONCAT(card), GROUP_CONCAT(card SEPARATOR '|') FROM pay",
    "json": "SELECT JSON_OBJECT('a', card), JSON_ARRAYAGG(card), JSON_QUOTE(card) FROM pay",
    "json_table": "SELECT t.x FROM pay, JSON_TABLE(JSON_ARRAY(card), '$[*]' COLUMNS (x VARCHAR(60) PATH '$')) t",
    "window": "SELECT FIRST_VALUE(card) OVER (ORDER BY id), LAG(card) OVER (ORDER BY id), LEAD(card) OVER (ORDER BY id) FROM pay",
    "natural join": "SELECT * FROM pay NATURAL JOIN pay AS p",
    "using": "SELECT card FROM pay JOIN pay AS p USING (card)",
    "values of another": "SELECT x, card FROM other LEFT JOIN pay ON pay.id = other.id",
    "row": "SELECT ROW(card, 1) = ROW('a', 1), card FROM pay",
    "for update": "SELECT card FROM pay FOR UPDATE",
    "procedure analyse": "SELECT card FROM pay PROCEDURE ANALYSE()",
    "view": "SELECT * FROM shown",
    "view, temptable": "SELECT * FROM shown_by_copy",
    "view, of a union": "SELECT * FROM shown_union",
    "view of a view": "SELECT * FROM shown_twice",
    "view, aliased": "SELECT other.x FROM shown AS other",
    "view in upper case": "SELECT * FROM Peek",
    "view and table": "SELECT s.x, o.x FROM shown s, other o",
    "view into another table": "INSERT INTO other (x) SELECT x FROM shown",
    "merge table": "SELECT * FROM merged",
    "function": "SELECT peek()",
    "function, qualified": "SELECT {database}.peek() AS x FROM other",
    "procedure": "CALL peeks()",
    "table statement": "TABLE pay",
    "handler": "HANDLER pay OPEN; HANDLER pay READ FIRST",
    "checksum": "CHECKSUM TABLE pay",
    "variable": "SELECT card INTO @a FROM pay LIMIT 1; SELECT @a",
    "variable assigned": "SELECT @a := card FROM pay; SELECT @a",
    "variable assigned, hidden": "SELECT (@a := card) IS NULL FROM pay; SELECT @a",
    "variable set": "SET @a = (SELECT MAX(card) FROM pay); SELECT @a",
    "variable in an update": "UPDATE pay SET id = id WHERE (@a := card) IS NULL; SELECT @a",
    "system variable": "SET SESSION init_slave = (SELECT MAX(card) FROM pay); SELECT @@init_slave",
    "last insert id": "SELECT LAST_INSERT_ID(salary) FROM pay; SELECT LAST_INSERT_ID()",
    "last insert id of an update": "UPDATE other SET id = LAST_INSERT_ID((SELECT MAX(salary) FROM pay)); SELECT LAST_INSERT_ID()",
    "into another table": "INSERT INTO other (x) SELECT card FROM pay",
    "into another table, star": "INSERT INTO wide SELECT * FROM pay",
    "into another table, derived": "INSERT INTO other (x) SELECT y FROM (SELECT 1 AS q, card AS y FROM pay) d",
    "into another table, cte": "INSERT INTO other (x) WITH c(a, y) AS (SELECT id, card FROM pay) SELECT y FROM c",
    "into another table, values": "INSERT INTO other (x) VALUES ((SELECT MAX(card) FROM pay))",
    "into another table, set": "INSERT INTO other SET x = (SELECT MAX(card) FROM pay)",
    "replace": "REPLACE INTO other (id, x) SELECT id, card FROM pay",
    "update of another table": "UPDATE other, pay SET other.x = pay.card WHERE other.id = pay.id",
    "update by subquery": "UPDATE other SET x = (SELECT MAX(card) FROM pay)",
    "update of its own": "UPDATE pay SET note = card",
    "update of its own, second": "UPDATE pay SET id = id, note = CONCAT(card, '')",
    "update, in parentheses": "UPDATE pay SET note = IF(card = 'x', 1, card)",
    "on duplicate key": "INSERT INTO pay (id, card) VALUES (1, 'y') ON DUPLICATE KEY UPDATE note = card",
    "create as": "CREATE TABLE copy1 AS SELECT card FROM pay",
    "create as, no word": "CREATE TABLE copy2 SELECT * FROM pay",
    "create temporary": "CREATE TEMPORARY TABLE copy3 AS SELECT card AS x FROM pay",
    "create view": "CREATE VIEW copy4 AS SELECT card AS x FROM pay",
    "create merge": "CREATE TABLE copy5 (id INT, card VARCHAR(60)) ENGINE=MRG_MyISAM UNION=(old_pay)",
    "create function": "CREATE FUNCTION copy6() RETURNS VARCHAR(60) RETURN (SELECT MAX(card) FROM pay)",
    "create trigger": "CREATE TRIGGER copy7 BEFORE UPDATE ON pay FOR EACH ROW SET NEW.note = OLD.card",
    "create event": "CREATE EVENT copy8 ON SCHEDULE EVERY 1 SECOND DO INSERT INTO other (x) SELECT card FROM pay",
    "rename": "RENAME TABLE pay TO unruled",
    "rename back and forth": "ALTER TABLE pay RENAME TO unruled",
    "rename the column": "ALTER TABLE pay CHANGE card plain VARCHAR(60)",
    "generated column": "ALTER TABLE pay ADD g VARCHAR(60) AS (card)",
    "column with a default": "ALTER TABLE pay ADD h VARCHAR(60) DEFAULT (card)",
    "drop a constraint": "ALTER TABLE pay MODIFY card INT",
    "exchange": "ALTER TABLE parted EXCHANGE PARTITION p0 WITH TABLE pay",
    "duplicate entry": "UPDATE pay SET id = 1, card = (SELECT MAX(card) FROM (SELECT card FROM pay) q)",
    "duplicate entry by upper case": "UPDATE pay SET card = UPPER(card), id = id + 1 ORDER BY id",
    "error by extractvalue": "SELECT EXTRACTVALUE(1, CONCAT(0x7e, (SELECT MAX(card) FROM pay)))",
    "error by updatexml": "SELECT UPDATEXML(1, CONCAT(0x7e, (SELECT MAX(card) FROM pay)), 1)",
    "error by range": "SELECT 18446744073709551615 + salary FROM pay WHERE id = 1",
    "error by a path": "SELECT JSON_EXTRACT('{{}}', card) FROM pay",
    "error by a date": "INSERT INTO dated SELECT CAST(card AS DATE) FROM pay",
    "error by a regexp": "SELECT 'a' REGEXP CONCAT('(', card) FROM pay",
    "warnings": "SELECT card + 0 FROM pay; SHOW WARNINGS",
    "warnings, errors": "SELECT CAST(card AS DATE) FROM pay; SHOW ERRORS",
    "warnings of an explain": "EXPLAIN EXTENDED SELECT card, x FROM pay, other WHERE pay.id = 1; SHOW WARNINGS",
    "diagnostics": "SELECT card + 0 FROM pay; GET DIAGNOSTICS CONDITION 1 @m = MESSAGE_TEXT; SELECT @m",
    "explain as JSON": "EXPLAIN FORMAT=JSON SELECT x FROM pay, other WHERE pay.id = 1 AND card = x",
    "analyze": "ANALYZE FORMAT=JSON SELECT card, x FROM pay, other WHERE pay.id = 1 AND card > x",
    "optimizer trace": "SET optimizer_trace = 'enabled=on'; SELECT id FROM pay, other WHERE pay.id = 1 AND card > x; SELECT TRACE FROM information_schema.OPTIMIZER_TRACE",
    "statistics": "SELECT * FROM mysql.column_stats",
    "histogram": "SELECT DECODE_HISTOGRAM(hist_type, histogram) FROM mysql.column_stats",
    "analyze persistent": "ANALYZE TABLE pay PERSISTENT FOR ALL; SELECT min_value, max_value FROM mysql.column_stats",
    "processes": "SELECT INFO FROM information_schema.PROCESSLIST",
    "processes, shown": "SHOW FULL PROCESSLIST",
    "performance schema": "SELECT SQL_TEXT FROM performance_schema.events_statements_history",
    "user variables": "SELECT * FROM performance_schema.user_variables_by_thread",
    "binary log": "SHOW BINLOG EVENTS",
    "engine's status": "SHOW ENGINE INNODB STATUS",
    "innodb's locks": "SELECT lock_data FROM information_schema.INNODB_LOCKS",
    "outfile": "SELECT card FROM pay INTO OUTFILE 'no'",
    "dumpfile": "SELECT card FROM pay LIMIT 1 INTO DUMPFILE 'no'",
    "load_file": "SELECT LOAD_FILE('{data}/{database}/old_pay.MYD')",
    "load data": "LOAD DATA INFILE '{data}/{database}/old_pay.MYD' INTO TABLE other (x); SELECT x FROM other",
    "prepare": "PREPARE s FROM 'SELECT card FROM pay'; EXECUTE s",
    "prepare, computed": "SET @q = CONCAT('SELECT ca', 'rd FROM pay'); PREPARE s FROM @q; EXECUTE s",
    "execute immediate": "EXECUTE IMMEDIATE 'SELECT card FROM pay'",
    "block": "BEGIN NOT ATOMIC SELECT card FROM pay; END",
    "signal": "BEGIN NOT ATOMIC DECLARE c VARCHAR(60); SELECT MAX(card) INTO c FROM pay; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = c; END",
    "set statement": "SET STATEMENT max_statement_time = 5 FOR SELECT card FROM pay",
    "set statement, computed": "SET STATEMENT max_statement_time = 5 FOR SELECT CONCAT(card) FROM pay",
    "do": "DO (SELECT card FROM pay LIMIT 1)",
    "returning": "DELETE FROM pay WHERE id = 3 RETURNING card, CONCAT(card)",
    "returning of an insert": "INSERT INTO pay (id, card) VALUES (77, CONCAT('Zan', 'zibar')) RETURNING CONCAT(card)",
    "default": "SELECT DEFAULT(card), CONCAT(card) FROM pay",
    "behind another": "SELECT 1; SELECT card FROM pay",
    "before another": "SELECT CONCAT(card) FROM pay; SELECT 1",
    "ansi quotes": "SET sql_mode = 'ANSI_QUOTES'; SELECT \"card\" FROM \"pay\"",
    "no backslashes": "SET sql_mode = 'NO_BACKSLASH_ESCAPES'; SELECT '\\'; SELECT CONCAT(card) FROM pay; -- '",
    "oracle": "SET sql_mode = 'ORACLE'; SELECT card || '' FROM pay",
    "character set of results": "SET character_set_results = 'utf16'; SELECT card, CONCAT(card) FROM pay",
    "names": "SET NAMES gbk; SELECT card FROM pay",
    "use": "USE information_schema; SELECT card, CONCAT(card) FROM {database}.pay",
    "unicode name": "SELECT card AS `grün` FROM pay",
    "lock": "SELECT GET_LOCK(card, 0) FROM pay",
    "sequence of selects": "SELECT id FROM pay WHERE 0; SELECT * FROM (SELECT card id FROM pay) pay",
    "versions": "SELECT card FROM pay FOR SYSTEM_TIME ALL",
    "partition": "SELECT card FROM pay PARTITION (p0)",
    "index hint": "SELECT card FROM pay USE INDEX (card) WHERE card > ''",
    "odbc": "SELECT card FROM {{ OJ pay LEFT OUTER JOIN other ON pay.id = other.id }}",
    "database's own rows": "SELECT column_default, card FROM information_schema.columns, pay",
    "another sort of star": "SELECT pay.*, 1 FROM pay",
    "straight join": "SELECT STRAIGHT_JOIN o.x, p.card FROM other o, pay p",
    "big result": "SELECT SQL_BIG_RESULT SQL_BUFFER_RESULT card FROM pay GROUP BY card, note",
    "match": "SELECT MATCH(card) AGAINST ('x'), card FROM pay",
    "bit": "SELECT CONVERT(card, BINARY), ASCII(card) + 0, CONV(salary, 10, 10) FROM pay",
    "geometry": "SELECT ST_ASTEXT(POINT(salary, salary)) FROM pay",
    "uuid": "SELECT FORMAT(salary, 0), ELT(1, card), FIELD(card, 'x'), QUOTE(card) FROM pay",
    "compress": "SELECT UNCOMPRESS(COMPRESS(card)), AES_DECRYPT(AES_ENCRYPT(card, 'k'), 'k') FROM pay",
    "soundex": "SELECT REPLACE(card, 'x', ''), INSERT(card, 1, 0, ''), TRIM(card), LPAD(card, 60, '') FROM pay",
    "column_json": "SELECT COLUMN_JSON(COLUMN_CREATE('a', card)) FROM pay",
    "show with a query": "SHOW TABLES WHERE EXTRACTVALUE(1, CONCAT(0x7e, (SELECT MAX(card) FROM pay)))",
    "show behind another": "SHOW TABLES; SHOW FULL PROCESSLIST; SELECT card + 0 FROM pay; SHOW WARNINGS",
    "show by version": "SHOW /*!99999 TABLES */ ENGINE INNODB STATUS",
    "table as a query": "INSERT INTO wide TABLE pay",
    "accents": "UPDATE pay SET note = `cárd`",
    "accents, read": "SELECT `cárd`, CONCAT(`çard`) FROM pay",
    "interval": "SELECT FROM_UNIXTIME(salary), SEC_TO_TIME(salary), MAKEDATE(2000, 1), DATE_ADD('2000-01-01', INTERVAL salary SECOND) FROM pay",
    # Through names that the text gives, clauses, functions, errors.
    "label in a subquery": "SELECT card AS q, (SELECT q) AS w FROM pay",
    "label of a column that is open": "SELECT card AS note, (SELECT note) AS w FROM pay",
    "derived, label is open": "SELECT note, id FROM (SELECT card AS note, salary AS id FROM pay) d",
    "derived, twice renamed": "SELECT c FROM (SELECT b AS c FROM (SELECT card AS b FROM pay) x) y",
    "derived, upper label": "SELECT Z FROM (SELECT card AS z FROM pay) y",
    "derived, string label": "SELECT z FROM (SELECT card AS 'z' FROM pay) y",
    "derived, spaced label": "SELECT `z` FROM (SELECT card AS ' z' FROM pay) y",
    "derived, trailing space": "SELECT `z` FROM (SELECT card AS 'z ' FROM pay) y",
    "derived, escaped label": "SELECT zz FROM (SELECT card AS 'z\\z' FROM pay) y",
    "derived, no label": "SELECT `REVERSE(card)` FROM (SELECT REVERSE(card) FROM pay) y",
    "derived, no label, odd spacing": "SELECT `CONCAT( card )` FROM (SELECT CONCAT( card ) FROM pay) y",
    "derived, made-up name": "SELECT Name_exp_1 FROM (SELECT CONCAT(card, '                                                                                  ') FROM pay) y",
    "derived star of a star": "SELECT * FROM (SELECT * FROM (SELECT card AS id FROM pay) a) b",
    "derived, star and label": "SELECT a.*, 1 AS x FROM (SELECT card AS note FROM pay) a",
    "derived, as END": "SELECT end FROM (SELECT card END FROM pay) a",
    "derived, as a keyword": "SELECT a.value FROM (SELECT card value FROM pay) a",
    "derived, as offset": "SELECT x FROM (SELECT 1 AS offset, card AS x FROM pay) a",
    "derived, as window": "SELECT x FROM (SELECT 1 AS window, card AS x FROM pay) a",
    "derived, as except": "SELECT x FROM (SELECT 1 AS `except`, card AS x FROM pay) a",
    "derived in a subquery": "SELECT (SELECT x FROM (SELECT card AS x FROM pay LIMIT 1) d) AS y FROM other",
    "cte, one of two": "WITH a(p, q) AS (SELECT id, card FROM pay), b(r) AS (SELECT q FROM a) SELECT r FROM b",
    "cte, nested": "WITH a AS (WITH b AS (SELECT card AS c FROM pay) SELECT c AS d FROM b) SELECT d FROM a",
    "cte shadows": "WITH other AS (SELECT id, card AS x FROM pay) SELECT x FROM other WHERE id > 0",
    "cte, columns shadow": "WITH a(note) AS (SELECT card FROM pay) SELECT note FROM a",
    "cte, recursive, second term": "WITH RECURSIVE a(n, x) AS (SELECT 1, CAST('' AS CHAR(60)) UNION ALL SELECT n + 1, (SELECT MAX(card) FROM pay) FROM a WHERE n < 3) SELECT x FROM a",
    "union, place": "SELECT id, note FROM pay UNION SELECT salary, card FROM pay",
    "union, parentheses": "(SELECT x FROM other) UNION ALL (SELECT card FROM pay)",
    "union in parentheses": "SELECT x FROM ((SELECT x FROM other) UNION (SELECT card FROM pay)) d",
    "union, literal name": "SELECT `1` FROM (SELECT '1' UNION SELECT card FROM pay) d",
    "union of a star": "SELECT * FROM other UNION SELECT salary, card FROM pay",
    "union, third": "SELECT x FROM other UNION SELECT note FROM pay UNION SELECT card FROM pay",
    "union in a derived star": "SELECT * FROM (SELECT id, x FROM other UNION SELECT id, card FROM pay) d",
    "minus by oracle": "SET sql_mode='ORACLE'; SELECT x FROM other MINUS SELECT card FROM pay",
    "window by name": "SELECT ROW_NUMBER() OVER w, FIRST_VALUE(card) OVER w FROM pay WINDOW w AS (ORDER BY card)",
    "window, nth": "SELECT NTH_VALUE(card, 1) OVER (ORDER BY id), LAST_VALUE(card) OVER (ORDER BY id) FROM pay",
    "percentile": "SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY salary) OVER () FROM pay",
    "median": "SELECT MEDIAN(salary) OVER () FROM pay",
    "group_concat order": "SELECT GROUP_CONCAT(card ORDER BY id DESC SEPARATOR '') AS note FROM pay",
    "json_arrayagg": "SELECT JSON_OBJECTAGG(id, card) AS note FROM pay",
    "json_objectagg key": "SELECT JSON_OBJECTAGG(card, id) AS note FROM pay",
    "json_value": "SELECT JSON_VALUE(JSON_OBJECT('a', card), '$.a') FROM pay",
    "json_extract": "SELECT JSON_UNQUOTE(JSON_EXTRACT(JSON_ARRAY(card), '$[0]')) FROM pay",
    "json_search": "SELECT JSON_SEARCH(JSON_OBJECT(card, 'x'), 'one', 'x') FROM pay",
    "json_keys": "SELECT JSON_KEYS(JSON_OBJECT(card, 1)) FROM pay",
    "json_merge": "SELECT JSON_MERGE_PRESERVE(JSON_ARRAY(card), '[1]') FROM pay",
    "json_detailed": "SELECT JSON_DETAILED(JSON_ARRAY(card)), JSON_COMPACT(JSON_ARRAY(card)) FROM pay",
    "json_table nested": "SELECT t.a FROM JSON_TABLE((SELECT JSON_ARRAYAGG(card) FROM pay), '$[*]' COLUMNS (a VARCHAR(60) PATH '$')) AS t",
    "xml": "SELECT EXTRACTVALUE(CONCAT('<a>', card, '</a>'), '/a') FROM pay",
    "updatexml value": "SELECT UPDATEXML('<a>b</a>', '/a', CONCAT('<c>', card, '</c>')) FROM pay",
    "export_set": "SELECT EXPORT_SET(5, card, 'n', ',', 4), MAKE_SET(1, card) FROM pay",
    "greatest": "SELECT GREATEST(card, ''), LEAST(card, 'zzzzz') FROM pay",
    "nvl": "SELECT NVL(card, ''), NVL2(card, card, ''), DECODE_ORACLE(1, 1, card) FROM pay",
    "date_format": "SELECT DATE_FORMAT(NOW(), card), STR_TO_DATE('x', card) FROM pay",
    "sformat": "SELECT SFORMAT('{{}}', card), SFORMAT(card) FROM pay",
    "natural sort": "SELECT NATURAL_SORT_KEY(card) FROM pay",
    "weight string": "SELECT WEIGHT_STRING(card) FROM pay",
    "regexp_substr": "SELECT REGEXP_SUBSTR(card, '.*'), REGEXP_REPLACE(card, 'x', '') FROM pay",
    "char of ascii": "SELECT CHAR(ASCII(card), ASCII(SUBSTR(card, 2)), ASCII(SUBSTR(card, 3)), ASCII(SUBSTR(card, 4)), ASCII(SUBSTR(card, 5)), ASCII(SUBSTR(card, 6)), ASCII(SUBSTR(card, 7)), ASCII(SUBSTR(card, 8))) FROM pay",
    "bit ops": "SELECT salary | 0, salary & -1, salary ^ 0, ~~salary, salary << 0, salary >> 0, salary % 99999999 FROM pay",
    "bit_or": "SELECT BIT_OR(salary), BIT_AND(salary), BIT_XOR(salary), STDDEV(salary), VARIANCE(salary) FROM pay WHERE id = 1",
    "division": "SELECT salary / 1, salary DIV 1, salary MOD 99999999, salary * 1.0 FROM pay",
    "inet": "SELECT INET_NTOA(salary), INET6_NTOA(card) FROM pay",
    "geometry text": "SELECT ST_AsText(ST_GeomFromText(CONCAT('POINT(', salary, ' 1)'))), ST_X(POINT(salary, 1)) FROM pay",
    "geojson": "SELECT ST_AsGeoJSON(POINT(salary, salary)) FROM pay",
    "cast to json": "SELECT CAST(salary AS DECIMAL(20,2)), CAST(salary AS DOUBLE), CONVERT(salary, CHAR) FROM pay",
    "interval day": "SELECT INTERVAL(salary, 1, 2), ADDTIME('0:0:0', salary) FROM pay WHERE id = 1",
    "password": "SELECT CONCAT('x', card) AS `password`, AES_DECRYPT(AES_ENCRYPT(card, 'a'), 'a') AS note FROM pay",
    "des": "SELECT DECODE(ENCODE(card, 'a'), 'a') FROM pay",
    "unhex": "SELECT UNHEX(HEX(card)) AS x, FROM_BASE64(TO_BASE64(card)) AS y FROM pay",
    "column_get": "SELECT COLUMN_GET(COLUMN_CREATE('a', card), 'a' AS CHAR) FROM pay",
    "procedure analyse, other": "SELECT id, card FROM pay PROCEDURE ANALYSE(1, 1)",
    "having alias": "SELECT id AS z FROM pay HAVING (SELECT EXTRACTVALUE(1, CONCAT(0x7e, (SELECT MAX(card) FROM pay))))",
    "group by extract": "SELECT COUNT(*) FROM pay GROUP BY EXTRACTVALUE(1, CONCAT(0x7e, card))",
    "order by error": "SELECT id FROM pay ORDER BY EXTRACTVALUE(1, CONCAT(0x7e, card))",
    "limit error": "SELECT id FROM pay WHERE EXTRACTVALUE(1, CONCAT(0x7e, card)) LIMIT 1",
    "error exp": "SELECT EXP(~(SELECT * FROM (SELECT MAX(card) FROM pay) x))",
    "error pow": "SELECT POW(salary, 9999) FROM pay",
    "error cot": "SELECT COT(0 * salary), salary * 9223372036854775807 FROM pay",
    "error gtid": "SELECT GTID_SUBSET((SELECT MAX(card) FROM pay), 1)",
    "error gis": "SELECT ST_LatFromGeoHash((SELECT MAX(card) FROM pay)), POLYGON((SELECT * FROM (SELECT MAX(card) FROM pay) f))",
    "error double query": "SELECT COUNT(*), CONCAT((SELECT MAX(card) FROM pay), FLOOR(RAND(0) * 2)) x FROM pay GROUP BY x",
    "error name_const": "SELECT * FROM (SELECT NAME_CONST((SELECT MAX(card) FROM pay), 1), NAME_CONST((SELECT MAX(card) FROM pay), 1)) a",
    "error json path": "SELECT JSON_EXTRACT('[]', (SELECT CONCAT('$', MAX(card)) FROM pay))",
    "error json_table": "SELECT * FROM JSON_TABLE((SELECT MAX(card) FROM pay), '$' COLUMNS (a INT PATH '$')) t",
    "error uuid": "SELECT CAST((SELECT MAX(card) FROM pay) AS UUID)",
    "error inet6": "SELECT CAST((SELECT MAX(card) FROM pay) AS INET6)",
    "error signal": "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'x'; SHOW WARNINGS",
    "error duplicate": "INSERT INTO pay (id, card) SELECT id + 100, card FROM pay",
    "error duplicate, update": "UPDATE pay SET card = 'Zan' WHERE id = 1; UPDATE pay SET card = 'Zan'",
    "error fk": "ALTER TABLE other ADD FOREIGN KEY (x) REFERENCES pay (card)",
    "error check": "ALTER TABLE pay ADD CHECK (card = 'x')",
    "error partition": "ALTER TABLE pay PARTITION BY LIST COLUMNS (card) (PARTITION p VALUES IN ('a'))",
    "error truncation": "ALTER TABLE pay MODIFY card VARCHAR(2)",
    "error enum": "ALTER TABLE pay MODIFY card ENUM('a')",
    "error unique": "ALTER TABLE pay ADD UNIQUE (card, id)",
    "index of a value": "CREATE INDEX gone ON pay ((card))",
    "show profile": "SET profiling = 1; SELECT card FROM pay; SHOW PROFILES",
    "profiling table": "SET profiling = 1; SELECT card FROM pay; SELECT * FROM information_schema.PROFILING",
    "general log": "SELECT * FROM mysql.general_log",
    "slow log": "SELECT * FROM mysql.slow_log",
    "innodb trx": "SELECT trx_query FROM information_schema.INNODB_TRX",
    "innodb buffer": "SELECT * FROM information_schema.INNODB_BUFFER_PAGE LIMIT 1",
    "innodb ft": "SELECT * FROM information_schema.INNODB_FT_INDEX_TABLE",
    "digest": "SELECT DIGEST_TEXT FROM performance_schema.events_statements_summary_by_digest",
    "current statements": "SELECT SQL_TEXT FROM performance_schema.events_statements_current",
    "prepared instances": "SELECT SQL_TEXT FROM performance_schema.prepared_statements_instances",
    "session variable": "SET SESSION sql_mode = (SELECT MAX(card) FROM pay)",
    "session variable, error": "SET SESSION time_zone = (SELECT MAX(card) FROM pay)",
    "session variable, error 2": "SET @@session.character_set_client = (SELECT MAX(card) FROM pay)",
    "error in a global": "SET GLOBAL general_log_file = (SELECT MAX(card) FROM pay)",
    "set statement value": "SET STATEMENT time_zone = (SELECT MAX(card) FROM pay) FOR SELECT 1",
    "user variable as row": "SELECT id, card FROM pay INTO @a, @b; SELECT @b",
    "variable by into in front": "SELECT card INTO @z FROM pay LIMIT 1; SELECT @z",
    "variable in where": "SELECT id FROM pay WHERE (@z := CONCAT(@z, card)) IS NULL; SELECT @z",
    "execute using": "SET @z = 1; EXECUTE IMMEDIATE 'SELECT card FROM pay WHERE id = ?' USING @z",
    "sequence": "CREATE SEQUENCE sq; SELECT SETVAL(sq, (SELECT MAX(salary) FROM pay)); SELECT NEXTVAL(sq)",
    "returning of a replace": "REPLACE INTO pay (id, card) VALUES (1, 'x') RETURNING card, salary",
    "returning of a subquery": "INSERT INTO other VALUES (5, 'x') RETURNING (SELECT MAX(card) FROM pay)",
    "delete returning expression": "DELETE FROM other WHERE id = 1 RETURNING (SELECT MAX(card) FROM pay)",
    "multi update": "UPDATE pay p, other o SET o.x = p.card",
    "update order": "UPDATE pay SET note = (SELECT x FROM (SELECT MAX(card) AS x FROM pay) q)",
    "insert odku": "INSERT INTO other (id, x) SELECT id, note FROM pay ON DUPLICATE KEY UPDATE x = card",
    "insert values function": "INSERT INTO pay (id, card) VALUES (1, 'q') ON DUPLICATE KEY UPDATE note = CONCAT(card, VALUES(card))",
    "temporary like": "CREATE TEMPORARY TABLE c1 LIKE pay; INSERT INTO c1 SELECT * FROM pay; SELECT card FROM c1",
    "temporary over it": "CREATE TEMPORARY TABLE pay2 SELECT * FROM pay; SELECT * FROM pay2",
    "temporary of its name": "CREATE TEMPORARY TABLE other SELECT card AS x FROM pay; SELECT x FROM other",
    "view of it, replace": "CREATE OR REPLACE VIEW shown2 AS SELECT card AS note FROM pay; SELECT note FROM shown2",
    "alter view": "ALTER VIEW shown AS SELECT card AS note, id FROM pay; SELECT note FROM shown",
    "view check": "SELECT note FROM (SELECT x AS note FROM shown) d",
    "view in expression": "SELECT (SELECT MAX(x) FROM shown) AS note FROM other",
    "view joined": "SELECT o.id, s.x FROM other o JOIN shown s ON s.id = o.id",
    "handler, one by one": "HANDLER pay OPEN AS h; HANDLER h READ FIRST; HANDLER h READ NEXT",
    "handler by index": "HANDLER pay OPEN; HANDLER pay READ card FIRST; HANDLER pay CLOSE",
    "handler of a view": "HANDLER shown OPEN; HANDLER shown READ FIRST",
    "explain not executed": "EXPLAIN SELECT (SELECT MAX(card) FROM pay) AS x",
    "explain partitions": "EXPLAIN PARTITIONS SELECT * FROM pay WHERE card = (SELECT MAX(card) FROM pay)",
    "explain delete": "EXPLAIN FORMAT=JSON DELETE FROM pay WHERE card = (SELECT MAX(x) FROM shown)",
    "analyze update": "ANALYZE FORMAT=JSON UPDATE pay SET note = 'x' WHERE card > 'Z'",
    "show table status": "SHOW TABLE STATUS WHERE EXTRACTVALUE(1, CONCAT(0x7e, (SELECT MAX(card) FROM pay)))",
    "show variables where": "SHOW VARIABLES WHERE EXTRACTVALUE(1, CONCAT(0x7e, (SELECT MAX(card) FROM pay)))",
    "show explain": "SHOW EXPLAIN FOR 1",
    "kill expression": "KILL (SELECT MAX(salary) FROM pay)",
    "do error": "DO EXTRACTVALUE(1, CONCAT(0x7e, (SELECT MAX(card) FROM pay)))",
    "call error": "CALL peeks((SELECT MAX(card) FROM pay))",
    "limit param": "SELECT card AS note FROM pay LIMIT 0, 2",
    "into outfile by union": "SELECT x FROM other UNION SELECT card FROM pay INTO OUTFILE 'never'",
    "long comment": f"SELECT /* {'x' * 3000} */ card FROM pay",
    "odd name in quotes": "SELECT `card` AS `a``b` FROM pay",
    "qualified star": "SELECT {database}.pay.* FROM pay",
    "two stars": "SELECT p.*, q.* FROM pay p JOIN pay q ON p.id = q.id",
    "star and expressions": "SELECT id, p.*, CONCAT(card) AS note, id FROM pay p",
    "star and expression behind": "SELECT p.*, CONCAT(card) AS note FROM pay p",
    "expression between stars": "SELECT p.*, CONCAT(card) AS id, o.* FROM pay p, other o",
    "case label": "SELECT CASE id WHEN 1 THEN card ELSE card END note FROM pay",
    "parenthesized": "((SELECT card AS note FROM pay))",
    "parenthesized, limit": "((SELECT card AS note FROM pay) LIMIT 1)",
    "with in parentheses": "(WITH a AS (SELECT card AS note FROM pay) SELECT note FROM a)",
    "select in select in select": "SELECT (SELECT (SELECT (SELECT MAX(card) FROM pay))) AS note",
    "exists tells": "SELECT EXISTS (SELECT * FROM (SELECT card AS x FROM pay) d WHERE EXTRACTVALUE(1, CONCAT(0x7e, x)))",
    "join on error": "SELECT 1 FROM other JOIN pay ON EXTRACTVALUE(1, CONCAT(0x7e, card))",
    "natural": "SELECT * FROM (SELECT card AS x FROM pay) a NATURAL JOIN (SELECT card AS x, id FROM pay) b",
    "values rows": "VALUES ((SELECT MAX(card) FROM pay)), (1)",
    "row compare error": "SELECT (card, 1) = (SELECT 1, 2) AS note, card AS id FROM pay",
    "charset introducer": "SELECT CONCAT(_utf8mb4'', card) COLLATE utf8mb4_bin AS note FROM pay",
    "national": "SELECT CONCAT(N'', card) AS note FROM pay",
    "names with dollar": "SELECT $x FROM (SELECT card AS $x FROM pay) d",
    "names with digits": "SELECT 1x FROM (SELECT card AS 1x FROM pay) d",
    "exponent name": "SELECT d.1e1 FROM (SELECT card AS `1e1` FROM pay) d",
    "keyword name": "SELECT d.from FROM (SELECT card AS `from` FROM pay) d",
    "dot and space": "SELECT pay . card FROM pay",
    "dot first": "SELECT .pay.card FROM pay",
    "accented": "SELECT cárd AS note FROM pay",
    "cardinal": "SELECT `CARD` note FROM `PAY`",
    "kelvin": "SELECT caRd + 0, Salary + 0 AS note FROM pay",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = MariadbServer(make_certificate(tmp_path_factory.mktemp("mysql-mask"), "target"))
    yield server
    server.remove()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("mysql-mask-gateway"), "--shutdown-seconds", "1")
    yield gateway
    assert gateway.is_alive() and gateway.stop() == 0, gateway.text()


@pytest.fixture(scope="module")
def admin(gateway):
    return register(gateway)


@pytest.fixture(scope="module")
def target(server):
    target = MysqlTarget(server)
    database = target.database
    server.sql(f"""GRANT FILE, PROCESS ON *.* TO {target.user}@'%'; GRANT SELECT ON mysql.* TO {target.user}@'%';
        USE {database};
        CREATE TABLE pay (id INT PRIMARY KEY, card VARCHAR(60), note VARCHAR(60), salary BIGINT, UNIQUE (card));
        CREATE TABLE other (id INT, x VARCHAR(60)); INSERT INTO other VALUES (1, 'one'), (2, 'two');
        CREATE TABLE wide (id INT, a VARCHAR(60), b VARCHAR(60), c BIGINT); CREATE TABLE dated (d DATE);
        CREATE TABLE parted (id INT PRIMARY KEY, card VARCHAR(60), note VARCHAR(60), salary BIGINT)
            PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (1000));
        CREATE TABLE old_pay (id INT, card VARCHAR(60)) ENGINE=MyISAM;
        INSERT INTO old_pay VALUES (1, '{SECRET}-9'); FLUSH TABLES;
        CREATE TABLE merged (id INT, card VARCHAR(60)) ENGINE=MRG_MyISAM UNION=(old_pay);
        CREATE VIEW shown AS SELECT id, card AS x FROM pay;
        CREATE ALGORITHM=TEMPTABLE VIEW shown_by_copy AS SELECT id, card AS x FROM pay;
        CREATE VIEW shown_union AS SELECT card AS x FROM pay UNION ALL SELECT x FROM other;
        CREATE VIEW shown_twice AS SELECT x AS y FROM shown; CREATE VIEW Peek AS SELECT card AS x FROM pay;
        CREATE FUNCTION peek() RETURNS VARCHAR(60) READS SQL DATA RETURN (SELECT MAX(card) FROM pay);
        CREATE PROCEDURE peeks() SELECT card FROM pay;""")
    return target


def fill(target):
    target.server.sql(f"""USE {target.database}; TRUNCATE pay; DELETE FROM other WHERE id > 2 OR id IS NULL;
        UPDATE other SET x = IF(id = 1, 'one', 'two');
        INSERT INTO pay VALUES (1, '{SECRET}-1', 'first', {NUMBER}), (2, '{SECRET}-2', 'second', {NUMBER}1),
            (3, '{SECRET}-3', 'third', {NUMBER}2)""")


def masked(admin, target, **rule):
    name = target.connection(admin)
    answer = admin.post("/datamasking-rules", {
        "name": unique("mask"), "connection_ids": [admin.get(f"/connections/{name}").json["id"]], **rule})
    assert answer.status == 201, answer
    return credential(admin, name)


@pytest.fixture(scope="module")
def made(admin, target):
    return masked(admin, target, columns=[{"name": "pay.card"}, {"name": "pay.salary"}, {"name": "old_pay.card"}])


def text_rows(conn, statement):
    rows = []
    cursor = conn.cursor()
    cursor.execute(statement)
    while True:
        rows += cursor.fetchall()
        if not cursor.nextset():
            return rows


def prepared_rows(conn, statement):
    rows = []
    for part in statement.split("; "):
        rows += Prepared(conn).run(part)
    return rows


def tried(run, made, statement):
    """All that the client hears of it."""
    conn = connect(made, client_flag=CLIENT.MULTI_STATEMENTS, charset="utf8mb4", autocommit=True)
    heard = ""
    try:
        try:
            heard = repr(run(conn, statement))
        except (pymysql.MySQLError, UnicodeDecodeError) as error:
            heard = repr(error)
        for question in ("SHOW WARNINGS", "SELECT x FROM other", "SELECT note FROM pay", "SELECT @a, LAST_INSERT_ID()"):
            try:
                heard += repr(text_rows(conn, question))
            except (pymysql.MySQLError, UnicodeDecodeError) as error:
                heard += repr(error)
    finally:
        conn.close()
    return heard


@pytest.mark.parametrize("run", [text_rows, prepared_rows])
def test_no_way_shows_a_masked_value(made, target, run):
    fill(target)
    lost = {}
    for name, statement in LEAKS.items():
        statement = statement.format(database=target.database, data=target.server.data)
        heard = tried(run, made, statement)
        if any(mark in heard for mark in MARKS):
            lost[name] = heard
            fill(target)
    assert not lost, json.dumps(lost, indent=1)
    left = target.server.sql(f"SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{target.database}'"
                             " AND (TABLE_NAME LIKE 'copy%' OR TABLE_NAME = 'unruled')")
    assert left == ""


def test_the_ways_are_ways(target):
    """Directly most of them show it: else they would prove nothing."""
    fill(target)
    shown = 0
    for statement in LEAKS.values():
        statement = statement.format(database=target.database, data=target.server.data)
        if any(word in statement for word in ("CREATE", "ALTER", "RENAME")):
            continue  # they would have to be undone
        conn = target.direct(client_flag=CLIENT.MULTI_STATEMENTS, charset="utf8mb4")
        try:
            heard = repr(text_rows(conn, statement))
        except (pymysql.MySQLError, UnicodeDecodeError) as error:
            heard = repr(error)
        shown += any(mark in heard for mark in MARKS)
        conn.rollback()
        conn.close()
    assert shown >= 180, shown


PLAIN = [
    ("SELECT COUNT(*), MAX(id), CONCAT(x, '!') FROM other WHERE id = 1", (1, 1, "one!")),
    ("SELECT 1 + 1, 'text', NOW() > '2000-01-01', NULL", (2, "text", 1, None)),
    ("SELECT id, note FROM pay WHERE id = 1", (1, "first")),
    ("SELECT p.note AS n, o.x FROM pay p JOIN other o ON o.id = p.id WHERE p.id = 2", ("second", "two")),
    ("SELECT id, note, x FROM pay NATURAL JOIN other WHERE id = 1", (1, "first", "one")),
    ("SELECT x FROM (SELECT x FROM other WHERE id = 2) d", ("two",)),
    ("WITH c AS (SELECT MAX(x) AS m FROM other) SELECT m FROM c", ("two",)),
    ("SELECT note FROM pay WHERE id IN (SELECT id FROM other WHERE id = 2)", ("second",)),
    ("SELECT note FROM pay WHERE EXISTS (SELECT 1 FROM other) AND id = 1", ("first",)),
    ("SELECT @b := 5", (5,)), ("SELECT DATABASE() IS NOT NULL, VERSION() > ''", (1, 1)),
    ("SELECT table_name FROM information_schema.tables WHERE table_name = 'pay'", ("pay",)),
    ("VALUES (1, 'x')", (1, "x")),
    # What is computed beside a masked column.
    ("SELECT COUNT(*), MAX(id), UPPER(MIN(note)) FROM pay", (3, 3, "FIRST")),
    ("SELECT id + 1, CONCAT(note, '!'), NOW() > '2000-01-01' FROM pay WHERE id = 1", (2, "first!", 1)),
    ("SELECT x.n FROM (SELECT note AS n, card FROM pay WHERE id = 2) x", ("second",)),
    ("SELECT x.n FROM (SELECT note AS n, card FROM pay WHERE id = 2) x JOIN other ON other.id = 2", ("second",)),
    ("WITH c AS (SELECT id, note FROM pay) SELECT note FROM c WHERE id = 3", ("third",)),
    ("SELECT note FROM pay WHERE id = 1 UNION SELECT x FROM other WHERE 0", ("first",)),
    ("SELECT CASE WHEN id > 1 THEN 'many' ELSE note END AS v FROM pay WHERE id = 1", ("first",)),
    ("SELECT (SELECT MAX(note) FROM pay) AS m FROM other WHERE id = 1", ("third",)),
    ("SELECT ROW_NUMBER() OVER (ORDER BY id), note FROM pay LIMIT 1", (1, "first")),
    ("SELECT GROUP_CONCAT(note ORDER BY id) FROM pay", ("first,second,third",)),
    ("SELECT COUNT(*) FROM pay WHERE card IS NOT NULL", (3,)),
    ("SELECT * FROM (SELECT id, note FROM pay WHERE id = 1) d", (1, "first")),
]


@pytest.mark.parametrize("run", [text_rows, prepared_rows])
def test_what_has_nothing_masked_comes_as_it_is(made, target, run):
    fill(target)
    conn = connect(made, client_flag=CLIENT.MULTI_STATEMENTS, charset="utf8mb4", autocommit=True)
    for statement, row in PLAIN:
        found = [tuple(value.decode() if isinstance(value, bytes) else value for value in row)
                 for row in run(conn, statement)]
        assert found == [row], statement
    assert run(conn, "SELECT card, salary, note FROM pay WHERE id = 1")[0][1] is None
    for statement in ("UPDATE pay SET card = 'new', note = 'n' WHERE id = 3", "DELETE FROM pay WHERE id = 2",
                      "INSERT INTO pay (id, card, note, salary) VALUES (9, 'nine', 'n', 4)",
                      "UPDATE pay, other SET pay.card = other.x WHERE pay.id = other.id AND pay.id = 3",
                      "INSERT INTO pay SELECT 10, x, x, 1 FROM other WHERE id = 1",
                      "CREATE TABLE mine (a INT)", "INSERT INTO mine SELECT id FROM other",
                      "ALTER TABLE mine ADD b INT", "SHOW COLUMNS FROM mine", "DROP TABLE mine",
                      "BEGIN", "COMMIT", "SHOW TABLES", "SHOW CREATE TABLE pay", "DESCRIBE pay",
                      "EXPLAIN SELECT * FROM other", "SET @c = 4"):
        run(conn, statement)
    assert run(conn, "SELECT note FROM pay WHERE id = 9")[0][0] in ("n", b"n")
    conn.close()


def test_words_of_errors_stay_where_nothing_is_masked(made, target):
    conn = connect(made, client_flag=CLIENT.MULTI_STATEMENTS, autocommit=True)
    for statement, number, words in [
            ("SELECT nothing FROM other", 1054, "Unknown column 'nothing'"), ("SELEC", 1227, "understood"),
            ("SELECT * FROM nowhere", 1146, "doesn't exist"), ("SELECT card FROM pay WHERE nothing = 1", 1054, "nothing"),
            ("INSERT INTO pay (id) VALUES (1), (1)", 1062, "hidden"), ("CALL peeks()", 1227, "procedures"),
            ("SELECT EXTRACTVALUE(1, CONCAT(0x7e, 'seen'))", 1105, "seen")]:
        with pytest.raises(pymysql.MySQLError) as raised:
            text_rows(conn, statement)
        assert raised.value.args[0] == number and words in raised.value.args[1], (statement, raised.value)
    conn.close()


ENTITIES = {"supported_entity_types": [{"name": "PII", "entity_types": ["EMAIL_ADDRESS", "CREDIT_CARD"]}]}


@pytest.mark.parametrize("run", [text_rows, prepared_rows])
def test_what_is_found_in_values_is_masked(admin, target, run):
    server = target.server
    server.sql(f"""USE {target.database}; CREATE OR REPLACE TABLE seen (t VARCHAR(80), j JSON, b BLOB, n BIGINT,
        d DECIMAL(20,0), f DOUBLE, e ENUM('ann@example.com'), c CHAR(40), l LONGTEXT, u VARCHAR(80) CHARACTER SET utf16,
        plain VARCHAR(20), i INT, day DATE, ts TIMESTAMP(3), tm TIME, y YEAR, z BIT(8));
        INSERT INTO seen VALUES ('mail ann@example.com now', '{{"a": "ann@example.com"}}', 'ann@example.com',
            4111111111111111, 4111111111111111, 4111111111111111, 'ann@example.com', 'ann@example.com',
            REPEAT('ann@example.com ', 5000), 'ann@example.com', 'kept', 7, '2024-02-29', '2024-02-29 10:11:12.5',
            '-11:12:13', 2024, b'101')""")
    made = masked(admin, target, **ENTITIES)
    conn = connect(made, client_flag=CLIENT.MULTI_STATEMENTS, charset="utf8mb4", autocommit=True)
    row = run(conn, "SELECT * FROM seen")[0]
    heard = repr(row)
    assert "ann@" not in heard and "4111111" not in heard and "[EMAIL_ADDRESS]" in heard, heard
    assert row[10] in ("kept", b"kept") and row[11] == 7 and row[3:6] in ([None] * 3, (None,) * 3)
    for statement in ("SELECT 'ann@example.com'", "SELECT CONCAT('ann', '@example.com')", "SELECT 4111111111111111",
                      "SELECT 4111111111111111.0", "SELECT 4111111111111111e0", "SELECT -n FROM seen", "SELECT x'616e6e406578616d706c652e636f6d'",
                      "SELECT CONCAT('4111', '111111111111')", "SELECT @v := CONCAT('ann', '@example.com'); SELECT @v",
                      "SELECT JSON_OBJECT('m', CONCAT('ann', '@example.com'))", "SELECT t FROM seen UNION SELECT l FROM seen",
                      "SHOW VARIABLES LIKE 'version'; SELECT GROUP_CONCAT(t) FROM seen",
                      "SELECT EXTRACTVALUE(1, CONCAT(0x7e, (SELECT t FROM seen)))", "SELECT t + 0 FROM seen; SHOW WARNINGS",
                      "SELECT LAST_INSERT_ID(n) FROM seen", "SELECT u FROM seen", "SELECT CONVERT(t USING utf16) FROM seen",
                      "SET character_set_results = 'utf16'; SELECT t FROM seen"):
        again = connect(made, client_flag=CLIENT.MULTI_STATEMENTS, charset="utf8mb4", autocommit=True)
        try:
            heard = repr(run(again, statement))
        except (pymysql.MySQLError, UnicodeDecodeError) as error:
            heard = repr(error)
        assert "ann@" not in heard and "4111111" not in heard, (statement, heard)
        assert b"a\0n\0n".decode() not in heard and r"\x00a\x00n\x00n" not in heard, (statement, heard)
        again.close()
    conn.close()


def test_what_is_found_stands_anywhere_in_a_row(admin, target):
    """Most rows are looked at as one; each value of them counts for itself, and none with its neighbours."""
    chance = random.Random(7)
    mail, card = "ann@example.com", "4111111111111111"
    pieces = [mail, card, f"x {mail}", f"{card} y", f"({card}", "4111-1111-1111-1111", "ann&#64;example.com", f"{'z' * 300} {mail}", f"{'9' * 70} {card}",
              f"{{\"a\": \"{mail}\"}}", "", "plain", "4111111111", "1111111", "ann@", "example.com", "7" * 40, "a" * 61, "ü" * 30, "\t", None, "0", "x:y=z"]
    rows = [[chance.choice(pieces) for _ in range(5)] + [chance.choice([0, 7, -5, int(card), 41111111111])] for _ in range(400)]
    rows += [["p" * length, card, "1", mail, "q", 3] for length in range(56, 70)] + [["k" * 5000, "n", mail, "", "", 1]]
    target.server.sql(f"CREATE TABLE {target.database}.many (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(6000), b VARCHAR(900), c TEXT, d VARCHAR(900), e VARCHAR(900), n BIGINT)")
    with target.direct(charset="utf8mb4", autocommit=True) as own, own.cursor() as cursor:
        cursor.executemany("INSERT INTO many (a, b, c, d, e, n) VALUES (%s, %s, %s, %s, %s, %s)", rows)
    conn = connect(masked(admin, target, **ENTITIES), charset="utf8mb4", autocommit=True)
    told = [row[1:] for row in text_rows(conn, "SELECT * FROM many ORDER BY id")]
    binary = [row[1:] for row in prepared_rows(conn, "SELECT * FROM many ORDER BY id")]
    conn.close()

    def shown(value):
        """As a value by itself is masked: in the binary protocol each is."""
        return value.decode() if isinstance(value, bytes) else value
    assert [[shown(value) for value in row] for row in binary] == [list(row) for row in told]
    for row, got in zip(rows, told):
        for value, one in zip(row, got):
            is_secret = any(word in str(value).replace("-", "").replace("&#64;", "@") for word in (mail, card))
            assert (one != value) == is_secret and mail not in str(one) and card not in str(one), (row, got)


def test_by_cursors(admin, made, target):
    fill(target)
    conn = connect(made, charset="utf8mb4")
    rows = Prepared(conn).fetched("SELECT id, card, salary, note FROM pay ORDER BY id")
    assert [row[0] for row in rows] == [1, 2, 3] and [row[3] for row in rows] == [b"first", b"second", b"third"]
    assert SECRET not in repr(rows) and all(row[2] is None for row in rows)
    again = Prepared(conn)
    assert again.run("SELECT note FROM pay WHERE id = 1") == [[b"first"]]
    conn.close()


def test_strategies_and_predicates(admin, target):
    fill(target)
    made = masked(admin, target, columns=[{"name": "pay.card", "strategy": {"type": "partial", "keep_last": 2}}],
                  refuse_predicates=True)
    conn = connect(made, autocommit=True)
    assert text_rows(conn, "SELECT * FROM pay")[0][1].endswith("-1")
    for statement in ("SELECT id FROM pay WHERE card > 'a'", "SELECT id FROM pay ORDER BY card",
                      "SELECT * FROM pay ORDER BY 2", "SELECT DISTINCT * FROM pay", "SELECT COUNT(DISTINCT card) FROM pay",
                      "SELECT * FROM pay UNION SELECT 1, 2, 3, 4", "SELECT note FROM pay WHERE (SELECT * FROM pay LIMIT 1) = (1, 2, 3, 4)",
                      "DELETE FROM pay WHERE card = 'x'", "SELECT a.id FROM pay a NATURAL JOIN pay b"):
        with pytest.raises(pymysql.MySQLError) as raised:
            text_rows(conn, statement)
        assert raised.value.args[0] == 1227, (statement, raised.value)
    assert text_rows(conn, "SELECT id, note FROM pay WHERE id = 1") == [(1, "first")]
    conn.close()


def test_rules_that_come_later(admin, target):
    fill(target)
    name = target.connection(admin)
    conn = connect(credential(admin, name), client_flag=CLIENT.MULTI_STATEMENTS, autocommit=True)
    assert SECRET in text_rows(conn, "SELECT card FROM pay; SELECT @kept := MAX(card) FROM pay")[0][0]
    answer = admin.post("/datamasking-rules", {
        "name": unique("late"), "connection_ids": [admin.get(f"/connections/{name}").json["id"]],
        "columns": [{"name": "pay.card"}]})
    assert answer.status == 201, answer

    def is_refused():
        try:
            return SECRET not in repr(text_rows(conn, "SELECT @kept"))
        except pymysql.MySQLError as error:
            return "connect anew" in repr(error)
    wait_for(is_refused, what="the rule")
    with pytest.raises(pymysql.MySQLError):
        text_rows(conn, "SELECT 1")
    conn._execute_command(0x1f, b"") # COM_RESET_CONNECTION
    conn._read_ok_packet()
    assert SECRET not in repr(text_rows(conn, "SELECT @kept") + text_rows(conn, "SELECT card FROM pay"))
    conn.close()


def test_the_recording_has_what_the_client_got(admin, made, target):
    fill(target)
    conn = connect(made, program_name="masked-recording")
    text_rows(conn, "SELECT card, note FROM pay")
    conn.close()
    session = wait_for(lambda: next((s for s in admin.get("/sessions?limit=100").json["data"]
                                     if s["status"] == "done" and "masked-recording" in json.dumps(s)), None)
                       or None, what="the session")
    result = admin.get(f"/sessions/{session['id']}/result").body.decode()
    assert "first" in result and SECRET not in result, result
    assert admin.get(f"/sessions/{session['id']}").json["metrics"]["data_masking"]["total_redact_count"] >= 3


def test_controls_say_so(admin, target):
    name = target.connection(admin)
    controls = admin.get(f"/connections/{name}/controls").json
    assert controls["masking"] == "enforced", controls
