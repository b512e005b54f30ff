/* SPDX-License-Identifier: MIT */
/* Limits on rows, as far as statements go: which can be counted, and what the target is asked of
 * the tables that they write. How they run is in mysql_limit.h. */
#include "base/text.h"
#include "codec/hex.h"
#include "protocol/mysql/mysql_filter_internal.h"

const char *filter_limit_check(const struct guard_facts *facts)
{
    return facts->statement_count != 1 ? "the limit on rows cannot be held for several statements "
                                         "at once"
           : facts->is_unknown         ? "the limit on rows cannot be held for a statement that is "
                                         "not understood"
           : !facts->is_counted_write  ? "the limit on rows cannot be held: the rows that the "
                                         "statement changes are not told"
                                       : NULL;
}

/* Names as digits: so they are the same in each character set. */
static void write_condition(struct mysql_filter *filter, struct arena *arena,
                            const struct sql_name *name)
{
    struct slice schema = hex_encode(arena, name->schema);
    struct slice table = hex_encode(arena, name->name);
    struct slice text =
        name->schema.len == 0
            ? arena_format(arena,
                           " OR LOWER(HEX(CONVERT(LOWER(TABLE_NAME) USING utf8mb4))) = '%.*s'",
                           SLICE_ARG(table))
            : arena_format(arena,
                           " OR (LOWER(HEX(CONVERT(LOWER(TABLE_SCHEMA) USING utf8mb4))) = '%.*s' "
                           "AND LOWER(HEX(CONVERT(LOWER(TABLE_NAME) USING utf8mb4))) = '%.*s')",
                           SLICE_ARG(schema), SLICE_ARG(table));
    (void)!buf_append(&filter->limit_question, text);
}

/* Those of its tables that are no plain ones of an engine with transactions. */
static const char *write_question(struct mysql_filter *filter, struct arena *arena,
                                  const struct sql_script *script)
{
    static const char head[] =
        "SELECT HEX(CONVERT(TABLE_NAME USING utf8mb4)) FROM information_schema.TABLES WHERE "
        "(TABLE_TYPE NOT IN ('BASE TABLE', 'SYSTEM VERSIONED') OR ENGINE IS NULL OR ENGINE NOT IN "
        "(SELECT ENGINE FROM information_schema.ENGINES WHERE TRANSACTIONS = 'YES')) AND (FALSE";
    size_t count = 0;
    buf_clear(&filter->limit_question);
    (void)!buf_append(&filter->limit_question, slice_of_text(head));
    for (const struct sql_script *at = script; at != NULL; at = at->other) {
        for (size_t i = 0; i < at->count; i++) {
            const struct sql_statement *statement = &at->statements[i];
            for (size_t k = 0; k < statement->relation_count; k++) {
                const struct sql_relation *relation = &statement->relations[k];
                if (relation->is_written && relation->is_all) {
                    return "the limit on rows cannot be held: it is not told which tables the "
                           "statement writes";
                }
                if (relation->is_written) {
                    write_condition(filter, arena, &relation->name);
                    count++;
                }
            }
        }
    }
    return count == 0 || buf_append(&filter->limit_question, SLICE(") LIMIT 1")) != ERR_NONE
               ? "the limit on rows cannot be held: the statement's tables are not known"
               : NULL;
}

const char *filter_limit(struct mysql_filter *filter, const struct filter_subject *subject,
                         const struct guard_verdict *verdict)
{
    struct arena arena CLEANUP(arena_release);
    struct mysql_filter_limit *limit = &filter->limit;
    const char *why = filter_limit_check(subject->facts);
    arena_init(&arena);
    limit->max_rows = -1;
    if (verdict->max_rows < 0 || why != NULL) {
        return verdict->max_rows < 0 ? NULL : why;
    }
    if (!subject->is_read) {
        return "the limit on rows cannot be held for a statement that is not understood";
    }
    if (filter->has_table_locks) {
        return "the limit on rows cannot be held while LOCK TABLES is: UNLOCK TABLES first";
    }
    struct sql_script script = filter->policy.analyze(&arena, &subject->settings, subject->text);
    why = write_question(filter, &arena, &script);
    if (why == NULL) {
        limit->max_rows = verdict->max_rows;
        limit->rule = verdict->max_rows_rule;
        limit->question = buf_view(&filter->limit_question);
        limit->is_in_transaction = (filter->status & MYSQLWIRE_STATUS_IN_TRANSACTION) != 0 ||
                                   (filter->status & MYSQLWIRE_STATUS_AUTOCOMMIT) == 0;
    }
    return why;
}

/* START TRANSACTION, which a limit needs, would give the locks up. */
void filter_limit_note(struct mysql_filter *filter, const struct guard_facts *facts,
                       struct slice text)
{
    if ((facts->operations & SQL_BIT(SQL_LOCK)) != 0) {
        filter->has_table_locks =
            facts->statement_count != 1 || !slice_has_nocase(text, SLICE("unlock"));
    } else if ((facts->operations & SQL_BIT(SQL_BEGIN)) != 0 && facts->statement_count == 1) {
        filter->has_table_locks = false;
    }
}

const struct mysql_filter_limit *mysql_filter_limit(const struct mysql_filter *filter)
{
    return &filter->limit;
}
