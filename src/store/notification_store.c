/* SPDX-License-Identifier: MIT */
#include "store/notification_store.h"

#include "base/limits.h"
#include "base/memory.h"
#include "store/rows.h"
#include "store/seal.h"

#define SINK_COLUMNS                                                                               \
    "SELECT s.id, s.organization_id, s.name, s.kind, s.is_active, s.statement_size, s.address, "   \
    "s.failing_since, s.last_error, s.created_at, s.updated_at, s.sealed "                         \
    "FROM notification_sink s WHERE "
#define SINK_SEALED 11

/* Sinks ---------------------------------------------------------------------------------------- */

static void sink_take(struct arena *arena, const struct store_rows *rows, struct sink *sink)
{
    *sink = (struct sink){
        .id = rows_text_in(arena, rows, 0),
        .organization_id = rows_text_in(arena, rows, 1),
        .name = rows_text_in(arena, rows, 2),
        .type = rows_text_in(arena, rows, 3),
        .enabled = {.value = store_rows_int(rows, 4) != 0, .is_given = true},
        .statement_size = {.value = store_rows_int(rows, 5), .is_given = true},
        .address = rows_text_in(arena, rows, 6),
        .failing_since = store_rows_int(rows, 7),
        .created_at = store_rows_int(rows, 9),
        .updated_at = store_rows_int(rows, 10),
    };
    if (store_rows_view(rows, 8).len > 0) {
        sink->last_error = rows_text_in(arena, rows, 8);
    }
    if (sink_is_email(sink)) {
        sink->addresses = sink_addresses_in(arena, sink->address);
    }
}

static enum err sink_read_events(struct store_tx *tx, struct arena *arena, struct sink *sink,
                                 struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct slice)};
    enum err err =
        store_query(tx, "SELECT type FROM notification_sink_event WHERE sink_id = $1 ORDER BY type",
                    PARAMS(store_text(sink->id)), &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        struct slice type = rows_text_in(arena, &rows, 0);
        *(struct slice *)rows_list_add(&list) = type;
    }
    sink->events = (struct shape_texts){.items = list.items, .count = list.count, .is_given = true};
    return rows_end(err);
}

static enum err sink_read_all(struct store_tx *tx, struct slice organization_id,
                              struct rows_list *list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(tx, SINK_COLUMNS "s.organization_id = $1 ORDER BY s.name",
                               PARAMS(store_text(organization_id)), &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        sink_take(list->arena, &rows, rows_list_add(list));
    }
    return rows_end(err);
}

enum err notification_store_sinks(struct store_tx *tx, struct arena *arena,
                                  struct slice organization_id, struct sink_list *ret_list,
                                  struct error *reterr)
{
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct sink)};
    enum err err = sink_read_all(tx, organization_id, &list, reterr);
    *ret_list = (struct sink_list){.sinks = list.items, .count = list.count};
    for (size_t i = 0; i < list.count && err == ERR_NONE; i++) {
        err = sink_read_events(tx, arena, &ret_list->sinks[i], reterr);
    }
    return err;
}

static enum err sink_unseal(struct store_tx *tx, struct arena *arena, struct slice sealed,
                            struct sink *sink, struct error *reterr)
{
    struct slice plain = SLICE_NONE;
    enum err err = unseal_in(arena, store_keys(tx), sink->id, sealed, &plain, reterr);
    if (err == ERR_NONE && plain.len < SINK_KEY_SIZE) {
        err = fail(reterr, ERR_INTERNAL, "a stored sink is malformed");
    }
    if (err == ERR_NONE) {
        sink->key = slice_sub(plain, 0, SINK_KEY_SIZE);
        sink->url = slice_from(plain, SINK_KEY_SIZE);
    }
    return err;
}

static enum err sink_first(struct store_tx *tx, struct arena *arena, struct slice organization_id,
                           struct slice name_or_id, struct sink *sink, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query_one(tx,
                        SINK_COLUMNS "s.organization_id = $1 AND (s.name = $2 OR s.id = $2) "
                                     "ORDER BY CASE WHEN s.name = $2 THEN 0 ELSE 1 END LIMIT 1",
                        PARAMS(store_text(organization_id), store_text(name_or_id)), &rows, reterr);
    if (err == ERR_NOT_FOUND) {
        return fail(reterr, err, "there is no sink '%.*s'", SLICE_ARG(name_or_id));
    }
    if (err != ERR_NONE) {
        return err;
    }
    sink_take(arena, &rows, sink);
    return sink_unseal(tx, arena, arena_copy(arena, store_rows_view(&rows, SINK_SEALED)), sink,
                       reterr);
}

enum err notification_store_find(struct store_tx *tx, struct arena *arena,
                                 struct slice organization_id, struct slice name_or_id,
                                 struct sink *ret_sink, struct error *reterr)
{
    enum err err = sink_first(tx, arena, organization_id, name_or_id, ret_sink, reterr);
    return err == ERR_NONE ? sink_read_events(tx, arena, ret_sink, reterr) : err;
}

