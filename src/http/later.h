/* SPDX-License-Identifier: MIT */
/* An answer that is not there yet, and holds no thread until it is: the pool is asked for it when a
 * bell says so, and for safety now and then. What it waits for goes on when the client leaves. */
#ifndef GH_HTTP_LATER_H
#define GH_HTTP_LATER_H

#include "http/call.h"

/* On a pool thread: ERR_NONE: the answer is in call->response; ERR_AGAIN: not yet; anything else is
 * answered as a handler's error. */
typedef enum err (*http_later_fn)(void *context, struct http_call *call, struct error *reterr);

/* What says that it is worth asking. */
struct later_bell;

/* From any thread, at any time, also when nobody waits any more. */
void later_bell_ring(struct later_bell *bell);
void later_bell_unref(struct later_bell *bell);

/* Instead of an answer, once, by a handler that then succeeds. 'context' lives in the call's arena;
 * the bell is a reference of the caller's. */
struct later_bell *http_call_later(struct http_call *call, http_later_fn ask, void *context);

/* For call.c, on the worker: the handler has come back. */
void http_later_start(struct exchange *exchange);
/* Or it has, and nobody waits for the answer. */
void http_later_drop(struct exchange *exchange);

#endif
