/* SPDX-License-Identifier: MIT */
#include "codec/json.h"

#include "base/limits.h"
#include "base/memory.h"

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

static struct json parse(const char *text)
{
    struct json document = {0};
    assert_int_equal(json_parse_in(&arena, slice_of_text(text), &document, &error), ERR_NONE);
    return document;
}

static void check_refused(struct slice text, const char *message)
{
    struct json document;
    assert_int_equal(json_parse_in(&arena, text, &document, &error), ERR_INPUT);
    assert_string_equal(error.message, message);
}

static void check_message(enum err err, const char *message)
{
    assert_int_equal(err, ERR_INPUT);
    assert_string_equal(error.message, message);
}

static void values_of_every_kind_are_read(void **state)
{
    (void)state;
    struct json body =
        parse(" {\"name\": \"caf\\u00e9 \\ud83d\\udd11\", \"port\": -5432, \"on\": true,"
              " \"list\": [1, 2, {\"x\": false}], \"none\": null} \n");
    struct slice name;
    int64_t port;
    bool on;
    size_t count;
    assert_int_equal(json_as_object(body, &error), ERR_NONE);
    assert_int_equal(json_as_text(json_member(&body, "name"), &name, &error), ERR_NONE);
    assert_true(slice_equals(name, SLICE("caf\xc3\xa9 \xf0\x9f\x94\x91")));
    assert_int_equal(json_as_int(json_member(&body, "port"), INT64_MIN, INT64_MAX, &port, &error),
                     ERR_NONE);
    assert_true(port == -5432);
    assert_int_equal(json_as_bool(json_member(&body, "on"), &on, &error), ERR_NONE);
    assert_true(on);
    struct json list = json_member(&body, "list");
    assert_int_equal(json_as_array(list, &count, &error), ERR_NONE);
    assert_int_equal(count, 3);
    struct json last = json_item(&list, 2);
    assert_int_equal(json_as_bool(json_member(&last, "x"), &on, &error), ERR_NONE);
    assert_false(on);
}

static void absent_null_and_given_are_told_apart(void **state)
{
    (void)state;
    struct json body = parse("{\"null\": null, \"given\": 0}");
    assert_true(json_is_absent(json_member(&body, "absent")));
    assert_false(json_is_given(json_member(&body, "absent")));
    assert_false(json_is_absent(json_member(&body, "null")));
    assert_false(json_is_given(json_member(&body, "null")));
    assert_false(json_is_absent(json_member(&body, "given")));
    assert_true(json_is_given(json_member(&body, "given")));
}

static void a_number_may_have_a_fraction(void **state)
{
    (void)state;
    struct json body = parse("{\"whole\": 1300819380, \"real\": 1300819380.25, \"text\": \"1\"}");
    double number;
    assert_int_equal(json_as_number(json_member(&body, "whole"), 0, 2e9, &number, &error),
                     ERR_NONE);
    assert_true(number == 1300819380.0);
    assert_int_equal(json_as_number(json_member(&body, "real"), 0, 2e9, &number, &error), ERR_NONE);
    assert_true(number == 1300819380.25);
    check_message(json_as_number(json_member(&body, "real"), 0, 7, &number, &error),
                  "'real' must be a number from 0 to 7");
    check_message(json_as_number(json_member(&body, "text"), 0.5, 7, &number, &error),
                  "'text' must be a number from 0.5 to 7");
    check_message(json_as_number(json_member(&body, "none"), 0, 7, &number, &error),
                  "'none' is required");
}

static void a_wrong_value_is_named_by_its_path(void **state)
{
    (void)state;
    struct json body = parse("{\"roles\": [{}, {\"name\": 5}], \"size\": 101, \"half\": 0.5}");
    struct json roles = json_member(&body, "roles");
    struct json first = json_item(&roles, 0);
    struct json second = json_item(&roles, 1);
    struct slice text;
    int64_t number;
    bool flag;
    size_t count;
    check_message(json_as_text(json_member(&first, "name"), &text, &error),
                  "'roles[0].name' is required");
    check_message(json_as_text(json_member(&second, "name"), &text, &error),
                  "'roles[1].name' must be a string");
    check_message(json_as_object(json_item(&roles, 2), &error), "'roles[2]' is required");
    check_message(json_as_object(roles, &error), "'roles' must be an object");
    check_message(json_as_array(first, &count, &error), "'roles[0]' must be an array");
    check_message(json_as_bool(first, &flag, &error), "'roles[0]' must be true or false");
    check_message(json_as_int(json_member(&body, "size"), 1, 100, &number, &error),
                  "'size' must be an integer from 1 to 100");
    check_message(json_as_int(json_member(&body, "half"), 0, 1, &number, &error),
                  "'half' must be an integer from 0 to 1");
}

