/* SPDX-License-Identifier: MIT */
#include "store/store.h"

#include "base/limits.h"
#include "base/must.h"
#include "store/page_hints.h"
#include "store/store_internal.h"

#include <unistd.h>

struct store_value store_null(void)
{
    return (struct store_value){.kind = STORE_NULL};
}

struct store_value store_int(int64_t number)
{
    return (struct store_value){.kind = STORE_INT, .number = number};
}

struct store_value store_text(struct slice text)
{
    return (struct store_value){.kind = STORE_TEXT, .bytes = text};
}

struct store_value store_blob(struct slice bytes)
{
    return (struct store_value){.kind = STORE_BLOB, .bytes = bytes};
}

static const struct store_engine *store_engine_of(const char *url, size_t *ret_prefix)
{
    struct slice text = slice_of_text(url);
    *ret_prefix = 0;
    if (slice_starts_with(text, SLICE("sqlite:"))) {
        *ret_prefix = strlen("sqlite:");
        return &store_sqlite;
    }
    bool is_postgres = slice_starts_with(text, SLICE("postgres://")) ||
                       slice_starts_with(text, SLICE("postgresql://"));
    return is_postgres ? &store_postgres : NULL;
}

enum err store_open(const struct store_settings *settings, struct store **ret_store,
                    struct error *reterr)
{
    size_t prefix = 0;
    const struct store_engine *engine = store_engine_of(settings->url, &prefix);
    if (engine == NULL) {
        return fail(reterr, ERR_INPUT, "a store is 'sqlite:PATH' or 'postgres://…'");
    }
    struct store *store = memory_new(sizeof(*store));
    store->engine = engine;
    store->url = strdup(settings->url + prefix);
    must(store->url != NULL);
    store->connection_count_max = settings->connection_count_max;
    store->wait_ms_max = settings->wait_ms_max;
    store->keys = settings->keys;
    store->hints = page_hints_new();
    list_init(&store->idle);
    list_init(&store->writes);
    pthread_condattr_t monotonic;
    must(pthread_condattr_init(&monotonic) == 0);
    must(pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0);
    must(pthread_mutex_init(&store->lock, NULL) == 0);
    must(pthread_mutex_init(&store->write_lock, NULL) == 0);
    must(pthread_cond_init(&store->connection_came, &monotonic) == 0);
    must(pthread_cond_init(&store->write_done, NULL) == 0);
    (void)pthread_condattr_destroy(&monotonic);
    enum err err = store_migrate(store, !settings->is_trial, reterr);
    if (err != ERR_NONE) {
        store_close(store);
        return err;
    }
    *ret_store = store;
    return ERR_NONE;
}

bool store_is_shared(const struct store *store)
{
    return store->engine->is_shared;
}

void store_close(struct store *store)
{
    if (store == NULL) {
        return;
    }
    must(list_is_empty(&store->writes));
    for (struct list *link = list_take_first(&store->idle); link != NULL;
         link = list_take_first(&store->idle)) {
        store->engine->disconnect(LIST_ITEM(link, struct store_tx, link));
    }
    (void)pthread_mutex_destroy(&store->lock);
    (void)pthread_mutex_destroy(&store->write_lock);
    (void)pthread_cond_destroy(&store->connection_came);
    (void)pthread_cond_destroy(&store->write_done);
    page_hints_free(store->hints);
    explicit_bzero(store->url, strlen(store->url));
    free(store->url);
    memory_free(store);
}

/* One run of the body in a transaction of its own. */
static enum err store_run_once(struct store_tx *tx, bool is_write, store_body_fn body,
                               void *context, struct error *reterr)
{
    tx->wants_repeat = false;
    tx->changes_callers = false;
    enum err err = tx->engine->begin(tx, is_write, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    err = body(tx, context, reterr);
    if (err == ERR_NONE) {
        err = tx->engine->commit(tx, reterr);
        if (tx->changes_callers) {
            atomic_fetch_add(&tx->store->caller_generation, 1);
        }
    } else {
        tx->engine->rollback(tx);
    }
    return err;
}

/* Waits longer each time, and not the same time as the other one that was refused. */
static void store_pause(unsigned attempt)
{
    unsigned bits = attempt < 6 ? attempt : 6;
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    (void)usleep(((unsigned)now.tv_nsec % 1000 + 500) << bits);
}

/* A connection that was lost while it stood idle shows that in its first transaction: that one is
 * run again on a fresh connection, once. What the database refuses to serialize is repeated. */
enum err store_run(struct store *store, bool is_write, store_body_fn body, void *context,
                   struct error *reterr)
{
    bool may_reconnect = true;
    for (unsigned attempt = 0;; attempt++) {
        struct store_tx *tx = NULL;
        enum err err = store_take_connection(store, &tx, reterr);
        if (err != ERR_NONE) {
            return err;
        }
        err = store_run_once(tx, is_write, body, context, reterr);
        bool repeats = tx->wants_repeat && attempt < LIMIT_STORE_REPEATS;
        bool reconnects = tx->is_broken && may_reconnect && err == ERR_AGAIN;
        store_give_connection(tx);
        if (err == ERR_NONE || (!repeats && !reconnects)) {
            return err == ERR_AGAIN ? fail(reterr, ERR_UNAVAILABLE, "the database does not answer")
                                    : err;
        }
        may_reconnect = may_reconnect && !reconnects;
        atomic_fetch_add_explicit(&store->retry_count, 1, memory_order_relaxed);
        if (repeats) {
            store_pause(attempt);
        }
    }
}

static enum err store_count(struct store *store, _Atomic uint64_t *counter, enum err err)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
    if (err == ERR_UNAVAILABLE || err == ERR_INTERNAL) {
        atomic_fetch_add_explicit(&store->failure_count, 1, memory_order_relaxed);
    }
    return err;
}

