/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_catalog.h"

#include "protocol/postgres/pg_estimate.h"
#include "protocol/postgres/pg_facts.h"
#include "protocol/postgres/pg_query.h"
#include "protocol/postgres/pg_sample.h"
#include "wire/pgwire.h"

static const char test_text[] = "SELECT pg_catalog.current_setting('server_version')";

/* Without those that belong to the server and its provider; 'postgres' is one of them where the
 * connection is for another. */
static const char databases_text[] =
    "SELECT d.datname::pg_catalog.text FROM pg_catalog.pg_database d "
    "WHERE d.datallowconn AND NOT d.datistemplate "
    "AND d.datname::pg_catalog.text NOT IN ('rdsadmin', 'cloudsqladmin', 'azure_maintenance') "
    "AND (d.datname::pg_catalog.text <> 'postgres' "
    "OR d.datname::pg_catalog.text = pg_catalog.current_database()::pg_catalog.text) "
    "AND pg_catalog.has_database_privilege(d.oid, 'CONNECT'::pg_catalog.text) "
    "ORDER BY d.datname::pg_catalog.text COLLATE pg_catalog.\"C\" LIMIT $1::pg_catalog.int8";

static const char tables_text[] =
    "SELECT t.schema, t.name, t.type FROM (SELECT n.nspname::pg_catalog.text AS schema, "
    "c.relname::pg_catalog.text AS name, CASE c.relkind::pg_catalog.text WHEN 'v' THEN 'view' "
    "WHEN 'm' THEN 'materialized_view' WHEN 'f' THEN 'foreign_table' ELSE 'table' END AS type "
    "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.relkind::pg_catalog.text IN ('r', 'p', 'v', 'm', 'f')) t "
    "WHERE CASE WHEN $1::pg_catalog.text IS NULL THEN t.schema <> 'information_schema' "
    "AND pg_catalog.substr(t.schema, 1, 3) <> 'pg_' ELSE t.schema = $1::pg_catalog.text END "
    "AND ($2::pg_catalog.text IS NULL OR t.type = $2::pg_catalog.text) "
    "AND ($3::pg_catalog.text IS NULL OR pg_catalog.strpos(pg_catalog.lower(t.name), "
    "pg_catalog.lower($3::pg_catalog.text)) > 0) "
    "ORDER BY t.schema COLLATE pg_catalog.\"C\", t.name COLLATE pg_catalog.\"C\" "
    "LIMIT $4::pg_catalog.int8 OFFSET $5::pg_catalog.int8";

/* A default is cut where nobody reads on. */
static const char columns_text[] =
    "SELECT a.attname::pg_catalog.text, pg_catalog.format_type(a.atttypid, a.atttypmod), "
    "a.attnotnull::pg_catalog.text, "
    "pg_catalog.substr(pg_catalog.pg_get_expr(d.adbin, d.adrelid), 1, 500), "
    "(EXISTS (SELECT 1 FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisprimary "
    "AND a.attnum = ANY (i.indkey)))::pg_catalog.text "
    "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "LEFT JOIN pg_catalog.pg_attribute a "
    "ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
    "LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum "
    "WHERE n.nspname::pg_catalog.text = $1::pg_catalog.text "
    "AND c.relname::pg_catalog.text = $2::pg_catalog.text "
    "AND c.relkind::pg_catalog.text IN ('r', 'p', 'v', 'm', 'f') ORDER BY a.attnum";

static enum target_problem pg_problem_of_query(const struct query_failure *failure)
{
    bool is_too_slow = failure->error.code == ERR_TIMEOUT ||
                       strcmp(failure->code, "57014") == 0; /* query_canceled */
    return is_too_slow ? TARGET_PROBLEM_TIMEOUT : TARGET_PROBLEM_QUERY;
}

static enum target_problem pg_problem_of_open(const struct target_failure *failure)
{
    if (failure->error.code == ERR_TIMEOUT) {
        return TARGET_PROBLEM_TIMEOUT;
    }
    if (strcmp(failure->code, "08004") == 0) {
        return TARGET_PROBLEM_CREDENTIALS; /* refused */
    }
    if (strcmp(failure->code, "3D000") == 0) { /* invalid_catalog_name */
        return TARGET_PROBLEM_DATABASE;
    }
    if (failure->stage != TARGET_STAGE_SIGN_IN) {
        return failure->stage == TARGET_STAGE_TLS ? TARGET_PROBLEM_TLS : TARGET_PROBLEM_NETWORK;
    }
    return failure->error.code == ERR_UNAUTHENTICATED || failure->error.code == ERR_UNSUPPORTED
               ? TARGET_PROBLEM_CREDENTIALS /* not to be used here */
               : TARGET_PROBLEM_SERVER;
}

/* As whom the gateway comes. */
static struct shape_pair catalog_parameters[] = {
    {.key = SLICE_INIT("application_name"), .value = SLICE_INIT("gatehouse")},
    {.key = SLICE_INIT("client_encoding"), .value = SLICE_INIT("UTF8")},
};

/* Operators are those of the server, whatever path a role has. */
static struct shape_pair facts_parameters[] = {
    {.key = SLICE_INIT("application_name"), .value = SLICE_INIT("gatehouse")},
    {.key = SLICE_INIT("client_encoding"), .value = SLICE_INIT("UTF8")},
    {.key = SLICE_INIT("search_path"), .value = SLICE_INIT("pg_catalog")},
};

static void *pg_catalog_facts_new(struct mask_rules *rules, const struct query_rows *rows)
{
    return pg_facts_new(rules, rows);
}

static void pg_catalog_facts_unref(void *facts)
{
    pg_facts_unref(facts);
}

const struct catalog_ops pg_catalog_ops = {
    .database = SLICE_INIT("postgres"),
    .schema = SLICE_INIT("public"),
    .parameters = {.pairs = catalog_parameters, .count = COUNT_OF(catalog_parameters)},
    .version = PGWIRE_VERSION(3, 0),
    .texts = {[CATALOG_TEST] = test_text,
              [CATALOG_DATABASES] = databases_text,
              [CATALOG_TABLES] = tables_text,
              [CATALOG_COLUMNS] = columns_text},
    .query = pg_query_start,
    .facts_parameters = {.pairs = facts_parameters, .count = COUNT_OF(facts_parameters)},
    .facts_text_in = pg_facts_text_in,
    .facts_columns = PG_FACTS_COLUMNS,
    .facts_new = pg_catalog_facts_new,
    .facts_unref = pg_catalog_facts_unref,
    .estimate = &pg_estimate_ops,
    .sample = &pg_sample_ops,
    .problem_of_open = pg_problem_of_open,
    .problem_of_query = pg_problem_of_query,
};
