/* SPDX-License-Identifier: MIT */
#include "http/exchange.h"

#include "base/limits.h"
#include "base/must.h"
#include "http/call.h"
#include "http/client.h"
#include "http/server_internal.h"
#include "io/log.h"
#include "wire/forwarded.h"

struct exchange *exchange_new(struct http_worker *worker,
                              const struct exchange_transport *transport, void *conn)
{
    struct list *link = list_take_first(&worker->unused_exchanges);
    struct exchange *exchange = NULL;
    if (link != NULL) {
        exchange = LIST_ITEM(link, struct exchange, link);
        worker->unused_exchange_count--;
    } else {
        exchange = memory_new(sizeof(*exchange));
        arena_init(&exchange->arena);
        list_init(&exchange->link);
    }
    exchange->worker = worker;
    exchange->transport = transport;
    exchange->conn = conn;
    exchange->request = (struct http_request){0};
    http_response_init(&exchange->response);
    exchange->route = NULL;
    buf_init(&exchange->body, 0);
    exchange->body_dropped = false;
    exchange->large_size = 0;
    exchange->answered = false;
    exchange->on_pool = false;
    exchange->is_asking = false;
    exchange->call_state = NULL;
    exchange->on_sent = NULL;
    exchange->on_gone = NULL;
    exchange->handler = NULL;
    exchange->on_upgraded = NULL;
    exchange->feed = NULL;
    exchange->ends_with_input = false;
    exchange->has_known_caller = false;
    exchange->started_ns = uv_hrtime();
    return exchange;
}

static void exchange_record(struct exchange *exchange)
{
    struct http_worker *worker = exchange->worker;
    uint64_t duration_us = (uv_hrtime() - exchange->started_ns) / 1000;
    int status = exchange->answered ? exchange->response.status : 499;
    http_metrics_record(worker->metrics, router_index_of(worker->server->router, exchange->route),
                        status, duration_us);
    log_line(LOG_HTTP, LOG_DEBUG, "answered", log_text("method", exchange->request.method),
             log_text("path", exchange->request.path), log_number("status", status),
             log_number("duration_us", (int64_t)duration_us),
             log_text("peer", slice_of_text(exchange->request.peer.address)));
}

void exchange_drop_body(struct exchange *exchange)
{
    const struct http_server *server = exchange->worker->server;
    buf_clear(&exchange->body);
    exchange->request.body = SLICE("");
    if (exchange->large_size > 0) {
        atomic_fetch_sub(server->large_size, exchange->large_size);
        exchange->large_size = 0;
    }
}

void exchange_end(struct exchange *exchange)
{
    struct http_worker *worker = exchange->worker;
    exchange_record(exchange);
    http_response_release(&exchange->response);
    exchange_drop_body(exchange);
    buf_release(&exchange->body);
    if (worker->unused_exchange_count >= LIMIT_HTTP_UNUSED_EXCHANGES) {
        arena_release(&exchange->arena);
        memory_free(exchange);
        return;
    }
    arena_reset(&exchange->arena);
    list_append(&worker->unused_exchanges, &exchange->link);
    worker->unused_exchange_count++;
}

bool exchange_is_head(const struct exchange *exchange)
{
    return slice_equals(exchange->request.method, SLICE("HEAD"));
}

/* Asked by this machine for itself. A proxy on it that is trusted says for whom it asks. Any other
 * has the same address: it may add a header, ask by another name, or be likely. */
static bool exchange_is_from_here(const struct exchange *exchange)
{
    const struct http_request *request = &exchange->request;
    struct host_list here = {.is_checked = true, .is_here = true};
    bool is_direct = !exchange->worker->server->has_proxies &&
                     !forwarded_is_there(request->headers, request->header_count) &&
                     host_list_has(&here, request->host);
    return request->peer.is_loopback && (request->has_trusted_peer || is_direct);
}

/* Who may not as he is may with a credential, which is looked at where it is known. */
static bool exchange_may_read_metrics(struct exchange *exchange)
{
    struct http_request *request = &exchange->request;
    request->needs_credential = !exchange->worker->server->metrics_for_anyone &&
                                !request->peer.is_control && !exchange_is_from_here(exchange);
    return !request->needs_credential ||
           http_request_header(request, SLICE("Authorization")).len > 0 ||
           http_request_header(request, SLICE("Api-Key")).len > 0;
}

