/* SPDX-License-Identifier: MIT */
/* Statements that run before people decide, in a transaction of ours (pg_filter_limit.c) that is
 * committed when they have approved what the statement did, and rolled back otherwise: so what they
 * see is what was done, and what is committed is that very execution. Nothing else of the client
 * reaches the server meanwhile. What a ROLLBACK would not take back is not run. The client's own
 * transaction is not for us to end. */
#include "protocol/postgres/pg_filter_rehearse.h"

#include "base/limits.h"
#include "base/memory.h"
#include "codec/json.h"
#include "policy/guard_function.h"
#include "protocol/postgres/pg_filter_judge.h"
#include "protocol/postgres/pg_filter_limit.h"
#include "protocol/postgres/pg_rehearse_question.h"
#include "wire/pgwire_answer.h"
#include "wire/pgwire_value.h"

void pg_filter_rehearse_clear(struct pg_filter *filter)
{
    struct pg_filter_rehearsal *rehearsal = filter->limit.rehearsal;
    filter->limit.rehearsal = NULL;
    filter->limit.is_rehearsing = false;
    if (rehearsal != NULL) {
        buf_release(&rehearsal->facts);
        buf_wipe(&rehearsal->plan);
        buf_wipe(&rehearsal->sample);
        memory_free(rehearsal);
    }
}

/* Before it runs ------------------------------------------------------------------------------- */

static const char *rehearse_why_not(struct pg_filter *filter, const struct pg_filter_held *held)
{
    const struct sql_settings settings = {.dialect = SQL_POSTGRES,
                                          .is_backslash_quoted = held->is_backslash_quoted};
    struct sql_script script = filter->policy.analyze(&filter->arena, &settings, held->text);
    if (filter->state.transaction != PGWIRE_IDLE || filter->has_begun || filter->has_run ||
        (held->bind == NULL && filter->state.is_in_batch)) {
        return "it would be part of a transaction of the client's, which is not the gateway's to "
               "end: commit that, and send it by itself (with autocommit)";
    }
    if (held->facts->why_unlimited != NULL) {
        return "what is rehearsed is one INSERT, UPDATE, DELETE or MERGE, and what a ROLLBACK "
               "takes "
               "back";
    }
    for (size_t i = 0; i < script.statements[0].function_count; i++) {
        if (!guard_function_is_harmless(&script.statements[0].functions[i].name)) {
            return "it calls a function that may do what a ROLLBACK does not take back";
        }
    }
    return NULL;
}

static void rehearse_keep_values(struct pg_filter *filter, const struct pg_filter_held *held)
{
    struct pg_filter_rehearsal *rehearsal = filter->limit.rehearsal;
    struct arena *arena = &filter->limit.arena;
    const struct pgwire_values none = {0};
    struct pgwire_values rest = held->bind == NULL ? none : held->bind->values;
    struct slice value = SLICE_NONE;
    rehearsal->value_count = rest.count;
    rehearsal->values = arena_alloc_array(arena, rest.count + 1, sizeof(*rehearsal->values));
    for (size_t i = 0; pgwire_value_next(&rest, &value); i++) {
        rehearsal->values[i] = (struct held_value){
            .bytes = value.at == NULL ? SLICE_NONE : arena_copy(arena, value),
            .type = pgwire_oid_at(&held->types, i),
            .is_binary = pgwire_format_of(&held->bind->formats, i) != PGWIRE_FORMAT_TEXT,
        };
    }
}

const char *pg_filter_rehearse_prepare(struct pg_filter *filter, const struct pg_filter_held *held,
                                       const struct guard_verdict *verdict)
{
    struct arena *arena = &filter->limit.arena;
    const char *why = rehearse_why_not(filter, held);
    if (why != NULL) {
        return why;
    }
    pg_filter_rehearse_clear(filter);
    arena_reset(arena);
    struct pg_filter_rehearsal *rehearsal = memory_new(sizeof(*rehearsal));
    filter->limit.rehearsal = rehearsal;
    buf_init(&rehearsal->facts, LIMIT_PG_FILTER_WORDS_SIZE);
    buf_init(&rehearsal->plan, LIMIT_PG_FILTER_WORDS_SIZE);
    buf_init(&rehearsal->sample, LIMIT_PG_FILTER_WORDS_SIZE);
    rehearsal->setting = pg_rehearse_setting_in(arena);
    rehearsal->why_unsampled = "";
    rehearsal->number = filter->number;
    rehearsal->is_backslash_quoted = held->is_backslash_quoted;
    rehearsal->text = arena_copy(arena, held->text);
    rehearsal->portal = held->bind == NULL ? SLICE("") : arena_copy(arena, held->bind->portal);
    rehearsal->verdict = *verdict;
    for (size_t i = 0; i < verdict->count; i++) {
        rehearsal->verdict.findings[i] = guard_finding_copy_in(arena, &verdict->findings[i]);
    }
    rehearse_keep_values(filter, held);
    return NULL;
}

