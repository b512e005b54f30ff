/* SPDX-License-Identifier: MIT */
/* A command that waits until people have decided on it. Its channel is open meanwhile, and all that
 * the client says there waits behind it; other channels go on. One at a time. */
#include "base/text.h"
#include "protocol/ssh/ssh_passage.h"

static struct sshd_passage *hold_passage(struct passage *passage)
{
    return CONTAINER_OF(passage, struct sshd_passage, passage);
}

bool sshd_is_held(const struct sshd_passage *self, const struct sshd_followed *channel)
{
    return self->hold.channel == channel;
}

const char *sshd_why_not_held(const struct sshd_passage *self, struct slice command)
{
    if (self->events->on_hold == NULL) {
        return "commands of this session cannot be held";
    }
    if (self->hold.channel != NULL) {
        return "another command of the session waits for its own";
    }
    return command.len > 0 && text_is_utf8(command) ? NULL : "its text cannot be shown to people";
}

static void hold_clear(struct sshd_hold *hold)
{
    hold->channel = NULL;
    hold->is_decided = false;
    buf_wipe(&hold->frames);
    buf_clear(&hold->words);
}

enum err sshd_hold(struct sshd_passage *self, struct sshd_followed *channel,
                   const struct guard_verdict *verdict, struct slice command, struct slice frame)
{
    const struct held_statement held = {
        .verdict = verdict,
        .text = command,
        .database = SLICE_NONE,
    };
    hold_clear(&self->hold);
    self->hold.channel = channel;
    enum err err = buf_append(&self->hold.frames, frame);
    if (err == ERR_NONE) {
        self->events->on_hold(self->owner, &held);
    }
    return err;
}

enum err sshd_hold_behind(struct sshd_passage *self, struct slice frame)
{
    return buf_append(&self->hold.frames, frame);
}

void sshd_hold_leave(struct sshd_passage *self, const struct sshd_followed *channel)
{
    if (self->hold.channel == channel) {
        if (!self->hold.is_decided) {
            self->events->on_unhold(self->owner);
        }
        hold_clear(&self->hold);
    }
}

static enum err hold_take(struct sshd_passage *self, struct sshd_followed *channel,
                          struct slice frames)
{
    struct sshwire_message message;
    size_t taken = 0;
    enum err err = sshwire_read(frames, &taken, &message);
    if (err == ERR_NONE) {
        err = sshd_run_held(self, channel, &message, slice_sub(frames, 0, taken));
    }
    frames = slice_from(frames, taken);
    while (err == ERR_NONE && frames.len > 0) {
        err = sshwire_read(frames, &taken, &message);
        err = err == ERR_NONE ? sshd_take(self, PUMP_CLIENT, &message, slice_sub(frames, 0, taken))
                              : err;
        frames = slice_from(frames, taken);
    }
    return err;
}

/* What the client has said goes on as if it came now; the turn is the target's, which so gets it as
 * an answer. What the client's own last turn has made is somebody's still. */
static enum err hold_take_frames(struct sshd_passage *self, struct sshd_followed *channel,
                                 struct slice frames)
{
    struct buf before = self->out[PUMP_CLIENT];
    buf_init(&self->out[PUMP_CLIENT], before.size_max);
    self->side = PUMP_CLIENT;
    enum err err = hold_take(self, channel, frames);
    self->side = PUMP_TARGET;
    err = err == ERR_NONE ? buf_append(&self->out[PUMP_TARGET], buf_view(&self->back)) : err;
    buf_wipe(&self->back);
    buf_release(&self->back);
    self->back = self->out[PUMP_CLIENT];
    self->out[PUMP_CLIENT] = before;
    return err;
}

enum err sshd_hold_go_on(struct sshd_passage *self)
{
    struct sshd_hold *hold = &self->hold;
    struct sshd_followed *channel = hold->channel;
    if (channel == NULL || (!hold->is_decided && hold->words.len == 0)) {
        return ERR_NONE;
    }
    if (!hold->is_decided) {
        enum err err = sshd_say_words(self, channel, buf_view(&hold->words));
        buf_clear(&hold->words);
        return err;
    }
    struct buf frames = hold->frames; /* the channel is held no more */
    buf_init(&hold->frames, frames.size_max);
    hold->channel = NULL;
    enum err err = hold_take_frames(self, channel, buf_view(&frames));
    buf_wipe(&frames);
    buf_release(&frames);
    if (hold->channel == NULL) {
        hold_clear(hold);
    }
    return err;
}

void sshd_hold_notice(struct passage *passage, struct slice message, struct slice hint)
{
    struct sshd_passage *self = hold_passage(passage);
    const struct slice parts[] = {slice_sub(message, 0, LIMIT_SSH_WORDS_SIZE / 2), SLICE(". "),
                                  slice_sub(hint, 0, LIMIT_SSH_WORDS_SIZE / 2)};
    if (self->hold.channel != NULL) {
        buf_clear(&self->hold.words);
        (void)!buf_append_parts(&self->hold.words, parts, hint.len > 0 ? 3 : 1);
    }
}

void sshd_hold_decided(struct passage *passage, const struct hold_answer *answer)
{
    struct sshd_passage *self = hold_passage(passage);
    if (self->hold.channel != NULL) {
        sshd_hold_notice(passage, answer->message, answer->hint);
        self->hold.is_decided = true;
        self->hold.passes = answer->end == HOLD_PASSES;
    }
}
