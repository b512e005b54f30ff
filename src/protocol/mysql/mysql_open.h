/* SPDX-License-Identifier: MIT */
/* The way to a MySQL or MariaDB target from its place: dialing and signing in, for a session, or to
 * kill what one runs. */
#ifndef GH_MYSQL_MYSQL_OPEN_H
#define GH_MYSQL_MYSQL_OPEN_H

#include "protocol/target.h"

struct opening *mysql_open_start(const struct dial_context *context,
                                 const struct open_request *request, opened_fn on_done,
                                 void *owner);
/* Signs in as the session did and says KILL QUERY: the server knows no other way. */
struct opening *mysql_stop_start(const struct dial_context *context,
                                 const struct stop_request *request, stopped_fn on_done,
                                 void *owner);

#endif
