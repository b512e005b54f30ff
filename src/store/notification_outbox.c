/* SPDX-License-Identifier: MIT */
#include "store/notification_outbox.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "model/session.h"
#include "store/notification_store.h"
#include "store/opening_link.h"
#include "store/review_store.h"
#include "store/row_id.h"
#include "store/rows.h"

/* Putting in ----------------------------------------------------------------------------------- */

/* Active sinks, $1 the organization, $2 the type; $3: whatever they want to know. */
#define OUTBOX_SINKS                                                                               \
    "FROM notification_sink s WHERE s.organization_id = $1 AND s.is_active = 1 "                   \
    "AND ($3 = 1 OR EXISTS (SELECT 1 FROM notification_sink_event v "                              \
    "WHERE v.sink_id = s.id AND v.type = $2)) "

static int64_t outbox_is_for_all(const char *type)
{
    return strcmp(type, EVENT_EMERGENCY) == 0 ? 1 : 0;
}

enum err outbox_wants(struct store_tx *tx, struct slice organization_id, const char *type,
                      bool *ret_wants, struct error *reterr)
{
    int64_t count = 0;
    enum err err = rows_number(tx, "SELECT count(*) " OUTBOX_SINKS,
                               PARAMS(store_text(organization_id), store_text(slice_of_text(type)),
                                      store_int(outbox_is_for_all(type))),
                               &count, reterr);
    *ret_wants = count > 0;
    return err;
}

static enum err outbox_read_sinks(struct store_tx *tx, const struct outbox_event *event,
                                  struct rows_list *list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(tx, "SELECT s.id " OUTBOX_SINKS "ORDER BY s.id",
                               PARAMS(store_text(event->organization_id),
                                      store_text(slice_of_text(event->type)),
                                      store_int(outbox_is_for_all(event->type))),
                               &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        struct slice id = rows_text_in(list->arena, &rows, 0);
        *(struct slice *)rows_list_add(list) = id;
    }
    return rows_end(err);
}

static enum err outbox_put_for(struct store_tx *tx, struct arena *arena, struct slice event_id,
                               const struct outbox_event *event, struct slice sink_id,
                               struct error *reterr)
{
    int64_t waiting = 0;
    enum err err =
        rows_number(tx,
                    "SELECT count(*) FROM (SELECT 1 FROM notification_delivery "
                    "WHERE sink_id = $1 AND state = 'pending' LIMIT $2) w",
                    PARAMS(store_text(sink_id), store_int(LIMIT_NOTIFY_PENDING)), &waiting, reterr);
    bool has_room = waiting < LIMIT_NOTIFY_PENDING;
    if (err != ERR_NONE) {
        return err;
    }
    return store_exec(
        tx,
        "INSERT INTO notification_delivery (id, organization_id, event_id, sink_id, state, tries, "
        "next_at, lease_id, lease_until, last_status, last_error, created_at, updated_at) "
        "VALUES ($1, $2, $3, $4, $5, 0, $6, '', 0, 0, $7, $6, $6)",
        PARAMS(store_text(row_id_new(arena)), store_text(event->organization_id),
               store_text(event_id), store_text(sink_id),
               store_text(has_room ? SLICE(DELIVERY_PENDING) : SLICE(DELIVERY_DEAD)),
               store_int(event->now),
               store_text(has_room ? SLICE("") : SLICE("too many wait for this sink already"))),
        NULL, reterr);
}

enum err outbox_put(struct store_tx *tx, struct arena *arena, const struct outbox_event *event,
                    struct error *reterr)
{
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct slice)};
    struct slice id = row_id_new(arena);
    enum err err = outbox_read_sinks(tx, event, &list, reterr);
    if (err != ERR_NONE || list.count == 0) {
        return err;
    }
    err = store_exec(tx,
                     "INSERT INTO notification_event (id, organization_id, type, subject_id, "
                     "summary, path, data, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                     PARAMS(store_text(id), store_text(event->organization_id),
                            store_text(slice_of_text(event->type)), store_text(event->subject_id),
                            store_text(event->summary), store_text(event->path),
                            store_text(event->data), store_int(event->now)),
                     NULL, reterr);
    const struct slice *sinks = list.items;
    for (size_t i = 0; i < list.count && err == ERR_NONE; i++) {
        err = outbox_put_for(tx, arena, id, event, sinks[i], reterr);
    }
    return err;
}

