/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_front.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "protocol/postgres/pg_front_internal.h"
#include "wire/pgwire_answer.h"

#include <stdarg.h>

#define DISCARD_SIZE 4096

/* The end ------------------------------------------------------------------------------------- */

static void front_free(void *at)
{
    struct pg_front *front = at;
    buf_wipe(&front->input);
    buf_wipe(&front->body);
    buf_wipe(&front->output);
    arena_release(&front->arena);
    tls_server_unref(front->config.tls);
    memory_free(front);
}

/* Nothing of it runs any more; the memory goes at the end of the turn. */
static void front_leave(struct pg_front *front)
{
    front->state = PG_FRONT_GONE;
    front->stream = NULL;
    timer_stop(&front->timer);
    loop_task_cancel(&front->task);
    loop_task_init(&front->task, front_free, front);
    loop_defer(front->loop, &front->task);
}

void pg_front_close(struct pg_front *front)
{
    must(front->state != PG_FRONT_GONE);
    stream_close(front->stream);
    front_leave(front);
}

static void front_close_and_tell(struct pg_front *front)
{
    if (front->stream != NULL) {
        stream_close(front->stream);
    }
    front_leave(front);
    front->events->on_closed(front->owner, &front->reason);
}

void pg_front_drop(struct pg_front *front, enum err err, const char *why)
{
    if (front->state != PG_FRONT_ENDING) { /* which has a reason already */
        pg_front_note(front, err, "%s", why);
    }
    front_close_and_tell(front);
}

void pg_front_end(struct pg_front *front)
{
    front->state = PG_FRONT_ENDING;
    buf_wipe(&front->input);
    timer_start(front->loop, &front->timer, LIMIT_PG_FRONT_LINGER_MS);
}

static void front_write_fatal(struct pg_front *front, struct slice sqlstate, struct slice message,
                              struct slice hint)
{
    const struct pgwire_notice notice = {
        .severity = SLICE("FATAL"), .sqlstate = sqlstate, .message = message, .hint = hint};
    /* Words that the protocol cannot carry are left out: the end says enough. */
    if (pgwire_error_write(&front->output, &notice) != ERR_NONE) {
        return;
    }
}

void pg_front_note(struct pg_front *front, enum err err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    front->reason.code = err;
    (void)vsnprintf(front->reason.message, sizeof(front->reason.message), format, args);
    va_end(args);
}

void pg_front_refuse(struct pg_front *front, struct slice sqlstate, struct slice hint)
{
    front_write_fatal(front, sqlstate, slice_of_text(front->reason.message), hint);
    pg_front_end(front);
}

static void front_on_deadline(void *at)
{
    struct pg_front *front = at;
    switch (front->state) {
    case PG_FRONT_AT_SASL:
    case PG_FRONT_ASKING:
    case PG_FRONT_AT_PROOF:
        pg_front_note(front, ERR_TIMEOUT, "canceling authentication due to timeout");
        pg_front_refuse(front, PG_FRONT_CANCELED, SLICE_NONE);
        loop_defer(front->loop, &front->task);
        return;
    case PG_FRONT_AT_START: /* nobody knows what the client speaks */
    case PG_FRONT_AT_TLS:
    case PG_FRONT_AT_CANCEL:
    case PG_FRONT_KNOWN:
    case PG_FRONT_OPENING:
    case PG_FRONT_ENDING:
    case PG_FRONT_GONE:
        pg_front_drop(front, ERR_TIMEOUT, "client took too long");
        return;
    }
}

/* Bytes out ----------------------------------------------------------------------------------- */

/* False when there is something left to do later, or when the connection has broken. */
static bool front_flush(struct pg_front *front)
{
    while (front->output.len > 0) {
        struct slice bytes = buf_view(&front->output);
        size_t len = 0;
        enum err err = stream_write(front->stream, &bytes, 1, &len);
        if (err == ERR_AGAIN) {
            return false;
        }
        if (err != ERR_NONE) {
            pg_front_drop(front, ERR_IO, "connection broke");
            return false;
        }
        buf_consume(&front->output, len);
    }
    buf_wipe(&front->output);
    return true;
}

static void front_finish(struct pg_front *front)
{
    if (!front_flush(front)) {
        return;
    }
    if (!front->is_shut) {
        enum err err = stream_shutdown(front->stream);
        if (err == ERR_AGAIN) {
            return;
        }
        front->is_shut = true;
        front->is_peer_done = front->is_peer_done || err != ERR_NONE;
    }
    if (front->is_peer_done) {
        front_close_and_tell(front);
    }
}

/* Bytes in ------------------------------------------------------------------------------------ */

