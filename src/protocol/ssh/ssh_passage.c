/* SPDX-License-Identifier: MIT */
/* Frames in, frames out, and what the gateway says besides. */
#include "protocol/ssh/ssh_passage.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/writer.h"

#include <inttypes.h>
#include <stdio.h>

#define OUT_SIZE_MAX  LIMIT_MIB(9)
#define DATA_SIZE_MAX LIMIT_KIB(32) /* of one message of ours */
#define SMALL_SIZE    LIMIT_KIB(1)  /* a key that is typed, or a window */
#define BLOCKED_CODE  126           /* what shells have for a command that may not run */

static struct sshd_passage *sshd_passage_of(struct passage *passage)
{
    return CONTAINER_OF(passage, struct sshd_passage, passage);
}

/* What the gateway says ----------------------------------------------------------------------- */

enum err sshd_say(struct sshd_passage *self, enum pump_side to,
                  const struct sshwire_message *message)
{
    return sshwire_write(self->side == to ? &self->back : &self->out[self->side], message);
}

enum err sshd_say_data(struct sshd_passage *self, struct sshd_followed *channel, enum pump_side to,
                       uint32_t code, struct slice data)
{
    size_t most =
        channel->packet_size[to] < DATA_SIZE_MAX ? channel->packet_size[to] : DATA_SIZE_MAX;
    enum err err = most > 0 ? ERR_NONE : ERR_INPUT;
    while (err == ERR_NONE && data.len > 0) {
        const struct sshwire_message message = {
            .type = code == 0 ? SSHWIRE_DATA : SSHWIRE_EXTENDED_DATA,
            .channel = channel->numbers[to],
            .code = code,
            .body = slice_sub(data, 0, most),
        };
        err = sshd_say(self, to, &message);
        data = slice_from(data, message.body.len);
    }
    return err;
}

enum err sshd_say_words(struct sshd_passage *self, struct sshd_followed *channel,
                        struct slice words)
{
    struct buf line;
    enum err err = ERR_NONE;
    SSHD_WORDS_INIT(&line);
    const struct slice parts[] = {words, SLICE("\r\n")};
    if (words.len > 0 && buf_append_parts(&line, parts, 2) == ERR_NONE) {
        struct slice said = slice_sub(buf_view(&line), 0, channel->reserve - channel->spent);
        channel->spent += (uint32_t)said.len;
        err = sshd_say_data(self, channel, PUMP_CLIENT, SSHWIRE_STDERR, said);
    }
    buf_release(&line);
    return err;
}

enum err sshd_say_window(struct sshd_passage *self, struct sshd_followed *channel,
                         enum pump_side to, size_t size)
{
    const struct sshwire_message message = {
        .type = SSHWIRE_WINDOW_ADJUST, .channel = channel->numbers[to], .window = (uint32_t)size};
    return size == 0 ? ERR_NONE : sshd_say(self, to, &message);
}

static enum err sshd_say_exit(struct sshd_passage *self, const struct sshd_followed *channel)
{
    const struct sshwire_request request = {.kind = SSHWIRE_EXIT_STATUS, .code = BLOCKED_CODE};
    struct buf body;
    buf_init(&body, LIMIT_KIB(1));
    enum err err = sshwire_request_write(&body, &request);
    const struct sshwire_message message = {
        .type = SSHWIRE_REQUEST,
        .channel = channel->numbers[PUMP_CLIENT],
        .name = sshwire_request_name(SSHWIRE_EXIT_STATUS),
        .body = buf_view(&body),
    };
    err = err == ERR_NONE ? sshd_say(self, PUMP_CLIENT, &message) : err;
    buf_release(&body);
    return err;
}

/* Requests that wait are answered as granted: clients like OpenSSH's end at once when one is not,
 * and would show neither words nor exit status. The client's channel closes when the target's has:
 * its number is not given to another one before. */
