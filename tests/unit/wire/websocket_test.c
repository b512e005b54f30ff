/* SPDX-License-Identifier: MIT */
#include "wire/websocket.h"

#include "base/arena.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define SIZE_MAX_HERE 70000

static const uint8_t mask[WEBSOCKET_MASK_SIZE] = {0x37, 0xfa, 0x21, 0x3d};

/* What comes of bytes that are all there. */
static enum err read_all(bool is_masked, struct slice bytes, struct websocket_message *ret_message,
                         struct buf *ret_payload, enum websocket_code *ret_code)
{
    struct websocket_reader reader;
    size_t taken = 0;
    websocket_reader_init(&reader, is_masked, SIZE_MAX_HERE);
    enum err err = websocket_read(&reader, bytes, &taken, ret_message, ret_code);
    buf_clear(ret_payload);
    if (err == ERR_NONE) {
        assert_int_equal(buf_append(ret_payload, ret_message->payload), ERR_NONE);
    }
    websocket_reader_release(&reader);
    return err;
}

static void the_examples_of_the_rfc_are_read(void **state)
{
    static const struct {
        bool is_masked;
        struct slice bytes;
        enum websocket_kind kind;
        struct slice payload;
    } examples[] = {
        /* RFC 6455 5.7 */
        {false, SLICE_INIT("\x81\x05Hello"), WEBSOCKET_TEXT, SLICE_INIT("Hello")},
        {true, SLICE_INIT("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), WEBSOCKET_TEXT,
         SLICE_INIT("Hello")},
        {false, SLICE_INIT("\x01\x03Hel\x80\x02lo"), WEBSOCKET_TEXT, SLICE_INIT("Hello")},
        {false, SLICE_INIT("\x89\x05Hello"), WEBSOCKET_PING, SLICE_INIT("Hello")},
        {true, SLICE_INIT("\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), WEBSOCKET_PONG,
         SLICE_INIT("Hello")},
        {false, SLICE_INIT("\x82\x00"), WEBSOCKET_BINARY, SLICE_INIT("")},
    };
    struct websocket_message message;
    struct buf payload;
    enum websocket_code code = WEBSOCKET_NORMAL;
    (void)state;
    buf_init(&payload, SIZE_MAX_HERE);
    for (size_t i = 0; i < COUNT_OF(examples); i++) {
        assert_int_equal(
            read_all(examples[i].is_masked, examples[i].bytes, &message, &payload, &code),
            ERR_NONE);
        assert_int_equal(message.kind, examples[i].kind);
        assert_true(slice_equals(buf_view(&payload), examples[i].payload));
    }
    buf_release(&payload);
}

static void what_the_rfc_forbids_closes_with_its_code(void **state)
{
    static const struct {
        bool is_masked;
        struct slice bytes;
        enum websocket_code code;
    } bad[] = {
        {true, SLICE_INIT("\x81\x05"), WEBSOCKET_PROTOCOL_ERROR},  /* a client must mask */
        {false, SLICE_INIT("\x81\x85"), WEBSOCKET_PROTOCOL_ERROR}, /* a server must not */
        {false, SLICE_INIT("\xc1\x01"), WEBSOCKET_PROTOCOL_ERROR}, /* reserved bits */
        {false, SLICE_INIT("\xa1\x01"), WEBSOCKET_PROTOCOL_ERROR},
        {false, SLICE_INIT("\x91\x01"), WEBSOCKET_PROTOCOL_ERROR},
        {false, SLICE_INIT("\x83\x01"), WEBSOCKET_PROTOCOL_ERROR}, /* reserved opcodes */
        {false, SLICE_INIT("\x87\x01"), WEBSOCKET_PROTOCOL_ERROR},
        {false, SLICE_INIT("\x8b\x01"), WEBSOCKET_PROTOCOL_ERROR},
        {false, SLICE_INIT("\x8f\x01"), WEBSOCKET_PROTOCOL_ERROR},
        {false, SLICE_INIT("\x09\x01"), WEBSOCKET_PROTOCOL_ERROR}, /* control in fragments */
        {false, SLICE_INIT("\x89\x7e"), WEBSOCKET_PROTOCOL_ERROR}, /* control of 126 bytes */
        {false, SLICE_INIT("\x88\x7f"), WEBSOCKET_PROTOCOL_ERROR},
        {false, SLICE_INIT("\x80\x01"), WEBSOCKET_PROTOCOL_ERROR},          /* nothing goes on */
        {false, SLICE_INIT("\x01\x01x\x81\x01"), WEBSOCKET_PROTOCOL_ERROR}, /* one inside another */
        {false, SLICE_INIT("\x01\x01x\x02\x01"), WEBSOCKET_PROTOCOL_ERROR},
        {false, SLICE_INIT("\x82\x7e\x00\x7d"), WEBSOCKET_PROTOCOL_ERROR}, /* not the shortest */
        {false, SLICE_INIT("\x82\x7f\0\0\0\0\0\0\xff\xff"), WEBSOCKET_PROTOCOL_ERROR},
        {false, SLICE_INIT("\x82\x7f\x80\0\0\0\0\1\0\0"), WEBSOCKET_PROTOCOL_ERROR},
        {false, SLICE_INIT("\x82\x7f\0\0\0\0\0\1\x11\x71"), WEBSOCKET_TOO_BIG}, /* 70001 */
        {false, SLICE_INIT("\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"), WEBSOCKET_TOO_BIG},
        {false, SLICE_INIT("\x81\x02\xc3\x28"), WEBSOCKET_BAD_TEXT},
        {false, SLICE_INIT("\x01\x01\xc3\x80\x01\x28"), WEBSOCKET_BAD_TEXT},
        {false, SLICE_INIT("\x81\x03\xed\xa0\x80"), WEBSOCKET_BAD_TEXT},   /* a surrogate */
        {false, SLICE_INIT("\x88\x01\x03"), WEBSOCKET_PROTOCOL_ERROR},     /* half a code */
        {false, SLICE_INIT("\x88\x02\x03\xe7"), WEBSOCKET_PROTOCOL_ERROR}, /* 999 */
        {false, SLICE_INIT("\x88\x02\x03\xec"), WEBSOCKET_PROTOCOL_ERROR}, /* 1004 */
        {false, SLICE_INIT("\x88\x02\x03\xed"), WEBSOCKET_PROTOCOL_ERROR}, /* 1005 */
        {false, SLICE_INIT("\x88\x02\x03\xee"), WEBSOCKET_PROTOCOL_ERROR}, /* 1006 */
        {false, SLICE_INIT("\x88\x02\x03\xf7"), WEBSOCKET_PROTOCOL_ERROR}, /* 1015 */
        {false, SLICE_INIT("\x88\x02\x07\xd0"), WEBSOCKET_PROTOCOL_ERROR}, /* 2000 */
        {false, SLICE_INIT("\x88\x02\x13\x88"), WEBSOCKET_PROTOCOL_ERROR}, /* 5000 */
        {false, SLICE_INIT("\x88\x04\x03\xe8\xc3\x28"), WEBSOCKET_BAD_TEXT},
    };
    struct websocket_message message;
    struct buf payload;
    (void)state;
    buf_init(&payload, SIZE_MAX_HERE);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        enum websocket_code code = WEBSOCKET_NORMAL;
        assert_int_equal(read_all(bad[i].is_masked, bad[i].bytes, &message, &payload, &code),
                         ERR_INPUT);
        assert_int_equal(code, bad[i].code);
    }
    buf_release(&payload);
}

static void codes_that_may_be_sent_are_read(void **state)
{
    static const uint16_t codes[] = {1000, 1003, 1007, 1014, 3000, 4999};
    struct websocket_message message;
    struct buf payload;
    struct buf bytes;
    enum websocket_code code = WEBSOCKET_NORMAL;
    (void)state;
    buf_init(&payload, SIZE_MAX_HERE);
    buf_init(&bytes, SIZE_MAX_HERE);
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        buf_clear(&bytes);
        assert_int_equal(
            websocket_write_close(&bytes, (enum websocket_code)codes[i], SLICE("good bye"), NULL),
            ERR_NONE);
        assert_int_equal(read_all(false, buf_view(&bytes), &message, &payload, &code), ERR_NONE);
        assert_int_equal(message.kind, WEBSOCKET_CLOSE);
        assert_int_equal(message.code, codes[i]);
        assert_true(slice_equals(buf_view(&payload), SLICE("good bye")));
    }
    assert_int_equal(read_all(false, SLICE("\x88\x00"), &message, &payload, &code), ERR_NONE);
    assert_int_equal(message.code, WEBSOCKET_NO_CODE);
    buf_release(&bytes);
    buf_release(&payload);
}

