/* SPDX-License-Identifier: MIT */
#include "io/clock.h"

#include "base/timestamp.h"

#include <time.h>

int64_t clock_now(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * TIMESTAMP_SECOND + now.tv_nsec / 1000;
}

int64_t clock_monotonic(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * TIMESTAMP_SECOND + now.tv_nsec / 1000;
}
