/* SPDX-License-Identifier: MIT */
#include "base/writer.h"
#include "codec/uuid.h"
#include "protocol/postgres/pg_replay_internal.h"

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

/* As it is in its message. */
struct pg_value {
    struct slice bytes; /* at == NULL: NULL */
    uint32_t type;      /* 0: not known */
    bool is_binary;
};

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

static struct slice value_binary(const struct pg_value *value, struct buf *scratch)
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

/* Simple types out of their binary form, others as \x and hex digits. */
static struct slice value_text(const struct pg_value *value, struct buf *scratch)
{
    if (!value->is_binary || value->bytes.at == NULL) {
        return value->bytes;
    }
    buf_truncate(scratch, 0);
    return value_binary(value, scratch);
}

struct replay_values pg_replay_values_of(size_t count, struct reader reader,
                                         const struct pg_replay_shape *types)
{
    return (struct replay_values){
        .count = count,
        .ops = &pg_replay_ops,
        .reader = reader,
        .types = types,
    };
}

bool pg_replay_next_value(struct replay_values *values, struct buf *scratch,
                          struct replay_value *ret_value)
{
    const struct pg_replay_shape *types = values->types;
    struct reader *reader = &values->reader;
    struct pg_value value = {0};
    if (values->index < pg_replay_shape_count(types)) {
        value.type = types->types[values->index];
        value.is_binary = types->is_binary[values->index];
    }
    values->index++;
    values->count--;
    uint32_t len = reader_u32(reader);
    *ret_value = (struct replay_value){0};
    if (reader->failed) {
        values->count = 0;
        values->is_cut = true;
        return false;
    }
    if (len == UINT32_MAX) {
        return true;
    }
    ret_value->is_cut = len > reader_left(reader);
    value.bytes = reader_view(reader, ret_value->is_cut ? reader_left(reader) : len);
    if (ret_value->is_cut) {
        values->is_cut = true;
        values->count = 0;
    }
    ret_value->text = value_text(&value, scratch);
    return true;
}
