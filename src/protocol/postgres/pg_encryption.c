/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_encryption.h"

#include "base/memory.h"
#include "base/must.h"
#include "wire/pgwire_start.h"

#define REQUEST_SIZE 8

enum pg_encryption_state {
    PG_ENCRYPTION_PLAIN, /* nothing is to be asked: only told */
    PG_ENCRYPTION_ASKING,
    PG_ENCRYPTION_AT_ANSWER,
    PG_ENCRYPTION_WRAPPING,
    PG_ENCRYPTION_DONE,
};

struct pg_encryption {
    struct loop *loop;
    struct stream *stream; /* NULL while TLS is put on, and when it was given away */
    struct pg_encryption_settings settings;
    enum pg_encryption_state state;
    struct buf out;
    void *wrapping;
    pg_encryption_done_fn on_done;
    void *owner;
    struct error error;
    struct loop_task tell_task;
    struct loop_task free_task;
};

static void pg_encryption_free(void *owner)
{
    struct pg_encryption *self = owner;
    buf_release(&self->out);
    memory_free(self);
}

/* Nothing is called back from now on. */
static void pg_encryption_leave(struct pg_encryption *self)
{
    self->state = PG_ENCRYPTION_DONE;
    loop_task_cancel(&self->tell_task);
    loop_defer(self->loop, &self->free_task);
}

static void pg_encryption_succeed(struct pg_encryption *self, struct stream *take_stream,
                                  const struct scram_end_point *end_point)
{
    stream_watch(take_stream, 0);
    self->stream = NULL;
    pg_encryption_leave(self);
    self->on_done(self->owner, take_stream, end_point, NULL);
}

/* self->error says why. */
static void pg_encryption_fail(struct pg_encryption *self, enum err code)
{
    must(code == self->error.code);
    if (self->stream != NULL) {
        stream_close(self->stream);
        self->stream = NULL;
    }
    pg_encryption_leave(self);
    self->on_done(self->owner, NULL, NULL, &self->error);
}

/* TLS ----------------------------------------------------------------------------------------- */

static void pg_encryption_on_wrapped(void *owner, struct stream *take_stream,
                                     const struct scram_end_point *end_point,
                                     const struct error *error)
{
    struct pg_encryption *self = owner;
    must(self->state == PG_ENCRYPTION_WRAPPING);
    if (take_stream == NULL) {
        self->error = *error;
        pg_encryption_fail(self, error->code);
        return;
    }
    if (!stream_is_encrypted(take_stream)) {
        self->stream = take_stream;
        pg_encryption_fail(
            self, fail(&self->error, ERR_INTERNAL, "the connection is not encrypted after all"));
        return;
    }
    pg_encryption_succeed(self, take_stream, end_point);
}

static void pg_encryption_wrap(struct pg_encryption *self)
{
    struct stream *stream = self->stream;
    self->stream = NULL;
    self->state = PG_ENCRYPTION_WRAPPING;
    stream_watch(stream, 0);
    self->wrapping =
        self->settings.tls.wrap(self->settings.tls.context, stream, pg_encryption_on_wrapped, self);
}

/* The question and its answer ----------------------------------------------------------------- */

static enum err pg_encryption_judge(struct pg_encryption *self, struct slice answer,
                                    bool *ret_is_accepted)
{
    enum err err =
        pgwire_encryption_answer_read(PGWIRE_SSL_REQUEST, answer.at[0], ret_is_accepted, NULL);
    if (err == ERR_UNSUPPORTED) {
        return fail(&self->error, ERR_UNSUPPORTED,
                    "the target answers with an error when it is asked for TLS");
    }
    if (err != ERR_NONE) {
        return fail(&self->error, ERR_INPUT, "the target does not speak PostgreSQL's protocol");
    }
    if (answer.len > 1) {
        return fail(&self->error, ERR_INPUT,
                    "the target sends more than its answer when it is asked for TLS: it is no "
                    "PostgreSQL server, or somebody stands in between");
    }
    if (!*ret_is_accepted && self->settings.mode != PLACE_TLS_PREFER) {
        return fail(&self->error, ERR_UNSUPPORTED, "the target does not support TLS");
    }
    return ERR_NONE;
}

