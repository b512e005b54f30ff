/* SPDX-License-Identifier: MIT */
#include "api/resources.h"
#include "io/log.h"
#include "model/secret_map.h"

struct slice resource_etag_in(struct arena *arena, struct slice id, int64_t version)
{
    return arena_format(arena, "\"%.*s.%lld\"", SLICE_ARG(id), (long long)version);
}

enum err resource_check_match(const struct api_call *call, struct slice etag, struct error *reterr)
{
    struct slice wanted = http_request_header(call->request, SLICE("If-Match"));
    if (wanted.len == 0) {
        return ERR_NONE;
    }
    while (wanted.len > 0) {
        struct slice one = slice_trim(slice_cut(wanted, ',', &wanted), " \t");
        if (slice_equals(one, SLICE("*")) || slice_equals(one, etag)) {
            return ERR_NONE;
        }
    }
    return fail(reterr, ERR_STALE, "it was changed in the meantime: read it again");
}

/* The organization's switch empties what is written down here and not elsewhere. */
static void resource_hide_values(struct shape_pairs *env_vars)
{
    for (size_t i = 0; i < env_vars->count; i++) {
        if (!secret_is_reference(env_vars->pairs[i].value)) {
            env_vars->pairs[i].value = SLICE("");
        }
    }
}

static bool resource_has_inline_values(const struct shape_pairs *env_vars)
{
    for (size_t i = 0; i < env_vars->count; i++) {
        struct slice value = env_vars->pairs[i].value;
        if (value.len > 0 && !secret_is_reference(value)) {
            return true;
        }
    }
    return false;
}

enum err resource_answer_load_env_vars(struct api_call *call, struct store_tx *tx,
                                       const struct visibility *visibility,
                                       struct resource_answer *answer, struct error *reterr)
{
    struct resource *resource = &answer->resource;
    if (!call->caller.is_admin) {
        return ERR_NONE;
    }
    enum err err =
        resource_store_open_env_vars(tx, call->arena, resource, &resource->env_vars, reterr);
    if (visibility->hides_role_info) {
        resource_hide_values(&resource->env_vars);
    }
    answer->discloses = resource_has_inline_values(&resource->env_vars);
    return err;
}

enum err resource_answer_load(struct api_call *call, struct store_tx *tx,
                              const struct visibility *visibility, struct slice name,
                              struct resource_answer *answer, struct error *reterr)
{
    bool wants_features = answer->roles.wants_features;
    *answer =
        (struct resource_answer){.roles = {.arena = call->arena, .wants_features = wants_features}};
    enum err err =
        resource_store_find(tx, call->arena, visibility, name, &answer->resource, reterr);
    if (err == ERR_NONE) {
        err = resource_answer_load_env_vars(call, tx, visibility, answer, reterr);
    }
    if (err == ERR_NONE) {
        err = connection_store_of_resources(tx, visibility, &answer->resource, 1, &answer->roles,
                                            reterr);
    }
    if (err == ERR_NONE) {
        err = connection_store_load_links(tx, &answer->roles, reterr);
    }
    for (size_t i = 0; i < answer->roles.count && visibility->hides_role_info; i++) {
        answer->roles.rows[i]->connection.default_database = SLICE("");
    }
    return err;
}

enum err resource_read_resolved(struct resource_reading *reading, store_body_fn body,
                                struct error *reterr)
{
    struct store *store = reading->call->api->store;
    reading->answer.roles.wants_features = true;
    enum err err = store_read(store, body, reading, reterr);
    if (err != ERR_INTERNAL) {
        return err;
    }
    log_line(LOG_API, LOG_ERROR, "the effective features could not be resolved",
             log_error_field(reterr));
    reading->answer.roles.wants_features = false;
    return store_read(store, body, reading, reterr);
}

struct slice resource_names_in(struct api_call *call, const struct resource *resources,
                               size_t count)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_array(&text.json, "resources");
    for (size_t i = 0; i < count; i++) {
        json_text(&text.json, resources[i].name);
    }
    json_end_array(&text.json);
    json_end_object(&text.json);
    return api_text_end_in(call->arena, &text);
}

static enum err resource_resolve(struct store_tx *tx, void *context, struct error *reterr)
{
    return connection_store_load_features(tx, context, reterr);
}

void resource_answer_resolve(struct api_call *call, struct connection_list *roles)
{
    struct error error = {0};
    if (roles->count == 0 ||
        store_read(call->api->store, resource_resolve, roles, &error) == ERR_NONE) {
        return;
    }
    log_line(LOG_API, LOG_ERROR, "the effective features could not be resolved",
             log_error_field(&error));
    for (size_t i = 0; i < roles->count; i++) {
        roles->rows[i]->connection.effective_features = NULL;
        roles->rows[i]->connection.jit_access_duration_sec = (struct shape_int){0};
    }
}

void connection_answer_write(const struct api_call *call, const struct connection_row *row,
                             struct json_writer *json)
{
    json_begin_object(json);
    shape_write_members(&connection_shape, 0, SHAPE_KEPT | SHAPE_WRITE_ONLY | SHAPE_APART,
                        &row->connection, json);
    json_member_raw(json, "secret", call->caller.is_admin ? row->secret_view : SLICE("{}"));
    json_raw_members(json, row->document);
    json_end_object(json);
}

void resource_answer_write(struct api_call *call, const struct resource_answer *answer,
                           struct json_writer *json)
{
    json_begin_object(json);
    shape_write_members(&resource_shape, 0, SHAPE_WRITE_ONLY | SHAPE_APART, &answer->resource,
                        json);
    json_member_array(json, "roles");
    for (size_t i = 0; i < answer->roles.count; i++) {
        connection_answer_write(call, answer->roles.rows[i], json);
    }
    json_end_array(json);
    json_end_object(json);
    if (answer->discloses) {
        call->response->is_compressible = false;
    }
}
