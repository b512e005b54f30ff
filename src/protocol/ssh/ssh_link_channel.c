/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "base/must.h"
#include "protocol/ssh/ssh.h"
#include "protocol/ssh/ssh_environment.h"
#include "protocol/ssh/ssh_link_internal.h"

#include <stdio.h>
#include <stdlib.h>

void sshd_link_say(struct sshd_link *link, const struct sshwire_message *message)
{
    if (sshwire_write(&link->out, message) != ERR_NONE) {
        link->is_broken = true; /* data has its own limit: somebody floods it */
    }
}

/* Behind its close nothing is said of a channel: the other end may have forgotten it by then. */
static void sshd_channel_say_message(struct sshd_channel *channel,
                                     const struct sshwire_message *message)
{
    if (!channel->told_close) {
        sshd_link_say(channel->link, message);
    }
}

void sshd_channel_say(struct sshd_channel *channel, enum sshwire_type type)
{
    const struct sshwire_message message = {.type = type, .channel = channel->peer};
    sshd_channel_say_message(channel, &message);
}

void sshd_channel_say_request(struct sshd_channel *channel, const struct sshwire_request *request,
                              bool wants_reply)
{
    struct buf body;
    buf_init(&body, LIMIT_SSH_FRAME_SIZE);
    struct sshwire_message message = {.type = SSHWIRE_REQUEST,
                                      .channel = channel->peer,
                                      .name = sshwire_request_name(request->kind),
                                      .wants_reply = wants_reply};
    if (sshwire_request_write(&body, request) != ERR_NONE) {
        channel->link->is_broken = true;
    } else {
        message.body = buf_view(&body);
        sshd_channel_say_message(channel, &message);
    }
    buf_release(&body);
}

/* What libssh tells of a channel --------------------------------------------------------------- */

/* As much as the other end takes now. */
static void sshd_channel_pass(struct sshd_channel *channel, int is_stderr, struct slice *bytes)
{
    struct sshd_link *link = channel->link;
    while (bytes->len > 0 && channel->peer_window > 0 && link->out.len < LIMIT_SSH_OUT_SIZE) {
        size_t room =
            channel->peer_window < SSHD_PIECE_SIZE ? channel->peer_window : SSHD_PIECE_SIZE;
        struct slice piece = slice_sub(*bytes, 0, room);
        const struct sshwire_message message = {.type = is_stderr != 0 ? SSHWIRE_EXTENDED_DATA
                                                                       : SSHWIRE_DATA,
                                                .channel = channel->peer,
                                                .code = is_stderr != 0 ? SSHWIRE_STDERR : 0,
                                                .body = piece};
        channel->peer_window -= (uint32_t)piece.len;
        *bytes = slice_from(*bytes, piece.len);
        sshd_link_say(link, &message);
    }
}

/* libssh grants a window of its own as soon as it has got rid of its bytes, whatever else is held:
 * so it is rid of them as long as few are held here, and then not before all here are gone. What
 * comes is said only after the requests before it, which are asked for when all was read. */
static int sshd_channel_on_data(ssh_session session, ssh_channel handle, void *data, uint32_t len,
                                int is_stderr, void *owner)
{
    struct sshd_channel *channel = owner;
    struct buf *held = &channel->held[is_stderr != 0 ? 1 : 0];
    (void)session;
    (void)handle;
    if (len > LIMIT_SSH_BUFFERED) {
        channel->link->is_broken = true; /* beyond its window, which libssh does not hold it to */
        return 0;
    }
    if (channel->left) {
        return (int)len; /* nobody is there who would take it */
    }
    if (held->len > LIMIT_SSH_HELD || channel->is_stuck[is_stderr != 0 ? 1 : 0]) {
        channel->is_stuck[is_stderr != 0 ? 1 : 0] = true;
        return 0;
    }
    struct slice bytes = slice_of(data, len);
    if (held->len == 0 && !channel->link->is_server && channel->is_open && !channel->told_close) {
        sshd_channel_pass(channel, is_stderr != 0 ? 1 : 0, &bytes); /* a server asks for nothing */
    }
    must(buf_append(held, bytes) == ERR_NONE); /* it has room for both */
    return (int)len;
}

static void sshd_channel_on_eof(ssh_session session, ssh_channel handle, void *owner)
{
    struct sshd_channel *channel = owner;
    (void)session;
    (void)handle;
    channel->has_eof = true;
}