static void looking_into_what_is_no_container_is_said_when_it_is_read(void **state)
{
    (void)state;
    struct slice text;
    struct json list = parse("[{\"a\": \"text\"}]");
    struct json member = json_member(&list, "name");
    assert_true(json_is_given(member));
    assert_false(json_is_absent(member));
    check_message(json_as_text(member, &text, &error), "the document must be an object");
    struct json item = json_item(&list, 0);
    struct json inner = json_member(&item, "a");
    struct json below = json_item(&inner, 3);
    check_message(json_as_text(below, &text, &error), "'[0].a' must be an array");
    struct json deeper = json_member(&below, "b");
    check_message(json_as_object(deeper, &error), "'[0].a' must be an array");
    struct json absent = json_member(&item, "none");
    check_message(json_as_text(json_member(&absent, "x"), &text, &error), "'[0].none' is required");
}

static void a_name_from_outside_is_shown_safely(void **state)
{
    (void)state;
    struct json body = parse("{\"a\\nb\": 1}");
    struct json_members members = json_members_of(&body);
    struct slice name;
    struct slice text;
    struct json value;
    assert_true(json_next_member(&members, &name, &value));
    check_message(json_as_text(value, &text, &error), "'a\\nb' must be a string");

    char long_name[600];
    memset(long_name, 'x', sizeof(long_name));
    struct slice document = arena_format(&arena, "{\"%.*s\": 1}", 600, long_name);
    assert_int_equal(json_parse_in(&arena, document, &body, &error), ERR_NONE);
    members = json_members_of(&body);
    assert_true(json_next_member(&members, &name, &value));
    assert_int_equal(name.len, 600);
    assert_int_equal(json_as_text(value, &text, &error), ERR_INPUT);
    assert_non_null(strstr(error.message, "x…' must be a string"));
}

/* What is too deep is told by its place, before it is known whether the names are UTF-8. */
static void a_name_that_is_no_text_is_cut_anywhere(void **state)
{
    (void)state;
    static const size_t lens[] = {158, 159, 160, 161, 162, 163, 164, 400};
    char name[400];
    char deep[LIMIT_JSON_DEPTH + 1];
    struct json body;
    memset(name, 0xb0, sizeof(name));
    memset(deep, '[', sizeof(deep));
    for (size_t i = 0; i < COUNT_OF(lens); i++) {
        struct slice document =
            arena_format(&arena, "{\"%.*s\":%.*s", (int)lens[i], name, (int)sizeof(deep), deep);
        assert_int_equal(json_parse_in(&arena, document, &body, &error), ERR_INPUT);
        assert_non_null(strstr(error.message, "\\xb0\\xb0"));
    }
}

static void members_come_in_the_order_of_the_document(void **state)
{
    (void)state;
    struct json body = parse("{\"secret\": {\"b\": \"1\", \"a\": \"2\", \"\": \"3\"}}");
    struct json secret = json_member(&body, "secret");
    struct json_members members = json_members_of(&secret);
    static const char *const names[] = {"b", "a", ""};
    struct slice name;
    struct slice text;
    struct json value;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_true(json_next_member(&members, &name, &value));
        assert_true(slice_equals(name, slice_of_text(names[i])));
        assert_int_equal(json_as_text(value, &text, &error), ERR_NONE);
        assert_int_equal(text.at[0], '1' + (char)i);
    }
    assert_false(json_next_member(&members, &name, &value));
    struct json none = json_member(&body, "none");
    members = json_members_of(&none);
    assert_false(json_next_member(&members, &name, &value));
}

