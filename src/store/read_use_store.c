/* SPDX-License-Identifier: MIT */
#include "store/read_use_store.h"

#include "base/memory.h"
#include "store/rows.h"

static enum err read_use_read(struct store_rows *rows, struct arena *arena,
                              const struct read_use *since, size_t max,
                              struct read_use_list *ret_list, struct error *reterr)
{
    enum err err = ERR_NONE;
    ret_list->uses = arena_alloc_array(arena, max, sizeof(*ret_list->uses));
    ret_list->count = 0;
    while (err == ERR_NONE && ret_list->count < max) {
        err = store_rows_next(rows, reterr);
        if (err == ERR_NONE) {
            struct read_use *use = &ret_list->uses[ret_list->count++];
            *use = *since;
            use->minute = store_rows_int(rows, 0);
            use->rows = (uint64_t)store_rows_int(rows, 1);
            use->bytes = (uint64_t)store_rows_int(rows, 2);
        }
    }
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

enum err read_use_store_list(struct store_tx *tx, struct arena *arena, const struct read_use *since,
                             size_t max, struct read_use_list *ret_list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(
        tx,
        "SELECT minute, row_count, byte_count FROM read_use WHERE connection_id = $1 "
        "AND caller_id = $2 AND minute >= $3 AND node_id = $4 ORDER BY minute DESC LIMIT $5",
        PARAMS(store_text(since->connection_id), store_text(since->caller_id),
               store_int(since->minute), store_text(since->node_id), store_int((int64_t)max)),
        &rows, reterr);
    return err == ERR_NONE ? read_use_read(&rows, arena, since, max, ret_list, reterr) : err;
}

enum err read_use_store_list_others(struct store_tx *tx, struct arena *arena,
                                    const struct read_use *since, size_t max,
                                    struct read_use_list *ret_list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(
        tx,
        "SELECT minute, CAST(sum(row_count) AS BIGINT), CAST(sum(byte_count) AS BIGINT) "
        "FROM read_use WHERE connection_id = $1 AND caller_id = $2 AND minute >= $3 "
        "AND node_id <> $4 GROUP BY minute ORDER BY minute DESC LIMIT $5",
        PARAMS(store_text(since->connection_id), store_text(since->caller_id),
               store_int(since->minute), store_text(since->node_id), store_int((int64_t)max)),
        &rows, reterr);
    return err == ERR_NONE ? read_use_read(&rows, arena, since, max, ret_list, reterr) : err;
}

enum err read_use_store_add(struct store_tx *tx, const struct read_use *use, struct error *reterr)
{
    return store_exec(
        tx,
        "INSERT INTO read_use (connection_id, caller_id, minute, node_id, row_count, byte_count) "
        "VALUES ($1, $2, $3, $6, $4, $5) "
        "ON CONFLICT (connection_id, caller_id, minute, node_id) DO UPDATE "
        "SET row_count = read_use.row_count + excluded.row_count, "
        "byte_count = read_use.byte_count + excluded.byte_count",
        PARAMS(store_text(use->connection_id), store_text(use->caller_id), store_int(use->minute),
               store_int((int64_t)use->rows), store_int((int64_t)use->bytes),
               store_text(use->node_id)),
        NULL, reterr);
}

enum err read_use_store_forget(struct store_tx *tx, int64_t before, int64_t behind,
                               struct error *reterr)
{
    return store_exec(tx, "DELETE FROM read_use WHERE minute < $1 OR minute > $2",
                      PARAMS(store_int(before), store_int(behind)), NULL, reterr);
}
