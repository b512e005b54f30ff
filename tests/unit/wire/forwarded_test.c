/* SPDX-License-Identifier: MIT */
#include "wire/forwarded.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The peer of all cases, and who else is trusted. */
#define PEER    "10.0.0.1"
#define TRUSTED "10.0.0.0/8,2001:db8:7::/48,127.0.0.1"

static struct forwarded read_all(const struct http_header *headers, size_t count)
{
    struct network_list trusted;
    struct address peer;
    assert_int_equal(network_list_parse(SLICE(TRUSTED), &trusted, NULL), ERR_NONE);
    assert_true(address_parse(SLICE(PEER), &peer));
    return forwarded_read(headers, count, &trusted, &peer);
}

static struct forwarded read_one(const char *name, struct slice value)
{
    const struct http_header header = {slice_of_text(name), value};
    return read_all(&header, 1);
}

static void check(const struct forwarded *forwarded, const char *client)
{
    char text[ADDRESS_TEXT_SIZE];
    bool is_cut = client[0] == '!';
    assert_string_equal(address_format(&forwarded->client, text).at, client + (is_cut ? 1 : 0));
    assert_int_equal(forwarded->is_cut, is_cut);
}

/* A client with '!' before it: the walk was cut there. */
static const char *const plain_cases[][2] = {
    {"192.0.2.1", "192.0.2.1"},
    {"  192.0.2.1\t", "192.0.2.1"},
    {"192.0.2.1:4711", "192.0.2.1"},
    {"2001:db8::1", "2001:db8::1"},
    {"[2001:db8::1]", "2001:db8::1"},
    {"[2001:db8::1]:65535", "2001:db8::1"},
    {"\"[2001:DB8::1]:80\"", "2001:db8::1"},
    {"\"192.0.2.1\"", "192.0.2.1"},
    {"::ffff:192.0.2.1", "192.0.2.1"},
    /* what a client sent itself stands further left */
    {"198.51.100.7, 192.0.2.1", "192.0.2.1"},
    {"127.0.0.1, 192.0.2.1", "192.0.2.1"},
    {"127.0.0.1,192.0.2.1,10.1.1.1", "192.0.2.1"},
    {"198.51.100.7, 192.0.2.1, 10.9.9.9, [2001:db8:7::5]:80, ::ffff:10.0.0.2", "192.0.2.1"},
    {"\", 192.0.2.1", "192.0.2.1"},
    {"x\", 192.0.2.1, 10.0.0.9", "192.0.2.1"},
    /* all of them are trusted: the first */
    {"10.2.2.2, 10.3.3.3", "10.2.2.2"},
    {"127.0.0.1", "127.0.0.1"},
    /* what is no address is not believed, nor what stands before it */
    {"", "!" PEER},
    {"unknown", "!" PEER},
    {"_hidden", "!" PEER},
    {"192.0.2.1,", "!" PEER},
    {"192.0.2.1, ,10.3.3.3", "!10.3.3.3"},
    {"192.0.2.1, unknown, 10.3.3.3", "!10.3.3.3"},
    {"192.0.2.1 10.3.3.3", "!" PEER},
    {"192.0.2.1;10.3.3.3", "!" PEER},
    {"192.0.2.1:", "!" PEER},
    {"192.0.2.1:65536", "!" PEER},
    {"192.0.2.1:123456", "!" PEER},
    {"192.0.2.1:x", "!" PEER},
    {"[192.0.2.1]", "!" PEER},
    {"[2001:db8::1", "!" PEER},
    {"2001:db8::1]", "!" PEER},
    {"[2001:db8::1]x", "!" PEER},
    {"[2001:db8::1]:", "!" PEER},
    {"[[2001:db8::1]]", "!" PEER},
    {"[", "!" PEER},
    {"[]", "!" PEER},
    {"\"192.0.2.1", "!" PEER},
    {"192.0.2.1\"", "!" PEER},
    {"\"\"192.0.2.1\"\"", "!" PEER},
    {"\"192.0.2.\\1\"", "!" PEER},
    {"fe80::1%eth0", "!" PEER},
    {"http://192.0.2.1", "!" PEER},
    {"unix:", "!" PEER},
    {"for=192.0.2.1", "!" PEER},
};

static void the_client_is_the_first_from_the_right_that_is_not_trusted(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(plain_cases); i++) {
        struct forwarded forwarded = read_one("X-Forwarded-For", slice_of_text(plain_cases[i][0]));
        check(&forwarded, plain_cases[i][1]);
        assert_false(forwarded.is_https);
    }
}

