/* SPDX-License-Identifier: MIT */
/* What an agent in a process of its own does for a gateway's sessions of PostgreSQL: resolves the
 * connection's secrets, reaches the target, signs in, and carries the session between it and the
 * gateway's channel; or cancels what a session does. */
#ifndef GH_POSTGRES_PG_AGENT_H
#define GH_POSTGRES_PG_AGENT_H

#include "tunnel/agent_kind.h"

/* For the kinds PG_ORDER_KIND and PG_ORDER_CANCEL_KIND. */
void pg_agent_serve(const struct agent_place *place, struct channel *take_channel,
                    struct slice message);
void pg_agent_serve_cancel(const struct agent_place *place, struct channel *take_channel,
                           struct slice message);

#endif
