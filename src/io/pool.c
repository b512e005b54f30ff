/* SPDX-License-Identifier: MIT */
#include "io/pool.h"

#include "base/limits.h"
#include "base/must.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/resource.h>

#define POOL_BACKGROUND_NICE 19

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t job_came;
    struct list queue;
    size_t queued_count;
    size_t queue_count_max;
    pthread_t *threads;
    size_t thread_count;
    size_t thread_count_max;
    size_t idle_count;
    size_t running_count;
    bool is_waking; /* an idle thread was called and has not come yet */
    uint64_t done_count;
    uint64_t refused_count;
    bool ending;
    bool is_background;
};

/* One thread is called at a time, and calls the next itself if there is more to do: a burst of
 * short jobs is done by few threads that stay awake instead of many that wake for one job each.
 * With the lock held. */
static void pool_wake_one(struct pool *pool)
{
    if (pool->idle_count > 0 && !pool->is_waking && !list_is_empty(&pool->queue)) {
        pool->is_waking = true;
        (void)pthread_cond_signal(&pool->job_came);
    }
}

/* Waits for a job; NULL when the pool ends and nothing is left. Called with the lock held. */
static struct pool_job *pool_next(struct pool *pool)
{
    while (list_is_empty(&pool->queue)) {
        if (pool->ending) {
            return NULL;
        }
        pool->idle_count++;
        (void)pthread_cond_wait(&pool->job_came, &pool->lock);
        pool->idle_count--;
        pool->is_waking = false;
    }
    struct list *link = list_take_first(&pool->queue);
    pool->queued_count--;
    pool_wake_one(pool);
    return LIST_ITEM(link, struct pool_job, link);
}

static void *pool_work(void *argument)
{
    struct pool *pool = argument;
    if (pool->is_background) {
        (void)setpriority(PRIO_PROCESS, 0, POOL_BACKGROUND_NICE); /* of this thread, on Linux */
    }
    (void)pthread_mutex_lock(&pool->lock);
    for (struct pool_job *job = pool_next(pool); job != NULL; job = pool_next(pool)) {
        pool->running_count++;
        (void)pthread_mutex_unlock(&pool->lock);
        job->run(job);
        (void)pthread_mutex_lock(&pool->lock);
        pool->running_count--;
        pool->done_count++;
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static bool pool_start_thread(struct pool *pool)
{
    pthread_attr_t attributes;
    must(pthread_attr_init(&attributes) == 0);
    must(pthread_attr_setstacksize(&attributes, LIMIT_POOL_STACK_SIZE) == 0);
    bool started =
        pthread_create(&pool->threads[pool->thread_count], &attributes, pool_work, pool) == 0;
    (void)pthread_attr_destroy(&attributes);
    if (started) {
        pool->thread_count++;
    }
    return started;
}

struct pool *pool_new(size_t thread_count_max, size_t queue_count_max)
{
    must(thread_count_max > 0);
    struct pool *pool = memory_new(sizeof(*pool));
    pthread_mutexattr_t spinning; /* the lock is held for a few instructions at a time */
    must(pthread_mutexattr_init(&spinning) == 0);
    must(pthread_mutexattr_settype(&spinning, PTHREAD_MUTEX_ADAPTIVE_NP) == 0);
    must(pthread_mutex_init(&pool->lock, &spinning) == 0);
    (void)pthread_mutexattr_destroy(&spinning);
    must(pthread_cond_init(&pool->job_came, NULL) == 0);
    list_init(&pool->queue);
    pool->threads = memory_new_array(thread_count_max, sizeof(pthread_t));
    pool->thread_count_max = thread_count_max;
    pool->queue_count_max = queue_count_max;
    return pool;
}

struct pool *pool_new_background(size_t thread_count_max, size_t queue_count_max)
{
    struct pool *pool = pool_new(thread_count_max, queue_count_max);
    pool->is_background = true; /* no thread has started yet */
    return pool;
}

void pool_free(struct pool *pool)
{
    if (pool == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&pool->lock);
    pool->ending = true;
    (void)pthread_cond_broadcast(&pool->job_came);
    (void)pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->thread_count; i++) {
        (void)pthread_join(pool->threads[i], NULL);
    }
    (void)pthread_mutex_destroy(&pool->lock);
    (void)pthread_cond_destroy(&pool->job_came);
    memory_free(pool->threads);
    memory_free(pool);
}

/* With the lock held. A job that finds no idle thread starts one while there may be more. */
static enum err pool_take(struct pool *pool, struct pool_job *job)
{
    bool room = pool->queued_count < pool->queue_count_max && !pool->ending;
    if (room && pool->idle_count <= pool->queued_count &&
        pool->thread_count < pool->thread_count_max) {
        room = pool_start_thread(pool) || pool->thread_count > 0;
    }
    if (!room) {
        pool->refused_count++;
        return ERR_BUSY;
    }
    list_append(&pool->queue, &job->link);
    pool->queued_count++;
    pool_wake_one(pool);
    return ERR_NONE;
}

enum err pool_submit(struct pool *pool, struct pool_job *job)
{
    (void)pthread_mutex_lock(&pool->lock);
    enum err err = pool_take(pool, job);
    (void)pthread_mutex_unlock(&pool->lock);
    return err;
}

struct pool_wait {
    struct pool_job job;
    void (*function)(void *context);
    void *context;
    sem_t done;
};

static void pool_run_and_tell(struct pool_job *job)
{
    struct pool_wait *wait = CONTAINER_OF(job, struct pool_wait, job);
    wait->function(wait->context);
    (void)sem_post(&wait->done);
}

enum err pool_call(struct pool *pool, void (*function)(void *context), void *context)
{
    struct pool_wait wait = {
        .job = {.run = pool_run_and_tell}, .function = function, .context = context};
    must(sem_init(&wait.done, 0, 0) == 0);
    enum err err = pool_submit(pool, &wait.job);
    while (err == ERR_NONE && sem_wait(&wait.done) != 0) {
    }
    (void)sem_destroy(&wait.done);
    return err;
}

struct pool_stats pool_stats(struct pool *pool)
{
    (void)pthread_mutex_lock(&pool->lock);
    struct pool_stats stats = {
        .thread_count = pool->thread_count,
        .running_count = pool->running_count,
        .queued_count = pool->queued_count,
        .done_count = pool->done_count,
        .refused_count = pool->refused_count,
    };
    (void)pthread_mutex_unlock(&pool->lock);
    return stats;
}
