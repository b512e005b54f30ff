/* SPDX-License-Identifier: MIT */
/* What names can stand for. The search path of a session is not known, nor is it needed: a name
 * that only the server has is the server's own on any path. */
#include "policy/guard_function.h"
#include "protocol/postgres/pg_facts_internal.h"

static bool is_own_schema(struct slice schema)
{
    return slice_equals(schema, SLICE("pg_catalog")) ||
           slice_equals(schema, SLICE("information_schema"));
}

bool pg_facts_has_masked(const struct pg_facts *facts)
{
    return facts->has_masked || facts->is_broken;
}

bool pg_facts_has_tables(const struct pg_facts *facts)
{
    return facts->has_tables || pg_facts_has_masked(facts);
}

/* Relations ------------------------------------------------------------------------------------ */

static bool is_view(const struct fact_relation *relation)
{
    return relation->kind == 'v' || relation->kind == 'm' || relation->kind == 'f';
}

/* The worst of all that it can stand for. */
struct pg_facts_relation pg_facts_relation(const struct pg_facts *facts,
                                           const struct sql_name *name, bool is_written)
{
    struct pg_facts_relation found = {.reach = PG_FACTS_UNKNOWN};
    bool may_be_own = name->schema.len == 0 || is_own_schema(name->schema);
    bool has_own_name = is_own_schema(name->schema) || slice_starts_with(name->name, SLICE("pg_"));
    size_t count = 0;
    for (const struct fact_relation *relation = map_get(&facts->by_name, name->name);
         relation != NULL; relation = relation->next_of_name) {
        bool is_temporary = slice_equals(name->schema, SLICE("pg_temp")) &&
                            slice_starts_with(relation->schema, SLICE("pg_temp_"));
        if (name->schema.len > 0 && !is_temporary &&
            !slice_equals(name->schema, relation->schema)) {
            continue;
        }
        bool is_reached = relation->is_reached || (is_written && relation->is_touched);
        found.reach =
            is_reached || found.reach == PG_FACTS_REACHED ? PG_FACTS_REACHED : PG_FACTS_OPEN;
        found.is_view = found.is_view || (!relation->is_own && is_view(relation));
        found.has_columns = found.has_columns || relation->has_masked;
        found.gives_others = found.gives_others || (is_written && relation->gives_others);
        found.is_own = relation->is_own && (found.is_own || count == 0);
        found.oid = count++ == 0 ? relation->oid : 0;
    }
    if (facts->is_broken) {
        found.reach = PG_FACTS_REACHED;
    } else if (found.reach == PG_FACTS_UNKNOWN && may_be_own && has_own_name) {
        found.reach = PG_FACTS_OPEN;
        found.is_own = true;
    }
    return found;
}

bool pg_facts_masks_in(const struct pg_facts *facts, const struct sql_name *name,
                       struct slice column)
{
    bool is_all = slice_equals(column, SLICE("*"));
    for (const struct fact_relation *relation = map_get(&facts->by_name, name->name);
         relation != NULL; relation = relation->next_of_name) {
        for (size_t i = 0; relation->has_masked && i < relation->column_count; i++) {
            const struct fact_column *of = &relation->columns[i];
            if (of->whole != NULL && (is_all || slice_equals(of->name, column))) {
                return true;
            }
        }
    }
    return facts->is_broken;
}

static struct pg_facts_column column_in(const struct fact_relation *relation,
                                        const struct fact_column *column)
{
    return (struct pg_facts_column){
        .is_known = true,
        .is_view = is_view(relation),
        .whole = column->whole,
        .name = column->name,
    };
}

/* ctid, xmin and others say nothing about values; a whole row says all. */
struct pg_facts_column pg_facts_column(const struct pg_facts *facts, uint32_t relation,
                                       uint16_t number)
{
    const struct fact_relation *found = pg_facts_find(facts, relation);
    struct pg_facts_column none = {.is_known = false};
    if (facts->is_broken) {
        return none;
    }
    if (found == NULL) {
        none.is_known = relation != 0 && relation < PG_FACTS_OWN_END;
        return none;
    }
    const struct fact_column *column = fact_column_of(found, number);
    if (column != NULL) {
        return column_in(found, column);
    }
    bool is_system = number > INT16_MAX;
    none.is_known = is_system || (number == 0 && !found->has_masked);
    none.is_view = is_view(found);
    return none;
}

bool pg_facts_column_at(const struct pg_facts *facts, uint32_t relation, size_t index,
                        struct pg_facts_column *ret_column)
{
    const struct fact_relation *found = pg_facts_find(facts, relation);
    if (facts->is_broken || found == NULL || index >= found->column_count) {
        return false;
    }
    *ret_column = column_in(found, &found->columns[index]);
    return true;
}

/* What can be called --------------------------------------------------------------------------- */

/* A row of a table can be the argument of a function that is written like a cast to it. */
bool pg_facts_is_own_function(const struct pg_facts *facts, const struct sql_name *name,
                              uint32_t argument_min, uint32_t argument_max)
{
    if (facts->is_broken || (name->schema.len > 0 && !is_own_schema(name->schema))) {
        return false;
    }
    for (const struct fact_function *function = map_get(&facts->functions, name->name);
         function != NULL; function = function->next) {
        if (argument_max >= function->argument_min && argument_min <= function->argument_max) {
            return false;
        }
    }
    return map_get(&facts->types, name->name) == NULL;
}

