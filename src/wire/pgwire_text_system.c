/* SPDX-License-Identifier: MIT */
#include "wire/pgwire_text_system.h"

#include "base/reader.h"
#include "wire/pgwire_type.h"

#include <stdio.h>

enum {
    TYPE_INT2VECTOR = 22,
    TYPE_TID = 27,
    TYPE_OIDVECTOR = 30,
    TYPE_TXID_SNAPSHOT = 2970,
    TYPE_SNAPSHOT = 5038,
};

/* What stands before it, and the number. */
static enum err put_number(struct buf *buf, const char *before, uint64_t number)
{
    char text[32];
    int len = snprintf(text, sizeof(text), "%s%llu", before, (unsigned long long)number);
    return buf_append(buf, slice_of(text, (size_t)len));
}

static uint64_t read_u64(struct reader *reader)
{
    uint64_t high = reader_u32(reader);
    return high << 32 | reader_u32(reader);
}

/* tid.c: a block, and a place in it. */
static enum err put_place(struct slice value, struct buf *buf)
{
    struct reader reader = reader_of(value);
    uint32_t block = reader_u32(&reader);
    uint16_t offset = reader_u16(&reader);
    if (reader_done(&reader) != ERR_NONE) {
        return ERR_INPUT;
    }
    enum err err = put_number(buf, "(", block);
    err = err == ERR_NONE ? put_number(buf, ",", offset) : err;
    return err == ERR_NONE ? buf_append(buf, SLICE(")")) : err;
}

/* int2vector, oidvector: in binary an array, in text numbers with a blank between them. */
static enum err put_vector(struct slice value, bool is_signed, struct buf *buf)
{
    struct pgwire_array array;
    struct slice item;
    if (!pgwire_array_read(value, &array)) {
        return ERR_INPUT;
    }
    struct pgwire_values values = {.count = array.count, .bytes = array.items};
    const char *before = "";
    while (pgwire_value_next(&values, &item)) {
        struct reader reader = reader_of(item);
        int number = is_signed ? (int16_t)reader_u16(&reader) : 0;
        uint64_t size = is_signed ? (uint64_t)(number < 0 ? -number : number) : reader_u32(&reader);
        enum err err = item.at == NULL ? ERR_INPUT : reader_done(&reader);
        err = err == ERR_NONE ? buf_append(buf, slice_of_text(before)) : err;
        err = err == ERR_NONE ? put_number(buf, number < 0 ? "-" : "", size) : err;
        if (err != ERR_NONE) {
            return err;
        }
        before = " ";
    }
    return ERR_NONE;
}

/* xid8funcs.c: a count, the first and the last transaction, and those between that run. */
static enum err put_snapshot(struct slice value, struct buf *buf)
{
    struct reader reader = reader_of(value);
    size_t count = reader_u32(&reader);
    enum err err = put_number(buf, "", read_u64(&reader));
    err = err == ERR_NONE ? put_number(buf, ":", read_u64(&reader)) : err;
    err = err == ERR_NONE ? buf_append(buf, SLICE(":")) : err;
    for (size_t i = 0; i < count && err == ERR_NONE && !reader.failed; i++) {
        err = put_number(buf, i == 0 ? "" : ",", read_u64(&reader));
    }
    return err == ERR_NONE ? reader_done(&reader) : err;
}

enum err pgwire_text_system(uint32_t type, struct slice value, struct buf *buf)
{
    switch (type) {
    case TYPE_TID:
        return put_place(value, buf);
    case TYPE_INT2VECTOR:
    case TYPE_OIDVECTOR:
        return put_vector(value, type == TYPE_INT2VECTOR, buf);
    case TYPE_TXID_SNAPSHOT:
    case TYPE_SNAPSHOT:
        return put_snapshot(value, buf);
    default:
        return ERR_INPUT;
    }
}