/* A long reason is cut between characters. */
static void a_reason_fits_a_control_frame(void **state)
{
    char reason[200];
    struct websocket_message message;
    struct buf payload;
    struct buf bytes;
    enum websocket_code code = WEBSOCKET_NORMAL;
    (void)state;
    buf_init(&payload, SIZE_MAX_HERE);
    buf_init(&bytes, SIZE_MAX_HERE);
    for (size_t i = 0; i < sizeof(reason); i += 2) {
        memcpy(reason + i, "\xc3\xa4", 2);
    }
    assert_int_equal(
        websocket_write_close(&bytes, WEBSOCKET_NORMAL, slice_of(reason, sizeof(reason)), mask),
        ERR_NONE);
    assert_int_equal(read_all(true, buf_view(&bytes), &message, &payload, &code), ERR_NONE);
    assert_int_equal(payload.len, 122);
    buf_release(&bytes);
    buf_release(&payload);
}

/* Everything of a stream, in pieces that begin anew at 'step' bytes each. */
static void read_in_steps(struct slice stream, size_t step, struct buf *said)
{
    struct websocket_reader reader;
    struct websocket_message message;
    enum websocket_code code = WEBSOCKET_NORMAL;
    size_t start = 0;
    websocket_reader_init(&reader, true, SIZE_MAX_HERE);
    for (size_t end = 0; end < stream.len;) {
        end = end + step < stream.len ? end + step : stream.len;
        enum err err = ERR_NONE;
        while (err == ERR_NONE) {
            size_t taken = 0;
            err = websocket_read(&reader, slice_sub(stream, start, end - start), &taken, &message,
                                 &code);
            start += taken;
            if (err == ERR_NONE) {
                char kind = (char)('0' + (int)message.kind);
                assert_int_equal(buf_append(said, slice_of(&kind, 1)), ERR_NONE);
                assert_int_equal(buf_append(said, message.payload), ERR_NONE);
            }
        }
        assert_true(err == ERR_MORE || (err == ERR_CLOSED && reader.is_over));
    }
    websocket_reader_release(&reader);
}

