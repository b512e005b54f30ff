/* SPDX-License-Identifier: MIT */
#include "target/aws_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void check(struct slice value, const char *wanted)
{
    assert_true(slice_equals(value, slice_of_text(wanted)));
}

static const char credentials[] = "# of the team\r\n"
                                  "[default]\r\n"
                                  "aws_access_key_id = AKDEFAULT\r\n"
                                  "aws_secret_access_key=a/b+c=\r\n"
                                  "\r\n"
                                  "[ prod ]\n"
                                  "  aws_access_key_id = nested\n"
                                  "AWS_ACCESS_KEY_ID = AKPROD\n"
                                  "; aws_access_key_id = commented\n"
                                  "aws_secret_access_key = first\n"
                                  "aws_secret_access_key = second\n"
                                  "aws_session_token = token \n"
                                  "[broken\n"
                                  "aws_session_token = other\n"
                                  "[prod]\n"
                                  "region = eu-west-1";

static void a_profile_has_what_stands_in_its_section(void **state)
{
    (void)state;
    struct aws_profile found =
        aws_profile_read(slice_of_text(credentials), AWS_PROFILE_CREDENTIALS, SLICE("default"));
    assert_true(found.is_found);
    check(found.access_key_id, "AKDEFAULT");
    check(found.secret_access_key, "a/b+c=");
    assert_int_equal(found.session_token.len, 0);
    found = aws_profile_read(slice_of_text(credentials), AWS_PROFILE_CREDENTIALS, SLICE("prod"));
    check(found.access_key_id, "AKPROD");
    check(found.secret_access_key, "first");
    check(found.session_token, "token");
    check(found.region, "eu-west-1");
}

static void a_config_names_all_but_the_default(void **state)
{
    (void)state;
    struct slice text = SLICE("[default]\nregion=a\n[profile  prod]\nregion=b\n[staging]\n"
                              "region=c\n[profileodd]\nregion=d\n[profile default]\nregion=e\n");
    check(aws_profile_read(text, AWS_PROFILE_CONFIG, SLICE("default")).region, "a");
    check(aws_profile_read(text, AWS_PROFILE_CONFIG, SLICE("prod")).region, "b");
    assert_false(aws_profile_read(text, AWS_PROFILE_CONFIG, SLICE("staging")).is_found);
    assert_false(aws_profile_read(text, AWS_PROFILE_CONFIG, SLICE("odd")).is_found);
    check(aws_profile_read(text, AWS_PROFILE_CREDENTIALS, SLICE("staging")).region, "c");
}

static void what_is_not_there_is_not_found(void **state)
{
    (void)state;
    static const struct slice texts[] = {SLICE_INIT(""),
                                         SLICE_INIT("\n\n"),
                                         SLICE_INIT("["),
                                         SLICE_INIT("]"),
                                         SLICE_INIT("aws_access_key_id = before any section"),
                                         SLICE_INIT("[other]\naws_access_key_id=a"),
                                         SLICE_INIT("=\n[]\n=a")};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct aws_profile found =
            aws_profile_read(texts[i], AWS_PROFILE_CREDENTIALS, SLICE("default"));
        assert_false(found.is_found);
        assert_int_equal(found.access_key_id.len, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profile_has_what_stands_in_its_section),
        cmocka_unit_test(a_config_names_all_but_the_default),
        cmocka_unit_test(what_is_not_there_is_not_found),
    };
    return cmocka_run_group_tests_name("target/aws_profile", tests, NULL, NULL);
}
