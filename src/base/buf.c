/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include "base/memory.h"
#include "base/must.h"

#define BUF_CAPACITY_MIN 256

void buf_init(struct buf *buf, size_t size_max)
{
    *buf = (struct buf){.size_max = size_max};
}

void buf_clear(struct buf *buf)
{
    memory_free(buf->memory);
    buf_init(buf, buf->size_max);
}

void buf_release(struct buf *buf)
{
    buf_clear(buf);
}

void buf_wipe(struct buf *buf)
{
    if (buf->memory != NULL) {
        explicit_bzero(buf->memory, buf->capacity);
    }
    buf_clear(buf);
}

struct slice buf_view(const struct buf *buf)
{
    return buf->len == 0 ? SLICE_NONE : slice_of(buf->memory + buf->start, buf->len);
}

enum err buf_append(struct buf *buf, struct slice bytes)
{
    char *at = NULL;
    enum err err = buf_reserve(buf, bytes.len, &at);
    if (err != ERR_NONE || bytes.len == 0) {
        return err;
    }
    memcpy(at, bytes.at, bytes.len);
    buf_commit(buf, bytes.len);
    return ERR_NONE;
}

static void buf_grow(struct buf *buf, size_t needed)
{
    size_t capacity = buf->capacity < BUF_CAPACITY_MIN ? BUF_CAPACITY_MIN : buf->capacity;
    while (capacity < needed) {
        capacity *= 2;
    }
    if (capacity > buf->size_max && needed <= buf->size_max) {
        capacity = buf->size_max;
    }
    buf->memory = memory_resize(buf->memory, capacity);
    buf->capacity = capacity;
}

enum err buf_append_parts(struct buf *buf, const struct slice *parts, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        size += parts[i].len;
    }
    char *at = NULL;
    enum err err = buf_reserve(buf, size, &at);
    if (err != ERR_NONE || size == 0) {
        return err;
    }
    for (size_t i = 0; i < count; i++) {
        if (parts[i].len > 0) {
            memcpy(at, parts[i].at, parts[i].len);
            at += parts[i].len;
        }
    }
    buf_commit(buf, size);
    return ERR_NONE;
}

enum err buf_reserve(struct buf *buf, size_t size, char **ret_at)
{
    if (size > buf->size_max - buf->len) {
        return ERR_LIMIT;
    }
    if (buf->start + buf->len + size > buf->capacity && buf->start > 0) {
        memmove(buf->memory, buf->memory + buf->start, buf->len);
        buf->start = 0;
    }
    if (buf->len + size > buf->capacity) {
        buf_grow(buf, buf->len + size);
    }
    *ret_at = buf->memory == NULL ? NULL : buf->memory + buf->start + buf->len;
    return ERR_NONE;
}

void buf_commit(struct buf *buf, size_t size)
{
    must(buf->start + buf->len + size <= buf->capacity);
    buf->len += size;
}

void buf_consume(struct buf *buf, size_t size)
{
    must(size <= buf->len);
    buf->start += size;
    buf->len -= size;
    if (buf->len == 0) {
        buf->start = 0;
    }
}

void buf_truncate(struct buf *buf, size_t len)
{
    must(len <= buf->len);
    buf->len = len;
}
