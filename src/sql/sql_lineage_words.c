/* SPDX-License-Identifier: MIT */
#include "sql/sql_lineage_words.h"

#include "base/memory.h"

static bool word_take(struct lineage_frame *frame, size_t count, bool is_behind)
{
    frame->at += count;
    frame->at = frame->at < frame->end ? frame->at : frame->end;
    frame->is_behind = is_behind;
    return true;
}

static bool word_refuse(struct lineage_frame *frame, size_t count, bool is_behind)
{
    frame->is_open = false;
    return word_take(frame, count, is_behind);
}

/* The word before the parenthesis around the token. */
static enum sql_word word_head(const struct lineage *lineage, size_t at)
{
    size_t open = lineage->enclosing[at];
    return open < 2 ? SQL_NO_WORD : lineage_word_at(lineage, open - 2);
}

/* Whether the token stands in the parentheses of OVER, or of a window's definition. */
static bool word_is_window(const struct lineage *lineage, const struct lineage_frame *frame)
{
    size_t open = lineage->enclosing[frame->at];
    enum sql_word head = word_head(lineage, frame->at);
    return head == SQL_WORD_OVER ||
           (head == SQL_WORD_AS && frame->is_clauses && open > 0 &&
            lineage->enclosing[open - 1] == lineage->enclosing[frame->begin]);
}

static bool word_is_outermost(const struct lineage *lineage, const struct lineage_frame *frame)
{
    return frame->is_clauses && lineage->enclosing[frame->at] == lineage->enclosing[frame->begin];
}

/* The operators that words stand for. */
static void word_operators(struct lineage *lineage, struct lineage_frame *frame)
{
    static const struct {
        enum sql_word word;
        const char *operators[2];
    } operators[] = {
        {SQL_WORD_IN, {"=", "<>"}},        {SQL_WORD_LIKE, {"~~", "!~~"}},
        {SQL_WORD_ILIKE, {"~~*", "!~~*"}}, {SQL_WORD_SIMILAR, {"~", "!~"}},
        {SQL_WORD_BETWEEN, {">=", "<="}},  {SQL_WORD_BETWEEN, {"<", ">"}},
        {SQL_WORD_DISTINCT, {"=", "="}},   {SQL_WORD_NULLIF, {"=", "="}},
        {SQL_WORD_CASE, {"=", "="}},
    };
    enum sql_word word = lineage_word_at(lineage, frame->at);
    for (size_t i = 0; i < COUNT_OF(operators); i++) {
        if (operators[i].word == word &&
            !(lineage_is_own_operator(lineage, slice_of_text(operators[i].operators[0])) &&
              lineage_is_own_operator(lineage, slice_of_text(operators[i].operators[1])))) {
            frame->is_open = false;
        }
    }
}

void lineage_take_operator(struct lineage *lineage, struct lineage_frame *frame)
{
    size_t close = lineage->partners[frame->at + 1];
    const struct sql_lineage_catalog *catalog = lineage->catalog;
    struct sql_name name = {SLICE_NONE, SLICE_NONE};
    if (close >= frame->at + 3) {
        name.name = sql_token_lower(&lineage->scan, close - 1);
        if (close >= frame->at + 5 && lineage_is_name(lineage, close - 3)) {
            name.schema = lineage_name(lineage, close - 3);
        }
    }
    if (name.name.len == 0 || !catalog->is_own_operator(catalog->context, &name)) {
        frame->may_multiply = true;
        frame->is_open = false;
    }
    frame->at = close + 1;
    frame->is_behind = false;
}

/* Where an operand comes -------------------------------------------------------------------------
 */

/* FOR UPDATE OF … and the like, up to what comes behind it. */
static bool word_skip_locks(struct lineage *lineage, struct lineage_frame *frame)
{
    while (frame->at < frame->end) {
        enum sql_word word = lineage_word_at(lineage, frame->at);
        if (word == SQL_WORD_LIMIT || word == SQL_WORD_OFFSET || word == SQL_WORD_FETCH) {
            break;
        }
        frame->at = lineage_next(lineage, frame->at);
    }
    frame->is_behind = true;
    return true;
}

static bool word_has(const struct lineage *lineage, size_t open, enum sql_word word)
{
    size_t close = lineage->partners[open];
    return lineage_find(lineage, open + 1, close, word) < close;
}

