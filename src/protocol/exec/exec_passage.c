/* SPDX-License-Identifier: MIT */
/* What passes between the gateway's client and a command: whole frames, on record as they pass.
 * Where there are rules the script waits until all of it has been judged, and nothing is run of one
 * that is blocked; output goes on line by line, and from the first blocked line on none does. */
#include "base/memory.h"
#include "base/must.h"
#include "base/writer.h"
#include "protocol/exec/exec.h"
#include "protocol/exec/exec_lines.h"
#include "wire/execwire.h"

#define WORDS_SIZE_MAX 1000 /* of a rule's own words */

struct exec_passage {
    struct passage passage;
    struct recorder *recorder;
    const struct passage_events *events;
    void *owner;
    struct passage_policy policy;
    bool has_policy;
    struct passage_counts counts;
    uint64_t left;              /* of output that may still be recorded */
    struct record_count passed; /* of output */
    struct buf in[2];           /* by side: what is no whole frame yet */
    struct buf out[2];          /* by side it came from */
    struct buf back;            /* what the client is told of its script */
    struct buf script;          /* that waits for its end */
    struct exec_lines lines[2]; /* of output, and of errors */
    bool was_begun;             /* some of the script has passed, unjudged */
    bool is_blocked;
    bool is_over; /* the command has ended, or was never begun */
};

static struct exec_passage *exec_passage_of(struct passage *passage)
{
    return CONTAINER_OF(passage, struct exec_passage, passage);
}

/* On record ----------------------------------------------------------------------------------- */

static void exec_record(struct exec_passage *self, enum record_side side, struct slice frame)
{
    recorder_add(self->recorder, RECORD_MESSAGE, side, &frame, 1);
}

/* Beyond what the connection wants on record nothing is but how much it was. */
static void exec_record_output(struct exec_passage *self, struct slice frame, size_t size)
{
    self->passed.rows++;
    self->passed.bytes += size;
    if (size > self->left) {
        self->left = 0;
        self->passed.is_cut = true;
        return;
    }
    self->left -= size;
    exec_record(self, RECORD_FROM_TARGET, frame);
}

static enum err exec_pass_on(struct exec_passage *self, enum pump_side side,
                             const struct execwire_frame *frame)
{
    struct buf *out = &self->out[side];
    size_t before = out->len;
    enum err err = execwire_write(out, frame->type, frame->payload);
    struct slice written = slice_from(buf_view(out), before);
    if (err != ERR_NONE) {
        return err;
    }
    if (frame->type == EXECWIRE_OUTPUT || frame->type == EXECWIRE_ERRORS) {
        exec_record_output(self, written, frame->payload.len);
    } else if (side == PUMP_TARGET) {
        exec_record(self, RECORD_FROM_TARGET, written);
    }
    return ERR_NONE;
}

/* Rules --------------------------------------------------------------------------------------- */

static bool exec_judges_input(const struct exec_passage *self)
{
    return self->has_policy && !self->policy.is_empty && self->policy.looks_at_values;
}

static bool exec_judges_output(const struct exec_passage *self)
{
    return self->has_policy && !self->policy.is_empty && self->policy.output != NULL &&
           guard_scope_looks_at(self->policy.output, GUARD_OUTPUT);
}

static void exec_write_words(struct writer *writer, const struct guard_finding *finding)
{
    writer_bytes(writer, finding->action >= GUARD_REHEARSE ? SLICE("blocked by guard rail '")
                                                           : SLICE("noticed by guard rail '"));
    writer_bytes(writer, finding->guardrail_name);
    writer_bytes(writer, SLICE("'"));
    if (finding->rule_name.len > 0) {
        writer_bytes(writer, SLICE(", rule '"));
        writer_bytes(writer, finding->rule_name);
        writer_bytes(writer, SLICE("'"));
    }
    struct slice words = finding->message.len > 0 ? finding->message : finding->why;
    if (words.len > 0) {
        writer_bytes(writer, SLICE(": "));
        writer_bytes(writer, slice_sub(words, 0, WORDS_SIZE_MAX));
    }
}

static enum err exec_write_blocked(struct buf *buf, struct slice words)
{
    const struct execwire_exit exit = {.end = EXECWIRE_BLOCKED, .words = words};
    return execwire_exit_write(buf, &exit);
}

