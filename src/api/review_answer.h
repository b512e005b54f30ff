/* SPDX-License-Identifier: MIT */
/* Reviews as the API shows them. */
#ifndef GH_API_REVIEW_ANSWER_H
#define GH_API_REVIEW_ANSWER_H

#include "api/api.h"
#include "store/review_store.h"

struct review_view {
    struct review review;
    struct review_need need;
    struct review_ballots ballots;
    struct review_comments comments;
    struct review_secret secret;
    bool has_script; /* of one alone: 'secret' and 'comments' are there */
};

/* What belongs to it, for somebody who sees it; 'view->review' is there. In a body. */
enum err review_view_load(struct api_call *call, struct store_tx *tx, bool wants_script,
                          struct review_view *view, struct error *reterr) MUST_USE;
/* What each rule asks for, as a member of the object that is open. */
void review_write_requirements(struct json_writer *json, const char *name,
                               const struct review_need *need);
void review_view_write(const struct api_call *call, const struct review_view *view,
                       struct json_writer *json);

#endif
