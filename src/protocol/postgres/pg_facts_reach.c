/* SPDX-License-Identifier: MIT */
/* Which relations are read or written where others are named. From a view it goes on to all that it
 * is made of; from a table to its parts, and to those that it is part of; from a deleted or changed
 * row by keys to the rows that go, or change, with it. Each relation is come by once for reading
 * and once for each way of writing, so a ring ends. */
#include "base/memory.h"
#include "protocol/postgres/pg_facts_internal.h"

#define WRITES_ROWS                                                                                \
    (SQL_BIT(SQL_INSERT) | SQL_BIT(SQL_UPDATE) | SQL_BIT(SQL_DELETE) | SQL_BIT(SQL_MERGE) |        \
     SQL_BIT(SQL_COPY) | SQL_BIT(SQL_TRUNCATE))
/* Views pass on what is done to their rows, and by another name they go on to do so. */
#define OF_VIEWS (WRITES_ROWS | SQL_BIT(SQL_ALTER) | SQL_BIT(SQL_RENAME))
/* What is done to a part is done to the whole. */
#define OF_PARTS (WRITES_ROWS | SQL_BIT(SQL_ALTER) | SQL_BIT(SQL_DROP))

enum reach_bit {
    REACH_READ = 1,
    REACH_WRITTEN = 2, /* by 'operations' */
    REACH_DELETED = 4, /* by a key */
    REACH_UPDATED = 8,
    REACH_WRITES = REACH_WRITTEN | REACH_DELETED | REACH_UPDATED,
    REACH_ALL = REACH_READ | REACH_WRITES,
};

/* The same, of a part only: but for the whole of the whole, nothing else is reached from there. */
#define REACH_UP_SHIFT 4

struct reach_step {
    struct fact_relation *relation;
    unsigned bits;
};

struct reach {
    const struct pg_facts *facts;
    struct guard_reached *reached;
    uint64_t operations;
    uint8_t *seen; /* reach bits, by the index of the relation; NULL: nothing goes on from there */
    struct reach_step *steps;
    size_t count;
    size_t capacity;
};

void pg_facts_link(struct pg_facts *facts)
{
    for (size_t i = 0; i < facts->edge_count; i++) {
        struct fact_edge *edge = &facts->edges[i];
        if (edge->kind != FACT_EDGE_COLUMN) {
            edge->next_from = edge->from->edges_from;
            edge->from->edges_from = edge;
            edge->next_to = edge->to->edges_to;
            edge->to->edges_to = edge;
        }
    }
}

static void reach_push(struct reach *reach, struct fact_relation *relation, unsigned bits)
{
    uint8_t *seen = &reach->seen[relation - reach->facts->relations];
    if ((bits & ~(unsigned)*seen) == 0) {
        return;
    }
    *seen |= (uint8_t)bits;
    if (reach->count == reach->capacity) {
        size_t capacity = reach->capacity * 2;
        struct reach_step *steps =
            arena_alloc_array(reach->reached->arena, capacity, sizeof(*steps));
        memcpy(steps, reach->steps, reach->count * sizeof(*steps));
        reach->steps = steps;
        reach->capacity = capacity;
    }
    reach->steps[reach->count++] = (struct reach_step){relation, bits};
}

static unsigned bits_of_key(char action, unsigned passed_on)
{
    return action == 'c' ? passed_on : action == 'n' || action == 'd' ? REACH_UPDATED : 0;
}

/* From a row that others refer to, to those. */
static unsigned bits_by_key(const struct reach *reach, const struct fact_edge *edge, unsigned bits)
{
    const uint64_t updates = SQL_BIT(SQL_UPDATE) | SQL_BIT(SQL_MERGE);
    const uint64_t deletes = SQL_BIT(SQL_DELETE) | SQL_BIT(SQL_MERGE);
    bool is_written = (bits & REACH_WRITTEN) != 0;
    bool is_deleted =
        (bits & REACH_DELETED) != 0 || (is_written && (reach->operations & deletes) != 0);
    bool is_updated =
        (bits & REACH_UPDATED) != 0 || (is_written && (reach->operations & updates) != 0);
    return (is_deleted ? bits_of_key(edge->when_deleted, REACH_DELETED) : 0) |
           (is_updated ? bits_of_key(edge->when_updated, REACH_UPDATED) : 0);
}

