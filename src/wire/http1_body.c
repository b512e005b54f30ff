/* SPDX-License-Identifier: MIT */
/* The chunked coding, both ways: RFC 9112 7.1. */
#include "base/must.h"
#include "wire/http1.h"
#include "wire/http_bytes.h"

/* 16 hexadecimal digits are the most that 64 bits hold, so that no size can wrap around. */
#define CHUNK_DIGIT_COUNT 16

static unsigned hex_value(char byte)
{
    unsigned value = (unsigned char)byte;
    return value <= '9' ? value - '0' : (value | 0x20) - 'a' + 10;
}

static enum err take_size(struct http1_chunked *chunked, char byte)
{
    if (http_byte_is(byte, HTTP_BYTE_HEX)) {
        if (chunked->digit_count == CHUNK_DIGIT_COUNT) {
            return ERR_INPUT;
        }
        chunked->digit_count++;
        chunked->left = (chunked->left << 4) | hex_value(byte);
        return ERR_NONE;
    }
    /* White space before an extension is legal but nobody sends it, while parsers differ in what
     * they make of "5 " and of "5\t": it is refused here. */
    if (chunked->digit_count == 0 || (byte != ';' && byte != '\r')) {
        return ERR_INPUT;
    }
    chunked->state = byte == ';' ? HTTP1_CHUNKED_EXTENSION : HTTP1_CHUNKED_SIZE_LF;
    return ERR_NONE;
}

/* Extensions mean nothing to us (RFC 9112 7.1.1); all together are limited, too, because a body of
 * tiny chunks with long extensions costs far more than its own limit says. */
static enum err take_extension(struct http1_chunked *chunked, char byte)
{
    chunked->line_size++;
    chunked->extension_size++;
    if (chunked->line_size > LIMIT_HTTP_CHUNK_LINE_SIZE ||
        chunked->extension_size > LIMIT_HTTP_EXTENSIONS_SIZE) {
        return ERR_LIMIT;
    }
    if (byte == '\r') {
        chunked->state = HTTP1_CHUNKED_SIZE_LF;
        return ERR_NONE;
    }
    return http_byte_is(byte, HTTP_BYTE_FIELD) ? ERR_NONE : ERR_INPUT;
}

static enum err take_expected(struct http1_chunked *chunked, char byte, char expected,
                              enum http1_chunked_state next)
{
    if (byte != expected) {
        return ERR_INPUT;
    }
    chunked->state = next;
    return ERR_NONE;
}

static enum err take_data_lf(struct http1_chunked *chunked, char byte)
{
    chunked->digit_count = 0;
    chunked->line_size = 0;
    return take_expected(chunked, byte, '\n', HTTP1_CHUNKED_SIZE);
}

static enum err take_trailer_start(struct http1_chunked *chunked, char byte)
{
    if (byte == '\r') {
        chunked->state = HTTP1_CHUNKED_END_LF;
        return ERR_NONE;
    }
    chunked->state = HTTP1_CHUNKED_TRAILER_NAME;
    return http_byte_is(byte, HTTP_BYTE_TOKEN) ? ERR_NONE : ERR_INPUT;
}

static enum err take_trailer_name(struct http1_chunked *chunked, char byte)
{
    if (byte == ':') {
        chunked->state = HTTP1_CHUNKED_TRAILER_VALUE;
        return ERR_NONE;
    }
    return http_byte_is(byte, HTTP_BYTE_TOKEN) ? ERR_NONE : ERR_INPUT;
}

static enum err take_trailer_value(struct http1_chunked *chunked, char byte)
{
    if (byte == '\r') {
        chunked->state = HTTP1_CHUNKED_TRAILER_LF;
        return ERR_NONE;
    }
    return http_byte_is(byte, HTTP_BYTE_FIELD) ? ERR_NONE : ERR_INPUT;
}

static enum err take_end_lf(struct http1_chunked *chunked, char byte)
{
    chunked->done = byte == '\n';
    return chunked->done ? ERR_NONE : ERR_INPUT;
}

