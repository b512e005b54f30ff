/* SPDX-License-Identifier: MIT */
#include "api/machine_credentials.h"

#include "api/credentials.h"
#include "api/handlers.h"
#include "base/memory.h"
#include "io/clock.h"
#include "store/credential_store.h"
#include "store/machine_identity_store.h"
#include "store/review_need.h"
#include "store/row_id.h"

/* Planning ------------------------------------------------------------------------------------- */

/* It is in no group, and cannot ask anybody. */
static enum err machine_plan_check_review(struct api_call *call, struct store_tx *tx,
                                          const struct connection *connection, struct error *reterr)
{
    const struct caller machine = {.is_key = true, .is_machine = true};
    struct review_need need = {0};
    const struct review_use use = {.connection = connection, .caller = &machine};
    enum err err = review_need_load(tx, call->arena, &use, &need, reterr);
    return err == ERR_NONE && need.count > 0
               ? fail(reterr, ERR_INPUT,
                      "access to the connection '%.*s' must be reviewed, which a machine identity "
                      "cannot wait for",
                      SLICE_ARG(connection->name))
               : err;
}

static enum err machine_plan_load(struct api_call *call, struct store_tx *tx, struct slice id,
                                  struct machine_plan *plan, struct error *reterr)
{
    enum err err = credential_connection(call, tx, id, &plan->connection, reterr);
    if (err == ERR_NONE) {
        err = credential_check_connection(&plan->connection, false, reterr);
    }
    if (err == ERR_NONE) {
        err = machine_plan_check_review(call, tx, &plan->connection, reterr);
    }
    return err == ERR_NONE ? credential_check_listener(call, &plan->connection, reterr) : err;
}

