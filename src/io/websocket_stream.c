/* SPDX-License-Identifier: MIT */
#include "io/websocket_stream.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "io/clock.h"
#include "io/timer.h"

#define CONTROLS_SIZE                                                                              \
    LIMIT_KIB(4) /* of answers to pings that were not taken: beyond, none is read */

struct websocket {
    struct stream *stream;
    struct loop *loop;
    const struct websocket_events *events;
    void *owner;
    struct websocket_reader reader;
    struct buf in;  /* what is no whole frame yet */
    struct buf out; /* what the other end has not taken */
    struct timer timer;
    struct loop_task task; /* what waits in 'in' is looked at, or the memory goes */
    int64_t heard_at;      /* by clock_monotonic() */
    bool is_held;
    bool wants_room;
    bool is_finishing; /* we have said good bye */
    bool is_left;      /* the other end has */
    bool is_broken;    /* likewise, by breaking the protocol: what it still says is dropped */
    bool is_shut_down;
    bool is_gone;
    bool is_inside; /* a callback */
};

static void websocket_free(void *owner)
{
    struct websocket *self = owner;
    websocket_reader_release(&self->reader);
    buf_wipe(&self->in); /* passwords went through */
    buf_release(&self->in);
    buf_wipe(&self->out);
    buf_release(&self->out);
    memory_free(self);
}

static void websocket_leave(struct websocket *self)
{
    self->is_gone = true;
    timer_stop(&self->timer);
    stream_close(self->stream);
    loop_task_cancel(&self->task);
    loop_task_init(&self->task, websocket_free, self);
    loop_defer(self->loop, &self->task);
}

static void websocket_end(struct websocket *self, uint16_t code)
{
    if (!self->is_gone) {
        websocket_leave(self);
        self->events->on_gone(self->owner, code);
    }
}

void websocket_close(struct websocket *websocket)
{
    websocket_leave(websocket);
}

/* Writing ------------------------------------------------------------------------------------- */

static bool websocket_reads(const struct websocket *self)
{
    return (!self->is_held || self->is_finishing) &&
           self->out.len < LIMIT_WEBSOCKET_OUT_SIZE + CONTROLS_SIZE / 2;
}

static void websocket_watch(struct websocket *self)
{
    if (!self->is_gone) {
        stream_watch(self->stream, (websocket_reads(self) ? STREAM_READABLE : 0U) |
                                       (self->out.len > 0 ? STREAM_WRITABLE : 0U));
    }
}

/* False: the connection is lost. */
static bool websocket_flush(struct websocket *self)
{
    enum err err = ERR_NONE;
    while (self->out.len > 0 && err == ERR_NONE) {
        struct slice bytes = buf_view(&self->out);
        size_t len = 0;
        err = stream_write(self->stream, &bytes, 1, &len);
        if (err == ERR_NONE) {
            buf_consume(&self->out, len);
        }
    }
    return err == ERR_NONE || err == ERR_AGAIN;
}

enum err websocket_send(struct websocket *websocket, enum websocket_kind kind, struct slice payload)
{
    struct websocket *self = websocket;
    if (self->is_gone || self->is_finishing) {
        return ERR_NONE;
    }
    bool is_full = self->out.len + payload.len > LIMIT_WEBSOCKET_OUT_SIZE && self->out.len > 0;
    if ((is_full && kind == WEBSOCKET_BINARY) ||
        websocket_write(&self->out, kind, payload, NULL) != ERR_NONE) {
        self->wants_room = true;
        return ERR_AGAIN;
    }
    (void)websocket_flush(self); /* a stream that is lost says so when it is read */
    websocket_watch(self);
    return ERR_NONE;
}

void websocket_hold(struct websocket *websocket, bool is_held)
{
    if (websocket->is_held != is_held && !websocket->is_gone) {
        websocket->is_held = is_held;
        websocket->heard_at = clock_monotonic(); /* it was not listened to */
        if (!is_held && !websocket->is_inside) {
            loop_defer(websocket->loop, &websocket->task);
        }
        websocket_watch(websocket);
    }
}

void websocket_finish(struct websocket *websocket, enum websocket_code code, struct slice reason,
                      uint64_t wait_ms)
{
    struct websocket *self = websocket;
    if (self->is_gone || self->is_finishing) {
        return;
    }
    self->is_finishing = true;
    must(websocket_write_close(&self->out, code, reason, NULL) == ERR_NONE);
    timer_start(self->loop, &self->timer, wait_ms);
    if (!self->is_inside) {
        loop_defer(self->loop, &self->task);
    }
    websocket_watch(self);
}

/* Reading ------------------------------------------------------------------------------------- */

/* The same code, which says that it was understood. */
static void websocket_take_close(struct websocket *self, const struct websocket_message *message)
{
    self->is_left = true;
    if (!self->is_finishing) {
        self->is_finishing = true;
        must(websocket_write_close(&self->out, (enum websocket_code)message->code, SLICE(""),
                                   NULL) == ERR_NONE);
        timer_start(self->loop, &self->timer, LIMIT_WEBSOCKET_CLOSE_MS);
    }
}

static void websocket_take(struct websocket *self, const struct websocket_message *message)
{
    switch (message->kind) {
    case WEBSOCKET_TEXT:
    case WEBSOCKET_BINARY:
        if (!self->is_finishing) {
            self->is_inside = true;
            self->events->on_message(self->owner, message->kind, message->payload);
            self->is_inside = false;
        }
        break;
    case WEBSOCKET_PING:
        if (!self->is_finishing) {
            must(websocket_write(&self->out, WEBSOCKET_PONG, message->payload, NULL) == ERR_NONE);
        }
        break;
    case WEBSOCKET_CLOSE:
        websocket_take_close(self, message);
        break;
    case WEBSOCKET_PONG:
    case WEBSOCKET_CONTINUATION:
        break;
    }
}

