/* SPDX-License-Identifier: MIT */
/* Where pages of long lists begin: to find a page, a database counts from the start of the list,
 * which takes the longer the deeper it lies. Names seen at a position let it count from there. A
 * hint is good for one generation of the list, a number in the store that changes with every name
 * that comes or goes, so that what another process did is never missed. Bounded, and safe from any
 * thread. */
#ifndef GH_STORE_PAGE_HINTS_H
#define GH_STORE_PAGE_HINTS_H

#include "base/arena.h"

#include <stdint.h>

struct page_hints;

struct page_hints *page_hints_new(void);
void page_hints_free(struct page_hints *hints);

/* A list as it is now. */
struct page_list {
    struct slice organization_id;
    char kind; /* 'r' for resources, 'c' for connections */
    int64_t generation;
};

struct page_hint {
    int64_t position; /* from 0 */
    struct slice name;
};

/* The nearest one that is not behind 'position': the start, with an empty name, when none is known.
 */
struct page_hint page_hints_find_in(struct arena *arena, struct page_hints *hints,
                                    const struct page_list *list, int64_t position);
void page_hints_note(struct page_hints *hints, const struct page_list *list, struct page_hint hint);

#endif
