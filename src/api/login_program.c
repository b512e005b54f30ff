/* SPDX-License-Identifier: MIT */
/* The sign-in of a program begins in a browser that somebody opened for it: a page says what asks
 * and where the token will go, and nothing happens before the person has agreed. The page belongs
 * to one browser: only its own form begins the sign-in, once. */
#include "api/handlers.h"
#include "api/login_internal.h"
#include "api/sign_in.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "codec/base64.h"
#include "codec/url.h"
#include "io/clock.h"

#include <sodium.h>

#define NONCE_SIZE 16
#define PAGE_CSP                                                                                   \
    "default-src 'none'; style-src 'nonce-%.*s'; base-uri 'none'; frame-ancestors 'none'"
#define PAGE_STYLE                                                                                 \
    "body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:4rem auto;padding:0 1rem}"     \
    "dt{color:#666}dd{margin:0 0 .6rem;font-weight:600}button{font:inherit;padding:.5rem 1.2rem}"

struct login_start_query {
    struct slice state;
    struct slice consent;
};

#define AT(member) .offset = offsetof(struct login_start_query, member)

static const struct shape_field login_start_fields[] = {
    {.name = "state", .kind = SHAPE_TEXT, AT(state), .max = 128},
};

const struct shape login_start_query_shape = {.name = "LoginStartQuery",
                                              .size = sizeof(struct login_start_query),
                                              SHAPE_FIELDS(login_start_fields)};

static const struct shape_field login_consent_fields[] = {
    {.name = "state", .kind = SHAPE_TEXT, AT(state), .max = 128},
    {.name = "consent", .kind = SHAPE_TEXT, AT(consent), .max = 128},
};

static const struct shape login_consent_shape = {.name = "LoginConsent",
                                                 .size = sizeof(struct login_start_query),
                                                 SHAPE_FIELDS(login_consent_fields)};

/* The page ------------------------------------------------------------------------------------- */

/* Text of others, between tags or in an attribute. */
static struct slice login_escape_in(struct arena *arena, struct slice text)
{
    struct slice escaped = SLICE("");
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.at[i];
        bool is_markup = byte == '&' || byte == '<' || byte == '>' || byte == '"' || byte == '\'';
        escaped = is_markup ? arena_format(arena, "%.*s&#%u;", SLICE_ARG(escaped), byte)
                            : arena_format(arena, "%.*s%c", SLICE_ARG(escaped), byte);
    }
    return escaped;
}

/* "127.0.0.1:3587" */
static struct slice login_port_of(struct slice redirect)
{
    struct slice rest = slice_from(redirect, slice_find(redirect, SLICE("://")) + 3);
    return slice_sub(rest, 0, slice_find_byte(rest, '/'));
}

static void login_page_headers(struct api_call *call, struct slice nonce)
{
    struct http_response *response = call->response;
    response->status = 200;
    response->content_type = SLICE("text/html; charset=utf-8");
    response->is_compressible = false; /* its form holds what only this browser may know */
    http_response_header(response, SLICE("Content-Security-Policy"),
                         arena_format(call->arena, PAGE_CSP, SLICE_ARG(nonce)));
    http_response_header(response, SLICE("Cross-Origin-Opener-Policy"), SLICE("same-origin"));
    http_response_header(response, SLICE("Referrer-Policy"), SLICE("same-origin"));
    http_response_header(response, SLICE("X-Frame-Options"), SLICE("DENY"));
}