static void websocket_break(struct websocket *self, enum websocket_code code)
{
    self->is_left = self->is_broken = true;
    if (!self->is_finishing) {
        websocket_finish(self, code, SLICE(""), LIMIT_WEBSOCKET_CLOSE_MS);
    }
}

/* False: it is gone. */
static bool websocket_take_messages(struct websocket *self)
{
    enum err err = ERR_NONE;
    while (err == ERR_NONE && websocket_reads(self) && !self->is_gone && !self->is_left) {
        struct websocket_message message = {.code = WEBSOCKET_NO_CODE};
        enum websocket_code code = WEBSOCKET_NORMAL;
        size_t taken = 0;
        err = websocket_read(&self->reader, buf_view(&self->in), &taken, &message, &code);
        buf_consume(&self->in, taken);
        if (err == ERR_NONE) {
            websocket_take(self, &message);
        } else if (err == ERR_INPUT) {
            websocket_break(self, code);
        }
    }
    return !self->is_gone;
}

/* Ours is out. Closed with bytes unread, the connection would be reset, and our words with it: of
 * who broke the protocol the rest is read to its end, or until the time is over. */
static bool websocket_may_end(struct websocket *self)
{
    if (!self->is_finishing || !self->is_left || self->out.len > 0) {
        return false;
    }
    if (self->is_broken && !self->is_shut_down) {
        self->is_shut_down = stream_shutdown(self->stream) != ERR_AGAIN;
    }
    return !self->is_broken;
}

static void websocket_go_on(struct websocket *self)
{
    if (!websocket_flush(self)) {
        websocket_end(self, WEBSOCKET_NO_CODE);
        return;
    }
    if (websocket_may_end(self)) {
        websocket_end(self, WEBSOCKET_NORMAL);
        return;
    }
    if (self->wants_room && self->out.len < LIMIT_WEBSOCKET_OUT_SIZE / 2) {
        self->wants_room = false;
        self->is_inside = true;
        self->events->on_room(self->owner);
        self->is_inside = false;
    }
    websocket_watch(self);
}

static void websocket_on_task(void *owner)
{
    struct websocket *self = owner;
    if (websocket_take_messages(self)) {
        websocket_go_on(self);
    }
}

/* False: it is gone. */
static bool websocket_receive(struct websocket *self)
{
    char *at = NULL;
    size_t len = 0;
    size_t room = self->in.size_max - self->in.len;
    room = room < LIMIT_READ_SIZE ? room : LIMIT_READ_SIZE;
    if (room == 0 || buf_reserve(&self->in, room, &at) != ERR_NONE) {
        return true; /* it waits until what is there has been taken */
    }
    enum err err = stream_read(self->stream, at, room, &len);
    if (err == ERR_AGAIN) {
        return true;
    }
    if (err != ERR_NONE) {
        websocket_end(self, WEBSOCKET_NO_CODE);
        return false;
    }
    buf_commit(&self->in, len);
    self->heard_at = clock_monotonic();
    if (self->is_left) {
        buf_clear(&self->in);
    }
    return true;
}

static void websocket_on_event(void *owner, unsigned events)
{
    struct websocket *self = owner;
    bool is_there = (events & STREAM_READABLE) == 0 || websocket_receive(self);
    if (is_there && websocket_take_messages(self)) {
        websocket_go_on(self);
    }
}

/* Time ---------------------------------------------------------------------------------------- */

static void websocket_on_timer(void *owner)
{
    struct websocket *self = owner;
    bool is_silent = websocket_reads(self) &&
                     clock_monotonic() - self->heard_at > LIMIT_WEBSOCKET_DEAD_MS * INT64_C(1000);
    if (self->is_finishing || is_silent) {
        websocket_end(self, WEBSOCKET_NO_CODE);
        return;
    }
    if (self->out.len < LIMIT_WEBSOCKET_OUT_SIZE) {
        must(websocket_write(&self->out, WEBSOCKET_PING, SLICE(""), NULL) == ERR_NONE);
    }
    timer_start(self->loop, &self->timer, LIMIT_WEBSOCKET_PING_MS);
    websocket_go_on(self);
}

struct websocket *websocket_new(struct stream *take_stream, struct slice behind,
                                const struct websocket_events *events, void *owner)
{
    struct websocket *self = memory_new(sizeof(*self));
    self->stream = take_stream;
    self->loop = take_stream->loop;
    self->events = events;
    self->owner = owner;
    self->heard_at = clock_monotonic();
    websocket_reader_init(&self->reader, true, LIMIT_WEBSOCKET_MESSAGE_SIZE);
    buf_init(&self->in, 2 * LIMIT_WEBSOCKET_MESSAGE_SIZE + LIMIT_HTTP_HEAD_SIZE);
    buf_init(&self->out,
             2 * LIMIT_WEBSOCKET_OUT_SIZE + LIMIT_WEBSOCKET_MESSAGE_SIZE + CONTROLS_SIZE);
    timer_init(&self->timer, websocket_on_timer, self);
    timer_start(self->loop, &self->timer, LIMIT_WEBSOCKET_PING_MS);
    loop_task_init(&self->task, websocket_on_task, self);
    must(buf_append(&self->in, behind) == ERR_NONE); /* it was less than a head has */
    if (behind.len > 0) {
        loop_defer(self->loop, &self->task);
    }
    stream_own(take_stream, websocket_on_event, self);
    websocket_watch(self);
    return self;
}
