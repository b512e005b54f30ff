/* SPDX-License-Identifier: MIT */
#include "sql/sql_lineage_internal.h"

enum {
    QUERY_START,
    QUERY_WITH,
    QUERY_WITH_DONE,
    QUERY_TERM,
    QUERY_TERM_DONE,
    QUERY_TAIL_DONE,
};

#define ROUNDS_MAX 3 /* of a recursive one, until all of it is not open */

/* WITH -------------------------------------------------------------------------------------------
 */

static void query_add_with(struct lineage *lineage, struct lineage_frame *frame, struct slice name)
{
    struct lineage_with *with = arena_alloc(lineage->arena, sizeof(*with));
    with->name = name;
    with->is_pending = true;
    with->next = frame->withs;
    frame->withs = with;
}

/* WITH RECURSIVE: each may name all others. What stands behind a comma may be no such name, but a
 * column of SEARCH or CYCLE: nobody is harmed. */
static void query_add_withs(struct lineage *lineage, struct lineage_frame *frame)
{
    bool is_first = true;
    for (size_t at = frame->at; at < frame->end && !lineage->is_denied;
         at = lineage_next(lineage, at)) {
        bool is_behind = is_first || lineage_kind_at(lineage, at - 1) == SQL_TOKEN_COMMA;
        is_first = false;
        enum sql_word word = lineage_word_at(lineage, at);
        if (word == SQL_WORD_SELECT || word == SQL_WORD_TABLE || word == SQL_WORD_RETURNING) {
            break;
        }
        if (is_behind && lineage_is_name(lineage, at)) {
            query_add_with(lineage, frame, lineage_name(lineage, at));
        }
    }
}

static struct lineage_with *query_find_with(struct lineage *lineage, struct lineage_frame *frame,
                                            struct slice name)
{
    struct lineage_with *with = frame->withs;
    while (with != NULL && !slice_equals(with->name, name)) {
        (void)lineage_spend(lineage, 1);
        with = with->next;
    }
    return with;
}

static void query_start(struct lineage *lineage, struct lineage_frame *frame)
{
    frame->step = QUERY_TERM;
    if (lineage_word_at(lineage, frame->at) != SQL_WORD_WITH) {
        return;
    }
    frame->at++;
    frame->step = QUERY_WITH;
    frame->is_recursive = lineage_word_at(lineage, frame->at) == SQL_WORD_RECURSIVE &&
                          lineage_word_at(lineage, frame->at + 1) != SQL_WORD_AS &&
                          lineage_kind_at(lineage, frame->at + 1) != SQL_TOKEN_OPEN;
    if (frame->is_recursive) {
        frame->at++;
        query_add_withs(lineage, frame);
    }
}

/* name [(columns)] AS [[NOT] MATERIALIZED] (query) */
static void query_with(struct lineage *lineage, struct lineage_frame *frame)
{
    if (!lineage_is_name(lineage, frame->at)) {
        lineage_deny(lineage);
        return;
    }
    struct slice name = lineage_name(lineage, frame->at++);
    size_t aliases = 0;
    if (lineage_kind_at(lineage, frame->at) == SQL_TOKEN_OPEN) {
        aliases = frame->at;
        frame->at = lineage_next(lineage, frame->at);
    }
    if (lineage_word_at(lineage, frame->at) != SQL_WORD_AS) {
        lineage_deny(lineage);
        return;
    }
    frame->at++;
    frame->at += lineage_word_at(lineage, frame->at) == SQL_WORD_NOT ? 1 : 0;
    frame->at += lineage_word_at(lineage, frame->at) == SQL_WORD_MATERIALIZED ? 1 : 0;
    if (lineage_kind_at(lineage, frame->at) != SQL_TOKEN_OPEN) {
        lineage_deny(lineage);
        return;
    }
    struct lineage_with *outer = frame->withs;
    if (!frame->is_recursive) {
        query_add_with(lineage, frame, name);
    }
    struct lineage_with *with = query_find_with(lineage, frame, name);
    if (with == NULL) {
        lineage_deny(lineage);
        return;
    }
    with->aliases = aliases;
    frame->with = with;
    frame->step = QUERY_WITH_DONE;
    bool is_recursive = frame->is_recursive;
    size_t open = frame->at;
    frame->at = (size_t)lineage->partners[open] + 1;
    struct lineage_frame *body =
        lineage_push(lineage, LINEAGE_QUERY, open + 1, lineage->partners[open]);
    /* Of its own name it means another one. */
    body->withs = is_recursive ? body->withs : outer;
    body->recursive = is_recursive ? with : NULL;
}

