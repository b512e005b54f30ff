/* SPDX-License-Identifier: MIT */
/* What store.c and the two engines share. An engine is a table of functions because two databases
 * sit behind one interface; no layer above sees it. */
#ifndef GH_STORE_STORE_INTERNAL_H
#define GH_STORE_STORE_INTERNAL_H

#include "base/list.h"
#include "store/store.h"

#include <pthread.h>
#include <stdatomic.h>

struct store_engine;

/* A connection; a transaction is one in use. */
struct store_tx {
    struct list link;
    struct store *store;
    const struct store_engine *engine;
    bool is_broken;    /* the connection is lost: not to be used again */
    bool wants_repeat; /* the database refused to serialize: run the body again */
    bool changes_callers;
};

struct store_engine {
    const char *name;
    bool is_shared; /* other processes write to it too */
    enum err (*connect)(struct store *store, struct store_tx **ret_tx, struct error *reterr);
    void (*disconnect)(struct store_tx *tx);
    enum err (*begin)(struct store_tx *tx, bool is_write, struct error *reterr);
    enum err (*commit)(struct store_tx *tx, struct error *reterr);
    void (*rollback)(struct store_tx *tx);
    /* A whole script, inside the transaction that migrate_begin opened under a lock. */
    enum err (*migrate_begin)(struct store_tx *tx, struct error *reterr);
    enum err (*run_script)(struct store_tx *tx, const char *sql, struct error *reterr);
    enum err (*query)(struct store_tx *tx, const char *sql, struct store_params params,
                      struct store_rows *ret_rows, struct error *reterr);
    enum err (*next)(struct store_rows *rows, struct error *reterr);
    void (*end)(struct store_rows *rows);
    uint64_t (*changed)(const struct store_rows *rows);
    bool (*is_null)(const struct store_rows *rows, int column);
    int64_t (*number)(const struct store_rows *rows, int column);
    struct slice (*view)(const struct store_rows *rows, int column);
    /* What '@int', '@text', '@blob' and '@strict' of a migration stand for. */
    const char *types[4];
};

extern const struct store_engine store_sqlite;
extern const struct store_engine store_postgres;

/* One write that waits for the group's commit. */
struct store_write {
    struct list link;
    store_body_fn body;
    void *context;
    struct error *error;
    enum err result;
    bool is_done;
};

struct store {
    const struct store_engine *engine;
    struct store_tx *outer; /* that it is a part of; NULL: none. Then there is nothing but it */
    char *url;              /* without "sqlite:"; never in a message, it may hold a password */
    size_t connection_count_max;
    unsigned wait_ms_max;
    struct seal_keys *keys;
    struct page_hints *hints;
    pthread_mutex_t lock;
    pthread_cond_t connection_came;
    struct list idle; /* connections, the last used first */
    size_t connection_count;
    /* After a failed connect: no other is tried before then. Monotonic. */
    uint64_t connect_not_before_ms;
    unsigned connect_pause_ms;
    _Atomic int64_t caller_generation; /* as this process has changed it */
    /* Grouped writes. */
    pthread_mutex_t write_lock;
    pthread_cond_t write_done;
    struct list writes;
    bool has_leader;
    _Atomic uint64_t read_count;
    _Atomic uint64_t write_count;
    _Atomic uint64_t commit_count;
    _Atomic uint64_t retry_count;
    _Atomic uint64_t failure_count;
};

/* store.c: runs the body in a transaction, and again when it must be repeated */
enum err store_run(struct store *store, bool is_write, store_body_fn body, void *context,
                   struct error *reterr) MUST_USE;

/* connections.c */
enum err store_take_connection(struct store *store, struct store_tx **ret_tx,
                               struct error *reterr) MUST_USE;
void store_give_connection(struct store_tx *tx);

/* write_group.c */
enum err store_write_grouped(struct store *store, store_body_fn body, void *context,
                             struct error *reterr) MUST_USE;

/* migrate.c */
enum err store_migrate(struct store *store, bool keeps, struct error *reterr) MUST_USE;

struct store_migration {
    int64_t version;
    const char *name;
    const char *sql;
};

/* Made by the build from migrations/, in the order of their numbers. */
extern const struct store_migration store_migrations[];
extern const size_t store_migration_count;

#endif
