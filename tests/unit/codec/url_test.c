/* SPDX-License-Identifier: MIT */
#include "codec/url.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct arena arena;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static bool is_text(struct slice slice, const char *text)
{
    return slice_equals(slice, slice_of_text(text));
}

static void all_but_the_unreserved_is_escaped(void **state)
{
    (void)state;
    assert_true(is_text(url_encode(&arena, SLICE("azAZ09-._~")), "azAZ09-._~"));
    assert_true(is_text(url_encode(&arena, SLICE("a b/c?d&e=f+%\xc3\xa9")),
                        "a%20b%2Fc%3Fd%26e%3Df%2B%25%C3%A9"));
    assert_int_equal(url_encode(&arena, SLICE_NONE).len, 0);
}

static void escapes_are_decoded_and_a_plus_is_a_plus(void **state)
{
    (void)state;
    struct slice decoded;
    assert_int_equal(url_decode(&arena, SLICE("a%20b%2f%C3%a9+"), &decoded), ERR_NONE);
    assert_true(is_text(decoded, "a b/\xc3\xa9+"));
}

static void wrong_escapes_are_refused(void **state)
{
    (void)state;
    static const struct slice refused[] = {
        SLICE_INIT("%"),    SLICE_INIT("a%"),     SLICE_INIT("%2"),        SLICE_INIT("%zz"),
        SLICE_INIT("%2g"),  SLICE_INIT("%00"),    SLICE_INIT("a\0b"),      SLICE_INIT("%ff"),
        SLICE_INIT("\xff"), SLICE_INIT("%c0%af"), SLICE_INIT("%ed%a0%80"), SLICE_INIT("%%20"),
    };
    struct slice decoded;
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        assert_int_equal(url_decode(&arena, refused[i], &decoded), ERR_INPUT);
    }
}

static void a_query_is_read_pair_by_pair(void **state)
{
    (void)state;
    struct url_query query = url_query_of(SLICE("&a=1&b=two+words&&c&=e&d=%3D%26=x&a=2&"));
    static const char *const wanted[][2] = {{"a", "1"}, {"b", "two words"}, {"c", ""},
                                            {"", "e"},  {"d", "=&=x"},      {"a", "2"}};
    struct slice key;
    struct slice value;
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        assert_int_equal(url_query_next(&arena, &query, &key, &value), ERR_NONE);
        assert_true(is_text(key, wanted[i][0]) && is_text(value, wanted[i][1]));
    }
    assert_int_equal(url_query_next(&arena, &query, &key, &value), ERR_NOT_FOUND);
    query = url_query_of(SLICE_NONE);
    assert_int_equal(url_query_next(&arena, &query, &key, &value), ERR_NOT_FOUND);
}

static void the_first_value_of_a_key_is_found(void **state)
{
    (void)state;
    struct slice query = SLICE("a=1&b%5b=x+y&b%5b=z&none");
    struct slice value;
    assert_int_equal(url_query_find(&arena, query, SLICE("b["), &value), ERR_NONE);
    assert_true(is_text(value, "x y"));
    assert_int_equal(url_query_find(&arena, query, SLICE("none"), &value), ERR_NONE);
    assert_int_equal(value.len, 0);
    assert_int_equal(url_query_find(&arena, query, SLICE("c"), &value), ERR_NOT_FOUND);
    assert_int_equal(url_query_find(&arena, SLICE_NONE, SLICE("a"), &value), ERR_NOT_FOUND);
    assert_int_equal(url_query_find(&arena, SLICE("%=1&a=2"), SLICE("a"), &value), ERR_INPUT);
}

static void a_malformed_pair_is_refused(void **state)
{
    (void)state;
    struct slice key;
    struct slice value;
    struct url_query query = url_query_of(SLICE("a=%f"));
    assert_int_equal(url_query_next(&arena, &query, &key, &value), ERR_INPUT);
    assert_true(slice_equals(key, SLICE("a")));
    query = url_query_of(SLICE("%00=a"));
    assert_int_equal(url_query_next(&arena, &query, &key, &value), ERR_INPUT);
}

static void a_full_url_is_split_into_its_parts(void **state)
{
    (void)state;
    struct url url;
    struct slice text = SLICE("postgres://us%20er:p%40:ss@db.example:6432/name?sslmode=x/?#f");
    assert_int_equal(url_parse(text, &url, NULL), ERR_NONE);
    assert_true(is_text(url.scheme, "postgres"));
    assert_true(url.has_user && is_text(url.user, "us%20er"));
    assert_true(url.has_password && is_text(url.password, "p%40:ss"));
    assert_true(is_text(url.host, "db.example") && !url.is_ipv6);
    assert_int_equal(url.port, 6432);
    assert_true(is_text(url.path, "/name"));
    assert_true(is_text(url.query, "sslmode=x/?"));
    assert_true(is_text(url.fragment, "f"));
}

