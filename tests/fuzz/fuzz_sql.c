/* SPDX-License-Identifier: MIT */
/* Any text, read as one with backslashes that escape and as one without: what is found lies in the
 * text, is found again, and each statement alone is what it was among the others. */
#include "fuzz.h"

#include "base/must.h"
#include "sql/sql.h"

static void check_names(const struct sql_statement *statement)
{
    for (size_t i = 0; i < statement->relation_count; i++) {
        const struct sql_relation *relation = &statement->relations[i];
        must(relation->is_read || relation->is_written);
        must(relation->is_written == (relation->operations != 0));
        for (size_t k = 0; k < i && i < 50; k++) {
            must(!slice_equals(relation->name.name, statement->relations[k].name.name) ||
                 !slice_equals(relation->name.schema, statement->relations[k].name.schema));
        }
    }
}

static void check_alone(struct arena *arena, const struct sql_settings *settings, struct slice text,
                        const struct sql_statement *statement)
{
    struct sql_script alone =
        sql_analyze(arena, settings, slice_sub(text, statement->offset, statement->len));
    must(alone.count == 1);
    must(alone.statements[0].operations == statement->operations);
    must(alone.statements[0].is_unknown == statement->is_unknown);
    must(alone.statements[0].relation_count == statement->relation_count);
    must(alone.statements[0].function_count == statement->function_count);
    must(alone.statements[0].column_count == statement->column_count);
}

/* In their order, apart from each other, and with something in them. */
static void check_gaps(const struct sql_script *script, struct slice text)
{
    size_t end = 0;
    for (size_t i = 0; i < script->gap_count; i++) {
        const struct sql_gap *gap = &script->gaps[i];
        must(gap->len > 0 && gap->offset >= end && (gap->offset > end || i == 0));
        end = (size_t)gap->offset + gap->len;
        must(end <= text.len);
    }
}

static void check_text(struct slice text, bool is_backslash_quoted)
{
    const struct sql_settings settings = {.dialect = SQL_POSTGRES,
                                          .is_backslash_quoted = is_backslash_quoted};
    static struct arena arena; /* for all inputs */
    struct sql_script script = sql_analyze(&arena, &settings, text);
    size_t end = 0;
    for (size_t i = 0; i < script.count; i++) {
        const struct sql_statement *statement = &script.statements[i];
        must(statement->offset >= end && statement->offset + statement->len <= text.len);
        must((statement->operations & SQL_BIT(statement->verb)) != 0);
        must(statement->is_unknown == (statement->why[0] != '\0'));
        end = statement->offset + statement->len;
        check_names(statement);
        if (i < 8) {
            check_alone(&arena, &settings, text, statement);
        }
    }
    check_gaps(&script, text);
    arena_reset(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    check_text(slice_of(bytes, size), false);
    check_text(slice_of(bytes, size), true);
    return 0;
}
