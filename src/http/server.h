/* SPDX-License-Identifier: MIT */
/* The HTTP server: what all its workers share, read-only after the start, and one http_worker for
 * each worker thread with its listeners, connections and unused exchanges. */
#ifndef GH_HTTP_SERVER_H
#define GH_HTTP_SERVER_H

#include "base/limits.h"
#include "http/cors.h"
#include "http/exchange.h"
#include "http/metrics.h"
#include "io/listener.h"
#include "io/newcomers.h"
#include "io/pool.h"
#include "io/tls_stream.h"
#include "io/worker.h"
#include "wire/address.h"
#include "wire/host_list.h"

#include <stdatomic.h>

/* How long each phase of a connection may take. */
struct http_deadlines {
    uint64_t head_ms;
    uint64_t body_ms;
    uint64_t idle_ms;
    uint64_t write_ms; /* without any progress */
};

#define HTTP_DEADLINES                                                                             \
    ((struct http_deadlines){.head_ms = LIMIT_HTTP_HEAD_MS,                                        \
                             .body_ms = LIMIT_HTTP_BODY_MS,                                        \
                             .idle_ms = LIMIT_HTTP_IDLE_MS,                                        \
                             .write_ms = LIMIT_HTTP_WRITE_MS})

struct http_server {
    const struct router *router;
    /* Called for paths that no route has (files); answers always. */
    route_inline_fn on_other_path;
    struct pool *pool;
    struct pool *slow_pool;   /* of routes that take long; NULL: the same */
    struct pool *long_pool;   /* of answers that wait for their readers; likewise */
    struct pool *asking_pool; /* where handlers may ask others; NULL: none does */
    void *context;            /* for the handlers */
    bool metrics_for_anyone;
    bool has_proxies;       /* others than the trusted ones are likely, maybe on this machine */
    struct host_list hosts; /* by whose names it may be asked */
    struct network_list trusted_proxies; /* none: the headers that proxies add change nothing */
    struct http_cors cors;
    size_t connection_count_max; /* of one worker */
    atomic_size_t *large_size;   /* bytes of bodies larger than the usual, of all workers; NULL: no
                                    limit on them together */
    struct newcomers *newcomers; /* of all workers, but of no trusted proxies; NULL: no limit */
    struct http_deadlines deadlines;
};

struct http_worker;

/* Before the worker's thread starts. Takes over the listening sockets; control_fd may be -1. */
struct http_worker *http_worker_new(const struct http_server *server, struct worker *worker,
                                    int take_fd, int take_control_fd, struct tls_server *tls);
/* After the worker has been joined. */
void http_worker_free(struct http_worker *http);

/* From any thread: connections from now on use this certificate. */
void http_worker_set_tls(struct http_worker *http, struct tls_server *tls);
/* From any thread: accepts nothing more, ends idle connections, ends the others after their answer;
 * after 'deadline_ms' cuts what is left; then leaves the worker. */
void http_worker_drain(struct http_worker *http, uint64_t deadline_ms);

/* What an upgrade made of a connection: it stays with its worker, counts as one of its connections
 * and takes part in its drain. On the worker's thread. */
struct http_conn {
    struct list link;
    struct list newcomer; /* in the worker's list of connections on which nobody is known yet */
    struct http_worker *http;
    struct http_peer peer;
    /* Ends the connection: at once, or after what is under way. */
    void (*close)(struct http_conn *conn);
    void (*drain)(struct http_conn *conn);
    /* No request of it is being read or answered. Of those in the list of newcomers. */
    bool (*is_silent)(struct http_conn *conn);
};

/* While the worker drains, 'drain' is called inside. */
void http_conn_add(struct http_worker *http, struct http_conn *conn);
void http_conn_remove(struct http_conn *conn);

/* The address has been counted: it is, until somebody is known on it or it ends. After
 * http_conn_add. */
void http_conn_join_newcomers(struct http_conn *conn);
/* Somebody has proven on it who he is. */
void http_conn_leave_newcomers(struct http_conn *conn);
/* It goes from one http_conn to another, which joins: the address stays counted. */
bool http_conn_hand_over(struct http_conn *conn);
/* An answer is out. */
void http_conn_fall_silent(struct http_conn *conn);

struct worker *http_worker_thread(struct http_worker *http);
/* On the worker's thread: nothing new may be added, for it may have left its worker already. */
bool http_worker_is_draining(const struct http_worker *http);

/* For the metrics page; counters of other threads, each read whole. */
const struct http_metrics *http_worker_metrics(const struct http_worker *http);

#endif