static void reach_from_edge(struct reach *reach, const struct fact_edge *edge, unsigned bits)
{
    bool is_of_view = (reach->operations & OF_VIEWS) != 0;
    bool is_of_part = (reach->operations & OF_PARTS) != 0;
    unsigned all = (bits | bits >> REACH_UP_SHIFT) & REACH_ALL;
    if (edge->kind == FACT_EDGE_VIEW) {
        reach_push(reach, edge->to, bits & (REACH_READ | (is_of_view ? REACH_WRITES : 0U)));
    } else if (edge->kind == FACT_EDGE_INHERIT) {
        reach_push(reach, edge->to,
                   (all & (REACH_READ | (is_of_part ? REACH_WRITES : 0U))) << REACH_UP_SHIFT);
    }
}

static void reach_to_edge(struct reach *reach, const struct fact_edge *edge, unsigned bits)
{
    if (edge->kind == FACT_EDGE_INHERIT) {
        reach_push(reach, edge->from, bits & REACH_ALL);
    } else if (edge->kind == FACT_EDGE_KEY) {
        reach_push(reach, edge->from, bits_by_key(reach, edge, bits));
    }
}

static void reach_add(struct reach *reach, struct slice schema, struct slice name, unsigned bits)
{
    unsigned all = bits | bits >> REACH_UP_SHIFT;
    const struct sql_relation relation = {
        .name = {schema, name},
        .is_read = (all & REACH_READ) != 0,
        .is_written = (all & REACH_WRITES) != 0,
        .operations = (all & REACH_WRITTEN) != 0 ? reach->operations : 0,
    };
    guard_reached_add(reach->reached, &relation);
}

static void reach_all(struct reach *reach)
{
    for (size_t i = 0; i < reach->count; i++) { /* which grows meanwhile */
        const struct fact_relation *relation = reach->steps[i].relation;
        unsigned bits = reach->steps[i].bits;
        reach_add(reach, relation->schema, relation->name, bits);
        if (relation->remote_name.len > 0) { /* by the name that it has there */
            reach_add(reach, relation->remote_schema, relation->remote_name, bits);
        }
        for (const struct fact_edge *edge = relation->edges_from; edge != NULL;
             edge = edge->next_from) {
            reach_from_edge(reach, edge, bits);
        }
        for (const struct fact_edge *edge = relation->edges_to; edge != NULL;
             edge = edge->next_to) {
            reach_to_edge(reach, edge, bits);
        }
    }
}

/* Most relations reach nothing but themselves. */
static bool is_alone(const struct fact_relation *relation)
{
    return relation->edges_from == NULL && relation->edges_to == NULL &&
           relation->remote_name.len == 0;
}

void pg_facts_reach(const struct pg_facts *facts, const struct sql_relation *named,
                    struct guard_reached *reached)
{
    struct reach reach = {.facts = facts, .reached = reached, .operations = named->operations};
    bool is_read = named->is_read || (named->operations & SQL_BIT(SQL_REFRESH)) != 0;
    unsigned bits = (is_read ? REACH_READ : 0U) | (named->is_written ? REACH_WRITTEN : 0U);
    for (struct fact_relation *relation = map_get(&facts->by_name, named->name.name);
         relation != NULL; relation = relation->next_of_name) {
        bool is_meant =
            named->name.schema.len == 0 || slice_equals(named->name.schema, relation->schema);
        if (!is_meant || is_alone(relation)) {
            continue;
        }
        if (reach.seen == NULL) {
            reach.seen = arena_alloc_array(reached->arena, facts->relation_count, 1);
            reach.capacity = 32;
            reach.steps = arena_alloc_array(reached->arena, reach.capacity, sizeof(*reach.steps));
        }
        reach_push(&reach, relation, bits);
    }
    reach_all(&reach);
}