static struct slice sink_seal_in(struct arena *arena, struct store_tx *tx, const struct sink *sink)
{
    char *plain = arena_alloc_bare(arena, SINK_KEY_SIZE + sink->url.len + 1);
    memcpy(plain, sink->key.at, SINK_KEY_SIZE);
    memcpy(plain + SINK_KEY_SIZE, sink->url.at, sink->url.len);
    struct slice sealed =
        seal_in(arena, store_keys(tx), sink->id, slice_of(plain, SINK_KEY_SIZE + sink->url.len));
    return sealed;
}

static enum err sink_write_events(struct store_tx *tx, const struct sink *sink,
                                  struct error *reterr)
{
    enum err err = ERR_NONE;
    for (size_t i = 0; i < sink->events.count && err == ERR_NONE; i++) {
        err = store_exec(tx,
                         "INSERT INTO notification_sink_event (sink_id, type) VALUES ($1, $2) "
                         "ON CONFLICT DO NOTHING",
                         PARAMS(store_text(sink->id), store_text(sink->events.items[i])), NULL,
                         reterr);
    }
    return err;
}

static enum err sink_taken(const struct sink *sink, struct error *reterr)
{
    return fail(reterr, ERR_CONFLICT, "a sink '%.*s' already exists", SLICE_ARG(sink->name));
}

enum err notification_store_insert(struct store_tx *tx, struct arena *arena,
                                   const struct sink *sink, struct error *reterr)
{
    int64_t count = 0;
    enum err err =
        rows_number(tx, "SELECT count(*) FROM notification_sink WHERE organization_id = $1",
                    PARAMS(store_text(sink->organization_id)), &count, reterr);
    if (err == ERR_NONE && count >= LIMIT_NOTIFY_SINKS) {
        return fail(reterr, ERR_CONFLICT, "there are %d sinks, the most that may be",
                    LIMIT_NOTIFY_SINKS);
    }
    if (err != ERR_NONE) {
        return err;
    }
    err = store_exec(
        tx,
        "INSERT INTO notification_sink (id, organization_id, name, kind, is_active, "
        "statement_size, address, sealed, failing_since, last_error, created_at, updated_at) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, '', $9, $9)",
        PARAMS(store_text(sink->id), store_text(sink->organization_id), store_text(sink->name),
               store_text(sink->type), store_int(sink->enabled.value ? 1 : 0),
               store_int(sink->statement_size.value), store_text(sink->address),
               store_blob(sink_seal_in(arena, tx, sink)), store_int(sink->created_at)),
        NULL, reterr);
    if (err == ERR_CONFLICT) {
        return sink_taken(sink, reterr);
    }
    return err == ERR_NONE ? sink_write_events(tx, sink, reterr) : err;
}

enum err notification_store_replace(struct store_tx *tx, struct arena *arena,
                                    const struct sink *sink, struct error *reterr)
{
    enum err err = store_exec(
        tx,
        "UPDATE notification_sink SET name = $2, kind = $3, is_active = $4, statement_size = $5, "
        "address = $6, sealed = $7, failing_since = $8, updated_at = $9 WHERE id = $1",
        PARAMS(store_text(sink->id), store_text(sink->name), store_text(sink->type),
               store_int(sink->enabled.value ? 1 : 0), store_int(sink->statement_size.value),
               store_text(sink->address), store_blob(sink_seal_in(arena, tx, sink)),
               store_int(sink->failing_since), store_int(sink->updated_at)),
        NULL, reterr);
    if (err == ERR_CONFLICT) {
        return sink_taken(sink, reterr);
    }
    if (err == ERR_NONE) {
        err = store_exec(tx, "DELETE FROM notification_sink_event WHERE sink_id = $1",
                         PARAMS(store_text(sink->id)), NULL, reterr);
    }
    return err == ERR_NONE ? sink_write_events(tx, sink, reterr) : err;
}

enum err notification_store_delete(struct store_tx *tx, struct slice id, struct error *reterr)
{
    enum err err = store_exec(
        tx,
        "DELETE FROM notification_event WHERE id IN (SELECT d.event_id "
        "FROM notification_delivery d WHERE d.sink_id = $1 AND NOT EXISTS (SELECT 1 "
        "FROM notification_delivery o WHERE o.event_id = d.event_id AND o.sink_id <> $1))",
        PARAMS(store_text(id)), NULL, reterr);
    return err == ERR_NONE ? store_exec(tx, "DELETE FROM notification_sink WHERE id = $1",
                                        PARAMS(store_text(id)), NULL, reterr)
                           : err;
}

/* Deliveries ----------------------------------------------------------------------------------- */

