/* SPDX-License-Identifier: MIT */
/* The client's side of a PostgreSQL connection, from its first byte to the point where the gateway
 * knows who the client is: encryption, the startup packet, SCRAM-SHA-256 with and without channel
 * binding. Then the next stage opens the session and takes the stream, or refuses it in words.
 *
 * The user that a client names is the name of a connection. Several people hold credentials for
 * one, so the proof is held against the verifier of each of them. An unknown name differs from a
 * known one neither in what is said nor in the time that it takes here.
 *
 * Lives on the loop of its stream. No callback comes out of a call of the owner's: what that makes
 * possible is done in the loop's next turn. */
#ifndef GH_POSTGRES_PG_FRONT_H
#define GH_POSTGRES_PG_FRONT_H

#include "protocol/front.h"
#include "wire/pgwire_start.h"

struct pg_front;

/* As a table, for all that is not PostgreSQL. */
extern const struct front_ops pg_front_ops;

/* Takes over the stream. 'events' is borrowed; the configuration is copied but for its key. */
struct pg_front *pg_front_new(struct stream *take_stream, const struct front_config *config,
                              const struct front_events *events, void *owner);
/* Ends it without a word, and without on_closed. */
void pg_front_close(struct pg_front *front);

/* After on_name. All of the verifiers have the same salt and iterations; none: the name is unknown.
 * At most LIMIT_SCRAM_VERIFIERS; copied. Like the next two, without effect on a client that is
 * being sent away already (on_closed is on its way). */
void pg_front_answer(struct pg_front *front, const struct scram_verifier *verifiers, size_t count);

/* What opens the session. */
struct pg_front_session {
    struct slice parameter_statuses; /* messages as the target sent them, one behind the other */
    struct pgwire_key key;           /* ours: 4 bytes of secret in 3.0, up to 256 from 3.2 on */
    enum pgwire_transaction transaction;
};

/* After on_known: AuthenticationOk to ReadyForQuery; on_open follows. ERR_LIMIT when the statuses
 * are too much, ERR_INPUT for a key that is none; nothing was sent then. */
enum err pg_front_ready(struct pg_front *front, const struct pg_front_session *session) MUST_USE;

/* After on_cancel: it was done, or cannot be; on_closed follows. */
void pg_front_cancelled(struct pg_front *front);

/* At any time before on_open: sends FATAL and closes when the client has read it; on_closed
 * follows. Where words cannot stand (before TLS, after a cancel request) it closes without. The
 * texts are copied; 'hint' may be empty. */
void pg_front_fail(struct pg_front *front, struct slice sqlstate, struct slice message,
                   struct slice hint);

/* NULL before on_name. The version is the one that was agreed on. Lasts as long as the front. */
const struct pgwire_startup *pg_front_startup(const struct pg_front *front);

#endif
