/* SPDX-License-Identifier: MIT */
/* Guard rails: their rules are checked, and compiled once, before they are stored. */
#include "api/guardrails.h"

#include "api/connection_names.h"
#include "api/controls.h"
#include "api/handlers.h"
#include "io/clock.h"
#include "policy/guard.h"
#include "store/row_id.h"

struct guardrails_listing {
    struct api_call *call;
    struct guardrail_list list;
};

static enum err guardrails_list_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct guardrails_listing *listing = context;
    return guardrail_store_list(tx, listing->call->arena, listing->call->caller.organization_id,
                                &listing->list, reterr);
}

enum err guardrails_list(struct api_call *call, struct error *reterr)
{
    struct guardrails_listing listing = {.call = call};
    enum err err = store_read(call->api->store, guardrails_list_body, &listing, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_array(&json);
    for (size_t i = 0; i < listing.list.count; i++) {
        shape_write(&guardrail_shape, &listing.list.guardrails[i], &json);
    }
    json_end_array(&json);
    return api_answer_end(call, &json, reterr);
}

struct guardrail_call {
    struct api_call *call;
    struct slice name;          /* in the path: id or name */
    struct guardrail wanted;    /* what was sent */
    struct guardrail guardrail; /* what is stored then */
};

static enum err guardrail_answer(const struct guardrail_call *self, int status,
                                 struct error *reterr)
{
    struct json_writer json = api_answer(self->call, status);
    shape_write(&guardrail_shape, &self->guardrail, &json);
    return api_answer_end(self->call, &json, reterr);
}

static enum err guardrail_get_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct guardrail_call *self = context;
    return guardrail_store_find(tx, self->call->arena, self->call->caller.organization_id,
                                self->name, &self->guardrail, reterr);
}

enum err guardrails_get(struct api_call *call, struct error *reterr)
{
    struct guardrail_call self = {.call = call, .name = call->request->values[0]};
    enum err err = store_read(call->api->store, guardrail_get_body, &self, reterr);
    return err == ERR_NONE ? guardrail_answer(&self, 200, reterr) : err;
}

enum err guardrail_validate(const struct guardrail *guardrail, struct error *reterr)
{
    enum err err = guardrail_check(guardrail, reterr);
    return err == ERR_NONE ? guard_rules_check(guardrail, reterr) : err;
}

enum err guardrail_read(const struct json *body, struct guardrail *ret_guardrail,
                        struct error *reterr)
{
    *ret_guardrail = (struct guardrail){0};
    enum err err = shape_read(&guardrail_shape, SHAPE_WHOLE, body, ret_guardrail, reterr);
    if (err == ERR_NONE) {
        err = guardrail_validate(ret_guardrail, reterr);
    }
    return err;
}

static enum err guardrail_read_body(struct guardrail_call *self, struct error *reterr)
{
    struct api_call *call = self->call;
    struct json body;
    enum err err = api_body(call, &body, reterr);
    return err == ERR_NONE ? guardrail_read(&body, &self->wanted, reterr) : err;
}

static void guardrail_write_payload(const struct guardrail *guardrail, const char *member,
                                    struct json_writer *json)
{
    json_member_object(json, member);
    shape_write_members(&guardrail_shape, 0, SHAPE_READ_ONLY | SHAPE_WRITE_ONLY, guardrail, json);
    json_end_object(json);
}

struct slice guardrail_payload_in(struct arena *arena, const struct guardrail *before,
                                  const struct guardrail *after)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    if (before != NULL) {
        guardrail_write_payload(before, "before", &text.json);
    }
    if (after != NULL) {
        guardrail_write_payload(after, "after", &text.json);
    }
    json_end_object(&text.json);
    return api_text_end_in(arena, &text);
}

