/* SPDX-License-Identifier: MIT */
/* The connections of a store: opened when first needed, the last used is used first, at most so
 * many at once. A database that is gone is asked again after a pause that grows. */
#include "base/limits.h"
#include "base/must.h"
#include "store/store_internal.h"

static uint64_t store_now_ms(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* With the lock held. False: nothing came in time. */
static bool store_wait_for_connection(struct store *store, uint64_t until_ms)
{
    struct timespec until = {.tv_sec = (time_t)(until_ms / 1000),
                             .tv_nsec = (long)(until_ms % 1000) * 1000000};
    return pthread_cond_timedwait(&store->connection_came, &store->lock, &until) == 0 ||
           store_now_ms() < until_ms;
}

/* An idle connection, or leave to open one (*ret_tx == NULL). */
static enum err store_take_turn(struct store *store, struct store_tx **ret_tx, struct error *reterr)
{
    uint64_t until_ms = store_now_ms() + store->wait_ms_max;
    while (list_is_empty(&store->idle) && store->connection_count >= store->connection_count_max) {
        if (!store_wait_for_connection(store, until_ms)) {
            return fail(reterr, ERR_UNAVAILABLE, "all connections to the store are busy");
        }
    }
    struct list *link = list_take_first(&store->idle);
    if (link != NULL) {
        *ret_tx = LIST_ITEM(link, struct store_tx, link);
        return ERR_NONE;
    }
    if (store_now_ms() < store->connect_not_before_ms) {
        return fail(reterr, ERR_UNAVAILABLE, "the database does not answer");
    }
    store->connection_count++;
    *ret_tx = NULL;
    return ERR_NONE;
}

static void store_connect_failed(struct store *store)
{
    unsigned pause_ms = store->connect_pause_ms * 2;
    if (pause_ms < LIMIT_STORE_RECONNECT_MS_MIN) {
        pause_ms = LIMIT_STORE_RECONNECT_MS_MIN;
    }
    store->connect_pause_ms =
        pause_ms < LIMIT_STORE_RECONNECT_MS_MAX ? pause_ms : LIMIT_STORE_RECONNECT_MS_MAX;
    store->connect_not_before_ms = store_now_ms() + store->connect_pause_ms;
    store->connection_count--;
}

enum err store_take_connection(struct store *store, struct store_tx **ret_tx, struct error *reterr)
{
    (void)pthread_mutex_lock(&store->lock);
    enum err err = store_take_turn(store, ret_tx, reterr);
    (void)pthread_mutex_unlock(&store->lock);
    if (err != ERR_NONE || *ret_tx != NULL) {
        return err;
    }
    err = store->engine->connect(store, ret_tx, reterr);
    (void)pthread_mutex_lock(&store->lock);
    if (err == ERR_NONE) {
        store->connect_pause_ms = 0;
    } else {
        store_connect_failed(store);
    }
    (void)pthread_mutex_unlock(&store->lock);
    return err;
}

void store_give_connection(struct store_tx *tx)
{
    struct store *store = tx->store;
    bool is_broken = tx->is_broken;
    if (is_broken) {
        store->engine->disconnect(tx);
    }
    (void)pthread_mutex_lock(&store->lock);
    if (is_broken) {
        store->connection_count--;
    } else {
        list_append(store->idle.next, &tx->link); /* in front of the first: used next */
    }
    (void)pthread_cond_signal(&store->connection_came);
    (void)pthread_mutex_unlock(&store->lock);
}