/* SEARCH … SET column, CYCLE … SET column [TO … DEFAULT …] USING column: columns behind the others,
 * made of some of them. */
static void query_with_order(struct lineage *lineage, struct lineage_frame *frame,
                             struct lineage_rows *rows)
{
    size_t capacity = rows->count;
    bool is_open = lineage_is_all_open(rows);
    bool is_cycle = lineage_word_at(lineage, frame->at) == SQL_WORD_CYCLE;
    size_t set = lineage_find(lineage, frame->at, frame->end, SQL_WORD_SET);
    size_t last = set;
    if (is_cycle) {
        last = lineage_find(lineage, set, frame->end, SQL_WORD_USING);
    }
    if (last + 1 >= frame->end || !lineage_is_name(lineage, set + 1) ||
        !lineage_is_name(lineage, last + 1)) {
        lineage_deny(lineage);
        return;
    }
    lineage_add_column(lineage, rows, &capacity,
                       (struct sql_lineage_column){lineage_name(lineage, set + 1), is_open});
    if (is_cycle) {
        lineage_add_column(lineage, rows, &capacity,
                           (struct sql_lineage_column){lineage_name(lineage, last + 1), is_open});
    }
    frame->at = last + 2;
}

static struct lineage_rows query_with_rows(struct lineage *lineage, const struct lineage_with *with,
                                           const struct lineage_rows *rows)
{
    struct lineage_rows named = *rows;
    named.relation = NULL;
    if (with->aliases > 0) {
        lineage_rename(lineage, &named, with->aliases);
    }
    return named;
}

static void query_with_done(struct lineage *lineage, struct lineage_frame *frame)
{
    frame->with->rows = query_with_rows(lineage, frame->with, &lineage->returned);
    frame->with->is_pending = false;
    for (size_t i = 0; i < 2 && !lineage->is_denied; i++) {
        enum sql_word word = lineage_word_at(lineage, frame->at);
        if (word == SQL_WORD_SEARCH || word == SQL_WORD_CYCLE) {
            query_with_order(lineage, frame, &frame->with->rows);
        }
    }
    frame->step = QUERY_TERM;
    if (lineage_kind_at(lineage, frame->at) == SQL_TOKEN_COMMA) {
        frame->at++;
        frame->step = QUERY_WITH;
    }
}

/* What is combined
 * ----------------------------------------------------------------------------------- */

static bool query_is_combiner(enum sql_word word)
{
    return word == SQL_WORD_UNION || word == SQL_WORD_INTERSECT || word == SQL_WORD_EXCEPT;
}

static size_t query_term_end(const struct lineage *lineage, const struct lineage_frame *frame)
{
    size_t at = frame->at;
    while (at < frame->end && !query_is_combiner(lineage_word_at(lineage, at))) {
        at = lineage_next(lineage, at);
    }
    return at < frame->end ? at : frame->end;
}

/* TABLE [ONLY] name [*] */
static void query_table(struct lineage *lineage, struct lineage_frame *frame)
{
    frame->at++;
    frame->at += lineage_word_at(lineage, frame->at) == SQL_WORD_ONLY ? 1 : 0;
    size_t end = lineage_name_end(lineage, frame->at, frame->end);
    if (end == frame->at) {
        lineage_deny(lineage);
        return;
    }
    struct sql_name name = lineage_name_of(lineage, frame->at, end);
    frame->at = end + (lineage_kind_at(lineage, end) == SQL_TOKEN_STAR ? 1 : 0);
    lineage->returned = lineage_rows_by_name(lineage, frame->withs, &name);
    lineage->returned.relation = NULL;
}

