/* SPDX-License-Identifier: MIT */
#include "policy/guard.h"

#include "base/limits.h"
#include "guard_rig.h"

static void use(const char *input)
{
    rig_use(input, "", NULL, 0);
}

static enum guard_action judge(const char *text)
{
    guard_judge_input(&scope, slice_of_text(text), &settings, NULL, &verdict);
    return verdict.action;
}

static enum guard_action judge_output(const char *text)
{
    guard_judge_output(&scope, slice_of_text(text), &verdict);
    return verdict.action;
}

static void words_are_found_anywhere_and_without_case(void **state)
{
    (void)state;
    use("{\"type\": \"deny_words_list\", \"words\": [\"drop table\", \"a.b*(c)\\\\[\"]}");
    assert_int_equal(judge("drop table x"), GUARD_BLOCK);
    assert_int_equal(judge("select 1; DROP Table x"), GUARD_BLOCK);
    assert_int_equal(judge("xdrop tabley"), GUARD_BLOCK);
    assert_int_equal(judge("drop the table"), GUARD_PASS);
    assert_int_equal(judge(""), GUARD_PASS);
    assert_int_equal(judge("A.B*(C)\\["), GUARD_BLOCK);
    assert_int_equal(judge("AxB*(C)\\["), GUARD_PASS);
    use("{\"type\": \"deny_words_list\", \"words\": [\"Drop\"], \"case_sensitive\": true}");
    assert_int_equal(judge("drop"), GUARD_PASS);
    assert_int_equal(judge("Drop"), GUARD_BLOCK);
}

static void words_beyond_ascii_have_case_too(void **state)
{
    (void)state;
    use("{\"type\": \"deny_words_list\", \"words\": [\"geh\xc3\xa4lter\"]}");
    assert_int_equal(judge("from GEH\xc3\x84LTER"), GUARD_BLOCK);
    assert_int_equal(judge("\xff\xfe geh\xc3\xa4lter \xc3"), GUARD_BLOCK);
    assert_int_equal(judge("geh\xc3lter"), GUARD_PASS);
    use("{\"type\": \"deny_words_list\", \"words\": [\"geh\xc3\xa4lter\", \"plain\"]}");
    assert_int_equal(judge("\xff plain"), GUARD_BLOCK);
    assert_int_equal(judge("pl\xff"
                           "ain"),
                     GUARD_PASS);
}

static void patterns_have_case_unless_they_say(void **state)
{
    (void)state;
    use("{\"type\": \"pattern_match\", \"pattern_regex\": \"delete\\\\s+from\"}");
    assert_int_equal(judge("delete   from x"), GUARD_BLOCK);
    assert_int_equal(judge("DELETE FROM x"), GUARD_PASS);
    use("{\"type\": \"pattern_match\", \"pattern_regex\": \"(?i)delete\\\\s+from\"}");
    assert_int_equal(judge("DELETE FROM x"), GUARD_BLOCK);
    use("{\"type\": \"pattern_match\", \"pattern_regex\": \"delete\", \"case_sensitive\": false}");
    assert_int_equal(judge("DELETE"), GUARD_BLOCK);
    use("{\"type\": \"pattern_match\", \"pattern_regex\": \"\\\\p{Lu}x\"}");
    assert_int_equal(judge("\xc3\x84x"), GUARD_BLOCK);
    assert_int_equal(judge("\xc3\xa4x"), GUARD_PASS);
}

static void comments_and_blanks_hide_nothing(void **state)
{
    (void)state;
    use("{\"type\": \"deny_words_list\", \"words\": [\"drop table\"]}");
    assert_int_equal(judge("drop/**/table x"), GUARD_BLOCK);
    assert_int_equal(judge("drop /* a /* nested */ b */ table x"), GUARD_BLOCK);
    assert_int_equal(judge("drop -- why\n\t table x"), GUARD_BLOCK);
    assert_int_equal(judge("drop\r\n\f\vtable x"), GUARD_BLOCK);
    assert_int_equal(judge("drop '/**/' table x"), GUARD_PASS);
    assert_int_equal(judge("select 'drop/**/table'"), GUARD_PASS);
    use("{\"type\": \"deny_words_list\", \"words\": [\"drop \\t\\n table\"]}");
    assert_int_equal(judge("drop table x"), GUARD_BLOCK);
    use("{\"type\": \"pattern_match\", \"pattern_regex\": \"^delete\"}");
    assert_int_equal(judge("/* a */ delete from x"), GUARD_BLOCK);
    assert_int_equal(judge("select 1"), GUARD_PASS);
}

