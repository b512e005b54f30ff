/* SPDX-License-Identifier: MIT */
#include "sql/sql_lineage_internal.h"

enum {
    SELECT_START,
    SELECT_FROM_DONE,
    SELECT_WINDOW_DONE,
    SELECT_ITEM,
    SELECT_ITEM_DONE,
    SELECT_DISTINCT_DONE,
    SELECT_REST_DONE,
};

/* Whether the word begins what stands behind the list, or behind FROM. */
static bool select_is_clause(enum sql_word word)
{
    switch ((int)word) {
    case SQL_WORD_WHERE:
    case SQL_WORD_GROUP:
    case SQL_WORD_HAVING:
    case SQL_WORD_WINDOW:
    case SQL_WORD_ORDER:
    case SQL_WORD_LIMIT:
    case SQL_WORD_OFFSET:
    case SQL_WORD_FETCH:
    case SQL_WORD_FOR:
        return true;
    default:
        return false;
    }
}

/* IS [NOT] DISTINCT FROM */
static bool select_is_comparison(const struct lineage *lineage, size_t from, size_t begin)
{
    return from > begin + 1 && lineage_word_at(lineage, from - 1) == SQL_WORD_DISTINCT &&
           (lineage_word_at(lineage, from - 2) == SQL_WORD_IS ||
            lineage_word_at(lineage, from - 2) == SQL_WORD_NOT);
}

/* WITHIN GROUP (…) */
static bool select_is_order(const struct lineage *lineage, size_t at)
{
    return lineage_word_at(lineage, at) == SQL_WORD_GROUP && at > 0 &&
           lineage_word_at(lineage, at - 1) == SQL_WORD_WITHIN;
}

/* ALL, DISTINCT, DISTINCT ON (…) */
static void select_take_distinct(struct lineage *lineage, struct lineage_frame *frame)
{
    enum sql_word word = lineage_word_at(lineage, frame->at);
    frame->at += word == SQL_WORD_ALL || word == SQL_WORD_DISTINCT ? 1 : 0;
    frame->is_deduplicated = word == SQL_WORD_DISTINCT;
    if (word == SQL_WORD_DISTINCT && lineage_word_at(lineage, frame->at) == SQL_WORD_ON &&
        lineage_kind_at(lineage, frame->at + 1) == SQL_TOKEN_OPEN) {
        frame->distinct = frame->at + 1;
        frame->at = lineage_next(lineage, frame->at + 1);
    }
}

static void select_start(struct lineage *lineage, struct lineage_frame *frame)
{
    select_take_distinct(lineage, frame);
    size_t end = frame->end;
    size_t list_end = end;
    size_t from = end;
    size_t rest = end;
    for (size_t at = frame->at; at < end && rest == end; at = lineage_next(lineage, at)) {
        enum sql_word word = lineage_word_at(lineage, at);
        bool is_label =
            at > frame->at && from == end && lineage_word_at(lineage, at - 1) == SQL_WORD_AS;
        if (word == SQL_NO_WORD || is_label) {
            continue;
        }
        if (word == SQL_WORD_FROM && from == end && !select_is_comparison(lineage, at, frame->at)) {
            from = at;
            list_end = list_end == end ? at : list_end;
        } else if (word == SQL_WORD_INTO && from == end) {
            list_end = at;
        } else if (select_is_clause(word) && !select_is_order(lineage, at)) {
            rest = at;
        }
    }
    frame->list_end = list_end < rest ? list_end : rest;
    frame->rest = rest;
    frame->step = SELECT_FROM_DONE;
    frame->scope = lineage_scope_new(lineage, frame->scope);
    if (from < rest) {
        (void)lineage_push(lineage, LINEAGE_FROM, from + 1, rest);
    }
}

/* Windows are read first: what is computed over one depends on it. */
static void select_from_done(struct lineage *lineage, struct lineage_frame *frame)
{
    for (size_t at = frame->rest; at < frame->end; at = lineage_next(lineage, at)) {
        enum sql_word word = lineage_word_at(lineage, at);
        frame->is_deduplicated |= word == SQL_WORD_GROUP || word == SQL_WORD_ORDER;
    }
    frame->step = SELECT_ITEM;
    size_t window = lineage_find(lineage, frame->rest, frame->end, SQL_WORD_WINDOW);
    if (window == frame->end) {
        return;
    }
    size_t end = window + 1;
    while (end < frame->end && !select_is_clause(lineage_word_at(lineage, end))) {
        end = lineage_next(lineage, end);
    }
    frame->step = SELECT_WINDOW_DONE;
    lineage_push(lineage, LINEAGE_EXPRESSION, window, end)->is_clauses = true;
}

