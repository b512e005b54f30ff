/* SPDX-License-Identifier: MIT */
/* The embedded store: write-ahead log, synced at each commit, foreign keys on. */
#include "base/limits.h"
#include "base/must.h"
#include "store/store_internal.h"

#include <sqlite3.h>

struct sqlite_statement {
    const char *sql; /* the literal's address is the key */
    sqlite3_stmt *prepared;
};

struct sqlite_tx {
    struct store_tx tx;
    sqlite3 *database;
    struct sqlite_statement statements[LIMIT_STORE_STATEMENTS];
    size_t statement_count;
};

static struct sqlite_tx *sqlite_of(struct store_tx *tx)
{
    return CONTAINER_OF(tx, struct sqlite_tx, tx);
}

static enum err sqlite_fail(struct sqlite_tx *self, int result, struct error *reterr)
{
    switch (result & 0xff) {
    case SQLITE_FULL:
        return fail(reterr, ERR_UNAVAILABLE, "the store's disk is full");
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
        return fail(reterr, ERR_UNAVAILABLE, "the store's disk does not take the data");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return fail(reterr, ERR_UNAVAILABLE, "the store is held by another process");
    case SQLITE_CONSTRAINT:
        if (result == SQLITE_CONSTRAINT_UNIQUE || result == SQLITE_CONSTRAINT_PRIMARYKEY ||
            result == SQLITE_CONSTRAINT_FOREIGNKEY) {
            return fail(reterr, ERR_CONFLICT, "already exists or is still in use");
        }
        break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return fail(reterr, ERR_INTERNAL, "the store's file is damaged or not a store");
    default:
        break;
    }
    return fail(reterr, ERR_INTERNAL, "sqlite: %s (%d)",
                self->database == NULL ? "out of memory" : sqlite3_errmsg(self->database), result);
}

static enum err sqlite_run_script(struct store_tx *tx, const char *sql, struct error *reterr)
{
    struct sqlite_tx *self = sqlite_of(tx);
    int result = sqlite3_exec(self->database, sql, NULL, NULL, NULL);
    return result == SQLITE_OK
               ? ERR_NONE
               : sqlite_fail(self, sqlite3_extended_errcode(self->database), reterr);
}

static void sqlite_disconnect(struct store_tx *tx)
{
    struct sqlite_tx *self = sqlite_of(tx);
    for (size_t i = 0; i < LIMIT_STORE_STATEMENTS; i++) {
        (void)sqlite3_finalize(self->statements[i].prepared);
    }
    (void)sqlite3_close(self->database);
    memory_free(self);
}

/* Several processes may make the same new store at once; the change to the log is not waited for by
 * SQLite itself. */
static enum err sqlite_set_up(struct sqlite_tx *self, struct error *reterr)
{
    char pragmas[256];
    (void)snprintf(pragmas, sizeof(pragmas),
                   "PRAGMA busy_timeout=%u; PRAGMA foreign_keys=ON; PRAGMA synchronous=FULL; "
                   "PRAGMA cache_size=-2048; PRAGMA temp_store=MEMORY",
                   self->tx.store->wait_ms_max);
    enum err err = sqlite_run_script(&self->tx, pragmas, reterr);
    for (unsigned attempt = 0; err == ERR_NONE; attempt++) {
        err = sqlite_run_script(&self->tx, "PRAGMA journal_mode=WAL", reterr);
        if (err != ERR_UNAVAILABLE || attempt >= LIMIT_STORE_WAL_ATTEMPTS) {
            return err;
        }
        (void)sqlite3_sleep(20);
        err = ERR_NONE;
    }
    return err;
}

/* Its statistics of memory are a lock that all connections share. */
static void sqlite_configure(void)
{
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static enum err sqlite_connect(struct store *store, struct store_tx **ret_tx, struct error *reterr)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, sqlite_configure);
    struct sqlite_tx *self = memory_new(sizeof(*self));
    self->tx.store = store;
    self->tx.engine = store->engine;
    list_init(&self->tx.link);
    int result =
        sqlite3_open_v2(store->url, &self->database,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    enum err err = ERR_NONE;
    if (result == SQLITE_OK) {
        (void)sqlite3_extended_result_codes(self->database, 1);
        err = sqlite_set_up(self, reterr);
    } else if ((result & 0xff) == SQLITE_CANTOPEN) {
        err = fail(reterr, ERR_UNAVAILABLE, "cannot open the store '%s': %s", store->url,
                   strerror(sqlite3_system_errno(self->database)));
    } else {
        err = sqlite_fail(self, result, reterr);
    }
    if (err != ERR_NONE) {
        sqlite_disconnect(&self->tx);
        return err;
    }
    *ret_tx = &self->tx;
    return ERR_NONE;
}

/* "$1" is a name to SQLite, to be searched for at each binding; "?1" is its place. */
static char *sqlite_number_parameters(const char *sql)
{
    char *numbered = strdup(sql);
    must(numbered != NULL);
    for (char *at = numbered; *at != '\0'; at++) {
        if (*at == '$' && at[1] >= '1' && at[1] <= '9') {
            *at = '?';
        }
    }
    return numbered;
}

