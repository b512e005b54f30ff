/* SPDX-License-Identifier: MIT */
#include "base/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static enum err write_all(struct buf *buf)
{
    struct writer writer = writer_to(buf);
    writer_u8(&writer, 1);
    writer_u16(&writer, 0x0203);
    writer_u32(&writer, 0x04050607);
    writer_u64(&writer, 0x08090a0b0c0d0e0f);
    writer_bytes(&writer, SLICE("bytes"));
    writer_bytes(&writer, SLICE_NONE);
    writer_text(&writer, SLICE("text"));
    writer_format(&writer, "%d-%s", 42, "x");
    return writer_done(&writer);
}

static struct slice wanted(void)
{
    return SLICE("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
                 "bytestext\0"
                 "42-x");
}

static void fields_are_written_in_network_byte_order(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 100);
    assert_int_equal(write_all(&buf), ERR_NONE);
    assert_true(slice_equals(buf_view(&buf), wanted()));
    buf_release(&buf);
}

static void every_maximum_that_is_too_small_fails(void **state)
{
    (void)state;
    for (size_t size_max = 0; size_max <= wanted().len; size_max++) {
        struct buf buf;
        buf_init(&buf, size_max);
        enum err err = size_max == wanted().len ? ERR_NONE : ERR_LIMIT;
        assert_int_equal(write_all(&buf), err);
        assert_true(slice_starts_with(wanted(), buf_view(&buf)));
        buf_release(&buf);
    }
}

static void nothing_is_written_behind_what_did_not_fit(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 4);
    struct writer writer = writer_to(&buf);
    writer_bytes(&writer, SLICE("abcde"));
    writer_u8(&writer, 'x');
    assert_int_equal(writer_done(&writer), ERR_LIMIT);
    assert_int_equal(buf_view(&buf).len, 0);
    buf_release(&buf);
}

static void a_length_is_put_in_afterwards(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 12);
    struct writer writer = writer_to(&buf);
    writer_bytes(&writer, SLICE("ab"));
    buf_consume(&buf, 1);
    writer_u32(&writer, 0);
    writer_u8(&writer, 'c');
    writer_u32_at(&writer, 1, 0x01020304);
    assert_true(slice_equals(buf_view(&buf), SLICE("b\x01\x02\x03\x04"
                                                   "c")));
    writer_bytes(&writer, SLICE("too much"));
    writer_u32_at(&writer, 1, 0);
    assert_int_equal(writer_done(&writer), ERR_LIMIT);
    assert_true(slice_starts_with(buf_view(&buf), SLICE("b\x01")));
    buf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_written_in_network_byte_order),
        cmocka_unit_test(every_maximum_that_is_too_small_fails),
        cmocka_unit_test(a_length_is_put_in_afterwards),
        cmocka_unit_test(nothing_is_written_behind_what_did_not_fit),
    };
    return cmocka_run_group_tests_name("base/writer", tests, NULL, NULL);
}
