/* SPDX-License-Identifier: MIT */
#include "store/connection_store.h"

#include "base/memory.h"
#include "base/must.h"
#include "model/secret_map.h"
#include "store/agent_store.h"
#include "store/connection_internal.h"
#include "store/rows.h"
#include "store/seal.h"

/* What the row says of the connection itself. */
static void connection_store_take(struct arena *arena, const struct store_rows *rows,
                                  struct connection_row *row)
{
    struct connection *connection = &row->connection;
    connection->id = rows_text_in(arena, rows, 0);
    connection->name = rows_text_in(arena, rows, 1);
    row->resource_id = rows_text_in(arena, rows, 2);
    connection->type = rows_text_in(arena, rows, 3);
    connection->subtype = rows_text_in(arena, rows, 4);
    row->inherits_agent = store_rows_is_null(rows, 5);
    connection->agent_id = rows_text_in(arena, rows, 5);
    connection->managed_by = rows_text_in(arena, rows, 6);
    row->document = rows_text_in(arena, rows, 7);
    connection->jira_issue_template_id = rows_text_in(arena, rows, 8);
    row->secret_view = rows_text_in(arena, rows, 9);
    connection->default_database = rows_text_in(arena, rows, 10);
    connection->secrets_updated_at = store_rows_int(rows, 11);
    row->version = store_rows_int(rows, 12);
    row->has_reviewers = store_rows_int(rows, 13) != 0;
    row->needs_metadata = store_rows_int(rows, 14) != 0;
}

static void connection_store_inherit(struct connection_row *row, const struct resource *resource)
{
    struct connection *connection = &row->connection;
    connection->resource_name = resource->name;
    row->resource_agent_id = resource->agent_id;
    if (row->inherits_agent) {
        connection->agent_id = resource->agent_id;
    }
    if (connection->default_database.len == 0) {
        connection->default_database = resource->default_database;
    }
}

static struct slice connection_store_status(const struct store_rows *rows, int first_column)
{
    return agent_store_is_connected(rows, first_column) ? SLICE("online") : SLICE("offline");
}

void connection_row_take_joined(struct arena *arena, const struct store_rows *rows,
                                struct connection_row *row)
{
    connection_store_take(arena, rows, row);
    const struct resource resource = {
        .name = rows_text_in(arena, rows, CONNECTION_OWN_COUNT),
        .agent_id = rows_text_in(arena, rows, CONNECTION_OWN_COUNT + 1),
        .default_database = rows_text_in(arena, rows, CONNECTION_OWN_COUNT + 2),
    };
    connection_store_inherit(row, &resource);
    row->connection.status = connection_store_status(rows, CONNECTION_OWN_COUNT + 3);
    row->has_embedded_agent = store_rows_int(rows, CONNECTION_OWN_COUNT + 3) != 0;
}

enum err connection_store_find(struct store_tx *tx, struct arena *arena,
                               const struct visibility *visibility, struct slice name_or_id,
                               struct connection_row *ret_row, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    *ret_row = (struct connection_row){0};
    enum err err = store_query_one(
        tx,
        CONNECTION_JOINED
        "WHERE c.organization_id = $1 AND (c.name = $2 OR c.id = $2) "
        "AND " ROWS_SEES("$3", "c.id",
                         "$4") " "
                               "ORDER BY CASE WHEN c.id = $2 THEN 0 ELSE 1 END LIMIT 1",
        PARAMS(store_text(visibility->organization_id), store_text(name_or_id),
               rows_sight(visibility), store_text(visibility->member_id)),
        &rows, reterr);
    if (err == ERR_NOT_FOUND) {
        return fail(reterr, ERR_NOT_FOUND, "there is no connection '%.*s'", SLICE_ARG(name_or_id));
    }
    if (err == ERR_NONE) {
        connection_row_take_joined(arena, &rows, ret_row);
    }
    return err;
}

struct connection_row *connection_list_add(struct connection_list *list)
{
    struct rows_list rows = {.arena = list->arena,
                             .item_size = sizeof(struct connection_row *),
                             .items = list->rows,
                             .count = list->count,
                             .capacity = list->capacity};
    struct connection_row **place = rows_list_add(&rows);
    *place = arena_alloc(list->arena, sizeof(**place));
    list->rows = rows.items;
    list->count = rows.count;
    list->capacity = rows.capacity;
    return *place;
}

/* Those of many resources --------------------------------------------------------------------- */

#define AGENTS_KNOWN_MAX 8

/* The resources whose connections are read, and the agents that were asked about. */
struct connection_gathering {
    struct store_tx *tx;
    const struct visibility *visibility;
    const struct resource *resources;
    size_t resource_count;
    struct connection_list *list;
    size_t last_index;
    struct {
        struct slice id;
        struct slice status;
    } agents[AGENTS_KNOWN_MAX];
    size_t agent_count;
};

