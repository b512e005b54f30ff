/* SPDX-License-Identifier: MIT */
/* The gateway's own data: one blocking, thread-safe interface over SQLite (embedded) and
 * PostgreSQL, with one SQL text for both ($1 parameters; see README.md for what may stand in it).
 * Work happens in a body: a function that is run inside a transaction, and run again when the
 * transaction must be repeated, so it has no effects but on the store and on what its context
 * points to.
 *
 * ERR_UNAVAILABLE: the database does not answer, or its disk is full; it may again later.
 * ERR_CONFLICT: a unique or foreign key was violated. */
#ifndef GH_STORE_STORE_H
#define GH_STORE_STORE_H

#include "base/error.h"
#include "base/slice.h"

#include <stdint.h>

struct page_hints;
struct seal_keys;
struct store;
struct store_tx;

struct store_settings {
    const char *url; /* "sqlite:PATH", or "postgres://…" */
    size_t connection_count_max;
    unsigned wait_ms_max;   /* for a free connection, or another process's lock */
    struct seal_keys *keys; /* of what lies sealed in it; must outlive the store */
    bool is_trial;          /* the tables are brought up to date, and then left as they were */
};

/* Opens and brings the tables up to date; several processes may do so at once. */
enum err store_open(const struct store_settings *settings, struct store **ret_store,
                    struct error *reterr) MUST_USE;
/* No call may be running. */
void store_close(struct store *store);

typedef enum err (*store_body_fn)(struct store_tx *tx, void *context, struct error *reterr);

/* All reads of the body see one state. */
enum err store_read(struct store *store, store_body_fn body, void *context,
                    struct error *reterr) MUST_USE;
/* ERR_NONE: all that the body wrote is durable. Any error: nothing of it is there, except when the
 * database was lost during the commit, which the message says. */
enum err store_write(struct store *store, store_body_fn body, void *context,
                     struct error *reterr) MUST_USE;

/* A store of which all reads and writes are a part of this body's transaction, so that what is
 * written there comes to be with it, or not at all. Where one has failed, the body fails, too. To
 * be freed before the body ends. */
struct store *store_part_new(struct store_tx *tx);
void store_part_free(struct store *part);

/* Whether other gateways may use it, too. */
bool store_is_shared(const struct store *store);

/* ERR_NONE when the database answers a query. */
enum err store_ping(struct store *store, struct error *reterr) MUST_USE;

/* A number that goes up with every change of who callers are, whichever process made it. */
enum err store_caller_generation(struct store *store, int64_t *ret_number,
                                 struct error *reterr) MUST_USE;

/* In a body ----------------------------------------------------------------------------------- */

enum store_kind {
    STORE_NULL,
    STORE_INT,
    STORE_TEXT,
    STORE_BLOB,
};

struct store_value {
    enum store_kind kind;
    int64_t number;
    struct slice bytes;
};

struct store_params {
    const struct store_value *values;
    size_t count;
};

#define STORE_PARAMS_MAX 104

struct store_value store_null(void);
struct store_value store_int(int64_t number);
struct store_value store_text(struct slice text);
struct store_value store_blob(struct slice bytes);

/* store_exec(tx, "UPDATE …", PARAMS(store_text(name), store_int(5)), &changed, reterr) */
#define PARAMS(...)                                                                                \
    ((struct store_params){(const struct store_value[]){__VA_ARGS__},                              \
                           sizeof((const struct store_value[]){__VA_ARGS__}) /                     \
                               sizeof(struct store_value)})
#define NO_PARAMS ((struct store_params){NULL, 0})

/* 'sql' must be a literal: prepared statements are kept by its address. 'ret_changed' may be NULL.
 */
enum err store_exec(struct store_tx *tx, const char *sql, struct store_params params,
                    uint64_t *ret_changed, struct error *reterr) MUST_USE;

/* To be called by whatever changes who a caller is, or what is remembered of him. */
enum err store_note_callers(struct store_tx *tx, struct error *reterr) MUST_USE;

struct page_hints *store_hints(const struct store_tx *tx);
/* The keys that the store was opened with. */
struct seal_keys *store_keys(const struct store_tx *tx);

/* The rows of one query, read one after the other. CLEANUP(store_rows_end). One query at a time may
 * be open for each SQL literal. */
struct store_rows {
    struct store_tx *tx;
    void *handle; /* of the engine */
    int row;
};

enum err store_query(struct store_tx *tx, const char *sql, struct store_params params,
                     struct store_rows *ret_rows, struct error *reterr) MUST_USE;
/* The first row too: ERR_NOT_FOUND when there is none. */
enum err store_query_one(struct store_tx *tx, const char *sql, struct store_params params,
                         struct store_rows *ret_rows, struct error *reterr) MUST_USE;
/* ERR_NONE: a row is there; ERR_NOT_FOUND: no more. */
enum err store_rows_next(struct store_rows *rows, struct error *reterr) MUST_USE;
void store_rows_end(struct store_rows *rows);

/* Columns count from 0. Views last until the next row. */
bool store_rows_is_null(const struct store_rows *rows, int column);
int64_t store_rows_int(const struct store_rows *rows, int column);
struct slice store_rows_view(const struct store_rows *rows, int column);

/* For the metrics ----------------------------------------------------------------------------- */

struct store_stats {
    uint64_t read_count;
    uint64_t write_count;
    uint64_t commit_count;
    uint64_t retry_count;
    uint64_t failure_count;
    uint64_t connection_count;
};

struct store_stats store_stats(struct store *store);

#endif
