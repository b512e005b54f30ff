/* SPDX-License-Identifier: MIT */
#include "io/worker.h"

#include "base/memory.h"
#include "base/must.h"

#include <pthread.h>

struct worker {
    size_t index;
    struct loop *loop;
    struct mailbox *mailbox;
    pthread_t thread;
    size_t part_count;
};

struct worker *worker_new(size_t index, struct fault *fault)
{
    struct worker *worker = memory_new(sizeof(*worker));
    worker->index = index;
    worker->loop = loop_new(fault);
    worker->mailbox = mailbox_new(worker->loop);
    return worker;
}

void worker_free(struct worker *worker)
{
    if (worker == NULL) {
        return;
    }
    mailbox_free(worker->mailbox);
    loop_free(worker->loop);
    memory_free(worker);
}

static void *worker_run(void *argument)
{
    struct worker *worker = argument;
    loop_run(worker->loop);
    return NULL;
}

enum err worker_start(struct worker *worker)
{
    return pthread_create(&worker->thread, NULL, worker_run, worker) == 0 ? ERR_NONE : ERR_IO;
}

void worker_join(struct worker *worker)
{
    must(pthread_join(worker->thread, NULL) == 0);
}

void worker_stop(struct worker *worker)
{
    loop_stop(worker->loop);
}

void worker_enter(struct worker *worker)
{
    worker->part_count++;
}

void worker_leave(struct worker *worker)
{
    must(worker->part_count > 0);
    worker->part_count--;
    if (worker->part_count == 0) {
        worker_stop(worker);
    }
}

size_t worker_index(const struct worker *worker)
{
    return worker->index;
}

struct loop *worker_loop(struct worker *worker)
{
    return worker->loop;
}

struct mailbox *worker_mailbox(struct worker *worker)
{
    return worker->mailbox;
}
