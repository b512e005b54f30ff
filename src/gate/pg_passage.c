/* SPDX-License-Identifier: MIT */
/* An open session: its bytes pass as they are, each piece on record before it goes on. */
#include "base/memory.h"
#include "base/must.h"
#include "base/reader.h"
#include "gate/pg_session_internal.h"
#include "io/log.h"
#include "wire/pgwire_answer.h"

#define FATAL_SIZE   LIMIT_KIB(4)
#define NOT_RECORDED "the session cannot be recorded"

static enum record_side pg_side(enum pump_side side)
{
    return side == PUMP_CLIENT ? RECORD_FROM_CLIENT : RECORD_FROM_TARGET;
}

/* Words of our own ---------------------------------------------------------------------------- */

/* Between two messages that the client gets. */
static bool pg_passage_may_speak(const struct pg_session *session)
{
    return session->is_withheld ? pg_tap_was_between(session->tap, PUMP_TARGET)
                                : pg_tap_is_between(session->tap, PUMP_TARGET);
}

static void pg_passage_say(struct pg_session *session, const char *sqlstate, struct slice reason)
{
    struct buf buf;
    buf_init(&buf, FATAL_SIZE);
    const struct pgwire_notice notice = {
        .severity = SLICE("FATAL"), .sqlstate = slice_of_text(sqlstate), .message = reason};
    if (pg_passage_may_speak(session) && pgwire_error_write(&buf, &notice) == ERR_NONE &&
        pump_say(session->pump, PUMP_CLIENT, buf_view(&buf)) != ERR_NONE) {
        log_line(LOG_GATE, LOG_DEBUG, "a client that does not read is not told why it ends",
                 log_text("id", session->session.id));
    }
    buf_release(&buf);
}

void pg_passage_end(struct pg_session *session, const char *sqlstate, struct slice reason)
{
    if (session->session.end_reason.len > 0) {
        return; /* it ends already */
    }
    pg_session_set_reason(session, reason);
    if (!pg_tap_is_idle(session->tap)) {
        pg_session_cancel_query(session);
    }
    pg_passage_say(session, sqlstate, reason);
    pump_finish(session->pump);
}

/* What passes --------------------------------------------------------------------------------- */

/* A target that says FATAL goes: nothing has to be said for it. The message may come in pieces, of
 * which the first ones hold the severity, before 9.6 only as people read it. */
static void pg_passage_look_at_error(struct pg_session *session, const struct pg_record *record)
{
    if (record->kind == PG_RECORD_MESSAGE) {
        session->error_head_len = 0;
        session->has_fatal = false;
    }
    size_t room = sizeof(session->error_head) - session->error_head_len;
    struct slice bytes = slice_sub(record->bytes, 0, room);
    if (bytes.len > 0) {
        memcpy(session->error_head + session->error_head_len, bytes.at, bytes.len);
        session->error_head_len += bytes.len;
    }
    struct reader reader = reader_of(slice_of(session->error_head, session->error_head_len));
    for (char type = (char)reader_u8(&reader); !reader.failed && type != '\0';
         type = (char)reader_u8(&reader)) {
        struct slice text = reader_view_text(&reader);
        bool is_severity = type == PGWIRE_FIELD_SEVERITY || type == PGWIRE_FIELD_SEVERITY_PLAIN;
        session->has_fatal =
            session->has_fatal ||
            (!reader.failed && is_severity &&
             (slice_equals(text, SLICE("FATAL")) || slice_equals(text, SLICE("PANIC"))));
    }
}

static void pg_passage_add_message(struct pg_session *session, const struct pg_record *record)
{
    char head[RECORD_MESSAGE_HEAD];
    const struct slice parts[] = {record_message_head(record->type, record->size, head),
                                  record->bytes};
    if (record->is_last) {
        recorder_add_messages(session->recorder, pg_side(record->side), parts, COUNT_OF(parts));
    } else {
        recorder_add(session->recorder, RECORD_MESSAGE, pg_side(record->side), parts,
                     COUNT_OF(parts));
    }
}

/* They are whole, which the tap has checked. */
static void pg_passage_add_rows(struct pg_session *session, const struct pg_record *record)
{
    struct reader reader = reader_of(record->bytes);
    if (record->bytes.len <= RECORD_PAYLOAD_MAX) {
        recorder_add_messages(session->recorder, pg_side(record->side), &record->bytes, 1);
        return;
    }
    while (reader_left(&reader) > 0) {
        struct pg_record row = {.side = record->side, .is_last = true};
        row.type = (char)reader_u8(&reader);
        row.size = reader_u32(&reader) - (uint32_t)sizeof(uint32_t);
        row.bytes = reader_view(&reader, row.size);
        must(!reader.failed);
        pg_passage_add_message(session, &row);
    }
}