/* A word before a parenthesis that is no function, or may be none. */
static bool word_call(struct lineage *lineage, struct lineage_frame *frame)
{
    size_t open = frame->at + 1;
    enum sql_word word = lineage_word_at(lineage, frame->at);
    switch ((int)word) {
    case SQL_WORD_NULLIF:
        word_operators(lineage, frame);
        return word_take(frame, 1, false);
    case SQL_WORD_EXTRACT: { /* (field FROM …) */
        bool is_field = lineage_word_at(lineage, open + 2) == SQL_WORD_FROM;
        return is_field ? word_take(frame, 4, false) : word_refuse(frame, 1, false);
    }
    case SQL_WORD_SUBSTRING:
    case SQL_WORD_OVERLAY:
        return word_has(lineage, open, SQL_WORD_FROM) || word_has(lineage, open, SQL_WORD_FOR) ||
                       word_has(lineage, open, SQL_WORD_SIMILAR)
                   ? word_take(frame, 1, false)
                   : false;
    case SQL_WORD_COALESCE:
    case SQL_WORD_EXISTS:
    case SQL_WORD_GREATEST:
    case SQL_WORD_GROUPING:
    case SQL_WORD_LEAST:
    case SQL_WORD_NORMALIZE:
    case SQL_WORD_POSITION:
    case SQL_WORD_ROW:
    case SQL_WORD_TREAT:
    case SQL_WORD_TRIM:
    case SQL_WORD_XMLATTRIBUTES:
    case SQL_WORD_XMLCONCAT:
    case SQL_WORD_XMLELEMENT:
    case SQL_WORD_XMLEXISTS:
    case SQL_WORD_XMLFOREST:
    case SQL_WORD_XMLPARSE:
    case SQL_WORD_XMLPI:
    case SQL_WORD_XMLROOT:
    case SQL_WORD_XMLSERIALIZE:
        return word_take(frame, 1, false);
    case SQL_WORD_ROLLUP:
    case SQL_WORD_CUBE:
        return frame->is_grouping && (word_is_outermost(lineage, frame) ||
                                      word_head(lineage, frame->at) == SQL_WORD_SETS)
                   ? word_take(frame, 1, false)
                   : false;
    case SQL_WORD_OPERATOR:
        lineage_take_operator(lineage, frame);
        return true;
    default:
        break;
    }
    if (!sql_is_json_call(word)) {
        return false;
    }
    const struct sql_lineage_catalog *catalog = lineage->catalog;
    struct sql_name name = {SLICE_NONE, lineage_name(lineage, frame->at)};
    return catalog->is_own_function(catalog->context, &name, UINT32_MAX)
               ? word_take(frame, 1, false)
               : word_refuse(frame, 1, false);
}

/* What stands in the parentheses of a window. */
static bool word_in_window(struct lineage *lineage, struct lineage_frame *frame)
{
    size_t at = frame->at;
    enum sql_word next = lineage_word_at(lineage, at + 1);
    bool is_first = lineage_kind_at(lineage, at - 1) == SQL_TOKEN_OPEN;
    switch ((int)lineage_word_at(lineage, at)) {
    case SQL_WORD_PARTITION:
        if (next == SQL_WORD_BY) {
            return word_take(frame, 2, false);
        }
        break;
    case SQL_WORD_ROWS:
    case SQL_WORD_RANGE:
    case SQL_WORD_GROUPS:
        if (is_first) {
            return word_take(frame, 1, false);
        }
        break;
    case SQL_WORD_BETWEEN:
        return word_take(frame, 1, false);
    case SQL_WORD_UNBOUNDED:
        if (next == SQL_WORD_PRECEDING || next == SQL_WORD_FOLLOWING) {
            return word_take(frame, 2, true);
        }
        break;
    case SQL_WORD_CURRENT:
        if (next == SQL_WORD_ROW) {
            return word_take(frame, 2, true);
        }
        break;
    default:
        break;
    }
    if (is_first && lineage_is_name(lineage, at)) { /* the name of another window */
        return frame->scope->are_windows_open ? word_take(frame, 1, true)
                                              : word_refuse(frame, 1, true);
    }
    return false;
}

