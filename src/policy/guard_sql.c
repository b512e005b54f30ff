/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "policy/guard_function.h"
#include "policy/guard_internal.h"

/* Of a session that only reads: what changes what is stored, or what other sessions see. */
#define MORE_THAN_READS                                                                            \
    (SQL_BIT(SQL_INSERT) | SQL_BIT(SQL_UPDATE) | SQL_BIT(SQL_DELETE) | SQL_BIT(SQL_MERGE) |        \
     SQL_BIT(SQL_TRUNCATE) | SQL_BIT(SQL_CREATE) | SQL_BIT(SQL_ALTER) | SQL_BIT(SQL_DROP) |        \
     SQL_BIT(SQL_RENAME) | SQL_BIT(SQL_COMMENT) | SQL_BIT(SQL_GRANT) | SQL_BIT(SQL_REVOKE) |       \
     SQL_BIT(SQL_CALL) | SQL_BIT(SQL_DO) | SQL_BIT(SQL_NOTIFY) | SQL_BIT(SQL_VACUUM) |             \
     SQL_BIT(SQL_ANALYZE) | SQL_BIT(SQL_REINDEX) | SQL_BIT(SQL_CLUSTER) | SQL_BIT(SQL_REFRESH) |   \
     SQL_BIT(SQL_IMPORT) | SQL_BIT(SQL_REASSIGN) | SQL_BIT(SQL_LOAD) | SQL_BIT(SQL_CHECKPOINT) |   \
     SQL_BIT(SQL_SERVER_FILE) | SQL_BIT(SQL_CODE) | SQL_BIT(SQL_FOREIGN) | SQL_BIT(SQL_OTHER))
#define WRITES_COUNTED                                                                             \
    (SQL_BIT(SQL_INSERT) | SQL_BIT(SQL_UPDATE) | SQL_BIT(SQL_DELETE) | SQL_BIT(SQL_MERGE))

/* Rules -----------------------------------------------------------------------------------------
 */

static struct guard_glob *sql_globs_in(struct arena *arena, const struct shape_texts *texts)
{
    struct guard_glob *globs = arena_alloc_array(arena, texts->count, sizeof(*globs));
    for (size_t i = 0; i < texts->count; i++) {
        globs[i] = guard_glob_view(arena_copy(arena, texts->items[i]));
    }
    return globs;
}

static uint64_t sql_operations_of(const struct guard_rule *rule)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < rule->operations.count; i++) {
        enum sql_operation operation = SQL_OTHER;
        if (sql_operation_parse(rule->operations.items[i], &operation)) {
            bits |= SQL_BIT(operation);
        }
    }
    return bits;
}

const struct guard_sql *guard_sql_in(struct arena *arena, const struct guard_rule *rule)
{
    struct guard_sql *sql = arena_alloc(arena, sizeof(*sql));
    *sql = (struct guard_sql){
        .operations = sql_operations_of(rule),
        .without_where = rule->without_where.value,
        .multi_statement = rule->multi_statement.value,
        .read_only = rule->read_only.value,
        .blocks_unknown = guard_rule_blocks_unknown(rule),
        .max_rows = rule->max_rows.is_given ? rule->max_rows.value : -1,
        .relation_count = rule->relations.count,
        .functions = sql_globs_in(arena, &rule->functions),
        .function_count = rule->functions.count,
        .safe_functions = sql_globs_in(arena, &rule->safe_functions),
        .safe_function_count = rule->safe_functions.count,
    };
    if (sql->max_rows >= 0 && sql->operations == 0) {
        sql->operations = WRITES_COUNTED;
    }
    const struct guard_relation *relations = rule->relations.items;
    sql->relations = arena_alloc_array(arena, sql->relation_count, sizeof(*sql->relations));
    for (size_t i = 0; i < sql->relation_count; i++) {
        sql->relations[i] = (struct guard_sql_relation){
            .glob = guard_glob_view(arena_copy(arena, relations[i].name)),
            .if_read = !slice_equals(relations[i].access, SLICE("write")),
            .if_written = !slice_equals(relations[i].access, SLICE("read")),
        };
        sql->relation_starts |= guard_glob_start(&sql->relations[i].glob);
    }
    for (size_t i = 0; i < sql->function_count; i++) {
        sql->function_starts |= guard_glob_start(&sql->functions[i]);
    }
    return sql;
}

/* Statements ------------------------------------------------------------------------------------
 */

