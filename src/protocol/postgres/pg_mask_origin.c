/* SPDX-License-Identifier: MIT */
/* Where columns come from. A column of a partition or of a table that inherits is what it is in the
 * tables above, by its name there. A column of a view is what it is in the tables that the view
 * uses: the catalog tells which of their columns it uses, not for what. So it passes only when the
 * view uses no masked column, or a column of its own name that is not masked. */
#include "base/must.h"
#include "base/text.h"
#include "base/writer.h"
#include "protocol/postgres/pg_mask_internal.h"

#define COLUMN_NUMBER_MAX 1600 /* of a table; those of its own have negative ones */
#define KIND_OWN          'c'
#define KIND_ABOVE        'p'
#define KIND_USED         'v'

/* A view that takes whole rows depends on no column of their table, so it uses all of them. */
const char pg_mask_lookup_text[] =
    "with recursive asked(item) as (select $1::text::text[]),"
    " wanted(oid) as ("
    " select o::oid from asked, unnest(item) as o where item[1] <> 'name'"
    " union all select c.oid from asked join pg_catalog.pg_class c on c.relname = item[3]::name"
    " and c.relkind not in ('i', 'I', 'c')"
    " join pg_catalog.pg_namespace n on n.oid = c.relnamespace"
    " where item[1] = 'name' and item[2] in ('', n.nspname)),"
    " reach(root, oid, kind) as ("
    " select oid, oid, 'c'::text from wanted"
    " union select r.root, e.oid, e.kind from reach r, lateral ("
    " select d.refobjid as oid, 'v'::text as kind from pg_catalog.pg_rewrite w"
    " join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_rewrite'::regclass"
    " and d.objid = w.oid and d.refclassid = 'pg_catalog.pg_class'::regclass"
    " where w.ev_class = r.oid and d.refobjid <> r.oid"
    " and w.rulename = '_RETURN'"
    " union all select i.inhparent, case r.kind when 'v' then 'v' else 'p' end"
    " from pg_catalog.pg_inherits i where i.inhrelid = r.oid) e)"
    " select r.root::text, r.kind, a.attnum::text, n.nspname::text, c.relname::text,"
    " a.attname::text from (select distinct root, oid, kind from reach) r"
    " join pg_catalog.pg_class c on c.oid = r.oid"
    " join pg_catalog.pg_namespace n on n.oid = c.relnamespace"
    " join pg_catalog.pg_attribute a on a.attrelid = r.oid and a.attnum > 0"
    " and not a.attisdropped"
    " where (r.kind <> 'p' or a.attnum = (select min(b.attnum) from pg_catalog.pg_attribute b"
    " where b.attrelid = r.oid and b.attnum > 0 and not b.attisdropped))"
    " and (r.kind <> 'v' or exists (select from pg_catalog.pg_depend d"
    " join pg_catalog.pg_rewrite w on w.oid = d.objid"
    " where d.classid = 'pg_catalog.pg_rewrite'::regclass"
    " and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = r.oid"
    " and w.ev_class in (select s.oid from reach s where s.root = r.root)"
    " and (d.refobjsubid = a.attnum or (w.ev_class <> r.oid"
    " and w.ev_action::text like '%:varattno 0 %'))))"
    " order by 1, 2, 3";

/* What is known ------------------------------------------------------------------------------- */

static struct slice relation_key(const uint32_t *oid)
{
    return slice_of(oid, sizeof(*oid));
}

static struct relation *relation_find(const struct pg_mask *mask, uint32_t oid)
{
    return map_get(&mask->relations, relation_key(&oid));
}

static struct relation *relation_make(struct pg_mask *mask, uint32_t oid)
{
    struct relation *relation = relation_find(mask, oid);
    if (relation == NULL) {
        relation = memory_new(sizeof(*relation));
        relation->oid = oid;
        arena_init(&relation->arena);
        (void)map_put(&mask->relations, relation_key(&oid), relation);
    }
    return relation;
}

