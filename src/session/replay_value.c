/* SPDX-License-Identifier: MIT */
#include "base/writer.h"
#include "codec/uuid.h"
#include "session/replay_internal.h"

#include <inttypes.h>

/* Types by their oids, which PostgreSQL never changes (pg_type.dat). */
enum {
    TYPE_BOOL = 16,
    TYPE_CHAR = 18,
    TYPE_NAME = 19,
    TYPE_INT8 = 20,
    TYPE_INT2 = 21,
    TYPE_INT4 = 23,
    TYPE_TEXT = 25,
    TYPE_OID = 26,
    TYPE_JSON = 114,
    TYPE_XML = 142,
    TYPE_UNKNOWN = 705,
    TYPE_BPCHAR = 1042,
    TYPE_VARCHAR = 1043,
    TYPE_UUID = 2950,
    TYPE_JSONB = 3802,
};

bool replay_value_next(struct replay_values *values, struct replay_value *ret_value)
{
    struct reader *reader = &values->reader;
    if (values->count == 0) {
        return false;
    }
    *ret_value = (struct replay_value){0};
    if (values->index < replay_shape_count(values->shape)) {
        ret_value->type = values->shape->types[values->index];
        ret_value->is_binary = values->shape->is_binary[values->index];
    }
    values->index++;
    values->count--;
    uint32_t len = reader_u32(reader);
    if (reader->failed) {
        values->count = 0;
        values->is_cut = true;
        return false;
    }
    if (len == UINT32_MAX) {
        return true;
    }
    ret_value->is_cut = len > reader_left(reader);
    ret_value->bytes = reader_view(reader, ret_value->is_cut ? reader_left(reader) : len);
    if (ret_value->is_cut) {
        values->is_cut = true;
        values->count = 0;
    }
    return true;
}

static struct slice value_hex(struct slice bytes, struct buf *scratch)
{
    static const char digits[] = "0123456789abcdef";
    struct writer writer = writer_to(scratch);
    writer_bytes(&writer, SLICE("\\x"));
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char byte = (unsigned char)bytes.at[i];
        const char pair[] = {digits[byte >> 4], digits[byte & 15]};
        writer_bytes(&writer, slice_of(pair, sizeof(pair)));
    }
    return buf_view(scratch);
}

static struct slice value_integer(struct slice bytes, bool is_signed, struct buf *scratch)
{
    struct reader reader = reader_of(bytes);
    struct writer writer = writer_to(scratch);
    int64_t value = bytes.len == 2   ? (int16_t)reader_u16(&reader)
                    : bytes.len == 4 ? (int32_t)reader_u32(&reader)
                                     : (int64_t)reader_u64(&reader);
    if (is_signed) {
        writer_format(&writer, "%" PRId64, value);
    } else {
        writer_format(&writer, "%" PRIu32, (uint32_t)value);
    }
    return buf_view(scratch);
}

static struct slice value_binary(const struct replay_value *value, struct buf *scratch)
{
    struct slice bytes = value->bytes;
    char text[UUID_TEXT_SIZE];
    switch (value->type) {
    case TYPE_INT2:
    case TYPE_INT4:
    case TYPE_INT8:
        return bytes.len == 2 || bytes.len == 4 || bytes.len == 8
                   ? value_integer(bytes, true, scratch)
                   : value_hex(bytes, scratch);
    case TYPE_OID:
        return bytes.len == 4 ? value_integer(bytes, false, scratch) : value_hex(bytes, scratch);
    case TYPE_BOOL:
        return bytes.len != 1 ? value_hex(bytes, scratch)
                              : (bytes.at[0] != 0 ? SLICE("t") : SLICE("f"));
    case TYPE_CHAR:
    case TYPE_NAME:
    case TYPE_TEXT:
    case TYPE_JSON:
    case TYPE_XML:
    case TYPE_UNKNOWN:
    case TYPE_BPCHAR:
    case TYPE_VARCHAR:
        return bytes;
    case TYPE_JSONB: /* a version before the text */
        return bytes.len > 0 && bytes.at[0] == 1 ? slice_from(bytes, 1) : value_hex(bytes, scratch);
    case TYPE_UUID:
        if (bytes.len == UUID_SIZE) {
            struct slice uuid = uuid_format((const unsigned char *)bytes.at, text);
            return buf_append(scratch, uuid) == ERR_NONE ? buf_view(scratch) : SLICE_NONE;
        }
        return value_hex(bytes, scratch);
    default:
        return value_hex(bytes, scratch);
    }
}

struct slice replay_value_text(const struct replay_value *value, struct buf *scratch)
{
    if (!value->is_binary || value->bytes.at == NULL) {
        return value->bytes;
    }
    buf_truncate(scratch, 0);
    return value_binary(value, scratch);
}