static enum err take_byte(struct http1_chunked *chunked, char byte)
{
    switch (chunked->state) {
    case HTTP1_CHUNKED_SIZE:
        chunked->line_size++;
        return take_size(chunked, byte);
    case HTTP1_CHUNKED_EXTENSION:
        return take_extension(chunked, byte);
    case HTTP1_CHUNKED_SIZE_LF:
        return take_expected(chunked, byte, '\n',
                             chunked->left > 0 ? HTTP1_CHUNKED_DATA : HTTP1_CHUNKED_TRAILER_START);
    case HTTP1_CHUNKED_DATA:
        return ERR_INTERNAL; /* never here: taken in runs by http1_chunked_next() */
    case HTTP1_CHUNKED_DATA_CR:
        return take_expected(chunked, byte, '\r', HTTP1_CHUNKED_DATA_LF);
    case HTTP1_CHUNKED_DATA_LF:
        return take_data_lf(chunked, byte);
    case HTTP1_CHUNKED_TRAILER_START:
        return take_trailer_start(chunked, byte);
    case HTTP1_CHUNKED_TRAILER_NAME:
        return take_trailer_name(chunked, byte);
    case HTTP1_CHUNKED_TRAILER_VALUE:
        return take_trailer_value(chunked, byte);
    case HTTP1_CHUNKED_TRAILER_LF:
        return take_expected(chunked, byte, '\n', HTTP1_CHUNKED_TRAILER_START);
    case HTTP1_CHUNKED_END_LF:
        return take_end_lf(chunked, byte);
    }
    must(false);
}

static enum err count_trailer(struct http1_chunked *chunked)
{
    if (chunked->state < HTTP1_CHUNKED_TRAILER_START) {
        return ERR_NONE;
    }
    chunked->trailer_size++;
    return chunked->trailer_size > LIMIT_HTTP_TRAILER_SIZE ? ERR_LIMIT : ERR_NONE;
}

static struct slice take_data(struct http1_chunked *chunked, struct slice input)
{
    struct slice data = input;
    if (chunked->left < data.len) {
        data.len = (size_t)chunked->left;
    }
    chunked->left -= data.len;
    if (chunked->left == 0) {
        chunked->state = HTTP1_CHUNKED_DATA_CR;
    }
    return data;
}

enum err http1_chunked_next(struct http1_chunked *chunked, struct slice input, size_t *ret_taken,
                            struct slice *ret_data)
{
    must(!chunked->done);
    *ret_data = SLICE_NONE;
    for (size_t i = 0; i < input.len; i++) {
        if (chunked->state == HTTP1_CHUNKED_DATA) {
            *ret_data = take_data(chunked, slice_from(input, i));
            *ret_taken = i + ret_data->len;
            return ERR_NONE;
        }
        enum err err = count_trailer(chunked);
        if (err == ERR_NONE) {
            err = take_byte(chunked, input.at[i]);
        }
        if (err != ERR_NONE) {
            return err;
        }
        if (chunked->done) {
            *ret_taken = i + 1;
            return ERR_NONE;
        }
    }
    *ret_taken = input.len;
    return ERR_MORE;
}

void http1_chunk_begin(struct writer *writer, size_t size)
{
    must(size > 0);
    char line[CHUNK_DIGIT_COUNT + 2];
    size_t start = CHUNK_DIGIT_COUNT;
    line[start] = '\r';
    line[start + 1] = '\n';
    for (size_t left = size; left > 0; left >>= 4) {
        start--;
        line[start] = "0123456789abcdef"[left & 15];
    }
    writer_bytes(writer, slice_from(slice_of(line, sizeof(line)), start));
}

void http1_chunk_end(struct writer *writer)
{
    writer_bytes(writer, SLICE("\r\n"));
}

void http1_chunk_last(struct writer *writer)
{
    writer_bytes(writer, SLICE("0\r\n\r\n"));
}
