/* SPDX-License-Identifier: MIT */
#include "http/http1_conn.h"

#include "base/limits.h"
#include "base/must.h"
#include "http/http1_conn_internal.h"
#include "http/http2_conn.h"

static void http1_conn_free(void *owner)
{
    struct http1_conn *conn = owner;
    buf_release(&conn->inbox);
    memory_free(conn);
}

/* Leaves the worker; the memory goes at the end of the turn. */
static void http1_conn_leave(struct http1_conn *conn)
{
    conn->phase = HTTP1_PHASE_CLOSED;
    timer_stop(&conn->timer);
    loop_task_cancel(&conn->sent_task);
    http_conn_remove(&conn->conn);
    loop_defer(conn->conn.http->loop, &conn->free_task);
}

void http1_conn_close(struct http1_conn *conn)
{
    if (conn->phase == HTTP1_PHASE_CLOSED) {
        return;
    }
    stream_close(conn->stream);
    http1_conn_leave(conn);
    if (conn->exchange != NULL) {
        struct exchange *exchange = conn->exchange;
        conn->exchange = NULL;
        exchange_gone(exchange);
    }
}

void http1_conn_upgrade(struct http1_conn *conn)
{
    struct stream *stream = conn->stream;
    struct exchange *exchange = conn->exchange;
    conn->exchange = NULL;
    stream_watch(stream, 0);
    http1_conn_leave(conn);
    conn->on_upgraded(conn->upgrade_owner, stream, buf_view(&conn->inbox));
    exchange_end(exchange);
}

void http1_conn_watch(struct http1_conn *conn)
{
    unsigned events = 0;
    bool is_full = conn->inbox.len >= LIMIT_HTTP_HEAD_SIZE &&
                   (conn->phase == HTTP1_PHASE_HANDLE || conn->phase == HTTP1_PHASE_ANSWER);
    if (!conn->input_ended && !is_full) {
        events |= STREAM_READABLE;
    }
    bool is_ending = conn->phase == HTTP1_PHASE_LINGER && !conn->is_shut_down;
    if (conn->out_count > 0 || is_ending) {
        events |= STREAM_WRITABLE;
    }
    stream_watch(conn->stream, events);
}

/* Ends our direction and waits for the client to end its own. Called again while the end, or what
 * the stream still holds, cannot be sent. */
static void http1_conn_linger(struct http1_conn *conn)
{
    struct loop *loop = conn->conn.http->loop;
    enum err err = stream_shutdown(conn->stream);
    conn->is_shut_down = err == ERR_NONE;
    if ((err != ERR_NONE && err != ERR_AGAIN) || (conn->input_ended && conn->is_shut_down)) {
        http1_conn_close(conn);
        return;
    }
    conn->phase = HTTP1_PHASE_LINGER;
    buf_clear(&conn->inbox);
    timer_start(loop, &conn->timer,
                conn->is_shut_down ? LIMIT_HTTP_LINGER_MS
                                   : conn->conn.http->server->deadlines.write_ms);
    http1_conn_watch(conn);
}

/* A request that cannot be understood: answered without a route, then the connection ends. */
static void http1_conn_refuse(struct http1_conn *conn, int status, const char *text)
{
    struct exchange *exchange = exchange_new(conn->conn.http, &http1_transport, conn);
    exchange->request.peer = conn->conn.peer;
    conn->exchange = exchange;
    conn->keep_alive = false;
    conn->phase = HTTP1_PHASE_HANDLE;
    exchange_answer_error(exchange, status, slice_of_text(text));
}

/* Reading a head ----------------------------------------------------------------------------- */

static void http1_conn_fill_request(struct http1_conn *conn, const struct http1_request *parsed)
{
    struct http_request *request = &conn->exchange->request;
    size_t size = parsed->header_count * sizeof(struct http_header);
    struct http_header *headers = arena_alloc(&conn->exchange->arena, size);
    memcpy(headers, parsed->headers, size);
    request->method = parsed->method;
    request->path = parsed->path;
    request->query = parsed->query;
    request->host = parsed->host;
    request->headers = headers;
    request->header_count = parsed->header_count;
    request->peer = conn->conn.peer;
    request->is_encrypted = stream_is_encrypted(conn->stream);
}

