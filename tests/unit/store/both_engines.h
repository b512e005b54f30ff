/* SPDX-License-Identifier: MIT */
/* The same test on both engines: SQLite in a temporary folder, and a private PostgreSQL server. */
#ifndef GH_TESTS_UNIT_STORE_BOTH_ENGINES_H
#define GH_TESTS_UNIT_STORE_BOTH_ENGINES_H

#include "base/arena.h"
#include "store/seal.h"
#include "store/store.h"

/* Around all tests. */
void both_engines_start(void);
void both_engines_end(void);

/* What one run has; each has a fresh and empty store, with keys. */
struct engine {
    struct store *store;
    struct seal_keys *keys;
    struct arena arena;
};

typedef void (*both_engines_fn)(struct engine *engine);

void on_both_engines(both_engines_fn test);

/* One write, which must go through. */
void engine_write(struct engine *engine, store_body_fn body, void *context);
/* The one number of the one row. */
int64_t engine_number(struct engine *engine, const char *sql);
/* The first column of the one row, as it lies there. */
struct slice engine_bytes(struct engine *engine, const char *sql);
/* A request that waits, with a script of so many bytes. */
void engine_add_review(struct engine *engine, const char *id, size_t script_size);
/* A statement of a test's own. */
void engine_execute(struct engine *engine, const char *sql);

#endif
