/* SPDX-License-Identifier: MIT */
#include "wire/host_list.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct expectation {
    const char *authority;
    bool is_known;
};

static struct host_list listening(const char *listen, const char *public_host, const char *names)
{
    struct host_list list;
    assert_int_equal(host_list_parse(slice_of_text(names), &list, NULL), ERR_NONE);
    host_list_set_listen(&list, slice_of_text(listen));
    list.public_host = slice_of_text(public_host);
    return list;
}

static void check(const struct host_list *list, const struct expectation *expectations,
                  size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool is_known = host_list_has(list, slice_of_text(expectations[i].authority));
        if (is_known != expectations[i].is_known) {
            fail_msg("'%s'", expectations[i].authority);
        }
    }
}

static void a_stranger_is_not_asked_for_on_this_machine(void **state)
{
    (void)state;
    static const struct expectation expectations[] = {
        {"127.0.0.1", true},
        {"127.0.0.1:8009", true},
        {"localhost:1", true},
        {"LOCALHOST", true},
        {"127.9.9.9:8009", true},
        {"[::1]:8009", true},
        {"[::ffff:127.0.0.1]", true},
        {"evil.example", false},
        {"evil.example:8009", false},
        {"127.evil.example:8009", false},
        {"localhost.evil.example", false},
        {"127.0.0.1.evil.example", false},
        {"192.0.2.1:8009", false},
        {"[2001:db8::1]:8009", false},
        {"0.0.0.0:8009", false},
        {"localhost.", false},
        {"", false},
        {"[", false},
        {"[::1", true},
        {"]", false},
        {":8009", false},
    };
    static const char *const here[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; i < COUNT_OF(here); i++) {
        struct host_list list = listening(here[i], "127.0.0.1", "");
        check(&list, expectations, COUNT_OF(expectations));
    }
}

static void the_public_name_and_those_of_the_list_are_known(void **state)
{
    (void)state;
    static const struct expectation expectations[] = {
        {"gw.example", true},       {"GW.example:443", true}, {"gateway", true},
        {"gateway:8009", true},     {"10.0.0.7:1", true},     {"[2001:DB8:0::1]", true},
        {"10.0.0.5:8009", true},    {"localhost", false},     {"127.0.0.1", false},
        {"gw.example.evil", false}, {"xgw.example", false},   {"gw.example.", false},
        {"10.0.0.6", false},
    };
    struct host_list list =
        listening("10.0.0.5", "gw.example", " gateway,10.0.0.7 , [2001:db8::1]");
    check(&list, expectations, COUNT_OF(expectations));
}

static void who_listens_on_all_addresses_is_asked_for_by_any(void **state)
{
    (void)state;
    static const struct expectation expectations[] = {
        {"192.0.2.1", true},
        {"[2001:db8::7]:1", true},
        {"localhost:8009", true},
        {"evil.example", false},
        {"1", false},
        {"0x7f000001", false},
        {"2130706433", false},
    };
    static const char *const all[] = {"0.0.0.0", "[::]", ""};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        struct host_list list = listening(all[i], "", "");
        check(&list, expectations, COUNT_OF(expectations));
    }
}

static void a_list_with_a_slip_in_it_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {"a,,b", ",a",       "a,",  "*",    "*.example", "a:80",
                                        "a b",  "http://a", "a/b", "[a]b", "::x"};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct host_list list;
        struct error error = {0};
        assert_int_equal(host_list_parse(slice_of_text(cases[i]), &list, &error), ERR_INPUT);
        assert_true(strlen(error.message) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stranger_is_not_asked_for_on_this_machine),
        cmocka_unit_test(the_public_name_and_those_of_the_list_are_known),
        cmocka_unit_test(who_listens_on_all_addresses_is_asked_for_by_any),
        cmocka_unit_test(a_list_with_a_slip_in_it_is_refused),
    };
    return cmocka_run_group_tests_name("wire/host_list", tests, NULL, NULL);
}