static enum err sshd_cut_client(struct sshd_passage *self, struct sshd_followed *channel,
                                struct slice words)
{
    enum err err = ERR_NONE;
    for (; channel->owed_count > 0 && err == ERR_NONE; sshd_owed_shift(channel)) {
        const struct sshwire_message granted = {.type = SSHWIRE_SUCCESS,
                                                .channel = channel->numbers[PUMP_CLIENT]};
        err = sshd_say(self, PUMP_CLIENT, &granted);
    }
    err = err == ERR_NONE ? sshd_say_words(self, channel, words) : err;
    err = err == ERR_NONE ? sshd_say_exit(self, channel) : err;
    const struct sshwire_message end = {.type = SSHWIRE_EOF,
                                        .channel = channel->numbers[PUMP_CLIENT]};
    return err == ERR_NONE ? sshd_say(self, PUMP_CLIENT, &end) : err;
}

enum err sshd_cut(struct sshd_passage *self, struct sshd_followed *channel, struct slice words)
{
    const struct sshwire_message close = {.type = SSHWIRE_CLOSE,
                                          .channel = channel->numbers[PUMP_TARGET]};
    const struct sshd_entry entry = {
        .type = SSHD_ENTRY_REFUSED, .item = channel->item, .text = words};
    enum err err =
        channel->has_closed[PUMP_TARGET] ? ERR_NONE : sshd_cut_client(self, channel, words);
    err = err == ERR_NONE && !channel->has_closed[PUMP_CLIENT] ? sshd_say(self, PUMP_TARGET, &close)
                                                               : err;
    sshd_sftp_end(self, channel);
    sshd_record(self, RECORD_FROM_GATEWAY, &entry);
    channel->is_cut = true;
    channel->is_done = true;
    return err;
}

/* On record ----------------------------------------------------------------------------------- */

void sshd_record(struct sshd_passage *self, enum record_side side, const struct sshd_entry *entry)
{
    struct buf message;
    if (self->recorder == NULL) {
        return;
    }
    buf_init(&message, RECORD_PAYLOAD_MAX);
    if (sshd_entry_write(&message, entry) == ERR_NONE) {
        struct slice part = buf_view(&message);
        recorder_add_messages(self->recorder, side, &part, 1);
    }
    buf_release(&message);
}

void sshd_record_done(struct sshd_passage *self, struct sshd_followed *channel, struct slice text,
                      bool is_well)
{
    const struct sshd_entry count = {
        .type = SSHD_ENTRY_COUNT, .item = channel->item, .number = channel->output};
    const struct sshd_entry done = {
        .type = SSHD_ENTRY_DONE, .item = channel->item, .number = is_well ? 0 : 1, .text = text};
    if (channel->is_done || channel->item == 0) {
        return;
    }
    channel->is_done = true;
    if (channel->left == 0 && channel->output > self->row_limit) {
        sshd_record(self, RECORD_FROM_TARGET, &count);
    }
    self->counts.statements += 1;
    self->counts.errors += is_well ? 0 : 1;
    sshd_record(self, RECORD_FROM_TARGET, &done);
}

/* The table's functions ----------------------------------------------------------------------- */

/* What is whole of them; *ret_taken: how much that is. */
static enum err sshd_take_frames(struct sshd_passage *self, enum pump_side side, struct slice bytes,
                                 size_t *ret_taken)
{
    enum err err = ERR_NONE;
    *ret_taken = 0;
    while (err == ERR_NONE) {
        struct sshwire_message message;
        size_t taken = 0;
        err = sshwire_read(slice_from(bytes, *ret_taken), &taken, &message);
        if (err == ERR_NONE) {
            err =
                sshd_take(self, side, &message, slice_sub(slice_from(bytes, *ret_taken), 0, taken));
            *ret_taken += taken;
            err = err == ERR_MORE ? ERR_INPUT : err;
        } else if (err == ERR_MORE) {
            return ERR_NONE;
        }
    }
    return err;
}

