/* SPDX-License-Identifier: MIT */
#include "mysqlwire_help.h"

struct seen {
    size_t headers;
    size_t packets;
    size_t bytes;
    size_t more;
};

static void feed(struct mysqlwire_framer *framer, struct slice bytes, struct seen *seen)
{
    while (bytes.len > 0) {
        struct mysqlwire_event event;
        size_t taken = 0;
        enum err err = mysqlwire_framer_next(framer, bytes, &taken, &event);
        bytes = slice_from(bytes, taken);
        if (err == ERR_MORE) {
            assert_int_equal(bytes.len, 0);
            return;
        }
        seen->headers += event.kind == MYSQLWIRE_EVENT_HEADER;
        seen->more += event.kind == MYSQLWIRE_EVENT_HEADER && framer->is_more;
        seen->bytes += event.bytes.len;
        seen->packets += event.is_packet_last;
        assert_true(!event.is_packet_last || event.is_piece_last);
    }
}

static void every_split_finds_the_same_packets(void **state)
{
    (void)state;
    static const char bytes[] = "\x03\0\0\0abc\0\0\0\x01\x01\0\0\x02z";
    struct slice all = slice_of(bytes, sizeof(bytes) - 1);
    for (size_t first = 0; first <= all.len; first++) {
        for (size_t second = first; second <= all.len; second++) {
            struct mysqlwire_framer framer;
            struct seen seen = {0};
            mysqlwire_framer_init(&framer);
            feed(&framer, slice_sub(all, 0, first), &seen);
            feed(&framer, slice_sub(all, first, second - first), &seen);
            feed(&framer, slice_from(all, second), &seen);
            assert_int_equal(seen.headers, 3);
            assert_int_equal(seen.packets, 3);
            assert_int_equal(seen.bytes, 4);
            assert_true(mysqlwire_framer_is_between(&framer));
            assert_int_equal(framer.sequence, 2);
        }
    }
}

/* A piece of the most bytes is followed by another one, if need be by one of none. */
static void a_packet_of_several_pieces_is_one(void **state)
{
    (void)state;
    struct mysqlwire_framer framer;
    struct seen seen = {0};
    char *body = memory_new(MYSQLWIRE_PIECE_MAX);
    mysqlwire_framer_init(&framer);
    feed(&framer, SLICE("\xff\xff\xff\x07"), &seen);
    feed(&framer, slice_of(body, MYSQLWIRE_PIECE_MAX), &seen);
    assert_int_equal(seen.packets, 0);
    assert_false(mysqlwire_framer_is_between(&framer));
    feed(&framer, SLICE("\0\0\0\x08"), &seen);
    assert_int_equal(seen.packets, 1);
    assert_int_equal(seen.more, 1);
    assert_true(mysqlwire_framer_is_between(&framer));
    feed(&framer, SLICE("\x01\0\0\0x"), &seen);
    assert_int_equal(seen.packets, 2);
    assert_int_equal(seen.more, 1);
    memory_free(body);
}

/* Whoever goes on behind it finds the next one, or its events. */
static void a_whole_packet_is_viewed_alone(void **state)
{
    (void)state;
    struct slice bytes = SLICE("\x02\0\0\x05okmore");
    struct mysqlwire_framer framer;
    struct mysqlwire_packet packet;
    struct seen seen = {0};
    mysqlwire_framer_init(&framer);
    for (size_t len = 0; len < 6; len++) {
        assert_false(mysqlwire_framer_view_packet(&framer, slice_sub(bytes, 0, len), &packet));
    }
    assert_true(mysqlwire_framer_view_packet(&framer, bytes, &packet));
    assert_int_equal(packet.sequence, 5);
    assert_true(slice_equals(packet.body, SLICE("ok")));
    feed(&framer, SLICE("\x02\0"), &seen);
    assert_false(mysqlwire_framer_view_packet(&framer, SLICE("\0\x05ok\0\0"), &packet));
    feed(&framer, SLICE("\0\x05o"), &seen);
    assert_false(mysqlwire_framer_view_packet(&framer, bytes, &packet));
    feed(&framer, SLICE("k"), &seen);
    assert_true(mysqlwire_framer_view_packet(&framer, bytes, &packet));
    assert_false(mysqlwire_framer_view_packet(&framer, SLICE("\0\0\0\x01more"), &packet));
}