struct slice pg_filter_rehearse_begin(struct pg_filter *filter)
{
    return pg_rehearse_begin_in(&filter->limit.arena, filter->limit.rehearsal->setting);
}

bool pg_filter_is_rehearsal(const struct pg_filter *filter)
{
    const struct pg_filter_rehearsal *rehearsal = filter->limit.rehearsal;
    return rehearsal != NULL && rehearsal->number == filter->number;
}

void pg_filter_rehearse_facts(struct pg_filter_facts *facts)
{
    facts->rehearses = true;
    facts->max_rows = facts->max_rows < 0 ? INT64_MAX : facts->max_rows;
}

const char *pg_filter_rehearse_why_not_now(const struct pg_filter *filter,
                                           const struct pg_filter_facts *facts, struct slice portal)
{
    const struct pg_filter_rehearsal *rehearsal = filter->limit.rehearsal;
    if (filter->limit.phase == PG_FILTER_IN_BATCH && filter->limit.is_rehearsing) {
        return "a statement that is rehearsed was sent before, and no Sync behind it";
    }
    if (!facts->rehearses) {
        return NULL;
    }
    return rehearsal == NULL || !slice_equals(rehearsal->portal, portal) ||
                   filter->limit.phase != PG_FILTER_UNLIMITED || filter->has_run ||
                   filter->has_begun || filter->state.transaction != PGWIRE_IDLE
               ? "a statement that is rehearsed stands alone: bind it and execute it, then a Sync"
               : NULL;
}

/* When it has run ------------------------------------------------------------------------------ */

static enum err rehearse_send(struct pg_filter *filter, struct slice text,
                              struct error *reterr_error)
{
    return pg_filter_send_query(filter, arena_text(&filter->limit.arena, text), &filter->limit.id,
                                reterr_error);
}

enum err pg_filter_rehearse_ask(struct pg_filter *filter, struct error *reterr_error)
{
    filter->limit.phase = PG_FILTER_ASKING;
    struct slice setting = filter->limit.rehearsal->setting;
    return rehearse_send(filter, pg_rehearse_question_in(&filter->limit.arena, setting),
                         reterr_error);
}

bool pg_filter_rehearse_is_asking(const struct pg_filter *filter)
{
    return filter->limit.phase == PG_FILTER_ASKING || filter->limit.phase == PG_FILTER_SAMPLING;
}

/* A value that is longer than its buffer is none. */
static void rehearse_take(struct pgwire_values *columns, struct buf *buf)
{
    struct slice value = SLICE_NONE;
    buf_clear(buf);
    if (pgwire_value_next(columns, &value) && value.at != NULL) {
        (void)!buf_append(buf, value);
    }
}

void pg_filter_rehearse_answer(struct pg_filter *filter, struct slice row)
{
    struct pg_filter_rehearsal *rehearsal = filter->limit.rehearsal;
    struct pgwire_values columns;
    struct error why;
    if (pgwire_row_read(row, &columns, &why) != ERR_NONE) {
        return;
    }
    if (filter->limit.phase == PG_FILTER_SAMPLING && columns.count == 1) {
        rehearse_take(&columns, &rehearsal->sample);
    } else if (filter->limit.phase == PG_FILTER_ASKING && columns.count == 2) {
        rehearse_take(&columns, &rehearsal->facts);
        rehearse_take(&columns, &rehearsal->plan);
    }
}

/* The query that the server has planned; at == NULL: there is none. */
static struct slice rehearse_query(struct pg_filter *filter)
{
    const struct pg_filter_rehearsal *rehearsal = filter->limit.rehearsal;
    struct json plan;
    struct error why;
    struct slice query = SLICE_NONE;
    if (rehearsal->rows == 0 || rehearsal->plan.len == 0 ||
        json_parse_in(&filter->limit.arena, buf_view(&rehearsal->plan), &plan, &why) != ERR_NONE) {
        return SLICE_NONE;
    }
    struct json after = json_member(&plan, "after");
    return json_is_given(after) && json_as_text(after, &query, &why) == ERR_NONE ? query
                                                                                 : SLICE_NONE;
}