static void a_stream_is_the_same_in_every_split(void **state)
{
    /* a ping between the fragments of a text, one of which is empty; a binary; the end */
    static const char *const texts[] = {"\x01\x82", "\x89\x81", "\x00\x80", "\x80\x83"};
    static const char *const payloads[] = {"ab", "p", "", "cde"};
    struct buf stream;
    struct buf whole;
    struct buf split;
    (void)state;
    buf_init(&stream, SIZE_MAX_HERE);
    buf_init(&whole, SIZE_MAX_HERE);
    buf_init(&split, SIZE_MAX_HERE);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        char byte = 0;
        assert_int_equal(buf_append(&stream, slice_of(texts[i], 2)), ERR_NONE);
        assert_int_equal(buf_append(&stream, slice_of(mask, 4)), ERR_NONE);
        for (size_t j = 0; j < strlen(payloads[i]); j++) {
            byte = (char)((uint8_t)payloads[i][j] ^ mask[j % 4]);
            assert_int_equal(buf_append(&stream, slice_of(&byte, 1)), ERR_NONE);
        }
    }
    assert_int_equal(websocket_write(&stream, WEBSOCKET_BINARY, SLICE("\0\xff"), mask), ERR_NONE);
    assert_int_equal(websocket_write_close(&stream, WEBSOCKET_NORMAL, SLICE("bye"), mask),
                     ERR_NONE);
    read_in_steps(buf_view(&stream), stream.len, &whole);
    assert_true(slice_equals(buf_view(&whole), SLICE("9p1abcde2\0\xff"
                                                     "8bye")));
    for (size_t step = 1; step < stream.len; step++) {
        buf_clear(&split);
        read_in_steps(buf_view(&stream), step, &split);
        assert_true(slice_equals(buf_view(&split), buf_view(&whole)));
    }
    buf_release(&stream);
    buf_release(&whole);
    buf_release(&split);
}

