/* SPDX-License-Identifier: MIT */
#include "session/record.h"

#include "base/reader.h"
#include "base/timestamp.h"

#include <string.h>

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

enum err record_write_parts(struct buf *buf, const struct record *record, const struct slice *parts,
                            size_t count)
{
    size_t size = 0;
    char *at = NULL;
    for (size_t i = 0; i < count; i++) {
        size += parts[i].len;
    }
    if (size > RECORD_PAYLOAD_MAX || buf_reserve(buf, RECORD_HEAD_SIZE + size, &at) != ERR_NONE) {
        return ERR_LIMIT;
    }
    record_put(at, (uint64_t)record->time, 8);
    at[8] = (char)record->side;
    at[9] = (char)record->kind;
    record_put(at + 10, size, 4);
    at += RECORD_HEAD_SIZE;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].len > 0) {
            (void)memcpy(at, parts[i].at, parts[i].len);
            at += parts[i].len;
        }
    }
    buf_commit(buf, RECORD_HEAD_SIZE + size);
    return ERR_NONE;
}

enum err record_write(struct buf *buf, const struct record *record)
{
    return record_write_parts(buf, record, &record->payload, 1);
}

enum err record_message_read(struct slice payload, struct record_message *ret_message)
{
    struct reader reader = reader_of(payload);
    ret_message->type = (char)reader_u8(&reader);
    ret_message->size = reader_u32(&reader);
    ret_message->body = reader_view_rest(&reader);
    return reader.failed || ret_message->body.len > ret_message->size ? ERR_INPUT : ERR_NONE;
}

struct slice record_message_head(char type, uint32_t size, char *head)
{
    head[0] = type;
    record_put(head + 1, size, 4);
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
