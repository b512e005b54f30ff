/* SPDX-License-Identifier: MIT */
#include "api/openapi_schema.h"

#include "base/memory.h"
#include "base/must.h"

#define UUID_PATTERN "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
/* JSON may hold U+0000, our texts may not. */
#define ANY_PATTERN "^[^\\x00]*$"

struct slice openapi_schema_name(struct arena *arena, const struct shape *shape,
                                 enum openapi_side side)
{
    struct slice name = slice_of_text(shape->name);
    bool is_marked = side == OPENAPI_ANSWER || slice_ends_with(name, SLICE("Request"));
    if (side == OPENAPI_PATCH) {
        return arena_format(arena, "%.*sPatch", SLICE_ARG(name));
    }
    return is_marked ? name : arena_format(arena, "%.*sRequest", SLICE_ARG(name));
}

void openapi_schemas_add(struct openapi_schemas *schemas, const struct shape *shape,
                         enum openapi_side side)
{
    if (shape == NULL) {
        return;
    }
    for (size_t i = 0; i < schemas->count; i++) {
        if (schemas->items[i].shape == shape && schemas->items[i].side == side) {
            return;
        }
    }
    must(schemas->count < OPENAPI_SCHEMAS_MAX);
    schemas->items[schemas->count].shape = shape;
    schemas->items[schemas->count].side = side;
    schemas->count++;
    for (size_t i = 0; i < shape->field_count; i++) {
        bool is_sent = side == OPENAPI_ANSWER || (shape->fields[i].flags & SHAPE_READ_ONLY) == 0;
        openapi_schemas_add(schemas, is_sent ? shape->fields[i].object : NULL, side);
    }
}

static const char *openapi_type(const struct shape_field *field)
{
    switch (field->kind) {
    case SHAPE_INT:
        return "integer";
    case SHAPE_HUNDREDTHS:
        return "number";
    case SHAPE_BOOL:
        return "boolean";
    case SHAPE_TEXTS:
    case SHAPE_OBJECTS:
        return "array";
    case SHAPE_PAIRS:
    case SHAPE_OBJECT:
    case SHAPE_RAW:
        return "object";
    case SHAPE_TEXT:
    case SHAPE_TIME:
        break;
    }
    return "string";
}

static void openapi_write_type(struct json_writer *json, const char *type, bool is_nullable)
{
    if (!is_nullable) {
        json_member_text(json, "type", slice_of_text(type));
        return;
    }
    json_member_array(json, "type");
    json_text(json, slice_of_text(type));
    json_text(json, SLICE("null"));
    json_end_array(json);
}

static void openapi_write_choices(struct json_writer *json, const struct shape_field *field,
                                  bool may_be_empty, bool is_nullable)
{
    json_member_array(json, "enum");
    for (const char *const *choice = field->choices; *choice != NULL; choice++) {
        json_text(json, slice_of_text(*choice));
    }
    if (may_be_empty) {
        json_text(json, SLICE(""));
    }
    if (is_nullable) {
        json_no_value(json);
    }
    json_end_array(json);
}

static struct slice openapi_pattern(const struct shape_field *field)
{
    if (field->format != NULL && strcmp(field->format, "uuid") == 0) {
        return SLICE(UUID_PATTERN);
    }
    return field->pattern != NULL ? slice_of_text(field->pattern) : SLICE(ANY_PATTERN);
}

/* The bounds of a text that is sent. An optional one may be empty, which is as good as absent. */
static void openapi_write_text_bounds(struct json_writer *json, const struct shape_field *field,
                                      bool may_be_empty)
{
    struct slice pattern = openapi_pattern(field);
    bool is_loose = may_be_empty && field->check != NULL;
    char either[512];
    if (is_loose) {
        int len = snprintf(either, sizeof(either), "^$|%.*s", SLICE_ARG(pattern));
        pattern = slice_of(either, (size_t)len);
    }
    json_member_text(json, "pattern", pattern);
    if (!may_be_empty && field->min > 0) {
        json_member_int(json, "minLength", field->min);
    }
    if (field->max > 0) {
        json_member_int(json, "maxLength", field->max);
    }
}

