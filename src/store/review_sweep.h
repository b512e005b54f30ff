/* SPDX-License-Identifier: MIT */
/* Reviews whose time is over, and those that are old. */
#ifndef GH_STORE_REVIEW_SWEEP_H
#define GH_STORE_REVIEW_SWEEP_H

#include "model/review.h"
#include "store/store.h"

struct review_sweep {
    int64_t now;
    int64_t old_before;
    int64_t whole_before;
};

/* Whether one of the three below has something to do. A read. */
enum err review_sweep_is_due(struct store_tx *tx, const struct review_sweep *sweep, bool *ret_is,
                             struct error *reterr) MUST_USE;
/* Requests and grants that are over become EXPIRED, with their entries in the audit log and in the
 * outbox; a portion. What runs goes on, and says itself how it ended. */
enum err review_sweep_expire(struct store_tx *tx, int64_t now, uint64_t *ret_count,
                             struct error *reterr) MUST_USE;
/* Those that were decided, and changed last before that; a portion. */
enum err review_sweep_remove(struct store_tx *tx, int64_t old_before, uint64_t *ret_count,
                             struct error *reterr) MUST_USE;
/* Of those that ended before that and did not run, the scripts are cut to what is shown of them; a
 * portion. One that cannot be unsealed stays as it is, and is not looked at again. */
enum err review_sweep_cut(struct store_tx *tx, int64_t whole_before, struct error *reterr) MUST_USE;

/* The entry of what nobody asked for: the gateway did it, at 'review->updated_at'. */
enum err review_audit_unasked(struct store_tx *tx, struct arena *arena, const struct review *review,
                              struct slice action, struct error *reterr) MUST_USE;

#endif
