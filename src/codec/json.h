/* SPDX-License-Identifier: MIT */
/* JSON from others, read strictly: UTF-8, one document and nothing behind it, no key twice, no
 * U+0000, at most LIMIT_JSON_DEPTH deep. Each value knows where it stands, so that a wrong one is
 * named: "'roles[2].name' must be a string". Looking something up never fails; what is missing or
 * of the wrong kind comes out at json_as_…(). Everything lives in the arena of the document. */
#ifndef GH_CODEC_JSON_H
#define GH_CODEC_JSON_H

#include "base/arena.h"
#include "base/error.h"

#include <stdint.h>

struct json_t;

struct json {
    struct arena *arena;
    struct json_t *value; /* NULL: absent */
    struct slice path;    /* "" for the document itself */
    const char *wanted;   /* what stands at 'path' should have been this to be looked into */
};

/* The seed of the tables that hold members: random, so that nobody can choose keys that collide.
 * Once, before the first document and the second thread. From then on the memory of documents is
 * wiped when it is freed. */
void json_set_seed(uint32_t seed);

/* The caller limits the size of 'text'. Messages say where it went wrong, but not what was there.
 */
enum err json_parse_in(struct arena *arena, struct slice text, struct json *ret_document,
                       struct error *error) MUST_USE;

struct json json_member(const struct json *object, const char *name);
/* For names that are data. */
struct json json_member_named(const struct json *object, struct slice name);
struct json json_item(const struct json *array, size_t index);

/* Not there at all; null is there. */
bool json_is_absent(struct json json);
/* There and not null. Also true when its container is not one, so that reading it says so. */
bool json_is_given(struct json json);

bool json_is_text(struct json json);
/* Not null, false, 0, nor an empty text, array or object. */
bool json_says_something(struct json json);

/* The same value; nothing is the same as null. */
bool json_is_same(struct json one, struct json other);

/* A path as a message may show it: names in it come from the other side, long, or not fit to be
 * shown. */
struct slice json_path_shown_in(struct arena *arena, struct slice path);

/* The text is valid as long as the arena, and has no NUL. */
enum err json_as_text(struct json json, struct slice *ret_text, struct error *error) MUST_USE;
/* Any value but null: a text as it is, a number and a boolean as they are written, an array and an
 * object as their JSON without spaces. */
struct slice json_as_written(struct json json);
enum err json_as_int(struct json json, int64_t min, int64_t max, int64_t *ret_value,
                     struct error *error) MUST_USE;
/* With or without a fraction. */
enum err json_as_number(struct json json, double min, double max, double *ret_value,
                        struct error *error) MUST_USE;
enum err json_as_bool(struct json json, bool *ret_value, struct error *error) MUST_USE;
enum err json_as_object(struct json json, struct error *error) MUST_USE;
enum err json_as_array(struct json json, size_t *ret_count, struct error *error) MUST_USE;

/* The members of an object in the order of the document; none when it is something else.
 *   struct json_members members = json_members_of(&object);
 *   while (json_next_member(&members, &name, &value)) { … } */
struct json_members {
    struct json object;
    void *next;
};

struct json_members json_members_of(const struct json *object);
bool json_next_member(struct json_members *members, struct slice *ret_name, struct json *ret_value);

#endif
