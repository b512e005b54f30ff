/* SPDX-License-Identifier: MIT */
/* One end of a link on a stream without a kernel, for the two targets of links. The first byte says
 * in pieces of which size the rest comes, and what owners do with their channels. Held: the link
 * ends once, by itself when the input does; whoever opens a channel is answered once; no channel is
 * left, and nothing of what was held for one is forgotten (leaks show). */
#ifndef GH_FUZZ_FUZZ_LINK_H
#define GH_FUZZ_FUZZ_LINK_H

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "fuzz.h"
#include "tunnel/channel.h"
#include "tunnel/link.h"

#define FUZZ_CHANNELS_MAX 64

struct fuzz_link {
    struct stream stream;
    struct loop *loop;
    struct slice in;
    size_t piece;
    uint8_t flags;
    unsigned watched;
    bool is_closed;
    struct link *link;
    unsigned ended_count;
    unsigned opened_count;
    struct stream *channels[FUZZ_CHANNELS_MAX];
    size_t channel_count;
    char scratch[LIMIT_READ_SIZE];
};

enum fuzz_flag {
    FUZZ_READS = 1,
    FUZZ_ECHOES = 2,
    FUZZ_REFUSES = 4,
    FUZZ_SHUTS = 8,
    FUZZ_DRAINS = 16,
};

static struct fuzz_link *fuzz_link_of(struct stream *stream)
{
    return CONTAINER_OF(stream, struct fuzz_link, stream);
}

static enum err fuzz_read(struct stream *stream, char *at, size_t size, size_t *ret_len)
{
    struct fuzz_link *fuzz = fuzz_link_of(stream);
    must(!fuzz->is_closed);
    if (fuzz->in.len == 0) {
        return ERR_CLOSED;
    }
    struct slice part = slice_sub(fuzz->in, 0, size < fuzz->piece ? size : fuzz->piece);
    memcpy(at, part.at, part.len);
    fuzz->in = slice_from(fuzz->in, part.len);
    *ret_len = part.len;
    return ERR_NONE;
}

static enum err fuzz_write(struct stream *stream, const struct slice *parts, size_t count,
                           size_t *ret_len)
{
    must(count == 1 && !fuzz_link_of(stream)->is_closed);
    *ret_len = parts[0].len;
    return ERR_NONE;
}

static void fuzz_watch(struct stream *stream, unsigned events)
{
    must(!fuzz_link_of(stream)->is_closed);
    fuzz_link_of(stream)->watched = events;
}

static enum err fuzz_shutdown(struct stream *stream)
{
    (void)stream;
    return ERR_NONE;
}

static void fuzz_close(struct stream *stream)
{
    struct fuzz_link *fuzz = fuzz_link_of(stream);
    must(!fuzz->is_closed);
    fuzz->is_closed = true;
    fuzz->watched = 0;
}

static bool fuzz_is_encrypted(const struct stream *stream)
{
    (void)stream;
    return false;
}

static const struct stream_ops fuzz_ops = {
    .read = fuzz_read,
    .write = fuzz_write,
    .watch = fuzz_watch,
    .shutdown = fuzz_shutdown,
    .close = fuzz_close,
    .is_encrypted = fuzz_is_encrypted,
};

/* What an owner does with a channel; it keeps it open until the end. */
static void fuzz_on_channel(void *owner, unsigned events)
{
    struct stream *stream = *(struct stream **)owner;
    char bytes[512];
    size_t len = 0;
    (void)events;
    enum err err = stream_read(stream, bytes, sizeof(bytes), &len);
    if (err == ERR_NONE) {
        struct slice part = slice_of(bytes, len);
        (void)!stream_write(stream, &part, 1, &len);
    } else if (err != ERR_AGAIN) {
        stream_watch(stream, 0);
    }
}

