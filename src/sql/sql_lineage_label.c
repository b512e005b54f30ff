/* SPDX-License-Identifier: MIT */
/* What servers call a column of a list: its label, or by the form of the expression. Where that is
 * not plain the label is not known; one that were wrong would let a name mean another column. */
#include "sql/sql_lineage_internal.h"

/* Words that need AS before them as labels, but for those that are reserved. */
static bool label_needs_as(enum sql_word word)
{
    switch ((int)word) {
    case SQL_WORD_CHAR:
    case SQL_WORD_CHARACTER:
    case SQL_WORD_DAY:
    case SQL_WORD_FILTER:
    case SQL_WORD_HOUR:
    case SQL_WORD_ISNULL:
    case SQL_WORD_MINUTE:
    case SQL_WORD_MONTH:
    case SQL_WORD_NOTNULL:
    case SQL_WORD_OVER:
    case SQL_WORD_OVERLAPS:
    case SQL_WORD_PRECISION:
    case SQL_WORD_SECOND:
    case SQL_WORD_VARYING:
    case SQL_WORD_WITHIN:
    case SQL_WORD_WITHOUT:
    case SQL_WORD_YEAR:
    case SQL_WORD_ZONE: /* of a type, if it ends an expression */
        return true;
    default:
        return false;
    }
}

/* Whether OPERATOR (…) stands before it. */
static bool label_is_operand(const struct lineage *lineage, size_t at, size_t last)
{
    size_t open =
        lineage_kind_at(lineage, last - 1) == SQL_TOKEN_CLOSE ? lineage->partners[last - 1] : at;
    return open > at && lineage_word_at(lineage, open - 1) == SQL_WORD_OPERATOR;
}

/* Whether the last name is a label without AS. */
static bool label_is_bare(const struct lineage *lineage, size_t at, size_t end)
{
    size_t last = end - 1;
    if (end < at + 2 || !lineage_is_name(lineage, last) ||
        label_needs_as(lineage_word_at(lineage, last))) {
        return false;
    }
    enum sql_word before = lineage_word_at(lineage, last - 1);
    if (label_is_operand(lineage, at, last)) {
        return false;
    }
    if (before == SQL_WORD_ZONE && last > at + 3) { /* of a type, but for AT TIME ZONE */
        enum sql_word word = lineage_word_at(lineage, last - 3);
        return word == SQL_WORD_WITH || word == SQL_WORD_WITHOUT;
    }
    if (before == SQL_WORD_END && lineage_kind_at(lineage, last - 2) != SQL_TOKEN_DOT) {
        return true; /* of a CASE, whatever stands in it */
    }
    for (size_t i = at; i < last; i = lineage_next(lineage, i)) {
        enum sql_word word = lineage_word_at(lineage, i);
        if (word == SQL_WORD_IS || word == SQL_WORD_AT) {
            return lineage_kind_at(lineage, last - 1) == SQL_TOKEN_STRING ||
                   lineage_kind_at(lineage, last - 1) == SQL_TOKEN_CLOSE;
        }
    }
    return before != SQL_WORD_INTERVAL && before != SQL_WORD_OVER &&
           sql_is_behind_operand(&lineage->scan, last);
}

static bool label_is_operator(const struct lineage *lineage, size_t at)
{
    switch ((int)lineage_word_at(lineage, at)) {
    case SQL_WORD_AND:
    case SQL_WORD_OR:
    case SQL_WORD_IN:
    case SQL_WORD_LIKE:
    case SQL_WORD_ILIKE:
    case SQL_WORD_BETWEEN:
    case SQL_WORD_ISNULL:
    case SQL_WORD_NOTNULL:
        return lineage_kind_at(lineage, at - 1) != SQL_TOKEN_CAST;
    default:
        return false;
    }
}

/* The label of what has the operators of binary expressions, or of a literal. */
static bool label_is_unnamed(const struct lineage *lineage, size_t at, size_t end)
{
    bool is_case = false;
    bool is_operation = false;
    for (size_t i = at; i < end; i = lineage_next(lineage, i)) {
        uint8_t kind = lineage_kind_at(lineage, i);
        enum sql_word word = lineage_word_at(lineage, i);
        if (word == SQL_WORD_IS || word == SQL_WORD_OVERLAPS) { /* some of it is a function */
            return false;
        }
        is_case = is_case || word == SQL_WORD_CASE;
        is_operation = is_operation || kind == SQL_TOKEN_OPERATOR || kind == SQL_TOKEN_EQUALS ||
                       (i > at && (kind == SQL_TOKEN_STAR || label_is_operator(lineage, i)));
        if (is_case) {
            return false;
        }
    }
    if (is_operation) {
        return true;
    }
    uint8_t kind = lineage_kind_at(lineage, at);
    return end == at + 1 &&
           (kind == SQL_TOKEN_STRING || kind == SQL_TOKEN_NUMBER || kind == SQL_TOKEN_PARAMETER);
}

