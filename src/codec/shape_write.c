/* SPDX-License-Identifier: MIT */
#include "codec/shape.h"

static bool shape_is_given(const struct shape_field *field, const void *at)
{
    switch (field->kind) {
    case SHAPE_TEXT:
    case SHAPE_RAW:
        return ((const struct slice *)at)->len > 0;
    case SHAPE_INT:
    case SHAPE_HUNDREDTHS:
        return ((const struct shape_int *)at)->is_given && !((const struct shape_int *)at)->is_null;
    case SHAPE_BOOL:
        return ((const struct shape_bool *)at)->is_given;
    case SHAPE_TIME:
        return *(const int64_t *)at != 0;
    case SHAPE_TEXTS:
        return ((const struct shape_texts *)at)->count > 0;
    case SHAPE_PAIRS:
        return ((const struct shape_pairs *)at)->count > 0;
    case SHAPE_OBJECT:
        return *(const void *const *)at != NULL;
    case SHAPE_OBJECTS:
        return ((const struct shape_objects *)at)->is_given;
    }
    return false;
}

static void shape_write_texts(const struct shape_texts *texts, struct json_writer *json)
{
    json_begin_array(json);
    for (size_t i = 0; i < texts->count; i++) {
        json_text(json, texts->items[i]);
    }
    json_end_array(json);
}

void shape_write_pairs(const struct shape_pairs *pairs, struct json_writer *json)
{
    json_begin_object(json);
    for (size_t i = 0; i < pairs->count; i++) {
        json_key_text(json, pairs->pairs[i].key);
        if (pairs->pairs[i].is_null) {
            json_no_value(json);
        } else {
            json_text(json, pairs->pairs[i].value);
        }
    }
    json_end_object(json);
}

static void shape_write_objects(const struct shape_field *field,
                                const struct shape_objects *objects, struct json_writer *json)
{
    json_begin_array(json);
    for (size_t i = 0; i < objects->count; i++) {
        shape_write(field->object, (const char *)objects->items + i * field->object->size, json);
    }
    json_end_array(json);
}

static void shape_write_value(const struct shape_field *field, const void *at,
                              struct json_writer *json)
{
    switch (field->kind) {
    case SHAPE_TEXT:
        json_text(json, *(const struct slice *)at);
        break;
    case SHAPE_RAW:
        json_raw(json, *(const struct slice *)at);
        break;
    case SHAPE_INT:
        json_int(json, ((const struct shape_int *)at)->value);
        break;
    case SHAPE_HUNDREDTHS:
        json_hundredths(json, ((const struct shape_int *)at)->value);
        break;
    case SHAPE_BOOL:
        json_bool(json, ((const struct shape_bool *)at)->value);
        break;
    case SHAPE_TIME:
        json_timestamp(json, *(const int64_t *)at);
        break;
    case SHAPE_TEXTS:
        shape_write_texts(at, json);
        break;
    case SHAPE_PAIRS:
        shape_write_pairs(at, json);
        break;
    case SHAPE_OBJECT:
        shape_write(field->object, *(const void *const *)at, json);
        break;
    case SHAPE_OBJECTS:
        shape_write_objects(field, at, json);
        break;
    }
}

void shape_write_members(const struct shape *shape, unsigned with, unsigned without,
                         const void *source, struct json_writer *json)
{
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct shape_field *field = &shape->fields[i];
        const void *at = (const char *)source + field->offset;
        bool is_wanted = (with == 0 || (field->flags & with) != 0) && (field->flags & without) == 0;
        if (!is_wanted) {
            continue;
        }
        bool is_given = shape_is_given(field, at);
        if (!is_given && (field->flags & SHAPE_OMITTED) != 0) {
            continue;
        }
        json_key(json, field->name);
        if (!is_given && (field->flags & SHAPE_NULL_OUT) != 0) {
            json_no_value(json);
        } else {
            shape_write_value(field, at, json);
        }
    }
}

void shape_write(const struct shape *shape, const void *source, struct json_writer *json)
{
    json_begin_object(json);
    shape_write_members(shape, 0, SHAPE_WRITE_ONLY, source, json);
    json_end_object(json);
}
