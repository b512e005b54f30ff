/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_reach.h"

#include "base/memory.h"
#include "policy/guard_function.h"
#include "sql/sql_mysql_signs.h"

#define ONLY "where columns are masked only "
#define NO   "where columns are masked "

struct reach_scan {
    struct mysql_reach *reach;
    const struct mysql_reach_request *request;
    struct sql_mysql_signs signs;
    bool reads_masked; /* a relation with a masked column is read, or may be */
    bool is_plain;     /* the text is one statement, and reads alike everywhere */
    struct mysql_views_scan views;
    bool has_view;      /* a relation is no table that stands for itself */
    bool has_dark_view; /* and it is not known what it shows */
    bool reads_whole;   /* all columns of one that is read are masked */
};

static enum mysql_reach_outcome refuse(struct mysql_reach *reach, const char *why)
{
    reach->why = why;
    return MYSQL_REACH_REFUSES;
}

static bool is_one_of(struct slice name, const char *const *names, size_t count)
{
    bool is_there = false;
    for (size_t i = 0; i < count && !is_there; i++) {
        is_there = slice_equals_nocase(name, slice_of_text(names[i]));
    }
    return is_there;
}

/* Relations ------------------------------------------------------------------------------------ */

/* Of a view: whether something masked is in it, or nobody knows. */
static enum mysql_reach_outcome take_view(struct reach_scan *scan, const struct sql_name *name,
                                          bool *ret_is_masked)
{
    enum mysql_views_answer answer = mysql_views_look(&scan->views, name);
    scan->has_view = true;
    *ret_is_masked = answer != MYSQL_VIEWS_OPEN;
    scan->has_dark_view = scan->has_dark_view || answer == MYSQL_VIEWS_DARK;
    return answer == MYSQL_VIEWS_ASK ? MYSQL_REACH_ASKS : MYSQL_REACH_PASSES;
}

/* Without a schema it is in any: then nothing is known of it. */
static enum mysql_reach_outcome take_relation(struct reach_scan *scan,
                                              const struct sql_relation *relation)
{
    const struct sql_name *name = &relation->name;
    const struct mask_rules *rules = scan->request->rules;
    enum mysql_reach_outcome outcome = MYSQL_REACH_PASSES;
    bool is_somewhere = relation->is_all || name->schema.len == 0;
    bool is_masked = is_somewhere;
    if (mysql_views_is_system(name->schema)) {
        return mysql_views_is_harmless_system(name)
                   ? MYSQL_REACH_PASSES
                   : refuse(scan->reach, NO "this table of the server is not shown: it may hold "
                                            "values, or texts of statements");
    }
    if (is_somewhere) {
        scan->has_view = true;
        scan->has_dark_view = true;
    } else if (mysql_views_has(scan->request->views, name)) {
        outcome = take_view(scan, name, &is_masked);
    } else {
        is_masked = mask_rules_cover_some_of(rules, name->schema, name->name);
    }
    scan->reads_masked = scan->reads_masked || (is_masked && relation->is_read);
    scan->reads_whole =
        scan->reads_whole ||
        (relation->is_read && mask_rules_cover_table(rules, name->schema, name->name));
    scan->reach->reaches = scan->reach->reaches || is_masked;
    return outcome;
}

/* Functions ------------------------------------------------------------------------------------ */

static enum mysql_reach_outcome take_function(struct reach_scan *scan,
                                              const struct sql_function *function)
{
    static const char *const keeping[] = {"get_lock", "release_lock", "is_used_lock",
                                          "is_free_lock"};
    bool keeps =
        is_one_of(function->name.name, keeping, COUNT_OF(keeping)) ||
        (slice_equals(function->name.name, SLICE("last_insert_id")) && function->argument_max > 0);
    if (!guard_mysql_function_is_harmless(&function->name)) {
        return refuse(scan->reach,
                      NO "functions that are not the server's own, or read files, are not called: "
                         "they may read anything");
    }
    return keeps && scan->reach->reaches
               ? refuse(scan->reach, NO "their values are not handed to functions that keep them")
               : MYSQL_REACH_PASSES;
}

