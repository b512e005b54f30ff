/* SPDX-License-Identifier: MIT */
/* An approved script is taken, once, and run. */
#ifndef GH_API_REVIEW_RUN_H
#define GH_API_REVIEW_RUN_H

#include "api/review_look.h"

struct execution;

struct review_run {
    struct api *api;
    struct arena *arena;
    struct slice organization_id;
    struct slice review_id; /* or one of its sessions */
    struct slice member_id; /* who asked for it; nobody else takes it */
    struct slice issuer;
    size_t page_rows; /* 0: what comes of it is no pages */
    /* What was taken: */
    struct review_look look;
    struct credential credential;
    struct shape_pairs metadata;
    enum review_answer answer;
    struct slice hours; /* of REVIEW_NOT_NOW */
};

/* In a body. ERR_NONE with another answer than REVIEW_DONE: what is to be kept of that is written,
 * and review_run_refuse() says it. */
enum err review_run_take(struct store_tx *tx, struct review_run *run,
                         struct error *reterr) MUST_USE;
enum err review_run_refuse(const struct review_run *run, struct error *reterr) MUST_USE;

/* Afterwards. When it cannot start, it can be taken again. */
enum err review_run_start(struct review_run *run, struct execution **ret_execution,
                          struct error *reterr) MUST_USE;
/* It is over; when it did not begin, it can be taken again. */
void review_run_release(struct review_run *run);

/* All of it for whoever asked, who is not there: it runs as it would for him. The answer says what
 * became of it; with REVIEW_NOT_NOW nothing changed. Blocks, outside of a body. */
enum err review_run_unasked(struct review_run *run, struct error *reterr) MUST_USE;

/* For the proof of a credential that nobody needs to know. */
struct credential_proof review_run_proof_in(struct arena *arena);

#endif
