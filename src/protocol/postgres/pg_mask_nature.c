/* SPDX-License-Identifier: MIT */
/* What the text of a statement says about masked columns. Where it says too little, the worst is
 * taken for true. */
#include "protocol/postgres/pg_mask_internal.h"

#define RUNS_OTHERS (SQL_BIT(SQL_EXECUTE) | SQL_BIT(SQL_FETCH))
#define CHANGES_NAMES                                                                              \
    (SQL_BIT(SQL_PREPARE) | SQL_BIT(SQL_DEALLOCATE) | SQL_BIT(SQL_DISCARD) |                       \
     SQL_BIT(SQL_DECLARE) | SQL_BIT(SQL_CLOSE))
#define CHANGES_TABLES                                                                             \
    (SQL_BIT(SQL_CREATE) | SQL_BIT(SQL_ALTER) | SQL_BIT(SQL_DROP) | SQL_BIT(SQL_RENAME))

/* All columns of a relation, of which any may be masked. */
static bool is_covered(const struct mask_rules *rules, const struct sql_column *column)
{
    return slice_equals(column->name, SLICE("*")) || mask_rules_cover_name(rules, column->name);
}

static struct statement_nature nature_of_one(const struct mask_rules *rules, bool has_columns,
                                             const struct sql_statement *statement)
{
    struct statement_nature nature = {
        .changes_names = statement->is_unknown || (statement->operations & CHANGES_NAMES) != 0,
        .changes_tables = statement->is_unknown || (statement->operations & CHANGES_TABLES) != 0,
        .runs_others = (statement->operations & RUNS_OTHERS) != 0,
        .uses_masked = has_columns && statement->is_unknown,
        .is_tainted = has_columns && statement->is_unknown,
    };
    for (size_t i = 0; has_columns && i < statement->column_count; i++) {
        const struct sql_column *column = &statement->columns[i];
        if ((!nature.uses_masked || (column->is_used && !nature.is_tainted)) &&
            is_covered(rules, column)) {
            nature.uses_masked = true;
            nature.is_tainted = nature.is_tainted || column->is_used;
        }
    }
    return nature;
}

struct statement_nature pg_mask_nature_of(const struct mask_rules *rules, bool has_tainted,
                                          const struct sql_script *script)
{
    bool has_columns = rules != NULL && mask_rules_strictest(rules) != NULL;
    struct statement_nature nature = {
        .is_tainted = has_columns && script == NULL,
        .uses_masked = has_columns && script == NULL,
        .changes_names = script == NULL,
        .changes_tables = script == NULL,
    };
    for (size_t i = 0; script != NULL && i < script->count; i++) {
        const struct sql_statement *statement = &script->statements[i];
        struct statement_nature one = nature_of_one(rules, has_columns, statement);
        bool runs_tainted = has_tainted && one.runs_others;
        nature.is_tainted = nature.is_tainted || one.is_tainted || runs_tainted;
        nature.uses_masked = nature.uses_masked || one.uses_masked || runs_tainted;
        nature.runs_others = nature.runs_others || one.runs_others;
        nature.changes_names = nature.changes_names || one.changes_names;
        nature.changes_tables = nature.changes_tables || one.changes_tables;
        has_tainted = has_tainted || one.is_tainted;
    }
    return nature;
}

bool pg_mask_refuses(const struct mask_rules *rules, const struct sql_script *script,
                     size_t *ret_statement)
{
    if (rules == NULL || !mask_rules_refuse_predicates(rules) ||
        mask_rules_strictest(rules) == NULL) {
        return false;
    }
    *ret_statement = 0;
    for (size_t i = 0; script != NULL && i < script->count; i++) {
        if (nature_of_one(rules, true, &script->statements[i]).is_tainted) {
            *ret_statement = i;
            return true;
        }
    }
    return script == NULL;
}
