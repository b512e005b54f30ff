/* SPDX-License-Identifier: MIT */
/* A recording of a terminal: what was typed, what was shown, its sizes, and how it ended. */
#include "base/limits.h"
#include "base/memory.h"
#include "protocol/exec/exec.h"
#include "wire/execwire.h"

#include <inttypes.h>
#include <stdio.h>

struct terminal_replay {
    replay_visit_fn visit;
    void *context;
    int64_t time;
    struct buf bytes[2]; /* by side: what is no whole frame yet */
};

static void *terminal_replay_start(replay_visit_fn visit, void *context)
{
    struct terminal_replay *self = memory_new(sizeof(*self));
    self->visit = visit;
    self->context = context;
    for (int i = 0; i < 2; i++) {
        buf_init(&self->bytes[i], LIMIT_EXEC_FRAME_SIZE + EXECWIRE_HEAD_SIZE + RECORD_PAYLOAD_MAX);
    }
    return self;
}

static void terminal_replay_free(void *reader)
{
    struct terminal_replay *self = reader;
    buf_release(&self->bytes[0]);
    buf_release(&self->bytes[1]);
    memory_free(self);
}

static enum err terminal_replay_end_of(struct terminal_replay *self, struct replay_event *event,
                                       struct slice payload, struct error *reterr)
{
    char code[64];
    struct execwire_exit exit;
    if (execwire_exit_read(payload, &exit) != ERR_NONE) {
        return ERR_NONE;
    }
    (void)snprintf(code, sizeof(code), "exit code %" PRIu32, exit.code);
    event->kind = REPLAY_DONE;
    event->text = exit.end == EXECWIRE_EXITED ? slice_of_text(code) : exit.words;
    return self->visit(self->context, event, reterr);
}

static enum err terminal_replay_frame(struct terminal_replay *self, enum record_side side,
                                      const struct execwire_frame *frame, struct error *reterr)
{
    char text[32];
    struct execwire_size size = {.columns = 0};
    struct replay_event event = {
        .kind = REPLAY_TERMINAL, .side = side, .time = self->time, .text = frame->payload};
    switch (frame->type) {
    case EXECWIRE_INPUT:
        event.name = SLICE("input");
        break;
    case EXECWIRE_OUTPUT:
        event.name = SLICE("output");
        break;
    case EXECWIRE_RESIZE:
        event.name = SLICE("size");
        if (execwire_size_read(frame->payload, &size) != ERR_NONE) {
            return ERR_NONE;
        }
        (void)snprintf(text, sizeof(text), "%ux%u", (unsigned)size.columns, (unsigned)size.rows);
        event.text = slice_of_text(text);
        break;
    case EXECWIRE_HIDDEN:
        event.name = SLICE("hidden");
        event.text = SLICE("(something was typed that the terminal did not show)");
        break;
    case EXECWIRE_EXIT:
        return terminal_replay_end_of(self, &event, frame->payload, reterr);
    case EXECWIRE_HELLO:
    case EXECWIRE_ACCEPT:
    case EXECWIRE_START:
    case EXECWIRE_INPUT_END:
    case EXECWIRE_ERRORS:
    case EXECWIRE_ECHO:
        return ERR_NONE;
    }
    return self->visit(self->context, &event, reterr);
}

static enum err terminal_replay_add(void *reader, const struct record *record, struct error *reterr)
{
    struct terminal_replay *self = reader;
    struct buf *bytes = &self->bytes[record->side == RECORD_FROM_CLIENT ? 0 : 1];
    enum err err = ERR_NONE;
    self->time = record->time;
    if (record->kind == RECORD_COUNT) {
        struct replay_event event = {
            .kind = REPLAY_COUNT, .side = record->side, .time = record->time};
        return record_count_read(record->payload, &event.count) == ERR_NONE
                   ? self->visit(self->context, &event, reterr)
                   : ERR_NONE;
    }
    if (buf_append(bytes, record->payload) != ERR_NONE) {
        buf_clear(bytes);
        return ERR_NONE;
    }
    while (err == ERR_NONE) {
        struct execwire_frame frame;
        size_t taken = 0;
        err = execwire_read(buf_view(bytes), &taken, &frame);
        if (err == ERR_INPUT) {
            buf_clear(bytes); /* nothing behind it can be read */
        }
        if (err != ERR_NONE) {
            return ERR_NONE;
        }
        err = terminal_replay_frame(self, record->side, &frame, reterr);
        buf_consume(bytes, taken);
    }
    return err;
}

static enum err terminal_replay_end(void *reader, struct error *reterr)
{
    (void)reader; /* a part of a frame was never passed on */
    (void)reterr;
    return ERR_NONE;
}

const struct replay_ops terminal_replay_ops = {
    .start = terminal_replay_start,
    .free = terminal_replay_free,
    .add = terminal_replay_add,
    .end = terminal_replay_end,
    .is_terminal = true,
};