/* Told before what comes of it passes. True: it is blocked, and 'words' say by what. */
static bool exec_take_verdict(struct exec_passage *self, const struct guard_verdict *verdict,
                              struct buf *words)
{
    struct writer writer = writer_to(words);
    for (size_t i = 0; i < verdict->count; i++) {
        const struct guard_event event = {
            .kind = GUARD_EVENT_FINDING, .finding = &verdict->findings[i], .words = SLICE("")};
        self->events->on_finding(self->owner, &event);
    }
    const struct guard_finding *reason = guard_verdict_reason(verdict);
    if (reason != NULL && reason->action >= GUARD_WARN) {
        exec_write_words(&writer, reason);
    }
    return verdict->action >= GUARD_REHEARSE;
}

/* Something that no rule has words for. */
static void exec_refuse(struct exec_passage *self, struct slice words)
{
    const struct guard_event event = {.kind = GUARD_EVENT_REFUSED, .words = words};
    self->events->on_finding(self->owner, &event);
}

/* The script ---------------------------------------------------------------------------------- */

static enum err exec_block_script(struct exec_passage *self, struct slice words)
{
    self->is_blocked = true;
    self->is_over = true;
    buf_clear(&self->script);
    buf_clear(&self->out[PUMP_CLIENT]);
    return exec_write_blocked(&self->back, words);
}

/* A warning goes with the output, as errors do. */
static enum err exec_warn(struct buf *out, struct slice words)
{
    struct buf line;
    buf_init(&line, LIMIT_EXEC_FRAME_SIZE);
    const struct slice parts[] = {words, SLICE("\n")};
    enum err err = buf_append_parts(&line, parts, COUNT_OF(parts));
    err = err == ERR_NONE ? execwire_write(out, EXECWIRE_ERRORS, buf_view(&line)) : err;
    buf_release(&line);
    return err;
}

static enum err exec_judge_script(struct exec_passage *self)
{
    const struct sql_settings settings = {.dialect = SQL_POSTGRES}; /* no script is looked at */
    struct guard_verdict verdict;
    struct buf words;
    buf_init(&words, LIMIT_EXEC_WORDS_SIZE);
    self->policy.judge_script(self->policy.context, &settings, buf_view(&self->script), NULL,
                              &verdict);
    bool is_blocked = exec_take_verdict(self, &verdict, &words);
    enum err err = ERR_NONE;
    if (is_blocked) {
        err = exec_block_script(self, buf_view(&words));
    } else if (words.len > 0) {
        err = exec_warn(&self->back, buf_view(&words));
    }
    buf_release(&words);
    return err;
}

static enum err exec_release_script(struct exec_passage *self)
{
    enum err err = self->script.len == 0 ? ERR_NONE : exec_judge_script(self);
    if (err == ERR_NONE && !self->is_blocked) {
        err = execwire_write_data(&self->out[PUMP_CLIENT], EXECWIRE_INPUT, buf_view(&self->script));
    }
    if (err == ERR_NONE && !self->is_blocked) {
        err = execwire_write(&self->out[PUMP_CLIENT], EXECWIRE_INPUT_END, SLICE(""));
    }
    buf_clear(&self->script);
    return err;
}

static enum err exec_take_input(struct exec_passage *self, const struct execwire_frame *frame)
{
    if (self->is_blocked) {
        return ERR_NONE;
    }
    bool is_judged = exec_judges_input(self) && !self->was_begun;
    if (!is_judged && self->script.len == 0) {
        self->was_begun = true;
        return exec_pass_on(self, PUMP_CLIENT, frame);
    }
    if (frame->type == EXECWIRE_INPUT_END) {
        return exec_release_script(self);
    }
    if (buf_append(&self->script, frame->payload) != ERR_NONE) {
        exec_refuse(self, SLICE("the script is too large for the guard rails to examine"));
        return exec_block_script(self,
                                 SLICE("the script is too large for the guard rails to examine"));
    }
    return ERR_NONE;
}

/* Its output ---------------------------------------------------------------------------------- */

/* From here on nothing of it passes; the client is told why, and ends the command. */
static enum err exec_block_output(struct exec_passage *self, struct slice words)
{
    struct buf *out = &self->out[PUMP_TARGET];
    size_t before = out->len;
    self->is_blocked = true;
    self->is_over = true;
    enum err err = exec_write_blocked(out, words);
    if (err == ERR_NONE) {
        exec_record(self, RECORD_FROM_GATEWAY, slice_from(buf_view(out), before));
    }
    return err;
}

