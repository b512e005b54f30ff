/* SPDX-License-Identifier: MIT */
#include "gate/gate_job.h"

#include "base/memory.h"

void *gate_job_new(size_t size, struct gate_worker *worker, void *owner)
{
    struct gate_job *job = memory_new(size);
    job->worker = worker;
    job->owner = owner;
    arena_init(&job->arena);
    arena_hold_secrets(&job->arena);
    return job;
}

void gate_job_free(struct gate_job *job)
{
    arena_release(&job->arena);
    memory_free(job);
}

static void gate_job_deliver(struct mail *mail)
{
    struct gate_job *job = CONTAINER_OF(mail, struct gate_job, mail);
    struct gate_worker *worker = job->worker;
    worker->job_count--;
    if (job->owner != NULL) {
        job->done(job);
    } else if (job->lost != NULL) {
        job->lost(job);
    } else {
        gate_job_free(job);
    }
    gate_worker_check_drained(worker);
}

static void gate_job_run(struct pool_job *pool_job)
{
    struct gate_job *job = CONTAINER_OF(pool_job, struct gate_job, pool_job);
    job->run(job);
    mailbox_send(worker_mailbox(job->worker->worker), &job->mail);
}

enum err gate_job_start(struct gate_job *job, struct pool *pool, struct error *reterr)
{
    job->pool_job.run = gate_job_run;
    job->mail.deliver = gate_job_deliver;
    if (pool_submit(pool, &job->pool_job) != ERR_NONE) {
        return fail(reterr, ERR_BUSY, "the gateway is busy; try again in a moment");
    }
    job->worker->job_count++;
    return ERR_NONE;
}

void gate_job_abandon(struct gate_job *job)
{
    if (job != NULL) {
        job->owner = NULL;
    }
}
