/* SPDX-License-Identifier: MIT */
/* An invited person: the link that an admin hands on, and what its page asks. What is behind '#' in
 * the link goes to the gateway in a body, never in an address. Where people sign in at a provider
 * the page leads there; the provider's word makes the account active, and the link ends. */
#include "api/invitations.h"

#include "api/handlers.h"
#include "api/sign_in.h"
#include "base/timestamp.h"
#include "identity/password.h"
#include "io/clock.h"
#include "model/name.h"
#include "store/invitation_store.h"
#include "store/second_factor_store.h"

enum err invitation_make(struct api_call *call, struct store_tx *tx, struct user *user,
                         struct error *reterr)
{
    int64_t now = clock_now();
    struct invitation_write write = {
        .user_id = user->id,
        .now = now,
        .expires_at = now + LIMIT_INVITATION_DAYS * TIMESTAMP_DAY,
    };
    struct slice token = identity_make_invitation_in(call->arena, &write.hash);
    user->invitation_expires_at = write.expires_at;
    user->invitation_url = arena_format(call->arena, "%.*s/invitation#token=%.*s",
                                        SLICE_ARG(call->api->public_url), SLICE_ARG(token));
    return invitation_store_put(tx, &write, reterr);
}

/* What was sent ------------------------------------------------------------------------------- */

struct invitation_request {
    struct slice token;
    struct slice password;
    struct slice name;
};

#define AT(member) .offset = offsetof(struct invitation_request, member)
#define FIELD_TOKEN                                                                                \
    {                                                                                              \
        .name = "token", .kind = SHAPE_TEXT, .flags = SHAPE_REQUIRED | SHAPE_WRITE_ONLY,           \
        AT(token), .min = 1, .max = 128, .about = "behind 'token=' in the link"                    \
    }

static const struct shape_field invitation_fields[] = {FIELD_TOKEN};

const struct shape invitation_shape = {.name = "Invitation",
                                       .size = sizeof(struct invitation_request),
                                       SHAPE_FIELDS(invitation_fields)};

static const struct shape_field acceptance_fields[] = {
    FIELD_TOKEN,
    {.name = "password",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED | SHAPE_WRITE_ONLY,
     AT(password),
     .min = 1,
     .max = 256},
    {.name = "name",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     AT(name),
     .max = 255,
     .check = line_check,
     .pattern = LINE_PATTERN,
     .about = "in the place of the one that the admin gave"},
};

const struct shape acceptance_shape = {.name = "InvitationAcceptance",
                                       .size = sizeof(struct invitation_request),
                                       SHAPE_FIELDS(acceptance_fields)};

struct invitation_call {
    struct api_call *call;
    struct invitation_request wanted;
    struct invitation invitation;
    struct slice hash; /* of the token */
    struct slice password_hash;
    bool has_second_factor;
};

/* Whatever is wrong with it is answered alike. */
static enum err invitation_over(struct error *reterr)
{
    return fail(reterr, ERR_DENIED,
                "access denied: this invitation is not good any more: it was used, replaced or "
                "withdrawn, or has expired; ask an admin for a new one");
}

static enum err invitation_find_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct invitation_call *self = context;
    return invitation_store_find(tx, self->call->arena, self->hash, clock_now(), &self->invitation,
                                 reterr);
}

static enum err invitation_open(struct invitation_call *self, const struct shape *shape,
                                struct error *reterr)
{
    struct api_call *call = self->call;
    enum err err = sign_in_check_rate(call, SLICE_NONE, reterr);
    if (err == ERR_NONE) {
        err = api_read_body(call, SHAPE_WHOLE, shape, &self->wanted, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    self->hash = identity_hash_secret_in(call->arena, self->wanted.token);
    err = store_read(call->api->store, invitation_find_body, self, reterr);
    return err == ERR_NOT_FOUND ? invitation_over(reterr) : err;
}

enum err invitation_look(struct api_call *call, struct error *reterr)
{
    struct invitation_call self = {.call = call};
    enum err err = invitation_open(&self, &invitation_shape, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_text(&json, "email", self.invitation.email);
    json_member_text(&json, "name", self.invitation.name);
    json_member_text(&json, "organization", self.invitation.organization_name);
    json_member_timestamp(&json, "expires_at", self.invitation.expires_at);
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}

/* Choosing a password -------------------------------------------------------------------------- */

/* Hashing takes a while: an invitation that ended meanwhile is over. Who had a second factor before
 * he was invited again is asked for it as ever. */
static enum err invitation_accept_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct invitation_call *self = context;
    struct api_call *call = self->call;
    struct invitation invitation = {0};
    struct second_factor factor = {0};
    int64_t now = clock_now();
    enum err err = invitation_store_find(tx, call->arena, self->hash, now, &invitation, reterr);
    invitation.name = self->wanted.name.len > 0 ? self->wanted.name : invitation.name;
    if (err == ERR_NONE) {
        err = invitation_store_use(tx, &invitation, self->password_hash, now, reterr);
    }
    if (err != ERR_NONE) {
        return err == ERR_NOT_FOUND ? invitation_over(reterr) : err;
    }
    err = second_factor_store_find(tx, call->arena, invitation.user_id, &factor, reterr);
    self->has_second_factor = err == ERR_NONE && factor.is_confirmed;
    if (err != ERR_NONE && err != ERR_NOT_FOUND) {
        return err;
    }
    call->caller = (struct caller){.organization_id = invitation.organization_id,
                                   .id = invitation.user_id,
                                   .email = invitation.email,
                                   .name = invitation.name};
    err = sign_in_note_address(call, tx, reterr);
    return err == ERR_NONE ? api_audit(call, tx, "accept_invitation", 200, SLICE(""), reterr) : err;
}

static enum err invitation_hash_password(struct invitation_call *self, struct error *reterr)
{
    return self->call->api->takes_passwords
               ? sign_in_hash_password(self->call, self->wanted.password, self->invitation.email,
                                       &self->password_hash, reterr)
               : fail(reterr, ERR_DENIED,
                      "access denied: passwords are off here, sign in with the identity provider");
}

enum err invitation_accept(struct api_call *call, struct error *reterr)
{
    struct invitation_call self = {.call = call};
    enum err err = invitation_open(&self, &acceptance_shape, reterr);
    if (err == ERR_NONE) {
        err = invitation_hash_password(&self, reterr);
    }
    if (err == ERR_NONE) {
        err = store_write(call->api->store, invitation_accept_body, &self, reterr);
    }
    if (err == ERR_NONE && !self.has_second_factor) {
        err = sign_in_hand_over(call, self.invitation.user_id, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_bool(&json, "second_factor_required", self.has_second_factor);
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}