/* A statement, and what its functions add to it. */
struct sql_subject {
    const struct sql_statement *statement;
    enum sql_dialect dialect;
    uint64_t operations;
    uint64_t bulk;            /* bits: what is done to rows whose number cannot be told */
    uint64_t relation_starts; /* guard_name_start() of all of them */
    uint64_t function_starts;
    bool is_one_of_many;
    bool has_unknown_functions;
    bool reads_any; /* a text that is a function's argument says which relation */
    bool remembers; /* it reads what the server keeps of the values of any table */
};

static bool sql_is_of_catalog(const struct guard_sql_relation *wanted)
{
    return slice_equals(wanted->glob.schema, SLICE("pg_catalog")) ||
           slice_equals(wanted->glob.schema, SLICE("information_schema"));
}

/* All relations of a schema or of the database. CASCADE does not write to the catalogs. */
static bool sql_meets_all(const struct guard_sql_relation *wanted,
                          const struct sql_relation *relation, enum sql_dialect dialect)
{
    bool is_catalog = sql_is_of_catalog(wanted);
    bool is_read = wanted->if_read && relation->is_read;
    return guard_glob_matches_schema(&wanted->glob, relation->name.schema, dialect) &&
           (is_read || !is_catalog || relation->name.schema.len > 0);
}

static bool sql_has_relation(const struct guard_sql *sql, const struct sql_subject *subject)
{
    const struct sql_statement *statement = subject->statement;
    for (size_t j = 0; (subject->reads_any || subject->remembers) && j < sql->relation_count; j++) {
        const struct guard_sql_relation *wanted = &sql->relations[j];
        if (wanted->if_read && (subject->reads_any || !sql_is_of_catalog(wanted))) {
            return true;
        }
    }
    if ((sql->relation_starts & subject->relation_starts) == 0) { /* most rules */
        return false;
    }
    for (size_t i = 0; i < statement->relation_count; i++) {
        const struct sql_relation *relation = &statement->relations[i];
        for (size_t j = 0; j < sql->relation_count; j++) {
            const struct guard_sql_relation *wanted = &sql->relations[j];
            bool is_access = (wanted->if_read && relation->is_read) ||
                             (wanted->if_written && relation->is_written);
            if (is_access && (relation->is_all ? sql_meets_all(wanted, relation, subject->dialect)
                                               : guard_glob_matches(&wanted->glob, &relation->name,
                                                                    subject->dialect))) {
                return true;
            }
        }
    }
    return false;
}

static bool sql_is_in(const struct guard_glob *globs, size_t count, const struct sql_name *name,
                      enum sql_dialect dialect)
{
    for (size_t i = 0; i < count; i++) {
        if (guard_glob_matches(&globs[i], name, dialect)) {
            return true;
        }
    }
    return false;
}

/* A field of a value is hardly one of all functions of a schema. */
static bool sql_is_field_of(const struct guard_sql *sql, const struct sql_name *field)
{
    for (size_t i = 0; i < sql->function_count; i++) {
        const struct guard_glob *glob = &sql->functions[i];
        bool is_all = glob->schema.len > 0 && slice_equals(glob->name, SLICE("*"));
        if (!is_all && guard_glob_matches(glob, field, SQL_POSTGRES)) {
            return true;
        }
    }
    return false;
}

static bool sql_has_function(const struct guard_sql *sql, const struct sql_subject *subject)
{
    const struct sql_statement *statement = subject->statement;
    if ((sql->function_starts & subject->function_starts) == 0) {
        return false;
    }
    for (size_t i = 0; i < statement->function_count; i++) {
        const struct sql_function *function = &statement->functions[i];
        if (function->is_any) {
            return true;
        }
        if (function->is_field ? sql_is_field_of(sql, &function->name)
                               : sql_is_in(sql->functions, sql->function_count, &function->name,
                                           subject->dialect)) {
            return true;
        }
    }
    return false;
}

/* What is done to any number of rows is of concern to rules about numbers, however it is called. */
static bool sql_does_in_bulk(const struct guard_sql *sql, const struct sql_subject *subject)
{
    uint64_t bulk = subject->bulk & (sql->max_rows >= 0 ? UINT64_MAX : ~SQL_BIT(SQL_INSERT));
    uint64_t operations = sql->operations == 0 ? UINT64_MAX : sql->operations;
    return (sql->without_where || sql->max_rows >= 0) && (operations & bulk) != 0;
}

