/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "sql/sql_lineage_internal.h"

struct lineage_scope *lineage_scope_new(struct lineage *lineage, struct lineage_scope *parent)
{
    struct lineage_scope *scope = arena_alloc(lineage->arena, sizeof(*scope));
    scope->parent = parent;
    scope->are_rows_open = true;
    scope->are_windows_open = true;
    return scope;
}

void lineage_add_column(struct lineage *lineage, struct lineage_rows *rows, size_t *capacity,
                        struct sql_lineage_column column)
{
    if (!lineage_spend(lineage, 1) || rows->count == LIMIT_SQL_LINEAGE_COLUMNS) {
        lineage_deny(lineage);
        return;
    }
    rows->columns =
        sql_room(lineage->arena, rows->columns, rows->count, capacity, sizeof(*rows->columns));
    rows->columns[rows->count++] = column;
}

struct lineage_rows lineage_rows_of(struct lineage *lineage,
                                    const struct sql_lineage_relation *relation)
{
    if (relation == NULL) {
        return (struct lineage_rows){0};
    }
    struct lineage_rows rows = {
        .is_complete = true, .are_rows_open = relation->are_rows_open, .relation = relation};
    size_t capacity = 0;
    for (size_t i = 0; i < relation->count && !lineage->is_denied; i++) {
        struct sql_lineage_column column = {relation->columns[i], relation->is_open[i]};
        lineage_add_column(lineage, &rows, &capacity, column);
    }
    return rows;
}

struct lineage_rows lineage_rows_by_name(struct lineage *lineage, const struct lineage_with *withs,
                                         const struct sql_name *name)
{
    for (const struct lineage_with *with = withs; with != NULL && name->schema.len == 0;
         with = with->next) {
        if (lineage_spend(lineage, 1) && slice_equals(with->name, name->name)) {
            const struct lineage_rows unknown = {0};
            return with->is_pending ? unknown : with->rows;
        }
    }
    const struct sql_lineage_catalog *catalog = lineage->catalog;
    return lineage_rows_of(lineage, catalog->relation(catalog->context, name));
}

bool lineage_is_all_open(const struct lineage_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (!rows->columns[i].is_open) {
            return false;
        }
    }
    return rows->is_complete || rows->is_rest_open;
}

void lineage_add_named(struct lineage *lineage, struct lineage_scope *scope, struct slice name,
                       bool is_alias, const struct lineage_rows *rows)
{
    scope->named = sql_room(lineage->arena, scope->named, scope->named_count,
                            &scope->named_capacity, sizeof(*scope->named));
    scope->named[scope->named_count++] =
        (struct lineage_named){.name = name, .is_alias = is_alias, .rows = *rows};
}

void lineage_add_item(struct lineage *lineage, struct lineage_scope *scope, uint8_t join,
                      const struct lineage_rows *rows)
{
    scope->items = sql_room(lineage->arena, scope->items, scope->item_count, &scope->item_capacity,
                            sizeof(*scope->items));
    scope->items[scope->item_count++] = (struct lineage_item){*rows, join};
    scope->are_rows_open = scope->are_rows_open && rows->are_rows_open;
}

void lineage_rename(struct lineage *lineage, struct lineage_rows *rows, size_t open)
{
    size_t close = lineage->partners[open];
    size_t index = 0;
    struct lineage_rows renamed = *rows;
    size_t capacity = 0;
    renamed.columns = NULL;
    renamed.count = 0;
    if (!rows->is_complete) { /* nobody knows which of them are the first */
        renamed.is_rest_open = lineage_is_all_open(rows);
        rows->count = 0;
    }
    for (size_t at = open + 1; at < close && !lineage->is_denied; index++) {
        struct sql_lineage_column column = {SLICE_NONE, renamed.is_rest_open};
        bool is_there = index < rows->count;
        if (!lineage_is_name(lineage, at) || (!is_there && rows->is_complete)) {
            lineage_deny(lineage);
            return;
        }
        column.is_open = is_there ? rows->columns[index].is_open : column.is_open;
        column.label = lineage_name(lineage, at);
        lineage_add_column(lineage, &renamed, &capacity, column);
        at = lineage_find_comma(lineage, at, close) + 1;
    }
    for (; index < rows->count && !lineage->is_denied; index++) {
        lineage_add_column(lineage, &renamed, &capacity, rows->columns[index]);
    }
    *rows = renamed;
}

