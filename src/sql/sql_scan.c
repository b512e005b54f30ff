/* SPDX-License-Identifier: MIT */
#include "sql/sql_internal.h"

#include "base/limits.h"

bool sql_take_word(struct sql_scan *scan, enum sql_word word)
{
    bool is_there = sql_word_at(scan, scan->at) == word;
    scan->at += is_there ? 1 : 0;
    return is_there;
}

void sql_unknown(struct sql_scan *scan, const char *why)
{
    if (!scan->statement->is_unknown) {
        scan->statement->is_unknown = true;
        scan->statement->why = why;
    }
}

void sql_stop(struct sql_scan *scan, const char *why)
{
    sql_unknown(scan, why);
    if (!scan->is_stopped) {
        scan->stopped_at = scan->at < scan->end ? scan->at : scan->head_at;
    }
    scan->is_stopped = true;
    scan->at = scan->end;
}

void sql_guess_rest(struct sql_scan *scan)
{
    scan->end = scan->token_count;
    for (size_t i = scan->stopped_at; i < scan->end && scan->entry_count < LIMIT_SQL_NAMES;) {
        struct sql_name name;
        scan->at = i++;
        if (sql_take_name(scan, &name)) {
            i = scan->at;
            (void)sql_add_relation(scan, name, 0);
            if (sql_kind_at(scan, i) == SQL_TOKEN_OPEN) {
                (void)sql_add_function(scan, name, false);
            }
        }
    }
    if (scan->entry_count >= LIMIT_SQL_NAMES) {
        sql_add_all(scan, SLICE_NONE, 0);
    }
    scan->at = scan->end;
}

void sql_operate(struct sql_scan *scan, enum sql_operation operation)
{
    if (!scan->is_planned) {
        scan->statement->operations |= SQL_BIT(operation);
    }
}

struct sql_frame *sql_push(struct sql_scan *scan, enum sql_clause clause)
{
    if (scan->depth > LIMIT_SQL_DEPTH) {
        sql_stop(scan, "parentheses are nested too deeply");
        return sql_top(scan);
    }
    scan->frames = sql_room(scan->arena, scan->frames, scan->depth, &scan->frame_capacity,
                            sizeof(*scan->frames));
    struct sql_frame *frame = &scan->frames[scan->depth++];
    *frame = (struct sql_frame){
        .clause = (uint8_t)clause,
        .verb = SQL_OTHER,
        .is_query = clause == SQL_IN_START || clause == SQL_IN_FROM,
        .with_mark = scan->with_count,
        .call = scan->at == 0 ? SQL_NO_WORD : (uint16_t)sql_word_at(scan, scan->at - 1),
        .function = scan->called,
    };
    scan->called = 0;
    return frame;
}

bool sql_begins_query(const struct sql_scan *scan, size_t index)
{
    switch ((int)sql_word_at(scan, index)) {
    case SQL_WORD_SELECT:
    case SQL_WORD_WITH:
    case SQL_WORD_TABLE:
        return true;
    case SQL_WORD_VALUES:
        return sql_kind_at(scan, index + 1) == SQL_TOKEN_OPEN;
    default:
        return false;
    }
}

void sql_finish_query(struct sql_scan *scan, struct sql_frame *frame)
{
    if (frame->target > 0) {
        const struct sql_relation *target = &scan->statement->relations[frame->target - 1];
        bool is_merge = frame->verb == SQL_MERGE &&
                        (target->operations & (SQL_BIT(SQL_UPDATE) | SQL_BIT(SQL_DELETE))) != 0;
        bool needs_where = frame->verb == SQL_UPDATE || frame->verb == SQL_DELETE || is_merge;
        scan->statement->without_where |= needs_where && !frame->has_where && !scan->is_planned;
        if (scan->unread_count > 0 && scan->unread[scan->unread_count - 1] == frame->target - 1) {
            scan->unread_count--;
        }
        scan->where_depth = scan->where_depth == scan->depth ? 0 : scan->where_depth;
    }
    if (frame->clause == SQL_IN_START || frame->clause == SQL_IN_WITH ||
        frame->clause == SQL_IN_WITH_BODY || frame->clause == SQL_IN_WITH_DONE ||
        (frame->clause == SQL_IN_INSERT && frame->verb == SQL_INSERT) ||
        (frame->clause == SQL_IN_TARGET && frame->verb == SQL_UPDATE)) {
        sql_unknown(scan, "a query breaks off");
    }
    sql_with_cut(scan, frame->with_mark);
}

