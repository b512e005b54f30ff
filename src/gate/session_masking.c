/* SPDX-License-Identifier: MIT */
#include "gate/session_masking.h"

#define TYPES_MAX (DETECT_TYPE_COUNT + 3)

struct masked_list {
    struct session_masked *items;
    size_t count;
    uint64_t bytes;
};

static void masked_add(struct masked_list *list, const char *name, uint64_t count, uint64_t bytes)
{
    if (count > 0) {
        list->items[list->count++] = (struct session_masked){
            .info_type = slice_of_text(name),
            .redact_count = (int64_t)count,
            .transformed_bytes = (int64_t)bytes,
        };
        list->bytes += bytes;
    }
}

struct session_masking session_masking_in(struct arena *arena, const struct mask_counts *counts)
{
    struct masked_list list = {
        .items = arena_alloc_array(arena, TYPES_MAX, sizeof(struct session_masked))};
    for (int i = 0; i < DETECT_TYPE_COUNT; i++) {
        masked_add(&list, detect_type_word((enum detect_type)i), counts->by_type[i],
                   counts->bytes_by_type[i]);
    }
    masked_add(&list, SESSION_MASKED_COLUMN, counts->columns, counts->column_bytes);
    masked_add(&list, SESSION_MASKED_CUSTOM, counts->custom, counts->custom_bytes);
    if (counts->bytes > list.bytes) {
        masked_add(&list, SESSION_MASKED_UNEXAMINED, counts->errors, counts->bytes - list.bytes);
    }
    return (struct session_masking){
        .is_given = true,
        .types = list.items,
        .type_count = list.count,
        .error_count = (int64_t)counts->errors,
    };
}

uint64_t session_masking_count(const struct mask_counts *counts)
{
    uint64_t count = counts->columns + counts->custom + counts->errors;
    for (size_t i = 0; i < DETECT_TYPE_COUNT; i++) {
        count += counts->by_type[i];
    }
    return count;
}