static void what_is_not_written_is_empty_or_the_schemes_own(void **state)
{
    (void)state;
    struct url url;
    assert_int_equal(url_parse(SLICE("https://example"), &url, NULL), ERR_NONE);
    assert_int_equal(url.port, 443);
    assert_true(is_text(url.path, "") && !url.has_user && !url.has_password);
    assert_int_equal(url_parse(SLICE("HTTP://example?a"), &url, NULL), ERR_NONE);
    assert_int_equal(url.port, 80);
    assert_true(is_text(url.host, "example") && is_text(url.query, "a"));
    assert_int_equal(url_parse(SLICE("postgresql:///name"), &url, NULL), ERR_NONE);
    assert_int_equal(url.port, 5432);
    assert_true(url.host.len == 0 && is_text(url.path, "/name"));
    assert_int_equal(url_parse(SLICE("http://user@h"), &url, NULL), ERR_NONE);
    assert_true(url.has_user && !url.has_password);
}

static void an_ipv6_address_stands_in_brackets(void **state)
{
    (void)state;
    struct url url;
    assert_int_equal(url_parse(SLICE("http://[::1]:8009/"), &url, NULL), ERR_NONE);
    assert_true(is_text(url.host, "::1") && url.is_ipv6);
    assert_int_equal(url.port, 8009);
    assert_int_equal(url_parse(SLICE("http://[fe80::ffff:1.2.3.4]"), &url, NULL), ERR_NONE);
    assert_true(is_text(url.host, "fe80::ffff:1.2.3.4"));
}

static void malformed_urls_are_refused(void **state)
{
    (void)state;
    static const struct slice refused[] = {
        SLICE_INIT(""),
        SLICE_INIT("example"),
        SLICE_INIT("/path"),
        SLICE_INIT("ftp://example/"),
        SLICE_INIT("http:example"),
        SLICE_INIT("http:/example"),
        SLICE_INIT("http://"),
        SLICE_INIT("http:///path"),
        SLICE_INIT("http://user@/"),
        SLICE_INIT("http://a:0/"),
        SLICE_INIT("http://a:65536/"),
        SLICE_INIT("http://a:/"),
        SLICE_INIT("http://a:1x/"),
        SLICE_INIT("http://a:-1/"),
        SLICE_INIT("http://[::1/"),
        SLICE_INIT("http://[]/"),
        SLICE_INIT("http://[a]/"),
        SLICE_INIT("http://[::g]/"),
        SLICE_INIT("http://[::1]a/"),
        SLICE_INIT("http://[::1]:/"),
        SLICE_INIT("http://::1/"),
        SLICE_INIT("http://a b/"),
        SLICE_INIT("http://a\\b/"),
        SLICE_INIT("http://a%2/"),
        SLICE_INIT("http://u@v@host/"),
        SLICE_INIT("http://u:p:w[@host/"),
        SLICE_INIT("http://host/a b"),
        SLICE_INIT("http://host/a\0"),
        SLICE_INIT("http://host/\n"),
        SLICE_INIT("http://host/%"),
        SLICE_INIT("http://host/?a=<"),
        SLICE_INIT("http://host/#a#b"),
        SLICE_INIT("http://host/\xc3\xa9"),
    };
    struct url url;
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        struct error error = {0};
        assert_int_equal(url_parse(refused[i], &url, &error), ERR_INPUT);
        assert_int_not_equal(strlen(error.message), 0);
    }
}

static void a_message_never_holds_the_password(void **state)
{
    (void)state;
    struct url url;
    struct error error;
    assert_int_equal(url_parse(SLICE("http://u:hidden@h:99999"), &url, &error), ERR_INPUT);
    assert_null(strstr(error.message, "hidden"));
    assert_int_equal(url_parse(SLICE("http://u:hid den@h"), &url, &error), ERR_INPUT);
    assert_null(strstr(error.message, "den"));
}

int main(void)
{
#define URL_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        URL_TEST(all_but_the_unreserved_is_escaped),
        URL_TEST(escapes_are_decoded_and_a_plus_is_a_plus),
        URL_TEST(wrong_escapes_are_refused),
        URL_TEST(a_query_is_read_pair_by_pair),
        URL_TEST(the_first_value_of_a_key_is_found),
        URL_TEST(a_malformed_pair_is_refused),
        URL_TEST(a_full_url_is_split_into_its_parts),
        URL_TEST(what_is_not_written_is_empty_or_the_schemes_own),
        URL_TEST(an_ipv6_address_stands_in_brackets),
        URL_TEST(malformed_urls_are_refused),
        URL_TEST(a_message_never_holds_the_password),
    };
    return cmocka_run_group_tests_name("codec/url", tests, NULL, NULL);
}
