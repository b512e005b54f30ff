/* SPDX-License-Identifier: MIT */
#include "io/log.h"

#include "base/buf.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "base/writer.h"
#include "codec/json_writer.h"
#include "io/clock.h"

#include <stdatomic.h>
#include <unistd.h>

/* The one thing in the process that changes and is reached by name: a log handed through every call
 * would be in the way of each of them. All of it is atomic; the rest is set once, before threads.
 */
static struct {
    int fd;
    enum log_format format;
    bool has_colour;
    _Atomic int levels[LOG_COMPONENT_COUNT];
} log_state = {
    .fd = STDERR_FILENO,
    .levels = {LOG_INFO, LOG_INFO, LOG_INFO, LOG_INFO, LOG_INFO},
};

static const char *const log_level_names[] = {"error", "warn", "info", "debug"};
static const char *const log_level_colours[] = {"\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[2m"};

#define LOG_COMPONENT_TEXT(name, text) text,
static const char *const log_component_names[] = {LOG_COMPONENT_MAP(LOG_COMPONENT_TEXT)};
#undef LOG_COMPONENT_TEXT

_Static_assert(COUNT_OF(log_component_names) == LOG_COMPONENT_COUNT, "one name a component");

struct log_field log_text(const char *name, struct slice text)
{
    return (struct log_field){.name = name, .text = text};
}

struct log_field log_number(const char *name, int64_t number)
{
    return (struct log_field){.name = name, .is_number = true, .number = number};
}

struct log_field log_error_field(const struct error *error)
{
    return log_text("error", slice_of_text(error->message));
}

void log_start(int fd, enum log_format format)
{
    log_state.fd = fd;
    log_state.format = format;
    log_state.has_colour = isatty(fd) == 1;
}

/* Levels -------------------------------------------------------------------------------------- */

static int log_index_of(const char *const *names, size_t count, struct slice name)
{
    for (size_t i = 0; i < count; i++) {
        if (slice_equals(slice_of_text(names[i]), name)) {
            return (int)i;
        }
    }
    return -1;
}

static enum err log_parse_level(struct slice item, int *levels, struct error *error)
{
    struct slice level_name = SLICE_NONE;
    struct slice component_name = slice_cut(item, '=', &level_name);
    bool is_for_all = level_name.at == NULL;
    int level = log_index_of(log_level_names, COUNT_OF(log_level_names),
                             is_for_all ? component_name : level_name);
    int component = log_index_of(log_component_names, LOG_COMPONENT_COUNT, component_name);
    if (level < 0) {
        return fail(error, ERR_INPUT, "'%.*s' is not a log level: error, warn, info or debug",
                    SLICE_ARG(is_for_all ? component_name : level_name));
    }
    if (!is_for_all && component < 0) {
        return fail(error, ERR_INPUT, "'%.*s' is not a component: app, io, http, store or api",
                    SLICE_ARG(component_name));
    }
    for (int i = 0; i < LOG_COMPONENT_COUNT; i++) {
        if (is_for_all || i == component) {
            levels[i] = level;
        }
    }
    return ERR_NONE;
}

/* 'levels' holds one a component; on an error it is not to be used. */
static enum err log_parse_levels(struct slice text, int *levels, struct error *error)
{
    struct slice rest = text;
    do {
        enum err err = log_parse_level(slice_trim(slice_cut(rest, ',', &rest), " "), levels, error);
        if (err != ERR_NONE) {
            return err;
        }
    } while (rest.at != NULL);
    return ERR_NONE;
}

bool log_levels_are_valid(struct slice levels)
{
    int ignored[LOG_COMPONENT_COUNT];
    return log_parse_levels(levels, ignored, NULL) == ERR_NONE;
}

enum err log_set_levels(struct slice levels, struct error *error)
{
    int wanted[LOG_COMPONENT_COUNT];
    for (size_t i = 0; i < LOG_COMPONENT_COUNT; i++) {
        wanted[i] = atomic_load_explicit(&log_state.levels[i], memory_order_relaxed);
    }
    enum err err = log_parse_levels(levels, wanted, error);
    for (size_t i = 0; err == ERR_NONE && i < LOG_COMPONENT_COUNT; i++) {
        atomic_store_explicit(&log_state.levels[i], wanted[i], memory_order_relaxed);
    }
    return err;
}

struct slice log_levels(char *text, size_t size)
{
    size_t len = 0;
    for (size_t i = 0; i < LOG_COMPONENT_COUNT; i++) {
        int level = atomic_load_explicit(&log_state.levels[i], memory_order_relaxed);
        int added = snprintf(text + len, size - len, "%s%s=%s", i == 0 ? "" : ",",
                             log_component_names[i], log_level_names[level]);
        len += (size_t)added;
    }
    return slice_of(text, len);
}

