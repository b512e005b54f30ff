/* SPDX-License-Identifier: MIT */
/* How a session ends, by itself or because somebody wants it to, and what it leaves behind. */
#include "base/memory.h"
#include "base/must.h"
#include "codec/hex.h"
#include "codec/json_writer.h"
#include "gate/gate_cancel.h"
#include "gate/gate_recovery.h"
#include "gate/gate_session_internal.h"
#include "io/clock.h"
#include "io/log.h"

#define RETRY_MS        2000 /* until the store is told again */
#define REASON_SIZE_MAX 500
#define STOPPING        SLICE("terminating connection because the gateway is stopping")

void gate_session_set_reason(struct gate_session *session, struct slice reason)
{
    if (session->session.end_reason.len == 0) {
        session->session.end_reason = session_text_in(&session->arena, reason, REASON_SIZE_MAX);
    }
}

/* The end ------------------------------------------------------------------------------------- */

static void gate_session_free(void *owner)
{
    struct gate_session *session = owner;
    struct gate_worker *worker = session->worker;
    gate_session_leave_newcomers(session);
    loop_task_cancel(&session->drain_task);
    timer_stop(&session->retry);
    list_remove(&session->link);
    worker->session_count--;
    if (session->passage != NULL) {
        session->passage->ops->free(session->passage);
    }
    gate_session_end_rules(session);
    target_route_release(&session->route);
    session_opener_free(session->opener);
    arena_release(&session->arena);
    memory_free(session);
    gate_worker_check_drained(worker);
}

/* Not before a request to cancel what it did has been heard. */
static void gate_session_free_later(struct gate_session *session)
{
    session->state = SESSION_OVER;
    if (target_route_is_stopping(&session->route)) {
        return;
    }
    loop_defer(session->worker->loop, &session->free_task);
}

static void gate_session_leave(void *owner);

static void gate_session_on_left(struct gate_job *job)
{
    struct gate_session *session = job->owner;
    bool is_told = job->err == ERR_NONE;
    if (!is_told) {
        log_line(LOG_GATE, LOG_ERROR, "the end of a session is not in the store yet",
                 log_text("id", session->session.id), log_error_field(&job->error));
    }
    gate_job_free(job);
    if (is_told || session->worker->is_draining) {
        gate_session_free_later(session); /* what is not told now, the next start tells */
    } else {
        timer_start(session->worker->loop, &session->retry, RETRY_MS);
    }
}

static void gate_session_leave(void *owner)
{
    struct gate_session *session = owner;
    struct error error;
    if (session->telling != NULL) {
        session->leaves_when_told = true; /* lest something is told twice */
        return;
    }
    const struct leave_request request = {
        .session = &session->session,
        .is_enrolled = session->enrolment == SESSION_ENROLLED,
        .is_by_key = session->is_by_key,
        .opener = session->opener,
        .has_passed = session->passage != NULL,
        .guarded = session->guarded,
        .guarded_count = session->guarded_count,
        .guarded_told = session->guarded_told,
    };
    if (session->enrolment != SESSION_ENROLLED && !session->has_files && !session->is_by_key &&
        session->opener == NULL) {
        gate_session_free_later(session);
    } else if (leave_job_start(session->worker, &request, gate_session_on_left, session, &error) !=
               ERR_NONE) {
        timer_start(session->worker->loop, &session->retry, RETRY_MS);
    }
}

static void gate_session_on_told(struct gate_job *job)
{
    struct gate_session *session = job->owner;
    session->telling = NULL;
    session->guarded_told = job->err == ERR_NONE ? 1 : 0;
    gate_job_free(job);
    if (session->leaves_when_told) {
        session->leaves_when_told = false;
        gate_session_leave(session);
    }
}

/* Of the first at once, on the pool; of more, and of what that did not take, at the end. */
void gate_session_tell_finding(struct gate_session *session)
{
    struct error error;
    const struct guarded_request request = {.session = &session->session, .hit = session->guarded};
    if (session->guarded_count != 1 || session->telling != NULL || session->guarded_told > 0 ||
        session->enrolment != SESSION_ENROLLED) {
        return;
    }
    if (guarded_job_start(session->worker, &request, gate_session_on_told, session,
                          &session->telling, &error) != ERR_NONE) {
        session->telling = NULL;
    }
}

void gate_session_init_end(struct gate_session *session)
{
    loop_task_init(&session->free_task, gate_session_free, session);
    timer_init(&session->retry, gate_session_leave, session);
    list_init(&session->cancels);
    list_init(&session->next_cancels);
}

static void gate_session_on_recorded(void *owner, const struct recorder_summary *summary)
{
    struct gate_session *session = owner;
    struct session *row = &session->session;
    row->recording_head =
        hex_encode(&session->arena, slice_of(summary->head, sizeof(summary->head)));
    row->recording_size.value = (int64_t)summary->size;
    row->recording_error = summary->error == NULL
                               ? SLICE("")
                               : arena_format(&session->arena, "%s", summary->error->message);
    if (!summary->is_whole) {
        gate_recovery_note(session->worker->gate, row->started_at);
    }
    gate_session_leave(session);
}

