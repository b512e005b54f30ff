/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"
#include "io/clock.h"
#include "store/agent_store.h"
#include "store/row_id.h"
#include "tunnel/registry.h"

#include <inttypes.h>

struct agent_query {
    struct slice status;
};

static const struct shape_field agent_query_fields[] = {
    {.name = "status",
     .kind = SHAPE_TEXT,
     .offset = offsetof(struct agent_query, status),
     .choices = agent_statuses,
     .about = "whether the agent is connected"},
};

const struct shape agent_query_shape = {
    .name = "AgentQuery", .size = sizeof(struct agent_query), SHAPE_FIELDS(agent_query_fields)};

struct agent_delete_query {
    struct shape_bool force;
};

static const struct shape_field agent_delete_fields[] = {
    {.name = "force",
     .kind = SHAPE_BOOL,
     .offset = offsetof(struct agent_delete_query, force),
     .about = "also when it is used: connections then follow their resource, resources go to the "
              "local agent"},
};

const struct shape agent_delete_shape = {.name = "AgentDelete",
                                         .size = sizeof(struct agent_delete_query),
                                         SHAPE_FIELDS(agent_delete_fields)};

struct agent_call {
    struct api_call *call;
    struct slice name; /* in the path: name or id */
    struct agent agent;
    struct slice token_hash;
    bool forces;
    struct agent_uses uses;
};

struct agents_listing {
    struct api_call *call;
    struct agent_list list;
};

static enum err agents_list_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct agents_listing *listing = context;
    return agent_store_list(tx, listing->call->arena, listing->call->caller.organization_id,
                            &listing->list, reterr);
}

enum err agents_list(struct api_call *call, struct error *reterr)
{
    struct agent_query query = {0};
    struct agents_listing listing = {.call = call};
    enum err err = api_read_query(call, &agent_query_shape, &query, reterr);
    if (err == ERR_NONE) {
        err = store_read(call->api->store, agents_list_body, &listing, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_array(&json);
    for (size_t i = 0; i < listing.list.count; i++) {
        const struct agent *agent = &listing.list.agents[i];
        if (query.status.len == 0 || slice_equals(query.status, agent->status)) {
            agent_write(agent, &json);
        }
    }
    json_end_array(&json);
    return api_answer_end(call, &json, reterr);
}

static enum err agent_find(struct agent_call *self, struct store_tx *tx, struct error *reterr)
{
    return agent_store_find(tx, self->call->arena, self->call->caller.organization_id, self->name,
                            &self->agent, reterr);
}

static enum err agent_get_body(struct store_tx *tx, void *context, struct error *reterr)
{
    return agent_find(context, tx, reterr);
}

enum err agents_get(struct api_call *call, struct error *reterr)
{
    struct agent_call self = {.call = call, .name = call->request->values[0]};
    enum err err = store_read(call->api->store, agent_get_body, &self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    agent_write(&self.agent, &json);
    return api_answer_end(call, &json, reterr);
}

/* Names, and what a forced deletion moved; never the token. */
static struct slice agent_payload(const struct agent_call *self)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "name", self->agent.name);
    json_member_text(&text.json, "mode", self->agent.mode);
    if (self->forces) {
        json_member_bool(&text.json, "force", true);
        json_member_int(&text.json, "resources", self->uses.resource_count);
        json_member_int(&text.json, "connections", self->uses.connection_count);
    }
    json_end_object(&text.json);
    return api_text_end_in(self->call->arena, &text);
}

/* Where the agent will find the gateway. One that listens everywhere and was not told its URL is
 * where the admin, who gets to see it, has reached it. */
static struct slice agent_gateway_url(const struct api_call *call)
{
    struct slice host = call->request->host;
    if (call->api->knows_public_url || host.len == 0) {
        return call->api->public_url;
    }
    return arena_format(call->arena, "%s://%.*s", call->request->is_encrypted ? "https" : "http",
                        SLICE_ARG(host));
}

static enum err agent_post_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct agent_call *self = context;
    enum err err = agent_store_insert(tx, &self->agent, self->token_hash, reterr);
    return err == ERR_NONE ? api_audit(self->call, tx, "create", 201, agent_payload(self), reterr)
                           : err;
}

enum err agents_post(struct api_call *call, struct error *reterr)
{
    struct agent_call self = {.call = call};
    struct agent *agent = &self.agent;
    enum err err = api_read_body(call, SHAPE_WHOLE, &agent_shape, agent, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    agent->id = row_id_new(call->arena);
    agent->organization_id = call->caller.organization_id;
    agent->mode = agent->mode.len == 0 ? SLICE(AGENT_STANDARD) : agent->mode;
    agent->created_by = call->caller.email;
    agent->created_at = clock_now();
    struct slice secret = identity_make_agent_secret_in(call->arena, &self.token_hash);
    err = agent_make_dsn_in(call->arena, agent_gateway_url(call), agent, secret, &agent->token,
                            reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, agent_post_body, &self, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    call->response->is_compressible = false;
    struct json_writer json = api_answer(call, 201);
    shape_write(&agent_token_shape, agent, &json);
    return api_answer_end(call, &json, reterr);
}

static enum err agent_check_deletable(const struct agent_call *self, struct error *reterr)
{
    const struct agent_uses *uses = &self->uses;
    if (self->agent.is_local) {
        return fail(reterr, ERR_INPUT, "the agent '%.*s' is the gateway's own: it stays",
                    SLICE_ARG(self->agent.name));
    }
    if (!self->forces && uses->resource_count + uses->connection_count > 0) {
        return fail(reterr, ERR_INPUT,
                    "the agent '%.*s' is still used (resources: %" PRId64 ", connections: %" PRId64
                    "): 'force=true' deletes it all the same",
                    SLICE_ARG(self->agent.name), uses->resource_count, uses->connection_count);
    }
    return ERR_NONE;
}

static enum err agent_delete_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct agent_call *self = context;
    enum err err = agent_find(self, tx, reterr);
    if (err == ERR_NONE) {
        err = agent_store_count_uses(tx, self->agent.id, &self->uses, reterr);
    }
    if (err == ERR_NONE) {
        err = agent_check_deletable(self, reterr);
    }
    if (err == ERR_NONE) {
        err = agent_store_release_uses(tx, self->agent.id, clock_now(), reterr);
    }
    if (err == ERR_NONE) {
        err = agent_store_delete(tx, self->agent.id, reterr);
    }
    return err == ERR_NONE ? api_audit(self->call, tx, "delete", 204, agent_payload(self), reterr)
                           : err;
}

enum err agents_delete(struct api_call *call, struct error *reterr)
{
    struct agent_delete_query query = {0};
    struct agent_call self = {.call = call, .name = call->request->values[0]};
    enum err err = api_read_query(call, &agent_delete_shape, &query, reterr);
    self.forces = query.force.value;
    if (err == ERR_NONE) {
        err = store_write(call->api->store, agent_delete_body, &self, reterr);
    }
    if (err == ERR_NONE) {
        registry_cut(call->api->registry, self.agent.id);
    }
    call->response->status = 204;
    return err;
}
