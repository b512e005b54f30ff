/* SPDX-License-Identifier: MIT */
/* What ties masking rules to one connection. */
#include "base/memory.h"
#include "store/masking_rule_store.h"
#include "store/row_id.h"
#include "store/rows.h"

enum err masking_link_store_list(struct store_tx *tx, struct arena *arena,
                                 struct slice connection_id, struct masking_link_list *ret_list,
                                 struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct masking_link)};
    enum err err = store_query(
        tx,
        "SELECT l.id, l.rule_id, l.connection_id, l.is_active, c.name, c.subtype "
        "FROM connection_rule l JOIN rule u ON u.id = l.rule_id AND u.kind = 'masking' "
        "JOIN connection c ON c.id = l.connection_id WHERE l.connection_id = $1 ORDER BY u.name",
        PARAMS(store_text(connection_id)), &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        struct masking_link *link = rows_list_add(&list);
        bool is_active = store_rows_int(&rows, 3) != 0;
        *link = (struct masking_link){
            .id = rows_text_in(arena, &rows, 0),
            .rule_id = rows_text_in(arena, &rows, 1),
            .connection_id = rows_text_in(arena, &rows, 2),
            .status = is_active ? SLICE(MASKING_LINK_ACTIVE) : SLICE(MASKING_LINK_INACTIVE),
        };
        if (is_active && !masking_reaches(store_rows_view(&rows, 5))) {
            link->warning =
                masking_warning_in(arena, store_rows_view(&rows, 4), store_rows_view(&rows, 5));
        }
    }
    *ret_list = (struct masking_link_list){.links = list.items, .count = list.count};
    return rows_end(err);
}

static enum err masking_link_insert(struct store_tx *tx, struct arena *arena,
                                    const struct masking_link_write *write, size_t index,
                                    struct error *reterr)
{
    const struct masking_link *link = &write->links[index];
    bool is_active = slice_equals(link->status, SLICE(MASKING_LINK_ACTIVE));
    uint64_t changed = 0;
    enum err err = store_exec(
        tx,
        "INSERT INTO connection_rule (connection_id, rule_id, id, is_active) "
        "SELECT $1, id, $4, $5 FROM rule "
        "WHERE organization_id = $2 AND id = $3 AND kind = 'masking' ON CONFLICT DO NOTHING",
        PARAMS(store_text(write->connection_id), store_text(write->organization_id),
               store_text(link->rule_id), store_text(row_id_new(arena)),
               store_int(is_active ? 1 : 0)),
        &changed, reterr);
    return err == ERR_NONE && changed == 0
               ? fail(reterr, ERR_INPUT,
                      "'[%zu].rule_id': there is no masking rule '%.*s', or it is named twice",
                      index, SLICE_ARG(link->rule_id))
               : err;
}

enum err masking_link_store_replace(struct store_tx *tx, struct arena *arena,
                                    const struct masking_link_write *write, struct error *reterr)
{
    enum err err = store_exec(tx,
                              "DELETE FROM connection_rule WHERE connection_id = $1 AND rule_id IN "
                              "(SELECT id FROM rule WHERE kind = 'masking')",
                              PARAMS(store_text(write->connection_id)), NULL, reterr);
    for (size_t i = 0; i < write->count && err == ERR_NONE; i++) {
        err = masking_link_insert(tx, arena, write, i, reterr);
    }
    return err == ERR_NONE ? store_note_callers(tx, reterr) : err;
}
