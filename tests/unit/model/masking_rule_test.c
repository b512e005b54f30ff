/* SPDX-License-Identifier: MIT */
#include "model/masking_rule.h"

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
static enum err request(const char *text, struct masking_rule *ret_rule)
{
    struct json document;
    must(json_parse_in(&arena, slice_of_text(text), &document, NULL) == ERR_NONE);
    *ret_rule = (struct masking_rule){0};
    error = (struct error){0};
    enum err err = shape_read(&masking_rule_shape, SHAPE_WHOLE, &document, ret_rule, &error);
    return err == ERR_NONE ? masking_rule_check(ret_rule, &error) : err;
}

static const char *members(unsigned with, const struct masking_rule *rule)
{
    struct buf buf;
    buf_init(&buf, LIMIT_MIB(1));
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    shape_write_members(&masking_rule_shape, with, 0, rule, &json);
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    const char *text = arena_text(&arena, buf_view(&buf));
    buf_release(&buf);
    return text;
}

#define ALL                                                                                        \
    "\"supported_entity_types\":[{\"name\":\"PII\",\"entity_types\":[\"EMAIL_ADDRESS\"]}],"        \
    "\"score_threshold\":0.6,"                                                                     \
    "\"custom_entity_types\":[{\"name\":\"EMP_ID\",\"regex\":\"E[0-9]{6}\",\"deny_list\":[\"x\"]," \
    "\"score\":0.8}],"                                                                             \
    "\"columns\":[{\"name\":\"public.people.*\",\"strategy\":{\"type\":\"partial\","               \
    "\"keep_last\":2}},{\"name\":\"salary\"}],"                                                    \
    "\"strategy\":{\"type\":\"redact\",\"replacement\":\"[hidden]\"},"                             \
    "\"on_unexaminable\":\"refuse\",\"refuse_predicates\":true"

static void a_rule_is_read_and_comes_back(void **state)
{
    (void)state;
    struct masking_rule rule;
    enum err err = request("{\"name\":\"pii\"," ALL "}", &rule);
    assert_string_equal(error.message, "");
    assert_int_equal(err, ERR_NONE);
    assert_int_equal(rule.score_threshold.value, 60);
    const struct masking_custom *custom = rule.custom_entity_types.items;
    assert_int_equal(custom->score.value, 80);
    const struct masking_column *columns = rule.columns.items;
    assert_int_equal(columns[0].strategy->keep_last.value, 2);
    assert_null(columns[1].strategy);
    assert_string_equal(members(SHAPE_KEPT, &rule), "{" ALL "}");

    struct json document;
    struct masking_rule again = {0};
    must(json_parse_in(&arena, slice_of_text(members(SHAPE_KEPT, &rule)), &document, NULL) ==
         ERR_NONE);
    assert_int_equal(shape_read_kept(&masking_rule_shape, &document, &again, &error), ERR_NONE);
    assert_string_equal(members(SHAPE_KEPT, &again), "{" ALL "}");
}

static void little_is_enough(void **state)
{
    (void)state;
    static const char *const rules[] = {
        "{\"name\":\"a\",\"columns\":[{\"name\":\"x\"}]}",
        "{\"name\":\"a\",\"custom_entity_types\":[{\"name\":\"A\",\"score\":0.5,\"regex\":\"a\"}],"
        "\"score_threshold\":null,\"strategy\":null,\"columns\":null,\"on_unexaminable\":null}",
        "{\"name\":\"a\",\"custom_entity_types\":[{\"name\":\"A\",\"score\":1,\"deny_list\":[\"a\"]"
        "}],\"score_threshold\":1}",
        "{\"name\":\"a\",\"columns\":[{\"name\":\"x\",\"strategy\":{\"type\":\"partial\","
        "\"keep_last\":null}}]}",
    };
    struct masking_rule rule;
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        enum err err = request(rules[i], &rule);
        assert_string_equal(error.message, "");
        assert_int_equal(err, ERR_NONE);
    }
}

