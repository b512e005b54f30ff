/* SPDX-License-Identifier: MIT */
#include "model/organization.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static enum err check(struct slice name)
{
    struct error error = {0};
    return organization_check_name(name, &error);
}

static void ordinary_names_are_taken(void **state)
{
    (void)state;
    assert_int_equal(check(SLICE("a")), ERR_NONE);
    assert_int_equal(check(SLICE("Büro & Söhne ☕")), ERR_NONE);
}

static void the_length_counts_characters(void **state)
{
    (void)state;
    char name[400];
    for (size_t i = 0; i < sizeof(name); i += 2) {
        name[i] = '\xc3';
        name[i + 1] = '\xa9';
    }
    assert_int_equal(check(slice_of(name, 200)), ERR_NONE);
    assert_int_equal(check(slice_of(name, 202)), ERR_INPUT);
    assert_int_equal(check(SLICE("")), ERR_INPUT);
}

static void what_is_no_text_or_cannot_be_seen_is_refused(void **state)
{
    (void)state;
    assert_int_equal(check(SLICE("\xff")), ERR_INPUT);
    assert_int_equal(check(SLICE("a\nb")), ERR_INPUT);
    assert_int_equal(check(SLICE("a\x7f")), ERR_INPUT);
    assert_int_equal(check(SLICE("a\xc2\x85")), ERR_INPUT);
    assert_int_equal(check(SLICE(" a")), ERR_INPUT);
    assert_int_equal(check(SLICE("a ")), ERR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary_names_are_taken),
        cmocka_unit_test(the_length_counts_characters),
        cmocka_unit_test(what_is_no_text_or_cannot_be_seen_is_refused),
    };
    return cmocka_run_group_tests_name("model/organization", tests, NULL, NULL);
}
