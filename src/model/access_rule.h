/* SPDX-License-Identifier: MIT */
/* A rule of access requests: who must ask before he uses what it is bound to, and who approves. */
#ifndef GH_MODEL_ACCESS_RULE_H
#define GH_MODEL_ACCESS_RULE_H

#include "codec/shape.h"

#define ACCESS_TYPE_JIT     "jit"
#define ACCESS_TYPE_COMMAND "command"
#define ACCESS_TYPE_BOTH    "jit_command"

/* Kinds of the table of rules. */
#define ACCESS_KIND_JIT     "access_jit"
#define ACCESS_KIND_COMMAND "access_command"
#define ACCESS_KIND_BOTH    "access_both"

#define ACCESS_DURATION_MAX 172800 /* seconds of a grant */

struct access_rule {
    struct slice id;
    struct slice organization_id;
    struct slice name;
    struct slice description;
    struct slice access_type;
    struct slice managed_by;
    struct shape_texts connection_names;
    struct shape_texts connection_ids; /* of a request; and what is bound in the store */
    struct shape_texts attributes;
    struct shape_texts approval_required_groups; /* none: everybody */
    struct shape_texts skip_review_groups;       /* but these */
    struct shape_texts reviewers_groups;
    struct shape_texts force_approval_groups;
    struct shape_bool all_groups_must_approve;
    struct shape_int min_approvals; /* people */
    struct shape_int access_max_duration;
    struct shape_int access_fixed_duration;
    int64_t created_at;
    int64_t updated_at;
};

extern const struct shape access_rule_shape;

/* What its shape cannot say. */
enum err access_rule_check(const struct access_rule *rule, struct error *reterr) MUST_USE;

/* The kind that the store has for the type, and back. */
struct slice access_rule_kind(const struct access_rule *rule);
struct slice access_rule_type(struct slice kind);

/* Whether somebody in these groups must ask. */
bool access_rule_is_for(const struct access_rule *rule, const struct slice *groups,
                        size_t group_count);

#endif
