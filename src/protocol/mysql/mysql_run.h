/* SPDX-License-Identifier: MIT */
/* MySQL's own client of the gateway, see protocol/run.h. */
#ifndef GH_MYSQL_MYSQL_RUN_H
#define GH_MYSQL_MYSQL_RUN_H

#include "protocol/run.h"

extern const struct run_ops mysql_run_ops;

#endif