static void query_term(struct lineage *lineage, struct lineage_frame *frame)
{
    size_t at = frame->at;
    size_t end = query_term_end(lineage, frame);
    frame->step = QUERY_TERM_DONE;
    if (at < frame->end && lineage_kind_at(lineage, at) == SQL_TOKEN_OPEN) {
        frame->at = lineage_next(lineage, at);
        (void)lineage_push(lineage, LINEAGE_QUERY, at + 1, lineage->partners[at]);
        return;
    }
    switch ((int)lineage_word_at(lineage, at)) {
    case SQL_WORD_SELECT:
        frame->at = end;
        (void)lineage_push(lineage, LINEAGE_SELECT, at + 1, end);
        break;
    case SQL_WORD_VALUES:
        frame->at++;
        while (frame->at < end && (lineage_kind_at(lineage, frame->at) == SQL_TOKEN_OPEN ||
                                   lineage_kind_at(lineage, frame->at) == SQL_TOKEN_COMMA)) {
            frame->at = lineage_next(lineage, frame->at);
        }
        (void)lineage_push(lineage, LINEAGE_VALUES, at + 1, frame->at);
        break;
    case SQL_WORD_TABLE:
        query_table(lineage, frame);
        break;
    case SQL_WORD_INSERT:
    case SQL_WORD_UPDATE:
    case SQL_WORD_DELETE:
    case SQL_WORD_MERGE:
        end = frame->end;
        frame->at = end;
        (void)lineage_push(lineage, LINEAGE_WRITE, at, end);
        break;
    default:
        lineage_deny(lineage);
        break;
    }
}

/* Position by position; which rows are left, or how many, is by all of them. */
static void query_combine(struct lineage *lineage, struct lineage_rows *rows,
                          const struct lineage_rows *other)
{
    bool is_all_open = lineage_is_all_open(rows) && lineage_is_all_open(other);
    rows->are_rows_open = rows->are_rows_open && other->are_rows_open && is_all_open;
    if (!rows->is_complete || !other->is_complete) {
        rows->is_complete = false;
        rows->is_rest_open = is_all_open;
        rows->count = 0;
        return;
    }
    if (rows->count != other->count) {
        lineage_deny(lineage);
        return;
    }
    struct lineage_rows combined = *rows;
    size_t capacity = 0;
    combined.columns = NULL;
    combined.count = 0;
    for (size_t i = 0; i < rows->count && !lineage->is_denied; i++) {
        struct sql_lineage_column column = rows->columns[i];
        column.is_open = column.is_open && other->columns[i].is_open;
        lineage_add_column(lineage, &combined, &capacity, column);
    }
    *rows = combined;
}

/* Whether it is as open as was believed while it was read. */
static bool query_is_settled(const struct lineage_rows *rows, const struct lineage_rows *believed)
{
    if (rows->count != believed->count || rows->is_complete != believed->is_complete ||
        (believed->are_rows_open && !rows->are_rows_open) ||
        (believed->is_rest_open && !rows->is_rest_open)) {
        return false;
    }
    for (size_t i = 0; i < rows->count; i++) {
        if (believed->columns[i].is_open && !rows->columns[i].is_open) {
            return false;
        }
    }
    return true;
}

static void query_close(struct lineage_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        rows->columns[i].is_open = false;
    }
    rows->is_rest_open = false;
    rows->are_rows_open = false;
}

/* The first term of a recursive one is what its own name means in the others. */
static void query_believe(struct lineage *lineage, struct lineage_frame *frame)
{
    struct lineage_with *with = frame->recursive;
    if (with != NULL && with->is_pending) {
        with->rows = query_with_rows(lineage, with, &frame->rows);
        with->is_pending = false;
    }
}

/* All was read. A recursive one is read again with less that is open, until that is true. */
static void query_finish(struct lineage *lineage, struct lineage_frame *frame)
{
    struct lineage_with *with = frame->recursive;
    if (with != NULL && frame->is_combined && !lineage->is_denied) {
        struct lineage_rows rows = query_with_rows(lineage, with, &frame->rows);
        if (!lineage->is_denied && !query_is_settled(&rows, &with->rows)) {
            frame->rounds++;
            if (frame->rounds < ROUNDS_MAX) {
                with->rows = rows;
                frame->step = QUERY_START;
                frame->at = frame->begin;
                frame->withs = frame->outer;
                frame->is_combined = false;
                return;
            }
            query_close(&frame->rows);
        }
    }
    lineage_return(lineage);
}

