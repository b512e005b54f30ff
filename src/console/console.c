/* SPDX-License-Identifier: MIT */
#include "console/console.h"

#include "base/must.h"
#include "codec/base64.h"
#include "console/assets.h"
#include "http/gzip.h"

#include <unistd.h>

/* What stands in the pages for what each answer has; tools/embed-files sees that the nonce is
 * wherever it must be. The root leads to the top of the console, whatever path the public URL has:
 * a page of the app may stand in a folder. */
#define CONSOLE_PLACE       SLICE("{{")
#define CONSOLE_NONCE_PLACE SLICE("{{nonce:of-each-answer}}")
#define CONSOLE_ROOT_PLACE  SLICE("{{root}}")
#define CONSOLE_NONCE_SIZE  16
#define CONSOLE_DEPTH_MAX   8 /* of folders in an address */
/* Both %s are the nonce. What the pages' own scripts load may run; markup from text never. */
#define CONSOLE_CSP                                                                                \
    "default-src 'none'; script-src 'nonce-%.*s' 'strict-dynamic'; style-src 'nonce-%.*s'; "       \
    "img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; "                 \
    "form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'"
#define CONSOLE_PERMISSIONS                                                                        \
    "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"

/* The table is sorted by path. */
static const struct asset *console_find(struct slice path)
{
    size_t low = 0;
    size_t high = assets_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = slice_compare(assets[middle].path, path);
        if (order == 0) {
            return &assets[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

/* What is below one of these the app shows, or says that it is not there: web/src/app/places.ts. */
static const struct slice console_app_folders[] = {
    SLICE_INIT("account"), SLICE_INIT("admin"),    SLICE_INIT("connect"), SLICE_INIT("reference"),
    SLICE_INIT("reviews"), SLICE_INIT("sessions"), SLICE_INIT("sql"),     SLICE_INIT("terminal"),
};

/* Pages for those who are not signed in, which have no part of the app: web/src/entry/main.tsx. */
static const struct slice console_entry_pages[] = {
    SLICE_INIT("/device"),
    SLICE_INIT("/invitation"),
    SLICE_INIT("/register"),
    SLICE_INIT("/sign-in"),
};

static bool console_is_entry(struct slice path)
{
    for (size_t i = 0; i < sizeof(console_entry_pages) / sizeof(console_entry_pages[0]); i++) {
        if (slice_equals(path, console_entry_pages[i])) {
            return true;
        }
    }
    return false;
}

static bool console_is_of_app(struct slice path)
{
    struct slice rest;
    struct slice folder = slice_cut(slice_from(path, 1), '/', &rest);
    for (size_t i = 0; i < sizeof(console_app_folders) / sizeof(console_app_folders[0]); i++) {
        if (slice_equals(folder, console_app_folders[i])) {
            return true;
        }
    }
    return slice_equals(path, SLICE("/"));
}

/* What the build has made: a page of the app, one for strangers, or a file by its path. */
static const struct asset *console_asset_of(struct slice path)
{
    if (console_is_of_app(path)) {
        return console_find(SLICE("/index.html"));
    }
    return console_find(console_is_entry(path) ? SLICE("/entry.html") : path);
}

/* Pages ---------------------------------------------------------------------------------------- */

/* Sixteen bytes come from the kernel without waiting: its generator is ready long before us. */
static struct slice console_make_nonce(struct arena *arena)
{
    char random[CONSOLE_NONCE_SIZE];
    must(getentropy(random, sizeof(random)) == 0);
    return base64_encode_in(arena, BASE64_STANDARD, slice_of(random, sizeof(random)));
}

/* "./" from /sql, "../" from /sessions/1. */
static struct slice console_root(struct slice path)
{
    const struct slice ups = SLICE("../../../../../../../../"); /* of CONSOLE_DEPTH_MAX */
    size_t depth = 0;
    for (size_t at = 1; at < path.len; at++) {
        depth += path.at[at] == '/';
    }
    if (depth == 0) {
        return SLICE("./");
    }
    return depth > CONSOLE_DEPTH_MAX ? SLICE("/") : slice_sub(ups, 0, depth * 3);
}

static void console_write_page(struct buf *buf, struct slice page, struct slice nonce,
                               struct slice root)
{
    while (page.len > 0) {
        size_t at = slice_find(page, CONSOLE_PLACE);
        struct slice rest = slice_from(page, at);
        struct slice place = CONSOLE_NONCE_PLACE;
        struct slice value = nonce;
        if (slice_starts_with(rest, CONSOLE_ROOT_PLACE)) {
            place = CONSOLE_ROOT_PLACE;
            value = root;
        } else if (!slice_starts_with(rest, CONSOLE_NONCE_PLACE)) {
            place = slice_sub(rest, 0, CONSOLE_PLACE.len); /* braces, or the end */
            value = place;
        }
        const struct slice parts[] = {slice_sub(page, 0, at), value};
        must(buf_append_parts(buf, parts, 2) == ERR_NONE); /* files and roots are short */
        page = slice_from(rest, place.len);
    }
}

/* Never kept by anyone: a nonce that is used twice is none. Its length when compressed tells
 * nothing of it, as the page holds nothing that the request chose. */
static void console_answer_page(struct exchange *exchange, const struct asset *asset)
{
    struct http_response *response = &exchange->response;
    struct slice nonce = console_make_nonce(&exchange->arena);
    response->content_type = asset->content_type;
    http_response_header(response, SLICE("Cache-Control"), SLICE("no-store"));
    http_response_header(
        response, SLICE("Content-Security-Policy"),
        arena_format(&exchange->arena, CONSOLE_CSP, SLICE_ARG(nonce), SLICE_ARG(nonce)));
    http_response_header(response, SLICE("Cross-Origin-Opener-Policy"), SLICE("same-origin"));
    http_response_header(response, SLICE("Permissions-Policy"), SLICE(CONSOLE_PERMISSIONS));
    http_response_header(response, SLICE("Referrer-Policy"), SLICE("no-referrer"));
    http_response_header(response, SLICE("X-Frame-Options"), SLICE("DENY"));
    console_write_page(&response->buf, asset->identity, nonce,
                       console_root(exchange->request.path));
    gzip_answer(&exchange->request, response);
    exchange_answer(exchange);
}

/* Other files ---------------------------------------------------------------------------------- */

static struct slice console_etag_value(struct slice etag)
{
    return slice_starts_with(etag, SLICE("W/")) ? slice_from(etag, 2) : etag;
}

/* RFC 9110 13.1.2: a list of tags, or "*"; weak comparison. */
static bool console_etag_matches(struct slice given, struct slice etag)
{
    struct slice rest = given;
    while (rest.at != NULL) {
        struct slice tag = slice_trim(slice_cut(rest, ',', &rest), " \t");
        if (slice_equals(console_etag_value(tag), console_etag_value(etag)) ||
            slice_equals(tag, SLICE("*"))) {
            return true;
        }
    }
    return false;
}

static void console_choose_body(struct exchange *exchange, const struct asset *asset)
{
    struct http_response *response = &exchange->response;
    response->fixed_body = asset->identity;
    if (asset->brotli.len == 0 && asset->gzip.len == 0) {
        return;
    }
    http_response_header(response, SLICE("Vary"), SLICE("Accept-Encoding"));
    if (asset->brotli.len > 0 && http_accepts_encoding(&exchange->request, SLICE("br"))) {
        response->fixed_body = asset->brotli;
        http_response_header(response, SLICE("Content-Encoding"), SLICE("br"));
    } else if (asset->gzip.len > 0 && http_accepts_encoding(&exchange->request, SLICE("gzip"))) {
        response->fixed_body = asset->gzip;
        http_response_header(response, SLICE("Content-Encoding"), SLICE("gzip"));
    }
}

static void console_answer_file(struct exchange *exchange, const struct asset *asset)
{
    struct http_response *response = &exchange->response;
    http_response_header(response, SLICE("ETag"), asset->etag);
    http_response_header(response, SLICE("Cache-Control"),
                         asset->immutable ? SLICE("public, max-age=31536000, immutable")
                                          : SLICE("no-cache"));
    http_response_header(response, SLICE("Cross-Origin-Resource-Policy"), SLICE("same-origin"));
    struct slice known = http_request_header(&exchange->request, SLICE("If-None-Match"));
    if (console_etag_matches(known, asset->etag)) {
        response->status = 304;
        exchange_answer(exchange);
        return;
    }
    response->content_type = asset->content_type;
    console_choose_body(exchange, asset);
    exchange_answer(exchange);
}

/* A browser that goes somewhere; below /api programs read the answers, whoever asks. */
static bool console_wants_page(const struct http_request *request)
{
    struct slice accept = http_request_header(request, SLICE("Accept"));
    bool is_of_api = slice_equals(request->path, SLICE("/api")) ||
                     slice_starts_with(request->path, SLICE("/api/"));
    bool reads =
        slice_equals(request->method, SLICE("GET")) || slice_equals(request->method, SLICE("HEAD"));
    return reads && !is_of_api && slice_find(accept, SLICE("text/html")) < accept.len;
}

void console_answer(struct exchange *exchange)
{
    const struct http_request *request = &exchange->request;
    const struct asset *asset = console_asset_of(request->path);
    if (asset == NULL && console_wants_page(request)) {
        exchange->response.status = 404;
        console_answer_page(exchange, console_find(SLICE("/entry.html")));
        return;
    }
    if (asset == NULL) {
        exchange_answer_error(
            exchange, 404,
            arena_format(&exchange->arena, "there is nothing at '%.*s'", SLICE_ARG(request->path)));
        return;
    }
    if (!slice_equals(request->method, SLICE("GET")) && !exchange_is_head(exchange)) {
        http_response_error(&exchange->response, 405, SLICE("a file can only be read"));
        http_response_header(&exchange->response, SLICE("Allow"), SLICE("GET, HEAD"));
        exchange_answer(exchange);
        return;
    }
    if (asset->is_page) {
        console_answer_page(exchange, asset);
    } else {
        console_answer_file(exchange, asset);
    }
}
