/* SPDX-License-Identifier: MIT */
/* How a session reaches its target: from here, where the agent is the gateway itself, or through
 * the link of an agent elsewhere. The same for its start and for requests to cancel what it does.
 *
 * An agent has a link on every worker. While one of them is being made anew, and others are there,
 * a start waits for it. */
#ifndef GH_GATE_PG_WAY_H
#define GH_GATE_PG_WAY_H

#include "io/timer.h"
#include "protocol/postgres/pg_far.h"
#include "protocol/postgres/pg_open.h"
#include "tunnel/registry.h"

/* Where it leads. Texts are borrowed for as long as the way is there. */
struct pg_way_target {
    struct slice agent_id;        /* empty: the gateway itself */
    const struct pg_place *place; /* of the gateway itself */
    struct tls_client *tls;
    struct shape_pairs variables; /* of an agent elsewhere, as they are stored */
};

struct pg_way {
    struct pg_road road;
    struct registry *registry;
    struct arena *arena; /* of the session; wiped */
    struct slice agent_id;
    struct pg_place place; /* without the password */
    struct tls_client *tls;
    struct shape_pairs variables; /* likewise */
    /* What is under way. */
    struct pg_open *open;
    struct pg_far *far;
    struct pg_stop *stop;
    struct pg_far *far_stop;
    struct pg_order order; /* while it waits for a link; its texts are the caller's */
    struct timer look;
    uint64_t look_until_ms; /* 0: it does not wait */
    pg_target_done_fn on_open;
    pg_cancel_done_fn on_stopped;
    void *owner;
};

void pg_way_init(struct pg_way *way, const struct pg_road *road, struct registry *registry,
                 struct arena *arena);
/* Nothing may be under way. */
void pg_way_release(struct pg_way *way);

struct pg_way_start {
    struct slice database;
    const struct pgwire_parameter *parameters;
    size_t parameter_count;
    uint32_t version;
};

/* 'on_open' is called once, never inside this; texts must be valid until then. ERR_UNAVAILABLE,
 * ERR_UNSUPPORTED: the agent has no link here, or is too old. */
enum err pg_way_open(struct pg_way *way, const struct pg_way_target *target,
                     const struct pg_way_start *start, pg_target_done_fn on_open, void *owner,
                     struct error *reterr) MUST_USE;
/* Before 'on_open', which is not called any more; nothing under way: does nothing. */
void pg_way_cancel_open(struct pg_way *way);

/* Asks for what the session with the key does to be cancelled, unless that is asked for already.
 * False: it is not, and 'on_stopped' is not called. */
bool pg_way_stop(struct pg_way *way, const struct pgwire_key *key, pg_cancel_done_fn on_stopped,
                 void *owner);
bool pg_way_is_stopping(const struct pg_way *way);
/* Before 'on_stopped', which is not called any more. */
void pg_way_cancel_stop(struct pg_way *way);

#endif
