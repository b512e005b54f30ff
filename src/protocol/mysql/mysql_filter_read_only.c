/* SPDX-License-Identifier: MIT */
/* A session that only reads. Its setting says that transactions are READ ONLY, and each statement
 * outside of one is a transaction. Statements that would change that are blocked by their words;
 * but what a statement calls, a view's functions too, can change the setting for what comes behind
 * it. So the setting stands right before each command, by a statement of the gateway's own, which
 * is not waited for once the target has agreed to it. Within one text nothing can stand between
 * two statements: one that runs code of somebody's is the last. What runs as another text, or
 * cannot be read, is refused, whatever a rule says of the unknown: a block could set and write. */
#include "policy/guard_function.h"
#include "protocol/mysql/mysql_filter_internal.h"

#define WHERE_READING "where only reading is allowed "

void filter_read_only_set(struct mysql_filter *filter, const struct passage_policy *policy)
{
    struct filter_read_only *read_only = &filter->read_only;
    read_only->covers = read_only->covers && read_only->is_wanted;
    read_only->is_wanted = policy->is_read_only;
    read_only->is_held = read_only->is_held && policy->is_read_only;
    read_only->has_failed = false;
}

bool filter_read_only_asks(struct mysql_filter *filter)
{
    struct filter_read_only *read_only = &filter->read_only;
    if (!read_only->is_wanted && read_only->is_ours) {
        filter->wants = FILTER_ASK_WRITABLE;
        return true;
    }
    if (read_only->is_wanted && !read_only->is_held && !read_only->has_failed) {
        filter->wants = FILTER_ASK_READ_ONLY;
        return true;
    }
    return false;
}

/* What failed once is tried again for the next command. */
void filter_read_only_answered(struct mysql_filter *filter, enum filter_ask about, bool has_failed)
{
    struct filter_read_only *read_only = &filter->read_only;
    if (about == FILTER_ASK_WRITABLE) {
        read_only->is_ours = false;
        return;
    }
    read_only->is_ours = true;
    read_only->has_failed = has_failed;
    read_only->is_held = read_only->is_held || !has_failed;
}

/* Whether it calls what somebody wrote, or may: a relation can be a view that does. */
static bool runs_code(const struct sql_statement *statement)
{
    bool runs = statement->relation_count > 0;
    for (size_t i = 0; i < statement->function_count && !runs; i++) {
        runs = !guard_mysql_function_is_harmless(&statement->functions[i].name);
    }
    return runs;
}

static bool one_before_the_last_runs_code(const struct mysql_filter *filter,
                                          const struct filter_subject *subject)
{
    struct arena arena CLEANUP(arena_release);
    bool runs = false;
    arena_init(&arena);
    struct sql_script script = filter->policy.analyze(&arena, &subject->settings, subject->text);
    for (const struct sql_script *at = &script; at != NULL; at = at->other) {
        for (size_t i = 0; i + 1 < at->count; i++) {
            runs = runs || runs_code(&at->statements[i]);
        }
    }
    return runs;
}

/* An empty text, or one of nothing but the end. */
static bool only_ends(const struct guard_facts *facts)
{
    const uint64_t ends = SQL_BIT(SQL_COMMIT) | SQL_BIT(SQL_ROLLBACK);
    return facts->statement_count == 1 && !facts->is_unknown && (facts->operations & ~ends) == 0;
}

const char *filter_read_only_check(struct mysql_filter *filter,
                                   const struct filter_subject *subject)
{
    struct filter_read_only *read_only = &filter->read_only;
    bool is_open = (filter->status & MYSQLWIRE_STATUS_IN_TRANSACTION) != 0;
    if (!read_only->is_wanted) {
        return NULL;
    }
    if (!read_only->is_held) {
        read_only->has_failed = false;
        return "the target did not make the session read only, as a rule asks";
    }
    read_only->covers = read_only->covers || !is_open;
    read_only->sets_first = true;
    filter->wants = FILTER_ASK_READ_ONLY;
    if (!read_only->covers && !only_ends(subject->facts)) {
        return "only reading is allowed here now, and this transaction began before: it has to end "
               "first";
    }
    if (subject->facts->is_unknown || !subject->is_read) {
        return WHERE_READING "only statements that are understood may run";
    }
    return subject->facts->statement_count > 1 && one_before_the_last_runs_code(filter, subject)
               ? WHERE_READING "a statement that reads tables or calls functions of somebody's "
                               "stands last in its text: send them one by one"
               : NULL;
}

bool mysql_filter_sets_first(const struct mysql_filter *filter)
{
    return filter->read_only.sets_first;
}