/* One that the store may not know stays open, until the store is told. */
static void gate_session_close_recorder(struct gate_session *session)
{
    const struct session *row = &session->session;
    struct buf buf;
    buf_init(&buf, LIMIT_KIB(4));
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_text(&json, "reason", row->end_reason);
    if (session->passage != NULL) {
        const struct passage_counts *counts = session->passage->ops->counts(session->passage);
        json_member_int(&json, "statements", (int64_t)counts->statements);
        json_member_int(&json, "errors", (int64_t)counts->errors);
        json_member_int(&json, "rows", (int64_t)counts->rows);
        json_member_int(&json, "bytes_in", row->bytes_in.value);
        json_member_int(&json, "bytes_out", row->bytes_out.value);
    }
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    struct recorder *recorder = session->recorder;
    session->recorder = NULL;
    recorder_close(recorder, session->enrolment == SESSION_ENROLLED ? buf_view(&buf) : SLICE_NONE,
                   gate_session_on_recorded, session);
    buf_release(&buf);
}

/* All that leads anywhere is cut; then the record, then the store, then nothing is left. */
static void gate_session_cut(struct gate_session *session)
{
    gate_job_abandon(session->job);
    session->job = NULL;
    if (session->candidates != NULL) {
        gate_job_free(&session->candidates->job);
        session->candidates = NULL;
    }
    if (session->admitted != NULL) {
        gate_job_free(&session->admitted->job);
        session->admitted = NULL;
    }
    target_route_cancel_open(&session->route);
    gate_session_end_catalog(session);
    gate_session_hold_end(session);
    if (session->arrival.arrival.take_stream != NULL) {
        stream_close(session->arrival.arrival.take_stream);
        session->arrival.arrival.take_stream = NULL;
    }
    buf_release(&session->arrival.greeting);
    buf_release(&session->arrival.rest);
}

static void gate_session_count_end(struct gate_session *session)
{
    struct gate_counters *counters = &session->worker->counters;
    if (session->passage == NULL) {
        gate_count(&counters->refused, 1);
    } else {
        gate_count(session->is_cut ? &counters->cut : &counters->completed, 1);
    }
}

void gate_session_end(struct gate_session *session, struct slice reason)
{
    if (session->state >= SESSION_CLOSING) {
        return;
    }
    struct session *row = &session->session;
    session->state = SESSION_CLOSING;
    gate_session_set_reason(session, reason);
    gate_session_keep_masking(session);
    row->ended_at = clock_now();
    gate_session_count_end(session);
    gate_session_cut(session);
    if (row->id.len > 0) {
        session_table_remove(session->worker->gate->table, row->id);
    }
    if (session->passage != NULL) {
        session->passage->ops->end(session->passage);
    }
    if (session->enrolment == SESSION_ENROLLING) {
        return; /* goes on when it is known how that went */
    }
    if (session->recorder != NULL) {
        gate_session_close_recorder(session);
    } else {
        gate_session_leave(session);
    }
}

void gate_session_note(struct gate_session *session, const char *what, struct slice why)
{
    struct buf buf;
    if (session->recorder == NULL) {
        return;
    }
    buf_init(&buf, LIMIT_KIB(4));
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_text(&json, "event", slice_of_text(what));
    json_member_text(&json, "reason", slice_sub(why, 0, REASON_SIZE_MAX));
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    struct slice part = buf_view(&buf);
    recorder_add(session->recorder, RECORD_NOTE, RECORD_FROM_GATEWAY, &part, 1);
    buf_release(&buf);
}

/* Requests to cancel -------------------------------------------------------------------------- */

static void gate_session_stop(struct gate_session *session);

static void gate_session_answer_cancels(struct list *cancels)
{
    for (struct list *link = list_take_first(cancels); link != NULL;
         link = list_take_first(cancels)) {
        gate_cancel_answer(LIST_ITEM(link, struct gate_cancel, link));
    }
}

static void gate_session_on_stopped(void *owner, const struct error *error)
{
    struct gate_session *session = owner;
    if (error != NULL) {
        log_line(LOG_GATE, LOG_WARN, "a query could not be cancelled",
                 log_text("id", session->session.id), log_error_field(error));
    }
    gate_session_answer_cancels(&session->cancels);
    if (!list_is_empty(&session->next_cancels)) {
        gate_session_stop(session);
    }
    if (session->state <= SESSION_FINISHING && !target_route_is_stopping(&session->route)) {
        session->passage->ops->stopped(session->passage);
        gate_session_go_on(session);
    }
    if (session->state == SESSION_OVER) {
        gate_session_free_later(session);
    }
}

/* What came while a request was under way, which may have been for an earlier query, gets one of
 * its own. */
