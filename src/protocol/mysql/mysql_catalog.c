/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_catalog.h"

#include "protocol/mysql/mysql_query.h"

#include <string.h>

#define SYSTEM "('information_schema', 'mysql', 'performance_schema', 'sys')"

static const char test_text[] = "SELECT VERSION()";

static const char databases_text[] =
    "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA "
    "WHERE LOWER(SCHEMA_NAME) NOT IN " SYSTEM " OR SCHEMA_NAME = DATABASE() "
    "ORDER BY SCHEMA_NAME LIMIT #1";

/* 'table' is also what is system versioned; sequences are none. Constants that are compared with a
 * parameter have its character set, for MySQL's servers know no collation for them otherwise. */
static const char tables_text[] =
    "SELECT s, n, t FROM (SELECT TABLE_SCHEMA AS s, TABLE_NAME AS n, "
    "CASE WHEN TABLE_TYPE IN ('VIEW', 'SYSTEM VIEW') THEN _utf8mb4'view' "
    "ELSE _utf8mb4'table' END AS t "
    "FROM information_schema.TABLES WHERE TABLE_TYPE <> 'SEQUENCE') AS listed "
    "WHERE CASE WHEN $1 IS NOT NULL THEN s = $1 WHEN DATABASE() IS NOT NULL THEN s = DATABASE() "
    "ELSE LOWER(s) NOT IN " SYSTEM " END AND ($2 IS NULL OR t = $2) "
    "AND ($3 IS NULL OR LOCATE(LOWER($3), LOWER(n)) > 0) ORDER BY s, n LIMIT #4 OFFSET #5";

static const char columns_text[] =
    "SELECT COLUMN_NAME, COLUMN_TYPE, IF(IS_NULLABLE = 'NO', 'true', 'false'), "
    "SUBSTR(COLUMN_DEFAULT, 1, 500), IF(COLUMN_KEY = 'PRI', 'true', 'false') "
    "FROM information_schema.COLUMNS "
    "WHERE TABLE_SCHEMA = IF($1 = _utf8mb4'', DATABASE(), $1) AND TABLE_NAME = $2 "
    "ORDER BY ORDINAL_POSITION";

static enum target_problem problem_of_query(const struct query_failure *failure)
{
    bool is_too_slow = failure->error.code == ERR_TIMEOUT ||
                       strcmp(failure->code, "70100") == 0; /* ER_QUERY_INTERRUPTED */
    return is_too_slow ? TARGET_PROBLEM_TIMEOUT : TARGET_PROBLEM_QUERY;
}

static enum target_problem problem_of_open(const struct target_failure *failure)
{
    if (failure->error.code == ERR_TIMEOUT) {
        return TARGET_PROBLEM_TIMEOUT;
    }
    if (strcmp(failure->code, "01044") == 0 || strcmp(failure->code, "01049") == 0) {
        return TARGET_PROBLEM_DATABASE; /* ER_DBACCESS_DENIED_ERROR, ER_BAD_DB_ERROR */
    }
    if (failure->stage != TARGET_STAGE_SIGN_IN) {
        return failure->stage == TARGET_STAGE_TLS ? TARGET_PROBLEM_TLS : TARGET_PROBLEM_NETWORK;
    }
    /* A refusal without a number that clients are told is about the user. */
    bool is_about_user = failure->error.code == ERR_DENIED && strcmp(failure->code, "01105") == 0;
    return is_about_user || failure->error.code == ERR_UNAUTHENTICATED ||
                   failure->error.code == ERR_UNSUPPORTED
               ? TARGET_PROBLEM_CREDENTIALS /* not to be used here */
               : TARGET_PROBLEM_SERVER;
}

/* As whom the gateway comes. */
static struct shape_pair catalog_parameters[] = {
    {.key = SLICE_INIT("program_name"), .value = SLICE_INIT("gatehouse")},
};

const struct catalog_ops mysql_catalog_ops = {
    .database = SLICE_INIT(""),
    .schema = SLICE_INIT(""),
    .parameters = {.pairs = catalog_parameters, .count = COUNT_OF(catalog_parameters)},
    .version = MYSQL_QUERY_CAPABILITIES,
    .texts = {[CATALOG_TEST] = test_text,
              [CATALOG_DATABASES] = databases_text,
              [CATALOG_TABLES] = tables_text,
              [CATALOG_COLUMNS] = columns_text},
    .query = mysql_query_start,
    .problem_of_open = problem_of_open,
    .problem_of_query = problem_of_query,
};
