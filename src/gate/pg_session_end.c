/* SPDX-License-Identifier: MIT */
/* How a session ends, by itself or because somebody wants it to, and what it leaves behind. */
#include "base/memory.h"
#include "base/must.h"
#include "codec/hex.h"
#include "codec/json_writer.h"
#include "gate/gate_cancel.h"
#include "gate/pg_session_internal.h"
#include "io/clock.h"
#include "io/log.h"

#define RETRY_MS        2000 /* until the store is told again */
#define REASON_SIZE_MAX 500

void pg_session_set_reason(struct pg_session *session, struct slice reason)
{
    if (session->session.end_reason.len == 0) {
        session->session.end_reason = session_text_in(&session->arena, reason, REASON_SIZE_MAX);
    }
}

/* The end ------------------------------------------------------------------------------------- */

static void pg_session_free(void *owner)
{
    struct pg_session *session = owner;
    struct gate_worker *door = session->door;
    loop_task_cancel(&session->drain_task);
    timer_stop(&session->retry);
    list_remove(&session->link);
    door->session_count--;
    pg_tap_free(session->tap);
    pg_session_end_guard(session);
    pg_way_release(&session->way);
    arena_release(&session->arena);
    memory_free(session);
    gate_worker_check_drained(door);
}

/* Not before a request to cancel what it did has been heard. */
static void pg_session_free_later(struct pg_session *session)
{
    session->is_over = true;
    if (pg_way_is_stopping(&session->way)) {
        return;
    }
    loop_defer(session->door->loop, &session->free_task);
}

static void pg_session_leave(void *owner);

static void pg_session_on_left(struct gate_job *job)
{
    struct pg_session *session = job->owner;
    bool is_told = job->err == ERR_NONE;
    if (!is_told) {
        log_line(LOG_GATE, LOG_ERROR, "the end of a session is not in the store yet",
                 log_text("id", session->session.id), log_error_field(&job->error));
    }
    gate_job_free(job);
    if (is_told || session->door->is_draining) {
        pg_session_free_later(session); /* what is not told now, the next start tells */
    } else {
        timer_start(session->door->loop, &session->retry, RETRY_MS);
    }
}

static void pg_session_leave(void *owner)
{
    struct pg_session *session = owner;
    struct error error;
    const struct leave_request request = {
        .session = &session->session,
        .is_enrolled = session->is_enrolled,
        .guarded = session->guarded,
        .guarded_count = session->guarded_count,
    };
    if (!session->is_enrolled && !session->has_files) {
        pg_session_free_later(session);
    } else if (leave_job_start(session->door, &request, pg_session_on_left, session, &error) !=
               ERR_NONE) {
        timer_start(session->door->loop, &session->retry, RETRY_MS);
    }
}

void pg_session_init_end(struct pg_session *session)
{
    loop_task_init(&session->free_task, pg_session_free, session);
    timer_init(&session->retry, pg_session_leave, session);
    list_init(&session->cancels);
    list_init(&session->next_cancels);
}

static void pg_session_on_recorded(void *owner, const struct recorder_summary *summary)
{
    struct pg_session *session = owner;
    struct session *row = &session->session;
    row->recording_head =
        hex_encode(&session->arena, slice_of(summary->head, sizeof(summary->head)));
    row->recording_size.value = (int64_t)summary->size;
    row->recording_error = summary->error == NULL
                               ? SLICE("")
                               : arena_format(&session->arena, "%s", summary->error->message);
    pg_session_leave(session);
}

static void pg_session_close_recorder(struct pg_session *session)
{
    const struct session *row = &session->session;
    struct buf buf;
    buf_init(&buf, LIMIT_KIB(4));
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_text(&json, "reason", row->end_reason);
    if (session->tap != NULL) {
        const struct pg_tap_counts *counts = pg_tap_counts(session->tap);
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
    recorder_close(recorder, buf_view(&buf), pg_session_on_recorded, session);
    buf_release(&buf);
}

/* All that leads anywhere is cut; then the record, then the store, then nothing is left. */
static void pg_session_cut(struct pg_session *session)
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
    pg_way_cancel_open(&session->way);
    pg_session_end_lookup(session);
    if (session->arrival.stream != NULL) {
        stream_close(session->arrival.stream);
        session->arrival.stream = NULL;
    }
    buf_release(&session->arrival.greeting);
    buf_release(&session->arrival.rest);
}

