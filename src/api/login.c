/* SPDX-License-Identifier: MIT */
/* Signing in with the identity provider: there (login_url), and back (callback). The state in the
 * URL belongs to one browser: a cookie holds a secret from which nonce and verifier are derived, so
 * that nothing in the store, in a URL or in a log is enough to finish a sign-in. */
#include "api/handlers.h"
#include "api/login_account.h"
#include "api/login_internal.h"
#include "api/sign_in.h"
#include "base/timestamp.h"
#include "codec/base64.h"
#include "codec/hex.h"
#include "identity/login_redirect.h"
#include "io/clock.h"
#include "model/name.h"
#include "model/organization.h"
#include "store/organization_store.h"

#include <sodium.h>

#define LOGIN_COOKIE      "gatehouse_login"
#define LOGIN_LIFETIME_S  600
#define LOGIN_SECRET_SIZE 32
#define LOGIN_SECRET_LEN  43 /* in base64url */

struct login_query {
    struct slice redirect;
    struct slice state;
    struct slice program;
    struct slice organization;
    struct slice setup_code;
    struct slice prompt;
    struct slice screen_hint;
};

#define AT(member) .offset = offsetof(struct login_query, member)

static const struct shape_field login_query_fields[] = {
    {.name = "redirect",
     .kind = SHAPE_TEXT,
     AT(redirect),
     .max = 2048,
     .about = "where to go afterwards: a page of this gateway, or http://127.0.0.1:PORT/callback"},
    {.name = "state",
     .kind = SHAPE_TEXT,
     AT(state),
     .max = 512,
     .check = line_check,
     .about = "a program's own: goes to its port beside the token, so that it knows its sign-in"},
    {.name = "program",
     .kind = SHAPE_TEXT,
     AT(program),
     .max = 64,
     .check = line_check,
     .about = "what a program calls itself, for the page that asks the person"},
    {.name = "organization", .kind = SHAPE_TEXT, AT(organization), .max = 100, .about = "its name"},
    {.name = "setup_code",
     .kind = SHAPE_TEXT,
     AT(setup_code),
     .max = 64,
     .about = "of a gateway that has no users yet"},
    {.name = "prompt", .kind = SHAPE_TEXT, AT(prompt), .max = 64, .about = "for the provider"},
    {.name = "screen_hint",
     .kind = SHAPE_TEXT,
     AT(screen_hint),
     .max = 64,
     .about = "for the provider"},
};

const struct shape login_query_shape = {
    .name = "LoginQuery", .size = sizeof(struct login_query), SHAPE_FIELDS(login_query_fields)};

static enum err login_open(struct login *login, struct error *reterr)
{
    struct api_call *call = login->call;
    login->there.may_ask = call->http->may_ask;
    enum err err = login->there.may_ask ? ERR_NONE /* counted before it waited */
                                        : sign_in_check_rate(call, SLICE_NONE, reterr);
    if (err == ERR_NONE) {
        err = identity_provider(call->api->identity, &login->provider, reterr);
    }
    if (err == ERR_NONE) {
        login->attempt.issuer =
            provider_plain_issuer(provider_settings(login->provider)->issuer_url);
    }
    return err == ERR_NOT_FOUND ? fail(reterr, ERR_DENIED,
                                       "access denied: no identity provider is set up here, sign "
                                       "in with a password")
                                : err;
}

/* What belongs to browser and state ------------------------------------------------------------ */

static struct slice login_random_in(struct arena *arena)
{
    unsigned char random[LOGIN_SECRET_SIZE];
    randombytes_buf(random, sizeof(random));
    return base64_encode_in(arena, BASE64_URL, slice_of(random, sizeof(random)));
}

void login_use_browser(struct login *login, bool makes)
{
    struct api_call *call = login->call;
    struct slice given = api_cookie(call, SLICE(LOGIN_COOKIE));
    struct slice secret = SLICE_NONE;
    bool is_good = given.len == LOGIN_SECRET_LEN &&
                   base64_decode_in(call->arena, BASE64_URL, given, &secret) == ERR_NONE;
    if (!is_good && makes) {
        given = login_random_in(call->arena);
    }
    login->browser = is_good || makes ? given : SLICE_NONE;
    if (makes) {
        http_response_header(
            call->response, SLICE("Set-Cookie"),
            arena_format(
                call->arena, LOGIN_COOKIE "=%.*s; Path=/api/; Max-Age=%d; HttpOnly; SameSite=Lax%s",
                SLICE_ARG(given), LOGIN_LIFETIME_S, sign_in_is_encrypted(call) ? "; Secure" : ""));
    }
}