static void every_size_has_its_shortest_head(void **state)
{
    static const struct {
        size_t size;
        size_t head;
    } sizes[] = {{0, 2}, {125, 2}, {126, 4}, {65535, 4}, {65536, 10}, {SIZE_MAX_HERE, 10}};
    static char bytes[SIZE_MAX_HERE];
    struct websocket_message message;
    struct buf payload;
    struct buf out;
    enum websocket_code code = WEBSOCKET_NORMAL;
    (void)state;
    memset(bytes, 'x', sizeof(bytes));
    buf_init(&payload, SIZE_MAX_HERE);
    buf_init(&out, LIMIT_MIB(1));
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct slice text = slice_of(bytes, sizes[i].size);
        buf_clear(&out);
        assert_int_equal(websocket_write(&out, WEBSOCKET_BINARY, text, NULL), ERR_NONE);
        assert_int_equal(out.len, sizes[i].size + sizes[i].head);
        assert_int_equal(read_all(false, buf_view(&out), &message, &payload, &code), ERR_NONE);
        assert_true(slice_equals(buf_view(&payload), text));
        buf_clear(&out);
        assert_int_equal(websocket_write(&out, WEBSOCKET_BINARY, text, mask), ERR_NONE);
        assert_int_equal(out.len, sizes[i].size + sizes[i].head + 4);
        assert_int_equal(read_all(true, buf_view(&out), &message, &payload, &code), ERR_NONE);
        assert_true(slice_equals(buf_view(&payload), text));
    }
    buf_release(&out);
    buf_release(&payload);
}

/* Fragments together are one message, and no larger than one. */
static void fragments_add_up_to_the_limit(void **state)
{
    struct websocket_reader reader;
    struct websocket_message message;
    enum websocket_code code = WEBSOCKET_NORMAL;
    size_t taken = 0;
    (void)state;
    websocket_reader_init(&reader, false, 4);
    assert_int_equal(websocket_read(&reader, SLICE("\x02\x03xyz"), &taken, &message, &code),
                     ERR_MORE);
    assert_int_equal(taken, 5);
    assert_int_equal(websocket_read(&reader, SLICE("\x80\x02"), &taken, &message, &code),
                     ERR_INPUT);
    assert_int_equal(code, WEBSOCKET_TOO_BIG);
    assert_int_equal(websocket_read(&reader, SLICE("\x82\x01x"), &taken, &message, &code),
                     ERR_CLOSED);
    websocket_reader_release(&reader);
}

static void a_writer_that_is_full_writes_nothing(void **state)
{
    struct buf out;
    (void)state;
    buf_init(&out, 16);
    assert_int_equal(websocket_write(&out, WEBSOCKET_TEXT, SLICE("too long"), mask), ERR_LIMIT);
    assert_int_equal(out.len, 0);
    buf_release(&out);
}

static void the_handshake_is_that_of_the_rfc(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena);
    assert_true(slice_equals(websocket_accept_in(&arena, SLICE("dGhlIHNhbXBsZSBub25jZQ==")),
                             SLICE("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")));
    assert_true(websocket_is_key(SLICE("dGhlIHNhbXBsZSBub25jZQ==")));
    assert_false(websocket_is_key(SLICE("")));
    assert_false(websocket_is_key(SLICE("dGhlIHNhbXBsZSBub25jZQ=")));
    assert_false(websocket_is_key(SLICE("dGhlIHNhbXBsZSBub25jZR==")));
    assert_false(websocket_is_key(SLICE("dGhlIHNhbXBsZSBub25j")));
    assert_false(websocket_is_key(SLICE("dGhlIHNhbXBsZSBub25jZSEh")));
    assert_true(websocket_header_has(SLICE("keep-alive, UPGRADE"), SLICE("upgrade")));
    assert_true(websocket_header_has(SLICE("terminal.v1 ,x"), SLICE("terminal.v1")));
    assert_false(websocket_header_has(SLICE("upgraded"), SLICE("upgrade")));
    assert_false(websocket_header_has(SLICE_NONE, SLICE("upgrade")));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_of_the_rfc_are_read),
        cmocka_unit_test(what_the_rfc_forbids_closes_with_its_code),
        cmocka_unit_test(codes_that_may_be_sent_are_read),
        cmocka_unit_test(a_reason_fits_a_control_frame),
        cmocka_unit_test(a_stream_is_the_same_in_every_split),
        cmocka_unit_test(every_size_has_its_shortest_head),
        cmocka_unit_test(fragments_add_up_to_the_limit),
        cmocka_unit_test(a_writer_that_is_full_writes_nothing),
        cmocka_unit_test(the_handshake_is_that_of_the_rfc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
