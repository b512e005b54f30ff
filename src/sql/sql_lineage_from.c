/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "sql/sql_lineage_internal.h"

enum {
    FROM_ITEM,
    FROM_QUERY_DONE,
    FROM_PARENTHESIS_DONE,
    FROM_FUNCTION_DONE,
    FROM_JOINED,
    FROM_CONDITION_DONE,
};

/* Set-returning functions of the database whose columns have names of their own; those of the
 * others are not known, nor how many there are. NULL: one, which is called like the function. */
static const struct {
    const char *function;
    const char *columns[2];
} from_functions[] = {
    {"generate_series", {NULL}},
    {"generate_subscripts", {NULL}},
    {"regexp_split_to_table", {NULL}},
    {"regexp_matches", {NULL}},
    {"string_to_table", {NULL}},
    {"jsonb_object_keys", {NULL}},
    {"json_object_keys", {NULL}},
    {"jsonb_path_query", {NULL}},
    {"json_array_elements", {"value"}},
    {"jsonb_array_elements", {"value"}},
    {"json_array_elements_text", {"value"}},
    {"jsonb_array_elements_text", {"value"}},
    {"json_each", {"key", "value"}},
    {"jsonb_each", {"key", "value"}},
    {"json_each_text", {"key", "value"}},
    {"jsonb_each_text", {"key", "value"}},
};

/* Items -------------------------------------------------------------------------------------------
 */

static bool from_is_alias(const struct lineage *lineage, size_t at)
{
    if (!lineage_is_name(lineage, at)) {
        return false;
    }
    enum sql_word word = lineage_word_at(lineage, at);
    return word == SQL_NO_WORD || sql_word_class(word) != SQL_WORD_IS_TYPE;
}

/* The columns of a function, by its name, or by the definition in the statement. */
static void from_add_columns(struct lineage *lineage, struct lineage_frame *frame,
                             struct slice alias)
{
    bool is_open = frame->rows.is_rest_open;
    for (size_t i = 0; i < COUNT_OF(from_functions); i++) {
        if (frame->name.name.len == 0 ||
            !slice_equals(frame->name.name, slice_of_text(from_functions[i].function))) {
            continue;
        }
        const char *const *columns = from_functions[i].columns;
        for (size_t k = 0; k < 2 && (k == 0 || columns[k] != NULL); k++) {
            struct sql_lineage_column column = {alias, is_open};
            column.label = columns[k] != NULL ? slice_of_text(columns[k]) : column.label;
            lineage_add_column(lineage, &frame->rows, &frame->capacity, column);
        }
        /* What is none of the database's own may be anything. */
        const struct sql_lineage_catalog *catalog = lineage->catalog;
        frame->rows.is_complete = catalog->is_own_function(catalog->context, &frame->name,
                                                           lineage_arguments(lineage, frame->call));
    }
}

