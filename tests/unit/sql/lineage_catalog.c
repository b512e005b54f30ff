/* SPDX-License-Identifier: MIT */
#include "lineage_catalog.h"

#include "base/must.h"

struct lineage_entry {
    struct slice kind;
    struct sql_name name;
    struct sql_lineage_relation relation;
};

static struct slice next_word(struct slice *line)
{
    return slice_cut(*line, ' ', line);
}

static void read_columns(struct arena *arena, struct lineage_entry *entry, struct slice line)
{
    size_t capacity = line.len / 2 + 1;
    struct slice *columns = arena_alloc_array(arena, capacity, sizeof(*columns));
    bool *is_open = arena_alloc_array(arena, capacity, sizeof(*is_open));
    size_t count = 0;
    while (line.len > 0) {
        struct slice word = next_word(&line);
        is_open[count] = !slice_ends_with(word, SLICE("-"));
        columns[count] = slice_sub(word, 0, word.len - (is_open[count] ? 0 : 1));
        count++;
    }
    entry->relation = (struct sql_lineage_relation){columns, is_open, count,
                                                    slice_equals(entry->kind, SLICE("table")),
                                                    !slice_equals(entry->kind, SLICE("view-"))};
}

static const struct sql_lineage_relation *find_relation(void *context, const struct sql_name *name)
{
    const struct lineage_catalog *catalog = context;
    struct slice schema = name->schema.len > 0 ? name->schema : SLICE("public");
    for (size_t i = 0; i < catalog->count; i++) {
        const struct lineage_entry *entry = &catalog->entries[i];
        if (entry->relation.columns != NULL && slice_equals(entry->name.name, name->name) &&
            slice_equals(entry->name.schema, schema)) {
            return &entry->relation;
        }
    }
    return NULL;
}

static bool is_own(const struct lineage_catalog *catalog, const char *kind,
                   const struct sql_name *name)
{
    if (name->schema.len > 0 && !slice_equals(name->schema, SLICE("pg_catalog"))) {
        return false;
    }
    if (!catalog->has_functions) {
        return !slice_starts_with(name->name, SLICE("my_")) &&
               !slice_starts_with(name->name, SLICE("@@"));
    }
    for (size_t i = 0; i < catalog->count; i++) {
        const struct lineage_entry *entry = &catalog->entries[i];
        if (slice_equals(entry->kind, slice_of_text(kind)) &&
            slice_equals(entry->name.name, name->name)) {
            return true;
        }
    }
    return false;
}

static bool is_own_function(void *context, const struct sql_name *name, uint32_t arguments)
{
    (void)arguments;
    return is_own(context, "function", name);
}

static bool is_scalar_function(void *context, const struct sql_name *name, uint32_t arguments)
{
    const struct lineage_catalog *catalog = context;
    (void)arguments;
    return catalog->has_functions ? is_own(catalog, "scalar", name)
                                  : !slice_starts_with(name->name, SLICE("generate_"));
}

static bool is_own_operator(void *context, const struct sql_name *name)
{
    return is_own(context, "operator", name);
}

static bool is_own_type(void *context, const struct sql_name *name)
{
    return is_own(context, "type", name);
}

struct lineage_catalog *lineage_catalog_in(struct arena *arena, struct slice text)
{
    struct lineage_catalog *catalog = arena_alloc(arena, sizeof(*catalog));
    size_t capacity = 1;
    for (size_t i = 0; i < text.len; i++) {
        capacity += text.at[i] == '\n' ? 1 : 0;
    }
    catalog->entries = arena_alloc_array(arena, capacity, sizeof(*catalog->entries));
    while (text.len > 0) {
        struct slice line = slice_cut(text, '\n', &text);
        struct lineage_entry *entry = &catalog->entries[catalog->count++];
        entry->kind = next_word(&line);
        if (slice_equals(entry->kind, SLICE("table")) ||
            slice_starts_with(entry->kind, SLICE("view"))) {
            entry->name.schema = next_word(&line);
            entry->name.name = next_word(&line);
            read_columns(arena, entry, line);
        } else {
            entry->name.name = line;
            catalog->has_functions |= slice_equals(entry->kind, SLICE("function"));
        }
    }
    catalog->catalog = (struct sql_lineage_catalog){
        find_relation, is_own_function, is_scalar_function, is_own_operator, is_own_type, catalog};
    return catalog;
}

static void put(struct buf *buf, struct slice bytes)
{
    must(buf_append(buf, bytes) == ERR_NONE);
}

void lineage_write(struct buf *buf, const struct sql_lineage *lineage)
{
    if (!lineage->is_known) {
        put(buf, SLICE("unknown"));
        return;
    }
    for (size_t i = 0; i < lineage->count; i++) {
        const struct sql_lineage_column *column = &lineage->columns[i];
        put(buf, i == 0 ? SLICE_NONE : SLICE(" "));
        put(buf, column->label.at == NULL ? SLICE("?") : column->label);
        put(buf, column->is_open ? SLICE("+") : SLICE("-"));
    }
    put(buf, lineage->are_rows_open ? SLICE_NONE : SLICE(" rows-"));
}
