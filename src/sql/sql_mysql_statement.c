/* SPDX-License-Identifier: MIT */
/* Which statement it is; EXPLAIN and the like stand before another one. */
#include "base/limits.h"
#include "sql/sql_mysql_internal.h"

static bool begins_statement(const struct mysql_scan *scan, size_t index)
{
    switch ((int)mysql_word_at(scan, index)) {
    case MYSQL_WORD_INSERT:
    case MYSQL_WORD_REPLACE:
    case MYSQL_WORD_UPDATE:
    case MYSQL_WORD_DELETE:
        return true;
    default:
        return mysql_begins_query(scan, index);
    }
}

/* A verb of one word, with what follows it. False: it is none of them. */
static bool read_change(struct mysql_scan *scan, enum mysql_word first)
{
    struct sql_statement *statement = scan->statement;
    switch ((int)first) {
    case MYSQL_WORD_INSERT:
        statement->verb = SQL_INSERT;
        mysql_read_insert(scan, SQL_BIT(SQL_INSERT));
        return true;
    case MYSQL_WORD_REPLACE: /* what is in the way is deleted */
        statement->verb = SQL_INSERT;
        mysql_read_insert(scan, SQL_BIT(SQL_INSERT) | SQL_BIT(SQL_DELETE));
        return true;
    case MYSQL_WORD_UPDATE:
        statement->verb = SQL_UPDATE;
        mysql_read_update(scan);
        return true;
    case MYSQL_WORD_DELETE:
        statement->verb = SQL_DELETE;
        mysql_read_delete(scan);
        return true;
    default:
        return false;
    }
}

/* A query, or what begins with WITH and is none. */
static void read_query(struct mysql_scan *scan)
{
    scan->statement->verb = SQL_SELECT;
    mysql_operate(scan, SQL_SELECT);
    mysql_run_query(scan, scan->end);
    if (!scan->is_paused) {
        return;
    }
    scan->is_paused = false;
    scan->statement->operations &= ~SQL_BIT(SQL_SELECT);
    if (!read_change(scan, mysql_word_at(scan, scan->at))) {
        mysql_stop(scan, "a WITH that is not understood");
    }
}

static void read_define(struct mysql_scan *scan, enum sql_operation verb)
{
    scan->statement->verb = verb;
    mysql_operate(scan, verb);
    scan->at++;
    if (verb == SQL_CREATE) {
        mysql_read_create(scan);
    } else if (verb == SQL_ALTER) {
        mysql_read_alter(scan);
    } else if (verb == SQL_DROP) {
        mysql_read_drop(scan);
    } else {
        mysql_read_rename(scan);
    }
}

/* TRUNCATE [TABLE] name. */
static void read_truncate(struct mysql_scan *scan)
{
    struct sql_name name;
    scan->statement->verb = SQL_TRUNCATE;
    mysql_operate(scan, SQL_TRUNCATE);
    scan->at++;
    (void)mysql_take_word(scan, MYSQL_WORD_TABLE);
    if (mysql_take_name(scan, &name)) {
        (void)mysql_add_relation(scan, name, SQL_BIT(SQL_TRUNCATE));
    } else {
        mysql_stop(scan, "a name is missing");
    }
}

/* [EXTENDED | PARTITIONS | FORMAT = name | INTO @name | FOR SCHEMA name …] statement, or a table.
 * Of what is only explained nothing happens. */
static bool read_explain(struct mysql_scan *scan, bool is_run)
{
    struct sql_name name;
    size_t start = scan->at;
    scan->statement->verb = SQL_EXPLAIN;
    mysql_operate(scan, SQL_EXPLAIN);
    while (scan->at < scan->end && !begins_statement(scan, scan->at)) {
        is_run = is_run || mysql_word_at(scan, scan->at) == MYSQL_WORD_ANALYZE;
        scan->at++;
    }
    if (scan->at < scan->end) {
        return is_run;
    }
    scan->at = start;
    if (mysql_word_at(scan, start) != MYSQL_WORD_FOR && mysql_take_name(scan, &name)) {
        (void)mysql_add_relation(scan, name, 0);
    }
    scan->at = scan->end;
    return is_run;
}

/* What would be written is read alone. */
static void forget_writes(struct sql_statement *statement)
{
    statement->verb = SQL_EXPLAIN;
    statement->operations = SQL_BIT(SQL_EXPLAIN);
    statement->without_where = false;
    for (size_t i = 0; i < statement->relation_count; i++) {
        statement->relations[i].is_read = true;
        statement->relations[i].is_written = false;
        statement->relations[i].operations = 0;
    }
}

static void read_inner(struct mysql_scan *scan)
{
    enum mysql_word first = mysql_word_at(scan, scan->at);
    if (scan->at < scan->end && !read_change(scan, first)) {
        read_query(scan);
    }
}

/* EXPLAIN, DESCRIBE, DESC; and ANALYZE of MariaDB, which runs the statement. */
static void read_explained(struct mysql_scan *scan, bool is_run)
{
    scan->at++;
    if (!read_explain(scan, is_run)) {
        read_inner(scan);
        forget_writes(scan->statement);
    } else {
        read_inner(scan);
        scan->statement->verb = SQL_EXPLAIN;
    }
}

