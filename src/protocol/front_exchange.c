/* SPDX-License-Identifier: MIT */
#include "protocol/front_exchange.h"

#include "base/limits.h"
#include "base/must.h"

#define LINGER_MS 2000

static struct front_exchange *exchange_of(struct front *front)
{
    return CONTAINER_OF(front, struct front_exchange, front);
}

/* The end -------------------------------------------------------------------------------------- */

static void exchange_free(void *owner)
{
    struct front_exchange *self = owner;
    self->ops->free(self);
}

static void exchange_leave(struct front_exchange *self)
{
    self->state = EXCHANGE_GONE;
    timer_stop(&self->timer);
    loop_task_cancel(&self->task);
    loop_task_init(&self->task, exchange_free, self);
    loop_defer(self->loop, &self->task);
}

void front_exchange_close(struct front *front)
{
    struct front_exchange *self = exchange_of(front);
    stream_close(self->stream);
    exchange_leave(self);
}

/* Why it ends, if nothing was said of that yet. */
void front_exchange_drop(struct front_exchange *self, enum err code, const char *why)
{
    if (self->state != EXCHANGE_ENDING) {
        must(fail(&self->reason, code, "%s", why) == code);
    }
    front_exchange_close(&self->front);
    self->events->on_closed(self->owner, &self->reason);
}

void front_exchange_end(struct front_exchange *self, const struct ending_words *words)
{
    char code[TARGET_CODE_SIZE];
    if (self->state == EXCHANGE_ENDING || self->state == EXCHANGE_GONE) {
        return;
    }
    buf_clear(&self->output);
    must(self->ops->write_words(words, code, &self->output) == ERR_NONE);
    must(fail(&self->reason, ERR_UNAUTHENTICATED, "%.*s", SLICE_ARG(words->message)) != ERR_NONE);
    self->state = EXCHANGE_ENDING;
    timer_start(self->loop, &self->timer, LINGER_MS);
    loop_defer(self->loop, &self->task);
}

/* The client's message ------------------------------------------------------------------------- */

static void exchange_read(struct front_exchange *self)
{
    char *at = NULL;
    size_t len = 0;
    size_t room = self->input.size_max - self->input.len;
    must(room > 0 && buf_reserve(&self->input, room, &at) == ERR_NONE);
    enum err err = stream_read(self->stream, at, room, &len);
    if (err == ERR_NONE) {
        buf_commit(&self->input, len);
        self->ops->take(self);
    } else if (err != ERR_AGAIN) {
        front_exchange_drop(self, err, err == ERR_CLOSED ? "client left" : "connection broke");
    }
}

void front_exchange_ask(struct front_exchange *self, struct slice name)
{
    self->state = EXCHANGE_ASKING;
    self->name = name;
    self->events->on_name(self->owner, name);
}

void front_exchange_prove(struct front_exchange *self, size_t index)
{
    self->state = EXCHANGE_PROVEN;
    self->index = index;
    loop_defer(self->loop, &self->task);
}

void front_exchange_reject(struct front_exchange *self, struct slice message)
{
    const struct ending_words words = {.message = message, .hint = SLICE("")};
    self->is_refused = true;
    front_exchange_end(self, &words);
}

/* The answer ----------------------------------------------------------------------------------- */

static void exchange_write(struct front_exchange *self)
{
    while (self->output.len > 0) {
        struct slice bytes = buf_view(&self->output);
        size_t len = 0;
        enum err err = stream_write(self->stream, &bytes, 1, &len);
        if (err == ERR_AGAIN) {
            stream_watch(self->stream, STREAM_WRITABLE);
            return;
        }
        if (err != ERR_NONE) {
            front_exchange_drop(self, ERR_IO, "connection broke");
            return;
        }
        buf_consume(&self->output, len);
    }
    if (self->state == EXCHANGE_OPENING) {
        struct stream *stream = self->stream;
        stream_watch(stream, 0);
        exchange_leave(self); /* what it read stays until the end of the turn */
        self->events->on_open(self->owner, stream, buf_view(&self->input));
    } else if (stream_shutdown(self->stream) != ERR_AGAIN) {
        front_exchange_drop(self, ERR_CLOSED, "");
    } else {
        stream_watch(self->stream, STREAM_WRITABLE);
    }
}

static void exchange_run(void *owner)
{
    struct front_exchange *self = owner;
    if (self->is_refused && self->state != EXCHANGE_GONE) {
        self->is_refused = false;
        if (self->events->on_refused != NULL) {
            self->events->on_refused(self->owner, self->name);
        }
    }
    switch (self->state) {
    case EXCHANGE_AT_MESSAGE:
        exchange_read(self);
        return;
    case EXCHANGE_OPENING:
    case EXCHANGE_ENDING:
        exchange_write(self);
        return;
    case EXCHANGE_PROVEN:
        timer_stop(&self->timer);
        stream_watch(self->stream, 0);
        self->state = EXCHANGE_KNOWN;
        self->events->on_known(self->owner, self->index);
        return;
    case EXCHANGE_ASKING:
    case EXCHANGE_KNOWN:
        stream_watch(self->stream, 0); /* what it sends now is for the target */
        return;
    case EXCHANGE_GONE:
        return;
    }
}

static void exchange_on_event(void *owner, unsigned events)
{
    (void)events;
    exchange_run(owner);
}

static void exchange_on_deadline(void *owner)
{
    front_exchange_drop(owner, ERR_TIMEOUT, "client took too long");
}

/* The owner's calls ---------------------------------------------------------------------------- */

void front_exchange_start(struct front_exchange *self, uint64_t timeout_ms)
{
    self->loop = self->stream->loop;
    timer_init(&self->timer, exchange_on_deadline, self);
    timer_start(self->loop, &self->timer, timeout_ms);
    loop_task_init(&self->task, exchange_run, self);
    stream_own(self->stream, exchange_on_event, self);
    stream_watch(self->stream, STREAM_READABLE);
}

enum err front_exchange_open(struct front *front, struct slice answer)
{
    struct front_exchange *self = exchange_of(front);
    if (self->state == EXCHANGE_KNOWN) {
        must(buf_append(&self->output, answer) == ERR_NONE);
        self->state = EXCHANGE_OPENING;
        timer_start(self->loop, &self->timer, LIMIT_FRONT_WRITE_MS);
        loop_defer(self->loop, &self->task);
    }
    return ERR_NONE;
}

void front_exchange_cancelled(struct front *front)
{
    (void)front; /* nothing asks for it there */
}

void front_exchange_refuse(struct front *front, const struct ending_words *words)
{
    front_exchange_end(exchange_of(front), words);
}