enum err machine_credentials_plan(struct api_call *call, struct store_tx *tx,
                                  const struct machine_identity *wanted,
                                  struct machine_plans *ret_plans, struct error *reterr)
{
    struct machine_lacks lacks;
    *ret_plans = (struct machine_plans){0};
    enum err err =
        machine_identity_store_lacking(tx, call->arena, wanted, clock_now(), &lacks, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    ret_plans->items = arena_alloc_array(call->arena, lacks.count + 1, sizeof(struct machine_plan));
    for (size_t i = 0; i < lacks.count; i++) {
        struct machine_plan plan = {0};
        err = machine_plan_load(call, tx, lacks.items[i].connection_id, &plan, reterr);
        if (err == ERR_NONE) {
            ret_plans->items[ret_plans->count++] = plan;
        } else if (err != ERR_INPUT) {
            return err;
        } else if (lacks.items[i].is_named) {
            error_prefix(reterr, "'connection_names': ");
            return err;
        }
    }
    return ERR_NONE;
}

void machine_credentials_make(struct api_call *call, struct machine_plans *plans)
{
    const struct secret *key = identity_scram_key(call->api->identity);
    for (size_t i = 0; i < plans->count; i++) {
        const struct connection *connection = &plans->items[i].connection;
        native_credential_make_in(call->arena, key, connection->name,
                                  credential_proof_of(call, connection), &plans->items[i].made);
    }
}

/* Storing -------------------------------------------------------------------------------------- */

static void machine_credential_fill(struct api_call *call, const struct connection *connection,
                                    struct slice secret, struct machine_credential *credential)
{
    const struct credential_access *access = credential_access_in(call, connection, secret);
    credential->connection_name = connection->name;
    credential->connection_type = connection->type;
    credential->connection_subtype = connection->subtype;
    credential->secret_key = secret;
    if (access != NULL) {
        credential->hostname = access->hostname;
        credential->port = access->port;
        credential->username = access->username;
        credential->password = access->password;
        credential->database_name = access->database_name;
        credential->connection_string = access->connection_string;
    }
}

static enum err machine_credential_insert(struct api_call *call, struct store_tx *tx,
                                          const struct machine_identity *identity,
                                          const struct machine_plan *plan,
                                          struct machine_credential *ret_shown,
                                          struct error *reterr)
{
    const struct shape_int nothing_asked = {0};
    const struct credential_proof proof = {.hash = plan->made.hash,
                                           .verifier = plan->made.verifier};
    int64_t now = clock_now();
    struct credential credential = {
        .id = row_id_new(call->arena),
        .organization_id = identity->organization_id,
        .connection_id = plan->connection.id,
        .member_id = identity->id,
        .member_email = SLICE(""),
        .member_name = identity->name,
        .created_at = now,
        .expires_at = credential_expiry(&plan->connection, &nothing_asked, now),
    };
    *ret_shown = (struct machine_credential){
        .id = credential.id, .created_at = now, .expires_at = credential.expires_at};
    machine_credential_fill(call, &plan->connection, plan->made.secret, ret_shown);
    enum err err = credential_store_revoke_older(tx, &credential, now, reterr);
    return err == ERR_NONE ? credential_store_insert(tx, call->arena, &credential, &proof, reterr)
                           : err;
}

static bool machine_lacks_still(const struct machine_lacks *lacks,
                                const struct connection *connection)
{
    for (size_t i = 0; i < lacks->count; i++) {
        if (slice_equals(lacks->items[i].connection_id, connection->id)) {
            return slice_equals(lacks->items[i].connection_name, connection->name);
        }
    }
    return false;
}

enum err machine_credentials_store(struct api_call *call, struct store_tx *tx,
                                   const struct machine_identity *identity,
                                   const struct machine_plans *plans,
                                   struct shape_objects *ret_credentials, struct error *reterr)
{
    struct machine_lacks lacks = {0};
    struct machine_credential *shown =
        arena_alloc_array(call->arena, plans->count + 1, sizeof(*shown));
    *ret_credentials = (struct shape_objects){.items = shown, .is_given = true};
    enum err err = credential_store_revoke_ungranted(tx, identity->id, clock_now(), reterr);
    if (err == ERR_NONE && plans->count > 0) {
        err =
            machine_identity_store_lacking(tx, call->arena, identity, clock_now(), &lacks, reterr);
    }
    for (size_t i = 0; i < plans->count && err == ERR_NONE; i++) {
        const struct machine_plan *plan = &plans->items[i];
        if (machine_lacks_still(&lacks, &plan->connection)) {
            struct machine_credential *next = &shown[ret_credentials->count++];
            err = machine_credential_insert(call, tx, identity, plan, next, reterr);
        }
    }
    return err;
}

/* Looking -------------------------------------------------------------------------------------- */

struct machine_credentials_listing {
    struct api_call *call;
    struct credential_list list;
    struct machine_credential *shown;
};

static enum err machine_credentials_list_body(struct store_tx *tx, void *context,
                                              struct error *reterr)
{
    struct machine_credentials_listing *self = context;
    struct api_call *call = self->call;
    struct slice organization_id = call->caller.organization_id;
    struct machine_identity identity;
    enum err err = machine_identity_store_find(tx, call->arena, organization_id,
                                               call->request->values[0], &identity, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    const struct credential of = {.organization_id = organization_id, .member_id = identity.id};
    err = credential_store_list(tx, call->arena, &of, clock_now(), &self->list, reterr);
    self->shown = arena_alloc_array(call->arena, self->list.count + 1, sizeof(*self->shown));
    for (size_t i = 0; i < self->list.count && err == ERR_NONE; i++) {
        const struct credential *credential = &self->list.credentials[i];
        struct connection connection = {0};
        err = credential_connection(call, tx, credential->connection_id, &connection, reterr);
        self->shown[i] = (struct machine_credential){.id = credential->id,
                                                     .created_at = credential->created_at,
                                                     .expires_at = credential->expires_at};
        machine_credential_fill(call, &connection, SLICE_NONE, &self->shown[i]);
    }
    return err;
}

enum err machine_credentials_list(struct api_call *call, struct error *reterr)
{
    struct machine_credentials_listing self = {.call = call};
    enum err err = store_read(call->api->store, machine_credentials_list_body, &self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_array(&json);
    for (size_t i = 0; i < self.list.count; i++) {
        shape_write(&machine_credential_shape, &self.shown[i], &json);
    }
    json_end_array(&json);
    return api_answer_end(call, &json, reterr);
}

/* Replacing one -------------------------------------------------------------------------------- */

struct machine_rotation {
    struct api_call *call;
    struct machine_identity identity;
    struct machine_plan plan;
    struct machine_credential shown;
};

static enum err machine_rotation_find(struct machine_rotation *self, struct store_tx *tx,
                                      struct machine_lack *ret_granted, struct error *reterr)
{
    struct api_call *call = self->call;
    const struct slice *values = call->request->values;
    enum err err = machine_identity_store_find(tx, call->arena, call->caller.organization_id,
                                               values[0], &self->identity, reterr);
    return err == ERR_NONE ? machine_identity_store_granted(tx, call->arena, &self->identity,
                                                            values[1], ret_granted, reterr)
                           : err;
}

static enum err machine_rotation_read(struct store_tx *tx, void *context, struct error *reterr)
{
    struct machine_rotation *self = context;
    struct machine_lack granted;
    enum err err = machine_rotation_find(self, tx, &granted, reterr);
    return err == ERR_NONE
               ? machine_plan_load(self->call, tx, granted.connection_id, &self->plan, reterr)
               : err;
}

static enum err machine_rotation_write(struct store_tx *tx, void *context, struct error *reterr)
{
    struct machine_rotation *self = context;
    struct machine_lack granted;
    struct api_text text;
    enum err err = machine_rotation_find(self, tx, &granted, reterr);
    if (err == ERR_NONE && !slice_equals(granted.connection_name, self->plan.connection.name)) {
        err = fail(reterr, ERR_NOT_FOUND, "the connection '%.*s' is gone",
                   SLICE_ARG(self->plan.connection.name));
    }
    if (err == ERR_NONE) {
        err = machine_credential_insert(self->call, tx, &self->identity, &self->plan, &self->shown,
                                        reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "name", self->identity.name);
    json_member_text(&text.json, "connection_name", self->shown.connection_name);
    json_member_text(&text.json, "id", self->shown.id);
    json_end_object(&text.json);
    struct slice payload = api_text_end_in(self->call->arena, &text);
    return api_audit(self->call, tx, "rotate", 201, payload, reterr);
}

enum err machine_credentials_rotate(struct api_call *call, struct error *reterr)
{
    struct machine_rotation self = {.call = call};
    struct machine_plans plans = {.items = &self.plan, .count = 1};
    enum err err = store_read(call->api->store, machine_rotation_read, &self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    machine_credentials_make(call, &plans);
    err = store_write(call->api->store, machine_rotation_write, &self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    call->response->is_compressible = false;
    struct json_writer json = api_answer(call, 201);
    shape_write(&machine_credential_shape, &self.shown, &json);
    return api_answer_end(call, &json, reterr);
}
