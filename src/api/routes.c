/* SPDX-License-Identifier: MIT */
#include "api/routes.h"

#include "api/routes_internal.h"
#include "base/memory.h"
#include "base/must.h"

static const struct api_route_table *const tables[] = {
    &api_server_routes,   &api_people_routes, &api_targets_routes,
    &api_sessions_routes, &api_rules_routes,
};

size_t api_route_count(void)
{
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        count += tables[i]->count;
    }
    return count;
}

const struct api_route *api_route_at(size_t index)
{
    size_t i = 0;
    while (index >= tables[i]->count) {
        index -= tables[i]->count;
        i++;
        must(i < COUNT_OF(tables));
    }
    return &tables[i]->routes[index];
}
