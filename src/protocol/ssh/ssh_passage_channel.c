/* SPDX-License-Identifier: MIT */
/* Channels: opened, counted, closed; and messages that concern none. */
#include "base/limits.h"
#include "base/memory.h"
#include "protocol/ssh/ssh_passage.h"

#include <inttypes.h>
#include <stdio.h>

static enum err channel_forward(struct sshd_passage *self, enum pump_side side, struct slice frame)
{
    return buf_append(&self->out[side], frame);
}

/* Behind output that waits for the client. */
static enum err channel_forward_behind(struct sshd_passage *self, struct sshd_followed *channel,
                                       enum pump_side side, struct slice frame)
{
    return side == PUMP_TARGET && !channel->is_cut && sshd_masked_waits(channel)
               ? sshd_masked_behind(channel, frame)
               : channel_forward(self, side, frame);
}

/* The one that a message of that side is about. One that the gateway has ended goes first until the
 * side has closed it: the other may have given its number to a new one by then. */
static struct sshd_followed *channel_find(struct sshd_passage *self, enum pump_side side,
                                          uint32_t number)
{
    enum pump_side other = sshd_other(side);
    struct sshd_followed *found = NULL;
    for (size_t i = 0; i < self->channel_count; i++) {
        struct sshd_followed *channel = self->channels[i];
        bool has_number = channel->is_confirmed || channel->is_of_target == (other == PUMP_TARGET);
        bool is_over = channel->is_cut && channel->has_closed[side];
        if (has_number && !is_over && channel->numbers[other] == number &&
            (found == NULL || channel->is_cut)) {
            found = channel;
        }
    }
    return found;
}

void sshd_followed_free(struct sshd_followed *channel)
{
    while (channel->owed_count > 0) {
        sshd_owed_shift(channel);
    }
    sshd_typed_free(channel->typed);
    sshd_sftp_free(channel->sftp);
    sshd_scp_free(channel->scp);
    sshd_masked_free(channel->masked);
    buf_release(&channel->lines[0]);
    buf_release(&channel->lines[1]);
    memory_free(channel);
}

static void channel_drop(struct sshd_passage *self, struct sshd_followed *channel)
{
    for (size_t i = 0; i < self->channel_count; i++) {
        if (self->channels[i] == channel) {
            self->channels[i] = self->channels[--self->channel_count];
            break;
        }
    }
    sshd_followed_free(channel);
}

/* Opening ------------------------------------------------------------------------------------- */

static enum err channel_refuse_open(struct sshd_passage *self, enum pump_side side,
                                    const struct sshwire_message *message, struct slice words)
{
    const struct sshwire_message failure = {.type = SSHWIRE_OPEN_FAILURE,
                                            .channel = message->channel,
                                            .code = SSHWIRE_PROHIBITED,
                                            .body = words,
                                            .language = SLICE("")};
    const struct sshd_entry entry = {
        .type = SSHD_ENTRY_REFUSED, .item = ++self->items, .text = words};
    sshd_record(self, RECORD_FROM_GATEWAY, &entry);
    return sshd_say(self, side, &failure);
}

/* Why a channel of that kind may not be; empty: it may. */
static struct slice channel_refusal(struct sshd_passage *self, enum pump_side side,
                                    const struct sshwire_message *message)
{
    struct slice kind = message->name;
    struct sshwire_tunnel tunnel;
    bool is_tunnel =
        slice_equals(kind, side == PUMP_CLIENT ? SLICE("direct-tcpip") : SLICE("forwarded-tcpip"));
    if (slice_equals(kind, SLICE("x11")) || slice_starts_with(kind, SLICE("auth-agent"))) {
        return SLICE("the gateway forwards neither agents nor X11");
    }
    if (side == PUMP_TARGET && slice_equals(kind, SLICE("session"))) {
        return SLICE("a server opens no session");
    }
    if (!is_tunnel && !slice_equals(kind, SLICE("session"))) {
        return SLICE("the gateway does not know channels of this kind");
    }
    if (side == PUMP_TARGET && (sshwire_tunnel_read(message->body, &tunnel) != ERR_NONE ||
                                !sshd_is_listened(self, &tunnel))) {
        return SLICE("nobody asked for what comes there");
    }
    if (self->channel_count == LIMIT_SSH_FOLLOWED) {
        return SLICE("there are too many channels");
    }
    if (is_tunnel &&
        (sshd_stops_input(self) || sshd_looks_at_output(self) || sshd_is_read_only(self))) {
        struct buf words;
        SSHD_WORDS_INIT(&words);
        sshd_refuse(self, &words, "a tunnel passes the connection's rules by");
        buf_release(&words);
        return SLICE("a tunnel passes the connection's rules by");
    }
    return SLICE("");
}

