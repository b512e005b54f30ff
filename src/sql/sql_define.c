/* SPDX-License-Identifier: MIT */
#include "sql/sql_internal.h"

#include "base/memory.h"

static const uint64_t sql_create_bit = SQL_BIT(SQL_CREATE);

bool sql_define_rest(struct sql_scan *scan)
{
    if (scan->at < scan->end) {
        sql_run(scan, SQL_IN_DEFINITION);
    }
    return false;
}

bool sql_define_relation(struct sql_scan *scan, uint64_t operations)
{
    size_t index = 0;
    (void)sql_take_if_exists(scan);
    if (!sql_need_relation(scan, operations, &index)) {
        return false;
    }
    /* Its rows are looked at by new types and constraints; or it goes where nobody expects it. */
    scan->statement->relations[index].is_read |= operations == SQL_BIT(SQL_ALTER);
    return true;
}

/* Goes to the word, and over the table behind it, on which something is created. */
static bool sql_define_on(struct sql_scan *scan, enum sql_word word)
{
    size_t index = 0;
    (void)sql_skip_to(scan, word); /* without it there is no table either */
    if (!sql_need_relation(scan, sql_create_bit, &index)) {
        return false;
    }
    /* Its rows are looked at by the expressions of what is created, and told in errors. */
    scan->statement->relations[index].is_read = true;
    return true;
}

/* name …, or name … AS query | EXECUTE. */
static bool sql_create_table(struct sql_scan *scan)
{
    if (!sql_define_relation(scan, sql_create_bit)) {
        return false;
    }
    size_t as = sql_find_word(scan, SQL_WORD_AS);
    if (as == scan->end) {
        struct sql_name type;
        size_t index = 0;
        if (sql_take_word(scan, SQL_WORD_OF)) {
            (void)sql_take_name(scan, &type);
        } else if (sql_take_word(scan, SQL_WORD_PARTITION) && sql_take_word(scan, SQL_WORD_OF)) {
            (void)sql_take_relation(scan, 0, &index);
        }
        return sql_define_rest(scan);
    }
    sql_run_until(scan, SQL_IN_DEFINITION, as);
    scan->at++;
    scan->is_kept = true;
    return !scan->is_stopped;
}

static bool sql_create_view(struct sql_scan *scan, bool is_recursive)
{
    struct slice written = SLICE_NONE;
    struct sql_name name;
    (void)sql_take_if_exists(scan);
    if (!sql_take_name(scan, &name)) {
        sql_stop(scan, "the name of a view is missing");
        return false;
    }
    (void)sql_add_relation(scan, name, sql_create_bit);
    written = name.name;
    if (!sql_skip_to(scan, SQL_WORD_AS)) {
        sql_stop(scan, "the query of a view is missing");
        return false;
    }
    if (is_recursive) {
        sql_with_push(scan, written);
    }
    scan->is_kept = true;
    return true;
}

/* [CONCURRENTLY] [[IF NOT EXISTS] name] ON [ONLY] table … */
static bool sql_create_index(struct sql_scan *scan)
{
    scan->statement->needs_no_transaction |= sql_take_word(scan, SQL_WORD_CONCURRENTLY);
    if (!sql_define_on(scan, SQL_WORD_ON)) {
        return false;
    }
    scan->at += sql_word_at(scan, scan->at) == SQL_WORD_USING ? 2 : 0; /* and its method */
    return sql_define_rest(scan);
}

/* name … ON table …: triggers and policies. */
static bool sql_create_on(struct sql_scan *scan)
{
    size_t index = 0;
    if (!sql_define_on(scan, SQL_WORD_ON)) {
        return false;
    }
    if (sql_take_word(scan, SQL_WORD_FROM)) {
        (void)sql_take_relation(scan, 0, &index);
    }
    size_t execute = sql_find_word(scan, SQL_WORD_EXECUTE);
    if (execute < scan->end) { /* FUNCTION name (…) */
        struct sql_name name;
        sql_run_until(scan, SQL_IN_DEFINITION, execute);
        scan->at += 2;
        if (sql_take_name(scan, &name)) {
            (void)sql_add_function(scan, name, false);
        }
    }
    return sql_define_rest(scan);
}

