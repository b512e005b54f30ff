/* SPDX-License-Identifier: MIT */
/* Which agents have a link to this gateway, and on which worker: the one table of the tunnel that
 * all threads share. Who finds an agent here goes to its worker and asks again there. */
#ifndef GH_TUNNEL_REGISTRY_H
#define GH_TUNNEL_REGISTRY_H

#include "base/err.h"
#include "base/slice.h"
#include "io/worker.h"
#include "tunnel/link.h"

struct registry;

struct registry *registry_new(void);
/* When no link is left. */
void registry_free(struct registry *registry);

/* From any thread: a worker that has an open link of this agent which knows 'kind' ("/postgres");
 * 'preferred' (which may be NULL) if it is among them. ERR_UNAVAILABLE: the agent has no link here;
 * ERR_UNSUPPORTED: it has, but is too old for this kind. */
enum err registry_find(struct registry *registry, struct slice agent_id, struct slice kind,
                       struct worker *preferred, struct worker **ret_worker) MUST_USE;
/* On the worker's thread: the link itself, the newest first; borrowed for this call of the loop:
 * use it at once. NULL: it has gone meanwhile. */
struct link *registry_link(struct registry *registry, struct slice agent_id, struct slice kind,
                           struct worker *worker);

/* From any thread: cuts all links of the agent, which was deleted. */
void registry_cut(struct registry *registry, struct slice agent_id);

/* From any thread; for metrics. */
size_t registry_link_count(struct registry *registry);

#endif
