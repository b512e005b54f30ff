/* SPDX-License-Identifier: MIT */
#include "model/guardrail.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"

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

/* As a request is: read whole, then the rules between its fields. */
static enum err request(const char *text, struct guardrail *ret_guardrail)
{
    struct json document;
    must(json_parse_in(&arena, slice_of_text(text), &document, NULL) == ERR_NONE);
    *ret_guardrail = (struct guardrail){0};
    error = (struct error){0};
    enum err err = shape_read(&guardrail_shape, SHAPE_WHOLE, &document, ret_guardrail, &error);
    return err == ERR_NONE ? guardrail_check(ret_guardrail, &error) : err;
}

/* A guard rail with one entry, for input. */
static enum err entry(const char *rule, struct guard_rule *ret_rule)
{
    struct guardrail guardrail;
    struct slice text =
        arena_format(&arena, "{\"name\": \"a\", \"input\": {\"rules\": [%s]}}", rule);
    enum err err = request(arena_text(&arena, text), &guardrail);
    size_t count = 0;
    const struct guard_rule *rules = guard_rule_list_items(guardrail.input, &count);
    *ret_rule = count == 1 ? rules[0] : (struct guard_rule){0};
    return err;
}

static void check_refused(const char *rule, const char *message)
{
    struct guard_rule read;
    assert_int_equal(entry(rule, &read), ERR_INPUT);
    assert_string_equal(error.message, message);
}

static const char *written(const struct guardrail *guardrail)
{
    struct buf buf;
    buf_init(&buf, LIMIT_MIB(1));
    struct json_writer json = json_writer_to(&buf);
    shape_write(&guardrail_shape, guardrail, &json);
    must(json_writer_done(&json) == ERR_NONE);
    const char *text = arena_text(&arena, buf_view(&buf));
    buf_release(&buf);
    return text;
}

static void what_is_read_is_written(void **state)
{
    (void)state;
    struct guardrail guardrail;
    assert_int_equal(
        request("{\"name\": \"no drops\", \"description\": \"d\", \"input\": {\"rules\": ["
                "{\"type\": \"deny_words_list\", \"words\": [\"DROP TABLE\"], \"pattern_regex\": "
                "\"\", \"message\": \"\"},"
                "{\"type\": \"sql\", \"operations\": [\"delete\"], \"relations\": [{\"name\": "
                "\"public.*\", \"access\": \"write\"}], \"max_rows\": 10, \"name\": \"few\"}]},"
                "\"output\": {\"rules\": [{\"type\": \"pattern_match\", \"pattern_regex\": \"a+\","
                "\"words\": []}]},"
                "\"connection_ids\": [\"8d5ff3f0-7a50-4d3f-8f6e-0a1b2c3d4e5f\"],"
                "\"attributes\": [\"production\"]}",
                &guardrail),
        ERR_NONE);
    guardrail.id = SLICE("6d5ff3f0-7a50-4d3f-8f6e-0a1b2c3d4e5f");
    const char *text = written(&guardrail);
    struct guardrail again;
    assert_int_equal(request(text, &again), ERR_NONE);
    again.id = guardrail.id;
    assert_string_equal(written(&again), text);
    assert_non_null(strstr(text, "\"words\":[\"DROP TABLE\"]"));
    assert_non_null(strstr(text, "\"max_rows\":10"));
    assert_non_null(strstr(text, "{\"name\":\"public.*\",\"access\":\"write\"}"));
    assert_non_null(strstr(text, "\"managed_by\":null"));
    assert_null(strstr(text, "without_where"));
}

