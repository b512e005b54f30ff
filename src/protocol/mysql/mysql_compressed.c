/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_compressed.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"

#define CHUNK_SIZE LIMIT_KIB(64) /* of what is compressed at once */
#define OUT_SIZE   (2 * CHUNK_SIZE)

struct compressed {
    struct stream stream;
    struct stream *below;
    enum mysql_packing method;
    struct buf in;     /* what is no whole packet yet */
    struct buf plain;  /* what the owner has not read */
    struct buf unsent; /* what the stream below has not taken */
    uint8_t sequence;  /* of our next packet: one more than the client's last, or than ours */
    unsigned watched;
    enum err end; /* what each read answers from now on; ERR_NONE while it is open */
    struct loop_task task;
};

static struct compressed *compressed_of(struct stream *stream)
{
    return CONTAINER_OF(stream, struct compressed, stream);
}

static bool has_packet(const struct compressed *self)
{
    struct reader reader = reader_of(buf_view(&self->in));
    size_t size = mysqlwire_read_u24(&reader);
    return !reader.failed && self->in.len >= MYSQL_PACKING_HEADER_SIZE + size;
}

static enum err flush(struct compressed *self)
{
    enum err err = ERR_NONE;
    while (self->unsent.len > 0 && err == ERR_NONE) {
        struct slice bytes = buf_view(&self->unsent);
        size_t len = 0;
        err = stream_write(self->below, &bytes, 1, &len);
        if (err == ERR_NONE) {
            buf_consume(&self->unsent, len);
        }
    }
    if (self->unsent.len == 0) {
        buf_clear(&self->unsent);
    }
    return err;
}

/* Events --------------------------------------------------------------------------------------- */

/* What can be done although the stream below may stay silent. */
static unsigned ready_events(const struct compressed *self)
{
    bool is_readable = self->plain.len > 0 || self->end != ERR_NONE || has_packet(self);
    return (is_readable ? STREAM_READABLE : 0U) & self->watched;
}

static void watch_below(struct compressed *self)
{
    unsigned events = self->watched & STREAM_WRITABLE;
    if ((self->watched & STREAM_READABLE) != 0 && self->end == ERR_NONE) {
        events |= STREAM_READABLE;
    }
    stream_watch(self->below, events | (self->unsent.len > 0 ? STREAM_WRITABLE : 0U));
    if (ready_events(self) != 0) {
        loop_defer(self->stream.loop, &self->task);
    }
}

/* The owner may close the stream: nothing is touched after the call. */
static void report(struct compressed *self, unsigned events)
{
    unsigned ready = events & self->watched;
    watch_below(self);
    if (ready != 0) {
        self->stream.on_event(self->stream.owner, ready);
    }
}

static void on_task(void *owner)
{
    report(owner, ready_events(owner));
}

static void on_below(void *owner, unsigned events)
{
    struct compressed *self = owner;
    unsigned ready = events;
    if ((events & STREAM_WRITABLE) != 0) {
        enum err err = flush(self);
        ready = err == ERR_AGAIN ? ready & ~(unsigned)STREAM_WRITABLE : ready;
        if (err != ERR_NONE && err != ERR_AGAIN) {
            self->end = ERR_IO;
        }
    }
    report(self, ready | ready_events(self));
}

/* Bytes ---------------------------------------------------------------------------------------- */

/* ERR_NONE: something more was read. */
static enum err fill(struct compressed *self)
{
    char *at = NULL;
    size_t len = 0;
    size_t left = self->in.size_max - self->in.len;
    size_t room = left < LIMIT_READ_SIZE ? left : LIMIT_READ_SIZE;
    must(room > 0 && buf_reserve(&self->in, room, &at) == ERR_NONE);
    enum err err = stream_read(self->below, at, room, &len);
    if (err == ERR_NONE) {
        buf_commit(&self->in, len);
    } else if (err != ERR_AGAIN) {
        self->end = err;
    } else if (self->in.len == 0) {
        buf_clear(&self->in); /* who is idle holds no buffer */
    }
    return err;
}

static enum err take_packet(struct compressed *self)
{
    size_t taken = 0;
    uint8_t sequence = 0;
    enum err err =
        mysql_packing_read(self->method, buf_view(&self->in), &taken, &sequence, &self->plain);
    if (err == ERR_NONE) {
        buf_consume(&self->in, taken);
        self->sequence = (uint8_t)(sequence + 1);
    } else if (err != ERR_MORE) {
        err = self->end = ERR_IO;
    }
    return err;
}

