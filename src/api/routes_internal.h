/* SPDX-License-Identifier: MIT */
/* The parts of the table of the API, by what they are about. */
#ifndef GH_API_ROUTES_INTERNAL_H
#define GH_API_ROUTES_INTERNAL_H

#include "api/routes.h"

/* What most operations say alike. */
#define BODY       .body_size_max = LIMIT_HTTP_BODY_SIZE
#define SMALL_BODY .body_size_max = LIMIT_KIB(64)
#define OBJECT     .status = 200, .answer = API_OBJECT
#define REVIEW     .status = 200, .answer = API_ONE, .shape = &review_shape

struct api_route_table {
    const struct api_route *routes;
    size_t count;
};

extern const struct api_route_table api_server_routes;
extern const struct api_route_table api_people_routes;
extern const struct api_route_table api_targets_routes;
extern const struct api_route_table api_sessions_routes;
extern const struct api_route_table api_rules_routes;

#endif