/* Words of clauses with an expression behind them. */
static bool word_in_clauses(struct lineage *lineage, struct lineage_frame *frame)
{
    size_t at = frame->at;
    enum sql_word next = lineage_word_at(lineage, at + 1);
    enum sql_word before = at > 0 ? lineage_word_at(lineage, at - 1) : SQL_NO_WORD;
    switch ((int)lineage_word_at(lineage, at)) {
    case SQL_WORD_GROUPING:
        return next == SQL_WORD_SETS && word_take(frame, 2, false);
    case SQL_WORD_FIRST:
    case SQL_WORD_NEXT:
        return before == SQL_WORD_FETCH && word_take(frame, 1, false);
    case SQL_WORD_ROW:
    case SQL_WORD_ROWS:
        return (before == SQL_WORD_FIRST || before == SQL_WORD_NEXT) && word_take(frame, 1, true);
    case SQL_WORD_FOR:
        return word_skip_locks(lineage, frame);
    default:
        break;
    }
    /* WINDOW name AS ( */
    return lineage_is_name(lineage, at) && next == SQL_WORD_AS &&
           lineage_kind_at(lineage, at + 2) == SQL_TOKEN_OPEN && word_take(frame, 2, false);
}

/* The first word in the parentheses of XML functions, and the last of NORMALIZE. */
static bool word_in_call(struct lineage *lineage, struct lineage_frame *frame)
{
    size_t at = frame->at;
    enum sql_word word = lineage_word_at(lineage, at);
    uint8_t before = at > 0 ? lineage_kind_at(lineage, at - 1) : SQL_TOKEN_END;
    switch ((int)word_head(lineage, at)) {
    case SQL_WORD_XMLELEMENT:
    case SQL_WORD_XMLPI:
        return word == SQL_WORD_NAME && before == SQL_TOKEN_OPEN && word_take(frame, 2, true);
    case SQL_WORD_XMLPARSE:
    case SQL_WORD_XMLSERIALIZE:
        return (word == SQL_WORD_DOCUMENT || word == SQL_WORD_CONTENT) &&
               before == SQL_TOKEN_OPEN && word_take(frame, 1, false);
    case SQL_WORD_NORMALIZE:
        return before == SQL_TOKEN_COMMA && word_take(frame, 1, true);
    default:
        return false;
    }
}

bool lineage_word_grammar(struct lineage *lineage, struct lineage_frame *frame)
{
    size_t at = frame->at;
    size_t literal = lineage_literal_end(lineage, at, frame->end);
    if (literal > at) {
        frame->at = literal;
        frame->is_behind = true;
        return true;
    }
    if (word_in_call(lineage, frame) ||
        (word_is_window(lineage, frame) && word_in_window(lineage, frame)) ||
        (word_is_outermost(lineage, frame) && word_in_clauses(lineage, frame))) {
        return true;
    }
    enum sql_word before = at > 0 ? lineage_word_at(lineage, at - 1) : SQL_NO_WORD;
    switch ((int)lineage_word_at(lineage, at)) {
    case SQL_NO_WORD:
        return false;
    case SQL_WORD_CASE:
        if (lineage_word_at(lineage, at + 1) != SQL_WORD_WHEN) {
            word_operators(lineage, frame);
        }
        return word_take(frame, 1, false);
    case SQL_WORD_BY:
        return (before == SQL_WORD_ORDER || before == SQL_WORD_GROUP) && word_take(frame, 1, false);
    case SQL_WORD_COLLATION:
        return lineage_word_at(lineage, at + 1) == SQL_WORD_FOR && word_take(frame, 2, false);
    case SQL_WORD_CURRENT_SCHEMA:
        return lineage_kind_at(lineage, at + 1) != SQL_TOKEN_OPEN && word_take(frame, 1, true);
    case SQL_WORD_SELECT:
        return word_refuse(frame, 1, false);
    default:
        return lineage_kind_at(lineage, at + 1) == SQL_TOKEN_OPEN && word_call(lineage, frame);
    }
}

/* Behind an operand
 * --------------------------------------------------------------------------------
 */