/* Lookups ----------------------------------------------------------------------------------------
 */

/* What a name can mean. */
struct lineage_answer {
    bool is_found;    /* it is one of these, or there is an error */
    bool is_possible; /* it can be one whose name is not known */
    bool is_closed;   /* one that was found is not open */
    bool may_be_closed;
};

static void lineage_answer_add(struct lineage_answer *answer, bool is_found, bool is_open)
{
    answer->is_found = answer->is_found || is_found;
    answer->is_possible = answer->is_possible || !is_found;
    answer->is_closed = answer->is_closed || (is_found && !is_open);
    answer->may_be_closed = answer->may_be_closed || !is_open;
}

/* What was found is no other one, at the same level. */
static bool lineage_answer_is_open(const struct lineage_answer *answer)
{
    return answer->is_found ? !answer->is_closed : answer->is_possible && !answer->may_be_closed;
}

/* Two of the same name are an error to the server: whatever it means, both count. */
static void lineage_answer_rows(struct lineage *lineage, const struct lineage_rows *rows,
                                struct slice name, struct lineage_answer *answer)
{
    (void)lineage_spend(lineage, rows->count);
    for (size_t i = 0; i < rows->count; i++) {
        const struct sql_lineage_column *column = &rows->columns[i];
        if (column->label.at == NULL || slice_equals(column->label, name)) {
            lineage_answer_add(answer, column->label.at != NULL, column->is_open);
        }
    }
    if (!rows->is_complete) {
        lineage_answer_add(answer, false, rows->is_rest_open);
    }
}

static bool lineage_is_system_column(struct slice name)
{
    static const char *const columns[] = {"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"};
    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        if (slice_equals(name, slice_of_text(columns[i]))) {
            return true;
        }
    }
    return false;
}

/* The name of a table's partition can tell what is in it. */
static void lineage_answer_system(const struct lineage_rows *rows, struct slice name,
                                  struct lineage_answer *answer)
{
    if (rows->relation != NULL && rows->relation->has_system_columns &&
        lineage_is_system_column(name)) {
        bool is_open = !slice_equals(name, SLICE("tableoid")) || lineage_is_all_open(rows);
        lineage_answer_add(answer, true, is_open);
    }
}

static void lineage_answer_column(struct lineage *lineage, const struct lineage_scope *scope,
                                  struct slice name, struct lineage_answer *answer)
{
    for (size_t i = 0; i < scope->item_count; i++) {
        lineage_answer_rows(lineage, &scope->items[i].rows, name, answer);
    }
    for (size_t i = 0; i < scope->named_count && !answer->is_found; i++) {
        lineage_answer_system(&scope->named[i].rows, name, answer);
    }
}

static bool lineage_look_up_bare(struct lineage *lineage, const struct lineage_frame *frame,
                                 struct slice name)
{
    bool is_found = false;
    bool is_possible = false;
    bool is_open = true;
    for (const struct lineage_scope *scope = frame->scope; scope != NULL && !is_found;
         scope = scope->parent) {
        struct lineage_answer answer = {0};
        (void)lineage_spend(lineage, 1 + scope->item_count);
        lineage_answer_column(lineage, scope, name, &answer);
        is_found = answer.is_found;
        is_possible = is_possible || answer.is_possible;
        is_open = is_open && (!(is_found || answer.is_possible) || lineage_answer_is_open(&answer));
    }
    /* All of a row. */
    for (const struct lineage_scope *scope = frame->scope; scope != NULL && !is_found;
         scope = scope->parent) {
        (void)lineage_spend(lineage, 1 + scope->named_count);
        for (size_t i = 0; i < scope->named_count; i++) {
            const struct lineage_named *named = &scope->named[i];
            if (!named->is_hidden && slice_equals(named->name, name)) {
                is_found = true;
                is_open = is_open && lineage_is_all_open(&named->rows);
            }
        }
    }
    if (!is_found && frame->outputs != NULL) {
        struct lineage_answer answer = {0};
        lineage_answer_rows(lineage, frame->outputs, name, &answer);
        is_possible = is_possible || answer.is_found || answer.is_possible;
        is_open = is_open && !answer.may_be_closed;
    }
    return (is_found || is_possible) && is_open;
}

