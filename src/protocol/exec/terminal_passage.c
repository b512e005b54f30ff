/* SPDX-License-Identifier: MIT */
/* What passes between somebody at a terminal and the program there: whole frames, on record before
 * they go on. What is typed while the terminal does not show it is not on record, only that there
 * was something. */
#include "base/memory.h"
#include "base/must.h"
#include "protocol/exec/exec.h"
#include "wire/execwire.h"

struct terminal_passage {
    struct passage passage;
    struct recorder *recorder;
    struct passage_counts counts;
    uint64_t left;              /* of output that may still be recorded */
    struct record_count passed; /* of output */
    struct buf in[2];           /* by side: what is no whole frame yet */
    struct buf out[2];          /* by side it came from */
    bool is_hidden;             /* what is typed is not shown */
    bool was_told;              /* that something is being typed all the same */
    bool is_over;               /* the program has ended, or was never begun */
};

static struct terminal_passage *terminal_passage_of(struct passage *passage)
{
    return CONTAINER_OF(passage, struct terminal_passage, passage);
}

static void terminal_record(struct terminal_passage *self, enum record_side side,
                            struct slice frame)
{
    recorder_add(self->recorder, RECORD_MESSAGE, side, &frame, 1);
}

static void terminal_record_hidden(struct terminal_passage *self)
{
    struct buf frame;
    if (self->was_told) {
        return;
    }
    self->was_told = true;
    buf_init(&frame, EXECWIRE_HEAD_SIZE);
    must(execwire_write(&frame, EXECWIRE_HIDDEN, SLICE("")) == ERR_NONE);
    terminal_record(self, RECORD_FROM_CLIENT, buf_view(&frame));
    buf_release(&frame);
}

/* Beyond what the connection wants on record nothing is but how much it was. */
static void terminal_record_output(struct terminal_passage *self, struct slice frame, size_t size)
{
    self->passed.rows++;
    self->passed.bytes += size;
    if (size > self->left) {
        self->left = 0;
        self->passed.is_cut = true;
        return;
    }
    self->left -= size;
    terminal_record(self, RECORD_FROM_TARGET, frame);
}

/* Both sides ---------------------------------------------------------------------------------- */

/* The frame, and as it came. */
static enum err terminal_take_client(struct terminal_passage *self,
                                     const struct execwire_frame *frame, struct slice whole)
{
    struct execwire_size size;
    if (frame->type == EXECWIRE_RESIZE) {
        if (execwire_size_read(frame->payload, &size) != ERR_NONE) {
            return ERR_INPUT;
        }
        terminal_record(self, RECORD_FROM_CLIENT, whole);
    } else if (frame->type != EXECWIRE_INPUT) {
        return ERR_INPUT;
    } else if (self->is_hidden) {
        terminal_record_hidden(self);
    } else {
        terminal_record(self, RECORD_FROM_CLIENT, whole);
    }
    return buf_append(&self->out[PUMP_CLIENT], whole);
}

static enum err terminal_take_echo(struct terminal_passage *self, struct slice payload)
{
    if (payload.len != 1 || (payload.at[0] != 0 && payload.at[0] != 1)) {
        return ERR_INPUT;
    }
    self->is_hidden = payload.at[0] == 0;
    self->was_told = false;
    return ERR_NONE; /* whoever types sees it himself */
}

static enum err terminal_take_target(struct terminal_passage *self,
                                     const struct execwire_frame *frame, struct slice whole)
{
    struct execwire_exit exit;
    if (self->is_over) {
        return ERR_INPUT;
    }
    if (frame->type == EXECWIRE_ECHO) {
        return terminal_take_echo(self, frame->payload);
    }
    if (frame->type == EXECWIRE_OUTPUT) {
        terminal_record_output(self, whole, frame->payload.len);
    } else if (frame->type == EXECWIRE_EXIT &&
               execwire_exit_read(frame->payload, &exit) == ERR_NONE) {
        self->counts.statements += 1;
        self->counts.errors += exit.end == EXECWIRE_EXITED ? 0 : 1;
        self->is_over = true;
        terminal_record(self, RECORD_FROM_TARGET, whole);
    } else {
        return ERR_INPUT;
    }
    return buf_append(&self->out[PUMP_TARGET], whole);
}

