/* SPDX-License-Identifier: MIT */
#include "io/socket_stream.h"

#include "base/memory.h"
#include "base/must.h"
#include "io/fault.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

struct socket_stream {
    struct stream stream;
    uv_poll_t *poll; /* of this loop; what one loop has closed lives there until its turn is over */
    int fd;
    unsigned watched;
    bool shut_down;
};

static struct socket_stream *socket_stream_of(struct stream *stream)
{
    return CONTAINER_OF(stream, struct socket_stream, stream);
}

static bool socket_would_block(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static enum err socket_stream_read(struct stream *stream, char *at, size_t size, size_t *ret_len)
{
    struct socket_stream *self = socket_stream_of(stream);
    ssize_t len = fault_read(loop_fault(stream->loop), self->fd, at, size);
    if (len > 0) {
        *ret_len = (size_t)len;
        return ERR_NONE;
    }
    if (len == 0) {
        return ERR_CLOSED;
    }
    return socket_would_block() ? ERR_AGAIN : ERR_IO;
}

static enum err socket_stream_write(struct stream *stream, const struct slice *parts, size_t count,
                                    size_t *ret_len)
{
    struct socket_stream *self = socket_stream_of(stream);
    struct iovec vector[STREAM_PARTS_MAX];
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        vector[i].iov_base = (void *)(uintptr_t)parts[i].at; /* iovec has no const */
        vector[i].iov_len = parts[i].len;
        total += parts[i].len;
    }
    if (total == 0) {
        *ret_len = 0;
        return ERR_NONE;
    }
    ssize_t len = fault_writev(loop_fault(stream->loop), self->fd, vector, (int)count);
    if (len >= 0) {
        *ret_len = (size_t)len;
        return ERR_NONE;
    }
    return socket_would_block() ? ERR_AGAIN : ERR_IO;
}

static void socket_stream_on_poll(uv_poll_t *poll, int status, int events)
{
    struct socket_stream *self = poll->data;
    unsigned ready = 0;
    if (status < 0) {
        /* libuv stopped the handle; the next read or write tells the owner what broke. */
        ready = self->watched;
        self->watched = 0;
    }
    if ((events & UV_READABLE) != 0) {
        ready |= STREAM_READABLE;
    }
    if ((events & UV_WRITABLE) != 0) {
        ready |= STREAM_WRITABLE;
    }
    if (ready != 0) {
        loop_carried(self->stream.loop, (unsigned)self->fd);
        self->stream.on_event(self->stream.owner, ready);
    }
}

static void socket_stream_watch(struct stream *stream, unsigned events)
{
    struct socket_stream *self = socket_stream_of(stream);
    if (self->watched == events) {
        return;
    }
    self->watched = events;
    if (events == 0) {
        (void)uv_poll_stop(self->poll);
        return;
    }
    int wanted = ((events & STREAM_READABLE) != 0 ? UV_READABLE : 0) |
                 ((events & STREAM_WRITABLE) != 0 ? UV_WRITABLE : 0);
    must(uv_poll_start(self->poll, wanted, socket_stream_on_poll) == 0);
}

static enum err socket_stream_shutdown(struct stream *stream)
{
    struct socket_stream *self = socket_stream_of(stream);
    if (self->shut_down) {
        return ERR_NONE;
    }
    self->shut_down = true;
    return shutdown(self->fd, SHUT_WR) == 0 ? ERR_NONE : ERR_IO;
}

static void socket_stream_on_detached(uv_handle_t *handle)
{
    memory_free(handle);
}

static void socket_stream_on_closed(uv_handle_t *handle)
{
    memory_free(handle->data);
    memory_free(handle);
}

static void socket_stream_detach(struct stream *stream)
{
    struct socket_stream *self = socket_stream_of(stream);
    must(self->watched == 0);
    uv_close((uv_handle_t *)self->poll, socket_stream_on_detached);
    self->poll = NULL;
}

static void socket_stream_attach(struct stream *stream, struct loop *loop)
{
    struct socket_stream *self = socket_stream_of(stream);
    self->poll = memory_new(sizeof(*self->poll));
    must(uv_poll_init(loop_uv(loop), self->poll, self->fd) == 0);
    self->poll->data = self;
}

static void socket_stream_close(struct stream *stream)
{
    struct socket_stream *self = socket_stream_of(stream);
    uv_close((uv_handle_t *)self->poll, socket_stream_on_closed);
    (void)close(self->fd);
    self->fd = -1;
}

static struct slice socket_stream_protocol(const struct stream *stream)
{
    (void)stream;
    return SLICE_NONE;
}

static bool socket_stream_is_encrypted(const struct stream *stream)
{
    (void)stream;
    return false;
}

static const struct stream_ops socket_stream_ops = {
    .read = socket_stream_read,
    .write = socket_stream_write,
    .watch = socket_stream_watch,
    .shutdown = socket_stream_shutdown,
    .close = socket_stream_close,
    .protocol = socket_stream_protocol,
    .is_encrypted = socket_stream_is_encrypted,
    .detach = socket_stream_detach,
    .attach = socket_stream_attach,
};

struct stream *socket_stream_new(struct loop *loop, int take_fd)
{
    struct socket_stream *self = memory_new(sizeof(*self));
    self->stream.ops = &socket_stream_ops;
    self->stream.loop = loop;
    self->fd = take_fd;
    socket_stream_attach(&self->stream, loop);
    return &self->stream;
}
