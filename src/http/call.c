/* SPDX-License-Identifier: MIT */
#include "http/call.h"

#include "base/limits.h"
#include "base/must.h"
#include "http/feed.h"
#include "http/gzip.h"
#include "http/later.h"
#include "http/server_internal.h"
#include "io/log.h"
#include "wire/websocket.h"

#include <inttypes.h>
#include <semaphore.h>
#include <unistd.h>

/* A streamed answer of a pool thread: one mail at a time goes to the worker, and the thread waits
 * until the worker has dealt with it. */
struct call_stream {
    struct exchange *exchange;
    struct mail mail;
    struct slice part;
    sem_t taken;
    enum err result; /* of the last mail, written before 'taken' is posted */
    /* The worker's alone. */
    bool is_begun;
    bool is_sending;
    bool is_gone;
};

struct json_writer http_call_json(struct http_call *call, int status)
{
    call->response->status = status;
    call->response->content_type = SLICE("application/json");
    return json_writer_to(&call->response->buf);
}

enum err http_call_json_end(struct http_call *call, const struct json_writer *json,
                            struct error *reterr)
{
    if (json_writer_done(json) != ERR_NONE) {
        return fail(reterr, ERR_INTERNAL, "the answer to %.*s grew over its limit",
                    SLICE_ARG(call->request->path));
    }
    return ERR_NONE;
}

/* On the worker ------------------------------------------------------------------------------- */

static void call_stream_post(struct call_stream *stream, enum err result)
{
    stream->is_sending = false;
    stream->result = result;
    (void)sem_post(&stream->taken);
}

static void call_stream_taken(struct exchange *exchange)
{
    call_stream_post(exchange->handler, ERR_NONE);
}

static void call_stream_gone(struct exchange *exchange)
{
    struct call_stream *stream = exchange->handler;
    stream->is_gone = true;
    if (stream->is_sending) {
        call_stream_post(stream, ERR_CLOSED);
    }
}

static void call_stream_deliver(struct mail *mail)
{
    struct call_stream *stream = CONTAINER_OF(mail, struct call_stream, mail);
    struct exchange *exchange = stream->exchange;
    if (exchange->conn == NULL || stream->is_gone) {
        call_stream_post(stream, ERR_CLOSED);
        return;
    }
    stream->is_sending = true;
    if (stream->is_begun) {
        exchange_send(exchange, stream->part);
        return;
    }
    stream->is_begun = true;
    exchange->on_sent = call_stream_taken;
    exchange->on_gone = call_stream_gone;
    exchange_answer(exchange);
}

static void call_deliver(struct mail *mail)
{
    struct exchange *exchange = CONTAINER_OF(mail, struct exchange, mail);
    bool was_streamed = exchange->handler != NULL;
    struct http_worker *http = exchange->worker;
    exchange->on_pool = false;
    http->on_pool_count--;
    exchange->on_sent = NULL;
    exchange->on_gone = NULL;
    exchange->handler = NULL;
    if (exchange->conn == NULL) {
        http_later_drop(exchange);
        exchange_end(exchange);
    } else if (exchange->on_upgraded != NULL) {
        must(exchange_upgrade(exchange, exchange->upgrade_protocol, exchange->on_upgraded,
                              exchange->upgrade_owner));
    } else if (exchange->feed != NULL) {
        http_feed_start(exchange);
    } else if (exchange->later != NULL) {
        http_later_start(exchange);
    } else if (!was_streamed) {
        exchange_answer(exchange);
    } else if (exchange->response.is_streamed) {
        exchange_finish(exchange);
    } else {
        exchange->transport->abort(exchange);
    }
    http_worker_check_drained(http);
}

/* On the pool thread -------------------------------------------------------------------------- */

static enum err call_stream_pass(struct call_stream *stream, struct slice part)
{
    stream->part = part;
    stream->mail.deliver = call_stream_deliver;
    mailbox_send(worker_mailbox(stream->exchange->worker->worker), &stream->mail);
    while (sem_wait(&stream->taken) != 0) {
        /* interrupted by a signal */
    }
    return stream->result;
}

static void call_stream_end(void *at)
{
    struct call_stream *stream = at;
    (void)sem_destroy(&stream->taken);
}

enum err http_call_stream_begin(struct http_call *call)
{
    struct call_stream *stream = arena_alloc(call->arena, sizeof(*stream));
    stream->exchange = call->exchange;
    must(sem_init(&stream->taken, 0, 0) == 0);
    arena_on_end(call->arena, call_stream_end, stream);
    call->response->is_streamed = true;
    call->exchange->handler = stream;
    return call_stream_pass(stream, SLICE_NONE);
}

enum err http_call_stream_write(struct http_call *call, struct slice bytes)
{
    return bytes.len == 0 ? ERR_NONE : call_stream_pass(call->exchange->handler, bytes);
}

enum err http_call_upgrade(struct http_call *call, struct slice protocol,
                           exchange_upgraded_fn on_upgraded, void *owner, struct error *reterr)
{
    struct exchange *exchange = call->exchange;
    struct slice asked = http_request_header(call->request, SLICE("Upgrade"));
    if (!slice_equals_nocase(asked, protocol) || !exchange_can_upgrade(exchange)) {
        return fail(reterr, ERR_INPUT, "this is for HTTP/1.1 with 'Upgrade: %.*s'",
                    SLICE_ARG(protocol));
    }
    exchange->upgrade_protocol = protocol;
    exchange->on_upgraded = on_upgraded;
    exchange->upgrade_owner = owner;
    return ERR_NONE;
}

