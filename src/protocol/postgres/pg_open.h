/* SPDX-License-Identifier: MIT */
/* The way to a PostgreSQL server from nothing: the connection, TLS, the sign-in; and a request to
 * cancel, which takes the same way but for the sign-in. */
#ifndef GH_POSTGRES_PG_OPEN_H
#define GH_POSTGRES_PG_OPEN_H

#include "protocol/target.h"

/* 'on_done' is called once, never inside this. */
struct opening *pg_open_start(const struct dial_context *context,
                              const struct open_request *request, opened_fn on_done, void *owner);

/* Asks the server to cancel what the session with this key does. */
struct opening *pg_stop_start(const struct dial_context *context,
                              const struct stop_request *request, stopped_fn on_done, void *owner);

#endif
