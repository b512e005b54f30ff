/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_views.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "codec/hex.h"
#include "policy/guard_function.h"
#include "sql/sql_lexer.h"
#include "sql/sql_mysql_lineage.h"
#include "wire/mysqlwire_value.h"

#define COUNT_MAX   32   /* whose queries are kept */
#define COLUMNS_MAX 4096 /* that a server lets one have */
#define CLOSED_MAX  256
#define DEPTH_MAX   16

/* In hexadecimal, whatever character set the session's results are in. A table that is neither of
 * these engines may show another one. The limit is there so that the session's own is not. */
static const char names_question[] =
    "SELECT HEX(CONVERT(LOWER(TABLE_SCHEMA) USING utf8mb4)), "
    "HEX(CONVERT(LOWER(TABLE_NAME) USING utf8mb4)) FROM information_schema.TABLES "
    "WHERE TABLE_SCHEMA NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys') "
    "AND (TABLE_TYPE NOT IN ('BASE TABLE', 'SYSTEM VERSIONED', 'SEQUENCE') OR ENGINE IS NULL "
    "OR ENGINE NOT IN ('InnoDB', 'MyISAM', 'Aria', 'MEMORY', 'ARCHIVE', 'CSV', 'BLACKHOLE', "
    "'ROCKSDB', 'SEQUENCE', 'Columnstore', 'S3')) LIMIT 18446744073709551615";

/* The query stands at place 0, its columns behind it. By both names, so the server opens one
 * relation. What is longer would not fit into a row of ours. */
#define PARTS_QUESTION                                                                             \
    "SELECT 0, HEX(CONVERT(VIEW_DEFINITION USING utf8mb4)) FROM information_schema.VIEWS "         \
    "WHERE TABLE_SCHEMA = CONVERT(0x%.*s USING utf8mb4) "                                          \
    "AND TABLE_NAME = CONVERT(0x%.*s USING utf8mb4) AND LENGTH(VIEW_DEFINITION) < 16384 "          \
    "UNION ALL SELECT ORDINAL_POSITION, HEX(CONVERT(LOWER(COLUMN_NAME) USING utf8mb4)) "           \
    "FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = CONVERT(0x%.*s USING utf8mb4) "          \
    "AND TABLE_NAME = CONVERT(0x%.*s USING utf8mb4) LIMIT 18446744073709551615"

static bool is_one_of(struct slice name, const char *const *names, size_t count)
{
    bool is_there = false;
    for (size_t i = 0; i < count && !is_there; i++) {
        is_there = slice_equals_nocase(name, slice_of_text(names[i]));
    }
    return is_there;
}

bool mysql_views_is_system(struct slice schema)
{
    static const char *const names[] = {"information_schema", "mysql", "performance_schema", "sys"};
    return is_one_of(schema, names, COUNT_OF(names));
}

bool mysql_views_is_harmless_system(const struct sql_name *name)
{
    static const char *const tables[] = {
        "schemata",
        "tables",
        "columns",
        "statistics",
        "key_column_usage",
        "table_constraints",
        "referential_constraints",
        "check_constraints",
        "views",
        "routines",
        "parameters",
        "triggers",
        "events",
        "engines",
        "character_sets",
        "collations",
        "collation_character_set_applicability",
        "partitions",
        "plugins",
        "all_plugins",
        "global_variables",
        "session_variables",
        "system_variables",
        "global_status",
        "session_status",
        "schema_privileges",
        "table_privileges",
        "column_privileges",
        "user_privileges",
        "applicable_roles",
        "enabled_roles",
        "keywords",
        "sql_functions",
        "files",
        "tablespaces",
        "spatial_ref_sys",
        "geometry_columns",
    };
    return slice_equals_nocase(name->schema, SLICE("information_schema")) &&
           is_one_of(name->name, tables, COUNT_OF(tables));
}

/* What the target tells ------------------------------------------------------------------------ */

struct slice mysql_views_question(void)
{
    return slice_of(names_question, sizeof(names_question) - 1);
}

static bool read_hex(struct arena *arena, struct slice digits, struct slice *ret_bytes)
{
    size_t size = digits.len / 2;
    char *bytes = arena_alloc_bare(arena, size + 1);
    *ret_bytes = slice_of(bytes, size);
    return digits.at != NULL && digits.len % 2 == 0 &&
           (size == 0 || hex_decode(digits, bytes, size) == ERR_NONE);
}

/* One of which not all is there is any. */
void mysql_views_take_name(struct mysql_views *views, struct slice row)
{
    struct arena arena CLEANUP(arena_release);
    struct slice parts[] = {SLICE("\n"), SLICE(""), SLICE("\0"), SLICE(""), SLICE("\n")};
    struct reader reader = reader_of(row);
    struct slice schema = mysqlwire_text_value_read(&reader);
    struct slice name = mysqlwire_text_value_read(&reader);
    arena_init(&arena);
    bool is_good = !reader.failed && read_hex(&arena, schema, &parts[1]) &&
                   read_hex(&arena, name, &parts[3]) &&
                   buf_append_parts(&views->names, parts, COUNT_OF(parts)) == ERR_NONE;
    views->is_cut = views->is_cut || !is_good;
}

