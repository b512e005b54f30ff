/* SPDX-License-Identifier: MIT */
#include "wire/websocket.h"

#include "base/must.h"
#include "base/reader.h"
#include "base/text.h"
#include "base/writer.h"

#define BIT_LAST     0x80
#define BITS_UNKNOWN 0x70
#define BIT_CONTROL  0x08
#define BIT_MASK     0x80
#define SIZE_16      126
#define SIZE_64      127

struct websocket_frame {
    uint8_t opcode;
    bool is_last;
    uint8_t mask[WEBSOCKET_MASK_SIZE];
    size_t head_size;
    uint64_t size;
};

void websocket_reader_init(struct websocket_reader *reader, bool is_masked, size_t size_max)
{
    *reader = (struct websocket_reader){.is_masked = is_masked, .size_max = size_max};
    buf_init(&reader->message, size_max);
    buf_init(&reader->control, WEBSOCKET_CONTROL_MAX);
}

void websocket_reader_release(struct websocket_reader *reader)
{
    buf_release(&reader->message);
    buf_release(&reader->control);
}

/* Heads --------------------------------------------------------------------------------------- */

static bool websocket_is_control(uint8_t opcode)
{
    return (opcode & BIT_CONTROL) != 0;
}

static bool websocket_is_opcode(uint8_t opcode)
{
    return opcode <= WEBSOCKET_BINARY || (opcode >= WEBSOCKET_CLOSE && opcode <= WEBSOCKET_PONG);
}

/* What the first two bytes may not say (RFC 6455 5.2, 5.4, 5.5). */
static bool websocket_may_begin(const struct websocket_reader *self, uint8_t first, uint8_t second)
{
    uint8_t opcode = first & 0x0f;
    bool is_control = websocket_is_control(opcode);
    bool goes_on = self->kind != WEBSOCKET_CONTINUATION;
    if ((first & BITS_UNKNOWN) != 0 || !websocket_is_opcode(opcode) ||
        ((second & BIT_MASK) != 0) != self->is_masked) {
        return false;
    }
    return is_control ? (first & BIT_LAST) != 0 && (second & ~BIT_MASK) <= WEBSOCKET_CONTROL_MAX
                      : goes_on == (opcode == WEBSOCKET_CONTINUATION);
}

/* ERR_MORE; ERR_INPUT with the code: what is wrong is told before all of the head is there. */
static enum err websocket_read_head(const struct websocket_reader *self, struct slice bytes,
                                    struct websocket_frame *frame, enum websocket_code *ret_code)
{
    struct reader reader = reader_of(bytes);
    uint8_t first = reader_u8(&reader);
    uint8_t second = reader_u8(&reader);
    if (reader.failed) {
        return ERR_MORE;
    }
    *ret_code = WEBSOCKET_PROTOCOL_ERROR;
    if (!websocket_may_begin(self, first, second)) {
        return ERR_INPUT;
    }
    uint8_t small = second & (uint8_t)~BIT_MASK;
    frame->opcode = first & 0x0f;
    frame->is_last = (first & BIT_LAST) != 0;
    frame->size = small == SIZE_16   ? reader_u16(&reader)
                  : small == SIZE_64 ? reader_u64(&reader)
                                     : small;
    if (reader.failed) {
        return ERR_MORE;
    }
    bool is_long_winded = (small == SIZE_16 && frame->size < SIZE_16) ||
                          (small == SIZE_64 && frame->size <= UINT16_MAX);
    if (is_long_winded || frame->size > INT64_MAX) {
        return ERR_INPUT; /* RFC 6455 5.2: the shortest form, and no highest bit */
    }
    if (!websocket_is_control(frame->opcode) && frame->size > self->size_max - self->message.len) {
        *ret_code = WEBSOCKET_TOO_BIG;
        return ERR_INPUT;
    }
    for (size_t i = 0; self->is_masked && i < WEBSOCKET_MASK_SIZE; i++) {
        frame->mask[i] = reader_u8(&reader);
    }
    frame->head_size = reader.index;
    return reader.failed ? ERR_MORE : ERR_NONE;
}

/* Messages ------------------------------------------------------------------------------------ */

static void websocket_append(struct buf *buf, struct slice payload, const uint8_t *mask)
{
    char *at = NULL;
    if (payload.len == 0) {
        return;
    }
    must(buf_reserve(buf, payload.len, &at) == ERR_NONE); /* its size was looked at */
    for (size_t i = 0; i < payload.len; i++) {
        uint8_t byte = (uint8_t)payload.at[i];
        at[i] = (char)(mask == NULL ? byte : byte ^ mask[i % WEBSOCKET_MASK_SIZE]);
    }
    buf_commit(buf, payload.len);
}

