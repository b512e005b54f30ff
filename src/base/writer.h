/* SPDX-License-Identifier: MIT */
/* Writing of fields into a buffer. Going over the buffer's maximum makes the writer failed, for
 * good: write twelve fields, then ask once with writer_done(). */
#ifndef GH_BASE_WRITER_H
#define GH_BASE_WRITER_H

#include "base/buf.h"

#include <stdint.h>

struct writer {
    struct buf *buf;
    bool failed;
};

struct writer writer_to(struct buf *buf);

void writer_u8(struct writer *writer, uint8_t value);
/* Network byte order. */
void writer_u16(struct writer *writer, uint16_t value);
void writer_u32(struct writer *writer, uint32_t value);
void writer_u64(struct writer *writer, uint64_t value);
/* Puts 'value' in place of four bytes that were written, 'index' bytes behind the first that the
 * buffer holds: a length that is known only at the end. */
void writer_u32_at(struct writer *writer, size_t index, uint32_t value);
void writer_bytes(struct writer *writer, struct slice bytes);
/* The bytes and a NUL. */
void writer_text(struct writer *writer, struct slice text);
/* As decimal digits. */
void writer_decimal(struct writer *writer, uint64_t value);
/* For short text with numbers in it; at most 512 bytes come out. */
void writer_format(struct writer *writer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ERR_NONE, or ERR_LIMIT when anything did not fit. */
enum err writer_done(const struct writer *writer) MUST_USE;

#endif
