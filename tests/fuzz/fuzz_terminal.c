/* SPDX-License-Identifier: MIT */
/* Somebody at a terminal and a keeper that say anything, through a passage: what is recorded of it
 * is replayed. The first byte says how much of what is shown is recorded; then come parts, each
 * with a byte for its side and its size. Held: pieces make no difference to what passes or is on
 * record; nothing that was typed while the terminal did not show it is on record. */
#include "fuzz.h"

#include "base/memory.h"
#include "base/must.h"
#include "protocol/exec/exec.h"
#include "wire/execwire.h"

#define OF_TARGET 0x80U
#define SIZE_BITS 0x7fU
#define RUN_SIZE  LIMIT_MIB(4)

struct outcome {
    struct buf passed[2];
    struct buf told;
    struct buf target; /* what the keeper said that was not looked at by the check */
    bool is_hidden;
    enum err err;
};

static struct outcome *current;
static void *replay;

static enum err visit(void *context, const struct replay_event *event, struct error *reterr)
{
    (void)context;
    (void)reterr;
    must(event->text.len == 0 || event->text.at != NULL);
    return ERR_NONE;
}

void recorder_add(struct recorder *recorder, enum record_kind kind, enum record_side side,
                  const struct slice *parts, size_t count)
{
    struct error error;
    (void)recorder;
    must(count == 1);
    must(kind == RECORD_COUNT || side != RECORD_FROM_CLIENT || !current->is_hidden ||
         parts[0].at[0] != EXECWIRE_INPUT);
    const struct record record = {.kind = kind, .side = side, .payload = parts[0]};
    must(terminal_replay_ops.add(replay, &record, &error) == ERR_NONE);
    must(buf_append(&current->told, parts[0]) == ERR_NONE);
}

/* What the keeper's words say of the echo, read here once more. */
static void follow_echo(struct outcome *run, struct slice bytes)
{
    struct execwire_frame frame;
    size_t taken = 0;
    must(buf_append(&run->target, bytes) == ERR_NONE);
    while (execwire_read(buf_view(&run->target), &taken, &frame) == ERR_NONE) {
        if (frame.type == EXECWIRE_ECHO && frame.payload.len == 1) {
            run->is_hidden = frame.payload.at[0] == 0;
        }
        buf_consume(&run->target, taken);
    }
}

static void pass(struct passage *passage, enum pump_side side, struct slice bytes,
                 struct outcome *run)
{
    struct error error;
    struct slice back = SLICE("");
    struct slice passing = bytes;
    if (side == PUMP_TARGET) {
        follow_echo(run, bytes);
    }
    run->err = passage->ops->pass(passage, side, &passing, &back, &error);
    must(run->err == ERR_NONE || run->err == ERR_INPUT);
    must(back.len == 0);
    if (run->err == ERR_NONE) {
        must(buf_append(&run->passed[side], passing) == ERR_NONE);
    }
    (void)passage->ops->state(passage);
}

static void play(const uint8_t *bytes, size_t size, size_t piece, struct outcome *run)
{
    const struct passage_settings settings = {.row_limit = bytes[0]};
    struct passage *passage = terminal_passage_ops.start(&settings, NULL, NULL);
    const struct ending_words why = {.why = ENDING_KILLED, .message = SLICE("over")};
    struct buf words;
    for (size_t i = 1; i + 1 < size && run->err == ERR_NONE;) {
        enum pump_side side = (bytes[i] & OF_TARGET) != 0 ? PUMP_TARGET : PUMP_CLIENT;
        struct slice part =
            slice_sub(slice_of(bytes, size), i + 1, (size_t)(bytes[i] & SIZE_BITS) + 1);
        i += 1 + part.len;
        while (part.len > 0 && run->err == ERR_NONE) {
            pass(passage, side, slice_sub(part, 0, piece), run);
            part = slice_from(part, piece);
        }
    }
    buf_init(&words, LIMIT_KIB(8));
    (void)passage->ops->last_words(passage, &why, false, &words);
    buf_release(&words);
    passage->ops->end(passage);
    passage->ops->free(passage);
}

static void run_with(const uint8_t *bytes, size_t size, size_t piece, struct outcome *run)
{
    *run = (struct outcome){.err = ERR_NONE};
    buf_init(&run->passed[0], RUN_SIZE);
    buf_init(&run->passed[1], RUN_SIZE);
    buf_init(&run->told, RUN_SIZE);
    buf_init(&run->target, RUN_SIZE);
    current = run;
    replay = terminal_replay_ops.start(visit, NULL);
    play(bytes, size, piece, run);
    terminal_replay_ops.free(replay);
}

static void outcome_release(struct outcome *run)
{
    buf_release(&run->passed[0]);
    buf_release(&run->passed[1]);
    buf_release(&run->told);
    buf_release(&run->target);
}

/* Of a run that a side has broken, pieces that came before were passed or were not. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct outcome whole;
    struct outcome split;
    if (size < 2) {
        return 0;
    }
    run_with(bytes, size, SIZE_MAX, &whole);
    run_with(bytes, size, 1, &split);
    must(whole.err == split.err);
    if (whole.err == ERR_NONE) {
        must(slice_equals(buf_view(&whole.passed[0]), buf_view(&split.passed[0])));
        must(slice_equals(buf_view(&whole.passed[1]), buf_view(&split.passed[1])));
        must(slice_equals(buf_view(&whole.told), buf_view(&split.told)));
    }
    outcome_release(&whole);
    outcome_release(&split);
    return 0;
}
