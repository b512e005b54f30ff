/* SPDX-License-Identifier: MIT */
#include "both_engines.h"

#include "base/memory.h"
#include "base/must.h"
#include "pg_server.h"
#include "store/review_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct pg_server *server;

void both_engines_start(void)
{
    server = pg_server_new();
}

void both_engines_end(void)
{
    pg_server_free(server);
    server = NULL;
}

static void engine_run(const char *url, const char *folder, both_engines_fn test)
{
    struct engine engine = {0};
    char path[96];
    bool is_new = false;
    (void)snprintf(path, sizeof(path), "%s/key", folder);
    must(seal_keys_open(path, &engine.keys, &is_new, NULL) == ERR_NONE);
    const struct store_settings settings = {
        .url = url, .connection_count_max = 8, .wait_ms_max = 5000, .keys = engine.keys};
    must(store_open(&settings, &engine.store, NULL) == ERR_NONE);
    arena_init(&engine.arena);
    test(&engine);
    arena_release(&engine.arena);
    store_close(engine.store);
    seal_keys_close(engine.keys);
}

void on_both_engines(both_engines_fn test)
{
    static const char *const names[] = {"key", "store.db", "store.db-wal", "store.db-shm"};
    char folder[] = "/tmp/gatehouse-engines-XXXXXX";
    char url[256];
    must(mkdtemp(folder) != NULL);
    (void)snprintf(url, sizeof(url), "sqlite:%s/store.db", folder);
    engine_run(url, folder, test);
    pg_server_make_database(server, url, sizeof(url));
    engine_run(url, folder, test);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char path[96];
        (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

void engine_write(struct engine *engine, store_body_fn body, void *context)
{
    struct error error = {0};
    if (store_write(engine->store, body, context, &error) != ERR_NONE) {
        (void)fprintf(stderr, "%s\n", error.message);
        must(false);
    }
}

struct engine_query {
    struct engine *engine;
    const char *sql;
    int64_t number;
    struct slice bytes;
};

static enum err engine_read_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct engine_query *query = context;
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(tx, query->sql, NO_PARAMS, &rows, reterr);
    if (err == ERR_NONE && query->engine == NULL) {
        query->number = store_rows_int(&rows, 0);
    } else if (err == ERR_NONE) {
        query->bytes = arena_copy(&query->engine->arena, store_rows_view(&rows, 0));
    }
    return err;
}

int64_t engine_number(struct engine *engine, const char *sql)
{
    struct engine_query query = {.sql = sql};
    must(store_read(engine->store, engine_read_body, &query, NULL) == ERR_NONE);
    return query.number;
}

struct slice engine_bytes(struct engine *engine, const char *sql)
{
    struct engine_query query = {.engine = engine, .sql = sql};
    must(store_read(engine->store, engine_read_body, &query, NULL) == ERR_NONE);
    return query.bytes;
}

static enum err engine_execute_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct engine_query *query = context;
    return store_exec(tx, query->sql, NO_PARAMS, NULL, reterr);
}

void engine_execute(struct engine *engine, const char *sql)
{
    struct engine_query query = {.sql = sql};
    engine_write(engine, engine_execute_body, &query);
}

struct engine_review {
    struct review review;
    struct review_secret secret;
    struct arena *arena;
};

static enum err engine_insert_body(struct store_tx *tx, void *context, struct error *error)
{
    struct engine_review *adding = context;
    static const struct review_need need = {0};
    adding->review.need = review_need_text_in(adding->arena, &need);
    return review_store_insert(tx, adding->arena, &adding->review, &adding->secret, error);
}

void engine_add_review(struct engine *engine, const char *id, size_t script_size)
{
    static const char hash[REVIEW_HASH_SIZE];
    char *script = arena_alloc(&engine->arena, script_size + 1);
    memset(script, 'x', script_size);
    struct engine_review adding = {
        .review =
            {
                .id = slice_of_text(id),
                .organization_id = SLICE("01900000-0000-7000-8000-000000000001"),
                .session_id = arena_format(&engine->arena, "%s-session", id),
                .kind = SLICE("onetime"),
                .state = SLICE("PENDING"),
                .connection_id = SLICE("c"),
                .connection_name = SLICE("c"),
                .connection_subtype = SLICE("postgres"),
                .member_id = SLICE("m"),
                .member_email = SLICE("m@x"),
                .member_name = SLICE("m"),
                .script_size = (int64_t)script_size,
                .metadata = SLICE("{}"),
                .reason = SLICE(""),
                .run_id = SLICE(""),
                .run_by = SLICE(""),
                .client_ip = SLICE(""),
            },
        .secret = {.hash = slice_of(hash, sizeof(hash)), .script = slice_of(script, script_size)},
        .arena = &engine->arena,
    };
    engine_write(engine, engine_insert_body, &adding);
}
