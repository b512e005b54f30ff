/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_budget.h"

#include "base/memory.h"

#define MINUTE_MS 60000

struct mysql_budget {
    struct guard_budget rule;
    bool is_over; /* it was found */
};

/* What all that tells of one needs. */
struct budget_call {
    const struct passage_events *events;
    void *owner;
    uint64_t number; /* of the command */
    struct buf *words;
};

void mysql_budgets_init(struct mysql_budgets *budgets)
{
    *budgets = (struct mysql_budgets){.count = 0};
    arena_init_small(&budgets->arena);
}

void mysql_budgets_release(struct mysql_budgets *budgets)
{
    arena_release(&budgets->arena);
}

static struct slice copy(struct arena *arena, struct slice text)
{
    return arena_copy(arena, text);
}

void mysql_budgets_set(struct mysql_budgets *budgets, const struct passage_policy *policy)
{
    struct arena *arena = &budgets->arena;
    arena_reset(arena);
    budgets->count = policy->budget_count;
    budgets->items = arena_alloc_array(arena, budgets->count + 1, sizeof(*budgets->items));
    for (size_t i = 0; i < budgets->count; i++) {
        struct mysql_budget *budget = &budgets->items[i];
        *budget = (struct mysql_budget){.rule = policy->budgets[i]};
        struct guard_finding *finding = &budget->rule.finding;
        finding->guardrail_name = copy(arena, finding->guardrail_name);
        finding->rule_name = copy(arena, finding->rule_name);
        finding->rule_type = copy(arena, finding->rule_type);
        finding->message = copy(arena, finding->message);
    }
}

/* Words ---------------------------------------------------------------------------------------- */

static struct slice number_in(struct arena *arena, uint64_t number, const char *unit)
{
    return number == UINT64_MAX ? SLICE("")
                                : arena_format(arena, "%llu %s%s", (unsigned long long)number, unit,
                                               number == 1 ? "" : "s");
}

static struct slice why_in(struct arena *arena, const struct guard_budget *rule)
{
    struct slice rows = number_in(arena, rule->rows, "row");
    struct slice bytes = number_in(arena, rule->bytes, "byte");
    return arena_format(arena, "the read budget of %.*s%s%.*s %s is spent", SLICE_ARG(rows),
                        rows.len > 0 && bytes.len > 0 ? " and " : "", SLICE_ARG(bytes),
                        rule->is_hourly ? "in an hour" : "for a session");
}

static struct slice hint_in(struct arena *arena, const struct guard_budget *rule,
                            const struct read_hour *hour)
{
    uint64_t minutes = (hour->falls_in_ms + MINUTE_MS - 1) / MINUTE_MS;
    return !rule->is_hourly         ? SLICE("A new session has a budget of its own")
           : hour->falls_in_ms == 0 ? SLICE("The row alone is more than the budget")
                                    : arena_format(arena, "Some of it can be read in %llu min",
                                                   (unsigned long long)minutes);
}

