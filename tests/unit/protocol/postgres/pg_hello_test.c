/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_hello.h"

#include "base/memory.h"
#include "model/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct arena arena;
static struct error error;
static struct hello hello;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static enum err take(const char *application, const char *options)
{
    struct pgwire_startup startup = {.parameter_count = 1,
                                     .parameters = {{SLICE("user"), SLICE("shop")}}};
    if (application != NULL) {
        startup.parameters[startup.parameter_count++] =
            (struct pgwire_parameter){SLICE("application_name"), slice_of_text(application)};
    }
    if (options != NULL) {
        startup.parameters[startup.parameter_count++] =
            (struct pgwire_parameter){SLICE("options"), slice_of_text(options)};
    }
    hello = pg_hello_in(&arena, &startup);
    return session_metadata_check(&hello.metadata, &error);
}

static struct slice left(const char *name)
{
    const char *none = "(none)";
    for (size_t i = 0; i < hello.parameters.count; i++) {
        if (slice_equals(hello.parameters.pairs[i].key, slice_of_text(name))) {
            return hello.parameters.pairs[i].value;
        }
    }
    return slice_of_text(none);
}

static void check(struct slice text, const char *wanted)
{
    assert_string_equal(arena_text(&arena, text), wanted);
}

static void check_given(const char *wanted)
{
    check(session_metadata_json_in(&arena, &hello.metadata), wanted);
}

static void options_are_split_as_servers_do(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        const char *left;
        const char *given;
    } cases[] = {
        {"-c gatehouse.metadata.ticket=7", "(none)", "{\"ticket\":\"7\"}"},
        {"  -c\tgatehouse.metadata.ticket=7\n", "(none)", "{\"ticket\":\"7\"}"},
        {"-cgatehouse.metadata.ticket=7", "(none)", "{\"ticket\":\"7\"}"},
        {"--gatehouse.metadata.ticket=7", "(none)", "{\"ticket\":\"7\"}"},
        {"--GateHouse.MetaData.Ticket=7", "(none)", "{\"Ticket\":\"7\"}"},
        {"-c gatehouse.metadata.a=x\\ y\\\\z", "(none)", "{\"a\":\"x y\\\\z\"}"},
        {"-c gatehouse.metadata.a=b=c", "(none)", "{\"a\":\"b=c\"}"},
        {"-c gatehouse.metadata.a=", "(none)", "{\"a\":\"\"}"},
        {"-c gatehouse.metadata.a=1 --gatehouse.metadata.a=2", "(none)", "{\"a\":\"2\"}"},
        {"-c work_mem=5MB -c gatehouse.metadata.a=1 -c x.y=a\\ b", "-c work_mem=5MB -c x.y=a\\ b",
         "{\"a\":\"1\"}"},
        {"-c gatehouse.metadata.a", "-c gatehouse.metadata.a", "{}"},
        {"-c gatehouse.metadata.=1", "-c gatehouse.metadata.=1", "{}"},
        {"gatehouse.metadata.a=1", "gatehouse.metadata.a=1", "{}"},
        {"-c", "-c", "{}"},
        {"-", "-", "{}"},
        {"\\", "\\", "{}"},
        {"", "(none)", "{}"},
        {"   ", "(none)", "{}"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(take(NULL, cases[i].options), ERR_NONE);
        check(left("options"), cases[i].left);
        check(left("user"), "shop");
        check_given(cases[i].given);
    }
}

