/* SPDX-License-Identifier: MIT */
/* The gateways that use a store together, as each says of itself for a while. */
#ifndef GH_STORE_NODE_STORE_H
#define GH_STORE_NODE_STORE_H

#include "base/arena.h"
#include "store/store.h"

struct node_row {
    struct slice id;
    struct slice url; /* where agents and the other gateways reach it */
    int64_t alive_until;
};

struct node_list {
    struct node_row *rows;
    size_t count;
};

/* Says so, and forgets those who have not for long. */
enum err node_store_renew(struct store_tx *tx, const struct node_row *row, int64_t now,
                          struct error *reterr) MUST_USE;
/* Those who are there now, by id: at most 'max'. */
enum err node_store_list(struct store_tx *tx, struct arena *arena, int64_t now, size_t max,
                         struct node_list *ret_list, struct error *reterr) MUST_USE;
enum err node_store_remove(struct store_tx *tx, struct slice id, struct error *reterr) MUST_USE;

#endif
