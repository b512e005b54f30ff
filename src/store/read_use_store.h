/* SPDX-License-Identifier: MIT */
/* What callers have read of connections, minute by minute, as far as it was written. What counts
 * while a gateway runs lies in its memory; this is for the next one that starts. */
#ifndef GH_STORE_READ_USE_STORE_H
#define GH_STORE_READ_USE_STORE_H

#include "base/arena.h"
#include "store/store.h"

struct read_use {
    struct slice connection_id;
    struct slice caller_id;
    struct slice node_id; /* of the gateway; empty: the store has one alone */
    int64_t minute;       /* since 1970 */
    uint64_t rows;
    uint64_t bytes;
};

struct read_use_list {
    struct read_use *uses;
    size_t count;
};

/* Of one caller on one connection at one gateway, since that minute: at most 'max', the newest.
 * Their texts are those that were asked for. */
enum err read_use_store_list(struct store_tx *tx, struct arena *arena, const struct read_use *since,
                             size_t max, struct read_use_list *ret_list,
                             struct error *reterr) MUST_USE;
/* The same of all other gateways together. */
enum err read_use_store_list_others(struct store_tx *tx, struct arena *arena,
                                    const struct read_use *since, size_t max,
                                    struct read_use_list *ret_list, struct error *reterr) MUST_USE;
/* To what is there of the minute. */
enum err read_use_store_add(struct store_tx *tx, const struct read_use *use,
                            struct error *reterr) MUST_USE;
/* All of before the one minute and behind the other. */
enum err read_use_store_forget(struct store_tx *tx, int64_t before, int64_t behind,
                               struct error *reterr) MUST_USE;

#endif
