/* SPDX-License-Identifier: MIT */
/* Statements that people decide on before the server has them. A Query is held whole; of the
 * extended protocol the Bind, with its values: a Parse runs nothing, but what plans a statement may
 * run functions of it. What waits is the client's message itself, at the front of 'pending': when
 * it was approved it is judged once more, and goes on as it came. What cannot be shown to people as
 * what it is, or would run by another message than the one that they see, is refused. */
#include "protocol/postgres/pg_filter_hold.h"

#include "base/limits.h"
#include "base/must.h"
#include "base/text.h"
#include "protocol/postgres/pg_filter_judge.h"
#include "protocol/postgres/pg_filter_refuse.h"
#include "protocol/postgres/pg_filter_rehearse.h"

#define BATCH_FAILED "the batch that it is part of has failed"
#define OF_NAMES     (SQL_BIT(SQL_PREPARE) | SQL_BIT(SQL_EXECUTE))

void pg_filter_hold_init(struct pg_filter *filter)
{
    buf_init(&filter->hold.notice, LIMIT_PG_FILTER_WORDS_SIZE);
    buf_init(&filter->hold.words, LIMIT_PG_FILTER_WORDS_SIZE);
}

void pg_filter_hold_release(struct pg_filter *filter)
{
    buf_release(&filter->hold.notice);
    buf_release(&filter->hold.words);
}

bool pg_filter_is_on_hold(const struct pg_filter *filter)
{
    return filter->hold.phase == PG_FILTER_HELD;
}

void pg_filter_hold_end_message(struct pg_filter *filter)
{
    if (filter->hold.phase != PG_FILTER_UNHELD) {
        filter->hold.phase = PG_FILTER_UNHELD;
        buf_wipe(&filter->hold.words);
    }
}

/* Verdicts --------------------------------------------------------------------------------------
 */

bool pg_filter_needs_review(const struct pg_filter *filter, const struct guard_verdict *verdict)
{
    return (verdict->action == GUARD_REVIEW || verdict->action == GUARD_REHEARSE) &&
           !filter->policy.is_reviewed;
}

bool pg_filter_stops(const struct pg_filter *filter, const struct guard_verdict *verdict)
{
    return verdict->action == GUARD_BLOCK || pg_filter_needs_review(filter, verdict);
}

void pg_filter_drop_reviews(struct guard_verdict *verdict)
{
    guard_verdict_drop_reviews(verdict);
}

/* Refusing --------------------------------------------------------------------------------------
 */

enum err pg_filter_refuse_unheld(struct pg_filter *filter, char type,
                                 const struct guard_verdict *verdict, const char *why,
                                 struct error *reterr_error)
{
    struct buf words CLEANUP(buf_release);
    buf_init(&words, LIMIT_PG_FILTER_WORDS_SIZE);
    pg_filter_tell_findings(filter, verdict);
    pg_filter_write_unheld(&words, verdict, why);
    return pg_filter_refuse(filter, type, &words, reterr_error);
}

/* What a COPY writes comes behind the statement, and could not be seen. */
static bool hold_copies_in(struct pg_filter *filter, const struct pg_filter_held *held)
{
    const struct sql_settings settings = {.dialect = SQL_POSTGRES,
                                          .is_backslash_quoted = held->is_backslash_quoted};
    struct sql_script script = filter->policy.analyze(&filter->arena, &settings, held->text);
    bool copies = false;
    for (size_t i = 0; i < script.count; i++) {
        const struct sql_statement *statement = &script.statements[i];
        bool is_copy = (statement->operations & SQL_BIT(SQL_COPY)) != 0;
        for (size_t j = 0; is_copy && j < statement->relation_count; j++) {
            copies = copies || (statement->relations[j].operations & SQL_BIT(SQL_COPY)) != 0;
        }
    }
    return copies;
}

/* Bytes mean the same to the server as to who reads them. */
static bool hold_is_readable(const struct pg_filter *filter, struct slice text)
{
    return text_is_utf8(text) && (filter->is_client_utf8 || text_is_ascii(text)) &&
           !filter->is_encoding_unsafe;
}

static bool hold_are_readable(const struct pg_filter *filter, const struct pgwire_bind *bind)
{
    struct pgwire_values values = bind->values;
    struct slice value = SLICE_NONE;
    bool is_readable = true;
    for (size_t i = 0; is_readable && pgwire_value_next(&values, &value); i++) {
        bool is_text = pgwire_format_of(&bind->formats, i) == PGWIRE_FORMAT_TEXT;
        is_readable = value.at == NULL || !is_text || hold_is_readable(filter, value);
    }
    return is_readable;
}

static const char *hold_why_not(struct pg_filter *filter, const struct pg_filter_held *held)
{
    if (filter->settings.on_hold == NULL) {
        return "statements of this session cannot be held";
    }
    if (filter->state.is_skipping) {
        return BATCH_FAILED;
    }
    if (filter->limit.phase == PG_FILTER_IN_BATCH) {
        return "it stands in a batch behind a statement whose rows are limited: send a Sync before "
               "it";
    }
    if ((held->facts->operations & OF_NAMES) != 0) {
        return "what SQL prepares, or executes by a name, cannot be shown as what it will be: send "
               "the statement itself";
    }
    if (held->bind != NULL && !held->has_types) {
        return "the statement was prepared before there was such a rule: prepare it again";
    }
    if (!hold_is_readable(filter, held->text) ||
        (held->bind != NULL && !hold_are_readable(filter, held->bind))) {
        return "its text cannot be shown as the server reads it: set client_encoding to UTF8";
    }
    if (held->is_ambiguous) {
        return "how the server reads its backslashes is not certain: send it by itself";
    }
    return hold_copies_in(filter, held)
               ? "what a COPY writes comes behind it, and cannot be shown: use INSERT"
               : NULL;
}

