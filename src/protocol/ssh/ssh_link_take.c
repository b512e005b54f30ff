/* SPDX-License-Identifier: MIT */
/* What comes in to a link: messages of libssh's session, and frames of the other end. */
#include "base/must.h"
#include "protocol/ssh/ssh.h"
#include "protocol/ssh/ssh_forward.h"
#include "protocol/ssh/ssh_link_internal.h"

#include <stdio.h>

#define TUNNEL       "direct-tcpip"
#define BACK         "forwarded-tcpip" /* by a server, to where it listens for a client */
#define REQUESTS_MAX COUNT_OF(((struct sshd_channel *)NULL)->requests)

/* What a client asks for ----------------------------------------------------------------------- */

static void link_refuse_message(ssh_message take_message)
{
    (void)ssh_message_reply_default(take_message);
    ssh_message_free(take_message);
}

static struct slice link_text(const char *text)
{
    return text == NULL ? SLICE("") : slice_of_text(text);
}

/* Whether it is one is for the other end to say, which knows what the connection allows. */
static enum err link_write_tunnel(ssh_message message, struct buf *buf)
{
    const struct sshwire_tunnel tunnel = {
        .host = link_text(ssh_message_channel_request_open_destination(message)),
        .port = (uint32_t)ssh_message_channel_request_open_destination_port(message),
        .origin = link_text(ssh_message_channel_request_open_originator(message)),
        .origin_port = (uint32_t)ssh_message_channel_request_open_originator_port(message),
    };
    return tunnel.host.len > LIMIT_SSH_HOST_SIZE || tunnel.origin.len > LIMIT_SSH_HOST_SIZE
               ? ERR_LIMIT
               : sshwire_tunnel_write(buf, &tunnel);
}

static void link_take_open(struct sshd_link *link, ssh_message take_message)
{
    int kind = ssh_message_subtype(take_message);
    bool is_back = !link->is_server && kind == SSH_CHANNEL_FORWARDED_TCPIP && link->back.len > 0;
    bool is_tunnel = kind == SSH_CHANNEL_DIRECT_TCPIP || is_back;
    bool is_known = is_back || (link->is_server && (is_tunnel || kind == SSH_CHANNEL_SESSION));
    struct buf body;
    buf_init(&body, LIMIT_KIB(1));
    if (is_tunnel && (link->forbidden & SSHD_LINK_TUNNELS) != 0) {
        is_known = false;
    }
    if (is_tunnel && link_write_tunnel(take_message, &body) != ERR_NONE) {
        is_known = false;
    }
    struct sshd_channel *channel = is_known && !link->is_finishing ? sshd_channel_new(link) : NULL;
    if (channel == NULL) {
        link_refuse_message(take_message);
    } else {
        const struct sshwire_message message = {.type = SSHWIRE_OPEN,
                                                .channel = channel->number,
                                                .name = is_back     ? SLICE(BACK)
                                                        : is_tunnel ? SLICE(TUNNEL)
                                                                    : SLICE("session"),
                                                .window = LIMIT_SSH_WINDOW,
                                                .packet_size = SSHD_PIECE_SIZE,
                                                .body = buf_view(&body)};
        channel->opening = take_message;
        sshd_link_say(link, &message);
    }
    buf_release(&body);
}

/* The only ways to a terminal's size that do not answer at once; libssh 0.10 has no other. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void link_read_size(ssh_message message, struct sshwire_request *request)
{
    request->columns = (uint32_t)ssh_message_channel_request_pty_width(message);
    request->rows = (uint32_t)ssh_message_channel_request_pty_height(message);
    request->width = (uint32_t)ssh_message_channel_request_pty_pxwidth(message);
    request->height = (uint32_t)ssh_message_channel_request_pty_pxheight(message);
    request->text = link_text(
        request->kind == SSHWIRE_TERMINAL ? ssh_message_channel_request_pty_term(message) : NULL);
}
#pragma GCC diagnostic pop

static bool link_read_request(ssh_message message, struct sshwire_request *request)
{
    switch (ssh_message_subtype(message)) {
    case SSH_CHANNEL_REQUEST_PTY:
        request->kind = SSHWIRE_TERMINAL;
        link_read_size(message, request);
        return true;
    case SSH_CHANNEL_REQUEST_WINDOW_CHANGE:
        request->kind = SSHWIRE_RESIZE;
        link_read_size(message, request);
        return true;
    case SSH_CHANNEL_REQUEST_ENV:
        request->kind = SSHWIRE_VARIABLE;
        request->text = link_text(ssh_message_channel_request_env_name(message));
        request->value = link_text(ssh_message_channel_request_env_value(message));
        return true;
    case SSH_CHANNEL_REQUEST_SHELL:
        request->kind = SSHWIRE_SHELL;
        return true;
    case SSH_CHANNEL_REQUEST_EXEC:
        request->kind = SSHWIRE_EXEC;
        request->text = link_text(ssh_message_channel_request_command(message));
        return true;
    case SSH_CHANNEL_REQUEST_SUBSYSTEM:
        request->kind = SSHWIRE_SUBSYSTEM;
        request->text = link_text(ssh_message_channel_request_subsystem(message));
        return true;
    default:
        return false; /* the windows and the keys of a person are not for a server behind here */
    }
}

