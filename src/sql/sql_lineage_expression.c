/* SPDX-License-Identifier: MIT */
/* An expression is open when all that it names is: so its words are only told apart into columns,
 * functions, types, operators and grammar. Where an operand comes a word is a name unless it is
 * known to be grammar there; behind an operand it must be grammar that is known. */
#include "base/memory.h"
#include "sql/sql_lineage_internal.h"
#include "sql/sql_lineage_words.h"

enum { EXPRESSION_READ, EXPRESSION_QUERY_DONE };

static void expression_close(struct lineage_frame *frame)
{
    frame->is_open = false;
}

bool lineage_is_own_operator(struct lineage *lineage, struct slice name)
{
    const struct sql_name operator= {SLICE_NONE, name};
    return lineage->catalog->is_own_operator(lineage->catalog->context, &operator);
}

size_t lineage_name_end(const struct lineage *lineage, size_t at, size_t end)
{
    if (at >= end || !lineage_is_name(lineage, at)) {
        return at;
    }
    at++;
    while (at + 1 < end && lineage_kind_at(lineage, at) == SQL_TOKEN_DOT) {
        bool is_star = lineage_kind_at(lineage, at + 1) == SQL_TOKEN_STAR;
        if (!is_star && !lineage_is_name(lineage, at + 1)) {
            break;
        }
        at += 2;
        if (is_star) {
            break;
        }
    }
    return at;
}

struct sql_name lineage_name_of(struct lineage *lineage, size_t at, size_t end)
{
    struct sql_name name = {SLICE_NONE, lineage_name(lineage, end - 1)};
    if (end > at + 2) {
        name.schema = lineage_name(lineage, end - 3);
    }
    return name;
}

/* Operators --------------------------------------------------------------------------------------
 */

static void expression_operator(struct lineage *lineage, struct lineage_frame *frame)
{
    if (!lineage_is_own_operator(lineage, sql_token_lower(&lineage->scan, frame->at))) {
        frame->may_multiply = true;
        expression_close(frame);
    }
    frame->at++;
    frame->is_behind = false;
}

/* A star where an operand comes: all rows of an aggregate. */
static void expression_star(struct lineage *lineage, struct lineage_frame *frame)
{
    if (frame->is_behind) {
        expression_operator(lineage, frame);
        return;
    }
    if (frame->at == 0 || lineage_kind_at(lineage, frame->at - 1) != SQL_TOKEN_OPEN ||
        lineage_kind_at(lineage, frame->at + 1) != SQL_TOKEN_CLOSE) {
        expression_close(frame);
    }
    frame->at++;
    frame->is_behind = true;
}

/* Names ------------------------------------------------------------------------------------------
 */

uint32_t lineage_arguments(const struct lineage *lineage, size_t open)
{
    size_t close = lineage->partners[open];
    enum sql_word behind = lineage_word_at(lineage, close + 1);
    if (close == open + 1) {
        return behind == SQL_WORD_WITHIN ? UINT32_MAX : 0;
    }
    if (close == open + 2 && lineage_kind_at(lineage, open + 1) == SQL_TOKEN_STAR) {
        return 0;
    }
    uint32_t count = 1;
    for (size_t at = open + 1; at < close; at = lineage_next(lineage, at)) {
        enum sql_word word = lineage_word_at(lineage, at);
        if (word == SQL_WORD_ORDER) {
            break;
        }
        count += lineage_kind_at(lineage, at) == SQL_TOKEN_COMMA ? 1 : 0;
        if (word == SQL_WORD_VARIADIC) {
            return UINT32_MAX;
        }
    }
    return behind == SQL_WORD_WITHIN ? UINT32_MAX : count;
}

static void expression_call(struct lineage *lineage, struct lineage_frame *frame, size_t end)
{
    const struct sql_lineage_catalog *catalog = lineage->catalog;
    struct sql_name name = lineage_name_of(lineage, frame->at, end);
    uint32_t arguments = lineage_arguments(lineage, end);
    if (!catalog->is_own_function(catalog->context, &name, arguments)) {
        expression_close(frame);
    }
    lineage_note_call(lineage, name.name);
    if (catalog->is_scalar_function == NULL ||
        !catalog->is_scalar_function(catalog->context, &name, arguments)) {
        frame->may_multiply = true;
    }
    frame->at = end;
}

/* type '…', type (…) '…' */
static bool expression_is_literal(const struct lineage *lineage, size_t at, size_t end)
{
    at = lineage_kind_at(lineage, at) == SQL_TOKEN_OPEN ? lineage_next(lineage, at) : at;
    uint8_t kind = lineage_kind_at(lineage, at);
    return at < end && (kind == SQL_TOKEN_STRING || kind == SQL_TOKEN_STRING_UNICODE);
}

