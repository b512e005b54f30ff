/* SPDX-License-Identifier: MIT */
#include "policy/mask_internal.h"

#include "base/memory.h"

/* Escapes are written longer than what they stand for, labels longer than some values. */
#define MASK_BUFFER_SIZE (4 * LIMIT_MASK_VALUE_SIZE)
#define MASK_QUOTE       '"'
#define MASK_QUOTES_SIZE 2
#define MASK_NUMBER_SIZE 256 /* of a number without fraction and exponent, and more */

static const struct mask_strategy redact_whole = {.way = MASK_WAY_REDACT,
                                                  .replacement = SLICE_INIT("[REDACTED]")};

/* Memory --------------------------------------------------------------------------------------- */

struct mask_scratch *mask_scratch_new(void)
{
    struct mask_scratch *scratch = memory_new(sizeof(*scratch));
    for (size_t i = 0; i < MASK_LEVELS; i++) {
        buf_init(&scratch->levels[i].decoded, MASK_BUFFER_SIZE);
        buf_init(&scratch->levels[i].masked, MASK_BUFFER_SIZE);
    }
    buf_init(&scratch->folded, MASK_BUFFER_SIZE);
    buf_init(&scratch->number, MASK_NUMBER_SIZE);
    return scratch;
}

static void mask_spans_release(struct mask_spans *spans)
{
    memory_free(spans->items);
    *spans = (struct mask_spans){0};
}

static void mask_level_release(struct mask_level *level)
{
    mask_spans_release(&level->found);
    mask_spans_release(&level->leaf);
    buf_clear(&level->decoded);
    buf_clear(&level->masked);
}

void mask_scratch_free(struct mask_scratch *scratch)
{
    if (scratch == NULL) {
        return;
    }
    for (size_t i = 0; i < MASK_LEVELS; i++) {
        mask_level_release(&scratch->levels[i]);
    }
    mask_spans_release(&scratch->spans);
    buf_clear(&scratch->folded);
    buf_release(&scratch->number);
    for (size_t i = 0; i < MASK_SCRATCH_OF; i++) {
        mask_rules_unref(scratch->known[i]);
    }
    (void)hs_free_scratch(scratch->matching);
    memory_free(scratch);
}

/* What one large value needed is given back. */
static void mask_scratch_trim(struct mask_scratch *scratch)
{
    for (size_t i = 0; i < MASK_LEVELS; i++) {
        struct mask_level *level = &scratch->levels[i];
        size_t size = (level->found.capacity + level->leaf.capacity) * sizeof(struct mask_span) +
                      level->decoded.capacity + level->masked.capacity;
        if (size > LIMIT_MASK_KEPT_SIZE) {
            mask_level_release(level);
        }
    }
    if (scratch->folded.capacity + scratch->spans.capacity * sizeof(struct mask_span) >
        LIMIT_MASK_KEPT_SIZE) {
        mask_spans_release(&scratch->spans);
        buf_clear(&scratch->folded);
    }
}

/* Values as a whole ---------------------------------------------------------------------------- */

/* Of JSON nothing is kept: part of it would be none. */
static const struct mask_strategy *mask_used(const struct mask_strategy *strategy,
                                             enum mask_form form)
{
    bool is_part = form == MASK_FORM_JSON && strategy->way == MASK_WAY_PARTIAL;
    return is_part ? &redact_whole : strategy;
}

static size_t mask_whole_size(const struct mask_strategy *strategy, enum mask_form form, size_t len)
{
    const struct mask_strategy *used = mask_used(strategy, form);
    return mask_replace_size(used, used->replacement, len) +
           (form == MASK_FORM_JSON ? MASK_QUOTES_SIZE : 0);
}

static size_t mask_whole_at(const struct mask_rules *rules, const struct mask_strategy *strategy,
                            enum mask_form form, struct slice text, char *at)
{
    const struct mask_strategy *used = mask_used(strategy, form);
    size_t len = 0;
    if (form != MASK_FORM_JSON) {
        return mask_replace_at(rules, used, used->replacement, text, at);
    }
    at[len++] = MASK_QUOTE;
    len += mask_replace_at(rules, used, used->replacement, text, at + len);
    at[len++] = MASK_QUOTE;
    return len;
}

static bool mask_is_nulled(const struct mask_strategy *strategy, enum mask_form form)
{
    bool has_text = form == MASK_FORM_TEXT || form == MASK_FORM_JSON;
    return !has_text || strategy->way == MASK_WAY_NULL;
}

static enum mask_outcome mask_put_whole(const struct mask_rules *rules,
                                        const struct mask_strategy *strategy, enum mask_form form,
                                        struct slice text, struct buf *buf)
{
    char *at = NULL;
    if (mask_is_nulled(strategy, form)) {
        return MASK_NULL;
    }
    size_t size = mask_whole_size(strategy, form, text.len);
    if (buf_reserve(buf, size, &at) != ERR_NONE) {
        return MASK_REFUSED;
    }
    if (size > 0) {
        buf_commit(buf, mask_whole_at(rules, strategy, form, text, at));
    }
    return MASK_CHANGED;
}

enum mask_outcome mask_whole(const struct mask_rules *rules, const struct mask_strategy *strategy,
                             enum mask_form form, struct slice text, struct buf *buf,
                             struct mask_counts *counts)
{
    enum mask_outcome outcome = mask_put_whole(rules, strategy, form, text, buf);
    if (outcome == MASK_REFUSED) {
        counts->errors++;
    } else {
        mask_count_whole(counts, 1, text.len);
    }
    return outcome;
}

void mask_count_whole(struct mask_counts *counts, uint64_t count, uint64_t bytes)
{
    counts->columns += count;
    counts->column_bytes += bytes;
    counts->bytes += bytes;
}

