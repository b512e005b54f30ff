/* SPDX-License-Identifier: MIT */
#include "policy/guard.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "policy/guard_internal.h"

/* Rules -----------------------------------------------------------------------------------------
 */

static void guard_rules_free(struct guard_rules *rules)
{
    for (size_t i = 0; i < COUNT_OF(rules->databases); i++) {
        (void)hs_free_database(rules->databases[i].database);
    }
    arena_release(&rules->arena);
    memory_free(rules);
}

enum err guard_rules_new(const struct guardrail *guardrails, size_t count,
                         struct guard_rules **ret_rules, struct error *reterr)
{
    struct guard_rules *rules = memory_new(sizeof(*rules));
    atomic_init(&rules->references, 1);
    arena_init(&rules->arena);
    enum err err = guard_compile(rules, guardrails, count, reterr);
    if (err != ERR_NONE) {
        guard_rules_free(rules);
        return err;
    }
    *ret_rules = rules;
    return ERR_NONE;
}

struct guard_rules *guard_rules_ref(struct guard_rules *rules)
{
    atomic_fetch_add(&rules->references, 1);
    return rules;
}

void guard_rules_unref(struct guard_rules *rules)
{
    if (rules != NULL && atomic_fetch_sub(&rules->references, 1) == 1) {
        guard_rules_free(rules);
    }
}

/* Scope -----------------------------------------------------------------------------------------
 */

struct guard_scratch *guard_scratch_new(void)
{
    struct guard_scratch *scratch = memory_new(sizeof(*scratch));
    buf_init(&scratch->normal, LIMIT_GUARD_TEXT_SIZE);
    buf_init(&scratch->clean, LIMIT_GUARD_TEXT_SIZE);
    return scratch;
}

void guard_scratch_free(struct guard_scratch *scratch)
{
    if (scratch == NULL) {
        return;
    }
    (void)hs_free_scratch(scratch->scratch);
    buf_release(&scratch->normal);
    buf_release(&scratch->clean);
    memory_free(scratch->is_found);
    memory_free(scratch);
}

static enum err guard_scratch_fit(struct guard_scratch *scratch, const struct guard_rules *rules)
{
    size_t word_count = GUARD_WORDS(rules->count);
    if (word_count > scratch->word_count) {
        memory_free(scratch->is_found);
        scratch->is_found = memory_new_array(word_count, sizeof(*scratch->is_found));
        scratch->word_count = word_count;
    }
    for (size_t i = 0; i < COUNT_OF(rules->databases); i++) {
        const hs_database_t *database = rules->databases[i].database;
        if (database != NULL && hs_alloc_scratch(database, &scratch->scratch) != HS_SUCCESS) {
            return ERR_INTERNAL;
        }
    }
    return ERR_NONE;
}

static bool guard_is_member(const struct slice *groups, size_t count, const struct slice *wanted,
                            size_t wanted_count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < wanted_count; j++) {
            if (slice_equals(groups[i], wanted[j])) {
                return true;
            }
        }
    }
    return false;
}

static bool guard_concerns(const struct guard_compiled *rule, const struct slice *groups,
                           size_t count)
{
    return (rule->group_count == 0 ||
            guard_is_member(groups, count, rule->groups, rule->group_count)) &&
           !guard_is_member(groups, count, rule->except_groups, rule->except_group_count);
}

struct guard_scope guard_scope_in(struct arena *arena, struct guard_scratch *scratch,
                                  const struct guard_rules *rules, const struct slice *groups,
                                  size_t group_count)
{
    size_t word_count = GUARD_WORDS(rules->count);
    uint64_t *bits = arena_alloc_array(arena, word_count, sizeof(*bits));
    struct guard_scope scope = {.rules = rules, .scratch = scratch, .bits = bits};
    for (size_t i = 0; i < rules->count; i++) {
        if (guard_concerns(&rules->rules[i], groups, group_count)) {
            bits[i / 64] |= UINT64_C(1) << (i % 64);
            if (rules->rules[i].budget == NULL) {
                scope.looks_at[rules->rules[i].finding.direction] = true;
            }
            scope.stops_text = scope.stops_text ||
                               (rules->rules[i].finding.direction == GUARD_INPUT &&
                                rules->rules[i].sql == NULL && rules->rules[i].budget == NULL &&
                                rules->rules[i].finding.action >= GUARD_REHEARSE);
            scope.asks_structure = scope.asks_structure ||
                                   (rules->rules[i].sql != NULL && !rules->rules[i].sql->read_only);
            bool rehearses = rules->rules[i].finding.action == GUARD_REHEARSE;
            scope.asks_rehearsal = scope.asks_rehearsal || rehearses;
            scope.asks_review =
                scope.asks_review || rehearses || rules->rules[i].finding.action == GUARD_REVIEW;
            scope.is_read_only = scope.is_read_only ||
                                 (rules->rules[i].sql != NULL && rules->rules[i].sql->read_only);
            scope.asks_relations =
                scope.asks_relations ||
                (rules->rules[i].sql != NULL && rules->rules[i].sql->relation_count > 0);
            scope.asks_names =
                scope.asks_names || scope.asks_relations ||
                (rules->rules[i].sql != NULL && guard_sql_asks_names(rules->rules[i].sql));
        }
    }
    scope.is_broken = guard_scratch_fit(scratch, rules) != ERR_NONE;
    must(crypto_generichash((unsigned char *)scope.id, sizeof(scope.id),
                            (const unsigned char *)bits, word_count * sizeof(*bits), rules->digest,
                            sizeof(rules->digest)) == 0);
    return scope;
}

