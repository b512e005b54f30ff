/* SPDX-License-Identifier: MIT */
/* Relations that a statement reaches through those that it names, as a catalog says: they are put
 * beside the others, and rules meet them as if they had been named. */
#include "base/memory.h"
#include "policy/guard_internal.h"

void guard_reached_add(struct guard_reached *reached, const struct sql_relation *relation)
{
    if (reached->count == reached->capacity) {
        size_t capacity = reached->capacity == 0 ? 16 : reached->capacity * 2;
        struct sql_relation *items = arena_alloc_array(reached->arena, capacity, sizeof(*items));
        for (size_t i = 0; i < reached->count; i++) {
            items[i] = reached->items[i];
        }
        reached->items = items;
        reached->capacity = capacity;
    }
    reached->items[reached->count++] = *relation;
}

static void reach_from(struct guard_reached *reached, struct sql_statement *statement,
                       const struct guard_known *known)
{
    struct guard_reached found = {.arena = reached->arena};
    for (size_t i = 0; i < statement->relation_count; i++) {
        guard_reached_add(&found, &statement->relations[i]);
    }
    for (size_t i = 0; i < statement->relation_count; i++) {
        if (!statement->relations[i].is_all) {
            known->reach(known->context, &statement->relations[i], &found);
        }
    }
    if (found.count > statement->relation_count) {
        statement->relations = found.items;
        statement->relation_count = found.count;
    }
}

const struct sql_script *guard_reach_in(struct arena *arena, const struct sql_script *script,
                                        const struct guard_known *known)
{
    if (known->reach == NULL || script->count == 0) {
        return script;
    }
    struct guard_reached reached = {.arena = arena};
    struct sql_script *whole = arena_alloc(arena, sizeof(*whole));
    *whole = *script;
    whole->statements = arena_alloc_array(arena, script->count, sizeof(*whole->statements));
    for (size_t i = 0; i < script->count; i++) {
        whole->statements[i] = script->statements[i];
        reach_from(&reached, &whole->statements[i], known);
    }
    return whole;
}