static enum err exec_judge_output(struct exec_passage *self, enum execwire_type type,
                                  struct slice text)
{
    struct guard_verdict verdict;
    struct buf words;
    struct execwire_frame frame = {.type = type};
    if (text.len == 0) {
        return ERR_NONE;
    }
    buf_init(&words, LIMIT_EXEC_WORDS_SIZE);
    guard_judge_output(self->policy.output, text, &verdict);
    bool is_blocked = exec_take_verdict(self, &verdict, &words);
    enum err err = is_blocked      ? exec_block_output(self, buf_view(&words))
                   : words.len > 0 ? exec_warn(&self->out[PUMP_TARGET], buf_view(&words))
                                   : ERR_NONE;
    while (err == ERR_NONE && !is_blocked && text.len > 0) {
        frame.payload = slice_sub(text, 0, LIMIT_EXEC_FRAME_SIZE);
        text = slice_from(text, frame.payload.len);
        err = exec_pass_on(self, PUMP_TARGET, &frame);
    }
    buf_release(&words);
    return err;
}

static enum err exec_take_output(struct exec_passage *self, const struct execwire_frame *frame)
{
    struct exec_lines *lines = &self->lines[frame->type == EXECWIRE_ERRORS ? 1 : 0];
    struct slice whole;
    if (!exec_judges_output(self) && exec_lines_rest(lines).len == 0) {
        return exec_pass_on(self, PUMP_TARGET, frame);
    }
    if (exec_lines_add(lines, frame->payload, &whole) != ERR_NONE) {
        exec_refuse(self, SLICE("a line of output is too long for the guard rails to examine"));
        return exec_block_output(
            self, SLICE("a line of output is too long for the guard rails to examine"));
    }
    enum err err = exec_judge_output(self, frame->type, whole);
    exec_lines_take(lines, whole.len);
    return err;
}

/* What waited for the end of its line has it. */
static enum err exec_take_exit(struct exec_passage *self, const struct execwire_frame *frame)
{
    static const enum execwire_type types[2] = {EXECWIRE_OUTPUT, EXECWIRE_ERRORS};
    struct execwire_exit exit;
    enum err err = execwire_exit_read(frame->payload, &exit);
    for (size_t i = 0; i < 2 && err == ERR_NONE && !self->is_blocked; i++) {
        struct slice rest = exec_lines_rest(&self->lines[i]);
        err = exec_judge_output(self, types[i], rest);
        exec_lines_take(&self->lines[i], rest.len);
    }
    self->counts.statements += 1;
    self->counts.errors += exit.end == EXECWIRE_EXITED && exit.code == 0 ? 0 : 1;
    if (err == ERR_NONE && !self->is_blocked) {
        self->is_over = true;
        err = exec_pass_on(self, PUMP_TARGET, frame);
    }
    return err;
}

/* Both sides ---------------------------------------------------------------------------------- */

static enum err exec_take(struct exec_passage *self, enum pump_side side,
                          const struct execwire_frame *frame)
{
    switch (frame->type) {
    case EXECWIRE_INPUT:
    case EXECWIRE_INPUT_END:
        return side == PUMP_CLIENT ? exec_take_input(self, frame) : ERR_INPUT;
    case EXECWIRE_OUTPUT:
    case EXECWIRE_ERRORS:
        return side != PUMP_TARGET || self->is_over ? ERR_INPUT : exec_take_output(self, frame);
    case EXECWIRE_EXIT:
        return side != PUMP_TARGET || self->is_over ? ERR_INPUT : exec_take_exit(self, frame);
    case EXECWIRE_HELLO:
    case EXECWIRE_ACCEPT:
    case EXECWIRE_START:
    case EXECWIRE_RESIZE:
    case EXECWIRE_ECHO:
    case EXECWIRE_HIDDEN:
        break;
    }
    return ERR_INPUT;
}

static enum err exec_take_frames(struct exec_passage *self, enum pump_side side)
{
    struct buf *in = &self->in[side];
    enum err err = ERR_NONE;
    while (err == ERR_NONE && !(side == PUMP_TARGET && self->is_blocked)) {
        struct execwire_frame frame;
        size_t taken = 0;
        err = execwire_read(buf_view(in), &taken, &frame);
        if (err == ERR_NONE && side == PUMP_CLIENT) {
            exec_record(self, RECORD_FROM_CLIENT, slice_sub(buf_view(in), 0, taken));
        }
        if (err == ERR_NONE) {
            err = exec_take(self, side, &frame);
            buf_consume(in, taken);
        }
    }
    return err == ERR_MORE ? ERR_NONE : err;
}

