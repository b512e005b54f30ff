/* SPDX-License-Identifier: MIT */
/* The catalog is asked in one statement, so that all of it is of one moment. What the server was
 * delivered with has a number below 16384; of that only what remembers values of others matters. */
#include "protocol/postgres/pg_facts.h"

#include "base/memory.h"
#include "base/text.h"
#include "policy/guard_function.h"
#include "protocol/postgres/pg_facts_internal.h"

#include <sodium.h>

#define COLUMN_NUMBER_MAX 1600

/* Kinds of rows, each with its own columns:
 * r oid schema name kind flags columns; x oid, p: runs functions that somebody made, when it is
 * read; y oid schema name: remote; z oid number name: a column's, remote; d view oid number;
 * q view function; l view number relation number: what a column is taken from; i child parent;
 * k referencing referenced actions; p table oid; f name least most; b name text: of a procedure,
 * what it runs; o name; t name kind; c; e. In a list of columns a comma and a backslash that belong
 * to a name are written as \c and \\. */
static const char text_of_start[] =
    "with ext as (select d.classid, d.objid from pg_catalog.pg_depend d where d.deptype = 'e'),"
    " own(name) as (values ('pg_statistic'), ('pg_statistic_ext_data'), ('pg_stats'),"
    " ('pg_stats_ext'), ('pg_stats_ext_exprs'), ('pg_stat_activity'), ('pg_largeobject'),"
    " ('pg_locks')),"
    " rel as (select c.oid, n.nspname, c.relname, c.relkind, c.relrowsecurity"
    " from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace"
    " where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S') and ("
    " (c.oid >= 16384 and n.nspname not like 'pg\\_toast%' escape '\\')"
    " or (n.nspname = 'pg_catalog' and c.relname::text in (select name from own)))),"
    " named(is_there) as (select exists (select from rel r join pg_catalog.pg_attribute a"
    " on a.attrelid = r.oid where r.relkind = 'f'";

static const char text_of_relations[] =
    ")), view as (select w.oid, w.ev_class, w.ev_action::text as action from pg_catalog.pg_rewrite "
    "w"
    " where w.ev_class >= 16384 and w.rulename = '_RETURN'),"
    " used as (select v.ev_class, u.m from view v, lateral pg_catalog.regexp_matches(v.action,"
    " ':funcid (\\d+) :funcresulttype \\d+ :funcretset \\S+ :funcvariadic \\S+ :funcformat [03] "
    "|:(?:aggfnoid|winfnoid) (\\d+) |:relid (\\d+) ', 'g') as u(m)),"
    " entry as (select v.ev_class, e.m, count(*) over (partition by v.ev_class) as found,"
    " (length(v.action) - length(replace(v.action, '{TARGETENTRY ', ''))) / 13 as wanted"
    " from view v, lateral pg_catalog.regexp_matches(case when (select n.is_there from named n)"
    " then v.action else '' end, ' :resno (\\d+) :resname"
    " (?:\\\\.|[^\\\\ ])+ :ressortgroupref \\d+ :resorigtbl (\\d+) :resorigcol (-?\\d+)"
    " :resjunk (true|false)', 'g') as e(m))"
    " select 'r'::text, r.oid::text, r.nspname::text, r.relname::text, r.relkind::text,"
    " concat("
    " case when exists (select from pg_catalog.pg_trigger t where t.tgrelid = r.oid"
    " and not t.tgisinternal) then 't' end,"
    " case when exists (select from pg_catalog.pg_rewrite w where w.ev_class = r.oid"
    " and w.rulename <> '_RETURN') then 't' end,"
    /* 64: INSTEAD OF */
    " case when exists (select from pg_catalog.pg_trigger t where t.tgrelid = r.oid"
    " and not t.tgisinternal and t.tgtype & 64 <> 0)"
    " or exists (select from pg_catalog.pg_rewrite w where w.ev_class = r.oid"
    " and w.rulename <> '_RETURN' and w.is_instead) then 'i' end,"
    " case when exists (select from pg_catalog.pg_policy p where p.polrelid = r.oid) then 'p' end,"
    " case when exists (select from view v where v.ev_class = r.oid"
    " and v.action like '%:varattno 0 %') then 'w' end),"
    " (select pg_catalog.string_agg(concat(a.attnum, ':', replace(replace(a.attname::text,"
    " chr(92), chr(92) || chr(92)), ',', chr(92) || 'c')), ',' order by a.attnum)"
    " from pg_catalog.pg_attribute a where a.attrelid = r.oid and a.attnum > 0"
    " and not a.attisdropped) from rel r";

