/* SPDX-License-Identifier: MIT */
#include "store/page_hints.h"

#include "base/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NAME_SIZE 32

static struct arena arena;
static struct page_hints *hints;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    hints = page_hints_new();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    page_hints_free(hints);
    arena_release(&arena);
    return 0;
}

static struct page_list list_of(const char *organization_id, char kind, int64_t generation)
{
    return (struct page_list){
        .organization_id = slice_of_text(organization_id), .kind = kind, .generation = generation};
}

static void note(const struct page_list *list, int64_t position)
{
    struct page_hint hint = {.position = position,
                             .name = arena_format(&arena, "name-%lld", (long long)position)};
    page_hints_note(hints, list, hint);
}

/* The position that is found, whose name must be its own. */
static int64_t find(const struct page_list *list, int64_t position)
{
    struct page_hint hint = page_hints_find_in(&arena, hints, list, position);
    if (hint.position == 0) {
        assert_int_equal(hint.name.len, 0);
    } else {
        assert_true(
            slice_equals(hint.name, arena_format(&arena, "name-%lld", (long long)hint.position)));
    }
    return hint.position;
}

static void what_is_not_known_is_counted_from_the_start(void **state)
{
    (void)state;
    struct page_list list = list_of("a", 'r', 1);
    assert_int_equal(find(&list, 0), 0);
    assert_int_equal(find(&list, INT64_MAX), 0);
}

static void the_nearest_one_that_is_not_behind_is_found(void **state)
{
    (void)state;
    struct page_list list = list_of("a", 'r', 1);
    note(&list, 500);
    note(&list, 100);
    note(&list, 900);
    assert_int_equal(find(&list, 99), 0);
    assert_int_equal(find(&list, 100), 100);
    assert_int_equal(find(&list, 499), 100);
    assert_int_equal(find(&list, 501), 500);
    assert_int_equal(find(&list, INT64_MAX), 900);
}

static void another_generation_knows_nothing_of_it(void **state)
{
    (void)state;
    struct page_list before = list_of("a", 'r', 1);
    struct page_list after = list_of("a", 'r', 2);
    note(&before, 500);
    assert_int_equal(find(&after, 600), 0);
    note(&after, 400);
    assert_int_equal(find(&after, 600), 400);
    assert_int_equal(find(&before, 600), 0);
}

static void lists_are_told_apart(void **state)
{
    (void)state;
    struct page_list list = list_of("a", 'r', 1);
    struct page_list other_kind = list_of("a", 'c', 1);
    struct page_list other_organization = list_of("b", 'r', 1);
    note(&list, 500);
    assert_int_equal(find(&other_kind, 600), 0);
    assert_int_equal(find(&other_organization, 600), 0);
}

static void the_oldest_make_room(void **state)
{
    (void)state;
    struct page_list list = list_of("a", 'r', 1);
    for (int64_t position = 1; position <= LIMIT_PAGE_HINTS + 10; position++) {
        note(&list, position);
    }
    assert_int_equal(find(&list, 10), 0);
    assert_int_equal(find(&list, 11), 11);
    for (int i = 0; i < LIMIT_PAGE_HINT_LISTS; i++) {
        char id[NAME_SIZE];
        (void)snprintf(id, sizeof(id), "organization-%d", i);
        struct page_list other = list_of(id, 'r', 1);
        note(&other, 5);
        assert_int_equal(find(&other, 5), 5);
    }
    assert_int_equal(find(&list, 1000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_not_known_is_counted_from_the_start, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_nearest_one_that_is_not_behind_is_found, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(another_generation_knows_nothing_of_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lists_are_told_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_oldest_make_room, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
