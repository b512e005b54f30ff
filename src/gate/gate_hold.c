/* SPDX-License-Identifier: MIT */
/* A statement of a session that people decide on, from the side of the session: they are asked, it
 * is looked again and again what they decided, and what becomes of the client meanwhile. An
 * approval outlives the session: who sends the same again within its time passes by it, once. */
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "codec/hex.h"
#include "codec/json.h"
#include "codec/json_writer.h"
#include "gate/gate_session_internal.h"
#include "gate/hold_jobs.h"
#include "io/clock.h"
#include "io/log.h"
#include "store/row_id.h"

#define SECOND_US   INT64_C(1000000)
#define SEND_LATER  "Once it is approved, the same statement passes when it is sent again."
#define ROLLED_BACK "What it did is rolled back, and its review is over."

struct gate_hold {
    struct gate_session *session;
    struct gate_job *job; /* NULL: none is under way */
    struct arena arena;
    struct slice review_id; /* empty: nobody was asked yet */
    struct slice link;
    int64_t until; /* by clock_monotonic() */
    int64_t seconds;
    uint64_t look_count;
    bool has_locks;
    bool has_run; /* it is rolled back when nobody approves it in time */
    struct timer look;
    struct loop_task gone;
};

static bool hold_count(struct gate *gate)
{
    if (atomic_fetch_add(&gate->held_count, 1) < LIMIT_GATE_HELD) {
        return true;
    }
    atomic_fetch_sub(&gate->held_count, 1);
    return false;
}

static void hold_free(struct gate_hold *hold)
{
    struct gate_session *session = hold->session;
    session->hold = NULL;
    if (hold->has_run && hold->review_id.len > 0) {
        hold_job_give_up(session->worker, hold->review_id, &session->session);
    }
    atomic_fetch_sub(&session->worker->gate->held_count, 1);
    gate_job_abandon(hold->job);
    timer_stop(&hold->look);
    loop_task_cancel(&hold->gone);
    arena_release(&hold->arena);
    memory_free(hold);
}

static void hold_answer(struct gate_session *session, enum hold_end end, struct slice message,
                        struct slice hint)
{
    const struct hold_answer answer = {.end = end, .message = message, .hint = hint};
    session->passage->ops->decided(session->passage, &answer);
    gate_session_go_on(session);
}

/* It is over, and the session goes on. */
static void hold_settle(struct gate_hold *hold, enum hold_end end, struct slice message,
                        struct slice hint)
{
    struct gate_session *session = hold->session;
    gate_session_note(session, end == HOLD_PASSES ? "approved" : "not_approved", message);
    hold_answer(session, end, message, hint);
    hold_free(hold);
}

/* What people see ------------------------------------------------------------------------------ */

static void hold_write_value(struct arena *arena, struct json_writer *json,
                             const struct held_value *value)
{
    json_begin_object(json);
    if (value->type != 0) {
        json_member_int(json, "type", value->type);
    }
    if (value->bytes.at == NULL) {
        json_member_no_value(json, "value");
    } else if (value->is_binary) {
        json_member_text(json, "hex", hex_encode(arena, value->bytes));
    } else {
        json_member_text(json, "value", value->bytes);
    }
    json_end_object(json);
}

/* All that the approval is for, beside the text: see struct review_subject. */
static enum err hold_pinned_in(struct arena *arena, const struct gate_session *session,
                               const struct held_statement *held, struct slice *ret_pinned)
{
    struct buf buf CLEANUP(buf_wipe);
    buf_init(&buf, LIMIT_GATE_HELD_VALUES_SIZE);
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_text(&json, "database",
                     held->database.at == NULL ? session->database : held->database);
    json_member_bool(&json, "backslash_escapes", held->is_backslash_quoted);
    if (held->has_run) {
        json_member_text(&json, "rehearsal", row_id_new(arena)); /* no other one is like it */
    }
    if (held->dialect != NULL) {
        json_member_text(&json, "dialect", slice_of_text(held->dialect));
        json_member_bool(&json, "ansi_quotes", held->is_ansi_quoted);
    }
    json_member_array(&json, "parameters");
    for (size_t i = 0; i < held->value_count; i++) {
        hold_write_value(arena, &json, &held->values[i]);
    }
    json_end_array(&json);
    json_end_object(&json);
    enum err err = json_writer_done(&json);
    *ret_pinned = err == ERR_NONE ? arena_copy(arena, buf_view(&buf)) : SLICE_NONE;
    return err;
}

static void hold_write_finding(struct json_writer *json, const struct guard_finding *finding)
{
    json_begin_object(json);
    json_member_text(json, "guardrail", finding->guardrail_name);
    json_member_text(json, "rule", finding->rule_name);
    json_member_text(json, "message", finding->message);
    json_member_text(json, "why", finding->why);
    json_end_object(json);
}

