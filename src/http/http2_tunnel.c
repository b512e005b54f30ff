/* SPDX-License-Identifier: MIT */
/* A stream of HTTP/2 whose request was an extended CONNECT (RFC 8441), as a stream of bytes. What
 * is not read stays in its window, so that the other end waits; what was written is held up to
 * LIMIT_HTTP2_TUNNEL_SIZE. */
#include "http/http2_conn_internal.h"

#include "base/limits.h"
#include "base/must.h"

struct http2_tunnel {
    struct stream stream;
    struct http2_stream *below; /* NULL: it is gone */
    struct buf in;              /* what came and was not read */
    struct buf out;             /* what nghttp2 has not taken */
    unsigned events;            /* that are waited for */
    bool has_ended;             /* the other end says no more */
    bool is_shut_down;          /* nor do we, behind what is in 'out' */
    bool is_closed;             /* nobody owns it any more */
    bool is_encrypted;
    struct loop_task task; /* the owner is called, or the memory goes */
};

static void http2_tunnel_free(void *owner)
{
    struct http2_tunnel *self = owner;
    buf_wipe(&self->in); /* passwords went through */
    buf_release(&self->in);
    buf_wipe(&self->out);
    buf_release(&self->out);
    memory_free(self);
}

static void http2_tunnel_free_later(struct http2_tunnel *self)
{
    loop_task_cancel(&self->task);
    loop_task_init(&self->task, http2_tunnel_free, self);
    loop_defer(self->stream.loop, &self->task);
}

static struct http2_tunnel *http2_tunnel_of(struct stream *stream)
{
    return CONTAINER_OF(stream, struct http2_tunnel, stream);
}

/* What its owner waits for ----------------------------------------------------------------------
 */

static unsigned http2_tunnel_ready(const struct http2_tunnel *self)
{
    bool is_over = self->below == NULL;
    unsigned ready = self->in.len > 0 || self->has_ended || is_over ? STREAM_READABLE : 0U;
    ready |= self->out.len < self->out.size_max || is_over ? STREAM_WRITABLE : 0U;
    return ready & self->events;
}

static void http2_tunnel_look(struct http2_tunnel *self)
{
    if (!self->is_closed && http2_tunnel_ready(self) != 0) {
        loop_defer(self->stream.loop, &self->task);
    }
}

static void http2_tunnel_tell(void *owner)
{
    struct http2_tunnel *self = owner;
    unsigned ready = http2_tunnel_ready(self);
    if (ready != 0) {
        self->stream.on_event(self->stream.owner, ready);
        http2_tunnel_look(self); /* also when it has just been closed */
    }
}

/* From nghttp2 ----------------------------------------------------------------------------------
 */

bool http2_tunnel_take(struct http2_tunnel *tunnel, struct slice bytes)
{
    /* A window is no larger; who sends more is cut off by nghttp2. */
    if (tunnel->is_closed || buf_append(&tunnel->in, bytes) != ERR_NONE) {
        return false;
    }
    http2_tunnel_look(tunnel);
    return true;
}

void http2_tunnel_end_input(struct http2_tunnel *tunnel)
{
    tunnel->has_ended = true;
    http2_tunnel_look(tunnel);
}

void http2_tunnel_break(struct http2_tunnel *tunnel)
{
    tunnel->below = NULL;
    if (tunnel->is_closed) {
        http2_tunnel_free_later(tunnel);
    } else {
        http2_tunnel_look(tunnel);
    }
}

/* Fills the next DATA frame. check-sizes: given parameters */
static ssize_t http2_tunnel_fill(nghttp2_session *session, int32_t stream_id, uint8_t *at,
                                 size_t size, uint32_t *flags, nghttp2_data_source *source,
                                 void *owner)
{
    struct http2_tunnel *self = source->ptr;
    (void)session;
    (void)stream_id;
    (void)owner;
    size_t len = self->out.len < size ? self->out.len : size;
    if (len == 0 && !self->is_shut_down) {
        return NGHTTP2_ERR_DEFERRED;
    }
    if (len > 0) {
        memcpy(at, buf_view(&self->out).at, len);
        buf_consume(&self->out, len);
        http2_tunnel_look(self);
    }
    if (self->out.len == 0 && self->is_shut_down) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    return (ssize_t)len;
}

/* As a stream -----------------------------------------------------------------------------------
 */

