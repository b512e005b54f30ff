/* SPDX-License-Identifier: MIT */
/* Signing in with a password. The first person of a fresh installation registers himself and
 * becomes its admin: from this machine at once, from elsewhere with the code that the start prints.
 */
#include "api/handlers.h"
#include "base/timestamp.h"
#include "identity/password.h"
#include "io/clock.h"
#include "model/name.h"
#include "store/organization_store.h"
#include "store/row_id.h"
#include "store/token_store.h"
#include "store/user_store.h"

#include <sodium.h>

struct sign_in {
    struct slice email;
    struct slice password;
    struct slice name;
    struct slice organization;
    struct slice setup_code;
};

#define AT(member) .offset = offsetof(struct sign_in, member)
#define FIELD_EMAIL                                                                                \
    {                                                                                              \
        .name = "email", .kind = SHAPE_TEXT, .flags = SHAPE_REQUIRED, AT(email), .min = 3,         \
        .max = 254, .check = email_check, .pattern = EMAIL_PATTERN                                 \
    }
#define FIELD_PASSWORD                                                                             \
    {                                                                                              \
        .name = "password", .kind = SHAPE_TEXT, .flags = SHAPE_REQUIRED, AT(password), .min = 1,   \
        .max = 256                                                                                 \
    }

static const struct shape_field login_fields[] = {
    FIELD_EMAIL,
    FIELD_PASSWORD,
    {.name = "organization",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     AT(organization),
     .max = 100,
     .about = "its name, when the same address is in several"},
};

const struct shape login_shape = {
    .name = "Login", .size = sizeof(struct sign_in), SHAPE_FIELDS(login_fields)};

static const struct shape_field register_fields[] = {
    FIELD_EMAIL,
    FIELD_PASSWORD,
    {.name = "name",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     AT(name),
     .max = 255,
     .check = line_check,
     .pattern = LINE_PATTERN},
    {.name = "setup_code",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     AT(setup_code),
     .max = 64,
     .about = "printed at the start; needed from other machines"},
};

const struct shape register_shape = {
    .name = "Register", .size = sizeof(struct sign_in), SHAPE_FIELDS(register_fields)};

/* The token in the header 'Token' for programs, and as a cookie that scripts cannot read. */
static enum err local_auth_hand_over(struct api_call *call, struct slice user_id,
                                     struct error *reterr)
{
    struct slice token = SLICE_NONE;
    enum err err =
        identity_make_token_in(call->arena, call->api->identity, user_id, &token, reterr);
    if (err == ERR_NONE) {
        http_response_header(call->response, SLICE("Token"), token);
        http_response_header(call->response, SLICE("Set-Cookie"),
                             arena_format(call->arena,
                                          IDENTITY_COOKIE
                                          "=%.*s; Path=/; Max-Age=%d; HttpOnly; SameSite=Lax%s",
                                          SLICE_ARG(token), IDENTITY_TOKEN_LIFETIME_S,
                                          call->api->uses_tls ? "; Secure" : ""));
    }
    return err;
}

struct registration {
    struct api_call *call;
    struct sign_in wanted;
    struct slice hash;
    struct user user;
};

static enum err local_auth_register_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct registration *self = context;
    struct api_call *call = self->call;
    int64_t count = 0;
    struct slice organization_id = SLICE(ORGANIZATION_DEFAULT_ID);
    struct slice *groups = arena_alloc(call->arena, sizeof(*groups));
    groups[0] = identity_admin_group(call->api->identity);
    enum err err = user_store_count(tx, organization_id, &count, reterr);
    if (err == ERR_NONE && count > 0) {
        return fail(reterr, ERR_DENIED,
                    "access denied: this gateway has its users already, ask an admin");
    }
    self->user = (struct user){
        .id = row_id_new(call->arena),
        .email = self->wanted.email,
        .name = self->wanted.name,
        .status = SLICE("active"),
        .groups = {.items = groups, .count = 1, .is_given = true},
    };
    self->user.subject = self->user.id;
    const struct user_write write = {.organization_id = organization_id,
                                     .user = &self->user,
                                     .password_hash = self->hash,
                                     .now = clock_now()};
    if (err == ERR_NONE) {
        err = user_store_insert(tx, call->arena, &write, reterr);
    }
    call->caller = (struct caller){.organization_id = organization_id,
                                   .subject = self->user.subject,
                                   .email = self->user.email,
                                   .name = self->user.name};
    return err == ERR_NONE ? api_audit(call, tx, "register", 201, SLICE(""), reterr) : err;
}

/* A proxy on this machine speaks for others. */
static bool local_auth_is_from_here(const struct http_request *request)
{
    bool is_passed_on = http_request_header(request, SLICE("X-Forwarded-For")).len > 0 ||
                        http_request_header(request, SLICE("Forwarded")).len > 0;
    return request->peer.is_control || (request->peer.is_loopback && !is_passed_on);
}

