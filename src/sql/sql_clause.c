/* SPDX-License-Identifier: MIT */
#include "sql/sql_internal.h"

static void sql_clause_is(struct sql_scan *scan, struct sql_frame *frame, enum sql_clause clause)
{
    frame->clause = (uint8_t)clause;
    frame->is_grouping = false;
    scan->where_depth = scan->where_depth == scan->depth ? 0 : scan->where_depth;
    scan->at++;
}

/* IS [NOT] DISTINCT FROM is a comparison. */
static bool sql_is_distinct_from(const struct sql_scan *scan)
{
    size_t at = scan->at;
    if (at < 2 || sql_word_at(scan, at - 1) != SQL_WORD_DISTINCT) {
        return false;
    }
    enum sql_word before = sql_word_at(scan, at - 2);
    return before == SQL_WORD_IS ||
           (before == SQL_WORD_NOT && at >= 3 && sql_word_at(scan, at - 3) == SQL_WORD_IS);
}

static void sql_clause_from(struct sql_scan *scan, struct sql_frame *frame)
{
    if (sql_is_distinct_from(scan)) {
        scan->at++;
        return;
    }
    frame->joins = 0;
    sql_clause_is(scan, frame, SQL_IN_FROM);
}

/* SELECT … INTO [TEMPORARY …] [TABLE] name. The options can be names, too. */
static void sql_clause_into(struct sql_scan *scan, struct sql_frame *frame)
{
    size_t index = 0;
    scan->at++;
    for (bool is_option = true; is_option;) {
        enum sql_word word = sql_word_at(scan, scan->at);
        is_option =
            (word == SQL_WORD_TEMP || word == SQL_WORD_TEMPORARY || word == SQL_WORD_LOCAL ||
             word == SQL_WORD_GLOBAL || word == SQL_WORD_UNLOGGED) &&
            (sql_token_is_name(scan, scan->at + 1) ||
             sql_word_at(scan, scan->at + 1) == SQL_WORD_TABLE);
        scan->at += is_option ? 1 : 0;
    }
    (void)sql_take_word(scan, SQL_WORD_TABLE);
    if (!sql_need_relation(scan, SQL_BIT(SQL_CREATE), &index)) {
        return;
    }
    sql_operate(scan, SQL_CREATE);
    scan->is_kept = true;
    frame->clause = SQL_IN_FOLLOW;
}

static void sql_clause_combine(struct sql_scan *scan, struct sql_frame *frame)
{
    scan->at++;
    if (sql_word_at(scan, scan->at) == SQL_WORD_ALL ||
        sql_word_at(scan, scan->at) == SQL_WORD_DISTINCT) {
        scan->at++;
    }
    scan->is_combined = true;
    frame->is_query = true;
    frame->is_grouping = false;
    frame->clause = SQL_IN_START;
}

/* The condition of a join, of a MERGE, or what is to be done with a conflict. */
static bool sql_clause_on(struct sql_scan *scan, struct sql_frame *frame)
{
    if (scan->at > 0 && sql_word_at(scan, scan->at - 1) == SQL_WORD_DISTINCT) {
        return false; /* DISTINCT ON (…) */
    }
    if (frame->joins > 0) {
        frame->joins--;
        sql_clause_is(scan, frame, SQL_IN_ON);
    } else if (frame->verb == SQL_INSERT) {
        scan->at++;
        if (frame->target > 0) { /* it is looked for in the target */
            scan->statement->relations[frame->target - 1].is_read = true;
        }
        if (frame->clause == SQL_IN_CONFLICT) { /* ON CONSTRAINT name */
            scan->at += 2;
            return true;
        }
        sql_clause_is(scan, frame, SQL_IN_CONFLICT);
    } else {
        if (frame->verb != SQL_MERGE) {
            sql_unknown(scan, "an ON that belongs to nothing");
        }
        sql_clause_is(scan, frame, frame->verb == SQL_MERGE ? SQL_IN_MERGE : SQL_IN_ON);
        scan->where_depth = scan->depth;
    }
    return true;
}

static void sql_clause_act(struct sql_scan *scan, struct sql_frame *frame,
                           enum sql_operation operation)
{
    sql_operate(scan, operation);
    if (frame->target > 0 && !scan->is_planned) {
        scan->statement->relations[frame->target - 1].operations |= SQL_BIT(operation);
    }
}

