/* SPDX-License-Identifier: MIT */
#include "api/statement_trial.h"

#include "base/limits.h"
#include "base/memory.h"
#include "io/clock.h"
#include "sql/sql.h"

#include <stdlib.h>

#define RECORDS_PER_CHECK 256 /* of the deadline */

/* The statement that came last, when how many rows it writes matters. A client that does not wait
 * for answers may have its counts taken for those of a later one. */
struct trial_pending {
    int64_t max_rows; /* -1: it does not matter */
    struct guard_finding rule;
    struct buf text;
};

struct statement_trial {
    struct arena *arena;
    const struct guard_rules *rules;
    replay_find_fn find;
    struct guard_scratch *scratch;
    struct arena analysis; /* of one statement */
    int64_t deadline;
    struct trial_pending pending;
    /* Of the session that is being read. */
    const struct session *session;
    struct replay *replay;
    struct guard_scope scope;
    struct trial_result result;
};

static void statement_trial_end(void *at)
{
    struct statement_trial *self = at;
    guard_scratch_free(self->scratch);
    arena_release(&self->analysis);
    buf_release(&self->pending.text);
}

struct statement_trial *statement_trial_new_in(struct arena *arena, const struct guard_rules *rules,
                                               replay_find_fn find, int64_t deadline)
{
    struct statement_trial *self = arena_alloc(arena, sizeof(*self));
    self->arena = arena;
    self->rules = rules;
    self->find = find;
    self->scratch = guard_scratch_new();
    self->deadline = deadline;
    self->pending.max_rows = -1;
    self->result.tallies =
        arena_alloc_array(arena, LIMIT_TRIAL_TALLIES, sizeof(*self->result.tallies));
    arena_init(&self->analysis);
    buf_init(&self->pending.text, LIMIT_TRIAL_STATEMENT_SIZE * 4);
    arena_on_end(arena, statement_trial_end, self);
    return self;
}

void statement_trial_miss(struct statement_trial *self, const char *why)
{
    self->result.missed = self->result.missed == NULL ? why : self->result.missed;
}

bool statement_trial_is_over(const struct statement_trial *self)
{
    return clock_monotonic() >= self->deadline;
}

/* NULL: there are too many already. */
static struct trial_tally *trial_tally_of(struct statement_trial *self)
{
    struct trial_result *result = &self->result;
    const struct session *session = self->session;
    struct slice user = session->user_email.len > 0 ? session->user_email : session->user_name;
    for (size_t i = 0; i < result->tally_count; i++) {
        struct trial_tally *tally = &result->tallies[i];
        if (slice_equals(tally->user, user) &&
            slice_equals(tally->connection, session->connection_name)) {
            return tally;
        }
    }
    if (result->tally_count == LIMIT_TRIAL_TALLIES) {
        statement_trial_miss(self, "too many users and connections to tell of each");
        return NULL;
    }
    struct trial_tally *tally = &result->tallies[result->tally_count++];
    tally->user = user;
    tally->connection = session->connection_name;
    return tally;
}

static void trial_count(struct statement_trial *self, struct slice text,
                        const struct guard_finding *finding)
{
    bool is_blocked = finding->action >= GUARD_REHEARSE;
    struct trial_tally *tally = trial_tally_of(self);
    self->result.matched++;
    self->result.blocked += is_blocked ? 1 : 0;
    if (tally == NULL) {
        return;
    }
    tally->count++;
    tally->blocked += is_blocked ? 1 : 0;
    if (tally->example_count < LIMIT_TRIAL_EXAMPLES) {
        tally->examples[tally->example_count++] = (struct trial_example){
            .session_id = self->session->id,
            .statement = session_text_in(self->arena, text, LIMIT_TRIAL_STATEMENT_SIZE),
            .rule_name = finding->rule_name,
            .why = finding->why,
        };
    }
}

