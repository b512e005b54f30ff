/* SPDX-License-Identifier: MIT */
/* How often each of many may do something: a bucket for each key, which fills again with time.
 * Bounded: keys may come to share a bucket, or find theirs full again. Safe from any thread. */
#ifndef GH_API_RATE_LIMIT_H
#define GH_API_RATE_LIMIT_H

#include "base/slice.h"

#include <stdint.h>

struct rate_limit;

struct rate_limit *rate_limit_new(int64_t per_second, int64_t burst);
void rate_limit_free(struct rate_limit *limit);

/* 'now' is monotonic. Returns how long to wait, or 0 when it may be done now. */
int64_t rate_limit_take(struct rate_limit *limit, struct slice key, int64_t now);

#endif