bool mysql_views_ask(struct mysql_views *views, const struct sql_name *name)
{
    if (views->count == COUNT_MAX) {
        return false;
    }
    if (views->items == NULL) {
        views->items = arena_alloc_array(&views->arena, COUNT_MAX, sizeof(*views->items));
    }
    views->items[views->count++] = (struct mysql_view){
        .name = {.schema = arena_copy(&views->arena, name->schema),
                 .name = arena_copy(&views->arena, name->name)},
        .query = SLICE(""),
    };
    struct slice schema = hex_encode(&views->arena, name->schema);
    struct slice own = hex_encode(&views->arena, name->name);
    views->question = arena_format(&views->arena, PARTS_QUESTION, SLICE_ARG(schema), SLICE_ARG(own),
                                   SLICE_ARG(schema), SLICE_ARG(own));
    return true;
}

void mysql_views_take_part(struct mysql_views *views, struct slice row)
{
    struct reader reader = reader_of(row);
    struct slice place = mysqlwire_text_value_read(&reader);
    struct slice digits = mysqlwire_text_value_read(&reader);
    struct slice text = SLICE("");
    uint64_t at = 0;
    must(views->count > 0);
    struct mysql_view *view = &views->items[views->count - 1];
    if (reader.failed || place.at == NULL || text_parse_u64(place, &at) != ERR_NONE ||
        at > COLUMNS_MAX || !read_hex(&views->arena, digits, &text)) {
        return; /* so there are too few columns, or no query */
    }
    if (at == 0) {
        view->query = text;
        return;
    }
    while (view->column_count < at) {
        view->columns = sql_room(&views->arena, view->columns, view->column_count,
                                 &view->column_capacity, sizeof(*view->columns));
        view->columns[view->column_count++] = SLICE("");
    }
    view->columns[at - 1] = text;
}

/* What is known of them ------------------------------------------------------------------------ */

/* 2: it is not known which of several, whose names differ in upper and lower case. */
static size_t count_of(const struct mysql_views *views, const struct sql_name *name)
{
    struct buf line CLEANUP(buf_release);
    size_t count = 0;
    buf_init(&line, 1024);
    const struct slice parts[] = {SLICE("\n"), name->schema, SLICE("\0"), name->name, SLICE("\n")};
    if (!views->is_known || views->is_cut || buf_append_parts(&line, parts, 5) != ERR_NONE) {
        return 2;
    }
    struct slice names = buf_view(&views->names);
    while (names.len > 0 && count < 2) {
        size_t at = slice_find(names, buf_view(&line));
        count += at < names.len;
        names = slice_from(names, at + line.len);
    }
    return count;
}

bool mysql_views_has(const struct mysql_views *views, const struct sql_name *name)
{
    return count_of(views, name) > 0;
}

bool mysql_views_is_asked(const void *context, struct slice name)
{
    const struct mysql_views_scan *scan = context;
    bool is_asked = mask_rules_cover_name(scan->rules, name);
    for (size_t i = 0; i < scan->closed_count && !is_asked; i++) {
        is_asked = slice_equals(scan->closed[i], name);
    }
    return is_asked;
}

static const struct mysql_view *find(const struct mysql_views *views, const struct sql_name *name)
{
    for (size_t i = 0; i < views->count; i++) {
        const struct mysql_view *view = &views->items[i];
        if (slice_equals(view->name.schema, name->schema) &&
            slice_equals(view->name.name, name->name)) {
            return view;
        }
    }
    return NULL;
}

/* Whether the text reads alike in all modes: a string ends at its next quote, and a name is in
 * backticks. */
static bool is_plain(struct slice query)
{
    return query.len > 0 && slice_find_byte(query, '\\') == query.len &&
           slice_find_byte(query, '"') == query.len;
}

/* What a query reads, but for other views; false: any. */
static bool reads_masked(const struct mysql_views_scan *scan, const struct sql_name *name,
                         bool *ret_is_masked)
{
    if (name->schema.len == 0) {
        return false;
    }
    if (mysql_views_is_system(name->schema)) {
        return mysql_views_is_harmless_system(name);
    }
    *ret_is_masked =
        *ret_is_masked || mask_rules_cover_some_of(scan->rules, name->schema, name->name);
    return !mask_rules_cover_table(scan->rules, name->schema, name->name);
}