static void trial_judge(struct statement_trial *self, const struct replay_event *event)
{
    enum sql_dialect dialect = replay_dialect(self->replay);
    /* As sessions are at first: what they set is not looked at. */
    const struct sql_settings settings = {.dialect = dialect,
                                          .is_backslash_quoted = dialect == SQL_MYSQL};
    struct guard_verdict verdict;
    struct trial_pending *pending = &self->pending;
    if (settings.dialect == SQL_UNKNOWN) {
        statement_trial_miss(self, "statements of a protocol that no rule can judge are not tried");
        return;
    }
    self->result.statements++;
    if (event->is_cut) {
        statement_trial_miss(self, "some statements are too long to be on record whole");
    }
    arena_reset(&self->analysis);
    struct sql_script script = sql_analyze(&self->analysis, &settings, event->text);
    guard_judge_input(&self->scope, event->text, &settings, &script, &verdict);
    pending->max_rows = -1;
    const struct guard_finding *reason = guard_verdict_reason(&verdict);
    if (reason != NULL) {
        trial_count(self, event->text, reason);
    } else if (verdict.max_rows >= 0) {
        buf_truncate(&pending->text, 0);
        if (buf_append(&pending->text, slice_sub(event->text, 0, LIMIT_TRIAL_STATEMENT_SIZE * 4)) ==
            ERR_NONE) {
            pending->max_rows = verdict.max_rows;
            pending->rule = verdict.max_rows_rule;
        }
    }
}

static void trial_take_rows(struct statement_trial *self, uint64_t rows)
{
    struct trial_pending *pending = &self->pending;
    if (pending->max_rows >= 0 && rows > (uint64_t)pending->max_rows) {
        trial_count(self, buf_view(&pending->text), &pending->rule);
        pending->max_rows = -1; /* once for all the statements of a text */
    }
}

static enum err trial_visit(void *context, const struct replay_event *event, struct error *reterr)
{
    (void)reterr;
    if (event->kind == REPLAY_STATEMENT) {
        trial_judge(context, event);
    } else if (event->kind == REPLAY_DONE) {
        trial_take_rows(context, event->count.rows);
    }
    return ERR_NONE;
}

static enum err trial_read_all(struct statement_trial *self, struct recording *recording)
{
    struct record record;
    struct error error = {0};
    enum err err = ERR_NONE;
    for (size_t i = 0; err == ERR_NONE; i++) {
        if (i % RECORDS_PER_CHECK == 0 && statement_trial_is_over(self)) {
            return ERR_TIMEOUT;
        }
        err = recording_next(recording, &record, &error);
        if (err == ERR_NONE) {
            err = replay_add(self->replay, &record, &error);
        }
    }
    return err == ERR_CLOSED ? replay_end(self->replay, &error) : err;
}

void statement_trial_read(struct statement_trial *self, const struct session *session,
                          const struct shape_texts *groups, struct recording *recording)
{
    self->session = session;
    self->replay = replay_new(self->find, trial_visit, self);
    self->scope =
        guard_scope_in(self->arena, self->scratch, self->rules, groups->items, groups->count);
    self->pending.max_rows = -1;
    enum err err = trial_read_all(self, recording);
    replay_free(self->replay);
    if (err == ERR_TIMEOUT) {
        statement_trial_miss(self, "it would take too long");
    } else if (err != ERR_NONE) {
        statement_trial_miss(self, "a recording is damaged");
    }
}

static int trial_compare(const void *a, const void *b)
{
    const struct trial_tally *first = a;
    const struct trial_tally *second = b;
    if (first->count != second->count) {
        return first->count > second->count ? -1 : 1;
    }
    int order = slice_compare(first->user, second->user);
    return order != 0 ? order : slice_compare(first->connection, second->connection);
}

struct trial_result statement_trial_result(struct statement_trial *self)
{
    struct trial_result *result = &self->result;
    qsort(result->tallies, result->tally_count, sizeof(*result->tallies), trial_compare);
    return *result;
}