static enum err exec_pass(struct passage *passage, enum pump_side side, struct slice *bytes,
                          struct slice *ret_back, struct error *reterr)
{
    struct exec_passage *self = exec_passage_of(passage);
    struct buf *out = &self->out[side];
    self->counts.bytes[side] += bytes->len;
    buf_truncate(out, 0);
    buf_truncate(&self->back, 0);
    enum err err = ERR_NONE;
    if (!(self->is_blocked && side == PUMP_TARGET)) {
        err = buf_append(&self->in[side], *bytes);
        err = err == ERR_NONE ? exec_take_frames(self, side) : err;
    }
    *bytes = buf_view(out);
    *ret_back = side == PUMP_CLIENT ? buf_view(&self->back) : SLICE("");
    return err == ERR_NONE ? ERR_NONE
                           : fail(reterr, err, "the %s of a command says what it must not",
                                  side == PUMP_CLIENT ? "client" : "keeper");
}

static unsigned exec_state(const struct passage *passage)
{
    const struct exec_passage *self = CONTAINER_OF_CONST(passage, struct exec_passage, passage);
    return self->is_over ? PASSAGE_IDLE | PASSAGE_TARGET_LEFT : PASSAGE_IN_TRANSACTION;
}

static const struct passage_counts *exec_counts(const struct passage *passage)
{
    return &CONTAINER_OF_CONST(passage, struct exec_passage, passage)->counts;
}

static const struct mask_counts *exec_masked(const struct passage *passage)
{
    (void)passage;
    return NULL;
}

static void exec_set_policy(struct passage *passage, const struct passage_policy *policy)
{
    struct exec_passage *self = exec_passage_of(passage);
    self->policy = *policy;
    self->has_policy = true;
}

static void exec_ignore(struct passage *passage)
{
    (void)passage; /* it is not asked for here */
}

/* Only whole frames have passed: there is always room for one more. */
static enum err exec_last_words(const struct passage *passage, const struct ending_words *words,
                                bool is_discarded, struct buf *buf)
{
    char code[TARGET_CODE_SIZE];
    (void)is_discarded;
    return CONTAINER_OF_CONST(passage, struct exec_passage, passage)->is_over
               ? ERR_AGAIN
               : exec_answer_write(words, code, buf);
}

static struct passage *exec_passage_start(const struct passage_settings *settings,
                                          const struct passage_events *events, void *owner)
{
    struct exec_passage *self = memory_new(sizeof(*self));
    self->passage.ops = &exec_passage_ops;
    self->recorder = settings->recorder;
    self->events = events;
    self->owner = owner;
    self->left = settings->row_limit;
    for (int i = 0; i < 2; i++) {
        buf_init(&self->in[i], 2 * LIMIT_EXEC_FRAME_SIZE + LIMIT_READ_SIZE);
        buf_init(&self->out[i], LIMIT_PASSAGE_OUT_SIZE);
        exec_lines_init(&self->lines[i]);
    }
    buf_init(&self->back, LIMIT_PUMP_OWN_SIZE);
    buf_init(&self->script, LIMIT_GUARD_TEXT_SIZE);
    if (settings->policy != NULL) {
        exec_set_policy(&self->passage, settings->policy);
    }
    return &self->passage;
}

static void exec_passage_end(struct passage *passage)
{
    struct exec_passage *self = exec_passage_of(passage);
    char payload[RECORD_COUNT_SIZE];
    if (self->recorder != NULL && self->passed.is_cut) {
        struct slice count = record_count_write(&self->passed, payload);
        recorder_add(self->recorder, RECORD_COUNT, RECORD_FROM_TARGET, &count, 1);
    }
    self->recorder = NULL;
}

static void exec_passage_free(struct passage *passage)
{
    struct exec_passage *self = exec_passage_of(passage);
    for (int i = 0; i < 2; i++) {
        buf_release(&self->in[i]);
        buf_release(&self->out[i]);
        exec_lines_release(&self->lines[i]);
    }
    buf_release(&self->back);
    buf_release(&self->script);
    memory_free(self);
}

const struct passage_ops exec_passage_ops = {
    .start = exec_passage_start,
    .pass = exec_pass,
    .state = exec_state,
    .counts = exec_counts,
    .masked = exec_masked,
    .set_policy = exec_set_policy,
    .informed = exec_ignore,
    .stopped = exec_ignore,
    .last_words = exec_last_words,
    .end = exec_passage_end,
    .free = exec_passage_free,
};
