/* SPDX-License-Identifier: MIT */
#include "wire/mysqlwire_value.h"

#include <stdlib.h>

#define VALUE_NULL       0xfb
#define EXECUTE_FIXED    9 /* statement, flags, and a count that is always 1 */
#define TYPE_IS_UNSIGNED 0x80

/* Fields --------------------------------------------------------------------------------------- */

/* As much as there is of it. */
static struct slice read_text(struct reader *reader)
{
    uint64_t len = mysqlwire_read_lenenc(reader);
    if (reader->failed) {
        return SLICE("");
    }
    bool is_cut = len > reader_left(reader);
    struct slice text = is_cut ? reader_view_rest(reader) : reader_view(reader, (size_t)len);
    reader->failed = reader->failed || is_cut;
    return text;
}

struct slice mysqlwire_text_value_read(struct reader *reader)
{
    struct slice rest = slice_from(reader->input, reader->index);
    if (rest.len > 0 && (unsigned char)rest.at[0] == VALUE_NULL) {
        reader_skip(reader, 1);
        return SLICE_NONE;
    }
    return read_text(reader);
}

bool mysqlwire_bit(struct slice bits, size_t index)
{
    return index / 8 < bits.len && ((unsigned char)bits.at[index / 8] >> (index % 8) & 1U) != 0;
}

/* Binary values -------------------------------------------------------------------------------- */

static void write_integer(struct writer *writer, uint64_t value, unsigned bits, bool is_unsigned)
{
    bool is_negative = !is_unsigned && (value >> (bits - 1) & 1U) != 0;
    if (is_negative) {
        uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
        writer_u8(writer, '-');
        writer_decimal(writer, (~value + 1) & mask);
    } else {
        writer_decimal(writer, value);
    }
}

/* With as few digits as lead back to it. */
static void write_double(struct writer *writer, double value, int least, int most)
{
    char text[40];
    for (int digits = least; digits <= most; digits++) {
        (void)snprintf(text, sizeof(text), "%.*g", digits, value);
        double again = strtod(text, NULL);
        bool is_same = most > 9 ? !(again < value) && !(again > value)
                                : !((float)again < (float)value) && !((float)again > (float)value);
        if (is_same) {
            break;
        }
    }
    writer_bytes(writer, slice_of_text(text));
}

static void write_float(struct writer *writer, uint32_t bits)
{
    float value = 0;
    memcpy(&value, &bits, sizeof(value));
    write_double(writer, (double)value, 6, 9);
}

static void write_real(struct writer *writer, uint64_t bits)
{
    double value = 0;
    memcpy(&value, &bits, sizeof(value));
    write_double(writer, value, 15, 17);
}

static void write_fraction(struct writer *writer, struct reader *reader)
{
    if (reader_left(reader) > 0) {
        writer_format(writer, ".%06u", mysqlwire_read_u32(reader));
    }
}

/* A length of 0, 4, 7 or 11 bytes goes before it, by how much of it is zero. */
static void write_date(struct writer *writer, struct slice bytes, bool has_time)
{
    struct reader reader = reader_of(bytes);
    unsigned parts[6] = {0};
    if (bytes.len >= 4) {
        parts[0] = mysqlwire_read_u16(&reader);
        parts[1] = reader_u8(&reader);
        parts[2] = reader_u8(&reader);
    }
    if (bytes.len >= 7) {
        parts[3] = reader_u8(&reader);
        parts[4] = reader_u8(&reader);
        parts[5] = reader_u8(&reader);
    }
    writer_format(writer, "%04u-%02u-%02u", parts[0], parts[1], parts[2]);
    if (has_time) {
        writer_format(writer, " %02u:%02u:%02u", parts[3], parts[4], parts[5]);
        write_fraction(writer, &reader);
    }
}

