/* SPDX-License-Identifier: MIT */
/* Creating and replacing resources, roles and all, each in one transaction: all or nothing. */
#include "api/handlers.h"
#include "api/resources.h"
#include "api/secret_references.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/clock.h"
#include "model/secret_map.h"
#include "store/row_id.h"

struct resource_put_query {
    struct shape_bool prune_roles;
};

static const struct shape_field resource_put_fields[] = {
    {.name = "prune_roles",
     .kind = SHAPE_BOOL,
     .offset = offsetof(struct resource_put_query, prune_roles),
     .about = "delete the roles that 'roles' does not list"},
};

const struct shape resource_put_query_shape = {.name = "ResourcePutQuery",
                                               .size = sizeof(struct resource_put_query),
                                               SHAPE_FIELDS(resource_put_fields)};

struct resource_put {
    struct api_call *call;
    struct slice name; /* in the path; empty for a creation */
    struct resource wanted;
    bool prunes;
    int64_t now;
    /* The outcome of the last run of the transaction. */
    struct resource stored;
    struct connection_list roles; /* before */
    struct resource_answer answer;
    struct shape_objects warnings;
};

static const struct connection *resource_put_role(const struct resource_put *put, size_t index)
{
    return &((const struct connection *)put->wanted.roles.items)[index];
}

/* A login that cannot be attached never fails the save. */
static void resource_put_warn(struct resource_put *put, struct slice role_name,
                              struct slice subtype)
{
    struct mcp_oauth_warning *warnings = put->warnings.items;
    bool is_mcp = slice_equals(subtype, SLICE("mcpproxy"));
    warnings[put->warnings.count++] = (struct mcp_oauth_warning){
        .name = role_name,
        .warning = is_mcp ? SLICE(CONNECTION_MCP_WARNING) : SLICE(CONNECTION_MCP_NOT_FOR),
    };
}

static struct connection_write resource_put_role_write(const struct resource_put *put,
                                                       const struct connection *role)
{
    return (struct connection_write){
        .organization_id = put->call->caller.organization_id,
        .resource_id = put->stored.id,
        .resource_agent_id = put->wanted.agent_id,
        .connection = role,
        .now = put->now,
    };
}

static enum err resource_put_new_role(struct resource_put *put, struct store_tx *tx, size_t index,
                                      struct error *reterr)
{
    struct arena *arena = put->call->arena;
    const struct shape_pairs nothing = {0};
    struct connection role = *resource_put_role(put, index);
    role.id = row_id_new(arena);
    role.secret = secret_merge_in(arena, &nothing, &role.secret, false);
    connection_fill_role_modes(&role);
    connection_fill_defaults(arena, &role);
    struct connection_write write = resource_put_role_write(put, &role);
    return connection_store_insert(tx, arena, &write, reterr);
}

