/* SPDX-License-Identifier: MIT */
/* What an agent in a process of its own does for a gateway's sessions, whatever the protocol:
 * resolves the connection's secrets, reaches the target, signs in, and carries the session between
 * it and the gateway's channel; or cancels what a session does. */
#ifndef GH_PROTOCOL_AGENT_SESSION_H
#define GH_PROTOCOL_AGENT_SESSION_H

#include "protocol/protocol.h"
#include "tunnel/agent_kind.h"

/* The kinds of channels that serve these protocols. */
struct agent_kinds {
    struct agent_kind *items;
    size_t count;
};

struct agent_kinds agent_session_kinds_in(struct arena *arena, const struct protocols *protocols);

#endif