static const char *const standard_cases[][2] = {
    {"for=192.0.2.1", "192.0.2.1"},
    {"For=192.0.2.1;Proto=http;by=10.0.0.1", "192.0.2.1"},
    {"by=_x;for=192.0.2.1 ; host=\"a;b,c\"", "192.0.2.1"},
    {"for=\"192.0.2.1:4711\"", "192.0.2.1"},
    {"for=\"192.0.2.1:_port-1.x\"", "192.0.2.1"},
    {"for=\"[2001:db8::1]:4711\"", "2001:db8::1"},
    {"for=\"[2001:db8::1]\"", "2001:db8::1"},
    {"for=127.0.0.1, for=192.0.2.1", "192.0.2.1"},
    {"for=127.0.0.1, for=192.0.2.1, for=10.1.1.1, for=\"[2001:db8:7::1]\"", "192.0.2.1"},
    {"for=\"127.0.0.1, for=192.0.2.1", "192.0.2.1"},
    {"for=127.0.0.1;x=\", for=\"[2001:db8::1]\"", "2001:db8::1"},
    {"for=10.1.1.1", "10.1.1.1"},
    {"", "!" PEER},
    {"192.0.2.1", "!" PEER},
    {"for", "!" PEER},
    {"for=", "!" PEER},
    {"for=unknown", "!" PEER},
    {"for=_hidden", "!" PEER},
    {"for=\"_hidden\", for=10.2.2.2", "!10.2.2.2"},
    {"proto=https", "!" PEER},
    {"for=192.0.2.1;", "!" PEER},
    {";for=192.0.2.1", "!" PEER},
    {"for=192.0.2.1;for=127.0.0.1", "!" PEER},
    {"for =192.0.2.1", "!" PEER},
    {"for= 192.0.2.1", "!" PEER},
    {"for=192.0.2.1;proto=\"https", "!" PEER},
    {"for=\"192.0.2.1\";proto=http;proto=https", "!" PEER},
    {"for=\"192.0.2.\\1\"", "!" PEER},
    {"for=192.0.2.1:_", "!" PEER},
    {"for=192.0.2.1:_a b", "!" PEER},
    {"for=192.0.2.1 proto=https", "!" PEER},
};

static void the_standard_header_says_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(standard_cases); i++) {
        struct forwarded forwarded = read_one("Forwarded", slice_of_text(standard_cases[i][0]));
        check(&forwarded, standard_cases[i][1]);
    }
}

static void without_the_headers_it_is_the_peer(void **state)
{
    (void)state;
    struct forwarded forwarded = read_one("X-Real-IP", SLICE("192.0.2.1"));
    check(&forwarded, PEER);
}

static void repeated_headers_are_one_list(void **state)
{
    (void)state;
    const struct http_header headers[] = {
        {SLICE_INIT("x-forwarded-for"), SLICE_INIT("127.0.0.1, 198.51.100.7")},
        {SLICE_INIT("Host"), SLICE_INIT("a")},
        {SLICE_INIT("X-FORWARDED-FOR"), SLICE_INIT("192.0.2.1 , 10.1.1.1")},
        {SLICE_INIT("X-Forwarded-For"), SLICE_INIT("10.2.2.2")},
    };
    static const char *const clients[] = {PEER, "198.51.100.7", "198.51.100.7", "192.0.2.1",
                                          "192.0.2.1"};
    for (size_t count = 0; count <= COUNT_OF(headers); count++) {
        struct forwarded forwarded = read_all(headers, count);
        check(&forwarded, clients[count]);
    }
}

static void the_standard_header_does_not_count_beside_the_other(void **state)
{
    (void)state;
    const struct http_header headers[] = {
        {SLICE_INIT("Forwarded"), SLICE_INIT("for=198.51.100.7;proto=https")},
        {SLICE_INIT("X-Forwarded-For"), SLICE_INIT("192.0.2.1")},
    };
    struct forwarded forwarded = read_all(headers, 2);
    check(&forwarded, "192.0.2.1");
    assert_false(forwarded.is_https);
    const struct http_header empty[] = {
        {SLICE_INIT("Forwarded"), SLICE_INIT("for=198.51.100.7")},
        {SLICE_INIT("X-Forwarded-For"), SLICE_INIT("")},
    };
    forwarded = read_all(empty, 2);
    check(&forwarded, "!" PEER);
}

