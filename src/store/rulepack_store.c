/* SPDX-License-Identifier: MIT */
#include "store/rulepack_store.h"

#include "base/memory.h"
#include "store/row_id.h"
#include "store/rows.h"

enum err rulepack_store_find_masking(struct store_tx *tx, struct arena *arena,
                                     struct slice organization_id, struct slice rulepack,
                                     struct slice *ret_id, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query_one(tx,
                        "SELECT id FROM rule WHERE organization_id = $1 "
                        "AND rulepack = $2 AND kind = 'masking' ORDER BY id",
                        PARAMS(store_text(organization_id), store_text(rulepack)), &rows, reterr);
    if (err == ERR_NONE) {
        *ret_id = rows_text_in(arena, &rows, 0);
    }
    return err == ERR_NOT_FOUND ? fail(reterr, err, "the rulepack '%.*s' has made no masking rule",
                                       SLICE_ARG(rulepack))
                                : err;
}

enum err rulepack_store_mark(struct store_tx *tx, struct slice id, struct slice rulepack,
                             struct slice managed_by, struct error *reterr)
{
    return store_exec(tx, "UPDATE rule SET rulepack = $2, managed_by = $3 WHERE id = $1",
                      PARAMS(store_text(id), store_text(rulepack), store_text(managed_by)), NULL,
                      reterr);
}

enum err rulepack_store_link_masking(struct store_tx *tx, struct arena *arena, struct slice id,
                                     struct slice connection_id, bool is_wanted,
                                     struct error *reterr)
{
    uint64_t changed = 0;
    enum err err =
        is_wanted
            ? store_exec(
                  tx,
                  "INSERT INTO connection_rule (connection_id, rule_id, id) "
                  "VALUES ($1, $2, $3) ON CONFLICT (connection_id, rule_id) "
                  "DO UPDATE SET is_active = 1 WHERE connection_rule.is_active = 0",
                  PARAMS(store_text(connection_id), store_text(id), store_text(row_id_new(arena))),
                  &changed, reterr)
            : store_exec(tx,
                         "DELETE FROM connection_rule WHERE connection_id = $1 AND rule_id = $2",
                         PARAMS(store_text(connection_id), store_text(id)), &changed, reterr);
    return err == ERR_NONE && changed > 0 ? store_note_callers(tx, reterr) : err;
}
