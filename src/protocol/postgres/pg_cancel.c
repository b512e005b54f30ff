/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_cancel.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "io/timer.h"
#include "wire/pgwire_start.h"

struct pg_cancel {
    struct loop *loop;
    struct stream *stream; /* NULL while it is encrypted */
    struct pg_encryption *encryption;
    struct buf out; /* holds the key: wiped */
    stopped_fn on_done;
    void *owner;
    struct timer deadline;
    struct loop_task free_task;
};

static void pg_cancel_free(void *owner)
{
    struct pg_cancel *self = owner;
    buf_wipe(&self->out);
    memory_free(self);
}

static void pg_cancel_leave(struct pg_cancel *self)
{
    timer_stop(&self->deadline);
    pg_encryption_end(&self->encryption, &self->stream);
    loop_defer(self->loop, &self->free_task);
}

static void pg_cancel_end(struct pg_cancel *self, const struct error *error)
{
    pg_cancel_leave(self);
    self->on_done(self->owner, error);
}

static void pg_cancel_fail(struct pg_cancel *self, enum err code, const char *text)
{
    struct error error;
    must(fail(&error, code, "the request to cancel did not reach the target: %s", text) == code);
    pg_cancel_end(self, &error);
}

static void pg_cancel_on_deadline(void *owner)
{
    pg_cancel_fail(owner, ERR_TIMEOUT, "it took too long");
}

static void pg_cancel_send(struct pg_cancel *self)
{
    struct slice bytes = buf_view(&self->out);
    size_t len = 0;
    enum err err = stream_write(self->stream, &bytes, 1, &len);
    if (err == ERR_NONE) {
        buf_consume(&self->out, len);
        stream_watch(self->stream, self->out.len > 0 ? STREAM_WRITABLE : STREAM_READABLE);
    } else if (err != ERR_AGAIN) {
        pg_cancel_fail(self, err, "the connection broke");
    }
}

/* A server that closes at once resets a connection, which is an end as well. */
static void pg_cancel_await_end(struct pg_cancel *self)
{
    char byte;
    size_t len = 0;
    enum err err = stream_read(self->stream, &byte, 1, &len);
    if (err == ERR_NONE) {
        pg_cancel_fail(self, ERR_INPUT, "it answers, which no PostgreSQL server does");
    } else if (err != ERR_AGAIN) {
        pg_cancel_end(self, NULL);
    }
}

static void pg_cancel_on_event(void *owner, unsigned events)
{
    struct pg_cancel *self = owner;
    (void)events;
    if (self->out.len > 0) {
        pg_cancel_send(self);
    } else {
        pg_cancel_await_end(self);
    }
}

static void pg_cancel_on_encrypted(void *owner, struct stream *take_stream,
                                   const struct scram_end_point *end_point,
                                   const struct error *error)
{
    struct pg_cancel *self = owner;
    (void)end_point;
    self->encryption = NULL;
    self->stream = take_stream;
    if (take_stream == NULL) {
        pg_cancel_fail(self, error->code, error->message);
        return;
    }
    stream_own(take_stream, pg_cancel_on_event, self);
    stream_watch(take_stream, STREAM_WRITABLE);
}

struct pg_cancel *pg_cancel_start(struct stream *take_stream,
                                  const struct pg_cancel_settings *settings, stopped_fn on_done,
                                  void *owner)
{
    struct pg_cancel *self = memory_new(sizeof(*self));
    self->loop = take_stream->loop;
    self->on_done = on_done;
    self->owner = owner;
    buf_init(&self->out, LIMIT_CANCEL_KEY_SIZE + 64);
    const struct pgwire_key key = {.process = settings->key.number, .secret = settings->key.secret};
    must(pgwire_cancel_write(&self->out, &key) == ERR_NONE);
    timer_init(&self->deadline, pg_cancel_on_deadline, self);
    timer_start(self->loop, &self->deadline, settings->timeout_ms);
    loop_task_init(&self->free_task, pg_cancel_free, self);
    self->encryption =
        pg_encryption_start(take_stream, &settings->encryption, pg_cancel_on_encrypted, self);
    return self;
}

void pg_cancel_abort(struct pg_cancel *cancel)
{
    pg_cancel_leave(cancel);
}
