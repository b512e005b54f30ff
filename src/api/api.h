/* SPDX-License-Identifier: MIT */
/* What the API's handlers work on. Made at the start, read-only afterwards; what it points to is
 * safe to use from any thread. */
#ifndef GH_API_API_H
#define GH_API_API_H

#include "http/call.h"
#include "http/server.h"
#include "store/store.h"

struct api {
    struct store *store;
    struct pool *pool;
    const struct router *router;
    struct http_worker **workers;
    size_t worker_count;
    const char *version;
};

/* The context of a call is the api. */
static inline struct api *api_of(const struct http_call *call)
{
    return call->context;
}

#endif
