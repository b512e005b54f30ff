/* SPDX-License-Identifier: MIT */
#include "sql/sql_internal.h"

/* [ONLY] name, of a statement that writes it; parentheses are possible behind ONLY. */
static void sql_query_takes_target(struct sql_scan *scan, struct sql_frame *frame,
                                   enum sql_operation operation)
{
    size_t index = 0;
    if (!sql_need_relation(scan, SQL_BIT(operation), &index)) {
        return;
    }
    sql_add_alias(scan, scan->statement->relations[index].name.name);
    sql_operate(scan, operation);
    frame->verb = (uint8_t)operation;
    frame->target = (uint32_t)index + 1;
    frame->has_where = false;
    if (operation == SQL_MERGE) { /* by its condition */
        scan->statement->relations[index].is_read = true;
    } else if (operation != SQL_INSERT) {
        scan->unread = sql_room(scan->arena, scan->unread, scan->unread_count,
                                &scan->unread_capacity, sizeof(*scan->unread));
        scan->unread[scan->unread_count++] = (uint32_t)index;
    }
}

static void sql_query_write(struct sql_scan *scan, struct sql_frame *frame, enum sql_word word)
{
    scan->at++;
    switch ((int)word) {
    case SQL_WORD_INSERT:
        if (!sql_take_word(scan, SQL_WORD_INTO)) {
            break;
        }
        frame->clause = SQL_IN_INSERT;
        sql_query_takes_target(scan, frame, SQL_INSERT);
        return;
    case SQL_WORD_UPDATE:
        frame->clause = SQL_IN_TARGET;
        sql_query_takes_target(scan, frame, SQL_UPDATE);
        return;
    case SQL_WORD_DELETE:
        if (!sql_take_word(scan, SQL_WORD_FROM)) {
            break;
        }
        frame->clause = SQL_IN_TARGET;
        sql_query_takes_target(scan, frame, SQL_DELETE);
        return;
    default:
        if (!sql_take_word(scan, SQL_WORD_INTO)) {
            break;
        }
        frame->clause = SQL_IN_TARGET;
        sql_query_takes_target(scan, frame, SQL_MERGE);
        return;
    }
    sql_stop(scan, "a verb that no table follows");
}

static void sql_query_select(struct sql_scan *scan, struct sql_frame *frame)
{
    sql_operate(scan, SQL_SELECT);
    frame->verb = frame->verb == SQL_OTHER ? SQL_SELECT : frame->verb;
    frame->clause = SQL_IN_LIST;
    frame->joins = 0;
    scan->at++;
    if (sql_word_at(scan, scan->at) == SQL_WORD_DISTINCT) {
        frame->is_outer = false;
    }
}

/* TABLE name: all of it. */
static void sql_query_table(struct sql_scan *scan, struct sql_frame *frame)
{
    size_t index = 0;
    sql_operate(scan, SQL_SELECT);
    frame->verb = frame->verb == SQL_OTHER ? SQL_SELECT : frame->verb;
    frame->clause = SQL_IN_FOLLOW;
    scan->at++;
    if (sql_token_is_name(scan, scan->at) && sql_kind_at(scan, scan->at + 1) != SQL_TOKEN_DOT &&
        sql_with_has(scan, sql_token_name(scan, scan->at))) {
        scan->at++;
    } else if (!sql_need_relation(scan, 0, &index)) {
        return;
    }
    sql_add_column(scan, SLICE_NONE, sql_all(), !frame->is_outer);
}

