/* SPDX-License-Identifier: MIT */
/* A query, read by a shape: what is taken holds the bounds of its field and stays the same with
 * unknown names around it; what is refused says why. */
#include "fuzz.h"

#include "base/must.h"
#include "base/text.h"
#include "codec/shape.h"
#include "model/name.h"

struct search {
    struct slice name;
    struct slice order;
    struct slice id;
    struct shape_int limit;
    struct shape_int level;
    struct shape_bool all;
};

#define FIELD(member, of_kind)                                                                     \
    .name = #member, .kind = SHAPE_##of_kind, .offset = offsetof(struct search, member)

static const char *const orders[] = {"asc", "desc", NULL};

static const struct shape_field search_fields[] = {
    {FIELD(name, TEXT), .max = 8, .check = line_check},
    {FIELD(order, TEXT), .choices = orders},
    {FIELD(id, TEXT), .min = 36, .max = 36, .check = shape_check_uuid},
    {FIELD(limit, INT), .min = 1, .max = 100},
    {FIELD(level, INT), .min = INT64_MIN, .max = INT64_MAX},
    {FIELD(all, BOOL)},
};

static const struct shape search_shape = {
    .name = "Search", .size = sizeof(struct search), SHAPE_FIELDS(search_fields)};

static void check_bounds(const struct search *search)
{
    must(text_is_utf8(search->name) && slice_find_byte(search->name, '\0') == search->name.len);
    must(search->name.len <= 4 * 8 && line_check(search->name, NULL) == ERR_NONE);
    must(search->order.len == 0 || slice_equals(search->order, SLICE("asc")) ||
         slice_equals(search->order, SLICE("desc")));
    must(search->id.len == 0 || search->id.len == 36);
    must(!search->limit.is_given || (search->limit.value >= 1 && search->limit.value <= 100));
    must(search->all.is_given || !search->all.value);
}

static void check_same(const struct search *a, const struct search *b)
{
    must(slice_equals(a->name, b->name) && slice_equals(a->order, b->order));
    must(slice_equals(a->id, b->id));
    must(a->limit.is_given == b->limit.is_given && a->limit.value == b->limit.value);
    must(a->level.is_given == b->level.is_given && a->level.value == b->level.value);
    must(a->all.is_given == b->all.is_given && a->all.value == b->all.value);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice query = slice_of(bytes, size);
    struct arena arena;
    struct error error = {0};
    struct search search = {0};
    struct search padded = {0};
    arena_init(&arena);
    enum err err = shape_read_query(&search_shape, &arena, query, &search, &error);
    must(err == ERR_NONE || (err == ERR_INPUT && error.message[0] != '\0'));
    struct slice longer = arena_format(&arena, "unknown=%%41&&%.*s&NAME=x&other", SLICE_ARG(query));
    if (slice_find_byte(query, '\0') == query.len) { /* which ends what arena_format writes */
        must(shape_read_query(&search_shape, &arena, longer, &padded, NULL) == err);
    }
    if (err == ERR_NONE) {
        check_bounds(&search);
    }
    if (err == ERR_NONE && slice_find_byte(query, '\0') == query.len) {
        check_same(&search, &padded);
    }
    arena_release(&arena);
    return 0;
}
