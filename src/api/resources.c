/* SPDX-License-Identifier: MIT */
/* Reading resources, and deleting them. */
#include "api/resources.h"
#include "api/handlers.h"
#include "base/memory.h"
#include "model/name.h"

struct resource_query {
    struct api_page page;
    struct slice search;
    struct slice name;
    struct slice type;
    struct slice subtype;
    struct slice agent_id;
    struct shape_bool without_values;
};

#define QUERY(member, longest, text)                                                               \
    {                                                                                              \
        .name = #member, .kind = SHAPE_TEXT, .offset = offsetof(struct resource_query, member),    \
        .max = (longest), .about = text                                                            \
    }

static const struct shape_field resource_query_fields[] = {
    API_PAGE_FIELDS(struct resource_query, page),
    QUERY(search, 254, "a part of the name, the type or the subtype, without case"),
    QUERY(name, 254, "the name"),
    QUERY(type, 64, "the type"),
    QUERY(subtype, 64, "the subtype"),
    {.name = "agent_id",
     .kind = SHAPE_TEXT,
     .offset = offsetof(struct resource_query, agent_id),
     .max = 36,
     .check = shape_check_uuid,
     .format = "uuid",
     .about = "the agent"},
    {.name = "without_values",
     .kind = SHAPE_BOOL,
     .offset = offsetof(struct resource_query, without_values),
     .about = "leave env_vars empty: an overview discloses nothing"},
};

const struct shape resource_query_shape = {.name = "ResourceQuery",
                                           .size = sizeof(struct resource_query),
                                           SHAPE_FIELDS(resource_query_fields)};

static enum err resource_get_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct resource_reading *reading = context;
    struct api_call *call = reading->call;
    const struct visibility visibility = caller_visibility(&call->caller);
    return resource_answer_load(call, tx, &visibility, call->request->values[0], &reading->answer,
                                reterr);
}

