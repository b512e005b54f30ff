/* SPDX-License-Identifier: MIT */
#include "wire/origin.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static enum err parse(const char *text, struct error *error)
{
    struct origin_list list;
    return origin_list_parse(slice_of_text(text), &list, error);
}

static void origins_as_browsers_write_them_are_taken(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "  ",
        "https://app.example",
        "https://app.example:8443",
        "https://xn--mnchen-3ya.example",
        "https://192.0.2.1:1",
        "https://[2001:db8::1]",
        "https://[2001:db8::1]:65535",
        "https://localhost",
        "https://a:80",
        "http://localhost:3000",
        "http://localhost",
        "http://127.0.0.1:443",
        "http://[::1]:5173",
        "https://a , https://b,https://c:1",
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(parse(cases[i], NULL), ERR_NONE);
    }
}

static void every_other_form_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "*",
        "null",
        "https://*",
        "https://*.example",
        "app.example",
        "https:app.example",
        "https://",
        "https:///",
        "https://app.example/",
        "https://app.example/path",
        "https://app.example?a",
        "https://app.example#a",
        "https://app.example:",
        "https://app.example:443",
        "https://app.example:0",
        "https://app.example:080",
        "https://app.example:65536",
        "https://app.example:99999999",
        "https://app.example:x",
        "https://App.example",
        "HTTPS://app.example",
        "https://user@app.example",
        "https://app.example:1:2",
        "https://app example",
        "https://münchen.example",
        "https://[2001:DB8::1]",
        "https://[2001:db8:0::1]",
        "https://[192.0.2.1]",
        "https://[]",
        "https://[::1",
        "https://::1",
        "https://[::1]x",
        "http://app.example",
        "http://localhost:80",
        "http://127.0.0.2",
        "http://localhost.example",
        "https://a,",
        ",https://a",
        "https://a,,https://b",
        "https://a;https://b",
        "https://a https://b",
        "https://a,*",
        "ftp://a",
        "chrome-extension://abc",
        "file://",
        "https://a\nb",
        "http",
        "h",
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error error = {0};
        assert_int_equal(parse(cases[i], &error), ERR_INPUT);
        assert_true(strlen(error.message) > 0);
    }
}

static void a_refusal_says_why(void **state)
{
    (void)state;
    struct error error = {0};
    assert_int_equal(parse("https://a, *", &error), ERR_INPUT);
    assert_non_null(strstr(error.message, "every site"));
    assert_int_equal(parse("http://app.example", &error), ERR_INPUT);
    assert_non_null(strstr(error.message, "https:// is expected"));
}

static void a_list_has_a_limit(void **state)
{
    (void)state;
    struct origin_list list;
    char text[(LIMIT_ORIGINS + 1) * 10];
    for (size_t i = 0; i <= LIMIT_ORIGINS; i++) {
        memcpy(text + i * 10, "https://a,", 10);
    }
    struct slice most = slice_of(text, LIMIT_ORIGINS * 10 - 1);
    assert_int_equal(origin_list_parse(most, &list, NULL), ERR_NONE);
    struct slice more = slice_of(text, sizeof(text) - 1);
    assert_int_equal(origin_list_parse(more, &list, NULL), ERR_LIMIT);
}

static void an_origin_is_in_the_list_byte_by_byte(void **state)
{
    (void)state;
    struct origin_list list;
    struct slice text = SLICE("https://app.example, http://localhost:3000");
    assert_int_equal(origin_list_parse(text, &list, NULL), ERR_NONE);
    static const char *const others[] = {
        "",
        "null",
        "*",
        "https://app.exampl",
        "https://app.example.evil.example",
        "https://evil-app.example",
        "https://app.example:443",
        "https://APP.example",
        "http://app.example",
        "https://app.example/",
        "https://sub.app.example",
        "https://app.example, http://localhost:3000",
        "http://localhost",
        "http://localhost:30000",
    };
    assert_true(origin_list_has(&list, SLICE("https://app.example")));
    assert_true(origin_list_has(&list, SLICE("http://localhost:3000")));
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_false(origin_list_has(&list, slice_of_text(others[i])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(origins_as_browsers_write_them_are_taken),
        cmocka_unit_test(every_other_form_is_refused),
        cmocka_unit_test(a_refusal_says_why),
        cmocka_unit_test(a_list_has_a_limit),
        cmocka_unit_test(an_origin_is_in_the_list_byte_by_byte),
    };
    return cmocka_run_group_tests_name("wire/origin", tests, NULL, NULL);
}
