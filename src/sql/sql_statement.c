/* SPDX-License-Identifier: MIT */
#include "sql/sql_internal.h"

#include "base/text.h"

bool sql_skip_parentheses(struct sql_scan *scan)
{
    size_t depth = 0;
    if (sql_kind_at(scan, scan->at) != SQL_TOKEN_OPEN) {
        return false;
    }
    while (scan->at < scan->end) {
        uint8_t kind = sql_kind_at(scan, scan->at++);
        depth += kind == SQL_TOKEN_OPEN ? 1 : 0;
        depth -= kind == SQL_TOKEN_CLOSE ? 1 : 0;
        if (depth == 0) {
            return true;
        }
    }
    sql_stop(scan, "parentheses do not match");
    return false;
}

size_t sql_find_word(const struct sql_scan *scan, enum sql_word word)
{
    size_t depth = 0;
    for (size_t i = scan->at; i < scan->end; i++) {
        uint8_t kind = scan->tokens[i].kind;
        if (depth == 0 && kind == SQL_TOKEN_WORD && scan->tokens[i].word == word) {
            return i;
        }
        depth += kind == SQL_TOKEN_OPEN ? 1 : 0;
        depth -= kind == SQL_TOKEN_CLOSE && depth > 0 ? 1 : 0;
    }
    return scan->end;
}

bool sql_skip_to(struct sql_scan *scan, enum sql_word word)
{
    size_t found = sql_find_word(scan, word);
    bool is_there = found < scan->end;
    scan->at = is_there ? found + 1 : scan->end;
    return is_there;
}

bool sql_take_if_exists(struct sql_scan *scan)
{
    if (sql_word_at(scan, scan->at) != SQL_WORD_IF) {
        return false;
    }
    bool is_not = sql_word_at(scan, scan->at + 1) == SQL_WORD_NOT;
    if (sql_word_at(scan, scan->at + (is_not ? 2 : 1)) != SQL_WORD_EXISTS) {
        return false;
    }
    scan->at += is_not ? 3 : 2;
    return true;
}

bool sql_take_relation(struct sql_scan *scan, uint64_t operations, size_t *ret_index)
{
    struct sql_name name;
    bool is_only = sql_take_word(scan, SQL_WORD_ONLY);
    bool is_enclosed = is_only && sql_kind_at(scan, scan->at) == SQL_TOKEN_OPEN;
    scan->at += is_enclosed ? 1 : 0;
    if (!sql_take_name(scan, &name)) {
        return false;
    }
    *ret_index = sql_add_relation(scan, name, operations);
    if (is_enclosed && sql_kind_at(scan, scan->at) == SQL_TOKEN_CLOSE) {
        scan->at++;
    }
    if (sql_kind_at(scan, scan->at) == SQL_TOKEN_STAR) {
        scan->at++;
    }
    return true;
}

bool sql_need_relation(struct sql_scan *scan, uint64_t operations, size_t *ret_index)
{
    bool is_there = sql_take_relation(scan, operations, ret_index);
    if (!is_there) {
        sql_stop(scan, "the name of a table is missing");
    }
    return is_there;
}

bool sql_take_relations(struct sql_scan *scan, uint64_t operations)
{
    size_t index = 0;
    do {
        if (!sql_need_relation(scan, operations, &index)) {
            return false;
        }
    } while (sql_kind_at(scan, scan->at) == SQL_TOKEN_COMMA && ++scan->at > 0);
    return true;
}

void sql_take_schemas(struct sql_scan *scan, uint64_t operations)
{
    struct sql_name name;
    while (sql_take_name(scan, &name)) {
        sql_add_all(scan, name.name, operations);
        if (sql_kind_at(scan, scan->at) != SQL_TOKEN_COMMA) {
            return;
        }
        scan->at++;
    }
    sql_add_all(scan, SLICE_NONE, operations); /* CURRENT_SCHEMA, or whatever stands there */
}

/* PREPARE name [(types)] AS query; or the end of a transaction in two steps. */
static bool sql_read_prepare(struct sql_scan *scan)
{
    if (sql_word_at(scan, scan->at) == SQL_WORD_TRANSACTION &&
        sql_kind_at(scan, scan->at + 1) == SQL_TOKEN_STRING) {
        scan->statement->verb = SQL_OTHER;
        scan->statement->operations = SQL_BIT(SQL_OTHER);
        scan->statement->ends_transaction = true;
        return false;
    }
    if (!sql_token_is_name(scan, scan->at)) {
        sql_stop(scan, "a name is missing");
        return false;
    }
    scan->statement->prepared = sql_token_name(scan, scan->at++);
    (void)sql_skip_parentheses(scan);
    if (!sql_take_word(scan, SQL_WORD_AS)) {
        sql_stop(scan, "what is prepared is missing");
        return false;
    }
    return true;
}

static void sql_set_verb(struct sql_scan *scan, enum sql_operation verb)
{
    if (scan->statement->operations == 0) {
        scan->statement->verb = verb;
    }
    sql_operate(scan, verb);
}

static void sql_read_query(struct sql_scan *scan)
{
    bool has_verb = scan->statement->operations != 0;
    sql_run(scan, SQL_IN_START);
    enum sql_operation verb = (enum sql_operation)scan->frames[0].verb;
    if (!has_verb) {
        scan->statement->verb = verb;
        scan->statement->operations |= SQL_BIT(verb);
    }
}