static enum err http2_tunnel_read(struct stream *stream, char *at, size_t size, size_t *ret_len)
{
    struct http2_tunnel *self = http2_tunnel_of(stream);
    struct slice bytes = slice_sub(buf_view(&self->in), 0, size);
    if (bytes.len == 0) {
        return self->has_ended ? ERR_CLOSED : self->below == NULL ? ERR_IO : ERR_AGAIN;
    }
    memcpy(at, bytes.at, bytes.len);
    *ret_len = bytes.len;
    buf_consume(&self->in, bytes.len);
    if (self->below != NULL) {
        struct http2_conn *conn = self->below->conn;
        (void)nghttp2_session_consume_stream(conn->session, self->below->id, bytes.len);
        http2_conn_flush(conn);
    }
    return ERR_NONE;
}

/* nghttp2 asks for it again. */
static void http2_tunnel_push(struct http2_tunnel *self)
{
    struct http2_conn *conn = self->below->conn;
    (void)nghttp2_session_resume_data(conn->session, self->below->id);
    http2_conn_flush(conn);
}

static enum err http2_tunnel_write(struct stream *stream, const struct slice *parts, size_t count,
                                   size_t *ret_len)
{
    struct http2_tunnel *self = http2_tunnel_of(stream);
    size_t taken = 0;
    if (self->below == NULL || self->is_shut_down) {
        return ERR_IO;
    }
    for (size_t i = 0; i < count; i++) {
        struct slice part = slice_sub(parts[i], 0, self->out.size_max - self->out.len);
        must(buf_append(&self->out, part) == ERR_NONE);
        taken += part.len;
    }
    *ret_len = taken;
    if (taken == 0) {
        return ERR_AGAIN;
    }
    http2_tunnel_push(self);
    return ERR_NONE;
}

static void http2_tunnel_watch(struct stream *stream, unsigned events)
{
    struct http2_tunnel *self = http2_tunnel_of(stream);
    self->events = events;
    http2_tunnel_look(self);
}

static enum err http2_tunnel_shutdown(struct stream *stream)
{
    struct http2_tunnel *self = http2_tunnel_of(stream);
    if (self->below != NULL && !self->is_shut_down) {
        self->is_shut_down = true;
        http2_tunnel_push(self);
    }
    return ERR_NONE;
}

/* What was written still goes out, and for a while the other end may say its last. */
static void http2_tunnel_close(struct stream *stream)
{
    struct http2_tunnel *self = http2_tunnel_of(stream);
    self->is_closed = true;
    self->events = 0;
    loop_task_cancel(&self->task);
    if (self->below == NULL) {
        http2_tunnel_free_later(self);
        return;
    }
    timer_start(stream->loop, &self->below->timer, LIMIT_HTTP_LINGER_MS);
    (void)http2_tunnel_shutdown(stream);
}

static struct slice http2_tunnel_protocol(const struct stream *stream)
{
    (void)stream;
    return SLICE("");
}

static bool http2_tunnel_is_encrypted(const struct stream *stream)
{
    return CONTAINER_OF_CONST(stream, struct http2_tunnel, stream)->is_encrypted;
}

static const struct stream_ops http2_tunnel_ops = {
    .read = http2_tunnel_read,
    .write = http2_tunnel_write,
    .watch = http2_tunnel_watch,
    .shutdown = http2_tunnel_shutdown,
    .close = http2_tunnel_close,
    .protocol = http2_tunnel_protocol,
    .is_encrypted = http2_tunnel_is_encrypted,
};

struct stream *http2_tunnel_new(struct http2_stream *below, nghttp2_data_provider *ret_body)
{
    struct http2_tunnel *self = memory_new(sizeof(*self));
    self->stream.ops = &http2_tunnel_ops;
    self->stream.loop = below->conn->conn.http->loop;
    self->below = below;
    self->is_encrypted = stream_is_encrypted(below->conn->stream);
    buf_init(&self->in, LIMIT_HTTP2_WINDOW_SIZE);
    buf_init(&self->out, LIMIT_HTTP2_TUNNEL_SIZE);
    loop_task_init(&self->task, http2_tunnel_tell, self);
    below->tunnel = self;
    *ret_body =
        (nghttp2_data_provider){.source = {.ptr = self}, .read_callback = http2_tunnel_fill};
    return &self->stream;
}
