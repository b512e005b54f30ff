/* SPDX-License-Identifier: MIT */
/* SSH: the gateway ends the client's transport at its front, and a target's where the secret is; in
 * between pass the connection protocol's messages as frames (wire/ssh_message.h). Symbols begin
 * with sshd_ on the gateway's side, for ssh_ is libssh's. */
#ifndef GH_SSH_SSH_H
#define GH_SSH_SSH_H

#include "protocol/protocol.h"

extern const struct protocol sshd_protocol;

extern const struct catalog_ops sshd_catalog_ops; /* a test of the way alone */
extern const struct front_ops sshd_front_ops;
extern const struct passage_ops sshd_passage_ops;
extern const struct replay_ops sshd_replay_ops;

struct opening *sshd_open_start(const struct dial_context *context,
                                const struct open_request *request, opened_fn on_done, void *owner);
/* Opens the private key, if there is one. */
enum err sshd_place_prepare(struct arena *arena, struct place *place,
                            struct error *reterr) MUST_USE;

/* What a front calls itself, by which a target knows that it is one. */
#define SSHD_SOFTWARE "Gatehouse"

#define SSHD_ANSWER_SIZE_MAX 8192

/* The words of an answer as an SSH_MSG_DISCONNECT's frame without its transport, and back. */
enum err sshd_answer_write(const struct ending_words *words, char code[TARGET_CODE_SIZE],
                           struct buf *buf) MUST_USE;
bool sshd_answer_read(struct slice answer, struct ending_words *ret_words);

#endif
