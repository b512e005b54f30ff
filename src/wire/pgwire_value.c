/* SPDX-License-Identifier: MIT */
#include "wire/pgwire_value.h"

#define OID_SIZE    4
#define FORMAT_SIZE 2

uint32_t pgwire_oid_at(const struct pgwire_oids *oids, size_t index)
{
    struct reader reader = reader_of(oids->bytes);
    reader_skip(&reader, index * OID_SIZE);
    return reader_u32(&reader);
}

uint16_t pgwire_format_of(const struct pgwire_formats *formats, size_t index)
{
    struct reader reader = reader_of(formats->bytes);
    reader_skip(&reader, formats->count == 1 ? 0 : index * FORMAT_SIZE);
    return formats->count == 0 ? PGWIRE_FORMAT_TEXT : reader_u16(&reader);
}

/* -1 is NULL; other lengths below 0 are longer than what is left and make the reader failed. */
struct slice pgwire_value_read(struct reader *reader)
{
    uint32_t len = reader_u32(reader);
    if (reader->failed || len == UINT32_MAX) {
        return SLICE_NONE;
    }
    return reader_view(reader, len);
}

bool pgwire_value_next(struct pgwire_values *values, struct slice *ret_value)
{
    if (values->count == 0) {
        return false;
    }
    struct reader reader = reader_of(values->bytes);
    *ret_value = pgwire_value_read(&reader);
    values->bytes = slice_from(values->bytes, reader.index);
    values->count--;
    return true;
}

struct pgwire_oids pgwire_oids_read(struct reader *reader)
{
    size_t count = reader_u16(reader);
    return (struct pgwire_oids){.count = count, .bytes = reader_view(reader, count * OID_SIZE)};
}

struct pgwire_formats pgwire_formats_read(struct reader *reader)
{
    size_t count = reader_u16(reader);
    return (struct pgwire_formats){
        .count = count,
        .bytes = reader_view(reader, count * FORMAT_SIZE),
    };
}

struct pgwire_values pgwire_values_read(struct reader *reader)
{
    size_t count = reader_u16(reader);
    size_t start = reader->index;
    for (size_t i = 0; i < count && !reader->failed; i++) {
        (void)pgwire_value_read(reader);
    }
    return (struct pgwire_values){
        .count = count,
        .bytes = slice_sub(reader->input, start, reader->index - start),
    };
}
