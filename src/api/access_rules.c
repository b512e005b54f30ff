/* SPDX-License-Identifier: MIT */
/* Rules of access requests: who must ask, and who approves. */
#include "api/connection_names.h"
#include "api/handlers.h"
#include "io/clock.h"
#include "store/access_rule_store.h"
#include "store/row_id.h"

struct access_rule_query {
    struct api_page page;
};

static const struct shape_field access_rule_query_fields[] = {
    API_PAGE_FIELDS(struct access_rule_query, page),
};

const struct shape access_rule_query_shape = {.name = "AccessRequestRuleQuery",
                                              .size = sizeof(struct access_rule_query),
                                              SHAPE_FIELDS(access_rule_query_fields)};

struct access_rules_listing {
    struct api_call *call;
    struct access_rule_query query;
    struct access_rule_list list;
};

static enum err access_rules_list_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct access_rules_listing *listing = context;
    const struct access_rule_page page = {
        .organization_id = listing->call->caller.organization_id,
        .limit = api_page_limit(&listing->query.page),
        .offset = api_page_offset(&listing->query.page),
    };
    return access_rule_store_list(tx, listing->call->arena, &page, &listing->list, reterr);
}

enum err access_rules_list(struct api_call *call, struct error *reterr)
{
    struct access_rules_listing listing = {.call = call};
    enum err err = api_read_query(call, &access_rule_query_shape, &listing.query, reterr);
    if (err == ERR_NONE) {
        err = store_read(call->api->store, access_rules_list_body, &listing, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_array(&json, "data");
    for (size_t i = 0; i < listing.list.count; i++) {
        shape_write(&access_rule_shape, &listing.list.rules[i], &json);
    }
    json_end_array(&json);
    api_write_pages(&json, &listing.query.page, listing.list.total);
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}

struct access_rule_call {
    struct api_call *call;
    struct slice name;         /* in the path */
    struct access_rule wanted; /* what was sent */
    struct access_rule rule;   /* what is stored then */
};

static enum err access_rule_answer(const struct access_rule_call *self, int status,
                                   struct error *reterr)
{
    struct json_writer json = api_answer(self->call, status);
    shape_write(&access_rule_shape, &self->rule, &json);
    return api_answer_end(self->call, &json, reterr);
}

static enum err access_rule_find(struct access_rule_call *self, struct store_tx *tx,
                                 struct slice name, struct access_rule *ret_rule,
                                 struct error *reterr)
{
    return access_rule_store_find(tx, self->call->arena, self->call->caller.organization_id, name,
                                  ret_rule, reterr);
}

static enum err access_rule_get_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct access_rule_call *self = context;
    return access_rule_find(self, tx, self->name, &self->rule, reterr);
}

enum err access_rules_get(struct api_call *call, struct error *reterr)
{
    struct access_rule_call self = {.call = call, .name = call->request->values[0]};
    enum err err = store_read(call->api->store, access_rule_get_body, &self, reterr);
    return err == ERR_NONE ? access_rule_answer(&self, 200, reterr) : err;
}

static void access_rule_write_payload(const struct access_rule *rule, const char *member,
                                      struct json_writer *json)
{
    if (rule == NULL) {
        return;
    }
    json_member_object(json, member);
    shape_write_members(&access_rule_shape, 0, SHAPE_READ_ONLY | SHAPE_WRITE_ONLY, rule, json);
    json_end_object(json);
}

/* What it was and what it is; NULL: it was not, or is no more. */
static struct slice access_rule_payload_in(struct arena *arena, const struct access_rule *before,
                                           const struct access_rule *after)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    access_rule_write_payload(before, "before", &text.json);
    access_rule_write_payload(after, "after", &text.json);
    json_end_object(&text.json);
    return api_text_end_in(arena, &text);
}

