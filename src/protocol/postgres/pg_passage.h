/* SPDX-License-Identifier: MIT */
/* What passes in an open session of PostgreSQL: through the tap, which has it recorded, and, where
 * there are rules, the filter, which judges and masks. Recorded is what the client said, and what
 * it gets. The filter begins with the first rules, as soon as nothing is under way. */
#ifndef GH_POSTGRES_PG_PASSAGE_H
#define GH_POSTGRES_PG_PASSAGE_H

#include "protocol/passage.h"

extern const struct passage_ops pg_passage_ops;

#endif