static void openapi_write_text(struct json_writer *json, const struct shape_field *field,
                               enum openapi_side side, bool is_nullable)
{
    bool may_be_empty = (field->flags & SHAPE_REQUIRED) == 0;
    if (field->choices != NULL) {
        openapi_write_choices(json, field, side != OPENAPI_ANSWER && may_be_empty, is_nullable);
    } else if (side != OPENAPI_ANSWER) {
        openapi_write_text_bounds(json, field, may_be_empty);
    } else if (field->format != NULL) {
        json_member_text(json, "format", slice_of_text(field->format));
    }
}

static void openapi_write_items(struct json_writer *json, const struct shape_field *field,
                                enum openapi_side side)
{
    json_member_object(json, "items");
    json_member_text(json, "type", SLICE("string"));
    if (side != OPENAPI_ANSWER) {
        json_member_text(json, "pattern", openapi_pattern(field));
        json_member_int(json, "minLength", 1);
        json_member_int(json, "maxLength", (int64_t)field->item_max);
    }
    json_end_object(json);
    if (side != OPENAPI_ANSWER) {
        json_member_int(json, "maxItems", field->max);
    }
}

static void openapi_write_pair_bounds(struct json_writer *json, const struct shape_field *field)
{
    json_member_object(json, "propertyNames");
    json_member_text(json, "pattern",
                     slice_of_text(field->key_pattern != NULL ? field->key_pattern : ANY_PATTERN));
    json_member_int(json, "minLength", 1);
    json_member_int(json, "maxLength", (int64_t)field->key_max);
    json_end_object(json);
    json_member_int(json, "maxProperties", field->max);
}

static void openapi_write_pairs(struct json_writer *json, const struct shape_field *field,
                                enum openapi_side side)
{
    bool has_null = (field->flags & SHAPE_NULL_ITEMS) != 0;
    if (side != OPENAPI_ANSWER && field->schema != NULL) {
        json_raw_members(json, slice_of_text(field->schema));
        return;
    }
    json_member_object(json, "additionalProperties");
    if (side != OPENAPI_ANSWER && field->value_of_other != NULL) {
        json_member_raw(json, "type",
                        SLICE("[\"string\",\"number\",\"boolean\",\"array\",\"object\",\"null\"]"));
        json_member_raw(json, "items", SLICE("{}"));
    } else {
        openapi_write_type(json, "string", has_null);
    }
    if (side != OPENAPI_ANSWER) {
        json_member_text(json, "pattern", openapi_pattern(field));
        json_member_int(json, "maxLength", (int64_t)field->item_max);
    }
    json_end_object(json);
    if (side != OPENAPI_ANSWER) {
        openapi_write_pair_bounds(json, field);
    }
}

static void openapi_write_nested(struct json_writer *json, const struct shape_field *field,
                                 enum openapi_side side, bool is_nullable)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    struct slice name = openapi_schema_name(&arena, field->object, side);
    struct slice reference =
        arena_format(&arena, "{\"$ref\":\"#/components/schemas/%.*s\"}", SLICE_ARG(name));
    if (field->kind == SHAPE_OBJECT && is_nullable) {
        json_member_array(json, "anyOf");
        json_raw(json, reference);
        json_raw(json, SLICE("{\"type\":\"null\"}"));
        json_end_array(json);
    } else if (field->kind == SHAPE_OBJECT) {
        json_member_array(json, "allOf");
        json_raw(json, reference);
        json_end_array(json);
    } else {
        openapi_write_type(json, "array", is_nullable);
        json_member_raw(json, "items", reference);
        if (side != OPENAPI_ANSWER) {
            json_member_int(json, "maxItems", field->max);
        }
    }
}

