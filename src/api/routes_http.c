/* SPDX-License-Identifier: MIT */
/* The table of routes.c, as the router takes it. */
#include "api/api.h"
#include "api/routes.h"

static enum route_access api_access(enum api_who who)
{
    switch (who) {
    case API_METRICS:
        return ROUTE_METRICS;
    case API_CONTROL:
        return ROUTE_CONTROL;
    case API_ANYONE:
    case API_AGENT:
    case API_NODE:
    case API_MEMBER:
    case API_READER:
    case API_ADMIN:
        break;
    }
    return ROUTE_ANYONE; /* the rest is decided where the caller is known */
}

struct route *api_http_routes_in(struct arena *arena)
{
    struct route *routes = arena_alloc_array(arena, api_route_count(), sizeof(*routes));
    for (size_t i = 0; i < api_route_count(); i++) {
        const struct api_route *route = api_route_at(i);
        routes[i] = (struct route){
            .method = slice_of_text(route->method),
            .pattern = slice_of_text(route->path),
            .access = api_access(route->who),
            .body_size_max = route->body_size_max,
            .on_pool = api_run,
            .is_slow = route->is_slow,
            .is_websocket = route->is_websocket,
            .is_long = route->is_long,
            .detail = route,
        };
    }
    return routes;
}
