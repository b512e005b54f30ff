/* SPDX-License-Identifier: MIT */
/* Read budgets: how much a session, or a user in an hour, may read. */
#include "policy/guard_internal.h"

static uint64_t budget_limit(const struct shape_int *given)
{
    return given->is_given && !given->is_null ? (uint64_t)given->value : UINT64_MAX;
}

const struct guard_budget *guard_budget_in(struct arena *arena, const struct guard_rule *rule)
{
    struct guard_budget *budget = arena_alloc(arena, sizeof(*budget));
    *budget = (struct guard_budget){
        .rows = budget_limit(&rule->rows),
        .bytes = budget_limit(&rule->bytes),
        .is_hourly = slice_equals(rule->per, SLICE(GUARD_PER_HOUR)),
    };
    return budget;
}

const struct guard_budget *guard_scope_budgets_in(struct arena *arena,
                                                  const struct guard_scope *scope,
                                                  size_t *ret_count)
{
    const struct guard_rules *rules = scope->rules;
    struct guard_budget *budgets = NULL;
    size_t count = 0;
    for (size_t i = 0; i < rules->count; i++) {
        bool is_there = (scope->bits[i / 64] & UINT64_C(1) << (i % 64)) != 0;
        if (rules->rules[i].budget == NULL || !is_there) {
            continue;
        }
        if (budgets == NULL) {
            budgets = arena_alloc_array(arena, rules->count - i, sizeof(*budgets));
        }
        budgets[count] = *rules->rules[i].budget;
        budgets[count++].finding = guard_finding_of(rules, i, 0, SLICE_NONE);
    }
    *ret_count = count;
    return budgets;
}

bool guard_rules_have_hours(const struct guard_rules *rules)
{
    return rules->has_hours;
}
