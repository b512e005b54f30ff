/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_budget.h"

void mysql_budgets_init(struct mysql_budgets *self, const struct passage_events *events,
                        void *owner)
{
    *self = (struct mysql_budgets){
        .meter = {.on_read = events->on_read, .owner = owner},
        .events = events,
        .owner = owner,
    };
    arena_init_small(&self->budgets.arena);
}

void mysql_budgets_release(struct mysql_budgets *self)
{
    arena_release(&self->budgets.arena);
}

void mysql_budgets_set(struct mysql_budgets *self, const struct passage_policy *policy)
{
    read_budgets_set(&self->budgets, policy);
}

static struct slice hint_in(struct arena *arena, const struct guard_budget *rule,
                            const struct read_hour *hour)
{
    return !rule->is_hourly         ? SLICE("A new session has a budget of its own")
           : hour->falls_in_ms == 0 ? SLICE("The row alone is more than the budget")
                                    : arena_format(arena, "Some of it can be read in %llu min",
                                                   (unsigned long long)read_hour_minutes(hour));
}

static void tell(const struct mysql_budgets *self, const struct read_budget *budget,
                 const struct read_hour *hour, uint64_t number, struct buf *words)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    const struct guard_finding finding = read_budget_finding_in(&arena, budget);
    const struct guard_event event = {
        .kind = GUARD_EVENT_FINDING, .request = number, .finding = &finding};
    self->events->on_finding(self->owner, &event);
    if (finding.action == GUARD_BLOCK) {
        struct slice name = finding.rule_name.len > 0 ? finding.rule_name : finding.guardrail_name;
        struct slice text = arena_format(&arena, "blocked by guard rail '%.*s': %.*s%s%.*s. %.*s",
                                         SLICE_ARG(slice_sub(name, 0, 100)), SLICE_ARG(finding.why),
                                         finding.message.len > 0 ? ": " : "",
                                         SLICE_ARG(slice_sub(finding.message, 0, 200)),
                                         SLICE_ARG(hint_in(&arena, &budget->rule, hour)));
        buf_clear(words);
        (void)!buf_append(words, text);
    }
}

bool mysql_budgets_may_begin(struct mysql_budgets *self, uint64_t number, struct buf *words)
{
    struct read_hour hour;
    const struct read_budget *spent = read_budgets_spent(&self->budgets, &self->meter, &hour);
    if (spent != NULL) {
        tell(self, spent, &hour, number, words);
    }
    return spent == NULL;
}

bool mysql_budgets_take(struct mysql_budgets *self, uint64_t number, size_t size, struct buf *words)
{
    const struct read_amount more = {.rows = 1, .bytes = size};
    const struct read_budget *over = NULL;
    struct read_hour hour;
    if (self->budgets.count == 0) {
        return true;
    }
    const struct read_budget *reason =
        read_budgets_take(&self->budgets, &self->meter, &more, &hour);
    if (reason != NULL) {
        tell(self, reason, &hour, number, words);
        return false;
    }
    while ((over = read_budgets_next_over(&self->budgets, &self->meter, &hour)) != NULL) {
        tell(self, over, &hour, number, words);
    }
    return true;
}
