/* SPDX-License-Identifier: MIT */
#include "api/reader_slots.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ALL  5
#define EACH 2

DEFINE_FREE_AT(reader_slots_free, struct reader_slots)

static enum err take(struct arena *arena, struct reader_slots *slots, struct slice who)
{
    struct error error;
    enum err err = reader_slots_take_in(arena, slots, who, &error);
    if (err != ERR_NONE) {
        assert_string_equal(error.message, "too many recordings are being read, try again later");
    }
    return err;
}

static void use_up(struct arena *arena, struct reader_slots *slots, struct slice who)
{
    for (int i = 0; i < EACH; i++) {
        assert_int_equal(take(arena, slots, who), ERR_NONE);
    }
    assert_int_equal(take(arena, slots, who), ERR_BUSY);
}

static void each_has_so_many_and_all_together(void **state)
{
    struct reader_slots *slots CLEANUP(reader_slots_free_at)
    = reader_slots_new(ALL, EACH);
    struct arena arena CLEANUP(arena_release);
    (void)state;
    arena_init(&arena);
    use_up(&arena, slots, SLICE("ann"));
    use_up(&arena, slots, SLICE("bob"));
    assert_int_equal(take(&arena, slots, SLICE("eve")), ERR_NONE);
    assert_int_equal(take(&arena, slots, SLICE("eve")), ERR_BUSY);
}

static void they_come_back_with_the_arena(void **state)
{
    struct reader_slots *slots CLEANUP(reader_slots_free_at)
    = reader_slots_new(ALL, EACH);
    (void)state;
    for (int i = 0; i < 2 * ALL; i++) {
        struct arena arena CLEANUP(arena_release);
        arena_init(&arena);
        use_up(&arena, slots, SLICE("ann"));
    }
}

/* The operator at the control socket is no person, and has no id. */
static void nobody_in_particular_reads_like_anybody(void **state)
{
    struct reader_slots *slots CLEANUP(reader_slots_free_at)
    = reader_slots_new(ALL, EACH);
    struct arena arena CLEANUP(arena_release);
    (void)state;
    arena_init(&arena);
    use_up(&arena, slots, SLICE_NONE);
    assert_int_equal(take(&arena, slots, SLICE("ann")), ERR_NONE);
}

static void a_long_name_is_cut_not_written_over(void **state)
{
    struct reader_slots *slots CLEANUP(reader_slots_free_at)
    = reader_slots_new(ALL, EACH);
    struct arena arena CLEANUP(arena_release);
    static const char name[1000] = "somebody";
    (void)state;
    arena_init(&arena);
    use_up(&arena, slots, slice_of(name, sizeof(name)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_so_many_and_all_together),
        cmocka_unit_test(they_come_back_with_the_arena),
        cmocka_unit_test(nobody_in_particular_reads_like_anybody),
        cmocka_unit_test(a_long_name_is_cut_not_written_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
