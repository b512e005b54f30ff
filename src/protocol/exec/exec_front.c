/* SPDX-License-Identifier: MIT */
/* The side of the gateway's own client: one frame says what for, one answers. */
#include "base/memory.h"
#include "base/must.h"
#include "io/timer.h"
#include "model/session.h"
#include "protocol/exec/exec.h"
#include "wire/execwire.h"

enum exec_front_state {
    EXEC_FRONT_AT_HELLO,
    EXEC_FRONT_KNOWN,   /* the owner opens the session */
    EXEC_FRONT_OPENING, /* the answer is on its way */
    EXEC_FRONT_ENDING,  /* likewise, and it is the last word */
    EXEC_FRONT_GONE,
};

struct exec_front {
    struct front front;
    struct stream *stream;
    struct loop *loop;
    const struct front_events *events;
    void *owner;
    enum exec_front_state state;
    struct buf input;
    struct buf output;
    struct slice hello; /* items, in 'input' */
    struct timer timer;
    struct loop_task task;
    struct error reason;
};

static struct exec_front *exec_front_of(struct front *front)
{
    return CONTAINER_OF(front, struct exec_front, front);
}

static void exec_front_free(void *owner)
{
    struct exec_front *self = owner;
    buf_release(&self->input);
    buf_release(&self->output);
    memory_free(self);
}

static void exec_front_leave(struct exec_front *self)
{
    self->state = EXEC_FRONT_GONE;
    timer_stop(&self->timer);
    loop_task_cancel(&self->task);
    loop_task_init(&self->task, exec_front_free, self);
    loop_defer(self->loop, &self->task);
}

static void exec_front_close(struct front *front)
{
    struct exec_front *self = exec_front_of(front);
    stream_close(self->stream);
    exec_front_leave(self);
}

/* Why it ends, if nothing was said of that yet. */
static void exec_front_drop(struct exec_front *self, enum err code, const char *why)
{
    if (self->state != EXEC_FRONT_ENDING) {
        must(fail(&self->reason, code, "%s", why) == code);
    }
    exec_front_close(&self->front);
    self->events->on_closed(self->owner, &self->reason);
}

static void exec_front_read(struct exec_front *self)
{
    struct execwire_frame frame;
    size_t taken = 0;
    char *at = NULL;
    size_t len = 0;
    size_t room = self->input.size_max - self->input.len;
    must(buf_reserve(&self->input, room, &at) == ERR_NONE);
    enum err err = stream_read(self->stream, at, room, &len);
    if (err == ERR_AGAIN) {
        return;
    }
    if (err != ERR_NONE) {
        exec_front_drop(self, err, "the client left");
        return;
    }
    buf_commit(&self->input, len);
    err = execwire_read(buf_view(&self->input), &taken, &frame);
    if (err == ERR_MORE) {
        return;
    }
    if (err != ERR_NONE || frame.type != EXECWIRE_HELLO || taken != self->input.len) {
        exec_front_drop(self, ERR_INPUT, "the client does not begin as it must");
        return;
    }
    self->hello = frame.payload;
    self->state = EXEC_FRONT_KNOWN;
    timer_stop(&self->timer);
    stream_watch(self->stream, 0);
    self->events->on_known(self->owner, 0);
}

static void exec_front_write(struct exec_front *self)
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
            exec_front_drop(self, ERR_IO, "the connection broke");
            return;
        }
        buf_consume(&self->output, len);
    }
    if (self->state == EXEC_FRONT_OPENING) {
        struct stream *stream = self->stream;
        stream_watch(stream, 0);
        exec_front_leave(self);
        self->events->on_open(self->owner, stream, SLICE(""));
    } else if (stream_shutdown(self->stream) != ERR_AGAIN) {
        exec_front_drop(self, ERR_CLOSED, "");
    } else {
        stream_watch(self->stream, STREAM_WRITABLE);
    }
}

static void exec_front_run(void *owner)
{
    struct exec_front *self = owner;
    switch (self->state) {
    case EXEC_FRONT_AT_HELLO:
        exec_front_read(self);
        return;
    case EXEC_FRONT_OPENING:
    case EXEC_FRONT_ENDING:
        exec_front_write(self);
        return;
    case EXEC_FRONT_KNOWN:
    case EXEC_FRONT_GONE:
        return;
    }
}