static bool exchange_may_call(struct exchange *exchange)
{
    const struct http_peer *peer = &exchange->request.peer;
    switch (exchange->route->access) {
    case ROUTE_ANYONE:
        return true;
    case ROUTE_METRICS:
        return exchange_may_read_metrics(exchange);
    case ROUTE_CONTROL:
        return peer->is_control;
    }
    return false;
}

/* OPTIONS tells which methods there are; any other unknown method is refused with the same list. */
static void exchange_answer_methods(struct exchange *exchange)
{
    struct slice allowed =
        router_allowed(exchange->worker->server->router, &exchange->arena, exchange->request.path);
    if (slice_equals(exchange->request.method, SLICE("OPTIONS"))) {
        http_response_restart(&exchange->response, 204);
    } else {
        http_response_error(&exchange->response, 405,
                            arena_format(&exchange->arena, "'%.*s' is not possible here, only %.*s",
                                         SLICE_ARG(exchange->request.method), SLICE_ARG(allowed)));
    }
    http_response_header(&exchange->response, SLICE("Allow"), allowed);
    if (exchange->response.status == 204) {
        cors_answer_preflight(exchange, allowed);
    }
    exchange_answer(exchange);
}

/* The name in Host or :authority, and in both where there are two. A program that names none
 * (HTTP/1.0) is no browser. */
static bool exchange_host_is_known(struct exchange *exchange)
{
    struct http_request *request = &exchange->request;
    const struct host_list *hosts = &exchange->worker->server->hosts;
    for (size_t i = 0; i < request->header_count; i++) {
        const struct http_header *header = &request->headers[i];
        if (!slice_equals_nocase(header->name, SLICE("host"))) {
            continue;
        }
        request->host = request->host.len == 0 ? header->value : request->host;
        if (!request->peer.is_control && !host_list_has(hosts, header->value)) {
            return false;
        }
    }
    return request->peer.is_control || request->host.len == 0 ||
           host_list_has(hosts, request->host);
}

enum exchange_next exchange_start(struct exchange *exchange, uint64_t body_size)
{
    const struct http_server *server = exchange->worker->server;
    http_client_find(&server->trusted_proxies, &exchange->request);
    if (!exchange_host_is_known(exchange)) {
        exchange_answer_error(exchange, 421,
                              arena_format(&exchange->arena,
                                           "this gateway is not known as '%.*s': ask it by its "
                                           "public URL, or have whoever operates it list the name "
                                           "in --allowed-hosts",
                                           SLICE_ARG(exchange->request.host)));
        return EXCHANGE_REFUSED;
    }
    cors_judge(&server->cors, &exchange->request);
    exchange->routed =
        router_find(server->router, &exchange->arena, &exchange->request, &exchange->route);
    if (exchange->routed == ROUTE_BAD_PATH) {
        exchange_answer_error(exchange, 400, SLICE("the path is not percent-encoded UTF-8"));
        return EXCHANGE_REFUSED;
    }
    if (exchange->route != NULL && !exchange_may_call(exchange)) {
        exchange->route = NULL; /* for this caller the path does not exist */
    }
    size_t size_max = exchange->route == NULL ? 0 : exchange->route->body_size_max;
    exchange->body_dropped = size_max == 0;
    buf_init(&exchange->body, exchange->body_dropped ? LIMIT_HTTP_BODY_SIZE : size_max);
    if (body_size != UINT64_MAX && body_size > exchange->body.size_max) {
        exchange_answer_error(exchange, 413,
                              arena_format(&exchange->arena, "the body is larger than %zu bytes",
                                           exchange->body.size_max));
        return EXCHANGE_REFUSED;
    }
    return EXCHANGE_RECEIVE;
}

/* Callers are not known yet when bodies come: what they may fill together has a limit. */
static enum err exchange_make_room(struct exchange *exchange, size_t size)
{
    const struct http_server *server = exchange->worker->server;
    size_t wanted = exchange->body.len + size;
    if (server->large_size == NULL || wanted <= LIMIT_HTTP_BODY_SIZE) {
        return ERR_NONE;
    }
    size_t more = wanted - exchange->large_size;
    if (atomic_fetch_add(server->large_size, more) + more > LIMIT_HTTP_LARGE_SIZE) {
        atomic_fetch_sub(server->large_size, more);
        return ERR_BUSY;
    }
    exchange->large_size = wanted;
    return ERR_NONE;
}

