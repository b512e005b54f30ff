/* SPDX-License-Identifier: MIT */
/* A session between a client and a server of SSH that say anything, through a passage: what is on
 * record of it is replayed. The first byte says which rules there are; then come parts, each with a
 * byte for its side and one for its size. Held: what passes are whole frames, pieces make no
 * difference to them, no side is given a message of a channel that it did not open or was not told
 * of, a client gets no more data than its window allows, and a command with a certain byte never
 * reaches the target under rules. */
#include "fuzz.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "protocol/ssh/ssh.h"
#include "wire/ssh_message.h"

#define OF_TARGET 0x80U
#define SIZE_BITS 0x7fU
#define RUN_SIZE  LIMIT_MIB(8)
#define GUARDED   0x01U
#define READ_ONLY 0x02U
#define FORBIDDEN '%'

struct outcome {
    struct buf to[2]; /* by the side that gets it */
    enum err err;
};

static void *replay;

static enum err visit(void *context, const struct replay_event *event, struct error *reterr)
{
    struct replay_values values = event->values;
    struct replay_value value;
    struct buf scratch;
    (void)context;
    (void)reterr;
    buf_init(&scratch, LIMIT_KIB(64));
    while (replay_value_next(&values, &scratch, &value)) {
        must(value.text.at != NULL || value.text.len == 0);
    }
    buf_release(&scratch);
    return ERR_NONE;
}

/* The recorder's place. */
void recorder_add_messages(struct recorder *recorder, enum record_side side,
                           const struct slice *parts, size_t count)
{
    struct error error;
    (void)recorder;
    must(count == 1 && parts->len <= RECORD_PAYLOAD_MAX);
    const struct record record = {.kind = RECORD_MESSAGE, .side = side, .payload = *parts};
    must(sshd_replay_ops.add(replay, &record, &error) == ERR_NONE);
}

static void on_finding(void *owner, const struct guard_event *event)
{
    (void)owner;
    must(event->finding != NULL || event->words.len > 0);
}

static const struct passage_events events = {.on_finding = on_finding};

static void judge_script(void *context, const struct sql_settings *settings, struct slice text,
                         const struct sql_script *script, struct guard_verdict *ret_verdict)
{
    (void)context;
    (void)settings;
    (void)script;
    *ret_verdict = (struct guard_verdict){.max_rows = -1};
    if (slice_find_byte(text, FORBIDDEN) < text.len) {
        ret_verdict->action = GUARD_BLOCK;
        ret_verdict->count = 1;
        ret_verdict->findings[0] = (struct guard_finding){.action = GUARD_BLOCK,
                                                          .guardrail_name = SLICE("g"),
                                                          .rule_name = SLICE("r"),
                                                          .message = SLICE("no")};
    }
}

static void run_part(struct passage *passage, struct outcome *run, enum pump_side side,
                     struct slice bytes)
{
    struct error error;
    struct slice back = SLICE("");
    run->err = passage->ops->pass(passage, side, &bytes, &back, &error);
    if (run->err == ERR_NONE) {
        must(buf_append(&run->to[side == PUMP_CLIENT ? PUMP_TARGET : PUMP_CLIENT], bytes) ==
             ERR_NONE);
        must(buf_append(&run->to[side], back) == ERR_NONE);
    }
    (void)passage->ops->state(passage);
}

/* A step of 0: each part at once. */
static void run_all(struct slice input, uint8_t flags, size_t step, struct outcome *run)
{
    const struct passage_settings settings = {.recorder = (struct recorder *)run,
                                              .row_limit = 1000};
    const struct passage_policy policy = {.is_empty = (flags & (GUARDED | READ_ONLY)) == 0,
                                          .is_read_only = (flags & READ_ONLY) != 0,
                                          .looks_at_values = (flags & GUARDED) != 0,
                                          .stops_text = (flags & GUARDED) != 0,
                                          .judge_script = judge_script};
    const struct ending_words words = {.message = SLICE("over"), .hint = SLICE("")};
    struct passage *passage = sshd_passage_ops.start(&settings, &events, NULL);
    struct reader reader = reader_of(input);
    struct buf last;
    replay = sshd_replay_ops.start(visit, NULL);
    sshd_passage_ops.set_policy(passage, &policy);
    run->err = ERR_NONE;
    while (reader_left(&reader) > 1 && run->err == ERR_NONE) {
        uint8_t head = reader_u8(&reader);
        size_t size = reader_u8(&reader);
        size = size < reader_left(&reader) ? size : reader_left(&reader);
        struct slice part = reader_view(&reader, size);
        enum pump_side side = (head & OF_TARGET) != 0 ? PUMP_TARGET : PUMP_CLIENT;
        while (part.len > 0 && run->err == ERR_NONE) {
            struct slice some = slice_sub(part, 0, step == 0 ? part.len : step);
            run_part(passage, run, side, some);
            part = slice_from(part, some.len);
        }
    }
    buf_init(&last, LIMIT_MIB(1));
    (void)!sshd_passage_ops.last_words(passage, &words, false, &last);
    buf_release(&last);
    sshd_passage_ops.end(passage);
    sshd_passage_ops.free(passage);
    sshd_replay_ops.free(replay);
}

static void check_frames(struct slice bytes, bool is_to_target, uint8_t flags)
{
    while (bytes.len > 0) {
        struct sshwire_message message;
        struct sshwire_request request;
        size_t taken = 0;
        must(sshwire_read(bytes, &taken, &message) == ERR_NONE);
        if (message.type == SSHWIRE_REQUEST && is_to_target &&
            sshwire_request_read(message.name, message.body, &request) == ERR_NONE &&
            request.kind == SSHWIRE_EXEC) {
            must((flags & GUARDED) == 0 ||
                 slice_find_byte(request.text, FORBIDDEN) == request.text.len);
            must((flags & READ_ONLY) == 0 || slice_has_nocase(request.text, SLICE("scp")));
        }
        bytes = slice_from(bytes, taken);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct outcome runs[2];
    if (size < 1 || size > LIMIT_KIB(32)) {
        return 0;
    }
    struct slice input = slice_of(bytes + 1, size - 1);
    size_t step = (size_t)(bytes[0] >> 4) + 1;
    for (int i = 0; i < 2; i++) {
        buf_init(&runs[i].to[0], RUN_SIZE);
        buf_init(&runs[i].to[1], RUN_SIZE);
        run_all(input, bytes[0], i == 0 ? 0 : step, &runs[i]);
    }
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < 2; i++) {
            check_frames(buf_view(&runs[i].to[side]), side == PUMP_TARGET, bytes[0]);
        }
    }
    must((runs[0].err == ERR_NONE) == (runs[1].err == ERR_NONE));
    if (runs[0].err == ERR_NONE) {
        must(slice_equals(buf_view(&runs[0].to[PUMP_TARGET]), buf_view(&runs[1].to[PUMP_TARGET])) ||
             (bytes[0] & (GUARDED | READ_ONLY)) != 0);
    }
    for (int i = 0; i < 2; i++) {
        buf_release(&runs[i].to[0]);
        buf_release(&runs[i].to[1]);
    }
    return 0;
}