struct store *store_part_new(struct store_tx *tx)
{
    struct store *part = memory_new(sizeof(*part));
    part->engine = tx->engine;
    part->outer = tx;
    return part;
}

void store_part_free(struct store *part)
{
    must(part->outer != NULL);
    memory_free(part);
}

enum err store_read(struct store *store, store_body_fn body, void *context, struct error *reterr)
{
    if (store->outer != NULL) {
        return body(store->outer, context, reterr);
    }
    return store_count(store, &store->read_count, store_run(store, false, body, context, reterr));
}

enum err store_write(struct store *store, store_body_fn body, void *context, struct error *reterr)
{
    if (store->outer != NULL) {
        return body(store->outer, context, reterr);
    }
    return store_count(store, &store->write_count,
                       store_write_grouped(store, body, context, reterr));
}

static enum err store_ping_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    (void)context;
    enum err err =
        store_query(tx, "SELECT count(*) FROM schema_migration", NO_PARAMS, &rows, reterr);
    return err == ERR_NONE ? store_rows_next(&rows, reterr) : err;
}

enum err store_ping(struct store *store, struct error *reterr)
{
    return store_read(store, store_ping_body, NULL, reterr);
}

enum err store_note_callers(struct store_tx *tx, struct error *reterr)
{
    tx->changes_callers = true;
    return store_exec(tx, "UPDATE caller_generation SET number = number + 1 WHERE id = 1",
                      NO_PARAMS, NULL, reterr);
}

static enum err store_read_generation(struct store_tx *tx, void *context, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(tx, "SELECT number FROM caller_generation WHERE id = 1",
                                   NO_PARAMS, &rows, reterr);
    if (err == ERR_NONE) {
        *(int64_t *)context = store_rows_int(&rows, 0);
    }
    return err;
}

/* An embedded store is this process's alone, so that there is nothing to ask. */
enum err store_caller_generation(struct store *store, int64_t *ret_number, struct error *reterr)
{
    if (store->outer != NULL) {
        return store_caller_generation(store->outer->store, ret_number, reterr);
    }
    if (!store->engine->is_shared) {
        *ret_number = atomic_load(&store->caller_generation);
        return ERR_NONE;
    }
    return store_run(store, false, store_read_generation, ret_number, reterr);
}

struct page_hints *store_hints(const struct store_tx *tx)
{
    return tx->store->hints;
}

struct seal_keys *store_keys(const struct store_tx *tx)
{
    return tx->store->keys;
}

struct store_stats store_stats(struct store *store)
{
    (void)pthread_mutex_lock(&store->lock);
    size_t connection_count = store->connection_count;
    (void)pthread_mutex_unlock(&store->lock);
    return (struct store_stats){
        .read_count = store->read_count,
        .write_count = store->write_count,
        .commit_count = store->commit_count,
        .retry_count = store->retry_count,
        .failure_count = store->failure_count,
        .connection_count = connection_count,
    };
}

enum err store_query(struct store_tx *tx, const char *sql, struct store_params params,
                     struct store_rows *ret_rows, struct error *reterr)
{
    must(params.count <= STORE_PARAMS_MAX);
    *ret_rows = (struct store_rows){.tx = tx, .row = -1};
    return tx->engine->query(tx, sql, params, ret_rows, reterr);
}

enum err store_exec(struct store_tx *tx, const char *sql, struct store_params params,
                    uint64_t *ret_changed, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(tx, sql, params, &rows, reterr);
    while (err == ERR_NONE) {
        err = store_rows_next(&rows, reterr);
    }
    if (err != ERR_NOT_FOUND) {
        return err;
    }
    if (ret_changed != NULL) {
        *ret_changed = tx->engine->changed(&rows);
    }
    return ERR_NONE;
}

enum err store_query_one(struct store_tx *tx, const char *sql, struct store_params params,
                         struct store_rows *ret_rows, struct error *reterr)
{
    enum err err = store_query(tx, sql, params, ret_rows, reterr);
    return err == ERR_NONE ? store_rows_next(ret_rows, reterr) : err;
}

enum err store_rows_next(struct store_rows *rows, struct error *reterr)
{
    return rows->tx->engine->next(rows, reterr);
}

void store_rows_end(struct store_rows *rows)
{
    if (rows->handle != NULL) {
        rows->tx->engine->end(rows);
        rows->handle = NULL;
    }
}

bool store_rows_is_null(const struct store_rows *rows, int column)
{
    return rows->tx->engine->is_null(rows, column);
}

int64_t store_rows_int(const struct store_rows *rows, int column)
{
    return rows->tx->engine->number(rows, column);
}

struct slice store_rows_view(const struct store_rows *rows, int column)
{
    return rows->tx->engine->view(rows, column);
}
