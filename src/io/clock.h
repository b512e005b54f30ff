/* SPDX-License-Identifier: MIT */
/* The clock of the day, for what is written down. Waiting uses the loop's monotonic time. */
#ifndef GH_IO_CLOCK_H
#define GH_IO_CLOCK_H

#include <stdint.h>

/* A timestamp (base/timestamp.h). */
int64_t clock_now(void);

/* Microseconds since some start, that no change of the clock touches: for how long ago. */
int64_t clock_monotonic(void);

#endif
