/* SPDX-License-Identifier: MIT */
/* Rows that a rehearsed statement wrote, see protocol/sample.h. */
#ifndef GH_POSTGRES_PG_SAMPLE_H
#define GH_POSTGRES_PG_SAMPLE_H

#include "protocol/sample.h"

extern const struct sample_ops pg_sample_ops;

#endif