/* name AS ON event TO table [WHERE …] DO [ALSO | INSTEAD] NOTHING | statement | (statements). */
static bool sql_create_rule(struct sql_scan *scan)
{
    if (!sql_define_on(scan, SQL_WORD_TO)) {
        return false;
    }
    size_t action = sql_find_word(scan, SQL_WORD_DO);
    if (action == scan->end) {
        sql_stop(scan, "the action of a rule is missing");
        return false;
    }
    sql_run_until(scan, SQL_IN_DEFINITION, action);
    scan->at++;
    /* ALSO is free and not among the words. */
    if (!sql_take_word(scan, SQL_WORD_INSTEAD) && sql_kind_at(scan, scan->at) == SQL_TOKEN_WORD &&
        sql_word_at(scan, scan->at) == SQL_NO_WORD) {
        scan->at++;
    }
    scan->is_kept = true;
    if (scan->is_stopped || sql_take_word(scan, SQL_WORD_NOTHING)) {
        return false;
    }
    if (sql_kind_at(scan, scan->at) == SQL_TOKEN_OPEN) {
        if (sql_kind_at(scan, scan->end - 1) != SQL_TOKEN_CLOSE) {
            sql_stop(scan, "parentheses do not match");
            return false;
        }
        scan->at++;
        scan->end--;
        sql_run_actions(scan);
        scan->at = ++scan->end;
        return false;
    }
    sql_run_actions(scan);
    return false;
}

/* A body in SQL stands between BEGIN ATOMIC and END; any other is a string. */
static bool sql_create_function(struct sql_scan *scan)
{
    size_t start = scan->at;
    size_t begin = sql_find_word(scan, SQL_WORD_BEGIN);
    while (begin < scan->end && sql_word_at(scan, begin + 1) != SQL_WORD_ATOMIC) {
        scan->at = begin + 1;
        begin = sql_find_word(scan, SQL_WORD_BEGIN);
    }
    struct sql_name name;
    scan->at = start;
    (void)sql_take_name(scan, &name);
    sql_run_until(scan, SQL_IN_DEFINITION, begin);
    if (scan->is_stopped || begin == scan->end) {
        return false;
    }
    if (sql_word_at(scan, scan->end - 1) != SQL_WORD_END) {
        sql_stop(scan, "the body of a function does not end");
        return false;
    }
    scan->at = begin + 2;
    scan->end--;
    scan->is_kept = true;
    sql_run_actions(scan);
    scan->at = ++scan->end;
    return false;
}

/* [IF NOT EXISTS] name, or [name] AUTHORIZATION role; then elements. */
static bool sql_create_schema(struct sql_scan *scan)
{
    struct sql_name name;
    if (scan->is_schema) {
        sql_stop(scan, "a schema within a schema");
        return false;
    }
    (void)sql_take_if_exists(scan);
    if (sql_word_at(scan, scan->at) != SQL_WORD_AUTHORIZATION) {
        (void)sql_take_name(scan, &name);
    }
    if (sql_take_word(scan, SQL_WORD_AUTHORIZATION)) {
        scan->at++; /* CURRENT_USER, too */
    }
    scan->is_schema = true;
    scan->schema_end = scan->end;
    scan->end = scan->at > scan->end ? scan->end : scan->at; /* the elements come one by one */
    return false;
}

