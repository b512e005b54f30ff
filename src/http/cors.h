/* SPDX-License-Identifier: MIT */
/* Which pages of other origins may call the API and read its answers, as browsers ask for it (Fetch
 * Standard, 3.2). It opens nothing to anybody but browsers, which alone hold themselves to it; and
 * never to cookies: Access-Control-Allow-Credentials is not sent, tokens are what such pages use.
 */
#ifndef GH_HTTP_CORS_H
#define GH_HTTP_CORS_H

#include "http/exchange.h"
#include "wire/origin.h"

struct http_cors {
    struct origin_list origins; /* none: it is off, and no such header is ever sent */
    struct slice prefix;        /* of the paths it is for */
};

/* The head is complete: sets request->cors_origin if it is a listed one's. */
void cors_judge(const struct http_cors *cors, struct http_request *request);
/* The answer is complete but for these headers. */
void cors_complete(const struct http_cors *cors, struct exchange *exchange);
/* To an OPTIONS request: the methods that the path has. */
void cors_answer_preflight(struct exchange *exchange, struct slice methods);

#endif
