/* SPDX-License-Identifier: MIT */
/* Reading connections, deleting them, their tags and who may use them. */
#include "api/connections.h"
#include "api/handlers.h"
#include "base/memory.h"
#include "model/name.h"

struct connection_query {
    struct api_page page;
    struct slice cursor;
    struct slice search;
    struct slice name;
    struct slice type;
    struct slice subtype;
    struct slice resource_name;
    struct slice agent_id;
    struct slice managed_by;
    struct slice attribute;
    struct slice tag_selector;
    struct slice connection_ids;
};

#define QUERY(member, longest, text)                                                               \
    {                                                                                              \
        .name = #member, .kind = SHAPE_TEXT, .offset = offsetof(struct connection_query, member),  \
        .max = (longest), .about = text                                                            \
    }

static const struct shape_field connection_query_fields[] = {
    API_PAGE_FIELDS(struct connection_query, page),
    API_CURSOR_FIELD(struct connection_query, cursor),
    QUERY(search, 254, "a part of name, type, subtype, resource or status, without case"),
    QUERY(name, 254, "the name"),
    QUERY(type, 64, "the type"),
    QUERY(subtype, 64, "the subtype"),
    QUERY(resource_name, 254, "the resource"),
    {.name = "agent_id",
     .kind = SHAPE_TEXT,
     .offset = offsetof(struct connection_query, agent_id),
     .max = 36,
     .check = shape_check_uuid,
     .format = "uuid",
     .about = "the agent"},
    QUERY(managed_by, 254, "who manages it"),
    QUERY(attribute, 2048, "attributes, any of which it carries, with commas between"),
    QUERY(
        tag_selector, 1400,
        "terms 'key', 'key=value' or 'key!=value' of its connection_tags, all of which hold, with "
        "commas between"),
    QUERY(connection_ids, 1480, "ids, with commas between"),
};

const struct shape connection_query_shape = {.name = "ConnectionQuery",
                                             .size = sizeof(struct connection_query),
                                             SHAPE_FIELDS(connection_query_fields)};

enum err connection_answer_load(struct api_call *call, struct store_tx *tx, struct slice name_or_id,
                                struct connection_list *list, struct error *reterr)
{
    const struct visibility visibility = caller_visibility(&call->caller);
    bool wants_features = list->wants_features;
    *list = (struct connection_list){
        .arena = call->arena, .count = 1, .capacity = 1, .wants_features = wants_features};
    list->rows = arena_alloc(call->arena, sizeof(*list->rows));
    list->rows[0] = arena_alloc(call->arena, sizeof(**list->rows));
    enum err err =
        connection_store_find(tx, call->arena, &visibility, name_or_id, list->rows[0], reterr);
    if (err == ERR_NONE) {
        err = connection_store_load_links(tx, list, reterr);
    }
    if (err == ERR_NONE && visibility.hides_role_info) {
        list->rows[0]->connection.default_database = SLICE("");
    }
    return err;
}

enum err connection_answer(struct api_call *call, int status, const struct connection_list *list,
                           struct error *reterr)
{
    const struct connection_row *row = list->rows[0];
    http_response_header(call->response, SLICE("ETag"),
                         resource_etag_in(call->arena, row->connection.id, row->version));
    struct json_writer json = api_answer(call, status);
    connection_answer_write(call, row, &json);
    return api_answer_end(call, &json, reterr);
}

static enum err connection_get_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct resource_reading *reading = context;
    struct api_call *call = reading->call;
    return connection_answer_load(call, tx, call->request->values[0], &reading->answer.roles,
                                  reterr);
}

enum err connections_get(struct api_call *call, struct error *reterr)
{
    struct resource_reading reading = {.call = call};
    enum err err = resource_read_resolved(&reading, connection_get_body, reterr);
    return err == ERR_NONE ? connection_answer(call, 200, &reading.answer.roles, reterr) : err;
}

/* The list ------------------------------------------------------------------------------------- */

struct connections_listing {
    struct api_call *call;
    struct connection_filter filter;
    struct connection_list list;
};

