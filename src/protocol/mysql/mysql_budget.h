/* SPDX-License-Identifier: MIT */
/* Read budgets of a session (sql/read_budget.h): rows that go on to the client are counted, and
 * where one would be more than a budget has, the answer ends before it. */
#ifndef GH_MYSQL_MYSQL_BUDGET_H
#define GH_MYSQL_MYSQL_BUDGET_H

#include "protocol/sql/read_budget.h"

struct mysql_budgets {
    struct read_budgets budgets;
    struct read_meter meter;
    const struct passage_events *events;
    void *owner;
};

void mysql_budgets_init(struct mysql_budgets *self, const struct passage_events *events,
                        void *owner);
void mysql_budgets_release(struct mysql_budgets *self);
/* What was read stays read. */
void mysql_budgets_set(struct mysql_budgets *self, const struct passage_policy *policy);
/* Whether a statement that reads may begin, or a row of 'size' bytes go on, for the command of that
 * number; the finding is told and 'words' says why not. */
bool mysql_budgets_may_begin(struct mysql_budgets *self, uint64_t number, struct buf *words);
bool mysql_budgets_take(struct mysql_budgets *self, uint64_t number, size_t size,
                        struct buf *words);

#endif
