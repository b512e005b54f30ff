/* SPDX-License-Identifier: MIT */
/* Read budgets: what goes on to the client is counted, a run of rows at a time, and where it would
 * be more than a budget has, the answer ends with an error before that row. Budgets of a session
 * are counted here, those of an hour by the owner, who knows the user's other sessions. A budget
 * that only warns or observes is found when more was read than it has, and again when less was and
 * then more. */
#include "protocol/postgres/pg_filter_budget.h"

#include "base/limits.h"
#include "base/must.h"
#include "base/reader.h"
#include "protocol/postgres/pg_filter_judge.h"
#include "protocol/postgres/pg_filter_refuse.h"
#include "protocol/postgres/pg_filter_target.h"

#define MINUTE_MS 60000

/* Budgets ---------------------------------------------------------------------------------------
 */

void pg_filter_budget_init(struct pg_filter *filter)
{
    arena_init(&filter->reading.budgets.arena);
    arena_init(&filter->reading.next.arena);
}

void pg_filter_budget_release(struct pg_filter *filter)
{
    arena_release(&filter->reading.budgets.arena);
    arena_release(&filter->reading.next.arena);
}

/* Those of 'next' take the place of the others. */
static void budgets_turn(struct pg_filter_reading *reading)
{
    struct pg_filter_budgets before = reading->budgets;
    reading->budgets = reading->next;
    reading->next = (struct pg_filter_budgets){.arena = before.arena};
    arena_reset(&reading->next.arena);
    reading->has_next = false;
}

/* Answers that are under way stay under those that they were asked under; should there be a third
 * set before they have come, that is left out which came between. */
void pg_filter_budget_set(struct pg_filter *filter, const struct passage_policy *policy)
{
    struct pg_filter_reading *reading = &filter->reading;
    struct pg_filter_budgets *next = &reading->next;
    if (policy->budget_count == 0 && !pg_filter_has_budgets(filter)) {
        return;
    }
    arena_reset(&next->arena);
    next->count = policy->budget_count;
    next->items = arena_alloc_array(&next->arena, next->count, sizeof(*next->items));
    for (size_t i = 0; i < next->count; i++) {
        next->items[i] = (struct pg_filter_budget){.rule = policy->budgets[i]};
        pg_filter_copy_rule(&next->arena, &policy->budgets[i].finding,
                            &next->items[i].rule.finding);
    }
    reading->next_from = reading->has_next ? reading->next_from : filter->state.next_id;
    reading->has_next = true;
    if (filter->state.count == 0) {
        budgets_turn(reading);
    }
}

bool pg_filter_has_budgets(const struct pg_filter *filter)
{
    return filter->reading.budgets.count > 0 || filter->reading.has_next;
}

/* Those that apply to the request of that number. */
static struct pg_filter_budgets *budgets_of(struct pg_filter *filter, uint64_t request)
{
    struct pg_filter_reading *reading = &filter->reading;
    if (reading->has_next && request >= reading->next_from) {
        budgets_turn(reading);
    }
    return &reading->budgets;
}

/* What was read ---------------------------------------------------------------------------------
 */

static bool is_beyond(const struct read_amount *read, const struct guard_budget *rule)
{
    return read->rows > rule->rows || read->bytes > rule->bytes;
}

static struct read_amount sum_of(const struct read_amount *read, const struct read_amount *more)
{
    return (struct read_amount){.rows = read->rows + more->rows,
                                .bytes = read->bytes + more->bytes};
}

static bool hour_takes(struct pg_filter *filter, const struct read_amount *more,
                       const struct read_amount *most, struct read_hour *ret_hour)
{
    const struct pg_filter_settings *settings = &filter->settings;
    *ret_hour = (struct read_hour){.read = {.rows = UINT64_MAX / 2, .bytes = UINT64_MAX / 2}};
    return settings->on_read != NULL && settings->on_read(settings->owner, more, most, ret_hour);
}

static const struct read_amount *read_of(const struct pg_filter *filter,
                                         const struct guard_budget *rule,
                                         const struct read_hour *hour)
{
    return rule->is_hourly ? &hour->read : &filter->reading.session;
}

/* Words -----------------------------------------------------------------------------------------
 */

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
    if (!rule->is_hourly) {
        return SLICE("A new session has a budget of its own.");
    }
    uint64_t minutes = (hour->falls_in_ms + MINUTE_MS - 1) / MINUTE_MS;
    return hour->falls_in_ms == 0 ? SLICE("The row alone is more than the budget.")
           : minutes <= 1         ? SLICE("Some of it can be read in a minute.")
                                  : arena_format(arena, "Some of it can be read in %llu minutes.",
                                                 (unsigned long long)minutes);
}

/* On record, and as a message; of one that only observes there is none. */
static void budget_found(struct pg_filter *filter, const struct guard_budget *rule,
                         const struct read_hour *hour, uint64_t number, struct buf *words)
{
    struct arena arena CLEANUP(arena_release);
    struct guard_finding finding = rule->finding;
    bool is_blocked = finding.action == GUARD_BLOCK;
    arena_init(&arena);
    finding.why = why_in(&arena, rule);
    const struct guard_event event = {
        .kind = GUARD_EVENT_FINDING,
        .request = number,
        .finding = &finding,
    };
    filter->settings.on_event(filter->settings.owner, &event);
    if (finding.action != GUARD_OBSERVE) {
        pg_filter_write_finding(words, &finding, is_blocked ? "53400" : "01000",
                                is_blocked ? hint_in(&arena, rule, hour) : SLICE(""));
    }
}

