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
    int64_t clock_ahead; /* of the monotonic one; 0: not looked at yet */
    int64_t settled_at;  /* monotonic: until then the clock is not believed */
};

/* A portion of each. Blocks; what fails is logged, and comes again at the next look. Nothing while
 * the machine's clock was set LIMIT_NOTIFY_CLOCK_MS ago or less: it may be set back, and what is
 * written here stays. */
void upkeep_look(struct upkeep *upkeep);

#endif
