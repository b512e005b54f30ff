/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* cmocka's macro hides the function of the same name. */
#undef fail

static void a_failure_has_its_code_and_its_message(void **state)
{
    (void)state;
    struct error error;
    assert_int_equal(fail(&error, ERR_LIMIT, "packet of %d bytes", 12), ERR_LIMIT);
    assert_int_equal(error.code, ERR_LIMIT);
    assert_string_equal(error.message, "packet of 12 bytes");
}

static void nobody_needs_to_read_the_message(void **state)
{
    (void)state;
    assert_int_equal(fail(NULL, ERR_INPUT, "%s", "unread"), ERR_INPUT);
    error_prefix(NULL, "store: ");
}

static void a_message_is_cut_to_its_size(void **state)
{
    (void)state;
    struct error error;
    char text[2 * ERROR_MESSAGE_SIZE];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(fail(&error, ERR_IO, "%s", text), ERR_IO);
    assert_int_equal(strlen(error.message), ERROR_MESSAGE_SIZE - 1);
    error_prefix(&error, "store: ");
    assert_int_equal(strlen(error.message), ERROR_MESSAGE_SIZE - 1);
    assert_int_equal(strncmp(error.message, "store: xxx", 10), 0);
    error_prefix(&error, text);
    assert_int_equal(strlen(error.message), ERROR_MESSAGE_SIZE - 1);
}

static void a_cut_message_ends_with_a_whole_character(void **state)
{
    (void)state;
    struct error error;
    char text[2 * ERROR_MESSAGE_SIZE];
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] = "\xf0\x9f\x98\x80"[i % 4];
    }
    text[sizeof(text) - 1] = '\0';
    for (size_t shift = 0; shift < 4; shift++) {
        assert_int_equal(fail(&error, ERR_IO, "%.*s%s", (int)shift, "abc", text), ERR_IO);
        size_t len = ERROR_MESSAGE_SIZE - 1 - (ERROR_MESSAGE_SIZE - 1 - shift) % 4;
        assert_int_equal(strlen(error.message), len);
        error_prefix(&error, "store: ");
        assert_int_equal((strlen(error.message) - 7 - shift) % 4, 0);
        assert_true(strlen(error.message) > ERROR_MESSAGE_SIZE - 5);
    }
}

static void words_go_before_the_message_and_the_code_stays(void **state)
{
    (void)state;
    struct error error;
    assert_int_equal(fail(&error, ERR_IO, "disk is full"), ERR_IO);
    error_prefix(&error, "store: ");
    error_prefix(&error, "");
    error_prefix(&error, "start: ");
    assert_string_equal(error.message, "start: store: disk is full");
    assert_int_equal(error.code, ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_message_ends_with_a_whole_character),
        cmocka_unit_test(a_failure_has_its_code_and_its_message),
        cmocka_unit_test(nobody_needs_to_read_the_message),
        cmocka_unit_test(a_message_is_cut_to_its_size),
        cmocka_unit_test(words_go_before_the_message_and_the_code_stays),
    };
    return cmocka_run_group_tests_name("base/error", tests, NULL, NULL);
}
