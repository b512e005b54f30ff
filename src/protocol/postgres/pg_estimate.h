/* SPDX-License-Identifier: MIT */
/* EXPLAIN, without ANALYZE. The planner of PostgreSQL runs functions that do not depend on data, or
 * are said not to: so of a statement that reaches anything that somebody made, whatever it promises
 * to be, nothing is asked. */
#ifndef GH_POSTGRES_PG_ESTIMATE_H
#define GH_POSTGRES_PG_ESTIMATE_H

#include "protocol/estimate.h"

extern const struct estimate_ops pg_estimate_ops;

#endif
