-- What DBeaver and Metabase ask when they connect and when they show a database. The words are our
-- own. Catalogs, joins, functions and casts are those that the sources of DBeaver
-- (plugins/org.jkiss.dbeaver.ext.postgresql) and Metabase (src/metabase/driver/postgres.clj) use. None
-- of it may be stopped by a preset. One statement, or one text of several, up to each line of dashes.
SET extra_float_digits = 3
----
SET application_name = 'DBeaver 25.2.0 - Metadata <orders>'
----
SET application_name = 'PostgreSQL JDBC Driver'
----
SET search_path = "$user",public
----
SHOW search_path
----
SHOW timezone;
----
SELECT version()
----
SELECT current_schema(), session_user
----
SELECT dbs.oid, dbs.* FROM pg_catalog.pg_database dbs WHERE dbs.datallowconn AND NOT dbs.datistemplate AND dbs.datname = current_database() ORDER BY dbs.datname
----
SELECT * FROM pg_catalog.pg_settings WHERE name = 'standard_conforming_strings'
----
SELECT string_agg(word, ',') FROM pg_catalog.pg_get_keywords() WHERE word <> ALL ('{a,abs,all,and,any,as,at,by,select,where}'::text[])
----
SELECT ns.nspname = ANY(current_schemas(true)), ns.nspname, ty.typname FROM pg_catalog.pg_type ty JOIN pg_catalog.pg_namespace ns ON ns.oid = ty.typnamespace WHERE ty.oid = 1034
----
SELECT ns.oid, ns.*, txt.description FROM pg_catalog.pg_namespace ns LEFT OUTER JOIN pg_catalog.pg_description txt ON txt.objoid = ns.oid AND txt.classoid = 'pg_namespace'::regclass AND txt.objsubid = 0 ORDER BY ns.nspname
----
SELECT rel.oid, rel.*, txt.description, pg_catalog.pg_get_expr(rel.relpartbound, rel.oid) AS bound, pg_catalog.pg_get_partkeydef(rel.oid) AS parted_by FROM pg_catalog.pg_class rel LEFT OUTER JOIN pg_catalog.pg_description txt ON txt.objoid = rel.oid AND txt.classoid = 'pg_class'::regclass AND txt.objsubid = 0 WHERE rel.relkind NOT IN ('i', 'I', 'c') AND rel.relnamespace = 'public'::regnamespace
----
SELECT rel.oid, pg_catalog.pg_relation_size(rel.oid) AS own_size, pg_catalog.pg_total_relation_size(rel.oid) AS size_in_all FROM pg_catalog.pg_class rel WHERE rel.relnamespace = 'public'::regnamespace
----
SELECT rel.relname, col.*, txt.description, needs.objid, pg_catalog.pg_get_expr(std.adbin, std.adrelid, true) AS standard FROM pg_catalog.pg_attribute col INNER JOIN pg_catalog.pg_class rel ON (rel.oid = col.attrelid) LEFT OUTER JOIN pg_catalog.pg_attrdef std ON (std.adnum = col.attnum AND std.adrelid = col.attrelid) LEFT OUTER JOIN pg_catalog.pg_description txt ON (txt.objsubid = col.attnum AND txt.objoid = rel.oid) LEFT OUTER JOIN pg_depend needs ON needs.refobjsubid = col.attnum AND needs.refobjid = col.attrelid AND needs.refclassid = needs.classid AND needs.deptype = 'i' WHERE rel.relkind NOT IN ('i', 'I', 'c') AND NOT col.attisdropped ORDER BY col.attnum
----
SELECT ty.oid, ty.*, rel.relkind, txt.description, format_type(nullif(ty.typbasetype, 0), ty.typtypmod) AS base FROM pg_catalog.pg_type ty LEFT OUTER JOIN pg_catalog.pg_class rel ON rel.oid = ty.typrelid LEFT OUTER JOIN pg_catalog.pg_type part ON part.oid = ty.typelem LEFT OUTER JOIN pg_catalog.pg_description txt ON txt.objoid = ty.oid WHERE (rel.relkind = 'c' OR rel.relkind IS NULL) AND (part.typcategory <> 'C' OR part.typcategory IS NULL) AND ty.typname IS NOT NULL
----
SELECT val.enumlabel, val.enumsortorder FROM pg_catalog.pg_enum val WHERE val.enumtypid = 0 ORDER BY val.enumsortorder
----
SELECT con.oid, con.*, rel.relname AS of_table, other.relnamespace AS other_schema, txt.description, pg_catalog.pg_get_constraintdef(con.oid) AS words FROM pg_catalog.pg_constraint con INNER JOIN pg_catalog.pg_class rel ON rel.oid = con.conrelid LEFT OUTER JOIN pg_catalog.pg_class other ON other.oid = con.confrelid LEFT OUTER JOIN pg_catalog.pg_description txt ON txt.objoid = con.oid AND txt.objsubid = 0 AND txt.classoid = 'pg_constraint'::regclass WHERE rel.relnamespace = 'public'::regnamespace ORDER BY con.oid
----
SELECT ix.*, ix.indkey AS at, own.relname, own.relam, own.relnamespace, rel.relname AS of_table, txt.description, pg_catalog.pg_get_expr(ix.indpred, ix.indrelid) AS only_where, pg_catalog.pg_get_expr(ix.indexprs, ix.indrelid, true) AS of_what, pg_catalog.pg_relation_size(ix.indexrelid) AS size, pg_catalog.pg_stat_get_numscans(ix.indexrelid) AS scans FROM pg_catalog.pg_index ix INNER JOIN pg_catalog.pg_class own ON own.oid = ix.indexrelid INNER JOIN pg_catalog.pg_class rel ON rel.oid = ix.indrelid LEFT OUTER JOIN pg_catalog.pg_description txt ON txt.objoid = ix.indexrelid ORDER BY rel.relname, own.relname
----
SELECT pg_catalog.pg_get_indexdef(ix.indexrelid, 1, true) FROM pg_catalog.pg_index ix LIMIT 5
----
SELECT fn.oid, fn.*, txt.description FROM pg_catalog.pg_proc fn LEFT OUTER JOIN pg_catalog.pg_description txt ON txt.objoid = fn.oid WHERE fn.pronamespace = 'public'::regnamespace ORDER BY fn.proname
----
SELECT pg_catalog.pg_get_functiondef(fn.oid) FROM pg_catalog.pg_proc fn WHERE fn.prokind = 'f' LIMIT 3
----
SELECT pg_catalog.pg_get_viewdef('pg_catalog.pg_views'::regclass, true)
----
SELECT trg.oid, trg.*, fn.pronamespace AS fn_schema, txt.description, pg_catalog.pg_get_triggerdef(trg.oid) AS words FROM pg_catalog.pg_trigger trg INNER JOIN pg_catalog.pg_proc fn ON fn.oid = trg.tgfoid LEFT OUTER JOIN pg_catalog.pg_description txt ON txt.objoid = trg.oid WHERE NOT trg.tgisinternal
----
SELECT rl.oid, rl.*, txt.description FROM pg_catalog.pg_roles rl LEFT JOIN pg_catalog.pg_shdescription txt ON txt.objoid = rl.oid ORDER BY rl.rolname
----
SELECT own.setconfig, dbs.datname FROM pg_catalog.pg_db_role_setting own LEFT JOIN pg_catalog.pg_database dbs ON dbs.oid = own.setdatabase WHERE own.setrole = 10
----
SELECT * FROM information_schema.table_privileges WHERE grantee = 'nobody' AND table_catalog = current_database()
----
SELECT * FROM information_schema.routine_privileges WHERE grantee = 'nobody' AND specific_catalog = current_database()
----
SELECT * FROM (SELECT DISTINCT relnamespace, relacl, relname, relkind, (aclexplode(relacl)).grantee AS whose FROM pg_class WHERE relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname <> 'information_schema' AND nspname NOT LIKE 'pg_%') AND relacl IS NOT NULL UNION ALL SELECT DISTINCT ns.oid, ns.nspacl, ns.nspname, cast('C' AS "char"), (aclexplode(ns.nspacl)).grantee FROM pg_catalog.pg_namespace ns WHERE ns.nspacl IS NOT NULL) AS acl WHERE acl.relkind IN ('S', 'm', 'C') AND pg_get_userbyid(acl.whose) = current_user
----
SELECT conv.contoencoding AS id, pg_catalog.pg_encoding_to_char(conv.contoencoding) AS named FROM pg_catalog.pg_conversion conv GROUP BY conv.contoencoding ORDER BY 2
----
SELECT lang.oid, lang.* FROM pg_catalog.pg_language lang ORDER BY lang.oid; SELECT am.oid, am.* FROM pg_catalog.pg_am am ORDER BY am.oid; SELECT place.oid, place.*, pg_tablespace_location(place.oid) AS folder FROM pg_catalog.pg_tablespace place ORDER BY place.oid
----
SELECT fdw.oid, fdw.*, fn.pronamespace AS fn_schema FROM pg_catalog.pg_foreign_data_wrapper fdw LEFT OUTER JOIN pg_catalog.pg_proc fn ON fn.oid = fdw.fdwhandler ORDER BY fdw.fdwname; SELECT far.oid, far.* FROM pg_catalog.pg_foreign_server far ORDER BY far.srvname
----
SELECT rel.oid, rel.relname, rel.relkind, rel.relnamespace FROM pg_catalog.pg_class rel WHERE rel.relname ILIKE '%kept%' AND rel.relkind IN ('r', 'v', 'm') ORDER BY rel.relname LIMIT 10
----
SELECT col.attname, col.atttypid, col.attrelid, rel.relnamespace FROM pg_catalog.pg_class rel, pg_catalog.pg_attribute col WHERE col.attname ILIKE '%id%' AND col.attrelid = rel.oid ORDER BY col.attname LIMIT 10
----
SELECT needs.deptype, needs.classid, needs.objid, kind.relkind, CASE WHEN kind.relname IS NOT NULL THEN kind.relname || coalesce('.' || col.attname, '') ELSE coalesce(fn.proname, con.conname, trg.tgname, rule.rulename) END AS named FROM pg_catalog.pg_depend needs LEFT JOIN pg_class kind ON kind.oid = needs.objid LEFT JOIN pg_attribute col ON col.attrelid = needs.objid AND col.attnum = needs.objsubid LEFT JOIN pg_proc fn ON fn.oid = needs.objid LEFT JOIN pg_constraint con ON con.oid = needs.objid LEFT JOIN pg_trigger trg ON trg.oid = needs.objid LEFT JOIN pg_rewrite rule ON rule.oid = needs.objid WHERE needs.refobjid = 'pg_class'::regclass
----
SELECT one.* FROM pg_catalog.pg_stat_activity one; SELECT held.locktype, held.mode, held.granted, one.usename, pg_catalog.pg_blocking_pids(one.pid) AS waits_for FROM pg_catalog.pg_locks held JOIN pg_catalog.pg_stat_activity one ON one.pid = held.pid
----
SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED
----
BEGIN READ ONLY; SELECT 1; COMMIT
----
SELECT nspname, typname FROM pg_type ty JOIN pg_namespace ns ON ty.typnamespace = ns.oid WHERE ty.oid IN (SELECT DISTINCT val.enumtypid FROM pg_enum val)
----
SELECT "ns"."nspname" AS "schema", "rel"."relname" AS "name", CASE "rel"."relkind" WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'v' THEN 'VIEW' WHEN 'p' THEN 'PARTITIONED TABLE' WHEN 'r' THEN 'TABLE' ELSE NULL END AS "type", "txt"."description", "seen"."n_live_tup" AS "about" FROM "pg_catalog"."pg_class" AS "rel" INNER JOIN "pg_catalog"."pg_namespace" AS "ns" ON "rel"."relnamespace" = "ns"."oid" LEFT JOIN "pg_catalog"."pg_description" AS "txt" ON ("txt"."objoid" = "rel"."oid") AND ("txt"."objsubid" = 0) AND ("txt"."classoid" = 'pg_class'::regclass) LEFT JOIN "pg_stat_user_tables" AS "seen" ON ("seen"."relname" = "rel"."relname") AND ("seen"."schemaname" = "ns"."nspname") WHERE ("ns"."nspname" !~ '^pg_') AND ("ns"."nspname" <> 'information_schema') AND rel.relkind IN ('r', 'p', 'v', 'f', 'm') ORDER BY "type" ASC, "schema" ASC, "name" ASC
----
SELECT "col"."column_name" AS "name", CASE WHEN "col"."udt_schema" IN ('public', 'pg_catalog') THEN FORMAT('%s', "col"."udt_name") ELSE FORMAT('"%s"."%s"', "col"."udt_schema", "col"."udt_name") END AS "kind", "col"."ordinal_position" - 1 AS "place", "key"."column_name" IS NOT NULL AS "is-key", COL_DESCRIPTION(CAST(CAST(FORMAT('%I.%I', CAST("col"."table_schema" AS TEXT), CAST("col"."table_name" AS TEXT)) AS REGCLASS) AS OID), "col"."ordinal_position") AS "words", (("column_default" IS NOT NULL) AND ("column_default" LIKE '%nextval(%')) OR ("is_identity" <> 'NO') AS "counts" FROM "information_schema"."columns" AS "col" LEFT JOIN (SELECT "con"."table_schema", "con"."table_name", "part"."column_name" FROM "information_schema"."table_constraints" AS "con" INNER JOIN "information_schema"."key_column_usage" AS "part" ON ("part"."constraint_name" = "con"."constraint_name") AND ("part"."table_schema" = "con"."table_schema") AND ("part"."table_name" = "con"."table_name") WHERE "con"."constraint_type" = 'PRIMARY KEY') AS "key" ON ("key"."table_schema" = "col"."table_schema") AND ("key"."table_name" = "col"."table_name") AND ("key"."column_name" = "col"."column_name") WHERE "col"."table_schema" !~ '^(information_schema|pg_)' UNION ALL SELECT "at"."attname", FORMAT('%s', "ty"."typname"), "at"."attnum" - 1, FALSE, NULL, FALSE FROM "pg_catalog"."pg_class" AS "rel" INNER JOIN "pg_catalog"."pg_attribute" AS "at" ON "at"."attrelid" = "rel"."oid" INNER JOIN "pg_catalog"."pg_type" AS "ty" ON "ty"."oid" = "at"."atttypid" WHERE ("rel"."relkind" = 'm') AND ("at"."attnum" >= 1) ORDER BY "place" ASC
----
SELECT "ns"."nspname" AS "from-schema", "rel"."relname" AS "from-table", "col"."attname" AS "from-column", "other"."relname" AS "to-table", "key"."attname" AS "to-column" FROM "pg_constraint" AS "con" INNER JOIN "pg_class" AS "rel" ON "rel"."oid" = "con"."conrelid" INNER JOIN "pg_namespace" AS "ns" ON "ns"."oid" = "con"."connamespace" INNER JOIN "pg_attribute" AS "col" ON "col"."attrelid" = "con"."conrelid" INNER JOIN "pg_class" AS "other" ON "other"."oid" = "con"."confrelid" INNER JOIN "pg_attribute" AS "key" ON "key"."attrelid" = "con"."confrelid" WHERE ns.nspname !~ '^(information_schema|pg_)' AND ("con"."contype" = 'f'::char) AND ("col"."attnum" = ANY(con.conkey)) AND ("key"."attnum" = ANY(con.confkey)) ORDER BY "from-schema" ASC, "from-table" ASC
----
SELECT "one"."schema", "one"."table", TRIM(BOTH '"' FROM PG_CATALOG.PG_GET_INDEXDEF("one"."oid", "one"."at", FALSE)) AS "field" FROM (SELECT "ns"."nspname" AS "schema", "rel"."relname" AS "table", "own"."oid", (INFORMATION_SCHEMA._PG_EXPANDARRAY("ix"."indkey")).n AS "at" FROM "pg_catalog"."pg_class" AS "rel" INNER JOIN "pg_catalog"."pg_namespace" AS "ns" ON "ns"."oid" = "rel"."relnamespace" INNER JOIN "pg_catalog"."pg_index" AS "ix" ON "ix"."indrelid" = "rel"."oid" INNER JOIN "pg_catalog"."pg_class" AS "own" ON "own"."oid" = "ix"."indexrelid" WHERE PG_CATALOG.PG_GET_EXPR("ix"."indpred", "ix"."indrelid") IS NULL) AS "one" WHERE "one"."at" = 1
----
WITH rights AS (SELECT NULL AS role, named.schemaname AS schema, named.it AS table, pg_catalog.has_any_column_privilege(current_user, named.path, 'select') AS select, pg_catalog.has_any_column_privilege(current_user, named.path, 'insert') AS insert, pg_catalog.has_any_column_privilege(current_user, named.path, 'update') AS update, pg_catalog.has_table_privilege(current_user, named.path, 'delete') AS delete FROM (SELECT kinds.schemaname, kinds.it, '"' || replace(kinds.schemaname, '"', '""') || '"."' || replace(kinds.it, '"', '""') || '"' AS path FROM (SELECT schemaname, tablename AS it FROM pg_catalog.pg_tables UNION SELECT schemaname, viewname FROM pg_catalog.pg_views UNION SELECT schemaname, matviewname FROM pg_catalog.pg_matviews) kinds) named WHERE named.schemaname <> 'information_schema' AND named.schemaname !~ '^pg_' AND pg_catalog.has_schema_privilege(current_user, named.schemaname, 'usage')) SELECT rights.* FROM rights
----
-- Metabase:: userID: 1 queryType: MBQL queryHash: 5b1e
SELECT "source"."relkind" AS "relkind", COUNT(*) AS "count", CAST(DATE_TRUNC('week', CAST(NOW() AS timestamp) + INTERVAL '1 day') AS timestamp) AS "week", CAST(EXTRACT(dow FROM CAST(NOW() AS timestamp)) AS integer) AS "day", PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY "source"."relpages") AS "median", SUBSTRING('a1' FROM '[0-9]') AS "digit", TIMEZONE('UTC', NOW()) AS "there" FROM "pg_catalog"."pg_class" AS "source" WHERE (LOWER("source"."relname") LIKE '%a%') AND ("source"."reltuples" >= -1) GROUP BY "source"."relkind" ORDER BY "source"."relkind" ASC LIMIT 2000
----
DISCARD TEMP
