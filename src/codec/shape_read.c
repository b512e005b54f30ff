/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "codec/shape.h"
#include "codec/url.h"
#include "codec/uuid.h"

#include <inttypes.h>

struct shape_reader {
    struct arena *arena;
    const struct shape_field *field;
    struct slice path; /* of the value that is being read */
    struct error *error;
};

static enum err shape_refuse(const struct shape_reader *reader, struct slice path,
                             const char *reason)
{
    struct slice shown = json_path_shown_in(reader->arena, path);
    return fail(reader->error, ERR_INPUT, "'%.*s' %s", SLICE_ARG(shown), reason);
}

static size_t shape_character_count(struct slice text)
{
    size_t count = 0;
    while (text.len > 0) {
        uint32_t code = 0;
        size_t size = text_character(text, &code);
        text = slice_from(text, size == 0 ? 1 : size);
        count++;
    }
    return count;
}

static enum err shape_check_length(const struct shape_reader *reader, struct slice path,
                                   struct slice text, int64_t min, int64_t max)
{
    int64_t count = (int64_t)shape_character_count(text);
    if (count < min && text.len == 0) {
        return shape_refuse(reader, path, "must not be empty");
    }
    if (count < min || (max > 0 && count > max)) {
        struct slice shown = json_path_shown_in(reader->arena, path);
        return fail(reader->error, ERR_INPUT,
                    "'%.*s' must have %" PRId64 " to %" PRId64 " characters", SLICE_ARG(shown), min,
                    max);
    }
    return ERR_NONE;
}

static enum err shape_check_choice(const struct shape_reader *reader, struct slice path,
                                   struct slice text)
{
    struct slice list = SLICE_NONE;
    for (const char *const *choice = reader->field->choices; *choice != NULL; choice++) {
        if (slice_equals(text, slice_of_text(*choice))) {
            return ERR_NONE;
        }
        list = arena_format(reader->arena, "%.*s%s'%s'", SLICE_ARG(list), list.len > 0 ? ", " : "",
                            *choice);
    }
    struct slice shown = json_path_shown_in(reader->arena, path);
    return fail(reader->error, ERR_INPUT, "'%.*s' must be one of %.*s", SLICE_ARG(shown),
                SLICE_ARG(list));
}

static enum err shape_check(const struct shape_reader *reader, shape_check_fn check,
                            struct slice path, struct slice text)
{
    struct error reason = {0};
    if (check == NULL || check(text, &reason) == ERR_NONE) {
        return ERR_NONE;
    }
    return shape_refuse(reader, path, reason.message);
}

/* A text, or one of many: 'min' and 'max' are its length. */
static enum err shape_check_text(const struct shape_reader *reader, struct slice path,
                                 struct slice text, int64_t min, int64_t max)
{
    enum err err = shape_check_length(reader, path, text, min, max);
    if (err == ERR_NONE && reader->field->choices != NULL) {
        err = shape_check_choice(reader, path, text);
    }
    if (err == ERR_NONE) {
        err = shape_check(reader, reader->field->check, path, text);
    }
    return err;
}

static enum err shape_store_text(const struct shape_reader *reader, struct slice text, void *at)
{
    const struct shape_field *field = reader->field;
    bool may_be_empty = (field->flags & SHAPE_REQUIRED) == 0;
    struct slice *value = at;
    *value = text.at == NULL ? SLICE("") : text;
    if (text.len == 0 && may_be_empty) {
        return ERR_NONE;
    }
    return shape_check_text(reader, reader->path, text, field->min, field->max);
}

static enum err shape_read_texts(const struct shape_reader *reader, const struct json *json,
                                 struct shape_texts *texts)
{
    const struct shape_field *field = reader->field;
    size_t count = 0;
    enum err err = json_as_array(*json, &count, reader->error);
    if (err == ERR_NONE && count > (size_t)field->max) {
        return fail(reader->error, ERR_INPUT, "'%.*s' must have at most %" PRId64 " items",
                    SLICE_ARG(reader->path), field->max);
    }
    texts->items = arena_alloc_array(reader->arena, count, sizeof(*texts->items));
    texts->count = count;
    texts->is_given = true;
    for (size_t i = 0; i < count && err == ERR_NONE; i++) {
        struct json item = json_item(json, i);
        err = json_as_text(item, &texts->items[i], reader->error);
        if (err == ERR_NONE) {
            err = shape_check_text(reader, item.path, texts->items[i], 1, (int64_t)field->item_max);
        }
    }
    return err;
}

