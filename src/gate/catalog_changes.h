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
    } of[LIMIT_GATE_CHANGES];
};

struct catalog_stamp catalog_changes_stamp(struct catalog_changes *changes, struct slice database);
void catalog_changes_note(struct catalog_changes *changes, struct slice database,
                          enum catalog_change what, bool is_over);

#endif
