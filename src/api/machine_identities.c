/* SPDX-License-Identifier: MIT */
#include "api/connection_names.h"
#include "api/handlers.h"
#include "api/machine_credentials.h"
#include "io/clock.h"
#include "store/credential_store.h"
#include "store/machine_identity_store.h"
#include "store/row_id.h"

struct machine_identity_call {
    struct api_call *call;
    struct slice name;                /* in the path: name or id */
    struct machine_identity wanted;   /* what was sent */
    struct machine_plans plans;       /* the credentials that it is to get */
    struct machine_identity identity; /* what is stored then */
    struct shape_objects credentials; /* with their secrets */
};

struct machine_identities_listing {
    struct api_call *call;
    struct machine_identity_list list;
};

static enum err machine_identities_list_body(struct store_tx *tx, void *context,
                                             struct error *reterr)
{
    struct machine_identities_listing *listing = context;
    return machine_identity_store_list(
        tx, listing->call->arena, listing->call->caller.organization_id, &listing->list, reterr);
}

enum err machine_identities_list(struct api_call *call, struct error *reterr)
{
    struct machine_identities_listing listing = {.call = call};
    enum err err = store_read(call->api->store, machine_identities_list_body, &listing, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_array(&json);
    for (size_t i = 0; i < listing.list.count; i++) {
        shape_write(&machine_identity_shape, &listing.list.identities[i], &json);
    }
    json_end_array(&json);
    return api_answer_end(call, &json, reterr);
}

static enum err machine_identity_answer(const struct machine_identity_call *self, int status,
                                        struct error *reterr)
{
    self->call->response->is_compressible = false; /* there may be secrets in it */
    struct json_writer json = api_answer(self->call, status);
    shape_write(&machine_identity_shape, &self->identity, &json);
    return api_answer_end(self->call, &json, reterr);
}

static enum err machine_identity_find(struct machine_identity_call *self, struct store_tx *tx,
                                      struct slice name_or_id, struct error *reterr)
{
    return machine_identity_store_find(tx, self->call->arena, self->call->caller.organization_id,
                                       name_or_id, &self->identity, reterr);
}

static enum err machine_identity_get_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct machine_identity_call *self = context;
    return machine_identity_find(self, tx, self->name, reterr);
}

enum err machine_identities_get(struct api_call *call, struct error *reterr)
{
    struct machine_identity_call self = {.call = call, .name = call->request->values[0]};
    enum err err = store_read(call->api->store, machine_identity_get_body, &self, reterr);
    return err == ERR_NONE ? machine_identity_answer(&self, 200, reterr) : err;
}

static enum err machine_identity_audit(struct machine_identity_call *self, struct store_tx *tx,
                                       const char *action, int status, struct error *reterr)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    shape_write_members(&machine_identity_shape, 0, SHAPE_READ_ONLY | SHAPE_WRITE_ONLY,
                        &self->identity, &text.json);
    json_end_object(&text.json);
    struct slice payload = api_text_end_in(self->call->arena, &text);
    return api_audit(self->call, tx, action, status, payload, reterr);
}

static enum err machine_identity_post_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct machine_identity_call *self = context;
    struct machine_identity identity = self->wanted;
    identity.id = row_id_new(self->call->arena);
    identity.organization_id = self->call->caller.organization_id;
    identity.created_at = clock_now();
    identity.updated_at = identity.created_at;
    enum err err = machine_identity_store_insert(tx, &identity, reterr);
    if (err == ERR_NONE) {
        err = machine_identity_find(self, tx, identity.id, reterr);
    }
    if (err == ERR_NONE) {
        err = machine_credentials_store(self->call, tx, &self->identity, &self->plans,
                                        &self->credentials, reterr);
    }
    return err == ERR_NONE ? machine_identity_audit(self, tx, "create", 201, reterr) : err;
}

static enum err machine_identity_plan_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct machine_identity_call *self = context;
    struct machine_identity wanted = self->wanted;
    enum err err = connection_names_with_ids(self->call, tx, &wanted.connection_names,
                                             &wanted.connection_ids, reterr);
    self->wanted.connection_names = wanted.connection_names;
    wanted.id = SLICE("");
    wanted.organization_id = self->call->caller.organization_id;
    if (err == ERR_NONE && self->name.len > 0) {
        err = machine_identity_find(self, tx, self->name, reterr);
        wanted.id = self->identity.id;
    }
    return err == ERR_NONE ? machine_credentials_plan(self->call, tx, &wanted, &self->plans, reterr)
                           : err;
}

/* Reads the body, and makes the credentials that it asks for. */
static enum err machine_identity_read(struct machine_identity_call *self, struct error *reterr)
{
    struct api_call *call = self->call;
    enum err err = api_read_body(call, SHAPE_WHOLE, &machine_identity_shape, &self->wanted, reterr);
    if (err == ERR_NONE) {
        err = store_read(call->api->store, machine_identity_plan_body, self, reterr);
    }
    if (err == ERR_NONE) {
        machine_credentials_make(call, &self->plans);
    }
    return err;
}

enum err machine_identities_post(struct api_call *call, struct error *reterr)
{
    struct machine_identity_call self = {.call = call};
    enum err err = machine_identity_read(&self, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, machine_identity_post_body, &self, reterr);
    }
    self.identity.credentials = self.credentials;
    return err == ERR_NONE ? machine_identity_answer(&self, 201, reterr) : err;
}

static enum err machine_identity_put_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct machine_identity_call *self = context;
    enum err err = machine_identity_find(self, tx, self->name, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct machine_identity identity = self->wanted;
    identity.id = self->identity.id;
    identity.organization_id = self->identity.organization_id;
    identity.updated_at = clock_now();
    err = machine_identity_store_update(tx, &identity, reterr);
    if (err == ERR_NONE) {
        err = machine_identity_find(self, tx, identity.id, reterr);
    }
    if (err == ERR_NONE) {
        err = machine_credentials_store(self->call, tx, &self->identity, &self->plans,
                                        &self->credentials, reterr);
    }
    return err == ERR_NONE ? machine_identity_audit(self, tx, "update", 200, reterr) : err;
}

enum err machine_identities_put(struct api_call *call, struct error *reterr)
{
    struct machine_identity_call self = {.call = call, .name = call->request->values[0]};
    enum err err = machine_identity_read(&self, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, machine_identity_put_body, &self, reterr);
    }
    self.identity.new_credentials = self.credentials;
    return err == ERR_NONE ? machine_identity_answer(&self, 200, reterr) : err;
}

static enum err machine_identity_delete_body(struct store_tx *tx, void *context,
                                             struct error *reterr)
{
    struct machine_identity_call *self = context;
    enum err err = machine_identity_find(self, tx, self->name, reterr);
    if (err == ERR_NONE) {
        err = machine_identity_store_delete(tx, self->identity.id, reterr);
    }
    if (err == ERR_NONE) {
        err = credential_store_revoke_of_member(tx, self->identity.id, clock_now(), reterr);
    }
    return err == ERR_NONE ? machine_identity_audit(self, tx, "delete", 204, reterr) : err;
}

enum err machine_identities_delete(struct api_call *call, struct error *reterr)
{
    struct machine_identity_call self = {.call = call, .name = call->request->values[0]};
    call->response->status = 204;
    return store_write(call->api->store, machine_identity_delete_body, &self, reterr);
}
