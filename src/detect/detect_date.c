/* SPDX-License-Identifier: MIT */
/* Dates in digits, with the time that may follow them: 2024-01-15, 15.01.2024, 1/15/2024,
 * 2024-01-15T10:22:33.5+01:00; where a name or a word says that somebody was born, also 15.1.85 and
 * 19850115. */
#include "detect/detect_internal.h"

#include "detect/detect_check.h"

struct date {
    unsigned parts[3];
    size_t sizes[3];
    char sign;
    size_t end;
};

static bool read_date(const struct detect_scan *scan, size_t at, struct date *date)
{
    date->sign = '\0';
    for (size_t i = 0; i < 3; i++) {
        date->parts[i] = 0;
        size_t from = at;
        while (at - from < 5 && is_digit(byte_at(scan, at))) {
            date->parts[i] = date->parts[i] * 10 + (unsigned)(byte_at(scan, at++) - '0');
        }
        date->sizes[i] = at - from;
        if (date->sizes[i] == 0 || date->sizes[i] > 4) {
            return false;
        }
        char sign = byte_at(scan, at);
        if (i == 0) {
            date->sign = sign;
        }
        if (i < 2 && (sign != date->sign || (sign != '-' && sign != '.' && sign != '/'))) {
            return false;
        }
        at += i < 2;
    }
    date->end = at;
    return true;
}

/* 0: no date; 2: a year with four digits; 1: with two. */
static unsigned judge_date(const struct date *date)
{
    const unsigned *parts = date->parts;
    const size_t *sizes = date->sizes;
    if (sizes[0] == 4) {
        bool is_date = sizes[1] == 2 && sizes[2] == 2 && parts[0] >= 1000 && parts[0] < 3000 &&
                       check_date(parts[0], parts[1], parts[2]);
        return is_date ? 2 : 0;
    }
    if (sizes[0] > 2 || sizes[1] > 2 || (sizes[2] != 4 && sizes[2] != 2)) {
        return 0;
    }
    unsigned year = sizes[2] == 4 ? parts[2] : 2000 + parts[2];
    bool is_date = check_date(year, parts[1], parts[0]) || check_date(year, parts[0], parts[1]);
    bool is_year = year >= 1000 && year < 3000;
    return !is_date || !is_year ? 0 : sizes[2] == 4 ? 2 : 1;
}

static bool is_pair(const struct detect_scan *scan, size_t at)
{
    return is_digit(byte_at(scan, at)) && is_digit(byte_at(scan, at + 1));
}

/* hh:mm, :ss, .fff, and a zone: where they end; 'at' when there is no time. */
static size_t skip_time(const struct detect_scan *scan, size_t at)
{
    size_t end = at + 1;
    char between = byte_at(scan, at);
    if ((between != ' ' && between != 'T' && between != 't') || !is_pair(scan, end) ||
        byte_at(scan, end + 2) != ':' || !is_pair(scan, end + 3)) {
        return at;
    }
    end += 5;
    if (byte_at(scan, end) == ':' && is_pair(scan, end + 1)) {
        end += 3;
        if (byte_at(scan, end) == '.' && is_digit(byte_at(scan, end + 1))) {
            size_t from = end++;
            while (end - from < 10 && is_digit(byte_at(scan, end))) {
                end++;
            }
        }
    }
    char zone = byte_at(scan, end);
    if (zone == 'Z' || zone == 'z') {
        return end + 1;
    }
    if ((zone == '+' || zone == '-') && is_pair(scan, end + 1)) {
        end += 3;
        end += byte_at(scan, end) == ':' && is_pair(scan, end + 1) ? 3 : is_pair(scan, end) ? 2 : 0;
    }
    return end;
}

/* Eight digits, the year first. */
static size_t find_compact(struct detect_scan *scan, size_t at)
{
    unsigned number = 0;
    for (size_t i = 0; i < 8; i++) {
        if (!is_digit(byte_at(scan, at + i))) {
            return 0;
        }
        number = number * 10 + (unsigned)(byte_at(scan, at + i) - '0');
    }
    unsigned year = number / 10000;
    if (year < 1900 || year > 2100 || !detect_is_end(scan, at + 8) ||
        !check_date(year, number / 100 % 100, number % 100) ||
        !is_wanted(scan, DETECT_DATE_OF_BIRTH, 80) ||
        !detect_has_context(scan, DETECT_DATE_OF_BIRTH, at)) {
        return 0;
    }
    detect_offer(scan, DETECT_DATE_OF_BIRTH, at, at + 8, 80);
    return at + 8;
}

size_t detect_find_date(struct detect_scan *scan, size_t at)
{
    struct date date;
    char second = byte_at(scan, at + 1), third = byte_at(scan, at + 2);
    char fifth = byte_at(scan, at + 4);
    if (is_digit(second) && is_digit(third) && is_digit(fifth)) {
        return find_compact(scan, at);
    }
    if (!read_date(scan, at, &date)) {
        return 0;
    }
    unsigned kind = judge_date(&date);
    size_t end = kind == 2 ? skip_time(scan, date.end) : date.end;
    char next = byte_at(scan, end);
    if (kind == 0 || is_word(next) || next == '_' ||
        ((next == '-' || next == '/' || next == '.') && is_digit(byte_at(scan, end + 1)))) {
        return 0;
    }
    if (is_wanted(scan, DETECT_DATE_OF_BIRTH, 92) &&
        detect_has_context(scan, DETECT_DATE_OF_BIRTH, at)) {
        detect_offer(scan, DETECT_DATE_OF_BIRTH, at, date.end, kind == 2 ? 92 : 80);
    } else {
        detect_offer(scan, DETECT_DATE_TIME, at, end, kind == 2 ? 75 : 30);
        return kind == 2 ? end : 0;
    }
    return end;
}
