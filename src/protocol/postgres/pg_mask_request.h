/* SPDX-License-Identifier: MIT */
/* Masking: what was asked and is not answered yet, what the names of statements and portals mean to
 * the server, and what a statement's text says. */
#ifndef GH_POSTGRES_PG_MASK_REQUEST_H
#define GH_POSTGRES_PG_MASK_REQUEST_H

#include "protocol/postgres/pg_mask_internal.h"

struct pending_request *pg_mask_find_pending(struct pg_mask *mask, uint64_t id);
struct statement *pg_mask_statement_of(struct pg_mask *mask, const struct pending_request *pending);
struct portal *pg_mask_portal_of(struct pg_mask *mask, const struct pending_request *pending);
struct statement *statement_ref(struct statement *statement);
void statement_unref(struct statement *statement);
void portal_free(struct portal *portal);
void described_unref(struct described *described);
void pg_mask_release_pending(struct pg_mask *mask);
/* Portals, and statements. */
void pg_mask_forget_names(struct pg_mask *mask, bool keeps_unnamed);
void pg_mask_forget_portals(struct pg_mask *mask);
/* ParseComplete, BindComplete, CloseComplete of it. */
void pg_mask_apply(struct pg_mask *mask, struct pending_request *pending);
void pg_mask_apply_description(struct pg_mask *mask, const struct pending_request *pending,
                               struct slice body);
void pg_mask_release_kept(struct pg_mask *mask);

/* What the text says is kept with the statement. */
void pg_mask_describe_statement(struct pg_mask *mask, struct statement *statement,
                                const struct pg_mask_request *request);
/* Of that, whether the catalog becomes another. */
void pg_mask_describe_changes(struct statement *statement, const struct sql_script *script,
                              struct slice text);

#endif
