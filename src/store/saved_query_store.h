/* SPDX-License-Identifier: MIT */
/* Saved queries in the store. Nobody finds one of a connection that he may not see, nor another's
 * that is not shared. */
#ifndef GH_STORE_SAVED_QUERY_STORE_H
#define GH_STORE_SAVED_QUERY_STORE_H

#include "model/caller.h"
#include "model/saved_query.h"
#include "store/store.h"

struct saved_query_filter {
    struct slice connection; /* a name; empty: of all */
    struct slice search;     /* in the name, without case */
    int64_t limit;
    int64_t offset;
};

struct saved_query_list {
    struct saved_query *queries;
    size_t count;
    int64_t total;
};

/* By name. */
enum err saved_query_store_list(struct store_tx *tx, struct arena *arena,
                                const struct visibility *visibility,
                                const struct saved_query_filter *filter,
                                struct saved_query_list *ret_list, struct error *reterr) MUST_USE;
enum err saved_query_store_find(struct store_tx *tx, struct arena *arena,
                                const struct visibility *visibility, struct slice id,
                                struct saved_query *ret_query, struct error *reterr) MUST_USE;
/* ERR_CONFLICT: he has one of this name there, or LIMIT_SAVED_QUERIES. */
enum err saved_query_store_insert(struct store_tx *tx, const struct saved_query *query,
                                  struct error *reterr) MUST_USE;
/* Its connection, name, script, and with whom it is shared. ERR_CONFLICT likewise. */
enum err saved_query_store_update(struct store_tx *tx, const struct saved_query *query,
                                  struct error *reterr) MUST_USE;
enum err saved_query_store_delete(struct store_tx *tx, struct slice id,
                                  struct error *reterr) MUST_USE;
/* What a person who goes has shared with nobody. */
enum err saved_query_store_delete_own(struct store_tx *tx, struct slice owner_id,
                                      struct error *reterr) MUST_USE;

#endif
