/* SPDX-License-Identifier: MIT */
/* An attribute: a name that connections carry and that rules and access are bound to, so that a
 * rule for many connections is written once. */
#ifndef GH_MODEL_ATTRIBUTE_H
#define GH_MODEL_ATTRIBUTE_H

#include "codec/shape.h"

struct attribute {
    struct slice id;
    struct slice organization_id;
    struct slice name;
    struct slice description;
    struct slice managed_by;
    struct shape_texts connection_names;
    struct shape_texts connection_ids; /* of a request; stored as names */
    struct shape_texts access_request_rule_names;
    struct shape_texts guardrail_rule_names;
    struct shape_texts datamasking_rule_names;
    struct shape_texts access_control_group_names;
    int64_t created_at;
};

extern const struct shape attribute_shape;

#endif
