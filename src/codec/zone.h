/* SPDX-License-Identifier: MIT */
/* Time zones as the system's database has them: files of the form TZif (RFC 9636), from version 2
 * on, whose last line says how it goes on behind the last change in the file. Leap seconds are
 * refused: our times have none. Views point into the file's bytes, which must stay. */
#ifndef GH_CODEC_ZONE_H
#define GH_CODEC_ZONE_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

/* When clocks change, each year (POSIX, 8.3, 'TZ'). */
enum zone_day_kind {
    ZONE_DAY_OF_YEAR, /* 0 to 365, and leap days count */
    ZONE_DAY_NO_LEAP, /* 1 to 365, and February 29 is never counted */
    ZONE_DAY_OF_WEEK, /* a weekday, in a week of a month */
};

struct zone_day {
    enum zone_day_kind kind;
    int32_t day;  /* of the year; of the week, from Sunday: 0 */
    int32_t week; /* 1 to 5: the last */
    int32_t month;
    int32_t second; /* of the day, by the clock as it is before; may lie in other days */
};

struct zone {
    struct slice times; /* of changes: eight bytes each, rising */
    struct slice kinds; /* one byte each: which of 'offsets' from then on */
    struct slice offsets;
    bool has_rule; /* for what is behind the last change */
    bool has_summer;
    int32_t standard; /* seconds to add to UTC */
    int32_t summer;
    struct zone_day begins; /* summer time */
    struct zone_day ends;
};

enum err zone_read(struct slice file, struct zone *ret_zone) MUST_USE;

/* What the zone's clocks show less what UTC's do, in seconds, at this second since 1970. */
int32_t zone_offset(const struct zone *zone, int64_t second);

#endif