static void sshd_channel_on_close(ssh_session session, ssh_channel handle, void *owner)
{
    struct sshd_channel *channel = owner;
    (void)session;
    (void)handle;
    channel->has_closed = true;
}

static void sshd_channel_on_signal(ssh_session session, ssh_channel handle, const char *name,
                                   void *owner)
{
    const struct sshwire_request request = {.kind = SSHWIRE_SIGNAL, .text = slice_of_text(name)};
    (void)session;
    (void)handle;
    sshd_channel_say_request(owner, &request, false);
}

static void sshd_channel_on_exit_status(ssh_session session, ssh_channel handle, int status,
                                        void *owner)
{
    struct sshd_channel *channel = owner;
    (void)session;
    (void)handle;
    channel->exit.has_status = true;
    channel->exit.status = (uint32_t)status;
}

/* check-sizes: given parameters */
static void sshd_channel_on_exit_signal(ssh_session session, ssh_channel handle, const char *name,
                                        int core, const char *words, const char *language,
                                        void *owner)
{
    struct sshd_exit *exit = &((struct sshd_channel *)owner)->exit;
    (void)session;
    (void)handle;
    (void)language;
    exit->has_signal = true;
    exit->is_core_dumped = core != 0;
    (void)snprintf(exit->signal, sizeof(exit->signal), "%s", name);
    (void)snprintf(exit->words, sizeof(exit->words), "%s", words);
}

void sshd_channel_listen(struct sshd_channel *channel)
{
    channel->callbacks = (struct ssh_channel_callbacks_struct){
        .userdata = channel,
        .channel_data_function = sshd_channel_on_data,
        .channel_eof_function = sshd_channel_on_eof,
        .channel_close_function = sshd_channel_on_close,
        .channel_signal_function = sshd_channel_on_signal,
        .channel_exit_status_function = sshd_channel_on_exit_status,
        .channel_exit_signal_function = sshd_channel_on_exit_signal,
    };
    ssh_callbacks_init(&channel->callbacks);
    must(ssh_add_channel_callbacks(channel->handle, &channel->callbacks) == SSH_OK);
}

/* Channels ------------------------------------------------------------------------------------ */

struct sshd_channel *sshd_channel_new(struct sshd_link *link)
{
    size_t place = 0;
    while (place < LIMIT_SSH_CHANNELS && link->channels[place] != NULL) {
        place++;
    }
    if (place == LIMIT_SSH_CHANNELS) {
        return NULL;
    }
    struct sshd_channel *channel = memory_new(sizeof(*channel));
    channel->link = link;
    channel->number = (uint32_t)place;
    channel->window = LIMIT_SSH_WINDOW;
    buf_init(&channel->queue, 2 * LIMIT_SSH_WINDOW + LIMIT_KIB(128));
    buf_init(&channel->held[0], 2 * LIMIT_SSH_BUFFERED);
    buf_init(&channel->held[1], 2 * LIMIT_SSH_BUFFERED);
    link->channels[place] = channel;
    link->channel_count = place < link->channel_count ? link->channel_count : place + 1;
    return channel;
}

void sshd_channel_free(struct sshd_channel *channel)
{
    channel->link->channels[channel->number] = NULL;
    for (size_t i = 0; i < channel->request_count; i++) {
        ssh_message_free(channel->requests[i]);
    }
    ssh_message_free(channel->opening);
    memory_free(channel->host);
    memory_free(channel->origin);
    buf_release(&channel->queue);
    buf_release(&channel->held[0]);
    buf_release(&channel->held[1]);
    memory_free(channel);
}

void sshd_link_free_channels(struct sshd_link *link)
{
    for (size_t i = 0; i < link->channel_count; i++) {
        if (link->channels[i] != NULL) {
            sshd_channel_free(link->channels[i]);
        }
    }
    link->channel_count = 0;
}

struct sshd_channel *sshd_channel_of(struct sshd_link *link, ssh_channel handle)
{
    for (size_t i = 0; i < link->channel_count; i++) {
        struct sshd_channel *channel = link->channels[i];
        if (channel != NULL && channel->handle != NULL && channel->handle == handle) {
            return channel;
        }
    }
    return NULL;
}

static void sshd_channel_leave(struct sshd_channel *channel)
{
    /* An answer that comes after this would be to a channel that is gone. */
    for (size_t i = 0; i < channel->request_count; i++) {
        ssh_message_free(channel->requests[i]);
    }
    channel->request_count = 0;
    ssh_remove_channel_callbacks(channel->handle, &channel->callbacks);
    ssh_channel_free(channel->handle);
    channel->handle = NULL;
}