/* Those that may be sent (RFC 6455 7.4.1, and IANA's register). */
static bool websocket_is_code(uint16_t code)
{
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

static enum err websocket_take_close(struct websocket_reader *self,
                                     struct websocket_message *message,
                                     enum websocket_code *ret_code)
{
    struct reader reader = reader_of(message->payload);
    self->is_over = true;
    message->code = WEBSOCKET_NO_CODE;
    if (message->payload.len == 0) {
        return ERR_NONE;
    }
    message->code = reader_u16(&reader);
    message->payload = reader_view_rest(&reader);
    if (reader_done(&reader) != ERR_NONE || !websocket_is_code(message->code)) {
        *ret_code = WEBSOCKET_PROTOCOL_ERROR;
        return ERR_INPUT;
    }
    *ret_code = WEBSOCKET_BAD_TEXT;
    return text_is_utf8(message->payload) ? ERR_NONE : ERR_INPUT;
}

static enum err websocket_take_control(struct websocket_reader *self,
                                       const struct websocket_frame *frame, struct slice payload,
                                       struct websocket_message *ret_message,
                                       enum websocket_code *ret_code)
{
    buf_truncate(&self->control, 0);
    websocket_append(&self->control, payload, self->is_masked ? frame->mask : NULL);
    *ret_message = (struct websocket_message){.kind = (enum websocket_kind)frame->opcode,
                                              .payload = buf_view(&self->control)};
    return frame->opcode == WEBSOCKET_CLOSE ? websocket_take_close(self, ret_message, ret_code)
                                            : ERR_NONE;
}

/* ERR_MORE: the message goes on. */
static enum err websocket_take_data(struct websocket_reader *self,
                                    const struct websocket_frame *frame, struct slice payload,
                                    struct websocket_message *ret_message,
                                    enum websocket_code *ret_code)
{
    if (frame->opcode != WEBSOCKET_CONTINUATION) {
        self->kind = (enum websocket_kind)frame->opcode;
    }
    websocket_append(&self->message, payload, self->is_masked ? frame->mask : NULL);
    if (!frame->is_last) {
        return ERR_MORE;
    }
    *ret_message =
        (struct websocket_message){.kind = self->kind, .payload = buf_view(&self->message)};
    self->kind = WEBSOCKET_CONTINUATION;
    *ret_code = WEBSOCKET_BAD_TEXT;
    return ret_message->kind == WEBSOCKET_TEXT && !text_is_utf8(ret_message->payload) ? ERR_INPUT
                                                                                      : ERR_NONE;
}

static enum err websocket_read_frame(struct websocket_reader *self, struct slice bytes,
                                     size_t *ret_taken, struct websocket_message *ret_message,
                                     enum websocket_code *ret_code)
{
    struct websocket_frame frame = {.opcode = 0};
    *ret_taken = 0;
    enum err err = websocket_read_head(self, bytes, &frame, ret_code);
    if (err != ERR_NONE) {
        return err;
    }
    if (bytes.len - frame.head_size < frame.size) {
        return ERR_MORE;
    }
    struct slice payload = slice_sub(bytes, frame.head_size, (size_t)frame.size);
    *ret_taken = frame.head_size + payload.len;
    return websocket_is_control(frame.opcode)
               ? websocket_take_control(self, &frame, payload, ret_message, ret_code)
               : websocket_take_data(self, &frame, payload, ret_message, ret_code);
}

enum err websocket_read(struct websocket_reader *reader, struct slice bytes, size_t *ret_taken,
                        struct websocket_message *ret_message, enum websocket_code *ret_code)
{
    size_t taken = 0;
    enum err err = ERR_MORE;
    *ret_taken = 0;
    if (reader->is_over) {
        return ERR_CLOSED;
    }
    if (reader->kind == WEBSOCKET_CONTINUATION) {
        buf_truncate(&reader->message, 0); /* of the message before */
    }
    do {
        err = websocket_read_frame(reader, slice_from(bytes, *ret_taken), &taken, ret_message,
                                   ret_code);
        *ret_taken += taken;
    } while (err == ERR_MORE && taken > 0);
    reader->is_over = reader->is_over || err == ERR_INPUT;
    return err;
}

/* Writing ------------------------------------------------------------------------------------- */

enum err websocket_write(struct buf *buf, enum websocket_kind kind, struct slice payload,
                         const uint8_t mask[WEBSOCKET_MASK_SIZE])
{
    uint8_t bit = mask == NULL ? 0 : BIT_MASK;
    struct writer writer = writer_to(buf);
    char *at = NULL;
    must(kind < WEBSOCKET_CLOSE || payload.len <= WEBSOCKET_CONTROL_MAX);
    if (buf_reserve(buf, WEBSOCKET_HEAD_MAX + payload.len, &at) != ERR_NONE) {
        return ERR_LIMIT;
    }
    writer_u8(&writer, (uint8_t)(BIT_LAST | (uint8_t)kind));
    if (payload.len < SIZE_16) {
        writer_u8(&writer, (uint8_t)(bit | payload.len));
    } else if (payload.len <= UINT16_MAX) {
        writer_u8(&writer, bit | SIZE_16);
        writer_u16(&writer, (uint16_t)payload.len);
    } else {
        writer_u8(&writer, bit | SIZE_64);
        writer_u64(&writer, payload.len);
    }
    if (mask != NULL) {
        writer_bytes(&writer, slice_of(mask, WEBSOCKET_MASK_SIZE));
    }
    must(writer_done(&writer) == ERR_NONE);
    websocket_append(buf, payload, mask);
    return ERR_NONE;
}

enum err websocket_write_close(struct buf *buf, enum websocket_code code, struct slice reason,
                               const uint8_t mask[WEBSOCKET_MASK_SIZE])
{
    struct buf payload;
    buf_init(&payload, WEBSOCKET_CONTROL_MAX);
    struct writer writer = writer_to(&payload);
    if (code != WEBSOCKET_NO_CODE) {
        size_t len = 0;
        uint32_t ignored = 0;
        size_t next = text_character(reason, &ignored);
        while (next > 0 && len + next <= WEBSOCKET_CONTROL_MAX - 2) {
            len += next;
            next = text_character(slice_from(reason, len), &ignored);
        }
        writer_u16(&writer, (uint16_t)code);
        writer_bytes(&writer, slice_sub(reason, 0, len));
    }
    must(writer_done(&writer) == ERR_NONE);
    enum err err = websocket_write(buf, WEBSOCKET_CLOSE, buf_view(&payload), mask);
    buf_release(&payload);
    return err;
}
