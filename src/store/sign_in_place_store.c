/* SPDX-License-Identifier: MIT */
#include "store/sign_in_place_store.h"

#include "base/limits.h"
#include "base/memory.h"
#include "store/notification_tell.h"
#include "store/rows.h"

static enum err sign_in_place_add(struct store_tx *tx, const struct sign_in_place *place,
                                  struct error *reterr)
{
    const struct store_value user = store_text(place->caller->id);
    enum err err =
        store_exec(tx, "INSERT INTO sign_in_place (user_id, address, seen_at) VALUES ($1, $2, $3)",
                   PARAMS(user, store_text(place->address), store_int(place->now)), NULL, reterr);
    if (err == ERR_NONE) {
        err = store_exec(tx,
                         "DELETE FROM sign_in_place WHERE user_id = $1 AND address NOT IN ("
                         "SELECT address FROM sign_in_place WHERE user_id = $1 "
                         "ORDER BY seen_at DESC, address LIMIT $2)",
                         PARAMS(user, store_int(LIMIT_SIGN_IN_PLACES)), NULL, reterr);
    }
    return err;
}

enum err sign_in_place_note(struct store_tx *tx, const struct sign_in_place *place,
                            struct error *reterr)
{
    int64_t known = 0;
    uint64_t changed = 0;
    enum err err = store_exec(
        tx, "UPDATE sign_in_place SET seen_at = $3 WHERE user_id = $1 AND address = $2",
        PARAMS(store_text(place->caller->id), store_text(place->address), store_int(place->now)),
        &changed, reterr);
    if (err != ERR_NONE || changed > 0) {
        return err;
    }
    err = rows_number(tx, "SELECT count(*) FROM sign_in_place WHERE user_id = $1",
                      PARAMS(store_text(place->caller->id)), &known, reterr);
    if (err == ERR_NONE) {
        err = sign_in_place_add(tx, place, reterr);
    }
    return err == ERR_NONE && known > 0
               ? tell_new_address(tx, place->caller, place->address, place->now, reterr)
               : err;
}