static enum err connection_store_ask_agent(struct connection_gathering *gathering,
                                           struct slice agent_id, struct slice *ret_status,
                                           struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    for (size_t i = 0; i < gathering->agent_count; i++) {
        if (slice_equals(gathering->agents[i].id, agent_id)) {
            *ret_status = gathering->agents[i].status;
            return ERR_NONE;
        }
    }
    enum err err = store_query_one(gathering->tx,
                                   "SELECT is_embedded, connected_until FROM agent WHERE id = $1",
                                   PARAMS(store_text(agent_id)), &rows, reterr);
    *ret_status = err == ERR_NONE ? connection_store_status(&rows, 0) : SLICE("offline");
    if (gathering->agent_count < AGENTS_KNOWN_MAX) {
        gathering->agents[gathering->agent_count].id = agent_id;
        gathering->agents[gathering->agent_count++].status = *ret_status;
    }
    return rows_end(err);
}

static enum err connection_store_complete(struct connection_gathering *gathering,
                                          struct connection_row *row, struct error *reterr)
{
    size_t index = gathering->last_index; /* they come in runs */
    while (!slice_equals(gathering->resources[index].id, row->resource_id)) {
        index = (index + 1) % gathering->resource_count;
        must(index != gathering->last_index);
    }
    gathering->last_index = index;
    row->order = index;
    connection_store_inherit(row, &gathering->resources[index]);
    return connection_store_ask_agent(gathering, row->connection.agent_id, &row->connection.status,
                                      reterr);
}

/* The order is made here: to a database these rows are wide. */
static int connection_store_compare(const void *a, const void *b)
{
    const struct connection_row *one = *(struct connection_row *const *)a;
    const struct connection_row *other = *(struct connection_row *const *)b;
    if (one->order != other->order) {
        return one->order < other->order ? -1 : 1;
    }
    return slice_compare(one->connection.name, other->connection.name);
}

static enum err connection_store_of_portion(struct connection_gathering *gathering, size_t from,
                                            struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct store_value values[ROWS_IDS_COUNT + 2] = {{.kind = STORE_NULL}};
    size_t left = gathering->resource_count - from;
    for (size_t i = 0; i < left && i < ROWS_IDS_COUNT; i++) {
        values[i] = store_text(gathering->resources[from + i].id);
    }
    values[ROWS_IDS_COUNT] = rows_sight(gathering->visibility);
    values[ROWS_IDS_COUNT + 1] = store_text(gathering->visibility->member_id);
    enum err err = store_query(gathering->tx,
                               CONNECTION_OWN " FROM connection c WHERE c.resource_id IN (" ROWS_IDS
                                              ") AND " ROWS_SEES("$101", "c.id", "$102"),
                               (struct store_params){values, COUNT_OF(values)}, &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        connection_store_take(gathering->list->arena, &rows, connection_list_add(gathering->list));
    }
    return rows_end(err);
}

static enum err connection_store_of_one(struct connection_gathering *gathering,
                                        struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    const struct resource *resource = &gathering->resources[0];
    enum err err = store_query(gathering->tx,
                               CONNECTION_JOINED "WHERE c.resource_id = $1 "
                                                 "AND " ROWS_SEES("$2", "c.id", "$3"),
                               PARAMS(store_text(resource->id), rows_sight(gathering->visibility),
                                      store_text(gathering->visibility->member_id)),
                               &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        connection_row_take_joined(gathering->list->arena, &rows,
                                   connection_list_add(gathering->list));
    }
    return rows_end(err);
}

enum err connection_store_of_resources(struct store_tx *tx, const struct visibility *visibility,
                                       const struct resource *resources, size_t resource_count,
                                       struct connection_list *list, struct error *reterr)
{
    struct connection_gathering gathering = {
        .tx = tx,
        .visibility = visibility,
        .resources = resources,
        .resource_count = resource_count,
        .list = list,
    };
    enum err err = resource_count == 1 ? connection_store_of_one(&gathering, reterr) : ERR_NONE;
    for (size_t from = 0; resource_count > 1 && from < resource_count && err == ERR_NONE;
         from += ROWS_IDS_COUNT) {
        err = connection_store_of_portion(&gathering, from, reterr);
    }
    for (size_t i = 0; resource_count > 1 && i < list->count && err == ERR_NONE; i++) {
        err = connection_store_complete(&gathering, list->rows[i], reterr);
    }
    if (list->count > 1) {
        qsort(list->rows, list->count, sizeof(struct connection_row *), connection_store_compare);
    }
    return err;
}

