/* SPDX-License-Identifier: MIT */
#include "identity/md5_password.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct error error;
static char text[MD5_PASSWORD_TEXT_SIZE];

static enum err answer(struct slice password, struct slice user, struct slice salt)
{
    struct secret secret CLEANUP(secret_release);
    secret_init(&secret);
    assert_int_equal(secret_set(&secret, password), ERR_NONE);
    return md5_password_answer(&secret, user, salt, text, &error);
}

static void answers_are_those_that_postgresql_takes(void **state)
{
    (void)state;
    /* PostgreSQL 15 keeps md5f59f32c9b18b562b997ed54a38e5766d for the second. */
    assert_int_equal(answer(SLICE("pencil"), SLICE("ann"), SLICE("abcd")), ERR_NONE);
    assert_string_equal(text, "md533eb9751eef832bc49aca210003f1166");
    assert_int_equal(answer(SLICE("p\xc3\xaa"
                                  "che"),
                            SLICE("md5user"), SLICE("\x01\x80\xff\0")),
                     ERR_NONE);
    assert_string_equal(text, "md5a83d97ba4d4f2bff9ae97e795d25f1f7");
}

static void nothing_is_an_answer_too(void **state)
{
    (void)state;
    assert_int_equal(answer(SLICE_NONE, SLICE_NONE, SLICE("abcd")), ERR_NONE);
    assert_string_equal(text, "md5743b08b8561cc75c4f899c35d6c3c3eb");
}

static void a_salt_has_four_bytes(void **state)
{
    (void)state;
    struct slice salt = SLICE("abcdefgh");
    for (size_t len = 0; len <= salt.len; len++) {
        assert_int_equal(answer(SLICE("a"), SLICE("b"), slice_sub(salt, 0, len)),
                         len == MD5_PASSWORD_SALT_SIZE ? ERR_NONE : ERR_INPUT);
    }
    assert_string_equal(error.message, "salt for an md5 password of 8 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_that_postgresql_takes),
        cmocka_unit_test(nothing_is_an_answer_too),
        cmocka_unit_test(a_salt_has_four_bytes),
    };
    return cmocka_run_group_tests_name("identity/md5_password", tests, NULL, NULL);
}
