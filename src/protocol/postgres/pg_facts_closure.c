/* SPDX-License-Identifier: MIT */
/* What is masked by more than its own name: a part of a table is what the whole is, and the other
 * way round; a view that uses a masked column is masked in all its columns but those that are just
 * columns that are not; one that may run what uses one is masked in all. */
#include "protocol/postgres/pg_facts_internal.h"

/* Of the server's own relations: what holds values that others read or wrote. */
struct remembered {
    struct slice relation;
    struct slice column; /* all that begin so */
};

static const struct remembered remembered[] = {
    {SLICE_INIT("pg_statistic"), SLICE_INIT("stavalues")},
    {SLICE_INIT("pg_statistic"), SLICE_INIT("stanumbers")},
    {SLICE_INIT("pg_statistic_ext_data"), SLICE_INIT("stxd")},
    {SLICE_INIT("pg_stats"), SLICE_INIT("most_common_")},
    {SLICE_INIT("pg_stats"), SLICE_INIT("histogram_bounds")},
    {SLICE_INIT("pg_stats"), SLICE_INIT("range_")},
    {SLICE_INIT("pg_stats_ext"), SLICE_INIT("most_common_")},
    {SLICE_INIT("pg_stats_ext_exprs"), SLICE_INIT("most_common_")},
    {SLICE_INIT("pg_stats_ext_exprs"), SLICE_INIT("histogram_bounds")},
    {SLICE_INIT("pg_stat_activity"), SLICE_INIT("query")},
    {SLICE_INIT("pg_stat_activity"), SLICE_INIT("application_name")},
    {SLICE_INIT("pg_locks"), SLICE_INIT("classid")}, /* of advisory locks: their number */
    {SLICE_INIT("pg_locks"), SLICE_INIT("objid")},
    {SLICE_INIT("pg_largeobject"), SLICE_INIT("data")},
};

static void mask_column(struct fact_relation *relation, struct fact_column *column,
                        const struct mask_strategy *whole)
{
    column->whole = column->whole == NULL ? whole : column->whole;
    relation->has_masked = true;
    relation->is_reached = true;
}

static void mask_all(struct pg_facts *facts, struct fact_relation *relation)
{
    const struct mask_strategy *strictest = mask_rules_strictest(facts->rules);
    for (size_t i = 0; i < relation->column_count; i++) {
        mask_column(relation, &relation->columns[i], strictest);
    }
    relation->has_masked = true;
    relation->is_reached = true;
}

/* All that is not just a column of another relation. */
static void mask_computed(struct pg_facts *facts, struct fact_relation *view)
{
    const struct mask_strategy *strictest = mask_rules_strictest(facts->rules);
    for (size_t i = 0; i < view->column_count; i++) {
        struct fact_column *column = &view->columns[i];
        if (!column->has_origin || column->is_computed) {
            mask_column(view, column, strictest);
        }
    }
    view->uses_masked = true;
    view->is_reached = true;
}

/* By their names ------------------------------------------------------------------------------- */

static const struct mask_strategy *strategy_of(const struct pg_facts *facts, struct slice schema,
                                               struct slice table, struct slice column)
{
    const struct mask_origin origin = {.schema = schema, .table = table, .column = column};
    return mask_plan_of(facts->rules, &origin, SLICE("")).whole;
}

/* A foreign table is what it is called here, and what it is called there. */
static void mask_named(struct pg_facts *facts, struct fact_relation *relation)
{
    bool is_foreign = relation->kind == 'f';
    struct slice schema =
        relation->remote_schema.len > 0 ? relation->remote_schema : relation->schema;
    struct slice table = relation->remote_name.len > 0 ? relation->remote_name : relation->name;
    for (size_t i = 0; i < relation->column_count; i++) {
        struct fact_column *column = &relation->columns[i];
        struct slice remote = column->remote.len > 0 ? column->remote : column->name;
        const struct mask_strategy *whole =
            strategy_of(facts, relation->schema, relation->name, column->name);
        if (whole == NULL && is_foreign) {
            whole = strategy_of(facts, schema, table, remote);
        }
        if (whole != NULL) {
            mask_column(relation, column, whole);
        }
    }
}

/* Only where there is anything masked that they can remember. */
static void mask_remembered(struct pg_facts *facts, struct fact_relation *relation)
{
    for (size_t i = 0; i < COUNT_OF(remembered); i++) {
        for (size_t j = 0;
             slice_equals(relation->name, remembered[i].relation) && j < relation->column_count;
             j++) {
            if (slice_starts_with(relation->columns[j].name, remembered[i].column)) {
                mask_column(relation, &relation->columns[j], mask_rules_strictest(facts->rules));
            }
        }
    }
}

/* By what they are made of --------------------------------------------------------------------- */