/* What the target says of it is the target's: only one whole object stands in our own. */
static struct slice hold_effects_in(struct arena *arena, struct slice facts)
{
    struct json document;
    return json_parse_in(arena, facts, &document, NULL) == ERR_NONE &&
                   json_as_object(document, NULL) == ERR_NONE
               ? facts
               : SLICE("null");
}

static struct slice hold_found_in(struct arena *arena, const struct gate_session *session,
                                  const struct held_statement *held, const struct gate_hold *hold)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_MIB(1));
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_text(&json, "session", session->session.id);
    json_member_text(&json, "application_name", session->session.application_name);
    json_member_bool(&json, "holds_locks", held->has_locks);
    json_member_timestamp(&json, "waits_until", clock_now() + hold->seconds * SECOND_US);
    if (held->has_run) {
        json_member_object(&json, "rehearsal");
        json_member_int(&json, "rows", (int64_t)held->rows);
        json_key(&json, "effects");
        json_raw(&json, hold_effects_in(arena, held->facts));
        json_end_object(&json);
    }
    json_member_array(&json, "findings");
    for (size_t i = 0; i < held->verdict->count; i++) {
        hold_write_finding(&json, &held->verdict->findings[i]);
    }
    json_end_array(&json);
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    return arena_copy(arena, buf_view(&buf));
}

/* Looking -------------------------------------------------------------------------------------- */

static void hold_on_job(struct gate_job *job);

static void hold_look_again(struct gate_hold *hold)
{
    timer_start(hold->session->worker->loop, &hold->look, LIMIT_GATE_HELD_LOOK_MS);
}

/* What the client may do. */
static const char *hold_later(const struct gate_hold *hold)
{
    return hold->has_run ? ROLLED_BACK : SEND_LATER;
}

static void hold_time_out(struct gate_hold *hold)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    struct slice message = arena_format(
        &arena, "nobody decided on the statement within %lld seconds%s", (long long)hold->seconds,
        hold->has_locks ? ", which is as long as it may wait inside a transaction" : "");
    hold_settle(
        hold, HOLD_REFUSED, message,
        arena_format(&arena, "%s The review is %.*s.", hold_later(hold), SLICE_ARG(hold->link)));
}

static void hold_on_time(void *owner)
{
    struct gate_hold *hold = owner;
    struct gate_session *session = hold->session;
    if (clock_monotonic() >= hold->until) {
        hold_time_out(hold);
        return;
    }
    if (++hold->look_count % LIMIT_GATE_HELD_LOOKS == 0 && session->passage->ops->held_on != NULL) {
        session->passage->ops->held_on(session->passage);
        gate_session_go_on(session);
    }
    struct hold_job *job = hold_job_new(session->worker, hold, &session->session);
    job->review_id = arena_copy(&job->job.arena, hold->review_id);
    hold->job = &job->job;
    if (hold_job_start(job, hold_on_job, NULL) != ERR_NONE) {
        hold->job = NULL;
        hold_look_again(hold);
    }
}

/* The client may send other things meanwhile, so it is told by whom it may pass, and where. */
static void hold_tell_client(struct gate_hold *hold, const struct hold_job *job)
{
    struct gate_session *session = hold->session;
    struct arena *arena = &hold->arena;
    hold->review_id = arena_copy(arena, job->review_id);
    hold->link = hold_link_in(arena, session->worker->gate, hold->review_id);
    struct slice message = arena_format(arena, "the statement %s to be reviewed: %.*s",
                                        hold->has_run ? "has run, and what it did waits" : "waits",
                                        SLICE_ARG(hold->link));
    struct slice hint =
        arena_format(arena, "It waits for %lld seconds at most; a cancel ends that. %s",
                     (long long)hold->seconds,
                     hold->has_run ? "It is committed once it is approved, and rolled "
                                     "back otherwise."
                                   : SEND_LATER);
    gate_session_note(session, "held", message);
    session->passage->ops->hold_notice(session->passage, message, hint);
    gate_session_go_on(session);
}

static void hold_pass(struct gate_hold *hold, const struct hold_job *job)
{
    struct gate_session *session = hold->session;
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    struct slice review_id = arena_copy(&arena, job->review_id);
    struct slice message = arena_format(&arena, "by %.*s, review %.*s", SLICE_ARG(job->deciders),
                                        SLICE_ARG(review_id));
    struct gate_worker *worker = session->worker;
    hold->has_run = false; /* nothing is to be given up */
    hold_settle(hold, HOLD_PASSES, message, SLICE(""));
    hold_job_finish(worker, review_id, session->session.id);
}

