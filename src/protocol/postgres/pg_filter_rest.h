/* SPDX-License-Identifier: MIT */
/* Rest: while a session whose rules are about columns alone says what is known to reach none that
 * is masked, one thing after the other, its bytes pass as they would without rules. */
#ifndef GH_POSTGRES_PG_FILTER_REST_H
#define GH_POSTGRES_PG_FILTER_REST_H

#include "protocol/postgres/pg_filter_internal.h"

void pg_filter_rest_init(struct pg_filter *filter);
void pg_filter_rest_release(struct pg_filter *filter);
/* The filter has begun again: what it has to know of what passed meanwhile. */
void pg_filter_rest_end(struct pg_filter *filter);

#endif
