/* SPDX-License-Identifier: MIT */
/* Owned bytes that grow up to a maximum given when the buffer is made; what would go beyond it is
 * ERR_LIMIT and leaves the buffer as it was. Bytes are appended at the end and consumed from the
 * front; both are cheap. A buffer made with buf_init holds no memory until the first append. */
#ifndef GH_BASE_BUF_H
#define GH_BASE_BUF_H

#include "base/err.h"
#include "base/slice.h"

struct buf {
    char *memory;
    size_t start; /* of the bytes not yet consumed */
    size_t len;   /* of the bytes not yet consumed */
    size_t capacity;
    size_t size_max;
};

void buf_init(struct buf *buf, size_t size_max);
/* Gives the memory back; the buffer is empty and usable again with the same maximum. */
void buf_clear(struct buf *buf);
void buf_release(struct buf *buf);
/* As buf_clear, and the bytes are wiped first. */
void buf_wipe(struct buf *buf);

/* Valid until the next call that changes the buffer. */
struct slice buf_view(const struct buf *buf);

enum err buf_append(struct buf *buf, struct slice bytes) MUST_USE;
/* One behind the other; all or none. */
enum err buf_append_parts(struct buf *buf, const struct slice *parts, size_t count) MUST_USE;
/* Room for 'size' more bytes at *ret_at; buf_commit says how many of them were filled. */
enum err buf_reserve(struct buf *buf, size_t size, char **ret_at) MUST_USE;
void buf_commit(struct buf *buf, size_t size);

void buf_consume(struct buf *buf, size_t size);
/* Keeps the first 'len' bytes. */
void buf_truncate(struct buf *buf, size_t len);

#endif
