/* SPDX-License-Identifier: MIT */
/* The sign-in of a program that has no browser (RFC 8628): it shows a short code, and a person who
 * is signed in elsewhere compares the code and says yes. What the program gets is that person's own
 * token, whatever kind of account it is; the gateway itself is the authorization server. */
#include "api/handlers.h"
#include "api/sign_in.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "codec/base64.h"
#include "codec/hex.h"
#include "io/clock.h"
#include "model/name.h"
#include "store/device_login_store.h"
#include "store/user_store.h"

#include <sodium.h>

#define DEVICE_LIFETIME_S  600
#define DEVICE_INTERVAL_S  5
#define DEVICE_SECRET_SIZE 32
#define DEVICE_CODE_LEN    8 /* of 20 letters: 34 bits, to be guessed in ten minutes */
#define DEVICE_GRANT       "urn:ietf:params:oauth:grant-type:device_code"

/* Neither vowels, which make words, nor letters that look alike (RFC 8628, 6.1). */
static const char device_letters[] = "BCDFGHJKLMNPQRSTVWXZ";

struct device_form {
    struct slice client_id;
    struct slice scope;
    struct slice program;
    struct slice grant_type;
    struct slice device_code;
};

#define AT(member) .offset = offsetof(struct device_form, member)

static const struct shape_field device_ask_fields[] = {
    {.name = "client_id", .kind = SHAPE_TEXT, AT(client_id), .max = 128},
    {.name = "scope", .kind = SHAPE_TEXT, AT(scope), .max = 512},
    {.name = "program", .kind = SHAPE_TEXT, AT(program), .max = 64, .check = line_check},
};

static const struct shape device_ask_shape = {
    .name = "DeviceAsk", .size = sizeof(struct device_form), SHAPE_FIELDS(device_ask_fields)};

static const struct shape_field device_token_fields[] = {
    {.name = "client_id", .kind = SHAPE_TEXT, AT(client_id), .max = 128},
    {.name = "grant_type", .kind = SHAPE_TEXT, AT(grant_type), .max = 128},
    {.name = "device_code", .kind = SHAPE_TEXT, AT(device_code), .max = 128},
};

static const struct shape device_token_shape = {
    .name = "DeviceToken", .size = sizeof(struct device_form), SHAPE_FIELDS(device_token_fields)};

struct device_decision {
    struct slice user_code;
    struct shape_bool approve;
};

#undef AT
#define AT(member) .offset = offsetof(struct device_decision, member)
#define FIELD_USER_CODE                                                                            \
    {                                                                                              \
        .name = "user_code", .kind = SHAPE_TEXT, .flags = SHAPE_REQUIRED, AT(user_code), .min = 1, \
        .max = 32, .about = "as the program shows it; case and hyphens do not matter"              \
    }

static const struct shape_field device_query_fields[] = {FIELD_USER_CODE};

const struct shape device_query_shape = {.name = "DeviceQuery",
                                         .size = sizeof(struct device_decision),
                                         SHAPE_FIELDS(device_query_fields)};

static const struct shape_field device_decision_fields[] = {
    FIELD_USER_CODE,
    {.name = "approve",
     .kind = SHAPE_BOOL,
     .flags = SHAPE_REQUIRED,
     AT(approve),
     .about = "false: it was not me"},
};

const struct shape device_decision_shape = {.name = "DeviceDecision",
                                            .size = sizeof(struct device_decision),
                                            SHAPE_FIELDS(device_decision_fields)};

struct device_call {
    struct api_call *call;
    struct device_login login;
    struct device_login found;
    struct slice error; /* a word of RFC 8628; empty: there is a token */
    struct user user;
};

/* The program asks ----------------------------------------------------------------------------- */

static struct slice device_id_in(struct arena *arena, struct slice device_code)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    (void)crypto_hash_sha256(hash, (const unsigned char *)device_code.at, device_code.len);
    return hex_encode(arena, slice_of(hash, sizeof(hash)));
}

