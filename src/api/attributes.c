/* SPDX-License-Identifier: MIT */
#include "api/connection_names.h"
#include "api/controls.h"
#include "api/handlers.h"
#include "io/clock.h"
#include "store/attribute_store.h"
#include "store/row_id.h"

struct attribute_query {
    struct api_page page;
    struct slice search;
};

static const struct shape_field attribute_query_fields[] = {
    API_PAGE_FIELDS(struct attribute_query, page),
    {.name = "search",
     .kind = SHAPE_TEXT,
     .offset = offsetof(struct attribute_query, search),
     .max = 255,
     .about = "a part of the name, without case"},
};

const struct shape attribute_query_shape = {.name = "AttributeQuery",
                                            .size = sizeof(struct attribute_query),
                                            SHAPE_FIELDS(attribute_query_fields)};

struct attributes_listing {
    struct api_call *call;
    struct attribute_query query;
    struct attribute_list list;
};

static enum err attributes_list_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct attributes_listing *listing = context;
    const struct visibility visibility = caller_visibility(&listing->call->caller);
    const struct attribute_filter filter = {
        .search = listing->query.search,
        .limit = api_page_limit(&listing->query.page),
        .offset = api_page_offset(&listing->query.page),
    };
    return attribute_store_list(tx, listing->call->arena, &visibility, &filter, &listing->list,
                                reterr);
}

enum err attributes_list(struct api_call *call, struct error *reterr)
{
    struct attributes_listing listing = {.call = call};
    enum err err = api_read_query(call, &attribute_query_shape, &listing.query, reterr);
    if (err == ERR_NONE) {
        err = store_read(call->api->store, attributes_list_body, &listing, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_array(&json, "data");
    for (size_t i = 0; i < listing.list.count; i++) {
        shape_write(&attribute_shape, &listing.list.attributes[i], &json);
    }
    json_end_array(&json);
    api_write_pages(&json, &listing.query.page, listing.list.total);
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}

struct attribute_call {
    struct api_call *call;
    struct slice name;          /* in the path */
    struct attribute wanted;    /* what was sent */
    struct attribute attribute; /* what is stored then */
};

static enum err attribute_answer(const struct attribute_call *self, int status,
                                 struct error *reterr)
{
    struct json_writer json = api_answer(self->call, status);
    shape_write(&attribute_shape, &self->attribute, &json);
    return api_answer_end(self->call, &json, reterr);
}

static enum err attribute_get_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct attribute_call *self = context;
    return attribute_store_find(tx, self->call->arena, self->call->caller.organization_id,
                                self->name, &self->attribute, reterr);
}

enum err attributes_get(struct api_call *call, struct error *reterr)
{
    struct attribute_call self = {.call = call, .name = call->request->values[0]};
    enum err err = store_read(call->api->store, attribute_get_body, &self, reterr);
    return err == ERR_NONE ? attribute_answer(&self, 200, reterr) : err;
}

static struct slice attribute_payload(const struct attribute_call *self,
                                      const struct attribute *attribute)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    shape_write_members(&attribute_shape, 0, SHAPE_READ_ONLY, attribute, &text.json);
    json_end_object(&text.json);
    return api_text_end_in(self->call->arena, &text);
}

static enum err attribute_finish(struct attribute_call *self, struct store_tx *tx,
                                 const char *action, int status, struct error *reterr)
{
    struct slice payload = attribute_payload(self, &self->wanted);
    struct api_call *call = self->call;
    enum err err = attribute_store_find(tx, call->arena, call->caller.organization_id,
                                        self->wanted.name, &self->attribute, reterr);
    if (err == ERR_NONE) {
        err = controls_check(call, tx, reterr);
    }
    return err == ERR_NONE ? api_audit(call, tx, action, status, payload, reterr) : err;
}

static enum err attribute_post_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct attribute_call *self = context;
    struct attribute wanted = self->wanted;
    wanted.id = row_id_new(self->call->arena);
    wanted.created_at = clock_now();
    enum err err = connection_names_with_ids(self->call, tx, &wanted.connection_names,
                                             &wanted.connection_ids, reterr);
    if (err == ERR_NONE) {
        err = attribute_store_insert(tx, self->call->caller.organization_id, &wanted, reterr);
    }
    return err == ERR_NONE ? attribute_finish(self, tx, "create", 201, reterr) : err;
}

enum err attributes_post(struct api_call *call, struct error *reterr)
{
    struct attribute_call self = {.call = call};
    enum err err = api_read_body(call, SHAPE_WHOLE, &attribute_shape, &self.wanted, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, attribute_post_body, &self, reterr);
    }
    return err == ERR_NONE ? attribute_answer(&self, 201, reterr) : err;
}

static enum err attribute_find_unmanaged(struct attribute_call *self, struct store_tx *tx,
                                         struct attribute *ret_stored, struct error *reterr)
{
    enum err err = attribute_store_find(tx, self->call->arena, self->call->caller.organization_id,
                                        self->name, ret_stored, reterr);
    if (err == ERR_NONE && ret_stored->managed_by.len > 0) {
        return fail(reterr, ERR_INPUT, "the attribute '%.*s' is managed by %.*s",
                    SLICE_ARG(self->name), SLICE_ARG(ret_stored->managed_by));
    }
    return err;
}

static enum err attribute_put_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct attribute_call *self = context;
    struct attribute stored = {0};
    enum err err = attribute_find_unmanaged(self, tx, &stored, reterr);
    struct attribute wanted = self->wanted;
    wanted.id = stored.id;
    if (err == ERR_NONE) {
        err = connection_names_with_ids(self->call, tx, &wanted.connection_names,
                                        &wanted.connection_ids, reterr);
    }
    if (err == ERR_NONE) {
        err = attribute_store_update(tx, self->call->caller.organization_id, &wanted, reterr);
    }
    return err == ERR_NONE ? attribute_finish(self, tx, "update", 200, reterr) : err;
}

enum err attributes_put(struct api_call *call, struct error *reterr)
{
    struct attribute_call self = {.call = call, .name = call->request->values[0]};
    enum err err = api_read_body(call, SHAPE_WHOLE, &attribute_shape, &self.wanted, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, attribute_put_body, &self, reterr);
    }
    return err == ERR_NONE ? attribute_answer(&self, 200, reterr) : err;
}

static enum err attribute_delete_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct attribute_call *self = context;
    enum err err = attribute_find_unmanaged(self, tx, &self->attribute, reterr);
    if (err == ERR_NONE) {
        err = attribute_store_delete(tx, self->attribute.id, reterr);
    }
    struct slice payload = attribute_payload(self, &self->attribute);
    return err == ERR_NONE ? api_audit(self->call, tx, "delete", 204, payload, reterr) : err;
}

enum err attributes_delete(struct api_call *call, struct error *reterr)
{
    struct attribute_call self = {.call = call, .name = call->request->values[0]};
    call->response->status = 204;
    return store_write(call->api->store, attribute_delete_body, &self, reterr);
}
