/* SPDX-License-Identifier: MIT */
/* The second factor of one's own local account: enrolled in two steps, so that nobody is locked out
 * by an app that never got the secret, and removed with a code only. */
#include "api/second_factor.h"

#include "api/handlers.h"
#include "api/sign_in.h"
#include "codec/base32.h"
#include "identity/recovery_code.h"
#include "identity/totp.h"
#include "io/clock.h"
#include "store/user_store.h"

struct second_factor_code {
    struct slice code;
};

static const struct shape_field second_factor_code_fields[] = {
    {.name = "code",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     .offset = offsetof(struct second_factor_code, code),
     .min = 1,
     .max = 64,
     .about = "of the authenticator app; where one may have lost it, also a recovery code"},
};

const struct shape second_factor_code_shape = {.name = "SecondFactorCode",
                                               .size = sizeof(struct second_factor_code),
                                               SHAPE_FIELDS(second_factor_code_fields)};

/* Using one ------------------------------------------------------------------------------------ */

static enum err second_factor_use_recovery(struct store_tx *tx, struct arena *arena,
                                           const struct second_factor_use *use,
                                           struct error *reterr)
{
    struct slice code = SLICE_NONE;
    unsigned char hash[RECOVERY_CODE_HASH_SIZE];
    if (recovery_code_normalize_in(arena, use->code, &code) != ERR_NONE) {
        return ERR_NOT_FOUND;
    }
    recovery_code_hash(code, hash);
    return recovery_code_store_use(tx, use->user_id, slice_of(hash, sizeof(hash)), reterr);
}

enum err second_factor_use(struct store_tx *tx, struct arena *arena, struct second_factor_use *use,
                           struct error *reterr)
{
    const struct second_factor *factor = &use->factor;
    int64_t counter = 0;
    enum err err = ERR_NOT_FOUND;
    int64_t now = clock_now();
    use->result = use->code.len == 0 ? SECOND_FACTOR_MISSING : SECOND_FACTOR_WRONG;
    if (use->code.len == 0) {
        return ERR_NONE;
    }
    if (totp_verify(factor->secret, use->code, now, factor->last_counter, &counter)) {
        err = second_factor_store_use(tx, use->user_id, counter, now, reterr);
    } else if (factor->is_confirmed) {
        err = second_factor_use_recovery(tx, arena, use, reterr);
    }
    use->result = err == ERR_NONE ? SECOND_FACTOR_GOOD : SECOND_FACTOR_WRONG;
    return err == ERR_NOT_FOUND || err == ERR_CONFLICT ? ERR_NONE : err;
}

/* Enrolment ------------------------------------------------------------------------------------ */

struct second_factor_call {
    struct api_call *call;
    struct second_factor_code wanted;
    struct sign_in_try attempt;
    struct secret secret;
    struct slice codes[RECOVERY_CODE_COUNT]; /* shown once */
    struct second_factor_use use;
};

/* Who has no password of ours has no second factor of ours: it is the provider's to ask for one. */
static enum err second_factor_check_account(const struct api_call *call, struct store_tx *tx,
                                            struct error *reterr)
{
    struct user_account account = {0};
    enum err err = user_store_get_account(tx, call->arena, call->caller.id, &account, reterr);
    return err == ERR_NOT_FOUND
               ? fail(reterr, ERR_INPUT, "a second factor is for accounts with a password here")
               : err;
}

static enum err second_factor_get_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct second_factor_call *self = context;
    enum err err = second_factor_store_find(tx, self->call->arena, self->call->caller.id,
                                            &self->use.factor, reterr);
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