/* Holding ---------------------------------------------------------------------------------------
 */

static void hold_begin(struct pg_filter *filter, const struct pg_filter_held *held,
                       const struct guard_verdict *verdict)
{
    size_t count = held->bind == NULL ? 0 : held->bind->values.count;
    struct held_value *values = arena_alloc_array(&filter->arena, count + 1, sizeof(*values));
    const struct pgwire_values none = {0};
    struct pgwire_values rest = held->bind == NULL ? none : held->bind->values;
    struct slice value = SLICE_NONE;
    for (size_t i = 0; i < count && pgwire_value_next(&rest, &value); i++) {
        values[i] = (struct held_value){
            .bytes = value,
            .type = pgwire_oid_at(&held->types, i),
            .is_binary = pgwire_format_of(&held->bind->formats, i) != PGWIRE_FORMAT_TEXT,
        };
    }
    const struct held_statement statement = {
        .request = filter->number,
        .verdict = verdict,
        .text = held->text,
        .values = values,
        .value_count = count,
        .is_backslash_quoted = held->is_backslash_quoted,
        .has_locks = filter->state.transaction != PGWIRE_IDLE || filter->state.is_in_batch,
    };
    pg_filter_tell_findings(filter, verdict);
    filter->hold.phase = PG_FILTER_HELD;
    filter->settings.on_hold(filter->settings.owner, &statement);
}

enum err pg_filter_hold_check(struct pg_filter *filter, char type,
                              const struct pg_filter_held *held,
                              const struct guard_verdict *verdict, struct error *reterr_error)
{
    struct pg_filter_hold *hold = &filter->hold;
    if (!pg_filter_needs_review(filter, verdict) || hold->phase == PG_FILTER_APPROVED) {
        return ERR_NONE;
    }
    if (hold->phase == PG_FILTER_DENIED) {
        return pg_filter_refuse(filter, type, &hold->words, reterr_error);
    }
    if (pgwire_state_owes_ready(&filter->state)) {
        return ERR_AGAIN;
    }
    const char *why = hold_why_not(filter, held);
    bool is_rehearsal = verdict->action == GUARD_REHEARSE;
    if (why == NULL && is_rehearsal) {
        why = pg_filter_rehearse_prepare(filter, held, verdict);
    }
    if (why != NULL) {
        return pg_filter_refuse_unheld(filter, type, verdict, why, reterr_error);
    }
    if (is_rehearsal) {
        pg_filter_tell_findings(filter, verdict);
        hold->phase = PG_FILTER_APPROVED; /* as far as it is to be run */
        return ERR_NONE;
    }
    hold_begin(filter, held, verdict);
    return ERR_AGAIN;
}

/* From outside ----------------------------------------------------------------------------------
 */

/* What a NUL would cut off is left out. */
static struct slice hold_clean(struct slice text)
{
    return slice_sub(text, 0, slice_find_byte(text, '\0'));
}

void pg_filter_hold_notice(struct pg_filter *filter, struct slice message, struct slice hint)
{
    const struct pgwire_notice notice = {
        .severity = SLICE("NOTICE"),
        .sqlstate = SLICE("01000"),
        .message = hold_clean(slice_sub(message, 0, LIMIT_HELD_WORDS_SIZE)),
        .hint = hold_clean(slice_sub(hint, 0, LIMIT_HELD_WORDS_SIZE)),
    };
    if (filter->hold.phase == PG_FILTER_HELD) {
        must(pgwire_notice_write(&filter->hold.notice, &notice) == ERR_NONE);
    }
}

void pg_filter_decided(struct pg_filter *filter, const struct hold_answer *answer)
{
    struct pg_filter_hold *hold = &filter->hold;
    if (hold->phase != PG_FILTER_HELD) {
        return;
    }
    hold->phase = answer->end == HOLD_PASSES ? PG_FILTER_APPROVED : PG_FILTER_DENIED;
    if (answer->end != HOLD_PASSES) {
        buf_clear(&hold->notice); /* what has not gone out would stand behind the answer */
        pg_filter_write_error(&hold->words, answer->end == HOLD_CANCELLED ? "57014" : "42501",
                              hold_clean(slice_sub(answer->message, 0, LIMIT_HELD_WORDS_SIZE)),
                              hold_clean(slice_sub(answer->hint, 0, LIMIT_HELD_WORDS_SIZE)));
    }
}

/* A Parse before it may be answered by an error while it waits. */
static void hold_give_up(struct pg_filter *filter)
{
    const struct hold_answer answer = {
        .end = HOLD_REFUSED, .message = SLICE(BATCH_FAILED), .hint = SLICE("")};
    pg_filter_decided(filter, &answer);
    filter->settings.on_unhold(filter->settings.owner);
}

enum err pg_filter_hold_tell(struct pg_filter *filter, struct error *reterr_error)
{
    struct buf *notice = &filter->hold.notice;
    if (pg_filter_is_on_hold(filter) && filter->state.is_skipping) {
        hold_give_up(filter);
    }
    const struct pgwire_framer *framer = pg_tap_framer(filter->settings.tap, PUMP_TARGET);
    if (notice->len == 0 || !pgwire_framer_is_between(framer)) {
        return ERR_NONE;
    }
    enum err err = pg_filter_tell(filter, buf_view(notice), reterr_error);
    buf_clear(notice);
    return err;
}
