/* SPDX-License-Identifier: MIT */
#include "store/saved_query_store.h"

#include "base/limits.h"
#include "base/memory.h"
#include "store/rows.h"

#define COLUMNS                                                                                    \
    "SELECT q.id, q.organization_id, q.connection_id, c.name, coalesce(q.owner_id, ''), "          \
    "coalesce(u.email, ''), q.name, q.script, q.is_shared, q.created_at, q.updated_at "
#define TABLES                                                                                     \
    "FROM saved_query q JOIN connection c ON c.id = q.connection_id "                              \
    "LEFT JOIN user_account u ON u.id = q.owner_id "
/* $1 organization, $2 sight, $3 who asks */
#define SEEN                                                                                       \
    "WHERE q.organization_id = $1 AND (q.owner_id = $3 OR q.is_shared = 1) AND " ROWS_SEES(        \
        "$2", "c.id", "$3")
/* $4 connection, $5 search */
#define FILTER " AND ($4 = '' OR c.name = $4) AND ($5 = '' OR lower(q.name) LIKE $5 ESCAPE '\\') "

static void saved_query_store_take(struct arena *arena, const struct store_rows *rows,
                                   const struct visibility *visibility, struct saved_query *query)
{
    *query = (struct saved_query){
        .id = rows_text_in(arena, rows, 0),
        .organization_id = rows_text_in(arena, rows, 1),
        .connection_id = rows_text_in(arena, rows, 2),
        .connection = rows_text_in(arena, rows, 3),
        .owner_id = rows_text_in(arena, rows, 4),
        .owner = rows_text_in(arena, rows, 5),
        .name = rows_text_in(arena, rows, 6),
        .script = rows_text_in(arena, rows, 7),
        .is_shared = {.value = store_rows_int(rows, 8) != 0, .is_given = true},
        .created_at = store_rows_int(rows, 9),
        .updated_at = store_rows_int(rows, 10),
    };
    query->is_own = (struct shape_bool){
        .value = slice_equals(query->owner_id, visibility->member_id), .is_given = true};
}

enum err saved_query_store_list(struct store_tx *tx, struct arena *arena,
                                const struct visibility *visibility,
                                const struct saved_query_filter *filter,
                                struct saved_query_list *ret_list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct saved_query)};
    const struct store_value organization = store_text(visibility->organization_id);
    const struct store_value sight = rows_sight(visibility);
    const struct store_value member = store_text(visibility->member_id);
    const struct store_value connection = store_text(filter->connection);
    const struct store_value search = store_text(rows_like_in(arena, filter->search));
    enum err err = rows_number(tx, "SELECT count(*) " TABLES SEEN FILTER,
                               PARAMS(organization, sight, member, connection, search),
                               &ret_list->total, reterr);
    if (err == ERR_NONE) {
        err = store_query(tx, COLUMNS TABLES SEEN FILTER "ORDER BY q.name, q.id LIMIT $6 OFFSET $7",
                          PARAMS(organization, sight, member, connection, search,
                                 store_int(filter->limit), store_int(filter->offset)),
                          &rows, reterr);
    }
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        saved_query_store_take(arena, &rows, visibility, rows_list_add(&list));
    }
    ret_list->queries = list.items;
    ret_list->count = list.count;
    return rows_end(err);
}

enum err saved_query_store_find(struct store_tx *tx, struct arena *arena,
                                const struct visibility *visibility, struct slice id,
                                struct saved_query *ret_query, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query_one(tx, COLUMNS TABLES SEEN " AND q.id = $4",
                        PARAMS(store_text(visibility->organization_id), rows_sight(visibility),
                               store_text(visibility->member_id), store_text(id)),
                        &rows, reterr);
    if (err == ERR_NOT_FOUND) {
        return fail(reterr, err, "there is no saved query '%.*s'", SLICE_ARG(id));
    }
    if (err == ERR_NONE) {
        saved_query_store_take(arena, &rows, visibility, ret_query);
    }
    return err;
}

static enum err saved_query_store_taken(enum err err, const struct saved_query *query,
                                        struct error *reterr)
{
    return err == ERR_CONFLICT
               ? fail(reterr, err, "there is a query '%.*s' on this connection already",
                      SLICE_ARG(query->name))
               : err;
}

enum err saved_query_store_insert(struct store_tx *tx, const struct saved_query *query,
                                  struct error *reterr)
{
    int64_t count = 0;
    enum err err = rows_number(tx, "SELECT count(*) FROM saved_query WHERE owner_id = $1",
                               PARAMS(store_text(query->owner_id)), &count, reterr);
    if (err == ERR_NONE && count >= LIMIT_SAVED_QUERIES) {
        return fail(reterr, ERR_CONFLICT,
                    "there are %d saved queries, the most that a person may "
                    "have",
                    LIMIT_SAVED_QUERIES);
    }
    if (err == ERR_NONE) {
        err = store_exec(
            tx,
            "INSERT INTO saved_query (id, organization_id, connection_id, owner_id, name, script, "
            "is_shared, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            PARAMS(store_text(query->id), store_text(query->organization_id),
                   store_text(query->connection_id), store_text(query->owner_id),
                   store_text(query->name), store_text(query->script),
                   store_int(query->is_shared.value), store_int(query->created_at),
                   store_int(query->updated_at)),
            NULL, reterr);
    }
    return saved_query_store_taken(err, query, reterr);
}

enum err saved_query_store_update(struct store_tx *tx, const struct saved_query *query,
                                  struct error *reterr)
{
    enum err err =
        store_exec(tx,
                   "UPDATE saved_query SET connection_id = $2, name = $3, script = $4, "
                   "is_shared = $5, updated_at = $6 WHERE id = $1",
                   PARAMS(store_text(query->id), store_text(query->connection_id),
                          store_text(query->name), store_text(query->script),
                          store_int(query->is_shared.value), store_int(query->updated_at)),
                   NULL, reterr);
    return saved_query_store_taken(err, query, reterr);
}

enum err saved_query_store_delete(struct store_tx *tx, struct slice id, struct error *reterr)
{
    return store_exec(tx, "DELETE FROM saved_query WHERE id = $1", PARAMS(store_text(id)), NULL,
                      reterr);
}

enum err saved_query_store_delete_own(struct store_tx *tx, struct slice owner_id,
                                      struct error *reterr)
{
    return store_exec(tx, "DELETE FROM saved_query WHERE owner_id = $1 AND is_shared = 0",
                      PARAMS(store_text(owner_id)), NULL, reterr);
}