/* The level that has the name, and the first of it there; more are an error, or OLD and NEW. */
static const struct lineage_named *lineage_find_alias(struct lineage *lineage,
                                                      const struct lineage_scope *scope,
                                                      struct slice name)
{
    const struct lineage_named *found = NULL;
    for (; scope != NULL && found == NULL; scope = scope->parent) {
        (void)lineage_spend(lineage, 1 + scope->named_count);
        for (size_t i = 0; i < scope->named_count; i++) {
            const struct lineage_named *named = &scope->named[i];
            if (named->is_hidden || !slice_equals(named->name, name)) {
                continue;
            }
            if (found != NULL) {
                lineage_deny(lineage);
            }
            found = named;
        }
    }
    return found;
}

const struct lineage_rows *lineage_find_named(struct lineage *lineage,
                                              const struct lineage_scope *scope, size_t at,
                                              size_t end)
{
    struct sql_name name = lineage_name_of(lineage, at, end);
    if (name.schema.len == 0) {
        const struct lineage_named *named = lineage_find_alias(lineage, scope, name.name);
        return named == NULL ? NULL : &named->rows;
    }
    const struct sql_lineage_catalog *catalog = lineage->catalog;
    const struct sql_lineage_relation *relation = catalog->relation(catalog->context, &name);
    for (; scope != NULL && relation != NULL; scope = scope->parent) {
        (void)lineage_spend(lineage, 1 + scope->named_count);
        for (size_t i = 0; i < scope->named_count; i++) {
            const struct lineage_named *named = &scope->named[i];
            if (!named->is_hidden && !named->is_alias && named->rows.relation == relation) {
                return &named->rows;
            }
        }
    }
    return NULL;
}

const struct lineage_rows *lineage_find_row(struct lineage *lineage,
                                            const struct lineage_scope *scope, size_t open)
{
    if (!lineage_is_name(lineage, open + 1) ||
        lineage_kind_at(lineage, open + 2) != SQL_TOKEN_CLOSE) {
        return NULL;
    }
    struct slice name = lineage_name(lineage, open + 1);
    for (const struct lineage_scope *at = scope; at != NULL; at = at->parent) {
        struct lineage_answer answer = {0};
        (void)lineage_spend(lineage, 1 + at->item_count);
        lineage_answer_column(lineage, at, name, &answer);
        if (answer.is_found || answer.is_possible) {
            return NULL;
        }
    }
    const struct lineage_named *named = lineage_find_alias(lineage, scope, name);
    return named == NULL ? NULL : &named->rows;
}

/* relation.name: a column, or a function that is called with all of the row. */
bool lineage_look_up_in(struct lineage *lineage, const struct lineage_rows *rows, struct slice name)
{
    struct lineage_answer answer = {0};
    lineage_answer_rows(lineage, rows, name, &answer);
    if (!answer.is_found) {
        lineage_answer_system(rows, name, &answer);
    }
    if (answer.is_found) {
        return lineage_answer_is_open(&answer);
    }
    const struct sql_lineage_catalog *catalog = lineage->catalog;
    struct sql_name function = {SLICE_NONE, name};
    return lineage_is_all_open(rows) && catalog->is_own_function(catalog->context, &function, 1);
}

bool lineage_look_up(struct lineage *lineage, const struct lineage_frame *frame, size_t at,
                     size_t end)
{
    bool is_star = lineage_kind_at(lineage, end - 1) == SQL_TOKEN_STAR;
    if (end == at + 1) {
        return !is_star && lineage_look_up_bare(lineage, frame, lineage_name(lineage, at));
    }
    const struct lineage_rows *rows = lineage_find_named(lineage, frame->scope, at, end - 2);
    if (rows == NULL) {
        return false;
    }
    return is_star ? lineage_is_all_open(rows)
                   : lineage_look_up_in(lineage, rows, lineage_name(lineage, end - 1));
}