/* [AS] name [(columns)], or AS (definitions); and what stands before and behind it. */
static void from_finish_item(struct lineage *lineage, struct lineage_frame *frame)
{
    bool has_ordinality =
        frame->is_function && lineage_word_at(lineage, frame->at) == SQL_WORD_WITH;
    frame->at += has_ordinality ? 2 : 0;
    size_t as = frame->at;
    struct slice name = frame->name.name;
    bool is_alias = false;
    frame->at += lineage_word_at(lineage, frame->at) == SQL_WORD_AS ? 1 : 0;
    if (from_is_alias(lineage, frame->at)) {
        is_alias = true;
        name = lineage_name(lineage, frame->at++);
    }
    bool has_list = lineage_kind_at(lineage, frame->at) == SQL_TOKEN_OPEN && frame->at > as;
    size_t open = frame->at;
    frame->at = has_list ? lineage_next(lineage, open) : frame->at;
    bool is_definition = has_list && frame->is_function &&
                         lineage_kind_at(lineage, open + 2) != SQL_TOKEN_COMMA &&
                         lineage_kind_at(lineage, open + 2) != SQL_TOKEN_CLOSE;
    if (frame->is_function) {
        from_add_columns(lineage, frame, name);
    }
    if (is_definition) {
        /* These are all of them; an empty list of rows takes any names. */
        bool is_open = frame->rows.is_rest_open;
        frame->rows.columns = NULL;
        frame->rows.count = 0;
        frame->rows.is_complete = false;
        frame->rows.is_rest_open = is_open;
    }
    if (has_ordinality) {
        lineage_add_column(lineage, &frame->rows, &frame->capacity,
                           (struct sql_lineage_column){SLICE("ordinality"), true});
    }
    if (has_list) {
        lineage_rename(lineage, &frame->rows, open);
        frame->rows.is_complete = frame->rows.is_complete || is_definition;
    }
    if (lineage_word_at(lineage, frame->at) == SQL_WORD_TABLESAMPLE) {
        frame->rows.are_rows_open = false;
        frame->at = lineage_name_end(lineage, frame->at + 1, frame->end);
        frame->at = lineage_next(lineage, frame->at);
        if (lineage_word_at(lineage, frame->at) == SQL_WORD_REPEATABLE) {
            frame->at = lineage_next(lineage, frame->at + 1);
        }
    }
    if (name.len > 0) {
        lineage_add_named(lineage, frame->scope, name, is_alias, &frame->rows);
    }
    lineage_add_item(lineage, frame->scope, frame->join, &frame->rows);
    if (frame->join == LINEAGE_CROSS || frame->join == LINEAGE_NATURAL) {
        (void)lineage_join_items(lineage, frame->scope, frame->join == LINEAGE_NATURAL, 0);
    }
    frame->step = FROM_JOINED;
}

static void from_function(struct lineage *lineage, struct lineage_frame *frame, size_t at,
                          size_t end)
{
    frame->is_function = true;
    frame->at = end;
    frame->step = FROM_FUNCTION_DONE;
    (void)lineage_push(lineage, LINEAGE_EXPRESSION, at, end);
}

static void from_parenthesis(struct lineage *lineage, struct lineage_frame *frame)
{
    size_t open = frame->at;
    size_t close = lineage->partners[open];
    bool is_query = lineage->begins_query[open];
    bool is_lateral = frame->is_lateral;
    frame->at = close + 1;
    frame->step = is_query ? FROM_QUERY_DONE : FROM_PARENTHESIS_DONE;
    frame->inner_named = frame->scope->named_count;
    struct lineage_frame *inner =
        lineage_push(lineage, is_query ? LINEAGE_QUERY : LINEAGE_FROM, open + 1, close);
    if (is_query && !is_lateral) { /* those beside it are nothing to it */
        inner->scope = inner->scope->parent;
    }
}

/* [ONLY] name [*], or ONLY (name) */
static void from_table(struct lineage *lineage, struct lineage_frame *frame)
{
    bool is_only = lineage_word_at(lineage, frame->at) == SQL_WORD_ONLY;
    frame->at += is_only ? 1 : 0;
    bool is_enclosed = is_only && lineage_kind_at(lineage, frame->at) == SQL_TOKEN_OPEN;
    frame->at += is_enclosed ? 1 : 0;
    size_t end = lineage_name_end(lineage, frame->at, frame->end);
    if (end == frame->at) {
        lineage_deny(lineage);
        return;
    }
    frame->name = lineage_name_of(lineage, frame->at, end);
    if (lineage_kind_at(lineage, end) == SQL_TOKEN_OPEN && !is_only) {
        frame->call = end;
        from_function(lineage, frame, frame->at, lineage_next(lineage, end));
        return;
    }
    frame->at = end + (is_enclosed ? 1 : 0);
    frame->at += lineage_kind_at(lineage, frame->at) == SQL_TOKEN_STAR ? 1 : 0;
    frame->rows = lineage_rows_by_name(lineage, frame->withs, &frame->name);
    from_finish_item(lineage, frame);
}

