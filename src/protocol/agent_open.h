/* SPDX-License-Identifier: MIT */
/* The way to a target through an agent elsewhere: what a protocol's own 'open' and 'stop' are where
 * the agent is this process. The agent is asked over a link of the caller's worker, and answers
 * with a channel. */
#ifndef GH_PROTOCOL_AGENT_OPEN_H
#define GH_PROTOCOL_AGENT_OPEN_H

#include "protocol/agent_request.h"
#include "protocol/protocol.h"
#include "tunnel/link.h"

struct agent_opening {
    struct loop *loop;
    struct link *link;
    const struct protocol *protocol;
};

/* The request is copied. 'on_done' is called once, never inside this. The deadline is
 * request->timeout_ms and a little more, for the agent has one of its own. */
struct opening *agent_open_start(const struct agent_opening *how,
                                 const struct agent_request *request, opened_fn on_done,
                                 void *owner);
/* The agent is asked to cancel what the session with request->key does. */
struct opening *agent_stop_start(const struct agent_opening *how,
                                 const struct agent_request *request, stopped_fn on_done,
                                 void *owner);

/* Calls 'on_done' with what a client is told when there is no way to the agent at all. */
void agent_open_tell_failure(const struct protocol *protocol, const struct error *error,
                             opened_fn on_done, void *owner);

#endif
