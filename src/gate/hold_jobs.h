/* SPDX-License-Identifier: MIT */
/* What a held statement needs of the store, as jobs: people are asked, or have approved the same
 * before; what they decided; that it was let through. */
#ifndef GH_GATE_HOLD_JOBS_H
#define GH_GATE_HOLD_JOBS_H

#include "gate/gate_job.h"
#include "model/session.h"

enum hold_state {
    HOLD_STATE_PENDING,
    HOLD_STATE_GRANTED, /* and taken: nobody else passes by it */
    HOLD_STATE_OVER,    /* it does not pass, 'message' says why */
};

struct hold_job {
    struct gate_job job;
    struct session copy; /* of the session, what is needed of it */
    struct slice issuer;
    /* What is asked for; only of the first one. */
    struct slice text;
    struct slice pinned;    /* JSON */
    struct slice found;     /* likewise */
    struct slice sample;    /* likewise, or empty */
    int64_t waits_s;        /* of what has run: as long as it waits; 0: it has not */
    struct slice review_id; /* given, or made */
    /* What came of it. */
    enum hold_state state;
    bool is_new; /* people were asked */
    struct slice message;
    struct slice hint;
    struct slice deciders;
};

/* A job for hold_job_start(), its texts to be set in its arena. */
struct hold_job *hold_job_new(struct gate_worker *worker, void *owner,
                              const struct session *session);
/* Without 'review_id' people are asked; with it, it is looked at. When nobody waits for it any more
 * what was taken is given back. */
enum err hold_job_start(struct hold_job *take_job, gate_job_fn done, struct error *reterr) MUST_USE;
/* What was granted was let through; nobody waits for this. */
void hold_job_finish(struct gate_worker *worker, struct slice review_id, struct slice session_id);

/* What has run was not committed, and will not be: nobody has to decide any more, and what was
 * decided meanwhile is for nothing. Nobody waits for this. */
void hold_job_give_up(struct gate_worker *worker, struct slice review_id,
                      const struct session *session);

/* Where a review is read and decided. */
struct slice hold_link_in(struct arena *arena, const struct gate *gate, struct slice review_id);

#endif
