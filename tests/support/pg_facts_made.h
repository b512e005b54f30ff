/* SPDX-License-Identifier: MIT */
/* Facts of a catalog for tests, out of rows as a server would give them; and somebody who knows
 * them at once. */
#ifndef GH_TESTS_PG_FACTS_MADE_H
#define GH_TESTS_PG_FACTS_MADE_H

#include "base/memory.h"
#include "protocol/passage.h"
#include "protocol/postgres/pg_facts.h"

typedef const char *pg_facts_made_row[PG_FACTS_COLUMNS];

static inline struct pg_facts *pg_facts_made(struct mask_rules *rules,
                                             const pg_facts_made_row *rows, size_t count)
{
    struct query_row *made = memory_new_array(count + 1, sizeof(*made));
    struct slice *values = memory_new_array(count * PG_FACTS_COLUMNS + 1, sizeof(*values));
    const struct query_rows all = {.first = count > 0 ? made : NULL, .count = count};
    for (size_t i = 0; i < count; i++) {
        made[i].values = &values[i * PG_FACTS_COLUMNS];
        made[i].next = i + 1 < count ? &made[i + 1] : NULL;
        for (size_t k = 0; k < PG_FACTS_COLUMNS; k++) {
            made[i].values[k] = rows[i][k] == NULL ? SLICE_NONE : slice_of_text(rows[i][k]);
        }
    }
    struct pg_facts *facts = pg_facts_new(rules, &all);
    memory_free(values);
    memory_free(made);
    return facts;
}

/* For settings whose owner is the facts. */
static inline bool pg_facts_made_known(void *owner, struct catalog_known *ret_known)
{
    *ret_known = (struct catalog_known){.facts = owner, .stamp = {.at_us = 1}};
    return true;
}

static inline struct catalog_stamp pg_facts_made_stamp(void *owner)
{
    (void)owner;
    return (struct catalog_stamp){.at_us = 1};
}

#endif
