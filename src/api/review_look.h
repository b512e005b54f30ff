/* SPDX-License-Identifier: MIT */
/* A review beside what is there now: who asked, whether he still may, what the rules ask for, and
 * whether it is still the same that he would get. */
#ifndef GH_API_REVIEW_LOOK_H
#define GH_API_REVIEW_LOOK_H

#include "api/api.h"
#include "store/credential_store.h"
#include "store/review_store.h"

struct review_look {
    struct review review; /* to be given */
    struct review_secret secret;
    struct review_need need; /* as it was when it was asked for */
    struct credential_grant grant;
    struct slice hash; /* of what is there now; empty when 'why' is not */
    struct slice why;  /* it is void; empty: it is not */
};

/* Whose word counts for service accounts; before the transaction. */
enum err review_issuer(struct api *api, struct arena *arena, struct slice *ret_issuer,
                       struct error *reterr) MUST_USE;

/* In a body. Rules count while it is pending: what was approved was approved by those of then. */
enum err review_look(struct api *api, struct arena *arena, struct store_tx *tx, struct slice issuer,
                     struct review_look *look, struct error *reterr) MUST_USE;

/* Writes the progress into the review, and the review into the store. */
enum err review_keep(struct store_tx *tx, struct review *review,
                     const struct review_progress *progress, int64_t now,
                     struct error *reterr) MUST_USE;

/* A request, in a body. */
struct review_asking {
    struct api_call *call;
    const struct connection *connection;
    const struct review_need *need;
    struct slice script; /* empty: access for a time */
    struct slice metadata;
    int64_t duration_sec;
    bool runs_at_once;
    struct review review; /* what was made */
};

/* Writes it, and the audit entry 'request_review'. ERR_BUSY: too many of his wait. */
enum err review_ask(struct store_tx *tx, struct review_asking *asking,
                    struct error *reterr) MUST_USE;

/* Where it is read and decided. */
struct slice review_link_in(struct arena *arena, const struct api *api,
                            const struct review *review);

/* For the audit log. */
struct slice review_payload_in(struct arena *arena, const struct review *review);

#endif