enum pg_facts_procedure pg_facts_procedure(const struct pg_facts *facts, struct slice name)
{
    const struct fact_procedure *first = map_get(&facts->procedures, name);
    if (facts->is_broken) {
        return PG_FACTS_PROCEDURE;
    }
    for (const struct fact_procedure *one = first; one != NULL; one = one->next) {
        if (!one->is_plain) {
            return PG_FACTS_PROCEDURE;
        }
    }
    return first == NULL ? PG_FACTS_NO_PROCEDURE : PG_FACTS_PLAIN_PROCEDURE;
}

/* Other languages have other words for it. */
static bool is_in_known_language(struct slice text)
{
    const struct slice word = SLICE("language");
    const struct slice known = SLICE("plpgsql");
    for (size_t i = 0; i + word.len <= text.len; i++) {
        struct slice rest = slice_trim(slice_from(text, i + word.len), " \t\r\n");
        if (slice_equals_nocase(slice_sub(text, i, word.len), word) &&
            !slice_equals_nocase(slice_sub(rest, 0, known.len), known)) {
            return false;
        }
    }
    return true;
}

bool pg_facts_is_plain_code(struct slice text)
{
    return !slice_has_nocase(text, SLICE("execute")) && is_in_known_language(text) &&
           slice_find_byte(text, '\\') == text.len;
}

bool pg_facts_is_own_operator(const struct pg_facts *facts, const struct sql_name *name)
{
    return !facts->is_broken && (name->schema.len == 0 || is_own_schema(name->schema)) &&
           map_get(&facts->operators, name->name) == NULL;
}

bool pg_facts_is_own_type(const struct pg_facts *facts, const struct sql_name *name)
{
    return !facts->is_broken && !facts->has_casts && map_get(&facts->types, name->name) == NULL;
}

bool pg_facts_has_event_triggers(const struct pg_facts *facts)
{
    return facts->is_broken || facts->has_event_triggers;
}

/* Guard rails ---------------------------------------------------------------------------------- */

/* A view runs what it reads does, a parent what its parts do. Who writes to a table may change
 * those that refer to it by a key. */
static bool follow_code(const struct fact_edge *edge)
{
    if (edge->kind == FACT_EDGE_COLUMN) {
        return false; /* the view's own edge says so already */
    }
    struct fact_relation *to =
        edge->kind == FACT_EDGE_VIEW || edge->kind == FACT_EDGE_POLICY ? edge->from : edge->to;
    const struct fact_relation *from = to == edge->from ? edge->to : edge->from;
    bool is_read = to->runs_when_read || (from->runs_when_read && edge->kind != FACT_EDGE_KEY);
    bool is_written = to->runs_when_written || from->runs_when_written;
    bool is_changed = is_read != to->runs_when_read || is_written != to->runs_when_written;
    to->runs_when_read = is_read;
    to->runs_when_written = is_written;
    return is_changed;
}

void pg_facts_close_code(struct pg_facts *facts)
{
    for (size_t i = 0; i < facts->relation_count; i++) {
        struct fact_relation *relation = &facts->relations[i];
        relation->runs_when_read = relation->runs_when_read || relation->kind == 'f';
        relation->runs_when_written = relation->runs_code || relation->has_triggers ||
                                      relation->kind == 'f' || relation->kind == 'v';
    }
    for (bool is_changed = true; is_changed;) {
        is_changed = false;
        for (size_t i = 0; i < facts->edge_count; i++) {
            is_changed = follow_code(&facts->edges[i]) || is_changed;
        }
    }
}

static bool is_plain(const struct pg_facts *facts, const struct sql_name *name, bool is_written)
{
    bool is_found = false;
    for (const struct fact_relation *relation = map_get(&facts->by_name, name->name);
         relation != NULL; relation = relation->next_of_name) {
        if (name->schema.len > 0 && !slice_equals(name->schema, relation->schema)) {
            continue;
        }
        is_found = true;
        if (relation->runs_when_read || (is_written && relation->runs_when_written)) {
            return false;
        }
    }
    return is_found || is_own_schema(name->schema) ||
           (name->schema.len == 0 && slice_starts_with(name->name, SLICE("pg_")));
}

void pg_facts_identify(const struct pg_facts *facts, struct guard_name *name)
{
    bool is_own = false;
    switch (name->kind) {
    case GUARD_NAME_FUNCTION:
        is_own =
            pg_facts_is_own_function(facts, &name->name, name->argument_min, name->argument_max);
        break;
    case GUARD_NAME_FIELD:
        is_own = pg_facts_is_own_function(facts, &name->name, 1, 1);
        break;
    case GUARD_NAME_OPERATOR:
        is_own = pg_facts_is_own_operator(facts, &name->name);
        break;
    case GUARD_NAME_TYPE:
        is_own = pg_facts_is_own_type(facts, &name->name);
        break;
    case GUARD_NAME_READ:
        is_own = !facts->is_broken && is_plain(facts, &name->name, false);
        break;
    case GUARD_NAME_WRITTEN:
        is_own = !facts->is_broken && is_plain(facts, &name->name, true);
        break;
    case GUARD_NAME_DEFINED:
        is_own = !pg_facts_has_event_triggers(facts);
        break;
    }
    name->identity = is_own ? GUARD_IDENTITY_OWN : GUARD_IDENTITY_USER;
}
