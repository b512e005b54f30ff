/* SPDX-License-Identifier: MIT */
/* An open session: its bytes pass as its passage lets them, each piece on record before it goes on.
 */
#include "base/must.h"
#include "gate/gate_session_internal.h"
#include "io/log.h"

#include <sodium.h>

#define LAST_WORDS_SIZE LIMIT_KIB(4)
#define NOT_RECORDED    SLICE("the session cannot be recorded")

static unsigned gate_passage_state(const struct gate_session *session)
{
    return session->passage->ops->state(session->passage);
}

/* Words of our own ---------------------------------------------------------------------------- */

static void gate_passage_say(struct gate_session *session, enum ending why, struct slice reason)
{
    session->is_cut = true;
    struct buf buf;
    buf_init(&buf, LAST_WORDS_SIZE);
    const struct ending_words words = {.why = why, .message = reason};
    if (session->passage->ops->last_words(session->passage, &words, session->is_discarded, &buf) ==
            ERR_NONE &&
        pump_say(session->pump, PUMP_CLIENT, buf_view(&buf)) != ERR_NONE) {
        log_line(LOG_GATE, LOG_DEBUG, "a client that does not read is not told why it ends",
                 log_text("id", session->session.id));
    }
    buf_release(&buf);
}

void gate_passage_end(struct gate_session *session, enum ending why, struct slice reason)
{
    if (session->session.end_reason.len > 0) {
        return; /* it ends already */
    }
    gate_session_set_reason(session, reason);
    if ((gate_passage_state(session) & PASSAGE_IDLE) == 0) {
        gate_session_cancel_query(session);
    }
    gate_passage_say(session, why, reason);
    session->state = SESSION_FINISHING;
    pump_finish(session->pump);
}

/* What passes --------------------------------------------------------------------------------- */

/* What waits for the recorder will not be on record. */
static void gate_passage_discard(struct gate_session *session)
{
    session->is_discarded = session->is_discarded || session->awaits_disk[PUMP_TARGET];
    pump_drop(session->pump, PUMP_CLIENT);
    pump_drop(session->pump, PUMP_TARGET);
}

static void gate_passage_on_durable(void *owner, const struct error *error)
{
    struct gate_session *session = owner;
    if (session->pump == NULL) {
        return;
    }
    if (error != NULL) {
        session->error = *error;
        gate_passage_discard(session);
        gate_passage_end(session, ENDING_RECORDING, NOT_RECORDED);
        return;
    }
    session->awaits_disk[PUMP_CLIENT] = false;
    session->awaits_disk[PUMP_TARGET] = false;
    pump_resume(session->pump, PUMP_CLIENT);
    pump_resume(session->pump, PUMP_TARGET);
}

static void gate_passage_count(struct gate_session *session, enum pump_side side, size_t size)
{
    struct gate_counters *counters = &session->worker->counters;
    uint64_t statements = session->passage->ops->counts(session->passage)->statements;
    gate_count(side == PUMP_CLIENT ? &counters->bytes_in : &counters->bytes_out, size);
    gate_count(&counters->statements, statements - session->statement_count);
    session->statement_count = statements;
}

/* Through the passage, then on record. */
static enum err filter_and_record(struct gate_session *session, enum pump_side side,
                                  struct slice *bytes)
{
    struct slice back;
    enum err err =
        session->passage->ops->pass(session->passage, side, bytes, &back, &session->error);
    if (err != ERR_NONE) {
        return err;
    }
    if (back.len > 0 && pump_say(session->pump, side, back) != ERR_NONE) {
        return fail(&session->error, ERR_LIMIT, "a side takes too little");
    }
    err = recorder_flush(session->recorder, &session->error);
    session->is_discarded = err != ERR_NONE && side == PUMP_TARGET;
    return err == ERR_NONE ? ERR_NONE : ERR_IO;
}

static enum err gate_passage_on_pass(void *owner, enum pump_side side, struct slice *bytes)
{
    struct gate_session *session = owner;
    size_t size = bytes->len;
    enum err err = filter_and_record(session, side, bytes);
    if (err != ERR_NONE) {
        return err;
    }
    gate_passage_count(session, side, size);
    unsigned state = gate_passage_state(session);
    pump_hold(session->pump, PUMP_CLIENT, (state & PASSAGE_PAUSES_CLIENT) != 0);
    pump_hold(session->pump, PUMP_TARGET, (state & PASSAGE_PAUSES_TARGET) != 0);
    if (session->worker->is_draining) {
        loop_defer(session->worker->loop, &session->drain_task);
    }
    if (recorder_is_durable(session->recorder)) {
        return ERR_NONE;
    }
    session->awaits_disk[side] = true;
    recorder_await(session->recorder, gate_passage_on_durable, session);
    return ERR_AGAIN;
}

/* The end ------------------------------------------------------------------------------------- */

