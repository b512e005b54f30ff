SELECT 1 delete, 2 table, 3 AS from, a.delete, b.select FROM x AS update, y insert;
((((SELECT 1 FROM t))));
WITH a AS (SELECT 1 FROM x) SELECT * FROM a, s.a, b;
INSERT INTO t (values) VALUES (1);
DELETE FROM t WHERE a IN (SELECT b FROM u);
EXPLAIN DELETE FROM t;
PREPARE "Q" AS WITH x AS (INSERT INTO u VALUES (1)) UPDATE t SET a = 1;
CREATE TABLE t AS (SELECT 1 FROM u) UNION SELECT 2;
CREATE FUNCTION f() RETURNS int BEGIN ATOMIC END;
CREATE CONVERSION c FOR 'UTF8' TO 'LATIN1' FROM f;
ALTER SEQUENCE s RESTART WITH 5;
DROP TABLE IF EXISTS a, s.b, "C" CASCADE;
DROP TEXT SEARCH PARSER p;
COMMENT ON FOREIGN TABLE v IS 'x';
SET ROLE none;
DECLARE c BINARY NO SCROLL CURSOR WITH HOLD FOR WITH x AS (SELECT 1) TABLE x;
DISCARD ALL;
SELECT treat(a AS int), normalize(b, NFC), b IS NFC NORMALIZED, collation for (c), nullif(a,b), greatest(a,b), grouping(a), current_schema, current_schema(), localtime(3), user, session_user FROM t
