/* SPDX-License-Identifier: MIT */
/* What rules have to know of a target's catalog, asked once, for a session. On a connection of its
 * own, by the way that the session took, as whom it is; the credential is looked up anew. On the
 * worker's loop; what blocks is a job. */
#ifndef GH_GATE_CATALOG_LOOKUP_H
#define GH_GATE_CATALOG_LOOKUP_H

#include "gate/gate_internal.h"
#include "protocol/protocol.h"

struct catalog_lookup;

/* Copied. */
struct catalog_lookup_request {
    struct slice credential_id;
    struct slice database;          /* as the session's client has it */
    const struct mask_rules *rules; /* may be NULL; outlive the lookup */
    const struct protocol *protocol;
};

/* One of the two is NULL; valid during the call. */
typedef void (*catalog_lookup_done_fn)(void *owner, const struct query_rows *rows,
                                       const struct error *error);

/* 'on_done' is called once, never inside this, after LIMIT_GATE_LOOKUP_MS at the latest; then the
 * lookup is gone. */
struct catalog_lookup *catalog_lookup_start(struct gate_worker *worker,
                                            const struct catalog_lookup_request *request,
                                            catalog_lookup_done_fn on_done, void *owner);
/* Before 'on_done', which is not called any more. */
void catalog_lookup_cancel(struct catalog_lookup *lookup);

#endif