/* The pump is gone, or closed. */
static void gate_passage_on_gone(void *owner)
{
    struct gate_session *session = owner;
    const struct passage_counts *counts = session->passage->ops->counts(session->passage);
    session->session.bytes_in.value = (int64_t)counts->bytes[PUMP_CLIENT];
    session->session.bytes_out.value = (int64_t)counts->bytes[PUMP_TARGET];
    session->pump = NULL;
    gate_session_end(session, SLICE(""));
}

void gate_passage_cut(struct gate_session *session)
{
    session->is_cut = true;
    pump_close(session->pump);
    gate_passage_on_gone(session);
}

/* Something of ours went wrong: the client has to be told, and what it does would go on unseen. */
static void gate_passage_break(struct gate_session *session, bool is_recorder)
{
    enum ending why = is_recorder ? ENDING_RECORDING : ENDING_PROTOCOL;
    struct slice reason = is_recorder ? NOT_RECORDED : SLICE("the session breaks the protocol");
    gate_passage_discard(session);
    log_line(LOG_GATE, LOG_ERROR, "a session was ended", log_text("id", session->session.id),
             log_error_field(&session->error));
    gate_session_set_reason(session, reason);
    if ((gate_passage_state(session) & PASSAGE_IDLE) == 0) {
        gate_session_cancel_query(session);
    }
    gate_passage_say(session, why, reason);
}

/* What runs for a client that has gone. */
static void gate_passage_abandon(struct gate_session *session)
{
    unsigned state = gate_passage_state(session);
    if (session->protocol->stops_abandoned && (state & PASSAGE_IDLE) == 0) {
        gate_session_cancel_query(session);
    }
}

static void gate_passage_on_half(void *owner)
{
    gate_session_hold_abandon(owner);
    gate_passage_abandon(owner);
}

/* Why the streams ended, in words for the record; the client of a target that was lost is told. */
static void gate_passage_on_end(void *owner, enum pump_side side, enum err err)
{
    struct gate_session *session = owner;
    unsigned state = gate_passage_state(session);
    session->state = SESSION_FINISHING;
    if (session->error.code != ERR_NONE && err != ERR_NONE) {
        gate_passage_break(session, err == ERR_IO);
    } else if (side == PUMP_CLIENT) {
        gate_passage_abandon(session);
        gate_session_set_reason(session, SLICE("the client's connection broke"));
    } else if ((state & PASSAGE_CLIENT_LEFT) != 0) {
        gate_session_set_reason(session, SLICE("the client left"));
    } else if ((state & PASSAGE_TARGET_LEFT) != 0) {
        gate_session_set_reason(session, SLICE("the target ended it"));
    } else if (err == ERR_NONE && pump_has_ended(session->pump, PUMP_CLIENT)) {
        gate_session_set_reason(session, SLICE("the client hung up"));
    } else {
        struct slice reason = SLICE("the connection to the target was lost");
        gate_session_set_reason(session, reason);
        gate_passage_say(session, ENDING_TARGET, reason);
    }
    pump_finish(session->pump);
}

void gate_passage_check_drain(void *owner)
{
    struct gate_session *session = owner;
    if (session->pump != NULL && session->worker->is_draining &&
        (gate_passage_state(session) & (PASSAGE_IDLE | PASSAGE_IN_TRANSACTION)) == PASSAGE_IDLE) {
        gate_passage_end(session, ENDING_STOPPING,
                         SLICE("terminating connection because the gateway is stopping"));
    }
}

void gate_passage_start(struct gate_session *session, struct stream *take_stream,
                        struct slice behind)
{
    struct passage_policy policy;
    struct passage_settings settings = {
        .recorder = session->recorder,
        .row_limit = session->row_limit,
        .arrival = &session->arrival.arrival,
        .policy = gate_session_policy(session, &policy) ? &policy : NULL,
    };
    const struct pump_settings pump = {
        .take_streams = {take_stream, session->arrival.arrival.take_stream},
        .waiting = {behind, buf_view(&session->arrival.rest)},
        .scratch = session->worker->scratch,
        .scratch_size = LIMIT_READ_SIZE,
        .replaced_max = LIMIT_PASSAGE_OUT_SIZE,
        .on_pass = gate_passage_on_pass,
        .on_half = gate_passage_on_half,
        .on_end = gate_passage_on_end,
        .on_gone = gate_passage_on_gone,
        .owner = session,
    };
    randombytes_buf(settings.seed, sizeof(settings.seed));
    session->arrival.arrival.take_stream = NULL;
    session->passage =
        session->protocol->passage->start(&settings, &gate_session_passage_events, session);
    session->state = SESSION_RUNNING;
    session->pump = pump_new(&pump);
    gate_count(&session->worker->counters.sessions, 1);
    buf_release(&session->arrival.rest);
    if (session->worker->turns_away) {
        loop_defer(session->worker->loop, &session->drain_task);
    }
}
