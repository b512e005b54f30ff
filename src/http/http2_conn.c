/* SPDX-License-Identifier: MIT */
#include "http/http2_conn.h"

#include "base/limits.h"
#include "base/must.h"
#include "http/http2_conn_internal.h"

static void http2_conn_free(void *owner)
{
    struct http2_conn *conn = owner;
    nghttp2_session_del(conn->session);
    buf_release(&conn->outbox);
    memory_free(conn);
}

static void http2_conn_end_streams(struct http2_conn *conn)
{
    while (!list_is_empty(&conn->streams)) {
        http2_stream_end(LIST_ITEM(conn->streams.next, struct http2_stream, link));
    }
}

void http2_conn_close(struct http2_conn *conn)
{
    if (conn->is_closed) {
        return;
    }
    conn->is_closed = true;
    timer_stop(&conn->timer);
    stream_close(conn->stream);
    http2_conn_end_streams(conn);
    http_conn_remove(&conn->conn);
    loop_defer(conn->conn.http->loop, &conn->free_task);
}

/* Moves frames from nghttp2 into the outbox until it holds a good write. */
static enum err http2_conn_fill_outbox(struct http2_conn *conn)
{
    conn->is_busy = true;
    enum err err = ERR_NONE;
    while (err == ERR_NONE && conn->outbox.len < LIMIT_HTTP2_WRITE_SIZE) {
        const uint8_t *at = NULL;
        ssize_t len = nghttp2_session_mem_send(conn->session, &at);
        if (len == 0) {
            break;
        }
        err = len < 0 ? ERR_INTERNAL : buf_append(&conn->outbox, slice_of(at, (size_t)len));
    }
    conn->is_busy = false;
    return err;
}

/* ERR_AGAIN: the socket is full. */
static enum err http2_conn_write_outbox(struct http2_conn *conn)
{
    while (conn->outbox.len > 0) {
        struct slice out = buf_view(&conn->outbox);
        size_t size = 0;
        enum err err = stream_write(conn->stream, &out, 1, &size);
        if (err != ERR_NONE) {
            return err;
        }
        buf_consume(&conn->outbox, size);
    }
    return ERR_NONE;
}

void http2_conn_stream_ended(struct http2_conn *conn)
{
    if (list_is_empty(&conn->streams) && !conn->is_closed) {
        http_conn_fall_silent(&conn->conn);
        timer_start(conn->conn.http->loop, &conn->timer,
                    conn->conn.http->server->deadlines.idle_ms);
    }
}

/* Waits until the socket takes more, and not for ever. */
static void http2_conn_wait(struct http2_conn *conn)
{
    conn->is_blocked = true;
    timer_start(conn->conn.http->loop, &conn->timer, conn->conn.http->server->deadlines.write_ms);
    stream_watch(conn->stream, STREAM_WRITABLE); /* what is not taken is not asked for */
}

/* All is out: what was waited for is over. */
static void http2_conn_rest(struct http2_conn *conn)
{
    buf_clear(&conn->outbox);
    if (conn->is_blocked && list_is_empty(&conn->streams)) {
        timer_start(conn->conn.http->loop, &conn->timer,
                    conn->conn.http->server->deadlines.idle_ms);
    } else if (conn->is_blocked) {
        timer_stop(&conn->timer);
    }
    conn->is_blocked = false;
    stream_watch(conn->stream, STREAM_READABLE);
}

void http2_conn_flush(struct http2_conn *conn)
{
    if (conn->is_busy || conn->is_closed) {
        return;
    }
    enum err err = ERR_NONE;
    do {
        err = http2_conn_fill_outbox(conn);
        if (err == ERR_NONE && conn->outbox.len == 0) {
            break;
        }
        err = err == ERR_NONE ? http2_conn_write_outbox(conn) : err;
    } while (err == ERR_NONE);
    bool is_over =
        !nghttp2_session_want_read(conn->session) && !nghttp2_session_want_write(conn->session);
    if (err == ERR_NONE && is_over) {
        err = stream_shutdown(conn->stream) == ERR_AGAIN ? ERR_AGAIN : ERR_CLOSED;
    }
    if (err == ERR_AGAIN) {
        http2_conn_wait(conn);
    } else if (err != ERR_NONE) {
        http2_conn_close(conn);
    } else {
        http2_conn_rest(conn);
    }
}

static void http2_conn_take_input(struct http2_conn *conn, struct slice input)
{
    conn->is_busy = true;
    ssize_t used = nghttp2_session_mem_recv(conn->session, (const uint8_t *)input.at, input.len);
    conn->is_busy = false;
    if (used < 0) {
        http2_conn_close(conn);
        return;
    }
    if (!list_is_empty(&conn->streams)) {
        timer_stop(&conn->timer);
    }
    http2_conn_flush(conn);
}