static void from_item(struct lineage *lineage, struct lineage_frame *frame)
{
    frame->is_lateral = lineage_word_at(lineage, frame->at) == SQL_WORD_LATERAL;
    frame->at += frame->is_lateral ? 1 : 0;
    frame->is_function = false;
    frame->name = (struct sql_name){SLICE_NONE, SLICE_NONE};
    frame->rows = (struct lineage_rows){.is_complete = true, .are_rows_open = true};
    frame->capacity = 0;
    size_t at = frame->at;
    if (at >= frame->end) {
        lineage_deny(lineage);
        return;
    }
    if (lineage_kind_at(lineage, at) == SQL_TOKEN_OPEN) {
        from_parenthesis(lineage, frame);
        return;
    }
    enum sql_word word = lineage_word_at(lineage, at);
    bool is_list = word == SQL_WORD_ROWS && lineage_word_at(lineage, at + 1) == SQL_WORD_FROM &&
                   lineage_kind_at(lineage, at + 2) == SQL_TOKEN_OPEN;
    if (is_list) {
        from_function(lineage, frame, at + 3, lineage->partners[at + 2]);
        lineage->frames[lineage->depth - 2].at++;
    } else if (word == SQL_WORD_ONLY || lineage_is_name(lineage, at)) {
        from_table(lineage, frame);
    } else { /* CURRENT_DATE, CAST (…) */
        size_t end = lineage_kind_at(lineage, at + 1) == SQL_TOKEN_OPEN
                         ? lineage_next(lineage, at + 1)
                         : at + 1;
        from_function(lineage, frame, at, end);
    }
}

/* What they gave ----------------------------------------------------------------------------------
 */

static void from_query_done(struct lineage *lineage, struct lineage_frame *frame)
{
    frame->rows = lineage->returned;
    frame->rows.relation = NULL;
    if (frame->is_lateral && !frame->rows.are_rows_open) {
        /* It is read for each row beside it, so how many rows it has tells of that one. */
        struct lineage_rows closed = {.is_complete = frame->rows.is_complete};
        for (size_t i = 0; i < frame->rows.count && !lineage->is_denied; i++) {
            struct sql_lineage_column column = {frame->rows.columns[i].label, false};
            lineage_add_column(lineage, &closed, &frame->capacity, column);
        }
        frame->rows = closed;
    }
    from_finish_item(lineage, frame);
}

/* A join in parentheses is one item; an alias hides the names in it. */
static void from_parenthesis_done(struct lineage *lineage, struct lineage_frame *frame)
{
    struct lineage_scope *scope = frame->scope;
    must(scope->item_count > 0);
    frame->rows = scope->items[--scope->item_count].rows;
    frame->rows.relation = NULL;
    bool is_alias = lineage_word_at(lineage, frame->at) == SQL_WORD_AS ||
                    (frame->at < frame->end && from_is_alias(lineage, frame->at));
    for (size_t i = frame->inner_named; i < scope->named_count && is_alias; i++) {
        scope->named[i].is_hidden = true;
    }
    from_finish_item(lineage, frame);
}

/* Joins -------------------------------------------------------------------------------------------
 */

/* Whether a join begins there; LEFT and the like are functions, too. */
static bool from_is_join(const struct lineage *lineage, size_t at, bool is_condition)
{
    enum sql_word next = lineage_word_at(lineage, at + 1);
    switch ((int)lineage_word_at(lineage, at)) {
    case SQL_WORD_JOIN:
        return !is_condition || lineage_kind_at(lineage, at + 1) != SQL_TOKEN_OPEN ||
               sql_is_behind_operand(&lineage->scan, at);
    case SQL_WORD_CROSS:
    case SQL_WORD_INNER:
        return next == SQL_WORD_JOIN;
    case SQL_WORD_NATURAL:
        return next == SQL_WORD_JOIN || next == SQL_WORD_LEFT || next == SQL_WORD_RIGHT ||
               next == SQL_WORD_FULL || next == SQL_WORD_INNER;
    case SQL_WORD_LEFT:
    case SQL_WORD_RIGHT:
    case SQL_WORD_FULL:
        return next == SQL_WORD_JOIN || next == SQL_WORD_OUTER;
    default:
        return false;
    }
}

static void from_join(struct lineage *lineage, struct lineage_frame *frame)
{
    frame->join = LINEAGE_JOIN;
    for (size_t i = 0; i < 4 && lineage_word_at(lineage, frame->at) != SQL_WORD_JOIN; i++) {
        enum sql_word word = lineage_word_at(lineage, frame->at);
        frame->join = word == SQL_WORD_CROSS     ? LINEAGE_CROSS
                      : word == SQL_WORD_NATURAL ? LINEAGE_NATURAL
                                                 : frame->join;
        frame->at++;
    }
    if (lineage_word_at(lineage, frame->at) != SQL_WORD_JOIN) {
        lineage_deny(lineage);
    }
    frame->at++;
    frame->step = FROM_ITEM;
}

