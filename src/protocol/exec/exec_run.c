/* SPDX-License-Identifier: MIT */
/* The gateway's own client: says what for, sends the script, and tells what the command writes and
 * how it ends. */
#include "base/memory.h"
#include "base/must.h"
#include "io/timer.h"
#include "protocol/exec/exec.h"
#include "wire/execwire.h"

#define SIGNAL_EXIT 128 /* and the signal: as shells have it */

struct exec_run {
    struct run run;
    struct loop *loop;
    struct stream *stream;
    const struct run_events *events;
    void *owner;
    struct slice script; /* what of it was not sent */
    bool is_accepted;
    bool has_sent_end;
    bool is_done;
    bool is_held; /* by the owner; what it did not take is the first frame of 'in' */
    struct buf in;
    struct buf out;
    struct timer deadline; /* until it is accepted */
    struct loop_task free_task;
    struct error error;
};

static void exec_run_free(void *owner)
{
    struct exec_run *self = owner;
    buf_release(&self->in);
    buf_release(&self->out);
    memory_free(self);
}

static void exec_run_leave(struct exec_run *self)
{
    self->is_done = true;
    timer_stop(&self->deadline);
    stream_close(self->stream);
    loop_defer(self->loop, &self->free_task);
}

static void exec_run_end(struct exec_run *self, const struct error *error)
{
    const struct run_events *events = self->events;
    void *owner = self->owner;
    exec_run_leave(self);
    events->on_end(owner, error);
}

static void exec_run_fail(struct exec_run *self, enum err code, const char *words)
{
    must(fail(&self->error, code, "%s", words) == code);
    exec_run_end(self, &self->error);
}

static void exec_run_cancel(struct run *run)
{
    exec_run_leave(CONTAINER_OF(run, struct exec_run, run));
}

/* What comes ---------------------------------------------------------------------------------- */

/* Words of the gateway's, or of who kept the command. */
static void exec_run_tell_words(struct exec_run *self, const struct execwire_exit *exit,
                                const char *severity)
{
    const struct run_notice notice = {
        .severity = slice_of_text(severity),
        .code = SLICE(""),
        .message = exit->words,
        .detail = SLICE(""),
        .hint = SLICE(""),
    };
    self->events->on_error(self->owner, &notice);
}

static void exec_run_tell_end(struct exec_run *self, const struct execwire_exit *exit)
{
    switch (exit->end) {
    case EXECWIRE_EXITED:
        self->events->on_exit(self->owner, (int)(exit->code & 0xff));
        break;
    case EXECWIRE_SIGNALLED:
        self->events->on_exit(self->owner, SIGNAL_EXIT + (int)(exit->code & 0x7f));
        exec_run_tell_words(self, exit, "ERROR");
        break;
    case EXECWIRE_NOT_RUN:
        self->events->on_exit(self->owner, (int)(exit->code & 0xff));
        exec_run_tell_words(self, exit, "ERROR");
        break;
    case EXECWIRE_STOPPED:
    case EXECWIRE_REFUSED:
        exec_run_tell_words(self, exit, "FATAL");
        break;
    case EXECWIRE_BLOCKED:
        exec_run_tell_words(self, exit, "ERROR");
        break;
    }
}

/* ERR_CLOSED: that was the last. ERR_AGAIN: the owner takes nothing now. */
static enum err exec_run_take(struct exec_run *self, const struct execwire_frame *frame)
{
    struct execwire_exit exit;
    bool is_answer = frame->type == EXECWIRE_ACCEPT;
    if (self->is_accepted == is_answer && frame->type != EXECWIRE_EXIT) {
        return ERR_INPUT; /* the answer is the first, and comes once */
    }
    switch (frame->type) {
    case EXECWIRE_ACCEPT:
        timer_stop(&self->deadline);
        self->is_accepted = true;
        return ERR_NONE;
    case EXECWIRE_OUTPUT:
    case EXECWIRE_ERRORS:
        self->is_held =
            frame->payload.len > 0 && !self->events->on_bytes(self->owner, frame->payload);
        return self->is_held ? ERR_AGAIN : ERR_NONE;
    case EXECWIRE_EXIT:
        if (execwire_exit_read(frame->payload, &exit) != ERR_NONE) {
            return ERR_INPUT;
        }
        exec_run_tell_end(self, &exit);
        return ERR_CLOSED;
    case EXECWIRE_HELLO:
    case EXECWIRE_START:
    case EXECWIRE_INPUT:
    case EXECWIRE_INPUT_END:
    case EXECWIRE_RESIZE:
    case EXECWIRE_ECHO:
    case EXECWIRE_HIDDEN:
        break;
    }
    return ERR_INPUT;
}

static enum err exec_run_take_frames(struct exec_run *self)
{
    enum err err = ERR_NONE;
    while (err == ERR_NONE) {
        struct execwire_frame frame;
        size_t taken = 0;
        err = execwire_read(buf_view(&self->in), &taken, &frame);
        if (err != ERR_NONE) {
            return err;
        }
        err = exec_run_take(self, &frame);
        if (err != ERR_AGAIN) {
            buf_consume(&self->in, taken);
        }
    }
    return err;
}

/* What goes ----------------------------------------------------------------------------------- */

