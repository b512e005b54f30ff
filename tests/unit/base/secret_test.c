/* SPDX-License-Identifier: MIT */
#include "base/secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char large[SECRET_SIZE_MAX + 1];

static void what_was_set_is_held_and_compared(void **state)
{
    (void)state;
    struct secret secret;
    secret_init(&secret);
    assert_int_equal(secret_set(&secret, SLICE("pass\0word")), ERR_NONE);
    assert_true(slice_equals(secret_view(&secret), SLICE("pass\0word")));
    assert_true(secret_equals(&secret, SLICE("pass\0word")));
    assert_false(secret_equals(&secret, SLICE("pass\0worD")));
    assert_false(secret_equals(&secret, SLICE("pass")));
    assert_false(secret_equals(&secret, SLICE_NONE));
    secret_release(&secret);
    assert_int_equal(secret_view(&secret).len, 0);
}

static void a_repetition_of_the_secret_is_not_the_secret(void **state)
{
    (void)state;
    struct secret secret;
    secret_init(&secret);
    assert_int_equal(secret_set(&secret, SLICE("ab")), ERR_NONE);
    assert_false(secret_equals(&secret, SLICE("abab")));
    assert_false(secret_equals(&secret, SLICE("a")));
    secret_release(&secret);
}

static void an_empty_secret_equals_nothing_but_nothing(void **state)
{
    (void)state;
    struct secret secret;
    secret_init(&secret);
    assert_true(secret_equals(&secret, SLICE_NONE));
    assert_false(secret_equals(&secret, SLICE("\0")));
    assert_int_equal(secret_set(&secret, SLICE_NONE), ERR_NONE);
    assert_false(secret_equals(&secret, SLICE("a")));
    secret_release(&secret);
}

static void a_secret_can_be_set_again_also_from_itself(void **state)
{
    (void)state;
    struct secret secret;
    secret_init(&secret);
    assert_int_equal(secret_set(&secret, SLICE("first")), ERR_NONE);
    assert_int_equal(secret_set(&secret, slice_from(secret_view(&secret), 2)), ERR_NONE);
    assert_true(secret_equals(&secret, SLICE("rst")));
    secret_release(&secret);
    secret_release(&secret);
}

static void too_many_bytes_are_refused_and_change_nothing(void **state)
{
    (void)state;
    struct secret secret;
    secret_init(&secret);
    assert_int_equal(secret_set(&secret, SLICE("first")), ERR_NONE);
    assert_int_equal(secret_set(&secret, slice_of(large, sizeof(large))), ERR_LIMIT);
    assert_true(secret_equals(&secret, SLICE("first")));
    assert_int_equal(secret_set(&secret, slice_of(large, SECRET_SIZE_MAX)), ERR_NONE);
    secret_release(&secret);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_set_is_held_and_compared),
        cmocka_unit_test(a_repetition_of_the_secret_is_not_the_secret),
        cmocka_unit_test(an_empty_secret_equals_nothing_but_nothing),
        cmocka_unit_test(a_secret_can_be_set_again_also_from_itself),
        cmocka_unit_test(too_many_bytes_are_refused_and_change_nothing),
    };
    return cmocka_run_group_tests_name("base/secret", tests, NULL, NULL);
}
