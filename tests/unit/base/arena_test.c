/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ALIGNMENT 16

static void memory_is_zeroed_and_aligned_for_any_type(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (int round = 0; round < 2; round++) {
        for (size_t size = 0; size < 200; size++) {
            unsigned char *at = arena_alloc(&arena, size);
            assert_int_equal((uintptr_t)at % ALIGNMENT, 0);
            for (size_t i = 0; i < size; i++) {
                assert_int_equal(at[i], 0);
            }
            memset(at, 0xff, size);
        }
        arena_reset(&arena);
    }
    arena_release(&arena);
}

static void what_was_given_out_stays_when_more_is_asked_for(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct slice first = arena_copy(&arena, SLICE("first"));
    struct slice texts[500];
    for (size_t i = 0; i < 500; i++) {
        texts[i] = arena_format(&arena, "text %zu", i);
        (void)arena_alloc(&arena, i * 50);
    }
    assert_true(slice_equals(first, SLICE("first")));
    assert_true(slice_equals(texts[0], SLICE("text 0")));
    assert_true(slice_equals(texts[499], SLICE("text 499")));
    arena_release(&arena);
}

static void what_holds_secrets_is_wiped_when_it_ends(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    const char *kept = arena_copy(&arena, SLICE("secret")).at;
    arena_hold_secrets(&arena);
    arena_reset(&arena); /* keeps the block */
    assert_memory_equal(kept, "\0\0\0\0\0\0", 6);
    assert_false(arena.has_secrets);
    kept = arena_copy(&arena, SLICE("public")).at;
    arena_reset(&arena);
    assert_memory_equal(kept, "public", 6);
    arena_release(&arena);
}

static void more_than_a_block_holds_is_given_out_too(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    size_t size = 100000;
    unsigned char *at = arena_alloc_array(&arena, size / 100, 100);
    at[0] = 1;
    at[size - 1] = 1;
    assert_true(arena.size >= size);
    arena_release(&arena);
    assert_int_equal(arena.size, 0);
}

static void a_reset_keeps_one_ordinary_block(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    (void)arena_alloc(&arena, 10);
    (void)arena_alloc(&arena, 100000);
    (void)arena_alloc(&arena, 10);
    arena_reset(&arena);
    size_t kept_size = arena.size;
    assert_true(kept_size > 0 && kept_size < 100000);
    (void)arena_alloc(&arena, 10);
    assert_int_equal(arena.size, kept_size);
    arena_release(&arena);
}

static void a_reset_keeps_nothing_of_large_blocks_alone(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    arena_reset(&arena);
    (void)arena_alloc(&arena, 100000);
    arena_reset(&arena);
    assert_int_equal(arena.size, 0);
    arena_release(&arena);
}

static void a_small_one_begins_with_little_and_grows(void **state)
{
    (void)state;
    struct arena arena;
    arena_init_small(&arena);
    (void)arena_alloc(&arena, 1);
    assert_true(arena.size > 0 && arena.size < 512);
    for (size_t i = 0; i < 1000; i++) {
        assert_true(slice_equals(arena_copy(&arena, SLICE("text")), SLICE("text")));
    }
    assert_true(arena.size >= 16000 && arena.size < 40000);
    arena_release(&arena);
    (void)arena_alloc(&arena, 1);
    assert_true(arena.size < 512);
    arena_release(&arena);
}

static void a_text_ends_with_nul_and_a_copy_may_be_empty(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    char bytes[] = {'a', 'b', 'c'};
    assert_string_equal(arena_text(&arena, slice_of(bytes, 2)), "ab");
    assert_string_equal(arena_text(&arena, SLICE_NONE), "");
    assert_int_equal(arena_copy(&arena, SLICE_NONE).len, 0);
    assert_int_equal(arena_format(&arena, "%s", "").len, 0);
    arena_release(&arena);
}

static int ended[3];
static int ended_count;

static void note_end(void *at)
{
    ended[ended_count++] = *(int *)at;
}

static void ends_run_once_and_newest_first(void **state)
{
    (void)state;
    struct arena arena;
    int numbers[] = {1, 2, 3};
    ended_count = 0;
    arena_init(&arena);
    arena_on_end(&arena, note_end, &numbers[0]);
    arena_on_end(&arena, note_end, &numbers[1]);
    arena_reset(&arena);
    assert_int_equal(ended_count, 2);
    assert_int_equal(ended[0], 2);
    assert_int_equal(ended[1], 1);
    arena_on_end(&arena, note_end, &numbers[2]);
    arena_release(&arena);
    assert_int_equal(ended_count, 3);
    assert_int_equal(ended[2], 3);
    arena_release(&arena);
    assert_int_equal(ended_count, 3);
}

static void check_memory_of_arena(void *at)
{
    assert_string_equal(*(char **)at, "still here");
}

static void ends_run_while_the_memory_is_still_there(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    char *text = arena_text(&arena, SLICE("still here"));
    arena_on_end(&arena, check_memory_of_arena, &text);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_aligned_for_any_type),
        cmocka_unit_test(what_was_given_out_stays_when_more_is_asked_for),
        cmocka_unit_test(what_holds_secrets_is_wiped_when_it_ends),
        cmocka_unit_test(more_than_a_block_holds_is_given_out_too),
        cmocka_unit_test(a_reset_keeps_one_ordinary_block),
        cmocka_unit_test(a_reset_keeps_nothing_of_large_blocks_alone),
        cmocka_unit_test(a_small_one_begins_with_little_and_grows),
        cmocka_unit_test(a_text_ends_with_nul_and_a_copy_may_be_empty),
        cmocka_unit_test(ends_run_once_and_newest_first),
        cmocka_unit_test(ends_run_while_the_memory_is_still_there),
    };
    return cmocka_run_group_tests_name("base/arena", tests, NULL, NULL);
}
