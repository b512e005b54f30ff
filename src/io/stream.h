/* SPDX-License-Identifier: MIT */
/* A two-way flow of bytes on a loop: a socket, TLS over a stream, later a channel of a tunnel. Our
 * only deep polymorphism: each knows no more than the stream below it.
 *
 * Reads and writes never block. The owner says with stream_watch what it waits for and is called
 * when that is possible; it is called again in the next turn if it left something to do. After
 * stream_close no callback comes any more; the memory goes at the end of the turn. */
#ifndef GH_IO_STREAM_H
#define GH_IO_STREAM_H

#include "base/err.h"
#include "base/slice.h"
#include "io/loop.h"

enum stream_event {
    STREAM_READABLE = 1,
    STREAM_WRITABLE = 2,
};

/* The most parts that one stream_write takes. */
#define STREAM_PARTS_MAX 16

struct stream;

typedef void (*stream_event_fn)(void *owner, unsigned events);

struct stream_ops {
    enum err (*read)(struct stream *stream, char *at, size_t size, size_t *ret_len);
    enum err (*write)(struct stream *stream, const struct slice *parts, size_t count,
                      size_t *ret_len);
    void (*watch)(struct stream *stream, unsigned events);
    enum err (*shutdown)(struct stream *stream);
    void (*close)(struct stream *stream);
    /* The application protocol agreed on (TLS ALPN), or an empty slice. */
    struct slice (*protocol)(const struct stream *stream);
    bool (*is_encrypted)(const struct stream *stream);
    /* NULL where a stream cannot leave its loop. */
    void (*detach)(struct stream *stream);
    void (*attach)(struct stream *stream, struct loop *loop);
};

struct stream {
    const struct stream_ops *ops;
    struct loop *loop;
    stream_event_fn on_event;
    void *owner;
};

/* Who is called from now on; nothing is watched until stream_watch. */
void stream_own(struct stream *stream, stream_event_fn on_event, void *owner);

/* ERR_NONE with at least one byte, ERR_AGAIN when there is nothing now, ERR_CLOSED at the orderly
 * end, ERR_IO when the connection broke. */
enum err stream_read(struct stream *stream, char *at, size_t size, size_t *ret_len) MUST_USE;
/* ERR_NONE with the number of bytes taken, which may be fewer than given; ERR_AGAIN when none could
 * be taken now; ERR_IO. Empty parts are allowed; 'count' is at most STREAM_PARTS_MAX. */
enum err stream_write(struct stream *stream, const struct slice *parts, size_t count,
                      size_t *ret_len) MUST_USE;
/* Replaces what is waited for: a set of enum stream_event, 0 for nothing. */
void stream_watch(struct stream *stream, unsigned events);
/* Ends our direction; the other one stays open. ERR_AGAIN: wait for STREAM_WRITABLE, call again. */
enum err stream_shutdown(struct stream *stream) MUST_USE;
void stream_close(struct stream *stream);

/* Moves a stream to another loop, with all that it holds. On the old loop's thread, when nothing is
 * watched, also inside the owner's callback, which then must not touch the stream any more; from
 * then on it is on no loop, and nothing but stream_attach may be called, on the new one's thread,
 * which must see what the old one wrote (a mail does that). For sockets and TLS above them; others
 * belong to their loop. */
bool stream_can_move(const struct stream *stream);
void stream_detach(struct stream *stream);
void stream_attach(struct stream *stream, struct loop *loop);

struct slice stream_protocol(const struct stream *stream);
bool stream_is_encrypted(const struct stream *stream);

#endif