static void each_statement_is_looked_at_by_itself(void **state)
{
    (void)state;
    use("{\"type\": \"pattern_match\", \"pattern_regex\": \"^delete from \\\\w+$\"}");
    const char *text = "select 1; -- x\n delete/**/from t; select 2";
    struct sql_statement statements[] = {
        {.offset = 0, .len = 8, .why = ""},
        {.offset = 16, .len = 16, .why = ""},
        {.offset = 34, .len = 8, .why = ""},
    };
    struct sql_script script = {.statements = statements, .count = 3};
    guard_judge_input(&scope, slice_of_text(text), &settings, &script, &verdict);
    assert_int_equal(verdict.action, GUARD_BLOCK);
    assert_int_equal(verdict.count, 1);
    assert_int_equal(verdict.findings[0].statement, 1);
}

static void a_backslash_quotes_where_the_session_says_so(void **state)
{
    (void)state;
    use("{\"type\": \"deny_words_list\", \"words\": [\"drop table\"]}");
    struct sql_settings backslash = {.is_backslash_quoted = true};
    struct slice text = SLICE("select '\\'/*', '*/ drop/**/table t --'");
    guard_judge_input(&scope, text, &backslash, NULL, &verdict);
    assert_int_equal(verdict.action, GUARD_PASS);
    text = SLICE("select '\\'/*'; drop/**/table t");
    guard_judge_input(&scope, text, &backslash, NULL, &verdict);
    assert_int_equal(verdict.action, GUARD_BLOCK);
}

static void findings_say_which_rule(void **state)
{
    (void)state;
    use("{\"type\": \"deny_words_list\", \"words\": [\"one\"], \"name\": \"first\", \"message\": "
        "\"not one\", \"action\": \"observe\"},"
        "{\"type\": \"pattern_match\", \"pattern_regex\": \"tw+o\", \"name\": \"second\", "
        "\"action\": \"block\"},"
        "{\"type\": \"deny_words_list\", \"words\": [\"three\"], \"action\": \"warn\"}");
    assert_int_equal(judge("one one"), GUARD_OBSERVE);
    assert_int_equal(verdict.count, 1);
    assert_true(slice_equals(verdict.findings[0].rule_name, SLICE("first")));
    assert_true(slice_equals(verdict.findings[0].message, SLICE("not one")));
    assert_true(slice_equals(verdict.findings[0].guardrail_name, SLICE("rail")));
    assert_true(slice_equals(verdict.findings[0].rule_type, SLICE("deny_words_list")));
    assert_int_equal(judge("one three"), GUARD_WARN);
    assert_int_equal(verdict.count, 2);
    assert_int_equal(judge("three two one"), GUARD_BLOCK);
    assert_int_equal(verdict.count, 3);
    assert_true(slice_equals(guard_verdict_reason(&verdict)->rule_name, SLICE("second")));
    assert_int_equal(judge("four"), GUARD_PASS);
    assert_int_equal(verdict.count, 0);
    assert_null(guard_verdict_reason(&verdict));
}

static void a_review_stands_between_a_warning_and_a_block(void **state)
{
    (void)state;
    use("{\"type\": \"deny_words_list\", \"words\": [\"one\"], \"action\": \"warn\"},"
        "{\"type\": \"deny_words_list\", \"words\": [\"two\"], \"action\": \"review\"},"
        "{\"type\": \"deny_words_list\", \"words\": [\"three\"], \"action\": \"review\", "
        "\"except_groups\": [\"chiefs\"]},"
        "{\"type\": \"deny_words_list\", \"words\": [\"four\"]}");
    assert_true(scope.asks_review);
    assert_int_equal(judge("one two three"), GUARD_REVIEW);
    assert_int_equal(verdict.count, 3);
    assert_int_equal(guard_verdict_reason(&verdict)->action, GUARD_REVIEW);
    assert_int_equal(judge("one two four"), GUARD_BLOCK);
    assert_int_equal(judge("one"), GUARD_WARN);
    use("{\"type\": \"deny_words_list\", \"words\": [\"two\"], \"action\": \"review\", "
        "\"groups\": [\"others\"]}");
    assert_false(scope.asks_review);
    assert_int_equal(judge("two"), GUARD_PASS);
}