/* From frames to libssh ------------------------------------------------------------------------ */

static int sshd_channel_request_at_server(struct sshd_channel *channel,
                                          const struct sshwire_request *request, const char *text,
                                          const char *value)
{
    ssh_channel handle = channel->handle;
    switch (request->kind) {
    case SSHWIRE_TERMINAL:
        return ssh_channel_request_pty_size(handle, text, (int)request->columns,
                                            (int)request->rows);
    case SSHWIRE_RESIZE:
        return ssh_channel_change_pty_size(handle, (int)request->columns, (int)request->rows);
    case SSHWIRE_VARIABLE:
        return sshd_environment_allows(buf_view(&channel->link->variables), request->text)
                   ? ssh_channel_request_env(handle, text, value)
                   : SSH_ERROR;
    case SSHWIRE_SHELL:
        return ssh_channel_request_shell(handle);
    case SSHWIRE_EXEC:
        return ssh_channel_request_exec(handle, text);
    case SSHWIRE_SUBSYSTEM:
        return ssh_channel_request_subsystem(handle, text);
    case SSHWIRE_SIGNAL:
        return ssh_channel_request_send_signal(handle, text);
    case SSHWIRE_BREAK:
        return ssh_channel_request_send_break(handle, request->code);
    case SSHWIRE_EXIT_STATUS:
    case SSHWIRE_EXIT_SIGNAL:
        break;
    }
    return SSH_ERROR;
}

static int sshd_channel_tell_client(struct sshd_channel *channel,
                                    const struct sshwire_request *request, const char *text,
                                    const char *value)
{
    if (request->kind == SSHWIRE_EXIT_STATUS) {
        return ssh_channel_request_send_exit_status(channel->handle, (int)request->code);
    }
    if (request->kind == SSHWIRE_EXIT_SIGNAL) {
        return ssh_channel_request_send_exit_signal(channel->handle, text,
                                                    request->is_core_dumped ? 1 : 0, value, "");
    }
    return SSH_ERROR;
}

char *sshd_channel_text(struct slice text)
{
    bool is_text = slice_find_byte(text, '\0') == text.len;
    char *copy = memory_new(text.len + 1);
    memcpy(copy, text.at == NULL ? "" : text.at, is_text ? text.len : 0);
    return copy;
}

/* False: the server has not answered yet. */
static bool sshd_channel_do_request(struct sshd_channel *channel,
                                    const struct sshwire_message *message)
{
    struct sshwire_request request;
    int result = SSH_ERROR;
    if (sshwire_request_read(message->name, message->body, &request) == ERR_NONE) {
        char *text = sshd_channel_text(request.text);
        char *value = sshd_channel_text(request.value);
        bool is_whole = strlen(text) == request.text.len && strlen(value) == request.value.len;
        if (request.kind == SSHWIRE_TERMINAL) {
            is_whole = strlen(text) == request.text.len;
        }
        if (is_whole) {
            result = channel->link->is_server
                         ? sshd_channel_tell_client(channel, &request, text, value)
                         : sshd_channel_request_at_server(channel, &request, text, value);
        }
        memory_free(text);
        memory_free(value);
    }
    if (result == SSH_AGAIN) {
        return false;
    }
    if (message->wants_reply) {
        sshd_channel_say(channel, result == SSH_OK ? SSHWIRE_SUCCESS : SSHWIRE_FAILURE);
    }
    return true;
}

/* False: no more can be written now. */
static bool sshd_channel_do_data(struct sshd_channel *channel,
                                 const struct sshwire_message *message)
{
    struct slice left = slice_from(message->body, channel->offset);
    int written = 0;
    if (channel->link->is_broken || !sshd_link_has_room(channel->link)) {
        return false;
    }
    struct slice piece = slice_sub(left, 0, SSHD_PIECE_SIZE);
    if (piece.len > 0) {
        written = message->type == SSHWIRE_DATA
                      ? ssh_channel_write(channel->handle, piece.at, (uint32_t)piece.len)
                      : ssh_channel_write_stderr(channel->handle, piece.at, (uint32_t)piece.len);
    }
    if (written < 0) {
        written = (int)left.len; /* the channel is closed there: nobody reads it any more */
    }
    channel->offset += (size_t)written;
    channel->taken += (uint32_t)written;
    return channel->offset == message->body.len;
}

