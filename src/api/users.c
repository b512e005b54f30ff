/* SPDX-License-Identifier: MIT */
/* People and groups, as admins manage them. */
#include "api/handlers.h"
#include "api/invitations.h"
#include "api/sign_in.h"
#include "base/text.h"
#include "io/clock.h"
#include "model/name.h"
#include "store/credential_store.h"
#include "store/invitation_store.h"
#include "store/row_id.h"
#include "store/token_store.h"
#include "store/user_store.h"

struct user_call {
    struct api_call *call;
    struct slice name; /* in the path: address or id */
    struct user wanted;
    struct user user;
    struct slice password_hash;
};

struct users_listing {
    struct api_call *call;
    struct user_list list;
};

static void user_write(const struct api_call *call, struct user *user, struct json_writer *json)
{
    const struct identity *identity = call->api->identity;
    user->role = SLICE("standard");
    if (user_has_group(user, identity_admin_group(identity))) {
        user->role = SLICE("admin");
    } else if (user_has_group(user, identity_auditor_group(identity))) {
        user->role = SLICE("auditor");
    }
    shape_write(&user_shape, user, json);
}

static enum err user_answer(struct user_call *self, int status, struct error *reterr)
{
    struct json_writer json = api_answer(self->call, status);
    user_write(self->call, &self->user, &json);
    return api_answer_end(self->call, &json, reterr);
}

static enum err users_list_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct users_listing *listing = context;
    return user_store_list(tx, listing->call->arena, listing->call->caller.organization_id,
                           &listing->list, reterr);
}

enum err users_list(struct api_call *call, struct error *reterr)
{
    struct users_listing listing = {.call = call};
    enum err err = store_read(call->api->store, users_list_body, &listing, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_array(&json);
    for (size_t i = 0; i < listing.list.count; i++) {
        user_write(call, &listing.list.users[i], &json);
    }
    json_end_array(&json);
    return api_answer_end(call, &json, reterr);
}

static enum err user_find(struct user_call *self, struct store_tx *tx, struct error *reterr)
{
    return user_store_find(tx, self->call->arena, self->call->caller.organization_id, self->name,
                           &self->user, reterr);
}

static enum err user_get_body(struct store_tx *tx, void *context, struct error *reterr)
{
    return user_find(context, tx, reterr);
}

enum err users_get(struct api_call *call, struct error *reterr)
{
    struct user_call self = {.call = call, .name = call->request->values[0]};
    enum err err = store_read(call->api->store, user_get_body, &self, reterr);
    return err == ERR_NONE ? user_answer(&self, 200, reterr) : err;
}

static struct slice user_payload(const struct user_call *self, const struct user *user)
{
    struct api_text text;
    struct json_writer *json = &text.json;
    api_text_begin(&text);
    json_begin_object(json);
    json_member_text(json, "email", user->email);
    json_member_text(json, "name", user->name);
    json_member_text(json, "status", user->status);
    json_member_array(json, "groups");
    for (size_t i = 0; i < user->groups.count; i++) {
        json_text(json, user->groups.items[i]);
    }
    json_end_array(json);
    json_end_object(json);
    return api_text_end_in(self->call->arena, &text);
}

static enum err user_hash_password(struct user_call *self, struct error *reterr)
{
    const struct user *wanted = &self->wanted;
    return wanted->password.len == 0
               ? ERR_NONE
               : sign_in_hash_password(self->call, wanted->password,
                                       wanted->email.len > 0 ? wanted->email : self->name,
                                       &self->password_hash, reterr);
}

static enum err user_post_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct user_call *self = context;
    struct api_call *call = self->call;
    struct user user = self->wanted;
    user.id = row_id_new(call->arena);
    user.subject = user.id;
    const struct user_write write = {.organization_id = call->caller.organization_id,
                                     .user = &user,
                                     .password_hash = self->password_hash,
                                     .now = clock_now()};
    self->name = user.id;
    enum err err = user_store_insert(tx, call->arena, &write, reterr);
    if (err == ERR_NONE) {
        err = user_find(self, tx, reterr);
    }
    bool gets_link = user.password.len == 0 && slice_equals(user.status, SLICE("invited"));
    if (err == ERR_NONE && gets_link) {
        err = invitation_make(call, tx, &self->user, reterr);
    }
    struct slice payload = user_payload(self, &user);
    return err == ERR_NONE ? api_audit(call, tx, "create", 201, payload, reterr) : err;
}

/* With a password the account can be used at once; without one the person is invited, and the
 * answer has the link to hand on. */
