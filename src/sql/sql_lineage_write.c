/* SPDX-License-Identifier: MIT */
/* INSERT, UPDATE, DELETE and MERGE: what they return is what was written. So nothing of it is open
 * where what was written is not; else each column is as the table has it. */
#include "sql/sql_lineage_internal.h"

enum {
    WRITE_START,
    WRITE_SOURCE_DONE,
    WRITE_FROM_DONE,
    WRITE_SET_DONE,
    WRITE_RETURNING,
    WRITE_DONE,
};

static void write_refuse(struct lineage_frame *frame)
{
    frame->is_open = false;
}

/* [ONLY] name [*] [[AS] alias] */
static void write_target(struct lineage *lineage, struct lineage_frame *frame)
{
    frame->at += lineage_word_at(lineage, frame->at) == SQL_WORD_ONLY ? 1 : 0;
    size_t end = lineage_name_end(lineage, frame->at, frame->end);
    if (end == frame->at) {
        lineage_deny(lineage);
        return;
    }
    struct sql_name name = lineage_name_of(lineage, frame->at, end);
    /* No common table expression can be written. */
    frame->target = lineage_rows_by_name(lineage, NULL, &name);
    frame->at = end + (lineage_kind_at(lineage, end) == SQL_TOKEN_STAR ? 1 : 0);
    enum sql_word word = lineage_word_at(lineage, frame->at);
    bool is_alias = word == SQL_WORD_AS;
    frame->at += is_alias ? 1 : 0;
    bool is_bare = frame->verb != SQL_WORD_INSERT && word != SQL_WORD_SET &&
                   lineage_is_name(lineage, frame->at);
    if ((is_alias || is_bare) && lineage_is_name(lineage, frame->at)) {
        name.name = lineage_name(lineage, frame->at++);
        is_alias = true;
    }
    lineage_add_named(lineage, frame->scope, name.name, is_alias, &frame->target);
    if (frame->verb != SQL_WORD_MERGE) {
        lineage_add_item(lineage, frame->scope, LINEAGE_NO_JOIN, &frame->target);
    }
}

static size_t write_find_conflict(const struct lineage *lineage, const struct lineage_frame *frame)
{
    size_t at = frame->at;
    while (at < frame->returning && !(lineage_word_at(lineage, at) == SQL_WORD_ON &&
                                      lineage_word_at(lineage, at + 1) == SQL_WORD_CONFLICT)) {
        at = lineage_next(lineage, at);
    }
    return at < frame->returning ? at : frame->returning;
}

/* [(columns)] [OVERRIDING … VALUE] query [ON CONFLICT …] */
static void write_insert(struct lineage *lineage, struct lineage_frame *frame)
{
    frame->step = WRITE_SOURCE_DONE;
    if (lineage_kind_at(lineage, frame->at) == SQL_TOKEN_OPEN &&
        !lineage->begins_query[frame->at]) {
        frame->at = lineage_next(lineage, frame->at);
    }
    frame->at += lineage_word_at(lineage, frame->at) == SQL_WORD_OVERRIDING ? 3 : 0;
    frame->at = frame->at < frame->returning ? frame->at : frame->returning;
    frame->set = write_find_conflict(lineage, frame);
    size_t at = frame->at;
    if (lineage_word_at(lineage, at) == SQL_WORD_DEFAULT || at == frame->set) {
        lineage->returned = (struct lineage_rows){.is_complete = true, .are_rows_open = true};
        return;
    }
    struct lineage_scope *outer = frame->scope->parent;
    lineage_push(lineage, LINEAGE_QUERY, at, frame->set)->scope = outer;
}

/* UPDATE … SET … FROM …, DELETE … USING … */
static void write_from(struct lineage *lineage, struct lineage_frame *frame, enum sql_word word)
{
    size_t where = lineage_find(lineage, frame->at, frame->returning, SQL_WORD_WHERE);
    size_t from = lineage_find(lineage, frame->at, where, word);
    /* IS DISTINCT FROM */
    while (from < where && lineage_word_at(lineage, from - 1) == SQL_WORD_DISTINCT) {
        from = lineage_find(lineage, from + 1, where, word);
    }
    frame->set_end = from;
    frame->rest = where;
    frame->step = WRITE_FROM_DONE;
    if (from < where) {
        (void)lineage_push(lineage, LINEAGE_FROM, from + 1, where);
    }
}

/* USING source ON condition WHEN … */
static void write_merge(struct lineage *lineage, struct lineage_frame *frame)
{
    size_t when = lineage_find(lineage, frame->at, frame->returning, SQL_WORD_WHEN);
    size_t on = when;
    for (size_t i = frame->at; i < when; i = lineage_next(lineage, i)) {
        on = lineage_word_at(lineage, i) == SQL_WORD_ON ? i : on;
    }
    if (lineage_word_at(lineage, frame->at) != SQL_WORD_USING || on == when) {
        lineage_deny(lineage);
        return;
    }
    frame->step = WRITE_FROM_DONE;
    frame->set = when;
    size_t at = frame->at + 1;
    (void)lineage_push(lineage, LINEAGE_FROM, at, on);
}