static void pg_encryption_receive(struct pg_encryption *self)
{
    char bytes[16]; /* one is all that may come */
    size_t len = 0;
    enum err err = stream_read(self->stream, bytes, sizeof(bytes), &len);
    if (err == ERR_AGAIN) {
        return;
    }
    if (err != ERR_NONE) {
        pg_encryption_fail(self, fail(&self->error, err,
                                      "the target ends the connection when it is asked for TLS"));
        return;
    }
    bool is_accepted = false;
    err = pg_encryption_judge(self, slice_of(bytes, len), &is_accepted);
    if (err != ERR_NONE) {
        pg_encryption_fail(self, err);
    } else if (is_accepted) {
        pg_encryption_wrap(self);
    } else {
        pg_encryption_succeed(self, self->stream, NULL);
    }
}

static void pg_encryption_send(struct pg_encryption *self)
{
    struct slice bytes = buf_view(&self->out);
    size_t len = 0;
    enum err err = stream_write(self->stream, &bytes, 1, &len);
    if (err == ERR_AGAIN) {
        return;
    }
    if (err != ERR_NONE) {
        pg_encryption_fail(self, fail(&self->error, err, "the connection to the target broke"));
        return;
    }
    buf_consume(&self->out, len);
    if (self->out.len == 0) {
        self->state = PG_ENCRYPTION_AT_ANSWER;
        stream_watch(self->stream, STREAM_READABLE);
    }
}

static void pg_encryption_on_event(void *owner, unsigned events)
{
    struct pg_encryption *self = owner;
    (void)events;
    switch (self->state) {
    case PG_ENCRYPTION_ASKING:
        pg_encryption_send(self);
        break;
    case PG_ENCRYPTION_AT_ANSWER:
        pg_encryption_receive(self);
        break;
    case PG_ENCRYPTION_PLAIN:
    case PG_ENCRYPTION_WRAPPING:
    case PG_ENCRYPTION_DONE:
        break;
    }
}

/* Starting and cancelling --------------------------------------------------------------------- */

static void pg_encryption_tell_plain(void *owner)
{
    struct pg_encryption *self = owner;
    pg_encryption_succeed(self, self->stream, NULL);
}

struct pg_encryption *pg_encryption_start(struct stream *take_stream,
                                          const struct pg_encryption_settings *settings,
                                          pg_encryption_done_fn on_done, void *owner)
{
    must(settings->mode == PLACE_TLS_DISABLE || settings->tls.wrap != NULL);
    struct pg_encryption *self = memory_new(sizeof(*self));
    self->loop = take_stream->loop;
    self->stream = take_stream;
    self->settings = *settings;
    self->on_done = on_done;
    self->owner = owner;
    buf_init(&self->out, REQUEST_SIZE);
    loop_task_init(&self->tell_task, pg_encryption_tell_plain, self);
    loop_task_init(&self->free_task, pg_encryption_free, self);
    stream_own(take_stream, pg_encryption_on_event, self);
    if (settings->mode == PLACE_TLS_DISABLE) {
        self->state = PG_ENCRYPTION_PLAIN;
        loop_defer(self->loop, &self->tell_task);
        return self;
    }
    must(pgwire_encryption_request_write(&self->out, PGWIRE_SSL_REQUEST) == ERR_NONE);
    self->state = PG_ENCRYPTION_ASKING;
    stream_watch(take_stream, STREAM_WRITABLE);
    return self;
}

void pg_encryption_cancel(struct pg_encryption *encryption)
{
    if (encryption->state == PG_ENCRYPTION_WRAPPING) {
        encryption->settings.tls.cancel(encryption->wrapping);
    } else {
        stream_close(encryption->stream);
    }
    pg_encryption_leave(encryption);
}

void pg_encryption_end(struct pg_encryption **encryption, struct stream **stream)
{
    if (*encryption != NULL) {
        pg_encryption_cancel(*encryption);
        *encryption = NULL;
    }
    if (*stream != NULL) {
        stream_close(*stream);
        *stream = NULL;
    }
}
