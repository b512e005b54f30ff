/* SPDX-License-Identifier: MIT */
/* Brings the tables up to date: all missing migrations in one transaction, under a lock that other
 * processes wait for. There is no way back; a store newer than this program is refused. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/must.h"
#include "base/writer.h"
#include "io/clock.h"
#include "store/store_internal.h"

static const char *const migrate_tokens[] = {"@int", "@text", "@blob", "@strict", "@now"};

/* Writes what the token at the start of 'rest' stands for; returns its size, or 0 for none. */
static size_t migrate_token(struct writer *writer, const struct store_engine *engine,
                            struct slice rest)
{
    for (size_t i = 0; i < COUNT_OF(migrate_tokens); i++) {
        struct slice token = slice_of_text(migrate_tokens[i]);
        if (!slice_starts_with(rest, token)) {
            continue;
        }
        if (i < COUNT_OF(engine->types)) {
            writer_bytes(writer, slice_of_text(engine->types[i]));
        } else {
            writer_format(writer, "%lld", (long long)clock_now());
        }
        return token.len;
    }
    return 0;
}

/* Puts the engine's words in the place of the tokens. */
static const char *migrate_translate(struct arena *arena, const struct store_engine *engine,
                                     const char *sql)
{
    struct buf text;
    buf_init(&text, LIMIT_STORE_MIGRATION_SIZE);
    struct writer writer = writer_to(&text);
    struct slice rest = slice_of_text(sql);
    while (rest.len > 0) {
        size_t before = slice_find_byte(rest, '@');
        writer_bytes(&writer, slice_sub(rest, 0, before));
        rest = slice_from(rest, before);
        size_t size = migrate_token(&writer, engine, rest);
        if (size == 0) {
            writer_bytes(&writer, slice_sub(rest, 0, 1));
            size = 1;
        }
        rest = slice_from(rest, size);
    }
    must(writer_done(&writer) == ERR_NONE);
    const char *translated = arena_text(arena, buf_view(&text));
    buf_release(&text);
    return translated;
}

static enum err migrate_version(struct store_tx *tx, int64_t *ret_version, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(tx, "SELECT coalesce(max(version), 0) FROM schema_migration",
                               NO_PARAMS, &rows, reterr);
    if (err == ERR_NONE) {
        err = store_rows_next(&rows, reterr);
    }
    if (err == ERR_NONE) {
        *ret_version = store_rows_int(&rows, 0);
    }
    return err;
}

static enum err migrate_one(struct store_tx *tx, const struct store_migration *migration,
                            struct error *reterr)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    enum err err =
        tx->engine->run_script(tx, migrate_translate(&arena, tx->engine, migration->sql), reterr);
    if (err == ERR_NONE) {
        err = store_exec(tx,
                         "INSERT INTO schema_migration (version, name, applied_at) "
                         "VALUES ($1, $2, $3)",
                         PARAMS(store_int(migration->version),
                                store_text(slice_of_text(migration->name)), store_int(clock_now())),
                         NULL, reterr);
    }
    return err;
}

static enum err migrate_all(struct store_tx *tx, struct error *reterr)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    int64_t version = 0;
    int64_t known = store_migrations[store_migration_count - 1].version;
    enum err err = tx->engine->run_script(
        tx,
        migrate_translate(&arena, tx->engine,
                          "CREATE TABLE IF NOT EXISTS schema_migration (version @int PRIMARY KEY, "
                          "name @text NOT NULL, applied_at @int NOT NULL) @strict"),
        reterr);
    if (err == ERR_NONE) {
        err = migrate_version(tx, &version, reterr);
    }
    if (err == ERR_NONE && version > known) {
        return fail(reterr, ERR_UNSUPPORTED,
                    "the store is at version %lld, this gatehouse knows versions up to %lld: use a "
                    "newer gatehouse",
                    (long long)version, (long long)known);
    }
    for (size_t i = 0; i < store_migration_count && err == ERR_NONE; i++) {
        if (store_migrations[i].version > version) {
            err = migrate_one(tx, &store_migrations[i], reterr);
        }
    }
    return err;
}

enum err store_migrate(struct store *store, bool keeps, struct error *reterr)
{
    struct store_tx *tx = NULL;
    enum err err = store_take_connection(store, &tx, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    err = tx->engine->migrate_begin(tx, reterr);
    if (err == ERR_NONE) {
        err = migrate_all(tx, reterr);
        if (err == ERR_NONE && keeps) {
            err = tx->engine->commit(tx, reterr);
        } else {
            tx->engine->rollback(tx);
        }
    }
    store_give_connection(tx);
    return err;
}