static bool word_is(struct lineage *lineage, struct lineage_frame *frame)
{
    (void)word_take(frame, 1, true);
    frame->at += lineage_word_at(lineage, frame->at) == SQL_WORD_NOT ? 1 : 0;
    size_t at = frame->at;
    switch ((int)lineage_word_at(lineage, at)) {
    case SQL_WORD_NULL:
    case SQL_WORD_TRUE:
    case SQL_WORD_FALSE:
    case SQL_WORD_DOCUMENT:
        return word_take(frame, 1, true);
    case SQL_WORD_DISTINCT:
        word_operators(lineage, frame);
        return word_take(frame, 2, false);
    case SQL_WORD_JSON: {
        enum sql_word next = lineage_word_at(lineage, at + 1);
        bool is_kind = next == SQL_WORD_VALUE || next == SQL_WORD_ARRAY ||
                       next == SQL_WORD_OBJECT || lineage_is(lineage, at + 1, SLICE("scalar"));
        (void)word_take(frame, is_kind ? 2 : 1, true);
        next = lineage_word_at(lineage, frame->at);
        if ((next == SQL_WORD_WITH || next == SQL_WORD_WITHOUT) && frame->at < frame->end) {
            bool is_keys = lineage_is(lineage, frame->at + 2, SLICE("keys"));
            (void)word_take(frame, is_keys ? 3 : 2, true);
        }
        return true;
    }
    default:
        break;
    }
    if (lineage_is(lineage, at, SLICE("unknown")) || lineage_is(lineage, at, SLICE("normalized"))) {
        return word_take(frame, 1, true);
    }
    return lineage_is(lineage, at + 1, SLICE("normalized")) ? word_take(frame, 2, true)
                                                            : word_refuse(frame, 1, true);
}

static bool word_as(struct lineage *lineage, struct lineage_frame *frame)
{
    enum sql_word head = word_head(lineage, frame->at);
    size_t next = frame->at + 1;
    switch ((int)head) {
    case SQL_WORD_CAST:
    case SQL_WORD_TREAT:
    case SQL_WORD_XMLSERIALIZE:
        frame->at = next;
        if (!lineage_take_type(lineage, &frame->at, frame->end)) {
            frame->is_open = false;
        }
        return true;
    case SQL_WORD_XMLFOREST:
    case SQL_WORD_XMLATTRIBUTES:
        return word_take(frame, 2, true);
    default:
        break;
    }
    if (sql_is_json_call(head)) {
        return word_take(frame, 2, true);
    }
    if (lineage_kind_at(lineage, next) == SQL_TOKEN_OPEN) { /* ROWS FROM (f() AS (…)) */
        frame->at = lineage_next(lineage, next);
        return true;
    }
    return word_refuse(frame, 2, true);
}

/* JSON_VALUE (x, path PASSING y AS z RETURNING type DEFAULT v ON EMPTY …) */
static bool word_of_json(struct lineage *lineage, struct lineage_frame *frame)
{
    switch ((int)lineage_word_at(lineage, frame->at)) {
    case SQL_WORD_VALUE:
    case SQL_WORD_PASSING:
    case SQL_WORD_DEFAULT:
        return word_take(frame, 1, false);
    case SQL_WORD_RETURNING:
        frame->at++;
        if (!lineage_take_type(lineage, &frame->at, frame->end)) {
            frame->is_open = false;
        }
        return true;
    case SQL_WORD_ON: /* NULL ON EMPTY */
        return word_take(frame, 2, true);
    case SQL_WORD_NULL:
    case SQL_WORD_TRUE:
    case SQL_WORD_FALSE:
    case SQL_WORD_WITH:
    case SQL_WORD_WITHOUT:
    case SQL_WORD_ARRAY:
    case SQL_WORD_UNIQUE:
        return word_take(frame, 1, true);
    default:
        return false;
    }
}