static void http2_conn_receive(struct http2_conn *conn)
{
    char *at = conn->conn.http->read_at;
    size_t len = 0;
    enum err err = stream_read(conn->stream, at, LIMIT_READ_SIZE, &len);
    if (err == ERR_NONE) {
        http2_conn_take_input(conn, slice_of(at, len));
    } else if (err != ERR_AGAIN) {
        http2_conn_close(conn);
    }
}

static void http2_conn_on_event(void *owner, unsigned events)
{
    struct http2_conn *conn = owner;
    if ((events & STREAM_WRITABLE) != 0 && !conn->is_closed) {
        http2_conn_flush(conn);
    }
    if ((events & STREAM_READABLE) != 0 && !conn->is_closed) {
        http2_conn_receive(conn);
    }
}

/* Idle, or the client takes nothing: RFC 9113 9.1 lets both ends close then. */
static void http2_conn_on_deadline(void *owner)
{
    http2_conn_close(owner);
}

static void http2_conn_cut(struct http_conn *base)
{
    http2_conn_close(CONTAINER_OF(base, struct http2_conn, conn));
}

static void http2_conn_drain(struct http_conn *base)
{
    struct http2_conn *conn = CONTAINER_OF(base, struct http2_conn, conn);
    (void)nghttp2_submit_goaway(conn->session, NGHTTP2_FLAG_NONE,
                                nghttp2_session_get_last_proc_stream_id(conn->session),
                                NGHTTP2_NO_ERROR, NULL, 0);
    http2_conn_flush(conn);
}

static void http2_conn_make_session(struct http2_conn *conn)
{
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;
    must(nghttp2_session_callbacks_new(&callbacks) == 0);
    must(nghttp2_option_new(&option) == 0);
    http2_set_callbacks(callbacks);
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_option_set_no_auto_window_update(option, 1); /* a tunnel is read when it is */
    nghttp2_option_set_max_outbound_ack(option, LIMIT_HTTP2_ACKS);
    nghttp2_option_set_max_settings(option, LIMIT_HTTP2_SETTINGS);
    nghttp2_option_set_stream_reset_rate_limit(option, LIMIT_HTTP2_RESETS,
                                               LIMIT_HTTP2_RESETS_PER_SECOND);
    nghttp2_option_set_max_continuations(option, LIMIT_HTTP2_CONTINUATIONS);
    nghttp2_option_set_max_send_header_block_length(option, LIMIT_HTTP_HEAD_SIZE);
    must(nghttp2_session_server_new2(&conn->session, callbacks, conn, option) == 0);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, LIMIT_HTTP2_STREAMS},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, LIMIT_HTTP_HEAD_SIZE},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, LIMIT_HTTP2_WINDOW_SIZE},
        {NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1}, /* RFC 8441 */
    };
    must(nghttp2_submit_settings(conn->session, NGHTTP2_FLAG_NONE, settings, COUNT_OF(settings)) ==
         0);
}

static bool http2_conn_is_silent(struct http_conn *base)
{
    const struct http2_conn *conn = CONTAINER_OF(base, struct http2_conn, conn);
    return list_is_empty(&conn->streams) && !conn->is_busy;
}

void http2_conn_start(struct http_worker *http, struct stream *take_stream,
                      const struct http_peer *peer, bool is_newcomer, struct slice input)
{
    struct http2_conn *conn = memory_new(sizeof(*conn));
    conn->stream = take_stream;
    conn->conn.peer = *peer;
    conn->conn.close = http2_conn_cut;
    conn->conn.drain = http2_conn_drain;
    conn->conn.is_silent = http2_conn_is_silent;
    buf_init(&conn->outbox, LIMIT_HTTP2_WRITE_SIZE + LIMIT_KIB(32)); /* one frame beyond */
    timer_init(&conn->timer, http2_conn_on_deadline, conn);
    loop_task_init(&conn->free_task, http2_conn_free, conn);
    list_init(&conn->streams);
    http2_conn_make_session(conn);
    http_conn_add(http, &conn->conn);
    if (is_newcomer) {
        http_conn_join_newcomers(&conn->conn);
    }
    stream_own(take_stream, http2_conn_on_event, conn);
    timer_start(http->loop, &conn->timer, http->server->deadlines.head_ms);
    if (http->is_draining) {
        http2_conn_drain(&conn->conn);
    }
    http2_conn_take_input(conn, input);
}
