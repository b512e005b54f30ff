/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "policy/guard_function.h"
#include "policy/guard_internal.h"

#define WRITES_ROWS                                                                                \
    (SQL_BIT(SQL_INSERT) | SQL_BIT(SQL_UPDATE) | SQL_BIT(SQL_DELETE) | SQL_BIT(SQL_MERGE) |        \
     SQL_BIT(SQL_COPY) | SQL_BIT(SQL_TRUNCATE))
/* What fires event triggers (PostgreSQL, 40.2). */
#define DEFINES                                                                                    \
    (SQL_BIT(SQL_CREATE) | SQL_BIT(SQL_ALTER) | SQL_BIT(SQL_DROP) | SQL_BIT(SQL_RENAME) |          \
     SQL_BIT(SQL_COMMENT) | SQL_BIT(SQL_GRANT) | SQL_BIT(SQL_REVOKE) | SQL_BIT(SQL_REFRESH) |      \
     SQL_BIT(SQL_REINDEX) | SQL_BIT(SQL_IMPORT))

/* It may make more than one name of each thing that a statement names, but no more than two. */
struct name_list {
    struct guard_name *items;
    size_t count;
    size_t statement;
};

static void name_add(struct name_list *list, enum guard_name_kind kind, struct sql_name name)
{
    list->items[list->count++] =
        (struct guard_name){.kind = kind, .name = name, .statement = list->statement};
}

/* In a schema that nobody but the database's owner writes to. */
static bool name_is_own(const struct sql_name *name)
{
    return slice_equals(name->schema, SLICE("pg_catalog")) ||
           slice_equals(name->schema, SLICE("information_schema"));
}

static void name_add_calls(struct name_list *list, const struct sql_statement *statement)
{
    for (size_t i = 0; i < statement->function_count; i++) {
        const struct sql_function *function = &statement->functions[i];
        bool is_asked = function->is_field || (guard_function_is_harmless(&function->name) &&
                                               function->name.schema.len == 0);
        if (is_asked) {
            name_add(list, function->is_field ? GUARD_NAME_FIELD : GUARD_NAME_FUNCTION,
                     function->name);
            list->items[list->count - 1].argument_min = function->argument_min;
            list->items[list->count - 1].argument_max = function->argument_max;
        }
    }
    for (size_t i = 0; i < statement->column_count; i++) {
        const struct sql_column *column = &statement->columns[i];
        if (column->qualifier.len > 0 && !slice_equals(column->name, SLICE("*"))) {
            name_add(list, GUARD_NAME_FIELD, (struct sql_name){SLICE(""), column->name});
            list->items[list->count - 1].argument_min = 1;
            list->items[list->count - 1].argument_max = 1;
        }
    }
}

static void name_add_others(struct name_list *list, const struct sql_statement *statement)
{
    for (size_t i = 0; i < statement->operator_count; i++) {
        if (!name_is_own(&statement->operators[i])) {
            name_add(list, GUARD_NAME_OPERATOR, statement->operators[i]);
        }
    }
    for (size_t i = 0; i < statement->type_count; i++) {
        if (!name_is_own(&statement->types[i])) {
            name_add(list, GUARD_NAME_TYPE, statement->types[i]);
        }
    }
    for (size_t i = 0; i < statement->relation_count; i++) {
        const struct sql_relation *relation = &statement->relations[i];
        bool is_read = relation->is_read || (relation->operations & SQL_BIT(SQL_REFRESH)) != 0;
        if (is_read && !name_is_own(&relation->name)) {
            name_add(list, GUARD_NAME_READ, relation->name);
        }
        if ((relation->operations & WRITES_ROWS) != 0) {
            name_add(list, GUARD_NAME_WRITTEN, relation->name);
        }
    }
    if ((statement->operations & DEFINES) != 0) {
        name_add(list, GUARD_NAME_DEFINED, (struct sql_name){SLICE(""), SLICE("")});
    }
}

static size_t name_count_most(const struct sql_script *script)
{
    size_t count = 0;
    for (size_t i = 0; i < script->count; i++) {
        const struct sql_statement *statement = &script->statements[i];
        count += statement->function_count + statement->column_count + statement->operator_count +
                 statement->type_count + statement->relation_count * 2 + 1;
    }
    return count;
}

struct guard_names guard_names_in(struct arena *arena, const struct guard_scope *scope,
                                  const struct sql_script *script)
{
    if (!scope->asks_names) {
        return (struct guard_names){0};
    }
    struct name_list list = {
        .items = arena_alloc_array(arena, name_count_most(script), sizeof(*list.items))};
    for (size_t i = 0; i < script->count; i++) {
        list.statement = i;
        name_add_calls(&list, &script->statements[i]);
        name_add_others(&list, &script->statements[i]);
    }
    return (struct guard_names){.items = list.items, .count = list.count};
}

struct slice guard_name_why(const struct guard_sql *sql, const struct guard_name *name)
{
    static const char *const why[] = {
        [GUARD_NAME_FUNCTION] = "it calls a function that may do anything",
        [GUARD_NAME_FIELD] = "it calls a function that may do anything",
        [GUARD_NAME_OPERATOR] = "it uses an operator that may do anything",
        [GUARD_NAME_TYPE] = "it makes values of a type that may do anything",
        [GUARD_NAME_READ] = "it reads from what may do anything",
        [GUARD_NAME_WRITTEN] = "it writes to what may do anything",
        [GUARD_NAME_DEFINED] = "it defines something, and event triggers may do anything",
    };
    bool is_call = name->kind == GUARD_NAME_FUNCTION || name->kind == GUARD_NAME_FIELD;
    if (name->identity == GUARD_IDENTITY_OWN || (is_call && guard_sql_is_safe(sql, &name->name))) {
        return SLICE_NONE;
    }
    return slice_of_text(why[name->kind]);
}