enum err resources_get(struct api_call *call, struct error *reterr)
{
    struct resource_reading reading = {.call = call};
    const struct resource *resource = &reading.answer.resource;
    enum err err = resource_check_name(call->request->values[0], reterr);
    if (err == ERR_NONE) {
        err = resource_read_resolved(&reading, resource_get_body, reterr);
    }
    if (err == ERR_NONE && reading.answer.discloses) {
        struct slice names = resource_names_in(call, resource, 1);
        err = api_audit_alone(call, "disclose", 200, names, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    http_response_header(call->response, SLICE("ETag"),
                         resource_etag_in(call->arena, resource->id, resource->version));
    struct json_writer json = api_answer(call, 200);
    resource_answer_write(call, &reading.answer, &json);
    return api_answer_end(call, &json, reterr);
}

/* The list ------------------------------------------------------------------------------------- */

struct resources_listing {
    struct api_call *call;
    struct resource_filter filter;
    bool without_values;
    struct resource_list list;
    struct resource_answer *answers; /* as many as list.count */
};

/* Hands the roles of all resources, which come in the order of the resources, out to them. */
static void resources_share_roles(struct resources_listing *listing, struct connection_list *roles)
{
    size_t at = 0;
    for (size_t i = 0; i < listing->list.count; i++) {
        struct resource_answer *answer = &listing->answers[i];
        size_t from = at;
        while (at < roles->count &&
               slice_equals(roles->rows[at]->resource_id, answer->resource.id)) {
            at++;
        }
        if (at > from) {
            answer->roles =
                (struct connection_list){.rows = roles->rows + from, .count = at - from};
        }
    }
}

static enum err resources_list_roles(struct resources_listing *listing, struct store_tx *tx,
                                     const struct visibility *visibility, struct error *reterr)
{
    struct arena *arena = listing->call->arena;
    struct connection_list roles = {.arena = arena};
    enum err err = connection_store_of_resources(tx, visibility, listing->list.resources,
                                                 listing->list.count, &roles, reterr);
    if (err == ERR_NONE) {
        err = connection_store_load_links(tx, &roles, reterr);
    }
    for (size_t i = 0; i < roles.count && visibility->hides_role_info; i++) {
        roles.rows[i]->connection.default_database = SLICE("");
    }
    resources_share_roles(listing, &roles);
    return err;
}

static enum err resources_list_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct resources_listing *listing = context;
    struct api_call *call = listing->call;
    const struct visibility visibility = caller_visibility(&call->caller);
    listing->list = (struct resource_list){.arena = call->arena};
    enum err err = resource_store_list(tx, &visibility, &listing->filter, &listing->list, reterr);
    listing->answers =
        arena_alloc_array(call->arena, listing->list.count, sizeof(*listing->answers));
    for (size_t i = 0; i < listing->list.count && err == ERR_NONE; i++) {
        listing->answers[i].resource = listing->list.resources[i];
        if (!listing->without_values) {
            err =
                resource_answer_load_env_vars(call, tx, &visibility, &listing->answers[i], reterr);
        }
    }
    return err == ERR_NONE ? resources_list_roles(listing, tx, &visibility, reterr) : err;
}

static enum err resources_audit_list(struct resources_listing *listing, struct error *reterr)
{
    size_t count = 0;
    struct resource *disclosed =
        arena_alloc_array(listing->call->arena, listing->list.count, sizeof(*disclosed));
    for (size_t i = 0; i < listing->list.count; i++) {
        if (listing->answers[i].discloses) {
            disclosed[count++] = listing->answers[i].resource;
        }
    }
    struct slice names = resource_names_in(listing->call, disclosed, count);
    return count == 0 ? ERR_NONE : api_audit_alone(listing->call, "disclose", 200, names, reterr);
}

enum err resources_list(struct api_call *call, struct error *reterr)
{
    struct resource_query query = {0};
    enum err err = api_read_query(call, &resource_query_shape, &query, reterr);
    struct resources_listing listing = {
        .call = call,
        .filter = {.search = query.search,
                   .name = query.name,
                   .type = query.type,
                   .subtype = query.subtype,
                   .agent_id = query.agent_id,
                   .limit = api_page_limit(&query.page),
                   .offset = api_page_offset(&query.page)},
        .without_values = query.without_values.value,
    };
    if (err == ERR_NONE) {
        err = store_read(call->api->store, resources_list_body, &listing, reterr);
    }
    if (err == ERR_NONE) {
        err = resources_audit_list(&listing, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_array(&json, "data");
    for (size_t i = 0; i < listing.list.count; i++) {
        resource_answer_write(call, &listing.answers[i], &json);
    }
    json_end_array(&json);
    api_write_pages(&json, &query.page, listing.list.total);
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}

/* Deleting ------------------------------------------------------------------------------------- */

struct resource_delete_query {
    struct shape_bool cascade;
};

static const struct shape_field resource_delete_fields[] = {
    {.name = "cascade",
     .kind = SHAPE_BOOL,
     .offset = offsetof(struct resource_delete_query, cascade),
     .about = "delete its roles too"},
};

const struct shape resource_delete_shape = {.name = "ResourceDeleteQuery",
                                            .size = sizeof(struct resource_delete_query),
                                            SHAPE_FIELDS(resource_delete_fields)};

struct resource_delete {
    struct api_call *call;
    struct slice name;
    bool cascades;
};

static struct slice resource_delete_payload(const struct resource_delete *delete,
                                            const struct connection_list *roles)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "name", delete->name);
    json_member_array(&text.json, "roles");
    for (size_t i = 0; i < roles->count; i++) {
        json_text(&text.json, roles->rows[i]->connection.name);
    }
    json_end_array(&text.json);
    json_end_object(&text.json);
    return api_text_end_in(delete->call->arena, &text);
}

static enum err resource_delete_roles(const struct resource_delete *delete, struct store_tx *tx,
                                      const struct connection_list *roles, struct error *reterr)
{
    if (roles->count > 0 && !delete->cascades) {
        return fail(reterr, ERR_INPUT,
                    "'%.*s' still has %zu roles: delete them first, or send ?cascade=true",
                    SLICE_ARG(delete->name), roles->count);
    }
    enum err err = ERR_NONE;
    for (size_t i = 0; i < roles->count && err == ERR_NONE; i++) {
        const struct connection *role = &roles->rows[i]->connection;
        if (role->managed_by.len > 0) {
            return fail(reterr, ERR_INPUT, "the role '%.*s' is managed by %.*s",
                        SLICE_ARG(role->name), SLICE_ARG(role->managed_by));
        }
        err = connection_store_delete(tx, delete->call->caller.organization_id, role->id, reterr);
    }
    return err;
}

static enum err resource_delete_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct resource_delete *delete = context;
    struct api_call *call = delete->call;
    const struct visibility visibility = caller_visibility(&call->caller);
    struct resource resource;
    struct connection_list roles = {.arena = call->arena};
    enum err err =
        resource_store_find(tx, call->arena, &visibility, delete->name, &resource, reterr);
    if (err == ERR_NONE) {
        err = resource_check_match(
            call, resource_etag_in(call->arena, resource.id, resource.version), reterr);
    }
    if (err == ERR_NONE) {
        err = connection_store_of_resources(tx, &visibility, &resource, 1, &roles, reterr);
    }
    if (err == ERR_NONE) {
        err = resource_delete_roles(delete, tx, &roles, reterr);
    }
    if (err == ERR_NONE) {
        err = resource_store_delete(tx, call->caller.organization_id, resource.id, reterr);
    }
    struct slice payload = resource_delete_payload(delete, &roles);
    return err == ERR_NONE ? api_audit(call, tx, "delete", 204, payload, reterr) : err;
}

enum err resources_delete(struct api_call *call, struct error *reterr)
{
    struct resource_delete_query query = {0};
    struct resource_delete delete = {.call = call, .name = call->request->values[0]};
    enum err err = resource_check_name(delete.name, reterr);
    if (err == ERR_NONE) {
        err = api_read_query(call, &resource_delete_shape, &query, reterr);
    }
    delete.cascades = query.cascade.value;
    if (err == ERR_NONE) {
        err = store_write(call->api->store, resource_delete_body, &delete, reterr);
    }
    call->response->status = 204;
    return err;
}