static void gate_session_stop(struct gate_session *session)
{
    list_move_all(&session->cancels, &session->next_cancels);
    if (session->pump == NULL || !target_route_stop(&session->route, &session->target_key,
                                                    gate_session_on_stopped, session)) {
        gate_session_answer_cancels(&session->cancels);
    }
}

void gate_session_cancel_query(struct gate_session *session)
{
    if (!target_route_is_stopping(&session->route)) {
        gate_session_stop(session);
    }
}

void gate_session_take_cancel(struct gate_session *session, struct gate_cancel *take_cancel)
{
    list_append(&session->next_cancels, &take_cancel->link);
    if (session->pump != NULL) {
        gate_session_note(session, "cancelled", SLICE("the client asked for it"));
    }
    if (gate_session_hold_cancel(session)) {
        gate_session_answer_cancels(&session->next_cancels); /* the target does nothing for it */
        return;
    }
    gate_session_cancel_query(session);
}

static bool gate_session_end_other(struct gate_session *session, const struct cancel_key *key)
{
    struct arena arena CLEANUP(arena_release);
    struct slice id = SLICE("");
    struct gate_worker *worker = NULL;
    arena_init(&arena);
    if (session_table_find_key(session->worker->gate->table, key, &arena, &id, &worker) !=
        ERR_NONE) {
        return false;
    }
    gate_worker_kill(worker, id, SLICE("its own client asked for it, in another session"));
    return true;
}

/* One that another gateway has is cancelled there, but not ended. Who asks is not told how that
 * went, as servers do not either. */
bool gate_session_kill_other(struct gate_session *session, uint32_t number, bool is_end)
{
    struct cancel_key key = gate_session_number_key(session, number);
    if (is_end) {
        return gate_session_end_other(session, &key);
    }
    if (gate_cancel_start(session->worker, session->number, &key) == ERR_NONE) {
        return true;
    }
    if (session->job != NULL) {
        return false;
    }
    session->job = gate_cancel_start_elsewhere(session->worker, session, &key);
    return session->job != NULL;
}

void gate_session_cancelled(struct gate_session *session)
{
    if (session->front != NULL) {
        session->front->ops->cancelled(session->front);
    }
}

/* From outside -------------------------------------------------------------------------------- */

void gate_session_kill(struct gate_session *session, enum ending why, struct slice reason)
{
    if (session->state >= SESSION_CLOSING || session->session.end_reason.len > 0) {
        return; /* it is on its way out */
    }
    gate_session_note(session, "killed", reason);
    if (session->pump != NULL) {
        gate_passage_end(session, why, reason);
    } else if (session->front != NULL) {
        gate_session_refuse(
            session, &(struct ending_words){.why = why, .message = reason, .hint = SLICE("")});
    }
}

/* Nobody waits for the target's answer to a request to cancel. */
static void gate_session_give_up_cancels(struct gate_session *session)
{
    if (!target_route_is_stopping(&session->route)) {
        return;
    }
    target_route_cancel_stop(&session->route);
    list_move_all(&session->cancels, &session->next_cancels);
    gate_session_answer_cancels(&session->cancels);
    if (session->state == SESSION_OVER) {
        gate_session_free_later(session);
    }
}

void gate_session_cut_short(struct gate_session *session)
{
    gate_session_kill(session, ENDING_KILLED, STOPPING);
    if (session->state == SESSION_OVER) {
        gate_session_give_up_cancels(session);
    }
}

/* It was told before, in vain or without hope. */
void gate_session_cut_off(struct gate_session *session)
{
    gate_session_cut_short(session);
    if (session->pump != NULL) {
        gate_passage_cut(session);
    } else if (session->front != NULL) {
        session->front->ops->close(session->front);
        session->front = NULL;
        gate_session_end(session, STOPPING);
    }
    gate_session_give_up_cancels(session);
}

void gate_session_drain(struct gate_session *session)
{
    if (session->state >= SESSION_CLOSING) {
        return;
    }
    if (session->front != NULL) {
        gate_session_refuse(session,
                            &(struct ending_words){.why = ENDING_STOPPING,
                                                   .message = SLICE("the gateway is stopping"),
                                                   .hint = SLICE("")});
    } else {
        gate_session_hold_drain(session);
        loop_defer(session->worker->loop, &session->drain_task);
    }
}

bool gate_session_is_arriving(const struct gate_session *session)
{
    return session->front != NULL;
}

struct slice gate_session_end_reason(const struct gate_session *session)
{
    return session->session.end_reason;
}

struct slice gate_session_id(const struct gate_session *session)
{
    return session->session.id;
}

uint64_t gate_session_number(const struct gate_session *session)
{
    return session->number;
}

bool gate_session_came_before(const struct gate_session *session, int64_t time)
{
    return session->came_at < time;
}

const struct address *gate_session_address(const struct gate_session *session)
{
    return &session->address;
}

struct gate_session *gate_session_of_newcomer(struct list *link)
{
    return LIST_ITEM(link, struct gate_session, newcomer);
}

struct gate_session *gate_session_of(struct list *link)
{
    return LIST_ITEM(link, struct gate_session, link);
}
