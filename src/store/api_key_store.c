/* SPDX-License-Identifier: MIT */
#include "store/api_key_store.h"

#include "base/memory.h"
#include "base/timestamp.h"
#include "io/clock.h"
#include "store/rows.h"
#include "store/user_store.h"

#define COLUMNS                                                                                    \
    "SELECT id, organization_id, name, masked_key, created_by, created_at, expires_at, "           \
    "deactivated_by, deactivated_at, last_used_at FROM api_key "

static void api_key_store_take(struct arena *arena, const struct store_rows *rows,
                               struct api_key *key)
{
    *key = (struct api_key){
        .id = rows_text_in(arena, rows, 0),
        .organization_id = rows_text_in(arena, rows, 1),
        .name = rows_text_in(arena, rows, 2),
        .masked_key = rows_text_in(arena, rows, 3),
        .created_by = rows_text_in(arena, rows, 4),
        .created_at = store_rows_int(rows, 5),
        .expires_at = store_rows_int(rows, 6),
        .deactivated_by = rows_text_in(arena, rows, 7),
        .deactivated_at = store_rows_int(rows, 8),
        .last_used_at = store_rows_int(rows, 9),
    };
    bool is_expired = key->expires_at != 0 && key->expires_at <= clock_now();
    key->status = is_expired ? SLICE("expired") : SLICE("active");
    if (key->deactivated_at != 0) {
        key->status = SLICE("revoked");
    }
    if (key->expires_at != 0) {
        key->expires = timestamp_format(key->expires_at, arena_alloc(arena, TIMESTAMP_TEXT_SIZE));
    }
}

enum err api_key_store_insert(struct store_tx *tx, const struct api_key *key, struct slice hash,
                              struct error *reterr)
{
    enum err err = store_exec(
        tx,
        "INSERT INTO api_key (id, organization_id, name, hash, masked_key, created_by, "
        "created_at, expires_at, owner_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, "
        "coalesce((SELECT k.owner_id FROM api_key k WHERE k.id = $9), $9))",
        PARAMS(store_text(key->id), store_text(key->organization_id), store_text(key->name),
               store_blob(hash), store_text(key->masked_key), store_text(key->created_by),
               store_int(key->created_at), store_int(key->expires_at), store_text(key->maker_id)),
        NULL, reterr);
    if (err == ERR_CONFLICT) {
        return fail(reterr, ERR_CONFLICT, "an API key '%.*s' already exists", SLICE_ARG(key->name));
    }
    return err == ERR_NONE
               ? group_store_set(tx, key->organization_id, key->id, &key->groups, reterr)
               : err;
}

static enum err api_key_store_find_row(struct store_tx *tx, struct arena *arena,
                                       struct slice organization_id, struct slice name_or_id,
                                       struct api_key *ret_key, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query_one(tx,
                        COLUMNS "WHERE organization_id = $1 AND (name = $2 OR id = $2) "
                                "ORDER BY CASE WHEN id = $2 THEN 0 ELSE 1 END LIMIT 1",
                        PARAMS(store_text(organization_id), store_text(name_or_id)), &rows, reterr);
    if (err == ERR_NOT_FOUND) {
        return fail(reterr, ERR_NOT_FOUND, "there is no API key '%.*s'", SLICE_ARG(name_or_id));
    }
    if (err == ERR_NONE) {
        api_key_store_take(arena, &rows, ret_key);
    }
    return err;
}

enum err api_key_store_find(struct store_tx *tx, struct arena *arena, struct slice organization_id,
                            struct slice name_or_id, struct api_key *ret_key, struct error *reterr)
{
    enum err err = api_key_store_find_row(tx, arena, organization_id, name_or_id, ret_key, reterr);
    return err == ERR_NONE ? group_store_of(tx, arena, ret_key->id, &ret_key->groups, reterr) : err;
}

static enum err api_key_store_list_rows(struct store_tx *tx, struct arena *arena,
                                        struct slice organization_id, struct rows_list *list,
                                        struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(tx, COLUMNS "WHERE organization_id = $1 ORDER BY name",
                               PARAMS(store_text(organization_id)), &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        api_key_store_take(arena, &rows, rows_list_add(list));
    }
    return rows_end(err);
}

enum err api_key_store_list(struct store_tx *tx, struct arena *arena, struct slice organization_id,
                            struct api_key_list *ret_list, struct error *reterr)
{
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct api_key)};
    enum err err = api_key_store_list_rows(tx, arena, organization_id, &list, reterr);
    struct api_key *keys = list.items;
    for (size_t i = 0; i < list.count && err == ERR_NONE; i++) {
        err = group_store_of(tx, arena, keys[i].id, &keys[i].groups, reterr);
    }
    *ret_list = (struct api_key_list){.keys = keys, .count = list.count};
    return err;
}

enum err api_key_store_update(struct store_tx *tx, const struct api_key *key, struct error *reterr)
{
    enum err err =
        store_exec(tx,
                   "UPDATE api_key SET name = $2, expires_at = $3, deactivated_by = $4, "
                   "deactivated_at = $5 WHERE id = $1",
                   PARAMS(store_text(key->id), store_text(key->name), store_int(key->expires_at),
                          store_text(key->deactivated_by), store_int(key->deactivated_at)),
                   NULL, reterr);
    if (err == ERR_CONFLICT) {
        return fail(reterr, ERR_CONFLICT, "an API key '%.*s' already exists", SLICE_ARG(key->name));
    }
    return err == ERR_NONE
               ? group_store_set(tx, key->organization_id, key->id, &key->groups, reterr)
               : err;
}
