/* SPDX-License-Identifier: MIT */
/* Threads for work that blocks: API handlers, the store, password hashing. Jobs run in the order in
 * which they came; the queue has a limit. Threads start when they are first needed. */
#ifndef GH_IO_POOL_H
#define GH_IO_POOL_H

#include "base/err.h"
#include "base/error.h"
#include "base/list.h"

#include <stdint.h>

struct pool;
struct pool_job;

typedef void (*pool_run_fn)(struct pool_job *job);

/* Part of what is to be done; belongs to the pool from pool_submit until run is called. */
struct pool_job {
    struct list link;
    pool_run_fn run;
};

struct pool_stats {
    size_t thread_count;
    size_t running_count;
    size_t queued_count;
    uint64_t done_count;
    uint64_t refused_count;
};

struct pool *pool_new(size_t thread_count_max, size_t queue_count_max);
/* Of threads that only take what processor time others leave (nice 19): for work that computes. */
struct pool *pool_new_background(size_t thread_count_max, size_t queue_count_max);
/* Runs what is queued, then ends the threads. */
void pool_free(struct pool *pool);

/* From any thread. ERR_BUSY when the queue is full: the job was not taken. */
enum err pool_submit(struct pool *pool, struct pool_job *job) MUST_USE;

/* Runs it on the pool and waits for it; from a thread that is not the pool's. */
enum err pool_call(struct pool *pool, void (*function)(void *context), void *context) MUST_USE;

struct pool_stats pool_stats(struct pool *pool);

#endif
