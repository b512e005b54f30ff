/* SPDX-License-Identifier: MIT */
/* All routes of the gateway, in one table: who may call what, and what answers. */
#ifndef GH_API_ROUTES_H
#define GH_API_ROUTES_H

#include "http/route.h"

extern const struct route api_routes[];
extern const size_t api_route_count;

#endif
