/* SPDX-License-Identifier: MIT */
/* Requests on channels: what is begun there, and how it ended. */
#include "base/limits.h"
#include "base/memory.h"
#include "protocol/ssh/ssh_environment.h"
#include "protocol/ssh/ssh_passage.h"
#include "protocol/ssh/ssh_shell.h"

#include <inttypes.h>
#include <stdio.h>

void sshd_owed_shift(struct sshd_followed *channel)
{
    memory_free(channel->owed[0].variable);
    channel->owed_count--;
    for (size_t i = 0; i < channel->owed_count; i++) {
        channel->owed[i] = channel->owed[i + 1];
    }
}

static enum err request_owe(struct sshd_followed *channel, bool is_ours, char *take_variable)
{
    if (channel->owed_count == LIMIT_SSH_OWED) {
        memory_free(take_variable);
        return ERR_LIMIT;
    }
    channel->owed[channel->owed_count++] =
        (struct sshd_owed){.is_ours = is_ours, .variable = take_variable};
    return ERR_NONE;
}

static enum err request_forward(struct sshd_passage *self, struct sshd_followed *channel,
                                enum pump_side side, const struct sshwire_message *message,
                                struct slice frame)
{
    enum err err =
        side == PUMP_CLIENT && message->wants_reply ? request_owe(channel, false, NULL) : ERR_NONE;
    if (err == ERR_NONE && side == PUMP_TARGET && sshd_masked_waits(channel)) {
        return sshd_masked_behind(channel, frame);
    }
    return err == ERR_NONE ? buf_append(&self->out[side], frame) : err;
}

/* Answers that are the gateway's, as far as no answer of the target's stands before them. */
static enum err request_answer_ours(struct sshd_passage *self, struct sshd_followed *channel)
{
    enum err err = ERR_NONE;
    while (channel->owed_count > 0 && channel->owed[0].is_ours && err == ERR_NONE) {
        const struct sshwire_message failure = {.type = SSHWIRE_FAILURE,
                                                .channel = channel->numbers[PUMP_CLIENT]};
        sshd_owed_shift(channel);
        err = sshd_say(self, PUMP_CLIENT, &failure);
    }
    return err;
}

static void request_record_refusal(struct sshd_passage *self, const struct sshd_followed *channel,
                                   struct slice words)
{
    const struct sshd_entry entry = {.type = SSHD_ENTRY_REFUSED,
                                     .item = channel->item != 0 ? channel->item : ++self->items,
                                     .text = words};
    sshd_record(self, RECORD_FROM_GATEWAY, &entry);
}

/* Only this request; the channel goes on. */
static enum err request_refuse(struct sshd_passage *self, struct sshd_followed *channel,
                               const struct sshwire_message *message, struct slice words)
{
    request_record_refusal(self, channel, words);
    if (!message->wants_reply) {
        return ERR_NONE;
    }
    enum err err = request_owe(channel, true, NULL);
    return err == ERR_NONE ? request_answer_ours(self, channel) : err;
}

/* The list of the connection is held where its secrets are: what it does not have, and what the
 * server does not take, is told alike. */
static void request_note_variable(struct sshd_passage *self, const struct sshd_followed *channel)
{
    char text[LIMIT_SSH_VARIABLE_SIZE + 120];
    (void)snprintf(text, sizeof(text),
                   "variable '%s' is not set: the connection does not accept it, or the server",
                   channel->owed[0].variable);
    request_record_refusal(self, channel, slice_of_text(text));
}

enum err sshd_take_reply(struct sshd_passage *self, struct sshd_followed *channel,
                         const struct sshwire_message *message, struct slice frame)
{
    if (channel->owed_count == 0 || channel->owed[0].is_ours) {
        return ERR_INPUT;
    }
    if (message->type == SSHWIRE_FAILURE && channel->owed[0].variable != NULL) {
        request_note_variable(self, channel);
    }
    sshd_owed_shift(channel);
    enum err err = buf_append(&self->out[PUMP_TARGET], frame);
    return err == ERR_NONE ? request_answer_ours(self, channel) : err;
}

/* What is begun ------------------------------------------------------------------------------- */

static void request_record_size(struct sshd_passage *self, const struct sshd_followed *channel)
{
    const struct sshd_entry entry = {.type = SSHD_ENTRY_SIZE,
                                     .item = channel->item,
                                     .number =
                                         ((uint64_t)channel->size[0] << 32) | channel->size[1]};
    if (channel->item != 0 && channel->size[0] > 0 && channel->size[1] > 0) {
        sshd_record(self, RECORD_FROM_CLIENT, &entry);
    }
}

