/* SPDX-License-Identifier: MIT */
#include "app/agent_kinds.h"

#include "base/memory.h"
#include "protocol/postgres/pg_agent.h"
#include "protocol/postgres/pg_order.h"

const struct agent_kind agent_kinds[] = {
    {SLICE_INIT(PG_ORDER_KIND), pg_agent_serve},
    {SLICE_INIT(PG_ORDER_CANCEL_KIND), pg_agent_serve_cancel},
};

const size_t agent_kind_count = COUNT_OF(agent_kinds);