static void fuzz_take(struct fuzz_link *fuzz, struct stream *take_stream)
{
    if (fuzz->channel_count == FUZZ_CHANNELS_MAX) {
        stream_close(take_stream);
        return;
    }
    struct stream **place = &fuzz->channels[fuzz->channel_count++];
    *place = take_stream;
    stream_own(take_stream, fuzz_on_channel, place);
    stream_watch(take_stream, (fuzz->flags & FUZZ_READS) != 0 ? STREAM_READABLE : 0);
    if ((fuzz->flags & FUZZ_SHUTS) != 0) {
        (void)!stream_shutdown(take_stream);
    }
}

static void fuzz_on_asked(void *owner, struct channel *channel, struct slice kind,
                          struct slice message)
{
    struct fuzz_link *fuzz = owner;
    must(kind.len <= LIMIT_TUNNEL_KIND_SIZE && message.len <= LIMIT_TUNNEL_MESSAGE_SIZE);
    if ((fuzz->flags & FUZZ_REFUSES) != 0) {
        channel_refuse(channel, kind);
    } else {
        fuzz_take(fuzz, channel_accept(channel, message));
    }
}

static void fuzz_on_opened(void *owner, struct stream *take_stream, struct slice message,
                           const struct error *error)
{
    struct fuzz_link *fuzz = owner;
    must((take_stream == NULL) == (error != NULL));
    must(message.len <= LIMIT_TUNNEL_MESSAGE_SIZE);
    fuzz->opened_count++;
    if (take_stream != NULL) {
        fuzz_take(fuzz, take_stream);
    }
}

static void fuzz_on_ended(void *owner, const struct error *error)
{
    struct fuzz_link *fuzz = owner;
    must(error->code != ERR_NONE && error->message[0] != '\0');
    fuzz->ended_count++;
    fuzz->link = NULL;
}

static int fuzz_link_run(enum link_end end, const uint8_t *bytes, size_t size, unsigned open_count)
{
    static const size_t pieces[] = {1, 7, 100, LIMIT_READ_SIZE};
    if (size < 2) {
        return 0;
    }
    struct fuzz_link *fuzz = memory_new(sizeof(*fuzz));
    fuzz->loop = loop_new(NULL);
    fuzz->stream = (struct stream){.ops = &fuzz_ops, .loop = fuzz->loop};
    fuzz->flags = bytes[0] & 0x1f;
    fuzz->piece = pieces[bytes[0] >> 6];
    fuzz->in = slice_of(bytes + 1, size - 1);
    fuzz->link = link_new(&(struct link_settings){.end = end,
                                                  .take_stream = &fuzz->stream,
                                                  .deadlines = LINK_DEADLINES,
                                                  .scratch = fuzz->scratch,
                                                  .on_asked = fuzz_on_asked,
                                                  .on_ended = fuzz_on_ended,
                                                  .owner = fuzz});
    for (unsigned i = 0; i < open_count; i++) {
        const struct channel_request request = {.kind = SLICE_INIT("/test"),
                                                .message = SLICE_INIT("message")};
        (void)link_open(fuzz->link, &request, fuzz_on_opened, fuzz);
    }
    loop_turn(fuzz->loop);
    if ((fuzz->flags & FUZZ_DRAINS) != 0 && fuzz->link != NULL) {
        link_drain(fuzz->link);
    }
    for (size_t i = 0; i < size + 100 && fuzz->ended_count == 0; i++) {
        if ((fuzz->watched & STREAM_READABLE) != 0) {
            fuzz->stream.on_event(fuzz->stream.owner, STREAM_READABLE);
        }
        if (i % 16 == 0 || fuzz->in.len == 0) {
            loop_turn(fuzz->loop);
        }
    }
    must(fuzz->ended_count == 1 && fuzz->is_closed);
    loop_turn(fuzz->loop);
    loop_turn(fuzz->loop);
    must(fuzz->opened_count == open_count);
    for (size_t i = 0; i < fuzz->channel_count; i++) {
        stream_close(fuzz->channels[i]);
    }
    loop_free(fuzz->loop);
    memory_free(fuzz);
    return 0;
}

#endif
