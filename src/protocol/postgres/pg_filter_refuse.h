/* SPDX-License-Identifier: MIT */
/* Guard rails: what stands in the place of what is refused. */
#ifndef GH_POSTGRES_PG_FILTER_REFUSE_H
#define GH_POSTGRES_PG_FILTER_REFUSE_H

#include "protocol/postgres/pg_filter_internal.h"

/* In the place of a message of that type; what the client is told was written to 'words'. As all
 * that refuses a message it returns ERR_DENIED when that is done, which no caller has to tell
 * anybody any more. */
enum err pg_filter_refuse(struct pg_filter *filter, char type, struct buf *words,
                          struct error *reterr_error) MUST_USE;
/* The same for a reason of ours, which is told to the owner. */
enum err pg_filter_refuse_for(struct pg_filter *filter, char type, const char *sqlstate,
                              const char *why, struct error *reterr_error) MUST_USE;
/* The same, of masking. */
enum err pg_filter_refuse_masked(struct pg_filter *filter, char type, const char *sqlstate,
                                 const char *why, struct error *reterr_error) MUST_USE;

/* What cannot be read fails for that, as at a server, and the session goes on. */
enum err pg_filter_refuse_malformed(struct pg_filter *filter, char type, const struct error *why,
                                    struct error *reterr_error) MUST_USE;

/* What the server says of a refused text that is no SQL at all, as if it had been asked for it
 * alone. False: it says something else. */
bool pg_filter_write_syntax_error(struct buf *buf, struct slice body) MUST_USE;

/* The client was told why the answer at hand ends; what the server does on is not for it. */
void pg_filter_block(struct pg_filter *filter);

#endif
