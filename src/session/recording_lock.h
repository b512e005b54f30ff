/* SPDX-License-Identifier: MIT */
/* The locks of who changes a recording, which end with their process: of the recorder that writes
 * it, and of who closes one that was left open, which is not taken for the former. Each keeps the
 * other out. Asking takes nothing. */
#ifndef GH_SESSION_RECORDING_LOCK_H
#define GH_SESSION_RECORDING_LOCK_H

#include <stdbool.h>

/* False when another has either. The descriptor must be open for writing. */
bool recording_lock(int fd);
bool recording_lock_to_close(int fd);

/* By a recorder: its session goes on. */
bool recording_is_recorded(int fd);
bool recording_is_locked(int fd); /* by anybody */

#endif
