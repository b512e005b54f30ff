/* SPDX-License-Identifier: MIT */
/* Signing in with a password. The first person of a fresh installation registers himself and
 * becomes its admin, with the code that the start prints. */
#include "api/handlers.h"
#include "api/second_factor.h"
#include "api/sign_in.h"
#include "io/clock.h"
#include "model/name.h"
#include "model/organization.h"
#include "store/row_id.h"
#include "store/token_store.h"

struct sign_in {
    struct slice email;
    struct slice password;
    struct slice name;
    struct slice organization;
    struct slice setup_code;
    struct slice code; /* of the second factor */
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
    {.name = "code",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     AT(code),
     .max = 64,
     .about = "of the authenticator app, or a recovery code; when the answer says that it is "
              "needed"},
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
     .about = "printed at the start, and by 'gatehouse setup-code'"},
};

const struct shape register_shape = {
    .name = "Register", .size = sizeof(struct sign_in), SHAPE_FIELDS(register_fields)};

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
                                   .id = self->user.id,
                                   .email = self->user.email,
                                   .name = self->user.name};
    if (err == ERR_NONE) {
        err = sign_in_note_address(call, tx, reterr);
    }
    return err == ERR_NONE ? api_audit(call, tx, "register", 201, SLICE(""), reterr) : err;
}

static enum err local_auth_check_method(const struct api_call *call, struct error *reterr)
{
    return call->api->takes_passwords
               ? ERR_NONE
               : fail(reterr, ERR_DENIED,
                      "access denied: passwords are off here, sign in with the identity provider");
}