static bool sql_does_more_than_read(const struct sql_subject *subject)
{
    const struct sql_statement *statement = subject->statement;
    bool is_written = false;
    for (size_t i = 0; i < statement->relation_count && !is_written; i++) {
        is_written = statement->relations[i].is_written;
    }
    return is_written || statement->lets_write || statement->locks ||
           (subject->operations & MORE_THAN_READS) != 0;
}

static bool sql_matches(const struct guard_sql *sql, const struct sql_subject *subject)
{
    bool is_bulk = sql_does_in_bulk(sql, subject);
    if (sql->read_only) { /* nothing else stands beside it */
        return sql_does_more_than_read(subject);
    }
    return (is_bulk || sql->operations == 0 || (sql->operations & subject->operations) != 0) &&
           (!sql->multi_statement || subject->is_one_of_many) &&
           (is_bulk || !sql->without_where || subject->statement->without_where) &&
           (sql->relation_count == 0 || sql_has_relation(sql, subject)) &&
           (sql->function_count == 0 || sql_has_function(sql, subject));
}

/* What a function does beyond its name is of no concern to rules about names of functions, and to
 * those about nothing but the script. */
static bool sql_cares_for_functions(const struct guard_sql *sql)
{
    return sql->function_count == 0 && (sql->operations != 0 || sql->without_where ||
                                        sql->relation_count > 0 || sql->read_only);
}

bool guard_sql_is_safe(const struct guard_sql *sql, const struct sql_name *function)
{
    return sql_is_in(sql->safe_functions, sql->safe_function_count, function, SQL_POSTGRES);
}

bool guard_sql_asks_names(const struct guard_sql *sql)
{
    for (size_t i = 0; i < sql->safe_function_count; i++) {
        if (slice_equals(sql->safe_functions[i].name, SLICE("*")) &&
            sql->safe_functions[i].schema.len == 0) {
            return false;
        }
    }
    return sql->blocks_unknown && sql_cares_for_functions(sql);
}

static bool sql_is_harmless(const struct sql_function *function, enum sql_dialect dialect)
{
    if (dialect == SQL_MYSQL) {
        return guard_mysql_function_is_harmless(&function->name);
    }
    return function->is_field ? guard_field_is_harmless(&function->name)
                              : guard_function_is_harmless(&function->name);
}

/* Why a name of the statement may do what the rule is about. */
static struct slice sql_why_named(const struct guard_judgement *judgement,
                                  const struct guard_sql *sql)
{
    size_t count =
        judgement->names == NULL || !guard_sql_asks_names(sql) ? 0 : judgement->names->count;
    struct slice why = SLICE_NONE;
    for (size_t i = 0; i < count && why.at == NULL; i++) {
        if (judgement->names->items[i].statement == judgement->statement) {
            why = guard_name_why(sql, &judgement->names->items[i]);
        }
    }
    return why;
}

/* Why the statement may do what the rule is about, for all that is known; empty: it is known. */
static struct slice sql_why_unknown(const struct guard_judgement *judgement,
                                    const struct guard_sql *sql, const struct sql_subject *subject)
{
    const struct sql_statement *statement = subject->statement;
    if (statement->is_unknown) {
        return slice_of_text(statement->why);
    }
    if ((subject->operations & SQL_BIT(SQL_EXECUTE)) != 0) {
        return SLICE("it runs a prepared statement");
    }
    bool is_asked = subject->has_unknown_functions && sql_cares_for_functions(sql);
    for (size_t i = 0; i < statement->function_count && is_asked; i++) {
        const struct sql_function *function = &statement->functions[i];
        if (!sql_is_harmless(function, subject->dialect) &&
            !sql_is_in(sql->safe_functions, sql->safe_function_count, &function->name,
                       subject->dialect)) {
            return SLICE("it calls a function that may do anything");
        }
    }
    return sql_why_named(judgement, sql);
}

static void sql_note_max_rows(struct guard_judgement *judgement, size_t rule)
{
    const struct guard_rules *rules = judgement->scope->rules;
    struct guard_verdict *verdict = judgement->verdict;
    int64_t max_rows = rules->rules[rule].sql->max_rows;
    if (verdict->max_rows < 0 || max_rows < verdict->max_rows) {
        verdict->max_rows = max_rows;
        verdict->max_rows_rule = guard_finding_of(rules, rule, judgement->statement, SLICE_NONE);
    }
}