static enum err access_rule_read_body(struct access_rule_call *self, struct error *reterr)
{
    enum err err =
        api_read_body(self->call, SHAPE_WHOLE, &access_rule_shape, &self->wanted, reterr);
    return err == ERR_NONE ? access_rule_check(&self->wanted, reterr) : err;
}

static enum err access_rule_post_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct access_rule_call *self = context;
    struct api_call *call = self->call;
    struct access_rule wanted = self->wanted;
    wanted.id = row_id_new(call->arena);
    wanted.organization_id = call->caller.organization_id;
    wanted.created_at = clock_now();
    enum err err = connection_names_with_ids(call, tx, &wanted.connection_names,
                                             &wanted.connection_ids, reterr);
    if (err == ERR_NONE) {
        err = access_rule_store_insert(tx, call->arena, &wanted, reterr);
    }
    if (err == ERR_NONE) {
        err = access_rule_find(self, tx, wanted.name, &self->rule, reterr);
    }
    return err == ERR_NONE
               ? api_audit(call, tx, "create", 201,
                           access_rule_payload_in(call->arena, NULL, &self->rule), reterr)
               : err;
}

enum err access_rules_post(struct api_call *call, struct error *reterr)
{
    struct access_rule_call self = {.call = call};
    enum err err = access_rule_read_body(&self, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, access_rule_post_body, &self, reterr);
    }
    return err == ERR_NONE ? access_rule_answer(&self, 201, reterr) : err;
}

static enum err access_rule_find_own(struct access_rule_call *self, struct store_tx *tx,
                                     struct access_rule *ret_stored, struct error *reterr)
{
    enum err err = access_rule_find(self, tx, self->name, ret_stored, reterr);
    return err == ERR_NONE && ret_stored->managed_by.len > 0
               ? fail(reterr, ERR_INPUT, "the rule '%.*s' is managed by %.*s",
                      SLICE_ARG(ret_stored->name), SLICE_ARG(ret_stored->managed_by))
               : err;
}

static enum err access_rule_put_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct access_rule_call *self = context;
    struct api_call *call = self->call;
    struct access_rule stored = {0};
    enum err err = access_rule_find_own(self, tx, &stored, reterr);
    struct access_rule wanted = self->wanted;
    wanted.id = stored.id;
    wanted.organization_id = stored.organization_id;
    wanted.updated_at = clock_now();
    if (err == ERR_NONE) {
        err = connection_names_with_ids(call, tx, &wanted.connection_names, &wanted.connection_ids,
                                        reterr);
    }
    if (err == ERR_NONE) {
        err = access_rule_store_replace(tx, call->arena, &wanted, reterr);
    }
    if (err == ERR_NONE) {
        err = access_rule_find(self, tx, wanted.name, &self->rule, reterr);
    }
    return err == ERR_NONE
               ? api_audit(call, tx, "update", 200,
                           access_rule_payload_in(call->arena, &stored, &self->rule), reterr)
               : err;
}

enum err access_rules_put(struct api_call *call, struct error *reterr)
{
    struct access_rule_call self = {.call = call, .name = call->request->values[0]};
    enum err err = access_rule_read_body(&self, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, access_rule_put_body, &self, reterr);
    }
    return err == ERR_NONE ? access_rule_answer(&self, 200, reterr) : err;
}

static enum err access_rule_delete_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct access_rule_call *self = context;
    enum err err = access_rule_find_own(self, tx, &self->rule, reterr);
    if (err == ERR_NONE) {
        err = access_rule_store_delete(tx, self->rule.id, reterr);
    }
    return err == ERR_NONE
               ? api_audit(self->call, tx, "delete", 204,
                           access_rule_payload_in(self->call->arena, &self->rule, NULL), reterr)
               : err;
}

enum err access_rules_delete(struct api_call *call, struct error *reterr)
{
    struct access_rule_call self = {.call = call, .name = call->request->values[0]};
    call->response->status = 204;
    return store_write(call->api->store, access_rule_delete_body, &self, reterr);
}