static enum err login_write_page(struct login *login, struct error *reterr)
{
    struct api_call *call = login->call;
    struct arena *arena = call->arena;
    const struct login_attempt *attempt = &login->attempt;
    char time[TIMESTAMP_TEXT_SIZE];
    unsigned char random[NONCE_SIZE];
    randombytes_buf(random, sizeof(random));
    struct slice nonce = base64_encode_in(arena, BASE64_STANDARD, slice_of(random, sizeof(random)));
    struct slice name = attempt->program_name.len > 0
                            ? arena_format(arena, "\u201c%.*s\u201d, as it calls itself",
                                           SLICE_ARG(login_escape_in(arena, attempt->program_name)))
                            : SLICE("one that does not say its name");
    login_page_headers(call, nonce);
    struct slice page = arena_format(
        arena,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
        "<title>Sign in a program \u00b7 Gatehouse</title><style nonce=\"%.*s\">" PAGE_STYLE
        "</style></head><body><h1>Sign in a program?</h1>"
        "<p>A program wants to use this gateway in your name, with all that you may do. Go on only "
        "if you have started it yourself, just now and on this computer; else close this page.</p>"
        "<dl><dt>Program</dt><dd id=\"program\">%.*s</dd>"
        "<dt>Waits on this computer at</dt><dd id=\"port\">%.*s</dd>"
        "<dt>Asked from</dt><dd id=\"from\">%.*s (this browser: %s)</dd>"
        "<dt>At</dt><dd id=\"time\">%.*s</dd></dl>"
        "<form method=\"post\" action=\"start\"><input type=\"hidden\" name=\"state\" "
        "value=\"%.*s\"><input type=\"hidden\" name=\"consent\" value=\"%.*s\">"
        "<button type=\"submit\">Sign it in</button></form></body></html>\n",
        SLICE_ARG(nonce), SLICE_ARG(name),
        SLICE_ARG(login_escape_in(arena, login_port_of(attempt->redirect))),
        SLICE_ARG(login_escape_in(arena, attempt->asked_from)), call->request->peer.address,
        SLICE_ARG(timestamp_format_http(attempt->created_at, time)),
        SLICE_ARG(login_escape_in(arena, login->there.state)),
        SLICE_ARG(login_derive_in(arena, login, "consent")));
    enum err err = buf_append(&call->response->buf, page);
    return err == ERR_NONE ? err : fail(reterr, err, "the page does not fit");
}

static enum err login_look_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct login *login = context;
    const struct login_attempt wanted = login->attempt;
    return login_store_look(tx, login->call->arena, &wanted, clock_now(), &login->attempt, reterr);
}

static enum err login_show(struct login *login, struct error *reterr)
{
    struct api_call *call = login->call;
    struct login_start_query query = {0};
    enum err err = api_read_query(call, &login_start_query_shape, &query, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    login_use_state(login, query.state);
    err = store_read(call->api->store, login_look_body, login, reterr);
    if (err != ERR_NONE) {
        return err == ERR_NOT_FOUND ? login_over(reterr) : err;
    }
    login_use_browser(login, true);
    return login_write_page(login, reterr);
}

enum err login_start(struct api_call *call, struct error *reterr)
{
    return login_run(call, login_show, reterr);
}

/* The click ------------------------------------------------------------------------------------ */

static enum err login_begin_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct login *login = context;
    return login_store_begin(tx, login->attempt.id, login->attempt.browser_hash, clock_now(),
                             reterr);
}

static bool login_has_consent(const struct login *login, struct slice consent)
{
    struct slice expected = login_derive_in(login->call->arena, login, "consent");
    return login->browser.len > 0 && consent.len == expected.len &&
           sodium_memcmp(consent.at, expected.at, expected.len) == 0;
}

static enum err login_begin(struct login *login, struct error *reterr)
{
    struct api_call *call = login->call;
    struct login_start_query form = {0};
    struct slice url = SLICE_NONE;
    enum err err =
        shape_read_query(&login_consent_shape, call->arena, call->request->body, &form, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    login_use_state(login, form.state);
    login_use_browser(login, false);
    if (!login_has_consent(login, form.consent)) {
        return login_over(reterr);
    }
    login_derive(login);
    err = provider_login_url_in(call->arena, login->provider, &login->there, &url, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, login_begin_body, login, reterr);
    }
    if (err == ERR_NOT_FOUND) {
        return login_over(reterr);
    }
    return err == ERR_NONE ? login_go(call, 303, url) : err;
}

enum err login_consent(struct api_call *call, struct error *reterr)
{
    return login_run(call, login_begin, reterr);
}
