/* SPDX-License-Identifier: MIT */
#include "model/review.h"

#include "base/limits.h"
#include "base/text.h"

#define TIMES_MAX     16
#define TIME_ZONE_MAX 64

static const struct shape_field time_range_fields[] = {
    {.name = "start_time",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     .offset = offsetof(struct review_time_range, start_time),
     .max = TIMES_MAX,
     .about = "HH:MM"},
    {.name = "end_time",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     .offset = offsetof(struct review_time_range, end_time),
     .max = TIMES_MAX,
     .about = "HH:MM, to 24:00; before 'start_time': on the day after"},
    {.name = "time_zone",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     .offset = offsetof(struct review_time_range, time_zone),
     .max = TIME_ZONE_MAX,
     .about = "of the system's database, such as Europe/Berlin; UTC when it is left out"},
};

static const struct shape time_range_shape = {.name = "ReviewTimeRange",
                                              .size = sizeof(struct review_time_range),
                                              SHAPE_FIELDS(time_range_fields)};

static const struct shape_field window_fields[] = {
    {.name = "type",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     .offset = offsetof(struct review_window, type),
     .max = 64,
     .about = "time_range"},
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
     .about = "hours of the day in which what is approved may be used"},
};

const struct shape review_request_shape = {.name = "ReviewDecision",
                                           .size = sizeof(struct review_request),
                                           SHAPE_FIELDS(review_request_fields)};

static const struct shape_field review_opening_fields[] = {
    {.name = "link",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     .offset = offsetof(struct review_opening, link),
     .min = 1,
     .max = REVIEW_OPENING_MAX,
     .about = "what stands behind 'link=' in the address that a message has"},
};

const struct shape review_opening_shape = {.name = "ReviewOpening",
                                           .size = sizeof(struct review_opening),
                                           SHAPE_FIELDS(review_opening_fields)};

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

struct slice review_script_shown(struct slice script)
{
    struct slice shown = slice_sub(script, 0, LIMIT_REVIEW_SHOWN_SIZE);
    while (shown.len > 0 && shown.len < script.len && !text_is_utf8(shown)) {
        shown.len--;
    }
    return shown;
}

enum err review_request_check(const struct review_request *request, struct error *reterr)
{
    const struct review_window *window = request->time_window;
    if (window != NULL &&
        (!slice_equals(window->type, SLICE("time_range")) || window->configuration == NULL)) {
        return fail(reterr, ERR_INPUT,
                    "'time_window' must have the 'type' time_range, and a 'configuration' with "
                    "'start_time', 'end_time' and 'time_zone'");
    }
    if (request->reason.len > 0 && request->rejection_reason.len > 0) {
        return fail(reterr, ERR_INPUT, "'reason' and 'rejection_reason' are the same: send one");
    }
    return ERR_NONE;
}
