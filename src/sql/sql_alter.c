/* SPDX-License-Identifier: MIT */
#include "sql/sql_internal.h"

/* ALTER [COLUMN] name [SET DATA] TYPE …, SET EXPRESSION …: behind 'index' all rows are written. */
static bool sql_alters_rows(const struct sql_scan *scan, size_t index)
{
    struct slice written = sql_token_text(scan, index);
    enum sql_word before = sql_word_at(scan, index - 1);
    if (slice_equals_nocase(written, SLICE("expression"))) {
        return before == SQL_WORD_SET;
    }
    if (sql_word_at(scan, index) != SQL_WORD_TYPE) {
        return false;
    }
    enum sql_word first = sql_word_at(scan, index - 2);
    return sql_word_at(scan, index - 1) == SQL_WORD_DATA || first == SQL_WORD_ALTER ||
           first == SQL_WORD_COLUMN;
}

/* DROP [COLUMN | ATTRIBUTE] …, where a command begins: values go with it, as with what is dropped
 * by itself. */
static bool sql_drops_values(const struct sql_scan *scan, size_t index)
{
    bool is_first = index == scan->at || sql_kind_at(scan, index - 1) == SQL_TOKEN_COMMA;
    return is_first && sql_word_at(scan, index) == SQL_WORD_DROP &&
           sql_word_at(scan, index + 1) != SQL_WORD_CONSTRAINT;
}

/* What commands do beside altering. */
static void sql_alter_commands(struct sql_scan *scan)
{
    size_t depth = 0;
    for (size_t i = scan->at; i + 1 < scan->end; i++) {
        enum sql_word word = sql_word_at(scan, i);
        struct slice before = sql_token_lower(scan, i - 1);
        depth += sql_kind_at(scan, i) == SQL_TOKEN_OPEN ? 1 : 0;
        depth -= sql_kind_at(scan, i) == SQL_TOKEN_CLOSE && depth > 0 ? 1 : 0;
        if (depth == 0 && sql_drops_values(scan, i)) {
            sql_operate(scan, SQL_DROP);
        } else if (word == SQL_WORD_OPTIONS && sql_kind_at(scan, i + 1) == SQL_TOKEN_OPEN) {
            sql_operate(scan, SQL_FOREIGN);
        } else if ((word == SQL_WORD_TRIGGER || word == SQL_WORD_RULE) &&
                   (slice_equals(before, SLICE("enable")) ||
                    slice_equals(before, SLICE("disable")) ||
                    slice_equals(before, SLICE("replica")) ||
                    slice_equals(before, SLICE("always")))) {
            sql_operate(scan, SQL_CODE);
        }
    }
}

static void sql_alter_table(struct sql_scan *scan)
{
    size_t index = 0;
    if (sql_word_at(scan, scan->at) == SQL_WORD_ALL) { /* IN TABLESPACE */
        sql_add_all(scan, SLICE_NONE, SQL_BIT(SQL_ALTER));
        return;
    }
    if (!sql_define_relation(scan, SQL_BIT(SQL_ALTER))) {
        return;
    }
    sql_alter_commands(scan);
    for (size_t i = scan->at; i < scan->end && !scan->statement->rewrites_rows; i++) {
        scan->statement->rewrites_rows = sql_alters_rows(scan, i);
    }
    for (size_t i = scan->at; i + 1 < scan->end; i++) {
        enum sql_word word = sql_word_at(scan, i);
        if ((word == SQL_WORD_ATTACH || word == SQL_WORD_DETACH) &&
            sql_word_at(scan, i + 1) == SQL_WORD_PARTITION) {
            scan->at = i + 2;
            (void)sql_take_relation(scan, SQL_BIT(SQL_ALTER), &index);
            scan->statement->needs_no_transaction |=
                sql_word_at(scan, scan->at) == SQL_WORD_CONCURRENTLY;
            break;
        }
    }
    (void)sql_define_rest(scan);
}

/* The name of the thing, and the table that it is on. */
static void sql_alter_on(struct sql_scan *scan, uint64_t operations)
{
    size_t index = 0;
    if (sql_skip_to(scan, SQL_WORD_ON) && sql_take_relation(scan, operations, &index)) {
        scan->statement->relations[index].is_read |= operations == SQL_BIT(SQL_ALTER);
    }
}