/* Joins ------------------------------------------------------------------------------------------
 */

bool lineage_has_label(struct lineage *lineage, const struct lineage_rows *rows, struct slice label)
{
    (void)lineage_spend(lineage, rows->count);
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->columns[i].label.at != NULL && slice_equals(rows->columns[i].label, label)) {
            return true;
        }
    }
    return false;
}

static void lineage_merge(struct lineage *lineage, const struct lineage_item *sides,
                          struct slice label, struct lineage_rows *merged, size_t *capacity)
{
    struct lineage_answer answer = {0};
    lineage_answer_rows(lineage, &sides[0].rows, label, &answer);
    lineage_answer_rows(lineage, &sides[1].rows, label, &answer);
    lineage_add_column(lineage, merged, capacity,
                       (struct sql_lineage_column){label, !answer.may_be_closed});
}

/* Those that USING names, or that both have. */
static void lineage_merge_all(struct lineage *lineage, const struct lineage_item *sides,
                              size_t open, struct lineage_rows *merged, size_t *capacity)
{
    size_t close = open > 0 ? lineage->partners[open] : 0;
    for (size_t at = open + 1; at < close && !lineage->is_denied; at += 2) {
        if (!lineage_is_name(lineage, at)) {
            lineage_deny(lineage);
            return;
        }
        lineage_merge(lineage, sides, lineage_name(lineage, at), merged, capacity);
    }
    const struct lineage_rows *left = &sides[0].rows;
    for (size_t i = 0; i < left->count && open == 0 && !lineage->is_denied; i++) {
        if (left->columns[i].label.at != NULL &&
            lineage_has_label(lineage, &sides[1].rows, left->columns[i].label)) {
            lineage_merge(lineage, sides, left->columns[i].label, merged, capacity);
        }
    }
}

static bool lineage_has_unknown(const struct lineage_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->columns[i].label.at == NULL) {
            return true;
        }
    }
    return !rows->is_complete;
}

struct lineage_rows lineage_join_items(struct lineage *lineage, struct lineage_scope *scope,
                                       bool is_natural, size_t open)
{
    struct lineage_rows merged = {.is_complete = true, .are_rows_open = true};
    size_t capacity = 0;
    must(scope->item_count >= 2);
    const struct lineage_item *sides = &scope->items[scope->item_count - 2];
    const struct lineage_rows *left = &sides[0].rows;
    const struct lineage_rows *right = &sides[1].rows;
    if (is_natural || open > 0) {
        lineage_merge_all(lineage, sides, open, &merged, &capacity);
    }
    struct lineage_rows joined = merged;
    for (size_t side = 0; side < 2; side++) {
        const struct lineage_rows *rows = &sides[side].rows;
        for (size_t i = 0; i < rows->count && !lineage->is_denied; i++) {
            const struct sql_lineage_column *column = &rows->columns[i];
            if (column->label.at == NULL || !lineage_has_label(lineage, &merged, column->label)) {
                lineage_add_column(lineage, &joined, &capacity, *column);
            }
        }
    }
    joined.is_complete = left->is_complete && right->is_complete;
    joined.is_rest_open =
        (left->is_complete || left->is_rest_open) && (right->is_complete || right->is_rest_open);
    joined.are_rows_open = left->are_rows_open && right->are_rows_open;
    /* What is merged is not known, nor what comes where; and nor may be which are equal. */
    if (is_natural && (lineage_has_unknown(left) || lineage_has_unknown(right))) {
        joined.is_rest_open = lineage_is_all_open(left) && lineage_is_all_open(right);
        joined.is_complete = false;
        joined.count = 0;
    }
    scope->are_rows_open =
        scope->are_rows_open && (is_natural ? joined.count > 0 && lineage_is_all_open(&merged)
                                            : lineage_is_all_open(&merged));
    scope->item_count--;
    scope->items[scope->item_count - 1].rows = joined;
    return merged;
}