static void exec_run_fill(struct exec_run *self)
{
    if (!self->is_accepted || self->out.len > 0) {
        return;
    }
    if (self->script.len > 0) {
        struct slice part = slice_sub(self->script, 0, LIMIT_EXEC_FRAME_SIZE);
        must(execwire_write(&self->out, EXECWIRE_INPUT, part) == ERR_NONE);
        self->script = slice_from(self->script, part.len);
    } else if (!self->has_sent_end) {
        must(execwire_write(&self->out, EXECWIRE_INPUT_END, SLICE("")) == ERR_NONE);
        self->has_sent_end = true;
    }
}

/* A stream that takes nothing any more says why when it is read. */
static void exec_run_send(struct exec_run *self)
{
    enum err err = ERR_NONE;
    exec_run_fill(self);
    while (self->out.len > 0 && err == ERR_NONE) {
        struct slice bytes = buf_view(&self->out);
        size_t len = 0;
        err = stream_write(self->stream, &bytes, 1, &len);
        if (err == ERR_NONE) {
            buf_consume(&self->out, len);
            exec_run_fill(self);
        } else if (err != ERR_AGAIN) {
            buf_clear(&self->out);
            self->script = SLICE("");
            self->has_sent_end = true;
        }
    }
}

static void exec_run_go_on(struct exec_run *self)
{
    enum err err = exec_run_take_frames(self);
    if (err == ERR_CLOSED) {
        exec_run_end(self, NULL);
    } else if (err == ERR_MORE || err == ERR_AGAIN) {
        exec_run_send(self);
        stream_watch(self->stream, (self->is_held ? 0U : STREAM_READABLE) |
                                       (self->out.len > 0 ? STREAM_WRITABLE : 0U));
    } else {
        exec_run_fail(self, ERR_INPUT, "the session says what it must not");
    }
}

static void exec_run_on_event(void *owner, unsigned events)
{
    struct exec_run *self = owner;
    char *at = NULL;
    size_t len = 0;
    (void)events;
    if (self->is_done) {
        return;
    }
    if (self->is_held) {
        exec_run_send(self);
        stream_watch(self->stream, self->out.len > 0 ? STREAM_WRITABLE : 0U);
        return;
    }
    size_t room = self->in.size_max - self->in.len;
    must(buf_reserve(&self->in, room, &at) == ERR_NONE);
    enum err err = stream_read(self->stream, at, room, &len);
    if (err == ERR_NONE) {
        buf_commit(&self->in, len);
        exec_run_go_on(self);
    } else if (err == ERR_AGAIN) {
        exec_run_go_on(self);
    } else {
        exec_run_fail(self, ERR_CLOSED, "the session was ended before the command was over");
    }
}

static void exec_run_resume(struct run *run)
{
    struct exec_run *self = CONTAINER_OF(run, struct exec_run, run);
    if (self->is_held && !self->is_done) {
        self->is_held = false;
        exec_run_go_on(self);
    }
}

static void exec_run_on_deadline(void *owner)
{
    exec_run_fail(owner, ERR_TIMEOUT, "the command was not begun in time");
}

/* Starting ------------------------------------------------------------------------------------ */

static void exec_run_write_hello(struct exec_run *self, const struct run_request *request)
{
    struct buf items;
    buf_init(&items, LIMIT_EXEC_FRAME_SIZE);
    struct execwire_item item = {.kind = EXECWIRE_NAME, .name = SLICE(""), .value = request->name};
    must(execwire_item_write(&items, &item) == ERR_NONE);
    item.kind = EXECWIRE_APPLICATION;
    item.value = request->application_name;
    must(execwire_item_write(&items, &item) == ERR_NONE);
    for (size_t i = 0; i < request->metadata.count; i++) {
        item = (struct execwire_item){.kind = EXECWIRE_METADATA,
                                      .name = request->metadata.pairs[i].key,
                                      .value = request->metadata.pairs[i].value};
        must(execwire_item_write(&items, &item) == ERR_NONE); /* they were checked */
    }
    must(execwire_write(&self->out, EXECWIRE_HELLO, buf_view(&items)) == ERR_NONE);
    buf_release(&items);
}

static struct run *exec_run_start(struct stream *take_stream, const struct run_request *request,
                                  const struct run_events *events, void *owner)
{
    struct exec_run *self = memory_new(sizeof(*self));
    self->run.cancel = exec_run_cancel;
    self->run.resume = exec_run_resume;
    self->loop = take_stream->loop;
    self->stream = take_stream;
    self->events = events;
    self->owner = owner;
    self->script = request->statement_count > 0 ? request->statements[0] : SLICE("");
    buf_init(&self->in, 2 * LIMIT_EXEC_FRAME_SIZE);
    buf_init(&self->out, LIMIT_EXEC_FRAME_SIZE + EXECWIRE_HEAD_SIZE);
    loop_task_init(&self->free_task, exec_run_free, self);
    timer_init(&self->deadline, exec_run_on_deadline, self);
    timer_start(self->loop, &self->deadline, request->sign_in_ms);
    exec_run_write_hello(self, request);
    stream_own(self->stream, exec_run_on_event, self);
    stream_watch(self->stream, STREAM_READABLE | STREAM_WRITABLE);
    return &self->run;
}

/* All of it is one input. */
static size_t exec_run_split(struct arena *arena, struct slice script,
                             struct slice **ret_statements)
{
    struct slice *statements = arena_alloc_array(arena, 1, sizeof(*statements));
    statements[0] = script;
    *ret_statements = statements;
    return 1;
}

const struct run_ops exec_run_ops = {.start = exec_run_start, .split = exec_run_split};