static void channel_begin_tunnel(struct sshd_passage *self, struct sshd_followed *channel,
                                 enum pump_side side, const struct sshwire_message *message)
{
    char text[600];
    struct sshwire_tunnel tunnel;
    if (sshwire_tunnel_read(message->body, &tunnel) != ERR_NONE) {
        return;
    }
    (void)snprintf(text, sizeof(text), "tunnel %s %.*s:%" PRIu32 " from %.*s:%" PRIu32,
                   side == PUMP_CLIENT ? "to" : "to the client of",
                   SLICE_ARG(slice_sub(tunnel.host, 0, 255)), tunnel.port,
                   SLICE_ARG(slice_sub(tunnel.origin, 0, 255)), tunnel.origin_port);
    channel->kind = SSHD_TUNNEL;
    channel->item = ++self->items;
    const struct sshd_entry entry = {
        .type = SSHD_ENTRY_TUNNEL, .item = channel->item, .text = slice_of_text(text)};
    sshd_record(self, RECORD_FROM_CLIENT, &entry);
}

static enum err channel_open(struct sshd_passage *self, enum pump_side side,
                             const struct sshwire_message *message)
{
    struct slice words = channel_refusal(self, side, message);
    if (words.len > 0) {
        return channel_refuse_open(self, side, message, words);
    }
    for (size_t i = 0; i < self->channel_count; i++) {
        const struct sshd_followed *other = self->channels[i];
        bool has_number = other->is_confirmed || other->is_of_target == (side == PUMP_TARGET);
        bool is_over = other->is_cut && other->has_closed[side];
        if (has_number && !is_over && other->numbers[side] == message->channel) {
            return ERR_INPUT; /* two of one number */
        }
    }
    struct sshd_followed *channel = memory_new(sizeof(*channel));
    channel->numbers[side] = message->channel;
    channel->packet_size[side] = message->packet_size;
    channel->is_of_target = side == PUMP_TARGET;
    channel->left = self->row_limit;
    for (int i = 0; i < 2; i++) {
        buf_init(&channel->lines[i], LIMIT_SSH_LINE_SIZE);
    }
    self->channels[self->channel_count++] = channel;
    struct sshwire_message open = *message;
    if (slice_equals(message->name, SLICE("session"))) {
        channel->window = message->window;
        channel->reserve = message->window / 4 < LIMIT_SSH_RESERVE ? message->window / 4
                                                                   : (uint32_t)LIMIT_SSH_RESERVE;
        open.window -= channel->reserve;
        channel->room = open.window;
    } else {
        channel_begin_tunnel(self, channel, side, message);
    }
    return sshd_say(self, sshd_other(side), &open);
}

static enum err channel_confirm(struct sshd_passage *self, struct sshd_followed *channel,
                                enum pump_side side, const struct sshwire_message *message,
                                struct slice frame)
{
    if (channel->is_confirmed || channel->is_of_target == (side == PUMP_TARGET)) {
        return ERR_INPUT;
    }
    for (size_t i = 0; i < self->channel_count; i++) {
        const struct sshd_followed *other = self->channels[i];
        bool is_over = other->is_cut && other->has_closed[side];
        if (other->is_confirmed && !is_over && other->numbers[side] == message->sender) {
            return ERR_INPUT;
        }
    }
    channel->is_confirmed = true;
    channel->numbers[side] = message->sender;
    channel->packet_size[side] = message->packet_size;
    return channel_forward(self, side, frame);
}

static enum err channel_fail(struct sshd_passage *self, struct sshd_followed *channel,
                             enum pump_side side, const struct sshwire_message *message,
                             struct slice frame)
{
    char text[300];
    if (channel->is_confirmed || channel->is_of_target == (side == PUMP_TARGET)) {
        return ERR_INPUT;
    }
    struct slice words = slice_sub(message->body, 0, 200);
    (void)snprintf(text, sizeof(text), "it could not be opened%s%.*s", words.len > 0 ? ": " : "",
                   SLICE_ARG(words));
    sshd_record_done(self, channel, slice_of_text(text), false);
    channel_drop(self, channel);
    return channel_forward(self, side, frame);
}

/* Flow and end -------------------------------------------------------------------------------- */

/* What was taken out of the client's window for words of ours is made up first. */
static enum err channel_adjust(struct sshd_passage *self, struct sshd_followed *channel,
                               enum pump_side side, const struct sshwire_message *message)
{
    struct sshwire_message adjust = *message;
    if (side == PUMP_CLIENT) {
        uint32_t back = channel->spent < message->window ? channel->spent : message->window;
        channel->spent -= back;
        adjust.window -= back;
        channel->room += adjust.window;
    }
    if (side == PUMP_CLIENT && channel->masked != NULL) {
        return sshd_masked_adjust(self, channel, adjust.window);
    }
    enum err err = adjust.window == 0 ? ERR_NONE : sshd_say(self, sshd_other(side), &adjust);
    return err == ERR_NONE && side == PUMP_CLIENT && channel->sftp != NULL
               ? sshd_sftp_answer(self, channel)
               : err;
}

void sshd_record_end(struct sshd_passage *self, struct sshd_followed *channel, const char *how,
                     bool is_well)
{
    char text[120];
    sshd_sftp_end(self, channel);
    if (channel->kind == SSHD_TUNNEL) {
        (void)snprintf(text, sizeof(text), "%s: %" PRIu64 " bytes sent, %" PRIu64 " received", how,
                       channel->bytes[PUMP_CLIENT], channel->bytes[PUMP_TARGET]);
        sshd_record_done(self, channel, slice_of_text(text), is_well);
    } else {
        sshd_record_done(self, channel, slice_of_text(how), is_well);
    }
}

