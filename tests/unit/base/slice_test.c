/* SPDX-License-Identifier: MIT */
#include "base/slice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void bytes_are_compared_with_their_length(void **state)
{
    (void)state;
    assert_true(slice_equals(SLICE("a\0b"), SLICE("a\0b")));
    assert_false(slice_equals(SLICE("a\0b"), SLICE("a\0c")));
    assert_false(slice_equals(SLICE("ab"), SLICE("abc")));
    assert_true(slice_equals(SLICE_NONE, SLICE("")));
    assert_true(slice_equals(slice_of_text(NULL), SLICE_NONE));
    assert_true(slice_equals(slice_of_text("ab"), slice_of("abc", 2)));
}

static void ascii_case_may_be_passed_over(void **state)
{
    (void)state;
    assert_true(slice_equals_nocase(SLICE("Host-9"), SLICE("hOST-9")));
    assert_false(slice_equals_nocase(SLICE("Host"), SLICE("Hos")));
    assert_false(slice_equals_nocase(SLICE("a["), SLICE("a{")));
    assert_true(slice_equals_nocase(SLICE_NONE, SLICE("")));
}

static void beginnings_and_ends_are_told(void **state)
{
    (void)state;
    assert_true(slice_starts_with(SLICE("abc"), SLICE("ab")));
    assert_true(slice_starts_with(SLICE("abc"), SLICE_NONE));
    assert_false(slice_starts_with(SLICE("ab"), SLICE("abc")));
    assert_false(slice_starts_with(SLICE("abc"), SLICE("b")));
    assert_true(slice_ends_with(SLICE("abc"), SLICE("bc")));
    assert_true(slice_ends_with(SLICE_NONE, SLICE_NONE));
    assert_false(slice_ends_with(SLICE("c"), SLICE("bc")));
    assert_false(slice_ends_with(SLICE("abc"), SLICE("b")));
}

static void order_is_bytewise_and_the_shorter_comes_first(void **state)
{
    (void)state;
    assert_true(slice_compare(SLICE("a"), SLICE("b")) < 0);
    assert_true(slice_compare(SLICE("b"), SLICE("ab")) > 0);
    assert_true(slice_compare(SLICE("a"), SLICE("ab")) < 0);
    assert_true(slice_compare(SLICE("ab"), SLICE("a")) > 0);
    assert_true(slice_compare(SLICE("\xff"), SLICE("a")) > 0);
    assert_true(slice_compare(SLICE_NONE, SLICE("")) == 0);
}

static void parts_are_cut_to_what_is_there(void **state)
{
    (void)state;
    struct slice abc = SLICE("abc");
    assert_true(slice_equals(slice_from(abc, 1), SLICE("bc")));
    assert_int_equal(slice_from(abc, 3).len, 0);
    assert_int_equal(slice_from(abc, 99).len, 0);
    assert_ptr_equal(slice_from(abc, 99).at, abc.at + 3);
    assert_true(slice_equals(slice_sub(abc, 1, 1), SLICE("b")));
    assert_true(slice_equals(slice_sub(abc, 1, SIZE_MAX), SLICE("bc")));
    assert_true(slice_equals(slice_sub(abc, 0, 0), SLICE("")));
    assert_int_equal(slice_sub(SLICE_NONE, 5, 5).len, 0);
}

static void bytes_are_trimmed_from_both_ends(void **state)
{
    (void)state;
    assert_true(slice_equals(slice_trim(SLICE(" \t a b\t "), " \t"), SLICE("a b")));
    assert_int_equal(slice_trim(SLICE("   "), " ").len, 0);
    assert_true(slice_equals(slice_trim(SLICE("\0a\0"), " "), SLICE("\0a\0")));
    assert_int_equal(slice_trim(SLICE_NONE, " ").len, 0);
}

static void a_byte_or_a_sequence_is_found_or_the_length_returned(void **state)
{
    (void)state;
    struct slice text = SLICE("ab\0ab");
    assert_int_equal(slice_find_byte(text, 'b'), 1);
    assert_int_equal(slice_find_byte(text, '\0'), 2);
    assert_int_equal(slice_find_byte(text, 'x'), 5);
    assert_int_equal(slice_find_byte(SLICE_NONE, 'x'), 0);
    assert_int_equal(slice_find(text, SLICE("b\0a")), 1);
    assert_int_equal(slice_find(text, SLICE("ba")), 5);
    assert_int_equal(slice_find(text, SLICE("ab\0abc")), 5);
    assert_int_equal(slice_find(SLICE_NONE, SLICE("a")), 0);
    assert_int_equal(slice_find(text, SLICE_NONE), 0);
}

static void a_cut_leaves_the_rest_or_says_that_there_is_none(void **state)
{
    (void)state;
    struct slice rest;
    assert_true(slice_equals(slice_cut(SLICE("a=b=c"), '=', &rest), SLICE("a")));
    assert_true(slice_equals(rest, SLICE("b=c")));
    assert_true(slice_equals(slice_cut(SLICE("a="), '=', &rest), SLICE("a")));
    assert_true(rest.len == 0 && rest.at != NULL);
    assert_true(slice_equals(slice_cut(SLICE("a"), '=', &rest), SLICE("a")));
    assert_true(rest.len == 0 && rest.at == NULL);
    assert_int_equal(slice_cut(SLICE_NONE, '=', &rest).len, 0);
    struct slice own = SLICE("x,y");
    assert_true(slice_equals(slice_cut(own, ',', &own), SLICE("x")));
    assert_true(slice_equals(own, SLICE("y")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_compared_with_their_length),
        cmocka_unit_test(ascii_case_may_be_passed_over),
        cmocka_unit_test(beginnings_and_ends_are_told),
        cmocka_unit_test(order_is_bytewise_and_the_shorter_comes_first),
        cmocka_unit_test(parts_are_cut_to_what_is_there),
        cmocka_unit_test(bytes_are_trimmed_from_both_ends),
        cmocka_unit_test(a_byte_or_a_sequence_is_found_or_the_length_returned),
        cmocka_unit_test(a_cut_leaves_the_rest_or_says_that_there_is_none),
    };
    return cmocka_run_group_tests_name("base/slice", tests, NULL, NULL);
}