static enum err compressed_read(struct stream *stream, char *at, size_t size, size_t *ret_len)
{
    struct compressed *self = compressed_of(stream);
    enum err err = self->end;
    while (self->plain.len == 0 && err == ERR_NONE) {
        err = take_packet(self);
        err = err == ERR_MORE ? fill(self) : err;
    }
    struct slice given = slice_sub(buf_view(&self->plain), 0, size);
    if (given.len > 0) {
        memcpy(at, given.at, given.len);
        buf_consume(&self->plain, given.len);
        *ret_len = given.len;
        err = ERR_NONE;
    }
    if (self->plain.len == 0) {
        buf_clear(&self->plain);
    }
    watch_below(self);
    return err;
}

static enum err compressed_write(struct stream *stream, const struct slice *parts, size_t count,
                                 size_t *ret_len)
{
    struct compressed *self = compressed_of(stream);
    struct buf gathered CLEANUP(buf_wipe);
    buf_init(&gathered, CHUNK_SIZE);
    enum err err = flush(self);
    for (size_t i = 0; i < count && err == ERR_NONE && gathered.len < CHUNK_SIZE; i++) {
        must(buf_append(&gathered, slice_sub(parts[i], 0, CHUNK_SIZE - gathered.len)) == ERR_NONE);
    }
    if (err == ERR_NONE && gathered.len > 0) {
        must(mysql_packing_write(self->method, self->sequence++, buf_view(&gathered),
                                 &self->unsent) == ERR_NONE);
        *ret_len = gathered.len;
        err = flush(self);
        err = err == ERR_AGAIN ? ERR_NONE : err; /* it is taken all the same */
    }
    watch_below(self);
    return err == ERR_NONE || err == ERR_AGAIN ? err : ERR_IO;
}

static void compressed_watch(struct stream *stream, unsigned events)
{
    struct compressed *self = compressed_of(stream);
    if (self->watched != events) {
        self->watched = events;
        watch_below(self);
    }
}

static enum err compressed_shutdown(struct stream *stream)
{
    struct compressed *self = compressed_of(stream);
    enum err err = flush(self);
    err = err == ERR_NONE ? stream_shutdown(self->below) : err;
    watch_below(self);
    return err;
}

/* Its life ------------------------------------------------------------------------------------- */

static void compressed_free(void *owner)
{
    struct compressed *self = owner;
    buf_wipe(&self->in);
    buf_wipe(&self->plain);
    buf_wipe(&self->unsent);
    memory_free(self);
}

static void compressed_close(struct stream *stream)
{
    struct compressed *self = compressed_of(stream);
    stream_close(self->below);
    loop_task_cancel(&self->task);
    loop_task_init(&self->task, compressed_free, self);
    loop_defer(stream->loop, &self->task);
}

static struct slice compressed_protocol(const struct stream *stream)
{
    return stream_protocol(CONTAINER_OF_CONST(stream, struct compressed, stream)->below);
}

static bool compressed_is_encrypted(const struct stream *stream)
{
    return stream_is_encrypted(CONTAINER_OF_CONST(stream, struct compressed, stream)->below);
}

static void compressed_detach(struct stream *stream)
{
    struct compressed *self = compressed_of(stream);
    loop_task_cancel(&self->task);
    stream_detach(self->below);
}

static void compressed_attach(struct stream *stream, struct loop *loop)
{
    stream_attach(compressed_of(stream)->below, loop);
}

static const struct stream_ops compressed_ops = {
    .read = compressed_read,
    .write = compressed_write,
    .watch = compressed_watch,
    .shutdown = compressed_shutdown,
    .close = compressed_close,
    .protocol = compressed_protocol,
    .is_encrypted = compressed_is_encrypted,
    .detach = compressed_detach,
    .attach = compressed_attach,
};

struct stream *mysql_compressed_new(struct stream *take_below, enum mysql_packing method,
                                    struct slice first)
{
    struct compressed *self = memory_new(sizeof(*self));
    self->stream = (struct stream){.ops = &compressed_ops, .loop = take_below->loop};
    self->below = take_below;
    self->method = method;
    buf_init(&self->in, MYSQL_PACKING_HEADER_SIZE + MYSQLWIRE_PIECE_MAX);
    buf_init(&self->plain, MYSQLWIRE_PIECE_MAX);
    buf_init(&self->unsent, OUT_SIZE);
    must(buf_append(&self->in, first) == ERR_NONE); /* less than a sign-in's buffer */
    loop_task_init(&self->task, on_task, self);
    stream_own(take_below, on_below, self);
    return &self->stream;
}
