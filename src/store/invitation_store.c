/* SPDX-License-Identifier: MIT */
#include "store/invitation_store.h"

#include "base/memory.h"
#include "store/rows.h"

enum err invitation_store_put(struct store_tx *tx, const struct invitation_write *write,
                              struct error *reterr)
{
    enum err err = store_exec(tx, "DELETE FROM invitation WHERE user_id = $1",
                              PARAMS(store_text(write->user_id)), NULL, reterr);
    return err == ERR_NONE
               ? store_exec(tx,
                            "INSERT INTO invitation (user_id, hash, created_at, expires_at) "
                            "VALUES ($1, $2, $3, $4)",
                            PARAMS(store_text(write->user_id), store_blob(write->hash),
                                   store_int(write->now), store_int(write->expires_at)),
                            NULL, reterr)
               : err;
}

enum err invitation_store_find(struct store_tx *tx, struct arena *arena, struct slice hash,
                               int64_t now, struct invitation *ret_invitation, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query_one(tx,
                        "SELECT u.id, u.email, u.name, o.id, o.name, i.expires_at "
                        "FROM invitation i JOIN user_account u ON u.id = i.user_id "
                        "JOIN organization o ON o.id = u.organization_id "
                        "WHERE i.hash = $1 AND i.expires_at > $2 AND u.status = 'invited'",
                        PARAMS(store_blob(hash), store_int(now)), &rows, reterr);
    if (err == ERR_NONE) {
        *ret_invitation = (struct invitation){
            .user_id = rows_text_in(arena, &rows, 0),
            .email = rows_text_in(arena, &rows, 1),
            .name = rows_text_in(arena, &rows, 2),
            .organization_id = rows_text_in(arena, &rows, 3),
            .organization_name = rows_text_in(arena, &rows, 4),
            .expires_at = store_rows_int(&rows, 5),
        };
    }
    return err;
}

enum err invitation_store_use(struct store_tx *tx, const struct invitation *invitation,
                              struct slice password_hash, int64_t now, struct error *reterr)
{
    uint64_t changed = 0;
    enum err err =
        store_exec(tx,
                   "UPDATE user_account SET status = 'active', name = $2, password_hash = $3, "
                   "updated_at = $4 WHERE id = $1 AND status = 'invited'",
                   PARAMS(store_text(invitation->user_id), store_text(invitation->name),
                          store_text(password_hash), store_int(now)),
                   &changed, reterr);
    if (err == ERR_NONE && changed == 0) {
        return fail(reterr, ERR_NOT_FOUND, "the user is not invited any more");
    }
    if (err == ERR_NONE) {
        err = invitation_store_delete(tx, invitation->user_id, reterr);
    }
    return err == ERR_NONE ? store_note_callers(tx, reterr) : err;
}

enum err invitation_store_delete(struct store_tx *tx, struct slice user_id, struct error *reterr)
{
    uint64_t changed = 0;
    enum err err = store_exec(tx, "DELETE FROM invitation WHERE user_id = $1",
                              PARAMS(store_text(user_id)), &changed, reterr);
    return err == ERR_NONE && changed == 0
               ? fail(reterr, ERR_NOT_FOUND, "there is no invitation of this user")
               : err;
}
