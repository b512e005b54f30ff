/* SPDX-License-Identifier: MIT */
/* What the parts of the HTTP server share: server.c, exchange.c, call.c and the connections. */
#ifndef GH_HTTP_SERVER_INTERNAL_H
#define GH_HTTP_SERVER_INTERNAL_H

#include "base/timestamp.h"
#include "http/server.h"
#include "io/timer.h"
#include "wire/http1.h"

struct http_worker {
    const struct http_server *server;
    struct worker *worker;
    struct loop *loop;
    struct listener *listener;
    struct listener *control_listener;
    struct tls_server *tls;
    struct list connections;
    struct list newcomers; /* of them, the longest silent first */
    struct list unused_exchanges;
    size_t unused_exchange_count;
    struct http_metrics *metrics;
    size_t on_pool_count; /* exchanges whose handler is on the pool */
    bool is_draining;
    bool has_left; /* the worker may stop, for all of this */
    struct timer drain_deadline;
    struct loop_task drained;
    /* Scratch, valid within one callback: what was read last, and the request being parsed. */
    char *read_at;
    struct http1_request *parsed;
    struct buf head;   /* of the answer being written */
    struct slice date; /* of the Date header, renewed each second */
    char date_text[TIMESTAMP_TEXT_SIZE];
    uint64_t date_ms;
};

/* While draining: stops the worker when nothing is left to wait for. */
void http_worker_check_drained(struct http_worker *http);

/* The value of the Date header, now. */
struct slice http_worker_date(struct http_worker *http);

#endif
