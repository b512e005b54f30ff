/* SPDX-License-Identifier: MIT */
#include "api/rate_limit.h"

#include "base/memory.h"
#include "base/timestamp.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define PER_SECOND   2
#define BURST        60
#define STEP         (TIMESTAMP_SECOND / PER_SECOND)
#define START        (1000 * TIMESTAMP_SECOND)
#define THREAD_COUNT 8
#define TAKE_COUNT   200
#define MANY_KEYS    50000

DEFINE_FREE_AT(rate_limit_free, struct rate_limit)

static void use_up(struct rate_limit *limit, struct slice key, int64_t now)
{
    for (int i = 0; i < BURST; i++) {
        assert_int_equal(rate_limit_take(limit, key, now), 0);
    }
}

static void a_burst_is_given_at_once_and_no_more(void **state)
{
    struct rate_limit *limit CLEANUP(rate_limit_free_at)
    = rate_limit_new(PER_SECOND, BURST);
    (void)state;
    use_up(limit, SLICE("a"), START);
    assert_int_equal(rate_limit_take(limit, SLICE("a"), START), STEP);
}

static void waiting_as_long_as_was_said_is_enough(void **state)
{
    struct rate_limit *limit CLEANUP(rate_limit_free_at)
    = rate_limit_new(PER_SECOND, BURST);
    (void)state;
    use_up(limit, SLICE("a"), START);
    assert_int_equal(rate_limit_take(limit, SLICE("a"), START + STEP - 1), 1);
    assert_int_equal(rate_limit_take(limit, SLICE("a"), START + STEP), 0);
    assert_int_equal(rate_limit_take(limit, SLICE("a"), START + STEP), STEP);
}

static void being_refused_costs_nothing(void **state)
{
    struct rate_limit *limit CLEANUP(rate_limit_free_at)
    = rate_limit_new(PER_SECOND, BURST);
    (void)state;
    use_up(limit, SLICE("a"), START);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(rate_limit_take(limit, SLICE("a"), START), STEP);
    }
    assert_int_equal(rate_limit_take(limit, SLICE("a"), START + STEP), 0);
}

static void it_fills_again_at_its_rate(void **state)
{
    struct rate_limit *limit CLEANUP(rate_limit_free_at)
    = rate_limit_new(PER_SECOND, BURST);
    (void)state;
    use_up(limit, SLICE("a"), START);
    int64_t later = START + 5 * TIMESTAMP_SECOND;
    for (int i = 0; i < 5 * PER_SECOND; i++) {
        assert_int_equal(rate_limit_take(limit, SLICE("a"), later), 0);
    }
    assert_int_equal(rate_limit_take(limit, SLICE("a"), later), STEP);
}

static void it_never_holds_more_than_its_burst(void **state)
{
    struct rate_limit *limit CLEANUP(rate_limit_free_at)
    = rate_limit_new(PER_SECOND, BURST);
    (void)state;
    int64_t now = START;
    for (int round = 0; round < 3; round++) {
        use_up(limit, SLICE("a"), now);
        assert_int_equal(rate_limit_take(limit, SLICE("a"), now), STEP);
        now += 365 * TIMESTAMP_DAY;
    }
}

/* Over any time nobody gets more than the burst and what the rate gives in it. */
static void a_steady_stream_gets_the_rate(void **state)
{
    struct rate_limit *limit CLEANUP(rate_limit_free_at)
    = rate_limit_new(PER_SECOND, BURST);
    (void)state;
    int taken = 0;
    for (int64_t now = START; now < START + 100 * TIMESTAMP_SECOND; now += 50000) {
        taken += rate_limit_take(limit, SLICE("a"), now) == 0 ? 1 : 0;
    }
    /* the last of them comes 50 ms before the end */
    assert_in_range(taken, BURST + 100 * PER_SECOND - 1, BURST + 100 * PER_SECOND);
}

static void another_key_has_its_own(void **state)
{
    struct rate_limit *limit CLEANUP(rate_limit_free_at)
    = rate_limit_new(PER_SECOND, BURST);
    (void)state;
    use_up(limit, SLICE("a"), START);
    use_up(limit, SLICE("A"), START);
    use_up(limit, SLICE("a "), START);
    use_up(limit, SLICE_NONE, START);
}

/* However many there are, in the same memory; who is new is never held up by others. */
static void any_number_of_keys_is_taken(void **state)
{
    struct rate_limit *limit CLEANUP(rate_limit_free_at)
    = rate_limit_new(PER_SECOND, BURST);
    (void)state;
    for (int i = 0; i < MANY_KEYS; i++) {
        char text[32];
        int len = snprintf(text, sizeof(text), "2001:db8:%x::", (unsigned)i);
        assert_int_equal(rate_limit_take(limit, slice_of(text, (size_t)len), START), 0);
    }
}

struct taker {
    pthread_t thread;
    struct rate_limit *limit;
    int taken;
};

static void *take_often(void *context)
{
    struct taker *taker = context;
    for (int i = 0; i < TAKE_COUNT; i++) {
        taker->taken += rate_limit_take(taker->limit, SLICE("a"), START) == 0 ? 1 : 0;
    }
    return NULL;
}

static void many_threads_get_one_burst_together(void **state)
{
    struct rate_limit *limit CLEANUP(rate_limit_free_at)
    = rate_limit_new(PER_SECOND, BURST);
    struct taker takers[THREAD_COUNT];
    int taken = 0;
    (void)state;
    for (int i = 0; i < THREAD_COUNT; i++) {
        takers[i] = (struct taker){.limit = limit};
        assert_int_equal(pthread_create(&takers[i].thread, NULL, take_often, &takers[i]), 0);
    }
    for (int i = 0; i < THREAD_COUNT; i++) {
        assert_int_equal(pthread_join(takers[i].thread, NULL), 0);
        taken += takers[i].taken;
    }
    assert_int_equal(taken, BURST);
}

static void nothing_can_be_freed(void **state)
{
    (void)state;
    rate_limit_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_is_given_at_once_and_no_more),
        cmocka_unit_test(waiting_as_long_as_was_said_is_enough),
        cmocka_unit_test(being_refused_costs_nothing),
        cmocka_unit_test(it_fills_again_at_its_rate),
        cmocka_unit_test(it_never_holds_more_than_its_burst),
        cmocka_unit_test(a_steady_stream_gets_the_rate),
        cmocka_unit_test(another_key_has_its_own),
        cmocka_unit_test(any_number_of_keys_is_taken),
        cmocka_unit_test(many_threads_get_one_burst_together),
        cmocka_unit_test(nothing_can_be_freed),
    };
    return cmocka_run_group_tests_name("api/rate_limit", tests, NULL, NULL);
}
