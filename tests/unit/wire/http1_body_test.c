/* SPDX-License-Identifier: MIT */
#include "http1_help.h"

/* Decodes all of 'input' in pieces of at most 'piece' bytes; 'ret_left' is what follows the body.
 */
static enum err decode(struct slice input, size_t piece, struct buf *body, struct slice *ret_left)
{
    struct http1_chunked chunked = {0};
    while (input.len > 0 && !chunked.done) {
        size_t taken = 0;
        struct slice data;
        struct slice part = slice_sub(input, 0, piece);
        enum err err = http1_chunked_next(&chunked, part, &taken, &data);
        if (err != ERR_NONE && err != ERR_MORE) {
            return err;
        }
        assert_true(taken > 0 && taken <= part.len);
        assert_true(err == ERR_NONE || taken == part.len);
        assert_true(data.len == 0 || (data.at >= part.at && data.at + data.len == part.at + taken));
        assert_int_equal(buf_append(body, data), ERR_NONE);
        input = slice_from(input, taken);
    }
    *ret_left = input;
    return chunked.done ? ERR_NONE : ERR_MORE;
}

static void check_decoded(struct slice input, size_t piece, const char *body, const char *left)
{
    struct buf buf;
    struct slice rest;
    buf_init(&buf, LIMIT_MIB(1));
    assert_int_equal(decode(input, piece, &buf, &rest), ERR_NONE);
    assert_slice(buf_view(&buf), body);
    assert_slice(rest, left);
    buf_release(&buf);
}

static const struct slice valid_chunked =
    SLICE_INIT("4\r\nWiki\r\n0007;a=b;c=\"d e\"\r\npedia i\r\nB\r\nn \r\nchunks.\r\n"
               "0;last\r\nX: y\r\nExpires: \t now\r\n\r\n");

static void a_chunked_body_is_the_same_however_it_is_split(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 1024);
    assert_int_equal(buf_append(&buf, valid_chunked), ERR_NONE);
    assert_int_equal(buf_append(&buf, SLICE("GET /")), ERR_NONE);
    for (size_t piece = 1; piece <= buf_view(&buf).len; piece++) {
        check_decoded(buf_view(&buf), piece, "Wikipedia in \r\nchunks.", "GET /");
    }
    check_decoded(SLICE("0\r\n\r\n"), 100, "", "");
    check_decoded(SLICE("0000000000000001\r\na\r\n0\r\n\r\n"), 100, "a", "");
    buf_release(&buf);
}

static void every_prefix_of_a_chunked_body_needs_more(void **state)
{
    (void)state;
    for (size_t len = 0; len < valid_chunked.len; len++) {
        struct buf buf;
        struct slice rest;
        buf_init(&buf, 1024);
        assert_int_equal(decode(slice_sub(valid_chunked, 0, len), len, &buf, &rest), ERR_MORE);
        buf_release(&buf);
    }
}

static void malformed_chunks_are_refused_however_they_are_split(void **state)
{
    (void)state;
    static const struct slice inputs[] = {
        SLICE_INIT("\r\n"),
        SLICE_INIT(";a\r\n"),
        SLICE_INIT("g\r\n"),
        SLICE_INIT("0x5\r\n"),
        SLICE_INIT("+5\r\n"),
        SLICE_INIT("-5\r\n"),
        SLICE_INIT(" 5\r\n"),
        SLICE_INIT("5 \r\n"),
        SLICE_INIT("5\t;a\r\n"),
        SLICE_INIT("5\nabcde\r\n"),
        SLICE_INIT("5\r\r\n"),
        SLICE_INIT("5\rabcde"),
        SLICE_INIT("5;a\nabcde\r\n"),
        SLICE_INIT("5;a\r\r\nabcde\r\n"),
        SLICE_INIT("5;\0\r\n"),
        SLICE_INIT("5;a\x7f\r\n"),
        SLICE_INIT("00000000000000005\r\n"),
        SLICE_INIT("10000000000000000\r\n"),
        SLICE_INIT("1\r\nab\r\n"),
        SLICE_INIT("1\r\na\n"),
        SLICE_INIT("1\r\na\r0"),
        SLICE_INIT("1\r\na0\r\n\r\n"),
        SLICE_INIT("1\r\na\r\n\r\n"),
        SLICE_INIT("0\r\n\n"),
        SLICE_INIT("0\r\n\rX"),
        SLICE_INIT("0\r\nX\r\n"),
        SLICE_INIT("0\r\n: y\r\n"),
        SLICE_INIT("0\r\n X: y\r\n"),
        SLICE_INIT("0\r\nX : y\r\n"),
        SLICE_INIT("0\r\nX: y\n"),
        SLICE_INIT("0\r\nX: y\rZ"),
        SLICE_INIT("0\r\nX: \0"),
        SLICE_INIT("0\r\nX: y\r\n z\r\n"),
    };
    for (size_t i = 0; i < COUNT(inputs); i++) {
        for (size_t piece = 1; piece <= inputs[i].len; piece++) {
            struct buf buf;
            struct slice rest;
            buf_init(&buf, 1024);
            assert_int_equal(decode(inputs[i], piece, &buf, &rest), ERR_INPUT);
            buf_release(&buf);
        }
    }
}