/* Copies under rules: a name, and where to. */
static bool request_blocks_scp(struct sshd_passage *self, const struct sshd_scp *scp,
                               struct buf *words)
{
    bool is_upload = sshd_scp_is_upload(scp);
    if (is_upload && sshd_is_read_only(self)) {
        sshd_refuse(self, words, "the connection's rules let it read only: no file is written");
        return true;
    }
    if (!is_upload && sshd_looks_at_output(self)) {
        sshd_refuse(self, words, "the connection's rules look at output: no file is read");
        return true;
    }
    struct buf path;
    struct buf text;
    bool is_blocked = false;
    buf_init(&path, LIMIT_SSH_COMMAND_SIZE);
    buf_init(&text, LIMIT_SSH_COMMAND_SIZE + 32);
    bool is_known = sshd_path_normal(&path, SLICE(""), sshd_scp_path(scp));
    const struct slice parts[] = {is_upload ? SLICE("scp write ") : SLICE("scp read "),
                                  buf_view(&path)};
    if (!is_known && sshd_stops_input(self)) {
        sshd_refuse(self, words, "what '..' leaves in the path is not known here");
        is_blocked = true;
    } else if (buf_append_parts(&text, parts, 2) == ERR_NONE) {
        const struct slice texts[] = {buf_view(&text), buf_view(&path)};
        is_blocked = sshd_judge_texts(self, texts, 2, words);
    }
    buf_release(&path);
    buf_release(&text);
    return is_blocked;
}

/* What becomes of something that is begun. */
struct request_judgement {
    bool is_blocked; /* for which there are words */
    bool is_held;    /* 'review' says why */
    struct guard_verdict review;
};

static void request_refuse_unheld(struct buf *words, const char *why)
{
    const struct slice parts[] = {SLICE(". It needs a review, which it cannot have: "),
                                  slice_of_text(why)};
    (void)!buf_append_parts(words, parts, COUNT_OF(parts));
}

/* Held before anything else is said of it: people see what the rest of the rules would refuse, and
 * these are asked again when it is approved. */
static bool request_blocks_command(struct sshd_passage *self, struct sshd_followed *channel,
                                   const struct sshd_shell *shell, struct buf *words,
                                   struct request_judgement *judgement)
{
    if (sshd_is_read_only(self) && channel->scp == NULL) {
        sshd_refuse(self, words, "the connection's rules let it read only: no command runs");
        return true;
    }
    enum guard_action action =
        sshd_judge(self, shell->texts, shell->count, words, &judgement->review);
    judgement->is_held = action == GUARD_REVIEW;
    if (action >= GUARD_REHEARSE) {
        return true;
    }
    if (sshd_stops_input(self) && shell->why != NULL) {
        char text[200];
        (void)snprintf(text, sizeof(text),
                       "the command cannot be judged by the connection's rules: %s", shell->why);
        sshd_refuse(self, words, text);
        return true;
    }
    return channel->scp != NULL && request_blocks_scp(self, channel->scp, words);
}

static void request_judge_command(struct sshd_passage *self, struct sshd_followed *channel,
                                  struct slice command, struct buf *words,
                                  struct request_judgement *judgement)
{
    struct arena arena;
    arena_init(&arena);
    struct sshd_shell shell = sshd_shell_in(&arena, command);
    channel->kind = SSHD_COMMAND;
    if (shell.is_plain && !channel->has_terminal) {
        sshd_scp_free(channel->scp);
        channel->scp = sshd_scp_new(shell.words, shell.word_count);
        channel->kind = channel->scp != NULL ? SSHD_SCP : SSHD_COMMAND;
    }
    judgement->is_blocked = request_blocks_command(self, channel, &shell, words, judgement);
    const char *why = judgement->is_held ? sshd_why_not_held(self, command) : NULL;
    if (why != NULL) {
        request_refuse_unheld(words, why);
        judgement->is_held = false;
    }
    arena_release(&arena);
}

static void request_command(struct sshd_passage *self, struct sshd_followed *channel,
                            struct slice command, struct buf *words,
                            struct request_judgement *judgement)
{
    const struct sshd_entry entry = {
        .type = SSHD_ENTRY_COMMAND, .item = channel->item, .text = command};
    request_record_size(self, channel);
    sshd_record(self, RECORD_FROM_CLIENT, &entry);
    request_judge_command(self, channel, command, words, judgement);
}

