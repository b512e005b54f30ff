/* SPDX-License-Identifier: MIT */
#include "client/manifest.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "client/show.h"
#include "codec/base64.h"
#include "codec/url.h"

#include <stdlib.h>

#define PAGE_SIZE 100

const struct manifest_kind manifest_kinds[] = {
    {.word = "group", .path = "/api/users/groups"},
    {.word = "resource",
     .path = "/api/resources",
     .method = "PUT",
     .pairs = "env_vars",
     .is_paged = true,
     .has_agent = true},
    {.word = "connection",
     .path = "/api/connections",
     .method = "PATCH",
     .pairs = "secret",
     .apart = "attributes",
     .is_paged = true,
     .has_agent = true},
    {.word = "access",
     .path = "/api/connections",
     .method = "PUT",
     .behind = "/access",
     .is_paged = true},
    {.word = "attribute", .path = "/api/attributes", .method = "PUT", .is_paged = true},
    {.word = "guardrail", .path = "/api/guardrails", .method = "PUT", .has_connections = true},
    {.word = "masking-rule",
     .path = "/api/datamasking-rules",
     .method = "PUT",
     .is_found_by_id = true,
     .has_connections = true},
    {.word = "access-rule",
     .path = "/api/access-requests/rules",
     .method = "PUT",
     .is_paged = true},
};

const size_t manifest_kind_count = COUNT_OF(manifest_kinds);

/* What is there ------------------------------------------------------------------------------- */

static void manifest_add(struct arena *arena, struct manifest_items *all, const struct json *data,
                         size_t count)
{
    struct json *items = arena_alloc_array(arena, all->count + count, sizeof(*items));
    for (size_t i = 0; i < all->count; i++) {
        items[i] = all->items[i];
    }
    for (size_t i = 0; i < count; i++) {
        items[all->count + i] = json_item(data, i);
    }
    all->items = items;
    all->count += count;
}

static enum err manifest_list_path(struct client_run *run, struct slice path, bool is_paged,
                                   struct manifest_items *ret_all, struct error *reterr)
{
    size_t count = PAGE_SIZE;
    enum err err = ERR_NONE;
    *ret_all = (struct manifest_items){.count = 0};
    for (int64_t page = 1; err == ERR_NONE && count == PAGE_SIZE; page++) {
        struct json answer;
        err = client_get(&run->client,
                         is_paged ? arena_format(run->arena, "%.*s?page=%lld&page_size=%d",
                                                 SLICE_ARG(path), (long long)page, PAGE_SIZE)
                                  : path,
                         &answer, reterr);
        if (err == ERR_NONE) {
            struct json data = is_paged ? json_member(&answer, "data") : answer;
            err = json_as_array(data, &count, reterr);
            manifest_add(run->arena, ret_all, &data, err == ERR_NONE ? count : 0);
        }
        count = is_paged ? count : 0;
    }
    return err;
}

enum err manifest_list(struct client_run *run, const struct manifest_kind *kind,
                       struct manifest_items *ret_all, struct error *reterr)
{
    return manifest_list_path(run, slice_of_text(kind->path), kind->is_paged, ret_all, reterr);
}

enum err manifest_estate_load(struct manifest_estate *estate, struct error *reterr)
{
    enum err err = manifest_list_path(estate->run, SLICE("/api/connections"), true,
                                      &estate->connections, reterr);
    return err == ERR_NONE ? manifest_list_path(estate->run, SLICE("/api/agents"), false,
                                                &estate->agents, reterr)
                           : err;
}

static struct slice manifest_name_of(const struct json *item)
{
    return json_is_text(*item) ? json_as_written(*item) : show_text(item, "name");
}

enum err manifest_find(const struct manifest_items *all, struct slice name, struct json *ret_item,
                       struct error *reterr)
{
    for (size_t i = 0; i < all->count; i++) {
        if (slice_equals(manifest_name_of(&all->items[i]), name)) {
            *ret_item = all->items[i];
            return ERR_NONE;
        }
    }
    return fail(reterr, ERR_NOT_FOUND, "there is no '%.*s'", SLICE_ARG(name));
}