/* Statements are kept by the address of their text, in an open table. */
static enum err sqlite_prepare(struct sqlite_tx *self, const char *sql, sqlite3_stmt **ret_prepared,
                               struct error *reterr)
{
    size_t index = ((uintptr_t)sql >> 3) % LIMIT_STORE_STATEMENTS;
    while (self->statements[index].sql != NULL && self->statements[index].sql != sql) {
        index = (index + 1) % LIMIT_STORE_STATEMENTS;
    }
    struct sqlite_statement *statement = &self->statements[index];
    if (statement->sql == NULL) {
        must(self->statement_count < LIMIT_STORE_STATEMENTS - 1); /* literals are countable */
        char *numbered = sqlite_number_parameters(sql);
        int result = sqlite3_prepare_v3(self->database, numbered, -1, SQLITE_PREPARE_PERSISTENT,
                                        &statement->prepared, NULL);
        free(numbered);
        if (result != SQLITE_OK) {
            return sqlite_fail(self, result, reterr);
        }
        statement->sql = sql;
        self->statement_count++;
    }
    *ret_prepared = statement->prepared;
    return ERR_NONE;
}

/* BEGIN and COMMIT are prepared too: they run around every read. */
static enum err sqlite_step_once(struct store_tx *tx, const char *sql, struct error *reterr)
{
    struct sqlite_tx *self = sqlite_of(tx);
    sqlite3_stmt *prepared = NULL;
    enum err err = sqlite_prepare(self, sql, &prepared, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    int result = sqlite3_step(prepared);
    (void)sqlite3_reset(prepared);
    return result == SQLITE_DONE ? ERR_NONE : sqlite_fail(self, result, reterr);
}

static const char sqlite_begin_read[] = "BEGIN";
static const char sqlite_begin_write[] = "BEGIN IMMEDIATE";
static const char sqlite_commit_text[] = "COMMIT";

static enum err sqlite_begin(struct store_tx *tx, bool is_write, struct error *reterr)
{
    return sqlite_step_once(tx, is_write ? sqlite_begin_write : sqlite_begin_read, reterr);
}

static enum err sqlite_migrate_begin(struct store_tx *tx, struct error *reterr)
{
    return sqlite_begin(tx, true, reterr);
}

static void sqlite_rollback(struct store_tx *tx)
{
    struct sqlite_tx *self = sqlite_of(tx);
    if (sqlite3_get_autocommit(self->database) == 0) {
        (void)sqlite3_exec(self->database, "ROLLBACK", NULL, NULL, NULL);
    }
}

static enum err sqlite_commit(struct store_tx *tx, struct error *reterr)
{
    enum err err = sqlite_step_once(tx, sqlite_commit_text, reterr);
    if (err != ERR_NONE) {
        sqlite_rollback(tx);
    }
    return err;
}

static int sqlite_bind(sqlite3_stmt *prepared, int index, const struct store_value *value)
{
    switch (value->kind) {
    case STORE_NULL:
        return sqlite3_bind_null(prepared, index);
    case STORE_INT:
        return sqlite3_bind_int64(prepared, index, value->number);
    case STORE_TEXT:
        return sqlite3_bind_text64(prepared, index, value->bytes.at == NULL ? "" : value->bytes.at,
                                   value->bytes.len, SQLITE_STATIC, SQLITE_UTF8);
    case STORE_BLOB:
        return sqlite3_bind_blob64(prepared, index, value->bytes.at == NULL ? "" : value->bytes.at,
                                   value->bytes.len, SQLITE_STATIC);
    }
    return SQLITE_MISUSE;
}

static enum err sqlite_query(struct store_tx *tx, const char *sql, struct store_params params,
                             struct store_rows *ret_rows, struct error *reterr)
{
    struct sqlite_tx *self = sqlite_of(tx);
    sqlite3_stmt *prepared = NULL;
    enum err err = sqlite_prepare(self, sql, &prepared, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    must(sqlite3_stmt_busy(prepared) == 0);
    must((size_t)sqlite3_bind_parameter_count(prepared) == params.count);
    for (size_t i = 0; i < params.count; i++) {
        int result = sqlite_bind(prepared, (int)i + 1, &params.values[i]);
        if (result != SQLITE_OK) {
            return sqlite_fail(self, result, reterr);
        }
    }
    ret_rows->handle = prepared;
    return ERR_NONE;
}

static enum err sqlite_next(struct store_rows *rows, struct error *reterr)
{
    int result = sqlite3_step(rows->handle);
    if (result == SQLITE_ROW) {
        return ERR_NONE;
    }
    if (result == SQLITE_DONE) {
        return ERR_NOT_FOUND;
    }
    return sqlite_fail(sqlite_of(rows->tx), result, reterr);
}

static void sqlite_end(struct store_rows *rows)
{
    (void)sqlite3_reset(rows->handle);
    (void)sqlite3_clear_bindings(rows->handle); /* the caller's memory ends */
}

static uint64_t sqlite_changed(const struct store_rows *rows)
{
    return (uint64_t)sqlite3_changes64(sqlite_of(rows->tx)->database);
}

static bool sqlite_is_null(const struct store_rows *rows, int column)
{
    return sqlite3_column_type(rows->handle, column) == SQLITE_NULL;
}

static int64_t sqlite_number(const struct store_rows *rows, int column)
{
    return sqlite3_column_int64(rows->handle, column);
}

static struct slice sqlite_view(const struct store_rows *rows, int column)
{
    const void *at = sqlite3_column_blob(rows->handle, column);
    return slice_of(at, (size_t)sqlite3_column_bytes(rows->handle, column));
}

const struct store_engine store_sqlite = {
    .name = "sqlite",
    .connect = sqlite_connect,
    .disconnect = sqlite_disconnect,
    .begin = sqlite_begin,
    .commit = sqlite_commit,
    .rollback = sqlite_rollback,
    .migrate_begin = sqlite_migrate_begin,
    .run_script = sqlite_run_script,
    .query = sqlite_query,
    .next = sqlite_next,
    .end = sqlite_end,
    .changed = sqlite_changed,
    .is_null = sqlite_is_null,
    .number = sqlite_number,
    .view = sqlite_view,
    .types = {"INTEGER", "TEXT", "BLOB", "STRICT"},
};
