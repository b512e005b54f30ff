/* SPDX-License-Identifier: MIT */
#include "codec/json.h"

#include <jansson.h>

struct json {
    json_t *value;
};

static void json_end_document(void *at)
{
    json_decref(at);
}

enum err json_parse(struct arena *arena, struct slice text, struct json **ret_json,
                    struct error *reterr)
{
    json_error_t problem;
    if (text.len == 0) {
        return fail(reterr, ERR_INPUT, "the body is empty, JSON is expected");
    }
    json_t *value = json_loadb(text.at, text.len, JSON_REJECT_DUPLICATES, &problem);
    if (value == NULL) {
        return fail(reterr, ERR_INPUT, "the body is not valid JSON: line %d, column %d: %s",
                    problem.line, problem.column, problem.text);
    }
    arena_on_end(arena, json_end_document, value);
    *ret_json = arena_alloc(arena, sizeof(**ret_json));
    (*ret_json)->value = value;
    return ERR_NONE;
}

enum err json_get_text(const struct json *json, const char *member, struct slice *ret_text,
                       struct error *reterr)
{
    if (!json_is_object(json->value)) {
        return fail(reterr, ERR_INPUT, "the body must be a JSON object");
    }
    const json_t *value = json_object_get(json->value, member);
    if (value == NULL) {
        return fail(reterr, ERR_INPUT, "'%s' is missing", member);
    }
    if (!json_is_string(value)) {
        return fail(reterr, ERR_INPUT, "'%s' must be a string", member);
    }
    *ret_text = slice_of(json_string_value(value), json_string_length(value));
    return ERR_NONE;
}
