/* SPDX-License-Identifier: MIT */
/* What a client of PostgreSQL says of itself in its startup message, and in it why the session is
 * opened, for which ticket. Clients have no field for that, so it comes in what every driver can
 * send:
 *   - the startup option -c gatehouse.metadata.NAME=VALUE (or --gatehouse.metadata.NAME=VALUE),
 *   - a startup parameter of that name, where a driver sends any,
 *   - the application's name: application;NAME=VALUE;NAME=VALUE.
 * A name that is given more than once has the last of these in this order: the application's name,
 * options, parameters. The target sees none of it. */
#ifndef GH_POSTGRES_PG_HELLO_H
#define GH_POSTGRES_PG_HELLO_H

#include "protocol/front.h"
#include "wire/pgwire_start.h"

#define PG_HELLO_METADATA_PREFIX SLICE("gatehouse.metadata.")

/* Texts are borrowed from the startup where they can be; the arena holds no more than it does. The
 * metadata are not checked: session_metadata_check(). */
struct hello pg_hello_in(struct arena *arena, const struct pgwire_startup *startup);

#endif
