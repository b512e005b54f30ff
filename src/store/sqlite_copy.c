/* SPDX-License-Identifier: MIT */
#include "store/sqlite_copy.h"

#include "base/limits.h"

#include <sqlite3.h>

#include <stdbool.h>
#include <string.h>

static enum err copy_open(const char *file, sqlite3 **ret_database, struct error *reterr)
{
    if (sqlite3_open_v2(file, ret_database, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) {
        (void)sqlite3_busy_timeout(*ret_database, LIMIT_STORE_WAIT_MS);
        return ERR_NONE;
    }
    enum err err =
        fail(reterr, ERR_IO, "cannot open '%s': %s", file, sqlite3_errmsg(*ret_database));
    (void)sqlite3_close(*ret_database);
    *ret_database = NULL;
    return err;
}

/* The first column of the first row is 'wanted'; with 'wanted' NULL there is no row. */
static bool copy_says(sqlite3 *database, const char *sql, const char *bound, const char *wanted)
{
    sqlite3_stmt *statement = NULL;
    bool is_good =
        sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK &&
        (bound == NULL || sqlite3_bind_text(statement, 1, bound, -1, SQLITE_STATIC) == SQLITE_OK);
    int result = is_good ? sqlite3_step(statement) : SQLITE_ERROR;
    if (wanted == NULL) {
        is_good = result == SQLITE_DONE;
    } else {
        const char *said =
            result == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
        is_good = said != NULL && strcmp(said, wanted) == 0;
    }
    (void)sqlite3_finalize(statement);
    return is_good;
}

enum err sqlite_copy_make(const char *file, const char *copy, struct error *reterr)
{
    sqlite3 *database = NULL;
    enum err err = copy_open(file, &database, reterr);
    if (err == ERR_NONE && !copy_says(database, "VACUUM INTO ?1", copy, NULL)) {
        err = fail(reterr, ERR_IO, "cannot copy '%s' to '%s': %s", file, copy,
                   sqlite3_errmsg(database));
    }
    (void)sqlite3_close(database);
    return err;
}

enum err sqlite_copy_check(const char *copy, struct error *reterr)
{
    sqlite3 *database = NULL;
    enum err err = copy_open(copy, &database, reterr);
    if (err == ERR_NONE &&
        !(copy_says(database, "PRAGMA integrity_check", NULL, "ok") &&
          copy_says(database, "SELECT 'is' FROM schema_migration LIMIT 1", NULL, "is"))) {
        err = fail(reterr, ERR_CONFLICT, "'%s' is no whole store", copy);
    }
    (void)sqlite3_close(database);
    return err;
}