static void sql_alter_default(struct sql_scan *scan)
{
    bool is_revoke = sql_find_word(scan, SQL_WORD_REVOKE) < scan->end;
    enum sql_operation operation = is_revoke ? SQL_REVOKE : SQL_GRANT;
    size_t end = sql_find_word(scan, is_revoke ? SQL_WORD_REVOKE : SQL_WORD_GRANT);
    sql_operate(scan, operation);
    size_t schema = sql_find_word(scan, SQL_WORD_SCHEMA);
    if (schema < end) {
        scan->at = schema + 1;
        sql_take_schemas(scan, SQL_BIT(operation));
    } else {
        sql_add_all(scan, SLICE_NONE, SQL_BIT(operation));
    }
}

/* What gives its relations another name hides them from those who know the old one. */
static void sql_alter_schema(struct sql_scan *scan)
{
    struct sql_name name;
    if (sql_take_name(scan, &name)) {
        sql_add_all(scan, name.name, SQL_BIT(SQL_ALTER));
        sql_add_all(scan, name.name, 0);
    }
}

/* By another name, or in another schema, it is not the one any more that a rule names. */
static void sql_alter_function(struct sql_scan *scan)
{
    struct sql_name name;
    bool is_moved = sql_find_word(scan, SQL_WORD_RENAME) < scan->end ||
                    sql_find_word(scan, SQL_WORD_SCHEMA) < scan->end;
    if (is_moved && sql_take_name(scan, &name)) {
        (void)sql_add_function(scan, name, false);
    }
}

static void sql_alter_type(struct sql_scan *scan)
{
    struct sql_name name;
    if (sql_take_name(scan, &name) && sql_drops_values(scan, scan->at)) {
        sql_operate(scan, SQL_DROP);
    }
}

/* ALTER SYSTEM names programs that the server runs, ALTER DATABASE and ROLE libraries that sessions
 * load. */
static void sql_alter_settings(struct sql_scan *scan, enum sql_word kind)
{
    bool is_code = kind == SQL_WORD_SYSTEM;
    for (size_t i = scan->at; i < scan->end && !is_code; i++) {
        is_code = sql_token_is_name(scan, i) &&
                  slice_has_nocase(sql_token_name(scan, i), SLICE("preload_libraries"));
    }
    if (is_code) {
        sql_operate(scan, SQL_CODE);
    }
    scan->statement->needs_no_transaction =
        kind == SQL_WORD_SYSTEM ||
        (kind == SQL_WORD_DATABASE && sql_find_word(scan, SQL_WORD_TABLESPACE) < scan->end);
}

static void sql_alter_kind(struct sql_scan *scan, enum sql_word kind)
{
    sql_define_nature(scan, kind);
    switch ((int)kind) {
    case SQL_WORD_TABLE:
    case SQL_WORD_VIEW:
    case SQL_WORD_INDEX:
    case SQL_WORD_SEQUENCE:
        sql_alter_table(scan);
        break;
    case SQL_WORD_TRIGGER:
    case SQL_WORD_POLICY:
    case SQL_WORD_RULE:
        sql_alter_on(scan, SQL_BIT(SQL_ALTER));
        (void)sql_define_rest(scan);
        break;
    case SQL_WORD_DEFAULT:
        sql_alter_default(scan);
        break;
    case SQL_WORD_SYSTEM:
    case SQL_WORD_DATABASE:
    case SQL_WORD_ROLE:
    case SQL_WORD_USER:
        sql_alter_settings(scan, kind);
        break;
    case SQL_WORD_FUNCTION:
    case SQL_WORD_PROCEDURE:
    case SQL_WORD_ROUTINE:
        sql_alter_function(scan);
        break;
    case SQL_WORD_TYPE:
        sql_alter_type(scan);
        sql_define_named(scan, kind);
        break;
    case SQL_WORD_FOREIGN:
    case SQL_WORD_OPERATOR:
        sql_define_named(scan, kind);
        break;
    case SQL_WORD_DOMAIN:
        (void)sql_define_rest(scan);
        break;
    case SQL_WORD_PUBLICATION:
        sql_define_publication(scan);
        break;
    case SQL_WORD_SCHEMA:
        sql_alter_schema(scan);
        break;
    case SQL_WORD_AGGREGATE:
    case SQL_WORD_COLLATION:
    case SQL_WORD_CONSTRAINT:
    case SQL_WORD_CONVERSION:
    case SQL_WORD_EVENT:
    case SQL_WORD_EXTENSION:
    case SQL_WORD_GROUP:
    case SQL_WORD_LANGUAGE:
    case SQL_WORD_LARGE:
    case SQL_WORD_PROCEDURAL:
    case SQL_WORD_SERVER:
    case SQL_WORD_STATISTICS:
    case SQL_WORD_SUBSCRIPTION:
    case SQL_WORD_TABLESPACE:
    case SQL_WORD_TEXT:
        break;
    default:
        sql_stop(scan, "not something that PostgreSQL alters");
        break;
    }
}