static void sshd_channel_grant(struct sshd_channel *channel)
{
    if (channel->taken >= LIMIT_SSH_WINDOW / 2) {
        const struct sshwire_message message = {
            .type = SSHWIRE_WINDOW_ADJUST, .channel = channel->peer, .window = channel->taken};
        channel->window += channel->taken;
        channel->taken = 0;
        sshd_channel_say_message(channel, &message);
    }
}

bool sshd_channel_write(struct sshd_channel *channel, const struct sshwire_message *message)
{
    bool is_done = channel->handle == NULL || sshd_channel_do_data(channel, message);
    if (is_done) {
        channel->offset = 0;
        sshd_channel_grant(channel);
    }
    return is_done;
}

/* False: it waits. */
static bool sshd_channel_do(struct sshd_channel *channel, const struct sshwire_message *message)
{
    if (channel->handle == NULL) {
        return true;
    }
    switch (message->type) {
    case SSHWIRE_DATA:
    case SSHWIRE_EXTENDED_DATA:
        return sshd_channel_do_data(channel, message);
    case SSHWIRE_EOF:
        (void)ssh_channel_send_eof(channel->handle);
        return true;
    case SSHWIRE_CLOSE:
        (void)ssh_channel_close(channel->handle);
        channel->left = true;
        return true;
    case SSHWIRE_REQUEST:
        return sshd_channel_do_request(channel, message);
    case SSHWIRE_GLOBAL_REQUEST:
    case SSHWIRE_GLOBAL_SUCCESS:
    case SSHWIRE_GLOBAL_FAILURE:
    case SSHWIRE_OPEN:
    case SSHWIRE_OPEN_CONFIRMATION:
    case SSHWIRE_OPEN_FAILURE:
    case SSHWIRE_WINDOW_ADJUST:
    case SSHWIRE_SUCCESS:
    case SSHWIRE_FAILURE:
        break;
    }
    return true;
}

static void sshd_channel_apply(struct sshd_channel *channel)
{
    struct sshwire_message message;
    size_t taken = 0;
    bool goes_on = true;
    while (goes_on && sshwire_read(buf_view(&channel->queue), &taken, &message) == ERR_NONE) {
        goes_on = sshd_channel_do(channel, &message);
        if (goes_on) {
            channel->offset = 0;
            buf_consume(&channel->queue, taken);
        }
    }
    sshd_channel_grant(channel);
}

/* From libssh to frames ------------------------------------------------------------------------ */

/* What libssh has kept meanwhile; all of it, for it grants a new window for the first byte. */
static void sshd_channel_take_kept(struct sshd_channel *channel, int is_stderr)
{
    struct buf *held = &channel->held[is_stderr];
    int len = 1;
    channel->is_stuck[is_stderr] = false;
    while (len > 0) {
        char *at = NULL;
        must(buf_reserve(held, SSHD_PIECE_SIZE, &at) == ERR_NONE); /* it kept less */
        len = ssh_channel_read_nonblocking(channel->handle, at, SSHD_PIECE_SIZE, is_stderr);
        buf_commit(held, len > 0 ? (size_t)len : 0);
        len = len == SSHD_PIECE_SIZE ? len : 0;
    }
}

static void sshd_channel_collect_data(struct sshd_channel *channel, int is_stderr)
{
    struct buf *held = &channel->held[is_stderr];
    bool goes_on = true;
    if (channel->left) {
        channel->is_stuck[is_stderr] = false;
        buf_consume(held, held->len);
    }
    while (goes_on) {
        struct slice bytes = buf_view(held);
        sshd_channel_pass(channel, is_stderr, &bytes);
        buf_consume(held, held->len - bytes.len);
        goes_on = held->len == 0 && channel->is_stuck[is_stderr];
        if (goes_on) {
            sshd_channel_take_kept(channel, is_stderr);
        }
    }
}

static void sshd_channel_tell_exit(struct sshd_channel *channel)
{
    struct sshd_exit *exit = &channel->exit;
    const struct sshwire_request request = {
        .kind = exit->has_signal ? SSHWIRE_EXIT_SIGNAL : SSHWIRE_EXIT_STATUS,
        .text = exit->has_signal ? slice_of_text(exit->signal) : SLICE(""),
        .value = exit->has_signal ? slice_of_text(exit->words) : SLICE(""),
        .language = SLICE(""),
        .code = exit->status,
        .is_core_dumped = exit->is_core_dumped,
    };
    if (exit->has_signal || exit->has_status) {
        sshd_channel_say_request(channel, &request, false);
        exit->has_signal = exit->has_status = false;
    }
}

