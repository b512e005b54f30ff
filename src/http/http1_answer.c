/* SPDX-License-Identifier: MIT */
/* The writing half of an HTTP/1.1 connection. What goes out is a short list of slices that others
 * own until it is empty; nothing is copied but a head that did not fit into the socket at once. */
#include "http/http1_conn_internal.h"

#include "base/limits.h"
#include "base/must.h"

void http1_conn_put(struct http1_conn *conn, struct slice bytes)
{
    if (bytes.len > 0) {
        must(conn->out_count < HTTP1_OUT_MAX);
        conn->out[conn->out_count++] = bytes;
    }
}

static void http1_conn_out_taken(struct http1_conn *conn, size_t size)
{
    size_t done = 0;
    while (done < conn->out_count && size >= conn->out[done].len) {
        size -= conn->out[done++].len;
    }
    if (done < conn->out_count) {
        conn->out[done] = slice_from(conn->out[done], size);
    }
    conn->out_count -= done;
    memmove(conn->out, conn->out + done, conn->out_count * sizeof(conn->out[0]));
}

/* All that was put is with the kernel. */
static void http1_conn_out_empty(struct http1_conn *conn)
{
    if (conn->phase != HTTP1_PHASE_ANSWER) {
        http1_conn_watch(conn);
        return;
    }
    if (conn->on_upgraded != NULL) {
        conn->is_upgrade_ready = true;
        if (!conn->is_consuming) {
            http1_conn_upgrade(conn);
        }
        return;
    }
    if (conn->is_last_out) {
        http1_conn_answered(conn);
        return;
    }
    conn->phase = HTTP1_PHASE_HANDLE;
    timer_stop(&conn->timer);
    http1_conn_watch(conn);
    /* Not at once: a handler that answers with its next part would nest without end. */
    loop_defer(conn->conn.http->loop, &conn->sent_task);
}

void http1_conn_part_sent(void *owner)
{
    struct http1_conn *conn = owner;
    if (conn->exchange != NULL) {
        exchange_sent(conn->exchange);
    }
}

void http1_conn_flush(struct http1_conn *conn)
{
    while (conn->out_count > 0) {
        size_t size = 0;
        enum err err = stream_write(conn->stream, conn->out, conn->out_count, &size);
        if (err == ERR_AGAIN) {
            if (conn->phase == HTTP1_PHASE_ANSWER) {
                timer_start(conn->conn.http->loop, &conn->timer,
                            conn->conn.http->server->deadlines.write_ms);
            }
            http1_conn_watch(conn);
            return;
        }
        if (err != ERR_NONE) {
            http1_conn_close(conn);
            return;
        }
        http1_conn_out_taken(conn, size);
    }
    http1_conn_out_empty(conn);
}

/* The head ------------------------------------------------------------------------------------ */

static bool http1_status_has_body(int status)
{
    return status >= 200 && status != 204 && status != 304;
}

static void http1_write_framing(struct http1_conn *conn, struct writer *writer)
{
    const struct http_response *response = &conn->exchange->response;
    if (!http1_status_has_body(response->status)) {
        return;
    }
    if (!response->is_streamed) {
        writer_bytes(writer, SLICE("Content-Length: "));
        writer_decimal(writer, http_response_body(response).len);
        writer_bytes(writer, SLICE("\r\n"));
    } else if (conn->is_http10) {
        conn->keep_alive = false; /* the end of the connection is the end of the body */
    } else {
        conn->is_chunked_out = true;
        writer_bytes(writer, SLICE("Transfer-Encoding: chunked\r\n"));
    }
}

static void http1_write_head(struct http1_conn *conn, struct writer *writer)
{
    const struct http_response *response = &conn->exchange->response;
    http1_response_begin(writer, response->status);
    http1_response_header(writer, SLICE("Date"), http_worker_date(conn->conn.http));
    if (response->content_type.len > 0) {
        http1_response_header(writer, SLICE("Content-Type"), response->content_type);
        writer_bytes(writer, SLICE("X-Content-Type-Options: nosniff\r\n"));
    }
    for (size_t i = 0; i < response->header_count; i++) {
        http1_response_header(writer, response->headers[i].name, response->headers[i].value);
    }
    http1_write_framing(conn, writer);
    if (!conn->keep_alive) {
        writer_bytes(writer, SLICE("Connection: close\r\n"));
    } else if (conn->is_http10) {
        writer_bytes(writer, SLICE("Connection: keep-alive\r\n"));
    }
    http1_response_end(writer);
}

