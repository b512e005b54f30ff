/* SPDX-License-Identifier: MIT */
/* One request and its answer, on the worker that owns the connection. The connection (HTTP/1.1 or a
 * stream of HTTP/2) is its transport. Life: the transport fills the request and starts it; its
 * route's handler runs, on the worker or on the pool; the answer goes out whole or in parts; the
 * transport ends it. If the connection goes away earlier the exchange lives on until its handler
 * has come back. */
#ifndef GH_HTTP_EXCHANGE_H
#define GH_HTTP_EXCHANGE_H

#include "base/arena.h"
#include "base/list.h"
#include "http/request.h"
#include "http/response.h"
#include "http/route.h"
#include "io/mailbox.h"
#include "io/pool.h"
#include "io/stream.h"

struct feed_run;
struct later_run;
struct http_worker;

/* Called with the stream and the bytes that came behind the request; both are the callee's now (the
 * bytes only during the call). 'stream' has no owner yet. */
typedef void (*exchange_upgraded_fn)(void *owner, struct stream *take_stream, struct slice bytes);
typedef void (*exchange_event_fn)(struct exchange *exchange);

/* The only other table of functions beside streams: HTTP/1.1 and HTTP/2 carry the same exchange. */
struct exchange_transport {
    /* Sends the head and, unless the answer is streamed, the body. */
    void (*answer)(struct exchange *exchange);
    /* Sends a part of a streamed answer; 'part' stays valid until exchange_sent. */
    void (*send)(struct exchange *exchange, struct slice part);
    /* Ends a streamed answer. */
    void (*finish)(struct exchange *exchange);
    /* Ends the connection or the HTTP/2 stream in the middle of an answer. */
    void (*abort)(struct exchange *exchange);
    /* Answers 101, or 200 to a CONNECT, and gives the stream away. */
    bool needs_connect; /* it is possible for requests with a tunnel_protocol alone */
    void (*upgrade)(struct exchange *exchange, struct slice protocol,
                    exchange_upgraded_fn on_upgraded, void *owner);
};

/* What the transport does with the body after exchange_start. */
enum exchange_next {
    EXCHANGE_RECEIVE, /* give it to exchange_body, then call exchange_run */
    EXCHANGE_REFUSED, /* the answer went out already; the body is not wanted */
};

struct exchange {
    struct list link; /* in the worker's store of unused ones */
    struct http_worker *worker;
    const struct exchange_transport *transport;
    void *conn; /* the transport's; NULL after exchange_gone */
    struct arena arena;
    struct http_request request;
    struct http_response response;
    enum route_result routed;
    const struct route *route; /* NULL when there is none that this caller may use */
    struct buf body;
    bool body_dropped;
    size_t large_size; /* of the body, where it is larger than the usual */
    bool answered;     /* exchange_answer was called */
    bool on_pool;
    uint64_t started_ns;
    bool is_asking;   /* its handler is on the pool where it may ask others (http/call.h) */
    void *call_state; /* of the handler, from one run to the next */
    struct pool_job job;
    struct mail mail;
    /* Of whoever streams an answer or waits for events, set by the handler. */
    exchange_event_fn on_sent; /* the last part is out: the next may come */
    exchange_event_fn on_gone; /* the connection is gone: send nothing more, call exchange_end */
    void *handler;
    /* Of a handler on the pool that gives the connection away (http/call.h). */
    struct slice upgrade_protocol;
    exchange_upgraded_fn on_upgraded;
    void *upgrade_owner;
    struct feed_run *feed;   /* the answer goes on and on (feed.h) */
    struct later_run *later; /* the answer is not there yet (later.h) */
    bool ends_with_input;    /* nobody waits for it whose input has ended */
    bool has_known_caller;   /* somebody has proven by it who he is */
};

/* For transports ------------------------------------------------------------------------------ */

struct exchange *exchange_new(struct http_worker *worker,
                              const struct exchange_transport *transport, void *conn);
/* The request's head is filled in. 'body_size' is what the head promises, UINT64_MAX if unknown. */
enum exchange_next exchange_start(struct exchange *exchange, uint64_t body_size);
/* ERR_LIMIT, ERR_BUSY: more than the route takes, or than there is room for among all large ones;
 * the refusal went out already. */
enum err exchange_body(struct exchange *exchange, struct slice bytes) MUST_USE;
/* The body is complete. */
void exchange_run(struct exchange *exchange);
/* All of the answer, or the last part of a streamed one, was handed to the kernel. */
void exchange_sent(struct exchange *exchange);
/* The connection is gone before the answer was out. The transport forgets the exchange. */
void exchange_gone(struct exchange *exchange);
/* Nobody reads the body any more; the request has none from here on. */
void exchange_drop_body(struct exchange *exchange);
/* The answer is out. The transport forgets the exchange. */
void exchange_end(struct exchange *exchange);
bool exchange_is_head(const struct exchange *exchange);

/* For call.c: where the handler runs next. */
struct pool *exchange_pool(const struct exchange *exchange);

/* For handlers on the worker ------------------------------------------------------------------ */

/* Once. With response.is_streamed, exchange_send may follow, one part at a time. */
void exchange_answer(struct exchange *exchange);
void exchange_answer_error(struct exchange *exchange, int status, struct slice message);
/* 'part' must stay valid until on_sent. */
void exchange_send(struct exchange *exchange, struct slice part);
void exchange_finish(struct exchange *exchange);
bool exchange_can_upgrade(const struct exchange *exchange);
/* Instead of exchange_answer. False where the connection cannot be upgraded: answer otherwise. */
bool exchange_upgrade(struct exchange *exchange, struct slice protocol,
                      exchange_upgraded_fn on_upgraded, void *owner);

#endif