/* Taking out ----------------------------------------------------------------------------------- */

/* What lies further ahead than anything is put off was written by a clock that was set back since.
 */
#define OUTBOX_DUE                                                                                 \
    "FROM notification_delivery d JOIN notification_sink s ON s.id = d.sink_id "                   \
    "WHERE d.state = 'pending' AND (d.next_at <= $1 OR d.next_at > $3) "                           \
    "AND (d.lease_until <= $1 OR d.lease_until > $3) "                                             \
    "AND s.is_active = 1 AND CASE WHEN s.failing_since > 0 THEN 1 ELSE 0 END = $2 "
#define OUTBOX_DUE_VALUES(question)                                                                \
    store_int((question)->now), store_int((question)->is_failing ? 1 : 0),                         \
        store_int((question)->now +                                                                \
                  2 * (int64_t)LIMIT_NOTIFY_RETRY_MAX_MS * (TIMESTAMP_SECOND / 1000))

enum err outbox_is_due(struct store_tx *tx, const struct outbox_question *question, bool *ret_is,
                       struct error *reterr)
{
    int64_t count = 0;
    enum err err = rows_number(tx, "SELECT count(*) FROM (SELECT 1 " OUTBOX_DUE "LIMIT 1) w",
                               PARAMS(OUTBOX_DUE_VALUES(question)), &count, reterr);
    *ret_is = count > 0;
    return err;
}

/* What a row names, to be read when the list of rows is. */
struct outbox_row {
    struct outbox_item item;
    struct slice sink_id;
    struct slice organization_id;
};

static enum err outbox_read_due(struct store_tx *tx, const struct outbox_question *question,
                                struct rows_list *list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct arena *arena = list->arena;
    enum err err = store_query(
        tx,
        "SELECT d.id, e.type, e.subject_id, e.summary, e.path, e.data, e.created_at, d.tries, "
        "s.id, s.organization_id, e.id, d.told, d.refused FROM notification_event e JOIN (SELECT "
        "d.id, d.event_id, "
        "d.sink_id, d.tries, d.next_at, d.told, d.refused " OUTBOX_DUE
        "ORDER BY d.next_at, d.id LIMIT $4) d "
        "ON d.event_id = e.id JOIN notification_sink s ON s.id = d.sink_id "
        "ORDER BY d.next_at, d.id",
        PARAMS(OUTBOX_DUE_VALUES(question), store_int(question->limit)), &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        struct outbox_row *row = rows_list_add(list);
        *row = (struct outbox_row){
            .item =
                {
                    .delivery_id = rows_text_in(arena, &rows, 0),
                    .event_id = rows_text_in(arena, &rows, 10),
                    .event_type = rows_text_in(arena, &rows, 1),
                    .subject_id = rows_text_in(arena, &rows, 2),
                    .summary = rows_text_in(arena, &rows, 3),
                    .path = rows_text_in(arena, &rows, 4),
                    .data = rows_text_in(arena, &rows, 5),
                    .happened_at = store_rows_int(&rows, 6),
                    .tries = store_rows_int(&rows, 7) + 1,
                    .told = rows_text_in(arena, &rows, 11),
                    .refused = rows_text_in(arena, &rows, 12),
                    .statement = SLICE(""),
                },
            .sink_id = rows_text_in(arena, &rows, 8),
            .organization_id = rows_text_in(arena, &rows, 9),
        };
    }
    return rows_end(err);
}

