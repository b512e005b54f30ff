/* SPDX-License-Identifier: MIT */
#include "sql/sql_lineage.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/text.h"
#include "sql/sql_lineage_internal.h"

void lineage_deny(struct lineage *lineage)
{
    lineage->is_denied = true;
}

bool lineage_spend(struct lineage *lineage, size_t steps)
{
    lineage->steps += steps;
    if (lineage->steps > LIMIT_SQL_LINEAGE_STEPS) {
        lineage->is_denied = true;
    }
    return !lineage->is_denied;
}

struct lineage_frame *lineage_push(struct lineage *lineage, enum lineage_kind kind, size_t at,
                                   size_t end)
{
    if (at > end || end > lineage->scan.end) { /* what was looked for is not where it must be */
        lineage_deny(lineage);
        at = end = 0;
    }
    lineage->frames = sql_room(lineage->arena, lineage->frames, lineage->depth, &lineage->capacity,
                               sizeof(*lineage->frames));
    struct lineage_frame *frame = &lineage->frames[lineage->depth];
    *frame = (struct lineage_frame){.kind = (uint8_t)kind, .at = at, .end = end, .is_open = true};
    frame->rows = (struct lineage_rows){.is_complete = true, .are_rows_open = true};
    if (lineage->depth > 0) {
        frame->scope = frame[-1].scope;
        frame->withs = frame[-1].withs;
    }
    lineage->depth++;
    return frame;
}

void lineage_return(struct lineage *lineage)
{
    const struct lineage_frame *frame = lineage_top(lineage);
    lineage->returned = frame->rows;
    lineage->returned_open = frame->is_open;
    lineage->may_multiply = frame->may_multiply;
    lineage->depth--;
}

size_t lineage_next(const struct lineage *lineage, size_t index)
{
    uint8_t kind = lineage_kind_at(lineage, index);
    return kind == SQL_TOKEN_OPEN || kind == SQL_TOKEN_OPEN_BRACKET
               ? (size_t)lineage->partners[index] + 1
               : index + 1;
}

size_t lineage_find(const struct lineage *lineage, size_t at, size_t end, enum sql_word word)
{
    /* Behind AS it is a label. */
    while (at < end && (lineage_word_at(lineage, at) != word ||
                        (at > 0 && lineage_word_at(lineage, at - 1) == SQL_WORD_AS))) {
        at = lineage_next(lineage, at);
    }
    return at < end ? at : end;
}

size_t lineage_find_comma(const struct lineage *lineage, size_t at, size_t end)
{
    while (at < end && lineage_kind_at(lineage, at) != SQL_TOKEN_COMMA) {
        at = lineage_next(lineage, at);
    }
    return at < end ? at : end;
}

bool lineage_is(const struct lineage *lineage, size_t index, struct slice word)
{
    return lineage_kind_at(lineage, index) == SQL_TOKEN_WORD &&
           slice_equals(sql_token_lower(&lineage->scan, index), word);
}

/* The text and its tokens ------------------------------------------------------------------------
 */

/* What opens and closes. False: it does not match, or is too deep. */
static bool lineage_match(struct lineage *lineage)
{
    size_t count = lineage->scan.end;
    uint32_t opened[LIMIT_SQL_DEPTH];
    size_t depth = 0;
    lineage->partners = arena_alloc_array(lineage->arena, count + 1, sizeof(uint32_t));
    lineage->enclosing = arena_alloc_array(lineage->arena, count + 1, sizeof(uint32_t));
    for (size_t i = 0; i < count; i++) {
        uint8_t kind = lineage->scan.tokens[i].kind;
        bool is_close = kind == SQL_TOKEN_CLOSE || kind == SQL_TOKEN_CLOSE_BRACKET;
        if (is_close) {
            uint8_t wanted = kind == SQL_TOKEN_CLOSE ? SQL_TOKEN_OPEN : SQL_TOKEN_OPEN_BRACKET;
            if (depth == 0 || lineage->scan.tokens[opened[depth - 1]].kind != wanted) {
                return false;
            }
            depth--;
            lineage->partners[i] = opened[depth];
            lineage->partners[opened[depth]] = (uint32_t)i;
        }
        lineage->enclosing[i] = depth == 0 ? 0 : opened[depth - 1] + 1;
        if (kind == SQL_TOKEN_OPEN || kind == SQL_TOKEN_OPEN_BRACKET) {
            if (depth == LIMIT_SQL_DEPTH) {
                return false;
            }
            opened[depth++] = (uint32_t)i;
        }
    }
    return depth == 0;
}

