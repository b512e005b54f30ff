/* SPDX-License-Identifier: MIT */
/* The gateway's side of the tunnel: an agent's upgraded connection becomes a link, which says hello
 * and then stands in the registry until it ends. A link lives on one worker and takes part in its
 * drain: the agent numbers its links, and the one of a number belongs to the worker of that index,
 * wherever it was accepted, so that an agent is on all of them. */
#ifndef GH_TUNNEL_GATEWAY_SIDE_H
#define GH_TUNNEL_GATEWAY_SIDE_H

#include "http/call.h"
#include "model/agent.h"
#include "tunnel/nodes.h"
#include "tunnel/registry.h"

struct gateway_side;

struct gateway_side_settings {
    struct registry *registry;
    const char *version;
    struct nodes *nodes; /* whom agents link to */
    struct http_worker *const *workers;
    size_t worker_count;
    struct link_deadlines deadlines;
};

/* What the settings point to must outlive it. */
struct gateway_side *gateway_side_new(const struct gateway_side_settings *settings);
/* After the workers were joined. */
void gateway_side_free(struct gateway_side *side);

/* From any thread: the nodes are others now, and all agents are told. */
void gateway_side_tell_nodes(struct gateway_side *side);

/* From a handler on the pool that knows whom it talks to: makes the call's connection a link of
 * this agent. ERR_INPUT: the request does not ask for that. */
enum err gateway_side_admit(struct gateway_side *side, struct http_call *call,
                            const struct agent *agent, struct error *reterr) MUST_USE;

#endif