/* An end that leaves unread bytes behind is a reset, which may overtake the last words. */
static void front_discard(struct pg_front *front)
{
    char bytes[DISCARD_SIZE];
    size_t len = 0;
    enum err err = stream_read(front->stream, bytes, sizeof(bytes), &len);
    front->is_peer_done = err != ERR_NONE && err != ERR_AGAIN;
}

static bool front_has_room(const struct pg_front *front)
{
    return front->input.len < front->input.size_max;
}

static void front_read(struct pg_front *front)
{
    char *at = NULL;
    size_t room = front->input.size_max - front->input.len;
    size_t len = 0;
    must(buf_reserve(&front->input, room, &at) == ERR_NONE);
    enum err err = stream_read(front->stream, at, room, &len);
    if (err == ERR_NONE) {
        buf_commit(&front->input, len);
        front->has_begun = true;
        return;
    }
    if (err == ERR_AGAIN) {
        if (front->input.len == 0) {
            buf_clear(&front->input); /* who stays silent holds no buffer */
        }
        return;
    }
    pg_front_drop(front, err, err == ERR_CLOSED ? "client left" : "connection broke");
}

void pg_front_collect(struct pg_front *front, size_t size_max)
{
    char *at = NULL;
    if (front->framer.frame.size > size_max) {
        pg_front_note(front, ERR_LIMIT, "message of %u bytes is too long",
                      front->framer.frame.size);
        pg_front_refuse(front, PG_FRONT_PROTOCOL_VIOLATION, SLICE_NONE);
        return;
    }
    /* At once: a buffer that grows leaves copies of what may be secret. */
    must(buf_reserve(&front->body, front->framer.frame.size, &at) == ERR_NONE);
    must(pgwire_framer_collect(&front->framer, &front->body, NULL) == ERR_NONE);
}

static bool front_takes_messages(const struct pg_front *front)
{
    return front->state == PG_FRONT_AT_START || front->state == PG_FRONT_AT_SASL ||
           front->state == PG_FRONT_AT_PROOF;
}

static void front_take_event(struct pg_front *front, const struct pgwire_event *event)
{
    bool is_starting = front->state == PG_FRONT_AT_START;
    if (event->kind == PGWIRE_EVENT_HEADER) {
        (is_starting ? pg_front_start_header : pg_front_auth_header)(front);
        return;
    }
    must(event->kind == PGWIRE_EVENT_BODY);
    (is_starting ? pg_front_start_body : pg_front_auth_body)(front, event->bytes);
    buf_wipe(&front->body);
}

static void front_take_messages(struct pg_front *front)
{
    while (front_takes_messages(front)) {
        struct pgwire_event event;
        struct error error;
        size_t taken = 0;
        if (pg_front_is_tls_hello(front)) {
            pg_front_start_tls(front);
            continue;
        }
        struct slice input = buf_view(&front->input);
        enum err err = pgwire_framer_next(&front->framer, input, &taken, &event, &error);
        if (err == ERR_MORE) {
            buf_wipe(&front->input);
            return;
        }
        if (err != ERR_NONE) {
            pg_front_start_failed(front, &error);
            return;
        }
        /* The event's bytes stay where they are until something is appended. */
        buf_consume(&front->input, taken);
        front_take_event(front, &event);
    }
}

/* Turns --------------------------------------------------------------------------------------- */

static void front_open(struct pg_front *front)
{
    if (!front_flush(front)) {
        return;
    }
    struct stream *stream = front->stream;
    stream_watch(stream, 0);
    front_leave(front); /* what it read stays until the end of the turn */
    front->events->on_open(front->owner, stream, buf_view(&front->input));
}

static void front_step(struct pg_front *front)
{
    switch (front->state) {
    case PG_FRONT_AT_START:
    case PG_FRONT_AT_SASL:
    case PG_FRONT_AT_PROOF:
        if (front->input.len > 0) {
            front_take_messages(front);
        }
        if (front_takes_messages(front)) {
            (void)front_flush(front);
        }
        return;
    case PG_FRONT_AT_TLS:
        if (front_flush(front)) {
            pg_front_start_tls(front);
        }
        return;
    case PG_FRONT_OPENING:
        front_open(front);
        return;
    case PG_FRONT_ENDING:
        front_finish(front);
        return;
    case PG_FRONT_ASKING:
    case PG_FRONT_AT_CANCEL:
    case PG_FRONT_KNOWN: /* what ends authentication goes out with what opens the session */
    case PG_FRONT_GONE:
        return;
    }
}