static void exec_front_on_event(void *owner, unsigned events)
{
    (void)events;
    exec_front_run(owner);
}

static void exec_front_on_deadline(void *owner)
{
    exec_front_drop(owner, ERR_TIMEOUT, "the client took too long");
}

/* The owner's calls --------------------------------------------------------------------------- */

static struct front *exec_front_start(struct stream *take_stream, const struct front_config *config,
                                      const struct front_events *events, void *owner)
{
    struct exec_front *self = memory_new(sizeof(*self));
    must(config->is_inside); /* nobody signs in */
    self->front.ops = &exec_front_ops;
    self->stream = take_stream;
    self->loop = take_stream->loop;
    self->events = events;
    self->owner = owner;
    buf_init(&self->input, LIMIT_EXEC_FRAME_SIZE + EXECWIRE_HEAD_SIZE);
    buf_init(&self->output, LIMIT_EXEC_WORDS_SIZE + LIMIT_KIB(1));
    timer_init(&self->timer, exec_front_on_deadline, self);
    timer_start(self->loop, &self->timer, config->authentication_ms);
    loop_task_init(&self->task, exec_front_run, self);
    stream_own(self->stream, exec_front_on_event, self);
    stream_watch(self->stream, STREAM_READABLE);
    return &self->front;
}

static void exec_front_answer(struct front *front, const struct front_verifiers *verifiers)
{
    (void)front; /* nobody asks for it here */
    (void)verifiers;
}

static enum err exec_front_open(struct front *front, const struct arrival *arrival,
                                const struct cancel_key *key)
{
    struct exec_front *self = exec_front_of(front);
    (void)arrival;
    (void)key;
    if (self->state == EXEC_FRONT_KNOWN) {
        must(execwire_write(&self->output, EXECWIRE_ACCEPT, SLICE("")) == ERR_NONE);
        self->state = EXEC_FRONT_OPENING;
        timer_start(self->loop, &self->timer, LIMIT_FRONT_WRITE_MS);
        loop_defer(self->loop, &self->task);
    }
    return ERR_NONE;
}

static void exec_front_cancelled(struct front *front)
{
    (void)front; /* likewise */
}

static void exec_front_refuse(struct front *front, const struct ending_words *words)
{
    struct exec_front *self = exec_front_of(front);
    char code[TARGET_CODE_SIZE];
    if (self->state == EXEC_FRONT_ENDING || self->state == EXEC_FRONT_GONE) {
        return;
    }
    buf_clear(&self->output);
    must(exec_answer_write(words, code, &self->output) == ERR_NONE);
    must(fail(&self->reason, ERR_UNAUTHENTICATED, "%.*s", SLICE_ARG(words->message)) != ERR_NONE);
    self->state = EXEC_FRONT_ENDING;
    timer_start(self->loop, &self->timer, LIMIT_FRONT_WRITE_MS);
    loop_defer(self->loop, &self->task);
}

static struct hello exec_front_hello_in(struct arena *arena, const struct front *front)
{
    const struct exec_front *self = CONTAINER_OF_CONST(front, struct exec_front, front);
    struct reader reader = reader_of(self->hello);
    struct execwire_item item;
    struct hello hello = {.name = SLICE(""),
                          .database = SLICE(""),
                          .application_name = SLICE(""),
                          .metadata_hint = ""};
    hello.metadata.pairs =
        arena_alloc_array(arena, SESSION_METADATA_COUNT + 1, sizeof(*hello.metadata.pairs));
    while (execwire_item_next(&reader, &item)) {
        struct slice value = arena_copy(arena, item.value);
        if (item.kind == EXECWIRE_NAME) {
            hello.name = value;
        } else if (item.kind == EXECWIRE_APPLICATION) {
            hello.application_name = value;
        } else if (item.kind == EXECWIRE_METADATA &&
                   hello.metadata.count < SESSION_METADATA_COUNT) {
            hello.metadata.pairs[hello.metadata.count++] =
                (struct shape_pair){.key = arena_copy(arena, item.name), .value = value};
        }
    }
    return hello;
}

const struct front_ops exec_front_ops = {
    .start = exec_front_start,
    .answer = exec_front_answer,
    .open = exec_front_open,
    .cancelled = exec_front_cancelled,
    .refuse = exec_front_refuse,
    .hello_in = exec_front_hello_in,
    .close = exec_front_close,
};
