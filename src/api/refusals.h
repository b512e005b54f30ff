/* SPDX-License-Identifier: MIT */
/* How often each address was refused by whom we do not know, so that the audit log tells of it and
 * nobody can fill it: of an address the first in an hour is told, the tenth, the hundredth and so
 * on, of all together so many a minute. Bounded: an address may lose its place to another, and is
 * then counted from one again. Safe from any thread. */
#ifndef GH_API_REFUSALS_H
#define GH_API_REFUSALS_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

#define REFUSALS_WINDOW   INT64_C(3600000000) /* in microseconds, from the first on */
#define REFUSALS_TOLD_MAX 30                  /* a minute */

struct refusals;

struct refusals *refusals_new(void);
void refusals_free(struct refusals *refusals);

struct refusal {
    uint64_t count;    /* of the address, this one included */
    int64_t since;     /* the first of them */
    uint64_t left_out; /* that would have been told, of any address, since the last that was */
};

/* One more; true: it is to be told. */
bool refusals_add(struct refusals *refusals, struct slice address, int64_t now,
                  struct refusal *ret_refusal);

#endif
