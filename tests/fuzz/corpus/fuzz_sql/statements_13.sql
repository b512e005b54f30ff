SELECT * FROM a JOIN b JOIN c ON b.x=c.x ON a.x=b.x;
SELECT xmlelement(name foo, xmlattributes(a AS b), c), xmlforest(a AS delete, b), xmlpi(name php, 'x'), xmlroot(x, version no value), xmlserialize(content y AS text), xmlparse(document z), xmlexists('//a' PASSING BY REF x) FROM t;
WITH a AS (SELECT 1) INSERT INTO a SELECT * FROM a;
UPDATE ONLY (t) AS x SET a = 1 WHERE CURRENT OF c;
MERGE INTO t USING a JOIN b USING (x) ON t.y = a.y WHEN MATCHED THEN UPDATE SET a = (CASE WHEN 1=1 THEN 2 END);
EXPLAIN (ANALYZE, ANALYZE false) DELETE FROM t;
CALL s.p(1, (SELECT a FROM t), x => f(1));
CREATE SEQUENCE IF NOT EXISTS s.q AS int INCREMENT BY 2 OWNED BY t.a;
CREATE ROLE r LOGIN PASSWORD 'x';
ALTER TABLE t RENAME a TO b;
ALTER POLICY p ON t USING (f(a));
DROP SCHEMA s CASCADE;
TRUNCATE t;
GRANT SELECT ON schema TO joe;
START TRANSACTION ISOLATION LEVEL READ COMMITTED;
CLUSTER;
SELECT t FROM t;
VACUUM (ONLY_DATABASE_STATS) ONLY t
