/* SPDX-License-Identifier: MIT */
#include "store/ssh_authority_store.h"

#include "base/limits.h"
#include "base/memory.h"
#include "store/credential_store.h"
#include "store/rows.h"

#define COLUMNS                                                                                    \
    "SELECT id, organization_id, name, public_key, fingerprint, created_at FROM ssh_authority "

static void ssh_authority_store_take(struct arena *arena, const struct store_rows *rows,
                                     struct ssh_authority_row *row)
{
    *row = (struct ssh_authority_row){
        .id = rows_text_in(arena, rows, 0),
        .organization_id = rows_text_in(arena, rows, 1),
        .name = rows_text_in(arena, rows, 2),
        .public_key = rows_text_in(arena, rows, 3),
        .fingerprint = rows_text_in(arena, rows, 4),
        .created_at = store_rows_int(rows, 5),
    };
}

enum err ssh_authority_store_insert(struct store_tx *tx, const struct ssh_authority_row *row,
                                    struct error *reterr)
{
    int64_t count = 0;
    enum err err = rows_number(tx, "SELECT count(*) FROM ssh_authority WHERE organization_id = $1",
                               PARAMS(store_text(row->organization_id)), &count, reterr);
    if (err == ERR_NONE && count >= LIMIT_SSH_AUTHORITIES) {
        return fail(reterr, ERR_CONFLICT, "there are %d authorities, the most that there may be",
                    LIMIT_SSH_AUTHORITIES);
    }
    if (err == ERR_NONE) {
        err = store_exec(tx,
                         "INSERT INTO ssh_authority (id, organization_id, name, public_key, "
                         "fingerprint, created_at) VALUES ($1, $2, $3, $4, $5, $6)",
                         PARAMS(store_text(row->id), store_text(row->organization_id),
                                store_text(row->name), store_text(row->public_key),
                                store_text(row->fingerprint), store_int(row->created_at)),
                         NULL, reterr);
    }
    return err == ERR_CONFLICT ? fail(reterr, ERR_CONFLICT, "this key is trusted already") : err;
}

static enum err ssh_authority_store_all(struct store_tx *tx, struct arena *arena, const char *sql,
                                        struct store_params params,
                                        struct ssh_authority_list *ret_list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct ssh_authority_row)};
    enum err err = store_query(tx, sql, params, &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        ssh_authority_store_take(arena, &rows, rows_list_add(&list));
    }
    *ret_list = (struct ssh_authority_list){.rows = list.items, .count = list.count};
    return rows_end(err);
}

enum err ssh_authority_store_list(struct store_tx *tx, struct arena *arena,
                                  struct slice organization_id, struct ssh_authority_list *ret_list,
                                  struct error *reterr)
{
    return ssh_authority_store_all(tx, arena,
                                   COLUMNS "WHERE organization_id = $1 ORDER BY created_at, id",
                                   PARAMS(store_text(organization_id)), ret_list, reterr);
}

enum err ssh_authority_store_trusting(struct store_tx *tx, struct arena *arena,
                                      struct slice fingerprint, struct ssh_authority_list *ret_list,
                                      struct error *reterr)
{
    return ssh_authority_store_all(tx, arena,
                                   COLUMNS "WHERE fingerprint = $1 ORDER BY organization_id",
                                   PARAMS(store_text(fingerprint)), ret_list, reterr);
}

enum err ssh_authority_store_find(struct store_tx *tx, struct arena *arena,
                                  struct slice organization_id, struct slice id,
                                  struct ssh_authority_row *ret_row, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query_one(tx, COLUMNS "WHERE organization_id = $1 AND id = $2",
                        PARAMS(store_text(organization_id), store_text(id)), &rows, reterr);
    if (err == ERR_NONE) {
        ssh_authority_store_take(arena, &rows, ret_row);
    }
    return err == ERR_NOT_FOUND ? fail(reterr, err, "there is no authority '%.*s'", SLICE_ARG(id))
                                : err;
}

enum err ssh_authority_store_delete(struct store_tx *tx, struct slice id, int64_t now,
                                    struct error *reterr)
{
    enum err err = credential_store_revoke_of_ssh_key(tx, id, now, reterr);
    return err == ERR_NONE ? store_exec(tx, "DELETE FROM ssh_authority WHERE id = $1",
                                        PARAMS(store_text(id)), NULL, reterr)
                           : err;
}
