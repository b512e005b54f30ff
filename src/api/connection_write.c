/* SPDX-License-Identifier: MIT */
/* Creating, replacing and changing connections. */
#include "api/connections.h"
#include "api/controls.h"
#include "api/handlers.h"
#include "api/secret_references.h"
#include "base/text.h"
#include "codec/base64.h"
#include "io/clock.h"
#include "model/secret_map.h"
#include "model/ssh_certificate.h"
#include "protocol/protocol.h"
#include "store/row_id.h"

struct connection_put {
    struct api_call *call;
    struct json body;
    bool is_partial;
    bool pins_host_key; /* so its servers must have some */
    int64_t now;
    struct slice resource_agent_id; /* before: of a resource that is made meanwhile */
    struct slice warning;
    struct connection_list answer;
};

static struct visibility connection_put_all(const struct connection_put *put)
{
    return (struct visibility){.organization_id = put->call->caller.organization_id,
                               .sees_all = true};
}

/* The resource by its name; made of what the connection says when there is none. */
static enum err connection_put_resource(struct connection_put *put, struct store_tx *tx,
                                        const struct connection *connection,
                                        struct resource *ret_resource, struct error *reterr)
{
    struct arena *arena = put->call->arena;
    const struct visibility all = connection_put_all(put);
    enum err err = resource_check_name(connection->resource_name, reterr);
    if (err == ERR_NONE) {
        err = resource_store_find(tx, arena, &all, connection->resource_name, ret_resource, reterr);
    }
    if (err != ERR_NOT_FOUND) {
        return err;
    }
    *ret_resource = (struct resource){
        .id = row_id_new(arena),
        .name = connection->resource_name,
        .type = connection->type,
        .subtype = connection->subtype.len == 0 ? connection->type : connection->subtype,
        .agent_id = connection->agent_id.len == 0 ? put->resource_agent_id : connection->agent_id,
        .created_at = put->now,
        .updated_at = put->now,
    };
    return resource_store_insert(tx, arena, all.organization_id, ret_resource, reterr);
}

static struct slice connection_put_payload(const struct connection_put *put,
                                           const struct connection *connection)
{
    struct api_text text;
    struct json_writer *json = &text.json;
    api_text_begin(&text);
    json_begin_object(json);
    json_member_text(json, "name", connection->name);
    json_member_text(json, "type", connection->type);
    json_member_text(json, "subtype", connection->subtype);
    json_member_text(json, "agent_id", connection->agent_id);
    if (connection->secret.is_given) {
        json_member_array(json, "secret");
        for (size_t i = 0; i < connection->secret.count; i++) {
            json_text(json, connection->secret.pairs[i].key);
        }
        json_end_array(json);
    }
    shape_write_members(&connection_shape, SHAPE_KEPT, 0, connection, json);
    json_end_object(json);
    return api_text_end_in(put->call->arena, &text);
}

static void connection_put_warn(struct connection_put *put, const struct connection *connection)
{
    put->warning = SLICE_NONE;
    if (connection->mcp_oauth_flow_id.len > 0) {
        bool is_mcp = slice_equals(connection->subtype, SLICE("mcpproxy"));
        put->warning = is_mcp ? SLICE(CONNECTION_MCP_WARNING) : SLICE(CONNECTION_MCP_NOT_FOR);
    }
}

/* What could not be held when a session is opened is not saved. */
static enum err connection_check_secret(const struct connection_put *put,
                                        const struct connection *connection, struct error *reterr)
{
    const struct protocol *protocol =
        protocols_find(put->call->api->protocols, connection->subtype);
    return protocol == NULL || protocol->target.check_secret == NULL
               ? ERR_NONE
               : protocol->target.check_secret(put->call->arena, &connection->secret, reterr);
}

static enum err connection_check_pin(const struct connection_put *put,
                                     const struct connection *connection, struct error *reterr)
{
    const struct protocol *protocol =
        protocols_find(put->call->api->protocols, connection->subtype);
    return !put->pins_host_key || (protocol != NULL && protocol->target.place.has_host_key)
               ? ERR_NONE
               : fail(reterr, ERR_CONFLICT,
                      "servers of the subtype '%.*s' have no host key to confirm",
                      SLICE_ARG(connection->subtype));
}

