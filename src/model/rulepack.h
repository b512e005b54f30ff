/* SPDX-License-Identifier: MIT */
/* Presets: guard rails and masking rules that come with the gateway, to be attached to connections
 * in one call. What a pack has is JSON text, as it would be sent to create the rule. */
#ifndef GH_MODEL_RULEPACK_H
#define GH_MODEL_RULEPACK_H

#include "base/slice.h"

struct rulepack {
    const char *name; /* in paths */
    const char *title;
    const char *description;
    const char *guardrail;    /* JSON; NULL: the pack has none */
    const char *masking_rule; /* likewise */
};

extern const struct rulepack rulepacks[];
extern const size_t rulepack_count;

/* NULL: there is none of that name. */
const struct rulepack *rulepack_find(struct slice name);

#endif
