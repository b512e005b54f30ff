/* SPDX-License-Identifier: MIT */
#include "policy/time_window.h"

#include "base/memory.h"
#include "base/timestamp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int64_t at(const char *text)
{
    int64_t when = 0;
    assert_int_equal(timestamp_parse(slice_of_text(text), &when), ERR_NONE);
    return when;
}

/* Berlin, in the year 2026. */
#define CHANGES " 1767222000 3600 1774746000 7200 1792890000 3600"

struct look {
    const char *windows;
    const char *when;
    bool is_open;
};

static const struct look looks[] = {
    {"09:00 18:00 UTC 0 0\n", "2026-05-05T08:59:59Z", false},
    {"09:00 18:00 UTC 0 0\n", "2026-05-05T09:00:00Z", true},
    {"09:00 18:00 UTC 0 0\n", "2026-05-05T17:59:59Z", true},
    {"09:00 18:00 UTC 0 0\n", "2026-05-05T18:00:00Z", false},
    /* Over midnight. */
    {"22:00 06:00 UTC 0 0\n", "2026-05-05T21:59:59Z", false},
    {"22:00 06:00 UTC 0 0\n", "2026-05-05T22:00:00Z", true},
    {"22:00 06:00 UTC 0 0\n", "2026-05-06T00:00:00Z", true},
    {"22:00 06:00 UTC 0 0\n", "2026-05-06T05:59:59Z", true},
    {"22:00 06:00 UTC 0 0\n", "2026-05-06T06:00:00Z", false},
    {"18:00 24:00 UTC 0 0\n", "2026-05-05T23:59:59Z", true},
    {"18:00 24:00 UTC 0 0\n", "2026-05-06T00:00:00Z", false},
    /* By clocks that are an hour ahead, then two. */
    {"09:00 18:00 Europe/Berlin" CHANGES "\n", "2026-03-28T08:00:00Z", true},
    {"09:00 18:00 Europe/Berlin" CHANGES "\n", "2026-03-29T07:00:00Z", true},
    {"09:00 18:00 Europe/Berlin" CHANGES "\n", "2026-03-28T07:59:59Z", false},
    {"09:00 18:00 Europe/Berlin" CHANGES "\n", "2026-03-29T16:00:00Z", false},
    /* From 02:00 to 03:00 there is nothing in spring, and all of it twice in autumn. */
    {"02:00 03:00 Europe/Berlin" CHANGES "\n", "2026-03-29T00:59:59Z", false},
    {"02:00 03:00 Europe/Berlin" CHANGES "\n", "2026-03-29T01:00:00Z", false},
    {"02:00 03:00 Europe/Berlin" CHANGES "\n", "2026-10-25T00:30:00Z", true},
    {"02:00 03:00 Europe/Berlin" CHANGES "\n", "2026-10-25T01:30:00Z", true},
    {"02:00 03:00 Europe/Berlin" CHANGES "\n", "2026-10-25T02:00:00Z", false},
    /* All of them. */
    {"09:00 18:00 UTC 0 0\n12:00 20:00 UTC 0 0\n", "2026-05-05T11:00:00Z", false},
    {"09:00 18:00 UTC 0 0\n12:00 20:00 UTC 0 0\n", "2026-05-05T12:00:00Z", true},
    {"09:00 18:00 UTC 0 0\n12:00 20:00 UTC 0 0\n", "2026-05-05T19:00:00Z", false},
    {"", "2026-05-05T19:00:00Z", true},
};

static struct time_windows windows_in(struct arena *arena, const char *text)
{
    struct time_windows windows = {0};
    assert_int_equal(time_windows_read_in(arena, slice_of_text(text), &windows), ERR_NONE);
    return windows;
}

