/* SPDX-License-Identifier: MIT */
/* What a gateway asks of an agent that is another process, and what that answers, as JSON in the
 * messages of a protocol's channels (docs/agent-protocol.md). Bytes that need not be text are in
 * base64. Unknown members are passed over. Pure: bytes in, struct out, and back; arenas that hold
 * them should be ones that are wiped. */
#ifndef GH_PROTOCOL_AGENT_REQUEST_H
#define GH_PROTOCOL_AGENT_REQUEST_H

#include "protocol/target.h"

/* Asked for: a session, or that one is cancelled. */
struct agent_request {
    struct shape_pairs variables; /* of the connection, as they are stored */
    struct slice database;
    struct shape_pairs parameters;
    uint32_t version;
    uint64_t timeout_ms;
    struct cancel_key key; /* of what is to be cancelled */
    struct shape_texts command;
};

enum err agent_request_write(const struct agent_request *request, struct buf *buf) MUST_USE;
enum err agent_request_read_in(struct arena *arena, struct slice bytes,
                               struct agent_request *ret_request, struct error *reterr) MUST_USE;

/* Answered: the channel is the session, after this. The stream is nobody's here. */
enum err agent_ready_write(const struct arrival *arrival, struct buf *buf) MUST_USE;
enum err agent_ready_read_in(struct arena *arena, struct slice bytes, struct arrival *ret_arrival,
                             struct error *reterr) MUST_USE;

/* Or refused. */
struct agent_failure {
    struct slice message; /* for the log and for those who manage the target */
    struct slice code;    /* five characters; see struct target_failure */
    struct slice answer;
    struct slice cause;    /* a word, or empty: agents of earlier releases do not tell */
    struct slice host_key; /* see struct target_failure; likewise */
};

/* How far it came and what stopped it, as a word, and back. What is no known word is told by the
 * code, as far as that tells it. */
struct slice agent_cause_of(enum target_stage stage, enum err err);
void agent_cause_read(const struct agent_failure *failure, enum target_stage *ret_stage,
                      enum err *ret_err);

enum err agent_failure_write(const struct agent_failure *failure, struct buf *buf) MUST_USE;
enum err agent_failure_read_in(struct arena *arena, struct slice bytes,
                               struct agent_failure *ret_failure, struct error *reterr) MUST_USE;

#endif