bool guard_scope_looks_at(const struct guard_scope *scope, enum guard_direction direction)
{
    return scope->looks_at[direction];
}

/* Judgement -------------------------------------------------------------------------------------
 */

const struct guard_finding *guard_verdict_reason(const struct guard_verdict *verdict)
{
    for (size_t i = 0; i < verdict->count; i++) {
        if (verdict->findings[i].action == verdict->action) {
            return &verdict->findings[i];
        }
    }
    return NULL;
}

struct guard_finding guard_finding_of(const struct guard_rules *rules, size_t rule,
                                      size_t statement, struct slice why)
{
    struct guard_finding finding = {.action = GUARD_BLOCK, .rule = rule};
    if (rule != SIZE_MAX) {
        finding = rules->rules[rule].finding;
    }
    finding.statement = statement;
    finding.why = why;
    return finding;
}

/* In the place of the weakest when there is no room. */
static void guard_add(struct guard_verdict *verdict, const struct guard_finding *finding)
{
    if (finding->action > verdict->action) {
        verdict->action = finding->action;
    }
    if (verdict->count < GUARD_FINDINGS_MAX) {
        verdict->findings[verdict->count++] = *finding;
        return;
    }
    size_t weakest = 0;
    for (size_t i = 1; i < verdict->count; i++) {
        if (verdict->findings[i].action < verdict->findings[weakest].action) {
            weakest = i;
        }
    }
    if (verdict->findings[weakest].action < finding->action) {
        verdict->findings[weakest] = *finding;
    }
}

void guard_note(struct guard_judgement *judgement, size_t rule, struct slice why)
{
    const struct guard_scope *scope = judgement->scope;
    uint64_t bit = UINT64_C(1) << (rule % 64);
    uint64_t *is_found = &scope->scratch->is_found[rule / 64];
    if ((scope->bits[rule / 64] & bit) == 0 || (*is_found & bit) != 0) {
        return;
    }
    *is_found |= bit;
    struct guard_finding finding = guard_finding_of(scope->rules, rule, judgement->statement, why);
    guard_add(judgement->verdict, &finding);
}

void guard_note_failure(struct guard_judgement *judgement, enum guard_direction direction,
                        struct slice why)
{
    struct guard_finding finding =
        guard_finding_of(judgement->scope->rules, SIZE_MAX, judgement->statement, why);
    finding.direction = direction;
    guard_add(judgement->verdict, &finding);
}

/* False: it is judged already. */
static bool guard_begin(struct guard_judgement *judgement, enum guard_direction direction,
                        struct slice text)
{
    const struct guard_scope *scope = judgement->scope;
    judgement->verdict->action = GUARD_PASS;
    judgement->verdict->count = 0;
    judgement->verdict->max_rows = -1;
    if (!scope->looks_at[direction]) {
        return false;
    }
    if (scope->is_broken) {
        guard_note_failure(judgement, direction, SLICE("there is not enough memory for the rules"));
        return false;
    }
    if (text.len > LIMIT_GUARD_TEXT_SIZE) {
        guard_note_failure(judgement, direction, SLICE("it is longer than what is examined"));
        return false;
    }
    for (size_t i = 0; i < GUARD_WORDS(scope->rules->count); i++) {
        scope->scratch->is_found[i] = 0;
    }
    return true;
}

void guard_judge_input(const struct guard_scope *scope, struct slice text,
                       const struct sql_settings *settings, const struct sql_script *script,
                       struct guard_verdict *ret_verdict)
{
    guard_judge_named(scope, text, settings, script, NULL, ret_verdict);
}

void guard_judge_named(const struct guard_scope *scope, struct slice text,
                       const struct sql_settings *settings, const struct sql_script *script,
                       const struct guard_names *names, struct guard_verdict *ret_verdict)
{
    struct guard_judgement judgement = {.scope = scope, .verdict = ret_verdict, .names = names};
    if (guard_begin(&judgement, GUARD_INPUT, text)) {
        guard_sql_judge(&judgement, script);
        guard_match_input(&judgement, text, settings, script);
        const struct sql_script *other = script == NULL ? NULL : script->other;
        for (; other != NULL; other = other->other) { /* what any server reads counts */
            guard_sql_judge(&judgement, other);
            guard_match_input(&judgement, text, settings, other);
        }
    }
}

bool guard_judge_known(const struct guard_scope *scope, struct slice text,
                       const struct sql_settings *settings, const struct sql_script *script,
                       const struct guard_known *known, struct guard_verdict *ret_verdict)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    guard_judge_input(scope, text, settings, script, ret_verdict);
    if (!scope->asks_names || script == NULL || ret_verdict->action == GUARD_BLOCK) {
        return true;
    }
    struct guard_names names = guard_names_in(&arena, scope, script);
    if (names.count == 0 || known == NULL) {
        return names.count == 0;
    }
    for (size_t i = 0; i < names.count && known->identify != NULL; i++) {
        known->identify(known->context, &names.items[i]);
    }
    if (scope->asks_relations) {
        script = guard_reach_in(&arena, script, known);
    }
    guard_judge_named(scope, text, settings, script, &names, ret_verdict);
    return true;
}

void guard_judge_output(const struct guard_scope *scope, struct slice text,
                        struct guard_verdict *ret_verdict)
{
    struct guard_judgement judgement = {.scope = scope, .verdict = ret_verdict};
    if (guard_begin(&judgement, GUARD_OUTPUT, text)) {
        guard_match_output(&judgement, text);
    }
}
