/* SPDX-License-Identifier: MIT */
#include "codec/json.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "base/writer.h"

#include <jansson.h>

#include <inttypes.h>

#define JSON_PATH_SHOWN_SIZE 160
#define JSON_DEEP_LEVELS     3 /* of a path that is too deep to be shown whole */

void json_set_seed(uint32_t seed)
{
    json_object_seed(seed);
    json_set_alloc_funcs(malloc, memory_wipe_free);
}

struct slice json_path_shown_in(struct arena *arena, struct slice path)
{
    bool is_cut = path.len > JSON_PATH_SHOWN_SIZE;
    size_t len = is_cut ? JSON_PATH_SHOWN_SIZE : path.len;
    /* Not within a character, which has three more bytes at most: the text need not be UTF-8. */
    for (int i = 0; i < 3 && is_cut && ((unsigned char)path.at[len] & 0xc0) == 0x80; i++) {
        len--;
    }
    struct buf escaped;
    buf_init(&escaped, JSON_PATH_SHOWN_SIZE * 4);
    struct writer writer = writer_to(&escaped);
    text_show(&writer, slice_sub(path, 0, len));
    must(writer_done(&writer) == ERR_NONE);
    struct slice shown =
        arena_format(arena, "%.*s%s", SLICE_ARG(buf_view(&escaped)), is_cut ? "…" : "");
    buf_release(&escaped);
    return shown;
}

/* Where a document is malformed -----------------------------------------------------------------
 */

struct json_place {
    bool is_array;
    bool wants_name;
    size_t index;
    struct slice name;
};

struct json_places {
    struct json_place stack[LIMIT_JSON_DEPTH + 1];
    size_t depth;
};

static void json_place_open(struct json_places *places, bool is_array)
{
    if (places->depth < COUNT_OF(places->stack)) {
        places->stack[places->depth++] =
            (struct json_place){.is_array = is_array, .wants_name = !is_array};
    }
}

static void json_place_next(struct json_place *place)
{
    place->index++;
    place->wants_name = !place->is_array;
    place->name = SLICE_NONE;
}

/* One byte outside of strings. */
static void json_place_take(struct json_places *places, char byte)
{
    if (byte == '[' || byte == '{') {
        json_place_open(places, byte == '[');
    } else if ((byte == ']' || byte == '}') && places->depth > 0) {
        places->depth--;
    } else if (byte == ',' && places->depth > 0) {
        json_place_next(&places->stack[places->depth - 1]);
    }
}

/* Where the quote is that ends the string which 'text' begins with; text.len when it has no end. */
static size_t json_string_end(struct slice text)
{
    size_t end = 1;
    while (end < text.len && text.at[end] != '"') {
        end += text.at[end] == '\\' ? 2 : 1;
    }
    return end < text.len ? end : text.len;
}

/* A string, which names a member when one is due. Returns where it ends. */
static size_t json_place_string(struct json_places *places, struct slice text)
{
    size_t end = json_string_end(text);
    struct json_place *place = places->depth > 0 ? &places->stack[places->depth - 1] : NULL;
    if (place != NULL && place->wants_name && end < text.len) {
        place->name = slice_sub(text, 1, end - 1);
        place->wants_name = false;
    }
    return end;
}

/* The path of the value that 'text', the start of a document, ends in, or of the container of so
 * many levels. Names are as written. */
static struct slice json_place_in(struct arena *arena, struct slice text, size_t levels)
{
    struct json_places places = {.depth = 0};
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] == '"') {
            i += json_place_string(&places, slice_from(text, i));
        } else {
            json_place_take(&places, text.at[i]);
        }
    }
    struct slice path = SLICE("");
    levels = places.depth < levels ? places.depth : levels;
    for (size_t i = 0; i < levels && path.len <= JSON_PATH_SHOWN_SIZE; i++) {
        const struct json_place *place = &places.stack[i];
        const char *dot = path.len == 0 ? "" : ".";
        if (place->is_array) {
            path = arena_format(arena, "%.*s[%zu]", SLICE_ARG(path), place->index);
        } else if (place->name.at != NULL) {
            path = arena_format(arena, "%.*s%s%.*s", SLICE_ARG(path), dot, SLICE_ARG(place->name));
        }
    }
    return path;
}

/* ", in 'roles[0].name'", or nothing. */
static struct slice json_place_shown(struct arena *arena, struct slice text, size_t levels)
{
    struct slice path = json_path_shown_in(arena, json_place_in(arena, text, levels));
    return path.len == 0 ? path : arena_format(arena, ", in '%.*s'", SLICE_ARG(path));
}

/* Reading ---------------------------------------------------------------------------------------
 */