bool log_is_on(enum log_component component, enum log_level level)
{
    return (int)level <= atomic_load_explicit(&log_state.levels[component], memory_order_relaxed);
}

/* Lines --------------------------------------------------------------------------------------- */

/* What a cut line still needs: ,"cut":true} and its end. */
#define LOG_CUT_SIZE 16

/* Not inside a character. */
static struct slice log_cut_value(struct slice value, bool *is_cut)
{
    if (value.len <= LOG_VALUE_MAX) {
        return value;
    }
    *is_cut = true;
    size_t len = LOG_VALUE_MAX;
    while (len > LOG_VALUE_MAX - 4 && ((unsigned char)value.at[len] & 0xc0) == 0x80) {
        len--;
    }
    return slice_sub(value, 0, len);
}

/* A value stays on its line and is seen as one word or quoted: whatever it holds. */
static void log_write_value(struct writer *line, struct slice value)
{
    bool is_plain = value.len > 0;
    for (size_t i = 0; i < value.len && is_plain; i++) {
        unsigned char byte = (unsigned char)value.at[i];
        is_plain = byte > 0x20 && byte < 0x7f && byte != '"' && byte != '=' && byte != '\\';
    }
    if (is_plain) {
        writer_bytes(line, value);
        return;
    }
    writer_bytes(line, SLICE("\""));
    text_escape(line, value);
    writer_bytes(line, SLICE("\""));
}

static void log_line_text(struct buf *buf, enum log_component component, enum log_level level,
                          const char *message, const struct log_field *fields, size_t count)
{
    char time[TIMESTAMP_TEXT_SIZE];
    struct slice now = timestamp_format(clock_now(), time);
    struct writer line = writer_to(buf);
    bool is_cut = false;
    time[10] = ' ';
    writer_format(&line, "%.*s %s%-5s%s %-5s  %s", (int)now.len - 4, now.at,
                  log_state.has_colour ? log_level_colours[level] : "", log_level_names[level],
                  log_state.has_colour ? "\x1b[0m" : "", log_component_names[component], message);
    for (size_t i = 0; i < count; i++) {
        size_t len = buf->len;
        writer_format(&line, "%s%s=", i == 0 ? "  " : " ", fields[i].name);
        if (fields[i].is_number) {
            writer_format(&line, "%lld", (long long)fields[i].number);
        } else {
            log_write_value(&line, log_cut_value(fields[i].text, &is_cut));
        }
        if (line.failed || buf->len > LOG_LINE_MAX - LOG_CUT_SIZE) {
            buf_truncate(buf, len);
            line = writer_to(buf);
            is_cut = true;
            break;
        }
    }
    if (is_cut) {
        writer_bytes(&line, SLICE(" cut=true"));
    }
}

static void log_line_json(struct buf *buf, enum log_component component, enum log_level level,
                          const char *message, const struct log_field *fields, size_t count)
{
    char time[TIMESTAMP_TEXT_SIZE];
    struct json_writer line = json_writer_to(buf);
    bool is_cut = false;
    json_begin_object(&line);
    json_member_text(&line, "time", timestamp_format(clock_now(), time));
    json_member_text(&line, "level", slice_of_text(log_level_names[level]));
    json_member_text(&line, "component", slice_of_text(log_component_names[component]));
    json_member_text(&line, "message", slice_of_text(message));
    for (size_t i = 0; i < count; i++) {
        size_t len = buf->len;
        struct json_writer before = line;
        if (fields[i].is_number) {
            json_member_int(&line, fields[i].name, fields[i].number);
        } else {
            json_member_text(&line, fields[i].name, log_cut_value(fields[i].text, &is_cut));
        }
        if (line.failed || buf->len > LOG_LINE_MAX - LOG_CUT_SIZE) {
            buf_truncate(buf, len);
            line = before;
            is_cut = true;
            break;
        }
    }
    if (is_cut) {
        json_member_bool(&line, "cut", true);
    }
    json_end_object(&line);
}

void log_write(enum log_component component, enum log_level level, const char *message,
               const struct log_field *fields, size_t count)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LOG_LINE_MAX);
    if (log_state.format == LOG_FORMAT_JSON) {
        log_line_json(&buf, component, level, message, fields, count);
    } else {
        log_line_text(&buf, component, level, message, fields, count);
    }
    if (buf_append(&buf, SLICE("\n")) == ERR_NONE) {
        /* A log that is full or closed must not stop the gateway: the line is lost. */
        ssize_t written = write(log_state.fd, buf_view(&buf).at, buf.len);
        (void)written;
    }
}