/* Of a review that is gone there is none. */
static enum err outbox_read_statement(struct store_tx *tx, struct arena *arena,
                                      const struct outbox_row *row, struct slice *ret_text,
                                      struct error *reterr)
{
    struct review review = {0};
    struct review_secret secret = {0};
    const struct review_key key = {.organization_id = row->organization_id,
                                   .id = row->item.subject_id};
    enum err err = review_store_find(tx, arena, &key, &review, reterr);
    if (err == ERR_NONE) {
        err = review_store_open(tx, arena, &review, &secret, reterr);
    }
    if (err != ERR_NONE) {
        return err == ERR_NOT_FOUND || err == ERR_INTERNAL ? ERR_NONE : err;
    }
    *ret_text = session_text_in(arena, secret.script, (size_t)row->item.sink.statement_size.value);
    return ERR_NONE;
}

/* One that no key opens any more fails by itself, and holds up no others. */
static enum err outbox_read_sink(struct store_tx *tx, struct arena *arena, struct outbox_row *row,
                                 struct error *reterr)
{
    struct sink *sink = &row->item.sink;
    enum err err =
        notification_store_find(tx, arena, row->organization_id, row->sink_id, sink, reterr);
    if (err == ERR_INTERNAL) {
        *sink = (struct sink){.id = row->sink_id,
                              .name = row->sink_id,
                              .type = SLICE(SINK_SLACK),
                              .url = SLICE(""),
                              .key = SLICE("")};
        return ERR_NONE;
    }
    return err;
}

static enum err outbox_lease(struct store_tx *tx, struct arena *arena,
                             const struct outbox_question *question, struct outbox_row *row,
                             struct error *reterr)
{
    struct outbox_item *item = &row->item;
    item->lease_id = row_id_new(arena);
    enum err err =
        store_exec(tx,
                   "UPDATE notification_delivery SET lease_id = $2, lease_until = $3, tries = $4 "
                   "WHERE id = $1",
                   PARAMS(store_text(item->delivery_id), store_text(item->lease_id),
                          store_int(question->lease_until), store_int(item->tries)),
                   NULL, reterr);
    if (err == ERR_NONE) {
        err = outbox_read_sink(tx, arena, row, reterr);
    }
    bool is_review = slice_starts_with(item->event_type, SLICE("review."));
    if (slice_equals(item->event_type, SLICE(EVENT_REVIEW_REQUESTED)) && item->path.len > 0) {
        const struct opening_link link = {
            .organization_id = row->organization_id,
            .review_id = item->subject_id,
            .delivery_id = item->delivery_id,
            .ends_at = item->happened_at + OPENING_LINK_HOURS * 3600 * TIMESTAMP_SECOND,
        };
        item->path = arena_format(arena, "%.*s?link=%.*s", SLICE_ARG(item->path),
                                  SLICE_ARG(opening_link_in(arena, tx, &link)));
    }
    if (err == ERR_NONE && is_review && item->sink.statement_size.value > 0) {
        err = outbox_read_statement(tx, arena, row, &item->statement, reterr);
    }
    return err;
}

enum err outbox_take(struct store_tx *tx, struct arena *arena,
                     const struct outbox_question *question, struct outbox_items *ret_items,
                     struct error *reterr)
{
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct outbox_row)};
    enum err err = outbox_read_due(tx, question, &list, reterr);
    struct outbox_row *rows = list.items;
    struct outbox_item *items = arena_alloc_array(arena, list.count + 1, sizeof(*items));
    for (size_t i = 0; i < list.count && err == ERR_NONE; i++) {
        err = outbox_lease(tx, arena, question, &rows[i], reterr);
        items[i] = rows[i].item;
    }
    *ret_items = (struct outbox_items){.items = items, .count = list.count};
    return err;
}

