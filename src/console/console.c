/* SPDX-License-Identifier: MIT */
#include "console/console.h"

#include "console/assets.h"
#include "http/gzip.h"

#define CONSOLE_CSP                                                                                \
    "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "                 \
    "script-src 'self'; connect-src 'self'; font-src 'self'; base-uri 'none'; "                    \
    "form-action 'self'; frame-ancestors 'none'"

static struct slice console_file_of(struct slice path)
{
    return slice_equals(path, SLICE("/")) ? SLICE("/index.html") : path;
}

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
    struct slice known = http_request_header(&exchange->request, SLICE("If-None-Match"));
    if (console_etag_matches(known, asset->etag)) {
        response->status = 304;
        exchange_answer(exchange);
        return;
    }
    response->content_type = asset->content_type;
    if (slice_starts_with(asset->content_type, SLICE("text/html"))) {
        http_response_header(response, SLICE("Content-Security-Policy"), SLICE(CONSOLE_CSP));
        http_response_header(response, SLICE("Referrer-Policy"), SLICE("no-referrer"));
        http_response_header(response, SLICE("X-Frame-Options"), SLICE("DENY"));
    }
    console_choose_body(exchange, asset);
    exchange_answer(exchange);
}

void console_answer(struct exchange *exchange)
{
    const struct http_request *request = &exchange->request;
    const struct asset *asset = console_find(console_file_of(request->path));
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
    console_answer_file(exchange, asset);
}
