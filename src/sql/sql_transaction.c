/* SPDX-License-Identifier: MIT */
/* What begins and ends transactions, and settings: whether they let a session write. */
#include "sql/sql_internal.h"

#include "base/memory.h"

/* Key words that can be no name, as AND, too. */
static bool sql_is_written(struct sql_scan *scan, size_t index, struct slice word)
{
    bool is_word = sql_kind_at(scan, index) == SQL_TOKEN_WORD || sql_token_is_name(scan, index);
    return index < scan->end && is_word && slice_equals_nocase(sql_token_name(scan, index), word);
}

static bool sql_has_words(struct sql_scan *scan, struct slice first, struct slice second)
{
    bool is_there = false;
    for (size_t i = scan->at; i < scan->end && !is_there; i++) {
        is_there = sql_is_written(scan, i, first) &&
                   (second.len == 0 || sql_is_written(scan, i + 1, second));
    }
    return is_there;
}

/* Names of settings mean the same in upper and lower case, within quotes, too. */
static bool sql_is_of_read_only(struct sql_scan *scan, size_t index)
{
    return sql_is_written(scan, index, SLICE("transaction_read_only")) ||
           sql_is_written(scan, index, SLICE("default_transaction_read_only"));
}

/* TO on, = 'true', and nothing behind it: what else may stand there is taken for off. */
static bool sql_is_turned_on(struct sql_scan *scan, size_t index)
{
    static const struct slice words[] = {SLICE_INIT("on"),   SLICE_INIT("true"),
                                         SLICE_INIT("'on'"), SLICE_INIT("'true'"),
                                         SLICE_INIT("yes"),  SLICE_INIT("1")};
    if (index + 2 != scan->end) {
        return false;
    }
    const struct sql_token *token = &scan->tokens[index + 1];
    struct slice written = slice_sub(scan->text, token->offset, token->len);
    bool is_on = false;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        is_on = is_on || slice_equals_nocase(written, words[i]);
    }
    return is_on;
}

static bool sql_sets_writing(struct sql_scan *scan)
{
    size_t at = scan->at;
    if (sql_has_words(scan, SLICE("read"), SLICE("write"))) {
        return true;
    }
    if (sql_is_written(scan, at, SLICE("session")) || sql_is_written(scan, at, SLICE("local"))) {
        at++;
    }
    return sql_is_of_read_only(scan, at) && !sql_is_turned_on(scan, at + 1);
}

/* Behind COMMIT and ROLLBACK: not to a savepoint, and not into another transaction like it. */
static bool sql_ends_transaction(struct sql_scan *scan)
{
    bool is_chained = sql_has_words(scan, SLICE("and"), SLICE("chain"));
    return !is_chained && !sql_has_words(scan, SLICE("to"), SLICE("")) &&
           !sql_is_written(scan, scan->at, SLICE("prepared"));
}

void sql_transaction_read(struct sql_scan *scan, enum sql_operation verb)
{
    struct sql_statement *statement = scan->statement;
    switch ((int)verb) {
    case SQL_SET:
    case SQL_BEGIN:
        statement->lets_write = sql_sets_writing(scan);
        break;
    case SQL_RESET:
        statement->lets_write = sql_is_of_read_only(scan, scan->at);
        break;
    case SQL_COMMIT:
    case SQL_ROLLBACK:
        statement->ends_transaction = sql_ends_transaction(scan);
        if (sql_is_written(scan, scan->at, SLICE("prepared"))) { /* somebody's, of any time */
            sql_operate(scan, SQL_OTHER);
        }
        break;
    default:
        break;
    }
}

bool sql_locks_as_reader(struct sql_scan *scan)
{
    return sql_has_words(scan, SLICE("access"), SLICE("share"));
}