static void sql_judge_rule(struct guard_judgement *judgement, size_t rule,
                           const struct sql_subject *subject)
{
    const struct guard_sql *sql = judgement->scope->rules->rules[rule].sql;
    bool is_match = sql_matches(sql, subject);
    if (is_match && sql->max_rows >= 0 && sql_does_in_bulk(sql, subject)) {
        guard_note(judgement, rule, SLICE("the rows that it changes cannot be counted"));
        return;
    }
    if (is_match && sql->max_rows < 0) {
        guard_note(judgement, rule, SLICE_NONE);
        return;
    }
    struct slice why = sql->blocks_unknown ? sql_why_unknown(judgement, sql, subject) : SLICE_NONE;
    if (why.at != NULL) {
        guard_note(judgement, rule, why);
    } else if (is_match) {
        sql_note_max_rows(judgement, rule);
    }
}

static void sql_judge_statement(struct guard_judgement *judgement,
                                const struct sql_subject *subject)
{
    const struct guard_scope *scope = judgement->scope;
    for (size_t word = 0; word < GUARD_WORDS(scope->rules->count); word++) {
        uint64_t bits = scope->bits[word] & scope->rules->sql_bits[word];
        for (; bits != 0; bits &= bits - 1) {
            sql_judge_rule(judgement, word * 64 + (size_t)__builtin_ctzll(bits), subject);
        }
    }
}

/* What the server keeps of the values of any table. */
static bool sql_remembers(const struct sql_relation *relation)
{
    static const struct slice names[] = {
        SLICE_INIT("pg_statistic"), SLICE_INIT("pg_statistic_ext_data"), SLICE_INIT("pg_stats"),
        SLICE_INIT("pg_stats_ext"), SLICE_INIT("pg_stats_ext_exprs"),
    };
    bool is_own =
        relation->name.schema.len == 0 || slice_equals(relation->name.schema, SLICE("pg_catalog"));
    bool is_one = false;
    for (size_t i = 0; i < COUNT_OF(names) && is_own && relation->is_read && !is_one; i++) {
        is_one = slice_equals(relation->name.name, names[i]);
    }
    return is_one;
}

static void sql_subject_fill(struct sql_subject *subject)
{
    const struct sql_statement *statement = subject->statement;
    for (size_t i = 0; i < statement->relation_count; i++) {
        const struct sql_relation *relation = &statement->relations[i];
        subject->relation_starts |=
            relation->is_all ? UINT64_MAX : guard_name_start(relation->name.name, subject->dialect);
        bool is_filled = (relation->operations & SQL_BIT(SQL_COPY)) != 0;
        subject->remembers =
            subject->remembers || (subject->dialect == SQL_POSTGRES && sql_remembers(relation));
        subject->bulk |= is_filled ? SQL_BIT(SQL_INSERT) : 0;
    }
    for (size_t i = 0; i < statement->function_count; i++) {
        const struct sql_function *function = &statement->functions[i];
        subject->function_starts |= guard_name_start(function->name.name, subject->dialect);
        subject->operations |=
            subject->dialect == SQL_POSTGRES ? guard_function_operations(&function->name) : 0;
        bool is_unknown = !sql_is_harmless(function, subject->dialect);
        subject->has_unknown_functions = subject->has_unknown_functions || is_unknown;
        subject->reads_any =
            subject->reads_any ||
            (is_unknown && subject->dialect == SQL_POSTGRES && guard_function_reads_any(function));
    }
    bool is_emptied = (statement->operations & SQL_BIT(SQL_TRUNCATE)) != 0;
    subject->bulk |= is_emptied ? SQL_BIT(SQL_DELETE) : 0;
    subject->bulk |= statement->rewrites_rows ? SQL_BIT(SQL_UPDATE) : 0;
}

void guard_sql_judge(struct guard_judgement *judgement, const struct sql_script *script)
{
    static struct sql_relation any = {
        .name = {SLICE_INIT(""), SLICE_INIT("*")}, .is_read = true, .is_all = true};
    static const struct sql_statement no_sql = {
        .is_unknown = true, .why = "it is not SQL", .relations = &any, .relation_count = 1};
    if (script == NULL) {
        struct sql_subject subject = {.statement = &no_sql};
        sql_subject_fill(&subject);
        sql_judge_statement(judgement, &subject);
        return;
    }
    for (size_t i = 0; i < script->count; i++) {
        struct sql_subject subject = {
            .statement = &script->statements[i],
            .dialect = script->dialect,
            .operations = script->statements[i].operations,
            .is_one_of_many = script->count > 1,
        };
        sql_subject_fill(&subject);
        judgement->statement = i;
        sql_judge_statement(judgement, &subject);
    }
    judgement->statement = 0;
}