static enum err terminal_take_frames(struct terminal_passage *self, enum pump_side side)
{
    struct buf *in = &self->in[side];
    enum err err = ERR_NONE;
    while (err == ERR_NONE) {
        struct execwire_frame frame;
        size_t taken = 0;
        err = execwire_read(buf_view(in), &taken, &frame);
        if (err == ERR_NONE) {
            struct slice whole = slice_sub(buf_view(in), 0, taken);
            err = side == PUMP_CLIENT ? terminal_take_client(self, &frame, whole)
                                      : terminal_take_target(self, &frame, whole);
            buf_consume(in, taken);
        }
    }
    return err == ERR_MORE ? ERR_NONE : err;
}

static enum err terminal_pass(struct passage *passage, enum pump_side side, struct slice *bytes,
                              struct slice *ret_back, struct error *reterr)
{
    struct terminal_passage *self = terminal_passage_of(passage);
    self->counts.bytes[side] += bytes->len;
    buf_truncate(&self->out[side], 0);
    enum err err = buf_append(&self->in[side], *bytes);
    err = err == ERR_NONE ? terminal_take_frames(self, side) : err;
    *bytes = buf_view(&self->out[side]);
    *ret_back = SLICE("");
    return err == ERR_NONE ? ERR_NONE
                           : fail(reterr, err, "the %s of a terminal says what it must not",
                                  side == PUMP_CLIENT ? "client" : "keeper");
}

/* The rest ------------------------------------------------------------------------------------ */

static unsigned terminal_state(const struct passage *passage)
{
    const struct terminal_passage *self =
        CONTAINER_OF_CONST(passage, struct terminal_passage, passage);
    /* Nothing of a shell is ever done: a gateway that stops would wait in vain. */
    return PASSAGE_IDLE | (self->is_over ? PASSAGE_TARGET_LEFT : 0U);
}

static const struct passage_counts *terminal_counts(const struct passage *passage)
{
    return &CONTAINER_OF_CONST(passage, struct terminal_passage, passage)->counts;
}

static const struct mask_counts *terminal_masked(const struct passage *passage)
{
    (void)passage;
    return NULL;
}

static void terminal_ignore(struct passage *passage)
{
    (void)passage; /* it is not asked for here */
}

/* Only whole frames have passed: there is always room for one more. */
static enum err terminal_last_words(const struct passage *passage, const struct ending_words *words,
                                    bool is_discarded, struct buf *buf)
{
    char code[TARGET_CODE_SIZE];
    (void)is_discarded;
    return CONTAINER_OF_CONST(passage, struct terminal_passage, passage)->is_over
               ? ERR_AGAIN
               : exec_answer_write(words, code, buf);
}

static struct passage *terminal_passage_start(const struct passage_settings *settings,
                                              const struct passage_events *events, void *owner)
{
    struct terminal_passage *self = memory_new(sizeof(*self));
    (void)events;
    (void)owner;
    self->passage.ops = &terminal_passage_ops;
    self->recorder = settings->recorder;
    self->left = settings->row_limit;
    for (int i = 0; i < 2; i++) {
        buf_init(&self->in[i], LIMIT_EXEC_FRAME_SIZE + EXECWIRE_HEAD_SIZE + LIMIT_READ_SIZE);
        buf_init(&self->out[i], LIMIT_EXEC_FRAME_SIZE + EXECWIRE_HEAD_SIZE + LIMIT_READ_SIZE);
    }
    return &self->passage;
}

static void terminal_passage_end(struct passage *passage)
{
    struct terminal_passage *self = terminal_passage_of(passage);
    char payload[RECORD_COUNT_SIZE];
    if (self->recorder != NULL && self->passed.is_cut) {
        struct slice count = record_count_write(&self->passed, payload);
        recorder_add(self->recorder, RECORD_COUNT, RECORD_FROM_TARGET, &count, 1);
    }
    self->recorder = NULL;
}

static void terminal_passage_free(struct passage *passage)
{
    struct terminal_passage *self = terminal_passage_of(passage);
    for (int i = 0; i < 2; i++) {
        buf_wipe(&self->in[i]); /* passwords went through */
        buf_wipe(&self->out[i]);
        buf_release(&self->in[i]);
        buf_release(&self->out[i]);
    }
    memory_free(self);
}

const struct passage_ops terminal_passage_ops = {
    .start = terminal_passage_start,
    .pass = terminal_pass,
    .state = terminal_state,
    .counts = terminal_counts,
    .masked = terminal_masked,
    .set_policy = NULL, /* a connection with rules has no terminal */
    .informed = terminal_ignore,
    .stopped = terminal_ignore,
    .last_words = terminal_last_words,
    .end = terminal_passage_end,
    .free = terminal_passage_free,
};