static void openapi_write_kind(struct json_writer *json, const struct shape_field *field,
                               enum openapi_side side, bool is_nullable)
{
    switch (field->kind) {
    case SHAPE_TEXT:
        openapi_write_text(json, field, side, is_nullable);
        break;
    case SHAPE_INT:
        if (side != OPENAPI_ANSWER) {
            bool may_be_zero = (field->flags & SHAPE_ZERO_OUT) != 0;
            json_member_int(json, "minimum", may_be_zero ? 0 : field->min);
            json_member_int(json, "maximum", field->max);
        }
        break;
    case SHAPE_HUNDREDTHS:
        if (side != OPENAPI_ANSWER) {
            json_key(json, "minimum");
            json_hundredths(json, field->min);
            json_key(json, "maximum");
            json_hundredths(json, field->max);
        }
        break;
    case SHAPE_TIME:
        json_member_text(json, "format", SLICE("date-time"));
        break;
    case SHAPE_TEXTS:
        openapi_write_items(json, field, side);
        break;
    case SHAPE_PAIRS:
        openapi_write_pairs(json, field, side);
        break;
    case SHAPE_OBJECTS: /* of a shape that is still to come */
        json_member_raw(json, "items", SLICE("{\"type\":\"object\"}"));
        break;
    case SHAPE_BOOL:
    case SHAPE_OBJECT:
    case SHAPE_RAW:
        break;
    }
}

void openapi_write_field(struct json_writer *json, const struct shape_field *field,
                         enum openapi_side side)
{
    unsigned null_flag = side == OPENAPI_ANSWER ? SHAPE_NULL_OUT : SHAPE_NULL_IN;
    bool is_nullable = side != OPENAPI_QUERY && (field->flags & null_flag) != 0;
    json_begin_object(json);
    if (field->object != NULL) {
        openapi_write_nested(json, field, side, is_nullable);
    } else {
        openapi_write_type(json, openapi_type(field), is_nullable);
        openapi_write_kind(json, field, side, is_nullable);
    }
    if (field->about != NULL) {
        json_member_text(json, "description", slice_of_text(field->about));
    }
    if ((field->flags & SHAPE_WRITE_ONLY) != 0) {
        json_member_bool(json, "writeOnly", true);
    }
    json_end_object(json);
}

static bool openapi_has_field(const struct shape_field *field, enum openapi_side side)
{
    unsigned refused = side == OPENAPI_ANSWER ? SHAPE_WRITE_ONLY : SHAPE_READ_ONLY;
    return (field->flags & refused) == 0;
}

static bool openapi_needs_field(const struct shape_field *field, enum openapi_side side)
{
    if (side == OPENAPI_ANSWER) {
        return (field->flags & SHAPE_OMITTED) == 0;
    }
    return side == OPENAPI_REQUEST && (field->flags & SHAPE_REQUIRED) != 0;
}

static void openapi_write_schema(struct json_writer *json, const struct shape *shape,
                                 enum openapi_side side)
{
    json_begin_object(json);
    json_member_text(json, "type", SLICE("object"));
    if (shape->about != NULL) {
        json_member_text(json, "description", slice_of_text(shape->about));
    }
    json_member_array(json, "required");
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct shape_field *field = &shape->fields[i];
        if (openapi_has_field(field, side) && openapi_needs_field(field, side)) {
            json_text(json, slice_of_text(field->name));
        }
    }
    json_end_array(json);
    json_member_object(json, "properties");
    for (size_t i = 0; i < shape->field_count; i++) {
        if (openapi_has_field(&shape->fields[i], side)) {
            json_key(json, shape->fields[i].name);
            openapi_write_field(json, &shape->fields[i], side);
        }
    }
    json_end_object(json);
    if (side != OPENAPI_ANSWER) {
        json_member_bool(json, "additionalProperties", false);
    }
    json_end_object(json);
}

void openapi_schemas_write(const struct openapi_schemas *schemas, struct json_writer *json)
{
    for (size_t i = 0; i < schemas->count; i++) {
        const struct shape *shape = schemas->items[i].shape;
        json_key_text(json, openapi_schema_name(schemas->arena, shape, schemas->items[i].side));
        openapi_write_schema(json, shape, schemas->items[i].side);
    }
}
