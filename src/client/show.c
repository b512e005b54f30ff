/* SPDX-License-Identifier: MIT */
#include "client/show.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "codec/json_writer.h"

#include <stdarg.h>

enum table_form show_form(const struct client_run *run)
{
    const char *form = client_given(run, CLIENT_OUTPUT);
    if (form == NULL) {
        return TABLE_ALIGNED;
    }
    return strcmp(form, "csv") == 0        ? TABLE_CSV
           : strcmp(form, "markdown") == 0 ? TABLE_MARKDOWN
                                           : TABLE_ALIGNED;
}

struct slice show_text(const struct json *object, const char *member)
{
    struct json value = json_member(object, member);
    return json_is_given(value) && value.value != NULL && value.wanted == NULL
               ? json_as_written(value)
               : SLICE("");
}

/* A time of the API, RFC 3339 in UTC with fractions, as people write one. */
static struct slice show_time_in(struct arena *arena, struct slice text)
{
    enum { SECONDS_END = 19 }; /* 2006-01-02T15:04:05 */
    int64_t time_us = 0;
    if (text.len <= SECONDS_END || text.at[10] != 'T' || text.at[text.len - 1] != 'Z' ||
        timestamp_parse(text, &time_us) != ERR_NONE) {
        return text;
    }
    return arena_format(arena, "%.*s %.*s UTC", 10, text.at, SECONDS_END - 11, text.at + 11);
}

static struct slice show_join_in(struct arena *arena, struct slice before, struct slice name,
                                 struct slice value)
{
    return arena_format(arena, "%.*s%s%.*s%s%.*s", SLICE_ARG(before), before.len > 0 ? ", " : "",
                        SLICE_ARG(name), name.len > 0 ? " " : "", SLICE_ARG(value));
}

/* One value in a list or an object: what lies deeper is shown as it was written. */
static struct slice show_item_in(struct arena *arena, struct json item)
{
    struct json name = json_member(&item, "name");
    return show_time_in(arena, json_as_written(json_is_text(name) ? name : item));
}

struct slice show_words_in(struct arena *arena, struct json value)
{
    struct slice text = SLICE("");
    size_t count = 0;
    if (!json_is_given(value) || value.value == NULL || value.wanted != NULL) {
        return text;
    }
    if (json_as_array(value, &count, NULL) == ERR_NONE) {
        for (size_t i = 0; i < count; i++) {
            text = show_join_in(arena, text, SLICE(""), show_item_in(arena, json_item(&value, i)));
        }
        return text;
    }
    if (json_as_object(value, NULL) == ERR_NONE) {
        struct json_members members = json_members_of(&value);
        struct slice name;
        struct json member;
        while (json_next_member(&members, &name, &member)) {
            text = show_join_in(arena, text, name, show_item_in(arena, member));
        }
        return text;
    }
    return show_time_in(arena, json_as_written(value));
}

bool show_is_true(const struct json *object, const char *member)
{
    bool is_true = false;
    return json_as_bool(json_member(object, member), &is_true, NULL) == ERR_NONE && is_true;
}

int64_t show_number(const struct json *object, const char *member)
{
    int64_t number = 0;
    return json_as_int(json_member(object, member), INT64_MIN, INT64_MAX, &number, NULL) == ERR_NONE
               ? number
               : 0;
}

static void show_json_list(const struct json *items, size_t count)
{
    (void)fputs("[", stdout);
    for (size_t i = 0; i < count; i++) {
        struct slice written = json_as_written(items[i]);
        (void)printf("%s\n%.*s", i == 0 ? "" : ",", SLICE_ARG(written));
    }
    (void)fputs(count == 0 ? "]\n" : "\n]\n", stdout);
}

void show_list(const struct client_run *run, const struct json *items, size_t count,
               const struct show_column *columns, size_t column_count)
{
    if (client_wants_json(run)) {
        show_json_list(items, count);
        return;
    }
    struct table table;
    struct slice *values = arena_alloc_array(run->arena, column_count, sizeof(*values));
    for (size_t i = 0; i < column_count; i++) {
        values[i] = slice_of_text(columns[i].name);
    }
    enum table_form form = show_form(run);
    table_begin(&table, stdout, form, values, column_count);
    for (size_t row = 0; row < count; row++) {
        for (size_t i = 0; i < column_count; i++) {
            const char *member = columns[i].member;
            values[i] = form == TABLE_CSV
                            ? show_text(&items[row], member)
                            : show_words_in(run->arena, json_member(&items[row], member));
        }
        table_row(&table, values);
    }
    table_end(&table);
}

void show_pairs(const struct client_run *run, const struct show_pair *pairs, size_t count)
{
    if (!client_wants_json(run)) {
        for (size_t i = 0; i < count; i++) {
            struct slice value = pairs[i].value.len > 0 ? pairs[i].value : SLICE("-");
            show_line(arena_format(run->arena, "%-15s %.*s", pairs[i].name, SLICE_ARG(value)));
        }
        return;
    }
    struct buf buf;
    buf_init(&buf, LIMIT_CLIENT_ANSWER_SIZE);
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    for (size_t i = 0; i < count; i++) {
        json_member_text(&json, pairs[i].member, pairs[i].value);
    }
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    (void)printf("%.*s\n", SLICE_ARG(buf_view(&buf)));
    buf_release(&buf);
}

static void show_line_to(FILE *out, const char *before, struct slice text)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, text.len * 8 + 16);
    struct writer writer = writer_to(&buf);
    text_show(&writer, text);
    (void)fprintf(out, "%s%.*s\n", before, SLICE_ARG(buf_view(&buf)));
}

void show_line(struct slice text)
{
    show_line_to(stdout, "", text);
}

void show_problem(const char *format, ...)
{
    char text[LIMIT_KIB(8)]; /* of what is longer, the beginning */
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    size_t size = len < 0 ? 0 : (size_t)len;
    show_line_to(stderr,
                 "gatehouse: ", slice_of(text, size < sizeof(text) ? size : sizeof(text) - 1));
}
