/* SPDX-License-Identifier: MIT */
/* Several changes as one: each by the handler of its own route, with its checks and its entry of
 * the audit log, in one transaction. Either all of them come to be, or none. */
#include "api/handlers.h"
#include "api/routes.h"
#include "base/limits.h"
#include "base/memory.h"

struct apply_operation {
    struct slice method;
    struct slice path;
    struct slice body;
};

struct apply_request {
    struct shape_objects operations;
};

#define AT(member) .offset = offsetof(struct apply_operation, member)

static const char *const apply_methods[] = {"POST", "PUT", "PATCH", "DELETE", NULL};

static const struct shape_field apply_operation_fields[] = {
    {.name = "method",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(method),
     .choices = apply_methods},
    {.name = "path",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(path),
     .min = 1,
     .max = 2000,
     .about = "as in a request of its own, percent-encoded, from '/api' on"},
    {.name = "body",
     .kind = SHAPE_TEXT,
     AT(body),
     .max = LIMIT_HTTP_BODY_SIZE,
     .about = "of a request of its own: an object of JSON, as text"},
};

static const struct shape apply_operation_shape = {.name = "ApplyOperation",
                                                   .size = sizeof(struct apply_operation),
                                                   SHAPE_FIELDS(apply_operation_fields)};

static const struct shape_field apply_fields[] = {
    {.name = "operations",
     .kind = SHAPE_OBJECTS,
     .flags = SHAPE_REQUIRED,
     .offset = offsetof(struct apply_request, operations),
     .max = LIMIT_CLIENT_MANIFESTS,
     .object = &apply_operation_shape,
     .about = "done in this order"},
};

const struct shape apply_shape = {
    .name = "Apply", .size = sizeof(struct apply_request), SHAPE_FIELDS(apply_fields)};

/* All of these change the store and nothing else, so that a transaction takes back all they did. */
static const api_handler_fn apply_handlers[] = {
    groups_post,
    groups_delete,
    resources_post,
    resources_put,
    resources_delete,
    connections_post,
    connections_put,
    connections_patch,
    connections_delete,
    connection_access_put,
    attributes_post,
    attributes_put,
    attributes_delete,
    guardrails_post,
    guardrails_put,
    guardrails_delete,
    datamasking_rules_post,
    datamasking_rules_put,
    datamasking_rules_delete,
    access_rules_post,
    access_rules_put,
    access_rules_delete,
};

struct apply_call {
    struct api_call *call;
    struct apply_request wanted;
};

static bool apply_may_run(const struct api_route *route)
{
    for (size_t i = 0; i < COUNT_OF(apply_handlers); i++) {
        if (route->handler == apply_handlers[i]) {
            return true;
        }
    }
    return false;
}

static enum err apply_run_handler(struct apply_call *self, struct api *part,
                                  const struct api_route *route, struct http_request *request,
                                  struct error *reterr)
{
    struct http_response response;
    http_response_init(&response);
    struct http_call http = {.arena = self->call->http->arena,
                             .request = request,
                             .response = &response,
                             .context = part,
                             .exchange = self->call->http->exchange};
    struct api_call inner = {
        .api = part,
        .route = route,
        .http = &http,
        .arena = self->call->arena,
        .request = request,
        .response = &response,
        .caller = self->call->caller,
        .token_id = self->call->token_id,
    };
    enum err err = route->handler(&inner, reterr);
    http_response_release(&response);
    return err;
}

static enum err apply_one(struct apply_call *self, struct api *part,
                          const struct apply_operation *operation, struct error *reterr)
{
    struct arena *arena = self->call->arena;
    const struct route *route = NULL;
    struct http_request request = {
        .method = operation->method,
        .path = operation->path,
        .host = self->call->request->host,
        .body = operation->body,
        .peer = self->call->request->peer,
        .is_encrypted = self->call->request->is_encrypted,
    };
    if (router_find(part->router, arena, &request, &route) != ROUTE_FOUND ||
        route->detail == NULL || !apply_may_run(route->detail)) {
        return fail(reterr, ERR_INPUT, "nothing of this method and path can be applied");
    }
    enum err err = apply_run_handler(self, part, route->detail, &request, reterr);
    bool is_gone = err == ERR_NOT_FOUND && slice_equals(operation->method, SLICE("DELETE"));
    return is_gone ? ERR_NONE : err; /* it went with what it belonged to */
}

static enum err apply_all(struct apply_call *self, struct api *part, struct error *reterr)
{
    const struct apply_operation *operations = self->wanted.operations.items;
    struct error error = {0};
    for (size_t i = 0; i < self->wanted.operations.count; i++) {
        enum err err = apply_one(self, part, &operations[i], &error);
        if (err != ERR_NONE) {
            return fail(reterr, err, "operation %zu: %s", i + 1, error.message);
        }
    }
    return ERR_NONE;
}

static enum err apply_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct apply_call *self = context;
    struct api_call *call = self->call;
    struct api part = *call->api;
    struct api_text text;
    part.store = store_part_new(tx);
    enum err err = apply_all(self, &part, reterr);
    store_part_free(part.store);
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_int(&text.json, "operations", (int64_t)self->wanted.operations.count);
    json_end_object(&text.json);
    struct slice payload = api_text_end_in(call->arena, &text);
    return err == ERR_NONE ? api_audit(call, tx, "apply", 200, payload, reterr) : err;
}

enum err apply_post(struct api_call *call, struct error *reterr)
{
    struct apply_call self = {.call = call};
    enum err err = api_read_body(call, SHAPE_WHOLE, &apply_shape, &self.wanted, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, apply_body, &self, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_int(&json, "operations", (int64_t)self.wanted.operations.count);
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}