static enum err shape_read_pair(const struct shape_reader *reader, const struct json *json,
                                struct shape_pair *pair)
{
    const struct shape_field *field = reader->field;
    enum err err = shape_check_length(reader, json->path, pair->key, 1, (int64_t)field->key_max);
    if (err == ERR_NONE) {
        err = shape_check(reader, field->check_key, json->path, pair->key);
    }
    pair->is_null = !json_is_given(*json);
    if (err != ERR_NONE || (pair->is_null && (field->flags & SHAPE_NULL_ITEMS) != 0)) {
        return err;
    }
    if (field->value_of_other != NULL && json_is_given(*json) && !json_is_text(*json)) {
        pair->value = field->value_of_other(reader->arena, json_as_written(*json));
    } else {
        err = json_as_text(*json, &pair->value, reader->error);
    }
    if (err == ERR_NONE) {
        err = shape_check_text(reader, json->path, pair->value, 0, (int64_t)field->item_max);
    }
    return err;
}

static enum err shape_read_pairs(const struct shape_reader *reader, const struct json *json,
                                 struct shape_pairs *pairs)
{
    const struct shape_field *field = reader->field;
    enum err err = json_as_object(*json, reader->error);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_members members = json_members_of(json);
    struct slice key = SLICE_NONE;
    struct json value;
    size_t count = 0;
    while (json_next_member(&members, &key, &value)) {
        count++;
    }
    if (count > (size_t)field->max) {
        return fail(reader->error, ERR_INPUT, "'%.*s' must have at most %" PRId64 " members",
                    SLICE_ARG(reader->path), field->max);
    }
    *pairs = (struct shape_pairs){
        .pairs = arena_alloc_array(reader->arena, count, sizeof(*pairs->pairs)),
        .is_given = true,
    };
    members = json_members_of(json);
    while (err == ERR_NONE && json_next_member(&members, &key, &value)) {
        struct shape_pair *pair = &pairs->pairs[pairs->count++];
        pair->key = key;
        err = shape_read_pair(reader, &value, pair);
    }
    return err;
}

static enum err shape_read_objects(const struct shape_reader *reader, const struct json *json,
                                   enum shape_mode mode, struct shape_objects *objects)
{
    const struct shape_field *field = reader->field;
    size_t count = 0;
    enum err err = json_as_array(*json, &count, reader->error);
    if (err == ERR_NONE && count > (size_t)field->max) {
        return fail(reader->error, ERR_INPUT, "'%.*s' must have at most %" PRId64 " items",
                    SLICE_ARG(reader->path), field->max);
    }
    *objects = (struct shape_objects){
        .items = arena_alloc_array(reader->arena, count, field->object->size),
        .count = count,
        .is_given = true,
    };
    for (size_t i = 0; i < count && err == ERR_NONE; i++) {
        struct json item = json_item(json, i);
        char *target = (char *)objects->items + i * field->object->size;
        err = shape_read(field->object, mode, &item, target, reader->error);
    }
    return err;
}

static enum err shape_read_int(const struct shape_reader *reader, const struct json *json,
                               struct shape_int *number)
{
    const struct shape_field *field = reader->field;
    bool may_be_zero = (field->flags & SHAPE_ZERO_OUT) != 0;
    number->is_given = true;
    enum err err =
        json_as_int(*json, may_be_zero ? 0 : field->min, field->max, &number->value, reader->error);
    number->is_null = err == ERR_NONE && may_be_zero && number->value == 0;
    return err;
}