static void a_malformed_document_names_the_member(void **state)
{
    (void)state;
    static const struct {
        struct slice text;
        const char *place;
    } cases[] = {
        {SLICE_INIT("{\"a\": {\"b\": [1, {\"c\": 1e400}]}}"), "'a.b[1].c': a number"},
        {SLICE_INIT("{\"a\": [1, 2], \"b\": \"\xff\"}"), "'b': not UTF-8"},
        {SLICE_INIT("{\"a,\\\"{[\": \"]}\", \"b\": \"\\ud800\"}"), "'b': "},
        {SLICE_INIT("{\"a\\\"\": \"\\u0000\"}"), "'a\\\"': U+0000"},
        {SLICE_INIT("{\"a\": {\"b\": 1, \"b\": 2}}"), "'a.b': a member comes twice"},
        {SLICE_INIT("{\"a\": , \"b\": 1}"), "'a': syntax error"},
        {SLICE_INIT("{\"a\": 1, \"b\": }"), "'b': syntax error"},
        {SLICE_INIT("{\"a\": {\"x\": 1}, \"b\": nul}"), "'b': syntax error"},
        {SLICE_INIT("{\"a\": 1} x"), "column 10: something follows"},
        {SLICE_INIT("{\"a\": 1, \"b\\"), "column 12: syntax error"},
        {SLICE_INIT("{\"a\": \"hunter2\" \"hunter2\""), "'a': syntax error"},
        {SLICE_INIT("]"), "column 1: syntax error"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct json body;
        assert_int_equal(json_parse_in(&arena, cases[i].text, &body, &error), ERR_INPUT);
        if (strstr(error.message, cases[i].place) == NULL ||
            strstr(error.message, "hunter2") != NULL) {
            fail_msg("%zu: %s", i, error.message);
        }
    }
}

static void malformed_documents_are_refused_with_their_place(void **state)
{
    (void)state;
    check_refused(SLICE_NONE, "malformed JSON at line 1, column 0: it ends too early");
    check_refused(SLICE("{\"a\": 1"),
                  "malformed JSON at line 1, column 7, in 'a': it ends too early");
    check_refused(SLICE("{\"a\": tru}"),
                  "malformed JSON at line 1, column 9, in 'a': syntax error");
    check_refused(SLICE("{\n\"a\": 1,\n}"), "malformed JSON at line 3, column 1: syntax error");
    check_refused(SLICE("{} {}"),
                  "malformed JSON at line 1, column 4: something follows the document");
    check_refused(SLICE("{}\0"),
                  "malformed JSON at line 1, column 3: something follows the document");
    check_refused(SLICE("{\"a\": 1, \"a\": 2}"),
                  "malformed JSON at line 1, column 12, in 'a': a member comes twice");
    check_refused(SLICE("[\"\\u0000\"]"),
                  "malformed JSON at line 1, column 9, in '[0]': U+0000 is not allowed");
    check_refused(SLICE("[\"\xff\"]"), "malformed JSON at line 1, column 2, in '[0]': not UTF-8");
    check_refused(SLICE("[\"\xed\xa0\x80\"]"),
                  "malformed JSON at line 1, column 2, in '[0]': not UTF-8");
    check_refused(SLICE("[9223372036854775808]"),
                  "malformed JSON at line 1, column 20, in '[0]': a number is too large");
}

static void what_json_does_not_know_is_refused(void **state)
{
    (void)state;
    static const struct slice refused[] = {
        SLICE_INIT("'a'"),
        SLICE_INIT("{a:1}"),
        SLICE_INIT("[1,]"),
        SLICE_INIT("01"),
        SLICE_INIT("+1"),
        SLICE_INIT("NaN"),
        SLICE_INIT("[1]//"),
        SLICE_INIT("\"\n\""),
        SLICE_INIT("\"\\x\""),
        SLICE_INIT("\"\\ud800\""),
        SLICE_INIT("\xef\xbb\xbf{}"),
        SLICE_INIT("1e999"),
        SLICE_INIT("]"),
        SLICE_INIT("{]"),
        SLICE_INIT("\"\\u0000"),
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        struct json document;
        assert_int_equal(json_parse_in(&arena, refused[i], &document, NULL), ERR_INPUT);
    }
}

static void every_prefix_of_a_document_is_refused(void **state)
{
    (void)state;
    struct slice whole = SLICE("{\"a\":[1,{\"b\":\"c\\n\"}],\"d\":null}");
    struct json document;
    for (size_t len = 0; len < whole.len; len++) {
        assert_int_equal(json_parse_in(&arena, slice_sub(whole, 0, len), &document, NULL),
                         ERR_INPUT);
    }
    assert_int_equal(json_parse_in(&arena, whole, &document, NULL), ERR_NONE);
}

static void depth_counts_brackets_outside_of_text_only(void **state)
{
    (void)state;
    char text[2 * LIMIT_JSON_DEPTH + 2];
    memset(text, '[', LIMIT_JSON_DEPTH + 1);
    memset(text + LIMIT_JSON_DEPTH + 1, ']', LIMIT_JSON_DEPTH + 1);
    struct json document;
    struct slice allowed = slice_of(text + 1, (size_t)2 * LIMIT_JSON_DEPTH);
    assert_int_equal(json_parse_in(&arena, allowed, &document, &error), ERR_NONE);
    check_refused(slice_of(text, sizeof(text)), "JSON is nested more than 64 deep, in '[0][0][0]'");
    struct slice quoted = arena_format(&arena, "[\"\\\"%.*s\"]", (int)LIMIT_JSON_DEPTH + 1, text);
    assert_int_equal(json_parse_in(&arena, quoted, &document, &error), ERR_NONE);
    static char brackets[1 << 20];
    memset(brackets, '[', sizeof(brackets));
    check_refused(slice_of(brackets, sizeof(brackets)),
                  "JSON is nested more than 64 deep, in '[0][0][0]'");
}

int main(void)
{
    json_set_seed(1);
#define JSON_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        JSON_TEST(values_of_every_kind_are_read),
        JSON_TEST(absent_null_and_given_are_told_apart),
        JSON_TEST(a_number_may_have_a_fraction),
        JSON_TEST(a_wrong_value_is_named_by_its_path),
        JSON_TEST(looking_into_what_is_no_container_is_said_when_it_is_read),
        JSON_TEST(a_name_from_outside_is_shown_safely),
        JSON_TEST(a_name_that_is_no_text_is_cut_anywhere),
        JSON_TEST(members_come_in_the_order_of_the_document),
        JSON_TEST(malformed_documents_are_refused_with_their_place),
        JSON_TEST(a_malformed_document_names_the_member),
        JSON_TEST(what_json_does_not_know_is_refused),
        JSON_TEST(every_prefix_of_a_document_is_refused),
        JSON_TEST(depth_counts_brackets_outside_of_text_only),
    };
    return cmocka_run_group_tests_name("codec/json", tests, NULL, NULL);
}