static enum err connection_put_finish(struct connection_put *put, struct store_tx *tx,
                                      const struct connection *connection,
                                      const struct resource *resource, bool is_new,
                                      struct error *reterr)
{
    connection_put_warn(put, connection);
    enum err err = connection_check_secret(put, connection, reterr);
    if (err == ERR_NONE) {
        err = secret_references_check_connection(
            put->call, tx, connection,
            connection->agent_id.len > 0 ? connection->agent_id : resource->agent_id, reterr);
    }
    if (err == ERR_NONE) {
        err = resource_store_touch(tx, resource->id, reterr);
    }
    if (err == ERR_NONE) {
        err = connection_answer_load(put->call, tx, connection->id, &put->answer, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    put->answer.rows[0]->connection.mcp_oauth_warning = put->warning;
    return api_audit(put->call, tx, is_new ? "create" : "update", is_new ? 201 : 200,
                     connection_put_payload(put, connection), reterr);
}

static enum err connection_post_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct connection_put *put = context;
    struct arena *arena = put->call->arena;
    const struct shape_pairs nothing = {0};
    struct connection connection = {0};
    struct resource resource;
    enum err err = shape_read(&connection_shape, SHAPE_WHOLE, &put->body, &connection, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    connection.id = row_id_new(arena);
    connection.agent_id = text_lower_in(arena, connection.agent_id);
    if (connection.resource_name.len == 0) {
        connection.resource_name = connection.name;
    }
    connection.secret = secret_merge_in(arena, &nothing, &connection.secret, false);
    connection_fill_defaults(arena, &connection);
    err = connection_put_resource(put, tx, &connection, &resource, reterr);
    const struct connection_write write = {
        .organization_id = put->call->caller.organization_id,
        .resource_id = resource.id,
        .resource_agent_id = resource.agent_id,
        .connection = &connection,
        .now = put->now,
    };
    if (err == ERR_NONE) {
        err = connection_store_insert(tx, arena, &write, reterr);
    }
    if (err == ERR_NONE) {
        err = controls_check(put->call, tx, reterr);
    }
    return err == ERR_NONE ? connection_put_finish(put, tx, &connection, &resource, true, reterr)
                           : err;
}

/* What is to be stored: the body alone (PUT), or the body over what is stored (PATCH). */
static enum err connection_put_read(struct connection_put *put, struct connection_row *row,
                                    struct connection *ret_connection, struct error *reterr)
{
    struct arena *arena = put->call->arena;
    struct slice name = row->connection.name;
    struct connection connection = {0};
    enum err err = ERR_NONE;
    put->resource_agent_id = row->resource_agent_id;
    if (put->is_partial) {
        err = connection_store_open_document(arena, row, reterr);
        connection = row->connection;
        connection.secret = (struct shape_pairs){0};
        connection.attributes = (struct shape_texts){0};
        connection.guardrail_rules = (struct shape_texts){0};
    } else {
        connection.attributes.is_given = true;
        connection.guardrail_rules.is_given = true;
    }
    if (err == ERR_NONE) {
        err = shape_read(&connection_shape, put->is_partial ? SHAPE_PARTIAL : SHAPE_WHOLE,
                         &put->body, &connection, reterr);
    }
    if (err == ERR_NONE && !slice_equals(connection.name, name)) {
        return fail(reterr, ERR_INPUT, "'name' cannot change: it is '%.*s'", SLICE_ARG(name));
    }
    connection.id = row->connection.id;
    connection.agent_id = text_lower_in(arena, connection.agent_id);
    if (connection.resource_name.len == 0) {
        connection.resource_name = row->connection.resource_name;
    }
    *ret_connection = connection;
    return err;
}

static enum err connection_put_secret(struct connection_put *put, struct store_tx *tx,
                                      struct connection *connection, struct connection_write *write,
                                      struct error *reterr)
{
    struct arena *arena = put->call->arena;
    struct shape_pairs stored = {0};
    if (put->is_partial && !connection->secret.is_given) {
        return ERR_NONE;
    }
    enum err err = connection_store_secret(tx, arena, connection->id, &stored, reterr);
    if (err == ERR_NONE) {
        connection->secret = secret_merge_in(arena, &stored, &connection->secret, put->is_partial);
    }
    if (!put->is_partial) {
        connection_fill_defaults(arena, connection);
    }
    if (secret_was_replaced(&stored, &connection->secret)) {
        write->secrets_updated_at = put->now;
    }
    return err;
}

static enum err connection_put_store(struct connection_put *put, struct store_tx *tx,
                                     struct connection_row *row, struct error *reterr)
{
    struct connection connection = {0};
    struct resource resource;
    struct connection_write write = {
        .organization_id = put->call->caller.organization_id,
        .secrets_updated_at = row->connection.secrets_updated_at,
        .connection = &connection,
        .now = put->now,
    };
    struct slice old_resource_id = row->resource_id;
    enum err err = connection_put_read(put, row, &connection, reterr);
    if (err == ERR_NONE) {
        err = connection_put_secret(put, tx, &connection, &write, reterr);
    }
    if (err == ERR_NONE) {
        err = connection_put_resource(put, tx, &connection, &resource, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    write.resource_id = resource.id;
    write.resource_agent_id = resource.agent_id;
    err = connection_store_update(tx, put->call->arena, &write, reterr);
    if (err == ERR_NONE && !slice_equals(old_resource_id, resource.id)) {
        err = resource_store_touch(tx, old_resource_id, reterr);
    }
    if (err == ERR_NONE) {
        err = controls_check(put->call, tx, reterr);
    }
    return err == ERR_NONE ? connection_put_finish(put, tx, &connection, &resource, false, reterr)
                           : err;
}

static enum err connection_put_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct connection_put *put = context;
    struct api_call *call = put->call;
    const struct visibility all = connection_put_all(put);
    struct connection_row row;
    enum err err =
        connection_store_find(tx, call->arena, &all, call->request->values[0], &row, reterr);
    if (err == ERR_NONE) {
        err = connection_check_unmanaged(&row.connection, reterr);
    }
    if (err == ERR_NONE) {
        err = connection_check_pin(put, &row.connection, reterr);
    }
    if (err == ERR_NONE) {
        err = resource_check_match(
            call, resource_etag_in(call->arena, row.connection.id, row.version), reterr);
    }
    return err == ERR_NONE ? connection_put_store(put, tx, &row, reterr) : err;
}

static enum err connection_write_put(struct connection_put *put, int status, store_body_fn body,
                                     struct error *reterr)
{
    struct api_call *call = put->call;
    struct connection checked = {0}; /* what is wrong is not worth a writer's turn */
    enum err err = shape_read(&connection_shape, put->is_partial ? SHAPE_PARTIAL : SHAPE_WHOLE,
                              &put->body, &checked, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, body, put, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    resource_answer_resolve(call, &put->answer);
    return connection_answer(call, status, &put->answer, reterr);
}

static enum err connection_write(struct api_call *call, bool is_partial, int status,
                                 store_body_fn body, struct error *reterr)
{
    struct connection_put put = {.call = call, .is_partial = is_partial, .now = clock_now()};
    enum err err = api_body(call, &put.body, reterr);
    return err == ERR_NONE ? connection_write_put(&put, status, body, reterr) : err;
}

enum err connections_post(struct api_call *call, struct error *reterr)
{
    return connection_write(call, false, 201, connection_post_body, reterr);
}

enum err connections_put(struct api_call *call, struct error *reterr)
{
    return connection_write(call, false, 200, connection_put_body, reterr);
}

/* The key becomes the only one that the connection has, whatever was there. */
static struct slice connection_pin_in(struct arena *arena, struct slice fingerprint)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_object(&text.json, "secret");
    json_member_no_value(&text.json, "envvar:KNOWN_HOSTS");
    json_member_text(&text.json, "envvar:HOST_KEY",
                     base64_encode_in(arena, BASE64_STANDARD, fingerprint));
    json_end_object(&text.json);
    json_end_object(&text.json);
    return api_text_end_in(arena, &text);
}

enum err connection_host_key_put(struct api_call *call, struct error *reterr)
{
    struct connection_put put = {
        .call = call, .is_partial = true, .pins_host_key = true, .now = clock_now()};
    struct ssh_pin_request wanted = {.fingerprint = SLICE("")};
    enum err err = api_read_body(call, SHAPE_WHOLE, &ssh_pin_request_shape, &wanted, reterr);
    if (err == ERR_NONE) {
        err = json_parse_in(call->arena, connection_pin_in(call->arena, wanted.fingerprint),
                            &put.body, reterr);
    }
    return err == ERR_NONE ? connection_write_put(&put, 200, connection_put_body, reterr) : err;
}

enum err connections_patch(struct api_call *call, struct error *reterr)
{
    return connection_write(call, true, 200, connection_put_body, reterr);
}
