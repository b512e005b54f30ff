/* SPDX-License-Identifier: MIT */
/* The agent's side of the tunnel: dials the gateway it was given, and the other nodes that the
 * gateway tells of, and keeps as many links to each as it wants; what ends is dialled again after a
 * pause that grows and is never quite the same. Serves the channels that gateways ask for, by a
 * table of kinds. Lives on one worker. */
#ifndef GH_TUNNEL_AGENT_SIDE_H
#define GH_TUNNEL_AGENT_SIDE_H

#include "io/tls_client.h"
#include "model/agent.h"
#include "tunnel/agent_kind.h"
#include "tunnel/link.h"

struct agent_side;

struct agent_pauses {
    uint64_t least_ms;
    uint64_t most_ms;
};

#define AGENT_PAUSES                                                                               \
    ((struct agent_pauses){.least_ms = LIMIT_TUNNEL_RECONNECT_MS_MIN,                              \
                           .most_ms = LIMIT_TUNNEL_RECONNECT_MS_MAX})

/* Texts and what is pointed to must outlive it. */
struct agent_side_settings {
    struct agent_place place; /* without the scratch, which it brings itself */
    const struct agent_kind *kinds;
    size_t kind_count;
    const char *version;
    struct slice gateway_url;
    struct slice name; /* may be empty */
    struct slice secret;
    struct tls_client *tls; /* for https */
    bool allows_plain;      /* http to other machines, too */
    struct agent_metadata machine;
    struct link_deadlines deadlines;
    struct agent_pauses pauses;
};

/* Whether an agent may dial this: http or https, and http to this machine alone unless it is
 * allowed. */
enum err agent_side_check_url(struct slice url, bool allows_plain, struct error *reterr) MUST_USE;

/* Before the worker runs, or on its thread. The URL was checked. */
struct agent_side *agent_side_new(const struct agent_side_settings *settings);
/* On the worker's thread: nothing new; what is left after 'deadline_ms' is cut. Then on_drained: no
 * link is left. */
void agent_side_drain(struct agent_side *side, uint64_t deadline_ms,
                      void (*on_drained)(void *owner), void *owner);
/* When it was drained, and the worker has been joined: what channels became may end later. */
void agent_side_free(struct agent_side *side);

#endif
