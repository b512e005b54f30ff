/* SPDX-License-Identifier: MIT */
#include "protocol/query.h"

void query_cancel(struct query *query)
{
    query->cancel(query);
}
