/* SPDX-License-Identifier: MIT */
/* From frames to exchanges. nghttp2 has checked the framing and the rules of RFC 9113 8 (pseudo
 * headers first and once, no connection headers, lengths that agree) before it calls. */
#include "http/http2_conn_internal.h"

#include "base/limits.h"
#include "base/must.h"
#include "base/text.h"

static void http2_stream_free(void *owner)
{
    memory_free(owner);
}

/* The stream is over, for nghttp2 or with the connection. */
void http2_stream_end(struct http2_stream *stream)
{
    struct http2_conn *conn = stream->conn;
    struct exchange *exchange = stream->exchange;
    (void)nghttp2_session_set_stream_user_data(conn->session, stream->id, NULL);
    timer_stop(&stream->timer);
    loop_task_cancel(&stream->sent_task);
    stream->exchange = NULL;
    loop_defer(conn->conn.http->loop, &stream->free_task);
    list_remove(&stream->link);
    http2_conn_stream_ended(conn);
    if (stream->tunnel != NULL) {
        http2_tunnel_break(stream->tunnel);
        stream->tunnel = NULL;
    }
    if (exchange == NULL) {
        return;
    }
    if (stream->is_answer_done && stream->is_last_part) {
        exchange_end(exchange);
    } else {
        exchange_gone(exchange);
    }
}

static void http2_stream_on_deadline(void *owner)
{
    struct http2_stream *stream = owner;
    if (stream->exchange != NULL && !stream->exchange->answered && !stream->is_request_ended) {
        exchange_answer_error(stream->exchange, 408, SLICE("the body did not come in time"));
        return;
    }
    (void)nghttp2_submit_rst_stream(stream->conn->session, NGHTTP2_FLAG_NONE, stream->id,
                                    stream->is_answer_done ? NGHTTP2_NO_ERROR : NGHTTP2_CANCEL);
    http2_conn_flush(stream->conn);
}

static int http2_on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *owner)
{
    struct http2_conn *conn = owner;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) {
        return 0;
    }
    struct http2_stream *stream = memory_new(sizeof(*stream));
    stream->conn = conn;
    stream->id = frame->hd.stream_id;
    stream->exchange = exchange_new(conn->conn.http, &http2_transport, stream);
    stream->headers = arena_alloc_array(&stream->exchange->arena, LIMIT_HTTP_HEADER_COUNT,
                                        sizeof(struct http_header));
    timer_init(&stream->timer, http2_stream_on_deadline, stream);
    loop_task_init(&stream->sent_task, http2_stream_part_sent, stream);
    loop_task_init(&stream->free_task, http2_stream_free, stream);
    (void)nghttp2_session_set_stream_user_data(session, stream->id, stream);
    list_append(&conn->streams, &stream->link);
    return 0;
}

static void http2_stream_pseudo(struct http2_stream *stream, struct slice name, struct slice value)
{
    struct http_request *request = &stream->exchange->request;
    if (slice_equals(name, SLICE(":method"))) {
        request->method = value;
    } else if (slice_equals(name, SLICE(":path"))) {
        request->path = slice_cut(value, '?', &request->query);
    } else if (slice_equals(name, SLICE(":authority"))) {
        request->host = value;
    } else if (slice_equals(name, SLICE(":protocol"))) {
        stream->is_connect = true;
        request->tunnel_protocol = value;
    }
}

static int http2_on_header(nghttp2_session *session, const nghttp2_frame *frame,
                           nghttp2_rcbuf *name, nghttp2_rcbuf *value, uint8_t flags, void *owner)
{
    (void)flags;
    (void)owner;
    struct http2_stream *stream =
        nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (stream == NULL || frame->headers.cat != NGHTTP2_HCAT_REQUEST) {
        return 0; /* trailers are dropped */
    }
    nghttp2_vec name_bytes = nghttp2_rcbuf_get_buf(name);
    nghttp2_vec value_bytes = nghttp2_rcbuf_get_buf(value);
    stream->header_size += name_bytes.len + value_bytes.len + 32; /* RFC 9113 6.5.2 */
    if (stream->header_size > LIMIT_HTTP_HEAD_SIZE ||
        stream->header_count == LIMIT_HTTP_HEADER_COUNT) {
        stream->is_too_large = true;
        return 0;
    }
    struct arena *arena = &stream->exchange->arena;
    struct slice header_name = arena_copy(arena, slice_of(name_bytes.base, name_bytes.len));
    struct slice header_value = arena_copy(arena, slice_of(value_bytes.base, value_bytes.len));
    if (slice_starts_with(header_name, SLICE(":"))) {
        http2_stream_pseudo(stream, header_name, header_value);
    } else {
        stream->headers[stream->header_count++] = (struct http_header){header_name, header_value};
    }
    return 0;
}