enum err users_post(struct api_call *call, struct error *reterr)
{
    struct user_call self = {.call = call};
    struct user *wanted = &self.wanted;
    enum err err = api_read_body(call, SHAPE_WHOLE, &user_shape, wanted, reterr);
    if (err == ERR_NONE) {
        err = user_hash_password(&self, reterr);
    }
    if (wanted->status.len == 0) {
        wanted->status = wanted->password.len > 0 ? SLICE("active") : SLICE("invited");
    }
    if (err == ERR_NONE) {
        err = store_write(call->api->store, user_post_body, &self, reterr);
    }
    return err == ERR_NONE ? user_answer(&self, 201, reterr) : err;
}

/* An organization without an admin could not be managed any more. */
static enum err user_keep_admin(struct user_call *self, struct store_tx *tx, bool stays_admin,
                                struct error *reterr)
{
    struct slice admins = identity_admin_group(self->call->api->identity);
    bool was_admin =
        user_has_group(&self->user, admins) && slice_equals(self->user.status, SLICE("active"));
    int64_t count = 0;
    if (!was_admin || stays_admin) {
        return ERR_NONE;
    }
    enum err err =
        user_store_count_active(tx, self->call->caller.organization_id, admins, &count, reterr);
    return err == ERR_NONE && count <= 1
               ? fail(reterr, ERR_INPUT, "this is the last active admin: make another one first")
               : err;
}

/* Whoever knew the old one is signed out. */
static enum err user_reset_password(struct user_call *self, struct store_tx *tx,
                                    struct error *reterr)
{
    int64_t now = clock_now();
    if (self->password_hash.len == 0) {
        return ERR_NONE;
    }
    enum err err = user_store_set_password(tx, self->user.id, self->password_hash, now, reterr);
    return err == ERR_NONE ? token_store_revoke_all(tx, self->user.id, now, reterr) : err;
}

/* What was not sent stays as it was. */
static void user_take_changes(struct user *user, const struct user *wanted)
{
    user->name = wanted->name.at != NULL ? wanted->name : user->name;
    user->slack_id = wanted->slack_id.at != NULL ? wanted->slack_id : user->slack_id;
    user->picture = wanted->picture.at != NULL ? wanted->picture : user->picture;
    user->status = wanted->status.len > 0 ? wanted->status : user->status;
    user->groups = wanted->groups.is_given ? wanted->groups : user->groups;
}

static enum err user_put_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct user_call *self = context;
    struct api_call *call = self->call;
    enum err err = user_find(self, tx, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (self->wanted.email.len > 0 && !slice_equals_nocase(self->wanted.email, self->user.email)) {
        return fail(reterr, ERR_INPUT, "'email' cannot change: it is '%.*s'",
                    SLICE_ARG(self->user.email));
    }
    struct user user = self->user;
    user_take_changes(&user, &self->wanted);
    bool stays_admin = user_has_group(&user, identity_admin_group(call->api->identity)) &&
                       slice_equals(user.status, SLICE("active"));
    err = user_keep_admin(self, tx, stays_admin, reterr);
    if (err == ERR_NONE) {
        err = user_reset_password(self, tx, reterr);
    }
    const struct user_write write = {
        .organization_id = call->caller.organization_id, .user = &user, .now = clock_now()};
    if (err == ERR_NONE) {
        err = user_store_update(tx, &write, reterr);
    }
    if (err == ERR_NONE) {
        err = user_find(self, tx, reterr);
    }
    struct slice payload = user_payload(self, &user);
    return err == ERR_NONE ? api_audit(call, tx, "update", 200, payload, reterr) : err;
}

static enum err user_change(struct api_call *call, enum shape_mode mode, struct error *reterr)
{
    struct user_call self = {.call = call, .name = call->request->values[0]};
    enum err err = api_read_body(call, mode, &user_shape, &self.wanted, reterr);
    if (err == ERR_NONE) {
        err = user_hash_password(&self, reterr);
    }
    if (err == ERR_NONE) {
        err = store_write(call->api->store, user_put_body, &self, reterr);
    }
    return err == ERR_NONE ? user_answer(&self, 200, reterr) : err;
}

enum err users_put(struct api_call *call, struct error *reterr)
{
    return user_change(call, SHAPE_WHOLE, reterr);
}

enum err users_patch(struct api_call *call, struct error *reterr)
{
    return user_change(call, SHAPE_PARTIAL, reterr);
}

