/* SPDX-License-Identifier: MIT */
/* How many connections each address has open on which nobody has proven who he is: one that opens
 * thousands and says nothing takes no place from others. An IPv6 address counts with all of its
 * /64, which one host may use as it likes. Shared by all workers. */
#ifndef GH_IO_NEWCOMERS_H
#define GH_IO_NEWCOMERS_H

#include "wire/address.h"

#include <stdint.h>

struct newcomers;

struct newcomers *newcomers_new(uint64_t limit);
/* After all have left. */
void newcomers_free(struct newcomers *newcomers);

/* False: there are as many as may be from there, which also is a part of the descriptors that are
 * free. Else newcomers_leave() follows. *ret_may_tell: nobody has been told so for a minute. */
bool newcomers_enter(struct newcomers *newcomers, const struct address *address,
                     bool *ret_may_tell);
void newcomers_leave(struct newcomers *newcomers, const struct address *address);

/* Whether two addresses are counted as one. */
bool newcomers_are_one(const struct address *a, const struct address *b);

#endif
