/* SPDX-License-Identifier: MIT */
#include "io/newcomers.h"

#include "base/memory.h"
#include "base/must.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct address address_of(const char *text)
{
    struct address address;
    must(address_parse(slice_of_text(text), &address));
    return address;
}

static bool enter(struct newcomers *newcomers, const char *text)
{
    bool may_tell = false;
    struct address address = address_of(text);
    return newcomers_enter(newcomers, &address, &may_tell);
}

static void leave(struct newcomers *newcomers, const char *text)
{
    struct address address = address_of(text);
    newcomers_leave(newcomers, &address);
}

static void each_address_has_its_own_share(void **state)
{
    (void)state;
    struct newcomers *newcomers = newcomers_new(2);
    assert_true(enter(newcomers, "192.0.2.1") && enter(newcomers, "192.0.2.1"));
    assert_false(enter(newcomers, "192.0.2.1"));
    assert_false(enter(newcomers, "::ffff:192.0.2.1"));
    assert_true(enter(newcomers, "192.0.2.2"));
    leave(newcomers, "192.0.2.1");
    assert_true(enter(newcomers, "192.0.2.1"));
    assert_false(enter(newcomers, "192.0.2.1"));
    leave(newcomers, "192.0.2.1");
    leave(newcomers, "192.0.2.1");
    leave(newcomers, "192.0.2.2");
    newcomers_free(newcomers); /* nothing is left */
}

static void a_64_of_ipv6_is_one(void **state)
{
    (void)state;
    struct newcomers *newcomers = newcomers_new(2);
    assert_true(enter(newcomers, "2001:db8:0:1::1") && enter(newcomers, "2001:db8:0:1:ffff::2"));
    assert_false(enter(newcomers, "2001:db8:0:1::3"));
    assert_true(enter(newcomers, "2001:db8:0:2::1"));
    assert_true(enter(newcomers, "::1") && enter(newcomers, "127.0.0.1"));
    struct address one = address_of("2001:db8:0:1::1");
    struct address same = address_of("2001:db8:0:1:1::");
    struct address other = address_of("2001:db8:0:2::1");
    assert_true(newcomers_are_one(&one, &same));
    assert_false(newcomers_are_one(&one, &other));
    leave(newcomers, "2001:db8:0:1::9");
    leave(newcomers, "2001:db8:0:1::9");
    leave(newcomers, "2001:db8:0:2::1");
    leave(newcomers, "::1");
    leave(newcomers, "127.0.0.1");
    newcomers_free(newcomers);
}

static void it_is_told_once_a_minute(void **state)
{
    (void)state;
    struct newcomers *newcomers = newcomers_new(1);
    struct address address = address_of("192.0.2.1");
    bool may_tell = true;
    assert_true(newcomers_enter(newcomers, &address, &may_tell));
    assert_false(may_tell);
    assert_false(newcomers_enter(newcomers, &address, &may_tell));
    assert_true(may_tell);
    assert_false(newcomers_enter(newcomers, &address, &may_tell));
    assert_false(may_tell);
    newcomers_leave(newcomers, &address);
    newcomers_free(newcomers);
}

static void *come_and_go(void *context)
{
    struct newcomers *newcomers = context;
    for (int i = 0; i < 20000; i++) {
        char text[ADDRESS_TEXT_SIZE];
        bool may_tell = false;
        (void)snprintf(text, sizeof(text), "192.0.2.%d", i % 7);
        struct address address = address_of(text);
        if (newcomers_enter(newcomers, &address, &may_tell)) {
            newcomers_leave(newcomers, &address);
        }
    }
    return NULL;
}

static void workers_share_it(void **state)
{
    (void)state;
    struct newcomers *newcomers = newcomers_new(2);
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        must(pthread_create(&threads[i], NULL, come_and_go, newcomers) == 0);
    }
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        must(pthread_join(threads[i], NULL) == 0);
    }
    newcomers_free(newcomers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_address_has_its_own_share),
        cmocka_unit_test(a_64_of_ipv6_is_one),
        cmocka_unit_test(it_is_told_once_a_minute),
        cmocka_unit_test(workers_share_it),
    };
    return cmocka_run_group_tests_name("io/newcomers", tests, NULL, NULL);
}
