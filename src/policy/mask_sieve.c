/* SPDX-License-Identifier: MIT */
/* Which of many texts have to be looked at one by one. What begins with none of the signs of a
 * syntax and has nothing in it that is read otherwise than it is written is looked at for findings
 * only. */
#include "policy/mask_internal.h"

bool mask_rules_can_sieve(const struct mask_rules *rules)
{
    return rules->has_types && rules->database == NULL;
}

bool mask_plan_can_sieve(const struct mask_plan *plan)
{
    return plan->whole == NULL && plan->is_examined && plan->form != MASK_FORM_JSON &&
           !detect_is_secret_name(plan->context);
}

void mask_sieve(const struct mask_rules *rules, const struct detect_sieve *sieve,
                uint64_t *suspects)
{
    struct detect_sieve own = *sieve;
    own.set = &rules->set;
    detect_sieve(&own, suspects);
}

bool mask_probe(const struct mask_rules *rules, const struct mask_plan *plan,
                const struct detect_sieve *sieve, const uint64_t *suspects, size_t start,
                size_t len)
{
    struct detect_sieve own = *sieve;
    own.set = &rules->set;
    return detect_probe(&own, suspects, start, len, plan->context);
}
