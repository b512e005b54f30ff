/* SPDX-License-Identifier: MIT */
/* Masking: rows of a COPY, in all its formats. */
#ifndef GH_POSTGRES_PG_MASK_COPY_H
#define GH_POSTGRES_PG_MASK_COPY_H

#include "protocol/postgres/pg_mask_internal.h"
#include "protocol/postgres/pg_mask_sieve.h"

enum err pg_mask_copy_begin(struct pg_mask *mask, const struct pending_request *pending,
                            struct slice body, struct error *reterr_error) MUST_USE;
enum err pg_mask_copy_rows(struct pg_mask *mask, struct slice messages, struct buf *out,
                           enum pg_mask_verdict *ret_verdict, struct error *reterr_error) MUST_USE;
enum err pg_mask_copy_done(struct pg_mask *mask, struct slice message, struct buf *out,
                           enum pg_mask_verdict *ret_verdict, struct error *reterr_error) MUST_USE;
void pg_mask_copy_end(struct pg_mask *mask);
/* After other rules came: all is masked as strictly as they can. */
void pg_mask_copy_replan(struct pg_mask *mask);

/* A field of a row; *ret_outcome is MASK_SAME unless it is ROW_CHANGED. */
enum row_outcome {
    ROW_SAME,
    ROW_CHANGED, /* mask->value takes the place, or NULL */
    ROW_BLOCKED,
    ROW_OVER,
};
enum row_outcome pg_mask_copy_field(struct pg_mask *mask, const struct mask_field *field,
                                    struct slice value, enum mask_outcome *ret_outcome);
const struct mask_field *pg_mask_copy_field_at(const struct copying *copying, size_t index);

/* False: it says something that is not understood. */
bool pg_mask_copy_read(struct arena *arena, struct slice text, struct copy_statement *ret_copy);

/* Rows of text or CSV that are messages of their own */
struct copy_run {
    struct slice messages;
    size_t copied; /* of them, or replaced */
    struct buf *out;
    bool is_changed;
    bool is_over;
    struct pg_mask_sieve sieve;
};
void copy_run_begin(struct copy_run *run, struct slice messages, struct buf *out);
void copy_run_to(struct copy_run *run, size_t end);
struct slice pg_mask_copy_take_line_end(struct slice *row);
/* Whether the message from 'start' to 'end' was such a row, and has been dealt with. */
bool pg_mask_copy_line(struct pg_mask *mask, struct copy_run *run, size_t start, size_t end,
                       enum row_outcome *ret_row);

#endif
