/* SPDX-License-Identifier: MIT */
/* Read budgets: what goes on to the client is counted, a run of rows at a time, and where it would
 * be more than a budget has, the answer ends with an error before that row. */
#include "protocol/postgres/pg_filter_budget.h"

#include "base/limits.h"
#include "base/must.h"
#include "base/reader.h"
#include "protocol/postgres/pg_filter_judge.h"
#include "protocol/postgres/pg_filter_refuse.h"
#include "protocol/postgres/pg_filter_target.h"

/* Budgets ---------------------------------------------------------------------------------------
 */

void pg_filter_budget_init(struct pg_filter *filter)
{
    arena_init(&filter->reading.budgets.arena);
    arena_init(&filter->reading.next.arena);
    filter->reading.meter.on_read = filter->settings.on_read;
    filter->reading.meter.owner = filter->settings.owner;
}

void pg_filter_budget_release(struct pg_filter *filter)
{
    arena_release(&filter->reading.budgets.arena);
    arena_release(&filter->reading.next.arena);
}

/* Those of 'next' take the place of the others. */
static void budgets_turn(struct pg_filter_reading *reading)
{
    struct read_budgets before = reading->budgets;
    reading->budgets = reading->next;
    reading->next = (struct read_budgets){.arena = before.arena};
    arena_reset(&reading->next.arena);
    reading->has_next = false;
}

/* Answers that are under way stay under those that they were asked under; should there be a third
 * set before they have come, that is left out which came between. */
void pg_filter_budget_set(struct pg_filter *filter, const struct passage_policy *policy)
{
    struct pg_filter_reading *reading = &filter->reading;
    if (policy->budget_count == 0 && !pg_filter_has_budgets(filter)) {
        return;
    }
    read_budgets_set(&reading->next, policy);
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
static struct read_budgets *budgets_of(struct pg_filter *filter, uint64_t request)
{
    struct pg_filter_reading *reading = &filter->reading;
    if (reading->has_next && request >= reading->next_from) {
        budgets_turn(reading);
    }
    return &reading->budgets;
}

/* Words -----------------------------------------------------------------------------------------
 */

static struct slice hint_in(struct arena *arena, const struct guard_budget *rule,
                            const struct read_hour *hour)
{
    if (!rule->is_hourly) {
        return SLICE("A new session has a budget of its own.");
    }
    uint64_t minutes = read_hour_minutes(hour);
    return hour->falls_in_ms == 0 ? SLICE("The row alone is more than the budget.")
           : minutes <= 1         ? SLICE("Some of it can be read in a minute.")
                                  : arena_format(arena, "Some of it can be read in %llu minutes.",
                                                 (unsigned long long)minutes);
}

/* On record, and as a message; of one that only observes there is none. */
static void budget_found(struct pg_filter *filter, const struct read_budget *budget,
                         const struct read_hour *hour, uint64_t number, struct buf *words)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    const struct guard_finding finding = read_budget_finding_in(&arena, budget);
    bool is_blocked = finding.action == GUARD_BLOCK;
    const struct guard_event event = {
        .kind = GUARD_EVENT_FINDING,
        .request = number,
        .finding = &finding,
    };
    filter->settings.on_event(filter->settings.owner, &event);
    if (finding.action != GUARD_OBSERVE) {
        pg_filter_write_finding(words, &finding, is_blocked ? "53400" : "01000",
                                is_blocked ? hint_in(&arena, &budget->rule, hour) : SLICE(""));
    }
}

/* Statements ------------------------------------------------------------------------------------
 */

/* By the budgets that it will be answered under. */
enum err pg_filter_budget_check(struct pg_filter *filter, char type,
                                const struct pg_filter_facts *facts, struct error *reterr_error)
{
    struct pg_filter_reading *reading = &filter->reading;
    struct read_budgets *budgets = reading->has_next ? &reading->next : &reading->budgets;
    struct read_hour hour;
    const struct read_budget *spent =
        facts->reads ? read_budgets_spent(budgets, &reading->meter, &hour) : NULL;
    if (spent == NULL) {
        return ERR_NONE;
    }
    struct buf words CLEANUP(buf_release);
    buf_init(&words, LIMIT_PG_FILTER_WORDS_SIZE);
    budget_found(filter, spent, &hour, filter->number, &words);
    return pg_filter_refuse(filter, type, &words, reterr_error);
}

/* Rows ------------------------------------------------------------------------------------------
 */

bool pg_filter_budget_counts(const struct pg_filter *filter, char type)
{
    return pg_filter_has_budgets(filter) &&
           (type == PGWIRE_SERVER_DATA_ROW || type == PGWIRE_SERVER_COPY_DATA ||
            type == PGWIRE_SERVER_FUNCTION_RESULT);
}

/* All of it, or none. *ret_budget: which one it would be too much for; NULL: it is counted. What is
 * found of those that do not block is told before it goes on. */
static enum err budget_take(struct pg_filter *filter, const struct read_amount *more,
                            struct read_budget **ret_budget, struct read_hour *hour,
                            struct error *reterr_error)
{
    struct read_meter *meter = &filter->reading.meter;
    struct read_budgets *budgets = budgets_of(filter, filter->answered.request);
    const struct read_budget *over = NULL;
    enum err err = ERR_NONE;
    *ret_budget = read_budgets_take(budgets, meter, more, hour);
    while (*ret_budget == NULL && err == ERR_NONE &&
           (over = read_budgets_next_over(budgets, meter, hour)) != NULL) {
        struct buf words CLEANUP(buf_release);
        buf_init(&words, LIMIT_PG_FILTER_WORDS_SIZE);
        budget_found(filter, over, hour, filter->answered.number, &words);
        err = pg_filter_tell(filter, buf_view(&words), reterr_error);
    }
    return err;
}

static enum err budget_block(struct pg_filter *filter, struct read_budget *budget,
                             const struct read_hour *hour, struct error *reterr_error)
{
    struct buf words CLEANUP(buf_release);
    buf_init(&words, LIMIT_PG_FILTER_WORDS_SIZE);
    budget->over_at = *read_meter_amount(&filter->reading.meter, budget, hour);
    budget->is_over = !budget->rule.is_hourly || hour->falls_in_ms > 0;
    budget_found(filter, budget, hour, filter->answered.number, &words);
    enum err err = pg_filter_tell(filter, buf_view(&words), reterr_error);
    pg_filter_block(filter);
    return err;
}

enum err pg_filter_budget_put_header(struct pg_filter *filter, uint32_t size, bool *ret_passes,
                                     struct error *reterr_error)
{
    const struct read_amount more = {.rows = 1, .bytes = size};
    struct read_budget *budget = NULL;
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
    struct read_budget *budget = NULL;
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