static enum err connections_list_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct connections_listing *listing = context;
    const struct visibility visibility = caller_visibility(&listing->call->caller);
    listing->list = (struct connection_list){.arena = listing->call->arena};
    enum err err = connection_store_list(tx, &visibility, &listing->filter, &listing->list, reterr);
    if (err == ERR_NONE) {
        err = connection_store_load_links(tx, &listing->list, reterr);
    }
    for (size_t i = 0; i < listing->list.count && visibility.hides_role_info; i++) {
        listing->list.rows[i]->connection.default_database = SLICE("");
    }
    return err;
}

/* The parts of a list with commas; empty ones are passed over. */
static enum err connections_split(struct slice text, const char *member, struct slice *parts,
                                  size_t part_count_max, size_t *ret_count, struct error *reterr)
{
    *ret_count = 0;
    while (text.len > 0) {
        struct slice part = slice_trim(slice_cut(text, ',', &text), " ");
        if (part.len == 0) {
            continue;
        }
        if (*ret_count == part_count_max) {
            return fail(reterr, ERR_INPUT, "'%s' must have at most %zu parts", member,
                        part_count_max);
        }
        parts[(*ret_count)++] = part;
    }
    return ERR_NONE;
}

static enum err connections_read_term(struct slice text, struct connection_tag_term *term,
                                      struct error *reterr)
{
    struct error reason = {0};
    size_t equals = slice_find_byte(text, '=');
    bool is_other = equals < text.len && equals > 0 && text.at[equals - 1] == '!';
    term->key = slice_sub(text, 0, is_other ? equals - 1 : equals);
    term->value = slice_from(text, equals + 1);
    term->match = CONNECTION_TAG_PRESENT;
    if (equals < text.len) {
        term->match = is_other ? CONNECTION_TAG_OTHER : CONNECTION_TAG_EQUAL;
    }
    if (tag_check_key(term->key, &reason) != ERR_NONE ||
        (equals < text.len && tag_check_value(term->value, &reason) != ERR_NONE)) {
        return fail(reterr, ERR_INPUT, "'tag_selector' %s", reason.message);
    }
    return ERR_NONE;
}

static enum err connections_read_lists(const struct connection_query *query,
                                       struct connection_filter *filter, struct error *reterr)
{
    struct slice terms[CONNECTION_FILTER_TAGS];
    enum err err =
        connections_split(query->attribute, "attribute", filter->attributes,
                          CONNECTION_FILTER_ATTRIBUTES, &filter->attribute_count, reterr);
    if (err == ERR_NONE) {
        err = connections_split(query->connection_ids, "connection_ids", filter->ids,
                                CONNECTION_FILTER_IDS, &filter->id_count, reterr);
    }
    for (size_t i = 0; i < filter->id_count && err == ERR_NONE; i++) {
        struct error reason = {0};
        if (shape_check_uuid(filter->ids[i], &reason) != ERR_NONE) {
            err = fail(reterr, ERR_INPUT, "'connection_ids' must be UUIDs");
        }
    }
    if (err == ERR_NONE) {
        err = connections_split(query->tag_selector, "tag_selector", terms, CONNECTION_FILTER_TAGS,
                                &filter->tag_count, reterr);
    }
    for (size_t i = 0; i < filter->tag_count && err == ERR_NONE; i++) {
        err = connections_read_term(terms[i], &filter->tags[i], reterr);
    }
    return err;
}

static enum err connections_read_query(struct api_call *call, struct connection_query *query,
                                       struct connection_filter *filter, struct error *reterr)
{
    struct api_cursor cursor = {0};
    enum err err = api_read_list_query(call, &connection_query_shape, query, &cursor, reterr);
    *filter = (struct connection_filter){
        .search = query->search,
        .name = query->name,
        .type = query->type,
        .subtype = query->subtype,
        .resource_name = query->resource_name,
        .agent_id = query->agent_id,
        .managed_by = query->managed_by,
        .limit = api_page_limit(&query->page),
        .offset = api_page_offset(&query->page),
        .is_by_place = cursor.is_given,
        .place = cursor.text,
    };
    if (err == ERR_NONE && cursor.is_given && query->page.page.is_given) {
        return fail(reterr, ERR_INPUT, "'page' and 'cursor' are two ways of going on; send one");
    }
    return err == ERR_NONE ? connections_read_lists(query, filter, reterr) : err;
}

