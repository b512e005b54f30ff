/* SPDX-License-Identifier: MIT */
#include "io/loop.h"

#include "base/memory.h"
#include "io/fault.h"
#include "io/loop_internal.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

struct counted {
    struct loop *loop;
    struct loop_task task;
    struct loop_task *other;
    unsigned count;
};

static void count_on_task(void *owner)
{
    struct counted *counted = owner;
    counted->count++;
}

static void again_on_task(void *owner)
{
    struct counted *counted = owner;
    counted->count++;
    loop_defer(counted->loop, &counted->task);
}

static void cancel_on_task(void *owner)
{
    struct counted *counted = owner;
    loop_task_cancel(counted->other);
}

static void free_on_task(void *owner)
{
    memory_free(owner);
}

static void count_on_idle(uv_idle_t *idle)
{
    struct counted *counted = idle->data;
    assert_int_equal(counted->count, 0);
    loop_defer(counted->loop, &counted->task);
    assert_int_equal(counted->count, 0);
    (void)uv_idle_stop(idle);
}

static void a_task_runs_once_however_often_it_is_put_off(void **state)
{
    (void)state;
    struct counted counted = {.loop = loop_new(NULL)};
    loop_task_init(&counted.task, count_on_task, &counted);
    loop_defer(counted.loop, &counted.task);
    loop_defer(counted.loop, &counted.task);
    assert_int_equal(counted.count, 0);
    loop_turn(counted.loop);
    assert_int_equal(counted.count, 1);
    loop_turn(counted.loop);
    assert_int_equal(counted.count, 1);
    loop_defer(counted.loop, &counted.task);
    loop_turn(counted.loop);
    assert_int_equal(counted.count, 2);
    loop_free(counted.loop);
}

static void a_task_runs_when_the_callbacks_of_the_turn_are_over(void **state)
{
    (void)state;
    struct counted counted = {.loop = loop_new(NULL)};
    uv_idle_t idle;
    loop_task_init(&counted.task, count_on_task, &counted);
    assert_int_equal(uv_idle_init(loop_uv(counted.loop), &idle), 0);
    idle.data = &counted;
    assert_int_equal(uv_idle_start(&idle, count_on_idle), 0);
    loop_turn(counted.loop);
    assert_int_equal(counted.count, 1);
    uv_close((uv_handle_t *)&idle, NULL);
    loop_free(counted.loop);
}

static void a_task_that_puts_itself_off_runs_once_a_turn(void **state)
{
    (void)state;
    struct counted counted = {.loop = loop_new(NULL)};
    loop_task_init(&counted.task, again_on_task, &counted);
    loop_defer(counted.loop, &counted.task);
    for (unsigned i = 1; i < 5; i++) {
        loop_turn(counted.loop);
        assert_int_equal(counted.count, i);
    }
    loop_task_cancel(&counted.task);
    loop_turn(counted.loop);
    assert_int_equal(counted.count, 4);
    loop_free(counted.loop);
}

static void a_task_may_cancel_one_that_is_due_in_the_same_turn(void **state)
{
    (void)state;
    struct loop *loop = loop_new(NULL);
    struct counted victim = {.loop = loop};
    struct counted canceller = {.loop = loop, .other = &victim.task};
    loop_task_init(&victim.task, count_on_task, &victim);
    loop_task_init(&canceller.task, cancel_on_task, &canceller);
    loop_defer(loop, &canceller.task);
    loop_defer(loop, &victim.task);
    loop_turn(loop);
    loop_turn(loop);
    assert_int_equal(victim.count, 0);
    loop_free(loop);
}

static void a_task_may_free_its_owner_even_as_the_loop_ends(void **state)
{
    (void)state;
    struct loop *loop = loop_new(NULL);
    for (size_t i = 0; i < 2; i++) {
        struct counted *counted = memory_new(sizeof(*counted));
        loop_task_init(&counted->task, free_on_task, counted);
        loop_defer(loop, &counted->task);
        if (i == 0) {
            loop_turn(loop);
        }
    }
    loop_free(loop);
}

static void stop_on_task(void *owner)
{
    struct counted *counted = owner;
    loop_stop(counted->loop);
}

static void a_loop_runs_until_it_is_stopped_and_may_run_again(void **state)
{
    (void)state;
    struct counted counted = {.loop = loop_new(NULL)};
    loop_task_init(&counted.task, stop_on_task, &counted);
    for (size_t i = 0; i < 2; i++) {
        loop_defer(counted.loop, &counted.task);
        loop_run(counted.loop);
    }
    loop_free(counted.loop);
}

#define PULSES   200
#define PULSE_MS 2
#define PATIENCE 500 /* µs, so that looking each time would be a quarter of all time */

struct pulse {
    struct loop *loop;
    unsigned count;
};

static void carry_on_timer(uv_timer_t *timer)
{
    struct pulse *pulse = timer->data;
    loop_carried(pulse->loop, 0);
    pulse->count++;
    if (pulse->count == PULSES) {
        uv_close((uv_handle_t *)timer, NULL);
        loop_stop(pulse->loop);
    }
}

static int64_t cpu_us(void)
{
    struct timespec time;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time), 0);
    return time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* What the pulses cost of the processor. */