void sql_define_alter(struct sql_scan *scan)
{
    if (sql_find_word(scan, SQL_WORD_RENAME) < scan->end) {
        sql_operate(scan, SQL_RENAME);
    }
    (void)sql_take_word(scan, SQL_WORD_MATERIALIZED);
    enum sql_word kind = sql_word_at(scan, scan->at++);
    if (kind == SQL_WORD_FOREIGN && sql_word_at(scan, scan->at) == SQL_WORD_TABLE) {
        sql_define_nature(scan, kind);
        kind = SQL_WORD_TABLE;
        scan->at++;
    }
    sql_alter_kind(scan, kind);
    scan->at = scan->end;
}

static void sql_drop_kind(struct sql_scan *scan, enum sql_word kind)
{
    switch ((int)kind) {
    case SQL_WORD_TABLE:
    case SQL_WORD_VIEW:
    case SQL_WORD_INDEX:
    case SQL_WORD_SEQUENCE:
        scan->statement->needs_no_transaction = sql_take_word(scan, SQL_WORD_CONCURRENTLY);
        (void)sql_take_if_exists(scan);
        (void)sql_take_relations(scan, SQL_BIT(SQL_DROP));
        break;
    case SQL_WORD_TRIGGER:
    case SQL_WORD_POLICY:
    case SQL_WORD_RULE:
        sql_alter_on(scan, SQL_BIT(SQL_DROP));
        break;
    case SQL_WORD_DATABASE:
    case SQL_WORD_TABLESPACE:
    case SQL_WORD_SUBSCRIPTION:
        scan->statement->needs_no_transaction = true;
        break;
    case SQL_WORD_SCHEMA:
        (void)sql_take_if_exists(scan);
        sql_take_schemas(scan, SQL_BIT(SQL_DROP));
        break;
    case SQL_WORD_OWNED:
        sql_add_all(scan, SLICE_NONE, SQL_BIT(SQL_DROP));
        break;
    case SQL_WORD_ACCESS:
    case SQL_WORD_AGGREGATE:
    case SQL_WORD_CAST:
    case SQL_WORD_COLLATION:
    case SQL_WORD_CONVERSION:
    case SQL_WORD_DOMAIN:
    case SQL_WORD_EVENT:
    case SQL_WORD_EXTENSION:
    case SQL_WORD_FOREIGN:
    case SQL_WORD_FUNCTION:
    case SQL_WORD_GROUP:
    case SQL_WORD_LANGUAGE:
    case SQL_WORD_OPERATOR:
    case SQL_WORD_PROCEDURAL:
    case SQL_WORD_PROCEDURE:
    case SQL_WORD_PUBLICATION:
    case SQL_WORD_ROLE:
    case SQL_WORD_ROUTINE:
    case SQL_WORD_SERVER:
    case SQL_WORD_STATISTICS:
    case SQL_WORD_TEXT:
    case SQL_WORD_TRANSFORM:
    case SQL_WORD_TYPE:
    case SQL_WORD_USER:
        break;
    default:
        sql_stop(scan, "not something that PostgreSQL drops");
        break;
    }
}

void sql_define_drop(struct sql_scan *scan)
{
    (void)sql_take_word(scan, SQL_WORD_MATERIALIZED);
    enum sql_word kind = sql_word_at(scan, scan->at++);
    if (kind == SQL_WORD_FOREIGN && sql_word_at(scan, scan->at) == SQL_WORD_TABLE) {
        kind = SQL_WORD_TABLE;
        scan->at++;
    }
    sql_drop_kind(scan, kind);
    if (sql_find_word(scan, SQL_WORD_CASCADE) < scan->end) { /* and what depends on it */
        sql_add_all(scan, SLICE_NONE, SQL_BIT(SQL_DROP));
    }
    scan->at = scan->end;
}
