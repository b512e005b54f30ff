/* SPDX-License-Identifier: MIT */
/* Which of many texts have to be looked at one by one. What begins with none of the signs of a
 * syntax and has no numeric entity is looked at for findings only. */
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

/* "&#" may be a character of any kind. */
static void mask_sieve_entities(struct slice bytes, uint64_t *suspects)
{
    for (size_t at = slice_find_byte(bytes, '&'); at < bytes.len;) {
        if (at + 1 < bytes.len && bytes.at[at + 1] == '#') {
            suspects[at / 64] |= UINT64_C(1) << at % 64;
        }
        at += 1 + slice_find_byte(slice_from(bytes, at + 1), '&');
    }
}

void mask_sieve(const struct mask_rules *rules, const struct detect_sieve *sieve,
                uint64_t *suspects)
{
    struct detect_sieve own = *sieve;
    own.set = &rules->set;
    detect_sieve(&own, suspects);
    mask_sieve_entities(own.bytes, suspects);
}

bool mask_probe(const struct mask_rules *rules, const struct mask_plan *plan,
                const struct detect_sieve *sieve, const uint64_t *suspects, size_t start,
                size_t len)
{
    struct detect_sieve own = *sieve;
    own.set = &rules->set;
    return detect_probe(&own, suspects, start, len, plan->context);
}