static void http1_conn_expect_body(struct http1_conn *conn, const struct http1_request *parsed)
{
    conn->phase = HTTP1_PHASE_BODY;
    conn->body_kind = parsed->body;
    conn->body_left = parsed->content_length;
    conn->chunked = (struct http1_chunked){0};
    if (parsed->body == HTTP1_BODY_NONE) {
        conn->phase = HTTP1_PHASE_HANDLE;
        exchange_run(conn->exchange);
        return;
    }
    timer_start(conn->conn.http->loop, &conn->timer, conn->conn.http->server->deadlines.body_ms);
    if (parsed->expect_continue) {
        http1_conn_put(conn, SLICE("HTTP/1.1 100 Continue\r\n\r\n"));
        http1_conn_flush(conn);
    }
}

static void http1_conn_start_exchange(struct http1_conn *conn, struct slice head)
{
    struct http_worker *http = conn->conn.http;
    struct http1_request *parsed = http->parsed;
    struct http1_problem problem = {0};
    struct exchange *exchange = exchange_new(http, &http1_transport, conn);
    if (http1_request_parse(arena_copy(&exchange->arena, head), parsed, &problem) != ERR_NONE) {
        exchange_end(exchange);
        http1_conn_refuse(conn, problem.status, problem.text);
        return;
    }
    timer_stop(&conn->timer);
    conn->exchange = exchange;
    conn->is_http10 = parsed->version_minor == 0;
    conn->keep_alive = parsed->keep_alive && !http->is_draining;
    http1_conn_fill_request(conn, parsed);
    conn->phase = HTTP1_PHASE_HANDLE;
    uint64_t size = parsed->body == HTTP1_BODY_CHUNKED ? UINT64_MAX : parsed->content_length;
    bool has_body = parsed->body != HTTP1_BODY_NONE;
    bool keep_alive = conn->keep_alive;
    conn->keep_alive = keep_alive && !has_body; /* a refusal leaves the body unread */
    if (exchange_start(exchange, size) == EXCHANGE_RECEIVE) {
        conn->keep_alive = keep_alive;
        http1_conn_expect_body(conn, parsed);
    }
}

/* Returns how much of the input was used; 0 when more must come. */
static size_t http1_conn_consume_head(struct http1_conn *conn, struct slice input)
{
    struct http1_problem problem = {0};
    size_t size = 0;
    enum err err = http1_head_find(input, &conn->scanned, &size, &problem);
    if (err == ERR_MORE) {
        return 0;
    }
    conn->scanned = 0;
    if (err != ERR_NONE) {
        http1_conn_refuse(conn, problem.status, problem.text);
        return input.len;
    }
    http1_conn_start_exchange(conn, slice_sub(input, 0, size));
    return size;
}

/* Reading a body ----------------------------------------------------------------------------- */

static void http1_conn_body_done(struct http1_conn *conn)
{
    conn->phase = HTTP1_PHASE_HANDLE;
    timer_stop(&conn->timer);
    exchange_run(conn->exchange);
}

/* False: it was refused, and the answer is on its way. */
static bool http1_conn_take_body(struct http1_conn *conn, struct slice bytes)
{
    bool keep_alive = conn->keep_alive;
    conn->keep_alive = false; /* if it is refused now */
    conn->phase = HTTP1_PHASE_HANDLE;
    if (exchange_body(conn->exchange, bytes) != ERR_NONE) {
        return false;
    }
    conn->keep_alive = keep_alive;
    conn->phase = HTTP1_PHASE_BODY;
    return true;
}

static size_t http1_conn_consume_length(struct http1_conn *conn, struct slice input)
{
    size_t size = input.len < conn->body_left ? input.len : (size_t)conn->body_left;
    conn->body_left -= size;
    if (!http1_conn_take_body(conn, slice_sub(input, 0, size))) {
        return input.len;
    }
    if (conn->body_left == 0) {
        http1_conn_body_done(conn);
    }
    return size;
}

static size_t http1_conn_consume_chunked(struct http1_conn *conn, struct slice input)
{
    size_t taken = 0;
    struct slice data = SLICE_NONE;
    enum err err = http1_chunked_next(&conn->chunked, input, &taken, &data);
    if (err == ERR_MORE) {
        return input.len;
    }
    if (err != ERR_NONE) {
        conn->keep_alive = false;
        conn->phase = HTTP1_PHASE_HANDLE;
        exchange_answer_error(conn->exchange, 400, SLICE("the chunked body is malformed"));
        return input.len;
    }
    if (data.len > 0 && !http1_conn_take_body(conn, data)) {
        return input.len;
    }
    if (conn->chunked.done) {
        http1_conn_body_done(conn);
    }
    return taken;
}

static size_t http1_conn_consume_body(struct http1_conn *conn, struct slice input)
{
    return conn->body_kind == HTTP1_BODY_CHUNKED ? http1_conn_consume_chunked(conn, input)
                                                 : http1_conn_consume_length(conn, input);
}

