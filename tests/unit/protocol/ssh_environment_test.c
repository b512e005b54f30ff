/* SPDX-License-Identifier: MIT */
#include "protocol/ssh/ssh_environment.h"

#include "base/memory.h"
#include "protocol/ssh/ssh_login.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const struct {
    const char *patterns;
    const char *name;
    bool is_allowed;
} asked[] = {
    {"", "LANG", true},       {"", "LC_ALL", true},      {"", "LC_", true},
    {"", "TERM", true},       {"", "COLORTERM", true},   {"", "GIT_PROTOCOL", true},
    {"", "lang", false},      {"", "LANGUAGES", false},  {"", "XLC_ALL", false},
    {"", "LC_ALL=x", false},  {"", "LC_A\nB", false},    {"", "LD_PRELOAD", false},
    {"", "PATH", false},      {"", "", false},           {"", "*", false},
    {"MINE", "MINE", true},   {"MINE", "mine", false},   {"MINE", "MINE_TOO", false},
    {"A_*, b", "A_X", true},  {"A_*, b", "b", true},     {"A_*, b", "LD_PRELOAD", false},
    {"A_*, b", "LANG", true}, {"*", "LD_PRELOAD", true}, {"*", "A B", false},
};

static void what_is_allowed(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(asked); i++) {
        bool is_allowed =
            sshd_environment_allows(slice_of_text(asked[i].patterns), slice_of_text(asked[i].name));
        if (is_allowed != asked[i].is_allowed) {
            fail_msg("'%s' for '%s'", asked[i].name, asked[i].patterns);
        }
    }
    assert_true(sshd_environment_is_usual(SLICE("LC_TIME")));
    assert_false(sshd_environment_is_usual(SLICE("MINE")));
    assert_false(sshd_environment_allows(SLICE("*"), slice_of("A\0B", 3)));
}

static void what_is_no_name_is_refused(void **state)
{
    static const char *const bad[] = {"A-B", "A=1", "a.b", "A $B", "\xc3\xa4"};
    struct error error;
    char many[65 * 2 + 1] = "";
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(sshd_environment_check(slice_of_text(bad[i]), &error), ERR_INPUT);
    }
    for (size_t i = 0; i < 65; i++) {
        (void)snprintf(many + 2 * i, 3, "A ");
    }
    assert_int_equal(sshd_environment_check(slice_sub(slice_of_text(many), 0, 64 * 2), &error),
                     ERR_NONE);
    assert_int_equal(sshd_environment_check(slice_of_text(many), &error), ERR_LIMIT);
    assert_int_equal(sshd_environment_check(SLICE(" A_*,\n*B , "), &error), ERR_NONE);
    assert_int_equal(sshd_environment_check(SLICE(""), &error), ERR_NONE);
}

static void logins_are_named(void **state)
{
    struct slice login;
    struct error error;
    (void)state;
    assert_true(slice_equals(sshd_login_cut(SLICE("orders"), &login), SLICE("orders")));
    assert_true(slice_equals(login, SLICE("")));
    assert_true(slice_equals(sshd_login_cut(SLICE("orders+deploy"), &login), SLICE("orders")));
    assert_true(slice_equals(login, SLICE("deploy")));
    assert_true(slice_equals(sshd_login_cut(SLICE("orders+a+b"), &login), SLICE("orders")));
    assert_true(slice_equals(login, SLICE("a+b")));
    assert_true(slice_equals(sshd_login_cut(SLICE("orders+"), &login), SLICE("orders+")));
    assert_true(sshd_login_allows(SLICE(""), SLICE("root"), SLICE("root")));
    assert_false(sshd_login_allows(SLICE(""), SLICE("root"), SLICE("deploy")));
    assert_true(sshd_login_allows(SLICE("a, deploy\nb"), SLICE("root"), SLICE("deploy")));
    assert_false(sshd_login_allows(SLICE("a, deploy\nb"), SLICE("root"), SLICE("Deploy")));
    assert_false(sshd_login_allows(SLICE("a, deploy\nb"), SLICE("root"), SLICE("deploy\nb")));
    assert_false(sshd_login_allows(SLICE("*"), SLICE("root"), SLICE("*")));
    assert_int_equal(sshd_login_check(SLICE("a, DOM\\b c@d.example"), &error), ERR_NONE);
    assert_int_equal(sshd_login_check(SLICE("a, *"), &error), ERR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_allowed),
        cmocka_unit_test(what_is_no_name_is_refused),
        cmocka_unit_test(logins_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