enum err local_auth_register(struct api_call *call, struct error *reterr)
{
    struct registration self = {.call = call};
    enum err err = sign_in_check_rate(call, SLICE_NONE, reterr);
    if (err == ERR_NONE) {
        err = api_read_body(call, SHAPE_WHOLE, &register_shape, &self.wanted, reterr);
    }
    if (err == ERR_NONE) {
        err = local_auth_check_method(call, reterr);
    }
    if (err == ERR_NONE && !sign_in_may_found(call, self.wanted.setup_code)) {
        return fail(reterr, ERR_DENIED,
                    "access denied: send the 'setup_code' that the start of the gateway printed; "
                    "'gatehouse setup-code' shows it again");
    }
    if (err == ERR_NONE) {
        err = sign_in_hash_password(call, self.wanted.password, self.wanted.email, &self.hash,
                                    reterr);
    }
    if (err == ERR_NONE) {
        err = store_write(call->api->store, local_auth_register_body, &self, reterr);
    }
    if (err == ERR_NONE) {
        err = sign_in_hand_over(call, self.user.id, reterr);
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
    struct sign_in_try attempt;
    struct user_accounts accounts; /* of the address, in whichever organizations */
    struct user_account account;   /* the one whose password it is; without an id: there is none */
    struct second_factor_use second;
    bool matched;           /* the password, when it was looked at */
    bool has_good_password; /* and it still is the one */
};

/* Looks the accounts up, and counts the attempt: for the account, or for the address where it may
 * be that of several, so that none of them can be kept from its owner by being guessed at. */
static enum err local_auth_begin_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct login *self = context;
    struct slice who = self->wanted.email;
    enum err err = user_store_find_accounts(tx, self->call->arena, who, self->wanted.organization,
                                            &self->accounts, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    bool is_one = self->accounts.count == 1;
    self->account = is_one ? self->accounts.items[0] : (struct user_account){0};
    self->attempt = sign_in_try_of(self->call, is_one ? self->account.id : who);
    return sign_in_try_begin(tx, &self->attempt, reterr);
}

/* Looking at a password takes a while, or a long while when many wait: a password, a status and a
 * second factor that were changed meanwhile count. */
static enum err local_auth_look_again(struct login *self, struct store_tx *tx, struct error *reterr)
{
    struct user_account account = {0};
    struct arena *arena = self->call->arena;
    self->has_good_password = false;
    self->second = (struct second_factor_use){
        .user_id = self->account.id, .code = self->wanted.code, .result = SECOND_FACTOR_GOOD};
    if (!self->matched) {
        return ERR_NONE;
    }
    enum err err = user_store_get_account(tx, arena, self->account.id, &account, reterr);
    if (err == ERR_NONE) {
        self->has_good_password =
            slice_equals(account.password_hash, self->account.password_hash) &&
            slice_equals(account.status, SLICE("active"));
        err = second_factor_store_find(tx, arena, account.id, &self->second.factor, reterr);
    }
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

/* The second factor is used up in the transaction that says whether it was good. */
static enum err local_auth_end_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct login *self = context;
    struct api_call *call = self->call;
    enum err err = local_auth_look_again(self, tx, reterr);
    if (err == ERR_NONE && self->has_good_password && self->second.factor.is_confirmed) {
        err = second_factor_use(tx, call->arena, &self->second, reterr);
    }
    bool is_good = self->has_good_password && self->second.result == SECOND_FACTOR_GOOD;
    bool is_half = self->has_good_password && self->second.result == SECOND_FACTOR_MISSING;
    if (err == ERR_NONE && is_good) {
        err = sign_in_try_succeed(tx, &self->attempt, reterr);
    } else if (err == ERR_NONE && is_half) {
        err = sign_in_try_take_back(tx, &self->attempt, reterr);
    }
    if (err != ERR_NONE || is_good) {
        return err == ERR_NONE ? sign_in_note(call, tx, 200, reterr) : err;
    }
    return api_audit_refusal(call, tx, "sign_in", 401,
                             !self->has_good_password ? SLICE("wrong address or password")
                             : is_half                ? SLICE("the second factor is missing")
                                                      : SLICE("the second factor is wrong"),
                             reterr);
}

/* The password was right: the page asks for the code next. */
static enum err local_auth_ask_for_code(const struct login *self, struct error *reterr)
{
    struct json_writer json = api_answer(self->call, 401);
    json_begin_object(&json);
    json_member_text(&json, "message",
                     self->second.result == SECOND_FACTOR_MISSING
                         ? SLICE("access denied: send the 'code' of your authenticator app too")
                         : SLICE("access denied: the code is wrong or was used before"));
    json_member_bool(&json, "second_factor_required", true);
    json_end_object(&json);
    return api_answer_end(self->call, &json, reterr);
}

static enum err local_auth_answer(struct login *self, struct error *reterr)
{
    if (!self->has_good_password) {
        return fail(reterr, ERR_UNAUTHENTICATED, "access denied: wrong address or password");
    }
    if (self->second.result != SECOND_FACTOR_GOOD) {
        return local_auth_ask_for_code(self, reterr);
    }
    enum err err = sign_in_hand_over(self->call, self->account.id, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(self->call, 200);
    json_begin_object(&json);
    json_member_text(&json, "status", SLICE("ok"));
    json_end_object(&json);
    return api_answer_end(self->call, &json, reterr);
}

/* Whoever else has an account with this address, in another organization: it is the password that
 * says which of them is meant. */
static enum err local_auth_try(struct login *self, struct error *reterr)
{
    struct slice password = self->wanted.password;
    if (self->accounts.count == 0) {
        return sign_in_verify_password(self->call, &self->account, password, &self->matched,
                                       reterr);
    }
    enum err err = ERR_NONE;
    for (size_t i = 0; i < self->accounts.count && err == ERR_NONE && !self->matched; i++) {
        self->account = self->accounts.items[i];
        err = sign_in_verify_password(self->call, &self->account, password, &self->matched, reterr);
    }
    if (!self->matched) {
        self->account = self->accounts.items[0];
    }
    return err;
}

/* An unknown address takes as long as a wrong password, and both are answered alike. */
enum err local_auth_login(struct api_call *call, struct error *reterr)
{
    struct login self = {.call = call};
    enum err err = api_read_body(call, SHAPE_WHOLE, &login_shape, &self.wanted, reterr);
    if (err == ERR_NONE) {
        err = local_auth_check_method(call, reterr);
    }
    if (err == ERR_NONE) {
        err = sign_in_check_rate(call, self.wanted.email, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    err = store_write(call->api->store, local_auth_begin_body, &self, reterr);
    if (err != ERR_NONE) {
        return err == ERR_BUSY ? sign_in_busy(call, self.attempt.wait, reterr) : err;
    }
    err = local_auth_try(&self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    bool is_known = self.account.id.len > 0;
    call->caller = (struct caller){
        .organization_id = is_known ? self.account.organization_id : SLICE(ORGANIZATION_DEFAULT_ID),
        .id = self.account.id,
        .email = self.wanted.email,
        .name = self.account.name,
    };
    err = store_write(call->api->store, local_auth_end_body, &self, reterr);
    return err == ERR_NONE ? local_auth_answer(&self, reterr) : err;
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
    if (err == ERR_NONE && call->token_id.len == 0 && !self.everywhere) {
        return fail(reterr, ERR_INPUT,
                    "this token is the identity provider's: it ends there, or by itself");
    }
    http_response_header(call->response, SLICE("Set-Cookie"),
                         SLICE(IDENTITY_COOKIE "=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"));
    call->response->status = 204;
    return err == ERR_NONE ? store_write(call->api->store, local_auth_sign_out_body, &self, reterr)
                           : err;
}