enum err outbox_finish(struct store_tx *tx, const struct outbox_result *result,
                       struct error *reterr)
{
    const struct outbox_item *item = result->item;
    uint64_t changed = 0;
    enum err err = store_exec(
        tx,
        "UPDATE notification_delivery SET state = $3, next_at = $4, lease_id = '', "
        "lease_until = 0, last_status = $5, last_error = $6, updated_at = $7, "
        "told = $8, refused = $9 "
        "WHERE id = $1 AND lease_id = $2 AND state = 'pending'",
        PARAMS(store_text(item->delivery_id), store_text(item->lease_id), store_text(result->state),
               store_int(result->next_at), store_int(result->status), store_text(result->reason),
               store_int(result->now), store_text(result->told), store_text(result->refused)),
        &changed, reterr);
    if (err != ERR_NONE || changed == 0) {
        return err;
    }
    return slice_equals(result->state, SLICE(DELIVERY_DELIVERED))
               ? store_exec(tx,
                            "UPDATE notification_sink SET failing_since = 0, last_error = '' "
                            "WHERE id = $1 AND failing_since > 0",
                            PARAMS(store_text(item->sink.id)), NULL, reterr)
               : store_exec(tx,
                            "UPDATE notification_sink SET last_error = $2, failing_since = "
                            "CASE WHEN failing_since > 0 THEN failing_since ELSE $3 END "
                            "WHERE id = $1",
                            PARAMS(store_text(item->sink.id), store_text(result->reason),
                                   store_int(result->now)),
                            NULL, reterr);
}

/* Removing ------------------------------------------------------------------------------------- */

#define OUTBOX_DELIVERED_OLD "state = 'delivered' AND next_at <= $1"
#define OUTBOX_DEAD_OLD      "state = 'dead' AND next_at <= $1"

enum err outbox_has_old(struct store_tx *tx, int64_t now, bool *ret_has, struct error *reterr)
{
    int64_t delivered = 0;
    int64_t dead = 0;
    enum err err = rows_number(
        tx,
        "SELECT count(*) FROM (SELECT 1 FROM notification_delivery WHERE " OUTBOX_DELIVERED_OLD
        " LIMIT 1) w",
        PARAMS(store_int(now - LIMIT_NOTIFY_DELIVERED_DAYS * TIMESTAMP_DAY)), &delivered, reterr);
    if (err == ERR_NONE) {
        err = rows_number(
            tx,
            "SELECT count(*) FROM (SELECT 1 FROM notification_delivery WHERE " OUTBOX_DEAD_OLD
            " LIMIT 1) w",
            PARAMS(store_int(now - LIMIT_NOTIFY_DEAD_DAYS * TIMESTAMP_DAY)), &dead, reterr);
    }
    *ret_has = delivered > 0 || dead > 0;
    return err;
}

enum err outbox_sweep(struct store_tx *tx, int64_t now, uint64_t *ret_count, struct error *reterr)
{
    uint64_t dead = 0;
    uint64_t events = 0;
    enum err err = store_exec(
        tx,
        "DELETE FROM notification_delivery WHERE id IN (SELECT id FROM notification_delivery "
        "WHERE " OUTBOX_DELIVERED_OLD " LIMIT $2)",
        PARAMS(store_int(now - LIMIT_NOTIFY_DELIVERED_DAYS * TIMESTAMP_DAY),
               store_int(LIMIT_NOTIFY_SWEEP)),
        ret_count, reterr);
    if (err == ERR_NONE) {
        err = store_exec(
            tx,
            "DELETE FROM notification_delivery WHERE id IN (SELECT id FROM notification_delivery "
            "WHERE " OUTBOX_DEAD_OLD " LIMIT $2)",
            PARAMS(store_int(now - LIMIT_NOTIFY_DEAD_DAYS * TIMESTAMP_DAY),
                   store_int(LIMIT_NOTIFY_SWEEP)),
            &dead, reterr);
    }
    if (err == ERR_NONE) {
        err = store_exec(
            tx,
            "DELETE FROM notification_event WHERE id IN (SELECT e.id FROM notification_event e "
            "WHERE e.created_at <= $1 "
            "AND NOT EXISTS (SELECT 1 FROM notification_delivery d WHERE d.event_id = e.id) "
            "LIMIT $2)",
            PARAMS(store_int(now - LIMIT_NOTIFY_DELIVERED_DAYS * TIMESTAMP_DAY),
                   store_int(LIMIT_NOTIFY_SWEEP)),
            &events, reterr);
    }
    *ret_count += dead + events;
    return err;
}