/* The join before the last item gets its condition. */
static bool from_needs_condition(const struct lineage *lineage, const struct lineage_frame *frame)
{
    const struct lineage_scope *scope = frame->scope;
    (void)lineage;
    return scope->item_count > frame->item_base + 1 &&
           scope->items[scope->item_count - 1].join == LINEAGE_JOIN;
}

static void from_using(struct lineage *lineage, struct lineage_frame *frame)
{
    size_t open = frame->at + 1;
    if (lineage_kind_at(lineage, open) != SQL_TOKEN_OPEN) {
        lineage_deny(lineage);
        return;
    }
    struct lineage_rows merged = lineage_join_items(lineage, frame->scope, false, open);
    frame->at = lineage_next(lineage, open);
    if (lineage_word_at(lineage, frame->at) == SQL_WORD_AS) {
        if (!lineage_is_name(lineage, frame->at + 1)) {
            lineage_deny(lineage);
            return;
        }
        lineage_add_named(lineage, frame->scope, lineage_name(lineage, frame->at + 1), true,
                          &merged);
        frame->at += 2;
    }
}

static void from_on(struct lineage *lineage, struct lineage_frame *frame)
{
    size_t end = frame->at + 1;
    while (end < frame->end && lineage_kind_at(lineage, end) != SQL_TOKEN_COMMA &&
           lineage_word_at(lineage, end) != SQL_WORD_ON &&
           lineage_word_at(lineage, end) != SQL_WORD_USING && !from_is_join(lineage, end, true)) {
        end = lineage_next(lineage, end);
    }
    size_t at = frame->at + 1;
    frame->at = end;
    frame->step = FROM_CONDITION_DONE;
    (void)lineage_push(lineage, LINEAGE_EXPRESSION, at, end);
}

static void from_joined(struct lineage *lineage, struct lineage_frame *frame)
{
    enum sql_word word = lineage_word_at(lineage, frame->at);
    if (frame->at >= frame->end) {
        if (frame->scope->item_count != frame->item_base + frame->item_count) {
            lineage_deny(lineage);
        }
        lineage_return(lineage);
    } else if (lineage_kind_at(lineage, frame->at) == SQL_TOKEN_COMMA) {
        frame->join = LINEAGE_NO_JOIN;
        frame->item_count++;
        frame->at++;
        frame->step = FROM_ITEM;
    } else if (word == SQL_WORD_ON && from_needs_condition(lineage, frame)) {
        from_on(lineage, frame);
    } else if (word == SQL_WORD_USING && from_needs_condition(lineage, frame)) {
        from_using(lineage, frame);
    } else if (from_is_join(lineage, frame->at, false)) {
        from_join(lineage, frame);
    } else {
        lineage_deny(lineage);
    }
}

void lineage_from_step(struct lineage *lineage)
{
    struct lineage_frame *frame = lineage_top(lineage);
    switch (frame->step) {
    case FROM_ITEM:
        if (!frame->has_begun) {
            frame->has_begun = true;
            frame->item_base = frame->scope->item_count;
            frame->item_count = 1;
        }
        from_item(lineage, frame);
        break;
    case FROM_QUERY_DONE:
        from_query_done(lineage, frame);
        break;
    case FROM_PARENTHESIS_DONE:
        from_parenthesis_done(lineage, frame);
        break;
    case FROM_FUNCTION_DONE:
        lineage->is_counted = lineage->is_counted || !lineage->returned_open;
        frame->rows = (struct lineage_rows){.is_rest_open = lineage->returned_open,
                                            .are_rows_open = lineage->returned_open};
        from_finish_item(lineage, frame);
        break;
    case FROM_CONDITION_DONE:
        (void)lineage_join_items(lineage, frame->scope, false, 0);
        frame->scope->are_rows_open = frame->scope->are_rows_open && lineage->returned_open;
        frame->step = FROM_JOINED;
        break;
    default:
        from_joined(lineage, frame);
        break;
    }
}
