/* SPDX-License-Identifier: MIT */
/* For the tests of what asks others over HTTP: a server on this machine, on threads of its own,
 * that answers what a test says. One request a connection. */
#ifndef GH_TESTS_HTTP_STUB_H
#define GH_TESTS_HTTP_STUB_H

#include "base/arena.h"

struct http_stub;

/* The whole answer, or SLICE_NONE: it never comes. 'request' is head and body. Never called twice
 * at the same time. */
typedef struct slice (*http_stub_answer_fn)(void *context, struct arena *arena,
                                            struct slice request);

/* 'pem': a file with certificate and key, for TLS; NULL: without. */
struct http_stub *http_stub_new(http_stub_answer_fn answer, void *context, const char *pem);
void http_stub_free(struct http_stub *stub);

/* "http://127.0.0.1:12345" */
const char *http_stub_url(const struct http_stub *stub);
size_t http_stub_request_count(struct http_stub *stub);
/* How many were there at once, at most. */
size_t http_stub_most_at_once(struct http_stub *stub);

struct slice http_stub_json(struct arena *arena, int status, const char *body);
/* The value of a header; "" when there is none. */
struct slice http_stub_header(struct slice request, const char *name);
struct slice http_stub_body(struct slice request);

#endif