static void link_take_request(struct sshd_link *link, ssh_message take_message)
{
    struct sshwire_request request = {.kind = SSHWIRE_SHELL};
    struct sshd_channel *channel =
        sshd_channel_of(link, ssh_message_channel_request_channel(take_message));
    if (channel == NULL) {
        ssh_message_free(take_message); /* its channel is gone */
        return;
    }
    bool is_forbidden = ssh_message_subtype(take_message) == SSH_CHANNEL_REQUEST_PTY &&
                        (link->forbidden & SSHD_LINK_TERMINALS) != 0;
    if (!link->is_server || is_forbidden || !link_read_request(take_message, &request)) {
        link_refuse_message(take_message);
        return;
    }
    if (request.kind == SSHWIRE_RESIZE) {
        sshd_channel_say_request(channel, &request, false);
        ssh_message_free(take_message);
        return;
    }
    if (channel->request_count == REQUESTS_MAX) {
        link->is_broken = true;
        link_refuse_message(take_message);
        return;
    }
    channel->requests[channel->request_count++] = take_message;
    sshd_channel_say_request(channel, &request, true);
}

void sshd_link_take_message(struct sshd_link *link, ssh_message take_message)
{
    switch (ssh_message_type(take_message)) {
    case SSH_REQUEST_CHANNEL_OPEN:
        link_take_open(link, take_message);
        return;
    case SSH_REQUEST_CHANNEL:
        link_take_request(link, take_message);
        return;
    case SSH_REQUEST_GLOBAL:
        sshd_link_take_global(link, take_message);
        return;
    default:
        link_refuse_message(take_message);
        return;
    }
}

/* Frames of the other end ---------------------------------------------------------------------- */

static bool link_may_forward(const struct sshd_link *link, const struct sshwire_message *message,
                             struct sshwire_tunnel *tunnel)
{
    return !link->is_server && sshwire_tunnel_read(message->body, tunnel) == ERR_NONE &&
           tunnel->origin.len <= LIMIT_SSH_HOST_SIZE &&
           sshd_forward_allows(buf_view(&link->forward), tunnel->host, tunnel->port);
}

static bool link_takes_back(const struct sshd_link *link, const struct sshwire_message *message,
                            struct sshwire_tunnel *tunnel)
{
    return link->is_server && slice_equals(message->name, SLICE(BACK)) &&
           sshwire_tunnel_read(message->body, tunnel) == ERR_NONE &&
           tunnel->host.len <= LIMIT_SSH_HOST_SIZE && tunnel->origin.len <= LIMIT_SSH_HOST_SIZE;
}

/* Of a server's side: a channel is to be opened at it; of a client's: at what it asked for. */
static void link_take_wish(struct sshd_link *link, const struct sshwire_message *message)
{
    struct sshwire_message answer = {.type = SSHWIRE_OPEN_FAILURE,
                                     .channel = message->channel,
                                     .code = SSHWIRE_PROHIBITED,
                                     .body = SLICE("only sessions are opened here")};
    struct sshwire_tunnel tunnel = {.host = SLICE(""), .origin = SLICE("")};
    bool is_back = link_takes_back(link, message, &tunnel);
    bool is_tunnel = is_back || slice_equals(message->name, SLICE(TUNNEL));
    if (is_tunnel && !is_back && !link_may_forward(link, message, &tunnel)) {
        answer.body = SLICE("the connection allows no forward to there");
        sshd_link_say(link, &answer);
        return;
    }
    if (link->is_server != is_back ||
        !(is_tunnel || slice_equals(message->name, SLICE("session")))) {
        sshd_link_say(link, &answer);
        return;
    }
    ssh_channel handle = ssh_channel_new(link->session);
    struct sshd_channel *channel = handle == NULL ? NULL : sshd_channel_new(link);
    if (channel == NULL) {
        answer.code = SSHWIRE_SHORTAGE;
        answer.body = SLICE("there are too many channels");
        ssh_channel_free(handle);
        sshd_link_say(link, &answer);
        return;
    }
    channel->handle = handle;
    channel->peer = message->channel;
    channel->peer_window = message->window;
    if (is_tunnel) {
        channel->host = sshd_channel_text(tunnel.host);
        channel->origin = sshd_channel_text(tunnel.origin);
        channel->port = (uint16_t)tunnel.port;
        channel->origin_port = (uint16_t)tunnel.origin_port;
    }
    sshd_channel_listen(channel);
}

static void sshd_channel_take_confirmation(struct sshd_channel *channel,
                                           const struct sshwire_message *message)
{
    channel->handle = ssh_message_channel_request_open_reply_accept(channel->opening);
    must(channel->handle != NULL); /* memory is out */
    ssh_message_free(channel->opening);
    channel->opening = NULL;
    channel->is_open = true;
    channel->link->is_broken = channel->link->is_broken || !sshd_channel_is_sound(channel->handle);
    channel->peer = message->sender;
    channel->peer_window = message->window;
    sshd_channel_listen(channel);
}