static bool sql_is_query(const struct sql_scan *scan)
{
    if (sql_kind_at(scan, scan->at) == SQL_TOKEN_OPEN) {
        return true;
    }
    switch ((int)sql_word_at(scan, scan->at)) {
    case SQL_WORD_SELECT:
    case SQL_WORD_VALUES:
    case SQL_WORD_TABLE:
    case SQL_WORD_WITH:
    case SQL_WORD_INSERT:
    case SQL_WORD_UPDATE:
    case SQL_WORD_DELETE:
    case SQL_WORD_MERGE:
        return true;
    default:
        return false;
    }
}

/* One head of a statement; true: another statement comes, which is part of this one. */
static bool sql_read_head(struct sql_scan *scan)
{
    enum sql_word word = sql_word_at(scan, scan->at++);
    switch ((int)word) {
    case SQL_WORD_EXPLAIN:
        if (scan->statement->operations != 0) {
            sql_stop(scan, "an EXPLAIN inside of another statement");
            return false;
        }
        sql_set_verb(scan, SQL_EXPLAIN);
        sql_utility_explain(scan);
        return true;
    case SQL_WORD_PREPARE:
        sql_set_verb(scan, SQL_PREPARE);
        return sql_read_prepare(scan);
    case SQL_WORD_DECLARE:
        sql_set_verb(scan, SQL_DECLARE);
        if (!sql_skip_to(scan, SQL_WORD_FOR)) {
            sql_stop(scan, "the query of a cursor is missing");
        }
        return !scan->is_stopped;
    case SQL_WORD_CREATE:
        sql_set_verb(scan, SQL_CREATE);
        return sql_define_create(scan);
    case SQL_WORD_ALTER:
        sql_set_verb(scan, SQL_ALTER);
        sql_define_alter(scan);
        return false;
    case SQL_WORD_DROP:
        sql_set_verb(scan, SQL_DROP);
        sql_define_drop(scan);
        return false;
    case SQL_WORD_COPY:
        sql_set_verb(scan, SQL_COPY);
        sql_utility_copy(scan);
        return false;
    default:
        sql_utility_read(scan, word);
        return false;
    }
}

/* CREATE SCHEMA has no semicolons between its elements: each begins with CREATE or GRANT. */
static bool sql_next_element(struct sql_scan *scan)
{
    size_t depth = 0;
    if (!scan->is_schema || scan->is_stopped || scan->end >= scan->schema_end) {
        return false;
    }
    scan->at = scan->end;
    bool is_grant = scan->tokens[scan->at].word == SQL_WORD_GRANT;
    for (scan->end++; scan->end < scan->schema_end; scan->end++) {
        const struct sql_token *token = &scan->tokens[scan->end];
        const struct sql_token *before = token - 1;
        depth += token->kind == SQL_TOKEN_OPEN ? 1 : 0;
        depth -= token->kind == SQL_TOKEN_CLOSE && depth > 0 ? 1 : 0;
        is_grant = is_grant && token->word != SQL_WORD_ON;
        if (depth == 0 && !is_grant && before->word != SQL_WORD_AS &&
            (token->word == SQL_WORD_CREATE ||
             (token->word == SQL_WORD_GRANT && before->word != SQL_WORD_WITH))) {
            break;
        }
    }
    return true;
}

/* Each is what the bytes say; those beyond ASCII may be of any encoding. */
static void sql_doubt_names(struct sql_scan *scan)
{
    const struct sql_statement *statement = scan->statement;
    bool is_doubtful = false;
    for (size_t i = 0; i < statement->relation_count && !is_doubtful; i++) {
        const struct sql_name *name = &statement->relations[i].name;
        is_doubtful = !text_is_utf8(name->name) || !text_is_utf8(name->schema);
    }
    sql_unknown(scan, "the text is not UTF-8");
    if (is_doubtful) {
        sql_add_all(scan, SLICE_NONE, 0);
    }
}

void sql_statement_read(struct sql_scan *scan)
{
    scan->at = 0;
    scan->end = scan->token_count;
    scan->is_planned = scan->is_kept = scan->is_combined = false;
    scan->is_schema = scan->is_stopped = false;
    scan->operand_at = scan->list_at = 0;
    scan->depth = 0;
    scan->head_at = scan->stopped_at = scan->where_depth = 0;
    scan->called = 0;
    scan->statement->why = "";
    scan->statement->verb = SQL_OTHER;
    sql_names_clear(scan);
    do {
        bool goes_on = true;
        scan->head_at = scan->at;
        while (goes_on && scan->at < scan->end && !scan->is_stopped && !sql_is_query(scan)) {
            goes_on = sql_read_head(scan);
        }
        if (goes_on && !scan->is_stopped) {
            sql_read_query(scan);
        }
    } while (sql_next_element(scan));
    if (scan->is_planned) {
        scan->statement->operations = SQL_BIT(SQL_EXPLAIN);
    }
    if (scan->statement->operations == 0) {
        scan->statement->operations = SQL_BIT(scan->statement->verb);
    }
    if (scan->is_stopped) {
        sql_guess_rest(scan);
    }
    if (!scan->is_utf8) {
        sql_doubt_names(scan);
    }
    sql_names_finish(scan);
}
