/* SPDX-License-Identifier: MIT */
#include "sql/sql_internal.h"

#include "base/limits.h"
#include "base/memory.h"

#define GROWTH_MAX 100000 /* up to which the room grows by more */

void *sql_grow(struct arena *arena, const void *items, size_t count, size_t *capacity, size_t size)
{
    /* What is not used of it costs nothing. */
    size_t grown = *capacity == 0 ? 16 : *capacity * (*capacity < GROWTH_MAX ? 4 : 2);
    must(grown <= SIZE_MAX / size);
    void *at = arena_alloc_bare(arena, grown * size);
    if (count > 0) {
        memcpy(at, items, count * size);
    }
    *capacity = grown;
    return at;
}

void sql_names_clear(struct sql_scan *scan)
{
    struct sql_scratch *scratch = scan->scratch;
    scan->entry_count = 0;
    scan->with_count = 0;
    /* Too many names make a statement unknown, whoever asks; no token makes more than four. */
    scan->has_columns = scan->wants_columns || scan->token_count > LIMIT_SQL_NAMES / 4;
    scan->statement->relations = scratch->relations;
    scan->relation_capacity = COUNT_OF(scratch->relations);
    scan->statement->functions = scratch->functions;
    scan->function_capacity = COUNT_OF(scratch->functions);
    scan->statement->columns = scratch->columns;
    scan->column_capacity = COUNT_OF(scratch->columns);
    scan->statement->operators = scratch->operators;
    scan->operator_capacity = COUNT_OF(scratch->operators);
    scan->statement->types = scratch->types;
    scan->type_capacity = COUNT_OF(scratch->types);
    scan->unread = scratch->unread;
    scan->unread_capacity = COUNT_OF(scratch->unread);
    scan->unread_count = 0;
    scan->slots = scratch->slots;
    scan->slot_count = COUNT_OF(scratch->slots);
    memset(scratch->slots, 0, sizeof(scratch->slots));
}

/* Cut as servers cut it, between characters. */
static struct slice sql_cut(struct slice name)
{
    if (name.len <= LIMIT_SQL_NAME_SIZE) {
        return name;
    }
    size_t len = LIMIT_SQL_NAME_SIZE;
    while (len > 0 && ((unsigned char)name.at[len] & 0xc0) == 0x80) {
        len--;
    }
    return slice_sub(name, 0, len);
}

/* Without the quotes, each doubled one once. */
static struct slice sql_unquote(struct sql_scan *scan, struct slice quoted)
{
    struct slice inside = slice_sub(quoted, 1, quoted.len - 2);
    char *at = arena_alloc(scan->arena, inside.len + SQL_PADDING);
    size_t len = 0;
    for (size_t i = 0; i < inside.len; i++) {
        at[len++] = inside.at[i];
        i += inside.at[i] == '"' ? 1 : 0;
    }
    return slice_of(at, len);
}

static bool sql_hex(struct slice digits, uint32_t *ret_code)
{
    uint32_t code = 0;
    for (size_t i = 0; i < digits.len; i++) {
        char c = digits.at[i];
        uint32_t value = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10
                                                : 16;
        if (value == 16) {
            return false;
        }
        code = code * 16 + value;
    }
    *ret_code = code;
    return true;
}

