/* SPDX-License-Identifier: MIT */
/* The ids of rows: version 7 UUIDs, so that what was made later sorts later. */
#ifndef GH_STORE_ROW_ID_H
#define GH_STORE_ROW_ID_H

#include "base/arena.h"

struct slice row_id_new(struct arena *arena);

#endif
