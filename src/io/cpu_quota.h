/* SPDX-License-Identifier: MIT */
/* Whether the system takes the processor away from this process when it has used its share (a
 * cgroup's quota, as containers have it). Whoever then looks for work awake, in vain, is stopped
 * for it later, amid work. */
#ifndef GH_IO_CPU_QUOTA_H
#define GH_IO_CPU_QUOTA_H

#include <stdbool.h>

/* 'root' stands before /proc and /sys; "" but in tests. What cannot be read sets no quota. */
bool cpu_quota_is_set(const char *root);

#endif
