/* SPDX-License-Identifier: MIT */
#include "io/pool.h"

#include "base/memory.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define JOB_COUNT 2000

/* A barrier that jobs wait behind, and a count of those that reached it. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_open;
    unsigned waiting_count;
};

struct work {
    struct pool_job job;
    struct pool *pool;
    struct gate *gate;
    atomic_uint *run_count;
    unsigned number;
    unsigned again_count;
    bool out_of_order;
};

static void gate_init(struct gate *gate)
{
    *gate = (struct gate){.is_open = false};
    assert_int_equal(pthread_mutex_init(&gate->lock, NULL), 0);
    assert_int_equal(pthread_cond_init(&gate->changed, NULL), 0);
}

static void gate_pass(struct gate *gate)
{
    (void)pthread_mutex_lock(&gate->lock);
    gate->waiting_count++;
    (void)pthread_cond_broadcast(&gate->changed);
    while (!gate->is_open) {
        (void)pthread_cond_wait(&gate->changed, &gate->lock);
    }
    (void)pthread_mutex_unlock(&gate->lock);
}

static void gate_await(struct gate *gate, unsigned waiting_count)
{
    (void)pthread_mutex_lock(&gate->lock);
    while (gate->waiting_count < waiting_count) {
        (void)pthread_cond_wait(&gate->changed, &gate->lock);
    }
    (void)pthread_mutex_unlock(&gate->lock);
}

static void gate_open(struct gate *gate)
{
    (void)pthread_mutex_lock(&gate->lock);
    gate->is_open = true;
    (void)pthread_cond_broadcast(&gate->changed);
    (void)pthread_mutex_unlock(&gate->lock);
}

static void gate_release(struct gate *gate)
{
    (void)pthread_mutex_destroy(&gate->lock);
    (void)pthread_cond_destroy(&gate->changed);
}

static void run_count(struct pool_job *job)
{
    struct work *work = CONTAINER_OF(job, struct work, job);
    work->out_of_order = atomic_fetch_add(work->run_count, 1) != work->number;
}

static void run_wait(struct pool_job *job)
{
    struct work *work = CONTAINER_OF(job, struct work, job);
    gate_pass(work->gate);
}

static void run_again(struct pool_job *job)
{
    struct work *work = CONTAINER_OF(job, struct work, job);
    if (atomic_fetch_add(work->run_count, 1) + 1 < work->again_count) {
        assert_int_equal(pool_submit(work->pool, job), ERR_NONE);
    } else {
        gate_open(work->gate);
    }
}

static void every_job_runs_once(void **state)
{
    (void)state;
    atomic_uint count = 0;
    struct work *works = memory_new_array(JOB_COUNT, sizeof(*works));
    struct pool *pool = pool_new(8, JOB_COUNT);
    assert_int_equal(pool_stats(pool).thread_count, 0);
    for (size_t i = 0; i < JOB_COUNT; i++) {
        works[i].job.run = run_count;
        works[i].run_count = &count;
        assert_int_equal(pool_submit(pool, &works[i].job), ERR_NONE);
    }
    assert_in_range(pool_stats(pool).thread_count, 1, 8);
    pool_free(pool);
    assert_int_equal(atomic_load(&count), JOB_COUNT);
    memory_free(works);
}

static void one_thread_keeps_the_order(void **state)
{
    (void)state;
    atomic_uint count = 0;
    struct work *works = memory_new_array(JOB_COUNT, sizeof(*works));
    struct pool *pool = pool_new(1, JOB_COUNT);
    for (unsigned i = 0; i < JOB_COUNT; i++) {
        works[i].job.run = run_count;
        works[i].run_count = &count;
        works[i].number = i;
        assert_int_equal(pool_submit(pool, &works[i].job), ERR_NONE);
    }
    pool_free(pool);
    for (size_t i = 0; i < JOB_COUNT; i++) {
        assert_false(works[i].out_of_order);
    }
    memory_free(works);
}

static void jobs_run_at_the_same_time_up_to_the_limit_and_wait_beyond(void **state)
{
    (void)state;
    struct gate gate;
    gate_init(&gate);
    struct pool *pool = pool_new(3, 2);
    struct work works[6] = {{.gate = &gate}};
    for (unsigned i = 0; i < COUNT_OF(works); i++) {
        works[i].gate = &gate;
        works[i].job.run = run_wait;
        assert_int_equal(pool_submit(pool, &works[i].job), i < 5 ? ERR_NONE : ERR_BUSY);
        if (i < 3) {
            gate_await(&gate, i + 1);
        }
    }
    struct pool_stats stats = pool_stats(pool);
    assert_int_equal(stats.thread_count, 3);
    assert_int_equal(stats.running_count, 3);
    assert_int_equal(stats.queued_count, 2);
    assert_int_equal(stats.refused_count, 1);
    assert_int_equal(stats.done_count, 0);
    gate_open(&gate);
    gate_await(&gate, 5);
    pool_free(pool);
    gate_release(&gate);
}

static void a_job_may_submit_itself_again(void **state)
{
    (void)state;
    struct gate gate;
    atomic_uint count = 0;
    gate_init(&gate);
    struct pool *pool = pool_new(2, 1);
    struct work work = {.job = {.run = run_again},
                        .pool = pool,
                        .gate = &gate,
                        .run_count = &count,
                        .again_count = 500};
    assert_int_equal(pool_submit(pool, &work.job), ERR_NONE);
    gate_pass(&gate);
    pool_free(pool);
    assert_int_equal(atomic_load(&count), 500);
    gate_release(&gate);
}

static void an_idle_pool_ends(void **state)
{
    (void)state;
    pool_free(pool_new(4, 4));
    pool_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_runs_once),
        cmocka_unit_test(one_thread_keeps_the_order),
        cmocka_unit_test(jobs_run_at_the_same_time_up_to_the_limit_and_wait_beyond),
        cmocka_unit_test(a_job_may_submit_itself_again),
        cmocka_unit_test(an_idle_pool_ends),
    };
    return cmocka_run_group_tests_name("io/pool", tests, NULL, NULL);
}
