/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_rehearse_question.h"

#include "codec/hex.h"

#include <sodium.h>

#define SECRET_SIZE 16

struct slice pg_rehearse_setting_in(struct arena *arena)
{
    unsigned char secret[SECRET_SIZE];
    randombytes_buf(secret, sizeof(secret));
    struct slice digits = hex_encode(arena, slice_of(secret, sizeof(secret)));
    return arena_format(arena, "gatehouse.before_%.*s", SLICE_ARG(digits));
}

struct slice pg_rehearse_begin_in(struct arena *arena, struct slice setting)
{
    return arena_format(
        arena,
        "SELECT pg_catalog.set_config('lock_timeout', '5s', true), "
        "pg_catalog.set_config('idle_in_transaction_session_timeout', '0', true), "
        "pg_catalog.set_config('%.*s', (SELECT pg_catalog.json_object_agg("
        "s.relid::pg_catalog.text, pg_catalog.json_build_array(s.n_tup_ins, s.n_tup_upd, "
        "s.n_tup_del))::pg_catalog.text FROM pg_catalog.pg_stat_xact_user_tables s), true)",
        SLICE_ARG(setting));
}

#define BEGIN_ASKING                                                                               \
    "SAVEPOINT gatehouse_rehearsal; SET LOCAL search_path = pg_catalog; "                          \
    "SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL IntervalStyle = 'postgres'; "                     \
    "SET LOCAL extra_float_digits = 1; "

/* Constraints and triggers that wait for the end of the transaction are due now. The path is the
 * server's own while it is asked, and the client's again. A limit on the time of statements that
 * the client has set is not of these. */
static const char question_begin[] =
    "SET CONSTRAINTS ALL IMMEDIATE; SET LOCAL statement_timeout = 0; " BEGIN_ASKING;

static const char question_written[] =
    "counts AS (SELECT s.relid, s.schemaname, s.relname, "
    "s.n_tup_ins - coalesce((b.was -> s.relid::text ->> 0)::int8, 0) AS inserted, "
    "s.n_tup_upd - coalesce((b.was -> s.relid::text ->> 1)::int8, 0) AS updated, "
    "s.n_tup_del - coalesce((b.was -> s.relid::text ->> 2)::int8, 0) AS deleted "
    "FROM pg_stat_xact_user_tables s, before b), "
    "written AS (SELECT * FROM counts WHERE inserted > 0 OR updated > 0 OR deleted > 0 "
    "ORDER BY schemaname, relname LIMIT 50), ";

/* Which tables and columns are read. */
static const char question_columns[] =
    "sampled AS (SELECT w.*, row_number() OVER (ORDER BY w.schemaname, w.relname) AS n, "
    "format('%I.%I', w.schemaname, w.relname) AS name, "
    "(txid_current() & 4294967295)::text AS xid, "
    "EXISTS (SELECT FROM pg_inherits h WHERE h.inhrelid = w.relid) AS is_child, "
    "CASE WHEN c.relkind <> 'r' THEN 'it is no plain table' "
    "WHEN c.relpersistence = 't' THEN 'it is a temporary table' "
    "WHEN c.relrowsecurity THEN 'its rows are under policies' "
    "WHEN pg_relation_size(w.relid) > 134217728 "
    "THEN 'it is larger than 128 MiB, and is not looked through' ELSE '' END AS why "
    "FROM written w JOIN pg_class c ON c.oid = w.relid "
    "ORDER BY w.schemaname, w.relname LIMIT 3), "
    "columns AS (SELECT s.relid, a.attnum, a.attname, "
    "CASE t.typtype WHEN 'e' THEN 25 ELSE t.oid::int8 END AS type, "
    "format_type(t.oid, NULL) AS type_name, "
    "(t.typtype = 'e' OR (t.typtype = 'b' AND t.typnamespace = 'pg_catalog'::regnamespace "
    "AND t.oid <> 17)) AND a.attgenerated <> 'v' "
    "AND has_column_privilege(s.relid, a.attnum, 'SELECT') "
    "AND row_number() OVER (PARTITION BY s.relid ORDER BY a.attnum) <= 32 AS is_shown "
    "FROM sampled s JOIN pg_attribute a ON a.attrelid = s.relid AND a.attnum > 0 "
    "AND NOT a.attisdropped JOIN pg_type t ON t.oid = a.atttypid), "
    "keys AS (SELECT i.indrelid AS relid, "
    "string_agg('concat(t.' || quote_ident(c.attname) || ')', ', ' ORDER BY k.ord) AS said, "
    "string_agg(format('(r -> 0 ->> %s)::%s AS k%s', k.ord - 1, c.type_name, k.ord), ', ' "
    "ORDER BY k.ord) AS asked, "
    "string_agg(format('t.%s = k.k%s', quote_ident(c.attname), k.ord), ' AND ' ORDER BY k.ord) "
    "AS joined FROM pg_index i "
    "CROSS JOIN unnest(i.indkey::int2[]) WITH ORDINALITY k (attnum, ord) "
    "LEFT JOIN columns c ON c.relid = i.indrelid AND c.attnum = k.attnum "
    "WHERE i.indrelid IN (SELECT relid FROM sampled) AND i.indisprimary "
    "AND k.ord <= i.indnkeyatts GROUP BY i.indrelid "
    "HAVING bool_and(coalesce(c.is_shown, false))), ";