static size_t sql_put_code(char *at, uint32_t code)
{
    if (code < 0x80) {
        at[0] = (char)code;
        return 1;
    }
    size_t len = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = len - 1; i > 0; i--) {
        at[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    at[0] = (char)(heads[len] | code);
    return len;
}

/* \0061 and \+000061; of a pair of surrogates both. False: it is none. */
static bool sql_read_escape(struct slice text, char escape, size_t *at, uint32_t *ret_code)
{
    bool is_long = *at + 1 < text.len && text.at[*at + 1] == '+';
    size_t digits = is_long ? 6 : 4;
    size_t start = *at + (is_long ? 2 : 1);
    if (text.at[*at] != escape || start + digits > text.len ||
        !sql_hex(slice_sub(text, start, digits), ret_code)) {
        return false;
    }
    *at = start + digits;
    return true;
}

/* Without UESCAPE and its character, which belong to the token. */
static struct slice sql_quoted_part(struct slice written)
{
    size_t end = slice_find_byte(written, '"') + 1;
    while (end < written.len &&
           (written.at[end] != '"' || (end + 1 < written.len && written.at[end + 1] == '"'))) {
        end += written.at[end] == '"' ? 2 : 1;
    }
    return slice_sub(written, 2, end - 1);
}

/* U&"d\0061ta": what it spells; where that is nothing, the statement is unknown. */
static struct slice sql_decode(struct sql_scan *scan, struct slice quoted, char escape)
{
    struct slice inside = sql_unquote(scan, sql_quoted_part(quoted));
    char *at = arena_alloc(scan->arena, inside.len + SQL_PADDING);
    size_t len = 0;
    for (size_t i = 0; i < inside.len;) {
        uint32_t code = 0;
        if (inside.at[i] != escape) {
            at[len++] = inside.at[i++];
            continue;
        }
        if (i + 1 < inside.len && inside.at[i + 1] == escape) {
            at[len++] = escape;
            i += 2;
            continue;
        }
        bool is_good = sql_read_escape(inside, escape, &i, &code);
        if (is_good && code >= 0xd800 && code < 0xdc00) {
            uint32_t low = 0;
            is_good = i < inside.len && sql_read_escape(inside, escape, &i, &low) &&
                      low >= 0xdc00 && low < 0xe000;
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        } else if (code >= 0xdc00 && code < 0xe000) {
            is_good = false;
        }
        if (!is_good || code == 0 || code > 0x10ffff) {
            sql_unknown(scan, "an escape in a quoted name is not one");
            return inside;
        }
        len += sql_put_code(at + len, code);
    }
    return slice_of(at, len);
}

struct slice sql_token_name_other(struct sql_scan *scan, size_t index)
{
    const struct sql_token *token = &scan->tokens[index];
    struct slice written = sql_token_text(scan, index);
    switch (token->kind) {
    case SQL_TOKEN_QUOTED:
        return sql_cut(sql_unquote(scan, written));
    case SQL_TOKEN_QUOTED_UNICODE:
        return sql_cut(sql_decode(scan, written, token->escape == '\0' ? '\\' : token->escape));
    default:
        return sql_cut((struct slice){scan->lower + token->offset, token->len});
    }
}

bool sql_take_name(struct sql_scan *scan, struct sql_name *ret_name)
{
    *ret_name = (struct sql_name){SLICE_NONE, SLICE_NONE};
    if (!sql_token_is_name(scan, scan->at)) {
        return false;
    }
    ret_name->name = sql_token_name(scan, scan->at++);
    while (sql_kind_at(scan, scan->at) == SQL_TOKEN_DOT && sql_token_is_name(scan, scan->at + 1)) {
        ret_name->schema = ret_name->name;
        ret_name->name = sql_token_name(scan, scan->at + 1);
        scan->at += 2;
    }
    return true;
}

/* The first eight bytes; of less, with zeros behind them, which no name has. */
static inline uint64_t sql_key(struct slice name)
{
    if (name.len == 0) {
        return 0;
    }
    uint64_t bytes = sql_load(name.at);
    return name.len >= 8 ? bytes : bytes & ((UINT64_C(1) << name.len * 8) - 1);
}

/* The seed keeps those who send names from choosing where they go. 'key' is sql_key() of it. */
static inline uint64_t sql_mix(uint64_t hash, struct slice name, uint64_t key)
{
    const uint64_t factor = UINT64_C(0x9fb21c651e98df25);
    hash = (hash ^ key) * factor;
    for (size_t at = 8; at < name.len; at += 8) {
        struct slice rest = {name.at + at, name.len - at};
        hash = ((hash ^ hash >> 29) ^ sql_key(rest)) * factor;
    }
    return hash ^ hash >> 32;
}

/* Of names whose keys are the same. */
static inline bool sql_same(struct slice a, struct slice b)
{
    return a.len == b.len && (a.len <= 8 || memcmp(a.at + 8, b.at + 8, a.len - 8) == 0);
}

static inline bool sql_is_entry(const struct sql_entry *a, const struct sql_entry *b)
{
    return a->kind == b->kind && a->keys[0] == b->keys[0] && a->keys[1] == b->keys[1] &&
           sql_same(a->first, b->first) && sql_same(a->second, b->second);
}

static void sql_slots_grow(struct sql_scan *scan)
{
    size_t count = scan->slot_count * 4;
    uint64_t *slots = arena_alloc_array(scan->arena, count, sizeof(*slots));
    for (size_t i = 0; i < scan->slot_count; i++) {
        size_t slot = scan->slots[i] >> 32 & (count - 1);
        while (scan->slots[i] != 0 && slots[slot] != 0) {
            slot = (slot + 1) & (count - 1);
        }
        if (scan->slots[i] != 0) {
            slots[slot] = scan->slots[i];
        }
    }
    scan->slots = slots;
    scan->slot_count = count;
}

/* NULL: there is none, and *ret_slot is where it would be. */
static struct sql_entry *sql_find(struct sql_scan *scan, struct sql_entry *wanted, size_t *ret_slot)
{
    uint64_t hash = scan->seed + wanted->kind;
    wanted->keys[0] = sql_key(wanted->first);
    wanted->keys[1] = sql_key(wanted->second);
    hash = wanted->first.len > 0 ? sql_mix(hash, wanted->first, wanted->keys[0]) : hash;
    wanted->hash = (uint32_t)sql_mix(hash, wanted->second, wanted->keys[1]);
    size_t slot = wanted->hash & (scan->slot_count - 1);
    for (; scan->slots[slot] != 0; slot = (slot + 1) & (scan->slot_count - 1)) {
        struct sql_entry *entry = &scan->entries[(uint32_t)scan->slots[slot] - 1];
        if (scan->slots[slot] >> 32 == wanted->hash && sql_is_entry(entry, wanted)) {
            return entry;
        }
    }
    *ret_slot = slot;
    return NULL;
}

/* *ret_is_new: its value is 0, and is to be set. */
static struct sql_entry *sql_intern(struct sql_scan *scan, struct sql_entry *wanted,
                                    bool *ret_is_new)
{
    size_t slot = 0;
    struct sql_entry *found = sql_find(scan, wanted, &slot);
    *ret_is_new = found == NULL;
    if (found != NULL) {
        return found;
    }
    scan->entries = sql_room(scan->arena, scan->entries, scan->entry_count, &scan->entry_capacity,
                             sizeof(*scan->entries));
    scan->entries[scan->entry_count++] = *wanted;
    scan->slots[slot] = (uint64_t)wanted->hash << 32 | scan->entry_count;
    if (scan->entry_count * 2 > scan->slot_count) {
        sql_slots_grow(scan);
    }
    if (scan->entry_count >= LIMIT_SQL_NAMES) {
        sql_stop(scan, "too many names");
    }
    return &scan->entries[scan->entry_count - 1];
}

size_t sql_add_relation(struct sql_scan *scan, struct sql_name name, uint64_t operations)
{
    struct sql_statement *statement = scan->statement;
    bool is_new = false;
    struct sql_entry wanted = {name.schema, name.name, .kind = SQL_ENTRY_RELATION};
    struct sql_entry *entry = sql_intern(scan, &wanted, &is_new);
    if (is_new) {
        statement->relations =
            sql_room(scan->arena, statement->relations, statement->relation_count,
                     &scan->relation_capacity, sizeof(*statement->relations));
        entry->value = (uint32_t)statement->relation_count++;
        statement->relations[entry->value] = (struct sql_relation){.name = name};
    }
    struct sql_relation *relation = &statement->relations[entry->value];
    if (operations == 0 || scan->is_planned) {
        relation->is_read = true;
    } else {
        relation->is_written = true;
        relation->operations |= operations;
    }
    return entry->value;
}

void sql_add_all(struct sql_scan *scan, struct slice schema, uint64_t operations)
{
    size_t index = sql_add_relation(scan, (struct sql_name){schema, sql_all()}, operations);
    scan->statement->relations[index].is_all = true;
}

uint32_t sql_add_function(struct sql_scan *scan, struct sql_name name, bool is_field)
{
    struct sql_statement *statement = scan->statement;
    bool is_new = false;
    struct sql_entry wanted = {name.schema, name.name,
                               .kind = is_field ? SQL_ENTRY_FIELD : SQL_ENTRY_FUNCTION};
    struct sql_entry *entry = sql_intern(scan, &wanted, &is_new);
    if (is_new) {
        statement->functions =
            sql_room(scan->arena, statement->functions, statement->function_count,
                     &scan->function_capacity, sizeof(*statement->functions));
        statement->functions[statement->function_count++] =
            (struct sql_function){.name = name, .argument_min = UINT32_MAX, .is_field = is_field};
        entry->value = (uint32_t)statement->function_count;
        if (is_field) {
            sql_add_arguments(scan, entry->value, 1);
        }
    }
    return entry->value;
}

void sql_add_arguments(struct sql_scan *scan, uint32_t function, uint32_t count)
{
    struct sql_function *called = &scan->statement->functions[function - 1];
    called->argument_min = count < called->argument_min ? count : called->argument_min;
    called->argument_max = count > called->argument_max ? count : called->argument_max;
}

/* Where the name is new, there is room for one more. */
static struct sql_name *sql_add_name(struct sql_scan *scan, struct sql_name name,
                                     enum sql_entry_kind kind, struct sql_name *names,
                                     size_t *count, size_t *capacity)
{
    bool is_new = false;
    struct sql_entry wanted = {name.schema, name.name, .kind = (uint8_t)kind};
    (void)sql_intern(scan, &wanted, &is_new);
    if (is_new) {
        names = sql_room(scan->arena, names, *count, capacity, sizeof(*names));
        names[(*count)++] = name;
    }
    return names;
}

void sql_add_operator(struct sql_scan *scan, struct slice schema, struct slice name)
{
    struct sql_statement *statement = scan->statement;
    if (scan->has_columns) {
        statement->operators = sql_add_name(scan, (struct sql_name){schema, name},
                                            SQL_ENTRY_OPERATOR, statement->operators,
                                            &statement->operator_count, &scan->operator_capacity);
    }
}

void sql_add_type(struct sql_scan *scan, struct sql_name name)
{
    struct sql_statement *statement = scan->statement;
    if (scan->has_columns) {
        statement->types = sql_add_name(scan, name, SQL_ENTRY_TYPE, statement->types,
                                        &statement->type_count, &scan->type_capacity);
    }
}

void sql_see_column(struct sql_scan *scan)
{
    for (size_t i = 0; i < scan->unread_count; i++) {
        scan->statement->relations[scan->unread[i]].is_read = true;
    }
    scan->unread_count = 0;
    if (scan->where_depth > 0 && scan->where_depth <= scan->depth) {
        scan->frames[scan->where_depth - 1].has_where = true;
    }
    scan->where_depth = 0;
}

void sql_add_column(struct sql_scan *scan, struct slice qualifier, struct slice name, bool is_used)
{
    struct sql_statement *statement = scan->statement;
    bool is_new = false;
    if (!scan->has_columns) {
        return;
    }
    struct sql_entry wanted = {qualifier, name, .kind = SQL_ENTRY_COLUMN};
    struct sql_entry *entry = sql_intern(scan, &wanted, &is_new);
    if (is_new) {
        statement->columns = sql_room(scan->arena, statement->columns, statement->column_count,
                                      &scan->column_capacity, sizeof(*statement->columns));
        entry->value = (uint32_t)statement->column_count++;
        statement->columns[entry->value] = (struct sql_column){qualifier, name, false};
    }
    statement->columns[entry->value].is_used |= is_used;
}

void sql_add_alias(struct sql_scan *scan, struct slice name)
{
    bool is_new = false;
    if (!scan->has_columns) {
        return;
    }
    struct sql_entry wanted = {.second = name, .kind = SQL_ENTRY_ALIAS};
    (void)sql_intern(scan, &wanted, &is_new);
}

void sql_with_push(struct sql_scan *scan, struct slice name)
{
    bool is_new = false;
    struct sql_entry wanted = {.second = name, .kind = SQL_ENTRY_WITH};
    struct sql_entry *entry = sql_intern(scan, &wanted, &is_new);
    entry->value++;
    scan->with_names = sql_room(scan->arena, scan->with_names, scan->with_count,
                                &scan->with_capacity, sizeof(*scan->with_names));
    scan->with_names[scan->with_count++] = (uint32_t)(entry - scan->entries);
}

void sql_with_cut(struct sql_scan *scan, size_t count)
{
    while (scan->with_count > count) {
        scan->entries[scan->with_names[--scan->with_count]].value--;
    }
}

bool sql_with_has(struct sql_scan *scan, struct slice name)
{
    struct sql_entry wanted = {.second = name, .kind = SQL_ENTRY_WITH};
    size_t slot = 0;
    if (scan->with_count == 0) {
        return false;
    }
    const struct sql_entry *entry = sql_find(scan, &wanted, &slot);
    return entry != NULL && entry->value > 0;
}

/* What lies in the scratch goes into the arena. */
static void *sql_settle(struct sql_scan *scan, void *items, const void *scratch, size_t size)
{
    if (items != scratch || size == 0) {
        return size == 0 ? NULL : items;
    }
    void *at = arena_alloc(scan->arena, size);
    memcpy(at, items, size);
    return at;
}

void sql_names_finish(struct sql_scan *scan)
{
    struct sql_statement *statement = scan->statement;
    size_t count = statement->column_count; /* without those added here */
    for (size_t i = 0; i < count; i++) {
        struct sql_column *column = &statement->columns[i];
        column->is_used = column->is_used || scan->is_combined || scan->is_kept;
        struct sql_entry alias = {.second = column->name, .kind = SQL_ENTRY_ALIAS};
        size_t slot = 0;
        if (column->qualifier.len == 0 && sql_find(scan, &alias, &slot) != NULL) {
            sql_add_column(scan, column->name, sql_all(), true);
        }
    }
    for (size_t i = 0; i < statement->function_count; i++) {
        struct sql_function *function = &statement->functions[i];
        if (function->argument_min > function->argument_max) { /* no call of it was seen whole */
            function->argument_min = 0;
            function->argument_max = UINT32_MAX;
        }
    }
    statement->relations = sql_settle(scan, statement->relations, scan->scratch->relations,
                                      statement->relation_count * sizeof(*statement->relations));
    statement->functions = sql_settle(scan, statement->functions, scan->scratch->functions,
                                      statement->function_count * sizeof(*statement->functions));
    statement->columns = sql_settle(scan, statement->columns, scan->scratch->columns,
                                    statement->column_count * sizeof(*statement->columns));
    statement->operators = sql_settle(scan, statement->operators, scan->scratch->operators,
                                      statement->operator_count * sizeof(*statement->operators));
    statement->types = sql_settle(scan, statement->types, scan->scratch->types,
                                  statement->type_count * sizeof(*statement->types));
}
