/* SPDX-License-Identifier: MIT */
/* What an agent can do: a table of kinds of channels and the functions that serve them. */
#ifndef GH_TUNNEL_AGENT_KIND_H
#define GH_TUNNEL_AGENT_KIND_H

#include "io/pool.h"
#include "io/resolver.h"
#include "io/worker.h"
#include "tunnel/channel.h"

struct agent_kind;
struct commands;
struct protocol;
struct secret_cache;
struct session_files;

/* The worker that the link is on, and what handlers work with there. Lives as long as the worker.
 */
struct agent_place {
    struct worker *worker;
    struct resolver *resolver;
    struct pool *pool;           /* for what computes, or blocks shortly */
    struct pool *slow_pool;      /* for what waits for others */
    char *scratch;               /* for reading, shared by all of the loop; LIMIT_READ_SIZE bytes */
    struct session_files *files; /* of secrets; NULL: there is no folder for them */
    struct secret_cache *sign_ins;   /* what is remembered of them; NULL: nothing */
    const struct commands *commands; /* what runs them; NULL: none are run here */
    void *context;                   /* of the program */
};

/* What outlives its channel enters the worker and leaves it, so that the agent waits for it. */

/* A gateway asks for a channel: accept or refuse it, now or later (channel.h). 'message' is valid
 * during the call and wiped after it. */
typedef void (*agent_serve_fn)(const struct agent_kind *kind, const struct agent_place *place,
                               struct channel *take_channel, struct slice message);

struct agent_kind {
    struct slice name; /* like "/postgres"; gateways are told of it in the hello */
    agent_serve_fn serve;
    const struct protocol *protocol; /* for 'serve' */
    bool is_cancel;
};

#endif
