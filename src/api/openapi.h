/* SPDX-License-Identifier: MIT */
/* The description of the API (OpenAPI 3.1), made from the table of routes and the shapes that the
 * code itself reads and writes by. */
#ifndef GH_API_OPENAPI_H
#define GH_API_OPENAPI_H

#include "base/arena.h"

struct slice openapi_make_in(struct arena *arena);

#endif
