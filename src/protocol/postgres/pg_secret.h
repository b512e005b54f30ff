/* SPDX-License-Identifier: MIT */
/* The password of a PostgreSQL server, for one sign-in: it answers what the server asks and never
 * shows itself. One question goes in, the message to send comes out, and nothing else is shared, so
 * that what is behind this can become a process of its own.
 *
 * It answers by one method only. The password is wiped as soon as no question can need it. What it
 * became in SCRAM may stay behind, in a cache that only this looks into. */
#ifndef GH_POSTGRES_PG_SECRET_H
#define GH_POSTGRES_PG_SECRET_H

#include "base/error.h"
#include "base/secret.h"
#include "identity/scram.h"
#include "io/pool.h"
#include "io/worker.h"
#include "protocol/secret_cache.h"
#include "wire/pgwire_auth.h"

struct pg_secret;

struct pg_challenge {
    /* Cleartext, MD5, SASL, SASL_CONTINUE or SASL_FINAL. Whether a password may go out in clear
     * text, and whether a question is due, is for the asker to know. */
    struct pgwire_auth auth;
    struct slice user; /* for MD5 */
    bool is_encrypted; /* the connection is */
    /* Of the certificate that was seen; NULL when it has none, and without TLS. */
    const struct scram_end_point *end_point;
};

/* 'message' is what to send, a whole one, valid during the call; the copy is to be wiped. Empty
 * after SASL_FINAL: the server has proved that it knows the password. 'error' is NULL, or:
 * ERR_UNAUTHENTICATED when the server has not, ERR_INPUT and ERR_LIMIT for what is malformed,
 * ERR_UNSUPPORTED for methods, ERR_BUSY. */
typedef void (*pg_answer_fn)(void *owner, struct slice message, const struct error *error);

/* Belongs to the worker, on whose thread all of this is called. SCRAM is computed on the pool,
 * which must end before the worker does, unless 'cache' knows what comes out, or it is NULL.
 * 'take_password' is empty afterwards. */
struct pg_secret *pg_secret_new(struct worker *worker, struct pool *pool,
                                struct secret_cache *cache, struct secret *take_password);
/* At any time, also inside 'on_answer'; what has not been answered never will be. */
void pg_secret_free(struct pg_secret *secret);

/* One question at a time. 'on_answer' is called once, never inside this. */
void pg_secret_ask(struct pg_secret *secret, const struct pg_challenge *challenge,
                   pg_answer_fn on_answer, void *owner);

#endif
