/* SPDX-License-Identifier: MIT */
/* The HTTP server with routes that the gateway has no use for yet, for the tests of what every
 * later route relies on: streamed answers from the pool and from the worker, upgrades, slow
 * handlers. Prints "port N", then serves until SIGTERM. Usage: http_test_server [FAULT] */
#include "base/limits.h"
#include "base/must.h"
#include "http/call.h"
#include "http/server.h"
#include "io/fault.h"
#include "io/log.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

/* POST /echo: the body, as it came. */
static enum err echo(struct http_call *call, struct error *reterr)
{
    (void)reterr;
    call->response->content_type = SLICE("application/octet-stream");
    return buf_append(&call->response->buf, call->request->body);
}

static size_t number_at(const struct http_call *call, size_t index)
{
    return strtoul(arena_text(call->arena, call->request->values[index]), NULL, 10);
}

/* GET /stream/{parts}/{size}: so many parts of so many bytes, each a letter further. */
static enum err stream(struct http_call *call, struct error *reterr)
{
    size_t part_count = number_at(call, 0);
    size_t size = number_at(call, 1);
    char *part = arena_alloc(call->arena, size);
    call->response->content_type = SLICE("text/plain");
    enum err err = http_call_stream_begin(call);
    for (size_t i = 0; i < part_count && err == ERR_NONE; i++) {
        memset(part, (int)('a' + i % 26), size);
        err = http_call_stream_write(call, slice_of(part, size));
    }
    return err == ERR_NONE ? ERR_NONE : fail(reterr, err, "the client left");
}

/* GET /broken: a streamed answer that fails in the middle. */
static enum err broken(struct http_call *call, struct error *reterr)
{
    call->response->content_type = SLICE("text/plain");
    enum err err = http_call_stream_begin(call);
    if (err == ERR_NONE) {
        err = http_call_stream_write(call, SLICE("the first part"));
    }
    return err == ERR_NONE ? fail(reterr, ERR_IO, "on purpose") : err;
}

/* GET /slow/{ms}: answers later. */
static enum err slow(struct http_call *call, struct error *reterr)
{
    (void)usleep((useconds_t)number_at(call, 0) * 1000);
    struct json_writer json = http_call_json(call, 200);
    json_begin_object(&json);
    json_end_object(&json);
    return http_call_json_end(call, &json, reterr);
}

/* GET /fail: our own fault, whose text must not leave the process. */
static enum err fail_inside(struct http_call *call, struct error *reterr)
{
    (void)call;
    return fail(reterr, ERR_INTERNAL, "the secret cause");
}

/* GET /events/{count}: events from the worker itself, as server-sent events, one after the other.
 */
struct events {
    size_t left;
    char line[64];
};

static void events_next(struct exchange *exchange)
{
    struct events *events = exchange->handler;
    if (events->left == 0) {
        exchange->on_sent = NULL;
        exchange->on_gone = NULL;
        exchange_finish(exchange);
        return;
    }
    int len = snprintf(events->line, sizeof(events->line), "data: %zu\n\n", events->left--);
    exchange_send(exchange, slice_of(events->line, (size_t)len));
}

static void events_gone(struct exchange *exchange)
{
    exchange_end(exchange);
}

static void events(struct exchange *exchange)
{
    struct events *events = arena_alloc(&exchange->arena, sizeof(*events));
    events->left = strtoul(arena_text(&exchange->arena, exchange->request.values[0]), NULL, 10);
    exchange->handler = events;
    exchange->on_sent = events_next;
    exchange->on_gone = events_gone;
    exchange->response.content_type = SLICE("text/event-stream");
    exchange->response.is_streamed = true;
    exchange_answer(exchange);
}

/* GET /upgrade: from then on every byte comes back, until the client closes. */
struct echo_peer {
    struct stream *stream;
    char bytes[4096];
};

static void echo_peer_write(struct echo_peer *peer, struct slice bytes)
{
    while (bytes.len > 0) {
        size_t taken = 0;
        if (stream_write(peer->stream, &bytes, 1, &taken) == ERR_NONE) {
            bytes = slice_from(bytes, taken);
        }
    }
}

