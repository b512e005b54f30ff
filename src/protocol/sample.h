/* SPDX-License-Identifier: MIT */
/* Rows that a rehearsed statement wrote, for people who decide on it: before and after. Those after
 * are read in the statement's own transaction and sealed as they are; those before over a
 * connection of the gateway's own, while somebody looks; both are masked for whoever looks, then. A
 * sample is JSON: plan (see postgres/pg_rehearse_question.h), after, and why (there is none, or
 * empty). */
#ifndef GH_PROTOCOL_SAMPLE_H
#define GH_PROTOCOL_SAMPLE_H

#include "codec/shape.h"
#include "policy/mask.h"

struct sample_ops {
    struct shape_pairs parameters; /* as whom the gateway comes; see struct open_request */
    uint32_t text_type;            /* of the parameter of the query for what was before */
    /* How values of a column are masked, in the form in which the sample has them. */
    struct mask_plan (*plan_of)(const struct mask_rules *rules, const struct mask_origin *origin,
                                struct slice label, uint32_t type);
};

#endif
