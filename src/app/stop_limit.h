/* SPDX-License-Identifier: MIT */
/* The end of a stop: what is not done by then (a store or a disk that does not answer) is left as a
 * kill leaves it, and the next start puts it right. */
#ifndef GH_APP_STOP_LIMIT_H
#define GH_APP_STOP_LIMIT_H

#include <stdint.h>

/* Ends the process in so long, from a thread of its own. */
void stop_limit_start(uint64_t ms);

#endif