enum err http_call_check_websocket(const struct http_call *call, struct error *reterr)
{
    const struct http_request *request = call->request;
    bool is_connect = slice_equals(request->tunnel_protocol, SLICE("websocket"));
    if (!is_connect && (!websocket_header_has(http_request_header(request, SLICE("Upgrade")),
                                              SLICE("websocket")) ||
                        !websocket_header_has(http_request_header(request, SLICE("Connection")),
                                              SLICE("upgrade")))) {
        return fail(reterr, ERR_INPUT,
                    "this is a WebSocket: it is for HTTP/1.1 with 'Upgrade: websocket', or for "
                    "HTTP/2 with CONNECT and ':protocol' websocket");
    }
    if (!slice_equals(http_request_header(request, SLICE("Sec-WebSocket-Version")), SLICE("13"))) {
        http_response_header(call->response, SLICE("Sec-WebSocket-Version"), SLICE("13"));
        return fail(reterr, ERR_INPUT, "'Sec-WebSocket-Version' must be 13");
    }
    return is_connect || websocket_is_key(http_request_header(request, SLICE("Sec-WebSocket-Key")))
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "'Sec-WebSocket-Key' must be 16 bytes in base64");
}

enum err http_call_websocket(struct http_call *call, exchange_upgraded_fn on_upgraded, void *owner,
                             struct error *reterr)
{
    struct slice key = http_request_header(call->request, SLICE("Sec-WebSocket-Key"));
    enum err err = http_call_check_websocket(call, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (call->request->tunnel_protocol.len == 0) {
        http_response_header(call->response, SLICE("Sec-WebSocket-Accept"),
                             websocket_accept_in(call->arena, key));
    }
    call->exchange->upgrade_protocol = SLICE("websocket");
    call->exchange->on_upgraded = on_upgraded;
    call->exchange->upgrade_owner = owner;
    return ERR_NONE;
}

/* What a person may read of an error; of our own faults only a reference to the log. */
void http_call_answer_error(struct http_call *call, const struct error *error)
{
    int status = err_http_status(error->code);
    struct slice message = slice_of_text(error->message);
    if (status == 500) {
        uint64_t number = 0;
        must(getentropy(&number, sizeof(number)) == 0);
        struct slice reference = arena_format(call->arena, "%016llx", (unsigned long long)number);
        log_line(LOG_API, LOG_ERROR, "a request failed", log_text("reference", reference),
                 log_text("method", call->request->method), log_text("path", call->request->path),
                 log_error_field(error));
        message = arena_format(call->arena, "internal error, reference %.*s", SLICE_ARG(reference));
    } else if (status == 503) {
        log_line(LOG_API, LOG_WARN, "a request could not be served",
                 log_text("path", call->request->path), log_error_field(error));
        struct slice detail = SLICE_NONE;
        message = slice_cut(message, ':', &detail); /* which server and why is for the log */
    }
    http_response_error(call->response, status, message);
    http_response_header(call->response, SLICE("Cache-Control"), SLICE("no-store"));
    if (status == 401) {
        http_response_header(call->response, SLICE("WWW-Authenticate"), SLICE("Bearer"));
    }
    int64_t wait_s = status == 503 ? 1 : call->retry_after_s;
    if (wait_s > 0) {
        http_response_header(call->response, SLICE("Retry-After"),
                             arena_format(call->arena, "%" PRId64, wait_s));
    }
}

static void call_move(struct http_call *call)
{
    struct exchange *exchange = call->exchange;
    http_response_restart(call->response, 200);
    exchange->is_asking = !exchange->is_asking;
    exchange->call_state = call->state;
}

struct http_call http_call_of(struct exchange *exchange)
{
    return (struct http_call){
        .arena = &exchange->arena,
        .request = &exchange->request,
        .response = &exchange->response,
        .context = exchange->worker->server->context,
        .exchange = exchange,
        .may_ask = exchange->is_asking,
        .state = exchange->call_state,
    };
}

void http_call_run(struct pool_job *job)
{
    struct exchange *exchange = CONTAINER_OF(job, struct exchange, job);
    struct http_call call = http_call_of(exchange);
    struct error error = {.code = ERR_INTERNAL, .message = "unknown"};
    enum err err = exchange->route->on_pool(&call, &error);
    if (err == ERR_AGAIN && exchange->handler == NULL &&
        exchange->worker->server->asking_pool != NULL) {
        call_move(&call);
        if (pool_submit(exchange_pool(exchange), &exchange->job) == ERR_NONE) {
            return;
        }
        call.retry_after_s = 1;
        err = fail(&error, ERR_BUSY, "too many requests are waiting, try again in a moment");
    }
    if (err != ERR_NONE && exchange->handler == NULL) {
        exchange->feed = NULL;
        exchange->later = NULL;
        error.code = err;
        exchange->on_upgraded = NULL;
        http_call_answer_error(&call, &error);
    } else if (err != ERR_NONE) {
        exchange->response.is_streamed = false; /* call_deliver cuts it */
    }
    if (exchange->handler == NULL && exchange->feed == NULL && exchange->later == NULL) {
        gzip_answer(&exchange->request, &exchange->response);
    }
    exchange->mail.deliver = call_deliver;
    mailbox_send(worker_mailbox(exchange->worker->worker), &exchange->mail);
}