static void check_chunked_limit(struct slice first, struct slice filler, size_t size,
                                enum err expected)
{
    struct buf buf;
    struct buf body;
    struct slice rest;
    buf_init(&buf, LIMIT_MIB(1));
    buf_init(&body, LIMIT_MIB(1));
    fill(&buf, first, filler, size, SLICE_NONE);
    assert_int_equal(decode(buf_view(&buf), 1000, &body, &rest), expected);
    buf_release(&body);
    buf_release(&buf);
}

static void chunk_lines_and_trailers_are_limited(void **state)
{
    (void)state;
    size_t line = LIMIT_HTTP_CHUNK_LINE_SIZE;
    check_chunked_limit(SLICE("1;"), SLICE("a"), line, ERR_MORE);
    check_chunked_limit(SLICE("1;"), SLICE("a"), line + 1, ERR_LIMIT);
    size_t trailer = LIMIT_HTTP_TRAILER_SIZE + 3;
    check_chunked_limit(SLICE("0\r\n"), SLICE("X: y\r\n"), trailer, ERR_MORE);
    check_chunked_limit(SLICE("0\r\n"), SLICE("X: y\r\n"), trailer + 1, ERR_LIMIT);
    struct slice chunk = SLICE("1;aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\na\r\n");
    check_chunked_limit(SLICE("1\r\na\r\n"), chunk, LIMIT_HTTP_EXTENSIONS_SIZE, ERR_MORE);
    check_chunked_limit(SLICE("1\r\na\r\n"), chunk, 2 * LIMIT_HTTP_EXTENSIONS_SIZE, ERR_LIMIT);
}

static void the_largest_chunk_is_not_mistaken_for_a_small_one(void **state)
{
    (void)state;
    struct http1_chunked chunked = {0};
    struct slice input = SLICE("FFFFFFFFffffffff\r\nabc");
    struct slice data;
    size_t taken = 0;
    assert_int_equal(http1_chunked_next(&chunked, input, &taken, &data), ERR_NONE);
    assert_slice(data, "abc");
    assert_true(chunked.left == UINT64_MAX - 3);
}

static void written_chunks_are_read_back(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 1024);
    struct writer writer = writer_to(&buf);
    http1_chunk_begin(&writer, 26);
    writer_bytes(&writer, SLICE("abcdefghijklmnopqrstuvwxyz"));
    http1_chunk_end(&writer);
    http1_chunk_begin(&writer, 1);
    writer_bytes(&writer, SLICE("!"));
    http1_chunk_end(&writer);
    http1_chunk_last(&writer);
    assert_int_equal(writer_done(&writer), ERR_NONE);
    assert_slice(buf_view(&buf), "1a\r\nabcdefghijklmnopqrstuvwxyz\r\n1\r\n!\r\n0\r\n\r\n");
    check_decoded(buf_view(&buf), 3, "abcdefghijklmnopqrstuvwxyz!", "");
    buf_release(&buf);
}

static void a_chunk_of_any_size_has_its_head(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 1024);
    struct writer writer = writer_to(&buf);
    http1_chunk_begin(&writer, 0xff0);
    http1_chunk_begin(&writer, SIZE_MAX);
    assert_slice(buf_view(&buf), "ff0\r\nffffffffffffffff\r\n");
    buf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chunked_body_is_the_same_however_it_is_split),
        cmocka_unit_test(every_prefix_of_a_chunked_body_needs_more),
        cmocka_unit_test(malformed_chunks_are_refused_however_they_are_split),
        cmocka_unit_test(chunk_lines_and_trailers_are_limited),
        cmocka_unit_test(the_largest_chunk_is_not_mistaken_for_a_small_one),
        cmocka_unit_test(written_chunks_are_read_back),
        cmocka_unit_test(a_chunk_of_any_size_has_its_head),
    };
    return cmocka_run_group_tests_name("wire/http1_body", tests, NULL, NULL);
}