static void a_guard_rail_may_have_no_rules(void **state)
{
    (void)state;
    struct guardrail guardrail;
    size_t count = 1;
    assert_int_equal(request("{\"name\": \"a\"}", &guardrail), ERR_NONE);
    assert_null(guard_rule_list_items(guardrail.input, &count));
    assert_int_equal(count, 0);
    assert_int_equal(
        request("{\"name\": \"a\", \"input\": {\"rules\": []}, \"output\": {}}", &guardrail),
        ERR_NONE);
    assert_null(guard_rule_list_items(guardrail.input, &count));
    assert_int_equal(request("{\"name\": \"a\", \"input\": null}", &guardrail), ERR_NONE);
    assert_int_equal(request("{\"input\": {\"rules\": []}}", &guardrail), ERR_INPUT);
    assert_string_equal(error.message, "'name' is required");
}

static void check_budget(const char *rule, const char *message)
{
    struct guardrail guardrail;
    struct slice text = arena_format(&arena,
                                     "{\"name\": \"a\", \"output\": {\"rules\": [{\"type\": "
                                     "\"read_budget\", %s}]}}",
                                     rule);
    enum err err = request(arena_text(&arena, text), &guardrail);
    assert_int_equal(err, message == NULL ? ERR_NONE : ERR_INPUT);
    assert_string_equal(error.message, message == NULL ? "" : message);
}

static void a_read_budget_is_for_output_and_has_an_amount_and_a_time(void **state)
{
    (void)state;
    check_budget("\"rows\": 1, \"per\": \"session\"", NULL);
    check_budget("\"bytes\": 1000000000000, \"rows\": null, \"per\": \"hour\"", NULL);
    check_budget("\"rows\": 5, \"bytes\": 7, \"per\": \"hour\", \"action\": \"warn\"", NULL);
    check_budget("\"per\": \"hour\"", "'output.rules[0]' must have 'rows' or 'bytes'");
    check_budget("\"rows\": null, \"per\": \"hour\"",
                 "'output.rules[0]' must have 'rows' or 'bytes'");
    check_budget("\"rows\": 5", "'output.rules[0].per' must be 'session' or 'hour'");
    check_budget("\"rows\": 5, \"per\": \"\"", "'output.rules[0].per' must be 'session' or 'hour'");
    check_budget("\"rows\": 5, \"per\": \"day\"",
                 "'output.rules[0].per' must be one of 'session', 'hour'");
    check_budget("\"rows\": 0, \"per\": \"hour\"",
                 "'output.rules[0].rows' must be an integer from 1 to 1000000000000");
    check_budget("\"bytes\": 1000000000001, \"per\": \"hour\"",
                 "'output.rules[0].bytes' must be an integer from 1 to 1000000000000");
    check_budget("\"rows\": 5, \"per\": \"hour\", \"words\": [\"a\"]",
                 "'output.rules[0].words' does not belong to a rule of type 'read_budget'");
    check_budget("\"rows\": 5, \"per\": \"hour\", \"case_sensitive\": true",
                 "'output.rules[0].case_sensitive' does not belong to a rule of type "
                 "'read_budget'");
    check_refused("{\"type\": \"read_budget\", \"rows\": 5, \"per\": \"hour\"}",
                  "'input.rules[0].type' is about what comes back: 'read_budget' belongs to "
                  "'output.rules'");
    check_refused("{\"type\": \"deny_words_list\", \"words\": [\"a\"], \"rows\": 5}",
                  "'input.rules[0].rows' does not belong to a rule of type 'deny_words_list'");
    check_refused("{\"type\": \"sql\", \"multi_statement\": true, \"per\": \"hour\"}",
                  "'input.rules[0].per' does not belong to a rule of type 'sql'");
}

