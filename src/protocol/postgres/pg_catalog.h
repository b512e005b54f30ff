/* SPDX-License-Identifier: MIT */
/* What the gateway asks a PostgreSQL server for people: whether it answers, its databases, tables
 * and columns; and what a failure means. */
#ifndef GH_POSTGRES_PG_CATALOG_H
#define GH_POSTGRES_PG_CATALOG_H

#include "protocol/protocol.h"

extern const struct catalog_ops pg_catalog_ops;

#endif