static void relation_free(struct relation *relation)
{
    memory_free(relation->columns);
    memory_free(relation->above);
    memory_free(relation->used);
    arena_release(&relation->arena);
    memory_free(relation);
}

void pg_mask_release_relations(struct pg_mask *mask)
{
    struct slice key;
    void *relation;
    for (size_t at = 0; map_next(&mask->relations, &at, &key, &relation);) {
        relation_free(relation);
    }
    map_clear(&mask->relations);
    mask->generation++;
}

void pg_mask_forget(struct pg_mask *mask)
{
    if (!mask->is_asking) {
        pg_mask_release_relations(mask);
    }
}

static void add_column(struct relation *relation, size_t number, struct slice name)
{
    if (number > relation->column_capacity) {
        size_t capacity = number + 16;
        relation->columns =
            memory_resize(relation->columns, capacity * sizeof(relation->columns[0]));
        for (size_t i = relation->column_capacity; i < capacity; i++) {
            relation->columns[i] = SLICE_NONE;
        }
        relation->column_capacity = capacity;
    }
    if (relation->columns[number - 1].at == NULL) {
        relation->columns[number - 1] = arena_copy(&relation->arena, name);
    }
}

static void add_other(struct relation *relation, struct relation_column **list, size_t *count,
                      const struct slice *values)
{
    if (*count >= LIMIT_PG_MASK_RELATION_COLUMNS) {
        relation->is_over = true;
        return;
    }
    if ((*count & (*count - 1)) == 0) {
        size_t capacity = *count == 0 ? 1 : *count * 2;
        *list = memory_resize(*list, capacity * sizeof(**list));
    }
    (*list)[(*count)++] = (struct relation_column){
        .schema = arena_copy(&relation->arena, values[3]),
        .table = arena_copy(&relation->arena, values[4]),
        .column = arena_copy(&relation->arena, values[5]),
    };
}

void pg_mask_learn_row(struct pg_mask *mask, const struct slice values[PG_MASK_LOOKUP_COLUMNS])
{
    uint64_t oid = 0;
    uint64_t number = 0;
    for (size_t i = 0; i < PG_MASK_LOOKUP_COLUMNS; i++) {
        if (values[i].at == NULL) {
            return;
        }
    }
    if (text_parse_u64(values[0], &oid) != ERR_NONE || oid == 0 || oid > UINT32_MAX ||
        text_parse_u64(values[2], &number) != ERR_NONE || number == 0 ||
        number > COLUMN_NUMBER_MAX || values[1].len != 1 ||
        map_count(&mask->relations) > LIMIT_PG_MASK_RELATIONS + LIMIT_PG_MASK_LOOKUP) {
        return;
    }
    struct relation *relation = relation_make(mask, (uint32_t)oid);
    switch (values[1].at[0]) {
    case KIND_OWN:
        relation->is_known = true;
        if (relation->table.len == 0) {
            relation->schema = arena_copy(&relation->arena, values[3]);
            relation->table = arena_copy(&relation->arena, values[4]);
        }
        add_column(relation, (size_t)number, values[5]);
        break;
    case KIND_ABOVE:
        add_other(relation, &relation->above, &relation->above_count, values);
        break;
    case KIND_USED:
        add_other(relation, &relation->used, &relation->used_count, values);
        break;
    default:
        break;
    }
}

void pg_mask_learn_done(struct pg_mask *mask, bool is_complete)
{
    mask->is_asking = false;
    mask->has_learned = true;
    mask->is_learned_complete = is_complete && mask->asks_for_all;
    mask->generation++;
    if (!is_complete) {
        pg_mask_release_relations(mask); /* some may be there in part */
    }
}

/* What is asked ------------------------------------------------------------------------------- */