/* What has more decimals is refused, not rounded: what is answered is what was sent. */
static enum err shape_read_hundredths(const struct shape_reader *reader, const struct json *json,
                                      struct shape_int *number)
{
    const struct shape_field *field = reader->field;
    double value = 0;
    enum err err = json_as_number(*json, (double)field->min / 100, (double)field->max / 100, &value,
                                  reader->error);
    if (err != ERR_NONE) {
        return err;
    }
    number->value = (int64_t)(value * 100 + (value < 0 ? -0.5 : 0.5));
    number->is_given = true;
    double difference = value * 100 - (double)number->value;
    if (difference > 1e-9 || difference < -1e-9) {
        return shape_refuse(reader, reader->path, "must have at most two decimals");
    }
    return ERR_NONE;
}

static enum err shape_read_bool(const struct shape_reader *reader, const struct json *json,
                                struct shape_bool *truth)
{
    truth->is_given = true;
    return json_as_bool(*json, &truth->value, reader->error);
}

static enum err shape_read_value(const struct shape_reader *reader, const struct json *json,
                                 enum shape_mode mode, void *at)
{
    const struct shape *object = reader->field->object;
    struct slice text = SLICE_NONE;
    enum err err = ERR_NONE;
    void **nested = at;
    switch (reader->field->kind) {
    case SHAPE_TEXT:
        err = json_as_text(*json, &text, reader->error);
        return err == ERR_NONE ? shape_store_text(reader, text, at) : err;
    case SHAPE_INT:
        return shape_read_int(reader, json, at);
    case SHAPE_HUNDREDTHS:
        return shape_read_hundredths(reader, json, at);
    case SHAPE_BOOL:
        return shape_read_bool(reader, json, at);
    case SHAPE_TEXTS:
        return shape_read_texts(reader, json, at);
    case SHAPE_PAIRS:
        return shape_read_pairs(reader, json, at);
    case SHAPE_OBJECT:
        *nested = arena_alloc(reader->arena, object->size);
        return shape_read(object, mode, json, *nested, reader->error);
    case SHAPE_OBJECTS:
        return shape_read_objects(reader, json, mode, at);
    case SHAPE_TIME:
    case SHAPE_RAW:
        break;
    }
    return ERR_NONE; /* only ever in answers */
}

/* Null: where it is allowed, what was there is to be taken away. */
static enum err shape_read_null(const struct shape_reader *reader, enum shape_mode mode, void *at)
{
    const struct shape_field *field = reader->field;
    if ((field->flags & SHAPE_NULL_IN) == 0) {
        return shape_refuse(reader, reader->path, "must not be null");
    }
    if (mode == SHAPE_WHOLE) {
        return ERR_NONE;
    }
    if (field->kind == SHAPE_TEXT) {
        *(struct slice *)at = SLICE("");
    } else if (field->kind == SHAPE_INT || field->kind == SHAPE_HUNDREDTHS) {
        *(struct shape_int *)at = (struct shape_int){.is_given = true, .is_null = true};
    } else if (field->kind == SHAPE_TEXTS) {
        ((struct shape_texts *)at)->is_given = true;
    } else if (field->kind == SHAPE_PAIRS) {
        ((struct shape_pairs *)at)->is_given = true;
    }
    return ERR_NONE;
}

static enum err shape_read_field(const struct shape_field *field, enum shape_mode mode,
                                 const struct json *json, void *target, struct error *reterr)
{
    struct json value = json_member(json, field->name);
    struct shape_reader reader = {
        .arena = json->arena, .field = field, .path = value.path, .error = reterr};
    void *at = (char *)target + field->offset;
    if (json_is_given(value)) {
        return shape_read_value(&reader, &value, mode, at);
    }
    if (!json_is_absent(value)) {
        return shape_read_null(&reader, mode, at);
    }
    if (mode == SHAPE_WHOLE && (field->flags & SHAPE_REQUIRED) != 0) {
        return shape_refuse(&reader, value.path, "is required");
    }
    return ERR_NONE;
}

enum err shape_read(const struct shape *shape, enum shape_mode mode, const struct json *json,
                    void *target, struct error *reterr)
{
    enum err err = json_as_object(*json, reterr);
    for (size_t i = 0; i < shape->field_count && err == ERR_NONE; i++) {
        if ((shape->fields[i].flags & SHAPE_READ_ONLY) == 0) {
            err = shape_read_field(&shape->fields[i], mode, json, target, reterr);
        }
    }
    return err;
}

