/* SPDX-License-Identifier: MIT */
#include "store/rows.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "base/writer.h"

#include <string.h>

struct slice rows_text_in(struct arena *arena, const struct store_rows *rows, int column)
{
    if (store_rows_is_null(rows, column)) {
        return SLICE("");
    }
    return arena_copy(arena, store_rows_view(rows, column));
}

void *rows_list_add(struct rows_list *list)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 8 : list->capacity * 2;
        void *items = arena_alloc_array(list->arena, capacity, list->item_size);
        if (list->count > 0) {
            (void)memcpy(items, list->items, list->count * list->item_size);
        }
        list->items = items;
        list->capacity = capacity;
    }
    return (char *)list->items + list->count++ * list->item_size;
}

enum err rows_list_names(struct store_tx *tx, const struct rows_list *list,
                         const struct rows_names *at, const char *sql, struct store_params params,
                         struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct rows_list names = {.arena = list->arena, .item_size = sizeof(struct slice)};
    char *item = list->items;
    size_t left = list->count;
    enum err err = store_query(tx, sql, params, &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        while (left > 0 && !slice_equals(*(const struct slice *)(void *)(item + at->id_offset),
                                         store_rows_view(&rows, 0))) {
            names = (struct rows_list){.arena = list->arena, .item_size = sizeof(struct slice)};
            item += list->item_size;
            left--;
        }
        must(left > 0); /* the list was read in the same transaction */
        struct slice *name = rows_list_add(&names);
        *name = rows_text_in(list->arena, &rows, 1);
        *(struct shape_texts *)(void *)(item + at->names_offset) =
            (struct shape_texts){.items = names.items, .count = names.count, .is_given = true};
    }
    return rows_end(err);
}

enum err rows_number(struct store_tx *tx, const char *sql, struct store_params params,
                     int64_t *ret_number, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(tx, sql, params, &rows, reterr);
    *ret_number = err == ERR_NONE ? store_rows_int(&rows, 0) : 0;
    return rows_end(err);
}

enum err rows_list_size(struct store_tx *tx, const char *sql, struct page_list *list,
                        int64_t *ret_total, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    *ret_total = 0;
    enum err err =
        store_query_one(tx, sql, PARAMS(store_text(list->organization_id)), &rows, reterr);
    if (err == ERR_NONE) {
        *ret_total = store_rows_int(&rows, 0);
        list->generation = store_rows_int(&rows, 1);
    }
    return rows_end(err);
}

enum err rows_end(enum err err)
{
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

struct rows_pairs {
    struct shape_pairs pairs;
};

static const struct shape_field rows_pairs_fields[] = {
    {.name = "pairs",
     .kind = SHAPE_PAIRS,
     .flags = SHAPE_KEPT | SHAPE_REQUIRED | SHAPE_NULL_ITEMS,
     .offset = offsetof(struct rows_pairs, pairs),
     .max = INT32_MAX,
     .key_max = 0,
     .item_max = 0},
};

static const struct shape rows_pairs_shape = {
    .name = "Pairs", .size = sizeof(struct rows_pairs), SHAPE_FIELDS(rows_pairs_fields)};

struct slice rows_pairs_text_in(struct arena *arena, const struct shape_pairs *pairs)
{
    struct buf buf;
    buf_init(&buf, LIMIT_HTTP_ANSWER_SIZE);
    struct json_writer json = json_writer_to(&buf);
    shape_write_pairs(pairs, &json);
    must(json_writer_done(&json) == ERR_NONE);
    struct slice text = arena_copy(arena, buf_view(&buf));
    explicit_bzero((char *)(uintptr_t)buf_view(&buf).at, buf_view(&buf).len);
    buf_release(&buf);
    return text;
}

enum err rows_pairs_parse_in(struct arena *arena, struct slice text, struct shape_pairs *ret_pairs,
                             struct error *reterr)
{
    struct json document;
    struct rows_pairs target = {0};
    enum err err = json_parse_in(arena, arena_format(arena, "{\"pairs\":%.*s}", SLICE_ARG(text)),
                                 &document, reterr);
    if (err == ERR_NONE) {
        err = shape_read_kept(&rows_pairs_shape, &document, &target, reterr);
    }
    if (err == ERR_NONE) {
        *ret_pairs = target.pairs;
    }
    return err;
}

struct slice rows_like_in(struct arena *arena, struct slice text)
{
    if (text.len == 0) {
        return SLICE("");
    }
    struct slice lower = text_lower_in(arena, text);
    char *pattern = arena_alloc(arena, lower.len * 2 + 2);
    size_t size = 0;
    pattern[size++] = '%';
    for (size_t i = 0; i < lower.len; i++) {
        char byte = lower.at[i];
        if (byte == '%' || byte == '_' || byte == '\\') {
            pattern[size++] = '\\';
        }
        pattern[size++] = byte;
    }
    pattern[size++] = '%';
    return slice_of(pattern, size);
}

struct rows_page rows_page_of(int64_t total, int64_t limit, int64_t offset,
                              const struct page_hint *hint)
{
    struct rows_page page = {
        .limit = limit, .offset = offset - hint->position, .start = hint->name};
    if (offset < total && total - offset < page.offset) {
        page.is_backward = true;
        page.limit = limit < total - offset ? limit : total - offset;
        page.offset = total - offset - page.limit;
    }
    return page;
}

struct store_value rows_sight(const struct visibility *visibility)
{
    return store_int(visibility->sees_all ? 1 : visibility->sees_unruled ? 2 : 0);
}