/* Where the list goes on; and when not all were looked at, behind which name. */
static void connections_write_next(struct api_call *call, struct json_writer *json,
                                   const struct connection_list *list)
{
    const struct api_cursor next = {.text = list->next};
    api_write_cursor(call, json, list->has_more ? &next : NULL);
    json_member_bool(json, "total_is_capped", list->total_is_capped);
    if (list->is_partial) {
        json_member_text(json, "looked_up_to", list->next);
    } else {
        json_member_no_value(json, "looked_up_to");
    }
}

enum err connections_list(struct api_call *call, struct error *reterr)
{
    struct connection_query query = {0};
    struct connections_listing listing = {.call = call};
    enum err err = connections_read_query(call, &query, &listing.filter, reterr);
    if (err == ERR_NONE) {
        err = store_read(call->api->store, connections_list_body, &listing, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_array(&json, "data");
    for (size_t i = 0; i < listing.list.count; i++) {
        connection_answer_write(call, listing.list.rows[i], &json);
    }
    json_end_array(&json);
    api_write_pages(&json, &query.page, listing.list.total);
    if (listing.filter.is_by_place) {
        connections_write_next(call, &json, &listing.list);
    } else if (listing.list.total_is_capped) {
        json_member_bool(&json, "total_is_capped", true);
    }
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}

/* Deleting ------------------------------------------------------------------------------------- */

enum err connection_check_unmanaged(const struct connection *connection, struct error *reterr)
{
    return connection->managed_by.len == 0
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "the connection '%.*s' is managed by %.*s",
                      SLICE_ARG(connection->name), SLICE_ARG(connection->managed_by));
}

struct slice connection_name_payload_in(struct arena *arena, struct slice name)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "name", name);
    json_end_object(&text.json);
    return api_text_end_in(arena, &text);
}

static enum err connection_delete_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct api_call *call = context;
    struct connection_list list = {0};
    enum err err = connection_answer_load(call, tx, call->request->values[0], &list, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    const struct connection_row *row = list.rows[0];
    err = connection_check_unmanaged(&row->connection, reterr);
    if (err == ERR_NONE) {
        err = resource_check_match(
            call, resource_etag_in(call->arena, row->connection.id, row->version), reterr);
    }
    if (err == ERR_NONE) {
        err = connection_store_delete(tx, call->caller.organization_id, row->connection.id, reterr);
    }
    if (err == ERR_NONE) {
        err = resource_store_touch(tx, row->resource_id, reterr);
    }
    struct slice payload = connection_name_payload_in(call->arena, row->connection.name);
    return err == ERR_NONE ? api_audit(call, tx, "delete", 204, payload, reterr) : err;
}

enum err connections_delete(struct api_call *call, struct error *reterr)
{
    call->response->status = 204;
    return store_write(call->api->store, connection_delete_body, call, reterr);
}

/* Tags ----------------------------------------------------------------------------------------- */

struct connection_tags {
    struct api_call *call;
    struct tag *tags;
    size_t count;
};

static enum err connection_tags_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct connection_tags *tags = context;
    const struct visibility visibility = caller_visibility(&tags->call->caller);
    return connection_store_tags(tx, tags->call->arena, &visibility, &tags->tags, &tags->count,
                                 reterr);
}

enum err connection_tags_list(struct api_call *call, struct error *reterr)
{
    struct connection_tags tags = {.call = call};
    enum err err = store_read(call->api->store, connection_tags_body, &tags, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_array(&json, "items");
    for (size_t i = 0; i < tags.count; i++) {
        const struct tag *tag = &tags.tags[i];
        json_begin_object(&json);
        json_member_text(&json, "id", tag->id);
        json_member_text(&json, "key", tag->key);
        json_member_text(&json, "value", tag->value);
        json_member_timestamp(&json, "updated_at", tag->updated_at);
        json_member_timestamp(&json, "created_at", tag->created_at);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}
