/* SPDX-License-Identifier: MIT */
/* Frames of either end. Held: what is read at once is what is read byte by byte; messages keep to
 * the rules, and one that is written again is read as the same. The first byte says who speaks. */
#include "base/must.h"
#include "base/text.h"
#include "fuzz.h"
#include "wire/websocket.h"

#define MESSAGE_MAX 1000

/* What was said, one message behind the other, and how it ended. */
static enum err play(bool is_masked, struct slice stream, size_t step, struct buf *said)
{
    struct websocket_reader reader;
    struct websocket_message message;
    enum websocket_code code = WEBSOCKET_NORMAL;
    enum err err = ERR_MORE;
    size_t start = 0;
    websocket_reader_init(&reader, is_masked, MESSAGE_MAX);
    for (size_t end = 0; end < stream.len && (err == ERR_MORE || err == ERR_NONE);) {
        end = end + step < stream.len ? end + step : stream.len;
        do {
            size_t taken = 0;
            err = websocket_read(&reader, slice_sub(stream, start, end - start), &taken, &message,
                                 &code);
            must(taken <= end - start);
            start += taken;
            if (err == ERR_NONE) {
                char kind = (char)message.kind;
                must(message.kind != WEBSOCKET_CONTINUATION && message.payload.len <= MESSAGE_MAX);
                must(message.kind < WEBSOCKET_CLOSE ||
                     message.payload.len <= WEBSOCKET_CONTROL_MAX);
                must(message.kind != WEBSOCKET_TEXT || text_is_utf8(message.payload));
                must(buf_append(said, slice_of(&kind, 1)) == ERR_NONE);
                must(buf_append(said, message.payload) == ERR_NONE);
            }
            must(err != ERR_INPUT || code != WEBSOCKET_NORMAL);
        } while (err == ERR_NONE);
        must(err != ERR_MORE || end - start < MESSAGE_MAX + WEBSOCKET_HEAD_MAX);
    }
    websocket_reader_release(&reader);
    return err;
}

static void check_again(struct slice payload)
{
    static const uint8_t mask[WEBSOCKET_MASK_SIZE] = {1, 2, 4, 8};
    struct buf stream;
    struct buf said;
    buf_init(&stream, LIMIT_MIB(1));
    buf_init(&said, LIMIT_MIB(1));
    payload = slice_sub(payload, 0, MESSAGE_MAX);
    must(websocket_write(&stream, WEBSOCKET_BINARY, payload, mask) == ERR_NONE);
    must(play(true, buf_view(&stream), stream.len, &said) == ERR_MORE);
    must(slice_equals(slice_from(buf_view(&said), 1), payload));
    buf_clear(&stream);
    must(websocket_write_close(&stream, WEBSOCKET_POLICY, payload, NULL) == ERR_NONE);
    must(play(false, buf_view(&stream), stream.len, &said) == ERR_CLOSED);
    buf_release(&stream);
    buf_release(&said);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct buf whole;
    struct buf split;
    if (size == 0) {
        return 0;
    }
    struct slice stream = slice_of(bytes + 1, size - 1);
    buf_init(&whole, LIMIT_MIB(4));
    buf_init(&split, LIMIT_MIB(4));
    enum err err = play((bytes[0] & 1) != 0, stream, stream.len, &whole);
    enum err again = play((bytes[0] & 1) != 0, stream, 1, &split);
    must(slice_equals(buf_view(&whole), buf_view(&split)));
    must(err == again);
    check_again(stream);
    (void)websocket_is_key(stream);
    (void)websocket_header_has(stream, SLICE("upgrade"));
    buf_release(&whole);
    buf_release(&split);
    return 0;
}