static void query_term_done(struct lineage *lineage, struct lineage_frame *frame)
{
    if (frame->is_combined) {
        query_combine(lineage, &frame->rows, &lineage->returned);
    } else {
        frame->rows = lineage->returned;
    }
    if (frame->at == frame->end) {
        query_finish(lineage, frame);
        return;
    }
    if (query_is_combiner(lineage_word_at(lineage, frame->at))) {
        frame->at++;
        enum sql_word word = lineage_word_at(lineage, frame->at);
        frame->at += word == SQL_WORD_ALL || word == SQL_WORD_DISTINCT ? 1 : 0;
        frame->is_combined = true;
        frame->step = QUERY_TERM;
        query_believe(lineage, frame);
        return;
    }
    frame->step = QUERY_TAIL_DONE; /* ORDER BY … behind a parenthesis */
    size_t at = frame->at;
    struct lineage_scope *outer = frame->scope;
    struct lineage_rows *outputs = arena_alloc(lineage->arena, sizeof(*outputs));
    *outputs = frame->rows;
    frame->at = frame->end;
    struct lineage_frame *tail = lineage_push(lineage, LINEAGE_EXPRESSION, at, frame->end);
    tail->scope = lineage_scope_new(lineage, outer);
    tail->is_clauses = true;
    tail->outputs = outputs;
}

void lineage_query_step(struct lineage *lineage)
{
    struct lineage_frame *frame = lineage_top(lineage);
    switch (frame->step) {
    case QUERY_START:
        frame->begin = frame->at;
        frame->outer = frame->withs;
        query_start(lineage, frame);
        break;
    case QUERY_WITH:
        query_with(lineage, frame);
        break;
    case QUERY_WITH_DONE:
        query_with_done(lineage, frame);
        break;
    case QUERY_TERM:
        query_term(lineage, frame);
        break;
    case QUERY_TERM_DONE:
        query_term_done(lineage, frame);
        break;
    default:
        frame->rows.are_rows_open = frame->rows.are_rows_open && lineage->returned_open &&
                                    lineage_is_all_open(&frame->rows);
        query_finish(lineage, frame);
        break;
    }
}

/* VALUES (…), (…) --------------------------------------------------------------------------------
 */

enum { VALUES_ROW, VALUES_ITEM, VALUES_ITEM_DONE };

static void values_item_done(struct lineage *lineage, struct lineage_frame *frame)
{
    struct sql_lineage_column column = {SLICE_NONE, lineage->returned_open};
    if (frame->is_first_row) {
        column.label = arena_format(lineage->arena, "column%zu", frame->rows.count + 1);
        lineage_add_column(lineage, &frame->rows, &frame->capacity, column);
    } else if (frame->column == frame->rows.count) {
        lineage_deny(lineage);
    } else {
        struct sql_lineage_column *known = &frame->rows.columns[frame->column];
        known->is_open = known->is_open && column.is_open;
    }
    frame->column++;
    frame->at = frame->item_end + 1;
    frame->step = frame->at < frame->list_end ? VALUES_ITEM : VALUES_ROW;
    frame->at = frame->at < frame->list_end ? frame->at : frame->list_end + 1;
}

void lineage_values_step(struct lineage *lineage)
{
    struct lineage_frame *frame = lineage_top(lineage);
    if (frame->step == VALUES_ITEM_DONE) {
        values_item_done(lineage, frame);
        return;
    }
    if (frame->step == VALUES_ITEM) {
        frame->step = VALUES_ITEM_DONE;
        frame->item_end = lineage_find_comma(lineage, frame->at, frame->list_end);
        (void)lineage_push(lineage, LINEAGE_EXPRESSION, frame->at, frame->item_end);
        return;
    }
    if (frame->at >= frame->end) {
        lineage_return(lineage);
        return;
    }
    frame->at += lineage_kind_at(lineage, frame->at) == SQL_TOKEN_COMMA ? 1 : 0;
    if (frame->at >= frame->end || lineage_kind_at(lineage, frame->at) != SQL_TOKEN_OPEN) {
        lineage_deny(lineage);
        return;
    }
    frame->is_first_row = frame->rows.count == 0;
    frame->column = 0;
    frame->list_end = lineage->partners[frame->at];
    frame->at++;
    frame->step = VALUES_ITEM;
}