/* Whether a query in parentheses goes on, or ends, with what stands there. */
static bool lineage_goes_on(const struct lineage *lineage, size_t index, size_t close)
{
    switch ((int)lineage_word_at(lineage, index)) {
    case SQL_WORD_UNION:
    case SQL_WORD_INTERSECT:
    case SQL_WORD_EXCEPT:
    case SQL_WORD_ORDER:
    case SQL_WORD_LIMIT:
    case SQL_WORD_OFFSET:
    case SQL_WORD_FETCH:
    case SQL_WORD_FOR:
        return true;
    default:
        return index == close;
    }
}

/* From the right, so that what stands in a parenthesis is known before it. */
static void lineage_mark_queries(struct lineage *lineage)
{
    size_t count = lineage->scan.end;
    lineage->begins_query = arena_alloc_array(lineage->arena, count + 1, sizeof(bool));
    for (size_t i = count; i-- > 0;) {
        if (lineage->scan.tokens[i].kind != SQL_TOKEN_OPEN) {
            continue;
        }
        size_t next = i + 1;
        lineage->begins_query[i] =
            lineage_kind_at(lineage, next) == SQL_TOKEN_OPEN
                ? lineage->begins_query[next] &&
                      lineage_goes_on(lineage, (size_t)lineage->partners[next] + 1,
                                      lineage->partners[i])
                : sql_begins_query(&lineage->scan, next);
    }
}

/* The tokens of the one statement in the text. */
static bool lineage_read(struct lineage *lineage, struct sql_lexer *lexer, struct slice text)
{
    if (text.len > LIMIT_SQL_TEXT_SIZE ||
        sql_lexer_text(lexer, text, arena_alloc_bare(lineage->arena, text.len + SQL_PADDING)) !=
            NULL ||
        !(lexer->is_utf8 || text_is_utf8(text))) {
        return false;
    }
    uint8_t kind = sql_lexer_read(lexer);
    size_t count = lexer->count;
    if (kind == SQL_TOKEN_SEMICOLON) {
        count--;
        kind = sql_lexer_read(lexer);
        kind = lexer->count == count + 1 ? kind : SQL_TOKEN_BAD;
    }
    struct sql_scan *scan = &lineage->scan;
    scan->arena = lineage->arena;
    scan->statement = &lineage->statement;
    scan->text = text;
    scan->lower = lexer->lower;
    scan->tokens = lexer->tokens;
    scan->token_count = count;
    scan->end = count;
    scan->is_utf8 = true;
    if (kind != SQL_TOKEN_END || count == 0 || !lineage_match(lineage)) {
        return false;
    }
    lineage_mark_queries(lineage);
    return true;
}

/* The query of the statement
 * -----------------------------------------------------------------------
 */

/* Behind AS, or FOR, outside of parentheses. */
static size_t lineage_behind(const struct lineage *lineage, size_t at, enum sql_word word)
{
    size_t found = lineage_find(lineage, at, lineage->scan.end, word);
    return found < lineage->scan.end ? found + 1 : found;
}

/* CREATE [OR REPLACE] … {VIEW | TABLE} name [(columns)] … AS query [WITH …]. */
static void lineage_begin_create(struct lineage *lineage, size_t *ret_at, size_t *ret_end,
                                 size_t *ret_columns)
{
    size_t end = lineage->scan.end;
    size_t at = 1;
    while (at < end && lineage_word_at(lineage, at) != SQL_WORD_VIEW &&
           lineage_word_at(lineage, at) != SQL_WORD_TABLE) {
        if (lineage_word_at(lineage, at) == SQL_WORD_RECURSIVE ||
            lineage_kind_at(lineage, at) != SQL_TOKEN_WORD) {
            lineage_deny(lineage);
            return;
        }
        at++;
    }
    size_t as = lineage_find(lineage, at, end, SQL_WORD_AS);
    for (size_t i = at; i < as && *ret_columns == 0; i = lineage_next(lineage, i)) {
        if (lineage_kind_at(lineage, i) == SQL_TOKEN_OPEN &&
            lineage_word_at(lineage, i - 1) != SQL_WORD_WITH) {
            *ret_columns = i;
        }
    }
    *ret_at = as < end ? as + 1 : end;
    /* WITH [NO] DATA, WITH … CHECK OPTION: behind the query */
    size_t with = end;
    for (size_t i = *ret_at + 1; i < end; i = lineage_next(lineage, i)) {
        with = lineage_word_at(lineage, i) == SQL_WORD_WITH ? i : with;
    }
    bool is_tail = with < end && (lineage_word_at(lineage, end - 1) == SQL_WORD_DATA ||
                                  lineage_is(lineage, end - 1, SLICE("option")));
    *ret_end = is_tail ? with : end;
}

