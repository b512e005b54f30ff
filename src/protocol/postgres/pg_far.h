/* SPDX-License-Identifier: MIT */
/* The way to a PostgreSQL server through an agent elsewhere: what pg_open is where the agent is
 * this process. The agent is asked over a link of the caller's worker, and answers with a channel.
 */
#ifndef GH_POSTGRES_PG_FAR_H
#define GH_POSTGRES_PG_FAR_H

#include "protocol/postgres/pg_cancel.h"
#include "protocol/postgres/pg_order.h"
#include "protocol/postgres/pg_target.h"
#include "tunnel/link.h"

struct pg_far;

/* The order is copied. 'on_done' as for pg_open_start(): once, never inside this. The deadline is
 * order->timeout_ms and a little more, for the agent has one of its own. */
struct pg_far *pg_far_start(struct loop *loop, struct link *link, const struct pg_order *order,
                            pg_target_done_fn on_done, void *owner);
/* The agent is asked to cancel what the session with order->key does. */
struct pg_far *pg_far_stop(struct loop *loop, struct link *link, const struct pg_order *order,
                           pg_cancel_done_fn on_done, void *owner);
/* At any time before 'on_done', which is not called any more. */
void pg_far_cancel(struct pg_far *far);

/* Calls 'on_done' with what a client is told when there is no way to the agent at all. */
void pg_far_tell_failure(const struct error *error, pg_target_done_fn on_done, void *owner);

#endif
