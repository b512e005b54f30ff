/* SPDX-License-Identifier: MIT */
/* The threads that requests are answered on, each kind apart so that none waits for another, and
 * what bounds who may have them and what is told of those who may not. */
#ifndef GH_APP_POOLS_H
#define GH_APP_POOLS_H

#include "app/settings.h"

#include <stddef.h>

struct pools {
    struct pool *most;
    struct pool *slow;    /* what takes long, or waits for others */
    struct pool *lasting; /* answers that wait for their readers */
    struct pool *asking;  /* an identity provider, which may hang */
    struct pool *hashing; /* of passwords */
    struct askers *askers;
    struct rate_limit *address_rate;
    struct rate_limit *account_rate;
    struct refusals *refusals;
    struct reader_slots *readers;
};

void pools_start(struct pools *pools, const struct settings *settings, size_t worker_count);
/* Two steps: the threads end before the workers are freed, the rest after that. */
void pools_stop(struct pools *pools);
void pools_free(struct pools *pools);

#endif