static const char text_of_edges[] =
    " union all select 'y', f.ftrelid::text, (select o.option_value"
    " from pg_catalog.pg_options_to_table(f.ftoptions) o where o.option_name = 'schema_name'),"
    " (select o.option_value from pg_catalog.pg_options_to_table(f.ftoptions) o"
    " where o.option_name in ('table_name', 'table') limit 1), null, null, null"
    " from pg_catalog.pg_foreign_table f"
    " union all select 'z', a.attrelid::text, a.attnum::text, o.option_value, null, null, null"
    " from pg_catalog.pg_foreign_table f join pg_catalog.pg_attribute a on a.attrelid = f.ftrelid,"
    " lateral pg_catalog.pg_options_to_table(a.attfdwoptions) o"
    " where o.option_name = 'column_name' and a.attnum > 0"
    " union all select distinct 'd', v.ev_class::text, d.refobjid::text,"
    " greatest(d.refobjsubid, 0)::text," /* ctid and others are less: they say nothing of values */
    " null, null, null from view v join pg_catalog.pg_depend d"
    " on d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = v.oid"
    " and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> v.ev_class"
    " union all select distinct 'd', u.ev_class::text, r.oid::text, '0', null, null, null"
    " from used u join rel r on r.oid::text = u.m[3] where r.oid < 16384"
    " union all select distinct 'q', u.ev_class::text, p.proname::text, null, null, null, null"
    " from used u join pg_catalog.pg_proc p on p.oid::text = coalesce(u.m[1], u.m[2])"
    " union all select distinct 'q', v.ev_class::text, '', null, null, null, null"
    " from view v join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_rewrite'::regclass"
    " and d.objid = v.oid and d.refobjid >= 16384 and d.refclassid in"
    " ('pg_catalog.pg_proc'::regclass, 'pg_catalog.pg_operator'::regclass)"
    " union all select distinct 'l', e.ev_class::text, e.m[1], e.m[2],"
    " greatest(e.m[3]::int, 0)::text, null, null from entry e"
    " where e.found = e.wanted and e.m[4] = 'false' and e.m[1]::int <= 1600"
    " union all select 'i', i.inhrelid::text, i.inhparent::text, null, null, null, null"
    " from pg_catalog.pg_inherits i"
    " union all select distinct 'k', o.conrelid::text, o.confrelid::text,"
    " concat(o.confdeltype, o.confupdtype), null, null, null"
    " from pg_catalog.pg_constraint o where o.contype = 'f'"
    " union all select distinct 'p', p.polrelid::text, d.refobjid::text, null, null, null, null"
    " from pg_catalog.pg_policy p join pg_catalog.pg_depend d"
    " on d.classid = 'pg_catalog.pg_policy'::regclass and d.objid = p.oid"
    " and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> p.polrelid";