/* What the head promises; UINT64_MAX when it does not say. */
static uint64_t http2_body_size(const struct http2_stream *stream)
{
    uint64_t size = UINT64_MAX;
    struct slice text = http_request_header(&stream->exchange->request, SLICE("content-length"));
    if (stream->is_request_ended) {
        return 0;
    }
    return text_parse_u64(text, &size) == ERR_NONE ? size : UINT64_MAX;
}

static void http2_stream_start(struct http2_stream *stream)
{
    struct exchange *exchange = stream->exchange;
    struct http_request *request = &exchange->request;
    request->headers = stream->headers;
    request->header_count = stream->header_count;
    request->peer = stream->conn->conn.peer;
    request->is_encrypted = stream_is_encrypted(stream->conn->stream);
    if (stream->is_connect) {
        request->method = SLICE("GET"); /* as the same over HTTP/1.1 has it (RFC 8441, 5) */
    }
    if (stream->is_too_large) {
        exchange_answer_error(exchange, 431, SLICE("the headers are too large"));
        return;
    }
    if (request->path.len > LIMIT_HTTP_TARGET_SIZE) {
        exchange_answer_error(exchange, 414, SLICE("the path is too long"));
        return;
    }
    if (!slice_starts_with(request->path, SLICE("/")) ||
        slice_find_byte(request->path, '#') < request->path.len) {
        exchange_answer_error(exchange, 400, SLICE("the path is malformed"));
        return;
    }
    if (exchange_start(exchange, http2_body_size(stream)) == EXCHANGE_REFUSED) {
        return;
    }
    if (stream->is_connect && (exchange->route == NULL || !exchange->route->is_websocket)) {
        exchange_answer_error(exchange, 405, SLICE("this is not for CONNECT"));
        return;
    }
    if (stream->is_request_ended || stream->is_connect) {
        exchange_run(exchange);
    } else {
        timer_start(stream->conn->conn.http->loop, &stream->timer,
                    stream->conn->conn.http->server->deadlines.body_ms);
    }
}

static void http2_stream_request_ended(struct http2_stream *stream)
{
    stream->is_request_ended = true;
    if (stream->tunnel != NULL) {
        http2_tunnel_end_input(stream->tunnel);
        return;
    }
    if (stream->exchange == NULL || stream->is_connect) {
        return;
    }
    timer_stop(&stream->timer);
    if (!stream->exchange->answered) {
        exchange_run(stream->exchange);
    }
}

static int http2_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *owner)
{
    (void)owner;
    struct http2_stream *stream =
        nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    bool is_last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (stream == NULL || frame->hd.stream_id == 0) {
        return 0;
    }
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        stream->is_request_ended = is_last;
        http2_stream_start(stream);
    } else if (is_last && (frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS)) {
        http2_stream_request_ended(stream);
    }
    return 0;
}

static int http2_on_data(nghttp2_session *session, uint8_t flags, int32_t stream_id,
                         const uint8_t *data, size_t size, void *owner)
{
    (void)flags;
    (void)owner;
    struct http2_stream *stream = nghttp2_session_get_stream_user_data(session, stream_id);
    if (stream != NULL && stream->tunnel != NULL &&
        http2_tunnel_take(stream->tunnel, slice_of(data, size))) {
        /* The window of all streams together: who does not read one holds up no other. */
        return nghttp2_session_consume_connection(session, size);
    }
    (void)nghttp2_session_consume(session, stream_id, size);
    if (stream != NULL && stream->is_connect && stream->tunnel == NULL) {
        return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream_id,
                                         NGHTTP2_PROTOCOL_ERROR); /* it speaks too early */
    }
    if (stream == NULL || stream->exchange == NULL || stream->exchange->answered) {
        return 0;
    }
    enum err err = exchange_body(stream->exchange, slice_of(data, size));
    must(err == ERR_NONE || stream->exchange->answered); /* what is refused is answered */
    return 0;
}

/* The answer is out while the client still sends. Some clients lose an answer that a reset follows
 * at once, so what comes is dropped for a while first (RFC 9113 8.1 allows both). */
static int http2_on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *owner)
{
    struct http2_conn *conn = owner;
    bool may_end = frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
    struct http2_stream *stream =
        may_end ? nghttp2_session_get_stream_user_data(session, frame->hd.stream_id) : NULL;
    if (stream != NULL && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
        stream->is_answer_done = true;
        if (!stream->is_request_ended) {
            timer_start(conn->conn.http->loop, &stream->timer, LIMIT_HTTP_LINGER_MS);
        }
    }
    return 0;
}

static int http2_on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t error_code,
                                 void *owner)
{
    (void)error_code;
    (void)owner;
    struct http2_stream *stream = nghttp2_session_get_stream_user_data(session, stream_id);
    if (stream != NULL) {
        http2_stream_end(stream);
    }
    return 0;
}

void http2_set_callbacks(nghttp2_session_callbacks *callbacks)
{
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, http2_on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback2(callbacks, http2_on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, http2_on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, http2_on_data);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, http2_on_frame_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, http2_on_stream_close);
}