/* Statements ----------------------------------------------------------------------------------- */

static enum mysql_reach_outcome check_show(const struct reach_scan *scan)
{
    static const char *const kinds[] = {
        "databases", "schemas",  "tables",  "columns",    "fields",    "index",     "indexes",
        "keys",      "create",   "table",   "variables",  "status",    "character", "charset",
        "collation", "engines",  "plugins", "privileges", "procedure", "function",  "triggers",
        "events",    "warnings", "errors",  "grants",     "count",     "storage",   "open",
    };
    static const char *const prefixes[] = {"full", "global", "session", "local", "extended"};
    struct mysql_reach *reach = scan->reach;
    struct slice kind = scan->signs.second;
    if (!scan->is_plain || scan->signs.compares) {
        return refuse(reach, NO "SHOW stands alone, and has no query inside");
    }
    if (is_one_of(kind, prefixes, COUNT_OF(prefixes))) {
        kind = scan->signs.third;
    }
    if (!slice_equals(scan->signs.first, SLICE("show")) &&
        !slice_equals(scan->signs.first, SLICE("help"))) {
        return refuse(reach, NO "words of errors are not kept in variables");
    }
    reach->is_about_errors = reach->is_about_errors || slice_equals(kind, SLICE("warnings")) ||
                             slice_equals(kind, SLICE("errors"));
    return slice_equals(scan->signs.first, SLICE("help")) || is_one_of(kind, kinds, COUNT_OF(kinds))
               ? MYSQL_REACH_PASSES
               : refuse(reach, NO "this is not shown: it may hold values, or texts of statements");
}

/* What nobody can look into, or what would look at anything later. */
static enum mysql_reach_outcome check_kind(const struct reach_scan *scan,
                                           const struct sql_statement *statement)
{
    const uint64_t texts = SQL_BIT(SQL_CALL) | SQL_BIT(SQL_EXECUTE) | SQL_BIT(SQL_PREPARE);
    struct mysql_reach *reach = scan->reach;
    bool is_of_other = statement->verb == SQL_EXPLAIN && statement->relation_count == 0 &&
                       (!scan->is_plain || slice_equals(scan->signs.second, SLICE("for")));
    if (is_of_other) {
        return refuse(reach, NO "plans of other sessions are not shown");
    }
    if ((statement->operations & texts) != 0) {
        return refuse(reach, NO "procedures are not called, and no statements prepared by SQL: "
                                "what they read is not known. The protocol's own prepared "
                                "statements work");
    }
    if (statement->is_unknown) {
        return refuse(reach, ONLY "statements that are understood may run");
    }
    if ((statement->operations & (SQL_BIT(SQL_CODE) | SQL_BIT(SQL_FOREIGN))) != 0) {
        return refuse(reach, NO "no code and no tables of other servers or tables are made");
    }
    if ((statement->operations & SQL_BIT(SQL_SERVER_FILE)) != 0) {
        return refuse(reach, NO "the server's files are neither read nor written");
    }
    return statement->verb == SQL_SHOW ? check_show(scan) : MYSQL_REACH_PASSES;
}

static enum mysql_reach_outcome check_read(const struct reach_scan *scan)
{
    if (scan->signs.keeps_values) {
        return refuse(scan->reach, NO "a statement that reads their tables has no variables and no "
                                      "INTO");
    }
    bool compares = scan->signs.names_asked_at_all || scan->has_view || scan->reads_whole ||
                    (scan->signs.names_asked && scan->signs.compares);
    return mask_rules_refuse_predicates(scan->request->rules) && compares
               ? refuse(scan->reach, "a rule keeps statements from naming masked columns: name "
                                     "others, or take them by * and nothing else")
               : MYSQL_REACH_PASSES;
}

static enum mysql_reach_outcome check_write(const struct reach_scan *scan)
{
    struct mysql_reach *reach = scan->reach;
    if (scan->has_view) {
        return refuse(reach, NO "a statement that writes names tables, no views, and a database");
    }
    if (scan->reads_whole ||
        (scan->reads_masked && (scan->signs.names_asked || scan->signs.makes_relations))) {
        return refuse(reach, NO "a statement that writes does not read them: name other columns, "
                                "and no *");
    }
    return scan->signs.keeps_values && scan->reads_masked
               ? refuse(reach,
                        NO "a statement that reads their tables has no variables and no INTO")
               : MYSQL_REACH_PASSES;
}