static bool sql_create_statistics(struct sql_scan *scan)
{
    struct sql_name name;
    size_t index = 0;
    (void)sql_take_if_exists(scan);
    (void)sql_take_name(scan, &name);
    size_t from = sql_find_word(scan, SQL_WORD_FROM);
    sql_run_until(scan, SQL_IN_DEFINITION, from);
    scan->at += from < scan->end ? 1 : 0;
    bool is_table =
        sql_token_is_name(scan, scan->at) || sql_word_at(scan, scan->at) == SQL_WORD_ONLY;
    if (is_table && sql_take_relation(scan, sql_create_bit, &index)) {
        scan->statement->relations[index].is_read = true;
    }
    if (scan->at < scan->end) { /* more than servers take */
        sql_run(scan, is_table ? SQL_IN_JOINED : SQL_IN_FROM);
    }
    return false;
}

void sql_define_nature(struct sql_scan *scan, enum sql_word kind)
{
    switch ((int)kind) {
    case SQL_WORD_ACCESS:
    case SQL_WORD_AGGREGATE:
    case SQL_WORD_CAST:
    case SQL_WORD_CONVERSION:
    case SQL_WORD_EVENT:
    case SQL_WORD_EXTENSION:
    case SQL_WORD_FUNCTION:
    case SQL_WORD_LANGUAGE:
    case SQL_WORD_OPERATOR:
    case SQL_WORD_PROCEDURAL:
    case SQL_WORD_PROCEDURE:
    case SQL_WORD_ROUTINE:
    case SQL_WORD_RULE:
    case SQL_WORD_TRANSFORM:
    case SQL_WORD_TRIGGER:
        sql_operate(scan, SQL_CODE);
        break;
    case SQL_WORD_FOREIGN:
    case SQL_WORD_PUBLICATION:
    case SQL_WORD_SERVER:
    case SQL_WORD_SUBSCRIPTION:
        sql_operate(scan, SQL_FOREIGN);
        break;
    case SQL_WORD_USER:
        if (sql_word_at(scan, scan->at) == SQL_WORD_MAPPING) {
            sql_operate(scan, SQL_FOREIGN);
        }
        break;
    default:
        break;
    }
}

/* Options whose value is a function, of aggregates, operators, types and text search; they may be
 * quoted. */
static bool sql_is_function_option(struct sql_scan *scan, size_t index)
{
    static const struct slice options[] = {
        SLICE_INIT("analyze"),    SLICE_INIT("canonical"),  SLICE_INIT("end"),
        SLICE_INIT("finalfunc1"), SLICE_INIT("function"),   SLICE_INIT("gettoken"),
        SLICE_INIT("headline"),   SLICE_INIT("init"),       SLICE_INIT("input"),
        SLICE_INIT("join"),       SLICE_INIT("lexize"),     SLICE_INIT("lextypes"),
        SLICE_INIT("output"),     SLICE_INIT("procedure"),  SLICE_INIT("receive"),
        SLICE_INIT("restrict"),   SLICE_INIT("send"),       SLICE_INIT("sfunc1"),
        SLICE_INIT("start"),      SLICE_INIT("subscript"),  SLICE_INIT("subtype_diff"),
        SLICE_INIT("typmod_in"),  SLICE_INIT("typmod_out"),
    };
    struct slice option =
        sql_token_is_name(scan, index) ? sql_token_name(scan, index) : sql_token_lower(scan, index);
    bool is_one = slice_ends_with(option, SLICE("func"));
    for (size_t i = 0; i < COUNT_OF(options) && !is_one; i++) {
        is_one = slice_equals(option, options[i]);
    }
    return is_one;
}

/* Behind FUNCTION: its number in a class of operators, and types, come first. */
static size_t sql_named_behind_number(struct sql_scan *scan, size_t index)
{
    size_t at = scan->at;
    scan->at = index + 1;
    (void)sql_skip_parentheses(scan);
    index = scan->at;
    scan->at = at;
    return index;
}

/* Where the name of a function may stand for what is at 'index': behind "=" and the options of
 * aggregates and operators, behind FUNCTION, HANDLER and its like, and what a conversion is FROM;
 * 0: nowhere. */
