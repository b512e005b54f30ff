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

/* One that was counted. */
struct sign_in_attempt {
    int64_t at;
    int64_t previous_at; /* of the failure before */
    int64_t wait;        /* of one that was not */
};

/* Counts an attempt. ERR_BUSY, with the wait, while one must wait; then nothing is counted. */
enum err sign_in_store_attempt(struct store_tx *tx, struct slice key,
                               const struct sign_in_rule *rule, int64_t now,
                               struct sign_in_attempt *ret_attempt, struct error *reterr) MUST_USE;
/* It went well: forgets all failures, or makes it as if this one had not been. */
enum err sign_in_store_forget(struct store_tx *tx, struct slice key, struct error *reterr) MUST_USE;
enum err sign_in_store_take_back(struct store_tx *tx, struct slice key,
                                 const struct sign_in_attempt *attempt,
                                 struct error *reterr) MUST_USE;
/* Whatever failed last before 'before', so that guesses at ever new names fill no disk. */
enum err sign_in_store_forget_old(struct store_tx *tx, int64_t before,
                                  struct error *reterr) MUST_USE;

#endif