void sql_query_start(struct sql_scan *scan, struct sql_frame *frame)
{
    enum sql_word word = sql_word_at(scan, scan->at);
    switch ((int)word) {
    case SQL_WORD_SELECT:
        sql_query_select(scan, frame);
        break;
    case SQL_WORD_VALUES:
        if (frame->verb != SQL_INSERT) {
            sql_operate(scan, SQL_SELECT);
        }
        frame->verb = frame->verb == SQL_OTHER ? SQL_SELECT : frame->verb;
        frame->clause = SQL_IN_VALUES;
        scan->at++;
        break;
    case SQL_WORD_TABLE:
        sql_query_table(scan, frame);
        break;
    case SQL_WORD_WITH: {
        enum sql_word behind = sql_word_at(scan, scan->at + 2);
        scan->at++;
        /* It can be a name itself. */
        frame->is_recursive = sql_word_at(scan, scan->at) == SQL_WORD_RECURSIVE &&
                              behind != SQL_WORD_AS &&
                              sql_kind_at(scan, scan->at + 1) != SQL_TOKEN_OPEN;
        scan->at += frame->is_recursive ? 1 : 0;
        frame->clause = SQL_IN_WITH;
        break;
    }
    case SQL_WORD_INSERT:
    case SQL_WORD_UPDATE:
    case SQL_WORD_DELETE:
    case SQL_WORD_MERGE:
        sql_query_write(scan, frame, word);
        break;
    case SQL_WORD_RETURN: /* in the body of a function */
        frame->clause = frame->is_actions ? SQL_IN_EXPRESSION : SQL_IN_START;
        if (!frame->is_actions) {
            sql_stop(scan, "a query is missing");
            break;
        }
        scan->at++;
        break;
    case SQL_WORD_NOTIFY: /* in a rule */
        sql_operate(scan, SQL_NOTIFY);
        frame->clause = SQL_IN_FOLLOW;
        scan->at++;
        break;
    default:
        sql_stop(scan, "a query is missing");
        break;
    }
}

/* SEARCH … SET column, CYCLE … SET column [TO value DEFAULT value] USING column. */
static void sql_query_with_order(struct sql_scan *scan)
{
    bool is_cycle = sql_word_at(scan, scan->at) == SQL_WORD_CYCLE;
    while (scan->at < scan->end && sql_word_at(scan, scan->at) != SQL_WORD_SET) {
        scan->at++;
    }
    scan->at += 2;
    while (is_cycle && scan->at < scan->end && sql_word_at(scan, scan->at) != SQL_WORD_USING) {
        scan->at++;
    }
    scan->at += is_cycle ? 2 : 0;
    if (scan->at > scan->end) {
        sql_stop(scan, "a query breaks off");
    }
}

void sql_query_with(struct sql_scan *scan, struct sql_frame *frame)
{
    enum sql_word word = sql_word_at(scan, scan->at);
    if (frame->clause == SQL_IN_WITH) {
        if (!sql_token_is_name(scan, scan->at)) {
            sql_stop(scan, "the name of a common table expression is missing");
            return;
        }
        frame->with_name = sql_token_name(scan, scan->at++);
        frame->clause = SQL_IN_WITH_BODY;
        if (frame->is_recursive) {
            sql_with_push(scan, frame->with_name);
        }
        return;
    }
    if (frame->clause == SQL_IN_WITH_BODY) { /* AS [NOT] [MATERIALIZED] */
        scan->at++;
        return;
    }
    if (word == SQL_WORD_SEARCH || word == SQL_WORD_CYCLE) {
        sql_query_with_order(scan);
        return;
    }
    frame->clause = SQL_IN_START;
}

/* Behind INSERT INTO name. */
void sql_query_insert(struct sql_scan *scan, struct sql_frame *frame)
{
    switch ((int)sql_word_at(scan, scan->at)) {
    case SQL_WORD_AS:
        scan->at++;
        if (sql_token_is_name(scan, scan->at)) {
            sql_add_alias(scan, sql_token_name(scan, scan->at++));
        }
        break;
    case SQL_WORD_DEFAULT:
        frame->clause = SQL_IN_FOLLOW;
        scan->at += 2;
        break;
    case SQL_WORD_SELECT:
    case SQL_WORD_WITH:
    case SQL_WORD_TABLE:
    case SQL_WORD_VALUES:
        frame->is_outer = false;
        frame->clause = SQL_IN_START;
        break;
    case SQL_WORD_OVERRIDING:
    case SQL_WORD_SYSTEM:
    case SQL_WORD_USER:
    case SQL_WORD_VALUE:
        scan->at++;
        break;
    default:
        sql_stop(scan, "what is inserted is missing");
        break;
    }
    scan->at = scan->at > scan->end ? scan->end : scan->at;
}

/* Behind the target of UPDATE, DELETE and MERGE: [*] [[AS] alias]. */
void sql_query_target(struct sql_scan *scan, struct sql_frame *frame)
{
    if (sql_query_clause(scan, frame)) {
        return;
    }
    if (sql_token_is_name(scan, scan->at)) {
        sql_add_alias(scan, sql_token_name(scan, scan->at));
    }
    scan->at++;
}