/* What the role does not mention stays as it was. */
static enum err resource_put_old_role(struct resource_put *put, struct store_tx *tx, size_t index,
                                      struct connection_row *row, struct error *reterr)
{
    struct arena *arena = put->call->arena;
    const struct connection *given = resource_put_role(put, index);
    struct shape_pairs stored = {0};
    enum err err = connection_store_open_document(arena, row, reterr);
    if (err == ERR_NONE && given->secret.is_given) {
        err = connection_store_secret(tx, arena, row->connection.id, &stored, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct connection role = row->connection;
    role.type = given->type;
    role.subtype = given->subtype.at == NULL ? role.subtype : given->subtype;
    bool reads_as_before =
        row->inherits_agent && slice_equals(given->agent_id, put->stored.agent_id);
    if (given->agent_id.len > 0 && !reads_as_before) {
        role.agent_id = given->agent_id;
    }
    role.command = given->command.is_given ? given->command : role.command;
    role.attributes = given->attributes;
    role.guardrail_rules.is_given = false;
    struct connection_write write = resource_put_role_write(put, &role);
    write.secrets_updated_at = role.secrets_updated_at;
    if (given->secret.is_given) {
        role.secret = secret_merge_in(arena, &stored, &given->secret, false);
        write.secrets_updated_at =
            secret_was_replaced(&stored, &role.secret) ? put->now : role.secrets_updated_at;
    }
    return connection_store_update(tx, arena, &write, reterr);
}

/* "'agent_id': …" of a role becomes "'roles[1].agent_id': …". */
static enum err resource_put_name_role(const struct resource_put *put, size_t index,
                                       struct error *reterr)
{
    struct slice reason = arena_copy(put->call->arena, slice_of_text(reterr->message));
    if (!slice_starts_with(reason, SLICE("'"))) {
        return ERR_INPUT;
    }
    reason = slice_from(reason, 1);
    return fail(reterr, ERR_INPUT, "'roles[%zu].%.*s", index, SLICE_ARG(reason));
}

static enum err resource_put_role_at(struct resource_put *put, struct store_tx *tx, size_t index,
                                     struct error *reterr)
{
    const struct visibility all = {.organization_id = put->call->caller.organization_id,
                                   .sees_all = true};
    const struct connection *role = resource_put_role(put, index);
    struct connection_row row;
    enum err err = connection_store_find(tx, put->call->arena, &all, role->name, &row, reterr);
    bool is_there = err == ERR_NONE && slice_equals(row.connection.name, role->name);
    if (err != ERR_NONE && err != ERR_NOT_FOUND) {
        return err;
    }
    if (role->mcp_oauth_flow_id.len > 0) {
        bool is_kept = is_there && role->subtype.at == NULL;
        resource_put_warn(put, role->name, is_kept ? row.connection.subtype : role->subtype);
    }
    if (!is_there) {
        err = resource_put_new_role(put, tx, index, reterr);
    } else if (put->name.len == 0) {
        err =
            fail(reterr, ERR_CONFLICT, "a connection '%.*s' already exists", SLICE_ARG(role->name));
    } else if (!slice_equals(row.resource_id, put->stored.id)) {
        err = fail(reterr, ERR_INPUT, "'name': '%.*s' belongs to the resource '%.*s'",
                   SLICE_ARG(role->name), SLICE_ARG(row.connection.resource_name));
    } else if (row.connection.managed_by.len > 0) {
        err = fail(reterr, ERR_INPUT, "'name': '%.*s' is managed by %.*s", SLICE_ARG(role->name),
                   SLICE_ARG(row.connection.managed_by));
    } else {
        err = resource_put_old_role(put, tx, index, &row, reterr);
    }
    return err == ERR_INPUT ? resource_put_name_role(put, index, reterr) : err;
}

static enum err resource_put_roles(struct resource_put *put, struct store_tx *tx,
                                   struct error *reterr)
{
    enum err err = ERR_NONE;
    put->warnings = (struct shape_objects){
        .items = arena_alloc_array(put->call->arena, put->wanted.roles.count,
                                   sizeof(struct mcp_oauth_warning)),
        .is_given = true,
    };
    for (size_t i = 0; i < put->wanted.roles.count && err == ERR_NONE; i++) {
        err = resource_put_role_at(put, tx, i, reterr);
    }
    return err;
}

static bool resource_put_lists(const struct resource_put *put, struct slice name)
{
    for (size_t i = 0; i < put->wanted.roles.count; i++) {
        if (slice_equals(resource_put_role(put, i)->name, name)) {
            return true;
        }
    }
    return false;
}

/* Takes away what is not listed, if that is wanted; says how many roles there are then. */
static enum err resource_put_prune(struct resource_put *put, struct store_tx *tx,
                                   size_t *ret_left_count, struct error *reterr)
{
    enum err err = ERR_NONE;
    size_t left_count = put->roles.count;
    for (size_t i = 0; i < put->roles.count && put->prunes && err == ERR_NONE; i++) {
        const struct connection *role = &put->roles.rows[i]->connection;
        if (resource_put_lists(put, role->name)) {
            continue;
        }
        if (role->managed_by.len > 0) {
            return fail(reterr, ERR_INPUT, "the role '%.*s' is managed by %.*s",
                        SLICE_ARG(role->name), SLICE_ARG(role->managed_by));
        }
        err = connection_store_delete(tx, put->call->caller.organization_id, role->id, reterr);
        left_count--;
    }
    *ret_left_count = left_count;
    return err;
}

static enum err resource_put_replace(struct resource_put *put, struct store_tx *tx,
                                     struct error *reterr)
{
    struct arena *arena = put->call->arena;
    struct shape_pairs env_vars = {0};
    size_t left_count = 0;
    enum err err = resource_put_prune(put, tx, &left_count, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    bool keeps_kind = slice_equals(put->wanted.type, put->stored.type) &&
                      slice_equals(put->wanted.subtype, put->stored.subtype);
    if (!keeps_kind && left_count > 0) {
        return fail(reterr, ERR_INPUT,
                    "'type' and 'subtype' cannot change while %zu roles depend on them",
                    left_count);
    }
    err = resource_store_open_env_vars(tx, arena, &put->stored, &env_vars, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct resource resource = put->wanted;
    resource.id = put->stored.id;
    resource.env_vars = secret_merge_in(arena, &env_vars, &put->wanted.env_vars, false);
    resource.updated_at = put->now;
    err = resource_store_update(tx, arena, put->call->caller.organization_id, &resource, reterr);
    if (err == ERR_CONFLICT) {
        err = fail(reterr, ERR_INPUT, "'name': a resource '%.*s' already exists",
                   SLICE_ARG(resource.name));
    }
    return err;
}

static enum err resource_put_load(struct resource_put *put, struct store_tx *tx,
                                  const struct visibility *visibility, struct error *reterr)
{
    struct arena *arena = put->call->arena;
    put->roles = (struct connection_list){.arena = arena};
    enum err err = resource_store_find(tx, arena, visibility, put->name, &put->stored, reterr);
    if (err == ERR_NONE) {
        err = resource_check_match(
            put->call, resource_etag_in(arena, put->stored.id, put->stored.version), reterr);
    }
    return err == ERR_NONE
               ? connection_store_of_resources(tx, visibility, &put->stored, 1, &put->roles, reterr)
               : err;
}

/* Names, and the keys of what is secret. */
static struct slice resource_put_payload(const struct resource_put *put)
{
    struct api_text text;
    struct json_writer *json = &text.json;
    const struct resource *wanted = &put->wanted;
    api_text_begin(&text);
    json_begin_object(json);
    json_member_text(json, "name", wanted->name);
    json_member_text(json, "type", wanted->type);
    json_member_text(json, "subtype", wanted->subtype);
    json_member_text(json, "agent_id", wanted->agent_id);
    json_member_array(json, "env_vars");
    for (size_t i = 0; i < wanted->env_vars.count; i++) {
        json_text(json, wanted->env_vars.pairs[i].key);
    }
    json_end_array(json);
    if (wanted->roles.is_given) {
        json_member_array(json, "roles");
        for (size_t i = 0; i < wanted->roles.count; i++) {
            json_text(json, resource_put_role(put, i)->name);
        }
        json_end_array(json);
    }
    if (put->prunes) {
        json_member_bool(json, "prune_roles", true);
    }
    json_end_object(json);
    return api_text_end_in(put->call->arena, &text);
}

/* What was sent is no news to who sent it; a kept value is. */
static bool resource_put_discloses(const struct resource_put *put)
{
    const struct shape_pairs *given = &put->wanted.env_vars;
    for (size_t i = 0; i < given->count; i++) {
        const struct shape_pair *shown =
            secret_find(&put->answer.resource.env_vars, given->pairs[i].key);
        if (given->pairs[i].value.len == 0 && shown != NULL && shown->value.len > 0 &&
            !secret_is_reference(shown->value)) {
            return true;
        }
    }
    return false;
}

static enum err resource_put_finish(struct resource_put *put, struct store_tx *tx,
                                    const struct visibility *visibility, struct error *reterr)
{
    bool is_new = put->name.len == 0;
    enum err err =
        resource_answer_load(put->call, tx, visibility, put->wanted.name, &put->answer, reterr);
    if (err == ERR_NONE) {
        err = secret_references_check_resource(put->call, tx, &put->answer.resource,
                                               &put->answer.roles, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    err = api_audit(put->call, tx, is_new ? "create" : "update", is_new ? 201 : 200,
                    resource_put_payload(put), reterr);
    if (err == ERR_NONE && resource_put_discloses(put)) {
        struct slice names = resource_names_in(put->call, &put->answer.resource, 1);
        err = api_audit(put->call, tx, "disclose", 200, names, reterr);
    }
    return err;
}

static enum err resource_put_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct resource_put *put = context;
    const struct visibility visibility = caller_visibility(&put->call->caller);
    enum err err = resource_put_load(put, tx, &visibility, reterr);
    if (err == ERR_NONE) {
        err = resource_put_replace(put, tx, reterr);
    }
    if (err == ERR_NONE) {
        err = resource_put_roles(put, tx, reterr);
    }
    return err == ERR_NONE ? resource_put_finish(put, tx, &visibility, reterr) : err;
}

static enum err resource_post_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct resource_put *put = context;
    struct arena *arena = put->call->arena;
    const struct shape_pairs nothing = {0};
    const struct visibility visibility = caller_visibility(&put->call->caller);
    put->stored = put->wanted;
    put->stored.id = row_id_new(arena);
    put->stored.env_vars = secret_merge_in(arena, &nothing, &put->wanted.env_vars, false);
    put->stored.created_at = put->now;
    put->stored.updated_at = put->now;
    enum err err =
        resource_store_insert(tx, arena, put->call->caller.organization_id, &put->stored, reterr);
    if (err == ERR_NONE) {
        err = resource_put_roles(put, tx, reterr);
    }
    return err == ERR_NONE ? resource_put_finish(put, tx, &visibility, reterr) : err;
}

/* The body, its rules, and what it leaves open. */
static enum err resource_put_read(struct resource_put *put, struct error *reterr)
{
    struct resource *wanted = &put->wanted;
    struct arena *arena = put->call->arena;
    enum err err = api_read_body(put->call, SHAPE_WHOLE, &resource_request_shape, wanted, reterr);
    if (err == ERR_NONE) {
        err = resource_check(wanted, reterr);
    }
    wanted->subtype = wanted->subtype.len == 0 ? wanted->type : wanted->subtype;
    wanted->agent_id = wanted->agent_id.len == 0 ? put->call->caller.organization_id
                                                 : text_lower_in(arena, wanted->agent_id);
    struct connection *roles = wanted->roles.items;
    for (size_t i = 0; i < wanted->roles.count && err == ERR_NONE; i++) {
        roles[i].agent_id = text_lower_in(arena, roles[i].agent_id);
    }
    put->now = clock_now();
    return err;
}

static enum err resource_put_answer(struct resource_put *put, int status, struct error *reterr)
{
    struct api_call *call = put->call;
    struct resource_answer *answer = &put->answer;
    const struct mcp_oauth_warning *warnings = put->warnings.items;
    bool is_new = status == 201;
    if (is_new) {
        answer->resource.mcp_oauth_warnings = put->warnings;
    }
    for (size_t w = 0; w < put->warnings.count && !is_new; w++) {
        for (size_t i = 0; i < answer->roles.count; i++) {
            struct connection *role = &answer->roles.rows[i]->connection;
            bool is_meant = slice_equals(role->name, warnings[w].name);
            role->mcp_oauth_warning = is_meant ? warnings[w].warning : role->mcp_oauth_warning;
        }
    }
    resource_answer_resolve(call, &answer->roles);
    http_response_header(
        call->response, SLICE("ETag"),
        resource_etag_in(call->arena, answer->resource.id, answer->resource.version));
    resource_warn_of_roles(call, answer);
    struct json_writer json = api_answer(call, status);
    resource_answer_write(call, answer, &json);
    return api_answer_end(call, &json, reterr);
}

enum err resources_put(struct api_call *call, struct error *reterr)
{
    struct resource_put_query query = {0};
    struct resource_put put = {.call = call, .name = call->request->values[0]};
    enum err err = resource_check_name(put.name, reterr);
    if (err == ERR_NONE) {
        err = api_read_query(call, &resource_put_query_shape, &query, reterr);
    }
    if (err == ERR_NONE) {
        err = resource_put_read(&put, reterr);
    }
    put.prunes = query.prune_roles.value;
    if (err == ERR_NONE) {
        err = store_write(call->api->store, resource_put_body, &put, reterr);
    }
    return err == ERR_NONE ? resource_put_answer(&put, 200, reterr) : err;
}

enum err resources_post(struct api_call *call, struct error *reterr)
{
    struct resource_put put = {.call = call};
    enum err err = resource_put_read(&put, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, resource_post_body, &put, reterr);
    }
    return err == ERR_NONE ? resource_put_answer(&put, 201, reterr) : err;
}