/* jansson recurses up to its own limit of 2048; ours is looked at before it is let near. */
static enum err json_check_depth(struct arena *arena, struct slice text, struct error *error)
{
    size_t depth = 0;
    bool is_in_string = false;
    for (size_t i = 0; i < text.len; i++) {
        char byte = text.at[i];
        if (byte == '\\' && is_in_string) {
            i++;
        } else if (byte == '"') {
            is_in_string = !is_in_string;
        } else if (is_in_string) {
            continue;
        } else if (byte == '[' || byte == '{') {
            depth++;
        } else if ((byte == ']' || byte == '}') && depth > 0) {
            depth--;
        }
        if (depth > LIMIT_JSON_DEPTH) {
            struct slice place = json_place_shown(arena, slice_sub(text, 0, i), JSON_DEEP_LEVELS);
            return fail(error, ERR_INPUT, "JSON is nested more than %d deep%.*s", LIMIT_JSON_DEPTH,
                        SLICE_ARG(place));
        }
    }
    return ERR_NONE;
}

/* jansson's own text quotes the input, which may hold a secret. */
static const char *json_reason(const json_error_t *problem)
{
    switch (json_error_code(problem)) {
    case json_error_invalid_utf8:
        return "not UTF-8";
    case json_error_premature_end_of_input:
        return "it ends too early";
    case json_error_end_of_input_expected:
        return "something follows the document";
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return "U+0000 is not allowed";
    case json_error_duplicate_key:
        return "a member comes twice";
    case json_error_numeric_overflow:
        return "a number is too large";
    case json_error_stack_overflow:
        return "nested too deep";
    case json_error_unknown:
    case json_error_out_of_memory:
    case json_error_cannot_open_file:
    case json_error_invalid_argument:
    case json_error_invalid_syntax:
    case json_error_invalid_format:
    case json_error_wrong_type:
    case json_error_null_value:
    case json_error_item_not_found:
    case json_error_index_out_of_range:
        break;
    }
    return "syntax error";
}

/* Where the value is that is wrong. A syntax error is found one byte behind it. */
static size_t json_position(const json_error_t *problem)
{
    bool is_syntax = json_error_code(problem) == json_error_invalid_syntax;
    int position = problem->position - (is_syntax ? 1 : 0);
    return position > 0 ? (size_t)position : 0;
}

static void json_end(void *at)
{
    json_decref(at);
}

enum err json_parse_in(struct arena *arena, struct slice text, struct json *ret_document,
                       struct error *error)
{
    enum err err = json_check_depth(arena, text, error);
    if (err != ERR_NONE) {
        return err;
    }
    json_error_t problem = {0};
    json_t *value = json_loadb(text.len == 0 ? "" : text.at, text.len,
                               JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &problem);
    if (value == NULL) {
        struct slice place =
            json_place_shown(arena, slice_sub(text, 0, json_position(&problem)), LIMIT_JSON_DEPTH);
        return fail(error, ERR_INPUT, "malformed JSON at line %d, column %d%.*s: %s", problem.line,
                    problem.column, SLICE_ARG(place), json_reason(&problem));
    }
    arena_on_end(arena, json_end, value);
    *ret_document = (struct json){.arena = arena, .value = value, .path = SLICE("")};
    return ERR_NONE;
}

/* What is found below a value that is not the container it should be. */
static struct json json_misplaced(const struct json *container, const char *wanted)
{
    struct json json = *container;
    if (json.wanted == NULL) {
        json.wanted = wanted;
    }
    return json;
}

/* "path.name", made for every value that is looked at: without the detour over a format. */
static struct json json_named(const struct json *object, struct slice name, json_t *value)
{
    struct slice path = object->path;
    size_t dot = path.len == 0 ? 0 : 1;
    char *text = arena_alloc(object->arena, path.len + dot + name.len);
    memcpy(text, path.at, path.len);
    memcpy(text + path.len, ".", dot);
    memcpy(text + path.len + dot, name.at, name.len);
    return (struct json){
        .arena = object->arena, .value = value, .path = slice_of(text, path.len + dot + name.len)};
}

struct json json_member(const struct json *object, const char *name)
{
    if (object->wanted != NULL || !json_is_object(object->value)) {
        return json_misplaced(object, "an object");
    }
    return json_named(object, slice_of_text(name), json_object_get(object->value, name));
}

struct json json_member_named(const struct json *object, struct slice name)
{
    if (object->wanted != NULL || !json_is_object(object->value)) {
        return json_misplaced(object, "an object");
    }
    return json_named(object, name, json_object_getn(object->value, name.at, name.len));
}

struct json json_item(const struct json *array, size_t index)
{
    if (array->wanted != NULL || !json_is_array(array->value)) {
        return json_misplaced(array, "an array");
    }
    struct json json = {.arena = array->arena, .value = json_array_get(array->value, index)};
    json.path = arena_format(array->arena, "%.*s[%zu]", SLICE_ARG(array->path), index);
    return json;
}

bool json_is_absent(struct json json)
{
    return json.value == NULL && json.wanted == NULL;
}

bool json_is_given(struct json json)
{
    return json.wanted != NULL || (json.value != NULL && !json_is_null(json.value));
}

bool json_is_text(struct json json)
{
    return json.wanted == NULL && json_is_string(json.value);
}