static size_t write_unknown(const struct pg_mask *mask, struct pgwire_fields fields,
                            struct writer *writer)
{
    struct pgwire_field field;
    size_t count = 0;
    uint32_t last = 0;
    while (pgwire_field_next(&fields, &field)) {
        if (field.table != 0 && field.table != last && count < LIMIT_PG_MASK_LOOKUP &&
            relation_find(mask, field.table) == NULL) {
            writer_u8(writer, count == 0 ? '{' : ',');
            writer_decimal(writer, field.table);
            count++;
            last = field.table;
        }
    }
    writer_u8(writer, '}');
    return count;
}

bool pg_mask_knows_table(const struct pg_mask *mask, uint32_t oid)
{
    const struct relation *relation = relation_find(mask, oid);
    return mask->strictest == NULL || (relation != NULL && relation->is_known);
}

bool pg_mask_knows_tables(struct pg_mask *mask, const struct pgwire_fields *fields)
{
    if (mask->strictest == NULL || mask->settings.on_lookup == NULL || mask->has_learned) {
        return true;
    }
    if (mask->is_asking) {
        return false;
    }
    buf_truncate(&mask->line, 0);
    struct writer writer = writer_to(&mask->line);
    size_t count = write_unknown(mask, *fields, &writer);
    if (count > 0 && map_count(&mask->relations) > LIMIT_PG_MASK_RELATIONS) {
        pg_mask_release_relations(mask);
        buf_truncate(&mask->line, 0);
        writer = writer_to(&mask->line);
        count = write_unknown(mask, *fields, &writer);
    }
    if (count == 0 || writer_done(&writer) != ERR_NONE) {
        return true;
    }
    mask->is_asking = true;
    mask->asks_for_all = count < LIMIT_PG_MASK_LOOKUP;
    mask->settings.on_lookup(mask->settings.owner, buf_view(&mask->line));
    return false;
}

static void write_item(struct writer *writer, struct slice text)
{
    writer_u8(writer, '"');
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] == '"' || text.at[i] == '\\') {
            writer_u8(writer, '\\');
        }
        writer_u8(writer, (uint8_t)text.at[i]);
    }
    writer_u8(writer, '"');
}

/* What was known is asked for again: a table may have been altered since by others, and nothing
 * that comes would tell. */
bool pg_mask_knows_named(struct pg_mask *mask, struct slice schema, struct slice table)
{
    if (mask->settings.on_lookup == NULL || mask->has_learned) {
        return true;
    }
    if (mask->is_asking) {
        return false;
    }
    pg_mask_release_relations(mask);
    buf_truncate(&mask->line, 0);
    struct writer writer = writer_to(&mask->line);
    writer_bytes(&writer, SLICE("{name,"));
    write_item(&writer, schema);
    writer_u8(&writer, ',');
    write_item(&writer, table);
    writer_u8(&writer, '}');
    if (writer_done(&writer) != ERR_NONE) {
        return true;
    }
    mask->is_asking = true;
    mask->asks_for_all = true;
    mask->settings.on_lookup(mask->settings.owner, buf_view(&mask->line));
    return false;
}

/* What it means ------------------------------------------------------------------------------- */

static struct mask_plan plan_in(const struct pg_mask *mask, const struct relation_column *origin,
                                struct slice label)
{
    const struct mask_origin at = {
        .schema = origin->schema, .table = origin->table, .column = origin->column};
    return mask_plan_of(mask->settings.rules, &at, label);
}

/* By what the view uses. */
static const struct mask_strategy *strategy_of_view(const struct pg_mask *mask,
                                                    const struct relation *view,
                                                    struct slice column)
{
    const struct mask_strategy *found = NULL;
    bool has_other_of_name = false;
    bool has_masked = view->is_over;
    for (size_t i = 0; i < view->used_count; i++) {
        const struct relation_column *used = &view->used[i];
        const struct mask_strategy *whole = plan_in(mask, used, used->column).whole;
        bool is_of_name = slice_equals(used->column, column);
        has_masked = has_masked || whole != NULL;
        found = is_of_name && whole != NULL ? whole : found;
        has_other_of_name = has_other_of_name || (is_of_name && whole == NULL);
    }
    if (found == NULL && has_masked && (!has_other_of_name || view->is_over)) {
        return mask->strictest;
    }
    return found;
}

