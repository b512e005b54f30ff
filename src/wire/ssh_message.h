/* SPDX-License-Identifier: MIT */
/* SSH's connection protocol (RFC 4254) as frames: a length of four bytes, then a message as the RFC
 * has it, without the transport's encryption around it. Symbols begin with sshwire_, for ssh_ is
 * libssh's. Numbers beyond the connection protocol are no message here. Pure. */
#ifndef GH_WIRE_SSH_MESSAGE_H
#define GH_WIRE_SSH_MESSAGE_H

#include "base/buf.h"
#include "base/limits.h"

#include <stdint.h>

#define SSHWIRE_HEAD_SIZE 4

enum sshwire_type {
    SSHWIRE_GLOBAL_REQUEST = 80,
    SSHWIRE_GLOBAL_SUCCESS = 81,
    SSHWIRE_GLOBAL_FAILURE = 82,
    SSHWIRE_OPEN = 90,
    SSHWIRE_OPEN_CONFIRMATION = 91,
    SSHWIRE_OPEN_FAILURE = 92,
    SSHWIRE_WINDOW_ADJUST = 93,
    SSHWIRE_DATA = 94,
    SSHWIRE_EXTENDED_DATA = 95,
    SSHWIRE_EOF = 96,
    SSHWIRE_CLOSE = 97,
    SSHWIRE_REQUEST = 98,
    SSHWIRE_SUCCESS = 99,
    SSHWIRE_FAILURE = 100,
};

/* Of SSHWIRE_OPEN_FAILURE. */
enum sshwire_open_reason {
    SSHWIRE_PROHIBITED = 1,
    SSHWIRE_CONNECT_FAILED = 2,
    SSHWIRE_UNKNOWN_KIND = 3,
    SSHWIRE_SHORTAGE = 4,
};

/* Of SSHWIRE_EXTENDED_DATA. */
#define SSHWIRE_STDERR 1

/* What a type has not is 0 or empty. Texts are views of what was read. */
struct sshwire_message {
    enum sshwire_type type;
    uint32_t channel;     /* the recipient's number; of SSHWIRE_OPEN the sender's */
    uint32_t sender;      /* of SSHWIRE_OPEN_CONFIRMATION: the sender's number */
    uint32_t window;      /* at the start; of SSHWIRE_WINDOW_ADJUST what comes to it */
    uint32_t packet_size; /* the most that one message of data may have */
    uint32_t code;        /* the kind of extended data; why a channel was not opened */
    bool wants_reply;     /* of requests */
    struct slice name;    /* of a request, or of the kind of channel */
    struct slice body;    /* data; words; or what else a request, an open or an answer says */
    struct slice language;
};

/* Takes the frame that 'bytes' begin with. ERR_MORE: it is not whole; ERR_INPUT: there is none of
 * that number and size, or something is left over. */
enum err sshwire_read(struct slice bytes, size_t *ret_taken,
                      struct sshwire_message *ret_message) MUST_USE;
/* ERR_LIMIT: the buffer is full, or the frame would be longer than LIMIT_SSH_FRAME_SIZE. */
enum err sshwire_write(struct buf *buf, const struct sshwire_message *message) MUST_USE;

/* Requests ------------------------------------------------------------------------------------ */

/* X(NAME, text): those of a channel whose bodies are known. */
#define SSHWIRE_REQUESTS(X)                                                                        \
    X(SSHWIRE_TERMINAL, "pty-req")                                                                 \
    X(SSHWIRE_RESIZE, "window-change")                                                             \
    X(SSHWIRE_VARIABLE, "env")                                                                     \
    X(SSHWIRE_SHELL, "shell")                                                                      \
    X(SSHWIRE_EXEC, "exec")                                                                        \
    X(SSHWIRE_SUBSYSTEM, "subsystem")                                                              \
    X(SSHWIRE_SIGNAL, "signal")                                                                    \
    X(SSHWIRE_BREAK, "break")                                                                      \
    X(SSHWIRE_EXIT_STATUS, "exit-status")                                                          \
    X(SSHWIRE_EXIT_SIGNAL, "exit-signal")

#define SSHWIRE_REQUEST_ENUM(name, text) name,
enum sshwire_request_kind { SSHWIRE_REQUESTS(SSHWIRE_REQUEST_ENUM) };
#undef SSHWIRE_REQUEST_ENUM

struct sshwire_request {
    enum sshwire_request_kind kind;
    struct slice text;     /* TERM, the variable's name, command, subsystem, or signal */
    struct slice value;    /* of the variable; modes of the terminal; words of an exit-signal */
    struct slice language; /* of those words */
    uint32_t columns;
    uint32_t rows;
    uint32_t width; /* in pixels */
    uint32_t height;
    uint32_t code; /* exit-status; milliseconds of a break */
    bool is_core_dumped;
};

/* Name and body of a SSHWIRE_REQUEST. ERR_NOT_FOUND: no request of that name is known here;
 * ERR_INPUT: its body is not right. */
enum err sshwire_request_read(struct slice name, struct slice body,
                              struct sshwire_request *ret_request) MUST_USE;
struct slice sshwire_request_name(enum sshwire_request_kind kind);
/* The body alone. */
enum err sshwire_request_write(struct buf *buf, const struct sshwire_request *request) MUST_USE;

/* Tunnels ------------------------------------------------------------------------------------- */

/* What an open of "direct-tcpip" or "forwarded-tcpip" says. */
struct sshwire_tunnel {
    struct slice host;
    uint32_t port;
    struct slice origin;
    uint32_t origin_port;
};

enum err sshwire_tunnel_read(struct slice body, struct sshwire_tunnel *ret_tunnel) MUST_USE;
enum err sshwire_tunnel_write(struct buf *buf, const struct sshwire_tunnel *tunnel) MUST_USE;

/* What a request of "tcpip-forward" or "cancel-tcpip-forward" says. */
struct sshwire_forward {
    struct slice address;
    uint32_t port;
};

enum err sshwire_forward_read(struct slice body, struct sshwire_forward *ret_forward) MUST_USE;
enum err sshwire_forward_write(struct buf *buf, const struct sshwire_forward *forward) MUST_USE;

#endif
