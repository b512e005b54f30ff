/* SPDX-License-Identifier: MIT */
/* How many changes of catalogs sessions of this gateway have begun and ended, counted by the name
 * of the database: the same one may be reached by several ways. From any thread. */
#ifndef GH_GATE_CATALOG_CHANGES_H
#define GH_GATE_CATALOG_CHANGES_H

#include "base/limits.h"
#include "protocol/passage.h"

#include <stdatomic.h>

struct catalog_changes {
    struct {
        _Atomic uint64_t begun[CATALOG_CHANGES];
        _Atomic uint64_t ended[CATALOG_CHANGES];
        _Atomic uint64_t begun_at_check;
        _Atomic uint64_t rules_id; /* of who was here last; 0: nobody */
        _Atomic int64_t others_at; /* when somebody with others came; 0: never */
    } of[LIMIT_GATE_CHANGES];
};

/* 'rules_id': of the rules for columns of who asks (mask_rules_columns_id); 0: has none. */
struct catalog_stamp catalog_changes_stamp(struct catalog_changes *changes, struct slice database,
                                           uint64_t rules_id);
/* Begins a checked change; false: another change began since 'known', or one is under way. */
bool catalog_changes_check(struct catalog_changes *changes, struct slice database,
                           const struct catalog_stamp *known);
void catalog_changes_note(struct catalog_changes *changes, struct slice database,
                          enum catalog_change what, bool is_over);

#endif
