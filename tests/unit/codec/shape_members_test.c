/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "base/must.h"
#include "codec/shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct thing {
    struct slice name;
    struct shape_texts connection_ids;
    struct shape_objects parts;
    struct shape_pairs secret;
    struct slice id;
};

static const struct shape_field part_fields[] = {
    {.name = "action", .kind = SHAPE_TEXT, .offset = offsetof(struct thing, name)},
    {.name = "without_where", .kind = SHAPE_TEXT, .offset = offsetof(struct thing, id)},
};
static const struct shape part_shape = {
    .name = "Part", .size = sizeof(struct thing), SHAPE_FIELDS(part_fields)};

static const struct shape_field shown_fields[] = {
    {.name = "status", .kind = SHAPE_TEXT, .offset = offsetof(struct thing, name)},
};
static const struct shape shown_shape = {
    .name = "Shown", .size = sizeof(struct thing), SHAPE_FIELDS(shown_fields)};

static const struct shape_field thing_fields[] = {
    {.name = "name", .kind = SHAPE_TEXT, .offset = offsetof(struct thing, name)},
    {.name = "connection_ids",
     .kind = SHAPE_TEXTS,
     .offset = offsetof(struct thing, connection_ids),
     .max = 9},
    {.name = "parts",
     .kind = SHAPE_OBJECTS,
     .offset = offsetof(struct thing, parts),
     .max = 2,
     .object = &part_shape},
    {.name = "secret", .kind = SHAPE_PAIRS, .offset = offsetof(struct thing, secret)},
    {.name = "id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY,
     .offset = offsetof(struct thing, id)},
};
static const struct shape thing_shape = {.name = "Thing",
                                         .size = sizeof(struct thing),
                                         SHAPE_FIELDS(thing_fields),
                                         .shown_as = &shown_shape};

static const struct shape_idle idle_table[] = {{&thing_shape, "slack", "does nothing"},
                                               {&part_shape, "colour", "shows nothing"}};
static const struct shape_idles idles = {.items = idle_table, .count = COUNT_OF(idle_table)};

static struct arena arena;
static struct shape_texts warnings;

/* "" when everything is known. */
static const char *check(const char *text)
{
    static struct error error;
    struct json json;
    error = (struct error){0};
    warnings = (struct shape_texts){0};
    must(json_parse_in(&arena, slice_of_text(text), &json, &error) == ERR_NONE);
    enum err err = shape_check_members(&thing_shape, &json, &idles, &warnings, &error);
    assert_int_equal(err, error.message[0] == '\0' ? ERR_NONE : ERR_INPUT);
    return error.message;
}

static void what_is_known_passes(void **state)
{
    (void)state;
    static const char *const good[] = {
        "{}",
        "[]",
        "null",
        "{\"name\": 1, \"connection_ids\": {}, \"id\": {\"x\": 1}, \"status\": [1]}",
        "{\"secret\": {\"anything\": 1}, \"parts\": [{\"action\": \"x\"}, 1, null]}",
        "{\"parts\": {\"actoin\": 1}}",
        "{\"parts\": [{}, {}, {\"what is not read\": 1}]}",
    };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_string_equal(check(good[i]), "");
        assert_int_equal(warnings.count, 0);
    }
}

static void what_is_unknown_is_refused_with_the_nearest_name(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"{\"connections\": []}", "'connections': did you mean 'connection_ids'?"},
        {"{\"NAME\": 1}", "'NAME': did you mean 'name'?"},
        {"{\"anme\": 1}", "'anme': did you mean 'name'?"},
        {"{\"zebra\": 1}", "'zebra' is not known here"},
        {"{\"x\": 1}", "'x' is not known here"},
        {"{\"\": 1}", "'' is not known here"},
        {"{\"parts\": [{}, {\"without_were\": true}]}",
         "'parts[1].without_were': did you mean 'without_where'?"},
        {"{\"parts\": [{\"where\": true}]}", "'parts[0].where': did you mean 'without_where'?"},
        {"{\"parts\": [{\"actoin\": 1}]}", "'parts[0].actoin': did you mean 'action'?"},
        {"{\"stauts\": 1}", "'stauts' is not known here"},
        {"{\"idd\": 1}", "'idd' is not known here"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_string_equal(check(bad[i][0]), bad[i][1]);
    }
}

static void what_does_nothing_is_told_where_it_says_something(void **state)
{
    (void)state;
    assert_string_equal(check("{\"slack\": \"x\", \"parts\": [{\"colour\": 1}]}"), "");
    assert_int_equal(warnings.count, 2);
    assert_true(slice_equals(warnings.items[0], SLICE("'slack' does nothing")));
    assert_true(slice_equals(warnings.items[1], SLICE("'parts[0].colour' shows nothing")));
    static const char *const silent[] = {"null", "\"\"", "[]", "{}", "false", "0", "0.0"};
    for (size_t i = 0; i < COUNT_OF(silent); i++) {
        struct slice text = arena_format(&arena, "{\"slack\": %s}", silent[i]);
        assert_string_equal(check(text.at), "");
        assert_int_equal(warnings.count, 0);
    }
}

static void warnings_have_a_limit(void **state)
{
    (void)state;
    struct json value = {.arena = &arena, .path = SLICE("here")};
    warnings = (struct shape_texts){0};
    for (int i = 0; i < SHAPE_WARNINGS_MAX + 5; i++) {
        shape_warn(&warnings, &value, "is there");
    }
    assert_int_equal(warnings.count, SHAPE_WARNINGS_MAX);
}

static int begin(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_known_passes),
        cmocka_unit_test(what_is_unknown_is_refused_with_the_nearest_name),
        cmocka_unit_test(what_does_nothing_is_told_where_it_says_something),
        cmocka_unit_test(warnings_have_a_limit),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
