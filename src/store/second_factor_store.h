/* SPDX-License-Identifier: MIT */
/* Second factors of local accounts, and the codes that stand in for one that was lost. */
#ifndef GH_STORE_SECOND_FACTOR_STORE_H
#define GH_STORE_SECOND_FACTOR_STORE_H

#include "base/arena.h"
#include "store/store.h"

struct second_factor {
    struct slice secret; /* open */
    int64_t last_counter;
    bool is_confirmed; /* a code of it was given once: it is asked for from then on */
    int64_t recovery_code_count;
};

/* ERR_NOT_FOUND when there is none. */
enum err second_factor_store_find(struct store_tx *tx, struct arena *arena, struct slice user_id,
                                  struct second_factor *ret_factor, struct error *reterr) MUST_USE;
/* One that waits to be confirmed, in the place of another such. ERR_CONFLICT when a confirmed one
 * is there. */
enum err second_factor_store_put(struct store_tx *tx, struct arena *arena, struct slice user_id,
                                 struct slice secret, int64_t now, struct error *reterr) MUST_USE;
/* The code of this counter was used; ERR_CONFLICT when it, or a later one, was used meanwhile. */
enum err second_factor_store_use(struct store_tx *tx, struct slice user_id, int64_t counter,
                                 int64_t now, struct error *reterr) MUST_USE;
/* The recovery codes too. ERR_NOT_FOUND when there is none. */
enum err second_factor_store_delete(struct store_tx *tx, struct slice user_id,
                                    struct error *reterr) MUST_USE;

/* In the place of those that were there. */
enum err recovery_code_store_set(struct store_tx *tx, struct slice user_id,
                                 const struct slice *hashes, size_t count,
                                 struct error *reterr) MUST_USE;
/* Once: ERR_NOT_FOUND when it is none, or was used. */
enum err recovery_code_store_use(struct store_tx *tx, struct slice user_id, struct slice hash,
                                 struct error *reterr) MUST_USE;

#endif
