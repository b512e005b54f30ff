/* SPDX-License-Identifier: MIT */
#include "client/contexts.h"

#include "base/limits.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#undef fail /* cmocka's; the store's is meant */

static void an_empty_file_has_none(void **state)
{
    (void)state;
    static const char *const texts[] = {"", " \n", "{\"contexts\":[]}"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct arena arena CLEANUP(arena_release);
        struct client_contexts contexts = {.count = 7};
        arena_init(&arena);
        assert_int_equal(client_contexts_parse_in(&arena, slice_of_text(texts[i]), &contexts, NULL),
                         ERR_NONE);
        assert_int_equal(contexts.count, 0);
        assert_int_equal(contexts.current.len, 0);
    }
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *says;
    } cases[] = {
        {"[]", "must be an object"},
        {"{", ""},
        {"{}", "'contexts'"},
        {"{\"contexts\":[{\"name\":\"a\"}]}", "'contexts[0].url'"},
        {"{\"contexts\":[{\"name\":\"..\",\"url\":\"https://a\"}]}", "'contexts[0].name'"},
        {"{\"contexts\":[{\"name\":\"a/b\",\"url\":\"https://a\"}]}", "'contexts[0].name'"},
        {"{\"contexts\":[{\"name\":\"a\",\"url\":\"http://a.example\"}]}", "https"},
        {"{\"contexts\":[{\"name\":\"a\",\"url\":\"https://me@a\"}]}", "'contexts[0].url'"},
        {"{\"contexts\":[{\"name\":\"a\",\"url\":\"postgres://a\"}]}", "'contexts[0].url'"},
        {"{\"contexts\":[{\"name\":\"a\",\"url\":\"https://a\",\"token\":\"t\"}]}", "token"},
        {"{\"contexts\":[{\"name\":\"a\",\"url\":\"https://a\"},{\"name\":\"a\",\"url\":"
         "\"https://b\"}]}",
         "two contexts are called 'a'"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena CLEANUP(arena_release);
        struct client_contexts contexts = {0};
        struct error error = {0};
        arena_init(&arena);
        assert_int_equal(
            client_contexts_parse_in(&arena, slice_of_text(cases[i].text), &contexts, &error),
            ERR_INPUT);
        assert_non_null(strstr(error.message, cases[i].says));
    }
}

static void one_of_the_same_name_is_replaced(void **state)
{
    (void)state;
    struct arena arena CLEANUP(arena_release);
    struct client_contexts contexts = {.current = SLICE("")};
    struct client_contexts again = {0};
    struct client_context context = {
        .name = SLICE("a"), .url = SLICE("https://a"), .ca_file = SLICE("/ca")};
    arena_init(&arena);
    assert_int_equal(client_contexts_put(&arena, &contexts, &context, NULL), ERR_NONE);
    context.name = SLICE("b");
    assert_int_equal(client_contexts_put(&arena, &contexts, &context, NULL), ERR_NONE);
    context.name = SLICE("a");
    context.url = SLICE("http://localhost:8009");
    assert_int_equal(client_contexts_put(&arena, &contexts, &context, NULL), ERR_NONE);
    assert_int_equal(contexts.count, 2);
    struct slice text = client_contexts_write_in(&arena, &contexts);
    assert_int_equal(client_contexts_parse_in(&arena, text, &again, NULL), ERR_NONE);
    assert_true(slice_equals(again.current, SLICE("a")));
    assert_true(slice_equals(client_contexts_find(&again, SLICE("a"))->url, context.url));
    assert_true(slice_equals(client_contexts_find(&again, SLICE("b"))->ca_file, SLICE("/ca")));
    assert_null(client_contexts_find(&again, SLICE("c")));
}

static void there_is_an_end(void **state)
{
    (void)state;
    struct arena arena CLEANUP(arena_release);
    struct client_contexts contexts = {.current = SLICE("")};
    enum err err = ERR_NONE;
    arena_init(&arena);
    for (size_t i = 0; i <= LIMIT_CLIENT_CONTEXTS; i++) {
        const struct client_context context = {.name = arena_format(&arena, "c%zu", i),
                                               .url = SLICE("https://a")};
        assert_int_equal(err, ERR_NONE);
        err = client_contexts_put(&arena, &contexts, &context, NULL);
    }
    assert_int_equal(err, ERR_LIMIT);
    assert_int_equal(contexts.count, LIMIT_CLIENT_CONTEXTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_file_has_none),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(one_of_the_same_name_is_replaced),
        cmocka_unit_test(there_is_an_end),
    };
    return cmocka_run_group_tests_name("client/contexts", tests, NULL, NULL);
}