static size_t sql_named_behind(struct sql_scan *scan, enum sql_word kind, size_t index)
{
    enum sql_word word = sql_word_at(scan, index);
    struct slice written = sql_token_lower(scan, index);
    if (sql_kind_at(scan, index) == SQL_TOKEN_EQUALS) {
        return sql_is_function_option(scan, index - 1) ? index + 1 : 0;
    }
    if (word == SQL_WORD_FUNCTION || word == SQL_WORD_PROCEDURE) {
        return sql_kind_at(scan, index + 1) == SQL_TOKEN_NUMBER
                   ? sql_named_behind_number(scan, index + 1)
                   : index + 1;
    }
    bool is_named = (word == SQL_WORD_FROM && kind == SQL_WORD_CONVERSION) ||
                    slice_equals(written, SLICE("handler")) ||
                    slice_equals(written, SLICE("validator")) ||
                    slice_equals(written, SLICE("inline"));
    return is_named ? index + 1 : 0;
}

void sql_define_named(struct sql_scan *scan, enum sql_word kind)
{
    for (size_t i = scan->at; i + 1 < scan->end && !scan->is_stopped; i++) {
        struct sql_name name;
        size_t named = sql_named_behind(scan, kind, i);
        if (named > 0 && sql_token_is_name(scan, named)) {
            scan->at = named;
            (void)sql_take_name(scan, &name);
            (void)sql_add_function(scan, name, false);
            i = scan->at - 1;
        } else if (named > 0 && sql_kind_at(scan, named) == SQL_TOKEN_STRING) { /* likewise */
            struct slice text = sql_token_lower(scan, named);
            name = (struct sql_name){SLICE_NONE, slice_sub(text, 1, text.len - 2)};
            (void)sql_add_function(scan, name, false);
        }
    }
    scan->at = scan->end;
}

/* name (INPUT = …), name AS RANGE (…), name AS (…), name AS ENUM (…). */
static bool sql_create_type(struct sql_scan *scan)
{
    struct sql_name name;
    (void)sql_take_name(scan, &name);
    bool is_range = sql_word_at(scan, scan->at) == SQL_WORD_AS &&
                    sql_word_at(scan, scan->at + 1) == SQL_WORD_RANGE;
    bool is_base = sql_kind_at(scan, scan->at) == SQL_TOKEN_OPEN;
    if (is_base) {
        sql_operate(scan, SQL_CODE);
    }
    if (is_base || is_range) {
        sql_define_named(scan, SQL_WORD_TYPE);
    }
    return sql_define_rest(scan);
}

void sql_define_publication(struct sql_scan *scan)
{
    struct sql_name name;
    size_t index = 0;
    while (scan->at < scan->end && sql_word_at(scan, scan->at) != SQL_WORD_TABLE &&
           sql_word_at(scan, scan->at) != SQL_WORD_TABLES) {
        scan->at++;
    }
    if (scan->at < scan->end && sql_word_at(scan, scan->at - 1) == SQL_WORD_ALL) {
        sql_add_all(scan, SLICE_NONE, 0);
        return;
    }
    while (scan->at < scan->end && !scan->is_stopped) {
        (void)sql_take_word(scan, SQL_WORD_TABLE);
        if (sql_word_at(scan, scan->at) == SQL_WORD_TABLES &&
            sql_word_at(scan, scan->at + 1) == SQL_WORD_IN) {
            scan->at += 3;
            bool is_named = sql_take_name(scan, &name) && name.schema.len == 0;
            sql_add_all(scan, is_named ? name.name : SLICE_NONE, 0);
        } else {
            (void)sql_take_relation(scan, 0, &index);
        }
        (void)sql_skip_parentheses(scan);
        if (sql_take_word(scan, SQL_WORD_WHERE)) {
            size_t start = scan->at;
            (void)sql_skip_parentheses(scan);
            size_t end = scan->at;
            scan->at = start;
            sql_run_until(scan, SQL_IN_EXPRESSION, end);
        }
        scan->at++;
    }
}