static struct slice login_hash_in(struct arena *arena, struct slice text)
{
    unsigned char *hash = arena_alloc(arena, crypto_hash_sha256_BYTES);
    (void)crypto_hash_sha256(hash, (const unsigned char *)text.at, text.len);
    return slice_of(hash, crypto_hash_sha256_BYTES);
}

struct slice login_derive_in(struct arena *arena, const struct login *login, const char *purpose)
{
    unsigned char hash[crypto_generichash_BYTES];
    struct slice text = arena_format(arena, "%s %.*s", purpose, SLICE_ARG(login->there.state));
    (void)crypto_generichash(hash, sizeof(hash), (const unsigned char *)text.at, text.len,
                             (const unsigned char *)login->browser.at, login->browser.len);
    return base64_encode_in(arena, BASE64_URL, slice_of(hash, sizeof(hash)));
}

void login_derive(struct login *login)
{
    struct arena *arena = login->call->arena;
    login->attempt.browser_hash = login_hash_in(arena, login->browser);
    login->there.nonce = login_derive_in(arena, login, "nonce");
    login->there.verifier = login_derive_in(arena, login, "verifier");
}

void login_use_state(struct login *login, struct slice state)
{
    struct api_call *call = login->call;
    login->there.state = state;
    login->attempt.id = hex_encode(call->arena, login_hash_in(call->arena, state));
    login->there.redirect_uri =
        arena_format(call->arena, "%.*s/api/callback", SLICE_ARG(call->api->public_url));
}

/* There ---------------------------------------------------------------------------------------- */

static enum err login_insert_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct login *login = context;
    struct slice name = login->attempt.organization_id; /* until it is looked up */
    struct login_attempt attempt = login->attempt;
    enum err err =
        organization_store_find(tx, login->call->arena, name, &attempt.organization_id, reterr);
    if (err == ERR_NOT_FOUND) {
        return ERR_NONE; /* the way back will be unknown; who asks learns no names */
    }
    return err == ERR_NONE ? login_store_insert(tx, &attempt, clock_now(), reterr) : err;
}

/* A program has no browser of its own: the one that is opened begins at our own page, which asks
 * the person (login_program.c). */
static enum err login_make_url(struct login *login, const struct login_query *query,
                               struct slice *ret_url, struct error *reterr)
{
    struct api_call *call = login->call;
    enum login_redirect kind = login_redirect_kind(login->attempt.redirect, call->api->public_url);
    if (kind == LOGIN_REDIRECT_REFUSED) {
        return fail(reterr, ERR_INPUT,
                    "'redirect' must be a page of '%.*s', or http://127.0.0.1:PORT/callback",
                    SLICE_ARG(call->api->public_url));
    }
    login_use_browser(login, kind == LOGIN_REDIRECT_PAGE);
    if (kind == LOGIN_REDIRECT_LOOPBACK) {
        login->browser = login_random_in(call->arena); /* asks the provider what it will ask */
    }
    login_derive(login);
    login->there.prompt = query->prompt;
    login->there.screen_hint = query->screen_hint;
    enum err err =
        provider_login_url_in(call->arena, login->provider, &login->there, ret_url, reterr);
    if (err == ERR_NONE && kind == LOGIN_REDIRECT_LOOPBACK) {
        login->attempt.browser_hash = SLICE_NONE;
        login->attempt.program_state = query->state;
        login->attempt.program_name = query->program;
        login->attempt.asked_from = slice_of_text(call->request->peer.address);
        *ret_url = arena_format(call->arena, "%.*s/api/login/start?state=%.*s",
                                SLICE_ARG(call->api->public_url), SLICE_ARG(login->there.state));
    }
    return err;
}

