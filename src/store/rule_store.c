/* SPDX-License-Identifier: MIT */
#include "store/rule_store.h"

#include "base/memory.h"
#include "store/rows.h"

#define RULE_PLACES                                                                                \
    "SELECT u.name, c.name FROM connection c JOIN ("                                               \
    "SELECT connection_id, rule_id FROM connection_rule "                                          \
    "UNION SELECT y.connection_id, z.rule_id FROM connection_attribute y "                         \
    "JOIN attribute_rule z ON z.attribute_id = y.attribute_id"                                     \
    ") t ON t.connection_id = c.id JOIN rule u ON u.id = t.rule_id"

static enum err rule_store_take_place(struct store_rows *rows, struct arena *arena,
                                      struct rule_place *ret_place, struct error *reterr)
{
    enum err err = store_rows_next(rows, reterr);
    if (err == ERR_NONE) {
        ret_place->rule_name = rows_text_in(arena, rows, 0);
        ret_place->connection_name = rows_text_in(arena, rows, 1);
    }
    return err;
}

enum err rule_store_find_place(struct store_tx *tx, struct arena *arena,
                               const struct rule_search *search, struct rule_place *ret_place,
                               struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(tx,
                               RULE_PLACES " AND u.kind = $3 WHERE c.organization_id = $1 AND "
                                           "c.subtype = $2 ORDER BY c.name, u.name LIMIT 1",
                               PARAMS(store_text(search->organization_id),
                                      store_text(search->subtype), store_text(search->kind)),
                               &rows, reterr);
    return err == ERR_NONE ? rule_store_take_place(&rows, arena, ret_place, reterr) : err;
}

enum err rule_store_find_having(struct store_tx *tx, struct arena *arena,
                                const struct rule_search *search, struct slice text,
                                struct rule_place *ret_place, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query(tx,
                    RULE_PLACES " AND u.kind = $3 WHERE c.organization_id = $1 AND c.subtype = $2 "
                                "AND u.document LIKE '%' || $4 || '%' "
                                "ORDER BY c.name, u.name LIMIT 1",
                    PARAMS(store_text(search->organization_id), store_text(search->subtype),
                           store_text(search->kind), store_text(text)),
                    &rows, reterr);
    return err == ERR_NONE ? rule_store_take_place(&rows, arena, ret_place, reterr) : err;
}

/* Quotes inside a text are escaped in the document: what is looked for can only be a member. */
enum err rule_store_find_structural(struct store_tx *tx, struct arena *arena,
                                    struct slice organization_id, struct slice subtypes,
                                    struct rule_place *ret_place, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query(tx,
                    RULE_PLACES " AND u.kind = 'guardrail' WHERE c.organization_id = $1 "
                                "AND $2 NOT LIKE '%,' || COALESCE(c.subtype, '') || ',%' "
                                "AND (u.document LIKE '%\"type\":\"sql\"%' "
                                "OR u.document LIKE '%\"type\":\"read_budget\"%' "
                                "OR u.document LIKE '%\"action\":\"review\"%') "
                                "ORDER BY c.name, u.name LIMIT 1",
                    PARAMS(store_text(organization_id), store_text(subtypes)), &rows, reterr);
    return err == ERR_NONE ? rule_store_take_place(&rows, arena, ret_place, reterr) : err;
}