/* Rows that are all there can be counted by whoever wants to know. */
static void pg_passage_add_count(struct pg_session *session, const struct pg_record *record)
{
    if (!record->is_cut) {
        return;
    }
    char payload[RECORD_COUNT_SIZE];
    const struct record_count count = {
        .rows = record->rows, .bytes = record->row_bytes, .is_cut = record->is_cut};
    struct slice part = record_count_write(&count, payload);
    recorder_add(session->recorder, RECORD_COUNT, pg_side(record->side), &part, 1);
}

static void pg_passage_on_record(void *owner, const struct pg_record *record)
{
    struct pg_session *session = owner;
    switch (record->kind) {
    case PG_RECORD_MESSAGE:
        session->has_terminated =
            session->has_terminated || (record->side == PUMP_CLIENT && record->type == 'X');
        if (record->side == PUMP_TARGET && record->type == PGWIRE_SERVER_ERROR) {
            pg_passage_look_at_error(session, record);
        }
        if (record->side == PUMP_TARGET && record->type == PGWIRE_SERVER_PARAMETER_STATUS) {
            pg_session_learn_setting(session, record->bytes);
        }
        pg_passage_add_message(session, record);
        break;
    case PG_RECORD_MORE:
        if (record->side == PUMP_TARGET && record->type == PGWIRE_SERVER_ERROR) {
            pg_passage_look_at_error(session, record);
        }
        recorder_add(session->recorder, RECORD_MORE, pg_side(record->side), &record->bytes, 1);
        break;
    case PG_RECORD_ROWS:
        pg_passage_add_rows(session, record);
        break;
    case PG_RECORD_COUNT:
        pg_passage_add_count(session, record);
        break;
    }
}

/* What waits for the recorder will not be on record. */
static void pg_passage_withhold(struct pg_session *session)
{
    session->is_withheld = session->is_withheld || session->is_held[PUMP_TARGET];
    pump_drop(session->pump, PUMP_CLIENT);
    pump_drop(session->pump, PUMP_TARGET);
}

static void pg_passage_on_durable(void *owner, const struct error *error)
{
    struct pg_session *session = owner;
    if (session->pump == NULL) {
        return;
    }
    if (error != NULL) {
        session->error = *error;
        pg_passage_withhold(session);
        pg_passage_end(session, "58030", SLICE(NOT_RECORDED));
        return;
    }
    session->is_held[PUMP_CLIENT] = false;
    session->is_held[PUMP_TARGET] = false;
    pump_resume(session->pump, PUMP_CLIENT);
    pump_resume(session->pump, PUMP_TARGET);
}

static void pg_passage_count(struct pg_session *session, enum pump_side side, size_t size)
{
    struct gate_counters *counters = &session->door->counters;
    uint64_t statements = pg_tap_counts(session->tap)->statements;
    gate_count(side == PUMP_CLIENT ? &counters->bytes_in : &counters->bytes_out, size);
    gate_count(&counters->statements, statements - session->statement_count);
    session->statement_count = statements;
}

/* Recorded is what the client said, and what it gets. Guard rails that are new apply as soon as
 * nothing is under way. */
static enum err pg_passage_look(struct pg_session *session, enum pump_side side,
                                struct slice *bytes)
{
    pg_session_start_filter(session);
    if (session->filter == NULL) {
        return pg_tap_pass(session->tap, side, *bytes, &session->error);
    }
    if (side == PUMP_CLIENT) {
        enum err err = pg_tap_pass(session->tap, side, *bytes, &session->error);
        return err == ERR_NONE ? pg_filter_pass(session->filter, side, bytes, &session->error)
                               : err;
    }
    enum err err = pg_filter_pass(session->filter, side, bytes, &session->error);
    if (err != ERR_NONE) {
        return err;
    }
    struct slice words = pg_filter_words(session->filter);
    if (words.len > 0 && pump_say(session->pump, PUMP_TARGET, words) != ERR_NONE) {
        return fail(&session->error, ERR_LIMIT, "the target takes too little");
    }
    return pg_tap_pass(session->tap, side, *bytes, &session->error);
}