/* What the inside of a parenthesis is, by what stands before it. */
static enum sql_clause sql_clause_inside(struct sql_scan *scan, struct sql_frame *frame)
{
    uint8_t clause = frame->clause;
    bool is_query = sql_begins_query(scan, scan->at + 1);
    bool is_open = sql_kind_at(scan, scan->at + 1) == SQL_TOKEN_OPEN;
    switch ((int)clause) {
    case SQL_IN_START:
        frame->clause = SQL_IN_FOLLOW;
        frame->verb = frame->verb == SQL_OTHER ? SQL_SELECT : frame->verb;
        return SQL_IN_START;
    case SQL_IN_WITH_DONE: /* the query itself is in parentheses */
        frame->clause = SQL_IN_FOLLOW;
        frame->verb = frame->verb == SQL_OTHER ? SQL_SELECT : frame->verb;
        return SQL_IN_START;
    case SQL_IN_WITH_BODY:
        if (sql_word_at(scan, scan->at - 1) == SQL_WORD_AS ||
            sql_word_at(scan, scan->at - 1) == SQL_WORD_MATERIALIZED) {
            frame->clause = SQL_IN_WITH_DONE;
            return SQL_IN_START;
        }
        return SQL_IN_NAMES;
    case SQL_IN_FROM:
        frame->clause = SQL_IN_JOINED;
        frame->is_table = false;
        return is_query ? SQL_IN_START : SQL_IN_FROM;
    case SQL_IN_JOINED:
        return SQL_IN_NAMES;
    case SQL_IN_INSERT:
        if (is_query || is_open) {
            frame->clause = SQL_IN_FOLLOW;
            return SQL_IN_START;
        }
        return SQL_IN_NAMES;
    case SQL_IN_SET:
    case SQL_IN_ACTION:
    case SQL_IN_NAMES:
        return is_query ? SQL_IN_START : SQL_IN_NAMES;
    case SQL_IN_DEFINITION:
        return is_query ? SQL_IN_START : SQL_IN_DEFINITION;
    default:
        return is_query ? SQL_IN_START : SQL_IN_EXPRESSION;
    }
}

/* Behind OPERATOR ( : its schema, if one is written, and the operator. */
static void sql_open_operator(struct sql_scan *scan)
{
    struct slice schema = SLICE_NONE;
    size_t at = scan->at;
    while (sql_token_is_name(scan, at) && sql_kind_at(scan, at + 1) == SQL_TOKEN_DOT) {
        schema = sql_token_name(scan, at);
        at += 2;
    }
    if (at < scan->end) {
        sql_add_operator(scan, schema, sql_token_lower(scan, at));
    }
}

static void sql_open(struct sql_scan *scan, struct sql_frame *frame)
{
    enum sql_word before = scan->at == 0 ? SQL_NO_WORD : sql_word_at(scan, scan->at - 1);
    bool is_outer = frame->is_outer && frame->clause == SQL_IN_START;
    bool is_with = frame->clause == SQL_IN_WITH_BODY;
    bool is_distinct_on = frame->clause == SQL_IN_LIST && before == SQL_WORD_ON;
    enum sql_clause clause = sql_clause_inside(scan, frame);
    if (before == SQL_WORD_OPERATOR && clause == SQL_IN_EXPRESSION) {
        clause = SQL_IN_NAMES;
    }
    bool is_sets = before == SQL_WORD_SETS && frame->is_grouping;
    struct sql_frame *inner = sql_push(scan, clause);
    inner->is_outer = is_outer && clause == SQL_IN_START;
    inner->is_with = is_with && clause == SQL_IN_START;
    inner->is_exists = before == SQL_WORD_EXISTS;
    inner->is_infix = before == SQL_WORD_OPERATOR || is_distinct_on;
    inner->is_grouping = is_sets;
    scan->at++;
    if (before == SQL_WORD_OPERATOR && scan->has_columns) {
        sql_open_operator(scan);
    }
}

