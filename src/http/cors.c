/* SPDX-License-Identifier: MIT */
#include "http/cors.h"

#define CORS_HEADERS_IN                                                                            \
    "Authorization, Api-Key, Organization, Content-Type, If-Match, If-None-Match"
#define CORS_HEADERS_OUT "Token, ETag, Retry-After"
#define CORS_MAX_AGE_S   "600"

static bool cors_is_for(const struct http_cors *cors, const struct http_request *request)
{
    return cors->origins.count > 0 && slice_starts_with(request->path, cors->prefix);
}

void cors_judge(const struct http_cors *cors, struct http_request *request)
{
    if (!cors_is_for(cors, request)) {
        return;
    }
    struct slice name = SLICE("origin");
    struct slice origin = http_request_header(request, name);
    bool is_one = http_header_repeats(request->headers, request->header_count, name) == 1;
    if (is_one && origin_list_has(&cors->origins, origin)) {
        request->cors_origin = origin;
    }
}

/* A cache must not give one origin's answer to another; that holds for answers to none, too. */
static void cors_vary(struct exchange *exchange)
{
    struct http_response *response = &exchange->response;
    for (size_t i = 0; i < response->header_count; i++) {
        struct http_header *header = &response->headers[i];
        if (slice_equals_nocase(header->name, SLICE("Vary"))) {
            header->value =
                arena_format(&exchange->arena, "%.*s, Origin", SLICE_ARG(header->value));
            return;
        }
    }
    http_response_header(response, SLICE("Vary"), SLICE("Origin"));
}

void cors_complete(const struct http_cors *cors, struct exchange *exchange)
{
    struct slice origin = exchange->request.cors_origin;
    if (!cors_is_for(cors, &exchange->request)) {
        return;
    }
    cors_vary(exchange);
    if (origin.len > 0) {
        http_response_header(&exchange->response, SLICE("Access-Control-Allow-Origin"), origin);
        http_response_header(&exchange->response, SLICE("Access-Control-Expose-Headers"),
                             SLICE(CORS_HEADERS_OUT));
    }
}

void cors_answer_preflight(struct exchange *exchange, struct slice methods)
{
    struct slice asked =
        http_request_header(&exchange->request, SLICE("Access-Control-Request-Method"));
    if (exchange->request.cors_origin.len == 0 || asked.len == 0) {
        return;
    }
    http_response_header(&exchange->response, SLICE("Access-Control-Allow-Methods"), methods);
    http_response_header(&exchange->response, SLICE("Access-Control-Allow-Headers"),
                         SLICE(CORS_HEADERS_IN));
    http_response_header(&exchange->response, SLICE("Access-Control-Max-Age"),
                         SLICE(CORS_MAX_AGE_S));
}
