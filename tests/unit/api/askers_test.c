/* SPDX-License-Identifier: MIT */
#include "api/askers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MOST 4
#define EACH 2

static void an_address_has_its_share_and_no_more(void **state)
{
    (void)state;
    struct askers *askers = askers_new(MOST, EACH);
    struct slice one = SLICE("192.0.2.1");
    struct slice other = SLICE("192.0.2.2");
    assert_true(askers_enter(askers, one) && askers_enter(askers, one));
    assert_false(askers_enter(askers, one));
    assert_true(askers_enter(askers, other));
    askers_leave(askers, one);
    assert_true(askers_enter(askers, one));
    assert_false(askers_enter(askers, one));
    askers_free(askers);
}

static void together_there_are_no_more_than_the_most(void **state)
{
    (void)state;
    struct askers *askers = askers_new(MOST, EACH);
    static const char *const addresses[MOST] = {"", "::1", "2001:db8::", "192.0.2.1"};
    for (size_t i = 0; i < MOST; i++) {
        assert_true(askers_enter(askers, slice_of_text(addresses[i])));
    }
    assert_false(askers_enter(askers, SLICE("192.0.2.9")));
    for (size_t i = 0; i < MOST; i++) {
        askers_leave(askers, slice_of_text(addresses[i]));
    }
    assert_true(askers_enter(askers, SLICE("192.0.2.9")));
    askers_free(askers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_has_its_share_and_no_more),
        cmocka_unit_test(together_there_are_no_more_than_the_most),
    };
    return cmocka_run_group_tests_name("api/askers", tests, NULL, NULL);
}
