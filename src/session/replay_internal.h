/* SPDX-License-Identifier: MIT */
/* How recordings are read of which no more is known than their bytes. */
#ifndef GH_SESSION_REPLAY_INTERNAL_H
#define GH_SESSION_REPLAY_INTERNAL_H

#include "session/replay.h"

extern const struct replay_ops replay_bytes_ops;

#endif