static enum err guardrail_post_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct guardrail_call *self = context;
    struct api_call *call = self->call;
    struct guardrail wanted = self->wanted;
    wanted.id = row_id_new(call->arena);
    wanted.organization_id = call->caller.organization_id;
    wanted.created_at = clock_now();
    wanted.updated_at = wanted.created_at;
    enum err err = connection_ids_with_names(call, tx, &wanted.connection_ids,
                                             &wanted.connection_names, reterr);
    if (err == ERR_NONE) {
        err = guardrail_store_insert(tx, call->arena, &wanted, reterr);
    }
    if (err == ERR_NONE) {
        err = controls_check(call, tx, reterr);
    }
    if (err == ERR_NONE) {
        err = guardrail_store_find(tx, call->arena, wanted.organization_id, wanted.id,
                                   &self->guardrail, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct slice payload = guardrail_payload_in(call->arena, NULL, &self->guardrail);
    return api_audit(call, tx, "create", 201, payload, reterr);
}

enum err guardrails_post(struct api_call *call, struct error *reterr)
{
    struct guardrail_call self = {.call = call};
    enum err err = guardrail_read_body(&self, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, guardrail_post_body, &self, reterr);
    }
    return err == ERR_NONE ? guardrail_answer(&self, 201, reterr) : err;
}

static enum err guardrail_find_unmanaged(struct guardrail_call *self, struct store_tx *tx,
                                         struct guardrail *ret_stored, struct error *reterr)
{
    enum err err = guardrail_store_find(tx, self->call->arena, self->call->caller.organization_id,
                                        self->name, ret_stored, reterr);
    if (err == ERR_NONE && ret_stored->managed_by.len > 0) {
        return fail(reterr, ERR_INPUT,
                    "the guard rail '%.*s' is managed by %.*s: attach or detach the rulepack "
                    "'%.*s' instead",
                    SLICE_ARG(ret_stored->name), SLICE_ARG(ret_stored->managed_by),
                    SLICE_ARG(ret_stored->rulepack));
    }
    return err;
}

static enum err guardrail_put_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct guardrail_call *self = context;
    struct api_call *call = self->call;
    struct guardrail stored = {0};
    enum err err = guardrail_find_unmanaged(self, tx, &stored, reterr);
    struct guardrail wanted = self->wanted;
    wanted.id = stored.id;
    wanted.organization_id = stored.organization_id;
    wanted.updated_at = clock_now();
    if (err == ERR_NONE) {
        err = connection_ids_with_names(call, tx, &wanted.connection_ids, &wanted.connection_names,
                                        reterr);
    }
    if (err == ERR_NONE) {
        err = guardrail_store_replace(tx, call->arena, &wanted, reterr);
    }
    if (err == ERR_NONE) {
        err = controls_check(call, tx, reterr);
    }
    if (err == ERR_NONE) {
        err = guardrail_store_find(tx, call->arena, wanted.organization_id, wanted.id,
                                   &self->guardrail, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct slice payload = guardrail_payload_in(call->arena, &stored, &self->guardrail);
    return api_audit(call, tx, "update", 200, payload, reterr);
}

enum err guardrails_put(struct api_call *call, struct error *reterr)
{
    struct guardrail_call self = {.call = call, .name = call->request->values[0]};
    enum err err = guardrail_read_body(&self, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, guardrail_put_body, &self, reterr);
    }
    return err == ERR_NONE ? guardrail_answer(&self, 200, reterr) : err;
}

static enum err guardrail_delete_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct guardrail_call *self = context;
    enum err err = guardrail_find_unmanaged(self, tx, &self->guardrail, reterr);
    if (err == ERR_NONE) {
        err = guardrail_store_delete(tx, self->guardrail.id, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct slice payload = guardrail_payload_in(self->call->arena, &self->guardrail, NULL);
    return api_audit(self->call, tx, "delete", 204, payload, reterr);
}

enum err guardrails_delete(struct api_call *call, struct error *reterr)
{
    struct guardrail_call self = {.call = call, .name = call->request->values[0]};
    call->response->status = 204;
    return store_write(call->api->store, guardrail_delete_body, &self, reterr);
}
