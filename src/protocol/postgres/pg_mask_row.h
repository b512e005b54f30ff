/* SPDX-License-Identifier: MIT */
/* Masking: rows of a result, also those that are larger than what is held. */
#ifndef GH_POSTGRES_PG_MASK_ROW_H
#define GH_POSTGRES_PG_MASK_ROW_H

#include "protocol/postgres/pg_mask_internal.h"

#define ROW_HEAD_SIZE (PGWIRE_HEADER_SIZE + 2)
#define LENGTH_SIZE   4
#define NULL_LENGTH   UINT32_MAX
/* The request is decided. */
void pg_mask_make_current(struct pg_mask *mask, const struct pending_request *pending,
                          uint64_t request);
/* After other rules came: what is left of a row that comes in parts is masked as strictly as they
 * can. */
void pg_mask_row_replan(struct pg_mask *mask);
/* How a row's values are dealt with. */
const struct mask_field *pg_mask_field(const struct pg_mask *mask, size_t index);
/* Of the request that was made current. */
enum err pg_mask_rows(struct pg_mask *mask, struct slice messages, struct buf *out,
                      enum pg_mask_verdict *ret_verdict, struct error *reterr_error) MUST_USE;

void pg_mask_large_init(struct large_row *large);
void pg_mask_large_release(struct large_row *large);

#endif
