/* SPDX-License-Identifier: MIT */
#include "wire/address.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>

static bool parse(const char *text, struct address *address)
{
    return address_parse(slice_of_text(text), address);
}

static const char *written(const char *text)
{
    static char again[ADDRESS_TEXT_SIZE];
    struct address address;
    return parse(text, &address) ? address_format(&address, again).at : "refused";
}

static void an_address_is_written_in_its_one_form(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"0.0.0.0", "0.0.0.0"},
        {"192.0.2.255", "192.0.2.255"},
        {"::", "::"},
        {"::1", "::1"},
        {"1::", "1::"},
        {"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
        {"2001:0db8:0000:0000:0001:0000:0000:0001", "2001:db8::1:0:0:1"},
        {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
        {"1:0:0:4:0:0:0:8", "1:0:0:4::8"},
        {"0:0:3:4:5:6:7:8", "::3:4:5:6:7:8"},
        {"1:2:3:4:5:6:0:0", "1:2:3:4:5:6::"},
        {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
        {"::ffff:192.0.2.1", "192.0.2.1"},
        {"::ffff:c000:201", "192.0.2.1"},
        {"0:0:0:0:0:ffff:192.0.2.1", "192.0.2.1"},
        {"64:ff9b::192.0.2.1", "64:ff9b::c000:201"},
        {"::192.0.2.1", "::c000:201"},
        {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_string_equal(written(cases[i][0]), cases[i][1]);
    }
}

static void only_what_is_public_may_be_asked_by_others(void **state)
{
    static const char *const inner[] = {"0.0.0.0",
                                        "10.255.255.255",
                                        "100.64.0.1",
                                        "100.127.255.255",
                                        "127.0.0.1",
                                        "169.254.169.254",
                                        "172.16.0.1",
                                        "172.31.255.255",
                                        "192.0.0.170",
                                        "192.0.2.1",
                                        "192.88.99.1",
                                        "192.168.255.1",
                                        "198.18.0.1",
                                        "198.19.255.255",
                                        "198.51.100.7",
                                        "203.0.113.9",
                                        "224.0.0.1",
                                        "239.1.1.1",
                                        "240.0.0.1",
                                        "255.255.255.255",
                                        "::",
                                        "::1",
                                        "::ffff:10.0.0.1",
                                        "::10.0.0.1",
                                        "64:ff9b::a00:1",
                                        "100::1",
                                        "2001::1",
                                        "2001:1ff::1",
                                        "2001:db8::1",
                                        "2002:a00:1::1",
                                        "3fff:fff::1",
                                        "fc00::1",
                                        "fdff::1",
                                        "fe80::1",
                                        "fec0::1",
                                        "ff02::1",
                                        "4000::1",
                                        "5f00::1"};
    static const char *const outer[] = {
        "1.1.1.1",     "9.255.255.255",   "11.0.0.0",       "100.63.255.255", "100.128.0.0",
        "126.1.1.1",   "128.0.0.1",       "169.253.1.1",    "172.15.255.255", "172.32.0.0",
        "192.0.1.1",   "192.167.1.1",     "192.169.1.1",    "198.17.255.255", "198.20.0.0",
        "203.0.114.1", "223.255.255.255", "::ffff:8.8.8.8", "2001:200::1",    "2001:4860::8888",
        "2003::1",     "2a00:1450::1",    "3fff:1000::1"};
    struct address address;
    (void)state;
    for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++) {
        assert_true(parse(inner[i], &address));
        assert_false(address_is_public(&address));
    }
    for (size_t i = 0; i < sizeof(outer) / sizeof(outer[0]); i++) {
        assert_true(parse(outer[i], &address));
        assert_true(address_is_public(&address));
    }
}

static void what_is_no_address_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        ".",
        ":",
        "1",
        "1.2.3",
        "1.2.3.4.",
        ".1.2.3.4",
        "1.2.3.4.5",
        "1..2.3",
        "256.1.1.1",
        "1.2.3.0004",
        "01.2.3.4",
        "0x1.2.3.4",
        "1.2.3.-4",
        "+1.2.3.4",
        " 1.2.3.4",
        "1.2.3.4 ",
        "1.2.3.4:80",
        "1.2.3.a",
        ":::",
        "::1::",
        "1::2::3",
        ":1",
        "1:",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9",
        "1:2:3:4:5:6:7:8::",
        "::1:2:3:4:5:6:7:8",
        "12345::",
        "g::",
        "::1%lo",
        "[::1]",
        "::1/128",
        "1.2.3.4::",
        "::1.2.3.4:1",
        "::1.2.3",
        "::256.1.1.1",
        "-1::",
        "1:2:3:4:5:6:7:1.2.3.4",
        "localhost",
        "unknown",
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_string_equal(written(cases[i]), "refused");
    }
}