static struct mask_plan plan_of_relation(const struct pg_mask *mask,
                                         const struct relation *relation,
                                         const struct pgwire_field *field)
{
    struct relation_column origin = {.schema = relation->schema, .table = relation->table};
    size_t number = field->column;
    if (number > INT16_MAX) { /* of the server's own: ctid and others */
        return plan_in(mask, &origin, field->name);
    }
    if (number > 0 && number <= relation->column_capacity) {
        origin.column = relation->columns[number - 1];
    }
    struct mask_plan plan = plan_in(mask, &origin, field->name);
    if (origin.column.len == 0) { /* made since it was asked for, or a whole row */
        plan.whole = mask->strictest;
    }
    for (size_t i = 0; i < relation->above_count && plan.whole == NULL; i++) {
        struct relation_column above = relation->above[i];
        above.column = origin.column;
        plan.whole = plan_in(mask, &above, field->name).whole;
    }
    if (plan.whole == NULL && (relation->used_count > 0 || relation->is_over)) {
        plan.whole = strategy_of_view(mask, relation, origin.column);
    }
    return plan;
}

struct mask_plan pg_mask_plan(struct pg_mask *mask, const struct pgwire_field *field,
                              bool is_tainted)
{
    static const struct mask_origin nowhere = {.schema = {NULL, 0}};
    struct mask_plan plan = mask_plan_of(mask->settings.rules, &nowhere, field->name);
    const struct relation *relation = field->table == 0 ? NULL : relation_find(mask, field->table);
    if (mask->strictest != NULL && relation != NULL && relation->is_known) {
        return plan_of_relation(mask, relation, field); /* its name elsewhere means nothing */
    }
    if (mask->strictest == NULL || plan.whole != NULL) {
        return plan;
    }
    if (field->table == 0) {
        plan.whole = is_tainted ? mask->strictest : NULL;
        return plan;
    }
    bool could_be_asked = mask->has_learned && mask->is_learned_complete;
    if (!could_be_asked || is_tainted || mask_rules_cover_name(mask->settings.rules, field->name)) {
        plan.whole = mask->strictest;
    }
    return plan;
}

/* Of a table that may be the one: masked is what would be in any of them. False: it is not clear
 * which columns these are. */
static bool add_named_plans(const struct pg_mask *mask, const struct relation *relation,
                            struct mask_plan *plans, size_t count)
{
    size_t index = 0;
    for (size_t number = 1; number <= relation->column_capacity; number++) {
        const struct pgwire_field field = {.name = relation->columns[number - 1],
                                           .table = relation->oid,
                                           .column = (uint16_t)number};
        if (field.name.at == NULL) {
            continue; /* dropped */
        }
        if (index == count) {
            return false;
        }
        struct mask_plan plan = plan_of_relation(mask, relation, &field);
        const struct mask_strategy *before = plans[index].whole;
        bool differs = before != NULL && plan.whole != NULL && before != plan.whole;
        plans[index].whole = differs ? mask->strictest : before == NULL ? plan.whole : before;
        plans[index++].context = plan.context;
    }
    return relation->is_known && index == count;
}

/* The path along which the session finds names is not known: all tables of the name are looked at.
 * A copy leaves generated columns out, which shows where the counts differ. */
bool pg_mask_plan_named(struct pg_mask *mask, struct mask_plan *plans, size_t count)
{
    struct slice key;
    void *relation;
    size_t found = 0;
    bool is_clear = mask->has_learned && mask->is_learned_complete;
    for (size_t at = 0; is_clear && map_next(&mask->relations, &at, &key, &relation); found++) {
        is_clear = add_named_plans(mask, relation, plans, count);
    }
    return is_clear && found > 0 && found <= LIMIT_PG_MASK_LOOKUP;
}