static void request_shell(struct sshd_passage *self, struct sshd_followed *channel,
                          struct buf *words, bool *ret_is_blocked)
{
    const struct sshd_entry entry = {
        .type = SSHD_ENTRY_COMMAND, .item = channel->item, .text = SLICE("")};
    channel->kind = SSHD_SHELL;
    request_record_size(self, channel);
    sshd_record(self, RECORD_FROM_CLIENT, &entry);
    if (sshd_is_read_only(self)) {
        sshd_refuse(self, words, "the connection's rules let it read only: there is no shell");
        *ret_is_blocked = true;
    }
}

static void request_subsystem(struct sshd_passage *self, struct sshd_followed *channel,
                              struct slice name, struct buf *words, bool *ret_is_blocked)
{
    const struct sshd_entry entry = {
        .type = SSHD_ENTRY_SUBSYSTEM, .item = channel->item, .text = name};
    bool is_sftp = slice_equals(name, SLICE("sftp"));
    channel->kind = is_sftp ? SSHD_SFTP : SSHD_SUBSYSTEM;
    channel->sftp = is_sftp ? sshd_sftp_new() : NULL;
    sshd_record(self, RECORD_FROM_CLIENT, &entry);
    if (!is_sftp &&
        (sshd_is_read_only(self) || sshd_stops_input(self) || sshd_looks_at_output(self))) {
        sshd_refuse(self, words, "the connection's rules do not know this subsystem");
        *ret_is_blocked = true;
    }
}

/* It is cut, or it goes to the target. */
static enum err request_settle(struct sshd_passage *self, struct sshd_followed *channel,
                               const struct sshwire_message *message, struct slice frame,
                               struct slice words, bool is_blocked)
{
    enum err err = ERR_NONE;
    if (is_blocked) {
        err = message->wants_reply ? request_owe(channel, true, NULL) : ERR_NONE;
        return err == ERR_NONE ? sshd_cut(self, channel, words) : err;
    }
    err = sshd_say_words(self, channel, words);
    return err == ERR_NONE ? request_forward(self, channel, PUMP_CLIENT, message, frame) : err;
}

/* Once a channel. */
static enum err request_begin(struct sshd_passage *self, struct sshd_followed *channel,
                              const struct sshwire_message *message,
                              const struct sshwire_request *request, struct slice frame)
{
    struct buf words;
    struct request_judgement judgement = {.is_blocked = false};
    enum err err = ERR_NONE;
    if (channel->kind != SSHD_NONE || channel->is_of_target) {
        return request_refuse(self, channel, message, SLICE("the channel runs something already"));
    }
    SSHD_WORDS_INIT(&words);
    channel->item = ++self->items;
    if (sshd_has_rules(self) && self->policy.asks_structure) {
        channel->kind = SSHD_OTHER;
        sshd_refuse(self, &words, "the connection has rules about SQL, which cannot act here");
        judgement.is_blocked = true;
    } else if (request->kind == SSHWIRE_EXEC) {
        request_command(self, channel, request->text, &words, &judgement);
    } else if (request->kind == SSHWIRE_SHELL) {
        request_shell(self, channel, &words, &judgement.is_blocked);
    } else {
        request_subsystem(self, channel, request->text, &words, &judgement.is_blocked);
    }
    bool has_lines = channel->kind == SSHD_SHELL || channel->has_terminal;
    channel->typed = has_lines ? sshd_typed_new() : NULL;
    err = judgement.is_held ? sshd_hold(self, channel, &judgement.review, request->text, frame)
                            : request_settle(self, channel, message, frame, buf_view(&words),
                                             judgement.is_blocked);
    buf_release(&words);
    return err;
}

/* By the rules of now, but for those that asked for the review. */
enum err sshd_run_held(struct sshd_passage *self, struct sshd_followed *channel,
                       const struct sshwire_message *message, struct slice frame)
{
    struct sshwire_request request;
    struct request_judgement judgement = {.is_blocked = true};
    struct buf words;
    enum err err = sshwire_request_read(message->name, message->body, &request);
    SSHD_WORDS_INIT(&words);
    if (err == ERR_NONE && self->hold.passes) {
        self->is_approved = true;
        request_judge_command(self, channel, request.text, &words, &judgement);
        self->is_approved = false;
    } else if (err == ERR_NONE) {
        err = buf_append(&words, slice_sub(buf_view(&self->hold.words), 0, words.size_max));
    }
    if (err == ERR_NONE) {
        err = request_settle(self, channel, message, frame, buf_view(&words), judgement.is_blocked);
    }
    buf_release(&words);
    return err;
}