static void an_entry_has_a_type_and_a_condition(void **state)
{
    (void)state;
    check_refused("{}", "'input.rules[0].type' is required");
    check_refused("{\"type\": \"regex\"}",
                  "'input.rules[0].type' must be one of "
                  "'deny_words_list', 'pattern_match', 'sql', 'read_budget'");
    check_refused("{\"type\": \"deny_words_list\"}", "'input.rules[0].words' must not be empty");
    check_refused("{\"type\": \"deny_words_list\", \"words\": []}",
                  "'input.rules[0].words' must not be empty");
    check_refused("{\"type\": \"deny_words_list\", \"words\": [\"a\", \"\"]}",
                  "'input.rules[0].words[1]' must not be empty");
    check_refused("{\"type\": \"pattern_match\", \"pattern_regex\": \"\"}",
                  "'input.rules[0].pattern_regex' must not be empty");
    check_refused("{\"type\": \"sql\"}", "'input.rules[0]' must have a condition");
    check_refused("{\"type\": \"sql\", \"unknown\": \"block\", \"without_where\": false, "
                  "\"operations\": []}",
                  "'input.rules[0]' must have a condition");
    check_refused("{\"type\": \"sql\", \"multi_statement\": true, \"action\": \"stop\"}",
                  "'input.rules[0].action' must be one of 'block', 'review', 'rehearse', "
                  "'warn', 'observe'");
}

static void members_belong_to_a_type(void **state)
{
    (void)state;
    check_refused("{\"type\": \"deny_words_list\", \"words\": [\"a\"], \"pattern_regex\": \"b\"}",
                  "'input.rules[0].pattern_regex' does not belong to a rule of type "
                  "'deny_words_list'");
    check_refused("{\"type\": \"sql\", \"operations\": [\"drop\"], \"words\": [\"b\"]}",
                  "'input.rules[0].words' does not belong to a rule of type 'sql'");
    check_refused("{\"type\": \"pattern_match\", \"pattern_regex\": \"b\", \"max_rows\": 4}",
                  "'input.rules[0].max_rows' does not belong to a rule of type 'pattern_match'");
    check_refused("{\"type\": \"sql\", \"operations\": [\"drop\"], \"case_sensitive\": true}",
                  "'input.rules[0].case_sensitive' does not belong to a rule of type 'sql'");
    struct guardrail guardrail;
    assert_int_equal(request("{\"name\": \"a\", \"output\": {\"rules\": [{\"type\": \"sql\", "
                             "\"operations\": [\"drop\"]}]}}",
                             &guardrail),
                     ERR_INPUT);
    assert_string_equal(error.message,
                        "'output.rules[0].type' is about statements: 'sql' is for input");
}

static void reviews_are_of_statements(void **state)
{
    (void)state;
    struct guard_rule rule;
    struct guardrail guardrail;
    assert_int_equal(entry("{\"type\": \"deny_words_list\", \"words\": [\"a\"], "
                           "\"action\": \"review\"}",
                           &rule),
                     ERR_NONE);
    assert_int_equal(request("{\"name\": \"a\", \"output\": {\"rules\": [{\"type\": "
                             "\"deny_words_list\", \"words\": [\"a\"], \"action\": "
                             "\"review\"}]}}",
                             &guardrail),
                     ERR_INPUT);
    assert_string_equal(error.message, "'output.rules[0].action' is 'review', which is for "
                                       "statements: what comes back cannot be held");
    check_refused("{\"type\": \"sql\", \"max_rows\": 1, \"action\": \"review\"}",
                  "'input.rules[0].max_rows' is for rules whose action is 'block'");
    check_refused("{\"type\": \"sql\", \"read_only\": true, \"action\": \"review\"}",
                  "'input.rules[0].read_only' is for rules whose action is 'block'");
}

static void structural_conditions_are_checked(void **state)
{
    (void)state;
    struct guard_rule rule;
    assert_int_equal(entry("{\"type\": \"sql\", \"operations\": [\"delete\", \"merge\"], "
                           "\"max_rows\": 1}",
                           &rule),
                     ERR_NONE);
    check_refused("{\"type\": \"sql\", \"operations\": [\"delete\", \"drop\"], \"max_rows\": 1}",
                  "'input.rules[0].max_rows' is for insert, update, delete and merge, not for "
                  "'drop'");
    check_refused("{\"type\": \"sql\", \"max_rows\": 1, \"action\": \"warn\"}",
                  "'input.rules[0].max_rows' is for rules whose action is 'block'");
    check_refused("{\"type\": \"sql\", \"operations\": [\"insert\"], \"without_where\": true}",
                  "'input.rules[0].without_where' is for update and delete");
    assert_int_equal(entry("{\"type\": \"sql\", \"operations\": [\"purge\"]}", &rule), ERR_INPUT);
    assert_non_null(
        strstr(error.message, "'input.rules[0].operations[0]' must be one of 'select'"));
    assert_int_equal(entry("{\"type\": \"sql\", \"max_rows\": 0}", &rule), ERR_INPUT);
    check_refused("{\"type\": \"sql\", \"relations\": [{\"name\": \"a\", \"access\": \"rw\"}]}",
                  "'input.rules[0].relations[0].access' must be one of 'read', 'write', 'any'");
    check_refused("{\"type\": \"sql\", \"relations\": [{\"access\": \"read\"}]}",
                  "'input.rules[0].relations[0].name' is required");
}

