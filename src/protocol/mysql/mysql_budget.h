/* SPDX-License-Identifier: MIT */
/* Read budgets of a session: rows that go on to the client are counted, and where one would be more
 * than a budget has, the answer ends before it. Those of a session are counted here, those of an
 * hour by the owner, who knows the user's other sessions. A budget that only warns or observes is
 * found when more was read than it has. */
#ifndef GH_MYSQL_MYSQL_BUDGET_H
#define GH_MYSQL_MYSQL_BUDGET_H

#include "base/arena.h"
#include "protocol/passage.h"

struct mysql_budgets {
    struct arena arena;
    struct mysql_budget *items;
    size_t count;
    struct read_amount session;
};

void mysql_budgets_init(struct mysql_budgets *budgets);
void mysql_budgets_release(struct mysql_budgets *budgets);
/* What was read stays read. */
void mysql_budgets_set(struct mysql_budgets *budgets, const struct passage_policy *policy);
/* Whether a statement that reads may begin, or a row of 'size' bytes go on; the finding is told and
 * 'words' says why not. */
bool mysql_budgets_may_begin(struct mysql_budgets *budgets, const struct passage_events *events,
                             void *owner, uint64_t number, struct buf *words);
bool mysql_budgets_take(struct mysql_budgets *budgets, const struct passage_events *events,
                        void *owner, uint64_t number, size_t size, struct buf *words);

#endif
