/* SPDX-License-Identifier: MIT */
#include "store/node_store.h"

#include "base/memory.h"
#include "base/timestamp.h"
#include "store/rows.h"

#define FORGET_AFTER (60 * TIMESTAMP_SECOND)

enum err node_store_renew(struct store_tx *tx, const struct node_row *row, int64_t now,
                          struct error *reterr)
{
    enum err err = store_exec(
        tx,
        "INSERT INTO node (id, url, alive_until) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE "
        "SET url = excluded.url, alive_until = excluded.alive_until",
        PARAMS(store_text(row->id), store_text(row->url), store_int(row->alive_until)), NULL,
        reterr);
    return err == ERR_NONE ? store_exec(tx, "DELETE FROM node WHERE alive_until < $1",
                                        PARAMS(store_int(now - FORGET_AFTER)), NULL, reterr)
                           : err;
}

enum err node_store_list(struct store_tx *tx, struct arena *arena, int64_t now, size_t max,
                         struct node_list *ret_list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(
        tx, "SELECT id, url, alive_until FROM node WHERE alive_until > $1 ORDER BY id LIMIT $2",
        PARAMS(store_int(now), store_int((int64_t)max)), &rows, reterr);
    *ret_list = (struct node_list){
        .rows = arena_alloc_array(arena, max, sizeof(*ret_list->rows)),
    };
    while (err == ERR_NONE && ret_list->count < max) {
        err = store_rows_next(&rows, reterr);
        if (err == ERR_NONE) {
            ret_list->rows[ret_list->count++] = (struct node_row){
                .id = rows_text_in(arena, &rows, 0),
                .url = rows_text_in(arena, &rows, 1),
                .alive_until = store_rows_int(&rows, 2),
            };
        }
    }
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

enum err node_store_remove(struct store_tx *tx, struct slice id, struct error *reterr)
{
    return store_exec(tx, "DELETE FROM node WHERE id = $1", PARAMS(store_text(id)), NULL, reterr);
}
