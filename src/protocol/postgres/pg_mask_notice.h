/* SPDX-License-Identifier: MIT */
/* Masking: what a server says beside rows. */
#ifndef GH_POSTGRES_PG_MASK_NOTICE_H
#define GH_POSTGRES_PG_MASK_NOTICE_H

#include "protocol/postgres/pg_mask_internal.h"

/* Errors, notices, notifications, parameters, function results; one message. */
enum err pg_mask_words(struct pg_mask *mask, const struct pending_request *pending,
                       struct slice message, struct buf *out, enum pg_mask_verdict *ret_verdict,
                       struct error *reterr_error) MUST_USE;

#endif
