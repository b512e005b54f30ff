/* SPDX-License-Identifier: MIT */
#include "io/timer.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* How late a busy machine may make us before a test calls it wrong. */
#define SLACK_MS 1000

struct alarm {
    struct loop *loop;
    struct timer timer;
    struct timer *other;
    uint64_t expired_ms;
    unsigned count;
    unsigned count_max;
};

static void note_expiry(void *owner)
{
    struct alarm *alarm = owner;
    alarm->count++;
    alarm->expired_ms = loop_now_ms(alarm->loop);
}

static void stop_loop(void *owner)
{
    struct alarm *alarm = owner;
    note_expiry(owner);
    loop_stop(alarm->loop);
}

static void run_for(struct loop *loop, uint64_t delay_ms)
{
    struct alarm end = {.loop = loop};
    timer_init(&end.timer, stop_loop, &end);
    timer_start(loop, &end.timer, delay_ms);
    loop_run(loop);
    assert_int_equal(end.count, 1);
}

static void timers_expire_once_in_their_tick_and_never_early(void **state)
{
    (void)state;
    static const uint64_t delays[] = {0, 1, 49, 50, 51, 99, 120, 200};
    struct alarm alarms[COUNT_OF(delays)] = {{.count = 0}};
    struct loop *loop = loop_new(NULL);
    loop_turn(loop);
    uint64_t start = loop_now_ms(loop);
    for (size_t i = 0; i < COUNT_OF(delays); i++) {
        alarms[i].loop = loop;
        timer_init(&alarms[i].timer, note_expiry, &alarms[i]);
        timer_start(loop, &alarms[i].timer, delays[i]);
    }
    run_for(loop, 400);
    for (size_t i = 0; i < COUNT_OF(delays); i++) {
        assert_int_equal(alarms[i].count, 1);
        assert_in_range(alarms[i].expired_ms - start, delays[i],
                        delays[i] + TIMER_TICK_MS + SLACK_MS);
    }
    loop_free(loop);
}

static void a_deadline_beyond_one_round_of_the_wheel_waits(void **state)
{
    (void)state;
    struct loop *loop = loop_new(NULL);
    struct alarm alarm = {.loop = loop};
    timer_init(&alarm.timer, note_expiry, &alarm);
    timer_start(loop, &alarm.timer, 512 * TIMER_TICK_MS + 60);
    run_for(loop, 200);
    assert_int_equal(alarm.count, 0);
    timer_stop(&alarm.timer);
    loop_free(loop);
}

static void starting_again_moves_the_deadline(void **state)
{
    (void)state;
    struct loop *loop = loop_new(NULL);
    struct alarm later = {.loop = loop};
    struct alarm sooner = {.loop = loop};
    timer_init(&later.timer, note_expiry, &later);
    timer_init(&sooner.timer, note_expiry, &sooner);
    timer_start(loop, &later.timer, 10);
    timer_start(loop, &later.timer, 60000);
    timer_start(loop, &sooner.timer, 60000);
    timer_start(loop, &sooner.timer, 10);
    run_for(loop, 150);
    assert_int_equal(later.count, 0);
    assert_int_equal(sooner.count, 1);
    timer_stop(&later.timer);
    loop_free(loop);
}

static void a_stopped_timer_never_expires(void **state)
{
    (void)state;
    struct loop *loop = loop_new(NULL);
    struct alarm alarm = {.loop = loop};
    timer_init(&alarm.timer, note_expiry, &alarm);
    timer_stop(&alarm.timer);
    timer_start(loop, &alarm.timer, 10);
    timer_stop(&alarm.timer);
    timer_stop(&alarm.timer);
    run_for(loop, 150);
    assert_int_equal(alarm.count, 0);
    loop_free(loop);
}

static void stop_other(void *owner)
{
    struct alarm *alarm = owner;
    note_expiry(owner);
    timer_stop(alarm->other);
}

static void a_timer_may_stop_one_that_expires_with_it(void **state)
{
    (void)state;
    struct loop *loop = loop_new(NULL);
    struct alarm first = {.loop = loop};
    struct alarm second = {.loop = loop, .other = &first.timer};
    first.other = &second.timer;
    timer_init(&first.timer, stop_other, &first);
    timer_init(&second.timer, stop_other, &second);
    timer_start(loop, &first.timer, 10);
    timer_start(loop, &second.timer, 10);
    run_for(loop, 150);
    assert_int_equal(first.count + second.count, 1);
    loop_free(loop);
}

static void start_again(void *owner)
{
    struct alarm *alarm = owner;
    note_expiry(owner);
    if (alarm->count < alarm->count_max) {
        timer_start(alarm->loop, &alarm->timer, 0);
    } else {
        loop_stop(alarm->loop);
    }
}

static void a_timer_may_start_itself_again(void **state)
{
    (void)state;
    struct loop *loop = loop_new(NULL);
    struct alarm alarm = {.loop = loop, .count_max = 4};
    timer_init(&alarm.timer, start_again, &alarm);
    timer_start(loop, &alarm.timer, 0);
    loop_run(loop);
    assert_int_equal(alarm.count, 4);
    /* The ticking stopped with the last of them and starts again with the next. */
    run_for(loop, 20);
    loop_free(loop);
}

static void free_owner(void *owner)
{
    memory_free(owner);
}

static void a_timer_may_free_its_owner(void **state)
{
    (void)state;
    struct loop *loop = loop_new(NULL);
    for (size_t i = 0; i < 3; i++) {
        struct alarm *alarm = memory_new(sizeof(*alarm));
        timer_init(&alarm->timer, free_owner, alarm);
        timer_start(loop, &alarm->timer, 10);
    }
    run_for(loop, 150);
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_expire_once_in_their_tick_and_never_early),
        cmocka_unit_test(a_deadline_beyond_one_round_of_the_wheel_waits),
        cmocka_unit_test(starting_again_moves_the_deadline),
        cmocka_unit_test(a_stopped_timer_never_expires),
        cmocka_unit_test(a_timer_may_stop_one_that_expires_with_it),
        cmocka_unit_test(a_timer_may_start_itself_again),
        cmocka_unit_test(a_timer_may_free_its_owner),
    };
    return cmocka_run_group_tests_name("io/timer", tests, NULL, NULL);
}
