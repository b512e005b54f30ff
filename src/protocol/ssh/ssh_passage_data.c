/* SPDX-License-Identifier: MIT */
/* What programs are given and what they write: recorded, and judged where there are rules. */
#include "base/limits.h"
#include "base/memory.h"
#include "protocol/ssh/ssh_passage.h"

/* On record ----------------------------------------------------------------------------------- */

/* Beyond what the connection wants on record nothing is but how much it was. */
static void data_record(struct sshd_passage *self, struct sshd_followed *channel,
                        enum sshd_entry_type type, struct slice text)
{
    bool is_input = type == SSHD_ENTRY_INPUT;
    struct slice kept =
        slice_sub(text, 0, channel->left < text.len ? (size_t)channel->left : text.len);
    channel->output += is_input ? 0 : text.len;
    channel->left -= kept.len;
    self->counts.row_bytes += is_input ? 0 : text.len;
    while (kept.len > 0) {
        const struct sshd_entry entry = {
            .type = type, .item = channel->item, .text = slice_sub(kept, 0, SSHD_ENTRY_TEXT_MAX)};
        sshd_record(self, is_input ? RECORD_FROM_CLIENT : RECORD_FROM_TARGET, &entry);
        kept = slice_from(kept, entry.text.len);
    }
}

static enum sshd_entry_type data_type(const struct sshd_followed *channel, bool is_error)
{
    return channel->has_terminal ? SSHD_ENTRY_SHOWN
           : is_error            ? SSHD_ENTRY_ERRORS
                                 : SSHD_ENTRY_OUTPUT;
}

void sshd_record_output(struct sshd_passage *self, struct sshd_followed *channel, bool is_error,
                        struct slice text)
{
    data_record(self, channel, data_type(channel, is_error), text);
}

/* Input --------------------------------------------------------------------------------------- */

/* A line that somebody ends is looked at before its end passes. */
static enum err data_judge_line(struct sshd_passage *self, struct sshd_followed *channel)
{
    struct sshd_typed *typed = channel->typed;
    struct buf words;
    enum err err = ERR_NONE;
    SSHD_WORDS_INIT(&words);
    struct slice line = buf_view(&typed->line);
    if (line.len > 0 && sshd_judge_texts(self, &line, 1, &words)) {
        err = sshd_cut(self, channel, buf_view(&words));
    }
    buf_wipe(&typed->line);
    buf_release(&words);
    return err;
}

static enum err data_typed(struct sshd_passage *self, struct sshd_followed *channel,
                           const struct sshwire_message *message, struct slice frame)
{
    enum err err = ERR_NONE;
    for (size_t i = 0; i < message->body.len && err == ERR_NONE && !channel->is_cut; i++) {
        bool is_line = false;
        sshd_typed_add(channel->typed, message->body.at[i], &is_line);
        err = is_line ? data_judge_line(self, channel) : ERR_NONE;
    }
    if (!channel->has_terminal) { /* all is shown, so to say: it is a program's input */
        data_record(self, channel, SSHD_ENTRY_INPUT, message->body);
        buf_wipe(&channel->typed->raw);
    }
    return err == ERR_NONE && !channel->is_cut ? buf_append(&self->out[PUMP_CLIENT], frame) : err;
}

static enum err data_of_client(struct sshd_passage *self, struct sshd_followed *channel,
                               const struct sshwire_message *message, struct slice frame)
{
    switch (channel->kind) {
    case SSHD_SFTP:
        return sshd_sftp_pass(self, channel, PUMP_CLIENT, message->body, frame);
    case SSHD_SCP:
        return sshd_scp_pass(self, channel, PUMP_CLIENT, message->body, frame);
    case SSHD_COMMAND:
    case SSHD_SHELL:
        if (channel->typed != NULL) {
            return data_typed(self, channel, message, frame);
        }
        data_record(self, channel, SSHD_ENTRY_INPUT, message->body);
        break;
    case SSHD_NONE:
    case SSHD_SUBSYSTEM:
    case SSHD_TUNNEL:
    case SSHD_OTHER:
        break;
    }
    return buf_append(&self->out[PUMP_CLIENT], frame);
}

/* Output -------------------------------------------------------------------------------------- */

static enum err data_release(struct sshd_passage *self, struct sshd_followed *channel,
                             bool is_error, struct slice text)
{
    data_record(self, channel, data_type(channel, is_error), text);
    return sshd_say_data(self, channel, PUMP_CLIENT, is_error ? SSHWIRE_STDERR : 0, text);
}

/* Whole lines, or what is left of one. */
static enum err data_judge_output(struct sshd_passage *self, struct sshd_followed *channel,
                                  bool is_error, struct slice text)
{
    struct buf words;
    SSHD_WORDS_INIT(&words);
    bool is_blocked = sshd_judge_output(self, text, &words);
    enum err err = is_blocked ? sshd_cut(self, channel, buf_view(&words))
                              : sshd_say_words(self, channel, buf_view(&words));
    if (err == ERR_NONE && !is_blocked && text.len > 0) {
        err = data_release(self, channel, is_error, text);
    }
    buf_release(&words);
    return err;
}

static enum err data_refuse_line(struct sshd_passage *self, struct sshd_followed *channel)
{
    struct buf words;
    SSHD_WORDS_INIT(&words);
    sshd_refuse(self, &words, "a line of output is too long for the guard rails to examine");
    enum err err = sshd_cut(self, channel, buf_view(&words));
    buf_release(&words);
    return err;
}

