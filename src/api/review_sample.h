/* SPDX-License-Identifier: MIT */
/* Rows that a rehearsed statement wrote, for one who looks at them. */
#ifndef GH_API_REVIEW_SAMPLE_H
#define GH_API_REVIEW_SAMPLE_H

#include "api/review_target.h"
#include "policy/guard.h"
#include "policy/mask.h"

struct sample_call {
    struct api_call *call;
    struct review_target target;
    struct mask_rules *masking; /* of the connection; NULL: none */
    struct mask_scratch *mask_scratch;
    struct guard_rules *guard; /* likewise */
    struct guard_scratch *guard_scratch;
    struct guard_scope scope; /* of 'guard', for whoever looks */
    struct json plan;         /* see protocol/sample.h */
    struct json after;
    struct json before;
    struct slice why_no_before; /* or empty */
};

/* Why the rows of that table are not shown to whoever looks; NULL: they are. */
const char *review_sample_why_not(const struct sample_call *self, struct slice schema,
                                  struct slice table);
/* The answer, but for what every one has. */
void review_sample_write(const struct sample_call *self, struct json_writer *json);

#endif
