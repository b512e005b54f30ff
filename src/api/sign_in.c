/* SPDX-License-Identifier: MIT */
#include "api/sign_in.h"

#include "api/rate_limit.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "identity/password.h"
#include "io/clock.h"
#include "io/pool.h"
#include "store/sign_in_place_store.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <sodium.h>

#define MINUTE (60 * TIMESTAMP_SECOND)
#define MEMORY (60 * MINUTE)

static const struct sign_in_rule account_rule = {
    .free_count = 5, .wait_max = 5 * MINUTE, .memory = MEMORY};
/* Many people may share an address. */
static const struct sign_in_rule address_rule = {
    .free_count = 50, .wait_max = 15 * MINUTE, .memory = MEMORY};

/* The token ------------------------------------------------------------------------------------ */

/* By us, by a proxy that is believed, or by whatever stands at the public URL. */
bool sign_in_is_encrypted(const struct api_call *call)
{
    return call->request->is_encrypted || call->api->uses_tls ||
           slice_starts_with(call->api->public_url, SLICE("https:"));
}

void sign_in_set_cookie(struct api_call *call, struct slice token)
{
    http_response_header(call->response, SLICE("Set-Cookie"),
                         arena_format(call->arena,
                                      IDENTITY_COOKIE
                                      "=%.*s; Path=/; Max-Age=%d; HttpOnly; SameSite=Lax%s",
                                      SLICE_ARG(token), IDENTITY_TOKEN_LIFETIME_S,
                                      sign_in_is_encrypted(call) ? "; Secure" : ""));
}

enum err sign_in_hand_over(struct api_call *call, struct slice user_id, struct error *reterr)
{
    struct slice token = SLICE_NONE;
    enum err err =
        identity_make_token_in(call->arena, call->api->identity,
                               &(struct identity_token){.user_id = user_id}, &token, reterr);
    if (err == ERR_NONE) {
        http_response_header(call->response, SLICE("Token"), token);
        sign_in_set_cookie(call, token);
    }
    return err;
}

/* The first admin ------------------------------------------------------------------------------ */

bool sign_in_may_found(const struct api_call *call, struct slice setup_code)
{
    struct slice known = call->api->setup_code;
    if (call->request->peer.is_control) {
        return true;
    }
    return known.len > 0 && setup_code.len == known.len &&
           sodium_memcmp(setup_code.at, known.at, known.len) == 0;
}

/* How often ------------------------------------------------------------------------------------ */

enum err sign_in_busy(struct api_call *call, int64_t wait, struct error *reterr)
{
    int64_t seconds = (wait + TIMESTAMP_SECOND - 1) / TIMESTAMP_SECOND;
    call->http->retry_after_s = seconds;
    return fail(reterr, ERR_BUSY, "too many attempts: try again in %" PRId64 " second%s", seconds,
                seconds == 1 ? "" : "s");
}

struct slice sign_in_address(const struct api_call *call)
{
    struct in6_addr address;
    char text[INET6_ADDRSTRLEN];
    const char *peer = call->request->peer.address;
    if (inet_pton(AF_INET6, peer, &address) != 1 || IN6_IS_ADDR_V4MAPPED(&address)) {
        return slice_of_text(peer);
    }
    memset(&address.s6_addr[8], 0, 8);
    const char *shown = inet_ntop(AF_INET6, &address, text, sizeof(text));
    return arena_copy(call->arena, slice_of_text(shown == NULL ? peer : shown));
}

enum err sign_in_note_address(struct api_call *call, struct store_tx *tx, struct error *reterr)
{
    const struct sign_in_place place = {
        .caller = &call->caller,
        .address = sign_in_address(call),
        .now = clock_now(),
    };
    return sign_in_place_note(tx, &place, reterr);
}

enum err sign_in_note(struct api_call *call, struct store_tx *tx, int status, struct error *reterr)
{
    enum err err = sign_in_note_address(call, tx, reterr);
    return err == ERR_NONE ? api_audit(call, tx, "sign_in", status, SLICE(""), reterr) : err;
}

