/* SPDX-License-Identifier: MIT */
#include "store/second_factor_store.h"

#include "base/memory.h"
#include "store/rows.h"
#include "store/seal.h"

enum err second_factor_store_find(struct store_tx *tx, struct arena *arena, struct slice user_id,
                                  struct second_factor *ret_factor, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query_one(tx,
                        "SELECT f.secret, f.last_counter, f.confirmed_at, "
                        "(SELECT count(*) FROM recovery_code c WHERE c.user_id = f.user_id) "
                        "FROM second_factor f WHERE f.user_id = $1",
                        PARAMS(store_text(user_id)), &rows, reterr);
    if (err == ERR_NOT_FOUND) {
        return fail(reterr, ERR_NOT_FOUND, "there is no second factor");
    }
    if (err != ERR_NONE) {
        return err;
    }
    *ret_factor = (struct second_factor){
        .last_counter = store_rows_int(&rows, 1),
        .is_confirmed = store_rows_int(&rows, 2) != 0,
        .recovery_code_count = store_rows_int(&rows, 3),
    };
    return unseal_in(arena, store_keys(tx), user_id, store_rows_view(&rows, 0), &ret_factor->secret,
                     reterr);
}

enum err second_factor_store_put(struct store_tx *tx, struct arena *arena, struct slice user_id,
                                 struct slice secret, int64_t now, struct error *reterr)
{
    enum err err =
        store_exec(tx, "DELETE FROM second_factor WHERE user_id = $1 AND confirmed_at = 0",
                   PARAMS(store_text(user_id)), NULL, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct slice sealed = seal_in(arena, store_keys(tx), user_id, secret);
    err = store_exec(tx,
                     "INSERT INTO second_factor (user_id, secret, last_counter, confirmed_at, "
                     "created_at) VALUES ($1, $2, -1, 0, $3)",
                     PARAMS(store_text(user_id), store_blob(sealed), store_int(now)), NULL, reterr);
    return err == ERR_CONFLICT
               ? fail(reterr, ERR_CONFLICT, "there is a second factor already: remove it first")
               : err;
}

enum err second_factor_store_use(struct store_tx *tx, struct slice user_id, int64_t counter,
                                 int64_t now, struct error *reterr)
{
    uint64_t changed = 0;
    enum err err = store_exec(
        tx,
        "UPDATE second_factor SET last_counter = $2, "
        "confirmed_at = CASE WHEN confirmed_at = 0 THEN $3 ELSE confirmed_at END "
        "WHERE user_id = $1 AND last_counter < $2",
        PARAMS(store_text(user_id), store_int(counter), store_int(now)), &changed, reterr);
    return err == ERR_NONE && changed == 0
               ? fail(reterr, ERR_CONFLICT, "the code was used before: wait for the next one")
               : err;
}

enum err second_factor_store_delete(struct store_tx *tx, struct slice user_id, struct error *reterr)
{
    uint64_t changed = 0;
    enum err err = store_exec(tx, "DELETE FROM second_factor WHERE user_id = $1",
                              PARAMS(store_text(user_id)), &changed, reterr);
    if (err == ERR_NONE && changed == 0) {
        return fail(reterr, ERR_NOT_FOUND, "there is no second factor");
    }
    return err == ERR_NONE ? recovery_code_store_set(tx, user_id, NULL, 0, reterr) : err;
}

enum err recovery_code_store_set(struct store_tx *tx, struct slice user_id,
                                 const struct slice *hashes, size_t count, struct error *reterr)
{
    enum err err = store_exec(tx, "DELETE FROM recovery_code WHERE user_id = $1",
                              PARAMS(store_text(user_id)), NULL, reterr);
    for (size_t i = 0; i < count && err == ERR_NONE; i++) {
        err = store_exec(tx, "INSERT INTO recovery_code (user_id, hash) VALUES ($1, $2)",
                         PARAMS(store_text(user_id), store_blob(hashes[i])), NULL, reterr);
    }
    return err;
}

enum err recovery_code_store_use(struct store_tx *tx, struct slice user_id, struct slice hash,
                                 struct error *reterr)
{
    uint64_t changed = 0;
    enum err err = store_exec(tx, "DELETE FROM recovery_code WHERE user_id = $1 AND hash = $2",
                              PARAMS(store_text(user_id), store_blob(hash)), &changed, reterr);
    return err == ERR_NONE && changed == 0 ? fail(reterr, ERR_NOT_FOUND, "there is no such code")
                                           : err;
}