static void an_applications_name_is_read_only_when_all_of_it_is_pairs(void **state)
{
    (void)state;
    static const struct {
        const char *application;
        const char *left;
        const char *given;
    } cases[] = {
        {"psql", "psql", "{}"},
        {"psql;ticket=7", "psql", "{\"ticket\":\"7\"}"},
        {"psql; ticket = 7 ; b=c d", "psql", "{\"ticket\":\"7\",\"b\":\"c d\"}"},
        {";a=1", "", "{\"a\":\"1\"}"},
        {"My app; version 2", "My app; version 2", "{}"},
        {"x;a=1;b", "x;a=1;b", "{}"},
        {"x;=1", "x;=1", "{}"},
        {"x;a=1;", "x", "{\"a\":\"1\"}"},
        {"x;", "x", "{}"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(take(cases[i].application, NULL), ERR_NONE);
        check(left("application_name"), cases[i].left);
        check(hello.application_name, cases[i].left);
        check_given(cases[i].given);
    }
}

static void options_come_before_an_applications_name(void **state)
{
    (void)state;
    assert_int_equal(take("x;a=1;b=2", "-c gatehouse.metadata.a=3"), ERR_NONE);
    check_given("{\"a\":\"3\",\"b\":\"2\"}");
}

static void a_parameter_of_that_name_is_one_too(void **state)
{
    (void)state;
    const struct pgwire_startup startup = {
        .parameter_count = 2,
        .parameters = {{SLICE("user"), SLICE("shop")},
                       {SLICE("gatehouse.metadata.ticket"), SLICE("7")}}};
    hello = pg_hello_in(&arena, &startup);
    check_given("{\"ticket\":\"7\"}");
    assert_int_equal(hello.parameters.count, 1);
}

static void what_is_too_much_or_no_text_is_refused(void **state)
{
    (void)state;
    char many[400] = "x";
    char large[3000] = "x;a=";
    for (int i = 0; i <= SESSION_METADATA_COUNT; i++) {
        size_t len = strlen(many);
        (void)snprintf(many + len, sizeof(many) - len, ";k%d=v", i);
    }
    (void)memset(large + 4, 'v', SESSION_METADATA_SIZE);
    assert_int_equal(take(many, NULL), ERR_INPUT);
    assert_int_equal(take(large, NULL), ERR_INPUT);
    large[4 + SESSION_METADATA_SIZE - 1] = '\0';
    assert_int_equal(take(large, NULL), ERR_NONE);
    assert_int_equal(take("x;a=\xff", NULL), ERR_INPUT);
    assert_int_equal(take("x;\xc0\x80=1", NULL), ERR_INPUT);
    assert_int_equal(take("x;a=1\x1b[2J", NULL), ERR_INPUT);
}

/* 'word' again and again, as long as a startup packet may be. */
static size_t memory_of(const char *word)
{
    char options[9000] = "";
    size_t size = strlen(word);
    for (size_t i = 0; size > 0 && i < sizeof(options) - 1; i++) {
        options[i] = word[i % size];
    }
    arena_reset(&arena);
    (void)take("psql", options);
    return arena.size;
}

static void odd_options_cost_memory_in_proportion(void **state)
{
    (void)state;
    static const char *const words[] = {
        "x ", "-c ", "-c\\ \\x ", "\\\\ ", "\\", "-cgatehouse.metadata.a=b ", "-c =\\ gatehouse ",
    };
    size_t least = memory_of("");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        assert_in_range(memory_of(words[i]), least, least + (size_t)4 * 9000);
    }
}

static void what_is_missing_is_named(void **state)
{
    (void)state;
    struct slice names[] = {SLICE("ticket"), SLICE("b"), SLICE("why not")};
    const struct shape_texts mandatory = {.items = names, .count = 3, .is_given = true};
    assert_int_equal(take("x;b=1;ticket=", NULL), ERR_NONE);
    assert_int_equal(session_metadata_check_fields(&mandatory, &hello.metadata, &error),
                     ERR_DENIED);
    assert_non_null(strstr(error.message, "'ticket', 'why not'"));
    assert_int_equal(take("x;b=1;ticket=2;why not=3", NULL), ERR_NONE);
    assert_int_equal(session_metadata_check_fields(&mandatory, &hello.metadata, &error), ERR_NONE);
}

static void a_text_is_made_utf_8_and_cut_between_characters(void **state)
{
    (void)state;
    check(session_text_in(&arena, SLICE("a\xffz"), 10), "a?z");
    check(session_text_in(&arena, SLICE("a\xc3\xa4"), 2), "a");
    check(session_text_in(&arena, SLICE("a\xc3\xa4"), 3), "a\xc3\xa4");
    check(session_text_in(&arena, SLICE("\xc3"), 3), "?");
    check(session_text_in(&arena, SLICE("a\n\tb\033"), 5), "a  b?");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(options_are_split_as_servers_do),
        TEST(an_applications_name_is_read_only_when_all_of_it_is_pairs),
        TEST(options_come_before_an_applications_name),
        TEST(a_parameter_of_that_name_is_one_too),
        TEST(what_is_too_much_or_no_text_is_refused),
        TEST(odd_options_cost_memory_in_proportion),
        TEST(what_is_missing_is_named),
        TEST(a_text_is_made_utf_8_and_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
