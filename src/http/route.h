/* SPDX-License-Identifier: MIT */
/* The table of routes and the search in it. A pattern is a path whose segments are literal or
 * '{name}'; a literal segment wins over a {name}. */
#ifndef GH_HTTP_ROUTE_H
#define GH_HTTP_ROUTE_H

#include "base/arena.h"
#include "base/error.h"
#include "http/request.h"

struct exchange;
struct http_call;

/* On the worker: must not block. Answers with exchange_answer, now or later. */
typedef void (*route_inline_fn)(struct exchange *exchange);
/* On a pool thread: one plain function from request to answer. An error becomes the answer. */
typedef enum err (*route_call_fn)(struct http_call *call, struct error *reterr);

enum route_access {
    ROUTE_ANYONE,
    ROUTE_METRICS, /* this machine, or with a credential, unless the setting says otherwise */
    ROUTE_CONTROL, /* the control socket only; elsewhere it does not exist */
};

struct route {
    struct slice method;
    struct slice pattern;
    enum route_access access;
    size_t body_size_max; /* 0: a body is read and dropped */
    route_call_fn on_pool;
    route_inline_fn on_worker; /* instead of on_pool */
    const void *detail;        /* for on_pool: what else is known about the route */
    bool is_slow;              /* on the pool for what takes long, apart from all others */
    bool is_long;              /* on the pool for answers that wait for their readers */
    bool is_websocket;         /* what GET makes a WebSocket of, or CONNECT with ':protocol' */
};

enum route_result {
    ROUTE_FOUND,
    ROUTE_NO_PATH,
    ROUTE_NO_METHOD, /* the path has routes, of other methods */
    ROUTE_BAD_PATH,  /* a segment that does not decode */
};

struct router;

/* The table must outlive the router. A table with two equal routes is a bug. */
struct router *router_new(const struct route *routes, size_t count);
void router_free(struct router *router);

/* Fills request->values for a found route, in 'arena'. HEAD finds the routes of GET. */
enum route_result router_find(const struct router *router, struct arena *arena,
                              struct http_request *request, const struct route **ret_route);
/* "GET, PUT": the methods of the path's routes, for the Allow header. */
struct slice router_allowed(const struct router *router, struct arena *arena, struct slice path);

size_t router_route_count(const struct router *router);
size_t router_index_of(const struct router *router, const struct route *route);
const struct route *router_route(const struct router *router, size_t index);

#endif