/* Statements ------------------------------------------------------------------------------------
 */

/* Whether nothing may be read: all of it was, or what was left has not been enough. */
static bool is_spent(struct pg_filter_budget *budget, const struct read_amount *read)
{
    if (read->rows < budget->over_at.rows || read->bytes < budget->over_at.bytes) {
        budget->is_over = false;
    }
    return budget->is_over || read->rows >= budget->rule.rows || read->bytes >= budget->rule.bytes;
}

/* By the budgets that it will be answered under. */
enum err pg_filter_budget_check(struct pg_filter *filter, char type,
                                const struct pg_filter_facts *facts, bool *ret_passes,
                                struct error *reterr_error)
{
    struct pg_filter_reading *reading = &filter->reading;
    struct pg_filter_budgets *budgets = reading->has_next ? &reading->next : &reading->budgets;
    const struct read_amount nothing = {0};
    const struct read_amount all = {.rows = UINT64_MAX, .bytes = UINT64_MAX};
    struct read_hour hour;
    bool has_hour = false;
    *ret_passes = true;
    for (size_t i = 0; i < budgets->count && facts->reads; i++) {
        struct pg_filter_budget *budget = &budgets->items[i];
        if (budget->rule.finding.action != GUARD_BLOCK) {
            continue;
        }
        if (budget->rule.is_hourly && !has_hour) {
            (void)hour_takes(filter, &nothing, &all, &hour);
            has_hour = true;
        }
        if (is_spent(budget, read_of(filter, &budget->rule, &hour))) {
            struct buf words CLEANUP(buf_release);
            buf_init(&words, LIMIT_PG_FILTER_WORDS_SIZE);
            *ret_passes = false;
            budget_found(filter, &budget->rule, &hour, filter->number, &words);
            return pg_filter_refuse(filter, type, &words, reterr_error);
        }
    }
    return ERR_NONE;
}

/* Rows ------------------------------------------------------------------------------------------
 */

bool pg_filter_budget_counts(const struct pg_filter *filter, char type)
{
    return pg_filter_has_budgets(filter) &&
           (type == PGWIRE_SERVER_DATA_ROW || type == PGWIRE_SERVER_COPY_DATA ||
            type == PGWIRE_SERVER_FUNCTION_RESULT);
}

/* Those that do not block, before what was just counted goes on. */
static enum err budget_tell(struct pg_filter *filter, struct pg_filter_budgets *budgets,
                            const struct read_hour *hour, struct error *reterr_error)
{
    for (size_t i = 0; i < budgets->count; i++) {
        struct pg_filter_budget *budget = &budgets->items[i];
        const struct read_amount *read = read_of(filter, &budget->rule, hour);
        bool was_over = budget->is_over;
        if (budget->rule.finding.action == GUARD_BLOCK) {
            continue;
        }
        budget->is_over = is_beyond(read, &budget->rule);
        if (budget->is_over && !was_over) {
            struct buf words CLEANUP(buf_release);
            buf_init(&words, LIMIT_PG_FILTER_WORDS_SIZE);
            budget_found(filter, &budget->rule, hour, filter->answered.number, &words);
            enum err err = pg_filter_tell(filter, buf_view(&words), reterr_error);
            if (err != ERR_NONE) {
                return err;
            }
        }
    }
    return ERR_NONE;
}

/* That of an hour which it would be too much for, the first one. */
static struct pg_filter_budget *hour_reason(struct pg_filter_budgets *budgets,
                                            const struct read_hour *hour,
                                            const struct read_amount *more)
{
    struct read_amount sum = sum_of(&hour->read, more);
    struct pg_filter_budget *reason = NULL;
    for (size_t i = 0; i < budgets->count; i++) {
        struct pg_filter_budget *budget = &budgets->items[i];
        bool is_limit = budget->rule.is_hourly && budget->rule.finding.action == GUARD_BLOCK;
        if (is_limit && (reason == NULL || !is_beyond(&sum, &reason->rule))) {
            reason = budget;
        }
    }
    return reason;
}