bool json_says_something(struct json json)
{
    const json_t *value = json.value;
    if (value == NULL || json_is_null(value) || json_is_false(value)) {
        return false;
    }
    bool is_nothing = (json_is_string(value) && json_string_length(value) == 0) ||
                      (json_is_array(value) && json_array_size(value) == 0) ||
                      (json_is_object(value) && json_object_size(value) == 0) ||
                      (json_is_number(value) && json_number_value(value) == 0);
    return !is_nothing;
}

bool json_is_same(struct json one, struct json other)
{
    if (!json_is_given(one) || !json_is_given(other)) {
        return json_is_given(one) == json_is_given(other);
    }
    return json_equal(one.value, other.value) == 1;
}

/* With so many digits as the number takes to be read back as the same one. */
struct slice json_as_written(struct json json)
{
    must(json.wanted == NULL && json.value != NULL);
    if (json_is_string(json.value)) {
        return slice_of(json_string_value(json.value), json_string_length(json.value));
    }
    struct slice written = SLICE_NONE;
    bool is_same = false;
    for (unsigned digits = 15; digits <= 17 && !is_same; digits++) {
        char *text = json_dumps(json.value, JSON_COMPACT | JSON_ENCODE_ANY |
                                                JSON_REAL_PRECISION((size_t)digits));
        must(text != NULL);
        written = arena_copy(json.arena, slice_of_text(text));
        json_t *again = json_loads(text, JSON_DECODE_ANY, NULL);
        is_same = again != NULL && json_equal(json.value, again) == 1;
        json_decref(again);
        memory_wipe_free(text);
    }
    return written;
}

static enum err json_refuse(struct json json, const char *wanted, struct error *error)
{
    if (json.wanted != NULL) {
        wanted = json.wanted;
    }
    if (json.path.len == 0) {
        return fail(error, ERR_INPUT, "the document must be %s", wanted);
    }
    struct slice path = json_path_shown_in(json.arena, json.path);
    if (json.value == NULL) {
        return fail(error, ERR_INPUT, "'%.*s' is required", SLICE_ARG(path));
    }
    return fail(error, ERR_INPUT, "'%.*s' must be %s", SLICE_ARG(path), wanted);
}

enum err json_as_text(struct json json, struct slice *ret_text, struct error *error)
{
    if (json.wanted != NULL || !json_is_string(json.value)) {
        return json_refuse(json, "a string", error);
    }
    *ret_text = slice_of(json_string_value(json.value), json_string_length(json.value));
    return ERR_NONE;
}

enum err json_as_int(struct json json, int64_t min, int64_t max, int64_t *ret_value,
                     struct error *error)
{
    if (json.wanted == NULL && json_is_integer(json.value)) {
        int64_t value = json_integer_value(json.value);
        if (value >= min && value <= max) {
            *ret_value = value;
            return ERR_NONE;
        }
    }
    char wanted[96];
    (void)snprintf(wanted, sizeof(wanted), "an integer from %" PRId64 " to %" PRId64, min, max);
    return json_refuse(json, wanted, error);
}

enum err json_as_number(struct json json, double min, double max, double *ret_value,
                        struct error *error)
{
    if (json.wanted == NULL && json_is_number(json.value)) {
        double value = json_number_value(json.value);
        if (value >= min && value <= max) {
            *ret_value = value;
            return ERR_NONE;
        }
    }
    char wanted[96];
    (void)snprintf(wanted, sizeof(wanted), "a number from %.15g to %.15g", min, max);
    return json_refuse(json, wanted, error);
}

enum err json_as_bool(struct json json, bool *ret_value, struct error *error)
{
    if (json.wanted != NULL || !json_is_boolean(json.value)) {
        return json_refuse(json, "true or false", error);
    }
    *ret_value = json_is_true(json.value);
    return ERR_NONE;
}

enum err json_as_object(struct json json, struct error *error)
{
    if (json.wanted != NULL || !json_is_object(json.value)) {
        return json_refuse(json, "an object", error);
    }
    return ERR_NONE;
}

enum err json_as_array(struct json json, size_t *ret_count, struct error *error)
{
    if (json.wanted != NULL || !json_is_array(json.value)) {
        return json_refuse(json, "an array", error);
    }
    *ret_count = json_array_size(json.value);
    return ERR_NONE;
}

struct json_members json_members_of(const struct json *object)
{
    struct json_members members = {.object = *object};
    if (object->wanted == NULL && json_is_object(object->value)) {
        members.next = json_object_iter(object->value);
    }
    return members;
}

bool json_next_member(struct json_members *members, struct slice *ret_name, struct json *ret_value)
{
    void *at = members->next;
    if (at == NULL) {
        return false;
    }
    *ret_name = slice_of(json_object_iter_key(at), json_object_iter_key_len(at));
    *ret_value = json_named(&members->object, *ret_name, json_object_iter_value(at));
    members->next = json_object_iter_next(members->object.value, at);
    return true;
}