/* A prefix is a shorter address, or none; what stands left of the last comma is not reached. */
static void no_prefix_of_a_good_header_names_what_the_client_wrote(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *value;
    } good[] = {
        {"X-Forwarded-For", "127.0.0.1, 198.51.100.7, \"[2001:db8::77]:4711\", 10.1.1.1:80"},
        {"Forwarded", "for=127.0.0.1, for=198.51.100.7;proto=https, "
                      "for=\"[2001:db8::77]:4711\";by=\"a,b;c\";proto=https, for=10.1.1.1"},
    };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        struct slice value = slice_of_text(good[i].value);
        struct slice spoofed = slice_sub(value, 0, slice_find_byte(value, ','));
        for (size_t len = spoofed.len + 1; len <= value.len; len++) {
            struct forwarded forwarded = read_one(good[i].name, slice_sub(value, 0, len));
            assert_false(address_is_loopback(&forwarded.client));
        }
        struct forwarded forwarded = read_one(good[i].name, value);
        check(&forwarded, "2001:db8::77");
    }
}

static void a_chain_without_end_is_cut(void **state)
{
    (void)state;
    char text[4096] = "192.0.2.1";
    size_t len = strlen(text);
    for (size_t i = 0; i < LIMIT_FORWARDED_HOPS; i++) {
        struct forwarded forwarded = read_one("X-Forwarded-For", slice_of(text, len));
        check(&forwarded, "192.0.2.1");
        len += (size_t)snprintf(text + len, sizeof(text) - len, ",10.1.1.%zu", i);
    }
    struct forwarded forwarded = read_one("X-Forwarded-For", slice_of(text, len));
    check(&forwarded, "!10.1.1.0");
}

static void the_scheme_is_the_word_of_a_trusted_proxy(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *value;
        bool is_https;
    } cases[] = {
        {"X-Forwarded-Proto", "https", true},
        {"X-Forwarded-Proto", "HTTPS", true},
        {"X-Forwarded-Proto", "http", false},
        {"X-Forwarded-Proto", "httpsx", false},
        {"X-Forwarded-Proto", "", false},
        {"X-Forwarded-Proto", "https, http", false},
        {"X-Forwarded-Proto", "http, https", true},
        {"Forwarded", "for=192.0.2.1;proto=https", true},
        {"Forwarded", "for=192.0.2.1;proto=\"https\"", true},
        {"Forwarded", "for=192.0.2.1;proto=http", false},
        {"Forwarded", "for=192.0.2.1", false},
        /* of the element that names the client: what it spoke with the first proxy */
        {"Forwarded", "for=192.0.2.1;proto=https, for=10.1.1.1;proto=http", true},
        {"Forwarded", "for=192.0.2.1;proto=http, for=10.1.1.1;proto=https", false},
        {"Forwarded", "for=198.51.100.7;proto=https, for=192.0.2.1", false},
        {"Forwarded", "proto=https", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct forwarded forwarded = read_one(cases[i].name, slice_of_text(cases[i].value));
        assert_int_equal(forwarded.is_https, cases[i].is_https);
    }
}

static void an_empty_header_is_there_too(void **state)
{
    (void)state;
    struct http_header header = {SLICE_INIT("x-forwarded-FOR"), SLICE_INIT("")};
    assert_true(forwarded_is_there(&header, 1));
    header.name = SLICE("forwarded");
    assert_true(forwarded_is_there(&header, 1));
    header.name = SLICE("X-Forwarded-Proto");
    assert_true(forwarded_is_there(&header, 1));
    header.name = SLICE("X-Forwarded");
    assert_false(forwarded_is_there(&header, 1));
    assert_false(forwarded_is_there(NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_client_is_the_first_from_the_right_that_is_not_trusted),
        cmocka_unit_test(the_standard_header_says_the_same),
        cmocka_unit_test(without_the_headers_it_is_the_peer),
        cmocka_unit_test(repeated_headers_are_one_list),
        cmocka_unit_test(the_standard_header_does_not_count_beside_the_other),
        cmocka_unit_test(no_prefix_of_a_good_header_names_what_the_client_wrote),
        cmocka_unit_test(a_chain_without_end_is_cut),
        cmocka_unit_test(the_scheme_is_the_word_of_a_trusted_proxy),
        cmocka_unit_test(an_empty_header_is_there_too),
    };
    return cmocka_run_group_tests_name("wire/forwarded", tests, NULL, NULL);
}
