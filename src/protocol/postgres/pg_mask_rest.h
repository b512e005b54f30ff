/* SPDX-License-Identifier: MIT */
/* Masking: statements that were found to reach nothing masked, by how they are written, as long as
 * the catalog is the same. Numbers and plain strings in them may differ: whatever they are, a
 * statement names the same. For a session whose rules are about columns alone, so that what it says
 * need not be looked at while it says the like again. */
#ifndef GH_POSTGRES_PG_MASK_REST_H
#define GH_POSTGRES_PG_MASK_REST_H

#include "protocol/postgres/pg_mask_internal.h"

/* What the request reaches is decided, by mask->facts: remembered if it is open, and that depends
 * on nothing else. */
void pg_mask_rest_note(struct pg_mask *mask, const struct pending_request *pending);
void pg_mask_rest_release(struct pg_mask *mask);

#endif