#define CUSTOM(text) "{\"name\":\"a\",\"custom_entity_types\":[" text "]}"
#define COLUMN(text) "{\"name\":\"a\",\"columns\":[" text "]}"

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *rule;
        const char *message;
    } cases[] = {
        {"{\"name\":\"a\"}", "there is nothing to mask: 'supported_entity_types', "
                             "'custom_entity_types' and 'columns' are empty"},
        {"{\"name\":\"a\",\"supported_entity_types\":[{\"name\":\"pii\",\"entity_types\":[]}]}",
         "'supported_entity_types[0].name' must be upper case letters, digits and '_'"},
        {"{\"name\":\"a\",\"supported_entity_types\":[{\"name\":\"PII\",\"entity_types\":[]}]}",
         "'supported_entity_types[0].entity_types' must not be empty"},
        {"{\"name\":\"a\",\"supported_entity_types\":[{\"name\":\"PII\",\"entity_types\":["
         "\"EMAIL_ADDRESS\",\"PERSON\"]}]}",
         "'supported_entity_types[0].entity_types[1]' is of no known type: 'PERSON'"},
        {"{\"name\":\"a\",\"score_threshold\":1.5}",
         "'score_threshold' must be a number from 0 to 1"},
        {CUSTOM("{\"name\":\"A B\",\"score\":1}"),
         "'custom_entity_types[0].name' must be upper case letters, digits and '_'"},
        {CUSTOM("{\"name\":\"A\",\"score\":1}"),
         "'custom_entity_types[0]' must have a 'regex' or a 'deny_list'"},
        {CUSTOM("{\"name\":\"A\",\"regex\":\"a\"}"), "'custom_entity_types[0].score' is required"},
        {CUSTOM("{\"name\":\"A\",\"regex\":\"a\",\"score\":0.49}"),
         "'custom_entity_types[0].score' must reach the threshold, or it never masks"},
        {CUSTOM("{\"name\":\"A\",\"deny_list\":[\"\"],\"score\":1}"),
         "'custom_entity_types[0].deny_list[0]' must not be empty"},
        {COLUMN("{\"name\":\"a.b.c.d\"}"),
         "'columns[0].name' must have at most three parts: schema.table.column"},
        {COLUMN("{\"name\":\"a..c\"}"),
         "'columns[0].name' must have no empty part between its dots"},
        {COLUMN("{\"name\":\"a\\\\\"}"), "'columns[0].name' must not end with a backslash"},
        {COLUMN("{\"name\":\"x\",\"strategy\":{\"type\":\"shuffle\"}}"),
         "'columns[0].strategy.type' must be one of 'redact', 'partial', 'hash', 'null'"},
        {COLUMN("{\"name\":\"x\",\"strategy\":{}}"), "'columns[0].strategy.type' is required"},
        {COLUMN("{\"name\":\"x\",\"strategy\":{\"type\":\"hash\",\"keep_last\":1}}"),
         "'columns[0].strategy.keep_last' is for the type 'partial' only"},
        {COLUMN("{\"name\":\"x\",\"strategy\":{\"type\":\"partial\",\"keep_last\":65}}"),
         "'columns[0].strategy.keep_last' must be an integer from 0 to 64"},
        {COLUMN("{\"name\":\"x\",\"strategy\":{\"type\":\"null\",\"replacement\":\"x\"}}"),
         "'columns[0].strategy.replacement' is for the type 'redact' only"},
        {"{\"name\":\"a\",\"on_unexaminable\":\"pass\"}",
         "'on_unexaminable' must be one of 'mask', 'refuse'"},
    };
    struct masking_rule rule;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        enum err err = request(cases[i].rule, &rule);
        assert_string_equal(error.message, cases[i].message);
        assert_int_equal(err, ERR_INPUT);
    }
}

static void a_replacement_breaks_no_syntax(void **state)
{
    (void)state;
    static const char *const bad[] = {"a,b", "\\\"", "{a}", "\\\\", "<a>",  "a&b",      "(a)", " a",
                                      "a ",  "'a'",  "a;b", "a\\n", "nUlL", "\xc3\xa4", "a|b"};
    struct masking_rule rule;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        const char *text = arena_text(
            &arena, arena_format(&arena,
                                 "{\"name\":\"a\",\"columns\":[{\"name\":\"x\"}],\"strategy\":"
                                 "{\"type\":\"redact\",\"replacement\":\"%s\"}}",
                                 bad[i]));
        assert_int_equal(request(text, &rule), ERR_INPUT);
        assert_string_equal(error.message,
                            "'strategy.replacement' must be ASCII letters, digits, inner spaces "
                            "and _*#.:@[]-, and not 'null'");
    }
}

static void check_parts(const char *name, const char *schema, const char *table, const char *column)
{
    struct masking_column_name parts;
    assert_int_equal(masking_column_parse(slice_of_text(name), &parts, &error), ERR_NONE);
    assert_true(slice_equals(parts.schema, slice_of_text(schema)));
    assert_true(slice_equals(parts.table, slice_of_text(table)));
    assert_true(slice_equals(parts.column, slice_of_text(column)));
}

static void parts_of_a_column_that_are_not_written_are_any(void **state)
{
    (void)state;
    check_parts("phone", "*", "*", "phone");
    check_parts("people.phone", "*", "people", "phone");
    check_parts("public.p*.ph?ne", "public", "p*", "ph?ne");
    check_parts("a\\.b.c", "*", "a\\.b", "c");
    check_parts("a\\\\.b", "*", "a\\\\", "b");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_rule_is_read_and_comes_back),
        TEST(little_is_enough),
        TEST(what_is_wrong_is_named),
        TEST(a_replacement_breaks_no_syntax),
        TEST(parts_of_a_column_that_are_not_written_are_any),
    };
    return cmocka_run_group_tests_name("model/masking_rule", tests, NULL, NULL);
}
