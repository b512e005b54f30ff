/* SPDX-License-Identifier: MIT */
#include "codec/zone.h"

#include "base/reader.h"

#define DAY_S        INT64_C(86400)
#define OFFSET_MAX   (26 * 3600) /* RFC 9636, 3.2: -25 to 26 hours */
#define SECOND_MAX   (167 * 3600 + 3599)
#define KIND_SIZE    6 /* offset, is_summer, name */
#define HEAD_SKIPPED 15
#define YEARS_MAX    INT64_C(100000) /* from 1970; beyond, the standard time */

/* The file ------------------------------------------------------------------------------------- */

struct zone_head {
    uint8_t version;
    uint32_t utc_count;
    uint32_t standard_count;
    uint32_t leap_count;
    uint32_t time_count;
    uint32_t kind_count;
    uint32_t name_size;
};

static bool zone_head_read(struct reader *reader, struct zone_head *head)
{
    struct slice magic = reader_view(reader, 4);
    head->version = reader_u8(reader);
    reader_skip(reader, HEAD_SKIPPED);
    head->utc_count = reader_u32(reader);
    head->standard_count = reader_u32(reader);
    head->leap_count = reader_u32(reader);
    head->time_count = reader_u32(reader);
    head->kind_count = reader_u32(reader);
    head->name_size = reader_u32(reader);
    return !reader->failed && slice_equals(magic, SLICE("TZif"));
}

/* No product overflows: each count is of 32 bits. */
static void zone_skip(struct reader *reader, const struct zone_head *head, size_t time_size)
{
    reader_skip(reader, (size_t)head->time_count * (time_size + 1));
    reader_skip(reader, (size_t)head->kind_count * KIND_SIZE);
    reader_skip(reader, head->name_size);
    reader_skip(reader, (size_t)head->leap_count * (time_size + 4));
    reader_skip(reader, (size_t)head->standard_count + head->utc_count);
}

static int64_t zone_time(const struct zone *zone, size_t index)
{
    struct reader reader = reader_of(slice_from(zone->times, index * 8));
    return (int64_t)reader_u64(&reader);
}

static int32_t zone_offset_of_kind(const struct zone *zone, size_t kind)
{
    struct reader reader = reader_of(slice_from(zone->offsets, kind * KIND_SIZE));
    return (int32_t)reader_u32(&reader);
}

static bool zone_is_sound(const struct zone *zone)
{
    size_t kind_count = zone->offsets.len / KIND_SIZE;
    for (size_t i = 0; i < kind_count; i++) {
        int32_t offset = zone_offset_of_kind(zone, i);
        if (offset <= -OFFSET_MAX || offset >= OFFSET_MAX) {
            return false;
        }
    }
    for (size_t i = 0; i < zone->kinds.len; i++) {
        if ((unsigned char)zone->kinds.at[i] >= kind_count ||
            (i > 0 && zone_time(zone, i) <= zone_time(zone, i - 1))) {
            return false;
        }
    }
    return kind_count > 0;
}

/* The rule ------------------------------------------------------------------------------------- */

static uint8_t zone_peek(const struct reader *reader)
{
    struct reader copy = *reader;
    return reader_u8(&copy);
}

static bool zone_take(struct reader *reader, char byte)
{
    if (zone_peek(reader) != (uint8_t)byte) {
        return false;
    }
    reader_skip(reader, 1);
    return true;
}

static bool zone_is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

static int32_t zone_number(struct reader *reader, int32_t min, int32_t max)
{
    int32_t value = 0;
    reader->failed = reader->failed || !zone_is_digit(zone_peek(reader));
    while (zone_is_digit(zone_peek(reader)) && value <= max) {
        value = value * 10 + (reader_u8(reader) - '0');
    }
    reader->failed = reader->failed || value < min || value > max;
    return value;
}

/* [+-]h[h[h]][:mm[:ss]] */
static int32_t zone_seconds(struct reader *reader, int32_t hours_max)
{
    bool is_negative = zone_take(reader, '-');
    if (!is_negative) {
        (void)zone_take(reader, '+');
    }
    int32_t seconds = zone_number(reader, 0, hours_max) * 3600;
    if (zone_take(reader, ':')) {
        seconds += zone_number(reader, 0, 59) * 60;
        if (zone_take(reader, ':')) {
            seconds += zone_number(reader, 0, 59);
        }
    }
    return is_negative ? -seconds : seconds;
}

static void zone_skip_name(struct reader *reader)
{
    bool is_quoted = zone_take(reader, '<');
    size_t len = 0;
    for (uint8_t byte = zone_peek(reader); byte != 0; byte = zone_peek(reader)) {
        uint8_t letter = byte | 0x20U;
        bool is_letter = letter >= 'a' && letter <= 'z';
        bool is_quoted_sign = is_quoted && (zone_is_digit(byte) || byte == '+' || byte == '-');
        if (!is_letter && !is_quoted_sign) {
            break;
        }
        reader_skip(reader, 1);
        len++;
    }
    reader->failed = reader->failed || len < 3 || (is_quoted && !zone_take(reader, '>'));
}

static struct zone_day zone_day_read(struct reader *reader)
{
    struct zone_day day = {.kind = ZONE_DAY_OF_YEAR, .second = 2 * 3600};
    reader->failed = reader->failed || !zone_take(reader, ',');
    if (zone_take(reader, 'M')) {
        day.kind = ZONE_DAY_OF_WEEK;
        day.month = zone_number(reader, 1, 12);
        reader->failed = reader->failed || !zone_take(reader, '.');
        day.week = zone_number(reader, 1, 5);
        reader->failed = reader->failed || !zone_take(reader, '.');
        day.day = zone_number(reader, 0, 6);
    } else if (zone_take(reader, 'J')) {
        day.kind = ZONE_DAY_NO_LEAP;
        day.day = zone_number(reader, 1, 365);
    } else {
        day.day = zone_number(reader, 0, 365);
    }
    if (zone_take(reader, '/')) {
        day.second = zone_seconds(reader, SECOND_MAX / 3600);
    }
    return day;
}

