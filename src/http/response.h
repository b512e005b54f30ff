/* SPDX-License-Identifier: MIT */
/* An answer being made. The body is either what was written into 'buf' or bytes that live longer
 * than the exchange (embedded files); a streamed answer has neither. */
#ifndef GH_HTTP_RESPONSE_H
#define GH_HTTP_RESPONSE_H

#include "base/buf.h"
#include "base/error.h"
#include "wire/http.h"

#define HTTP_RESPONSE_HEADERS_MAX 16

struct http_response {
    int status;
    struct slice content_type; /* empty: no body is expected */
    struct http_header headers[HTTP_RESPONSE_HEADERS_MAX];
    size_t header_count;
    struct buf buf;
    struct slice fixed_body;
    bool is_streamed;
    bool is_compressible; /* false for answers that hold secrets, whose size must not tell them */
};

void http_response_init(struct http_response *response);
void http_response_release(struct http_response *response);
/* Forgets what was written and starts again. */
void http_response_restart(struct http_response *response, int status);

/* The slices must live as long as the exchange. */
void http_response_header(struct http_response *response, struct slice name, struct slice value);
struct slice http_response_body(const struct http_response *response);

/* {"message": …}, the shape of every error. */
void http_response_error(struct http_response *response, int status, struct slice message);

#endif
