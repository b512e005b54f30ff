/* SPDX-License-Identifier: MIT */
/* Any text in MySQL's dialect, under each way a session may read it, which the first byte says:
 * what is found lies in the text, in its order; what is written is told of; nothing is found that
 * is not in the text of the statement; of what a query returns nothing is open that is asked for.
 */
#include "fuzz.h"

#include "base/must.h"
#include "sql/sql_mysql_lineage.h"

static void check_names(const struct sql_statement *statement)
{
    uint64_t written = 0;
    for (size_t i = 0; i < statement->relation_count; i++) {
        const struct sql_relation *relation = &statement->relations[i];
        must(relation->is_read || relation->is_written);
        must(relation->is_written == (relation->operations != 0));
        written |= relation->operations;
    }
    must((written & ~statement->operations) == 0);
}

static void check_script(const struct sql_script *script, struct slice text)
{
    size_t end = 0;
    for (size_t i = 0; i < script->count; i++) {
        const struct sql_statement *statement = &script->statements[i];
        must(statement->offset >= end && statement->offset + statement->len <= text.len);
        must((statement->operations & SQL_BIT(statement->verb)) != 0);
        must(statement->is_unknown == (statement->why[0] != '\0'));
        end = statement->offset + statement->len;
        check_names(statement);
    }
    end = 0;
    for (size_t i = 0; i < script->gap_count; i++) {
        const struct sql_gap *gap = &script->gaps[i];
        must(gap->len > 0 && gap->offset >= end);
        end = (size_t)gap->offset + gap->len;
        must(end <= text.len);
    }
}

static bool is_asked(const void *context, struct slice name)
{
    (void)context;
    return slice_equals(name, SLICE("card"));
}

static void check_lineage(struct arena *arena, const struct sql_settings *settings,
                          struct slice text)
{
    const struct sql_mysql_asked asked = {.is_asked = is_asked};
    struct sql_mysql_lineage lineage = sql_mysql_lineage_of(arena, settings, text, &asked);
    size_t count = lineage.front_count + lineage.back_count + (lineage.has_star ? 2 : 0);
    for (size_t i = 0; i < count; i++) {
        const struct sql_mysql_place place = {i, count, SLICE("Card")};
        bool is_starred = i >= lineage.front_count && i < count - lineage.back_count;
        must(!sql_mysql_lineage_is_open(&lineage, &asked, &place) || !is_starred);
    }
    const struct sql_mysql_place beyond = {count, lineage.has_star ? 0 : count + 1, SLICE("id")};
    must(!sql_mysql_lineage_is_open(&lineage, &asked, &beyond));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct arena arena; /* for all inputs */
    if (size < 1) {
        return 0;
    }
    const struct sql_settings settings = {
        .dialect = SQL_MYSQL,
        .is_backslash_quoted = (bytes[0] & 1U) == 0,
        .is_ansi_quoted = (bytes[0] & 2U) != 0,
        .charset = (bytes[0] & 4U) != 0 ? SQL_CHARSET_SINGLE : SQL_CHARSET_UTF8,
        .database = (bytes[0] & 8U) != 0 ? SLICE("shop") : SLICE(""),
    };
    struct slice text = slice_from(slice_of(bytes, size), 1);
    struct sql_script script = sql_analyze(&arena, &settings, text);
    check_script(&script, text);
    if (script.other != NULL) {
        check_script(script.other, text);
    }
    check_lineage(&arena, &settings, text);
    arena_reset(&arena);
    return 0;
}
