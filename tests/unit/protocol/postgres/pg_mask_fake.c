/* SPDX-License-Identifier: MIT */
#include "pg_mask_fake.h"

#include "base/memory.h"
#include "base/must.h"
#include "policy/guard_function.h"

#include <string.h>

struct mask_strategy {
    int unused;
};
static const struct mask_strategy strictest;

struct mask_rules *mask_rules_ref(struct mask_rules *rules)
{
    return rules;
}

void mask_rules_unref(struct mask_rules *rules)
{
    (void)rules;
}

bool mask_rules_need_origin(const struct mask_rules *rules)
{
    return rules->column_count > 0;
}

bool mask_rules_look_into_text(const struct mask_rules *rules)
{
    return rules->looks_into_text;
}

bool mask_rules_refuse_predicates(const struct mask_rules *rules)
{
    return rules->refuses_predicates;
}

struct mask_plan mask_plan_of(const struct mask_rules *rules, const struct mask_origin *origin,
                              struct slice label)
{
    struct mask_plan plan = {.is_examined = rules->looks_into_text};
    for (size_t i = 0; i < rules->column_count; i++) {
        const struct fake_column *column = &rules->columns[i];
        struct slice name = origin->column.len > 0 ? origin->column : label;
        bool is_table = column->table == NULL || origin->table.len == 0 ||
                        slice_equals(origin->table, slice_of_text(column->table));
        if (is_table && slice_equals(name, slice_of_text(column->column))) {
            plan.whole = &strictest;
        }
    }
    return plan;
}

/* Words are looked for, which no number has. */
bool mask_plan_may_find(const struct mask_rules *rules, const struct mask_plan *plan)
{
    (void)rules;
    return plan->is_examined &&
           (plan->shape == 0 || (plan->shape & (DETECT_SHAPE_ANY | DETECT_SHAPE_HEX)) != 0);
}

bool mask_rules_cover_name(const struct mask_rules *rules, struct slice column_name)
{
    static const struct mask_origin nowhere = {.schema = {NULL, 0}};
    return mask_plan_of(rules, &nowhere, column_name).whole != NULL;
}

bool mask_rules_cover_some_of(const struct mask_rules *rules, struct slice schema,
                              struct slice table)
{
    (void)schema;
    return slice_equals(table, slice_of_text(rules->columns[0].table));
}

size_t mask_rules_column_count(const struct mask_rules *rules)
{
    (void)rules;
    return 0;
}

const struct masking_column_name *mask_rules_column(const struct mask_rules *rules, size_t index)
{
    (void)rules;
    (void)index;
    return NULL;
}

bool mask_rules_cover_table(const struct mask_rules *rules, struct slice schema, struct slice table)
{
    (void)rules;
    (void)schema;
    (void)table;
    return false;
}

bool mask_rules_may_be_named(const struct mask_rules *rules, struct slice text, bool has_tables)
{
    (void)has_tables;
    return slice_has_nocase(text, slice_of_text(rules->columns[0].table));
}

bool guard_function_is_harmless(const struct sql_name *function)
{
    return slice_equals(function->name, SLICE("count"));
}

bool guard_field_is_harmless(const struct sql_name *field)
{
    (void)field;
    return true;
}

const struct mask_strategy *mask_rules_strictest(const struct mask_rules *rules)
{
    return rules->column_count > 0 ? &strictest : NULL;
}

static void append(struct buf *buf, struct slice text)
{
    must(buf_append(buf, text) == ERR_NONE);
}

enum mask_outcome mask_whole(const struct mask_rules *rules, const struct mask_strategy *strategy,
                             enum mask_form form, struct slice text, struct buf *buf,
                             struct mask_counts *counts)
{
    (void)rules;
    must(strategy == &strictest);
    counts->columns++;
    counts->bytes += text.len;
    if (form != MASK_FORM_TEXT && form != MASK_FORM_JSON) {
        return MASK_NULL;
    }
    append(buf, form == MASK_FORM_JSON ? SLICE("\"[R]\"") : SLICE("[R]"));
    return MASK_CHANGED;
}

/* Of JSON the text is written, though it is the same for all, so that both ways are gone. */
bool mask_plan_is_fixed(const struct mask_plan *plan, struct slice *ret_text)
{
    *ret_text = plan->form == MASK_FORM_TEXT ? SLICE("[R]") : SLICE_NONE;
    return plan->whole != NULL && plan->form != MASK_FORM_JSON;
}

size_t mask_plan_growth(const struct mask_plan *plan)
{
    must(plan->form == MASK_FORM_JSON);
    return sizeof("\"[R]\"") - 1;
}