static const char text_of_code[] =
    " union all select distinct 'x', coalesce(o.conrelid, t.adrelid, x.indrelid, p.polrelid)::text,"
    " case when p.oid is not null then 'p' end, null, null, null, null from pg_catalog.pg_depend d"
    " left join pg_catalog.pg_constraint o on d.classid = 'pg_catalog.pg_constraint'::regclass"
    " and o.oid = d.objid"
    " left join pg_catalog.pg_attrdef t on d.classid = 'pg_catalog.pg_attrdef'::regclass"
    " and t.oid = d.objid"
    " left join pg_catalog.pg_index x on d.classid = 'pg_catalog.pg_class'::regclass"
    " and x.indexrelid = d.objid"
    " left join pg_catalog.pg_policy p on d.classid = 'pg_catalog.pg_policy'::regclass"
    " and p.oid = d.objid"
    " where d.refclassid in ('pg_catalog.pg_proc'::regclass, 'pg_catalog.pg_operator'::regclass)"
    " and d.refobjid >= 16384 and not exists (select from ext e where e.classid = d.refclassid"
    " and e.objid = d.refobjid) and"
    " coalesce(o.conrelid, t.adrelid, x.indrelid, p.polrelid) is not null"
    " union all select distinct 'f', p.proname::text, (p.pronargs - p.pronargdefaults)::text,"
    " case when p.provariadic <> 0 then null else p.pronargs::text end, null, null, null"
    " from pg_catalog.pg_proc p where p.oid >= 16384 and not exists (select from ext e"
    " where e.classid = 'pg_catalog.pg_proc'::regclass and e.objid = p.oid)"
    /* The kind has a column of its own since PostgreSQL 11, where there are procedures. */
    " union all select distinct 'b', p.proname::text, case when l.lanname in ('plpgsql', 'sql')"
    " and length(p.prosrc) <= 65536 then p.prosrc end, null, null, null, null"
    " from pg_catalog.pg_proc p join pg_catalog.pg_language l on l.oid = p.prolang"
    " where p.oid >= 16384 and p.prorettype in (0, 2249, 2278)"
    " and pg_catalog.to_jsonb(p) ->> 'prokind' = 'p'"
    " union all select distinct 'o', o.oprname::text, null, null, null, null, null"
    " from pg_catalog.pg_operator o where o.oid >= 16384 and not exists (select from ext e"
    " where e.classid = 'pg_catalog.pg_operator'::regclass and e.objid = o.oid)"
    " union all select distinct 't', t.typname::text, t.typtype::text, null, null, null, null"
    " from pg_catalog.pg_type t where t.oid >= 16384 and t.typcategory <> 'A'"
    " and not exists (select from ext e where e.classid = 'pg_catalog.pg_type'::regclass"
    " and e.objid = t.oid)"
    " and (t.typrelid = 0 or exists (select from pg_catalog.pg_class c where c.oid = t.typrelid"
    " and c.relkind = 'c'))"
    " union all select distinct 't', t.typname::text, 'x', null, null, null, null"
    " from pg_catalog.pg_cast c join pg_catalog.pg_type t on t.oid in (c.castsource, c.casttarget)"
    " where c.castfunc >= 16384 and t.oid >= 16384 and not exists (select from ext e"
    " where e.classid = 'pg_catalog.pg_cast'::regclass and e.objid = c.oid)"
    " union all select distinct 'c', null, null, null, null, null, null"
    " from pg_catalog.pg_cast c where c.castfunc >= 16384 and c.castsource < 16384"
    " and c.casttarget < 16384"
    " union all select distinct 'e', null, null, null, null, null, null"
    " from pg_catalog.pg_event_trigger e where e.evtenabled <> 'D'";

/* A name that can be pasted into a text, and in which case is as rules have it. */
static bool is_simple(struct slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        char byte = name.at[i];
        if (!(byte >= 'a' && byte <= 'z') && !(byte >= '0' && byte <= '9') && byte != '_') {
            return false;
        }
    }
    return name.len > 0;
}

/* "or ..." for each rule: what the columns that it is about are called, those and maybe more. What
 * views are made of is worked out only where there are such: that takes most of the time. */
static struct slice text_of_rules_in(struct arena *arena, const struct mask_rules *rules)
{
    static const char lower[] = "pg_catalog.translate(%s, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ',"
                                " 'abcdefghijklmnopqrstuvwxyz') = '%.*s'";
    struct slice text = SLICE("");
    for (size_t i = 0; rules != NULL && i < mask_rules_column_count(rules); i++) {
        const struct masking_column_name *rule = mask_rules_column(rules, i);
        struct slice table = SLICE("true");
        struct slice column = SLICE("true");
        if (is_simple(rule->table)) {
            table =
                arena_format(arena, lower, "r.relname::text", (int)rule->table.len, rule->table.at);
        }
        if (is_simple(rule->column)) {
            column = arena_format(arena, lower, "a.attname::text", (int)rule->column.len,
                                  rule->column.at);
        }
        text = arena_format(arena, "%.*s or (%.*s and %.*s)", (int)text.len, text.at,
                            (int)table.len, table.at, (int)column.len, column.at);
    }
    return text;
}

struct slice pg_facts_text_in(struct arena *arena, const struct mask_rules *rules)
{
    struct slice named = text_of_rules_in(arena, rules);
    return arena_format(arena, "%s%.*s%s%s%s", text_of_start, (int)named.len, named.at,
                        text_of_relations, text_of_edges, text_of_code);
}

/* Lookups -------------------------------------------------------------------------------------- */

