/* SPDX-License-Identifier: MIT */
#include "wire/execwire.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/writer.h"

/* Frames -------------------------------------------------------------------------------------- */

static const struct {
    enum execwire_type type;
    size_t size_max;
} execwire_types[] = {
    {EXECWIRE_HELLO, LIMIT_EXEC_FRAME_SIZE},
    {EXECWIRE_ACCEPT, 0},
    {EXECWIRE_START, LIMIT_EXEC_START_SIZE},
    {EXECWIRE_INPUT, LIMIT_EXEC_FRAME_SIZE},
    {EXECWIRE_INPUT_END, 0},
    {EXECWIRE_OUTPUT, LIMIT_EXEC_FRAME_SIZE},
    {EXECWIRE_ERRORS, LIMIT_EXEC_FRAME_SIZE},
    {EXECWIRE_EXIT, LIMIT_EXEC_WORDS_SIZE + 5},
    {EXECWIRE_RESIZE, EXECWIRE_SIZE_SIZE},
    {EXECWIRE_ECHO, 1},
    {EXECWIRE_HIDDEN, 0},
};

static bool execwire_may_be(uint8_t type, size_t size)
{
    bool may_be = false;
    for (size_t i = 0; i < COUNT_OF(execwire_types); i++) {
        may_be = may_be ||
                 ((uint8_t)execwire_types[i].type == type && size <= execwire_types[i].size_max);
    }
    return may_be;
}

enum err execwire_read(struct slice bytes, size_t *ret_taken, struct execwire_frame *ret_frame)
{
    struct reader reader = reader_of(slice_sub(bytes, 0, EXECWIRE_HEAD_SIZE));
    uint8_t type = reader_u8(&reader);
    size_t size = reader_u32(&reader);
    if (bytes.len > 0 && !execwire_may_be((uint8_t)bytes.at[0], 0)) {
        return ERR_INPUT;
    }
    if (reader_done(&reader) != ERR_NONE) {
        return ERR_MORE;
    }
    if (!execwire_may_be(type, size)) {
        return ERR_INPUT;
    }
    if (bytes.len - EXECWIRE_HEAD_SIZE < size) {
        return ERR_MORE;
    }
    *ret_frame = (struct execwire_frame){
        .type = (enum execwire_type)type,
        .payload = slice_sub(bytes, EXECWIRE_HEAD_SIZE, size),
    };
    *ret_taken = EXECWIRE_HEAD_SIZE + size;
    return ERR_NONE;
}

enum err execwire_write(struct buf *buf, enum execwire_type type, struct slice payload)
{
    size_t before = buf->len;
    struct writer writer = writer_to(buf);
    if (!execwire_may_be((uint8_t)type, payload.len)) {
        return ERR_LIMIT;
    }
    writer_u8(&writer, (uint8_t)type);
    writer_u32(&writer, (uint32_t)payload.len);
    writer_bytes(&writer, payload);
    if (writer_done(&writer) != ERR_NONE) {
        buf_truncate(buf, before);
        return ERR_LIMIT;
    }
    return ERR_NONE;
}

enum err execwire_write_data(struct buf *buf, enum execwire_type type, struct slice data)
{
    enum err err = ERR_NONE;
    while (data.len > 0 && err == ERR_NONE) {
        struct slice part = slice_sub(data, 0, LIMIT_EXEC_FRAME_SIZE);
        err = execwire_write(buf, type, part);
        data = slice_from(data, part.len);
    }
    return err;
}

/* Items --------------------------------------------------------------------------------------- */

enum err execwire_item_write(struct buf *buf, const struct execwire_item *item)
{
    struct writer writer = writer_to(buf);
    if (item->name.len > UINT16_MAX || item->value.len > UINT32_MAX) {
        return ERR_LIMIT;
    }
    writer_u8(&writer, (uint8_t)item->kind);
    writer_u16(&writer, (uint16_t)item->name.len);
    writer_bytes(&writer, item->name);
    writer_u32(&writer, (uint32_t)item->value.len);
    writer_bytes(&writer, item->value);
    return writer_done(&writer);
}

static bool execwire_is_kind(uint8_t kind)
{
    static const uint8_t kinds[] = {EXECWIRE_ARGUMENT, EXECWIRE_VARIABLE,    EXECWIRE_FILE,
                                    EXECWIRE_NAME,     EXECWIRE_APPLICATION, EXECWIRE_METADATA,
                                    EXECWIRE_TERMINAL};
    bool is_one = false;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        is_one = is_one || kinds[i] == kind;
    }
    return is_one;
}

bool execwire_item_next(struct reader *reader, struct execwire_item *ret_item)
{
    struct reader next = *reader;
    if (reader_left(&next) == 0) {
        return false;
    }
    uint8_t kind = reader_u8(&next);
    struct slice name = reader_view(&next, reader_u16(&next));
    struct slice value = reader_view(&next, reader_u32(&next));
    if (next.failed || !execwire_is_kind(kind)) {
        return false;
    }
    *ret_item = (struct execwire_item){(enum execwire_kind)kind, name, value};
    *reader = next;
    return true;
}

/* Terminals ----------------------------------------------------------------------------------- */

struct slice execwire_size_write(const struct execwire_size *size, char text[EXECWIRE_SIZE_SIZE])
{
    text[0] = (char)(size->columns >> 8);
    text[1] = (char)(size->columns & 0xff);
    text[2] = (char)(size->rows >> 8);
    text[3] = (char)(size->rows & 0xff);
    return slice_of(text, EXECWIRE_SIZE_SIZE);
}

enum err execwire_size_read(struct slice payload, struct execwire_size *ret_size)
{
    struct reader reader = reader_of(payload);
    struct execwire_size size = {.columns = reader_u16(&reader)};
    size.rows = reader_u16(&reader);
    if (reader_done(&reader) != ERR_NONE || size.columns == 0 || size.rows == 0) {
        return ERR_INPUT;
    }
    *ret_size = size;
    return ERR_NONE;
}

/* The end ------------------------------------------------------------------------------------- */

enum err execwire_exit_write(struct buf *buf, const struct execwire_exit *exit)
{
    struct buf payload;
    buf_init(&payload, LIMIT_EXEC_WORDS_SIZE + 5);
    struct writer writer = writer_to(&payload);
    writer_u8(&writer, (uint8_t)exit->end);
    writer_u32(&writer, exit->code);
    writer_bytes(&writer, slice_sub(exit->words, 0, LIMIT_EXEC_WORDS_SIZE));
    enum err err = writer_done(&writer);
    err = err == ERR_NONE ? execwire_write(buf, EXECWIRE_EXIT, buf_view(&payload)) : err;
    buf_release(&payload);
    return err;
}

enum err execwire_exit_read(struct slice payload, struct execwire_exit *ret_exit)
{
    struct reader reader = reader_of(payload);
    uint8_t end = reader_u8(&reader);
    uint32_t code = reader_u32(&reader);
    struct slice words = reader_view_rest(&reader);
    if (reader_done(&reader) != ERR_NONE || end < EXECWIRE_EXITED || end > EXECWIRE_BLOCKED) {
        return ERR_INPUT;
    }
    *ret_exit = (struct execwire_exit){(enum execwire_end)end, code, words};
    return ERR_NONE;
}
