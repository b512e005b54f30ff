/* SPDX-License-Identifier: MIT */
/* The target of a review's connection, asked over a connection of the gateway's own while somebody
 * looks at the review, so that nothing of it stands in the way of a session. */
#ifndef GH_API_REVIEW_TARGET_H
#define GH_API_REVIEW_TARGET_H

#include "api/review_look.h"
#include "gate/target_call.h"

struct review_target {
    struct api_call *call;
    const char *noun; /* what it is asked for, for the log */
    struct slice issuer;
    struct review_look look;
    const struct protocol *protocol; /* NULL: this gateway has none for the connection */
    struct arena secrets;            /* wiped when it ends */
    struct shape_pairs variables;
    struct slice agent_id; /* of one elsewhere; empty: the gateway itself */
    struct slice database; /* empty: the connection's */
    struct slice why;      /* it is not asked, or did not answer; empty: it does */
};

void review_target_init(struct review_target *self, struct api_call *call, const char *noun);
void review_target_release(struct review_target *self);
/* The first reason counts. */
void review_target_give_up(struct review_target *self, const char *why);

/* In a body: the review that the call names, for who may see it, and what is there now. */
enum err review_target_load(struct review_target *self, struct store_tx *tx,
                            struct error *reterr) MUST_USE;
/* In a body: the way to it. */
enum err review_target_find(struct review_target *self, struct store_tx *tx,
                            struct error *reterr) MUST_USE;
/* Fills in where it is. ERR_NONE also when the target did not answer: then 'why' says so. */
enum err review_target_ask(struct review_target *self, struct target_request *request,
                           struct target_answer *ret_answer, struct error *reterr) MUST_USE;

#endif