static void every_prefix_is_read_as_libc_reads_it(void **state)
{
    (void)state;
    static const char *const texts[] = {"255.249.199.100", "2001:db8:0:12:3:45:67:89ab",
                                        "2001:db8::192.0.2.33", "::ffff:10.20.30.40", "1::2:3:4"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        for (size_t len = 0; len <= strlen(texts[i]); len++) {
            char text[64];
            unsigned char v4[4];
            struct address expected;
            struct address address;
            (void)snprintf(text, sizeof(text), "%.*s", (int)len, texts[i]);
            bool is_v4 = inet_pton(AF_INET, text, v4) == 1;
            bool is_known = is_v4 || inet_pton(AF_INET6, text, expected.bytes) == 1;
            assert_int_equal(parse(text, &address), is_known);
            if (is_known) {
                expected = is_v4 ? address_of_v4(v4) : expected;
                assert_true(address_equals(&address, &expected));
            }
        }
    }
}

static void this_machine_is_known_in_all_its_forms(void **state)
{
    (void)state;
    struct address address;
    static const char *const here[] = {"127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.1"};
    static const char *const elsewhere[] = {"128.0.0.1", "::2", "::", "::7f00:1", "0.0.0.0"};
    for (size_t i = 0; i < COUNT_OF(here); i++) {
        assert_true(parse(here[i], &address) && address_is_loopback(&address));
    }
    for (size_t i = 0; i < COUNT_OF(elsewhere); i++) {
        assert_true(parse(elsewhere[i], &address) && !address_is_loopback(&address));
    }
}

static bool has(const char *networks, const char *text)
{
    struct network_list list;
    struct address address;
    assert_int_equal(network_list_parse(slice_of_text(networks), &list, NULL), ERR_NONE);
    assert_true(parse(text, &address));
    return network_list_has(&list, &address);
}