static int64_t pulses_us(uint64_t patience_us)
{
    struct pulse pulse = {.loop = loop_new(NULL)};
    uv_timer_t timer = {.data = &pulse};
    loop_set_patience(pulse.loop, patience_us);
    assert_int_equal(uv_timer_init(loop_uv(pulse.loop), &timer), 0);
    assert_int_equal(uv_timer_start(&timer, carry_on_timer, PULSE_MS, PULSE_MS), 0);
    int64_t before = cpu_us();
    loop_run(pulse.loop);
    int64_t cost = cpu_us() - before;
    assert_int_equal(pulse.count, PULSES);
    loop_free(pulse.loop);
    return cost;
}

/* Beside one that never looks: on a busy machine a wake-up alone costs more than on a quiet one. */
static void a_loop_that_looks_in_vain_goes_back_to_sleep(void **state)
{
    (void)state;
    int64_t asleep = pulses_us(0);
    assert_true(pulses_us(PATIENCE) < 2 * asleep + PULSES * PATIENCE / 4);
}

/* Two streams that take turns: what comes behind the one is soon there, behind the other not. */
static void carry_in_turns(uv_timer_t *timer)
{
    struct pulse *pulse = timer->data;
    loop_carried(pulse->loop, pulse->count % 2);
    pulse->count++;
    if (pulse->count == PULSES) {
        uv_close((uv_handle_t *)timer, NULL);
        loop_stop(pulse->loop);
        return;
    }
    assert_int_equal(uv_timer_start(timer, carry_in_turns, pulse->count % 2 == 0 ? PULSE_MS : 0, 0),
                     0);
}

static void a_loop_looks_for_what_comes_soon_and_for_little_of_the_time(void **state)
{
    (void)state;
    struct pulse pulse = {.loop = loop_new(NULL)};
    uv_timer_t timer = {.data = &pulse};
    loop_set_patience(pulse.loop, PATIENCE);
    assert_int_equal(uv_timer_init(loop_uv(pulse.loop), &timer), 0);
    assert_int_equal(uv_timer_start(&timer, carry_in_turns, 0, 0), 0);
    loop_run(pulse.loop);
    assert_true(pulse.loop->looked_ns <= (uint64_t)PULSES * LOOP_LOOK_SHARE_NS);
    assert_true(pulse.loop->waits_ns[0] < pulse.loop->waits_ns[1]);
    assert_true(pulse.loop->waits_ns[1] >= PATIENCE * 1000);
    loop_free(pulse.loop);
}

/* Takes the processor that this thread is bound to. */
static pid_t start_rival(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    pid_t rival = fork();
    assert_true(rival >= 0);
    if (rival == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* it must not outlive a test that failed */
    }
    while (rival == 0) {
    }
    return rival;
}

/* Each time another stream, of which it is not known yet how soon something comes behind it. */
static void carry_of_others(uv_timer_t *timer)
{
    struct pulse *pulse = timer->data;
    loop_carried(pulse->loop, pulse->count);
    pulse->count++;
    if (pulse->count == LOOP_PLACE_COUNT || pulse->loop->rest_until > 0) {
        uv_close((uv_handle_t *)timer, NULL);
        loop_stop(pulse->loop);
    }
}

static void a_loop_rests_where_others_need_the_processor(void **state)
{
    (void)state;
    cpu_set_t all;
    struct pulse pulse = {.loop = loop_new(NULL)};
    uv_timer_t timer = {.data = &pulse};
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    pid_t rival = start_rival();
    loop_set_patience(pulse.loop, PATIENCE);
    assert_int_equal(uv_timer_init(loop_uv(pulse.loop), &timer), 0);
    assert_int_equal(uv_timer_start(&timer, carry_of_others, PULSE_MS, PULSE_MS), 0);
    loop_run(pulse.loop);
    assert_true(pulse.loop->rest_until > 0);
    assert_int_equal(kill(rival, SIGKILL), 0);
    assert_int_equal(waitpid(rival, NULL, 0), rival);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
    loop_free(pulse.loop);
}

static void a_loop_knows_its_fault(void **state)
{
    (void)state;
    struct fault fault = {.is_short = true};
    struct loop *loop = loop_new(&fault);
    assert_ptr_equal(loop_fault(loop), &fault);
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_runs_once_however_often_it_is_put_off),
        cmocka_unit_test(a_task_runs_when_the_callbacks_of_the_turn_are_over),
        cmocka_unit_test(a_task_that_puts_itself_off_runs_once_a_turn),
        cmocka_unit_test(a_task_may_cancel_one_that_is_due_in_the_same_turn),
        cmocka_unit_test(a_task_may_free_its_owner_even_as_the_loop_ends),
        cmocka_unit_test(a_loop_runs_until_it_is_stopped_and_may_run_again),
        cmocka_unit_test(a_loop_that_looks_in_vain_goes_back_to_sleep),
        cmocka_unit_test(a_loop_looks_for_what_comes_soon_and_for_little_of_the_time),
        cmocka_unit_test(a_loop_rests_where_others_need_the_processor),
        cmocka_unit_test(a_loop_knows_its_fault),
    };
    return cmocka_run_group_tests_name("io/loop", tests, NULL, NULL);
}
