/* SPDX-License-Identifier: MIT */
/* Masking: what a session does to the catalog, and what others may think of it meanwhile. */
#ifndef GH_POSTGRES_PG_MASK_CHANGE_H
#define GH_POSTGRES_PG_MASK_CHANGE_H

#include "protocol/postgres/pg_mask_internal.h"

/* Whether what was known then still is; 'is_for_checked': but for checked changes, where nothing is
 * masked. */
bool pg_mask_is_current(const struct pg_mask *mask, const struct catalog_known *known,
                        const struct catalog_stamp *now, bool is_for_checked);
/* Whether others' checked changes were under way since the request was sent; and whether what is
 * known of the catalog is true of all that the server can have seen for it. */
bool pg_mask_has_checked(const struct pg_mask *mask, const struct pending_request *pending,
                         const struct catalog_stamp *now);
bool pg_mask_is_trusted(const struct pg_mask *mask, const struct pending_request *pending,
                        const struct catalog_stamp *now);
/* NULL: nobody knows what it does. */
bool pg_mask_changes_catalog(const struct statement *statement);
bool pg_mask_waits_to_change(const struct pg_mask *mask, const struct sql_script *script,
                             struct slice text);
void pg_mask_end_changes(struct pg_mask *mask);
/* A request goes to the server; the server is ready. */
void pg_mask_note_sent(struct pg_mask *mask, struct pending_request *pending);
void pg_mask_note_ready(struct pg_mask *mask, bool is_idle);

#endif
