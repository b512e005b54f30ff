/* SPDX-License-Identifier: MIT */
/* Masking and guard rails that are easy to foresee, behind the headers of the real ones. In text,
 * "SECRET" becomes "[S]", a text with "NULLME" becomes NULL, one with "REFUSEME" is refused; what a
 * rule on output blocks has "BLOCKME" in it. Whole values become "[R]", or NULL where the form has
 * no room for it. */
#ifndef GH_TESTS_PROXY_PG_MASK_FAKE_H
#define GH_TESTS_PROXY_PG_MASK_FAKE_H

#include "policy/guard.h"
#include "policy/mask.h"

struct fake_column {
    const char *table; /* NULL: any, and results of that name */
    const char *column;
};

struct mask_rules {
    bool looks_into_text;
    bool refuses_predicates;
    bool refuses_unexaminable;
    struct fake_column columns[4];
    size_t column_count;
};

#endif