static enum err pg_passage_on_pass(void *owner, enum pump_side side, struct slice *bytes)
{
    struct pg_session *session = owner;
    size_t size = bytes->len;
    enum err err = pg_passage_look(session, side, bytes);
    if (err == ERR_NONE) {
        err = recorder_flush(session->recorder, &session->error);
        session->is_withheld = err != ERR_NONE && side == PUMP_TARGET;
        err = err == ERR_NONE ? err : ERR_IO;
    }
    if (err != ERR_NONE) {
        return err;
    }
    pg_passage_count(session, side, size);
    bool is_held = session->filter != NULL && pg_filter_holds(session->filter);
    bool is_waiting = session->filter != NULL && pg_filter_waits(session->filter);
    pump_hold(session->pump, PUMP_CLIENT, is_held || pg_tap_is_full(session->tap));
    pump_hold(session->pump, PUMP_TARGET, is_waiting);
    if (session->is_draining) {
        loop_defer(session->door->loop, &session->drain_task);
    }
    if (recorder_is_durable(session->recorder)) {
        return ERR_NONE;
    }
    session->is_held[side] = true;
    recorder_await(session->recorder, pg_passage_on_durable, session);
    return ERR_AGAIN;
}

/* The end ------------------------------------------------------------------------------------- */

static void pg_passage_on_gone(void *owner)
{
    struct pg_session *session = owner;
    session->session.bytes_in.value = (int64_t)pg_tap_counts(session->tap)->bytes[PUMP_CLIENT];
    session->session.bytes_out.value = (int64_t)pg_tap_counts(session->tap)->bytes[PUMP_TARGET];
    session->pump = NULL;
    pg_session_end(session, SLICE(""));
}

/* What broke, in words for the record, and whether the client has to be told. */
static void pg_passage_on_end(void *owner, enum pump_side side, enum err err)
{
    struct pg_session *session = owner;
    struct slice reason = SLICE("");
    const char *sqlstate = NULL;
    if (session->error.code != ERR_NONE && err != ERR_NONE) {
        bool is_recorder = err == ERR_IO;
        sqlstate = is_recorder ? "58030" : "08P01";
        reason = is_recorder ? SLICE(NOT_RECORDED) : SLICE("the session breaks the protocol");
        pg_passage_withhold(session);
        log_line(LOG_GATE, LOG_ERROR, "a session was ended", log_text("id", session->session.id),
                 log_error_field(&session->error));
    } else if (side == PUMP_CLIENT) {
        reason = SLICE("the client's connection broke");
    } else if (session->has_terminated) {
        reason = SLICE("the client left");
    } else if (session->has_fatal) {
        reason = SLICE("the target ended it");
    } else if (err == ERR_NONE && pump_has_ended(session->pump, PUMP_CLIENT)) {
        reason = SLICE("the client hung up");
    } else {
        sqlstate = "08006";
        reason = SLICE("the connection to the target was lost");
    }
    pg_session_set_reason(session, reason);
    if (sqlstate != NULL) {
        if (session->error.code != ERR_NONE && !pg_tap_is_idle(session->tap)) {
            pg_session_cancel_query(session); /* it would go on unseen */
        }
        pg_passage_say(session, sqlstate, reason);
    }
    pump_finish(session->pump);
}

void pg_passage_check_drain(void *owner)
{
    struct pg_session *session = owner;
    if (session->pump != NULL && session->is_draining && pg_tap_is_idle(session->tap) &&
        pg_tap_transaction(session->tap) == PGWIRE_IDLE) {
        pg_passage_end(session, "57P01",
                       SLICE("terminating connection because the gateway is stopping"));
    }
}

void pg_passage_start(struct pg_session *session, struct stream *take_stream, struct slice behind)
{
    const struct pg_tap_settings tap = {
        .row_limit = session->row_limit, .on_record = pg_passage_on_record, .owner = session};
    const struct pump_settings pump = {
        .take_streams = {take_stream, session->arrival.stream},
        .waiting = {behind, buf_view(&session->arrival.rest)},
        .scratch = session->door->scratch,
        .scratch_size = LIMIT_READ_SIZE,
        .replaced_max = LIMIT_PG_FILTER_OUT_SIZE,
        .on_pass = pg_passage_on_pass,
        .on_end = pg_passage_on_end,
        .on_gone = pg_passage_on_gone,
        .owner = session,
    };
    session->arrival.stream = NULL;
    session->tap = pg_tap_new(&tap);
    pg_session_learn_greeting(session, buf_view(&session->arrival.greeting));
    pg_session_start_filter(session);
    session->pump = pump_new(&pump);
    gate_count(&session->door->counters.sessions, 1);
    buf_release(&session->arrival.rest);
    if (session->is_draining) {
        loop_defer(session->door->loop, &session->drain_task);
    }
}
