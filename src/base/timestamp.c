/* SPDX-License-Identifier: MIT */
#include "base/timestamp.h"

#include "base/must.h"
#include "base/reader.h"
#include "base/text.h"

struct civil {
    int64_t year;
    int64_t month; /* 1 to 12 */
    int64_t day;   /* 1 to 31 */
    int64_t hour;
    int64_t minute;
    int64_t second;
    int64_t microsecond;
};

static const char timestamp_months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                             "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
/* 1970-01-01 was a Thursday. */
static const char timestamp_weekdays[7][4] = {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"};

static bool timestamp_is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int64_t timestamp_days_in_month(int64_t year, int64_t month)
{
    static const int64_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && timestamp_is_leap(year) ? 1 : 0);
}

/* From 0001-01-01 to the first day of the year. */
static int64_t timestamp_days_before_year(int64_t year)
{
    int64_t past = year - 1;
    return past * 365 + past / 4 - past / 100 + past / 400;
}

static int64_t timestamp_days(int64_t year, int64_t month, int64_t day)
{
    int64_t days = timestamp_days_before_year(year) - timestamp_days_before_year(1970);
    for (int64_t past = 1; past < month; past++) {
        days += timestamp_days_in_month(year, past);
    }
    return days + day - 1;
}

static int64_t timestamp_of(const struct civil *civil)
{
    int64_t seconds = timestamp_days(civil->year, civil->month, civil->day) * 86400;
    seconds += civil->hour * 3600 + civil->minute * 60 + civil->second;
    return seconds * TIMESTAMP_SECOND + civil->microsecond;
}

/* Whole days since 1970, rounded down also before it. */
static int64_t timestamp_whole_days(int64_t timestamp)
{
    return (timestamp - TIMESTAMP_MIN) / TIMESTAMP_DAY + TIMESTAMP_MIN / TIMESTAMP_DAY;
}

static struct civil timestamp_civil(int64_t timestamp)
{
    must(timestamp >= TIMESTAMP_MIN && timestamp <= TIMESTAMP_MAX);
    int64_t days = timestamp_whole_days(timestamp);
    int64_t rest = timestamp - days * TIMESTAMP_DAY;
    days += timestamp_days_before_year(1970);
    /* A year too many at most: 146097 days are 400 years. */
    int64_t year = days * 400 / 146097 + 1;
    if (timestamp_days_before_year(year) > days) {
        year--;
    } else if (timestamp_days_before_year(year + 1) <= days) {
        year++;
    }
    days -= timestamp_days_before_year(year);
    int64_t month = 1;
    while (days >= timestamp_days_in_month(year, month)) {
        days -= timestamp_days_in_month(year, month);
        month++;
    }
    int64_t seconds = rest / TIMESTAMP_SECOND;
    return (struct civil){.year = year,
                          .month = month,
                          .day = days + 1,
                          .hour = seconds / 3600,
                          .minute = seconds / 60 % 60,
                          .second = seconds % 60,
                          .microsecond = rest % TIMESTAMP_SECOND};
}

struct slice timestamp_format(int64_t timestamp, char *text)
{
    struct civil civil = timestamp_civil(timestamp);
    int len = snprintf(text, TIMESTAMP_TEXT_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ",
                       (int)civil.year, (int)civil.month, (int)civil.day, (int)civil.hour,
                       (int)civil.minute, (int)civil.second, (int)civil.microsecond);
    return slice_of(text, (size_t)len);
}

struct slice timestamp_format_http(int64_t timestamp, char *text)
{
    struct civil civil = timestamp_civil(timestamp);
    int64_t weekday = (timestamp_whole_days(timestamp) % 7 + 7) % 7;
    int len =
        snprintf(text, TIMESTAMP_TEXT_SIZE, "%s, %02d %s %04d %02d:%02d:%02d GMT",
                 timestamp_weekdays[weekday], (int)civil.day, timestamp_months[civil.month - 1],
                 (int)civil.year, (int)civil.hour, (int)civil.minute, (int)civil.second);
    return slice_of(text, (size_t)len);
}

static int64_t timestamp_read_number(struct reader *reader, size_t digits)
{
    uint64_t value = 0;
    if (text_parse_u64(reader_view(reader, digits), &value) != ERR_NONE) {
        reader->failed = true;
    }
    return (int64_t)value;
}

static void timestamp_expect(struct reader *reader, struct slice wanted)
{
    if (!slice_equals(reader_view(reader, wanted.len), wanted)) {
        reader->failed = true;
    }
}

static char timestamp_peek(const struct reader *reader)
{
    return reader_left(reader) == 0 ? '\0' : reader->input.at[reader->index];
}