static void tell(const struct budget_call *call, const struct guard_budget *rule,
                 const struct read_hour *hour)
{
    struct arena arena CLEANUP(arena_release);
    struct guard_finding finding = rule->finding;
    arena_init(&arena);
    finding.why = why_in(&arena, rule);
    const struct guard_event event = {
        .kind = GUARD_EVENT_FINDING, .request = call->number, .finding = &finding};
    call->events->on_finding(call->owner, &event);
    if (finding.action == GUARD_BLOCK) {
        struct slice name = finding.rule_name.len > 0 ? finding.rule_name : finding.guardrail_name;
        struct slice text = arena_format(&arena, "blocked by guard rail '%.*s': %.*s%s%.*s. %.*s",
                                         SLICE_ARG(slice_sub(name, 0, 100)), SLICE_ARG(finding.why),
                                         finding.message.len > 0 ? ": " : "",
                                         SLICE_ARG(slice_sub(finding.message, 0, 200)),
                                         SLICE_ARG(hint_in(&arena, rule, hour)));
        buf_clear(call->words);
        (void)!buf_append(call->words, text);
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
static bool hour_takes(const struct budget_call *call, const struct read_amount *more,
                       const struct read_amount *most, struct read_hour *ret_hour)
{
    *ret_hour = (struct read_hour){.read = {.rows = UINT64_MAX / 2, .bytes = UINT64_MAX / 2}};
    return call->events->on_read != NULL &&
           call->events->on_read(call->owner, more, most, ret_hour);
}

/* The first one that blocks and that this much would be too much for. */
static const struct mysql_budget *reason_of(const struct mysql_budgets *budgets, bool is_hourly,
                                            const struct read_amount *read)
{
    for (size_t i = 0; i < budgets->count; i++) {
        const struct guard_budget *rule = &budgets->items[i].rule;
        if (rule->is_hourly == is_hourly && rule->finding.action == GUARD_BLOCK &&
            is_beyond(read, rule)) {
            return &budgets->items[i];
        }
    }
    return NULL;
}

static struct read_amount hour_limit(const struct mysql_budgets *budgets, bool *ret_has_hours)
{
    struct read_amount most = {.rows = UINT64_MAX, .bytes = UINT64_MAX};
    *ret_has_hours = false;
    for (size_t i = 0; i < budgets->count; i++) {
        const struct guard_budget *rule = &budgets->items[i].rule;
        *ret_has_hours = *ret_has_hours || rule->is_hourly;
        if (rule->is_hourly && rule->finding.action == GUARD_BLOCK) {
            most.rows = rule->rows < most.rows ? rule->rows : most.rows;
            most.bytes = rule->bytes < most.bytes ? rule->bytes : most.bytes;
        }
    }
    return most;
}

static bool refuse(const struct budget_call *call, const struct mysql_budgets *budgets,
                   bool is_hourly, const struct read_amount *read, const struct read_hour *hour)
{
    const struct mysql_budget *reason = reason_of(budgets, is_hourly, read);
    for (size_t i = 0; i < budgets->count && reason == NULL; i++) {
        const struct guard_budget *rule = &budgets->items[i].rule;
        bool is_one = rule->is_hourly == is_hourly && rule->finding.action == GUARD_BLOCK;
        reason = is_one ? &budgets->items[i] : NULL;
    }
    if (reason != NULL) {
        tell(call, &reason->rule, hour);
    }
    return false;
}

/* Those that do not block: once, when there was more than they have. */
static void tell_others(const struct budget_call *call, struct mysql_budgets *budgets,
                        const struct read_hour *hour)
{
    for (size_t i = 0; i < budgets->count; i++) {
        struct mysql_budget *budget = &budgets->items[i];
        const struct read_amount *read = budget->rule.is_hourly ? &hour->read : &budgets->session;
        bool was_over = budget->is_over;
        if (budget->rule.finding.action == GUARD_BLOCK) {
            continue;
        }
        budget->is_over = is_beyond(read, &budget->rule);
        if (budget->is_over && !was_over) {
            tell(call, &budget->rule, hour);
        }
    }
}

static bool take(struct mysql_budgets *budgets, const struct budget_call *call,
                 const struct read_amount *more)
{
    struct read_amount session = sum_of(&budgets->session, more);
    struct read_hour hour = {0};
    bool has_hours = false;
    struct read_amount most = hour_limit(budgets, &has_hours);
    if (reason_of(budgets, false, &session) != NULL) {
        return refuse(call, budgets, false, &session, &hour);
    }
    if (has_hours && !hour_takes(call, more, &most, &hour)) {
        struct read_amount sum = sum_of(&hour.read, more);
        if (most.rows < UINT64_MAX || most.bytes < UINT64_MAX) {
            return refuse(call, budgets, true, &sum, &hour);
        }
    }
    budgets->session = session;
    tell_others(call, budgets, &hour);
    return true;
}

bool mysql_budgets_may_begin(struct mysql_budgets *budgets, const struct passage_events *events,
                             void *owner, uint64_t number, struct buf *words)
{
    const struct budget_call call = {events, owner, number, words};
    const struct read_amount nothing = {0};
    const struct read_amount all = {.rows = UINT64_MAX, .bytes = UINT64_MAX};
    struct read_amount session = {budgets->session.rows + 1, budgets->session.bytes + 1};
    struct read_hour hour = {0};
    bool has_hours = false;
    (void)hour_limit(budgets, &has_hours);
    if (reason_of(budgets, false, &session) != NULL) {
        return refuse(&call, budgets, false, &session, &hour);
    }
    if (has_hours) {
        (void)hour_takes(&call, &nothing, &all, &hour);
        struct read_amount sum = {hour.read.rows + 1, hour.read.bytes + 1};
        if (reason_of(budgets, true, &sum) != NULL) {
            return refuse(&call, budgets, true, &sum, &hour);
        }
    }
    return true;
}

bool mysql_budgets_take(struct mysql_budgets *budgets, const struct passage_events *events,
                        void *owner, uint64_t number, size_t size, struct buf *words)
{
    const struct budget_call call = {events, owner, number, words};
    const struct read_amount more = {.rows = 1, .bytes = size};
    return budgets->count == 0 || take(budgets, &call, &more);
}
