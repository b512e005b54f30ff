/* SPDX-License-Identifier: MIT */
#include "policy/guard.h"

struct guard_finding guard_finding_copy_in(struct arena *arena, const struct guard_finding *finding)
{
    struct guard_finding copy = *finding;
    copy.guardrail_name = arena_copy(arena, finding->guardrail_name);
    copy.rule_name = arena_copy(arena, finding->rule_name);
    copy.rule_type = arena_copy(arena, finding->rule_type);
    copy.message = arena_copy(arena, finding->message);
    return copy;
}

void guard_verdict_drop_reviews(struct guard_verdict *verdict)
{
    size_t count = 0;
    verdict->action = GUARD_PASS;
    for (size_t i = 0; i < verdict->count; i++) {
        const struct guard_finding finding = verdict->findings[i];
        if (finding.action != GUARD_REVIEW && finding.action != GUARD_REHEARSE) {
            verdict->findings[count++] = finding;
            verdict->action = finding.action > verdict->action ? finding.action : verdict->action;
        }
    }
    verdict->count = count;
}
