/* SPDX-License-Identifier: MIT */
/* Keys by which people sign in over SSH: each person's own, and for admins those of others, which
 * they see and end, but do not add. */
#include "api/handlers.h"
#include "base/limits.h"
#include "base/memory.h"
#include "codec/base64.h"
#include "identity/person_key.h"
#include "io/clock.h"
#include "model/session.h"
#include "model/ssh_key.h"
#include "model/user.h"
#include "store/row_id.h"
#include "store/ssh_key_store.h"
#include "store/user_store.h"

struct ssh_key_call {
    struct api_call *call;
    bool is_own;
    struct user user; /* whose keys */
    struct ssh_key key;
    struct ssh_key_list list;
};

/* Of API keys and service accounts, which open what they open with credentials, there are none. */
static enum err ssh_key_find_user(struct ssh_key_call *self, struct store_tx *tx,
                                  struct error *reterr)
{
    struct api_call *call = self->call;
    const struct caller *caller = &call->caller;
    if (self->is_own) {
        self->user = (struct user){.id = caller->id, .email = caller->email};
        return ERR_NONE;
    }
    return user_store_find(tx, call->arena, caller->organization_id, call->request->values[0],
                           &self->user, reterr);
}

static enum err ssh_key_check_person(const struct ssh_key_call *self, struct store_tx *tx,
                                     struct error *reterr)
{
    const struct caller *caller = &self->call->caller;
    struct user user;
    enum err err = caller->is_key ? ERR_NOT_FOUND
                                  : user_store_find(tx, self->call->arena, caller->organization_id,
                                                    caller->id, &user, reterr);
    return err == ERR_NOT_FOUND
               ? fail(reterr, ERR_INPUT, "keys of SSH are people's: sign in as one")
               : err;
}

static struct slice ssh_key_payload(const struct ssh_key_call *self)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "id", self->key.id);
    json_member_text(&text.json, "user_email", self->user.email);
    json_member_text(&text.json, "name", self->key.name);
    json_member_text(&text.json, "fingerprint", self->key.fingerprint);
    json_end_object(&text.json);
    return api_text_end_in(self->call->arena, &text);
}

/* Listing ------------------------------------------------------------------------------------- */

static enum err ssh_keys_list_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct ssh_key_call *self = context;
    enum err err = ssh_key_find_user(self, tx, reterr);
    return err == ERR_NONE
               ? ssh_key_store_list(tx, self->call->arena, self->user.id, &self->list, reterr)
               : err;
}

static enum err ssh_keys_answer_list(struct api_call *call, bool is_own, struct error *reterr)
{
    struct ssh_key_call self = {.call = call, .is_own = is_own};
    enum err err = store_read(call->api->store, ssh_keys_list_body, &self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_array(&json);
    for (size_t i = 0; i < self.list.count; i++) {
        shape_write(&ssh_key_shape, &self.list.keys[i], &json);
    }
    json_end_array(&json);
    return api_answer_end(call, &json, reterr);
}

enum err ssh_keys_list_own(struct api_call *call, struct error *reterr)
{
    return ssh_keys_answer_list(call, true, reterr);
}

enum err ssh_keys_list(struct api_call *call, struct error *reterr)
{
    return ssh_keys_answer_list(call, false, reterr);
}

/* Adding -------------------------------------------------------------------------------------- */

static enum err ssh_keys_post_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct ssh_key_call *self = context;
    enum err err = ssh_key_find_user(self, tx, reterr);
    self->key.user_id = self->user.id;
    if (err == ERR_NONE) {
        err = ssh_key_check_person(self, tx, reterr);
    }
    if (err == ERR_NONE) {
        err = ssh_key_store_insert(tx, &self->key, reterr);
    }
    struct slice payload = ssh_key_payload(self);
    return err == ERR_NONE ? api_audit(self->call, tx, "create", 201, payload, reterr) : err;
}

/* The comment is whatever the client's file has: what cannot be shown in a line is left out. */
static struct slice ssh_key_comment_in(struct arena *arena, struct slice comment)
{
    return session_text_in(arena, comment, LIMIT_SSH_KEY_COMMENT);
}

enum err ssh_keys_post(struct api_call *call, struct error *reterr)
{
    struct ssh_key_call self = {.call = call, .is_own = true};
    struct ssh_key_request wanted = {0};
    struct sshwire_key read;
    struct arena *arena = call->arena;
    enum err err = api_read_body(call, SHAPE_WHOLE, &ssh_key_request_shape, &wanted, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    err = person_key_read_in(arena, wanted.public_key, &read, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, "'public_key': ");
        return err;
    }
    struct slice comment = ssh_key_comment_in(arena, read.comment);
    struct slice fingerprint = person_key_fingerprint_in(arena, read.blob);
    struct slice name = wanted.name.len > 0 ? wanted.name : comment;
    self.key = (struct ssh_key){
        .id = row_id_new(arena),
        .organization_id = call->caller.organization_id,
        .name = name.len > 0 ? name : read.type,
        .type = read.type,
        .bits = {.value = read.bits, .is_given = true},
        .comment = comment,
        .public_key = arena_format(arena, "%.*s %.*s", SLICE_ARG(read.type),
                                   SLICE_ARG(base64_encode_in(arena, BASE64_STANDARD, read.blob))),
        .fingerprint = fingerprint,
        .created_at = clock_now(),
    };
    err = store_write(call->api->store, ssh_keys_post_body, &self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 201);
    shape_write(&ssh_key_shape, &self.key, &json);
    return api_answer_end(call, &json, reterr);
}

/* Ending -------------------------------------------------------------------------------------- */

static enum err ssh_keys_delete_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct ssh_key_call *self = context;
    struct api_call *call = self->call;
    struct slice id = call->request->values[self->is_own ? 0 : 1];
    enum err err = ssh_key_find_user(self, tx, reterr);
    if (err == ERR_NONE) {
        err = ssh_key_store_find(tx, call->arena, self->user.id, id, &self->key, reterr);
    }
    if (err == ERR_NONE) {
        err = ssh_key_store_delete(tx, self->key.id, clock_now(), reterr);
    }
    struct slice payload = ssh_key_payload(self);
    return err == ERR_NONE ? api_audit(call, tx, "delete", 204, payload, reterr) : err;
}

enum err ssh_keys_delete_own(struct api_call *call, struct error *reterr)
{
    struct ssh_key_call self = {.call = call, .is_own = true};
    call->response->status = 204;
    return store_write(call->api->store, ssh_keys_delete_body, &self, reterr);
}

enum err ssh_keys_delete(struct api_call *call, struct error *reterr)
{
    struct ssh_key_call self = {.call = call};
    call->response->status = 204;
    return store_write(call->api->store, ssh_keys_delete_body, &self, reterr);
}
