/* SPDX-License-Identifier: MIT */
#include "sql/sql_internal.h"

/* An opening parenthesis is at hand, whose inside is an expression. */
static void sql_from_open(struct sql_scan *scan, enum sql_clause clause)
{
    (void)sql_push(scan, sql_begins_query(scan, scan->at + 1) ? SQL_IN_START : clause);
    scan->at++;
}

/* A table, or a function that gives rows. */
static void sql_from_name(struct sql_scan *scan, struct sql_frame *frame)
{
    enum sql_word word = sql_word_at(scan, scan->at);
    bool is_special = sql_is_special_call(word);
    struct sql_name name;
    frame->clause = SQL_IN_JOINED;
    if (!sql_take_name(scan, &name)) { /* CURRENT_DATE, CAST (…) */
        frame->is_table = false;
        scan->at++;
        if (sql_kind_at(scan, scan->at) == SQL_TOKEN_OPEN) {
            sql_from_open(scan, SQL_IN_EXPRESSION);
        }
        return;
    }
    frame->is_table = sql_kind_at(scan, scan->at) != SQL_TOKEN_OPEN;
    if (!frame->is_table) {
        if (!is_special || name.schema.len > 0) {
            scan->called = sql_add_function(scan, name, false);
        }
        sql_from_open(scan, SQL_IN_EXPRESSION);
        return;
    }
    sql_add_alias(scan, name.name);
    if (name.schema.len == 0 && sql_with_has(scan, name.name)) {
        frame->is_table = false;
        return;
    }
    (void)sql_add_relation(scan, name, 0);
}

void sql_from_item(struct sql_scan *scan, struct sql_frame *frame)
{
    switch ((int)sql_word_at(scan, scan->at)) {
    case SQL_WORD_LATERAL:
    case SQL_WORD_ONLY:
        scan->at++;
        break;
    case SQL_WORD_ROWS:
        if (sql_word_at(scan, scan->at + 1) != SQL_WORD_FROM) {
            sql_from_name(scan, frame);
            break;
        }
        scan->at += 2;
        frame->clause = SQL_IN_JOINED;
        frame->is_table = false;
        if (sql_kind_at(scan, scan->at) == SQL_TOKEN_OPEN) {
            sql_from_open(scan, SQL_IN_EXPRESSION);
        }
        break;
    default:
        sql_from_name(scan, frame);
        break;
    }
}

/* At JOIN. It has a condition, but for CROSS and NATURAL ones; what is equal in a NATURAL one is
 * not said, so all is. */
void sql_from_join(struct sql_scan *scan, struct sql_frame *frame)
{
    size_t at = scan->at;
    for (size_t i = 0; i < 3 && at > 0; i++) {
        enum sql_word word = sql_word_at(scan, at - 1);
        if (word == SQL_WORD_CROSS || word == SQL_WORD_NATURAL) {
            if (word == SQL_WORD_NATURAL) {
                sql_add_column(scan, SLICE_NONE, sql_all(), true);
            }
            frame->joins--; /* and is counted below */
            break;
        }
        if (word != SQL_WORD_LEFT && word != SQL_WORD_RIGHT && word != SQL_WORD_FULL &&
            word != SQL_WORD_INNER && word != SQL_WORD_OUTER) {
            break;
        }
        at--;
    }
    frame->joins++;
    frame->clause = SQL_IN_FROM;
    scan->at++;
}

/* An alias, and the names that it gives to the columns: then nobody sees any more which is which.
 */
static void sql_from_alias(struct sql_scan *scan, const struct sql_frame *frame)
{
    if (!sql_token_is_name(scan, scan->at)) {
        scan->at++;
        return;
    }
    sql_add_alias(scan, sql_token_name(scan, scan->at++));
    if (sql_kind_at(scan, scan->at) == SQL_TOKEN_OPEN && frame->is_table) {
        sql_add_column(scan, SLICE_NONE, sql_all(), true);
    }
}

static void sql_from_sample(struct sql_scan *scan)
{
    struct sql_name method;
    scan->at++;
    (void)sql_take_name(scan, &method);
    if (sql_kind_at(scan, scan->at) == SQL_TOKEN_OPEN) {
        sql_from_open(scan, SQL_IN_EXPRESSION);
    }
}

void sql_from_joined(struct sql_scan *scan, struct sql_frame *frame)
{
    switch ((int)sql_word_at(scan, scan->at)) {
    case SQL_WORD_AS:
        scan->at++;
        if (sql_kind_at(scan, scan->at) != SQL_TOKEN_OPEN) {
            sql_from_alias(scan, frame);
        }
        break;
    case SQL_WORD_JOIN:
        sql_from_join(scan, frame);
        break;
    case SQL_WORD_LEFT:
    case SQL_WORD_RIGHT:
    case SQL_WORD_FULL:
    case SQL_WORD_INNER:
    case SQL_WORD_OUTER:
    case SQL_WORD_CROSS:
    case SQL_WORD_NATURAL:
        scan->at++;
        break;
    case SQL_WORD_USING: /* its columns are compared */
        scan->at++;
        frame->joins -= frame->joins > 0 ? 1 : 0;
        frame->is_table = false;
        if (sql_kind_at(scan, scan->at) == SQL_TOKEN_OPEN) {
            sql_from_open(scan, SQL_IN_EXPRESSION);
        }
        break;
    case SQL_WORD_TABLESAMPLE:
        sql_from_sample(scan);
        break;
    case SQL_WORD_REPEATABLE:
        if (sql_kind_at(scan, scan->at + 1) != SQL_TOKEN_OPEN) {
            sql_from_alias(scan, frame);
            break;
        }
        scan->at++;
        sql_from_open(scan, SQL_IN_EXPRESSION);
        break;
    case SQL_WORD_WITH: /* ORDINALITY */
        scan->at += sql_word_at(scan, scan->at + 1) == SQL_WORD_ORDINALITY ? 2 : 1;
        break;
    default:
        if (!sql_query_clause(scan, frame)) {
            sql_from_alias(scan, frame);
        }
        break;
    }
}
