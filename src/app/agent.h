/* SPDX-License-Identifier: MIT */
/* 'gatehouse agent': links to a gateway and serves what it asks for, until SIGTERM or SIGINT. */
#ifndef GH_APP_AGENT_H
#define GH_APP_AGENT_H

#include "app/settings.h"
#include "tunnel/agent_kind.h"

enum err agent_run(const struct settings *settings, const struct agent_kind *kinds,
                   size_t kind_count, struct error *reterr) MUST_USE;

#endif
