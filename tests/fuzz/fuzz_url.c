/* SPDX-License-Identifier: MIT */
/* Escapes go both ways, the parts of a URL are views of it in their order, and a query ends. */
#include "fuzz.h"

#include "base/must.h"
#include "base/text.h"
#include "codec/url.h"

static void check_escapes(struct arena *arena, struct slice input)
{
    struct slice decoded;
    struct slice again;
    if (url_decode(arena, input, &decoded) == ERR_NONE) {
        must(text_is_utf8(decoded) && decoded.len <= input.len);
        must(url_decode(arena, url_encode(arena, decoded), &again) == ERR_NONE);
        must(slice_equals(again, decoded));
    }
    bool is_clean = text_is_utf8(input) && slice_find_byte(input, '\0') == input.len;
    enum err err = url_decode(arena, url_encode(arena, input), &again);
    must((err == ERR_NONE) == is_clean && (!is_clean || slice_equals(again, input)));
}

static void check_query(struct arena *arena, struct slice input)
{
    struct url_query query = url_query_of(input);
    size_t count = 0;
    struct slice key = SLICE_NONE;
    struct slice value = SLICE_NONE;
    if (url_query_next(arena, &query, &key, &value) == ERR_NONE) {
        struct slice found;
        must(url_query_find(arena, input, key, &found) == ERR_NONE);
        must(slice_equals(found, value));
    }
    while (url_query_next(arena, &query, &key, &value) == ERR_NONE) {
        must(text_is_utf8(key) && text_is_utf8(value));
        must(++count <= input.len);
    }
}

/* Returns where the part ends. */
static const char *check_part(struct slice part, struct slice whole, const char *behind)
{
    if (part.len == 0) {
        return behind;
    }
    must(part.at >= behind && part.at + part.len <= whole.at + whole.len);
    return part.at + part.len;
}

static void check_url(struct arena *arena, struct slice input)
{
    struct url url;
    struct error error;
    if (url_parse(input, &url, &error) != ERR_NONE) {
        must(memchr(error.message, '\0', sizeof(error.message)) != NULL);
        return;
    }
    const char *behind = check_part(url.scheme, input, input.at);
    behind = check_part(url.user, input, behind);
    behind = check_part(url.password, input, behind);
    behind = check_part(url.host, input, behind);
    behind = check_part(url.path, input, behind);
    behind = check_part(url.query, input, behind);
    (void)check_part(url.fragment, input, behind);
    must(url.port > 0 && (url.path.len == 0 || url.path.at[0] == '/'));
    check_query(arena, url.query);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice input = slice_of(bytes, size);
    struct arena arena;
    arena_init(&arena);
    check_escapes(&arena, input);
    check_query(&arena, input);
    check_url(&arena, input);
    arena_release(&arena);
    return 0;
}
