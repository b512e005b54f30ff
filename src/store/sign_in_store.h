/* SPDX-License-Identifier: MIT */
/* Failed sign-ins, counted by account and by address, so that guessing takes for ever: an attempt
 * counts as failed from its start, and is taken back when it succeeds. */
#ifndef GH_STORE_SIGN_IN_STORE_H
#define GH_STORE_SIGN_IN_STORE_H

#include "base/arena.h"
#include "store/store.h"

/* After 'free_count' failures each further one makes the next attempt wait twice as long, from one
 * second up to 'wait_max'; failures are forgotten after 'memory' without another. */
struct sign_in_rule {
    int64_t free_count;
    int64_t wait_max;
    int64_t memory;
};

/* Counts an attempt. ERR_BUSY, with *ret_wait, while one must wait; then nothing is counted. */
enum err sign_in_store_attempt(struct store_tx *tx, struct slice key,
                               const struct sign_in_rule *rule, int64_t now, int64_t *ret_wait,
                               struct error *reterr) MUST_USE;
/* It went well: forgets all failures, or takes one back. */
enum err sign_in_store_forget(struct store_tx *tx, struct slice key, struct error *reterr) MUST_USE;
enum err sign_in_store_take_back(struct store_tx *tx, struct slice key,
                                 struct error *reterr) MUST_USE;

#endif
