/* SPDX-License-Identifier: MIT */
#include "api/openapi.h"

#include "api/handlers.h"
#include "api/openapi_schema.h"
#include "api/routes.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"

#define OPENAPI_VERSION "1.133.1"
#define API_BASE        "/api"

static bool openapi_shows(const struct api_route *route)
{
    return route->who != API_METRICS && route->who != API_CONTROL && route->who != API_NODE;
}

static bool openapi_is_first_of_path(size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (strcmp(api_route_at(i)->path, api_route_at(index)->path) == 0) {
            return false;
        }
    }
    return true;
}

/* "getResourcesName" of GET /api/resources/{name}. */
static struct slice openapi_operation_id(struct arena *arena, const struct api_route *route)
{
    struct slice method = text_lower_in(arena, slice_of_text(route->method));
    const char *path = route->path + strlen(API_BASE);
    char *id = arena_alloc(arena, method.len + strlen(path) + 1);
    size_t size = 0;
    bool starts_word = false;
    for (size_t i = 0; i < method.len; i++) {
        id[size++] = method.at[i];
    }
    for (; *path != '\0'; path++) {
        bool is_lower = *path >= 'a' && *path <= 'z';
        bool is_letter = is_lower || (*path >= 'A' && *path <= 'Z');
        if (is_letter) {
            id[size++] = starts_word && is_lower ? (char)(*path - 'a' + 'A') : *path;
        }
        starts_word = !is_letter;
    }
    return slice_of(id, size);
}

static void openapi_path_parameters(struct json_writer *json, struct slice path)
{
    while (path.len > 0) {
        struct slice segment = slice_cut(path, '/', &path);
        if (!slice_starts_with(segment, SLICE("{"))) {
            continue;
        }
        json_begin_object(json);
        json_member_text(json, "name", slice_sub(segment, 1, segment.len - 2));
        json_member_text(json, "in", SLICE("path"));
        json_member_bool(json, "required", true);
        json_member_object(json, "schema");
        json_member_text(json, "type", SLICE("string"));
        json_member_int(json, "minLength", 1);
        json_end_object(json);
        json_end_object(json);
    }
}

static void openapi_query_parameters(struct json_writer *json, const struct shape *query)
{
    for (size_t i = 0; query != NULL && i < query->field_count; i++) {
        const struct shape_field *field = &query->fields[i];
        json_begin_object(json);
        json_member_text(json, "name", slice_of_text(field->name));
        json_member_text(json, "in", SLICE("query"));
        if (field->about != NULL) {
            json_member_text(json, "description", slice_of_text(field->about));
        }
        json_key(json, "schema");
        openapi_write_field(json, field, OPENAPI_QUERY);
        json_end_object(json);
    }
}

static void openapi_write_reference(struct json_writer *json, struct slice name)
{
    char text[128];
    int len = snprintf(text, sizeof(text), "#/components/schemas/%.*s", SLICE_ARG(name));
    json_begin_object(json);
    json_member_text(json, "$ref", slice_of(text, (size_t)len));
    json_end_object(json);
}

static enum openapi_side openapi_side_of(const struct api_route *route)
{
    return route->is_partial ? OPENAPI_PATCH : OPENAPI_REQUEST;
}

static void openapi_request(struct json_writer *json, struct arena *arena,
                            const struct api_route *route)
{
    if (route->body == NULL) {
        return;
    }
    json_member_object(json, "requestBody");
    json_member_bool(json, "required", true);
    json_member_object(json, "content");
    json_member_object(json, "application/json");
    if (route->is_list) {
        json_member_object(json, "schema");
        json_member_text(json, "type", SLICE("array"));
        json_key(json, "items");
    } else {
        json_key(json, "schema");
    }
    openapi_write_reference(json, openapi_schema_name(arena, route->body, openapi_side_of(route)));
    if (route->is_list) {
        json_end_object(json);
    }
    json_end_object(json);
    json_end_object(json);
    json_end_object(json);
}

static void openapi_list_schema(struct json_writer *json, struct arena *arena,
                                const struct api_route *route)
{
    json_member_text(json, "type", SLICE("array"));
    json_key(json, "items");
    openapi_write_reference(json, openapi_schema_name(arena, route->shape, OPENAPI_ANSWER));
}

