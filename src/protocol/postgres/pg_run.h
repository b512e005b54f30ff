/* SPDX-License-Identifier: MIT */
/* PostgreSQL's own client of the gateway, see protocol/run.h. */
#ifndef GH_POSTGRES_PG_RUN_H
#define GH_POSTGRES_PG_RUN_H

#include "protocol/run.h"

extern const struct run_ops pg_run_ops;

#endif
