/* SPDX-License-Identifier: MIT */
#include "gate/catalog_changes.h"

#include "io/clock.h"

/* Names that meet in one place only make more asked than must be. */
static size_t changes_index(struct slice database)
{
    size_t sum = 5381;
    for (size_t i = 0; i < database.len; i++) {
        sum = sum * 33 + (unsigned char)database.at[i];
    }
    return sum % LIMIT_GATE_CHANGES;
}

struct catalog_stamp catalog_changes_stamp(struct catalog_changes *changes, struct slice database)
{
    size_t index = changes_index(database);
    struct catalog_stamp stamp = {.at_us = clock_monotonic()};
    /* The ends first: so none seems to be over early. */
    stamp.ended = atomic_load(&changes->of[index].ended[CATALOG_MASKED]);
    stamp.begun = atomic_load(&changes->of[index].begun[CATALOG_MASKED]);
    stamp.names_ended = atomic_load(&changes->of[index].ended[CATALOG_NAMES]);
    stamp.names_begun = atomic_load(&changes->of[index].begun[CATALOG_NAMES]);
    return stamp;
}

void catalog_changes_note(struct catalog_changes *changes, struct slice database,
                          enum catalog_change what, bool is_over)
{
    size_t index = changes_index(database);
    (void)atomic_fetch_add(
        is_over ? &changes->of[index].ended[what] : &changes->of[index].begun[what], 1);
}