#define DELIVERY_COLUMNS                                                                           \
    "SELECT d.id, e.type, s.name, e.summary, d.state, d.tries, d.last_status, d.last_error, "      \
    "d.next_at, d.created_at, d.updated_at "
#define DELIVERY_FROM                                                                              \
    "FROM notification_delivery d JOIN notification_event e ON e.id = d.event_id "                 \
    "JOIN notification_sink s ON s.id = d.sink_id "
#define DELIVERY_FILTER                                                                            \
    "WHERE d.organization_id = $1 AND ($2 = '' OR d.state = $2) AND ($3 = '' OR s.name = $3) "

static void delivery_take(struct arena *arena, const struct store_rows *rows,
                          struct delivery *delivery)
{
    int64_t status = store_rows_int(rows, 6);
    *delivery = (struct delivery){
        .id = rows_text_in(arena, rows, 0),
        .event_type = rows_text_in(arena, rows, 1),
        .sink_name = rows_text_in(arena, rows, 2),
        .summary = rows_text_in(arena, rows, 3),
        .state = rows_text_in(arena, rows, 4),
        .tries = {.value = store_rows_int(rows, 5), .is_given = true},
        .last_status = {.value = status, .is_given = status != 0},
        .created_at = store_rows_int(rows, 9),
        .updated_at = store_rows_int(rows, 10),
    };
    if (store_rows_view(rows, 7).len > 0) {
        delivery->last_error = rows_text_in(arena, rows, 7);
    }
    if (slice_equals(delivery->state, SLICE(DELIVERY_PENDING))) {
        delivery->next_try_at = store_rows_int(rows, 8);
    }
}

enum err notification_store_deliveries(struct store_tx *tx, struct arena *arena,
                                       const struct delivery_filter *filter,
                                       struct delivery_list *ret_list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct delivery)};
    const struct store_value organization = store_text(filter->organization_id);
    *ret_list = (struct delivery_list){0};
    enum err err =
        rows_number(tx, "SELECT count(*) " DELIVERY_FROM DELIVERY_FILTER,
                    PARAMS(organization, store_text(filter->state), store_text(filter->sink)),
                    &ret_list->total, reterr);
    if (err == ERR_NONE) {
        err = store_query(tx,
                          DELIVERY_COLUMNS DELIVERY_FROM DELIVERY_FILTER
                          "ORDER BY d.created_at DESC, d.id DESC LIMIT $4 OFFSET $5",
                          PARAMS(organization, store_text(filter->state), store_text(filter->sink),
                                 store_int(filter->limit), store_int(filter->offset)),
                          &rows, reterr);
    }
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        delivery_take(arena, &rows, rows_list_add(&list));
    }
    ret_list->deliveries = list.items;
    ret_list->count = list.count;
    return rows_end(err);
}

enum err notification_store_delivery(struct store_tx *tx, struct arena *arena,
                                     struct slice organization_id, struct slice id,
                                     struct delivery *ret_delivery, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(
        tx, DELIVERY_COLUMNS DELIVERY_FROM "WHERE d.organization_id = $1 AND d.id = $2",
        PARAMS(store_text(organization_id), store_text(id)), &rows, reterr);
    if (err == ERR_NONE) {
        delivery_take(arena, &rows, ret_delivery);
    }
    return err == ERR_NOT_FOUND ? fail(reterr, err, "there is no delivery '%.*s'", SLICE_ARG(id))
                                : err;
}

enum err notification_store_replay(struct store_tx *tx, struct slice id, int64_t now,
                                   struct error *reterr)
{
    uint64_t changed = 0;
    enum err err =
        store_exec(tx,
                   "UPDATE notification_delivery SET state = 'pending', tries = 0, next_at = $2, "
                   "lease_id = '', lease_until = 0, refused = '', updated_at = $2 "
                   "WHERE id = $1 AND state = 'dead'",
                   PARAMS(store_text(id), store_int(now)), &changed, reterr);
    return err == ERR_NONE && changed == 0
               ? fail(reterr, ERR_CONFLICT, "only deliveries that are dead are sent again")
               : err;
}

enum err notification_store_replay_dead(struct store_tx *tx, const struct delivery_filter *filter,
                                        int64_t now, uint64_t *ret_count, struct error *reterr)
{
    return store_exec(
        tx,
        "UPDATE notification_delivery SET state = 'pending', tries = 0, next_at = $3, "
        "lease_id = '', lease_until = 0, refused = '', updated_at = $3 WHERE id IN ("
        "SELECT d.id FROM notification_delivery d JOIN notification_sink s ON s.id = d.sink_id "
        "WHERE d.organization_id = $1 AND d.state = 'dead' AND ($2 = '' OR s.name = $2) "
        "ORDER BY d.created_at, d.id LIMIT $4)",
        PARAMS(store_text(filter->organization_id), store_text(filter->sink), store_int(now),
               store_int(filter->limit)),
        ret_count, reterr);
}