static void read_analyze(struct mysql_scan *scan)
{
    size_t table = mysql_find_word(scan, MYSQL_WORD_TABLE);
    if (table <= scan->at + 2) {
        scan->at = table + 1;
        scan->statement->verb = SQL_ANALYZE;
        mysql_operate(scan, SQL_ANALYZE);
        mysql_take_relations(scan, 0);
        return;
    }
    read_explained(scan, true);
}

static bool read_first(struct mysql_scan *scan, enum mysql_word first)
{
    switch ((int)first) {
    case MYSQL_WORD_CREATE:
        read_define(scan, SQL_CREATE);
        return true;
    case MYSQL_WORD_ALTER:
        read_define(scan, SQL_ALTER);
        return true;
    case MYSQL_WORD_DROP:
        read_define(scan, SQL_DROP);
        return true;
    case MYSQL_WORD_RENAME:
        read_define(scan, SQL_RENAME);
        return true;
    case MYSQL_WORD_TRUNCATE:
        read_truncate(scan);
        return true;
    case MYSQL_WORD_EXPLAIN:
    case MYSQL_WORD_DESCRIBE:
    case MYSQL_WORD_DESC:
        read_explained(scan, false);
        return true;
    case MYSQL_WORD_ANALYZE:
        read_analyze(scan);
        return true;
    default:
        return read_change(scan, first);
    }
}

/* LOAD DATA and LOAD XML; LOAD INDEX INTO CACHE. */
static void read_load(struct mysql_scan *scan)
{
    scan->at++;
    if (mysql_word_at(scan, scan->at) == MYSQL_WORD_INDEX) {
        scan->statement->verb = SQL_OTHER;
        mysql_operate(scan, SQL_OTHER);
        return;
    }
    mysql_operate(scan, SQL_COPY);
    mysql_read_load(scan);
}

static bool begins_body(const struct mysql_scan *scan, size_t index)
{
    switch ((int)mysql_word_at(scan, index)) {
    case MYSQL_WORD_INSERT:
    case MYSQL_WORD_REPLACE:
    case MYSQL_WORD_TRUNCATE: /* which are functions, too */
        return mysql_kind_at(scan, index + 1) != MYSQL_TOKEN_OPEN;
    case MYSQL_WORD_UPDATE:
    case MYSQL_WORD_DELETE:
    case MYSQL_WORD_DROP:
    case MYSQL_WORD_ALTER:
    case MYSQL_WORD_CREATE:
    case MYSQL_WORD_RENAME:
    case MYSQL_WORD_WITH:
    case MYSQL_WORD_CALL:
    case MYSQL_WORD_EXECUTE:
    case MYSQL_WORD_PREPARE:
        return true;
    default:
        return false;
    }
}

size_t mysql_find_body(const struct mysql_scan *scan)
{
    size_t depth = 0;
    for (size_t i = scan->at; i < scan->end; i++) {
        uint8_t kind = mysql_kind_at(scan, i);
        depth += kind == MYSQL_TOKEN_OPEN ? 1 : 0;
        depth -= kind == MYSQL_TOKEN_CLOSE && depth > 0 ? 1 : 0;
        if (depth == 0 && begins_body(scan, i)) {
            return i;
        }
    }
    return 0;
}

/* True: it goes on behind SET STATEMENT … FOR. */
static bool read_one(struct mysql_scan *scan)
{
    enum mysql_word first = mysql_word_at(scan, scan->at);
    bool goes_on = false;
    if (scan->at < scan->end && mysql_begins_query(scan, scan->at)) {
        read_query(scan);
    } else if (first == MYSQL_WORD_LOAD) {
        read_load(scan);
    } else if (!read_first(scan, first)) {
        scan->at++;
        goes_on = first == MYSQL_WORD_SET && !mysql_read_utility(scan, first);
        if (first != MYSQL_WORD_SET && !mysql_read_utility(scan, first)) {
            mysql_stop(scan, "it is no statement that is known");
        }
    }
    return goes_on && !scan->is_stopped && scan->at < scan->end;
}

/* And the body of code that is defined, which is no statement of its own. */
static void read_any(struct mysql_scan *scan)
{
    while (read_one(scan)) {
    }
    if (scan->body > 0 && !scan->is_stopped) {
        enum sql_operation verb = scan->statement->verb;
        scan->at = scan->body;
        scan->is_behind_operand = false;
        (void)read_one(scan);
        scan->statement->verb = verb;
    }
}

void mysql_statement_read(struct mysql_scan *scan)
{
    struct sql_statement *statement = scan->statement;
    read_any(scan);
    if (statement->operations == 0) {
        statement->verb = SQL_OTHER;
    }
    statement->operations |= SQL_BIT(statement->verb);
    for (size_t i = 0; i < statement->relation_count; i++) {
        struct sql_relation *relation = &statement->relations[i];
        relation->is_read = relation->is_read || !relation->is_written;
    }
}
