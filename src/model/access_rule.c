/* SPDX-License-Identifier: MIT */
#include "model/access_rule.h"

#include "model/name.h"
#include "model/shared_fields.h"
#include "model/user.h"

#define GROUPS_MAX      20
#define CONNECTIONS_MAX 1000

static const char *const access_types[] = {ACCESS_TYPE_JIT, ACCESS_TYPE_COMMAND, ACCESS_TYPE_BOTH,
                                           NULL};

#define AT(member) .offset = offsetof(struct access_rule, member)

#define GROUPS(member, more_flags, text)                                                           \
    {                                                                                              \
        .name = #member, .kind = SHAPE_TEXTS, .flags = SHAPE_KEPT | (more_flags), AT(member),      \
        .max = GROUPS_MAX, .item_max = GROUP_NAME_MAX, .check = title_check,                       \
        .pattern = TITLE_PATTERN, .about = text                                                    \
    }

static const struct shape_field access_rule_fields[] = {
    NOUN_ID(access_rule),
    NOUN_NAME(access_rule, NAME_LENGTH_MAX),
    NOUN_DESCRIPTION(access_rule, SHAPE_NULL_IN, 1000),
    {.name = "access_type",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(access_type),
     .choices = access_types,
     .about = "jit: credentials for native clients; command: scripts that are executed"},
    NOUN_MANAGED_BY(access_rule),
    CONNECTION_NAMES(access_rule, 0, CONNECTIONS_MAX, "the connections it is bound to"),
    CONNECTION_IDS(access_rule, SHAPE_WRITE_ONLY, CONNECTIONS_MAX, "more of them, by id"),
    NOUN_ATTRIBUTES(access_rule, 1000),
    GROUPS(approval_required_groups, SHAPE_NULL_IN,
           "whose members must ask; none: everybody, API keys and machines, too"),
    GROUPS(skip_review_groups, SHAPE_NULL_IN, "of everybody, whose members need not ask"),
    GROUPS(reviewers_groups, SHAPE_REQUIRED, "whose members may approve and reject"),
    GROUPS(force_approval_groups, SHAPE_NULL_IN, "whose members may approve alone, with a reason"),
    {.name = "all_groups_must_approve",
     .kind = SHAPE_BOOL,
     .flags = SHAPE_NULL_IN | SHAPE_KEPT,
     AT(all_groups_must_approve),
     .about = "one person of each group, none for two"},
    {.name = "min_approvals",
     .kind = SHAPE_INT,
     .flags = SHAPE_NULLABLE | SHAPE_KEPT,
     AT(min_approvals),
     .min = 1,
     .max = 100,
     .about = "how many people must approve; 1 when it is not given"},
    {.name = "access_max_duration",
     .kind = SHAPE_INT,
     .flags = SHAPE_NULLABLE | SHAPE_KEPT,
     AT(access_max_duration),
     .min = 1,
     .max = ACCESS_DURATION_MAX,
     .about = "seconds that access lasts at most"},
    {.name = "access_fixed_duration",
     .kind = SHAPE_INT,
     .flags = SHAPE_NULLABLE | SHAPE_KEPT,
     AT(access_fixed_duration),
     .min = 1,
     .max = ACCESS_DURATION_MAX,
     .about = "seconds that access lasts, whatever is asked for"},
    NOUN_TIME(access_rule, created_at, SHAPE_REQUIRED),
    NOUN_TIME(access_rule, updated_at, SHAPE_REQUIRED),
};

const struct shape access_rule_shape = {
    .name = "AccessRequestRule",
    .size = sizeof(struct access_rule),
    SHAPE_FIELDS(access_rule_fields),
    .about = "who must ask before using what it is bound to, and who approves",
};

static bool given(const struct shape_int *number)
{
    return number->is_given && !number->is_null;
}

enum err access_rule_check(const struct access_rule *rule, struct error *reterr)
{
    bool needs_all = rule->all_groups_must_approve.value;
    if (rule->reviewers_groups.count == 0) {
        return fail(reterr, ERR_INPUT, "'reviewers_groups' must name at least one group");
    }
    if (rule->skip_review_groups.count > 0 && rule->approval_required_groups.count > 0) {
        return fail(reterr, ERR_INPUT,
                    "'skip_review_groups' is for rules without 'approval_required_groups'");
    }
    if (needs_all && given(&rule->min_approvals)) {
        return fail(reterr, ERR_INPUT,
                    "'min_approvals' is for rules without 'all_groups_must_approve'");
    }
    if (given(&rule->access_fixed_duration) && given(&rule->access_max_duration)) {
        return fail(reterr, ERR_INPUT,
                    "'access_fixed_duration' and 'access_max_duration' exclude each other");
    }
    bool is_command = slice_equals(rule->access_type, SLICE(ACCESS_TYPE_COMMAND));
    if (is_command && (given(&rule->access_fixed_duration) || given(&rule->access_max_duration))) {
        return fail(reterr, ERR_INPUT,
                    "'access_fixed_duration' and 'access_max_duration' are for rules of the types "
                    "'jit' and 'jit_command'");
    }
    return ERR_NONE;
}

struct slice access_rule_kind(const struct access_rule *rule)
{
    if (slice_equals(rule->access_type, SLICE(ACCESS_TYPE_BOTH))) {
        return SLICE(ACCESS_KIND_BOTH);
    }
    return slice_equals(rule->access_type, SLICE(ACCESS_TYPE_JIT)) ? SLICE(ACCESS_KIND_JIT)
                                                                   : SLICE(ACCESS_KIND_COMMAND);
}

struct slice access_rule_type(struct slice kind)
{
    if (slice_equals(kind, SLICE(ACCESS_KIND_BOTH))) {
        return SLICE(ACCESS_TYPE_BOTH);
    }
    return slice_equals(kind, SLICE(ACCESS_KIND_JIT)) ? SLICE(ACCESS_TYPE_JIT)
                                                      : SLICE(ACCESS_TYPE_COMMAND);
}

static bool access_rule_names(const struct shape_texts *names, const struct slice *groups,
                              size_t group_count)
{
    for (size_t i = 0; i < names->count; i++) {
        for (size_t j = 0; j < group_count; j++) {
            if (slice_equals(names->items[i], groups[j])) {
                return true;
            }
        }
    }
    return false;
}

bool access_rule_is_for(const struct access_rule *rule, const struct slice *groups,
                        size_t group_count)
{
    return rule->approval_required_groups.count > 0
               ? access_rule_names(&rule->approval_required_groups, groups, group_count)
               : !access_rule_names(&rule->skip_review_groups, groups, group_count);
}