/* Mostly what comes is whole frames, which need not be put together. */
static enum err sshd_take_bytes(struct sshd_passage *self, enum pump_side side, struct slice bytes)
{
    struct buf *in = &self->in[side];
    size_t taken = 0;
    enum err err = ERR_NONE;
    if (in->len == 0) {
        err = sshd_take_frames(self, side, bytes, &taken);
        return err == ERR_NONE ? buf_append(in, slice_from(bytes, taken)) : err;
    }
    err = buf_append(in, bytes);
    err = err == ERR_NONE ? sshd_take_frames(self, side, buf_view(in), &taken) : err;
    buf_consume(in, taken);
    return err;
}

/* Its memory is kept while much passes, and given back when little does. */
static void sshd_empty(struct buf *buf, size_t size)
{
    if (size <= SMALL_SIZE && buf->capacity > 4 * SMALL_SIZE) {
        buf_clear(buf);
    }
    buf_truncate(buf, 0);
}

static enum err sshd_pass(struct passage *passage, enum pump_side side, struct slice *bytes,
                          struct slice *ret_back, struct error *reterr)
{
    struct sshd_passage *self = sshd_passage_of(passage);
    self->side = side;
    self->counts.bytes[side] += bytes->len;
    sshd_empty(&self->out[side], bytes->len);
    sshd_empty(&self->back, bytes->len);
    enum err err = side == PUMP_TARGET ? sshd_hold_go_on(self) : ERR_NONE;
    err = err == ERR_NONE ? sshd_take_bytes(self, side, *bytes) : err;
    *bytes = buf_view(&self->out[side]);
    *ret_back = buf_view(&self->back);
    return err == ERR_NONE ? ERR_NONE
                           : fail(reterr, err == ERR_LIMIT ? ERR_LIMIT : ERR_INPUT,
                                  "the %s says what SSH does not have, or too much of it",
                                  side == PUMP_CLIENT ? "client" : "target");
}

/* Nothing of a shell is ever done: a gateway that stops would wait in vain. */
static unsigned sshd_state(const struct passage *passage)
{
    const struct sshd_passage *self = CONTAINER_OF_CONST(passage, struct sshd_passage, passage);
    bool is_busy = false;
    for (size_t i = 0; i < self->channel_count; i++) {
        const struct sshd_followed *channel = self->channels[i];
        is_busy = is_busy || (!channel->is_cut && channel->kind != SSHD_SHELL &&
                              channel->kind != SSHD_NONE && channel->kind != SSHD_TUNNEL);
    }
    return is_busy ? PASSAGE_IN_TRANSACTION : PASSAGE_IDLE;
}

static const struct passage_counts *sshd_counts(const struct passage *passage)
{
    return &CONTAINER_OF_CONST(passage, struct sshd_passage, passage)->counts;
}

static const struct mask_counts *sshd_masked(const struct passage *passage)
{
    const struct sshd_passage *self = CONTAINER_OF_CONST(passage, struct sshd_passage, passage);
    return sshd_masks(self) ? &self->masked : NULL;
}

static void sshd_set_policy(struct passage *passage, const struct passage_policy *policy)
{
    struct sshd_passage *self = sshd_passage_of(passage);
    mask_rules_unref(self->has_policy ? self->policy.masking : NULL);
    self->policy = *policy;
    self->policy.masking = policy->masking == NULL ? NULL : mask_rules_ref(policy->masking);
    self->has_policy = true;
}

static void sshd_ignore(struct passage *passage)
{
    (void)passage; /* it is not asked for here */
}

