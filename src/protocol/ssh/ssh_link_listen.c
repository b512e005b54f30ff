/* SPDX-License-Identifier: MIT */
/* Forwards back (tcpip-forward): what a client asks for, and a server answers, in order. libssh
 * asks a server for one thing at a time. */
#include "base/memory.h"
#include "protocol/ssh/ssh_forward.h"
#include "protocol/ssh/ssh_link_internal.h"

#include <stdio.h>

static const struct slice listen_names[] = {SLICE_INIT("cancel-tcpip-forward"),
                                            SLICE_INIT("tcpip-forward")};

/* Of a front ----------------------------------------------------------------------------------- */

static void link_refuse_global(ssh_message take_message)
{
    (void)ssh_message_reply_default(take_message);
    ssh_message_free(take_message);
}

void sshd_link_take_global(struct sshd_link *link, ssh_message take_message)
{
    int kind = ssh_message_subtype(take_message);
    const char *address = ssh_message_global_request_address(take_message);
    const struct sshwire_forward forward = {
        .address = address == NULL ? SLICE("") : slice_of_text(address),
        .port = (uint32_t)ssh_message_global_request_port(take_message),
    };
    bool is_listen = kind == SSH_GLOBAL_REQUEST_TCPIP_FORWARD;
    struct buf body;
    buf_init(&body, LIMIT_KIB(1));
    if (!link->is_server || !link->is_open ||
        !(is_listen || kind == SSH_GLOBAL_REQUEST_CANCEL_TCPIP_FORWARD) ||
        (link->forbidden & SSHD_LINK_TUNNELS) != 0 || link->global_count == SSHD_GLOBALS ||
        forward.address.len > LIMIT_SSH_HOST_SIZE ||
        sshwire_forward_write(&body, &forward) != ERR_NONE) {
        /* Behind one that waits its answer would be taken for that one's. */
        link->is_broken = link->is_broken || link->global_count > 0;
        link_refuse_global(take_message);
    } else {
        const struct sshwire_message message = {.type = SSHWIRE_GLOBAL_REQUEST,
                                                .name = listen_names[is_listen ? 1 : 0],
                                                .wants_reply = true,
                                                .body = buf_view(&body)};
        link->globals[link->global_count++] = take_message;
        sshd_link_say(link, &message);
    }
    buf_release(&body);
}

enum err sshd_link_answer_global(struct sshd_link *link, bool is_success)
{
    if (link->global_count == 0) {
        return link->is_server ? ERR_INPUT : ERR_NONE;
    }
    ssh_message message = link->globals[0];
    link->global_count--;
    for (size_t i = 0; i < link->global_count; i++) {
        link->globals[i] = link->globals[i + 1];
    }
    if (is_success) {
        (void)ssh_message_global_request_reply_success(
            message, (uint16_t)ssh_message_global_request_port(message));
        ssh_message_free(message);
    } else {
        link_refuse_global(message);
    }
    return ERR_NONE;
}

void sshd_link_free_globals(struct sshd_link *link)
{
    for (size_t i = 0; i < link->global_count; i++) {
        ssh_message_free(link->globals[i]);
    }
    link->global_count = 0;
}

/* Of a target's side --------------------------------------------------------------------------- */

enum err sshd_link_take_listen(struct sshd_link *link, const struct sshwire_message *message)
{
    struct sshwire_forward forward = {.address = SLICE("")};
    bool is_listen = slice_equals(message->name, listen_names[1]);
    bool is_known = !link->is_server && message->wants_reply &&
                    (is_listen || slice_equals(message->name, listen_names[0])) &&
                    sshwire_forward_read(message->body, &forward) == ERR_NONE;
    if (!message->wants_reply) {
        return ERR_NONE;
    }
    if (link->listen_count == SSHD_GLOBALS) {
        return ERR_LIMIT;
    }
    if (link->listens == NULL) {
        link->listens = memory_new_array(SSHD_GLOBALS, sizeof(*link->listens));
    }
    struct sshd_listen *listen = &link->listens[link->listen_count++];
    *listen = (struct sshd_listen){.is_listen = is_listen, .port = (int)forward.port};
    /* An address that is not allowed has no listener that could be taken away either. */
    if (is_known && sshd_forward_allows(buf_view(&link->back), forward.address, forward.port)) {
        (void)snprintf(listen->address, sizeof(listen->address), "%.*s",
                       SLICE_ARG(forward.address));
    }
    return ERR_NONE;
}

void sshd_link_serve_listens(struct sshd_link *link)
{
    while (link->listen_count > 0) {
        struct sshd_listen *listen = &link->listens[0];
        int result =
            listen->address[0] == '\0' ? SSH_ERROR
            : listen->is_listen
                ? ssh_channel_listen_forward(link->session, listen->address, listen->port, NULL)
                : ssh_channel_cancel_forward(link->session, listen->address, listen->port);
        if (result == SSH_AGAIN) {
            return;
        }
        const struct sshwire_message answer = {.type = result == SSH_OK ? SSHWIRE_GLOBAL_SUCCESS
                                                                        : SSHWIRE_GLOBAL_FAILURE,
                                               .body = SLICE("")};
        sshd_link_say(link, &answer);
        link->listen_count--;
        for (size_t i = 0; i < link->listen_count; i++) {
            link->listens[i] = link->listens[i + 1];
        }
    }
}