static void a_network_has_the_addresses_that_begin_like_it(void **state)
{
    (void)state;
    static const struct {
        const char *networks;
        const char *address;
        bool has;
    } cases[] = {
        {"", "127.0.0.1", false},
        {"  ", "127.0.0.1", false},
        {"192.0.2.1", "192.0.2.1", true},
        {"192.0.2.1", "192.0.2.0", false},
        {"192.0.2.1", "::ffff:192.0.2.1", true},
        {"::ffff:192.0.2.1", "192.0.2.1", true},
        {"::ffff:192.0.2.0/120", "192.0.2.77", true},
        {"10.0.0.0/8", "10.255.255.255", true},
        {"10.0.0.0/8", "11.0.0.0", false},
        {"10.0.0.0/31", "10.0.0.1", true},
        {"10.0.0.0/31", "10.0.0.2", false},
        {"128.0.0.0/1", "200.1.1.1", true},
        {"128.0.0.0/1", "127.255.255.255", false},
        {"192.0.2.0/25", "192.0.2.127", true},
        {"192.0.2.0/25", "192.0.2.128", false},
        {"2001:db8::/32", "2001:db8:ffff::1", true},
        {"2001:db8::/32", "2001:db9::", false},
        {"2001:db8::/127", "2001:db8::1", true},
        {"2001:db8::/127", "2001:db8::2", false},
        {"::/1", "::2", true},
        {"::/1", "192.0.2.1", false},
        {"10.0.0.0/8 , 2001:db8::1,127.0.0.1", "127.0.0.1", true},
        {"10.0.0.0/8 , 2001:db8::1,127.0.0.1", "2001:db8::1", true},
        {"10.0.0.0/8 , 2001:db8::1,127.0.0.1", "127.0.0.2", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(has(cases[i].networks, cases[i].address), cases[i].has);
    }
}

static void a_list_with_a_slip_in_it_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        ",",
        "127.0.0.1,",
        ",127.0.0.1",
        "127.0.0.1,,::1",
        "127.0.0.1 ::1",
        "10.0.0.0/",
        "10.0.0.0/33",
        "10.0.0.0/-1",
        "10.0.0.0/8/8",
        "10.0.0.1/8",
        "10.0.0/8",
        "0.0.0.0/0",
        "::/0",
        "::/129",
        "::ffff:0:0/96",
        "::1/127",
        "2001:db8::/3",
        "localhost",
        "*",
        "127.0.0.1:80",
        "10.0.0.0/ 8",
        "10.0.0.0/008000",
        "::ffff:0.0.0.0/95",
        "[::1]",
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct network_list list;
        struct error error = {0};
        assert_int_equal(network_list_parse(slice_of_text(cases[i]), &list, &error), ERR_INPUT);
        assert_true(strlen(error.message) > 0);
    }
}

static void a_list_has_a_limit(void **state)
{
    (void)state;
    struct network_list list;
    char text[(LIMIT_NETWORKS + 1) * 4];
    for (size_t i = 0; i <= LIMIT_NETWORKS; i++) {
        memcpy(text + i * 4, "::1,", 4);
    }
    struct slice most = slice_of(text, LIMIT_NETWORKS * 4 - 1);
    assert_int_equal(network_list_parse(most, &list, NULL), ERR_NONE);
    assert_int_equal(list.count, LIMIT_NETWORKS);
    struct slice more = slice_of(text, sizeof(text) - 1);
    assert_int_equal(network_list_parse(more, &list, NULL), ERR_LIMIT);
}

static void a_name_that_begins_like_this_machine_is_another(void **state)
{
    (void)state;
    static const char *const here[] = {"localhost",       "LocalHost", "127.0.0.1",
                                       "127.3.2.1",       "::1",       "0:0:0:0:0:0:0:1",
                                       "::ffff:127.0.0.1"};
    static const char *const elsewhere[] = {
        "127.evil.example",
        "127.0.0.1.evil.example",
        "127.",
        "127",
        "127.1",
        "0x7f.0.0.1",
        "127.0.0.1.",
        "localhost.",
        "localhost.evil.example",
        "::1.evil.example",
        "[::1]",
        "::2",
        "0.0.0.0",
        "::",
        "10.0.0.1",
        "",
        "evil@127.0.0.1",
        "017700000001",
    };
    for (size_t i = 0; i < COUNT_OF(here); i++) {
        assert_true(address_is_loopback_host(slice_of_text(here[i])));
    }
    for (size_t i = 0; i < COUNT_OF(elsewhere); i++) {
        assert_false(address_is_loopback_host(slice_of_text(elsewhere[i])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_written_in_its_one_form),
        cmocka_unit_test(only_what_is_public_may_be_asked_by_others),
        cmocka_unit_test(what_is_no_address_is_refused),
        cmocka_unit_test(every_prefix_is_read_as_libc_reads_it),
        cmocka_unit_test(this_machine_is_known_in_all_its_forms),
        cmocka_unit_test(a_name_that_begins_like_this_machine_is_another),
        cmocka_unit_test(a_network_has_the_addresses_that_begin_like_it),
        cmocka_unit_test(a_list_with_a_slip_in_it_is_refused),
        cmocka_unit_test(a_list_has_a_limit),
    };
    return cmocka_run_group_tests_name("wire/address", tests, NULL, NULL);
}
