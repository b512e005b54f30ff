/* SPDX-License-Identifier: MIT */
#include "base/writer.h"

#include "base/must.h"

#include <stdarg.h>

#define WRITER_FORMAT_SIZE 512

struct writer writer_to(struct buf *buf)
{
    return (struct writer){.buf = buf};
}

static void writer_digits(char *at, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        at[i] = (char)(uint8_t)(value >> (8 * (size - 1 - i)));
    }
}

void writer_bytes(struct writer *writer, struct slice bytes)
{
    if (writer->failed || buf_append(writer->buf, bytes) != ERR_NONE) {
        writer->failed = true;
    }
}

static void writer_number(struct writer *writer, uint64_t value, size_t size)
{
    char bytes[8];
    writer_digits(bytes, value, size);
    writer_bytes(writer, slice_of(bytes, size));
}

void writer_u8(struct writer *writer, uint8_t value)
{
    writer_number(writer, value, 1);
}

void writer_u16(struct writer *writer, uint16_t value)
{
    writer_number(writer, value, 2);
}

void writer_u32(struct writer *writer, uint32_t value)
{
    writer_number(writer, value, 4);
}

void writer_u64(struct writer *writer, uint64_t value)
{
    writer_number(writer, value, 8);
}

void writer_u32_at(struct writer *writer, size_t index, uint32_t value)
{
    if (writer->failed) {
        return;
    }
    must(index <= writer->buf->len && writer->buf->len - index >= sizeof(value));
    writer_digits(writer->buf->memory + writer->buf->start + index, value, sizeof(value));
}

void writer_text(struct writer *writer, struct slice text)
{
    writer_bytes(writer, text);
    writer_u8(writer, 0);
}

void writer_decimal(struct writer *writer, uint64_t value)
{
    char digits[20];
    size_t start = sizeof(digits);
    do {
        digits[--start] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    writer_bytes(writer, slice_of(digits + start, sizeof(digits) - start));
}

void writer_format(struct writer *writer, const char *format, ...)
{
    char text[WRITER_FORMAT_SIZE];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    must(len >= 0 && (size_t)len < sizeof(text));
    writer_bytes(writer, slice_of(text, (size_t)len));
}

enum err writer_done(const struct writer *writer)
{
    return writer->failed ? ERR_LIMIT : ERR_NONE;
}