static enum err login_there(struct login *login, struct error *reterr)
{
    struct api_call *call = login->call;
    struct login_query query = {0};
    struct slice url = SLICE_NONE;
    enum err err = api_read_query(call, &login_query_shape, &query, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    login->attempt.redirect = query.redirect.len > 0 ? query.redirect : call->api->public_url;
    login->attempt.organization_id =
        query.organization.len > 0 ? query.organization : SLICE("default");
    login->attempt.may_found = sign_in_may_found(call, query.setup_code);
    login->attempt.expires_at = clock_now() + LOGIN_LIFETIME_S * TIMESTAMP_SECOND;
    login_use_state(login, login_random_in(call->arena));
    err = login_make_url(login, &query, &url, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, login_insert_body, login, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_text(&json, "login_url", url);
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}

enum err login_run(struct api_call *call, login_step_fn step, struct error *reterr)
{
    struct login login = {.call = call};
    if (slice_equals(call->request->method, SLICE("HEAD"))) {
        return fail(reterr, ERR_INPUT, "a sign-in goes by GET"); /* it is good for once */
    }
    enum err err = login_open(&login, reterr);
    if (err == ERR_NONE) {
        err = step(&login, reterr);
    }
    provider_unref(login.provider);
    return err;
}

enum err login_get(struct api_call *call, struct error *reterr)
{
    return login_run(call, login_there, reterr);
}

enum err login_go(struct api_call *call, int status, struct slice url)
{
    call->response->status = status;
    http_response_header(call->response, SLICE("Location"), url);
    return ERR_NONE;
}

enum err login_over(struct error *reterr)
{
    return fail(reterr, ERR_INPUT,
                "this sign-in is over: it took longer than ten minutes, was used already, or was "
                "begun in another browser; start again");
}

/* Back ----------------------------------------------------------------------------------------- */

struct login_callback_query {
    struct slice state;
    struct slice code;
    struct slice issuer;
    struct slice error;
    struct slice error_description;
};

#undef AT
#define AT(member) .offset = offsetof(struct login_callback_query, member)

static const struct shape_field login_callback_fields[] = {
    {.name = "state", .kind = SHAPE_TEXT, AT(state), .max = 128},
    {.name = "code", .kind = SHAPE_TEXT, AT(code), .max = 4096},
    {.name = "iss", .kind = SHAPE_TEXT, AT(issuer), .max = 1024},
    {.name = "error", .kind = SHAPE_TEXT, AT(error), .max = 256},
    {.name = "error_description", .kind = SHAPE_TEXT, AT(error_description), .max = 1024},
};

const struct shape login_callback_query_shape = {.name = "LoginCallbackQuery",
                                                 .size = sizeof(struct login_callback_query),
                                                 SHAPE_FIELDS(login_callback_fields)};

/* What nobody has begun costs a look into the store and no more. */
static enum err login_look_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct login *login = context;
    struct login_attempt found = {0};
    return login_store_find(tx, login->call->arena, &login->attempt, clock_now(), &found, reterr);
}

static enum err login_take_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct login *login = context;
    struct login_attempt wanted = login->attempt;
    struct login_attempt taken = {0};
    enum err err = login_store_take(tx, login->call->arena, &wanted, clock_now(), &taken, reterr);
    if (err == ERR_NONE) {
        login->call->caller.organization_id = taken.organization_id;
        login->attempt.redirect = taken.redirect;
        login->attempt.program_state = taken.program_state;
        login->attempt.organization_id = taken.organization_id;
        login->attempt.may_found = taken.may_found;
    }
    return err;
}

/* Where it ends: a program finds the state there that it sent along. */
static struct slice login_end_in(struct arena *arena, const struct login *login, const char *key,
                                 struct slice value)
{
    struct slice url = login_redirect_with_in(arena, login->attempt.redirect, key, value);
    return login->attempt.program_state.len == 0
               ? url
               : login_redirect_with_in(arena, url, "state", login->attempt.program_state);
}

struct login_refusal {
    struct login *login;
    struct slice code;
    struct slice reason;
};

static enum err login_refuse_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct login_refusal *refusal = context;
    return api_audit_refusal(refusal->login->call, tx, "sign_in", 401, refusal->reason, reterr);
}

