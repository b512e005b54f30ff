/* SPDX-License-Identifier: MIT */
/* Asks a PostgreSQL server to cancel what a session does: over a connection of its own, with the
 * session's key. The server never says whether it did; it closes when it has read the request. */
#ifndef GH_POSTGRES_PG_CANCEL_H
#define GH_POSTGRES_PG_CANCEL_H

#include "protocol/postgres/pg_encryption.h"
#include "protocol/target.h"

struct pg_cancel;

struct pg_cancel_settings {
    struct pg_encryption_settings encryption; /* as for the session: who has the key can cancel */
    struct cancel_key key;                    /* copied */
    uint64_t timeout_ms;                      /* for all of it */
};

/* Takes the stream. 'on_done' is called once, never inside this; then the pg_cancel is gone. */
struct pg_cancel *pg_cancel_start(struct stream *take_stream,
                                  const struct pg_cancel_settings *settings, stopped_fn on_done,
                                  void *owner);
/* At any time before 'on_done', which is not called any more; closes the stream. */
void pg_cancel_abort(struct pg_cancel *cancel);

#endif
