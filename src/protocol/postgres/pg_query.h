/* SPDX-License-Identifier: MIT */
/* One statement of the gateway's own at a PostgreSQL server that is ready for queries: sent by the
 * extended protocol with text parameters, so that no text is ever pasted into it, and answered with
 * rows of text. Says Terminate at the end. Runs on a loop and never blocks.
 *
 * The server is not trusted: all that it says is bounded, in order, and on time. */
#ifndef GH_POSTGRES_PG_QUERY_H
#define GH_POSTGRES_PG_QUERY_H

#include "protocol/query.h"

/* See query_start_fn. */
struct query *pg_query_start(struct stream *take_stream, const struct query_settings *settings,
                             query_done_fn on_done, void *owner);

#endif
