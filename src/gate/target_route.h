/* SPDX-License-Identifier: MIT */
/* How a session reaches its target: from here, where the agent is the gateway itself, or through
 * the link of an agent elsewhere. The same for its start and for requests to cancel what it does.
 *
 * An agent has a link on every worker. While one of them is being made anew, and others are there,
 * a start waits for it. */
#ifndef GH_GATE_TARGET_ROUTE_H
#define GH_GATE_TARGET_ROUTE_H

#include "gate/gate_internal.h"
#include "gate/spare_targets.h"
#include "io/timer.h"
#include "protocol/agent_open.h"

/* Where it leads. Texts are borrowed for as long as the route is there. */
struct route_target {
    struct slice agent_id;     /* empty: the gateway itself */
    const struct place *place; /* of the gateway itself */
    struct tls_client *tls;
    struct shape_pairs variables;   /* of an agent elsewhere, as they are stored */
    const struct spare_name *spare; /* by which one may be there already; NULL: it may not */
};

/* What the client asked for; see struct open_request. */
struct route_start {
    struct slice database;
    struct shape_pairs parameters;
    uint32_t version;
    struct shape_texts command;
};

struct target_route {
    struct dial_context context;
    const struct protocol *protocol;
    struct registry *registry;
    struct spare_targets *spares;
    struct arena *arena; /* of the session; wiped */
    struct slice agent_id;
    struct place place; /* without the password */
    struct tls_client *tls;
    struct shape_pairs variables; /* likewise */
    struct opening *opening;      /* under way */
    struct opening *stopping;     /* likewise */
    struct agent_request request; /* while it waits for a link; its texts are the caller's */
    struct timer look;
    uint64_t look_until_ms; /* 0: it does not wait */
    opened_fn on_open;
    stopped_fn on_stopped;
    void *owner;
};

void target_route_init(struct target_route *route, struct gate_worker *worker,
                       const struct protocol *protocol, struct arena *arena);
/* Nothing may be under way. */
void target_route_release(struct target_route *route);

/* 'on_open' is called once, never inside this; texts must be valid until then. ERR_UNAVAILABLE,
 * ERR_UNSUPPORTED: the agent has no link here, or is too old. */
enum err target_route_open(struct target_route *route, const struct route_target *target,
                           const struct route_start *start, opened_fn on_open, void *owner,
                           struct error *reterr) MUST_USE;
/* The next one that asks for the same finds it open. Does nothing where that may not be. */
void target_route_prepare(struct target_route *route, const struct route_target *target,
                          const struct route_start *start);
/* Before 'on_open', which is not called any more; nothing under way: does nothing. */
void target_route_cancel_open(struct target_route *route);

/* Asks for what the session with the key does to be cancelled, unless that is asked for already.
 * False: it is not, and 'on_stopped' is not called. */
bool target_route_stop(struct target_route *route, const struct cancel_key *key,
                       stopped_fn on_stopped, void *owner);
bool target_route_is_stopping(const struct target_route *route);
/* Before 'on_stopped', which is not called any more. */
void target_route_cancel_stop(struct target_route *route);

#endif
