/* SPDX-License-Identifier: MIT */
/* Changing one's own password. All tokens end with it, but the one of the answer. */
#include "api/handlers.h"
#include "api/sign_in.h"
#include "identity/password.h"
#include "io/clock.h"
#include "store/token_store.h"

struct password_change {
    struct slice current_password;
    struct slice new_password;
};

static const struct shape_field password_change_fields[] = {
    {.name = "current_password",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED | SHAPE_WRITE_ONLY,
     .offset = offsetof(struct password_change, current_password),
     .min = 1,
     .max = 256},
    {.name = "new_password",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED | SHAPE_WRITE_ONLY,
     .offset = offsetof(struct password_change, new_password),
     .min = 1,
     .max = 256},
};

const struct shape password_change_shape = {.name = "PasswordChange",
                                            .size = sizeof(struct password_change),
                                            SHAPE_FIELDS(password_change_fields)};

struct password_call {
    struct api_call *call;
    struct password_change wanted;
    struct sign_in_try attempt;
    struct user_account account;
    struct slice hash;
};

static enum err local_password_begin_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct password_call *self = context;
    enum err err = user_store_get_account(tx, self->call->arena, self->call->caller.id,
                                          &self->account, reterr);
    if (err == ERR_NOT_FOUND) {
        return fail(reterr, ERR_INPUT, "this account has no password");
    }
    return err == ERR_NONE ? sign_in_try_begin(tx, &self->attempt, reterr) : err;
}

/* An admin may have set another one while this one was looked at. */
static enum err local_password_look_again(struct password_call *self, struct store_tx *tx,
                                          struct error *reterr)
{
    struct user_account account = {0};
    enum err err =
        user_store_get_account(tx, self->call->arena, self->account.id, &account, reterr);
    bool is_same = slice_equals(account.password_hash, self->account.password_hash);
    return err == ERR_NOT_FOUND || (err == ERR_NONE && !is_same)
               ? fail(reterr, ERR_INPUT, "'current_password' is wrong")
               : err;
}

static enum err local_password_end_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct password_call *self = context;
    struct api_call *call = self->call;
    int64_t now = clock_now();
    enum err err = local_password_look_again(self, tx, reterr);
    if (err == ERR_NONE) {
        err = user_store_set_password(tx, call->caller.id, self->hash, now, reterr);
    }
    if (err == ERR_NONE) {
        err = token_store_revoke_all(tx, call->caller.id, now, reterr);
    }
    if (err == ERR_NONE) {
        err = sign_in_try_take_back(tx, &self->attempt, reterr);
    }
    return err == ERR_NONE ? api_audit(call, tx, "change_password", 200, SLICE(""), reterr) : err;
}

enum err local_password_put(struct api_call *call, struct error *reterr)
{
    struct password_call self = {.call = call};
    enum err err = api_read_body(call, SHAPE_WHOLE, &password_change_shape, &self.wanted, reterr);
    if (err == ERR_NONE) {
        err = sign_in_check_rate(call, call->caller.email, reterr);
    }
    if (err == ERR_NONE) { /* no failure to be counted */
        err = password_check(self.wanted.new_password, call->caller.email, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    self.attempt = sign_in_try_of(call, call->caller.id);
    err = store_write(call->api->store, local_password_begin_body, &self, reterr);
    if (err != ERR_NONE) {
        return err == ERR_BUSY ? sign_in_busy(call, self.attempt.wait, reterr) : err;
    }
    bool is_good = false;
    err = sign_in_verify_password(call, &self.account, self.wanted.current_password, &is_good,
                                  reterr);
    if (err == ERR_NONE && !is_good) {
        return fail(reterr, ERR_INPUT, "'current_password' is wrong");
    }
    if (err == ERR_NONE) {
        err = sign_in_hash_password(call, self.wanted.new_password, self.account.email, &self.hash,
                                    reterr);
    }
    if (err == ERR_NONE) {
        err = store_write(call->api->store, local_password_end_body, &self, reterr);
    }
    if (err == ERR_NONE) {
        err = sign_in_hand_over(call, call->caller.id, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_text(&json, "message", SLICE("changed; all other sessions were signed out"));
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}
