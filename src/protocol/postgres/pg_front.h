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

#include "base/error.h"
#include "identity/scram.h"
#include "io/stream.h"
#include "io/tls_server.h"
#include "wire/pgwire_start.h"

struct pg_front;

struct pg_front_config {
    struct tls_server *tls;           /* NULL: TLS is not offered */
    struct scram_end_point end_point; /* of no bytes: channel binding is not offered */
    bool needs_tls;
    /* What the salts of unknown names are derived from; borrowed while any front is there. Those of
     * known names have to look alike: scram_verifier_mock() makes them for both. */
    const struct secret *mock_key;
    uint64_t authentication_ms; /* LIMIT_PG_FRONT_AUTHENTICATION_MS but in tests */
};

/* Sets 'tls' and the end point of its certificate. Its only protocol (ALPN) is "postgresql". */
void pg_front_config_set_tls(struct pg_front_config *config, struct tls_server *tls);

/* on_known, on_cancel and on_closed always have a function. */
struct pg_front_events {
    /* Whose verifiers? pg_front_answer(), now or later. The views last as long as the front. */
    void (*on_name)(void *owner, const struct pgwire_startup *startup);
    /* A proof was wrong: one for each front at most; whoever counts them does so by address. May be
     * NULL. */
    void (*on_refused)(void *owner, const struct pgwire_startup *startup);
    /* The client is the one with this verifier: pg_front_ready() or pg_front_fail(), now or later,
     * within a time that is the owner's to limit. */
    void (*on_known)(void *owner, size_t index);
    /* The session is open and all was sent: pg_front_take_stream(), now. */
    void (*on_open)(void *owner);
    /* Instead of all of these: another connection is to be cancelled. The key lasts for the call.
     * pg_front_cancelled(), now or later: a client takes our end for the sign that what it sends
     * from then on is not cancelled any more. */
    void (*on_cancel)(void *owner, const struct pgwire_key *key);
    /* The connection is gone, and after this call the front. ERR_NONE: in an orderly way, after a
     * cancel request or because the owner said so. */
    void (*on_closed)(void *owner, const struct error *reason);
};

/* Takes over the stream. 'events' is borrowed; the configuration is copied but for its key. */
struct pg_front *pg_front_new(struct stream *take_stream, const struct pg_front_config *config,
                              const struct pg_front_events *events, void *owner);
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

/* Inside on_open: the stream, which nobody owns any more, and what the client sent behind its
 * proof, valid until the end of the turn. The front is gone. */
struct stream *pg_front_take_stream(struct pg_front *front, struct slice *ret_behind);

/* NULL before on_name. The version is the one that was agreed on. Lasts as long as the front. */
const struct pgwire_startup *pg_front_startup(const struct pg_front *front);

#endif
