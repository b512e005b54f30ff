/* SPDX-License-Identifier: MIT */
#include "protocol/sql/read_budget.h"

#define MINUTE_MS 60000

void read_budgets_set(struct read_budgets *budgets, const struct passage_policy *policy)
{
    arena_reset(&budgets->arena);
    budgets->count = policy->budget_count;
    budgets->items =
        arena_alloc_array(&budgets->arena, budgets->count + 1, sizeof(*budgets->items));
    for (size_t i = 0; i < budgets->count; i++) {
        struct read_budget *budget = &budgets->items[i];
        *budget = (struct read_budget){.rule = policy->budgets[i]};
        budget->rule.finding = guard_finding_copy_in(&budgets->arena, &budget->rule.finding);
    }
}

/* What was read -------------------------------------------------------------------------------- */

static bool is_beyond(const struct read_amount *read, const struct guard_budget *rule)
{
    return read->rows > rule->rows || read->bytes > rule->bytes;
}

static struct read_amount sum_of(const struct read_amount *read, const struct read_amount *more)
{
    return (struct read_amount){.rows = read->rows + more->rows,
                                .bytes = read->bytes + more->bytes};
}

/* Whether all of it is counted. */
static bool hour_takes(const struct read_meter *meter, const struct read_amount *more,
                       const struct read_amount *most, struct read_hour *ret_hour)
{
    *ret_hour = (struct read_hour){.read = {.rows = UINT64_MAX / 2, .bytes = UINT64_MAX / 2}};
    return meter->on_read != NULL && meter->on_read(meter->owner, more, most, ret_hour);
}

const struct read_amount *read_meter_amount(const struct read_meter *meter,
                                            const struct read_budget *budget,
                                            const struct read_hour *hour)
{
    return budget->rule.is_hourly ? &hour->read : &meter->session;
}

/* Budgets -------------------------------------------------------------------------------------- */

static bool is_spent(struct read_budget *budget, const struct read_amount *read)
{
    if (read->rows < budget->over_at.rows || read->bytes < budget->over_at.bytes) {
        budget->is_over = false;
    }
    return budget->is_over || read->rows >= budget->rule.rows || read->bytes >= budget->rule.bytes;
}

const struct read_budget *read_budgets_spent(struct read_budgets *budgets,
                                             const struct read_meter *meter,
                                             struct read_hour *ret_hour)
{
    const struct read_amount nothing = {0};
    const struct read_amount all = {.rows = UINT64_MAX, .bytes = UINT64_MAX};
    bool has_hour = false;
    *ret_hour = (struct read_hour){.falls_in_ms = 0};
    for (size_t i = 0; i < budgets->count; i++) {
        struct read_budget *budget = &budgets->items[i];
        if (budget->rule.finding.action != GUARD_BLOCK) {
            continue;
        }
        if (budget->rule.is_hourly && !has_hour) {
            (void)hour_takes(meter, &nothing, &all, ret_hour);
            has_hour = true;
        }
        if (is_spent(budget, read_meter_amount(meter, budget, ret_hour))) {
            return budget;
        }
    }
    return NULL;
}

/* That of an hour which it would be too much for, the first one. */
static struct read_budget *hour_reason(struct read_budgets *budgets, const struct read_hour *hour,
                                       const struct read_amount *more)
{
    struct read_amount sum = sum_of(&hour->read, more);
    struct read_budget *reason = NULL;
    for (size_t i = 0; i < budgets->count; i++) {
        struct read_budget *budget = &budgets->items[i];
        bool is_limit = budget->rule.is_hourly && budget->rule.finding.action == GUARD_BLOCK;
        if (is_limit && (reason == NULL || !is_beyond(&sum, &reason->rule))) {
            reason = budget;
        }
    }
    return reason;
}

struct read_budget *read_budgets_take(struct read_budgets *budgets, struct read_meter *meter,
                                      const struct read_amount *more, struct read_hour *ret_hour)
{
    struct read_amount session = sum_of(&meter->session, more);
    struct read_amount most = {.rows = UINT64_MAX, .bytes = UINT64_MAX};
    bool has_hours = false;
    bool is_hour_limited = false;
    *ret_hour = (struct read_hour){.falls_in_ms = 0};
    for (size_t i = 0; i < budgets->count; i++) {
        struct read_budget *budget = &budgets->items[i];
        const struct guard_budget *rule = &budget->rule;
        has_hours = has_hours || rule->is_hourly;
        if (rule->finding.action != GUARD_BLOCK) {
            continue;
        }
        if (!rule->is_hourly && is_beyond(&session, rule)) {
            return budget;
        }
        if (rule->is_hourly) {
            is_hour_limited = true;
            most.rows = rule->rows < most.rows ? rule->rows : most.rows;
            most.bytes = rule->bytes < most.bytes ? rule->bytes : most.bytes;
        }
    }
    if (has_hours && !hour_takes(meter, more, &most, ret_hour) && is_hour_limited) {
        return hour_reason(budgets, ret_hour, more);
    }
    meter->session = session;
    return NULL;
}

const struct read_budget *read_budgets_next_over(struct read_budgets *budgets,
                                                 const struct read_meter *meter,
                                                 const struct read_hour *hour)
{
    for (size_t i = 0; i < budgets->count; i++) {
        struct read_budget *budget = &budgets->items[i];
        bool was_over = budget->is_over;
        if (budget->rule.finding.action == GUARD_BLOCK) {
            continue;
        }
        budget->is_over = is_beyond(read_meter_amount(meter, budget, hour), &budget->rule);
        if (budget->is_over && !was_over) {
            return budget;
        }
    }
    return NULL;
}

/* Words ---------------------------------------------------------------------------------------- */

static struct slice number_in(struct arena *arena, uint64_t number, const char *unit)
{
    return number == UINT64_MAX ? SLICE("")
                                : arena_format(arena, "%llu %s%s", (unsigned long long)number, unit,
                                               number == 1 ? "" : "s");
}

struct guard_finding read_budget_finding_in(struct arena *arena, const struct read_budget *budget)
{
    const struct guard_budget *rule = &budget->rule;
    struct guard_finding finding = rule->finding;
    struct slice rows = number_in(arena, rule->rows, "row");
    struct slice bytes = number_in(arena, rule->bytes, "byte");
    finding.why = arena_format(arena, "the read budget of %.*s%s%.*s %s is spent", SLICE_ARG(rows),
                               rows.len > 0 && bytes.len > 0 ? " and " : "", SLICE_ARG(bytes),
                               rule->is_hourly ? "in an hour" : "for a session");
    return finding;
}

uint64_t read_hour_minutes(const struct read_hour *hour)
{
    return (hour->falls_in_ms + MINUTE_MS - 1) / MINUTE_MS;
}
