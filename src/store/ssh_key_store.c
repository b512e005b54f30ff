/* SPDX-License-Identifier: MIT */
#include "store/ssh_key_store.h"

#include "base/limits.h"
#include "base/memory.h"
#include "store/credential_store.h"
#include "store/rows.h"

#define COLUMNS                                                                                    \
    "SELECT id, organization_id, user_id, name, type, bits, comment, public_key, fingerprint, "    \
    "created_at, last_used_at FROM ssh_key "

static void ssh_key_store_take(struct arena *arena, const struct store_rows *rows,
                               struct ssh_key *key)
{
    *key = (struct ssh_key){
        .id = rows_text_in(arena, rows, 0),
        .organization_id = rows_text_in(arena, rows, 1),
        .user_id = rows_text_in(arena, rows, 2),
        .name = rows_text_in(arena, rows, 3),
        .type = rows_text_in(arena, rows, 4),
        .bits = {.value = store_rows_int(rows, 5), .is_given = true},
        .comment = rows_text_in(arena, rows, 6),
        .public_key = rows_text_in(arena, rows, 7),
        .fingerprint = rows_text_in(arena, rows, 8),
        .created_at = store_rows_int(rows, 9),
        .last_used_at = store_rows_int(rows, 10),
    };
}

enum err ssh_key_store_insert(struct store_tx *tx, const struct ssh_key *key, struct error *reterr)
{
    int64_t count = 0;
    enum err err = rows_number(tx, "SELECT count(*) FROM ssh_key WHERE user_id = $1",
                               PARAMS(store_text(key->user_id)), &count, reterr);
    if (err == ERR_NONE && count >= LIMIT_SSH_KEYS) {
        return fail(reterr, ERR_CONFLICT, "there are %d keys, the most that a person may have",
                    LIMIT_SSH_KEYS);
    }
    if (err == ERR_NONE) {
        err = store_exec(
            tx,
            "INSERT INTO ssh_key (id, organization_id, user_id, name, type, bits, comment, "
            "public_key, fingerprint, created_at, last_used_at) "
            "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0)",
            PARAMS(store_text(key->id), store_text(key->organization_id), store_text(key->user_id),
                   store_text(key->name), store_text(key->type), store_int(key->bits.value),
                   store_text(key->comment), store_text(key->public_key),
                   store_text(key->fingerprint), store_int(key->created_at)),
            NULL, reterr);
    }
    return err == ERR_CONFLICT ? fail(reterr, ERR_CONFLICT, "this key is in use already") : err;
}

enum err ssh_key_store_list(struct store_tx *tx, struct arena *arena, struct slice user_id,
                            struct ssh_key_list *ret_list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct ssh_key)};
    enum err err = store_query(tx, COLUMNS "WHERE user_id = $1 ORDER BY created_at, id",
                               PARAMS(store_text(user_id)), &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        ssh_key_store_take(arena, &rows, rows_list_add(&list));
    }
    *ret_list = (struct ssh_key_list){.keys = list.items, .count = list.count};
    return rows_end(err);
}

static enum err ssh_key_store_one(struct store_tx *tx, struct arena *arena, const char *sql,
                                  struct store_params params, struct ssh_key *ret_key,
                                  struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(tx, sql, params, &rows, reterr);
    if (err == ERR_NONE) {
        ssh_key_store_take(arena, &rows, ret_key);
    }
    return err;
}

enum err ssh_key_store_find(struct store_tx *tx, struct arena *arena, struct slice user_id,
                            struct slice id, struct ssh_key *ret_key, struct error *reterr)
{
    enum err err = ssh_key_store_one(tx, arena, COLUMNS "WHERE user_id = $1 AND id = $2",
                                     PARAMS(store_text(user_id), store_text(id)), ret_key, reterr);
    return err == ERR_NOT_FOUND ? fail(reterr, err, "there is no key '%.*s'", SLICE_ARG(id)) : err;
}

enum err ssh_key_store_find_fingerprint(struct store_tx *tx, struct arena *arena,
                                        struct slice fingerprint, struct ssh_key *ret_key,
                                        struct error *reterr)
{
    return ssh_key_store_one(tx, arena, COLUMNS "WHERE fingerprint = $1",
                             PARAMS(store_text(fingerprint)), ret_key, reterr);
}

enum err ssh_key_store_used(struct store_tx *tx, struct slice id, int64_t now, struct error *reterr)
{
    return store_exec(tx, "UPDATE ssh_key SET last_used_at = $2 WHERE id = $1",
                      PARAMS(store_text(id), store_int(now)), NULL, reterr);
}

enum err ssh_key_store_delete(struct store_tx *tx, struct slice id, int64_t now,
                              struct error *reterr)
{
    enum err err = credential_store_revoke_of_ssh_key(tx, id, now, reterr);
    return err == ERR_NONE ? store_exec(tx, "DELETE FROM ssh_key WHERE id = $1",
                                        PARAMS(store_text(id)), NULL, reterr)
                           : err;
}
