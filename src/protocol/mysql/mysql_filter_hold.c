/* SPDX-License-Identifier: MIT */
/* Commands that people decide on before the target has them: a query, or the EXECUTE of what was
 * prepared, with its values. What waits is the command itself, as it came; once it is approved it
 * is judged again. What cannot be shown to people as what it is, is refused. */
#include "base/text.h"
#include "protocol/mysql/mysql_filter_internal.h"

#define WORDS_SIZE LIMIT_KIB(4)

bool filter_hold_asks(const struct mysql_filter *filter, const struct guard_verdict *verdict)
{
    return verdict->action == GUARD_REVIEW && !filter->policy.is_reviewed &&
           filter->hold.phase != FILTER_APPROVED;
}

static bool is_readable(const struct filter_subject *subject, struct slice text)
{
    return text_is_ascii(text) ||
           (subject->settings.charset == SQL_CHARSET_UTF8 && text_is_utf8(text));
}

static const char *why_not(const struct mysql_filter *filter, const struct filter_subject *subject)
{
    const uint64_t of_names = SQL_BIT(SQL_PREPARE) | SQL_BIT(SQL_EXECUTE) | SQL_BIT(SQL_DEALLOCATE);
    if (filter->events->on_hold == NULL) {
        return "statements of this session cannot be held";
    }
    if ((subject->facts->operations & of_names) != 0) {
        return "what SQL prepares, or executes by a name, cannot be shown as what it will be: send "
               "the statement itself";
    }
    if ((subject->facts->operations & SQL_BIT(SQL_COPY)) != 0) {
        return "what a LOAD writes comes behind it, and cannot be shown: use INSERT";
    }
    return !subject->is_read || !is_readable(subject, subject->text)
               ? "its text cannot be shown as the server reads it: SET NAMES utf8mb4"
               : NULL;
}

static enum mysql_filter_outcome refuse_unheld(struct mysql_filter *filter,
                                               const struct guard_verdict *verdict, const char *why,
                                               struct buf *words)
{
    filter_tell_findings(filter, verdict);
    filter_write_words(words, guard_verdict_reason(verdict));
    const struct slice parts[] = {SLICE(". It needs a review, which it cannot have: "),
                                  slice_of_text(why)};
    (void)!buf_append_parts(words, parts, COUNT_OF(parts));
    return MYSQL_FILTER_REFUSES;
}

static enum mysql_filter_outcome hold_begin(struct mysql_filter *filter,
                                            const struct filter_subject *subject,
                                            const struct guard_verdict *verdict, struct buf *words)
{
    struct arena arena CLEANUP(arena_release);
    struct held_value *values = NULL;
    size_t count = subject->statement == NULL ? 0 : subject->statement->parameter_count;
    arena_init(&arena);
    arena_hold_secrets(&arena);
    if (count > 0 && !filter_values_in(&arena, subject->statement, subject->values, &values)) {
        return refuse_unheld(filter, verdict, "its values cannot be read", words);
    }
    for (size_t i = 0; i < count; i++) {
        values[i].is_binary = values[i].is_binary || !text_is_utf8(values[i].bytes);
    }
    const struct held_statement held = {
        .request = filter->number,
        .verdict = verdict,
        .text = subject->text,
        .values = values,
        .value_count = count,
        .is_backslash_quoted = subject->settings.is_backslash_quoted,
        .dialect = "mysql",
        .is_ansi_quoted = subject->settings.is_ansi_quoted,
        .database = subject->settings.database,
        .has_locks =
            (filter->status & MYSQLWIRE_STATUS_IN_TRANSACTION) != 0 || filter->has_table_locks,
    };
    filter_tell_findings(filter, verdict);
    filter->hold.phase = FILTER_HELD;
    filter->events->on_hold(filter->owner, &held);
    return MYSQL_FILTER_HOLDS;
}

enum mysql_filter_outcome filter_hold(struct mysql_filter *filter,
                                      const struct filter_subject *subject,
                                      const struct guard_verdict *verdict, struct buf *words)
{
    if (filter->hold.phase == FILTER_DENIED) {
        buf_clear(words);
        (void)!buf_append(words, buf_view(&filter->hold.words));
        return MYSQL_FILTER_REFUSES;
    }
    const char *why = why_not(filter, subject);
    return why != NULL ? refuse_unheld(filter, verdict, why, words)
                       : hold_begin(filter, subject, verdict, words);
}

bool mysql_filter_is_on_hold(const struct mysql_filter *filter)
{
    return filter->hold.phase == FILTER_HELD;
}

bool mysql_filter_was_denied(const struct mysql_filter *filter)
{
    return filter->hold.phase == FILTER_DENIED;
}

void mysql_filter_refused(struct mysql_filter *filter)
{
    filter->hold.phase = FILTER_UNHELD;
}

bool mysql_filter_was_cancelled(const struct mysql_filter *filter)
{
    return filter->hold.phase == FILTER_DENIED && filter->hold.is_cancelled;
}

void mysql_filter_decided(struct mysql_filter *filter, const struct hold_answer *answer)
{
    struct filter_hold *hold = &filter->hold;
    if (hold->phase != FILTER_HELD) {
        return;
    }
    hold->phase = answer->end == HOLD_PASSES ? FILTER_APPROVED : FILTER_DENIED;
    hold->is_cancelled = answer->end == HOLD_CANCELLED;
    struct slice message = hold->is_cancelled ? SLICE("Query execution was interrupted")
                                              : slice_sub(answer->message, 0, WORDS_SIZE / 4);
    const struct slice parts[] = {message, answer->hint.len > 0 ? SLICE(". ") : SLICE(""),
                                  slice_sub(answer->hint, 0, WORDS_SIZE / 4)};
    buf_clear(&hold->words);
    (void)!buf_append_parts(&hold->words, parts, COUNT_OF(parts));
}