/* Grammar of what can be a name elsewhere. */
static bool word_infix(struct lineage *lineage, struct lineage_frame *frame)
{
    size_t at = frame->at;
    enum sql_word next = lineage_word_at(lineage, at + 1);
    switch ((int)lineage_word_at(lineage, at)) {
    case SQL_WORD_LIKE:
    case SQL_WORD_ILIKE:
    case SQL_WORD_BETWEEN:
        word_operators(lineage, frame);
        return word_take(frame, 1, false);
    case SQL_WORD_SIMILAR:
        word_operators(lineage, frame);
        return word_take(frame, next == SQL_WORD_TO ? 2 : 1, false);
    case SQL_WORD_ESCAPE:
    case SQL_WORD_OVERLAPS:
        return word_take(frame, 1, false);
    case SQL_WORD_ISNULL:
    case SQL_WORD_NOTNULL:
        return word_take(frame, 1, true);
    case SQL_WORD_IS:
        return word_is(lineage, frame);
    case SQL_WORD_AT:
        if (next == SQL_WORD_TIME && lineage_word_at(lineage, at + 2) == SQL_WORD_ZONE) {
            return word_take(frame, 3, false);
        }
        return next == SQL_WORD_LOCAL && word_take(frame, 2, true);
    case SQL_WORD_OPERATOR:
        if (lineage_kind_at(lineage, at + 1) != SQL_TOKEN_OPEN) {
            return false;
        }
        lineage_take_operator(lineage, frame);
        return true;
    case SQL_WORD_OVER:
        if (lineage_kind_at(lineage, at + 1) == SQL_TOKEN_OPEN) {
            return word_take(frame, 1, false);
        }
        return frame->scope->are_windows_open ? word_take(frame, 2, true)
                                              : word_refuse(frame, 2, true);
    case SQL_WORD_FILTER:
        return word_take(frame, 1, false);
    case SQL_WORD_WITHIN:
        return next == SQL_WORD_GROUP && word_take(frame, 2, false);
    case SQL_WORD_NULLS:
        return (next == SQL_WORD_FIRST || next == SQL_WORD_LAST) && word_take(frame, 2, true);
    case SQL_WORD_PASSING:
        return word_take(frame, 1, false);
    default:
        return false;
    }
}

static bool word_behind_in_window(struct lineage *lineage, struct lineage_frame *frame)
{
    enum sql_word next = lineage_word_at(lineage, frame->at + 1);
    switch ((int)lineage_word_at(lineage, frame->at)) {
    case SQL_WORD_ROWS:
    case SQL_WORD_RANGE:
    case SQL_WORD_GROUPS:
        return word_take(frame, 1, false);
    case SQL_WORD_PARTITION:
        return word_take(frame, 2, false);
    case SQL_WORD_PRECEDING:
    case SQL_WORD_FOLLOWING:
        return word_take(frame, 1, true);
    case SQL_WORD_EXCLUDE: /* CURRENT ROW, NO OTHERS, GROUP, TIES */
        return word_take(frame, next == SQL_WORD_CURRENT || next == SQL_WORD_NO ? 3 : 2, true);
    default:
        return false;
    }
}

static bool word_behind_in_clauses(struct lineage *lineage, struct lineage_frame *frame)
{
    switch ((int)lineage_word_at(lineage, frame->at)) {
    case SQL_WORD_ROW:
    case SQL_WORD_ROWS:
    case SQL_WORD_ONLY:
        return word_take(frame, 1, true);
    case SQL_WORD_WITH: /* TIES */
        return word_take(frame, 2, true);
    case SQL_WORD_FOR:
        return word_skip_locks(lineage, frame);
    default:
        return false;
    }
}

/* Words that are reserved. */
static bool word_reserved(struct lineage *lineage, struct lineage_frame *frame)
{
    switch ((int)lineage_word_at(lineage, frame->at)) {
    case SQL_WORD_AS:
        return word_as(lineage, frame);
    case SQL_WORD_NOT: /* IN, LIKE, BETWEEN */
        return word_take(frame, 1, true);
    case SQL_WORD_IN:
        word_operators(lineage, frame);
        return word_take(frame, 1, false);
    case SQL_WORD_COLLATE:
        frame->at = lineage_name_end(lineage, frame->at + 1, frame->end);
        return true;
    case SQL_WORD_WITH:
    case SQL_WORD_RETURNING:
    case SQL_WORD_SELECT:
        return word_refuse(frame, 1, false);
    default:
        return word_take(frame, 1, lineage->scan.tokens[frame->at].is_end);
    }
}

void lineage_word_behind(struct lineage *lineage, struct lineage_frame *frame)
{
    bool is_json = sql_is_json_call(word_head(lineage, frame->at));
    if ((is_json && word_of_json(lineage, frame)) ||
        (word_is_window(lineage, frame) && word_behind_in_window(lineage, frame)) ||
        (word_is_outermost(lineage, frame) && word_behind_in_clauses(lineage, frame)) ||
        word_infix(lineage, frame)) {
        return;
    }
    if (!lineage_is_name(lineage, frame->at)) {
        (void)word_reserved(lineage, frame);
    } else if (is_json) { /* KEEP QUOTES, FORMAT JSON and the like */
        (void)word_take(frame, 1, true);
    } else {
        (void)word_refuse(frame, 1, true);
    }
}
