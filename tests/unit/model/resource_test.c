/* SPDX-License-Identifier: MIT */
#include "model/resource.h"

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
static enum err request(const char *text, struct resource *ret_resource)
{
    struct json document;
    must(json_parse_in(&arena, slice_of_text(text), &document, NULL) == ERR_NONE);
    *ret_resource = (struct resource){0};
    error = (struct error){0};
    enum err err =
        shape_read(&resource_request_shape, SHAPE_WHOLE, &document, ret_resource, &error);
    return err == ERR_NONE ? resource_check(ret_resource, &error) : err;
}

static void check_refused(const char *text, const char *message)
{
    struct resource resource;
    assert_int_equal(request(text, &resource), ERR_INPUT);
    assert_string_equal(error.message, message);
}

static const char *written(const struct resource *resource)
{
    struct buf buf;
    buf_init(&buf, LIMIT_MIB(1));
    struct json_writer json = json_writer_to(&buf);
    shape_write(&resource_shape, resource, &json);
    must(json_writer_done(&json) == ERR_NONE);
    const char *text = arena_text(&arena, buf_view(&buf));
    buf_release(&buf);
    return text;
}

#define REST "\"type\": \"postgres\", \"env_vars\": {}"

static void a_request_has_a_name_a_type_and_variables(void **state)
{
    (void)state;
    struct resource resource;
    assert_int_equal(request("{\"name\": \"B\xc3\xbcro 1\", " REST "}", &resource), ERR_NONE);
    assert_true(slice_equals(resource.name, SLICE("B\xc3\xbcro 1")));
    assert_true(resource.env_vars.is_given && resource.env_vars.count == 0);
    assert_true(resource.subtype.at == NULL && !resource.roles.is_given);
    assert_int_equal(request("{\"name\": \"a\", \"subtype\": null, \"agent_id\": null, "
                             "\"roles\": null, " REST "}",
                             &resource),
                     ERR_NONE);
    assert_true(!resource.roles.is_given && resource.agent_id.at == NULL);
    check_refused("{" REST "}", "'name' is required");
    check_refused("{\"name\": \"a\", \"env_vars\": {}}", "'type' is required");
    check_refused("{\"name\": \"a\", \"type\": \"x\"}", "'env_vars' is required");
    check_refused("{\"name\": \"a\", \"type\": \"x\", \"env_vars\": null}",
                  "'env_vars' must not be null");
    check_refused("{\"name\": \"\", " REST "}", "'name' must not be empty");
    check_refused("{\"name\": \"a/b\", " REST "}", "'name' must not hold a '/'");
    check_refused("{\"name\": \"a\", \"agent_id\": \"x\", " REST "}",
                  "'agent_id' must have 36 to 36 characters");
}

static void variables_are_plain_or_checked(void **state)
{
    (void)state;
    struct resource resource;
    assert_int_equal(request("{\"name\": \"a\", \"type\": \"x\", \"env_vars\": {\"HOST\": \"any\", "
                             "\"envvar:A\": \"YQ==\", \"filesystem:B\": null, \"C\": null}}",
                             &resource),
                     ERR_NONE);
    assert_int_equal(resource.env_vars.count, 4);
    check_refused("{\"name\": \"a\", \"type\": \"x\", \"env_vars\": {\"envvar:A\": \"any\"}}",
                  "'env_vars.envvar:A' must be base64 or a reference");
    check_refused("{\"name\": \"a\", \"type\": \"x\", \"env_vars\": {\"LD_PRELOAD\": \"a\"}}",
                  "'env_vars.LD_PRELOAD' is a variable that programs take code from");
    check_refused("{\"name\": \"a\", \"type\": \"x\", \"env_vars\": {\"A B\": \"a\"}}",
                  "'env_vars.A B' must name a variable: letters, digits and '_', "
                  "not starting with a digit");
}

#define ROLE(name) "{\"name\": \"" name "\", \"type\": \"database\"}"

static void roles_are_read_with_their_place(void **state)
{
    (void)state;
    struct resource resource;
    assert_int_equal(
        request("{\"name\": \"a\", \"roles\": [" ROLE("one") ", " ROLE("two") "], " REST "}",
                &resource),
        ERR_NONE);
    const struct connection *roles = resource.roles.items;
    assert_int_equal(resource.roles.count, 2);
    assert_true(slice_equals(roles[1].name, SLICE("two")));
    check_refused("{\"name\": \"a\", \"roles\": [" ROLE("one") ", {}], " REST "}",
                  "'roles[1].name' is required");
    check_refused("{\"name\": \"a\", \"roles\": [" ROLE("one") ", " ROLE("o") "], " REST "}",
                  "'roles[1].name' must have 3 to 254 characters");
    check_refused("{\"name\": \"a\", \"roles\": [{\"name\": \"one\", \"type\": \"custom\", "
                  "\"secret\": {\"envvar:A\": \"?\"}}], " REST "}",
                  "'roles[0].secret.envvar:A' must be base64 or a reference");
}