static enum err channel_close(struct sshd_passage *self, struct sshd_followed *channel,
                              enum pump_side side, struct slice frame)
{
    enum err err = ERR_NONE;
    if (channel->has_closed[side]) {
        return ERR_INPUT;
    }
    sshd_hold_leave(self, channel);
    err = side == PUMP_TARGET ? sshd_flush_lines(self, channel) : ERR_NONE;
    channel->has_closed[side] = true;
    if (err == ERR_NONE && (!channel->is_cut || side == PUMP_TARGET)) {
        err = channel_forward_behind(self, channel, side, frame);
    }
    if (channel->has_closed[0] && channel->has_closed[1]) {
        sshd_record_end(self, channel, "closed", true);
        channel_drop(self, channel);
    }
    return err;
}

static enum err channel_take(struct sshd_passage *self, struct sshd_followed *channel,
                             enum pump_side side, const struct sshwire_message *message,
                             struct slice frame)
{
    enum err err = ERR_NONE;
    if (message->type == SSHWIRE_CLOSE) {
        return channel->is_confirmed ? channel_close(self, channel, side, frame) : ERR_INPUT;
    }
    if (channel->is_cut) {
        return ERR_NONE; /* said before it knew */
    }
    if (side == PUMP_CLIENT && sshd_is_held(self, channel) &&
        message->type != SSHWIRE_WINDOW_ADJUST) {
        return sshd_hold_behind(self, frame);
    }
    if (message->type == SSHWIRE_OPEN_CONFIRMATION) {
        return channel_confirm(self, channel, side, message, frame);
    }
    if (message->type == SSHWIRE_OPEN_FAILURE) {
        return channel_fail(self, channel, side, message, frame);
    }
    if (!channel->is_confirmed || channel->has_closed[side]) {
        return ERR_INPUT;
    }
    switch (message->type) {
    case SSHWIRE_WINDOW_ADJUST:
        return channel_adjust(self, channel, side, message);
    case SSHWIRE_DATA:
    case SSHWIRE_EXTENDED_DATA:
        return sshd_take_data(self, channel, side, message, frame);
    case SSHWIRE_EOF:
        err = side == PUMP_TARGET ? sshd_flush_lines(self, channel) : ERR_NONE;
        return err == ERR_NONE && !channel->is_cut
                   ? channel_forward_behind(self, channel, side, frame)
                   : err;
    case SSHWIRE_REQUEST:
        return sshd_take_request(self, channel, side, message, frame);
    case SSHWIRE_SUCCESS:
    case SSHWIRE_FAILURE:
        return side == PUMP_TARGET ? sshd_take_reply(self, channel, message, frame)
                                   : channel_forward(self, side, frame);
    case SSHWIRE_GLOBAL_REQUEST:
    case SSHWIRE_GLOBAL_SUCCESS:
    case SSHWIRE_GLOBAL_FAILURE:
    case SSHWIRE_OPEN:
    case SSHWIRE_OPEN_CONFIRMATION:
    case SSHWIRE_OPEN_FAILURE:
    case SSHWIRE_CLOSE:
        break;
    }
    return ERR_INPUT;
}

/* Those of a server are none that the gateway knows, which libssh has answered. */
static enum err channel_take_global(struct sshd_passage *self, enum pump_side side,
                                    const struct sshwire_message *message, struct slice frame)
{
    bool is_request = message->type == SSHWIRE_GLOBAL_REQUEST;
    if (is_request != (side == PUMP_CLIENT)) {
        return ERR_INPUT;
    }
    return is_request ? sshd_listen_ask(self, message, frame)
                      : sshd_listen_answered(self, message->type == SSHWIRE_GLOBAL_SUCCESS, frame);
}

enum err sshd_take(struct sshd_passage *self, enum pump_side side,
                   const struct sshwire_message *message, struct slice frame)
{
    switch (message->type) {
    case SSHWIRE_GLOBAL_REQUEST:
    case SSHWIRE_GLOBAL_SUCCESS:
    case SSHWIRE_GLOBAL_FAILURE:
        return channel_take_global(self, side, message, frame);
    case SSHWIRE_OPEN:
        return channel_open(self, side, message);
    case SSHWIRE_OPEN_CONFIRMATION:
    case SSHWIRE_OPEN_FAILURE:
    case SSHWIRE_WINDOW_ADJUST:
    case SSHWIRE_DATA:
    case SSHWIRE_EXTENDED_DATA:
    case SSHWIRE_EOF:
    case SSHWIRE_CLOSE:
    case SSHWIRE_REQUEST:
    case SSHWIRE_SUCCESS:
    case SSHWIRE_FAILURE:
        break;
    }
    struct sshd_followed *channel = channel_find(self, side, message->channel);
    return channel == NULL ? ERR_INPUT : channel_take(self, channel, side, message, frame);
}