static void directions_are_apart(void **state)
{
    (void)state;
    rig_use("{\"type\": \"deny_words_list\", \"words\": [\"in\"]}",
            "{\"type\": \"deny_words_list\", \"words\": [\"out\"], \"action\": \"warn\"}", NULL, 0);
    assert_int_equal(judge("in"), GUARD_BLOCK);
    assert_int_equal(judge("out"), GUARD_PASS);
    assert_int_equal(judge_output("in"), GUARD_PASS);
    assert_int_equal(judge_output("out"), GUARD_WARN);
    assert_int_equal(verdict.findings[0].direction, GUARD_OUTPUT);
    assert_true(guard_scope_looks_at(&scope, GUARD_INPUT));
    assert_true(guard_scope_looks_at(&scope, GUARD_OUTPUT));
    use("{\"type\": \"deny_words_list\", \"words\": [\"in\"]}");
    assert_false(guard_scope_looks_at(&scope, GUARD_OUTPUT));
    assert_int_equal(judge_output("in"), GUARD_PASS);
    use("");
    assert_false(guard_scope_looks_at(&scope, GUARD_INPUT));
    assert_int_equal(judge("in"), GUARD_PASS);
}

struct scope_case {
    const char *rule_groups;
    const char *except_groups;
    const char *groups[3];
    bool is_concerned;
};

static void budgets_are_told_and_find_nothing(void **state)
{
    (void)state;
    struct slice group = SLICE("support");
    const char *output =
        "{\"type\": \"read_budget\", \"rows\": 10, \"per\": \"session\", \"name\": \"one\", "
        "\"message\": \"m\"},"
        "{\"type\": \"read_budget\", \"bytes\": 20, \"per\": \"hour\", \"action\": \"warn\", "
        "\"groups\": [\"support\"]}";
    size_t count = 0;
    rig_use("", output, &group, 1);
    const struct guard_budget *budgets = guard_scope_budgets_in(&arena, &scope, &count);
    assert_int_equal(count, 2);
    assert_int_equal(budgets[0].rows, 10);
    assert_int_equal(budgets[0].bytes, UINT64_MAX);
    assert_false(budgets[0].is_hourly);
    assert_int_equal(budgets[0].finding.action, GUARD_BLOCK);
    assert_int_equal(budgets[0].finding.direction, GUARD_OUTPUT);
    assert_true(slice_equals(budgets[0].finding.guardrail_name, SLICE("rail")));
    assert_true(slice_equals(budgets[0].finding.rule_name, SLICE("one")));
    assert_true(slice_equals(budgets[0].finding.rule_type, SLICE("read_budget")));
    assert_int_equal(budgets[1].rows, UINT64_MAX);
    assert_int_equal(budgets[1].bytes, 20);
    assert_true(budgets[1].is_hourly);
    assert_int_equal(budgets[1].finding.action, GUARD_WARN);
    assert_true(guard_rules_have_hours(rules));
    /* Nobody has to look at output for them. */
    assert_false(guard_scope_looks_at(&scope, GUARD_OUTPUT));
    assert_int_equal(judge_output("anything"), GUARD_PASS);
    uint64_t id = scope.id[0];
    rig_use("", output, NULL, 0);
    (void)guard_scope_budgets_in(&arena, &scope, &count);
    assert_int_equal(count, 1);
    assert_true(id != scope.id[0]);
    id = scope.id[0];
    rig_use("", "{\"type\": \"read_budget\", \"rows\": 11, \"per\": \"session\"}", NULL, 0);
    assert_true(id != scope.id[0]);
    assert_false(guard_rules_have_hours(rules));
    use("{\"type\": \"sql\", \"multi_statement\": true}");
    assert_null(guard_scope_budgets_in(&arena, &scope, &count));
    assert_int_equal(count, 0);
}