static bool mask_like(struct fact_relation *relation, const struct fact_relation *other)
{
    bool is_changed = false;
    for (size_t i = 0; other->has_masked && i < other->column_count; i++) {
        const struct fact_column *from = &other->columns[i];
        for (size_t j = 0; from->whole != NULL && j < relation->column_count; j++) {
            struct fact_column *column = &relation->columns[j];
            if (column->whole == NULL && slice_equals(column->name, from->name)) {
                mask_column(relation, column, from->whole);
                is_changed = true;
            }
        }
    }
    return is_changed;
}

static bool view_reaches(const struct fact_edge *edge)
{
    const struct fact_column *column = fact_column_of(edge->to, edge->column);
    if (!edge->to->is_reached) {
        return false;
    }
    /* A view that reads nothing of it but counts its rows names no column. */
    return edge->from->takes_whole || edge->to->is_own ||
           (edge->column != 0 && (column == NULL || column->whole != NULL));
}

static bool follow_column(struct pg_facts *facts, const struct fact_edge *edge)
{
    const struct fact_column *origin = fact_column_of(edge->to, edge->column);
    struct fact_column *column = fact_column_of(edge->from, edge->from_column);
    if (origin == NULL || column == NULL || origin->whole == NULL || column->whole != NULL) {
        return false;
    }
    mask_column(edge->from, column, mask_rules_strictest(facts->rules));
    return true;
}

static bool follow(struct pg_facts *facts, const struct fact_edge *edge)
{
    switch (edge->kind) {
    case FACT_EDGE_INHERIT:
        return (int)mask_like(edge->from, edge->to) + (int)mask_like(edge->to, edge->from) > 0;
    case FACT_EDGE_VIEW:
        if (edge->from->uses_masked || !view_reaches(edge)) {
            return false;
        }
        mask_computed(facts, edge->from);
        return true;
    case FACT_EDGE_COLUMN:
        return follow_column(facts, edge);
    case FACT_EDGE_POLICY:
        if (edge->from->is_reached || !edge->to->is_reached) {
            return false;
        }
        edge->from->is_reached = true;
        return true;
    case FACT_EDGE_KEY:
        break;
    }
    return false;
}

/* What is written to one of two tables with a key between them reads the other; what is written to
 * a view, or to a table with parts, is written to what it is made of. */
static bool follow_write(const struct fact_edge *edge)
{
    bool is_key = edge->kind == FACT_EDGE_KEY;
    bool is_view = edge->kind == FACT_EDGE_VIEW;
    struct fact_relation *whole = is_view || is_key ? edge->from : edge->to;
    struct fact_relation *part = whole == edge->from ? edge->to : edge->from;
    if (!is_key && !is_view && edge->kind != FACT_EDGE_INHERIT) {
        return false;
    }
    bool is_touched = whole->is_touched || part->is_touched;
    bool gives_others = whole->gives_others || (is_view && part->gives_others);
    bool is_changed = is_touched != whole->is_touched || gives_others != whole->gives_others ||
                      (is_key && is_touched != part->is_touched);
    whole->is_touched = is_touched;
    whole->gives_others = gives_others;
    part->is_touched = part->is_touched || (is_key && is_touched);
    return is_changed;
}

/* Each round goes one step further along at least; names that go round in a ring end it, too. */
void pg_facts_close(struct pg_facts *facts)
{
    if (facts->rules == NULL || mask_rules_strictest(facts->rules) == NULL) {
        return;
    }
    for (size_t i = 0; i < facts->relation_count; i++) {
        struct fact_relation *relation = &facts->relations[i];
        if (!relation->is_own) {
            mask_named(facts, relation);
            facts->has_masked = facts->has_masked || relation->has_masked;
            facts->has_tables =
                facts->has_tables || relation->kind == 'f' ||
                mask_rules_cover_some_of(facts->rules, relation->schema, relation->name);
        }
    }
    if (!facts->has_masked && !facts->is_broken) {
        return;
    }
    for (size_t i = 0; i < facts->relation_count; i++) {
        struct fact_relation *relation = &facts->relations[i];
        bool is_view = relation->kind == 'v' || relation->kind == 'm';
        if (relation->is_own) {
            mask_remembered(facts, relation);
        } else if (is_view && relation->runs_code) {
            mask_all(facts, relation);
        }
        relation->is_reached =
            relation->is_reached || (relation->has_policies && relation->runs_code);
    }
    for (bool is_changed = true; is_changed;) {
        is_changed = false;
        for (size_t i = 0; i < facts->edge_count; i++) {
            is_changed = follow(facts, &facts->edges[i]) || is_changed;
        }
    }
    for (size_t i = 0; i < facts->relation_count; i++) {
        struct fact_relation *relation = &facts->relations[i];
        relation->is_touched =
            relation->is_reached || relation->has_triggers || relation->runs_code;
    }
    for (bool is_changed = true; is_changed;) {
        is_changed = false;
        for (size_t i = 0; i < facts->edge_count; i++) {
            is_changed = follow_write(&facts->edges[i]) || is_changed;
        }
    }
    facts->has_masked = true;
}