/* What is kept for those who look at rows; the server's own JSON has no line ends of its own here,
 * see store/review_store.c. */
static struct slice rehearse_sample(struct pg_filter *filter)
{
    const struct pg_filter_rehearsal *rehearsal = filter->limit.rehearsal;
    const struct buf *after = &rehearsal->sample;
    if (rehearsal->plan.len == 0) {
        return SLICE("");
    }
    return arena_format(&filter->limit.arena, "{\"plan\":%.*s,\"after\":%.*s,\"why\":\"%s\"}",
                        SLICE_ARG(buf_view(&rehearsal->plan)),
                        SLICE_ARG(after->len > 0 ? buf_view(after) : SLICE("null")),
                        rehearsal->why_unsampled);
}

static void rehearse_hold(struct pg_filter *filter)
{
    const struct pg_filter_rehearsal *rehearsal = filter->limit.rehearsal;
    const struct held_statement statement = {
        .request = rehearsal->number,
        .verdict = &rehearsal->verdict,
        .text = rehearsal->text,
        .values = rehearsal->values,
        .value_count = rehearsal->value_count,
        .is_backslash_quoted = rehearsal->is_backslash_quoted,
        .has_locks = true,
        .has_run = true,
        .rows = rehearsal->rows,
        .facts = buf_view(&rehearsal->facts),
        .sample = rehearse_sample(filter),
    };
    filter->limit.phase = PG_FILTER_REHEARSED;
    filter->hold.phase = PG_FILTER_HELD;
    filter->hold.message_size = 0;
    filter->settings.on_hold(filter->settings.owner, &statement);
}

enum err pg_filter_rehearse_asked(struct pg_filter *filter, struct error *reterr_error)
{
    struct slice query =
        filter->limit.phase == PG_FILTER_ASKING ? rehearse_query(filter) : SLICE_NONE;
    if (query.at == NULL) {
        rehearse_hold(filter);
        return ERR_NONE;
    }
    filter->limit.phase = PG_FILTER_SAMPLING;
    return rehearse_send(filter, pg_rehearse_sample_in(&filter->limit.arena, query), reterr_error);
}

/* A cancel is meant for the statement. */
bool pg_filter_rehearse_outlives(struct pg_filter *filter, struct slice error)
{
    struct slice fields;
    struct error why;
    if (filter->limit.phase != PG_FILTER_SAMPLING ||
        pgwire_notice_read(error, &fields, &why) != ERR_NONE ||
        slice_equals(pgwire_notice_find(fields, PGWIRE_FIELD_SQLSTATE), SLICE("57014"))) {
        return false;
    }
    filter->limit.rehearsal->why_unsampled = "the target could not read the rows";
    return true;
}

enum err pg_filter_rehearse_failed(struct pg_filter *filter, struct error *reterr_error)
{
    bool outlives = filter->limit.phase == PG_FILTER_SAMPLING &&
                    filter->limit.rehearsal->why_unsampled[0] != '\0' &&
                    filter->state.transaction == PGWIRE_FAILED_TRANSACTION;
    return outlives ? rehearse_send(filter, SLICE(PG_REHEARSE_SAMPLE_UNDO), reterr_error)
                    : pg_filter_limit_finish(filter, "ROLLBACK", reterr_error);
}

enum err pg_filter_rehearse_go_on(struct pg_filter *filter, struct error *reterr_error)
{
    struct pg_filter_limit *limit = &filter->limit;
    enum pg_filter_hold_phase phase = filter->hold.phase;
    enum err err = ERR_NONE;
    if (limit->phase != PG_FILTER_REHEARSED || phase == PG_FILTER_HELD) {
        return ERR_NONE;
    }
    if (phase == PG_FILTER_DENIED) {
        buf_clear(&limit->held); /* not committed */
        err = pg_filter_tell(filter, buf_view(&filter->hold.words), reterr_error);
    }
    pg_filter_hold_end_message(filter);
    return err == ERR_NONE
               ? pg_filter_limit_finish(filter, phase == PG_FILTER_APPROVED ? "COMMIT" : "ROLLBACK",
                                        reterr_error)
               : err;
}
