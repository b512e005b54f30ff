/* SPDX-License-Identifier: MIT */
#include "client/contexts.h"

#include "base/limits.h"
#include "base/must.h"
#include "codec/shape.h"
#include "codec/url.h"

struct contexts_document {
    struct slice current;
    struct shape_objects contexts;
};

static enum err contexts_check_name(struct slice text, struct error *reterr)
{
    bool is_good = text.len > 0 && text.len <= CLIENT_CONTEXT_NAME_MAX && text.at[0] != '.' &&
                   text.at[0] != '-';
    for (size_t i = 0; i < text.len && is_good; i++) {
        char at = text.at[i];
        is_good = (at >= 'a' && at <= 'z') || (at >= 'A' && at <= 'Z') ||
                  (at >= '0' && at <= '9') || at == '.' || at == '-' || at == '_';
    }
    return is_good ? ERR_NONE
                   : fail(reterr, ERR_INPUT,
                          "must be 1 to %d letters, digits, '.', '-' or '_', and begin with a "
                          "letter or a digit",
                          CLIENT_CONTEXT_NAME_MAX);
}

static bool contexts_is_this_machine(struct slice host)
{
    return slice_equals_nocase(host, SLICE("localhost")) || slice_equals(host, SLICE("::1")) ||
           slice_starts_with(host, SLICE("127."));
}

static enum err contexts_check_url(struct slice text, struct error *reterr)
{
    struct url url = {0};
    if (url_parse(text, &url, NULL) != ERR_NONE ||
        !(slice_equals_nocase(url.scheme, SLICE("https")) ||
          slice_equals_nocase(url.scheme, SLICE("http"))) ||
        url.has_user || url.query.at != NULL || url.fragment.at != NULL) {
        return fail(reterr, ERR_INPUT, "must be an address like https://gatehouse.example.com");
    }
    return slice_equals_nocase(url.scheme, SLICE("https")) || contexts_is_this_machine(url.host)
               ? ERR_NONE
               : fail(reterr, ERR_INPUT,
                      "must begin with https: your token goes there, and http is for this machine "
                      "alone");
}

#define AT(member) .offset = offsetof(struct client_context, member)

static const struct shape_field context_fields[] = {
    {.name = "name",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(name),
     .min = 1,
     .max = CLIENT_CONTEXT_NAME_MAX,
     .check = contexts_check_name},
    {.name = "url",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(url),
     .min = 1,
     .max = 1024,
     .check = contexts_check_url},
    {.name = "ca_file", .kind = SHAPE_TEXT, .flags = SHAPE_OMITTED, AT(ca_file), .max = 4096},
};

static const struct shape context_shape = {
    .name = "Context", .size = sizeof(struct client_context), SHAPE_FIELDS(context_fields)};

#undef AT
#define AT(member) .offset = offsetof(struct contexts_document, member)

static const struct shape_field contexts_fields[] = {
    {.name = "current",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_OMITTED,
     AT(current),
     .max = CLIENT_CONTEXT_NAME_MAX},
    {.name = "contexts",
     .kind = SHAPE_OBJECTS,
     .flags = SHAPE_REQUIRED,
     AT(contexts),
     .max = LIMIT_CLIENT_CONTEXTS,
     .object = &context_shape},
};

static const struct shape contexts_shape = {
    .name = "Contexts", .size = sizeof(struct contexts_document), SHAPE_FIELDS(contexts_fields)};

static enum err contexts_check_names(const struct client_contexts *contexts, struct error *reterr)
{
    for (size_t i = 0; i < contexts->count; i++) {
        if (client_contexts_find(contexts, contexts->items[i].name) != &contexts->items[i]) {
            return fail(reterr, ERR_INPUT, "two contexts are called '%.*s'",
                        SLICE_ARG(contexts->items[i].name));
        }
    }
    return ERR_NONE;
}

enum err client_contexts_parse_in(struct arena *arena, struct slice text,
                                  struct client_contexts *ret_contexts, struct error *reterr)
{
    struct contexts_document document = {0};
    struct shape_texts warnings = {0};
    const struct shape_idles idles = {0};
    struct json json;
    if (slice_trim(text, " \r\n\t").len == 0) {
        *ret_contexts = (struct client_contexts){.current = SLICE("")};
        return ERR_NONE;
    }
    enum err err = json_parse_in(arena, text, &json, reterr);
    if (err == ERR_NONE) {
        err = json_as_object(json, reterr);
    }
    if (err == ERR_NONE) {
        err = shape_check_members(&contexts_shape, &json, &idles, &warnings, reterr);
    }
    if (err == ERR_NONE) {
        err = shape_read(&contexts_shape, SHAPE_WHOLE, &json, &document, reterr);
    }
    const struct client_contexts contexts = {
        .current = document.current.at == NULL ? SLICE("") : document.current,
        .items = document.contexts.items,
        .count = document.contexts.count,
    };
    if (err == ERR_NONE) {
        err = contexts_check_names(&contexts, reterr);
    }
    if (err == ERR_NONE) {
        *ret_contexts = contexts;
    }
    return err;
}

struct slice client_contexts_write_in(struct arena *arena, const struct client_contexts *contexts)
{
    const struct contexts_document document = {
        .current = contexts->current.len == 0 ? SLICE_NONE : contexts->current,
        .contexts = {.items = contexts->items, .count = contexts->count, .is_given = true},
    };
    struct buf buf;
    buf_init(&buf, LIMIT_CLIENT_FILE_SIZE * 8);
    struct json_writer json = json_writer_to(&buf);
    shape_write(&contexts_shape, &document, &json);
    must(json_writer_done(&json) == ERR_NONE);
    struct slice text = arena_copy(arena, buf_view(&buf));
    buf_release(&buf);
    return text;
}

const struct client_context *client_contexts_find(const struct client_contexts *contexts,
                                                  struct slice name)
{
    for (size_t i = 0; i < contexts->count; i++) {
        if (slice_equals(contexts->items[i].name, name)) {
            return &contexts->items[i];
        }
    }
    return NULL;
}

enum err client_contexts_put(struct arena *arena, struct client_contexts *contexts,
                             const struct client_context *context, struct error *reterr)
{
    struct client_context *items =
        arena_alloc_array(arena, contexts->count + 1, sizeof(*contexts->items));
    size_t at = contexts->count;
    for (size_t i = 0; i < contexts->count; i++) {
        items[i] = contexts->items[i];
        at = slice_equals(items[i].name, context->name) ? i : at;
    }
    if (at == LIMIT_CLIENT_CONTEXTS) {
        return fail(reterr, ERR_LIMIT, "there are %d contexts, the most that there can be",
                    LIMIT_CLIENT_CONTEXTS);
    }
    items[at] = *context;
    contexts->items = items;
    contexts->count += at == contexts->count ? 1 : 0;
    contexts->current = context->name;
    return ERR_NONE;
}

enum err client_context_check_name(struct slice name, struct error *reterr)
{
    enum err err = contexts_check_name(name, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, "the name of a context ");
    }
    return err;
}

enum err client_context_check_url(struct slice url, struct error *reterr)
{
    enum err err = contexts_check_url(url, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, "the gateway's address ");
    }
    return err;
}
