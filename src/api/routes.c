/* SPDX-License-Identifier: MIT */
#include "api/routes.h"

#include "api/handlers.h"
#include "base/limits.h"
#include "base/memory.h"

#define METHOD(name) SLICE_INIT(name)

const struct route api_routes[] = {
    /* method, path, who may call, the body's limit, handler */
    {METHOD("GET"), SLICE_INIT("/api/healthz"), ROUTE_ANYONE, 0, health_get, NULL},
    {METHOD("GET"), SLICE_INIT("/api/publicserverinfo"), ROUTE_ANYONE, 0, server_info_get_public,
     NULL},
    {METHOD("GET"), SLICE_INIT("/metrics"), ROUTE_METRICS, 0, metrics_get, NULL},
    {METHOD("GET"), SLICE_INIT("/control/log-levels"), ROUTE_CONTROL, 0, log_levels_get, NULL},
    {METHOD("PUT"), SLICE_INIT("/control/log-levels"), ROUTE_CONTROL, LIMIT_KIB(4), log_levels_put,
     NULL},
    {METHOD("GET"), SLICE_INIT("/control/organizations"), ROUTE_CONTROL, 0, organizations_list,
     NULL},
    {METHOD("POST"), SLICE_INIT("/control/organizations"), ROUTE_CONTROL, LIMIT_KIB(4),
     organizations_create, NULL},
};

const size_t api_route_count = COUNT_OF(api_routes);