static void sql_open_bracket(struct sql_scan *scan, const struct sql_frame *frame)
{
    bool is_definition = frame->clause == SQL_IN_DEFINITION;
    struct sql_frame *inner = sql_push(scan, is_definition ? SQL_IN_DEFINITION : SQL_IN_EXPRESSION);
    inner->is_bracket = true;
    scan->at++;
}

/* How many arguments there were, and whether a word that can be grammar was called by its name. */
static void sql_close_call(struct sql_scan *scan, const struct sql_frame *frame)
{
    bool is_by_name = (frame->call == SQL_WORD_SUBSTRING || frame->call == SQL_WORD_OVERLAY) &&
                      !frame->is_grammar;
    uint32_t function = frame->function;
    if (is_by_name && function == 0) {
        struct slice name = frame->call == SQL_WORD_OVERLAY ? SLICE("overlay\0\0\0\0\0\0\0\0")
                                                            : SLICE("substring\0\0\0\0\0\0\0\0");
        function = sql_add_function(
            scan, (struct sql_name){SLICE_NONE, slice_sub(name, 0, name.len - 8)}, false);
    }
    if (function == 0) {
        return;
    }
    const struct sql_token *before = &scan->tokens[scan->at - 1];
    bool is_star =
        before->kind == SQL_TOKEN_STAR && scan->tokens[scan->at - 2].kind == SQL_TOKEN_OPEN;
    uint32_t count = before->kind == SQL_TOKEN_OPEN || is_star ? 0 : frame->commas + 1;
    sql_add_arguments(scan, function, count);
    if (frame->is_variadic) {
        sql_add_arguments(scan, function, UINT32_MAX);
    }
}

static void sql_close(struct sql_scan *scan, struct sql_frame *frame, bool is_bracket)
{
    if (scan->depth == 1 || frame->is_bracket != is_bracket) {
        sql_stop(scan, "parentheses do not match");
        return;
    }
    if (frame->is_query && !(frame->is_actions && frame->clause == SQL_IN_START)) {
        sql_finish_query(scan, frame);
    }
    sql_close_call(scan, frame);
    bool is_infix = frame->is_infix;
    bool is_with = frame->is_with;
    scan->depth--;
    scan->at++;
    if (is_infix) {
        scan->operand_at = scan->at;
    }
    if (is_with && !sql_top(scan)->is_recursive) { /* from here on it can be named */
        sql_with_push(scan, sql_top(scan)->with_name);
    }
}

static void sql_comma(struct sql_scan *scan, struct sql_frame *frame)
{
    scan->at++;
    frame->commas += frame->is_argument_end ? 0 : 1;
    switch ((int)frame->clause) {
    case SQL_IN_JOINED:
    case SQL_IN_ON:
        frame->clause = SQL_IN_FROM;
        break;
    case SQL_IN_VALUE:
        frame->clause = SQL_IN_SET;
        break;
    case SQL_IN_WITH_DONE:
        frame->clause = SQL_IN_WITH;
        break;
    default:
        break;
    }
}

static void sql_semicolon(struct sql_scan *scan, struct sql_frame *frame)
{
    if (!frame->is_actions) {
        sql_stop(scan, "a semicolon where none can be");
        return;
    }
    if (frame->clause != SQL_IN_START) { /* empty ones are allowed */
        sql_finish_query(scan, frame);
    }
    *frame = (struct sql_frame){.clause = SQL_IN_START,
                                .verb = SQL_OTHER,
                                .is_query = true,
                                .is_actions = true,
                                .with_mark = frame->with_mark};
    scan->at++;
}

