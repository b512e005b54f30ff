/* SPDX-License-Identifier: MIT */
/* The kinds of channels that this program's agent serves, in one table. */
#ifndef GH_APP_AGENT_KINDS_H
#define GH_APP_AGENT_KINDS_H

#include "tunnel/agent_kind.h"

extern const struct agent_kind agent_kinds[];
extern const size_t agent_kind_count;

#endif
