/* SPDX-License-Identifier: MIT */
#include "base/limits.h"
#include "base/memory.h"
#include "guard_rules.h"
#include "policy/guard_pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct arena arena;
static struct error error;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    error = (struct error){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

/* What a guard rail with that pattern as its third rule is told, "" when it is good. */
static const char *told(const char *pattern)
{
    struct guard_rule rules[] = {
        {.type = SLICE(GUARD_TYPE_SQL), .multi_statement = {.value = true, .is_given = true}},
        {.type = SLICE(GUARD_TYPE_PATTERN), .pattern_regex = SLICE("good+")},
        {.type = SLICE(GUARD_TYPE_PATTERN), .pattern_regex = slice_of_text(pattern)},
    };
    struct guard_rule_list list = {.rules = {.items = rules, .count = 3, .is_given = true}};
    struct guardrail guardrail = {.name = SLICE("a"), .input = &list};
    error = (struct error){0};
    enum err err = guard_rules_check(&guardrail, &error);
    assert_true(err == ERR_NONE || err == ERR_INPUT);
    assert_int_equal(err, error.code);
    return error.message;
}

#define AT "'input.rules[2].pattern_regex': "

static void what_does_not_compile_is_told_with_its_position(void **state)
{
    (void)state;
    assert_string_equal(told("a(b"), AT "missing close parenthesis for group started at position "
                                        "2");
    assert_string_equal(told("[z-a]"), AT "range out of order in character class at position 4");
    assert_string_equal(told("(?=a)b"), AT "zero-width assertions are not supported");
    assert_string_equal(told("a*"), AT "it matches where there is nothing");
    assert_string_equal(told("a(?#b)"), AT "a comment is not supported at position 2");
    assert_string_equal(told("a\\Qb"), AT "\\Q is not supported at position 2");
    assert_string_equal(told("(?x) a"), AT "the flag x is not supported at position 1");
    assert_string_equal(told("(a)\\1"), AT "back-references are unsupported");
}

static void good_patterns_compile(void **state)
{
    (void)state;
    static const char *const good[] = {
        "(?i)delete\\s+from\\s+\\w+\\s*;?\\s*$",
        "\\b\\d{3}-\\d{2}-\\d{4}\\b",
        "[^]a-z[:alpha:]x]{2,5}",
        "(?:a|b){3}",
        "\\x{e4}+",
        "\\p{Lu}{4}",
        "a{,3}b",
        "x{",
        "(a{2}){3,}",
        "[\\]a]b",
        "\xc3\xa4{2,4}",
        "(?i)update\\s+.{0,200}\\bset\\b",
        "^\\s*(drop|truncate)\\b",
    };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_string_equal(told(good[i]), "");
    }
}

/* Each took the library from one second to minutes. */
static void hostile_patterns_are_refused_at_once(void **state)
{
    (void)state;
    static const char *const hostile[] = {
        "((a{1000}){1000}){1000}",
        "((((((a{10}){10}){10}){10}){10}){10}){10}",
        "x.{0,3000}b",
        "\\p{L}{66,131}\\p{L}",
        "a{10}{10}{10}{10}",
        "[\\]{2}]{99999999999999999999}",
        "[]]{5000}",
        "[[:alpha:](]{5000}",
        "\\c[{5000}",
        "(?i:(?:a{900}){900})",
        "(a|b|c|d){1,900}",
    };
    for (size_t i = 0; i < COUNT_OF(hostile); i++) {
        size_t weight = 0;
        assert_int_equal(guard_pattern_weigh(slice_of_text(hostile[i]), false, &weight, &error),
                         ERR_INPUT);
        assert_non_null(strstr(error.message, "its repeats make it too large at position "));
        assert_non_null(strstr(told(hostile[i]), AT "its repeats make it too large at position "));
    }
    char deep[400];
    memset(deep, '(', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    assert_non_null(strstr(told(deep), "too many groups inside of each other"));
}

static size_t weight_of(const char *pattern)
{
    size_t weight = 0;
    assert_int_equal(guard_pattern_weigh(slice_of_text(pattern), false, &weight, &error), ERR_NONE);
    return weight;
}

static void repeats_are_counted(void **state)
{
    (void)state;
    assert_int_equal(weight_of("abc"), 3);
    assert_int_equal(weight_of("a{10}"), 10);
    assert_int_equal(weight_of("a{2,10}"), 10);
    assert_int_equal(weight_of("a{10,}"), 11);
    assert_int_equal(weight_of("a{0,1}"), 1);
    assert_int_equal(weight_of("(ab){10}"), 30);
    assert_int_equal(weight_of("[a-z]{10}\\d{5}"), 15);
    assert_true(weight_of("[\xc3\xa4-\xc3\xbc]{10}") > 100);
    assert_int_equal(weight_of("a*b+c?"), 3);
}

static void what_is_beyond_ascii_is_told_apart(void **state)
{
    (void)state;
    assert_false(guard_pattern_is_unicode(SLICE("a\\d.\\\\p{L}")));
    assert_true(guard_pattern_is_unicode(SLICE("\xc3\xa4")));
    assert_true(guard_pattern_is_unicode(SLICE("\\p{L}")));
    assert_true(guard_pattern_is_unicode(SLICE("\\x{20ac}")));
    assert_true(guard_pattern_is_unicode(SLICE("(*UTF8)a")));
}

static void too_many_together_are_refused(void **state)
{
    (void)state;
    size_t count = LIMIT_GUARD_WEIGHT / LIMIT_GUARD_PATTERN_WEIGHT + 1;
    struct guard_rule *rules = arena_alloc_array(&arena, count, sizeof(*rules));
    for (size_t i = 0; i < count; i++) {
        rules[i].type = SLICE(GUARD_TYPE_PATTERN);
        rules[i].pattern_regex = arena_format(&arena, "a{%d}", LIMIT_GUARD_PATTERN_WEIGHT);
    }
    struct guard_rule_list list = {.rules = {.items = rules, .count = count, .is_given = true}};
    struct guardrail guardrail = {.name = SLICE("a"), .input = &list};
    struct guard_rules *compiled = NULL;
    assert_int_equal(guard_rules_new(&guardrail, 1, &compiled, &error), ERR_LIMIT);
    assert_string_equal(error.message, "all patterns together are too large");
    struct slice *words = arena_alloc_array(&arena, LIMIT_GUARD_EXPRESSIONS, sizeof(*words));
    for (size_t i = 0; i < LIMIT_GUARD_EXPRESSIONS; i++) {
        words[i] = SLICE("x");
    }
    rules[0] = (struct guard_rule){
        .type = SLICE(GUARD_TYPE_WORDS),
        .words = {.items = words, .count = LIMIT_GUARD_EXPRESSIONS, .is_given = true}};
    list.rules.count = 1;
    assert_int_equal(guard_rules_new(&guardrail, 1, &compiled, &error), ERR_LIMIT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_does_not_compile_is_told_with_its_position),
        TEST(good_patterns_compile),
        TEST(hostile_patterns_are_refused_at_once),
        TEST(repeats_are_counted),
        TEST(what_is_beyond_ascii_is_told_apart),
        TEST(too_many_together_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
