/* SPDX-License-Identifier: MIT */
/* What passes in an open session of PostgreSQL: through the tap, which has it recorded, and the
 * filter, which judges and masks where there are rules, and else follows what rules that come later
 * have to know. Recorded is what the client said, and what it gets. */
#ifndef GH_POSTGRES_PG_PASSAGE_H
#define GH_POSTGRES_PG_PASSAGE_H

#include "protocol/passage.h"

extern const struct passage_ops pg_passage_ops;

#endif
