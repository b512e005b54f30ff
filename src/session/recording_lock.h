/* SPDX-License-Identifier: MIT */
/* The lock of who writes a recording, which ends with its process. Asking for it takes nothing. */
#ifndef GH_SESSION_RECORDING_LOCK_H
#define GH_SESSION_RECORDING_LOCK_H

#include <stdbool.h>

/* False when another has it. The descriptor must be open for writing. */
bool recording_lock(int fd);
bool recording_is_locked(int fd);

#endif
