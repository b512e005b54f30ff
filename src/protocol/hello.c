/* SPDX-License-Identifier: MIT */
#include "protocol/hello.h"

#include "model/session.h"

struct shape_pairs hello_metadata_in(struct arena *arena)
{
    return (struct shape_pairs){
        .pairs = arena_alloc_array(arena, SESSION_METADATA_COUNT + 1, sizeof(struct shape_pair))};
}

void hello_metadata_put(struct shape_pairs *given, struct slice name, struct slice value)
{
    size_t at = 0;
    while (at < given->count && !slice_equals(given->pairs[at].key, name)) {
        at++;
    }
    if (at <= SESSION_METADATA_COUNT) {
        given->count = at < given->count ? given->count : at + 1;
        given->pairs[at] = (struct shape_pair){.key = name, .value = value};
    }
}

/* A name may have a ';' for other reasons. */
struct slice hello_application_read(struct slice text, struct shape_pairs *given)
{
    struct slice rest = SLICE_NONE;
    struct slice name = slice_cut(text, ';', &rest);
    struct slice pairs = rest;
    struct slice value = SLICE_NONE;
    while (rest.len > 0) {
        struct slice key = slice_cut(slice_cut(rest, ';', &rest), '=', &value);
        if (value.at == NULL || slice_trim(key, " ").len == 0) {
            return text;
        }
    }
    while (pairs.len > 0) {
        struct slice key = slice_cut(slice_cut(pairs, ';', &pairs), '=', &value);
        hello_metadata_put(given, slice_trim(key, " "), slice_trim(value, " "));
    }
    return slice_trim(name, " ");
}
