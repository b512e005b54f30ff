/* SPDX-License-Identifier: MIT */
#include "store/visibility_store.h"

#include "base/memory.h"

enum err visibility_store_load(struct store_tx *tx, const struct caller *caller,
                               struct visibility *ret_visibility, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query_one(tx,
                        "SELECT hide_role_info, CASE WHEN EXISTS (SELECT 1 FROM connection_access "
                        "WHERE organization_id = $1) OR EXISTS (SELECT 1 FROM attribute_access "
                        "WHERE organization_id = $1) THEN 1 ELSE 0 END "
                        "FROM organization WHERE id = $1",
                        PARAMS(store_text(caller->organization_id)), &rows, reterr);
    if (err == ERR_NONE) {
        *ret_visibility = (struct visibility){
            .organization_id = caller->organization_id,
            .member_id = caller->id,
            .hides_role_info = store_rows_int(&rows, 0) != 0,
            .sees_all = caller_reads_all(caller) || store_rows_int(&rows, 1) == 0,
        };
    }
    return err;
}
