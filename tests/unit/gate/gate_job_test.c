/* SPDX-License-Identifier: MIT */
#include "gate/gate_job.h"

#include "base/memory.h"

#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct bench {
    struct worker *thread;
    struct pool *pool;
    struct gate_worker worker;
    sem_t gate; /* jobs wait for it */
    int ended;  /* arenas */
    int done;
};

struct test_job {
    struct gate_job job;
    struct bench *bench;
    int runs;
    int wanted; /* so many times it is sent */
    pthread_t thread;
};

static void begin(struct bench *bench, size_t queue)
{
    *bench = (struct bench){.thread = worker_new(0, NULL), .pool = pool_new(1, queue)};
    bench->worker.worker = bench->thread;
    bench->worker.loop = worker_loop(bench->thread);
    list_init(&bench->worker.sessions);
    assert_int_equal(sem_init(&bench->gate, 0, 0), 0);
}

static void finish(struct bench *bench)
{
    pool_free(bench->pool);
    worker_free(bench->thread);
    (void)sem_destroy(&bench->gate);
}

static void turn_until_idle(struct bench *bench)
{
    for (int i = 0; i < 5000 && bench->worker.job_count > 0; i++) {
        loop_turn(bench->worker.loop);
        (void)poll(NULL, 0, bench->worker.job_count > 0);
    }
    assert_int_equal(bench->worker.job_count, 0);
}

static void on_arena_end(void *at)
{
    (*(int *)at)++;
}

static void errand_run(struct gate_job *job)
{
    struct test_job *self = CONTAINER_OF(job, struct test_job, job);
    (void)sem_wait(&self->bench->gate);
    self->runs++;
    self->thread = pthread_self();
}

static void errand_done(struct gate_job *job)
{
    struct test_job *self = CONTAINER_OF(job, struct test_job, job);
    struct bench *bench = self->bench;
    struct error error;
    assert_false(pthread_equal(self->thread, pthread_self()));
    assert_ptr_equal(job->owner, bench);
    if (self->runs < self->wanted) {
        assert_int_equal(gate_job_start(job, bench->pool, &error), ERR_NONE);
        return;
    }
    bench->done++;
    gate_job_free(job);
}

static struct test_job *test_job_new(struct bench *bench, int wanted)
{
    struct test_job *self = gate_job_new(sizeof(*self), &bench->worker, bench);
    self->bench = bench;
    self->wanted = wanted;
    self->job.run = errand_run;
    self->job.done = errand_done;
    arena_on_end(&self->job.arena, on_arena_end, &bench->ended);
    return self;
}

static void a_job_goes_and_comes_back(void **state)
{
    (void)state;
    struct bench bench;
    struct error error;
    begin(&bench, 10);
    assert_int_equal(gate_job_start(&test_job_new(&bench, 1)->job, bench.pool, &error), ERR_NONE);
    assert_int_equal(bench.worker.job_count, 1);
    (void)sem_post(&bench.gate);
    turn_until_idle(&bench);
    assert_int_equal(bench.done, 1);
    assert_int_equal(bench.ended, 1);
    finish(&bench);
}

static void it_may_go_again_from_its_end(void **state)
{
    (void)state;
    struct bench bench;
    struct error error;
    begin(&bench, 10);
    for (int i = 0; i < 3; i++) {
        (void)sem_post(&bench.gate);
    }
    assert_int_equal(gate_job_start(&test_job_new(&bench, 3)->job, bench.pool, &error), ERR_NONE);
    turn_until_idle(&bench);
    assert_int_equal(bench.done, 1);
    finish(&bench);
}

static void nobody_hears_of_one_that_was_abandoned(void **state)
{
    (void)state;
    for (int is_running = 0; is_running < 2; is_running++) {
        struct bench bench;
        struct error error;
        begin(&bench, 10);
        struct test_job *work = test_job_new(&bench, 1);
        assert_int_equal(gate_job_start(&work->job, bench.pool, &error), ERR_NONE);
        if (is_running == 0) {
            gate_job_abandon(&work->job);
            (void)sem_post(&bench.gate);
        } else {
            (void)sem_post(&bench.gate);
            while (pool_stats(bench.pool).done_count == 0) {
                (void)poll(NULL, 0, 1);
            }
            gate_job_abandon(&work->job); /* it is in the mail */
        }
        turn_until_idle(&bench);
        assert_int_equal(bench.done, 0);
        assert_int_equal(bench.ended, 1);
        finish(&bench);
    }
    gate_job_abandon(NULL);
}

static void a_full_pool_takes_none(void **state)
{
    (void)state;
    struct bench bench;
    struct error error;
    size_t taken = 0;
    begin(&bench, 2);
    enum err err = ERR_NONE;
    while (err == ERR_NONE && taken < 10) {
        struct test_job *work = test_job_new(&bench, 1);
        err = gate_job_start(&work->job, bench.pool, &error);
        taken += err == ERR_NONE;
        if (err != ERR_NONE) {
            gate_job_free(&work->job);
        }
    }
    assert_int_equal(err, ERR_BUSY);
    assert_string_equal(error.message, "the gateway is busy; try again in a moment");
    assert_int_equal(bench.worker.job_count, taken);
    for (size_t i = 0; i < taken; i++) {
        (void)sem_post(&bench.gate);
    }
    turn_until_idle(&bench);
    assert_int_equal(bench.done, taken);
    assert_int_equal(bench.ended, taken + 1);
    finish(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_goes_and_comes_back),
        cmocka_unit_test(it_may_go_again_from_its_end),
        cmocka_unit_test(nobody_hears_of_one_that_was_abandoned),
        cmocka_unit_test(a_full_pool_takes_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
