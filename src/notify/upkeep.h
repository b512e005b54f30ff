/* SPDX-License-Identifier: MIT */
/* What ends by itself is written down, once, by whichever gateway of a store comes first: requests
 * that nobody decided on, grants whose time is over. Reviews that were kept long enough are removed
 * with their scripts, decisions and comments, and so are deliveries. */
#ifndef GH_NOTIFY_UPKEEP_H
#define GH_NOTIFY_UPKEEP_H

#include "store/store.h"

struct upkeep {
    struct store *store;
    int64_t review_days; /* 0: for ever */
};

/* A portion of each. Blocks; what fails is logged, and comes again at the next look. */
void upkeep_look(const struct upkeep *upkeep);

#endif
