/* SPDX-License-Identifier: MIT */
/* The masking rules that are tied to one connection. */
#include "api/connections.h"
#include "api/controls.h"
#include "api/handlers.h"
#include "base/limits.h"
#include "store/masking_rule_store.h"

struct masking_links_call {
    struct api_call *call;
    struct masking_link *wanted; /* what was sent */
    size_t wanted_count;
    struct masking_link_list links;
};

static enum err masking_links_answer(const struct masking_links_call *self, struct error *reterr)
{
    struct json_writer json = api_answer(self->call, 200);
    json_begin_array(&json);
    for (size_t i = 0; i < self->links.count; i++) {
        shape_write(&masking_link_shape, &self->links.links[i], &json);
    }
    json_end_array(&json);
    return api_answer_end(self->call, &json, reterr);
}

static enum err masking_links_get_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct masking_links_call *self = context;
    struct connection_list list = {0};
    enum err err =
        connection_answer_load(self->call, tx, self->call->request->values[0], &list, reterr);
    return err == ERR_NONE
               ? masking_link_store_list(tx, self->call->arena, list.rows[0]->connection.id,
                                         &self->links, reterr)
               : err;
}

enum err datamasking_links_get(struct api_call *call, struct error *reterr)
{
    struct masking_links_call self = {.call = call};
    enum err err = store_read(call->api->store, masking_links_get_body, &self, reterr);
    return err == ERR_NONE ? masking_links_answer(&self, reterr) : err;
}

static enum err masking_links_read(struct masking_links_call *self, struct error *reterr)
{
    struct arena *arena = self->call->arena;
    struct json body;
    size_t count = 0;
    enum err err = api_body(self->call, &body, reterr);
    if (err == ERR_NONE) {
        err = json_as_array(body, &count, reterr);
    }
    if (err == ERR_NONE && count > LIMIT_MASK_LINKS) {
        return fail(reterr, ERR_INPUT, "the document must have at most %d items", LIMIT_MASK_LINKS);
    }
    if (err == ERR_NONE) {
        self->wanted = arena_alloc_array(arena, count + 1, sizeof(*self->wanted));
        self->wanted_count = count;
    }
    for (size_t i = 0; i < count && err == ERR_NONE; i++) {
        struct json item = json_item(&body, i);
        err = shape_read(&masking_link_shape, SHAPE_WHOLE, &item, &self->wanted[i], reterr);
    }
    return err;
}

static enum err masking_links_audit(struct masking_links_call *self, struct store_tx *tx,
                                    struct slice connection_name, struct error *reterr)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "name", connection_name);
    json_member_array(&text.json, "datamasking_rules");
    for (size_t i = 0; i < self->links.count; i++) {
        const struct masking_link *link = &self->links.links[i];
        json_begin_object(&text.json);
        json_member_text(&text.json, "rule_id", link->rule_id);
        json_member_text(&text.json, "status", link->status);
        json_end_object(&text.json);
    }
    json_end_array(&text.json);
    json_end_object(&text.json);
    struct slice payload = api_text_end_in(self->call->arena, &text);
    return api_audit(self->call, tx, "update", 200, payload, reterr);
}

static enum err masking_links_put_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct masking_links_call *self = context;
    struct api_call *call = self->call;
    struct connection_list list = {0};
    enum err err = connection_answer_load(call, tx, call->request->values[0], &list, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    const struct connection *connection = &list.rows[0]->connection;
    const struct masking_link_write write = {
        .organization_id = call->caller.organization_id,
        .connection_id = connection->id,
        .links = self->wanted,
        .count = self->wanted_count,
    };
    err = masking_link_store_replace(tx, call->arena, &write, reterr);
    if (err == ERR_NONE) {
        err = controls_check(call, tx, reterr);
    }
    if (err == ERR_NONE) {
        err = masking_link_store_list(tx, call->arena, connection->id, &self->links, reterr);
    }
    return err == ERR_NONE ? masking_links_audit(self, tx, connection->name, reterr) : err;
}

enum err datamasking_links_put(struct api_call *call, struct error *reterr)
{
    struct masking_links_call self = {.call = call};
    enum err err = masking_links_read(&self, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, masking_links_put_body, &self, reterr);
    }
    return err == ERR_NONE ? masking_links_answer(&self, reterr) : err;
}
