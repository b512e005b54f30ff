/* SPDX-License-Identifier: MIT */
/* Whether others must approve that somebody uses a connection for a time, and what came of it: of a
 * credential for native clients, and of a terminal. */
#ifndef GH_API_ACCESS_REVIEW_H
#define GH_API_ACCESS_REVIEW_H

#include "api/review_look.h"

struct access_review {
    struct api_call *call;
    const struct connection *connection; /* as the caller sees it */
    const struct shape_pairs *metadata;
    struct shape_int seconds; /* that he asks for */
    struct slice issuer;      /* of review_issuer() */
    int64_t now;
    /* Comes out. */
    struct review review; /* by whose leave it is, or that is waited for; its id empty: nobody has
                             to approve */
    bool is_waiting;
};

/* In the transaction of what it is asked for. */
enum err access_review_ask(struct access_review *self, struct store_tx *tx,
                           struct error *reterr) MUST_USE;

#endif