static void sql_word(struct sql_scan *scan, struct sql_frame *frame)
{
    switch ((enum sql_clause)frame->clause) {
    case SQL_IN_START:
        sql_query_start(scan, frame);
        break;
    case SQL_IN_WITH:
    case SQL_IN_WITH_BODY:
    case SQL_IN_WITH_DONE:
        sql_query_with(scan, frame);
        break;
    case SQL_IN_FROM:
        sql_from_item(scan, frame);
        break;
    case SQL_IN_JOINED:
        sql_from_joined(scan, frame);
        break;
    case SQL_IN_INSERT:
        sql_query_insert(scan, frame);
        break;
    case SQL_IN_TARGET:
        sql_query_target(scan, frame);
        break;
    case SQL_IN_NAMES:
        scan->at++;
        break;
    case SQL_IN_SET:
    case SQL_IN_ACTION:
        scan->at += sql_query_clause(scan, frame) ? 0 : 1;
        break;
    case SQL_IN_EXPRESSION:
    case SQL_IN_DEFINITION:
    case SQL_IN_LIST:
    case SQL_IN_RETURNING:
    case SQL_IN_ON:
    case SQL_IN_WINDOW:
    case SQL_IN_FOLLOW:
    case SQL_IN_VALUE:
    case SQL_IN_VALUES:
    case SQL_IN_CONFLICT:
    case SQL_IN_MERGE:
        if (!sql_query_clause(scan, frame)) {
            sql_expression_word(scan, frame);
        }
        break;
    }
}

/* 'at' is before 'end'. */
static void sql_step(struct sql_scan *scan)
{
    struct sql_frame *frame = sql_top(scan);
    switch (scan->tokens[scan->at].kind) {
    case SQL_TOKEN_OPEN:
        sql_open(scan, frame);
        break;
    case SQL_TOKEN_CLOSE:
        sql_close(scan, frame, false);
        break;
    case SQL_TOKEN_OPEN_BRACKET:
        sql_open_bracket(scan, frame);
        break;
    case SQL_TOKEN_CLOSE_BRACKET:
        sql_close(scan, frame, true);
        break;
    case SQL_TOKEN_COMMA:
        sql_comma(scan, frame);
        break;
    case SQL_TOKEN_SEMICOLON:
        sql_semicolon(scan, frame);
        break;
    case SQL_TOKEN_WORD:
    case SQL_TOKEN_QUOTED:
    case SQL_TOKEN_QUOTED_UNICODE:
        sql_word(scan, frame);
        break;
    case SQL_TOKEN_STAR:
        sql_expression_star(scan, frame);
        break;
    case SQL_TOKEN_EQUALS:
        if (frame->clause == SQL_IN_SET) {
            frame->clause = SQL_IN_VALUE;
            scan->at++;
            break;
        }
        sql_expression_operator(scan, frame);
        break;
    case SQL_TOKEN_OPERATOR:
        sql_expression_operator(scan, frame);
        break;
    case SQL_TOKEN_CAST:
        sql_expression_cast(scan);
        break;
    default:
        scan->at++;
        break;
    }
}

static void sql_run_frame(struct sql_scan *scan, enum sql_clause clause, bool is_actions)
{
    scan->depth = 0;
    scan->called = 0;
    struct sql_frame *frame = sql_push(scan, clause);
    frame->is_outer = true;
    frame->is_actions = is_actions;
    while (scan->at < scan->end) {
        sql_step(scan);
    }
    if (scan->is_stopped) {
        return;
    }
    frame = sql_top(scan);
    if (scan->depth != 1) {
        sql_unknown(scan, "parentheses do not match");
    } else if (frame->is_query && !(is_actions && frame->clause == SQL_IN_START)) {
        sql_finish_query(scan, frame);
    }
}

void sql_run(struct sql_scan *scan, enum sql_clause clause)
{
    sql_run_frame(scan, clause, false);
}

void sql_run_actions(struct sql_scan *scan)
{
    sql_run_frame(scan, SQL_IN_START, true);
}

void sql_run_until(struct sql_scan *scan, enum sql_clause clause, size_t end)
{
    size_t whole = scan->end;
    scan->end = end;
    sql_run_frame(scan, clause, false);
    scan->end = whole;
    scan->at = scan->is_stopped ? whole : end;
}