/* The queries: 20 rows of a table, 15,000 bytes of them. concat() says values as clients get them,
 * and calls no cast that somebody has made. Where rows were updated, which ones were deleted as
 * well cannot be told from the old versions of the others. */
static const char question_parts[] =
    "rows AS (SELECT c.relid, '(SELECT jsonb_agg(CASE WHEN octet_length(x.v) > 1024 "
    "THEN jsonb_build_object(''bytes'', octet_length(x.v)) ELSE to_jsonb(x.v) END ORDER BY x.o) "
    "FROM unnest(ARRAY[' || string_agg(format('CASE WHEN t.%1$I IS NOT NULL THEN concat(t.%1$I) "
    "END', c.attname), ', ' ORDER BY c.attnum) || ']) WITH ORDINALITY x (v, o))' AS said "
    "FROM columns c WHERE c.is_shown GROUP BY c.relid), "
    "bounded AS (SELECT '(SELECT jsonb_agg(z.r) FROM (SELECT q.r, sum(octet_length(q.r::text)) "
    "OVER (ROWS UNBOUNDED PRECEDING) AS s FROM (SELECT jsonb_build_array(%s, %s) AS r "
    "FROM ONLY %s t %s LIMIT 20) q) z WHERE z.s <= 15000)' AS form), "
    "parts AS (SELECT s.*, k.relid IS NOT NULL AS has_key, "
    "format(b.form, coalesce('jsonb_build_array(' || k.said || ')', 'NULL::jsonb'), r.said, "
    "s.name, format('WHERE t.xmin = %L::xid', s.xid)) AS after, "
    "CASE WHEN s.updated > 0 THEN format(b.form, 'jsonb_build_array(' || k.said || ')', r.said, "
    "s.name, 'JOIN (SELECT DISTINCT ' || k.asked || format(' FROM jsonb_path_query($1::jsonb, "
    "''$[*] ? (@.n == %s).rows[*]'') r) k ON ', s.n) || k.joined) "
    "ELSE format(b.form, 'NULL::jsonb', r.said, s.name, "
    "format('WHERE t.xmax = %L::xid', s.xid)) END AS before "
    "FROM sampled s JOIN rows r ON r.relid = s.relid LEFT JOIN keys k ON k.relid = s.relid, "
    "bounded b WHERE s.why = ''), ";

