/* SPDX-License-Identifier: MIT */
/* One end of SSH by libssh, on a loop: its bytes come and go through a stream, its channels are
 * frames of the connection protocol (wire/ssh_message.h). A front is the server of its client, a
 * target's side the client of a server.
 *
 * libssh wants a descriptor: it has one end of a pair of sockets, the link the other. The link
 * alone moves bytes there, so nothing is polled for it, and no call blocks. A channel that is not
 * read holds no other: each has a window of its own between both ends, and the bytes that fit it.
 */
#ifndef GH_SSH_SSH_LINK_H
#define GH_SSH_SSH_LINK_H

#include "base/error.h"
#include "io/stream.h"

#include <libssh/libssh.h>

struct sshd_link;

/* What becomes of a sign-in. */
enum sshd_step {
    SSHD_STEP_WAIT, /* for bytes, or for sshd_link_wake() */
    SSHD_STEP_OPEN, /* it is done, and sshd_link_open() follows, now or later */
    SSHD_STEP_GONE, /* the owner has closed the link inside */
};

struct sshd_link_settings {
    struct stream *take_stream;
    bool is_server;
    /* Called as often as something came, until it says SSHD_STEP_OPEN: the owner calls what of
     * libssh it waits for. */
    enum sshd_step (*step)(void *owner);
    /* Before it is open: the connection has ended; sshd_link_close() follows. */
    void (*on_lost)(void *owner);
    void *owner;
};

/* ERR_UNAVAILABLE: there are no descriptors left; the stream is closed. */
enum err sshd_link_new(const struct sshd_link_settings *settings, struct sshd_link **ret_link,
                       struct error *reterr) MUST_USE;
/* The session, for the owner's calls; it does not block. */
ssh_session sshd_link_session(struct sshd_link *link);
/* The descriptor that libssh is to have, once: whoever asks gives it to libssh, which closes it. */
int sshd_link_take_fd(struct sshd_link *link);
/* How much has come in packets, of whatever kind. */
uint64_t sshd_link_packet_bytes(const struct sshd_link *link);
/* The step is to be tried again. */
void sshd_link_wake(struct sshd_link *link);
/* Of a target's side: what the connection lets clients have of it, in patterns that are copied. */
struct sshd_allowed {
    struct slice forward;   /* ports: see ssh_forward.h */
    struct slice back;      /* likewise, that it listens at for a client */
    struct slice variables; /* see ssh_environment.h */
};
/* None of these, when it is not called. */
void sshd_link_allow(struct sshd_link *link, const struct sshd_allowed *allowed);
/* Of a front: what this client may not have, whatever its connection allows. */
enum sshd_link_forbidden {
    SSHD_LINK_TERMINALS = 1,
    SSHD_LINK_TUNNELS = 2,
};
void sshd_link_forbid(struct sshd_link *link, unsigned forbidden);
/* The channels from now on, as frames both ways; the link lives as long as this stream. */
struct stream *sshd_link_open(struct sshd_link *link);
/* Tells the other end, in words, why it is left, and closes as soon as that is out. */
void sshd_link_leave(struct sshd_link *link, const char *words);
/* At once, without a callback. */
void sshd_link_close(struct sshd_link *link);

#endif
