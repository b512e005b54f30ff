/* SPDX-License-Identifier: MIT */
/* A file of the time zone database. Held: an offset is of less than 26 hours at any time, and hours
 * of the day that are kept by it are the same when they are read again. */
#include "base/memory.h"
#include "base/must.h"
#include "fuzz.h"
#include "policy/time_window.h"

#define OFFSET_MAX (26 * 3600)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const int64_t seconds[] = {INT64_MIN,  -1000000000000, -2208988800,   0,
                                      1767225600, 4102444800,     1000000000000, INT64_MAX};
    struct arena arena CLEANUP(arena_release);
    struct zone zone;
    struct time_windows windows;
    arena_init(&arena);
    if (zone_read(slice_of(bytes, size), &zone) != ERR_NONE) {
        return 0;
    }
    for (size_t i = 0; i < COUNT_OF(seconds); i++) {
        int32_t offset = zone_offset(&zone, seconds[i]);
        must(offset > -OFFSET_MAX && offset < OFFSET_MAX);
    }
    struct time_window window = {.start_minute = 540, .end_minute = 1080, .zone_name = SLICE("X")};
    time_window_follow(&window, &zone, INT64_C(1767225600000000));
    struct slice text = time_window_text_in(&arena, &window);
    must(time_windows_read_in(&arena, text, &windows) == ERR_NONE && windows.count == 1);
    must(slice_equals(time_window_text_in(&arena, &windows.items[0]), text));
    return 0;
}