static struct slice device_make_user_code_in(struct arena *arena)
{
    char letters[DEVICE_CODE_LEN];
    for (size_t i = 0; i < sizeof(letters); i++) {
        letters[i] = device_letters[randombytes_uniform(sizeof(device_letters) - 1)];
    }
    return arena_format(arena, "%.*s-%.*s", DEVICE_CODE_LEN / 2, letters, DEVICE_CODE_LEN / 2,
                        letters + DEVICE_CODE_LEN / 2);
}

static enum err device_insert_body(struct store_tx *tx, void *context, struct error *reterr)
{
    const struct device_call *self = context;
    return device_login_store_insert(tx, &self->login, reterr);
}

enum err device_login_begin(struct api_call *call, struct error *reterr)
{
    struct arena *arena = call->arena;
    struct device_call self = {.call = call};
    struct device_form form = {0};
    unsigned char random[DEVICE_SECRET_SIZE];
    enum err err = sign_in_check_rate(call, SLICE_NONE, reterr);
    if (err == ERR_NONE) {
        err = shape_read_query(&device_ask_shape, arena, call->request->body, &form, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    randombytes_buf(random, sizeof(random));
    struct slice code = base64_encode_in(arena, BASE64_URL, slice_of(random, sizeof(random)));
    int64_t now = clock_now();
    self.login = (struct device_login){
        .id = device_id_in(arena, code),
        .user_code = device_make_user_code_in(arena),
        .program_name = form.program.len > 0 ? form.program : SLICE(""),
        .asker = sign_in_address(call),
        .asked_from = slice_of_text(call->request->peer.address),
        .interval_s = DEVICE_INTERVAL_S,
        .created_at = now,
        .expires_at = now + DEVICE_LIFETIME_S * TIMESTAMP_SECOND,
    };
    err = store_write(call->api->store, device_insert_body, &self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct slice page = arena_format(arena, "%.*s/device", SLICE_ARG(call->api->public_url));
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_text(&json, "device_code", code);
    json_member_text(&json, "user_code", self.login.user_code);
    json_member_text(&json, "verification_uri", page);
    json_member_text(&json, "verification_uri_complete",
                     arena_format(arena, "%.*s?user_code=%.*s", SLICE_ARG(page),
                                  SLICE_ARG(self.login.user_code)));
    json_member_int(&json, "expires_in", DEVICE_LIFETIME_S);
    json_member_int(&json, "interval", DEVICE_INTERVAL_S);
    json_end_object(&json);
    call->response->is_compressible = false;
    return api_answer_end(call, &json, reterr);
}

/* And asks again ------------------------------------------------------------------------------- */

/* Who asks too early waits longer from then on. Half a second is the network's. */
static struct slice device_wait(struct device_login *login, int64_t now)
{
    bool is_early =
        login->asked_at > 0 &&
        now - login->asked_at < login->interval_s * TIMESTAMP_SECOND - TIMESTAMP_SECOND / 2;
    login->interval_s += is_early ? DEVICE_INTERVAL_S : 0;
    login->asked_at = now;
    return is_early ? SLICE("slow_down") : SLICE("authorization_pending");
}

static enum err device_grant(struct device_call *self, struct store_tx *tx, struct error *reterr)
{
    struct api_call *call = self->call;
    const struct device_login *found = &self->found;
    enum err err = user_store_find(tx, call->arena, found->organization_id, found->user_id,
                                   &self->user, reterr);
    bool is_active = err == ERR_NONE && slice_equals(self->user.status, SLICE("active"));
    if (err != ERR_NONE && err != ERR_NOT_FOUND) {
        return err;
    }
    self->error = is_active ? SLICE("") : SLICE("access_denied");
    call->caller = (struct caller){.organization_id = found->organization_id,
                                   .id = found->user_id,
                                   .email = self->user.email,
                                   .name = self->user.name};
    return is_active ? sign_in_note(call, tx, 200, reterr)
                     : api_audit_refusal(call, tx, "sign_in", 400,
                                         SLICE("the account is not active"), reterr);
}

static enum err device_token_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct device_call *self = context;
    struct device_login *found = &self->found;
    int64_t now = clock_now();
    enum err err =
        device_login_store_get(tx, self->call->arena, self->login.id, now, found, reterr);
    if (err != ERR_NONE) {
        self->error = SLICE("expired_token");
        return err == ERR_NOT_FOUND ? ERR_NONE : err;
    }
    if (found->status == DEVICE_LOGIN_WAITS) {
        self->error = device_wait(found, now);
        return device_login_store_note(tx, found, reterr);
    }
    self->error = SLICE("access_denied");
    err = device_login_store_end(tx, found->id, reterr);
    return err == ERR_NONE && found->status == DEVICE_LOGIN_GRANTED ? device_grant(self, tx, reterr)
                                                                    : err;
}

static const char *device_words(struct slice error)
{
    static const struct {
        const char *error;
        const char *words;
    } all[] = {
        {"authorization_pending", "nobody has confirmed the code yet"},
        {"slow_down", "asked too early: wait five seconds longer from now on"},
        {"access_denied", "access denied: the sign-in was refused"},
        {"expired_token", "this sign-in is over: ten minutes have passed, or it was used already"},
        {"unsupported_grant_type", "'grant_type' must be " DEVICE_GRANT},
    };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        if (slice_equals(error, slice_of_text(all[i].error))) {
            return all[i].words;
        }
    }
    return "";
}

/* As RFC 6749, 5.2, has it, and in words as everywhere here. */
static enum err device_refuse(struct api_call *call, struct slice error, struct error *reterr)
{
    struct json_writer json = api_answer(call, 400);
    json_begin_object(&json);
    json_member_text(&json, "error", error);
    json_member_text(&json, "message", slice_of_text(device_words(error)));
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}

static enum err device_hand_over(struct device_call *self, struct error *reterr)
{
    struct api_call *call = self->call;
    struct slice token = SLICE_NONE;
    const struct identity_token wanted = {.user_id = self->user.id, .is_lent = true};
    enum err err =
        identity_make_token_in(call->arena, call->api->identity, &wanted, &token, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_text(&json, "access_token", token);
    json_member_text(&json, "token_type", SLICE("Bearer"));
    json_member_int(&json, "expires_in", IDENTITY_TOKEN_LIFETIME_S);
    json_end_object(&json);
    call->response->is_compressible = false;
    return api_answer_end(call, &json, reterr);
}

enum err device_login_token(struct api_call *call, struct error *reterr)
{
    struct device_call self = {.call = call};
    struct device_form form = {0};
    enum err err =
        shape_read_query(&device_token_shape, call->arena, call->request->body, &form, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (!slice_equals(form.grant_type, SLICE(DEVICE_GRANT))) {
        return device_refuse(call, SLICE("unsupported_grant_type"), reterr);
    }
    self.login.id = device_id_in(call->arena, form.device_code);
    err = store_write(call->api->store, device_token_body, &self, reterr);
    if (err == ERR_NONE && self.found.id.len == 0) {
        err = sign_in_check_rate(call, SLICE_NONE, reterr); /* what nobody has begun costs */
    }
    if (err != ERR_NONE) {
        return err;
    }
    return self.error.len > 0 ? device_refuse(call, self.error, reterr)
                              : device_hand_over(&self, reterr);
}

/* A person says yes or no ---------------------------------------------------------------------- */

/* "bcdf ghjk" is "BCDF-GHJK". */
static struct slice device_normal_code_in(struct arena *arena, struct slice typed)
{
    char letters[DEVICE_CODE_LEN];
    size_t count = 0;
    for (size_t i = 0; i < typed.len; i++) {
        char letter = typed.at[i];
        letter = letter >= 'a' && letter <= 'z' ? (char)(letter - 'a' + 'A') : letter;
        if (letter == '-' || letter == ' ') {
            continue;
        }
        if (count == sizeof(letters) || letter < 'A' || letter > 'Z') {
            return SLICE("");
        }
        letters[count++] = letter;
    }
    return count < sizeof(letters)
               ? SLICE("")
               : arena_format(arena, "%.*s-%.*s", DEVICE_CODE_LEN / 2, letters, DEVICE_CODE_LEN / 2,
                              letters + DEVICE_CODE_LEN / 2);
}

/* A key has nobody who looks at a screen, and another's token cannot be made into one of ours. One
 * that came of such a sign-in makes no further ones: it would not end while somebody goes on so. */
static enum err device_check_person(struct api_call *call, struct error *reterr)
{
    if (call->caller.is_key || call->token_id.len == 0) {
        return fail(reterr, ERR_DENIED,
                    "access denied: a person confirms this, who is signed in to this gateway");
    }
    if (call->has_lent_token) {
        return fail(reterr, ERR_DENIED,
                    "access denied: a program that was signed in by a code signs in no other: "
                    "confirm it in a browser");
    }
    return sign_in_check_rate(call, call->caller.id, reterr);
}

static enum err device_unknown(enum err err, struct error *reterr)
{
    return err == ERR_NOT_FOUND
               ? fail(reterr, err,
                      "no sign-in waits under this code: it may have expired (ten minutes), or was "
                      "confirmed already")
               : err;
}

static enum err device_find_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct device_call *self = context;
    return device_login_store_find(tx, self->call->arena, self->login.user_code, clock_now(),
                                   &self->found, reterr);
}

static void device_write(struct json_writer *json, const struct device_login *login)
{
    json_begin_object(json);
    json_member_text(json, "user_code", login->user_code);
    json_member_text(json, "program", login->program_name);
    json_member_text(json, "asked_from", login->asked_from);
    json_member_timestamp(json, "created_at", login->created_at);
    json_member_timestamp(json, "expires_at", login->expires_at);
    json_end_object(json);
}

enum err device_login_get(struct api_call *call, struct error *reterr)
{
    struct device_call self = {.call = call};
    struct device_decision query = {0};
    enum err err = device_check_person(call, reterr);
    if (err == ERR_NONE) {
        err = api_read_query(call, &device_query_shape, &query, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    self.login.user_code = device_normal_code_in(call->arena, query.user_code);
    err = device_unknown(store_read(call->api->store, device_find_body, &self, reterr), reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    device_write(&json, &self.found);
    return api_answer_end(call, &json, reterr);
}

static enum err device_decide_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct device_call *self = context;
    struct api_call *call = self->call;
    enum err err = device_find_body(tx, context, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    self->found.status = self->login.status;
    self->found.user_id = call->caller.id;
    self->found.organization_id = call->caller.organization_id;
    err = device_login_store_decide(tx, &self->found, clock_now(), reterr);
    struct api_text text;
    api_text_begin(&text);
    device_write(&text.json, &self->found);
    struct slice payload = api_text_end_in(call->arena, &text);
    bool is_granted = self->login.status == DEVICE_LOGIN_GRANTED;
    return err == ERR_NONE ? api_audit(call, tx, is_granted ? "approve_device" : "refuse_device",
                                       204, payload, reterr)
                           : err;
}

enum err device_login_decide(struct api_call *call, struct error *reterr)
{
    struct device_call self = {.call = call};
    struct device_decision wanted = {0};
    enum err err = device_check_person(call, reterr);
    if (err == ERR_NONE) {
        err = api_read_body(call, SHAPE_WHOLE, &device_decision_shape, &wanted, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    self.login.user_code = device_normal_code_in(call->arena, wanted.user_code);
    self.login.status = wanted.approve.value ? DEVICE_LOGIN_GRANTED : DEVICE_LOGIN_REFUSED;
    call->response->status = 204;
    return device_unknown(store_write(call->api->store, device_decide_body, &self, reterr), reterr);
}