static enum mysql_views_answer look_at_names(struct mysql_views_scan *scan,
                                             const struct sql_statement *statement)
{
    enum mysql_views_answer answer = MYSQL_VIEWS_OPEN;
    for (size_t i = 0; i < statement->function_count; i++) {
        if (!guard_mysql_function_is_harmless(&statement->functions[i].name)) {
            return MYSQL_VIEWS_DARK;
        }
    }
    for (size_t i = 0; i < statement->relation_count; i++) {
        const struct sql_relation *relation = &statement->relations[i];
        bool is_masked = false;
        enum mysql_views_answer found = MYSQL_VIEWS_OPEN;
        if (relation->is_all) {
            return MYSQL_VIEWS_DARK;
        }
        if (mysql_views_has(scan->views, &relation->name)) {
            found = mysql_views_look(scan, &relation->name);
        } else if (!reads_masked(scan, &relation->name, &is_masked)) {
            return MYSQL_VIEWS_DARK;
        }
        if (found == MYSQL_VIEWS_DARK || found == MYSQL_VIEWS_ASK) {
            return found;
        }
        answer = is_masked || found == MYSQL_VIEWS_CLOSED ? MYSQL_VIEWS_CLOSED : answer;
    }
    return answer;
}

static bool close_name(struct mysql_views_scan *scan, struct slice name)
{
    if (mysql_views_is_asked(scan, name)) {
        return true;
    }
    if (scan->closed == NULL) {
        scan->closed = arena_alloc_array(scan->arena, CLOSED_MAX, sizeof(*scan->closed));
    }
    if (scan->closed_count == CLOSED_MAX) {
        return false;
    }
    scan->closed[scan->closed_count++] = arena_copy(scan->arena, name);
    return true;
}

/* The names of its columns that may have something masked in them. */
static enum mysql_views_answer close_columns(struct mysql_views_scan *scan,
                                             const struct sql_settings *settings,
                                             const struct mysql_view *view)
{
    const struct sql_mysql_asked asked = {.is_asked = mysql_views_is_asked, .context = scan};
    struct sql_mysql_lineage lineage =
        sql_mysql_lineage_of(scan->arena, settings, view->query, &asked);
    if (!lineage.is_known || lineage.has_star || lineage.front_count != view->column_count) {
        return MYSQL_VIEWS_DARK;
    }
    for (size_t i = 0; i < view->column_count; i++) {
        if (view->columns[i].len == 0 ||
            (!lineage.front[i] && !close_name(scan, view->columns[i]))) {
            return MYSQL_VIEWS_DARK;
        }
    }
    return MYSQL_VIEWS_CLOSED;
}

static enum mysql_views_answer look_into(struct mysql_views_scan *scan,
                                         const struct mysql_view *view)
{
    const struct sql_settings settings = {
        .dialect = SQL_MYSQL, .is_backslash_quoted = true, .database = view->name.schema};
    const struct sql_mysql_asked asked = {.is_asked = mysql_views_is_asked, .context = scan};
    if (!is_plain(view->query)) {
        return MYSQL_VIEWS_DARK;
    }
    struct sql_script script = scan->analyze(scan->arena, &settings, view->query);
    struct sql_mysql_signs signs = sql_mysql_signs(scan->arena, &settings, view->query, &asked);
    bool is_query = script.count == 1 && script.other == NULL && signs.is_read &&
                    !signs.keeps_values && !script.statements[0].is_unknown &&
                    script.statements[0].verb == SQL_SELECT &&
                    script.statements[0].operations == SQL_BIT(SQL_SELECT);
    enum mysql_views_answer answer =
        is_query ? look_at_names(scan, &script.statements[0]) : MYSQL_VIEWS_DARK;
    return answer == MYSQL_VIEWS_CLOSED ? close_columns(scan, &settings, view) : answer;
}

enum mysql_views_answer mysql_views_look(struct mysql_views_scan *scan, const struct sql_name *name)
{
    const struct mysql_view *view = find(scan->views, name);
    if (count_of(scan->views, name) != 1 || scan->depth == DEPTH_MAX) {
        return MYSQL_VIEWS_DARK;
    }
    if (view == NULL) {
        scan->wanted = *name;
        return MYSQL_VIEWS_ASK;
    }
    scan->depth++;
    enum mysql_views_answer answer = look_into(scan, view);
    scan->depth--;
    return answer;
}

/* Its life ------------------------------------------------------------------------------------- */

void mysql_views_init(struct mysql_views *views)
{
    *views = (struct mysql_views){.question = SLICE("")};
    buf_init(&views->names, LIMIT_MYSQL_VIEWS_SIZE);
    arena_init_small(&views->arena);
}

void mysql_views_release(struct mysql_views *views)
{
    buf_release(&views->names);
    arena_release(&views->arena);
}

void mysql_views_clear(struct mysql_views *views)
{
    views->is_known = false;
    views->is_cut = false;
    views->items = NULL;
    views->count = 0;
    views->question = SLICE("");
    buf_clear(&views->names);
    arena_reset(&views->arena);
}