/* The head is written into the exchange's arena; it goes out together with the body. */
static void http1_put_head(struct http1_conn *conn)
{
    struct buf *head = &conn->conn.http->head;
    buf_truncate(head, 0);
    struct writer writer = writer_to(head);
    http1_write_head(conn, &writer);
    if (writer_done(&writer) != ERR_NONE) {
        /* A handler gave a value that cannot stand in a header. */
        http_response_error(&conn->exchange->response, 500, SLICE("internal error"));
        buf_truncate(head, 0);
        writer = writer_to(head);
        http1_write_head(conn, &writer);
        must(writer_done(&writer) == ERR_NONE);
    }
    http1_conn_put(conn, arena_copy(&conn->exchange->arena, buf_view(head)));
}

/* The transport ------------------------------------------------------------------------------- */

static void http1_answer(struct exchange *exchange)
{
    struct http1_conn *conn = exchange->conn;
    const struct http_response *response = &exchange->response;
    if (exchange->has_known_caller) {
        http_conn_leave_newcomers(&conn->conn);
    }
    if (conn->conn.http->is_draining) {
        conn->keep_alive = false;
    }
    http1_put_head(conn);
    bool has_body = http1_status_has_body(response->status) && !exchange_is_head(exchange);
    if (has_body && !response->is_streamed) {
        http1_conn_put(conn, http_response_body(response));
    }
    conn->phase = HTTP1_PHASE_ANSWER;
    conn->is_last_out = !response->is_streamed;
    http1_conn_flush(conn);
}

static void http1_send(struct exchange *exchange, struct slice part)
{
    struct http1_conn *conn = exchange->conn;
    conn->phase = HTTP1_PHASE_ANSWER;
    if (!exchange_is_head(exchange) && part.len > 0) {
        if (conn->is_chunked_out) {
            int len = snprintf(conn->chunk_line, sizeof(conn->chunk_line), "%zx\r\n", part.len);
            http1_conn_put(conn, slice_of(conn->chunk_line, (size_t)len));
        }
        http1_conn_put(conn, part);
        http1_conn_put(conn, conn->is_chunked_out ? SLICE("\r\n") : SLICE_NONE);
    }
    http1_conn_flush(conn);
}

static void http1_finish(struct exchange *exchange)
{
    struct http1_conn *conn = exchange->conn;
    conn->phase = HTTP1_PHASE_ANSWER;
    conn->is_last_out = true;
    if (conn->is_chunked_out && !exchange_is_head(exchange)) {
        http1_conn_put(conn, SLICE("0\r\n\r\n"));
    }
    http1_conn_flush(conn);
}

static void http1_abort(struct exchange *exchange)
{
    http1_conn_close(exchange->conn);
}

static void http1_upgrade(struct exchange *exchange, struct slice protocol,
                          exchange_upgraded_fn on_upgraded, void *owner)
{
    struct http1_conn *conn = exchange->conn;
    conn->on_upgraded = on_upgraded;
    conn->upgrade_owner = owner;
    conn->phase = HTTP1_PHASE_ANSWER;
    const struct http_response *response = &exchange->response;
    struct slice head = arena_format(&exchange->arena,
                                     "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                                     "Upgrade: %.*s\r\n",
                                     SLICE_ARG(protocol));
    for (size_t i = 0; i < response->header_count; i++) {
        head = arena_format(&exchange->arena, "%.*s%.*s: %.*s\r\n", SLICE_ARG(head),
                            SLICE_ARG(response->headers[i].name),
                            SLICE_ARG(response->headers[i].value));
    }
    http1_conn_put(conn, arena_format(&exchange->arena, "%.*s\r\n", SLICE_ARG(head)));
    http1_conn_flush(conn);
}

const struct exchange_transport http1_transport = {
    .answer = http1_answer,
    .send = http1_send,
    .finish = http1_finish,
    .abort = http1_abort,
    .upgrade = http1_upgrade,
};
