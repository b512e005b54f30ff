/* SPDX-License-Identifier: MIT */
#include "model/masking_link.h"

#include "base/memory.h"
#include "base/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define RULE "01a1ff7d-09f7-7a3f-a4e5-d1f72a720253"

static struct arena arena;
static struct error error;

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

static enum err link_read(const char *text, struct masking_link *ret_link)
{
    struct json document;
    must(json_parse_in(&arena, slice_of_text(text), &document, NULL) == ERR_NONE);
    *ret_link = (struct masking_link){0};
    error = (struct error){0};
    return shape_read(&masking_link_shape, SHAPE_WHOLE, &document, ret_link, &error);
}

static void a_link_names_a_rule_and_says_whether_it_counts(void **state)
{
    (void)state;
    struct masking_link link;
    assert_int_equal(
        link_read("{\"id\":\"x\",\"connection_id\":\"y\",\"warning\":\"z\",\"rule_id\":"
                  "\"" RULE "\",\"status\":\"inactive\"}",
                  &link),
        ERR_NONE);
    assert_true(slice_equals(link.rule_id, SLICE(RULE)));
    assert_true(slice_equals(link.status, SLICE(MASKING_LINK_INACTIVE)));
    assert_int_equal(link.id.len + link.connection_id.len + link.warning.len, 0);
}

static void what_is_no_link_is_named(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{\"status\":\"active\"}", "'rule_id'"},
        {"{\"rule_id\":\"" RULE "\"}", "'status'"},
        {"{\"rule_id\":\"" RULE "\",\"status\":\"on\"}", "'status'"},
        {"{\"rule_id\":\"none\",\"status\":\"active\"}", "'rule_id'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct masking_link link;
        assert_int_equal(link_read(cases[i][0], &link), ERR_INPUT);
        assert_non_null(strstr(error.message, cases[i][1]));
    }
}

static void only_connections_of_some_protocols_are_masked(void **state)
{
    (void)state;
    assert_true(masking_reaches(SLICE("postgres")));
    assert_true(masking_reaches(SLICE("mysql")));
    assert_true(masking_reaches(SLICE("ssh")));
    assert_false(masking_reaches(SLICE("tcp")));
    assert_false(masking_reaches(SLICE("")));
    assert_true(
        slice_equals(masking_warning_in(&arena, SLICE("orders"), SLICE("tcp")),
                     SLICE("the connection 'orders' is of subtype 'tcp': only "
                           "connections of subtype 'postgres', 'mysql' or 'ssh' are masked")));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_link_names_a_rule_and_says_whether_it_counts),
        TEST(what_is_no_link_is_named),
        TEST(only_connections_of_some_protocols_are_masked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