static void openapi_page_schema(struct json_writer *json, struct arena *arena,
                                const struct api_route *route)
{
    json_member_text(json, "type", SLICE("object"));
    json_member_raw(json, "required", SLICE("[\"data\",\"pages\"]"));
    json_member_object(json, "properties");
    json_member_object(json, "data");
    openapi_list_schema(json, arena, route);
    json_end_object(json);
    json_key(json, "pages");
    openapi_write_reference(json, SLICE("Pages"));
    json_end_object(json);
}

/* One of a shape; a request may also have had members that do nothing. */
static void openapi_one_schema(struct json_writer *json, struct arena *arena,
                               const struct api_route *route)
{
    json_begin_object(json);
    json_member_array(json, "allOf");
    openapi_write_reference(json, openapi_schema_name(arena, route->shape, OPENAPI_ANSWER));
    json_end_array(json);
    if (route->body != NULL) {
        json_member_raw(json, "properties",
                        SLICE("{\"warnings\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
                              "\"description\":\"members of the request that do nothing; only when "
                              "there were some\"}}"));
    }
    json_end_object(json);
}

static void openapi_answer_schema(struct json_writer *json, struct arena *arena,
                                  const struct api_route *route)
{
    switch (route->answer) {
    case API_ONE:
        openapi_one_schema(json, arena, route);
        return;
    case API_PAGE:
        json_begin_object(json);
        openapi_page_schema(json, arena, route);
        break;
    case API_ARRAY:
        json_begin_object(json);
        openapi_list_schema(json, arena, route);
        break;
    case API_TEXTS:
        json_begin_object(json);
        json_member_text(json, "type", SLICE("array"));
        json_member_raw(json, "items", SLICE("{\"type\":\"string\"}"));
        break;
    case API_TEXT:
        json_begin_object(json);
        json_member_text(json, "type", SLICE("string"));
        break;
    case API_OBJECT:
    case API_NOTHING:
        json_begin_object(json);
        json_member_text(json, "type", SLICE("object"));
        break;
    }
    json_end_object(json);
}

static void openapi_success(struct json_writer *json, struct arena *arena,
                            const struct api_route *route)
{
    json_begin_object(json);
    json_member_text(json, "description", SLICE("done"));
    if (route->answer != API_NOTHING) {
        json_member_object(json, "content");
        bool is_text = route->answer == API_TEXT;
        bool is_plain = route->handler == metrics_get_for_admin;
        json_member_object(json, is_plain  ? "text/plain"
                                 : is_text ? "application/jsonl"
                                           : "application/json");
        json_key(json, "schema");
        openapi_answer_schema(json, arena, route);
        json_end_object(json);
        json_end_object(json);
    }
    json_end_object(json);
}

static bool openapi_can_answer(const struct api_route *route, int status)
{
    bool is_signed_in = route->who >= API_MEMBER;
    bool takes_input =
        route->body != NULL || route->query != NULL || strchr(route->path, '{') != NULL;
    for (size_t i = 0; i < API_ERRORS_MAX; i++) {
        if (route->errors[i] == status) {
            return true;
        }
    }
    switch (status) {
    case 400:
        return takes_input;
    case 401:
        return is_signed_in;
    case 403:
        return is_signed_in && (route->who > API_MEMBER || strcmp(route->method, "GET") != 0);
    case 413:
        return route->body != NULL;
    default:
        return status == 500 || status == 503;
    }
}

static void openapi_responses(struct json_writer *json, struct arena *arena,
                              const struct api_route *route)
{
    static const int statuses[] = {400, 401, 403, 404, 409, 412, 413, 429, 500, 503};
    json_member_object(json, "responses");
    json_key_text(json, arena_format(arena, "%d", route->status));
    openapi_success(json, arena, route);
    if (route->may_go_on) {
        json_key(json, "202");
        openapi_success(json, arena, route);
    }
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        if (openapi_can_answer(route, statuses[i])) {
            json_key_text(json, arena_format(arena, "%d", statuses[i]));
            json_raw(json, SLICE("{\"$ref\":\"#/components/responses/Error\"}"));
        }
    }
    json_end_object(json);
}

