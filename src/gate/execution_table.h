/* SPDX-License-Identifier: MIT */
/* The executions of this process whose answers come in pages, by the ids of their sessions: how a
 * later request finds them, from whichever thread it comes. */
#ifndef GH_GATE_EXECUTION_TABLE_H
#define GH_GATE_EXECUTION_TABLE_H

#include "base/list.h"
#include "base/slice.h"

#include <stdbool.h>

struct execution_table;
struct execution;

/* Of an execution; the texts are borrowed for as long as it is in the table. */
struct execution_entry {
    struct list link;
    struct execution *execution;
    struct slice id;
    struct slice organization_id;
    struct slice member_id; /* whose it is */
};

struct execution_table *execution_table_new(void);
void execution_table_free(struct execution_table *table);

void execution_table_add(struct execution_table *table, struct execution_entry *entry);
/* Does nothing when it is not there. */
void execution_table_remove(struct execution_table *table, struct execution_entry *entry);
/* One more reference to it; NULL: nobody's, or somebody else's. */
struct execution *execution_table_find_ref(struct execution_table *table,
                                           const struct execution_entry *wanted);

#endif
