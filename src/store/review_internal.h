/* SPDX-License-Identifier: MIT */
/* What the files of review_store.h share: the columns of a row. */
#ifndef GH_STORE_REVIEW_INTERNAL_H
#define GH_STORE_REVIEW_INTERNAL_H

#include "store/review_store.h"

/* What ends by itself has ended, whether or not somebody wrote that down. $2 is the time. */
#define REVIEW_STATE                                                                               \
    "CASE WHEN v.state = 'PENDING' AND v.pending_until <= $2 THEN 'EXPIRED' "                      \
    "WHEN v.state IN ('APPROVED', 'PROCESSING') AND v.granted_until <= $2 THEN 'EXPIRED' "         \
    "ELSE v.state END "

#define REVIEW_COLUMNS(sealed)                                                                     \
    "SELECT v.id, v.organization_id, v.session_id, v.kind, " REVIEW_STATE                          \
    ", v.connection_id, v.connection_name, v.connection_subtype, v.member_id, v.member_email, "    \
    "v.member_name, v.need, v.script_size, v.metadata, v.duration_sec, v.runs_at_once, v.reason, " \
    "v.is_forced, v.created_at, v.updated_at, v.pending_until, v.granted_until, v.run_id, "        \
    "v.run_by, v.claimed_at, v.begun_at, v.run_count, v.client_ip, v.time_windows, "               \
    "v.whole_size, v.whole_sha256, " sealed " FROM review v "

#define REVIEW_HELD_MAX 100 /* of one member on one connection, that are looked through */

/* What is sealed, one behind the other: the JSON of what is pinned has no line ends, that of what
 * was found has no NUL. */
struct slice review_store_plain_in(struct arena *arena, const struct review_secret *secret);

/* A row of REVIEW_COLUMNS. */
void review_store_take(struct arena *arena, const struct store_rows *rows, struct review *review);

#endif