static void globs_are_names_with_stars(void **state)
{
    (void)state;
    static const char *const good[] = {"*", "a", "a.b", "*.*", "pg_*", "?x.y*", "\xc3\xbc", "a b"};
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_int_equal(guard_glob_check(slice_of_text(good[i]), &error), ERR_NONE);
    }
    static const char *const bad[] = {"", ".", "a.", ".b", "a.b.c", "a..b", "\"a\".b", "a\nb"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(guard_glob_check(slice_of_text(bad[i]), &error), ERR_INPUT);
    }
    check_refused("{\"type\": \"sql\", \"functions\": [\"a.b.c\"]}",
                  "'input.rules[0].functions[0]' must be 'name' or 'schema.name', with one dot at "
                  "most");
}

static bool blocks_unknown(const char *rule)
{
    struct guard_rule read;
    assert_int_equal(entry(rule, &read), ERR_NONE);
    return guard_rule_blocks_unknown(&read);
}

static void rules_about_writes_block_what_is_unknown(void **state)
{
    (void)state;
    static const char *const writes[] = {"insert", "update", "delete", "merge", "truncate", "drop",
                                         "alter",  "create", "grant",  "copy",  "call",     "do"};
    for (size_t i = 0; i < COUNT_OF(writes); i++) {
        struct slice rule = arena_format(
            &arena, "{\"type\": \"sql\", \"operations\": [\"select\", \"%s\"]}", writes[i]);
        assert_true(blocks_unknown(arena_text(&arena, rule)));
    }
    assert_true(blocks_unknown("{\"type\": \"sql\", \"without_where\": true}"));
    assert_true(blocks_unknown("{\"type\": \"sql\", \"max_rows\": 5}"));
    assert_true(blocks_unknown("{\"type\": \"sql\", \"functions\": [\"lo_*\"]}"));
    assert_true(blocks_unknown("{\"type\": \"sql\", \"relations\": [{\"name\": \"a\"}]}"));
    assert_true(blocks_unknown(
        "{\"type\": \"sql\", \"relations\": [{\"name\": \"a\", \"access\": \"write\"}]}"));
    assert_false(blocks_unknown(
        "{\"type\": \"sql\", \"relations\": [{\"name\": \"a\", \"access\": \"read\"}]}"));
    assert_false(blocks_unknown("{\"type\": \"sql\", \"operations\": [\"select\", \"set\"]}"));
    assert_false(blocks_unknown("{\"type\": \"sql\", \"multi_statement\": true}"));
    assert_false(
        blocks_unknown("{\"type\": \"sql\", \"operations\": [\"drop\"], \"unknown\": \"allow\"}"));
    assert_true(
        blocks_unknown("{\"type\": \"sql\", \"multi_statement\": true, \"unknown\": \"block\"}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_read_is_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_guard_rail_may_have_no_rules, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_entry_has_a_type_and_a_condition, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_read_budget_is_for_output_and_has_an_amount_and_a_time,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(members_belong_to_a_type, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reviews_are_of_statements, set_up, tear_down),
        cmocka_unit_test_setup_teardown(structural_conditions_are_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(globs_are_names_with_stars, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rules_about_writes_block_what_is_unknown, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