/* A piece of the most bytes goes on. */
static void a_piece_that_goes_on_is_no_whole_packet(void **state)
{
    (void)state;
    struct mysqlwire_framer framer;
    struct mysqlwire_packet packet;
    struct seen seen = {0};
    size_t size = MYSQLWIRE_HEADER_SIZE + MYSQLWIRE_PIECE_MAX;
    char *bytes = memory_new(size);
    memset(bytes, 0xff, 3);
    mysqlwire_framer_init(&framer);
    assert_false(mysqlwire_framer_view_packet(&framer, slice_of(bytes, size), &packet));
    feed(&framer, slice_of(bytes, size), &seen);
    assert_false(mysqlwire_framer_view_packet(&framer, SLICE("\x01\0\0\x01z"), &packet));
    memory_free(bytes);
}

static void a_packet_is_read_when_it_is_whole(void **state)
{
    (void)state;
    struct slice bytes = SLICE("\x02\0\0\x05okmore");
    struct slice body;
    struct error error;
    size_t taken = 0;
    uint8_t sequence = 0;
    for (size_t len = 0; len < 6; len++) {
        assert_int_equal(
            mysqlwire_packet_read(slice_sub(bytes, 0, len), 2, &taken, &sequence, &body, &error),
            ERR_MORE);
    }
    assert_int_equal(mysqlwire_packet_read(bytes, 2, &taken, &sequence, &body, &error), ERR_NONE);
    assert_slice(body, "ok");
    assert_int_equal(sequence, 5);
    assert_int_equal(taken, 6);
    assert_int_equal(mysqlwire_packet_read(bytes, 1, &taken, &sequence, &body, &error), ERR_LIMIT);
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 250, 251, 252, 65535, 65536, 70000};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct buf buf;
        char *text = memory_new(sizes[i] + 1);
        buf_init(&buf, 1 << 17);
        struct writer writer = writer_to(&buf);
        size_t start = mysqlwire_packet_begin(&writer, 9);
        mysqlwire_write_lenenc_text(&writer, slice_of(text, sizes[i]));
        mysqlwire_packet_end(&writer, start);
        assert_int_equal(writer_done(&writer), ERR_NONE);
        struct reader reader = reader_of(body_of(&buf, 9));
        assert_int_equal(mysqlwire_read_lenenc_text(&reader).len, sizes[i]);
        assert_int_equal(reader_done(&reader), ERR_NONE);
        buf_release(&buf);
        memory_free(text);
    }
}

static void a_length_that_is_none_fails(void **state)
{
    (void)state;
    static const struct slice none[] = {
        SLICE_INIT("\xfb"),     SLICE_INIT("\xff"),         SLICE_INIT(""),
        SLICE_INIT("\xfc\x01"), SLICE_INIT("\xfd\x01\x01"), SLICE_INIT("\xfe\x01\0\0\0\0\0\0")};
    for (size_t i = 0; i < COUNT_OF(none); i++) {
        struct reader reader = reader_of(none[i]);
        (void)mysqlwire_read_lenenc(&reader);
        assert_true(reader.failed);
    }
    struct reader reader = reader_of(SLICE("\xfe\xff\xff\xff\xff\xff\xff\xff\xff"));
    assert_int_equal(mysqlwire_read_lenenc_text(&reader).len, 0);
    assert_true(reader.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_split_finds_the_same_packets),
        cmocka_unit_test(a_packet_of_several_pieces_is_one),
        cmocka_unit_test(a_whole_packet_is_viewed_alone),
        cmocka_unit_test(a_piece_that_goes_on_is_no_whole_packet),
        cmocka_unit_test(a_packet_is_read_when_it_is_whole),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(a_length_that_is_none_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
