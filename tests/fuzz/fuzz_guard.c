/* SPDX-License-Identifier: MIT */
/* Guard rails as JSON, a NUL, and a text: what is taken compiles, judging by it never fails, the
 * cache says what a judgement says, and the verdict holds what its findings hold. Patterns are
 * short here, as compiling them is not what is looked at. */
#include "fuzz.h"

#include "base/limits.h"
#include "base/must.h"
#include "policy/guard_cache.h"
#include "policy/guard_normal.h"
#include "policy/guard_pattern.h"

#define FUZZ_PATTERN_LEN    40
#define FUZZ_PATTERN_WEIGHT 60
#define FUZZ_RULES          20
#define FUZZ_WORDS          20

/* What is too large for the rules is kept: it is to be refused. */
static bool is_slow(struct slice pattern)
{
    size_t weight = 0;
    return pattern.len > FUZZ_PATTERN_LEN ||
           (guard_pattern_weigh(pattern, false, &weight, NULL) == ERR_NONE &&
            weight > FUZZ_PATTERN_WEIGHT);
}

static bool is_small(const struct guard_rule_list *list)
{
    size_t count = 0;
    const struct guard_rule *rules = guard_rule_list_items(list, &count);
    for (size_t i = 0; i < count; i++) {
        if (is_slow(rules[i].pattern_regex) || rules[i].words.count > FUZZ_WORDS) {
            return false;
        }
    }
    return count <= FUZZ_RULES;
}

static void check_verdict(const struct guard_verdict *verdict)
{
    enum guard_action action = GUARD_PASS;
    must(verdict->count <= GUARD_FINDINGS_MAX);
    for (size_t i = 0; i < verdict->count; i++) {
        must(verdict->findings[i].action != GUARD_PASS);
        action = verdict->findings[i].action > action ? verdict->findings[i].action : action;
    }
    must(action == verdict->action);
    must((guard_verdict_reason(verdict) == NULL) == (action == GUARD_PASS));
    must(verdict->max_rows != 0);
}

/* Both ways to the normal form are one. */
static void check_normal(struct slice text, const struct sql_settings *settings,
                         const struct sql_script *script)
{
    struct buf cut;
    struct buf read;
    buf_init(&cut, LIMIT_GUARD_TEXT_SIZE);
    buf_init(&read, LIMIT_GUARD_TEXT_SIZE);
    if (script->is_cut) {
        must(guard_normal_cut(&cut, text, 0, script->gaps, script->gap_count) == ERR_NONE);
        must(guard_normal_form(&read, text, settings->is_backslash_quoted) == ERR_NONE);
        must(slice_equals(buf_view(&cut), buf_view(&read)));
    }
    buf_release(&cut);
    buf_release(&read);
}

static void judge(struct arena *arena, const struct guard_rules *rules, struct slice text)
{
    /* For all inputs: rules come and go in the life of a thread. */
    static struct guard_scratch *scratch;
    static struct guard_cache *cache;
    if (cache == NULL) {
        scratch = guard_scratch_new();
        cache = guard_cache_new((const uint8_t[HASH_SEED_SIZE]){1});
    }
    struct slice group = SLICE("g");
    for (size_t groups = 0; groups < 2; groups++) {
        struct guard_scope scope = guard_scope_in(arena, scratch, rules, &group, groups);
        struct sql_settings settings = {.is_backslash_quoted = groups == 1};
        struct sql_script script = sql_analyze(arena, &settings, text);
        struct guard_verdict verdict;
        struct guard_verdict cached;
        check_normal(text, &settings, &script);
        struct guard_facts facts;
        guard_judge_input(&scope, text, &settings, &script, &verdict);
        check_verdict(&verdict);
        for (int i = 0; i < 2; i++) {
            guard_cache_judge(cache, &scope, &settings, text, &cached, &facts);
            check_verdict(&cached);
            must(cached.action == verdict.action && cached.count == verdict.count &&
                 cached.max_rows == verdict.max_rows && facts.statement_count == script.count);
        }
        guard_judge_input(&scope, text, &settings, NULL, &verdict);
        check_verdict(&verdict);
        guard_judge_output(&scope, text, &verdict);
        check_verdict(&verdict);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct arena arena;
    struct json document;
    struct slice text = SLICE_NONE;
    struct slice rules_text = slice_cut(slice_of(bytes, size), '\0', &text);
    struct guardrail guardrail = {0};
    struct guard_rules *rules = NULL;
    struct error error = {0};
    arena_init(&arena);
    if (json_parse_in(&arena, rules_text, &document, NULL) == ERR_NONE &&
        shape_read(&guardrail_shape, SHAPE_WHOLE, &document, &guardrail, NULL) == ERR_NONE &&
        guardrail_check(&guardrail, NULL) == ERR_NONE && is_small(guardrail.input) &&
        is_small(guardrail.output)) {
        enum err err = guard_rules_check(&guardrail, &error);
        must(err == ERR_NONE || (err == ERR_INPUT && error.message[0] != '\0'));
        must(err != ERR_NONE || guard_rules_new(&guardrail, 1, &rules, NULL) == ERR_NONE);
    }
    if (rules != NULL) {
        judge(&arena, rules, text);
    }
    guard_rules_unref(rules);
    arena_release(&arena);
    return 0;
}
