/* SPDX-License-Identifier: MIT */
/* For targets about what a client says to a front: a stream without a kernel, whose bytes come in
 * pieces, with turns of the loop between them, and which keeps what it was told. Part of the one
 * file that includes it. */
#ifndef GH_FUZZ_FUZZ_CLIENT_H
#define GH_FUZZ_FUZZ_CLIENT_H

#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "io/stream.h"

#include <string.h>

struct client_stream {
    struct stream stream;
    struct loop_task task;
    unsigned watched;
    bool is_encrypted;
    bool is_slow;       /* it takes three bytes at once */
    struct slice piece; /* not read yet */
    bool has_ended;
    bool is_closed;
    struct buf said;
};

static struct client_stream *client_stream_of(struct stream *stream)
{
    return CONTAINER_OF(stream, struct client_stream, stream);
}

static unsigned client_ready(const struct client_stream *client)
{
    bool is_readable = client->piece.len > 0 || client->has_ended;
    return client->watched & (STREAM_WRITABLE | (is_readable ? STREAM_READABLE : 0U));
}

static void client_run(void *owner)
{
    struct client_stream *client = owner;
    if (!client->is_closed && client_ready(client) != 0) {
        client->stream.on_event(client->stream.owner, client_ready(client));
    }
    if (!client->is_closed && client_ready(client) != 0) {
        loop_defer(client->stream.loop, &client->task);
    }
}

static enum err client_read(struct stream *stream, char *at, size_t size, size_t *ret_len)
{
    struct client_stream *client = client_stream_of(stream);
    must(!client->is_closed && size > 0);
    struct slice bytes = slice_sub(client->piece, 0, size);
    if (bytes.len == 0) {
        return client->has_ended ? ERR_CLOSED : ERR_AGAIN;
    }
    memcpy(at, bytes.at, bytes.len);
    client->piece = slice_from(client->piece, bytes.len);
    *ret_len = bytes.len;
    return ERR_NONE;
}

static enum err client_write(struct stream *stream, const struct slice *parts, size_t count,
                             size_t *ret_len)
{
    struct client_stream *client = client_stream_of(stream);
    must(!client->is_closed && count == 1);
    struct slice bytes = slice_sub(parts[0], 0, client->is_slow ? 3 : parts[0].len);
    must(buf_append(&client->said, bytes) == ERR_NONE);
    *ret_len = bytes.len;
    return ERR_NONE;
}

static void client_watch(struct stream *stream, unsigned events)
{
    struct client_stream *client = client_stream_of(stream);
    must(!client->is_closed);
    client->watched = events;
    if (client_ready(client) != 0) {
        loop_defer(stream->loop, &client->task);
    }
}

static enum err client_shutdown(struct stream *stream)
{
    must(!client_stream_of(stream)->is_closed);
    return ERR_NONE;
}

static void client_close(struct stream *stream)
{
    struct client_stream *client = client_stream_of(stream);
    must(!client->is_closed);
    client->is_closed = true;
    loop_task_cancel(&client->task);
}

static struct slice client_protocol(const struct stream *stream)
{
    (void)stream;
    return SLICE_NONE;
}

static bool client_is_encrypted(const struct stream *stream)
{
    return ((const struct client_stream *)(const void *)stream)->is_encrypted; /* its first */
}

static const struct stream_ops client_ops = {
    .read = client_read,
    .write = client_write,
    .watch = client_watch,
    .shutdown = client_shutdown,
    .close = client_close,
    .protocol = client_protocol,
    .is_encrypted = client_is_encrypted,
};

static void client_stream_init(struct client_stream *client, struct loop *loop)
{
    client->stream = (struct stream){.ops = &client_ops, .loop = loop};
    buf_init(&client->said, LIMIT_MIB(1));
    loop_task_init(&client->task, client_run, client);
}

#endif
