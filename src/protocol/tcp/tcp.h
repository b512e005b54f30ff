/* SPDX-License-Identifier: MIT */
/* Bytes of any kind to a target, for protocols that the gateway does not speak: who connects is
 * known, what passes is counted and, where the connection asks for it, recorded. No rule about what
 * is said can be held, and none is taken. */
#ifndef GH_TCP_TCP_H
#define GH_TCP_TCP_H

#include "protocol/protocol.h"

extern const struct protocol tcp_protocol;

/* A client comes with TLS, names the connection as the server that it wants (SNI), and begins with
 * one line:
 *   GATEHOUSE <secret>[ <connection>]\n
 * where the second name is for those that are no name of a host. It is answered with one, after
 * which all bytes are the target's:
 *   GATEHOUSE OK\n
 *   GATEHOUSE ERROR <words>\n    and the end */
#define TCP_GREETING        "GATEHOUSE "
#define TCP_OK              "GATEHOUSE OK\n"
#define TCP_ERROR           "GATEHOUSE ERROR "
#define TCP_LINE_SIZE_MAX   1024
#define TCP_ANSWER_SIZE_MAX 8192
#define TCP_WORDS_SIZE_MAX  400 /* of a message and of a hint, before what is odd is escaped */

struct tcp_line {
    struct slice secret;
    struct slice name; /* empty: as TLS says */
};

/* The client's line without its end; views. False: it is none. */
bool tcp_line_read(struct slice line, struct tcp_line *ret_line);

extern const struct front_ops tcp_front_ops;
extern const struct passage_ops tcp_passage_ops;

struct opening *tcp_open_start(const struct dial_context *context,
                               const struct open_request *request, opened_fn on_done, void *owner);

/* The words of an answer as the line above, and back. */
enum err tcp_answer_write(const struct ending_words *words, char code[TARGET_CODE_SIZE],
                          struct buf *buf) MUST_USE;
bool tcp_answer_read(struct slice answer, struct ending_words *ret_words);

#endif