/* What may be half of what a rule looks for waits for the rest of its line. A client with a small
 * window could never be given a longer one, so that it counts as too long. */
static enum err data_lines(struct sshd_passage *self, struct sshd_followed *channel, bool is_error,
                           struct slice text)
{
    struct buf *lines = &channel->lines[is_error ? 1 : 0];
    size_t most =
        channel->window / 2 < LIMIT_SSH_LINE_SIZE ? channel->window / 2 : LIMIT_SSH_LINE_SIZE;
    if (lines->len + text.len > LIMIT_SSH_LINE_SIZE || buf_append(lines, text) != ERR_NONE) {
        return data_refuse_line(self, channel);
    }
    size_t whole = lines->len;
    while (whole > 0 && buf_view(lines).at[whole - 1] != '\n') {
        whole--;
    }
    enum err err = ERR_NONE;
    if (whole > 0) {
        err = data_judge_output(self, channel, is_error, slice_sub(buf_view(lines), 0, whole));
        buf_consume(lines, whole);
    }
    return err == ERR_NONE && !channel->is_cut && lines->len > most
               ? data_refuse_line(self, channel)
               : err;
}

/* A terminal's line cannot wait: what completes a word does not pass, what came before it did. */
static enum err data_screen(struct sshd_passage *self, struct sshd_followed *channel, bool is_error,
                            struct slice text)
{
    struct buf *tail = &channel->lines[0];
    struct buf words;
    SSHD_WORDS_INIT(&words);
    enum err err = buf_append(tail, text);
    bool is_blocked = err == ERR_NONE && sshd_judge_output(self, buf_view(tail), &words);
    if (is_blocked) {
        err = sshd_cut(self, channel, buf_view(&words));
    } else if (err == ERR_NONE) {
        size_t end = tail->len;
        while (end > 0 && buf_view(tail).at[end - 1] != '\n') {
            end--;
        }
        size_t over = tail->len > LIMIT_SSH_TAIL_SIZE ? tail->len - LIMIT_SSH_TAIL_SIZE : 0;
        buf_consume(tail, end > over ? end : over);
        err = data_release(self, channel, is_error, text);
    }
    buf_release(&words);
    return err;
}

enum err sshd_flush_lines(struct sshd_passage *self, struct sshd_followed *channel)
{
    enum err err = ERR_NONE;
    if (channel->masked != NULL) {
        return channel->is_cut ? ERR_NONE : sshd_masked_end(self, channel);
    }
    for (int i = 0; i < 2 && err == ERR_NONE && !channel->is_cut && !channel->has_terminal; i++) {
        struct slice rest = buf_view(&channel->lines[i]);
        if (rest.len > 0) {
            err = data_judge_output(self, channel, i == 1, rest);
            buf_clear(&channel->lines[i]);
        }
    }
    return err;
}

/* On a terminal values can be shown piece by piece, and over each other: masked there is nothing.
 */
static enum err data_masked(struct sshd_passage *self, struct sshd_followed *channel, bool is_error,
                            struct slice text)
{
    struct buf words;
    if (!channel->has_terminal) {
        return sshd_masked_pass(self, channel, is_error, text);
    }
    SSHD_WORDS_INIT(&words);
    sshd_refuse(self, &words, "the connection masks output, which it cannot on a terminal");
    enum err err = sshd_cut(self, channel, buf_view(&words));
    buf_release(&words);
    return err;
}

static enum err data_of_target(struct sshd_passage *self, struct sshd_followed *channel,
                               const struct sshwire_message *message, struct slice frame)
{
    bool is_error = message->type == SSHWIRE_EXTENDED_DATA;
    bool is_output = channel->kind == SSHD_COMMAND || channel->kind == SSHD_SHELL;
    if (channel->kind == SSHD_SFTP && !is_error) {
        return sshd_sftp_pass(self, channel, PUMP_TARGET, message->body, frame);
    }
    if (channel->kind == SSHD_SCP && !is_error) {
        return sshd_scp_pass(self, channel, PUMP_TARGET, message->body, frame);
    }
    if (!is_output && !(is_error && channel->item != 0)) {
        return buf_append(&self->out[PUMP_TARGET], frame);
    }
    if (sshd_masks(self) || channel->masked != NULL) {
        return data_masked(self, channel, is_error, message->body);
    }
    if (channel->typed != NULL && channel->has_terminal) {
        sshd_typed_shown(self, channel, message->body);
    }
    if (sshd_judges_output(self) || channel->lines[is_error ? 1 : 0].len > 0) {
        return channel->has_terminal ? data_screen(self, channel, is_error, message->body)
                                     : data_lines(self, channel, is_error, message->body);
    }
    data_record(self, channel, data_type(channel, is_error), message->body);
    return buf_append(&self->out[PUMP_TARGET], frame);
}

enum err sshd_take_data(struct sshd_passage *self, struct sshd_followed *channel,
                        enum pump_side side, const struct sshwire_message *message,
                        struct slice frame)
{
    channel->bytes[side] += message->body.len;
    if (side == PUMP_CLIENT) {
        return message->type == SSHWIRE_DATA ? data_of_client(self, channel, message, frame)
                                             : ERR_INPUT;
    }
    enum err err = data_of_target(self, channel, message, frame);
    uint32_t size = (uint32_t)message->body.len;
    channel->room -= size < channel->room ? size : channel->room;
    return err;
}
