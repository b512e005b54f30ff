/* SPDX-License-Identifier: MIT */
/* Any text as a statement, three times: with all columns open, with some, and with none and nothing
 * the database's own. What is open with less is open with more, and columns are the same ones. */
#include "fuzz.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "sql/sql_lineage.h"

struct columns {
    bool are_own; /* functions and the like */
    struct sql_lineage_relation tables[2];
};

static const struct slice table_columns[] = {SLICE_INIT("id"), SLICE_INIT("a"), SLICE_INIT("s")};
static const bool all_open[] = {true, true, true};
static const bool some_open[] = {true, true, false};
static const bool none_open[] = {false, false, false};

static const struct sql_lineage_relation *find_table(void *context, const struct sql_name *name)
{
    const struct columns *columns = context;
    return slice_equals(name->name, SLICE("t"))   ? &columns->tables[0]
           : slice_equals(name->name, SLICE("u")) ? &columns->tables[1]
                                                  : NULL;
}

static bool is_own_function(void *context, const struct sql_name *name, uint32_t arguments)
{
    const struct columns *columns = context;
    (void)arguments;
    return columns->are_own && name->schema.len == 0;
}

static bool is_own(void *context, const struct sql_name *name)
{
    return is_own_function(context, name, 0);
}

static struct sql_lineage lineage_with(struct arena *arena, struct slice text, const bool *is_open,
                                       bool are_own)
{
    const struct sql_settings settings = {.dialect = SQL_POSTGRES};
    struct columns columns = {
        are_own,
        {{table_columns, is_open, 3, true, true}, {table_columns, is_open, 3, false, is_open[2]}}};
    const struct sql_lineage_catalog catalog = {find_table, is_own_function, is_own_function,
                                                is_own,     is_own,          &columns};
    return sql_lineage_of(arena, &settings, text, &catalog);
}

static void check_more(const struct sql_lineage *less, const struct sql_lineage *more)
{
    must(!less->is_known || less->columns != NULL || less->count == 0);
    must(!less->are_rows_open || more->are_rows_open);
    must(!less->is_all_open || more->is_all_open);
    if (!less->is_known || !more->is_known) {
        return;
    }
    must(less->count == more->count);
    for (size_t i = 0; i < less->count; i++) {
        must(!less->columns[i].is_open || more->columns[i].is_open);
        must(slice_equals(less->columns[i].label, more->columns[i].label));
        must(less->columns[i].label.len <= LIMIT_SQL_NAME_SIZE);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct arena arena; /* for all inputs */
    struct slice text = slice_of(bytes, size);
    struct sql_lineage all = lineage_with(&arena, text, all_open, true);
    struct sql_lineage some = lineage_with(&arena, text, some_open, true);
    struct sql_lineage none = lineage_with(&arena, text, none_open, false);
    check_more(&some, &all);
    check_more(&none, &some);
    arena_reset(&arena);
    return 0;
}
