/* SPDX-License-Identifier: MIT */
/* Answers of the gateway, shown: a list as a table or as the JSON that it was, an object as lines.
 */
#ifndef GH_CLIENT_SHOW_H
#define GH_CLIENT_SHOW_H

#include "client/command.h"
#include "client/table.h"

/* Of --output; aligned where it is left out. Not for json. */
enum table_form show_form(const struct client_run *run);

/* A member as it is shown: "" where it is absent or null. */
struct slice show_text(const struct json *object, const char *member);
/* The value in words: of a list its items (of those that have a name, the name), of an object its
 * members, of a time no fractions; "" where it is absent, null or has nothing in it. */
struct slice show_words_in(struct arena *arena, struct json value);
bool show_is_true(const struct json *object, const char *member);
int64_t show_number(const struct json *object, const char *member);

/* Of each object these members, under these names; or all of it as one array of JSON. */
struct show_column {
    const char *name;
    const char *member;
};

void show_list(const struct client_run *run, const struct json *items, size_t count,
               const struct show_column *columns, size_t column_count);

/* Names and values, one below the other, with a dash for none; or a JSON object. */
struct show_pair {
    const char *name;   /* for people */
    const char *member; /* in JSON */
    struct slice value;
};

void show_pairs(const struct client_run *run, const struct show_pair *pairs, size_t count);

/* A line to standard output, in which nothing moves the cursor. */
void show_line(struct slice text);
/* Likewise to standard error, behind the program's name. */
void show_problem(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