static void write_start(struct lineage *lineage, struct lineage_frame *frame)
{
    frame->verb = lineage_word_at(lineage, frame->at);
    frame->scope = lineage_scope_new(lineage, frame->scope);
    frame->returning = lineage_find(lineage, frame->at, frame->end, SQL_WORD_RETURNING);
    frame->at += frame->verb == SQL_WORD_UPDATE ? 1 : 2;
    frame->at = frame->at < frame->end ? frame->at : frame->end;
    write_target(lineage, frame);
    if (lineage->is_denied) {
        return;
    }
    switch ((int)frame->verb) {
    case SQL_WORD_INSERT:
        write_insert(lineage, frame);
        break;
    case SQL_WORD_UPDATE:
        frame->set = lineage_find(lineage, frame->at, frame->returning, SQL_WORD_SET) + 1;
        frame->at = frame->set < frame->returning ? frame->set : frame->returning;
        write_from(lineage, frame, SQL_WORD_FROM);
        break;
    case SQL_WORD_DELETE:
        write_from(lineage, frame, SQL_WORD_USING);
        break;
    default:
        write_merge(lineage, frame);
        break;
    }
}

/* What is set, and to what. */
static void write_set(struct lineage *lineage, struct lineage_frame *frame, size_t at, size_t end)
{
    frame->step = WRITE_SET_DONE;
    lineage_push(lineage, LINEAGE_EXPRESSION, at, end)->is_set = true;
}

/* ON CONFLICT … DO UPDATE SET … [WHERE …] */
static void write_source_done(struct lineage *lineage, struct lineage_frame *frame)
{
    if (!lineage_is_all_open(&lineage->returned)) {
        write_refuse(frame);
    }
    frame->rows.are_rows_open = lineage->returned.are_rows_open;
    frame->step = WRITE_RETURNING;
    if (frame->set == frame->returning) {
        return;
    }
    frame->rows.are_rows_open = false;
    lineage_add_named(lineage, frame->scope, SLICE("excluded"), true, &frame->target);
    size_t set = lineage_find(lineage, frame->set, frame->returning, SQL_WORD_SET);
    if (set < frame->returning) {
        size_t end = lineage_find(lineage, set, frame->returning, SQL_WORD_WHERE);
        write_set(lineage, frame, set + 1, end);
    }
}

static void write_from_done(struct lineage *lineage, struct lineage_frame *frame)
{
    frame->step = WRITE_RETURNING;
    /* Which rows it writes is not looked at. */
    frame->rows.are_rows_open =
        frame->rest == frame->returning && frame->set == 0 && frame->verb == SQL_WORD_DELETE;
    if (frame->verb == SQL_WORD_UPDATE) {
        size_t at = frame->at;
        write_set(lineage, frame, at, frame->set_end);
    } else if (frame->verb == SQL_WORD_MERGE) {
        /* Its actions are not told apart: what it returns may be of any of its source's columns. */
        lineage_add_item(lineage, frame->scope, LINEAGE_NO_JOIN, &frame->target);
        write_refuse(frame);
    }
}

/* WITH (OLD AS name, NEW AS name) */
static void write_add_versions(struct lineage *lineage, struct lineage_frame *frame, size_t *at)
{
    struct slice names[2] = {SLICE("old"), SLICE("new")};
    if (lineage_word_at(lineage, *at) == SQL_WORD_WITH &&
        lineage_kind_at(lineage, *at + 1) == SQL_TOKEN_OPEN) {
        size_t close = lineage->partners[*at + 1];
        for (size_t i = *at + 2; i + 2 < close; i += 4) {
            bool is_old = lineage_word_at(lineage, i) == SQL_WORD_OLD;
            if (!lineage_is_name(lineage, i + 2)) {
                lineage_deny(lineage);
                return;
            }
            names[is_old ? 0 : 1] = lineage_name(lineage, i + 2);
        }
        *at = close + 1;
    }
    for (size_t i = 0; i < 2; i++) { /* a table of that name hides it */
        bool is_hidden = false;
        for (size_t k = 0; k < frame->scope->named_count; k++) {
            is_hidden = is_hidden || slice_equals(frame->scope->named[k].name, names[i]);
        }
        if (!is_hidden) {
            lineage_add_named(lineage, frame->scope, names[i], true, &frame->target);
        }
    }
}

static void write_returning(struct lineage *lineage, struct lineage_frame *frame)
{
    frame->step = WRITE_DONE;
    if (frame->returning == frame->end) { /* it gives nothing */
        lineage->returned = (struct lineage_rows){.is_complete = true, .are_rows_open = true};
        return;
    }
    size_t at = frame->returning + 1;
    write_add_versions(lineage, frame, &at);
    if (!lineage->is_denied) {
        size_t end = frame->end;
        lineage_push_list(lineage, at < end ? at : end, end);
    }
}

static void write_done(struct lineage *lineage, struct lineage_frame *frame)
{
    bool are_rows_open = frame->rows.are_rows_open && lineage->returned.are_rows_open;
    frame->rows = lineage->returned;
    for (size_t i = 0; i < frame->rows.count; i++) {
        frame->rows.columns[i].is_open = frame->rows.columns[i].is_open && frame->is_open;
    }
    frame->rows.is_rest_open = frame->rows.is_rest_open && frame->is_open;
    frame->rows.are_rows_open = are_rows_open;
    lineage_return(lineage);
}

void lineage_write_step(struct lineage *lineage)
{
    struct lineage_frame *frame = lineage_top(lineage);
    switch (frame->step) {
    case WRITE_START:
        write_start(lineage, frame);
        break;
    case WRITE_SOURCE_DONE:
        write_source_done(lineage, frame);
        break;
    case WRITE_FROM_DONE:
        write_from_done(lineage, frame);
        break;
    case WRITE_SET_DONE:
        if (!lineage->returned_open) {
            write_refuse(frame);
        }
        frame->step = WRITE_RETURNING;
        break;
    case WRITE_RETURNING:
        write_returning(lineage, frame);
        break;
    default:
        write_done(lineage, frame);
        break;
    }
}
