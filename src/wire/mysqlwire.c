/* SPDX-License-Identifier: MIT */
#include "wire/mysqlwire.h"

static uint64_t read_little(struct reader *reader, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) {
        value |= (uint64_t)reader_u8(reader) << (8 * i);
    }
    return value;
}

uint16_t mysqlwire_read_u16(struct reader *reader)
{
    return (uint16_t)read_little(reader, 2);
}

uint32_t mysqlwire_read_u24(struct reader *reader)
{
    return (uint32_t)read_little(reader, 3);
}

uint32_t mysqlwire_read_u32(struct reader *reader)
{
    return (uint32_t)read_little(reader, 4);
}

uint64_t mysqlwire_read_u64(struct reader *reader)
{
    return read_little(reader, 8);
}

uint64_t mysqlwire_read_lenenc(struct reader *reader)
{
    uint8_t first = reader_u8(reader);
    switch (first) {
    case 0xfb:
    case 0xff:
        reader->failed = true;
        return 0;
    case 0xfc:
        return read_little(reader, 2);
    case 0xfd:
        return read_little(reader, 3);
    case 0xfe:
        return read_little(reader, 8);
    default:
        return first;
    }
}

struct slice mysqlwire_read_lenenc_text(struct reader *reader)
{
    uint64_t len = mysqlwire_read_lenenc(reader);
    if (len > reader_left(reader)) {
        reader->failed = true;
        return SLICE("");
    }
    return reader_view(reader, (size_t)len);
}

static void write_little(struct writer *writer, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        writer_u8(writer, (uint8_t)(value >> (8 * i)));
    }
}

void mysqlwire_write_u16(struct writer *writer, uint16_t value)
{
    write_little(writer, value, 2);
}

void mysqlwire_write_u24(struct writer *writer, uint32_t value)
{
    write_little(writer, value, 3);
}

void mysqlwire_write_u32(struct writer *writer, uint32_t value)
{
    write_little(writer, value, 4);
}

void mysqlwire_write_lenenc(struct writer *writer, uint64_t value)
{
    if (value < 0xfb) {
        writer_u8(writer, (uint8_t)value);
    } else if (value <= UINT16_MAX) {
        writer_u8(writer, 0xfc);
        write_little(writer, value, 2);
    } else if (value <= MYSQLWIRE_PIECE_MAX) {
        writer_u8(writer, 0xfd);
        write_little(writer, value, 3);
    } else {
        writer_u8(writer, 0xfe);
        write_little(writer, value, 8);
    }
}

void mysqlwire_write_lenenc_text(struct writer *writer, struct slice text)
{
    mysqlwire_write_lenenc(writer, text.len);
    writer_bytes(writer, text);
}