static bool local_auth_may_register(const struct api_call *call, struct slice code)
{
    struct slice known = call->api->setup_code;
    if (local_auth_is_from_here(call->request)) {
        return true;
    }
    return known.len > 0 && code.len == known.len &&
           sodium_memcmp(code.at, known.at, known.len) == 0;
}

enum err local_auth_register(struct api_call *call, struct error *reterr)
{
    struct registration self = {.call = call};
    enum err err = api_read_body(call, SHAPE_WHOLE, &register_shape, &self.wanted, reterr);
    if (err == ERR_NONE && !local_auth_may_register(call, self.wanted.setup_code)) {
        return fail(reterr, ERR_DENIED,
                    "access denied: from another machine send the 'setup_code' that the start "
                    "of the gateway printed");
    }
    if (err == ERR_NONE) {
        err = password_check(self.wanted.password, self.wanted.email, reterr);
    }
    if (err == ERR_NONE) {
        err = password_hash_in(call->arena, self.wanted.password, &self.hash, reterr);
    }
    if (err == ERR_NONE) {
        err = store_write(call->api->store, local_auth_register_body, &self, reterr);
    }
    if (err == ERR_NONE) {
        err = local_auth_hand_over(call, self.user.id, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 201);
    json_begin_object(&json);
    json_member_text(&json, "message", SLICE("registered; you are the admin"));
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}

/* Signing in ----------------------------------------------------------------------------------- */

struct login {
    struct api_call *call;
    struct sign_in wanted;
    struct user_account account;
    bool is_good;
};

static enum err local_auth_find_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct login *self = context;
    return user_store_find_account(tx, self->call->arena, self->wanted.email,
                                   self->wanted.organization, &self->account, reterr);
}

static enum err local_auth_audit_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct login *self = context;
    return api_audit(self->call, tx, "sign_in", self->is_good ? 200 : 401, SLICE(""), reterr);
}

/* An unknown address takes as long as a wrong password, and both are answered alike. */
enum err local_auth_login(struct api_call *call, struct error *reterr)
{
    struct login self = {.call = call};
    enum err err = api_read_body(call, SHAPE_WHOLE, &login_shape, &self.wanted, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    err = store_read(call->api->store, local_auth_find_body, &self, reterr);
    if (err == ERR_NOT_FOUND) {
        password_verify_nobody(self.wanted.password);
        self.account.organization_id = SLICE(ORGANIZATION_DEFAULT_ID);
    } else if (err != ERR_NONE) {
        return err;
    } else {
        self.is_good = password_verify(self.account.password_hash, self.wanted.password) &&
                       slice_equals(self.account.status, SLICE("active"));
    }
    call->caller = (struct caller){.organization_id = self.account.organization_id,
                                   .subject = self.account.id,
                                   .email = self.wanted.email};
    err = store_write(call->api->store, local_auth_audit_body, &self, reterr);
    if (err == ERR_NONE && !self.is_good) {
        return fail(reterr, ERR_UNAUTHENTICATED, "access denied: wrong address or password");
    }
    if (err == ERR_NONE) {
        err = local_auth_hand_over(call, self.account.id, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_text(&json, "status", SLICE("ok"));
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}

struct sign_out_query {
    struct shape_bool everywhere;
};

static const struct shape_field sign_out_fields[] = {
    {.name = "everywhere",
     .kind = SHAPE_BOOL,
     .offset = offsetof(struct sign_out_query, everywhere),
     .about = "all tokens of this person, not this one alone"},
};

const struct shape sign_out_shape = {
    .name = "SignOutQuery", .size = sizeof(struct sign_out_query), SHAPE_FIELDS(sign_out_fields)};

struct sign_out {
    struct api_call *call;
    bool everywhere;
};

static enum err local_auth_sign_out_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct sign_out *self = context;
    struct api_call *call = self->call;
    int64_t now = clock_now();
    enum err err = self->everywhere ? token_store_revoke_all(tx, call->caller.id, now, reterr)
                                    : token_store_revoke(tx, call->token_id, call->token_expires_at,
                                                         now, reterr);
    return err == ERR_NONE ? api_audit(call, tx, "sign_out", 204, SLICE(""), reterr) : err;
}

enum err local_auth_sign_out(struct api_call *call, struct error *reterr)
{
    struct sign_out_query query = {0};
    enum err err = api_read_query(call, &sign_out_shape, &query, reterr);
    struct sign_out self = {.call = call, .everywhere = query.everywhere.value};
    if (err == ERR_NONE && call->caller.is_key) {
        return fail(reterr, ERR_INPUT, "an API key does not sign out: revoke it");
    }
    http_response_header(call->response, SLICE("Set-Cookie"),
                         SLICE(IDENTITY_COOKIE "=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"));
    call->response->status = 204;
    return err == ERR_NONE ? store_write(call->api->store, local_auth_sign_out_body, &self, reterr)
                           : err;
}