/* ON CONFLICT … DO NOTHING, DO UPDATE SET …; what is updated is the target. */
static void sql_clause_do(struct sql_scan *scan, struct sql_frame *frame)
{
    scan->at++;
    if (sql_take_word(scan, SQL_WORD_UPDATE)) {
        sql_clause_act(scan, frame, SQL_UPDATE);
        (void)sql_take_word(scan, SQL_WORD_SET);
        frame->clause = SQL_IN_SET;
        return;
    }
    if (!sql_take_word(scan, SQL_WORD_NOTHING)) {
        sql_unknown(scan, "what ON CONFLICT does is not known");
    }
    frame->clause = SQL_IN_FOLLOW;
}

/* WHEN [NOT] MATCHED [BY SOURCE | BY TARGET]. */
static void sql_clause_when(struct sql_scan *scan, struct sql_frame *frame)
{
    scan->at++;
    (void)sql_take_word(scan, SQL_WORD_NOT);
    if (!sql_take_word(scan, SQL_WORD_MATCHED)) {
        sql_stop(scan, "MATCHED is missing");
        return;
    }
    if (sql_take_word(scan, SQL_WORD_BY)) {
        scan->at++;
    }
    scan->where_depth = 0;
    frame->clause = SQL_IN_MERGE;
}

static void sql_clause_then(struct sql_scan *scan, struct sql_frame *frame)
{
    scan->at++;
    switch ((int)sql_word_at(scan, scan->at)) {
    case SQL_WORD_INSERT:
        sql_clause_act(scan, frame, SQL_INSERT);
        sql_clause_is(scan, frame, SQL_IN_ACTION);
        break;
    case SQL_WORD_UPDATE:
        sql_clause_act(scan, frame, SQL_UPDATE);
        scan->at++;
        (void)sql_take_word(scan, SQL_WORD_SET);
        frame->clause = SQL_IN_SET;
        break;
    case SQL_WORD_DELETE:
        sql_clause_act(scan, frame, SQL_DELETE);
        sql_clause_is(scan, frame, SQL_IN_FOLLOW);
        break;
    case SQL_WORD_DO:
        scan->at++;
        sql_clause_is(scan, frame, SQL_IN_FOLLOW);
        break;
    default:
        sql_stop(scan, "what MERGE does is not known");
        break;
    }
}

/* WHEN and THEN of a MERGE, apart from those of CASE. */
static bool sql_clause_merge(struct sql_scan *scan, struct sql_frame *frame, enum sql_word word)
{
    if (frame->verb != SQL_MERGE || frame->clause == SQL_IN_RETURNING) {
        return false;
    }
    switch ((int)word) {
    case SQL_WORD_CASE:
        frame->cases++;
        return false;
    case SQL_WORD_END:
        frame->cases -= frame->cases > 0 ? 1 : 0;
        return false;
    case SQL_WORD_WHEN:
    case SQL_WORD_THEN:
        if (frame->cases > 0) {
            return false;
        }
        if (word == SQL_WORD_WHEN) {
            sql_clause_when(scan, frame);
        } else {
            sql_clause_then(scan, frame);
        }
        return true;
    default:
        return false;
    }
}

/* RETURNING [WITH (OLD AS o, NEW AS n)]: what was written is read. */
static bool sql_clause_returning(struct sql_scan *scan, struct sql_frame *frame)
{
    if (frame->target == 0) {
        return false;
    }
    scan->statement->relations[frame->target - 1].is_read = true;
    sql_clause_is(scan, frame, SQL_IN_RETURNING);
    if (sql_take_word(scan, SQL_WORD_WITH)) {
        (void)sql_skip_parentheses(scan);
        scan->operand_at = scan->list_at = scan->at;
    }
    return true;
}

/* Words that mean something at one place only. */
static bool sql_clause_special(struct sql_scan *scan, struct sql_frame *frame, enum sql_word word)
{
    switch ((int)word) {
    case SQL_WORD_INTO:
        if (frame->clause != SQL_IN_LIST) {
            return false;
        }
        sql_clause_into(scan, frame);
        return true;
    case SQL_WORD_SET:
        if (frame->clause != SQL_IN_TARGET || frame->verb != SQL_UPDATE) {
            return false;
        }
        sql_clause_is(scan, frame, SQL_IN_SET);
        return true;
    case SQL_WORD_USING:
        if (frame->clause != SQL_IN_TARGET) {
            return false;
        }
        sql_clause_is(scan, frame, SQL_IN_FROM);
        return true;
    case SQL_WORD_DO:
        if (frame->clause != SQL_IN_CONFLICT) {
            return false;
        }
        sql_clause_do(scan, frame);
        return true;
    case SQL_WORD_VALUES:
        if (frame->clause != SQL_IN_ACTION) {
            return false;
        }
        sql_clause_is(scan, frame, SQL_IN_VALUES);
        return true;
    case SQL_WORD_RETURNING:
        return sql_clause_returning(scan, frame);
    default:
        return sql_clause_merge(scan, frame, word);
    }
}