/* "relation.name" can be a function. */
static bool expression_is_column(struct lineage *lineage, const struct lineage_frame *frame,
                                 size_t end)
{
    const struct lineage_rows *rows = lineage_find_named(lineage, frame->scope, frame->at, end - 2);
    return rows != NULL && lineage_is_name(lineage, end - 1) &&
           lineage_has_label(lineage, rows, lineage_name(lineage, end - 1));
}

static void expression_name(struct lineage *lineage, struct lineage_frame *frame)
{
    size_t end = lineage_name_end(lineage, frame->at, frame->end);
    uint8_t next = end < frame->end ? lineage_kind_at(lineage, end) : SQL_TOKEN_END;
    if (expression_is_literal(lineage, end, frame->end)) {
        const struct sql_lineage_catalog *catalog = lineage->catalog;
        struct sql_name name = lineage_name_of(lineage, frame->at, end);
        if (!catalog->is_own_type(catalog->context, &name)) {
            expression_close(frame);
        }
        frame->at = end;
        return;
    }
    if (next == SQL_TOKEN_OPEN) {
        expression_call(lineage, frame, end);
        return;
    }
    if (next == SQL_TOKEN_ARROW || next == SQL_TOKEN_ASSIGN) { /* the name of an argument */
        frame->at = end + 1;
        return;
    }
    if (!lineage_look_up(lineage, frame, frame->at, end)) {
        expression_close(frame);
    }
    if (end > frame->at + 1 && !expression_is_column(lineage, frame, end)) {
        frame->may_multiply = true;
    }
    frame->at = end;
    frame->is_behind = true;
}

/* Behind a value: a field of it, or a function that is called with it. */
static void expression_field(struct lineage *lineage, struct lineage_frame *frame)
{
    const struct sql_lineage_catalog *catalog = lineage->catalog;
    bool is_name = lineage_is_name(lineage, frame->at + 1);
    if (is_name) {
        struct sql_name name = {SLICE_NONE, lineage_name(lineage, frame->at + 1)};
        is_name = catalog->is_own_function(catalog->context, &name, 1);
    }
    if (!is_name) {
        expression_close(frame);
    }
    frame->may_multiply = true;
    frame->at += 2;
    frame->is_behind = true;
}

/* Words ------------------------------------------------------------------------------------------
 */

/* Which clause it is that begins. */
static void expression_clause(struct lineage *lineage, struct lineage_frame *frame)
{
    switch ((int)lineage_word_at(lineage, frame->at)) {
    case SQL_WORD_GROUP:
        frame->is_grouping = true;
        break;
    case SQL_WORD_HAVING:
    case SQL_WORD_WINDOW:
    case SQL_WORD_ORDER:
        frame->is_grouping = false;
        break;
    case SQL_WORD_LIMIT:
    case SQL_WORD_OFFSET:
    case SQL_WORD_FETCH:
        frame->is_grouping = false;
        frame->was_closed = frame->was_closed || (!frame->is_limit && !frame->is_open);
        frame->is_open = frame->is_open || !frame->is_limit;
        frame->is_limit = true;
        break;
    default:
        break;
    }
}

static void expression_word(struct lineage *lineage, struct lineage_frame *frame)
{
    if (frame->is_clauses && lineage->enclosing[frame->at] == lineage->enclosing[frame->begin]) {
        expression_clause(lineage, frame);
    }
    if (frame->is_behind) {
        lineage_word_behind(lineage, frame);
        return;
    }
    if (lineage_word_grammar(lineage, frame)) {
        return;
    }
    if (lineage_is_name(lineage, frame->at)) {
        expression_name(lineage, frame);
        return;
    }
    frame->is_behind = lineage->scan.tokens[frame->at].is_end;
    frame->at++;
}

/* SET: what stands before = is set, not read. */
static void expression_skip_target(struct lineage *lineage, struct lineage_frame *frame)
{
    while (frame->at < frame->end && lineage_kind_at(lineage, frame->at) != SQL_TOKEN_EQUALS) {
        if (lineage_kind_at(lineage, frame->at) == SQL_TOKEN_OPEN_BRACKET) {
            expression_close(frame); /* which element it is tells something, too */
        }
        frame->at = lineage_next(lineage, frame->at);
    }
    frame->at += frame->at < frame->end ? 1 : 0;
    frame->is_behind = false;
}

