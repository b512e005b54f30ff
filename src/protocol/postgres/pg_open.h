/* SPDX-License-Identifier: MIT */
/* The way to a PostgreSQL server from nothing: the connection, TLS, the sign-in. What an agent does
 * for a session; the cancel request takes the same way, but for the sign-in. */
#ifndef GH_POSTGRES_PG_OPEN_H
#define GH_POSTGRES_PG_OPEN_H

#include "io/dial.h"
#include "protocol/postgres/pg_cancel.h"
#include "protocol/postgres/pg_place.h"
#include "protocol/postgres/pg_secret_cache.h"
#include "protocol/postgres/pg_target.h"

struct pg_open;

/* What all of them need, of the worker they run on. */
struct pg_road {
    struct worker *worker;
    struct pool *pool; /* computes SCRAM; must end before the worker */
    struct resolver *resolver;
    struct pg_secret_cache *cache; /* of sign-ins; NULL: each computes its own */
};

struct pg_open_settings {
    const struct pg_place *place;
    struct tls_client *tls; /* of pg_place_tls(); kept alive */
    struct slice database;  /* what the client asks for, when the place says nothing */
    const struct pgwire_parameter *parameters; /* as for pg_target */
    size_t parameter_count;
    uint32_t version;
    uint64_t timeout_ms; /* for all of it */
};

/* All is copied. 'on_done' as for pg_target_start(): once, never inside this. */
struct pg_open *pg_open_start(const struct pg_road *road, const struct pg_open_settings *settings,
                              pg_target_done_fn on_done, void *owner);
/* At any time before 'on_done', which is not called any more. */
void pg_open_cancel(struct pg_open *open);

/* Asks the server to cancel what the session with this key does. Nobody waits for it: it ends by
 * itself, at the latest when the time is over, and says in the log when it could not. */
struct pg_stop;

struct pg_stop_settings {
    const struct pg_place *place; /* host, port and mode are used */
    struct tls_client *tls;
    struct pgwire_key key;
    uint64_t timeout_ms;
};

/* 'on_done' is called once, never inside this. */
struct pg_stop *pg_stop_start(const struct pg_road *road, const struct pg_stop_settings *settings,
                              pg_cancel_done_fn on_done, void *owner);
void pg_stop_cancel(struct pg_stop *stop);

#endif
