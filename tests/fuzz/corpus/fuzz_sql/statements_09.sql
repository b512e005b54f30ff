SELECT has_table_privilege('t', 'delete') AS delete, has_table_privilege(current_user, 't', 'update') AS update FROM pg_class;
SELECT x::numeric(10,2), y::timestamp with time zone, z::double precision[], CAST(a AS character varying(20)), date '2020-01-01', interval '1' day, interval(3) '1 s', timestamp(3) with time zone '2020-01-01', s.mytype 'x', float8 '1' FROM t;
SELECT * FROM (WITH x AS (DELETE FROM deep RETURNING *) SELECT * FROM x) y;
INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = (SELECT c FROM d) || 'x';
MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DO NOTHING;
EXPLAIN (ANALYZE 0) DELETE FROM t;
DEALLOCATE PREPARE ALL;
REFRESH MATERIALIZED VIEW CONCURRENTLY s.v WITH DATA;
CREATE SCHEMA AUTHORIZATION joe;
CREATE TABLESPACE t LOCATION '/x';
ALTER SYSTEM SET x = 'y';
DROP ROUTINE r;
DROP COLLATION c;
GRANT ALL PRIVILEGES ON TABLE a, s.b TO PUBLIC;
SHOW ALL;
VACUUM (FULL, PARALLEL 2) s.t, u (a);
SELECT $a$ $b$ ; $$ $a$, $1 FROM t;
SELECT * FROM JSON_TABLE(doc, '$[*]' PASSING (SELECT 1 FROM u) AS x COLUMNS (a int PATH '$.a', NESTED PATH '$.b[*]' COLUMNS (c FOR ORDINALITY))) AS jt
