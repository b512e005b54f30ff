/* SPDX-License-Identifier: MIT */
/* What a client says about why it comes, whatever the protocol: pairs of names and values. */
#ifndef GH_PROTOCOL_HELLO_H
#define GH_PROTOCOL_HELLO_H

#include "base/arena.h"
#include "codec/shape.h"

/* Room for as many as a session may have, and one more, for the check to see. */
struct shape_pairs hello_metadata_in(struct arena *arena);
/* A later one of a name takes the place of an earlier one. */
void hello_metadata_put(struct shape_pairs *given, struct slice name, struct slice value);
/* Takes the pairs out of an application's name, "psql;ticket=42", and returns what is left of it:
 * all, unless what comes behind the first ';' are pairs to the end. */
struct slice hello_application_read(struct slice text, struct shape_pairs *given);

#endif
