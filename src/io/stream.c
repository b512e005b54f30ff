/* SPDX-License-Identifier: MIT */
#include "io/stream.h"

#include "base/must.h"

void stream_own(struct stream *stream, stream_event_fn on_event, void *owner)
{
    stream->on_event = on_event;
    stream->owner = owner;
}

enum err stream_read(struct stream *stream, char *at, size_t size, size_t *ret_len)
{
    return stream->ops->read(stream, at, size, ret_len);
}

enum err stream_write(struct stream *stream, const struct slice *parts, size_t count,
                      size_t *ret_len)
{
    must(count <= STREAM_PARTS_MAX);
    return stream->ops->write(stream, parts, count, ret_len);
}

void stream_watch(struct stream *stream, unsigned events)
{
    stream->ops->watch(stream, events);
}

enum err stream_shutdown(struct stream *stream)
{
    return stream->ops->shutdown(stream);
}

void stream_close(struct stream *stream)
{
    stream->ops->close(stream);
}

struct slice stream_protocol(const struct stream *stream)
{
    return stream->ops->protocol(stream);
}

bool stream_is_encrypted(const struct stream *stream)
{
    return stream->ops->is_encrypted(stream);
}

bool stream_can_move(const struct stream *stream)
{
    return stream->ops->detach != NULL;
}

void stream_detach(struct stream *stream)
{
    must(stream_can_move(stream));
    stream->ops->detach(stream);
    stream->loop = NULL;
}

void stream_attach(struct stream *stream, struct loop *loop)
{
    must(stream->loop == NULL);
    stream->loop = loop;
    stream->ops->attach(stream, loop);
}
