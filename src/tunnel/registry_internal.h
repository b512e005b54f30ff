/* SPDX-License-Identifier: MIT */
/* The registry as the gateway's side fills it, and presence.c reads it. */
#ifndef GH_TUNNEL_REGISTRY_INTERNAL_H
#define GH_TUNNEL_REGISTRY_INTERNAL_H

#include "base/arena.h"
#include "model/agent.h"
#include "tunnel/hello.h"
#include "tunnel/registry.h"

struct registry_entry;

/* On the worker's thread: cuts the link, which takes the entry out. */
typedef void (*registry_cut_fn)(void *owner);

struct registry_link {
    struct slice agent_id;
    struct worker *worker;
    struct link *link;
    const struct hello_agent *hello; /* copied */
    registry_cut_fn on_cut;
    void *owner;
};

/* On the worker's thread. */
struct registry_entry *registry_add(struct registry *registry, const struct registry_link *added);
void registry_remove(struct registry *registry, struct registry_entry *entry);
/* It drains: nothing new goes over it. */
void registry_entry_close(struct registry *registry, struct registry_entry *entry);

/* An agent whose state has to be written into the store. */
struct registry_change {
    struct slice agent_id;
    bool is_linked;
    bool has_machine; /* it is news */
    struct agent_metadata machine;
    int64_t connected_until; /* as it was written last; 0: not yet */
};

/* For one thread: waits until there are changes, or so long. False: it was stopped. */
bool registry_wait(struct registry *registry, uint64_t wait_ms);
/* Since the last call; with 'all', also every agent that has a link. In the arena. */
struct registry_change *registry_take_changes(struct registry *registry, struct arena *arena,
                                              bool all, size_t *ret_count);
/* What was written. */
void registry_note_written(struct registry *registry, struct slice agent_id,
                           int64_t connected_until);
/* Wakes who waits, for good. */
void registry_stop(struct registry *registry);

#endif
