/* SPDX-License-Identifier: MIT */
/* Members of requests that are taken and do nothing: programs for this API send them, and what they
 * are about is not here. Whoever sends one that says something is told so in 'warnings'. */
#ifndef GH_API_IDLE_MEMBERS_H
#define GH_API_IDLE_MEMBERS_H

#include "codec/shape.h"

extern const struct shape_idles idle_members;

#endif
