/* SPDX-License-Identifier: MIT */
#include "model/review.h"

#define TIMES_MAX 16

static const struct shape_field time_range_fields[] = {
    {.name = "start_time",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     .offset = offsetof(struct review_time_range, start_time),
     .max = TIMES_MAX},
    {.name = "end_time",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     .offset = offsetof(struct review_time_range, end_time),
     .max = TIMES_MAX},
};

static const struct shape time_range_shape = {.name = "ReviewTimeRange",
                                              .size = sizeof(struct review_time_range),
                                              SHAPE_FIELDS(time_range_fields)};

static const struct shape_field window_fields[] = {
    {.name = "type",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     .offset = offsetof(struct review_window, type),
     .max = 64},
    {.name = "configuration",
     .kind = SHAPE_OBJECT,
     .flags = SHAPE_NULL_IN,
     .offset = offsetof(struct review_window, configuration),
     .object = &time_range_shape},
};

static const struct shape window_shape = {
    .name = "ReviewTimeWindow", .size = sizeof(struct review_window), SHAPE_FIELDS(window_fields)};

#define AT(member) .offset = offsetof(struct review_request, member)

static const struct shape_field review_request_fields[] = {
    {.name = "status",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(status),
     .min = 1,
     .max = 32,
     .about = "APPROVED, REJECTED, REVOKED, or CANCELLED by whoever asked; in any case of letters"},
    {.name = "force_review",
     .kind = SHAPE_BOOL,
     .flags = SHAPE_NULL_IN,
     AT(force_review),
     .about = "approve alone, for a member of a group that may, with a reason"},
    {.name = "rejection_reason",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     AT(rejection_reason),
     .max = REVIEW_REASON_MAX,
     .about = "the same as 'reason'"},
    {.name = "reason",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     AT(reason),
     .max = REVIEW_REASON_MAX,
     .about = "why; must be given with 'force_review'"},
    {.name = "time_window",
     .kind = SHAPE_OBJECT,
     .flags = SHAPE_NULL_IN,
     AT(time_window),
     .object = &window_shape,
     .about = "refused: this gateway does not hold an approval to hours of the day"},
};

const struct shape review_request_shape = {.name = "ReviewDecision",
                                           .size = sizeof(struct review_request),
                                           SHAPE_FIELDS(review_request_fields)};

static const struct shape_field review_comment_request_fields[] = {
    {.name = "comment",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     .offset = offsetof(struct review_comment_request, comment),
     .min = 1,
     .max = REVIEW_COMMENT_MAX},
};

const struct shape review_comment_request_shape = {.name = "ReviewCommentRequest",
                                                   .size = sizeof(struct review_comment_request),
                                                   SHAPE_FIELDS(review_comment_request_fields)};

enum err review_request_check(const struct review_request *request, struct error *reterr)
{
    if (request->time_window != NULL) {
        return fail(reterr, ERR_INPUT,
                    "'time_window' must be left out: this gateway does not hold an approval to "
                    "hours of the day");
    }
    if (request->reason.len > 0 && request->rejection_reason.len > 0) {
        return fail(reterr, ERR_INPUT, "'reason' and 'rejection_reason' are the same: send one");
    }
    return ERR_NONE;
}