/* What the client may do about it he is told; the rest is in the log. */
static void hold_fail(struct gate_hold *hold, const struct error *error)
{
    bool is_his = error->code == ERR_DENIED || error->code == ERR_UNAUTHENTICATED;
    log_line(LOG_GATE, LOG_WARN, "a held statement was refused",
             log_text("id", hold->session->session.id), log_error_field(error));
    hold_settle(hold, HOLD_REFUSED,
                is_his ? slice_of_text(error->message)
                       : SLICE("the statement needs a review, and nobody can be asked now"),
                SLICE(""));
}

static void hold_on_job(struct gate_job *at)
{
    struct hold_job *job = CONTAINER_OF(at, struct hold_job, job);
    struct gate_hold *hold = at->owner;
    bool is_first = hold->review_id.len == 0;
    hold->job = NULL;
    if (at->err != ERR_NONE && is_first) {
        hold_fail(hold, &at->error);
    } else if (at->err != ERR_NONE) {
        log_line(LOG_GATE, LOG_WARN, "it is not known what was decided",
                 log_text("review", hold->review_id), log_error_field(&at->error));
        hold_look_again(hold);
    } else if (job->state == HOLD_STATE_GRANTED) {
        hold_pass(hold, job);
    } else if (job->state == HOLD_STATE_OVER) {
        hold_settle(hold, HOLD_REFUSED, job->message, job->hint);
    } else {
        if (is_first) {
            hold_tell_client(hold, job);
        }
        hold_look_again(hold);
    }
    gate_job_free(at);
}

/* The client ----------------------------------------------------------------------------------- */

static void hold_on_gone(void *owner)
{
    struct gate_hold *hold = owner;
    gate_passage_end(hold->session, ENDING_KILLED,
                     SLICE("the client hung up while a statement of its was held"));
}

void gate_session_hold_abandon(struct gate_session *session)
{
    if (session->hold != NULL) {
        loop_defer(session->worker->loop, &session->hold->gone);
    }
}

bool gate_session_hold_cancel(struct gate_session *session)
{
    if (session->hold == NULL) {
        return false;
    }
    hold_settle(session->hold, HOLD_CANCELLED, SLICE("canceling statement due to user request"),
                slice_of_text(hold_later(session->hold)));
    return true;
}

void gate_session_hold_drain(struct gate_session *session)
{
    if (session->hold != NULL) {
        hold_settle(session->hold, HOLD_REFUSED, SLICE("the gateway is stopping"),
                    slice_of_text(hold_later(session->hold)));
    }
}

void gate_session_on_unhold(void *owner)
{
    struct gate_session *session = owner;
    gate_session_note(session, "not_approved", SLICE("its batch has failed"));
    gate_session_hold_end(session);
}

void gate_session_hold_end(struct gate_session *session)
{
    if (session->hold != NULL) {
        hold_free(session->hold);
    }
}

/* Beginning ------------------------------------------------------------------------------------ */

static struct gate_hold *hold_new(struct gate_session *session, const struct held_statement *held)
{
    const struct gate_settings *settings = &session->worker->gate->settings;
    struct gate_hold *hold = memory_new(sizeof(*hold));
    hold->session = session;
    hold->has_locks = held->has_locks;
    hold->has_run = held->has_run;
    hold->seconds = held->has_locks && settings->held_locked_s < settings->held_s
                        ? settings->held_locked_s
                        : settings->held_s;
    hold->until = clock_monotonic() + hold->seconds * SECOND_US;
    hold->review_id = SLICE("");
    hold->link = SLICE("");
    arena_init(&hold->arena);
    timer_init(&hold->look, hold_on_time, hold);
    loop_task_init(&hold->gone, hold_on_gone, hold);
    session->hold = hold;
    return hold;
}

void gate_session_on_hold(void *owner, const struct held_statement *held)
{
    struct gate_session *session = owner;
    struct error error;
    if (!hold_count(session->worker->gate)) {
        hold_answer(session, HOLD_REFUSED,
                    SLICE("the statement needs a review, and too many wait for theirs"),
                    SLICE("Try again later."));
        return;
    }
    struct gate_hold *hold = hold_new(session, held);
    struct hold_job *job = hold_job_new(session->worker, hold, &session->session);
    job->text = arena_copy(&job->job.arena, held->text);
    job->found = hold_found_in(&job->job.arena, session, held, hold);
    job->sample = arena_copy(&job->job.arena, held->sample);
    job->waits_s = held->has_run ? hold->seconds : 0;
    if (hold_pinned_in(&job->job.arena, session, held, &job->pinned) != ERR_NONE) {
        gate_job_free(&job->job);
        hold_settle(hold, HOLD_REFUSED,
                    SLICE("the statement needs a review, and its parameters are too large to be "
                          "shown"),
                    SLICE(""));
        return;
    }
    hold->job = &job->job;
    if (hold_job_start(job, hold_on_job, &error) != ERR_NONE) {
        hold->job = NULL;
        hold_fail(hold, &error);
    }
}
