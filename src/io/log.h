/* SPDX-License-Identifier: MIT */
/* The log: one line an event, text for people or JSON for machines. A line has a fixed message and
 * named fields; secrets and data rows are never fields. Levels are kept by component and can be
 * changed while the gateway runs, from any thread. The pure layers and the store never log: they
 * return an error, which is logged once, where it stops. */
#ifndef GH_IO_LOG_H
#define GH_IO_LOG_H

#include "base/err.h"
#include "base/error.h"
#include "base/slice.h"

#include <stdint.h>

/* With its end. A value is cut at LOG_VALUE_MAX, and a line before the field that does not fit any
 * more; the last field of such a line is cut=true. */
#define LOG_LINE_MAX  8192
#define LOG_VALUE_MAX 1000
/* Holds what log_levels writes. */
#define LOG_LEVELS_SIZE 256

enum log_level {
    LOG_ERROR,
    LOG_WARN,
    LOG_INFO,
    LOG_DEBUG,
};

#define LOG_COMPONENT_MAP(X)                                                                       \
    X(LOG_APP, "app")                                                                              \
    X(LOG_IO, "io")                                                                                \
    X(LOG_HTTP, "http")                                                                            \
    X(LOG_STORE, "store")                                                                          \
    X(LOG_GATE, "gate")                                                                            \
    X(LOG_TUNNEL, "tunnel")                                                                        \
    X(LOG_API, "api")

#define LOG_COMPONENT_ENUM(name, text) name,
enum log_component { LOG_COMPONENT_MAP(LOG_COMPONENT_ENUM) LOG_COMPONENT_COUNT };
#undef LOG_COMPONENT_ENUM

enum log_format {
    LOG_FORMAT_TEXT,
    LOG_FORMAT_JSON,
};

struct log_field {
    const char *name;
    bool is_number;
    int64_t number;
    struct slice text;
};

struct log_field log_text(const char *name, struct slice text);
struct log_field log_number(const char *name, int64_t number);
/* "error": the error's message. */
struct log_field log_error_field(const struct error *error);

/* Before the first line; lines go to this descriptor, one write each, and are lost where it is full
 * or closed (SIGPIPE must be ignored). Default: text on stderr. Colour on a terminal alone. */
void log_start(int fd, enum log_format format);

/* "info", or "warn,http=debug": a level for all, then for single components. On an error nothing
 * is changed. Safe while other threads log. */
enum err log_set_levels(struct slice levels, struct error *error) MUST_USE;
bool log_levels_are_valid(struct slice levels);
/* The levels in force, in the same form, one "component=level" each. 'text' holds
 * LOG_LEVELS_SIZE. */
struct slice log_levels(char *text, size_t size);

bool log_is_on(enum log_component component, enum log_level level);

/* log_line(LOG_HTTP, LOG_INFO, "listening", log_text("address", address), log_number("port",
 * port)); The fields, as many as one likes or none, are evaluated only when the level is on. */
#define log_line(component, level, ...) LOG_LINE(component, level, __VA_ARGS__, LOG_FIELDS_END)

/* The end makes that there is always something behind the message; it is not counted. */
#define LOG_FIELDS_END ((struct log_field){.name = NULL})
#define LOG_LINE(component, level, message, ...)                                                   \
    (log_is_on(component, level)                                                                   \
         ? log_write(component, level, message, (const struct log_field[]){__VA_ARGS__},           \
                     sizeof((const struct log_field[]){__VA_ARGS__}) / sizeof(struct log_field) -  \
                         1)                                                                        \
         : (void)0)

void log_write(enum log_component component, enum log_level level, const char *message,
               const struct log_field *fields, size_t count);

#endif
