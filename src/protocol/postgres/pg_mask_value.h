/* SPDX-License-Identifier: MIT */
/* Masking: a value or a text, masked or refused. */
#ifndef GH_POSTGRES_PG_MASK_VALUE_H
#define GH_POSTGRES_PG_MASK_VALUE_H

#include "protocol/postgres/pg_mask_internal.h"

/* 'buf' gets what takes its place. */
enum mask_outcome pg_mask_value(struct pg_mask *mask, const struct mask_field *field,
                                struct slice value, struct buf *buf);
/* A text that is no column's. */
enum mask_outcome pg_mask_plain(struct pg_mask *mask, struct slice label, struct slice text,
                                struct buf *buf);
/* False: a rule on output blocks it; pg_mask_block() says so. */
bool pg_mask_may_pass(struct pg_mask *mask, struct slice text);
void pg_mask_set_refused(struct pg_mask *mask, struct slice name, struct slice message);
#define MASK_REFUSED_NAME    SLICE("data masking")
#define MASK_REFUSED_WORDS   SLICE("A value cannot be examined, and a masking rule refuses such.")
#define MASK_STREAM_WORDS    SLICE("Replication streams cannot be masked.")
#define MASK_TOO_LARGE_WORDS SLICE("A row is too large to be examined.")
/* An ErrorResponse with those words. */
enum err pg_mask_block(struct pg_mask *mask, struct buf *out, enum pg_mask_verdict *ret_verdict,
                       struct error *reterr_error) MUST_USE;

#endif