/* Where the query of the statement stands. */
static void lineage_begin(struct lineage *lineage, size_t *ret_at, size_t *ret_end,
                          size_t *ret_columns)
{
    *ret_at = 0;
    *ret_end = lineage->scan.end;
    *ret_columns = 0;
    switch ((int)lineage_word_at(lineage, 0)) {
    case SQL_WORD_DECLARE:
        *ret_at = lineage_behind(lineage, 0, SQL_WORD_FOR);
        break;
    case SQL_WORD_PREPARE:
        *ret_at = lineage_behind(lineage, 0, SQL_WORD_AS);
        break;
    case SQL_WORD_COPY:
        if (lineage_kind_at(lineage, 1) != SQL_TOKEN_OPEN) {
            lineage_deny(lineage);
            return;
        }
        *ret_at = 2;
        *ret_end = lineage->partners[1];
        break;
    case SQL_WORD_CREATE:
        lineage_begin_create(lineage, ret_at, ret_end, ret_columns);
        break;
    default:
        break;
    }
    if (*ret_at >= *ret_end) {
        lineage_deny(lineage);
    }
}

static void lineage_step(struct lineage *lineage)
{
    switch ((enum lineage_kind)lineage_top(lineage)->kind) {
    case LINEAGE_QUERY:
        lineage_query_step(lineage);
        break;
    case LINEAGE_SELECT:
        lineage_select_step(lineage);
        break;
    case LINEAGE_FROM:
        lineage_from_step(lineage);
        break;
    case LINEAGE_VALUES:
        lineage_values_step(lineage);
        break;
    case LINEAGE_WRITE:
        lineage_write_step(lineage);
        break;
    case LINEAGE_EXPRESSION:
        lineage_expression_step(lineage);
        break;
    }
}

void lineage_note_call(struct lineage *lineage, struct slice name)
{
    lineage->has_series = lineage->has_series || slice_equals(name, SLICE("generate_series")) ||
                          slice_equals(name, SLICE("generate_subscripts"));
}

/* Numbers from 1 to a value are as many as it says, and of a million one stays that equals it:
 * then nothing that is computed is open. */
static void lineage_close_counted(struct lineage *lineage)
{
    struct lineage_rows *rows = &lineage->returned;
    if (!lineage->is_counted && !(lineage->has_series && !rows->are_rows_open)) {
        return;
    }
    for (size_t i = 0; i < rows->count; i++) {
        rows->columns[i].is_open = false;
    }
    rows->is_rest_open = false;
}

struct sql_lineage sql_lineage_of(struct arena *arena, const struct sql_settings *settings,
                                  struct slice text, const struct sql_lineage_catalog *catalog)
{
    struct sql_lexer lexer = {.arena = arena, .is_backslash_quoted = settings->is_backslash_quoted};
    struct lineage lineage = {.catalog = catalog, .arena = arena};
    size_t at = 0;
    size_t end = 0;
    size_t columns = 0;
    if (!lineage_read(&lineage, &lexer, text)) {
        return (struct sql_lineage){0};
    }
    lineage_begin(&lineage, &at, &end, &columns);
    if (!lineage.is_denied) {
        (void)lineage_push(&lineage, LINEAGE_QUERY, at, end);
        lineage_top(&lineage)->scope = lineage_scope_new(&lineage, NULL);
    }
    while (lineage.depth > 0 && lineage_spend(&lineage, 1)) {
        lineage_step(&lineage);
    }
    if (lineage.is_denied || lineage.statement.is_unknown) {
        return (struct sql_lineage){0};
    }
    if (columns > 0) {
        lineage_rename(&lineage, &lineage.returned, columns);
    }
    lineage_close_counted(&lineage);
    const struct lineage_rows *rows = &lineage.returned;
    return (struct sql_lineage){rows->is_complete, rows->columns, rows->count,
                                lineage_is_all_open(rows), rows->are_rows_open};
}