/* (relation).name */
static bool expression_takes_field(struct lineage *lineage, struct lineage_frame *frame)
{
    size_t dot = frame->at + 3;
    if (dot + 1 >= frame->end || lineage_kind_at(lineage, dot) != SQL_TOKEN_DOT ||
        !lineage_is_name(lineage, dot + 1) || lineage_kind_at(lineage, dot + 2) == SQL_TOKEN_OPEN) {
        return false;
    }
    const struct lineage_rows *rows = lineage_find_row(lineage, frame->scope, frame->at);
    if (rows == NULL) {
        return false;
    }
    struct slice name = lineage_name(lineage, dot + 1);
    if (!lineage_look_up_in(lineage, rows, name)) {
        expression_close(frame);
    }
    frame->may_multiply = frame->may_multiply || !lineage_has_label(lineage, rows, name);
    frame->at = dot + 2;
    frame->is_behind = true;
    return true;
}

static void expression_open(struct lineage *lineage, struct lineage_frame *frame)
{
    size_t open = frame->at;
    if (!frame->is_behind && expression_takes_field(lineage, frame)) {
        return;
    }
    frame->is_behind = false;
    if (!lineage->begins_query[open]) {
        frame->at++;
        return;
    }
    frame->is_exists = open > 0 && lineage_word_at(lineage, open - 1) == SQL_WORD_EXISTS;
    frame->step = EXPRESSION_QUERY_DONE;
    frame->at = (size_t)lineage->partners[open] + 1;
    (void)lineage_push(lineage, LINEAGE_QUERY, open + 1, lineage->partners[open]);
}

static void expression_query_done(struct lineage *lineage, struct lineage_frame *frame)
{
    const struct lineage_rows *rows = &lineage->returned;
    if (!rows->are_rows_open || (!frame->is_exists && !lineage_is_all_open(rows))) {
        expression_close(frame);
    }
    frame->is_behind = true;
    frame->step = EXPRESSION_READ;
}

static void expression_token(struct lineage *lineage, struct lineage_frame *frame)
{
    switch ((enum sql_token_kind)lineage_kind_at(lineage, frame->at)) {
    case SQL_TOKEN_WORD:
    case SQL_TOKEN_QUOTED:
    case SQL_TOKEN_QUOTED_UNICODE:
        expression_word(lineage, frame);
        break;
    case SQL_TOKEN_OPERATOR:
    case SQL_TOKEN_EQUALS:
        expression_operator(lineage, frame);
        break;
    case SQL_TOKEN_STAR:
        expression_star(lineage, frame);
        break;
    case SQL_TOKEN_CAST:
        frame->at++;
        if (!lineage_take_type(lineage, &frame->at, frame->end)) {
            expression_close(frame);
        }
        frame->is_behind = true;
        break;
    case SQL_TOKEN_OPEN:
        expression_open(lineage, frame);
        break;
    case SQL_TOKEN_DOT:
        expression_field(lineage, frame);
        break;
    case SQL_TOKEN_STRING:
    case SQL_TOKEN_STRING_UNICODE:
    case SQL_TOKEN_NUMBER:
    case SQL_TOKEN_PARAMETER:
    case SQL_TOKEN_CLOSE:
    case SQL_TOKEN_CLOSE_BRACKET:
        frame->at++;
        frame->is_behind = true;
        break;
    case SQL_TOKEN_COMMA:
        frame->at++;
        frame->is_behind = false;
        if (frame->is_set &&
            lineage->enclosing[frame->at - 1] == lineage->enclosing[frame->begin]) {
            expression_skip_target(lineage, frame);
        }
        break;
    case SQL_TOKEN_OPEN_BRACKET:
    case SQL_TOKEN_COLON:
    case SQL_TOKEN_ARROW:
    case SQL_TOKEN_ASSIGN:
        frame->at++;
        frame->is_behind = false;
        break;
    case SQL_TOKEN_END:
    case SQL_TOKEN_SEMICOLON:
    case SQL_TOKEN_BAD:
        lineage_deny(lineage);
        break;
    }
}

void lineage_expression_step(struct lineage *lineage)
{
    struct lineage_frame *frame = lineage_top(lineage);
    if (frame->step == EXPRESSION_QUERY_DONE) {
        expression_query_done(lineage, frame);
        return;
    }
    if (!frame->has_begun) {
        frame->has_begun = true;
        frame->begin = frame->at;
        if (frame->is_set && frame->at < frame->end) {
            expression_skip_target(lineage, frame);
        }
    }
    if (frame->at >= frame->end) {
        lineage->is_counted = lineage->is_counted || (frame->is_limit && !frame->is_open);
        frame->is_open = frame->is_open && !frame->was_closed;
        lineage_return(lineage);
        return;
    }
    expression_token(lineage, frame);
}