/* Back to where the person came from, with the reason. */
static enum err login_refuse(struct login *login, struct slice code, struct slice reason,
                             struct error *reterr)
{
    struct api_call *call = login->call;
    struct login_refusal refusal = {.login = login, .code = code, .reason = reason};
    enum err err = store_write(call->api->store, login_refuse_body, &refusal, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct slice url = login_end_in(call->arena, login, "error", code);
    return login_go(call, 302,
                    login_redirect_with_in(call->arena, url, "error_description", reason));
}

static enum err login_settle_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct login *login = context;
    struct api_call *call = login->call;
    enum err err =
        login_account_settle(call, tx, &login->attempt, &login->profile, &login->user, reterr);
    bool is_in = err == ERR_NONE; /* else we do not know who it is */
    call->caller.id = is_in ? login->user.id : SLICE("");
    call->caller.email = is_in ? login->user.email : login->profile.email;
    call->caller.name = is_in ? login->user.name : login->profile.name;
    return err == ERR_NONE ? sign_in_note(call, tx, 302, reterr) : err;
}

static enum err login_arrive(struct login *login, struct error *reterr)
{
    struct api_call *call = login->call;
    struct slice token = SLICE_NONE;
    struct slice url = login->attempt.redirect;
    enum err err =
        identity_make_token_in(call->arena, call->api->identity,
                               &(struct identity_token){.user_id = login->user.id}, &token, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (login_redirect_kind(url, call->api->public_url) == LOGIN_REDIRECT_LOOPBACK) {
        url = login_end_in(call->arena, login, "token", token);
    } else {
        sign_in_set_cookie(call, token);
    }
    return login_go(call, 302, url);
}

static enum err login_finish(struct login *login, struct slice code, struct error *reterr)
{
    struct api_call *call = login->call;
    struct error cause = {0};
    enum err err = provider_check_answer(login->provider, &login->there, &cause);
    if (err == ERR_NONE) {
        err = provider_exchange_in(call->arena, login->provider, &login->there, code,
                                   &login->profile, &cause);
    }
    if (err == ERR_UNAVAILABLE) {
        return fail(reterr, err, "%s", cause.message);
    }
    if (err == ERR_NONE) {
        err = store_write(call->api->store, login_settle_body, login, &cause);
    }
    if (err == ERR_UNAUTHENTICATED || err == ERR_DENIED) {
        return login_refuse(login, SLICE("sign_in_refused"),
                            arena_copy(call->arena, slice_of_text(cause.message)), reterr);
    }
    return err == ERR_NONE ? login_arrive(login, reterr) : fail(reterr, err, "%s", cause.message);
}

/* It said no: in its own words, if they are its own. */
static enum err login_hear_no(struct login *login, const struct login_callback_query *query,
                              struct error *reterr)
{
    struct error cause = {0};
    struct slice reason = query->error_description.len > 0 ? query->error_description
                                                           : SLICE("the identity provider refused");
    enum err err = provider_check_answer(login->provider, &login->there, &cause);
    if (err == ERR_UNAUTHENTICATED) {
        return login_refuse(login, SLICE("sign_in_refused"),
                            arena_copy(login->call->arena, slice_of_text(cause.message)), reterr);
    }
    return err == ERR_NONE ? login_refuse(login, query->error, reason, reterr)
                           : fail(reterr, err, "%s", cause.message);
}

static enum err login_back(struct login *login, struct error *reterr)
{
    struct api_call *call = login->call;
    struct login_callback_query query = {0};
    enum err err = api_read_query(call, &login_callback_query_shape, &query, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    login_use_state(login, query.state);
    login_use_browser(login, false);
    if (query.state.len == 0 || login->browser.len == 0) {
        return login_over(reterr);
    }
    login_derive(login);
    login->there.issuer = query.issuer;
    err = store_read(call->api->store, login_look_body, login, reterr);
    if (err == ERR_NONE) {
        err = api_may_ask(call, reterr);
    }
    if (err == ERR_NONE) {
        err = store_write(call->api->store, login_take_body, login, reterr);
    }
    if (err != ERR_NONE) {
        return err == ERR_NOT_FOUND ? login_over(reterr) : err;
    }
    if (query.error.len > 0) {
        return login_hear_no(login, &query, reterr);
    }
    return query.code.len > 0
               ? login_finish(login, query.code, reterr)
               : login_refuse(login, SLICE("sign_in_refused"), SLICE("there is no code"), reterr);
}

enum err login_callback(struct api_call *call, struct error *reterr)
{
    return login_run(call, login_back, reterr);
}