/* A statement that reaches a masked column, or may. */
static enum mysql_reach_outcome check_reaching(const struct reach_scan *scan,
                                               const struct sql_statement *statement)
{
    const uint64_t writes = SQL_BIT(SQL_INSERT) | SQL_BIT(SQL_UPDATE) | SQL_BIT(SQL_DELETE);
    const uint64_t known = writes | SQL_BIT(SQL_SELECT);
    const uint64_t plain = SQL_BIT(SQL_DROP) | SQL_BIT(SQL_TRUNCATE) | SQL_BIT(SQL_LOCK);
    uint64_t operations = statement->operations;
    bool is_select = operations == SQL_BIT(SQL_SELECT) && statement->verb == SQL_SELECT &&
                     !slice_equals(scan->signs.first, SLICE("checksum"));
    if (is_select) {
        return check_read(scan);
    }
    if ((operations & ~plain) == 0) {
        return MYSQL_REACH_PASSES; /* nothing of them is read */
    }
    if (scan->is_plain && statement->verb == SQL_EXPLAIN && operations == SQL_BIT(SQL_EXPLAIN) &&
        (slice_equals(scan->signs.first, SLICE("describe")) ||
         slice_equals(scan->signs.first, SLICE("desc"))) &&
        scan->signs.third.len == 0) {
        return MYSQL_REACH_PASSES;
    }
    if ((operations & writes) != 0 && (operations & ~(known | SQL_BIT(SQL_COPY))) == 0) {
        return check_write(scan);
    }
    return refuse(scan->reach, ONLY "SELECT, INSERT, UPDATE, DELETE, DROP and TRUNCATE may name "
                                    "their tables, and DESCRIBE");
}

static enum mysql_reach_outcome take_names(struct reach_scan *scan,
                                           const struct sql_statement *statement)
{
    enum mysql_reach_outcome outcome = MYSQL_REACH_PASSES;
    for (size_t i = 0; i < statement->relation_count && outcome == MYSQL_REACH_PASSES; i++) {
        outcome = take_relation(scan, &statement->relations[i]);
    }
    for (size_t i = 0; i < statement->function_count && outcome == MYSQL_REACH_PASSES; i++) {
        outcome = take_function(scan, &statement->functions[i]);
    }
    return outcome;
}

static void keep_proven(struct reach_scan *scan, const struct sql_statement *statement)
{
    struct mysql_reach *reach = scan->reach;
    struct sql_name *names = arena_alloc_array(
        &reach->arena, reach->proven_count + statement->relation_count + 1, sizeof(*names));
    size_t count = 0;
    for (; count < reach->proven_count; count++) {
        names[count] = reach->proven[count];
    }
    for (size_t i = 0; i < statement->relation_count; i++) {
        names[count++] = statement->relations[i].name;
    }
    reach->proven = names;
    reach->proven_count = count;
}

/* All statements of a text are one: which result is whose is not looked at. */
static enum mysql_reach_outcome take_script(struct reach_scan *scan,
                                            const struct sql_script *script)
{
    enum mysql_reach_outcome outcome = MYSQL_REACH_PASSES;
    for (size_t i = 0; i < script->count && outcome == MYSQL_REACH_PASSES; i++) {
        outcome = check_kind(scan, &script->statements[i]);
        if (outcome == MYSQL_REACH_PASSES) {
            outcome = take_names(scan, &script->statements[i]);
            keep_proven(scan, &script->statements[i]);
        }
    }
    for (size_t i = 0; i < script->count && outcome == MYSQL_REACH_PASSES && scan->reach->reaches;
         i++) {
        bool is_alone = script->count == 1 || script->statements[i].relation_count > 0;
        outcome = is_alone ? check_reaching(scan, &script->statements[i]) : MYSQL_REACH_PASSES;
    }
    return outcome;
}