static struct slice fact_key(const uint32_t *oid)
{
    return slice_of(oid, sizeof(*oid));
}

struct fact_relation *pg_facts_find(const struct pg_facts *facts, uint32_t oid)
{
    return map_get(&facts->by_oid, fact_key(&oid));
}

struct fact_column *fact_column_of(const struct fact_relation *relation, uint16_t number)
{
    size_t low = 0;
    size_t high = relation->column_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct fact_column *column = &relation->columns[middle];
        if (column->number == number) {
            return column;
        }
        if (column->number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

/* Rows ----------------------------------------------------------------------------------------- */

static bool read_oid(struct slice text, uint32_t *ret_oid)
{
    uint64_t value = 0;
    bool is_oid = text.at != NULL && text_parse_u64(text, &value) == ERR_NONE && value != 0 &&
                  value <= UINT32_MAX;
    *ret_oid = (uint32_t)value;
    return is_oid;
}

static bool read_number(struct slice text, uint16_t *ret_number)
{
    uint64_t value = 0;
    bool is_number =
        text.at != NULL && text_parse_u64(text, &value) == ERR_NONE && value <= COLUMN_NUMBER_MAX;
    *ret_number = (uint16_t)value;
    return is_number;
}

static struct slice copy_name(struct pg_facts *facts, struct slice text)
{
    return text.len == 0 ? SLICE("") : arena_copy(&facts->arena, text);
}

/* Without what was put before commas and backslashes of its own. */
static struct slice read_name(struct pg_facts *facts, struct slice text)
{
    char *at = arena_alloc(&facts->arena, text.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        bool is_escaped = text.at[i] == '\\' && i + 1 < text.len;
        i += is_escaped;
        at[len++] = is_escaped && text.at[i] == 'c' ? ',' : text.at[i];
    }
    return slice_of(at, len);
}

static bool read_columns(struct pg_facts *facts, struct fact_relation *relation, struct slice text)
{
    struct slice rest = text;
    size_t count = text.len == 0 ? 0 : 1;
    for (size_t i = 0; i < text.len; i++) {
        count += text.at[i] == ',';
    }
    if (count > COLUMN_NUMBER_MAX) {
        return false;
    }
    relation->columns = arena_alloc_array(&facts->arena, count + 1, sizeof(relation->columns[0]));
    for (uint16_t last = 0; rest.len > 0;) {
        struct slice name;
        struct slice item = slice_cut(rest, ',', &rest);
        struct slice number = slice_cut(item, ':', &name);
        struct fact_column column = {.number = 0};
        if (!read_number(number, &column.number) || column.number <= last) {
            return false;
        }
        column.name = read_name(facts, name);
        last = column.number;
        relation->columns[relation->column_count++] = column;
    }
    return true;
}

static bool has_flag(struct slice flags, char flag)
{
    return slice_find_byte(flags, flag) < flags.len;
}

static bool read_relation(struct pg_facts *facts, const struct slice *values)
{
    struct fact_relation *relation = &facts->relations[facts->relation_count];
    if (!read_oid(values[1], &relation->oid) || values[4].len != 1) {
        return false;
    }
    relation->schema = copy_name(facts, values[2]);
    relation->name = copy_name(facts, values[3]);
    relation->kind = values[4].at[0];
    relation->is_own = slice_equals(relation->schema, SLICE("pg_catalog"));
    relation->has_triggers = has_flag(values[5], 't');
    relation->gives_others = has_flag(values[5], 'i');
    relation->has_policies = has_flag(values[5], 'p');
    relation->takes_whole = has_flag(values[5], 'w');
    facts->relation_count++;
    (void)map_put(&facts->by_oid, fact_key(&relation->oid), relation);
    relation->next_of_name = map_put(&facts->by_name, relation->name, relation);
    return read_columns(facts, relation, values[6]);
}

static bool read_edge(struct pg_facts *facts, enum fact_edge_kind kind, const struct slice *values)
{
    uint32_t from = 0;
    uint32_t to = 0;
    uint16_t column = 0;
    if (!read_oid(values[1], &from) || !read_oid(values[2], &to) ||
        (kind == FACT_EDGE_VIEW && !read_number(values[3], &column))) {
        return false;
    }
    struct fact_edge edge = {.kind = kind,
                             .from = pg_facts_find(facts, from),
                             .to = pg_facts_find(facts, to),
                             .column = column};
    if (kind == FACT_EDGE_KEY && values[3].len == 2) {
        edge.when_deleted = values[3].at[0];
        edge.when_updated = values[3].at[1];
    }
    if (edge.from != NULL && edge.to != NULL) { /* others are the server's, or indexes */
        facts->edges[facts->edge_count++] = edge;
    }
    return true;
}

/* A view's column is what it is taken from, where its text says so: each list of results in it,
 * those of its subqueries, too, which may be told of more than matters, never of less. */
static bool read_origin(struct pg_facts *facts, const struct slice *values)
{
    uint32_t view = 0;
    uint64_t relation = 0;
    uint16_t number = 0;
    uint16_t origin = 0;
    if (!read_oid(values[1], &view) || !read_number(values[2], &number) || values[3].at == NULL ||
        text_parse_u64(values[3], &relation) != ERR_NONE || !read_number(values[4], &origin)) {
        return false;
    }
    struct fact_edge edge = {.kind = FACT_EDGE_COLUMN,
                             .from = pg_facts_find(facts, view),
                             .to = pg_facts_find(facts, (uint32_t)relation),
                             .column = origin,
                             .from_column = number};
    struct fact_column *column = edge.from == NULL ? NULL : fact_column_of(edge.from, number);
    if (column == NULL) {
        return true; /* a subquery's, which has more */
    }
    if (edge.to == NULL || fact_column_of(edge.to, origin) == NULL) {
        column->is_computed = true;
    } else {
        column->has_origin = true;
        facts->edges[facts->edge_count++] = edge;
    }
    return true;
}

static bool read_remote(struct pg_facts *facts, const struct slice *values, bool is_column)
{
    uint32_t oid = 0;
    uint16_t number = 0;
    struct fact_relation *relation = read_oid(values[1], &oid) ? pg_facts_find(facts, oid) : NULL;
    if (relation == NULL || (is_column && !read_number(values[2], &number))) {
        return false;
    }
    if (!is_column) {
        relation->remote_schema = copy_name(facts, values[2]);
        relation->remote_name = copy_name(facts, values[3]);
        return true;
    }
    struct fact_column *column = fact_column_of(relation, number);
    if (column != NULL) {
        column->remote = copy_name(facts, values[3]);
    }
    return true;
}

/* A view that calls what may read anything reaches anything. */
static bool read_view_call(struct pg_facts *facts, const struct slice *values)
{
    uint32_t oid = 0;
    struct fact_relation *view = read_oid(values[1], &oid) ? pg_facts_find(facts, oid) : NULL;
    const struct sql_name name = {.schema = SLICE(""), .name = copy_name(facts, values[2])};
    if (view != NULL && (name.name.len == 0 || !guard_function_is_harmless(&name))) {
        view->runs_code = true;
        view->runs_when_read = true;
    }
    return view != NULL;
}

static bool read_function(struct pg_facts *facts, const struct slice *values)
{
    struct fact_function *function = arena_alloc(&facts->arena, sizeof(*function));
    uint16_t min = 0;
    uint16_t max = 0;
    if (values[1].len == 0 || !read_number(values[2], &min) ||
        (values[3].at != NULL && !read_number(values[3], &max))) {
        return false;
    }
    *function = (struct fact_function){.argument_min = min,
                                       .argument_max = values[3].at == NULL ? UINT32_MAX : max};
    function->next = map_put(&facts->functions, values[1], function);
    return true;
}

static bool read_code(struct pg_facts *facts, const struct slice *values)
{
    uint32_t oid = 0;
    struct fact_relation *relation = read_oid(values[1], &oid) ? pg_facts_find(facts, oid) : NULL;
    if (relation != NULL) {
        relation->runs_code = true;
        relation->runs_when_read = relation->runs_when_read || values[2].len > 0;
    }
    return true; /* of something that has no rows */
}

/* One of which the text says what it defines, and that no rule is about it. A body that is no text
 * defines nothing. */
static bool read_procedure(struct pg_facts *facts, const struct slice *values)
{
    struct fact_procedure *procedure = arena_alloc(&facts->arena, sizeof(*procedure));
    struct slice text = values[2];
    if (values[1].len == 0) {
        return false;
    }
    *procedure = (struct fact_procedure){
        .is_plain = text.at != NULL && facts->rules != NULL && pg_facts_is_plain_code(text) &&
                    !slice_has_nocase(text, SLICE("call")) &&
                    !mask_rules_may_be_named(facts->rules, text, true)};
    procedure->next = map_put(&facts->procedures, values[1], procedure);
    return true;
}

/* Those in which a value is checked, or cast ('x'), by what somebody made: domains, and types with
 * functions. */
static bool read_type(struct pg_facts *facts, const struct slice *values)
{
    bool is_plain = values[2].len == 1 && strchr("ecrm", values[2].at[0]) != NULL;
    if (values[1].len == 0) {
        return false;
    }
    if (!is_plain) {
        (void)map_put(&facts->types, values[1], facts);
    }
    return true;
}

static bool read_row(struct pg_facts *facts, const struct slice *values)
{
    switch (values[0].len == 1 ? values[0].at[0] : '\0') {
    case 'r':
        return read_relation(facts, values);
    case 'x':
        return read_code(facts, values);
    case 'y':
        return read_remote(facts, values, false);
    case 'z':
        return read_remote(facts, values, true);
    case 'd':
        return read_edge(facts, FACT_EDGE_VIEW, values);
    case 'q':
        return read_view_call(facts, values);
    case 'l':
        return read_origin(facts, values);
    case 'i':
        return read_edge(facts, FACT_EDGE_INHERIT, values);
    case 'k':
        return read_edge(facts, FACT_EDGE_KEY, values);
    case 'p':
        return read_edge(facts, FACT_EDGE_POLICY, values);
    case 'f':
        return read_function(facts, values);
    case 'b':
        return read_procedure(facts, values);
    case 'o':
        (void)map_put(&facts->operators, values[1], facts);
        return values[1].len > 0;
    case 't':
        return read_type(facts, values);
    case 'c':
        facts->has_casts = true;
        return true;
    case 'e':
        facts->has_event_triggers = true;
        return true;
    default:
        return false;
    }
}

/* Its life ------------------------------------------------------------------------------------- */

static bool is_relation(const struct query_row *row)
{
    return slice_equals(row->values[0], SLICE("r"));
}

static size_t count_relations(const struct query_rows *rows)
{
    size_t count = 0;
    for (const struct query_row *row = rows->first; row != NULL; row = row->next) {
        count += is_relation(row);
    }
    return count;
}

/* Relations first, whatever their order in the answer: the rest is about them. */
struct pg_facts *pg_facts_new(struct mask_rules *rules, const struct query_rows *rows)
{
    struct pg_facts *facts = memory_new(sizeof(*facts));
    uint8_t seed[MAP_SEED_SIZE];
    randombytes_buf(seed, sizeof(seed));
    facts->references = 1;
    facts->rules = rules != NULL ? mask_rules_ref(rules) : NULL;
    arena_init(&facts->arena);
    map_init(&facts->by_oid, seed);
    map_init(&facts->by_name, seed);
    map_init(&facts->functions, seed);
    map_init(&facts->procedures, seed);
    map_init(&facts->operators, seed);
    map_init(&facts->types, seed);
    size_t count = count_relations(rows);
    facts->relations = arena_alloc_array(&facts->arena, count + 1, sizeof(facts->relations[0]));
    facts->edges =
        arena_alloc_array(&facts->arena, rows->count - count + 1, sizeof(facts->edges[0]));
    for (int pass = 0; pass < 2; pass++) {
        for (const struct query_row *row = rows->first; row != NULL; row = row->next) {
            if (is_relation(row) == (pass == 0)) {
                facts->is_broken = !read_row(facts, row->values) || facts->is_broken;
            }
        }
    }
    pg_facts_link(facts);
    pg_facts_close_code(facts);
    pg_facts_close(facts);
    return facts;
}

struct pg_facts *pg_facts_ref(struct pg_facts *facts)
{
    facts->references++;
    return facts;
}

void pg_facts_unref(struct pg_facts *facts)
{
    if (facts == NULL || --facts->references > 0) {
        return;
    }
    map_release(&facts->by_oid);
    map_release(&facts->by_name);
    map_release(&facts->functions);
    map_release(&facts->procedures);
    map_release(&facts->operators);
    map_release(&facts->types);
    arena_release(&facts->arena);
    mask_rules_unref(facts->rules);
    memory_free(facts);
}
