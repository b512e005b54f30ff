/* SPDX-License-Identifier: MIT */
#include "policy/guard.h"

void guard_verdict_drop_reviews(struct guard_verdict *verdict)
{
    size_t count = 0;
    verdict->action = GUARD_PASS;
    for (size_t i = 0; i < verdict->count; i++) {
        const struct guard_finding finding = verdict->findings[i];
        if (finding.action != GUARD_REVIEW) {
            verdict->findings[count++] = finding;
            verdict->action = finding.action > verdict->action ? finding.action : verdict->action;
        }
    }
    verdict->count = count;
}
