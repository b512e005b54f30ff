/* SPDX-License-Identifier: MIT */
#include "session/record.h"

#include "base/reader.h"
#include "base/timestamp.h"

#include <string.h>

#define RECORD_SIZE_AT     10 /* in the record */
#define RECORD_LENGTH_SIZE 4  /* of a message; it counts itself */

static bool record_side_is_known(uint8_t side)
{
    return side == RECORD_FROM_CLIENT || side == RECORD_FROM_TARGET || side == RECORD_FROM_GATEWAY;
}

static bool record_time_is_valid(int64_t time)
{
    return time >= TIMESTAMP_MIN && time <= TIMESTAMP_MAX;
}

enum err record_read(struct slice bytes, size_t *ret_taken, struct record *ret_record)
{
    struct reader reader = reader_of(bytes);
    uint64_t time = reader_u64(&reader);
    uint8_t side = reader_u8(&reader);
    uint8_t kind = reader_u8(&reader);
    uint32_t size = reader_u32(&reader);
    if (reader.failed) {
        return ERR_MORE;
    }
    if (!record_side_is_known(side) || kind < RECORD_OPEN || kind > RECORD_CLOSE ||
        size > RECORD_PAYLOAD_MAX || !record_time_is_valid((int64_t)time)) {
        return ERR_INPUT;
    }
    struct slice payload = reader_view(&reader, size);
    if (reader.failed) {
        return ERR_MORE;
    }
    *ret_taken = reader.index;
    *ret_record = (struct record){
        .time = (int64_t)time,
        .side = (enum record_side)side,
        .kind = (enum record_kind)kind,
        .payload = payload,
    };
    return ERR_NONE;
}

static void record_put(char *at, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        at[i] = (char)(uint8_t)(value >> (8 * (size - 1 - i)));
    }
}

static size_t record_parts_size(const struct slice *parts, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        size += parts[i].len;
    }
    return size;
}

static void record_put_parts(char *at, const struct slice *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (parts[i].len > 0) {
            (void)memcpy(at, parts[i].at, parts[i].len);
            at += parts[i].len;
        }
    }
}

enum err record_write_parts(struct buf *buf, const struct record *record, const struct slice *parts,
                            size_t count)
{
    size_t size = record_parts_size(parts, count);
    char *at = NULL;
    if (size > RECORD_PAYLOAD_MAX || buf_reserve(buf, RECORD_HEAD_SIZE + size, &at) != ERR_NONE) {
        return ERR_LIMIT;
    }
    record_put(at, (uint64_t)record->time, 8);
    at[8] = (char)record->side;
    at[9] = (char)record->kind;
    record_put(at + RECORD_SIZE_AT, size, 4);
    record_put_parts(at + RECORD_HEAD_SIZE, parts, count);
    buf_commit(buf, RECORD_HEAD_SIZE + size);
    return ERR_NONE;
}

enum err record_extend(struct buf *buf, size_t start, const struct slice *parts, size_t count)
{
    size_t before = buf->len - start - RECORD_HEAD_SIZE;
    size_t size = record_parts_size(parts, count);
    char *at = NULL;
    if (size > RECORD_PAYLOAD_MAX - before || buf_reserve(buf, size, &at) != ERR_NONE) {
        return ERR_LIMIT;
    }
    record_put_parts(at, parts, count);
    record_put(at - before - RECORD_HEAD_SIZE + RECORD_SIZE_AT, before + size, 4);
    buf_commit(buf, size);
    return ERR_NONE;
}

enum err record_write(struct buf *buf, const struct record *record)
{
    return record_write_parts(buf, record, &record->payload, 1);
}

enum err record_message_read(struct slice *rest, struct record_message *ret_message)
{
    struct reader reader = reader_of(*rest);
    char type = (char)reader_u8(&reader);
    uint32_t length = reader_u32(&reader);
    if (reader.failed || length < RECORD_LENGTH_SIZE) {
        return ERR_INPUT;
    }
    ret_message->type = type;
    ret_message->size = length - RECORD_LENGTH_SIZE;
    ret_message->body = slice_sub(*rest, RECORD_MESSAGE_HEAD, ret_message->size);
    *rest = slice_from(*rest, RECORD_MESSAGE_HEAD + ret_message->body.len);
    return ERR_NONE;
}

struct slice record_message_head(char type, uint32_t size, char *head)
{
    head[0] = type;
    record_put(head + 1, (uint64_t)size + RECORD_LENGTH_SIZE, 4);
    return slice_of(head, RECORD_MESSAGE_HEAD);
}

enum err record_count_read(struct slice payload, struct record_count *ret_count)
{
    struct reader reader = reader_of(payload);
    ret_count->rows = reader_u64(&reader);
    ret_count->bytes = reader_u64(&reader);
    uint8_t cut = reader_u8(&reader);
    ret_count->is_cut = cut == 1;
    return cut > 1 ? ERR_INPUT : reader_done(&reader);
}

struct slice record_count_write(const struct record_count *count, char *payload)
{
    record_put(payload, count->rows, 8);
    record_put(payload + 8, count->bytes, 8);
    payload[16] = count->is_cut ? 1 : 0;
    return slice_of(payload, RECORD_COUNT_SIZE);
}
