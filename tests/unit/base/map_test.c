/* SPDX-License-Identifier: MIT */
#include "base/map.h"

#include "base/arena.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MANY 2000

static const uint8_t seed[MAP_SEED_SIZE] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static char values[MANY];

static void an_empty_map_has_nothing(void **state)
{
    (void)state;
    struct map map;
    map_init(&map, seed);
    struct slice key;
    void *value;
    size_t at = 0;
    assert_null(map_get(&map, SLICE("a")));
    assert_null(map_remove(&map, SLICE("a")));
    assert_false(map_next(&map, &at, &key, &value));
    assert_int_equal(map_count(&map), 0);
    map_release(&map);
}

static void what_was_put_is_found_replaced_and_removed(void **state)
{
    (void)state;
    struct map map;
    map_init(&map, seed);
    assert_null(map_put(&map, SLICE("a"), &values[0]));
    assert_null(map_put(&map, SLICE(""), &values[1]));
    assert_null(map_put(&map, SLICE("a\0b"), &values[2]));
    assert_ptr_equal(map_put(&map, SLICE("a"), &values[3]), &values[0]);
    assert_int_equal(map_count(&map), 3);
    assert_ptr_equal(map_get(&map, SLICE("a")), &values[3]);
    assert_ptr_equal(map_get(&map, SLICE_NONE), &values[1]);
    assert_ptr_equal(map_get(&map, SLICE("a\0b")), &values[2]);
    assert_null(map_get(&map, SLICE("A")));
    assert_ptr_equal(map_remove(&map, SLICE("a")), &values[3]);
    assert_null(map_remove(&map, SLICE("a")));
    assert_null(map_get(&map, SLICE("a")));
    assert_int_equal(map_count(&map), 2);
    map_clear(&map);
    assert_int_equal(map_count(&map), 0);
    assert_null(map_put(&map, SLICE("a"), &values[0]));
    map_release(&map);
}

static void the_key_is_a_copy(void **state)
{
    (void)state;
    struct map map;
    map_init(&map, seed);
    char key[] = "key";
    assert_null(map_put(&map, slice_of_text(key), &values[0]));
    key[0] = 'x';
    assert_ptr_equal(map_get(&map, SLICE("key")), &values[0]);
    assert_null(map_get(&map, SLICE("xey")));
    map_release(&map);
}

static struct slice numbered(struct arena *arena, size_t number)
{
    return arena_format(arena, "key %zu", number);
}

static void many_keys_stay_apart_while_others_come_and_go(void **state)
{
    (void)state;
    struct arena arena;
    struct map map;
    arena_init(&arena);
    map_init(&map, seed);
    for (size_t i = 0; i < MANY; i++) {
        assert_null(map_put(&map, numbered(&arena, i), &values[i]));
    }
    for (size_t i = 0; i < MANY; i += 3) {
        assert_ptr_equal(map_remove(&map, numbered(&arena, i)), &values[i]);
    }
    for (size_t i = 0; i < MANY; i++) {
        void *wanted = i % 3 == 0 ? NULL : &values[i];
        assert_ptr_equal(map_get(&map, numbered(&arena, i)), wanted);
    }
    for (size_t i = 0; i < MANY; i += 3) {
        assert_null(map_put(&map, numbered(&arena, i), &values[i]));
    }
    assert_int_equal(map_count(&map), MANY);
    for (size_t i = 0; i < MANY; i++) {
        assert_ptr_equal(map_remove(&map, numbered(&arena, i)), &values[i]);
    }
    assert_int_equal(map_count(&map), 0);
    map_release(&map);
    arena_release(&arena);
}

static void iteration_meets_every_entry_once(void **state)
{
    (void)state;
    struct arena arena;
    struct map map;
    arena_init(&arena);
    map_init(&map, seed);
    for (size_t i = 0; i < MANY; i++) {
        (void)map_put(&map, numbered(&arena, i), &values[i]);
    }
    memset(values, 0, sizeof(values));
    struct slice key;
    void *value;
    size_t met = 0;
    for (size_t at = 0; map_next(&map, &at, &key, &value); met++) {
        char *mark = value;
        assert_int_equal(*mark, 0);
        *mark = 1;
        assert_true(slice_equals(key, numbered(&arena, (size_t)(mark - values))));
    }
    assert_int_equal(met, MANY);
    map_release(&map);
    arena_release(&arena);
}

static void another_seed_gives_another_order(void **state)
{
    (void)state;
    static const uint8_t other_seed[MAP_SEED_SIZE] = {99};
    struct map map;
    struct map other;
    map_init(&map, seed);
    map_init(&other, other_seed);
    static const char *const keys[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        (void)map_put(&map, slice_of_text(keys[i]), &values[i]);
        (void)map_put(&other, slice_of_text(keys[i]), &values[i]);
    }
    bool is_different = false;
    size_t other_at = 0;
    struct slice key;
    struct slice other_key;
    void *value;
    for (size_t at = 0; map_next(&map, &at, &key, &value);) {
        assert_true(map_next(&other, &other_at, &other_key, &value));
        is_different = is_different || !slice_equals(key, other_key);
    }
    assert_true(is_different);
    map_release(&map);
    map_release(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_has_nothing),
        cmocka_unit_test(what_was_put_is_found_replaced_and_removed),
        cmocka_unit_test(the_key_is_a_copy),
        cmocka_unit_test(many_keys_stay_apart_while_others_come_and_go),
        cmocka_unit_test(iteration_meets_every_entry_once),
        cmocka_unit_test(another_seed_gives_another_order),
    };
    return cmocka_run_group_tests_name("base/map", tests, NULL, NULL);
}
