/* SPDX-License-Identifier: MIT */
#include "base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct item {
    int number;
    struct list link;
};

/* The numbers in the order of the list, as digits of one number. */
static int digits_of(struct list *list)
{
    int digits = 0;
    LIST_EACH(link, list) {
        digits = digits * 10 + LIST_ITEM(link, struct item, link)->number;
    }
    return digits;
}

static void fill(struct list *list, struct item *items, int count)
{
    list_init(list);
    for (int i = 0; i < count; i++) {
        items[i].number = i + 1;
        list_append(list, &items[i].link);
    }
}

static void items_come_in_the_order_they_were_appended(void **state)
{
    (void)state;
    struct list list;
    struct item items[3];
    fill(&list, items, 3);
    assert_int_equal(digits_of(&list), 123);
    assert_false(list_is_empty(&list));
}

static void an_item_leaves_from_any_place_and_twice(void **state)
{
    (void)state;
    struct list list;
    struct item items[3];
    fill(&list, items, 3);
    list_remove(&items[1].link);
    list_remove(&items[1].link);
    assert_int_equal(digits_of(&list), 13);
    list_remove(&items[2].link);
    list_remove(&items[0].link);
    assert_true(list_is_empty(&list));
}

static void the_first_is_taken_until_there_is_none(void **state)
{
    (void)state;
    struct list list;
    struct item items[2];
    fill(&list, items, 2);
    assert_ptr_equal(list_take_first(&list), &items[0].link);
    assert_true(list_is_empty(&items[0].link));
    assert_ptr_equal(list_take_first(&list), &items[1].link);
    assert_null(list_take_first(&list));
}

static void the_body_of_a_loop_may_remove_its_item(void **state)
{
    (void)state;
    struct list list;
    struct item items[4];
    fill(&list, items, 4);
    LIST_EACH(link, &list) {
        if (LIST_ITEM(link, struct item, link)->number % 2 == 0) {
            list_remove(link);
        }
    }
    assert_int_equal(digits_of(&list), 13);
}

static void all_items_move_to_the_end_of_another_list(void **state)
{
    (void)state;
    struct list list;
    struct list other;
    struct item items[2];
    struct item other_items[3];
    fill(&list, items, 2);
    fill(&other, other_items, 3);
    list_move_all(&list, &other);
    assert_int_equal(digits_of(&list), 12123);
    assert_true(list_is_empty(&other));
    list_move_all(&list, &other);
    assert_int_equal(digits_of(&list), 12123);
    list_move_all(&other, &list);
    assert_int_equal(digits_of(&other), 12123);
    assert_true(list_is_empty(&list));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_come_in_the_order_they_were_appended),
        cmocka_unit_test(an_item_leaves_from_any_place_and_twice),
        cmocka_unit_test(the_first_is_taken_until_there_is_none),
        cmocka_unit_test(the_body_of_a_loop_may_remove_its_item),
        cmocka_unit_test(all_items_move_to_the_end_of_another_list),
    };
    return cmocka_run_group_tests_name("base/list", tests, NULL, NULL);
}