/* A star: of all, or of one; without it nobody knows how many columns there are. */
static void select_star(struct lineage *lineage, struct lineage_frame *frame, bool is_all,
                        const struct lineage_rows *one)
{
    struct lineage_rows *rows = &frame->rows;
    size_t count = is_all ? frame->scope->item_count : one != NULL ? 1 : 0;
    for (size_t i = 0; i < count; i++) {
        const struct lineage_rows *from = one != NULL ? one : &frame->scope->items[i].rows;
        for (size_t k = 0; k < from->count && !lineage->is_denied; k++) {
            lineage_add_column(lineage, rows, &frame->capacity, from->columns[k]);
        }
        if (!from->is_complete) {
            rows->is_rest_open = from->is_rest_open && (rows->is_complete || rows->is_rest_open);
            rows->is_complete = false;
        }
    }
    if (!is_all && one == NULL) {
        rows->is_rest_open = false;
        rows->is_complete = false;
    }
}

static bool select_takes_star(struct lineage *lineage, struct lineage_frame *frame)
{
    size_t at = frame->at;
    size_t end = frame->item_end;
    if (end == at || lineage_kind_at(lineage, end - 1) != SQL_TOKEN_STAR) {
        return false;
    }
    if (end == at + 1) {
        select_star(lineage, frame, true, NULL);
    } else if (lineage_is_name(lineage, at) && lineage_name_end(lineage, at, end) == end) {
        select_star(lineage, frame, false, lineage_find_named(lineage, frame->scope, at, end - 2));
    } else { /* (relation).*, or the fields of a value */
        bool is_row = end == at + 5 && lineage_kind_at(lineage, at) == SQL_TOKEN_OPEN;
        select_star(lineage, frame, false,
                    is_row ? lineage_find_row(lineage, frame->scope, at) : NULL);
    }
    frame->at = end + 1;
    return true;
}

static void select_item_done(struct lineage *lineage, struct lineage_frame *frame)
{
    struct sql_lineage_column column = {frame->label, lineage->returned_open};
    lineage_add_column(lineage, &frame->rows, &frame->capacity, column);
    if (!column.is_open && lineage->may_multiply) {
        frame->rows.are_rows_open = false;
    }
    frame->at = frame->item_end + 1;
    frame->step = SELECT_ITEM;
}

static void select_finish(struct lineage *lineage, struct lineage_frame *frame)
{
    frame->rows.are_rows_open = frame->rows.are_rows_open && frame->scope->are_rows_open &&
                                (!frame->is_deduplicated || lineage_is_all_open(&frame->rows));
    lineage_return(lineage);
}

static void select_rest(struct lineage *lineage, struct lineage_frame *frame)
{
    if (frame->rest >= frame->end) {
        select_finish(lineage, frame);
        return;
    }
    struct lineage_rows *outputs = arena_alloc(lineage->arena, sizeof(*outputs));
    *outputs = frame->rows;
    frame->step = SELECT_REST_DONE;
    struct lineage_frame *rest = lineage_push(lineage, LINEAGE_EXPRESSION, frame->rest, frame->end);
    rest->is_clauses = true;
    rest->outputs = outputs;
}

static void select_item(struct lineage *lineage, struct lineage_frame *frame)
{
    if (frame->at >= frame->list_end) {
        if (frame->distinct == 0) {
            select_rest(lineage, frame);
            return;
        }
        frame->step = SELECT_DISTINCT_DONE;
        (void)lineage_push(lineage, LINEAGE_EXPRESSION, frame->distinct + 1,
                           lineage->partners[frame->distinct]);
        return;
    }
    frame->item_end = lineage_find_comma(lineage, frame->at, frame->list_end);
    if (select_takes_star(lineage, frame)) {
        return;
    }
    size_t end = frame->item_end;
    frame->label = lineage_label(lineage, frame->at, frame->item_end, &end);
    frame->step = SELECT_ITEM_DONE;
    (void)lineage_push(lineage, LINEAGE_EXPRESSION, frame->at, end);
}

void lineage_select_step(struct lineage *lineage)
{
    struct lineage_frame *frame = lineage_top(lineage);
    switch (frame->step) {
    case SELECT_START:
        select_start(lineage, frame);
        break;
    case SELECT_FROM_DONE:
        select_from_done(lineage, frame);
        break;
    case SELECT_WINDOW_DONE:
        frame->scope->are_windows_open = lineage->returned_open;
        frame->step = SELECT_ITEM;
        break;
    case SELECT_ITEM:
        select_item(lineage, frame);
        break;
    case SELECT_ITEM_DONE:
        select_item_done(lineage, frame);
        break;
    case SELECT_DISTINCT_DONE:
        frame->rows.are_rows_open = frame->rows.are_rows_open && lineage->returned_open;
        select_rest(lineage, frame);
        break;
    default:
        frame->rows.are_rows_open = frame->rows.are_rows_open && lineage->returned_open;
        select_finish(lineage, frame);
        break;
    }
}

void lineage_push_list(struct lineage *lineage, size_t at, size_t end)
{
    struct lineage_frame *list = lineage_push(lineage, LINEAGE_SELECT, at, end);
    list->step = SELECT_ITEM;
    list->list_end = end;
    list->rest = end;
}