enum err sign_in_check_rate(struct api_call *call, struct slice account, struct error *reterr)
{
    int64_t now = clock_monotonic();
    int64_t wait = rate_limit_take(call->api->address_rate, sign_in_address(call), now);
    if (wait == 0 && account.len > 0) {
        wait = rate_limit_take(call->api->account_rate, text_lower_in(call->arena, account), now);
    }
    return wait == 0 ? ERR_NONE : sign_in_busy(call, wait, reterr);
}

struct sign_in_try sign_in_try_of(const struct api_call *call, struct slice account)
{
    struct slice address = sign_in_address(call);
    return (struct sign_in_try){
        .account_key = arena_format(call->arena, "account %.*s",
                                    SLICE_ARG(text_lower_in(call->arena, account))),
        .address_key = arena_format(call->arena, "address %.*s", SLICE_ARG(address)),
    };
}

enum err sign_in_try_begin(struct store_tx *tx, struct sign_in_try *attempt, struct error *reterr)
{
    int64_t now = clock_now();
    struct sign_in_attempt *account = &attempt->account;
    struct sign_in_attempt *address = &attempt->address;
    enum err err =
        sign_in_store_attempt(tx, attempt->account_key, &account_rule, now, account, reterr);
    attempt->wait = account->wait;
    if (err == ERR_NONE) {
        err = sign_in_store_attempt(tx, attempt->address_key, &address_rule, now, address, reterr);
        attempt->wait = address->wait;
    }
    return err == ERR_NONE && account->previous_at == 0
               ? sign_in_store_forget_old(tx, now - MEMORY, reterr)
               : err;
}

enum err sign_in_try_succeed(struct store_tx *tx, const struct sign_in_try *attempt,
                             struct error *reterr)
{
    enum err err = sign_in_store_forget(tx, attempt->account_key, reterr);
    return err == ERR_NONE
               ? sign_in_store_take_back(tx, attempt->address_key, &attempt->address, reterr)
               : err;
}

enum err sign_in_try_take_back(struct store_tx *tx, const struct sign_in_try *attempt,
                               struct error *reterr)
{
    enum err err = sign_in_store_take_back(tx, attempt->account_key, &attempt->account, reterr);
    return err == ERR_NONE
               ? sign_in_store_take_back(tx, attempt->address_key, &attempt->address, reterr)
               : err;
}

/* Passwords ------------------------------------------------------------------------------------ */

/* What is computed apart, on threads that leave the processor to others. */
struct password_job {
    struct arena *arena;
    const struct user_account *account;
    struct slice password;
    struct slice hash;
    bool is_good;
    enum err err;
    struct error *error;
};

static void sign_in_verify_job(void *context)
{
    struct password_job *job = context;
    if (job->account->id.len == 0) {
        password_verify_nobody(job->password);
    } else {
        job->is_good = password_verify(job->account->password_hash, job->password);
    }
}

static enum err sign_in_compute(struct api_call *call, void (*function)(void *context),
                                struct password_job *job, struct error *reterr)
{
    return pool_call(call->api->hashing, function, job) == ERR_NONE
               ? ERR_NONE
               : sign_in_busy(call, TIMESTAMP_SECOND, reterr);
}

enum err sign_in_verify_password(struct api_call *call, const struct user_account *account,
                                 struct slice password, bool *ret_is_good, struct error *reterr)
{
    struct password_job job = {.account = account, .password = password};
    enum err err = sign_in_compute(call, sign_in_verify_job, &job, reterr);
    *ret_is_good = err == ERR_NONE && job.is_good;
    return err;
}

static void sign_in_hash_job(void *context)
{
    struct password_job *job = context;
    job->err = password_hash_in(job->arena, job->password, &job->hash, job->error);
}

enum err sign_in_hash_password(struct api_call *call, struct slice password, struct slice email,
                               struct slice *ret_hash, struct error *reterr)
{
    struct password_job job = {.arena = call->arena, .password = password, .error = reterr};
    enum err err = password_check(password, email, reterr);
    if (err == ERR_NONE) {
        err = sign_in_compute(call, sign_in_hash_job, &job, reterr);
    }
    *ret_hash = job.hash;
    return err == ERR_NONE ? job.err : err;
}
