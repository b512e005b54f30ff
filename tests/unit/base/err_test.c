/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void every_code_has_a_text_and_a_status_of_http(void **state)
{
    (void)state;
    for (unsigned int code = ERR_NONE; code <= ERR_INTERNAL; code++) {
        const char *text = err_text((enum err)code);
        assert_string_not_equal(text, "unknown error");
        assert_true(text[0] >= 'a' && text[0] <= 'z' && text[strlen(text) - 1] != '.');
        int status = err_http_status((enum err)code);
        assert_true(code == ERR_NONE ? status == 200 : status >= 400 && status <= 599);
    }
}

static void a_number_that_is_no_code_is_an_internal_error(void **state)
{
    (void)state;
    assert_string_equal(err_text((enum err)(ERR_INTERNAL + 1)), "unknown error");
    assert_int_equal(err_http_status((enum err)(ERR_INTERNAL + 1)), 500);
}

static void the_codes_of_api_answers_are_as_the_api_says(void **state)
{
    (void)state;
    assert_int_equal(err_http_status(ERR_INPUT), 400);
    assert_int_equal(err_http_status(ERR_UNAUTHENTICATED), 401);
    assert_int_equal(err_http_status(ERR_DENIED), 403);
    assert_int_equal(err_http_status(ERR_NOT_FOUND), 404);
    assert_int_equal(err_http_status(ERR_CONFLICT), 409);
    assert_int_equal(err_http_status(ERR_UNAVAILABLE), 503);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_a_text_and_a_status_of_http),
        cmocka_unit_test(a_number_that_is_no_code_is_an_internal_error),
        cmocka_unit_test(the_codes_of_api_answers_are_as_the_api_says),
    };
    return cmocka_run_group_tests_name("base/err", tests, NULL, NULL);
}