static void sshd_channel_collect(struct sshd_channel *channel)
{
    if (channel->handle == NULL || channel->told_close) {
        return;
    }
    sshd_channel_collect_data(channel, 0);
    sshd_channel_collect_data(channel, 1);
    if (channel->held[0].len > 0 || channel->held[1].len > 0) {
        return;
    }
    sshd_channel_tell_exit(channel);
    if (channel->has_eof && !channel->told_eof) {
        channel->told_eof = true;
        sshd_channel_say(channel, SSHWIRE_EOF);
    }
    if (channel->has_closed) {
        sshd_channel_say(channel, SSHWIRE_CLOSE);
        channel->told_close = true;
    }
}

/* Of a server's side: the server is asked for it, or has answered. False: the channel is gone. */
static bool sshd_channel_try_open(struct sshd_channel *channel)
{
    struct sshd_link *link = channel->link;
    int result =
        channel->host == NULL ? ssh_channel_open_session(channel->handle)
        : link->is_server
            ? ssh_channel_open_reverse_forward(channel->handle, channel->host, channel->port,
                                               channel->origin, channel->origin_port)
            : ssh_channel_open_forward(channel->handle, channel->host, channel->port,
                                       channel->origin, channel->origin_port);
    struct sshwire_message answer = {.type = SSHWIRE_OPEN_CONFIRMATION,
                                     .channel = channel->peer,
                                     .sender = channel->number,
                                     .window = LIMIT_SSH_WINDOW,
                                     .packet_size = SSHD_PIECE_SIZE};
    if (result == SSH_AGAIN) {
        return true;
    }
    if (result == SSH_OK && ssh_channel_is_open(channel->handle) != 0) {
        channel->is_open = true;
        link->is_broken = link->is_broken || !sshd_channel_is_sound(channel->handle);
        sshd_link_say(link, &answer);
        return true;
    }
    answer =
        (struct sshwire_message){.type = SSHWIRE_OPEN_FAILURE,
                                 .channel = channel->peer,
                                 .code = SSHWIRE_CONNECT_FAILED,
                                 .body = link->is_server ? SLICE("the client does not open it")
                                                         : SLICE("the server does not open it")};
    sshd_link_say(link, &answer);
    sshd_channel_leave(channel);
    sshd_channel_free(channel);
    return false;
}

static void sshd_channel_serve(struct sshd_channel *channel)
{
    if (channel->opening != NULL || (!channel->is_open && !sshd_channel_try_open(channel))) {
        return;
    }
    if (channel->is_open) {
        sshd_channel_apply(channel);
        sshd_channel_collect(channel);
    }
    /* A client may close before it has heard how its command ended (Dropbear does). */
    if (channel->told_close && channel->left) {
        sshd_channel_leave(channel);
        sshd_channel_free(channel);
    }
}

void sshd_link_serve(struct sshd_link *link)
{
    size_t count = link->channel_count;
    for (size_t i = 0; i < count && !link->is_broken; i++) {
        struct sshd_channel *channel = link->channels[(link->first + i) % count];
        if (channel != NULL) {
            sshd_channel_serve(channel);
        }
    }
    link->first = count == 0 ? 0 : (link->first + 1) % count;
    while (link->channel_count > 0 && link->channels[link->channel_count - 1] == NULL) {
        link->channel_count--;
    }
}

bool sshd_link_is_drained(const struct sshd_link *link)
{
    bool is_drained =
        link->in.len == 0 && link->raw_out.len == 0 && (link->is_ended || sshd_link_has_room(link));
    for (size_t i = 0; i < link->channel_count && !link->is_ended; i++) {
        is_drained = is_drained && (link->channels[i] == NULL || link->channels[i]->queue.len == 0);
    }
    return is_drained;
}

static void link_rest_buf(struct buf *buf)
{
    if (buf->len == 0) {
        buf_clear(buf);
    }
}

void sshd_link_rest(struct sshd_link *link)
{
    link_rest_buf(&link->raw_in);
    link_rest_buf(&link->raw_out);
    link_rest_buf(&link->in);
    link_rest_buf(&link->out);
    for (size_t i = 0; i < link->channel_count; i++) {
        struct sshd_channel *channel = link->channels[i];
        if (channel != NULL) {
            link_rest_buf(&channel->queue);
            link_rest_buf(&channel->held[0]);
            link_rest_buf(&channel->held[1]);
        }
    }
}