/* What follows a call and belongs to it. */
static size_t label_call_end(const struct lineage *lineage, size_t at, size_t end)
{
    for (size_t i = 0; i < 3 && at < end; i++) {
        enum sql_word word = lineage_word_at(lineage, at);
        size_t next = at + 1;
        if (word == SQL_WORD_WITHIN && lineage_word_at(lineage, next) == SQL_WORD_GROUP) {
            at = lineage_next(lineage, at + 2);
        } else if (word == SQL_WORD_FILTER && lineage_kind_at(lineage, next) == SQL_TOKEN_OPEN) {
            at = lineage_next(lineage, next);
        } else if (word == SQL_WORD_OVER) {
            at = lineage_next(lineage, next);
        }
    }
    return at;
}

/* Of keywords before a parenthesis; empty: not known. */
static struct slice label_of_word(enum sql_word word)
{
    switch ((int)word) {
    case SQL_WORD_COALESCE:
        return SLICE("coalesce");
    case SQL_WORD_EXISTS:
        return SLICE("exists");
    case SQL_WORD_EXTRACT:
        return SLICE("extract");
    case SQL_WORD_GREATEST:
        return SLICE("greatest");
    case SQL_WORD_GROUPING:
        return SLICE("grouping");
    case SQL_WORD_LEAST:
        return SLICE("least");
    case SQL_WORD_NULLIF:
        return SLICE("nullif");
    case SQL_WORD_OVERLAY:
        return SLICE("overlay");
    case SQL_WORD_POSITION:
        return SLICE("position");
    case SQL_WORD_ROW:
        return SLICE("row");
    case SQL_WORD_SUBSTRING:
        return SLICE("substring");
    default:
        return SLICE_NONE;
    }
}

static bool label_is_plain_function(enum sql_word word)
{
    return word == SQL_NO_WORD || sql_word_class(word) == SQL_WORD_IS_FREE ||
           sql_word_class(word) == SQL_WORD_IS_TYPE;
}

static struct slice label_of_form(struct lineage *lineage, size_t at, size_t end)
{
    size_t name_end = lineage_name_end(lineage, at, end);
    if (name_end == end && end > at) {
        return lineage_name(lineage, end - 1);
    }
    if (label_is_unnamed(lineage, at, end)) {
        return SLICE("?column?");
    }
    if (name_end > at && lineage_kind_at(lineage, name_end) == SQL_TOKEN_OPEN &&
        label_call_end(lineage, lineage_next(lineage, name_end), end) == end) {
        enum sql_word word = lineage_word_at(lineage, at);
        return label_is_plain_function(word) || name_end > at + 1
                   ? lineage_name(lineage, name_end - 1)
                   : label_of_word(word);
    }
    if (end == at + 5 && lineage_kind_at(lineage, at) == SQL_TOKEN_OPEN &&
        lineage_kind_at(lineage, at + 3) == SQL_TOKEN_DOT && lineage_is_name(lineage, at + 4)) {
        return lineage_name(lineage, at + 4); /* (relation).name */
    }
    if (name_end > at && lineage_kind_at(lineage, name_end) == SQL_TOKEN_CAST) {
        size_t type_end = name_end + 1;
        (void)lineage_take_type(lineage, &type_end, end);
        return type_end == end ? lineage_name(lineage, name_end - 1) : SLICE_NONE;
    }
    return SLICE_NONE;
}

struct slice lineage_label(struct lineage *lineage, size_t at, size_t end, size_t *ret_end)
{
    *ret_end = end;
    if (end >= at + 3 && lineage_word_at(lineage, end - 2) == SQL_WORD_AS) {
        *ret_end = end - 2;
        return lineage_kind_at(lineage, end - 1) == SQL_TOKEN_WORD ||
                       lineage_is_name(lineage, end - 1)
                   ? lineage_name(lineage, end - 1)
                   : SLICE_NONE;
    }
    if (end > at && label_is_bare(lineage, at, end)) {
        *ret_end = end - 1;
        return lineage_name(lineage, end - 1);
    }
    return label_of_form(lineage, at, end);
}
