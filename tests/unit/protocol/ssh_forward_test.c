/* SPDX-License-Identifier: MIT */
#include "protocol/ssh/ssh_forward.h"

#include "base/limits.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const struct {
    const char *patterns;
    const char *host;
    uint32_t port;
    bool is_allowed;
} asked[] = {
    {"", "localhost", 22, false},
    {"localhost:22", "localhost", 22, true},
    {"localhost:22", "LocalHost", 22, true},
    {"localhost:22", "localhost", 23, false},
    {"localhost:22", "localhost.", 22, false},
    {"localhost:22", "localhost.evil", 22, false},
    {"localhost:22", "127.0.0.1", 22, false},
    {"a:1,b:2 c:3\nd:4\r\n", "c", 3, true},
    {"a:1,b:2 c:3\nd:4\r\n", "d", 4, true},
    {"a:1,b:2 c:3\nd:4\r\n", "d", 3, false},
    {"*.web.internal:8000-8099", "x.web.internal", 8000, true},
    {"*.web.internal:8000-8099", "x.y.web.internal", 8099, true},
    {"*.web.internal:8000-8099", "web.internal", 8000, false},
    {"*.web.internal:8000-8099", "x.web.internal", 8100, false},
    {"*.web.internal:8000-8099", "x.web.internal.evil", 8000, false},
    {"*a*a*a*a*b:1", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 1, false},
    {"10.0.*.7:*", "10.0.3.7", 65535, true},
    {"10.0.*.7:*", "10.0.3.8", 1, false},
    {"*:*", "anything", 1, true},
    {"*:*", "anything", 0, false},
    {"*:*", "anything", 65536, false},
    {"*:*", "", 1, false},
    {"*:*", "a b", 1, false},
    {"*:*", "a/b", 1, false},
    {"*:*", "*", 1, false},
    {"[fd00::1]:22", "fd00::1", 22, true},
    {"[fd00::1]:22", "[fd00::1]", 22, false},
    {"[fd00::*]:22", "fd00::2", 22, true},
};

static void what_is_allowed(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(asked); i++) {
        bool is_allowed = sshd_forward_allows(slice_of_text(asked[i].patterns),
                                              slice_of_text(asked[i].host), asked[i].port);
        if (is_allowed != asked[i].is_allowed) {
            fail_msg("'%s' for %s:%u", asked[i].patterns, asked[i].host, asked[i].port);
        }
    }
    assert_false(sshd_forward_allows(SLICE("*:*"), SLICE("a\0b"), 1));
}

static void what_is_no_pattern(void **state)
{
    static const char *const bad[] = {"a",   "a:",    "a:0",    "a:65536", "a:2-1", "a:1-",
                                      ":1",  "::1:1", "[::1:1", "[]:1",    "a/b:1", "a:-1",
                                      "a:x", "[::1]", "a;b:1",  "a:1 b"};
    char many[LIMIT_SSH_FORWARDS * 4 + 5];
    struct error error;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        if (sshd_forward_check(slice_of_text(bad[i]), "FORWARD", &error) != ERR_INPUT) {
            fail_msg("'%s' is taken", bad[i]);
        }
    }
    for (size_t i = 0; i < COUNT_OF(asked); i++) {
        assert_int_equal(sshd_forward_check(slice_of_text(asked[i].patterns), "FORWARD", &error),
                         ERR_NONE);
    }
    for (size_t i = 0; i <= LIMIT_SSH_FORWARDS; i++) {
        memcpy(many + 4 * i, "a:1 ", 4);
    }
    assert_int_equal(sshd_forward_check(slice_of(many, LIMIT_SSH_FORWARDS * 4), "FORWARD", &error),
                     ERR_NONE);
    assert_int_equal(
        sshd_forward_check(slice_of(many, LIMIT_SSH_FORWARDS * 4 + 4), "FORWARD", &error),
        ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_allowed),
        cmocka_unit_test(what_is_no_pattern),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
