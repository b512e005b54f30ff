/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"
#include "base/timestamp.h"
#include "io/clock.h"
#include "store/api_key_store.h"
#include "store/credential_store.h"
#include "store/row_id.h"

#define MASKED_SHOWN 8

struct api_key_call {
    struct api_call *call;
    struct slice name; /* in the path */
    struct api_key key;
    struct api_key wanted; /* what was sent, for a body that may run again */
    struct slice hash;
};

struct api_keys_listing {
    struct api_call *call;
    struct api_key_list list;
};

static enum err api_keys_list_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct api_keys_listing *listing = context;
    return api_key_store_list(tx, listing->call->arena, listing->call->caller.organization_id,
                              &listing->list, reterr);
}

enum err api_keys_list(struct api_call *call, struct error *reterr)
{
    struct api_keys_listing listing = {.call = call};
    enum err err = store_read(call->api->store, api_keys_list_body, &listing, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_array(&json);
    for (size_t i = 0; i < listing.list.count; i++) {
        shape_write(&api_key_shape, &listing.list.keys[i], &json);
    }
    json_end_array(&json);
    return api_answer_end(call, &json, reterr);
}

static enum err api_key_answer(const struct api_key_call *self, int status, struct error *reterr)
{
    struct json_writer json = api_answer(self->call, status);
    shape_write(&api_key_shape, &self->key, &json);
    return api_answer_end(self->call, &json, reterr);
}

static enum err api_key_find(struct api_key_call *self, struct store_tx *tx, struct error *reterr)
{
    return api_key_store_find(tx, self->call->arena, self->call->caller.organization_id, self->name,
                              &self->key, reterr);
}

static enum err api_key_get_body(struct store_tx *tx, void *context, struct error *reterr)
{
    return api_key_find(context, tx, reterr);
}

enum err api_keys_get(struct api_call *call, struct error *reterr)
{
    struct api_key_call self = {.call = call, .name = call->request->values[0]};
    enum err err = store_read(call->api->store, api_key_get_body, &self, reterr);
    return err == ERR_NONE ? api_key_answer(&self, 200, reterr) : err;
}

static struct slice api_key_payload(const struct api_key_call *self)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "name", self->key.name);
    json_member_array(&text.json, "groups");
    for (size_t i = 0; i < self->key.groups.count; i++) {
        json_text(&text.json, self->key.groups.items[i]);
    }
    json_end_array(&text.json);
    json_end_object(&text.json);
    return api_text_end_in(self->call->arena, &text);
}

static enum err api_key_read_expiry(struct api_key *key, struct error *reterr)
{
    key->expires_at = 0;
    if (key->expires.len > 0) {
        enum err err = timestamp_parse(key->expires, &key->expires_at);
        if (err != ERR_NONE || key->expires_at <= clock_now()) {
            return fail(reterr, ERR_INPUT, "'expires_at' must lie in the future");
        }
    }
    return ERR_NONE;
}

static enum err api_key_post_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct api_key_call *self = context;
    enum err err = api_key_store_insert(tx, &self->key, self->hash, reterr);
    return err == ERR_NONE ? api_audit(self->call, tx, "create", 201, api_key_payload(self), reterr)
                           : err;
}

enum err api_keys_post(struct api_call *call, struct error *reterr)
{
    struct api_key_call self = {.call = call};
    struct api_key *key = &self.key;
    enum err err = api_read_body(call, SHAPE_WHOLE, &api_key_shape, key, reterr);
    if (err == ERR_NONE) {
        err = api_key_read_expiry(key, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    key->key = identity_make_api_key_in(call->arena, &self.hash);
    key->id = row_id_new(call->arena);
    key->organization_id = call->caller.organization_id;
    key->masked_key = arena_format(call->arena, "%.*s********", MASKED_SHOWN, key->key.at);
    key->status = SLICE("active");
    key->created_by = call->caller.email;
    key->maker_id = call->caller.id;
    key->created_at = clock_now();
    call->response->is_compressible = false;
    err = store_write(call->api->store, api_key_post_body, &self, reterr);
    return err == ERR_NONE ? api_key_answer(&self, 201, reterr) : err;
}

static enum err api_key_put_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct api_key_call *self = context;
    const struct api_key *wanted = &self->wanted;
    enum err err = api_key_find(self, tx, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    self->key.name = wanted->name;
    self->key.groups = wanted->groups.is_given ? wanted->groups : self->key.groups;
    if (wanted->expires.len > 0) {
        self->key.expires_at = wanted->expires_at;
        self->key.expires = wanted->expires;
    }
    err = api_key_store_update(tx, &self->key, reterr);
    struct slice payload = api_key_payload(self);
    return err == ERR_NONE ? api_audit(self->call, tx, "update", 200, payload, reterr) : err;
}

enum err api_keys_put(struct api_call *call, struct error *reterr)
{
    struct api_key_call self = {.call = call, .name = call->request->values[0]};
    enum err err = api_read_body(call, SHAPE_WHOLE, &api_key_shape, &self.wanted, reterr);
    if (err == ERR_NONE) {
        err = api_key_read_expiry(&self.wanted, reterr);
    }
    if (err == ERR_NONE) {
        err = store_write(call->api->store, api_key_put_body, &self, reterr);
    }
    return err == ERR_NONE ? api_key_answer(&self, 200, reterr) : err;
}

static enum err api_key_revoke_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct api_key_call *self = context;
    enum err err = api_key_find(self, tx, reterr);
    if (err == ERR_NONE && self->key.deactivated_at != 0) {
        err = fail(reterr, ERR_NOT_FOUND, "the API key '%.*s' is revoked already",
                   SLICE_ARG(self->name));
    }
    if (err != ERR_NONE) {
        return err;
    }
    self->key.deactivated_at = clock_now();
    self->key.deactivated_by = self->call->caller.email;
    err = api_key_store_update(tx, &self->key, reterr);
    if (err == ERR_NONE) {
        err = credential_store_revoke_of_member(tx, self->key.id, self->key.deactivated_at, reterr);
    }
    struct slice payload = api_key_payload(self);
    return err == ERR_NONE ? api_audit(self->call, tx, "revoke", 204, payload, reterr) : err;
}

enum err api_keys_delete(struct api_call *call, struct error *reterr)
{
    struct api_key_call self = {.call = call, .name = call->request->values[0]};
    call->response->status = 204;
    return store_write(call->api->store, api_key_revoke_body, &self, reterr);
}

static enum err api_key_reactivate_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct api_key_call *self = context;
    enum err err = api_key_find(self, tx, reterr);
    if (err == ERR_NONE && self->key.deactivated_at == 0) {
        err = fail(reterr, ERR_INPUT, "the API key '%.*s' is not revoked", SLICE_ARG(self->name));
    }
    if (err != ERR_NONE) {
        return err;
    }
    self->key.deactivated_at = 0;
    self->key.deactivated_by = SLICE("");
    err = api_key_store_update(tx, &self->key, reterr);
    struct slice payload = api_key_payload(self);
    if (err == ERR_NONE) {
        err = api_audit(self->call, tx, "update", 200, payload, reterr);
    }
    return err == ERR_NONE ? api_key_find(self, tx, reterr) : err;
}

enum err api_keys_reactivate(struct api_call *call, struct error *reterr)
{
    struct api_key_call self = {.call = call, .name = call->request->values[0]};
    enum err err = store_write(call->api->store, api_key_reactivate_body, &self, reterr);
    return err == ERR_NONE ? api_key_answer(&self, 200, reterr) : err;
}
