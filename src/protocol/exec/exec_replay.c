/* SPDX-License-Identifier: MIT */
/* A recording of a command: its input, what it wrote, how it ended. */
#include "base/limits.h"
#include "base/memory.h"
#include "protocol/exec/exec.h"
#include "wire/execwire.h"

#include <inttypes.h>
#include <stdio.h>

struct exec_replay {
    replay_visit_fn visit;
    void *context;
    int64_t time;
    struct buf client; /* what is no whole frame yet */
    struct buf target;
};

static void *exec_replay_start(replay_visit_fn visit, void *context)
{
    struct exec_replay *self = memory_new(sizeof(*self));
    self->visit = visit;
    self->context = context;
    buf_init(&self->client, LIMIT_EXEC_FRAME_SIZE + EXECWIRE_HEAD_SIZE + RECORD_PAYLOAD_MAX);
    buf_init(&self->target, LIMIT_EXEC_FRAME_SIZE + EXECWIRE_HEAD_SIZE + RECORD_PAYLOAD_MAX);
    return self;
}

static void exec_replay_free(void *reader)
{
    struct exec_replay *self = reader;
    buf_release(&self->client);
    buf_release(&self->target);
    memory_free(self);
}

static enum err exec_replay_tell_end(struct exec_replay *self, enum record_side side,
                                     struct slice payload, struct error *reterr)
{
    char code[64];
    struct execwire_exit exit;
    if (execwire_exit_read(payload, &exit) != ERR_NONE) {
        return ERR_NONE;
    }
    (void)snprintf(code, sizeof(code), "exit code %" PRIu32, exit.code);
    const struct replay_event event = {
        .kind = REPLAY_DONE,
        .side = side,
        .time = self->time,
        .statement = 1,
        .text = exit.end == EXECWIRE_EXITED ? slice_of_text(code) : exit.words,
    };
    return self->visit(self->context, &event, reterr);
}

static enum err exec_replay_frame(struct exec_replay *self, enum record_side side,
                                  const struct execwire_frame *frame, struct error *reterr)
{
    struct replay_event event = {.kind = REPLAY_OUTPUT,
                                 .side = side,
                                 .time = self->time,
                                 .statement = 1,
                                 .text = frame->payload};
    switch (frame->type) {
    case EXECWIRE_INPUT:
        event.name = SLICE("stdin");
        break;
    case EXECWIRE_OUTPUT:
        event.name = SLICE("stdout");
        break;
    case EXECWIRE_ERRORS:
        event.name = SLICE("stderr");
        break;
    case EXECWIRE_EXIT:
        return exec_replay_tell_end(self, side, frame->payload, reterr);
    case EXECWIRE_HELLO:
    case EXECWIRE_ACCEPT:
    case EXECWIRE_START:
    case EXECWIRE_INPUT_END:
    case EXECWIRE_RESIZE:
    case EXECWIRE_ECHO:
    case EXECWIRE_HIDDEN:
        return ERR_NONE;
    }
    return self->visit(self->context, &event, reterr);
}

static enum err exec_replay_frames(struct exec_replay *self, enum record_side side,
                                   struct buf *bytes, struct error *reterr)
{
    enum err err = ERR_NONE;
    while (err == ERR_NONE) {
        struct execwire_frame frame;
        size_t taken = 0;
        err = execwire_read(buf_view(bytes), &taken, &frame);
        if (err == ERR_NONE) {
            err = exec_replay_frame(self, side, &frame, reterr);
            buf_consume(bytes, taken);
        } else {
            if (err == ERR_INPUT) {
                buf_clear(bytes); /* nothing behind it can be read */
            }
            return ERR_NONE;
        }
    }
    return err;
}

static enum err exec_replay_add(void *reader, const struct record *record, struct error *reterr)
{
    struct exec_replay *self = reader;
    struct buf *bytes = record->side == RECORD_FROM_CLIENT ? &self->client : &self->target;
    self->time = record->time;
    if (record->kind == RECORD_COUNT) {
        struct replay_event event = {
            .kind = REPLAY_COUNT, .side = record->side, .time = record->time, .statement = 1};
        return record_count_read(record->payload, &event.count) == ERR_NONE
                   ? self->visit(self->context, &event, reterr)
                   : ERR_NONE;
    }
    if (buf_append(bytes, record->payload) != ERR_NONE) {
        buf_clear(bytes);
        return ERR_NONE;
    }
    return exec_replay_frames(self, record->side, bytes, reterr);
}

static enum err exec_replay_end(void *reader, struct error *reterr)
{
    (void)reader; /* a part of a frame was never passed on */
    (void)reterr;
    return ERR_NONE;
}

const struct replay_ops exec_replay_ops = {
    .start = exec_replay_start,
    .free = exec_replay_free,
    .add = exec_replay_add,
    .end = exec_replay_end,
};
