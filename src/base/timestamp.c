/* SPDX-License-Identifier: MIT */
#include "base/timestamp.h"

#include "base/text.h"

#define DAY_SECONDS ((int64_t)86400)

struct civil {
    int64_t year;
    unsigned month; /* 1 to 12 */
    unsigned day;   /* 1 to 31 */
};

/* Years begin in March here, so that the leap day is the last one; an era has 400 years. */
static int64_t civil_to_days(struct civil civil)
{
    int64_t year = civil.year - (civil.month <= 2 ? 1 : 0);
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t month = (civil.month + 9) % 12;
    int64_t day_of_year = (153 * month + 2) / 5 + civil.day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

static struct civil civil_from_days(int64_t days)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t day_of_era = days - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    struct civil civil = {
        .year = year_of_era + era * 400 + (month >= 10 ? 1 : 0),
        .month = (unsigned)(month < 10 ? month + 3 : month - 9),
        .day = (unsigned)(day_of_year - (153 * month + 2) / 5 + 1),
    };
    return civil;
}

/* Splits into days, and seconds and microseconds of the day, rounding down before 1970 too. */
static int64_t timestamp_split(int64_t timestamp, unsigned *ret_second, unsigned *ret_micro)
{
    int64_t day_micros = DAY_SECONDS * TIMESTAMP_SECOND;
    int64_t days = timestamp / day_micros;
    int64_t rest = timestamp % day_micros;
    if (rest < 0) {
        days--;
        rest += day_micros;
    }
    *ret_second = (unsigned)(rest / TIMESTAMP_SECOND);
    *ret_micro = (unsigned)(rest % TIMESTAMP_SECOND);
    return days;
}

struct slice timestamp_format(int64_t timestamp, char *text)
{
    unsigned second = 0;
    unsigned micro = 0;
    struct civil civil = civil_from_days(timestamp_split(timestamp, &second, &micro));
    int len =
        snprintf(text, TIMESTAMP_TEXT_SIZE, "%04d-%02u-%02uT%02u:%02u:%02u.%06uZ", (int)civil.year,
                 civil.month, civil.day, second / 3600, second / 60 % 60, second % 60, micro);
    return slice_of(text, (size_t)len);
}

struct slice timestamp_format_http(int64_t timestamp, char *text)
{
    static const char days[7][4] = {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"};
    static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    unsigned second = 0;
    unsigned micro = 0;
    int64_t day = timestamp_split(timestamp, &second, &micro);
    struct civil civil = civil_from_days(day);
    int len = snprintf(text, TIMESTAMP_TEXT_SIZE, "%s, %02u %s %04d %02u:%02u:%02u GMT",
                       days[(day % 7 + 7) % 7], civil.day, months[civil.month - 1], (int)civil.year,
                       second / 3600, second / 60 % 60, second % 60);
    return slice_of(text, (size_t)len);
}

/* Takes 'size' digits and the separator behind them, if any, from the front of 'rest'. */
static bool timestamp_take(struct slice *rest, size_t size, const char *separators,
                           unsigned *ret_number)
{
    uint64_t number = 0;
    if (rest->len < size || text_parse_u64(slice_sub(*rest, 0, size), &number) != ERR_NONE) {
        return false;
    }
    *rest = slice_from(*rest, size);
    *ret_number = (unsigned)number;
    if (separators == NULL) {
        return true;
    }
    if (rest->len == 0 || rest->at[0] == '\0' || strchr(separators, rest->at[0]) == NULL) {
        return false;
    }
    *rest = slice_from(*rest, 1);
    return true;
}

static unsigned civil_month_days(struct civil civil)
{
    static const unsigned char days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = civil.year % 4 == 0 && (civil.year % 100 != 0 || civil.year % 400 == 0);
    return days[civil.month - 1] + (civil.month == 2 && is_leap ? 1u : 0u);
}

static bool timestamp_take_date(struct slice *rest, int64_t *ret_days)
{
    unsigned year = 0;
    struct civil civil = {0};
    if (!timestamp_take(rest, 4, "-", &year) || !timestamp_take(rest, 2, "-", &civil.month) ||
        !timestamp_take(rest, 2, NULL, &civil.day)) {
        return false;
    }
    civil.year = year;
    if (year == 0 || civil.month < 1 || civil.month > 12 || civil.day < 1 ||
        civil.day > civil_month_days(civil)) {
        return false;
    }
    *ret_days = civil_to_days(civil);
    return true;
}

/* ".5" is 500000 microseconds; digits beyond the sixth are dropped. */
static bool timestamp_take_fraction(struct slice *rest, int64_t *ret_micros)
{
    int64_t unit = TIMESTAMP_SECOND / 10;
    *ret_micros = 0;
    if (!slice_starts_with(*rest, SLICE("."))) {
        return true;
    }
    *rest = slice_from(*rest, 1);
    size_t digits = 0;
    while (rest->len > 0 && rest->at[0] >= '0' && rest->at[0] <= '9') {
        *ret_micros += (rest->at[0] - '0') * unit;
        unit /= 10;
        digits++;
        *rest = slice_from(*rest, 1);
    }
    return digits > 0;
}

/* "Z" or "+01:30", all that is left. */
static bool timestamp_take_offset(struct slice rest, int64_t *ret_seconds)
{
    unsigned hours = 0;
    unsigned minutes = 0;
    *ret_seconds = 0;
    if (slice_equals_nocase(rest, SLICE("Z"))) {
        return true;
    }
    bool is_east = slice_starts_with(rest, SLICE("+"));
    if (!is_east && !slice_starts_with(rest, SLICE("-"))) {
        return false;
    }
    rest = slice_from(rest, 1);
    if (!timestamp_take(&rest, 2, ":", &hours) || !timestamp_take(&rest, 2, NULL, &minutes) ||
        rest.len > 0 || hours > 23 || minutes > 59) {
        return false;
    }
    int64_t seconds = (int64_t)hours * 3600 + (int64_t)minutes * 60;
    *ret_seconds = is_east ? seconds : -seconds;
    return true;
}

enum err timestamp_parse(struct slice text, int64_t *ret_timestamp)
{
    int64_t days = 0;
    int64_t micros = 0;
    int64_t offset = 0;
    unsigned hour = 0;
    unsigned minute = 0;
    unsigned second = 0;
    if (!timestamp_take_date(&text, &days)) {
        return ERR_INPUT;
    }
    if (text.len > 0) {
        if (text.at[0] != 'T' && text.at[0] != 't' && text.at[0] != ' ') {
            return ERR_INPUT;
        }
        text = slice_from(text, 1);
        if (!timestamp_take(&text, 2, ":", &hour) || !timestamp_take(&text, 2, ":", &minute) ||
            !timestamp_take(&text, 2, NULL, &second) || !timestamp_take_fraction(&text, &micros) ||
            !timestamp_take_offset(text, &offset) || hour > 23 || minute > 59 || second > 59) {
            return ERR_INPUT;
        }
    }
    int64_t of_day = (int64_t)hour * 3600 + minute * 60 + second - offset;
    *ret_timestamp = (days * DAY_SECONDS + of_day) * TIMESTAMP_SECOND + micros;
    return ERR_NONE;
}