void pg_session_end(struct pg_session *session, struct slice reason)
{
    if (session->is_ending) {
        return;
    }
    struct session *row = &session->session;
    session->is_ending = true;
    pg_session_set_reason(session, reason);
    pg_session_keep_masking(session);
    row->ended_at = clock_now();
    pg_session_cut(session);
    if (row->id.len > 0) {
        session_table_remove(session->door->gate->table, row->id);
    }
    if (session->tap != NULL) {
        pg_tap_end(session->tap);
    }
    if (session->is_enrolling) {
        return; /* goes on when it is known how that went */
    }
    if (session->recorder != NULL) {
        pg_session_close_recorder(session);
    } else {
        pg_session_leave(session);
    }
}

void pg_session_note(struct pg_session *session, const char *what, struct slice why)
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

static void pg_session_stop(struct pg_session *session);

static void pg_session_answer_cancels(struct list *cancels)
{
    for (struct list *link = list_take_first(cancels); link != NULL;
         link = list_take_first(cancels)) {
        gate_cancel_answer(LIST_ITEM(link, struct gate_cancel, link));
    }
}

static void pg_session_on_stopped(void *owner, const struct error *error)
{
    struct pg_session *session = owner;
    if (error != NULL) {
        log_line(LOG_GATE, LOG_WARN, "a query could not be cancelled",
                 log_text("id", session->session.id), log_error_field(error));
    }
    pg_session_answer_cancels(&session->cancels);
    if (!list_is_empty(&session->next_cancels)) {
        pg_session_stop(session);
    }
    if (session->filter != NULL && !pg_way_is_stopping(&session->way)) {
        pg_filter_cancelled(session->filter);
        pg_session_go_on(session);
    }
    if (session->is_over) {
        pg_session_free_later(session);
    }
}

/* What came while a request was under way, which may have been for an earlier query, gets one of
 * its own. */
static void pg_session_stop(struct pg_session *session)
{
    list_move_all(&session->cancels, &session->next_cancels);
    if (session->pump == NULL ||
        !pg_way_stop(&session->way, &session->target_key, pg_session_on_stopped, session)) {
        pg_session_answer_cancels(&session->cancels);
    }
}

void pg_session_cancel_query(struct pg_session *session)
{
    if (!pg_way_is_stopping(&session->way)) {
        pg_session_stop(session);
    }
}

void pg_session_take_cancel(struct pg_session *session, struct gate_cancel *take_cancel)
{
    list_append(&session->next_cancels, &take_cancel->link);
    if (session->pump != NULL) {
        pg_session_note(session, "cancelled", SLICE("the client asked for it"));
    }
    pg_session_cancel_query(session);
}

void pg_session_cancelled(struct pg_session *session)
{
    if (session->front != NULL) {
        pg_front_cancelled(session->front);
    }
}

/* From outside -------------------------------------------------------------------------------- */

void pg_session_kill(struct pg_session *session, const char *sqlstate, struct slice reason)
{
    if (session->is_ending || session->session.end_reason.len > 0) {
        return; /* it is on its way out */
    }
    pg_session_note(session, "killed", reason);
    if (session->pump != NULL) {
        pg_passage_end(session, sqlstate, reason);
    } else if (session->front != NULL) {
        pg_session_refuse(session, sqlstate, reason, SLICE(""));
    }
}

void pg_session_cut_short(struct pg_session *session)
{
    pg_session_kill(session, "57P01",
                    SLICE("terminating connection because the gateway is stopping"));
    if (session->is_over && pg_way_is_stopping(&session->way)) {
        pg_way_cancel_stop(&session->way);
        list_move_all(&session->cancels, &session->next_cancels);
        pg_session_answer_cancels(&session->cancels);
        pg_session_free_later(session);
    }
}

void pg_session_drain(struct pg_session *session)
{
    session->is_draining = true;
    if (session->is_ending) {
        return;
    }
    if (session->front != NULL) {
        pg_session_refuse(session, "57P03", SLICE("the gateway is stopping"), SLICE(""));
    } else {
        loop_defer(session->door->loop, &session->drain_task);
    }
}

struct slice pg_session_id(const struct pg_session *session)
{
    return session->session.id;
}

uint64_t pg_session_number(const struct pg_session *session)
{
    return session->number;
}

struct pg_session *pg_session_of(struct list *link)
{
    return LIST_ITEM(link, struct pg_session, link);
}
