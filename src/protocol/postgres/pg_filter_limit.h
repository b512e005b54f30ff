/* SPDX-License-Identifier: MIT */
/* Guard rails: limits of rows. */
#ifndef GH_POSTGRES_PG_FILTER_LIMIT_H
#define GH_POSTGRES_PG_FILTER_LIMIT_H

#include "protocol/postgres/pg_filter_internal.h"

/* Before a statement that facts limit is sent, and pg_filter_limit_request() called. ERR_DENIED: it
 * was refused; ERR_AGAIN: nothing was done, it is to come again when what is owed was answered. A
 * Query may be taken over, to be sent from here. */
enum err pg_filter_limit_query(struct pg_filter *filter, const struct pg_filter_message *message,
                               const struct pg_filter_facts *facts, bool *ret_is_taken,
                               struct error *reterr_error) MUST_USE;
enum err pg_filter_limit_execute(struct pg_filter *filter, const struct pg_filter_facts *facts,
                                 const struct pgwire_execute *execute,
                                 struct error *reterr_error) MUST_USE;
void pg_filter_limit_request(struct pg_filter *filter, uint64_t id,
                             const struct pg_filter_facts *facts);
/* Something that ReadyForQuery answers was sent. */
void pg_filter_limit_end_batch(struct pg_filter *filter, uint64_t id, char type);
/* The server skips what was sent behind something. */
void pg_filter_limit_error(struct pg_filter *filter);
/* The client does not know of an answer that is muted: what it defined has to go. */
void pg_filter_limit_undo(struct pg_filter *filter, const struct pg_filter_request *request,
                          enum pgwire_server_kind kind, struct slice body);
/* The server's messages: whether they go on. A CommandComplete of something limited; an answer to
 * the request whose ReadyForQuery is waited for, but for that; and that. */
enum err pg_filter_limit_complete(struct pg_filter *filter, const struct pg_filter_request *request,
                                  struct slice body, bool *ret_passes,
                                  struct error *reterr_error) MUST_USE;
/* Ends the transaction, or fails it. */
enum err pg_filter_limit_finish(struct pg_filter *filter, const char *text,
                                struct error *reterr_error) MUST_USE;
bool pg_filter_limit_passes(struct pg_filter *filter, enum pgwire_server_kind kind);
enum err pg_filter_limit_ready(struct pg_filter *filter, bool *ret_passes,
                               struct error *reterr_error) MUST_USE;

#endif