static const char question_plan[] =
    "plan AS (SELECT jsonb_build_object('tables', (SELECT jsonb_agg(jsonb_build_object("
    "'n', s.n, 'schema', s.schemaname, 'table', s.relname, 'is_child', s.is_child, "
    "'inserted', s.inserted, 'updated', s.updated, 'deleted', s.deleted, 'why', s.why, "
    "'has_key', k.relid IS NOT NULL, 'columns', (SELECT coalesce(jsonb_agg(jsonb_build_array("
    "c.attname, c.type) ORDER BY c.attnum), '[]') FROM columns c "
    "WHERE c.relid = s.relid AND c.is_shown), 'hidden', (SELECT count(*) FROM columns c "
    "WHERE c.relid = s.relid AND NOT c.is_shown)) ORDER BY s.n) "
    "FROM sampled s LEFT JOIN keys k ON k.relid = s.relid), "
    "'more', (SELECT count(*) FROM written) - (SELECT count(*) FROM sampled), "
    "'after', (SELECT 'SELECT jsonb_agg(p)::text FROM (' || string_agg(format("
    "'SELECT %s AS n, %s AS rows, %s AS locked', p.n, "
    "CASE WHEN p.inserted > 0 OR p.updated > 0 THEN p.after ELSE 'NULL::jsonb' END, "
    "CASE WHEN p.deleted > 0 THEN format('EXISTS (SELECT FROM ONLY %s t "
    "WHERE t.xmax = %L::xid)', p.name, p.xid) ELSE 'false' END), ' UNION ALL ' ORDER BY p.n) "
    "|| ') p' FROM parts p), "
    "'before', (SELECT 'SELECT jsonb_agg(p)::text FROM (' || string_agg(format("
    "'SELECT %s AS n, %s AS rows', p.n, p.before), ' UNION ALL ' ORDER BY p.n) || ') p' "
    "FROM parts p WHERE (p.updated > 0 AND p.has_key) OR (p.updated = 0 AND p.deleted > 0))"
    ")::text AS said) ";

static const char question_effects[] =
    "SELECT json_build_object('tables', (SELECT coalesce(json_agg(json_build_object("
    "'table', schemaname || '.' || relname, 'inserted', inserted, 'updated', updated, "
    "'deleted', deleted)), '[]') FROM written), "
    "'triggers', (SELECT coalesce(json_agg(t), '[]') FROM (SELECT w.schemaname || '.' || "
    "w.relname AS \"table\", g.tgname AS name, p.proname AS \"function\" FROM written w "
    "JOIN pg_trigger g ON g.tgrelid = w.relid JOIN pg_proc p ON p.oid = g.tgfoid "
    "WHERE NOT g.tgisinternal AND g.tgenabled <> 'D' ORDER BY 1, 2 LIMIT 50) t), "
    "'constraints', (SELECT coalesce(json_agg(t), '[]') FROM (SELECT w.schemaname || '.' || "
    "w.relname AS \"table\", o.conname AS name, CASE o.contype WHEN 'f' THEN 'foreign key' "
    "WHEN 'p' THEN 'primary key' WHEN 'u' THEN 'unique' WHEN 'c' THEN 'check' ELSE 'other' END "
    "AS kind FROM written w JOIN pg_constraint o ON o.conrelid = w.relid "
    "WHERE o.contype IN ('f', 'p', 'u', 'c', 'x') ORDER BY 1, 2 LIMIT 50) t), "
    "'locks', (SELECT coalesce(json_agg(t), '[]') FROM (SELECT n.nspname || '.' || c.relname "
    "AS relation, l.mode, count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation "
    "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE l.pid = pg_backend_pid() AND l.granted "
    "AND l.relation >= 16384 AND l.mode <> 'AccessShareLock' GROUP BY 1, 2 ORDER BY 1, 2 "
    "LIMIT 50) t))::text, "
    "(SELECT said FROM plan WHERE octet_length(said) <= 40000); " PG_REHEARSE_SAMPLE_UNDO;

struct slice pg_rehearse_question_in(struct arena *arena, struct slice setting)
{
    struct slice before =
        arena_format(arena,
                     "WITH before AS (SELECT coalesce(nullif(current_setting('%.*s', true), ''), "
                     "'{}')::json AS was), ",
                     SLICE_ARG(setting));
    return arena_format(arena, "%s%.*s%s%s%s%s%s", question_begin, SLICE_ARG(before),
                        question_written, question_columns, question_parts, question_plan,
                        question_effects);
}

struct slice pg_rehearse_sample_in(struct arena *arena, struct slice query)
{
    return arena_format(arena, "%s%.*s; %s", BEGIN_ASKING, SLICE_ARG(query),
                        PG_REHEARSE_SAMPLE_UNDO);
}