static void rules_concern_groups(void **state)
{
    (void)state;
    static const struct scope_case cases[] = {
        {"", "", {NULL}, true},
        {"", "", {"dev"}, true},
        {"\"dev\"", "", {NULL}, false},
        {"\"dev\"", "", {"dev"}, true},
        {"\"dev\"", "", {"Dev"}, false},
        {"\"dev\", \"ops\"", "", {"x", "ops"}, true},
        {"\"dev\", \"ops\"", "", {"x", "y"}, false},
        {"", "\"ops\"", {NULL}, true},
        {"", "\"ops\"", {"ops"}, false},
        {"", "\"ops\", \"dba\"", {"dev", "dba"}, false},
        {"\"dev\"", "\"ops\"", {"dev"}, true},
        {"\"dev\"", "\"ops\"", {"dev", "ops"}, false},
        {"\"dev\"", "\"ops\"", {"x"}, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct slice groups[3];
        size_t count = 0;
        for (; count < 3 && cases[i].groups[count] != NULL; count++) {
            groups[count] = slice_of_text(cases[i].groups[count]);
        }
        struct slice rule = arena_format(&arena,
                                         "{\"type\": \"deny_words_list\", \"words\": [\"a\"], "
                                         "\"groups\": [%s], \"except_groups\": [%s]}",
                                         cases[i].rule_groups, cases[i].except_groups);
        rig_use(arena_text(&arena, rule), "", groups, count);
        assert_int_equal(judge("a"), cases[i].is_concerned ? GUARD_BLOCK : GUARD_PASS);
        assert_int_equal(guard_scope_looks_at(&scope, GUARD_INPUT), cases[i].is_concerned);
    }
}

static void the_same_rules_have_the_same_scope(void **state)
{
    (void)state;
    const char *one = "{\"type\": \"deny_words_list\", \"words\": [\"a\"], \"groups\": [\"x\"]}";
    const char *two = "{\"type\": \"deny_words_list\", \"words\": [\"a\"], \"groups\": [\"y\"]}";
    struct slice group = SLICE("x");
    rig_use(one, "", &group, 1);
    struct guard_scope first = scope;
    rig_use(one, "", &group, 1);
    assert_memory_equal(first.id, scope.id, sizeof(first.id));
    rig_use(one, "", NULL, 0);
    assert_memory_not_equal(first.id, scope.id, sizeof(first.id));
    rig_use(two, "", &group, 1);
    assert_memory_not_equal(first.id, scope.id, sizeof(first.id));
    rig_use("", one, &group, 1);
    assert_memory_not_equal(first.id, scope.id, sizeof(first.id));
}

static const char *many_rules(size_t count, const char *action)
{
    struct slice text = SLICE("");
    struct buf buf;
    buf_init(&buf, LIMIT_MIB(4));
    for (size_t i = 0; i < count; i++) {
        text = arena_format(&arena,
                            "%s{\"type\": \"%s\", \"%s\": %s\"word%zu;\"%s, \"action\": \"%s\"}",
                            i == 0 ? "" : ", ", i % 2 == 0 ? "deny_words_list" : "pattern_match",
                            i % 2 == 0 ? "words" : "pattern_regex", i % 2 == 0 ? "[" : "", i,
                            i % 2 == 0 ? "]" : "", action);
        must(buf_append(&buf, text) == ERR_NONE);
    }
    const char *all = arena_text(&arena, buf_view(&buf));
    buf_release(&buf);
    return all;
}

static void a_thousand_rules_at_once(void **state)
{
    (void)state;
    use(many_rules(1000, "block"));
    assert_int_equal(judge("word1000;"), GUARD_PASS);
    for (size_t i = 0; i < 1000; i += 111) {
        struct slice text = arena_format(&arena, "a word%zu; b", i);
        guard_judge_input(&scope, text, &settings, NULL, &verdict);
        assert_int_equal(verdict.count, 1);
        assert_int_equal(verdict.findings[0].rule, i);
    }
}

static void the_strongest_findings_stay(void **state)
{
    (void)state;
    struct slice all = arena_format(
        &arena, "%s, {\"type\": \"deny_words_list\", \"words\": [\"zzz\"], \"name\": \"last\"}",
        many_rules(40, "observe"));
    use(arena_text(&arena, all));
    struct slice text = SLICE("");
    for (size_t i = 0; i < 40; i++) {
        text = arena_format(&arena, "%.*s word%zu;", SLICE_ARG(text), i);
    }
    guard_judge_input(&scope, text, &settings, NULL, &verdict);
    assert_int_equal(verdict.action, GUARD_OBSERVE);
    assert_int_equal(verdict.count, GUARD_FINDINGS_MAX);
    text = arena_format(&arena, "%.*s zzz", SLICE_ARG(text));
    guard_judge_input(&scope, text, &settings, NULL, &verdict);
    assert_int_equal(verdict.action, GUARD_BLOCK);
    assert_int_equal(verdict.count, GUARD_FINDINGS_MAX);
    assert_true(slice_equals(guard_verdict_reason(&verdict)->rule_name, SLICE("last")));
}

static void what_is_too_long_is_blocked(void **state)
{
    (void)state;
    use("{\"type\": \"deny_words_list\", \"words\": [\"a\"], \"action\": \"observe\"}");
    size_t size = LIMIT_GUARD_TEXT_SIZE + 1;
    char *bytes = memory_new(size);
    memset(bytes, 'b', size);
    guard_judge_input(&scope, slice_of(bytes, size), &settings, NULL, &verdict);
    assert_int_equal(verdict.action, GUARD_BLOCK);
    assert_int_equal(verdict.findings[0].rule_type.len, 0);
    assert_true(verdict.findings[0].why.len > 0);
    guard_judge_input(&scope, slice_of(bytes, size - 1), &settings, NULL, &verdict);
    assert_int_equal(verdict.action, GUARD_PASS);
    guard_judge_output(&scope, slice_of(bytes, size), &verdict);
    assert_int_equal(verdict.action, GUARD_PASS); /* nothing is looked for */
    use("");
    guard_judge_input(&scope, slice_of(bytes, size), &settings, NULL, &verdict);
    assert_int_equal(verdict.action, GUARD_PASS);
    memory_free(bytes);
}

static void one_scratch_serves_rules_of_any_size(void **state)
{
    (void)state;
    struct guardrail small =
        guardrail_of(&arena, "{\"type\": \"deny_words_list\", \"words\": [\"word7;\"]}", "");
    struct guardrail large = guardrail_of(&arena, many_rules(500, "block"), "");
    struct guard_rules *other = NULL;
    assert_int_equal(guard_rules_new(&small, 1, &rules, NULL), ERR_NONE);
    assert_int_equal(guard_rules_new(&large, 1, &other, NULL), ERR_NONE);
    struct guard_scope first = guard_scope_in(&arena, scratch, rules, NULL, 0);
    struct guard_scope second = guard_scope_in(&arena, scratch, other, NULL, 0);
    for (int i = 0; i < 3; i++) {
        guard_judge_input(&first, SLICE("word7;"), &settings, NULL, &verdict);
        assert_int_equal(verdict.count, 1);
        guard_judge_input(&second, SLICE("word7; word499;"), &settings, NULL, &verdict);
        assert_int_equal(verdict.count, 2);
    }
    struct guard_rules *kept = guard_rules_ref(other);
    guard_rules_unref(other);
    guard_judge_input(&second, SLICE("word7;"), &settings, NULL, &verdict);
    assert_int_equal(verdict.count, 1);
    guard_rules_unref(kept);
}

int main(void)
{
#define TEST(name) RIG_TEST(name)
    const struct CMUnitTest tests[] = {
        TEST(words_are_found_anywhere_and_without_case),
        TEST(words_beyond_ascii_have_case_too),
        TEST(patterns_have_case_unless_they_say),
        TEST(comments_and_blanks_hide_nothing),
        TEST(each_statement_is_looked_at_by_itself),
        TEST(a_backslash_quotes_where_the_session_says_so),
        TEST(findings_say_which_rule),
        TEST(a_review_stands_between_a_warning_and_a_block),
        TEST(directions_are_apart),
        TEST(rules_concern_groups),
        TEST(budgets_are_told_and_find_nothing),
        TEST(the_same_rules_have_the_same_scope),
        TEST(a_thousand_rules_at_once),
        TEST(the_strongest_findings_stay),
        TEST(what_is_too_long_is_blocked),
        TEST(one_scratch_serves_rules_of_any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
