/* SPDX-License-Identifier: MIT */
#include "policy/time_window.h"

#include "base/buf.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "base/writer.h"

#define STEP_S    (6 * 3600) /* no clock changes twice in it */
#define KEPT_S    (400 * INT64_C(86400))
#define AHEAD_US  (8 * TIMESTAMP_DAY)
#define MINUTE_US (60 * TIMESTAMP_SECOND)
#define LINE_SIZE 2048
#define LIST_SIZE (LINE_SIZE * 128)

/* Times ---------------------------------------------------------------------------------------- */

static bool time_window_number(struct slice text, uint64_t max, uint64_t *ret_number)
{
    return text.len == 2 && text_parse_u64(text, ret_number) == ERR_NONE && *ret_number <= max;
}

bool time_window_minute(struct slice text, int32_t *ret_minute)
{
    uint64_t hours = 0;
    uint64_t minutes = 0;
    struct slice rest = SLICE_NONE;
    struct slice first = slice_cut(text, ':', &rest);
    if (!time_window_number(first, 24, &hours) || !time_window_number(rest, 59, &minutes)) {
        return false;
    }
    *ret_minute = (int32_t)(hours * 60 + minutes);
    return *ret_minute <= TIME_WINDOW_DAY;
}

/* The second at which it is another one, of two between which it changes once. */
static int64_t time_window_find_change(const struct zone *zone, int64_t before, int64_t after)
{
    int32_t offset = zone_offset(zone, before);
    while (after - before > 1) {
        int64_t middle = before + (after - before) / 2;
        if (zone_offset(zone, middle) == offset) {
            before = middle;
        } else {
            after = middle;
        }
    }
    return after;
}

void time_window_follow(struct time_window *window, const struct zone *zone, int64_t now)
{
    int64_t start = now / TIMESTAMP_SECOND;
    window->changes[0] = (struct time_window_change){start, zone_offset(zone, start)};
    window->change_count = 1;
    for (int64_t at = start; at < start + KEPT_S; at += STEP_S) {
        int32_t offset = zone_offset(zone, at + STEP_S);
        if (offset != window->changes[window->change_count - 1].offset &&
            window->change_count < TIME_WINDOW_CHANGES) {
            window->changes[window->change_count++] =
                (struct time_window_change){time_window_find_change(zone, at, at + STEP_S), offset};
        }
    }
}

static int32_t time_window_minute_at(const struct time_window *window, int64_t now)
{
    int64_t second = now / TIMESTAMP_SECOND;
    size_t i = 0;
    while (i + 1 < window->change_count && window->changes[i + 1].second <= second) {
        i++;
    }
    int64_t of_day = (second + window->changes[i].offset) % 86400;
    return (int32_t)((of_day + 86400) % 86400 / 60);
}

static bool time_window_is_open(const struct time_window *window, int64_t now)
{
    int32_t minute = time_window_minute_at(window, now);
    bool is_behind_start = minute >= window->start_minute;
    bool is_before_end = minute < window->end_minute;
    return window->start_minute < window->end_minute ? is_behind_start && is_before_end
                                                     : is_behind_start || is_before_end;
}

bool time_windows_are_open(const struct time_windows *windows, int64_t now)
{
    for (size_t i = 0; i < windows->count; i++) {
        if (!time_window_is_open(&windows->items[i], now)) {
            return false;
        }
    }
    return true;
}

int64_t time_windows_next(const struct time_windows *windows, bool is_open, int64_t now,
                          int64_t until)
{
    int64_t last = now < until - AHEAD_US ? now + AHEAD_US : until;
    if (windows->count == 0) {
        return is_open && now < until ? now : 0;
    }
    for (int64_t at = now; at < last; at += MINUTE_US - at % MINUTE_US) {
        if (time_windows_are_open(windows, at) == is_open) {
            return at;
        }
    }
    return 0;
}

/* As text -------------------------------------------------------------------------------------- */

static void time_window_write_hours(struct writer *writer, const struct time_window *window,
                                    const char *between)
{
    writer_format(writer, "%02d:%02d%s%02d:%02d %.*s", window->start_minute / 60,
                  window->start_minute % 60, between, window->end_minute / 60,
                  window->end_minute % 60, SLICE_ARG(window->zone_name));
}

struct slice time_window_text_in(struct arena *arena, const struct time_window *window)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LINE_SIZE);
    struct writer writer = writer_to(&buf);
    time_window_write_hours(&writer, window, " ");
    for (size_t i = 0; i < window->change_count; i++) {
        writer_format(&writer, " %lld %d", (long long)window->changes[i].second,
                      window->changes[i].offset);
    }
    writer_u8(&writer, '\n');
    must(writer_done(&writer) == ERR_NONE);
    return arena_copy(arena, buf_view(&buf));
}

static bool time_window_read(struct slice line, struct time_window *window)
{
    struct slice rest = SLICE_NONE;
    struct slice start = slice_cut(line, ' ', &rest);
    struct slice end = slice_cut(rest, ' ', &rest);
    window->zone_name = slice_cut(rest, ' ', &rest);
    window->change_count = 0;
    while (rest.len > 0 && window->change_count < TIME_WINDOW_CHANGES) {
        struct time_window_change *change = &window->changes[window->change_count++];
        int64_t offset = 0;
        if (text_parse_i64(slice_cut(rest, ' ', &rest), &change->second) != ERR_NONE ||
            text_parse_i64(slice_cut(rest, ' ', &rest), &offset) != ERR_NONE ||
            offset < -TIMESTAMP_DAY || offset > TIMESTAMP_DAY) {
            return false;
        }
        change->offset = (int32_t)offset;
    }
    return rest.len == 0 && window->change_count > 0 &&
           time_window_minute(start, &window->start_minute) &&
           time_window_minute(end, &window->end_minute);
}

enum err time_windows_read_in(struct arena *arena, struct slice text,
                              struct time_windows *ret_windows)
{
    size_t lines = 0;
    for (size_t i = 0; i < text.len; i++) {
        lines += text.at[i] == '\n' ? 1 : 0;
    }
    struct time_windows windows = {
        .items = arena_alloc_array(arena, lines + 1, sizeof(struct time_window))};
    while (text.len > 0) {
        if (windows.count == lines ||
            !time_window_read(slice_cut(text, '\n', &text), &windows.items[windows.count])) {
            return ERR_INPUT;
        }
        windows.count++;
    }
    *ret_windows = windows;
    return ERR_NONE;
}

struct slice time_windows_words_in(struct arena *arena, const struct time_windows *windows)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIST_SIZE);
    struct writer writer = writer_to(&buf);
    for (size_t i = 0; i < windows->count; i++) {
        writer_bytes(&writer, i > 0 ? SLICE(", and ") : SLICE(""));
        time_window_write_hours(&writer, &windows->items[i], " to ");
    }
    must(writer_done(&writer) == ERR_NONE);
    return arena_copy(arena, buf_view(&buf));
}