static void echo_peer_on_event(void *owner, unsigned events)
{
    struct echo_peer *peer = owner;
    size_t len = 0;
    (void)events;
    enum err err = stream_read(peer->stream, peer->bytes, sizeof(peer->bytes), &len);
    if (err == ERR_NONE) {
        echo_peer_write(peer, slice_of(peer->bytes, len));
    } else if (err != ERR_AGAIN) {
        stream_close(peer->stream);
        memory_free(peer);
    }
}

static void upgraded(void *owner, struct stream *take_stream, struct slice bytes)
{
    struct echo_peer *peer = memory_new(sizeof(*peer));
    (void)owner;
    peer->stream = take_stream;
    stream_own(take_stream, echo_peer_on_event, peer);
    echo_peer_write(peer, bytes);
    stream_watch(take_stream, STREAM_READABLE);
}

static void upgrade(struct exchange *exchange)
{
    if (!exchange_upgrade(exchange, SLICE("echo"), upgraded, NULL)) {
        exchange_answer_error(exchange, 400, SLICE("this connection cannot be upgraded"));
    }
}

static void other_path(struct exchange *exchange)
{
    exchange_answer_error(exchange, 404, SLICE("there is nothing here"));
}

static const struct route routes[] = {
    {SLICE_INIT("POST"), SLICE_INIT("/echo"), ROUTE_ANYONE, LIMIT_HTTP_BODY_SIZE, .on_pool = echo},
    {SLICE_INIT("GET"), SLICE_INIT("/stream/{parts}/{size}"), ROUTE_ANYONE, 0, .on_pool = stream},
    {SLICE_INIT("GET"), SLICE_INIT("/broken"), ROUTE_ANYONE, 0, .on_pool = broken},
    {SLICE_INIT("GET"), SLICE_INIT("/slow/{ms}"), ROUTE_ANYONE, 0, .on_pool = slow},
    {SLICE_INIT("GET"), SLICE_INIT("/fail"), ROUTE_ANYONE, 0, .on_pool = fail_inside},
    {SLICE_INIT("GET"), SLICE_INIT("/events/{count}"), ROUTE_ANYONE, 0, .on_worker = events},
    {SLICE_INIT("GET"), SLICE_INIT("/upgrade"), ROUTE_ANYONE, 0, .on_worker = upgrade},
};

int main(int argument_count, char **arguments)
{
    struct fault fault = {0};
    struct error error = {0};
    int fd = -1;
    sigset_t signals;
    must(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    log_start(STDERR_FILENO, LOG_FORMAT_TEXT);
    bool is_faulty = argument_count > 1 && strcmp(arguments[1], "-") != 0;
    struct tls_server *tls = NULL;
    if ((is_faulty && fault_parse(slice_of_text(arguments[1]), &fault, &error) != ERR_NONE) ||
        (argument_count > 3 && tls_server_new(arguments[2], arguments[3], SLICE("h2,http/1.1"),
                                              &tls, &error) != ERR_NONE) ||
        listener_open_sockets(SLICE("127.0.0.1:0"), 1, &fd, &error) != ERR_NONE) {
        (void)fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    struct http_server server = {
        .router = router_new(routes, COUNT_OF(routes)),
        .on_other_path = other_path,
        .pool = pool_new(8, 16),
        .connection_count_max = LIMIT_HTTP_CONNECTIONS,
        .deadlines = {.head_ms = 400, .body_ms = 600, .idle_ms = 900, .write_ms = 700},
    };
    (void)printf("port %u\n", listener_port(fd));
    (void)fflush(stdout);
    struct worker *worker = worker_new(0, is_faulty ? &fault : NULL);
    struct http_worker *http = http_worker_new(&server, worker, fd, -1, tls);
    must(worker_start(worker) == ERR_NONE);
    int number = 0;
    (void)sigwait(&signals, &number);
    http_worker_drain(http, 2000);
    worker_join(worker);
    pool_free(server.pool);
    worker_free(worker);
    http_worker_free(http);
    tls_server_unref(tls);
    router_free((struct router *)(uintptr_t)server.router);
    return 0;
}