struct slice manifest_path_in(struct arena *arena, const struct manifest_kind *kind,
                              struct slice name, const struct json *current)
{
    struct slice by = kind->is_found_by_id ? show_text(current, "id") : name;
    return arena_format(arena, "%s/%.*s%s", kind->path, SLICE_ARG(url_encode(arena, by)),
                        kind->behind == NULL ? "" : kind->behind);
}

enum err manifest_part(struct client_run *run, const struct manifest_kind *kind, struct slice name,
                       struct json *ret_part, struct error *reterr)
{
    return client_get(&run->client, manifest_path_in(run->arena, kind, name, NULL), ret_part,
                      reterr);
}

/* Pairs --------------------------------------------------------------------------------------- */

bool manifest_is_open_key(struct slice key)
{
    static const char *const open[] = {"HOST", "PORT", "USER", "DB", "SSLMODE"};
    struct slice name = slice_from(key, slice_find_byte(key, ':') + 1);
    bool is_open = false;
    for (size_t i = 0; i < COUNT_OF(open); i++) {
        is_open = is_open || slice_equals(name, slice_of_text(open[i]));
    }
    return is_open && slice_starts_with(key, SLICE("envvar:"));
}

static bool manifest_is_reference(struct slice text)
{
    return text.len > 0 && text.at[0] == '_' && slice_find_byte(text, ':') < text.len;
}

enum err manifest_value_in(struct arena *arena, struct slice key, struct json value,
                           struct slice *ret_value, struct error *reterr)
{
    struct slice text;
    struct json env = json_member(&value, "env");
    if (json_as_text(env, &text, NULL) == ERR_NONE) {
        const char *found = getenv(arena_text(arena, text));
        *ret_value = found == NULL ? SLICE_NONE
                                   : base64_encode_in(arena, BASE64_STANDARD, slice_of_text(found));
        return ERR_NONE;
    }
    if (json_as_object(value, NULL) == ERR_NONE || !json_is_given(value)) {
        return fail(reterr, ERR_INPUT,
                    "must be a text, a reference as '_vaultkv2:…', or {env: VARIABLE}");
    }
    text = json_as_written(value);
    if (manifest_is_reference(text)) {
        *ret_value = text;
        return ERR_NONE;
    }
    if (!manifest_is_open_key(key)) {
        return fail(reterr, ERR_INPUT,
                    "is a secret, which does not stand in a file: write a reference as "
                    "'_vaultkv2:…', or {env: VARIABLE}");
    }
    *ret_value = base64_encode_in(arena, BASE64_STANDARD, text);
    return ERR_NONE;
}

