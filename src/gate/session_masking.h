/* SPDX-License-Identifier: MIT */
/* What was masked in a session, as it is kept with it. */
#ifndef GH_GATE_SESSION_MASKING_H
#define GH_GATE_SESSION_MASKING_H

#include "base/arena.h"
#include "model/session.h"
#include "policy/mask.h"

/* Beside the types that are found: what rules of columns masked, what custom types did, and what
 * could not be examined and was masked whole. */
#define SESSION_MASKED_COLUMN     "COLUMN"
#define SESSION_MASKED_CUSTOM     "CUSTOM"
#define SESSION_MASKED_UNEXAMINED "UNEXAMINED"

/* For session.masking, before session_store_end(). */
struct session_masking session_masking_in(struct arena *arena, const struct mask_counts *counts);

/* How many values were masked, of every kind. */
uint64_t session_masking_count(const struct mask_counts *counts);

#endif