enum err second_factor_get(struct api_call *call, struct error *reterr)
{
    struct second_factor_call self = {.call = call};
    enum err err = store_read(call->api->store, second_factor_get_body, &self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_bool(&json, "is_enabled", self.use.factor.is_confirmed);
    json_member_int(&json, "recovery_codes_left", self.use.factor.recovery_code_count);
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}

static enum err second_factor_post_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct second_factor_call *self = context;
    struct api_call *call = self->call;
    enum err err = second_factor_check_account(call, tx, reterr);
    if (err == ERR_NONE) {
        err = second_factor_store_put(tx, call->arena, call->caller.id, secret_view(&self->secret),
                                      clock_now(), reterr);
    }
    return err == ERR_NONE ? api_audit(call, tx, "create", 201, SLICE(""), reterr) : err;
}

/* The secret is shown this once; it counts when a code of it was given. */
enum err second_factor_post(struct api_call *call, struct error *reterr)
{
    struct second_factor_call self = {.call = call};
    secret_init(&self.secret);
    totp_make_secret(&self.secret);
    enum err err = store_write(call->api->store, second_factor_post_body, &self, reterr);
    if (err == ERR_NONE) {
        struct slice secret = secret_view(&self.secret);
        struct slice uri = totp_uri_in(call->arena, SLICE("Gatehouse"), call->caller.email, secret);
        struct json_writer json = api_answer(call, 201);
        json_begin_object(&json);
        json_member_text(&json, "secret", base32_encode_in(call->arena, secret));
        json_member_text(&json, "uri", uri);
        json_end_object(&json);
        call->response->is_compressible = false;
        err = api_answer_end(call, &json, reterr);
    }
    secret_release(&self.secret);
    return err;
}

static enum err second_factor_new_codes(struct second_factor_call *self, struct store_tx *tx,
                                        struct error *reterr)
{
    struct slice hashes[RECOVERY_CODE_COUNT];
    unsigned char bytes[RECOVERY_CODE_COUNT][RECOVERY_CODE_HASH_SIZE];
    recovery_codes_make_in(self->call->arena, self->codes);
    for (size_t i = 0; i < RECOVERY_CODE_COUNT; i++) {
        recovery_code_hash(self->codes[i], bytes[i]);
        hashes[i] = slice_of(bytes[i], RECOVERY_CODE_HASH_SIZE);
    }
    return recovery_code_store_set(tx, self->call->caller.id, hashes, RECOVERY_CODE_COUNT, reterr);
}

static enum err second_factor_answer_codes(const struct second_factor_call *self,
                                           struct error *reterr)
{
    struct json_writer json = api_answer(self->call, 200);
    json_begin_object(&json);
    json_member_array(&json, "recovery_codes");
    for (size_t i = 0; i < RECOVERY_CODE_COUNT; i++) {
        json_text(&json, self->codes[i]);
    }
    json_end_array(&json);
    json_end_object(&json);
    self->call->response->is_compressible = false;
    return api_answer_end(self->call, &json, reterr);
}

/* With a code ---------------------------------------------------------------------------------- */

/* Guessing codes counts like guessing passwords; what was counted stays when the code was wrong. */
static enum err second_factor_take_code(struct second_factor_call *self, struct store_tx *tx,
                                        bool is_confirmed, struct error *reterr)
{
    struct api_call *call = self->call;
    struct second_factor_use *use = &self->use;
    *use = (struct second_factor_use){.user_id = call->caller.id, .code = self->wanted.code};
    enum err err = sign_in_try_begin(tx, &self->attempt, reterr);
    if (err == ERR_NONE) {
        err = second_factor_store_find(tx, call->arena, use->user_id, &use->factor, reterr);
    }
    if (err == ERR_NONE && use->factor.is_confirmed != is_confirmed) {
        err = fail(reterr, ERR_CONFLICT,
                   is_confirmed ? "the second factor was not confirmed yet"
                                : "the second factor was confirmed already");
    }
    if (err == ERR_NONE) {
        err = second_factor_use(tx, call->arena, use, reterr);
    }
    if (err == ERR_NONE && use->result != SECOND_FACTOR_GOOD) {
        return api_audit_refusal(call, tx, "update", 400, SLICE("the code is wrong"), reterr);
    }
    return err == ERR_NONE ? sign_in_try_take_back(tx, &self->attempt, reterr) : err;
}

