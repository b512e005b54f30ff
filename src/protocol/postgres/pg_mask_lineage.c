/* SPDX-License-Identifier: MIT */
/* Which columns of a result are computed of nothing masked: by the text of the statement, and what
 * the catalog says of the names in it. Worked out once for a statement, as long as the catalog is
 * the same. */
#include "policy/guard_function.h"
#include "protocol/postgres/pg_mask_reach.h"
#include "sql/sql_lineage.h"

/* A relation that was asked for: the same one by the same address. */
struct lineage_relation {
    struct lineage_relation *next;
    uint32_t oid;
    struct sql_lineage_relation relation;
};

struct lineage_context {
    struct arena *arena;
    const struct pg_facts *facts;
    struct lineage_relation *relations;
};

/* A name that can stand for several is not followed. */
static const struct sql_lineage_relation *relation_of(void *context, const struct sql_name *name)
{
    struct lineage_context *self = context;
    struct pg_facts_relation found = pg_facts_relation(self->facts, name, false);
    struct pg_facts_column column;
    size_t count = 0;
    if (found.oid == 0 || found.reach == PG_FACTS_UNKNOWN) {
        return NULL;
    }
    for (struct lineage_relation *known = self->relations; known != NULL; known = known->next) {
        if (known->oid == found.oid) {
            return &known->relation;
        }
    }
    while (pg_facts_column_at(self->facts, found.oid, count, &column)) {
        count++;
    }
    struct slice *columns = arena_alloc_array(self->arena, count + 1, sizeof(*columns));
    bool *is_open = arena_alloc_array(self->arena, count + 1, sizeof(*is_open));
    for (size_t i = 0; pg_facts_column_at(self->facts, found.oid, i, &column); i++) {
        columns[i] = column.name;
        is_open[i] = column.whole == NULL;
    }
    struct lineage_relation *made = arena_alloc(self->arena, sizeof(*made));
    made->oid = found.oid;
    made->next = self->relations;
    made->relation = (struct sql_lineage_relation){
        .columns = columns,
        .is_open = is_open,
        .count = count,
        .has_system_columns = !found.is_view,
        .are_rows_open = !found.is_view,
    };
    self->relations = made;
    return &made->relation;
}

static bool is_own_function(void *context, const struct sql_name *name, uint32_t arguments)
{
    const struct lineage_context *self = context;
    uint32_t least = arguments == UINT32_MAX ? 0 : arguments;
    return guard_function_is_harmless(name) && !pg_mask_gives_back(name->name) &&
           pg_facts_is_own_function(self->facts, name, least, arguments);
}

static bool is_own_operator(void *context, const struct sql_name *name)
{
    const struct lineage_context *self = context;
    return pg_facts_is_own_operator(self->facts, name);
}

static bool is_own_type(void *context, const struct sql_name *name)
{
    const struct lineage_context *self = context;
    return pg_facts_is_own_type(self->facts, name);
}

static void work_out(struct statement *statement, struct pg_facts *facts)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    struct lineage_context context = {.arena = &arena, .facts = facts};
    const struct sql_settings settings = {.dialect = SQL_POSTGRES,
                                          .is_backslash_quoted = statement->is_backslash_quoted};
    const struct sql_lineage_catalog catalog = {
        .relation = relation_of,
        .is_own_function = is_own_function,
        .is_own_operator = is_own_operator,
        .is_own_type = is_own_type,
        .context = &context,
    };
    struct sql_lineage lineage = sql_lineage_of(&arena, &settings, statement->text, &catalog);
    memory_free(statement->is_open);
    statement->is_open = memory_new_array(lineage.count + 1, sizeof(statement->is_open[0]));
    statement->open_count = lineage.is_known ? lineage.count : 0;
    for (size_t i = 0; i < statement->open_count; i++) {
        statement->is_open[i] = lineage.columns[i].is_open;
    }
}

bool pg_mask_is_open(struct pg_mask *mask, struct statement *statement, size_t index, size_t count)
{
    if (statement == NULL || mask->facts == NULL || statement->text.len == 0 ||
        !statement->is_script_known || statement->script.count != 1) {
        return false;
    }
    if (statement->is_open == NULL || statement->open_generation != mask->generation) {
        work_out(statement, mask->facts);
        statement->open_generation = mask->generation;
    }
    return statement->open_count == count && index < count && statement->is_open[index];
}