/* Offsets are written the other way round: hours west. */
static enum err zone_rule_read(struct slice text, struct zone *zone)
{
    struct reader reader = reader_of(text);
    zone_skip_name(&reader);
    zone->standard = -zone_seconds(&reader, 24);
    zone->has_rule = true;
    zone->has_summer = reader_left(&reader) > 0;
    if (zone->has_summer) {
        zone_skip_name(&reader);
        bool is_given = reader_left(&reader) > 0 && zone_peek(&reader) != ',';
        zone->summer = is_given ? -zone_seconds(&reader, 24) : zone->standard + 3600;
        zone->begins = zone_day_read(&reader);
        zone->ends = zone_day_read(&reader);
    }
    return reader_done(&reader);
}

enum err zone_read(struct slice file, struct zone *ret_zone)
{
    struct reader reader = reader_of(file);
    struct zone_head head;
    struct zone zone = {0};
    struct slice rest = SLICE_NONE;
    if (!zone_head_read(&reader, &head) || head.version < '2') {
        return ERR_INPUT;
    }
    zone_skip(&reader, &head, 4);
    if (!zone_head_read(&reader, &head) || head.leap_count > 0) {
        return ERR_INPUT;
    }
    zone.times = reader_view(&reader, (size_t)head.time_count * 8);
    zone.kinds = reader_view(&reader, head.time_count);
    zone.offsets = reader_view(&reader, (size_t)head.kind_count * KIND_SIZE);
    head.time_count = 0;
    head.kind_count = 0;
    zone_skip(&reader, &head, 8);
    bool has_line = zone_take(&reader, '\n');
    struct slice rule = slice_cut(reader_view_rest(&reader), '\n', &rest);
    if (reader.failed || !has_line || !zone_is_sound(&zone)) {
        return ERR_INPUT;
    }
    enum err err = rule.len > 0 ? zone_rule_read(rule, &zone) : ERR_NONE;
    if (err == ERR_NONE) {
        *ret_zone = zone;
    }
    return err;
}

/* The calendar --------------------------------------------------------------------------------- */

static bool zone_is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Days from 1970-01-01 to the first of January. */
static int64_t zone_days_to_year(int64_t year)
{
    int64_t before = year - 1;
    int64_t leaps = before / 4 - before / 100 + before / 400;
    return (year - 1970) * 365 + leaps - 477; /* leap days before 1970 */
}

static int64_t zone_year_of(int64_t days)
{
    int64_t year = 1970 + days / 366;
    while (zone_days_to_year(year + 1) <= days) {
        year++;
    }
    while (zone_days_to_year(year) > days) {
        year--;
    }
    return year;
}

static int64_t zone_days_to_month(int64_t year, int32_t month)
{
    static const short before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    return zone_days_to_year(year) + before[month - 1] + (month > 2 && zone_is_leap(year) ? 1 : 0);
}

/* 1970-01-01 was a Thursday. */
static int64_t zone_weekday(int64_t days)
{
    return ((days + 4) % 7 + 7) % 7;
}

static int64_t zone_day_in_week(int64_t year, const struct zone_day *day)
{
    int64_t first = zone_days_to_month(year, day->month);
    int64_t next =
        day->month == 12 ? zone_days_to_year(year + 1) : zone_days_to_month(year, day->month + 1);
    int64_t found = first + (day->day - zone_weekday(first) + 7) % 7 + INT64_C(7) * (day->week - 1);
    return found >= next ? found - 7 : found;
}

/* The second of a change, by the clock that the offset makes. */
static int64_t zone_change(int64_t year, const struct zone_day *day, int32_t offset)
{
    int64_t days = zone_days_to_year(year);
    switch (day->kind) {
    case ZONE_DAY_OF_WEEK:
        days = zone_day_in_week(year, day);
        break;
    case ZONE_DAY_NO_LEAP:
        days += day->day - 1 + (zone_is_leap(year) && day->day > 59 ? 1 : 0);
        break;
    case ZONE_DAY_OF_YEAR:
        days += day->day;
        break;
    }
    return days * DAY_S + day->second - offset;
}

/* The newest change counts. Where summer time ends when it begins, it goes on. */
static int32_t zone_offset_by_rule(const struct zone *zone, int64_t second)
{
    int64_t newest = INT64_MIN;
    int32_t offset = zone->standard;
    int64_t days = second / DAY_S;
    if (!zone->has_summer || days > YEARS_MAX * 365 || days < -YEARS_MAX * 365) {
        return offset;
    }
    int64_t year = zone_year_of(days);
    for (int64_t i = year - 1; i <= year + 1; i++) {
        int64_t end = zone_change(i, &zone->ends, zone->summer);
        int64_t begin = zone_change(i, &zone->begins, zone->standard);
        if (end <= second && end > newest) {
            newest = end;
            offset = zone->standard;
        }
        if (begin <= second && begin >= newest) {
            newest = begin;
            offset = zone->summer;
        }
    }
    return offset;
}

int32_t zone_offset(const struct zone *zone, int64_t second)
{
    size_t low = 0;
    size_t high = zone->kinds.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone_time(zone, middle) <= second) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == zone->kinds.len && zone->has_rule) {
        return zone_offset_by_rule(zone, second);
    }
    return zone_offset_of_kind(zone, low == 0 ? 0 : (unsigned char)zone->kinds.at[low - 1]);
}