static enum err user_delete_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct user_call *self = context;
    enum err err = user_find(self, tx, reterr);
    if (err == ERR_NONE) {
        err = user_keep_admin(self, tx, false, reterr);
    }
    if (err == ERR_NONE) {
        err = user_store_delete(tx, self->user.id, reterr);
    }
    if (err == ERR_NONE) {
        err = credential_store_revoke_of_member(tx, self->user.id, clock_now(), reterr);
    }
    struct slice payload = user_payload(self, &self->user);
    return err == ERR_NONE ? api_audit(self->call, tx, "delete", 204, payload, reterr) : err;
}

enum err users_delete(struct api_call *call, struct error *reterr)
{
    struct user_call self = {.call = call, .name = call->request->values[0]};
    call->response->status = 204;
    return store_write(call->api->store, user_delete_body, &self, reterr);
}

/* Inviting ------------------------------------------------------------------------------------- */

static enum err user_invite_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct user_call *self = context;
    enum err err = user_find(self, tx, reterr);
    if (err == ERR_NONE && !slice_equals(self->user.status, SLICE("invited"))) {
        return fail(reterr, ERR_CONFLICT,
                    "the user '%.*s' is %.*s: only who is 'invited' gets a link",
                    SLICE_ARG(self->user.email), SLICE_ARG(self->user.status));
    }
    if (err == ERR_NONE) {
        err = invitation_make(self->call, tx, &self->user, reterr);
    }
    struct slice payload = user_payload(self, &self->user);
    return err == ERR_NONE ? api_audit(self->call, tx, "invite", 201, payload, reterr) : err;
}

enum err users_invite(struct api_call *call, struct error *reterr)
{
    struct user_call self = {.call = call, .name = call->request->values[0]};
    enum err err = store_write(call->api->store, user_invite_body, &self, reterr);
    return err == ERR_NONE ? user_answer(&self, 201, reterr) : err;
}

static enum err user_uninvite_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct user_call *self = context;
    enum err err = user_find(self, tx, reterr);
    if (err == ERR_NONE) {
        err = invitation_store_delete(tx, self->user.id, reterr);
    }
    struct slice payload = user_payload(self, &self->user);
    return err == ERR_NONE ? api_audit(self->call, tx, "uninvite", 204, payload, reterr) : err;
}

enum err users_uninvite(struct api_call *call, struct error *reterr)
{
    struct user_call self = {.call = call, .name = call->request->values[0]};
    call->response->status = 204;
    return store_write(call->api->store, user_uninvite_body, &self, reterr);
}

/* Who is signed in ----------------------------------------------------------------------------- */

struct userinfo {
    struct api_call *call;
    struct user user; /* empty for an API key and a service account */
};

static enum err userinfo_read(struct store_tx *tx, void *context, struct error *reterr)
{
    struct userinfo *self = context;
    const struct caller *caller = &self->call->caller;
    enum err err = user_store_find(tx, self->call->arena, caller->organization_id, caller->id,
                                   &self->user, reterr);
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

static void userinfo_write(const struct userinfo *self, struct json_writer *json)
{
    const struct caller *caller = &self->call->caller;
    json_member_text(json, "id", caller->id);
    json_member_text(json, "subject", caller->subject);
    json_member_text(json, "name", caller->name);
    json_member_text(json, "email", caller->email);
    json_member_text(json, "status", SLICE("active"));
    json_member_bool(json, "verified", self->user.id.len == 0 || self->user.verified.value);
    json_member_text(json, "role",
                     caller->is_admin     ? SLICE("admin")
                     : caller->is_auditor ? SLICE("auditor")
                                          : SLICE("standard"));
    json_member_text(json, "slack_id", self->user.slack_id);
    json_member_text(json, "picture", self->user.picture);
    json_member_array(json, "groups");
    for (size_t i = 0; i < caller->group_count; i++) {
        json_text(json, caller->groups[i]);
    }
    json_end_array(json);
    json_member_bool(json, "is_admin", caller->is_admin);
    json_member_bool(json, "is_multitenant", false);
    json_member_text(json, "tenancy_type", SLICE("selfhosted"));
    json_member_text(json, "webapp_users_management", SLICE("on"));
    json_member_text(json, "org_id", caller->organization_id);
    json_member_text(json, "org_name", caller->organization_name);
}

enum err userinfo_get(struct api_call *call, struct error *reterr)
{
    struct userinfo self = {.call = call};
    enum err err = store_read(call->api->store, userinfo_read, &self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    userinfo_write(&self, &json);
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}
