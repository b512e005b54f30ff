/* SPDX-License-Identifier: MIT */
/* For targets about what a peer says to us: a stream without a kernel, which has the peer's bytes
 * in pieces and keeps what it was told. Part of the one file that includes it. */
#ifndef GH_FUZZ_FUZZ_STREAM_H
#define GH_FUZZ_FUZZ_STREAM_H

#include "base/buf.h"
#include "base/memory.h"
#include "base/must.h"
#include "io/stream.h"

#include <string.h>

struct script {
    struct stream stream;
    struct slice in;
    size_t piece;
    size_t alone; /* so many bytes, before TLS, come in pieces of their own */
    bool is_encrypted;
    bool is_closed;
    unsigned watched;
    struct buf out;
};

static struct script *script_of(struct stream *stream)
{
    return CONTAINER_OF(stream, struct script, stream);
}

static enum err script_read(struct stream *stream, char *at, size_t size, size_t *ret_len)
{
    struct script *script = script_of(stream);
    must(!script->is_closed);
    if (script->in.len == 0) {
        return ERR_CLOSED;
    }
    size_t most = size < script->piece ? size : script->piece;
    most = script->alone > 0 && script->alone < most ? script->alone : most;
    struct slice part = slice_sub(script->in, 0, most);
    script->alone -= part.len < script->alone ? part.len : script->alone;
    memcpy(at, part.at, part.len);
    script->in = slice_from(script->in, part.len);
    *ret_len = part.len;
    return ERR_NONE;
}

static enum err script_write(struct stream *stream, const struct slice *parts, size_t count,
                             size_t *ret_len)
{
    must(count == 1 && !script_of(stream)->is_closed);
    *ret_len = parts[0].len;
    return buf_append(&script_of(stream)->out, parts[0]);
}

static void script_watch(struct stream *stream, unsigned events)
{
    must(!script_of(stream)->is_closed);
    script_of(stream)->watched = events;
}

static enum err script_shutdown(struct stream *stream)
{
    (void)stream;
    return ERR_NONE;
}

static void script_close(struct stream *stream)
{
    must(!script_of(stream)->is_closed);
    script_of(stream)->is_closed = true;
    script_of(stream)->watched = 0;
}

static struct slice script_protocol(const struct stream *stream)
{
    (void)stream;
    return SLICE_NONE;
}

static bool script_is_encrypted(const struct stream *stream)
{
    return ((const struct script *)(const void *)stream)->is_encrypted; /* its first member */
}

static const struct stream_ops script_ops = {
    .read = script_read,
    .write = script_write,
    .watch = script_watch,
    .shutdown = script_shutdown,
    .close = script_close,
    .protocol = script_protocol,
    .is_encrypted = script_is_encrypted,
};

#endif
