/* SPDX-License-Identifier: MIT */
/* All envelopes in the store, for a change of the key that closes them. */
#ifndef GH_STORE_SEAL_STORE_H
#define GH_STORE_SEAL_STORE_H

#include "store/store.h"

struct seal_progress {
    uint64_t seen_count;
    uint64_t resealed_count;
};

typedef void (*seal_progress_fn)(const struct seal_progress *progress);

/* Opens whatever the key in front did not close and closes it with that. In portions, each a
 * transaction: what changes meanwhile stays as it was written. */
enum err seal_store_reseal(struct store *store, seal_progress_fn on_progress,
                           struct seal_progress *ret_progress, struct error *reterr) MUST_USE;

#endif