enum mysql_reach_outcome mysql_reach_judge(struct mysql_reach *reach,
                                           const struct mysql_reach_request *request)
{
    mysql_reach_clear(reach);
    struct reach_scan scan = {.reach = reach, .request = request};
    scan.views = (struct mysql_views_scan){.views = request->views,
                                           .rules = request->rules,
                                           .analyze = request->analyze,
                                           .arena = &reach->arena};
    const struct sql_mysql_asked asked = {.is_asked = mysql_views_is_asked, .context = &scan.views};
    scan.signs = sql_mysql_signs(&reach->arena, request->settings, request->text, &asked);
    struct sql_script script = request->analyze(&reach->arena, request->settings, request->text);
    if (!request->is_read || !scan.signs.is_read) {
        return refuse(reach, ONLY "statements that are understood may run");
    }
    scan.is_plain = script.count == 1 && script.other == NULL;
    enum mysql_reach_outcome outcome = take_script(&scan, &script);
    if (outcome == MYSQL_REACH_PASSES && script.other != NULL) {
        outcome = take_script(&scan, script.other);
    }
    if (scan.has_view || scan.signs.makes_relations) {
        reach->proven_count = 0;
    }
    reach->closed = scan.views.closed;
    reach->closed_count = scan.views.closed_count;
    reach->wanted = scan.views.wanted;
    if (reach->reaches && scan.is_plain && !scan.has_dark_view && !scan.reads_whole) {
        reach->lineage =
            sql_mysql_lineage_of(&reach->arena, request->settings, request->text, &asked);
    }
    return outcome;
}

/* Answers -------------------------------------------------------------------------------------- */

/* A plain column of a table that is named in the text. */
static bool is_origin_proven(const struct mysql_reach *reach, const struct mask_origin *origin)
{
    bool is_proven = false;
    if (origin->schema.len == 0 || origin->table.len == 0 || origin->column.len == 0) {
        return false;
    }
    for (size_t i = 0; i < reach->proven_count && !is_proven; i++) {
        is_proven = slice_equals_nocase(reach->proven[i].schema, origin->schema) &&
                    slice_equals_nocase(reach->proven[i].name, origin->table);
    }
    return is_proven;
}

bool mysql_reach_proves(const struct mysql_reach *reach, const struct mask_rules *rules,
                        const struct mask_origin *origin, const struct sql_mysql_place *place)
{
    const struct mysql_views_scan names = {
        .rules = rules, .closed = reach->closed, .closed_count = reach->closed_count};
    const struct sql_mysql_asked asked = {.is_asked = mysql_views_is_asked, .context = &names};
    return is_origin_proven(reach, origin) ||
           sql_mysql_lineage_is_open(&reach->lineage, &asked, place);
}

/* About the text, names in it, rights and the state of the session. */
bool mysql_reach_hides_error(uint16_t number)
{
    static const uint16_t plain[] = {1040, 1044, 1046, 1049, 1050, 1051, 1052, 1053, 1054, 1055,
                                     1060, 1064, 1065, 1066, 1091, 1099, 1100, 1109, 1136, 1140,
                                     1142, 1143, 1146, 1149, 1158, 1159, 1160, 1161, 1192, 1205,
                                     1213, 1222, 1227, 1235, 1241, 1242, 1243, 1248, 1290, 1305,
                                     1317, 1370, 1792, 1927, 1969, 3024};
    for (size_t i = 0; i < COUNT_OF(plain); i++) {
        if (plain[i] == number) {
            return false;
        }
    }
    return true;
}

/* Its life ------------------------------------------------------------------------------------- */

void mysql_reach_init(struct mysql_reach *reach)
{
    *reach = (struct mysql_reach){.why = ""};
    arena_init_small(&reach->arena);
}

void mysql_reach_release(struct mysql_reach *reach)
{
    arena_release(&reach->arena);
}

void mysql_reach_clear(struct mysql_reach *reach)
{
    struct arena arena = reach->arena;
    arena_reset(&arena);
    *reach = (struct mysql_reach){.arena = arena, .why = ""};
}
