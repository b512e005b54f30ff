/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void an_append_beyond_the_maximum_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 4);
    assert_int_equal(buf_append(&buf, SLICE("abc")), ERR_NONE);
    assert_int_equal(buf_append(&buf, SLICE("de")), ERR_LIMIT);
    assert_true(slice_equals(buf_view(&buf), SLICE("abc")));
    buf_release(&buf);
}

static void what_was_consumed_makes_room_at_the_end(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 4);
    assert_int_equal(buf_append(&buf, SLICE("abcd")), ERR_NONE);
    buf_consume(&buf, 3);
    assert_int_equal(buf_append(&buf, SLICE("efg")), ERR_NONE);
    assert_true(slice_equals(buf_view(&buf), SLICE("defg")));
    buf_release(&buf);
}

static void an_empty_buffer_holds_no_memory(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 100);
    assert_int_equal(buf_append(&buf, SLICE_NONE), ERR_NONE);
    assert_int_equal(buf_view(&buf).len, 0);
    assert_null(buf.memory);
    buf_release(&buf);
}

static void reserved_room_counts_when_it_is_committed(void **state)
{
    (void)state;
    struct buf buf;
    char *at = NULL;
    buf_init(&buf, 1000);
    assert_int_equal(buf_append(&buf, SLICE("ab")), ERR_NONE);
    assert_int_equal(buf_reserve(&buf, 998, &at), ERR_NONE);
    memset(at, 'x', 998);
    assert_int_equal(buf_view(&buf).len, 2);
    buf_commit(&buf, 3);
    assert_true(slice_equals(buf_view(&buf), SLICE("abxxx")));
    assert_int_equal(buf_reserve(&buf, 996, &at), ERR_LIMIT);
    assert_int_equal(buf_reserve(&buf, SIZE_MAX, &at), ERR_LIMIT);
    buf_release(&buf);
}

static void a_buffer_grows_up_to_its_maximum(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 5000);
    for (size_t i = 0; i < 5000; i++) {
        char byte = (char)('a' + i % 26);
        assert_int_equal(buf_append(&buf, slice_of(&byte, 1)), ERR_NONE);
    }
    assert_int_equal(buf_append(&buf, SLICE("x")), ERR_LIMIT);
    assert_true(buf.capacity <= 5000);
    for (size_t i = 0; i < 5000; i++) {
        assert_int_equal(buf_view(&buf).at[i], 'a' + i % 26);
    }
    buf_release(&buf);
}

static void bytes_leave_from_both_ends(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 10);
    assert_int_equal(buf_append(&buf, SLICE("abcdef")), ERR_NONE);
    buf_consume(&buf, 2);
    buf_truncate(&buf, 3);
    assert_true(slice_equals(buf_view(&buf), SLICE("cde")));
    buf_consume(&buf, 3);
    assert_int_equal(buf_view(&buf).len, 0);
    assert_int_equal(buf_append(&buf, SLICE("0123456789")), ERR_NONE);
    buf_release(&buf);
}

static void a_cleared_or_wiped_buffer_keeps_its_maximum(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 4);
    assert_int_equal(buf_append(&buf, SLICE("abcd")), ERR_NONE);
    buf_clear(&buf);
    assert_int_equal(buf_append(&buf, SLICE("abcde")), ERR_LIMIT);
    assert_int_equal(buf_append(&buf, SLICE("abcd")), ERR_NONE);
    buf_wipe(&buf);
    buf_wipe(&buf);
    assert_int_equal(buf_view(&buf).len, 0);
    assert_int_equal(buf_append(&buf, SLICE("abcde")), ERR_LIMIT);
    buf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_append_beyond_the_maximum_is_refused_and_changes_nothing),
        cmocka_unit_test(what_was_consumed_makes_room_at_the_end),
        cmocka_unit_test(an_empty_buffer_holds_no_memory),
        cmocka_unit_test(reserved_room_counts_when_it_is_committed),
        cmocka_unit_test(a_buffer_grows_up_to_its_maximum),
        cmocka_unit_test(bytes_leave_from_both_ends),
        cmocka_unit_test(a_cleared_or_wiped_buffer_keeps_its_maximum),
    };
    return cmocka_run_group_tests_name("base/buf", tests, NULL, NULL);
}