/* Of the row with this id, sealed for it; null: none. */
static enum err connection_store_open_pairs(struct store_tx *tx, struct arena *arena,
                                            struct slice id, const struct store_rows *rows,
                                            struct shape_pairs *ret_pairs, struct error *reterr)
{
    struct slice plain = SLICE_NONE;
    *ret_pairs = (struct shape_pairs){.is_given = true};
    if (store_rows_is_null(rows, 0)) {
        return ERR_NONE;
    }
    enum err err = unseal_in(arena, store_keys(tx), id, store_rows_view(rows, 0), &plain, reterr);
    return err == ERR_NONE ? rows_pairs_parse_in(arena, plain, ret_pairs, reterr) : err;
}

enum err connection_store_secret(struct store_tx *tx, struct arena *arena, struct slice id,
                                 struct shape_pairs *ret_secret, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    *ret_secret = (struct shape_pairs){.is_given = true};
    enum err err = store_query_one(tx, "SELECT secret FROM connection WHERE id = $1",
                                   PARAMS(store_text(id)), &rows, reterr);
    return err == ERR_NONE ? connection_store_open_pairs(tx, arena, id, &rows, ret_secret, reterr)
                           : rows_end(err);
}

static enum err connection_store_inherited(struct store_tx *tx, struct arena *arena,
                                           struct slice id, struct shape_pairs *ret_variables,
                                           struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    *ret_variables = (struct shape_pairs){.is_given = true};
    enum err err = store_query_one(tx,
                                   "SELECT r.env_vars, r.id FROM connection c "
                                   "JOIN resource r ON r.id = c.resource_id WHERE c.id = $1",
                                   PARAMS(store_text(id)), &rows, reterr);
    return err == ERR_NONE ? connection_store_open_pairs(tx, arena, rows_text_in(arena, &rows, 1),
                                                         &rows, ret_variables, reterr)
                           : rows_end(err);
}

/* A variable may be written NAME or envvar:NAME. */
static bool connection_has_variable(const struct shape_pairs *own, struct slice key)
{
    struct slice name;
    (void)secret_key_place(key, &name);
    for (size_t i = 0; i < own->count; i++) {
        struct slice other;
        (void)secret_key_place(own->pairs[i].key, &other);
        if (slice_equals(name, other)) {
            return true;
        }
    }
    return false;
}

enum err connection_store_variables(struct store_tx *tx, struct arena *arena, struct slice id,
                                    struct shape_pairs *ret_variables, struct error *reterr)
{
    struct shape_pairs own;
    struct shape_pairs inherited = {.count = 0};
    enum err err = connection_store_secret(tx, arena, id, &own, reterr);
    if (err == ERR_NONE) {
        err = connection_store_inherited(tx, arena, id, &inherited, reterr);
    }
    size_t count = own.count;
    struct shape_pair *pairs =
        arena_alloc_array(arena, own.count + inherited.count + 1, sizeof(*pairs));
    for (size_t i = 0; i < own.count; i++) {
        pairs[i] = own.pairs[i];
    }
    for (size_t i = 0; i < inherited.count; i++) {
        if (!connection_has_variable(&own, inherited.pairs[i].key)) {
            pairs[count++] = inherited.pairs[i];
        }
    }
    *ret_variables = (struct shape_pairs){.pairs = pairs, .count = count, .is_given = true};
    return err;
}

enum err connection_store_open_document(struct arena *arena, struct connection_row *row,
                                        struct error *reterr)
{
    struct json document;
    struct slice text = arena_format(arena, "{%.*s}", SLICE_ARG(row->document));
    enum err err = json_parse_in(arena, text, &document, reterr);
    row->connection.agent_id = row->inherits_agent ? SLICE("") : row->connection.agent_id;
    if (err == ERR_NONE) {
        err = shape_read_kept(&connection_shape, &document, &row->connection, reterr);
    }
    return err == ERR_NONE ? err : fail(reterr, ERR_INTERNAL, "a stored connection is malformed");
}

enum err connection_store_tags(struct store_tx *tx, struct arena *arena,
                               const struct visibility *visibility, struct tag **ret_tags,
                               size_t *ret_count, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct tag)};
    enum err err = store_query(tx,
                               "SELECT t.id, t.key, t.value, t.created_at, t.updated_at FROM tag t "
                               "WHERE t.organization_id = $1 AND EXISTS (SELECT 1 FROM "
                               "connection_tag c WHERE c.tag_id = t.id AND " ROWS_SEES(
                                   "$2", "c.connection_id", "$3") ") "
                                                                  "ORDER BY t.key, t.value",
                               PARAMS(store_text(visibility->organization_id),
                                      rows_sight(visibility), store_text(visibility->member_id)),
                               &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        struct tag *tag = rows_list_add(&list);
        tag->id = rows_text_in(arena, &rows, 0);
        tag->key = rows_text_in(arena, &rows, 1);
        tag->value = rows_text_in(arena, &rows, 2);
        tag->created_at = store_rows_int(&rows, 3);
        tag->updated_at = store_rows_int(&rows, 4);
    }
    *ret_tags = list.items;
    *ret_count = list.count;
    return rows_end(err);
}
