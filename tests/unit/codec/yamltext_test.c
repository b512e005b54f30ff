/* SPDX-License-Identifier: MIT */
#include "codec/yamltext.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct arena arena;
static struct yamltext_documents found;
static struct error error;
static size_t line;

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

static enum err parse(const char *text)
{
    found = (struct yamltext_documents){0};
    return yamltext_parse_in(&arena, slice_of_text(text), &found, &line, &error);
}

static void assert_json(const char *text, const char *json)
{
    assert_int_equal(parse(text), ERR_NONE);
    assert_int_equal(found.count, 1);
    struct slice written = json_as_written(found.items[0].json);
    assert_int_equal(written.len, strlen(json));
    assert_memory_equal(written.at, json, written.len);
}

static void values_are_those_of_json(void **state)
{
    (void)state;
    assert_json("[1, -2.5, true, False, ~, null, 'x', \"y\"]",
                "[1,-2.5,true,false,null,null,\"x\",\"y\"]");
    assert_json("[5555055515555500.5, 1.5e-7, 1.0e18]", "[5.5550555155555e15,1.5e-7,1e18]");
    assert_json("[yes, no, 0x1f, 007, +1, .5, 1e3, '1']",
                "[\"yes\",\"no\",\"0x1f\",\"007\",\"+1\",\".5\",\"1e3\",\"1\"]");
    assert_json("a: {}\nb: []\nc: |\n  two\n  lines\n",
                "{\"a\":{},\"b\":[],\"c\":\"two\\nlines\\n\"}");
}

static void what_json_has_not_is_refused_with_its_line(void **state)
{
    (void)state;
    assert_int_equal(parse("a: 1\nb: &x 2\n"), ERR_INPUT);
    assert_int_equal(line, 2);
    assert_int_equal(parse("a: *x\n"), ERR_INPUT);
    assert_int_equal(parse("a: !!str 1\n"), ERR_INPUT);
    assert_int_equal(parse("a: 1\nb: 2\na: 3\n"), ERR_INPUT);
    assert_int_equal(line, 3);
    assert_int_equal(parse("? [a]\n: b\n"), ERR_INPUT);
    assert_int_equal(parse("a: \"\\0\"\n"), ERR_INPUT);
    assert_int_equal(parse("a: [1\n"), ERR_INPUT);
}

static void every_value_has_its_line(void **state)
{
    (void)state;
    assert_int_equal(parse("# none\n\na: 1\nb:\n  - c: x\n    d: y\n---\n- z\n"), ERR_NONE);
    assert_int_equal(found.count, 2);
    const struct yamltext_document *first = &found.items[0];
    assert_int_equal(first->line, 3);
    assert_int_equal(yamltext_line_of(first, SLICE("a")), 3);
    assert_int_equal(yamltext_line_of(first, SLICE("b[0].d")), 6);
    assert_int_equal(yamltext_line_of(first, SLICE("b[0].d.e")), 6);
    assert_int_equal(yamltext_line_of(first, SLICE("elsewhere")), 3);
    assert_int_equal(found.items[1].line, 8);
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    const char *text =
        "a: [\"1\", \"null\", \"- x\", \" y\", \"a: b\", \"two\\nlines\", \"\", 1.5, ~]\n";
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, 4096);
    assert_int_equal(parse(text), ERR_NONE);
    struct json json = found.items[0].json;
    assert_int_equal(yamltext_write(json, &buf), ERR_NONE);
    assert_int_equal(yamltext_parse_in(&arena, buf_view(&buf), &found, &line, &error), ERR_NONE);
    assert_true(json_is_same(json, found.items[0].json));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values_are_those_of_json, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_json_has_not_is_refused_with_its_line, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(every_value_has_its_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_written_is_read_again, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