/* All of it, or none. *ret_budget: which one it would be too much for; NULL: it is counted. */
static enum err budget_take(struct pg_filter *filter, const struct read_amount *more,
                            struct pg_filter_budget **ret_budget, struct read_hour *hour,
                            struct error *reterr_error)
{
    struct pg_filter_budgets *budgets = budgets_of(filter, filter->answered.request);
    struct read_amount session = sum_of(&filter->reading.session, more);
    struct read_amount most = {.rows = UINT64_MAX, .bytes = UINT64_MAX};
    bool has_hours = false;
    bool is_hour_limited = false;
    *ret_budget = NULL;
    for (size_t i = 0; i < budgets->count; i++) {
        struct pg_filter_budget *budget = &budgets->items[i];
        const struct guard_budget *rule = &budget->rule;
        has_hours = has_hours || rule->is_hourly;
        if (rule->finding.action != GUARD_BLOCK) {
            continue;
        }
        if (!rule->is_hourly && is_beyond(&session, rule)) {
            *ret_budget = budget;
            return ERR_NONE;
        }
        if (rule->is_hourly) {
            is_hour_limited = true;
            most.rows = rule->rows < most.rows ? rule->rows : most.rows;
            most.bytes = rule->bytes < most.bytes ? rule->bytes : most.bytes;
        }
    }
    if (has_hours && !hour_takes(filter, more, &most, hour) && is_hour_limited) {
        *ret_budget = hour_reason(budgets, hour, more);
        return ERR_NONE;
    }
    filter->reading.session = session;
    return budgets->count == 0 ? ERR_NONE : budget_tell(filter, budgets, hour, reterr_error);
}

static enum err budget_block(struct pg_filter *filter, struct pg_filter_budget *budget,
                             const struct read_hour *hour, struct error *reterr_error)
{
    struct buf words CLEANUP(buf_release);
    buf_init(&words, LIMIT_PG_FILTER_WORDS_SIZE);
    budget->over_at = *read_of(filter, &budget->rule, hour);
    budget->is_over = !budget->rule.is_hourly || hour->falls_in_ms > 0;
    budget_found(filter, &budget->rule, hour, filter->answered.number, &words);
    enum err err = pg_filter_tell(filter, buf_view(&words), reterr_error);
    pg_filter_block(filter);
    return err;
}

enum err pg_filter_budget_put_header(struct pg_filter *filter, uint32_t size, bool *ret_passes,
                                     struct error *reterr_error)
{
    const struct read_amount more = {.rows = 1, .bytes = size};
    struct pg_filter_budget *budget = NULL;
    struct read_hour hour = {0};
    enum err err = budget_take(filter, &more, &budget, &hour, reterr_error);
    *ret_passes = err == ERR_NONE && budget == NULL;
    return err == ERR_NONE && budget != NULL ? budget_block(filter, budget, &hour, reterr_error)
                                             : err;
}

/* The next message, or what is there of it, and the size of its body; 0 when it has begun before.
 */
static struct slice next_part(struct slice *rest, size_t *left, uint32_t *ret_size)
{
    *ret_size = 0;
    if (*left == 0) {
        struct reader reader = reader_of(slice_from(*rest, 1));
        *ret_size = reader_u32(&reader) - (uint32_t)sizeof(uint32_t);
        must(!reader.failed);
        *left = (size_t)*ret_size + PGWIRE_HEADER_SIZE;
    }
    struct slice part = slice_sub(*rest, 0, *left);
    *left -= part.len;
    *rest = slice_from(*rest, part.len);
    return part;
}

static struct read_amount count_of(const struct pg_filter *filter, struct slice messages,
                                   size_t *left)
{
    struct read_amount sum = {0};
    while (messages.len > 0) {
        bool is_begun = *left > 0;
        uint32_t size = 0;
        struct slice part = next_part(&messages, left, &size);
        if (!is_begun && pg_filter_budget_counts(filter, part.at[0])) {
            sum.rows++;
            sum.bytes += size;
        }
    }
    return sum;
}

/* One by one, up to the one that does not fit. */
static enum err budget_put_some(struct pg_filter *filter, struct slice messages, bool is_lasting,
                                struct error *reterr_error)
{
    enum err err = ERR_NONE;
    size_t *left = &filter->reading.left;
    filter->reading.count = filter->reading.count > 0 ? 1 : 0;
    while (messages.len > 0 && err == ERR_NONE && !filter->is_blocked) {
        bool is_begun = *left > 0;
        bool passes = true;
        uint32_t size = 0;
        struct slice part = next_part(&messages, left, &size);
        if (!is_begun && pg_filter_budget_counts(filter, part.at[0])) {
            err = pg_filter_budget_put_header(filter, size, &passes, reterr_error);
        }
        if (err == ERR_NONE && passes) {
            err = pg_filter_put_message(filter, part, is_lasting, reterr_error);
        }
    }
    *left = filter->is_blocked ? 0 : *left;
    return err;
}

enum err pg_filter_budget_put(struct pg_filter *filter, struct slice messages, bool is_lasting,
                              struct error *reterr_error)
{
    struct pg_filter_budget *budget = NULL;
    struct read_hour hour = {0};
    uint64_t count = filter->reading.count;
    size_t left = filter->reading.left;
    struct read_amount more = {.rows = count, .bytes = messages.len - count * PGWIRE_HEADER_SIZE};
    if (count == 0) {
        more = count_of(filter, messages, &left);
    }
    enum err err =
        more.rows == 0 ? ERR_NONE : budget_take(filter, &more, &budget, &hour, reterr_error);
    if (err != ERR_NONE) {
        return err;
    }
    if (budget != NULL) {
        return budget_put_some(filter, messages, is_lasting, reterr_error);
    }
    filter->reading.left = left;
    return pg_filter_put_message(filter, messages, is_lasting, reterr_error);
}