/* What stands between CREATE and the kind of what is created. */
static bool sql_skip_adjectives(struct sql_scan *scan)
{
    bool is_recursive = false;
    for (;; scan->at++) {
        switch ((int)sql_word_at(scan, scan->at)) {
        case SQL_WORD_RECURSIVE:
            is_recursive = true;
            continue;
        case SQL_WORD_OR:
        case SQL_WORD_REPLACE:
        case SQL_WORD_GLOBAL:
        case SQL_WORD_LOCAL:
        case SQL_WORD_TEMP:
        case SQL_WORD_TEMPORARY:
        case SQL_WORD_UNLOGGED:
        case SQL_WORD_UNIQUE:
        case SQL_WORD_CONSTRAINT:
        case SQL_WORD_DEFAULT:
        case SQL_WORD_MATERIALIZED:
        case SQL_WORD_TRUSTED:
        case SQL_WORD_PROCEDURAL:
            continue;
        default:
            return is_recursive;
        }
    }
}

/* Kinds that are no relations, and whose definition needs nothing to be read. */
static bool sql_create_other(struct sql_scan *scan, enum sql_word kind)
{
    struct sql_name name;
    sql_define_nature(scan, kind);
    switch ((int)kind) {
    case SQL_WORD_DATABASE:
    case SQL_WORD_TABLESPACE:
    case SQL_WORD_SUBSCRIPTION:
        scan->statement->needs_no_transaction = true;
        return false;
    case SQL_WORD_DOMAIN:
        (void)sql_take_name(scan, &name);
        return sql_define_rest(scan);
    case SQL_WORD_TYPE:
        return sql_create_type(scan);
    case SQL_WORD_PUBLICATION:
        sql_define_publication(scan);
        return false;
    case SQL_WORD_ACCESS:
    case SQL_WORD_AGGREGATE:
    case SQL_WORD_CAST:
    case SQL_WORD_CONVERSION:
    case SQL_WORD_EVENT:
    case SQL_WORD_FOREIGN:
    case SQL_WORD_LANGUAGE:
    case SQL_WORD_OPERATOR:
    case SQL_WORD_TEXT:
    case SQL_WORD_TRANSFORM:
        sql_define_named(scan, kind);
        return false;
    case SQL_WORD_COLLATION:
    case SQL_WORD_EXTENSION:
    case SQL_WORD_GROUP:
    case SQL_WORD_ROLE:
    case SQL_WORD_SERVER:
    case SQL_WORD_USER:
        return false;
    default:
        sql_stop(scan, "not something that PostgreSQL creates");
        return false;
    }
}

bool sql_define_create(struct sql_scan *scan)
{
    bool is_recursive = sql_skip_adjectives(scan);
    enum sql_word kind = sql_word_at(scan, scan->at++);
    if (kind == SQL_WORD_FOREIGN && sql_word_at(scan, scan->at) == SQL_WORD_TABLE) {
        sql_define_nature(scan, kind);
        kind = SQL_WORD_TABLE;
        scan->at++;
    }
    switch ((int)kind) {
    case SQL_WORD_TABLE:
        return sql_create_table(scan);
    case SQL_WORD_VIEW:
        return sql_create_view(scan, is_recursive);
    case SQL_WORD_SEQUENCE:
        (void)sql_define_relation(scan, sql_create_bit);
        return false;
    case SQL_WORD_INDEX:
        return sql_create_index(scan);
    case SQL_WORD_TRIGGER:
    case SQL_WORD_POLICY:
        sql_define_nature(scan, kind);
        return sql_create_on(scan);
    case SQL_WORD_RULE:
        sql_define_nature(scan, kind);
        return sql_create_rule(scan);
    case SQL_WORD_FUNCTION:
    case SQL_WORD_PROCEDURE:
        sql_define_nature(scan, kind);
        return sql_create_function(scan);
    case SQL_WORD_SCHEMA:
        return sql_create_schema(scan);
    case SQL_WORD_STATISTICS:
        return sql_create_statistics(scan);
    default:
        return sql_create_other(scan, kind);
    }
}
