/* SPDX-License-Identifier: MIT */
/* One question about a target's catalog, for a session that masks: where columns come from
 * (pg_mask_lookup_text). Asked on a connection of its own, by the way that the session took, as
 * whom it is; the credential is looked up anew. On the worker's loop; what blocks is a job. */
#ifndef GH_GATE_PG_LOOKUP_H
#define GH_GATE_PG_LOOKUP_H

#include "gate/gate_internal.h"
#include "protocol/postgres/pg_query.h"

struct pg_lookup;

/* Copied. */
struct pg_lookup_request {
    struct slice credential_id;
    struct slice database; /* as the session's client has it */
    struct slice tables;   /* the question's parameter */
};

/* One of the two is NULL; valid during the call. */
typedef void (*pg_lookup_done_fn)(void *owner, const struct pg_rows *rows,
                                  const struct error *error);

/* 'on_done' is called once, never inside this, after LIMIT_GATE_LOOKUP_MS at the latest; then the
 * pg_lookup is gone. */
struct pg_lookup *pg_lookup_start(struct gate_worker *door, const struct pg_lookup_request *request,
                                  pg_lookup_done_fn on_done, void *owner);
/* Before 'on_done', which is not called any more. */
void pg_lookup_cancel(struct pg_lookup *lookup);

#endif