static void timestamp_read_date(struct reader *reader, struct civil *civil)
{
    civil->year = timestamp_read_number(reader, 4);
    timestamp_expect(reader, SLICE("-"));
    civil->month = timestamp_read_number(reader, 2);
    timestamp_expect(reader, SLICE("-"));
    civil->day = timestamp_read_number(reader, 2);
}

static void timestamp_read_clock(struct reader *reader, struct civil *civil)
{
    civil->hour = timestamp_read_number(reader, 2);
    timestamp_expect(reader, SLICE(":"));
    civil->minute = timestamp_read_number(reader, 2);
    timestamp_expect(reader, SLICE(":"));
    civil->second = timestamp_read_number(reader, 2);
}

static void timestamp_read_fraction(struct reader *reader, struct civil *civil)
{
    if (timestamp_peek(reader) != '.') {
        return;
    }
    reader_skip(reader, 1);
    size_t digits = 0;
    for (; timestamp_peek(reader) >= '0' && timestamp_peek(reader) <= '9'; digits++) {
        int64_t digit = timestamp_read_number(reader, 1);
        if (digits < 6) {
            civil->microsecond = civil->microsecond * 10 + digit;
        }
    }
    for (size_t i = digits; i < 6; i++) {
        civil->microsecond *= 10;
    }
    if (digits == 0 || digits > 9) {
        reader->failed = true;
    }
}

/* What must be taken off the local time, in minutes. */
static int64_t timestamp_read_offset(struct reader *reader)
{
    char sign = (char)reader_u8(reader);
    if (sign == 'Z' || sign == 'z') {
        return 0;
    }
    int64_t hours = timestamp_read_number(reader, 2);
    timestamp_expect(reader, SLICE(":"));
    int64_t minutes = timestamp_read_number(reader, 2);
    if ((sign != '+' && sign != '-') || hours > 23 || minutes > 59) {
        reader->failed = true;
    }
    return (hours * 60 + minutes) * (sign == '-' ? -1 : 1);
}

static bool timestamp_is_real(const struct civil *civil)
{
    return civil->year >= 1 && civil->month >= 1 && civil->month <= 12 && civil->day >= 1 &&
           civil->day <= timestamp_days_in_month(civil->year, civil->month) && civil->hour <= 23 &&
           civil->minute <= 59 && civil->second <= 59;
}

enum err timestamp_parse(struct slice text, int64_t *ret_timestamp)
{
    struct reader reader = reader_of(text);
    struct civil civil = {0};
    int64_t offset_minutes = 0;
    timestamp_read_date(&reader, &civil);
    if (reader_left(&reader) > 0) {
        char between = (char)reader_u8(&reader);
        if (between != 'T' && between != 't' && between != ' ') {
            return ERR_INPUT;
        }
        timestamp_read_clock(&reader, &civil);
        timestamp_read_fraction(&reader, &civil);
        offset_minutes = timestamp_read_offset(&reader);
    }
    if (reader_done(&reader) != ERR_NONE || !timestamp_is_real(&civil)) {
        return ERR_INPUT;
    }
    int64_t timestamp = timestamp_of(&civil) - offset_minutes * 60 * TIMESTAMP_SECOND;
    if (timestamp < TIMESTAMP_MIN || timestamp > TIMESTAMP_MAX) {
        return ERR_INPUT;
    }
    *ret_timestamp = timestamp;
    return ERR_NONE;
}

static int64_t timestamp_read_month_name(struct reader *reader)
{
    struct slice name = reader_view(reader, 3);
    for (int64_t month = 0; month < 12; month++) {
        if (slice_equals(name, slice_of(timestamp_months[month], 3))) {
            return month + 1;
        }
    }
    reader->failed = true;
    return 1;
}

enum err timestamp_parse_http(struct slice text, int64_t *ret_timestamp)
{
    struct reader reader = reader_of(text);
    struct civil civil = {0};
    reader_skip(&reader, 5);
    civil.day = timestamp_read_number(&reader, 2);
    timestamp_expect(&reader, SLICE(" "));
    civil.month = timestamp_read_month_name(&reader);
    timestamp_expect(&reader, SLICE(" "));
    civil.year = timestamp_read_number(&reader, 4);
    timestamp_expect(&reader, SLICE(" "));
    timestamp_read_clock(&reader, &civil);
    timestamp_expect(&reader, SLICE(" GMT"));
    if (reader_done(&reader) != ERR_NONE || !timestamp_is_real(&civil)) {
        return ERR_INPUT;
    }
    /* The weekday is looked at by writing the date again. */
    char again[TIMESTAMP_TEXT_SIZE];
    int64_t timestamp = timestamp_of(&civil);
    if (!slice_equals(timestamp_format_http(timestamp, again), text)) {
        return ERR_INPUT;
    }
    *ret_timestamp = timestamp;
    return ERR_NONE;
}
