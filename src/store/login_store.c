/* SPDX-License-Identifier: MIT */
#include "store/login_store.h"

#include "base/memory.h"
#include "store/rows.h"

enum err login_store_insert(struct store_tx *tx, const struct login_attempt *attempt, int64_t now,
                            struct error *reterr)
{
    struct store_value browser =
        attempt->browser_hash.len == 0 ? store_null() : store_blob(attempt->browser_hash);
    enum err err = store_exec(tx, "DELETE FROM login_attempt WHERE expires_at <= $1",
                              PARAMS(store_int(now)), NULL, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    return store_exec(tx,
                      "INSERT INTO login_attempt (id, organization_id, redirect, browser_hash, "
                      "may_found, created_at, expires_at, issuer, program_state, program_name, "
                      "asked_from) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
                      PARAMS(store_text(attempt->id), store_text(attempt->organization_id),
                             store_text(attempt->redirect), browser,
                             store_int(attempt->may_found ? 1 : 0), store_int(now),
                             store_int(attempt->expires_at), store_text(attempt->issuer),
                             store_text(attempt->program_state), store_text(attempt->program_name),
                             store_text(attempt->asked_from)),
                      NULL, reterr);
}

static enum err login_store_not_found(struct error *reterr)
{
    return fail(reterr, ERR_NOT_FOUND, "no such sign-in is under way");
}

enum err login_store_begin(struct store_tx *tx, struct slice id, struct slice browser_hash,
                           int64_t now, struct error *reterr)
{
    uint64_t changed = 0;
    enum err err = store_exec(tx,
                              "UPDATE login_attempt SET browser_hash = $2 WHERE id = $1 "
                              "AND browser_hash IS NULL AND expires_at > $3",
                              PARAMS(store_text(id), store_blob(browser_hash), store_int(now)),
                              &changed, reterr);
    return err == ERR_NONE && changed == 0 ? login_store_not_found(reterr) : err;
}

#define COLUMNS                                                                                    \
    "SELECT id, organization_id, redirect, may_found, expires_at, program_state, program_name, "   \
    "asked_from, created_at FROM login_attempt "

static void login_store_read(struct arena *arena, const struct store_rows *rows,
                             struct login_attempt *attempt)
{
    *attempt = (struct login_attempt){
        .id = rows_text_in(arena, rows, 0),
        .organization_id = rows_text_in(arena, rows, 1),
        .redirect = rows_text_in(arena, rows, 2),
        .may_found = store_rows_int(rows, 3) != 0,
        .expires_at = store_rows_int(rows, 4),
        .program_state = rows_text_in(arena, rows, 5),
        .program_name = rows_text_in(arena, rows, 6),
        .asked_from = rows_text_in(arena, rows, 7),
        .created_at = store_rows_int(rows, 8),
    };
}

enum err login_store_look(struct store_tx *tx, struct arena *arena,
                          const struct login_attempt *wanted, int64_t now,
                          struct login_attempt *ret_attempt, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(
        tx, COLUMNS "WHERE id = $1 AND browser_hash IS NULL AND expires_at > $2 AND issuer = $3",
        PARAMS(store_text(wanted->id), store_int(now), store_text(wanted->issuer)), &rows, reterr);
    if (err == ERR_NONE) {
        login_store_read(arena, &rows, ret_attempt);
    }
    return err == ERR_NOT_FOUND ? login_store_not_found(reterr) : err;
}

enum err login_store_find(struct store_tx *tx, struct arena *arena,
                          const struct login_attempt *wanted, int64_t now,
                          struct login_attempt *ret_attempt, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(
        tx, COLUMNS "WHERE id = $1 AND browser_hash = $2 AND expires_at > $3 AND issuer = $4",
        PARAMS(store_text(wanted->id), store_blob(wanted->browser_hash), store_int(now),
               store_text(wanted->issuer)),
        &rows, reterr);
    if (err == ERR_NONE) {
        login_store_read(arena, &rows, ret_attempt);
    }
    return err == ERR_NOT_FOUND ? login_store_not_found(reterr) : err;
}

enum err login_store_take(struct store_tx *tx, struct arena *arena,
                          const struct login_attempt *wanted, int64_t now,
                          struct login_attempt *ret_attempt, struct error *reterr)
{
    uint64_t changed = 0;
    enum err err = login_store_find(tx, arena, wanted, now, ret_attempt, reterr);
    if (err == ERR_NONE) {
        err = store_exec(tx, "DELETE FROM login_attempt WHERE id = $1",
                         PARAMS(store_text(wanted->id)), &changed, reterr);
    }
    return err == ERR_NONE && changed == 0 ? login_store_not_found(reterr) : err;
}
