/* SPDX-License-Identifier: MIT */
/* Addresses beside each other and beside what else there is. */
#include "detect_rig.h"

/* Nothing of a run of them is left over: neither could the rest be one once the others are gone. */
static void addresses_that_run_into_each_other_are_all_found(void **state)
{
    (void)state;
    static const char *const whole[] = {
        "a@b.com.cc@d.com",
        "a@b.com.c@d.com",
        "foo@bar.com@proxy.org",
        "a@b.com.@d.com",
        "a@b.com-@d.com",
        "a@b.com-c@d.com",
        "a@b@c.com",
        "a@b.c@d.e@f.com",
        "x@y@z@foo.com",
        "icon@2x.png@foo.com",
        "ann@example.com.bob@example.com@ann@example.com",
        "a@b.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx@d.com",
        "a@b.\xe8\xb0\xa2x1c@d.com",
    };
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
        char text[TEXT_SIZE], wanted[TEXT_SIZE];
        assert_true(snprintf(text, sizeof(text), "x '%s', y", whole[i]) > 0);
        assert_true(snprintf(wanted, sizeof(wanted), "EMAIL_ADDRESS:%s", whole[i]) > 0);
        assert_string_equal(found(text), wanted);
        assert_string_equal(found(whole[i]), wanted);
    }
    assert_string_equal(found("a@b.com'c@d.com"), "EMAIL_ADDRESS:a@b.com EMAIL_ADDRESS:c@d.com");
    assert_string_equal(found("a@b.com&c@d.com"), "EMAIL_ADDRESS:a@b.com EMAIL_ADDRESS:c@d.com");
    assert_string_equal(found("a@b.com_c@d.com"), "EMAIL_ADDRESS:a@b.com EMAIL_ADDRESS:_c@d.com");
    assert_string_equal(found("a@b.com/c@d.com"), "EMAIL_ADDRESS:a@b.com EMAIL_ADDRESS:c@d.com");
    assert_string_equal(found("a@b.com@localhost"), "EMAIL_ADDRESS:a@b.com");
    assert_string_equal(found("@foo@bar.com"), "EMAIL_ADDRESS:foo@bar.com");
    assert_string_equal(found("git@b.com:git@b.com:c@d.com:x"),
                        "EMAIL_ADDRESS:git@b.com EMAIL_ADDRESS:git@b.com EMAIL_ADDRESS:c@d.com");
}

static void an_address_behind_something_else_is_found(void **state)
{
    (void)state;
    assert_string_equal(found("4012888888881881'ann@example.com"),
                        "CREDIT_CARD:4012888888881881 EMAIL_ADDRESS:ann@example.com");
    assert_string_equal(found("/users/ann@example.com"), "EMAIL_ADDRESS:ann@example.com");
    assert_string_equal(found("ssh://git@example.com/x"), "URL:ssh://git@example.com/x");
}

/* A megabyte of addresses that all join is one finding, and found in time whatever is wanted. */
static void a_run_of_addresses_has_no_limit(void **state)
{
    (void)state;
    enum { MEGABYTE = 1 << 20 };
    static const char *const parts[] = {"a@b.cc@", "a@b.cc.c", "@a@b.cc.", "a.a@"};
    char *text = memory_new(MEGABYTE);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        for (size_t at = 0; at < MEGABYTE; at++) {
            text[at] = parts[i][at % strlen(parts[i])];
        }
        memcpy(text + MEGABYTE - 8, "x@d.com ", 8);
        for (unsigned score_min = 60; score_min <= 90; score_min += 15) {
            struct detect_finding findings[FINDINGS_MAX];
            size_t rest = 0;
            struct detect_set set = all_types(score_min);
            size_t count =
                detect_scan(&set, 0, slice_of(text, MEGABYTE), 0, findings, FINDINGS_MAX, &rest);
            assert_int_equal(count, score_min == 90 ? 0 : 1);
            assert_true(score_min == 90 || findings[0].len >= MEGABYTE - 2);
        }
    }
    memory_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_that_run_into_each_other_are_all_found),
        cmocka_unit_test(an_address_behind_something_else_is_found),
        cmocka_unit_test(a_run_of_addresses_has_no_limit),
    };
    return cmocka_run_group_tests_name("detect/address", tests, NULL, NULL);
}
