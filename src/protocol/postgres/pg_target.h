/* SPDX-License-Identifier: MIT */
/* The gateway as a client of a PostgreSQL server: takes a connected stream over, encrypts it, signs
 * in, and hands it on when the server is ready for queries. Runs on a loop and never blocks.
 *
 * The server is not trusted: what it may send before it is ready is bounded, in order, and on time;
 * where it has begun SCRAM it must prove that it knows the password, too. */
#ifndef GH_POSTGRES_PG_TARGET_H
#define GH_POSTGRES_PG_TARGET_H

#include "protocol/postgres/pg_encryption.h"
#include "protocol/postgres/pg_secret.h"
#include "protocol/target.h"
#include "wire/pgwire_start.h"

struct pg_target;

/* All is copied, but for 'take_secret'. */
struct pg_target_settings {
    struct slice user;
    struct slice database; /* empty: the one of the user's name */
    /* To be passed on: application_name, client_encoding, options, DateStyle … A client's own can
     * be given as they came: user, database and options of the protocol itself ("_pq_.") are left
     * out, and 'replication' is refused. */
    const struct pgwire_parameter *parameters;
    size_t parameter_count;
    uint32_t version; /* of the protocol that is asked for: 3.0, or 3.2 for long keys */
    struct pg_encryption_settings encryption;
    struct pg_secret *take_secret; /* NULL: there is none; enough for a server that asks nothing */
    bool is_local;                 /* the connection does not leave this machine */
    bool allows_cleartext;         /* the password may go over a network in clear text */
    uint64_t timeout_ms;           /* for all of it */
};

/* Takes the stream and the secret, also when it fails. 'on_done' is called once, never inside this;
 * then the pg_target is gone. */
struct pg_target *pg_target_start(struct stream *take_stream,
                                  const struct pg_target_settings *settings, opened_fn on_done,
                                  void *owner);
/* At any time before 'on_done', which is not called any more; closes the stream. */
void pg_target_cancel(struct pg_target *target);

#endif
