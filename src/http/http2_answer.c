/* SPDX-License-Identifier: MIT */
/* From exchanges to frames. */
#include "http/http2_conn_internal.h"

#include "base/limits.h"
#include "base/must.h"

static nghttp2_nv http2_field(struct slice name, struct slice value)
{
    /* nghttp2 copies both, and lowers the name, before the call it is given to returns. */
    return (nghttp2_nv){
        .name = (uint8_t *)(uintptr_t)name.at,
        .namelen = name.len,
        .value = (uint8_t *)(uintptr_t)value.at,
        .valuelen = value.len,
    };
}

/* Fills the next DATA frame from the current part. check-sizes: given parameters */
static ssize_t http2_read_part(nghttp2_session *session, int32_t stream_id, uint8_t *at,
                               size_t size, uint32_t *flags, nghttp2_data_source *source,
                               void *owner)
{
    (void)session;
    (void)stream_id;
    (void)owner;
    struct http2_stream *stream = source->ptr;
    struct http_worker *http = stream->conn->conn.http;
    if (stream->part.len == 0 && !stream->is_last_part) {
        return NGHTTP2_ERR_DEFERRED;
    }
    size_t len = stream->part.len < size ? stream->part.len : size;
    if (len > 0) {
        memcpy(at, stream->part.at, len);
    }
    stream->part = slice_from(stream->part, len);
    timer_start(http->loop, &stream->timer, http->server->deadlines.write_ms);
    if (stream->part.len > 0) {
        return (ssize_t)len;
    }
    if (stream->is_last_part) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    } else {
        timer_stop(&stream->timer);
        loop_defer(http->loop, &stream->sent_task); /* not from within nghttp2 */
    }
    return (ssize_t)len;
}

static size_t http2_fields(const struct http2_stream *stream, char *status, nghttp2_nv *fields)
{
    const struct http_response *response = &stream->exchange->response;
    size_t count = 0;
    int len = snprintf(status, 4, "%03d", response->status % 1000);
    fields[count++] = http2_field(SLICE(":status"), slice_of(status, (size_t)len));
    fields[count++] = http2_field(SLICE("date"), http_worker_date(stream->conn->conn.http));
    if (response->content_type.len > 0) {
        fields[count++] = http2_field(SLICE("content-type"), response->content_type);
        fields[count++] = http2_field(SLICE("x-content-type-options"), SLICE("nosniff"));
    }
    for (size_t i = 0; i < response->header_count; i++) {
        fields[count++] = http2_field(response->headers[i].name, response->headers[i].value);
    }
    return count;
}

static bool http2_has_body(const struct exchange *exchange)
{
    int status = exchange->response.status;
    return status >= 200 && status != 204 && status != 304 && !exchange_is_head(exchange);
}

static void http2_answer(struct exchange *exchange)
{
    struct http2_stream *stream = exchange->conn;
    const struct http_response *response = &exchange->response;
    nghttp2_nv fields[HTTP_RESPONSE_HEADERS_MAX + 5];
    char status[4];
    char length[24];
    size_t count = http2_fields(stream, status, fields);
    if (exchange->has_known_caller) {
        http_conn_leave_newcomers(&stream->conn->conn);
    }
    stream->part = response->is_streamed ? SLICE_NONE : http_response_body(response);
    stream->is_streaming = response->is_streamed;
    stream->is_last_part = !response->is_streamed;
    if (!response->is_streamed && response->status != 204 && response->status != 304) {
        int len = snprintf(length, sizeof(length), "%zu", stream->part.len);
        fields[count++] = http2_field(SLICE("content-length"), slice_of(length, (size_t)len));
    }
    nghttp2_data_provider body = {.source = {.ptr = stream}, .read_callback = http2_read_part};
    bool has_body = http2_has_body(exchange) && (stream->is_streaming || stream->part.len > 0);
    timer_start(stream->conn->conn.http->loop, &stream->timer,
                stream->conn->conn.http->server->deadlines.write_ms);
    if (nghttp2_submit_response(stream->conn->session, stream->id, fields, count,
                                has_body ? &body : NULL) != 0) {
        (void)nghttp2_submit_rst_stream(stream->conn->session, NGHTTP2_FLAG_NONE, stream->id,
                                        NGHTTP2_INTERNAL_ERROR);
    }
    if (stream->is_streaming) {
        timer_stop(&stream->timer);
        loop_defer(stream->conn->conn.http->loop, &stream->sent_task);
    }
    http2_conn_flush(stream->conn);
}

void http2_stream_part_sent(void *owner)
{
    struct http2_stream *stream = owner;
    if (stream->exchange != NULL) {
        exchange_sent(stream->exchange);
    }
}

static void http2_send(struct exchange *exchange, struct slice part)
{
    struct http2_stream *stream = exchange->conn;
    if (exchange_is_head(exchange) || part.len == 0) {
        loop_defer(stream->conn->conn.http->loop, &stream->sent_task);
        return;
    }
    stream->part = part;
    timer_start(stream->conn->conn.http->loop, &stream->timer,
                stream->conn->conn.http->server->deadlines.write_ms);
    (void)nghttp2_session_resume_data(stream->conn->session, stream->id);
    http2_conn_flush(stream->conn);
}

static void http2_finish(struct exchange *exchange)
{
    struct http2_stream *stream = exchange->conn;
    stream->is_last_part = true;
    (void)nghttp2_session_resume_data(stream->conn->session, stream->id);
    http2_conn_flush(stream->conn);
}

static void http2_abort(struct exchange *exchange)
{
    struct http2_stream *stream = exchange->conn;
    (void)nghttp2_submit_rst_stream(stream->conn->session, NGHTTP2_FLAG_NONE, stream->id,
                                    NGHTTP2_INTERNAL_ERROR);
    http2_conn_flush(stream->conn);
}

/* The 200 to an extended CONNECT: from here on the stream is a tunnel. */
static void http2_upgrade(struct exchange *exchange, struct slice protocol,
                          exchange_upgraded_fn on_upgraded, void *owner)
{
    struct http2_stream *stream = exchange->conn;
    struct http2_conn *conn = stream->conn;
    nghttp2_nv fields[HTTP_RESPONSE_HEADERS_MAX + 5];
    char status[4];
    nghttp2_data_provider body;
    (void)protocol; /* the request has named it */
    exchange->response.status = 200;
    exchange->response.content_type = SLICE("");
    size_t count = http2_fields(stream, status, fields);
    if (exchange->has_known_caller) {
        http_conn_leave_newcomers(&conn->conn);
    }
    timer_stop(&stream->timer);
    stream->exchange = NULL;
    struct stream *tunnel = http2_tunnel_new(stream, &body);
    if (nghttp2_submit_response(conn->session, stream->id, fields, count, &body) != 0) {
        (void)nghttp2_submit_rst_stream(conn->session, NGHTTP2_FLAG_NONE, stream->id,
                                        NGHTTP2_INTERNAL_ERROR);
    }
    on_upgraded(owner, tunnel, SLICE(""));
    exchange_end(exchange);
    http2_conn_flush(conn);
}

const struct exchange_transport http2_transport = {
    .answer = http2_answer,
    .send = http2_send,
    .finish = http2_finish,
    .abort = http2_abort,
    .needs_connect = true,
    .upgrade = http2_upgrade,
};
