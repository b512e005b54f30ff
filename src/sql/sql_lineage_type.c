/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "sql/sql_lineage_internal.h"

/* Those with words of their own, which nothing else can be called by. */
static bool type_is_word(enum sql_word word)
{
    switch ((int)word) {
    case SQL_WORD_BIGINT:
    case SQL_WORD_BIT:
    case SQL_WORD_BOOLEAN:
    case SQL_WORD_CHAR:
    case SQL_WORD_CHARACTER:
    case SQL_WORD_DEC:
    case SQL_WORD_DECIMAL:
    case SQL_WORD_FLOAT:
    case SQL_WORD_INT:
    case SQL_WORD_INTEGER:
    case SQL_WORD_INTERVAL:
    case SQL_WORD_NATIONAL:
    case SQL_WORD_NCHAR:
    case SQL_WORD_NUMERIC:
    case SQL_WORD_REAL:
    case SQL_WORD_SMALLINT:
    case SQL_WORD_TIME:
    case SQL_WORD_TIMESTAMP:
    case SQL_WORD_VARCHAR:
        return true;
    default:
        return false;
    }
}

/* YEAR, DAY TO SECOND (3) and the like, behind INTERVAL. */
static size_t type_interval_end(const struct lineage *lineage, size_t at, size_t end)
{
    bool is_field = true;
    while (at < end && is_field) {
        switch ((int)lineage_word_at(lineage, at)) {
        case SQL_WORD_YEAR:
        case SQL_WORD_MONTH:
        case SQL_WORD_DAY:
        case SQL_WORD_HOUR:
        case SQL_WORD_MINUTE:
        case SQL_WORD_SECOND:
        case SQL_WORD_TO:
            at++;
            break;
        default:
            is_field = false;
            break;
        }
    }
    return at < end && lineage_kind_at(lineage, at) == SQL_TOKEN_OPEN ? lineage_next(lineage, at)
                                                                      : at;
}

static size_t type_modifier_end(const struct lineage *lineage, size_t at, size_t end)
{
    if (at < end && lineage_kind_at(lineage, at) == SQL_TOKEN_OPEN) {
        at = lineage_next(lineage, at);
    }
    enum sql_word word = lineage_word_at(lineage, at);
    bool is_zone = (word == SQL_WORD_WITH || word == SQL_WORD_WITHOUT) &&
                   lineage_word_at(lineage, at + 1) == SQL_WORD_TIME &&
                   lineage_word_at(lineage, at + 2) == SQL_WORD_ZONE;
    return at + 3 <= end && is_zone ? at + 3 : at;
}

static size_t type_array_end(const struct lineage *lineage, size_t at, size_t end)
{
    if (at < end && lineage_word_at(lineage, at) == SQL_WORD_ARRAY) {
        at++;
    }
    while (at < end && lineage_kind_at(lineage, at) == SQL_TOKEN_OPEN_BRACKET) {
        at = lineage_next(lineage, at);
    }
    return at;
}

bool lineage_take_type(struct lineage *lineage, size_t *at, size_t end)
{
    size_t here = *at + (lineage_word_at(lineage, *at) == SQL_WORD_SETOF ? 1 : 0);
    enum sql_word word = lineage_word_at(lineage, here);
    bool is_own = true;
    if (here >= end) {
        return false;
    }
    if (word == SQL_WORD_INTERVAL) {
        here = type_interval_end(lineage, here + 1, end);
    } else if (type_is_word(word)) {
        here++;
        here += word == SQL_WORD_NATIONAL && here < end ? 1 : 0;
        here += lineage_word_at(lineage, here) == SQL_WORD_VARYING && here < end ? 1 : 0;
        here = type_modifier_end(lineage, here, end);
    } else if (lineage_is(lineage, here, SLICE("double")) && here + 1 < end &&
               lineage_word_at(lineage, here + 1) == SQL_WORD_PRECISION) {
        here += 2;
    } else {
        size_t name_end = lineage_name_end(lineage, here, end);
        if (name_end == here) {
            return false;
        }
        struct sql_name name = lineage_name_of(lineage, here, name_end);
        is_own = lineage->catalog->is_own_type(lineage->catalog->context, &name);
        here = type_modifier_end(lineage, name_end, end);
    }
    *at = type_array_end(lineage, here, end);
    return is_own;
}

size_t lineage_literal_end(struct lineage *lineage, size_t at, size_t end)
{
    enum sql_word word = lineage_word_at(lineage, at);
    bool is_double = lineage_is(lineage, at, SLICE("double")) &&
                     lineage_word_at(lineage, at + 1) == SQL_WORD_PRECISION;
    size_t here = at;
    if (!type_is_word(word) && !is_double) {
        return at;
    }
    if (word == SQL_WORD_INTERVAL) { /* its fields stand behind it */
        here = type_modifier_end(lineage, at + 1, end);
    } else {
        (void)lineage_take_type(lineage, &here, end);
    }
    uint8_t kind = here < end ? lineage_kind_at(lineage, here) : SQL_TOKEN_END;
    if (kind != SQL_TOKEN_STRING && kind != SQL_TOKEN_STRING_UNICODE) {
        return at;
    }
    return word == SQL_WORD_INTERVAL ? type_interval_end(lineage, here + 1, end) : here + 1;
}
