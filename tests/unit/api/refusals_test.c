/* SPDX-License-Identifier: MIT */
#include "api/refusals.h"

#include "base/memory.h"
#include "base/timestamp.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define START        (1000000 * TIMESTAMP_SECOND)
#define MINUTE       (60 * TIMESTAMP_SECOND)
#define THREAD_COUNT 8
#define ADD_COUNT    12500

static struct refusals *refusals;

static int set_up(void **state)
{
    (void)state;
    refusals = refusals_new();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    refusals_free(refusals);
    return 0;
}

static bool add(const char *address, int64_t now, struct refusal *ret_refusal)
{
    return refusals_add(refusals, slice_of_text(address), now, ret_refusal);
}

static void the_first_the_tenth_and_the_hundredth_are_told(void **state)
{
    struct refusal refusal = {0};
    uint64_t next = 1;
    (void)state;
    for (uint64_t i = 1; i <= 2000; i++) {
        int64_t now = START + (int64_t)i * TIMESTAMP_SECOND;
        assert_int_equal(add("192.0.2.1", now, &refusal), i == next);
        if (i == next) {
            assert_int_equal(refusal.count, i);
            assert_int_equal(refusal.since, START + TIMESTAMP_SECOND);
            assert_int_equal(refusal.left_out, 0);
            next *= 10;
        }
    }
    assert_true(add("192.0.2.2", START, &refusal));
    assert_int_equal(refusal.count, 1);
}

static void an_hour_later_it_begins_anew(void **state)
{
    struct refusal refusal = {0};
    (void)state;
    assert_true(add("192.0.2.1", START, &refusal));
    assert_false(add("192.0.2.1", START + REFUSALS_WINDOW - 1, &refusal));
    assert_true(add("192.0.2.1", START + REFUSALS_WINDOW, &refusal));
    assert_int_equal(refusal.count, 1);
    assert_int_equal(refusal.since, START + REFUSALS_WINDOW);
    assert_true(add("192.0.2.1", START, &refusal)); /* the clock was set back */
}

static void many_addresses_do_not_fill_the_log(void **state)
{
    struct refusal refusal = {0};
    char address[32];
    int told = 0;
    (void)state;
    for (int i = 0; i < 5000; i++) {
        (void)snprintf(address, sizeof(address), "2001:db8:0:%x::", (unsigned)i);
        told += add(address, START + MINUTE - 1, &refusal);
    }
    assert_int_equal(told, REFUSALS_TOLD_MAX);
    assert_true(add("192.0.2.1", START + 2 * MINUTE, &refusal));
    assert_int_equal(refusal.left_out, 5000 - REFUSALS_TOLD_MAX);
    assert_true(add("192.0.2.2", START + 2 * MINUTE, &refusal));
    assert_int_equal(refusal.left_out, 0);
}

static void *add_often(void *context)
{
    int *told = context;
    struct refusal refusal;
    for (int i = 0; i < ADD_COUNT; i++) {
        *told += add("192.0.2.1", START, &refusal);
    }
    return NULL;
}

static void threads_lose_none(void **state)
{
    pthread_t threads[THREAD_COUNT];
    int told[THREAD_COUNT] = {0};
    int sum = 0;
    (void)state;
    for (int i = 0; i < THREAD_COUNT; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, add_often, &told[i]), 0);
    }
    for (int i = 0; i < THREAD_COUNT; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        sum += told[i];
    }
    assert_int_equal(sum, 6); /* 1, 10 … 100,000 */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_the_tenth_and_the_hundredth_are_told),
        TEST(an_hour_later_it_begins_anew),
        TEST(many_addresses_do_not_fill_the_log),
        TEST(threads_lose_none),
    };
    return cmocka_run_group_tests_name("api/refusals", tests, NULL, NULL);
}