/* Behind a name is a NUL. */
static char *request_name_copy(struct slice name)
{
    struct slice kept = slice_sub(name, 0, LIMIT_SSH_VARIABLE_SIZE);
    char *copy = memory_new(kept.len + 1);
    memcpy(copy, kept.len == 0 ? "" : kept.at, kept.len);
    return copy;
}

static enum err request_variable(struct sshd_passage *self, struct sshd_followed *channel,
                                 const struct sshwire_message *message,
                                 const struct sshwire_request *request, struct slice frame)
{
    if (sshd_stops_input(self) && sshd_shell_is_variable(request->text)) {
        return request_refuse(self, channel, message,
                              SLICE("a variable by which programs are found or run"));
    }
    enum err err = ERR_NONE;
    if (message->wants_reply) {
        bool is_usual = sshd_environment_is_usual(request->text);
        err = request_owe(channel, false, is_usual ? NULL : request_name_copy(request->text));
    }
    return err == ERR_NONE ? buf_append(&self->out[PUMP_CLIENT], frame) : err;
}

/* The client's -------------------------------------------------------------------------------- */

static enum err request_of_client(struct sshd_passage *self, struct sshd_followed *channel,
                                  const struct sshwire_message *message,
                                  const struct sshwire_request *request, struct slice frame)
{
    switch (request->kind) {
    case SSHWIRE_EXEC:
    case SSHWIRE_SHELL:
    case SSHWIRE_SUBSYSTEM:
        return request_begin(self, channel, message, request, frame);
    case SSHWIRE_TERMINAL:
        if (sshd_masks(self)) {
            return request_refuse(self, channel, message,
                                  SLICE("the connection masks output: there is no terminal"));
        }
        channel->has_terminal = channel->has_terminal || channel->kind == SSHD_NONE;
        channel->size[0] = request->columns;
        channel->size[1] = request->rows;
        break;
    case SSHWIRE_RESIZE:
        channel->size[0] = request->columns;
        channel->size[1] = request->rows;
        request_record_size(self, channel);
        break;
    case SSHWIRE_VARIABLE:
        return request_variable(self, channel, message, request, frame);
    case SSHWIRE_SIGNAL:
    case SSHWIRE_BREAK:
    case SSHWIRE_EXIT_STATUS:
    case SSHWIRE_EXIT_SIGNAL:
        break;
    }
    return request_forward(self, channel, PUMP_CLIENT, message, frame);
}

/* How it ended -------------------------------------------------------------------------------- */

static void request_note_end(struct sshd_passage *self, struct sshd_followed *channel,
                             const struct sshwire_request *request)
{
    char text[200];
    if (request->kind == SSHWIRE_EXIT_STATUS) {
        (void)snprintf(text, sizeof(text), "exit code %" PRIu32, request->code);
    } else if (request->kind == SSHWIRE_EXIT_SIGNAL) {
        (void)snprintf(text, sizeof(text), "ended by signal %.*s",
                       SLICE_ARG(slice_sub(request->text, 0, 100)));
    } else {
        return;
    }
    sshd_record_done(self, channel, slice_of_text(text),
                     request->kind == SSHWIRE_EXIT_STATUS && request->code == 0);
}

enum err sshd_take_request(struct sshd_passage *self, struct sshd_followed *channel,
                           enum pump_side side, const struct sshwire_message *message,
                           struct slice frame)
{
    struct sshwire_request request;
    enum err err = sshwire_request_read(message->name, message->body, &request);
    if (err == ERR_INPUT) {
        return ERR_INPUT;
    }
    bool is_known = err == ERR_NONE;
    if (side == PUMP_TARGET) {
        /* Output may follow still, of what the program has left behind: its end is that of the
         * data. */
        if (is_known && !channel->is_cut) {
            request_note_end(self, channel, &request);
        }
        return channel->is_cut ? ERR_NONE : request_forward(self, channel, side, message, frame);
    }
    if (is_known) {
        return request_of_client(self, channel, message, &request, frame);
    }
    if (slice_equals(message->name, SLICE("x11-req")) ||
        slice_starts_with(message->name, SLICE("auth-agent-req"))) {
        return request_refuse(self, channel, message,
                              SLICE("the gateway forwards neither agents nor X11"));
    }
    return request_forward(self, channel, side, message, frame);
}
