/* SPDX-License-Identifier: MIT */
/* Which members of a document a shape knows, and which one an unknown name may stand for. */
#include "base/text.h"
#include "codec/shape.h"

#define NAME_SIZE_MAX 64 /* longer ones resemble nothing */

struct members_check {
    const struct shape_idles *idles;
    struct shape_texts *warnings;
    struct error *error;
};

static size_t members_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits between two names: a letter more, less or another one, and two that changed places. */
static size_t members_distance(struct slice from, struct slice to)
{
    size_t rows[3][NAME_SIZE_MAX + 1];
    for (size_t column = 0; column <= to.len; column++) {
        rows[0][column] = column;
    }
    for (size_t row = 1; row <= from.len; row++) {
        size_t *now = rows[row % 3];
        const size_t *before = rows[(row + 2) % 3];
        const size_t *earlier = rows[(row + 1) % 3];
        now[0] = row;
        for (size_t column = 1; column <= to.len; column++) {
            bool is_same = from.at[row - 1] == to.at[column - 1];
            size_t least = before[column - 1] + (is_same ? 0 : 1);
            least = members_least(least, members_least(before[column], now[column - 1]) + 1);
            bool is_swapped = row > 1 && column > 1 && from.at[row - 1] == to.at[column - 2] &&
                              from.at[row - 2] == to.at[column - 1];
            now[column] = is_swapped ? members_least(least, earlier[column - 2] + 1) : least;
        }
    }
    return rows[from.len % 3][to.len];
}

/* The member that a request may have and whose name is nearest; NULL when none is near: as many
 * edits as a third of the name has letters, or one name is a part of the other. */
static const char *members_nearest(struct arena *arena, const struct shape *shape,
                                   struct slice name)
{
    struct slice wanted = text_lower_in(arena, name);
    size_t least = wanted.len / 3;
    const char *nearest = NULL;
    for (size_t i = 0; i < shape->field_count && wanted.len <= NAME_SIZE_MAX; i++) {
        const struct shape_field *field = &shape->fields[i];
        struct slice known = slice_of_text(field->name);
        if ((field->flags & SHAPE_READ_ONLY) != 0 || known.len > NAME_SIZE_MAX) {
            continue;
        }
        bool is_part = wanted.len > 3 && (slice_find(known, wanted) < known.len ||
                                          slice_find(wanted, known) < wanted.len);
        size_t distance = members_distance(wanted, known);
        if (is_part) {
            distance = members_least(distance, wanted.len / 3);
        }
        if (distance < least || (distance == least && nearest == NULL)) {
            least = distance;
            nearest = field->name;
        }
    }
    return nearest;
}

const struct shape_field *shape_find(const struct shape *shape, struct slice name)
{
    for (size_t i = 0; shape != NULL && i < shape->field_count; i++) {
        if (slice_equals(name, slice_of_text(shape->fields[i].name))) {
            return &shape->fields[i];
        }
    }
    return NULL;
}

void shape_warn(struct shape_texts *warnings, const struct json *value, const char *why)
{
    if (warnings->items == NULL) {
        warnings->items =
            arena_alloc_array(value->arena, SHAPE_WARNINGS_MAX, sizeof(*warnings->items));
    }
    if (warnings->count < SHAPE_WARNINGS_MAX) {
        struct slice shown = json_path_shown_in(value->arena, value->path);
        warnings->items[warnings->count++] =
            arena_format(value->arena, "'%.*s' %s", SLICE_ARG(shown), why);
    }
}

static const char *members_idle(const struct members_check *check, const struct shape *shape,
                                struct slice name)
{
    for (size_t i = 0; i < check->idles->count; i++) {
        const struct shape_idle *idle = &check->idles->items[i];
        if (idle->shape == shape && slice_equals(name, slice_of_text(idle->name))) {
            return idle->why;
        }
    }
    return NULL;
}

static enum err members_refuse(const struct members_check *check, const struct shape *shape,
                               struct slice name, const struct json *value)
{
    struct slice shown = json_path_shown_in(value->arena, value->path);
    const char *nearest = members_nearest(value->arena, shape, name);
    return nearest == NULL
               ? fail(check->error, ERR_INPUT, "'%.*s' is not known here", SLICE_ARG(shown))
               : fail(check->error, ERR_INPUT, "'%.*s': did you mean '%s'?", SLICE_ARG(shown),
                      nearest);
}

static enum err members_check_object(const struct members_check *check, const struct shape *shape,
                                     const struct json *json);

/* What stands in a known member. Values of the wrong kind are shape_read's to refuse. */
static enum err members_check_value(const struct members_check *check,
                                    const struct shape_field *field, const struct json *value)
{
    struct error ignored = {0};
    size_t count = 0;
    enum err err = ERR_NONE;
    if (field->object == NULL || (field->flags & SHAPE_READ_ONLY) != 0) {
        return ERR_NONE;
    }
    if (field->kind == SHAPE_OBJECT) {
        return members_check_object(check, field->object, value);
    }
    if (json_as_array(*value, &count, &ignored) != ERR_NONE || count > (size_t)field->max) {
        return ERR_NONE;
    }
    for (size_t i = 0; i < count && err == ERR_NONE; i++) {
        struct json item = json_item(value, i);
        err = members_check_object(check, field->object, &item);
    }
    return err;
}

static enum err members_check_member(const struct members_check *check, const struct shape *shape,
                                     struct slice name, const struct json *value)
{
    const struct shape_field *field = shape_find(shape, name);
    const struct shape_field *shown = shape_find(shape->shown_as, name);
    const char *why = members_idle(check, shape, name);
    if (why != NULL && json_says_something(*value)) {
        shape_warn(check->warnings, value, why);
    }
    if (field == NULL && shown == NULL && why == NULL) {
        return members_refuse(check, shape, name, value);
    }
    return field == NULL ? ERR_NONE : members_check_value(check, field, value);
}

/* The depth is the shape's, not the document's: none contains itself. */
static enum err members_check_object(const struct members_check *check, const struct shape *shape,
                                     const struct json *json)
{
    struct json_members members = json_members_of(json);
    struct slice name = SLICE_NONE;
    struct json value;
    enum err err = ERR_NONE;
    while (err == ERR_NONE && json_next_member(&members, &name, &value)) {
        err = members_check_member(check, shape, name, &value);
    }
    return err;
}

enum err shape_check_members(const struct shape *shape, const struct json *json,
                             const struct shape_idles *idles, struct shape_texts *warnings,
                             struct error *reterr)
{
    const struct members_check check = {.idles = idles, .warnings = warnings, .error = reterr};
    return members_check_object(&check, shape, json);
}