enum err shape_read_kept(const struct shape *shape, const struct json *json, void *target,
                         struct error *reterr)
{
    enum err err = json_as_object(*json, reterr);
    for (size_t i = 0; i < shape->field_count && err == ERR_NONE; i++) {
        if ((shape->fields[i].flags & SHAPE_KEPT) != 0) {
            err = shape_read_field(&shape->fields[i], SHAPE_WHOLE, json, target, reterr);
        }
    }
    return err;
}

/* Queries ------------------------------------------------------------------------------------- */

static enum err shape_read_word(const struct shape_reader *reader, struct slice word, void *at)
{
    const struct shape_field *field = reader->field;
    if (field->kind == SHAPE_TEXT) {
        return shape_store_text(reader, word, at);
    }
    if (field->kind == SHAPE_INT) {
        struct shape_int *number = at;
        number->is_given = true;
        if (text_parse_i64(word, &number->value) != ERR_NONE || number->value < field->min ||
            number->value > field->max) {
            return fail(reader->error, ERR_INPUT,
                        "'%s' must be a number from %" PRId64 " to %" PRId64, field->name,
                        field->min, field->max);
        }
        return ERR_NONE;
    }
    struct shape_bool *truth = at;
    truth->is_given = true;
    truth->value = slice_equals(word, SLICE("true"));
    if (!truth->value && !slice_equals(word, SLICE("false"))) {
        return shape_refuse(reader, reader->path, "must be 'true' or 'false'");
    }
    return ERR_NONE;
}

/* All of it decodes, or what does not is named. */
static enum err shape_check_query(struct arena *arena, struct slice text, struct error *reterr)
{
    struct url_query query = url_query_of(text);
    enum err err = ERR_NONE;
    while (err == ERR_NONE) {
        struct slice key = SLICE_NONE;
        struct slice value = SLICE_NONE;
        err = url_query_next(arena, &query, &key, &value);
        if (err == ERR_INPUT) {
            struct slice shown =
                key.at == NULL ? SLICE("the query") : json_path_shown_in(arena, key);
            const char *quote = key.at == NULL ? "" : "'";
            return fail(reterr, ERR_INPUT, "%s%.*s%s is not percent-encoded UTF-8 without NUL",
                        quote, SLICE_ARG(shown), quote);
        }
    }
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

enum err shape_read_query(const struct shape *shape, struct arena *arena, struct slice query,
                          void *target, struct error *reterr)
{
    enum err err = shape_check_query(arena, query, reterr);
    for (size_t i = 0; i < shape->field_count && err == ERR_NONE; i++) {
        const struct shape_field *field = &shape->fields[i];
        struct shape_reader reader = {
            .arena = arena, .field = field, .path = slice_of_text(field->name), .error = reterr};
        struct slice word = SLICE_NONE;
        err = url_query_find(arena, query, reader.path, &word);
        if (err == ERR_NOT_FOUND) {
            err = ERR_NONE;
        } else if (err == ERR_NONE) {
            err = shape_read_word(&reader, word, (char *)target + field->offset);
        }
    }
    return err;
}

static bool shape_has_field(const struct shape *shape, struct slice name)
{
    for (size_t i = 0; i < shape->field_count; i++) {
        if (slice_equals(name, slice_of_text(shape->fields[i].name))) {
            return true;
        }
    }
    return false;
}

enum err shape_check_query_names(const struct shape *shape, struct arena *arena, struct slice query,
                                 struct error *reterr)
{
    struct url_query rest = url_query_of(query);
    struct slice key = SLICE_NONE;
    struct slice value = SLICE_NONE;
    enum err err = ERR_NONE;
    while ((err = url_query_next(arena, &rest, &key, &value)) == ERR_NONE) {
        if (!shape_has_field(shape, key)) {
            return fail(reterr, ERR_INPUT, "'%.*s' is not a parameter of this list",
                        SLICE_ARG(json_path_shown_in(arena, key)));
        }
    }
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

enum err shape_check_uuid(struct slice text, struct error *reterr)
{
    unsigned char bytes[UUID_SIZE];
    if (uuid_parse(text, bytes) != ERR_NONE) {
        return fail(reterr, ERR_INPUT, "must be a UUID");
    }
    return ERR_NONE;
}
