/* SPDX-License-Identifier: MIT */
/* PostgreSQL, as a protocol of the gateway. */
#ifndef GH_POSTGRES_POSTGRES_H
#define GH_POSTGRES_POSTGRES_H

#include "protocol/protocol.h"

extern const struct protocol postgres_protocol;

#endif