/* The input loop ----------------------------------------------------------------------------- */

/* Uses as much input as there are requests that are answered at once; returns how much. */
static size_t http1_conn_consume(struct http1_conn *conn, struct slice input)
{
    size_t used = 0;
    conn->is_consuming = true;
    while (used < input.len &&
           (conn->phase == HTTP1_PHASE_HEAD || conn->phase == HTTP1_PHASE_BODY)) {
        struct slice rest = slice_from(input, used);
        size_t taken = conn->phase == HTTP1_PHASE_HEAD ? http1_conn_consume_head(conn, rest)
                                                       : http1_conn_consume_body(conn, rest);
        if (taken == 0) {
            break;
        }
        used += taken;
    }
    conn->is_consuming = false;
    return used;
}

/* Goes on with what was read before. */
static void http1_conn_resume(struct http1_conn *conn)
{
    size_t used = http1_conn_consume(conn, buf_view(&conn->inbox));
    if (conn->phase == HTTP1_PHASE_CLOSED) {
        return;
    }
    buf_consume(&conn->inbox, used < conn->inbox.len ? used : conn->inbox.len);
    if (conn->inbox.len == 0) {
        buf_clear(&conn->inbox);
    }
    if (conn->is_upgrade_ready) {
        http1_conn_upgrade(conn);
        return;
    }
    if (conn->phase == HTTP1_PHASE_HEAD && conn->input_ended) {
        http1_conn_linger(conn);
        return;
    }
    if (conn->phase == HTTP1_PHASE_HEAD && conn->inbox.len > 0) {
        timer_start(conn->conn.http->loop, &conn->timer,
                    conn->conn.http->server->deadlines.head_ms);
    }
    http1_conn_watch(conn);
}

void http1_conn_answered(struct http1_conn *conn)
{
    struct exchange *exchange = conn->exchange;
    conn->exchange = NULL;
    conn->is_last_out = false;
    conn->is_chunked_out = false;
    exchange_end(exchange);
    if (!conn->keep_alive) {
        http1_conn_linger(conn);
        return;
    }
    conn->phase = HTTP1_PHASE_HEAD;
    http_conn_fall_silent(&conn->conn);
    timer_start(conn->conn.http->loop, &conn->timer, conn->conn.http->server->deadlines.idle_ms);
    if (!conn->is_consuming && (conn->inbox.len > 0 || conn->input_ended)) {
        http1_conn_resume(conn);
    }
}

static void http1_conn_take_input(struct http1_conn *conn, struct slice input)
{
    bool was_idle = conn->phase == HTTP1_PHASE_HEAD && conn->inbox.len == 0;
    if (conn->inbox.len > 0 || conn->phase == HTTP1_PHASE_HANDLE ||
        conn->phase == HTTP1_PHASE_ANSWER) {
        must(buf_append(&conn->inbox, input) == ERR_NONE);
        http1_conn_resume(conn);
        return;
    }
    size_t used = http1_conn_consume(conn, input);
    if (conn->phase == HTTP1_PHASE_CLOSED || conn->phase == HTTP1_PHASE_LINGER) {
        return;
    }
    if (used < input.len) {
        must(buf_append(&conn->inbox, slice_from(input, used)) == ERR_NONE);
    }
    if (conn->is_upgrade_ready) {
        http1_conn_upgrade(conn);
        return;
    }
    if (conn->phase == HTTP1_PHASE_HEAD && was_idle && conn->inbox.len > 0) {
        timer_start(conn->conn.http->loop, &conn->timer,
                    conn->conn.http->server->deadlines.head_ms);
    }
    http1_conn_watch(conn);
}

static void http1_conn_on_end(struct http1_conn *conn)
{
    conn->input_ended = true;
    if (conn->phase == HTTP1_PHASE_LINGER && !conn->is_shut_down) {
        http1_conn_watch(conn);
        return;
    }
    bool is_answering = conn->phase == HTTP1_PHASE_HANDLE || conn->phase == HTTP1_PHASE_ANSWER;
    if (is_answering && !conn->exchange->ends_with_input) {
        http1_conn_watch(conn); /* a client may close its half and wait for the answers */
        return;
    }
    http1_conn_close(conn);
}