enum err exchange_body(struct exchange *exchange, struct slice bytes)
{
    struct buf *body = &exchange->body;
    if (exchange->body_dropped && bytes.len <= body->size_max) {
        body->size_max -= bytes.len; /* what may still come before it is too much */
        return ERR_NONE;
    }
    enum err err = exchange_make_room(exchange, bytes.len);
    if (err != ERR_NONE) {
        http_response_error(&exchange->response, 503,
                            SLICE("too many large requests come at once, try again in a moment"));
        http_response_header(&exchange->response, SLICE("Retry-After"), SLICE("1"));
        exchange_answer(exchange);
        return err;
    }
    err = buf_append(body, bytes);
    if (err != ERR_NONE) {
        exchange_answer_error(exchange, 413, SLICE("the body is too large"));
    }
    return err;
}

struct pool *exchange_pool(const struct exchange *exchange)
{
    const struct http_server *server = exchange->worker->server;
    struct pool *pool = exchange->is_asking        ? server->asking_pool
                        : exchange->route->is_slow ? server->slow_pool
                        : exchange->route->is_long ? server->long_pool
                                                   : server->pool;
    return pool == NULL ? server->pool : pool;
}

/* A full queue of slow routes is their callers' doing, any other is ours. */
static void exchange_submit(struct exchange *exchange)
{
    const struct http_server *server = exchange->worker->server;
    struct pool *pool = exchange_pool(exchange);
    exchange->job.run = http_call_run;
    exchange->on_pool = true;
    exchange->worker->on_pool_count++;
    if (pool_submit(pool, &exchange->job) != ERR_NONE) {
        exchange->on_pool = false;
        exchange->worker->on_pool_count--;
        http_response_error(&exchange->response, pool != server->pool ? 429 : 503,
                            SLICE("too many requests are waiting, try again in a moment"));
        http_response_header(&exchange->response, SLICE("Retry-After"), SLICE("1"));
        exchange_answer(exchange);
    }
}

void exchange_run(struct exchange *exchange)
{
    exchange->request.body = buf_view(&exchange->body);
    if (exchange->routed == ROUTE_NO_METHOD) {
        exchange_answer_methods(exchange);
        return;
    }
    if (exchange->route == NULL) {
        exchange->worker->server->on_other_path(exchange);
        return;
    }
    if (exchange->route->on_worker != NULL) {
        exchange->route->on_worker(exchange);
        return;
    }
    exchange_submit(exchange);
}

void exchange_answer(struct exchange *exchange)
{
    must(!exchange->answered);
    exchange->answered = true;
    cors_complete(&exchange->worker->server->cors, exchange);
    exchange->transport->answer(exchange);
}

void exchange_answer_error(struct exchange *exchange, int status, struct slice message)
{
    http_response_error(&exchange->response, status, message);
    exchange_answer(exchange);
}

void exchange_send(struct exchange *exchange, struct slice part)
{
    exchange->transport->send(exchange, part);
}

void exchange_finish(struct exchange *exchange)
{
    exchange->transport->finish(exchange);
}

bool exchange_can_upgrade(const struct exchange *exchange)
{
    return !exchange->transport->needs_connect || exchange->request.tunnel_protocol.len > 0;
}

bool exchange_upgrade(struct exchange *exchange, struct slice protocol,
                      exchange_upgraded_fn on_upgraded, void *owner)
{
    if (!exchange_can_upgrade(exchange)) {
        return false;
    }
    exchange->answered = true;
    exchange->response.status = 101;
    exchange->transport->upgrade(exchange, protocol, on_upgraded, owner);
    return true;
}

void exchange_sent(struct exchange *exchange)
{
    if (exchange->on_sent != NULL) {
        exchange->on_sent(exchange);
    }
}

void exchange_gone(struct exchange *exchange)
{
    exchange->conn = NULL;
    if (exchange->on_gone != NULL) {
        exchange->on_gone(exchange);
    } else if (!exchange->on_pool) {
        exchange_end(exchange);
    }
}
