/* SPDX-License-Identifier: MIT */
/* Sinks of notifications in the store, and lists of what was, and is to be, sent to them. What a
 * sink must not show, its URL and the key of its signatures, lies sealed. */
#ifndef GH_STORE_NOTIFICATION_STORE_H
#define GH_STORE_NOTIFICATION_STORE_H

#include "model/notification.h"
#include "store/store.h"

struct sink_list {
    struct sink *sinks;
    size_t count;
};

/* By name; without URLs and keys. There are LIMIT_NOTIFY_SINKS of an organization at most. */
enum err notification_store_sinks(struct store_tx *tx, struct arena *arena,
                                  struct slice organization_id, struct sink_list *ret_list,
                                  struct error *reterr) MUST_USE;
/* With them. */
enum err notification_store_find(struct store_tx *tx, struct arena *arena,
                                 struct slice organization_id, struct slice name_or_id,
                                 struct sink *ret_sink, struct error *reterr) MUST_USE;
/* ERR_CONFLICT: the name is taken, or there are enough. */
enum err notification_store_insert(struct store_tx *tx, struct arena *arena,
                                   const struct sink *sink, struct error *reterr) MUST_USE;
enum err notification_store_replace(struct store_tx *tx, struct arena *arena,
                                    const struct sink *sink, struct error *reterr) MUST_USE;
/* With its deliveries. */
enum err notification_store_delete(struct store_tx *tx, struct slice id,
                                   struct error *reterr) MUST_USE;

struct delivery_filter {
    struct slice organization_id;
    struct slice state; /* empty: any */
    struct slice sink;  /* its name; empty: any */
    int64_t limit;
    int64_t offset;
};

struct delivery_list {
    struct delivery *deliveries;
    size_t count;
    int64_t total;
};

/* The newest first. */
enum err notification_store_deliveries(struct store_tx *tx, struct arena *arena,
                                       const struct delivery_filter *filter,
                                       struct delivery_list *ret_list,
                                       struct error *reterr) MUST_USE;
enum err notification_store_delivery(struct store_tx *tx, struct arena *arena,
                                     struct slice organization_id, struct slice id,
                                     struct delivery *ret_delivery, struct error *reterr) MUST_USE;
/* A dead one is sent again, under the same id. ERR_CONFLICT: it is not dead. */
enum err notification_store_replay(struct store_tx *tx, struct slice id, int64_t now,
                                   struct error *reterr) MUST_USE;
/* All dead ones of the filter's sink, or of all sinks. */
enum err notification_store_replay_dead(struct store_tx *tx, const struct delivery_filter *filter,
                                        int64_t now, uint64_t *ret_count,
                                        struct error *reterr) MUST_USE;

#endif
