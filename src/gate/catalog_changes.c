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

/* What one's rules are not about, another's may be. Whoever changes something is seen here, as
 * long as somebody with other rules has been here before. */
static int64_t changes_others_at(struct catalog_changes *changes, size_t index, uint64_t rules_id,
                                 int64_t now)
{
    if (rules_id != 0) {
        uint64_t before = atomic_exchange(&changes->of[index].rules_id, rules_id);
        if (before != 0 && before != rules_id) {
            atomic_store(&changes->of[index].others_at, now);
        }
    }
    return atomic_load(&changes->of[index].others_at);
}

struct catalog_stamp catalog_changes_stamp(struct catalog_changes *changes, struct slice database,
                                           uint64_t rules_id)
{
    size_t index = changes_index(database);
    int64_t now = clock_monotonic();
    struct catalog_stamp stamp = {
        .at_us = now,
        .others_at_us = changes_others_at(changes, index, rules_id, now),
    };
    /* The ends first: so none seems to be over early. */
    stamp.ended = atomic_load(&changes->of[index].ended[CATALOG_MASKED]);
    stamp.begun = atomic_load(&changes->of[index].begun[CATALOG_MASKED]);
    stamp.names_ended = atomic_load(&changes->of[index].ended[CATALOG_NAMES]);
    stamp.names_begun = atomic_load(&changes->of[index].begun[CATALOG_NAMES]);
    stamp.defined_ended = atomic_load(&changes->of[index].ended[CATALOG_DEFINED]);
    stamp.defined_begun = atomic_load(&changes->of[index].begun[CATALOG_DEFINED]);
    stamp.checked_ended = atomic_load(&changes->of[index].ended[CATALOG_CHECKED]);
    stamp.checked_begun = atomic_load(&changes->of[index].begun[CATALOG_CHECKED]);
    stamp.begun_at_check = atomic_load(&changes->of[index].begun_at_check);
    return stamp;
}

/* Whoever reads 'begun_at_check' before it is set here sees that of the one before, which is not
 * more: if it is what it ought to be, nothing began meanwhile. */
bool catalog_changes_check(struct catalog_changes *changes, struct slice database,
                           const struct catalog_stamp *known)
{
    size_t index = changes_index(database);
    uint64_t before = known->checked_begun;
    if (known->checked_ended != before ||
        !atomic_compare_exchange_strong(&changes->of[index].begun[CATALOG_CHECKED], &before,
                                        before + 1)) {
        return false;
    }
    atomic_store(&changes->of[index].begun_at_check, known->begun);
    return true;
}

void catalog_changes_note(struct catalog_changes *changes, struct slice database,
                          enum catalog_change what, bool is_over)
{
    size_t index = changes_index(database);
    (void)atomic_fetch_add(
        is_over ? &changes->of[index].ended[what] : &changes->of[index].begun[what], 1);
}
