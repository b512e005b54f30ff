/* SPDX-License-Identifier: MIT */
/* What the parts of an HTTP/2 connection share: http2_conn.c moves bytes between the stream and
 * nghttp2, http2_request.c turns frames into exchanges, http2_answer.c answers them. */
#ifndef GH_HTTP_HTTP2_CONN_INTERNAL_H
#define GH_HTTP_HTTP2_CONN_INTERNAL_H

#include "http/http2_conn.h"

#include <nghttp2/nghttp2.h>

struct http2_conn {
    struct http_conn conn;
    struct stream *stream;
    nghttp2_session *session;
    struct loop_task free_task;
    struct timer timer;
    struct buf outbox; /* frames on their way; a bounded part of what nghttp2 holds */
    struct list streams;
    bool is_busy;    /* inside nghttp2: frames are flushed when it returns */
    bool is_blocked; /* the socket takes no more right now */
    bool is_closed;
};

struct http2_tunnel;

/* One request and its answer. */
struct http2_stream {
    struct list link;
    struct http2_conn *conn;
    int32_t id;
    struct exchange *exchange; /* NULL: a tunnel became of it */
    bool is_connect;           /* an extended CONNECT, whose body is a tunnel's bytes */
    struct http2_tunnel *tunnel;
    struct timer timer;
    struct http_header *headers;
    size_t header_count;
    size_t header_size;
    bool is_too_large;     /* the head: answered with 431 */
    bool is_request_ended; /* the client's last byte came */
    /* The answer's body, or the current part of a streamed one. */
    struct slice part;
    bool is_streaming;
    bool is_last_part;
    bool is_answer_done; /* our last byte went to nghttp2 */
    struct loop_task sent_task;
    struct loop_task free_task;
};

extern const struct exchange_transport http2_transport;

/* http2_conn.c */
void http2_conn_flush(struct http2_conn *conn);
void http2_conn_close(struct http2_conn *conn);
void http2_conn_stream_ended(struct http2_conn *conn);

/* http2_request.c */
void http2_set_callbacks(nghttp2_session_callbacks *callbacks);
void http2_stream_end(struct http2_stream *stream);

/* http2_tunnel.c: of a stream that was answered; what comes of it goes to these until it ends. */
struct stream *http2_tunnel_new(struct http2_stream *below, nghttp2_data_provider *ret_body);
/* False: nobody reads it any more. The stream's window opens again when it is read. */
bool http2_tunnel_take(struct http2_tunnel *tunnel, struct slice bytes);
void http2_tunnel_end_input(struct http2_tunnel *tunnel);
void http2_tunnel_break(struct http2_tunnel *tunnel);

/* http2_answer.c */
void http2_stream_part_sent(void *owner);

#endif
