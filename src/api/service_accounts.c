/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"
#include "io/clock.h"
#include "model/machine.h"
#include "store/credential_store.h"
#include "store/row_id.h"
#include "store/service_account_store.h"

struct service_account_call {
    struct api_call *call;
    struct slice name;              /* in the path: subject or id */
    struct service_account wanted;  /* what was sent */
    struct service_account account; /* what is stored then */
    struct slice current_issuer;
};

struct service_accounts_listing {
    struct api_call *call;
    struct service_account_list list;
};

static enum err service_accounts_list_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct service_accounts_listing *listing = context;
    return service_account_store_list(
        tx, listing->call->arena, listing->call->caller.organization_id, &listing->list, reterr);
}

enum err service_accounts_list(struct api_call *call, struct error *reterr)
{
    struct service_accounts_listing listing = {.call = call};
    enum err err = store_read(call->api->store, service_accounts_list_body, &listing, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_array(&json);
    for (size_t i = 0; i < listing.list.count; i++) {
        shape_write(&service_account_shape, &listing.list.accounts[i], &json);
    }
    json_end_array(&json);
    return api_answer_end(call, &json, reterr);
}

static enum err service_account_answer(const struct service_account_call *self, int status,
                                       struct error *reterr)
{
    struct json_writer json = api_answer(self->call, status);
    shape_write(&service_account_shape, &self->account, &json);
    return api_answer_end(self->call, &json, reterr);
}

static enum err service_account_find(struct service_account_call *self, struct store_tx *tx,
                                     struct slice subject_or_id, struct error *reterr)
{
    return service_account_store_find(tx, self->call->arena, self->call->caller.organization_id,
                                      subject_or_id, &self->account, reterr);
}

static enum err service_account_get_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct service_account_call *self = context;
    return service_account_find(self, tx, self->name, reterr);
}

enum err service_accounts_get(struct api_call *call, struct error *reterr)
{
    struct service_account_call self = {.call = call, .name = call->request->values[0]};
    enum err err = store_read(call->api->store, service_account_get_body, &self, reterr);
    return err == ERR_NONE ? service_account_answer(&self, 200, reterr) : err;
}

static enum err service_account_audit(struct service_account_call *self, struct store_tx *tx,
                                      const char *action, int status, struct error *reterr)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    shape_write_members(&service_account_shape, 0, SHAPE_READ_ONLY, &self->account, &text.json);
    json_end_object(&text.json);
    struct slice payload = api_text_end_in(self->call->arena, &text);
    return api_audit(self->call, tx, action, status, payload, reterr);
}

/* The provider that people sign in with is the only one whose tokens count: nobody can have an
 * account of another, nor keep one when it changes without saying so. */
static enum err service_account_choose_issuer(struct service_account_call *self,
                                              struct slice before, struct slice *ret_issuer,
                                              struct error *reterr)
{
    struct slice wanted = provider_plain_issuer(self->wanted.issuer);
    *ret_issuer = wanted.len > 0 ? wanted : before;
    return wanted.len == 0 || slice_equals(wanted, before) ||
                   slice_equals(wanted, self->current_issuer)
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "'issuer' is none of this gateway's: it is '%.*s'",
                      SLICE_ARG(self->current_issuer));
}

static enum err service_account_post_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct service_account_call *self = context;
    struct service_account account = self->wanted;
    account.id = row_id_new(self->call->arena);
    account.organization_id = self->call->caller.organization_id;
    account.created_at = clock_now();
    account.updated_at = account.created_at;
    enum err err =
        service_account_choose_issuer(self, self->current_issuer, &account.issuer, reterr);
    if (err == ERR_NONE) {
        err = service_account_store_insert(tx, &account, reterr);
    }
    if (err == ERR_NONE) {
        err = service_account_find(self, tx, account.id, reterr);
    }
    return err == ERR_NONE ? service_account_audit(self, tx, "create", 201, reterr) : err;
}

enum err service_accounts_post(struct api_call *call, struct error *reterr)
{
    struct service_account_call self = {.call = call};
    enum err err = api_read_body(call, SHAPE_WHOLE, &service_account_shape, &self.wanted, reterr);
    if (err == ERR_NONE) {
        err = identity_issuer_in(call->arena, call->api->identity, &self.current_issuer, reterr);
    }
    if (err == ERR_NONE) {
        err = store_write(call->api->store, service_account_post_body, &self, reterr);
    }
    return err == ERR_NONE ? service_account_answer(&self, 201, reterr) : err;
}

/* A name or groups that are not sent stay as they were; an empty name is as good as none. */
static enum err service_account_put_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct service_account_call *self = context;
    const struct service_account *wanted = &self->wanted;
    enum err err = service_account_find(self, tx, self->name, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct service_account account = self->account;
    if (wanted->subject.len > 0 && !slice_equals(wanted->subject, account.subject)) {
        return fail(reterr, ERR_INPUT, "'subject' cannot change: it is '%.*s'",
                    SLICE_ARG(account.subject));
    }
    account.name = wanted->name.len > 0 ? wanted->name : account.name;
    account.status = wanted->status;
    account.groups = wanted->groups.is_given ? wanted->groups : account.groups;
    account.updated_at = clock_now();
    err = service_account_choose_issuer(self, self->account.issuer, &account.issuer, reterr);
    if (err == ERR_NONE) {
        err = service_account_store_update(tx, &account, reterr);
    }
    /* What the old provider's program was given is not the new one's. */
    if (err == ERR_NONE && !slice_equals(account.issuer, self->account.issuer)) {
        err = credential_store_revoke_of_member(tx, account.id, account.updated_at, reterr);
    }
    if (err == ERR_NONE) {
        err = service_account_find(self, tx, account.id, reterr);
    }
    return err == ERR_NONE ? service_account_audit(self, tx, "update", 200, reterr) : err;
}

enum err service_accounts_put(struct api_call *call, struct error *reterr)
{
    struct service_account_call self = {.call = call, .name = call->request->values[0]};
    enum err err =
        api_read_body(call, SHAPE_WHOLE, &service_account_update_shape, &self.wanted, reterr);
    if (err == ERR_NONE) {
        err = identity_issuer_in(call->arena, call->api->identity, &self.current_issuer, reterr);
    }
    if (err == ERR_NONE) {
        err = store_write(call->api->store, service_account_put_body, &self, reterr);
    }
    return err == ERR_NONE ? service_account_answer(&self, 200, reterr) : err;
}

static enum err service_account_delete_body(struct store_tx *tx, void *context,
                                            struct error *reterr)
{
    struct service_account_call *self = context;
    enum err err = service_account_find(self, tx, self->name, reterr);
    if (err == ERR_NONE) {
        err = service_account_store_delete(tx, self->account.id, reterr);
    }
    if (err == ERR_NONE) {
        err = credential_store_revoke_of_member(tx, self->account.id, clock_now(), reterr);
    }
    return err == ERR_NONE ? service_account_audit(self, tx, "delete", 204, reterr) : err;
}

enum err service_accounts_delete(struct api_call *call, struct error *reterr)
{
    struct service_account_call self = {.call = call, .name = call->request->values[0]};
    call->response->status = 204;
    return store_write(call->api->store, service_account_delete_body, &self, reterr);
}