/* Each program's standard error has them, behind whole frames; then its channel ends. */
static enum err sshd_last_words(const struct passage *passage, const struct ending_words *words,
                                bool is_discarded, struct buf *buf)
{
    const struct sshd_passage *self = CONTAINER_OF_CONST(passage, struct sshd_passage, passage);
    enum err err = ERR_NONE;
    bool was_said = false;
    (void)is_discarded;
    for (size_t i = 0; i < self->channel_count && err == ERR_NONE; i++) {
        const struct sshd_followed *channel = self->channels[i];
        if (channel->is_cut || !channel->is_confirmed || channel->kind == SSHD_TUNNEL ||
            channel->has_closed[PUMP_TARGET]) {
            continue;
        }
        struct buf line;
        SSHD_WORDS_INIT(&line);
        const struct slice parts[] = {
            SLICE("\r\n"), slice_sub(words->message, 0, LIMIT_SSH_WORDS_SIZE), SLICE("\r\n")};
        err = buf_append_parts(&line, parts, COUNT_OF(parts));
        struct sshwire_message message = {
            .type = SSHWIRE_EXTENDED_DATA,
            .channel = channel->numbers[PUMP_CLIENT],
            .code = SSHWIRE_STDERR,
            .body = slice_sub(buf_view(&line), 0, channel->reserve - channel->spent)};
        err = err == ERR_NONE && message.body.len > 0 ? sshwire_write(buf, &message) : err;
        message = (struct sshwire_message){.type = SSHWIRE_CLOSE, .channel = message.channel};
        err = err == ERR_NONE ? sshwire_write(buf, &message) : err;
        was_said = true;
        buf_release(&line);
    }
    return err == ERR_NONE && !was_said ? ERR_AGAIN : err;
}

static struct passage *sshd_passage_start(const struct passage_settings *settings,
                                          const struct passage_events *events, void *owner)
{
    struct sshd_passage *self = memory_new(sizeof(*self));
    self->passage.ops = &sshd_passage_ops;
    self->recorder = settings->recorder;
    self->events = events;
    self->owner = owner;
    self->row_limit = settings->row_limit;
    for (int i = 0; i < 2; i++) {
        buf_init(&self->in[i], LIMIT_SSH_FRAME_SIZE + SSHWIRE_HEAD_SIZE + LIMIT_READ_SIZE);
        buf_init(&self->out[i], OUT_SIZE_MAX);
    }
    buf_init(&self->back, OUT_SIZE_MAX);
    buf_init(&self->hold.frames, 2 * LIMIT_SSH_WINDOW + LIMIT_KIB(128));
    SSHD_WORDS_INIT(&self->hold.words);
    if (settings->policy != NULL) {
        sshd_set_policy(&self->passage, settings->policy);
    }
    return &self->passage;
}

static void sshd_passage_end(struct passage *passage)
{
    struct sshd_passage *self = sshd_passage_of(passage);
    for (size_t i = 0; i < self->channel_count; i++) {
        sshd_record_end(self, self->channels[i], "the session ended", false);
    }
    self->recorder = NULL;
}

static void sshd_passage_free(struct passage *passage)
{
    struct sshd_passage *self = sshd_passage_of(passage);
    for (size_t i = 0; i < self->channel_count; i++) {
        sshd_followed_free(self->channels[i]);
    }
    for (int i = 0; i < 2; i++) {
        buf_wipe(&self->in[i]); /* passwords went through */
        buf_wipe(&self->out[i]);
        buf_release(&self->in[i]);
        buf_release(&self->out[i]);
    }
    buf_release(&self->back);
    memory_free(self->listening);
    memory_free(self->asked);
    buf_wipe(&self->hold.frames);
    buf_release(&self->hold.frames);
    buf_release(&self->hold.words);
    mask_rules_unref(self->has_policy ? self->policy.masking : NULL);
    memory_free(self);
}

const struct passage_ops sshd_passage_ops = {
    .start = sshd_passage_start,
    .pass = sshd_pass,
    .state = sshd_state,
    .counts = sshd_counts,
    .masked = sshd_masked,
    .set_policy = sshd_set_policy,
    .informed = sshd_ignore,
    .stopped = sshd_ignore,
    .hold_notice = sshd_hold_notice,
    .decided = sshd_hold_decided,
    .last_words = sshd_last_words,
    .end = sshd_passage_end,
    .free = sshd_passage_free,
};