static void no_role_comes_twice(void **state)
{
    (void)state;
    struct resource resource;
    check_refused("{\"name\": \"a\", \"roles\": [" ROLE("one") ", " ROLE("two") ", " ROLE(
                      "two") ", " ROLE("one") "], " REST "}",
                  "'roles[2].name' is the name of 'roles[1]' too");
    assert_int_equal(
        request("{\"name\": \"a\", \"roles\": [" ROLE("one") ", " ROLE("ONE") "], " REST "}",
                &resource),
        ERR_NONE);
}

static void there_are_at_most_so_many_roles(void **state)
{
    (void)state;
    for (int count = RESOURCE_ROLES_MAX; count <= RESOURCE_ROLES_MAX + 1; count++) {
        struct slice text = SLICE("{\"name\": \"a\", \"roles\": [");
        for (int i = 0; i < count; i++) {
            text = arena_format(&arena, "%.*s%s{\"name\": \"role%d\", \"type\": \"custom\"}",
                                SLICE_ARG(text), i == 0 ? "" : ", ", i);
        }
        text = arena_format(&arena, "%.*s], " REST "}", SLICE_ARG(text));
        struct resource resource;
        enum err err = request(arena_text(&arena, text), &resource);
        assert_int_equal(err, count <= RESOURCE_ROLES_MAX ? ERR_NONE : ERR_INPUT);
    }
    assert_string_equal(error.message, "'roles' must have at most 100 items");
}

static void an_answer_has_all_but_warnings_that_are_none(void **state)
{
    (void)state;
    struct resource resource = {.id = SLICE("7"), .name = SLICE("a"), .created_at = 1};
    assert_string_equal(written(&resource),
                        "{\"id\":\"7\",\"name\":\"a\",\"type\":\"\",\"subtype\":\"\","
                        "\"agent_id\":\"\",\"env_vars\":{},\"roles\":[],"
                        "\"created_at\":\"1970-01-01T00:00:00.000001Z\","
                        "\"updated_at\":\"1970-01-01T00:00:00.000000Z\"}");
    struct mcp_oauth_warning warning = {.name = SLICE("one"), .warning = SLICE("why")};
    resource.mcp_oauth_warnings =
        (struct shape_objects){.items = &warning, .count = 1, .is_given = true};
    assert_non_null(strstr(written(&resource),
                           "\"mcp_oauth_warnings\":[{\"name\":\"one\",\"warning\":\"why\"}]"));
}

static void a_name_in_a_path_is_checked_with_its_own_words(void **state)
{
    (void)state;
    char longest[510];
    for (size_t i = 0; i < sizeof(longest); i += 2) {
        longest[i] = '\xc3';
        longest[i + 1] = '\xa9';
    }
    assert_int_equal(resource_check_name(SLICE("a"), &error), ERR_NONE);
    assert_int_equal(resource_check_name(slice_of(longest, 508), &error), ERR_NONE);
    assert_int_equal(resource_check_name(slice_of(longest, 510), &error), ERR_INPUT);
    assert_string_equal(error.message, "the name of a resource has 1 to 254 characters");
    assert_int_equal(resource_check_name(SLICE(""), &error), ERR_INPUT);
    assert_string_equal(error.message, "the name of a resource has 1 to 254 characters");
    assert_int_equal(resource_check_name(SLICE("a/b"), &error), ERR_INPUT);
    assert_string_equal(error.message, "the name of a resource must not hold a '/'");
    assert_int_equal(resource_check_name(SLICE("\xff"), NULL), ERR_INPUT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_request_has_a_name_a_type_and_variables),
        TEST(variables_are_plain_or_checked),
        TEST(roles_are_read_with_their_place),
        TEST(no_role_comes_twice),
        TEST(there_are_at_most_so_many_roles),
        TEST(an_answer_has_all_but_warnings_that_are_none),
        TEST(a_name_in_a_path_is_checked_with_its_own_words),
    };
    return cmocka_run_group_tests_name("model/resource", tests, NULL, NULL);
}