static void sshd_channel_take_failure(struct sshd_channel *channel)
{
    link_refuse_message(channel->opening);
    channel->opening = NULL;
    sshd_channel_free(channel);
}

static void sshd_channel_take_answer(struct sshd_channel *channel, bool is_success)
{
    if (channel->request_count == 0) {
        return; /* the channel has been left meanwhile */
    }
    ssh_message message = channel->requests[0];
    for (size_t i = 1; i < channel->request_count; i++) {
        channel->requests[i - 1] = channel->requests[i];
    }
    channel->request_count--;
    if (is_success) {
        (void)ssh_message_channel_request_reply_success(message);
        ssh_message_free(message);
    } else {
        link_refuse_message(message);
    }
}

/* In order, behind what waits already. */
static enum err sshd_channel_queue(struct sshd_channel *channel,
                                   const struct sshwire_message *message, struct slice frame)
{
    bool is_data = message->type == SSHWIRE_DATA || message->type == SSHWIRE_EXTENDED_DATA;
    if (is_data && message->body.len > channel->window) {
        return ERR_INPUT;
    }
    channel->window -= is_data ? (uint32_t)message->body.len : 0;
    if (is_data && channel->is_open && channel->queue.len == 0 &&
        sshd_channel_write(channel, message)) {
        return ERR_NONE;
    }
    return buf_append(&channel->queue, frame);
}

static enum err sshd_channel_take(struct sshd_channel *channel,
                                  const struct sshwire_message *message, struct slice frame)
{
    if (channel->opening != NULL) {
        if (message->type == SSHWIRE_OPEN_CONFIRMATION) {
            sshd_channel_take_confirmation(channel, message);
            return ERR_NONE;
        }
        if (message->type == SSHWIRE_OPEN_FAILURE) {
            sshd_channel_take_failure(channel);
            return ERR_NONE;
        }
        return ERR_INPUT;
    }
    switch (message->type) {
    case SSHWIRE_WINDOW_ADJUST:
        channel->peer_window += message->window;
        return channel->peer_window < message->window ? ERR_INPUT : ERR_NONE;
    case SSHWIRE_SUCCESS:
    case SSHWIRE_FAILURE:
        sshd_channel_take_answer(channel, message->type == SSHWIRE_SUCCESS);
        return ERR_NONE;
    case SSHWIRE_DATA:
    case SSHWIRE_EXTENDED_DATA:
    case SSHWIRE_EOF:
    case SSHWIRE_CLOSE:
    case SSHWIRE_REQUEST:
        return sshd_channel_queue(channel, message, frame);
    case SSHWIRE_GLOBAL_REQUEST:
    case SSHWIRE_GLOBAL_SUCCESS:
    case SSHWIRE_GLOBAL_FAILURE:
    case SSHWIRE_OPEN:
    case SSHWIRE_OPEN_CONFIRMATION:
    case SSHWIRE_OPEN_FAILURE:
        return ERR_INPUT;
    }
    return ERR_INPUT;
}

static enum err link_take_frame(struct sshd_link *link, const struct sshwire_message *message,
                                struct slice frame)
{
    switch (message->type) {
    case SSHWIRE_GLOBAL_REQUEST:
        return sshd_link_take_listen(link, message);
    case SSHWIRE_GLOBAL_SUCCESS:
    case SSHWIRE_GLOBAL_FAILURE:
        return sshd_link_answer_global(link, message->type == SSHWIRE_GLOBAL_SUCCESS);
    case SSHWIRE_OPEN:
        link_take_wish(link, message);
        return ERR_NONE;
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
    if (message->channel >= link->channel_count || link->channels[message->channel] == NULL) {
        return ERR_INPUT;
    }
    return sshd_channel_take(link->channels[message->channel], message, frame);
}

/* The gateway's own last words; true: they are there, and whole. */
static bool link_take_words(struct sshd_link *link)
{
    struct slice in = buf_view(&link->in);
    struct ending_words words;
    char text[512];
    if (in.len <= SSHWIRE_HEAD_SIZE || in.at[SSHWIRE_HEAD_SIZE] != 1 ||
        !sshd_answer_read(in, &words)) {
        return false;
    }
    (void)snprintf(text, sizeof(text), "%.*s%s%.*s", SLICE_ARG(words.message),
                   words.hint.len > 0 ? ": " : "", SLICE_ARG(words.hint));
    (void)ssh_session_set_disconnect_message(link->session, text);
    buf_clear(&link->in);
    return true;
}

void sshd_link_take_frames(struct sshd_link *link)
{
    enum err err = ERR_NONE;
    while (err == ERR_NONE && link->in.len > 0) {
        struct sshwire_message message;
        size_t taken = 0;
        err = sshwire_read(buf_view(&link->in), &taken, &message);
        if (err == ERR_NONE) {
            err = link_take_frame(link, &message, slice_sub(buf_view(&link->in), 0, taken));
            buf_consume(&link->in, taken);
        }
    }
    if (err == ERR_INPUT && link_take_words(link)) {
        err = ERR_NONE;
    }
    if (err != ERR_NONE && err != ERR_MORE) {
        link->is_broken = true;
    }
}
