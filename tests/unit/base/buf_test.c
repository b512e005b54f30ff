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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_append_beyond_the_maximum_is_refused_and_changes_nothing),
        cmocka_unit_test(what_was_consumed_makes_room_at_the_end),
    };
    return cmocka_run_group_tests_name("base/buf", tests, NULL, NULL);
}