/* Likewise 0, 8 or 12: days count as hours in the text. */
static void write_time(struct writer *writer, struct slice bytes)
{
    struct reader reader = reader_of(bytes);
    bool is_negative = bytes.len >= 8 && reader_u8(&reader) != 0;
    uint64_t hours = bytes.len >= 8 ? UINT64_C(24) * mysqlwire_read_u32(&reader) : 0;
    unsigned minutes = 0;
    unsigned seconds = 0;
    if (bytes.len >= 8) {
        hours += reader_u8(&reader);
        minutes = reader_u8(&reader);
        seconds = reader_u8(&reader);
    }
    writer_format(writer, "%s%02llu:%02u:%02u", is_negative ? "-" : "", (unsigned long long)hours,
                  minutes, seconds);
    write_fraction(writer, &reader);
}

static struct slice read_temporal(struct reader *reader)
{
    size_t len = reader_u8(reader);
    return reader_view(reader, len);
}

struct slice mysqlwire_binary_value_read(struct reader *reader, struct mysqlwire_value_type type,
                                         struct buf *scratch)
{
    struct writer writer = writer_to(scratch);
    buf_truncate(scratch, 0);
    switch (type.type) {
    case MYSQLWIRE_TYPE_TINY:
        write_integer(&writer, reader_u8(reader), 8, type.is_unsigned);
        break;
    case MYSQLWIRE_TYPE_SHORT:
    case MYSQLWIRE_TYPE_YEAR:
        write_integer(&writer, mysqlwire_read_u16(reader), 16, type.is_unsigned);
        break;
    case MYSQLWIRE_TYPE_LONG:
    case MYSQLWIRE_TYPE_INT24:
        write_integer(&writer, mysqlwire_read_u32(reader), 32, type.is_unsigned);
        break;
    case MYSQLWIRE_TYPE_LONGLONG:
        write_integer(&writer, mysqlwire_read_u64(reader), 64, type.is_unsigned);
        break;
    case MYSQLWIRE_TYPE_FLOAT:
        write_float(&writer, mysqlwire_read_u32(reader));
        break;
    case MYSQLWIRE_TYPE_DOUBLE:
        write_real(&writer, mysqlwire_read_u64(reader));
        break;
    case MYSQLWIRE_TYPE_DATE:
        write_date(&writer, read_temporal(reader), false);
        break;
    case MYSQLWIRE_TYPE_TIMESTAMP:
    case MYSQLWIRE_TYPE_DATETIME:
        write_date(&writer, read_temporal(reader), true);
        break;
    case MYSQLWIRE_TYPE_TIME:
        write_time(&writer, read_temporal(reader));
        break;
    case MYSQLWIRE_TYPE_NULL:
        return SLICE_NONE;
    default: /* decimals, texts, blobs, bits, JSON: all are told with their length */
        return read_text(reader);
    }
    return reader->failed || writer_done(&writer) != ERR_NONE ? SLICE("") : buf_view(scratch);
}

/* Executing ------------------------------------------------------------------------------------ */

enum err mysqlwire_execute_read(struct slice body, size_t parameter_count,
                                struct mysqlwire_execute *ret_execute, struct error *reterr)
{
    struct mysqlwire_execute execute = {.nulls = SLICE(""), .types = SLICE("")};
    struct reader reader = reader_of(body);
    execute.statement_id = mysqlwire_read_u32(&reader);
    execute.flags = reader_u8(&reader);
    reader_skip(&reader, EXECUTE_FIXED - 5);
    if (parameter_count > 0) {
        execute.nulls = reader_view(&reader, (parameter_count + 7) / 8);
        if (reader_u8(&reader) == 1) {
            execute.types = reader_view(&reader, 2 * parameter_count);
        }
    }
    execute.values = reader_view_rest(&reader);
    if (reader.failed) {
        return fail(reterr, ERR_INPUT, "the values of a statement are malformed");
    }
    *ret_execute = execute;
    return ERR_NONE;
}

struct mysqlwire_value_type mysqlwire_parameter_type(const struct mysqlwire_execute *execute,
                                                     size_t index)
{
    struct reader reader = reader_of(slice_sub(execute->types, 2 * index, 2));
    uint8_t type = reader_u8(&reader);
    return (struct mysqlwire_value_type){
        .type = type, .is_unsigned = (reader_u8(&reader) & TYPE_IS_UNSIGNED) != 0};
}
