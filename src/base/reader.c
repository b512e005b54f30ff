/* SPDX-License-Identifier: MIT */
#include "base/reader.h"

struct reader reader_of(struct slice input)
{
    return (struct reader){.input = input};
}

struct slice reader_view(struct reader *reader, size_t len)
{
    if (reader->failed || len > reader_left(reader)) {
        reader->failed = true;
        return SLICE_NONE;
    }
    struct slice view = slice_sub(reader->input, reader->index, len);
    reader->index += len;
    return view;
}

static uint64_t reader_number(struct reader *reader, size_t size)
{
    struct slice view = reader_view(reader, size);
    uint64_t number = 0;
    for (size_t i = 0; i < view.len; i++) {
        number = number << 8 | (uint8_t)view.at[i];
    }
    return number;
}

uint8_t reader_u8(struct reader *reader)
{
    return (uint8_t)reader_number(reader, 1);
}

uint16_t reader_u16(struct reader *reader)
{
    return (uint16_t)reader_number(reader, 2);
}

uint32_t reader_u32(struct reader *reader)
{
    return (uint32_t)reader_number(reader, 4);
}

uint64_t reader_u64(struct reader *reader)
{
    return reader_number(reader, 8);
}

struct slice reader_view_text(struct reader *reader)
{
    struct slice rest = slice_from(reader->input, reader->index);
    size_t len = slice_find_byte(rest, '\0');
    if (reader->failed || len == rest.len) {
        reader->failed = true;
        return SLICE_NONE;
    }
    reader->index += len + 1;
    return slice_sub(rest, 0, len);
}

struct slice reader_view_rest(struct reader *reader)
{
    return reader_view(reader, reader_left(reader));
}

void reader_skip(struct reader *reader, size_t len)
{
    (void)reader_view(reader, len);
}

size_t reader_left(const struct reader *reader)
{
    return reader->input.len - reader->index;
}

enum err reader_done(const struct reader *reader)
{
    return reader->failed || reader_left(reader) != 0 ? ERR_INPUT : ERR_NONE;
}
