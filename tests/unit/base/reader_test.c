/* SPDX-License-Identifier: MIT */
#include "base/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct slice message(void)
{
    return SLICE("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
                 "view"
                 "text\0"
                 "skip"
                 "rest");
}

/* Reads all kinds of fields; says whether all were there. */
static enum err read_all(struct slice input)
{
    struct reader reader = reader_of(input);
    uint8_t byte = reader_u8(&reader);
    uint16_t two = reader_u16(&reader);
    uint32_t four = reader_u32(&reader);
    uint64_t eight = reader_u64(&reader);
    struct slice view = reader_view(&reader, 4);
    struct slice text = reader_view_text(&reader);
    reader_skip(&reader, 4);
    struct slice rest = reader_view(&reader, 4);
    enum err err = reader_done(&reader);
    if (err == ERR_NONE) {
        assert_true(byte == 1 && two == 0x0203 && four == 0x04050607);
        assert_true(eight == 0x08090a0b0c0d0e0f);
        assert_true(slice_equals(view, SLICE("view")) && slice_equals(text, SLICE("text")));
        assert_true(slice_equals(rest, SLICE("rest")));
    }
    return err;
}

static void fields_are_read_in_network_byte_order(void **state)
{
    (void)state;
    assert_int_equal(read_all(message()), ERR_NONE);
}

static void every_prefix_fails(void **state)
{
    (void)state;
    for (size_t len = 0; len < message().len; len++) {
        assert_int_equal(read_all(slice_sub(message(), 0, len)), ERR_INPUT);
    }
}

static void what_is_left_over_fails_at_the_end(void **state)
{
    (void)state;
    struct reader reader = reader_of(SLICE("ab"));
    (void)reader_u8(&reader);
    assert_int_equal(reader_left(&reader), 1);
    assert_int_equal(reader_done(&reader), ERR_INPUT);
    assert_true(slice_equals(reader_view_rest(&reader), SLICE("b")));
    assert_int_equal(reader_done(&reader), ERR_NONE);
}

static void a_failure_stays_and_reads_give_nothing(void **state)
{
    (void)state;
    struct reader reader = reader_of(SLICE("ab\0"));
    assert_int_equal(reader_u32(&reader), 0);
    assert_int_equal(reader_u8(&reader), 0);
    assert_int_equal(reader_view(&reader, 0).len, 0);
    assert_int_equal(reader_view_text(&reader).len, 0);
    assert_int_equal(reader_view_rest(&reader).len, 0);
    assert_true(reader.failed);
    assert_int_equal(reader_done(&reader), ERR_INPUT);
}

static void lengths_near_the_largest_do_not_wrap(void **state)
{
    (void)state;
    struct reader reader = reader_of(SLICE("abc"));
    reader_skip(&reader, 2);
    assert_int_equal(reader_view(&reader, SIZE_MAX).len, 0);
    assert_int_equal(reader_done(&reader), ERR_INPUT);
}

static void a_text_without_its_nul_fails_and_an_empty_one_does_not(void **state)
{
    (void)state;
    struct reader reader = reader_of(SLICE("\0ab"));
    assert_int_equal(reader_view_text(&reader).len, 0);
    assert_false(reader.failed);
    assert_int_equal(reader_view_text(&reader).len, 0);
    assert_true(reader.failed);
}

static void nothing_is_read_from_nothing(void **state)
{
    (void)state;
    struct reader reader = reader_of(SLICE_NONE);
    assert_int_equal(reader_view_rest(&reader).len, 0);
    assert_int_equal(reader_done(&reader), ERR_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_read_in_network_byte_order),
        cmocka_unit_test(every_prefix_fails),
        cmocka_unit_test(what_is_left_over_fails_at_the_end),
        cmocka_unit_test(a_failure_stays_and_reads_give_nothing),
        cmocka_unit_test(lengths_near_the_largest_do_not_wrap),
        cmocka_unit_test(a_text_without_its_nul_fails_and_an_empty_one_does_not),
        cmocka_unit_test(nothing_is_read_from_nothing),
    };
    return cmocka_run_group_tests_name("base/reader", tests, NULL, NULL);
}