static void it_is_open_in_its_hours_alone(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(looks); i++) {
        struct time_windows windows = windows_in(&arena, looks[i].windows);
        if (time_windows_are_open(&windows, at(looks[i].when)) != looks[i].is_open) {
            fail_msg("%s at %s", looks[i].windows, looks[i].when);
        }
    }
    arena_release(&arena);
}

static void the_next_change_is_found(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct time_windows berlin = windows_in(&arena, "02:00 03:00 Europe/Berlin" CHANGES "\n");
    int64_t far = at("2026-12-31T00:00:00Z");
    assert_true(time_windows_next(&berlin, true, at("2026-03-28T12:00:30Z"), far) ==
                at("2026-03-30T00:00:00Z")); /* the hour that is skipped never comes */
    assert_true(time_windows_next(&berlin, false, at("2026-10-25T00:00:30Z"), far) ==
                at("2026-10-25T02:00:00Z")); /* and lasts two */
    struct time_windows apart = windows_in(&arena, "09:00 12:00 UTC 0 0\n13:00 18:00 UTC 0 0\n");
    assert_true(time_windows_next(&apart, true, at("2026-03-28T12:00:30Z"), far) == 0);
    struct time_windows none = {0};
    assert_true(time_windows_next(&none, false, at("2026-03-28T12:00:30Z"), far) == 0);
    struct time_windows day = windows_in(&arena, "09:00 12:00 UTC 0 0\n");
    assert_true(time_windows_next(&day, true, at("2026-03-28T12:30:00Z"),
                                  at("2026-03-29T09:00:00Z")) == 0); /* over by then */
    assert_true(slice_equals(time_windows_words_in(&arena, &apart),
                             SLICE("09:00 to 12:00 UTC, and 13:00 to 18:00 UTC")));
    arena_release(&arena);
}

static void a_window_is_kept_with_the_changes_of_its_clocks(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct zone zone = {.has_rule = true,
                        .has_summer = true,
                        .standard = 3600,
                        .summer = 7200,
                        .begins = {ZONE_DAY_OF_WEEK, 0, 5, 3, 7200},
                        .ends = {ZONE_DAY_OF_WEEK, 0, 5, 10, 10800}};
    struct time_window window = {540, 1080, SLICE("Europe/Berlin"), {{0}}, 0};
    time_window_follow(&window, &zone, at("2025-12-31T23:00:00Z"));
    struct slice text = time_window_text_in(&arena, &window);
    assert_true(slice_starts_with(text, SLICE("09:00 18:00 Europe/Berlin" CHANGES)));
    struct time_windows windows = {0};
    assert_int_equal(time_windows_read_in(&arena, text, &windows), ERR_NONE);
    assert_int_equal(windows.count, 1);
    assert_true(slice_equals(time_window_text_in(&arena, &windows.items[0]), text));
    arena_release(&arena);
}

static void what_is_malformed_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"x",
                                        "09:00 18:00 UTC\n",
                                        "09:00 18:00 UTC 0\n",
                                        "09:00 18:00 UTC 0 x\n",
                                        "9:00 18:00 UTC 0 0\n",
                                        "09:60 18:00 UTC 0 0\n",
                                        "09:00 24:01 UTC 0 0\n",
                                        "09:00 18:00 UTC 0 0"};
    struct arena arena;
    struct time_windows windows;
    int32_t minute = 0;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (time_windows_read_in(&arena, slice_of_text(texts[i]), &windows) != ERR_INPUT) {
            fail_msg("%s", texts[i]);
        }
    }
    assert_false(time_window_minute(SLICE("25:00"), &minute));
    assert_false(time_window_minute(SLICE("+9:00"), &minute));
    assert_false(time_window_minute(SLICE("09:00:00"), &minute));
    assert_false(time_window_minute(SLICE_NONE, &minute));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_open_in_its_hours_alone),
        cmocka_unit_test(the_next_change_is_found),
        cmocka_unit_test(a_window_is_kept_with_the_changes_of_its_clocks),
        cmocka_unit_test(what_is_malformed_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