static enum err second_factor_run(struct second_factor_call *self, store_body_fn body,
                                  struct error *reterr)
{
    struct api_call *call = self->call;
    enum err err = sign_in_check_rate(call, call->caller.email, reterr);
    if (err == ERR_NONE) {
        err = api_read_body(call, SHAPE_WHOLE, &second_factor_code_shape, &self->wanted, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    self->attempt = sign_in_try_of(call, call->caller.id);
    err = store_write(call->api->store, body, self, reterr);
    if (err == ERR_BUSY) {
        return sign_in_busy(call, self->attempt.wait, reterr);
    }
    return err == ERR_NONE && self->use.result != SECOND_FACTOR_GOOD
               ? fail(reterr, ERR_INPUT, "'code' is wrong, or was used before")
               : err;
}

static enum err second_factor_confirm_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct second_factor_call *self = context;
    enum err err = second_factor_take_code(self, tx, false, reterr);
    if (err != ERR_NONE || self->use.result != SECOND_FACTOR_GOOD) {
        return err;
    }
    err = second_factor_new_codes(self, tx, reterr);
    return err == ERR_NONE ? api_audit(self->call, tx, "confirm", 200, SLICE(""), reterr) : err;
}

enum err second_factor_confirm(struct api_call *call, struct error *reterr)
{
    struct second_factor_call self = {.call = call};
    enum err err = second_factor_run(&self, second_factor_confirm_body, reterr);
    return err == ERR_NONE ? second_factor_answer_codes(&self, reterr) : err;
}

static enum err second_factor_codes_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct second_factor_call *self = context;
    enum err err = second_factor_take_code(self, tx, true, reterr);
    if (err != ERR_NONE || self->use.result != SECOND_FACTOR_GOOD) {
        return err;
    }
    err = second_factor_new_codes(self, tx, reterr);
    return err == ERR_NONE ? api_audit(self->call, tx, "recovery_codes", 200, SLICE(""), reterr)
                           : err;
}

enum err second_factor_codes(struct api_call *call, struct error *reterr)
{
    struct second_factor_call self = {.call = call};
    enum err err = second_factor_run(&self, second_factor_codes_body, reterr);
    return err == ERR_NONE ? second_factor_answer_codes(&self, reterr) : err;
}

static enum err second_factor_remove_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct second_factor_call *self = context;
    enum err err = second_factor_take_code(self, tx, true, reterr);
    if (err != ERR_NONE || self->use.result != SECOND_FACTOR_GOOD) {
        return err;
    }
    err = second_factor_store_delete(tx, self->call->caller.id, reterr);
    return err == ERR_NONE ? api_audit(self->call, tx, "delete", 204, SLICE(""), reterr) : err;
}

enum err second_factor_remove(struct api_call *call, struct error *reterr)
{
    struct second_factor_call self = {.call = call};
    call->response->status = 204;
    return second_factor_run(&self, second_factor_remove_body, reterr);
}

/* For others ----------------------------------------------------------------------------------- */

static enum err second_factor_reset_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct api_call *call = context;
    struct user user = {0};
    struct slice name = call->request->values[0];
    enum err err =
        user_store_find(tx, call->arena, call->caller.organization_id, name, &user, reterr);
    if (err == ERR_NONE) {
        err = second_factor_store_delete(tx, user.id, reterr);
    }
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "email", user.email);
    json_end_object(&text.json);
    struct slice payload = api_text_end_in(call->arena, &text);
    return err == ERR_NONE ? api_audit(call, tx, "delete", 204, payload, reterr) : err;
}

/* Of somebody who lost it, and the recovery codes as well. */
enum err second_factor_reset(struct api_call *call, struct error *reterr)
{
    call->response->status = 204;
    return store_write(call->api->store, second_factor_reset_body, call, reterr);
}
