/* SPDX-License-Identifier: MIT */
/* Work that blocks, done for a worker's loop on a pool: goes there with its own arena, and comes
 * back by mail. Part of a structure that holds what is asked and what is answered. */
#ifndef GH_GATE_GATE_JOB_H
#define GH_GATE_GATE_JOB_H

#include "base/arena.h"
#include "base/error.h"
#include "gate/gate_internal.h"

struct gate_job;

typedef void (*gate_job_fn)(struct gate_job *job);

struct gate_job {
    struct gate_worker *worker;
    struct arena arena; /* wiped when it ends */
    gate_job_fn run;    /* on the pool */
    gate_job_fn done;   /* on the loop; the job must be freed, or run again */
    void *owner;        /* NULL: nobody waits any more */
    gate_job_fn lost;   /* then, instead of 'done' and likewise; NULL: it is freed */
    enum err err;
    struct error error;
    struct pool_job pool_job;
    struct mail mail;
};

/* 'size' is of the structure that begins with the job. */
void *gate_job_new(size_t size, struct gate_worker *worker, void *owner);
/* ERR_NONE: until it comes back it is the pool's, and nothing of it may be read or written here but
 * by gate_job_abandon(). ERR_BUSY: it was not taken. */
enum err gate_job_start(struct gate_job *job, struct pool *pool, struct error *reterr) MUST_USE;
void gate_job_free(struct gate_job *job);
/* It is freed when it comes back, or 'lost', without 'done'. NULL is nobody's. */
void gate_job_abandon(struct gate_job *job);

#endif
