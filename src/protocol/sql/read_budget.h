/* SPDX-License-Identifier: MIT */
/* Read budgets of a session, as every SQL database has them: what goes on to the client is counted,
 * and where it would be more than a budget has, it does not go on. Budgets of a session are counted
 * here, those of an hour by the owner, who knows the user's other sessions. A budget that only
 * warns or observes is found when more was read than it has, and again when less was and then more.
 *
 * What a row is, and how a client is told, is the protocol's. */
#ifndef GH_SQL_READ_BUDGET_H
#define GH_SQL_READ_BUDGET_H

#include "base/arena.h"
#include "protocol/passage.h"

/* A budget, and where the session stands with it. */
struct read_budget {
    struct guard_budget rule;
    bool is_over;               /* it was found, until less is read than 'over_at' */
    struct read_amount over_at; /* what was read when it was, of one that blocks */
};

struct read_budgets {
    struct arena arena; /* of the texts of the rules */
    struct read_budget *items;
    size_t count;
};

/* What was read. It stays read when there are other budgets. */
struct read_meter {
    struct read_amount session; /* since it has had budgets */
    /* As passage_events has it. NULL: nothing may be read where a budget of an hour is. */
    bool (*on_read)(void *owner, const struct read_amount *more, const struct read_amount *most,
                    struct read_hour *ret_hour);
    void *owner;
};

/* Those of the policy take the place of the others. 'budgets' has an arena. */
void read_budgets_set(struct read_budgets *budgets, const struct passage_policy *policy);

/* What counts for a budget. */
const struct read_amount *read_meter_amount(const struct read_meter *meter,
                                            const struct read_budget *budget,
                                            const struct read_hour *hour);

/* The first one that blocks and under which nothing may be read: all of it was, or what was left
 * has not been enough. NULL: a statement that reads may begin. */
const struct read_budget *read_budgets_spent(struct read_budgets *budgets,
                                             const struct read_meter *meter,
                                             struct read_hour *ret_hour);
/* 'more' is counted, all of it or nothing. Returns the budget that blocks it; NULL: it is counted,
 * and read_budgets_next_over() tells what was found. */
struct read_budget *read_budgets_take(struct read_budgets *budgets, struct read_meter *meter,
                                      const struct read_amount *more, struct read_hour *ret_hour);
/* Of those that do not block, one of which more was read than it has, that is found now; then the
 * next. NULL: there is none. */
const struct read_budget *read_budgets_next_over(struct read_budgets *budgets,
                                                 const struct read_meter *meter,
                                                 const struct read_hour *hour);

/* What is told of a budget: its rule's finding, and why. */
struct guard_finding read_budget_finding_in(struct arena *arena, const struct read_budget *budget);
/* Until some of an hour's can be read again, rounded up. */
uint64_t read_hour_minutes(const struct read_hour *hour);

#endif