static unsigned front_wanted(const struct pg_front *front)
{
    unsigned events = 0;
    if (front->state == PG_FRONT_ENDING) {
        events |= front->is_peer_done ? 0 : STREAM_READABLE;
        events |= front->is_shut ? 0 : STREAM_WRITABLE;
        return events;
    }
    if (front->state != PG_FRONT_AT_TLS && front_has_room(front)) {
        events |= STREAM_READABLE;
    }
    if (front->output.len > 0 && front->state != PG_FRONT_KNOWN) {
        events |= STREAM_WRITABLE;
    }
    return events;
}

static void front_run(struct pg_front *front)
{
    enum pg_front_state before;
    do {
        before = front->state;
        front_step(front);
    } while (front->state != before);
    if (front->state != PG_FRONT_GONE) {
        stream_watch(front->stream, front_wanted(front));
    }
}

static void front_on_task(void *owner)
{
    front_run(owner);
}

static void front_on_event(void *owner, unsigned events)
{
    struct pg_front *front = owner;
    if ((events & STREAM_READABLE) != 0) {
        if (front->state == PG_FRONT_ENDING) {
            front_discard(front);
        } else if (front->state != PG_FRONT_AT_TLS && front_has_room(front)) {
            front_read(front);
        }
    }
    front_run(front);
}

void pg_front_own_stream(struct pg_front *front)
{
    stream_own(front->stream, front_on_event, front);
}

/* The owner's calls --------------------------------------------------------------------------- */

struct pg_front *pg_front_new(struct stream *take_stream, const struct front_config *config,
                              const struct front_events *events, void *owner)
{
    struct pg_front *front = memory_new(sizeof(*front));
    front->front.ops = &pg_front_ops;
    front->stream = take_stream;
    front->loop = take_stream->loop;
    front->config = *config;
    if (front->config.tls != NULL) {
        (void)tls_server_ref(front->config.tls);
    }
    front->events = events;
    front->owner = owner;
    front->state = PG_FRONT_AT_START;
    pgwire_framer_init(&front->framer, PGWIRE_FROM_CLIENT);
    buf_init(&front->input, LIMIT_PG_FRONT_INPUT_SIZE);
    buf_init(&front->body, LIMIT_PGWIRE_STARTUP_SIZE);
    buf_init(&front->output, LIMIT_PG_FRONT_OUTPUT_SIZE);
    arena_init(&front->arena);
    timer_init(&front->timer, front_on_deadline, front);
    timer_start(front->loop, &front->timer, config->authentication_ms);
    loop_task_init(&front->task, front_on_task, front);
    pg_front_own_stream(front);
    stream_watch(front->stream, STREAM_READABLE);
    return front;
}

static enum err front_write_session(struct buf *output, const struct pg_front_session *session)
{
    const struct pgwire_auth ok = {.kind = PGWIRE_AUTH_OK};
    enum err err = pgwire_auth_write(output, &ok);
    err = err != ERR_NONE ? err : buf_append(output, session->parameter_statuses);
    err = err != ERR_NONE ? err : pgwire_key_write(output, &session->key);
    return err != ERR_NONE ? err : pgwire_ready_write(output, session->transaction);
}

enum err pg_front_ready(struct pg_front *front, const struct pg_front_session *session)
{
    if (front->state != PG_FRONT_KNOWN) {
        return ERR_NONE; /* it is on its way out */
    }
    size_t len = front->output.len;
    enum err err = front_write_session(&front->output, session);
    if (err != ERR_NONE) {
        buf_truncate(&front->output, len);
        return err;
    }
    front->state = PG_FRONT_OPENING;
    timer_start(front->loop, &front->timer, LIMIT_FRONT_WRITE_MS);
    loop_defer(front->loop, &front->task);
    return ERR_NONE;
}

void pg_front_cancelled(struct pg_front *front)
{
    if (front->state == PG_FRONT_AT_CANCEL) {
        pg_front_end(front);
        loop_defer(front->loop, &front->task);
    }
}

void pg_front_fail(struct pg_front *front, struct slice sqlstate, struct slice message,
                   struct slice hint)
{
    if (front->state == PG_FRONT_ENDING) {
        return;
    }
    must(front->state < PG_FRONT_ENDING);
    pg_front_note(front, ERR_NONE, "%.*s", SLICE_ARG(message));
    /* Words would stand where TLS has to, or where nobody reads. */
    if (front->state != PG_FRONT_AT_TLS && front->state != PG_FRONT_AT_CANCEL) {
        front_write_fatal(front, sqlstate, message, hint);
    }
    pg_front_end(front);
    loop_defer(front->loop, &front->task);
}

const struct pgwire_startup *pg_front_startup(const struct pg_front *front)
{
    return front->startup;
}