static bool sql_clause_join(struct sql_scan *scan, struct sql_frame *frame, enum sql_word word)
{
    if (frame->clause != SQL_IN_ON) {
        return false;
    }
    bool is_call = sql_kind_at(scan, scan->at + 1) == SQL_TOKEN_OPEN;
    if (word == SQL_WORD_JOIN && (!is_call || sql_is_behind_operand(scan, scan->at) ||
                                  sql_word_at(scan, scan->at - 1) != SQL_NO_WORD)) {
        sql_from_join(scan, frame);
        return true;
    }
    if (is_call) {
        return false;
    }
    scan->at++; /* LEFT, CROSS, …: JOIN comes */
    return true;
}

/* A condition in which nothing is named that could be a column is as good as none. */
static void sql_clause_where(struct sql_scan *scan, struct sql_frame *frame)
{
    bool is_conflict = frame->clause == SQL_IN_CONFLICT;
    sql_clause_is(scan, frame, is_conflict ? SQL_IN_CONFLICT : SQL_IN_EXPRESSION);
    if (sql_word_at(scan, scan->at) == SQL_WORD_CURRENT &&
        sql_word_at(scan, scan->at + 1) == SQL_WORD_OF) { /* and the name of a cursor */
        scan->at += scan->at + 2 < scan->end ? 3 : 2;
        frame->has_where = true;
    } else if (frame->verb == SQL_UPDATE || frame->verb == SQL_DELETE) {
        scan->where_depth = scan->depth;
    }
}

bool sql_query_clause_word(struct sql_scan *scan, struct sql_frame *frame, enum sql_word word)
{
    bool is_by = sql_word_at(scan, scan->at + 1) == SQL_WORD_BY;
    switch ((int)word) {
    case SQL_WORD_UNION:
    case SQL_WORD_INTERSECT:
    case SQL_WORD_EXCEPT:
        if (frame->clause == SQL_IN_DEFINITION) {
            return false;
        }
        sql_clause_combine(scan, frame);
        return true;
    default:
        break;
    }
    if (!frame->is_query) {
        return false;
    }
    switch ((int)word) {
    case SQL_NO_WORD:
        return false;
    case SQL_WORD_FROM:
        sql_clause_from(scan, frame);
        return true;
    case SQL_WORD_WHERE:
        sql_clause_where(scan, frame);
        return true;
    case SQL_WORD_GROUP:
    case SQL_WORD_ORDER:
        if (is_by) {
            scan->at++;
            sql_clause_is(scan, frame, SQL_IN_EXPRESSION);
            frame->is_grouping = word == SQL_WORD_GROUP;
        }
        return is_by;
    case SQL_WORD_HAVING:
        sql_clause_is(scan, frame, SQL_IN_EXPRESSION);
        return true;
    case SQL_WORD_WINDOW:
        sql_clause_is(scan, frame, SQL_IN_WINDOW);
        return true;
    case SQL_WORD_LIMIT:
    case SQL_WORD_OFFSET:
        sql_clause_is(scan, frame, SQL_IN_EXPRESSION);
        return true;
    case SQL_WORD_FETCH:
        sql_clause_is(scan, frame, SQL_IN_EXPRESSION);
        scan->at += scan->at < scan->end ? 1 : 0; /* FIRST or NEXT */
        (void)(sql_take_word(scan, SQL_WORD_ROW) || sql_take_word(scan, SQL_WORD_ROWS));
        return true;
    case SQL_WORD_FOR:
        sql_clause_is(scan, frame, SQL_IN_FOLLOW);
        return true;
    case SQL_WORD_ON:
        return sql_clause_on(scan, frame);
    case SQL_WORD_JOIN:
    case SQL_WORD_LEFT:
    case SQL_WORD_RIGHT:
    case SQL_WORD_FULL:
    case SQL_WORD_INNER:
    case SQL_WORD_CROSS:
    case SQL_WORD_NATURAL:
        return sql_clause_join(scan, frame, word);
    default:
        return sql_clause_special(scan, frame, word);
    }
}
