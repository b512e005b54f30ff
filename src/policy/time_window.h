/* SPDX-License-Identifier: MIT */
/* The hours of the day in which an approval may be used, by the clocks of a time zone. Which offset
 * from UTC those have from when on is kept with them, as the zone was known when it was approved:
 * an hour that a change of clocks repeats counts twice, and one that it skips never comes. Pure. */
#ifndef GH_POLICY_TIME_WINDOW_H
#define GH_POLICY_TIME_WINDOW_H

#include "base/arena.h"
#include "base/err.h"
#include "codec/zone.h"

#define TIME_WINDOW_DAY       (24 * 60)
#define TIME_WINDOW_CHANGES   16 /* of clocks, that are kept */
#define TIME_WINDOW_ZONE_SIZE 64 /* of a zone's name */

struct time_window_change {
    int64_t second; /* since 1970 */
    int32_t offset;
};

struct time_window {
    int32_t start_minute; /* of the day */
    int32_t end_minute;   /* not in it any more; lower than the start: on the day after */
    struct slice zone_name;
    struct time_window_change changes[TIME_WINDOW_CHANGES]; /* rising */
    size_t change_count;                                    /* at least one */
};

/* "09:00", up to "24:00". */
bool time_window_minute(struct slice text, int32_t *ret_minute);
/* What its clocks do from then on, for as long as is kept: more than a year. */
void time_window_follow(struct time_window *window, const struct zone *zone, int64_t now);

/* As text, for the store: one line each. */
struct slice time_window_text_in(struct arena *arena, const struct time_window *window);

/* All of these must let it. */
struct time_windows {
    struct time_window *items;
    size_t count;
};

enum err time_windows_read_in(struct arena *arena, struct slice text,
                              struct time_windows *ret_windows) MUST_USE;
/* No window: always. Times are microseconds. */
bool time_windows_are_open(const struct time_windows *windows, int64_t now);
/* From 'now' on and before 'until', the first time that they are open, or are not: to the minute,
 * and at most eight days ahead. 0: there is none. */
int64_t time_windows_next(const struct time_windows *windows, bool is_open, int64_t now,
                          int64_t until);
/* "09:00 to 18:00 Europe/Berlin, and …" */
struct slice time_windows_words_in(struct arena *arena, const struct time_windows *windows);

#endif