/* Gives the connection to HTTP/2, which the client and we agreed on in the TLS handshake. */
static void http1_conn_become_http2(struct http1_conn *conn, struct slice input)
{
    struct stream *stream = conn->stream;
    struct http_worker *http = conn->conn.http;
    struct http_peer peer = conn->conn.peer;
    bool is_newcomer = http_conn_hand_over(&conn->conn);
    http1_conn_leave(conn);
    http2_conn_start(http, stream, &peer, is_newcomer, input);
}

static void http1_conn_receive(struct http1_conn *conn)
{
    char *at = conn->conn.http->read_at;
    size_t len = 0;
    enum err err = stream_read(conn->stream, at, LIMIT_READ_SIZE, &len);
    if (err == ERR_AGAIN) {
        return;
    }
    if (err == ERR_CLOSED) {
        http1_conn_on_end(conn);
        return;
    }
    if (err != ERR_NONE) {
        http1_conn_close(conn);
        return;
    }
    if (conn->phase == HTTP1_PHASE_LINGER) {
        return;
    }
    if (conn->is_new && slice_equals(stream_protocol(conn->stream), SLICE("h2"))) {
        http1_conn_become_http2(conn, slice_of(at, len));
        return;
    }
    conn->is_new = false;
    http1_conn_take_input(conn, slice_of(at, len));
}

static void http1_conn_on_event(void *owner, unsigned events)
{
    struct http1_conn *conn = owner;
    if ((events & STREAM_WRITABLE) != 0 && conn->phase == HTTP1_PHASE_LINGER) {
        http1_conn_linger(conn);
    } else if ((events & STREAM_WRITABLE) != 0 && conn->phase != HTTP1_PHASE_CLOSED) {
        http1_conn_flush(conn);
    }
    if ((events & STREAM_READABLE) != 0 && conn->phase != HTTP1_PHASE_CLOSED) {
        http1_conn_receive(conn);
    }
}

static void http1_conn_on_deadline(void *owner)
{
    struct http1_conn *conn = owner;
    if (conn->phase == HTTP1_PHASE_HEAD && conn->inbox.len > 0) {
        http1_conn_refuse(conn, 408, "the request head did not come in time");
    } else if (conn->phase == HTTP1_PHASE_BODY && conn->out_count == 0) {
        conn->keep_alive = false;
        conn->phase = HTTP1_PHASE_HANDLE;
        exchange_answer_error(conn->exchange, 408, SLICE("the body did not come in time"));
    } else {
        http1_conn_close(conn);
    }
}

static void http1_conn_cut(struct http_conn *base)
{
    http1_conn_close(CONTAINER_OF(base, struct http1_conn, conn));
}

static void http1_conn_drain(struct http_conn *base)
{
    struct http1_conn *conn = CONTAINER_OF(base, struct http1_conn, conn);
    conn->keep_alive = false;
    if (conn->phase != HTTP1_PHASE_HEAD || conn->inbox.len > 0) {
        return;
    }
    if (conn->is_new) { /* its first request may be on its way, and would be lost */
        timer_start(conn->conn.http->loop, &conn->timer, LIMIT_HTTP_FIRST_MS);
    } else {
        http1_conn_close(conn);
    }
}

/* A head that has begun and does not go on is none: whoever sends it letter by letter is silent. */
static bool http1_conn_is_silent(struct http_conn *base)
{
    const struct http1_conn *conn = CONTAINER_OF(base, struct http1_conn, conn);
    return conn->phase == HTTP1_PHASE_HEAD && !conn->is_consuming;
}

void http1_conn_start(struct http_worker *http, struct stream *take_stream,
                      const struct http_peer *peer, bool is_newcomer)
{
    struct http1_conn *conn = memory_new(sizeof(*conn));
    conn->stream = take_stream;
    conn->conn.peer = *peer;
    conn->conn.close = http1_conn_cut;
    conn->conn.drain = http1_conn_drain;
    conn->conn.is_silent = http1_conn_is_silent;
    conn->is_new = true;
    /* One read beyond a head or a waiting request fits; then reading pauses. */
    buf_init(&conn->inbox, LIMIT_HTTP_HEAD_SIZE + LIMIT_READ_SIZE);
    timer_init(&conn->timer, http1_conn_on_deadline, conn);
    loop_task_init(&conn->free_task, http1_conn_free, conn);
    loop_task_init(&conn->sent_task, http1_conn_part_sent, conn);
    http_conn_add(http, &conn->conn);
    if (is_newcomer) {
        http_conn_join_newcomers(&conn->conn);
    }
    stream_own(take_stream, http1_conn_on_event, conn);
    timer_start(http->loop, &conn->timer, http->server->deadlines.head_ms);
    http1_conn_watch(conn);
}
