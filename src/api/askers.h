/* SPDX-License-Identifier: MIT */
/* Who waits for an identity provider: so many at once and no more of one address, so that who makes
 * one wait keeps nobody else from it. Safe from any thread. */
#ifndef GH_API_ASKERS_H
#define GH_API_ASKERS_H

#include "base/slice.h"

struct askers;

struct askers *askers_new(size_t count_max, size_t count_max_each);
void askers_free(struct askers *askers);

/* False: there are enough. Else askers_leave with the same address afterwards. */
bool askers_enter(struct askers *askers, struct slice address);
void askers_leave(struct askers *askers, struct slice address);

#endif