/* ORDERS_RO_PASS, of 'orders-ro' and 'envvar:PASS' */
static struct slice manifest_variable_in(struct arena *arena, struct slice name, struct slice key)
{
    struct slice whole = arena_format(arena, "%.*s_%.*s", SLICE_ARG(name),
                                      SLICE_ARG(slice_from(key, slice_find_byte(key, ':') + 1)));
    char *text = arena_text(arena, whole);
    for (char *at = text; *at != '\0'; at++) {
        bool is_lower = *at >= 'a' && *at <= 'z';
        bool is_kept = (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9');
        *at = is_lower ? (char)(*at - 'a' + 'A') : is_kept ? *at : '_';
    }
    return slice_of_text(text);
}

/* A text that may stand in a file as it is, of a value that the API shows. */
static bool manifest_read_open(struct arena *arena, struct slice key, struct json value,
                               struct slice *ret_text)
{
    struct slice written;
    if (json_as_text(value, &written, NULL) != ERR_NONE) {
        return false;
    }
    if (manifest_is_reference(written)) {
        *ret_text = written;
        return true;
    }
    return manifest_is_open_key(key) &&
           base64_decode_in(arena, BASE64_STANDARD, written, ret_text) == ERR_NONE &&
           text_is_utf8(*ret_text) && !manifest_is_reference(*ret_text);
}

static void manifest_write_pairs(struct arena *arena, struct json_writer *json, struct slice of,
                                 struct json pairs)
{
    struct json_members members = json_members_of(&pairs);
    struct slice key;
    struct json value;
    json_begin_object(json);
    while (json_next_member(&members, &key, &value)) {
        struct slice text;
        json_key_text(json, key);
        if (manifest_read_open(arena, key, value, &text)) {
            json_text(json, text);
        } else {
            json_begin_object(json);
            json_member_text(json, "env", manifest_variable_in(arena, of, key));
            json_end_object(json);
        }
    }
    json_end_object(json);
}

/* As a document ------------------------------------------------------------------------------- */

bool manifest_is_made_by_gateway(const struct manifest_kind *kind, struct slice member)
{
    static const char *const made[] = {"id",
                                       "org_id",
                                       "status",
                                       "secrets_updated_at",
                                       "default_database",
                                       "managed_attributes",
                                       "managed_by",
                                       "rulepack",
                                       "guardrail_rules",
                                       "effective_features",
                                       "mcp_oauth_granted",
                                       "mcp_oauth_warning",
                                       "mcp_oauth_warnings",
                                       "jit_access_duration_sec",
                                       "roles",
                                       "warnings",
                                       "created_at",
                                       "updated_at"};
    bool is_made = kind->apart != NULL && slice_equals(member, slice_of_text(kind->apart));
    for (size_t i = 0; i < COUNT_OF(made); i++) {
        is_made = is_made || slice_equals(member, slice_of_text(made[i]));
    }
    return is_made;
}

struct json manifest_member(const struct json *object, struct slice name)
{
    return json_as_object(*object, NULL) == ERR_NONE
               ? json_member_named(object, name)
               : (struct json){.path = name, .arena = object->arena};
}

void manifest_put(struct json_writer *json, struct json value)
{
    if (!json_is_given(value)) {
        json_no_value(json);
    } else if (json_is_text(value)) {
        json_text(json, json_as_written(value));
    } else {
        json_raw(json, json_as_written(value));
    }
}

/* The name of what has this id; the id where there is none. */
static struct slice manifest_name_by_id(const struct manifest_items *all, struct slice id)
{
    for (size_t i = 0; i < all->count; i++) {
        if (slice_equals(show_text(&all->items[i], "id"), id)) {
            return show_text(&all->items[i], "name");
        }
    }
    return id;
}

static void manifest_write_connections(const struct manifest_estate *estate,
                                       struct json_writer *json, struct json ids)
{
    size_t count = 0;
    json_member_array(json, "connections");
    if (json_as_array(ids, &count, NULL) == ERR_NONE) {
        for (size_t i = 0; i < count; i++) {
            json_text(json, manifest_name_by_id(&estate->connections,
                                                json_as_written(json_item(&ids, i))));
        }
    }
    json_end_array(json);
}

static void manifest_write_member(const struct manifest_estate *estate,
                                  const struct manifest_kind *kind, struct json_writer *json,
                                  struct slice name, struct json value)
{
    if (kind->has_agent && slice_equals(name, SLICE("agent_id"))) {
        json_member_text(json, "agent",
                         manifest_name_by_id(&estate->agents, json_as_written(value)));
    } else if (kind->has_connections && slice_equals(name, SLICE("connection_ids"))) {
        manifest_write_connections(estate, json, value);
    } else {
        json_key_text(json, name);
        manifest_put(json, value);
    }
}

struct json manifest_of_in(const struct manifest_estate *estate, const struct manifest_kind *kind,
                           struct slice name, const struct json *current)
{
    struct arena *arena = estate->run->arena;
    struct json_members members = json_members_of(current);
    struct slice member;
    struct json value;
    struct buf buf;
    buf_init(&buf, LIMIT_CLIENT_ANSWER_SIZE);
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_text(&json, "kind", slice_of_text(kind->word));
    json_member_text(&json, "name", name);
    while (json_next_member(&members, &member, &value)) {
        if (slice_equals(member, SLICE("name")) || !json_says_something(value) ||
            manifest_is_made_by_gateway(kind, member)) {
            continue;
        }
        if (kind->pairs != NULL && slice_equals(member, slice_of_text(kind->pairs))) {
            json_key_text(&json, member);
            manifest_write_pairs(arena, &json, name, value);
        } else {
            manifest_write_member(estate, kind, &json, member, value);
        }
    }
    json_end_object(&json);
    struct json made = {.path = SLICE(""), .arena = arena};
    must(json_writer_done(&json) == ERR_NONE &&
         json_parse_in(arena, buf_view(&buf), &made, NULL) == ERR_NONE);
    buf_wipe(&buf);
    return made;
}