size_t mask_write_whole(const struct mask_rules *rules, const struct mask_plan *plan,
                        struct slice text, char *at)
{
    (void)rules;
    (void)text;
    must(plan->whole == &strictest);
    memcpy(at, "\"[R]\"", mask_plan_growth(plan));
    return mask_plan_growth(plan);
}

void mask_count_whole(struct mask_counts *counts, uint64_t count, uint64_t bytes)
{
    counts->columns += count;
    counts->bytes += bytes;
}

enum mask_outcome mask_unexaminable(const struct mask_rules *rules, enum mask_form form,
                                    struct slice value, struct buf *buf, struct mask_counts *counts)
{
    counts->errors++;
    return rules->refuses_unexaminable ? MASK_REFUSED
                                       : mask_whole(rules, &strictest, form, value, buf, counts);
}

static bool has(struct slice text, const char *word)
{
    return slice_find(text, slice_of_text(word)) < text.len;
}

enum mask_outcome mask_text(const struct mask_rules *rules, const struct mask_plan *plan,
                            struct mask_scratch *scratch, struct slice text, struct buf *buf,
                            struct mask_counts *counts)
{
    struct slice secret = SLICE("SECRET");
    (void)scratch;
    if (plan->whole != NULL) {
        return mask_whole(rules, plan->whole, plan->form, text, buf, counts);
    }
    if (has(text, "REFUSEME")) {
        return MASK_REFUSED;
    }
    if (has(text, "NULLME")) {
        return MASK_NULL;
    }
    if (!plan->is_examined || !has(text, "SECRET")) {
        return MASK_SAME;
    }
    if (plan->form == MASK_FORM_OTHER) {
        counts->nulls++;
        return MASK_NULL;
    }
    for (size_t at = slice_find(text, secret); at < text.len; at = slice_find(text, secret)) {
        append(buf, slice_sub(text, 0, at));
        append(buf, SLICE("[S]"));
        text = slice_from(text, at + secret.len);
        counts->by_type[0]++;
    }
    append(buf, text);
    return MASK_CHANGED;
}

/* Only where mask_text() would find a word is suspect, and what is odd. */
bool mask_rules_can_sieve(const struct mask_rules *rules)
{
    return rules->looks_into_text;
}

bool mask_plan_can_sieve(const struct mask_plan *plan)
{
    return plan->whole == NULL && plan->is_examined;
}

void mask_sieve(const struct mask_rules *rules, const struct detect_sieve *sieve,
                uint64_t *suspects)
{
    static const char *const words[] = {"SECRET", "NULLME", "REFUSEME"};
    (void)rules;
    for (size_t i = 0; i < sieve->bytes.len; i++) {
        struct slice rest = slice_from(sieve->bytes, i);
        bool is_odd = rest.at[0] == sieve->odd[0] || rest.at[0] == sieve->odd[1];
        bool is_suspect = sieve->has_delimiter && is_odd;
        for (size_t j = 0; j < COUNT_OF(words); j++) {
            is_suspect = is_suspect || slice_starts_with(rest, slice_of_text(words[j]));
        }
        suspects[i / 64] |= (uint64_t)is_suspect << i % 64;
    }
}

bool mask_probe(const struct mask_rules *rules, const struct mask_plan *plan,
                const struct detect_sieve *sieve, const uint64_t *suspects, size_t start,
                size_t len)
{
    (void)rules;
    (void)plan;
    (void)suspects;
    must(len > 0 && start + len <= sieve->bytes.len);
    return true;
}

/* Guard rails -----------------------------------------------------------------------------------
 */

bool guard_scope_looks_at(const struct guard_scope *scope, enum guard_direction direction)
{
    return scope->looks_at[direction];
}

const struct guard_finding *guard_verdict_reason(const struct guard_verdict *verdict)
{
    return verdict->count > 0 ? &verdict->findings[0] : NULL;
}

void guard_judge_output(const struct guard_scope *scope, struct slice text,
                        struct guard_verdict *ret_verdict)
{
    (void)scope;
    *ret_verdict = (struct guard_verdict){.action = GUARD_PASS};
    if (has(text, "BLOCKME")) {
        ret_verdict->action = GUARD_BLOCK;
        ret_verdict->count = 1;
        ret_verdict->findings[0] = (struct guard_finding){
            .action = GUARD_BLOCK,
            .direction = GUARD_OUTPUT,
            .guardrail_name = SLICE("output"),
            .message = SLICE("Not this word."),
        };
    }
}