static void openapi_operation(struct json_writer *json, struct arena *arena,
                              const struct api_route *route)
{
    json_key_text(json, text_lower_in(arena, slice_of_text(route->method)));
    json_begin_object(json);
    json_member_text(json, "operationId", openapi_operation_id(arena, route));
    json_member_text(json, "summary", slice_of_text(route->summary));
    json_member_array(json, "tags");
    json_text(json, slice_of_text(route->noun));
    json_end_array(json);
    json_member_raw(json, "security",
                    route->who < API_MEMBER ? SLICE("[]")
                                            : SLICE("[{\"bearer\":[]},{\"apiKey\":[]}]"));
    json_member_array(json, "parameters");
    openapi_path_parameters(json, slice_of_text(route->path));
    openapi_query_parameters(json, route->query);
    json_end_array(json);
    openapi_request(json, arena, route);
    openapi_responses(json, arena, route);
    json_end_object(json);
}

static void openapi_paths(struct json_writer *json, struct arena *arena)
{
    json_member_object(json, "paths");
    for (size_t i = 0; i < api_route_count(); i++) {
        if (!openapi_shows(api_route_at(i)) || !openapi_is_first_of_path(i)) {
            continue;
        }
        json_key(json, api_route_at(i)->path + strlen(API_BASE));
        json_begin_object(json);
        for (size_t other = i; other < api_route_count(); other++) {
            if (strcmp(api_route_at(other)->path, api_route_at(i)->path) == 0) {
                openapi_operation(json, arena, api_route_at(other));
            }
        }
        json_end_object(json);
    }
    json_end_object(json);
}

static void openapi_components(struct json_writer *json, struct arena *arena)
{
    struct openapi_schemas schemas = {.arena = arena};
    for (size_t i = 0; i < api_route_count(); i++) {
        const struct api_route *route = api_route_at(i);
        if (openapi_shows(route)) {
            openapi_schemas_add(&schemas, route->body, openapi_side_of(route));
            openapi_schemas_add(&schemas, route->shape, OPENAPI_ANSWER);
        }
    }
    json_member_object(json, "components");
    json_member_raw(json, "securitySchemes",
                    SLICE("{\"bearer\":{\"type\":\"http\",\"scheme\":\"bearer\"},"
                          "\"apiKey\":{\"type\":\"apiKey\",\"in\":\"header\",\"name\":\"Api-Key\"}"
                          "}"));
    json_member_raw(json, "responses",
                    SLICE("{\"Error\":{\"description\":\"it was not done\",\"content\":{"
                          "\"application/json\":{\"schema\":{\"$ref\":"
                          "\"#/components/schemas/Error\"}}}}}"));
    json_member_object(json, "schemas");
    json_member_raw(json, "Error",
                    SLICE("{\"type\":\"object\",\"required\":[\"message\"],\"properties\":{"
                          "\"message\":{\"type\":\"string\"}}}"));
    json_member_raw(json, "Pages",
                    SLICE("{\"type\":\"object\",\"required\":[\"page\",\"size\",\"total\"],"
                          "\"properties\":{\"page\":{\"type\":\"integer\"},\"size\":{\"type\":"
                          "\"integer\"},\"total\":{\"type\":\"integer\"}}}"));
    openapi_schemas_write(&schemas, json);
    json_end_object(json);
    json_end_object(json);
}

struct slice openapi_make_in(struct arena *arena)
{
    struct api_text text;
    struct json_writer *json = &text.json;
    api_text_begin(&text);
    json_begin_object(json);
    json_member_text(json, "openapi", SLICE("3.1.0"));
    json_member_object(json, "info");
    json_member_text(json, "title", SLICE("Resource Management API"));
    json_member_text(json, "version", SLICE(OPENAPI_VERSION));
    json_member_text(json, "description",
                     SLICE("The access gateway for databases and servers. Every error is "
                           "{\"message\": …}."));
    json_end_object(json);
    json_member_raw(json, "servers", SLICE("[{\"url\":\"" API_BASE "\"}]"));
    openapi_paths(json, arena);
    openapi_components(json, arena);
    json_end_object(json);
    return api_text_end_in(arena, &text);
}

enum err openapi_get(struct api_call *call, struct error *reterr)
{
    (void)reterr;
    call->response->status = 200;
    call->response->content_type = SLICE("application/json");
    call->response->fixed_body = call->api->description;
    return ERR_NONE;
}