bool mask_plan_is_fixed(const struct mask_plan *plan, struct slice *ret_text)
{
    *ret_text = SLICE_NONE;
    if (plan->whole == NULL || mask_is_nulled(plan->whole, plan->form)) {
        return plan->whole != NULL;
    }
    bool is_label = plan->form == MASK_FORM_TEXT && plan->whole->way == MASK_WAY_REDACT;
    *ret_text = is_label ? plan->whole->replacement : SLICE_NONE;
    return is_label;
}

size_t mask_plan_growth(const struct mask_plan *plan)
{
    return mask_whole_size(plan->whole, plan->form, 0);
}

size_t mask_write_whole(const struct mask_rules *rules, const struct mask_plan *plan,
                        struct slice text, char *at)
{
    return mask_whole_at(rules, plan->whole, plan->form, text, at);
}

enum mask_outcome mask_unexaminable(const struct mask_rules *rules, enum mask_form form,
                                    struct slice value, struct buf *buf, struct mask_counts *counts)
{
    counts->errors++;
    if (rules->refuses_unexaminable) {
        return MASK_REFUSED;
    }
    counts->bytes += value.len;
    enum mask_outcome outcome = mask_put_whole(rules, &redact_whole, form, value, buf);
    counts->nulls += outcome == MASK_NULL;
    return outcome;
}

bool mask_plan_may_find(const struct mask_rules *rules, const struct mask_plan *plan)
{
    bool is_any = plan->shape == 0 || (plan->shape & DETECT_SHAPE_ANY) != 0;
    return plan->is_examined && (is_any || rules->database != NULL ||
                                 (rules->has_types && ((rules->set.shapes & plan->shape) != 0 ||
                                                       detect_is_secret_name(plan->context))));
}

/* What is found in values ---------------------------------------------------------------------- */

/* Whether one thing that is to be NULL is all that the value is. */
static bool mask_is_null(const struct mask_work *work)
{
    const struct mask_spans *found = &work->level->found;
    if (found->count != 1 ||
        work->rules->entities[found->items[0].entity].strategy.way != MASK_WAY_NULL) {
        return false;
    }
    struct slice left = slice_trim(slice_sub(work->text, 0, found->items[0].start), " \t\r\n");
    struct slice right = slice_trim(slice_from(work->text, found->items[0].end), " \t\r\n");
    return left.len + right.len == 0;
}

/* In a type that holds no text. */
static enum mask_outcome mask_found_in_other(struct mask_work *work)
{
    const struct mask_spans *found = &work->level->found;
    bool is_refused = false; /* something else was to take its place */
    for (size_t i = 0; i < found->count; i++) {
        const struct mask_entity *entity = &work->rules->entities[found->items[i].entity];
        is_refused = is_refused || entity->strategy.way != MASK_WAY_NULL;
        mask_count(work, &found->items[i]);
    }
    if (is_refused && work->rules->refuses_unexaminable) {
        work->counts->errors++;
        return MASK_REFUSED;
    }
    work->counts->nulls += is_refused;
    return MASK_NULL;
}

static enum mask_outcome mask_found(struct mask_work *work, enum mask_form form)
{
    const struct mask_spans *found = &work->level->found;
    if (found->count > 0 && form == MASK_FORM_OTHER) {
        return mask_found_in_other(work);
    }
    if (found->count > 0 && mask_is_null(work)) {
        mask_count(work, &found->items[0]);
        return MASK_NULL;
    }
    size_t len = work->buf->len;
    mask_walk(work);
    if (work->is_refused) {
        buf_truncate(work->buf, len);
        return MASK_REFUSED;
    }
    bool is_sound = !work->is_plain || form == MASK_FORM_TEXT;
    if (!work->has_failed && work->is_changed && is_sound) {
        return MASK_CHANGED;
    }
    bool is_same = !work->has_failed && !work->is_changed;
    buf_truncate(work->buf, len);
    if (is_same) {
        return MASK_SAME;
    }
    /* It is not what its type says that it is, or could not be looked into. */
    return mask_unexaminable(work->rules, form, work->text, work->buf, work->counts);
}

enum mask_outcome mask_text(const struct mask_rules *rules, const struct mask_plan *plan,
                            struct mask_scratch *scratch, struct slice text, struct buf *buf,
                            struct mask_counts *counts)
{
    if (plan->whole != NULL) {
        return mask_whole(rules, plan->whole, plan->form, text, buf, counts);
    }
    if (!plan->is_examined || text.len == 0) {
        return MASK_SAME;
    }
    if (text.len > LIMIT_MASK_VALUE_SIZE) {
        return mask_unexaminable(rules, plan->form, text, buf, counts);
    }
    struct mask_work work = {
        .rules = rules,
        .scratch = scratch,
        .counts = counts,
        .level = &scratch->levels[0],
        .text = text,
        .context = plan->context,
        .buf = buf,
        .is_json = plan->form == MASK_FORM_JSON,
        .is_list = plan->form == MASK_FORM_LIST,
    };
    work.level->found.count = 0;
    bool is_good = mask_find(rules, scratch, plan->context, text, &work.level->found);
    if (is_good && plan->shape == DETECT_SHAPE_NUMBER && plan->form == MASK_FORM_OTHER &&
        work.level->found.count == 0) {
        is_good = mask_find_number(rules, scratch, plan->context, text, &work.level->found);
    }
    if (!is_good) {
        return mask_unexaminable(rules, plan->form, text, buf, counts);
    }
    if (work.level->found.count == 0 &&
        (plan->form == MASK_FORM_OTHER || !mask_has_syntax(&work))) {
        return MASK_SAME;
    }
    enum mask_outcome outcome = mask_found(&work, plan->form);
    mask_scratch_trim(scratch);
    return outcome;
}
