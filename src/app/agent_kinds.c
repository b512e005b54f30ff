/* SPDX-License-Identifier: MIT */
#include "app/agent_kinds.h"

/* {SLICE_INIT("/postgres"), …}: a protocol adds its line. The end is not counted. */
const struct agent_kind agent_kinds[] = {
    {.serve = NULL},
};

const size_t agent_kind_count = sizeof(agent_kinds) / sizeof(agent_kinds[0]) - 1;
