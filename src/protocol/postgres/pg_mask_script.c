/* SPDX-License-Identifier: MIT */
/* What is kept of a statement's text: what it names, and what it may change. */
#include "protocol/postgres/pg_mask_request.h"

#define CHANGES                                                                                    \
    (SQL_BIT(SQL_CREATE) | SQL_BIT(SQL_ALTER) | SQL_BIT(SQL_DROP) | SQL_BIT(SQL_RENAME) |          \
     SQL_BIT(SQL_CODE) | SQL_BIT(SQL_FOREIGN) | SQL_BIT(SQL_IMPORT) | SQL_BIT(SQL_REASSIGN) |      \
     SQL_BIT(SQL_CALL) | SQL_BIT(SQL_DO) | SQL_BIT(SQL_LOAD))
#define RUNS_OTHERS (SQL_BIT(SQL_EXECUTE) | SQL_BIT(SQL_FETCH))

/* What is kept of a script --------------------------------------------------------------------- */

static struct slice keep_text(struct arena *arena, struct slice text)
{
    return text.len == 0 ? SLICE("") : arena_copy(arena, text);
}

static struct sql_name keep_name(struct arena *arena, struct sql_name name)
{
    return (struct sql_name){.schema = keep_text(arena, name.schema),
                             .name = keep_text(arena, name.name)};
}

static struct sql_name *keep_names(struct arena *arena, const struct sql_name *names, size_t count)
{
    struct sql_name *kept = arena_alloc_array(arena, count + 1, sizeof(*kept));
    for (size_t i = 0; i < count; i++) {
        kept[i] = keep_name(arena, names[i]);
    }
    return kept;
}

static size_t name_count(const struct sql_statement *statement)
{
    return statement->relation_count + statement->function_count + statement->column_count +
           statement->operator_count + statement->type_count;
}

static void keep_statement(struct arena *arena, const struct sql_statement *from,
                           struct sql_statement *to)
{
    *to = *from;
    to->prepared = keep_text(arena, from->prepared);
    to->relations = arena_alloc_array(arena, from->relation_count + 1, sizeof(to->relations[0]));
    to->functions = arena_alloc_array(arena, from->function_count + 1, sizeof(to->functions[0]));
    to->columns = arena_alloc_array(arena, from->column_count + 1, sizeof(to->columns[0]));
    for (size_t i = 0; i < from->relation_count; i++) {
        to->relations[i] = from->relations[i];
        to->relations[i].name = keep_name(arena, from->relations[i].name);
    }
    for (size_t i = 0; i < from->function_count; i++) {
        to->functions[i] = from->functions[i];
        to->functions[i].name = keep_name(arena, from->functions[i].name);
    }
    for (size_t i = 0; i < from->column_count; i++) {
        to->columns[i] = from->columns[i];
        to->columns[i].qualifier = keep_text(arena, from->columns[i].qualifier);
        to->columns[i].name = keep_text(arena, from->columns[i].name);
    }
    to->operators = keep_names(arena, from->operators, from->operator_count);
    to->types = keep_names(arena, from->types, from->type_count);
}

static bool keep_script(struct arena *arena, const struct sql_script *script,
                        struct sql_script *ret_kept)
{
    size_t count = script->count;
    for (size_t i = 0; i < script->count; i++) {
        count += name_count(&script->statements[i]);
    }
    if (count > LIMIT_PG_MASK_REACH_NAMES) {
        return false;
    }
    ret_kept->statements =
        arena_alloc_array(arena, script->count + 1, sizeof(ret_kept->statements[0]));
    ret_kept->count = script->count;
    for (size_t i = 0; i < script->count; i++) {
        keep_statement(arena, &script->statements[i], &ret_kept->statements[i]);
    }
    return true;
}

/* What a statement is ------------------------------------------------------------------------- */

static bool is_change(const struct sql_statement *statement)
{
    bool is_execute = (statement->operations & SQL_BIT(SQL_EXECUTE)) != 0;
    return (statement->operations & CHANGES) != 0 || (statement->is_unknown && !is_execute);
}

/* "SHOW name" of a setting that holds no text of the client's choice. */
static bool shows_plain(struct slice text)
{
    static const struct slice names[] = {
        SLICE_INIT("transaction"),     SLICE_INIT("transaction_isolation"),
        SLICE_INIT("server_version"),  SLICE_INIT("server_version_num"),
        SLICE_INIT("server_encoding"), SLICE_INIT("client_encoding"),
        SLICE_INIT("datestyle"),       SLICE_INIT("standard_conforming_strings"),
        SLICE_INIT("is_superuser"),    SLICE_INIT("max_identifier_length"),
    };
    struct slice rest = slice_trim(text, " \t\r\n;");
    (void)slice_cut(rest, ' ', &rest);
    struct slice word = slice_cut(slice_trim(rest, " \t\r\n"), ' ', &rest);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (slice_equals_nocase(word, names[i])) {
            return true;
        }
    }
    return false;
}

/* What a transaction that was prepared defines holds when that is committed, by whatever session.
 */
void pg_mask_describe_changes(struct statement *statement, const struct sql_script *script,
                              struct slice text)
{
    for (size_t i = 0; i < script->count; i++) {
        const struct sql_statement *one = &script->statements[i];
        statement->commits_prepared =
            statement->commits_prepared || ((one->operations & SQL_BIT(SQL_COMMIT)) != 0 &&
                                            slice_has_nocase(text, SLICE("prepared")));
        statement->changes_tables =
            statement->changes_tables || is_change(one) || statement->commits_prepared;
    }
}

void pg_mask_describe_statement(struct pg_mask *mask, struct statement *statement,
                                const struct pg_mask_request *request)
{
    const struct sql_script *script = request->script;
    statement->is_script_known = mask->strictest != NULL && script != NULL &&
                                 keep_script(&statement->arena, script, &statement->script);
    if (statement->is_script_known && request->text.len <= LIMIT_PG_MASK_LINEAGE_SIZE) {
        statement->text = keep_text(&statement->arena, request->text);
        statement->is_backslash_quoted = request->is_backslash_quoted;
    }
    statement->changes_tables = script == NULL;
    statement->changes_names = script == NULL;
    statement->runs_others = script == NULL;
    if (script != NULL) {
        pg_mask_describe_changes(statement, script, request->text);
    }
    statement->shows_plain = script != NULL && script->count == 1 && shows_plain(request->text);
    for (size_t i = 0; script != NULL && i < script->count; i++) {
        const struct sql_statement *one = &script->statements[i];
        const uint64_t names = SQL_BIT(SQL_PREPARE) | SQL_BIT(SQL_DEALLOCATE) |
                               SQL_BIT(SQL_DISCARD) | SQL_BIT(SQL_DECLARE) | SQL_BIT(SQL_CLOSE);
        statement->runs_others = statement->runs_others || (one->operations & RUNS_OTHERS) != 0;
        statement->changes_names =
            statement->changes_names || one->is_unknown || (one->operations & names) != 0;
    }
}
